"""Bytes to messages: find where each message lies, rebuild nothing.

The next request of a conversation mostly begins with the bytes of the one
before it. Who hands that one over has only the rest split: what a parser knows
behind a message follows from the bytes in front of it alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from trimtab.errors import MalformedBodyError, UnknownFormatError
from trimtab.wire.format import Format
from trimtab.wire.formats import FORMATS, format_named
from trimtab.wire.json_spans import Span, array_spans, continue_array, find_history, object_spans
from trimtab.wire.request import Request

__all__ = ["read"]

Element = TypeVar("Element")


def read(
    body: bytes,
    format: str | None = None,  # noqa: A002 - the word for it
    *,
    before: Request | None = None,
) -> Request:
    """Read one request.

    Args:
        body: Its bytes, plain (not compressed).
        format: Name of its format, where it is known, such as ``anthropic``;
            None to tell it from the content.
        before: Any request that was read; where this one begins with the same bytes, they are
            not split again. It changes how long this takes and nothing else.

    Returns:
        The request; its messages are decoded when somebody looks.

    Raises:
        MalformedBodyError: If the body is not JSON, is cut off, or is no object.
        UnknownFormatError: If it is of no known format, or there is no format of that name.
    """
    if format is not None:
        wire_format = format_named(format)
        continued = _continued(body, before, wire_format, is_told=True)
        return continued or _read_as(body, wire_format)
    if before is not None:
        continued = _continued(body, before, before.format, is_told=False)
        if continued is not None:
            return continued
    envelope = _split(body)
    told = None if envelope is None else _tell_from_ends(envelope)
    if told is not None:
        return _located(body, told, envelope) or _read_slowly(body, told)
    members = _members(body)
    best = max(FORMATS, key=lambda candidate: candidate.recognises(body, members))
    if not best.recognises(body, members):
        fields = ", ".join(sorted({candidate.history_field for candidate in FORMATS}))
        found = ", ".join(sorted(members)[:8]) or "nothing"
        raise UnknownFormatError(
            f"JSON, but no request that is known: there is no list of messages ({fields}) "
            f"among its keys ({found})"
        )
    return _read_as(body, best)


def _continued(
    body: bytes, before: Request | None, wire_format: Format, *, is_told: bool
) -> Request | None:
    """Split what follows the messages that a request before has too; None where it has none.

    Args:
        body: The body.
        before: Another request.
        wire_format: The format to read it as.
        is_told: Whether that was told; else the body must say so too.
    """
    if before is None or before.format is not wire_format:
        return None
    count = before.shared_messages(body)
    if not count:
        return None
    field = wire_format.history_field
    start, stop = before.history_span[0], before.spans[count - 1][1]
    envelope = _split(b"".join((body[:start], b'[""', body[stop:])))
    raws = UNSET if envelope is None else getattr(envelope, field)
    if raws is UNSET or not raws:
        return None
    found = continue_array(body, stop, raws[1:], field)
    if found is None:
        return None
    history, spans = (start, found[0]), [*before.spans[:count], *found[1]]
    if not is_told:
        ends = [body[low:high] for low, high in _ends(spans)]
        if _tell_from_ends(envelope, (field, ends)) is not wire_format:
            return None
    members = _members_of(envelope, wire_format)
    return Request(wire_format, body, history, spans, members, before.known_outlines[:count])


def _read_as(body: bytes, wire_format: Format) -> Request:
    return _read_fast(body, wire_format) or _read_slowly(body, wire_format)


def _read_fast(body: bytes, wire_format: Format) -> Request | None:
    """Split in one pass of msgspec; None where it refuses, or leaves a place in doubt."""
    envelope = _split(body)
    return None if envelope is None else _located(body, wire_format, envelope)


def _split(body: bytes) -> Any:  # noqa: ANN401 - a struct that is made from the formats
    """Split the history and keep the envelope raw; None where msgspec refuses."""
    try:
        return _ENVELOPE.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _tell_from_ends(
    envelope: Any,  # noqa: ANN401 - the same
    history: tuple[str, Sequence[bytes]] | None = None,
) -> Format | None:
    """Tell the format from the envelope and both ends of the history; None where they leave doubts.

    A large body is not searched where its ends say enough.

    Args:
        envelope: All that was split.
        history: A list that was not, by its key: its ends.
    """
    members: dict[str, bytes] = {}
    ends: list[bytes] = []
    for field in envelope.__struct_fields__:
        value = getattr(envelope, field)
        if isinstance(value, Raw):
            members[field] = bytes(value)
        elif value is not UNSET:
            shown = history[1] if history is not None and field == history[0] else _ends(value)
            ends.append(b'"%b":[%b]' % (field.encode(), b",".join(shown)))
            members[field] = b"[]"
    sample = b"{%b}" % b",".join(ends)
    scores = [candidate.recognises(sample, members) for candidate in FORMATS]
    best = max(scores)
    return FORMATS[scores.index(best)] if best >= _CERTAIN else None


def _ends(elements: Sequence[Element]) -> Sequence[Element]:
    return elements if len(elements) <= 2 * _END else (*elements[:_END], *elements[-_END:])


def _located(body: bytes, wire_format: Format, envelope: Any) -> Request | None:  # noqa: ANN401 - the same
    """Find in the body what was split; None where that leaves a place in doubt."""
    field = wire_format.history_field
    raws = getattr(envelope, field)
    if raws is UNSET:
        return None
    found = find_history(body, field, raws)
    if found is None:
        return None
    return Request(wire_format, body, found[0], found[1], _members_of(envelope, wire_format))


def _members_of(envelope: Any, wire_format: Format) -> dict[str, bytes]:  # noqa: ANN401 - the same
    return {
        name: bytes(raw)
        for name in wire_format.envelope_fields
        if (raw := getattr(envelope, name)) is not UNSET
    }


def _read_slowly(body: bytes, wire_format: Format) -> Request:
    spans = object_spans(body)
    field = wire_format.history_field
    if field not in spans:
        raise UnknownFormatError(f"JSON, but no {wire_format.name} request: it has no {field!r}")
    start, stop = spans[field]
    inner: list[Span]
    if body[start : start + 1] == b'"' and wire_format.history_may_be_text:
        inner = [(start, stop)]  # the string is the one message
    elif body[start : start + 1] != b"[":
        raise MalformedBodyError(f"{field!r} is not a list", offset=start)
    else:
        inner = [(start + low, start + high) for low, high in array_spans(body[start:stop])]
    members = {
        name: body[slice(*spans[name])] for name in wire_format.envelope_fields if name in spans
    }
    return Request(wire_format, body, (start, stop), inner, members)


def _members(body: bytes) -> Mapping[str, bytes]:
    """The JSON text of every top-level value, by key."""
    return {name: body[low:high] for name, (low, high) in object_spans(body).items()}


def _envelope() -> msgspec.json.Decoder[Any]:
    """A decoder that splits the history of any format and keeps the envelope raw, in one pass."""
    histories = {wire_format.history_field: None for wire_format in FORMATS}
    others = {name: None for wire_format in FORMATS for name in wire_format.envelope_fields}
    fields: list[tuple[str, Any, Any]] = [
        *((name, list[Raw] | UnsetType, UNSET) for name in histories),
        *((name, Raw | UnsetType, UNSET) for name in others if name not in histories),
    ]
    return msgspec.json.Decoder(msgspec.defstruct("Envelope", fields))


_ENVELOPE = _envelope()

_END = 16
"""Messages at either end of a history that are looked at to tell its format."""

_CERTAIN = 80
"""From here on a format has seen a key that no other has, and is sure of itself."""
