"""Old tool results are replaced by a line that says that they are gone.

Buys: the course of the work stays, at a fraction of its size.
Costs: all that old results said, whether or not anything repeats it.
"""

from __future__ import annotations

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Opaque, Text, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.history import History

__all__ = ["MASK", "mask_old_results"]

REASON = "old tool output masked"

MASK = f"{MADE_PREFIX}old output removed; run the tool again if it is needed]"


def mask_old_results(history: History, target_tokens: int) -> tuple[Replace, ...]:
    """Mask results before the newest messages, oldest first.

    Protected results are left alone, and so are tools that the policy
    exempts and results that hold something unknown.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.

    Returns:
        One edit a result that became shorter, oldest first.
    """
    edits: list[Replace] = []
    tools = history.tool_names()
    newest = len(history.messages) - history.policy.keep_recent
    remaining = history.total_tokens
    for place, piece in enumerate(history.boundaries.pieces):
        message = piece.ref.message
        if remaining <= target_tokens or message >= newest:
            break
        if not piece.is_result or place in history.protected:
            continue
        for number, part in enumerate(history.messages[message].parts):
            if not isinstance(part, ToolResult) or not _may_go(history, part, tools):
                continue
            masked = ToolResult(part.call_id, (Text(MASK),), part.is_error)
            saved = history.measure.part(part) - history.measure.part(masked)
            if saved > 0:
                edits.append(Replace(message, number, masked, REASON))
                remaining -= saved
    return tuple(edits)


def _may_go(history: History, result: ToolResult, tools: dict[str, str]) -> bool:
    is_exempt = history.policy.tool_lines.get(tools.get(result.call_id, "")) == 0
    return not is_exempt and not any(isinstance(block, Opaque) for block in result.content)
