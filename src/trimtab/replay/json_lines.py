"""Take recordings apart without copying them: lines, objects and lists as views of the file.

Everything handed out is a view of the bytes that came in, so a recording of
50 MB is held once, whatever is made of it. msgspec does the work; what it
refuses (lone surrogates, members of another type than expected) is read
member by member, and a member that does not fit counts as absent.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Raw

from trimtab.errors import MalformedBodyError
from trimtab.wire.json_spans import array_spans, load, object_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = [
    "ABSENT",
    "Bytes",
    "Line",
    "Shape",
    "begins",
    "documents",
    "elements",
    "elements_or_none",
    "first_lines",
    "lines",
    "mentions",
    "numbered",
    "skipped",
    "string",
    "trimmed",
    "value",
]

Bytes: TypeAlias = bytes | memoryview
"""JSON text: a whole, or a view of one."""

ABSENT = Raw()
"""Stands where a member is missing, for members that a shape takes as they are."""

_WHITESPACE = b" \t\r\n"
_BRACKET = ord("[")
_SPACE = re.compile(r"[ \t\r\n]*")
_SCANNER = json.JSONDecoder()
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_elements = msgspec.json.Decoder(list[Raw])
_REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Line(NamedTuple):
    """One line of a file that is not blank.

    Attributes:
        number: Which it is, counted from 1, blank lines included.
        text: What stands on it, without the whitespace around.
    """

    number: int
    text: memoryview


def lines(text: bytes) -> Iterator[Line]:
    """Go through the lines that are not blank."""
    whole = memoryview(text)
    number = start = 0
    while start < len(text):
        stop = text.find(b"\n", start)
        stop = len(text) if stop < 0 else stop
        number += 1
        first, last = _without_space(text, start, stop)
        if first < last:
            yield Line(number, whole[first:last])
        start = stop + 1


def first_lines(text: bytes, count: int) -> bytes:
    """Cut a file behind its first lines; one that has no more is not copied."""
    stop = 0
    for _ in range(count):
        stop = text.find(b"\n", stop) + 1
        if not stop:
            return text
    return text[:stop]


def trimmed(text: Bytes) -> memoryview:
    """View a text without the whitespace around it."""
    view = memoryview(text)  # a `Raw` has no places of its own
    start, stop = _without_space(view, 0, len(view))
    return view[start:stop]


def _without_space(text: Bytes, start: int, stop: int) -> tuple[int, int]:
    """Narrow a span of a text to what is no whitespace."""
    while start < stop and text[start] in _WHITESPACE:
        start += 1
    while start < stop and text[stop - 1] in _WHITESPACE:
        stop -= 1
    return start, stop


class Shape(Generic[_Struct]):
    """Reads those members of a JSON object that a struct names, and skips the others.

    Every member of the struct needs a default.
    """

    def __init__(
        self, struct: type[_Struct], inner: Mapping[str, Shape[Any]] | None = None
    ) -> None:
        """Prepare to read.

        Args:
            struct: What is read.
            inner: Shapes of those members that are themselves read member by
                member where something in them does not fit. Any other counts
                as absent as a whole then.
        """
        self._struct = struct
        self._inner = inner or {}
        self._decoder = msgspec.json.Decoder(struct)
        self._list_decoder = msgspec.json.Decoder(list[struct])  # type: ignore[valid-type]

    def read(self, text: Bytes) -> _Struct:
        """Read an object.

        Raises:
            MalformedBodyError: If the text is no JSON object.
        """
        try:
            return self._decoder.decode(text)
        except _REFUSALS:
            if not begins(trimmed(text), b"{"):
                raise MalformedBodyError("no JSON object", offset=0) from None
            return self._read_each_member(bytes(text))

    def read_or_none(self, text: Bytes) -> _Struct | None:
        """Read an object; None where the text is none."""
        try:
            return self.read(text)
        except MalformedBodyError:
            return None

    def read_each(self, text: Bytes) -> list[tuple[memoryview, _Struct]]:
        """Read the objects in a list, each with its text; what is no object is left out.

        Args:
            text: A list, without whitespace around it; anything else holds no objects.
        """
        view = memoryview(text)
        if not view.nbytes or view[0] != _BRACKET:
            return []
        try:
            found = self._list_decoder.decode(view)
        except _REFUSALS:
            read = ((raw, self.read_or_none(raw)) for raw in elements_or_none(text) or ())
            return [(memoryview(raw), each) for raw, each in read if each is not None]
        if len(found) == 1:  # as most lists are; it is what lies between the brackets
            start, stop = _without_space(view, 1, view.nbytes - 1)
            return [(view[start:stop], found[0])]
        return [(memoryview(raw), each) for raw, each in zip(elements(text), found, strict=True)]

    def read_lines(self, data: bytes, broken: list[int]) -> Iterator[tuple[memoryview, _Struct]]:
        """Go through the objects on the lines of a file, each with its text.

        Args:
            data: The whole file.
            broken: Gets the numbers of the lines that are no objects.
        """
        for number, text in lines(data):
            found = self.read_or_none(text)
            if found is None:
                broken.append(number)
            else:
                yield text, found

    def _read_each_member(self, text: bytes) -> _Struct:
        spans = object_spans(text)
        values: dict[str, object] = {}
        for field in msgspec.structs.fields(self._struct):
            if field.encode_name not in spans:
                continue
            start, stop = spans[field.encode_name]
            if field.type is Raw:
                values[field.name] = Raw(text[start:stop])
                continue
            if field.name in self._inner:
                values[field.name] = self._inner[field.name].read_or_none(text[start:stop])
                continue
            try:
                values[field.name] = msgspec.convert(load(text[start:stop]), field.type)
            except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: a key is no UTF-8
                continue
        return self._struct(**values)


def begins(text: Bytes, mark: bytes) -> bool:
    """Say whether a text begins with some bytes, such as the bracket of a list."""
    return bytes(memoryview(text)[: len(mark)]) == mark


def elements(text: Bytes) -> list[Raw]:
    """Split a list.

    Raises:
        MalformedBodyError: If the text is no JSON list.
    """
    try:
        return _elements.decode(text)
    except _REFUSALS:
        whole = bytes(text)
        return [Raw(whole[start:stop]) for start, stop in array_spans(whole)]


def elements_or_none(text: Bytes) -> list[Raw] | None:
    """Split a list; None where the text is none."""
    if not begins(text, b"["):
        return None
    try:
        return elements(text)
    except MalformedBodyError:
        return None


def mentions(data: bytes, *keys: bytes) -> bool:
    """Say whether all of some keys stand anywhere in a file: far quicker than reading it."""
    return all(b'"%b"' % key in data for key in keys)


def documents(data: bytes) -> tuple[list[Any], bool]:
    """Decode JSON values that stand behind each other.

    Args:
        data: The whole file.

    Returns:
        The values, and whether anything was skipped: what is cut off or no JSON.
    """
    try:
        return [load(data)], False
    except MalformedBodyError:
        pass
    text = data.decode("utf-8", "replace")
    values: list[Any] = []
    start = _after_space(text, 0)
    is_cut = False
    while start < len(text):
        try:
            found, start = _SCANNER.raw_decode(text, start)
            values.append(found)
        except (ValueError, RecursionError):
            is_cut = True
            start = text.find("\n", start)
            if start < 0:
                break
        start = _after_space(text, start)
    return values, is_cut


def _after_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def value(text: Bytes) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """Decode a member; one that is absent or cannot be read is None."""
    if not len(text):
        return None
    try:
        return load(bytes(text))
    except MalformedBodyError:
        return None


def string(text: Bytes) -> str:
    """Decode a member that should be a string; anything else is empty."""
    decoded = value(text) if begins(text, b'"') else ""
    return decoded if isinstance(decoded, str) else ""


def skipped(numbers: Sequence[int], what: str = "no JSON objects") -> tuple[str, ...]:
    """Say in a note which lines were skipped, and what they are beside cut off; none, no note."""
    return (f"skipped lines that are cut off or {what}: {numbered(numbers)}",) if numbers else ()


def numbered(numbers: Sequence[int]) -> str:
    """Name lines in a note: the first five, and how many more."""
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return ", ".join(map(str, numbers[:5])) + more
