"""Whatever the providers' own clients can write or read passes through with its bytes.

Nothing of an SDK is used but its types: JSON is made from each, and must come
out of reading, weighing and writing as it went in.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import pydantic
import pytest

from tests.laws.conversations import FORMATS
from tests.wire.valid_bodies import snake_case
from trimtab import CharTokenCounter, Session
from trimtab.messages import Text, ToolResult
from trimtab.plan import EMPTY_PLAN, Drop, Edit, Forbidden, Plan, Ref, Replace
from trimtab.wire import Call, StreamReader, check, read, write

# The type checker need not read all of the SDKs for their types to be walked.
ANTHROPIC = import_module("anthropic.types")
ANTHROPIC_BETA = import_module("anthropic.types.beta")
CHAT = import_module("openai.types.chat")
RESPONSES = import_module("openai.types.responses")
GEMINI = import_module("google.genai.types")

Json = dict[str, Any]

# ------------------------------------------------------------- JSON from a type

_PLAIN: dict[Any, Any] = {
    str: "words",
    int: 1,
    float: 1.5,
    bool: True,
    bytes: "Ynl0ZXM=",
    object: {"any": [1, None]},
    Any: {"any": [1, None]},
    dict: {},
    list: [],
    dt.datetime: "2026-11-30T00:00:00Z",
    type(None): None,
}
"""One value for each type that has no fields."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a structure.

    Attributes:
        name: Its key in JSON.
        kind: Its type.
        is_required: Whether it is always there.
    """

    name: str
    kind: Any
    is_required: bool


def members(kind: Any) -> list[Any]:
    """The types of a union, those of unions in it too; a type alone is its own member."""
    kind = bare(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [inner for member in typing.get_args(kind) for inner in members(member)]
    return [kind]


def bare(kind: Any) -> Any:
    """A type without what is said about it."""
    while typing.get_origin(kind) in (typing.Annotated, typing.Required, typing.NotRequired):
        kind = typing.get_args(kind)[0]
    return kind


@cache
def fields(kind: Any) -> tuple[_Field, ...]:
    """The fields of a structure; none for what is no structure."""
    if hasattr(kind, "__required_keys__"):  # whoever's TypedDict it is
        hints = typing.get_type_hints(kind, include_extras=True)
        return tuple(_Field(name, inner, _is_required(inner)) for name, inner in hints.items())
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        return tuple(
            _Field(info.alias or name, info.annotation, info.is_required())
            for name, info in kind.model_fields.items()
        )
    return ()


def _is_required(kind: Any) -> bool:
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    return typing.get_origin(kind) is typing.Required


def variants(kind: Any, ways: int, inside: tuple[Any, ...] = ()) -> list[Any]:
    """JSON values of a type: the barest first, then each field and each way of a union once.

    Args:
        kind: The type.
        ways: How many structures inside each other are varied; one value for what is deeper.
        inside: The structures around it, so that a type that holds itself comes to an end.
    """
    if kind in inside:
        return []
    values = [
        value
        for member in members(kind)
        for value in _variants_of(member, ways, inside)
        if value is not None
    ]
    if type(None) in members(kind):
        values.append(None)
    return values if ways > 0 else values[:1]


def _variants_of(kind: Any, ways: int, inside: tuple[Any, ...]) -> list[Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return [arguments[0]]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [each.value for each in kind][:1] or ["other"]
    if fields(kind):
        return _structures(kind, ways, inside)
    if origin is dict:
        return [{"key": value} for value in variants(arguments[1], ways, inside)[:1]] or [{}]
    if arguments:  # some kind of list
        return [*([value] for value in variants(arguments[0], ways, inside)), []]
    return [_PLAIN.get(kind, "other")]


def _structures(kind: Any, ways: int, inside: tuple[Any, ...]) -> list[Json]:
    inside = (*inside, kind)
    shown = [each for each in fields(kind) if each.is_required or ways > 0]
    found = {each.name: variants(each.kind, ways - 1, inside) for each in shown}
    least = {each.name: (found[each.name] or [{}])[0] for each in shown if each.is_required}
    if ways <= 0:
        return [least]
    most = {name: values[0] for name, values in found.items() if values}
    varied = [least | {name: value} for name, values in found.items() for value in values]
    return [least, most, *(value for value in varied if value != least)]


# -------------------------------------------------------------- bodies of types

Hold = Callable[[Any], list[Any]]
"""Puts a value of a type into the messages that may hold it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type that a client can send.

    Attributes:
        format: Name of the format.
        kind: The type.
        hold: Puts its values into messages.
    """

    format: str
    kind: Any = field(repr=False)
    hold: Hold = field(repr=False)

    def __str__(self) -> str:
        return f"{self.format}-{getattr(self.kind, '__name__', self.kind)}"


def _itself(value: Any) -> list[Any]:
    return [value]


def _content(*roles: str) -> Hold:
    return lambda value: [{"role": role, "content": [value]} for role in roles]


def _anthropic_content(value: Any) -> list[Any]:
    messages = [{"role": role, "content": [value]} for role in ("user", "assistant", "system")]
    return [sent for message in messages for sent in _anthropic_message(message)]


def _anthropic_message(value: Any) -> list[Any]:
    """A system message stands between words and an answer."""
    if value["role"] != "system":
        return [value]
    answer = {"role": "assistant", "content": "understood"}
    return [{"role": "user", "content": "go on"}, value, answer]


def _parts(value: Any) -> list[Any]:
    return [
        {"role": role, "parts": [part]}
        for part in (value, snake_case(value))
        for role in ("user", "model")
    ]


def _responses_content(value: Any) -> list[Any]:
    output = {"type": "function_call_output", "call_id": "other", "output": [value]}
    return [{"role": "user", "content": [value]}, {"role": "assistant", "content": [value]}, output]


UNKNOWN: Json = {"type": "hologram", "id": "h_1", "data": {"deep": [1.50, None, "é"]}}
"""What no SDK knows."""

SENT: list[tuple[str, Any, Hold]] = [
    ("anthropic", ANTHROPIC.ContentBlockParam, _anthropic_content),
    ("anthropic", ANTHROPIC_BETA.BetaContentBlockParam, _anthropic_content),
    ("anthropic", ANTHROPIC.MessageParam, _anthropic_message),
    ("anthropic", ANTHROPIC_BETA.BetaMessageParam, _anthropic_message),
    ("openai-chat", CHAT.ChatCompletionContentPartParam, _content("user", "assistant", "tool")),
    ("openai-chat", CHAT.ChatCompletionMessageParam, _itself),
    ("openai-responses", RESPONSES.ResponseInputContentParam, _responses_content),
    ("openai-responses", RESPONSES.ResponseInputItemParam, _itself),
    ("gemini", GEMINI.Part, _parts),
    ("gemini", GEMINI.Content, _itself),
]
"""Unions and types of what stands in a history."""

KINDS = [Kind(name, kind, hold) for name, union, hold in SENT for kind in members(union)]

REFERENCES = [
    kind for kind in KINDS if kind.kind is RESPONSES.response_input_item_param.ItemReference
]
"""What says that part of the history lies on the server."""

TOOLS = [
    Kind(name, kind, _itself)
    for name, union in (
        ("anthropic", ANTHROPIC.ToolUnionParam),
        ("anthropic", ANTHROPIC_BETA.BetaToolUnionParam),
        ("openai-chat", CHAT.ChatCompletionToolUnionParam),
        ("openai-responses", RESPONSES.ToolParam),
        ("gemini", GEMINI.Tool),
    )
    for kind in members(union)
]
"""What stands among the tools."""

WAYS = 4

_LONG = "a long result " * 9

HISTORY: dict[str, tuple[str, list[Any]]] = {
    "anthropic": (
        "messages",
        [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "old", "name": "ls", "input": {}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "old", "content": _LONG}],
            },
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and now?"},
        ],
    ),
    "openai-chat": (
        "messages",
        [
            {"role": "user", "content": "look"},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "old",
                        "type": "function",
                        "function": {"name": "ls", "arguments": "{}"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "old", "content": _LONG},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and now?"},
        ],
    ),
    "openai-responses": (
        "input",
        [
            {"role": "user", "content": "look"},
            {"type": "function_call", "call_id": "old", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "old", "output": _LONG},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "and now?"},
        ],
    ),
    "gemini": (
        "contents",
        [
            {"role": "user", "parts": [{"text": "look"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "old", "name": "ls"}}]},
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "id": "old",
                            "name": "ls",
                            "response": {"output": _LONG},
                        }
                    }
                ],
            },
            {"role": "model", "parts": [{"text": "done"}]},
            {"role": "user", "parts": [{"text": "and now?"}]},
        ],
    ),
}
"""For each format the field of the history, and one that begins with an old exchange."""

MODELS = {
    "anthropic": "claude-opus-4-6",
    "openai-chat": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "gemini": "gemini-3-pro",
}


def spelled(value: Any) -> str:
    """JSON text as no serialiser here would write it."""
    return json.dumps(value, ensure_ascii=True, separators=(" , ", " :"))


def body_of(format: str, messages: Sequence[str], tools: Sequence[Any] = ()) -> bytes:  # noqa: A002 - the word for it
    """A body with these messages, each as JSON text."""
    history, _ = HISTORY[format]
    envelope = {"model": MODELS[format], "max_tokens": 9, "tools": list(tools)}
    joined = " ,\n".join(messages)
    return f'{spelled(envelope)[:-1]} , "{history}" :[ {joined} ]}}'.encode()


@cache
def held(kind: Kind) -> tuple[str, ...]:
    """Messages that hold a type each way."""
    values = variants(kind.kind, WAYS)
    return tuple(spelled(message) for value in values for message in kind.hold(value))


def old(format: str) -> list[str]:  # noqa: A002 - the word for it
    """The history in front of what is looked at."""
    return [spelled(message) for message in HISTORY[format][1]]


def edited(format: str, body: bytes, *edits: Edit) -> bytes:  # noqa: A002 - the word for it
    """A body as a plan of these edits has it, completed by its format."""
    request = read(body, format)
    plan = request.format.complete(request, Plan(edits), headers_settable=True)
    assert not isinstance(plan, Forbidden)
    return write(request, plan)


def weigh(format: str, body: bytes) -> list[int]:  # noqa: A002 - the word for it
    """What each message weighs, and last what all else does."""
    session = Session(counter=CharTokenCounter())
    history = session.weigh(session.read(Call(body), format))
    return [*history.message_tokens, history.fixed_tokens]


# -------------------------------------------------------------------- histories


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_type_is_read_and_written_unchanged(kind: Kind) -> None:
    """Its bytes are those of a message, all of it is there, and nothing is rebuilt."""
    messages = [*old(kind.format), *held(kind)]
    body = body_of(kind.format, messages)

    request = read(body, kind.format)

    assert [request.message_bytes(n).decode() for n in range(len(request.spans))] == messages
    assert write(request, EMPTY_PLAN) is body


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_type_is_weighed_and_checked(kind: Kind) -> None:
    """A message of any type weighs something, and what is wrong with it is told, not raised."""
    body = body_of(kind.format, [*old(kind.format), *held(kind)])

    *tokens, _ = weigh(kind.format, body)

    assert len(tokens) == len(old(kind.format)) + len(held(kind))
    assert min(tokens) > 0
    assert isinstance(check(body, kind.format), tuple)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REFERENCES], ids=str)
def test_an_edit_before_it_leaves_every_type_as_it_is(kind: Kind) -> None:
    """An older exchange goes, or its result is shortened; all else keeps its bytes."""
    before, messages = old(kind.format), held(kind)
    body = body_of(kind.format, [*before, *messages])
    shorter = ToolResult("old", (Text("short"),))

    dropped = edited(kind.format, body, Drop(Ref(1), "old"), Drop(Ref(2), "old"))
    replaced = edited(kind.format, body, Replace(2, 0, shorter, "long"))

    assert dropped == body_of(kind.format, [before[0], *before[3:], *messages])
    assert replaced == body.replace(_LONG.encode(), b"short")


@pytest.mark.parametrize("kind", REFERENCES, ids=str)
def test_nothing_is_edited_beside_a_reference(kind: Kind) -> None:
    """Where part of the history lies on the server, no edit is let in."""
    request = read(body_of(kind.format, [*old(kind.format), *held(kind)]), kind.format)
    plan = Plan((Drop(Ref(1), "old"), Drop(Ref(2), "old")))

    assert isinstance(request.format.complete(request, plan, headers_settable=True), Forbidden)


@pytest.mark.parametrize("format", FORMATS)
def test_a_type_that_nobody_knows_passes_through_as_well(format: str) -> None:  # noqa: A002 - the word for it
    """An invented message, and an invented piece wherever there are pieces, keep their bytes."""
    holds = [hold for name, _, hold in SENT if name == format]
    pieces = [message for hold in holds for message in hold({**UNKNOWN, "role": "poet"})]
    messages = [spelled(message) for message in pieces]
    before = old(format)
    body = body_of(format, [*before, *messages])

    dropped = edited(format, body, Drop(Ref(1), "old"), Drop(Ref(2), "old"))

    assert write(read(body, format), EMPTY_PLAN) is body
    assert dropped == body_of(format, [before[0], *before[3:], *messages])
    assert min(weigh(format, body)) > 0


@pytest.mark.parametrize("kind", TOOLS, ids=str)
def test_every_tool_is_weighed_and_left_as_it_is(kind: Kind) -> None:
    """A tool of any type weighs something, and an edit of the history does not touch it."""
    before = old(kind.format)
    for tool in [*variants(kind.kind, 2), UNKNOWN]:
        body = body_of(kind.format, before, [tool])

        dropped = edited(kind.format, body, Drop(Ref(1), "old"), Drop(Ref(2), "old"))

        assert dropped == body_of(kind.format, [before[0], *before[3:]], [tool])
        assert weigh(kind.format, body)[-1] > 0


@pytest.mark.parametrize("kind", [*KINDS, *TOOLS], ids=str)
def test_the_walk_fills_every_field(kind: Kind) -> None:
    """No key that a type has is left out of all its values."""
    names = {each.name for each in fields(kind.kind)}

    assert names == {name for value in variants(kind.kind, WAYS) for name in value}
    assert names


def test_the_walk_goes_each_way() -> None:
    """Every block that may stand in a message stands in one, and every block in a result."""
    blocks = members(ANTHROPIC_BETA.BetaContentBlockParam)
    named = {spelled(variants(block, 0)[0]) for block in blocks if is_sent(block)}
    messages = spelled(variants(ANTHROPIC_BETA.BetaMessageParam, WAYS))

    assert len(named) > 20
    assert {text for text in named if text not in messages} == set()


def is_sent(kind: Any) -> bool:
    """Whether a type is one that a client writes, and not one that it read."""
    return not (isinstance(kind, type) and issubclass(kind, pydantic.BaseModel))


# ---------------------------------------------------------------------- streams

EVENTS = [
    Kind(name, kind, _itself)
    for name, union in (
        ("anthropic", ANTHROPIC.RawMessageStreamEvent),
        ("anthropic", ANTHROPIC_BETA.BetaRawMessageStreamEvent),
        ("openai-chat", CHAT.ChatCompletionChunk),
        ("openai-responses", RESPONSES.ResponseStreamEvent),
        ("gemini", GEMINI.GenerateContentResponse),
    )
    for kind in members(union)
]
"""What an answer is streamed in."""


def events(values: Sequence[Any]) -> bytes:
    """Events as a server sends them, with one that nobody knows in between."""
    named = [value if isinstance(value, dict) else {} for value in [*values, UNKNOWN, values[0]]]
    return b"".join(
        f"event: {value.get('type', 'x')}\ndata: {spelled(value)}\n\n".encode() for value in named
    )


def pieces(stream: bytes, size: int) -> Iterator[bytes]:
    """A stream in pieces."""
    return (stream[start : start + size] for start in range(0, len(stream), size))


def told(format: str, stream: bytes, size: int) -> tuple[Any, ...]:  # noqa: A002 - the word for it
    """What a reader learns from a stream in pieces of a size; the pieces stay what they are."""
    reader = StreamReader(format)
    passed = bytearray()
    for piece in pieces(stream, size):
        reader.feed(piece)
        passed += piece
    reader.close()
    assert passed == stream
    return reader.usage, reader.model, reader.stop_reason, reader.refusal


@pytest.mark.parametrize("kind", EVENTS, ids=str)
def test_every_event_is_looked_at_and_left_as_it_is(kind: Kind) -> None:
    """Whatever is streamed says the same in any pieces, as events or as a list of objects."""
    values = variants(kind.kind, 2)
    stream, objects = events(values), spelled(values).encode()

    assert told(kind.format, stream, 7) == told(kind.format, stream, len(stream))
    assert told(kind.format, objects, 7) == told(kind.format, objects, len(objects))
