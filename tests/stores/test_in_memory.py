"""A store in the memory of this process: caps that hold, and writes that overwrite nothing unseen."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from trimtab import InMemoryStore, PolicyError, Store, in_memory
from trimtab.stores.in_memory import ENTRY_BYTES

Result = TypeVar("Result")

FULL = 64 * 1024 * 1024


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end."""
    return asyncio.run(coroutine)


def at_once(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never waits, without a loop, as synchronous code does."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("it has waited")


def keys(store: InMemoryStore) -> list[bytes]:
    """The keys of a store, what was not used for longest first."""
    return list(store._entries)


def test_it_is_a_store_that_never_waits() -> None:
    """So synchronous code can use it without a loop."""
    store: Store = in_memory()

    assert store.never_waits


def test_what_was_written_is_found() -> None:
    """In the order of the keys that were asked for; None for a miss, and for none none."""
    store = in_memory()
    run(store.put({b"a": b"1", b"b": b""}))

    assert run(store.get([b"b", b"x", b"a", b"b"])) == [b"", None, b"1", b""]
    assert run(store.get([])) == []


def test_putting_overwrites_and_adding_does_not() -> None:
    """What was added first stays, whoever adds."""
    store = in_memory()
    run(store.put({b"a": b"1"}))
    run(store.put({b"a": b"2"}))
    run(store.add({b"a": b"3", b"b": b"4"}))
    run(store.add({b"b": b"5"}))

    assert run(store.get([b"a", b"b"])) == [b"2", b"4"]


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
    there: bytes | None,
    expected: bytes | None,
    is_written: bool,  # noqa: FBT001 - a table
) -> None:
    """Nothing else changes."""
    store = in_memory()
    run(store.put({b"k": there} if there is not None else {}))

    assert run(store.swap(b"k", expected, b"new")) is is_written
    assert run(store.get([b"k"])) == [b"new" if is_written else there]


def test_what_was_not_used_for_longest_goes_first() -> None:
    """Reading, writing and adding what is there count as use; a failed swap does not."""
    store = in_memory(max_entries=4)
    run(store.put({b"a": b"", b"b": b"", b"c": b"", b"d": b""}))
    run(store.get([b"a", b"x"]))
    run(store.add({b"b": b"1"}))
    run(store.put({b"c": b"2"}))
    run(store.swap(b"d", b"no", b"3"))

    assert keys(store) == [b"d", b"a", b"b", b"c"]

    run(store.swap(b"a", b"", b"4"))
    run(store.put({b"e": b""}))

    assert keys(store) == [b"b", b"c", b"a", b"e"]


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (ENTRY_BYTES + 3, [b"c"]),
        (2 * (ENTRY_BYTES + 3) - 1, [b"c"]),
        (2 * (ENTRY_BYTES + 3), [b"b", b"c"]),
        (3 * (ENTRY_BYTES + 3), [b"a", b"b", b"c"]),
        (ENTRY_BYTES + 2, []),
    ],
)
def test_bytes_are_capped_with_keys_and_bookkeeping(size: int, kept: list[bytes]) -> None:
    """An entry is its key, its value and what it takes to keep them."""
    store = in_memory(size)
    for key in (b"a", b"b", b"c"):
        run(store.put({key: b"12"}))

    assert keys(store) == kept
    assert store.size_bytes == len(kept) * (ENTRY_BYTES + 3)


def test_what_is_too_large_for_the_store_is_not_kept_and_pushes_nothing_out() -> None:
    """But what stood under its key is another value than it has now, so that goes."""
    store = in_memory(3 * (ENTRY_BYTES + 2))
    run(store.put({b"a": b"1", b"b": b"2"}))
    run(store.put({b"b": b"x" * 2_000, b"c": b"x" * 2_000}))

    assert run(store.get([b"a", b"b", b"c"])) == [b"1", None, None]
    assert store.size_bytes == ENTRY_BYTES + 2


@pytest.mark.parametrize("caps", [{"max_bytes": 0}, {"max_entries": 0}])
def test_a_cap_of_nothing_keeps_nothing(caps: dict[str, int]) -> None:
    """And nobody is told otherwise by an error."""
    store = in_memory(**caps)
    run(store.put({b"a": b"1", b"": b""}))
    run(store.add({b"a": b"1"}))

    assert run(store.swap(b"a", None, b"1"))
    assert run(store.get([b"a", b""])) == [None, None]
    assert (len(store), store.size_bytes) == (0, 0)


@pytest.mark.parametrize("setting", ["max_bytes", "max_entries"])
def test_a_cap_below_nothing_is_refused(setting: str) -> None:
    """By its name."""
    with pytest.raises(PolicyError, match=f"{setting} is -1"):
        InMemoryStore(**{setting: -1})


def test_the_caps_are_large_and_can_be_seen() -> None:
    """64 MiB and a million entries; a representation shows no keys and no values."""
    store = in_memory()
    run(store.put({b"key": b"secret"}))

    assert (store.max_bytes, store.max_entries) == (FULL, 1_000_000)
    assert repr(store) == f"<InMemoryStore, 1 entries, {ENTRY_BYTES + 9} of {FULL} bytes>"


def test_threads_lose_no_write() -> None:
    """Each adds its own keys and counts under a shared one, by swapping until it may."""
    store = in_memory()
    rounds = 100

    async def count_up() -> None:
        while True:
            (seen,) = await store.get([b"count"])
            if await store.swap(b"count", seen, b"%d" % (int(seen or 0) + 1)):
                return

    async def work(name: int) -> None:
        for number in range(rounds):
            await store.add({b"%d-%d" % (name, number): b"x"})
            await count_up()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: run(work(name)), range(8)))

    assert run(store.get([b"count"])) == [b"%d" % (8 * rounds)]
    assert len(store) == 8 * rounds + 1
    assert store.size_bytes == sum(
        len(key) + len(value) + ENTRY_BYTES for key, value in store._entries.items()
    )


def test_threads_keep_the_caps() -> None:
    """However many write at once."""
    store = in_memory(20 * (ENTRY_BYTES + 10), 15)

    async def work(name: int) -> None:
        for number in range(100):
            await store.put({b"%d-%d" % (name, number): b"x" * (number % 9)})
            await store.get([b"%d-%d" % (name, number - 1)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: run(work(name)), range(8)))

    assert len(store) <= store.max_entries
    assert store.size_bytes <= store.max_bytes
    assert store.size_bytes == sum(
        len(key) + len(value) + ENTRY_BYTES for key, value in store._entries.items()
    )


KEYS = st.sampled_from([b"", b"a", b"bb", b"ccc", b"dddd"])
VALUES = st.binary(max_size=300)
MOST_BYTES, MOST_ENTRIES = 4 * ENTRY_BYTES, 3


class Caps(RuleBasedStateMachine):
    """A store beside a plain model of it."""

    def __init__(self) -> None:
        super().__init__()
        self.store = in_memory(MOST_BYTES, MOST_ENTRIES)
        self.model: OrderedDict[bytes, bytes] = OrderedDict()

    def write(self, key: bytes, value: bytes) -> None:
        """What a write does: out with the old, then with the oldest, until there is room."""
        self.model.pop(key, None)
        if self.size({key: value}) > MOST_BYTES:
            return
        self.model[key] = value
        while len(self.model) > MOST_ENTRIES or self.size(self.model) > MOST_BYTES:
            self.model.popitem(last=False)

    def size(self, entries: dict[bytes, bytes]) -> int:
        """What some entries take."""
        return sum(len(key) + len(value) + ENTRY_BYTES for key, value in entries.items())

    def use(self, key: bytes) -> bytes | None:
        """What a look does."""
        if key in self.model:
            self.model.move_to_end(key)
        return self.model.get(key)

    @rule(asked=st.lists(KEYS, max_size=3))
    def get(self, asked: list[bytes]) -> None:
        """Some keys, in order."""
        assert at_once(self.store.get(asked)) == [self.use(key) for key in asked]

    @rule(entries=st.dictionaries(KEYS, VALUES, max_size=3))
    def put(self, entries: dict[bytes, bytes]) -> None:
        """Some entries."""
        at_once(self.store.put(entries))
        for key, value in entries.items():
            self.write(key, value)

    @rule(entries=st.dictionaries(KEYS, VALUES, max_size=3))
    def add(self, entries: dict[bytes, bytes]) -> None:
        """Those that are not there."""
        at_once(self.store.add(entries))
        for key, value in entries.items():
            if self.use(key) is None:
                self.write(key, value)

    @rule(key=KEYS, value=VALUES, is_seen=st.booleans())
    def swap(self, key: bytes, value: bytes, is_seen: bool) -> None:  # noqa: FBT001 - drawn
        """With what is there, or with something else."""
        expected = self.model.get(key) if is_seen else b"something else"
        assert at_once(self.store.swap(key, expected, value)) is is_seen
        if is_seen:
            self.write(key, value)

    @invariant()
    def both_hold_the_same(self) -> None:
        """In the same order, and within the caps."""
        assert list(self.store._entries.items()) == list(self.model.items())
        assert self.store.size_bytes == self.size(self.model) <= MOST_BYTES
        assert len(self.store) == len(self.model) <= MOST_ENTRIES


TestCaps = Caps.TestCase
TestCaps.__doc__ = "The caps are hard, whatever is done."


@given(sizes=st.lists(st.integers(0, 2_000), max_size=30))
def test_what_was_written_last_stays_if_it_fits_at_all(sizes: list[int]) -> None:
    """So that of a conversation its latest state stays longest."""
    store = in_memory(5 * ENTRY_BYTES)
    for number, size in enumerate(sizes):
        key = b"%d" % number
        at_once(store.put({key: b"x" * size}))
        fits = len(key) + size + ENTRY_BYTES <= store.max_bytes
        assert keys(store)[-1:] == ([key] if fits else keys(store)[-1:])
        assert (key in keys(store)) is fits
