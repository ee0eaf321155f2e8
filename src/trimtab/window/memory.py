"""What every memory can do, and the one that keeps all."""

from __future__ import annotations

from typing import Protocol

from trimtab.errors import RequestError
from trimtab.messages import Message

__all__ = ["InMemoryMemory", "Memory", "checked_message"]


class Memory(Protocol):
    """Keeps the messages of one conversation, and says which to send.

    One that writes them somewhere raises :class:`~trimtab.errors.StoreError`
    where that fails.
    """

    async def record(self, message: Message) -> None:
        """Append a message."""
        ...

    async def record_protected(self, message: Message) -> None:
        """Append a message that no trimming may remove; a memory that never trims just appends it."""
        await self.record(message)

    async def context(self) -> list[Message]:
        """The messages to send, oldest first, in a list of the caller's own."""
        ...


class InMemoryMemory(Memory):
    """Keeps every message and gives back every message."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def record(self, message: Message) -> None:
        """Append a message.

        Raises:
            RequestError: If it is no :class:`~trimtab.messages.Message`.
        """
        self._messages.append(checked_message(message))

    async def context(self) -> list[Message]:
        """All messages, oldest first, in a list of the caller's own."""
        return list(self._messages)

    def __repr__(self) -> str:
        return f"<InMemoryMemory, {len(self._messages)} messages>"


def checked_message(message: object) -> Message:
    """A message, or an error that names what came instead, without its words."""
    if not isinstance(message, Message):
        raise RequestError(
            f"a memory records messages, not a {type(message).__name__}: "
            "make one with Message.user(...), .assistant(...) or .tool(...)"
        )
    return message
