"""Look at an answer while it passes by: what it billed, which model, how it ended.

::

    pieces of bytes ─> events (SSE) or objects (JSON) ─> those that can matter ─> AnswerReport

The law of this file: it only looks. Nothing is returned that a caller could
send on by mistake, nothing is kept but the event that is not complete yet, and
no bytes make it raise.

Nearly all of a stream is text that says nothing about the answer as a whole.
So complete events are searched as one block for the few words that can matter,
and only an event around such a word is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from trimtab.errors import MalformedBodyError
from trimtab.refusal import Refusal
from trimtab.usage import Usage
from trimtab.wire.json_spans import load
from trimtab.wire.provider_errors import classify_error, is_error_event
from trimtab.wire.usages import report_named

__all__ = ["StreamReader"]

_MOST_BYTES = 32 * 1024 * 1024
"""An event that is longer is passed over. The longest that matter repeat a whole
answer (``response.completed``), images in it included."""

_BEFORE_ALL = b"\xef\xbb\xbf \t\r\n"
"""A byte order mark and blanks, which may stand before an event or JSON text."""


class _Event(NamedTuple):
    """One event.

    Attributes:
        name: Its name, where it has one.
        data: Its data as it came.
        value: Its data decoded; None where they are no JSON.
    """

    name: bytes
    data: bytes
    value: object


class StreamReader:
    """Reads what an answer says about itself, from its bytes in any pieces.

    Server-sent events, the JSON array that Gemini sends as a stream, JSON
    lines, and an answer that is one JSON object are told apart by their first
    byte. What is known can be asked at any time.

    Args:
        format: Name of the format.

    Raises:
        UnknownFormatError: If there is no format of that name.

    Attributes:
        refusal: What an error inside the stream says no to; None where there was none.
    """

    def __init__(self, format: str) -> None:  # noqa: A002 - the word for it
        self.refusal: Refusal | None = None
        self._report = report_named(format)
        self._words = _WORDS[format]
        self._framer: _Framer | None = None

    @property
    def usage(self) -> Usage | None:
        """What was billed so far; None where nothing was told."""
        return self._report.usage

    @property
    def model(self) -> str | None:
        """The model that answers, as it calls itself."""
        return self._report.model

    @property
    def stop_reason(self) -> str | None:
        """Why the answer ended, in the provider's word."""
        return self._report.stop_reason

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes."""
        if self._framer is None:
            piece = piece.lstrip(_BEFORE_ALL)
            if not piece:
                return
            is_json = piece[:1] in (b"{", b"[")
            self._framer = _Objects(piece[:1]) if is_json else _Events(self._words)
        for event in self._framer.feed(piece):
            self._look(event)

    def close(self) -> None:
        """Look at what is left when no more bytes come."""
        if self._framer is not None:
            for event in self._framer.close():
                self._look(event)

    def _look(self, event: _Event) -> None:
        if isinstance(event.value, dict):
            self._report.take(event.value)
        if self.refusal is None and (event.name == b"error" or is_error_event(event.value)):
            self.refusal = classify_error(200, {}, event.data)


def _decoded(data: bytes) -> object:
    try:
        return load(data)
    except MalformedBodyError:
        return None


class _Framer(Protocol):
    """Cuts bytes into events."""

    def feed(self, piece: bytes) -> Iterator[_Event]:
        """Give the events that these bytes complete."""
        ...

    def close(self) -> Iterator[_Event]:
        """Give the event that nothing ended."""
        ...


# --------------------------------------------------------- server-sent events


@dataclass(frozen=True, slots=True)
class _Words:
    """What an event holds that can matter.

    A word inside a text has backslashes before its quotes there, so it is not found; if it
    were, an event would be decoded in vain. Plain words are found faster than patterns.

    Attributes:
        every: Each event with one of them is looked at.
        last: The last event of a block is enough, if a value stands behind the word.
    """

    every: tuple[bytes | re.Pattern[bytes], ...]
    last: tuple[bytes, ...] = ()


_FAILED = (b'"error"', b"error\n")
"""A field, a type, or the name of the event."""

_WORDS: dict[str, _Words] = {
    "anthropic": _Words((b'"message_start"', b'"message_delta"', *_FAILED)),
    # Both stand in each chunk, as null until the end.
    "openai-chat": _Words(
        (re.compile(rb'"usage"\s*:\s*{'), re.compile(rb'"finish_reason"\s*:\s*"'), *_FAILED)
    ),
    "openai-responses": _Words((b'"response"', *_FAILED)),
    "gemini": _Words(
        _FAILED,
        # Each chunk has most of them.
        (
            b'"promptTokenCount"',
            b'"cachedContentTokenCount"',
            b'"candidatesTokenCount"',
            b'"thoughtsTokenCount"',
            b'"toolUsePromptTokenCount"',
            b'Reason"',
        ),
    ),
}

_VALUE = re.compile(rb"\s*:\s*[^n\s]")


class _Events:
    """Server-sent events: lines, of which an empty one ends an event."""

    def __init__(self, words: _Words) -> None:
        self._words = words
        self._parts: list[bytes] = []
        self._size = 0
        self._ends_line = False
        self._held = b""
        self._is_passing_over = False
        self._is_first = True

    def feed(self, piece: bytes) -> Iterator[_Event]:
        piece = self._with_plain_ends(piece)
        if not piece:
            return
        # A line that ended with the piece before, and an empty one behind it.
        begins_empty = self._ends_line and piece.startswith(b"\n")
        self._ends_line = piece.endswith(b"\n")
        stop = max(piece.rfind(b"\n\n") + 2, 1)
        if stop == 1 and not begins_empty:
            self._keep(piece)
            return
        block, self._is_passing_over = self._block(piece[:stop], begins_empty=begins_empty), False
        self._parts, self._size = [], 0
        self._keep(piece[stop:])
        yield from self._found(block)

    def close(self) -> Iterator[_Event]:
        block = b"" if self._is_passing_over else b"".join(self._parts)
        self._parts, self._held = [], b""
        yield from self._found(block + b"\n\n")

    def _with_plain_ends(self, piece: bytes) -> bytes:
        """Make all line ends alike. A return at the end waits: half of one it may be."""
        if self._held:
            piece, self._held = self._held + piece, b""
        if b"\r" not in piece:
            return piece
        if piece.endswith(b"\r"):
            piece, self._held = piece[:-1], b"\r"
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _keep(self, part: bytes) -> None:
        if not part or self._is_passing_over:
            return
        self._size += len(part)
        self._parts.append(part)
        if self._size > _MOST_BYTES:
            self._parts, self._is_passing_over = [], True

    def _block(self, piece: bytes, *, begins_empty: bool) -> bytes:
        if not self._is_passing_over:
            self._parts.append(piece)
            return b"".join(self._parts)
        return piece if begins_empty else piece[piece.find(b"\n\n") + 2 :]

    def _found(self, block: bytes) -> Iterator[_Event]:
        """Find the events of a block that can matter; the first one always can, for its model."""
        found: dict[int, _Event] = {}
        if self._is_first and block.strip():
            self._is_first = False
            found[0] = _event(block[: block.find(b"\n\n")])
        for word in self._words.every:
            stop = 0
            while (place := _place(block, word, stop)) >= 0:
                start, stop = _around(block, place)
                found[start] = found.get(start) or _event(block[start:stop])
        for plain in self._words.last:
            stop = len(block)
            while (place := _last_place(block, plain, stop)) >= 0:
                start, end = _around(block, place)
                found[start] = found.get(start) or _event(block[start:end])
                # A damaged one says nothing, so the one before it counts.
                stop = start if found[start].value is None else 0
        for start in sorted(found):
            yield found[start]


def _place(block: bytes, word: bytes | re.Pattern[bytes], start: int) -> int:
    if isinstance(word, bytes):
        return block.find(word, start)
    match = word.search(block, start)
    return match.start() if match else -1


def _last_place(block: bytes, word: bytes, stop: int) -> int:
    place = block.rfind(word, 0, stop)
    while place >= 0 and not _VALUE.match(block, place + len(word)):
        place = block.rfind(word, 0, place)
    return place


def _around(block: bytes, place: int) -> tuple[int, int]:
    """Where the event begins and ends that a place lies in."""
    before = block.rfind(b"\n\n", 0, place)
    behind = block.find(b"\n\n", place)
    return (0 if before < 0 else before + 2), behind


def _event(text: bytes) -> _Event:
    name = b""
    data: list[bytes] = []
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.strip()
    whole = b"\n".join(data)
    return _Event(name, whole, _decoded(whole))


# ---------------------------------------------------------------- JSON objects

_FLAT = rb'[^"{}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"{}\[\]]*+)*+'
_LEVELS = 6


def _nested(levels: int) -> bytes:
    if not levels:
        return _FLAT
    return _FLAT + rb"(?:[{\[]" + _nested(levels - 1) + rb"[}\]]" + _FLAT + rb")*+"


_OUTSIDE = re.compile(_FLAT, re.DOTALL)
"""All up to the next bracket, whole strings in between; or up to a string that does not end."""

_INSIDE = re.compile(_nested(_LEVELS), re.DOTALL)
"""The same, whole objects and arrays in between: only what is deeper, or does not end in the
piece, takes a step for each bracket."""

_IN_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""All up to the end of a string; or up to a backslash whose letter is not there yet."""


class _Objects:
    """JSON objects: one, several behind each other, or those of an array."""

    def __init__(self, first: bytes) -> None:
        self._outside = 1 if first == b"[" else 0
        self._depth = 0
        self._is_open = False
        self._is_in_string = False
        self._is_escaped = False
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> Iterator[_Event]:
        if not piece:
            return
        start = 0
        position = self._leave_string(piece) if self._is_in_string else 0
        while position < len(piece):
            is_inside = self._depth > self._outside
            position = _end(_INSIDE if is_inside else _OUTSIDE, piece, position)
            letter = piece[position : position + 1]
            if letter == b'"':
                position = self._enter_string(piece, position + 1)
            elif letter in (b"{", b"["):
                if letter == b"{" and self._depth == self._outside:
                    start, self._is_open = position, True
                self._depth += 1
                position += 1
            elif letter:
                self._depth -= 1
                position += 1
                if self._is_open and self._depth == self._outside:
                    data = self._finish(piece[start:position])
                    yield _Event(b"", data, _decoded(data))
        if self._is_open:
            self._keep(piece[start:])

    def close(self) -> Iterator[_Event]:
        self._parts = []
        yield from ()

    def _finish(self, part: bytes) -> bytes:
        data = b"".join((*self._parts, part))
        self._parts, self._size, self._is_open = [], 0, False
        return data

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > _MOST_BYTES:
            self._finish(b"")

    def _enter_string(self, piece: bytes, position: int) -> int:
        self._is_in_string = True
        return self._stay_in_string(piece, position)

    def _leave_string(self, piece: bytes) -> int:
        return self._stay_in_string(piece, 1 if self._is_escaped else 0)

    def _stay_in_string(self, piece: bytes, position: int) -> int:
        end = _end(_IN_STRING, piece, position)
        if piece[end : end + 1] == b'"':
            self._is_in_string = self._is_escaped = False
            return end + 1
        self._is_escaped = end < len(piece)
        return len(piece)


def _end(pattern: re.Pattern[bytes], text: bytes, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
