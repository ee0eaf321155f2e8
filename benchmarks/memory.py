"""How much memory does ``trimtab compact`` take for a large file?

The whole process counts: interpreter, packages, vocabulary, the file and all
that is made of it. Beside it: a process that parses the same file with
``json`` and writes it again.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Answer, Row, Target
from benchmarks.session_files import KINDS, write_file

__all__ = ["Run", "answer", "measured"]

_MOST_BESIDE_FILE = 6.0

_BUDGET_TOKENS = 200_000
"""The window of the model in the files; the cut is from about 15 million tokens."""

# ru_maxrss of a child includes what its parent held when it was started, so a
# small process starts it and not this one.
_LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
taken = time.perf_counter() - start
unit = 1 if sys.platform == "darwin" else 1024
print(taken, used.ru_maxrss * unit, os.waitstatus_to_exitcode(status))
"""

_TRIMTAB = "from trimtab.cli.main import main; main()"

_JSON = """
import json, sys
with open(sys.argv[1], "rb") as file:
    text = file.read()
try:
    written = json.dumps(json.loads(text))
except json.JSONDecodeError:
    written = "\\n".join([json.dumps(value) for value in [json.loads(line) for line in text.splitlines()]])
with open(sys.argv[2], "w") as file:
    file.write(written)
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from start to end.

    Attributes:
        seconds: How long it took.
        peak_bytes: The most memory that it held at once.
    """

    seconds: float
    peak_bytes: int


def answer(*, size_bytes: int = 50_000_000, runs: int = 3, kinds: Sequence[str] = KINDS) -> Answer:
    """Measure it.

    Args:
        size_bytes: How large each file is.
        runs: How often each process is run; the highest peak counts.
        kinds: Which of :data:`~benchmarks.session_files.KINDS`.

    Raises:
        RuntimeError: If a process fails.
    """
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            path = Path(folder) / "session"
            size = write_file(path, kind, size_bytes)
            rows.append(_row(f"{kind}, {size / 1e6:.1f} MB", path, size, runs))
    return Answer(
        "memory",
        f"Peak memory of `trimtab compact` on a {size_bytes / 1e6:g} MB session",
        ("what", "peak, MB", "of the file", "time, s", "json: peak, MB", "json: time, s"),
        tuple(rows),
        f"`trimtab compact FILE --budget {_BUDGET_TOKENS} -o OUT`, whole process; the highest "
        f"peak and the median time of {runs} runs, in turn with `json.loads` + `json.dumps` of "
        "the same file in a process of its own.",
    )


def _row(title: str, path: Path, size: int, runs: int) -> Row:
    out = path.with_suffix(".out")
    budget = ("--budget", str(_BUDGET_TOKENS))
    ours, theirs = [], []
    for _ in range(runs):
        ours.append(measured(_TRIMTAB, "compact", str(path), *budget, "-o", str(out)))
        theirs.append(measured(_JSON, str(path), str(out)))
    peak = max(run.peak_bytes for run in ours)
    cells = (
        title,
        f"{peak / 1e6:.0f}",
        f"{peak / size:.2f} x",
        f"{statistics.median(run.seconds for run in ours):.1f}",
        f"{max(run.peak_bytes for run in theirs) / 1e6:.0f}",
        f"{statistics.median(run.seconds for run in theirs):.1f}",
    )
    return Row(cells, Target(_MOST_BESIDE_FILE, peak / size))


def measured(program: str, *arguments: str) -> Run:
    """Run a program in a process of its own.

    Args:
        program: Python code.
        arguments: What it finds in ``sys.argv[1:]``.

    Raises:
        RuntimeError: If it fails.
    """
    command = [sys.executable, "-c", _LAUNCHER, sys.executable, "-c", program, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak, code = told.stdout.split()
    if int(code) != 0:
        raise RuntimeError(f"a measured process ended with {code}: {told.stderr.strip()}")
    return Run(float(seconds), int(peak))
