"""The newest exchange's results are clipped, when nothing else makes a request fit.

The results of one exchange are capped together: the largest give first, and
none gives more than it must.
"""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.messages import Text, ToolResult
from trimtab.plan import Plan, Replace
from trimtab.strategies.excerpt import clip_tokens
from trimtab.strategies.history import History

__all__ = ["clip_newest"]

REASON = "newest tool output: too large for the limit, both ends kept"

_PASSES = 4
"""A cap is found by arithmetic on old counts; texts do not split that evenly, so it is found again."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A text of one of the results, by message, part and place in the part."""

    message: int
    part: int
    place: int
    text: str
    tokens: int


def clip_newest(history: History, excess_tokens: int) -> tuple[Replace, ...]:
    """Clip the texts of the newest exchange's results.

    What the user's ``protect`` names stays, and so do messages that hold
    something unknown.

    Args:
        history: What there is.
        excess_tokens: By how much the request is too large, above 0.

    Returns:
        One edit a result that became shorter; they may save less than was wanted.
    """
    blocks = _texts(history)
    if not blocks:
        return ()
    wanted = excess_tokens
    edits: tuple[Replace, ...] = ()
    for _ in range(_PASSES):
        edits = _edits(history, blocks, _cap([block.tokens for block in blocks], wanted))
        saved = history.total_tokens - history.tokens_under(Plan(edits))
        if saved >= excess_tokens:
            break
        wanted += excess_tokens - saved
    return edits


def _texts(history: History) -> list[_Block]:
    newest = history.boundaries.newest_exchange()
    protect = history.policy.protect
    blocks = []
    for piece in history.boundaries.pieces:
        place = piece.ref.message
        if piece.atom != newest or not piece.is_result or place in history.constraints.frozen:
            continue
        message = history.messages[place]
        if protect is not None and protect(message):
            continue
        for number, part in enumerate(message.parts):
            for inner, block in enumerate(part.content if isinstance(part, ToolResult) else ()):
                if isinstance(block, Text):
                    tokens = history.measure.text(block.text)
                    blocks.append(_Block(place, number, inner, block.text, tokens))
    return blocks


def _cap(sizes: list[int], excess: int) -> int:
    """The size to which the largest must come down so that enough is saved; 0 if nothing is."""
    saved = 0
    descending = sorted(sizes, reverse=True)
    for count, (size, following) in enumerate(
        zip(descending, [*descending[1:], 0], strict=True), start=1
    ):
        step = (size - following) * count
        if saved + step >= excess:
            return size - -(-(excess - saved) // count)
        saved += step
    return 0


def _edits(history: History, blocks: list[_Block], cap: int) -> tuple[Replace, ...]:
    shorter: dict[tuple[int, int], dict[int, Text]] = {}
    for block in blocks:
        if block.tokens > cap:
            text = clip_tokens(block.text, cap, history.measure.text)
            if history.measure.text(text) < block.tokens:
                shorter.setdefault((block.message, block.part), {})[block.place] = Text(text)
    edits = []
    places = {message for message, _ in shorter}
    parts = {place: history.messages[place].parts for place in places}
    for (message, number), texts in shorter.items():
        old = parts[message][number]
        if not isinstance(old, ToolResult):  # cannot be: blocks come from results alone
            continue
        content = tuple(texts.get(place, block) for place, block in enumerate(old.content))
        new = ToolResult(old.call_id, content, old.is_error)
        edits.append(Replace(message, number, new, REASON))
    return tuple(edits)
