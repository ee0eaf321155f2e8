"""How what is known of conversations lies in a store.

Each turn makes a new state, and would fill any store with states that say the
same. So a state is kept once for each *line*: as long as each request extends
the one before it, the state of the newest takes the place of the one before. A
compaction, a fork, an edit of the client's begins another line and leaves the
old one as it was. Whoever comes back to a message finds its line, and in the
line's plan what was sent for that message.

::

    link of a turn's last message   ──> its line     newest first, the first hit counts
    weak key                        ──> its line     whose old messages the client has changed
    line                            ──> its last state
    form                            ──> what its plan puts in place of something

Written in the order forms, line, links: whatever is cut off in between leaves
nothing that leads to something that is not there.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import islice
from threading import Lock

from trimtab.chain import DIGEST_BYTES
from trimtab.errors import StoreError
from trimtab.events import Event, StateUnreadable
from trimtab.lineage import extends
from trimtab.state import State, forms_named
from trimtab.stored_plan import plan_digest
from trimtab.stores.keys import (
    LINE_BYTES,
    TOGETHER_BYTES,
    about_key,
    conversation_of,
    form_key,
    line_key,
    link_key,
    owner_of,
    weak_key,
)
from trimtab.stores.store import Store
from trimtab.turn import Turn

__all__ = ["About", "Lines", "conversation_at"]

_POINTER = b"=>"
"""What an entry begins with that leads to a line."""

_POINTER_BYTES = len(_POINTER) + TOGETHER_BYTES + 1 + LINE_BYTES

_AT_BYTES = 4
"""Behind the line that an entry leads to: how many messages the state had when it was made."""

_AT_FIRST = 8
_AT_ONCE = 128
"""Links that are looked up together; a conversation that goes on is found in the first few."""

_WEAK_KEYS = 16
"""Weak keys that are looked up, newest first: what a few turns add."""

_TRIES = 3
"""Times that somebody else may be faster before a record is given up: his is as good."""

_MOST_HINTS = 256
"""Conversations of which this process knows where they lie."""


@dataclass(frozen=True, slots=True)
class About:
    """What is told of a conversation to whoever looks after a store: no words, no names.

    Attributes:
        owner: Tenant and format, hashed.
        format: The name of the format.
        model: The model of the newest request.
        messages: How many messages of the client that held.
        tokens: What it weighed as it was sent.
    """

    owner: bytes
    format: str
    model: str
    messages: int
    tokens: int

    def to_bytes(self) -> bytes:
        """Write it down."""
        return json.dumps({**asdict(self), "owner": self.owner.hex()}).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> About:
        """Read it back.

        Raises:
            StoreError: If it is something else.
        """
        try:
            told = json.loads(stored)
            return cls(
                bytes.fromhex(told["owner"]),
                str(told["format"]),
                str(told["model"]),
                int(told["messages"]),
                int(told["tokens"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"what is told of a conversation cannot be read: {error!r}") from None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a state was last seen.

    Attributes:
        line: The key of its line.
        stored: What stood there.
        forms: The keys of the forms that it needs.
        state: The state.
        began: The state that it was made from, where this process has recorded it.
    """

    line: bytes
    stored: bytes
    forms: tuple[bytes, ...]
    state: State
    began: State | None = None


class Lines:
    """Finds and records states in a store.

    Args:
        store: Where.
        tell: Is told of what cannot be read.
    """

    def __init__(self, store: Store, tell: Callable[[Event], None]) -> None:
        self._store = store
        self._tell = tell
        # By the link of a state's last message. They spare look-ups and are not trusted: what is
        # read is what the store says now, and what is written is swapped for what was seen.
        self._hints: OrderedDict[bytes, _Place] = OrderedDict()
        self._decoded: OrderedDict[bytes, _Place] = OrderedDict()  # by line: what it says, decoded
        self._lock = Lock()

    # --------------------------------------------------------------- finding

    async def find(self, turn: Turn) -> State | None:
        """The state that knows most of a request.

        Raises:
            StoreError: If the store cannot be reached.
        """
        search = _Search(self._store, self._tell, self._decoded.get)
        conversation = conversation_of(turn)
        await self._ask_ahead(search, turn, conversation)
        links = (link_key(conversation, link) for link in reversed(turn.links))
        hit = await self._first(search, links)
        strong = None if hit is None else _as_of(turn, hit[1], search.found[hit[0]])
        if strong is not None and not _is_far(turn, strong):
            return strong
        hit = await self._first(search, map(weak_key, islice(turn.weak_keys(), _WEAK_KEYS)))
        weak = None if hit is None else _as_of(turn, hit[1], search.found[hit[0]])
        if weak is None or (strong is not None and strong.messages >= weak.messages):
            return strong
        return weak

    async def _ask_ahead(self, search: _Search, turn: Turn, conversation: bytes) -> None:
        """Read at once what a conversation that goes on will need."""
        newest = turn.links[: -_AT_FIRST - 1 : -1]
        keys = [link_key(conversation, link) for link in newest]
        hint = next(filter(None, map(self._seen, newest)), None)
        await search.read(keys if hint is None else [*keys, hint.line, *hint.forms])

    async def _first(self, search: _Search, keys: Iterable[bytes]) -> tuple[bytes, State] | None:
        """The first of some keys that leads to a state, the best one first, and that state."""
        for lot in _lots(keys):
            await search.read(lot)
            for key in lot:
                line = _line_at(search.found[key])
                place = None if line is None else await search.load(line)
                if place is not None:
                    self._remember(place)
                    return key, place.state
        return None

    def _seen(self, link: bytes) -> _Place | None:
        with self._lock:
            return self._hints.get(link)

    def _hint(self, began: State | None, state: State) -> _Place | None:
        """Where the very state lies that another was made from, or what this was recorded as before.

        Not one that says the same of the same messages: it may be of another line.
        """
        if began is None:
            return None
        recorded = self._seen(state.key)
        if recorded is not None and recorded.began is began:
            return recorded
        found = self._seen(began.key)
        return found if found is not None and found.state is began else None

    def _remember(self, place: _Place) -> None:
        with self._lock:
            for places, key in ((self._hints, place.state.key), (self._decoded, place.line)):
                places[key] = place
                places.move_to_end(key)
                if len(places) > _MOST_HINTS:
                    places.popitem(last=False)

    # ------------------------------------------------------------- recording

    async def record(self, turn: Turn, began: State | None, state: State) -> None:
        """Keep a state, after all that it needs and before all that leads to it.

        Args:
            turn: The request that it is of.
            began: The state that it was made from; None for a new conversation.
            state: The state.

        Raises:
            StoreError: If it could not be kept.
        """
        conversation = conversation_of(turn)
        hint = self._hint(began, state)
        forms = {form_key(conversation, name): form for name, form in state.forms().items()}
        there = frozenset(() if hint is None else hint.forms)
        if new := {key: form for key, form in forms.items() if key not in there}:
            await self._store.add(new)
        stored = state.to_bytes()
        line = await self._continued(turn, began, state, hint, stored)
        if line is None:
            line = await self._begun(conversation, state, stored)
            if line:
                await self._lead(conversation, state, line)
        if not line:
            return
        await self._lead_here(turn, conversation, state, line)
        self._remember(_Place(line, stored, tuple(forms), state, began))

    async def _continued(
        self, turn: Turn, began: State | None, state: State, hint: _Place | None, stored: bytes
    ) -> bytes | None:
        """Put a state in the place of the one that it follows.

        Returns:
            The key of their line; None where a new one begins; empty where all is said.
        """
        if began is None or not _is_at(turn, began) or not _follows(state, began):
            return None
        if hint is not None:
            if await self._store.swap(hint.line, hint.stored, stored):
                return hint.line
            line: bytes | None = hint.line
        else:
            key = link_key(conversation_of(turn), began.key)
            (pointer,) = await self._store.get([key])
            line = _line_at(pointer)
        return None if line is None else await self._overtaken(line, state, stored)

    async def _begun(self, conversation: bytes, state: State, stored: bytes) -> bytes:
        """Begin a line with a state; empty where somebody else has begun it and said more."""
        line = line_key(conversation, _line_name(state))
        if await self._store.swap(line, None, stored):
            return line
        return await self._overtaken(line, state, stored) or b""

    async def _overtaken(self, line: bytes, state: State, stored: bytes) -> bytes | None:
        """Put a state in a line at which somebody else is writing.

        Returns:
            The key of the line; None where that has gone another way; empty where what stands
            there is newer, or changes too fast.
        """
        for _ in range(_TRIES):
            search = _Search(self._store, self._tell, self._decoded.get)
            found = await search.load(line)
            if found is not None:
                if found.state.messages > state.messages and _follows(found.state, state):
                    return b""
                if not _follows(state, found.state):
                    return None
            if await self._store.swap(line, search.found[line], stored):
                return line
        return b""

    async def _lead(self, conversation: bytes, state: State, line: bytes) -> None:
        """Lead the links of what is new in a turn to its line, those that lead nowhere yet."""
        pointer = _pointer(line, state)
        pointers = {link_key(conversation, link): pointer for link in state.links[:-1]}
        if pointers:
            await self._store.add(pointers)

    async def _lead_here(self, turn: Turn, conversation: bytes, state: State, line: bytes) -> None:
        """Lead whoever goes on from this request to its line."""
        about = About(
            owner_of(turn),
            turn.request.format.name,
            turn.request.model or turn.call.model,
            state.messages,
            state.surface.tokens + state.view_tokens,
        )
        pointers = {
            link_key(conversation, state.key): _pointer(line, state),
            about_key(conversation): about.to_bytes(),
        }
        weak = state.rounds.key(turn.root)
        if weak is not None:
            pointers[weak_key(weak)] = _pointer(line, state)
        await self._store.put(pointers)


class _Search:
    """What one request has read; nothing is read twice.

    Attributes:
        found: What stands under each key that was asked for.
    """

    def __init__(
        self,
        store: Store,
        tell: Callable[[Event], None],
        decoded: Callable[[bytes], _Place | None],
    ) -> None:
        self.found: dict[bytes, bytes | None] = {}
        self._store = store
        self._tell = tell
        self._decoded = decoded
        self._loaded: dict[bytes, _Place | None] = {}

    async def read(self, keys: Sequence[bytes]) -> None:
        """Look some keys up."""
        new = [key for key in dict.fromkeys(keys) if key not in self.found]
        if new:
            self.found.update(zip(new, await self._store.get(new), strict=True))

    async def load(self, line: bytes) -> _Place | None:
        """Read the state of a line; one that cannot be read is a miss, and somebody is told."""
        if line not in self._loaded:
            self._loaded[line] = await self._load(line)
        return self._loaded[line]

    async def _load(self, line: bytes) -> _Place | None:
        await self.read([line])
        stored = self.found[line]
        if stored is None:
            return None
        known = self._decoded(line)
        if known is not None and known.stored == stored:
            await self.read(known.forms)
            # What another process would not find here is not known here either.
            if all(self.found[form] is not None for form in known.forms):
                return replace(known, began=None)
        try:
            names = {form_key(_conversation(line), name): name for name in forms_named(stored)}
        except StoreError as error:
            self._tell(StateUnreadable(str(error)))
            return None
        await self.read(list(names))
        there = {name: self.found[key] for key, name in names.items()}
        forms = {name: form for name, form in there.items() if form is not None}
        try:
            state = State.from_bytes(stored, forms)
        except StoreError as error:
            self._tell(StateUnreadable(str(error)))
            return None
        return _Place(line, stored, tuple(names), state)


def _lots(keys: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    """A few keys at first, then many at a time."""
    iterator = iter(keys)
    many = _AT_FIRST
    while lot := list(islice(iterator, many)):
        yield lot
        many = _AT_ONCE


def _pointer(line: bytes, state: State) -> bytes:
    """An entry that leads to a line, as long as a state is its last."""
    return _POINTER + line + state.messages.to_bytes(_AT_BYTES, "big")


def _line_at(value: bytes | None) -> bytes | None:
    """The key of the line that an entry leads to; None where it leads to none."""
    if value is None or not value.startswith(_POINTER):
        return None
    if len(value) not in (_POINTER_BYTES, _POINTER_BYTES + _AT_BYTES):
        return None
    return value[len(_POINTER) : _POINTER_BYTES]


def conversation_at(value: bytes) -> bytes:
    """The conversation that an entry leads to; empty where it leads to none."""
    return _conversation(_line_at(value) or b"")


def _conversation(line: bytes) -> bytes:
    return line[1:TOGETHER_BYTES]


def _line_name(state: State) -> bytes:
    """The name of a line that begins with a state: two that begin with the same are one."""
    return sha256(state.key + plan_digest(state.plan)).digest()[:LINE_BYTES]


def _is_at(turn: Turn, state: State) -> bool:
    """Whether a request begins with all messages of a state, and it was not cut for that."""
    count = state.messages
    return 0 < count <= len(turn.links) and turn.links[count - 1] == state.key


def _as_of(turn: Turn, state: State, value: bytes | None) -> State:
    """What a line's last state said when an entry was made that leads to it.

    Behind it the line may have gone another way than the request does.

    Args:
        turn: The request.
        state: The last state of the line.
        value: The entry.
    """
    at = int.from_bytes((value or b"")[_POINTER_BYTES:], "big")
    if _is_at(turn, state) or not 0 < at < state.messages:
        return state
    return replace(state, messages=at, seen=state.seen[: at * DIGEST_BYTES])


def _follows(after: State, before: State) -> bool:
    """Whether a state says the same of all that an older one says something of."""
    is_longer = after.seen.startswith(before.seen)
    return is_longer and extends(before.plan, after.plan, before.messages)


def _is_far(turn: Turn, state: State) -> bool:
    """Whether a state is more than a turn away, so that the client may have changed old messages."""
    new = turn.request.messages_from(state.messages)
    return sum(message.role == "assistant" for message in new) > 1
