"""How fast are session logs loaded: all requests found, no body built?

Beside it: ``json.loads`` of each line, which finds nothing yet.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.figures import Answer, Row, Target, interleaved
from benchmarks.logs import LOGS, made
from benchmarks.session_files import write_file
from trimtab.replay import files

__all__ = ["answer"]

_MOST_SECONDS = 1.0
"""For 50 MB."""

_CLAUDE = "claude-code"


def answer(
    *, size_bytes: int = 20_000_000, runs: int = 7, kinds: Sequence[str] = (_CLAUDE, *LOGS)
) -> Answer:
    """Measure it.

    Args:
        size_bytes: How large each log is.
        runs: How often each is loaded.
        kinds: Which of :data:`~benchmarks.logs.LOGS`, and Claude Code's.
    """
    return Answer(
        "reading",
        f"Loading a session log of {size_bytes / 1e6:g} MB",
        ("what", "requests", "time, ms", "MB a second", "json.loads: time, ms", "s for 50 MB"),
        tuple(_row(_log(kind, size_bytes), runs) for kind in kinds),
        f"`trimtab.replay.files.load`, which finds out the kind and all requests and builds no "
        f"body, in turn with `json.loads` of each line. Times are fastest / median of {runs} "
        "runs; the target is for the fastest: 50 MB in a second on one core.",
    )


def _log(kind: str, size_bytes: int) -> bytes:
    if kind != _CLAUDE:
        return made(kind, size_bytes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        write_file(path, "claude code log", size_bytes)
        return path.read_bytes()


def _row(log: bytes, runs: int) -> Row:
    (recording,) = files.load(log, "log")
    times = interleaved(
        runs, {"load": partial(files.load, log, "log"), "json": partial(_parse, log)}
    )
    ours, megabytes = times["load"], len(log) / 1e6
    seconds = ours.fastest / megabytes * 50
    cells = (
        f"{recording.kind}, {megabytes:.1f} MB",
        f"{len(recording.requests):,}",
        ours.in_ms,
        f"{megabytes / ours.fastest:.0f}",
        times["json"].in_ms,
        f"{seconds:.2f}",
    )
    return Row(cells, Target(_MOST_SECONDS, seconds))


def _parse(log: bytes) -> list[object]:
    return [json.loads(line) for line in log.splitlines()]
