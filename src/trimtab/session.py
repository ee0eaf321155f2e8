"""THE MAIN PATH: one request in, one request out.

::

    Call ── wire.read ──> Request ── weigh ──> History
                                                 │ broken on arrival?   mend_pairs
                                                 │ over the trigger?    ladder.climb
                                                 │ the format's word    Format.complete
                                                 └ Plan ── wire.write ──> Rewrite

Pure and synchronous: no I/O, clock, lock, task or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from trimtab.budget import Limits
from trimtab.constraints import Constraints
from trimtab.events import ContextCompacted, Event, HistoryRepaired, PassedOn
from trimtab.ladder import Climb, climb, clip_alone
from trimtab.messages import Message
from trimtab.plan import EMPTY_PLAN, Forbidden, Outcome, OutcomeStatus, Plan, apply, compose
from trimtab.policy import Policy
from trimtab.strategies.history import History
from trimtab.strategies.mend_pairs import mend_pairs
from trimtab.tokens import Measure, Quality, TokenCounter, counter_for
from trimtab.wire import Call, Request, check, read, write

__all__ = ["Rewrite", "Session", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, read.

    Attributes:
        call: What came in.
        request: Where its messages lie.
    """

    call: Call
    request: Request


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What goes out instead of what came in.

    Attributes:
        body: The bytes to send; the very same object where nothing changed.
        headers: Headers to send: those that came in, and what an edit needs.
        outcome: Whether it fits, in numbers.
        plan: Every edit, with its reason and what it saves.
        events: What happened, in the past tense.
        counter: What counted, for people.
        quality: How far its counts can be trusted.
    """

    body: bytes = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    outcome: Outcome
    plan: Plan
    events: tuple[Event, ...] = ()
    counter: str = ""
    quality: Quality = "estimate"


class Session:
    """Rewrites requests so that they fit.

    Args:
        policy: What the user wants kept, and how far to go.
        counter: Counts words; None for the best that is installed for the model of the request.
        headers_settable: Whether headers of the rewrite will be sent.
    """

    def __init__(
        self,
        policy: Policy,
        counter: TokenCounter | None = None,
        *,
        headers_settable: bool = True,
    ) -> None:
        self.policy = policy
        self._counter = counter
        self._headers_settable = headers_settable
        self._measures: dict[str, Measure] = {}

    def read(self, call: Call, format: str | None = None) -> Turn:  # noqa: A002 - the word for it
        """Read a request.

        Args:
            call: What came in.
            format: Name of its format; None to tell it from the content.

        Raises:
            RequestError: If it is no request of a known format.
        """
        return Turn(call, read(call.body, format))

    def rewrite(self, turn: Turn) -> Rewrite:
        """Make a request fit.

        Returns:
            The rewrite. Where it does not fit, its outcome says why and what
            it would take; its body is then as small as was possible.

        Raises:
            TokenCountError: If the counter fails.
        """
        arrived = self.weigh(turn)
        mended = self._mend(turn, arrived)
        climbed = self._climb(turn, arrived, mended)
        plan = compose(mended, climbed.plan, turn.request.messages)
        return self._send(turn, arrived, mended, plan, climbed)

    def weigh(self, turn: Turn) -> History:
        """Weigh a request: each message, and all that is not messages.

        Raises:
            TokenCountError: If the counter fails.
        """
        request = turn.request
        measure = self._measure(request.surface.model or turn.call.model)
        return History.weigh(
            request.messages,
            measure.surface(request.surface),
            measure,
            self.policy,
            request.constraints,
        )

    def _measure(self, model: str) -> Measure:
        if model not in self._measures:
            self._measures[model] = Measure(self._counter or counter_for(model), model)
        return self._measures[model]

    def _mend(self, turn: Turn, arrived: History) -> Plan:
        """What to change in a history that arrived broken."""
        if not self.policy.repair or arrived.constraints.hands_off:
            return EMPTY_PLAN
        return Plan(mend_pairs(turn.request.messages, arrived.constraints))

    def _climb(self, turn: Turn, arrived: History, mended: Plan) -> Climb:
        """What to remove so that the request is small enough."""
        history = arrived
        if mended:
            messages = [slot.message for slot in apply(mended, turn.request.messages)]
            history = History.weigh(
                messages,
                arrived.fixed_tokens,
                arrived.measure,
                self.policy,
                _shifted(arrived.constraints, mended, turn.request.messages),
            )
        limits = self.policy.limits()
        if history.total_tokens <= limits.trigger_tokens:
            return Climb(EMPTY_PLAN, history.total_tokens, history.total_tokens)
        return climb(history, limits)

    def _send(
        self, turn: Turn, arrived: History, mended: Plan, plan: Plan, climbed: Climb
    ) -> Rewrite:
        """Take the first plan that the format and its rules let through, and write it."""
        request, limits = turn.request, self.policy.limits()
        reason = climbed.forbidden
        complete, body = EMPTY_PLAN, request.body
        is_compacted = False
        for wanted in self._candidates(arrived, mended, plan):
            answer = self._written(request, wanted)
            if not isinstance(answer, Forbidden):
                complete, body = answer
                is_compacted = bool(climbed.plan) and wanted != mended
                break
            reason = reason or answer.reason
        before = arrived.total_tokens
        after = before if body is request.body else _recount(request, body, arrived)
        outcome = _outcome(limits, complete, before, after, climbed.smallest_tokens, reason)
        return Rewrite(
            body,
            _headers(turn.call, complete),
            outcome,
            arrived.priced(complete),
            _events(arrived, mended, complete, outcome, reason, is_compacted=is_compacted),
            arrived.measure.name,
            arrived.measure.quality,
        )

    def _candidates(self, arrived: History, mended: Plan, plan: Plan) -> Iterator[Plan]:
        """What was planned; else the newest results clipped alone; else the mending alone."""
        yield plan
        limits = self.policy.limits()
        if plan and not mended:
            alone = clip_alone(arrived, limits)
            if arrived.tokens_under(alone) <= limits.limit_tokens:
                yield alone
        yield mended
        yield EMPTY_PLAN

    def _written(self, request: Request, plan: Plan) -> tuple[Plan, bytes] | Forbidden:
        """Let the format have the last word, write the body, and look at it once more."""
        complete = request.format.complete(request, plan, headers_settable=self._headers_settable)
        if isinstance(complete, Forbidden):
            return complete
        body = write(request, complete)
        if complete and (rule := _made_worse(request, body)):
            return Forbidden(f"the edited request would break rule {rule}")
        return complete, body


def _recount(request: Request, body: bytes, arrived: History) -> int:
    """Weigh what really goes out. Texts that were counted before are not counted again."""
    sent = read(body, request.format.name)
    return arrived.fixed_tokens + sum(arrived.measure.message(m) for m in sent.messages)


def _shifted(constraints: Constraints, mended: Plan, messages: Sequence[Message]) -> Constraints:
    """The same constraints for the view that a plan makes of the messages."""
    places = {
        slot.source: place
        for place, slot in enumerate(apply(mended, messages))
        if slot.source is not None
    }

    def moved(old: frozenset[int]) -> frozenset[int]:
        return frozenset(places[place] for place in old if place in places)

    loop, turn = constraints.open_loop_start, constraints.turn_start
    return replace(
        constraints,
        frozen=moved(constraints.frozen),
        illegal_starts=moved(constraints.illegal_starts),
        open_loop_start=None if loop is None else places.get(loop),
        turn_start=None if turn is None else places.get(turn),
    )


def _made_worse(request: Request, body: bytes) -> str:
    """The first rule that an edited body breaks more often than the original; empty for none."""
    after = Counter(problem.rule for problem in check(body, request.format.name))
    if not after:
        return ""  # the original, which may be far larger, need not be looked at
    before = Counter(problem.rule for problem in check(request.body, request.format.name))
    return next((rule for rule in after if after[rule] > before[rule]), "")


def _outcome(
    limits: Limits, plan: Plan, before: int, after: int, possible: int, reason: str
) -> Outcome:
    limit = limits.limit_tokens
    if after <= limit:
        status: OutcomeStatus = "fits" if plan else "untouched"
        return Outcome(status, limit, before, after)
    if reason:
        return Outcome("unmet", limit, before, after, min(possible, after), reason)
    told = "what is protected alone is larger than the limit"
    return Outcome("unsatisfiable", limit, before, after, min(possible, after), told)


def _headers(call: Call, plan: Plan) -> dict[str, str]:
    """The headers of the call, with what an edit needs appended to their lists."""
    headers = dict(call.headers)
    for edit in plan.envelope:
        if not edit.header:
            continue
        name = next((name for name in headers if name.lower() == edit.header), edit.header)
        values = [value.strip() for value in headers.get(name, "").split(",") if value.strip()]
        if edit.header_value not in values:
            headers[name] = ",".join([*values, edit.header_value])
    return headers


def _events(
    arrived: History,
    mended: Plan,
    plan: Plan,
    outcome: Outcome,
    reason: str,
    *,
    is_compacted: bool,
) -> tuple[Event, ...]:
    events: list[Event] = []
    if mended and plan:
        events.append(HistoryRepaired(len(mended.edits)))
    if is_compacted:
        events.append(
            ContextCompacted(
                "deterministic",
                len(arrived.messages),
                len(apply(plan, arrived.messages)),
                outcome.tokens_before,
                outcome.tokens_after,
            )
        )
    if reason and (outcome.status == "unmet" or not plan):
        events.append(PassedOn(reason))
    return tuple(events)
