"""Each rule of Chat Completions, by a body that breaks it alone and the nearest one that does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab.wire import check
from trimtab.wire.openai_chat_rules import RULES

Json = dict[str, Any]

# --------------------------------------------------------------------- pieces

ASK: Json = {"role": "user", "content": "list"}
PICTURE: Json = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}


def call(call_id: str = "a", **more: Any) -> Json:
    """A call of ``ls``; more goes into its function."""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": "ls", "arguments": "{}", **more},
    }


def asks(*calls: Any, **more: Any) -> Json:
    """An assistant message that calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def says(content: Any, **more: Any) -> Json:
    """An assistant message of words."""
    return {"role": "assistant", "content": content, **more}


def result(call_id: Any = "a", content: Any = "ok") -> Json:
    """What ``ls`` answered."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def tool(name: Any = "ls") -> Json:
    """A definition of a tool."""
    return {"type": "function", "function": {"name": name}}


def text(words: str = "words") -> Json:
    """A text part."""
    return {"type": "text", "text": words}


def body(*messages: Any, **more: Any) -> Json:
    """A request with some messages; None leaves a field out."""
    whole = {"model": "gpt-5.6", "messages": list(messages), **more}
    return {key: value for key, value in whole.items() if value is not None}


# ---------------------------------------------------------------------- table

Row = tuple[str, str, Json, Json]
"""A rule, the place that breaks it, a body that does, and the nearest one that does not."""

ROWS: list[Row] = [
    ("C-shape", "model", body(ASK, model=None), body(ASK)),
    ("C-shape", "model", body(ASK, model=5), body(ASK, model="five")),
    ("C-shape", "messages", body(messages=None), body(ASK)),
    ("C-shape", "messages", body(), body(ASK)),
    ("C-shape", "messages", body(messages={}), body(ASK)),
    ("C-shape", "messages[1]", body(ASK, "list"), body(ASK, ASK)),
    ("C-shape", "messages[0].role", body({"role": "poet", "content": "x"}), body(ASK)),
    ("C-shape", "messages[0].role", body({"role": ["user"], "content": "x"}), body(ASK)),
    ("C-shape", "messages[0].role", body({"content": "x"}), body(ASK)),
    (
        "C-shape",
        "messages[1].tool_calls[0]",
        body(ASK, asks("ls")),
        body(ASK, asks(call()), result()),
    ),
    ("C1", "messages[1].tool_calls[0]", body(ASK, asks(call())), body(ASK, asks(call()), result())),
    (
        "C1",
        "messages[1].tool_calls[1]",
        body(ASK, asks(call(), call("b")), result(), ASK),
        body(ASK, asks(call(), call("b")), result("b"), result(), ASK),
    ),
    (
        "C1",
        "messages[1].tool_calls[0]",
        body(ASK, asks(call()), says("done")),
        body(ASK, asks(call()), result(), says("done")),
    ),
    ("C2", "messages[1]", body(ASK, result()), body(ASK, asks(call()), result())),
    (
        "C2",
        "messages[3]",
        body(ASK, asks(call()), result(), result("b")),
        body(ASK, asks(call(), call("b")), result(), result("b")),
    ),
    (
        "C2",
        "messages[4]",
        body(ASK, asks(call()), result(), ASK, result()),
        body(ASK, asks(call()), result(), ASK),
    ),
    ("C2", "messages[1]", body(ASK, result(None)), body(ASK)),
    ("C2", "messages[1]", body(ASK, result(["a"])), body(ASK)),
    ("C3", "messages[1].tool_calls", body(ASK, says("x", tool_calls=[])), body(ASK, says("x"))),
    ("C4", "messages[1].content", body(ASK, says(None)), body(ASK, says(""))),
    (
        "C4",
        "messages[1].content",
        body(ASK, {"role": "assistant"}),
        body(ASK, says(None, refusal="no")),
    ),
    (
        "C5",
        "messages[1].tool_calls[0].function.name",
        body(ASK, asks(call(name="list files")), result()),
        body(ASK, asks(call(name="list_files-2")), result()),
    ),
    (
        "C5",
        "messages[1].tool_calls[0].function.name",
        body(ASK, asks(call(name="n" * 65)), result()),
        body(ASK, asks(call(name="n" * 64)), result()),
    ),
    (
        "C5",
        "tools[1].function.name",
        body(ASK, tools=[tool(), tool("")]),
        body(ASK, tools=[tool()]),
    ),
    ("C5", "tools[0].function.name", body(ASK, tools=[tool(5)]), body(ASK, tools=[5, {}, tool()])),
    (
        "C6",
        "messages[1].tool_calls[0].function.arguments",
        body(ASK, asks(call(arguments={"d": "/"})), result()),
        body(ASK, asks(call(arguments='{"d":"/"}')), result()),
    ),
    (
        "C6",
        "messages[1].tool_calls[0].function.arguments",
        body(ASK, asks(call(arguments='{"d":"/')), result()),
        body(ASK, asks(call(arguments="")), result()),
    ),
    (
        "C6",
        "messages[1].tool_calls[0].function.arguments",
        body(ASK, asks(call(arguments=None)), result()),
        body(ASK, asks(call(arguments="null")), result()),
    ),
    (
        "C7",
        "stream_options",
        body(ASK, stream_options={}),
        body(ASK, stream_options={}, stream=True),
    ),
    (
        "C7",
        "stream_options",
        body(ASK, stream_options={"include_usage": True}, stream=False),
        body(ASK, stream=False),
    ),
    ("C-content", "messages[0].content", body({"role": "user"}), body(ASK)),
    ("C-content", "messages[0].content", body({"role": "user", "content": {}}), body(ASK)),
    (
        "C-content",
        "messages[2].content",
        body(ASK, asks(call()), result(content=None)),
        body(ASK, asks(call()), result(content="")),
    ),
    (
        "C-content",
        "messages[0].content[1]",
        body({"role": "user", "content": [text(), "x"]}),
        body({"role": "user", "content": [text(), text()]}),
    ),
    (
        "C-content",
        "messages[0].content[0]",
        body({"role": "system", "content": [PICTURE]}),
        body({"role": "user", "content": [PICTURE]}),
    ),
    (
        "C-content",
        "messages[2].content[0]",
        body(ASK, asks(call()), result(content=[PICTURE])),
        body(ASK, asks(call()), result(content=[text()])),
    ),
    ("C-content", "messages[1].content", body(ASK, says(5)), body(ASK, says([text()]))),
    (
        "C-content",
        "messages[1].content[0]",
        body(ASK, says([{"type": "input_audio", "input_audio": {}}])),
        body(ASK, says([{"type": "refusal", "refusal": "no"}])),
    ),
]


def _found(broken: Json) -> list[tuple[str, str]]:
    problems = check(json.dumps(broken).encode(), "openai-chat")
    return [(problem.rule, problem.path) for problem in problems]


def _names() -> list[str]:
    return [f"{rule}-{number}" for number, (rule, *_) in enumerate(ROWS)]


@pytest.mark.parametrize(("rule", "path", "broken", "valid"), ROWS, ids=_names())
def test_a_rule_is_found_where_it_is_broken(
    rule: str, path: str, broken: Json, valid: Json
) -> None:
    """The body breaks this rule at this place and no other; the nearest valid one breaks none."""
    assert (_found(broken), _found(valid)) == ([(rule, path)], [])


def test_every_rule_has_a_row() -> None:
    """No rule of the table is without a body that breaks it."""
    assert {rule for rule, *_ in ROWS} == RULES.keys()


@pytest.mark.parametrize(
    "valid",
    [
        # words between messages of one role are the server's business
        body(ASK, ASK, says("x"), says("y")),
        body(says("hello"), ASK),
        body({"role": "developer", "content": "d"}, {"role": "system", "content": "s"}, ASK),
        # what a deprecated client sends
        body(
            ASK, says(None, function_call={"name": "ls", "arguments": "{}"}), {"role": "function"}
        ),
        # an answer in sound, a call of a custom tool, a call whose id is missing
        body(ASK, says(None, audio={"id": "audio_1"}), ASK),
        body(ASK, asks({"id": "a", "type": "custom", "custom": {"input": "+"}}), result()),
        body(ASK, asks({"type": "function", "function": {"name": "ls", "arguments": "{}"}}), ASK),
        # arguments with what Python's parser takes
        body(ASK, asks(call(arguments='{"n":1E400,"s":"\\ud800"}')), result()),
        body(ASK, asks(call(arguments='"\ud800"')), result()),
        # unknown parts and fields
        body({"role": "user", "content": [{"type": "hologram"}], "new": 1}, tools={}),
        body(ASK, stream_options=None),
    ],
)
def test_what_is_unusual_is_accepted(valid: Json) -> None:
    """What the API takes is not refused here."""
    assert _found(valid) == []


def test_each_rule_says_what_it_demands_and_what_helps() -> None:
    """Sentences for people, and the provider's words for each."""
    assert [rule.id for rule in RULES.values() if not (rule.demands and rule.mend)] == []
    assert [rule.id for rule in RULES.values() if not rule.refusal] == []
    assert [key for key, rule in RULES.items() if key != rule.id] == []
