"""The requests that are measured, in both formats.

::

    W1         what ../shared/bench/gen.py makes, where it is there
    generated  what conversation.py makes, where it is not
    demo       the recorded session of this repository, repeated until it is large enough

A body is compact UTF-8, as the providers' SDKs send it.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.conversation import TOOLS, chat_messages, exchanges
from trimtab import Surface
from trimtab.wire import build, read

__all__ = ["Body", "bodies", "cores", "main_bodies"]

Json: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRIMTAB_SHARED") or ROOT.parent / "shared")
DEMO = ROOT / "demo" / "session.json"

_W1_BYTES_A_MESSAGE = 1935
"""What a message of W1 has on average, at 1,000 messages."""

_W1_TOOLS = ("read_file", "query_db", "run_shell", "grep")

_MODELS = {"openai-chat": "gpt-4o", "anthropic": "claude-sonnet-4-5"}


@dataclass(frozen=True, slots=True)
class Body:
    """A request that is measured.

    Attributes:
        source: Where its conversation comes from.
        format: Its wire format.
        json: Its bytes.
        messages: How many messages it has.
    """

    source: str
    format: str
    json: bytes = field(repr=False)
    messages: int

    @property
    def title(self) -> str:
        """The body in a few words, for a table."""
        return f"{self.format}, {self.source}, {len(self.json) / 1e6:.2f} MB"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main_bodies(size_bytes: int) -> Iterator[Body]:
    """Make a conversation of about some size, in both formats: W1 where it is there."""
    generator = SHARED / "bench" / "gen.py"
    if generator.exists():
        yield from _both("W1", _chat(_w1(generator, size_bytes), _W1_TOOLS))
    else:
        yield from _both("generated", _chat(_generated(size_bytes), TOOLS))


@cache
def bodies(size_bytes: int) -> tuple[Body, ...]:
    """Make all requests of about some size: each conversation in both formats."""
    made = tuple(main_bodies(size_bytes))
    if not DEMO.exists():
        return made
    return (*made, *_both("demo", _repeated(json.loads(DEMO.read_bytes()), size_bytes)))


def _both(source: str, body: bytes) -> Iterator[Body]:
    """Show a body in each format; the one that it does not come in is built."""
    request = read(body)
    for name, model in _MODELS.items():
        made = body
        if name != request.format.name:
            surface = Surface(model, request.surface.system, request.surface.tools)
            made = build(request.messages, name, surface=surface)
        yield Body(source, name, made, len(read(made, name).spans))


def _chat(messages: list[Json], tools: tuple[str, ...]) -> bytes:
    body: Json = {
        "model": _MODELS["openai-chat"],
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in tools
        ],
        "messages": messages,
    }
    return _dumped(body)


def _dumped(body: Json) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _w1(generator: Path, size_bytes: int) -> list[Json]:
    spec = importlib.util.spec_from_file_location("w1_generator", generator)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    steps = module.gen(max(4, size_bytes // _W1_BYTES_A_MESSAGE))
    return [message for step in steps for message in step]


def _generated(size_bytes: int) -> list[Json]:
    messages: list[Json] = [{"role": "system", "content": "You are a careful agent."}]
    size = 0
    for exchange in exchanges():
        messages += chat_messages(exchange)
        size += sum(len(_dumped(message)) for message in chat_messages(exchange))
        if size >= size_bytes:
            break
    return messages


def _repeated(body: Json, size_bytes: int) -> bytes:
    """Let a conversation go on with itself until it is large enough; ids stay unique."""
    times = max(1, round(size_bytes / len(_dumped(body))))
    messages = json.dumps(body["messages"], ensure_ascii=False)
    copies = [messages.replace('"toolu_', f'"toolu_{number}_') for number in range(times)]
    return _dumped(
        {**body, "messages": [message for copy in copies for message in json.loads(copy)]}
    )
