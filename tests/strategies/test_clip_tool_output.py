"""Old tool results keep their first and last lines."""

from __future__ import annotations

from tests.strategies.builders import answer, call, lines, replay, weigh
from trimtab import Constraints, Media, Message, Text, ToolResult
from trimtab.strategies.clip_tool_output import clip_tool_output

LONG = lines(400)


def session() -> list[Message]:
    """Three exchanges with long results; the last is the newest."""
    return [
        Message.user("go"),
        call("a", "read"),
        answer("a", LONG),
        call("b", "recall"),
        answer("b", LONG),
        call("c", "read"),
        answer("c", LONG),
    ]


def test_old_results_are_clipped_and_the_newest_is_not() -> None:
    """Every long result but the newest exchange's comes down to the policy's lines."""
    history = weigh(session(), tool_output_max_lines=50)

    clipped = replay(history, clip_tool_output(history, 0))

    counts = [
        part.text.count("\n") + 1
        for m in clipped
        for part in m.parts
        if isinstance(part, ToolResult)
    ]
    assert counts == [50, 50, 400]


def test_it_stops_when_the_target_is_met_oldest_first() -> None:
    """No more results are clipped than the target needs."""
    history = weigh(session(), tool_output_max_lines=50)

    edits = clip_tool_output(history, history.total_tokens - 100)

    assert [edit.message for edit in edits] == [2]
    assert clip_tool_output(history, history.total_tokens) == ()


def test_a_tool_can_be_exempt_or_have_lines_of_its_own() -> None:
    """0 lines exempts a tool, another number is its own limit."""
    history = weigh(session(), tool_lines={"recall": 0, "read": 10})

    edits = clip_tool_output(history, 0)

    assert [edit.message for edit in edits] == [2]
    assert replay(history, edits)[2].parts[0] == ToolResult(
        "a",
        (
            Text(
                "line 0\nline 1\nline 2\n\n[trimtab: 393 lines removed]\n\nline 396\nline 397\nline 398\nline 399"
            ),
        ),
    )


def test_what_the_user_protects_is_not_clipped() -> None:
    """A result that protect names keeps all its words."""
    history = weigh(session(), tool_output_max_lines=50, protect=lambda m: "a" in m.result_ids)

    assert [edit.message for edit in clip_tool_output(history, 0)] == [4]


def test_what_is_not_understood_is_not_clipped() -> None:
    """A frozen message is not named by any edit."""
    history = weigh(
        session(), tool_output_max_lines=50, constraints=Constraints(frozen=frozenset([2]))
    )

    assert [edit.message for edit in clip_tool_output(history, 0)] == [4]


def test_other_blocks_of_a_result_stay() -> None:
    """Pictures keep their place among the texts; each text is clipped alone."""
    picture = Media("image", "image/png", data="AAAA", width=8, height=8)
    result = ToolResult("a", (Text(LONG), picture, Text("short")), is_error=True)
    messages = [
        Message.user("go"),
        call("a"),
        Message("tool", [result]),
        call("b"),
        answer("b", "x"),
    ]
    history = weigh(messages, tool_output_max_lines=4)

    (edit,) = clip_tool_output(history, 0)

    assert edit.new == ToolResult("a", (Text(lines(4)), picture, Text("short")), is_error=True)


def test_a_clip_that_saves_nothing_is_no_edit() -> None:
    """Where the marker weighs more than what it replaces, the result stays."""
    messages = [
        Message.user("go"),
        call("a"),
        answer("a", "\n".join("abcdef")),
        call("b"),
        answer("b", "x"),
    ]

    assert clip_tool_output(weigh(messages, tool_output_max_lines=5), 0) == ()
