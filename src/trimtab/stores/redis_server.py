"""A store on a Redis or Valkey server, alone or a cluster: for several machines that share it.

Every operation is one script, so it costs one round trip and nothing comes in
between. In a cluster it is one for each machine that is asked: keys that belong
together lie on one, for what they begin with is their hash tag.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

from redis import exceptions
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from trimtab.errors import PolicyError, StoreError
from trimtab.stores.keys import TOGETHER_BYTES
from trimtab.stores.store import Entry

__all__ = ["RedisStore"]

_ERROR_CODE = re.compile(r"\b[A-Z]{3,}\b[^@]{0,100}")
"""What a server's error begins with, wherever a script's own words stand before it."""

_AT_ONCE = 200
"""Entries that are listed together."""


class _Script:
    """A script, and the name that the server keeps it under."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.name = sha1(text.encode(), usedforsecurity=False).hexdigest()


_GET = _Script("""
local found = redis.call('MGET', unpack(KEYS))
for place, value in ipairs(KEYS) do
  if found[place] then redis.call('PEXPIRE', KEYS[place], ARGV[1]) end
end
return found
""")

_PUT = _Script("""
for place, key in ipairs(KEYS) do
  redis.call('SET', key, ARGV[place + 1], 'PX', ARGV[1])
end
return 1
""")

_ADD = _Script("""
for place, key in ipairs(KEYS) do
  if not redis.call('SET', key, ARGV[place + 1], 'NX', 'PX', ARGV[1]) then
    redis.call('PEXPIRE', key, ARGV[1])
  end
end
return 1
""")

_SWAP = _Script("""
local there = redis.call('GET', KEYS[1])
if ARGV[2] == '' then
  if there then return 0 end
elseif there ~= string.sub(ARGV[2], 2) then
  return 0
end
redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[1])
return 1
""")
"""What is expected comes behind a sign, so that nothing and an empty value are told apart."""


class RedisStore:
    """Keeps entries on a server.

    Args:
        url: Where it is; never shown, for it may hold a password.
        ttl_seconds: What was not used for so long is forgotten.
        prefix: What all keys begin with.
        is_cluster: Whether the server is one of a cluster.

    Raises:
        PolicyError: If a setting cannot hold.
    """

    never_waits = False
    outlives_process = True

    def __init__(
        self, url: str, ttl_seconds: float, prefix: bytes, *, is_cluster: bool = False
    ) -> None:
        if not ttl_seconds >= 0.001:
            raise PolicyError("ttl_seconds", ttl_seconds, "it must be a thousandth or more")
        if b"{" in prefix:
            raise PolicyError("prefix", prefix.decode(), "there must be no { in it")
        self.ttl_seconds = ttl_seconds
        self._url = url
        self._prefix = prefix
        self._is_cluster = is_cluster
        # A connection belongs to the loop that it was made in.
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        with _told():
            self._new_client()  # a wrong address is said now, and not on the first request

    def __repr__(self) -> str:
        return f"<RedisStore{' of a cluster' if self._is_cluster else ''}>"

    # ---------------------------------------------------------------- a store

    async def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Look up some keys; what is found counts as used."""
        found: dict[bytes, bytes | None] = {}
        for group in self._groups(keys):
            values = await self._run(_GET, group, [])
            if not isinstance(values, list) or len(values) > len(group):
                raise StoreError("the store has answered something that is no list of values")
            found.update(zip(group, values, strict=False))  # a list ends at its last value
        return [found.get(key) for key in keys]

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write some entries; those that belong together all or none."""
        for group in self._groups(entries):
            await self._run(_PUT, group, [entries[key] for key in group])

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write those entries under whose keys nothing stands yet."""
        for group in self._groups(entries):
            await self._run(_ADD, group, [entries[key] for key in group])

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write an entry if nobody else has in the meantime."""
        seen = b"" if expected is None else b"=" + expected
        return bool(await self._run(_SWAP, [key], [seen, value]))

    # -------------------------------------------------------------- management

    async def scan(self, prefix: bytes = b"") -> AsyncIterator[Entry]:
        """List the entries whose keys begin with something; looking at them is no use of them."""
        client = self._client()
        lot: list[bytes] = []
        with _told():
            async for key in client.scan_iter(match=_pattern(self._named(prefix))):
                lot.append(key)
                if len(lot) == _AT_ONCE:
                    for entry in await self._entries(client, lot):
                        yield entry
                    lot = []
            for entry in await self._entries(client, lot):
                yield entry

    async def delete(self, keys: Iterable[bytes]) -> int:
        """Delete entries."""
        client = self._client()
        with _told():
            return sum([int(await client.delete(self._named(key))) for key in keys])

    async def close(self) -> None:
        """Close the connections of this event loop; the next call opens them again."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            with _told():
                await client.aclose()

    # ------------------------------------------------------------------ server

    def _client(self) -> Any:  # noqa: ANN401 - either of two classes without a common one
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._new_client()
        return client

    def _new_client(self) -> Any:  # noqa: ANN401 - see above
        # Once more, for a connection that the server has closed in the meantime; how long all
        # of it may take is the caller's to say.
        settings: dict[str, Any] = {"retry": Retry(NoBackoff(), 1), "decode_responses": False}
        if self._is_cluster:
            return RedisCluster.from_url(self._url, **settings)
        return Redis.from_url(self._url, **settings)

    async def _run(self, script: _Script, keys: Sequence[bytes], values: Sequence[bytes]) -> Any:  # noqa: ANN401 - whatever it answers
        client = self._client()
        named = [self._named(key) for key in keys]
        arguments = (len(named), *named, int(self.ttl_seconds * 1000), *values)
        with _told():
            try:
                return await client.evalsha(script.name, *arguments)
            except exceptions.NoScriptError:  # a server that has just been started
                return await client.eval(script.text, *arguments)

    def _groups(self, keys: Iterable[bytes]) -> Iterator[list[bytes]]:
        """Keys that one script may have: all, or those that lie on one machine of a cluster."""
        ordered = sorted(dict.fromkeys(keys))
        if not self._is_cluster:
            yield from (
                ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE)
            )
            return
        for _, group in groupby(ordered, key=lambda key: key[:TOGETHER_BYTES]):
            yield list(group)

    def _named(self, key: bytes) -> bytes:
        """The key on the server: what is in braces says on which machine of a cluster it lies."""
        tag, rest = key[:TOGETHER_BYTES], key[TOGETHER_BYTES:]
        return self._prefix + b"{" + (tag + b"}" + rest if rest else tag)

    def _key(self, named: bytes) -> bytes:
        bare = named.removeprefix(self._prefix + b"{")
        return bare[:TOGETHER_BYTES] + bare[TOGETHER_BYTES + 1 :]

    async def _entries(self, client: Any, names: Sequence[bytes]) -> list[Entry]:  # noqa: ANN401 - see above
        """What stands under some keys, and for how long it was not used."""
        entries = []
        for name in names:
            try:
                value, left_ms = await client.get(name), await client.pttl(name)
            except exceptions.ResponseError:
                continue  # something else of somebody else's
            if isinstance(value, bytes):
                age = self.ttl_seconds - left_ms / 1000 if left_ms >= 0 else None
                entries.append(Entry(self._key(name), value, age and max(0.0, age)))
        return entries


def _pattern(start: bytes) -> bytes:
    """What matches all that begins with something, whatever stands in it."""
    return (
        b"".join(b"\\" + bytes([each]) if each in b"*?[]^\\" else bytes([each]) for each in start)
        + b"*"
    )


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the client raises into an error of ours; it names no address.

    Raises:
        StoreError: If it raises.
    """
    try:
        yield
    except exceptions.RedisError as error:
        raise StoreError(f"the store cannot be used: {_reason(error)}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"the store cannot be reached: {type(error).__name__}") from None


def _reason(error: exceptions.RedisError) -> str:
    """Why, in words for the user."""
    if isinstance(error, exceptions.AuthenticationError):
        return "it wants another user or password"
    if isinstance(error, exceptions.ResponseError):
        told = _ERROR_CODE.search(str(error))
        return f"it has answered {told[0] if told else 'an error that is not known'}"
    return type(error).__name__
