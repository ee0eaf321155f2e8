"""What a compressor adds to system and tools: kept as it was first sent, and laid on again.

A line that only the first turn adds has to stay, or the prefix breaks at its
very front. Only additions are kept: what a client says itself is always taken
from the request at hand.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.links import links
from trimtab.memo.bodies import Body
from trimtab.wire import FORMATS, Format
from trimtab.wire.json_spans import array_spans, dump, load, locate, object_spans

__all__ = ["additions", "additions_key", "joined", "laid_on", "lead_of"]

_FIELDS = ("system", "instructions", "systemInstruction", "system_instruction", "tools")
"""Where formats have system and tools, beside the list of messages."""


def additions_key(first: bytes, asked: Body) -> bytes:
    """Under which key the additions to a conversation's system and tools are kept.

    Args:
        first: The link of the conversation's first message.
        asked: The client's own request, whose own system and tools are part of the key;
            cache markers and what a client varies from turn to turn are not.
    """
    members = {key: value for key in _FIELDS if (value := asked.member_form(key)) is not None}
    forms = [b"additions"]
    for wire_format in FORMATS:
        if wire_format.history_field == asked.field:
            surface = wire_format.surface_forms(members)
            forms += (surface.system, surface.tools)
    return links(first, forms)[-1]


def additions(asked: Body, sent: Body, *, is_led: bool) -> bytes:
    """What was added to a request, as the JSON text of an object; ``{}`` for nothing.

    Under the key of the messages stands the leading message that was added;
    under another key a list: the whole value where the client had none, else
    what was put before the client's own and what behind it.

    Args:
        asked: The client's own request.
        sent: What was sent for it.
        is_led: Whether a leading message was added.
    """
    found: dict[str, bytes] = {}
    if is_led:
        found[sent.field] = sent.format.unmarked(sent.message(0))
    for key in _FIELDS:
        own, value = asked.member(key), sent.member(key)
        if value is not None and value != own:
            added = _added(asked.format, own, value)
            if added is not None:
                found[key] = added
    return _object(found)


def joined(first: bytes, later: bytes) -> bytes:
    """Two lots of additions as one; of what stands in both the first counts."""
    return _object({**_members(later), **_members(first)})


def lead_of(added: bytes, asked: Body) -> bytes | None:
    """The leading message among additions."""
    return _members(added).get(asked.field)


def laid_on(added: bytes, asked: Body) -> Mapping[str, bytes]:
    """The system and tools of a request with what was added to them, by top-level key."""
    found: dict[str, bytes] = {}
    for key, value in _members(added).items():
        if key != asked.field:
            found[key] = _laid(asked.member(key), _elements(value) or [])
    return found


def _added(wire_format: Format, own: bytes | None, value: bytes) -> bytes | None:
    """What was added to a value; None where the client's own is no longer in it."""
    if own is None:
        return b"[" + wire_format.without_markers(value) + b"]"
    if own[:1] == value[:1] == b'"':
        words, text = str(load(own)), str(load(value))
        at = text.find(words)
        return None if at < 0 else dump([text[:at], text[at + len(words) :]])
    mine, theirs = (_elements(wire_format.without_markers(each)) for each in (own, value))
    is_alike = own[:1] == value[:1] or (own[:1] == b'"' and value[:1] == b"[")
    if mine is None or theirs is None or not is_alike or len(mine) >= len(theirs):
        return None
    wanted, there = [load(each) for each in mine], [load(each) for each in theirs]
    for start in range(len(theirs) - len(mine) + 1):
        stop = start + len(mine)
        if there[start:stop] == wanted:
            return b"[%b,%b]" % (_array(theirs[:start]), _array(theirs[stop:]))
    return None


def _laid(own: bytes | None, added: list[bytes]) -> bytes:
    if own is None or len(added) == 1:
        return added[0]
    before, behind = added
    if before[:1] == b'"':
        return before[:-1] + own[1:-1] + behind[1:]
    elements = (each for array in (before, own, behind) for each in _elements(array) or [])
    whole = _array(list(elements))
    if own[:1] == b"{":
        start, stop = locate(own, ("parts",))
        return own[:start] + whole + own[stop:]
    return whole


def _elements(value: bytes) -> list[bytes] | None:
    """The elements of a list, of the parts of an object, or the one block that a string stands for."""
    if value[:1] == b'"':
        return [b'{"type":"text","text":' + value + b"}"]
    if value[:1] == b"{":
        start, stop = object_spans(value).get("parts", (0, 0))
        value = value[start:stop]
    if value[:1] != b"[":
        return None
    return [value[low:high] for low, high in array_spans(value)]


def _members(text: bytes) -> dict[str, bytes]:
    return {key: text[low:high] for key, (low, high) in object_spans(text).items()}


def _object(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(dump(key) + b":" + value for key, value in members.items()) + b"}"


def _array(elements: list[bytes]) -> bytes:
    return b"[" + b",".join(elements) + b"]"
