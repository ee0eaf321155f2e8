"""A store in the memory of this process: the default, and never more than its caps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from threading import Lock

from trimtab.errors import PolicyError
from trimtab.stores.store import Entry

__all__ = ["InMemoryStore", "in_memory"]

ENTRY_BYTES = 250
"""What an entry takes besides key and value: two bytes objects, and its node in the order."""

_MEBIBYTE = 1024 * 1024


class InMemoryStore:
    """Keeps the entries that were used last.

    Safe for threads. What was not used for longest goes first, so that of a
    conversation its latest state stays longest.

    Args:
        max_bytes: Bytes that all entries may take, their bookkeeping included; 0 keeps nothing.
        max_entries: Entries that there may be.

    Raises:
        PolicyError: If a cap is below 0.
    """

    never_waits = True

    def __init__(self, max_bytes: int = 64 * _MEBIBYTE, max_entries: int = 1_000_000) -> None:
        for setting, value in (("max_bytes", max_bytes), ("max_entries", max_entries)):
            if value < 0:
                raise PolicyError(setting, value, "it must be 0 or more")
        self.max_bytes = max_bytes
        self.max_entries = max_entries
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys; what is found counts as used."""
        with self._lock:
            return [self._look(key) for key in keys]

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries."""
        with self._lock:
            for key, value in entries.items():
                self._write(key, value)

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those entries under whose keys nothing stands yet."""
        with self._lock:
            for key, value in entries.items():
                if self._look(key) is None:
                    self._write(key, value)

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write an entry if nobody else has in the meantime."""
        with self._lock:
            if self._entries.get(key) != expected:
                return False
            self._write(key, value)
            return True

    async def scan(self, prefix: bytes = b"") -> AsyncIterator[Entry]:
        """List the entries whose keys begin with something; looking at them is no use of them."""
        with self._lock:
            found = [item for item in self._entries.items() if item[0].startswith(prefix)]
        for key, value in found:
            yield Entry(key, value)

    async def delete(self, keys: Iterable[bytes]) -> int:
        """Delete entries."""
        with self._lock:
            there = [key for key in dict.fromkeys(keys) if key in self._entries]
            for key in there:
                self._forget(key)
        return len(there)

    async def close(self) -> None:
        """Do nothing: what is in memory needs no giving back."""

    @property
    def size_bytes(self) -> int:
        """What all entries take, their bookkeeping included."""
        return self._bytes

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<InMemoryStore, {len(self)} entries, {self._bytes} of {self.max_bytes} bytes>"

    def _look(self, key: bytes) -> bytes | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def _write(self, key: bytes, value: bytes) -> None:
        self._forget(key)
        size = _size(key, value)
        if size > self.max_bytes or not self.max_entries:
            return
        while self._bytes + size > self.max_bytes or len(self._entries) >= self.max_entries:
            self._forget(next(iter(self._entries)))
        self._entries[key] = value
        self._bytes += size

    def _forget(self, key: bytes) -> None:
        value = self._entries.pop(key, None)
        if value is not None:
            self._bytes -= _size(key, value)


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + ENTRY_BYTES


def in_memory(max_bytes: int = 64 * _MEBIBYTE, max_entries: int = 1_000_000) -> InMemoryStore:
    """Make a store in the memory of this process; nothing is written anywhere."""
    return InMemoryStore(max_bytes, max_entries)
