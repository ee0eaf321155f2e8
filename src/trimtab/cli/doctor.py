"""``trimtab doctor``: say of recorded sessions where the provider's cache was lost, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trimtab.cli.recordings import Found, Tell, named, sessions_in
from trimtab.cli.tables import Cell, Column, cell, number, percent, show_table
from trimtab.cli.talk import FINE, NOT_FINE, note, print_json, readable, say, screen
from trimtab.replay.prefixes import ADVICE, MEANING, Break, Cause, Turn, examine
from trimtab.replay.recording import Recording

__all__ = ["run"]

_MOST_LINES = 40
"""Breaks of a session that are shown; --json has all."""

_MICRO = 1_000_000
"""Money in the JSON is in millionths of a US dollar, because every number in it is whole."""

_WHY: Mapping[str, str] = {
    "deliberate": "on purpose",
    "too_short": "too short",
    "bill": "read anyway",
    "no_promise": "no promise",
    "nothing_lost": "no loss",
}


@dataclass(frozen=True, slots=True)
class _Session:
    """What was found in a session.

    Attributes:
        file: The file that it was in.
        recording: The session.
        turns: Its requests.
    """

    file: Path
    recording: Recording
    turns: Sequence[Turn]

    @property
    def breaks(self) -> list[tuple[Turn, Break]]:
        return [(turn, found) for turn in self.turns for found in turn.breaks]

    @property
    def sums(self) -> _Sums:
        return _Sums.of(found for _, found in self.breaks)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Breaks taken together.

    Attributes:
        breaks: How many there are.
        mattering: How many of them matter.
        lost_tokens: Tokens that were paid again because of those.
        cost_usd: What that cost more than reading them, as far as prices are known.
        unpriced_tokens: Those of the tokens whose price is not known.
    """

    breaks: int
    mattering: int
    lost_tokens: int
    cost_usd: float
    unpriced_tokens: int

    @classmethod
    def of(cls, breaks: Iterable[Break]) -> _Sums:
        breaks = list(breaks)
        mattering = [each for each in breaks if each.matters]
        return cls(
            len(breaks),
            len(mattering),
            sum(each.lost_tokens for each in mattering),
            sum(each.cost_usd or 0.0 for each in mattering),
            sum(each.lost_tokens for each in mattering if each.cost_usd is None),
        )

    @property
    def money(self) -> str:
        """For people; empty where no price is known."""
        if not self.unpriced_tokens:
            return _money(self.cost_usd)
        return f"at least {_money(self.cost_usd)}" if self.cost_usd else ""


def run(paths: Sequence[str], *, as_json: bool) -> int:
    """Examine recorded sessions.

    Returns:
        0; 1 if breaks that matter were found, or nothing could be read.
    """
    wanted = named(paths, "session", "name recorded sessions, or folders of them")
    found = Found()
    sessions = [
        _Session(file, recording, list(_told(recording, tell)))
        for file, recording, tell in sessions_in(wanted, found)
    ]
    sums = _Sums.of(each for session in sessions for _, each in session.breaks)
    if as_json:
        print_json(_as_json(sessions, found, sums))
    else:
        _show(screen(), sessions, found, sums, wanted)
    is_all_unread = all(turn.unread for session in sessions for turn in session.turns)
    return NOT_FINE if sums.mattering or is_all_unread else FINE


def _told(recording: Recording, tell: Tell) -> Iterator[Turn]:
    for done, turn in enumerate(examine(recording), 1):
        yield turn
        tell(done)


def _causes(sessions: Sequence[_Session]) -> dict[Cause, list[Break]]:
    """All breaks by cause; the dearest cause first."""
    causes: dict[Cause, list[Break]] = {}
    for session in sessions:
        for _, found in session.breaks:
            causes.setdefault(found.found.cause, []).append(found)
    return dict(sorted(causes.items(), key=lambda item: -_Sums.of(item[1]).lost_tokens))


# ----------------------------------------------------------------------- JSON


def _as_json(sessions: Sequence[_Session], found: Found, sums: _Sums) -> dict[str, object]:
    return {
        "sessions": [
            {
                "file": str(session.file),
                "kind": session.recording.kind,
                "session": session.recording.name,
                "unrecorded": sorted(_unrecorded(session)),
                "notes": list(session.recording.notes),
                "asks_for_cache": _asks_for_cache(session),
                **_sums_json(session.sums),
                "turns": [_turn_json(turn) for turn in session.turns],
            }
            for session in sessions
        ],
        "skipped": [
            {"file": str(file), "reason": reason} for file, reason in found.skipped.items()
        ],
        "causes": [
            {
                "cause": cause,
                "meaning": MEANING[cause],
                "advice": ADVICE[cause],
                **_sums_json(_Sums.of(breaks)),
            }
            for cause, breaks in _causes(sessions).items()
        ],
        "total": _sums_json(sums),
    }


def _sums_json(sums: _Sums) -> dict[str, object]:
    return {
        "breaks": sums.breaks,
        "mattering": sums.mattering,
        "lost_tokens": sums.lost_tokens,
        "cost_microusd": round(sums.cost_usd * _MICRO),
        "unpriced_tokens": sums.unpriced_tokens,
    }


def _turn_json(turn: Turn) -> dict[str, object]:
    return {
        "turn": turn.place + 1,
        "follows": None if turn.follows is None else turn.follows + 1,
        "messages": turn.messages,
        "shared_messages": turn.shared_messages,
        "before_tokens": turn.before_tokens,
        "survived_tokens": turn.survived_tokens,
        "harmless": list(turn.harmless),
        "unread": turn.unread or None,
        "breaks": [
            {
                "cause": each.found.cause,
                "path": each.found.path or None,
                "offset": each.found.offset,
                "before": each.found.before,
                "after": each.found.after,
                "lost_tokens": each.lost_tokens,
                "cost_microusd": None if each.cost_usd is None else round(each.cost_usd * _MICRO),
                "is_billed": each.is_billed,
                "matters": each.matters,
                "why_not": each.harmless or None,
            }
            for each in turn.breaks
        ],
    }


def _unrecorded(session: _Session) -> frozenset[str]:
    return frozenset[str]().union(*(each.unrecorded for each in session.recording.requests))


def _asks_for_cache(session: _Session) -> bool:
    """Whether any request asks the provider to cache; True where it does so by itself."""
    told = [turn for turn in session.turns if turn.follows is not None]
    return not told or any(turn.is_cached for turn in told)


# --------------------------------------------------------------------- screen


def _show(
    console: Console,
    sessions: Sequence[_Session],
    found: Found,
    sums: _Sums,
    wanted: Sequence[Path],
) -> None:
    _show_notes(sessions, found, wanted)
    requests = sum(len(session.turns) for session in sessions)
    what = f"{_counted(len(sessions), 'session')}, {_counted(requests, 'request')}"
    say(console, (what, "bold"))
    console.print()
    for session in sessions:
        if session.sums.breaks:
            _show_breaks(console, session)
    _show_causes(console, sessions)
    _show_harmless(console, sessions)
    _show_verdict(console, sums)


def _show_notes(sessions: Sequence[_Session], found: Found, wanted: Sequence[Path]) -> None:
    """Say what could not be read, and what recordings do not hold."""
    for file, reason in found.skipped.items():
        if file in wanted:
            note(reason)
    others = sum(file not in wanted for file in found.skipped)
    if others:
        many = _counted(others, "file")
        note(f"skipped {many} without a recording that is known; --json says why")
    unread = sum(bool(turn.unread) for session in sessions for turn in session.turns)
    if unread:
        note(f"{_counted(unread, 'request')} could not be read; --json says why")
    missing = frozenset[str]().union(*map(_unrecorded, sessions)) & _PREFIX_FIELDS
    if missing:
        told = ", ".join(sorted(missing))
        note(f"recordings do not hold these, so what changed in them cannot be seen: {told}")
    uncached = sum(not _asks_for_cache(session) for session in sessions)
    if uncached:
        note(
            f"in {_counted(uncached, 'session')} no marker asks the provider to cache, so every "
            "request pays for all of its input; breaks are told as if there were markers"
        )


_PREFIX_FIELDS = frozenset(("model", "tools", "system", "instructions", "systemInstruction"))


def _show_breaks(console: Console, session: _Session) -> None:
    many = _counted(len(session.turns), "request")
    name = readable(session.recording.name)
    say(console, (name, "bold"), (f"  {session.recording.kind}, {many}", "dim"))
    columns = (
        Column("turn", "figure"),
        Column("tokens\nkept", "figure"),
        Column("share", "figure"),
        Column("where", "rest", 10),
        Column("cause", "name", most=18),
        Column("paid\nagain", "figure"),
        Column("cost", "figure"),
    )
    shown = session.breaks[:_MOST_LINES]
    show_table(console, columns, [_row(turn, found) for turn, found in shown])
    more = len(session.breaks) - len(shown)
    if more:
        say(console, f"and {_counted(more, 'more break', 'more breaks')}; --json has all")
        console.print()


def _row(turn: Turn, found: Break) -> Sequence[Cell]:
    is_first = found is turn.breaks[0]
    style = "" if found.matters else "dim"
    kept = number(turn.survived_tokens) if is_first else ""
    share = percent(turn.survived_tokens, max(1, turn.before_tokens)) if is_first else ""
    if not found.matters:
        lost, cost = "", _WHY[found.harmless]
    elif not is_first:
        lost, cost = "", "as above"
    else:
        lost, cost = number(found.lost_tokens), _money(found.cost_usd)
    where = Text(readable(found.found.path) or "-", style, no_wrap=True, overflow="ellipsis")
    return (
        cell(number(turn.place + 1), style),
        cell(kept, style),
        cell(share, style),
        where,
        cell(_words(found.found.cause), style),
        cell(lost, style),
        cell(cost, style),
    )


def _show_causes(console: Console, sessions: Sequence[_Session]) -> None:
    """What each cause that matters means, its first place, and what to do."""
    for cause, breaks in _causes(sessions).items():
        sums = _Sums.of(breaks)
        if not sums.mattering:
            continue
        times = _counted(sums.mattering, "time")
        say(console, (_words(cause), "bold red"), f", {times}: {MEANING[cause]}")
        turn, found, session = next(
            (turn, each, session)
            for session in sessions
            for turn, each in session.breaks
            if each.found.cause == cause and each.matters
        )
        of_session = f", {readable(session.recording.name)}" if len(sessions) > 1 else ""
        say(console, ("first  ", "dim"), f"turn {number(turn.place + 1)}{of_session}", indent=2)
        _show_place(console, found)
        say(console, ("do     ", "dim"), ADVICE[cause], indent=2)
        console.print()


def _show_place(console: Console, found: Break) -> None:
    place = found.found
    if place.path:
        at = "" if place.offset is None else f", byte {number(place.offset)} of the body"
        say(console, ("at     ", "dim"), f"{readable(place.path)}{at}", indent=2)
    if place.before or place.after:
        say(console, ("was    ", "dim"), readable(place.before) or "nothing", indent=2)
        say(console, ("is     ", "dim"), readable(place.after) or "nothing", indent=2)


def _show_harmless(console: Console, sessions: Sequence[_Session]) -> None:
    told = Counter(kind for session in sessions for turn in session.turns for kind in turn.harmless)
    if told:
        words = ", ".join(f"{_HARMLESS[kind]} {number(count)}" for kind, count in told.items())
        say(console, (f"harmless, by requests: {words}", "dim"))


_HARMLESS: Mapping[str, str] = {
    "billing_block": "billing block",
    "marker_moved": "markers moved on",
    "text_as_block": "text as a block",
    "written_otherwise": "same JSON, written otherwise",
    "message_extended": "last message extended",
}


def _show_verdict(console: Console, sums: _Sums) -> None:
    if not sums.mattering:
        others = f" ({_counted(sums.breaks, 'break')} that cost nothing)" if sums.breaks else ""
        say(console, ("healthy", "bold green"), f": no break that matters{others}")
        return
    many = _counted(sums.mattering, "break that matters", "breaks that matter")
    money = f", {sums.money} more than from the cache" if sums.money else ", at unknown prices"
    again = f"{number(sums.lost_tokens)} tokens paid again{money}"
    say(console, (many, "bold red"), f": {again}")


def _words(cause: Cause) -> str:
    return cause.replace("_", " ")


def _money(usd: float | None) -> str:
    """An amount for people."""
    if usd is None:
        return "unknown"
    return "<$0.001" if 0 < usd < 0.001 else f"${usd:,.3f}" if usd < 1 else f"${usd:,.2f}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{number(count)} {one if count == 1 else many or one + 's'}"
