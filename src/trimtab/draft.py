"""A request on its way out, and what follows from it: outcome, state, headers, events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.briefing import has_briefing
from trimtab.budget import Limits
from trimtab.events import (
    BreakCause,
    ContextCompacted,
    Event,
    HistoryRepaired,
    PassedOn,
    PrefixBroken,
    TriggerUnreachable,
)
from trimtab.lineage import extends
from trimtab.plan import Edit, Outcome, OutcomeStatus, Plan, Replace, apply
from trimtab.position import Position
from trimtab.recall import settle
from trimtab.state import STEPS, State
from trimtab.strategies.history import priced, slot_tokens
from trimtab.summary import KeptSummary
from trimtab.tracker import message_bytes
from trimtab.wire import Call

__all__ = [
    "Draft",
    "briefed_by",
    "events_of",
    "headers_for",
    "outcome_of",
    "priced_in",
    "state_after",
    "with_floor",
]


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
        summary: The summary that was spliced in; None for none.
    """

    plan: Plan
    body: bytes
    tokens: int
    cause: BreakCause = "repaired"
    reason: str = ""
    smallest_tokens: int = 0
    floor_tokens: int | None = None
    is_compacted: bool = False
    summary: KeptSummary | None = None


def with_floor(draft: Draft, limits: Limits) -> Draft:
    """The same; above its target the next compaction by trigger waits until as much has come on top."""
    floor = draft.tokens + limits.trigger_tokens - limits.target_tokens
    return replace(draft, floor_tokens=floor if draft.tokens > limits.target_tokens else 0)


def priced_in(plan: Plan, position: Position) -> Plan:
    """The plan with what each edit saves; those that were sent before and births know it."""
    told = {id(edit) for edit in position.known.plan}
    new = [edit for edit in plan if id(edit) not in told and not _is_birth(edit)]
    prices = priced(Plan(tuple(new)), position.measure, position.turn.request.message)
    by_edit = {id(edit): said for edit, said in zip(new, prices, strict=True)}
    return Plan(tuple(by_edit.get(id(edit), edit) for edit in plan), plan.envelope)


def _is_birth(edit: Edit) -> bool:
    return isinstance(edit, Replace) and edit.is_birth


def outcome_of(position: Position, draft: Draft) -> Outcome:
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


def state_after(position: Position, draft: Draft, plan: Plan) -> State:
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
        turns=(0 if state is None else state.turns) + (not position.is_retry),
        compactions=draft.is_compacted + (0 if state is None else state.compactions),
        briefed=briefed_by(position, draft),
        summary_floor_tokens=0 if state is None else state.summary_floor_tokens,
        steps=_steps(position),
        refused=position.refused,
        billed_tokens=0 if state is None else state.billed_tokens,
        tracker=tracker,
    )


def briefed_by(position: Position, draft: Draft) -> int:
    """How many messages the briefing covers that stands in the request."""
    if draft.summary is not None:
        return draft.summary.cut
    state = position.known.state
    return state.briefed if state is not None and has_briefing(draft.plan) else 0


def _steps(position: Position) -> tuple[int, ...]:
    """By how much the last turns grew; a fork or an edit of the client's is no turn."""
    state, known = position.known.state, position.known
    if state is None:
        return ()
    if not known.counted or position.is_retry:
        return state.steps
    return (*state.steps, position.view.tokens - state.view_tokens)[-STEPS:]


def headers_for(call: Call, plan: Plan) -> dict[str, str]:
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


def events_of(position: Position, draft: Draft, outcome: Outcome) -> tuple[Event, ...]:
    """What happened, for whoever listens."""
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
                "deterministic" if draft.summary is None else "summarized",
                count,
                draft.plan.changes.count(count),
                outcome.tokens_before,
                outcome.tokens_after,
                None if draft.summary is None else draft.summary.stats,
                position.due_cause,
                position.scale.billed(position.tokens),
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
