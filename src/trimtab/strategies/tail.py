"""Find the longest tail that fits behind a head, a marker and what is protected."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.boundaries import MARKER
from trimtab.messages import Message
from trimtab.strategies.fold import FILLER
from trimtab.strategies.history import History

__all__ = ["middle_before", "shortest_cut"]


def shortest_cut(history: History, head: int, cuts: Sequence[int], target_tokens: int) -> int:
    """Pick the first cut behind which the rest fits.

    Args:
        history: What there is.
        head: Pieces before it stay.
        cuts: Legal cuts, ascending, not empty.
        target_tokens: Size of the whole request to come down to.

    Returns:
        The first cut that fits; the last one where none does.
    """
    made = history.measure.message(Message.user(MARKER)) + history.measure.message(
        Message.assistant(FILLER)
    )
    tokens = [history.piece_tokens(place) for place in range(len(history.boundaries.pieces))]
    tail = sum(tokens[head:])
    kept = history.fixed_tokens + sum(tokens[:head]) + made
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


def middle_before(history: History, head: int, cut: int) -> set[int]:
    """The pieces between a head and a cut that are not protected."""
    return {place for place in range(head, cut) if place not in history.protected}
