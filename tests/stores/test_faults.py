"""Stores that fail in every way: the request goes out, valid, in time, and somebody is told."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.laws.agents import Agent, forms_of
from tests.stores.servers import Server
from trimtab import Call, CharTokenCounter, Engine, Policy, PolicyError, Rewrite, StoreError
from trimtab.events import Event, StateUnreadable, StoreSetAside, StoreUnavailable
from trimtab.stores import Managed, Store, redis, sqlite
from trimtab.wire import check

LIMIT = 1_500
BIG = "x" * 1_600
PLENTY = 30.0
"""Seconds that a store may take where it is not the store's time that is looked at."""


def agent_of_test() -> Agent:
    """One agent; the format makes no difference here."""
    return Agent("anthropic", "claude-opus-4-5")


class Loop:
    """An agent loop through an engine: each request is checked, and must extend the one before.

    Args:
        store: Where its states are kept.
    """

    def __init__(self, store: Store, seconds: float = PLENTY) -> None:
        self.events: list[Event] = []
        self.agent = agent_of_test()
        self.branch = self.agent.start("go")
        self.engine = self.replica(store, seconds)

    def replica(self, store: Store, seconds: float = PLENTY) -> Engine:
        """Another engine for the same conversation."""
        tell = self.events.append
        policy = Policy(limit_tokens=LIMIT)
        return Engine(policy, store, CharTokenCounter(), on_event=tell, store_seconds=seconds)

    async def turn(self, engine: Engine | None = None, *, is_known: bool = True) -> Rewrite:
        """One request: it is valid, and where something is known of it, it extends the last."""
        engine = engine or self.engine
        rewrite = await engine.rewrite(Call(self.agent.body(self.branch)), "anthropic")
        assert check(rewrite.body, "anthropic") == ()
        assert rewrite.outcome.fits
        forms = forms_of(rewrite.body)
        is_cut = any(type(event).__name__ == "ContextCompacted" for event in rewrite.events)
        if is_known and self.branch.sent and not is_cut:
            assert forms[: len(self.branch.sent)] == self.branch.sent
        await engine.forwarded(rewrite.ticket)
        self.branch.sent = forms
        self.agent.step(self.branch, "next", [BIG])
        return rewrite

    def told(self, kind: type[Event]) -> list[Any]:
        """Events of a kind, which are then forgotten."""
        found = [event for event in self.events if isinstance(event, kind)]
        self.events.clear()
        return found


def run(work: Callable[[], Any]) -> Any:
    """Run a test in an event loop."""
    return asyncio.run(work())


@asynccontextmanager
async def closed(*stores: Managed) -> AsyncIterator[None]:
    """Close stores afterwards, those that can be."""
    try:
        yield
    finally:
        for store in stores:
            try:
                await store.close()
            except StoreError:
                continue


# ------------------------------------------------------------------ any store


class Failing:
    """A store that does what it is told to.

    Attributes:
        fault: What it does before it does anything else.
        asked: How often it was asked for anything.
    """

    never_waits = False

    def __init__(self, fault: Callable[[], Any] | None = None) -> None:
        self.fault = fault
        self.asked = 0
        self.entries: dict[bytes, bytes] = {}

    async def _fail(self) -> None:
        self.asked += 1
        if self.fault is not None:
            await self.fault()

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys."""
        await self._fail()
        return [self.entries.get(key) for key in keys]

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries."""
        await self._fail()
        self.entries.update(entries)

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those that are not there."""
        await self._fail()
        self.entries = {**entries, **self.entries}

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write one if nobody else has."""
        await self._fail()
        if self.entries.get(key) != expected:
            return False
        self.entries[key] = value
        return True


async def refuse() -> None:
    """Say what stores say."""
    raise StoreError("the disk is gone")


async def crash() -> None:
    """Raise what no store should."""
    raise ZeroDivisionError("secret words")


async def hang() -> None:
    """Never answer."""
    await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refuse, "the disk is gone"),
        (crash, "the store has raised ZeroDivisionError"),
        (hang, "the store has not answered within 0.05 seconds"),
    ],
)
def test_a_store_that_fails_stops_no_request(fault: Any, reason: str) -> None:
    """And while it is away this process remembers for itself; nothing secret is told."""

    async def work() -> None:
        store = Failing(fault)
        loop = Loop(store, 0.05)
        rewrites = [await loop.turn() for _ in range(8)]

        told = loop.told(StoreUnavailable)
        assert [event.reason for event in told] == [reason] * 3
        assert [event.pause_seconds for event in told] == [0.0, 0.0, 1.0]
        assert any(rewrite.plan for rewrite in rewrites)
        assert store.asked == 3

    run(work)


def test_when_a_store_is_back_it_learns_what_was_sent_meanwhile() -> None:
    """A replica that has only the store goes on from there."""

    async def work() -> None:
        store = Failing()
        loop = Loop(store)
        for _ in range(2):
            await loop.turn()
        store.fault = refuse
        await loop.turn()
        store.fault = None
        for _ in range(4):
            await loop.turn()
        other = loop.replica(store)

        rewrite = await loop.turn(other)

        assert rewrite.ticket.began is not None
        assert rewrite.ticket.began.messages == len(loop.branch.history) - 4

    run(work)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_a_wait_of_nothing_is_refused(seconds: float) -> None:
    """By its name."""
    with pytest.raises(PolicyError, match="store_seconds"):
        Engine(store_seconds=seconds)


# ----------------------------------------------------------- killed in between

KILLED = """
import asyncio, os, pathlib, signal, sys
from tests.stores.test_faults import Loop, opened_by_name

kind, where, at, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

class Deadly:
    never_waits = False
    def __init__(self, inner):
        self.inner, self.asked = inner, 0
    def __getattr__(self, name):
        async def call(*arguments):
            for moment in ("before", "after"):
                if moment == "after":
                    answer = await getattr(self.inner, name)(*arguments)
                if self.asked == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                self.asked += 1
            return answer
        return call

async def main():
    loop = Loop(Deadly(opened_by_name(kind, where)))
    for _ in range(turns):
        await loop.turn()

asyncio.run(main())
"""


def opened_by_name(kind: str, where: str) -> Managed:
    """The store of a process that will be killed."""
    return sqlite(where) if kind == "sqlite" else redis(where)


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
@pytest.mark.parametrize("at", range(0, 54, 3))
def test_a_replica_that_is_killed_leaves_nothing_that_harms(
    kind: str, at: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """At every point between reading and recording; whoever goes on sends what is valid and fits."""
    where = str(tmp_path / "store.db")
    if kind == "redis":
        server: Server = request.getfixturevalue("server")
        server.ask("FLUSHALL")
        where = server.url
    command = [sys.executable, "-c", KILLED, kind, where, str(at), "8"]
    ended = subprocess.run(command, check=False, capture_output=True, timeout=60)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()

    async def work() -> None:
        store = opened_by_name(kind, where)
        async with closed(store):
            loop = Loop(store)
            for _ in range(9):  # the same conversation from its first request on: all are rewinds
                await loop.turn(is_known=False)
            loop.branch.sent = None
            assert (await loop.turn()).ticket.began is not None
            assert loop.told(StateUnreadable) == []

    run(work)
    if kind == "sqlite":
        with closing(sqlite3.connect(where)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# ---------------------------------------------------------------------- Redis


def test_a_server_that_is_stopped_and_comes_back_empty(own_server: Server) -> None:
    """Nobody fails, this process goes on from what it knows, and the server learns it again."""

    async def work() -> None:
        store = redis(own_server.url)
        async with closed(store):
            loop = Loop(store)
            for _ in range(3):
                await loop.turn()
            own_server.stop()
            await loop.turn(is_known=False)
            assert {event.reason for event in loop.told(StoreUnavailable)} == {
                "the store cannot be used: ConnectionError"
            }
            own_server.start()
            for _ in range(3):
                await loop.turn()
            assert loop.told(StoreUnavailable) == []
            other = redis(own_server.url)
            async with closed(other):
                assert (await loop.turn(loop.replica(other))).ticket.began is not None

    run(work)


def test_a_server_that_is_full(own_server: Server) -> None:
    """What is there is still read; what cannot be written this process remembers."""

    async def work() -> None:
        store = redis(own_server.url)
        async with closed(store):
            loop = Loop(store)
            await loop.turn()
            own_server.ask("CONFIG", "SET", "maxmemory", "1")
            assert (await loop.turn()).ticket.began is not None
            await loop.turn()
            assert all("OOM" in event.reason for event in loop.told(StoreUnavailable))
            own_server.ask("CONFIG", "SET", "maxmemory", "0")
            await loop.turn()
            assert loop.told(StoreUnavailable) == []

    run(work)


def test_a_server_that_is_slow(own_server: Server) -> None:
    """By five seconds: no request waits for it, and soon none asks."""

    async def work() -> None:
        store = redis(own_server.url)
        async with closed(store):
            loop = Loop(store, 0.1)
            for _ in range(2):
                await loop.turn()
            own_server.ask("CLIENT", "PAUSE", "5000")
            started = time.monotonic()
            for _ in range(5):
                await loop.turn(is_known=False)
            waited = time.monotonic() - started

            told = loop.told(StoreUnavailable)
            assert {event.reason for event in told} == {
                "the store has not answered within 0.1 seconds"
            }
            assert len(told) <= 4
            assert waited < 5.0

    run(work)


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n" * 50, b":7\r\n" * 50, b"\x00\xff" * 99],
)
def test_a_server_that_answers_nonsense(answer: bytes) -> None:
    """Another service listens there."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            writer.write(answer)
            await writer.drain()
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        store = redis(f"redis://127.0.0.1:{port}")
        async with server, closed(store):
            loop = Loop(store, 1.0)
            for _ in range(6):
                await loop.turn()
            assert len(loop.told(StoreUnavailable)) >= 3

    run(work)


def test_keys_that_hold_something_else_are_misses(server: Server) -> None:
    """Lists, numbers and other programs' values under our keys."""

    async def work() -> None:
        store = redis(server.url, prefix="other:")
        async with closed(store):
            await store.put({b"c" * 20: b"fine"})
            name = "other:{" + "c" * 9 + "}" + "c" * 11
            server.ask("DEL", name)
            server.ask("RPUSH", name, "x")

            assert await store.get([b"c" * 20]) == [None]
            with pytest.raises(StoreError, match="WRONGTYPE"):
                await store.swap(b"c" * 20, None, b"x")
            assert [entry async for entry in store.scan(b"c")] == []

    run(work)


def test_neither_address_nor_password_is_ever_told() -> None:
    """Not in what it looks like, and not in an error."""

    async def work() -> None:
        store = redis("redis://user:pass-word@127.0.0.1:1/0")
        async with closed(store):
            with pytest.raises(StoreError) as caught:
                await store.get([b"a"])
            for told in (repr(store), str(store), str(caught.value), repr(caught.value)):
                assert "pass-word" not in told
                assert "user" not in told.removeprefix("the store cannot be used")

    run(work)


def test_a_server_that_wants_a_password_says_so(own_server: Server) -> None:
    """In words that say what to do."""
    own_server.ask("CONFIG", "SET", "requirepass", "secret")

    async def work() -> None:
        for url in (own_server.url, own_server.url.replace("//", "//:wrong@")):
            store = redis(url)
            async with closed(store):
                with pytest.raises(StoreError, match="wants another user or password"):
                    await store.get([b"a"])

    run(work)


def test_what_is_not_used_is_forgotten(server: Server) -> None:
    """And a use makes it last as long again."""

    async def work() -> None:
        store = redis(server.url, prefix="short:", ttl_seconds=0.6)
        async with closed(store):
            await store.put({b"a": b"1", b"b": b"2", b"c": b"3"})
            for _ in range(4):
                await asyncio.sleep(0.25)
                await store.get([b"a"])
                await store.add({b"b": b"other"})
            assert await store.get([b"a", b"b", b"c"]) == [b"1", b"2", None]
            assert all((entry.age_seconds or 0) < 0.6 for entry in [e async for e in store.scan()])

    run(work)


def test_a_cluster_is_a_store_too(tmp_path: Path) -> None:
    """Three machines that share the slots: every script finds its keys on one of them."""
    servers = [Server(tmp_path / f"{n}", ("--cluster-enabled", "yes")) for n in range(3)]
    try:
        for place, each in enumerate(servers):
            each.folder.mkdir()
            each.start()
            slots = range(place * 5462, min(16384, (place + 1) * 5462))
            each.ask("CLUSTER", "ADDSLOTS", *map(str, slots))
        for each in servers[1:]:
            each.ask("CLUSTER", "MEET", "127.0.0.1", str(servers[0].port))
        while not all(
            b"cluster_state:ok" in each.ask("CLUSTER", "INFO")
            and b"known_nodes:3" in each.ask("CLUSTER", "INFO")
            for each in servers
        ):
            time.sleep(0.05)

        async def work() -> None:
            store = redis(servers[0].url, is_cluster=True)
            async with closed(store):
                entries = {b"c%08d" % (n // 3) + b"k%d" % n: b"%d" % n for n in range(90)}
                await store.put(entries)
                assert await store.get(list(entries)) == list(entries.values())
                assert len([entry async for entry in store.scan(b"c")]) == 90
                assert await store.delete(list(entries)) == 90
                loop = Loop(store)
                for _ in range(8):
                    await loop.turn()
                assert loop.told(StoreUnavailable) == []
                assert (await loop.turn(loop.replica(store))).ticket.began is not None
            assert all(int(each.ask("DBSIZE")[1:]) > 0 for each in servers)

        run(work)
    finally:
        for each in servers:
            each.stop()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ttl_seconds": 0}, "ttl_seconds"),
        ({"ttl_seconds": float("nan")}, "ttl_seconds"),
        ({"prefix": "a{b}"}, "prefix"),
    ],
)
def test_settings_of_a_server_that_cannot_hold_are_refused(settings: Any, named: str) -> None:
    """By their names."""
    with pytest.raises(PolicyError, match=named):
        redis(**settings)


@pytest.mark.parametrize("url", ["http://localhost", "localhost:6379", ""])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    """Not on the first request."""
    with pytest.raises(StoreError):
        redis(url)


# --------------------------------------------------------------------- SQLite


def modes(path: Path) -> dict[str, str]:
    """Who may read a file and what lies beside it."""
    return {each.name: mode_of(each) for each in path.parent.iterdir()}


def mode_of(path: Path) -> str:
    """Who may read it."""
    return oct(path.stat().st_mode & 0o777)


def size_of(path: Path) -> int:
    """How large a file is."""
    return path.stat().st_size


def content_of(folder: Path) -> bytes:
    """All that is in the files of a folder."""
    return b"".join(each.read_bytes() for each in folder.iterdir())


def delete_all(folder: Path) -> None:
    """Delete what is in a folder."""
    for each in folder.iterdir():
        each.unlink()


def test_only_its_user_can_read_a_file(tmp_path: Path) -> None:
    """Nor what SQLite puts beside it, nor its folder; one that was open to all is no more."""

    async def work() -> None:
        path = tmp_path / "state" / "store.db"
        store = sqlite(path)
        async with closed(store):
            await store.put({b"a": b"1"})
            assert modes(path) == dict.fromkeys(
                ("store.db", "store.db-wal", "store.db-shm"), "0o600"
            )
            assert mode_of(path.parent) == "0o700"
        os.chmod(path, 0o644)  # noqa: PTH101 - in a coroutine
        async with closed(store):
            assert await store.get([b"a"]) == [b"1"]
            assert set(modes(path).values()) == {"0o600"}

    run(work)


def test_a_file_that_is_locked(tmp_path: Path) -> None:
    """By somebody who writes for long: what is there is read, what comes is remembered here."""

    async def work() -> None:
        store = sqlite(tmp_path / "store.db")
        async with closed(store):
            loop = Loop(store)
            await loop.turn()
            with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                for _ in range(2):
                    assert (await loop.turn()).ticket.began is not None
                assert {"locked" in e.reason for e in loop.told(StoreUnavailable)} == {True}
            await loop.turn()
            assert loop.told(StoreUnavailable) == []

    run(work)


def spoil(store: Any, words: str) -> Callable[[], Any]:
    """Have the open file set in some way."""
    return lambda: store._do(lambda database: database.execute(words).fetchall())


def test_a_file_that_must_not_be_written(tmp_path: Path) -> None:
    """What is there is read."""

    async def work() -> None:
        store = sqlite(tmp_path / "store.db")
        async with closed(store):
            loop = Loop(store)
            await loop.turn()
            await spoil(store, "PRAGMA query_only = ON")()
            rewrite = await loop.engine.rewrite(Call(loop.agent.body(loop.branch)))
            assert rewrite.ticket.began is not None
            await loop.engine.forwarded(rewrite.ticket)
            (told,) = loop.told(StoreUnavailable)
            assert "readonly" in told.reason

    run(work)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """What is there is read, and when there is room again it is written."""

    async def work() -> None:
        store = sqlite(tmp_path / "store.db")
        async with closed(store):
            loop = Loop(store)
            await loop.turn()
            await spoil(store, "PRAGMA max_page_count = 1")()
            with pytest.raises(StoreError, match="full"):
                await store.put({b"a": b"x" * 100_000})
            await spoil(store, "PRAGMA max_page_count = 1")()
            rewrite = await loop.turn()
            assert rewrite.ticket.began is not None
            for _ in range(3):
                await loop.turn()
            assert not [e for e in loop.told(StoreUnavailable) if "full" not in e.reason]

    run(work)


@pytest.mark.parametrize("left", [0, 10, 100, 4_000, 5_000, 9_000])
def test_a_file_that_was_cut_off(tmp_path: Path, left: int) -> None:
    """It is set aside, a new one is begun, and somebody is told."""
    path = tmp_path / "store.db"

    async def write() -> None:
        store = sqlite(path)
        async with closed(store):
            await store.put({b"%d" % n: b"x" * 500 for n in range(100)})

    async def work() -> None:
        store = sqlite(path)
        async with closed(store):
            loop = Loop(store)
            for _ in range(4):
                await loop.turn()
            set_aside = [event for event in loop.events if isinstance(event, StoreSetAside)]
            assert len(set_aside) == (left > 0)
            for event in set_aside:
                assert size_of(Path(event.path)) == left
            other = sqlite(path)
            async with closed(other):
                assert (await loop.turn(loop.replica(other))).ticket.began is not None

    run(write)
    os.truncate(path, left)
    run(work)


@pytest.mark.parametrize("version", [0, 2])
def test_a_file_of_another_version(tmp_path: Path, version: int) -> None:
    """An older one is set aside; a newer one is left as it is, and said."""
    path = tmp_path / "store.db"

    async def make() -> None:
        store = sqlite(path)
        async with closed(store):
            await store.put({b"a": b"1"})
            await spoil(store, f"PRAGMA user_version = {version}")()

    async def work() -> None:
        store = sqlite(path)
        async with closed(store):
            loop = Loop(store)
            for _ in range(2):
                await loop.turn()
            set_aside = [event for event in loop.events if isinstance(event, StoreSetAside)]
            away = [event for event in loop.events if isinstance(event, StoreUnavailable)]
            if version == 0:
                assert [event.reason for event in set_aside] == [
                    "it has version 0 of its tables, not 1"
                ]
                assert away == []
                return
            assert set_aside == []
            assert "a newer trimtab made it" in away[0].reason

    run(make)
    before = path.read_bytes()
    run(work)
    assert (path.read_bytes() == before) is (version == 2)


@pytest.mark.parametrize("content", [b"my notes\n" * 300, b"x", None])
def test_a_file_that_is_somebody_elses_is_left_as_it_is(
    tmp_path: Path, content: bytes | None
) -> None:
    """Whoever names the wrong file loses nothing."""
    path = tmp_path / "notes"
    if content is None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE notes (words TEXT)")
            other.execute("PRAGMA user_version = 1")
    else:
        path.write_bytes(content)
    before = path.read_bytes()

    async def work() -> None:
        store = sqlite(path)
        async with closed(store):
            with pytest.raises(StoreError, match="name another file"):
                await store.put({b"a": b"1"})

    run(work)
    assert path.read_bytes() == before


def test_a_file_that_is_deleted_is_begun_anew(tmp_path: Path) -> None:
    """By whoever has it open."""

    async def work() -> None:
        store = sqlite(tmp_path / "store.db")
        async with closed(store):
            await store.put({b"a": b"1"})
            delete_all(tmp_path)
            await store.put({b"b": b"2"})
            assert await store.get([b"a", b"b"]) == [None, b"2"]

    run(work)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """There is a file of that name."""
    (tmp_path / "file").write_text("")

    async def work() -> None:
        store = sqlite(tmp_path / "file" / "store.db")
        async with closed(store):
            with pytest.raises(StoreError, match="cannot be used"):
                await store.get([b"a"])

    run(work)


def test_what_was_not_used_for_long_is_forgotten_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A use makes it last as long again; what is too old is a miss at once, and goes."""
    now = [1_000_000.0]
    monkeypatch.setattr("trimtab.stores.sqlite_file.time.time", lambda: now[0])

    async def work() -> None:
        store = sqlite(tmp_path / "store.db", ttl_seconds=100)
        async with closed(store):
            await store.put({b"a": b"1", b"b": b"2", b"c": b"3"})
            now[0] += 90
            await store.get([b"a"])
            now[0] += 50
            assert await store.get([b"a", b"b", b"c"]) == [b"1", None, None]
            assert await store.swap(b"b", None, b"new")
            await store.add({b"c": b"new"})
            assert await store.get([b"b", b"c"]) == [b"new", b"new"]
            now[0] += 90
            await store.tidy()
            assert [e.age_seconds async for e in store.scan()] == [90.0, 90.0, 90.0]
            now[0] += 20
            await store.put({b"d": b"4"})
            assert [entry.key async for entry in store.scan()] == [b"d"]
            await store.tidy()
            count = await store._do(
                lambda database: database.execute("SELECT count(*) FROM entries").fetchone()
            )
            assert count == (1,)

    run(work)


def test_a_file_keeps_its_cap_and_gives_room_back(tmp_path: Path) -> None:
    """What was not used for longest goes first."""
    cap = 400_000

    async def work() -> None:
        store = sqlite(tmp_path / "store.db", max_bytes=cap)
        async with closed(store):
            for number in range(3_000):
                await store.put({b"%05d" % number: os.urandom(1_000)})
            await store.tidy()
            keys = [entry.key async for entry in store.scan()]
            assert keys == [b"%05d" % n for n in range(3_000 - len(keys), 3_000)]
            assert 200 < len(keys) < 400
        assert size_of(store.path) < 2 * cap

    run(work)


def test_what_is_deleted_stays_nowhere_in_the_file(tmp_path: Path) -> None:
    """Neither in the file nor in its log."""

    async def work() -> None:
        store = sqlite(tmp_path / "store.db")
        async with closed(store):
            await store.put({b"%d" % n: b"very secret words %d" % n for n in range(500)})
            await store.delete([b"%d" % n for n in range(500)])
            assert b"very secret" not in content_of(tmp_path)

    run(work)


def test_a_process_that_is_forked_opens_the_file_for_itself(tmp_path: Path) -> None:
    """A server that forks its workers shares no connection among them."""
    code = """
import asyncio, os, sys
from trimtab.stores import sqlite
store = sqlite(sys.argv[1])
async def count(times):
    for _ in range(times):
        while True:
            (seen,) = await store.get([b"n"])
            if await store.swap(b"n", seen, b"%d" % (int(seen or 0) + 1)):
                break
asyncio.run(count(1))
children = []
for _ in range(3):
    child = os.fork()
    if not child:
        asyncio.run(count(20))
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
print(asyncio.run(store.get([b"n"])))
"""
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "store.db")]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)

    assert ended.stdout == "[b'61']\n"


@pytest.mark.parametrize("setting", ["ttl_seconds", "max_bytes"])
@pytest.mark.parametrize("value", [0, -1])
def test_settings_of_a_file_that_cannot_hold_are_refused(setting: Any, value: int) -> None:
    """By their names."""
    with pytest.raises(PolicyError, match=setting):
        sqlite("nowhere", **{setting: value})


def test_the_default_file_lies_where_programs_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a relative folder is none, as the standard says."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert str(sqlite().path) == "/state/trimtab/store.db"
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/home/user")
    assert str(sqlite().path) == "/home/user/.local/state/trimtab/store.db"
    assert repr(sqlite("/x.db")) == "<SqliteStore '/x.db'>"
