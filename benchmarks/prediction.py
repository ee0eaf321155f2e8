"""How well is the next request's size known before it is sent?

Over recorded sessions that tell what was billed. Beside trimtab's rules: the
plain ways, and how other packages do it, rebuilt in a few lines from their
documentation::

    python benchmarks/prediction.py PATH    the tables for your own sessions
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Protocol
from unittest.mock import patch

# A script sees its own folder; the others are imported by the names that type checkers know.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks.figures import Answer, Row, Target
from benchmarks.series import Series, Size, Step, recorded
from benchmarks.tables import machine, show
from trimtab import ContextTracker, surface_fingerprint
from trimtab.tracker import tracker

__all__ = ["announcing", "answer", "deciding", "remembering", "surprises"]

Percent = float

_COLUMNS = (
    "sessions",
    "rule",
    "requests",
    "median, %",
    "p95, %",
    "worst, %",
    "of the new part: median, %",
    "p95, %",
    "too low by over 1 %, %",
    "lowest, %",
)

_NEAR = range(1, 6)
"""Percent around a request's size at which limits are set."""

_LEADS = (1, 2, 5, 10, 20)
"""Turns before a limit is reached at which the forecast is looked at."""

_SHARES = (30, 50, 70, 90)
"""Of the largest request of a session, in percent: where limits are set for that."""

_MUCH = 0.1
"""A list that lost this share of its weight was compacted."""


def data() -> Path:
    """Where the recorded sessions lie."""
    return Path(os.environ.get("TRIMTAB_SHARED", "../shared")) / "data"


# ---------------------------------------------------------------------- rules


class Rule(Protocol):
    """A way to know the next size."""

    def predict(self, step: Step) -> int | None:
        """Tokens of a request, from what was billed before it; None where it cannot be told."""
        ...

    def observe(self, step: Step) -> None:
        """What was billed for it is known now."""
        ...


class Tracker:
    """trimtab's, told more or less.

    Args:
        count: Which count of the messages it is told; None for none.
        is_told_answer: Whether it is told the answer's bill and size.
    """

    def __init__(
        self, count: Callable[[Size], int] | None = None, *, is_told_answer: bool = True
    ) -> None:
        self.tracker = ContextTracker()
        self._count = count
        self._is_told_answer = is_told_answer

    def prepare(self, step: Step) -> None:
        """Tell what is known before the request is sent."""
        self.tracker.carry_into(surface_fingerprint(step.model, None, None))
        if self._is_told_answer:
            self.tracker.answered(step.answer.bytes, counted=self.counted(step.answer))
        if step.is_cut:
            self.tracker.invalidate()

    def counted(self, size: Size) -> int | None:
        """The count that it is told."""
        return self._count(size) if self._count else None

    def predict(self, step: Step) -> int | None:
        self.prepare(step)
        return self.tracker.predict(step.whole.bytes, counted=self.counted(step.whole))

    def observe(self, step: Step) -> None:
        self.tracker.carry_into(surface_fingerprint(step.model, None, None))
        told = step.usage.output if self._is_told_answer else None
        self.tracker.observe(
            step.tokens,
            step.whole.bytes,
            output_tokens=told,
            reasoning_tokens=step.usage.reasoning if self._is_told_answer else 0,
            counted=self.counted(step.whole),
        )


class Counting:
    """Count the whole request, as far as the recording holds it; nothing is learned."""

    def __init__(self, count: Callable[[Step], int]) -> None:
        self._count = count

    def predict(self, step: Step) -> int | None:
        return self._count(step)

    def observe(self, step: Step) -> None:
        pass


class FromLast:
    """Start from the last bill: base of all that do."""

    def __init__(self) -> None:
        self.last: Step | None = None

    def predict(self, step: Step) -> int | None:
        return None if self.last is None else self.after(self.last, step)

    def after(self, last: Step, step: Step) -> int:  # noqa: ARG002 - the next ones look at it
        return last.tokens

    def observe(self, step: Step) -> None:
        if self.last is not None:
            self.learn(self.last, step)
        self.last = step

    def learn(self, last: Step, step: Step) -> None:
        """Nothing."""


class Reference(FromLast):
    """Last bill, last output, and new bytes at a ratio of the session between 2 and 8."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = self._tokens = 0
        self._ratio = 4.0

    def _new(self, last: Step, step: Step) -> int:
        return max(0, step.whole.bytes - last.whole.bytes - step.answer.bytes)

    def after(self, last: Step, step: Step) -> int:
        return last.tokens + last.usage.output + int(self._new(last, step) / self._ratio)

    def learn(self, last: Step, step: Step) -> None:
        new, gained = self._new(last, step), step.tokens - last.tokens - last.usage.output
        if new > 200 and gained > 20:
            self._bytes += new
            self._tokens += gained
            self._ratio = min(8.0, max(2.0, self._bytes / self._tokens))


class Strands(FromLast):
    """Last bill, last output, and a token for 4 characters of what came after the answer."""

    def after(self, last: Step, step: Step) -> int:
        return last.tokens + last.usage.output + step.rest.characters // 4


class LangChain(FromLast):
    """A token for 4 characters and 3 a message, scaled by the last total: 1 to 1.25 times."""

    def after(self, last: Step, step: Step) -> int:
        then = _approximately(last.whole) + _approximately(step.answer)
        scale = (last.tokens + last.usage.output) / max(1, then)
        return int(_approximately(step.whole) * min(1.25, max(1.0, scale)))


def _approximately(size: Size) -> int:
    return size.characters // 4 + 3 * size.messages


OURS = "trimtab, counted"
REFERENCE = "reference rule"
RULES: Mapping[str, Callable[[], Rule]] = {
    OURS: lambda: Tracker(lambda size: size.counted),
    "trimtab, by characters": lambda: Tracker(lambda size: size.by_characters),
    "trimtab, bytes and answer": Tracker,
    "trimtab, bytes alone": lambda: Tracker(is_told_answer=False),
    REFERENCE: Reference,
    "Strands": Strands,
    "LangChain": LangChain,
    "last as next": FromLast,
    "o200k of all": lambda: Counting(lambda step: step.whole.o200k + step.surface),
    "characters / 4": lambda: Counting(
        lambda step: step.whole.characters // 4 + step.surface  # the surface as counted
    ),
}
_BY_KIND = (OURS, "trimtab, bytes and answer", REFERENCE)


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and what was said of it before.

    Attributes:
        last: Tokens of the one before it.
        tokens: What it was billed.
        predicted: What was said.
        is_compacted: Whether its list lost much against the one before.
    """

    last: int
    tokens: int
    predicted: int
    is_compacted: bool

    @property
    def error(self) -> Percent:
        """As a share of the request."""
        return 100 * abs(self.predicted - self.tokens) / self.tokens

    @property
    def new_error(self) -> Percent | None:
        """As a share of what it grew by; None where it did not grow."""
        grown = self.tokens - self.last
        return 100 * abs(self.predicted - self.tokens) / grown if grown > 0 else None

    @property
    def low(self) -> Percent:
        """By how much it was larger than said, as a share of it; below 0 where it was smaller."""
        return 100 * (self.tokens - self.predicted) / self.tokens


def pairs(series: Series, make: Callable[[], Rule]) -> Iterator[Pair]:
    """What a rule says of each request of a session that has one of the same model before it."""
    rule = make()
    for last, step in pairwise((None, *series.steps)):
        assert step is not None
        predicted = rule.predict(step)
        if last is not None and predicted is not None and last.model == step.model:
            yield Pair(last.tokens, step.tokens, predicted, _is_compacted(last, step))
        rule.observe(step)


def _is_compacted(last: Step, step: Step) -> bool:
    return step.is_cut and step.whole.counted < (1 - _MUCH) * last.whole.counted


def _at(share: float, values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


# ------------------------------------------------------------------- accuracy


def answer(*, path: Path | None = None) -> Answer:
    """Measure the errors.

    Args:
        path: Where the sessions lie; None for :func:`data`.
    """
    sessions = recorded(path or data())
    kinds = sorted({series.kind for series in sessions})
    rows = [
        row
        for kind in kinds
        for row in _rows(kind, [each for each in sessions if each.kind == kind], _BY_KIND)
    ]
    rows += _rows("all", sessions, tuple(RULES))
    return Answer(
        "prediction",
        "The size of the next request, before it is sent",
        _COLUMNS,
        tuple(rows),
        "Errors as a share of what was billed for the request, and of what it grew by against the "
        "one before. *counted*: told what the best offline counter makes of the messages, and what "
        "the answer was billed; *by characters*: the same without a vocabulary. *reference rule*: "
        "last bill, last output, new bytes at a ratio of the session. Strands and LangChain are "
        "rebuilt from their documentation. What was counted whole lacks what a log does not hold, "
        "system prompt and tools above all. After a change of the model nothing is predicted. "
        "The target is the reference rule's p95; of all sessions, 10 % of the new part in the median.",
    )


def _rows(name: str, sessions: Sequence[Series], rules: Sequence[str]) -> list[Row]:
    found = {rule: [p for each in sessions for p in pairs(each, RULES[rule])] for rule in rules}
    found = {rule: told for rule, told in found.items() if told}
    reference = _at(0.95, [pair.error for pair in found.get(REFERENCE, [])] or [0.0])
    return [_row(name, rule, told, reference) for rule, told in found.items()]


def _row(name: str, rule: str, told: Sequence[Pair], reference: Percent) -> Row:
    errors = [pair.error for pair in told]
    new = [error for error in (pair.new_error for pair in told) if error is not None] or [0.0]
    lows = [pair.low for pair in told]
    cells = (
        name,
        rule,
        f"{len(told):,}",
        f"{median(errors):.2f}",
        f"{_at(0.95, errors):.2f}",
        f"{max(errors):.1f}",
        f"{median(new):.1f}",
        f"{_at(0.95, new):.0f}",
        f"{100 * sum(low > 1 for low in lows) / len(lows):.1f}",
        f"{max(lows):.1f}",
    )
    if rule != OURS:
        return Row(cells)
    return Row(
        cells, Target(10.0, median(new)) if name == "all" else Target(reference, _at(0.95, errors))
    )


# ------------------------------------------------------------------ decisions


def deciding(*, path: Path | None = None) -> Answer:
    """Measure how often a limit near the request's size is judged wrongly.

    Args:
        path: Where the sessions lie; None for :func:`data`.
    """
    sessions = recorded(path or data())
    rules: dict[str, Callable[[], Judge]] = {
        f"{OURS}: `over`": lambda: Over(RULES[OURS]()),
        **{
            f"{OURS}: `upper` at {share}": partial(Upper, RULES[OURS], share)
            for share in (0.5, 0.9, 0.99)
        },
        "trimtab, bytes and answer: `over`": lambda: Over(RULES["trimtab, bytes and answer"]()),
        "trimtab, bytes alone: `over`": lambda: Over(RULES["trimtab, bytes alone"]()),
        **{rule: partial(Plain, RULES[rule]) for rule in (REFERENCE, "Strands", "LangChain")},
        "last as next": partial(Plain, RULES["last as next"]),
    }
    return Answer(
        "deciding",
        "Limits within 5 % of a request's size: is it seen that it passes them?",
        ("rule", "passed unseen", "of", "%", "stopped needlessly", "of", "%"),
        tuple(_decisions(rule, make, sessions) for rule, make in rules.items()),
        "For each request, limits of 1 to 5 % below its size, which it passes, and of 1 to 5 % "
        "above it; only those that the request before did not reach, because those are seen by all.",
    )


class Judge(Protocol):
    """Says whether a request passes a limit."""

    def over(self, step: Step, limit: int) -> bool:
        """Before it is sent."""
        ...

    def observe(self, step: Step) -> None:
        """What was billed for it is known now."""
        ...


class Plain:
    """By a rule's prediction."""

    def __init__(self, make: Callable[[], Rule]) -> None:
        self._rule = make()

    def over(self, step: Step, limit: int) -> bool:
        predicted = self._rule.predict(step)
        return predicted is not None and predicted >= limit

    def observe(self, step: Step) -> None:
        self._rule.observe(step)


class Over:
    """By the tracker's own decision."""

    def __init__(self, rule: Rule) -> None:
        assert isinstance(rule, Tracker)
        self._rule = rule

    def over(self, step: Step, limit: int) -> bool:
        self._rule.prepare(step)
        size = step.whole
        return self._rule.tracker.over(limit, size.bytes, counted=self._rule.counted(size))

    def observe(self, step: Step) -> None:
        self._rule.observe(step)


class Upper(Over):
    """By its upper bound at a confidence."""

    def __init__(self, make: Callable[[], Rule], confidence: float) -> None:
        super().__init__(make())
        self._confidence = confidence

    def over(self, step: Step, limit: int) -> bool:
        self._rule.prepare(step)
        bound = self._rule.tracker.upper(
            step.whole.bytes,
            counted=self._rule.counted(step.whole),
            confidence=self._confidence,
        )
        return bound is not None and bound >= limit


def _decisions(name: str, make: Callable[[], Judge], sessions: Sequence[Series]) -> Row:
    unseen = passed = needless = fitted = 0
    for series in sessions:
        judge = make()
        for last, step in pairwise((None, *series.steps)):
            assert step is not None
            if last is not None and last.model == step.model:
                for percent in _NEAR:
                    below, above = (step.tokens * (100 + by) // 100 for by in (-percent, percent))
                    if last.tokens < below:
                        passed += 1
                        unseen += not judge.over(step, below)
                    if last.tokens < above:
                        fitted += 1
                        needless += judge.over(step, above)
            judge.observe(step)
    cells = (
        name,
        f"{unseen:,}",
        f"{passed:,}",
        f"{100 * unseen / max(1, passed):.1f}",
        f"{needless:,}",
        f"{fitted:,}",
        f"{100 * needless / max(1, fitted):.2f}",
    )
    return Row(cells, Target(0.0, float(unseen)) if name.endswith("counted: `over`") else None)


# ------------------------------------------------- what the upper bound is made of


def surprises(*, path: Path | None = None) -> Answer:
    """Measure by how much requests are larger than predicted, and when.

    Args:
        path: Where the sessions lie; None for :func:`data`.
    """
    sessions = recorded(path or data())
    told = {
        rule: [pair for each in sessions for pair in pairs(each, RULES[rule])]
        for rule in (OURS, "trimtab, bytes and answer", REFERENCE)
    }
    rows = []
    for rule, found in told.items():
        cut = [pair for pair in found if pair.is_compacted]
        for where, some in (
            ("everywhere", found),
            ("right after a compaction", cut),
            ("elsewhere", [pair for pair in found if not pair.is_compacted]),
        ):
            if some:
                rows.append(_surprise_row(rule, where, some))
    return Answer(
        "surprises",
        "By how much requests are larger than predicted",
        ("rule", "where", "requests", "error, median, %", "p95, %", "50 %", "90 %", "95 %", "99 %"),
        tuple(rows),
        "The last four columns: the share of the predicted change and 512 tokens that so many "
        "requests did not pass on top of what was predicted; `upper` adds them. A compaction: the "
        f"list lost more than {_MUCH:.0%} of its weight.",
    )


def _surprise_row(rule: str, where: str, some: Sequence[Pair]) -> Row:
    shares = [
        (pair.tokens - pair.predicted) / (abs(pair.predicted - pair.last) + 512) for pair in some
    ]
    errors = [pair.error for pair in some]
    return Row(
        (
            rule,
            where,
            f"{len(some):,}",
            f"{median(errors):.2f}",
            f"{_at(0.95, errors):.2f}",
            *(f"{_at(share, shares):.2f}" for share in (0.5, 0.9, 0.95, 0.99)),
        )
    )


def remembering(*, path: Path | None = None) -> Answer:
    """Measure how much of what was learned should be kept at each turn.

    Args:
        path: Where the sessions lie; None for :func:`data`.
    """
    sessions = recorded(path or data())
    rows = []
    for kept, of in ((1, 2), (4, 5), (9, 10), (19, 20), (1, 1)):
        with patch.object(tracker, "KEPT", (kept, of)):
            row = _row("all", "", [p for each in sessions for p in pairs(each, RULES[OURS])], 0.0)
        cells = (f"{kept}/{of}", *row.cells[2:])
        rows.append(Row(cells))
    return Answer(
        "remembering",
        "How much of what was learned is kept at each turn",
        ("kept", *_COLUMNS[2:]),
        tuple(rows),
        "trimtab told counts and the answer's bill, over all sessions; it keeps 9/10.",
    )


# ------------------------------------------------------------------- forecasts


def announcing(*, path: Path | None = None) -> Answer:
    """Measure how many turns ahead a limit is announced.

    Args:
        path: Where the sessions lie; None for :func:`data`.
    """
    sessions = recorded(path or data())
    told: dict[int, list[int | None]] = {lead: [] for lead in _LEADS}
    for series in sessions:
        largest = max(step.tokens for step in series.steps)
        for share in _SHARES:
            for lead, turns in _announced(series, largest * share // 100):
                told[lead].append(turns)
    return Answer(
        "announcing",
        "How many turns are left, as the forecast tells it",
        ("turns before the limit", "times", "no pace yet", "told, median", "told, p5", "told, p95"),
        tuple(_lead_row(lead, turns) for lead, turns in told.items()),
        f"Limits at {', '.join(map(str, _SHARES))} % of the largest request of each session; the "
        "turn in which a request first reaches one is 0 turns before it. The forecast goes by the "
        "mean of the turns that grew among the last five observations.",
    )


def _announced(series: Series, limit: int) -> Iterator[tuple[int, int | None]]:
    """For some turns before the first request that reaches a limit: the turns that were told."""
    reached = next(place for place, step in enumerate(series.steps) if step.tokens >= limit)
    rule = RULES[OURS]()
    assert isinstance(rule, Tracker)
    for place, step in enumerate(series.steps[:reached]):
        rule.prepare(step)
        rule.observe(step)
        if reached - place in _LEADS:
            size = step.whole
            forecast = rule.tracker.forecast(limit, size.bytes, counted=rule.counted(size))
            assert forecast is not None
            yield reached - place, forecast.turns_left


def _lead_row(lead: int, told: Sequence[int | None]) -> Row:
    turns = [each for each in told if each is not None] or [0]
    cells = (len(told), told.count(None), int(median(turns)), _at(0.05, turns), _at(0.95, turns))
    return Row((f"{lead}", *(f"{cell:,}" for cell in cells)))


def main(arguments: Sequence[str]) -> None:
    """Print the tables for the sessions below a path."""
    path = Path(arguments[0]) if arguments else data()
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 160
    out.print(machine(), end="\n\n", style="dim")
    for ask in (answer, deciding, surprises, remembering, announcing):
        show(ask(path=path), out)


if __name__ == "__main__":
    main(sys.argv[1:])
