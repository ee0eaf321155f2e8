"""Rounds, exchanges, and where a history may be cut.

A history is a row of *pieces*. A piece is a message, or one of the two halves
of a message that carries results and words of its own: the results belong to
the exchange that asked for them, the words begin a round.

Pieces form *atoms*: an exchange with all its results is one, wherever they
lie; every other piece is its own. An atom is kept or dropped whole. A history
may be cut where no atom lies on both sides.

The law of this file: no cut that it allows parts a call from its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from trimtab.constraints import UNCONSTRAINED, Constraints
from trimtab.messages import Message, Text, ToolResult
from trimtab.plan import Ref

__all__ = [
    "BRIEFING",
    "MADE_PREFIX",
    "SUMMARY_LINE",
    "Atom",
    "Boundaries",
    "Piece",
    "is_briefing",
    "is_made",
    "protected_pieces",
    "round_starts",
    "split_marker",
]

MADE_PREFIX = "[trimtab: "
"""What every text that we make begins with."""

MARKER = (
    f"{MADE_PREFIX}earlier messages were removed here, so that the conversation fits its window. "
    "What follows continues it.]"
)
"""Says that something is missing. It holds no count, date or size: it is the same at each
compaction, so that nothing before or behind it drifts. A user message whose first line it is
was made by us, also where it went through JSON and lost its origin."""


BRIEFING = (
    f"{MADE_PREFIX}this briefing stands for earlier messages. It is for reference and asks for "
    "nothing.]"
)
"""First line of each briefing. It holds no count, date or size."""

SUMMARY_LINE = "Summary by a model:"
"""Stands between the ledger of a briefing and the summary."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or the part of it that belongs to one atom.

    Attributes:
        ref: Which message, and which of its parts where it is not all of them.
        atom: The atom that it belongs to.
        is_result: Whether it holds nothing but tool results.
    """

    ref: Ref
    atom: int
    is_result: bool = False


@dataclass(frozen=True, slots=True)
class Atom:
    """What is kept or dropped whole.

    Attributes:
        pieces: Places of its pieces, ascending.
        is_exchange: Whether it holds calls.
        is_pending: Whether one of its calls still waits for a result.
    """

    pieces: tuple[int, ...]
    is_exchange: bool = False
    is_pending: bool = False


class Boundaries:
    """The pieces and atoms of a history, and its legal cuts.

    Args:
        messages: All messages, oldest first.
        constraints: What the format adds.

    Attributes:
        pieces: The history as a row of pieces, oldest first.
        atoms: What is kept or dropped whole, by the place of its first piece.
        cuts: Places in :attr:`pieces` where a kept tail may begin, ascending;
            the end counts, the front does not.
    """

    def __init__(
        self, messages: Sequence[Message], constraints: Constraints = UNCONSTRAINED
    ) -> None:
        gathered = _Gatherer(messages)
        self.pieces: tuple[Piece, ...] = gathered.pieces()
        self.atoms: tuple[Atom, ...] = gathered.atoms(self.pieces)
        self.cuts: tuple[int, ...] = _legal_cuts(self.pieces, self.atoms, constraints)

    def newest_exchange(self) -> int | None:
        """The atom of the newest exchange; None where there is none."""
        exchanges = [
            (atom.pieces[0], number) for number, atom in enumerate(self.atoms) if atom.is_exchange
        ]
        return max(exchanges)[1] if exchanges else None

    def head_end(self, keep_first: int) -> int:
        """Where a head of some messages ends without ending inside an exchange.

        Args:
            keep_first: Messages that the head should hold at most.

        Returns:
            A place in :attr:`pieces`; 0 where the first exchange is longer.
        """
        end = sum(1 for piece in self.pieces if piece.ref.message < keep_first)
        legal = {0, *self.cuts, len(self.pieces)}
        while end not in legal:
            end -= 1
        return end


class _Gatherer:
    """Sorts messages into exchanges: a run of assistant messages with calls, and their results."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._rows: list[tuple[Ref, int, bool]] = []  # ref, group, is_result
        self._opener: dict[str, int] = {}  # call id: the group that waits for it
        self._waiting: dict[int, int] = {}  # group: calls that are not answered
        self._calling: set[int] = set()
        self._merged: dict[int, int] = {}
        self._groups = 0
        run: int | None = None
        for place, message in enumerate(messages):
            if message.role == "assistant":
                run = self._new_group() if run is None else run
                self._open(run, message)
                self._rows.append((Ref(place), run, False))
                continue
            run = None
            self._add(place, message)
        self._split_talk(messages)

    def _new_group(self) -> int:
        self._groups += 1
        return self._groups - 1

    def _open(self, group: int, message: Message) -> None:
        for call_id in message.call_ids:
            self._opener[call_id] = group
            self._waiting[group] = self._waiting.get(group, 0) + 1
            self._calling.add(group)

    def _add(self, place: int, message: Message) -> None:
        if not message.result_ids:
            self._rows.append((Ref(place), self._new_group(), False))
            return
        group = self._answer(message.result_ids)
        if not message.has_own_words:
            self._rows.append((Ref(place), group, True))
            return
        results, words = _halves(message)
        self._rows.append((Ref(place, results), group, True))
        self._rows.append((Ref(place, words), self._new_group(), False))

    def _answer(self, result_ids: Sequence[str]) -> int:
        """The group that these results belong to; exchanges that share a message become one."""
        groups = []
        for call_id in result_ids:
            group = self._opener.pop(call_id, None)
            if group is not None:
                self._waiting[group] -= 1
                groups.append(self._find(group))
        if not groups:
            return self._new_group()  # orphans: nothing in the history asked for them
        first = min(groups)
        for group in groups:
            if group != first:
                self._merged[group] = first
        return first

    def _find(self, group: int) -> int:
        while group in self._merged:
            group = self._merged[group]
        return group

    def _split_talk(self, messages: Sequence[Message]) -> None:
        """Messages of a run without calls are no exchange: each stands for itself."""
        seen: set[int] = set()
        for number, (ref, group, is_result) in enumerate(self._rows):
            if messages[ref.message].role != "assistant" or group in self._calling:
                continue
            if group in seen:
                self._rows[number] = (ref, self._new_group(), is_result)
            seen.add(group)

    def pieces(self) -> tuple[Piece, ...]:
        numbers: dict[int, int] = {}
        return tuple(
            Piece(ref, numbers.setdefault(self._find(group), len(numbers)), is_result)
            for ref, group, is_result in self._rows
        )

    def atoms(self, pieces: Sequence[Piece]) -> tuple[Atom, ...]:
        calling: set[int] = set()
        pending: set[int] = set()
        members: dict[int, list[int]] = {}
        for place, (piece, (_, group, _)) in enumerate(zip(pieces, self._rows, strict=True)):
            members.setdefault(piece.atom, []).append(place)
            if group in self._calling:
                calling.add(piece.atom)
            if self._waiting.get(group, 0) > 0:
                pending.add(piece.atom)
        return tuple(
            Atom(tuple(places), number in calling, number in pending)
            for number, places in sorted(members.items())
        )


def _halves(message: Message) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of the results of a message, and of all else in it."""
    results: list[int] = []
    words: list[int] = []
    for place, part in enumerate(message.parts):
        (results if isinstance(part, ToolResult) else words).append(place)
    return tuple(results), tuple(words)


def _legal_cuts(
    pieces: Sequence[Piece], atoms: Sequence[Atom], constraints: Constraints
) -> tuple[int, ...]:
    """Places where no atom lies on both sides and the format lets a tail begin."""
    reaches = 0  # the first place that no atom begun so far reaches over
    cuts = []
    for place, piece in enumerate(pieces):
        is_open = place < reaches or piece.is_result
        if place and not is_open and piece.ref.message not in constraints.illegal_starts:
            cuts.append(place)
        reaches = max(reaches, atoms[piece.atom].pieces[-1] + 1)
    return (*cuts, len(pieces))


def round_starts(messages: Sequence[Message]) -> list[int]:
    """Find the messages that begin a round: a user's own words that somebody said."""
    return [
        place
        for place, message in enumerate(messages)
        if message.role == "user" and message.has_own_words and not is_made(message)
    ]


def is_made(message: Message) -> bool:
    """Whether we made a message, or all the words in it."""
    if message.origin is not None:
        return True
    if message.role != "user" or not message.has_own_words:
        return False
    return message.text.partition("\n")[0] == MARKER or is_briefing(message)


def is_briefing(message: Message) -> bool:
    """Whether a message is a briefing, by its origin or, where it went through JSON, by its form.

    That is one text with the first line and the summary's. Words that a client put beside it
    in a part of their own are somebody's, and so is the message.
    """
    if message.origin is not None or message.role != "user" or not message.has_own_words:
        return message.origin == "summary"
    match message.parts:
        case [Text(text)]:
            return text.startswith(f"{BRIEFING}\n\n") and f"\n\n{SUMMARY_LINE}\n" in text
        case _:
            return False


def split_marker(text: str) -> tuple[str, str] | None:
    """Part a text from the marker that an earlier compaction joined to it.

    Args:
        text: A text part, which may have gone through JSON.

    Returns:
        The words before the marker, and the marker with all that follows it;
        None where there is no marker in it.
    """
    if text.startswith(MARKER):
        return "", text
    words, separator, rest = text.partition(f"\n\n{MARKER}")
    return (words, MARKER + rest) if separator else None


def protected_pieces(
    messages: Sequence[Message],
    boundaries: Boundaries,
    constraints: Constraints = UNCONSTRAINED,
    protect: Callable[[Message], bool] | None = None,
) -> dict[int, str]:
    """Say which pieces no compaction may drop, and why.

    Protected are system and developer messages, the first and the newest
    user message, the newest exchange, calls that still wait for a result,
    messages that hold something unknown, and what the user names. An atom
    with one protected piece is protected whole.

    Args:
        messages: All messages, oldest first.
        boundaries: Their boundaries.
        constraints: What the format adds.
        protect: Says of a message whether the user wants it kept.

    Returns:
        The reason by the place of the piece; no entry for what may go.
    """
    reasons: dict[int, str] = {}
    for place, reason in (
        *_user_words(messages, boundaries),
        *_named_messages(messages, boundaries, constraints, protect),
        *_exchanges_under_way(boundaries, constraints),
    ):
        for other in boundaries.atoms[boundaries.pieces[place].atom].pieces:
            reasons.setdefault(other, reason)
    return reasons


def _user_words(messages: Sequence[Message], boundaries: Boundaries) -> Iterator[tuple[int, str]]:
    starts = set(round_starts(messages))
    words = [
        place
        for place, piece in enumerate(boundaries.pieces)
        if piece.ref.message in starts and not piece.is_result
    ]
    if words:
        yield words[0], "first user message"
        yield words[-1], "newest user message"


def _named_messages(
    messages: Sequence[Message],
    boundaries: Boundaries,
    constraints: Constraints,
    protect: Callable[[Message], bool] | None,
) -> Iterator[tuple[int, str]]:
    for place, piece in enumerate(boundaries.pieces):
        message = messages[piece.ref.message]
        if message.role in ("system", "developer"):
            yield place, f"{message.role} message"
        elif piece.ref.message in constraints.frozen:
            yield place, "holds something that is not understood"
        elif protect is not None and protect(message):
            yield place, "named by protect"


def _exchanges_under_way(
    boundaries: Boundaries, constraints: Constraints
) -> Iterator[tuple[int, str]]:
    newest = boundaries.newest_exchange()
    for place, piece in enumerate(boundaries.pieces):
        if piece.ref.message == constraints.turn_start:
            yield place, "begins the turn under way"
        elif piece.atom == newest:
            yield place, "newest exchange"
        elif boundaries.atoms[piece.atom].is_pending:
            yield place, "a call waits for its result"
