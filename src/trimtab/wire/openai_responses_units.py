"""What an edit does to reasoning items, and to what they led to.

Reasoning and the calls and answers behind it are one unit: where one of them
stays they all do, and where none does the reasoning goes as well (R3, R4). An
item that is left without any reasoning in its turn goes on without its id,
which is what the provider finds the missing reasoning by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from trimtab.messages import Message, Opaque, ToolResult
from trimtab.plan import Drop, Edit, Fold, Plan, Ref, Replace, apply
from trimtab.wire.json_spans import dump, load
from trimtab.wire.openai_responses_rules import (
    CALLS,
    call_id_of,
    does_reason,
    kind_of,
    lacks_reasoning,
    pending_calls,
)
from trimtab.wire.request import Request

__all__ = ["complete_units", "held_by_others", "inside_units"]

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Unit:
    """Reasoning items in a row, and what they led to, by places; ``stop`` is behind the last."""

    start: int
    first: int
    stop: int

    @property
    def reasoning(self) -> range:
        """The reasoning items."""
        return range(self.start, self.first)

    @property
    def led_to(self) -> range:
        """The answer's items behind them; none where they stand alone."""
        return range(self.first, self.stop)


def inside_units(request: Request) -> frozenset[int]:
    """Places inside a unit, where no kept tail may begin."""
    return frozenset(p for unit in _units(request) for p in range(unit.start + 1, unit.stop))


def held_by_others(request: Request, frozen: AbstractSet[int]) -> frozenset[int]:
    """Places that have to stay because something stays that is of the same unit."""
    held = [
        range(unit.start, unit.stop)
        for unit in (_units(request) if frozen else ())
        if any(place in frozen for place in unit.led_to)
    ]
    return frozenset(place for places in held for place in places)


def complete_units(request: Request, plan: Plan) -> Plan:
    """Add to a plan what its cuts entail for reasoning, ids and outputs that we make."""
    plan = _answer_in_kind(request, plan)
    plan = _keep_units_whole(request, plan)
    return plan + Plan(tuple(_without_ids(request, plan)))


# ----------------------------------------------------------------------- units


def _units(request: Request) -> Iterator[_Unit]:
    outlines = request.outlines
    place = 0
    while place < len(outlines):
        if not _is_reasoning(request, place):
            place += 1
            continue
        first = place + 1
        while first < len(outlines) and _is_reasoning(request, first):
            first += 1
        stop = first
        while (
            stop < len(outlines)
            and outlines[stop].role == "assistant"
            and not _is_reasoning(request, stop)
        ):
            stop += 1
        yield _Unit(place, first, stop)
        place = stop


def _is_reasoning(request: Request, place: int) -> bool:
    outline = request.outlines[place]
    if outline.role != "assistant" or outline.call_ids or not outline.is_understood:
        return False
    message = request.message_bytes(place)
    return b'"reasoning"' in message and kind_of(load(message)) == "reasoning"


def _keep_units_whole(request: Request, plan: Plan) -> Plan:
    """Put back what goes of a unit that stays, and take out reasoning that led to what goes."""
    gone = _gone(plan)
    if not gone:
        return _between_units(request, plan)
    back: set[int] = set()
    loose: list[int] = []
    for unit in _units(request):
        if not unit.led_to:
            continue  # it came like this
        if all(place in gone for place in unit.led_to):
            loose += (place for place in unit.reasoning if place not in gone)
        else:
            back.update(gone.intersection(range(unit.start, unit.stop)))
    edits = [kept for edit in plan for kept in _without_places(edit, back)]
    edits += [Drop(Ref(place), "reasoning that led to what was removed") for place in loose]
    return _between_units(request, Plan(tuple(edits), plan.envelope))


def _gone(plan: Plan) -> set[int]:
    """The messages that a plan removes whole."""
    refs = [
        ref
        for edit in plan
        for ref in (
            (edit.ref,)
            if isinstance(edit, Drop)
            else edit.removed
            if isinstance(edit, Fold)
            else ()
        )
    ]
    return {ref.message for ref in refs if ref.parts is None}


def _without_places(edit: Edit, back: AbstractSet[int]) -> Iterator[Edit]:
    """An edit that does not remove some messages; none where nothing of it is left."""
    match edit:
        case Drop() if edit.ref.parts is None and edit.ref.message in back:
            return
        case Fold() if edit.removed:
            removed = tuple(r for r in edit.removed if r.parts is not None or r.message not in back)
            if removed:
                yield edit if len(removed) == len(edit.removed) else replace(edit, removed=removed)
        case _:
            yield edit


def _between_units(request: Request, plan: Plan) -> Plan:
    """Move what we made in front of a unit that it would stand inside of."""
    made = [edit for edit in plan if isinstance(edit, Fold) and edit.joins is None]
    if not made:
        return plan
    gone = _gone(plan)
    starts = {
        place: unit.start
        for unit in _units(request)
        if not gone.issuperset(range(unit.start, unit.stop))
        for place in range(unit.start + 1, unit.stop)
    }
    edits = [
        replace(edit, before=starts[edit.before])
        if isinstance(edit, Fold) and edit.joins is None and edit.before in starts
        else edit
        for edit in plan
    ]
    return Plan(tuple(edits), plan.envelope)


# ------------------------------------------------------------------------- ids


def _without_ids(request: Request, plan: Plan) -> Iterator[Edit]:
    """Take the id from each item that the plan leaves without reasoning in its turn (R4).

    A part that is replaced by itself says so; see ``OpenAIResponses.edit_message``.
    """
    if not _gone(plan) and not any(isinstance(edit, Fold) for edit in plan):
        return
    members = {key: load(raw) for key, raw in request.members.items() if key != "input"}
    if not does_reason(members):
        return
    items = [_item(request, place) for place in range(len(request.spans))]
    before = set(lacks_reasoning(items))
    sources: list[int | None] = []
    sent: list[Json] = []
    for slot in apply(plan, request.messages):
        sources.append(slot.source)
        sent.append(_made(slot.message) if slot.source is None else items[slot.source])
    for place in lacks_reasoning(sent):
        source = sources[place]
        if source is None or source in before or not (parts := request.message(source).parts):
            continue
        yield Replace(source, 0, parts[0], "its reasoning was removed, so its id goes too")


def _item(request: Request, place: int) -> Json:
    value = load(request.message_bytes(place))
    return value if isinstance(value, dict) else {}


def _made(message: Message) -> Json:
    """What a made message is, as far as it begins a turn or not."""
    return {} if message.role == "tool" else {"type": "message", "role": message.role}


# ---------------------------------------------------------------- made outputs


def _answer_in_kind(request: Request, plan: Plan) -> Plan:
    """Let an output that we made be of the kind of its call; one that is not needed is left out."""
    if not any(isinstance(edit, Fold) and edit.message.origin == "repair" for edit in plan):
        return plan
    items = [_item(request, place) for place in range(len(request.spans))]
    pending = {call_id_of(item) for item in items[pending_calls(items) :]}
    calls = {call_id_of(item): item for item in items if kind_of(item) in CALLS}
    edits: list[Edit] = []
    for edit in plan:
        if not isinstance(edit, Fold) or edit.message.origin != "repair":
            edits.append(edit)
            continue
        is_last = edit.before >= len(items)
        results = [
            answer
            for part in edit.message.parts
            if isinstance(part, ToolResult)
            and not (is_last and part.call_id in pending)
            and (answer := _in_kind(part, calls)) is not None
        ]
        if results:
            edits.append(replace(edit, message=edit.message.with_parts(results)))
    return Plan(tuple(edits), plan.envelope)


def _in_kind(result: ToolResult, calls: Mapping[str, Json]) -> ToolResult | None:
    """A made result as its call wants it; None where nothing can be made up."""
    kind = kind_of(calls.get(result.call_id, {}))
    if kind in ("", "function_call", "local_shell_call"):
        return result
    members = _made_output(kind, result.text)
    if members is None:
        return None
    name = "tool_search_output" if kind == "tool_search_call" else f"{kind}_output"
    item = {"type": name, "call_id": result.call_id, **members}
    return replace(result, content=(Opaque(name, dump(item).decode()),))


def _made_output(kind: str, text: str) -> Json | None:
    match kind:
        case "custom_tool_call":
            return {"output": text}
        case "apply_patch_call":
            return {"status": "failed", "output": text}
        case "shell_call":
            outcome = {"type": "exit", "exit_code": 1}
            return {"output": [{"stdout": "", "stderr": text, "outcome": outcome}]}
        case "tool_search_call":
            return {"tools": []}
        case _:
            return None  # nobody can make up what a screen showed
