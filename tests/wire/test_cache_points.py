"""Cache markers that are set where a client sets none: where they stand, and what they leave alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.valid_bodies import BODIES
from trimtab import CharTokenCounter, Message, Policy, Session, State
from trimtab.links import links, root
from trimtab.messages import Text
from trimtab.plan import Drop, Fold, Plan, Ref, Replace, apply
from trimtab.tokens import Measure
from trimtab.wire import (
    CacheHints,
    Call,
    Request,
    build,
    check,
    conversation_key,
    format_named,
    read,
    view_counts,
    with_cache_markers,
)
from trimtab.wire.claude_models import least_cacheable_tokens
from trimtab.wire.json_spans import dump

Json = dict[str, Any]

CLAUDE, GPT, OLDER_GPT = "claude-opus-5", "gpt-5.6", "gpt-4.1"
MARK = {"cache_control": {"type": "ephemeral"}}
POINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}
LONG = CacheHints(surface_tokens=10_000)
"""A prefix that is long enough from its first byte on."""


def heavy(message: Message) -> int:
    """Any message is a thousand tokens."""
    del message
    return 1_000


def marked(body: Json, format: str, hints: CacheHints = LONG) -> Json:  # noqa: A002 - the word for it
    """A body with its markers, decoded."""
    found: Json = json.loads(with_cache_markers(request_of(body, format), heavy, hints))
    return found


def request_of(body: Json, format: str) -> Request:  # noqa: A002 - the word for it
    """A request, read."""
    return read(json.dumps(body, ensure_ascii=False).encode(), format)


def text(words: str, **more: Any) -> Json:
    """A block of text."""
    return {"type": "text", "text": words, **more}


def said(role: str, content: Any) -> Json:
    """A message."""
    return {"role": role, "content": content}


def result(call_id: str, content: Any, **more: Any) -> Json:
    """A tool result of Anthropic's."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def called(*ids: str) -> Json:
    """An answer of Anthropic's that calls tools."""
    return said(
        "assistant", [{"type": "tool_use", "id": i, "name": "ls", "input": {}} for i in ids]
    )


# ------------------------------------------------------------------ the places


def test_anthropic_is_marked_behind_the_system_prompt_at_the_last_end_and_at_the_end() -> None:
    """The last block of each; a bare string becomes the one block that it stands for."""
    tools = [{"name": "ls", "input_schema": {}}]
    body = {
        "model": CLAUDE,
        "max_tokens": 9,
        "tools": tools,
        "system": [text("a"), text("b")],
        "messages": [
            said("user", "go"),
            called("c1", "c2"),
            said("user", [result("c1", "1"), result("c2", "2")]),
        ],
    }

    assert marked(body, "anthropic") == {
        **body,
        "system": [text("a"), text("b", **MARK)],
        "messages": [
            said("user", [text("go", **MARK)]),
            called("c1", "c2"),
            said("user", [result("c1", "1"), result("c2", "2", **MARK)]),
        ],
    }


def test_the_stable_boundary_is_marked_too() -> None:
    """Four places, of which one lies behind the text that a compaction put in."""
    texts = ("task", "[what was removed]", "go on", "and on")
    turns = [said("user", words) for words in texts]
    messages = [turns[0], turns[1], called("c"), said("user", [result("c", "x")])]
    messages += [said("assistant", "ok"), turns[2], said("assistant", "ok"), turns[3]]
    body = {"model": CLAUDE, "max_tokens": 9, "system": [text("s")], "messages": messages}
    hints = CacheHints(surface_tokens=10_000, sent_messages=6, stable_messages=2)

    found = marked(body, "anthropic", hints)

    places = [
        place for place, message in enumerate(found["messages"]) if "cache" in json.dumps(message)
    ]
    assert found["system"] == [text("s", **MARK)]
    assert places == [1, 5, 7]


@pytest.mark.parametrize(
    ("system", "tools"),
    [
        ("a bare string", [{"name": "ls", "input_schema": {}, **MARK}]),
        ([text(" ")], [{"name": "ls", "input_schema": {}, **MARK}]),
        (None, [{"type": "custom", "name": "ls", **MARK}, {"name": "x", "defer_loading": True}]),
        (None, [{"name": "ls", **MARK}, {"type": "web_search_20250305", "name": "web_search"}]),
        (None, [{"name": "x", "defer_loading": True}]),
        (None, None),
    ],
)
def test_where_the_system_prompt_cannot_be_marked_the_tools_are(system: Any, tools: Any) -> None:
    """The last of the client's own tools that the model is told from the start."""
    plain = [{k: v for k, v in tool.items() if k not in MARK} for tool in tools or ()]
    given = {"system": system, "tools": None if tools is None else plain}
    body: Json = {key: value for key, value in given.items() if value is not None}
    body |= {"model": CLAUDE, "max_tokens": 9, "messages": [said("user", "go")]}

    found = marked(body, "anthropic")

    assert found.get("system") == system
    assert found.get("tools") == tools
    assert found["messages"] == [said("user", [text("go", **MARK)])]


def test_an_hour_is_asked_for_everywhere() -> None:
    """So that no longer life stands behind a shorter one."""
    body = {
        "model": CLAUDE,
        "max_tokens": 9,
        "system": [text("s")],
        "messages": [said("user", "q")],
    }

    found = marked(body, "anthropic", CacheHints(surface_tokens=10_000, life="1h"))

    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert found["system"] == [text("s", **hour)]
    assert found["messages"] == [said("user", [text("q", **hour)])]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            [text("a"), {"type": "thinking", "thinking": "", "signature": "s"}],
            [text("a", **MARK), {"type": "thinking", "thinking": "", "signature": "s"}],
        ),
        ([text("a"), {"type": "unheard_of"}], [text("a", **MARK), {"type": "unheard_of"}]),
        ([text("a"), text(" \n")], [text("a", **MARK), text(" \n")]),
        ([text("a"), "no block"], [text("a", **MARK), "no block"]),
        ([result("c", "x"), result("d", "")], [result("c", "x", **MARK), result("d", "")]),
        ([result("c", "x"), result("d", [])], [result("c", "x", **MARK), result("d", [])]),
        ([result("c", "x"), result("d", None)], [result("c", "x", **MARK), result("d", None)]),
        ([result("c", [text("x")])], [result("c", [text("x")], **MARK)]),
        ([text("a", cache_control=None)], [text("a", **MARK)]),
        ([], []),
        (" ", " "),
        (None, None),
    ],
)
def test_a_marker_stands_on_the_last_block_that_may_hold_one(content: Any, expected: Any) -> None:
    """Not on thinking, nor on what is empty or not known; null is no marker and becomes one."""
    body = {"model": CLAUDE, "max_tokens": 9, "messages": [said("user", content)]}

    assert marked(body, "anthropic")["messages"] == [said("user", expected)]


def test_a_message_that_would_become_another_one_is_not_marked() -> None:
    """Its string is not known again as a block; the marker goes to the message before."""
    messages = [said("user", "a"), {"type": "message", **said("user", "q")}]
    body = {"model": CLAUDE, "max_tokens": 9, "messages": messages}

    assert marked(body, "anthropic")["messages"] == [said("user", [text("a", **MARK)]), messages[1]]


def test_answers_and_system_messages_of_the_conversation_are_not_marked() -> None:
    """An answer that is begun goes on, and such a system message can be gone on the next turn."""
    messages = [said("user", "q"), said("system", "now"), said("assistant", "I will")]
    body = {"model": CLAUDE, "max_tokens": 9, "messages": messages}

    assert marked(body, "anthropic")["messages"] == [
        said("user", [text("q", **MARK)]),
        *messages[1:],
    ]


def test_chat_is_marked_where_its_provider_does_not_mark_it_itself() -> None:
    """Behind the system message, the first words and the last end; the end marks itself."""
    calls = [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    asks = {"role": "assistant", "content": None, "tool_calls": calls}
    tool = {"role": "tool", "tool_call_id": "c"}
    messages = [said("system", "s"), said("user", "q"), asks, {**tool, "content": "x"}]
    messages += [said("assistant", "ok"), said("user", "more")]

    found = marked({"model": GPT, "messages": messages}, "openai-chat")

    assert found["messages"] == [
        said("system", [text("s", **POINT)]),
        said("user", [text("q", **POINT)]),
        asks,
        {**tool, "content": [text("x", **POINT)]},
        *messages[4:],
    ]


def test_responses_are_marked_on_parts_of_the_input_alone() -> None:
    """A bare string stays one: this format does not take it for the same as a part."""
    part = {"type": "input_text", "text": "q"}
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c"}
    answer = {"role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    items = [said("developer", "d"), said("user", [part]), call, {**output, "output": [part]}]
    items += [answer, said("user", "more")]

    found = marked({"model": GPT, "input": items}, "openai-responses")

    on = {**part, **POINT}
    assert found["input"] == [
        items[0],
        said("user", [on]),
        call,
        {**output, "output": [on]},
        answer,
        items[5],
    ]


def test_the_three_places_of_openai_go_to_what_saves_most() -> None:
    """The last end, the stable boundary, the front: the latest three are all that is written."""
    messages = [said("developer", "d"), said("user", "task"), said("user", "[removed]")]
    messages += [said("assistant", "a"), said("user", "b"), said("assistant", "c")]
    messages += [said("user", "d")]
    hints = CacheHints(surface_tokens=10_000, sent_messages=5, stable_messages=3)

    found = marked({"model": GPT, "messages": messages}, "openai-chat", hints)["messages"]

    assert [place for place, m in enumerate(found) if isinstance(m["content"], list)] == [0, 2, 4]


@pytest.mark.parametrize(
    ("format", "model"),
    [
        ("openai-chat", "mistral-large"),
        ("openai-chat", "openai/gpt-5.6"),
        ("openai-chat", "gpt-oss-120b"),
        ("openai-chat", "gpt-35-turbo"),
        ("openai-responses", "grok-4"),
        ("gemini", ""),
    ],
)
def test_what_a_server_may_not_know_is_not_sent(format: str, model: str) -> None:  # noqa: A002 - the word for it
    """No marker and no key for a model that is not known to take them."""
    surface = {"model": model} if model else {}
    parts = {"parts": [{"text": "q"}]} if format == "gemini" else {"content": "q"}
    field_ = format_named(format).history_field
    request = request_of({**surface, field_: [{"role": "user", **parts}]}, format)
    hints = CacheHints(surface_tokens=10_000, key="k")

    assert with_cache_markers(request, heavy, hints) is request.body


@pytest.mark.parametrize(
    "model", [OLDER_GPT, "gpt-5.5", "o4-mini", "ft:gpt-4o:x", "chatgpt-4o-latest"]
)
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
def test_earlier_models_of_openai_get_the_key_alone(model: str, format: str) -> None:  # noqa: A002 - the word for it
    """They find the longest prefix themselves."""
    body = {"model": model, format_named(format).history_field: [said("user", "q")]}

    found = marked(body, format, CacheHints(surface_tokens=10_000, key="k"))

    assert found == {**body, "prompt_cache_key": "k"}


@pytest.mark.parametrize("model", [GPT, "gpt-5.6-mini", "gpt-5.10", "gpt-6", "GPT-6-codex"])
def test_models_with_breakpoints_get_them(model: str) -> None:
    """From 5.6 on, by number and not by letters."""
    found = marked({"model": model, "messages": [said("user", "q")]}, "openai-chat")

    assert found["messages"] == [said("user", [text("q", **POINT)])]


def test_the_model_may_stand_in_the_address() -> None:
    """Then the hints name it; what the body says counts first."""
    body = {"messages": [said("user", "q")], "model": ""}
    hints = CacheHints(surface_tokens=600, model="claude-opus-5")

    assert marked(body, "anthropic", hints) != body
    assert marked({**body, "model": "claude-opus-4-5"}, "anthropic", hints)["messages"] == [
        said("user", "q")
    ]


# ------------------------------------------------------- what the client decides


@pytest.mark.parametrize(
    ("format", "more"),
    [
        ("anthropic", {"cache_control": {"type": "ephemeral"}}),
        ("anthropic", {"system": [text("s", **MARK)]}),
        ("anthropic", {"tools": [{"name": "ls", "input_schema": {}, **MARK}]}),
        ("anthropic", {"messages": [said("user", [text("q", **MARK), text("r")])]}),
        ("anthropic", {"messages": [said("user", [result("c", [text("q", **MARK)])])]}),
        ("anthropic", {"anthropic_version": "bedrock-2023-05-31"}),
        ("anthropic", {"thread": {"type": "create"}}),
        ("openai-chat", {"prompt_cache_key": "mine"}),
        ("openai-chat", {"prompt_cache_options": {"mode": "explicit"}}),
        ("openai-chat", {"prompt_cache_retention": "24h"}),
        ("openai-chat", {"messages": [said("user", [text("q", **POINT)])]}),
        ("openai-chat", {"messages": [said("user", [text("q", **MARK)])]}),
        ("openai-chat", {"messages": [{**said("user", "q"), **MARK}]}),
        ("openai-responses", {"prompt_cache_key": ""}),
        ("openai-responses", {"previous_response_id": "resp_1"}),
        ("openai-responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}),
        ("gemini", {}),
    ],
)
def test_what_the_client_decided_goes_out_as_it_came(format: str, more: Json) -> None:  # noqa: A002 - the word for it
    """Its markers, its key, its options; and a history that lies elsewhere. The very same object."""
    models = {"anthropic": CLAUDE, "gemini": "gemini-3-pro"}
    histories: Json = {"gemini": {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}}
    history = {format_named(format).history_field: [said("user", "q"), said("user", "r")]}
    body = {"model": models.get(format, GPT), **histories.get(format, history), **more}
    request = request_of(body, format)
    hints = CacheHints(surface_tokens=10_000, sent_messages=1, key="k")

    assert with_cache_markers(request, heavy, hints) is request.body


def test_a_word_that_reads_like_a_marker_decides_nothing() -> None:
    """In arguments, in schemas, in text and where it is null it is no marker."""
    arguments = {"type": "tool_use", "id": "c", "name": "ls", "input": {"cache_control": {"a": 1}}}
    tools = [{"name": "ls", "input_schema": {"properties": {"cache_control": {}}}}]
    messages = [
        said("user", [text('{"cache_control": 1}', cache_control=None)]),
        said("assistant", [arguments]),
        said("user", [result("c", '"cache_control"')]),
    ]
    body = {"model": CLAUDE, "max_tokens": 9, "tools": tools, "messages": messages}
    body |= {"cache_control": None}

    found = marked(body, "anthropic")

    assert found["messages"][2] == said("user", [result("c", '"cache_control"', **MARK)])
    assert found["messages"][0] == said("user", [text('{"cache_control": 1}', **MARK)])


# ------------------------------------------------------------------- the body


def test_all_else_keeps_its_bytes() -> None:
    """Escapes, numbers, blanks, the order of keys, and what stands behind the messages."""
    body = (
        b'{ "messages" : [ {"content":"caf\\u00e9 \\ud83d", "role":"user"} ],\n'
        b' "system":[{"type":"text","text":"s"} ], "temperature": 1.00, "model":"claude-opus-5" }\n'
    )

    found = with_cache_markers(read(body, "anthropic"), heavy, LONG)

    mark = b',"cache_control":{"type":"ephemeral"}}'
    assert found == body.replace(
        b'"caf\\u00e9 \\ud83d"', b'[{"type":"text","text":"caf\\u00e9 \\ud83d"' + mark + b"]"
    ).replace(b'"s"}', b'"s"' + mark)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"model":"gpt-4.1","input":"hi"\n}\n',
            b'{"model":"gpt-4.1","input":"hi","prompt_cache_key":"k"\n}\n',
        ),
        (
            b'{"prompt_cache_key":null,"model":"gpt-4.1","input":[]}',
            b'{"prompt_cache_key":"k","model":"gpt-4.1","input":[]}',
        ),
    ],
)
def test_the_key_is_put_behind_all_else(body: bytes, expected: bytes) -> None:
    """Or where its null stands."""
    hints = CacheHints(surface_tokens=0, key="k")

    assert with_cache_markers(read(body, "openai-responses"), heavy, hints) == expected


def test_without_a_key_none_is_set() -> None:
    """And with nothing to set the very same object comes back."""
    request = request_of({"model": OLDER_GPT, "messages": [said("user", "q")]}, "openai-chat")

    assert with_cache_markers(request, heavy, LONG) is request.body


# ------------------------------------------------------------- least lengths


@pytest.mark.parametrize(
    ("model", "least"),
    [
        ("claude-opus-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-mythos-5", 512),
        ("anthropic/claude-sonnet-5.5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-sonnet-4-5-20250929", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5", 4096),
        ("claude-opus-9", 4096),
        ("claude-next", 4096),
        ("some-model", 4096),
    ],
)
def test_a_model_caches_from_its_least_length_on(model: str, least: int) -> None:
    """As Anthropic lists it; of what is not listed the most."""
    body = {"model": model, "max_tokens": 9, "system": [text("s")], "messages": [said("user", "q")]}

    assert least_cacheable_tokens(model) == least
    assert marked(body, "anthropic", CacheHints(surface_tokens=least))["system"] != body["system"]
    assert marked(body, "anthropic", CacheHints(surface_tokens=least - 1))["system"] == [text("s")]


def test_the_tools_alone_are_weighed_without_the_system_prompt() -> None:
    """A marker on the tools of a long system prompt would be one on a short prefix."""
    body = {
        "model": CLAUDE,
        "max_tokens": 9,
        "tools": [{"name": "ls", "input_schema": {}}],
        "system": "long",
        "messages": [said("user", "q")],
    }

    found = marked(body, "anthropic", CacheHints(surface_tokens=1_000 + 511))

    assert found["tools"] == body["tools"]
    assert found["messages"] == [said("user", [text("q", **MARK)])]


@given(data=st.data())
@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_no_prefix_is_marked_that_is_too_short(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Whatever messages weigh; and as soon as the end is long enough, it is marked."""
    weights = data.draw(st.lists(st.integers(0, 900), min_size=1, max_size=12))
    roles = ("user", "assistant")
    messages = [said(roles[n % 2], str(n)) for n in range(len(weights))]
    surface = data.draw(st.integers(0, 1_500))
    sent = data.draw(st.integers(0, len(weights)))
    hints = CacheHints(surface_tokens=surface, sent_messages=sent, stable_messages=sent // 2)
    model, least = (CLAUDE, 512) if format == "anthropic" else (GPT, 1024)

    def weigh(message: Message) -> int:
        return weights[int(message.text)]

    request = request_of({"model": model, "max_tokens": 9, "messages": messages}, format)
    found = json.loads(with_cache_markers(request, weigh, hints))["messages"]

    sizes = [surface + sum(weights[: place + 1]) for place in range(len(weights))]
    places = [place for place, m in enumerate(found) if isinstance(m["content"], list)]
    assert all(sizes[place] >= least for place in places)
    last = (len(weights) - 1) // 2 * 2
    if format == "anthropic":
        assert (last in places) == (sizes[last] >= least)


def test_only_as_many_messages_are_weighed_as_make_a_prefix() -> None:
    """A long history is not decoded to find out that it is long."""
    asked: list[str] = []

    def weigh(message: Message) -> int:
        asked.append(message.text)
        return 300

    messages = [said("user", str(n)) for n in range(500)]
    request = request_of({"model": CLAUDE, "max_tokens": 9, "messages": messages}, "anthropic")

    with_cache_markers(request, weigh, CacheHints(surface_tokens=0))

    assert asked == ["0", "1"]
    assert "messages" not in request.__dict__


# ---------------------------------------------------------------- the law of it


def stripped(body: Json, format: str) -> Json:  # noqa: A002 - the word for it
    """A body without markers and keys of the cache, taken out where a format allows them."""
    keys = {"cache_control", "prompt_cache_breakpoint"}
    tops = keys | {"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"}

    def block(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kept = {key: inner for key, inner in value.items() if key not in keys}
        if isinstance(kept.get("content"), list):
            kept["content"] = [block(each) for each in kept["content"]]
        return kept

    def message(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            key: [block(each) for each in inner]
            if key in ("content", "output") and isinstance(inner, list)
            else inner
            for key, inner in value.items()
        }

    whole = {key: value for key, value in body.items() if key not in tops}
    for key in ("tools", "system"):
        if isinstance(whole.get(key), list):
            whole[key] = [block(each) for each in whole[key]]
    history = format_named(format).history_field
    if isinstance(whole[history], list):
        whole[history] = [message(each) for each in whole[history]]
    return whole


def bare(body: Json, format: str) -> Json:  # noqa: A002 - the word for it
    """A body in which each lone text block is the bare string that it stands for."""
    history = format_named(format).history_field
    if not isinstance(body[history], list):
        return body

    def message(value: Any) -> Any:
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(content, list) or len(content) != 1:
            return value
        is_text = isinstance(content[0], dict) and content[0].get("type") == "text"
        is_lone = is_text and content[0].keys() == {"type", "text"}
        return {**value, "content": content[0]["text"]} if is_lone else value

    return {**body, history: [message(each) for each in body[history]]}


def count_of(body: bytes, format: str) -> int:  # noqa: A002 - the word for it
    """How many markers a body has; none of its words reads like one."""
    wire_format = format_named(format)
    return sum(body.count(b'"%b"' % key.encode()) for key in wire_format.marker_keys)


hints_of = st.builds(
    CacheHints,
    surface_tokens=st.sampled_from((0, 400, 600, 5_000)),
    sent_messages=st.integers(0, 12),
    stable_messages=st.integers(0, 12),
    key=st.sampled_from(("", "0" * 32)),
    life=st.sampled_from(("5m", "1h")),
)


@pytest.mark.parametrize("format", BODIES)
@given(data=st.data())
def test_markers_change_nothing_else(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """No new problem, no more than allowed, the same forms, and taken out again the same body."""
    body = stripped(data.draw(BODIES[format]()), format)
    request = request_of(body, format)

    found = with_cache_markers(request, heavy, data.draw(hints_of))

    after = read(found, format)
    most = {"anthropic": 4, "openai-chat": 3, "openai-responses": 3, "gemini": 0}[format]
    assert count_of(found, format) <= most
    assert check(found, format) == check(request.body, format)
    assert list(map(bytes, after.forms())) == list(map(bytes, request.forms()))
    assert after.format.surface_forms(after.members) == request.format.surface_forms(
        request.members
    )
    assert bare(stripped(json.loads(found), format), format) == bare(body, format)
    if not count_of(found, format) and b'"prompt_cache_key"' not in found:
        assert found is request.body


@pytest.mark.parametrize("format", BODIES)
@given(data=st.data())
def test_a_body_with_markers_of_its_own_stays_as_it_is(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Setting them twice is setting them once, and a client's are never added to."""
    request = request_of(data.draw(BODIES[format]()), format)
    hints = data.draw(hints_of)

    once = with_cache_markers(request, heavy, hints)
    again = read(once, format)

    if count_of(request.body, format):
        assert once is request.body
    assert with_cache_markers(again, heavy, hints) is again.body


# -------------------------------------------------------------- turn after turn


@dataclass
class Provider:
    """Anthropic's cache to the letter of its documentation, with an endless life.

    Attributes:
        held: What was written: hashes of prefixes.
        least: Blocks that a prefix must have.
    """

    held: set[bytes] = field(default_factory=set)
    least: int = 0

    def take(self, body: Json) -> tuple[int, int, int]:
        """Take a request.

        Returns:
            Blocks read from the cache, blocks up to the last marker, and all blocks.
        """
        blocks = list(self._blocks(body))
        chain, state = [], b""
        for block, _ in blocks:
            state = sha256(state + dump(block)).digest()
            chain.append(state)
        points = [place for place, (_, is_marked) in enumerate(blocks) if is_marked]
        assert len(points) <= 4
        found = 0
        for point in reversed(points):
            seen = range(point, max(-1, point - 20), -1)
            found = next((place + 1 for place in seen if chain[place] in self.held), 0)
            if found:
                break
        self.held |= {chain[point] for point in points if point + 1 >= self.least}
        return found, points[-1] + 1 if points else 0, len(blocks)

    def _blocks(self, body: Json) -> Iterator[tuple[Json, bool]]:
        """Each block of the prefix, and whether a marker stands on it."""
        for key in ("tools", "system"):
            value = body.get(key) or []
            for block in [text(value)] if isinstance(value, str) else value:
                yield self._told({"in": key, **block})
        for message in body["messages"]:
            content = message["content"]
            for block in [text(content)] if isinstance(content, str) else content:
                yield self._told({"in": message["role"], **block})

    def _told(self, block: Json) -> tuple[Json, bool]:
        plain = {key: value for key, value in block.items() if key != "cache_control"}
        return plain, "cache_control" in block


def script(turns: int) -> Iterator[tuple[list[Json], int]]:
    """The messages of each turn of an agent, and how many of them the turn before had sent.

    Some turns call up to 40 tools at once, some think, some only talk.
    """
    messages: list[Json] = []
    before = 0
    for turn in range(turns):
        if turn % 5 == 0:
            messages.append(said("user", f"task {turn}"))
        yield list(messages), before
        before = len(messages)
        count = (turn * 7) % 41 if turn % 4 == 3 else turn % 4
        thinking = [{"type": "thinking", "thinking": "hm", "signature": f"s{turn}"}] * (turn % 2)
        if turn % 5 == 4 or not count:
            messages.append(said("assistant", [*thinking, text(f"answer {turn}")]))
            if turn % 5 != 4:
                messages.append(said("user", f"and {turn}"))
            continue
        ids = [f"c{turn}_{n}" for n in range(count)]
        calls = called(*ids)
        calls["content"][:0] = thinking
        messages += [calls, said("user", [result(call_id, f"of {call_id}") for call_id in ids])]


SURFACE = {
    "model": CLAUDE,
    "max_tokens": 9,
    "tools": [{"name": "ls", "input_schema": {}}],
    "system": [text("be brief")],
}


@pytest.mark.parametrize("is_told", [True, False])
def test_each_turn_reads_all_that_the_last_one_wrote(is_told: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """200 turns, up to 81 blocks more on each: what ended the last request is always found.

    Where nobody says what the last request was, the newest answer tells.
    """
    provider = Provider()
    reads = [
        provider.take(
            marked(
                {**SURFACE, "messages": messages},
                "anthropic",
                CacheHints(surface_tokens=600, sent_messages=sent if is_told else 0),
            )
        )
        for messages, sent in script(200)
    ]

    assert all(written == whole for _, written, whole in reads)
    assert [found for found, _, _ in reads[1:]] == [written for _, written, _ in reads[:-1]]
    grown = [after[2] - before[2] for before, after in pairwise(reads)]
    assert sum(blocks > 20 for blocks in grown) > 25


def test_the_model_of_the_cache_finds_a_marker_at_the_end_too_little() -> None:
    """The planted fault: without the place where the last request ended, long turns read nothing."""
    provider = Provider()
    missed = 0
    for messages, _ in script(200):
        body = json.loads(json.dumps({**SURFACE, "messages": messages}))
        last = body["messages"][-1]
        if isinstance(last["content"], str):
            last["content"] = [text(last["content"])]
        last["content"][-1] |= MARK
        found, _, _ = provider.take(body)
        missed += not found

    assert missed > 25


def test_compactions_alone_make_a_turn_read_less() -> None:
    """A session that compacts: every other turn reads all that the last one wrote."""
    session = Session(Policy(limit_tokens=9_000, trigger_tokens=6_000), CharTokenCounter())
    measure = Measure(CharTokenCounter(), CLAUDE)
    provider = Provider()
    state: State | None = None
    last, compactions = 0, 0
    for messages, _ in script(200):
        given = json.dumps({**SURFACE, "messages": messages}).encode()
        turn = session.read(Call(given), "anthropic")
        rewrite = session.rewrite(turn, state)
        known = 0 if state is None else state.messages
        sent, stable = view_counts(rewrite.plan, known, len(turn.links))
        hints = CacheHints(surface_tokens=600, sent_messages=sent, stable_messages=stable)

        body = with_cache_markers(read(rewrite.body, "anthropic"), measure.message, hints)

        found, written, whole = provider.take(json.loads(body))
        is_broken = any(type(event).__name__ == "PrefixBroken" for event in rewrite.events)
        assert check(body, "anthropic") == ()
        assert written == whole
        assert found == last or (is_broken and found)
        compactions += is_broken
        last = written
        state = session.forwarded(rewrite.ticket)

    assert 3 < compactions < 60


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
def test_where_the_last_request_ended_a_breakpoint_stands(format: str) -> None:  # noqa: A002 - the word for it
    """On the last part of the user's or a tool's that it held; the front keeps its own."""
    messages: list[Json] = [said("developer", [part_of(format, "d")])]
    for number in range(30):
        messages.append(said("user", [part_of(format, f"q{number}")]))
        body = {"model": GPT, format_named(format).history_field: messages}
        hints = CacheHints(surface_tokens=2_000, sent_messages=max(0, len(messages) - 2))

        found = marked(body, format, hints)[format_named(format).history_field]

        places = [place for place, m in enumerate(found) if "prompt_cache" in json.dumps(m)]
        assert places == sorted({0, 1, max(1, len(messages) - 3)})
        kind = "output_text" if format == "openai-responses" else "text"
        messages.append(said("assistant", [{"type": kind, "text": f"a{number}"}]))


def part_of(format: str, words: str) -> Json:  # noqa: A002 - the word for it
    """A part of a message to the model."""
    return {"type": "input_text" if format == "openai-responses" else "text", "text": words}


# -------------------------------------------------------------- the two helpers


def test_the_view_of_a_plan_is_counted_as_it_is_sent() -> None:
    """Up to what was sent before, and up to the newest text that was put in."""
    messages = [Message("user" if n % 2 == 0 else "assistant", [Text(str(n))]) for n in range(10)]
    made = Message.user("[removed]")
    folded = Fold(tuple(Ref(n) for n in range(1, 5)), 5, made, "")
    joined = Fold((Ref(1), Ref(2), Ref(3)), 4, made, "", joins=4)

    assert view_counts(Plan(), 6, 10) == (6, 0)
    assert view_counts(Plan((folded,)), 8, 10) == (5, 2)
    assert view_counts(Plan((joined,)), 8, 10) == (5, 2)
    assert view_counts(Plan((Drop(Ref(0), ""), Replace(6, 0, Text("x"), ""))), 8, 10) == (7, 0)
    assert view_counts(Plan((folded, Drop(Ref(7), ""))), 10, 10) == (6, 2)
    slots = apply(Plan((folded,)), messages)
    assert slots[view_counts(Plan((folded,)), 8, 10)[1] - 1].message is made


@pytest.mark.parametrize("format", ["anthropic", "openai-chat", "openai-responses"])
def test_a_key_is_the_conversation_s_and_tells_nothing(format: str) -> None:  # noqa: A002 - the word for it
    """The same on each turn; another one for other first words, also behind the same system prompt."""

    def key(*words: str, system: str = "be brief") -> str:
        said_by = (Message.user, Message.assistant)
        messages = [said_by[n % 2](each) for n, each in enumerate(words)]
        lead = [] if format == "anthropic" else [Message("system", [Text(system)])]
        request = read(build([*lead, *messages], format), format)
        found = conversation_key(request, links(root("me", format), request.forms()))
        assert not any(each in found for each in (*words, system))
        return found

    one = key("secret words")
    assert len(one) == 32
    assert set(one) <= set("0123456789abcdef")
    assert key("secret words", "more") == key("secret words", "more", "and more") == one
    assert key("other words") != one


def test_the_key_of_nothing_and_of_a_lone_system_message() -> None:
    """Nothing has none; where nobody has spoken yet the system message must do."""
    nothing = request_of({"model": GPT, "messages": []}, "openai-chat")
    alone = request_of({"model": GPT, "messages": [said("system", "s")]}, "openai-chat")

    assert conversation_key(nothing, ()) == ""
    assert len(conversation_key(alone, links(root("", "openai-chat"), alone.forms()))) == 32
