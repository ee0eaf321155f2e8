"""Carry what was sent over to the history that a request really has.

Mostly a request extends the one before it and nothing is to be done. After a
rewind or on a fork only the messages up to the parting are the same; where
the client removed or shortened old messages itself, most are, but stand
elsewhere. An edit is carried over as far as what it names is still there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from trimtab.constraints import Constraints
from trimtab.messages import Message, ToolResult
from trimtab.plan import Drop, Edit, Fold, Keep, Plan, Ref, Replace, apply
from trimtab.strategies.fold import FILLER, GO_ON

__all__ = [
    "Places",
    "align",
    "carried",
    "extends",
    "first_difference",
    "shifted",
    "sound",
    "within",
]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the messages of an older history stand now.

    Attributes:
        now: The place of each that is still there, by its old place; same words.
        shortened: The same of those whose content is another one now.
        shared: Messages at the front that are the same in both.
        is_edited: Whether the client changed what lies before messages that both have;
            False for a history that was only continued, rewound or forked.
    """

    now: Mapping[int, int]
    shortened: Mapping[int, int]
    shared: int
    is_edited: bool


def align(before: Sequence[bytes], after: Sequence[bytes]) -> Places:
    """Find the messages of an older history in a newer one.

    Args:
        before: A digest of each message of the older one.
        after: A digest of each message of the newer one.
    """
    shared = _shared(before, after)
    now = {place: place for place in range(shared)}
    shortened: dict[int, int] = {}
    matcher = SequenceMatcher(None, before[shared:], after[shared:], autojunk=False)
    for tag, low, high, start, stop in matcher.get_opcodes():
        moved = dict(
            zip(
                range(shared + low, shared + high),
                range(shared + start, stop + shared),
                strict=False,
            )
        )
        if tag == "equal":
            now |= moved
        elif tag == "replace" and high - low == stop - start and shared + high < len(before):
            shortened |= moved  # what stands behind it is still there, so it is the same one
    return Places(now, shortened, shared, is_edited=len(now) > shared)


def _shared(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    shared = 0
    for old, new in zip(before, after, strict=False):
        if old != new:
            break
        shared += 1
    return shared


def carried(plan: Plan, places: Places) -> Plan:
    """A plan for the older history as it reads for the newer one.

    What is gone needs no edit any more, and what the client changed itself
    takes no other form; but what was removed stays removed, also where the
    client has shortened it in the meantime.
    """
    edits: list[Edit] = []
    for edit in plan:
        match edit:
            case Replace():
                if edit.message in places.now:
                    edits.append(replace(edit, message=places.now[edit.message]))
            case Drop() | Keep():
                edits += [replace(edit, ref=ref) for ref in _refs([edit.ref], places)]
            case Fold():
                edits += _fold(edit, places)
    return Plan(tuple(edits), plan.envelope if edits else ())


def _refs(refs: Iterable[Ref], places: Places) -> list[Ref]:
    found = []
    for ref in refs:
        place = places.now.get(ref.message)
        if place is None and ref.parts is None:
            place = places.shortened.get(ref.message)
        if place is not None:
            found.append(replace(ref, message=place))
    return found


def _fold(edit: Fold, places: Places) -> list[Edit]:
    removed = tuple(_refs(edit.removed, places))
    if edit.removed and not removed:
        return []
    joins = None if edit.joins is None else places.now.get(edit.joins)
    if edit.joins is not None and joins is None:
        return []
    before = places.now.get(edit.before, places.shortened.get(edit.before))
    if before is None:
        before = removed[0].message if removed else _behind(edit.before, places)
    return [] if before is None else [replace(edit, removed=removed, before=before, joins=joins)]


def _behind(before: int, places: Places) -> int | None:
    """Behind the message that stood in front, where that is still there."""
    place = places.now.get(before - 1)
    return None if place is None else place + 1


def within(plan: Plan, count: int) -> Plan:
    """What a plan does to the first messages alone; what is put in behind them is left out."""
    places = Places({place: place for place in range(count)}, {}, count, is_edited=False)
    edits: list[Edit] = []
    for edit in plan:
        if isinstance(edit, Fold):
            edits += _fold_within(edit, places, count)
        else:
            edits += carried(Plan((edit,)), places).edits
    return Plan(tuple(edits), plan.envelope if edits else ())


def _fold_within(edit: Fold, places: Places, count: int) -> list[Edit]:
    if edit.joins is not None and edit.joins < count:
        # Its text was sent as a part of that message, whatever it stood for.
        return [replace(edit, removed=tuple(_refs(edit.removed, places)), before=edit.joins + 1)]
    return [] if edit.before >= count else _fold(edit, places)


def sound(
    plan: Plan, messages: Sequence[Message], constraints: Constraints, start: int = 0
) -> Plan:
    """A plan that was made for another history as it may be used for this one.

    An exchange of which only a part would go stays whole: its call may have got
    another result. Where two of one role would meet although roles must
    alternate, one that we make parts them.

    Args:
        plan: A plan that was carried over, or cut to the first messages.
        messages: The history that it is used for.
        constraints: What its format demands.
        start: Messages before it are those that the plan was made for.
    """
    if not plan:
        return plan
    torn: set[int] = set()
    while more := _torn(plan, messages):
        torn |= more
        plan = _without(plan, torn)
    if not constraints.roles_must_alternate:
        return plan
    return Plan((*plan, *_parting(plan, messages, min(torn, default=start))), plan.envelope)


def _torn(plan: Plan, messages: Sequence[Message]) -> set[int]:
    """What a plan removes of exchanges that do not go whole, by their messages' places."""
    changes = plan.changes
    if not (changes.gone or changes.dropped):
        return set()
    made = {i for row in changes.made.values() for message in row for i in message.result_ids}
    torn: set[int] = set()
    for call_id, call, result in _answered(messages):
        is_result_gone = result in changes.gone or _is_dropped(
            messages[result], changes.dropped.get(result, ()), call_id
        )
        if call in changes.gone and not is_result_gone:
            torn.add(call)
        elif call not in changes.gone and is_result_gone and call_id not in made:
            torn.add(result)
    return torn


def _answered(messages: Sequence[Message]) -> Iterator[tuple[str, int, int]]:
    """Each call that has a result: its id, its message, and that of the first result."""
    opened: dict[str, int] = {}
    for place, message in enumerate(messages):
        for call_id in message.result_ids:
            if call_id in opened:
                yield call_id, opened.pop(call_id), place
        opened.update(dict.fromkeys(message.call_ids, place))


def _is_dropped(message: Message, dropped: Iterable[int], call_id: str) -> bool:
    """Whether the result of a call is among the parts that are dropped."""
    parts = [message.parts[number] for number in dropped]
    return any(isinstance(part, ToolResult) and part.call_id == call_id for part in parts)


def _without(plan: Plan, places: AbstractSet[int]) -> Plan:
    """The same plan, which removes nothing of some messages."""
    edits: list[Edit] = []
    for edit in plan:
        if isinstance(edit, Fold):
            removed = tuple(ref for ref in edit.removed if ref.message not in places)
            edits.append(replace(edit, removed=removed))
        elif not (isinstance(edit, Drop) and edit.ref.message in places):
            edits.append(edit)
    return Plan(tuple(edits), plan.envelope)


def _parting(plan: Plan, messages: Sequence[Message], start: int) -> Iterator[Fold]:
    """What stands between two of one role that meet under a plan, and did not as they came."""
    came = _speakers_before(messages)
    said = ""
    for slot in apply(plan, messages):
        role, place = slot.message.role, slot.source
        if role in _SILENT:
            continue
        if place is not None and place >= start and role == said != came[place]:
            made = _BETWEEN.get(role)
            if made is not None:
                yield Fold((), place, made, "keeps user and assistant alternating")
        said = role


def _speakers_before(messages: Sequence[Message]) -> list[str]:
    """Who spoke before each message; empty for nobody."""
    said, found = "", []
    for message in messages:
        found.append(said)
        said = said if message.role in _SILENT else message.role
    return found


_SILENT = ("system", "developer")

_BETWEEN = {
    "user": Message.assistant(FILLER, origin="filler"),
    "assistant": Message.user(GO_ON, origin="filler"),
}
"""What parts two of a role."""


def extends(first: Plan, second: Plan, count: int) -> bool:
    """Whether two plans make the same of the first messages."""
    return first is second or _made_of(first, count) == _made_of(second, count)


def first_difference(first: Plan, second: Plan, count: int) -> int:
    """The first of some messages of which two plans make something else; their number for none."""
    one, other = first.changes, second.changes
    places = {*one.gone, *other.gone, *one.touched, *other.touched, *one.made, *other.made}
    for place in sorted(place for place in places if place < count):
        is_gone = (place in one.gone, place in other.gone)
        is_same = all(is_gone) or (not any(is_gone) and one.at(place) == other.at(place))
        if not is_same or one.made.get(place) != other.made.get(place):
            return place
    return count


def _made_of(plan: Plan, count: int) -> tuple[object, ...]:
    changes = plan.changes
    kinds = (changes.dropped, changes.replaced, changes.appended)
    return (
        {place for place in changes.gone if place < count},
        {place: made for place, made in changes.made.items() if place < count},
        *(
            {
                place: found
                for place, found in kind.items()
                if place < count and place not in changes.gone
            }
            for kind in kinds
        ),
    )


def shifted(plan: Plan, by: int) -> Plan:
    """A plan whose places count from another message.

    Args:
        plan: The plan.
        by: Added to each place.
    """
    edits: list[Edit] = []
    for edit in plan:
        match edit:
            case Replace():
                edits.append(replace(edit, message=edit.message + by))
            case Drop() | Keep():
                edits.append(replace(edit, ref=_moved(edit.ref, by)))
            case Fold():
                edits.append(
                    replace(
                        edit,
                        removed=tuple(_moved(ref, by) for ref in edit.removed),
                        before=edit.before + by,
                        joins=None if edit.joins is None else edit.joins + by,
                    )
                )
    return Plan(tuple(edits), plan.envelope)


def _moved(ref: Ref, by: int) -> Ref:
    return replace(ref, message=ref.message + by)
