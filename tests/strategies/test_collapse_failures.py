"""A failure that came again in the same words is told once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.builders import weigh
from tests.strategies.sessions import LONG, Step, changed, histories_of, session
from tests.strategies.test_wording import REFUSALS
from trimtab import Constraints, Media, Text, ToolResult
from trimtab.strategies.collapse_failures import collapse_failures

A = {"path": "/a"}
LS = {"command": "ls"}
FAILED = f"Error: no such file or directory\n{LONG}"
OTHER = f"Error: disk is full\n{LONG}"
MARKER = "[trimtab: result removed; %s failed in the same words again later]"


def failing(name: str, arguments: dict[str, Any], text: str = FAILED) -> Step:
    """A call that fails, with a flag."""
    return Step(name, arguments, text, is_error=True)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([failing("Read", A), failing("Read", A)], {"c0": MARKER % "Read"}),
        (
            [failing("Bash", LS), failing("Bash", LS), failing("Bash", LS)],
            {"c0": MARKER % "Bash", "c1": MARKER % "Bash"},
        ),
        # Blanks around do not tell failures apart, and a success between does not matter.
        ([failing("Bash", LS), failing("Bash", LS, f"\n{FAILED} ")], {"c0": MARKER % "Bash"}),
        ([failing("Bash", LS), Step("Bash", LS), failing("Bash", LS)], {"c0": MARKER % "Bash"}),
        # Nobody need know the tool.
        ([failing("book", {"id": 1}), failing("book", {"id": 1})], {"c0": MARKER % "book"}),
        # Without a flag, by its words.
        ([Step("Bash", LS, FAILED), Step("Bash", LS, FAILED)], {"c0": MARKER % "Bash"}),
        # Another target, other words, no failure.
        ([failing("Bash", LS), failing("Bash", {"command": "ls -l"})], {}),
        ([failing("Read", A), failing("Read", {"path": "/a", "offset": 3})], {}),
        ([failing("Bash", LS), failing("Bash", LS, OTHER)], {}),
        ([failing("book", {"id": 1}), failing("book", {"id": 2})], {}),
        ([Step("Bash", LS), Step("Bash", LS)], {}),
        ([failing("Bash", LS), Step("Bash", LS, None)], {}),
        # Words that no program is known to say.
        ([failing("Bash", LS, LONG), failing("Bash", LS, LONG)], {}),
        # In parallel.
        (
            [[failing("Bash", LS), failing("Bash", LS, OTHER)], failing("Bash", LS, OTHER)],
            {"c1": MARKER % "Bash"},
        ),
    ],
)
def test_the_newest_of_repeated_failures_stays(steps: list[Any], expected: dict[str, str]) -> None:
    """The same target and the same words; older ones become a line."""
    history = weigh(session(steps))

    assert changed(collapse_failures(history, 0)) == expected


@pytest.mark.parametrize("words", REFUSALS)
def test_a_refusal_never_collapses(words: str) -> None:
    """Neither with a flag nor without: each is evidence of what is not wanted."""
    text = f"{words}\nError: not done\n{LONG}"
    flagged = weigh(session([failing("Bash", LS, text), failing("Bash", LS, text)]))
    bare = weigh(session([Step("Bash", LS, text), Step("Bash", LS, text)]))

    assert collapse_failures(flagged, 0) == ()
    assert collapse_failures(bare, 0) == ()


def test_the_flag_and_the_id_stay() -> None:
    """A marker in the place of a failure is one."""
    history = weigh(session([failing("Bash", LS), failing("Bash", LS)]))

    (edit,) = collapse_failures(history, 0)

    assert edit.new == ToolResult("c0", (Text(MARKER % "Bash"),), is_error=True)


def test_the_policy_says_what_failed() -> None:
    """For formats without a flag."""
    text = f"it went wrong: unexpected end\n{LONG}"
    steps = [Step("Bash", LS, text), Step("Bash", LS, text)]
    bare = weigh(session(steps))
    told = weigh(session(steps), is_error=lambda result: result.text.startswith("it went wrong"))

    assert collapse_failures(bare, 0) == ()
    assert list(changed(collapse_failures(told, 0))) == ["c0"]


def test_what_may_not_be_touched_is_not() -> None:
    """What is protected or not understood, an exempt tool's, and what holds more than words."""
    steps = [failing("Bash", LS), failing("Bash", LS)]
    picture = Media("image", "image/png", data="AAAA", width=8, height=8)
    pictured = ToolResult("", (Text(FAILED), picture))
    shown = [Step("Bash", LS, pictured, is_error=True), Step("Bash", LS, pictured, is_error=True)]

    for history in (
        weigh(session(steps), protect=lambda message: "c0" in message.result_ids),
        weigh(session(steps), constraints=Constraints(frozen=frozenset([2]))),
        weigh(session(steps), tool_lines={"Bash": 0}),
        weigh(session(shown)),
    ):
        assert collapse_failures(history, 0) == ()


def test_it_stops_when_the_target_is_met_oldest_first() -> None:
    """No more failures go than the target needs."""
    history = weigh(session([failing("Bash", LS)] * 3))

    assert [e.message for e in collapse_failures(history, history.total_tokens - 1)] == [2]
    assert collapse_failures(history, history.total_tokens) == ()


@settings(max_examples=60)
@given(histories_of, st.floats(0, 1))
def test_it_only_ever_shortens_older_failures_and_only_once(steps: list[Any], share: float) -> None:
    """What went still stands, word for word, in a newer result; again it finds nothing."""
    history = weigh(session(steps))
    target = int(history.total_tokens * share)

    edits = collapse_failures(history, target)

    after = history.after(edits)
    assert collapse_failures(after, target) == ()
    assert collapse_failures(history, target) == edits
    assert after.total_tokens <= history.total_tokens - len(edits)
    places = [(edit.message, edit.part) for edit in edits]
    assert places == sorted(set(places))
    for edit in edits:
        old = history.messages[edit.message].parts[edit.part]
        assert isinstance(old, ToolResult)
        later = [
            part.text
            for message in after.messages[edit.message :]
            for part in message.parts
            if isinstance(part, ToolResult)
        ]
        assert old.text in later
