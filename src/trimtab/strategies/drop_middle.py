"""Keep the head and the longest tail that fits; a marker stands for what was between.

Buys: the task at the front and the work at the end, word for word.
Costs: what was found in between is known only from what is said about it later.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.boundaries import is_made
from trimtab.plan import Edit
from trimtab.strategies.fold import StandIn, fold
from trimtab.strategies.history import History
from trimtab.strategies.tail import cuts_outside, left_of, middle_before, shortest_cut

__all__ = ["drop_middle", "head_end"]

REASON = "middle of the conversation"


def drop_middle(
    history: History, target_tokens: int, stand_ins: Sequence[StandIn] = ()
) -> tuple[Edit, ...]:
    """Drop what lies between the head and the longest tail that fits.

    The head is the policy's ``keep_first`` messages, the tail at least its
    ``keep_recent``; neither ends or begins inside an exchange. Protected
    pieces in between stay, behind the marker.

    Args:
        history: What there is.
        target_tokens: Size of the whole request to come down to.
        stand_ins: What is made of old turns, where they stay.

    Returns:
        The edits; empty if there is nothing between head and tail. The result
        may still be larger than the target.
    """
    head = head_end(history)
    cuts = _cuts(history, head, stand_ins)
    if not cuts:
        return ()
    cut = shortest_cut(history, head, cuts, target_tokens, stand_ins)
    removed = middle_before(history, head, cut, stand_ins)
    return fold(history, removed, REASON, stand_ins=left_of(stand_ins, head, cut))


def head_end(history: History) -> int:
    """Where the head ends; an earlier compaction's marker is not part of it."""
    end = history.boundaries.head_end(history.policy.keep_first)
    for place, piece in enumerate(history.boundaries.pieces[:end]):
        if is_made(history.messages[piece.ref.message]):
            return place
    return end


def _cuts(history: History, head: int, stand_ins: Sequence[StandIn]) -> Sequence[int]:
    """Legal places for the tail to begin that leave the newest messages in it."""
    newest = len(history.messages) - history.policy.keep_recent
    pieces = history.boundaries.pieces
    return [
        cut
        for cut in cuts_outside(history, stand_ins)
        if head < cut
        and (cut == len(pieces) or pieces[cut].ref.message <= newest)
        and (cut < len(pieces) or history.policy.keep_recent == 0)
    ]
