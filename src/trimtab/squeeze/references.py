"""A result that was sent in full before becomes a reference to it.

Buys: agents read the same file and run the same command again and again.
Costs: nothing, as long as what it points to is there; a plan that takes that
away puts the words back (:func:`restores`).

The law of this file: the newer becomes the reference, the older stays as it was
sent. Only what is equal to the last byte is the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Message, Text, ToolResult
from trimtab.plan import Changes, Plan, Replace

__all__ = ["RESTORED", "digest", "has_references", "pointed", "refer", "restores"]

RESTORED = "what it pointed to goes: its words put back"

_START = f"{MADE_PREFIX}word for word the result of the earlier call "
_REFERENCE = re.compile(re.escape(_START) + r"(.+)\]", re.DOTALL)
_DIGEST_CHARACTERS = 16


def digest(result: ToolResult) -> str:
    """Name a result by its words: equal results have equal names, in every process.

    Args:
        result: The result as it came.

    Returns:
        16 hexadecimal digits; empty for a result that is not made of words alone.
    """
    blocks = [block for block in result.content if isinstance(block, Text) and not block.opaque]
    if not blocks or len(blocks) < len(result.content):
        return ""
    whole = hashlib.sha256(b"failed" if result.is_error else b"")
    for block in blocks:
        data = block.text.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()[:_DIGEST_CHARACTERS]


def refer(result: ToolResult, name: str, seen: Mapping[str, str]) -> ToolResult | None:
    """The reference that can stand for a result.

    Args:
        result: The result as it came.
        name: Its :func:`digest`.
        seen: Ids of the calls whose results were sent in full, by :func:`digest`.

    Returns:
        None where it was not sent before, or where the tool failed: that it
        failed again is worth its words.
    """
    call_id = None if result.is_error else seen.get(name)
    if call_id is None or call_id == result.call_id:
        return None
    return ToolResult(result.call_id, (Text(f"{_START}{call_id}]"),))


def has_references(messages: Sequence[Message]) -> bool:
    """Whether a result of a conversation points to another."""
    return any(pointed(result) is not None for _, _, result in _results(messages))


def restores(plan: Plan, messages: Sequence[Message]) -> tuple[Replace, ...]:
    """Put back the words of references that a plan would leave pointing to nothing.

    Of several references to the same result the first that stays gets the words,
    and the others point to it.

    Args:
        plan: What is about to be done; places refer to ``messages``.
        messages: The conversation as it is sent now, oldest first.

    Returns:
        Edits that belong into the same plan, in the order of ``messages``.
        Empty where every reference that stays keeps what it points to. They
        cost tokens: their ``saved_tokens`` is 0, for the plan to be weighed.
    """
    changes = plan.changes
    full: dict[str, ToolResult] = {}  # newest result of a call that is no reference
    is_going: dict[str, bool] = {}
    now: dict[str, str] = {}  # a call whose result goes: the call that has its words from now on
    edits: list[Replace] = []
    for message, part, result in _results(messages):
        call_id = pointed(result)
        if call_id is None:
            full[result.call_id] = result
            is_going[result.call_id] = not _stays(changes, message, part)
        elif call_id in full and is_going[call_id] and _stays(changes, message, part):
            words = full[call_id].content
            is_pointing = call_id in now
            if is_pointing:
                words = (Text(f"{_START}{now[call_id]}]"),)
            now.setdefault(call_id, result.call_id)
            new = ToolResult(result.call_id, words)
            edits.append(Replace(message, part, new, RESTORED, is_birth=is_pointing))
    return tuple(edits)


def _results(messages: Sequence[Message]) -> Iterator[tuple[int, int, ToolResult]]:
    for place, message in enumerate(messages):
        if message.result_ids:
            for number, part in enumerate(message.parts):
                if isinstance(part, ToolResult):
                    yield place, number, part


def pointed(result: ToolResult) -> str | None:
    """The call that a result points to; None where it is no reference."""
    if len(result.content) != 1 or not isinstance(result.content[0], Text):
        return None
    found = _REFERENCE.fullmatch(result.content[0].text)
    return found[1] if found else None


def _stays(changes: Changes, message: int, part: int) -> bool:
    is_gone = message in changes.gone or part in changes.dropped.get(message, ())
    return not is_gone and part not in changes.replaced.get(message, {})
