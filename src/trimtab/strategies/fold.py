"""Turn "these pieces go" into edits: one marker for all of them, and roles that stay valid.

The marker is a message of its own. Where the history alternated between user
and assistant and it would not any more, the marker becomes the last part of
the user message before it, and two of the same role in a row get a made
message between them. Only what we made is merged or put in.

There is one marker at a time: one that an earlier compaction left among what
stays is made anew where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise

from trimtab.boundaries import MADE_PREFIX, MARKER, split_marker
from trimtab.messages import Message, Text
from trimtab.plan import Drop, Edit, Fold, Keep, Ref, Replace
from trimtab.strategies.history import History

__all__ = ["FILLER", "GO_ON", "StandIn", "fold"]

FILLER = f"{MADE_PREFIX}the answer given here was removed]"
"""Stands between two user messages where the provider may demand an answer."""

GO_ON = f"{MADE_PREFIX}the work goes on]"
"""Stands between a shortened answer and the next one, where roles must alternate."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """A message that we made of some pieces that go.

    Attributes:
        pieces: Places of the pieces, ascending; whole atoms.
        message: What stands for them, in the place of the first.
        tokens: What it weighs.
        reason: Why, in words for the user.
    """

    pieces: tuple[int, ...]
    message: Message
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Stop:
    """A message of the view on the way to it.

    Attributes:
        role: Who speaks.
        before: Where it stands: in front of this place of the original.
        source: Place in the original; None for what we make.
        made: What we make; None for an original.
        removed: What it stands for.
        reason: Why it is made.
        is_marker: Whether it is the marker.
        can_take_text: Whether the marker may become its last part.
    """

    role: str
    before: int
    source: int | None = None
    made: Message | None = None
    removed: tuple[Ref, ...] = ()
    reason: str = ""
    is_marker: bool = False
    can_take_text: bool = False


def fold(
    history: History,
    removed: AbstractSet[int],
    reason: str,
    *,
    stand_ins: Sequence[StandIn] = (),
    with_fillers: bool = True,
) -> tuple[Edit, ...]:
    """Remove pieces and let one marker stand for them.

    Args:
        history: What there is.
        removed: Places of the pieces that go and leave nothing; whole atoms.
        reason: Why, in words for the user.
        stand_ins: What is made of other pieces that go, in order.
        with_fillers: Whether two of one role in a row get a message between them.

    Returns:
        The fold, what stays in the middle of it, and what keeps roles valid;
        empty if nothing is removed.
    """
    gone = set(removed).union(*(stand_in.pieces for stand_in in stand_ins))
    if not gone:
        return ()
    return tuple(_Folding(history, removed, gone, reason, stand_ins).edits(with_fillers))


@dataclass(frozen=True, slots=True)
class _Folding:
    """The pieces that go, on their way to edits."""

    history: History = field(repr=False)
    removed: AbstractSet[int]
    gone: AbstractSet[int]
    reason: str
    stand_ins: Sequence[StandIn] = field(repr=False)

    def edits(self, with_fillers: bool) -> Iterator[Edit]:  # noqa: FBT001 - said by name above
        yield from self._kept()
        refs = _whole_refs(self.history, self.removed)
        earlier = self._earlier_marker()
        row = self._row(refs, has_marker=earlier is None)
        joins = self._joins(row)
        alternate = with_fillers and _alternates(self.history.messages)
        speakers = [stop for stop in row if not (stop.is_marker and joins is not None)]
        fillers = dict(_fillers(speakers)) if alternate else {}
        if earlier is not None:
            yield earlier
            yield from (Drop(ref, self.reason) for ref in refs)
        for stop in row:
            if (filler := fillers.get(id(stop))) is not None:
                yield Fold((), stop.before, filler, "keeps user and assistant alternating")
            if stop.made is not None:
                joined = joins if stop.is_marker else None
                yield Fold(stop.removed, stop.before, stop.made, stop.reason, joined)

    def _kept(self) -> Iterator[Keep]:
        """What is protected between the first and the last that goes."""
        first, last = min(self.gone), max(self.gone)
        for place, why in sorted(self.history.protected.items()):
            if first < place < last:
                yield Keep(self.history.boundaries.pieces[place].ref, why)

    def _earlier_marker(self) -> Replace | None:
        """An earlier compaction's marker that stays, made anew."""
        staying = {ref.message for ref in self._staying_refs()}
        for place in sorted(staying - self.history.constraints.frozen):
            message = self.history.messages[place]
            if message.role != "user" or not message.has_own_words:
                continue
            for number, part in enumerate(message.parts):
                split = split_marker(part.text) if isinstance(part, Text) else None
                if split is not None:
                    renewed = Text(f"{split[0]}\n\n{MARKER}" if split[0] else MARKER)
                    return Replace(place, number, renewed, self.reason)
        return None

    def _staying_refs(self) -> Iterator[Ref]:
        for place, piece in enumerate(self.history.boundaries.pieces):
            if place not in self.gone:
                yield piece.ref

    def _row(self, refs: Sequence[Ref], *, has_marker: bool) -> list[_Stop]:
        """The messages of the view, in order, with what we make among them."""
        history = self.history
        stops = [
            _Stop(
                history.messages[place].role,
                place,
                place,
                can_take_text=history.messages[place].role == "user"
                and place not in history.constraints.frozen,
            )
            for place in sorted({ref.message for ref in self._staying_refs()})
        ]
        made = [self._stand_in_stop(stand_in) for stand_in in self.stand_ins]
        if has_marker:
            made.append(self._marker_stop(refs))
        # What we make stands in front of an original, and the marker in front of all.
        return sorted([*made, *stops], key=lambda s: (s.before, s.made is None, not s.is_marker))

    def _stand_in_stop(self, stand_in: StandIn) -> _Stop:
        refs = _whole_refs(self.history, set(stand_in.pieces))
        before = _first_place(refs, None)
        made = stand_in.message
        return _Stop(made.role, before, None, made, tuple(refs), stand_in.reason)

    def _marker_stop(self, refs: Sequence[Ref]) -> _Stop:
        all_refs = _whole_refs(self.history, self.gone)
        before = _first_place(all_refs, self.history.constraints.turn_start)
        marker = Message.user(MARKER, origin="marker")
        return _Stop("user", before, None, marker, tuple(refs), self.reason, is_marker=True)

    def _joins(self, row: Sequence[_Stop]) -> int | None:
        """The user message that the marker becomes part of; None where it stands alone."""
        if not _alternates(self.history.messages):
            return None
        for previous, stop in pairwise(row):
            if stop.is_marker and previous.can_take_text:
                return previous.source
        return None


def _fillers(row: Sequence[_Stop]) -> Iterator[tuple[int, Message]]:
    """What must be put in front of which stop, by its id, so that roles alternate."""
    speakers = [stop for stop in row if stop.role not in ("system", "developer")]
    for stop, following in pairwise(speakers):
        if stop.role == following.role == "user":
            yield id(following), Message.assistant(FILLER, origin="filler")
        elif stop.role == following.role == "assistant":
            yield id(following), Message.user(GO_ON, origin="filler")


def _whole_refs(history: History, places: AbstractSet[int]) -> list[Ref]:
    """What goes, in order; two halves of a message that both go are the message."""
    halves: dict[int, list[int]] = {}
    refs = []
    for place in sorted(places):
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
    """Where something made stands.

    In place of the first message that goes; behind one that loses its second
    half; and never inside a turn that must not be interrupted.
    """
    first = refs[0]
    before = first.message if first.parts is None or 0 in first.parts else first.message + 1
    return before if turn_start is None else min(before, turn_start)


def _alternates(messages: Sequence[Message]) -> bool:
    """Whether no user follows a user, and no assistant an assistant."""
    speakers = [m.role for m in messages if m.role not in ("system", "developer")]
    return not any(role == following and role != "tool" for role, following in pairwise(speakers))
