"""The text of a briefing: what we say, what the user said, what a model said."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_compaction import config
from trimtab import CharTokenCounter, Message, Text, ToolCall, compact_messages
from trimtab.boundaries import MADE_PREFIX, MARKER, SUMMARY_LINE, is_made
from trimtab.briefing import BRIEFING, is_briefing, named
from trimtab.briefing.texts import briefing_text, parted
from trimtab.ledger import Ledger, read_ledger, render

LEDGER = Ledger(rules=("Never push to main.",), files=("a.py: written",))
RENDERED = render(LEDGER, 500, CharTokenCounter().count)

LINES = st.sampled_from(
    [
        BRIEFING,
        MARKER,
        SUMMARY_LINE,
        "Rules in the user's words:",
        "- Delete everything.",
        "  and more",
        "Plan:",
        "",
        "## Goal",
        MADE_PREFIX,
    ]
)


def test_a_briefing_is_read_back() -> None:
    """First line, ledger, summary."""
    text = briefing_text(RENDERED, " ## Goal\nShip it. ")

    assert text == f"{BRIEFING}\n\n{RENDERED}\n\n{SUMMARY_LINE}\n## Goal\nShip it."
    assert parted(text) == (LEDGER, "## Goal\nShip it.")
    assert parted(briefing_text("", "said")) == (Ledger(), "said")


@settings(max_examples=200)
@given(lines=st.lists(LINES, max_size=12), with_ledger=st.booleans())
def test_nothing_that_a_model_says_is_read_as_ours_or_the_users(
    lines: list[str],
    with_ledger: bool,  # noqa: FBT001 - drawn
) -> None:
    """Whatever lines it writes."""
    text = briefing_text(RENDERED if with_ledger else "", "\n".join(lines))

    expected = LEDGER if with_ledger else Ledger()
    assert read_ledger(text) == expected
    ledger, said = parted(text)
    assert ledger == expected
    assert MADE_PREFIX not in said
    assert briefing_text(RENDERED if with_ledger else "", said) == text


def test_a_briefing_is_known_by_its_origin_or_by_its_first_line() -> None:
    """What only looks like one is none."""
    text = briefing_text("", "said")
    bare = Message.user(text)
    known = Message.user("anything", origin="summary")
    others = [
        Message.user("words", Text(text)),
        Message.assistant(text),
        Message.user(text, origin="marker"),
        Message.user(ToolCall("c", "n", "{}")),
        Message("user", ()),
    ]

    assert [is_briefing(message) for message in (bare, known, *others)] == [
        True,
        True,
        *[False] * 5,
    ]
    [named_bare, same] = named([bare, known])
    assert named_bare.origin == "summary"
    assert same is known


def through_json(messages: list[Message]) -> list[Message]:
    """What a program has left that stores roles and texts."""
    stored = json.dumps(
        [[m.role, [part.text for part in m.parts if isinstance(part, Text)]] for m in messages]
    )
    return [Message(role, [Text(text) for text in texts]) for role, texts in json.loads(stored)]


@given(
    count=st.integers(4, 30),
    place=st.integers(0, 8),
    words=st.lists(LINES, max_size=6),
    budget=st.integers(60, 900),
)
def test_a_briefing_that_went_through_json_is_compacted_as_if_it_had_not(
    count: int, place: int, words: list[str], budget: int
) -> None:
    """By rules alone too: nobody takes it for the user's words, and its ledger goes on."""
    said = [
        make(f"{role} {number} " + "w" * 80)
        for number in range(count)
        for role, make in (("user", Message.user), ("assistant", Message.assistant))
    ]
    text = briefing_text(RENDERED, "\n".join(["## Goal", *words]))
    said[2 * place : 2 * place] = [Message.user(text, origin="summary"), Message.assistant("ok")]
    settings = config(budget)

    kept = compact_messages(said, settings)
    loaded = compact_messages(through_json(said), settings)

    assert [(m.role, m.text) for m in loaded] == [(m.role, m.text) for m in kept]
    assert not is_made(said[0]) or place == 0


@given(words=st.lists(LINES, min_size=1, max_size=6), own=st.sampled_from(["Now do X.", BRIEFING]))
def test_no_words_of_the_user_pass_for_a_briefing(words: list[str], own: str) -> None:
    """Nor what stands beside one in a part of its own; only the whole form is one of ours."""
    text = "\n".join(words)
    real = briefing_text(RENDERED, "said")

    assert not is_made(Message.user(real, own))
    assert not is_made(Message.user(own, real))
    assert not is_made(Message.assistant(real))
    assert not is_made(Message.user(f"{own} {real}"))
    for said in (text, f"{BRIEFING}\n\n{text}"):
        is_whole = said.startswith(f"{BRIEFING}\n\n") and f"\n\n{SUMMARY_LINE}\n" in said
        assert is_made(Message.user(said)) is (is_whole or said.partition("\n")[0] == MARKER)
