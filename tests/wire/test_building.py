"""Messages to bodies and back: words, calls, ids and digits survive every way between the formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS
from tests.wire.json_texts import DIGITS_5000
from tests.wire.rich_bodies import PDF, PIXEL
from trimtab import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from trimtab.errors import UnknownFormatError
from trimtab.messages import Part, Surface, Tool
from trimtab.wire import build, check, read

CALL = ToolCall("a", "ls", '{"dir":"/"}')
OK = ToolResult("a", (Text("ok"),))
LS = Tool("ls", '{"name":"ls","input_schema":{"type":"object"}}', "", '{"type":"object"}')
PNG = Media("image", "image/png", PIXEL, width=1, height=1)
URL = Media("image", location="https://x.test/a.png")
PAGES = Media("document", "application/pdf", PDF, pages=2)


def anthropic(*messages: Message, **more: Any) -> Any:
    """The messages of a body that was built for Anthropic, decoded."""
    return json.loads(build(messages, "anthropic", **more))["messages"]


def chat(*messages: Message, **more: Any) -> Any:
    """The messages of a body that was built for OpenAI, decoded."""
    return json.loads(build(messages, "openai-chat", **more))["messages"]


# ------------------------------------------------------------ both directions

BOTH_WAYS: dict[str, list[tuple[Message, str]]] = {
    "anthropic": [
        (Message.user("hi\n"), '{"role":"user","content":[{"type":"text","text":"hi\\n"}]}'),
        (
            Message.assistant("é", "b"),
            '{"role":"assistant","content":[{"type":"text","text":"é"},{"type":"text","text":"b"}]}',
        ),
        (
            Message.assistant(Thinking("hm", "c2ln"), Thinking("", "b3A=", is_redacted=True), CALL),
            (
                '{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},'
                '{"type":"redacted_thinking","data":"b3A="},'
                '{"type":"tool_use","id":"a","name":"ls","input":{"dir":"/"}}]}'
            ),
        ),
        (
            Message("user", (ToolResult("a", (Text("x"), URL), is_error=True), Text("go"))),
            (
                '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":['
                '{"type":"text","text":"x"},{"type":"image","source":{"type":"url",'
                '"url":"https://x.test/a.png"}}],"is_error":true},{"type":"text","text":"go"}]}'
            ),
        ),
        (
            Message("user", (ToolResult("a", ()),)),
            '{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}',
        ),
        (
            Message.user(PNG, PAGES, Media("document", location="file_1")),
            (
                '{"role":"user","content":[{"type":"image","source":{"type":"base64",'
                f'"media_type":"image/png","data":"{PIXEL}"}}}},'
                '{"type":"document","source":{"type":"base64",'
                f'"media_type":"application/pdf","data":"{PDF}"}}}},'
                '{"type":"document","source":{"type":"file","file_id":"file_1"}}]}'
            ),
        ),
    ],
    "openai-chat": [
        (Message.system("s"), '{"role":"system","content":"s"}'),
        (Message("developer", (Text("d"),)), '{"role":"developer","content":"d"}'),
        (Message.user("hi\n"), '{"role":"user","content":"hi\\n"}'),
        (
            Message.user("a", "b"),
            '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
        ),
        (Message.assistant("é"), '{"role":"assistant","content":"é"}'),
        (
            Message.assistant("look", CALL, ToolCall("b", "ls", "{}")),
            (
                '{"role":"assistant","content":"look","tool_calls":[{"id":"a","type":"function",'
                '"function":{"name":"ls","arguments":"{\\"dir\\":\\"/\\"}"}},{"id":"b","type":"function",'
                '"function":{"name":"ls","arguments":"{}"}}]}'
            ),
        ),
        (
            Message.assistant(CALL),
            (
                '{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function",'
                '"function":{"name":"ls","arguments":"{\\"dir\\":\\"/\\"}"}}]}'
            ),
        ),
        (Message.tool("a", "ok"), '{"role":"tool","tool_call_id":"a","content":"ok"}'),
        (
            Message.user(
                "see", Media("image", "image/png", PIXEL, detail="low", width=1, height=1), URL
            ),
            (
                '{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":'
                f'{{"url":"data:image/png;base64,{PIXEL}","detail":"low"}}}},'
                '{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}'
            ),
        ),
        (
            Message.user(
                "hear",
                Media("audio", "audio/mp3", "UklG"),
                Media("document", "application/pdf", PDF),
            ),
            (
                '{"role":"user","content":[{"type":"text","text":"hear"},'
                '{"type":"input_audio","input_audio":{"data":"UklG","format":"mp3"}},'
                '{"type":"file","file":{"file_data":'
                f'"data:application/pdf;base64,{PDF}","filename":"document"}}}}]}}'
            ),
        ),
    ],
}


@pytest.mark.parametrize(
    ("format", "message", "written"),
    [pytest.param(format, *row) for format, rows in BOTH_WAYS.items() for row in rows],  # noqa: A001 - the word for it
)
def test_a_message_is_built_and_read_back(format: str, message: Message, written: str) -> None:  # noqa: A002 - the word for it
    """What has a place in a format stands there exactly so, and is the same when it is read."""
    surface = Surface("m", tools=(LS,))

    body = build([message], format, surface=surface)

    assert body.decode().partition('"messages":[')[2].startswith(written + "]")
    assert read(body, format).messages == (message,)


@pytest.mark.parametrize(
    ("format", "body"),
    [
        ("anthropic", b'{"model":"","max_tokens":4096,"messages":[]}'),
        ("openai-chat", b'{"model":"","max_completion_tokens":4096,"messages":[]}'),
    ],
)
def test_nothing_makes_an_empty_body(format: str, body: bytes) -> None:  # noqa: A002 - the word for it
    """Model and room for the answer are always there."""
    assert build([], format) == body


@pytest.mark.parametrize(
    ("format", "body"),
    [
        (
            "anthropic",
            (
                b'{"model":"m","max_tokens":9,"system":[{"type":"text","text":"be brief"}],'
                b'"tools":[{"name":"ls","input_schema":{"type":"object"}}],'
                b'"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}'
            ),
        ),
        (
            "openai-chat",
            (
                b'{"model":"m","max_completion_tokens":9,"messages":[{"role":"system","content":"be brief"},'
                b'{"role":"user","content":"hi"}],"tools":[{"type":"function","function":'
                b'{"name":"ls","parameters":{"type":"object"}}}]}'
            ),
        ),
    ],
)
def test_the_envelope_is_built(format: str, body: bytes) -> None:  # noqa: A002 - the word for it
    """Model, system prompt, tools and room for the answer stand where the format has them."""
    surface = Surface("m", (Text("be brief"),), (LS,))

    assert build([Message.user("hi")], format, surface=surface, max_tokens=9) == body


def test_an_unknown_format_is_an_error() -> None:
    """The name has to be right."""
    with pytest.raises(UnknownFormatError, match="no format 'x'"):
        build([], "x")


# -------------------------------------------------------------------- one way


@pytest.mark.parametrize(
    ("messages", "built"),
    [
        # roles alternate: what stands in a row is one message
        (
            [Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d")],
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "c"}, {"type": "text", "text": "d"}],
                },
            ],
        ),
        # results of an exchange are one user message, and stand first in it
        (
            [
                Message.assistant(CALL, ToolCall("b", "ls", "{}")),
                Message.tool("b", "2"),
                Message.user("go on"),
                Message.tool("a", "1", is_error=True),
            ],
            [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "tool_use", "id": "a", "name": "ls", "input": {"dir": "/"}},
                        {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "b",
                            "content": [{"type": "text", "text": "2"}],
                        },
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [{"type": "text", "text": "1"}],
                            "is_error": True,
                        },
                        {"type": "text", "text": "go on"},
                    ],
                },
            ],
        ),
        # a later system message has no place of its own on every model
        (
            [Message.user("a"), Message.system("s"), Message.assistant("b")],
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "s"}],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
            ],
        ),
        # blank texts and unsigned thinking go, and messages with nothing else
        (
            [
                Message.user("a", "", " \n"),
                Message.assistant(Thinking("hm"), ""),
                Message.user("b"),
                Message.assistant(Thinking("hm"), "c"),
            ],
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                },
                {"role": "assistant", "content": [{"type": "text", "text": "c"}]},
            ],
        ),
        (
            [Message("tool", (ToolResult("a", (Text(""), Text(" "))),))],
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}],
        ),
        # what has no place says so
        (
            [
                Message.user(Media("audio", "audio/mp3", "UklG"), Media("file", location="file-1")),
                Message("tool", (ToolResult("a", (Opaque("x", '{"n":1.50}'), PNG)),)),
                Message.user(Opaque("x", '{"n":1.50}')),
            ],
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [
                                {"type": "text", "text": '{"n":1.50}'},
                                {
                                    "type": "image",
                                    "source": {
                                        "type": "base64",
                                        "media_type": "image/png",
                                        "data": PIXEL,
                                    },
                                },
                            ],
                        },
                        {"type": "text", "text": "[audio/mp3 that cannot be sent here]"},
                        {"type": "text", "text": "[file that cannot be sent here]"},
                        {"type": "text", "text": '{"n":1.50}'},
                    ],
                }
            ],
        ),
    ],
)
def test_anthropic_gets_what_it_demands(messages: list[Message], built: list[Any]) -> None:
    """Roles alternate, results come first, nothing is blank, and what has no place says so."""
    assert anthropic(*messages) == built


def test_leading_instructions_become_the_system_prompt() -> None:
    """System and developer messages in front join what the envelope has."""
    messages = [
        Message.system("a"),
        Message("developer", (Text("b"), Text(" "))),
        Message.user("hi"),
    ]

    body = json.loads(build(messages, "anthropic", surface=Surface("m", (Text("first"),))))

    assert body["system"] == [{"type": "text", "text": text} for text in ("first", "a", "b")]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


@pytest.mark.parametrize(
    ("messages", "built"),
    [
        # results take a message each, words in the same message stand behind them
        (
            [
                Message(
                    "user",
                    (ToolResult("a", (Text("1"), Text("2"))), ToolResult("b", ()), Text("go")),
                )
            ],
            [
                {"role": "tool", "tool_call_id": "a", "content": "1\n2"},
                {"role": "tool", "tool_call_id": "b", "content": ""},
                {"role": "user", "content": "go"},
            ],
        ),
        # a failure is told in words
        (
            [Message.tool("a", "no such file", is_error=True)],
            [{"role": "tool", "tool_call_id": "a", "content": "Error: no such file"}],
        ),
        # words of an answer are one text, reasoning goes
        (
            [Message.assistant(Thinking("hm", "c2ln"), "a", "", "b")],
            [{"role": "assistant", "content": "a\n\nb"}],
        ),
        ([Message.assistant(Thinking("hm", "c2ln"))], [{"role": "assistant", "content": ""}]),
        ([Message.user(""), Message.user("a")], [{"role": "user", "content": "a"}]),
        ([Message.user(Thinking("hm"), "a")], [{"role": "user", "content": "a"}]),
        # what has no place says so
        (
            [
                Message.assistant("a", Opaque("compaction", '{"type":"compaction"}'), URL),
                Message.user(
                    Opaque("x", "{}"),
                    Media("image", location="file_1"),
                    Media("document", location="https://x.test/a.pdf"),
                    Media("audio", location="file-2"),
                ),
                Message("tool", (ToolResult("a", (Opaque("x", '{"n":1.50}'), Text("r"))),)),
            ],
            [
                {
                    "role": "assistant",
                    "content": 'a\n\n{"type":"compaction"}\n\n[image that cannot be sent here]',
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "{}"},
                        {"type": "text", "text": "[image at file_1]"},
                        {"type": "text", "text": "[document at https://x.test/a.pdf]"},
                        {"type": "text", "text": "[audio at file-2]"},
                    ],
                },
                {"role": "tool", "tool_call_id": "a", "content": '{"n":1.50}\nr'},
            ],
        ),
    ],
)
def test_chat_gets_what_it_demands(messages: list[Message], built: list[Any]) -> None:
    """A result takes a message of its own, an answer is one text, and what has no place says so."""
    assert chat(*messages) == built


# ----------------------------------------------------------- media in results

_BEHIND = "[image: see the message behind the tool results]"
_PNG_PART = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
_URL_PART = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}


def _label(call_id: str) -> dict[str, str]:
    return {"type": "text", "text": f"[image from the result of tool call {call_id}]"}


@pytest.mark.parametrize(
    "messages",
    [
        # Anthropic's way: all results in one message
        [
            Message(
                "user",
                (
                    ToolResult("a", (Text("x"), PNG)),
                    ToolResult("b", (URL, URL)),
                    ToolResult("c", (Text("y"),)),
                ),
            )
        ],
        # OpenAI's way: a message each
        [
            Message("tool", (ToolResult("a", (Text("x"), PNG)),)),
            Message("tool", (ToolResult("b", (URL, URL)),)),
            Message("tool", (ToolResult("c", (Text("y"),)),)),
        ],
    ],
)
@pytest.mark.parametrize(
    "following",
    [
        [],
        [(Message.assistant("done"), {"role": "assistant", "content": "done"})],
        [(Message.user("thanks"), {"role": "user", "content": "thanks"})],
        [(Message.system("s"), {"role": "system", "content": "s"})],
    ],
)
def test_media_move_behind_all_results(
    messages: list[Message], following: list[tuple[Message, Any]]
) -> None:
    """No tool message may be parted from its siblings; a label names the call of each picture."""
    built = chat(*messages, *(message for message, _ in following))

    assert built == [
        {"role": "tool", "tool_call_id": "a", "content": f"x\n{_BEHIND}"},
        {"role": "tool", "tool_call_id": "b", "content": f"{_BEHIND}\n{_BEHIND}"},
        {"role": "tool", "tool_call_id": "c", "content": "y"},
        {
            "role": "user",
            "content": [_label("a"), _PNG_PART, _label("b"), _URL_PART, _label("b"), _URL_PART],
        },
        *(encoded for _, encoded in following),
    ]


def test_moved_media_stand_in_front_of_words_of_the_same_message() -> None:
    """What the user said beside the results comes last."""
    assert chat(Message("user", (ToolResult("a", (URL,)), Text("go")))) == [
        {"role": "tool", "tool_call_id": "a", "content": _BEHIND},
        {"role": "user", "content": [_label("a"), _URL_PART, {"type": "text", "text": "go"}]},
    ]


def test_as_many_pictures_come_back() -> None:
    """On the way to Chat and back to Anthropic no picture is lost or doubled."""
    messages = [
        Message.user("look", PNG),
        Message.assistant(CALL, ToolCall("b", "ls", "{}")),
        Message(
            "user", (ToolResult("a", (Text("x"), PNG)), ToolResult("b", (URL, URL)), Text("go"))
        ),
    ]

    there = read(build(messages, "openai-chat"))
    back = read(build(there.messages, "anthropic"))

    pictures = [
        part for message in back.messages for part in message.parts if isinstance(part, Media)
    ]
    assert pictures == [PNG, PNG, URL, URL]


# ------------------------------------------------------------------ arguments

DIGITS = [
    '{"id":4611686018427387905}',
    f'{{"n":{DIGITS_5000}}}',
    '{"n":1E400,"m":-1e-400}',
    '{"n":-0.0,"m":-0}',
    '{"n":0.1000000000000000055511151231257827}',
    '{ "n" : 1.50 , "a\\u0062":"\\ud83d\\ude00" }',
    '{"s":"\\ud800"}',
    '{"n":1,"n":2}',
    "{}",
]


@pytest.mark.parametrize("arguments", DIGITS)
@pytest.mark.parametrize("way", [("anthropic", "openai-chat"), ("openai-chat", "anthropic")])
def test_digits_survive_every_way(way: tuple[str, str], arguments: str) -> None:
    """Arguments are text: there and back they are the same, letter for letter."""
    messages: tuple[Message, ...] = (
        Message.user("x"),
        Message.assistant(ToolCall("a", "f", arguments)),
    )

    for format in (*way, way[0]):  # noqa: A001 - the word for it
        messages = read(build(messages, format), format).messages

    assert messages[1].parts == (ToolCall("a", "f", arguments),)


@pytest.mark.parametrize(
    ("arguments", "input_json", "text"),
    [
        ("", "{}", "{}"),
        (" \n", "{}", "{}"),
        ("null", "{}", "null"),
        (' {"a":1}\n', '{"a":1}', '{"a":1}'),
        ("[1.50]", '{"value":[1.50]}', "[1.50]"),
        ('"free"', '{"value":"free"}', '"free"'),
        ("5", '{"value":5}', "5"),
        ("ls -la", '{"text":"ls -la"}', "ls -la"),
        ('{"a":', '{"text":"{\\"a\\":"}', '{"a":'),
        ('{"a":NaN}', '{"text":"{\\"a\\":NaN}"}', '{"a":NaN}'),
        ('{"a":"\ud800"}', '{"a":"\\ud800"}', '{"a":"\ud800"}'),
        ("\ud800", '{"text":"\\ud800"}', "\ud800"),
    ],
)
def test_arguments_that_are_no_object_become_one(
    arguments: str, input_json: str, text: str
) -> None:
    """Anthropic takes objects alone; Chat takes any text but none."""
    messages = [Message.assistant(ToolCall("a", "f", arguments))]

    assert f'"input":{input_json}}}' in build(messages, "anthropic").decode()
    (call,) = chat(*messages)[0]["tool_calls"]
    assert call["function"] == {"name": "f", "arguments": text}


def test_arguments_that_a_client_sends_as_an_object_keep_their_digits() -> None:
    """Some clients of Chat send no text but the object itself."""
    body = (
        b'{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","function":'
        b'{"name":"f","arguments":{"n" : 1E400,"id":4611686018427387905}}}]}]}'
    )

    built = build(read(body, "openai-chat").messages, "anthropic")

    assert b'"input":{"n" : 1E400,"id":4611686018427387905}}' in built


# ---------------------------------------------------------------------- tools

ANTHROPIC_TOOL = (
    '{"name":"ls","description":"list","input_schema":{"type":"object","maximum":1E400}}'
)
CHAT_TOOL = (
    '{"type":"function","function":{"name":"ls","description":"list",'
    '"parameters":{"type":"object","maximum":1E400}}}'
)


def _tools(format: str, tool: str) -> bytes:  # noqa: A002 - the word for it
    """The tools of a body in the other format, built from a body of this one."""
    body = f'{{"model":"m","tools":[{tool}],"messages":[{{"role":"user","content":"x"}}]}}'
    request = read(body.encode(), format)
    other = FORMATS[1 - FORMATS.index(format)]
    return read(build(request.messages, other, surface=request.surface), other).members["tools"]


@pytest.mark.parametrize(
    ("format", "tool", "converted"),
    [
        ("anthropic", ANTHROPIC_TOOL, CHAT_TOOL),
        ("openai-chat", CHAT_TOOL, ANTHROPIC_TOOL),
        (
            "anthropic",
            '{"name":"ls","input_schema":{"properties":{"function":{}}}}',
            '{"type":"function","function":{"name":"ls","parameters":{"properties":{"function":{}}}}}',
        ),
        (
            "openai-chat",
            '{"type":"function","function":{"name":"ls","parameters":{"properties":{"input_schema":{}}}}}',
            '{"name":"ls","input_schema":{"properties":{"input_schema":{}}}}',
        ),
        (
            "openai-chat",
            '{"type":"function","function":{"name":"ls"}}',
            '{"name":"ls","input_schema":{"type":"object"}}',
        ),
        (
            "openai-chat",
            '{"type":"custom","custom":{"name":"sh"}}',
            '{"name":"custom","input_schema":{"type":"object"}}',
        ),
        (
            "anthropic",
            '{"type":"web_search_20250305","name":"web_search"}',
            '{"type":"function","function":{"name":"web_search","parameters":{"type":"object"}}}',
        ),
        (
            "anthropic",
            '{"name":"ls","description":"\\ud800","input_schema":{"a":"\\ud800"}}',
            (
                '{"type":"function","function":{"name":"ls","description":"\\ud800",'
                '"parameters":{"a":"\\ud800"}}}'
            ),
        ),
    ],
)
def test_a_tool_is_converted(format: str, tool: str, converted: str) -> None:  # noqa: A002 - the word for it
    """Name, description and schema stand where the other format has them, digits as they were."""
    assert _tools(format, tool).decode() == f"[{converted}]"


@pytest.mark.parametrize(
    ("format", "tool"),
    [
        ("anthropic", ANTHROPIC_TOOL),
        ("anthropic", '{"type":"web_search_20250305", "name":"web_search","max_uses":1.0}'),
        ("openai-chat", CHAT_TOOL),
        ("openai-chat", '{"type":"custom", "custom":{"name":"sh"}}'),
    ],
)
def test_a_tool_of_the_same_format_keeps_its_bytes(format: str, tool: str) -> None:  # noqa: A002 - the word for it
    """Definitions go out as they came, the provider's own ones too."""
    body = f'{{"model":"m","tools":[{tool}],"messages":[{{"role":"user","content":"x"}}]}}'
    request = read(body.encode(), format)

    built = read(build(request.messages, format, surface=request.surface), format)

    assert built.members["tools"].decode() == f"[{tool}]"


def test_a_legacy_function_becomes_a_tool() -> None:
    """What an old client offers under another key is offered where servers look today."""
    request = read(b'{"model":"m","functions":[{"name":"f","parameters":{"a":1.0}}],"messages":[]}')

    built = read(build(request.messages, "openai-chat", surface=request.surface))

    assert built.members["tools"] == (
        b'[{"type":"function","function":{"name":"f","parameters":{"a":1.0}}}]'
    )


@pytest.mark.parametrize(
    ("format", "tools"),
    [
        (
            "anthropic",
            b'[{"name":"ls","input_schema":{"type":"object"}},{"name":"cat","input_schema":{"type":"object"}}]',
        ),
        (
            "openai-chat",
            (
                b'[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}},'
                b'{"type":"function","function":{"name":"cat","parameters":{"type":"object"}}}]'
            ),
        ),
    ],
)
def test_called_tools_get_a_stub_where_none_is_defined(format: str, tools: bytes) -> None:  # noqa: A002 - the word for it
    """A history with calls needs tools, so each that was called is named once."""
    calls = [ToolCall("a", "ls", "{}"), ToolCall("b", "cat", "{}"), ToolCall("c", "ls", "{}")]

    built = read(build([Message.user("x"), Message.assistant(*calls)], format), format)

    assert built.members["tools"] == tools


@pytest.mark.parametrize("format", FORMATS)
def test_defined_tools_are_all_there_are(format: str) -> None:  # noqa: A002 - the word for it
    """Where the request defines tools, none is added, and where nothing is called, none is made up."""
    called = read(build([Message.assistant(CALL)], format, surface=Surface(tools=(LS,))), format)
    silent = read(build([Message.user("x")], format), format)

    assert [tool.name for tool in called.surface.tools] == ["ls"]
    assert silent.surface.tools == ()


# ---------------------------------------------------------------------- always

texts = st.one_of(
    st.text(min_size=1, max_size=6), st.sampled_from([" ", "", "\n", "a\n", "\ud800"])
)
words = texts.filter(lambda text: bool(text.strip()))


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A valid conversation as a library would hold it, blanks and all."""
    messages = [Message.system(draw(words))] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message.user(draw(words), *draw(st.lists(texts, max_size=1))))
        for _ in range(draw(st.integers(0, 2))):
            front: list[Part] = [Text(text) for text in draw(st.lists(texts, max_size=1))]
            calls = [
                ToolCall(
                    f"call_{number + step}",
                    draw(st.sampled_from(["ls", "cat"])),
                    draw(st.sampled_from(DIGITS)),
                )
                for step in range(draw(st.integers(1, 3)))
            ]
            number += len(calls)
            messages.append(Message("assistant", [Thinking("hm"), *front, *calls]))
            results = [
                ToolResult(
                    call.id,
                    tuple(draw(st.lists(st.one_of(texts.map(Text), st.just(PNG)), max_size=2))),
                )
                for call in draw(st.permutations(calls))
            ]
            if draw(st.booleans()):
                messages.append(Message("user", results))
            else:
                messages += [Message("tool", [result]) for result in results]
        messages.append(Message.assistant(draw(words)))
    return [*messages, Message.user(draw(words))]


@pytest.mark.parametrize("format", FORMATS)
@given(messages=conversations())
def test_what_is_built_is_accepted(format: str, messages: list[Message]) -> None:  # noqa: A002 - the word for it
    """A valid conversation makes a valid body, and the format is told from it."""
    body = build(
        messages, format, surface=Surface("claude-x" if format == "anthropic" else "gpt-x")
    )

    assert check(body, format) == ()
    assert read(body).format.name == format


def _said(
    messages: list[Message] | tuple[Message, ...],
) -> tuple[str, list[ToolCall], list[tuple[str, str]]]:
    """All words, all calls, and the words of all results, in order."""
    parts = [part for message in messages for part in message.parts]
    return (
        "".join("".join(part.text.split()) for part in parts if isinstance(part, Text)),
        [part for part in parts if isinstance(part, ToolCall)],
        [(p.call_id, "".join(p.text.split())) for p in parts if isinstance(p, ToolResult)],
    )


@pytest.mark.parametrize("ways", [("anthropic", "openai-chat"), ("openai-chat", "anthropic")])
@given(messages=conversations().map(lambda made: [_without_media(message) for message in made]))
def test_nothing_that_was_said_is_lost(ways: tuple[str, str], messages: list[Message]) -> None:
    """There and back, words, calls with their ids and digits, and results are all there."""
    surface = Surface("m")
    told: tuple[Message, ...] = tuple(messages)
    for format in (*ways, ways[0]):  # noqa: A001 - the word for it
        request = read(build(told, format, surface=surface), format)
        told, surface = request.messages, request.surface

    front = [Message("system", surface.system)] if surface.system else []
    assert _said([*front, *told]) == _said(messages)


def _without_media(message: Message) -> Message:
    return message.with_parts(
        ToolResult(part.call_id, tuple(block for block in part.content if isinstance(block, Text)))
        if isinstance(part, ToolResult)
        else part
        for part in message.parts
    )
