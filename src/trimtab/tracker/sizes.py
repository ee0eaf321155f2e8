"""How large a list of messages is: the bytes whose growth costs tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trimtab.errors import MalformedBodyError
from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.wire.json_spans import dump, load

__all__ = ["message_bytes"]

_PAYLOAD = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{1000,}")
"""A payload inside something that is not understood."""


def message_bytes(messages: Iterable[Message]) -> int:
    """Bytes of the words in a list of messages, to see how it grows.

    Counted in UTF-8, with no character escaped: texts, reasoning with its
    signature, ids and names of calls, their arguments as compact JSON, ids and
    texts of results, type and address of media. Payloads of media are left out,
    in ``data:`` addresses too: an image costs what its pixels say, however many
    bytes it has, and what it cost is in the measurement that a prediction
    starts from.
    """
    return sum(_part(part) for message in messages for part in message.parts)


def _part(part: Part) -> int:
    match part:
        case Text() | Thinking():
            return _bytes(part.text) + _bytes(part.opaque)
        case ToolCall():
            named = _bytes(part.id) + _bytes(part.name)
            return named + _compact(part.arguments) + _bytes(part.opaque)
        case ToolResult():
            return _bytes(part.call_id) + sum(map(_part, part.content))
        case Media():
            return _bytes(part.media_type) + _address(part.location)
        case Opaque():
            return _bytes(_PAYLOAD.sub("", part.json))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _compact(arguments: str) -> int:
    """Arguments are written without spaces and escapes; what is no JSON counts as it is."""
    if " " not in arguments and "\\" not in arguments and "\n" not in arguments:
        return _bytes(arguments)
    try:
        return len(dump(load(arguments.encode("utf-8", "surrogatepass"))))
    except MalformedBodyError:
        return _bytes(arguments)


def _address(location: str) -> int:
    return 0 if location[:5].lower() == "data:" else _bytes(location)
