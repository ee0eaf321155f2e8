"""What can be plugged into a window memory, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from trimtab.budget import Budget
from trimtab.messages import Message
from trimtab.window.counting import TextCounter

__all__ = ["TrimResult", "TrimStrategy"]


@dataclass(frozen=True, slots=True)
class TrimResult:
    """What a strategy makes of the messages that do not fit.

    Attributes:
        messages: What is left, oldest first. Messages that are kept, or copies of them, hold
            their places; any other stands where the first message stood that is missing there.
        replace: True puts it in place of what is stored: nothing is asked again until the
            budget is passed anew, and what is missing is gone for good. False shows it this
            once: a larger budget brings all of it back.
        is_fallback: True says that the strategy had nothing to offer this time. The memory
            then drops the oldest rounds itself, as :class:`~trimtab.window.WindowDrop` does.
    """

    messages: list[Message]
    replace: bool
    is_fallback: bool = False


class TrimStrategy(Protocol):
    """Makes messages fit that do not.

    A class that also has ``trim_with_counts(messages, counts, budget, counter)`` is asked that
    way: ``counts`` holds what each message weighs, so that nothing is counted again.
    Either may be a coroutine.
    """

    def trim(
        self, messages: Sequence[Message], budget: Budget, counter: TextCounter
    ) -> TrimResult | Awaitable[TrimResult]:
        """Trim some messages.

        Args:
            messages: All messages that are not in protected rounds, oldest first. A message that
                carries results and words comes as two: the words begin a round.
            budget: What protected rounds leave of it; a bound may be 0.
            counter: Counts words; its answer may have to be awaited.
        """
        ...
