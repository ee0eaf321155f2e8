"""Bodies to requests: which format, where each message lies, and that nothing inside can raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS, bodies
from tests.wire.json_texts import Composed, arrays, objects
from tests.wire.rich_bodies import RICH, dumped, mutated
from trimtab import Media, Message, Opaque, Text, ToolResult
from trimtab.errors import MalformedBodyError, RequestError, UnknownFormatError
from trimtab.wire import FORMATS as KNOWN
from trimtab.wire import Request, check, format_named, read
from trimtab.wire.reading import _read_fast, _read_slowly

HI = {"role": "user", "content": "hi"}

WITH_CONTENT = ("anthropic", "openai-chat")
"""Formats whose messages have ``content``; what is theirs alone is tried on their own bodies."""


# ------------------------------------------------------------------ detection


@pytest.mark.parametrize(
    ("body", "format"),
    [
        # minimal
        ({"messages": [HI]}, "openai-chat"),
        ({"messages": []}, "openai-chat"),
        ({"model": "gpt-5.6", "messages": [HI]}, "openai-chat"),
        ({"model": "llama3", "messages": [HI], "stream": False}, "openai-chat"),
        ({"model": "gpt-5.6", "max_tokens": 9, "messages": [HI]}, "openai-chat"),
        ({"model": "claude-opus-5", "max_tokens": 9, "messages": [HI]}, "anthropic"),
        ({"model": "anthropic/claude-opus-4.6", "messages": [HI]}, "anthropic"),
        # a key that no other format has
        ({"contents": [{"parts": [{"text": "hi"}]}]}, "gemini"),
        ({"contents": [], "tools": [{"functionDeclarations": []}]}, "gemini"),
        # the envelope says it
        ({"model": "x", "system": "s", "messages": [HI]}, "anthropic"),
        (
            {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [HI]},
            "anthropic",
        ),
        (
            {"model": "glm-4.6", "messages": [HI], "tools": [{"name": "a", "input_schema": {}}]},
            "anthropic",
        ),
        (
            {
                "model": "glm-4.6",
                "messages": [HI],
                "tools": [{"type": "function", "function": {"name": "a"}}],
            },
            "openai-chat",
        ),
        ({"model": "claude-opus-5", "max_completion_tokens": 9, "messages": [HI]}, "openai-chat"),
        # Claude models behind a router that speaks Chat
        (
            {
                "model": "anthropic/claude-opus-4.6",
                "messages": [{"role": "system", "content": "s"}],
            },
            "openai-chat",
        ),
        (
            {"model": "claude-opus-5", "messages": [{"role": "developer", "content": "s"}, HI]},
            "openai-chat",
        ),
        (
            {
                "model": "claude-opus-5",
                "messages": [HI, {"role": "tool", "content": "r"}],
            },
            "openai-chat",
        ),
        (
            {
                "model": "claude-opus-5",
                "messages": [HI, {"role": "assistant", "tool_calls": [{"id": "a"}]}],
            },
            "openai-chat",
        ),
        (
            {
                "model": "claude-opus-5",
                "messages": [
                    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}
                ],
            },
            "openai-chat",
        ),
        # other models behind Anthropic's API
        (
            {
                "model": "kimi-k2",
                "messages": [
                    HI,
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {}}],
                    },
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
                ],
            },
            "anthropic",
        ),
        (
            {
                "messages": [
                    {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}
                ]
            },
            "anthropic",
        ),
        # words that only look like it
        (
            {"model": "gpt-5.6", "messages": [{"role": "user", "content": "tool_use"}]},
            "openai-chat",
        ),
        (
            {"model": "gpt-5.6", "messages": [{"role": "user", "content": '"tool_use_id":"a"'}]},
            "openai-chat",
        ),
        (
            {"model": "claude-opus-5", "messages": [{"role": "user", "content": "image_url"}]},
            "anthropic",
        ),
        (
            {
                "model": "claude-opus-5",
                "messages": [HI],
                "tools": [{"name": "a", "input_schema": {"properties": {"function": {}}}}],
            },
            "anthropic",
        ),
        (
            {
                "model": "claude-opus-5",
                "messages": [HI],
                "tools": [
                    {"type": "function", "function": {"parameters": {"input_schema": "object"}}}
                ],
            },
            "openai-chat",
        ),
        ({"model": "claude-opus-5", "tools": [5], "messages": [HI]}, "anthropic"),
        # everything
        (RICH["anthropic"], "anthropic"),
        (RICH["openai-chat"], "openai-chat"),
    ],
)
def test_the_format_is_told_from_the_content(body: dict[str, Any], format: str) -> None:  # noqa: A002 - the word for it
    """Envelope, blocks and model tell the format; words in a message never do."""
    assert read(dumped(body)).format.name == format


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_real_body_is_told_and_its_name_changes_nothing(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """What a client sends is recognised, and read the same as when the format is named."""
    body = data.draw(bodies(format))

    told, named = read(body), read(body, format)

    assert (told.format, _content(told)) == (named.format, _content(named))


def test_a_named_format_wins() -> None:
    """Whoever knows the format is believed, whatever the body looks like."""
    assert read(dumped(RICH["anthropic"]), "openai-chat").format.name == "openai-chat"


# --------------------------------------------------------------------- errors


_HISTORIES = ", ".join(sorted({wire_format.history_field for wire_format in KNOWN}))
_NO_HISTORY = (
    f"JSON, but no request that is known: there is no list of messages ({_HISTORIES}) "
    "among its keys"
)


@pytest.mark.parametrize(
    ("body", "error", "told"),
    [
        (b"", MalformedBodyError, "empty: there is no JSON in it (at byte 0)"),
        (
            b'\xef\xbb\xbf{"messages":[]}',
            MalformedBodyError,
            "not JSON: it begins with a byte order mark; send UTF-8 without one (at byte 0)",
        ),
        (
            '{"messages":[]}'.encode("utf-16"),
            MalformedBodyError,
            "not JSON: it looks like UTF-16; send UTF-8 (at byte 0)",
        ),
        (
            b"\x1f\x8b\x08\x00",
            MalformedBodyError,
            "not JSON: it is compressed with gzip; undo the content encoding first (at byte 0)",
        ),
        (
            b'{"messages":[{"role":',
            MalformedBodyError,
            "the JSON is cut off: it ends before it is complete (at byte 21)",
        ),
        (
            b'[{"role":"user"}]',
            MalformedBodyError,
            "JSON, but not an object (at byte 0)",
        ),
        (b'{"messages": "hi"}', MalformedBodyError, "'messages' is not a list (at byte 13)"),
        (
            b'{"model":"m","messages":{}}',
            MalformedBodyError,
            "'messages' is not a list (at byte 24)",
        ),
        (
            b'{"instances":[{"parts":[{"text":"hi"}]}]}',
            UnknownFormatError,
            f"{_NO_HISTORY} (instances)",
        ),
        (b'{"contents":{}}', MalformedBodyError, "'contents' is not a list (at byte 12)"),
        (
            b"{}",
            UnknownFormatError,
            f"{_NO_HISTORY} (nothing)",
        ),
    ],
)
def test_what_is_no_request_says_why(body: bytes, error: type[RequestError], told: str) -> None:
    """The error says what it is instead, or what is missing, and where."""
    with pytest.raises(RequestError) as caught:
        read(body)

    assert (type(caught.value), str(caught.value)) == (error, told)


@pytest.mark.parametrize("format", FORMATS)
def test_a_named_format_needs_its_history(format: str) -> None:  # noqa: A002 - the word for it
    """Where the format is named, the error names what that format lacks."""
    field = format_named(format).history_field
    with pytest.raises(UnknownFormatError, match=f"no {format} request: it has no '{field}'"):
        read(b'{"model":"x"}', format)


def test_an_unknown_name_is_told_with_those_that_are_known() -> None:
    """A typo in the name is mended with one look at the message."""
    with pytest.raises(
        UnknownFormatError, match="no format 'gpt'; known are anthropic, openai-chat"
    ):
        read(b'{"messages":[]}', "gpt")


# ----------------------------------------------------------------------- ways


def _content(request: Request) -> tuple[Any, ...]:
    """All that a request says."""
    return (
        request.body,
        request.history_span,
        list(request.spans),
        request.members,
        list(request.outlines),
        request.messages,
        request.surface,
        request.constraints,
    )


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_the_fast_way_reads_what_the_slow_way_reads(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Places, members, outlines and parts are the same by both."""
    body = data.draw(bodies(format))
    wire_format = format_named(format)

    fast = _read_fast(body, wire_format)

    assert fast is not None
    assert _content(fast) == _content(_read_slowly(body, wire_format))


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_damaged_body_is_read_by_neither_or_both(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Where the fast way answers, it answers what the slow way does."""
    body = data.draw(mutated(RICH[format]))
    wire_format = format_named(format)

    fast = _read_fast(body, wire_format)

    assert fast is None or _content(fast) == _content(_read_slowly(body, wire_format))


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_what_msgspec_refuses_is_read_the_slow_way(format: str) -> None:  # noqa: A002 - the word for it
    """A lone surrogate or a NaN anywhere costs speed, and nothing else."""
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud800"}],"x":NaN}'

    request = read(body, format)

    assert _read_fast(body, format_named(format)) is None
    assert request.messages == (Message.user("\ud800"),)


@pytest.mark.parametrize(
    "body",
    [
        b'{"x":{"messages":[]},"messages":[{"role":"user","content":"hi"}],"model":"gpt-x"}',
        b'{"messages":[],"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}',
        b'{"model":"gpt-x","m\\u0065ssages":[{"role":"user","content":"hi"}]}',
        b'{"messages":5,"messages":[{"role":"user","content":"hi"}],"model":"a","model":"gpt-x"}',
        b'{"a\\"messages":[{"role":"user","content":"hi"}],"m\\u0065ssages":[{"role":"user","content":"hi"}],"model":"gpt-x"}',
    ],
)
def test_the_history_that_counts_is_read(body: bytes) -> None:
    """Nested, escaped and repeated keys lead to the list that a provider would see."""
    request = read(body, "openai-chat")
    start, stop = request.spans[0]

    assert (
        request.messages,
        request.members,
        body[:start].count(b'"hi"'),
        body[stop : stop + 1],
    ) == (
        (Message.user("hi"),),
        {"model": b'"gpt-x"'},
        body.count(b'"hi"') - 1,
        b"]",
    )


@st.composite
def _spaced(draw: st.DrawFn) -> tuple[bytes, Composed]:
    """A body with whitespace everywhere, and its list of messages."""
    messages = draw(
        st.lists(st.sampled_from([json.dumps(HI), '{"role" : "user"}', "{}"]), max_size=3)
    )
    history = draw(arrays(messages))
    members = [
        ('"model"', '"gpt-x"'),
        ('"messages"', history.text.decode().strip()),
        ('"x"', "1E400"),
    ]
    body = draw(objects(draw(st.permutations(members))))
    return body.text, history


@given(drawn=_spaced())
def test_messages_keep_their_bytes(drawn: tuple[bytes, Composed]) -> None:
    """Each message is a slice of the body, and the body is the object that came in."""
    body, history = drawn

    request = read(body)

    assert request.body is body
    assert [request.message_bytes(place) for place in range(len(request.spans))] == [
        history.text[low:high] for low, high in history.spans
    ]
    assert body[slice(*request.history_span)] == history.text.strip(b" \t\r\n")


def test_a_request_shows_no_words() -> None:
    """Representations end up in logs."""
    assert repr(read(dumped({"model": "gpt-x", "messages": [HI]}))) == (
        "<Request openai-chat, 1 messages, 67 bytes>"
    )


# ------------------------------------------------------------------ no surprise

KNOWN_OPAQUES = {
    "anthropic": {
        "search_result",
        "server_tool_use",
        "mcp_tool_use",
        "container_upload",
        "web_search_tool_result",
        "image",
        "document",
    },
    "openai-chat": set[str](),
    "openai-responses": {"web_search_call"},
    "gemini": {"executableCode", "codeExecutionResult", "text"},
}
"""Kinds that a format keeps whole and does know."""


def _holds_unknown(message: Message, known: set[str]) -> bool:
    return any(isinstance(part, Opaque) and part.kind not in known for part in message.parts)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_anything_anywhere_in_messages_is_read(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Wrong types and unknown things never raise, and a message that holds one is frozen."""
    body = data.draw(mutated(RICH[format], only_messages=True))

    request = read(body, format)

    check(body, format)
    unknown = {
        place
        for place, message in enumerate(request.messages)
        if _holds_unknown(message, KNOWN_OPAQUES[format])
    }
    assert unknown <= request.constraints.frozen


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_anything_anywhere_in_a_body_is_read_or_refused(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Outside the messages too nothing raises but the typed errors of reading."""
    body = data.draw(mutated(RICH[format]))

    try:
        request = read(body, format)
    except RequestError:
        return

    check(body, format)
    assert len(_content(request)) == 8


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_outlines_tell_what_the_parts_hold(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Ids, and whether there are words of its own, are known without decoding."""
    body = data.draw(mutated(RICH[format], only_messages=True))
    request = read(body, format)

    told = [
        (message.call_ids, message.result_ids, message.has_own_words)
        for place, message in enumerate(request.messages)
        if place not in request.constraints.frozen
    ]

    decoded = [
        Message(message.role, message.parts)
        for place, message in enumerate(request.messages)
        if place not in request.constraints.frozen
    ]
    assert told == [(m.call_ids, m.result_ids, m.has_own_words) for m in decoded]


@pytest.mark.parametrize(
    ("format", "message", "parts"),
    [
        ("anthropic", b"5", (Opaque("?", "5"),)),
        ("anthropic", b'{"role":"user"}', (Opaque("?", '{"role":"user"}'),)),
        (
            "anthropic",
            b'{"role":"user","content":5}',
            (Opaque("?", '{"role":"user","content":5}'),),
        ),
        (
            "anthropic",
            b'{"type":"text","text":"no message"}',
            (Opaque("?", '{"type":"text","text":"no message"}'),),
        ),
        ("anthropic", b'{"role":"user","content":[5]}', (Opaque("?", "5"),)),
        (
            "anthropic",
            b'{"role":"user","content":[{"type":"hologram","n":1.50}]}',
            (Opaque("hologram", '{"type":"hologram","n":1.50}'),),
        ),
        (
            "anthropic",
            b'{"role":"user","content":[{"type":"text","text":null}]}',
            (Opaque("?", '{"type":"text","text":null}'),),
        ),
        ("anthropic", b'{"role":"poet","content":"x"}', (Text("x"),)),
        ("openai-chat", b"5", (Opaque("?", "5"),)),
        ("openai-chat", b'{"role":5}', (Opaque("?", '{"role":5}'),)),
        (
            "openai-chat",
            b'{"role":"poet","content":"x"}',
            (Opaque("poet", '{"role":"poet","content":"x"}'),),
        ),
        ("openai-chat", b'{"role":"user","content":5}', (Opaque("?", "5"),)),
        (
            "openai-chat",
            b'{"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"}]}',
            (Text("a"), Opaque("hologram", '{"type":"hologram"}')),
        ),
        (
            "openai-chat",
            b'{"role":"user","content":[{"type":"text","text":5}]}',
            (Opaque("text", '{"type":"text","text":5}'),),
        ),
        (
            "openai-chat",
            b'{"role":"assistant","tool_calls":[{"id":"a","type":"new","new":{}}]}',
            (Opaque("tool_call", '{"id":"a","type":"new","new":{}}'),),
        ),
        (
            "openai-chat",
            b'{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}',
            (Opaque("tool_call", '{"function":{"name":"f"}}'),),
        ),
        (
            "openai-chat",
            b'{"role":"tool","tool_call_id":"a","content":[{"type":"hologram"}]}',
            (ToolResult("a", (Opaque("hologram", '{"type":"hologram"}'),)),),
        ),
    ],
)
def test_what_is_not_understood_is_kept_whole(
    format: str,  # noqa: A002 - the word for it
    message: bytes,
    parts: tuple[object, ...],
) -> None:
    """Its bytes are all there, and no edit may name its message."""
    request = read(
        b'{"model":"m","messages":[' + message + b',{"role":"user","content":"x"}]}', format
    )

    assert (request.messages[0].parts, request.constraints.frozen) == (parts, frozenset({0}))


@pytest.mark.parametrize(
    ("format", "message", "parts"),
    [
        (
            "anthropic",
            b'{"role":"user","new":{},"content":[{"type":"text","text":"a","new":5}]}',
            (Text("a"),),
        ),
        (
            "anthropic",
            b'{"role":"user","content":[{"type":"image","source":5}]}',
            (Media("image"),),
        ),
        (
            "openai-chat",
            b'{"role":"user","new":{},"content":[{"type":"text","text":"a","new":5}]}',
            (Text("a"),),
        ),
        (
            "openai-chat",
            b'{"role":"tool","tool_call_id":null,"content":"r"}',
            (ToolResult("", (Text("r"),)),),
        ),
    ],
)
def test_unknown_fields_change_nothing(
    format: str,  # noqa: A002 - the word for it
    message: bytes,
    parts: tuple[object, ...],
) -> None:
    """A field more or less in something known leaves it known."""
    request = read(b'{"model":"m","messages":[' + message + b"]}", format)

    assert (request.messages[0].parts, request.constraints.frozen) == (parts, frozenset())


@pytest.mark.parametrize("levels", [10, *range(500, 1000, 20)])
@pytest.mark.parametrize("format", WITH_CONTENT)
def test_deep_nesting_is_read_or_refused(format: str, levels: int) -> None:  # noqa: A002 - the word for it
    """What can still be split never raises when somebody looks at it from deeper down."""
    deep = b"[" * levels + b"]" * levels
    part = b'{"type":"text","text":"x","deep":' + deep + b"}"
    call = b'{"id":"a","type":"function","function":{"name":"f","arguments":' + deep + b"}}"
    message = b'{"role":"assistant","content":[' + part + b'],"tool_calls":[' + call + b"]}"
    try:
        request = read(b'{"messages":[' + message + b"]}", format)
    except MalformedBodyError:
        return

    assert _looked_at_from(60, request)


def _looked_at_from(frames: int, request: Request) -> bool:
    """Whether all messages have parts, as seen from deeper down the stack."""
    if frames:
        return _looked_at_from(frames - 1, request)
    return all(message.parts for message in request.messages)


# ------------------------------------------------- going on from a request before


def _said(request: Request) -> dict[str, Any]:
    """All that a request tells."""
    return {
        "format": request.format.name,
        "body": request.body,
        "history": request.history_span,
        "spans": list(request.spans),
        "members": request.members,
        "outlines": list(request.outlines),
        "messages": [(m.role, m.parts, m.call_ids, m.result_ids) for m in request.messages],
        "surface": request.surface,
        "constraints": request.constraints,
    }


def _read_or_refused(body: bytes, told: str | None, before: Request | None) -> object:
    try:
        return _said(read(body, told, before=before))
    except RequestError as error:
        return (type(error), str(error))


@st.composite
def _pairs(draw: st.DrawFn, format: str) -> tuple[bytes, bytes]:  # noqa: A002 - the word for it
    """A body, and another that begins like it: it goes on, or is cut or changed somewhere."""
    whole = draw(bodies(format))
    request = read(whole, format)
    spans = request.spans
    count = draw(st.integers(0, len(spans)))
    stop = request.history_span[1] - 1
    shorter = whole[: spans[count - 1][1] if count else request.history_span[0] + 1] + whole[stop:]
    first, second = draw(st.permutations([whole, shorter]))
    match draw(st.sampled_from(["as it is", "one byte", "cut off", "hidden", "more"])):
        case "one byte":
            place = draw(st.integers(0, len(second) - 1))
            new = draw(st.sampled_from([b"x", b'"', b"\\", b"]", b"[", b"1", b" ", b""]))
            second = second[:place] + new + second[place + 1 :]
        case "cut off":
            second = second[: draw(st.integers(0, len(second)))]
        case "hidden":
            field = format_named(format).history_field.encode()
            second = second.rstrip()[:-1] + b',"' + field + b'":[]}'
        case "more":
            extra = draw(
                st.sampled_from(
                    [
                        b'"max_tokens":9',
                        b'"system":"x"',
                        b'"tools":[]',
                        b'"input":[]',
                        b'"contents":[]',
                    ]
                )
            )
            second = second.rstrip()[:-1] + b"," + extra + b"}"
    return first, second


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_a_request_that_is_read_on_from_another_tells_the_same(
    data: st.DataObject,
    format: str,  # noqa: A002 - the word for it
) -> None:
    """Split, told apart, outlined and decoded as a body that nobody has seen the beginning of."""
    first, second = data.draw(_pairs(format))
    before = read(first, format)
    if data.draw(st.booleans()):
        _ = before.outlines
    told = data.draw(st.sampled_from([None, format]))

    assert _read_or_refused(second, told, before) == _read_or_refused(second, told, None)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (b'{"messages":[1', b"2]}"),
        (b'{"messages":[1', b".5]}"),
        (b'{"messages":["a"', b'"b"]}'),
        (b'{"messages":[{}', b',{"role":"user"}],"messages":[{}]}'),
        (b'{"messages":[{}', b',"x"'),
        (b'{"messages":[{}', b"}}"),
        (b'{"messages":[{}', b',{"role":"user","content":"\\ud800"}]}'),
        (b'{"messages":[{}', b",NaN]}"),
        (b'{"messages":[{}', b"]} trailing"),
        (b'{"a":{"messages":[{}', b"]}}"),
    ],
)
def test_what_follows_a_shared_message_is_read_as_in_a_whole_body(
    first: bytes, second: bytes
) -> None:
    """What ends a message is in its own bytes; what comes next cannot change it unseen."""
    start = first.index(b"[")
    before = Request(
        format_named("openai-chat"),
        first + b"]}",
        (start, len(first) + 1),
        [(start + 1, len(first))],
        {},
    )

    told = _read_or_refused(first + second, "openai-chat", None)

    assert _read_or_refused(first + second, "openai-chat", before) == told
