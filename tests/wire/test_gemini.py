"""Gemini: parts and the links of calls, edits, encoding, the surface, and what a request forbids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import bodies
from tests.wire.rich_bodies import GEMINI, PDF, PIXEL, dumped
from trimtab import (
    CharTokenCounter,
    Drop,
    Engine,
    Fold,
    Media,
    Message,
    Opaque,
    Plan,
    Policy,
    Replace,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    in_memory,
)
from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import Surface, Tool
from trimtab.plan import Forbidden, Ref
from trimtab.tokens import Measure
from trimtab.wire import Call, Request, build, check, format_named, read, write
from trimtab.wire.json_spans import locate

FORMAT = format_named("gemini")

Json = dict[str, Any]


def request(*contents: Any, **more: Any) -> Request:
    """A request with some contents."""
    return read(dumped({"contents": list(contents), **more}))


def user(*parts: Any) -> Json:
    """A content of the user's; words stand for text parts."""
    return {"role": "user", "parts": [{"text": p} if isinstance(p, str) else p for p in parts]}


def model(*parts: Any) -> Json:
    """A content of the model's."""
    return user(*parts) | {"role": "model"}


def call(name: str = "ls", *, signature: str = "", **more: Any) -> Json:
    """A call, signed or not."""
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def result(name: str = "ls", words: str = "ok", **more: Any) -> Json:
    """What a function answered."""
    return {"functionResponse": {"name": name, "response": {"output": words}, **more}}


# ---------------------------------------------------------------------- parts


def test_every_message_becomes_parts() -> None:
    """What is known by its kind, all else whole."""
    asked, answered, told, *_ = read(dumped(GEMINI)).messages

    assert asked.role == "user"
    assert asked.parts == (
        Text("look"),
        Media("image", "image/png", PIXEL, width=1, height=1),
        Media("document", "application/pdf", PDF, pages=2),
        Media("video", "video/mp4", location="https://x.test/a.mp4"),
    )
    first, second, third = answered.call_ids
    raw = GEMINI["contents"][1]["parts"]
    assert answered.parts == (
        Thinking("hm", "c2ln"),
        Opaque("executableCode", json.dumps(raw[1])),
        Opaque("codeExecutionResult", json.dumps(raw[2])),
        Text("let me look", "c2lh"),
        ToolCall(first, "ls", '{"dir": "/", "n": 1.5}', "c2li"),
        ToolCall(second, "ls", "{}"),
        ToolCall(third, "look", "{}"),
        Thinking("", "c2lj"),
    )
    assert told.parts == (
        ToolResult(first, (Text("a\nb"),)),
        ToolResult(second, (Text('{"error": "no", "code": 2}'),), is_error=True),
        ToolResult(third, (Media("image", "image/png", PIXEL, width=1, height=1),)),
        Text("and now?"),
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"text": ""}, Text("")),
        ({"text": "", "thought": True}, Text("")),
        ({"text": "", "thought_signature": "c2ln"}, Thinking("", "c2ln")),
        ({"text": "hm", "thought": True}, Thinking("hm")),
        ({"text": "hm", "thought": False}, Text("hm")),
        ({"text": "hm", "functionCall": None, "inlineData": None}, Text("hm")),
        ({"text": " \n"}, Opaque("text", '{"text": " \\n"}')),
        ({"text": 5}, Opaque("text", '{"text": 5}')),
        ({"hologram": {}}, Opaque("?", '{"hologram": {}}')),
        ({"text": "a", "inlineData": {}}, Opaque("?", '{"text": "a", "inlineData": {}}')),
        ({"thoughtSignature": "c2ln"}, Opaque("?", '{"thoughtSignature": "c2ln"}')),
        ({"inlineData": {"data": 5}}, Opaque("inlineData", '{"inlineData": {"data": 5}}')),
        ({"inlineData": []}, Opaque("inlineData", '{"inlineData": []}')),
        ({"functionCall": "ls"}, Opaque("?", '{"functionCall": "ls"}')),
        ({"functionCall": {}}, Opaque("?", '{"functionCall": {}}')),
        (
            {"file_data": {"file_uri": "f", "mime_type": "audio/mp3"}},
            Media("audio", "audio/mp3", location="f"),
        ),
        (
            {"fileData": {"fileUri": "f", "mimeType": "text/csv"}},
            Media("file", "text/csv", location="f"),
        ),
        ("words", Opaque("?", '"words"')),
    ],
)
def test_a_part_is_decoded(part: Any, expected: object) -> None:
    """Blanks, both spellings, wrong types and unknown things have a form too."""
    assert request({"role": "model", "parts": [part]}).messages[0].parts == (expected,)


@pytest.mark.parametrize(
    ("response", "content", "is_error"),
    [
        ({"output": "x"}, (Text("x"),), False),
        ({"r": "x"}, (Text("x"),), False),
        ({"error": "x"}, (Text("x"),), True),
        ({"error": None, "output": 1}, (Text('{"error": null, "output": 1}'),), False),
        ({"output": {"n": 1}}, (Text('{"output": {"n": 1}}'),), False),
        ({"output": ""}, (), False),
        ({}, (), False),
        ("x", (Text('"x"'),), False),
    ],
)
def test_a_response_becomes_words(
    response: Any, content: tuple[object, ...], *, is_error: bool
) -> None:
    """One text alone is the words of the result; anything else is its JSON text."""
    (part,) = (
        request(user({"functionResponse": {"name": "f", "response": response}})).messages[0].parts
    )

    assert isinstance(part, ToolResult)
    assert (part.content, part.is_error) == (content, is_error)


def test_digits_of_arguments_stay() -> None:
    """Arguments are JSON text as it came."""
    args = '{"id": 4611686018427387905, "neg0": -0.0, "exp": 1E400, "n": ' + "7" * 5000 + "}"
    before, behind = json.dumps({"contents": [model(call(args="@"))]}).split('"@"')
    body = before + args + behind

    (part,) = read(body.encode()).messages[0].parts

    assert isinstance(part, ToolCall)
    assert part.arguments == args


def test_what_msgspec_refuses_is_read_the_slow_way() -> None:
    """A lone surrogate or a NaN anywhere costs speed, and nothing else."""
    contents = user("@"), model(call("@", signature="s", id="1")), user(result("@", "@", id="1"))
    body = json.dumps({"contents": contents, "x": float("nan")}).replace("@", "\\ud800")

    messages = read(body.encode()).messages

    assert messages[0] == Message.user("\ud800")
    (asked,), (answered,) = messages[1].parts, messages[2].parts
    assert asked == ToolCall(messages[1].call_ids[0], "\ud800", "{}", "s")
    assert answered == ToolResult(messages[1].call_ids[0], (Text("\ud800"),))
    assert read(body.encode()).constraints.frozen == frozenset()


@pytest.mark.parametrize("levels", [10, *range(500, 1000, 40)])
def test_deep_nesting_is_read_or_refused(levels: int) -> None:
    """What can still be split never raises when somebody looks at it."""
    deep = "[" * levels + "]" * levels
    contents = [user({"text": "x", "deep": "@"}), model(call(args={"a": "@"})), user(result())]
    body = json.dumps({"contents": contents}).replace('"@"', deep)
    try:
        found = read(body.encode())
    except MalformedBodyError:
        return

    assert all(message.parts for message in found.messages)


@pytest.mark.parametrize(
    ("content", "role"),
    [
        (user("x"), "user"),
        ({"parts": [{"text": "x"}]}, "user"),
        ({"role": "", "parts": [{"text": "x"}]}, "user"),
        (model("x"), "assistant"),
        (user(result()), "tool"),
        (user(result(), "x"), "user"),
        ({"role": "function", "parts": [result()]}, "tool"),
    ],
)
def test_a_role_is_told(content: Json, role: str) -> None:
    """A content of results alone is the tools'; without a role it is the user's."""
    assert request(content).messages[0].role == role


@pytest.mark.parametrize(
    "content",
    [
        {"role": "poet", "parts": [{"text": "x"}]},
        {"role": 5, "parts": [{"text": "x"}]},
        {"role": "user"},
        {"role": "user", "parts": {"text": "x"}},
        user({"hologram": 1}),
        user(call()),
        "words",
    ],
)
def test_what_is_not_understood_is_frozen(content: Any) -> None:
    """No edit may name it."""
    assert request(user("x"), content).constraints.frozen == {1}


# ---------------------------------------------------------------- links of calls


def ids(*contents: Any) -> tuple[list[str], list[str]]:
    """The ids of all calls and of all results."""
    messages = request(*contents).messages
    return [i for m in messages for i in m.call_ids], [i for m in messages for i in m.result_ids]


@pytest.mark.parametrize(
    ("contents", "order"),
    [
        # by name and order
        ([model(call("a"), call("b")), user(result("a"), result("b"))], [0, 1]),
        ([model(call("a"), call("b")), user(result("b"), result("a"))], [1, 0]),
        ([model(call("a"), call("a")), user(result("a"), result("a"))], [0, 1]),
        # by id, in any order; one that only a call or a result has does not stand in the way
        ([model(call(id="1"), call(id="2")), user(result(id="2"), result(id="1"))], [1, 0]),
        ([model(call(id="1"), call(id="2")), user(result(), result())], [0, 1]),
        ([model(call(), call()), user(result(id="2"), result())], [0, 1]),
        # where names do not fit, by order
        ([model(call("a"), call("b")), user(result("b"), result("c"))], [1, 0]),
        # spread over contents, and behind words
        ([model(call("a")), model(call("b")), user(result("a"), result("b"))], [0, 1]),
        ([model(call("a"), call("b")), user(result("b")), user(result("a"))], [1, 0]),
        ([model(call("a")), user("wait"), user(result("a"))], [0]),
    ],
)
def test_results_find_their_calls(contents: list[Json], order: list[int]) -> None:
    """Inside neighbouring turns."""
    calls, results = ids(user("x"), *contents)

    assert results == [calls[place] for place in order]
    assert len(set(calls)) == len(calls)


@pytest.mark.parametrize(
    "contents",
    [
        [user(result("a"))],
        [model(call("a")), user("x"), model("y"), user(result("a"))],
        [model(call("a")), user(result("a"), result("a"))],
        [model(call(id="1")), user(result(id="2"))],
    ],
)
def test_a_result_without_a_call_has_an_id_of_its_own(contents: list[Json]) -> None:
    """It answers nothing, and no other result has its id."""
    calls, results = ids(user("x"), *contents)

    assert results[-1] not in calls
    assert len(set(results)) == len(results)


def test_calls_of_different_turns_have_different_ids() -> None:
    """The signature tells two calls apart that ask for the same."""
    calls, results = ids(
        user("x"),
        model(call(signature="c2ln")),
        user(result()),
        model(call(signature="c2lh")),
        user(result()),
    )

    assert len(set(calls)) == 2
    assert calls == results


def test_equal_calls_have_different_ids() -> None:
    """Without a signature they are told apart by how many were made before, and answered in order."""
    again = [model(call(), call("b")), user(result(), result("b"))]

    calls, results = ids(user("x"), *again, *again, user("y"), *again)

    assert len(set(calls)) == 6
    assert calls == results


@given(count=st.integers(1, 6), place=st.integers(0, 12))
def test_ids_of_equal_calls_are_the_same_however_much_is_read(count: int, place: int) -> None:
    """Also where only the end of a conversation is looked at."""
    contents = [user("x"), *([model(call()), user(result())] * count)]
    place = min(place, len(contents) - 1)

    tail, alone = request(*contents).messages_from(place), request(*contents).message(place)

    assert tail == request(*contents).messages[place:]
    assert alone == request(*contents).messages[place]


def test_a_conversation_that_goes_on_keeps_its_ids() -> None:
    """What comes later changes no id of what was there."""
    again = [model(call()), user(result())]
    before, _ = ids(user("x"), *again, *again)
    after, _ = ids(user("x"), *again, *again, user("y"), *again)

    assert after[: len(before)] == before


@given(drawn=bodies("gemini"), data=st.data())
def test_ids_are_the_same_however_much_is_read(drawn: bytes, data: st.DataObject) -> None:
    """Alone, in the tail and in the whole; in the parts and without them."""
    whole = read(drawn)
    place = data.draw(st.integers(0, len(whole.spans) - 1))

    alone, tail = read(drawn).message(place), read(drawn).messages_from(place)

    assert alone == whole.messages[place]
    assert tail == whole.messages[place:]
    for message in whole.messages:
        decoded = Message(message.role, message.parts)
        assert (message.call_ids, message.result_ids) == (decoded.call_ids, decoded.result_ids)


def test_no_made_id_reaches_the_wire() -> None:
    """A result that we make has the name of its call, and its id only where the provider gave one."""
    made = {
        part: json.loads(FORMAT.encode(Message.tool(part, "no", is_error=True))[0])
        for part in (
            *ids(user("x"), model(call("a")))[0],
            *ids(user("x"), model(call("b", id="c9")))[0],
        )
    }

    assert list(made.values()) == [
        user({"functionResponse": {"name": "a", "response": {"error": "no"}}}),
        user({"functionResponse": {"id": "c9", "name": "b", "response": {"error": "no"}}}),
    ]


# ---------------------------------------------------------------------- edits

SIGNED = {
    "thought": True,
    "text": "plan",
    "thoughtSignature": "sA",
    "new": {"n": 1.50},
}
LOOP = [
    user("list"),
    model(SIGNED, call("a", signature="sB"), call("b"), call("c", signature="sC")),
    user(result("a"), result("b"), result("c")),
]


def edited(plan: Plan, *contents: Any) -> list[Json]:
    """The contents that a plan makes."""
    found: list[Json] = json.loads(write(request(*contents), plan))["contents"]
    return found


def replaced(old: Json, content: tuple[Any, ...]) -> Json:
    """What becomes of a result in the middle of others."""
    contents = [user("x"), model(call(), call(), call()), user(result(), old, result())]
    part = request(*contents).messages[2].parts[1]
    assert isinstance(part, ToolResult)
    plan = Plan((Replace(2, 1, ToolResult(part.call_id, content, part.is_error), ""),))
    after = edited(plan, *contents)
    assert after[:2] == contents[:2]
    assert after[2]["parts"][::2] == contents[2]["parts"][::2]
    found: Json = after[2]["parts"][1]
    return found


IMAGE = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
PNG = Media("image", "image/png", PIXEL, width=1, height=1)


@pytest.mark.parametrize(
    ("old", "content", "expected"),
    [
        (result(words="long"), (Text("short"),), result(words="short")),
        (result(words="long", id="7", new=1), (Text("s"),), result(words="s", id="7", new=1)),
        (
            {"functionResponse": {"name": "ls", "response": {"r": "x"}}, "new": 1},
            (Text("s"),),
            {"functionResponse": {"name": "ls", "response": {"r": "s"}}, "new": 1},
        ),
        (
            {"functionResponse": {"name": "ls", "response": {"a": 1, "b": 2}}},
            (Text("s"),),
            result(words="s"),
        ),
        (
            {"functionResponse": {"name": "ls", "response": {"a": 1, "b": 2}}},
            (Text('{"a":1}'),),
            {"functionResponse": {"name": "ls", "response": {"a": 1}}},
        ),
        (
            {"functionResponse": {"name": "ls", "response": {"error": "x", "code": 2}}},
            (Text('{"error":"x"}'),),
            {"functionResponse": {"name": "ls", "response": {"error": "x"}}},
        ),
        (
            {"functionResponse": {"name": "ls", "response": {"error": "x", "code": 2}}},
            (Text('{"code":2}'),),
            {"functionResponse": {"name": "ls", "response": {"error": '{"code":2}'}}},
        ),
        (
            {"function_response": {"name": "ls", "response": {"error": "x", "code": 2}}},
            (Text("s"),),
            {"function_response": {"name": "ls", "response": {"error": "s"}}},
        ),
        (result(words="x", parts=[IMAGE]), (Text("s"), PNG), result(words="s", parts=[IMAGE])),
        (result(words="x", parts=[IMAGE]), (Text("s"),), result(words="s")),
        (
            result(words="x", parts=[IMAGE, {"new": 1}]),
            (Text("x"), Opaque("?", '{"new": 1}')),
            result(words="x", parts=[{"new": 1}]),
        ),
        (result(words="x"), (), result(words="")),
    ],
)
def test_a_result_says_something_else(old: Json, content: tuple[Any, ...], expected: Json) -> None:
    """The response stays an object, and all beside the words stays as it came."""
    assert replaced(old, content) == expected


def test_other_arguments_take_the_place_of_the_old() -> None:
    """Whatever else is in the part, its signature too, stays."""
    contents = [user("x"), model(call(signature="sA", args={"n": 1})), user(result()), user("y")]
    (old,) = request(*contents).messages[1].parts
    assert isinstance(old, ToolCall)

    after = edited(Plan((Replace(1, 0, ToolCall(old.id, "ls", '{"n":2}'), ""),)), *contents)

    assert after[1] == model(call(signature="sA", args={"n": 2}))


def test_a_part_goes_with_its_signature() -> None:
    """The others keep theirs, each where it was."""
    after = edited(Plan((Drop(Ref(1, (0,)), ""),)), *LOOP)

    assert after == [LOOP[0], model(*LOOP[1]["parts"][1:]), LOOP[2]]


def test_words_are_replaced_in_place() -> None:
    """Siblings stay."""
    content = user({"text": "long", "partMetadata": {"a": 1}}, "b")

    after = edited(Plan((Replace(0, 0, Text("s"), ""),)), content)

    assert after == [user({"text": "s", "partMetadata": {"a": 1}}, "b")]


def test_paths_lead_to_the_parts() -> None:
    """In the order of the parts."""
    message = dumped(GEMINI["contents"][1])

    found = [json.loads(message[slice(*locate(message, p))]) for p in FORMAT.part_paths(message)]

    assert found == GEMINI["contents"][1]["parts"]
    assert FORMAT.part_paths(b'{"role":"user"}') == [()]


def test_what_no_edit_names_is_written_as_it_came() -> None:
    """Signatures, unknown siblings, spelling of keys and numbers: all bytes."""
    body = json.dumps({"contents": [*LOOP, user("and?")]}, indent=1).encode()
    request_ = read(body)

    after = write(request_, Plan((Replace(3, 0, Text("so?"), ""),)))

    assert after == body.replace(b'"and?"', b'"so?"')


# ------------------------------------------------------------------- encoding


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message.user("hi"), user("hi")),
        (Message.assistant("é"), model("é")),
        (Message.user(Text("")), None),
        (
            Message.assistant(Thinking("hm", "c2ln")),
            model({**SIGNED, "text": "hm", "thoughtSignature": "c2ln"}),
        ),
        (Message.assistant(Thinking("hm")), None),
        (Message.assistant(ToolCall("t1", "ls", "", "c2ln")), model(call(signature="c2ln"))),
        (Message.assistant(ToolCall("t1", "ls", "[1]")), model(call(args={"value": [1]}))),
        (Message.assistant(ToolCall("t1", "ls", "{cut")), model(call(args={"text": "{cut"}))),
        (Message.user(PNG), user(IMAGE)),
        (
            Message.user(Media("document", location="https://x.test/a.pdf")),
            user({"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.test/a.pdf"}}),
        ),
        (Message.user(Opaque("search_result", "{}")), user("{}")),
        (
            Message.assistant(Opaque("executableCode", '{"executableCode":{"code":"1"}}')),
            model({"executableCode": {"code": "1"}}),
        ),
    ],
)
def test_a_message_that_we_made_is_encoded(message: Message, expected: Json | None) -> None:
    """What this format has no place for is left out."""
    found = [json.loads(raw) for raw in FORMAT.encode(message)]
    if expected is not None:
        for part in expected["parts"]:
            part.pop("new", None)

    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize("signer", ["anthropic", "openai-responses"])
def test_nobody_elses_signature_is_sent(signer: str) -> None:
    """Reasoning that another provider signed is left out; what Gemini signed stays, on words too."""
    foreign = Thinking("hm", "c2ln", signed_by=signer)
    own = Thinking("hm", "c2ln", signed_by="gemini")

    (raw,) = FORMAT.encode(Message.assistant(foreign, own, Text("so", "c2lh"), "be it"))

    assert json.loads(raw) == model(
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "so", "thoughtSignature": "c2lh"},
        "be it",
    )


def test_only_calls_of_the_turn_under_way_get_the_stand_in() -> None:
    """And of them the first of each step, where it is not signed."""
    signed = Message.assistant(ToolCall("t9", "ls", "{}", "c2ln"), ToolCall("t8", "ls", "{}"))
    messages = [*CONVERTED, signed, Message.tool("t9", "a"), Message.tool("t8", "b")]

    contents = json.loads(build(messages, "gemini").replace(b"1E400", b"1"))["contents"]

    assert [
        part.get("thoughtSignature")
        for content in contents
        for part in content["parts"]
        if "functionCall" in part
    ] == [None, None, "skip_thought_signature_validator", "c2ln", None]


def test_a_signature_on_words_is_counted() -> None:
    """It goes to the model with them."""
    measure = Measure(CharTokenCounter())
    plain = request(model({"text": "words"})).messages[0]
    signed = request(model({"text": "words", "thoughtSignature": "A" * 1600})).messages[0]

    assert measure.message(signed) - measure.message(plain) == 300


@pytest.mark.parametrize("setting", ["MEDIA_RESOLUTION_LOW", {"level": "MEDIA_RESOLUTION_LOW"}])
def test_media_say_how_closely_to_look(setting: Any) -> None:
    """The setting of a part is what its media are counted by, and it is built again."""
    part = {**IMAGE, "mediaResolution": setting}

    media = request(user(part)).messages[0].parts[0]

    assert isinstance(media, Media)
    assert media.detail == "MEDIA_RESOLUTION_LOW"
    (raw,) = FORMAT.encode(Message.user(media, Media("image", data="AA", detail="high")))
    assert [part.get("mediaResolution") for part in json.loads(raw)["parts"]] == [
        {"level": "MEDIA_RESOLUTION_LOW"},
        None,
    ]
    (chat,) = format_named("openai-chat").encode(Message.user(media))
    assert b"detail" not in chat


@pytest.mark.parametrize(
    ("shown", "seconds"),
    [
        ({"startOffset": "40s", "endOffset": "52.5s"}, 12.5),
        ({"end_offset": "8s"}, 8.0),
        ({"startOffset": "9s"}, 0.0),
        ({"endOffset": 8, "fps": 5}, 0.0),
    ],
)
def test_video_says_how_much_of_it_is_shown(shown: Json, seconds: float) -> None:
    """From the start offset to the end offset."""
    part = {"fileData": {"mimeType": "video/mp4", "fileUri": "x"}, "videoMetadata": shown}

    assert request(user(part)).messages[0].parts == (
        Media("video", "video/mp4", location="x", seconds=seconds),
    )


def test_words_join_a_content() -> None:
    """As its last part."""
    message = dumped(user("a", IMAGE))

    assert json.loads(FORMAT.append_text(message, "b")) == user("a", IMAGE, "b")


CONVERTED = [
    Message.system("be brief"),
    Message.user("go"),
    Message.assistant("hm", ToolCall("t1", "ls", '{"n":1E400}'), ToolCall("t2", "look", "")),
    Message.tool("t2", "seen"),
    Message("tool", (ToolResult("t1", (Text("no"), PNG), is_error=True),)),
    Message.user("and?"),
    Message.assistant(ToolCall("t3", "ls", "{}")),
    Message.tool("t3", "ok"),
]


def test_a_conversation_of_another_format_is_built() -> None:
    """Results stand in one content by name; calls of the turn under way say whose they are."""
    surface = Surface(
        tools=(Tool("ls", '{"name":"ls","input_schema":{}}', "list", '{"type":"object"}'),)
    )

    body = build(CONVERTED, "gemini", surface=surface, max_tokens=9)

    assert check(body, "gemini") == ()
    assert b'{"n":1E400}' in body
    assert json.loads(body.replace(b"1E400", b"1")) == {
        "contents": [
            user("go"),
            model("hm", call("ls", args={"n": 1}), call("look")),
            user(
                result("look", "seen"),
                {"functionResponse": {"name": "ls", "response": {"error": "no"}, "parts": [IMAGE]}},
                "and?",
            ),
            model(call(signature="skip_thought_signature_validator")),
            user(result()),
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "ls",
                        "description": "list",
                        "parametersJsonSchema": {"type": "object"},
                    }
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 9},
    }


def test_a_conversation_of_this_format_is_built_again() -> None:
    """Signatures and the provider's ids come back where they were, and none is invented."""
    before = read(dumped(GEMINI))

    again = read(build(before.messages, "gemini", surface=before.surface))

    assert check(again.body, "gemini") == ()
    assert again.surface.tools[2].json == json.dumps({"googleSearch": {}})
    calls = [
        part for part in json.loads(again.body)["contents"][1]["parts"] if "functionCall" in part
    ]
    assert [part.get("thoughtSignature") for part in calls] == ["c2li", None, None]
    assert [part["functionCall"].get("id") for part in calls] == [None, None, "c3"]


# ------------------------------------------------------------ envelope and limits


def test_the_surface_is_read_in_both_spellings() -> None:
    """System prompt, tools, the schema of the answer, its length."""
    tools = [{"function_declarations": [{"name": "ls", "parameters_json_schema": {"a": 1}}]}]
    found = request(
        user("x"),
        system_instruction={"parts": {"text": "s"}},
        tools=tools,
        generation_config={"max_output_tokens": 7, "response_json_schema": {"b": 2}},
    )

    assert found.answer_tokens == 7
    assert found.surface == Surface(
        system=(Text("s"),),
        tools=(Tool("ls", json.dumps(tools[0]["function_declarations"][0]), "", '{"a": 1}'),),
        output_schema='{"b": 2}',
    )


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"systemInstruction": {"parts": [{"text": "t"}]}}, {"system"}),
        ({"tools": []}, {"tools"}),
        ({"toolConfig": {}}, {"tools"}),
        ({"generationConfig": {"responseSchema": {}}}, {"tools"}),
        ({"generationConfig": {"temperature": 0.5}}, set()),
        ({"contents": [user("y")]}, set()),
    ],
)
def test_what_the_cache_depends_on_is_told_apart(change: Json, names: set[str]) -> None:
    """Instructions, tools, and the schema; not how warm the answer shall be."""
    old, new = (FORMAT.surface_forms(read(dumped(b)).members) for b in (GEMINI, GEMINI | change))
    schema = {"generationConfig": GEMINI["generationConfig"] | {"temperature": 0.5}}
    if "temperature" in str(change):
        new = FORMAT.surface_forms(read(dumped(GEMINI | schema)).members)

    assert {name for name in old._fields if getattr(old, name) != getattr(new, name)} == names


def test_another_model_in_the_address_is_another_model() -> None:
    """The body has none, and the provider's cache is lost all the same."""
    body = dumped({"contents": [user("x")]})
    engine = Engine(Policy(limit_tokens=1000), in_memory(), CharTokenCounter()).sync
    first = engine.rewrite(Call(body, model="gemini-3.1-pro"), "gemini")
    engine.forwarded(first.ticket)

    events = engine.rewrite(Call(body, model="gemini-3.5-flash"), "gemini").events

    assert [event.cause for event in events if hasattr(event, "cause")] == ["model_changed"]


@pytest.mark.parametrize("key", ["cachedContent", "cached_content"])
def test_a_cached_prefix_keeps_our_hands_off(key: str) -> None:
    """Part of the conversation lies on the server."""
    found = request(user("x"), **{key: "cachedContents/1"})

    assert "cachedContent" in found.constraints.hands_off
    assert not request(user("x"), **{key: None}).constraints.hands_off


def test_what_a_request_forbids_is_told() -> None:
    """The loop begins behind the last words of the user's."""
    assert request(*LOOP).constraints == Constraints(
        open_loop_start=1,
        results_come_first=False,
        results_share_message=True,
        roles_must_alternate=True,
        refuses_blank_text=True,
    )
    assert request(*LOOP, model("done")).constraints.open_loop_start is None


# -------------------------------------------------------------- the last word


def completed(plan: Plan, *contents: Any) -> Plan | Forbidden:
    """What the format makes of a plan."""
    return FORMAT.complete(request(*contents), plan, headers_settable=True)


STEP = [model(call(signature="s1")), user(result())]


def marker(removed: tuple[int, ...], before: int, joins: int | None = None) -> Fold:
    """A marker for some messages."""
    refs = tuple(Ref(place) for place in removed)
    return Fold(refs, before, Message.user("gone", origin="marker"), "", joins)


@pytest.mark.parametrize(
    ("contents", "fold", "joins"),
    [
        # inside the turn under way: they become the user's last words
        ([user("x"), *STEP, *STEP, *STEP], marker((3, 4), 3), 0),
        ([user("x"), *STEP, *STEP, *STEP], marker((3, 4), 3, joins=2), 0),
        ([user("x"), *STEP, *STEP], marker((1, 2), 1, joins=0), 0),
        # behind results of an older turn: they join these
        ([user("x"), *STEP, *STEP, model("ok"), user("y")], marker((3, 4), 3), 2),
        # in front of the turn, or behind an answer: they stand alone
        ([user("x"), model("ok"), user("y"), *STEP], marker((0, 1), 0), None),
        # the user's words are not understood
        ([user("x", {"new": 1}), *STEP, *STEP, *STEP], marker((3, 4), 3), 2),
    ],
)
def test_words_of_ours_begin_no_turn(contents: list[Json], fold: Fold, joins: int | None) -> None:
    """Inside the turn under way they would end the model's train of thought."""
    found = completed(Plan((fold,)), *contents)

    assert isinstance(found, Plan)
    (edit,) = found.edits
    assert isinstance(edit, Fold)
    assert edit.joins == joins


@pytest.mark.parametrize(
    ("new", "part"), [(ToolCall("i", "b", "{}"), 1), (Thinking("other", "sA"), 0)]
)
def test_what_is_signed_in_the_turn_under_way_is_not_edited(new: Any, part: int) -> None:
    """In an older turn nobody looks at it."""
    plan = Plan((Replace(1, part, new, ""),))

    assert isinstance(completed(plan, *LOOP), Forbidden)
    assert completed(plan, *LOOP, model("ok"), user("y")) == plan


def test_a_long_loop_keeps_its_signatures_and_its_start() -> None:
    """Whatever the limit, each step that stays is signed, and the turn begins where it began."""
    steps = [
        step
        for number in range(12)
        for step in (
            model(call(signature=f"s{number}", args={"n": number}), call("look")),
            user(result(words="line\n" * 50), result("look")),
        )
    ]
    contents = [user("old"), model("ok"), user("the task"), *steps]
    for limit in (150, 300, 600, 1200):
        session = Session(Policy(limit_tokens=limit), CharTokenCounter())

        rewrite = session.rewrite(session.read(Call(dumped({"contents": contents}))))

        after = json.loads(rewrite.body)["contents"]
        assert check(rewrite.body, "gemini") == ()
        words = [place for place, content in enumerate(after) if "text" in content["parts"][0]]
        assert after[max(words)]["parts"][0] == {"text": "the task"}
        kept = [part for content in after[max(words) + 1 :] for part in content["parts"]]
        assert [part for part in kept if "text" in part] == []
        assert after[-1]["parts"][0]["functionResponse"]["name"] == "ls"


# ------------------------------------------------------------ broken on arrival


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        # a call without a result, and the user goes on
        (
            [user("x"), model(call("a")), user("y")],
            [["a"], ["a"], []],
        ),
        # one of three parallel results is missing: all stand in one content, in the order of calls
        (
            [
                user("x"),
                model(call("a"), call("b"), call("c")),
                user(result("c"), result("a")),
                user("y"),
            ],
            [["a", "b", "c"], ["a", "b", "c"], []],
        ),
        # results spread over two contents
        (
            [
                user("x"),
                model(call("a"), call("b")),
                user(result("b")),
                user(result("a")),
                user("y"),
            ],
            [["a", "b"], ["a", "b"], []],
        ),
        # a result that nothing asked for
        ([user("x"), user(result("a")), model("ok"), user("y")], [[], []]),
    ],
)
def test_a_broken_history_is_mended(contents: list[Json], expected: list[list[str]]) -> None:
    """Each call has its result in the one content behind it."""
    session = Session(Policy(limit_tokens=10_000), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(dumped({"contents": contents}))))

    assert check(rewrite.body, "gemini") == ()
    names = [
        [
            (part.get("functionCall") or part["functionResponse"])["name"]
            for part in content["parts"]
            if "text" not in part
        ]
        for content in json.loads(rewrite.body)["contents"][1:]
    ]
    assert names == expected


def test_a_partly_answered_step_keeps_what_was_said() -> None:
    """The results that came are there, word for word."""
    contents = [user("x"), model(call("a"), call("b")), user(result("b", "found it")), user("y")]
    session = Session(Policy(limit_tokens=10_000), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(dumped({"contents": contents}))))

    first, second = json.loads(rewrite.body)["contents"][2]["parts"]
    assert "no result" in first["functionResponse"]["response"]["error"]
    assert second == result("b", "found it")
