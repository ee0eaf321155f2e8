"""What does it cost to ask and feed a context tracker?"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.figures import Answer, Row, Target, Timing, interleaved
from trimtab import ContextTracker

__all__ = ["answer"]

_MOST_MICROSECONDS = 5.0
_CALLS = 1_000
"""In one run."""


def answer(*, runs: int = 25) -> Answer:
    """Measure it.

    Args:
        runs: How often a thousand calls are timed.
    """
    calls = {
        **_calls("bytes alone", is_told=False),
        **_calls("counts and answer told", is_told=True),
    }
    times = interleaved(runs, {name: _repeated(call) for name, call in calls.items()})
    return Answer(
        "tracking",
        "Asking and feeding a context tracker",
        ("what", "fastest / median, µs"),
        tuple(_row(name, timing) for name, timing in times.items()),
        f"`trimtab.ContextTracker`, {_CALLS:,} calls a run, {runs} runs. The target is for the "
        "fastest, in microseconds a call.",
    )


def _calls(name: str, *, is_told: bool) -> dict[str, Callable[[], object]]:
    tracker = ContextTracker()
    told = {"counted": 9_000} if is_told else {}
    billed = {"output_tokens": 300, "reasoning_tokens": 90} if is_told else {}

    def observe() -> None:
        tracker.observe(12_000, 30_000, **billed, **told)

    for _ in range(6):
        observe()
        if is_told:
            tracker.answered(900, counted=280)
    return {
        f"`predict`, {name}": lambda: tracker.predict(33_000, **told),
        f"`over`, {name}": lambda: tracker.over(90_000, 33_000, **told),
        f"`forecast`, {name}": lambda: tracker.forecast(90_000, 33_000, **told),
        f"`observe`, {name}": observe,
    }


def _repeated(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(_CALLS):
            call()

    return run


def _row(name: str, timing: Timing) -> Row:
    fastest, median = (1e6 * seconds / _CALLS for seconds in (timing.fastest, timing.median))
    return Row((name, f"{fastest:.2f} / {median:.2f}"), Target(_MOST_MICROSECONDS, fastest))
