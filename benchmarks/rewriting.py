"""What does a whole rewrite cost, from bytes to bytes?

Cold: a new session each time, nothing counted yet (the vocabulary is loaded).
Beside it: what nobody who wants to know the size of a request comes around,
parsing it and counting each text once with the same counter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import orjson

from benchmarks.bodies import Body, main_bodies
from benchmarks.figures import Answer, Row, interleaved, ratio
from trimtab import Call, Policy, Session, TokenCounter, counter_for
from trimtab.wire import read

__all__ = ["answer"]

_NEVER_REACHED_TOKENS = 100_000_000
_CUT_RATIO = 0.5
"""Share of the request that the limit of the cut leaves."""


def answer(
    *,
    sizes_bytes: Sequence[int] = (100_000, 1_000_000, 4_000_000),
    runs: int = 11,
    counter: TokenCounter | None = None,
) -> Answer:
    """Measure it.

    Args:
        sizes_bytes: About how large the bodies are.
        runs: How often each is timed.
        counter: Counts; None for the best for each model.
    """
    rows = [
        _row(body, counter or counter_for(_model(body)), runs)
        for size_bytes in sizes_bytes
        for body in main_bodies(size_bytes)
    ]
    return Answer(
        "rewriting",
        "A whole rewrite, cold: `Session.read` and `Session.rewrite`",
        (
            "what",
            "it fits, ms",
            "cut to half, ms",
            "counting alone, ms",
            "fits / counting",
            "cut / counting",
        ),
        tuple(rows),
        "Counting alone: `orjson.loads`, then each text of the request counted once by the same "
        f"counter. Times are fastest / median of {runs} interleaved runs.",
    )


def _row(body: Body, counter: TokenCounter, runs: int) -> Row:
    whole = _rewritten(body, counter, _NEVER_REACHED_TOKENS)
    things: dict[str, Callable[[], object]] = {
        "fits": partial(_rewritten, body, counter, _NEVER_REACHED_TOKENS),
        "cut": partial(_rewritten, body, counter, int(whole * _CUT_RATIO)),
        "count": partial(_counted, body.json, counter),
    }
    times = interleaved(runs, things)
    cells = (
        body.title,
        times["fits"].in_ms,
        times["cut"].in_ms,
        times["count"].in_ms,
        f"{ratio(times['fits'], times['count']):.2f}",
        f"{ratio(times['cut'], times['count']):.2f}",
    )
    return Row(cells)


def _model(body: Body) -> str:
    return read(body.json, body.format).surface.model


def _rewritten(body: Body, counter: TokenCounter, limit_tokens: int) -> int:
    session = Session(Policy(limit_tokens=limit_tokens), counter)
    return session.rewrite(session.read(Call(body.json))).outcome.tokens_before


def _counted(text: bytes, counter: TokenCounter) -> int:
    values = [orjson.loads(text)]
    tokens = 0
    while values:
        value = values.pop()
        if isinstance(value, str):
            tokens += counter.count(value)
        elif isinstance(value, dict):
            values += value.values()
        elif isinstance(value, list):
            values += value
    return tokens
