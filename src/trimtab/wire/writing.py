"""Messages to bytes: what no edit names keeps the bytes that it came in with.

The law of this file: an empty plan returns the very same object; an edited
body differs from the original only inside what the edits name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from hashlib import sha256
from itertools import pairwise

from trimtab.messages import Message
from trimtab.plan import Changes, EnvelopeEdit, Fold, Keep, Plan, Ref, Slot
from trimtab.wire.json_spans import Span, Splice, dump, insert_element, object_spans, splice
from trimtab.wire.request import Request

__all__ = ["Forms", "view_pieces", "write"]


class Forms:
    """Messages as they were written before, by what they were and what was changed of them.

    A conversation sends the same shortened results turn after turn; written
    once, they are found again by content. The oldest go when it is full.

    Args:
        max_bytes: What all forms together may take.
    """

    def __init__(self, max_bytes: int = 16 * 2**20) -> None:
        self._max_bytes = max_bytes
        self._forms: dict[Hashable, bytes] = {}
        self._bytes = 0

    def get(self, key: Hashable) -> bytes | None:
        """A form; None where it is not known."""
        return self._forms.get(key)

    def add(self, key: Hashable, form: bytes) -> None:
        """Keep a form."""
        if key not in self._forms:
            self._bytes += len(form)
        self._forms[key] = form
        while self._bytes > self._max_bytes and self._forms:
            oldest = next(iter(self._forms))
            self._bytes -= len(self._forms.pop(oldest, b""))

    def __repr__(self) -> str:
        return f"<Forms {len(self._forms)} of {self._bytes} bytes>"


def write(request: Request, plan: Plan, forms: Forms | None = None) -> bytes:
    """Write a request as a plan has it.

    Args:
        request: The original.
        plan: What changes, as the format completed it.
        forms: Edited messages that were written before; None to write all anew.

    Returns:
        The body; for an empty plan the original object itself.
    """
    if not plan:
        return request.body
    splices = _envelope_splices(request, plan.envelope)
    if any(not isinstance(edit, Keep) for edit in plan):
        splices.append((*request.history_span, _history(request, plan, forms)))
    return splice(request.body, splices)


def _history(request: Request, plan: Plan, forms: Forms | None) -> bytes:
    """The list of messages; each original keeps what stands between it and the one before."""
    spans = request.spans
    start, stop = request.history_span
    lead = request.body[start : spans[0][0]] if spans else b"["
    trail = request.body[spans[-1][1] : stop] if spans else b"]"
    pieces: list[bytes] = []
    for source, piece in _pieces(request, plan, forms):
        if pieces:
            pieces.append(_between(request, source))
        pieces.append(
            request.body[spans[piece[0]][0] : spans[piece[-1]][1]]
            if isinstance(piece, range)
            else piece
        )
    return lead + b"".join(pieces) + trail


def view_pieces(request: Request, plan: Plan) -> Iterator[range | bytes]:
    """The view piece by piece, oldest first: originals by their places, all else as JSON text."""
    return (piece for _, piece in _pieces(request, plan))


def _pieces(
    request: Request, plan: Plan, forms: Forms | None = None
) -> Iterator[tuple[int | None, range | bytes]]:
    """The same, with the place of the original that a piece is or begins with."""
    changes = plan.changes
    markers = _markers_of_removed(request, plan)
    for row in changes.rows(len(request.spans)):
        match row:
            case range():
                yield row[0], row
            case Message():
                marker = markers.pop(id(row), None)
                yield from ((None, piece) for piece in request.format.encode(row, marker))
            case place:
                form = _form(request, changes, place, markers.pop(place, None), forms)
                if form:
                    yield place, form


def _form(
    request: Request, changes: Changes, place: int, marker: bytes | None, forms: Forms | None
) -> bytes:
    """An edited message as it is written; empty where nothing is left of it."""
    if forms is None:
        return _written(request, changes, place, marker)
    message = sha256(request.message_bytes(place)).digest()
    key = (request.format.name, message, changes.at(place), marker)
    form = forms.get(key)
    if form is None:
        form = _written(request, changes, place, marker)
        forms.add(key, form)
    return form


def _written(request: Request, changes: Changes, place: int, marker: bytes | None) -> bytes:
    slot = changes.slot(place, request.message(place))
    return b"" if slot is None else _edited(request, place, slot, marker)


def _between(request: Request, source: int | None) -> bytes:
    """The comma in front of a message, with the whitespace around it where it is an original."""
    if not source:
        return b","
    return request.body[request.spans[source - 1][1] : request.spans[source][0]]


def _edited(request: Request, place: int, slot: Slot, marker: bytes | None) -> bytes:
    message = request.message_bytes(place)
    parts = request.message(place).parts
    splices = request.format.edit_message(message, parts, slot.dropped, slot.replaced)
    edited = splice(message, splices)
    if slot.appended:
        return request.format.append_text(edited, slot.appended, marker)
    return edited


def _markers_of_removed(request: Request, plan: Plan) -> dict[int, bytes]:
    """The client's cache markers on removed messages, by what stands for them from now on.

    One that we made takes over the first marker of what it stands for: the
    prefix up to it is what the client wanted cached. It takes none from behind
    a message that stays, whose own marker may have to come first. Keys are the
    identity of a made message, or the place of the message that it joined.
    """
    markers: dict[int, bytes] = {}
    if not request.format.may_hold_markers(request.body):
        return markers
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


def _envelope_splices(request: Request, edits: Sequence[EnvelopeEdit]) -> list[Splice]:
    """What to put into the envelope; what has nothing to stand in is left out."""
    added: list[tuple[str, str]] = []
    splices: list[Splice] = []
    members = object_spans(request.body) if edits else {}
    for edit in edits:
        (key, *inner), new = edit.path, edit.json.encode()
        if key in members:
            splices += _put(request.body, members[key], inner, new)
        elif not inner:
            added.append((key, edit.json))
    if added:
        text = ",".join(f"{dump(key).decode()}:{value}" for key, value in added).encode()
        spans = sorted(members.values())
        splices.append(insert_element((0, len(request.body)), spans, text))
    return splices


def _put(body: bytes, span: Span, path: Sequence[str], new: bytes) -> list[Splice]:
    """Set a value inside another; objects on the way are made where they are missing."""
    start, stop = span
    if not path:
        return [(start, stop, new)]
    if body[start : start + 1] != b"{":
        return []
    members = object_spans(body[start:stop])
    key, *inner = path
    if key in members:
        low, high = members[key]
        place = (start + low, start + high)
        return _put(body, place, inner, new) or [(*place, _nested(inner, new))]
    new = _nested(inner, new)
    spans = sorted((start + low, start + high) for low, high in members.values())
    return [insert_element(span, spans, dump(key) + b":" + new)]


def _nested(path: Sequence[str], value: bytes) -> bytes:
    """A value inside objects that have nothing else in them."""
    for key in reversed(path):
        value = b"{" + dump(key) + b":" + value + b"}"
    return value
