"""Links that make a conversation known again: one for each message, each over all before it.

Clients resend their whole history on every turn, so what is known of a
conversation hangs on the history itself and not on an id that somebody would
have to send. A link is a hash over the link before it and the canonical form
of its message; two histories share links exactly as far as they are the same.

Where the client itself removed or shortened old messages, no link is known
any more. Then the *weak key* finds the conversation again: a hash over the
tool-call ids and the user's words of the last two rounds, which no such
change touches.

The law of this file: pure functions of bytes, equal in every process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from trimtab.boundaries import is_made
from trimtab.messages import Message

__all__ = ["LINK_BYTES", "NO_ROUNDS", "Rounds", "digest", "links", "root", "rounds_after"]

LINK_BYTES = 16
"""Bytes of a link: SHA-256 cut to 128 bits, in which nobody can make two histories collide."""

_SMALL_BYTES = 4096
"""Forms up to here are copied, which is quicker than telling the hash of them apart."""

DIGEST_BYTES = 8
"""Bytes of what tells two messages of one conversation apart."""


def root(tenant: str, format: str) -> bytes:  # noqa: A002 - the word for it
    """The link before the first message.

    Args:
        tenant: Whose conversation it is; two tenants never share a link.
        format: Name of the wire format.
    """
    return _link(_link(b"trimtab/1", tenant.encode("utf-8", "surrogatepass")), format.encode())


def links(start: bytes, forms: Iterable[bytes | memoryview]) -> tuple[bytes, ...]:
    """The links of some messages, in order; shape ``(messages,)``.

    Args:
        start: The link before the first of them.
        forms: Their canonical forms.
    """
    found = []
    for form in forms:
        start = _link(start, form)
        found.append(start)
    return tuple(found)


def _link(before: bytes, form: bytes | memoryview) -> bytes:
    length = len(form).to_bytes(8, "big")
    if len(form) < _SMALL_BYTES:
        return sha256(b"".join((before, length, form))).digest()[:LINK_BYTES]
    hashed = sha256(before + length)
    hashed.update(form)
    return hashed.digest()[:LINK_BYTES]


def digest(form: bytes) -> bytes:
    """What tells a message from the others of its conversation; :data:`DIGEST_BYTES` long."""
    return sha256(form).digest()[:DIGEST_BYTES]


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the weak key hashes: the last two rounds, each as one value that grows with it.

    Attributes:
        previous: The round before the last.
        current: The last round.
        previous_has_call: Whether a tool was called in it.
        current_has_call: The same of the last round.
    """

    previous: bytes = b""
    current: bytes = b""
    previous_has_call: bool = False
    current_has_call: bool = False

    def key(self, start: bytes) -> bytes | None:
        """The weak key.

        Args:
            start: The :func:`root` of the conversation.

        Returns:
            The key; None where no tool was called in either round, for words
            alone are too easily the same.
        """
        if not (self.previous_has_call or self.current_has_call):
            return None
        return _link(_link(_link(start, b"weak"), self.previous), self.current)


NO_ROUNDS = Rounds()
"""Before the first message."""


def rounds_after(rounds: Rounds, messages: Iterable[Message]) -> Rounds:
    """Go on through some messages.

    Args:
        rounds: What was before them.
        messages: What follows, oldest first.
    """
    for message in messages:
        if message.role == "user" and message.has_own_words and not is_made(message):
            words = _link(b"user", message.text.encode("utf-8", "surrogatepass"))
            rounds = Rounds(rounds.current, words, rounds.current_has_call, False)
        for call_id in message.call_ids:
            current = _link(rounds.current, call_id.encode("utf-8", "surrogatepass"))
            rounds = Rounds(rounds.previous, current, rounds.previous_has_call, True)
    return rounds
