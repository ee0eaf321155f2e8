"""Words by which a program's output tells that something went wrong."""

from __future__ import annotations

__all__ = ["failure_lines", "tells_of_failure"]

_CUES = (
    *("error", "errno", "err:", "err!", "exception", "traceback", "fail", "fatal", "panic"),
    *("critical", "severe", "warn", "abort", "crash", "killed", "denied", "refused", "reject"),
    *("invalid", "unable", "cannot", "can't", "could not", "couldn't", "unexpected", "undefined"),
    *("missing", "not found", "no such", "timeout", "timed out", "time-out", "deadlock"),
    *("overflow", "corrupt", "unreachable", "assert", "segmentation", "out of memory", "retry"),
    *("retri", "rolled back", "exit code", "exit status", "returncode", "not ok"),
    *("\u2717", "\u2718", "\u2716", "\u274c", "\u26a0", "\xd7"),
)
"""Rather too many: a line that holds one stays as it is."""


def tells_of_failure(line: str) -> bool:
    """Whether a line may tell of a failure or a warning; True for some that do not."""
    lowered = line.lower()
    return any(cue in lowered for cue in _CUES)


def failure_lines(text: str, most: int) -> list[str]:
    """The first lines of a text that may tell of a failure.

    Args:
        text: Any text. It is searched for each word as a whole, which is
            quicker than line by line.
        most: So many at most.
    """
    lowered = text.lower()
    places = sorted(place for cue in _CUES for place in _first(lowered, cue, most))
    lines = text.split("\n") if places else []
    found: list[str] = []
    number = counted = last = 0
    for place in places:
        number += lowered.count("\n", counted, place)
        counted = place
        if not found or number > last:
            found.append(lines[number])
            last = number
    return found[:most]


def _first(text: str, cue: str, most: int) -> list[int]:
    """Where a word stands, on each of the first lines that hold it."""
    places: list[int] = []
    place = text.find(cue)
    while place >= 0 and len(places) < most:
        places.append(place)
        line_end = text.find("\n", place)
        place = text.find(cue, line_end) if line_end >= 0 else -1
    return places
