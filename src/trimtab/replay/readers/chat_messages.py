"""Bare lists of OpenAI-chat messages become the requests that led to them.

A list of messages, as a JSON array or one on a line, is what agents and
benchmarks keep of a run. Each assistant message in it answered a request that
held all messages before it; a list that ends with anybody else's is itself a
request that nobody answered yet.

The bytes of each message are those of the file. Model and tool definitions
are not in it: the model is ``unknown``, tools are stubs that have the names
of the calls.
"""

from __future__ import annotations

import msgspec

from trimtab.errors import MalformedBodyError, RequestError
from trimtab.replay.answers import Answer
from trimtab.replay.chats import CHAT_MESSAGE, chat_requests
from trimtab.replay.json_lines import Bytes, Shape, begins, elements, lines, skipped, trimmed
from trimtab.replay.recording import Recording

__all__ = ["KIND", "read", "recognises"]

KIND = "openai-chat-messages"

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

# Blocks that only Anthropic has: a list with one of them is no chat list.
_FOREIGN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


class _Block(msgspec.Struct):
    type: str | None = None


_BLOCK = Shape(_Block)


def recognises(data: bytes) -> bool:
    """Say whether it is a list of messages that have roles, and none of another provider's."""
    return _split(data) is not None


def read(data: bytes, name: str) -> list[Recording]:
    """Read a list of messages.

    Args:
        data: The whole file. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If it is none, or nobody asks anything in it.
    """
    split = _split(data)
    if split is None:
        raise RequestError(f"`{name}` is no list of chat messages")
    texts, broken = split
    messages = [CHAT_MESSAGE.read(text) for text in texts]
    asked = [place for place, message in enumerate(messages) if message.role == "assistant"]
    if messages[-1].role != "assistant":
        asked.append(len(messages))
    # A greeting that opens the list answers nothing.
    asked = [count for count in asked if count]
    if not asked:
        raise RequestError(f"`{name}` is a list of messages in which nobody asks anything")
    tools = dict.fromkeys(name for message in messages for name in message.called)
    requests = chat_requests(texts, [(count, Answer()) for count in asked], tools=tools)
    return [Recording(KIND, name, requests, skipped(broken))]


def _split(data: bytes) -> tuple[list[Bytes], list[int]] | None:
    """Split a list into its messages; None where it is none.

    Returns:
        The text of each message, and the numbers of lines that are no JSON objects.
    """
    if begins(trimmed(data), b"["):
        try:
            texts: list[Bytes] = [memoryview(message) for message in elements(data)]
        except MalformedBodyError:
            return None
        return (texts, []) if texts and all(map(_is_message, texts)) else None
    texts, broken = [], []
    for number, text in lines(data):
        if _is_message(text):
            texts.append(text)
        elif texts and CHAT_MESSAGE.read_or_none(text) is None:
            broken.append(number)
        else:
            return None
    return (texts, broken) if texts else None


def _is_message(text: Bytes) -> bool:
    message = CHAT_MESSAGE.read_or_none(text)
    if message is None or message.role not in _ROLES:
        return False
    if not begins(message.content, b"["):
        return True
    blocks = [_BLOCK.read_or_none(block) for block in elements(message.content)]
    return not any(block is not None and block.type in _FOREIGN_BLOCKS for block in blocks)
