"""Put a briefing in place of the messages that it stands for.

::

    [head][briefing: first line, ledger, summary][what is protected of the span][tail]

There is one briefing and no marker beside it: an earlier one lies in the span
and goes with it, and the ledger of an earlier marker goes on in the
briefing's. Where the whole is over its target the tail gives way, never the
briefing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from trimtab.boundaries import MARKER, round_starts, split_marker
from trimtab.briefing.spans import Span, going, message_cuts
from trimtab.briefing.texts import briefing_text, parted
from trimtab.budget import Limits
from trimtab.ladder import climb
from trimtab.ledger import merge, read_ledger, render
from trimtab.marker import ledger_tokens, with_ledger
from trimtab.messages import Message, Text
from trimtab.plan import Drop, Edit, Fold, Keep, Plan, Ref, Replace, Slot, apply, compose
from trimtab.strategies.fold import FILLER, GO_ON
from trimtab.strategies.history import History

__all__ = ["REASON", "Spliced", "alternating", "splice", "with_marker_absorbed"]

REASON = "summed up by a model"

_SPEAKING = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Spliced:
    """A briefing in its place.

    Attributes:
        plan: What is done to the messages, by their places.
        tokens: What the whole request weighs under it.
        messages: The view that it makes.
    """

    plan: Plan
    tokens: int
    messages: list[Message] = field(repr=False)


def splice(
    history: History,
    span: Span,
    summary: str,
    limits: Limits,
    tail_tokens: int = 0,
    *,
    fills: bool = False,
) -> Spliced:
    """Put a briefing in place of a span, and make the tail smaller where that is needed.

    Args:
        history: What there is.
        span: What the briefing stands for.
        summary: What the model wrote.
        limits: The target to come down to, and the limit that should be kept.
        tail_tokens: Down to so many tokens the tail is not made smaller for the target's
            sake, only for the limit's.
        fills: Whether the newest messages of the span stay too, word for word, as far as
            the target leaves room.

    Returns:
        The plan. It may still be over the limit: then there is no room for the briefing.
    """
    plan = _bare(history, span, summary, limits)
    if fills:
        plan = _filled(history, span, summary, limits, plan)
    bare = Spliced(plan, history.tokens_under(plan), _view(plan, history.messages))
    target = _target(history, bare, span, limits, tail_tokens)
    if bare.tokens > target:
        plan = _with_smaller_tail(history, bare, replace(limits, target_tokens=target))
    return _alternating(history, plan, limits)


def _bare(history: History, span: Span, summary: str, limits: Limits) -> Plan:
    """The briefing in place of its span, with a ledger of what goes."""
    places = going(history, span.head, span.cut)
    refs = _refs(history, places)
    before = _first_place(history, refs, span.head)
    marker = Fold(refs, before, Message.user(MARKER, origin="marker"), REASON)
    kept = (Keep(ref, why) for ref, why in _kept(history, before, places))
    strips = tuple(_strips(history, refs))
    plan = Plan((*kept, *strips, marker))
    ledger = _ledger(history, plan, limits)
    briefing = Message.user(briefing_text(ledger, summary), origin="summary")
    return Plan((*plan.edits[:-1], replace(marker, message=briefing)))


def _filled(history: History, span: Span, summary: str, limits: Limits, plan: Plan) -> Plan:
    """The same with the earliest cut at which it is still within the target."""
    room = limits.target_tokens - history.tokens_under(plan)
    cuts = [cut for cut in message_cuts(history) if span.head < cut < span.cut]
    tokens = history.message_tokens
    while cuts and sum(tokens[cuts[0] : span.cut]) > room + sum(tokens[span.head : cuts[0]]) // 4:
        del cuts[0]  # beyond what the target has room for, a shorter ledger counted in
    for cut in cuts:
        longer = _bare(history, replace(span, cut=cut), summary, limits)
        if history.tokens_under(longer) <= limits.target_tokens:
            return longer
    return plan


def _ledger(history: History, plan: Plan, limits: Limits) -> str:
    """The ledger of what a plan removes, whose last edit makes a bare marker.

    There is always room for it: where there is none the tail gives way.
    """
    most = ledger_tokens(history.policy, limits.target_tokens)
    tokens = history.tokens_under(plan)
    roomy = max(limits.limit_tokens, tokens + 2 * most)
    noted = with_ledger(history, plan, tokens, Limits(roomy, roomy, roomy)).plan
    told = noted.edits[-1]
    text = told.message.text.removeprefix(MARKER).strip() if isinstance(told, Fold) else ""
    count = history.measure.text
    return text if count(text) <= most else render(read_ledger(text), most, count)


def _refs(history: History, places: Sequence[int]) -> tuple[Ref, ...]:
    """What goes, in order; two halves of a message that both go are the message."""
    halves: dict[int, list[int]] = {}
    refs: list[Ref] = []
    for place in places:
        ref = history.boundaries.pieces[place].ref
        if ref.parts is None:
            refs.append(ref)
        else:
            halves.setdefault(ref.message, []).extend(ref.parts)
    for message, parts in halves.items():
        is_all = len(parts) == len(history.messages[message].parts)
        refs.append(Ref(message, None if is_all else tuple(sorted(parts))))
    return tuple(sorted(refs, key=lambda ref: ref.message))


def _first_place(history: History, refs: Sequence[Ref], head: int) -> int:
    """Where the briefing stands: behind the head, and behind what the conversation began with.

    What else is protected follows it: a model that reads the question first and then what went
    before takes the question for old. One that stays in part stays before it.
    """
    before = head
    if refs:
        first = refs[0]
        is_behind = first.parts is not None and 0 not in first.parts
        began = _beginning(history, head, first.message)
        before = first.message + 1 if is_behind else began
    start = history.constraints.turn_start
    return before if start is None else min(before, start)


def _beginning(history: History, head: int, end: int) -> int:
    """The first message from a place on that is no instruction and not the first user message."""
    starts = round_starts(history.messages)
    first_user = starts[0] if starts else None
    for place in range(head, end):
        if place != first_user and history.messages[place].role not in ("system", "developer"):
            return place
    return end


def _kept(history: History, before: int, places: Sequence[int]) -> Iterator[tuple[Ref, str]]:
    """What is protected between the briefing and the last that goes."""
    for place, why in sorted(history.protected.items()):
        ref = history.boundaries.pieces[place].ref
        if places and place < places[-1] and ref.message >= before:
            yield ref, why


def _strips(history: History, gone: Sequence[Ref]) -> Iterator[Edit]:
    """Take earlier markers out of what stays: the briefing goes on with their ledgers."""
    whole = {ref.message for ref in gone if ref.parts is None}
    for place, message in enumerate(history.messages):
        is_open = place not in whole and place not in history.constraints.frozen
        if not is_open or message.role != "user" or not message.has_own_words:
            continue
        if message.origin is not None and message.origin != "marker":
            continue
        yield from _stripped(place, message)


def _stripped(place: int, message: Message) -> Iterator[Edit]:
    parts = message.parts
    markers: list[int] = []
    for number, part in enumerate(parts):
        split = split_marker(part.text) if isinstance(part, Text) else None
        if split is None:
            continue
        if split[0]:
            yield Replace(place, number, Text(split[0]), REASON)
        else:
            markers.append(number)
    if len(markers) == len(parts):
        yield Drop(Ref(place), REASON)
    elif markers:
        yield Drop(Ref(place, tuple(markers)), REASON)


# ------------------------------------------------------------------------ roles


def _alternating(history: History, plan: Plan, limits: Limits) -> Spliced:
    """The view of a plan, with answers and questions that keep roles alternating where they did.

    They are left out where there is no room for them, as the ladder does.
    """
    bare = Spliced(plan, history.tokens_under(plan), _view(plan, history.messages))
    if not plan or not _alternates(history.messages):
        return bare
    filled = _with_fillers(_without_fillers(plan), history.messages)
    tokens = history.tokens_under(filled)
    if tokens > limits.limit_tokens >= bare.tokens:
        return bare
    return Spliced(filled, tokens, _view(filled, history.messages))


def alternating(plan: Plan, messages: Sequence[Message]) -> Plan:
    """A plan without fillers, with those that keep roles alternating where they did."""
    return _with_fillers(plan, messages) if plan and _alternates(messages) else plan


def _without_fillers(plan: Plan) -> Plan:
    edits = (e for e in plan if not (isinstance(e, Fold) and e.message.origin == "filler"))
    return Plan(tuple(edits), plan.envelope)


def _with_fillers(plan: Plan, messages: Sequence[Message]) -> Plan:
    made = {id(edit.message): edit for edit in plan if isinstance(edit, Fold)}
    edits: list[Edit] = list(plan.edits)
    speaking = [slot for slot in apply(plan, messages) if slot.message.role in _SPEAKING]
    for slot, following in pairwise(speaking):
        filler = _filler(slot, following)
        if filler is None:
            continue
        fold = made.get(id(following.message))
        if fold is not None:
            put = Fold((), fold.before, filler, _ALTERNATING)
            edits.insert(next(n for n, edit in enumerate(edits) if edit is fold), put)
        elif following.source is not None:
            edits.append(Fold((), following.source, filler, _ALTERNATING))
    return Plan(tuple(edits), plan.envelope)


_ALTERNATING = "keeps user and assistant alternating"


def _filler(slot: Slot, following: Slot) -> Message | None:
    match slot.message.role, following.message.role:
        case "user", "user":
            return Message.assistant(FILLER, origin="filler")
        case "assistant", "assistant":
            return Message.user(GO_ON, origin="filler")
        case _:
            return None


def _alternates(messages: Sequence[Message]) -> bool:
    roles = [m.role for m in messages if m.role not in ("system", "developer")]
    return not any(role == following != "tool" for role, following in pairwise(roles))


# ------------------------------------------------------------------------- tail


def _target(
    history: History, spliced: Spliced, span: Span, limits: Limits, tail_tokens: int
) -> int:
    """What to come down to: the target, but not at the cost of the whole tail."""
    tail = sum(history.message_tokens[span.cut :])
    least = spliced.tokens - tail + min(tail, tail_tokens)
    return min(limits.limit_tokens, max(limits.target_tokens, least))


def _with_smaller_tail(history: History, spliced: Spliced, limits: Limits) -> Plan:
    """The same with a tail that is compacted by rule; what it leaves out is listed in the briefing."""
    briefing = next(message for message in spliced.messages if message.origin == "summary")
    protect = history.policy.protect

    def is_protected(message: Message) -> bool:
        return message is briefing or (protect is not None and protect(message))

    policy = replace(history.policy, protect=is_protected)
    view = history.under(spliced.plan, policy)
    climbed = climb(view, replace(limits, trigger_tokens=limits.limit_tokens))
    plan = compose(spliced.plan, climbed.plan, history.messages)
    return _absorbed(history, plan, limits)


def with_marker_absorbed(history: History, plan: Plan, limits: Limits) -> Spliced:
    """Let a briefing stand for what a marker stands for too, with one ledger.

    Args:
        history: What there is, as it was before the plan.
        plan: It makes a briefing, or leaves the one that is there; where it makes
            a marker beside it, that goes.
        limits: Their target says how long a ledger may be.
    """
    return _alternating(history, _absorbed(history, plan, limits), limits)


def _absorbed(history: History, plan: Plan, limits: Limits) -> Plan:
    marker = next((edit for edit in plan if _is_marker(edit)), None)
    if not isinstance(marker, Fold):
        return plan
    made = next((edit for edit in plan if _is_briefing(edit)), None)
    if isinstance(made, Fold):
        text = _merged(made.message.text, marker, history, limits)
        refs = tuple(sorted((*made.removed, *marker.removed)))
        new: list[Edit] = [replace(made, removed=refs, message=_renewed(made.message, text))]
    else:
        new = list(_into_the_old(history, plan, marker, limits))
        if not new:
            return plan
    edits: list[Edit] = []
    for edit in plan:
        if edit is (marker if made is None else made):
            edits += new
        elif edit is not marker:
            edits.append(edit)
    return Plan(tuple(edits), plan.envelope)


def _into_the_old(history: History, plan: Plan, marker: Fold, limits: Limits) -> Iterator[Edit]:
    """Write a marker's ledger into the briefing that is there, if it stays."""
    for slot in apply(plan, history.messages):
        message = slot.message
        if slot.source is None or message.origin != "summary" or not message.has_own_words:
            continue
        own = history.messages[slot.source]
        text = _merged(own.text, marker, history, limits)
        yield from (Drop(ref, marker.reason) for ref in marker.removed)
        yield Replace(slot.source, 0, Text(text), marker.reason)
        return


def _is_marker(edit: Edit) -> bool:
    return (
        isinstance(edit, Fold)
        and edit.message.role == "user"
        and edit.message.origin == "marker"
        and edit.message.text.startswith(MARKER)
    )


def _is_briefing(edit: Edit) -> bool:
    return isinstance(edit, Fold) and edit.message.origin == "summary"


def _merged(briefing: str, marker: Fold, history: History, limits: Limits) -> str:
    """The text of a briefing whose ledger goes on with that of a marker."""
    earlier, summary = parted(briefing)
    ledger = merge(earlier, read_ledger(marker.message.text))
    most = ledger_tokens(history.policy, limits.target_tokens)
    return briefing_text(render(ledger, most, history.measure.text), summary)


def _renewed(message: Message, text: str) -> Message:
    return message.with_parts((Text(text),))


def _view(plan: Plan, messages: Sequence[Message]) -> list[Message]:
    return [slot.message for slot in apply(plan, messages)]
