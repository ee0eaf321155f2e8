"""Keep what is protected and as much of the newest as fits; all else goes.

The last tier: it gives up the head and the wish for recent messages, never
what is protected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from trimtab.plan import Edit
from trimtab.strategies.fold import StandIn, fold
from trimtab.strategies.history import History
from trimtab.strategies.tail import cuts_outside, left_of, middle_before, shortest_cut

__all__ = ["keep_within_budget", "without_answered_exchange"]

REASON = "all but what is protected and the newest"


def keep_within_budget(
    history: History,
    target_tokens: int,
    stand_ins: Sequence[StandIn] = (),
    *,
    with_fillers: bool = True,
) -> tuple[Edit, ...]:
    """Drop all that is not protected, from the oldest on, until the rest fits.

    Args:
        history: What there is.
        target_tokens: Size of the whole request to come down to.
        stand_ins: What is made of turns, where they stay.
        with_fillers: Whether two users in a row get an answer between them.

    Returns:
        The edits; empty if everything is protected. The result is larger than
        the target only if what is protected is.
    """
    cuts = cuts_outside(history, stand_ins)
    cut = shortest_cut(history, 0, cuts, target_tokens, stand_ins)
    removed = middle_before(history, 0, cut, stand_ins)
    left = left_of(stand_ins, 0, cut)
    return fold(history, removed, REASON, stand_ins=left, with_fillers=with_fillers)


def without_answered_exchange(history: History) -> History | None:
    """The same history with its newest exchange given up, where the user has spoken since.

    Such an exchange was answered; it is protected as long as there is room,
    and the first to give way when there is none.

    Returns:
        None where the newest exchange is part of the round under way.
    """
    newest = history.boundaries.newest_exchange()
    if newest is None:
        return None
    pieces = history.boundaries.atoms[newest].pieces
    if any(history.protected.get(place) != "newest exchange" for place in pieces):
        return None
    spoken_since = any(
        why == "newest user message" and place > pieces[-1]
        for place, why in history.protected.items()
    )
    if not spoken_since:
        return None
    protected: Mapping[int, str] = {
        place: why for place, why in history.protected.items() if place not in pieces
    }
    return replace(history, protected=protected)
