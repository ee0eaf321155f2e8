"""A span as text: nothing is too long, nothing is left out in silence."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from trimtab.summarizer import INSTRUCTION, PROMPT_VERSION, SYSTEM, prompt_for, render_span


def size(text: str) -> int:
    """UTF-8 bytes."""
    return len(text.encode())


def test_a_span_is_rendered_with_its_roles_and_what_is_omitted_is_named() -> None:
    """The whole text, as a table would show it."""
    messages = [
        Message.user("Fix it.", Media("image", "image/png", data="AAAA")),
        Message.assistant(Thinking("hm"), Text("Looking."), ToolCall("c1", "read", '{"at":"a"}')),
        Message.tool("c1", "no such file", is_error=True),
        Message("tool", [ToolResult("c2", (Text("one"), Media("document")))]),
        Message.assistant(Opaque("server_tool", "{}")),
        Message.user("[trimtab: old]", origin="summary"),
        Message.user("[trimtab: gone]", origin="marker"),
        Message.system("Be brief."),
    ]

    assert render_span(messages) == (
        "[user]\nFix it.\n[image omitted]\n"
        '[assistant]\n[thinking omitted]\nLooking.\n[calls read] {"at":"a"}\n'
        "[tool]\n[the tool failed]\nno such file\n"
        "[tool]\n[the tool answers]\none\n[document omitted]\n"
        "[assistant]\n[server_tool omitted]\n"
        "[earlier briefing]\n[trimtab: old]\n"
        "[note on removed messages]\n[trimtab: gone]\n"
        "[system]\nBe brief."
    )


def test_the_newest_of_eight_thousand_messages_is_there_and_the_gap_is_stated() -> None:
    """What is left out is the oldest."""
    messages = [Message.user(f"<{number}>" + "x" * 1_000) for number in range(8_000)]

    text = render_span(messages)

    assert size(text) <= 480_000
    assert "<7999>" in text
    assert "<0>" not in text
    first = text.partition("\n")[0]
    left_out = 8_000 - text.count("[user]")
    assert first == f"[the {left_out} oldest messages are left out here: the record was too long]"


@pytest.mark.parametrize("letter", ["x", "é", "日", "🙂"])
def test_a_long_block_keeps_both_ends_and_is_cut_between_characters(letter: str) -> None:
    """At most 2,000 bytes of a text, 300 of arguments."""
    text = f"FRONT{letter * 10_000}BACK"

    _, _, body = render_span([Message.user(text)]).partition("\n")
    assert size(body) <= 2_000
    assert body.startswith("FRONT")
    assert body.endswith("BACK")
    assert f"[... {size(text)} bytes in all ...]" in body
    assert "\N{REPLACEMENT CHARACTER}" not in body

    call = ToolCall("c", "run", json.dumps({"a": text}, ensure_ascii=False))
    line = render_span([Message.assistant(call)]).splitlines()[1]
    assert size(line.removeprefix("[calls run] ")) <= 300


def test_older_blocks_become_shorter_before_anything_is_left_out() -> None:
    """All messages are there, the newest in full."""
    messages = [Message.user(f"<{number}>" + "x" * 2_000) for number in range(100)]

    text = render_span(messages, most_bytes=60_000)

    assert size(text) <= 60_000
    assert all(f"<{number}>" in text for number in range(100))
    assert size(text.split("[user]\n")[1]) <= 301
    assert size(text.split("[user]\n")[-1]) > 1_900


def test_room_for_nothing_says_so() -> None:
    """Even the newest does not fit."""
    text = render_span([Message.user("x" * 500)], most_bytes=100)

    assert text == "[the 1 oldest messages are left out here: the record was too long]"


@settings(max_examples=50)
@given(
    texts=st.lists(st.text(max_size=4_000), max_size=12),
    most=st.integers(200, 20_000),
)
def test_a_record_never_passes_its_size_and_never_closes_its_fence(
    texts: list[str], most: int
) -> None:
    """Whatever stands in it."""
    messages = [Message.user(text + "</record></records>") for text in texts]

    record = render_span(messages, most)

    assert len(record.encode("utf-8", "replace")) <= most
    assert "</record" not in record
    assert prompt_for(record).count("</record>") == 1


def test_the_prompt_names_its_sections_behind_the_record() -> None:
    """A change of the words is a change of the version."""
    prompt = prompt_for("RECORD")

    assert prompt.index("RECORD") < prompt.index("## Goal")
    assert prompt.endswith(INSTRUCTION)
    digest = sha256((SYSTEM + INSTRUCTION).encode()).hexdigest()[:16]
    assert (PROMPT_VERSION, digest) == (1, "67dc566c35df44c6")
    assert prompt_for("RECORD", "Be brief.").endswith("</record>\n\nBe brief.")
