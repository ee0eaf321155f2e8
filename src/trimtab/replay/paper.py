"""Policies of others, on paper: which messages each sends, without a body being written.

The client's own compaction, the provider's context editing and summaries made
in the background decide by sizes alone, so sizes are enough to price them.
Each looks at the whole history of a session and answers what it would send,
and what it pays besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Protocol

from trimtab.economy import Split
from trimtab.replay.views import Row
from trimtab.replay.weights import Said

__all__ = [
    "SUMMARY_TOKENS",
    "BackgroundSummaries",
    "ClientCompaction",
    "Nothing",
    "Paper",
    "Sent",
    "SideCall",
    "ToolClearing",
]

SUMMARY_TOKENS = 3_000
"""What a client's summary weighs where none was recorded; recorded ones: 1,300 to 5,000."""

_CLEARED_TOKENS = 20
"""What the provider puts in place of a result that it cleared."""

_ASK_TOKENS = 1_500
"""What a request for a summary says besides what is to be summarised."""


@dataclass(frozen=True, slots=True)
class SideCall:
    """A call that a policy makes besides the session's own.

    Attributes:
        split: How its input is billed.
        output: Tokens of its answer.
    """

    split: Split
    output: int


@dataclass(frozen=True, slots=True)
class Sent:
    """What a policy sends, and what it pays besides.

    Attributes:
        rows: The messages.
        call: A call that it made; None for none.
        is_compacted: Whether it removed something on this turn that was sent before.
    """

    rows: Sequence[Row]
    call: SideCall | None = None
    is_compacted: bool = False


class Paper(Protocol):
    """A policy on paper; one for each session."""

    def send(self, said: Sequence[Said], head_tokens: int) -> Sent:
        """Say what is sent for the next request.

        Args:
            said: The whole history.
            head_tokens: What tools and system prompt weigh.
        """
        ...


def _rows(said: Sequence[Said], start: int = 0) -> list[Row]:
    return [Row.of(each, place) for place, each in enumerate(said) if place >= start]


def _summary(number: int, tokens: int) -> Row:
    name = blake2b(b"summary" + number.to_bytes(8, "big"), digest_size=16).digest()
    return Row(name, tokens, 1, "user", None, is_untouched=False)


class Nothing:
    """Sends everything, whatever it weighs."""

    def send(self, said: Sequence[Said], head_tokens: int) -> Sent:  # noqa: ARG002 - as the protocol has it
        """All of it."""
        return Sent(_rows(said))


@dataclass(slots=True)
class ClientCompaction:
    """The client summarises all but the newest message once the request passes a size.

    The call goes to the same model with the whole conversation before it, which
    the cache mostly holds.

    Attributes:
        trigger_tokens: From here on, in tokens of the whole request.
        summary_tokens: What a summary weighs.
    """

    trigger_tokens: int
    summary_tokens: int = SUMMARY_TOKENS
    _cut: int = 0
    _made: int = 0
    _names: list[bytes] = field(default_factory=list)

    def send(self, said: Sequence[Said], head_tokens: int) -> Sent:
        """The summary, and what came since."""
        if [each.name for each in said[: self._cut]] != self._names:
            self._cut, self._names = 0, []  # it went back to before the summary
        rows = self._view(said)
        whole = head_tokens + sum(row.tokens for row in rows)
        if whole <= self.trigger_tokens or len(said) - self._cut < 2:
            return Sent(rows)
        new = said[-1].tokens
        self._made += 1
        self._cut = len(said) - 1
        self._names = [each.name for each in said[: self._cut]]
        call = SideCall(Split(fresh=new + _ASK_TOKENS, read=whole - new), self.summary_tokens)
        return Sent(self._view(said), call, is_compacted=True)

    def _view(self, said: Sequence[Said]) -> list[Row]:
        head = [_summary(self._made, self.summary_tokens)] if self._cut else []
        return [*head, *_rows(said, self._cut)]


@dataclass(slots=True)
class ToolClearing:
    """The provider clears old tool results (``clear_tool_uses``), so many tokens at a time.

    Each step changes the prefix from the first result that it clears, so
    ``clear_at_least`` decides what it costs: without it, every turn is a step.
    That the provider takes steps, and does not clear what it can on every
    request, is the reading of its documentation that is kinder to it.

    Attributes:
        trigger_tokens: From here on, in tokens of the whole request.
        keep: Newest results that stay.
        at_least_tokens: It clears only where so much more goes.
    """

    trigger_tokens: int
    keep: int = 3
    at_least_tokens: int = 20_000
    _cleared: set[bytes] = field(default_factory=set)

    def send(self, said: Sequence[Said], head_tokens: int) -> Sent:
        """Everything, old results cleared."""
        rows = self._rows(said)
        results = [place for place, each in enumerate(said) if each.is_result]
        old = [rows[place] for place in results[: max(0, len(results) - self.keep)]]
        more = [row for row in old if row.is_untouched]
        gone = sum(max(0, row.tokens - _CLEARED_TOKENS) for row in more)
        total = head_tokens + sum(row.tokens for row in rows)
        if total <= self.trigger_tokens or gone < self.at_least_tokens:
            return Sent(rows)
        self._cleared.update(row.name for row in more)
        return Sent(self._rows(said), is_compacted=True)

    def _rows(self, said: Sequence[Said]) -> list[Row]:
        return [
            _cleared(row) if row.name in self._cleared else row
            for row in (Row.of(each, place) for place, each in enumerate(said))
        ]


def _cleared(row: Row) -> Row:
    name = blake2b(b"cleared" + row.name, digest_size=16).digest()
    tokens = min(row.tokens, _CLEARED_TOKENS)
    return replace(row, name=name, tokens=tokens, is_untouched=False, form_of=row.name)


@dataclass(slots=True)
class BackgroundSummaries:
    """A summary is asked for early and put in place once the request passes the trigger.

    The call stands alone: what is summarised is sent once more, fresh, to the same model.

    Attributes:
        trigger_tokens: The size at which the summary is put in place.
        latency_turns: Turns until a summary has come.
        arm_share: Of the trigger: from here on one is asked for.
        tail_tokens: What stays behind the cut.
        summary_tokens: What a summary weighs.
    """

    trigger_tokens: int
    latency_turns: int = 2
    arm_share: float = 0.6
    tail_tokens: int = 20_000
    summary_tokens: int = 2_000
    _cut: int = 0
    _made: int = 0
    _asked: int = 0
    _due: int | None = None
    _names: list[bytes] = field(default_factory=list)

    def send(self, said: Sequence[Said], head_tokens: int) -> Sent:
        """The briefing in place of what it covers, and what came since."""
        if [each.name for each in said[: self._cut]] != self._names:
            self._cut, self._names, self._due = 0, [], None
        rows = self._view(said)
        whole = head_tokens + sum(row.tokens for row in rows)
        call = self._ask(said, whole)
        if self._due is not None and call is None:
            self._due -= 1
        if self._due is None or self._due > 0 or whole <= self.trigger_tokens:
            return Sent(rows, call)
        self._made, self._cut, self._due = self._made + 1, self._asked, None
        self._names = [each.name for each in said[: self._cut]]
        return Sent(self._view(said), call, is_compacted=True)

    def _ask(self, said: Sequence[Said], whole: int) -> SideCall | None:
        """Ask for a summary of all but the tail, where it is time and none is under way."""
        if self._due is not None or whole <= self.arm_share * self.trigger_tokens:
            return None
        cut, tail = len(said), 0
        while cut > self._cut and tail + said[cut - 1].tokens <= self.tail_tokens:
            cut -= 1
            tail += said[cut].tokens
        span = sum(each.tokens for each in said[self._cut : cut])
        if span < 2 * self.summary_tokens:
            return None
        self._asked, self._due = cut, self.latency_turns
        earlier = self.summary_tokens if self._cut else 0
        return SideCall(Split(fresh=span + earlier + _ASK_TOKENS), self.summary_tokens)

    def _view(self, said: Sequence[Said]) -> list[Row]:
        head = [_summary(self._made, self.summary_tokens)] if self._cut else []
        return [*head, *_rows(said, self._cut)]
