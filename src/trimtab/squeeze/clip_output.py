"""The middle of a very long output goes, where the model can ask for it.

Buys: an output of a hundred thousand tokens that was run for one line of it.
Costs: a call, where the line was in the middle.

The law of this file: without a way back nothing is removed.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable

from trimtab.boundaries import MADE_PREFIX
from trimtab.squeeze.failure_words import failure_lines

__all__ = ["clip_output"]

_LONG_TOKENS = 8_000
"""An output up to here is left whole: agents' own tools stop at 8,000 to 16,000 tokens."""

_END_TOKENS = 2_000
"""What stays of each end."""

_FAILURE_LINES = 20
_FAILURE_CHARACTERS = 300

_NEAR_CHARACTERS = 400
"""A cut is moved up to here so that it falls between two lines, else between two words."""

_PAYLOAD = string.ascii_letters + string.digits + "+/=_-"
_PAYLOAD_CHARACTERS = 200
_JOINERS = "\u200d\ufe0e\ufe0f"
_WAY_BACK = "; to be asked for by recall of "


def clip_output(text: str, name: str, count: Callable[[str], int]) -> str:
    """Keep the two ends of a long output, and the lines between that tell of failures.

    Args:
        text: Any text.
        name: What the whole of it can be asked for by.
        count: Counts the tokens of a text.

    Returns:
        The text itself where it is at most 8,000 tokens, or was clipped already.
    """
    if len(text) <= _LONG_TOKENS or _WAY_BACK in text:
        return text  # a token is a character or more, but for a few that are rare
    tokens = count(text)
    if tokens <= _LONG_TOKENS:
        return text
    end = len(text) * _END_TOKENS // tokens
    stop = _before(text, end)
    start = max(stop, _after(text, len(text) - end))
    if text.startswith(MADE_PREFIX, start):
        start = text.find("\n", start) + 1  # it tells of a line that goes
    middle = text[stop:start]
    failures = _failures(middle)
    told = "" if not failures else f", but for {len(failures)} that tell of failures"
    lines = middle.strip("\n").count("\n") + 1
    what = f"{lines} lines" if lines > 1 else f"{len(middle)} characters"
    marker = f"{MADE_PREFIX}{what} left out here{told}{_WAY_BACK}{name}]"
    parts = (
        text[:stop].rstrip("\n"),
        marker,
        *failures,
        *_rest(failures),
        text[start:].lstrip("\n"),
    )
    return "\n".join(parts)


def _rest(failures: list[str]) -> tuple[str, ...]:
    return (f"{MADE_PREFIX}it ends with]",) if failures else ()


def _failures(text: str) -> list[str]:
    """The first lines that tell of failures, each as far as it is short."""
    lines = failure_lines(text, _FAILURE_LINES)
    return [line[: _before(line, _FAILURE_CHARACTERS)] for line in lines if line.strip()]


def _before(text: str, place: int) -> int:
    """The last good place for a cut up to this one."""
    if place >= len(text):
        return len(text)
    low = max(0, place - _NEAR_CHARACTERS)
    for mark in ("\n", " "):
        found = text.rfind(mark, low, place + 1)
        if found >= 0:
            return found
    while place > 0 and _joins(text, place):
        place -= 1
    return _payload(text, place)[0]


def _after(text: str, place: int) -> int:
    """The first good place for a cut from this one on."""
    for mark in ("\n", " "):
        found = text.find(mark, max(0, place - 1), place + _NEAR_CHARACTERS)
        if found >= 0:
            return found + 1
    while place < len(text) and _joins(text, place):
        place += 1
    return _payload(text, place)[1]


def _joins(text: str, place: int) -> bool:
    """Whether what stands at a place belongs to what stands before it."""
    character, before = text[place], text[place - 1]
    is_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    is_half = "\ud800" <= before <= "\udbff" or _is_escaped(text, place)
    is_joined = character in _JOINERS or before in _JOINERS
    return is_tone or is_half or is_joined or unicodedata.combining(character) > 0


def _is_escaped(text: str, place: int) -> bool:
    """Whether a backslash stands before a place that is no escaped one itself."""
    start = place
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    return (place - start) % 2 == 1


def _payload(text: str, place: int) -> tuple[int, int]:
    """The span of the payload that a place lies in; the place alone where it lies in none."""
    start = len(text[:place].rstrip(_PAYLOAD))
    stop = place + len(text[place:]) - len(text[place:].lstrip(_PAYLOAD))
    is_inside = start < place < stop and stop - start >= _PAYLOAD_CHARACTERS
    return (start, stop) if is_inside else (place, place)
