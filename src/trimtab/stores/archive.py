"""What compactions removed, word for word, to be asked for by id.

A message has the id that its bytes have, a tool result also the one that its
words have (:func:`trimtab.squeeze.digest`): that is what a marker can name. Only
whoever knows the tenant finds them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from trimtab.errors import StoreError, TrimtabError
from trimtab.messages import Message, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import Drop, Edit, Fold, Keep, Plan, Replace
from trimtab.squeeze import digest
from trimtab.stores.keys import (
    ARCHIVED,
    CONVERSATION_BYTES,
    ID_BYTES,
    archived_key,
    conversation_of,
    owner_of,
    owners_of,
)
from trimtab.stores.store import Managed, Store
from trimtab.turn import Ticket, Turn
from trimtab.wire import format_named

__all__ = ["Archive", "Archived", "lines_with", "message_id", "words_of"]

_WHOLE = b"trimtab-kept\x01"
"""What an entry begins with that holds a message; its last byte is the version of what follows."""

_RESULT = b"trimtab-part\x01"
"""What an entry begins with that names a message and the part of it that is asked for."""

_LEVEL = 1
"""Of compression: a tenth of the time of the usual one, and nearly as small for text."""


@dataclass(frozen=True, slots=True)
class Archived:
    """Something that a compaction removed.

    Attributes:
        id: What it is asked for by: 16 hexadecimal digits.
        conversation: Which conversation it is of: 16 hexadecimal digits.
        format: The wire format that it is written in.
        role: Who said it.
        place: Which message of the conversation it was, from 0 on.
        text: The words of a tool result; of any other message its JSON text.
        words: All words that it holds.
    """

    id: str
    conversation: str
    format: str
    role: str
    place: int
    text: str = field(repr=False)
    words: str = field(repr=False)


class Archive:
    """Keeps what compactions remove, and gives it back.

    Args:
        store: Where.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def keep(self, ticket: Ticket) -> bool:
        """Keep what the plan of a request removed or replaced for the first time.

        Returns:
            True.

        Raises:
            StoreError: If it could not be kept.
        """
        turn = ticket.turn
        entries: dict[bytes, bytes] = {}
        for place in sorted(_touched(ticket.plan) - _touched_before(ticket)):
            entries |= _entries(turn, place)
        if entries:
            await self._store.put(entries)
        return True

    async def recall(self, item: str, tenant: str = "") -> Archived | None:
        """Give something back.

        Args:
            item: Its id: 16 hexadecimal digits.
            tenant: Whose it is.

        Returns:
            None where nothing is kept by that id for this tenant.

        Raises:
            StoreError: If the store cannot be reached, or what it holds cannot be read.
        """
        try:
            wanted = bytes.fromhex(item)
        except ValueError:
            return None
        if len(wanted) != ID_BYTES:
            return None
        owners = list(owners_of(tenant))
        found = await self._store.get([archived_key(wanted, owner) for owner in owners])
        for owner, value in zip(owners, found, strict=True):
            if value is not None and value.startswith(_RESULT):
                whole, part = _pointed(value)
                (holder,) = await self._store.get([archived_key(whole, owner)])
                return None if holder is None else _read(item, holder, part)
            if value is not None:
                return _read(item, value)
        return None

    async def search(
        self, text: str, tenant: str = "", *, conversation: str = ""
    ) -> AsyncIterator[Archived]:
        """Give back the messages that hold a text, in whatever case.

        Args:
            text: What is looked for.
            tenant: Whose they are.
            conversation: Which conversation they are of; empty for any.

        Raises:
            StoreError: If the store cannot be searched.
        """
        if not isinstance(self._store, Managed):
            raise StoreError("this store cannot be searched: it does not list its entries")
        owners = owners_of(tenant)
        async for entry in self._store.scan(ARCHIVED):
            owner, item = entry.key[1 + ID_BYTES :], entry.key[1 : 1 + ID_BYTES]
            if owner not in owners or not entry.value.startswith(_WHOLE):
                continue
            if conversation and conversation_in(entry.value) != conversation:
                continue
            found = _read(item.hex(), entry.value)
            if text.casefold() in found.words.casefold():
                yield found


def conversation_in(value: bytes) -> str:
    """The conversation that an archived entry is of; empty for what is none."""
    if not value.startswith((_WHOLE, _RESULT)):
        return ""
    return value[len(_WHOLE) : len(_WHOLE) + CONVERSATION_BYTES].hex()


def message_id(raw: bytes) -> str:
    """The id of a message.

    Args:
        raw: Its JSON text as it came.
    """
    return sha256(raw).digest()[:ID_BYTES].hex()


def words_of(parts: Sequence[Part]) -> str:
    """All words of a message's parts, a line break between two."""
    return "\n".join(word for part in parts for word in _words(part) if word)


def lines_with(words: str, text: str) -> Iterator[str]:
    """The lines of a text that hold another, in whatever case."""
    wanted = text.casefold()
    return (line for line in words.splitlines() if wanted in line.casefold())


def _words(part: Part) -> Iterator[str]:
    match part:
        case Text() | Thinking():
            yield part.text
        case ToolCall():
            yield f"{part.name} {part.arguments}"
        case ToolResult():
            yield part.text


# --------------------------------------------------------------------- writing


def _entries(turn: Turn, place: int) -> dict[bytes, bytes]:
    """What is kept of a message: itself, and its id for each result in it."""
    conversation, owner = conversation_of(turn), owner_of(turn)
    raw = turn.request.message_bytes(place)
    message = turn.request.message(place)
    whole = bytes.fromhex(message_id(raw))
    told = {"format": turn.request.format.name, "role": message.role, "place": place}
    packed = zlib.compress(json.dumps(told).encode() + b"\n" + raw, _LEVEL)
    entries = {archived_key(whole, owner): _WHOLE + conversation + packed}
    for number, name in _results(message):
        key = archived_key(bytes.fromhex(name), owner)
        entries[key] = _RESULT + conversation + whole + number.to_bytes(2, "big")
    return entries


def _results(message: Message) -> Iterator[tuple[int, str]]:
    """The results in a message that are made of words: which part, and its id."""
    if not message.result_ids:
        return
    for number, part in enumerate(message.parts):
        name = digest(part) if isinstance(part, ToolResult) else ""
        if name:
            yield number, name


def _touched_before(ticket: Ticket) -> set[int]:
    """The messages that something was done to already when the request came."""
    began, links = ticket.began, ticket.turn.links
    if began is None or not 0 < began.messages <= len(links):
        return set()
    return _touched(began.plan) if links[began.messages - 1] == began.key else set()


def _touched(plan: Plan) -> set[int]:
    """The messages of which a plan removes or replaces something."""
    return {place for edit in plan for place in _places(edit)}


def _places(edit: Edit) -> Iterator[int]:
    match edit:
        case Keep():
            return
        case Replace():
            yield edit.message
        case Drop():
            yield edit.ref.message
        case Fold():
            yield from (ref.message for ref in edit.removed)


# --------------------------------------------------------------------- reading


def _pointed(value: bytes) -> tuple[bytes, int]:
    start = len(_RESULT) + CONVERSATION_BYTES
    return value[start : start + ID_BYTES], int.from_bytes(value[start + ID_BYTES :], "big")


def _read(item: str, value: bytes, part: int | None = None) -> Archived:
    """Read an entry.

    Raises:
        StoreError: If it is torn, or something else.
    """
    if not value.startswith(_WHOLE):
        raise StoreError(f"what is kept as {item} is of another version")
    try:
        unpacked = zlib.decompress(value[len(_WHOLE) + CONVERSATION_BYTES :])
        head, _, raw = unpacked.partition(b"\n")
        told = json.loads(head)
        parts = format_named(told["format"]).parts(raw)
        text = raw.decode("utf-8", "replace")
        if part is not None:
            parts = (parts[part],)
            text = words_of(parts)
        return Archived(
            item,
            conversation_in(value),
            told["format"],
            told["role"],
            int(told["place"]),
            text,
            words_of(parts),
        )
    except (zlib.error, KeyError, IndexError, TypeError, ValueError, TrimtabError) as error:
        raise StoreError(f"what is kept as {item} cannot be read: {error!r}") from None
