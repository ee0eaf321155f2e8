"""What happened, told in the past tense. Values for logs, counters and displays: no prompt text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.summary import SummaryStats

__all__ = [
    "BreakCause",
    "CompactionMethod",
    "ContextCompacted",
    "EditsQuarantined",
    "Event",
    "HistoryRepaired",
    "LimitLearned",
    "PassedOn",
    "PrefixBroken",
    "ReserveCut",
    "StateUnreadable",
    "TriggerUnreachable",
]

CompactionMethod: TypeAlias = Literal["deterministic", "summarized"]
"""Whether a briefing was spliced in, or rules alone decided."""


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """A request that was over its budget was made smaller.

    Attributes:
        method: How.
        messages_before: Messages as they came.
        messages_after: Messages as they go out.
        tokens_before: The whole request as it came.
        tokens_after: The whole request as it goes out.
        summary: The briefing's share in it; None where none was made.
    """

    method: CompactionMethod
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: SummaryStats | None = None


@dataclass(frozen=True, slots=True)
class HistoryRepaired:
    """A history that was broken on arrival was mended.

    Attributes:
        edits: How many edits that took.
    """

    edits: int


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A request goes out as it came although an edit was wanted.

    Attributes:
        reason: Why, in words for the user.
    """

    reason: str


BreakCause: TypeAlias = Literal[
    "compaction",
    "client_edited",
    "budget_raised",
    "model_changed",
    "system_changed",
    "tools_changed",
    "repaired",
    "refused",
]
"""Why what was sent before is not sent again.

``compaction``: it was made smaller. ``client_edited``: the client changed
messages that were sent before. ``budget_raised``: what a smaller limit had
removed is back. ``model_changed``, ``system_changed``, ``tools_changed``: the
client changed what stands before all messages. ``repaired``: a result that
was missing has come. ``refused``: the provider refused the edits.
"""


@dataclass(frozen=True, slots=True)
class PrefixBroken:
    """What was sent before is not sent again as it was, so that the provider's cache is lost.

    Attributes:
        cause: Why.
    """

    cause: BreakCause


@dataclass(frozen=True, slots=True)
class TriggerUnreachable:
    """A compaction could not come down to the target, so the next one waits.

    The request goes out all the same as long as it is within the limit.

    Attributes:
        tokens: What the request weighs after all that was possible.
        target_tokens: What was planned down to.
        waits_until_tokens: Size of a request at which it is tried again.
    """

    tokens: int
    target_tokens: int
    waits_until_tokens: int


@dataclass(frozen=True, slots=True)
class LimitLearned:
    """The provider refused a request as too large, which says how much it takes.

    Attributes:
        limit_tokens: What a request must not pass from now on, in tokens as they are counted here.
    """

    limit_tokens: int


@dataclass(frozen=True, slots=True)
class EditsQuarantined:
    """The provider refused edits; they are not sent again.

    Attributes:
        edits: How many there were.
    """

    edits: int


@dataclass(frozen=True, slots=True)
class ReserveCut:
    """What was to be kept free for the answer leaves no room for input, so half of the window is.

    Told on the first turn of a conversation. The provider may refuse the
    request for its output: ask for less there.

    Attributes:
        asked_tokens: What the policy or the request asks to keep free.
        kept_tokens: What is kept free.
    """

    asked_tokens: int
    kept_tokens: int


@dataclass(frozen=True, slots=True)
class StateUnreadable:
    """What was stored of a conversation cannot be read, so it starts anew.

    Attributes:
        reason: Why, in words for the user.
    """

    reason: str


Event: TypeAlias = (
    ContextCompacted
    | EditsQuarantined
    | HistoryRepaired
    | LimitLearned
    | PassedOn
    | PrefixBroken
    | ReserveCut
    | StateUnreadable
    | TriggerUnreachable
)
"""Anything that is told."""
