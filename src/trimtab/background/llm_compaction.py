"""Compaction whose summaries are made in the background, while the agent works on.

::

    with LlmCompaction(model_summarizer("openai:gpt-5-mini")) as compaction:
        messages = compaction.compact(messages, config)   # before each request

Over the trigger a model is asked to sum up the older part of the list that is
returned; over the budget its answer takes that part's place. Where none is
there yet, or none will do, rules make the list smaller, as
:class:`~trimtab.compaction.DefaultCompaction` does. The call itself never waits.

At each call:

::

    collect what came back, and judge it
    drop what no longer fits the list
    over the budget: splice, else compact by rule
    over the trigger, and idle: ask, about the list that is returned
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from trimtab.background.lists import by_rule, history_of, with_briefing
from trimtab.background.prefix import Prefix
from trimtab.background.requests import Flight, Requests
from trimtab.background.retry import Retry
from trimtab.background.wording import LEAST_RECORD_BYTES, Wording
from trimtab.briefing import (
    Accepted,
    Phase,
    Progress,
    Refused,
    Span,
    choose_span,
    judge,
    moved,
    named,
)
from trimtab.compaction import (
    Compacted,
    CompactionConfig,
    Growth,
    Room,
    checked_config,
    checked_used,
    room_for,
)
from trimtab.errors import PolicyError, RequestError
from trimtab.events import (
    CompactionMethod,
    ContextCompacted,
    Event,
    SettingClamped,
    SpanUnreachable,
    SummariesMissing,
    SummaryGivenUp,
    SummaryGivenUpCause,
)
from trimtab.messages import Message
from trimtab.plan import Outcome
from trimtab.policy import Policy, require_whole
from trimtab.refusal import Refusal
from trimtab.summarizer.prompt import INSTRUCTION, SYSTEM
from trimtab.summary import Summarizer, Summary, SummaryStats, SummaryTotals

if TYPE_CHECKING:
    from trimtab.background.attempts import Outcome as Answer

__all__ = ["LlmCompaction"]

_Number = TypeVar("_Number", int, float)

TRIGGER_RATIO = 0.6
"""Share of the budget at which a summary is asked for: early enough that it is there when the
budget is reached, late enough that short conversations pay for none."""

_LOWEST_TRIGGER, _HIGHEST_TRIGGER = 0.1, 0.95

_TAIL_TOKENS = 20_000
"""What the newest messages weigh that are never summed up; in small budgets a fourth of those."""

_TAIL_SHARE = 4

_LEAST_SUMMARY_TOKENS = 256
"""With less room a model cannot fill the sections that it is asked for."""

_FALLBACKS = 5
"""Compactions in a row without a summary that are told of."""

_SHRINK = 0.9
"""A list that the provider refused without saying what it takes becomes smaller by so much."""


class LlmCompaction:
    """Keeps a list of messages within its budget with summaries that are made in the background.

    One instance is for one conversation: each call is given what the last one
    returned, with what came since. On a running event loop requests are tasks
    of it; elsewhere each has a daemon thread with a loop of its own.

    Args:
        summarizer: Writes the summaries; :func:`trimtab.summarizer.model_summarizer` makes one.
        trigger_ratio: Share of the budget at which a summary is asked for, 0.1 to 0.95.
            What lies outside is clamped, what is no number is 0.6; either is told.
        retain_tail_tokens: What the newest messages weigh that are never summed up, 0 or more;
            None is a fourth of the budget, at most 20,000.
        max_summary_tokens: What a summary may weigh, 256 or more; less is 256, which is told.
            After an answer that was cut at its length, and after another, it is twice as much.
        timeout: Seconds for each attempt, above 0.
        retry: When and how often a failed attempt is made again.
        system_prompt: What the summarizing model is told it is.
        instruction: What is asked of it, behind the record.
        min_gain: By what share a summary must be smaller than what it stands for, from 0 to
            below 1; None takes it at any size.
        record_bytes: UTF-8 bytes of the record that a request holds, 1,000 or more; None for as
            much as the model is known to read, at most 480,000.
        on_event: Is told each event, by the thread that calls; what it raises changes nothing.

    Attributes:
        last: What came of the last call; None before the first.

    Raises:
        PolicyError: If a setting cannot hold.
    """

    last: Compacted | None

    def __init__(  # noqa: PLR0913 - one a setting, all with defaults
        self,
        summarizer: Summarizer,
        *,
        trigger_ratio: float = TRIGGER_RATIO,
        retain_tail_tokens: int | None = None,
        max_summary_tokens: int = 2_000,
        timeout: float = 120,
        retry: Retry | None = None,
        system_prompt: str = SYSTEM,
        instruction: str = INSTRUCTION,
        min_gain: float | None = 0.2,
        record_bytes: int | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        if not callable(getattr(summarizer, "summarize", None)):
            raise PolicyError("summarizer", type(summarizer), "it must have a method summarize")
        if retain_tail_tokens is not None:
            require_whole("retain_tail_tokens", retain_tail_tokens, 0)
        require_whole("max_summary_tokens", max_summary_tokens, 0)
        if record_bytes is not None:
            require_whole("record_bytes", record_bytes, LEAST_RECORD_BYTES)
        if not (timeout > 0 and math.isfinite(timeout)):
            raise PolicyError("timeout", timeout, "it must be a number of seconds above 0")
        if min_gain is not None and not 0 <= min_gain < 1:
            raise PolicyError("min_gain", min_gain, "it must be from 0 to below 1, or None")
        self.last = None
        self._on_event = on_event
        self._min_gain = min_gain
        self._retain_tail_tokens = retain_tail_tokens
        self._trigger_ratio = self._clamped("trigger_ratio", trigger_ratio, _trigger(trigger_ratio))
        least = max(max_summary_tokens, _LEAST_SUMMARY_TOKENS)
        most = self._clamped("max_summary_tokens", max_summary_tokens, least)
        self._wording = Wording(summarizer, system_prompt, instruction, most, record_bytes)
        self._summarizer_name = type(summarizer).__name__
        self._requests = Requests(summarizer, timeout, Retry() if retry is None else retry)
        self._growth = Growth()
        self._totals = SummaryTotals()
        self._fallbacks = 0
        self._has_told_missing = False
        self._has_told_unreachable = False
        self._most_tokens: int | None = None
        self._has_recovered = False
        self._is_closed = False
        self._begin_afresh()

    def _begin_afresh(self) -> None:
        """Be idle, in this process."""
        self._process = os.getpid()
        self._busy = Lock()
        self._progress = Progress()
        self._under_way: _UnderWay | None = None
        self._requests.forget()

    # ------------------------------------------------------------------ in public

    @property
    def state(self) -> Phase:
        """Whether a summary is under way (``in flight``), there (``ready``), or neither (``idle``)."""
        self._look()
        return self._progress.phase

    @property
    def totals(self) -> SummaryTotals:
        """What summaries came to so far; each answer that came back is in it, used or not."""
        self._look()
        return self._totals

    def tail_tokens(self, budget_tokens: int) -> int:
        """What the newest messages weigh that are never summed up, under a budget."""
        if self._retain_tail_tokens is not None:
            return self._retain_tail_tokens
        return min(_TAIL_TOKENS, budget_tokens // _TAIL_SHARE)

    def compact(
        self,
        messages: list[Message],
        config: CompactionConfig | None = None,
        used: int | None = None,
    ) -> list[Message]:
        """Give the list to go on with; it never waits.

        Args:
            messages: What was returned the last time, with what came since.
            config: How much room there is; None for the defaults.
            used: What the provider charged for the input of a request with these
                messages, system prompt and tools included, 0 or more; None where that is
                not known.

        Returns:
            The list that was given where it is within its budget; else a new one.

        Raises:
            PolicyError: If ``used`` is below 0.
            RequestError: If something in the list is no message, or another call on
                this instance is under way.
            TokenCountError: If the counter fails.
        """
        checked_used(used)
        config = checked_config(config)
        with self._turn():
            self._has_recovered = False
            turn = self._taken(messages, config, used)
            return self._done(turn, None if turn.room.is_enough else self._smaller(turn))

    def compact_now(
        self,
        messages: list[Message],
        config: CompactionConfig | None = None,
        timeout: float | None = None,
    ) -> list[Message]:
        """Sum up at once and wait for it, as somebody may ask for by hand.

        What is within the budget is summed up too, as far as there is something to
        sum up. It blocks: an agent's loop wants :meth:`compact`.

        Args:
            messages: The conversation, oldest first.
            config: How much room there is; None for the defaults.
            timeout: Seconds to wait; None for as long as attempts and retries take.

        Returns:
            The list to go on with. Where no summary came it is what :meth:`compact` gives.

        Raises:
            RequestError: If something in the list is no message, another call on this
                instance is under way, or a summary is being made by an event loop.
            TokenCountError: If the counter fails.
        """
        config = checked_config(config)
        with self._turn():
            turn = self._taken(messages, config)
            if self._progress.phase == "idle" and not self._is_closed:
                span = choose_span(history_of(turn.view, config), self._tail(turn))
                if isinstance(span, Span):
                    self._ask(turn.view, span, config, in_thread=True)
        self.wait(timeout)
        with self._turn():
            turn = replace(self._taken(messages, config), is_by_hand=True)
            is_wanted = self._progress.phase == "ready" or not turn.room.is_enough
            return self._done(turn, self._smaller(turn) if is_wanted else None)

    def overflowed(
        self,
        messages: list[Message],
        config: CompactionConfig | None = None,
        refusal: Refusal | None = None,
    ) -> list[Message]:
        """Give a smaller list after the provider refused this one as too large.

        The limit that it named, or nine tenths of what it refused, holds from then
        on. Of the newest messages only what is protected stays. It is tried once
        for each :meth:`compact`: a second refusal is reported in :attr:`last`.

        Args:
            messages: What was refused.
            config: How much room there is; None for the defaults.
            refusal: What the provider said; None where nobody looked. Only an overflow
                makes the list smaller: a refusal of too much output is none.

        Returns:
            The list to send once more; the one that was given where it must not be.

        Raises:
            RequestError: If something in the list is no message, or another call on
                this instance is under way.
            TokenCountError: If the counter fails.
        """
        config = checked_config(config)
        with self._turn():
            turn = self._taken(messages, config)
            if refusal is not None and refusal.kind != "overflow":
                return self._reported(turn, f"the provider refused it: {refusal.kind}")
            if self._has_recovered:
                return self._reported(turn, "the provider refused it a second time")
            self._has_recovered = True
            self._most_tokens = _learned(turn.room, refusal)
            policy = replace(config.policy, keep_recent=0)
            turn = replace(turn, room=self._room(messages, config, None), policy=policy)
            return self._done(turn, None if turn.room.is_enough else self._smaller(turn))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is in flight; for programs without a running event loop.

        Args:
            timeout: Seconds; None for as long as attempts and retries take.

        Returns:
            Whether nothing is in flight any more.

        Raises:
            RequestError: If the summary is made by an event loop: it may be the one that
                this would hold up.
        """
        job = self._under_way.flight.job if self._under_way is not None else None
        thread = getattr(job, "thread", None)
        if thread is not None:
            thread.join(timeout)
        elif job is not None and not job.is_over:
            raise RequestError("the summary is made by an event loop; await settled() instead")
        return self.state != "in flight"

    async def settled(self) -> bool:
        """Wait until nothing is in flight, without holding up the loop.

        Returns:
            Whether a summary is ready.
        """
        import asyncio  # noqa: PLC0415 - heavy, and whoever awaits has it loaded

        job = self._under_way.flight.job if self._under_way is not None else None
        task = getattr(job, "task", None)
        if task is not None:
            await asyncio.wait({task})
        elif job is not None:
            await asyncio.to_thread(self.wait)
        return self.state == "ready"

    def close(self) -> None:
        """Cancel what is under way. Later calls compact without a model."""
        with self._turn():
            self._is_closed = True
            if self._under_way is not None:
                self._give_up("cancelled", "it was closed before the summary was used")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        # No prompt, and nothing of the summarizer: it may hold a key.
        return (
            f"LlmCompaction({self._summarizer_name}, "
            f"trigger_ratio={self._trigger_ratio}, phase={self._progress.phase!r})"
        )

    # ------------------------------------------------------------------- one call

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Take the instance for one call, and collect what came back."""
        if os.getpid() != self._process:
            self._begin_afresh()  # what was under way is the parent's
        if not self._busy.acquire(blocking=False):
            raise RequestError(
                "another call on this LlmCompaction is under way; make one for each conversation"
            )
        try:
            self._collect()
            yield
        finally:
            self._busy.release()

    def _look(self) -> None:
        """Collect what came back, where no call is under way that will."""
        with suppress(RequestError), self._turn():
            pass

    def _taken(
        self, messages: list[Message], config: CompactionConfig, used: int | None = None
    ) -> _Turn:
        """Take a list in; what is under way and does not fit it is dropped."""
        room = self._room(messages, config, used)
        view = named(messages)
        self._growth.learn(messages, config.measure)
        if self._under_way is not None and not self._under_way.prefix.begins(view):
            self._give_up("stale", "the messages that the summary stands for have changed")
        return _Turn(messages, view, config, room, config.policy)

    def _room(self, messages: list[Message], config: CompactionConfig, used: int | None) -> Room:
        room = room_for(messages, config, used)
        if self._most_tokens is None:
            return room
        return Room(room.tokens, min(room.budget_tokens, self._most_tokens))

    def _done(self, turn: _Turn, done: Compacted | None) -> list[Message]:
        """Keep what came of a call, and ask for a summary where it is time to."""
        if done is None:
            tokens = turn.room.tokens
            outcome = Outcome("untouched", turn.room.budget_tokens, tokens, tokens)
            done = Compacted(turn.given, outcome)
        # Where nothing was done, the very list that was given is returned.
        self.last = done if done.plan else replace(done, messages=turn.given)
        self._growth.returned(self.last.messages)
        if not turn.is_by_hand:
            self._arm(turn, self.last)
        return self.last.messages

    def _reported(self, turn: _Turn, reason: str) -> list[Message]:
        tokens, budget = turn.room.tokens, turn.room.budget_tokens
        self.last = Compacted(turn.given, Outcome("unmet", budget, tokens, tokens, tokens, reason))
        return turn.given

    # ----------------------------------------------------------- making it smaller

    def _smaller(self, turn: _Turn) -> Compacted | None:
        """Splice what is ready, else compact by rule; tell of it once."""
        stats = None
        under_way, span = self._under_way, self._progress.span
        if under_way is not None and span is not None and self._progress.phase == "ready":
            done = self._spliced(turn, under_way, span)
            if done is not None:
                self._tell_compacted("summarized", turn, done)
                return done
            self._give_up("does not fit", "there is no room for the summary")
            stats = under_way.stats
        if turn.room.is_enough:
            return None
        done = by_rule(turn.view, turn.config, turn.policy, self._growth.tokens, turn.room)
        done = replace(done, summary=stats)
        self._move(turn, done)
        self._tell_compacted("deterministic", turn, done)
        return done

    def _spliced(self, turn: _Turn, under_way: _UnderWay, span: Span) -> Compacted | None:
        """The briefing in its place; None where there is no room for it."""
        done = with_briefing(
            history_of(turn.view, turn.config, turn.policy),
            span,
            self._progress.text,
            turn.config.limits(turn.room.budget_tokens, self._growth.tokens),
            self._tail(turn),
            fills=turn.is_by_hand,
        )
        if done is None:
            return None
        self._progress = self._progress.used()
        self._under_way = None
        self._totals = self._totals.with_splice()
        stats = under_way.stats or SummaryStats(0)
        return replace(done, summary=replace(stats, span_messages=span.messages))

    def _move(self, turn: _Turn, done: Compacted) -> None:
        """Let a summary under way stand for what rules have left of its span."""
        under_way, span = self._under_way, self._progress.span
        if under_way is None or span is None or not done.plan:
            return
        span = moved(span, done.plan, turn.view)
        self._progress = self._progress.moved(span)
        under_way.prefix = Prefix(done.messages[: span.cut])

    def _tell_compacted(self, method: CompactionMethod, turn: _Turn, done: Compacted) -> None:
        outcome, counts = done.outcome, (len(turn.view), len(done.messages))
        sizes = (outcome.tokens_before, outcome.tokens_after)
        self._tell(ContextCompacted(method, *counts, *sizes, done.summary))
        if method == "summarized":
            self._fallbacks, self._has_told_missing = 0, False
        elif self._totals.requests:
            self._fallbacks += 1
        if self._fallbacks >= _FALLBACKS and not self._has_told_missing:
            self._has_told_missing = True
            self._tell(SummariesMissing(self._fallbacks))

    # -------------------------------------------------------------------- asking

    def _arm(self, turn: _Turn, done: Compacted) -> None:
        """Ask for a summary of the list that is returned, where it is time to."""
        if self._is_closed or self._progress.phase != "idle":
            return
        if done.outcome.tokens_after > self._trigger_ratio * turn.room.budget_tokens:
            if self._progress.back_off.waits:
                self._progress = self._progress.passed()
                return
            view = named(done.messages)
            span = choose_span(history_of(view, turn.config), self._tail(turn))
            if isinstance(span, Span):
                if self._progress.may_ask(span):
                    self._ask(view, span, turn.config)
                return
        if not turn.room.is_enough and not self._has_told_unreachable:
            self._tell_unreachable(turn)

    def _tell_unreachable(self, turn: _Turn) -> None:
        """Say once that the settings leave nothing to sum up, even in a list over its budget."""
        tail, budget = self._tail(turn), turn.room.budget_tokens
        keep_recent = turn.config.keep_recent
        match choose_span(history_of(turn.view, turn.config), tail):
            case "tail too large":
                why = f"a tail of {tail} tokens leaves nothing before it; lower retain_tail_tokens"
            case "too many recent":
                why = f"the newest {keep_recent} messages are all there is; lower keep_recent"
            case _:
                return
        self._has_told_unreachable = True
        reason = f"within a budget of {budget} tokens {why}, or raise max_context_tokens"
        self._tell(SpanUnreachable(tail, keep_recent, budget, reason))

    def _ask(
        self,
        view: Sequence[Message],
        span: Span,
        config: CompactionConfig,
        *,
        in_thread: bool = False,
    ) -> None:
        prefix = Prefix(view[: span.cut])
        cuts = self._progress.back_off.cuts
        making = partial(self._wording.request, prefix.messages, span.head, cuts)
        self._totals = self._totals.asked()
        try:
            flight = self._requests.start(making, in_thread=in_thread)
        except RuntimeError as error:  # no thread can be had, or the interpreter is ending
            self._give_up("failed", str(error))
            return
        self._progress = self._progress.asked(span)
        self._under_way = _UnderWay(flight, prefix, config.measure.text)

    # ---------------------------------------------------------------- collecting

    def _collect(self) -> None:
        """Look at what came back since the last call."""
        if self._requests.is_idle:
            return
        for flight, answer in self._requests.collect():
            self._take(flight, answer)

    def _take(self, flight: Flight, answer: Answer) -> None:
        from trimtab.background.attempts import Came, Gone  # noqa: PLC0415 - it brings asyncio

        under_way = self._under_way
        is_current = under_way is not None and under_way.flight is flight
        if isinstance(answer, Gone):
            if under_way is not None and is_current:
                under_way.attempts = answer.attempts
                self._give_up(answer.cause, answer.reason)
            return
        stats = self._billed(answer.summary)
        span = self._progress.span
        if not (isinstance(answer, Came) and is_current) or under_way is None or span is None:
            self._tell(SummaryGivenUp("stale", "the answer came too late", 1, stats))
            return
        under_way.attempts, under_way.stats = answer.attempts, stats
        verdict = judge(answer.summary, span.tokens, self._min_gain, under_way.count)
        if isinstance(verdict, Accepted):
            self._progress = self._progress.accepted(verdict.text)
        else:
            self._refuse(verdict)

    def _billed(self, summary: object) -> SummaryStats:
        """Every answer that came back is billed, used or not."""
        told = summary if isinstance(summary, Summary) else Summary("")
        self._totals = self._totals.answered(told)
        return SummaryStats(0, told.usage, told.cost)

    def _refuse(self, verdict: Refused) -> None:
        """Give up an answer that will not do."""
        if verdict.cause == "too large":
            becomes = self._progress.too_large(verdict.needed_tokens)
        else:
            becomes = self._progress.failed(is_cut=verdict.is_cut)
        self._end(becomes, verdict.cause, verdict.reason)

    def _give_up(self, cause: SummaryGivenUpCause, reason: str) -> None:
        """Give up what is under way, or there; wait where that makes sense."""
        is_stale = cause == "stale"
        becomes = self._progress.dropped() if is_stale else self._progress.failed()
        self._end(becomes, cause, reason)

    def _end(self, becomes: Progress, cause: SummaryGivenUpCause, reason: str) -> None:
        """Be idle again, and tell why."""
        under_way, self._under_way = self._under_way, None
        self._progress = becomes
        attempts, stats = 0, None
        if under_way is not None:
            self._requests.end(under_way.flight)
            attempts, stats = under_way.attempts, under_way.stats
        self._tell(SummaryGivenUp(cause, reason, attempts, stats))

    # -------------------------------------------------------------------- helpers

    def _tail(self, turn: _Turn) -> int:
        return self.tail_tokens(turn.room.budget_tokens)

    def _clamped(self, setting: str, given: _Number, used: _Number) -> _Number:
        if used != given:
            self._tell(SettingClamped(setting, given, used))
        return used

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            with suppress(Exception):
                self._on_event(event)


@dataclass(frozen=True, slots=True)
class _Turn:
    """One call.

    Attributes:
        given: The list that was given.
        view: The same, in which briefings say what they are.
        config: How much room there is.
        room: What it weighs, and what it may.
        policy: What is kept.
        is_by_hand: Whether somebody asked for a summary now and waited for it.
    """

    given: list[Message] = field(repr=False)
    view: list[Message] = field(repr=False)
    config: CompactionConfig
    room: Room
    policy: Policy
    is_by_hand: bool = False


@dataclass(slots=True)
class _UnderWay:
    """A summary that was asked for.

    Attributes:
        flight: The request.
        prefix: The messages up to the end of its span, as they stand in the list now.
        count: Counts the tokens of its answer, as those of the span were.
        attempts: How often the summarizer was asked.
        stats: What was billed for its answer; None before there is one.
    """

    flight: Flight
    prefix: Prefix
    count: Callable[[str], int]
    attempts: int = 1
    stats: SummaryStats | None = None


def _trigger(given: float) -> float:
    if math.isnan(given):
        return TRIGGER_RATIO
    return min(max(given, _LOWEST_TRIGGER), _HIGHEST_TRIGGER)


def _learned(room: Room, refusal: Refusal | None) -> int:
    """What the provider takes, in tokens as they are counted here."""
    limit = refusal.limit_tokens if refusal is not None else None
    if limit is None or refusal is None:
        return max(1, int(min(room.tokens, room.budget_tokens) * _SHRINK))
    if refusal.sent_tokens:
        return max(1, limit * room.tokens // refusal.sent_tokens)
    return max(1, min(limit, int(room.tokens * _SHRINK)))
