"""What makes a message the same message on a later turn, and a surface the same surface."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.wire import FORMATS, Request, format_named, read
from trimtab.wire.format import Format, SurfaceForms

Json = dict[str, Any]

ANTHROPIC, CHAT = format_named("anthropic"), format_named("openai-chat")
MARKER = {"type": "ephemeral"}

WITH_CONTENT = tuple(found for found in FORMATS if found.history_field == "messages")
"""Formats whose messages have ``content``, in which markers and a lone text may stand."""

each_format = pytest.mark.parametrize("wire_format", WITH_CONTENT, ids=lambda found: found.name)


def dumped(value: Any) -> bytes:
    """JSON text as most clients write it."""
    return json.dumps(value).encode()


def text(words: str, **more: Any) -> Json:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def said(content: Any, role: str = "user") -> Json:
    """A message."""
    return {"role": role, "content": content}


def body_of(*messages: Json, **more: Any) -> bytes:
    """A request of either format."""
    return dumped({"model": "m", **more, "messages": list(messages)})


def request_of(wire_format: Format, *messages: Json, **more: Any) -> Request:
    """A request, read."""
    return read(body_of(*messages, **more), wire_format.name)


# ------------------------------------------------------------------ markers


@each_format
@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        (said([text("a"), text("b", cache_control=MARKER)]), said([text("a"), text("b")])),
        (
            said([text("a", cache_control=MARKER), text("b", cache_control=MARKER)]),
            said([text("a"), text("b")]),
        ),
        (said([{"cache_control": None, **text("a")}, text("b")]), said([text("a"), text("b")])),
        # in a result, and in the blocks that it holds
        (
            said(
                [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": "x",
                        "cache_control": MARKER,
                    }
                ]
            ),
            said([{"type": "tool_result", "tool_use_id": "c", "content": "x"}]),
        ),
        (
            said(
                [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": [text("x", cache_control=MARKER), text("y")],
                        "cache_control": {"type": "ephemeral", "ttl": "1h"},
                    }
                ]
            ),
            said([{"type": "tool_result", "tool_use_id": "c", "content": [text("x"), text("y")]}]),
        ),
        # a call, and whatever nobody knows
        (
            said([{"type": "tool_use", "id": "c", "input": {}, "cache_control": MARKER}]),
            said([{"type": "tool_use", "id": "c", "input": {}}]),
        ),
        (said([{"type": "new", "cache_control": MARKER}]), said([{"type": "new"}])),
        # a text alone is the bare string that it stands for
        (said([text("a", cache_control=MARKER)]), said("a")),
        (said([text("a")]), said("a")),
        (said([{"text": "a", "cache_control": MARKER, "type": "text"}]), said("a")),
        (said([text('"type" \n\u2028 \U0001f600 \\')]), said('"type" \n\u2028 \U0001f600 \\')),
        ({"content": [text("a")], "role": "user"}, {"content": "a", "role": "user"}),
        (
            {"role": "user", "id": 7, "content": [text("a")]},
            {"role": "user", "id": 7, "content": "a"},
        ),
        (said([text("")]), said("")),
    ],
)
def test_markers_and_the_spelling_of_a_lone_text_make_no_difference(
    wire_format: Format, marked: Json, plain: Json
) -> None:
    """Clients move the ones and vary the other from turn to turn."""
    assert wire_format.canonical(dumped(marked)) == dumped(plain)
    assert wire_format.canonical(dumped(plain)) == dumped(plain)


def test_breakpoints_of_the_chat_format_are_markers() -> None:
    """Of that format alone."""
    marked = dumped(said([text("a"), text("b", prompt_cache_breakpoint={"mode": "explicit"})]))

    assert CHAT.canonical(marked) == dumped(said([text("a"), text("b")]))
    assert ANTHROPIC.canonical(marked) is marked


def test_spaces_stay_as_the_client_wrote_them() -> None:
    """Only the marker goes, with its comma."""
    raw = b'{ "role" : "user",\n "content": [ {"type":"text", "cache_control":{"a":[1]}, "text":"x"},{} ] }'

    assert ANTHROPIC.canonical(raw) == (
        b'{ "role" : "user",\n "content": [ {"type":"text", "text":"x"},{} ] }'
    )


@each_format
@pytest.mark.parametrize(
    "message",
    [
        said("words"),
        said([]),
        said(None),
        said([text("a"), text("b")]),
        # more than a text alone
        said([text("a", citations=[])]),
        said([{"type": "text"}]),
        said([{"type": "input_text", "text": "a"}]),
        said([{"type": "image", "source": {}}]),
        said([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}]},
        # what only looks like a marker
        said("cache_control"),
        said('the key "cache_control" marks'),
        said([text("cache_control"), text("prompt_cache_breakpoint")]),
        said([{"type": "tool_use", "id": "c", "input": {"cache_control": MARKER}}, text("")]),
        said([text("a"), {"type": "new", "data": {"cache_control": MARKER}}]),
        {"role": "user", "content": "a", "cache_control": MARKER},
        said({"cache_control": MARKER}),
        # what is no message
        {"cache_control": MARKER},
        {"type": "text"},
        {},
    ],
)
def test_all_else_is_left_alone(wire_format: Format, message: Json) -> None:
    """The very same bytes, where there is nothing to take out."""
    raw = dumped(message)

    assert wire_format.canonical(raw) == raw


@each_format
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b'"type"',
        b'["cache_control"]',
        b'{"role":"user","content":[{"cache_control":',
        b'{"content":[{"type":"text","text":"a"}',
        b'{"content":[{"type":"text","text":"a"]}}',
        b'{"content":[{"cache_control":1}]',
        b'{"content":[1,"cache_control",null,{"cache_control":1]}',
    ],
)
def test_what_is_not_understood_is_left_alone(wire_format: Format, raw: bytes) -> None:
    """And nothing raises."""
    assert wire_format.canonical(raw) == raw


@each_format
def test_elements_that_are_no_blocks_hold_no_markers(wire_format: Format) -> None:
    """Those beside them do."""
    raw = dumped(said([1, "cache_control", text("a", cache_control=MARKER), [], None]))

    assert wire_format.canonical(raw) == dumped(said([1, "cache_control", text("a"), [], None]))


@each_format
def test_a_lone_text_is_its_bare_string_whatever_its_word(wire_format: Format) -> None:
    """Also where the word is one of the format's own."""
    assert wire_format.canonical(dumped(said([text("type")]))) == dumped(said("type"))


WORDS = st.sampled_from(["", "a", 'say "type"', "cache_control", "line\n\\n", "日本語 🙂", "text"])
MARKED = st.sampled_from([{}, {"cache_control": MARKER}, {"cache_control": None}])
TEXTS = st.builds(lambda words, marked: text(words, **marked), WORDS, MARKED)
RESULTS = st.builds(
    lambda content, marked: {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": content,
        **marked,
    },
    st.one_of(WORDS, st.lists(TEXTS, max_size=2)),
    MARKED,
)
OTHERS = st.sampled_from(
    [{"type": "image", "source": {"type": "url"}}, {"type": "new", "content": 1}]
)
MESSAGES = st.builds(
    said,
    st.one_of(WORDS, st.none(), st.lists(st.one_of(TEXTS, RESULTS, OTHERS), max_size=3)),
    st.sampled_from(["user", "assistant"]),
)
SPELLINGS: list[Callable[[Any], str]] = [
    json.dumps,
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    lambda value: json.dumps(value, indent=2),
    lambda value: json.dumps(value, sort_keys=True),
]


def expected(message: Json) -> Json:
    """The same, of decoded values."""
    content = _without(message["content"])
    if isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}:
        content = content[0]["text"]
    return {**message, "content": content}


def _without(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [
        {key: _without(value) for key, value in block.items() if key != "cache_control"}
        for block in content
    ]


@given(message=MESSAGES, spell=st.sampled_from(SPELLINGS), place=st.sampled_from(WITH_CONTENT))
def test_canonical_forms_mean_the_message_without_its_markers(
    message: Json, spell: Callable[[Any], str], place: Format
) -> None:
    """However it is spelled; and a canonical form is its own."""
    form = place.canonical(spell(message).encode())

    assert json.loads(form) == expected(message)
    assert place.canonical(form) == form


@given(
    messages=st.lists(MESSAGES, max_size=5),
    spell=st.sampled_from(SPELLINGS),
    place=st.sampled_from(WITH_CONTENT),
)
def test_the_forms_of_a_request_are_those_of_its_messages(
    messages: list[Json], spell: Callable[[Any], str], place: Format
) -> None:
    """Whatever was looked at to tell that there is nothing to take out."""
    request = read(spell({"model": "m", "messages": messages}).encode(), place.name)
    alone = [place.canonical(request.message_bytes(at)) for at in range(len(messages))]

    assert list(map(bytes, request.forms())) == alone
    assert [request.form(at) for at in range(len(messages))] == alone
    assert [json.loads(form) for form in request.sorted_forms()] == list(map(expected, messages))


# ------------------------------------------------------------------- arrays


@each_format
@pytest.mark.parametrize(
    ("array", "plain"),
    [
        ([], []),
        ([{"name": "a", "cache_control": MARKER}, {"name": "b"}], [{"name": "a"}, {"name": "b"}]),
        ([{"cache_control": MARKER, "name": "a"}], [{"name": "a"}]),
        ([text("a", cache_control=MARKER)], [text("a")]),
        # a schema may have a property of that name
        (
            [{"input_schema": {"properties": {"cache_control": {}}}}],
            [{"input_schema": {"properties": {"cache_control": {}}}}],
        ),
        ([1, "cache_control"], [1, "cache_control"]),
        ("cache_control", "cache_control"),
        ({"cache_control": 1}, {"cache_control": 1}),
    ],
)
def test_arrays_lose_their_markers(wire_format: Format, array: Any, plain: Any) -> None:
    """Of tools as of blocks."""
    assert wire_format.without_markers(dumped(array)) == dumped(plain)


@each_format
@pytest.mark.parametrize("raw", [b"", b"null", b'[{"cache_control":1', b'[{"cache_control":1]]'])
def test_what_is_no_array_keeps_its_bytes(wire_format: Format, raw: bytes) -> None:
    """And nothing raises."""
    assert wire_format.without_markers(raw) == raw


# ------------------------------------------------------------------ surface


def surface_of(wire_format: Format, **more: Any) -> SurfaceForms:
    """The surface of a request in canonical form."""
    return wire_format.surface_forms(request_of(wire_format, said("a"), **more).members)


BILLING = text("x-anthropic-billing-header: cc_version=2.1; cch=abc12;")
LOOK = {"name": "look", "input_schema": {}}
RUN = {"name": "run", "input_schema": {}}
CHAT_LOOK = {"type": "function", "function": {"name": "look"}}


def test_nothing_but_messages_is_an_empty_surface() -> None:
    """Of either format."""
    assert surface_of(ANTHROPIC) == SurfaceForms(b'"m"', b"", b"")
    assert surface_of(CHAT) == SurfaceForms(b'"m"', b"", b"\0\0")


@pytest.mark.parametrize(
    ("wire_format", "one", "other"),
    [
        (
            ANTHROPIC,
            {"system": [text("a", cache_control=MARKER), text("b")], "tools": [LOOK, RUN]},
            {
                "system": [text("a"), text("b", cache_control=MARKER)],
                "tools": [LOOK, {**RUN, "cache_control": MARKER}],
            },
        ),
        # what a client counts in front of its system prompt is another on every turn
        (ANTHROPIC, {"system": [BILLING, text("a")]}, {"system": [text("a")]}),
        (
            ANTHROPIC,
            {"system": [BILLING, text("a")]},
            {"system": [text(BILLING["text"] + " more"), text("a", cache_control=MARKER)]},
        ),
        # parameters are not part of what is cached
        (ANTHROPIC, {"max_tokens": 1, "temperature": 0}, {"max_tokens": 2, "metadata": {}}),
        (
            CHAT,
            {"tools": [CHAT_LOOK]},
            {"tools": [{**CHAT_LOOK, "cache_control": MARKER}], "max_tokens": 3},
        ),
        (CHAT, {"temperature": 0}, {"max_completion_tokens": 2, "user": "somebody"}),
    ],
)
def test_what_clients_vary_is_the_same_surface(wire_format: Format, one: Json, other: Json) -> None:
    """The provider's cache still fits."""
    assert surface_of(wire_format, **one) == surface_of(wire_format, **other)


@pytest.mark.parametrize(
    ("wire_format", "one", "other", "changed"),
    [
        (ANTHROPIC, {"model": "a"}, {"model": "b"}, "model"),
        (ANTHROPIC, {"system": "a"}, {"system": "b"}, "system"),
        (ANTHROPIC, {"system": "a"}, {}, "system"),
        (ANTHROPIC, {"system": [text("a")]}, {"system": [text("a"), text("b")]}, "system"),
        (ANTHROPIC, {"system": "x-anthropic-billing-header: a"}, {"system": "b"}, "system"),
        (ANTHROPIC, {"tools": [LOOK]}, {"tools": [LOOK, RUN]}, "tools"),
        (ANTHROPIC, {"tools": [LOOK, RUN]}, {"tools": [RUN, LOOK]}, "tools"),
        (ANTHROPIC, {}, {"output_config": {"format": {"type": "json_schema"}}}, "tools"),
        (CHAT, {"model": "a"}, {"model": "b"}, "model"),
        (CHAT, {"tools": [CHAT_LOOK]}, {}, "tools"),
        (CHAT, {"functions": [{"name": "a"}]}, {"functions": [{"name": "b"}]}, "tools"),
        (CHAT, {"functions": [{"name": "a"}]}, {"tools": [{"name": "a"}]}, "tools"),
        (CHAT, {"response_format": {"type": "json_object"}}, {}, "tools"),
    ],
)
def test_what_the_cache_hangs_on_is_another_surface(
    wire_format: Format, one: Json, other: Json, changed: str
) -> None:
    """In the one field that says which."""
    before, after = surface_of(wire_format, **one), surface_of(wire_format, **other)
    names = SurfaceForms._fields

    assert [name for name in names if getattr(before, name) != getattr(after, name)] == [changed]


# ----------------------------------------------------------------- envelope


@pytest.mark.parametrize(
    ("wire_format", "more", "tokens"),
    [
        (ANTHROPIC, {}, None),
        (ANTHROPIC, {"max_tokens": 64}, 64),
        (ANTHROPIC, {"max_tokens": 0}, 0),
        (ANTHROPIC, {"max_tokens": -1}, None),
        (ANTHROPIC, {"max_tokens": 6.5}, None),
        (ANTHROPIC, {"max_tokens": "64"}, None),
        (ANTHROPIC, {"max_tokens": None}, None),
        (ANTHROPIC, {"max_completion_tokens": 64}, None),
        (CHAT, {}, None),
        (CHAT, {"max_tokens": 64}, 64),
        (CHAT, {"max_completion_tokens": 64}, 64),
        (CHAT, {"max_completion_tokens": 64, "max_tokens": 32}, 64),
        (CHAT, {"max_completion_tokens": None, "max_tokens": 32}, 32),
        (CHAT, {"max_completion_tokens": 0, "max_tokens": 32}, 0),
        (CHAT, {"max_output_tokens": 64}, None),
    ],
)
def test_a_request_says_how_long_its_answer_may_be(
    wire_format: Format, more: Json, tokens: int | None
) -> None:
    """Or it does not, in whole tokens."""
    assert request_of(wire_format, said("a"), **more).answer_tokens == tokens


@pytest.mark.parametrize(
    ("wire_format", "more"),
    [
        (ANTHROPIC, {"model": "claude-opus-4-5"}),
        (ANTHROPIC, {"model": "claude-opus-5-5"}),
        (ANTHROPIC, {"model": "claude-opus-5-5", "thinking": {"type": "adaptive"}}),
        (ANTHROPIC, {"model": "claude-3-7-sonnet", "thinking": {"type": "enabled"}}),
        (ANTHROPIC, {"model": "", "anthropic_version": "bedrock-2023-05-31"}),
        (ANTHROPIC, {"thread": {"type": "create"}}),
        (ANTHROPIC, {"container": "c1"}),
        (
            ANTHROPIC,
            {
                "context_management": {
                    "edits": [{"type": "compact_20260112"}, {"type": "clear_tool_uses_20250919"}]
                }
            },
        ),
        (CHAT, {}),
        (CHAT, {"model": "gpt-5.2", "tools": [CHAT_LOOK]}),
    ],
)
def test_manners_are_the_constraints_of_no_messages(wire_format: Format, more: Json) -> None:
    """So that they can be told without a look at the messages."""
    empty = request_of(wire_format, **more)

    assert empty.manners == wire_format.constraints(empty) == empty.constraints
    assert request_of(wire_format, said("a"), **more).manners == empty.manners
