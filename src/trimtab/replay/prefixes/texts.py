"""Where two JSON values part, and in which way two texts differ."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from trimtab.replay.prefixes.findings import Cause
from trimtab.wire.json_spans import Path, dump_sorted

__all__ = ["MISSING", "Difference", "difference", "first_unequal", "key_order", "text_cause"]


class _Missing:
    """Stands for a value that is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = _Missing()


class Difference(NamedTuple):
    """Where two values part.

    Attributes:
        path: Leads to it.
        before: What the older one has there; ``MISSING`` for nothing.
        after: What the newer one has there.
    """

    path: Path
    before: Any
    after: Any


def difference(before: Any, after: Any) -> Difference | None:  # noqa: ANN401 - JSON is whatever it is
    """Find the first place, in the order of the newer one, where two JSON values part.

    Returns:
        None where they are equal, whatever order their keys are in.
    """
    path: list[str | int] = []
    while before != after:
        step = _step(before, after)
        if step is None:
            return Difference(tuple(path), before, after)
        path.append(step)
        before, after = _at(before, step), _at(after, step)
    return None


def _step(before: Any, after: Any) -> str | int | None:  # noqa: ANN401 - the same
    """The key or place under which two values first part; None where they part here."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys: list[str] = [*after, *(key for key in before if key not in after)]
        return next(key for key in keys if _at(before, key) != _at(after, key))
    if isinstance(before, list) and isinstance(after, list):
        longest = range(max(len(before), len(after)))
        return next(place for place in longest if _at(before, place) != _at(after, place))
    return None


def _at(value: Any, step: str | int) -> Any:  # noqa: ANN401 - the same
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return MISSING


def key_order(before: Any, after: Any) -> Path | None:  # noqa: ANN401 - the same
    """Lead to the first object whose keys stand in another order, in two equal values."""
    waiting: list[tuple[Path, Any, Any]] = [((), before, after)]
    while waiting:
        path, old, new = waiting.pop(0)
        if isinstance(old, dict):
            if list(old) != list(new):
                return path
            waiting += [((*path, key), old[key], new[key]) for key in new]
        elif isinstance(old, list):
            pairs = zip(old, new, strict=True)
            waiting += [((*path, place), *pair) for place, pair in enumerate(pairs)]
    return None


def first_unequal(before: str | bytes, after: str | bytes) -> int:
    """Place of the first character that differs; the length of the shorter where none does."""
    most = min(len(before), len(after))
    low, high = 0, most
    while low < high:  # by halves, because slices are compared much faster than characters
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIMES = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T_ ]\d{2}[:h-]\d{2}(?:[:-]\d{2}(?:[.,]\d+)?)?)?"
    r"(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
    r"|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s?[ap]\.?m\b\.?)?(?:\s?(?:Z|UTC|GMT))?"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?\b,?"
    rf"|\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b,?(?:\s\d{{4}}\b)?"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s{_MONTH}(?:,?\s\d{{4}}\b)?"
    r"|\b1[5-9]\d{8}(?:\d{3}|\d{6})?(?:\.\d+)?\b"
    r"|\b\d+\s(?:second|minute|hour|day)s?\sago\b",
    re.IGNORECASE,
)
_IDS = re.compile(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    r"|\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{10,}\b",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+(?:[.,]\d+)*")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_ID_KEYS = frozenset(("id", "tool_use_id", "call_id", "tool_call_id", "item_id"))


def text_cause(found: Difference) -> Cause | None:
    """Say in which way two values differ, where that alone tells the cause; None where not."""
    before, after = found.before, found.after
    if found.path and found.path[-1] in _ID_KEYS:
        return "varying_id"
    if isinstance(before, int | float) and isinstance(after, int | float):
        before, after = str(before), str(after)
    if not (isinstance(before, str) and isinstance(after, str)):
        return None
    nested = _nested(before, after)
    if nested is not None:
        return nested
    if "".join(before.split()) == "".join(after.split()):
        return "whitespace_changed"
    if _unescaped(before) == _unescaped(after):
        return "escapes_changed"
    patterns: Mapping[Cause, re.Pattern[str]] = {
        "timestamp": _TIMES,
        "varying_id": _IDS,
        "varying_number": _NUMBERS,
    }
    # Times first, so that an id beside one does not hide it.
    for cause, pattern in patterns.items():
        before, after = (pattern.sub("\0", text) for text in (before, after))
        if before == after:
            return cause
    return None


def _nested(before: str, after: str) -> Cause | None:
    """The same for two texts that are JSON and say the same, as the arguments of a call."""
    if before[:1] not in ("{", "["):
        return None
    try:
        old, new = json.loads(before), json.loads(after)
    except (ValueError, RecursionError):
        return None
    if dump_sorted(old) != dump_sorted(new):
        return None
    if key_order(old, new) is not None:
        return "key_order_changed"
    is_spaced = "".join(before.split()) == "".join(after.split())
    return "whitespace_changed" if is_spaced else "escapes_changed"


def _unescaped(text: str) -> str:
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\/", "/")
    return unicodedata.normalize("NFC", html.unescape(text))
