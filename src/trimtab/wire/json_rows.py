"""Look into JSON text without building it: is it JSON, and where are arrays of equal objects?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

import msgspec
from msgspec import Raw

from trimtab.errors import MalformedBodyError
from trimtab.wire.json_spans import Span, load, object_spans

__all__ = ["Rows", "is_sound", "uniform_arrays"]

Rows: TypeAlias = tuple[list[bytes], list[list[bytes]]]
"""Keys as JSON text, and the JSON texts of each object's values; shape ``(objects, keys)``."""

_DEEPEST = 6
"""Objects in objects that are looked into."""

_MOST_OBJECTS = 50_000
"""More of them would take seconds to compare."""

_KEY = re.compile(rb'("[^"\\]*+(?:\\.[^"\\]*+)*+"):')

_whole = msgspec.json.Decoder(Raw)
_objects = msgspec.json.Decoder(list[dict[str, Raw]])


def is_sound(text: bytes) -> bool:
    """Whether a text is JSON that some common parser reads; halves of characters may stand in it.

    Args:
        text: UTF-8.
    """
    try:
        _whole.decode(text)  # skips over all of it, and so reads all of it
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    else:
        return True
    try:
        load(text)
    except MalformedBodyError:
        return False
    return True


def uniform_arrays(text: bytes, least: int) -> Iterator[tuple[Span, Rows]]:
    """Find the arrays whose elements are objects with the same keys in the same order.

    Args:
        text: Compact JSON text of an object or array.
        least: Objects that an array has at least, 1 or more.

    Yields:
        The span of each such array, ascending, and what is in it. Arrays
        inside of arrays are not looked at, nor is anything that is written
        in an unusual way: the array can be put together again from its rows,
        byte for byte.
    """
    yield from _arrays(text, (0, len(text)), least, _DEEPEST)


def _arrays(text: bytes, span: Span, least: int, depth: int) -> Iterator[tuple[Span, Rows]]:
    value = text[slice(*span)]
    if value.startswith(b"["):
        rows = _rows(value, least)
        if rows:
            yield span, rows
    elif value.startswith(b"{") and depth:
        try:
            members = sorted(object_spans(value).values())
        except MalformedBodyError:
            return
        for start, stop in members:
            if value[start] in b"[{":
                yield from _arrays(text, (span[0] + start, span[0] + stop), least, depth - 1)


def _rows(array: bytes, least: int) -> Rows | None:
    try:
        objects = _objects.decode(array)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not least <= len(objects) <= _MOST_OBJECTS or not objects[0]:
        return None
    names = list(objects[0])
    if any(list(each) != names for each in objects):
        return None
    rows = [[bytes(value) for value in each.values()] for each in objects]
    keys = _keys(array, rows[0])
    return (keys, rows) if _joined(keys, rows) == array else None


def _keys(array: bytes, row: list[bytes]) -> list[bytes]:
    """The keys of the first object as they stand there."""
    keys: list[bytes] = []
    position = len(b"[{")
    for value in row:
        key = _KEY.match(array, position)
        if key is None:
            return []  # written in an unusual way
        keys.append(key[1])
        position = key.end() + len(value) + len(b",")
    return keys


def _joined(keys: list[bytes], rows: list[list[bytes]]) -> bytes:
    """The array that some rows were taken from, if it is written in the usual way."""
    if len(keys) != len(rows[0]):
        return b""
    named = [key + b":" for key in keys]
    objects = (b",".join(map(b"".join, zip(named, row, strict=True))) for row in rows)
    return b"[{" + b"},{".join(objects) + b"}]"
