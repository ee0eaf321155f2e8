"""What a policy sends, as a provider's cache and its bill see it.

A view is a row of blocks. Messages that go out as they came keep the weight
that the bill gave them; of what was made or changed the count is stretched as
the session's bills were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b

from trimtab.economy import Block
from trimtab.messages import Message
from trimtab.plan import Slot
from trimtab.replay.weights import Said, Weights
from trimtab.session import Rewrite
from trimtab.strategies.history import slot_tokens
from trimtab.tokens import Measure

__all__ = ["Row", "View", "Views", "blocks_of"]


@dataclass(frozen=True, slots=True)
class Row:
    """A message of a view.

    Attributes:
        name: A digest of what it says.
        tokens: What it weighs on the bill.
        parts: Blocks that the provider makes of it.
        role: Who speaks.
        source: Its place among the client's messages; None for one that was made.
        is_untouched: Whether it goes out as it came.
        form_of: The name of the client's message that it is another form of; None for none.
    """

    name: bytes
    tokens: int
    parts: int
    role: str
    source: int | None = None
    is_untouched: bool = True
    form_of: bytes | None = None

    @property
    def said_name(self) -> bytes | None:
        """The name of the client's message that it is; None for one that was made."""
        return self.name if self.is_untouched else self.form_of

    @classmethod
    def of(cls, said: Said, source: int) -> Row:
        """A message that goes out as it came."""
        return _as_it_came(said, source)


@lru_cache(maxsize=1 << 16)
def _as_it_came(said: Said, source: int) -> Row:
    """The same on every turn: a session of hundreds asks for hundreds of thousands."""
    return Row(said.name, said.tokens, said.parts, said.role, source)


@dataclass(frozen=True, slots=True)
class View:
    """What is sent.

    Attributes:
        rows: Its messages.
        changed_text: All words that are not the client's own messages as they came.
    """

    rows: Sequence[Row] = field(repr=False)
    changed_text: str = field(default="", repr=False)

    @property
    def tokens(self) -> int:
        """What all messages weigh."""
        return sum(row.tokens for row in self.rows)

    @property
    def untouched(self) -> frozenset[int]:
        """Places of the client's messages that go out as they came."""
        return frozenset(
            row.source for row in self.rows if row.is_untouched and row.source is not None
        )


class Views:
    """Makes views of what an engine decides; what it has weighed is not weighed again.

    Args:
        weights: What messages weigh on the bill.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._forms: dict[Hashable, bytes] = {}
        self._rows: dict[bytes, tuple[Row, str]] = {}

    def of(self, rewrite: Rewrite, said: Sequence[Said], measure: Measure) -> View:
        """The view that a rewrite sends.

        Args:
            rewrite: What the engine decided.
            said: The messages that came in, weighed.
            measure: Counts what was made.
        """
        if not rewrite.plan:
            return View([Row.of(each, place) for place, each in enumerate(said)])
        rows: list[Row] = []
        texts: list[str] = []
        for row, text in self._changed(rewrite, said, measure):
            rows.append(row)
            if text:
                texts.append(text)
        return View(rows, "\n".join(texts))

    def _changed(
        self, rewrite: Rewrite, said: Sequence[Said], measure: Measure
    ) -> Iterator[tuple[Row, str]]:
        request = rewrite.ticket.turn.request
        changes = rewrite.plan.changes
        for row in changes.rows(len(said)):
            match row:
                case range():
                    yield from ((Row.of(said[place], place), "") for place in row)
                case Message():
                    name = self._form((row.role, row.parts))
                    yield self._made(name, row, measure)
                case place:
                    name = self._form((said[place].name, changes.at(place)))
                    slot = (
                        None if name in self._rows else changes.slot(place, request.message(place))
                    )
                    found = self._touched(name, said[place], place, slot, measure)
                    if found is not None:
                        yield found

    def _made(self, name: bytes, message: Message, measure: Measure) -> tuple[Row, str]:
        known = self._rows.get(name)
        if known is None:
            tokens = round(measure.message(message) * self._weights.rate)
            row = Row(name, tokens, max(1, len(message.parts)), message.role, None, False)
            known = self._rows[name] = (row, _words(message))
        return known

    def _touched(
        self, name: bytes, said: Said, place: int, slot: Slot | None, measure: Measure
    ) -> tuple[Row, str] | None:
        known = self._rows.get(name)
        if known is None:
            if slot is None:
                return None
            rate = said.tokens / said.counted if said.counted else self._weights.rate
            tokens = round(slot_tokens(measure, slot) * rate)
            parts = max(1, len(slot.message.parts))
            row = Row(name, tokens, parts, said.role, place, is_untouched=False, form_of=said.name)
            known = self._rows[name] = (row, _words(slot.message))
        return known

    def _form(self, key: Hashable) -> bytes:
        """A name for a form that a message takes; equal for equal forms."""
        if key not in self._forms:
            number = len(self._forms).to_bytes(8, "big")
            self._forms[key] = blake2b(b"form" + number, digest_size=16).digest()
        return self._forms[key]


def _words(message: Message) -> str:
    texts = [text for part in message.parts for text in _texts(part)]
    return "\n".join(texts)


def _texts(part: object) -> Iterator[str]:
    for name in ("text", "arguments"):
        text = getattr(part, name, "")
        if isinstance(text, str) and text:
            yield text


def blocks_of(head: Block, rows: Sequence[Row | Said], life_seconds: float) -> list[Block]:
    """Blocks of a request, with markers where the common clients put them.

    Logs do not hold the markers. Claude Code and pi put one behind the system
    prompt and one on each of the two newest messages of the user, tool results
    included: the newer is written, the older found again.

    Args:
        head: Tools and system prompt.
        rows: The messages.
        life_seconds: What the markers ask for; 0 where the client sets none.
    """
    newest = [place for place, row in enumerate(rows) if row.role != "assistant"][-2:]
    blocks = [_block(row.name, row.tokens, row.parts) for row in rows]
    for place in newest:
        blocks[place] = blocks[place]._replace(life_seconds=life_seconds)
    return [head._replace(life_seconds=life_seconds), *blocks]


@lru_cache(maxsize=1 << 16)
def _block(digest: bytes, tokens: int, parts: int) -> Block:
    """The same on every turn."""
    return Block(digest, tokens, parts)
