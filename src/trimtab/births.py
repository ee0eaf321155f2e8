"""Birth edits of a request: what tools just answered takes the form that is sent from then on.

They are part of the plan like any other edit, and say of themselves that they
were there at birth: a compaction starts from them. What was sent in full is
noted, so that the same answer later can point to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.messages import Message, Opaque, ToolCall, ToolResult
from trimtab.plan import Edit, Plan, Replace
from trimtab.policy import Policy, Preset
from trimtab.squeeze import RESTORED, digest, in_full, pointed, squeeze, will_be_quoted
from trimtab.strategies.targets import target_of
from trimtab.tokens import Measure

__all__ = [
    "NOTE_BYTES",
    "Births",
    "Earlier",
    "birth_edits",
    "born",
    "grounded",
    "note_results",
    "pruned",
]

_DIGEST_BYTES = 8
_PLACE_BYTES = 4
_PART_BYTES = 2
NOTE_BYTES = _DIGEST_BYTES + _PLACE_BYTES + _PART_BYTES
"""What notes one result: its digest, its message, its part."""


@dataclass(frozen=True, slots=True)
class Births:
    """What may be done to what tools just answered.

    Attributes:
        preset: How far it goes.
        policy: Says what tools do.
        can_recall: Whether the model can ask for what is left out.
    """

    preset: Preset = "off"
    policy: Policy = field(default_factory=Policy)
    can_recall: bool = False


def birth_edits(
    births: Births,
    messages: Sequence[Message],
    first: int,
    measure: Measure,
    *,
    earlier: Mapping[str, str],
    untouchable: Collection[int] = (),
) -> tuple[Replace, ...]:
    """Squeeze the messages that are sent for the first time and that nobody has answered yet.

    Args:
        births: What may be done.
        messages: The newest of the conversation, from where nothing is pending on.
        first: The first of them that was not sent before.
        measure: Weighs.
        earlier: Calls whose results were sent in full, by their digests.
        untouchable: Places of messages that must stay as they are.

    Returns:
        The edits; places refer to ``messages``.
    """
    if births.preset == "off":
        return ()
    answered = (place for place, message in enumerate(messages) if message.role == "assistant")
    start = max(first, max(answered, default=-1) + 1)
    fresh = [
        place
        for place in range(start, len(messages))
        if messages[place].result_ids
        and place not in untouchable
        and not any(isinstance(part, Opaque) for part in messages[place].parts)
    ]
    if not fresh:
        return ()
    wanted = {call_id for place in fresh for call_id in messages[place].result_ids}
    quoted = set(_quoted(messages, wanted, births.policy))
    edits: list[Replace] = []
    for place in fresh:
        edits += squeeze(
            messages[place],
            births.preset,
            measure.text,
            place=place,
            quoted=quoted,
            seen=earlier,
            can_recall=births.can_recall,
        )
    return tuple(edits)


def _quoted(messages: Sequence[Message], wanted: Collection[str], policy: Policy) -> Iterator[str]:
    """Calls whose results may have to be quoted to the letter; unknown ones are among them."""
    found: set[str] = set()
    for message in messages:
        if found.issuperset(wanted):
            break
        for part in message.parts if message.call_ids else ():
            if isinstance(part, ToolCall) and part.id in wanted:
                found.add(part.id)
                if will_be_quoted(part, target_of(part, policy).kind):
                    yield part.id
    yield from (call_id for call_id in wanted if call_id not in found)


# ------------------------------------------------------- what was sent in full


def note_results(
    messages: Sequence[Message], start: int, edits: Sequence[Replace], first: int
) -> bytes:
    """Note which results of some messages are sent in full.

    Args:
        messages: A part of the conversation.
        start: Where in the conversation it begins.
        edits: Their birth edits; places refer to ``messages``.
        first: The first of ``messages`` to note.

    Returns:
        :data:`NOTE_BYTES` a result, oldest first.
    """
    notes: list[bytes] = []
    for place in range(first, len(messages)):
        message = messages[place]
        if not message.result_ids:
            continue
        full = in_full(message, [edit for edit in edits if edit.message == place])
        names = {call_id: name for name, call_id in full.items()}
        for part, result in enumerate(message.parts):
            if isinstance(result, ToolResult) and (name := names.pop(result.call_id, "")):
                notes.append(_note(name, start + place, part))
    return b"".join(notes)


def _note(name: str, message: int, part: int) -> bytes:
    place = message.to_bytes(_PLACE_BYTES, "big") + part.to_bytes(_PART_BYTES, "big")
    return bytes.fromhex(name) + place


class Earlier(Mapping[str, str]):
    """Calls whose results were sent in full and are still there, by their digests.

    Looking one up costs a search over :data:`NOTE_BYTES` a result, and decodes
    one message where it is found.

    Args:
        notes: See :func:`note_results`.
        plan: What was changed of the conversation.
        message_at: The conversation's messages, by their places.
    """

    def __init__(self, notes: bytes, plan: Plan, message_at: Callable[[int], Message]) -> None:
        self._notes = notes
        self._plan = plan
        self._message_at = message_at

    def __getitem__(self, name: str) -> str:
        for message, part in self._places(bytes.fromhex(name)):
            result = self._message_at(message).parts[part]
            if isinstance(result, ToolResult) and _is_there(self._plan, message, part):
                return result.call_id
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self._notes), NOTE_BYTES):
            yield self._notes[start : start + _DIGEST_BYTES].hex()

    def __len__(self) -> int:
        return len(self._notes) // NOTE_BYTES

    def _places(self, name: bytes) -> Iterator[tuple[int, int]]:
        found = self._notes.find(name)
        while found >= 0:
            if found % NOTE_BYTES == 0:
                place = found + _DIGEST_BYTES
                message = self._notes[place : place + _PLACE_BYTES]
                part = self._notes[place + _PLACE_BYTES : found + NOTE_BYTES]
                yield int.from_bytes(message, "big"), int.from_bytes(part, "big")
            found = self._notes.find(name, found + 1)


def _is_there(plan: Plan, message: int, part: int) -> bool:
    """Whether a result is sent in the form that it was first sent in."""
    changes = plan.changes
    if message in changes.gone or part in changes.dropped.get(message, ()):
        return False
    own = [e for e in plan if isinstance(e, Replace) and (e.message, e.part) == (message, part)]
    return not own or own[-1].is_birth


# --------------------------------------------------------------- as edits of a plan


def born(plan: Plan) -> Plan:
    """The birth edits of a plan."""
    return Plan(tuple(edit for edit in plan if isinstance(edit, Replace) and edit.is_birth))


def pruned(plan: Plan, messages: Sequence[Message]) -> Plan:
    """The same plan without edits that say nothing any more.

    They are birth edits of what goes or is made anew, and words that are put
    back as they came.

    Args:
        plan: The plan.
        messages: The history that it changes.
    """
    changes = plan.changes
    newest: dict[tuple[int, int], Replace] = {}
    for edit in plan:
        if isinstance(edit, Replace):
            newest[edit.message, edit.part] = edit

    def says_something(edit: Edit) -> bool:
        if not isinstance(edit, Replace):
            return True
        if not edit.is_birth:
            return edit.reason != RESTORED or edit.new != messages[edit.message].parts[edit.part]
        is_there = edit.part not in changes.dropped.get(edit.message, ())
        is_newest = newest[edit.message, edit.part] is edit
        return is_newest and is_there and edit.message not in changes.gone

    edits = tuple(filter(says_something, plan))
    return plan if len(edits) == len(plan.edits) else Plan(edits, plan.envelope)


def grounded(plan: Plan, messages: Sequence[Message]) -> Plan:
    """A plan without references whose result is not there, word for word, in this history.

    Args:
        plan: A plan that was carried over from another history.
        messages: The history that it is used for.
    """
    pointing = [
        edit
        for edit in plan
        if isinstance(edit, Replace)
        and isinstance(edit.new, ToolResult)
        and pointed(edit.new) is not None
    ]
    if not pointing:
        return plan
    names = {pointed(edit.new) for edit in pointing if isinstance(edit.new, ToolResult)}
    full: dict[str, str] = {}
    for place, message in enumerate(messages):
        if names.isdisjoint(message.result_ids):
            continue
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolResult) and _is_there(plan, place, number):
                full.setdefault(part.call_id, digest(part))
    hollow = [edit for edit in pointing if not _is_grounded(edit, messages, full)]
    edits = tuple(edit for edit in plan if not any(edit is other for other in hollow))
    return Plan(edits, plan.envelope)


def _is_grounded(edit: Replace, messages: Sequence[Message], full: Mapping[str, str]) -> bool:
    old = messages[edit.message].parts[edit.part]
    assert isinstance(edit.new, ToolResult)
    return isinstance(old, ToolResult) and full.get(pointed(edit.new) or "") == digest(old)
