"""What a store has to offer: bytes under keys, written so that nobody overwrites what he has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

__all__ = ["Store"]


class Store(Protocol):
    """Keeps bytes under keys.

    Keys are hashes that hold the tenant and the format; a store need not tell
    them apart. It may forget anything at any time: what is gone is a miss.

    Attributes:
        never_waits: Whether none of its methods ever waits for anything, so that
            synchronous code can run them without an event loop.
    """

    never_waits: bool

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys.

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
        """Write those entries under whose keys nothing stands yet.

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
