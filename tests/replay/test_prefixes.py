"""What of each prefix survived: every planted cause is found where it was planted, nothing else is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from trimtab import Usage
from trimtab.messages import Text, Thinking, ToolCall
from trimtab.replay.prefixes import ADVICE, MEANING, Turn, examine
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.testing import Conversation

FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "gpt-5",
    "openai-responses": "gpt-5",
    "gemini": "gemini-2.5-pro",
}
HISTORY = {
    "anthropic": "messages",
    "openai-chat": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
RULES = "Answer in the language of the question, and say which file you read. " * 250
TURNS = 5
TOOLS = ("grep", "list", "read")

Body = dict[str, Any]
Plant = Callable[[Body, int], None]
"""Changes the body of a turn, counted from 0, in place."""


def conversation(wire_format: str, rounds: int) -> Conversation:
    """A session after some rounds: a question, a call and its result, an answer; then a question."""
    talk = Conversation(wire_format, MODELS[wire_format], system=RULES, tools=TOOLS)
    for number in range(rounds):
        talk.user(f"Question {number}: what does file {number} do, and why is it there?")
        talk.tool("read", f"Content of file {number}. " * 20, f'{{"path":"{number}","limit":9}}')
        talk.assistant(f"File {number} is about {number} things, and it is needed.")
    return talk.user("And now the next one, please.")


def growing(wire_format: str, rounds: int) -> Body:
    """The same as a body; the last question is a new one in each turn."""
    body: Body = json.loads(conversation(wire_format, rounds).body())
    body[HISTORY[wire_format]].pop()
    asked = Conversation(wire_format, MODELS[wire_format])
    question = f"Question {rounds}: what does file {rounds} do, and why is it there?"
    last = json.loads(asked.user(question).body())[HISTORY[wire_format]][-1]
    body[HISTORY[wire_format]].append(last)
    return body


def recording(
    wire_format: str,
    bodies: Sequence[Body | bytes],
    *,
    at: Sequence[float | None] = (),
    usage: Sequence[Usage | None] = (),
    unrecorded: frozenset[str] = frozenset(),
) -> Recording:
    """A recorded session of some bodies."""
    requests = []
    for place, told in enumerate(bodies):
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        requests.append(
            RecordedRequest(
                wire_format,
                partial(bytes, body),
                len(body),
                1,
                MODELS[wire_format] if wire_format == "gemini" else "",
                usage[place] if usage else None,
                at[place] if at else None,
                unrecorded,
            )
        )
    return Recording("planted", "planted", requests)


def planted(wire_format: str, plant: Plant | None = None, turns: int = TURNS) -> list[Turn]:
    """Examine a session of some turns into which something was planted."""
    bodies = [growing(wire_format, rounds) for rounds in range(turns)]
    for turn, body in enumerate(bodies):
        if plant is not None:
            plant(body, turn)
    return list(examine(recording(wire_format, bodies)))


def found(turns: Sequence[Turn]) -> list[tuple[int, str, str, bool]]:
    """Turn, cause, path, and whether it matters, of each break."""
    return [
        (turn.place, each.found.cause, each.found.path, each.matters)
        for turn in turns
        for each in turn.breaks
    ]


# --------------------------------------------------- reaching into any format


def set_system(body: Body, words: str) -> None:
    """Put a text in front of the system prompt, wherever the format has it."""
    if "system" in body:
        body["system"] = _before(words, body["system"])
    elif "instructions" in body:
        body["instructions"] = _before(words, body["instructions"])
    elif "systemInstruction" in body:
        part = body["systemInstruction"]["parts"][0]
        part["text"] = words + part["text"]
    else:
        body["messages"][0]["content"] = _before(words, body["messages"][0]["content"])


def _before(words: str, content: Any) -> Any:
    if isinstance(content, str):
        return words + content
    return [{**content[0], "text": words + content[0]["text"]}, *content[1:]]


def tools_of(body: Body) -> list[Any]:
    """The list of tools."""
    tools: list[Any] = body["tools"]
    return tools[0]["functionDeclarations"] if "functionDeclarations" in tools[0] else tools


def tool_named(body: Body, name: str) -> Body:
    """The definition of a tool."""
    inner = (tool.get("function", tool) for tool in tools_of(body))
    return next(tool for tool in inner if tool["name"] == name)


def replace_text(value: Any, old: str, new: str) -> Any:
    """A JSON value in which a text reads otherwise."""
    match value:
        case str():
            return value.replace(old, new)
        case list():
            return [replace_text(each, old, new) for each in value]
        case dict():
            return {key: replace_text(each, old, new) for key, each in value.items()}
    return value


def rewrite(body: Body, old: str, new: str) -> None:
    """Put a text in place of another one in all messages."""
    for field in ("messages", "input", "contents"):
        if field in body:
            body[field] = replace_text(body[field], old, new)


# --------------------------------------------------------------------- plants


def timestamp(body: Body, turn: int) -> None:
    set_system(body, f"It is 2026-11-30 12:0{turn}:17. ")


def named_date(body: Body, turn: int) -> None:
    set_system(body, f"Today is Monday, November {turn + 10}, 2026. ")


def session_id(body: Body, turn: int) -> None:
    set_system(body, f"Request 0f3c9d1{turn}-77aa-4b1c-9e2d-5a6b7c8d9e0f. ")


def counter(body: Body, turn: int) -> None:
    set_system(body, f"Tokens left: {9_000 - turn}. ")


def other_system(body: Body, turn: int) -> None:
    set_system(body, "Be brief. " if turn >= 2 else "")


def reordered_tools(body: Body, turn: int) -> None:
    if turn >= 2:
        tools_of(body).reverse()


def added_tool(body: Body, turn: int) -> None:
    if turn < 2:
        tools_of(body).remove(next(t for t in tools_of(body) if "grep" in json.dumps(t)))


def removed_tool(body: Body, turn: int) -> None:
    if turn >= 2:
        tools_of(body).remove(next(t for t in tools_of(body) if "grep" in json.dumps(t)))


def other_tool(body: Body, turn: int) -> None:
    tool_named(body, "grep")["description"] = "Look" if turn < 2 else "Search"


def dated_tool(body: Body, turn: int) -> None:
    tool_named(body, "grep")["description"] = f"Look; the index is of 2026-11-{turn + 10}."


def old_result(body: Body, turn: int) -> None:
    if turn >= 2:
        rewrite(body, "Content of file 0. " * 20, "[cleared]")


def old_words(body: Body, turn: int) -> None:
    if turn >= 2:
        rewrite(body, "Question 0: what", "Question 0: tell me what")


def dated_message(body: Body, turn: int) -> None:
    rewrite(body, "Question 0: what", f"(2026-11-30T10:0{turn}:00Z) Question 0: what")


def escaped(body: Body, turn: int) -> None:
    rewrite(body, "Content of file 0.", "Content &amp; file 0." if turn >= 2 else "Content & file 0.")


def spaced(body: Body, turn: int) -> None:
    if turn >= 2:
        rewrite(body, "Question 0: what", "Question  0:\nwhat")


class Case(NamedTuple):
    """A cause, and where it must be found.

    Attributes:
        plant: Plants it.
        cause: Under which name it must be found.
        turns: On which turns, from 0.
        part: A word of the path.
    """

    plant: Plant
    cause: str
    turns: tuple[int, ...]
    part: str


EACH = tuple(range(1, TURNS))
CASES = [
    Case(timestamp, "timestamp", EACH, "system"),
    Case(named_date, "timestamp", EACH, "system"),
    Case(session_id, "varying_id", EACH, "system"),
    Case(counter, "varying_number", EACH, "system"),
    Case(other_system, "system_changed", (2,), "system"),
    Case(reordered_tools, "tools_reordered", (2,), "tools[0]"),
    Case(added_tool, "tool_added", (2,), "tools[0]"),
    Case(removed_tool, "tool_removed", (2,), "tools[0]"),
    Case(other_tool, "tool_changed", (2,), "description"),
    Case(dated_tool, "timestamp", EACH, "description"),
    Case(old_result, "result_changed", (2,), "result"),
    Case(old_words, "history_edited", (2,), "first"),
    Case(dated_message, "timestamp", EACH, "first"),
    Case(escaped, "escapes_changed", (2,), "result"),
    Case(spaced, "whitespace_changed", (2,), "first"),
]

PATHS: dict[str, dict[str, str]] = {
    "anthropic": {
        "system": "system",
        "tools[0]": "tools[0]",
        "description": "tools[0].description",
        "first": "messages[0].content",
        "result": "messages[2].content[0].content",
    },
    "openai-chat": {
        "system": "messages[0].content",
        "tools[0]": "tools[0]",
        "description": "tools[0].function.description",
        "first": "messages[1].content",
        "result": "messages[3].content",
    },
    "openai-responses": {
        "system": "instructions",
        "tools[0]": "tools[0]",
        "description": "tools[0].description",
        "first": "input[0].content",
        "result": "input[2].output",
    },
    "gemini": {
        "system": "systemInstruction.parts[0].text",
        "tools[0]": "tools[0]",
        "description": "tools[0].functionDeclarations[0].description",
        "first": "contents[0].parts[0].text",
        "result": "contents[2].parts[0].functionResponse.response.output",
    },
}


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.plant.__name__)
def test_a_planted_cause_is_found(wire_format: str, case: Case) -> None:
    """On the turns on which it was planted, under its name, where it lies; and nothing else is."""
    turns = planted(wire_format, case.plant)

    path = PATHS[wire_format][case.part]
    assert found(turns) == [(turn, case.cause, path, True) for turn in case.turns]
