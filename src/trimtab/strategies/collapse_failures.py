"""A failure that came again in the same words is told once.

Buys: agents try the same thing several times; each time the whole error comes.
Costs: nothing but the older copies: the newest stays word for word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from trimtab.messages import Text, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.answered import Answered, answered, marked, replacements
from trimtab.strategies.history import History
from trimtab.strategies.targets import target_of
from trimtab.strategies.wording import may_be_refusal, tells_of_failure

__all__ = ["collapse_failures"]

REASON = "repeated failure: the newest stays"

_Failure: TypeAlias = tuple[tuple[str, str], str]
"""What was asked for, and what was answered."""


def collapse_failures(history: History, target_tokens: int) -> tuple[Replace, ...]:
    """Replace failures that came again by a marker, oldest first.

    What a human, a hook or a policy refused is no failure: each refusal is
    evidence of what is not wanted, and stays. So does whatever is not told in
    the words of a program that failed.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.

    Returns:
        One edit a result that became shorter, oldest first.
    """
    return replacements(history, target_tokens, _offers(history), REASON)


def _offers(history: History) -> Iterator[tuple[Answered, ToolResult]]:
    failures = [
        (found, failure)
        for found in answered(history)
        if (failure := _failure(found, history)) is not None
    ]
    newest: dict[_Failure, int] = {}
    for found, failure in failures:
        newest[failure] = max(found.number, newest.get(failure, -1))
    for found, failure in failures:
        if found.is_free and found.number < newest[failure]:
            yield found, marked(found.result, f"{found.name} failed in the same words again later")


def _failure(found: Answered, history: History) -> _Failure | None:
    """What tells one failure from another; None for what is none, or may be a refusal."""
    if found.call is None or not found.has_failed or found.is_made:
        return None
    if not all(isinstance(block, Text) for block in found.result.content):
        return None
    text = found.result.text.strip()
    if may_be_refusal(text) or not tells_of_failure(text, is_loose=True):
        return None
    return target_of(found.call, history.policy).identity, text
