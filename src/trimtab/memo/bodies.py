"""A request taken apart: its messages, and what stands beside them.

A body is bytes, text or a dict. Everything inside is spoken of as JSON text,
whatever it came as; what is put together again has the type that it came as,
and all that nobody named is what it was.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from typing import Any, ClassVar

from trimtab.wire import FORMATS, Format
from trimtab.wire.format import may_be_bare
from trimtab.wire.json_spans import (
    Span,
    array_spans,
    dump,
    dump_sorted,
    encode_json_text,
    insert_element,
    load,
    object_spans,
    splice,
)

__all__ = ["Body", "NoListError", "take_apart"]

_FORMATS: Mapping[str, Format] = {
    field: max(
        (each for each in FORMATS if each.history_field == field),
        key=lambda each: len(each.marker_keys),
    )
    for field in ("messages", "input", "contents")
}
"""Where the list of messages may lie; the first that is there is looked at."""


class NoListError(Exception):
    """There is no list of messages where one was looked for, or something in it is no JSON."""


class Body(ABC):
    """A request taken apart.

    Attributes:
        kind: Whether it came as JSON or as objects; what was kept of one is no use for the other.
        field: Key of its list of messages.
        format: A format that has its list there; of several the one with most cache markers.
        count: How many messages there are.
    """

    kind: ClassVar[bytes]

    def __init__(self, field: str, count: int) -> None:
        self.field = field
        self.format = _FORMATS[field]
        self.count = count

    @abstractmethod
    def message(self, place: int) -> bytes:
        """One message as JSON text.

        Raises:
            NoListError: If it cannot be written as JSON and read again the same.
        """

    @abstractmethod
    def forms(self) -> Iterator[bytes | memoryview]:
        """The canonical forms of the messages, up to the first that is no JSON."""

    @abstractmethod
    def member(self, key: str) -> bytes | None:
        """What stands under a top-level key, as JSON text; None where it is not there."""

    @abstractmethod
    def member_form(self, key: str) -> bytes | None:
        """The same, whatever order the keys of a program's own objects are in."""

    @abstractmethod
    def markable(self, place: int) -> bytes:
        """One message as JSON text where it may hold cache markers; else nothing."""

    @abstractmethod
    def put_together(
        self, lead: Sequence[bytes], messages: Mapping[int, bytes], members: Mapping[str, bytes]
    ) -> object:
        """The same request with other messages.

        Args:
            lead: Messages that are put in before the first.
            messages: What stands instead of some messages, by their places.
            members: What stands under some top-level keys.
        """

    def is_led(self) -> bool:
        """Whether it begins with a system or developer message."""
        if not self.count:
            return False
        try:
            first = load(self.message(0))
        except NoListError:
            return False
        return isinstance(first, dict) and first.get("role") in ("system", "developer")


def take_apart(body: object) -> Body:
    """Take a body apart.

    Raises:
        NoListError: If it is no request with a list of messages.
        MalformedBodyError: If it is not JSON.
    """
    match body:
        case bytes():
            return _Written(body)
        case str():
            return _Text(body)
        case dict():
            return _Objects(body)
        case _:
            raise NoListError


class _Written(Body):
    """A body that came as JSON: what is not replaced keeps its bytes."""

    kind = b"json"

    def __init__(self, body: bytes) -> None:
        members = object_spans(body)
        field = _history_field(members)
        start, stop = members[field]
        if body[start : start + 1] != b"[":
            raise NoListError
        inner = array_spans(body[start:stop])
        super().__init__(field, len(inner))
        self._body = body
        self._members = members
        self._spans: list[Span] = [(start + low, start + high) for low, high in inner]

    def message(self, place: int) -> bytes:
        return self._body[slice(*self._spans[place])]

    def forms(self) -> Iterator[bytes | memoryview]:
        view = memoryview(self._body)
        for start, stop in self._spans:
            if self._may_hold_markers or may_be_bare(self._body, start, stop):
                yield self.format.canonical(self._body[start:stop])
            else:
                yield view[start:stop]

    @cached_property
    def _may_hold_markers(self) -> bool:
        return self.format.may_hold_markers(self._body)

    def member(self, key: str) -> bytes | None:
        return self._body[slice(*self._members[key])] if key in self._members else None

    def member_form(self, key: str) -> bytes | None:
        return self.member(key)

    def markable(self, place: int) -> bytes:
        return self.message(place) if self._may_hold_markers else b""

    def put_together(
        self, lead: Sequence[bytes], messages: Mapping[int, bytes], members: Mapping[str, bytes]
    ) -> object:
        splices = [(*self._spans[place], message) for place, message in messages.items()]
        if lead and self._spans:
            start = self._spans[0][0]
            splices.append((start, start, b"".join(each + b"," for each in lead)))
        added = []
        for key, value in members.items():
            if key in self._members:
                splices.append((*self._members[key], value))
            else:
                added.append(dump(key) + b":" + value)
        if added:
            spans = sorted(self._members.values())
            splices.append(insert_element((0, len(self._body)), spans, b",".join(added)))
        return splice(self._body, splices)


class _Text(_Written):
    """The same as text."""

    def __init__(self, body: str) -> None:
        super().__init__(body.encode("utf-8", "surrogatepass"))

    def put_together(
        self, lead: Sequence[bytes], messages: Mapping[int, bytes], members: Mapping[str, bytes]
    ) -> object:
        body = super().put_together(lead, messages, members)
        assert isinstance(body, bytes)
        return body.decode("utf-8", "surrogatepass")


class _Objects(Body):
    """A body that came as a dict: what is not replaced is the very same object."""

    kind = b"objects"

    def __init__(self, body: dict[Any, Any]) -> None:
        field = _history_field(body)
        messages = body[field]
        if not isinstance(messages, list):
            raise NoListError
        super().__init__(field, len(messages))
        self._body = body
        self._messages: list[Any] = messages[:]

    def message(self, place: int) -> bytes:
        return _same_again(self._messages[place])

    def forms(self) -> Iterator[bytes | memoryview]:
        for form in self._sorted:
            yield self.format.canonical(form)

    @cached_property
    def _sorted(self) -> list[bytes]:
        """The messages with their keys sorted, up to the first that is no JSON."""
        found: list[bytes] = []
        with suppress(NoListError):
            found.extend(_sorted_form(message) for message in self._messages)
        return found

    def member(self, key: str) -> bytes | None:
        return _same_again(self._body[key]) if key in self._body else None

    def member_form(self, key: str) -> bytes | None:
        return _sorted_form(self._body[key]) if key in self._body else None

    def markable(self, place: int) -> bytes:
        if place >= len(self._sorted) or not self.format.may_hold_markers(self._sorted[place]):
            return b""
        try:
            return _same_again(self._messages[place])
        except NoListError:
            return b""  # it was never recorded either

    def put_together(
        self, lead: Sequence[bytes], messages: Mapping[int, bytes], members: Mapping[str, bytes]
    ) -> object:
        changed = list(self._messages)
        for place, message in messages.items():
            changed[place] = load(message)
        changed[:0] = [load(each) for each in lead]
        body = copy(self._body)
        body[self.field] = changed
        body.update((key, load(value)) for key, value in members.items())
        return body


def _history_field(members: Mapping[str, object]) -> str:
    for field in _FORMATS:
        if field in members:
            return field
    raise NoListError


def _sorted_form(value: object) -> bytes:
    """Write an object so that the order of keys makes no difference."""
    return _read_back(dump_sorted, value) or _strictly_written(value)


def _same_again(value: object) -> bytes:
    """Write an object from which it can be read again."""
    text = _read_back(dump, value)
    if text is None:
        raise NoListError
    return text


def _read_back(write: Callable[[Any], bytes], value: object) -> bytes | None:
    """Write an object with a quick encoder that takes more than JSON; None where it took too much."""
    try:
        text = write(value)
        return text if load(text) == value else None
    except (TypeError, ValueError, RecursionError):
        return None


_STRICT = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True
)
"""Writes JSON as the standard has it, in which there is no NaN."""


def _strictly_written(value: object) -> bytes:
    try:
        text = _STRICT.encode(value)
    except (TypeError, ValueError, RecursionError):
        # Without the cause: its words may be those of a message.
        raise NoListError from None
    return encode_json_text(text)
