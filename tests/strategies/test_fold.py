"""What goes leaves one marker, and roles stay valid."""

from __future__ import annotations

import pytest

from tests.strategies.builders import answer, call, replay, weigh, words_of
from trimtab import (
    Constraints,
    Drop,
    Fold,
    Keep,
    Message,
    Plan,
    Replace,
    Text,
    ToolCall,
    ToolResult,
)
from trimtab.boundaries import MARKER
from trimtab.plan import Ref
from trimtab.strategies.fold import FILLER, GO_ON, StandIn, fold


def talk(count: int) -> list[Message]:
    """User and assistant in turn, ending with the user."""
    pairs = [(Message.user(f"u{n}"), Message.assistant(f"a{n}")) for n in range(count)]
    return [message for pair in pairs for message in pair] + [Message.user("now")]


def test_nothing_removed_is_no_edit() -> None:
    """An empty set folds nothing."""
    assert fold(weigh(talk(2)), set(), "why") == ()


def test_the_marker_joins_the_user_before_it() -> None:
    """Where roles alternated, the marker becomes the last part of the user's message."""
    history = weigh(talk(3))

    edits = fold(history, {1, 2, 3, 4}, "why")

    assert words_of(replay(history, edits)) == [f"u0 + {MARKER}", "a2", "now"]


def test_the_marker_stands_alone_behind_an_assistant() -> None:
    """Behind an assistant's message the marker is a user message of its own."""
    history = weigh(talk(3))

    edits = fold(history, {2, 3, 4}, "why")

    assert words_of(replay(history, edits)) == ["u0", "a0", MARKER, "a2", "now"]


def test_two_users_in_a_row_get_an_answer_between_them() -> None:
    """Roles that alternated still do, with words that say what they are."""
    history = weigh(talk(3))

    joined = fold(history, {1, 2, 3, 4, 5}, "why")
    alone = fold(history, {2, 3}, "why")

    assert words_of(replay(history, joined)) == [f"u0 + {MARKER}", FILLER, "now"]
    assert words_of(replay(history, alone)) == ["u0", "a0", MARKER, FILLER, "u2", "a2", "now"]
    assert words_of(replay(history, fold(history, {1, 2, 3, 4, 5}, "why", with_fillers=False))) == [
        f"u0 + {MARKER}",
        "now",
    ]


def test_where_roles_did_not_alternate_nothing_is_put_in() -> None:
    """A client that sends two users in a row is not taught better."""
    history = weigh(
        [Message.user("a"), Message.user("b"), Message.assistant("c"), Message.user("d")]
    )

    assert words_of(replay(history, fold(history, {1, 2}, "why"))) == ["a", MARKER, "d"]


def test_protected_messages_follow_the_marker_in_order() -> None:
    """What stays in the middle is told as kept."""
    messages = talk(4)
    history = weigh(messages, protect=lambda m: m.text in ("u1", "a2"))

    edits = fold(history, {1, 3, 4, 6}, "why")

    kept = [edit for edit in edits if isinstance(edit, Keep)]
    assert kept == [Keep(Ref(2), "named by protect"), Keep(Ref(5), "named by protect")]
    assert words_of(replay(history, edits)) == [
        f"u0 + {MARKER}",
        FILLER,
        "u1",
        "a2",
        GO_ON,
        "a3",
        "now",
    ]


def test_a_message_that_is_not_understood_takes_no_marker() -> None:
    """The marker stands alone, and an answer keeps it apart from the message before it."""
    history = weigh(talk(2), constraints=Constraints(frozen=frozenset([0])))

    edits = fold(history, {1, 2}, "why")

    assert words_of(replay(history, edits)) == ["u0", FILLER, MARKER, "a1", "now"]


@pytest.mark.parametrize("told", ["", "\n\nwhat went before"])
def test_there_is_never_a_second_marker(told: str) -> None:
    """What an earlier compaction left is made anew where it stands, bare."""
    rest = talk(3)[1:]
    own_part = [Message.user("u0", MARKER + told), *rest]
    same_part = [Message.user(f"u0\n\n{MARKER}{told}"), *rest]
    alone = [*talk(1)[:2], Message.user(MARKER + told), *rest]

    for messages, removed, place in (
        (own_part, {1, 2}, (0, 1, MARKER)),
        (same_part, {1, 2}, (0, 0, f"u0\n\n{MARKER}")),
        (alone, {3, 4}, (2, 0, MARKER)),
    ):
        renewed, *dropped = fold(weigh(messages), removed, "why")

        assert renewed == Replace(place[0], place[1], Text(place[2]), "why")
        assert all(isinstance(edit, Drop) for edit in dropped)


def test_what_stands_for_old_turns_keeps_its_place() -> None:
    """Made answers stand where the turns stood; the marker comes before all of them."""
    history = weigh(talk(4))
    lines = [StandIn((place,), Message.assistant(f"line {place}"), 1, "told") for place in (3, 5)]

    edits = fold(history, {1, 2}, "why", stand_ins=lines)

    assert words_of(replay(history, edits)) == [
        f"u0 + {MARKER}",
        "line 3",
        "u2",
        "line 5",
        "u3",
        "a3",
        "now",
    ]


def test_a_shortened_answer_is_kept_apart_from_the_next() -> None:
    """Where roles alternated, two answers in a row get a user's word between them."""
    asked = [message for n in range(3) for message in (call(f"c{n}"), answer(f"c{n}", "r"))]
    history = weigh([Message.user("go"), *asked])
    line = StandIn((1, 2, 3, 4), Message.assistant("line"), 1, "told")

    edits = fold(history, set(), "why", stand_ins=[line])

    assert words_of(replay(history, edits)) == [
        f"go + {MARKER}",
        "line",
        GO_ON,
        "call c2",
        "result c2",
    ]


def test_system_messages_do_not_count_as_speakers() -> None:
    """Instructions between two users do not keep them apart."""
    messages = [Message.user("a"), Message.assistant("b"), Message.system("s"), Message.user("c")]
    history = weigh(messages)

    assert words_of(replay(history, fold(history, {1}, "why"))) == [
        f"a + {MARKER}",
        "s",
        FILLER,
        "c",
    ]


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        ({1, 2}, [f"go + {MARKER}", "and now?", "ok"]),
        ({3}, ["go", "call a", f"result a + {MARKER}", "ok"]),
        ({1, 2, 3}, [f"go + {MARKER}", "ok"]),
    ],
)
def test_half_a_message_can_go(removed: set[int], expected: list[str]) -> None:
    """Results leave and words stay, or words leave and results stay, or both."""
    both = Message("user", [ToolResult("a", (Text("r"),)), Text("and now?")])
    messages = [
        Message.user("go"),
        Message.assistant(ToolCall("a", "look", "{}")),
        both,
        Message.assistant("ok"),
    ]
    history = weigh(messages)

    edits = fold(history, removed, "why", with_fillers=False)

    assert words_of(replay(history, edits)) == expected


def test_edits_say_what_they_save() -> None:
    """Savings are what goes less what the marker weighs, and add up to the plan's."""
    asked = [call("a"), answer("a", "x" * 4_000), Message.assistant("so")]
    history = weigh([Message.user("go"), *asked, Message.user("now")])

    plan = history.priced(Plan(fold(history, {1, 2}, "why")))

    (edit,) = plan.edits
    assert isinstance(edit, Fold)
    assert edit.saved_tokens == history.total_tokens - history.tokens_under(plan)
