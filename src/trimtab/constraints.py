"""What a format tells the neutral code about one request.

Neutral code asks for nothing else: ``if format ==`` stands nowhere outside
``wire``. Lists of messages without a format have :data:`UNCONSTRAINED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["UNCONSTRAINED", "Concern", "Constraints"]

Concern: TypeAlias = Literal["clearing", "compaction"]
"""What a provider's own context management can take over.

``clearing`` is the shortening and removal of tool results, ``compaction`` the
removal of whole messages.
"""


@dataclass(frozen=True, slots=True)
class Constraints:
    """The rules of one request that decide what an edit may do.

    Attributes:
        hands_off: Why the history must be left alone (part of it lies on the
            provider's server); empty where it may be edited.
        left_to_client: Concerns that the client already leaves to the
            provider's own context management; ours stays off for them.
        frozen: Messages that stay whole and untouched: they hold something
            that is not understood.
        illegal_starts: Messages that a kept tail may not begin with.
        turn_start: A message that begins a turn which words of ours must not
            interrupt; it stays, and a marker stands in front of it. None for none.
        open_loop_start: First message behind the last words that the user
            said, where there is one: the tool loop that the model may still be in.
        binds_thinking: Whether signatures commit to the exact prefix, so that
            an edit before a thinking block breaks it.
        results_must_follow: Whether results must stand directly behind their calls.
        neighbours_are_one_turn: Whether messages of one role in a row count as
            one, so that results may stand behind the last of them.
        results_come_first: Whether results stand in front of all else in their message.
        results_share_message: Whether all results of a turn stand in one message.
        roles_must_alternate: Whether two users in a row are refused, so that what
            keeps roles alternating is never left out.
        refuses_blank_text: Whether a text part without any words is refused.
    """

    hands_off: str = ""
    left_to_client: frozenset[Concern] = frozenset()
    frozen: frozenset[int] = frozenset()
    illegal_starts: frozenset[int] = frozenset()
    turn_start: int | None = None
    open_loop_start: int | None = None
    binds_thinking: bool = False
    results_must_follow: bool = True
    neighbours_are_one_turn: bool = False
    results_come_first: bool = True
    results_share_message: bool = False
    roles_must_alternate: bool = False
    refuses_blank_text: bool = False


UNCONSTRAINED = Constraints()
"""For lists of messages without a format."""
