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
    inner: list[Any] = tools[0].get("functionDeclarations", tools)
    return inner


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
    """The system prompt tells the time."""
    set_system(body, f"It is 2026-11-30 12:0{turn}:17. ")


def named_date(body: Body, turn: int) -> None:
    """It tells the date in words."""
    set_system(body, f"Today is Monday, November {turn + 10}, 2026. ")


def session_id(body: Body, turn: int) -> None:
    """It tells an id of the request."""
    set_system(body, f"Request 0f3c9d1{turn}-77aa-4b1c-9e2d-5a6b7c8d9e0f. ")


def counter(body: Body, turn: int) -> None:
    """It counts."""
    set_system(body, f"Tokens left: {9_000 - turn}. ")


def other_system(body: Body, turn: int) -> None:
    """It changes once."""
    set_system(body, "Be brief. " if turn >= 2 else "")


def reordered_tools(body: Body, turn: int) -> None:
    """Tools stand in another order from some turn on."""
    if turn >= 2:
        tools_of(body).reverse()


def added_tool(body: Body, turn: int) -> None:
    """One comes on top."""
    if turn < 2:
        tools_of(body).remove(next(t for t in tools_of(body) if "grep" in json.dumps(t)))


def removed_tool(body: Body, turn: int) -> None:
    """One goes."""
    if turn >= 2:
        tools_of(body).remove(next(t for t in tools_of(body) if "grep" in json.dumps(t)))


def other_tool(body: Body, turn: int) -> None:
    """One reads otherwise."""
    tool_named(body, "grep")["description"] = "Look" if turn < 2 else "Search"


def dated_tool(body: Body, turn: int) -> None:
    """One tells the date."""
    tool_named(body, "grep")["description"] = f"Look; the index is of 2026-11-{turn + 10}."


def old_result(body: Body, turn: int) -> None:
    """An old result is cleared."""
    if turn >= 2:
        rewrite(body, "Content of file 0. " * 20, "[cleared]")


def old_words(body: Body, turn: int) -> None:
    """An old question reads otherwise."""
    if turn >= 2:
        rewrite(body, "Question 0: what", "Question 0: tell me what")


def dated_message(body: Body, turn: int) -> None:
    """An old question tells the time at which it is sent."""
    rewrite(body, "Question 0: what", f"(2026-11-30T10:0{turn}:00Z) Question 0: what")


def escaped(body: Body, turn: int) -> None:
    """An old result is escaped in another way."""
    rewrite(
        body, "Content of file 0.", "Content &amp; file 0." if turn >= 2 else "Content & file 0."
    )


def spaced(body: Body, turn: int) -> None:
    """An old question has other whitespace."""
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
        "system": "system[0].text",
        "tools[0]": "tools[0]",
        "description": "tools[0].description",
        "first": "messages[0].content[0].text",
        "result": "messages[2].content[0].content[0].text",
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
        "tools[0]": "tools[0].functionDeclarations[0]",
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


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_clean_session_has_no_break(wire_format: str) -> None:
    """Where each request extends the one before, all of that survives, and nothing is told."""
    turns = planted(wire_format)

    assert found(turns) == []
    assert [turn.harmless for turn in turns] == [()] * TURNS
    assert [turn.follows for turn in turns] == [None, 0, 1, 2, 3]
    assert all(turn.survived_tokens == turn.before_tokens > 0 for turn in turns[1:])
    assert all(turn.shared_messages == turn.messages > 0 for turn in turns[1:])


@pytest.mark.parametrize("wire_format", FORMATS)
@pytest.mark.parametrize("plant", [timestamp, dated_tool, dated_message])
def test_the_first_byte_is_the_first_that_differs(wire_format: str, plant: Plant) -> None:
    """Up to it both bodies are the same, and there they are not."""
    bodies = [growing(wire_format, rounds) for rounds in range(TURNS)]
    for turn, body in enumerate(bodies):
        plant(body, turn)
        body[HISTORY[wire_format]] = body.pop(HISTORY[wire_format])  # behind all else
    told = [json.dumps(body).encode() for body in bodies]

    turns = list(examine(recording(wire_format, told)))

    for told_of, (old, new) in zip(turns[1:], pairwise(told), strict=True):
        offset = told_of.breaks[0].found.offset
        assert offset is not None
        assert old[:offset] == new[:offset]
        assert old[offset] != new[offset]


@pytest.mark.parametrize("wire_format", FORMATS)
def test_what_lies_before_the_break_survives(wire_format: str) -> None:
    """Nothing before the tools, the tools before the system prompt, both before an old result."""
    tools, system, result = (
        planted(wire_format, plant)[2] for plant in (reordered_tools, other_system, old_result)
    )

    assert tools.survived_tokens == 0
    assert result.survived_tokens > 2_000
    assert result.shared_messages == (3 if wire_format == "openai-chat" else 2)
    assert 0 < system.survived_tokens < 200


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_changed_model_is_found(wire_format: str) -> None:
    """Nothing of the prefix survives it."""
    bodies = [growing(wire_format, rounds) for rounds in range(3)]
    clean = recording(wire_format, bodies)
    first, second, third = clean.requests
    other = {"gpt-5": "gpt-5-mini"}.get(MODELS[wire_format], "claude-sonnet-4-6")
    changed = RecordedRequest(wire_format, third.build, third.size_bytes, 1, other)

    turns = list(examine(Recording("planted", "planted", [first, second, changed])))

    assert found(turns) == [(2, "model_changed", "model", True)]
    assert turns[2].survived_tokens == 0
    assert turns[2].breaks[0].found.after == other


@pytest.mark.parametrize("wire_format", FORMATS)
def test_several_causes_on_one_turn_are_all_told(wire_format: str) -> None:
    """In the order of the prefix; the first bears all of the cost."""

    def plant(body: Body, turn: int) -> None:
        reordered_tools(body, turn)
        old_words(body, turn)

    (turn,) = (turn for turn in planted(wire_format, plant) if turn.breaks)

    assert [each.found.cause for each in turn.breaks] == ["tools_reordered", "history_edited"]
    assert turn.breaks[0].lost_tokens > 2_000
    assert turn.breaks[1].lost_tokens == 0


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_rewind_is_told_and_not_held_against_anybody(wire_format: str) -> None:
    """Another question from an earlier point on reads what lies before it from the cache."""
    bodies = [growing(wire_format, rounds) for rounds in (0, 1, 2, 3)]
    forked = growing(wire_format, 2)
    rewrite(forked, "Question 2: what does file 2 do, and why is it there?", "Let us stop here.")

    turns = list(examine(recording(wire_format, [*bodies, forked])))

    field, place = HISTORY[wire_format], len(forked[HISTORY[wire_format]]) - 1
    assert found(turns) == [(4, "rewind", f"{field}[{place}]", False)]
    assert turns[4].breaks[0].harmless == "deliberate"


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_request_sent_again_is_a_rewind(wire_format: str) -> None:
    """So is an earlier one; one that is the last once more is no break at all."""
    bodies = [growing(wire_format, rounds) for rounds in (0, 1, 2)]

    turns = list(examine(recording(wire_format, [*bodies, bodies[2], bodies[1]])))

    assert [(turn.place, turn.breaks[0].harmless) for turn in turns if turn.breaks] == [
        (4, "deliberate")
    ]


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_compaction_of_the_client_is_known(wire_format: str) -> None:
    """A summary in place of the history, and old messages that are left out."""
    bodies = [growing(wire_format, rounds) for rounds in range(30, 32)]
    field = HISTORY[wire_format]
    summed = growing(wire_format, 0)
    rewrite(summed, "Question 0: what", "This session is being continued from a previous one. What")
    cut = growing(wire_format, 32)
    start = 5 if wire_format == "openai-chat" else 4
    cut[field] = cut[field][: start - 4] + cut[field][start + 4 * 20 :]
    set_length(bodies[0], "x")

    by_summary = list(examine(recording(wire_format, [*map(unruled, (*bodies, summed))])))
    by_cut = list(examine(recording(wire_format, [*bodies[1:], cut])))

    assert [each[1] for each in found(by_summary)][-1] == "client_compaction"
    assert [each[1] for each in found(by_cut)] == ["client_compaction"]


def set_length(body: Body, words: str) -> None:
    """Only to show that a body may be another one in fields that count for nothing."""
    body["metadata"] = {"user_id": words}


def unruled(body: Body) -> Body:
    """A body with a short system prompt."""
    shorter: Body = replace_text(body, RULES, "Be kind.")
    return shorter


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_side_call_is_another_conversation(wire_format: str) -> None:
    """Its tools and prompt are its own, and the next request goes on from the main one."""
    bodies = [growing(wire_format, rounds) for rounds in (0, 1, 2)]
    side = json.loads(
        Conversation(wire_format, MODELS[wire_format], system="Name it.").user("Hm?").body()
    )

    turns = list(examine(recording(wire_format, [*bodies[:2], side, bodies[2]])))

    assert [each[:2] for each in found(turns)] == [(2, "new_conversation")]
    assert [turn.follows for turn in turns] == [None, 0, 1, 1]


@pytest.mark.parametrize("wire_format", FORMATS)
def test_old_messages_in_another_order_are_found(wire_format: str) -> None:
    """Where the first one stands that moved."""

    def plant(body: Body, turn: int) -> None:
        if turn == 3:
            messages = body[HISTORY[wire_format]]
            start = 1 if wire_format == "openai-chat" else 0
            messages[start : start + 8] = [
                *messages[start + 4 : start + 8],
                *messages[start : start + 4],
            ]

    turns = planted(wire_format, plant, 4)

    place = 1 if wire_format == "openai-chat" else 0
    assert found(turns) == [(3, "messages_reordered", f"{HISTORY[wire_format]}[{place}]", True)]


def test_thinking_that_is_not_sent_again_is_found() -> None:
    """Its message reads otherwise, and all else in it is the same."""
    bodies = []
    for keeps_thinking in (True, False):
        talk = conversation("anthropic", 2)
        said = [Thinking("Hm.", '"signature":"c2ln"')] if keeps_thinking else []
        talk.assistant(*said, Text("Yes."), ToolCall("c9", "read", "{}"))
        talk.user("Go on.")
        bodies.append(json.loads(talk.user("More." * (2 - keeps_thinking)).body()))

    turns = list(examine(recording("anthropic", bodies)))

    assert [each[1] for each in found(turns)] == ["thinking_dropped"]


@pytest.mark.parametrize(
    ("wire_format", "key", "value", "cause"),
    [
        ("anthropic", "tool_choice", {"type": "any"}, "parameters_changed"),
        (
            "anthropic",
            "thinking",
            {"type": "enabled", "budget_tokens": 2_000},
            "parameters_changed",
        ),
        ("openai-chat", "reasoning_effort", "high", "parameters_changed"),
        ("openai-chat", "response_format", {"type": "json_object"}, "parameters_changed"),
        ("openai-responses", "reasoning", {"effort": "high"}, "parameters_changed"),
        ("openai-responses", "prompt_cache_key", "k2", "parameters_changed"),
        ("gemini", "toolConfig", {"functionCallingConfig": {"mode": "ANY"}}, "parameters_changed"),
        ("anthropic", "metadata", {"user_id": "u"}, None),
        ("openai-chat", "tool_choice", "required", None),
        ("openai-responses", "store", False, None),
        ("gemini", "safetySettings", [], None),
    ],
)
def test_a_parameter_matters_where_the_cache_depends_on_it(
    wire_format: str, key: str, value: object, cause: str | None
) -> None:
    """And where not, it is not told."""

    def plant(body: Body, turn: int) -> None:
        if turn >= 2:
            body[key] = value

    turns = planted(wire_format, plant)

    assert found(turns) == ([] if cause is None else [(2, cause, key, True)])


@pytest.mark.parametrize("wire_format", FORMATS)
def test_the_order_of_keys_matters_where_the_model_reads_it(wire_format: str) -> None:
    """In arguments and schemas it does; of a message itself the provider reads it as it is meant."""

    def arguments(body: Body, turn: int) -> None:
        if turn >= 2:
            body[HISTORY[wire_format]] = turned(body[HISTORY[wire_format]], ("path", "limit"))
            rewrite(body, '{"path":"0","limit":9}', '{"limit":9,"path":"0"}')

    def envelope(body: Body, turn: int) -> None:
        if turn >= 2:
            messages = body[HISTORY[wire_format]]
            messages[:] = [dict(reversed(message.items())) for message in messages]

    (turn,) = (turn for turn in planted(wire_format, arguments) if turn.breaks)
    (broken,) = turn.breaks
    others = planted(wire_format, envelope)

    assert (turn.place, broken.found.cause, broken.matters) == (2, "key_order_changed", True)
    assert found(others) == []
    assert others[2].harmless == ("written_otherwise",)


def turned(value: Any, keys: tuple[str, ...]) -> Any:
    """A JSON value in which the objects with some keys have them in another order."""
    match value:
        case list():
            return [turned(each, keys) for each in value]
        case dict() if tuple(value) == keys:
            return dict(reversed(value.items()))
        case dict():
            return {key: turned(each, keys) for key, each in value.items()}
    return value


@pytest.mark.parametrize("wire_format", FORMATS)
def test_json_that_says_the_same_is_harmless(wire_format: str) -> None:
    """Whitespace between values and escaped letters are read as the same by the provider."""
    bodies = [growing(wire_format, rounds) for rounds in range(TURNS)]
    for body in bodies:
        rewrite(body, "Question 0", "Qu\u00e9stion 0".encode().decode("unicode-escape"))
    told = [
        json.dumps(body, ensure_ascii=bool(turn % 2), indent=turn % 2 or None).encode()
        for turn, body in enumerate(bodies)
    ]

    turns = list(examine(recording(wire_format, told)))

    assert found(turns) == []
    assert [turn.harmless for turn in turns] == [(), *[("written_otherwise",)] * (TURNS - 1)]


@pytest.mark.parametrize("wire_format", ["anthropic", "gemini"])
def test_more_words_behind_the_last_message_are_harmless(wire_format: str) -> None:
    """What was sent is still the beginning of what is."""
    first, second = growing(wire_format, 2), growing(wire_format, 2)
    key = "parts" if wire_format == "gemini" else "content"
    last = second[HISTORY[wire_format]][-1]
    more = {"text": "And quickly."} | ({} if wire_format == "gemini" else {"type": "text"})
    last[key] = [*last[key], more]

    turns = list(examine(recording(wire_format, [first, second])))

    assert found(turns) == []
    assert turns[1].harmless == ("message_extended",)
    assert turns[1].shared_messages == turns[1].messages


# -------------------------------------------------------------------- markers


MARKER = {"type": "ephemeral"}


def mark(body: Body, *, system: bool = True, message: int | None = -1) -> None:
    """Put markers onto the system prompt and a message."""
    if system:
        body["system"] = [{"type": "text", "text": RULES, "cache_control": MARKER}]
    if message is not None:
        content = body["messages"][message]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        body["messages"][message]["content"] = [
            *blocks[:-1],
            {**blocks[-1], "cache_control": MARKER},
        ]


def test_markers_that_move_on_are_harmless() -> None:
    """What the last one wrote is in reach of the next."""
    turns = planted("anthropic", lambda body, _: mark(body))

    assert found(turns) == []
    assert {turn.harmless for turn in turns[1:]} == {("marker_moved",)}
    assert all(turn.is_cached for turn in turns[1:])


def test_a_marker_out_of_reach_is_found() -> None:
    """More than 20 blocks behind what was written, only an earlier marker is read."""
    bodies = [growing("anthropic", rounds) for rounds in (2, 3, 9)]
    for body in bodies:
        mark(body)

    turns = list(examine(recording("anthropic", bodies)))

    assert found(turns) == [(2, "marker_moved", "messages[12]", True)]
    (broken,) = turns[2].breaks
    assert broken.found.after == "the next is 24 blocks behind it"
    assert 2_000 < turns[2].survived_tokens < turns[2].before_tokens
    assert broken.lost_tokens == turns[2].before_tokens - turns[2].survived_tokens


def test_markers_that_are_gone_are_found() -> None:
    """Without one behind what was written, nothing is read."""
    turns = planted(
        "anthropic",
        lambda body, turn: mark(body) if turn < 2 else None,
        3,
    )

    assert [each[:2] for each in found(turns)] == [(2, "marker_moved")]
    assert turns[2].breaks[0].found.after == "no marker behind it"
    assert turns[2].survived_tokens == 0
    assert not turns[2].is_cached


def test_the_block_of_a_client_that_varies_is_known() -> None:
    """The provider takes the block with the hash of the request out."""

    def plant(body: Body, turn: int) -> None:
        hashed = {"type": "text", "text": f"x-anthropic-billing-header: cc_version=2; cch=a{turn};"}
        body["system"] = [hashed, {"type": "text", "text": RULES}]

    turns = planted("anthropic", plant)

    assert found(turns) == []
    assert {turn.harmless for turn in turns[1:]} == {("billing_block",)}


# -------------------------------------------------------- the clock, the bill


def billed(*reads: int, write: int = 0) -> list[Usage | None]:
    """What was billed for requests of 10,000 tokens."""
    return [Usage(10_000 - read - write, read, write) for read in reads]


@pytest.mark.parametrize(
    ("wire_format", "pause", "is_found"),
    [
        ("anthropic", 290, False),
        ("anthropic", 310, True),
        ("openai-chat", 3_500, False),
        ("openai-chat", 3_700, True),
    ],
)
def test_a_pause_longer_than_the_cache_lives_is_found(
    wire_format: str, pause: float, *, is_found: bool
) -> None:
    """By the clock alone, where no bill says that it was read all the same."""
    bodies = [growing(wire_format, rounds) for rounds in range(3)]

    turns = list(examine(recording(wire_format, bodies, at=[0.0, 10.0, 10.0 + pause])))

    assert found(turns) == ([(2, "idle", "", True)] if is_found else [])


def test_the_long_life_of_a_marker_counts() -> None:
    """An hour, where the marker asks for it."""
    bodies = [growing("anthropic", rounds) for rounds in range(3)]
    for body in bodies:
        body["cache_control"] = {"type": "ephemeral", "ttl": "1h"}

    turns = list(examine(recording("anthropic", bodies, at=[0.0, 3_000.0, 7_000.0])))

    assert found(turns) == [(2, "idle", "", True)]


def test_the_bill_decides_what_was_lost() -> None:
    """A break after which the cache was read all the same does not matter."""
    bodies = [growing("anthropic", rounds) for rounds in range(3)]
    timestamp(bodies[2], 2)

    read = list(examine(recording("anthropic", bodies, usage=billed(0, 9_000, 9_900))))
    lost = list(examine(recording("anthropic", bodies, usage=billed(0, 9_000, 0))))

    assert [each.harmless for each in read[2].breaks] == ["bill"]
    (broken,) = lost[2].breaks
    assert broken.is_billed
    assert 9_000 < broken.lost_tokens <= 10_000


@pytest.mark.parametrize(
    ("wire_format", "usage", "causes"),
    [
        ("anthropic", billed(0, 9_000, 1_000), [("not_read", "")]),
        ("gemini", billed(0, 9_000, 1_000), [("not_read", "no_promise")]),
        ("anthropic", billed(0, 9_000, 7_900), []),
        ("anthropic", billed(0, 0, 0), []),
        ("anthropic", [*billed(0, 9_000), Usage()], []),
        ("anthropic", [*billed(9_000), None, *billed(1_000)], []),
        ("anthropic", [None, None, None], []),
    ],
)
def test_a_cache_that_was_not_read_is_told_by_the_bill(
    wire_format: str, usage: list[Usage | None], causes: list[tuple[str, str]]
) -> None:
    """Only where much is missing, and never of a provider that tells nothing of its cache."""
    bodies = [growing(wire_format, rounds) for rounds in range(3)]

    turns = list(examine(recording(wire_format, bodies, usage=usage)))

    assert [(each.found.cause, each.harmless) for turn in turns for each in turn.breaks] == causes


def test_a_pause_is_the_cause_of_a_cache_that_was_not_read() -> None:
    """Where the bill and the clock agree."""
    bodies = [growing("anthropic", rounds) for rounds in range(3)]

    turns = list(
        examine(
            recording("anthropic", bodies, usage=billed(0, 9_000, 1_000), at=[0.0, 10.0, 1_000.0])
        )
    )

    assert found(turns) == [(2, "idle", "", True)]
    assert turns[2].survived_tokens == 1_000


def test_a_break_costs_what_writing_costs_more_than_reading() -> None:
    """Sonnet 4.5 takes 3.75 dollars for a million written tokens and 0.30 for one read."""
    pytest.importorskip("genai_prices")
    (broken,) = planted("anthropic", reordered_tools)[2].breaks

    assert broken.cost_usd == pytest.approx(broken.lost_tokens * (3.75 - 0.3) / 1_000_000)


def test_an_unknown_price_stays_unknown() -> None:
    """Tokens are told, money is not."""

    def plant(body: Body, turn: int) -> None:
        body["model"] = "nobody-knows-1"
        reordered_tools(body, turn)

    (broken,) = planted("openai-chat", plant)[2].breaks

    assert broken.cost_usd is None
    assert broken.lost_tokens > 2_000


@pytest.mark.parametrize("wire_format", FORMATS)
def test_a_prefix_too_short_to_be_cached_costs_nothing(wire_format: str) -> None:
    """The break is told, and that it does not matter."""
    bodies = [unruled(growing(wire_format, rounds)) for rounds in range(3)]
    timestamp(bodies[2], 2)

    turns = list(examine(recording(wire_format, bodies)))

    assert [each.harmless for turn in turns for each in turn.breaks] == ["too_short"]


def test_what_a_log_does_not_hold_is_not_held_against_it() -> None:
    """Stubs of tools may differ from request to request."""
    bodies = [growing("openai-chat", rounds) for rounds in range(3)]
    removed_tool(bodies[2], 2)

    turns = list(examine(recording("openai-chat", bodies, unrecorded=frozenset(("tools",)))))

    assert found(turns) == []


def test_a_request_that_cannot_be_read_is_told() -> None:
    """The next one goes on from the one before it."""
    bodies: list[Body | bytes] = [growing("anthropic", rounds) for rounds in range(2)]
    bodies.insert(1, b'{"messages": 7}')

    turns = list(examine(recording("anthropic", bodies)))

    assert [bool(turn.unread) for turn in turns] == [False, True, False]
    assert turns[2].follows == 0


def test_an_old_request_is_found_again() -> None:
    """However many others came in between."""
    main = [growing("openai-chat", rounds) for rounds in range(2)]
    others = [
        json.loads(Conversation("openai-chat", "gpt-5").user(f"Name {number}.").body())
        for number in range(12)
    ]

    turns = list(examine(recording("openai-chat", [main[0], *others, main[1]])))

    assert turns[-1].follows == 0
    assert turns[-1].breaks == ()


def test_every_cause_has_words() -> None:
    """What it means, and what to do."""
    assert MEANING.keys() == ADVICE.keys()
    assert all((*MEANING.values(), *ADVICE.values()))
