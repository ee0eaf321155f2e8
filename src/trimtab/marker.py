"""Write the ledger of what a plan removes into the plan's marker, as far as there is room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trimtab.boundaries import MARKER, split_marker
from trimtab.budget import Limits
from trimtab.ledger import gather, render
from trimtab.messages import Message, Text, ToolResult
from trimtab.plan import Drop, Edit, Fold, Plan, Ref, Replace, apply
from trimtab.policy import Policy
from trimtab.strategies.history import History

__all__ = ["Noted", "ledger_tokens", "with_ledger"]

_MOST_TOKENS = 1_500
"""A ledger is read at every turn; beyond this it costs more than what it saves."""

_LEAST_TOKENS = 24
"""Room for less than a heading and a line is left empty."""

_SHARE = 4
"""A ledger takes at most a fourth of the target, and of what it stands for."""

_TRIES = 4
"""How often a ledger is made smaller because what joins texts weighs a token or two."""


def ledger_tokens(policy: Policy, target_tokens: int) -> int:
    """What is kept free for a ledger."""
    return min(_MOST_TOKENS, target_tokens // _SHARE) if policy.ledger else 0


@dataclass(frozen=True, slots=True)
class Noted:
    """A plan with a ledger in its marker.

    Attributes:
        plan: The plan; as it was where it has no marker, or nothing is to be said.
        tokens: What the whole request weighs under it.
        is_cut: Whether the ledger had to leave something out that its share had room for.
    """

    plan: Plan
    tokens: int
    is_cut: bool = False


def with_ledger(history: History, plan: Plan, tokens: int, limits: Limits) -> Noted:
    """Write a ledger into a plan's marker.

    Args:
        history: What there is.
        plan: What is done to it; its marker is bare.
        tokens: What the whole request weighs under the plan.
        limits: The plan stays at or under the target where it is, else at or under the limit.
    """
    place = _marker_place(plan)
    if place is None or not history.policy.ledger:
        return Noted(plan, tokens)
    most = limits.target_tokens if tokens <= limits.target_tokens else limits.limit_tokens
    span, first = _span(history, plan)
    share = min(
        ledger_tokens(history.policy, limits.target_tokens),
        _earlier_tokens(history, span) + (history.total_tokens - tokens) // _SHARE,
    )
    if share < _LEAST_TOKENS:
        return Noted(plan, tokens)
    kept, older = _kept(history, plan, place, first)
    count = history.measure.text
    ledger = gather(span, kept, history.policy, older=older)
    text = render(ledger, share, count)
    room = min(share, most - tokens)
    is_cut = count(text) > room
    for _ in range(_TRIES):
        if not text or room < _LEAST_TOKENS:
            break
        if count(text) > room:
            text = render(ledger, room, count)
        told = _noted(plan.edits[place], text)
        noted = Plan((*plan.edits[:place], told, *plan.edits[place + 1 :]), plan.envelope)
        weight = history.tokens_under(noted)
        if weight <= most:
            return Noted(noted, weight, is_cut)
        room = min(room, count(text)) - max(1, weight - most)
    return Noted(plan, tokens, is_cut)


def _earlier_tokens(history: History, span: Sequence[Message]) -> int:
    """What earlier ledgers weigh: the marker stands for what they stood for too."""
    markers = (message.text for message in span if message.origin == "marker")
    listed = (text.removeprefix(MARKER) for text in markers if text.startswith(MARKER))
    return sum(map(history.measure.text, listed))


def _marker_place(plan: Plan) -> int | None:
    """Which of the edits makes the marker."""
    for place, edit in enumerate(plan.edits):
        match edit:
            case Fold(message=Message(origin="marker", role="user")):
                return place
            case Replace(new=Text(text)) if split_marker(text) is not None:
                return place
    return None


def _noted(edit: Edit, text: str) -> Edit:
    """The edit that makes the marker, with a text behind it."""
    match edit:
        case Fold():
            marker = Message.user(f"{MARKER}\n\n{text}", origin="marker")
            return replace(edit, message=marker)
        case Replace(new=Text(bare)):
            return replace(edit, new=Text(f"{bare}\n\n{text}"))
        case _:
            return edit


def _span(history: History, plan: Plan) -> tuple[list[Message], int]:
    """What goes, oldest first, what an earlier marker told, and the first message that goes."""
    gone: dict[int, list[Message]] = {}
    first = len(history.messages)
    for edit in plan:
        for ref in _refs(edit):
            first = min(first, ref.message)
            gone.setdefault(ref.message, []).extend(_parted(_cut_out(history, ref)))
        if isinstance(edit, Replace):
            gone.setdefault(edit.message, []).extend(_former(history, edit))
    return [message for place in sorted(gone) for message in gone[place]], first


def _refs(edit: Edit) -> tuple[Ref, ...]:
    match edit:
        case Fold():
            return edit.removed
        case Drop():
            return (edit.ref,)
        case _:
            return ()


def _cut_out(history: History, ref: Ref) -> Message:
    message = history.messages[ref.message]
    if ref.parts is None:
        return message
    parts = message.parts
    return message.with_parts(parts[part] for part in ref.parts)


def _parted(message: Message) -> Iterator[Message]:
    """A message, apart from the marker that an earlier compaction joined to it."""
    if message.role != "user" or not message.has_own_words:
        yield message
        return
    words, markers = [], []
    for part in message.parts:
        split = split_marker(part.text) if isinstance(part, Text) else None
        if split is None:
            words.append(part)
            continue
        if split[0]:
            words.append(Text(split[0]))
        markers.append(Message.user(split[1], origin="marker"))
    if not markers:
        yield message
        return
    yield from markers
    if words:
        yield message.with_parts(words) if message.origin is None else Message("user", words)


def _former(history: History, edit: Replace) -> Iterator[Message]:
    """What a part was before it was shortened or made anew."""
    former = history.messages[edit.message].parts[edit.part]
    match former:
        case ToolResult():
            yield Message("tool", (former,))
        case Text(text) if (split := split_marker(text)) is not None:
            yield Message.user(split[1], origin="marker")
        case _:
            return


def _kept(history: History, plan: Plan, marker: int, first: int) -> tuple[list[Message], int]:
    """What stays and what is made of what goes, the marker aside, and how much stands before it."""
    edits: list[Edit] = list(plan.edits)
    if isinstance(edits[marker], Fold):
        edits[marker : marker + 1] = [Drop(ref, "") for ref in _refs(edits[marker])]
    slots = apply(Plan(tuple(edits)), history.messages)
    older = sum(1 for slot in slots if slot.source is not None and slot.source < first)
    return [slot.message for slot in slots], older
