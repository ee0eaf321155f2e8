"""Predict the next request from what the last ones were billed.

Two rules, and which one answers depends on what is told::

    bytes alone                 last + (bytes - last bytes) x rate
    with the answer's output,   last + the answer as it was billed
    or with counts              + (all else that is new) x a rate learned from the bills

The first needs nothing but sizes and is what an observation of tokens and
bytes gives. The second is far closer, because half of what is new is the
answer, whose tokens the provider has told, and because a counter knows text
from code and English from Chinese where bytes do not; what it gets wrong for
a model is learned from the bills.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from trimtab.errors import PolicyError
from trimtab.tracker.forecast import Forecast
from trimtab.tracker.values import (
    BYTES,
    BYTES_PER_TOKEN,
    COUNTED,
    MIN_SAMPLE_BYTES,
    Answer,
    Rate,
    Seen,
    Step,
    Unit,
    whole,
    whole_or_none,
)

__all__ = ["ContextTracker"]

RECENT = 5
"""Observations that the pace is averaged over: one turn says little of the next."""

KEPT = (9, 10)
"""Of what was learned before, at each turn, so that the last ten turns weigh most. It
matters little: ``benchmarks/run.py remembering`` tries others."""

_PLACEHOLDER = 2
"""An answer that is reported as less than half of what it weighs was not reported at all:
a third of Claude Code's logs hold what the stream said when it began."""

OVER_CONFIDENCE = 0.95
"""How sure :meth:`ContextTracker.over` wants to be that a request fits."""

_CONFIDENCES = (0.5, 0.9, 0.95, 0.99)
_SURPRISES = {"counted": (0.0, 0.05, 0.13, 0.75), "bytes": (0.0, 0.09, 0.17, 0.6)}
"""By how much requests of recorded sessions were larger than predicted, as a share of the
predicted change and :data:`MIN_SAMPLE_BYTES` tokens; for each confidence the share that so many of them did not pass.
``benchmarks/run.py surprises`` measures it."""


class ContextTracker:
    """The size of one conversation, as it was billed; a few hundred bytes, however long it gets.

    Feed it what *one* request was billed for, whole, cached tokens included:
    never a sum over calls, never a side call or a sub-agent. All tokens and
    bytes are whole numbers of 0 or more; anything else is a
    :class:`~trimtab.errors.PolicyError`.

    ::

        tracker.carry_into(surface_fingerprint(model, system, tools))
        if tracker.over(limit, message_bytes(messages)): ...
        ...
        tracker.observe(usage.total_input, message_bytes(messages))

    ``counted``, wherever it is taken, is what a token counter makes of the same
    messages; always of the same counter. It need not be right: how far it is
    off for this model is learned.
    """

    __slots__ = (
        "_answer",
        "_by_bytes",
        "_by_count",
        "_lowest",
        "_peak",
        "_recent",
        "_returns",
        "_stale",
        "_surface",
    )

    def __init__(self) -> None:
        self._surface: str | None = None
        self._clear()

    def _clear(self) -> None:
        self._recent: tuple[Seen, ...] = ()
        self._stale = False
        self._peak = 0
        self._lowest: Seen | None = None
        self._answer = Answer()
        # What was new and what it was billed, in bytes and as counted; older turns fade.
        self._by_bytes = (0, 0)
        self._by_count = (0, 0)
        # How wrong it was to take reasoning as sent back, and as not; older turns fade.
        self._returns = (0, 0)

    # ------------------------------------------------------------------ feeding

    def carry_into(self, surface: str) -> None:
        """Say what the next request is made under; another surface drops all that was measured.

        Args:
            surface: As :func:`~trimtab.tracker.surface_fingerprint` names it. What was
                observed before any surface was named is dropped too.
        """
        if not isinstance(surface, str):
            raise PolicyError("surface", surface, "it must be what surface_fingerprint returns")
        if surface != self._surface:
            self._surface = surface
            self._clear()

    def observe(
        self,
        tokens: int,
        bytes: int,  # noqa: A002 - the word for it
        *,
        output_tokens: int | None = None,
        output_bytes: int | None = None,
        reasoning_tokens: int = 0,
        counted: int | None = None,
    ) -> None:
        """Say what a request was billed for.

        Args:
            tokens: Its total input.
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of the messages that
                were sent, exactly those.
            output_tokens: What its answer was billed for, reasoning included.
            output_bytes: What ``message_bytes`` makes of the answer as it will be sent
                back; where that is known only later, :meth:`answered` takes it.
            reasoning_tokens: The part of the output that was reasoning.
            counted: What a counter makes of the messages that were sent.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        seen = Seen(
            whole("tokens", tokens), whole("bytes", bytes), whole_or_none("counted", counted)
        )
        answer = Answer(
            whole_or_none("output_tokens", output_tokens),
            whole_or_none("output_bytes", output_bytes),
            reasoning=whole("reasoning_tokens", reasoning_tokens),
        )
        is_told = counted is not None or self._answer.tokens is not None
        if is_told and self._recent and not self._stale:
            self._learn(seen)
        self._recent = (*self._recent[1 - RECENT :], seen)
        self._stale = False
        self._peak = max(self._peak, tokens)
        if self._lowest is None or tokens <= self._lowest.tokens:
            self._lowest = seen
        self._answer = answer

    def answered(self, bytes: int, *, counted: int | None = None) -> None:  # noqa: A002 - the word for it
        """Say how large the answer to the newest observed request is in the list of messages.

        Args:
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of it; 0 where it is
                not sent back.
            counted: What a counter makes of it.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        size, weight = whole("bytes", bytes), whole_or_none("counted", counted)
        self._answer = self._answer._replace(bytes=size, counted=weight)

    def invalidate(self) -> None:
        """Say that the history was rewritten: what was reported is no longer its size.

        The measurement stays what predictions start from. Sending again what was
        sent before is no rewrite.
        """
        self._stale = True

    # ------------------------------------------------------------------ reading

    @property
    def reported(self) -> int | None:
        """Tokens of the newest request; None before one, and where the history was rewritten."""
        return None if self._stale or not self._recent else self._recent[-1].tokens

    @property
    def peak_tokens(self) -> int:
        """Tokens of the largest request that was observed; 0 before one."""
        return self._peak

    def peak_pressure(self, window: int | None) -> float | None:
        """The largest request as a share of a window; None without a window or a request."""
        size = whole_or_none("window", window)
        return self._peak / size if size and self._peak else None

    def predict(self, bytes: int, *, counted: int | None = None) -> int | None:  # noqa: A002 - the word for it
        """Tokens of a request with these messages.

        Args:
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of them.
            counted: What a counter makes of them.

        Returns:
            Rounded down, 0 or more; None before the first observation.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        estimate = self._estimate(bytes, counted)
        return None if estimate is None else estimate[0]

    def upper(
        self,
        bytes: int,  # noqa: A002 - the word for it
        *,
        counted: int | None = None,
        confidence: float = OVER_CONFIDENCE,
    ) -> int | None:
        """Tokens that a request with these messages will hardly pass.

        The prediction, and on top of it the share of its change by which recorded
        sessions were larger than predicted (``docs/context-tracker.md``).

        Args:
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of them.
            counted: What a counter makes of them.
            confidence: Share of the requests that do not pass it, from 0.5 to 0.99.

        Returns:
            Rounded up; None before the first observation.

        Raises:
            PolicyError: If the confidence is out of its range, or a size is no whole
                number of 0 or more.
        """
        if not 0.5 <= confidence <= 0.99:
            raise PolicyError("confidence", confidence, "it must lie between 0.5 and 0.99")
        estimate = self._estimate(bytes, counted)
        return None if estimate is None else self._bound(*estimate, confidence)

    def over(self, limit: int, bytes: int, *, counted: int | None = None) -> bool:  # noqa: A002 - the word for it
        """Whether a request with these messages reaches a limit.

        True wherever the newest reported size does: a prediction only adds reasons.
        By bytes alone the prediction decides, with more told its upper bound.

        Args:
            limit: Tokens.
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of the messages.
            counted: What a counter makes of them.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        whole("limit", limit)
        estimate = self._estimate(bytes, counted)
        if estimate is None:
            return False
        predicted, unit = estimate
        if predicted >= limit or (not self._stale and self._recent[-1].tokens >= limit):
            return True
        return unit is not None and self._bound(predicted, unit, OVER_CONFIDENCE) >= limit

    def affordable_output_bytes(
        self,
        limit: int,
        bytes: int,  # noqa: A002 - the word for it
        *,
        counted: int | None = None,
    ) -> int | None:
        """Bytes of tool output that fit below a limit on top of these messages.

        Args:
            limit: Tokens.
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of the messages.
            counted: What a counter makes of them.

        Returns:
            Rounded down; 0 where the limit is reached; None before the first observation.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        whole("limit", limit)
        predicted = self.predict(bytes, counted=counted)
        if predicted is None:
            return None
        tokens, size = self._rate_by_bytes()
        return max(0, limit - predicted) * size // tokens

    def forecast(self, limit: int, bytes: int, *, counted: int | None = None) -> Forecast | None:  # noqa: A002 - the word for it
        """How full the context is, and how long it lasts.

        Args:
            limit: Tokens that it is held against.
            bytes: What :func:`~trimtab.tracker.message_bytes` makes of the messages.
            counted: What a counter makes of them.

        Returns:
            The facts; None before the first observation.

        Raises:
            PolicyError: If one is no whole number of 0 or more.
        """
        whole("limit", limit)
        used = self.predict(bytes, counted=counted)
        if used is None:
            return None
        pace = self._pace()
        headroom = max(0, limit - used)
        return Forecast(used, limit, headroom, pace, headroom // pace if pace else None)

    def _estimate(self, size: int, counted: int | None) -> tuple[int, Unit | None] | None:
        """The prediction, and what its sizes are in; no unit where bytes alone decide."""
        if (
            type(size) is not int or size < 0 or counted is not None
        ):  # asked here: it is often called
            whole("bytes", size)
            whole_or_none("counted", counted)
        if not self._recent:
            return None
        if counted is not None or self._answer.tokens is not None:
            step = self._step(Seen(0, size, counted))
            if step is not None:
                return self._predict(step), step.unit
        return self._predict_by_bytes(size), None

    def _bound(self, predicted: int, unit: Unit | None, confidence: float) -> int:
        moved = abs(predicted - self._recent[-1].tokens) + MIN_SAMPLE_BYTES
        return predicted + math.ceil(moved * _surprise(unit or BYTES, confidence))

    def _pace(self) -> int | None:
        """Mean of the last steps that grew: a fall is a compaction, no turn that cost nothing."""
        grown = steps = 0
        before = self._recent[0].tokens
        for seen in self._recent:
            tokens = seen.tokens
            if tokens > before:
                grown += tokens - before
                steps += 1
            before = tokens
        return grown // steps if steps else None

    # ------------------------------------------------------------ by bytes alone

    def _rate_by_bytes(self) -> Rate:
        """Tokens for bytes, from the last two observations, where that can be a rate."""
        if len(self._recent) < 2:
            return (1, BYTES_PER_TOKEN)
        before, last = self._recent[-2:]
        tokens, size = last.tokens - before.tokens, last.bytes - before.bytes
        if size < MIN_SAMPLE_BYTES or tokens <= 0:
            return (1, BYTES_PER_TOKEN)
        if tokens * BYTES_PER_TOKEN < size:
            return (1, BYTES_PER_TOKEN)
        return (tokens, size) if tokens < size else (1, 1)

    def _predict_by_bytes(self, size: int) -> int:
        last = self._recent[-1]
        tokens, per = self._rate_by_bytes()
        return max(0, last.tokens + (size - last.bytes) * tokens // per)

    # ----------------------------------------------------- by answer and content

    def _step(self, now: Seen) -> Step | None:
        """What is new, where more than its bytes is told."""
        return self._step_in(COUNTED, now) or self._step_in(BYTES, now)

    def _step_in(self, unit: Unit, seen: Seen) -> Step | None:
        answer, place = self._answer, unit.place
        now, before, answered = seen[place], self._recent[-1][place], answer[place]
        if now is None or before is None:
            return None
        if answer.tokens is not None and answered is not None:
            return Step(unit, answered, True, now - before - answered)
        return Step(unit, 0, False, now - before) if unit is COUNTED else None

    def _predict(self, step: Step) -> int:
        last = self._recent[-1]
        tokens, size = self._rate(step.unit)
        start = last.tokens + self._answer_tokens(step, step.answer * tokens // size)
        if step.rest >= 0:
            return start + step.rest * tokens // size
        return max(0, start + self._shrunk(step))

    def _rate(self, unit: Unit) -> Rate:
        """Tokens for new content, as the bills of this conversation have it."""
        size, billed = self._by_count if unit is COUNTED else self._by_bytes
        tokens = billed * unit.first[1] + unit.sample * unit.first[0]
        per = (size + unit.sample) * unit.first[1]
        if tokens > per * unit.most:
            return (unit.most, 1)
        return (tokens, per) if tokens * unit.least[1] >= per * unit.least[0] else unit.least

    def _answer_tokens(self, step: Step, weighed: int) -> int:
        """What the answer will cost when it is sent back, where the list weighs it like this."""
        if not step.is_told or not step.answer:
            return 0
        told = self._answer.tokens or 0
        if told * _PLACEHOLDER < weighed:
            return weighed
        # Logs that tell output without reasoning tell reasoning apart.
        reasoning = self._answer.reasoning if self._answer.reasoning <= told else 0
        back, left_out = self._returns
        if back == left_out:  # nothing learned yet: which is closer to what is in the list?
            back, left_out = abs(told - weighed), abs(told - reasoning - weighed)
        return told if back <= left_out else told - reasoning

    def _shrunk(self, step: Step) -> int:
        """By how many tokens a list became smaller: below 0.

        What goes is subtracted at what it was billed on average between the
        smallest request and the newest; below the smallest, at the learned rate.
        """
        unit, last, lowest = step.unit, self._recent[-1], self._lowest
        tokens, size = self._rate(unit)
        now, before = last[unit.place], lowest[unit.place] if lowest else None
        if lowest is None or now is None or before is None or before >= now:
            return step.rest * tokens // size
        billed = min(last.tokens - lowest.tokens, (now - before) * unit.most)
        within = max(step.rest, before - now)
        return within * billed // (now - before) + (step.rest - within) * tokens // size

    def _learn(self, seen: Seen) -> None:
        """Compare a bill with what was new since the one before."""
        step = self._step(seen)
        if step is None or step.rest < 0:
            return  # nothing is learned from a cut
        tokens, size = self._rate(step.unit)
        weighed = step.answer * tokens // size
        if step.is_told and (self._answer.tokens or 0) * _PLACEHOLDER < weighed:
            return  # nobody knows what of it was the answer
        gained = seen.tokens - self._recent[-1].tokens
        if step.is_told:
            self._learn_returns(gained - step.rest * tokens // size)
        billed = min(gained - self._answer_tokens(step, weighed), step.rest * step.unit.most)
        if step.rest and billed > 0:
            self._learn_rate(step, billed)

    def _learn_rate(self, step: Step, billed: int) -> None:
        kept, of = KEPT
        if step.unit is COUNTED:
            size, before = self._by_count
            self._by_count = (size * kept // of + step.rest, before * kept // of + billed)
        else:
            size, before = self._by_bytes
            self._by_bytes = (size * kept // of + step.rest, before * kept // of + billed)

    def _learn_returns(self, came_back: int) -> None:
        """Was the reasoning sent back? Each belief is charged with how wrong it was."""
        told, reasoning = self._answer.tokens or 0, self._answer.reasoning
        if 0 < reasoning <= told:
            back, left_out = self._returns
            kept, of = KEPT
            self._returns = (
                back * kept // of + abs(came_back - told),
                left_out * kept // of + abs(came_back - told + reasoning),
            )

    # ---------------------------------------------------------- copies and bytes

    def copy(self) -> ContextTracker:
        """An independent one that knows the same."""
        made = ContextTracker.__new__(ContextTracker)
        for name in ContextTracker.__slots__:
            setattr(made, name, getattr(self, name))
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: object) -> ContextTracker:
        return self.copy()  # what it holds never changes

    def to_fields(self) -> list[Any]:
        """All that it knows as a short list that JSON holds: whole numbers, None and one name."""
        return [
            self._surface,
            int(self._stale),
            self._peak,
            [list(seen) for seen in self._recent],
            list(self._lowest) if self._lowest else None,
            list(self._answer),
            [*self._by_bytes, *self._by_count],
            list(self._returns),
        ]

    @classmethod
    def from_fields(cls, fields: Sequence[Any]) -> ContextTracker:
        """Read back what :meth:`to_fields` wrote.

        Raises:
            ValueError: If it is something else.
        """
        try:
            surface, stale, peak, recent, lowest, answer, learned, returns = fields
            made = cls()
            if surface is not None:
                made.carry_into(surface)
            made._stale = bool(whole("stale", stale))
            made._peak = whole("peak", peak)
            made._recent = tuple(Seen.of(each) for each in recent)[-RECENT:]
            made._lowest = None if lowest is None else Seen.of(lowest)
            made._answer = Answer.of(answer)
            a, b, c, d = (whole("learned", each) for each in learned)
            made._by_bytes, made._by_count = (a, b), (c, d)
            back, left_out = (whole("returns", each) for each in returns)
            made._returns = (back, left_out)
        except (TypeError, ValueError, PolicyError) as error:
            raise ValueError(f"these are no fields of a tracker: {error}") from None
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextTracker):
            return NotImplemented
        return self.to_fields() == other.to_fields()

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"<ContextTracker reported={self.reported} peak={self._peak}>"


def _surprise(unit: Unit, confidence: float) -> float:
    """The share of the predicted change that is added for a confidence, between those measured."""
    measured = _SURPRISES[unit.name]
    place = bisect_left(_CONFIDENCES, confidence)
    high, above = _CONFIDENCES[place], measured[place]
    if confidence == high:
        return above
    low, below = _CONFIDENCES[place - 1], measured[place - 1]
    return below + (above - below) * (confidence - low) / (high - low)
