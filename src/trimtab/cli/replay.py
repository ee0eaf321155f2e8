"""``trimtab replay``: run recorded sessions through the engine and show what would have been sent."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from trimtab.cli.recordings import named, nothing_found, read_file
from trimtab.cli.tables import Cell, Column, cell, number, percent, show_table
from trimtab.cli.talk import FINE, NOT_FINE, note, print_json, readable, say, screen
from trimtab.policy import Policy
from trimtab.replay.driver import LeftOut, ReplayedRequest, SessionReport, Totals, replay
from trimtab.replay.paths import files_in
from trimtab.replay.recording import Recording

__all__ = ["run"]

_LEAST_NAME = 16
"""Columns of the screen for the name of a session, however little room there is."""

_MOST_EXACT = 9_999_999
"""Tokens in all; where there are more, the tables tell thousands, so that they fit the screen."""


@dataclass(frozen=True, slots=True)
class _Replay:
    """All that was replayed.

    Attributes:
        sessions: Each with the file that it was in.
        skipped: Files that hold no recording, with the reason why.
    """

    sessions: Sequence[tuple[Path, SessionReport]]
    skipped: Mapping[Path, str]

    @property
    def reports(self) -> list[SessionReport]:
        return [report for _, report in self.sessions]

    @property
    def totals(self) -> Totals:
        return Totals.of([request for report in self.reports for request in report.requests])


def run(paths: Sequence[str], *, budget: int | None, as_json: bool) -> int:
    """Replay recorded sessions.

    Returns:
        0; 1 if a request that came in valid would have been sent invalid, or
        no request could be replayed.
    """
    listed = named(
        paths,
        "recording",
        "name files or folders; session stores of agents are not looked for yet",
    )
    replayed = _replay(files_in(listed), Policy(limit_tokens=budget))
    totals = replayed.totals
    if as_json:
        print_json(_as_json(replayed, totals, budget))
    else:
        _show(screen(), replayed, totals, budget, listed)
    return _code(totals)


def _code(totals: Totals) -> int:
    return FINE if totals.requests and not totals.made_invalid else NOT_FINE


# --------------------------------------------------------------------- replay


def _replay(found: Sequence[Path], policy: Policy) -> _Replay:
    """Replay what is in some files, one file in memory at a time.

    Raises:
        RequestError: If none of them holds a recording.
    """
    sessions: list[tuple[Path, SessionReport]] = []
    skipped: dict[Path, str] = {}
    with _progress(len(found)) as tell:
        for place, file in enumerate(found):
            tell(_Step(place, len(found)))
            recordings = read_file(file)
            if isinstance(recordings, str):
                skipped[file] = recordings
                continue
            for session, recording in enumerate(recordings):
                step = _Step(place, len(found), session, len(recordings))
                results = _told(recording, policy, step, tell)
                sessions.append((file, SessionReport.of(recording, results)))
    if not sessions:
        raise nothing_found(skipped)
    return _Replay(sessions, skipped)


# ------------------------------------------------------------------- progress


@dataclass(frozen=True, slots=True)
class _Step:
    """How far it has come.

    Attributes:
        file: Place of the file, from 0.
        files: How many there are.
        session: Place of the session in the file, from 0.
        sessions: How many the file has.
        done: Requests of the session that are done.
        requests: How many it has; 0 while that is not known.
    """

    file: int
    files: int
    session: int = 0
    sessions: int = 1
    done: int = 0
    requests: int = 0

    @property
    def words(self) -> str:
        """Such as ``file 3 of 13, request 17 of 40``: what there is one of is not counted."""
        told = [f"file {self.file + 1} of {self.files}"] if self.files > 1 else []
        if self.sessions > 1:
            told.append(f"session {self.session + 1} of {self.sessions}")
        told.append(f"request {self.done} of {self.requests}" if self.requests else "reading")
        return ", ".join(told)

    @property
    def files_done(self) -> float:
        """How many files are done, with the share of the one at hand."""
        sessions_done = self.session + self.done / max(1, self.requests)
        return self.file + sessions_done / self.sessions


_Tell: TypeAlias = Callable[[_Step], None]


@contextmanager
def _progress(files: int) -> Iterator[_Tell]:
    """Show on a terminal how far it has come, until it is done."""
    console = screen(stderr=True)
    if not (console.is_interactive and sys.stderr.isatty()):
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading", total=files)
        yield lambda step: progress.update(task, description=step.words, completed=step.files_done)


def _told(
    recording: Recording, policy: Policy, step: _Step, tell: _Tell
) -> Iterator[ReplayedRequest | LeftOut]:
    """Replay a session and tell after each request how far it has come."""
    requests = len(recording.requests)
    for done, result in enumerate(replay(recording, policy)):
        yield result
        tell(replace(step, requests=requests, done=done + 1))


# ----------------------------------------------------------------------- JSON


def _as_json(replayed: _Replay, totals: Totals, budget: int | None) -> dict[str, object]:
    return {
        "budget": budget,
        "sessions": [
            {
                "file": str(file),
                "kind": report.kind,
                "session": report.name,
                "unrecorded": sorted(report.unrecorded),
                "notes": list(report.notes),
                **_totals_json(report.totals),
                "left_out": [
                    {"reason": reason, "requests": requests}
                    for reason, requests in report.reasons.items()
                ],
            }
            for file, report in replayed.sessions
        ],
        "skipped": [
            {"file": str(file), "reason": reason} for file, reason in replayed.skipped.items()
        ],
        "total": _totals_json(totals),
    }


def _totals_json(totals: Totals) -> dict[str, object]:
    return {
        "requests": totals.requests,
        "tokens_before": totals.tokens_before,
        "tokens_after": totals.tokens_after,
        "peak": totals.peak_tokens,
        "peak_limit": totals.peak_limit_tokens,
        "changed": totals.changed,
        "compactions": totals.compactions,
        "breaks": totals.breaks,
        "breaks_by_cause": dict(totals.breaks_by_cause),
        "unmet": totals.unmet,
        "unsatisfiable": totals.unsatisfiable,
        "invalid_before": totals.invalid_before,
        "invalid_after": totals.invalid_after,
        "made_invalid": totals.made_invalid,
        "rewrite_median_ms": _milliseconds(totals.rewrite_median_seconds),
        "rewrite_most_ms": _milliseconds(totals.rewrite_most_seconds),
        "counters": list(totals.counters),
    }


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


# --------------------------------------------------------------------- report


def _show(
    console: Console,
    replayed: _Replay,
    totals: Totals,
    budget: int | None,
    named: Sequence[Path],
) -> None:
    _show_notes(replayed, named)
    _show_head(console, replayed, totals, budget)
    rows = [(report.name, report.totals) for report in replayed.reports if report.requests]
    if rows:
        _show_tokens(console, rows, totals)
        _show_care(console, rows, totals)
    if totals.breaks:
        _show_breaks(console, rows, totals)
    if any(report.left_out for report in replayed.reports):
        _show_left_out(console, replayed.reports)
    _show_verdict(console, totals)


def _show_notes(replayed: _Replay, named: Sequence[Path]) -> None:
    """Say what the readers skipped; of files that were not named themselves, how many."""
    for file, reason in replayed.skipped.items():
        if file in named:
            note(reason)
    others = sum(file not in named for file in replayed.skipped)
    if others:
        note(
            f"skipped {_counted(others, 'file')} without a recording that is known; --json says why"
        )
    unrecorded = frozenset[str]().union(*(report.unrecorded for report in replayed.reports))
    if unrecorded:
        missing = ", ".join(sorted(unrecorded))
        note(f"recordings do not hold these, so their tokens are not counted: {missing}")
    guessed = sum(bool(report.notes) for report in replayed.reports)
    if guessed:
        told = _counted(guessed, "session")
        note(f"in {told} something was skipped or had to be guessed; --json says what")


def _show_head(console: Console, replayed: _Replay, totals: Totals, budget: int | None) -> None:
    what = f"{_counted(len(replayed.reports), 'session')}, {_counted(totals.requests, 'request')}"
    left_out = sum(len(report.left_out) for report in replayed.reports)
    say(console, (what, "bold"), f", {number(left_out)} left out" if left_out else "")
    limit = "that of each model's window" if budget is None else f"{number(budget)} tokens"
    counted = f", counted by {', '.join(totals.counters)}" if totals.counters else ""
    say(console, f"limit: {limit}{counted}")
    console.print()


_Rows: TypeAlias = Sequence[tuple[str, Totals]]
_Figures: TypeAlias = Callable[[Totals], tuple[str | int, ...]]
"""What a table tells of a session, or of all."""


def _show_tokens(console: Console, rows: _Rows, totals: Totals) -> None:
    largest = max(totals.tokens_before, totals.tokens_after)
    unit, word = (1, "tokens") if largest <= _MOST_EXACT else (1_000, "k tokens")
    columns = (
        Column("requests", "figure"),
        Column("changed", "figure"),
        Column(f"{word}\ncame", "figure"),
        Column(f"{word}\nsent", "figure"),
        Column("saved", "figure"),
        Column("peak of\nlimit", "figure"),
    )

    def figures(told: Totals) -> tuple[str | int, ...]:
        return (
            told.requests,
            told.changed,
            round(told.tokens_before / unit),
            round(told.tokens_after / unit),
            percent(told.tokens_before - told.tokens_after, max(1, told.tokens_before)),
            percent(told.peak_tokens, told.peak_limit_tokens),
        )

    _show_sessions(console, columns, figures, rows, totals)


def _show_care(console: Console, rows: _Rows, totals: Totals) -> None:
    columns = (
        Column("compactions", "figure"),
        Column("over\nlimit", "figure"),
        Column("invalid\ncame", "figure"),
        Column("invalid\nsent", "figure"),
        Column("ms\nmedian", "figure"),
        Column("ms\nmost", "figure"),
    )

    def figures(told: Totals) -> tuple[str | int, ...]:
        return (
            told.compactions,
            told.over_limit,
            told.invalid_before,
            told.invalid_after,
            _milliseconds(told.rewrite_median_seconds),
            _milliseconds(told.rewrite_most_seconds),
        )

    _show_sessions(console, columns, figures, rows, totals)


def _show_breaks(console: Console, rows: _Rows, totals: Totals) -> None:
    def figures(told: Totals) -> tuple[str | int, ...]:
        causes = told.breaks_by_cause.items()
        words = (f"{cause.replace('_', ' ')} {number(count)}" for cause, count in causes)
        return (told.breaks, ", ".join(words))

    columns = (Column("breaks", "figure"), Column("causes", "words"))
    broken = [(name, told) for name, told in rows if told.breaks]
    _show_sessions(console, columns, figures, broken, totals)


def _show_sessions(
    console: Console,
    columns: Sequence[Column],
    figures: _Figures,
    rows: _Rows,
    totals: Totals,
) -> None:
    """Print a line for each session and, of several, one for all of them."""
    lines: list[Sequence[Cell]] = [(_name(name), *figures(told)) for name, told in rows]
    if len(rows) > 1:
        last = ("in all", *figures(totals))
        lines.append([_bold(value) for value in last])
    show_table(console, (Column("session", "rest", _LEAST_NAME), *columns), lines)


def _name(name: str) -> Text:
    return Text(readable(name), no_wrap=True, overflow="ellipsis")


def _bold(value: str | int) -> Text:
    return cell(value if isinstance(value, str) else number(value), "bold")


def _show_left_out(console: Console, reports: Sequence[SessionReport]) -> None:
    columns = (
        Column("session", "rest", _LEAST_NAME),
        Column("left out", "figure"),
        Column("why", "words"),
    )
    rows = [
        (_name(report.name), requests, reason)
        for report in reports
        for reason, requests in report.reasons.items()
    ]
    show_table(console, columns, rows)
    if any(left.is_limit_unknown for report in reports for left in report.left_out):
        say(console, ("hint: ", "bold"), "--budget N names what no request may pass")


def _show_verdict(console: Console, totals: Totals) -> None:
    if not totals.requests:
        say(console, ("nothing was replayed", "bold red"))
    elif totals.made_invalid:
        made = _counted(totals.made_invalid, "request")
        say(console, ("not valid", "bold red"), f": {made} came in valid and would be sent invalid")
    else:
        say(
            console,
            ("valid", "bold green"),
            ": no request that came in valid would be sent invalid",
        )


def _counted(count: int, thing: str) -> str:
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"
