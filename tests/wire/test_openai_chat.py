"""OpenAI Chat: parts and the paths to them, the surface, and what a request forbids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.rich_bodies import CHAT, PDF, PIXEL, dumped, mutated
from trimtab import Drop, Media, Message, Opaque, Plan, Text, Thinking, ToolCall, ToolResult
from trimtab.constraints import Constraints
from trimtab.messages import Surface, Tool
from trimtab.plan import Ref
from trimtab.wire import Request, format_named, read
from trimtab.wire.format import Outline
from trimtab.wire.json_spans import locate

FORMAT = format_named("openai-chat")

Json = dict[str, Any]


def raw(value: Any) -> str:
    """The JSON text of a value, as the rich body has it."""
    return json.dumps(value)


def request(*messages: Any, **more: Any) -> Request:
    """A request with some messages."""
    return read(dumped({"model": "gpt-5.6", **more, "messages": list(messages)}), "openai-chat")


def asks(*calls: Any) -> Json:
    """An assistant message that calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


ASK = {"role": "user", "content": "hi"}
SAY = {"role": "assistant", "content": "done"}
CALL = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "ok"}

# ---------------------------------------------------------------------- parts

PARTS = [
    Message.system("be brief"),
    Message("developer", (Text("and kind"),)),
    Message.user("hello"),
    Message.user(
        "look",
        Media("image", "image/png", PIXEL, detail="low", width=1, height=1),
        Media("image", location="https://x.test/a.png"),
        Media("audio", "audio/wav", "UklGRg=="),
        Media("document", "application/pdf", PDF),
        Media("file", location="file-1"),
    ),
    Message.assistant(
        Thinking("hm"),
        "let me look",
        ToolCall("call_1", "ls", '{"dir":"/"}'),
        ToolCall("call_2", "patch", '"+a"'),
    ),
    Message.tool("call_1", "a\nb"),
    Message.tool("call_2", "ok"),
    Message.assistant("I cannot"),
    Message.assistant("or", "not"),
    Message.user("thanks"),
]


def test_every_message_becomes_parts() -> None:
    """What is known by its kind, all else whole."""
    assert list(read(dumped(CHAT)).messages) == PARTS


def test_every_message_is_outlined_without_its_parts() -> None:
    """Roles, calls and results are those of the parts."""
    assert list(read(dumped(CHAT)).outlines) == [
        Outline(part.role, part.call_ids, part.result_ids, part.has_own_words) for part in PARTS
    ]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ({"role": "assistant"}, ()),
        ({"role": "assistant", "content": None, "refusal": None, "reasoning_content": None}, ()),
        ({"role": "assistant", "content": "", "refusal": "", "reasoning_content": ""}, (Text(""),)),
        ({"role": "user", "content": []}, ()),
        ({"role": "tool", "tool_call_id": "a"}, (ToolResult("a", ()),)),
        ({"role": "tool", "tool_call_id": "a", "content": []}, (ToolResult("a", ()),)),
        ({"role": "tool", "content": "x"}, (ToolResult("", (Text("x"),)),)),
        ({"role": "tool", "tool_call_id": 5, "content": "x"}, (ToolResult("", (Text("x"),)),)),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": "u"}]},
            (Media("image", location="u"),),
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
            (Media("image"),),
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
            (Media("audio", "audio/wav"),),
        ),
        (
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_data": "data:text/csv;base64,YQ=="}}],
            },
            (Media("file", "text/csv", "YQ=="),),
        ),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": 5}]},
            (Opaque("image_url", '{"type": "image_url", "image_url": 5}'),),
        ),
        ({"role": "user", "content": ["words"]}, (Opaque("None", '"words"'),)),
        ({"role": "assistant", "tool_calls": {}}, ()),
        (asks(5), (Opaque("tool_call", "5"),)),
        (asks({"id": "a"}), (Opaque("tool_call", '{"id": "a"}'),)),
        (asks({"id": "a", "function": {"name": "f"}}), (ToolCall("a", "f", ""),)),
        (
            asks({"id": "a", "function": {"name": "f", "arguments": {"n": 1.5}}}),
            (ToolCall("a", "f", '{"n": 1.5}'),),
        ),
        (asks({"id": "a", "custom": {"name": "f"}}), (ToolCall("a", "f", "null"),)),
    ],
)
def test_a_message_is_decoded(message: Json, parts: tuple[object, ...]) -> None:
    """Incomplete messages, blanks and wrong types have parts too, or none."""
    assert request(message).messages[0].parts == parts


@pytest.mark.parametrize(
    ("message", "outline"),
    [
        (b'{"role":"user","content":"\\ud800"}', Outline("user")),
        (b'{"role":"user","content":"x","n":NaN}', Outline("user")),
        (
            b'{"role":"assistant","content":"\\ud800","tool_calls":[{"id":"a","function":{"name":"f"}},{"id":5},5]}',
            Outline("assistant", ("a",), is_understood=False),
        ),
        (
            b'{"role":"assistant","tool_calls":{},"n":NaN}',
            Outline("assistant"),
        ),
        (
            b'{"role":"tool","tool_call_id":"a","content":"\\ud800","tool_calls":[{"id":"b"}]}',
            Outline("tool", (), ("a",), has_own_words=False),
        ),
        (
            b'{"role":"tool","tool_call_id":"a","content":[{"type":"hologram","n":NaN}]}',
            Outline("tool", (), ("a",), has_own_words=False, is_understood=False),
        ),
        (b'{"role":"poet","n":NaN}', Outline("user", is_understood=False)),
        (b'{"role":5}', Outline("user", is_understood=False)),
        (b"5", Outline("user", is_understood=False)),
    ],
)
def test_a_message_that_msgspec_refuses_is_outlined(message: bytes, outline: Outline) -> None:
    """Lone surrogates, NaN and wrong types cost speed, and nothing else."""
    body = b'{"messages":[' + message + b',{"role":"user","content":"hi"}]}'

    assert list(read(body, "openai-chat").outlines) == [outline, Outline("user")]


# ---------------------------------------------------------------------- paths


@given(body=st.one_of(st.just(dumped(CHAT)), mutated(CHAT, only_messages=True)))
def test_each_part_lies_where_its_path_leads(body: bytes) -> None:
    """Put back alone under the same key, what a path leads to is the part."""
    broken = read(body, "openai-chat")
    for place, message in enumerate(broken.messages):
        if place in broken.constraints.frozen:
            continue
        text = broken.message_bytes(place)
        for number, part in enumerate(message.parts):
            path = FORMAT.part_path(text, number)
            start, stop = locate(text, path)
            alone = text[start:stop]

            assert FORMAT.parts(_alone(path, alone)) == (part,)
            if isinstance(part, Text):
                low, high = locate(text, FORMAT.text_path(text, number))
                assert json.loads(text[low:high]) == part.text


def _alone(path: tuple[Any, ...], value: bytes) -> bytes:
    """An assistant message that holds nothing but one part."""
    if not path:
        return value
    inner = b"[" + value + b"]" if len(path) > 1 else value
    return b'{"role":"assistant","' + str(path[0]).encode() + b'":' + inner + b"}"


# -------------------------------------------------------------------- surface


def test_the_surface_is_all_but_the_messages() -> None:
    """Model, tools and the schema of the answer; the system prompt is a message here."""
    tools = CHAT["tools"]

    assert read(dumped(CHAT)).surface == Surface(
        "gpt-5.6",
        (),
        (
            Tool("ls", raw(tools[0]), "list", '{"type": "object"}'),
            Tool("custom", raw(tools[1])),
        ),
        '{"type": "json_object"}',
    )


@pytest.mark.parametrize(
    ("envelope", "surface"),
    [
        ({"model": None}, Surface("null")),
        ({"tools": {}, "response_format": None}, Surface("m")),
        ({"tools": [5]}, Surface("m", tools=(Tool("", "5"),))),
        (
            {"functions": [{"name": "f", "description": None, "parameters": {}}]},
            Surface(
                "m", tools=(Tool("f", '{"name": "f", "description": null, "parameters": {}}'),)
            ),
        ),
        (
            {"tools": [{"function": {"name": "f", "parameters": {"n": 1.0}}}]},
            Surface(
                "m",
                tools=(
                    Tool(
                        "f",
                        '{"function": {"name": "f", "parameters": {"n": 1.0}}}',
                        "",
                        '{"n": 1.0}',
                    ),
                ),
            ),
        ),
    ],
)
def test_an_odd_envelope_has_a_surface(envelope: Json, surface: Surface) -> None:
    """What is not understood is left out, and raises nothing."""
    assert request(ASK, **{"model": "m", **envelope}).surface == surface


def test_digits_of_a_schema_stay() -> None:
    """A schema is text; it is never parsed and written again."""
    body = b'{"messages":[],"tools":[{"function":{"name":"f","parameters":{"maximum":1E400}}}]}'

    assert read(body, "openai-chat").surface.tools[0].schema == '{"maximum":1E400}'


# ---------------------------------------------------------------- constraints


@pytest.mark.parametrize(
    ("messages", "constraints"),
    [
        ([], Constraints()),
        ([ASK], Constraints()),
        ([ASK, SAY], Constraints()),
        ([ASK, asks(CALL), RESULT], Constraints(open_loop_start=1)),
        ([ASK, asks(CALL), RESULT, asks(CALL), RESULT], Constraints(open_loop_start=1)),
        ([ASK, asks(CALL), RESULT, SAY], Constraints()),
        ([ASK, asks(CALL), RESULT, ASK], Constraints()),
        ([ASK, SAY, ASK, asks(CALL), RESULT], Constraints(open_loop_start=3)),
        ([RESULT], Constraints(open_loop_start=0)),
        # what is not understood
        ([{"role": "poet"}, ASK, 5], Constraints(frozen=frozenset({0, 2}))),
        (
            [
                {"role": "user", "content": [{"type": "hologram"}, {"type": "text", "text": "x"}]},
                ASK,
            ],
            Constraints(frozen=frozenset({0})),
        ),
        (
            [ASK, asks({"id": "a", "type": "new"}), RESULT, ASK],
            Constraints(frozen=frozenset({1})),
        ),
        ([{"role": "function", "content": "x"}], Constraints(frozen=frozenset({0}))),
    ],
)
def test_a_request_says_what_it_forbids(messages: list[Any], constraints: Constraints) -> None:
    """The loop is open while the last word is a result; what is unknown is frozen."""
    assert request(*messages).constraints == constraints


def test_claude_behind_this_format_binds_nothing() -> None:
    """Signatures have no place here, so nothing can commit to a prefix."""
    assert request(ASK, model="anthropic/claude-opus-5.5").constraints == Constraints()


def test_a_plan_entails_nothing_more() -> None:
    """The format has no last word to add."""
    plan = Plan((Drop(Ref(0), ""),))

    assert FORMAT.complete(request(ASK, SAY), plan, headers_settable=False) is plan


# ------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    ("message", "marker", "longer"),
    [
        (b'{"content":"h\\u0069" }', None, b'{"content":"hi\\n\\n\xc3\xa9" }'),
        (b'{"content":""}', None, b'{"content":"\xc3\xa9"}'),
        (b'{"content":null}', None, b'{"content":"\xc3\xa9"}'),
        (b'{"content":""}', b"{}", b'{"content":"\xc3\xa9"}'),
        (b'{"content":"\\ud800"}', None, b'{"content":"\\ud800\\n\\n\\u00e9"}'),
        (
            b'{"content":[ {"type":"text"} ]}',
            None,
            b'{"content":[ {"type":"text"},{"type":"text","text":"\xc3\xa9"} ]}',
        ),
        (
            b'{"content":[]}',
            b'{"type" : "ephemeral"}',
            b'{"content":[{"type":"text","text":"\xc3\xa9","cache_control":{"type" : "ephemeral"}}]}',
        ),
        (
            b'{"content":"h\\u0069"}',
            b"{}",
            (
                b'{"content":[{"type":"text","text":"h\\u0069"},'
                b'{"type":"text","text":"\xc3\xa9","cache_control":{}}]}'
            ),
        ),
    ],
)
def test_a_text_becomes_the_last_part(message: bytes, marker: bytes | None, longer: bytes) -> None:
    """A string stays a string unless a marker has to stand somewhere."""
    assert FORMAT.append_text(message, "é", marker) == longer


def test_a_lone_surrogate_and_a_marker_go_together() -> None:
    """What UTF-8 cannot hold becomes an escape beside raw JSON too."""
    assert FORMAT.append_text(b'{"content":[]}', "\ud800", b"{}") == (
        b'{"content":[{"type":"text","text":"\\ud800","cache_control":{}}]}'
    )


@pytest.mark.parametrize(
    ("message", "markers"),
    [
        (b'{"content":"\\"cache_control\\""}', []),
        (b'{"content":"words","cache_control":{}}', []),
        (b'{"tool_calls":[],"cache_control":{}}', []),
        (
            b'{"content":[{"cache_control":null},{"cache_control" : {"a": 1} },{"x":1}]}',
            [b'{"a": 1}'],
        ),
    ],
)
def test_the_markers_of_a_message_are_found(message: bytes, markers: list[bytes]) -> None:
    """Routers take them on the parts of a message."""
    assert FORMAT.cache_markers(message) == markers


@pytest.mark.parametrize(
    ("message", "marker", "encoded"),
    [
        (Message.user("a"), None, [b'{"role":"user","content":"a"}']),
        (
            Message.user("a"),
            b"{}",
            [b'{"role":"user","content":[{"type":"text","text":"a","cache_control":{}}]}'],
        ),
        (
            Message.user("a", "b"),
            b"{}",
            [
                (
                    b'{"role":"user","content":[{"type":"text","text":"a"},'
                    b'{"type":"text","text":"b","cache_control":{}}]}'
                )
            ],
        ),
        (
            Message("tool", (ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),)))),
            None,
            [
                b'{"role":"tool","tool_call_id":"a","content":"1"}',
                b'{"role":"tool","tool_call_id":"b","content":"2"}',
            ],
        ),
        (
            Message("assistant", (ToolResult("a", ()), Thinking("x"))),
            b"{}",
            [
                b'{"role":"tool","tool_call_id":"a","content":""}',
                b'{"role":"assistant","content":""}',
            ],
        ),
        (
            Message("assistant", (ToolResult("a", ()),)),
            None,
            [b'{"role":"tool","tool_call_id":"a","content":""}'],
        ),
        (
            Message("tool", (ToolResult("a", ()), Text("more"))),
            None,
            [
                b'{"role":"tool","tool_call_id":"a","content":""}',
                b'{"role":"user","content":"more"}',
            ],
        ),
        (Message.user(""), b"{}", []),
    ],
)
def test_a_made_message_is_encoded(
    message: Message, marker: bytes | None, encoded: list[bytes]
) -> None:
    """It takes as many messages as the format needs, none for nothing; a marker stands at the end."""
    assert FORMAT.encode(message, marker) == encoded
