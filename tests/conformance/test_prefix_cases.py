"""Reported faults that concern what is remembered: sent prefixes, and states in a store."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.conformance.shared import case_input, cases, marking
from tests.conformance.test_cases import FORMATS, MODELS, Json, messages_of, parts_of
from trimtab import (
    CharTokenCounter,
    Engine,
    Message,
    Policy,
    PrefixBroken,
    PrefixMemo,
    StoreError,
    SyncEngine,
    ToolCall,
    in_memory,
)
from trimtab.boundaries import MADE_PREFIX
from trimtab.events import Event, StateUnreadable, StoreUnavailable
from trimtab.messages import Surface, Text, ToolResult
from trimtab.policy import Preset
from trimtab.session import Rewrite
from trimtab.stores import InMemoryStore, Store, sqlite
from trimtab.summary import SummaryMaker
from trimtab.wire import CacheHints, Call, build, check, format_named, read, with_cache_markers

KINDS = {2, 10, 12, 13, 14}
AREAS = {"memo", "store"}
"""Those of the area ``adapter`` are in test_cases.py."""

ELSEWHERE = {
    "89-append-during-compaction-lost.json": "in test_summary_cases.py and test_memory_cases.py",
    "90-concurrent-compactions.json": "in test_summary_cases.py and test_memory_cases.py",
}

ALSO = {"58-dict-order-changes-args.json", "80-big-int-rounding.json"}
"""Cases of other areas, of which one half is about what is remembered."""


def in_scope() -> set[str]:
    """The cases that these tests must cover."""
    return {
        name
        for name, case in cases().items()
        if int(case["kind"].split()[0]) in KINDS and case["area"] in AREAS and name not in ELSEWHERE
    }


TESTED: set[str] = set()

case = marking(TESTED)

each_format = pytest.mark.parametrize("format", FORMATS)


# -------------------------------------------------------------------- harness


_SECONDS = 20.0
"""What a slow machine may take for a store."""

Opener: TypeAlias = Callable[[], Store]


@pytest.fixture(params=["in memory", "in a file"])
def shared_store(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the store that all processes share: a file anew, as each of them does."""
    if request.param == "in memory":
        one = in_memory()
        return lambda: one
    return lambda: sqlite(tmp_path / "store.db")


@dataclass
class Worker:
    """A process that rewrites requests: what it knows lies in its store.

    Attributes:
        format: How its clients write.
        policy: What its user wants.
        store: What outlives it.
        now: Its clock, in seconds.
        summaries: Who makes summaries for it; None for nobody.
        events: What it told.
    """

    format: str
    policy: Policy
    store: Store = field(default_factory=in_memory)
    now: float = 1_000.0
    summaries: SummaryMaker | None = None
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = SyncEngine(
            Engine(
                self.policy,
                self.store,
                CharTokenCounter(),
                on_event=self.events.append,
                summaries=self.summaries,
                store_seconds=_SECONDS,
            )
        )

    def send(self, messages: Sequence[Message], **more: Any) -> bytes:
        """Send a request that its provider takes.

        Returns:
            What went out.
        """
        return self.exchange(Call(body_of(messages, self.format, **more), now=self.now)).body

    def exchange(self, call: Call) -> Rewrite:
        """Send a request that its provider takes, whose body is there already."""
        self.events.clear()
        rewrite = self.engine.rewrite(call, self.format)
        self.engine.forwarded(rewrite.ticket)
        return rewrite

    @property
    def causes(self) -> list[str]:
        """Why the last request did not extend the one before it."""
        return [event.cause for event in self.events if isinstance(event, PrefixBroken)]


def body_of(messages: Sequence[Message], format: str, **more: Any) -> bytes:  # noqa: A002 - the word for it
    """A request with these messages."""
    return build(messages, format, surface=Surface(MODELS[format]), **more)


def forms(body: bytes, format: str) -> list[bytes]:  # noqa: A002 - the word for it
    """What of each message the provider's cache sees."""
    return list(map(bytes, read(body, format).forms()))


def results(body: bytes, format: str) -> list[str]:  # noqa: A002 - the word for it
    """The words of each tool result."""
    found = (part for part in parts_of(body, format) if isinstance(part, ToolResult))
    return ["\n".join(b.text for b in part.content if isinstance(b, Text)) for part in found]


def exchange(number: int, words: str, tool: str = "look") -> list[Message]:
    """A call and its result. The signature is for the format whose provider signs calls."""
    call = ToolCall(f"call_{number}", tool, json.dumps({"n": number}), opaque="c2ln")
    return [Message.assistant(call), Message.tool(f"call_{number}", words)]


def round_of(number: int) -> list[Message]:
    """What the model and the user say."""
    return [Message.assistant(f"answer {number} " + "a" * 80), Message.user(f"question {number}")]


ROWS = json.dumps(
    [{"id": n, "name": f"file-{n}.py", "open": n % 2 == 0} for n in range(250)], indent=2
)
"""A tool result of 20 kB that both presets make smaller."""


# ------------------------------------------------------ 10 prompt-cache stability


@case("56-compressed-differently-each-turn.json")
@pytest.mark.parametrize("preset", ["safe", "agent"])
@each_format
def test_a_result_is_compressed_once_and_sent_so_from_then_on(format: str, preset: Preset) -> None:  # noqa: A002 - the word for it
    """On turn 1, 2, 10 and after a restart: the same bytes, and each request extends the last."""
    policy = Policy(limit_tokens=100_000, preset=preset)
    worker = Worker(format, policy)
    messages = [Message.user("go"), *exchange(0, ROWS)]
    sent = [worker.send(messages)]
    for number in range(1, 10):
        messages += [*round_of(number), *exchange(number, f"small {number}")]
        worker.now += 40
        sent.append(worker.send(messages))
    restarted = Worker(format, policy, worker.store, worker.now + 40)
    messages += round_of(11)
    sent.append(restarted.send(messages))

    assert len(forms(sent[0], format)[-1]) < len(ROWS)
    for before, after in itertools.pairwise(sent):
        assert forms(after, format)[: len(forms(before, format))] == forms(before, format)
    assert restarted.causes == []


@case("56-compressed-differently-each-turn.json")
@each_format
def test_what_a_result_becomes_depends_on_nothing_around_it(format: str) -> None:  # noqa: A002 - the word for it
    """No time, no turn, no place: the same words elsewhere, later, in another process."""
    policy = Policy(limit_tokens=100_000, preset="agent")
    first = Worker(format, policy).send([Message.user("go"), *exchange(0, ROWS)])
    later = Worker(format, policy, now=9e9)
    messages = [Message.user("other")]
    for number in range(1, 6):
        messages += round_of(number)
        later.send(messages)
    second = later.send([*messages, *exchange(0, ROWS)])

    assert results(second, format) == results(first, format)


@case("56-compressed-differently-each-turn.json")
@each_format
def test_only_a_recorded_compaction_rewrites_what_was_sent(format: str) -> None:  # noqa: A002 - the word for it
    """A long loop under a small limit: each request extends the last, or says that it compacted."""
    worker = Worker(format, Policy(limit_tokens=3_000, trigger_tokens=2_500, preset="agent"))
    messages = [Message.user("go")]
    before: list[bytes] = []
    compactions = 0
    for number in range(60):
        words = "".join(f"{number * n} of {number + n}, " for n in range(40))
        messages += exchange(number, words)
        body = worker.send(messages)
        now = forms(body, format)
        assert check(body, format) == ()
        if now[: len(before)] != before:
            assert worker.causes == ["compaction"]
            compactions += 1
        before = now

    assert 2 < compactions < 20


@case("56-compressed-differently-each-turn.json")
@each_format
def test_a_memo_sends_again_what_another_compressor_made_first(format: str) -> None:  # noqa: A002 - the word for it
    """One that looks at the whole conversation: its newest messages are its own, the others stay."""
    memo = PrefixMemo()
    history = format_named(format).history_field

    def compress(body: Json) -> Json:
        room = 20_000 // len(body[history])
        text = json.dumps(body)
        return json.loads(text.replace("R" * 20_000, "R" * room)) if room else body

    messages = [Message.user("go"), *exchange(0, "R" * 20_000)]
    sent: list[list[Json]] = []
    for number in range(1, 11):
        given = json.loads(body_of(messages, format))
        made, _ = memo.replay(f"me/{format}", given, compress(given))
        memo.record(f"me/{format}", given, made)
        sent.append(made[history])
        messages += round_of(number)

    assert len(json.dumps(sent[0])) < 20_000
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before


@case("58-dict-order-changes-args.json")
@each_format
def test_tools_in_another_order_go_out_so_and_count_as_a_break(format: str) -> None:  # noqa: A002 - the word for it
    """On the wire the client's order is kept; nothing inside is sorted."""
    worker = Worker(format, Policy(limit_tokens=100_000))
    functions = [
        {
            "name": name,
            "description": name,
            "parameters": {"type": "object", "required": ["z", "a"]},
        }
        for name in ("look", "find")
    ]
    schema = "input_schema" if format == "anthropic" else "parameters"
    tools: list[Json] = [
        {"name": f["name"], "description": f["description"], schema: f["parameters"]}
        for f in functions
    ]
    if format == "openai-chat":
        tools = [{"type": "function", "function": tool} for tool in tools]
    if format == "openai-responses":
        tools = [{"type": "function", **tool} for tool in tools]

    def called(order: int, messages: Sequence[Message]) -> Call:
        body = json.loads(body_of(messages, format))
        shown: Any = tools[::order]
        body["tools"] = [{"functionDeclarations": shown}] if format == "gemini" else shown
        return Call(json.dumps(body).encode())

    messages = [Message.user("go"), *round_of(1)]
    first = called(1, messages)
    second = called(-1, [*messages, *round_of(2)])

    assert worker.exchange(first).body is first.body
    assert worker.exchange(second).body is second.body
    assert worker.causes == ["tools_changed"]


@case("59-dedup-rewrites-earlier-copy.json")
@each_format
def test_of_two_equal_results_the_older_stays_and_the_newer_refers_to_it(format: str) -> None:  # noqa: A002 - the word for it
    """Item 3 never changes; one byte more is another result; ids and roles stay."""
    worker = Worker(format, Policy(limit_tokens=100_000, preset="agent"))
    notes = "".join(f"note {n}: {n * 7919 % 9973} of {n * n}\n" for n in range(200))
    messages = [Message.user("go"), *round_of(0), *exchange(0, notes)]
    first = forms(worker.send(messages), format)
    for number in range(1, 9):
        messages += exchange(number, f"small {number}")
        worker.send(messages)
    messages += exchange(9, notes)
    body = worker.send(messages)
    messages += exchange(10, notes + "!")
    last = worker.send(messages)

    ids = [part.call_id for part in parts_of(body, format) if isinstance(part, ToolResult)]
    came = parts_of(body_of(messages[:-2], format), format)
    assert forms(body, format)[: len(first)] == first
    assert forms(last, format)[: len(forms(body, format))] == forms(body, format)
    assert results(body, format)[0] == notes
    assert results(body, format)[-1].startswith(MADE_PREFIX)
    assert ids[0] in results(body, format)[-1]
    assert len(results(body, format)[-1]) < 200
    assert results(last, format)[-1] == notes + "!"
    assert ids == [part.call_id for part in came if isinstance(part, ToolResult)]
    assert [m.role for m in read(body, format).messages] == [
        m.role for m in read(body_of(messages[:-2], format), format).messages
    ]


@case("59-dedup-rewrites-earlier-copy.json")
@each_format
def test_a_reference_never_points_to_what_is_not_in_the_request(format: str) -> None:  # noqa: A002 - the word for it
    """When what it points to is removed, its words come back in the same rewrite."""
    worker = Worker(format, Policy(limit_tokens=100_000, preset="agent"))
    notes = "".join(f"note {n}: {n * 7919 % 9973} of {n * n}\n" for n in range(60))
    messages = [Message.user("go"), *round_of(0), *exchange(0, notes)]
    worker.send(messages)
    for number in range(1, 12):
        messages += exchange(number, f"other {number}\n" * 40)
        worker.send(messages)
    messages += exchange(12, notes)
    assert results(worker.send(messages), format)[-1].startswith(MADE_PREFIX)

    for limit in (4_000, 3_000, 2_000, 1_200):
        worker.engine.engine.session.policy = Policy(
            limit_tokens=limit, preset="agent", keep_recent=2
        )
        messages += round_of(limit)
        body = worker.send(messages)
        said = results(body, format)
        assert check(body, format) == ()
        for number, words in enumerate(said):
            if words.startswith(f"{MADE_PREFIX}word for word"):
                assert any(earlier == notes for earlier in said[:number])


@case("61-cache-ttl-downgraded.json")
def test_markers_go_out_as_they_came_and_none_is_added() -> None:
    """Place, type, life and keys that nobody knows; also where markers are to be set."""
    given = case_input("61-cache-ttl-downgraded.json")["body"]
    given["messages"][0]["content"][0]["cache_control"]["new_in_2027"] = [1]
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, **given}).encode()
    hints = CacheHints(surface_tokens=100_000, sent_messages=1)

    rewritten = Worker("anthropic", Policy(limit_tokens=100_000)).exchange(Call(body)).body

    assert rewritten is body
    assert with_cache_markers(read(body, "anthropic"), lambda _: 9, hints) is body


@case("61-cache-ttl-downgraded.json")
@pytest.mark.parametrize("limit", [1_500, 1_000, 700])
def test_the_marker_of_what_is_removed_stands_on_what_is_there_in_its_place(limit: int) -> None:
    """Each marker of the client's once, unchanged, in its order; those of what stays on their own."""
    marks = [
        {"type": "ephemeral", "ttl": "1h", "new_in_2027": [1]},
        {"type": "ephemeral", "ttl": "1h"},
        {"type": "ephemeral"},
    ]
    messages: list[Json] = []
    for number in range(30):
        words = f"message {number} " + "w" * 200
        role = "user" if number % 2 == 0 else "assistant"
        messages.append({"role": role, "content": [{"type": "text", "text": words}]})
    messages.append({"role": "user", "content": [{"type": "text", "text": "now"}]})
    for place, mark in zip((0, 12, 30), marks, strict=True):
        messages[place]["content"][0]["cache_control"] = mark
    body = {"model": "claude-opus-4-5", "max_tokens": 9, "messages": messages}

    sent = Worker("anthropic", Policy(limit_tokens=limit)).exchange(Call(json.dumps(body).encode()))

    blocks = [block for message in messages_of(sent.body) for block in message["content"]]
    marked = [block for block in blocks if "cache_control" in block]
    assert sent.outcome.fits
    assert messages[12]["content"][0] not in blocks
    assert check(sent.body, "anthropic") == ()
    assert [block["cache_control"] for block in marked] == marks
    assert [marked[0], marked[-1]] == [messages[0]["content"][0], messages[30]["content"][0]]
    assert marked[1]["text"].startswith(MADE_PREFIX)


@case("61-cache-ttl-downgraded.json")
def test_a_replayed_message_without_its_marked_part_keeps_the_marker() -> None:
    """On the nearest part before it."""
    memo, mark = PrefixMemo(), {"type": "ephemeral", "ttl": "1h", "new_in_2027": 1}
    text = {"type": "text", "text": "a"}
    first = {"messages": [{"role": "user", "content": [text, {**text, "text": "b"}]}]}
    made = {"messages": [{"role": "user", "content": [text]}]}
    memo.record("salt", first, made)
    marked = {**text, "text": "b", "cache_control": mark}
    again = {"messages": [{"role": "user", "content": [text, marked]}]}

    sent, replayed = memo.replay("salt", again, made)

    assert replayed == 1
    assert sent == {"messages": [{"role": "user", "content": [{**text, "cache_control": mark}]}]}


# ------------------------------------------------------ 13 content lost or changed


@case("86-marker-without-way-back.json")
@pytest.mark.parametrize("preset", ["off", "safe", "agent", None])
@each_format
def test_where_nothing_can_be_asked_for_nothing_is_left_out(
    format: str,  # noqa: A002 - the word for it
    preset: Preset | None,
) -> None:
    """A tool result of 30 kB, and the one line that counts among 400: all are there."""
    hits = [f"src/m{n}.py:{n * 13 % 997}: value = {n * 7919 % 9973}" for n in range(400)]
    hits[216] = "src/secret.py:42: PASSWORD_FILE = '/etc/app/only-here'"
    large = [f"{n:05d} entry of the list, which has number {n * n % 10007}" for n in range(600)]
    worker = Worker(format, Policy(limit_tokens=100_000, preset=preset))
    messages = [
        Message.user("where?"),
        *exchange(0, "\n".join(hits), "grep"),
        *exchange(1, "\n".join(large), "list_entries"),
    ]

    body = worker.send(messages)

    told = "\n".join(results(body, format)).splitlines()
    assert set(hits) | set(large) <= set(told)


@case("86-marker-without-way-back.json")
@each_format
def test_what_stands_for_lines_says_how_many_and_reads_like_no_output(format: str) -> None:  # noqa: A002 - the word for it
    """A log folds to its first and last of a kind and a count; what failed is there word for word."""
    lines = [f"2026-11-30 12:00:{n % 60:02d} INFO worker {n} took {n * 7} ms" for n in range(400)]
    lines[216] = "2026-11-30 12:03:36 ERROR worker 216 lost /data/only-here"
    worker = Worker(format, Policy(limit_tokens=100_000, preset="agent"))

    body = worker.send([Message.user("why?"), *exchange(0, "\n".join(lines), "run")])

    told = results(body, format)[0].splitlines()
    made = [line for line in told if line not in lines]
    assert len(told) < 100
    assert lines[216] in told
    assert all(line.startswith(MADE_PREFIX) for line in made)
    gone = re.findall(r"(\d+) lines left out\]", "\n".join(made))
    assert sum(line in lines for line in told) + sum(map(int, gone)) == 400


# ---------------------------------------------------- 14 store, concurrency, resume


@case("91-lost-updates-and-torn-files.json")
@each_format
def test_writers_side_by_side_lose_nothing(format: str, shared_store: Opener) -> None:  # noqa: A002 - the word for it
    """200 turns of 4 threads through one store: each conversation goes on where it was."""
    policy = Policy(limit_tokens=2_000, trigger_tokens=1_500)

    def talk(name: int, store: Store) -> list[bytes]:
        worker = Worker(format, policy, store)
        messages = [Message.user(f"conversation {name}")]
        sent = []
        for number in range(50):
            messages += round_of(number)
            sent.append(worker.send(messages))
        return sent

    with ThreadPoolExecutor(4) as pool:
        stores = [shared_store() for _ in range(4)]
        together = list(pool.map(talk, range(4), stores))

    assert together == [talk(name, in_memory()) for name in range(4)]


@case("91-lost-updates-and-torn-files.json")
@pytest.mark.parametrize(
    "damage",
    [
        lambda value: value[: len(value) // 2],
        lambda value: b"\0" * len(value),
        lambda _: b"",
        lambda value: value + b"more",
        lambda value: b"\xff" + value[1:],
    ],
    ids=["half", "nul", "empty", "longer", "foreign"],
)
@each_format
def test_what_lies_torn_in_the_store_is_a_miss_that_is_told(
    format: str,  # noqa: A002 - the word for it
    damage: Callable[[bytes], bytes],
) -> None:
    """The request goes out valid and within its limit; the event says what happened."""
    policy = Policy(limit_tokens=1_500)
    store = in_memory()
    worker = Worker(format, policy, store)
    messages = [Message.user("go")]
    for number in range(40):
        messages += round_of(number)
        worker.send(messages)
    states = {key: value for key, value in store._entries.items() if value[:2] != b"=>"}
    asyncio.run(store.put({key: damage(value) for key, value in states.items()}))

    after = Worker(format, policy, store)
    messages += round_of(40)
    rewrite = after.exchange(Call(body_of(messages, format)))
    told = list(after.events)
    messages += round_of(41)
    after.send(messages)

    assert rewrite.outcome.fits
    assert check(rewrite.body, format) == ()
    assert any(isinstance(event, StateUnreadable) for event in told)
    assert after.causes in ([], ["compaction"])


class Failing(InMemoryStore):
    """A store that can be stopped.

    Attributes:
        is_full: Whether nothing more can be written.
        is_down: Whether it does not answer at all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.is_down = False

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up, where it is there."""
        self._fail(is_write=False)
        return await super().get(keys)

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write, where there is room."""
        self._fail(is_write=True)
        await super().put(entries)

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """The same."""
        self._fail(is_write=True)
        await super().add(entries)

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """The same."""
        self._fail(is_write=True)
        return await super().swap(key, expected, value)

    def _fail(self, *, is_write: bool) -> None:
        if self.is_down or (self.is_full and is_write):
            raise StoreError("the disk is full" if self.is_full else "nobody answers")


@case("91-lost-updates-and-torn-files.json")
@each_format
def test_on_a_full_disk_requests_go_out_and_the_error_is_told(format: str) -> None:  # noqa: A002 - the word for it
    """Nothing raises; what could not be kept is said."""
    store = Failing()
    worker = Worker(format, Policy(limit_tokens=1_000), store)
    store.is_full = True
    messages = [Message.user("go")]
    for number in range(20):
        messages += round_of(number)
        body = worker.send(messages)
        assert check(body, format) == ()
        told = [event.reason for event in worker.events if isinstance(event, StoreUnavailable)]
        assert number > 3 or "full" in "".join(told)


@case("92-resume-replays-summarised.json")
@each_format
def test_after_a_restart_the_same_request_goes_out(format: str, shared_store: Opener) -> None:  # noqa: A002 - the word for it
    """Five restarts, compactions between them: what one process sends, many send to the byte."""
    policy = Policy(limit_tokens=900, trigger_tokens=700)
    alone = Worker(format, policy)
    messages = [Message.user("go")]
    compactions = 0
    for number in range(60):
        messages += round_of(number)
        one = alone.send(messages)
        other = Worker(format, policy, shared_store()).send(messages)
        compactions += "compaction" in alone.causes
        assert other == one

    assert compactions > 2


@case("92-resume-replays-summarised.json")
@each_format
def test_saving_twice_adds_nothing(format: str) -> None:  # noqa: A002 - the word for it
    """The same request again, also in another process, leaves the store as it was."""
    policy = Policy(limit_tokens=1_500)
    store = in_memory()
    messages = [Message.user("go")]
    for number in range(40):
        messages += round_of(number)
        Worker(format, policy, store).send(messages)
    entries, size = len(store), store.size_bytes

    bodies = {Worker(format, policy, store).send(messages) for _ in range(3)}

    assert len(store) == entries
    assert store.size_bytes <= size
    assert len(bodies) == 1


@case("93-multi-worker-state.json")
@each_format
def test_two_workers_send_what_one_would(format: str, shared_store: Opener) -> None:  # noqa: A002 - the word for it
    """Turns sent alternately, one restarted on the way: the bytes of one worker."""
    policy = Policy(limit_tokens=2_000, trigger_tokens=1_500, preset="agent")
    alone = Worker(format, policy)
    workers = [Worker(format, policy, shared_store()) for _ in range(2)]
    messages = [Message.user("go")]
    for number in range(40):
        messages += exchange(
            number, f'{{"a": {number},   "b": [1,  2]}}\n' + f"row {number}\n" * 30
        )
        if number == 5:
            workers[1] = Worker(format, policy, shared_store())
        assert workers[number % 2].send(messages) == alone.send(messages)
        assert workers[number % 2].causes == alone.causes


@case("93-multi-worker-state.json")
@each_format
def test_without_the_store_requests_still_go_out(format: str) -> None:  # noqa: A002 - the word for it
    """It stops and comes back: no error, nothing invalid, nothing over the limit."""
    store = Failing()
    workers = [Worker(format, Policy(limit_tokens=1_000), store) for _ in range(2)]
    messages = [Message.user("go")]
    for number in range(30):
        messages += round_of(number)
        store.is_down = 7 <= number < 20
        rewrite = workers[number % 2].exchange(Call(body_of(messages, format)))
        assert rewrite.outcome.fits
        assert check(rewrite.body, format) == ()
        if number == 7:
            told = [type(event) for event in workers[number % 2].events]
            assert StoreUnavailable in told


@case("94-unbounded-caches.json")
def test_a_store_stays_within_its_caps_and_who_was_forgotten_comes_back() -> None:
    """Many short sessions and a long one; the first, evicted long ago, gets a valid request."""
    store = in_memory(max_bytes=100_000)
    worker = Worker("anthropic", Policy(limit_tokens=1_000), store)

    def grown(name: str, count: int) -> list[Message]:
        turns = [message for number in range(count) for message in round_of(number)]
        return [Message.user(f"session {name}"), *turns]

    sizes = []
    for number in range(300):
        for count in range(1, 4):
            worker.send(grown(str(number), count))
        sizes.append(store.size_bytes)
    for count in range(1, 150):
        worker.send(grown("long", count))
        sizes.append(store.size_bytes)
    rewrite = worker.exchange(Call(body_of(grown("0", 40), "anthropic")))

    assert max(sizes) <= store.max_bytes
    assert min(sizes[200:]) > store.max_bytes // 2
    assert rewrite.outcome.fits
    assert check(rewrite.body, "anthropic") == ()


@case("94-unbounded-caches.json")
def test_a_memo_stays_within_its_caps() -> None:
    """Entries and bytes; a conversation that was forgotten goes out as it is compressed now."""
    memo = PrefixMemo(max_entries=50, max_bytes=20_000)
    for number in range(500):
        body = {"messages": [{"role": "user", "content": f"{number} " + "x" * 300}]}
        memo.record("salt", body, body)
        assert len(memo) <= 50
        assert memo.bytes <= 20_000
    first = {"messages": [{"role": "user", "content": "0 " + "x" * 300}]}
    short = {"messages": [{"role": "user", "content": "0"}]}

    assert memo.replay("salt", first, short) == (short, 0)


# -------------------------------------------------- 12 unicode and JSON values


@case("80-big-int-rounding.json")
@each_format
def test_digits_survive_store_and_replay(format: str) -> None:  # noqa: A002 - the word for it
    """In a call that a compaction kept, sent again by a process that knows it from the store."""
    arguments = case_input("80-big-int-rounding.json")["args"]
    policy = Policy(limit_tokens=2_000, keep_first=3)
    store = in_memory()
    worker = Worker(format, policy, store)
    messages = [Message.user("go"), Message.assistant(ToolCall("call_x", "look", arguments))]
    messages.append(Message.tool("call_x", "row\n" * 400))
    compactions, body = 0, b""
    for number in range(60):
        messages += round_of(number)
        body = worker.send(messages)
        compactions += "compaction" in worker.causes
    messages += round_of(60)

    again = Worker(format, policy, store).send(messages)

    assert compactions
    for sent in (body, again):
        calls = [part.arguments for part in parts_of(sent, format) if isinstance(part, ToolCall)]
        assert calls == [arguments]


# --------------------------------------------------------------- completeness


def test_every_case_in_scope_has_a_test() -> None:
    """No case is forgotten, and none is listed that is not there."""
    assert in_scope() | ALSO == TESTED
    assert ELSEWHERE.keys() <= cases().keys()
