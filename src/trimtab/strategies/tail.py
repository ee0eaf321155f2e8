"""Find the longest tail that fits behind a head, a marker and what is protected."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.boundaries import MARKER
from trimtab.messages import Message
from trimtab.strategies.fold import FILLER, StandIn
from trimtab.strategies.history import History

__all__ = ["cuts_outside", "left_of", "made_tokens", "middle_before", "shortest_cut"]


def shortest_cut(
    history: History,
    head: int,
    cuts: Sequence[int],
    target_tokens: int,
    stand_ins: Sequence[StandIn] = (),
) -> int:
    """Pick the first cut behind which the rest fits.

    Args:
        history: What there is.
        head: Pieces before it stay.
        cuts: Legal cuts, ascending, not empty.
        target_tokens: Size of the whole request to come down to.
        stand_ins: What is made of some of the pieces.

    Returns:
        The first cut that fits; the last one where none does.
    """
    tokens = _piece_tokens(history, stand_ins)
    tail = sum(tokens[head:])
    kept = history.fixed_tokens + sum(tokens[:head]) + made_tokens(history)
    place = head
    for cut in cuts:
        for passed in range(place, cut):
            tail -= tokens[passed]
            if passed in history.protected:
                kept += tokens[passed]
        place = max(place, cut)
        if kept + tail <= target_tokens:
            return cut
    return cuts[-1]


def made_tokens(history: History) -> int:
    """What a bare marker weighs, and an answer that may be needed behind it."""
    return history.measure.message(Message.user(MARKER)) + history.measure.message(
        Message.assistant(FILLER)
    )


def _piece_tokens(history: History, stand_ins: Sequence[StandIn]) -> list[int]:
    """What each piece weighs; what is made of some weighs in the place of the first."""
    tokens = [history.piece_tokens(place) for place in range(len(history.boundaries.pieces))]
    for stand_in in stand_ins:
        for place in stand_in.pieces:
            tokens[place] = 0
        tokens[stand_in.pieces[0]] = stand_in.tokens
    return tokens


def middle_before(
    history: History, head: int, cut: int, stand_ins: Sequence[StandIn] = ()
) -> set[int]:
    """The pieces between a head and a cut that neither are protected nor left as something else."""
    told = {place for stand_in in left_of(stand_ins, head, cut) for place in stand_in.pieces}
    between = range(head, cut)
    return {p for p in between if p not in history.protected and p not in told}


def left_of(stand_ins: Sequence[StandIn], head: int, cut: int) -> list[StandIn]:
    """What was made of pieces in the head or the tail."""
    return [s for s in stand_ins if not head <= s.pieces[0] < cut]


def cuts_outside(history: History, stand_ins: Sequence[StandIn]) -> list[int]:
    """The legal cuts that part nothing that is made of several pieces."""
    inside = {place for s in stand_ins for place in range(s.pieces[0] + 1, s.pieces[-1] + 1)}
    return [cut for cut in history.boundaries.cuts if cut not in inside]
