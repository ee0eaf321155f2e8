"""The driver around a session: what it finds, what it records, and what it passes on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.laws.agents import Agent, Branch, forms_of
from trimtab import (
    Answer,
    Call,
    CharTokenCounter,
    Engine,
    LimitLearned,
    Policy,
    PolicyError,
    PrefixBroken,
    Refusal,
    RequestError,
    Rewrite,
    StateUnreadable,
    Store,
    StoreError,
    SyncEngine,
    Usage,
    in_memory,
)
from trimtab.events import Event
from trimtab.state import State
from trimtab.stores import InMemoryStore
from trimtab.wire import check

LIMIT = 1_500
BIG = "x" * 1_600
"""A result of 400 tokens."""


@pytest.fixture(params=["anthropic", "openai-chat"])
def agent(request: pytest.FixtureRequest) -> Agent:
    """An agent of each format."""
    models = {"anthropic": "claude-opus-4-5", "openai-chat": "gpt-5.2"}
    return Agent(request.param, models[request.param])


def make_engine(
    store: Store | None = None, limit: int = LIMIT, events: list[Event] | None = None
) -> Engine:
    """An engine that counts characters."""
    tell = None if events is None else events.append
    return Engine(Policy(limit_tokens=limit), store, CharTokenCounter(), on_event=tell)


@dataclass
class Provider:
    """Takes what it is sent, or refuses it as it is told to.

    Attributes:
        refusals: What it answers, one after the other; None, and then always, is a yes.
        usage: What it says that it billed.
        sent: The rewrites that it was sent.
    """

    refusals: list[Refusal | None] = field(default_factory=list)
    usage: Usage | None = None
    sent: list[Rewrite] = field(default_factory=list)

    def send(self, rewrite: Rewrite) -> Answer[str]:
        """Answer with how many requests there have been."""
        self.sent.append(rewrite)
        refusal = self.refusals.pop(0) if self.refusals else None
        return Answer(f"answer {len(self.sent)}", self.usage, refusal)

    async def send_later(self, rewrite: Rewrite) -> Answer[str]:
        """The same for code that awaits."""
        await asyncio.sleep(0)
        return self.send(rewrite)


class WaitingStore:
    """A store that really waits, as one behind a socket does."""

    never_waits = False

    def __init__(self) -> None:
        self.inner = in_memory()

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys."""
        await asyncio.sleep(0)
        return await self.inner.get(keys)

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries."""
        await asyncio.sleep(0)
        await self.inner.put(entries)

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those that are not there."""
        await asyncio.sleep(0)
        await self.inner.add(entries)

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write one if nobody else has."""
        await asyncio.sleep(0)
        return await self.inner.swap(key, expected, value)


def line_of(store: InMemoryStore, link: bytes) -> bytes:
    """The key of the line that a link leads to."""
    (pointer,) = (value for key, value in entries(store).items() if key.endswith(b"k" + link))
    return pointer.removeprefix(b"=>")[:18]  # behind it: how many messages it had then


def grow(agent: Agent, branch: Branch, turns: int, results: Sequence[str] = (BIG,)) -> None:
    """Some turns of a tool loop, which nobody sends."""
    for _ in range(turns):
        agent.step(branch, "next", [*results])


def entries(store: InMemoryStore) -> dict[bytes, bytes]:
    """What a store holds."""
    return dict(store._entries)


def state_of(rewrite: Rewrite) -> State:
    """The state that a rewrite began from."""
    assert rewrite.ticket.began is not None
    return rewrite.ticket.began


def ask(engine: Engine, agent: Agent, branch: Branch, **more: Any) -> Rewrite:
    """Have a line rewritten."""
    return engine.sync.rewrite(Call(agent.body(branch)), agent.format, **more)


# ----------------------------------------------------------------- exchange


def test_the_next_request_extends_what_was_sent(agent: Agent) -> None:
    """An exchange records what was sent in place of what came."""
    engine, provider = make_engine(), Provider()
    branch = agent.start("go")
    grow(agent, branch, 6)
    first = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    grow(agent, branch, 1, ["short"])
    second = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    before, after = (forms_of(rewrite.body) for rewrite in provider.sent)
    assert (first, second) == ("answer 1", "answer 2")
    assert provider.sent[0].plan
    assert after[: len(before)] == before
    assert state_of(provider.sent[1]).messages == len(branch.history) - _added(agent)
    assert provider.sent[1].events == ()


def _added(agent: Agent) -> int:
    """Messages that a step adds to those of a body with one call less the system prompt."""
    return 2 if agent.is_anthropic else 1


def test_what_was_billed_is_recorded(agent: Agent) -> None:
    """It stands in the state that the next request begins from."""
    engine = make_engine()
    provider = Provider(usage=Usage(fresh=3, cache_read=40, cache_write=500, output=6_000))
    branch = agent.start("go")
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    agent.answer(branch, "well")
    branch.history.append(agent.user("go on"))

    assert state_of(ask(engine, agent, branch)).billed_tokens == 543


def test_what_nobody_took_is_not_recorded(agent: Agent) -> None:
    """Neither by asking nor by a refusal that is passed on."""
    store = in_memory()
    engine, provider = make_engine(store), Provider([Refusal(kind="rate limit")])
    branch = agent.start("go")
    grow(agent, branch, 6)

    response = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    assert response == "answer 1"
    assert len(provider.sent) == 1
    assert entries(store) == {}


def test_a_request_that_is_too_large_is_sent_again_once_and_smaller(agent: Agent) -> None:
    """What the provider took then is what is known of the conversation."""
    events: list[Event] = []
    engine = make_engine(limit=4_000, events=events)
    refusal = Refusal(kind="overflow", limit_tokens=1_000, sent_tokens=2_000)
    provider = Provider([refusal])
    branch = agent.start("go")
    grow(agent, branch, 6)

    response = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    first, second = (rewrite.outcome.tokens_after for rewrite in provider.sent)
    agent.answer(branch, "well")
    branch.history.append(agent.user("go on"))
    learned = state_of(ask(engine, agent, branch)).limit_tokens

    assert response == "answer 2"
    assert second <= first // 2
    assert events[0] == LimitLearned(first // 2)
    assert learned == first // 2
    assert forms_of(ask(engine, agent, branch).body)[:3] == forms_of(provider.sent[1].body)[:3]


def test_a_second_refusal_is_passed_on(agent: Agent) -> None:
    """And nothing is recorded of either."""
    store = in_memory()
    engine = make_engine(store, 4_000)
    provider = Provider([Refusal(kind="overflow"), Refusal(kind="overflow")])
    branch = agent.start("go")
    grow(agent, branch, 6)

    response = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    assert response == "answer 2"
    assert len(provider.sent) == 2
    assert entries(store) == {}


def test_a_refusal_behind_the_start_of_an_answer_teaches(agent: Agent) -> None:
    """Nothing can be sent again, but the next request is smaller."""
    engine, provider = make_engine(limit=4_000), Provider()
    provider.refusals = [Refusal(kind="overflow", limit_tokens=1_000, is_after_start=True)]
    branch = agent.start("go")
    grow(agent, branch, 6)

    response = engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    grow(agent, branch, 1, ["short"])
    again = ask(engine, agent, branch)

    assert response == "answer 1"
    assert (state_of(again).limit_tokens, again.outcome.limit_tokens) == (1_000, 1_000)
    assert again.outcome.fits


def test_code_that_awaits_does_the_same(agent: Agent) -> None:
    """Exchange, refusal and record, without a thread."""
    engine, provider = make_engine(limit=4_000), Provider([Refusal(kind="overflow")])
    branch = agent.start("go")
    grow(agent, branch, 6)

    async def run() -> tuple[str, Rewrite]:
        call = Call(agent.body(branch))
        response = await engine.exchange(call, provider.send_later, agent.format)
        return response, await engine.rewrite(call, agent.format)

    response, again = asyncio.run(run())

    assert response == "answer 2"
    assert again.body == provider.sent[1].body


def test_a_result_that_comes_late_is_moved_behind_its_call(agent: Agent) -> None:
    """What was made in its place goes, and every call has its one result."""
    engine, provider = make_engine(limit=4_000), Provider()
    branch = agent.start("go")
    agent.step(branch, "wait", ["late"], answered=False)
    branch.history.append(agent.user("never mind"))
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    late: dict[str, Any] = {"role": "tool", "tool_call_id": "call_1", "content": "late"}
    if agent.is_anthropic:
        block = {"type": "tool_result", "tool_use_id": "call_1", "content": "late"}
        late = {"role": "user", "content": [block]}
    branch.history.append(late)
    agent.answer(branch, "well")
    branch.history.append(agent.user("go on"))

    rewrite = ask(engine, agent, branch)

    assert agent.broken_rules(provider.sent[0].body) == []
    assert agent.broken_rules(rewrite.body) == []
    assert b"late" in rewrite.body


# ------------------------------------------------------------------ finding


def test_a_request_that_was_read_can_be_rewritten() -> None:
    """By whoever needs the turn itself."""
    agent = Agent("anthropic", "claude-opus-4-5")
    engine = make_engine()
    call = Call(agent.body(agent.start("go")))
    turn = engine.session.read(call)

    assert engine.sync.rewrite(turn).body is call.body


def test_a_rewind_and_a_fork_find_the_state_of_their_point(agent: Agent) -> None:
    """Each message that was sent leads to what was sent for it."""
    engine, provider = make_engine(), Provider()
    branch = agent.start("go")
    for _ in range(3):
        engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
        grow(agent, branch, 2)
    tip = ask(engine, agent, branch)
    fork = branch.copy(len(branch.history) - 2)
    fork.history.append(agent.user("another way"))

    assert state_of(ask(engine, agent, fork)).key == state_of(tip).key
    assert state_of(ask(engine, agent, branch.copy(1))).messages == 1 + (not agent.is_anthropic)


def test_a_call_that_gets_another_result_stays_with_it(agent: Agent) -> None:
    """On a fork, what was removed with the old result is back, whether or not histories are mended."""
    for repair in (True, False):
        engine = Engine(Policy(limit_tokens=LIMIT, repair=repair), None, CharTokenCounter())
        branch = agent.start("go")
        grow(agent, branch, 8)
        first = ask(engine, agent, branch)
        engine.sync.forwarded(first.ticket)
        fork = branch.copy(9)  # the user's words, and four exchanges
        fork.history[-1] = json.loads(json.dumps(fork.history[-1]).replace(BIG, "edited result"))

        again = ask(engine, agent, fork)

        assert first.plan
        assert agent.broken_rules(again.body) == []
        assert b"edited result" in again.body
        assert again.events == ()
        assert forms_of(again.body)[:1] == forms_of(first.body)[:1]


@pytest.mark.parametrize("place", [2, 4])
def test_roles_alternate_on_a_fork_too(place: int) -> None:
    """Other words in place of what was said, in the middle or at the end."""

    def said(role: str, words: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"text": words}]}

    lines = [said("user", "task"), said("model", BIG), said("user", BIG), said("model", BIG)]
    lines.append(said("user", "now"))
    fork = [*lines[:place], said("user", "later")]
    policy = Policy(limit_tokens=LIMIT, trigger_tokens=300, target_tokens=1)
    engine = Engine(policy, None, CharTokenCounter())
    sent: list[list[str]] = []
    for history in (lines, fork):
        call = Call(json.dumps({"contents": history}).encode(), model="gemini-2.5-pro")
        rewrite = engine.sync.rewrite(call, "gemini")
        engine.sync.forwarded(rewrite.ticket)
        assert check(rewrite.body, "gemini") == ()
        sent.append([json.dumps(content) for content in json.loads(rewrite.body)["contents"]])

    assert len(sent[0]) == len(sent[1]) == 3
    assert sent[0][:2] == sent[1][:2]


def test_a_history_whose_front_the_client_removed_is_found_again(agent: Agent) -> None:
    """By its weak key; what was sent before is declared as broken by the client."""
    engine, provider = make_engine(limit=4_000), Provider()
    branch = agent.start("go")
    grow(agent, branch, 1, ["some words"])
    agent.answer(branch, "well")
    count = len(branch.history)
    for words in ("go on", "and on"):
        branch.history.append(agent.user(words))
        grow(agent, branch, 1, ["some words"])
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    del branch.history[:count]
    branch.system = "Be quick."
    agent.answer(branch, "cleared")

    again = ask(engine, agent, branch)

    assert state_of(again).key == provider.sent[0].ticket.turn.key
    assert PrefixBroken("client_edited") in again.events


def test_a_shared_front_does_not_hide_a_history_that_knows_more(agent: Agent) -> None:
    """The first message is known too, but of a turn far away."""
    engine, provider = make_engine(limit=4_000), Provider()
    branch = agent.start("go")
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    grow(agent, branch, 3, ["some words"])
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    other = agent.start("go")
    grow(agent, other, 1)
    branch.history[1] = {**branch.history[1], "content": other.history[1]["content"]}
    if agent.is_anthropic:
        branch.history[1]["content"][-1]["id"] = "call_1"
    agent.answer(branch, "cleared")
    branch.history.append(agent.user("go on"))

    assert state_of(ask(engine, agent, branch)).key == provider.sent[1].ticket.turn.key


def test_a_weak_key_that_leads_less_far_is_not_followed(agent: Agent) -> None:
    """What the links say of a turn far away is the most that is known."""
    engine, provider = make_engine(limit=4_000), Provider()
    branch = agent.start("go")
    grow(agent, branch, 1, ["some words"])
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    grow(agent, branch, 3, ["some words"])

    known = state_of(ask(engine, agent, branch))

    assert known.key == provider.sent[0].ticket.turn.key


@pytest.mark.parametrize("tenants", [("a", "b"), ("", "a"), ("a", "")])
def test_two_tenants_share_nothing(agent: Agent, tenants: tuple[str, str]) -> None:
    """Not one key of the store, and so neither links, weak keys nor forms."""
    stores = []
    branch = agent.start("go")
    grow(agent, branch, 6)
    for tenant in tenants:
        store, provider = in_memory(), Provider()
        engine = make_engine(store)
        engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format, tenant=tenant)
        other = next(name for name in tenants if name != tenant)
        assert provider.sent[0].plan
        assert ask(engine, agent, branch, tenant=tenant).ticket.began is not None
        assert ask(engine, agent, branch, tenant=other).ticket.began is None
        stores.append(store)

    assert not entries(stores[0]).keys() & entries(stores[1]).keys()


def test_a_line_is_kept_once_and_says_the_latest(agent: Agent) -> None:
    """However many turns it has: each takes the place of the one before."""
    store, provider = in_memory(), Provider()
    engine = make_engine(store, 100_000)
    branch = agent.start("go")
    for _ in range(5):
        engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
        grow(agent, branch, 1)
    keys = [rewrite.ticket.turn.key for rewrite in provider.sent]

    lines = {line_of(store, key) for key in keys}

    assert len(lines) == 1
    (line,) = lines
    assert State.from_bytes(entries(store)[line], {}) == provider.sent[-1].ticket.becomes
    assert [key for key in entries(store) if key[9:10] == b"s"] == [line]


def test_a_compaction_begins_another_line(agent: Agent) -> None:
    """Who comes back to what was sent before it finds what was sent then."""
    store, provider = in_memory(), Provider()
    engine = make_engine(store)
    branch = agent.start("go")
    bodies = []
    for _ in range(6):
        bodies.append(agent.body(branch))
        engine.sync.exchange(Call(bodies[-1]), provider.send, agent.format)
        grow(agent, branch, 1)
    compacted = next(place for place, rewrite in enumerate(provider.sent) if rewrite.plan)

    again = engine.sync.rewrite(Call(bodies[compacted - 1]), agent.format)

    assert again.body == bodies[compacted - 1]
    links = [rewrite.ticket.turn.key for rewrite in provider.sent]
    assert line_of(store, links[compacted - 1]) != line_of(store, links[compacted])
    assert ask(engine, agent, branch).plan


def test_links_that_lead_to_a_line_lead_there_for_good(agent: Agent) -> None:
    """A longer request that nobody saw the front of leaves the state of that front."""
    store = in_memory()
    engine, provider = make_engine(store), Provider()
    branch = agent.start("go")
    longer = branch.copy(1)
    grow(agent, longer, 2)
    unseen = ask(engine, agent, longer)
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    key = provider.sent[0].ticket.turn.key
    before = line_of(store, key)

    engine.sync.forwarded(unseen.ticket)

    assert key in unseen.ticket.turn.links
    assert line_of(store, key) == before
    assert line_of(store, unseen.ticket.turn.key) != before


def test_what_is_really_sent_is_known_by_itself(agent: Agent) -> None:
    """And no longer by what was only passed through it."""
    engine, provider = make_engine(), Provider()
    branch = agent.start("go")
    longer = branch.copy(1)
    grow(agent, longer, 2)
    engine.sync.exchange(Call(agent.body(longer)), provider.send, agent.format)
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    rewound = ask(engine, agent, branch)

    assert state_of(rewound).key == rewound.ticket.turn.key == provider.sent[1].ticket.turn.key


def test_a_fork_leaves_the_line_that_it_parts_from(agent: Agent) -> None:
    """Copy on write: both go on from what was sent up to the parting, whichever comes first."""
    store, provider = in_memory(), Provider()
    engine = make_engine(store, 100_000)
    branch = agent.start("go")
    grow(agent, branch, 1)
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    fork = branch.copy(len(branch.history))
    for line in (branch, fork):
        grow(agent, line, 1)
        engine.sync.exchange(Call(agent.body(line)), provider.send, agent.format)

    found = [state_of(ask(engine, agent, line)) for line in (branch, fork)]

    assert found == [rewrite.ticket.becomes for rewrite in provider.sent[1:]]


def test_a_late_record_does_not_overwrite_a_newer_one(agent: Agent) -> None:
    """Of two answers that overlap, the one that began first may end last."""
    store, provider = in_memory(), Provider()
    engine = make_engine(store, 100_000)
    branch = agent.start("go")
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    grow(agent, branch, 1)
    late = ask(engine, agent, branch)
    engine.sync.forwarded(late.ticket)
    grow(agent, branch, 1)
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    before = entries(store)

    make_engine(store, 100_000).sync.observed(late.ticket, Usage(fresh=7))

    assert {key: entries(store)[key] for key in before} == before


def test_one_who_is_always_overtaken_gives_up(agent: Agent) -> None:
    """And overwrites nothing that he has not seen."""
    store = Overtaken()
    engine, provider = make_engine(store), Provider()
    branch = agent.start("go")
    grow(agent, branch, 2)

    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    assert set(entries(store).values()) == {b"somebody else's"}


class Overtaken(InMemoryStore):
    """A store in which somebody else is always faster."""

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:  # noqa: ARG002 - a store's shape
        """Too late."""
        await self.put({key: b"somebody else's"})
        return False


@pytest.mark.parametrize(
    "broken",
    [
        lambda value: value[:-1],
        lambda value: value[:40] + bytes([value[40] ^ 1]) + value[41:],
        lambda _: b"",
        lambda _: b"something else",
        lambda value: value[:13] + b"\x7f" + value[14:],
    ],
)
def test_a_state_that_cannot_be_read_is_a_miss_and_an_event_tells(
    agent: Agent, broken: Callable[[bytes], bytes]
) -> None:
    """The conversation starts anew."""
    store, events, provider = in_memory(), list[Event](), Provider()
    engine = make_engine(store, events=events)
    branch = agent.start("go")
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    line = line_of(store, provider.sent[0].ticket.turn.key)
    asyncio.run(store.put({line: broken(entries(store)[line])}))

    again = ask(engine, agent, branch)

    assert again.ticket.began is None
    assert {type(event) for event in events} == {StateUnreadable}


def test_a_torn_state_is_told_of_once(agent: Agent) -> None:
    """However many messages lead to it."""
    store, events, provider = in_memory(), list[Event](), Provider()
    engine = make_engine(store, events=events)
    branch = agent.start("go")
    grow(agent, branch, 2, ["some words"])
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    asyncio.run(store.put({line_of(store, provider.sent[0].ticket.turn.key): b"torn"}))

    ask(engine, agent, branch)

    assert len(events) == 1


def test_a_form_that_is_gone_makes_its_state_a_miss(agent: Agent) -> None:
    """The state alone does not say what was sent."""
    store, events, provider = in_memory(), list[Event](), Provider()
    engine = make_engine(store, events=events)
    branch = agent.start("go")
    grow(agent, branch, 6)
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    for key in entries(store):
        if key[9:10] == b"f":
            store._forget(key)
    events.clear()

    again = ask(engine, agent, branch)

    assert again.ticket.began is None
    assert isinstance(events[0], StateUnreadable)


@pytest.mark.parametrize("value", [None, b"=>" + b"0" * 18, b"=>", b"", b"something else"])
def test_a_link_that_leads_nowhere_is_a_miss(agent: Agent, value: bytes | None) -> None:
    """To nothing, or to no line; nobody need be told, for stores forget."""
    store, events, provider = in_memory(), list[Event](), Provider()
    engine = make_engine(store, events=events)
    branch = agent.start("go")
    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    for key in [key for key in entries(store) if key[9:10] == b"k"]:
        store._forget(key)
        if value is not None:
            asyncio.run(store.put({key: value}))

    assert ask(engine, agent, branch).ticket.began is None
    assert events == []


def test_a_listener_that_raises_changes_nothing(agent: Agent) -> None:
    """What it is told is told, and the request goes out."""
    told: list[Event] = []

    def listen(event: Event) -> None:
        told.append(event)
        raise RuntimeError("the display is gone")

    branch = agent.start("go")
    grow(agent, branch, 6)
    loud = Engine(Policy(limit_tokens=LIMIT), None, CharTokenCounter(), on_event=listen)
    quiet = make_engine()

    rewrite = ask(loud, agent, branch)

    assert rewrite.body == ask(quiet, agent, branch).body
    assert told == list(rewrite.events) != []


# ------------------------------------------------------------------ waiting


def test_a_store_that_waits_is_run_beside_the_caller(agent: Agent) -> None:
    """Every method of the synchronous engine, refusals included."""
    engine = make_engine(WaitingStore(), 4_000)
    provider = Provider([Refusal(kind="overflow")])
    branch = agent.start("go")
    grow(agent, branch, 6)

    engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)
    again = ask(engine, agent, branch)
    engine.sync.observed(again.ticket, Usage(fresh=7))
    billed = state_of(ask(engine, agent, branch)).billed_tokens
    engine.sync.forwarded(again.ticket)

    assert again.body == provider.sent[1].body
    assert billed == 7
    assert engine.sync.refused(again.ticket, Refusal(kind="rate limit")) is None


def test_synchronous_code_inside_a_running_loop_can_wait(agent: Agent) -> None:
    """As in a notebook: the caller's own loop stands still meanwhile."""
    engine, provider = make_engine(WaitingStore()), Provider()
    branch = agent.start("go")
    grow(agent, branch, 2)

    async def run() -> str:
        await asyncio.sleep(0)
        return engine.sync.exchange(Call(agent.body(branch)), provider.send, agent.format)

    assert asyncio.run(run()) == "answer 1"
    assert ask(engine, agent, branch).ticket.began is not None


def test_a_synchronous_send_runs_in_the_callers_own_thread(agent: Agent) -> None:
    """It takes a minute, and may use the engine itself: a tool that asks a model."""
    engine, threads = make_engine(WaitingStore()), list[int]()

    def send(_: Rewrite) -> Answer[str]:
        threads.append(threading.get_ident())
        return Answer("answer")

    engine.sync.exchange(Call(agent.body(agent.start("go"))), send, agent.format)

    assert threads == [threading.get_ident()]


@pytest.mark.parametrize("store", [in_memory(), WaitingStore()])
def test_errors_reach_synchronous_code(store: Store) -> None:
    """Whoever runs the work."""
    engine = make_engine(store)

    with pytest.raises(RequestError):
        engine.sync.rewrite(Call(b"no JSON"))


def test_without_a_limit_or_a_known_model_the_policy_is_at_fault(agent: Agent) -> None:
    """Nobody said what must not be passed."""
    branch = agent.start("go")
    branch.model = "nobody-knows"

    with pytest.raises(PolicyError, match="limit_tokens"):
        ask(Engine(counter=CharTokenCounter()), agent, branch)


class Liar(WaitingStore):
    """A store that says that it never waits, and does."""

    never_waits = True


def test_a_store_that_waits_against_its_word_is_an_error(agent: Agent) -> None:
    """It cannot be run without a loop."""
    with pytest.raises(StoreError, match="never waits"):
        ask(make_engine(Liar()), agent, agent.start("go"))


def test_a_synchronous_engine_is_the_same_engine() -> None:
    """It keeps nothing of its own."""
    engine = make_engine()

    assert isinstance(engine.sync, SyncEngine)
    assert engine.sync.engine is engine
