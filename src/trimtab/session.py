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
    wanted + what a model has answered     ──> accepted  ──> KeptSummary | Refused

Pure and synchronous: no I/O, clock, lock, task or log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from trimtab.births import Births, born, pruned
from trimtab.briefing import (
    Refused,
    Span,
    briefing_of,
    judge,
    splice,
    tail_tokens,
    wanted_summary,
    with_marker_absorbed,
)
from trimtab.budget import Scale
from trimtab.chain import links, root
from trimtab.draft import (
    Draft,
    briefed_by,
    events_of,
    headers_for,
    outcome_of,
    priced_in,
    state_after,
    with_floor,
)
from trimtab.economy import Cut, knows_models, rates_of, turns_to_come, weigh_cut, window_of
from trimtab.errors import PolicyError
from trimtab.events import EditsQuarantined, Event, LimitLearned, ReserveCut
from trimtab.ladder import climb, clip_alone
from trimtab.lineage import extends, first_difference
from trimtab.messages import Message
from trimtab.plan import EMPTY_PLAN, Forbidden, Outcome, Plan, compose, places_in
from trimtab.policy import Policy, Preset
from trimtab.position import (
    Position,
    after,
    is_of,
    mending,
    scale_for,
    surface_of,
    tracker_for,
    weigh_all,
)
from trimtab.recall import go_on, recall
from trimtab.refusal import Refusal
from trimtab.state import State
from trimtab.stored_plan import plan_digest
from trimtab.strategies.history import History
from trimtab.strategies.mend_pairs import mend_pairs
from trimtab.summary import KeptSummary, Summary, SummaryStats, WantedSummary
from trimtab.tokens import Measure, TokenCounter, counter_for
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


_UNTOLD_SHARE = 0.8
"""Of a request that was too large by nobody knows how much, this share is tried."""

_RECALL, _OURS = "recall", "trimtab"
"""What the tool is called that gives back what was left out; clients put our name in front."""

_ASKING_SHARE = 0.6
"""Of the trigger: from here on a summary is wanted, so that it is there when one is due."""

_LOOK_AGAIN_SHARE = 20
"""Where there was nothing to sum up, or a cut would not have paid, the next look is a twentieth
of the trigger later."""


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

    def read(
        self,
        call: Call,
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
        before: Turn | None = None,
    ) -> Turn:
        """Read a request.

        Args:
            call: What came in.
            format: Name of its format; None to tell it from the content.
            tenant: Whose conversation it is; two tenants share nothing.
            before: Any request that was read, best the one before it: what both begin with
                is not split and hashed again. It changes how long this takes and nothing else.

        Raises:
            RequestError: If it is no request of a known format.
        """
        request = read(call.body, format, before=None if before is None else before.request)
        start = root(tenant, request.format.name)
        known = () if before is None else before.links_shared_with(request, start, call)
        forms = request.sorted_forms if call.is_built else request.forms
        new = links(known[-1] if known else start, forms(len(known)))
        return Turn(call, request, start, known + new)

    def rewrite(
        self,
        turn: Turn,
        state: State | None = None,
        summary: KeptSummary | None = None,
        *,
        may_ask: bool = True,
    ) -> Rewrite:
        """Say what to send for a request.

        Args:
            turn: The request.
            state: What is known of its conversation; None for a new one.
            summary: The newest summary that was accepted for these messages; None for none.
            may_ask: Whether another summary may be wanted now: none is under way.

        Returns:
            The rewrite. Where it does not fit, its outcome says why and what
            it would take; its body is then as small as the rules of its
            format let it be, roles alternating where they did.

        Raises:
            PolicyError: If nobody named a limit and the model's window is not known.
            TokenCountError: If the counter fails.
        """
        position = self._position(turn, state)
        position = replace(position, summary=summary, may_ask=may_ask)
        return self._finish(position, self._draft(position))

    # --------------------------------------------------------------- after

    def forwarded(self, ticket: Ticket) -> State:
        """Learn that the provider has taken a request: at the first byte of a 2xx, never before."""
        return ticket.becomes

    def observed(self, ticket: Ticket, usage: Usage) -> State:
        """Learn what a request was billed, and so how large the next one will be."""
        becomes = replace(ticket.becomes, billed_tokens=usage.total_input)
        if not is_of(usage.total_input, becomes.surface.tokens + becomes.view_tokens):
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

    def accepted(self, wanted: WantedSummary, summary: object) -> KeptSummary | Refused:
        """Judge what a model has answered.

        Args:
            wanted: What it was asked for.
            summary: What it has answered, whatever that is.

        Returns:
            What may stand for the messages from now on; or why it may not.
        """
        measure = self._measure(wanted.model)
        judged = judge(summary, wanted.tokens, self.policy.summary_min_gain, measure.text)
        if isinstance(judged, Refused) or not isinstance(summary, Summary):
            assert isinstance(judged, Refused)
            return judged
        stats = SummaryStats(wanted.cut - wanted.head, summary.usage, summary.cost)
        return KeptSummary(judged.text, wanted.head, wanted.cut, stats)

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
        return weigh_all(request, measure.surface(request.surface), measure, self.policy)

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
        surface = surface_of(turn, measure, state)
        is_weighed = state is None or state.surface.model == surface.model
        known = recall(turn, state, is_weighed=is_weighed)
        births = self._births(request, state, policy)
        view = go_on(turn, known, measure, repair=policy.repair, births=births)
        if state is not None and learned_tokens is None and state.surface.model == surface.model:
            learned_tokens = state.limit_tokens
        given = [] if room is None else [room.limit_tokens]
        given += [] if learned_tokens is None else [learned_tokens]
        tracker = tracker_for(state, surface, known, view)
        scale = scale_for(tracker, surface, view)
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

    def _births(self, request: Request, state: State | None, policy: Policy) -> Births:
        """What may be done to what tools just answered."""
        preset = self._preset(request, state, policy)
        can_recall = preset == "agent" and self._can_recall and _offers_recall(request)
        return Births(preset, policy, can_recall)

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
                f"the window {named}is not known: name the tokens that a request must not pass"
                f"{'' if knows_models() else ', or install trimtab[prices], which knows many models'}",
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
        if not position.is_due:
            return self._extend(position)
        smaller = self._compact(position)
        if position.is_over or position.policy.trigger_tokens is not None:
            return smaller
        return smaller if _pays(position, smaller) else self._hold_back(position)

    def _hold_back(self, position: Position) -> Draft:
        """What was sent before and what is new: the turns to come would not pay for less."""
        later = position.tokens + position.limits.trigger_tokens // _LOOK_AGAIN_SHARE
        return replace(self._extend(position), floor_tokens=later)

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
        mended = mending(position.turn.request, position.policy)
        draft = self._written(position, born(position.view.plan), mended)
        if draft is None or draft.tokens > position.limits.trigger_tokens:
            return None
        return replace(draft, cause="budget_raised")

    def _compact(self, position: Position) -> Draft:
        """Make it smaller, in one step and down to the target, at a place where it may be cut."""
        summed = self._summed_up(position)
        if summed is not None:
            return with_floor(summed, position.limits)
        request, limits = position.turn.request, position.limits
        arrived = position.weighed()
        mended = born(position.view.plan) + mending(request, position.policy)
        climbed = climb(after(mended, arrived, position.policy), limits)
        plan = pruned(compose(mended, climbed.plan, request.messages), request.messages)
        reason, chosen = climbed.forbidden, None
        for wanted in self._candidates(position, plan if climbed.plan else EMPTY_PLAN):
            answer = self._attempt(position, wanted)
            if isinstance(answer, Draft):
                chosen = answer
                break
            reason = reason or answer.reason
        if chosen is None:
            chosen = self._extend(position)
        smallest = min(climbed.smallest_tokens, chosen.tokens)
        return with_floor(replace(chosen, reason=reason, smallest_tokens=smallest), limits)

    def _summed_up(self, position: Position) -> Draft | None:
        """A briefing in place of what it covers; else an earlier one, and what follows it smaller.

        Returns:
            None where there is none, or no room for it.
        """
        manners = position.turn.request.manners
        if manners.hands_off or "compaction" in manners.left_to_client:
            return None
        for planned in (self._with_new_briefing, self._with_old_briefing):
            plan, summary = planned(position)
            if not plan:
                continue
            births = born(plan)
            others = tuple(edit for edit in plan if edit not in births.edits)
            draft = self._attempt(position, (births, Plan(others, plan.envelope)))
            if isinstance(draft, Draft) and draft.tokens <= position.limits.limit_tokens:
                return replace(draft, summary=summary)
        return None

    def _with_new_briefing(self, position: Position) -> tuple[Plan, KeptSummary | None]:
        """The summary that has been made in the meantime, spliced in."""
        summary, state = position.summary, position.known.state
        covered = 0 if state is None else state.briefed
        if summary is None or not covered < summary.cut < len(position.turn.links):
            return EMPTY_PLAN, None
        request, limits = position.turn.request, position.limits
        base = born(position.view.plan) + mending(request, position.policy)
        history = after(base, position.weighed(), position.policy)
        places = places_in(base, request.messages)
        if summary.head not in places or summary.cut not in places:
            return EMPTY_PLAN, None
        span = Span(places[summary.head], places[summary.cut], summary.stats.span_messages, 0)
        tail = tail_tokens(limits.limit_tokens)
        spliced = splice(history, span, summary.text, limits, tail)
        plan = compose(base, spliced.plan, request.messages)
        return pruned(plan, request.messages), summary

    def _with_old_briefing(self, position: Position) -> tuple[Plan, KeptSummary | None]:
        """The briefing that stands there, and what follows it made smaller by rule."""
        request, policy = position.turn.request, position.policy
        briefing = briefing_of(position.known.plan, request.messages)
        if not briefing:
            return EMPTY_PLAN, None
        base = born(position.view.plan) + briefing
        kept = replace(policy, protect=_keeps_briefings(policy))
        history = after(base, position.weighed(), kept)
        if policy.repair:
            mended = Plan(mend_pairs(history.messages, history.constraints))
            base = compose(base, mended, request.messages)
            history = after(base, position.weighed(), kept)
        climbed = climb(history, position.limits)
        whole = with_marker_absorbed(history, climbed.plan, position.limits)
        plan = compose(base, whole.plan, request.messages)
        return pruned(plan, request.messages), None

    def _wanted(self, position: Position, draft: Draft) -> WantedSummary | None:
        """What is to be summed up by the time that a compaction is due."""
        if not _is_asking(position, draft):
            return None
        turn, limits = position.turn, position.limits
        view = after(draft.plan, position.weighed(), position.policy)
        tail = tail_tokens(limits.limit_tokens)
        wanted = wanted_summary(view, draft.plan, turn.request.messages, turn.links, tail)
        state = position.known.state
        covered = position.summary.cut if position.summary is not None else 0
        covered = max(covered, 0 if state is None else state.briefed)
        if wanted is None or wanted.cut <= covered:
            return None
        return replace(wanted, model=turn.request.surface.model or turn.call.model)

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
        seen = after(view.plan, position.weighed(), position.policy)
        alone = clip_alone(seen, limits)
        if alone and seen.tokens_under(alone) <= limits.limit_tokens:
            both = pruned(compose(view.plan, alone, request.messages), request.messages)
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
            plan = priced_in(plan, position)
        outcome = outcome_of(position, draft)
        wanted = self._wanted(position, draft)
        becomes = state_after(position, draft, plan)
        if wanted is None and _is_asking(position, draft):
            later = draft.tokens + position.limits.trigger_tokens // _LOOK_AGAIN_SHARE
            becomes = replace(becomes, summary_floor_tokens=later)
        ticket = Ticket(turn, position.known.state, becomes, plan, outcome, wanted=wanted)
        return Rewrite(
            self._marked(position, draft),
            headers_for(turn.call, plan),
            outcome,
            plan,
            ticket,
            events_of(position, draft, outcome),
            wanted,
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


def _pays(position: Position, draft: Draft) -> bool:
    """Whether as many turns as there were would pay for a compaction."""
    state = position.known.state
    if not draft.is_compacted:
        return True
    count = position.known.messages
    is_cached = state is not None and count and not position.is_cold
    same = first_difference(position.known.plan, draft.plan, count)
    surface = position.surface.tokens
    front = sum(position.weighed().message_tokens[:same]) if is_cached else 0
    cut = Cut(
        before=max(position.tokens, draft.tokens),
        after=draft.tokens,
        kept=surface + front,
        cached=surface + state.view_tokens if state is not None and is_cached else 0,
    )
    turns = turns_to_come(0 if state is None else state.turns)
    rates = rates_of(position.model, is_long=position.is_kept_long)
    return weigh_cut(cut, rates, turns).pays


def _is_asking(position: Position, draft: Draft) -> bool:
    """Whether a summary should be looked for."""
    policy, manners = position.policy, position.turn.request.manners
    if not (policy.summaries and position.may_ask) or position.is_retry:
        return False
    if manners.hands_off or "compaction" in manners.left_to_client:
        return False
    if position.summary is not None and position.summary.cut > briefed_by(position, draft):
        return False  # one lies ready
    state = position.known.state
    floor = 0 if state is None else state.summary_floor_tokens
    return draft.tokens > position.limits.trigger_tokens * _ASKING_SHARE and draft.tokens >= floor


def _keeps_briefings(policy: Policy) -> Callable[[Message], bool]:
    protect = policy.protect

    def is_kept(message: Message) -> bool:
        return message.origin == "summary" or (protect is not None and protect(message))

    return is_kept


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


def _offers_recall(request: Request) -> bool:
    """Whether the model has a tool of ours that answers with what was left out."""
    names = (tool.name for tool in request.surface.tools)
    return any(
        name == _RECALL or (name.endswith(_RECALL) and _OURS in name.lower()) for name in names
    )


def _made_worse(request: Request, body: bytes) -> str:
    """The first rule that an edited body breaks more often than the original; empty for none."""
    after = Counter(problem.rule for problem in check(body, request.format.name))
    if not after:
        return ""  # the original, which may be far larger, need not be looked at
    before = Counter(problem.rule for problem in check(request.body, request.format.name))
    return next((rule for rule in after if after[rule] > before[rule]), "")
