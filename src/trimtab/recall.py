"""What was sent for the part of a request that is known, and what follows it.

On most turns a request extends the one before it. Then nothing of the known
part is decoded or weighed again: what was sent for it stays, and only the new
messages are looked at. After a fork, a rewind or an edit of the client's the
plan is carried over as far as it goes and everything is weighed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial

from trimtab.births import Births, Earlier, birth_edits, grounded, note_results
from trimtab.chain import NO_ROUNDS, Rounds, rounds_after
from trimtab.lineage import align, carried, shifted, sound, within
from trimtab.messages import Message, ToolResult
from trimtab.plan import EMPTY_PLAN, Drop, Edit, Fold, Keep, Plan, Replace, Slot, apply, compose
from trimtab.state import State
from trimtab.strategies.history import slot_tokens
from trimtab.strategies.mend_pairs import NO_RESULT, mend_pairs
from trimtab.tokens import Measure
from trimtab.tracker import message_bytes
from trimtab.turn import Turn

__all__ = ["Known", "Size", "View", "go_on", "recall", "settle"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a request before it is looked at.

    Attributes:
        state: Where that comes from; None for a new conversation.
        messages: How many of its messages were sent before.
        plan: What was sent in place of them.
        is_edited: Whether the client changed messages that were sent before.
        counted: How many messages the rest of this is about.
        settled: Messages before it are closed and weighed.
        settled_tokens: What they weigh as they were sent; see :class:`~trimtab.state.State`.
        whole_tokens: What the counted messages weigh as they came.
        view_bytes: How large they are as they were sent.
        rounds: What the weak key hashes of them.
        seen: Their digests.
        full_results: Which results of them were sent in full.
    """

    state: State | None = None
    messages: int = 0
    plan: Plan = EMPTY_PLAN
    is_edited: bool = False
    counted: int = 0
    settled: int = 0
    settled_tokens: int = 0
    whole_tokens: int = 0
    view_bytes: int = 0
    rounds: Rounds = NO_ROUNDS
    seen: bytes = field(default=b"", repr=False)
    full_results: bytes = field(default=b"", repr=False)


def recall(turn: Turn, state: State | None, *, is_weighed: bool = True) -> Known:
    """Say what is known of a request.

    Args:
        turn: The request.
        state: What was found of its conversation; None for nothing.
        is_weighed: Whether what the state says of weights still holds; they are those of
            its model.
    """
    if state is None or not state.messages:
        return Known(state)
    if state.messages <= len(turn.links) and turn.links[state.messages - 1] == state.key:
        if not is_weighed:
            return Known(state, state.messages, state.plan)
        return Known(
            state,
            state.messages,
            state.plan,
            counted=state.messages,
            settled=state.settled,
            settled_tokens=state.settled_tokens,
            whole_tokens=state.whole_tokens,
            view_bytes=state.view_bytes,
            rounds=state.rounds,
            seen=state.seen,
            full_results=state.full_results,
        )
    places = align(state.digests(), turn.digests())
    messages, manners = turn.request.messages, turn.request.manners
    if not places.is_edited:
        plan = within(state.plan, places.shared)
        return Known(state, places.shared, sound(plan, messages, manners, places.shared))
    plan = grounded(carried(state.plan, places), messages)
    newest = max(places.now.values()) + 1
    return Known(state, newest, sound(plan, messages, manners), is_edited=True)


@dataclass(frozen=True, slots=True)
class Size:
    """How large some messages are.

    Attributes:
        tokens: As they were counted.
        size_bytes: See :func:`~trimtab.tracker.message_bytes`.
    """

    tokens: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class View:
    """A request as it would be sent if nothing had to be made smaller.

    Attributes:
        kept: What was sent in place of what is known, as far as it stays.
        added: Edits that mend what is new.
        born: Birth edits of what is new.
        tokens: What its messages weigh as they would be sent.
        whole_tokens: What they weigh as they came.
        settled: Messages before it are closed.
        settled_tokens: What they weigh as they would be sent.
        rounds: What the weak key hashes.
        seen: A digest of each message.
        full_results: Which results are sent in full; see :func:`~trimtab.births.note_results`.
        size_bytes: How large its messages are; see :func:`~trimtab.tracker.message_bytes`.
        answer: The answer to what was sent last, where it came back.
    """

    kept: Plan
    added: Plan
    born: Plan
    tokens: int
    whole_tokens: int
    settled: int
    settled_tokens: int
    rounds: Rounds
    seen: bytes = field(repr=False)
    full_results: bytes = field(repr=False)
    size_bytes: int = 0
    answer: Size | None = None

    @property
    def plan(self) -> Plan:
        """All edits of it."""
        new = self.added + self.born if self.added else self.born
        return self.kept + new if new else self.kept


def go_on(
    turn: Turn, known: Known, measure: Measure, *, repair: bool, births: Births | None = None
) -> View:
    """Go on from what is known: mend, squeeze and weigh what is new.

    Args:
        turn: The request.
        known: What is known of it.
        measure: Weighs messages.
        repair: Whether what is broken on arrival is mended.
        births: What may be done to what tools just answered; None for nothing.

    Raises:
        TokenCountError: If the counter fails.
    """
    request = turn.request
    start = known.settled
    head, tail = _parted(known.plan, start)
    messages = [message.decoded() for message in request.messages_from(start)]
    before = shifted(tail, -start)
    sent = _without_answered(before, messages, known.messages - start)
    if not known.counted:
        sent = _without_strange(sent, messages)
    added = EMPTY_PLAN
    if repair and not request.manners.hands_off:
        seen = [slot.message for slot in apply(sent, messages)]
        mended = Plan(mend_pairs(seen, request.manners))
        sent, added = _told_apart(sent, compose(sent, mended, messages))
        # After an edit the prefix is broken anyway; after a fork what was known behind it may be
        # what had made the rest sound. Then all of it is mended.
        if known.counted:
            come = _answered(messages, known.messages - start)
            is_new = partial(_is_new, known=known.messages - start, come=come)
            added = Plan(tuple(filter(is_new, added)))
    births = births or Births()
    born = Plan(
        birth_edits(
            births,
            messages,
            known.messages - start,
            measure,
            earlier=Earlier(known.full_results, known.plan, request.message),
            untouchable=_named(added),
        )
    )
    came = [measure.message(message) for message in messages]
    weighed = [
        (
            slot,
            slot_tokens(measure, slot)
            if slot.source is None or not slot.is_untouched
            else came[slot.source],
        )
        for slot in apply(sent + added + born, messages)
    ]
    new = known.counted - start  # what was counted reaches at least to what is settled
    full_results = known.full_results
    if births.preset == "agent":
        edits = [edit for edit in (*sent, *born) if isinstance(edit, Replace) and edit.is_birth]
        full_results += note_results(messages, start, edits, new)
    fresh = [born_slot.message for born_slot in apply(shifted(born, -new), messages[new:])]
    kept = known.plan if sent.edits == before.edits else head + shifted(sent, start)
    added = shifted(added, start) if added else EMPTY_PLAN
    born = shifted(born, start) if born else EMPTY_PLAN
    plan = kept + added + born
    settled, settled_tokens = settle(weighed, start, known.settled_tokens, plan)
    return View(
        kept,
        added,
        born,
        known.settled_tokens + sum(tokens for _, tokens in weighed),
        known.whole_tokens + sum(came[new:]),
        settled,
        settled_tokens,
        rounds_after(known.rounds, messages[new:]),
        known.seen + b"".join(turn.digests(known.counted)),
        full_results,
        known.view_bytes + message_bytes(fresh),
        _answer(messages[new:], came[new:]) if known.counted else None,
    )


def _named(plan: Plan) -> AbstractSet[int]:
    """The messages that a plan names."""
    named: set[int] = set()
    for edit in plan:
        match edit:
            case Replace():
                named.add(edit.message)
            case Drop() | Keep():
                named.add(edit.ref.message)
            case Fold():
                named.update(ref.message for ref in edit.removed)
                named.update(() if edit.joins is None else (edit.joins,))
    return named


def _answer(messages: Sequence[Message], tokens: Sequence[int]) -> Size:
    """The answer to what was sent last: the assistant's messages that new ones begin with."""
    count = next((n for n, m in enumerate(messages) if m.role != "assistant"), len(messages))
    return Size(sum(tokens[:count]), message_bytes(messages[:count]))


def _told_apart(old: Plan, new: Plan) -> tuple[Plan, Plan]:
    """Which edits of a plan were there before, and which came with it."""
    staying = tuple(edit for edit in new if edit in old.edits)
    return Plan(staying, old.envelope), Plan(tuple(e for e in new if e not in staying))


def _is_new(edit: Edit, known: int, come: AbstractSet[str]) -> bool:
    """Whether an edit is about what was not sent yet; what was sent broken was taken so.

    A result that comes late is new, also where it is moved in front of what was sent.
    """
    match edit:
        case Replace():
            return edit.message >= known
        case Drop() | Keep():
            return edit.ref.message >= known
        case Fold():
            is_behind = edit.before >= known or any(ref.message >= known for ref in edit.removed)
            return is_behind or _answers(edit, come)


def _without_answered(plan: Plan, messages: Sequence[Message], known: int) -> Plan:
    """Take back a made result whose call has been answered in the meantime."""
    come = _answered(messages, known)
    edits = [edit for edit in plan if not (isinstance(edit, Fold) and _answers(edit, come))]
    return plan if len(edits) == len(plan.edits) else Plan(tuple(edits), plan.envelope)


def _without_strange(plan: Plan, messages: Sequence[Message]) -> Plan:
    """Take back a result that was moved in front of where it came, and never came in this history."""
    here = _answered(messages, 0)
    edits = [edit for edit in plan if not (isinstance(edit, Fold) and _is_strange(edit, here))]
    return plan if len(edits) == len(plan.edits) else Plan(tuple(edits), plan.envelope)


def _is_strange(edit: Fold, here: AbstractSet[str]) -> bool:
    return edit.message.origin == "repair" and any(
        part.call_id not in here and part.text != NO_RESULT
        for part in edit.message.parts
        if isinstance(part, ToolResult)
    )


def _answered(messages: Sequence[Message], start: int) -> AbstractSet[str]:
    """The calls whose results have come from a message on."""
    return {call_id for message in messages[start:] for call_id in message.result_ids}


def _answers(edit: Fold, call_ids: AbstractSet[str]) -> bool:
    return edit.message.origin == "repair" and any(
        part.call_id in call_ids for part in edit.message.parts if isinstance(part, ToolResult)
    )


def settle(
    weighed: Iterable[tuple[Slot, int]], start: int, tokens: int, plan: Plan
) -> tuple[int, int]:
    """Find the last place before which everything is closed: an answer begins there.

    Args:
        weighed: The view from a settled place on, each message with what it weighs;
            sources count from there.
        start: That place.
        tokens: What the view before it weighs.
        plan: The whole plan; no edit of it may lie on both sides.

    Returns:
        The place, and what the view before it weighs.
    """
    found = (start, tokens)
    reaches = [reach for edit in plan if (reach := _reach(edit))[0] < reach[1]]
    awaited: set[str] = set()
    role = ""
    for slot, weight in weighed:
        message = slot.message
        begins = message.role == "assistant" and role != "assistant" and not awaited
        if begins and slot.source is not None and _is_parting(reaches, start + slot.source):
            found = (start + slot.source, tokens)
        tokens += weight
        awaited.difference_update(message.result_ids)
        awaited.update(message.call_ids)
        role = message.role
    return found


def _is_parting(reaches: Iterable[tuple[int, int]], place: int) -> bool:
    return place <= 0 or not any(low < place <= high for low, high in reaches)


def _parted(plan: Plan, place: int) -> tuple[Plan, Plan]:
    """The edits before a place, and those from it on."""
    head, tail = list[Edit](), list[Edit]()
    for edit in plan:
        _, high = _reach(edit)
        (head if high < place and place > 0 else tail).append(edit)
    return Plan(tuple(head), plan.envelope), Plan(tuple(tail))


def _reach(edit: Edit) -> tuple[int, int]:
    """The first and the last message that an edit is about."""
    match edit:
        case Replace():
            return edit.message, edit.message
        case Drop() | Keep():
            return edit.ref.message, edit.ref.message
        case Fold():
            # What it makes stands in front of a place and belongs to what is before that.
            places = [*(ref.message for ref in edit.removed), edit.before - 1]
            places += [] if edit.joins is None else [edit.joins]
            return min(places), max(places)
