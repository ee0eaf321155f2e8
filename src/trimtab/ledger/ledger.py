"""What is listed of messages that are gone."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Ledger"]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is listed of messages that are gone; all entries are oldest first.

    Attributes:
        rules: The user's own words that bind: rules, goals, corrections, decisions.
        words: What else the user said.
        files: One line a file, such as ``src/a.py: written``, with its last known state.
        values: One line a value or failing check that only removed outputs held.
        carried: The newest plan or todo list, one line a step.
    """

    rules: tuple[str, ...] = field(default=(), repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)
    files: tuple[str, ...] = field(default=(), repr=False)
    values: tuple[str, ...] = field(default=(), repr=False)
    carried: tuple[str, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.rules or self.words or self.files or self.values or self.carried)
