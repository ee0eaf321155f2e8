"""What happened, told in the past tense. Values for logs, counters and displays: no prompt text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.summary import SummaryStats

__all__ = [
    "BreakCause",
    "CompactionCause",
    "CompactionMethod",
    "ContextCompacted",
    "EditsQuarantined",
    "Event",
    "HistoryRepaired",
    "LimitLearned",
    "PassedOn",
    "PrefixBroken",
    "ReserveCut",
    "SettingClamped",
    "SpanUnreachable",
    "StateUnreadable",
    "StoreSetAside",
    "StoreUnavailable",
    "SummariesMissing",
    "SummaryGivenUp",
    "SummaryGivenUpCause",
    "TriggerUnreachable",
]

CompactionMethod: TypeAlias = Literal["deterministic", "summarized"]
"""Whether a briefing was spliced in, or rules alone decided."""

CompactionCause: TypeAlias = Literal["limit", "cold", "trigger"]
"""Why a request was made smaller.

``limit``: it was larger than it may be. ``cold``: the provider's cache was lost
anyway, so that a smaller size is enough. ``trigger``: it was larger than the
size at which a compaction is planned.
"""


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
        cause: Why; None where nobody says, as for lists of messages.
        foretold_tokens: What the whole request was taken to weigh had nothing more been removed; 0
            where nobody says.
    """

    method: CompactionMethod
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: SummaryStats | None = None
    cause: CompactionCause | None = None
    foretold_tokens: int = 0


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


@dataclass(frozen=True, slots=True)
class StoreUnavailable:
    """The store has failed or was too slow; the request goes out with what this process knows.

    Attributes:
        reason: Why, in words for the user.
        pause_seconds: For how long it is not asked again, after it failed several times.
    """

    reason: str
    pause_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StoreSetAside:
    """A store's file cannot be used, so it was renamed and a new one begun.

    Attributes:
        path: Its name from now on.
        reason: Why, in words for the user.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SettingClamped:
    """A setting was outside of what it may be, and another value holds.

    Attributes:
        setting: Its name.
        given: What was given.
        used: What holds.
    """

    setting: str
    given: float
    used: float


@dataclass(frozen=True, slots=True)
class SpanUnreachable:
    """With these settings there is nothing to sum up however long the conversation gets.

    Told once. Every compaction is made without a summary until a setting changes.

    Attributes:
        tail_tokens: What the newest messages that stay shall weigh.
        keep_recent: How many of them stay.
        budget_tokens: What all messages may weigh.
        reason: Which setting leaves no room, and what to change.
    """

    tail_tokens: int
    keep_recent: int
    budget_tokens: int
    reason: str


SummaryGivenUpCause: TypeAlias = Literal[
    "failed", "timed out", "cancelled", "refused", "too large", "stale", "does not fit"
]
"""Why a summary that was asked for is not used.

``failed``: the summarizer raised, or answered something that is no summary.
``timed out``: it did not answer in time. ``cancelled``: the strategy was
closed, or the event loop that it ran on is gone. ``refused``: the answer is
blank, cut short, a refusal or a tool call. ``too large``: it is no smaller
than what it stands for. ``stale``: the messages that it stands for have
changed. ``does not fit``: it is larger than the room that there is.
"""


@dataclass(frozen=True, slots=True)
class SummaryGivenUp:
    """A summary that was asked for is not used; compactions go on without it.

    Attributes:
        cause: Why, in a word.
        reason: Why, in words for the user; no word of an answer is in it.
        attempts: How often the summarizer was asked.
        summary: What was billed, with a span of 0; None where no answer came back.
    """

    cause: SummaryGivenUpCause
    reason: str
    attempts: int = 1
    summary: SummaryStats | None = None


@dataclass(frozen=True, slots=True)
class SummariesMissing:
    """Several compactions in a row had to do without a summary although some were asked for.

    Told once, until a summary is used again.

    Attributes:
        compactions: How many.
    """

    compactions: int


Event: TypeAlias = (
    ContextCompacted
    | EditsQuarantined
    | HistoryRepaired
    | LimitLearned
    | PassedOn
    | PrefixBroken
    | ReserveCut
    | SettingClamped
    | SpanUnreachable
    | StateUnreadable
    | StoreSetAside
    | StoreUnavailable
    | SummariesMissing
    | SummaryGivenUp
    | TriggerUnreachable
)
"""Anything that is told."""
