"""What goes into the main path and what comes out of it: turn, rewrite, ticket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from trimtab.chain import NO_ROUNDS, digest, rounds_after
from trimtab.events import Event
from trimtab.plan import Outcome, Plan
from trimtab.state import State
from trimtab.summary import WantedSummary
from trimtab.tokens import Quality
from trimtab.wire import Call, Request

__all__ = ["Rewrite", "Ticket", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, read: split and hashed once.

    Attributes:
        call: What came in.
        request: Where its messages lie.
        root: The link before its first message: whose conversation it is, in which format.
        links: The chain over its messages; shape ``(messages,)``. A state that
            is found under one of them, the newest first, is this conversation's.
    """

    call: Call
    request: Request
    root: bytes = b""
    links: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def key(self) -> bytes:
        """What the state of this turn is kept under: the link of its last message."""
        return self.links[-1] if self.links else self.root

    def lean(self) -> Turn:
        """The same without its headers, in which keys lie, and without what was decoded of it."""
        call = replace(self.call, headers={})
        return Turn(call, self.request.undecoded(), self.root, self.links)

    def links_shared_with(self, request: Request, start: bytes, call: Call) -> tuple[bytes, ...]:
        """The links of the messages that another request has too, in the same bytes.

        Args:
            request: The other request.
            start: The link before its first message.
            call: How it came.
        """
        if self.root != start or self.call.is_built != call.is_built:
            return ()
        return self.links[: self.request.shared_messages(request.body)]

    def digests(self, start: int = 0) -> list[bytes]:
        """A digest of each message from a place on."""
        form = self.request.sorted_form if self.call.is_built else self.request.form
        return [digest(form(place)) for place in range(start, len(self.links))]

    def weak_keys(self) -> Iterator[bytes]:
        """The weak keys of its messages, newest first, each once. Decodes the whole history."""
        rounds = NO_ROUNDS
        keys: dict[bytes, None] = {}
        for message in self.request.messages:
            rounds = rounds_after(rounds, (message,))
            key = rounds.key(self.root)
            if key is not None:
                keys.pop(key, None)
                keys[key] = None
        return reversed(keys)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a session must be given back when it is told what became of a request.

    It lives in this process alone and is never stored.

    Attributes:
        turn: The request as it came.
        began: The state that it was rewritten from; None for a new conversation.
        becomes: The state that is true once the provider has taken the request.
        plan: What was changed.
        outcome: Whether it fits.
        attempt: 0 for the first try, 1 after a refusal.
        wanted: A summary that it would be good to have by one of the next turns.
    """

    turn: Turn
    began: State | None
    becomes: State
    plan: Plan
    outcome: Outcome
    attempt: int = 0
    wanted: WantedSummary | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What goes out instead of what came in.

    Attributes:
        body: The bytes to send; the very same object where nothing changed.
        headers: Headers to send: those that came in, and what an edit needs.
        outcome: Whether it fits, in numbers.
        plan: Every edit, with its reason and what it saves.
        ticket: To be given back: ``forwarded``, ``observed``, ``refused``.
        events: What happened, in the past tense.
        wanted: A summary that it would be good to have by one of the next turns; None for none.
        counter: What counted, for people.
        quality: How far its counts can be trusted.
    """

    body: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    outcome: Outcome
    plan: Plan
    ticket: Ticket = field(repr=False)
    events: tuple[Event, ...] = ()
    wanted: WantedSummary | None = None
    counter: str = ""
    quality: Quality = "estimate"
