"""Lines, sentences and clauses, and how a text is shortened at their ends."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "GAP",
    "clauses",
    "joined",
    "one_line",
    "pieces",
    "shortened",
    "tidy",
    "without",
    "word_cut",
]

GAP = "…"
"""Stands where something was left out."""

_BREAK = re.compile("\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"""[.!?…]+["'”’»)\]]*(?=\s+[^\sa-zà-ÿа-я])|[。！？]+[”’」』）]*|।|؟""")
_NO_END = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|vs|etc|cf|no|nr|mr|mrs|ms|dr|z\.b|bzw|ca|\w|\d{1,3})\.$",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(
    r"[;；]\s*|,\s+(?=(?:and|but|und|aber|et|mais|y|pero|mas|ma|en|maar|ale|и|но|ve|ama)\s)"
    r"|[，、,](?=并且|而且|但是|但)"
)
_LEAST_WORDS = 3


def tidy(text: str) -> str:
    """The same words with plain line breaks, and without empty lines and blanks at line ends."""
    lines = (line.rstrip() for line in _BREAK.split(text))
    return "\n".join(line for line in lines if line.strip())


def one_line(text: str) -> str:
    """The same words on one line."""
    return " ".join(text.split())


def pieces(text: str) -> list[str]:
    """Cut a text into its sentences; a line break ends one. Joined, they are the text.

    Args:
        text: A tidy text.
    """
    found: list[str] = []
    for line in text.splitlines(keepends=True):
        start = 0
        for end in _SENTENCE_END.finditer(line):
            stop = end.end()
            if _NO_END.search(line[start:stop]):
                continue
            while stop < len(line) and line[stop] in " \t":
                stop += 1
            found.append(line[start:stop])
            start = stop
        if start < len(line):
            found.append(line[start:])
    return found


def clauses(text: str) -> list[str]:
    """Cut a text into sentences, and these into clauses of three words or more."""
    return [clause for piece in pieces(text) for clause in _clauses(piece)]


def _clauses(sentence: str) -> Iterator[str]:
    start = 0
    for end in _CLAUSE_END.finditer(sentence):
        if _is_short(sentence[start : end.end()]) or _is_short(sentence[end.end() :]):
            continue
        yield sentence[start : end.end()]
        start = end.end()
    yield sentence[start:]


def _is_short(text: str) -> bool:
    return len(text.split()) < _LEAST_WORDS and text.isascii()


def without(parts: Sequence[str], dropped: Callable[[int], bool]) -> str:
    """Join parts of a text, with a sign where some are left out.

    Args:
        parts: What joins to the whole text.
        dropped: Says of the place of a part whether it is left out.

    Returns:
        The text; empty where all parts are left out.
    """
    return joined(parts, [place for place in range(len(parts)) if not dropped(place)])


def joined(parts: Sequence[str], kept: Sequence[int]) -> str:
    """Join those parts of a text that are kept, with a sign in each gap.

    Args:
        parts: What joins to the whole text.
        kept: Places, ascending.
    """
    if not kept:
        return ""
    told: list[str] = []
    expected = 0
    for place in kept:
        if place != expected:
            _add_gap(told)
        told.append(parts[place])
        expected = place + 1
    if expected != len(parts):
        _add_gap(told)
    return "".join(told).strip()


def _add_gap(told: list[str]) -> None:
    before = told[-1] if told else ""
    if before.rstrip().endswith(GAP):
        return
    if before:
        told[-1] = before.rstrip(" \t")
    told.append(f"{'' if not before or before.endswith(chr(10)) else ' '}{GAP} ")


def shortened(text: str, worth: Callable[[str], float], fits: Callable[[str], bool]) -> str:
    """Quote as much of a text as fits: whole sentences, the worthiest first.

    Args:
        text: A tidy text.
        worth: How much a sentence matters.
        fits: Whether a quotation is short enough.

    Returns:
        The text itself where it fits; empty where not even a few words do.
    """
    if fits(text):
        return text
    parts = pieces(text)
    telling = [place for place, part in enumerate(parts) if any(map(str.isalnum, part))]
    order = sorted(telling, key=lambda place: (-worth(parts[place]), place))
    kept: list[int] = []
    misses = 0
    for place in order:
        tried = sorted((*kept, place))
        if fits(joined(parts, tried)):
            kept = tried
        else:
            misses += 1
            if misses > _MOST_MISSES:
                break
    if kept or not order:
        return joined(parts, kept)
    return word_cut(parts[order[0]], fits)


_MOST_MISSES = 8


def word_cut(text: str, fits: Callable[[str], bool]) -> str:
    """Quote the beginning of a sentence, up to the end of a word; empty where that is too short."""
    ends = [
        blank.start()
        for blank in re.finditer(r"(?<!\\)\s+", text)
        if _is_parting(text, blank.end())
    ]
    low, high = 0, len(ends)  # the longest run of words that fits, by halving
    while low < high:
        middle = (low + high + 1) // 2
        if fits(f"{text[: ends[middle - 1]].rstrip()} {GAP}"):
            low = middle
        else:
            high = middle - 1
    return f"{text[: ends[low - 1]].rstrip()} {GAP}" if low >= _LEAST_WORDS else ""


def _is_parting(text: str, place: int) -> bool:
    """Whether a character begins at a place, and not a sign that joins the blank before it."""
    return place >= len(text) or unicodedata.combining(text[place]) == 0
