"""``trimtab mcp``: an agent asks for what was removed, through the official SDK's own client."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from tests.cli.running import Trimtab
from tests.cli.storing import SECRET, filled
from tests.cli.test_recall import RESULT
from tests.laws.agents import Agent
from trimtab import Call, CharTokenCounter, Engine, Policy, Text, ToolResult
from trimtab.cli.mcp import server
from trimtab.squeeze import digest
from trimtab.stores import in_memory
from trimtab.stores.keys import owners_of


def asked(transport: Any, tool: str, **arguments: Any) -> str:
    """What a tool answers."""

    async def ask() -> str:
        async with Client(transport) as client:
            tools = {each.name for each in (await client.list_tools()).tools}
            assert tools == {"recall", "search"}
            answer = await client.call_tool(tool, arguments)
            assert not answer.is_error
            return "".join(getattr(block, "text", "") for block in answer.content)

    return asyncio.run(ask())


def test_an_agent_gets_back_what_was_removed(tmp_path: Path) -> None:
    """From a process of its own, over standard input and output."""
    path = tmp_path / "store.db"
    filled(path)
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "trimtab", "mcp", "--store", str(path)],
        env=dict(os.environ),
    )

    assert asked(stdio_client(command), "recall", id=digest(RESULT)) == RESULT.text
    found = asked(stdio_client(command), "search", text="PASSWORD")
    assert SECRET in found
    item = found.split(" ", 1)[0]
    assert SECRET in asked(stdio_client(command), "recall", id=item)


def test_an_agent_sees_its_tenants_archive_alone(tmp_path: Path) -> None:
    """Whatever it asks for."""
    path = tmp_path / "store.db"
    filled(path, tenant="Ann")
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "trimtab", "mcp", "--store", str(path), "--tenant", "Bob"],
        env=dict(os.environ),
    )

    assert "Nothing is kept" in asked(stdio_client(command), "recall", id=digest(RESULT))
    assert "Nothing that was removed" in asked(stdio_client(command), "search", text="password")


def test_a_long_text_is_given_in_parts() -> None:
    """So that it does not fill the window that was just emptied."""
    store = in_memory()
    text = "".join(f"{number:07}\n" for number in range(10_000))

    async def keep() -> None:
        agent = Agent("anthropic", "claude-opus-4-5")
        branch = agent.start("go")
        agent.step(branch, "next", [text])
        agent.step(branch, "next", ["short"])
        engine = Engine(Policy(limit_tokens=3_000), store, CharTokenCounter(), archive=True)
        rewrite = await engine.rewrite(Call(agent.body(branch)))
        await engine.forwarded(rewrite.ticket)

    asyncio.run(keep())
    item = digest(ToolResult("call_1", (Text(text),)))
    first = asked(server(store), "recall", id=item)
    second = asked(server(store), "recall", id=item, start=50_000)

    assert first.endswith("[30000 characters more; recall with start=50000 goes on]")
    assert first.rsplit("\n", 1)[0] + second == text


def test_a_store_that_is_not_there_is_said(trimtab: Trimtab, tmp_path: Path) -> None:
    """Before the agent is answered anything."""
    ended = trimtab("mcp", "--store", str(tmp_path / "none.db"))

    assert ended.code == 1
    assert "there is no store at" in ended.err


def test_what_cannot_be_read_is_told_to_the_agent() -> None:
    """In words, not as a failure of the tool."""
    store = in_memory()
    asyncio.run(store.put({b"a" + bytes(8) + owner: b"torn" for owner in owners_of("")}))

    assert "It cannot be read" in asked(server(store), "recall", id="0" * 16)
