"""Law 8: words stay in memory where no store is on, and credentials are kept nowhere, ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.servers import Server

WORDS = "Xylophone-4711"
KEY = "sk-ant-secret-0815"

PROGRAM = """
import asyncio, logging, sys
from trimtab import Call, CharTokenCounter, Engine, Policy, Usage
from trimtab.stores import redis, sqlite
from tests.laws.agents import Agent
words, key, kind, where = sys.argv[1:]
logging.basicConfig(level=logging.DEBUG)

async def main():
    store = {"none": lambda: None, "sqlite": lambda: sqlite(where), "redis": lambda: redis(where)}
    opened = store[kind]()
    tenant = "" if kind == "none" else key
    engine = Engine(
        Policy(limit_tokens=1500), opened, CharTokenCounter(), archive=kind != "none",
        on_event=print, store_seconds=30.0,
    )
    agent = Agent("anthropic", "claude-opus-4-5")
    branch = agent.start("go " + words)
    headers = {"x-api-key": key, "authorization": "Bearer " + key}
    for _ in range(8):
        rewrite = await engine.rewrite(Call(agent.body(branch), headers), tenant=tenant)
        await engine.observed(rewrite.ticket, Usage(fresh=rewrite.outcome.tokens_after))
        print(rewrite.outcome, rewrite.events, rewrite.ticket.turn.request, opened, engine)
        agent.step(branch, "next", [words + "x" * 1600])
    assert rewrite.plan
    if opened is not None:
        print(await opened.get([b"x"]))
        await opened.close()

asyncio.run(main())
"""


def ran(folder: Path, kind: str, where: str) -> bytes:
    """Run a program at home in a folder; everything that it leaves there or says."""
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"), str(folder))
    root = str(Path(__file__).parents[2])
    env = {**os.environ, **homes, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PROGRAM, WORDS, KEY, kind, where]
    ended = subprocess.run(command, check=True, capture_output=True, cwd=folder, env=env)
    files = [each for each in folder.rglob("*") if each.is_file()]
    # Whatever measures this test keeps its own notes here.
    left = [each for each in files if not each.name.startswith(".coverage")]
    return b"".join([each.read_bytes() for each in left] + [ended.stdout, ended.stderr])


def test_without_a_store_no_word_leaves_the_process(tmp_path: Path) -> None:
    """Neither to a file nor into what is logged or shown, with every logger on."""
    left = ran(tmp_path, "none", "")

    assert b"ContextCompacted" in left
    assert WORDS.encode() not in left
    assert KEY.encode() not in left


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_credential_is_in_no_store(kind: str, tmp_path: Path) -> None:
    """Not even where it is the tenant, and an archive is kept."""
    folder = tmp_path / "home"
    folder.mkdir()
    server = Server(tmp_path).start() if kind == "redis" else None
    try:
        where = server.url if server is not None else str(folder / "store.db")
        left = ran(folder, kind, where)
        if server is not None:
            server.ask("CONFIG", "SET", "rdbcompression", "no")
            server.ask("SAVE")
            left += (tmp_path / "dump.rdb").read_bytes()
    finally:
        if server is not None:
            server.stop()

    assert b"trimtab-state" in left
    assert KEY.encode() not in left
