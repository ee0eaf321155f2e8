"""Results that are long past keep their ends and the lines that tell of failures.

Buys: most of what an old result holds was used when it was new; its ends and
its errors say what came of it.
Costs: whoever needs more runs the tool again.
"""

from __future__ import annotations

from collections.abc import Iterator

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Text, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.answered import Answered, answered, replacements
from trimtab.strategies.excerpt import ends
from trimtab.strategies.history import History
from trimtab.strategies.wording import (
    is_refusal,
    lines_of_failure,
    may_be_refusal,
    tells_of_failure,
)

__all__ = ["thin_old_results"]

REASON = "old result: its ends and the lines that tell of failures kept"

_KEPT_CHARACTERS = 240
"""What a thinned text keeps of its words."""

_SHORT_CHARACTERS = 480
"""A text up to here is left as it is. A thinned one is always shorter, markers and all,
so that none is thinned twice."""

_REFUSAL_CHARACTERS = 400
"""A refusal says so at its beginning."""

_RECENT_FACTOR = 2
"""How many times the recent messages are too new to be thinned."""

_REMOVED = f"{MADE_PREFIX}%d characters removed]"
_REMOVED_BUT_FAILURES = f"{MADE_PREFIX}%d characters removed, but for lines that tell of failures]"
_END = f"{MADE_PREFIX}it ended with]"


def thin_old_results(history: History, target_tokens: int) -> tuple[Replace, ...]:
    """Thin results older than twice the recent messages, oldest first.

    Media stay. What was refused is left alone: the words may be a human's.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.

    Returns:
        One edit a result that became shorter, oldest first.
    """
    return replacements(history, target_tokens, _offers(history), REASON)


def _offers(history: History) -> Iterator[tuple[Answered, ToolResult]]:
    end = len(history.messages) - _RECENT_FACTOR * history.policy.keep_recent
    for old in answered(history):
        if old.message >= end:
            return
        if old.is_free and not old.is_made and not _is_refusal(old):
            yield old, _thin(old.result)


def _is_refusal(old: Answered) -> bool:
    text = old.result.text
    return is_refusal(text) or (may_be_refusal(text[:_REFUSAL_CHARACTERS]) and old.has_failed)


def _thin(result: ToolResult) -> ToolResult:
    content = tuple(
        Text(_thin_text(block.text)) if isinstance(block, Text) and not block.opaque else block
        for block in result.content
    )
    return ToolResult(result.call_id, content, result.is_error)


def _thin_text(text: str) -> str:
    """The ends of a text and its first lines that tell of failures; the text itself if short."""
    if len(text) <= _SHORT_CHARACTERS:
        return text
    if tells_of_failure(text):
        head, tail = ends(text, _KEPT_CHARACTERS // 4, _KEPT_CHARACTERS // 4)
        middle = text[len(head) : len(text) - len(tail)]
        failures = _failures(middle, _KEPT_CHARACTERS // 2)
        if failures:
            marker = _REMOVED_BUT_FAILURES % (len(middle) - sum(map(len, failures)))
            return _joined(head, marker, *failures, _END, tail)
    head, tail = ends(text, _KEPT_CHARACTERS // 2, _KEPT_CHARACTERS // 2)
    return _joined(head, _REMOVED % (len(text) - len(head) - len(tail)), tail)


def _failures(text: str, room: int) -> list[str]:
    """The first lines that tell of failures, as far as they have room; the last may be cut."""
    kept: list[str] = []
    for line in lines_of_failure(text):
        if room <= 0:
            break
        words = line.strip()
        if not words.startswith(MADE_PREFIX):
            kept.append(ends(words, room, 0)[0] if len(words) > room else words)
            room -= len(words) + 1
    return [words for words in kept if words]


def _joined(*lines: str) -> str:
    return "\n".join(stripped for line in lines if (stripped := line.strip("\r\n")))
