"""Bytes to messages: find where each message lies, rebuild nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from trimtab.errors import MalformedBodyError, UnknownFormatError
from trimtab.wire.format import Format
from trimtab.wire.formats import FORMATS, format_named
from trimtab.wire.json_spans import Span, array_spans, find_history, object_spans
from trimtab.wire.request import Request

__all__ = ["read"]


def read(body: bytes, format: str | None = None) -> Request:  # noqa: A002 - the word for it
    """Read one request.

    Args:
        body: Its bytes, plain (not compressed).
        format: Name of its format, where it is known, such as ``anthropic``;
            None to tell it from the content.

    Returns:
        The request; its messages are decoded when somebody looks.

    Raises:
        MalformedBodyError: If the body is not JSON, is cut off, or is no object.
        UnknownFormatError: If it is of no known format, or there is no format of that name.
    """
    if format is not None:
        return _read_as(body, format_named(format))
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


def _tell_from_ends(envelope: Any) -> Format | None:  # noqa: ANN401 - the same
    """Tell the format from the envelope and both ends of the history; None where they leave doubts.

    A large body is not searched where its ends say enough.
    """
    members: dict[str, bytes] = {}
    ends: list[bytes] = []
    for field in envelope.__struct_fields__:
        value = getattr(envelope, field)
        if isinstance(value, Raw):
            members[field] = bytes(value)
        elif value is not UNSET:
            shown = value if len(value) <= 2 * _END else (*value[:_END], *value[-_END:])
            ends.append(b'"%b":[%b]' % (field.encode(), b",".join(shown)))
            members[field] = b"[]"
    sample = b"{%b}" % b",".join(ends)
    scores = [candidate.recognises(sample, members) for candidate in FORMATS]
    best = max(scores)
    return FORMATS[scores.index(best)] if best >= _CERTAIN else None


def _located(body: bytes, wire_format: Format, envelope: Any) -> Request | None:  # noqa: ANN401 - the same
    """Find in the body what was split; None where that leaves a place in doubt."""
    field = wire_format.history_field
    raws = getattr(envelope, field)
    if raws is UNSET:
        return None
    found = find_history(body, field, raws)
    if found is None:
        return None
    members = {
        name: bytes(raw)
        for name in wire_format.envelope_fields
        if (raw := getattr(envelope, name)) is not UNSET
    }
    return Request(wire_format, body, found[0], found[1], members)


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
