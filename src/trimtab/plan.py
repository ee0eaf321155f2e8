"""Edits, the plan that lists them, and what came of it.

A plan names messages and parts of the *original* request by their place, so
it can be explained, written and undone. :func:`apply` is the one place that
says what a plan means; counting and writing both go through it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

from trimtab.messages import Message, Part, Text

__all__ = [
    "EMPTY_PLAN",
    "Changes",
    "Drop",
    "Edit",
    "EnvelopeEdit",
    "Fold",
    "Forbidden",
    "Keep",
    "Outcome",
    "OutcomeStatus",
    "Plan",
    "Ref",
    "Replace",
    "Slot",
    "apply",
    "compose",
    "places_in",
]

Derived = TypeVar("Derived")


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Names a message, or some parts of it.

    Attributes:
        message: Its place in the original request.
        parts: Places in its :attr:`~trimtab.messages.Message.parts`, ascending; None for all.
    """

    message: int
    parts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """Something that stays although all around it goes."""

    ref: Ref
    reason: str


@dataclass(frozen=True, slots=True)
class Replace:
    """One part takes another form; the rest of its message keeps its bytes.

    Attributes:
        message: The message, by its place in the original request.
        part: The part, by its place in the message.
        new: What stands there from now on; of the same type as what stood there.
        reason: Why, in words for the user.
        saved_tokens: What it saves; negative where it costs.
        is_birth: Whether the part was first sent in this form. A compaction starts from it.
    """

    message: int
    part: int
    new: Part
    reason: str
    saved_tokens: int = 0
    is_birth: bool = False


@dataclass(frozen=True, slots=True)
class Drop:
    """A message, or some of its parts, goes and nothing stands in its place."""

    ref: Ref
    reason: str
    saved_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Fold:
    """Messages go, none or many, and one that we made stands for them.

    Attributes:
        removed: What goes, in order; empty where something is only put in.
        before: The made message stands in front of this place of the original
            request; its length puts it at the end.
        message: What we made; its ``origin`` says what for.
        reason: Why, in words for the user.
        joins: The kept user message whose last part the made text becomes,
            where a message of its own would break the alternation of roles.
        saved_tokens: What it saves; negative where it costs.
    """

    removed: tuple[Ref, ...]
    before: int
    message: Message
    reason: str
    joins: int | None = None
    saved_tokens: int = 0


Edit: TypeAlias = Keep | Replace | Drop | Fold
"""One change to the view of a conversation."""


@dataclass(frozen=True, slots=True)
class EnvelopeEdit:
    """A parameter that an edit entails, with the header that permits it.

    Attributes:
        path: Keys from the top of the body. The last names what is set; where
            one before it is missing or is no object, there is nothing to set it in.
        json: The value as JSON text.
        header: Name of a header whose comma list needs ``header_value``; empty for none.
        header_value: What is appended to that list.
        reason: Why, in words for the user.
    """

    path: tuple[str, ...]
    json: str
    reason: str
    header: str = ""
    header_value: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be changed in one request. An empty one changes nothing at all."""

    edits: tuple[Edit, ...] = ()
    envelope: tuple[EnvelopeEdit, ...] = ()
    _derived: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def changes(self) -> Changes:
        """Its edits, sorted by the message that they touch."""
        return self.once("changes", lambda: Changes(self))

    def once(self, what: Hashable, derive: Callable[[], Derived]) -> Derived:
        """What follows from it: a plan stays for many turns, and that is worked out once.

        Args:
            what: Names it; for the same name it must always be the same.
            derive: Works it out.
        """
        if what not in self._derived:
            self._derived[what] = derive()
        derived: Derived = self._derived[what]
        return derived

    def __bool__(self) -> bool:
        return bool(self.envelope) or any(not isinstance(edit, Keep) for edit in self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __add__(self, other: Plan) -> Plan:
        if not other.edits and not other.envelope:
            return self
        return Plan(self.edits + other.edits, self.envelope + other.envelope)


EMPTY_PLAN = Plan()
"""Changes nothing."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A format's answer where a plan would be refused by the provider."""

    reason: str


@dataclass(frozen=True, slots=True)
class Slot:
    """One message of the view that a plan makes.

    Attributes:
        source: Its place in the original request; None for one that we made.
        message: As it stands in the view.
        dropped: Parts of the original that are gone.
        replaced: Parts of the original that have another form.
        appended: Text that became its last part; empty for none.
    """

    source: int | None
    message: Message
    dropped: frozenset[int] = frozenset()
    replaced: Mapping[int, Part] = field(default_factory=dict)
    appended: str = ""

    @property
    def is_untouched(self) -> bool:
        """Whether it is an original message that no edit names."""
        return self.source is not None and not (self.dropped or self.replaced or self.appended)


def apply(plan: Plan, messages: Sequence[Message]) -> tuple[Slot, ...]:
    """Say what a conversation looks like under a plan.

    A part that is dropped and replaced is dropped. A message all of whose
    parts are dropped is gone.

    Args:
        plan: The edits; places refer to ``messages``.
        messages: The original messages, oldest first; shape ``(messages,)``.

    Returns:
        The view, oldest first; untouched messages are the very same objects.
    """
    changes = plan.changes
    slots: list[Slot] = []
    for row in changes.rows(len(messages)):
        match row:
            case range():
                slots.extend(Slot(place, messages[place]) for place in row)
            case Message():
                slots.append(Slot(None, row))
            case place:
                slot = changes.slot(place, messages[place])
                if slot is not None:
                    slots.append(slot)
    return tuple(slots)


def places_in(plan: Plan, messages: Sequence[Message]) -> dict[int, int]:
    """Where messages of the history stand in the view that a plan makes."""
    slots = enumerate(apply(plan, messages))
    return {slot.source: place for place, slot in slots if slot.source is not None}


@dataclass(frozen=True, slots=True)
class Change:
    """What is changed of one message. Its hash, which goes through all words of it, is kept.

    Attributes:
        dropped: Parts that go.
        replaced: Parts with another form.
        appended: Text joined to it.
    """

    dropped: frozenset[int]
    replaced: tuple[tuple[int, Part], ...]
    appended: str
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.dropped, self.replaced, self.appended)))

    def __hash__(self) -> int:
        return self._hash


class Changes:
    """A plan's edits, sorted by the message that they touch; :attr:`Plan.changes` makes them.

    What no edit names is never looked at, so a view of a long conversation
    costs what its plan costs.

    Args:
        plan: The edits.
    """

    def __init__(self, plan: Plan) -> None:
        self.gone: set[int] = set()
        self.dropped: dict[int, set[int]] = {}
        self.replaced: dict[int, dict[int, Part]] = {}
        self.appended: dict[int, list[str]] = {}
        self.made: dict[int, list[Message]] = {}
        for edit in plan:
            match edit:
                case Replace():
                    self.replaced.setdefault(edit.message, {})[edit.part] = edit.new
                case Drop():
                    self._remove(edit.ref)
                case Fold():
                    for ref in edit.removed:
                        self._remove(ref)
                    if edit.joins is None:
                        self.made.setdefault(edit.before, []).append(edit.message)
                    else:
                        self.appended.setdefault(edit.joins, []).append(edit.message.text)
                case Keep():
                    pass
        self.touched = self.dropped.keys() | self.replaced.keys() | self.appended.keys()
        self._at: dict[int, Change] = {}
        self._places = sorted({*self.gone, *self.touched, *self.made})

    def _remove(self, ref: Ref) -> None:
        if ref.parts is None:
            self.gone.add(ref.message)
        else:
            self.dropped.setdefault(ref.message, set()).update(ref.parts)

    def rows(self, count: int) -> Iterator[range | int | Message]:
        """Go through the view of some messages, oldest first.

        Args:
            count: How many messages there are.

        Yields:
            A range of messages that stay as they are, the place of one that
            takes another form, or one that we made.
        """
        start = 0
        for place in self._places:
            stop = min(place, count)
            if start < stop:
                yield range(start, stop)
            start = max(start, stop)
            yield from self.made.get(place, ())
            if place < count and (place in self.gone or place in self.touched):
                if place not in self.gone:
                    yield place
                start = place + 1
        if start < count:
            yield range(start, count)

    def count(self, count: int) -> int:
        """How many messages the view of some messages has; one that loses all its parts counts."""
        rows = self.rows(count)
        return sum(len(row) if isinstance(row, range) else 1 for row in rows)

    def at(self, place: int) -> Change:
        """What is changed of one message."""
        if place not in self._at:
            replaced = self.replaced.get(place, {})
            self._at[place] = Change(
                frozenset(self.dropped.get(place, ())),
                tuple((part, replaced[part]) for part in sorted(replaced)),
                "\n\n".join(self.appended.get(place, ())),
            )
        return self._at[place]

    def slot(self, place: int, message: Message) -> Slot | None:
        """Say what a message that takes another form looks like; None where nothing is left."""
        dropped = self.dropped.get(place, set())
        replaced = self.replaced.get(place, {})
        appended = "\n\n".join(self.appended.get(place, ()))
        parts: list[Part] = [
            replaced.get(number, part)
            for number, part in enumerate(message.parts)
            if number not in dropped
        ]
        if appended:
            parts.append(Text(appended))
        if not parts:
            return None
        live = {number: part for number, part in replaced.items() if number not in dropped}
        return Slot(place, message.with_parts(parts), frozenset(dropped), live, appended)


def compose(first: Plan, second: Plan, messages: Sequence[Message]) -> Plan:
    """Make one plan of two, of which the second was made for what the first one leaves.

    Args:
        first: Its places refer to ``messages``.
        second: Its places refer to the view that ``first`` makes of them.
        messages: The original messages.

    Returns:
        A plan whose places refer to ``messages`` and whose view is that of both in a row.
    """
    if not first:
        return Plan(second.edits, (*first.envelope, *second.envelope))
    return _Composer(first, messages).compose(second)


class _Composer:
    """Leads places in the view of one plan back to the original."""

    def __init__(self, first: Plan, messages: Sequence[Message]) -> None:
        self._slots = apply(first, messages)
        self._messages = messages
        self._first = first
        made = [edit for edit in first if isinstance(edit, Fold) and edit.joins is None]
        self._makers = {id(edit.message): edit for edit in made}
        self._joined: dict[int, list[Fold]] = {}  # by the message that their text became part of
        for edit in first:
            if isinstance(edit, Fold) and edit.joins is not None:
                self._joined.setdefault(edit.joins, []).append(edit)
        self._unmade: set[int] = set()  # ids of made messages that the second plan drops
        self._remade: dict[int, Message] = {}  # what it makes of others, by their ids
        self._ahead: dict[int, list[Edit]] = {}  # what it puts before others, by their ids

    def compose(self, second: Plan) -> Plan:
        later = [edit for old in second for edit in self._translate(old)]
        kept: list[Edit] = []
        for edit in self._first:
            if isinstance(edit, Fold):
                kept += self._ahead.get(id(edit.message), ())
            if isinstance(edit, Fold) and id(edit.message) in self._unmade:
                kept += [Drop(ref, edit.reason) for ref in edit.removed]
            elif isinstance(edit, Fold) and id(edit.message) in self._remade:
                kept.append(replace(edit, message=self._remade[id(edit.message)]))
            else:
                kept.append(edit)
        return Plan((*kept, *later), (*self._first.envelope, *second.envelope))

    def _translate(self, edit: Edit) -> list[Edit]:
        match edit:
            case Keep():
                refs = self._refs(edit.ref, is_drop=False)
                return [Keep(ref, edit.reason) for ref in refs]
            case Drop():
                return [
                    Drop(ref, edit.reason, edit.saved_tokens)
                    for ref in self._refs(edit.ref, is_drop=True)
                ]
            case Replace():
                slot = self._slots[edit.message]
                if slot.source is None:
                    self._remake(slot.message, edit)
                    return []
                original = self._original_parts(slot)
                if edit.part >= len(original):
                    self._rejoin(slot.source, edit.new)
                    return []
                return [replace(edit, message=slot.source, part=original[edit.part])]
            case Fold():
                removed = [ref for old in edit.removed for ref in self._refs(old, is_drop=True)]
                joins = None if edit.joins is None else self._slots[edit.joins].source
                before, follower = self._before(edit.before)
                fold = replace(edit, removed=tuple(removed), before=before, joins=joins)
                if follower is None:
                    return [fold]
                self._ahead.setdefault(id(follower), []).append(fold)
                return []

    def _remake(self, made: Message, edit: Replace) -> None:
        """Change what the first plan made: a result that it moved can be large."""
        parts = list(self._remade.get(id(made), made).parts)
        parts[edit.part] = edit.new
        self._remade[id(made)] = made.with_parts(parts)

    def _rejoin(self, source: int, new: Part) -> None:
        """Change the text that the first plan joined to a message."""
        first, *others = self._joined[source]
        self._remade[id(first.message)] = first.message.with_parts([new])
        self._unmade.update(id(fold.message) for fold in others)

    def _refs(self, ref: Ref, *, is_drop: bool) -> list[Ref]:
        slot = self._slots[ref.message]
        if slot.source is None:
            if is_drop:
                self._unmade.add(id(slot.message))
            return []
        if ref.parts is None:
            return [Ref(slot.source)]
        original = self._original_parts(slot)
        parts = tuple(original[part] for part in ref.parts if part < len(original))
        if is_drop and len(parts) < len(ref.parts):  # the text that the first plan joined to it
            self._unmade.update(id(fold.message) for fold in self._joined[slot.source])
        return [Ref(slot.source, parts)] if parts else []

    def _original_parts(self, slot: Slot) -> list[int]:
        """Places in the original message of the parts that the view still has."""
        source = self._messages[slot.source or 0]
        return [part for part in range(len(source.parts)) if part not in slot.dropped]

    def _before(self, place: int) -> tuple[int, Message | None]:
        """The original place, and the message of the first plan's that stands behind it there."""
        if place >= len(self._slots):
            return len(self._messages), None
        slot = self._slots[place]
        if slot.source is not None:
            return slot.source, None
        return self._makers[id(slot.message)].before, slot.message


OutcomeStatus: TypeAlias = Literal["untouched", "fits", "unmet", "unsatisfiable"]
"""How a request came out.

``untouched``: within its limit as it came, and sent as it came. ``fits``:
within its limit after edits. ``unmet``: over it, though smaller is possible;
a policy or a rule of the provider forbids it. ``unsatisfiable``: over it,
because what is protected alone is larger.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a request fits, in numbers.

    Attributes:
        status: In a word.
        limit_tokens: What must not be passed.
        tokens_before: The whole request as it came.
        tokens_after: The whole request as it goes out.
        needed_tokens: The smallest that could be made of it, where it does not fit; else 0.
        reason: Why it is as it is, in words for the user; empty where the status says it all.
    """

    status: OutcomeStatus
    limit_tokens: int
    tokens_before: int
    tokens_after: int
    needed_tokens: int = 0
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Whether it goes out within its limit."""
        return self.tokens_after <= self.limit_tokens

    @property
    def available_tokens(self) -> int:
        """What there is room for: the limit."""
        return self.limit_tokens
