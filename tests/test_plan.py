"""What a plan means, and how two become one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab import Drop, Fold, Keep, Message, Plan, Replace, Text
from trimtab.plan import EMPTY_PLAN, EnvelopeEdit, Outcome, Ref, Slot, apply, compose

MESSAGES = [Message.user(f"m{n}a", f"m{n}b") for n in range(5)]
MARKER = Message.user("marker", origin="marker")


def texts(plan: Plan, messages: list[Message] = MESSAGES) -> list[list[str]]:
    """The words of each message under a plan."""
    return [
        [part.text for part in slot.message.parts if isinstance(part, Text)]
        for slot in apply(plan, messages)
    ]


def test_an_empty_plan_changes_nothing() -> None:
    """The view is the very same messages."""
    slots = apply(EMPTY_PLAN, MESSAGES)

    assert [slot.source for slot in slots] == [0, 1, 2, 3, 4]
    assert all(slot.message is MESSAGES[place] for place, slot in enumerate(slots))
    assert all(slot.is_untouched for slot in slots)
    assert not EMPTY_PLAN


def test_a_keep_alone_is_no_change() -> None:
    """Saying that something stays leaves a plan empty."""
    assert not Plan((Keep(Ref(0), "because"),))
    assert Plan((Drop(Ref(0), "because"),))
    assert Plan((), (EnvelopeEdit(("thinking",), "{}", "because"),))


def test_each_edit_says_what_the_view_is() -> None:
    """Replace, drop of a part, drop of a message, fold before, fold at the end."""
    plan = Plan(
        (
            Replace(0, 1, Text("new"), "shorter"),
            Drop(Ref(1, (0,)), "blank"),
            Drop(Ref(2), "gone"),
            Fold((Ref(3),), 3, MARKER, "folded"),
            Fold((), 5, Message.assistant("end", origin="filler"), "put in"),
        )
    )

    assert texts(plan) == [["m0a", "new"], ["m1b"], ["marker"], ["m4a", "m4b"], ["end"]]
    assert [slot.source for slot in apply(plan, MESSAGES)] == [0, 1, None, 4, None]


def test_a_fold_can_join_the_message_before_it() -> None:
    """The made text becomes the last part, and the message's own parts stay."""
    plan = Plan((Fold((Ref(1), Ref(2)), 1, MARKER, "folded", joins=0),))

    slots = apply(plan, MESSAGES)

    assert texts(plan) == [["m0a", "m0b", "marker"], ["m3a", "m3b"], ["m4a", "m4b"]]
    assert slots[0] == Slot(0, slots[0].message, appended="marker")


def test_a_message_all_of_whose_parts_go_is_gone() -> None:
    """Parts can go one by one until nothing is left."""
    plan = Plan((Drop(Ref(0, (0,)), "one"), Drop(Ref(0, (1,)), "two")))

    assert texts(plan)[0] == ["m1a", "m1b"]


def test_a_part_that_is_dropped_and_replaced_is_dropped() -> None:
    """What goes does not come back in another form."""
    plan = Plan((Replace(0, 0, Text("new"), "x"), Drop(Ref(0, (0,)), "y")))

    (slot, *_) = apply(plan, MESSAGES)

    assert texts(plan)[0] == ["m0b"]
    assert slot.replaced == {}


def test_composing_leads_places_back_to_the_original() -> None:
    """A plan for what another leaves is told in places of the original."""
    repair = Message("tool", [], origin="repair")
    first = Plan((Drop(Ref(0), "x"), Drop(Ref(2, (0,)), "y"), Fold((), 3, repair, "z")))
    second = Plan((Replace(1, 0, Text("new"), "r"), Drop(Ref(2), "gone"), Keep(Ref(0), "k")))

    composed = compose(first, second, MESSAGES)

    assert composed.edits == (
        Drop(Ref(0), "x"),
        Drop(Ref(2, (0,)), "y"),
        Replace(2, 1, Text("new"), "r"),
        Keep(Ref(1), "k"),
    )


@st.composite
def plans(draw: st.DrawFn, length: int) -> Plan:
    """Edits that name messages of a history of some length, each at most once."""
    edits: list[Drop | Replace | Fold] = []
    for place in range(length):
        match draw(st.sampled_from(["keep", "keep", "drop", "half", "new", "fold", "put"])):
            case "drop":
                edits.append(Drop(Ref(place), "d"))
            case "half":
                edits.append(Drop(Ref(place, (0,)), "h"))
            case "new":
                edits.append(Replace(place, 0, Text(f"new{place}"), "n"))
            case "fold":
                made = Message.user(f"made{place}", origin="marker")
                edits.append(Fold((Ref(place),), place, made, "f"))
            case "put":
                made = Message.user(f"put{place}", origin="marker")
                edits.append(Fold((), place, made, "p"))
            case _:
                pass
    return Plan(tuple(edits))


@given(st.data())
def test_two_plans_in_a_row_are_their_composition(data: st.DataObject) -> None:
    """Dropping, folding and putting in: the view of both is the view of the one."""
    first = data.draw(plans(len(MESSAGES)))
    middle = [slot.message for slot in apply(first, MESSAGES)]
    drawn = data.draw(plans(len(middle)))
    # What the first plan made has one part and is not cut; only whole messages of it go.
    second = Plan(
        tuple(
            edit
            for edit in drawn
            if not (isinstance(edit, Replace) and len(middle[edit.message].parts) < 2)
            and not (
                isinstance(edit, Drop)
                and edit.ref.parts
                and len(middle[edit.ref.message].parts) < 2
            )
        )
    )

    both = compose(first, second, MESSAGES)

    assert texts(both) == texts(second, middle)


def joined(text: str, removed: int, before: int = 3) -> Fold:
    """A fold whose text becomes part of message 1."""
    made = Message.user(text, origin="marker")
    return Fold((Ref(removed),), before, made, "j", joins=1)


def test_a_text_that_was_joined_can_be_made_anew() -> None:
    """A later plan that names it changes what the first one made; all its texts are one part."""
    first = Plan((joined("one", 2), joined("two", 3)))

    both = compose(first, Plan((Replace(1, 2, Text("new"), "n"),)), MESSAGES)

    assert texts(both) == [["m0a", "m0b"], ["m1a", "m1b", "new"], ["m4a", "m4b"]]


def test_a_text_that_was_joined_can_go() -> None:
    """Alone, or with other parts of its message; what it stood for stays gone."""
    first = Plan((joined("one", 2),))

    alone = compose(first, Plan((Drop(Ref(1, (2,)), "d"),)), MESSAGES)
    with_words = compose(first, Plan((Drop(Ref(1, (1, 2)), "d"),)), MESSAGES)

    rest = [["m3a", "m3b"], ["m4a", "m4b"]]
    assert texts(alone) == [["m0a", "m0b"], ["m1a", "m1b"], *rest]
    assert texts(with_words) == [["m0a", "m0b"], ["m1a"], *rest]


def test_an_outcome_fits_up_to_its_limit() -> None:
    """At the limit it fits; a token more and it does not."""
    assert Outcome("fits", 100, 200, 100).fits
    assert not Outcome("unsatisfiable", 100, 200, 101, 101).fits
    assert Outcome("fits", 100, 200, 100).available_tokens == 100
