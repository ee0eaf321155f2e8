"""A span of a conversation as text, for a model that shall sum it up.

Each block is shortened, keeping both ends. Where the whole is too large, older
blocks become shorter first; only where that is not enough are messages left
out, the oldest first, and the text says how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = ["MOST_BYTES", "render_span"]

MOST_BYTES = 480_000
"""Of a whole record: some 120,000 tokens, which the models at hand can read."""

BLOCK_BYTES = 2_000
"""Of one text."""

SHORT_BYTES = 300
"""Of one text where space is short, and of a call's arguments always."""

_FENCE, _DEFUSED = "</record", "<\\/record"
"""What would close the record, and what stands for it."""

_GAP = "[the {count} oldest messages are left out here: the record was too long]"
_GAP_BYTES = len(_GAP) + 12

_MADE = {"summary": "earlier briefing", "marker": "note on removed messages"}


def render_span(messages: Sequence[Message], most_bytes: int = MOST_BYTES) -> str:
    """Render some messages.

    Args:
        messages: The span, oldest first.
        most_bytes: UTF-8 bytes that the text may have.

    Returns:
        The text. It holds a gap line and the newest messages where not all fit.
    """
    short = [_rendered(message, SHORT_BYTES) for message in messages]
    sizes = [_size(text) + 1 for text in short]
    room = most_bytes - sum(sizes)
    left_out = 0
    if room < 0:
        room -= _GAP_BYTES
    while room < 0 and left_out < len(short):
        room += sizes[left_out]
        left_out += 1
    rendered: list[str] = []
    for place in range(len(messages) - 1, left_out - 1, -1):
        longer = _rendered(messages[place], BLOCK_BYTES)
        growth = _size(longer) + 1 - sizes[place]
        rendered.append(longer if growth <= room else short[place])
        room -= growth if growth <= room else 0
    if left_out:
        rendered.append(_GAP.format(count=left_out))
    return "\n".join(reversed(rendered))


def _rendered(message: Message, block_bytes: int) -> str:
    if message.origin in _MADE:
        return _fenced(f"[{_MADE[message.origin]}]\n{message.text}")
    lines = (f"[{message.role}]", *_lines(message.parts, block_bytes))
    return _fenced("\n".join(lines))


def _lines(parts: Sequence[Part], block_bytes: int) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text):
                yield _clipped(text, block_bytes)
            case ToolCall(name=name, arguments=arguments):
                yield f"[calls {name}] {_clipped(arguments, SHORT_BYTES)}"
            case ToolResult(content=content, is_error=is_error):
                yield "[the tool failed]" if is_error else "[the tool answers]"
                yield from _lines(content, block_bytes)
            case Media(kind=kind):
                yield f"[{kind} omitted]"
            case Thinking():
                yield "[thinking omitted]"
            case Opaque(kind=kind):
                yield f"[{kind} omitted]"


def _clipped(text: str, most_bytes: int) -> str:
    """Both ends of a text that is too long, two parts of the front to one of the back."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return data.decode()
    note = f" [... {len(data)} bytes in all ...] "
    room = most_bytes - len(note)
    front, back = data[: room * 2 // 3], data[len(data) - room // 3 :]
    return front.decode("utf-8", "ignore") + note + back.decode("utf-8", "ignore")


def _fenced(text: str) -> str:
    """The same without what would close the record."""
    return text.replace(_FENCE, _DEFUSED) if _FENCE in text else text


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
