"""Old answers become one short line each, and what their tools said goes.

Buys: the whole course of the work stays in view, and all that the user said.
Costs: how the work was done is known by its outlines alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Message, Text, ToolCall
from trimtab.strategies.drop_middle import head_end
from trimtab.strategies.excerpt import one_line
from trimtab.strategies.fold import FILLER, GO_ON, StandIn
from trimtab.strategies.history import History

__all__ = ["ONE_LINE", "one_line_turns"]

REASON = "old turn told in a line"

ONE_LINE = f"{MADE_PREFIX}an earlier step, shortened]"
"""What each line begins with."""

_WORDS_CHARACTERS = 160
"""How much of an answer's own words a line quotes."""

_ARGUMENT_CHARACTERS = 60
"""How much of a call's first argument a line quotes."""

_CALLS = 4
"""How many calls a line names; the rest are counted."""

_LEADING = ("path", "file_path", "filePath", "command", "cmd", "pattern", "query", "url")
"""Arguments that tell what a call was about, before all others."""


def one_line_turns(
    history: History, target_tokens: int, *, keep_recent: int | None = None
) -> tuple[StandIn, ...]:
    """Tell as many old turns in a line each as are needed, oldest first.

    What the user said stays word for word, and so does what is protected; an
    answer that is no longer than its line stays too. A tool loop that the
    model may still be in is left alone where the format knows of one: a word
    of ours in the middle of it would end it.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.
        keep_recent: Newest messages that are left alone; None for as many as the policy says.

    Returns:
        What stands for the turns, in order; empty if there are none. The
        result may still be larger than the target.
    """
    told: list[StandIn] = []
    excess = history.total_tokens - target_tokens
    recent = history.policy.keep_recent if keep_recent is None else keep_recent
    newest = len(history.messages) - recent
    loop = history.constraints.open_loop_start
    for run in _runs(history, newest if loop is None else min(newest, loop)):
        if excess <= 0:
            break
        told_run = _shortest(history, run, excess)
        if told_run is not None:
            excess -= told_run.saved
            told.append(told_run.stand_in)
    return tuple(told)


@dataclass(frozen=True, slots=True)
class _Told:
    """A run, or the first part of it, told in lines."""

    stand_in: StandIn
    saved: int


@dataclass(frozen=True, slots=True)
class _Run:
    """Answers and results in a row, with no user's words between them.

    Attributes:
        pieces: Their places, ascending.
        stops: How many of the pieces end at a legal cut, ascending.
    """

    pieces: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)


def _runs(history: History, newest: int) -> Iterator[_Run]:
    """The runs between the head and the newest messages, oldest first."""
    pieces = history.boundaries.pieces
    start = head_end(history)
    run = _Run()
    for cut in history.boundaries.cuts:
        if cut <= start:
            continue
        if cut < len(pieces) and pieces[cut].ref.message > newest:
            break
        if cut == len(pieces) and newest < len(history.messages):
            break
        between = range(start, cut)
        start = cut
        if any(place in history.protected or _are_words(history, place) for place in between):
            if run.pieces:
                yield run
            run = _Run()
        else:
            run.pieces.extend(between)
            run.stops.append(len(run.pieces))
    if run.pieces:
        yield run


def _are_words(history: History, place: int) -> bool:
    """Whether a piece is what somebody said who is not the model."""
    piece = history.boundaries.pieces[place]
    message = history.messages[piece.ref.message]
    return not piece.is_result and message.role != "assistant" and message.text != GO_ON


def _shortest(history: History, run: _Run, excess: int) -> _Told | None:
    """As little of a run as saves enough, told in lines; None where all of it saves nothing."""
    best = _told(history, run.pieces)
    if best is None or best.saved < excess:
        return best
    low, high = 0, len(run.stops) - 1  # the last saves enough
    while low < high:
        middle = (low + high) // 2
        told = _told(history, run.pieces[: run.stops[middle]])
        if told is not None and told.saved >= excess:
            best, high = told, middle
        else:
            low = middle + 1
    return best


def _told(history: History, pieces: Sequence[int]) -> _Told | None:
    """What stands for some pieces; None where it would save nothing."""
    places = dict.fromkeys(history.boundaries.pieces[place].ref.message for place in pieces)
    messages = [history.messages[place] for place in places]
    answers = [message for message in messages if message.role == "assistant"]
    lines = [line for line in map(_line, answers) if line]
    if not lines:
        return None
    made = Message.assistant("\n".join(lines), origin="marker")
    tokens = history.measure.message(made)
    saved = sum(map(history.piece_tokens, pieces)) - tokens
    return _Told(StandIn(tuple(pieces), made, tokens, REASON), saved) if saved > 0 else None


def _line(answer: Message) -> str:
    """An answer in a line; what is told in lines already stays, and a filler leaves none."""
    parts = answer.parts
    words = "\n".join(part.text for part in parts if isinstance(part, Text)).strip()
    calls = [part for part in parts if isinstance(part, ToolCall)]
    if words == FILLER or words.startswith(ONE_LINE):
        return "" if words == FILLER else words
    quoted = one_line(words, _WORDS_CHARACTERS)
    ran = f"(ran {_named(calls)})" if calls else ""
    return " ".join(filter(None, (ONE_LINE, quoted, ran)))


def _named(calls: Sequence[ToolCall]) -> str:
    named = [f"{call.name} {_about(call)}".strip() for call in calls[:_CALLS]]
    if len(calls) > _CALLS:
        named.append(f"{len(calls) - _CALLS} more")
    return "; ".join(named)


def _about(call: ToolCall) -> str:
    """The argument that tells what a call was about."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return one_line(call.arguments, _ARGUMENT_CHARACTERS)
    if not isinstance(arguments, dict):
        return ""
    leading = [name for name in _LEADING if name in arguments]
    texts = (arguments[name] for name in (*leading, *arguments))
    return one_line(next((t for t in texts if isinstance(t, str)), ""), _ARGUMENT_CHARACTERS)
