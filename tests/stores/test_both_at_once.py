"""Two engines at work on one conversation at the same moment: the same bytes, and one summary."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.laws.summaries import ScriptedMaker
from tests.stores.servers import Server
from trimtab import CharTokenCounter, Engine, Policy, Rewrite, in_memory
from trimtab.stores import Managed, redis, sqlite
from trimtab.wire import Call

Json: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[], Managed]

SECONDS = 10.0
"""What a slow machine may take."""


@pytest.fixture(params=["sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Opens the same store of one kind, as one process does beside another."""
    if request.param == "sqlite":
        yield lambda: sqlite(tmp_path / "store.db")
    else:
        server: Server = request.getfixturevalue("server")
        server.ask("FLUSHALL")
        yield lambda: redis(server.url)


def call(turns: int, name: str = "") -> Call:
    """A request of a conversation with so many questions."""
    messages: list[Json] = [{"role": "user", "content": f"go {name}"}]
    for number in range(turns):
        messages.append({"role": "assistant", "content": f"Answer {number}: " + "so " * 120})
        messages.append({"role": "user", "content": f"Never touch file{number}.py. " + "why " * 90})
    return Call(json.dumps({"model": "gpt-5.2", "messages": messages}).encode())


def engine(store: Managed, maker: ScriptedMaker | None = None, **settings: Any) -> Engine:
    """One of several processes."""
    policy = Policy(limit_tokens=3_000, preset="safe", **settings)
    return Engine(policy, store, CharTokenCounter(), store_seconds=SECONDS, summaries=maker)


async def together(engines: list[Engine], request: Call) -> list[Rewrite]:
    """All of them take the same turn at once."""

    async def one(each: Engine) -> Rewrite:
        rewrite = await each.rewrite(request)
        await each.forwarded(rewrite.ticket)
        return rewrite

    return list(await asyncio.gather(*map(one, engines)))


def test_all_send_the_same_bytes_turn_after_turn(make: Make) -> None:
    """Those that one alone would send, also where the turn is a compaction."""

    async def work() -> None:
        stores = [make() for _ in range(4)]
        engines = list(map(engine, stores))
        alone = engine(in_memory())
        for turns in range(1, 40):
            sent = {rewrite.body for rewrite in await together(engines, call(turns))}
            lone = await alone.rewrite(call(turns))
            await alone.forwarded(lone.ticket)
            assert sent == {lone.body}
        for store in stores:
            await store.close()

    asyncio.run(work())


def test_many_conversations_at_once_stay_apart(make: Make) -> None:
    """No words of one are ever in another."""

    async def work() -> None:
        stores = [make() for _ in range(2)]
        engines = list(map(engine, stores))
        for turns in range(1, 20):
            names = [f"conversation-{number}" for number in range(6)]
            calls = [call(turns, name) for name in names]
            rows = await asyncio.gather(*(together(engines, each) for each in calls))
            for name, rewrites in zip(names, rows, strict=True):
                for rewrite in rewrites:
                    others = [other for other in names if other != name]
                    assert name in rewrite.body.decode()
                    assert not any(other in rewrite.body.decode() for other in others)
        for store in stores:
            await store.close()

    asyncio.run(work())


def test_one_makes_the_summary_and_all_put_it_in_place(make: Make) -> None:
    """A lease says who; what is kept first is what all send."""

    async def work() -> None:
        stores = [make() for _ in range(3)]
        makers = [ScriptedMaker() for _ in stores]
        engines = [
            engine(store, maker, summaries=True)
            for store, maker in zip(stores, makers, strict=True)
        ]
        bodies: set[bytes] = set()
        asked = 0
        for turns in range(1, 30):
            bodies = {rewrite.body for rewrite in await together(engines, call(turns))}
            assert len(bodies) == 1
            asked = max(asked, sum(len(maker.asked) for maker in makers))
            for maker in makers:
                maker.answer("good")
            await asyncio.gather(*(each.rewrite(call(turns)) for each in engines))
            if b"Ship the parser" in b"".join(bodies):
                break
        assert asked == 1
        assert b"Ship the parser" in b"".join(bodies)
        for store in stores:
            await store.close()

    asyncio.run(work())
