"""What every store must do: one suite for the three, each for real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stores.servers import Server
from trimtab import in_memory
from trimtab.stores import Entry, Managed, lease, redis, release, sqlite

Result = TypeVar("Result")
Make = Callable[[], Managed]


@pytest.fixture(params=["in_memory", "sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens the same store of one kind, as one process does after another."""
    if request.param == "in_memory":
        one = in_memory()
        yield lambda: one
    elif request.param == "sqlite":
        yield lambda: sqlite(tmp_path / "folder" / "store.db")
    else:
        server: Server = request.getfixturevalue("server")
        server.ask("FLUSHALL")
        yield lambda: redis(server.url)


@asynccontextmanager
async def opened(make: Make) -> AsyncIterator[Managed]:
    """A store that is closed afterwards."""
    store = make()
    try:
        yield store
    finally:
        await store.close()


def using(make: Make, work: Callable[[Managed], Awaitable[Result]]) -> Result:
    """Do something with a store, in an event loop of its own."""

    async def run() -> Result:
        async with opened(make) as store:
            return await work(store)

    return asyncio.run(run())


async def listed(store: Managed, prefix: bytes = b"") -> list[Entry]:
    """All entries, in the order of their keys."""
    return sorted([entry async for entry in store.scan(prefix)], key=lambda entry: entry.key)


def test_what_was_written_is_found(make: Make) -> None:
    """In the order of the keys that were asked for; None for a miss, and for none none."""

    async def work(store: Managed) -> None:
        await store.put({b"a": b"1", b"b": b"", b"\x00\xff{}*[": bytes(range(256))})

        assert await store.get([b"b", b"x", b"a", b"b"]) == [b"", None, b"1", b""]
        assert await store.get([b"x", b"y"]) == [None, None]
        assert await store.get([b"\x00\xff{}*["]) == [bytes(range(256))]
        assert await store.get([]) == []
        await store.put({})
        await store.add({})

    using(make, work)


def test_it_outlives_its_event_loop(make: Make) -> None:
    """And whoever opens it next finds what was written."""
    using(make, lambda store: store.put({b"a": b"1"}))

    assert using(make, lambda store: store.get([b"a"])) == [b"1"]


def test_putting_overwrites_and_adding_does_not(make: Make) -> None:
    """What was added first stays, whoever adds."""

    async def work(store: Managed) -> None:
        await store.put({b"a": b"1"})
        await store.put({b"a": b"2"})
        await store.add({b"a": b"3", b"b": b"4"})
        await store.add({b"b": b"5"})

        assert await store.get([b"a", b"b"]) == [b"2", b"4"]

    using(make, work)


@pytest.mark.parametrize(
    ("there", "expected", "is_written"),
    [
        (None, None, True),
        (None, b"", False),
        (None, b"old", False),
        (b"old", b"old", True),
        (b"old", None, False),
        (b"old", b"other", False),
        (b"", b"", True),
        (b"", None, False),
    ],
)
def test_swapping_writes_only_over_what_was_seen(
    make: Make,
    there: bytes | None,
    expected: bytes | None,
    is_written: bool,  # noqa: FBT001 - a table
) -> None:
    """Nothing else changes."""

    async def work(store: Managed) -> None:
        await store.put({b"k": there} if there is not None else {})

        assert await store.swap(b"k", expected, b"new") is is_written
        assert await store.get([b"k"]) == [b"new" if is_written else there]

    using(make, work)


def test_many_who_count_at_once_lose_no_count(make: Make) -> None:
    """Each swaps until he may."""
    rounds, many = 10, 5

    async def count(store: Managed) -> None:
        for _ in range(rounds):
            while True:
                (seen,) = await store.get([b"count"])
                if await store.swap(b"count", seen, b"%d" % (int(seen or 0) + 1)):
                    break

    async def work(store: Managed) -> None:
        await asyncio.gather(*(count(store) for _ in range(many)))

        assert await store.get([b"count"]) == [b"%d" % (rounds * many)]

    using(make, work)


def test_entries_are_listed_by_what_their_keys_begin_with(make: Make) -> None:
    """All of them, however many there are, and whatever bytes stand in a key."""
    entries = {b"i" + bytes([n % 256, n // 256, 0x5D, 0x2A]): b"%d" % n for n in range(500)}
    others = {b"j": b"", b"h\xff": b"", b"i\xff\xff\xff": b"last"}

    async def work(store: Managed) -> None:
        await store.put(entries | others)
        found = {entry.key: entry.value for entry in await listed(store, b"i")}
        few = {entry.key: entry.value for entry in await listed(store, b"i*")}

        assert found == entries | {b"i\xff\xff\xff": b"last"}
        assert few == {key: value for key, value in entries.items() if key[:2] == b"i*"}
        assert len(await listed(store)) == len(entries) + len(others)
        assert await listed(store, b"nothing") == []

    using(make, work)


def test_what_is_deleted_is_gone(make: Make) -> None:
    """And it is said how much that was."""

    async def work(store: Managed) -> None:
        await store.put({b"a": b"1", b"b": b"2", b"c": b"3"})

        assert await store.delete([b"a", b"c", b"x"]) == 2
        assert [entry.key for entry in await listed(store)] == [b"b"]

    using(make, work)


def test_one_of_several_holds_a_lease(make: Make) -> None:
    """Until it is given back or has expired; its holder may make it longer."""

    async def work(store: Managed) -> None:
        asked = [lease(store, b"cut", b"%d" % n, 60) for n in range(5)]
        got = await asyncio.gather(*asked)
        holder = b"%d" % got.index(True)

        assert got.count(True) == 1
        assert await lease(store, b"cut", holder, 60)
        assert not await lease(store, b"cut", b"another", 60)
        assert await lease(store, b"another cut", b"another", 60)
        await release(store, b"cut", b"another")
        assert not await lease(store, b"cut", b"another", 60)
        await release(store, b"cut", holder)
        assert await lease(store, b"cut", b"another", 0)
        assert await lease(store, b"cut", holder, 60)
        await release(store, b"nobody's", holder)

    using(make, work)


KEYS = st.sampled_from([b"a", b"bb", b"c" * 26, b"c" * 9 + b"d", b"\x00{\xff}"])
VALUES = st.binary(max_size=40)
ENTRIES = st.dictionaries(KEYS, VALUES, max_size=4)
STEPS = st.one_of(
    st.tuples(st.just("put"), ENTRIES),
    st.tuples(st.just("add"), ENTRIES),
    st.tuples(st.just("get"), st.lists(KEYS, max_size=6)),
    st.tuples(st.just("delete"), st.lists(KEYS, max_size=3)),
    st.tuples(st.just("swap"), st.tuples(KEYS, st.booleans(), VALUES)),
)


@given(steps=st.lists(st.lists(STEPS, max_size=12), max_size=4))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_store_does_what_a_dict_would(make: Make, steps: list) -> None:
    """Whatever is done, by whoever opens it next."""
    model: dict[bytes, bytes] = {}

    async def clear(store: Managed) -> None:
        await store.delete([entry.key for entry in await listed(store)])

    async def work(store: Managed, todo: list) -> None:
        for name, what in todo:
            await do(store, model, name, what)
        assert {entry.key: entry.value for entry in await listed(store)} == model

    using(make, clear)
    for todo in steps:
        using(make, partial(work, todo=todo))


async def do(store: Managed, model: dict[bytes, bytes], name: str, what: Any) -> None:
    """Do the same to a store and a dict, and compare what they say."""
    match name:
        case "put":
            await store.put(what)
            model.update(what)
        case "add":
            await store.add(what)
            model.update({key: value for key, value in what.items() if key not in model})
        case "get":
            assert await store.get(what) == [model.get(key) for key in what]
        case "delete":
            gone = {key for key in what if key in model}
            assert await store.delete(what) == len(gone)
            for key in gone:
                del model[key]
        case _:
            key, is_seen, value = what
            expected = model.get(key) if is_seen else b"something else"
            is_written = expected == model.get(key)
            assert await store.swap(key, expected, value) is is_written
            model.update({key: value} if is_written else {})
