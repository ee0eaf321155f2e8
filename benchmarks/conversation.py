"""Make an agent's conversation: deterministic, without end, in each shape that is measured.

The words mean nothing, but they weigh what real ones weigh: source code, logs,
JSON rows and prose, some of it not ASCII, no text twice. Results have 0.5 to
16 KB, most of them few (log-uniform), as in recorded sessions.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["TOOLS", "Call", "Exchange", "anthropic_messages", "chat_messages", "exchanges"]

Json: TypeAlias = dict[str, Any]

_SENTENCE = (
    "the parser keeps a window over the stream and drops a frame when its checksum differs so "
    "every reader sees whole records only until the writer closes that segment which happens "
    "once an hour or after eight megabytes whatever comes first then an index is built beside it"
)
_WORDS = tuple(_SENTENCE.split())
_NAMES = ("frame", "segment", "reader", "writer", "index", "window", "record", "buffer", "lease")
_FOREIGN = (
    "naïve café",
    "größer als nötig",
    "日本語のログ",
    "проверка связи",
    "✅ 🚀",
    "한국어 기록",
)

_SMALLEST_RESULT_CHARACTERS = 512
_LARGEST_TO_SMALLEST = 32


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with what the tool answered."""

    id: str
    tool: str
    arguments: Json
    result: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the agent says and calls at once.

    Attributes:
        request: What the user asked for before; empty in the middle of a round.
        words: What the agent says.
        calls: What it calls; none where a round ends.
    """

    request: str
    words: str
    calls: tuple[Call, ...]


def exchanges(seed: int = 1) -> Iterator[Exchange]:
    """Go through a conversation; it never ends."""
    chance = random.Random(seed)
    made = 0
    while True:
        request = _prose(chance, 20, 120)
        for _ in range(chance.randint(2, 14)):
            count = chance.choice((1, 1, 1, 2, 3))
            calls = tuple(_call(chance, made + place) for place in range(count))
            made += count
            yield Exchange(request, _prose(chance, 4, 40), calls)
            request = ""
        yield Exchange("", _prose(chance, 30, 200), ())


def chat_messages(exchange: Exchange) -> list[Json]:
    """Tell an exchange as OpenAI Chat Completions has it."""
    said: Json = {"role": "assistant", "content": exchange.words}
    if exchange.calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
            }
            for call in exchange.calls
        ]
    asked = [{"role": "user", "content": exchange.request}] if exchange.request else []
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": call.result} for call in exchange.calls
    ]
    return [*asked, said, *results]


def anthropic_messages(exchange: Exchange) -> list[Json]:
    """Tell an exchange as Anthropic Messages has it."""
    words: list[Json] = [{"type": "text", "text": exchange.words}]
    calls: list[Json] = [
        {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments}
        for call in exchange.calls
    ]
    results: list[Json] = [
        {"type": "tool_result", "tool_use_id": call.id, "content": call.result}
        for call in exchange.calls
    ]
    asked = [{"role": "user", "content": exchange.request}] if exchange.request else []
    answered = [{"role": "user", "content": results}] if results else []
    return [*asked, {"role": "assistant", "content": words + calls}, *answered]


# ----------------------------------------------------------------------- words


def _call(chance: random.Random, number: int) -> Call:
    tool, line = chance.choice(_KINDS)
    arguments = {"path": _path(chance), "limit": chance.randint(1, 500)}
    size = int(_SMALLEST_RESULT_CHARACTERS * _LARGEST_TO_SMALLEST ** chance.random())
    return Call(f"call_{number:08d}", tool, arguments, _text(chance, size, line))


def _text(chance: random.Random, size: int, line: Callable[[random.Random], str]) -> str:
    lines: list[str] = []
    length = 0
    while length < size:
        lines.append(line(chance))
        length += len(lines[-1])
    if chance.random() < 0.1:
        lines.insert(len(lines) // 2, chance.choice(_FOREIGN) + "\n")
    return "".join(lines)


def _prose(chance: random.Random, fewest: int, most: int) -> str:
    words = chance.choices(_WORDS, k=chance.randint(fewest, most))
    if chance.random() < 0.1:
        words.append(chance.choice(_FOREIGN))
    return f"{' '.join(words).capitalize()}."


def _path(chance: random.Random) -> str:
    folder, name = chance.choices(_NAMES, k=2)
    return f"src/{folder}/{name}_{chance.randint(1, 99)}.py"


def _code(chance: random.Random) -> str:
    name, source, other = chance.choices(_NAMES, k=3)
    width = chance.randint(1, 9999)
    return f'    {name}_{width} = {source}.take({width}, key="{other}")  # {_prose(chance, 2, 6)}\n'


def _log(chance: random.Random) -> str:
    minute, second = chance.randint(0, 59), chance.random() * 60
    what, worker = chance.choice(_NAMES), chance.randint(1, 64)
    took = chance.random() * 900
    return f"2026-02-11T09:{minute:02d}:{second:06.3f}Z INFO worker-{worker} {what} done in {took:.1f} ms\n"


def _row(chance: random.Random) -> str:
    row = {"id": chance.getrandbits(40), "name": chance.choice(_NAMES), "share": chance.random()}
    return json.dumps(row) + "\n"


def _found(chance: random.Random) -> str:
    return f"{_path(chance)}:{chance.randint(1, 2000)}:{_code(chance)}"


_KINDS: Sequence[tuple[str, Callable[[random.Random], str]]] = (
    ("read_file", _code),
    ("run", _log),
    ("query", _row),
    ("search", _found),
)

TOOLS: tuple[str, ...] = tuple(tool for tool, _ in _KINDS)
"""Names of the tools that are called."""
