"""A history in its own bytes, from which requests are cut that hold none of them.

The list grows while a request holds no more than the list and how much of it
was sent. A piece is an item of its own, or a part; parts of neighbours with
the same role become one message when a body is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import NamedTuple

from trimtab.replay.answers import Answer
from trimtab.replay.json_lines import Bytes
from trimtab.replay.recording import RecordedRequest
from trimtab.wire.json_spans import drop_members, splice

__all__ = ["Piece", "Pieces"]


class Piece(NamedTuple):
    """An item of its own, or a part of a message.

    Attributes:
        json: Its JSON text.
        role: Whose message it is a part of; empty for an item of its own.
        is_thought: Whether it is reasoning, which is sent back within its turn alone.
        unsent: Members of it that are left out when it is sent.
    """

    json: Bytes
    role: bytes = b""
    is_thought: bool = False
    unsent: tuple[str, ...] = ()

    @property
    def written(self) -> Bytes:
        """Its JSON text as it is sent."""
        if not self.unsent:
            return self.json
        text = bytes(self.json)
        return splice(text, drop_members(text, self.unsent))


@dataclass(slots=True)
class Pieces:
    """A history of pieces.

    Attributes:
        pieces: All that is sent, in order. Requests hold this list: it only grows.
        turns: Where each turn of the user begins.
        size_bytes: How large it is as it would be sent now.
    """

    pieces: list[Piece] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    size_bytes: int = 0
    _thought_bytes: int = 0

    def add(self, piece: Piece) -> None:
        """Go on."""
        self.pieces.append(piece)
        size = len(piece.json) + 1
        self.size_bytes += size
        if piece.is_thought:
            self._thought_bytes += size

    def begin_turn(self) -> None:
        """The user speaks: what was thought before is not sent any more."""
        self.turns.append(len(self.pieces))
        self.size_bytes -= self._thought_bytes
        self._thought_bytes = 0

    def cut(self, turns: int) -> Pieces:
        """Go back by some turns of the user."""
        count = self.turns[-turns] if 0 < turns <= len(self.turns) else 0
        earlier = Pieces(turns=self.turns[:-turns])
        for piece in self.pieces[:count]:
            earlier.add(piece)
        return earlier

    def request(
        self,
        head: Callable[[], bytes],
        *,
        wire_format: str,
        answer: Answer,
        unrecorded: frozenset[str],
    ) -> RecordedRequest:
        """Make a request of all that was said so far.

        Args:
            head: Writes the body up to its first piece.
            wire_format: Name of the format.
            answer: What answered.
            unrecorded: What the log does not hold.
        """
        thoughts_from = self.turns[-1] if self.turns else 0
        count = len(self.pieces)
        return RecordedRequest(
            format=wire_format,
            build=partial(_pieces_body, head, self.pieces, count, thoughts_from),
            size_bytes=self.size_bytes,
            message_count=count,
            model=answer.model,
            usage=answer.usage,
            at=answer.at,
            unrecorded=unrecorded,
        )


def _pieces_body(
    head: Callable[[], bytes], pieces: list[Piece], count: int, thoughts_from: int
) -> bytes:
    for place, piece in enumerate(islice(pieces, count)):
        if piece.unsent:  # it is sent so from now on, so it is written once
            pieces[place] = piece._replace(json=piece.written, unsent=())
    sent = (
        piece
        for place, piece in enumerate(islice(pieces, count))
        if place >= thoughts_from or not piece.is_thought
    )
    return b"".join((head(), b",".join(_gathered(sent)), b"]}"))


def _gathered(pieces: Iterable[Piece]) -> Iterator[Bytes]:
    """Put the parts of neighbours with the same role into one message."""
    role, parts = b"", list[Bytes]()
    for piece in pieces:
        if parts and piece.role != role:
            yield _message(role, parts)
            parts = []
        role = piece.role
        if role:
            parts.append(piece.written)
        else:
            yield piece.written
    if parts:
        yield _message(role, parts)


def _message(role: bytes, parts: Sequence[Bytes]) -> bytes:
    return b"".join((b'{"role":"', role, b'","parts":[', b",".join(parts), b"]}"))
