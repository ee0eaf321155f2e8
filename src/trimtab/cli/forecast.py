"""``trimtab inspect --forecast``: what was known of each request of a session before it was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rich.console import Console
from rich.text import Text

from trimtab.budget import Limits
from trimtab.cli.source import open_session
from trimtab.cli.tables import Cell, Column, cell, number, show_table
from trimtab.cli.talk import FINE, UsageError, note, print_json, readable, say, screen, working
from trimtab.economy import knows_models, window_of
from trimtab.policy import Policy
from trimtab.replay.forecasts import Forecasted, forecasts
from trimtab.replay.recording import Recording

__all__ = ["run"]

_CHART_LINES = 10
_WIDEST_BAR = 4
"""Columns of the screen for a request of a short session."""

_MARGIN = 18
"""Columns beside the chart, for what its lines are."""

_PARTS = 10_000
"""Errors are told in hundredths of a percent, because every number in the JSON is whole."""

_NOTABLE = 0.05
"""A prediction that is off by more is coloured."""

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def run(file: str, *, request: int | None, budget: int | None, as_json: bool) -> int:
    """Show a session's sizes, predicted and billed.

    Returns:
        0.
    """
    recording = open_session(file, request)
    limits = _limits(recording, budget)
    with working("counting"):
        found = list(forecasts(recording, limits))
    if as_json:
        print_json(_as_json(recording, limits, found))
    else:
        _show(screen(), recording, limits, found)
    return FINE


def _limits(recording: Recording, budget: int | None) -> Limits:
    """Limit and trigger of the model that the session ended with."""
    if budget is not None:
        return Policy().limits(budget)
    model = next((each.model for each in reversed(recording.requests) if each.model), "")
    window = window_of(model) if model else None
    if window is None:
        who = f"of {model} is not known" if model else "is not known: the file names no model"
        raise UsageError(
            f"the window {who}",
            "--budget N names what no request may pass"
            + ("" if knows_models() else "; trimtab[prices] knows many models"),
        )
    return Policy().limits(window.limit_tokens(None))


@dataclass(frozen=True, slots=True)
class _Errors:
    """How far off the predictions were, as shares of what was billed.

    Attributes:
        median: Half were no further off.
        p95: 19 of 20 were no further off.
        count: How many predictions there were.
    """

    median: float
    p95: float
    count: int


def _errors(found: Sequence[Forecasted]) -> _Errors | None:
    """None where nothing was predicted of a request that tells what it was billed."""
    errors = sorted(error for error in (each.error for each in found) if error is not None)
    if not errors:
        return None
    return _Errors(
        median(errors), errors[min(len(errors) - 1, len(errors) * 19 // 20)], len(errors)
    )


# ----------------------------------------------------------------------- JSON


def _as_json(
    recording: Recording, limits: Limits, found: Sequence[Forecasted]
) -> dict[str, object]:
    errors = _errors(found)
    return {
        "kind": recording.kind,
        "session": recording.name,
        "notes": list(recording.notes),
        "limit": limits.limit_tokens,
        "trigger": limits.trigger_tokens,
        "requests": [
            {
                "model": each.model,
                "reported": each.reported,
                "predicted": each.predicted,
                "error": None if each.error is None else round(each.error * _PARTS),
                "forecast": None if each.forecast is None else each.forecast.line,
                "turns_left": None if each.forecast is None else each.forecast.turns_left,
                "affordable_bytes": each.affordable_bytes,
            }
            for each in found
        ],
        "median_error": None if errors is None else round(errors.median * _PARTS),
        "p95_error": None if errors is None else round(errors.p95 * _PARTS),
    }


# --------------------------------------------------------------------- screen


def _show(
    console: Console, recording: Recording, limits: Limits, found: Sequence[Forecasted]
) -> None:
    say(console, (readable(recording.name), "bold"))
    many = "request" if len(found) == 1 else "requests"
    say(console, (f"{recording.kind}, {number(len(found))} {many}", "dim"))
    for told in recording.notes:
        note(told)
    console.print()
    if any(each.reported for each in found):
        _show_chart(console, [each.reported for each in found], limits)
        _show_requests(console, found)
    _show_end(console, limits, found)


def _show_requests(console: Console, found: Sequence[Forecasted]) -> None:
    columns = (
        Column("request", "figure"),
        Column("tokens\nbilled", "figure"),
        Column("said\nbefore", "figure"),
        Column("off", "figure"),
        Column("left to\ntrigger", "figure"),
        Column("a turn\ncosts", "figure"),
        Column("turns\nleft", "figure"),
        Column("tool output\nthat fits", "figure"),
    )
    show_table(console, columns, [_row(place, each) for place, each in enumerate(found, 1)])


def _row(place: int, each: Forecasted) -> Sequence[Cell]:
    forecast = each.forecast
    return (
        place,
        _or_dash(each.reported),
        _or_dash(each.predicted),
        _off(each),
        _or_dash(None if forecast is None else forecast.headroom),
        _or_dash(None if forecast is None else forecast.per_turn),
        _or_dash(None if forecast is None else forecast.turns_left),
        "-" if each.affordable_bytes is None else _size(each.affordable_bytes),
    )


def _or_dash(value: int | None) -> Cell:
    return "-" if value is None else value


def _off(each: Forecasted) -> Cell:
    if each.error is None or each.predicted is None or each.reported is None:
        return "-"
    sign = "+" if each.predicted > each.reported else "-" if each.predicted < each.reported else ""
    words = f"{sign}{each.error:.1%}"
    return cell(words, "yellow") if each.error > _NOTABLE else words


def _size(count: int) -> str:
    """Bytes for people."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:,.0f} kB" if count < 10_000_000 else f"{count / 1_000_000:,.0f} MB"


def _show_end(console: Console, limits: Limits, found: Sequence[Forecasted]) -> None:
    last = next((each.forecast for each in reversed(found) if each.forecast), None)
    limit, trigger = number(limits.limit_tokens), number(limits.trigger_tokens)
    say(console, f"limit {limit} tokens, a compaction is planned from {trigger}")
    if last is None:
        say(console, "the file does not say what was billed, so nothing can be predicted")
        return
    errors = _errors(found)
    if errors is not None:
        many = "prediction" if errors.count == 1 else "predictions"
        say(
            console,
            (f"{number(errors.count)} {many}", "bold"),
            f": half off by at most {errors.median:.2%} of the request, "
            f"19 of 20 by at most {errors.p95:.2%}",
        )
    say(console, (last.line, "bold"))


# ---------------------------------------------------------------------- chart


def _show_chart(console: Console, sizes: Sequence[int | None], limits: Limits) -> None:
    """Sizes as bars, and where limit and trigger lie."""
    largest = max(size or 0 for size in sizes)
    marks = {limits.trigger_tokens: ("trigger", "yellow"), limits.limit_tokens: ("limit", "red")}
    top = next((mark for mark in sorted(marks) if mark >= largest), largest)
    bars = _bars([size or 0 for size in sizes], max(8, console.width - _MARGIN))
    is_plain = console.options.ascii_only
    for line in range(_CHART_LINES, 0, -1):
        low, high = top * (line - 1) / _CHART_LINES, top * line / _CHART_LINES
        mark = next((mark for mark in sorted(marks) if low < mark <= high), None)
        console.print(_chart_line(bars, (low, high), marks.get(mark or 0), mark, is_plain=is_plain))
    console.print()


def _bars(sizes: Sequence[int], columns: int) -> list[int]:
    """One size a column of the screen: several columns for a request, or several requests for one."""
    if len(sizes) <= columns:
        return [size for size in sizes for _ in range(min(_WIDEST_BAR, columns // len(sizes)))]
    bounds = [len(sizes) * place // columns for place in range(columns + 1)]
    return [max(sizes[start:stop]) for start, stop in pairwise(bounds)]


def _chart_line(
    bars: Sequence[int],
    between: tuple[float, float],
    told: tuple[str, str] | None,
    mark: int | None,
    *,
    is_plain: bool,
) -> Text:
    low, high = between
    text = Text(no_wrap=True, overflow="crop")
    rule = ("-" if is_plain else "╌") if told else " "
    for bar in bars:
        eighths = round(8 * (bar - low) / (high - low))
        if eighths <= 0:
            text.append(rule, told[1] if told else "")
        elif is_plain:
            text.append("#" if eighths >= 4 else rule)
        else:
            text.append(_EIGHTHS[min(8, eighths)], "cyan")
    if told and mark is not None:
        text.append(f" {told[0]} {_thousands(mark)}", told[1])
    text.rstrip()
    return text


def _thousands(tokens: int) -> str:
    return f"{tokens // 1000}k" if tokens >= 1000 else f"{tokens}"
