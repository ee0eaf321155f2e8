"""Plans to bytes: what no edit names keeps the bytes that it came in with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS, bodies, history_of
from trimtab import Drop, Fold, Media, Message, Opaque, Plan, Replace, Text, ToolCall, ToolResult
from trimtab.plan import EnvelopeEdit, Keep, Ref
from trimtab.wire import read, write
from trimtab.wire.writing import Forms

# ------------------------------------------------------------------ originals
# Odd on purpose: whitespace, escapes, key order and numbers of a client's own.

CALL_A = b'{"input":{"n":1.50,"id":4611686018427387905}, "id":"a","type":"tool_use","name":"ls"}'
CALL_B = b'{"id":"b","type":"tool_use","name":"ls","input":{}}'
CALL_C = b'{"type":"tool_use","id":"c","name":"ls"}'
PICTURE = b'{"source":{"url":"u","type":"url"},"type":"image"}'
BLOCKS = (
    b'[ {"type":"text","text":"p\\u0071", "citations":[]} , %s, {"type":"text","text":"r"} ]'
    % PICTURE
)
DONE = b'\t,{"role":"assistant","content":"done" }'
MORE = b' ,{"role":"user","content":[ {"type":"text","text":"more"} ]}'

ANTHROPIC = b"".join(
    (
        b'{ "max_tokens":9 , "messages" :\n',
        b'[ {"content":"h\\u0069 \\ud83d\\ude00","role":"user"} ,\n',
        b'  {"role":"assistant", "content":[ {"type":"text","text":"l\\u006fok"} , ',
        CALL_A + b", " + CALL_B + b", " + CALL_C + b" ]},\n",
        b'  {"content":[{"type":"tool_result","tool_use_id":"a","content":"one\\u000atwo"},\n',
        b'    {"tool_use_id":"b", "content":' + BLOCKS + b',"type":"tool_result"},\n',
        b'    {"type":"tool_result","tool_use_id":"c","is_error":true}, ',
        b'{"text":"and","type":"text"}],"role":"user"}',
        DONE + MORE + b' ] , "model":"claude-opus-4-6"\n}',
    )
)

CHAT_CALL_A = b'{"function":{"arguments":"{\\"n\\":1.50}", "name":"ls"},"id":"a","type":"function"}'
CHAT_CALL_B = b'{"id":"b","type":"function","function":{"name":"ls","arguments":{"n" : 1.50}}}'
CHAT_CALL_C = b'{"id":"c","type":"custom","custom":{"name":"sh","input":"l\\u0073"}}'
CHAT_CALLS = b'"tool_calls":[ %s , %s, %s ]' % (CHAT_CALL_A, CHAT_CALL_B, CHAT_CALL_C)
CHAT_PARTS = b'[ {"type":"text","text":"p\\u0071"} , {"type":"text","text":"r"} ]'
CHAT_RESULTS = (
    b',\n  {"tool_call_id":"a","content":"one\\u000atwo","role":"tool"}, '
    b'{"role":"tool","tool_call_id":"b","content":%s},'
    b'{"role":"tool","tool_call_id":"c","content":""}' % CHAT_PARTS
)
CHAT_REFUSAL = (
    b'\t,{"role":"assistant","content":[ {"refusal":"no","type":"refusal"} ,'
    b' {"type":"text","text":"or"} ]}'
)

CHAT = b"".join(
    (
        b'{ "n":1.0, "messages" :\n',
        b'[ {"content":"h\\u0069 \\ud83d\\ude00","role":"system"} ,{"role":"user" , "content":"go"},\n',
        b'  {"role":"assistant", "reasoning_content":"h\\u006d", "content":"l\\u006fok" ,',
        CHAT_CALLS + b"}" + CHAT_RESULTS + CHAT_REFUSAL + MORE + b' ] , "model":"gpt-5.6"\n}',
    )
)

ORIGINALS = {"anthropic": ANTHROPIC, "openai-chat": CHAT}

Change = tuple[bytes, bytes]
"""What stood in the original, once, and what stands there now."""


def changed(body: bytes, changes: Sequence[Change]) -> bytes:
    """The original with some of its bytes changed."""
    for before, after in changes:
        assert body.count(before) == 1, before
        body = body.replace(before, after)
    return body


def result(call_id: str, *content: Any) -> ToolResult:
    """A tool result of some blocks."""
    return ToolResult(call_id, content)


MARKER = Message.user("[gone]", origin="marker")
REPAIR = (
    b',{"role":"user","content":[{"type":"tool_result","tool_use_id":"z",'
    b'"content":[{"type":"text","text":"r"}]}]}'
)
MIXED = (
    b'[{"type":"text","text":"k"},{"type":"image","source":{"type":"url","url":"v"}},'
    b'{"type":"text","text":"{}"}]'
)

WITH_CONTENT = ("anthropic", "openai-chat")
"""Formats whose messages have ``content``; what is theirs alone is tried on their own bodies."""

# ------------------------------------------------------------------ no change


@pytest.mark.parametrize("format", WITH_CONTENT)
@pytest.mark.parametrize("plan", [Plan(), Plan((Keep(Ref(0), "newest"),))])
def test_an_empty_plan_returns_the_very_same_object(format: str, plan: Plan) -> None:  # noqa: A002 - the word for it
    """Nothing is copied, let alone written anew."""
    request = read(ORIGINALS[format], format)

    assert write(request, plan) is request.body


# ------------------------------------------------------------------ one change

ANTHROPIC_EDITS: list[tuple[str, Sequence[Any], Sequence[Change]]] = [
    (
        "text of a string",
        [Replace(0, 0, Text('say "é"\n'), "")],
        [(b'"h\\u0069 \\ud83d\\ude00"', '"say \\"é\\"\\n"'.encode())],
    ),
    (
        "lone surrogate",
        [Replace(0, 0, Text("a\ud800b"), "")],
        [(b'"h\\u0069 \\ud83d\\ude00"', b'"a\\ud800b"')],
    ),
    ("text of a block", [Replace(1, 0, Text("see"), "")], [(b'"l\\u006fok"', b'"see"')]),
    (
        "arguments",
        [Replace(1, 1, ToolCall("a", "ls", '{"n": 2.50}'), "")],
        [(b'{"n":1.50,"id":4611686018427387905}', b'{"n": 2.50}')],
    ),
    (
        "arguments with a lone surrogate",
        [Replace(1, 2, ToolCall("b", "ls", '{"n":"\ud800"}'), "")],
        [(b'"input":{}', b'"input":{"n":"\\ud800"}')],
    ),
    (
        "arguments that were not there",
        [Replace(1, 3, ToolCall("c", "ls", '{"n":2}'), "")],
        [(b'"id":"c","name":"ls"}', b'"id":"c","name":"ls","input":{"n":2}}')],
    ),
    ("result string", [Replace(2, 0, result("a", Text("k")), "")], [(b'"one\\u000atwo"', b'"k"')]),
    (
        "result block",
        [Replace(2, 1, result("b", Text("k"), Media("image", location="u"), Text("r")), "")],
        [(b'"p\\u0071"', b'"k"')],
    ),
    (
        "media of a result by words",
        [Replace(2, 1, result("b", Text("pq"), Text("[image]"), Text("r")), "")],
        [
            (
                PICTURE,
                b'{"type":"text","text":"[image]"}',
            )
        ],
    ),
    (
        "fewer blocks",
        [Replace(2, 1, result("b", Media("image", location="u")), "")],
        [
            (
                BLOCKS,
                b"[" + PICTURE + b"]",
            )
        ],
    ),
    (
        "fewer blocks, one of them new",
        [Replace(2, 1, result("b", Text("k"), Text("pq")), "")],
        [
            (
                BLOCKS,
                b'[{"type":"text","text":"k"},{"type":"text","text":"p\\u0071", "citations":[]}]',
            )
        ],
    ),
    (
        "no blocks",
        [Replace(2, 1, result("b"), "")],
        [
            (
                BLOCKS,
                b'""',
            )
        ],
    ),
    (
        "a string by blocks",
        [
            Replace(
                2, 0, result("a", Text("k"), Media("image", location="v"), Opaque("x", "{}")), ""
            )
        ],
        [
            (
                b'"one\\u000atwo"',
                MIXED,
            )
        ],
    ),
    (
        "a result that had no content",
        [Replace(2, 2, result("c", Text("k")), "")],
        [(b'"is_error":true}', b'"is_error":true,"content":"k"}')],
    ),
    ("part in front", [Drop(Ref(1, (0,)), "")], [(b'{"type":"text","text":"l\\u006fok"} , ', b"")]),
    ("part at the end", [Drop(Ref(2, (3,)), "")], [(b', {"text":"and","type":"text"}', b"")]),
    (
        "all parts but one",
        [Drop(Ref(1, (1,)), ""), Drop(Ref(1, (2, 3)), "")],
        [
            (
                b" , " + CALL_A + b", " + CALL_B + b", " + CALL_C,
                b"",
            )
        ],
    ),
    (
        "all parts",
        [Drop(Ref(4, (0,)), "")],
        [(MORE, b"")],
    ),
    (
        "first message",
        [Drop(Ref(0), "")],
        [(b'{"content":"h\\u0069 \\ud83d\\ude00","role":"user"} ,\n  ', b"")],
    ),
    (
        "message in the middle",
        [Drop(Ref(3), "")],
        [(DONE, b"")],
    ),
    (
        "last message",
        [Drop(Ref(4), "")],
        [(MORE, b"")],
    ),
    (
        "fold alone",
        [Fold((Ref(3),), 3, MARKER, "")],
        [
            (
                DONE,
                b',{"role":"user","content":[{"type":"text","text":"[gone]"}]}',
            )
        ],
    ),
    (
        "fold in front of all",
        [Fold((), 0, MARKER, "")],
        [(b"\n[ {", b'\n[ {"role":"user","content":[{"type":"text","text":"[gone]"}]},{')],
    ),
    (
        "fold behind all",
        [Fold((), 5, MARKER, "")],
        [
            (
                b'"more"} ]} ]',
                b'"more"} ]},{"role":"user","content":[{"type":"text","text":"[gone]"}]} ]',
            )
        ],
    ),
    (
        "fold that joins a string",
        [Fold((), 1, MARKER, "", joins=0)],
        [
            (
                b'"content":"h\\u0069 \\ud83d\\ude00"',
                b'"content":[{"type":"text","text":"h\\u0069 \\ud83d\\ude00"},{"type":"text","text":"[gone]"}]',
            )
        ],
    ),
    (
        "fold that joins blocks",
        [Fold((Ref(3),), 3, MARKER, "", joins=2)],
        [
            (
                b'{"text":"and","type":"text"}]',
                b'{"text":"and","type":"text"},{"type":"text","text":"[gone]"}]',
            ),
            (DONE, b""),
        ],
    ),
    (
        "two folds that join one message",
        [Fold((), 1, MARKER, "", joins=4), Fold((), 1, Message.user("too"), "", joins=4)],
        [(b'"more"} ]', b'"more"},{"type":"text","text":"[gone]\\n\\ntoo"} ]')],
    ),
    (
        "fold that stands for the words of the message it joins",
        [
            Fold((Ref(0, (0,)),), 0, MARKER, "", joins=0),
            Fold((Ref(4, (0,)),), 4, MARKER, "", joins=4),
        ],
        [
            (b'"h\\u0069 \\ud83d\\ude00"', b'[{"type":"text","text":"[gone]"}]'),
            (b'[ {"type":"text","text":"more"} ]', b'[{"type":"text","text":"[gone]"}]'),
        ],
    ),
    (
        "a made message without words",
        [Fold((), 0, Message.user(" "), "")],
        [],
    ),
    (
        "several edits in one message",
        [
            Drop(Ref(2, (3,)), ""),
            Replace(2, 0, result("a", Text("k")), ""),
            Replace(2, 1, result("b", Text("x"), Media("image", location="u"), Text("r")), ""),
            Fold((), 3, MARKER, "", joins=2),
        ],
        [
            (b'"one\\u000atwo"', b'"k"'),
            (b'"p\\u0071"', b'"x"'),
            (b', {"text":"and","type":"text"}]', b',{"type":"text","text":"[gone]"}]'),
        ],
    ),
    (
        "a part that is replaced and dropped",
        [Replace(1, 0, Text("see"), ""), Drop(Ref(1, (0,)), "")],
        [(b'{"type":"text","text":"l\\u006fok"} , ', b"")],
    ),
    (
        "a repaired call",
        [Fold((), 3, Message("tool", [result("z", Text("r"))], origin="repair"), "")],
        [
            (
                DONE,
                REPAIR + DONE,
            )
        ],
    ),
]

CHAT_EDITS: list[tuple[str, Sequence[Any], Sequence[Change]]] = [
    (
        "text of a string",
        [Replace(0, 0, Text('say "é"\n'), "")],
        [(b'"h\\u0069 \\ud83d\\ude00"', '"say \\"é\\"\\n"'.encode())],
    ),
    (
        "lone surrogate",
        [Replace(0, 0, Text("a\ud800b"), "")],
        [(b'"h\\u0069 \\ud83d\\ude00"', b'"a\\ud800b"')],
    ),
    ("text behind reasoning", [Replace(2, 1, Text("see"), "")], [(b'"l\\u006fok"', b'"see"')]),
    (
        "text of a part",
        [Replace(6, 1, Text("and"), ""), Replace(6, 0, Text("never"), "")],
        [(b'"or"', b'"and"'), (b'"refusal":"no"', b'"refusal":"never"')],
    ),
    (
        "arguments",
        [Replace(2, 2, ToolCall("a", "ls", '{"n": 2.50}'), "")],
        [(b'"{\\"n\\":1.50}"', b'"{\\"n\\": 2.50}"')],
    ),
    (
        "arguments with a lone surrogate",
        [Replace(2, 2, ToolCall("a", "ls", '"\ud800"'), "")],
        [(b'"{\\"n\\":1.50}"', b'"\\"\\ud800\\""')],
    ),
    (
        "arguments that are an object",
        [Replace(2, 3, ToolCall("b", "ls", '{"n":"\ud800"}'), "")],
        [(b'{"n" : 1.50}', b'{"n":"\\ud800"}')],
    ),
    (
        "input of a custom tool",
        [Replace(2, 4, ToolCall("c", "sh", '"pw\\u0064"'), "")],
        [(b'"l\\u0073"', b'"pw\\u0064"')],
    ),
    (
        "input of a custom tool that is no string",
        [Replace(2, 4, ToolCall("c", "sh", "{}"), "")],
        [(b'"l\\u0073"', b'"{}"')],
    ),
    ("result string", [Replace(3, 0, result("a", Text("k")), "")], [(b'"one\\u000atwo"', b'"k"')]),
    (
        "result part",
        [Replace(4, 0, result("b", Text("k"), Text("r")), "")],
        [(b'"p\\u0071"', b'"k"')],
    ),
    (
        "fewer parts of a result",
        [Replace(4, 0, result("b", Text("r")), "")],
        [
            (
                CHAT_PARTS,
                b'[{"type":"text","text":"r"}]',
            )
        ],
    ),
    (
        "part by a picture, which has no place in a result",
        [Replace(4, 0, result("b", Media("image", location="u"), Text("r")), "")],
        [
            (
                b'{"type":"text","text":"p\\u0071"}',
                b'{"type":"text","text":"[image: see the message behind the tool results]"}',
            )
        ],
    ),
    ("part in front", [Drop(Ref(6, (0,)), "")], [(b'{"refusal":"no","type":"refusal"} , ', b"")]),
    ("part at the end", [Drop(Ref(6, (1,)), "")], [(b' , {"type":"text","text":"or"}', b"")]),
    (
        "reasoning",
        [Drop(Ref(2, (0,)), "")],
        [(b'"reasoning_content":"h\\u006d", ', b"")],
    ),
    (
        "words beside calls",
        [Drop(Ref(2, (1,)), "")],
        [(b'"content":"l\\u006fok"', b'"content":null')],
    ),
    (
        "one call",
        [Drop(Ref(2, (3,)), "")],
        [
            (
                CHAT_CALL_B + b", ",
                b"",
            )
        ],
    ),
    (
        "all calls",
        [Drop(Ref(2, (2, 3, 4)), "")],
        [
            (
                b" ," + CHAT_CALLS,
                b"",
            )
        ],
    ),
    (
        "all but reasoning",
        [Drop(Ref(2, (1, 2, 3, 4)), "")],
        [
            (
                b'"l\\u006fok" ,' + CHAT_CALLS,
                b'""',
            )
        ],
    ),
    (
        "all parts",
        [Drop(Ref(6, (0, 1)), "")],
        [
            (
                CHAT_REFUSAL,
                b"",
            )
        ],
    ),
    (
        "first message",
        [Drop(Ref(0), "")],
        [(b'{"content":"h\\u0069 \\ud83d\\ude00","role":"system"} ,', b"")],
    ),
    (
        "last message",
        [Drop(Ref(7), "")],
        [(MORE, b"")],
    ),
    (
        "fold alone",
        [Fold((Ref(3), Ref(4), Ref(5)), 3, MARKER, "")],
        [
            (
                CHAT_RESULTS,
                b',{"role":"user","content":"[gone]"}',
            )
        ],
    ),
    (
        "fold that joins a string",
        [Fold((), 2, MARKER, "", joins=1)],
        [(b'"content":"go"', b'"content":"go\\n\\n[gone]"')],
    ),
    (
        "fold that joins parts",
        [Fold((), 2, MARKER, "", joins=7)],
        [(b'"more"} ]', b'"more"},{"type":"text","text":"[gone]"} ]')],
    ),
    (
        "fold that stands for the words of the message it joins",
        [
            Fold((Ref(1, (0,)),), 0, MARKER, "", joins=1),
            Fold((Ref(7, (0,)),), 4, MARKER, "", joins=7),
        ],
        [
            (b'"content":"go"', b'"content":"[gone]"'),
            (b'[ {"type":"text","text":"more"} ]', b'"[gone]"'),
        ],
    ),
    ("a made message without words", [Fold((), 0, Message.user(""), "")], []),
    (
        "several edits in one message",
        [
            Drop(Ref(2, (0, 3)), ""),
            Replace(2, 1, Text("see"), ""),
            Replace(2, 2, ToolCall("a", "ls", "{}"), ""),
        ],
        [
            (b'"reasoning_content":"h\\u006d", ', b""),
            (b'"l\\u006fok"', b'"see"'),
            (b'"{\\"n\\":1.50}"', b'"{}"'),
            (
                CHAT_CALL_B + b", ",
                b"",
            ),
        ],
    ),
]

EDITS = [
    pytest.param(format, edits, changes, id=f"{format}-{name}")
    for format, rows in (("anthropic", ANTHROPIC_EDITS), ("openai-chat", CHAT_EDITS))  # noqa: A001 - the word for it
    for name, edits, changes in rows
]


@pytest.mark.parametrize(("format", "edits", "changes"), EDITS)
def test_an_edit_changes_what_it_names(
    format: str,  # noqa: A002 - the word for it
    edits: Sequence[Any],
    changes: Sequence[Change],
) -> None:
    """These bytes change, and not one of the others."""
    request = read(ORIGINALS[format], format)

    body = write(request, Plan(tuple(edits)))

    assert body == changed(request.body, changes)
    json.loads(body)


@pytest.mark.parametrize(
    ("edits", "history"),
    [
        ([Drop(Ref(0), ""), Drop(Ref(1), "")], b"[ 3 ]"),
        ([Drop(Ref(0), ""), Drop(Ref(2), "")], b"[ 2 ]"),
        ([Drop(Ref(1), ""), Drop(Ref(2), "")], b"[ 1 ]"),
        ([Drop(Ref(0), ""), Drop(Ref(1), ""), Drop(Ref(2), "")], b"[  ]"),
        ([Drop(Ref(1), "")], b"[ 1 , 3 ]"),
    ],
)
def test_dropping_down_to_one_or_none_leaves_a_list(edits: Sequence[Drop], history: bytes) -> None:
    """Commas go with the messages that go, first, last or all."""
    request = read(b'{"messages":[ 1 ,\n2 , 3 ]}', "openai-chat")

    assert write(request, Plan(tuple(edits))) == b'{"messages":' + history + b"}"


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("anthropic", b'{"role":"user","content":[{"type":"text","text":"[gone]"}]}'),
        ("openai-chat", b'{"role":"user","content":"[gone]"}'),
    ],
)
def test_a_message_is_put_into_an_empty_history(format: str, message: bytes) -> None:  # noqa: A002 - the word for it
    """Where nothing was, what we made stands alone."""
    request = read(b'{"messages":[ ]}', format)

    assert write(request, Plan((Fold((), 0, MARKER, ""),))) == b'{"messages":[' + message + b"]}"


@pytest.mark.parametrize(
    ("part", "new", "kinds"),
    [
        (0, ToolCall("a", "ls", "{}"), "Text by ToolCall"),
        (1, Text("x"), "ToolCall by Text"),
        (1, result("a"), "ToolCall by ToolResult"),
    ],
)
def test_a_part_is_replaced_by_its_own_kind_alone(part: int, new: Any, kinds: str) -> None:
    """A plan that would turn one thing into another is a mistake in the program."""
    request = read(ANTHROPIC, "anthropic")

    with pytest.raises(TypeError, match=f"an edit cannot replace {kinds}"):
        write(request, Plan((Replace(1, part, new, ""),)))


# ------------------------------------------------------------------- envelope


@pytest.mark.parametrize("format", WITH_CONTENT)
@pytest.mark.parametrize(
    ("edit", "changes"),
    [
        (EnvelopeEdit(("model",), '"m2"', ""), None),
        (
            EnvelopeEdit(("thinking",), '{"type":"adaptive"}', ""),
            [(b"\n}", b',"thinking":{"type":"adaptive"}\n}')],
        ),
    ],
)
def test_a_parameter_is_set(
    format: str,  # noqa: A002 - the word for it
    edit: EnvelopeEdit,
    changes: Sequence[Change] | None,
) -> None:
    """One that is there takes its new value where it stands, another is put at the end."""
    request = read(ORIGINALS[format], format)
    model = request.members["model"]

    body = write(request, Plan((), (edit,)))

    assert body == changed(request.body, changes or [(model, b'"m2"')])


def test_parameters_and_messages_change_in_one_go() -> None:
    """Edits on both sides of the history do not move each other."""
    request = read(ANTHROPIC, "anthropic")
    edits = (EnvelopeEdit(("max_tokens",), "10", ""), EnvelopeEdit(("model",), '"m2"', ""))

    body = write(request, Plan((Drop(Ref(3), ""),), edits))

    assert body == changed(
        ANTHROPIC,
        [
            (b'"max_tokens":9', b'"max_tokens":10'),
            (DONE, b""),
            (b'"claude-opus-4-6"', b'"m2"'),
        ],
    )


def test_a_parameter_that_stands_twice_is_set_where_it_counts() -> None:
    """Of two the last one counts, for the provider and for us."""
    request = read(b'{"model":"a","messages":[],"model":"b","x":1}', "openai-chat")

    body = write(request, Plan((), (EnvelopeEdit(("model",), '"c"', ""),)))

    assert body == b'{"model":"a","messages":[],"model":"c","x":1}'


# -------------------------------------------------------------- cache markers

HOUR = b'{"type" : "ephemeral","ttl":"1h"}'
MARKED = (
    b'{"model":"claude-x","messages":[{"role":"user","content":"a"},'
    b'{"role":"assistant","content":[{"type":"text","text":"b","cache_control":%s},'
    b'{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]},'
    b'{"role":"user","content":[{"type":"text","text":"d","cache_control":{"type":"ephemeral"}},'
    b'{"type":"text","text":"e"}]},{"role":"user","content":"f"}]}' % HOUR
)
"""The same in both: routers take Anthropic's markers in OpenAI's format."""

GONE = b'{"type":"text","text":"[gone]","cache_control":%s}' % HOUR


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_a_marker_moves_to_the_message_that_stands_for_its_own(format: str) -> None:  # noqa: A002 - the word for it
    """What the client wanted cached up to there stays cached up to there."""
    request = read(MARKED, format)

    written = write(request, Plan((Fold((Ref(1), Ref(2)), 1, MARKER, ""),)))

    gone = request.body[request.spans[1][0] : request.spans[2][1]]
    made = b'{"role":"user","content":[%s]}' % GONE
    assert written == changed(request.body, [(gone, made)])


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_a_marker_moves_to_the_text_that_joins_a_string(format: str) -> None:  # noqa: A002 - the word for it
    """The string becomes a block, with its bytes as they were."""
    request = read(MARKED, format)

    written = write(request, Plan((Fold((Ref(1), Ref(2)), 1, MARKER, "", joins=0),)))

    gone = request.body[request.spans[0][1] : request.spans[2][1]]
    joined = b'"content":[{"type":"text","text":"a"},%s]' % GONE
    assert written == changed(request.body, [(b'"content":"a"', joined), (gone, b"")])


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_a_text_that_joins_blocks_takes_the_marker(format: str) -> None:  # noqa: A002 - the word for it
    """The message that it joins keeps its own marker, and the count stays."""
    body = MARKED
    request = read(body, format)

    written = write(request, Plan((Fold((Ref(1),), 1, MARKER, "", joins=2),)))

    assert written == changed(
        body,
        [
            (b"," + request.message_bytes(1), b""),
            (
                b'{"type":"text","text":"e"}]',
                b'{"type":"text","text":"e"},%s]' % GONE,
            ),
        ],
    )


@pytest.mark.parametrize("format", WITH_CONTENT)
@pytest.mark.parametrize(
    "edit",
    [
        Drop(Ref(1), ""),
        Fold((Ref(3),), 3, MARKER, ""),
        Fold((Ref(2, (1,)),), 3, MARKER, ""),
    ],
)
def test_no_cache_marker_is_invented(format: str, edit: Any) -> None:  # noqa: A002 - the word for it
    """What had none hands none on, and what just goes takes its own along."""
    request = read(MARKED, format)
    goes = request.message_bytes(1) if isinstance(edit, Drop) else b""

    written = write(request, Plan((edit,)))

    assert written.count(b"cache_control") == (
        request.body.count(b"cache_control") - goes.count(b"cache_control")
    )


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_a_marker_is_handed_on_once(format: str) -> None:  # noqa: A002 - the word for it
    """Of two made messages that stand for one removed one, the first takes its marker."""
    request = read(MARKED, format)
    too = Message.user("[too]", origin="marker")

    written = write(request, Plan((Fold((Ref(1),), 1, MARKER, ""), Fold((Ref(1),), 1, too, ""))))

    assert (written.count(HOUR), written.count(GONE), written.count(b"[too]")) == (1, 1, 1)


@pytest.mark.parametrize("format", WITH_CONTENT)
def test_a_marker_that_is_null_is_none(format: str) -> None:  # noqa: A002 - the word for it
    """SDKs write null where they have nothing to say."""
    body = (
        b'{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":null}]},'
        b'{"role":"user","content":"f"}]}'
    )

    written = write(read(body, format), Plan((Fold((Ref(0),), 0, MARKER, ""),)))

    assert b"cache_control" not in written


def test_twin_blocks_of_a_result_share_no_marker() -> None:
    """Of two blocks that say the same, each keeps its own bytes, and the marker stays one."""
    body = (
        b'{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":['
        b'{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},{"type":"text","text":"y"},'
        b'{"type":"text","text":"x"}]}]}]}'
    )

    written = write(
        read(body, "anthropic"), Plan((Replace(0, 0, result("a", Text("x"), Text("x")), ""),))
    )

    assert written == body.replace(b'{"type":"text","text":"y"},', b"")


# -------------------------------------------------------------------- any plan


_words_made = st.text(min_size=1).filter(lambda text: bool(text.strip()))


@st.composite
def _plans(draw: st.DrawFn, messages: int) -> Plan:
    """Some messages go, some of them into markers, and some parameter is set."""
    edits: list[Any] = [
        Drop(Ref(place), "") for place in draw(st.sets(st.integers(0, messages - 1)))
    ]
    for _ in range(draw(st.integers(0, 2))):
        start = draw(st.integers(0, messages - 1))
        stop = draw(st.integers(start, messages))
        removed = tuple(Ref(place) for place in range(start, stop))
        edits.append(Fold(removed, start, Message.user(draw(_words_made)), ""))
    envelope = draw(st.sampled_from([(), (EnvelopeEdit(("added",), "[1.0]", ""),)]))
    return Plan(tuple(edits), envelope)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_what_stays_keeps_its_bytes_under_any_plan(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """The rest of the history is the very row of bytes that it was, and the envelope too."""
    body = data.draw(bodies(format))
    request = read(body, format)
    plan = data.draw(_plans(len(request.spans)))
    gone = {ref.message for edit in plan for ref in _removed(edit)}

    written = read(write(request, plan), format)

    start, stop = request.history_span
    new_start, new_stop = written.history_span
    added = b',"added":[1.0]' if plan.envelope else b""
    assert written.body[:new_start] == body[:start]
    assert written.body[new_stop:].replace(added, b"", 1) == body[stop:]
    staying = [request.message_bytes(p) for p in range(len(request.spans)) if p not in gone]
    found = iter([written.message_bytes(place) for place in range(len(written.spans))])
    assert all(message in found for message in staying)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_what_is_written_is_what_the_plan_says(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Decoded, the history is the old one without what goes, and with what was made."""
    body = data.draw(bodies(format))
    request = read(body, format)
    plan = data.draw(_plans(len(request.spans)))
    gone = {ref.message for edit in plan for ref in _removed(edit)}
    made = [(edit.before, edit.message.text) for edit in plan if isinstance(edit, Fold)]

    written = json.loads(write(request, plan))

    original, after = history_of(json.loads(body)), history_of(written)
    expected: list[Any] = []
    for place in range(len(original) + 1):
        expected += [text for before, text in made if before == place]
        expected += [original[place]] if place < len(original) and place not in gone else []
    assert len(after) == len(expected)
    for message, wanted in zip(after, expected, strict=True):
        assert message == wanted or _words(message) == wanted


@pytest.mark.parametrize("max_bytes", [0, 300, 10**6])
@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_what_was_written_before_is_written_again(
    data: st.DataObject,
    format: str,  # noqa: A002 - the word for it
    max_bytes: int,
) -> None:
    """Forms that were kept change no byte, whichever request and plan they came from."""
    forms = Forms(max_bytes)
    for body in data.draw(st.lists(bodies(format), min_size=1, max_size=2)):
        request = read(body, format)
        for changed_words in ("short", "other", "short"):
            shorter = [
                Replace(place, number, ToolResult(part.call_id, (Text(changed_words),)), "")
                for place, message in enumerate(request.messages)
                if message.result_ids
                for number, part in enumerate(message.parts)
                if isinstance(part, ToolResult)
            ]
            plan = Plan((*shorter, *data.draw(_plans(len(request.spans))).edits))
            assert write(request, plan, forms) == write(request, plan)


def test_forms_are_kept_up_to_their_cap() -> None:
    """The oldest go; a form larger than all may be is not kept; nothing shows its words."""
    forms = Forms(10)
    for key in range(4):
        forms.add(key, b"words")
    forms.add(9, b"x" * 11)

    assert [forms.get(key) for key in (0, 1, 2, 3, 9)] == [None] * 5
    forms.add(5, b"words")
    forms.add(5, b"words")
    forms.add(6, b"words")
    assert [forms.get(key) for key in (5, 6)] == [b"words"] * 2
    assert repr(forms) == "<Forms 2 of 10 bytes>"


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data())
def test_cache_markers_never_become_more(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Whatever goes and whatever is made, there are at most four, as there were before."""
    body = data.draw(bodies(format))
    request = read(body, format)
    plan = data.draw(_plans(len(request.spans)))

    written = write(request, plan)

    assert written.count(b'"cache_control"') <= body.count(b'"cache_control"')


def _removed(edit: Any) -> tuple[Ref, ...]:
    return edit.removed if isinstance(edit, Fold) else (edit.ref,)


def _words(message: dict[str, Any]) -> str:
    content = message["parts"] if "parts" in message else message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
