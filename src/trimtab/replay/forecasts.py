"""What would have been known of each request of a recorded session before it was sent.

::

    Recording ── forecasts ──> Forecasted, one for each request

One body is held at a time; a message that stood in the request before is not
weighed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from trimtab.budget import Limits
from trimtab.errors import RequestError
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.tokens import Measure, counter_for
from trimtab.tracker import ContextTracker, Forecast, message_bytes, surface_fingerprint
from trimtab.wire import read

__all__ = ["Forecasted", "forecasts"]


@dataclass(frozen=True, slots=True)
class Forecasted:
    """One request, and what was known of its size.

    Attributes:
        model: What answered; empty where the recording does not say.
        reported: What it was billed, whole; None where the recording does not say.
        predicted: What was predicted before it was sent; None where nothing was billed
            before it, or under another model.
        forecast: How full the context is after it, against the trigger; None where nothing was billed yet.
        affordable_bytes: Bytes of tool output that still fit below the limit after it;
            None where nothing was billed yet.
    """

    model: str
    reported: int | None
    predicted: int | None
    forecast: Forecast | None
    affordable_bytes: int | None

    @property
    def error(self) -> float | None:
        """By how much the prediction missed, as a share of what was billed; None without both."""
        if not self.reported or self.predicted is None:
            return None
        return abs(self.predicted - self.reported) / self.reported


def forecasts(recording: Recording, limits: Limits) -> Iterator[Forecasted]:
    """Go through a recorded session and tell for each request what was known before it.

    Args:
        recording: The session. Nothing of it is written anywhere.
        limits: Forecasts are held against the trigger, at which a compaction is planned,
            tool output against the limit.

    Raises:
        TokenCountError: If a counter fails.
    """
    run = _Run(limits)
    return map(run.next, recording.requests)


class _Weight(NamedTuple):
    bytes: int
    counted: int
    is_answer: bool


class _Run:
    """One session, request by request."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._tracker = ContextTracker()
        self._measures: dict[str, Measure] = {}
        self._weights: dict[tuple[str, bytes], _Weight] = {}
        self._names: Sequence[bytes] = ()

    def next(self, recorded: RecordedRequest) -> Forecasted:
        """Predict a request, then learn what it was billed."""
        try:
            names, weights = self._weigh(recorded)
        except RequestError:
            return Forecasted(recorded.model, _billed(recorded), None, None, None)
        self._tracker.carry_into(surface_fingerprint(recorded.model, None, None))
        self._look_for_the_answer(names, weights)
        size = sum(weight.bytes for weight in weights)
        counted = sum(weight.counted for weight in weights)
        predicted = self._tracker.predict(size, counted=counted)
        billed = _billed(recorded)
        if billed is not None and recorded.usage is not None:
            self._tracker.observe(
                billed,
                size,
                output_tokens=recorded.usage.output,
                reasoning_tokens=recorded.usage.reasoning,
                counted=counted,
            )
            self._names = names
        return Forecasted(
            recorded.model,
            billed,
            predicted,
            self._tracker.forecast(self._limits.trigger_tokens, size, counted=counted),
            self._tracker.affordable_output_bytes(self._limits.limit_tokens, size, counted=counted),
        )

    def _look_for_the_answer(self, names: Sequence[bytes], weights: Sequence[_Weight]) -> None:
        """Tell the answers that came since the last billed request, and whether that one goes on."""
        common = 0
        for old, new in zip(self._names, names, strict=False):
            if old != new:
                break
            common += 1
        answers = [weight for weight in weights[common:] if weight.is_answer]
        counted = sum(weight.counted for weight in answers)
        self._tracker.answered(sum(weight.bytes for weight in answers), counted=counted)
        if common < len(self._names):
            self._tracker.invalidate()

    def _weigh(self, recorded: RecordedRequest) -> tuple[list[bytes], list[_Weight]]:
        model = recorded.model
        if model not in self._measures:
            self._measures[model] = Measure(counter_for(model), model)
        request = read(recorded.build(), recorded.format or None)
        names, weights = [], []
        for place in range(len(request.spans)):
            name = sha256(request.message_bytes(place)).digest()
            weight = self._weights.get((model, name))
            if weight is None:
                message = request.message(place).decoded()
                counted = self._measures[model].message(message)
                weight = _Weight(message_bytes([message]), counted, message.role == "assistant")
                self._weights[model, name] = weight
            names.append(name)
            weights.append(weight)
        return names, weights


def _billed(recorded: RecordedRequest) -> int | None:
    return recorded.usage.total_input or None if recorded.usage else None
