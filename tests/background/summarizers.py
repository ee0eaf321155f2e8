"""Summarizers that answer by rote, and loops that feed back what they are given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.test_compaction import weight
from trimtab import CompactionConfig, Message, Summary, SummaryRequest, Usage
from trimtab.background import LlmCompaction, Retry
from trimtab.boundaries import MARKER
from trimtab.briefing import BRIEFING, is_briefing, named
from trimtab.events import ContextCompacted, Event, SummaryGivenUp

__all__ = [
    "NO_RETRY",
    "PARSER",
    "Events",
    "Run",
    "Scripted",
    "briefings",
    "drive",
    "hanging",
    "saying",
    "strategy",
]

PARSER = "## Goal\nShip the parser."

NO_RETRY = Retry(retries=0)

BILLED = Usage(fresh=900, output=60)


class Scripted:
    """Answers by rote, and counts.

    Args:
        answer: Makes each answer of the request; it may raise, or hang.
    """

    def __init__(self, answer: Callable[[SummaryRequest], Any]) -> None:
        self.requests: list[SummaryRequest] = []
        self._answer = answer

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer."""
        self.requests.append(request)
        answer = self._answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return answer  # type: ignore[no-any-return]  # some answer nonsense on purpose


def saying(
    text: str = PARSER, stop_reason: str = "stop", cost: float | None = None, tool_calls: int = 0
) -> Scripted:
    """One that always says the same."""
    return Scripted(
        lambda _: Summary(text, stop_reason, BILLED, cost, "scripted", tool_calls=tool_calls)
    )


def hanging() -> Scripted:
    """One that never answers."""
    return Scripted(lambda _: asyncio.sleep(3_600))


class Events(list[Event]):
    """All that is told."""

    def __call__(self, event: Event) -> None:
        """Be told."""
        self.append(event)

    def of(self, kind: type) -> list[Any]:
        """Those of a kind."""
        return [event for event in self if isinstance(event, kind)]

    @property
    def compacted(self) -> list[ContextCompacted]:
        """What compactions told."""
        return self.of(ContextCompacted)

    @property
    def given_up(self) -> list[SummaryGivenUp]:
        """What was told of summaries that are not used."""
        return self.of(SummaryGivenUp)


def strategy(summarizer: Scripted, **settings: Any) -> tuple[LlmCompaction, Events]:
    """A strategy that gives up at the first failure, and what it tells."""
    events = Events()
    return LlmCompaction(summarizer, **{"retry": NO_RETRY, "on_event": events, **settings}), events


def briefings(messages: Sequence[Message]) -> list[Message]:
    """The briefings in a list, however they are known."""
    found = [message for message in messages if is_briefing(message)]
    assert all(message.text.startswith(BRIEFING) for message in found)
    return found


def markers(messages: Sequence[Message]) -> list[str]:
    """The texts with a marker in them."""
    return [message.text for message in messages if MARKER in message.text]


@dataclass
class Run:
    """What a loop came to.

    Attributes:
        messages: The list at its end.
        lists: What each call returned.
        peak: The largest of them, in tokens.
    """

    messages: list[Message]
    lists: list[list[Message]] = field(default_factory=list)
    peak: int = 0

    @property
    def with_briefing(self) -> int:
        """Calls that returned a briefing."""
        return sum(bool(briefings(messages)) for messages in self.lists)


def drive(
    compaction: LlmCompaction,
    config: CompactionConfig,
    turns: Sequence[Sequence[Message]],
    start: Sequence[Message] = (),
    change: Callable[[list[Message]], list[Message]] | None = None,
) -> Run:
    """Feed each result back, and let the background settle between two turns.

    Args:
        compaction: What compacts.
        config: How much room there is.
        turns: What comes in each turn.
        start: What is there before.
        change: What happens to the list between two turns.
    """
    run = Run(list(start))

    async def loop() -> None:
        for turn in turns:
            given = [*run.messages, *turn]
            run.messages = compaction.compact(given, config)
            assert_told(compaction, given)
            run.lists.append(run.messages)
            run.peak = max(run.peak, weight(run.messages, config))
            await compaction.settled()
            if change is not None:
                run.messages = change(run.messages)

    asyncio.run(loop())
    return run


def assert_told(compaction: LlmCompaction, given: Sequence[Message]) -> None:
    """The plan explains how the list that was given became the one that is returned."""
    from trimtab.plan import apply  # noqa: PLC0415 - only here

    last = compaction.last
    assert last is not None
    assert [slot.message for slot in apply(last.plan, named(given))] == named(last.messages)
