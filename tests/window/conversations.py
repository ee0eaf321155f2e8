"""Short conversations, and counters and strategies that tell what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from trimtab import Budget, Message, TokenCountError, ToolCall, TrimResult, WindowMemory
from trimtab.window import TextCounter

__all__ = [
    "AwaitedCounter",
    "Counting",
    "Failing",
    "LastRound",
    "PriorSummary",
    "calling",
    "numbered",
    "record_all",
    "rounds",
    "texts",
]


def rounds(first: int, last: int) -> list[Message]:
    """Rounds of a user's and an assistant's message, each of which counts 1."""
    return [message for number in range(first, last + 1) for message in numbered(number)]


def numbered(number: int) -> tuple[Message, Message]:
    """One round."""
    return Message.user(f"u{number}"), Message.assistant(f"a{number}")


def calling(text: str, *calls: tuple[str, str, str]) -> Message:
    """An assistant message with calls: id, name and arguments of each."""
    return Message.assistant(text, *(ToolCall(*call) for call in calls))


async def record_all(memory: WindowMemory, messages: Sequence[Message]) -> None:
    """Record some messages, one after the other."""
    for message in messages:
        await memory.record(message)


def texts(messages: Sequence[Message]) -> str:
    """The words of some messages, for a look at once."""
    return " ".join(message.text or "-" for message in messages)


@dataclass
class Counting:
    """Says the same number of any text, and remembers how often it was asked."""

    tokens: int = 1
    calls: int = 0

    def count(self, text: str) -> int:
        """Count a text."""
        del text
        self.calls += 1
        return self.tokens


class AwaitedCounter:
    """Counts as a provider does that must be asked: 1 for any text, and not at once."""

    async def count(self, text: str) -> int:
        """Count a text."""
        del text
        await asyncio.sleep(0)
        return 1


@dataclass
class Failing:
    """Fails as it is told to: raises, or answers what is no count."""

    answer: object = None

    def count(self, text: str) -> int:
        """Fail on a text."""
        del text
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # the fault


@dataclass
class PriorSummary:
    """Puts one system message in place of everything before the last user message.

    Attributes:
        inputs: What it was asked, in order.
        wait: Is awaited before it answers; None for an answer at once.
    """

    inputs: list[list[Message]] = field(default_factory=list)
    wait: Callable[[], Awaitable[object]] | None = None

    async def trim(
        self, messages: Sequence[Message], budget: Budget, counter: TextCounter
    ) -> TrimResult:
        """Replace for good."""
        del budget, counter
        self.inputs.append(list(messages))
        if self.wait is not None:
            await self.wait()
        last = max(p for p, message in enumerate(messages) if message.role == "user")
        return TrimResult([Message.system("prior summary"), *messages[last:]], replace=True)


@dataclass
class LastRound:
    """Shows the last round and stores nothing; knows what each message weighs.

    Attributes:
        budgets: The budgets that it was asked to meet, in order.
        counts: What it was told that the messages weigh, in order.
    """

    budgets: list[Budget] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)

    def trim(self, messages: Sequence[Message], budget: Budget, counter: TextCounter) -> TrimResult:
        """Never asked, as it can be told more."""
        del messages, budget, counter
        raise TokenCountError("nothing is to be counted again")

    def trim_with_counts(
        self,
        messages: Sequence[Message],
        counts: Sequence[int],
        budget: Budget,
        counter: TextCounter,
    ) -> TrimResult:
        """Show the last round."""
        del counter
        self.budgets.append(budget)
        self.counts.append(list(counts))
        last = max(p for p, message in enumerate(messages) if message.role == "user")
        return TrimResult(list(messages[last:]), replace=False)
