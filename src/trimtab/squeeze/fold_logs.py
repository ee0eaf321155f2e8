"""Log lines that differ in numbers only are folded: the first and the last stay, and a count.

Buys: servers, builds and test runs say the same of each item.
Costs: the numbers of the lines between; their count is told.

Only lines that bear the mark of a log are folded: a time, a level, or that a
test passed. Code, tables and what a search found bear none. Lines that tell of
failures stay, and so do both ends of the output.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trimtab.boundaries import MADE_PREFIX
from trimtab.squeeze.failure_words import tells_of_failure

__all__ = ["fold_logs"]

_HEAD_LINES = 5
_TAIL_LINES = 10

_FEWEST_LINES = 20
_MOST_LINES = 200_000
"""More of them would take seconds."""

_LEAST_LINES = 5
"""So many lines of a kind are folded; fewer are cheaper to read than to explain."""

_LEAST_GAP = 3
"""So many lines in a row are left out, or none of them."""

_SUMMARY = f"{MADE_PREFIX}of the lines left out above, "
_KINDS_TOLD = 5
_EXAMPLE_CHARACTERS = 80

_ZEROS = str.maketrans("123456789", "000000000")
_IDS = re.compile(r"(?<![0-9A-Za-z])(?=[a-f]*+0)[0a-f]{6,}+(?:-[0a-f]{1,12}+)*+(?![A-Za-z])")
"""An id, in a text whose digits are all 0 and stand alone."""

_EVENT = re.compile(
    r"""
      (?<!\w)0[-/]0[-/]0 | (?<![A-SU-Za-z_:])0:0:0 | ^\[\ *0\.0\]
    | (?<![\w./])(?:INFO|DEBUG|TRACE|NOTICE|VERBOSE|SUCCESS)(?![\w(.=])
    | (?:^|[\[{\s"])lev(?:el|)"?[=:]\s*"?(?:info|debug|trace|notice)
    | ^\[?(?:info|debug|trace|notice|verbose)\b[\]:]
    """,
    re.VERBOSE,
)
"""A time or a level, in a text whose digits are all 0 and stand alone."""

_EVENT_CUES = (
    *("0:0:0", "0-0-0", "0/0/0", "0.0]", "INFO", "DEBUG", "TRACE", "NOTICE", "VERBOSE"),
    *("SUCCESS", "lev", "info", "debug", "trace", "notice", "verbose"),
)
"""Where none of them stands, there is no event."""

_DATA = re.compile(r"""\s*(?:["'|]|(?!(?:info|debug|trace|notice|verbose)\b)[a-z][\w-]*:\s)""")
"""How a line of a table, of JSON or of YAML begins: its numbers are no noise."""

_PASSED = re.compile(
    r"""
      ^\s*(?:\u2713|\u2714|\u2705|ok\ 0\b|PASS(?:ED)?\b|---\ PASS:|\[\ +OK\ \])
    | (?:\.\.\.\ ?ok|\ PASSED|\ passed)(?:\ \(?[0.]+\ ?m?s\)?)?(?:\s*\[\ *0%\])?$
    """,
    re.VERBOSE,
)
_PASS_CUES = ("ok", "OK", "PASS", "passed", "\u2713", "\u2714", "\u2705")
_PASSING = "a test that passed"
_WORD = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 2


def fold_logs(text: str) -> str:
    """Fold the lines of a log that are of the same kind.

    Args:
        text: Any text.

    Returns:
        The text itself where there is too little of a log in it, or was folded
        already.
    """
    if not _FEWEST_LINES <= text.count("\n") <= _MOST_LINES or _SUMMARY in text:
        return text
    masked = _masked(text)
    if not any(cue in masked for cue in (*_EVENT_CUES, *_PASS_CUES)):
        return text
    lines = text.split("\n")
    kinds = _kinds(masked)
    middle = range(_HEAD_LINES, len(lines) - _TAIL_LINES - lines[-1:].count(""))
    gaps = list(_gaps(_left_out(kinds, middle)))
    return _written(lines, gaps, kinds) if gaps else text


def _masked(text: str) -> str:
    """A text with 0 in place of each number."""
    masked = text.translate(_ZEROS)
    while "00" in masked:
        masked = masked.replace("00", "0")
    return masked


def _kinds(masked: str) -> list[str]:
    """What is the same in all lines of a kind: the line without its numbers, or that it passed."""
    lines = masked.split("\n")
    distinct = list(dict.fromkeys(lines))  # few, where there is much to fold
    kinds = _IDS.sub("0", "\n".join(distinct)).split("\n")
    if any(cue in masked for cue in _PASS_CUES):
        kinds = [_PASSING if _is_pass(kind) else kind for kind in kinds]
    kind_of = dict(zip(distinct, kinds, strict=True))
    return [kind_of[line] for line in lines]


def _is_pass(kind: str) -> bool:
    return _PASSED.search(kind) is not None and not tells_of_failure(kind)


def _left_out(kinds: Sequence[str], middle: range) -> Iterator[int]:
    """Places of the lines that can go: neither the first nor the last of a kind that is folded."""
    counts = Counter(kinds[place] for place in middle)
    folded = {kind for kind, count in counts.items() if count >= _LEAST_LINES and _is_event(kind)}
    seen = dict.fromkeys(folded, 0)
    for place in middle:
        kind = kinds[place]
        if kind in folded:
            seen[kind] += 1
            is_between = 1 < seen[kind] < counts[kind]
            if is_between and not kinds[place + 1].startswith(MADE_PREFIX):
                yield place


def _is_event(kind: str) -> bool:
    if kind == _PASSING:
        return True
    is_marked = _EVENT.search(kind) is not None and not _DATA.match(kind)
    return is_marked and len(_WORD.findall(kind)) >= _LEAST_WORDS and not tells_of_failure(kind)


def _gaps(places: Iterator[int]) -> Iterator[range]:
    """Runs of places that are worth a marker."""
    start = stop = -1
    for place in places:
        if place != stop:
            if stop - start >= _LEAST_GAP:
                yield range(start, stop)
            start = place
        stop = place + 1
    if stop - start >= _LEAST_GAP:
        yield range(start, stop)


def _written(lines: Sequence[str], gaps: Sequence[range], kinds: Sequence[str]) -> str:
    kept: list[str] = []
    position = 0
    for gap in gaps:
        kept += lines[position : gap.start]
        kept.append(f"{MADE_PREFIX}{len(gap)} lines left out]")
        position = gap.stop
    kept.append(_summary(lines, gaps, kinds))
    return "\n".join((*kept, *lines[position:]))


def _summary(lines: Sequence[str], gaps: Sequence[range], kinds: Sequence[str]) -> str:
    """How many lines of which kind were left out."""
    counts = Counter(kinds[place] for gap in gaps for place in gap)
    examples = {kinds[place]: lines[place] for gap in reversed(gaps) for place in reversed(gap)}
    told = [
        f"{count} like {_example(examples[kind])}"
        for kind, count in counts.most_common(_KINDS_TOLD)
    ]
    others = sum(count for _, count in counts.most_common()[_KINDS_TOLD:])
    if others:
        told.append(f"{others} of {len(counts) - _KINDS_TOLD} other kinds")
    return f"{_SUMMARY}{'; '.join(told)}]"


def _example(line: str) -> str:
    words = line.strip()
    shown = words if len(words) <= _EXAMPLE_CHARACTERS else f"{words[:_EXAMPLE_CHARACTERS]} …"
    return f'"{shown}"'
