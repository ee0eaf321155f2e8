"""Lists of OpenAI-chat messages in their own bytes, and the requests that led to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate

import msgspec
from msgspec import Raw

from trimtab.replay.answers import Answer
from trimtab.replay.json_lines import ABSENT, Bytes, Shape
from trimtab.replay.recording import RecordedRequest
from trimtab.wire.json_spans import dump

__all__ = ["CHAT_MESSAGE", "ChatMessage", "chat_head", "chat_requests", "reduced"]


class _Named(msgspec.Struct):
    name: str | None = None


class _Call(msgspec.Struct):
    function: _Named | None = None
    custom: _Named | None = None


class ChatMessage(msgspec.Struct):
    """What readers look at in a message."""

    role: str | None = None
    content: Raw = ABSENT
    tool_calls: list[_Call] | None = None
    function_call: _Named | None = None

    @property
    def called(self) -> list[str]:
        """Names of the tools that are called in it."""
        calls = [call.function or call.custom for call in self.tool_calls or ()]
        named = (*calls, self.function_call)
        return [called.name for called in named if called is not None and called.name]


CHAT_MESSAGE = Shape(ChatMessage)


def reduced(members: Iterable[tuple[bytes, Raw]]) -> Bytes:
    """Write a message of those members that are sent; absent ones are left out."""
    present = [b'"%b":%b' % (key, value) for key, value in members if value != ABSENT]
    return b"{" + b",".join(present) + b"}"


def chat_requests(
    messages: Sequence[Bytes],
    answers: Iterable[tuple[int, Answer]],
    *,
    tools: Iterable[str] = (),
    unrecorded: frozenset[str] = frozenset({"model", "tools"}),
) -> list[RecordedRequest]:
    """Make a request of each beginning of a list of OpenAI-chat messages that was answered.

    Args:
        messages: All messages, each as JSON text.
        answers: What answered, each with how many messages had been said before.
        tools: Names of the tools that are called.
        unrecorded: What the log does not hold. A model that an answer names is known.
    """
    sizes = list(accumulate((len(text) + 1 for text in messages), initial=1))
    stubs = list(tools)
    requests = []
    for count, answer in answers:
        head = chat_head(answer.model, stubs)
        requests.append(
            RecordedRequest(
                format="openai-chat",
                build=partial(_chat_body, head, messages, count),
                size_bytes=len(head) + sizes[count],
                message_count=count,
                model=answer.model,
                usage=answer.usage,
                at=answer.at,
                unrecorded=unrecorded - {"model"} if answer.model else unrecorded,
            )
        )
    return requests


def chat_head(model: str, tools: Sequence[str]) -> bytes:
    """Write a body up to its first message, with stubs for the tools."""
    stubs = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in tools
    ]
    members = {"model": model or "unknown"}
    envelope = dump({**members, "tools": stubs} if stubs else members)
    return envelope.removesuffix(b"}") + b',"messages":['


def _chat_body(head: bytes, messages: Sequence[Bytes], count: int) -> bytes:
    return b"".join((head, b",".join(messages[:count]), b"]}"))
