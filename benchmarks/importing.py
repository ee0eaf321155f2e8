"""How long does ``import trimtab`` take?

Beside it: ``import json``. Each in a new process, timed inside it, so that the
start of the interpreter does not count; for the command line it does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter

from benchmarks.figures import Answer, Row, Timing, ratio

__all__ = ["answer"]

_MODULES = ("json", "msgspec", "trimtab")
_TIMED = "from time import perf_counter as now; start = now(); import {}; print(now() - start)"
_PROCESSES = {
    "python -c pass": "pass",
    "trimtab --version": (
        "import sys; sys.argv[1:] = ['--version']; from trimtab.cli.main import main; main()"
    ),
}


def answer(
    *,
    runs: int = 15,
    modules: Sequence[str] = _MODULES,
    processes: Mapping[str, str] = _PROCESSES,
) -> Answer:
    """Measure it.

    Args:
        runs: How often each is timed.
        modules: What is imported; the first is what the others are held against.
        processes: Programs that are timed from start to end, by name.
    """
    for module in modules:
        _import(module)  # compiles what is not compiled yet
    taken: dict[str, list[float]] = {name: [] for name in (*modules, *processes)}
    for _ in range(runs):
        for module in modules:
            taken[module].append(_import(module))
        for process, program in processes.items():
            taken[process].append(_process(program))
    times = {name: Timing(tuple(seconds)) for name, seconds in taken.items()}
    rows = [
        Row((f"`import {name}`", times[name].in_ms, f"{ratio(times[name], times[modules[0]]):.1f}"))
        for name in modules
    ]
    rows += [Row((f"`{name}`, whole process", times[name].in_ms, "")) for name in processes]
    return Answer(
        "importing",
        "Importing",
        ("what", "time, ms", f"beside `import {modules[0]}`"),
        tuple(rows),
        f"Fastest / median of {runs} new processes each, in turn; files are compiled and cached.",
    )


def _import(module: str) -> float:
    told = subprocess.run(
        [sys.executable, "-c", _TIMED.format(module)], capture_output=True, text=True, check=True
    )
    return float(told.stdout)


def _process(program: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return perf_counter() - start
