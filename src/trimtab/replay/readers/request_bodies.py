"""Raw request bodies, one in a file or one on a line, are the requests themselves.

Every byte comes through: only whitespace around a body is left out. A body is
known by its history: ``messages`` that have roles, ``contents`` that have
parts, or ``input`` beside a model or a stored prompt. Whose format it is, the
caller finds out, so :attr:`RecordedRequest.format` stays empty.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.json_lines import ABSENT, Line, Shape, begins, elements, lines, skipped, trimmed
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire.json_spans import load

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KIND", "read", "recognises"]

KIND = "request-bodies"

# Broken and foreign lines may come before the first body; more than these make it another kind.
_LINES_LOOKED_AT = 100


class _Members(msgspec.Struct):
    model: Raw = ABSENT
    prompt: Raw = ABSENT
    messages: Raw = ABSENT
    contents: Raw = ABSENT
    input: Raw = ABSENT
    info: Raw = ABSENT
    response: Raw = ABSENT


class _Message(msgspec.Struct):
    role: Raw = ABSENT
    parts: Raw = ABSENT


_MEMBERS = Shape(_Members)
_MESSAGE = Shape(_Message)


class _Body(NamedTuple):
    text: memoryview
    model: str
    message_count: int


def recognises(data: bytes) -> bool:
    """Say whether it is a body, or has one on a line."""
    texts = islice(_texts(data), _LINES_LOOKED_AT)
    return any(_body(text) is not None for _, text in texts)


def read(data: bytes, name: str) -> list[Recording]:
    """Read one body, or one from each line.

    Args:
        data: The whole file. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If there is no body in it.
    """
    requests: list[RecordedRequest] = []
    others: list[int] = []
    for number, text in _texts(data):
        body = _body(text)
        if body is None:
            others.append(number)
        else:
            requests.append(_request(body))
    if not requests:
        raise RequestError(f"`{name}` holds no request body")
    return [Recording(KIND, name, requests, skipped(others, "no request bodies"))]


def _texts(data: bytes) -> Iterator[Line]:
    """Find the texts that may be bodies: all lines, or the whole where the first is none."""
    first = next(lines(data), None)
    if first is not None and _body(first.text) is None:
        whole = trimmed(data)
        if _body(whole) is not None:
            yield Line(first.number, whole)
            return
    yield from lines(data)


def _body(text: memoryview) -> _Body | None:
    """Read what tells of a body; None where the text is none."""
    members = _MEMBERS.read_or_none(text)
    if members is None or _is_more(members):
        return None
    count = _message_count(members)
    if count is None:
        return None
    model = load(bytes(members.model)) if members.model != ABSENT else ""
    return _Body(text, model if isinstance(model, str) else "", count)


def _is_more(members: _Members) -> bool:
    """Whether it is a log that holds a request or a history beside other things."""
    return begins(members.info, b"{") or begins(members.response, b"{")


def _message_count(members: _Members) -> int | None:
    """Count the messages of a body; None where it has no history."""
    for history, mark in ((members.messages, "role"), (members.contents, "parts")):
        if begins(history, b"["):
            messages = elements(history)
            first = _MESSAGE.read_or_none(messages[0]) if messages else None
            if not messages or (first is not None and getattr(first, mark) != ABSENT):
                return len(messages)
    if members.model == ABSENT and members.prompt == ABSENT:
        return None
    if begins(members.input, b"["):
        return len(elements(members.input))
    return 1 if begins(members.input, b'"') else None


def _request(body: _Body) -> RecordedRequest:
    return RecordedRequest(
        format="",
        build=partial(bytes, body.text),
        size_bytes=body.text.nbytes,
        message_count=body.message_count,
        model=body.model,
    )
