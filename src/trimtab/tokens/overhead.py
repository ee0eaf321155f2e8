"""What a request costs beside the words in it.

Providers frame messages, calls and tools with tokens that no text shows.
OpenAI's cookbook gives its figures; Anthropic publishes the prompt that
switches tools on; the rest are heuristics on the high side, since a count
that is too low overflows the window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Overhead", "overhead_for"]


@dataclass(frozen=True, slots=True)
class Overhead:
    """Tokens beside the words.

    Attributes:
        request: Once a request.
        message: Each message.
        call: Each tool call, beside name and arguments.
        result: Each tool result, beside its content.
        tool: Each tool definition, beside its JSON.
        tools: Once, if there are any tools.
    """

    request: int
    message: int
    call: int
    result: int
    tool: int
    tools: int = 0


_OPENAI = Overhead(request=3, message=4, call=8, result=4, tool=8)
"""3 a message, 1 for a name, 3 for priming the answer, 7 to 12 a function: OpenAI's cookbook."""

_CLAUDE_TOOLS: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"sonnet-5"), 354),
    (re.compile(r"opus-5"), 286),
    (re.compile(r"opus-4[-.]8|fable|mythos"), 290),
    (re.compile(r"opus-4[-.]7"), 675),
)
"""The prompt that switches tools on, by Anthropic's table (tool_choice auto)."""

_CLAUDE_TOOLS_DEFAULT = 497
"""The same for 4.6 and Sonnet 4.6; the 4.5 models take 496."""


def overhead_for(model: str) -> Overhead:
    """Find what a model's provider adds; OpenAI's figures for models that are not known."""
    name = model.lower()
    if "claude" not in name:
        return _OPENAI
    tools = next((tokens for pattern, tokens in _CLAUDE_TOOLS if pattern.search(name)), None)
    return Overhead(
        request=7, message=4, call=8, result=8, tool=4, tools=tools or _CLAUDE_TOOLS_DEFAULT
    )
