"""Checking: every rule that a body breaks, what a recording cannot show, and what is no body."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS, bodies
from tests.wire.rich_bodies import RICH, dumped
from trimtab.errors import MalformedBodyError, UnknownFormatError
from trimtab.wire import Problem, check


@pytest.mark.parametrize("format", FORMATS)
def test_a_body_that_holds_everything_breaks_nothing(format: str) -> None:  # noqa: A002 - the word for it
    """Every block and parameter that a format knows is accepted in its place."""
    assert check(dumped(RICH[format]), format) == ()


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_what_clients_send_breaks_nothing(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Valid conversations of all shapes pass."""
    assert check(data.draw(bodies(format)), format) == ()


def test_problems_stand_in_the_order_of_the_request() -> None:
    """Each says the rule, the place, what is wrong there, and what the provider says to it."""
    body = b'{"model":"gpt-x","messages":[{"role":"poet"},{"role":"tool","tool_call_id":"a","content":"r"}]}'

    assert check(body, "openai-chat") == (
        Problem(
            "C-shape",
            "messages[0].role",
            "there is no role 'poet'",
            "Missing required parameter: 'messages'.",
        ),
        Problem(
            "C2",
            "messages[1]",
            "no call 'a' in the assistant message before it",
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        ),
    )


CALL = (
    b'{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"x"},'
    b'{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},'
    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}'
)


@pytest.mark.parametrize(
    ("unrecorded", "is_unrecorded"),
    [((), False), (("tools",), True), (("system", "tools"), True), (("system",), False)],
)
def test_what_a_recording_left_out_is_not_held_against_it(
    unrecorded: tuple[str, ...],
    is_unrecorded: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """A rule that needs a field which was not recorded is told apart from a broken one."""
    problems = check(CALL, "anthropic", unrecorded=unrecorded)

    assert [(problem.rule, problem.is_unrecorded) for problem in problems] == [
        ("A6", is_unrecorded)
    ]


def test_what_was_recorded_is_held_against_it() -> None:
    """A missing field that another rule needs excuses nothing else."""
    problems = check(
        b'{"messages":[{"role":"user","content":""}]}',
        "anthropic",
        unrecorded=("model", "max_tokens"),
    )

    assert [(problem.rule, problem.is_unrecorded) for problem in problems] == [
        ("A-shape", True),
        ("A-shape", True),
        ("A7", False),
    ]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the JSON is cut off: it ends before it is complete (at byte 0)"),
        (b'{"model":', "the JSON is cut off: it ends before it is complete (at byte 9)"),
        (b"[]", "JSON, but not an object (at byte 0)"),
        (
            '{"é":1,}'.encode(),
            "not JSON: expecting property name enclosed in double quotes (at byte 8)",
        ),
    ],
)
def test_what_is_no_body_is_an_error(body: bytes, told: str) -> None:
    """A check of something else than an object says so, with the byte."""
    with pytest.raises(MalformedBodyError) as caught:
        check(body, "anthropic")

    assert str(caught.value) == told


def test_an_unknown_format_is_an_error() -> None:
    """The format has to be named rightly."""
    with pytest.raises(UnknownFormatError, match="no format 'x'"):
        check(b"{}", "x")
