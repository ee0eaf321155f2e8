"""THE MAIN PATH: one request in, one request out.

::

    Call ── wire.read ──> Turn
                           │ what was sent for the part that is known?   recall
                           │ what is new: broken? squeezed? how large?   go_on
                           │ over the trigger, or a cold moment?         ladder.climb
                           │ the format's word                           Format.complete
                           │ cache markers, where the client sets none   with_cache_markers
                           └ Plan ── wire.write ──> Rewrite(…, ticket)

    ticket + "the provider has taken it"   ──> forwarded ──> State
    ticket + "it was refused"              ──> refused   ──> Rewrite | State | None

Pure and synchronous: no I/O, clock, lock, task or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.births import Births, born, pruned
from trimtab.budget import Limits, Scale
from trimtab.chain import digest, links, root
from trimtab.constraints import Constraints
from trimtab.economy import window_of
from trimtab.errors import PolicyError
from trimtab.events import (
    BreakCause,
    ContextCompacted,
    EditsQuarantined,
    Event,
    HistoryRepaired,
    LimitLearned,
    PassedOn,
    PrefixBroken,
    ReserveCut,
    TriggerUnreachable,
)
from trimtab.ladder import climb, clip_alone
from trimtab.lineage import extends
from trimtab.messages import Message
from trimtab.plan import (
    EMPTY_PLAN,
    Changes,
    Edit,
    Forbidden,
    Outcome,
    OutcomeStatus,
    Plan,
    Replace,
    apply,
    compose,
)
from trimtab.policy import Policy, Preset
from trimtab.recall import Known, View, go_on, recall, settle
from trimtab.refusal import Refusal
from trimtab.state import STEPS, State, SurfaceDigest
from trimtab.stored_plan import plan_digest
from trimtab.strategies.history import History, priced, slot_tokens
from trimtab.strategies.mend_pairs import mend_pairs
from trimtab.tokens import Measure, TokenCounter, counter_for
from trimtab.tracker import ContextTracker, message_bytes
from trimtab.turn import Rewrite, Ticket, Turn
from trimtab.usage import Usage
from trimtab.wire import (
    CacheHints,
    Call,
    Request,
    check,
    conversation_key,
    read,
    view_counts,
    with_cache_markers,
    write,
)
from trimtab.wire.writing import Forms

__all__ = ["Rewrite", "Session", "Ticket", "Turn"]

_CACHE_SECONDS = 300.0
"""How long providers keep a prefix that nobody reads: 5 minutes, by their documentation."""

_MOST_OFF = 4
"""A count that is further off than this is not of what was billed: reported sizes were
30 to 90 % off, and no tokenizer in use takes more than 4 bytes of a token for one."""

_STEP = 10_000
"""Tokens over which the rate of the bill is read off the tracker's predictions."""

_UNTOLD_SHARE = 0.8
"""Of a request that was too large by nobody knows how much, this share is tried."""

_COLD_SHARE = 0.5
"""Of the trigger, on a turn on which the provider's cache is lost anyway."""

_TOO_LARGE = frozenset(("overflow", "shrink for rate", "bytes too large"))
_UNFIT = frozenset(("signature", "structure"))


class Session:
    """Rewrites the requests of a conversation so that they fit and extend each other.

    It remembers nothing: what it knows of a conversation is the state that it
    is given, and what it learns it returns.

    Args:
        policy: What the user wants kept, and how far to go.
        counter: Counts words; None for the best that is installed for the model of the request.
        headers_settable: Whether headers of the rewrite will be sent.
        outlives_process: Whether states are kept where they survive a restart.
        can_recall: Whether the model can ask for what was left out of a result, and is
            answered in the next request.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        counter: TokenCounter | None = None,
        *,
        headers_settable: bool = True,
        outlives_process: bool = False,
        can_recall: bool = False,
    ) -> None:
        self.policy = policy or Policy()
        self._counter = counter
        self._headers_settable = headers_settable
        self._outlives_process = outlives_process
        self._can_recall = can_recall
        self._measures: dict[str, Measure] = {}
        self._forms = Forms()  # by content, so that nothing depends on which turns it has seen

    # -------------------------------------------------------------- before

    def read(self, call: Call, format: str | None = None, *, tenant: str = "") -> Turn:  # noqa: A002 - the word for it
        """Read a request.

        Args:
            call: What came in.
            format: Name of its format; None to tell it from the content.
            tenant: Whose conversation it is; two tenants share nothing.

        Raises:
            RequestError: If it is no request of a known format.
        """
        request = read(call.body, format)
        start = root(tenant, request.format.name)
        forms = request.sorted_forms() if call.is_built else request.forms()
        return Turn(call, request, start, links(start, forms))

    def rewrite(self, turn: Turn, state: State | None = None) -> Rewrite:
        """Say what to send for a request.

        Args:
            turn: The request.
            state: What is known of its conversation; None for a new one.

        Returns:
            The rewrite. Where it does not fit, its outcome says why and what
            it would take; its body is then as small as the rules of its
            format let it be, roles alternating where they did.

        Raises:
            PolicyError: If nobody named a limit and the model's window is not known.
            TokenCountError: If the counter fails.
        """
        position = self._position(turn, state)
        return self._finish(position, self._draft(position))

    # --------------------------------------------------------------- after

    def forwarded(self, ticket: Ticket) -> State:
        """Learn that the provider has taken a request: at the first byte of a 2xx, never before."""
        return ticket.becomes

    def observed(self, ticket: Ticket, usage: Usage) -> State:
        """Learn what a request was billed, and so how large the next one will be."""
        becomes = replace(ticket.becomes, billed_tokens=usage.total_input)
        if not _is_of(usage.total_input, becomes.surface.tokens + becomes.view_tokens):
            return becomes  # nobody said, or it is of something else
        tracker = becomes.tracker.copy()
        tracker.observe(
            usage.total_input,
            becomes.view_bytes,
            output_tokens=usage.output,
            reasoning_tokens=usage.reasoning,
            counted=becomes.view_tokens,
        )
        return replace(becomes, tracker=tracker)

    def refused(self, ticket: Ticket, refusal: Refusal) -> Rewrite | State | None:
        """Learn that the provider has refused a request.

        Returns:
            What to send instead, once; a state, where the answer had begun and
            all that can be done is to know better next time; None where the
            refusal is to be passed on.
        """
        if refusal.is_after_start:
            if refusal.kind not in _TOO_LARGE:
                return None
            return replace(ticket.becomes, limit_tokens=_learned(ticket.outcome, refusal))
        if ticket.attempt:
            return None
        if refusal.kind in _TOO_LARGE:
            return self._send_smaller(ticket, _learned(ticket.outcome, refusal))
        if refusal.kind in _UNFIT and ticket.plan:
            return self._send_unrefused(ticket)
        return None

    def _send_smaller(self, ticket: Ticket, limit_tokens: int) -> Rewrite | None:
        """One harder compaction, to a limit that the provider taught."""
        policy = replace(self.policy, keep_recent=0)
        position = self._position(ticket.turn, ticket.began, policy, limit_tokens)
        rewrite = self._finish(position, self._draft(position))
        if rewrite.outcome.tokens_after >= ticket.outcome.tokens_after:
            return None
        return _second_try(rewrite, LimitLearned(limit_tokens))

    def _send_unrefused(self, ticket: Ticket) -> Rewrite | None:
        """The request in a form that was not refused, where there is one that may be sent."""
        position = self._position(ticket.turn, ticket.began)
        draft = self._unrefused(position, ticket.plan)
        if draft is None:
            return None
        position = replace(position, refused=(*position.refused, plan_digest(ticket.plan)))
        rewrite = self._finish(position, draft)
        return _second_try(rewrite, EditsQuarantined(len(ticket.plan.edits)))

    def _unrefused(self, position: Position, refused: Plan) -> Draft | None:
        known, limits = position.known, position.limits
        waits_until = position.tokens + limits.trigger_tokens - limits.target_tokens
        draft: Draft | None
        if known.plan and plan_digest(known.plan) != plan_digest(refused):
            draft = self._resend(position)
        elif known.plan and position.turn.request.manners.binds_thinking:
            # The same edits were taken before: it can only mind thinking that came since.
            softer = position.turn.request.format.soften(
                position.turn.request, known.plan, headers_settable=self._headers_settable
            )
            draft = None if isinstance(softer, Forbidden) else self._written(position, softer)
        else:
            draft = self._written(position, EMPTY_PLAN)
            if known.plan and draft is not None and draft.tokens > limits.limit_tokens:
                return None
        if draft is None:
            return None
        return replace(draft, cause="refused", floor_tokens=waits_until)

    # ------------------------------------------------------------- the way

    def weigh(self, turn: Turn) -> History:
        """Weigh a request: each message, and all that is not messages.

        Raises:
            TokenCountError: If the counter fails.
        """
        request = turn.request
        measure = self._measure(request.surface.model or turn.call.model)
        return _weigh(request, measure.surface(request.surface), measure, self.policy)

    def _measure(self, model: str) -> Measure:
        if model not in self._measures:
            self._measures[model] = Measure(self._counter or counter_for(model), model)
        return self._measures[model]

    def _position(
        self,
        turn: Turn,
        state: State | None,
        policy: Policy | None = None,
        learned_tokens: int | None = None,
    ) -> Position:
        """Find out what is known of a request, what is new in it, how large it is and may be."""
        policy = policy or self.policy
        request = turn.request
        model = request.model or turn.call.model
        room = None if policy.limit_tokens is not None else self._room(model, request)
        measure = self._measure(model)
        surface = _surface(turn, measure, state)
        is_weighed = state is None or state.surface.model == surface.model
        known = recall(turn, state, is_weighed=is_weighed)
        births = Births(self._preset(request, state, policy), policy, self._can_recall)
        view = go_on(turn, known, measure, repair=policy.repair, births=births)
        if state is not None and learned_tokens is None and state.surface.model == surface.model:
            learned_tokens = state.limit_tokens
        given = [] if room is None else [room.limit_tokens]
        given += [] if learned_tokens is None else [learned_tokens]
        tracker = _tracker(state, surface, known, view)
        scale = _scale(tracker, surface, view)
        growth = None if state is None else state.growth_tokens
        growth = None if growth is None else scale.grown(growth)
        billed = policy.limits(min(given, default=None), growth)
        return Position(
            turn=turn,
            known=known,
            view=view,
            policy=policy,
            measure=measure,
            surface=surface,
            tracker=tracker,
            scale=scale,
            billed_limits=billed,
            limits=scale.limits(billed),
            learned_tokens=learned_tokens,
            refused=() if state is None else state.refused,
            cut=None if room is None else room.cut,
        )

    def _preset(self, request: Request, state: State | None, policy: Policy) -> Preset:
        """How far birth edits go: a client that does not ask sees none until it is compacted."""
        if request.manners.hands_off or (state is not None and state.refused):
            return "off"
        if policy.preset is not None:
            return policy.preset
        if state is None or not state.compactions:
            return "off"
        if request.manners.binds_thinking and not self._outlives_process:
            return "off"  # what was sent could be forgotten, and nothing else may be sent then
        return "safe"

    def _room(self, model: str, request: Request) -> _Room:
        """What the model's window has room for."""
        window = window_of(model)
        if window is None:
            named = f"of {model!r} " if model else ""
            raise PolicyError(
                "limit_tokens",
                None,
                f"the window {named}is not known: name the tokens that a request must not pass, "
                "or install trimtab[prices], which knows many models",
            )
        asked = self.policy.answer_tokens
        asked = request.answer_tokens if asked is None else asked
        kept = window.reserve_tokens(asked)
        cut = ReserveCut(asked, kept) if asked is not None and kept < asked else None
        return _Room(window.limit_tokens(asked), cut)

    def _draft(self, position: Position) -> Draft:
        """Extend what was sent; compact where it would be too large."""
        if position.comes_back and (whole := self._bring_back(position)) is not None:
            return whole
        if position.is_due:
            return self._compact(position)
        return self._extend(position)

    def _extend(self, position: Position) -> Draft:
        """What was sent before, and what mends what is new."""
        view = position.view
        if view.born and not view.added:
            return self._squeezed(position)
        return self._written(position, view.kept, view.added + view.born) or self._resend(position)

    def _squeezed(self, position: Position) -> Draft:
        """What was sent before, and what tools just answered in other words.

        Words in place of words break no rule, so the format is not asked.
        """
        view = position.view
        body = write(position.turn.request, view.plan, self._forms)
        tokens = position.tokens if position.known.counted else position.tokens_of(view.plan, body)
        return Draft(view.plan, body, tokens)

    def _resend(self, position: Position) -> Draft:
        """What was sent before, and what is new as it came."""
        plan = position.known.plan
        body = write(position.turn.request, plan, self._forms)
        return Draft(plan, body, position.tokens_of(plan, body))

    def _bring_back(self, position: Position) -> Draft | None:
        """All that a smaller limit had removed."""
        mended = _mended(position.turn.request, position.policy)
        draft = self._written(position, born(position.view.plan), mended)
        if draft is None or draft.tokens > position.limits.trigger_tokens:
            return None
        return replace(draft, cause="budget_raised")

    def _compact(self, position: Position) -> Draft:
        """Make it smaller, in one step and down to the target, at a place where it may be cut."""
        request, limits = position.turn.request, position.limits
        arrived = position.weighed()
        mended = born(position.view.plan) + _mended(request, position.policy)
        climbed = climb(_after(mended, arrived, position.policy), limits)
        plan = pruned(compose(mended, climbed.plan, request.messages))
        reason, chosen = climbed.forbidden, None
        for wanted in self._candidates(position, plan if climbed.plan else EMPTY_PLAN):
            answer = self._attempt(position, wanted)
            if isinstance(answer, Draft):
                chosen = answer
                break
            reason = reason or answer.reason
        if chosen is None:
            chosen = self._extend(position)
        floor = chosen.tokens + limits.trigger_tokens - limits.target_tokens
        return replace(
            chosen,
            reason=reason,
            smallest_tokens=min(climbed.smallest_tokens, chosen.tokens),
            floor_tokens=floor if chosen.tokens > limits.target_tokens else 0,
        )

    def _candidates(self, position: Position, plan: Plan) -> Iterator[tuple[Plan, Plan]]:
        """What was planned; else what would be sent anyway, with its newest results clipped.

        Yields:
            What stays of what was sent, and what is new.
        """
        if position.policy.strategy == "none":
            return
        if plan:
            births = born(plan)
            others = tuple(edit for edit in plan if edit not in births.edits)
            yield births, Plan(others, plan.envelope)
        request, limits, view = position.turn.request, position.limits, position.view
        seen = _after(view.plan, position.weighed(), position.policy)
        alone = clip_alone(seen, limits)
        if alone and seen.tokens_under(alone) <= limits.limit_tokens:
            both = pruned(compose(view.plan, alone, request.messages))
            kept = tuple(edit for edit in both if edit in view.kept.edits)
            added = tuple(edit for edit in both if edit not in kept)
            yield Plan(kept, view.kept.envelope), Plan(added)

    def _attempt(self, position: Position, wanted: tuple[Plan, Plan]) -> Draft | Forbidden:
        answer = self._complete(position, *wanted)
        if isinstance(answer, Forbidden):
            return answer
        if plan_digest(answer) in position.refused:
            return Forbidden("the provider has refused these edits")
        draft = self._checked(position, answer)
        if isinstance(draft, Draft) and draft.tokens >= position.tokens:
            return Forbidden("")
        return draft if isinstance(draft, Forbidden) else replace(draft, is_compacted=True)

    def _written(self, position: Position, kept: Plan, added: Plan = EMPTY_PLAN) -> Draft | None:
        """Write what was sent before with something new; None where the provider would refuse it."""
        if not added and extends(kept, position.known.plan, position.known.messages):
            body = write(position.turn.request, kept, self._forms)
            return Draft(kept, body, position.tokens_of(kept, body))
        answer = self._complete(position, kept, added)
        draft = answer if isinstance(answer, Forbidden) else self._checked(position, answer)
        return None if isinstance(draft, Forbidden) else draft

    def _complete(self, position: Position, kept: Plan, added: Plan) -> Plan | Forbidden:
        """Let the format have the last word on what is new; on the rest it has had it."""
        answer = position.turn.request.format.complete(
            position.turn.request, added, headers_settable=self._headers_settable
        )
        return answer if isinstance(answer, Forbidden) else kept + answer

    def _checked(self, position: Position, plan: Plan) -> Draft | Forbidden:
        """Write the body and look at it once more."""
        request = position.turn.request
        body = write(request, plan, self._forms)
        if plan and (rule := _made_worse(request, body)):
            return Forbidden(f"the edited request would break rule {rule}")
        return Draft(plan, body, position.tokens_of(plan, body))

    def _finish(self, position: Position, draft: Draft) -> Rewrite:
        turn, measure = position.turn, position.measure
        plan = draft.plan
        if plan is not position.known.plan:
            plan = _priced(plan, position)
        outcome = _outcome(position, draft)
        ticket = Ticket(turn, position.known.state, _becomes(position, draft, plan), plan, outcome)
        return Rewrite(
            self._marked(position, draft),
            _headers(turn.call, plan),
            outcome,
            plan,
            ticket,
            _events(position, draft, outcome),
            (),
            measure.name,
            measure.quality if position.scale == Scale() else "calibrated",
        )

    def _marked(self, position: Position, draft: Draft) -> bytes:
        """The body with cache markers, where the policy wants them and the client set none."""
        turn, life = position.turn, position.policy.cache_markers
        if life == "off" or turn.request.manners.hands_off:
            return draft.body
        sent, stable = view_counts(draft.plan, position.known.messages, len(turn.links))
        hints = CacheHints(
            surface_tokens=position.surface.tokens,
            model=turn.call.model,
            sent_messages=sent,
            stable_messages=stable,
            key=conversation_key(turn.request, turn.links),
            life=life,
        )
        is_whole = draft.body is turn.call.body
        request = turn.request if is_whole else read(draft.body, turn.request.format.name)
        return with_cache_markers(request, position.measure.message, hints)


@dataclass(frozen=True, slots=True)
class _Room:
    """What a window has room for, and whether the wish for an answer had to be cut."""

    limit_tokens: int
    cut: ReserveCut | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a request stands before anything is decided.

    Attributes:
        turn: The request.
        known: What was sent for the part of it that is known.
        view: What would be sent if nothing had to be made smaller.
        policy: What the user wants.
        measure: Weighs.
        surface: Its model, system prompt and tools.
        tracker: What was billed for the requests before it.
        scale: How counts compare with what is billed.
        billed_limits: How large it may be on the bill.
        limits: How large it may be as it is counted.
        learned_tokens: A limit that the provider taught; None for none.
        refused: Digests of plans that the provider refused.
        cut: Told where the room for the answer had to be cut.
    """

    turn: Turn
    known: Known
    view: View
    policy: Policy
    measure: Measure
    surface: SurfaceDigest
    tracker: ContextTracker
    scale: Scale
    billed_limits: Limits
    limits: Limits
    learned_tokens: int | None
    refused: tuple[bytes, ...]
    cut: ReserveCut | None

    @property
    def tokens(self) -> int:
        """What the whole request would weigh if nothing was made smaller."""
        return self.surface.tokens + self.view.tokens

    @property
    def tokens_before(self) -> int:
        """What the whole request weighs as it came."""
        return self.surface.tokens + self.view.whole_tokens

    @property
    def is_due(self) -> bool:
        """Whether it is to be made smaller."""
        state, limits = self.known.state, self.limits
        if self.tokens > limits.limit_tokens:
            return True
        if self.is_retry:
            return False
        trigger = limits.trigger_tokens
        if self.is_cold:
            trigger = max(limits.target_tokens, int(trigger * _COLD_SHARE))
        return self.tokens > trigger and (state is None or self.tokens >= state.floor_tokens)

    @property
    def is_retry(self) -> bool:
        """Whether the very same messages were sent before."""
        return bool(self.known.messages) and self.known.messages == len(self.turn.links)

    @property
    def is_cold(self) -> bool:
        """Whether the provider's cache is lost anyway."""
        state, now = self.known.state, self.turn.call.now
        if state is None or not self.known.messages:
            return False
        if state.surface.model != self.surface.model or state.surface.tools != self.surface.tools:
            return True
        return bool(now and state.at) and now - state.at > _CACHE_SECONDS

    @property
    def comes_back(self) -> bool:
        """Whether a raised budget may have room for all that a smaller one had removed."""
        state, limit = self.known.state, self.policy.limit_tokens
        if state is None or limit is None or not self.known.plan:
            return False
        is_raised = limit > state.policy_limit_tokens > 0
        is_free = not self.turn.request.manners.binds_thinking
        return is_raised and is_free and self.tokens_before <= self.limits.trigger_tokens

    def weighed(self) -> History:
        """The request as it came, each message weighed."""
        return _weigh(self.turn.request, self.surface.tokens, self.measure, self.policy)

    def tokens_of(self, plan: Plan, body: bytes) -> int:
        """What really goes out. Texts that were counted before are not counted again."""
        if body is self.turn.call.body:
            return self.tokens_before
        if plan is self.view.kept and not self.view.added and self.known.counted:
            return self.tokens
        sent = read(body, self.turn.request.format.name)
        return self.surface.tokens + sum(map(self.measure.message, sent.messages))


@dataclass(frozen=True, slots=True)
class Draft:
    """A request on its way out.

    Attributes:
        plan: What is changed.
        body: Its bytes.
        tokens: What it weighs.
        cause: Why it does not extend what was sent before, if it does not.
        reason: Why it could not be made smaller; empty where nothing stood in the way.
        smallest_tokens: The least that could be made of it, where that was tried; else 0.
        floor_tokens: A compaction by trigger waits until the request is this large; None
            where none was tried, so that what was said before holds.
        is_compacted: Whether it was made smaller.
    """

    plan: Plan
    body: bytes
    tokens: int
    cause: BreakCause = "repaired"
    reason: str = ""
    smallest_tokens: int = 0
    floor_tokens: int | None = None
    is_compacted: bool = False


def _second_try(rewrite: Rewrite, told: Event) -> Rewrite:
    ticket = replace(rewrite.ticket, attempt=1)
    return replace(rewrite, events=(told, *rewrite.events), ticket=ticket)


def _learned(outcome: Outcome, refusal: Refusal) -> int:
    """The provider's limit in tokens as they are counted here."""
    sent = outcome.tokens_after
    if refusal.limit_tokens is None:
        return max(1, int(sent * _UNTOLD_SHARE))
    if refusal.sent_tokens:
        return max(1, min(sent - 1, sent * refusal.limit_tokens // refusal.sent_tokens))
    if refusal.limit_tokens < sent:
        return max(1, refusal.limit_tokens)
    return max(1, int(sent * _UNTOLD_SHARE))


def _weigh(request: Request, fixed_tokens: int, measure: Measure, policy: Policy) -> History:
    return History.weigh(request.messages, fixed_tokens, measure, policy, request.constraints)


def _priced(plan: Plan, position: Position) -> Plan:
    """The plan with what each edit saves; those that were sent before and births know it."""
    told = {id(edit) for edit in position.known.plan}
    new = [edit for edit in plan if id(edit) not in told and not _is_birth(edit)]
    prices = priced(Plan(tuple(new)), position.measure, position.turn.request.message)
    by_edit = {id(edit): said for edit, said in zip(new, prices, strict=True)}
    return Plan(tuple(by_edit.get(id(edit), edit) for edit in plan), plan.envelope)


def _is_birth(edit: Edit) -> bool:
    return isinstance(edit, Replace) and edit.is_birth


def _mended(request: Request, policy: Policy) -> Plan:
    """What to change in a history that arrived broken."""
    if not policy.repair or request.manners.hands_off:
        return EMPTY_PLAN
    return Plan(mend_pairs(request.messages, request.constraints))


def _after(plan: Plan, arrived: History, policy: Policy) -> History:
    """The history that a plan makes, weighed."""
    if not plan:
        return arrived
    messages = [slot.message for slot in apply(plan, arrived.messages)]
    constraints = _shifted(arrived.constraints, plan, arrived.messages)
    return History.weigh(messages, arrived.fixed_tokens, arrived.measure, policy, constraints)


def _shifted(constraints: Constraints, plan: Plan, messages: Sequence[Message]) -> Constraints:
    """The same constraints for the view that a plan makes of the messages."""
    places = {
        slot.source: place
        for place, slot in enumerate(apply(plan, messages))
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


def _tracker(
    state: State | None, surface: SurfaceDigest, known: Known, view: View
) -> ContextTracker:
    """What was billed for this conversation, where it was billed for this surface."""
    tracker = ContextTracker() if state is None else state.tracker.copy()
    tracker.carry_into((surface.model + surface.system + surface.tools).hex())
    if view.answer is not None and known.state is not None and known.state.billed_tokens:
        tracker.answered(view.answer.size_bytes, counted=view.answer.tokens)
    return tracker


def _scale(tracker: ContextTracker, surface: SurfaceDigest, view: View) -> Scale:
    """How this request's count compares with what it will hardly be billed more than."""
    counted = surface.tokens + view.tokens
    billed = tracker.upper(view.size_bytes, counted=view.tokens)
    near = tracker.predict(view.size_bytes, counted=view.tokens)
    far = tracker.predict(view.size_bytes, counted=view.tokens + _STEP)
    if billed is None or near is None or far is None or not _is_of(billed, counted):
        return Scale()
    return Scale(counted, billed, _STEP, max(1, far - near))


def _is_of(billed_tokens: int, counted_tokens: int) -> bool:
    """Whether what was billed can be of what was counted."""
    least, most = sorted((billed_tokens, counted_tokens))
    return least > 0 and most <= least * _MOST_OFF


def _surface(turn: Turn, measure: Measure, state: State | None) -> SurfaceDigest:
    """Hash the surface; weigh it only where it is another one than before."""
    request = turn.request
    forms = request.format.surface_forms(request.members)
    if not forms.model:  # the address names it
        forms = forms._replace(model=turn.call.model.encode("utf-8", "surrogatepass"))
    model, system, tools = map(digest, forms)
    if state is not None:
        before = state.surface
        if (before.model, before.system, before.tools) == (model, system, tools):
            return before
    return SurfaceDigest(model, system, tools, measure.surface(request.surface))


def _made_worse(request: Request, body: bytes) -> str:
    """The first rule that an edited body breaks more often than the original; empty for none."""
    after = Counter(problem.rule for problem in check(body, request.format.name))
    if not after:
        return ""  # the original, which may be far larger, need not be looked at
    before = Counter(problem.rule for problem in check(request.body, request.format.name))
    return next((rule for rule in after if after[rule] > before[rule]), "")


def _outcome(position: Position, draft: Draft) -> Outcome:
    """How it came out, on the provider's bill as far as that is known."""
    scale, limit = position.scale, position.billed_limits.limit_tokens
    before, after = scale.billed(position.tokens_before), scale.billed(draft.tokens)
    if after <= limit:
        status: OutcomeStatus = "fits" if draft.plan else "untouched"
        return Outcome(status, limit, before, after)
    smallest = min(scale.billed(draft.smallest_tokens) or after, after)
    if draft.reason:
        return Outcome("unmet", limit, before, after, smallest, draft.reason)
    told = "what is protected alone is larger than the limit"
    return Outcome("unsatisfiable", limit, before, after, smallest, told)


def _becomes(position: Position, draft: Draft, plan: Plan) -> State:
    """The state that is true once the provider has taken the request."""
    turn, known, view, state = position.turn, position.known, position.view, position.known.state
    tokens = draft.tokens - position.surface.tokens
    settled, settled_tokens, weighed = view.settled, view.settled_tokens, view.tokens
    view_bytes = view.size_bytes
    if draft.plan is not view.plan and draft.plan != view.plan:
        slots = apply(draft.plan, turn.request.messages)
        weights = [(slot, slot_tokens(position.measure, slot)) for slot in slots]
        settled, settled_tokens = settle(weights, 0, 0, draft.plan)
        weighed = sum(tokens for _, tokens in weights)
        view_bytes = message_bytes(slot.message for slot in slots)
    tracker = position.tracker
    if state is not None and not extends(known.plan, draft.plan, known.messages):
        tracker = tracker.copy()
        tracker.invalidate()
    floor = draft.floor_tokens
    if floor is None:
        floor = 0 if state is None else state.floor_tokens
    return State(
        key=turn.key,
        parent=b"" if state is None else state.key,
        origin=turn.links[0] if turn.links else turn.root,
        links=turn.links[known.messages :],
        messages=len(turn.links),
        plan=plan,
        seen=view.seen,
        full_results=view.full_results,
        rounds=view.rounds,
        settled=settled,
        # What joins texts weighs a token or two that no message has alone: it goes along,
        # also where nothing is settled yet.
        settled_tokens=settled_tokens + tokens - weighed,
        view_tokens=tokens,
        view_bytes=view_bytes,
        whole_tokens=view.whole_tokens,
        surface=position.surface,
        at=turn.call.now or (0.0 if state is None else state.at),
        policy_limit_tokens=position.policy.limit_tokens or 0,
        limit_tokens=position.learned_tokens,
        floor_tokens=floor,
        compactions=draft.is_compacted + (0 if state is None else state.compactions),
        steps=_steps(position),
        refused=position.refused,
        billed_tokens=0 if state is None else state.billed_tokens,
        tracker=tracker,
    )


def _steps(position: Position) -> tuple[int, ...]:
    """By how much the last turns grew; a fork or an edit of the client's is no turn."""
    state, known = position.known.state, position.known
    if state is None:
        return ()
    if not known.counted or position.is_retry:
        return state.steps
    return (*state.steps, position.view.tokens - state.view_tokens)[-STEPS:]


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


def _events(position: Position, draft: Draft, outcome: Outcome) -> tuple[Event, ...]:
    events: list[Event] = [PrefixBroken(cause) for cause in _causes(position, draft)]
    if position.cut is not None and position.known.state is None:
        events.append(position.cut)
    added = position.view.added
    if added and draft.plan and (draft.is_compacted or added.edits[0] in draft.plan.edits):
        events.append(HistoryRepaired(len(added.edits)))
    if draft.is_compacted:
        count = len(position.turn.links)
        events.append(
            ContextCompacted(
                "deterministic",
                count,
                Changes(draft.plan).count(count),
                outcome.tokens_before,
                outcome.tokens_after,
            )
        )
    limits = position.limits
    if draft.floor_tokens and limits.trigger_tokens < draft.tokens <= limits.limit_tokens:
        target = position.billed_limits.target_tokens
        waits = position.scale.billed(draft.floor_tokens)
        events.append(TriggerUnreachable(outcome.tokens_after, target, waits))
    if draft.reason and (outcome.status == "unmet" or not draft.is_compacted):
        events.append(PassedOn(draft.reason))
    return tuple(events)


def _causes(position: Position, draft: Draft) -> Iterator[BreakCause]:
    """Why the provider cannot read what was sent before from its cache."""
    known, state = position.known, position.known.state
    if state is None or not known.messages:
        return
    for cause in ("model", "system", "tools"):
        if getattr(state.surface, cause) != getattr(position.surface, cause):
            yield f"{cause}_changed"  # type: ignore[misc]  # each is one
    if known.is_edited:
        yield "client_edited"
    if not extends(known.plan, draft.plan, known.messages):
        yield "compaction" if draft.is_compacted else draft.cause
