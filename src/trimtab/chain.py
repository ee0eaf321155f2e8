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

from trimtab.boundaries import is_made
from trimtab.links import DIGEST_BYTES, LINK_BYTES, digest, link, links, root
from trimtab.messages import Message

__all__ = [
    "DIGEST_BYTES",
    "LINK_BYTES",
    "NO_ROUNDS",
    "Rounds",
    "digest",
    "links",
    "root",
    "rounds_after",
]


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
        return link(link(link(start, b"weak"), self.previous), self.current)


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
            words = link(b"user", message.text.encode("utf-8", "surrogatepass"))
            rounds = Rounds(rounds.current, words, rounds.current_has_call, False)
        for call_id in message.call_ids:
            current = link(rounds.current, call_id.encode("utf-8", "surrogatepass"))
            rounds = Rounds(rounds.previous, current, rounds.previous_has_call, True)
    return rounds
