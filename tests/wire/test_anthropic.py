"""Anthropic Messages: parts and the paths to them, the surface, and what a request forbids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.rich_bodies import ANTHROPIC, PDF, PIXEL, dumped, mutated
from trimtab import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import Surface, Tool
from trimtab.wire import Request, format_named, read
from trimtab.wire.format import Outline
from trimtab.wire.json_spans import locate

FORMAT = format_named("anthropic")

Json = dict[str, Any]


def raw(value: Any) -> str:
    """The JSON text of a value, as the rich body has it."""
    return json.dumps(value)


def request(*messages: Any, **more: Any) -> Request:
    """A request with some messages."""
    body = {"model": "claude-opus-4-6", "max_tokens": 9, **more, "messages": list(messages)}
    return read(dumped(body), "anthropic")


def user(*blocks: Any) -> Json:
    """A user message of blocks."""
    return {"role": "user", "content": list(blocks)}


def claude(*blocks: Any) -> Json:
    """An assistant message of blocks."""
    return {"role": "assistant", "content": list(blocks)}


ASK = {"role": "user", "content": "hi"}
CALL = {"type": "tool_use", "id": "a", "name": "ls", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "ok"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TEXT = {"type": "text", "text": "words"}
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}

# ---------------------------------------------------------------------- parts

_BLOCKS = ANTHROPIC["messages"]
_ANSWER, _RESULTS = _BLOCKS[2]["content"], _BLOCKS[3]["content"]

PARTS = [
    Message.user("hello"),
    Message.system("the user is in a hurry"),
    Message.assistant(
        Thinking("hm", "c2ln"),
        Thinking("", "b3BhcXVl", is_redacted=True),
        "let me look",
        Opaque("server_tool_use", raw(_ANSWER[3])),
        Opaque("web_search_tool_result", raw(_ANSWER[4])),
        ToolCall("toolu_1", "ls", '{"dir": "/", "n": 1}'),
        ToolCall("toolu_2", "ls", "{}"),
        ToolCall("toolu_3", "ls", "{}"),
    ),
    Message(
        "user",
        (
            ToolResult("toolu_1", (Text("a\nb"),)),
            ToolResult(
                "toolu_2",
                (Text("see"), Media("image", "image/png", PIXEL, width=1, height=1)),
                is_error=True,
            ),
            ToolResult("toolu_3", ()),
            Text("and these"),
            Media("image", location="https://x.test/a.png"),
            Media("document", "application/pdf", PDF, pages=2),
            Opaque("document", raw(_RESULTS[6])),
            Opaque("search_result", raw(_RESULTS[7])),
            Opaque("container_upload", raw(_RESULTS[8])),
        ),
    ),
    Message.assistant("done"),
    Message.user("thanks"),
]


def test_every_block_becomes_a_part() -> None:
    """What is known by its kind, all else whole."""
    assert list(read(dumped(ANTHROPIC)).messages) == PARTS


def test_every_message_is_outlined_without_its_parts() -> None:
    """Roles, calls, results and own words are those of the parts."""
    assert list(read(dumped(ANTHROPIC)).outlines) == [
        Outline(part.role, part.call_ids, part.result_ids, part.has_own_words) for part in PARTS
    ]


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "a", "citations": None}, Text("a")),
        ({"type": "text"}, Text("")),
        ({"type": "compaction", "content": ""}, Text("")),
        (
            {"type": "compaction", "content": "c"},
            Opaque("compaction", '{"type": "compaction", "content": "c"}'),
        ),
        ({"type": "tool_use", "id": "a", "name": "n"}, ToolCall("a", "n", "{}")),
        ({"type": "tool_use", "id": "a", "name": "n", "input": "{}"}, ToolCall("a", "n", '"{}"')),
        ({"type": "tool_result", "tool_use_id": "a", "content": " "}, ToolResult("a", ())),
        ({"type": "tool_result", "tool_use_id": "a", "content": None}, ToolResult("a", ())),
        ({"type": "tool_result", "tool_use_id": "a", "content": 5}, ToolResult("a", ())),
        (
            {"type": "tool_result", "tool_use_id": "a", "is_error": "yes", "content": "x"},
            ToolResult("a", (Text("x"),)),
        ),
        (
            {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "thinking"}, 5]},
            ToolResult("a", (Opaque("Thinking", '{"type": "thinking"}'), Opaque("?", "5"))),
        ),
        (
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            Media("image", location="file_1"),
        ),
        (
            {"type": "image", "source": {"url": 5}},
            Opaque("image", '{"type": "image", "source": {"url": 5}}'),
        ),
        ({"type": "image"}, Media("image")),
        # pages are a document's, pixels an image's
        ({"type": "image", "source": {"data": PDF}}, Media("image", data=PDF)),
        ({"type": "document", "source": {"data": PIXEL}}, Media("document", data=PIXEL)),
        ({"type": 5}, Opaque("?", '{"type": 5}')),
        ("words", Opaque("?", '"words"')),
    ],
)
def test_a_block_is_decoded(block: Any, part: object) -> None:
    """Incomplete blocks, blanks and wrong types have a part too."""
    assert request(user(block)).messages[0].parts == (part,)


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (b'{"type":"text","text":"\\ud800"}', Text("\ud800")),
        (b'{"type":"thinking","thinking":"\\ud800","signature":"s"}', Thinking("\ud800", "s")),
        (
            b'{"type":"tool_use","id":"a","name":"\\ud800","input":{"n":1E400}}',
            ToolCall("a", "\ud800", '{"n":1E400}'),
        ),
        (
            b'{"type":"tool_use","id":"a","name":"n","input":{"n":NaN}}',
            ToolCall("a", "n", '{"n":NaN}'),
        ),
        (
            b'{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"\\ud800"}',
            ToolResult("a", (Text("\ud800"),), is_error=True),
        ),
        (
            b'{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"\\ud800"}]}',
            ToolResult("a", (Text("\ud800"),)),
        ),
        (
            b'{"type":"image","x":NaN,"source":{"type":"url","url":"u"}}',
            Media("image", location="u"),
        ),
        (b'{"type":"text","text":5,"x":NaN}', Opaque("?", '{"type":"text","text":5,"x":NaN}')),
        (b'{"type":"text","text":"\xff"}', Text("\udcff")),
    ],
)
def test_a_block_that_msgspec_refuses_is_decoded(block: bytes, part: object) -> None:
    """Lone surrogates, NaN and bytes that are no UTF-8 lose nothing."""
    message = b'{"role":"user","content":[' + block + b"]}"

    assert FORMAT.parts(message) == (part,)


# ---------------------------------------------------------------------- paths


def _at(message: bytes, path: tuple[Any, ...]) -> Any:
    start, stop = locate(message, path)
    return json.loads(message[start:stop])


@given(body=st.one_of(st.just(dumped(ANTHROPIC)), mutated(ANTHROPIC, only_messages=True)))
def test_each_part_lies_where_its_path_leads(body: bytes) -> None:
    """Decoded on its own, what a path leads to is the part; the words lie where theirs leads."""
    broken = read(body, "anthropic")
    for place, message in enumerate(broken.messages):
        if place in broken.constraints.frozen:
            continue
        text = broken.message_bytes(place)
        for number, part in enumerate(message.parts):
            start, stop = locate(text, FORMAT.part_path(text, number))
            alone = text[start:stop]
            if alone.startswith(b"{"):
                alone = b"[" + alone + b"]"

            assert FORMAT.parts(b'{"role":"user","content":' + alone + b"}") == (part,)
            if isinstance(part, Text) and b'"compaction"' not in alone and b'"text":' in alone:
                assert _at(text, FORMAT.text_path(text, number)) == part.text


@pytest.mark.parametrize(
    ("message", "part", "paths"),
    [
        (ASK, 0, (("content",), ("content",), ("content", 0, "content"))),
        (
            user(RESULT, TEXT),
            1,
            (("content", 1), ("content", 1, "text"), ("content", 1, "content")),
        ),
    ],
)
def test_paths_depend_on_how_content_is_written(
    message: Json, part: int, paths: tuple[Any, ...]
) -> None:
    """A string is its own part; blocks have places."""
    text = dumped(message)

    assert paths == (
        FORMAT.part_path(text, part),
        FORMAT.text_path(text, part),
        FORMAT.result_path(text, part),
    )


# -------------------------------------------------------------------- surface


def test_the_surface_is_all_but_the_messages() -> None:
    """Model, system prompt, tools and the schema of the answer, digits as they were."""
    tools = ANTHROPIC["tools"]

    assert read(dumped(ANTHROPIC)).surface == Surface(
        "claude-opus-4-8",
        (Text("be brief"),),
        (
            Tool("ls", raw(tools[0]), "list", '{"type": "object"}'),
            Tool("web_search", raw(tools[1])),
        ),
        '{"type":"json_schema","schema":{"type":"object"}}',
    )


@pytest.mark.parametrize(
    ("envelope", "surface"),
    [
        ({"model": None}, Surface("null")),
        ({"system": "be brief"}, Surface("m", (Text("be brief"),))),
        ({"system": {}}, Surface("m")),
        ({"tools": {}}, Surface("m")),
        (
            {"tools": [5, {"type": "bash"}]},
            Surface("m", tools=(Tool("", "5"), Tool("bash", '{"type": "bash"}'))),
        ),
        ({"tools": [[]]}, Surface("m", tools=(Tool("", "[]"),))),
        ({"output_config": 5}, Surface("m")),
        ({"output_config": {"effort": "low"}}, Surface("m")),
    ],
)
def test_an_odd_envelope_has_a_surface(envelope: Json, surface: Surface) -> None:
    """What is not understood is left out, and raises nothing."""
    assert request(ASK, **{"model": "m", **envelope}).surface == surface


def test_a_schema_that_is_no_utf8_is_read() -> None:
    """Bytes that no text can hold are marked as such."""
    body = b'{"messages":[],"tools":[{"name":"x","input_schema":"\xff"}]}'

    assert read(body, "anthropic").surface == Surface(
        tools=(Tool("x", '{"name":"x","input_schema":"\udcff"}', "", '"\ufffd"'),)
    )


# ---------------------------------------------------------------- constraints

PLAIN = Constraints(neighbours_are_one_turn=True, refuses_blank_text=True)


def _constraints(**more: Any) -> Constraints:
    return Constraints(neighbours_are_one_turn=True, refuses_blank_text=True, **more)


@pytest.mark.parametrize(
    ("envelope", "hands_off"),
    [
        ({"thread": {"type": "create"}}, "thread"),
        ({"container": "container_1"}, "container"),
        ({"container": {"id": "c"}}, "container"),
    ],
)
def test_state_on_the_server_forbids_all_edits(envelope: Json, hands_off: str) -> None:
    """Where part of the history is not in the request, the request says which field tells it."""
    assert request(ASK, **envelope).constraints == _constraints(
        hands_off=f"part of the conversation lies on the provider's server ({hands_off})"
    )


@pytest.mark.parametrize("envelope", [{}, {"thread": None}, {"container": None}])
def test_without_state_on_the_server_edits_are_free(envelope: Json) -> None:
    """Null is as good as nothing."""
    assert request(ASK, **envelope).constraints == PLAIN


@pytest.mark.parametrize(
    ("envelope", "concerns"),
    [
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, {"clearing"}),
        ({"context_management": {"edits": [{"type": "compact_20260112"}]}}, {"compaction"}),
        (
            {
                "context_management": {
                    "edits": [{"type": "compact_20260112"}, {"type": "clear_tool_uses_x"}]
                }
            },
            {"clearing", "compaction"},
        ),
        ({"compaction": {"enabled": True}}, {"compaction"}),
        # what current agents send by default switches nothing off
        (
            {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
            set(),
        ),
        ({"context_management": {"edits": []}}, set()),
        # nothing, and what is not understood
        ({"compaction": None, "context_management": None}, set()),
        ({"context_management": 5}, set()),
        ({"context_management": {"edits": {"type": "compact_20260112"}}}, set()),
        ({"context_management": {"edits": [5, {}, {"type": 5}]}}, set()),
    ],
)
def test_what_the_client_leaves_to_the_provider_is_left_alone(
    envelope: Json, concerns: set[Any]
) -> None:
    """Ours is switched off for that concern alone."""
    assert request(ASK, **envelope).constraints == _constraints(left_to_client=frozenset(concerns))


@pytest.mark.parametrize(
    ("messages", "frozen"),
    [
        ([ASK, claude(TEXT), ASK], set()),
        ([ASK, claude({"type": "hologram"}), user(TEXT, {"type": "hologram"})], {1, 2}),
        ([ASK, {"role": "poet", "content": "x"}, 5, ASK], {1, 2}),
        ([ASK, user({"type": "text", "text": 5}), {"role": "user", "content": 5}, ASK], {1, 2}),
        # what leaves whole like any other
        ([ASK, claude(SEARCH, FOUND), user({"type": "search_result"}), ASK], set()),
        ([ASK, claude({"type": "mcp_tool_use"}, {"type": "mcp_tool_result"}), ASK], set()),
        # a turn that a server tool has paused goes back as it came
        ([ASK, claude(SEARCH, FOUND), ASK, claude(TEXT, SEARCH)], {3}),
        ([ASK, claude(TEXT)], set()),
    ],
)
def test_what_is_not_understood_is_frozen(messages: list[Any], frozen: set[int]) -> None:
    """One unknown block freezes its message, and no other."""
    assert request(*messages).constraints.frozen == frozen


@pytest.mark.parametrize(
    ("messages", "start"),
    [
        ([], None),
        ([ASK], None),
        ([ASK, claude(TEXT), ASK], None),
        ([ASK, claude(CALL), user(RESULT)], 1),
        ([ASK, claude(CALL), user(RESULT), claude(TEXT), ASK, claude(CALL), user(RESULT)], 5),
        ([ASK, claude(CALL), user(RESULT, TEXT)], None),
        ([ASK, claude(CALL), user(RESULT), claude({**CALL, "id": "b"}), user(RESULT)], 1),
        ([ASK, claude(CALL), user(RESULT), {"role": "system", "content": "s"}], 1),
        ([ASK, claude(TEXT)], 1),
    ],
)
def test_the_open_loop_begins_behind_the_last_words(messages: list[Any], start: int | None) -> None:
    """Words beside results close a loop as words alone do."""
    assert request(*messages).constraints.open_loop_start == start


MANUAL = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


THINKS = claude(THINKING, CALL)
SHOWS_NOTHING = claude({"type": "redacted_thinking", "data": "x"}, CALL)
ACTS = claude(CALL)


@pytest.mark.parametrize(
    ("messages", "envelope", "turn_start", "illegal"),
    [
        ([ASK, THINKS, user(RESULT), ACTS, user(RESULT)], MANUAL, 1, set()),
        ([ASK, ACTS, user(RESULT), ACTS, user(RESULT), THINKS, user(RESULT)], MANUAL, 5, {1, 3}),
        ([ASK, SHOWS_NOTHING, user(RESULT)], MANUAL, 1, set()),
        ([ASK, claude(TEXT, THINKING), user(RESULT), claude(), user(RESULT)], MANUAL, None, set()),
        ([ASK, THINKS, user(RESULT), ASK], MANUAL, None, set()),
        ([ASK, THINKS, user(RESULT)], {"thinking": {"type": "adaptive"}}, None, set()),
        ([ASK, THINKS, user(RESULT)], {"thinking": "enabled"}, None, set()),
        ([ASK, THINKS, user(RESULT)], {"thinking": {"type": 5}}, None, set()),
        ([ASK, THINKS, user(RESULT)], {}, None, set()),
    ],
)
def test_with_manual_thinking_a_turn_starts_with_it(
    messages: list[Any], envelope: Json, turn_start: int | None, illegal: set[int]
) -> None:
    """In the open loop, words of ours may stand only in front of an answer that thinks first."""
    constraints = request(*messages, **envelope).constraints

    assert constraints.turn_start == turn_start
    assert set(constraints.illegal_starts) == illegal


@pytest.mark.parametrize(
    ("model", "binds"),
    [
        ("claude-opus-4-6", False),
        ("claude-opus-5", False),
        ("claude-opus-5-5", True),
        ("us.anthropic.claude-fable-5-1-v1:0", True),
        ("claude-next", True),
        ("kimi-k2", False),
    ],
)
def test_the_model_says_whether_thinking_is_bound(model: str, binds: bool) -> None:  # noqa: FBT001 - a column of the table
    """Every Claude that is not known to be older may bind it."""
    assert request(ASK, model=model).constraints == _constraints(binds_thinking=binds)


# ------------------------------------------------------------- what is written


@pytest.mark.parametrize(
    ("message", "marker", "longer"),
    [
        (
            b'{"content":"h\\u0069" ,"role":"user"}',
            None,
            b'{"content":[{"type":"text","text":"h\\u0069"},{"type":"text","text":"\xc3\xa9"}] ,"role":"user"}',
        ),
        (
            b'{"content":[ ] ,"role":"user"}',
            None,
            b'{"content":[{"type":"text","text":"\xc3\xa9"}] ,"role":"user"}',
        ),
        (
            b'{"content":[ {"type":"text"} ]}',
            b'{"type" : "ephemeral"}',
            (
                b'{"content":[ {"type":"text"},'
                b'{"type":"text","text":"\xc3\xa9","cache_control":{"type" : "ephemeral"}} ]}'
            ),
        ),
        (
            b'{"content":"a"}',
            b"{}",
            b'{"content":[{"type":"text","text":"a"},{"type":"text","text":"\xc3\xa9","cache_control":{}}]}',
        ),
    ],
)
def test_a_text_becomes_the_last_part(message: bytes, marker: bytes | None, longer: bytes) -> None:
    """What was there keeps its bytes, and a marker stands on the new block."""
    assert FORMAT.append_text(message, "é", marker) == longer


@pytest.mark.parametrize(
    ("message", "markers"),
    [
        (b'{"content":"\\"cache_control\\""}', []),
        (b'{"content":"words","cache_control":{}}', []),
        (b'{"content":[{"type":"text","text":"a"}]}', []),
        (
            b'{"content":[{"cache_control":null},{"cache_control" : {"a": 1} },{"x":1}]}',
            [b'{"a": 1}'],
        ),
        (
            b'{"content":[{"cache_control":{"a":1}},{"cache_control":{"b":2}}]}',
            [b'{"a":1}', b'{"b":2}'],
        ),
        # markers inside results stay with their result
        (b'{"content":[{"type":"tool_result","content":[{"cache_control":{}}]}]}', []),
    ],
)
def test_the_markers_of_a_message_are_found(message: bytes, markers: list[bytes]) -> None:
    """As JSON text, in order."""
    assert FORMAT.cache_markers(message) == markers


@pytest.mark.parametrize(
    ("message", "encoded"),
    [
        (Message.user("a"), [b'{"role":"user","content":[{"type":"text","text":"a"}]}']),
        (Message.system("a"), [b'{"role":"system","content":[{"type":"text","text":"a"}]}']),
        (
            Message.tool("a", "r", is_error=True),
            [
                (
                    b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",'
                    b'"content":[{"type":"text","text":"r"}],"is_error":true}]}'
                )
            ],
        ),
        (Message.user(" "), []),
        (Message.user(), []),
    ],
)
def test_a_made_message_is_encoded(message: Message, encoded: list[bytes]) -> None:
    """One message at most, and none where there is nothing to say."""
    assert FORMAT.encode(message) == encoded


def test_a_made_message_takes_a_marker_on_its_last_block() -> None:
    """Everything up to its end is cached."""
    (encoded,) = FORMAT.encode(Message.user("a", "b"), b'{"type":"ephemeral"}')

    assert encoded == (
        b'{"role":"user","content":[{"type":"text","text":"a"},'
        b'{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}'
    )


def test_words_have_no_place_in_something_else() -> None:
    """A message without content has no path to words."""
    with pytest.raises(MalformedBodyError):
        FORMAT.text_path(b'{"role":"user"}', 0)
