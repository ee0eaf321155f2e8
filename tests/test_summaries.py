"""Summaries in sessions and engines: wanted early, made once, put in place where they still fit."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import pytest

from tests.laws.summaries import ANSWERS, ScriptedMaker
from trimtab import (
    CharTokenCounter,
    Context,
    ContextCompacted,
    Engine,
    Message,
    Policy,
    Rewrite,
    Session,
    Summary,
    Surface,
    Usage,
    in_memory,
)
from trimtab.background.summaries import BackgroundSummaries
from trimtab.briefing import BRIEFING, Refused
from trimtab.errors import PolicyError, StoreError
from trimtab.events import Event, SummaryGivenUp
from trimtab.state import State
from trimtab.stores import InMemoryStore
from trimtab.stores.briefs import Briefs
from trimtab.stores.keys import LEASE, TOGETHER_BYTES, briefs_key, conversation_of, summary_key
from trimtab.summary import KeptSummary, SummaryRequest, SummaryStats, WantedSummary
from trimtab.wire import Call, build, check, read

Json: TypeAlias = dict[str, Any]

LIMIT = 4_000
GOOD = Summary("## Goal\nShip the parser.", "stop", Usage(fresh=900, output=40), 0.01, "small")


def history(turns: int, words: int = 120) -> list[Json]:
    """A conversation of so many questions, each answered but the last."""
    messages: list[Json] = [{"role": "system", "content": "Be careful."}]
    for number in range(turns):
        rule = f"Question {number}: never touch file{number}.py, please. "
        messages.append({"role": "user", "content": rule + "why " * words})
        messages.append({"role": "assistant", "content": f"Answer {number}: " + "so " * words})
    return messages[:-1]


def turn_of(worker: Session, turns: int, **more: Any) -> Any:
    """Its request."""
    body = {"model": "gpt-5.2", "messages": history(turns), **more}
    return worker.read(Call(json.dumps(body).encode()))


def session(**settings: Any) -> Session:
    """A session that wants summaries."""
    return Session(Policy(limit_tokens=LIMIT, summaries=True, **settings), CharTokenCounter())


def text_of(rewrite: Rewrite) -> str:
    """All that goes out."""
    return rewrite.body.decode()


class Driven:
    """A conversation turn by turn, with a summary that is ready some turns after it was wanted."""

    def __init__(self, worker: Session, latency: int = 2, answer: object = GOOD) -> None:
        self.worker = worker
        self.latency = latency
        self.answer = answer
        self.state: State | None = None
        self.summary: KeptSummary | None = None
        self.pending: tuple[WantedSummary, int] | None = None
        self.asked: list[WantedSummary] = []
        self.events: list[Event] = []

    def go(self, turns: int) -> Rewrite:
        """One turn."""
        if self.pending is not None and turns >= self.pending[1]:
            judged = self.worker.accepted(self.pending[0], self.answer)
            self.summary = judged if isinstance(judged, KeptSummary) else self.summary
            self.pending = None
        turn = turn_of(self.worker, turns)
        is_free = self.pending is None
        rewrite = self.worker.rewrite(turn, self.state, self.summary, may_ask=is_free)
        if rewrite.wanted is not None:
            self.asked.append(rewrite.wanted)
            self.pending = (rewrite.wanted, turns + self.latency)
        self.state = self.worker.forwarded(rewrite.ticket)
        self.events += rewrite.events
        return rewrite

    @property
    def methods(self) -> list[str]:
        """How it was made smaller, each time."""
        return [event.method for event in self.events if isinstance(event, ContextCompacted)]


# ------------------------------------------------------------------------ session


def test_a_summary_is_wanted_before_a_compaction_is_due() -> None:
    """From 0.6 of the trigger on, of what lies between head and tail; and only where the policy says so."""
    driven = Driven(session())
    first = next(n for n in range(1, 40) if driven.go(n).wanted)
    wanted = driven.asked[0]

    assert not driven.methods
    assert wanted.key == turn_of(driven.worker, first).links[wanted.cut - 1]
    assert 0 < wanted.head < wanted.cut < len(history(first))
    assert 0 < wanted.tokens < LIMIT
    assert [m.role for m in wanted.messages] == [m["role"] for m in history(first)[: wanted.cut]]
    assert wanted.start == wanted.head

    silent = Session(Policy(limit_tokens=LIMIT), CharTokenCounter())
    assert all(silent.rewrite(turn_of(silent, n)).wanted is None for n in (first, first + 1))


def test_an_accepted_summary_takes_the_place_of_what_it_covers() -> None:
    """With the ledger, at a compaction, and told with what it cost; then nothing moves."""
    driven = Driven(session())
    rewrites = [driven.go(number) for number in range(1, 40)]
    event = next(e for e in driven.events if isinstance(e, ContextCompacted))
    place = next(n for n, rewrite in enumerate(rewrites) if "Ship the parser" in text_of(rewrite))
    sent = json.loads(rewrites[place].body)["messages"]

    assert event.method == "summarized"
    assert event.summary is not None
    assert (event.summary.usage, event.summary.cost) == (GOOD.usage, GOOD.cost)
    assert [BRIEFING in m["content"] for m in sent].count(True) == 1
    briefing = next(m["content"] for m in sent if BRIEFING in m["content"])
    assert "never touch file" in briefing
    assert check(rewrites[place].body, "openai-chat") == ()
    for rewrite in rewrites[place + 1 :]:
        if any(isinstance(e, ContextCompacted) for e in rewrite.events):
            break
        assert json.loads(rewrite.body)["messages"][: len(sent)] == sent


def test_over_many_compactions_one_briefing_is_alive() -> None:
    """A new one absorbs the old, and no request is over its limit."""
    driven = Driven(session())
    for number in range(1, 90):
        rewrite = driven.go(number)
        assert text_of(rewrite).count("this briefing stands for") <= 1
        assert rewrite.outcome.fits
    assert driven.methods.count("summarized") >= 5
    assert driven.methods.count("deterministic") <= 1
    assert len(driven.asked) <= driven.methods.count("summarized") + 1


def test_a_compaction_without_a_new_summary_keeps_the_old_one() -> None:
    """As long as there is room; what follows it is made smaller by rule."""
    driven = Driven(session())
    number = 1
    while "summarized" not in driven.methods:
        driven.go(number)
        number += 1
    driven.latency = 10_000
    rewrite = driven.go(number)
    while "deterministic" not in driven.methods:
        rewrite = driven.go(number)
        number += 1

    assert "Ship the parser" in text_of(rewrite)
    assert "earlier messages were removed" not in text_of(rewrite)
    assert rewrite.outcome.fits


@pytest.mark.parametrize(
    "name", [name for name in ANSWERS if name not in ("good", "other", "orders")]
)
def test_a_bad_answer_is_refused_with_its_reason(name: str) -> None:
    """And no word of it is told."""
    driven = Driven(session())
    for number in range(1, 40):
        if driven.go(number).wanted:
            break
    judged = driven.worker.accepted(driven.asked[0], ANSWERS[name])

    assert isinstance(judged, Refused)
    assert judged.reason
    assert "verbose" not in judged.reason


def test_a_summary_of_another_branch_is_not_used() -> None:
    """It lies under the chain value of its cut, and the engine finds it by that alone."""
    driven = Driven(session())
    wanted = next(rewrite.wanted for n in range(1, 40) if (rewrite := driven.go(n)).wanted)
    assert wanted is not None
    other = turn_of(driven.worker, 39, messages=[{"role": "user", "content": "x"}, *history(39)])

    assert wanted.key not in other.links


def test_a_summary_that_covers_more_than_there_is_changes_nothing() -> None:
    """After a rewind."""
    worker = session()
    summary = KeptSummary("text", 1, 10_000, SummaryStats(9_999))
    with_it = worker.rewrite(turn_of(worker, 30), None, summary)
    without = worker.rewrite(turn_of(worker, 30), None)

    assert with_it.body == without.body


def test_a_briefing_that_has_no_room_is_left_out() -> None:
    """Rules alone decide then."""
    worker = session()
    summary = KeptSummary("fact " * 20_000, 3, 20, SummaryStats(17))
    rewrite = worker.rewrite(turn_of(worker, 30), None, summary)

    assert rewrite.outcome.fits
    assert BRIEFING not in text_of(rewrite)


def test_where_the_client_leaves_compaction_to_the_provider_nothing_is_wanted() -> None:
    """Ours is off for that concern."""
    worker = session()
    edits = {"edits": [{"type": "compact_20260112"}]}
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 99,
        "context_management": edits,
        "messages": history(20)[1:],
    }
    rewrite = worker.rewrite(worker.read(Call(json.dumps(body).encode())))

    assert rewrite.wanted is None


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_an_old_briefing_stays_through_many_compactions(format: str) -> None:  # noqa: A002 - the word for it
    """Where no new one comes; roles go on alternating, which one format demands."""
    worker = session(keep_first=2, keep_recent=2)
    messages = [Message.user("Begin.")]
    state: State | None = None
    summary: KeptSummary | None = None
    compactions = 0
    for number in range(100):
        messages.append(Message.assistant(f"answer {number} " + "so " * 60))
        messages.append(Message.user(f"question {number} " + "why " * 60))
        body = build(messages, format, surface=Surface("a-model"), max_tokens=99)
        rewrite = worker.rewrite(worker.read(Call(body), format), state, summary)
        if rewrite.wanted is not None and summary is None:
            kept = worker.accepted(rewrite.wanted, GOOD)
            assert isinstance(kept, KeptSummary)
            summary = kept
        state = worker.forwarded(rewrite.ticket)
        told = [e for e in rewrite.events if isinstance(e, ContextCompacted)]
        compactions += len(told)
        sent = read(rewrite.body, format).messages
        roles = [message.role for message in sent]
        assert all(one != other for one, other in pairwise(roles))
        assert check(rewrite.body, format) == ()
        assert any(BRIEFING in message.text for message in sent) is (compactions > 0)

    assert compactions >= 3


# ------------------------------------------------------------------------- engine


class Shared:
    """Engines of several processes on one store, taking turns on one conversation."""

    def __init__(self, count: int = 2, store: Any = None) -> None:
        self.store = store or in_memory()
        self.makers = [ScriptedMaker() for _ in range(count)]
        self.events: list[Event] = []
        self.engines = [
            Engine(
                Policy(limit_tokens=LIMIT, summaries=True),
                self.store,
                CharTokenCounter(),
                on_event=self.events.append,
                summaries=maker,
            ).sync
            for maker in self.makers
        ]

    def go(self, turns: int, who: int = 0) -> Rewrite:
        """One turn by one of them."""
        engine = self.engines[who % len(self.engines)]
        rewrite = engine.rewrite(turn_of(engine.engine.session, turns))
        engine.forwarded(rewrite.ticket)
        return rewrite

    @property
    def asked(self) -> int:
        """How many summaries are being made."""
        return sum(len(maker.asked) for maker in self.makers)

    def until(self, is_met: Callable[[Rewrite], object], start: int = 1, who: int = 0) -> int:
        """Go on until something holds; gives the number of the next turn."""
        for number in range(start, start + 80):
            if is_met(self.go(number, who)):
                return number + 1
        raise AssertionError("it never came")

    def given_up(self) -> list[SummaryGivenUp]:
        """What was told of summaries that came to nothing."""
        return [event for event in self.events if isinstance(event, SummaryGivenUp)]


def test_of_several_replicas_one_makes_the_summary_and_all_put_in_the_same_bytes() -> None:
    """Whoever comes to the turn on which it is due."""
    shared = Shared()
    number = shared.until(lambda _: shared.asked)
    for _ in range(3):
        shared.go(number, number)
        number += 1
    assert shared.asked == 1

    for maker in shared.makers:
        maker.answer("good")
    shared.go(number)
    due = shared.until(lambda r: "Ship the parser" in text_of(r), number + 1, who=1) - 1
    again = [engine.rewrite(turn_of(engine.engine.session, due)) for engine in shared.engines]

    assert again[0].body == again[1].body
    assert "Ship the parser" in text_of(again[0])


def test_a_state_that_is_lost_loses_no_summary() -> None:
    """It lies under its own key."""
    shared = Shared(1)
    number = shared.until(lambda _: shared.asked)
    shared.makers[0].answer("good")
    shared.go(number)
    for key in [key for key in shared.store._entries if key[9:10] in (b"s", b"k")]:
        shared.store._forget(key)
    last = shared.go(number + 12)

    assert "Ship the parser" in text_of(last)


def test_a_second_summary_for_the_same_messages_changes_nothing() -> None:
    """The first that is kept counts."""
    shared = Shared(1)
    number = shared.until(lambda _: shared.asked)
    wanted = shared.makers[0].asked[0]
    shared.makers[0].answer("good")
    shared.go(number)
    session = shared.engines[0].engine.session
    turn = turn_of(session, number)
    kept = session.accepted(wanted, ANSWERS["other"])
    assert isinstance(kept, KeptSummary)
    briefs = Briefs(shared.store, b"another")
    run(briefs.keep(conversation_of(turn), wanted, kept))

    found = run(briefs.find(turn)).summary
    assert found is not None
    assert "parser" in found.text


@pytest.mark.parametrize("name", ["blank", "refusal", "cut", "call", "strange"])
def test_after_a_bad_answer_it_waits_longer_each_time(name: str) -> None:
    """Each is told, with what it was billed."""
    shared = Shared(1)
    asked_at: list[int] = []
    for number in range(1, 60):
        shared.go(number)
        if shared.asked:
            asked_at.append(number)
            shared.makers[0].answer(name)
    waits = [later - first for first, later in pairwise(asked_at)]

    assert len(asked_at) <= 6
    assert waits == sorted(waits)
    assert len(shared.given_up()) >= len(asked_at) - 1
    answer = ANSWERS[name]
    billed = None if answer is None else SummaryStats(0, answer.usage, answer.cost)  # type: ignore[attr-defined]
    assert {event.summary for event in shared.given_up()} == {billed}


def test_after_an_answer_that_was_too_large_a_larger_span_is_waited_for() -> None:
    """One refused request for each new size."""
    shared = Shared(1)
    number = shared.until(lambda _: shared.asked)
    small = shared.makers[0].asked[0].tokens
    size = "word " * (small * 4 // 5)
    ANSWERS["as long"] = Summary(size, "stop")
    try:
        shared.makers[0].answer("as long")
        shared.until(lambda _: shared.asked, number)
    finally:
        del ANSWERS["as long"]

    assert shared.makers[0].asked[0].tokens > small
    assert [event.cause for event in shared.given_up()] == ["too large"]


def test_a_maker_that_has_too_much_to_do_is_asked_again_later() -> None:
    """And nobody waits for what is never made."""

    class Busy(ScriptedMaker):
        def start(self, wanted: WantedSummary) -> bool:
            super().start(wanted)
            return False

    shared = Shared(1)
    shared.engines[0].engine._summaries = busy = Busy()
    for number in range(1, 30):
        shared.go(number)

    assert len(busy.asked) > 1
    assert not shared.given_up()


def test_after_an_answer_that_was_cut_more_room_is_given_twice() -> None:
    """Whoever of the replicas asks; what came to nothing otherwise gets none."""
    shared = Shared()
    cuts = []
    for number in range(1, 80):
        shared.go(number, number)
        for maker in shared.makers:
            cuts += [wanted.cuts for wanted in maker.asked]
            maker.answer("cut" if len(cuts) != 2 else "blank")
    assert cuts[:5] == [0, 1, 1, 2, 3]

    recorder = Recorder()
    background = BackgroundSummaries(recorder, max_summary_tokens=300)
    for count in range(4):
        background.start(replace(wanted_one(), cuts=count))
        settled(background)
    assert [request.max_tokens for request in recorder.requests] == [300, 600, 1_200, 1_200]


def test_of_requests_that_are_on_their_way_together_one_has_a_summary_made() -> None:
    """Though each is a turn longer than the other, and wants one of more messages."""
    shared = Shared()
    number = shared.until(lambda rewrite: rewrite.wanted)
    shared = Shared()
    turns = range(number - 1, number + 5)
    engines = [shared.engines[turn % 2] for turn in turns]
    rewrites = [
        engine.rewrite(turn_of(engine.engine.session, turn))
        for engine, turn in zip(engines, turns, strict=True)
    ]
    wanted = {rewrite.wanted.key for rewrite in rewrites if rewrite.wanted is not None}
    for engine, rewrite in zip(engines, rewrites, strict=True):
        engine.forwarded(rewrite.ticket)

    assert len(wanted) > 1
    assert shared.asked == 1


class Slow(InMemoryStore):
    """A store that answers after all, once it may."""

    never_waits = False

    def __init__(self) -> None:
        super().__init__()
        self.holds: Callable[[bytes], bool] = lambda _: False
        self.is_held = asyncio.Event()

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write, and answer late."""
        is_swapped = await super().swap(key, expected, value)
        if self.holds(key):
            self.is_held.set()
            await asyncio.Event().wait()
        return is_swapped


@pytest.mark.parametrize("held", ["lease", "briefs", "summary"])
def test_a_request_that_is_cancelled_stops_no_summary(held: str) -> None:
    """Whatever it was about to write: the slot is free again, and no answer is lost."""

    async def go() -> None:
        store, maker = Slow(), ScriptedMaker()
        engine = Engine(
            Policy(limit_tokens=LIMIT, summaries=True),
            store,
            CharTokenCounter(),
            store_seconds=60,
            summaries=maker,
        )
        number = 0

        async def turn() -> Rewrite:
            rewrite = await engine.rewrite(turn_of(engine.session, number))
            await engine.forwarded(rewrite.ticket)
            return rewrite

        def is_held(key: bytes) -> bool:
            kind = key[:1] if key[:1] == LEASE else key[TOGETHER_BYTES : TOGETHER_BYTES + 1]
            return kind == KINDS[held]

        if held == "summary":
            while not maker.asked:
                number += 1
                await turn()
            maker.answer("good")
        store.holds = is_held
        request: asyncio.Task[Rewrite] | None = None
        while not store.is_held.is_set():
            number += 1
            assert number < 40
            request = asyncio.create_task(turn())
            holding = asyncio.create_task(store.is_held.wait())
            await asyncio.wait({request, holding}, return_when=asyncio.FIRST_COMPLETED)
            holding.cancel()
        assert request is not None
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        store.holds = lambda _: False

        said = ""
        for _ in range(12):
            number += 1
            maker.answer("good")
            said = text_of(await turn())
        assert "Ship the parser" in said

    asyncio.run(go())


KINDS = {"lease": LEASE, "briefs": b"b", "summary": b"t"}
"""How keys of each kind are marked."""


def test_a_summary_that_cannot_be_kept_yet_is_kept_later() -> None:
    """It has been paid for."""
    shared = Shared(1)
    number = shared.until(lambda _: shared.asked)
    shared.makers[0].answer("good")
    engine = shared.engines[0].engine
    there, engine._briefs = engine._briefs, Briefs(Down(), b"x")
    shared.go(number)
    engine._briefs = there
    engine._pause.after_success()
    shared.until(lambda rewrite: "Ship the parser" in text_of(rewrite), number + 1)

    assert not shared.given_up()


class Down:
    """A store that cannot be reached."""

    never_waits = True

    async def get(self, *_: Any) -> Any:
        """Not there."""
        raise StoreError("away")

    put = add = swap = get


def test_without_a_store_nothing_is_asked_for() -> None:
    """Somebody else may be at it, and nothing could be kept."""
    shared = Shared(1, Down())
    for number in range(1, 20):
        assert shared.go(number).wanted is None
    assert shared.asked == 0


@pytest.mark.parametrize(
    "torn", [b"", b"\xff", b"[1]", b'{"text": 1}', b'[["zz", 1, 2, 3]]', b"null"]
)
def test_torn_entries_are_misses(torn: bytes) -> None:
    """Of the index and of a summary."""
    shared = Shared(1)
    number = shared.until(lambda _: shared.asked)
    wanted = shared.makers[0].asked[0]
    turn = turn_of(shared.engines[0].engine.session, number)
    conversation = conversation_of(turn)
    briefs = Briefs(shared.store, b"x")
    run(shared.store.put({summary_key(conversation, wanted.key): torn}))
    assert run(briefs.find(turn)).summary is None
    run(shared.store.put({briefs_key(conversation): torn}))
    assert run(briefs.find(turn)).summary is None
    assert shared.go(number).outcome.fits


def run(coroutine: Any) -> Any:
    """Run what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it has waited")


# ------------------------------------------------------------- in the background


class Recorder:
    """A summarizer that answers at once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer."""
        self.requests.append(request)
        return GOOD


def settled(maker: BackgroundSummaries) -> list[Any]:
    """What came back, once it has."""
    made: list[Any] = []
    while not made:
        made = list(maker.collect())
    return made


def wanted_one() -> WantedSummary:
    """Something to sum up."""
    driven = Driven(session())
    return next(r.wanted for n in range(1, 40) if (r := driven.go(n)).wanted is not None)


def test_summaries_are_made_beside_a_program_that_does_not_await() -> None:
    """The span is rendered, the rest of the conversation is at hand for a warm route."""
    recorder, wanted = Recorder(), wanted_one()
    maker = BackgroundSummaries(recorder, max_summary_tokens=300)
    assert maker.start(wanted)
    (made,) = settled(maker)

    assert (made.wanted, made.answer, made.cause, made.is_over) == (wanted, GOOD, "", True)
    (request,) = recorder.requests
    assert request.max_tokens == 300
    assert "Question 2:" in request.prompt
    assert "Be careful." not in request.prompt
    assert request.messages == wanted.messages
    assert repr(maker) == "<BackgroundSummaries, 0 under way>"


def test_no_more_are_made_at_once_than_was_said() -> None:
    """Nor after it was closed."""
    maker = BackgroundSummaries(Hanging(), at_once=1)
    wanted = wanted_one()

    assert [maker.start(wanted), maker.start(wanted)] == [True, False]
    maker.close()
    assert not maker.start(wanted)
    assert maker.longest_seconds == 4 * 120 + 3 * 30


class Hanging:
    """A summarizer that never answers."""

    async def summarize(self, request: SummaryRequest) -> Summary:  # noqa: ARG002 - it looks at nothing
        """Wait for ever."""
        from asyncio import Event as Never  # noqa: PLC0415 - of the loop that runs

        await Never().wait()
        return GOOD


def test_one_that_never_answers_is_given_up_in_time() -> None:
    """With its cause."""
    from trimtab.background import Retry  # noqa: PLC0415 - beside its use

    maker = BackgroundSummaries(Hanging(), timeout_seconds=0.01, retry=Retry(retries=0))
    maker.start(wanted_one())
    (made,) = settled(maker)

    assert (made.cause, made.answer, made.is_over) == ("timed out", None, True)


def test_where_no_thread_can_be_had_no_summary_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the interpreter's end, or under a limit of the system's; no request fails for it."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    maker, wanted = BackgroundSummaries(Recorder()), wanted_one()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert not maker.start(wanted)
    assert maker.start(wanted)
    settled(maker)


def test_a_record_is_as_long_as_was_said_or_as_the_model_reads() -> None:
    """A setting comes first, then what the summarizer says of its model, then what most can read."""

    class Reader(Recorder):
        def record_bytes(self, max_tokens: int) -> int:
            """Less where the answer needs more."""
            return 3_000 - max_tokens

    wanted = wanted_one()
    sizes = []
    for recorder, given in ((Recorder(), None), (Reader(), None), (Reader(), 1_500)):
        maker = BackgroundSummaries(recorder, max_summary_tokens=1_000, record_bytes=given)
        maker.start(wanted)
        settled(maker)
        (request,) = recorder.requests
        record = request.prompt.partition("<record>\n")[2].partition("\n</record>")[0]
        sizes.append(len(record.encode()))

    assert 1_000 < sizes[2] <= 1_500 < sizes[1] <= 2_000 < sizes[0]


@pytest.mark.parametrize(
    "settings",
    [{"at_once": 0}, {"max_summary_tokens": 10}, {"timeout_seconds": 0}, {"record_bytes": 10}],
)
def test_settings_that_make_no_sense_are_refused(settings: Json) -> None:
    """By their names."""
    (name,) = settings
    with pytest.raises(PolicyError, match=name):
        BackgroundSummaries(Recorder(), **settings)


# ------------------------------------------------------------------- the front door


def test_a_context_with_a_summarizer_sums_up() -> None:
    """Nothing else is to be set."""
    recorder = Recorder()
    context = Context(
        "gpt-5.2", Policy(limit_tokens=LIMIT), counter=CharTokenCounter(), summarizer=recorder
    )
    sent = ""
    for number in range(1, 60):
        view = context.fit(history(number))
        context.observe(view)
        sent = json.dumps(view.messages)
        if "Ship the parser" in sent:
            break
        while recorder.requests and not settled_in(context):
            pass

    assert "Ship the parser" in sent
    assert recorder.requests


def settled_in(context: Context) -> bool:
    """Whether nothing is under way."""
    maker = context._engine._summaries
    assert isinstance(maker, BackgroundSummaries)
    return all(flight.job is None or flight.job.is_over for flight in maker._wanted)
