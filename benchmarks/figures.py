"""Measure: several things in turn, and what of it is worth a line in a table.

The law of this file: what is compared was measured in the same minutes. Runs
go A B C A B C, so a machine that slows down for a while slows down all of
them, and a ratio is taken between neighbours.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter

__all__ = ["Answer", "Row", "Target", "Timing", "interleaved", "ratio"]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long each run of one thing took, in seconds, in the order of the runs."""

    seconds: tuple[float, ...]

    @property
    def fastest(self) -> float:
        """The run that was disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The run in the middle."""
        return statistics.median(self.seconds)

    @property
    def in_ms(self) -> str:
        """Fastest and median in milliseconds, for a table."""
        return f"{self.fastest * 1e3:.2f} / {self.median * 1e3:.2f}"


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure must not pass.

    Attributes:
        most: The highest value that still meets it.
        reached: The value that was measured.
    """

    most: float
    reached: float

    @property
    def is_met(self) -> bool:
        """Whether the value lies at or below the target."""
        return self.reached <= self.most


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        cells: What stands in it, one a column.
        target: What it is held to; None for a figure that is only reported.
    """

    cells: tuple[str, ...]
    target: Target | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What one benchmark found.

    Attributes:
        name: The file that asks, as ``run.py`` takes it.
        question: What it asks, in a sentence.
        columns: Names of the columns; ``target`` and ``met`` follow by themselves.
        rows: The figures.
        note: What a reader must know to read them, in Markdown.
    """

    name: str
    question: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str


def interleaved(runs: int, things: Mapping[str, Callable[[], object]]) -> dict[str, Timing]:
    """Time several things in turn, after one run of each that does not count.

    The garbage collector runs before each and not during it: what it costs
    depends on what else lives in the process. This favours whatever makes
    many objects, such as a JSON parser.

    Args:
        runs: How often each is timed.
        things: What is timed, by name.
    """
    for thing in things.values():
        thing()
    seconds: dict[str, list[float]] = {name: [] for name in things}
    was_enabled = gc.isenabled()
    try:
        for _ in range(runs):
            for name, thing in things.items():
                gc.collect()
                gc.disable()
                start = perf_counter()
                thing()
                seconds[name].append(perf_counter() - start)
                gc.enable()
    finally:
        (gc.enable if was_enabled else gc.disable)()
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}


def ratio(ours: Timing, theirs: Timing) -> float:
    """The median of the ratios between neighbouring runs."""
    return statistics.median(
        mine / other for mine, other in zip(ours.seconds, theirs.seconds, strict=True)
    )
