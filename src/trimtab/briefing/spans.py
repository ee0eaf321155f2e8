"""Which messages a briefing shall stand for, and whether they are still the same.

::

    [head][ span ][tail]
          ^head   ^cut

The head is the policy's ``keep_first`` messages; the tail holds so many tokens
and messages and begins where no exchange is cut. What is protected in the
span stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Literal, TypeAlias

from trimtab.messages import Message, Part, ToolResult
from trimtab.plan import Fold, Plan, apply
from trimtab.strategies.drop_middle import head_end
from trimtab.strategies.history import History

__all__ = [
    "LEAST_MESSAGES",
    "NoSpan",
    "Span",
    "choose_span",
    "fingerprint",
    "going",
    "message_cuts",
    "moved",
]

LEAST_MESSAGES = 4
"""Fewer are not worth a request and a break of the prefix."""

_LONG = 3 * LEAST_MESSAGES
"""Messages of a conversation that is not short by itself."""

NoSpan: TypeAlias = Literal["too short", "tail too large", "too many recent"]
"""Why there is nothing to sum up.

``too short``: the conversation is. ``tail too large``: the tokens that the
tail shall hold leave no room. ``too many recent``: the messages that it shall
hold do.
"""


@dataclass(frozen=True, slots=True)
class Span:
    """What a briefing stands for.

    Attributes:
        head: Messages before it stay as they are.
        cut: Messages from it on stay as they are.
        messages: How many messages the briefing covers, as they were when it was asked for.
        tokens: What those weigh that it replaces.
    """

    head: int
    cut: int
    messages: int
    tokens: int


def choose_span(history: History, tail_tokens: int) -> Span | NoSpan:
    """Find the largest span that leaves head and tail alone.

    Args:
        history: What there is; its policy says how many messages head and tail hold.
        tail_tokens: What the tail shall weigh at least, 0 or more.

    Returns:
        The span, or why there is none.
    """
    head = _head(history)
    count = len(history.messages)
    newest = count - history.policy.keep_recent
    most = min(newest, _tail_start(history.message_tokens, tail_tokens))
    span = _span(history, head, most)
    if span is not None:
        return span
    if count - head < LEAST_MESSAGES + history.policy.keep_recent:
        is_long = count - head >= _LONG and _span(history, head, count) is not None
        return "too many recent" if is_long else "too short"
    return "tail too large" if _span(history, head, newest) is not None else "too short"


def _span(history: History, head: int, most: int) -> Span | None:
    cut = max((cut for cut in message_cuts(history) if cut <= most), default=0)
    if cut <= head:
        return None
    places = going(history, head, cut)
    messages = {history.boundaries.pieces[place].ref.message for place in places}
    if len(messages) < LEAST_MESSAGES:
        return None
    return Span(head, cut, cut - head, sum(map(history.piece_tokens, places)))


def _head(history: History) -> int:
    """How many messages the head holds whole."""
    pieces = history.boundaries.pieces
    end = head_end(history)
    if end == len(pieces):
        return len(history.messages)
    return pieces[end].ref.message


def _tail_start(tokens: Sequence[int], tail_tokens: int) -> int:
    """The last place from which on messages weigh as much."""
    start = len(tokens)
    held = 0
    while start > 0 and held < tail_tokens:
        start -= 1
        held += tokens[start]
    return start


def message_cuts(history: History) -> Iterator[int]:
    """Messages that a tail may begin with; one that is parted by a cut is none."""
    pieces = history.boundaries.pieces
    for cut in history.boundaries.cuts:
        if cut == len(pieces):
            yield len(history.messages)
        elif cut == 0 or pieces[cut - 1].ref.message != pieces[cut].ref.message:
            yield pieces[cut].ref.message


def going(history: History, head: int, cut: int) -> list[int]:
    """The pieces of a span that a briefing replaces: neither protected nor part of what stays."""
    boundaries = history.boundaries
    inside = {
        place for place, piece in enumerate(boundaries.pieces) if head <= piece.ref.message < cut
    }
    return [
        place
        for place in sorted(inside)
        if inside.issuperset(boundaries.atoms[boundaries.pieces[place].atom].pieces)
        and place not in history.protected
    ]


def moved(span: Span, plan: Plan, messages: Sequence[Message]) -> Span:
    """Where a span lies after an edit of ours that a briefing under way need not know of.

    What we removed or shortened of it is covered by the briefing all the same,
    and the marker's ledger goes on in that of the briefing.

    Args:
        span: Where it lay.
        plan: What was done to the messages.
        messages: The messages before.
    """
    folds = {id(edit.message): edit for edit in plan if isinstance(edit, Fold)}
    head = cut = 0
    for place, slot in enumerate(apply(plan, messages)):
        made = None if slot.source is not None else folds[id(slot.message)]
        if made is None and slot.source is not None:
            if slot.source >= span.cut:
                break
            head = place + 1 if slot.source < span.head else head
        elif made is not None and not _is_inside(made, span):
            break
        cut = place + 1
    return replace(span, head=head, cut=cut)


def _is_inside(made: Fold, span: Span) -> bool:
    """Whether something made stands for nothing but what a briefing covers, or is the marker."""
    if made.before > span.cut:
        return False
    is_marker = made.message.role == "user" and made.message.origin == "marker"
    places = [ref.message for ref in made.removed]
    return (is_marker and made.before < span.cut) or (
        bool(places) and all(place < span.cut for place in places)
    )


def fingerprint(messages: Sequence[Message]) -> bytes:
    """What tells a row of messages from any other: a hash of all that is sent of them."""
    seen = sha256()
    for message in messages:
        for item in _serialised(message):
            seen.update(b"%d:" % len(item))
            seen.update(item)
    return seen.digest()


def _serialised(message: Message) -> Iterator[bytes]:
    yield message.role.encode()
    parts = message.parts
    yield b"%d" % len(parts)
    for part in parts:
        yield from _serialised_part(part)


def _serialised_part(part: Part) -> Iterator[bytes]:
    yield type(part).__name__.encode()
    if isinstance(part, ToolResult):
        yield part.call_id.encode("utf-8", "surrogatepass")
        yield b"%d,%d" % (part.is_error, len(part.content))
        for block in part.content:
            yield from _serialised_part(block)
        return
    for kind in fields(part):
        if kind.compare:
            yield str(getattr(part, kind.name)).encode("utf-8", "surrogatepass")
