"""Find where things lie in JSON text, without rebuilding any of it.

Two splitters give the same spans. The fast one is msgspec, which skips over
values in C; where it refuses (lone surrogates, NaN, exotic numbers) the
standard library's scanner reads the text as Latin-1, in which a character is
a byte, so its offsets are byte offsets. What neither reads is malformed.

The law of this file: a span is found, never guessed. Wherever a shortcut
could hit a second place that looks the same, the slow way decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from json.decoder import JSONDecodeError, JSONDecoder
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from trimtab.errors import MalformedBodyError

__all__ = [
    "Path",
    "Span",
    "Splice",
    "array_spans",
    "continue_array",
    "drop_elements",
    "drop_members",
    "dump",
    "dump_sorted",
    "dumped",
    "encode_json_text",
    "find_history",
    "has_key",
    "insert_element",
    "is_json",
    "load",
    "load_text",
    "locate",
    "object_spans",
    "splice",
    "whole_number",
]

Span: TypeAlias = tuple[int, int]
"""Start and stop in bytes, as a slice takes them."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and places that lead from a JSON value to one inside it."""

Splice: TypeAlias = tuple[int, int, bytes]
"""A span, and what stands there instead."""

_WHITESPACE = b" \t\n\r"
_MOST_DIGITS = 18
_BETWEEN = b" \t\n\r,"
_KEY = re.compile(rb'[\s,]*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)

_members = msgspec.json.Decoder(dict[str, Raw])
_elements = msgspec.json.Decoder(list[Raw])


def _nothing(_: str) -> None:
    """Stand in for a number: only its place matters, and 5,000 digits would raise."""


_SCANNER = JSONDecoder(parse_int=_nothing, parse_float=_nothing, parse_constant=_nothing)


def _keep_digits(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float("inf")


_READER = JSONDecoder(parse_int=_keep_digits)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


_STRICT = JSONDecoder(parse_int=_nothing, parse_float=_nothing, parse_constant=_refuse)


# --------------------------------------------------------------------- spans


def object_spans(text: bytes) -> dict[str, Span]:
    """Find the values of an object.

    Args:
        text: JSON text of an object, whitespace around it allowed.

    Returns:
        The span of each value by key, in the order of the text. Of a key
        that stands there twice, the last value counts, as it does for every
        common parser.

    Raises:
        MalformedBodyError: If the text is not an object, or not JSON at all.
    """
    try:
        raws = _members.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _scan_object(text)
    return _walk_object(text, raws) or _scan_object(text)


def array_spans(text: bytes) -> list[Span]:
    """Find the elements of an array.

    Args:
        text: JSON text of an array, whitespace around it allowed.

    Returns:
        The span of each element, in order.

    Raises:
        MalformedBodyError: If the text is not an array, or not JSON at all.
    """
    try:
        raws = _elements.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _scan_array(text)
    return _walk_array(text, raws, text.index(b"[") + 1)


def _walk_array(text: bytes, raws: Sequence[Raw], position: int) -> list[Span]:
    """Turn the lengths that msgspec found into places, stepping over what stands between."""
    spans: list[Span] = []
    for raw in raws:
        while text[position] in _BETWEEN:
            position += 1
        stop = position + memoryview(raw).nbytes
        spans.append((position, stop))
        position = stop
    return spans


def _walk_object(text: bytes, raws: dict[str, Raw]) -> dict[str, Span] | None:
    """Turn lengths into places; None where a key that stands twice makes them unsure."""
    spans: dict[str, Span] = {}
    position = text.index(b"{") + 1
    while key := _KEY.match(text, position):
        name = load(key[1])
        raw = memoryview(raws[name])
        start, stop = key.end(), key.end() + raw.nbytes
        # Not a comparison of views: in CPython that goes byte by byte.
        if not text.startswith(raw, start):
            return None
        spans.pop(name, None)
        spans[name] = (start, stop)
        position = stop
    # A number that begins like the one that counts ends too early: 12 for 1.
    return spans if _step(text, position, b"}") >= 0 else None


def _scan_object(text: bytes) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    for name, _, span in _scan_members(text):
        spans.pop(name, None)
        spans[name] = span
    return spans


def _scan_members(text: bytes) -> Iterator[tuple[str, int, Span]]:
    """Find every member of an object, hidden ones too: its name, where its key begins, its value."""
    letters = text.decode("latin-1")
    position = _open(letters, "{")
    is_first = True
    while (position := _skip(letters, position)) < len(letters) and letters[position] != "}":
        if not is_first:
            position = _skip(letters, _expect(letters, position, ","))
        is_first, key = False, position
        _, position = _scan(letters, key)
        if letters[key] != '"':
            raise MalformedBodyError("a key is not a string", offset=key)
        name = load(text[key:position])
        start = _skip(letters, _expect(letters, _skip(letters, position), ":"))
        _, position = _scan(letters, start)
        yield name, key, (start, position)
    _close(letters, position, "}")


def _scan_array(text: bytes) -> list[Span]:
    letters = text.decode("latin-1")
    position = _open(letters, "[")
    spans: list[Span] = []
    while (position := _skip(letters, position)) < len(letters) and letters[position] != "]":
        if spans:
            position = _skip(letters, _expect(letters, position, ","))
        start = position
        _, position = _scan(letters, start)
        spans.append((start, position))
    _close(letters, position, "]")
    return spans


def _scan(letters: str, position: int) -> tuple[Any, int]:
    try:
        return _SCANNER.raw_decode(letters, position)
    except JSONDecodeError as error:
        raise _malformed(error.msg, error.pos, letters) from None
    except RecursionError:
        raise MalformedBodyError("nested too deeply to be read", offset=position) from None


def _skip(letters: str, position: int) -> int:
    while position < len(letters) and letters[position] in " \t\n\r":
        position += 1
    return position


_NOT_JSON = {
    "\xef\xbb\xbf": "it begins with a byte order mark; send UTF-8 without one",
    "\xff\xfe": "it looks like UTF-16; send UTF-8",
    "\xfe\xff": "it looks like UTF-16; send UTF-8",
    "\x1f\x8b": "it is compressed with gzip; undo the content encoding first",
    "\x28\xb5\x2f\xfd": "it is compressed with zstd; undo the content encoding first",
}
"""First bytes, as Latin-1, of what people send instead of JSON."""


def _open(letters: str, bracket: str) -> int:
    position = _skip(letters, 0)
    if position == len(letters):
        raise MalformedBodyError("empty: there is no JSON in it", offset=0)
    wanted = "an object" if bracket == "{" else "a list"
    for first, what in _NOT_JSON.items():
        if letters.startswith(first):
            raise MalformedBodyError(f"not JSON: {what}", offset=0)
    if letters[position] != bracket:
        _, stop = _scan(letters, position)
        _close_text(letters, stop)
        raise MalformedBodyError(f"JSON, but not {wanted}", offset=position)
    return position + 1


def _expect(letters: str, position: int, mark: str) -> int:
    if position >= len(letters) or letters[position] != mark:
        raise _malformed(f"expected {mark!r}", position, letters)
    return position + 1


def _close(letters: str, position: int, bracket: str) -> None:
    _close_text(letters, _expect(letters, position, bracket))


def _close_text(letters: str, position: int) -> None:
    position = _skip(letters, position)
    if position < len(letters):
        raise MalformedBodyError("something follows after the end of the JSON", offset=position)


def _malformed(what: str, position: int, letters: str) -> MalformedBodyError:
    is_open = what.startswith("Invalid \\uXXXX") and '"' not in letters[position:]
    if position >= len(letters) or what.startswith("Unterminated") or is_open:
        return MalformedBodyError(
            "the JSON is cut off: it ends before it is complete", offset=len(letters)
        )
    what = what.removesuffix(" at")
    return MalformedBodyError(f"not JSON: {what[:1].lower()}{what[1:]}", offset=position)


# ------------------------------------------------------------------- history


def find_history(text: bytes, field: str, raws: Sequence[Raw]) -> tuple[Span, list[Span]] | None:
    """Find where the elements of a top-level array lie that msgspec has already split.

    A key in quotes cannot stand inside a string (there its quotes are
    escaped), so its occurrences are few. The first that the elements fit must
    be the one that counts: at the top of the object, and the last of its
    name. Where it is not, the answer is None and the caller goes the slow
    way.

    Args:
        text: The body.
        field: Key of the array.
        raws: Its elements as msgspec gave them, in order.

    Returns:
        The span of the array with its brackets, and one span an element.
    """
    key = json.dumps(field).encode()
    start = text.find(key)
    while start >= 0:
        position = start + len(key)
        found = _try_history(text, position, raws)
        if found is not None:
            return found if _is_member(text, start, found[0][1], field) else None
        start = text.find(key, position)
    return None


def continue_array(
    text: bytes, start: int, raws: Sequence[Raw], field: str
) -> tuple[int, list[Span]] | None:
    """Find where the last elements of a top-level array lie that msgspec has already split.

    Args:
        text: The body.
        start: Place behind the last element that is known.
        raws: The elements behind it as msgspec gave them, in order.
        field: Key of the array.

    Returns:
        The place behind the array, and one span an element; None where that leaves a doubt.
    """
    found = _walk_elements(text, start, raws)
    if found is None or not _is_last(text, found[0], field):
        return None
    return found


def _is_member(text: bytes, key_start: int, stop: int, field: str) -> bool:
    """Whether a key and its value are a member of the whole object, and no later one hides it."""
    if text[key_start - 1 : key_start] == b"\\":
        return False  # its first quote stands inside a longer key
    try:
        _members.decode(text[:key_start] + b'"":0}')
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return _is_last(text, stop, field)


def _is_last(text: bytes, stop: int, field: str) -> bool:
    """Whether a whole object goes on behind a value of its own, and no later one hides that."""
    try:
        return field not in _members.decode(b'{"":0' + text[stop:])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _try_history(text: bytes, position: int, raws: Sequence[Raw]) -> tuple[Span, list[Span]] | None:
    start = _step(text, _step(text, position, b":"), b"[")
    if start < 0:
        return None
    found = _walk_elements(text, start, raws)
    return None if found is None else ((start - 1, found[0]), found[1])


def _walk_elements(
    text: bytes, position: int, raws: Sequence[Raw]
) -> tuple[int, list[Span]] | None:
    """Walk over elements up to behind the end of their array; None where they are not there."""
    spans: list[Span] = []
    for raw in raws:
        view = memoryview(raw)
        while position < len(text) and text[position] in _BETWEEN:
            position += 1
        stop = position + view.nbytes
        # The first bytes tell a false place at once; the caller makes sure of a true one.
        if not text.startswith(view[:32], position):
            return None
        spans.append((position, stop))
        position = stop
    stop = _step(text, position, b"]")
    return None if stop < 0 else (stop, spans)


def _step(text: bytes, position: int, mark: bytes) -> int:
    """Step over whitespace and one mark; -1 where it is not there."""
    if position < 0:
        return -1
    while position < len(text) and text[position] in _WHITESPACE:
        position += 1
    return position + 1 if text[position : position + 1] == mark else -1


def has_key(text: bytes, key: str) -> bool:
    """Whether some object in a JSON text has a key, however deep."""
    quoted = json.dumps(key).encode()
    start = text.find(quoted)
    while start >= 0:
        stop = start + len(quoted)
        if _step(text, stop, b":") >= 0:
            return True
        start = text.find(quoted, stop)
    return False


# -------------------------------------------------------------------- values


def load(text: bytes) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """Decode JSON text.

    Numbers beyond what Python converts quickly become infinite: decoded
    values are looked at, never written.

    Raises:
        MalformedBodyError: If it is not JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return _READER.decode(text.decode("utf-8", "surrogateescape"))
    except JSONDecodeError as error:
        place = len(error.doc[: error.pos].encode("utf-8", "surrogateescape"))
        raise _malformed(error.msg, place, text.decode("latin-1")) from None
    except RecursionError:
        raise MalformedBodyError("nested too deeply to be read", offset=0) from None


def encode_json_text(text: str) -> bytes:
    """Encode text that is JSON already; a lone surrogate in it becomes the escape that it stands for."""
    return text.encode("utf-8", "backslashreplace")


def is_json(text: bytes) -> bool:
    """Whether a text is JSON as the standard has it, in which there is no NaN and no Infinity."""
    try:
        _STRICT.decode(text.decode("latin-1"))
    except (ValueError, RecursionError):
        return False
    return True


def load_text(text: bytes) -> str:
    """Decode a JSON string; anything else becomes its JSON text."""
    value = load(text)
    return value if isinstance(value, str) else text.decode("utf-8", "replace")


def whole_number(text: bytes | None) -> int | None:
    """Decode a whole number; anything else, and nothing at all, is None."""
    if text is None or not text.isdigit() or len(text) > _MOST_DIGITS:
        return None
    return int(text)


def dump(value: Any) -> bytes:  # noqa: ANN401 - JSON is whatever it is
    """Encode a value as compact JSON in UTF-8.

    What UTF-8 cannot hold (a lone surrogate) is written as the escape that it came from.
    """
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        pass
    match value:
        case dict():
            members = (dump(key) + b":" + dump(inner) for key, inner in value.items())
            return b"{" + b",".join(members) + b"}"
        case list() | tuple():
            return b"[" + b",".join(map(dump, value)) + b"]"
        case _:
            return json.dumps(value).encode()


def dumped(text: bytes) -> Any:  # noqa: ANN401 - what :func:`dump` takes
    """JSON text, to stand in a value that is dumped as it is."""
    return Raw(text)


def dump_sorted(value: Any) -> bytes:  # noqa: ANN401 - JSON is whatever it is
    """Encode a value so that the order of keys makes no difference; arrays keep their order."""
    try:
        return msgspec.json.encode(value, order="sorted")
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def locate(text: bytes, path: Path) -> Span:
    """Find one value inside a JSON value.

    Args:
        text: JSON text of an object or array.
        path: Keys and places that lead to it; the empty path is the whole.

    Raises:
        MalformedBodyError: If there is no such value.
    """
    start, stop = 0, len(text)
    for step in path:
        inner = text[start:stop]
        try:
            low, high = (
                object_spans(inner)[step] if isinstance(step, str) else array_spans(inner)[step]
            )
        except (KeyError, IndexError):
            raise MalformedBodyError(f"there is no {step!r}", offset=start) from None
        start, stop = start + low, start + high
    return start, stop


def splice(text: bytes, splices: Iterable[Splice]) -> bytes:
    """Put other bytes in place of some spans; all else stays.

    Args:
        text: The original.
        splices: What goes where; spans must not overlap. Two at the same
            place keep their order.
    """
    pieces: list[bytes] = []
    position = 0
    for start, stop, new in sorted(splices, key=lambda item: (item[0], item[1])):
        pieces += (text[position:start], new)
        position = stop
    pieces.append(text[position:])
    return b"".join(pieces)


def drop_elements(array: Span, elements: Sequence[Span], gone: Iterable[int]) -> list[Splice]:
    """Say what to cut so that some elements leave an array and the others keep their bytes.

    Args:
        array: Span of the array with its brackets.
        elements: Span of each element, in the same text.
        gone: Places of those that leave.
    """
    leaving = set(gone)
    staying = [place for place in range(len(elements)) if place not in leaving]
    if not staying:
        return [(array[0] + 1, array[1] - 1, b"")]
    splices: list[Splice] = []
    last = staying[-1]
    for place in sorted(leaving):
        # One that others follow leaves with the comma behind it, a last one
        # with the comma before it.
        if place < last:
            splices.append((elements[place][0], elements[place + 1][0], b""))
        else:
            splices.append((elements[place - 1][1], elements[place][1], b""))
    return splices


def drop_members(text: bytes, gone: Container[str]) -> list[Splice]:
    """Say what to cut so that some members leave an object and the others keep their bytes.

    Args:
        text: JSON text of the object.
        gone: Keys of those that leave.
    """
    found = list(_scan_members(text))
    whole = (text.index(b"{"), text.rindex(b"}") + 1)
    members = [(key, stop) for _, key, (_, stop) in found]
    places = [place for place, (name, _, _) in enumerate(found) if name in gone]
    return drop_elements(whole, members, places)


def insert_element(array: Span, elements: Sequence[Span], new: bytes) -> Splice:
    """Say what to put in so that an array gets one more element at its end."""
    if elements:
        return (elements[-1][1], elements[-1][1], b"," + new)
    return (array[0] + 1, array[1] - 1, new)
