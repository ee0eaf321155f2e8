"""A line that comes many times in a row stands once, with a count.

Buys: programs that wait, retry or warn say the same for pages.
Costs: nothing; the marker says how often it came.
"""

from __future__ import annotations

from itertools import groupby, islice
from operator import eq

from trimtab.boundaries import MADE_PREFIX

__all__ = ["repeated_lines"]

_START = f"{MADE_PREFIX}the line above comes "
_MARKER = _START + "%d times in a row]"

_WORTH_CHARACTERS = 120
"""A run is folded where twice its marker is saved: what is repeated may have few tokens."""


def repeated_lines(text: str) -> str:
    """Fold runs of the same line.

    Args:
        text: Any text.

    Returns:
        The text itself where no run is worth a marker.
    """
    if _START in text:
        return text  # a count of ours beside one that came so could not be told apart
    lines = text.split("\n")
    if not any(map(eq, lines, islice(lines, 1, None))):
        return text
    folded: list[str] = []
    for line, run in groupby(lines):
        times = len(list(run))
        if line.strip() and (times - 1) * (len(line) + 1) >= _WORTH_CHARACTERS:
            folded += (line, _MARKER % times)
        else:
            folded += [line] * times
    return "\n".join(folded)
