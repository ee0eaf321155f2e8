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

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from trimtab.errors import MalformedBodyError, RequestError
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    elements,
    lines,
    numbered,
    trimmed,
)
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire.json_spans import dump

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["KIND", "read", "recognises"]

KIND = "openai-chat-messages"

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_UNRECORDED = frozenset({"model", "tools"})

# Blocks that only Anthropic has: a list with one of them is no chat list.
_FOREIGN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


class _Named(msgspec.Struct):
    name: str | None = None


class _Call(msgspec.Struct):
    function: _Named | None = None
    custom: _Named | None = None


class _Message(msgspec.Struct):
    role: str | None = None
    content: Raw = ABSENT
    tool_calls: list[_Call] | None = None
    function_call: _Named | None = None


class _Block(msgspec.Struct):
    type: str | None = None


_MESSAGE = Shape(_Message)
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
    messages = [_MESSAGE.read(text) for text in texts]
    asked = [place for place, message in enumerate(messages) if message.role == "assistant"]
    if messages[-1].role != "assistant":
        asked.append(len(messages))
    # A greeting that opens the list answers nothing.
    asked = [count for count in asked if count]
    if not asked:
        raise RequestError(f"`{name}` is a list of messages in which nobody asks anything")
    note = f"skipped lines that are cut off or no JSON objects: {numbered(broken)}"
    requests = _requests(texts, asked, _head(messages))
    return [Recording(KIND, name, requests, (note,) if broken else ())]


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
        elif texts and _MESSAGE.read_or_none(text) is None:
            broken.append(number)
        else:
            return None
    return (texts, broken) if texts else None


def _is_message(text: Bytes) -> bool:
    message = _MESSAGE.read_or_none(text)
    if message is None or message.role not in _ROLES:
        return False
    if not begins(message.content, b"["):
        return True
    blocks = [_BLOCK.read_or_none(block) for block in elements(message.content)]
    return not any(block is not None and block.type in _FOREIGN_BLOCKS for block in blocks)


def _called(messages: Sequence[_Message]) -> list[str]:
    """Name the tools that are called, each once, in order."""
    names: dict[str, None] = {}
    for message in messages:
        calls = [call.function or call.custom for call in message.tool_calls or ()]
        for called in (*calls, message.function_call):
            if called is not None and called.name:
                names[called.name] = None
    return list(names)


def _head(messages: Sequence[_Message]) -> bytes:
    """Write a body up to its first message."""
    stubs = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in _called(messages)
    ]
    members = {"model": "unknown"}
    envelope = dump({**members, "tools": stubs} if stubs else members)
    return envelope.removesuffix(b"}") + b',"messages":['


def _requests(texts: Sequence[Bytes], counts: Sequence[int], head: bytes) -> list[RecordedRequest]:
    """Make a request of each beginning of the list."""
    sizes = list(accumulate((len(text) + 1 for text in texts), initial=len(head)))
    return [
        RecordedRequest(
            format="openai-chat",
            build=partial(_body, head, texts, count),
            size_bytes=sizes[count] + 1,
            message_count=count,
            unrecorded=_UNRECORDED,
        )
        for count in counts
    ]


def _body(head: bytes, texts: Sequence[Bytes], count: int) -> bytes:
    return b"".join((head, b",".join(texts[:count]), b"]}"))
