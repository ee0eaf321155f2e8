"""What compactions removed: kept once, given back to the letter, and only what was removed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.laws.agents import Agent, GeminiAgent, ResponsesAgent
from tests.stores.test_faults import Failing
from trimtab import Call, CharTokenCounter, Engine, Policy, StoreError, in_memory
from trimtab.plan import Changes
from trimtab.stores.archive import Archive, message_id

AGENTS = {
    "anthropic": Agent("anthropic", "claude-opus-4-5"),
    "openai-chat": Agent("openai-chat", "gpt-5.2"),
    "openai-responses": ResponsesAgent("openai-responses", "gpt-5.2"),
    "gemini": GeminiAgent("gemini", "gemini-3.1-pro"),
}


@pytest.mark.parametrize("name", AGENTS)
def test_every_message_that_is_gone_can_be_recalled_as_it_came(name: str) -> None:
    """In every format; what was left alone is not kept."""
    agent, store = AGENTS[name], in_memory()
    archive = Archive(store)
    engine = Engine(Policy(limit_tokens=1_500), store, CharTokenCounter(), archive=True).sync
    branch = agent.start("go")
    gone: set[bytes] = set()
    for number in range(8):
        agent.step(branch, "next", [f"{number}" + "x" * 1_600])
        rewrite = engine.rewrite(Call(agent.body(branch), model=branch.model), agent.format)
        engine.forwarded(rewrite.ticket)
        request = rewrite.ticket.turn.request
        gone |= {request.message_bytes(place) for place in Changes(rewrite.plan).gone}

    async def recalled(raw: bytes) -> Any:
        return await archive.recall(message_id(raw))

    assert len(gone) > 4
    for raw in gone:
        found = asyncio.run(recalled(raw))
        assert found is not None
        assert json.loads(found.text) == json.loads(raw)
    newest = json.dumps(branch.history[-1], ensure_ascii=False).encode()
    assert asyncio.run(recalled(newest)) is None


def test_a_store_that_lists_nothing_cannot_be_searched() -> None:
    """And it is said so."""

    async def search() -> list:
        return [found async for found in Archive(Failing()).search("x")]

    with pytest.raises(StoreError, match="cannot be searched"):
        asyncio.run(search())
