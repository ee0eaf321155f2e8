"""What is known of a conversation at one point: small, versioned, and written as bytes.

A state never changes; each turn makes the next one from it. A fork is a
second one made from the same; a rewind is an old one found again.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from trimtab.chain import DIGEST_BYTES, LINK_BYTES, NO_ROUNDS, Rounds
from trimtab.errors import MalformedBodyError, StoreError
from trimtab.plan import EMPTY_PLAN, Plan
from trimtab.stored_plan import form_names, load_plan, store_plan
from trimtab.tracker import ContextTracker
from trimtab.wire.json_spans import dump, dumped, load

__all__ = ["STEPS", "State", "SurfaceDigest", "forms_named"]

Json: TypeAlias = dict[str, Any]

_MAGIC = b"trimtab-state\x03"
"""What a state begins with; its last byte is the version of what follows."""

_CHECK_BYTES = 8

STEPS = 5
"""Turns over which the growth is averaged."""


@dataclass(frozen=True, slots=True)
class SurfaceDigest:
    """What the provider's cache keys on besides the messages, hashed, and what it weighs.

    Attributes:
        model: Digest of the model's id.
        system: Digest of the system prompt.
        tools: Digest of the tools.
        tokens: What a request without messages weighs.
    """

    model: bytes = b""
    system: bytes = b""
    tools: bytes = b""
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A conversation at one point.

    Attributes:
        key: The link of its last message.
        parent: The key of the state before; empty for the first.
        origin: The link of the conversation's first message; forms are kept under it.
        links: The links of the messages that came since the state before,
            oldest first, its own key last: whoever comes back to one of them finds this state.
        messages: How many messages of the client it covers.
        plan: What was sent in place of them. Places refer to the client's messages.
        seen: A digest of each message, :data:`~trimtab.chain.DIGEST_BYTES` each, in order.
        full_results: Which results were sent in full, so that the same one later can point to
            it; see :func:`~trimtab.births.note_results`.
        rounds: What the weak key hashes.
        settled: Messages before it are closed: no result of a call in them is awaited.
        settled_tokens: What the messages before it weigh as they are sent, with the token
            or two by which the whole view weighs more or less than its messages alone.
        view_tokens: What all messages weigh as they are sent.
        view_bytes: How large all messages are as they are sent; see
            :func:`~trimtab.tracker.message_bytes`.
        whole_tokens: What all messages weigh as they came.
        surface: Model, system prompt and tools.
        at: Seconds since the epoch of the last turn; 0.0 where nobody said.
        policy_limit_tokens: The limit of the policy then.
        limit_tokens: A limit that the provider taught; None for none.
        floor_tokens: A compaction by trigger waits until the request is this large.
        turns: How many requests were taken, retries aside.
        compactions: How many there were.
        briefed: How many messages of the client the briefing covers that stands in the plan;
            0 for none.
        summary_floor_tokens: No summary is looked for until the request is this large.
        steps: By how many tokens the last turns grew, oldest first, at most :data:`STEPS`.
        refused: Digests of plans that the provider refused; they are not sent again.
        billed_tokens: Total input of the last answer; 0 where nobody said.
        tracker: What was billed for the last requests, and what follows for the next.
            It is copied before it learns, so that a state never changes.
    """

    key: bytes
    parent: bytes = b""
    origin: bytes = b""
    links: tuple[bytes, ...] = ()
    messages: int
    plan: Plan = EMPTY_PLAN
    seen: bytes = field(default=b"", repr=False)
    full_results: bytes = field(default=b"", repr=False)
    rounds: Rounds = NO_ROUNDS
    settled: int = 0
    settled_tokens: int = 0
    view_tokens: int = 0
    view_bytes: int = 0
    whole_tokens: int = 0
    surface: SurfaceDigest = SurfaceDigest()
    at: float = 0.0
    policy_limit_tokens: int = 0
    limit_tokens: int | None = None
    floor_tokens: int = 0
    turns: int = 0
    compactions: int = 0
    briefed: int = 0
    summary_floor_tokens: int = 0
    steps: tuple[int, ...] = ()
    refused: tuple[bytes, ...] = ()
    billed_tokens: int = 0
    tracker: ContextTracker = field(default_factory=ContextTracker)

    @property
    def growth_tokens(self) -> int | None:
        """By how much a turn grows, on average; None where no turn has grown yet."""
        grown = [step for step in self.steps if step > 0]
        return sum(grown) // len(grown) if grown else None

    def digests(self) -> list[bytes]:
        """What was seen of each message, in order."""
        return [
            self.seen[start : start + DIGEST_BYTES]
            for start in range(0, len(self.seen), DIGEST_BYTES)
        ]

    # ----------------------------------------------------------- as bytes

    def to_bytes(self) -> bytes:
        """Write it down; :meth:`forms` holds the rest, under the names that stand in it."""
        value: Json = {
            name: getattr(self, name) for name in (*_NUMBERS, "at", "limit_tokens", "steps")
        }
        value |= {name: getattr(self, name).hex() for name in _HASHES}
        value["links"] = [link.hex() for link in self.links]
        value["refused"] = [digest.hex() for digest in self.refused]
        value["rounds"] = [
            self.rounds.previous.hex(),
            self.rounds.current.hex(),
            self.rounds.previous_has_call,
            self.rounds.current_has_call,
        ]
        surface = self.surface
        hashes = (surface.model, surface.system, surface.tools)
        value["surface"] = [*(part.hex() for part in hashes), surface.tokens]
        value["tracker"] = self.tracker.to_fields()
        value["plan"] = dumped(self._stored_plan()[0])
        told = dump(value)
        seen = len(self.seen).to_bytes(4, "big") + self.seen
        content = len(told).to_bytes(4, "big") + told + seen + self.full_results
        return _MAGIC + _check(content) + content

    def forms(self) -> dict[str, bytes]:
        """What its plan puts in place of something, by the names that stand in :meth:`to_bytes`."""
        return self._stored_plan()[1]

    def _stored_plan(self) -> tuple[bytes, dict[str, bytes]]:
        """The JSON of its plan, and the forms in it; the same form of a conversation is kept once."""
        return self.plan.once(("stored", self.origin), self._store_plan)

    def _store_plan(self) -> tuple[bytes, dict[str, bytes]]:
        forms: dict[str, bytes] = {}

        def keep(form: Json) -> str:
            written = dump(form)
            name = _form_name(self.origin, written)
            forms[name] = written
            return name

        return dump(store_plan(self.plan, keep)), forms

    @classmethod
    def from_bytes(cls, stored: bytes, forms: Mapping[str, bytes]) -> State:
        """Read it back.

        Args:
            stored: What :meth:`to_bytes` wrote.
            forms: All forms that :func:`forms_named` names in it.

        Raises:
            StoreError: If the bytes are torn, of another version or no state, or a form is missing.
        """
        value, digests = _told(stored)
        try:
            origin = bytes.fromhex(value["origin"])
            named = {name: forms[name] for name in form_names(value["plan"])}
            if any(_form_name(origin, form) != name for name, form in named.items()):
                raise StoreError("what a stored state puts in place of something is another one")
            plan = load_plan(value["plan"], {name: load(form) for name, form in named.items()})
            return cls._of(value, plan, digests)
        except _UNREADABLE as error:
            raise StoreError(f"a stored state cannot be read back: {error!r}") from None

    @classmethod
    def _of(cls, value: Json, plan: Plan, digests: bytes) -> State:
        stop = 4 + int.from_bytes(digests[:4], "big")
        previous, current, *has_calls = value["rounds"]
        model, system, tools, tokens = value["surface"]
        numbers: Json = {name: int(value[name]) for name in _NUMBERS}
        hashes: Json = {name: bytes.fromhex(value[name]) for name in _HASHES}
        return cls(
            **numbers,
            **hashes,
            links=tuple(map(bytes.fromhex, value["links"])),
            plan=plan,
            seen=digests[4:stop],
            full_results=digests[stop:],
            rounds=Rounds(bytes.fromhex(previous), bytes.fromhex(current), *has_calls),
            surface=SurfaceDigest(
                bytes.fromhex(model), bytes.fromhex(system), bytes.fromhex(tools), int(tokens)
            ),
            at=float(value["at"]),
            limit_tokens=None if value["limit_tokens"] is None else int(value["limit_tokens"]),
            steps=tuple(map(int, value["steps"])),
            refused=tuple(map(bytes.fromhex, value["refused"])),
            tracker=ContextTracker.from_fields(value["tracker"]),
        )


_UNREADABLE = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    TypeError,
    ValueError,
    MalformedBodyError,
)
"""What reading something raises that is no state after all."""

_HASHES = ("key", "parent", "origin")
_NUMBERS = (
    "messages",
    "settled",
    "settled_tokens",
    "view_tokens",
    "view_bytes",
    "whole_tokens",
    "policy_limit_tokens",
    "floor_tokens",
    "turns",
    "compactions",
    "briefed",
    "summary_floor_tokens",
    "billed_tokens",
)


def forms_named(stored: bytes) -> list[str]:
    """The names of the forms that a stored state needs.

    Raises:
        StoreError: If the bytes are torn, of another version or no state.
    """
    try:
        return form_names(_told(stored)[0]["plan"])
    except _UNREADABLE as error:
        raise StoreError(f"a stored state cannot be read back: {error!r}") from None


def _form_name(origin: bytes, form: bytes) -> str:
    return sha256(origin + form).digest()[:LINK_BYTES].hex()


def _told(stored: bytes) -> tuple[Json, bytes]:
    """What a stored state tells, and the digests behind it: of messages, and of results."""
    start = len(_MAGIC) + _CHECK_BYTES
    if not stored.startswith(_MAGIC[:-1]):
        raise StoreError("these bytes are no stored state")
    if not stored.startswith(_MAGIC):
        raise StoreError("a stored state is of another version")
    content = stored[start:]
    if _check(content) != stored[len(_MAGIC) : start]:
        raise StoreError("a stored state is torn")
    stop = 4 + int.from_bytes(content[:4], "big")
    try:
        value = load(content[4:stop])
    except MalformedBodyError:
        raise StoreError("a stored state is torn") from None
    if not isinstance(value, dict):
        raise StoreError("a stored state is torn")
    return value, content[stop:]


def _check(content: bytes) -> bytes:
    """What tells torn bytes: the length and a checksum."""
    return len(content).to_bytes(4, "big") + zlib.crc32(content).to_bytes(4, "big")
