"""The messages that a summary under way depends on: whether a list still begins with them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from trimtab.briefing import fingerprint
from trimtab.messages import Message

__all__ = ["Prefix"]


class Prefix:
    """The first messages of a list, as they were.

    A message is a value, so the same object is the same message. Only a list
    whose messages were made anew, such as one that went through JSON, is
    compared by what is sent of it.

    Args:
        messages: They.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = tuple(messages)
        self._digest: bytes | None = None

    def begins(self, messages: Sequence[Message]) -> bool:
        """Whether a list begins with the same messages."""
        count = len(self.messages)
        if len(messages) < count:
            return False
        if all(map(is_, self.messages, messages)):
            return True
        if self._digest is None:
            self._digest = fingerprint(self.messages)
        if fingerprint(messages[:count]) != self._digest:
            return False
        self.messages = tuple(messages[:count])  # the next look is quick again
        return True
