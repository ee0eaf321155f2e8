"""What does it cost to find the messages of a request, and to write it back unchanged?

Beside it: parsing the body and writing it again, which is what a tool does
that knows no spans. With ``json`` because it is always there, with ``orjson``
because nothing is faster.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import orjson

from benchmarks.bodies import Body, bodies
from benchmarks.figures import Answer, Row, Target, interleaved, ratio
from trimtab.plan import EMPTY_PLAN
from trimtab.wire import read, write

__all__ = ["answer"]

_MOST_BESIDE_JSON = 1 / 3
_MOST_BESIDE_ORJSON = 1.7


def answer(*, size_bytes: int = 2_000_000, runs: int = 41) -> Answer:
    """Measure it.

    Args:
        size_bytes: About how large each body is.
        runs: How often each is timed.
    """
    rows = [row for body in bodies(size_bytes) for row in _rows(body, runs)]
    return Answer(
        "splitting",
        f"Finding the messages of a {size_bytes / 1e6:g} MB request and writing it back unchanged",
        ("what", "ours, ms", "beside it, ms", "ratio", "of the fastest"),
        tuple(rows),
        "`split`: `write(read(body, format), EMPTY_PLAN)`, beside `json.loads` + `json.dumps`. "
        "`split, told`: the same without naming the format, so that it is told from the content. "
        "`outlined`: role, call ids and result ids of every message are looked at as well, "
        "beside `orjson.loads` + `orjson.dumps`. "
        f"Times are fastest / median of {runs} interleaved runs.",
    )


def _rows(body: Body, runs: int) -> list[Row]:
    text = body.json
    things: dict[str, Callable[[], object]] = {
        "json": lambda: json.dumps(json.loads(text)),
        "split": partial(_split, text, body.format),
        "split, told": partial(_split, text, None),
        "orjson": lambda: orjson.dumps(orjson.loads(text)),
        "outlined": partial(_outlined, text, body.format),
    }
    times = interleaved(runs, things)
    pairs = (
        ("split", "json", _MOST_BESIDE_JSON),
        ("split, told", "json", _MOST_BESIDE_JSON),
        ("outlined", "orjson", _MOST_BESIDE_ORJSON),
    )
    rows = []
    for ours, theirs, most in pairs:
        reached = ratio(times[ours], times[theirs])
        of_fastest = times[ours].fastest / times[theirs].fastest
        cells = (
            f"{ours}: {body.title}",
            times[ours].in_ms,
            f"{times[theirs].in_ms} ({theirs})",
            f"{reached:.2f}",
            f"{of_fastest:.2f}",
        )
        rows.append(Row(cells, Target(most, reached)))
    return rows


def _split(text: bytes, format_name: str | None) -> bytes:
    return write(read(text, format_name), EMPTY_PLAN)


def _outlined(text: bytes, format_name: str) -> tuple[bytes, int]:
    request = read(text, format_name)
    ids = 0
    for message in request.messages:
        ids += (message.role == "tool") + len(message.call_ids) + len(message.result_ids)
    return write(request, EMPTY_PLAN), ids
