"""What a store has to offer: bytes under keys, written so that nobody overwrites what he has not seen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from trimtab.events import Event

__all__ = ["Entry", "Managed", "Store", "Telling"]


class Store(Protocol):
    """Keeps bytes under keys.

    Keys are hashes that hold the tenant and the format; a store need not tell
    them apart (:mod:`trimtab.stores.keys`). It may forget anything at any time:
    what is gone is a miss.

    Attributes:
        never_waits: Whether none of its methods ever waits for anything, so that
            synchronous code can run them without an event loop.

    A store whose entries survive a restart says so with an attribute
    ``outlives_process = True``; then birth edits may be made on models that bind
    their thinking to what was sent.
    """

    never_waits: bool

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys; what is found counts as used.

        Returns:
            A value for each, in their order; None for a miss.

        Raises:
            StoreError: If the store cannot be reached.
        """
        ...

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries, whatever was there before.

        Raises:
            StoreError: If they could not be written.
        """
        ...

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those entries under whose keys nothing stands yet; the others count as used.

        Raises:
            StoreError: If they could not be written.
        """
        ...

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write an entry if nobody else has in the meantime.

        Args:
            key: Where.
            expected: What must stand there; None for nothing.
            value: What stands there from then on.

        Returns:
            Whether it was written.

        Raises:
            StoreError: If that is not known.
        """
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands under a key, for whoever looks after a store.

    Attributes:
        key: Its key.
        value: Its value.
        age_seconds: How long ago it was used last; None where the store does not know.
    """

    key: bytes
    value: bytes = field(repr=False)
    age_seconds: float | None = None


@runtime_checkable
class Managed(Store, Protocol):
    """A store whose entries can be listed and deleted: what ``trimtab store`` needs."""

    def scan(self, prefix: bytes = b"") -> AsyncIterator[Entry]:
        """List entries; looking at them is no use of them.

        Args:
            prefix: What their keys begin with.

        Raises:
            StoreError: If the store cannot be reached.
        """
        ...

    async def delete(self, keys: Iterable[bytes]) -> int:
        """Delete entries, so that nothing of them stays.

        Returns:
            How many there were.

        Raises:
            StoreError: If it is not known whether they are gone.
        """
        ...

    async def close(self) -> None:
        """Give back files and connections; the next call opens them again."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A store to which something can happen that the user should hear of."""

    def listen(self, on_event: Callable[[Event], None]) -> None:
        """Have each event told, in whatever thread it happens.

        Args:
            on_event: Is told; takes the place of whoever was told before.
        """
        ...
