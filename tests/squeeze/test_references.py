"""The same result, sent before, is pointed to; and what is pointed to is there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Message, Text, ToolCall, ToolResult
from trimtab.messages import Media
from trimtab.plan import Drop, Edit, Fold, Plan, Ref, Replace, apply
from trimtab.squeeze.references import RESTORED, digest, refer, restores

WORDS = "the same words\n" * 40


def result(call_id: str, text: str = WORDS, *, is_error: bool = False) -> ToolResult:
    """A result of some words."""
    return ToolResult(call_id, (Text(text),), is_error)


def reference(call_id: str, target: str) -> ToolResult:
    """What stands for a result that was sent before."""
    return result(call_id, f"[trimtab: word for word the result of the earlier call {target}]")


def exchange(of: ToolResult) -> list[Message]:
    """A call and its result."""
    return [Message.assistant(ToolCall(of.call_id, "run", "{}")), Message("tool", (of,))]


def conversation(*results: ToolResult) -> list[Message]:
    """A user message and an exchange for each result: the results stand at 2, 4, 6."""
    return [Message.user("go"), *(message for each in results for message in exchange(each))]


def view(messages: Sequence[Message], *edits: Edit) -> list[Message]:
    """The conversation under some edits and what they entail."""
    plan = Plan(edits)
    whole = plan + Plan(restores(plan, messages))
    return [slot.message for slot in apply(whole, messages)]


def test_the_newer_points_to_the_older() -> None:
    """It keeps its id, and holds nothing but the reference."""
    older, newer = result("a"), result("b")

    assert refer(newer, digest(newer), {digest(older): "a"}) == reference("b", "a")


@pytest.mark.parametrize(
    "other",
    [
        result("b", WORDS + " "),
        result("b", is_error=True),
        ToolResult("b", (Text(WORDS), Text(""))),
        ToolResult("b", (Text(WORDS, opaque="signed"),)),
        ToolResult("b", (Text(WORDS), Media("image", "image/png", ""))),
        ToolResult("b", ()),
        result("a"),
    ],
)
def test_near_equal_is_not_the_same(other: ToolResult) -> None:
    """One blank more, another shape, a failure, a picture: none is merged; nor is it with itself."""
    assert refer(other, digest(other), {digest(result("a")): "a"}) is None


def test_a_failure_is_never_a_reference() -> None:
    """That it failed again in the same way is worth its words."""
    failed = result("a", is_error=True)

    assert refer(result("b", is_error=True), digest(failed), {digest(failed): "a"}) is None


def test_a_digest_is_the_same_in_every_process() -> None:
    """It is made of the words alone, half characters too; the call and the time do not count."""
    assert digest(result("a", "x\ud83d")) == digest(result("b", "x\ud83d")) == "bc62548ef76bfb4f"


def test_a_reference_whose_target_stays_is_left_alone() -> None:
    """Nothing else is looked at."""
    messages = conversation(result("a"), reference("b", "a"), result("c", "other"))

    assert restores(Plan((Drop(Ref(5), ""), Drop(Ref(6), ""))), messages) == ()


GOING: list[tuple[Edit, ...]] = [
    (Drop(Ref(1), ""), Drop(Ref(2), "")),
    (Drop(Ref(2, (0,)), ""),),
    (Replace(2, 0, result("a", "clipped"), ""),),
    (Fold((Ref(1), Ref(2)), 3, Message.user("gone", origin="marker"), ""),),
]


@pytest.mark.parametrize("edits", GOING)
def test_the_words_come_back_when_what_was_pointed_to_goes(edits: tuple[Edit, ...]) -> None:
    """Dropped, cut or folded: the reference that stays gets the words."""
    messages = conversation(result("a"), reference("b", "a"))

    assert restores(Plan(edits), messages) == (Replace(4, 0, result("b"), RESTORED),)


def test_of_several_references_the_first_that_stays_gets_the_words() -> None:
    """The others point to it from then on; one that goes as well gets nothing."""
    messages = conversation(result("a"), *(reference(call, "a") for call in "bcd"))
    goes = [Drop(Ref(place), "") for place in (1, 2, 3, 4)]

    assert view(messages, *goes) == conversation(result("c"), reference("d", "c"))


def test_a_reference_to_nothing_known_is_left_alone() -> None:
    """Its words are nowhere to be had; so is what only quotes a reference."""
    quoting = result("b", f"log: {reference('b', 'a').text}")
    pictured = ToolResult("d", (*reference("d", "a").content, Text("more")))
    messages = conversation(result("a"), reference("c", "x"), quoting, pictured)

    assert restores(Plan((Drop(Ref(1), ""), Drop(Ref(2), ""))), messages) == ()


@given(st.lists(st.booleans(), min_size=2, max_size=7), st.integers(0, 3))
def test_no_reference_points_to_something_that_is_not_there(gone: list[bool], more: int) -> None:
    """Whatever goes, each reference that is left finds its words in front of it; twice in a row."""
    calls = [f"c{place}" for place in range(len(gone))]
    messages = conversation(result("c0"), *(reference(call, "c0") for call in calls[1:]))
    edits = [
        Drop(Ref(2 * place + half), "")
        for place, is_gone in enumerate(gone)
        if is_gone
        for half in (1, 2)
    ]

    once = view(messages, *edits)
    left = (len(once) - 1) // 2
    twice = view(once, *(Drop(Ref(place), "") for place in range(1, 2 * min(more, left) + 1)))

    for seen in (once, twice):
        known = ""
        for message in seen[2::2]:
            (part,) = message.parts
            assert isinstance(part, ToolResult)
            if part.text == WORDS:
                known = part.call_id
            assert part in (result(part.call_id), reference(part.call_id, known))


def test_words_beside_a_result_are_no_reference() -> None:
    """Only results are looked at, wherever in a message they stand."""
    text = Text(reference("b", "a").text)
    messages = [*conversation(result("a"))[:2], Message("user", (text, result("a"), text))]
    messages += [Message.assistant(ToolCall("b", "run", "{}"))]
    messages += [Message("user", (text, reference("b", "a")))]

    assert restores(Plan((Drop(Ref(2, (1,)), ""),)), messages) == (
        Replace(4, 1, result("b"), RESTORED),
    )
