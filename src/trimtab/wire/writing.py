"""Messages to bytes: what no edit names keeps the bytes that it came in with.

The law of this file: an empty plan returns the very same object; an edited
body differs from the original only inside what the edits name.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trimtab.plan import EnvelopeEdit, Fold, Plan, Ref, Slot, apply
from trimtab.wire.json_spans import Splice, insert_element, object_spans, splice
from trimtab.wire.request import Request

__all__ = ["write"]


def write(request: Request, plan: Plan) -> bytes:
    """Write a request as a plan has it.

    Args:
        request: The original.
        plan: What changes, as the format completed it.

    Returns:
        The body; for an empty plan the original object itself.
    """
    if not plan:
        return request.body
    splices = [_envelope_splice(request, edit) for edit in plan.envelope]
    slots = apply(plan, request.messages)
    if any(not slot.is_untouched for slot in slots) or len(slots) != len(request.spans):
        splices.append((*request.history_span, _history(request, plan, slots)))
    return splice(request.body, splices)


def _history(request: Request, plan: Plan, slots: Sequence[Slot]) -> bytes:
    """The list of messages; each original keeps what stands between it and the one before."""
    body, spans = request.body, request.spans
    markers = _markers_of_removed(request, plan)
    start, stop = request.history_span
    pieces: list[bytes] = []
    for slot in slots:
        for message in _encoded(request, slot, markers):
            if pieces:
                pieces.append(_between(request, slot))
            pieces.append(message)
    lead = body[start : spans[0][0]] if spans else b"["
    trail = body[spans[-1][1] : stop] if spans else b"]"
    return lead + b"".join(pieces) + trail


def _between(request: Request, slot: Slot) -> bytes:
    """The comma in front of a message, with the whitespace around it where it is an original."""
    if not slot.source:
        return b","
    return request.body[request.spans[slot.source - 1][1] : request.spans[slot.source][0]]


def _encoded(request: Request, slot: Slot, markers: dict[int, bytes]) -> list[bytes]:
    wire_format = request.format
    if slot.is_untouched and slot.source is not None:
        return [request.message_bytes(slot.source)]
    if slot.source is None:
        return wire_format.encode(slot.message, markers.pop(id(slot.message), None))
    message = request.message_bytes(slot.source)
    parts = request.messages[slot.source].parts
    splices = wire_format.edit_message(message, parts, slot.dropped, slot.replaced)
    edited = splice(message, splices)
    if slot.appended:
        edited = wire_format.append_text(edited, slot.appended, markers.pop(slot.source, None))
    return [edited]


def _markers_of_removed(request: Request, plan: Plan) -> dict[int, bytes]:
    """The client's cache markers on removed messages, by what stands for them from now on.

    One that we made takes over the first marker of what it stands for: the
    prefix up to it is what the client wanted cached. It takes none from behind
    a message that stays, whose own marker may have to come first. Keys are the
    identity of a made message, or the place of the message that it joined.
    """
    markers: dict[int, bytes] = {}
    seen: set[Ref] = set()  # a message that two folds remove hands its marker on once
    for edit in plan:
        if isinstance(edit, Fold):
            removed = [ref for ref in _first_run(edit.removed) if ref not in seen]
            seen.update(removed)
            found = [marker for ref in removed for marker in _markers(request, ref)]
            if found:
                markers[id(edit.message) if edit.joins is None else edit.joins] = found[0]
    return markers


def _first_run(removed: Sequence[Ref]) -> Sequence[Ref]:
    """What goes up to the first message that stays."""
    for place, (ref, following) in enumerate(pairwise(removed), start=1):
        if following.message > ref.message + 1 or ref.parts is not None:
            return removed[:place]
    return removed


def _markers(request: Request, ref: Ref) -> list[bytes]:
    if ref.parts is not None:
        return []  # the message stays, and with it the place for its marker
    return request.format.cache_markers(request.message_bytes(ref.message))


def _envelope_splice(request: Request, edit: EnvelopeEdit) -> Splice:
    (key,) = edit.path
    spans = object_spans(request.body)
    if key in spans:
        return (*spans[key], edit.json.encode())
    last = list(spans.values())
    text = f'"{key}":{edit.json}'.encode()
    return insert_element((0, len(request.body)), last, text)
