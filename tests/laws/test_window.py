"""The window's laws: it fits or says why, orphans nothing, keeps what is protected, loses nothing.

Conversations hold parallel calls, results that come late or never or to
nobody, results with words, protected messages; budgets and strategies change
on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from trimtab import (
    Budget,
    Message,
    SummarizeRounds,
    Summary,
    SummaryRequest,
    Text,
    ToolCall,
    ToolResult,
    TrimResult,
    TrimStrategy,
    WindowDrop,
    WindowMemory,
)
from trimtab.boundaries import Boundaries, round_starts
from trimtab.window import TextCounter

EXAMPLES = 60


@dataclass
class Words:
    """Counts words; what it says of a text can be seen in it."""

    def count(self, text: str) -> int:
        """Count a text."""
        return len(text.split())


# ------------------------------------------------------------------- conversations


@dataclass
class Talk:
    """Draws the messages of a conversation, each with a word that no other has.

    Attributes:
        draw: Draws.
        joins: Whether a message may carry results of several exchanges.
        numbers: Counts words and calls.
        waiting: Calls that have no result yet, each with the message that made it.
    """

    draw: st.DrawFn
    joins: bool
    numbers: count[int] = field(default_factory=lambda: count(1))
    waiting: list[tuple[int, str]] = field(default_factory=list)

    def words(self) -> str:
        """Some words; the first is like no other."""
        return f"w{next(self.numbers)}. " + "x " * self.draw(st.integers(0, 6))

    def message(self) -> Message:
        """The next message."""
        kinds = ["user", "calls", "assistant", "system", "orphan"]
        kinds += ["results", "results", "both"] if self.waiting else []
        match self.draw(st.sampled_from(kinds)):
            case "user":
                return Message.user(self.words())
            case "calls":
                ids = [f"c{next(self.numbers)}" for _ in range(self.draw(st.integers(1, 3)))]
                made = next(self.numbers)
                self.waiting += [(made, call_id) for call_id in ids]
                return Message.assistant(self.words(), *(ToolCall(i, "f", "{}") for i in ids))
            case "assistant":
                return Message.assistant(self.words())
            case "system":
                return Message.system(self.words())
            case "orphan":
                return Message.tool(f"c{next(self.numbers)}", self.words())
            case kind:
                most = [self.joins or made == self.waiting[0][0] for made, _ in self.waiting]
                some = self.draw(st.integers(1, sum(most)))
                ids = [call_id for _, call_id in self.waiting[:some]]
                self.waiting = self.waiting[some:]
                results = [ToolResult(i, (Text(self.words()),)) for i in ids]
                own = [Text(self.words())] if kind == "both" else []
                return Message("user", [*results, *own])


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[Message, bool]]:
    """Messages, and whether each is protected."""
    rare = draw(st.sampled_from([0, 0, 10, 3]))
    # What is protected by a message that joins two rounds is told in tests/window.
    talk = Talk(draw, joins=not rare)
    return [
        (talk.message(), rare > 0 and draw(st.integers(1, rare)) == 1)
        for _ in range(draw(st.integers(1, 30)))
    ]


BUDGETS = st.builds(
    Budget,
    st.one_of(st.none(), st.integers(1, 120)),
    st.one_of(st.none(), st.none(), st.integers(0, 5)),
)


# ---------------------------------------------------------------------- strategies


@dataclass
class Flaky:
    """A summarizer that answers, fails, or answers too much, by turns.

    Attributes:
        answers: What it does, in turn.
        summed: The prompts of the summaries that it gave.
    """

    answers: Sequence[str]
    summed: list[str] = field(default_factory=list)
    calls: int = 0

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer, or fail."""
        self.calls += 1
        await asyncio.sleep(0)
        match self.answers[self.calls % len(self.answers)]:
            case "good":
                self.summed.append(request.prompt)
                return Summary("ok", "stop")
            case "blank":
                return Summary("", "stop")
            case "large":
                return Summary("x " * 500, "stop")
            case _:
                raise ConnectionError


class Halve:
    """A user's own: shows the newer half of the rounds it is given, in copies of its own."""

    async def trim(
        self, messages: Sequence[Message], budget: Budget, counter: TextCounter
    ) -> TrimResult:
        """Project."""
        del budget, counter
        starts = round_starts(messages) or [0]
        first = starts[len(starts) // 2]
        return TrimResult([m.with_parts(m.parts) for m in messages[first:]], replace=False)


class Digest:
    """A user's own: puts one system message in place of all but the last round."""

    def trim(self, messages: Sequence[Message], budget: Budget, counter: TextCounter) -> TrimResult:
        """Materialise."""
        del budget, counter
        last = (round_starts(messages) or [0])[-1]
        return TrimResult([Message.system("digest"), *messages[last:]], replace=True)


def summarizing(answers: Sequence[str]) -> SummarizeRounds:
    """A strategy over a flaky model."""
    return SummarizeRounds(Flaky(answers), 8)


DROPPING = st.builds(WindowDrop, st.sampled_from([0.3, 0.7, 1.0]))
SUMMARIZING = st.builds(
    summarizing, st.lists(st.sampled_from(["good", "blank", "large", "error"]), min_size=1)
)


# ------------------------------------------------------------------------- the law


@dataclass
class Expected:
    """What must be shown of a history, found without the window's own code.

    Attributes:
        history: What was recorded.
        floor_tokens: What can never be dropped: protected rounds, and of the newest round all
            but its older exchanges.
        protected: Messages in protected rounds, halves of messages aside.
        pairs: For each call that is answered, the ids of its exchange's results.
    """

    history: list[tuple[Message, bool]]

    def __post_init__(self) -> None:
        halves = [half for message, _ in self.history for half in _halves(message)]
        flags = [flag for message, flag in self.history for _ in _halves(message)]
        whole = Boundaries(halves)
        starts = set(round_starts(halves)[1:])
        lies_in, number = [], 0
        for place in range(len(halves)):
            number += place in starts
            lies_in.append(number)
        home = [lies_in[whole.atoms[piece.atom].pieces[0]] for piece in whole.pieces]
        protected = {home[place] for place, flag in enumerate(flags) if flag}
        exchanges = [a.pieces for a in whole.atoms if a.is_exchange and home[a.pieces[0]] == number]
        older = {place for pieces in exchanges[:-1] for place in pieces}
        self.floor_tokens = 0
        self.protected: list[str] = []
        for place, half in enumerate(halves):
            if home[place] in protected:
                self.protected += _marks([half])
                self.floor_tokens += _weight(half)
            elif home[place] == number and place not in older:
                self.floor_tokens += _weight(half)
        newest = {number} - protected
        self.floor_rounds = len(protected | newest)
        self.together = [
            _marks([halves[place] for place in atom.pieces])
            for atom in whole.atoms
            if atom.is_exchange
        ]


def _halves(message: Message) -> list[Message]:
    if not (message.result_ids and message.has_own_words):
        return [message]
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    return [
        message.with_parts(results),
        message.with_parts([part for part in message.parts if part not in results]),
    ]


def _weight(message: Message) -> int:
    """Words of a message, its calls and its results."""
    total = 0
    for part in message.parts:
        match part:
            case Text(text):
                total += len(text.split())
            case ToolCall(name=name, arguments=arguments):
                total += len(name.split()) + len(arguments.split())
            case ToolResult():
                total += len(part.text.split())
            case _:
                raise AssertionError(part)
    return total


def _marks(messages: Sequence[Message]) -> list[str]:
    """The words that no other message has, in order."""
    texts = [
        part.text
        for message in messages
        for part in message.parts
        if isinstance(part, (Text, ToolResult))
    ]
    return [word for text in texts for word in text.split() if word.endswith(".")]


def assert_lawful(memory: WindowMemory, shown: list[Message], expected: Expected) -> None:
    """What is shown fits or says why, in order, with all that is protected and no new orphan."""
    budget, outcome = _budget(memory), memory.outcome
    weight = sum(map(_weight, shown))
    assert outcome.tokens_after == weight
    limit = outcome.tokens_before if budget.max_tokens is None else budget.max_tokens
    assert outcome.limit_tokens == limit
    if weight > limit:
        assert (outcome.status, outcome.needed_tokens) == ("unmet", weight)
        assert expected.floor_tokens > limit
    rounds = len(round_starts(shown))
    if budget.max_rounds is not None and rounds > max(1, budget.max_rounds):
        assert outcome.status == "unmet"
        assert rounds <= expected.floor_rounds
    marks = _marks(shown)
    recorded = _marks([message for message, _ in expected.history])
    assert [mark for mark in recorded if mark in set(marks)] == marks
    assert set(expected.protected) <= set(marks)
    for together in expected.together:
        assert len({mark in marks for mark in together}) == 1


def _budget(memory: WindowMemory) -> Budget:
    return memory._budget


async def play(
    memory: WindowMemory,
    history: list[tuple[Message, bool]],
    asks: Callable[[int], bool],
    look: Callable[[list[Message], list[tuple[Message, bool]]], None],
) -> None:
    """Record a conversation, and look at what is shown now and then."""
    for place, (message, is_protected) in enumerate(history):
        await (memory.record_protected if is_protected else memory.record)(message)
        if asks(place):
            look(await memory.context(), history[: place + 1])


def law(make: Callable[..., WindowMemory], strategy: TrimStrategy, data: st.DataObject) -> None:
    """Play a conversation against a strategy, with a budget that changes, and check each view."""
    history = data.draw(conversations())
    memory = make(data.draw(BUDGETS), counter=Words(), strategy=strategy)
    summed: list[str] = []

    def look(shown: list[Message], so_far: list[tuple[Message, bool]]) -> None:
        if isinstance(strategy, SummarizeRounds):
            model: Any = strategy._summarizer
            summed[:] = [word for prompt in model.summed for word in prompt.split()]
        left = [
            (message, flag)
            for message, flag in so_far
            if flag or not set(_marks([message])) & set(summed)
        ]
        said = [message for message in shown if message.origin is None]
        if summed:
            assert_summed_up(memory, shown, said, left)
        else:
            assert_lawful(memory, shown, Expected(so_far))
        if data.draw(st.integers(0, 7)) == 0:
            budget = data.draw(BUDGETS)
            memory.set_max_tokens(budget.max_tokens)
            memory.set_max_rounds(budget.max_rounds)

    asyncio.run(play(memory, history, lambda _: data.draw(st.booleans()), look))
    memory.set_max_tokens(None)
    memory.set_max_rounds(None)
    everything = asyncio.run(memory.context())
    if summed:
        gone = set(summed)
        kept = [mark for mark in _marks([m for m, _ in history]) if mark not in gone]
        late = {
            m for together in Expected(history).together for m in together if gone & set(together)
        }
        assert [m for m in kept if m not in late] == [
            m for m in _marks([m for m in everything if m.origin is None]) if m not in late
        ]
    else:
        assert list(map(id, everything)) == [id(message) for message, _ in history]


def assert_summed_up(
    memory: WindowMemory,
    shown: list[Message],
    said: list[Message],
    left: list[tuple[Message, bool]],
) -> None:
    """Where a summary stands: it is one, it fits or says why, and nothing is out of order."""
    weight = sum(map(_weight, shown))
    assert memory.outcome.tokens_after == weight
    assert memory.outcome.fits or memory.outcome.status == "unmet"
    assert len(shown) - len(said) <= 1
    marks = _marks(said)
    recorded = _marks([message for message, _ in left])
    assert [mark for mark in recorded if mark in set(marks)] == [
        mark for mark in marks if mark in set(recorded)
    ]
    assert {mark for message, flag in left if flag for mark in _marks([message])} <= set(marks)
    calls = {call_id for message in shown for call_id in message.call_ids}
    asked = {call_id for message, _ in left for call_id in message.call_ids}
    results = {result_id for message in shown for result_id in message.result_ids}
    assert results & asked <= calls


@given(data=st.data(), strategy=DROPPING)
@settings(max_examples=EXAMPLES)
def test_dropping_rounds_keeps_the_laws(data: st.DataObject, strategy: WindowDrop) -> None:
    """At every look, under every budget; and a larger budget brings everything back."""
    law(WindowMemory, strategy, data)


@given(data=st.data(), strategy=SUMMARIZING)
@settings(max_examples=EXAMPLES)
def test_summing_up_keeps_the_laws(data: st.DataObject, strategy: SummarizeRounds) -> None:
    """Whatever the model answers; what was not summed up is still there."""
    law(WindowMemory, strategy, data)


@given(history=conversations(), budget=BUDGETS, strategy=st.sampled_from([Halve(), Digest()]))
@settings(max_examples=EXAMPLES)
def test_a_users_own_strategy_never_touches_protected_rounds(
    history: list[tuple[Message, bool]], budget: Budget, strategy: TrimStrategy
) -> None:
    """They are there, in order, at every look; and the numbers are those of what is shown."""
    memory = WindowMemory(budget, counter=Words(), strategy=strategy)

    def look(shown: list[Message], so_far: list[tuple[Message, bool]]) -> None:
        marks, recorded = _marks(shown), _marks([message for message, _ in so_far])
        assert [mark for mark in recorded if mark in set(marks)] == marks
        protected = {mark for message, flag in so_far if flag for mark in _marks([message])}
        assert protected <= set(marks)
        assert memory.outcome.tokens_after == sum(map(_weight, shown))

    asyncio.run(play(memory, history, lambda _: True, look))


@given(
    history=conversations(),
    tokens=st.integers(1, 60),
    waits=st.lists(st.integers(0, 4), min_size=30, max_size=30),
    strategy=st.sampled_from([Halve, Digest, lambda: summarizing(["good"])]),
)
@settings(max_examples=EXAMPLES)
def test_what_is_recorded_while_others_are_awaited_survives(
    history: list[tuple[Message, bool]],
    tokens: int,
    waits: list[int],
    strategy: Callable[[], TrimStrategy],
) -> None:
    """Retrievals overlap with each other and with what comes; the newest is there, each once."""

    class Waiting:
        inner = strategy()

        async def trim(self, *asked: Any) -> TrimResult:
            for _ in range(waits[0]):
                await asyncio.sleep(0)
            result = self.inner.trim(*asked)
            return result if isinstance(result, TrimResult) else await result

    async def run() -> list[Message]:
        memory = WindowMemory(tokens, counter=Words(), strategy=Waiting())
        asked = []
        for (message, is_protected), wait in zip(history, waits, strict=False):
            asked.append(asyncio.create_task(memory.context()))
            for _ in range(wait):
                await asyncio.sleep(0)
            await (memory.record_protected if is_protected else memory.record)(message)
        await asyncio.gather(*asked)
        memory.set_max_tokens(None)
        return await memory.context()

    marks = _marks(asyncio.run(run()))
    recorded = _marks([message for message, _ in history])
    assert [mark for mark in recorded if mark in set(marks)] == marks
    assert {mark for message, flag in history if flag for mark in _marks([message])} <= set(marks)
    if strategy is Halve:
        assert marks == recorded


# ------------------------------------------------------------------ planted faults


class Sliced(WindowMemory):
    """A fault: the newest messages that fit, wherever they begin."""

    async def context(self) -> list[Message]:
        """Cut anywhere."""
        shown = await super().context()
        return shown[len(shown) // 3 :]


class Generous(WindowMemory):
    """A fault: protected rounds are not charged."""

    async def context(self) -> list[Message]:
        """Show twice as much as may be."""
        budget = self._budget
        if budget.max_tokens is not None:
            self.set_max_tokens(budget.max_tokens * 2)
        shown = await super().context()
        self._budget, self._window = budget, None
        return shown


class Forgetful(WindowMemory):
    """A fault: what is not shown is not kept."""

    async def context(self) -> list[Message]:
        """Store what is shown."""
        shown = await super().context()
        ids = set(map(id, shown))
        self._pieces = [piece for piece in self._pieces if id(piece.message) in ids]
        self._window = None
        return shown


@pytest.mark.parametrize("fault", [Sliced, Generous, Forgetful])
def test_the_law_catches_a_planted_fault(fault: Callable[..., WindowMemory]) -> None:
    """A window that is cut anywhere, charges too little, or forgets."""

    @settings(max_examples=EXAMPLES, phases=[Phase.generate], report_multiple_bugs=False)
    @given(data=st.data(), strategy=DROPPING)
    def broken(data: st.DataObject, strategy: WindowDrop) -> None:
        law(fault, strategy, data)

    with pytest.raises(AssertionError):
        broken()
