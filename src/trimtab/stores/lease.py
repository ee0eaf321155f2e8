"""Leases: of several processes that share a store, one makes what is to be made once.

A lease expires by itself, so that one who dies holding it stops nobody for
long. Two clocks that differ by less than the lease is long do no harm but a
summary that is made twice: the first that is kept counts.
"""

from __future__ import annotations

import time

from trimtab.stores.keys import lease_key
from trimtab.stores.store import Store

__all__ = ["lease", "release"]

_MAGIC = b"trimtab-lease\x01"
_MOMENT_BYTES = 8


async def lease(store: Store, name: bytes, holder: bytes, seconds: float) -> bool:
    """Take a lease, or make one's own last longer.

    Args:
        store: The store that all share.
        name: What is to be made, such as the chain value of a cut.
        holder: Who asks: the same each time, and nobody else's.
        seconds: How long it lasts.

    Returns:
        Whether it is the holder's now.

    Raises:
        StoreError: If that is not known.
    """
    key, now = lease_key(name), time.time()
    (there,) = await store.get([key])
    if there is not None and not _is_free(there, holder, now):
        return False
    until = int((now + seconds) * 1000).to_bytes(_MOMENT_BYTES, "big")
    return await store.swap(key, there, _MAGIC + until + holder)


async def release(store: Store, name: bytes, holder: bytes) -> None:
    """Give a lease back before it expires; one that is somebody else's stays.

    Raises:
        StoreError: If the store cannot be reached.
    """
    key = lease_key(name)
    (there,) = await store.get([key])
    if there is not None and _holder(there) == holder:
        await store.swap(key, there, _MAGIC + bytes(_MOMENT_BYTES))


def _is_free(there: bytes, holder: bytes, now: float) -> bool:
    """Whether a lease has expired, is the holder's own, or is none."""
    if not there.startswith(_MAGIC) or _holder(there) == holder:
        return True
    until = there[len(_MAGIC) : len(_MAGIC) + _MOMENT_BYTES]
    return int.from_bytes(until, "big") <= now * 1000


def _holder(there: bytes) -> bytes:
    return there[len(_MAGIC) + _MOMENT_BYTES :]
