"""How fast is a recorded session replayed under one policy?

Beside it: hashing each body once, which nobody comes around who looks at what was sent.

::

    python benchmarks/replaying.py PATH...    the table for your own sessions
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks.figures import Answer, Row, Target, interleaved
from benchmarks.logs import made
from benchmarks.tables import show
from trimtab import Call, Engine, Policy
from trimtab.errors import PolicyError, RequestError
from trimtab.replay import files
from trimtab.replay.bench import bench
from trimtab.replay.policies import DEFAULT, chosen
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.turn import Turn

__all__ = ["answer"]

_LEAST_MEGABYTES = 5.0
"""Of log that are read and planned in a second on one core."""

_SIZES_BYTES = (100_000, 400_000, 1_600_000)


def answer(
    *, sizes_bytes: Sequence[int] = _SIZES_BYTES, runs: int = 3, paths: Sequence[Path] = ()
) -> Answer:
    """Measure it.

    Args:
        sizes_bytes: How large the logs are that are made.
        runs: How often each is replayed.
        paths: Logs to take instead.
    """
    logs = [(path.name, path.read_bytes()) for path in paths] or [
        (f"{kind}, {size / 1e6:.1f} MB", made(kind, size))
        for size in sizes_bytes
        for kind in ("codex", "pi")
    ]
    return Answer(
        "replaying",
        "Replaying a recorded session under the default policy",
        (
            "what",
            "requests",
            "bodies, MB",
            "read and planned, s",
            "MB of log a second",
            "with bills, checks and misses, s",
            "bodies made and hashed, s",
        ),
        tuple(_row(name, log, runs) for name, log in logs),
        "`read and planned`: the log is loaded, each body is made, read and rewritten, and what "
        "was billed is told to the engine. `with bills, checks and misses`: all that `trimtab replay` "
        "does, beside doing nothing and what the client did. `bodies made and hashed`: each body is made and hashed "
        f"once, and nothing else. Times are the fastest of {runs} interleaved runs.",
    )


def _row(name: str, log: bytes, runs: int) -> Row:
    recordings = files.load(log, name)
    times = interleaved(
        runs,
        {
            "planned": partial(_planned, log),
            "whole": partial(_whole, log),
            "hashed": partial(_hashed, log),
        },
    )
    planned, megabytes = times["planned"].fastest, len(log) / 1e6
    sizes = sum(len(body) for recording in recordings for body in _bodies(recording))
    cells = (
        name,
        f"{sum(len(recording.requests) for recording in recordings):,}",
        f"{sizes / 1e6:.0f}",
        f"{planned:.2f}",
        f"{megabytes / planned:.1f}",
        f"{times['whole'].fastest:.2f}",
        f"{times['hashed'].fastest:.2f}",
    )
    return Row(cells, Target(1.0, _LEAST_MEGABYTES * planned / megabytes))


def _bodies(recording: Recording) -> Iterator[bytes]:
    return (recorded.build() for recorded in recording.requests)


def _planned(log: bytes) -> None:
    for recording in files.load(log, "log"):
        engine, before = Engine(Policy()), None
        for recorded in recording.requests:
            call = Call(recorded.build(), model=recorded.model, now=recorded.at or 0.0)
            before = _plan(engine, call, recorded, before)


def _plan(
    engine: Engine, call: Call, recorded: RecordedRequest, before: Turn | None
) -> Turn | None:
    try:
        turn = engine.session.read(call, recorded.format or None, before=before)
        rewrite = engine.sync.rewrite(turn)
    except (RequestError, PolicyError):
        return before
    if recorded.usage is None or rewrite.plan:
        engine.sync.forwarded(rewrite.ticket)
    else:
        engine.sync.observed(rewrite.ticket, recorded.usage)
    return turn


def _whole(log: bytes) -> None:
    for recording in files.load(log, "log"):
        bench(recording, Policy(), chosen((DEFAULT,)))


def _hashed(log: bytes) -> None:
    for recording in files.load(log, "log"):
        for body in _bodies(recording):
            sha256(body).digest()


def main(arguments: Sequence[str]) -> None:
    """Show the table for some logs."""
    show(answer(paths=[Path(argument) for argument in arguments]), Console(width=160))


if __name__ == "__main__":
    main(sys.argv[1:])
