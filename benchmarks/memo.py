"""What does a warm turn through a prefix memo cost: replay, and record what came out?

Beside it: parsing that body and writing it again, which a compressor that
works on dicts does anyway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.bodies import Body, main_bodies
from benchmarks.figures import Answer, Row, interleaved, ratio
from trimtab import PrefixMemo

__all__ = ["answer"]

_LONGEST = 400
"""Characters that the compressor leaves of a string."""


def answer(*, sizes_bytes: Sequence[int] = (100_000, 1_000_000), runs: int = 21) -> Answer:
    """Measure it.

    Args:
        sizes_bytes: About how large the bodies are.
        runs: How often each is timed.
    """
    rows = [
        row
        for size_bytes in sizes_bytes
        for body in main_bodies(size_bytes)
        for row in _rows(body, runs)
    ]
    return Answer(
        "memo",
        "A warm turn of `PrefixMemo`: `replay` of all messages and `record` of what came out",
        ("what", "ours, ms", "json, ms", "ratio"),
        tuple(rows),
        "`bytes`: both bodies come as JSON. `dicts`: both come as objects. The compressor has cut "
        f"each text of a message to {_LONGEST} characters. Beside it: `json.loads` + `json.dumps` "
        "of the original. "
        f"Times are fastest / median of {runs} interleaved runs.",
    )


def _rows(body: Body, runs: int) -> Iterator[Row]:
    original = json.loads(body.json)
    compressed = {**original, "messages": _cut(original["messages"])}
    written = json.dumps(compressed, ensure_ascii=False, separators=(",", ":")).encode()
    things: dict[str, Callable[[], object]] = {
        "bytes": partial(_turn, PrefixMemo(), body.json, written),
        "dicts": partial(_turn, PrefixMemo(), original, compressed),
        "json": partial(_parse_and_write, body.json),
    }
    times = interleaved(runs, things)
    for name in ("bytes", "dicts"):
        reached = ratio(times[name], times["json"])
        cells = (f"{name}: {body.title}", times[name].in_ms, times["json"].in_ms, f"{reached:.2f}")
        yield Row(cells)


def _turn(memo: PrefixMemo, original: Any, compressed: Any) -> int:
    sent, replayed = memo.replay("benchmark", original, compressed)
    memo.record("benchmark", original, sent)
    return replayed


def _parse_and_write(text: bytes) -> str:
    return json.dumps(json.loads(text))


def _cut(value: Any) -> Any:
    match value:
        case str():
            return value[:_LONGEST]
        case list():
            return [_cut(each) for each in value]
        case dict():
            return {key: _cut(inner) for key, inner in value.items()}
        case _:
            return value
