"""Turn "these pieces go" into edits: one marker for all of them, and roles that stay valid.

The marker is a message of its own. Where the history alternated between user
and assistant and it would not any more, the marker becomes the last part of
the user message before it, and two users in a row get a made answer between
them. Only what we made is merged or put in.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from trimtab.boundaries import MADE_PREFIX, MARKER
from trimtab.messages import Message
from trimtab.plan import Drop, Edit, Fold, Keep, Ref
from trimtab.strategies.history import History

__all__ = ["FILLER", "fold"]

FILLER = f"{MADE_PREFIX}the answer given here was removed]"
"""Stands between two user messages where the provider may demand an answer."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """A message of the view, or the marker, on the way to it.

    Attributes:
        role: Who speaks.
        source: Place in the original; None for the marker.
        can_take_text: Whether the marker may become its last part.
    """

    role: str
    source: int | None
    can_take_text: bool = False


def fold(
    history: History, removed: AbstractSet[int], reason: str, *, with_fillers: bool = True
) -> tuple[Edit, ...]:
    """Remove pieces and let one marker stand for them.

    Args:
        history: What there is.
        removed: Places of the pieces that go; whole atoms.
        reason: Why, in words for the user.
        with_fillers: Whether two users in a row get an answer between them.

    Returns:
        The fold, what stays in the middle of it, and what keeps roles valid;
        empty if nothing is removed.
    """
    if not removed:
        return ()
    refs = _whole_refs(history, removed)
    before = _first_place(refs, history.constraints.turn_start)
    row = _row(history, removed, before)
    edits: list[Edit] = [
        Keep(history.boundaries.pieces[place].ref, why)
        for place, why in sorted(history.protected.items())
        if _is_inside(place, removed)
    ]
    marked = _marked(history, row)
    joins = _joins(history, row) if marked is None else marked
    fillers = _fillers(history, row, joins) if with_fillers else {}
    edits += [_filler(at) for at in fillers.get(True, ())]
    if marked is None:
        marker = Message.user(MARKER, origin="marker")
        edits.append(Fold(tuple(refs), before, marker, reason, joins))
    else:
        # What goes behind an earlier compaction's marker needs no second one.
        edits += [Drop(ref, reason) for ref in refs]
    edits += [_filler(at) for at in fillers.get(False, ())]
    return tuple(edits)


def _marked(history: History, row: Sequence[_Stop]) -> int | None:
    """The message before the place of the marker, where it already ends in one."""
    place = next(number for number, stop in enumerate(row) if stop.source is None)
    previous = row[place - 1].source if place else None
    if previous is None or not history.messages[previous].text.endswith(MARKER):
        return None
    return previous


def _filler(before: int) -> Fold:
    message = Message.assistant(FILLER, origin="filler")
    return Fold((), before, message, "keeps user and assistant alternating")


def _whole_refs(history: History, removed: AbstractSet[int]) -> list[Ref]:
    """What goes, in order; two halves of a message that both go are the message."""
    halves: dict[int, list[int]] = {}
    refs = []
    for place in sorted(removed):
        ref = history.boundaries.pieces[place].ref
        if ref.parts is None:
            refs.append(ref)
        else:
            halves.setdefault(ref.message, []).extend(ref.parts)
    for message, parts in halves.items():
        is_all = len(parts) == len(history.messages[message].parts)
        refs.append(Ref(message, None if is_all else tuple(sorted(parts))))
    return sorted(refs, key=lambda ref: ref.message)


def _first_place(refs: Sequence[Ref], turn_start: int | None) -> int:
    """Where the marker stands.

    In place of the first message that goes; behind one that loses its second
    half; and never inside a turn that must not be interrupted.
    """
    first = refs[0]
    before = first.message if first.parts is None or 0 in first.parts else first.message + 1
    return before if turn_start is None else min(before, turn_start)


def _is_inside(place: int, removed: AbstractSet[int]) -> bool:
    return min(removed) < place < max(removed)


def _row(history: History, removed: AbstractSet[int], before: int) -> list[_Stop]:
    """The messages that stay, in order, with the marker among them."""
    staying = {
        piece.ref.message
        for place, piece in enumerate(history.boundaries.pieces)
        if place not in removed
    }
    row: list[_Stop] = []
    for place, message in enumerate(history.messages):
        if place == before:
            row.append(_Stop("user", None))
        if place in staying:
            free = place not in history.constraints.frozen
            row.append(_Stop(message.role, place, message.role == "user" and free))
    if before >= len(history.messages):
        row.append(_Stop("user", None))
    return row


def _joins(history: History, row: Sequence[_Stop]) -> int | None:
    """The user message that the marker becomes part of; None where it stands alone."""
    place = next(number for number, stop in enumerate(row) if stop.source is None)
    previous = row[place - 1] if place else None
    if previous is None or not previous.can_take_text or not _alternates(history.messages):
        return None
    return previous.source


def _fillers(history: History, row: Sequence[_Stop], joins: int | None) -> dict[bool, list[int]]:
    """Where an answer must be put in: by whether it stands before the marker, places of messages."""
    if not _alternates(history.messages):
        return {}
    speakers = [
        stop
        for stop in row
        if stop.role not in ("system", "developer")
        and not (stop.source is None and joins is not None)
    ]
    fillers: dict[bool, list[int]] = {}
    is_before_marker = any(stop.source is None for stop in speakers)
    place = 0
    for stop, following in pairwise(speakers):
        is_before_marker = is_before_marker and stop.source is not None
        if stop.source is not None:
            place = stop.source + 1
        if stop.role == "user" and following.role == "user":
            at = place if following.source is None else following.source
            fillers.setdefault(is_before_marker, []).append(at)
    return fillers


def _alternates(messages: Sequence[Message]) -> bool:
    """Whether no user follows a user, and no assistant an assistant."""
    speakers = [m.role for m in messages if m.role not in ("system", "developer")]
    return not any(role == following and role != "tool" for role, following in pairwise(speakers))
