"""Run a recorded session through the engine: what would have been sent, request by request.

::

    Recording ── replay ──> ReplayedRequest | LeftOut, one for each request
                               │
                               └ SessionReport ── Totals

Each session has an engine and a store of its own, and each of its requests is
taken to have been accepted, as the recorded one was. One body is held at a
time; what is kept of it is numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Literal, TypeAlias

from trimtab.engine import Engine
from trimtab.errors import PolicyError, RequestError
from trimtab.events import BreakCause, ContextCompacted, PrefixBroken
from trimtab.plan import Outcome
from trimtab.policy import Policy
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.session import Rewrite, Ticket, Turn
from trimtab.usage import Usage
from trimtab.wire import Call, check

__all__ = [
    "Break",
    "LeftOut",
    "ReplayedRequest",
    "SessionReport",
    "Totals",
    "breaks_no_rule",
    "looked_at",
    "replay",
]

Break: TypeAlias = BreakCause | Literal["new_conversation"]
"""Why the provider cannot read what was sent before from its cache.

``new_conversation``: the request shares no message with any earlier one of
its session. All else is what the engine says.
"""


@dataclass(frozen=True, slots=True)
class ReplayedRequest:
    """One request, as it was recorded and as it would have been sent.

    Attributes:
        outcome: Whether it fits; in tokens as they are billed, where that was recorded.
        counter: What counted, and how far it can be trusted, for people.
        is_changed: Whether any byte of the body is another one.
        is_compacted: Whether it was made smaller.
        breaks: Why it does not extend what was sent before; empty where it does.
        is_valid_before: Whether it breaks no rule as it was recorded, as far as that shows.
        is_valid_after: The same as it would have been sent.
        rewrite_seconds: How long it took to decide what to send, finding the state included.
    """

    outcome: Outcome
    counter: str
    is_changed: bool
    is_compacted: bool
    breaks: tuple[Break, ...]
    is_valid_before: bool
    is_valid_after: bool
    rewrite_seconds: float

    @property
    def is_made_invalid(self) -> bool:
        """Whether it came in valid and would have been sent invalid: this must never be."""
        return self.is_valid_before and not self.is_valid_after


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A request that could not be replayed.

    Attributes:
        reason: Why, in words for the user.
        is_limit_unknown: Whether naming a limit would help.
    """

    reason: str
    is_limit_unknown: bool = False


def replay(
    recording: Recording, policy: Policy | None = None
) -> Iterator[ReplayedRequest | LeftOut]:
    """Run a recorded session through an engine of its own.

    Args:
        recording: The session. Nothing of it is written anywhere.
        policy: What to keep and how far to go; None for the defaults.

    Returns:
        What came of each request, in the order in which they were made; a request
        is replayed when its result is asked for.

    Raises:
        TokenCountError: If the counter fails.
    """
    run = _Run(policy)
    return map(run.next, recording.requests)


class _Run:
    """One session on its way through an engine."""

    def __init__(self, policy: Policy | None) -> None:
        self._engine = Engine(policy)
        self._has_begun = False
        self._turn: Turn | None = None
        self._unknown: dict[str, LeftOut] = {}

    def next(self, recorded: RecordedRequest) -> ReplayedRequest | LeftOut:
        """Replay a request; where that cannot be, say why, so that the next ones still are."""
        try:
            return self._replayed(recorded)
        except RequestError as error:
            return LeftOut(str(error))

    def _replayed(self, recorded: RecordedRequest) -> ReplayedRequest | LeftOut:
        call = Call(recorded.build(), model=recorded.model, now=recorded.at or 0.0)
        started = perf_counter()
        turn = self._engine.session.read(call, recorded.format or None, before=self._turn)
        self._turn = turn
        model = turn.request.model or call.model
        if model in self._unknown:
            return self._unknown[model]  # the engine would weigh all of it before it finds out
        try:
            rewrite = self._engine.sync.rewrite(turn)
        except PolicyError as error:
            _, _, why = str(error).partition("; ")  # the setting stands before it
            return self._unknown.setdefault(model, LeftOut(why, is_limit_unknown=True))
        seconds = perf_counter() - started
        # What was billed was billed for the body that was sent then.
        self._record(rewrite.ticket, None if rewrite.plan else recorded.usage)
        replayed = looked_at(rewrite, recorded, seconds, has_begun=self._has_begun)
        self._has_begun = True
        return replayed

    def _record(self, ticket: Ticket, usage: Usage | None) -> None:
        if usage is None:
            self._engine.sync.forwarded(ticket)
        else:
            self._engine.sync.observed(ticket, usage)


def looked_at(
    rewrite: Rewrite,
    recorded: RecordedRequest,
    seconds: float,
    *,
    has_begun: bool,
    is_checked: bool = True,
) -> ReplayedRequest:
    """Say what came of a request.

    Args:
        rewrite: What the engine decided.
        recorded: The request as it was recorded.
        seconds: How long it took.
        has_begun: Whether any request of its session came before.
        is_checked: Whether rules are looked at; without, both bodies are taken to break none.
    """
    turn = rewrite.ticket.turn
    wire_format, body = turn.request.format.name, turn.call.body
    is_valid = not is_checked or breaks_no_rule(body, wire_format, recorded)
    is_changed = rewrite.body != body
    is_looked_at = is_checked and is_changed
    return ReplayedRequest(
        rewrite.outcome,
        f"{rewrite.counter} ({rewrite.quality})",
        is_changed,
        any(isinstance(event, ContextCompacted) for event in rewrite.events),
        tuple(_breaks(rewrite, has_begun=has_begun)),
        is_valid,
        breaks_no_rule(rewrite.body, wire_format, recorded) if is_looked_at else is_valid,
        seconds,
    )


def breaks_no_rule(body: bytes, wire_format: str, recorded: RecordedRequest) -> bool:
    """Whether a body breaks no rule, as far as what was recorded shows."""
    problems = check(body, wire_format, unrecorded=recorded.unrecorded)
    return all(problem.is_unrecorded for problem in problems)


def _breaks(rewrite: Rewrite, *, has_begun: bool) -> Iterator[Break]:
    if has_begun and rewrite.ticket.began is None:
        yield "new_conversation"
    for event in rewrite.events:
        if isinstance(event, PrefixBroken):
            yield event.cause


# -------------------------------------------------------------------- reports


@dataclass(frozen=True, slots=True)
class Totals:
    """Requests taken together.

    Attributes:
        requests: How many were replayed.
        tokens_before: Tokens of all of them as they came.
        tokens_after: Tokens of all of them as they would have been sent.
        peak_tokens: Tokens of the one that fills its limit most, as it would have been sent.
        peak_limit_tokens: The limit of that one.
        changed: Requests of which any byte would have been another one.
        compactions: Requests that were made smaller.
        breaks: Requests that do not extend what was sent before.
        breaks_by_cause: The same by cause, most frequent first; one request may have several.
        unmet: Requests over their limit although smaller is possible.
        unsatisfiable: Requests over their limit because what is protected alone is larger.
        invalid_before: Requests that break a rule as they were recorded.
        invalid_after: Requests that would break one as they would have been sent.
        made_invalid: Requests that came in valid and would have been sent invalid.
        rewrite_median_seconds: How long it took to decide what to send: half took no longer.
        rewrite_most_seconds: How long it took at most.
        counters: What counted, for people.
    """

    requests: int
    tokens_before: int
    tokens_after: int
    peak_tokens: int
    peak_limit_tokens: int
    changed: int
    compactions: int
    breaks: int
    breaks_by_cause: Mapping[Break, int]
    unmet: int
    unsatisfiable: int
    invalid_before: int
    invalid_after: int
    made_invalid: int
    rewrite_median_seconds: float
    rewrite_most_seconds: float
    counters: tuple[str, ...]

    @classmethod
    def of(cls, requests: Sequence[ReplayedRequest]) -> Totals:
        """Take requests together, of one session or of many."""
        outcomes = [request.outcome for request in requests]
        peak = max(outcomes, key=_share_of_limit, default=None)
        seconds = [request.rewrite_seconds for request in requests]
        causes = Counter(cause for request in requests for cause in request.breaks)
        return cls(
            requests=len(requests),
            tokens_before=sum(outcome.tokens_before for outcome in outcomes),
            tokens_after=sum(outcome.tokens_after for outcome in outcomes),
            peak_tokens=0 if peak is None else peak.tokens_after,
            peak_limit_tokens=0 if peak is None else peak.limit_tokens,
            changed=sum(request.is_changed for request in requests),
            compactions=sum(request.is_compacted for request in requests),
            breaks=sum(bool(request.breaks) for request in requests),
            breaks_by_cause=dict(causes.most_common()),
            unmet=sum(outcome.status == "unmet" for outcome in outcomes),
            unsatisfiable=sum(outcome.status == "unsatisfiable" for outcome in outcomes),
            invalid_before=sum(not request.is_valid_before for request in requests),
            invalid_after=sum(not request.is_valid_after for request in requests),
            made_invalid=sum(request.is_made_invalid for request in requests),
            rewrite_median_seconds=median(seconds) if seconds else 0.0,
            rewrite_most_seconds=max(seconds, default=0.0),
            counters=tuple(sorted({request.counter for request in requests})),
        )

    @property
    def over_limit(self) -> int:
        """Requests that would have been sent over their limit."""
        return self.unmet + self.unsatisfiable


def _share_of_limit(outcome: Outcome) -> float:
    return outcome.tokens_after / outcome.limit_tokens


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What came of a recorded session.

    Attributes:
        kind: What wrote it, such as ``claude-code``.
        name: Which session it is, for people.
        requests: Its requests that were replayed, in order.
        left_out: Those that could not be, in order.
        unrecorded: Top-level fields that the recording does not hold; their tokens are not counted.
        notes: What its reader skipped or had to guess, in words for the user.
    """

    kind: str
    name: str
    requests: tuple[ReplayedRequest, ...]
    left_out: tuple[LeftOut, ...]
    unrecorded: frozenset[str]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, recording: Recording, results: Iterable[ReplayedRequest | LeftOut]
    ) -> SessionReport:
        """Gather what :func:`replay` yields of a recording."""
        results = tuple(results)
        return cls(
            recording.kind,
            recording.name,
            tuple(result for result in results if isinstance(result, ReplayedRequest)),
            tuple(result for result in results if isinstance(result, LeftOut)),
            frozenset().union(*(recorded.unrecorded for recorded in recording.requests)),
            recording.notes,
        )

    @property
    def totals(self) -> Totals:
        """Its requests taken together."""
        return Totals.of(self.requests)

    @property
    def reasons(self) -> Mapping[str, int]:
        """Why requests were left out, with how many each."""
        return dict(Counter(left.reason for left in self.left_out))
