"""Whether what a model answered may stand for messages.

Putting a briefing in place removes what it stands for, so a doubtful answer
is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from trimtab.errors import TokenCountError
from trimtab.events import SummaryGivenUpCause
from trimtab.summary import Summary

__all__ = ["Accepted", "Refused", "judge"]

_COMPLETE = frozenset({"", "stop", "end", "end_turn", "completed"})
"""Reasons to stop that mean the model was done, in the providers' words; none given is one."""

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "incomplete"})
"""Those that mean that the answer was cut at its length."""

_REFUSAL = re.compile(
    r"\W*(?:i['\u2019]?m (?:very |really )?sorry|i am (?:very |really )?sorry|sorry(?=,)|i apologi[sz]e"
    r"|i can(?:not|['\u2019]?t| not)|i (?:won['\u2019]?t|will not|must decline)"
    r"|i['\u2019]?m (?:unable|not able)|i am (?:unable|not able)|as an ai)\b",
    re.IGNORECASE,
)
"""How a refusal begins that a provider does not mark as one."""

_REFUSAL_CHARACTERS = 600
"""A longer text that begins so has something to say."""


_WORD_CHARACTERS = 32
"""A reason to stop that is longer is no word of a provider's."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that may stand for messages.

    Attributes:
        text: The summary.
        tokens: What it weighs.
    """

    text: str = field(repr=False)
    tokens: int


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that may not.

    Attributes:
        cause: Why, in a word.
        reason: Why, in words for the user; no word of the answer is in it.
        needed_tokens: What a span must weigh for such an answer to do; 0 where size was not it.
        is_cut: Whether the model was not done when it had used up its tokens.
    """

    cause: SummaryGivenUpCause
    reason: str
    needed_tokens: int = 0
    is_cut: bool = False


def judge(
    summary: object, span_tokens: int, min_gain: float | None, count: Callable[[str], int]
) -> Accepted | Refused:
    """Say whether an answer may stand for a span.

    Args:
        summary: What the summarizer returned, whatever that is.
        span_tokens: What the span weighs that it would replace.
        min_gain: By what share of that it must be smaller, from 0 to below 1; None
            takes it at any size.
        count: Counts the tokens of a text. Where it fails the answer is refused: the
            caller has something else to do at that time.
    """
    if not isinstance(summary, Summary) or not isinstance(summary.text, str):
        return Refused("failed", "the summarizer returned something that is no Summary")
    told = _shortcoming(summary)
    if told:
        return Refused("refused", told, is_cut=_stop(summary) in _CUT)
    text = summary.text.strip()
    try:
        tokens = count(text)
    except TokenCountError as error:
        return Refused("failed", str(error))
    if min_gain is not None and tokens > (1 - min_gain) * span_tokens:
        return Refused(
            "too large",
            f"the answer weighs {tokens} tokens and would stand for {span_tokens}; it must be "
            f"smaller by {min_gain:.0%}",
            needed_tokens=int(tokens / (1 - min_gain)) + 1,
        )
    return Accepted(text, tokens)


def _shortcoming(summary: Summary) -> str:
    """What an answer lacks, its size aside; empty for nothing."""
    stop = _stop(summary)
    if summary.tool_calls:
        return "the answer calls a tool"
    if stop not in _COMPLETE:
        return f"the model stopped because of {stop[:_WORD_CHARACTERS]!r}"
    if not summary.text.strip():
        return "the answer is blank"
    if len(summary.text) < _REFUSAL_CHARACTERS and _REFUSAL.match(summary.text):
        return "the answer is a refusal"
    return ""


def _stop(summary: Summary) -> str:
    """Why the model stopped, as providers spell it or nearly so."""
    return str(summary.stop_reason or "").lower()
