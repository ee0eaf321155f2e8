"""Old tool results keep their first and last lines.

Buys: most of what agents carry along are results that were read once.
Costs: whoever needs the middle again runs the tool again.
"""

from __future__ import annotations

from trimtab.messages import Text, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.excerpt import clip_lines
from trimtab.strategies.history import History

__all__ = ["clip_tool_output"]

REASON = "old tool output: first and last lines kept"


def clip_tool_output(history: History, target_tokens: int) -> tuple[Replace, ...]:
    """Clip results that have more lines than the policy wants, oldest first.

    Protected results are left alone, and so are tools that the policy exempts.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.

    Returns:
        One edit a result that became shorter, oldest first.
    """
    edits: list[Replace] = []
    tools: dict[str, str] | None = None
    remaining = history.total_tokens
    for place, piece in enumerate(history.boundaries.pieces):
        if remaining <= target_tokens:
            break
        if not piece.is_result or place in history.protected:
            continue
        tools = history.tool_names() if tools is None else tools
        message = piece.ref.message
        for number, part in enumerate(history.messages[message].parts):
            if not isinstance(part, ToolResult):
                continue
            clipped = _clip(part, _max_lines(history, tools.get(part.call_id, "")))
            saved = history.measure.part(part) - history.measure.part(clipped)
            if saved > 0:
                edits.append(Replace(message, number, clipped, REASON))
                remaining -= saved
    return tuple(edits)


def _max_lines(history: History, tool: str) -> int:
    """Lines that a tool's results keep; 0 for all of them."""
    return history.policy.tool_lines.get(tool, history.policy.tool_output_max_lines)


def _clip(result: ToolResult, max_lines: int) -> ToolResult:
    if max_lines == 0:
        return result
    content = tuple(
        _clip_text(block, max_lines) if isinstance(block, Text) else block
        for block in result.content
    )
    return ToolResult(result.call_id, content, result.is_error)


def _clip_text(block: Text, max_lines: int) -> Text:
    """Clip a text, unless nothing but blanks would be left, which some providers refuse."""
    clipped = clip_lines(block.text, max_lines)
    return Text(clipped) if clipped.strip() else block
