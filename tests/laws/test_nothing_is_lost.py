"""Law 5: the history is append-only, what is sent is a view of it, and every edit can be explained and undone.

What is recorded while something else is under way survives: requests of one
conversation may be answered in any order, by any process, and be forgotten by
the store; the next request is still right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.laws.agents import Agent, Branch, forms_of
from trimtab import CharTokenCounter, Engine, Policy, PrefixBroken, Rewrite, Session, in_memory
from trimtab.plan import Drop, Fold, Keep, Plan, Replace
from trimtab.state import State
from trimtab.wire import Call, read, write

LIMIT = 1200
TEXTS = {"short": "ok", "lines": "line\n" * 40, "blob": "x" * 900, "words": "as many words " * 80}
RESULTS = st.lists(st.sampled_from(list(TEXTS)), min_size=1, max_size=3)

AGENTS: dict[str, Callable[[], Agent]] = {
    "anthropic": lambda: Agent("anthropic", "claude-opus-4-5"),
    "openai-chat": lambda: Agent("openai-chat", "gpt-5.2"),
}


@dataclass
class Under:
    """A request under way: which line it is of, what was sent, for how many messages."""

    branch: Branch
    rewrite: Rewrite
    count: int


class Workers(RuleBasedStateMachine):
    """Two engines on one store, and requests that are answered in any order."""

    make_agent: Callable[[], Agent] = AGENTS["openai-chat"]
    make_store: Callable[[], Any] = staticmethod(in_memory)

    def __init__(self) -> None:
        super().__init__()
        self.agent = type(self).make_agent()
        self.store = type(self).make_store()
        self.engines = [self.engine(), self.engine()]
        self.branches: list[Branch] = []
        self.open: list[Under] = []

    def engine(self) -> Any:
        """A process: nothing in it but what the store holds."""
        return Engine(Policy(limit_tokens=LIMIT), self.store, CharTokenCounter()).sync

    @initialize()
    def begin(self) -> None:
        """Two lines that share their first message."""
        self.branches = [self.agent.start("the task"), self.agent.start("the task")]

    def is_under_way(self, branch: Branch) -> bool:
        """Whether an answer of a line is still awaited."""
        return any(under.branch is branch for under in self.open)

    @rule(line=st.integers(0, 1), worker=st.integers(0, 1), results=RESULTS)
    def ask(self, line: int, worker: int, results: list[str]) -> None:
        """A line goes on, through one of the workers."""
        branch = self.branches[line]
        if self.is_under_way(branch):
            return
        if branch.sent is not None or len(branch.history) > 1:
            self.agent.step(branch, "next", [TEXTS[result] for result in results])
        before = json.dumps(branch.history)
        body = self.agent.body(branch)
        rewrite = self.engines[worker].rewrite(Call(body), self.agent.format)

        assert json.dumps(branch.history) == before
        self.look_at(body, rewrite)
        self.look_behind(branch, rewrite)
        self.open.append(Under(branch, rewrite, len(branch.history)))

    @precondition(lambda self: self.open)
    @rule(number=st.integers(0, 5), worker=st.integers(0, 1))
    def land(self, number: int, worker: int) -> None:
        """An answer comes, in any order, to any worker."""
        under = self.open.pop(number % len(self.open))
        self.engines[worker].forwarded(under.rewrite.ticket)
        under.branch.sent = forms_of(under.rewrite.body)
        under.branch.count = under.count

    @rule(worker=st.integers(0, 1))
    def restart(self, worker: int) -> None:
        """A process dies, and another takes its place."""
        self.engines[worker] = self.engine()

    def look_at(self, body: bytes, rewrite: Rewrite) -> None:
        """Every edit is explained, and without the edits the request is what came in."""
        plan = rewrite.plan
        for edit in plan:
            assert edit.reason
        request = read(body, self.agent.format)
        assert write(request, Plan(plan.edits, plan.envelope)) == rewrite.body
        assert write(request, Plan()) is body
        assert set(untouched(plan, len(request.spans))) <= places_in(request, rewrite.body)
        state = rewrite.ticket.becomes
        assert State.from_bytes(state.to_bytes(), state.forms()) == state
        assert state.messages == len(request.spans)

    def look_behind(self, branch: Branch, rewrite: Rewrite) -> None:
        """What was recorded is not forgotten: the request extends what was sent, or says why not."""
        if branch.sent is None:
            return
        causes = [event.cause for event in rewrite.events if isinstance(event, PrefixBroken)]
        if not causes:
            assert forms_of(rewrite.body)[: len(branch.sent)] == branch.sent
            return
        assert causes == ["compaction"]
        assert self.tokens_if_it_went_on(branch) > LIMIT

    def tokens_if_it_went_on(self, branch: Branch) -> int:
        """What a request would weigh that extends what was sent for a line."""
        new = branch.history[branch.count :]
        sent = [json.loads(form) for form in branch.sent or ()]
        if not self.agent.is_anthropic:
            sent = sent[1:]  # the system message, which the agent writes
        session = Session(Policy(limit_tokens=LIMIT), CharTokenCounter())
        body = self.agent.body(replace(branch, history=[*sent, *new]))
        return session.weigh(session.read(Call(body), self.agent.format)).total_tokens


def untouched(plan: Plan, count: int) -> list[int]:
    """The messages that no edit names."""
    named: set[int] = set()
    for edit in plan:
        match edit:
            case Replace():
                named.add(edit.message)
            case Drop():
                named.add(edit.ref.message)
            case Fold():
                named.update(ref.message for ref in edit.removed)
                named |= set() if edit.joins is None else {edit.joins}
            case Keep():
                pass
    return [place for place in range(count) if place not in named]


def places_in(request: Any, sent: bytes) -> set[int]:
    """The messages of a request that are in what was sent, byte for byte."""
    out = read(sent, request.format.name)
    found = {out.message_bytes(place) for place in range(len(out.spans))}
    return {place for place in range(len(request.spans)) if request.message_bytes(place) in found}


SETTINGS = settings(
    max_examples=4,
    phases=[Phase.generate],
    stateful_step_count=200,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", AGENTS)
def test_nothing_is_lost(name: str) -> None:
    """Over scripts of 200 steps with two workers and answers in any order."""
    machine = type("Machine", (Workers,), {"make_agent": staticmethod(AGENTS[name])})

    run_state_machine_as_test(machine, settings=SETTINGS)


class Careless:
    """A fault: a store that writes back what it has read before, whatever was written since."""

    never_waits = True

    def __init__(self) -> None:
        self.kept = in_memory()
        self.writes = 0
        self.first = b""

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """As it should."""
        return await self.kept.get(keys)

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """As it should."""
        await self.kept.put(entries)

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """As it should."""
        await self.kept.add(entries)

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Every other time, what it was given first for this conversation is written again."""
        self.writes += 1
        self.first = self.first or value
        return await self.kept.swap(key, expected, self.first if self.writes % 2 else value)


class Torn(Careless):
    """A fault: half of what is written arrives, and is taken for whole."""

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Forms lose their last words."""
        await self.kept.add(
            {
                key: value.replace(b"removed here", b"removed") if key[9:10] == b"f" else value
                for key, value in entries.items()
            }
        )

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """As it should."""
        return await self.kept.swap(key, expected, value)


@pytest.mark.parametrize("fault", [Careless, Torn])
@pytest.mark.parametrize("name", AGENTS)
def test_the_law_catches_a_planted_fault(fault: Any, name: str) -> None:
    """What was sent is forgotten, or remembered wrongly, and nothing says so."""
    machine = type(
        "Machine",
        (Workers,),
        {"make_agent": staticmethod(AGENTS[name]), "make_store": staticmethod(fault)},
    )

    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine, settings=settings(SETTINGS, max_examples=20))
