"""Results that a newer call made stale become one line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.builders import weigh
from tests.strategies.sessions import LONG, Step, bodies, changed, histories_of, session
from trimtab import Constraints, Media, Message, Opaque, Text, ToolCall, ToolResult
from trimtab.strategies.evict_superseded import evict_superseded

A = {"path": "/a"}
B = {"path": "/b"}
PART = {"path": "/a", "offset": 5, "limit": 9}
OTHER_PART = {"path": "/a", "offset": 50, "limit": 9}
LS = {"command": "ls"}
MORE = "x\n" * 300 + "[300 more lines in file. Use offset=301 to continue]"
POINTER = "File unchanged since last read. The earlier result is still current."

READ_AGAIN = "[trimtab: result removed; Read showed it again later]"
WRITTEN = "[trimtab: result removed; Write wrote the file anew later]"
CALLED = "[trimtab: result removed; Bash was called in the same way again later]"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # Reads.
        ([Step("Read", A), Step("Read", A)], {"c0": READ_AGAIN}),
        ([Step("view", A), Step("Read", A)], {"c0": READ_AGAIN}),
        ([Step("Read", A), Step("Read", A), Step("Read", A)], {"c0": READ_AGAIN, "c1": READ_AGAIN}),
        ([Step("Read", A), Step("Read", B)], {}),
        # Ranges.
        ([Step("Read", PART), Step("Read", PART)], {"c0": READ_AGAIN}),
        ([Step("Read", PART), Step("Read", OTHER_PART)], {}),
        ([Step("Read", PART), Step("Read", A)], {"c0": READ_AGAIN}),
        ([Step("Read", A), Step("Read", PART)], {}),
        # A whole read that does not show all.
        ([Step("Read", PART), Step("Read", A, MORE)], {}),
        ([Step("Read", A), Step("Read", A, MORE)], {}),
        ([Step("Read", A, MORE), Step("Read", A, MORE)], {"c0": READ_AGAIN}),
        ([Step("Read", A, MORE), Step("Read", A)], {"c0": READ_AGAIN}),
        # Writes.
        ([Step("Read", A), Step("Write", A, "ok")], {"c0": WRITTEN}),
        ([Step("Read", PART), Step("Write", A, "ok")], {"c0": WRITTEN}),
        ([Step("Write", A), Step("Write", A, "ok")], {"c0": WRITTEN}),
        ([Step("Write", A), Step("Read", A)], {}),
        ([Step("Read", A), Step("Write", B, "ok")], {}),
        ([Step("Read", A), Step("Write", A, "ok"), Step("Read", A)], {"c0": WRITTEN}),
        # Edits.
        ([Step("Read", A), Step("Edit", A, "ok")], {}),
        ([Step("Read", A), Step("Edit", A, "ok"), Step("Read", A)], {"c0": READ_AGAIN}),
        ([Step("Edit", A), Step("Edit", A)], {}),
        ([Step("Edit", A), Step("Write", A, "ok")], {}),
        # Other tools, and those that nobody knows.
        ([Step("Bash", LS), Step("Bash", LS)], {"c0": CALLED}),
        ([Step("Bash", LS), Step("Bash", LS, "")], {"c0": CALLED}),
        ([Step("Bash", LS), Step("Bash", {"command": "ls -l"})], {}),
        ([Step("Bash", LS), Step("shell", LS)], {}),
        ([Step("unknown", A), Step("unknown", A)], {}),
        ([Step("write_stdin", LS), Step("write_stdin", LS)], {}),
        # Failures, with a flag and without.
        ([Step("Read", A), Step("Read", A, LONG, is_error=True)], {}),
        ([Step("Read", A, LONG, is_error=True), Step("Read", A)], {}),
        ([Step("Read", A), Step("Read", A, f"Error: {LONG}")], {}),
        ([Step("Read", A), Step("Write", A, "Error: disk full")], {}),
        ([Step("Read", A), Step("Write", A, "The user rejected the call.")], {}),
        (
            [Step("Read", A), Step("Read", A), Step("Read", A, "gone", is_error=True)],
            {"c0": READ_AGAIN},
        ),
        # What is not there yet, points back, or has nothing in it.
        ([Step("Read", A), Step("Read", A, None)], {}),
        ([Step("Read", A), Step("Write", A, None)], {}),
        ([Step("Read", A), Step("Read", A, POINTER)], {}),
        ([Step("Read", A), Step("Read", A, " \n")], {}),
        ([Step("Read", A), Step("Read", A), Step("Read", A, POINTER)], {"c0": READ_AGAIN}),
        ([Step("Bash", LS), Step("Bash", LS, "Command running in background with ID: 1")], {}),
        # What was shortened before does not stand for what is whole.
        ([Step("Read", A), Step("Read", A, f"x\n[trimtab: 9 lines removed]\n{LONG}")], {}),
        ([Step("Read", A), Step("Read", A, READ_AGAIN)], {}),
        # Calls in parallel.
        ([[Step("Read", A), Step("Read", B)], Step("Read", B)], {"c1": READ_AGAIN}),
        ([[Step("Read", A), Step("Read", A)]], {"c0": READ_AGAIN}),
    ],
)
def test_the_newest_successful_call_of_a_target_counts(
    steps: list[Any], expected: dict[str, str]
) -> None:
    """Each older result that it stands for becomes a line, and no other."""
    history = weigh(session(steps))

    assert changed(evict_superseded(history, 0)) == expected


def test_it_stops_when_the_target_is_met_oldest_first() -> None:
    """No more results go than the target needs."""
    history = weigh(session([Step("Read", A), Step("Read", A), Step("Read", A)]))

    assert [e.message for e in evict_superseded(history, history.total_tokens - 1)] == [2]
    assert evict_superseded(history, history.total_tokens) == ()


def test_a_short_result_stays() -> None:
    """Where the marker weighs more than what it replaces, there is no edit."""
    history = weigh(session([Step("Read", A, "x"), Step("Read", A, "y")]))

    assert evict_superseded(history, 0) == ()


def test_what_is_protected_or_frozen_is_not_touched() -> None:
    """The newest exchange, what protect names, and what is not understood."""
    steps = [Step("Read", A), Step("Read", A), Step("Read", A)]
    named = weigh(session(steps), protect=lambda message: "c0" in message.result_ids)
    frozen = weigh(session(steps), constraints=Constraints(frozen=frozenset([4])))

    assert list(changed(evict_superseded(named, 0))) == ["c1"]
    assert list(changed(evict_superseded(frozen, 0))) == ["c0"]


def test_an_exempt_tool_takes_no_part() -> None:
    """Its results stay, and what it shows may be an old state that makes nothing stale."""
    history = weigh(
        session([Step("Read", A), Step("view", A), Step("view", A)]), tool_lines={"view": 0}
    )

    assert evict_superseded(history, 0) == ()


def test_the_policy_says_what_a_tool_does() -> None:
    """A declared tool makes stale; a known one can be declared to make nothing stale."""
    steps = [Step("get", {"id": 1}), Step("get", {"id": 1}), Step("Read", A), Step("Read", A)]
    history = weigh(session(steps), tools={"get": "other", "Read": "edit"})

    assert list(changed(evict_superseded(history, 0))) == ["c0"]


def test_the_policy_says_what_failed() -> None:
    """For formats without a flag."""
    steps = [Step("Read", A), Step("Read", A, f"gone! {LONG}")]
    history = weigh(session(steps), is_error=lambda result: result.text.startswith("gone!"))

    assert evict_superseded(history, 0) == ()


def test_media_go_with_a_result_and_the_marker_says_so() -> None:
    """How many of each kind."""
    picture = Media("image", "image/png", data="AAAA", width=800, height=800)
    paper = Media("document", "application/pdf", data="AAAA", pages=2)
    shown = ToolResult("", (Text("two"), picture, paper, picture))
    history = weigh(session([Step("Read", A, shown), Step("Read", A, ToolResult("", (picture,)))]))

    (edit,) = evict_superseded(history, 0)

    marker = "[trimtab: result with 2 images and 1 document removed; Read showed it again later]"
    assert edit.new == ToolResult("c0", (Text(marker),))


def test_what_is_not_understood_neither_goes_nor_stands_for_anything() -> None:
    """A result with an unknown block is left alone, older or newer."""
    odd = ToolResult("", (Text(LONG), Opaque("odd", "{}")))
    older = weigh(session([Step("Read", A, odd), Step("Read", A)]))
    newer = weigh(session([Step("Read", A), Step("Read", A, odd)]))

    assert evict_superseded(older, 0) == ()
    assert evict_superseded(newer, 0) == ()


def test_the_words_of_a_user_beside_a_result_stay() -> None:
    """Only the result of such a message is replaced."""
    messages = [
        Message.user("go"),
        Message.assistant(ToolCall("a", "Read", '{"path": "/a"}')),
        Message.user(ToolResult("a", (Text(LONG),)), "and be quick"),
        Message.assistant(ToolCall("b", "Read", '{"path": "/a"}')),
        Message.user(ToolResult("b", (Text(LONG),))),
        Message.assistant("done"),
        Message.user("thanks"),
    ]
    history = weigh(messages)

    (edit,) = evict_superseded(history, 0)

    assert (edit.message, edit.part, edit.new) == (2, 0, ToolResult("a", (Text(READ_AGAIN),)))


def test_ids_that_come_again_belong_to_the_call_before_them() -> None:
    """Some clients count their calls anew in each round."""
    messages = [Message.user("go")]
    for path in ("/a", "/b", "/a", "/c"):
        messages.append(Message.assistant(ToolCall("1", "Read", f'{{"path": "{path}"}}')))
        messages.append(Message.tool("1", LONG))
    history = weigh(messages)

    assert [edit.message for edit in evict_superseded(history, 0)] == [2]


def test_a_result_that_nobody_asked_for_is_left_alone() -> None:
    """There is no call that says what it is about."""
    messages = [Message.user("go"), Message.tool("z", LONG), *session([Step("Read", A)])[1:]]

    assert evict_superseded(weigh(messages), 0) == ()


@settings(max_examples=60)
@given(histories_of, st.floats(0, 1))
def test_it_only_ever_shortens_stale_results_and_only_once(steps: list[Any], share: float) -> None:
    """Never failures or what is protected, in order, to a smaller total; again it finds nothing."""
    history = weigh(session(steps))
    target = int(history.total_tokens * share)

    edits = evict_superseded(history, target)

    after = history.after(edits)
    assert evict_superseded(after, target) == ()
    assert evict_superseded(history, target) == edits
    assert after.total_tokens <= history.total_tokens - len(edits)
    places = [(edit.message, edit.part) for edit in edits]
    assert places == sorted(set(places))
    protected = {history.boundaries.pieces[place].ref.message for place in history.protected}
    for edit in edits:
        old = history.messages[edit.message].parts[edit.part]
        assert isinstance(old, ToolResult)
        assert not old.is_error
        assert edit.message not in protected
    newest = bodies(history, edits)
    assert [(r.call_id, r.is_error) for r in newest] == [
        (r.call_id, r.is_error) for r in bodies(history, ())
    ]


@settings(max_examples=60)
@given(histories_of)
def test_the_call_that_a_marker_names_keeps_its_result(steps: list[Any]) -> None:
    """Behind each result that went stands a later call of that tool whose own result did not go."""
    history = weigh(session(steps))

    edits = evict_superseded(history, 0)

    gone = changed(edits)
    for words in gone.values():
        assert words in (READ_AGAIN, WRITTEN, CALLED)
    kept = {result.call_id: result.text for result in bodies(history, edits)}
    calls = [
        part for message in history.messages for part in message.parts if isinstance(part, ToolCall)
    ]
    for call_id, words in gone.items():
        tool = {READ_AGAIN: "Read", WRITTEN: "Write", CALLED: "Bash"}[words]
        place = [call.id for call in calls].index(call_id)
        later = [call for call in calls[place + 1 :] if call.name == tool and call.id in kept]
        assert any(call.id not in gone for call in later)
