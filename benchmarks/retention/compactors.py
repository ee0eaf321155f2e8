"""What is measured, and what it is measured beside: a list of messages in, a shorter one out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from trimtab import CharTokenCounter, Message
from trimtab.boundaries import MARKER
from trimtab.compaction import CompactionConfig, compact_messages
from trimtab.ledger import gather, render
from trimtab.tokens import Quality

__all__ = ["COMPACTORS", "Compactor", "Count"]

Count: TypeAlias = Callable[[str], int]
Compactor: TypeAlias = Callable[[list[Message], int, Count], list[Message]]
"""Messages, the room that they shall take, and what counts it; the messages that are left."""


class _Counter:
    """A counter that counts as it is told."""

    name = "benchmark"
    quality: Quality = "exact"

    def __init__(self, count: Count) -> None:
        self.count = count


def nothing(messages: list[Message], room: int, count: Count) -> list[Message]:
    """The floor: nothing stays."""
    del messages, room, count
    return []


def newest(messages: list[Message], room: int, count: Count) -> list[Message]:
    """As many of the newest messages as there is room for."""
    kept: list[Message] = []
    for message in reversed(messages):
        room -= count(message.text)
        if room < 0:
            break
        kept.insert(0, message)
    return kept


def everything(messages: list[Message], room: int, count: Count) -> list[Message]:
    """The ceiling: all of it stays, whatever it weighs."""
    del room, count
    return messages


def ledger(messages: list[Message], room: int, count: Count) -> list[Message]:
    """The ledger alone, with all the room."""
    page = render(gather(messages), room - count(f"{MARKER}\n\n"), count)
    return [Message.user(f"{MARKER}\n\n{page}", origin="marker")]


def compaction(messages: list[Message], room: int, count: Count) -> list[Message]:
    """What a user calls, brought down to the room in one step."""
    config = CompactionConfig(
        max_context_tokens=room, system_prompt_tokens=0, target_ratio=1.0, headroom_turns=None,
        counter=_Counter(count),
    )  # fmt: skip
    return compact_messages(messages, config)


COMPACTORS: dict[str, Compactor] = {
    "nothing": nothing,
    "newest": newest,
    "ledger": ledger,
    "compaction": compaction,
    "everything": everything,
}


def texts(messages: Sequence[Message]) -> str:
    """All words that are left."""
    return "\n".join(message.text for message in messages)


CHARACTERS = CharTokenCounter().count
