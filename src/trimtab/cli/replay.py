"""``trimtab replay``: run recorded sessions through the engine and show what would have been sent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from trimtab.cli.bills import (
    advice_json,
    bills_json,
    session_json,
    show_advice,
    show_bills,
    show_explained,
    show_verdict,
    verdict_json,
)
from trimtab.cli.html import origin_of, refuse_foreign, write_report
from trimtab.cli.recordings import named, nothing_found
from trimtab.cli.source import STDIN
from trimtab.cli.tables import Cell, Column, cell, number, percent, show_table
from trimtab.cli.talk import FINE, NOT_FINE, UsageError, note, print_json, readable, say, screen
from trimtab.economy import Prices
from trimtab.errors import PolicyError
from trimtab.replay.advice import advise
from trimtab.replay.bench import Replayed
from trimtab.replay.crew import Found, Settings, replay_files
from trimtab.replay.driver import SessionReport, Totals
from trimtab.replay.gate import judge
from trimtab.replay.homes import HOMES, homes_in
from trimtab.replay.paths import files_in
from trimtab.replay.policies import DEFAULT, chosen
from trimtab.replay.report.turns import rows_of
from trimtab.replay.results import SessionResult

__all__ = ["run"]

_LEAST_NAME = 16
"""Columns of the screen for the name of a session, however little room there is."""

_MOST_EXACT = 9_999_999
"""Tokens in all; where there are more, the tables tell thousands, so that they fit the screen."""

_BODIES = "request-bodies"
"""The kind of a file that holds bodies as they were sent."""


@dataclass(frozen=True, slots=True)
class _Replay:
    """All that was replayed.

    Attributes:
        sessions: Each with the file that it was in.
        skipped: Files that hold no recording, with the reason why.
    """

    sessions: Sequence[tuple[Path, Replayed]]
    skipped: Mapping[Path, str]

    @property
    def reports(self) -> list[SessionReport]:
        return [replayed.report for _, replayed in self.sessions]

    @property
    def results(self) -> list[SessionResult]:
        """Those of which a request could be priced."""
        results = [replayed.result for _, replayed in self.sessions]
        return [result for result in results if result.policies[DEFAULT].requests]

    @property
    def totals(self) -> Totals:
        return Totals.of([request for report in self.reports for request in report.requests])


def run(  # noqa: PLR0913 - one an option
    paths: Sequence[str],
    *,
    budget: int | None,
    as_json: bool,
    policies: str = "",
    is_advised: bool = False,
    is_explained: bool = False,
    is_gate: bool = False,
    is_unrolled: bool = False,
    prices: str | None = None,
    resume: str | None = None,
    workers: int | None = None,
    html: str | None = None,
) -> int:
    """Replay recorded sessions.

    Args:
        paths: Files and folders; none for the session stores of known agents.
        budget: Tokens that no request may pass; None for what each model's window takes.
        as_json: Whether to print JSON.
        policies: Names of policies to replay them under as well, with commas between.
        is_advised: Whether to name the best setting of each client itself.
        is_explained: Whether to show the arithmetic of each compaction.
        is_gate: Whether to hold the sessions against law 7.
        is_unrolled: Whether a body stands for the requests that led to it.
        prices: A JSON file of prices that the user knows better.
        resume: A file to note results in, and to go on from.
        workers: Processes at most; None for one a core.
        html: A file to write a report to, ``-`` for standard output; None for none.

    Returns:
        0; 1 if a request that came in valid would have been sent invalid, no
        request could be replayed, or law 7 does not hold where that was asked.
    """
    listed = named(paths, "recording", "") if paths else _homes()
    names = tuple(name.strip() for name in policies.split(",") if name.strip())
    _check_names(names)
    settings = Settings(budget, names, is_advised, is_unrolled, _prices(prices))
    journal = None if resume is None else Path(resume)
    found = files_in(listed)
    if html is not None:
        _check_html(html, found, as_json=as_json)
    replayed = _replay(found, settings, workers or os.cpu_count() or 1, journal)
    if html is not None:
        origin = origin_of(paths, list(_options(settings, prices)), len(replayed.skipped))
        write_report(html, [each for _, each in replayed.sessions], origin)
    totals, results = replayed.totals, replayed.results
    verdict = judge(results) if is_gate else None
    advice = advise(results) if is_advised else []
    if as_json:
        told = _as_json(replayed, totals, budget)
        told |= {} if verdict is None else {"gate": verdict_json(verdict)}
        told |= {"advice": [advice_json(each) for each in advice]} if is_advised else {}
        print_json(told)
    else:
        console = screen(stderr=html == STDIN)
        _show(console, replayed, totals, budget, listed)
        is_asked = bool(names or is_advised or is_explained or is_gate)
        if results and (is_asked or any(map(_has_compacted, results))):
            show_bills(console, results)
        if is_explained:
            show_explained(console, [each for _, each in replayed.sessions if each.report.requests])
        if is_advised:
            show_advice(console, advice)
        if html not in (None, STDIN):
            say(console, f"report written to {html}")
        if not is_unrolled and any(map(_is_one_body, replayed.reports)):
            say(
                console,
                ("hint: ", "bold"),
                "a body alone is one request; --unroll replays those before it",
            )
        _show_verdict(console, totals)
        if verdict is not None:
            show_verdict(console, verdict)
    return NOT_FINE if verdict is not None and verdict.broken else _code(totals)


def _homes() -> list[Path]:
    """The session stores of known agents.

    Raises:
        UsageError: If there is none.
    """
    found = homes_in(Path.home(), os.environ)
    if not found:
        agents = ", ".join(dict.fromkeys(home.agent.partition(",")[0] for home in HOMES))
        raise UsageError(
            f"no session store of a known agent is there ({agents})", "name files or folders"
        )
    for agent, place in found:
        note(f"reading the sessions of {agent} in {place}")
    return [place for _, place in found]


def _check_html(html: str, found: Sequence[Path], *, as_json: bool) -> None:
    """Refuse, before any work is done, a report that could not or must not be written.

    Raises:
        UsageError: If that is so.
    """
    if html == STDIN and as_json:
        raise UsageError("--json and --html - both write to standard output", "give --html a file")
    refuse_foreign(html, found)


def _options(settings: Settings, prices: str | None) -> Iterator[str]:
    """The options that change the numbers of a report, as they are typed."""
    if settings.budget is not None:
        yield f"--budget {settings.budget}"
    if settings.policies:
        yield f"--policies {','.join(settings.policies)}"
    if settings.is_unrolled:
        yield "--unroll"
    if prices is not None:
        yield f"--prices {Path(prices).name}"


def _check_names(names: Sequence[str]) -> None:
    try:
        chosen(names)
    except PolicyError as error:
        raise UsageError(str(error), "docs/replay.md says what each does") from None


def _prices(file: str | None) -> dict[str, Prices]:
    """Read prices that the user knows better.

    Raises:
        UsageError: If the file is not there, or holds something else.
    """
    if file is None:
        return {}
    hint = 'such as {"my-model": {"fresh": 3.0, "read": 0.3, "write": 3.75, "output": 15.0}}'
    try:
        value = json.loads(Path(file).read_bytes())
        return {
            model: Prices(**{"fresh": None, "read": None, **each}) for model, each in value.items()
        }
    except OSError as error:
        raise UsageError(f"`{file}` cannot be read: {error.strerror}", hint) from None
    except (ValueError, TypeError, AttributeError):
        raise UsageError(f"`{file}` holds no prices in dollars a million tokens", hint) from None


def _is_one_body(report: SessionReport) -> bool:
    """Whether it is a body as it was sent, with the whole session in it, that was cut."""
    is_alone = report.kind == _BODIES and len(report.requests) == 1
    return is_alone and report.requests[0].is_compacted


def _has_compacted(result: SessionResult) -> bool:
    return any(each.compactions for each in result.policies.values())


def _code(totals: Totals) -> int:
    return FINE if totals.requests and not totals.made_invalid else NOT_FINE


# --------------------------------------------------------------------- replay


def _replay(
    found: Sequence[Path], settings: Settings, workers: int, journal: Path | None
) -> _Replay:
    """Replay what is in some files.

    Raises:
        RequestError: If none of them holds a recording.
        UsageError: If the journal cannot be written.
    """
    each: dict[Path, Found] = {}
    with _progress(len(found)) as show:
        places = {file: place for place, file in enumerate(found)}

        def tell(file: Path, session: int, sessions: int, done: int, requests: int) -> None:
            show(_Step(places[file], len(found), session, sessions, done, requests))

        show(_Step(0, len(found)))
        try:
            for came in replay_files(found, settings, workers=workers, journal=journal, tell=tell):
                each[came.file] = came
                show(_Step(len(each), len(found)))
        except OSError as error:
            raise UsageError(
                f"`{journal}` cannot be written: {error.strerror}", "name another file"
            ) from None
    ordered = [each[file] for file in found]
    sessions = [(came.file, session) for came in ordered for session in came.sessions]
    skipped = {came.file: came.skipped for came in ordered if came.skipped}
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


# ----------------------------------------------------------------------- JSON


def _as_json(replayed: _Replay, totals: Totals, budget: int | None) -> dict[str, object]:
    return {
        "budget": budget,
        "sessions": [
            {
                "file": str(file),
                "kind": each.report.kind,
                "session": each.report.name,
                "unrecorded": sorted(each.report.unrecorded),
                "notes": list(each.report.notes),
                **_totals_json(each.report.totals),
                "left_out": [
                    {"reason": reason, "requests": requests}
                    for reason, requests in each.report.reasons.items()
                ],
                **session_json(each.result),
            }
            for file, each in replayed.sessions
        ],
        "skipped": [
            {"file": str(file), "reason": reason} for file, reason in replayed.skipped.items()
        ],
        "total": {
            **_totals_json(totals),
            **(bills_json(replayed.results) if replayed.results else {}),
        },
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
    _show_cold(console, replayed)
    if any(report.left_out for report in replayed.reports):
        _show_left_out(console, replayed.reports)


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
    told = sum(bool(report.requests) for report in replayed.reports)
    what = f"{_counted(told, 'session')}, {_counted(totals.requests, 'request')}"
    say(console, (what, "bold"), _left_out(replayed, len(replayed.reports) - told))
    limit = "that of each model's window" if budget is None else f"{number(budget)} tokens"
    counted = f", counted by {', '.join(totals.counters)}" if totals.counters else ""
    say(console, f"limit: {limit}{counted}")
    turns = [turn for _, each in replayed.sessions for turn in each.story.turns]
    if any(turn.billed_tokens for turn in turns):
        say(
            console,
            "sizes: as foretold before each request was sent, without what a log lacks until a bill tells; "
            "all that is told in money goes by what was billed",
        )
    console.print()


def _left_out(replayed: _Replay, sessions: int) -> str:
    """Such as ``; left out: 1 session, 19 requests``; empty for none."""
    requests = sum(len(report.left_out) for report in replayed.reports)
    told = [_counted(sessions, "session")] if sessions else []
    told += [_counted(requests, "request")] if requests else []
    return f"; left out: {', '.join(told)}" if told else ""


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
        Column("fewer\ntokens", "figure"),
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


def _show_cold(console: Console, replayed: _Replay) -> None:
    """Count what is no break, and yet was not read from the cache."""
    rows = [
        row for _, each in replayed.sessions for row in rows_of(each.report.requests, each.story)
    ]
    cold = sum(row.is_cold for row in rows)
    if cold:
        say(
            console,
            f"besides, {_counted(cold, 'request')} read little from the cache although nothing broke: mostly "
            "it had expired",
        )
        console.print()


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
