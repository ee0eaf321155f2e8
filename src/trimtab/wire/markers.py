"""Cache markers: take those of a message as it came and lay them onto another form of it.

Clients move their markers from turn to turn, so a form that was sent before
carries none of its own. The law of this file: a marker stays what it was, on
its message, and there are never more than there were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from trimtab.errors import MalformedBodyError
from trimtab.wire.format import Format
from trimtab.wire.json_spans import Span, Splice, array_spans, insert_element, object_spans, splice

__all__ = ["count_markers", "with_markers_of"]


class _Block(NamedTuple):
    """A block of a message, or the bare string in place of one.

    Attributes:
        span: Where it lies in its message.
        kind: What it is: its type, whose call it is, and how deep it lies.
        raw: Its JSON text without markers.
        bare_type: The type that a bare string has as a block; empty for a block.
        can_hold_marker: Whether a marker may stand on it.
        marker: Its markers, as JSON text of members; empty where there is none.
    """

    span: Span
    kind: tuple[bytes, ...]
    raw: bytes
    bare_type: bytes
    can_hold_marker: bool
    marker: bytes


def count_markers(wire_format: Format, message: bytes) -> int:
    """Count the blocks of a message that a cache marker stands on."""
    if not wire_format.may_hold_markers(message):
        return 0
    return sum(bool(block.marker) for block in _blocks(wire_format, message))


def with_markers_of(
    wire_format: Format, originals: Sequence[bytes], forms: Sequence[bytes], most: int
) -> list[bytes]:
    """Lay the markers of some messages onto other forms of the same messages.

    A marker goes onto the part that its own became; where that is gone, onto
    the nearest before it, in its message if there is one.

    Args:
        wire_format: How the messages are written.
        originals: The messages as they came.
        forms: Another form of each, without markers.
        most: Markers that may be laid; of more the last count.

    Returns:
        The forms; one that takes no marker keeps its bytes.
    """
    marked = list(forms)
    homeless: list[bytes] = []
    for place in reversed(range(len(forms))):
        came: list[_Block] = []
        if most and wire_format.may_hold_markers(originals[place]):
            came = _blocks(wire_format, originals[place])
        markers = [(at, block.marker) for at, block in enumerate(came) if block.marker]
        markers = markers[max(0, len(markers) - most) :]
        most -= len(markers)
        if markers or homeless:
            kept = _blocks(wire_format, forms[place])
            wanted = [(home, marker) for (_, marker), home in _homes(came, kept, markers)]
            wanted += [(len(kept) - 1, marker) for marker in homeless]
            marked[place], homeless = _lay(forms[place], kept, wanted)
    return marked


def _lay(
    form: bytes, blocks: Sequence[_Block], wanted: Sequence[tuple[int, bytes]]
) -> tuple[bytes, list[bytes]]:
    """Lay markers onto blocks, in their order, one on each; what finds no place comes back."""
    splices: list[Splice] = []
    homeless: list[bytes] = []
    stop = len(blocks)
    for home, marker in reversed(wanted):
        before = range(min(home, stop - 1), -1, -1)
        behind = range(max(home + 1, 0), stop)
        free = (at for row in (before, behind) for at in row if blocks[at].can_hold_marker)
        place = next(free, None)
        if place is None:
            homeless.insert(0, marker)
        else:
            splices.append(_marker_splice(form, blocks[place], marker))
            stop = place
    return splice(form, splices), homeless


def _marker_splice(form: bytes, block: _Block, marker: bytes) -> Splice:
    start, stop = block.span
    if block.bare_type:
        members = (b'"type":' + block.bare_type, b'"text":' + form[start:stop], marker)
        return (start, stop, b"[{" + b",".join(members) + b"}]")
    inner = object_spans(form[start:stop]).values()
    spans = sorted((start + low, start + high) for low, high in inner)
    return insert_element(block.span, spans, marker)


def _homes(
    came: Sequence[_Block], kept: Sequence[_Block], markers: Sequence[tuple[int, bytes]]
) -> Iterator[tuple[tuple[int, bytes], int]]:
    """Each marker with the place of the kept block at or nearest before its own; -1 for none."""
    became = _became(came, kept) if markers else {}
    for marker in markers:
        yield marker, max((became[at] for at in became if at <= marker[0]), default=-1)


def _became(came: Sequence[_Block], kept: Sequence[_Block]) -> dict[int, int]:
    """Which block became which: equal ones first, between them those of one kind in order."""
    if [block.kind for block in came] == [block.kind for block in kept]:
        return {place: place for place in range(len(came))}
    became: dict[int, int] = {}
    matcher = SequenceMatcher(
        None, [block.raw for block in came], [block.raw for block in kept], autojunk=False
    )
    for tag, low, high, start, stop in matcher.get_opcodes():
        if tag == "equal":
            became |= zip(range(low, high), range(start, stop), strict=True)
        else:
            became |= _in_order(came, kept, range(low, high), range(start, stop))
    return became


def _in_order(
    came: Sequence[_Block], kept: Sequence[_Block], places: range, others: range
) -> Iterator[tuple[int, int]]:
    start = others.start
    for place in places:
        same = (at for at in range(start, others.stop) if kept[at].kind == came[place].kind)
        found = next(same, None)
        if found is not None:
            yield place, found
            start = found + 1


# -------------------------------------------------------------------- blocks


def _blocks(wire_format: Format, message: bytes) -> list[_Block]:
    """The blocks of a message, in the order in which a prefix ends behind them."""
    try:
        spans = object_spans(message)
        members = {key: message[low:high] for key, (low, high) in spans.items()}
        return [
            block
            for key in wire_format.block_fields
            if key in spans
            for block in _in_value(wire_format, message, spans[key], members)
        ]
    except MalformedBodyError:
        return []  # not an object


def _in_value(
    wire_format: Format, message: bytes, span: Span, members: dict[str, bytes]
) -> Iterator[_Block]:
    text = message[slice(*span)]
    if text[:1] == b'"':
        kind = wire_format.bare_type(members)
        block = {"type": kind, "text": text}
        raw = b'{"type":' + kind + b',"text":' + text + b"}"
        holds = wire_format.can_hold_marker(block)
        yield _Block(span, _kind(block, 0), raw, kind, holds, b"")
    elif text[:1] == b"[":
        yield from _in_array(wire_format, message, span, 0)


def _in_array(wire_format: Format, message: bytes, array: Span, depth: int) -> Iterator[_Block]:
    for low, high in array_spans(message[slice(*array)]):
        start, stop = array[0] + low, array[0] + high
        raw = message[start:stop]
        if raw[:1] != b"{":
            continue
        spans = object_spans(raw)
        block = {key: raw[slice(*span)] for key, span in spans.items()}
        if block.get("content", b"")[:1] == b"[":
            first, last = spans["content"]
            yield from _in_array(wire_format, message, (start + first, start + last), depth + 1)
        marker = b",".join(
            b'"%b":%b' % (key.encode(), block[key])
            for key in wire_format.marker_keys
            if block.get(key, b"null") != b"null"
        )
        plain = wire_format.without_markers(b"[" + raw + b"]")
        holds = wire_format.can_hold_marker(block)
        yield _Block((start, stop), _kind(block, depth), plain, b"", holds, marker)


def _kind(block: dict[str, bytes], depth: int) -> tuple[bytes, ...]:
    ids = (block.get(key, b"") for key in ("type", "id", "tool_use_id", "call_id"))
    return (bytes([min(depth, 255)]), *ids)
