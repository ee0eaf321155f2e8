"""OpenAI Responses: parts and the paths to them, edits, the surface, and what an edit entails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.rich_bodies import PDF, PIXEL, RESPONSES, dumped, mutated
from trimtab import (
    CharTokenCounter,
    Context,
    Drop,
    Engine,
    Media,
    Message,
    Opaque,
    Plan,
    Policy,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    in_memory,
)
from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError, UnknownFormatError
from trimtab.messages import Surface, Tool
from trimtab.plan import Edit, Fold, Forbidden, Keep, Ref, Replace
from trimtab.wire import Call, Request, build, check, format_named, read, write
from trimtab.wire.format import Outline
from trimtab.wire.json_spans import locate

NAME = "openai-responses"
FORMAT = format_named(NAME)

Json = dict[str, Any]


def raw(value: Any) -> str:
    """The JSON text of a value, as the rich body has it."""
    return json.dumps(value)


def request(*items: Any, **more: Any) -> Request:
    """A request with some items."""
    return read(dumped({"model": "gpt-5.6", **more, "input": list(items)}), NAME)


def sent(body: bytes) -> list[Json]:
    """The items of a body."""
    items: list[Json] = json.loads(body)["input"]
    return items


ASK: Json = {"role": "user", "content": "hi"}
SAY: Json = {"role": "assistant", "content": "done"}
OUTPUT: Json = {"type": "function_call_output", "call_id": "a", "output": "ok"}


def thought(number: int = 1) -> Json:
    """A reasoning item."""
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gA"}


def call(call_id: str = "a", **more: Any) -> Json:
    """A call of ``ls``."""
    return {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": "{}", **more}


def said(number: int = 1) -> Json:
    """An answer with an id."""
    part = {"type": "output_text", "text": "done", "annotations": []}
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]}


# ---------------------------------------------------------------------- parts

ITEMS = RESPONSES["input"]
SEARCH, SHELL_OUTPUT, COMPACTION = ITEMS[4], ITEMS[11], ITEMS[12]

PARTS = [
    Message("developer", (Text("and kind"),)),
    Message.user("hello"),
    Message.user(
        "look",
        Media("image", "image/png", PIXEL, detail="low", width=1, height=1),
        Media("image", location="https://x.test/a.png"),
        Media("document", "application/pdf", PDF, pages=2),
        Media("file", location="file-1"),
    ),
    Message.assistant(Thinking("hm", raw(ITEMS[3]))),
    Message.assistant(Opaque("web_search_call", raw(SEARCH))),
    Message.assistant("let me look", "not all"),
    Message.assistant(ToolCall("call_1", "ls", '{"dir":"/"}')),
    Message.assistant(ToolCall("call_2", "patch", '"+a"')),
    Message.assistant(ToolCall("call_3", "shell", '{"commands": ["ls"], "n": 1.5}')),
    Message.tool("call_1", "a\nb"),
    Message(
        "tool",
        (
            ToolResult(
                "call_2", (Text("see"), Media("image", "image/png", PIXEL, width=1, height=1))
            ),
        ),
    ),
    Message("tool", (ToolResult("call_3", (Opaque("None", raw(SHELL_OUTPUT["output"][0])),)),)),
    Message.assistant(Opaque("compaction", raw(COMPACTION))),
    Message.assistant("done"),
    Message.user("thanks"),
]


def test_every_item_becomes_a_message() -> None:
    """What is known by its kind, all else whole."""
    assert list(read(dumped(RESPONSES)).messages) == PARTS


def test_every_item_is_outlined_without_its_parts() -> None:
    """Roles, calls and results are those of the parts; what the provider made up is not cut."""
    assert list(read(dumped(RESPONSES)).outlines) == [
        Outline(
            part.role,
            part.call_ids,
            part.result_ids,
            part.has_own_words,
            is_understood=place != 12,
        )
        for place, part in enumerate(PARTS)
    ]


@pytest.mark.parametrize(
    ("item", "role", "parts"),
    [
        ({"role": "assistant"}, "assistant", ()),
        ({"role": "user", "content": None}, "user", ()),
        ({"role": "user", "content": []}, "user", ()),
        ({"type": "message", "role": "system", "content": "s"}, "system", (Text("s"),)),
        (
            {"role": "user", "content": [{"type": "input_image", "file_id": "file-2"}]},
            "user",
            (Media("image", location="file-2"),),
        ),
        (
            {"role": "user", "content": [{"type": "input_file", "file_url": "https://x.t/A.PDF"}]},
            "user",
            (Media("document", location="https://x.t/A.PDF"),),
        ),
        (
            {
                "role": "user",
                "content": [
                    {"type": "input_audio", "input_audio": {"data": "UA==", "format": "mp3"}}
                ],
            },
            "user",
            (Media("audio", "audio/mp3", "UA=="),),
        ),
        (OUTPUT, "tool", (ToolResult("a", (Text("ok"),)),)),
        ({**OUTPUT, "output": ""}, "tool", (ToolResult("a", (Text(""),)),)),
        (
            {"type": "computer_call_output", "call_id": "a", "output": {"file_id": "file-3"}},
            "tool",
            (ToolResult("a", (Media("image", location="file-3"),)),),
        ),
        (
            {"type": "apply_patch_call_output", "call_id": "a", "status": "failed", "output": "no"},
            "tool",
            (ToolResult("a", (Text("no"),), is_error=True),),
        ),
        (
            {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"},
            "tool",
            (ToolResult("a", ()),),
        ),
        (
            {"type": "tool_search_output", "call_id": "a", "tools": [1.50]},
            "tool",
            (ToolResult("a", (Opaque("tools", "[1.5]"),)),),
        ),
        (
            {"type": "local_shell_call", "id": "a", "action": {"n": 1}},
            "assistant",
            (ToolCall("a", "local_shell", '{"n": 1}'),),
        ),
        (
            {"type": "computer_call", "call_id": "a", "actions": []},
            "assistant",
            (ToolCall("a", "computer", "[]"),),
        ),
        (
            {"type": "tool_search_call", "call_id": "a", "arguments": {"q": 1}},
            "assistant",
            (ToolCall("a", "tool_search", '{"q": 1}'),),
        ),
        (call(arguments={"n": 1}), "assistant", (ToolCall("a", "ls", '{"n": 1}'),)),
        (
            {"type": "image_generation_call", "id": "ig_1", "result": PIXEL},
            "assistant",
            (Media("image", "image/png", PIXEL, width=1, height=1),),
        ),
        (
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "a"}],
                "content": [{"type": "reasoning_text", "text": "b"}, 5],
            },
            "assistant",
            None,
        ),
    ],
)
def test_an_item_is_decoded(item: Json, role: str, parts: tuple[object, ...] | None) -> None:
    """Incomplete items and rarer kinds have parts too, and may be dropped like any other."""
    found = request(item)
    wanted = (Thinking("a\nb", raw(item)),) if parts is None else parts

    assert found.messages[0].role == role
    assert found.messages[0].parts == wanted
    assert found.constraints.frozen == frozenset()


@pytest.mark.parametrize(
    ("item", "role", "kind"),
    [
        ({"type": "hologram", "n": 1.50}, "assistant", "hologram"),
        ({"type": "hologram", "role": "user"}, "user", "hologram"),
        ({"type": "hologram_output", "call_id": "a"}, "tool", "hologram_output"),
        ({"type": "mcp_approval_response", "approve": True}, "tool", "mcp_approval_response"),
        ({"type": "mcp_list_tools", "tools": []}, "assistant", "mcp_list_tools"),
        ({"type": "compaction", "encrypted_content": "gA"}, "assistant", "compaction"),
        ({"type": "compaction_trigger"}, "developer", "compaction_trigger"),
        ({"type": "additional_tools", "tools": []}, "developer", "additional_tools"),
        ({"type": "function_call", "name": "ls", "arguments": ""}, "assistant", "function_call"),
        ({"type": "function_call", "call_id": "a"}, "assistant", "function_call"),
        ({"type": "function_call_output", "output": "x"}, "tool", "function_call_output"),
        ({"role": "poet", "content": "x"}, "user", "poet"),
    ],
)
def test_what_is_not_understood_stays_whole(item: Json, role: str, kind: str) -> None:
    """It is one opaque part, and nothing may be done to it."""
    found = request(item)

    assert [(m.role, m.parts) for m in found.messages] == [(role, (Opaque(kind, raw(item)),))]
    assert found.constraints.frozen == {0}


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "hologram"}, {"type": "input_text", "text": "x"}]},
        {"role": "user", "content": [{"type": "input_text", "words": "x"}]},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "hologram"}]},
        {"type": "function_call_output", "call_id": "a", "output": {}},
    ],
)
def test_an_item_with_an_unknown_part_is_frozen(item: Json) -> None:
    """What is known of it is read, and none of it is cut."""
    assert request(item).constraints.frozen == {0}


@pytest.mark.parametrize(
    ("item", "outline"),
    [
        (b'{"role":"user","content":"\\ud800"}', Outline("user")),
        (b'{"type":"reasoning","summary":[],"n":NaN}', Outline("assistant")),
        (b'{"type":"web_search_call","id":"w","n":"\\ud800"}', Outline("assistant")),
        (
            b'{"type":"function_call","call_id":"a","name":"f","arguments":"\\ud800"}',
            Outline("assistant", ("a",)),
        ),
        (
            b'{"type":"function_call_output","call_id":"a","output":"\\ud800"}',
            Outline("tool", (), ("a",), has_own_words=False),
        ),
        (
            b'{"type":"shell_call_output","call_id":"a","output":[{"stdout":"\\ud800"}]}',
            Outline("tool", (), ("a",), has_own_words=False),
        ),
        (
            b'{"type":"function_call_output","call_id":"a","output":[{"type":"h","n":NaN}]}',
            Outline("tool", (), ("a",), has_own_words=False, is_understood=False),
        ),
        (b'{"type":"hologram","n":NaN}', Outline("assistant", is_understood=False)),
        (b'{"role":5}', Outline("user", is_understood=False)),
        (b'{"type":5,"role":"user"}', Outline("user", is_understood=False)),
        (b"5", Outline("user", is_understood=False)),
    ],
)
def test_an_item_that_msgspec_refuses_is_outlined(item: bytes, outline: Outline) -> None:
    """Lone surrogates, NaN and wrong types cost speed, and nothing else."""
    body = b'{"input":[' + item + b',{"role":"user","content":"hi"}]}'

    assert list(read(body, NAME).outlines) == [outline, Outline("user")]


# ------------------------------------------------------------- a bare string


def test_a_bare_string_is_read_counted_and_passed_on() -> None:
    """It is what the user says, and there is nothing to edit."""
    body = b'{"model":"gpt-5.6", "input" : "h\\u0069 there"}'
    found = read(body)

    session = Session(Policy(limit_tokens=1), CharTokenCounter())
    rewrite = session.rewrite(session.read(Call(body)))

    assert found.format.name == NAME
    assert list(found.messages) == [Message.user("hi there")]
    assert found.form(0) == b'"h\\u0069 there"'
    assert rewrite.body is body
    assert rewrite.outcome.status == "unsatisfiable"
    assert rewrite.outcome.tokens_before > len("hi there") // 4


def test_nothing_is_put_behind_a_bare_string() -> None:
    """There is no list that could take it."""
    found = read(b'{"model":"m","input":"hi"}', NAME)
    plan = Plan((Fold((), 1, Message.user("more"), ""),))

    assert isinstance(FORMAT.complete(found, plan, headers_settable=True), Forbidden)


@pytest.mark.parametrize("history", [b"5", b"null", b"{}"])
def test_what_is_neither_a_list_nor_a_string_is_malformed(history: bytes) -> None:
    """The place is told."""
    with pytest.raises(MalformedBodyError, match="'input' is not a list"):
        read(b'{"model":"m","input":' + history + b"}", NAME)


@pytest.mark.parametrize(
    ("body", "is_ours"),
    [
        (b'{"model":"m","input":"x"}', True),
        (b'{"model":"m","input":[]}', True),
        (b'{"model":"m","input":[{"role":"user","content":"x"}]}', True),
        (b'{"input":[{"type":"compaction"}],"previous_response_id":"r"}', True),
        (b'{"model":"m","input":"x","messages":[]}', False),
        (b'{"model":"m","input":["x"]}', False),
        (b'{"model":"m"}', False),
    ],
)
def test_the_format_is_told_from_the_content(body: bytes, is_ours: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Texts to be embedded are none of ours."""
    try:
        found = read(body).format.name
    except UnknownFormatError:
        found = ""

    assert (found == NAME) is is_ours


# ---------------------------------------------------------------------- paths


@given(body=st.one_of(st.just(dumped(RESPONSES)), mutated(RESPONSES, only_messages=True)))
def test_each_part_lies_where_its_path_leads(body: bytes) -> None:
    """Put back alone under the same key, what a path leads to is the part."""
    try:
        broken = read(body, NAME)
    except MalformedBodyError:
        return
    for place, message in enumerate(broken.messages):
        if place in broken.constraints.frozen:
            continue
        text = broken.message_bytes(place)
        for number, part in enumerate(message.parts):
            path = FORMAT.part_path(text, number)
            start, stop = locate(text, path)

            assert FORMAT.parts(_alone(path, text[start:stop])) == (part,)
            if isinstance(part, Text):
                low, high = locate(text, FORMAT.text_path(text, number))
                assert json.loads(text[low:high]) == part.text


def _alone(path: tuple[Any, ...], value: bytes) -> bytes:
    """An item that holds nothing but one part."""
    if not path:
        return value
    inner = b"[" + value + b"]" if len(path) > 1 else value
    return b'{"role":"assistant","' + str(path[0]).encode() + b'":' + inner + b"}"


# ---------------------------------------------------------------------- edits


@pytest.mark.parametrize(
    ("item", "edits", "written"),
    [
        (
            b'{"role":"user", "content":"h\\u0069" }',
            [Replace(0, 0, Text("\xe9"), "")],
            b'{"role":"user", "content":"\xc3\xa9" }',
        ),
        (
            (
                b'{"role":"assistant","content":[{"type":"refusal","refusal":"a"}, '
                b'{"type":"output_text","text":"b"}]}'
            ),
            [Replace(0, 0, Text("c"), "")],
            (
                b'{"role":"assistant","content":[{"type":"refusal","refusal":"c"}, '
                b'{"type":"output_text","text":"b"}]}'
            ),
        ),
        (
            b'{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}',
            [Drop(Ref(0, (0,)), "")],
            b'{"role":"user","content":[{"type":"input_text","text":"b"}]}',
        ),
        (
            b'{"type":"function_call","call_id":"a","name":"f","arguments":"{\\"n\\":1}" }',
            [Replace(0, 0, ToolCall("a", "f", '{"m":2}'), "")],
            b'{"type":"function_call","call_id":"a","name":"f","arguments":"{\\"m\\":2}" }',
        ),
        (
            b'{"type":"function_call","call_id":"a","name":"f","arguments":{"n":1}}',
            [Replace(0, 0, ToolCall("a", "f", '{"m":2}'), "")],
            b'{"type":"function_call","call_id":"a","name":"f","arguments":{"m":2}}',
        ),
        (
            b'{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}',
            [Replace(0, 0, ToolCall("a", "f", '"y"'), "")],
            b'{"type":"custom_tool_call","call_id":"a","name":"f","input":"y"}',
        ),
        (
            b'{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}',
            [Replace(0, 0, ToolCall("a", "f", "y"), "")],
            b'{"type":"custom_tool_call","call_id":"a","name":"f","input":"y"}',
        ),
        (
            b'{"type":"shell_call","call_id":"a","action":{"n":1}}',
            [Replace(0, 0, ToolCall("a", "shell", '{"m":2}'), "")],
            b'{"type":"shell_call","call_id":"a","action":{"m":2}}',
        ),
        (
            b'{"type":"function_call_output","call_id":"a","output":"long" , "x":1.50}',
            [Replace(0, 0, ToolResult("a", (Text("s"),)), "")],
            b'{"type":"function_call_output","call_id":"a","output":"s" , "x":1.50}',
        ),
        (
            (
                b'{"type":"custom_tool_call_output","call_id":"a","output":['
                b'{"type":"input_text","text":"long"}, {"type":"input_image","file_id":"file-1"}]}'
            ),
            [Replace(0, 0, ToolResult("a", (Text("s"), Media("image", location="file-1"))), "")],
            (
                b'{"type":"custom_tool_call_output","call_id":"a","output":['
                b'{"type":"input_text","text":"s"}, {"type":"input_image","file_id":"file-1"}]}'
            ),
        ),
        (
            (
                b'{"type":"function_call_output","call_id":"a","output":['
                b'{"type":"input_text","text":"a"},{"type":"input_image","file_id":"file-1"}]}'
            ),
            [
                Replace(
                    0,
                    0,
                    ToolResult("a", (Media("image", location="file-1"), Opaque("x", "{}"))),
                    "",
                )
            ],
            (
                b'{"type":"function_call_output","call_id":"a","output":['
                b'{"type":"input_image","file_id":"file-1"},{"type":"input_text","text":"{}"}]}'
            ),
        ),
        # a part that is replaced by itself: the item goes on without its id
        (
            b'{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"\\u007b}"}',
            [Replace(0, 0, ToolCall("a", "f", "{}"), "")],
            b'{"type":"function_call","call_id":"a","name":"f","arguments":"\\u007b}"}',
        ),
    ],
)
def test_an_edit_changes_what_it_names(item: bytes, edits: list[Edit], written: bytes) -> None:
    """All other bytes of the item stay."""
    before = b'{"input" : [ ' + item + b' ,{"role":"user","content":"hi"}]}'

    body = write(read(before, NAME), Plan(tuple(edits)))

    assert body == before.replace(item, written)


@pytest.mark.parametrize("place", range(len(ITEMS)))
def test_an_item_leaves_and_the_others_keep_their_bytes(place: int) -> None:
    """Unknown fields and all."""
    body = write(read(dumped(RESPONSES)), Plan((Drop(Ref(place), ""),)))

    assert sent(body) == [item for number, item in enumerate(ITEMS) if number != place]
    assert read(body).message_bytes(0) == dumped(sent(body)[0])


@pytest.mark.parametrize(
    ("item", "marker", "longer"),
    [
        (b'{"content":"h\\u0069" }', None, b'{"content":"hi\\n\\n\xc3\xa9" }'),
        (b'{"content":""}', b"{}", b'{"content":"\xc3\xa9"}'),
        (b'{"role":"user"}', None, b'{"role":"user","content":"\xc3\xa9"}'),
        (
            b'{"content":[ {"type":"input_text"} ]}',
            None,
            b'{"content":[ {"type":"input_text"},{"type":"input_text","text":"\xc3\xa9"} ]}',
        ),
        (
            b'{"content":"h\\u0069"}',
            b'{"mode" : 1}',
            (
                b'{"content":[{"type":"input_text","text":"h\\u0069"},{"type":"input_text",'
                b'"text":"\xc3\xa9","prompt_cache_breakpoint":{"mode" : 1}}]}'
            ),
        ),
    ],
)
def test_a_text_becomes_the_last_part(item: bytes, marker: bytes | None, longer: bytes) -> None:
    """A string stays a string unless a marker has to stand somewhere."""
    assert FORMAT.append_text(item, "\xe9", marker) == longer


MARKED = b'{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"m" : 1}}]}'
MARKED_OUTPUT = (
    b'{"type":"function_call_output","call_id":"a","output":['
    b'{"type":"input_text","text":"a","prompt_cache_breakpoint":{}},'
    b'{"type":"input_text","text":"b","prompt_cache_breakpoint":null}]}'
)


@pytest.mark.parametrize(
    ("item", "markers", "form"),
    [
        (
            MARKED,
            [b'{"m" : 1}'],
            b'{"role":"user","content":[{"type":"input_text","text":"a"}]}',
        ),
        (
            MARKED_OUTPUT,
            [b"{}"],
            (
                b'{"type":"function_call_output","call_id":"a","output":['
                b'{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}'
            ),
        ),
        (
            b'{"content":"\\"prompt_cache_breakpoint\\""}',
            [],
            b'{"content":"\\"prompt_cache_breakpoint\\""}',
        ),
        (b'"words"', [], b'"words"'),
    ],
)
def test_markers_are_found_and_are_no_part_of_what_an_item_is(
    item: bytes, markers: list[bytes], form: bytes
) -> None:
    """Clients move them from turn to turn, on what is said and on outputs."""
    assert FORMAT.cache_markers(item) == markers
    assert FORMAT.canonical(item) == form


# -------------------------------------------------------------------- encoding


@pytest.mark.parametrize(
    ("message", "marker", "encoded"),
    [
        (Message.user("a"), None, [b'{"role":"user","content":"a"}']),
        (
            Message.user("a"),
            b"{}",
            [
                (
                    b'{"role":"user","content":[{"type":"input_text","text":"a",'
                    b'"prompt_cache_breakpoint":{}}]}'
                )
            ],
        ),
        (Message.assistant("a", "b"), b"{}", [b'{"role":"assistant","content":"a\\n\\nb"}']),
        (
            Message("tool", (ToolResult("a", (Text("1"),)), ToolResult("b", (), is_error=True))),
            None,
            [
                b'{"type":"function_call_output","call_id":"a","output":"1"}',
                b'{"type":"function_call_output","call_id":"b","output":"Error: "}',
            ],
        ),
        (
            Message.tool("a", "1"),
            b"{}",
            [
                (
                    b'{"type":"function_call_output","call_id":"a","output":[{"type":"input_text",'
                    b'"text":"1","prompt_cache_breakpoint":{}}]}'
                )
            ],
        ),
        (
            Message("tool", (ToolResult("a", ()), Text("more"))),
            None,
            [
                b'{"type":"function_call_output","call_id":"a","output":""}',
                b'{"role":"user","content":"more"}',
            ],
        ),
        (
            Message("tool", (ToolResult("a", (Opaque("shell_call_output", '{"n":1.50}'),)),)),
            None,
            [b'{"n":1.50}'],
        ),
        (Message.user(""), b"{}", []),
    ],
)
def test_a_made_message_is_encoded(
    message: Message, marker: bytes | None, encoded: list[bytes]
) -> None:
    """It takes as many items as the format needs; a marker stands on what may carry one."""
    assert FORMAT.encode(message, marker) == encoded


PNG = Media("image", "image/png", PIXEL, detail="low")


@pytest.mark.parametrize(
    ("part", "encoded"),
    [
        (
            PNG,
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
        ),
        (
            Media("image", location="https://x.t/a"),
            {"type": "input_image", "image_url": "https://x.t/a"},
        ),
        (Media("image", location="file-1"), {"type": "input_image", "file_id": "file-1"}),
        (Media("image"), {"type": "input_text", "text": "[image that cannot be sent here]"}),
        (
            Media("document", "application/pdf", PDF),
            {
                "type": "input_file",
                "filename": "document.pdf",
                "file_data": f"data:application/pdf;base64,{PDF}",
            },
        ),
        (
            Media("file", location="https://x.t/a"),
            {"type": "input_file", "file_url": "https://x.t/a"},
        ),
        (Media("file", location="file_1"), {"type": "input_file", "file_id": "file_1"}),
        (Media("file"), {"type": "input_text", "text": "[file that cannot be sent here]"}),
        (
            Media("audio", "audio/wav", "UA=="),
            {"type": "input_text", "text": "[audio/wav that cannot be sent here]"},
        ),
        (Opaque("document", '{"a":1}'), {"type": "input_text", "text": '{"a":1}'}),
    ],
)
def test_media_goes_where_it_can(part: Media | Opaque, encoded: Json) -> None:
    """Beside words and in results alike; what has no place says so."""
    told = {"type": "input_text", "text": "see"}
    body = build([Message.user("see", part), Message("tool", (ToolResult("a", (part,)),))], NAME)

    assert sent(body)[0]["content"] == [told, encoded]
    if isinstance(part, Media):
        assert sent(body)[1]["output"] == [encoded]


def test_a_body_is_built() -> None:
    """Words, calls and results are items in the order in which they were said."""
    messages = [
        Message.system("be kind"),
        Message.user("look", PNG),
        Message.assistant(
            Thinking("hm", "c2lnbmVk"),
            Thinking("hm", raw(thought())),
            "let me",
            ToolCall("a", "ls", '{"n":4611686018427387905}'),
            ToolCall("b", "ls", ""),
            ToolCall("c", "ls", "null"),
        ),
        Message("user", (ToolResult("a", (Text("x"), PNG), is_error=True), Text("and?"))),
        Message("tool", (ToolResult("b", (Opaque("x", "{}"),)),)),
        Message.tool("c", "y"),
    ]
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"}
    surface = Surface("gpt-5.6", (Text("be brief"), Text("now")), (Tool("ls", "", "list", "{}"),))

    body = json.loads(build(messages, NAME, surface=surface, max_tokens=64))

    assert check(dumped(body), NAME) == ()
    assert body == {
        "model": "gpt-5.6",
        "max_output_tokens": 64,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "be brief\n\nnow",
        "tools": [{"type": "function", "name": "ls", "description": "list", "parameters": {}}],
        "input": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, image]},
            thought(),
            {"role": "assistant", "content": "let me"},
            call("a", arguments='{"n":4611686018427387905}'),
            call("b"),
            call("c"),
            {
                **OUTPUT,
                "output": [
                    {"type": "input_text", "text": "Error:"},
                    {"type": "input_text", "text": "x"},
                    image,
                ],
            },
            {"role": "user", "content": "and?"},
            {**OUTPUT, "call_id": "b", "output": "{}"},
            {**OUTPUT, "call_id": "c", "output": "y"},
        ],
    }


@pytest.mark.parametrize(
    "messages",
    [
        [Message.user("x"), Message.assistant(Thinking("", raw(thought())))],
        [Message.assistant(Thinking("", raw(thought()))), Message.user("x")],
        [Message.assistant(Thinking("", raw(thought()))), Message.tool("a", "x")],
        [Message.assistant(Thinking("", '{"type":"reasoning","id":"rs","summary":[]}'), "x")],
        [Message.assistant(Thinking("words", "c2ln"), "x")],
        [Message.assistant(Thinking("words"), "x")],
    ],
)
def test_reasoning_goes_only_where_it_is_accepted(messages: list[Message]) -> None:
    """What leads to nothing, what a server holds and what others signed is left out."""
    assert b"summary" not in build(messages, NAME)
    assert b"c2ln" not in build(messages, NAME)


def test_what_is_built_from_its_own_items_is_the_same() -> None:
    """Reasoning, the provider's own calls and compaction come back as they were."""
    found = request(ASK, thought(), SEARCH, call(), OUTPUT, COMPACTION, SAY, ASK)

    body = build(found.messages, NAME, surface=found.surface)

    assert sent(body) == [ASK, thought(), SEARCH, call(), OUTPUT, COMPACTION, SAY, ASK]


@pytest.mark.parametrize(
    ("tool", "encoded"),
    [
        ('{"type":"web_search","n":1.50}', b'{"type":"web_search","n":1.50}'),
        ('{"type":"function","name":"f"}', b'{"type":"function","name":"f"}'),
        (
            '{"type":"function","function":{"name":"f"}}',
            b'{"type":"function","name":"t","parameters":{"type":"object"}}',
        ),
        (
            '{"name":"f","input_schema":{}}',
            b'{"type":"function","name":"t","parameters":{"type":"object"}}',
        ),
    ],
)
def test_a_tool_is_converted(tool: str, encoded: bytes) -> None:
    """What is this format's stays as it came."""
    built = build([ASKED], NAME, surface=Surface("m", tools=(Tool("t", tool),)))

    assert read(built, NAME).members["tools"] == b"[" + encoded + b"]"


ASKED = Message.user("x")

# -------------------------------------------------------------------- surface


def test_the_surface_is_all_but_the_items() -> None:
    """Model, instructions, tools and the schema of the answer."""
    tools = RESPONSES["tools"]

    assert read(dumped(RESPONSES)).surface == Surface(
        "gpt-5.6",
        (Text("be brief"),),
        (
            Tool("ls", raw(tools[0]), "list", '{"type": "object"}'),
            Tool("patch", raw(tools[1])),
            Tool("web_search", raw(tools[2])),
        ),
        '{"type":"json_schema","name":"a","schema":{"type":"object"}}',
    )


@pytest.mark.parametrize(
    ("envelope", "surface"),
    [
        ({"instructions": None, "text": {"format": {"type": "text"}}}, Surface("m")),
        ({"instructions": [5]}, Surface("m", (Opaque("instructions", "[5]"),))),
        ({"text": {"verbosity": "low"}, "tools": {}}, Surface("m")),
        ({"tools": [5]}, Surface("m", tools=(Tool("", "5"),))),
        (
            {"tools": [{"type": "mcp", "server_label": "s"}]},
            Surface("m", tools=(Tool("s", '{"type": "mcp", "server_label": "s"}'),)),
        ),
    ],
)
def test_an_odd_envelope_has_a_surface(envelope: Json, surface: Surface) -> None:
    """What is not understood is left out or held whole, and raises nothing."""
    assert request(ASK, **{"model": "m", **envelope}).surface == surface


@pytest.mark.parametrize(
    ("one", "other", "changed"),
    [
        ({"instructions": "a"}, {"instructions": "b"}, "system"),
        ({"tools": [{"type": "x"}]}, {"tools": [{"type": "y"}]}, "tools"),
        ({"text": {"verbosity": "low"}}, {"text": {"verbosity": "high"}}, "tools"),
        ({"model": "a"}, {"model": "b"}, "model"),
        ({"store": True}, {"store": False}, ""),
    ],
)
def test_what_the_cache_depends_on(one: Json, other: Json, changed: str) -> None:
    """A change there is a break; parameters are none."""
    found = [FORMAT.surface_forms(request(ASK, **more).members) for more in (one, other)]
    forms = [form._asdict() for form in found]

    assert [key for key in forms[0] if forms[0][key] != forms[1][key]] == [changed][: bool(changed)]


def test_the_answers_size_is_known() -> None:
    """As far as the request says it."""
    assert (request(ASK).answer_tokens, request(ASK, max_output_tokens=7).answer_tokens) == (
        None,
        7,
    )


# ---------------------------------------------------------------- constraints

FREE = Constraints(results_must_follow=False, neighbours_are_one_turn=True)


@pytest.mark.parametrize(
    ("items", "limits"),
    [
        ([], {}),
        ([ASK, SAY], {}),
        ([ASK, call(), OUTPUT], {"open_loop_start": 1}),
        ([ASK, call(), OUTPUT, ASK], {}),
        (
            [ASK, thought(), thought(2), call(), call("b"), OUTPUT, thought(3), SAY, ASK],
            {"illegal_starts": frozenset({2, 3, 4, 7})},
        ),
        ([ASK, thought(), ASK], {}),
        (
            [ASK, thought(), SEARCH, {"type": "hologram"}, ASK],
            {"illegal_starts": frozenset({2, 3}), "frozen": frozenset({1, 2, 3})},
        ),
        ([ASK, {"type": "hologram"}], {"frozen": frozenset({1})}),
        ([{"role": "user", "content": '"reasoning"'}, SAY], {}),
    ],
)
def test_a_request_says_what_it_forbids(items: list[Json], limits: Json) -> None:
    """A tail begins in front of reasoning, not between it and what it led to."""
    wanted = {f: limits.get(f, getattr(FREE, f)) for f in ("frozen", "illegal_starts")}
    found = request(*items).constraints

    assert (found.frozen, found.illegal_starts) == (wanted["frozen"], wanted["illegal_starts"])
    assert found.open_loop_start == limits.get("open_loop_start")
    assert (found.results_must_follow, found.neighbours_are_one_turn) == (False, True)
    assert found.hands_off == ""


@pytest.mark.parametrize(
    ("items", "more", "field"),
    [
        ([ASK], {"previous_response_id": "resp_1"}, "previous_response_id"),
        ([ASK], {"conversation": {"id": "conv_1"}}, "conversation"),
        ([ASK], {"background": True}, "background"),
        ([{"type": "item_reference", "id": "fc_1"}, OUTPUT, ASK], {}, "item_reference"),
    ],
)
def test_what_lies_on_the_server_is_left_alone(items: list[Json], more: Json, field: str) -> None:
    """Whatever the limit, and however broken it looks from here."""
    found = request(*items, **more)
    session = Session(Policy(limit_tokens=1), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(found.body)))

    assert field in found.constraints.hands_off
    assert rewrite.body is found.body
    assert (rewrite.outcome.status, field in rewrite.outcome.reason) == ("unmet", True)


def test_nulls_and_words_are_no_server_state() -> None:
    """Only what is there counts."""
    words = {"role": "user", "content": '"item_reference"'}
    more = {"previous_response_id": None, "conversation": None, "background": False}

    assert (
        request(words, {"type": "hologram", "x": "item_reference"}, **more).constraints.hands_off
        == ""
    )


@pytest.mark.parametrize(
    ("more", "concerns"),
    [
        (
            {"context_management": [{"type": "compaction", "compact_threshold": 1000}]},
            {"compaction"},
        ),
        ({"context_management": [{"type": "other"}, 5]}, set()),
        ({"context_management": None, "truncation": "auto"}, set()),
    ],
)
def test_the_providers_own_management_switches_ours_off(more: Json, concerns: set[str]) -> None:
    """For that concern alone; what the server cuts blindly is no management."""
    assert request(ASK, **more).manners.left_to_client == concerns


# ------------------------------------------------------------ what a cut entails


def completed(found: Request, *edits: Edit) -> tuple[list[Json], Plan]:
    """What is sent under a plan once the format has completed it."""
    plan = FORMAT.complete(found, Plan(edits), headers_settable=False)
    assert isinstance(plan, Plan)
    return sent(write(found, plan)), plan


def test_reasoning_goes_with_what_it_led_to() -> None:
    """All of it, where it is in several items; what led to something that stays is left alone."""
    found = request(ASK, thought(), thought(2), call(), OUTPUT, thought(3), said(), ASK)

    left, _ = completed(found, Drop(Ref(3), ""), Drop(Ref(4), ""))

    assert left == [ASK, thought(3), said(), ASK]


def test_reasoning_comes_back_where_something_stays_that_it_led_to() -> None:
    """A unit is kept whole, and what was made stands in front of it."""
    found = request(ASK, SAY, thought(), said(), said(2), ASK)
    marker = Message.user("[gone]", origin="marker")

    left, _ = completed(found, Fold((Ref(2), Ref(3)), 2, marker, ""))
    right, _ = completed(found, Fold((Ref(1), Ref(2)), 1, marker, ""))
    third, _ = completed(found, Drop(Ref(2), ""), Keep(Ref(4), ""))
    fourth, _ = completed(found, Fold((Ref(1), Ref(3)), 3, marker, ""))

    made = {"role": "user", "content": "[gone]"}
    assert left == third == [ASK, SAY, thought(), said(), said(2), ASK]
    assert right == fourth == [ASK, made, thought(), said(), said(2), ASK]


def test_reasoning_that_came_alone_is_left_as_it_came() -> None:
    """It was broken before; an edit elsewhere does not make it worse."""
    found = request(ASK, thought(), ASK, SAY, ASK)

    left, _ = completed(found, Drop(Ref(3), ""))

    assert left == [ASK, thought(), ASK, ASK]


def test_an_item_whose_turn_loses_its_reasoning_goes_on_without_its_id() -> None:
    """The provider finds missing reasoning by the id; all other bytes stay."""
    items = [
        ASK,
        thought(),
        call(id="fc_1"),
        OUTPUT,
        call("b", id="fc_2"),
        {**OUTPUT, "call_id": "b"},
    ]
    gone = tuple(Drop(Ref(place), "") for place in (1, 2, 3))

    left, plan = completed(request(*items), *gone)
    kept, _ = completed(request(*items, reasoning={"effort": "none"}), *gone)

    assert left == [ASK, call("b"), {**OUTPUT, "call_id": "b"}]
    assert kept == [ASK, items[4], items[5]]
    assert check(dumped({"model": "gpt-5.6", "input": left}), NAME) == ()
    assert [edit.reason for edit in plan][-1] == "its reasoning was removed, so its id goes too"


def test_an_id_that_lacked_reasoning_before_is_left_alone() -> None:
    """What was taken so before is taken so again."""
    items = [ASK, said(), ASK, thought(), said(2), ASK]

    left, _ = completed(request(*items), Drop(Ref(2), ""))

    assert left == [ASK, said(), thought(), said(2), ASK]


NO_RESULT = "[trimtab: no result of this call was recorded; it may not have run]"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (call(), {**OUTPUT, "output": f"Error: {NO_RESULT}"}),
        (
            {"type": "custom_tool_call", "call_id": "a", "name": "p", "input": ""},
            {"type": "custom_tool_call_output", "call_id": "a", "output": NO_RESULT},
        ),
        (
            {"type": "apply_patch_call", "call_id": "a", "operation": {}},
            {
                "type": "apply_patch_call_output",
                "call_id": "a",
                "status": "failed",
                "output": NO_RESULT,
            },
        ),
        (
            {"type": "shell_call", "call_id": "a", "action": {}},
            {
                "type": "shell_call_output",
                "call_id": "a",
                "output": [
                    {
                        "stdout": "",
                        "stderr": NO_RESULT,
                        "outcome": {"type": "exit", "exit_code": 1},
                    }
                ],
            },
        ),
        (
            {"type": "tool_search_call", "call_id": "a", "arguments": {}},
            {"type": "tool_search_output", "call_id": "a", "tools": []},
        ),
        ({"type": "computer_call", "call_id": "a", "action": {}}, None),
    ],
)
def test_a_call_that_was_never_answered_is_answered_in_its_kind(
    asked: Json, answered: Json | None
) -> None:
    """The same way on each turn; what a screen showed nobody can make up."""
    engine = Engine(Policy(limit_tokens=10_000), in_memory(), CharTokenCounter()).sync
    bodies = [
        request(ASK, thought(), asked, ASK).body,
        request(ASK, thought(), asked, ASK, SAY, ASK).body,
    ]
    found = []
    for body in bodies:
        rewrite = engine.rewrite(Call(body))
        engine.forwarded(rewrite.ticket)
        found.append(sent(rewrite.body))

    made = [] if answered is None else [answered]
    assert found[0] == [ASK, thought(), asked, *made, ASK]
    assert found[1] == [*found[0], SAY, ASK]
    if answered is not None:
        assert check(dumped({"model": "m", "input": found[1]}), NAME) == ()


def test_a_call_that_is_still_being_run_waits() -> None:
    """The very last calls may lack their outputs; later they are answered, not before."""
    waiting, gone_on = request(ASK, call(), call("b")), request(ASK, call(), call("b"), ASK)
    session = Session(Policy(limit_tokens=10_000), CharTokenCounter())

    first, second = (session.rewrite(session.read(Call(r.body))) for r in (waiting, gone_on))

    assert first.body is waiting.body
    assert [item.get("call_id") for item in sent(second.body)] == [None, "a", "b", "a", "b", None]


# ----------------------------------------------------------------- whole turns


@pytest.mark.parametrize("limit", [60, 90, 120, 200, 400])
def test_no_limit_parts_an_output_from_its_call(limit: int) -> None:
    """Each output has its call before it, and the other way round."""
    found = request(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        *(
            item
            for n in range(6)
            for item in (thought(n), call(f"c{n}", id=f"fc_{n}"), {**OUTPUT, "call_id": f"c{n}"})
        ),
        said(),
        ASK,
        store=False,
    )
    session = Session(Policy(limit_tokens=limit), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(found.body)))

    assert check(rewrite.body, NAME) == ()
    assert rewrite.outcome.fits or rewrite.outcome.needed_tokens > limit
    items = sent(rewrite.body)
    assert {i["call_id"] for i in items if i.get("type") == "function_call"} == {
        i["call_id"] for i in items if i.get("type") == "function_call_output"
    }
    for item in items:
        if str(item.get("id")).startswith("fc_"):
            assert items[items.index(item) - 1]["id"] == f"rs_{item['call_id'][1:]}"


def test_payloads_are_not_counted_as_words() -> None:
    """A picture and a document of 400,000 characters each cost what their formulas say."""
    data = "A" * 400_000
    parts = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{data}",
        },
    ]
    session = Session(Policy(limit_tokens=10**9), CharTokenCounter())

    turn = session.read(Call(request({"role": "user", "content": parts}).body))

    assert session.weigh(turn).total_tokens < 20_000


def test_a_program_that_holds_items_is_served() -> None:
    """The format is told from the items; what no edit names is the object that was given."""
    items = [ASK]
    context = Context("gpt-5.2", Policy(limit_tokens=160), counter=CharTokenCounter())
    for number in range(8):
        output = {**OUTPUT, "call_id": f"c{number}", "output": "line\n" * 20}
        items += [thought(number), call(f"c{number}"), output]

        view = context.fit(items, instructions="be brief")

        sent_body = {"model": "gpt-5.2", "input": view.messages, **view.parameters}
        assert check(dumped(sent_body), NAME) == ()
        assert view.outcome.fits
        assert view.messages[0] is ASK
        assert number < 7 or len(view.messages) < len(items)
