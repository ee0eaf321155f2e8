"""A memory that keeps a conversation and gives back what fits a budget.

::

    memory             Memory: what every memory can do; InMemoryMemory: keeps all
    window_memory      WindowMemory: keeps all, gives back what fits
    strategy           TrimStrategy, TrimResult: what can be plugged in
    window_drop        WindowDrop: drops the oldest rounds, rarely and deep
    summarize_rounds   SummarizeRounds: the oldest rounds become a summary
    start              where the window starts, message by message
    rounds             rounds and exchanges, message by message
    pieces             a message, or one of its two halves
    counting           what a message weighs; counters may be awaited here
"""

from trimtab.window.counting import TextCounter, count_message
from trimtab.window.memory import InMemoryMemory, Memory
from trimtab.window.strategy import TrimResult, TrimStrategy
from trimtab.window.summarize_rounds import SummarizeRounds
from trimtab.window.window_drop import WindowDrop
from trimtab.window.window_memory import WindowMemory

__all__ = [
    "InMemoryMemory",
    "Memory",
    "SummarizeRounds",
    "TextCounter",
    "TrimResult",
    "TrimStrategy",
    "WindowDrop",
    "WindowMemory",
    "count_message",
]
