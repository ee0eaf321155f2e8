"""Make a body for messages that have no bytes yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.messages import Message, Surface, Tool, ToolCall
from trimtab.wire.format import Encoded, Setup
from trimtab.wire.formats import format_named
from trimtab.wire.json_spans import dump

__all__ = ["build"]

DEFAULT_MAX_TOKENS = 4096
"""Room for the answer where nobody said; Anthropic demands a figure, and every model takes this."""


def build(
    messages: Sequence[Message],
    format: str,  # noqa: A002 - the word for it
    *,
    surface: Surface | None = None,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    encoded: Encoded | None = None,
) -> bytes:
    """Build a request body.

    What the format has no place for finds one that says so: media in tool
    results moves behind them with a label, a failed result begins with
    ``Error:``, arguments that are no object become one, calls without a
    tool definition get a stub. Reasoning goes only where it can be accepted.
    OpenAI Responses is told not to store the answer only where encrypted
    reasoning is sent back, which works in no other way.

    Args:
        messages: The conversation, oldest first.
        format: Name of the format, such as ``openai-chat``.
        surface: Model, system prompt and tools; tools of another format are converted.
        max_tokens: Most tokens that the answer may have.
        encoded: What was encoded for other bodies of this format; one that is handed in again
            grows, and spares the work.

    Returns:
        The body as compact JSON in UTF-8.

    Raises:
        UnknownFormatError: If there is no format of that name.
    """
    wire_format = format_named(format)
    surface = _with_stub_tools(surface or Surface(), messages)
    setup = Setup(
        surface=surface, max_tokens=max_tokens, encoded={} if encoded is None else encoded
    )
    return dump(wire_format.body(messages, setup))


def _with_stub_tools(surface: Surface, messages: Sequence[Message]) -> Surface:
    """Define the tools that are called and not defined, by name alone."""
    if surface.tools:
        return surface
    names = {
        part.name: None
        for message in messages
        if message.call_ids
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    return replace(surface, tools=tuple(Tool(name) for name in names))
