"""A message, or one of the two halves of a message that carries results and words of its own.

The results belong to the exchange that asked for them, the words begin a
round; one may stay where the other goes. Where both stay, the message does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trimtab.messages import Message, ToolResult

__all__ = ["Piece", "pieces_of", "rejoined"]


@dataclass(slots=True, eq=False)
class Piece:
    """What a window keeps or drops.

    Attributes:
        message: The message, or its half.
        is_protected: Whether it may never be dropped.
        tokens: What it weighs; None where that is not counted yet.
        follows: The other half, of which this is the second; None for all others.
        whole: The message that the two halves were; None for all others.
        stands_alone: Whether it is no part of a round: a strategy put it there for others.
    """

    message: Message
    is_protected: bool = False
    tokens: int | None = None
    follows: Piece | None = None
    whole: Message | None = None
    stands_alone: bool = False


def pieces_of(message: Message, *, is_protected: bool = False) -> tuple[Piece, ...]:
    """The pieces of a message: two for one with results and words, one for any other."""
    if not (message.result_ids and message.has_own_words):
        return (Piece(message, is_protected),)
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    words = [part for part in message.parts if not isinstance(part, ToolResult)]
    first = Piece(message.with_parts(results), is_protected)
    return first, Piece(message.with_parts(words), is_protected, follows=first, whole=message)


def rejoined(pieces: Iterable[Piece]) -> list[Message]:
    """The messages of some pieces; two halves in a row are the message that they were."""
    messages: list[Message] = []
    last: Piece | None = None
    for piece in pieces:
        if piece.whole is not None and piece.follows is last:
            messages[-1] = piece.whole
        else:
            messages.append(piece.message)
        last = piece
    return messages
