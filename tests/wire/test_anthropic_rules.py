"""Each rule of the Messages API, by a body that breaks it alone and the nearest one that does not."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest

from trimtab.wire import check
from trimtab.wire.anthropic_rules import RULES

Json = dict[str, Any]

# --------------------------------------------------------------------- pieces

LS: Json = {"name": "ls", "input_schema": {"type": "object"}}
ASK: Json = {"role": "user", "content": "list"}
MARK: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}


def text(words: str = "words", **more: Any) -> Json:
    """A text block."""
    return {"type": "text", "text": words, **more}


def call(call_id: str = "a", **more: Any) -> Json:
    """A call of ``ls``."""
    return {"type": "tool_use", "id": call_id, "name": "ls", "input": {}, **more}


def result(call_id: str = "a", **more: Any) -> Json:
    """What ``ls`` answered."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok", **more}


def thinking(**more: Any) -> Json:
    """A thinking block with its signature."""
    return {"type": "thinking", "thinking": "hm", "signature": "c2ln", **more}


def search(name: str = "web_search", **more: Any) -> Json:
    """A call to a server tool."""
    return {"type": "server_tool_use", "id": "srv_1", "name": name, "input": {}, **more}


def found(kind: str = "web_search_tool_result") -> Json:
    """What the server tool found."""
    return {"type": kind, "tool_use_id": "srv_1", "content": []}


def user(*blocks: Any) -> Json:
    """A user message of blocks."""
    return {"role": "user", "content": list(blocks)}


def claude(*blocks: Any) -> Json:
    """An assistant message of blocks."""
    return {"role": "assistant", "content": list(blocks)}


def system(*blocks: Any) -> Json:
    """A system message inside the conversation."""
    return {"role": "system", "content": list(blocks) or "hurry"}


def picture(side: int) -> Json:
    """A square PNG of some pixels, as far as its header goes."""
    header = (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", side, side) + b"\x08\x02\0\0\0"
    )
    data = base64.b64encode(header).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def pdf(pages: int) -> Json:
    """A PDF of some pages, as far as its text shows them."""
    data = base64.b64encode(b"%PDF-1.4\n" + b"/Type /Page\n" * pages).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source}


URL: Json = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}


def body(*messages: Any, **more: Any) -> Json:
    """A request with some messages; None leaves a field out."""
    whole = {
        "model": "claude-opus-4-6",
        "max_tokens": 2048,
        "tools": [LS],
        "messages": list(messages),
        **more,
    }
    return {key: value for key, value in whole.items() if value is not None}


OLD = {"model": "claude-sonnet-4-5"}
NEW = {"model": "claude-opus-4-8"}
OFF = {"type": "disabled"}
MANUAL = {**OLD, "thinking": {"type": "enabled", "budget_tokens": 1024}}

# ---------------------------------------------------------------------- table

Row = tuple[str, str, Json, Json]
"""A rule, the place that breaks it, a body that does, and the nearest one that does not."""

ROWS: list[Row] = [
    ("A-shape", "model", body(ASK, model=None), body(ASK)),
    ("A-shape", "model", body(ASK, model=5), body(ASK, model="five")),
    ("A-shape", "max_tokens", body(ASK, max_tokens=None), body(ASK, max_tokens=0)),
    ("A-shape", "max_tokens", body(ASK, max_tokens="9"), body(ASK, max_tokens=9)),
    ("A-shape", "messages", body(messages=None), body(ASK)),
    ("A-shape", "messages", body(), body(ASK)),
    ("A-shape", "messages", body(messages={"role": "user"}), body(ASK)),
    ("A-shape", "messages[0].content", body({"role": "user"}), body(ASK)),
    ("A-shape", "messages[0].content", body({"role": "user", "content": {}}), body(ASK)),
    ("A-shape", "messages[1]", body(ASK, "list"), body(ASK, ASK)),
    ("A-shape", "messages[0].content[0]", body(user("words")), body(user(text()))),
    ("A-shape", "messages[0].content[0]", body(user({"text": "a"})), body(user(text("a")))),
    ("A-shape", "messages[0].content[0]", body(user(text(type=["text"]))), body(user(text()))),
    (
        "A-shape",
        "messages[2].content[0].content[0]",
        body(ASK, claude(call()), user(result(content=["ok"]))),
        body(ASK, claude(call()), user(result(content=[text("ok")]))),
    ),
    ("A1", "messages[0]", body(claude(text()), ASK), body(ASK, claude(text()), ASK)),
    (
        "A1",
        "messages[0]",
        body(claude(text(), {"type": "compaction", "content": "c"}), ASK),
        body(claude({"type": "compaction", "content": "c"}, text()), ASK),
    ),
    ("A1", "messages[0]", body(system(), ASK, **NEW), body(ASK, system(), **NEW)),
    (
        "A2",
        "messages[1].content[0]",
        body(ASK, claude(call())),
        body(ASK, claude(call()), user(result())),
    ),
    (
        "A2",
        "messages[1].content[0]",
        body(ASK, claude(call()), ASK),
        body(ASK, claude(call()), user(result()), ASK),
    ),
    (
        "A2",
        "messages[1].content[1]",
        body(ASK, claude(call(), call("b")), user(result())),
        body(ASK, claude(call(), call("b")), user(result()), user(result("b"))),
    ),
    ("A3", "messages[0].content[0]", body(user(result(), text())), body(user(text()))),
    (
        "A3",
        "messages[2].content[0]",
        body(ASK, claude(text()), user(result())),
        body(ASK, claude(text(), call()), user(result())),
    ),
    (
        "A3",
        "messages[2].content[1]",
        body(ASK, claude(call()), user(result(), result())),
        body(ASK, claude(call()), user(result())),
    ),
    (
        "A3",
        "messages[2].content[0]",
        body(ASK, claude(text()), user(result(tool_use_id=["a"]))),
        body(ASK, claude(text()), user(text())),
    ),
    (
        "A4",
        "messages[2].content[1]",
        body(ASK, claude(call()), user(text(), result())),
        body(ASK, claude(call()), user(result(), text())),
    ),
    (
        "A4",
        "messages[3].content[0]",
        body(ASK, claude(call()), ASK, user(result())),
        body(ASK, claude(call()), user(result()), ASK),
    ),
    (
        "A5",
        "messages[3].content[0].id",
        body(ASK, claude(call()), user(result()), claude(call()), user(result())),
        body(ASK, claude(call()), user(result()), claude(call("b")), user(result("b"))),
    ),
    (
        "A6",
        "tools",
        body(ASK, claude(call()), user(result()), tools=None),
        body(ASK, claude(text()), ASK, tools=None),
    ),
    ("A6", "tools", body(ASK, claude(call()), user(result()), tools=[]), body(ASK, tools=[])),
    ("A7", "messages[0].content", body({"role": "user", "content": ""}), body(ASK)),
    ("A7", "messages[0].content", body({"role": "user", "content": " \n"}), body(ASK)),
    ("A7", "messages[0].content", body(user()), body(user(text()))),
    ("A7", "messages[0].content[1]", body(user(text(), text("\t"))), body(user(text(), text(".")))),
    ("A7", "messages[0].content[0]", body(user({"type": "text"})), body(user(text()))),
    (
        "A7",
        "messages[1].content",
        body(ASK, {"role": "assistant", "content": ""}, ASK, **OLD),
        body(ASK, {"role": "assistant", "content": ""}, **OLD),
    ),
    ("A7", "messages[1].content", body(ASK, claude(), ASK), body(ASK, claude())),
    (
        "A7",
        "system[1]",
        body(ASK, system=[text(), text("")]),
        body(ASK, system=[text(), text("s")]),
    ),
    (
        "A7",
        "messages[2].content[0].content[0]",
        body(ASK, claude(call()), user(result(content=[text(" ")]))),
        body(ASK, claude(call()), user(result(content=" "))),
    ),
    (
        "A8",
        "messages[1].content[0]",
        body(ASK, claude(thinking(cache_control=MARK), text()), ASK),
        body(ASK, claude(thinking(), text(cache_control=MARK)), ASK),
    ),
    (
        "A8",
        "messages[1].content[0]",
        body(ASK, claude({"type": "redacted_thinking", "data": "x", "cache_control": MARK}), ASK),
        body(ASK, claude({"type": "redacted_thinking", "data": "x", "cache_control": None}), ASK),
    ),
    (
        "A9",
        "cache_control",
        body(
            user(*[text(cache_control=MARK)] * 3),
            system=[text(cache_control=MARK)],
            tools=[{**LS, "cache_control": MARK}],
        ),
        body(user(*[text(cache_control=MARK)] * 2, text()), system=[text(cache_control=MARK)]),
    ),
    (
        "A9",
        "cache_control",
        body(user(*[text(cache_control=MARK)] * 4), cache_control=MARK),
        body(user(*[text(cache_control=MARK)] * 3), cache_control=MARK),
    ),
    (
        "A9",
        "cache_control",
        body(ASK, claude(call()), user(result(content=[text(cache_control=MARK)] * 5))),
        body(ASK, claude(call()), user(result(content=[text(cache_control=MARK)] * 4))),
    ),
    (
        "A10",
        "messages[0].content[1]",
        body(user(text(cache_control=MARK), text(cache_control=HOUR))),
        body(user(text(cache_control=HOUR), text(cache_control=MARK))),
    ),
    (
        "A10",
        "messages[0].content[0]",
        body(user(text(cache_control=HOUR)), system=[text(cache_control=MARK)]),
        body(user(text(cache_control=MARK)), system=[text(cache_control=HOUR)]),
    ),
    ("A11", "messages[1]", body(ASK, claude(text("So "))), body(ASK, claude(text("So ")), ASK)),
    (
        "A11",
        "messages[1]",
        body(ASK, claude(text("So\n")), **OLD),
        body(ASK, claude(text("So")), **OLD),
    ),
    (
        "A11",
        "messages[1]",
        body(ASK, {"role": "assistant", "content": "So "}, **OLD),
        body(ASK, {"role": "assistant", "content": "So"}, **OLD),
    ),
    (
        "A13",
        "messages[1].content[0]",
        body(ASK, claude(text(), call()), user(result()), **MANUAL),
        body(ASK, claude(thinking(), text(), call()), user(result()), **MANUAL),
    ),
    (
        "A13",
        "messages[1].content[0]",
        body(
            ASK,
            claude(call()),
            user(result()),
            claude(thinking(), call("b")),
            user(result("b")),
            **MANUAL,
        ),
        body(
            ASK,
            claude(thinking(), call()),
            user(result()),
            claude(call("b")),
            user(result("b")),
            **MANUAL,
        ),
    ),
    (
        "A13",
        "messages[1].content[0]",
        body(ASK, claude(call()), user(result()), **MANUAL),
        body(ASK, claude(call()), user(result(), text()), **MANUAL),
    ),
    (
        "A14",
        "messages[1].content[0]",
        body(ASK, claude({"type": "thinking", "thinking": "hm"}, text()), ASK),
        body(ASK, claude(thinking(thinking=""), text()), ASK),
    ),
    (
        "A14",
        "messages[1].content[0]",
        body(ASK, claude(thinking(signature=""), text()), ASK),
        body(ASK, claude(thinking(), text()), ASK),
    ),
    ("A15", "messages[1]", body(ASK, system()), body(ASK, system(), **NEW)),
    (
        "A15",
        "messages[1]",
        body(ASK, system(), ASK, **NEW),
        body(ASK, system(), claude(text()), ASK, **NEW),
    ),
    (
        "A15",
        "messages[2]",
        body(ASK, claude(text()), system(), **NEW),
        body(ASK, claude(search(), found()), system(), **NEW),
    ),
    (
        "A16",
        "messages[1].content[0]",
        body(ASK, claude(search()), ASK),
        body(ASK, claude(search(), found()), ASK),
    ),
    (
        "A16",
        "messages[1].content[0]",
        body(ASK, claude(found()), ASK),
        body(ASK, claude(search()), claude(found()), ASK),
    ),
    (
        "A16",
        "messages[3].content[0]",
        body(ASK, claude(search()), ASK, claude(found()), ASK)
        | {"messages": [ASK, claude(search(), found()), ASK, claude(found()), ASK]},
        body(ASK, claude(search(), found()), ASK, claude(search(), found()), ASK),
    ),
    (
        "A16",
        "messages[5].content[0]",
        body(
            ASK, claude(search(), call()), user(result()), claude(text()), ASK, claude(found()), ASK
        ),
        body(ASK, claude(search(), call()), user(result()), claude(found(), text()), ASK),
    ),
    (
        "A17",
        "messages[1].content[0]",
        body(ASK, claude(search(), call()), user(result(), text())),
        body(ASK, claude(search(), call()), user(result())),
    ),
    (
        "A19",
        "messages[2].content[0]",
        body(ASK, claude(call(toolset_name="fs")), user(result())),
        body(ASK, claude(call(toolset_name="fs")), user(result(toolset_name="fs"))),
    ),
    ("A20", "messages", body(*[ASK] * 100_001), body(*[ASK] * 100_000)),
    ("A20", "", body(user(text("x" * (33 * 2**20)))), body(user(text("x" * (31 * 2**20))))),
    ("A21", "messages", body(user(*[URL] * 601)), body(user(*[URL] * 600))),
    ("A21", "messages", body(user(*[URL] * 101), **OLD), body(user(*[URL] * 100), **OLD)),
    ("A21", "messages", body(user(pdf(601))), body(user(pdf(600)))),
    (
        "A21",
        "messages[0].content[0]",
        body(user(picture(2001), *[URL] * 20)),
        body(user(picture(2001), *[URL] * 19)),
    ),
    (
        "A21",
        "messages[2].content[0].content[0]",
        body(ASK, claude(call()), user(result(content=[picture(2001), *[URL] * 20]))),
        body(ASK, claude(call()), user(result(content=[picture(2000), *[URL] * 20]))),
    ),
    ("A22", "messages[0].id", body({**ASK, "id": "msg_1"}), body(ASK)),
    ("A22", "messages[0].content[0].index", body(user(text(index=0))), body(user(text()))),
    (
        "A22",
        "messages[1].content[0].partial_json",
        body(ASK, claude(call(partial_json="")), user(result())),
        body(ASK, claude(call(caller={"type": "direct"})), user(result())),
    ),
    ("A-role", "messages[0].content[0]", body(user(thinking(), text())), body(user(text()))),
    ("A-role", "messages[1].content[0]", body(ASK, claude(URL), ASK), body(ASK, user(URL), ASK)),
    (
        "A-role",
        "messages[1].content[0]",
        body(ASK, system(URL), **NEW),
        body(ASK, system(text()), **NEW),
    ),
    (
        "A-role",
        "messages[1].content[0]",
        body(ASK, system(pdf(1)), **NEW),
        body(user(pdf(1)), system(text()), **NEW),
    ),
    ("A-role", "messages[1].role", body(ASK, {"role": "tool", "content": "x"}), body(ASK, ASK)),
    ("A-role", "messages[1].role", body(ASK, {"role": ["user"], "content": "x"}), body(ASK, ASK)),
    (
        "A-input",
        "messages[1].content[0].input",
        body(ASK, claude(call(input="{}")), user(result())),
        body(ASK, claude(call(input={})), user(result())),
    ),
    (
        "A-name",
        "messages[1].content[0].name",
        body(ASK, claude(call(name="list files")), user(result())),
        body(ASK, claude(call(name="list_files-2")), user(result())),
    ),
    (
        "A-name",
        "messages[1].content[0].name",
        body(ASK, claude(call(name="n" * 129)), user(result())),
        body(ASK, claude(call(name="n" * 128)), user(result())),
    ),
    (
        "A-name",
        "messages[1].content[0].id",
        body(ASK, claude(call("a:1")), ASK),
        body(ASK, claude(text()), ASK),
    ),
    ("A-name", "messages[1].content[0].id", body(ASK, claude(call(id=None)), ASK), body(ASK)),
    (
        "A-name",
        "tools[1].name",
        body(ASK, tools=[LS, {**LS, "type": "custom", "name": "list files"}]),
        body(ASK, tools=[LS, {"type": "mcp_toolset", "mcp_server_name": "a b"}, 5]),
    ),
    (
        "A-compaction-empty",
        "messages[0].content[0]",
        body(claude({"type": "compaction", "content": ""}), ASK),
        body(claude({"type": "compaction", "content": "c"}), ASK),
    ),
    (
        "A-thinking",
        "thinking.budget_tokens",
        body(ASK, thinking={"type": "enabled", "budget_tokens": 1023}),
        body(ASK, thinking={"type": "enabled", "budget_tokens": 1024}),
    ),
    (
        "A-thinking",
        "thinking.budget_tokens",
        body(ASK, thinking={"type": "enabled", "budget_tokens": 2048}),
        body(ASK, thinking={"type": "enabled", "budget_tokens": 2047}),
    ),
    (
        "A-thinking",
        "thinking.type",
        body(ASK, model="claude-opus-4-7", thinking={"type": "enabled", "budget_tokens": 1024}),
        body(ASK, model="claude-opus-4-7", thinking={"type": "adaptive"}),
    ),
    (
        "A-thinking",
        "thinking.type",
        body(ASK, **OLD, thinking={"type": "adaptive"}),
        body(ASK, thinking={"type": "adaptive"}),
    ),
    (
        "A-thinking",
        "thinking.type",
        body(ASK, model="claude-fable-5", thinking={"type": "disabled"}),
        body(ASK, model="claude-opus-5", thinking={"type": "disabled"}),
    ),
    (
        "A-thinking",
        "thinking.type",
        body(ASK, model="claude-opus-5", thinking=OFF, output_config={"effort": "max"}),
        body(ASK, model="claude-opus-5", thinking=OFF, output_config={"effort": "high"}),
    ),
    (
        "A-tool-choice",
        "tool_choice",
        body(ASK, model="claude-opus-5-5", tool_choice={"type": "any"}),
        body(ASK, model="claude-opus-5", tool_choice={"type": "any"}),
    ),
    (
        "A-tool-choice",
        "tool_choice",
        body(ASK, model="claude-fable-5-1", tool_choice={"type": "tool", "name": "ls"}),
        body(ASK, model="claude-fable-5-1", tool_choice={"type": "auto"}),
    ),
]


def _found(broken: Json) -> list[tuple[str, str]]:
    problems = check(json.dumps(broken).encode(), "anthropic")
    return [(problem.rule, problem.path) for problem in problems]


def _names() -> list[str]:
    return [f"{rule}-{number}" for number, (rule, *_) in enumerate(ROWS)]


@pytest.mark.parametrize(("rule", "path", "broken", "valid"), ROWS, ids=_names())
def test_a_rule_is_found_where_it_is_broken(
    rule: str, path: str, broken: Json, valid: Json
) -> None:
    """The body breaks this rule at this place and no other; the nearest valid one breaks none."""
    assert (_found(broken), _found(valid)) == ([(rule, path)], [])


def test_every_rule_has_a_row() -> None:
    """No rule of the table is without a body that breaks it."""
    assert {rule for rule, *_ in ROWS} == RULES.keys()


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        # a system message between a call and its result parts them
        (
            body(ASK, claude(call()), system(), user(result()), **NEW),
            [
                ("A15", "messages[2]"),
                ("A2", "messages[1].content[0]"),
                ("A3", "messages[3].content[0]"),
            ],
        ),
        # blank text with a marker is refused for both
        (
            body(user(text(" ", cache_control=MARK), text())),
            [("A8", "messages[0].content[0]"), ("A7", "messages[0].content[0]")],
        ),
        # a first message that is not the user's, of a role that is none
        (
            body({"role": "tool", "content": "x"}, ASK),
            [("A1", "messages[0]"), ("A-role", "messages[0].role")],
        ),
        (body("x", ASK), [("A-shape", "messages[0]")]),
        # what a server tool found is not for the user to say, even where it is awaited
        (
            body(ASK, claude(search(), call()), user(result(), found())),
            [("A16", "messages[2].content[1]"), ("A17", "messages[1].content[0]")],
        ),
        # the prefill ends in something that is no block
        (
            body(ASK, claude(text("So "), 5), **OLD),
            [("A-shape", "messages[1].content[1]")],
        ),
        # a loop that nobody asked for
        (
            body(claude(text(), call()), user(result()), **MANUAL),
            [("A1", "messages[0]"), ("A13", "messages[0].content[0]")],
        ),
        # nothing but the envelope
        ({}, [("A-shape", "model"), ("A-shape", "max_tokens"), ("A-shape", "messages")]),
    ],
)
def test_what_is_broken_twice_is_told_twice(broken: Json, found: list[tuple[str, str]]) -> None:
    """One place may break several rules; each is told."""
    assert _found(broken) == found


@pytest.mark.parametrize(
    "valid",
    [
        # a paused turn goes back as it came
        body(ASK, claude(search())),
        body(ASK, claude(text(), search(), text("So "))),
        # a server tool's result may come in the next turn, where client calls were made beside it
        body(ASK, claude(search(), call()), user(result()), claude(text())) | OLD,
        # several messages of one role are one turn
        body(ASK, ASK, claude(text()), claude(call()), user(result()), user(text())),
        # a call in one message of a turn, its result behind another
        body(ASK, claude(call()), claude(text()), user(result())),
        # blocks that nothing is known of, in the system prompt and in results
        body(ASK, system=[5, text()]),
        body(ASK, claude(call()), user(result(content=[{"type": "tool_reference"}]))),
        # parameters that say nothing
        body(ASK, thinking=None, tool_choice=None, system="", cache_control=None),
        body(ASK, thinking="on", tool_choice="any", model="claude-opus-5-5"),
        body(ASK, thinking={"type": "enabled"}),
        # models that are not known are not judged by version
        body(ASK, claude(text("So")), model="glm-4.6"),
        body(ASK, system(), model="claude-next"),
        # unknown blocks, and unknown keys in newer ones
        body(user({"type": "hologram", "n": 1}, text())),
        body(ASK, claude({"type": "compaction", "content": None, "encrypted_content": "x"}), ASK),
        body(user({"type": "document", "source": {"type": "text", "data": "x"}, "new": 1})),
        body(user({"type": "document", "source": 5})),
        body(ASK, user(text(cache_control=None))),
        body(
            ASK,
            claude(
                search(),
                {"type": "mcp_tool_use", "id": "m"},
                found(),
                {"type": "mcp_tool_result", "tool_use_id": "m"},
            ),
            ASK,
        ),
    ],
)
def test_what_is_unusual_is_accepted(valid: Json) -> None:
    """What the API takes is not refused here."""
    assert _found(valid) == []


def test_each_rule_says_what_it_demands_and_what_helps() -> None:
    """Sentences for people, and the provider's words wherever they are known."""
    assert [rule.id for rule in RULES.values() if not (rule.demands and rule.mend)] == []
    assert [rule.id for rule in RULES.values() if not rule.refusal] == ["A19"]
    assert [key for key, rule in RULES.items() if key != rule.id] == []
