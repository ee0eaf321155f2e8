"""A span of a conversation as text, for a model that shall sum it up.

Long blocks are shortened, the older ones first and further; only where that
is not enough are the oldest messages left out, and the text says how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.window.rounds import is_summary

__all__ = ["transcript"]

MOST_BYTES = 480_000
"""Of a whole transcript: some 120,000 tokens, which the models at hand can read."""

BLOCK_BYTES = 2_000
"""Of one text."""

SHORT_BLOCK_BYTES = 300
"""Of one text where space is short, and of the arguments of a call always."""


def transcript(messages: Sequence[Message], most_bytes: int = MOST_BYTES) -> str:
    """Render some messages; an earlier summary among them stays whole.

    Args:
        messages: The span, oldest first.
        most_bytes: UTF-8 bytes that the text may have, about.
    """
    short = [_rendered(message, SHORT_BLOCK_BYTES) for message in messages]
    left_out = 0
    room = most_bytes - sum(map(_size, short))
    while room < 0 and left_out < len(short) - 1:
        room += _size(short[left_out])
        left_out += 1
    rendered: list[str] = []
    for message, text in zip(reversed(messages), reversed(short[left_out:]), strict=False):
        longer = _rendered(message, BLOCK_BYTES)
        growth = _size(longer) - _size(text)
        rendered.append(longer if growth <= room else text)
        room -= growth if growth <= room else 0
    if left_out:
        rendered.append(f"[the {left_out} oldest messages are left out here]")
    return "\n".join(reversed(rendered))


def _rendered(message: Message, block_bytes: int) -> str:
    if is_summary(message):
        return f"[earlier summary]\n{message.text}"
    return "\n".join((f"[{message.role}]", *_lines(message.parts, block_bytes)))


def _lines(parts: Sequence[Part], block_bytes: int) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text):
                yield _clipped(text, block_bytes)
            case ToolCall(name=name, arguments=arguments):
                yield f"calls {name}: {_clipped(arguments, SHORT_BLOCK_BYTES)}"
            case ToolResult(content=content, is_error=is_error):
                yield "the tool failed:" if is_error else "the tool answers:"
                yield from _lines(content, block_bytes)
            case Media(kind=kind, media_type=media_type):
                yield f"[{kind} {media_type} left out]"
            case Thinking():
                yield "[thinking left out]"
            case Opaque(kind=kind):
                yield f"[{kind} left out]"


def _clipped(text: str, most_bytes: int) -> str:
    """Both ends of a text that is too long, three parts of the front to one of the back."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    front, back = data[: most_bytes * 3 // 4], data[-(most_bytes // 4) :]
    gone = len(data) - len(front) - len(back)
    return f"{front.decode('utf-8', 'ignore')} [{gone} bytes left out] {back.decode('utf-8', 'ignore')}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
