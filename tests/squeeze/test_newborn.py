"""New results are made smaller once, in the same way each time, and never larger."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab import CharTokenCounter, Message, Text, ToolCall, ToolResult
from trimtab.messages import Media, Opaque
from trimtab.plan import Replace
from trimtab.policy import Preset
from trimtab.squeeze import digest, in_full, squeeze

COUNT = CharTokenCounter().count

RECORDS = [{"identifier": number, "description": f"record {number}"} for number in range(40)]
PRETTY = json.dumps(RECORDS, indent=2)
COMPACT = json.dumps(RECORDS, separators=(",", ":"))
COLOURED = "\n".join(f"\x1b[3{number % 8}mstep {number}\x1b[0m" for number in range(40))
PLAIN = "\n".join(f"step {number}" for number in range(40))
LOG = "\n".join(
    f"2026-02-11 10:00:{number % 60:02d} INFO job {number} finished" for number in range(90)
)
RUN = "waiting for the server to come up\n" * 30
LONG = "\n".join(f"{number:06d} some words that fill up a line" for number in range(2_000))


def squeezed(text: str, preset: Preset, **settings: Any) -> str:
    """What is sent for a result of some words."""
    message = Message.tool("b", text, is_error=settings.pop("is_error", False))
    edits = squeeze(message, preset, COUNT, **settings)
    for edit in edits:
        assert isinstance(edit.new, ToolResult)
        assert edit.saved_tokens == COUNT(text) - COUNT(edit.new.text) > 0
        assert edit.new.is_error == message.parts[0].is_error  # type: ignore[union-attr]
        return edit.new.text
    return text


@pytest.mark.parametrize(
    ("text", "safe", "reason"),
    [
        (PRETTY, COMPACT, "JSON minified"),
        (COLOURED, PLAIN, "terminal noise removed"),
        (
            RUN,
            "waiting for the server to come up\n[trimtab: the line above comes 30 times in a row]\n",
            "repeated lines counted",
        ),
    ],
)
def test_safe_does_what_is_lossless(text: str, safe: str, reason: str) -> None:
    """One edit for the result, which says what was done and what it saved."""
    message = Message("user", (Text("so"), ToolResult("b", (Text(text),))))

    edits = squeeze(message, "safe", COUNT, place=7)

    new = ToolResult("b", (Text(safe),))
    assert edits == (Replace(7, 1, new, reason, COUNT(text) - COUNT(safe), is_birth=True),)


@pytest.mark.parametrize("text", [LOG, COMPACT, LONG, PLAIN])
def test_safe_leaves_out_nothing(text: str) -> None:
    """Logs, columns and long outputs are the business of the other preset."""
    assert (
        squeezed(text, "safe", can_recall=True, seen={digest(ToolResult("a", (Text(text),))): "a"})
        == text
    )


def test_agent_does_all() -> None:
    """Columns, folded logs, a clipped middle, a reference."""
    seen = {digest(ToolResult("a", (Text(PLAIN),))): "a"}

    assert squeezed(PRETTY, "agent").startswith("[trimtab: JSON in which")
    assert "[trimtab: 73 lines left out]" in squeezed(LOG, "agent")
    assert "to be asked for by recall of" in squeezed(LONG, "agent", can_recall=True)
    assert squeezed(PLAIN, "agent", seen=seen) == (
        "[trimtab: word for word the result of the earlier call a]"
    )


@pytest.mark.parametrize("text", [PRETTY, COLOURED, RUN, LOG, LONG])
def test_off_changes_nothing(text: str) -> None:
    """Not even what is lossless."""
    assert squeeze(Message.tool("a", text), "off", COUNT, can_recall=True) == ()


def test_without_a_way_back_nothing_is_clipped() -> None:
    """However long it is."""
    assert squeezed(LONG, "agent", can_recall=False) == LONG


@pytest.mark.parametrize("preset", ["safe", "agent"])
@pytest.mark.parametrize("text", [PRETTY, COLOURED, RUN, LOG, LONG])
def test_what_will_be_quoted_keeps_its_bytes(text: str, preset: Preset) -> None:
    """A file that was read must be quoted to the letter when it is changed."""
    assert squeezed(text, preset, quoted={"b"}, can_recall=True) == text


def test_what_will_be_quoted_may_point_to_the_same_bytes() -> None:
    """They stand in the conversation already."""
    seen = {digest(ToolResult("a", (Text(PRETTY),))): "a"}

    assert "earlier call a" in squeezed(PRETTY, "agent", quoted={"b"}, seen=seen)


def test_failures_keep_their_words() -> None:
    """A failed call loses colours and blanks, and nothing else."""
    seen = {digest(ToolResult("a", (Text(LOG),), is_error=True)): "a"}

    assert squeezed(LOG, "agent", is_error=True, seen=seen) == LOG
    assert squeezed(LONG, "agent", is_error=True, can_recall=True) == LONG
    assert squeezed(PRETTY, "agent", is_error=True) == COMPACT
    assert squeezed(COLOURED, "agent", is_error=True) == PLAIN


@pytest.mark.parametrize(
    "message",
    [
        Message.system(PRETTY),
        Message.user(COLOURED),
        Message.assistant(RUN, ToolCall("a", "run", PRETTY)),
        Message("developer", (Text(PRETTY),)),
        Message("tool", (ToolResult("a", (Text(PRETTY, opaque="signed"),)),)),
        Message("tool", (ToolResult("a", (Media("image", "image/png", ""), Opaque("x", PRETTY))),)),
        Message("tool", (ToolResult("a", ()),)),
        Message.tool("a", f"[trimtab: old output removed]\n{PRETTY}"),
        Message.tool("a", f"{RUN}[trimtab: 3 lines left out]"),
        Message.tool("a", "\x1b[0m\x1b[0m\x1b[0m\x1b[0m"),
    ],
)
def test_all_else_is_left_alone(message: Message) -> None:
    """What others said, what is signed or not understood, what was squeezed, what would be empty."""
    assert squeeze(message, "agent", COUNT, can_recall=True) == ()


def test_media_beside_words_stay() -> None:
    """Only the words get shorter."""
    picture = Media("image", "image/png", "")
    message = Message("tool", (ToolResult("a", (Text(COLOURED), picture, Text(PRETTY))),))

    (edit,) = squeeze(message, "safe", COUNT)

    assert edit.new == ToolResult("a", (Text(PLAIN), picture, Text(COMPACT)))
    assert edit.reason == "terminal noise removed; JSON minified"


def test_what_does_not_save_is_undone() -> None:
    """Each edit is measured by the model's own counter, not by characters."""
    message = Message.tool("a", PRETTY)

    assert squeeze(message, "agent", lambda text: 10 - text.count(" ") // 1_000) == ()


def test_the_older_result_stays_and_the_newer_points_to_it() -> None:
    """Of two equal results in a message the second is the reference, and only to what lost nothing."""
    message = Message("user", (ToolResult("a", (Text(PLAIN),)), ToolResult("b", (Text(PLAIN),))))
    folded = Message("user", (ToolResult("a", (Text(LOG),)), ToolResult("b", (Text(LOG),))))

    (edit,) = squeeze(message, "agent", COUNT)
    both = squeeze(folded, "agent", COUNT)

    assert (edit.part, edit.reason) == (1, "the same as an earlier result")
    assert in_full(message, (edit,)) == {digest(message.parts[0]): "a"}  # type: ignore[arg-type]
    assert [each.reason for each in both] == ["log lines of a kind folded"] * 2
    assert in_full(folded, both) == {}


def test_what_lost_nothing_can_be_pointed_to() -> None:
    """Its digest is that of what the tool answered, not of what was sent."""
    message = Message.tool("a", COLOURED)
    edits = squeeze(message, "safe", COUNT)

    seen = in_full(message, edits)

    assert seen == {digest(ToolResult("x", (Text(COLOURED),))): "a"}
    assert "earlier call a" in squeezed(COLOURED, "agent", seen=seen)


PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "\x1b[1m",
                "\r",
                "\b",
                "\n",
                "  ",
                "word",
                "\ud83d",
                "\u65e5",
                '"',
                "{",
                "}",
                "[trimtab: ",
            ),
            *(RUN, LOG, COLOURED, PRETTY, COMPACT, "ERROR: job 3 failed\n"),
        ]
    ),
    max_size=6,
)


@given(PIECES, st.sampled_from(["safe", "agent"]), st.booleans())
@settings(max_examples=60)
def test_doing_it_twice_is_doing_it_once(
    pieces: list[str],
    preset: Preset,
    is_error: bool,  # noqa: FBT001 - drawn
) -> None:
    """The same in every turn, never more tokens, and what was squeezed is not squeezed again."""
    text = "".join(pieces)

    once = squeezed(text, preset, is_error=is_error, can_recall=True)

    assert squeezed(text, preset, is_error=is_error, can_recall=True) == once
    assert squeezed(once, preset, is_error=is_error, can_recall=True) == once
    assert COUNT(once) <= COUNT(text)
    assert once.count("ERROR: job 3 failed") == text.count("ERROR: job 3 failed")


def test_a_short_result_is_not_worth_a_reference() -> None:
    """The words are fewer than those that would point to them."""
    seen = {digest(ToolResult("a", (Text("ok"),))): "a"}

    assert squeeze(Message.tool("b", "ok"), "agent", COUNT, seen=seen) == ()


def test_what_was_done_is_said_once() -> None:
    """However many texts of a result it was done to."""
    message = Message("tool", (ToolResult("a", (Text(COLOURED), Text(COLOURED))),))

    (edit,) = squeeze(message, "safe", COUNT)

    assert edit.reason == "terminal noise removed"
    assert edit.saved_tokens == 2 * (COUNT(COLOURED) - COUNT(PLAIN))
