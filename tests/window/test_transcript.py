"""A span as text: everything named, long blocks shortened, the oldest left out last."""

from __future__ import annotations

from trimtab import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from trimtab.window.rounds import SUMMARY_HEAD
from trimtab.window.transcript import transcript


def test_every_part_is_shown_or_named() -> None:
    """Words are shown; pictures, thinking and what is not understood are named."""
    messages = [
        Message.user("look", Media("image", "image/png")),
        Message.assistant(Thinking("hm"), "well", ToolCall("c", "read", '{"a": 1}')),
        Message.tool("c", "no such file", is_error=True),
        Message("tool", [ToolResult("d", (Text("found"), Media("document", "pdf")))]),
        Message.assistant(Opaque("widget", "{}")),
    ]

    assert transcript(messages).splitlines() == [
        "[user]",
        "look",
        "[image image/png left out]",
        "[assistant]",
        "[thinking left out]",
        "well",
        'calls read: {"a": 1}',
        "[tool]",
        "the tool failed:",
        "no such file",
        "[tool]",
        "the tool answers:",
        "found",
        "[document pdf left out]",
        "[assistant]",
        "[widget left out]",
    ]


def test_long_blocks_keep_both_ends() -> None:
    """2,000 bytes of a text, 300 of arguments, never half a character, and all of a summary."""
    summary = Message.user(f"{SUMMARY_HEAD}\n{'s' * 5000}", origin="summary")
    long = Message.assistant("é" * 1500 + "ü" * 1500, ToolCall("c", "f", "a" * 400))

    lines = transcript([summary, long]).splitlines()

    assert lines[:3] == ["[earlier summary]", SUMMARY_HEAD, "s" * 5000]
    assert lines[4] == f"{'é' * 750} [4000 bytes left out] {'ü' * 250}"
    assert lines[5] == f"calls f: {'a' * 225} [100 bytes left out] {'a' * 75}"


def test_older_blocks_are_shortened_before_any_is_left_out() -> None:
    """The newest keeps its length as long as there is room; what is left out is said."""
    messages = [Message.user(str(number) * 1000) for number in range(5)]

    short = transcript(messages, 2_600)
    shorter = transcript(messages, 800)

    assert short.count("[700 bytes left out]") == 4
    assert "4" * 1000 in short
    assert shorter.startswith("[the 3 oldest messages are left out here]\n[user]\n3")
    assert len(shorter) < 800 + 50


def test_a_single_message_is_never_left_out() -> None:
    """However small the room."""
    assert transcript([Message.user("hello")], 1) == "[user]\nhello"


def test_lone_surrogates_do_no_harm() -> None:
    """What no encoding can write is still text."""
    assert transcript([Message.user("a\ud800b")]) == "[user]\na\ud800b"
