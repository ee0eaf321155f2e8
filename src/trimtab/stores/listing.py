"""What lies in a store: which conversations, whose, how old, how large; and how to be rid of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

from trimtab.errors import StoreError
from trimtab.stores.archive import conversation_in
from trimtab.stores.keys import ABOUT, ARCHIVED, CONVERSATION, CONVERSATION_BYTES, WEAK
from trimtab.stores.lines import About, conversation_at
from trimtab.stores.redis import redis
from trimtab.stores.sqlite import default_path, sqlite
from trimtab.stores.store import Entry, Managed

__all__ = ["Stored", "conversations", "is_server", "opened", "purge"]

_SCHEMES = ("redis://", "rediss://", "unix://")
_AT_ONCE = 1_000
"""Entries that are deleted together."""


@dataclass(slots=True)
class Stored:
    """A conversation in a store.

    Attributes:
        id: What it is named by: 16 hexadecimal digits.
        about: Whose it is, and how large its newest request was; None where that cannot be read.
        entries: How many entries it has.
        archived: How many of them are what compactions removed.
        size_bytes: What all of them take, keys included.
        age_seconds: How long ago it was used last; None where the store does not know.
    """

    id: str
    about: About | None = None
    entries: int = 0
    archived: int = 0
    size_bytes: int = 0
    age_seconds: float | None = None


def is_server(where: str) -> bool:
    """Whether a name of a store is the address of a server."""
    return where.startswith(_SCHEMES)


@asynccontextmanager
async def opened(where: str = "") -> AsyncIterator[Managed]:
    """Open a store by its name, and close it afterwards.

    Args:
        where: A file, or the address of a Redis or Valkey server; empty for
            :func:`~trimtab.stores.default_path`.

    Raises:
        StoreError: If there is no such file.
        MissingExtraError: If it is a server and its client is not installed.
    """
    store = redis(where) if is_server(where) else _in_file(where)
    try:
        yield store
    finally:
        await store.close()


def _in_file(where: str) -> Managed:
    path = where or default_path()
    if not os.path.exists(path):  # noqa: PTH110 - it may be no path at all
        raise StoreError(f"there is no store at {path}; hint: --store names another one")
    return sqlite(path)


async def conversations(store: Managed) -> list[Stored]:
    """All conversations in a store, the one that was used last first.

    Raises:
        StoreError: If the store cannot be read.
    """
    found: dict[str, Stored] = {}
    async for entry in store.scan():
        name = _conversation_of(entry)
        if name:
            _note(found.setdefault(name, Stored(name)), entry)
    return sorted(found.values(), key=lambda each: (each.age_seconds or 0.0, each.id))


async def purge(store: Managed, wanted: Collection[str]) -> int:
    """Delete conversations, with all that compactions removed from them.

    Args:
        store: Where.
        wanted: Their ids.

    Returns:
        How many entries that were.

    Raises:
        StoreError: If it is not known whether they are gone.
    """
    keys = [entry.key async for entry in store.scan() if _conversation_of(entry) in wanted]
    gone = 0
    for start in range(0, len(keys), _AT_ONCE):
        gone += await store.delete(keys[start : start + _AT_ONCE])
    return gone


def _conversation_of(entry: Entry) -> str:
    """The conversation that an entry is of; empty for one that is of none."""
    match entry.key[:1]:
        case kind if kind in (CONVERSATION, ABOUT):
            return entry.key[1 : 1 + CONVERSATION_BYTES].hex()
        case kind if kind == WEAK:
            return conversation_at(entry.value).hex()
        case kind if kind == ARCHIVED:
            return conversation_in(entry.value)
        case _:
            return ""


def _note(stored: Stored, entry: Entry) -> None:
    stored.entries += 1
    stored.archived += entry.key.startswith(ARCHIVED)
    stored.size_bytes += len(entry.key) + len(entry.value)
    if entry.age_seconds is not None:
        known = entry.age_seconds if stored.age_seconds is None else stored.age_seconds
        stored.age_seconds = min(known, entry.age_seconds)
    if entry.key.startswith(ABOUT):
        try:
            stored.about = About.from_bytes(entry.value)
        except StoreError:
            stored.about = None
