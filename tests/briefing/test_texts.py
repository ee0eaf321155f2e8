"""The text of a briefing: what we say, what the user said, what a model said."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab import CharTokenCounter, Message, Text, ToolCall
from trimtab.boundaries import MADE_PREFIX, MARKER
from trimtab.briefing import BRIEFING, is_briefing, named
from trimtab.briefing.texts import SUMMARY_LINE, briefing_text, parted
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
