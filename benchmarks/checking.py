"""What does it cost to check every rule?

Beside it: parsing the body alone, by the fastest parser there is.
"""

from __future__ import annotations

from functools import partial

import orjson

from benchmarks.bodies import bodies
from benchmarks.figures import Answer, Row, Target, interleaved, ratio
from trimtab.wire import check

__all__ = ["answer"]

_MOST_BESIDE_ORJSON = 6.0


def answer(*, size_bytes: int = 1_000_000, runs: int = 41) -> Answer:
    """Measure it.

    Args:
        size_bytes: About how large each body is.
        runs: How often each is timed.

    Raises:
        AssertionError: If a body breaks a rule: then something else was measured.
    """
    rows = []
    for body in bodies(size_bytes):
        text, format_name = body.json, body.format
        assert not check(text, format_name), f"{body.title} breaks a rule"
        times = interleaved(
            runs,
            {
                "check": partial(check, text, format_name),
                "orjson": partial(orjson.loads, text),
            },
        )
        reached = ratio(times["check"], times["orjson"])
        cells = (
            body.title,
            times["check"].in_ms,
            times["orjson"].in_ms,
            f"{reached:.2f}",
            f"{times['check'].fastest / times['orjson'].fastest:.2f}",
        )
        rows.append(Row(cells, Target(_MOST_BESIDE_ORJSON, reached)))
    return Answer(
        "checking",
        f"Checking every rule of a {size_bytes / 1e6:g} MB request",
        ("what", "`check`, ms", "`orjson.loads`, ms", "ratio", "of the fastest"),
        tuple(rows),
        f"Times are fastest / median of {runs} interleaved runs. No body breaks a rule.",
    )
