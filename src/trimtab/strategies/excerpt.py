"""Shorten a text to its two ends, and say between them how much went.

The law of this file: nothing is cut inside a character, an escape or a
payload, and an excerpt is a pure function of its text and its room.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from trimtab.boundaries import MADE_PREFIX

__all__ = ["clip_lines", "clip_tokens", "ends", "one_line"]

_MARKER_LINES = 3
"""A marker is a line between two empty ones."""

_ESCAPE = re.compile(
    r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\x1b\[[0-9;?]*[ -/]*[@-~]", re.DOTALL
)
_LONGEST_ESCAPE = 32
_PAYLOAD = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=_-]+")
_JOINERS = "\u200d\ufe0e\ufe0f"
_MAX_TRIES = 12
_LOOK_AHEAD = 8
"""How many times the characters wanted are looked at: blanks are not quoted."""


def clip_lines(text: str, max_lines: int) -> str:
    """Shorten a text to a number of lines.

    Args:
        text: Any text; a line break at its end is kept and is no line.
        max_lines: Lines that stay, 1 or more. Up to 4 there is no room for a
            marker, and the first ones stay alone.

    Returns:
        The text itself where it is short enough, else exactly that many lines.
    """
    body, trail = (text[:-1], "\n") if text.endswith("\n") else (text, "")
    lines = body.split("\n")
    if len(lines) <= max_lines:
        return text
    if max_lines <= _MARKER_LINES + 1:
        return "\n".join(lines[:max_lines]) + trail
    head = (max_lines - _MARKER_LINES) // 2
    tail = max_lines - _MARKER_LINES - head
    marker = f"{MADE_PREFIX}{len(lines) - head - tail} lines removed]"
    return "\n".join([*lines[:head], "", marker, "", *lines[-tail:]]) + trail


def clip_tokens(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """Shorten a text to a number of tokens.

    Args:
        text: Any text.
        max_tokens: Tokens that the result may have; where even the marker
            has more, the marker alone is the result.
        count: Counts the tokens of a text.

    Returns:
        The text itself where it is short enough, else its two ends with a
        marker between them.
    """
    whole = count(text)
    if whole <= max_tokens:
        return text
    kept = len(text) * max(0, max_tokens - count(_marker(len(text)))) // max(1, whole)
    for _ in range(_MAX_TRIES):
        excerpt = _ends(text, kept)
        tokens = count(excerpt)
        if tokens <= max_tokens or kept == 0:
            return excerpt
        kept = min(kept - 1, kept * max_tokens // tokens * 9 // 10)
    return _ends(text, 0)


def one_line(text: str, max_characters: int) -> str:
    """Quote the beginning of a text on one line.

    Args:
        text: Any text.
        max_characters: Characters that are quoted, 1 or more.

    Returns:
        The text with each run of blanks as one; where it is longer, its first
        words and an ellipsis.
    """
    line = " ".join(text[: _LOOK_AHEAD * max_characters].split())
    if len(line) <= max_characters:
        return line
    end = _whole_before(line, max_characters, [])
    quoted = line[:end].rpartition(" ")[0] or line[:end]
    return f"{quoted} …"


def _marker(removed: int) -> str:
    return f"\n{MADE_PREFIX}{removed} characters removed]\n"


def ends(text: str, head: int, tail: int) -> tuple[str, str]:
    """Take the two ends of a text, with nothing cut in its middle.

    Args:
        text: Any text.
        head: Characters that the beginning may have, 0 or more, at most the text's.
        tail: The same for the end.

    Returns:
        The beginning and the end; they do not overlap, and each may be shorter.
    """
    payloads = [match.span() for match in _PAYLOAD.finditer(text)]
    stop = _whole_before(text, head, payloads)
    start = max(stop, _whole_after(text, len(text) - tail, payloads))
    return text[:stop], text[start:]


def _ends(text: str, kept: int) -> str:
    if kept <= 0:
        return _marker(len(text)).strip()
    head, tail = ends(text, kept - kept // 2, kept // 2)
    return head + _marker(len(text) - len(head) - len(tail)) + tail


def _whole_before(text: str, place: int, payloads: list[tuple[int, int]]) -> int:
    """The last place up to this one that lies inside nothing."""
    for start, stop in payloads:
        if start < place < stop:
            place = start
    while 0 < place < len(text) and _joins(text[place]):
        place -= 1
    escape = _escape_start(text, place)
    return place if escape is None else escape


def _whole_after(text: str, place: int, payloads: list[tuple[int, int]]) -> int:
    """The first place from this one on that lies inside nothing."""
    for start, stop in payloads:
        if start < place < stop:
            place = stop
    begun = _escape_start(text, place)
    if begun is not None and (escape := _ESCAPE.match(text, begun)):
        place = escape.end()
    while place < len(text) and _joins(text[place]):
        place += 1
    return place


def _joins(character: str) -> bool:
    """Whether a character belongs to the one before it."""
    is_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    return is_tone or character in _JOINERS or unicodedata.combining(character) > 0


def _escape_start(text: str, place: int) -> int | None:
    """Where the escape begins that reaches over a place; None where there is none."""
    low = max(0, place - _LONGEST_ESCAPE)
    while low and text[low - 1] == "\\":
        low -= 1  # begin in front of a row of backslashes, or pairs would be misread
    for escape in _ESCAPE.finditer(text, low, min(len(text), place + _LONGEST_ESCAPE)):
        if escape.start() < place < escape.end():
            return escape.start()
        if escape.start() >= place:
            break
    return None
