"""A store that a few conversations went through, for the commands that look into one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.laws.agents import Agent, Branch
from trimtab import Call, CharTokenCounter, ContextCompacted, Engine, Policy
from trimtab.events import Event
from trimtab.stores import Managed, redis, sqlite
from trimtab.stores.listing import is_server

__all__ = ["SECRET", "filled", "opened_store"]

SECRET = "The password of the build is Björk-42"
"""What a tool said in the first turn, and a compaction removed."""


def opened_store(where: str | Path) -> Managed:
    """A store by its name."""
    return redis(str(where)) if is_server(str(where)) else sqlite(where)


def filled(
    where: str | Path, *, tenant: str = "", task: str = "go", is_archived: bool = True
) -> Branch:
    """Send a conversation with one compaction through an engine on a store."""

    async def run() -> Branch:
        store = opened_store(where)
        events: list[Event] = []
        engine = Engine(
            Policy(limit_tokens=1_500),
            store,
            CharTokenCounter(),
            archive=is_archived,
            on_event=events.append,
            store_seconds=30.0,
        )
        agent = Agent("anthropic", "claude-opus-4-5")
        branch = agent.start(task)
        agent.step(branch, "next", [f"{SECRET}\n" + "x" * 1_600])
        for _ in range(5):
            call = Call(agent.body(branch))
            rewrite = await engine.rewrite(call, "anthropic", tenant=tenant)
            await engine.forwarded(rewrite.ticket)
            agent.step(branch, "next", ["x" * 1_600])
        await store.close()
        assert any(isinstance(event, ContextCompacted) for event in events)
        return branch

    return asyncio.run(run())
