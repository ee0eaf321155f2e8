"""What a program wrote for a terminal becomes what a reader would have seen there.

Buys: colours, redrawn progress bars and backspaces are tokens without words.
Costs: nothing that was left on the screen, but what only a colour told.

A text in which nothing of a terminal stands is left alone, blanks and all: it
may show a file, and whoever changes that file must quote it to the letter.
"""

from __future__ import annotations

import re

__all__ = ["terminal_noise"]

_ESCAPE = re.compile(
    r"""
      (\x1b\]8;[^\x07\x1b\n]*+(?:\x07|\x1b\\))            # a link: its address is no noise
    | \x1b\[[0-?]*+[ -/]*+[@-~]                           # colours, cursor, erasing
    | \x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)                # titles
    | \x1b[PX^_][^\x07\x1b\n]*+\x1b\\                     # strings for the device
    | \x1b(?:[()*+\#%][0-~]|[=>78DEMNOZc])                # character sets, modes
    | [\x1b\x07]
    """,
    re.VERBOSE,
)
"""Any escape character, with what belongs to it (ECMA-48). None stays outside of a
link, so that no escape can form from what stood on both sides of another."""

_COLOUR = re.compile(r"\x1b\[[\d;]*+m")
"""What most of them are; looked for first, because it is quick."""

_LINK = "\x1b]8;"

_MOST_CONTROLS = 200_000
"""More of them are no output for a terminal, and would take seconds."""

_BARE_RETURN = re.compile(r"\r(?!\n)")
_NO_LETTERS = re.compile(r"[^\w\r]+|[\d_]+")
_BLANKS = " \t"


def terminal_noise(text: str) -> str:
    """Take out what only a terminal needs.

    Of a line that was redrawn, the last state of each wording stays, each on
    a line of its own. Blanks at ends of lines and repeated empty lines go,
    but only where something else shows that a terminal was written to.

    Args:
        text: Any text.

    Returns:
        The text itself where nothing of a terminal stands in it.
    """
    if not ("\x1b" in text or "\b" in text or "\x07" in text or _BARE_RETURN.search(text)):
        return text
    if sum(map(text.count, "\x1b\b\r")) > _MOST_CONTROLS:
        return text
    plain = _COLOUR.sub("", text)
    plain = _ESCAPE.sub(r"\1" if _LINK in plain else "", plain)
    lines: list[str] = []
    for line in plain.split("\n"):
        shown = line.rstrip("\r")
        if "\b" in shown:
            shown = _overtyped(shown)
        lines += _redrawn(shown) if "\r" in shown else (shown,)
    return "\n".join(_without_repeated_blanks([line.rstrip(_BLANKS) for line in lines]))


def _overtyped(line: str) -> str:
    """What a line shows after each backspace moved back and the next words were typed over it."""
    shown: list[str] = []
    place = 0
    for number, piece in enumerate(line.split("\b")):
        place = max(0, place - 1) if number else 0
        shown[place : place + len(piece)] = piece
        place += len(piece)
    return "".join(shown)


def _redrawn(line: str) -> list[str]:
    """The last state of each wording that a line had; digits and bars are no words."""
    kept: list[str] = []
    last: str | None = None
    states = line.split("\r")
    for state, words in zip(states, _NO_LETTERS.sub("", line).split("\r"), strict=True):
        if not state.strip():
            continue
        if words == last:
            kept[-1] = state
        else:
            kept.append(state)
        last = words
    return kept or [""]


def _without_repeated_blanks(lines: list[str]) -> list[str]:
    return [line for place, line in enumerate(lines) if line or not place or lines[place - 1]]
