"""Which messages are summed up, and whether they are still the same."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.test_compaction import TURNS, config, pair, talk
from trimtab import Media, Message, Opaque, Policy, Text, Thinking, ToolCall, ToolResult
from trimtab.background.lists import history_of
from trimtab.boundaries import MARKER
from trimtab.briefing import NoSpan, Span, choose_span, fingerprint, moved
from trimtab.messages import Role
from trimtab.plan import Drop, Fold, Plan, Ref


def span_of(messages: list[Message], tail: int = 0, **settings: Any) -> Span | NoSpan:
    """The span of a list; each pair weighs 217 tokens."""
    given = {"keep_first": 1, "keep_recent": 2, **settings}
    return choose_span(history_of(messages, config(2_000, **given)), tail)


def test_head_and_tail_are_left_alone() -> None:
    """As many messages and tokens as are asked for, or more."""
    messages = talk("pairs", 10)

    assert span_of(messages) == Span(head=1, cut=18, messages=17, tokens=1_845)
    assert span_of(messages, tail=300) == Span(head=1, cut=17, messages=16, tokens=1_736)
    assert span_of(messages, keep_first=0, keep_recent=6) == Span(0, 14, 14, 1_411)


@pytest.mark.parametrize(
    ("count", "tail", "keep_recent", "why"),
    [
        (1, 0, 2, "too short"),
        (3, 0, 2, "too short"),
        (10, 10_000, 2, "tail too large"),
        (10, 0, 18, "too many recent"),
        (1, 10_000, 2, "too short"),
    ],
)
def test_why_there_is_nothing_to_sum_up(count: int, tail: int, keep_recent: int, why: str) -> None:
    """What is short now will be long; what is set stays."""
    assert span_of(talk("pairs", count), tail, keep_recent=keep_recent) == why


def test_all_protected_is_nothing_to_sum_up() -> None:
    """Messages that would stay anyway do not count."""
    assert span_of(talk("pairs", 10), protect=lambda _: True) == "too short"


@pytest.mark.parametrize("kind", ["tools", "parallel"])
def test_no_span_parts_a_call_from_its_result(kind: str) -> None:
    """Wherever head and tail would like to end."""
    messages = [message for number in range(8) for message in TURNS[kind](number)]
    for keep_first in range(8):
        for keep_recent in range(8):
            span = span_of(messages, keep_first=keep_first, keep_recent=keep_recent)
            assert isinstance(span, Span)
            assert span.cut == len(messages) or not messages[span.cut].result_ids
            assert not messages[span.head].result_ids


def test_a_message_with_results_and_words_is_not_parted() -> None:
    """A cut that would lie inside lies in front of its exchange."""
    call = ToolCall("c1", "run", "{}")
    mixed = Message("user", [ToolResult("c1", (Text("ran"),)), Text("and go on")])
    messages = [*talk("pairs", 3), Message.assistant(call), mixed, *talk("pairs", 2)]

    cuts = {keep_recent: span_of(messages, keep_recent=keep_recent) for keep_recent in (4, 5, 6)}

    assert {recent: span.cut for recent, span in cuts.items() if isinstance(span, Span)} == {
        4: 8,
        5: 5,
        6: 5,
    }


def test_a_head_that_ends_inside_a_message_ends_before_it() -> None:
    """The words of a message with results belong to what is summed up, the results stay."""
    call = ToolCall("c1", "run", "{}")
    mixed = Message("user", [ToolResult("c1", (Text("ran"),)), Text("and go on")])
    messages = [Message.user("go"), Message.assistant(call), mixed, *talk("pairs", 4)]

    span = span_of(messages, keep_first=2)

    assert isinstance(span, Span)
    assert span.head == 1


# -------------------------------------------------------------------------- moved

SPAN = Span(head=1, cut=7, messages=6, tokens=651)
MESSAGES = talk("pairs", 6)
MADE = Message.user(MARKER, origin="marker")
TOLD = Message.assistant("[trimtab: told]", origin="marker")


def fold(removed: range, before: int, message: Message = MADE, joins: int | None = None) -> Fold:
    """One fold of whole messages."""
    return Fold(tuple(Ref(place) for place in removed), before, message, "why", joins)


@pytest.mark.parametrize(
    ("edits", "head", "cut"),
    [
        ((), 1, 7),
        ((Drop(Ref(3), "why"),), 1, 6),
        ((fold(range(1, 7), 1),), 1, 2),  # the marker stands for the span
        ((fold(range(1, 9), 1),), 1, 2),  # and for more than that
        ((fold(range(1, 7), 1, joins=0),), 1, 1),  # joined to the head: nothing is left
        ((fold(range(8, 10), 8),), 1, 7),  # only the tail was cut
        ((fold(range(2, 4), 2, TOLD),), 1, 6),
        ((fold(range(5, 9), 5, TOLD),), 1, 5),  # told across the cut: it is the tail's
        ((fold(range(7, 9), 7, TOLD),), 1, 7),
        ((Drop(Ref(0), "why"), fold(range(1, 7), 1)), 0, 1),  # the head was given up
        (tuple(Drop(Ref(place), "why") for place in range(12)), 0, 0),
    ],
)
def test_a_span_moves_with_what_rules_leave_of_it(edits: Any, head: int, cut: int) -> None:
    """Nothing that the briefing does not cover comes to lie in it."""
    assert moved(SPAN, Plan(edits), MESSAGES) == Span(head, cut, 6, 651)


# -------------------------------------------------------------------- fingerprint

PARTS: list[Any] = [
    Text("a"),
    Text("b"),
    Text("a", opaque="s"),
    Thinking("a"),
    Thinking("a", opaque="s"),
    Thinking("", opaque="s", is_redacted=True),
    ToolCall("a", "b", "{}"),
    ToolCall("ab", "", "{}"),
    ToolCall("a", "b", "{} "),
    ToolResult("a", (Text("b"),)),
    ToolResult("a", (Text("b"),), is_error=True),
    ToolResult("a", (Text("b"), Text(""))),
    ToolResult("a", (Media("image", data="b"),)),
    Media("image", data="b"),
    Media("image", location="b"),
    Opaque("a", "b"),
    Text("\ud800"),
]


def test_whatever_is_sent_of_a_message_tells_it_from_others() -> None:
    """Each part, each role, where a message ends, and how many there are."""
    rows = [[Message("user", [part])] for part in PARTS]
    roles: tuple[Role, ...] = ("assistant", "system", "developer")
    rows += [[Message(role, [Text("a")])] for role in roles]
    rows += [
        [],
        [Message("user", [])],
        [Message.user("a", "b")],
        [Message.user("a"), Message.user("b")],
        [Message.user("ab"), Message.user("")],
    ]

    prints = [fingerprint(row) for row in rows]

    assert len(set(prints)) == len(prints)
    assert prints == [fingerprint(row) for row in rows]
    assert fingerprint([Message.user("a", origin="summary")]) == fingerprint([Message.user("a")])


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    """It may be stored."""
    code = (
        "from trimtab import Message; from trimtab.briefing import fingerprint; "
        "print(fingerprint([Message.user('a'), Message.tool('c', 'd')]).hex())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == fingerprint([Message.user("a"), Message.tool("c", "d")]).hex()


def test_a_policy_and_json_play_no_part() -> None:
    """A pair is what the other tests think that it is."""
    assert json.dumps([m.role for m in pair(0)]) == '["user", "assistant"]'
    assert Policy(limit_tokens=1).keep_first == 2
