"""What every strategy looks at: messages with their weights, boundaries and protection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.boundaries import Boundaries, protected_pieces
from trimtab.constraints import UNCONSTRAINED, Constraints
from trimtab.messages import Message, Part, ToolCall
from trimtab.plan import Drop, Edit, Fold, Keep, Plan, Ref, Replace, Slot, apply, places_in
from trimtab.policy import Policy
from trimtab.tokens import Measure

__all__ = ["History", "priced", "slot_tokens"]


@dataclass(frozen=True, slots=True)
class History:
    """A conversation, weighed.

    Attributes:
        messages: Oldest first, in the form that the edits so far give them.
        message_tokens: What each weighs.
        fixed_tokens: What the request weighs apart from them.
        boundaries: Its pieces, atoms and cuts; edits of parts do not change them.
        protected: Why a piece must stay, by its place in the boundaries' pieces.
        constraints: What the format forbids.
        policy: What the user wants.
        measure: Weighs texts that are not in it yet.
    """

    messages: Sequence[Message] = field(repr=False)
    message_tokens: Sequence[int] = field(repr=False)
    fixed_tokens: int
    boundaries: Boundaries = field(repr=False)
    protected: Mapping[int, str] = field(repr=False)
    constraints: Constraints = field(repr=False)
    policy: Policy = field(repr=False)
    measure: Measure = field(repr=False)

    @classmethod
    def weigh(
        cls,
        messages: Sequence[Message],
        fixed_tokens: int,
        measure: Measure,
        policy: Policy,
        constraints: Constraints = UNCONSTRAINED,
    ) -> History:
        """Weigh each message and find out what may be done to it.

        Raises:
            TokenCountError: If the counter fails.
        """
        boundaries = Boundaries(messages, constraints)
        return cls(
            messages,
            [measure.message(message) for message in messages],
            fixed_tokens,
            boundaries,
            protected_pieces(messages, boundaries, constraints, policy.protect),
            constraints,
            policy,
            measure,
        )

    @property
    def total_tokens(self) -> int:
        """What the whole request weighs."""
        return self.fixed_tokens + sum(self.message_tokens)

    def piece_tokens(self, place: int) -> int:
        """What a piece weighs; half a message carries the message's overhead too."""
        ref = self.boundaries.pieces[place].ref
        if ref.parts is None:
            return self.message_tokens[ref.message]
        parts = self.messages[ref.message].parts
        half = Message("user", [parts[part] for part in ref.parts])
        return self.measure.message(half)

    def tokens_under(self, plan: Plan) -> int:
        """What the whole request weighs under a plan that names its messages."""
        return self.fixed_tokens + sum(self._slot_tokens(s) for s in apply(plan, self.messages))

    def _slot_tokens(self, slot: Slot) -> int:
        if slot.is_untouched and slot.source is not None:
            return self.message_tokens[slot.source]
        return slot_tokens(self.measure, slot)

    def priced(self, plan: Plan) -> Plan:
        """The same plan, in which each edit says what it saves; see :func:`priced`."""
        return priced(plan, self.measure, self.messages.__getitem__)

    def after(self, edits: Sequence[Edit]) -> History:
        """The history in which some parts have another form; edits that drop are not for it."""
        messages, tokens = list(self.messages), list(self.message_tokens)
        by_message: dict[int, dict[int, Replace]] = {}
        for edit in edits:
            if isinstance(edit, Replace):
                by_message.setdefault(edit.message, {})[edit.part] = edit
        for place, changes in by_message.items():
            parts = list(messages[place].parts)
            for part, edit in changes.items():
                parts[part] = edit.new
            messages[place] = messages[place].with_parts(parts)
            tokens[place] = self.measure.message(messages[place])
        return replace(self, messages=messages, message_tokens=tokens)

    def under(self, plan: Plan, policy: Policy) -> History:
        """The history that a plan makes, weighed under a policy.

        Raises:
            TokenCountError: If the counter fails.
        """
        messages = [slot.message for slot in apply(plan, self.messages)]
        constraints = _shifted(self.constraints, places_in(plan, self.messages))
        return History.weigh(messages, self.fixed_tokens, self.measure, policy, constraints)

    def tool_names(self) -> dict[str, str]:
        """The tool that each call asked for, by call id."""
        return {
            part.id: part.name
            for message in self.messages
            if message.call_ids
            for part in message.parts
            if isinstance(part, ToolCall)
        }


def _shifted(constraints: Constraints, places: Mapping[int, int]) -> Constraints:
    """The same constraints for a view in which messages stand in other places."""

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


def slot_tokens(measure: Measure, slot: Slot) -> int:
    """What a message of a view weighs.

    Raises:
        TokenCountError: If the counter fails.
    """
    if not slot.appended:
        return measure.message(slot.message)
    own = slot.message.with_parts(slot.message.parts[:-1])
    return measure.message(own) + _joined(measure, slot.appended)


def _joined(measure: Measure, text: str) -> int:
    """What a text weighs that some formats join to another, with what stands between."""
    return measure.text(f"\n\n{text}")


def priced(plan: Plan, measure: Measure, message_at: Callable[[int], Message]) -> Plan:
    """The same plan, in which each edit says what it saves.

    The savings add up to what the plan saves as a whole, but for a token
    or two where a marker was joined to other words.

    Args:
        plan: The plan.
        measure: Weighs what goes and what comes.
        message_at: Gives a message by its place.
    """
    pricer = _Pricer(measure, message_at)
    return Plan(tuple(map(pricer.priced, plan.edits)), plan.envelope)


class _Pricer:
    """Says what edits save; decodes a message of many parts once."""

    def __init__(self, measure: Measure, message_at: Callable[[int], Message]) -> None:
        self._measure = measure
        self._message_at = message_at
        self._looked: dict[int, tuple[Part, ...]] = {}

    def priced(self, edit: Edit) -> Edit:
        match edit:
            case Replace():
                old = self._look(edit.message)[edit.part]
                saved = self._measure.part(old) - self._measure.part(edit.new)
                return replace(edit, saved_tokens=saved)
            case Drop():
                return replace(edit, saved_tokens=self._ref_tokens(edit.ref))
            case Fold():
                removed = sum(map(self._ref_tokens, edit.removed))
                made = edit.message
                alone = edit.joins is None
                cost = self._measure.message(made) if alone else _joined(self._measure, made.text)
                return replace(edit, saved_tokens=removed - cost)
            case Keep():
                return edit

    def _ref_tokens(self, ref: Ref) -> int:
        if ref.parts is None:
            return self._measure.message(self._message_at(ref.message))
        parts = self._look(ref.message)
        return self._measure.parts(parts[part] for part in ref.parts)

    def _look(self, place: int) -> tuple[Part, ...]:
        if place not in self._looked:
            self._looked[place] = self._message_at(place).parts
        return self._looked[place]
