"""What was sent, carried over to the history that a request really has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Drop, Fold, Keep, Message, Plan, Replace, Text, ToolCall, ToolResult
from trimtab.constraints import UNCONSTRAINED, Constraints
from trimtab.lineage import Places, align, carried, extends, shifted, sound, within
from trimtab.plan import EMPTY_PLAN, Edit, EnvelopeEdit, Ref, Slot, apply
from trimtab.strategies.fold import FILLER, GO_ON

MADE = Message.user("made", origin="marker")
OTHER = Message.user("other", origin="marker")
ENVELOPE = (EnvelopeEdit(("thinking",), "{}", "bound"),)


def digests(letters: str) -> list[bytes]:
    """One digest a letter."""
    return [letter.encode() for letter in letters]


def refs(*places: int) -> tuple[Ref, ...]:
    """Whole messages."""
    return tuple(map(Ref, places))


# -------------------------------------------------------------------- align


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        # it was continued
        ("", "", Places({}, {}, 0, is_edited=False)),
        ("", "ab", Places({}, {}, 0, is_edited=False)),
        ("ab", "ab", Places({0: 0, 1: 1}, {}, 2, is_edited=False)),
        ("ab", "abcd", Places({0: 0, 1: 1}, {}, 2, is_edited=False)),
        # rewound
        ("abcd", "ab", Places({0: 0, 1: 1}, {}, 2, is_edited=False)),
        ("abcd", "", Places({}, {}, 0, is_edited=False)),
        # forked; of what is new, nothing stands for what was there
        ("abcd", "abx", Places({0: 0, 1: 1}, {}, 2, is_edited=False)),
        ("abcd", "abxy", Places({0: 0, 1: 1}, {}, 2, is_edited=False)),
        ("ab", "xy", Places({}, {}, 0, is_edited=False)),
        # shortened in place
        ("abcd", "axcd", Places({0: 0, 2: 2, 3: 3}, {1: 1}, 1, is_edited=True)),
        ("abcd", "xycd", Places({2: 2, 3: 3}, {0: 0, 1: 1}, 0, is_edited=True)),
        ("abcde", "axcye", Places({0: 0, 2: 2, 4: 4}, {1: 1, 3: 3}, 1, is_edited=True)),
        ("abcd", "axcdef", Places({0: 0, 2: 2, 3: 3}, {1: 1}, 1, is_edited=True)),
        # shortened, and the end is another one
        ("abcd", "axcy", Places({0: 0, 2: 2}, {1: 1}, 1, is_edited=True)),
        # removed in front
        ("abcd", "cd", Places({2: 0, 3: 1}, {}, 0, is_edited=True)),
        ("abcd", "cde", Places({2: 0, 3: 1}, {}, 0, is_edited=True)),
        # removed in the middle
        ("abcde", "ade", Places({0: 0, 3: 1, 4: 2}, {}, 1, is_edited=True)),
        ("abcde", "axe", Places({0: 0, 4: 2}, {}, 1, is_edited=True)),
        # put in
        ("abc", "axbc", Places({0: 0, 1: 2, 2: 3}, {}, 1, is_edited=True)),
    ],
)
def test_messages_are_found_where_they_stand_now(before: str, after: str, places: Places) -> None:
    """Continued, rewound and forked are no edits of the client's; all else is."""
    assert align(digests(before), digests(after)) == places


@given(
    before=st.lists(st.sampled_from(digests("abcd")), max_size=12),
    after=st.lists(st.sampled_from(digests("abcd")), max_size=12),
)
def test_what_is_still_there_is_the_same_and_in_order(
    before: list[bytes], after: list[bytes]
) -> None:
    """Whatever was done; and what was shortened stands between its neighbours."""
    places = align(before, after)
    everywhere = {**places.now, **places.shortened}

    assert all(before[old] == after[new] for old, new in places.now.items())
    assert before[: places.shared] == after[: places.shared]
    assert not places.now.keys() & places.shortened.keys()
    assert [everywhere[old] for old in sorted(everywhere)] == sorted(set(everywhere.values()))


# ------------------------------------------------------------------ carried

REMOVED = Places({0: 0, 1: 1, 4: 2, 5: 3}, {}, 2, is_edited=True)
"""Messages 2 and 3 are gone."""

CLEARED = Places({0: 0, 1: 1, 3: 3, 4: 4, 5: 5}, {2: 2}, 2, is_edited=True)
"""Message 2 has other words."""

FRONT = Places({2: 0, 3: 1, 4: 2, 5: 3}, {}, 0, is_edited=True)
"""Messages 0 and 1 are gone."""


@pytest.mark.parametrize(
    ("places", "edit", "edits"),
    [
        # a part in another form: only where its message has the same words
        (REMOVED, Replace(1, 0, Text("x"), "r", 7), [Replace(1, 0, Text("x"), "r", 7)]),
        (REMOVED, Replace(4, 0, Text("x"), "r", 7), [Replace(2, 0, Text("x"), "r", 7)]),
        (REMOVED, Replace(2, 0, Text("x"), "r"), []),
        (CLEARED, Replace(2, 0, Text("x"), "r"), []),
        # a whole message: also where it has other words now
        (REMOVED, Drop(Ref(5), "d", 3), [Drop(Ref(3), "d", 3)]),
        (REMOVED, Drop(Ref(3), "d"), []),
        (CLEARED, Drop(Ref(2), "d"), [Drop(Ref(2), "d")]),
        (CLEARED, Drop(Ref(3, (0,)), "d"), [Drop(Ref(3, (0,)), "d")]),
        (CLEARED, Drop(Ref(2, (0,)), "d"), []),
        (REMOVED, Keep(Ref(4), "k"), [Keep(Ref(2), "k")]),
        (REMOVED, Keep(Ref(2), "k"), []),
        # a fold: what it stands for goes as far as it is still there
        (REMOVED, Fold(refs(1, 2, 3), 4, MADE, "f"), [Fold(refs(1), 2, MADE, "f")]),
        (REMOVED, Fold(refs(2, 3), 4, MADE, "f"), []),
        (
            CLEARED,
            Fold(refs(1, 2), 3, MADE, "f", None, 5),
            [Fold(refs(1, 2), 3, MADE, "f", None, 5)],
        ),
        (CLEARED, Fold(refs(1), 2, MADE, "f"), [Fold(refs(1), 2, MADE, "f")]),
        (CLEARED, Fold((Ref(2, (0,)), Ref(3)), 4, MADE, "f"), [Fold(refs(3), 4, MADE, "f")]),
        (FRONT, Fold(refs(0, 1, 2), 3, MADE, "f"), [Fold(refs(0), 1, MADE, "f")]),
        # where nothing stands at its place any more: in front of what it removes
        (REMOVED, Fold(refs(1), 2, MADE, "f"), [Fold(refs(1), 1, MADE, "f")]),
        (REMOVED, Fold(refs(4, 5), 6, MADE, "f"), [Fold(refs(2, 3), 2, MADE, "f")]),
        # what is only put in stands before its message, else behind the one before
        (REMOVED, Fold((), 4, MADE, "f"), [Fold((), 2, MADE, "f")]),
        (REMOVED, Fold((), 2, MADE, "f"), [Fold((), 2, MADE, "f")]),
        (REMOVED, Fold((), 3, MADE, "f"), []),
        (REMOVED, Fold((), 6, MADE, "f"), [Fold((), 4, MADE, "f")]),
        (FRONT, Fold((), 0, MADE, "f"), []),
        # what joined a message needs that message, words and all
        (REMOVED, Fold(refs(4), 4, MADE, "f", 1), [Fold(refs(2), 2, MADE, "f", 1)]),
        (REMOVED, Fold((), 6, MADE, "f", 5), [Fold((), 4, MADE, "f", 3)]),
        (REMOVED, Fold(refs(1), 4, MADE, "f", 3), []),
        (CLEARED, Fold(refs(3), 3, MADE, "f", 2), []),
    ],
)
def test_an_edit_is_carried_over_as_far_as_what_it_names_is_there(
    places: Places, edit: Edit, edits: list[Edit]
) -> None:
    """It keeps its reason and what it saves."""
    plan = Plan((edit,), ENVELOPE)

    assert carried(plan, places) == Plan(tuple(edits), ENVELOPE if edits else ())


@given(data=st.data())
def test_what_was_only_continued_keeps_its_plan(data: st.DataObject) -> None:
    """Every edit, word for word."""
    plan = data.draw(plans(6))
    places = align(digests("abcdef"), digests("abcdefgh"))
    carried_over = carried(plan, places)
    # A made message at the very end keeps its place behind what stood there.
    assert apply(carried_over, messages(6)) == apply(plan, messages(6))


# ------------------------------------------------------------------- within


@pytest.mark.parametrize(
    ("edit", "count", "edits"),
    [
        (Replace(1, 0, Text("x"), "r"), 2, [Replace(1, 0, Text("x"), "r")]),
        (Replace(2, 0, Text("x"), "r"), 2, []),
        (Drop(Ref(1, (0,)), "d"), 2, [Drop(Ref(1, (0,)), "d")]),
        (Drop(Ref(2), "d"), 2, []),
        (Keep(Ref(1), "k"), 2, [Keep(Ref(1), "k")]),
        (Keep(Ref(2), "k"), 2, []),
        # a fold stands in front of a message that is there, or is left out whole
        (Fold(refs(1, 2), 3, MADE, "f"), 4, [Fold(refs(1, 2), 3, MADE, "f")]),
        (Fold(refs(1, 2), 3, MADE, "f"), 3, []),
        (Fold(refs(2, 3), 1, MADE, "f"), 3, [Fold(refs(2), 1, MADE, "f")]),
        (Fold(refs(2, 3), 1, MADE, "f"), 2, []),
        (Fold((), 2, MADE, "f"), 3, [Fold((), 2, MADE, "f")]),
        (Fold((), 2, MADE, "f"), 2, []),
        # one that joined a message stays where that message does
        (Fold(refs(1, 2), 3, MADE, "f", 0), 4, [Fold(refs(1, 2), 1, MADE, "f", 0)]),
        (Fold(refs(1, 2), 3, MADE, "f", 0), 2, [Fold(refs(1), 1, MADE, "f", 0)]),
        (Fold(refs(1, 2), 3, MADE, "f", 0), 1, [Fold((), 1, MADE, "f", 0)]),
        (Fold(refs(1, 2), 4, MADE, "f", 3), 3, []),
        (Fold(refs(1, 2), 1, MADE, "f", 3), 3, []),
    ],
)
def test_a_plan_can_be_cut_to_the_first_messages(edit: Edit, count: int, edits: list[Edit]) -> None:
    """What is put in behind them is left out."""
    plan = Plan((edit,), ENVELOPE)

    assert within(plan, count) == Plan(tuple(edits), ENVELOPE if edits else ())


def messages(count: int) -> list[Message]:
    """Messages of two parts."""
    return [Message.user(f"m{n}a", f"m{n}b") for n in range(count)]


@st.composite
def plans(draw: st.DrawFn, count: int) -> Plan:
    """Edits of every kind for a history of some length; a fold stands before what it removes."""
    edits: list[Edit] = []
    for place in range(count):
        match draw(st.sampled_from(["none", "drop", "half", "new", "fold", "put", "join", "keep"])):
            case "drop":
                edits.append(Drop(Ref(place), "d"))
            case "half":
                edits.append(Drop(Ref(place, (0,)), "h"))
            case "new":
                edits.append(Replace(place, 0, Text(f"new{place}"), "n"))
            case "fold":
                stop = draw(st.integers(place + 1, count))
                edits.append(Fold(refs(*range(place, stop)), place, MADE, "f"))
            case "put":
                edits.append(Fold((), place, OTHER, "p"))
            case "join":
                edits.append(Fold((), place + 1, OTHER, "j", place))
            case "keep":
                edits.append(Keep(Ref(place), "k"))
            case _:
                pass
    return Plan(tuple(edits))


@given(plan=plans(6), count=st.integers(0, 6))
def test_a_plan_cut_to_the_first_messages_makes_the_same_of_them(plan: Plan, count: int) -> None:
    """The view of them is the front of the whole view, and the whole plan extends it."""
    cut = within(plan, count)
    view = apply(cut, messages(count))

    assert apply(plan, messages(6))[: len(view)] == view
    assert extends(cut, plan, count)
    assert extends(plan, cut, count)


# -------------------------------------------------------------------- sound


def called(*ids: str) -> Message:
    """An answer that calls tools."""
    return Message.assistant(*(ToolCall(call_id, "look", "{}") for call_id in ids))


def result(call_id: str, *words: str) -> Message:
    """The result of a call, and what the user says with it."""
    return Message("user", (ToolResult(call_id, (Text("r"),)), *map(Text, words)))


@pytest.mark.parametrize(
    ("messages", "removed", "staying"),
    [
        # whole exchanges go, and what has no result yet
        ([called("a"), result("a"), called("b"), result("b")], refs(1, 2), refs(1, 2)),
        ([called("a"), Message.user("stop")], refs(1), refs(1)),
        # one half of an exchange goes alone
        ([called("a"), result("a")], refs(1), ()),
        ([called("a"), result("a")], refs(2), ()),
        ([called("a"), result("a", "and")], (Ref(1), Ref(2, (0,))), (Ref(1), Ref(2, (0,)))),
        ([called("a"), result("a", "and")], (Ref(1), Ref(2, (1,))), (Ref(2, (1,)),)),
        # with a call stay all that it was made with, and their results
        ([called("a", "b"), result("a"), result("b")], refs(1, 2), ()),
        # an id that is used again is another call
        ([called("a"), result("a"), called("a"), result("a")], refs(1, 2, 3), refs(1, 2)),
    ],
)
def test_an_exchange_that_would_be_torn_stays(
    messages: list[Message], removed: tuple[Ref, ...], staying: tuple[Ref, ...]
) -> None:
    """All else goes as planned, and the marker stands where it stood."""
    plan = Plan((Fold(removed, 1, MADE, "f"), *map(drop, removed)), ENVELOPE)

    mended = sound(plan, [Message.user("go"), *messages], UNCONSTRAINED)

    assert mended == Plan((Fold(staying, 1, MADE, "f"), *map(drop, staying)), ENVELOPE)


def drop(ref: Ref) -> Drop:
    """The same said in another way."""
    return Drop(ref, "d")


def test_a_result_that_was_moved_tears_nothing() -> None:
    """It is gone where it was, and was made where it belongs."""
    moved = Message("tool", (ToolResult("a", (Text("r"),)),), origin="repair")
    plan = Plan((Fold((), 1, moved, "m"), drop(Ref(2))))

    assert sound(plan, [called("a"), Message.user("w"), result("a")], UNCONSTRAINED) == plan


def test_roles_that_must_alternate_do() -> None:
    """Where two of one role meet that did not, behind what the plan was made for."""
    said = [
        Message.user("go"),
        Message.assistant("a"),
        Message.system("s"),
        Message.user("u"),
        Message.assistant("b"),
        Message.user("v"),
        Message.assistant("c"),
        Message.assistant("d"),
    ]
    plan = Plan((drop(Ref(1)), drop(Ref(5))))
    user, assistant = (
        Message.user(GO_ON, origin="filler"),
        Message.assistant(FILLER, origin="filler"),
    )
    why = "keeps user and assistant alternating"
    strict = Constraints(roles_must_alternate=True)
    put_in = [Fold((), 3, assistant, why), Fold((), 6, user, why)]

    assert sound(plan, said, UNCONSTRAINED) == plan
    assert sound(plan, said, strict) == Plan((*plan, *put_in))
    assert sound(plan, said, strict, 4) == Plan((*plan, put_in[1]))
    assert sound(EMPTY_PLAN, said, strict) == EMPTY_PLAN


# ------------------------------------------------------------------ extends


FOLDED = Plan((Fold(refs(1, 2), 1, MADE, "f"),))


@pytest.mark.parametrize(
    ("first", "second", "count", "is_same"),
    [
        (EMPTY_PLAN, EMPTY_PLAN, 4, True),
        (FOLDED, FOLDED, 4, True),
        (FOLDED, EMPTY_PLAN, 4, False),
        (FOLDED, EMPTY_PLAN, 1, True),
        # however it is said
        (FOLDED, Plan((Fold((), 1, MADE, ""), Drop(Ref(1), "x", 3), Drop(Ref(2), ""))), 4, True),
        (Plan((Keep(Ref(0), "k"),)), EMPTY_PLAN, 4, True),
        (Plan((), ENVELOPE), EMPTY_PLAN, 4, True),  # parameters are not part of the prefix
        (
            Plan((Drop(Ref(0, (0,)), ""), Drop(Ref(0, (1,)), ""))),
            Plan((Drop(Ref(0, (0, 1)), ""),)),
            1,
            True,
        ),
        # what stands in a message that is gone makes no difference
        (
            Plan((Drop(Ref(1), ""), Replace(1, 0, Text("x"), ""))),
            Plan((Drop(Ref(1), ""),)),
            2,
            True,
        ),
        (Plan((Drop(Ref(1), ""), Drop(Ref(1, (0,)), ""))), Plan((Drop(Ref(1), ""),)), 2, True),
        # another form, another message of ours, another text that joined
        (Plan((Replace(0, 0, Text("x"), ""),)), Plan((Replace(0, 0, Text("y"), ""),)), 1, False),
        (Plan((Replace(0, 0, Text("x"), ""),)), Plan((Replace(0, 1, Text("x"), ""),)), 1, False),
        (Plan((Replace(0, 0, Text("x"), ""),)), Plan((Replace(0, 0, Text("x"), "y"),)), 1, True),
        (FOLDED, Plan((Fold(refs(1, 2), 1, OTHER, "f"),)), 4, False),
        (FOLDED, Plan((Fold(refs(1, 2), 3, MADE, "f"),)), 4, False),
        (FOLDED, Plan((Fold(refs(1, 2), 1, MADE, "f", 0),)), 4, False),
        (Plan((Fold((), 1, MADE, "f", 0),)), Plan((Fold((), 2, MADE, "f", 0),)), 2, True),
        (Plan((Fold((), 1, MADE, "f", 0),)), Plan((Fold((), 1, OTHER, "f", 0),)), 2, False),
        (Plan((Drop(Ref(0, (0,)), ""),)), Plan((Drop(Ref(0, (1,)), ""),)), 1, False),
        # what lies behind the first messages makes no difference
        (Plan((Replace(2, 0, Text("x"), ""),)), EMPTY_PLAN, 2, True),
        (Plan((Fold((), 2, MADE, ""),)), EMPTY_PLAN, 2, True),
        (Plan((Fold((), 3, MADE, "", 2),)), EMPTY_PLAN, 2, True),
        (Plan((Drop(Ref(2, (0,)), ""),)), EMPTY_PLAN, 2, True),
    ],
)
def test_plans_extend_each_other_if_they_make_the_same_of_the_first_messages(
    first: Plan,
    second: Plan,
    count: int,
    is_same: bool,  # noqa: FBT001 - a table
) -> None:
    """Whatever their edits say, save or are made of, both ways."""
    assert extends(first, second, count) is is_same
    assert extends(second, first, count) is is_same


@given(plan=plans(5), other=plans(5), count=st.integers(0, 5))
def test_plans_that_extend_each_other_send_the_same(plan: Plan, other: Plan, count: int) -> None:
    """Of the first messages, whatever else they do."""
    if extends(plan, other, count):
        assert apply(within(plan, count), messages(count)) == apply(
            within(other, count), messages(count)
        )


# ------------------------------------------------------------------ shifted


@pytest.mark.parametrize(
    ("edit", "moved"),
    [
        (Replace(1, 2, Text("x"), "r", 7), Replace(4, 2, Text("x"), "r", 7)),
        (Drop(Ref(1, (0, 2)), "d", 7), Drop(Ref(4, (0, 2)), "d", 7)),
        (Keep(Ref(0), "k"), Keep(Ref(3), "k")),
        (Fold(refs(1, 2), 3, MADE, "f", None, 7), Fold(refs(4, 5), 6, MADE, "f", None, 7)),
        (Fold((Ref(1, (0,)),), 3, MADE, "f", 0), Fold((Ref(4, (0,)),), 6, MADE, "f", 3)),
    ],
)
def test_places_can_count_from_another_message(edit: Edit, moved: Edit) -> None:
    """Each place moves, and nothing else changes."""
    assert shifted(Plan((edit,), ENVELOPE), 3) == Plan((moved,), ENVELOPE)


@given(plan=plans(5), by=st.integers(0, 4))
def test_a_shifted_plan_does_the_same_further_on(plan: Plan, by: int) -> None:
    """And shifting back undoes it."""
    front, rest = messages(by), messages(5)
    view = apply(shifted(plan, by), front + rest)
    alone: list[Slot] = [
        slot if slot.source is None else replace(slot, source=slot.source + by)
        for slot in apply(plan, rest)
    ]

    assert list(view) == [*apply(EMPTY_PLAN, front), *alone]
    assert shifted(shifted(plan, by), -by) == plan
