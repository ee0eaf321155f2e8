"""Claude Code's logs, written by hand: one quirk a test."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import RequestError
from trimtab.replay.readers import claude_code
from trimtab.usage import Usage

USAGE = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5}
STAND_IN = {"type": "text", "text": "[The recording does not hold this message.]"}


# ------------------------------------------------------------------ writing logs


def log(*entries: dict[str, Any] | str) -> bytes:
    """Write lines; a string stands as it is."""
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return "\n".join(texts).encode() + b"\n"


def line(kind: str, uuid: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    """A line of a log, with what it continues."""
    return {"type": kind, "uuid": uuid, "parentUuid": parent, **fields}


def user(uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:
    """A line that the user, a tool or the client said."""
    return line("user", uuid, parent, message={"role": "user", "content": content}, **fields)


def answer(
    uuid: str, parent: str | None, response: str, *blocks: Any, **fields: Any
) -> dict[str, Any]:
    """A line of a response."""
    message = {"id": response, "role": "assistant", "model": "claude-x", "content": list(blocks)}
    return line("assistant", uuid, parent, message={**message, "usage": USAGE}, **fields)


def attachment(uuid: str, parent: str | None, **content: Any) -> dict[str, Any]:
    """A line of what the client attached."""
    return line("attachment", uuid, parent, attachment=content)


def text(words: str) -> dict[str, Any]:
    """A block of words."""
    return {"type": "text", "text": words}


def call(call_id: str) -> dict[str, Any]:
    """A block that calls the one tool there is."""
    return {"type": "tool_use", "id": call_id, "name": "ls", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    """A block that answers a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": "out"}


def interrupted(call_id: str) -> dict[str, Any]:
    """A block that stands where a result is missing."""
    words = "[Request interrupted by user for tool use]"
    return {"type": "tool_result", "tool_use_id": call_id, "content": words, "is_error": True}


def reminder(words: str) -> dict[str, Any]:
    """A block as the client words what it attaches."""
    return text(f"<system-reminder>\n{words}\n</system-reminder>")


# ------------------------------------------------------------------ reading them


def histories(data: bytes) -> list[list[tuple[str, list[Any]]]]:
    """The messages of each request of the first recording, as (role, blocks)."""
    requests = claude_code.read(data, "log")[0].requests
    bodies = [json.loads(request.build()) for request in requests]
    return [
        [(message["role"], message["content"]) for message in body["messages"]] for body in bodies
    ]


def last_history(*entries: dict[str, Any] | str) -> list[tuple[str, list[Any]]]:
    """What was sent for the last response."""
    return histories(log(*entries))[-1]


# -------------------------------------------------------------- the whole request


def test_each_response_is_one_request_with_all_that_precedes_it() -> None:
    """A response stands for the request that it answered; nothing after the last one is sent."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("u2", "a1", "more"),
        answer("a2", "u2", "m2", text("sure")),
        user("u3", "a2", "never answered"),
    )

    assert histories(data) == [
        [("user", [text("hi")])],
        [("user", [text("hi")]), ("assistant", [text("hello")]), ("user", [text("more")])],
    ]


def test_a_body_is_a_whole_request() -> None:
    """A body has the model, stubs of the tools that the session calls, and the messages."""
    data = log(user("u1", None, "hi"), answer("a1", "u1", "m1", call("c1")))

    (request,) = claude_code.read(data, "log")[0].requests

    assert request.build() == (
        b'{"model":"claude-x","max_tokens":32000,'
        b'"tools":[{"name":"ls","input_schema":{"type":"object"}}],'
        b'"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}'
    )


def test_a_request_tells_what_the_log_says_of_it() -> None:
    """Usage, time, model, size and what is a stub stand beside the body."""
    stamp = {"timestamp": "2026-01-02T03:04:05.500Z"}
    data = log(user("u1", None, "hi"), answer("a1", "u1", "m1", text("hello"), **stamp))

    (recording,) = claude_code.read(data, "log.jsonl")
    (request,) = recording.requests

    assert (recording.kind, recording.name, recording.notes) == ("claude-code", "log.jsonl", ())
    assert (request.format, request.model, request.at) == ("anthropic", "claude-x", 1767323045.5)
    assert request.usage == Usage(fresh=3, cache_read=40, cache_write=5, output=0)
    assert (request.size_bytes, request.message_count) == (len(request.build()), 1)
    assert request.unrecorded == {"tools", "system", "max_tokens"}


@pytest.mark.parametrize("stamp", [None, "yesterday", 5])
def test_a_time_that_cannot_be_read_is_not_known(stamp: Any) -> None:
    """Only a date tells when a request was made."""
    data = log(user("u1", None, "hi"), answer("a1", "u1", "m1", text("hello"), timestamp=stamp))

    assert claude_code.read(data, "log")[0].requests[0].at is None


def test_a_time_without_a_zone_is_universal() -> None:
    """The client writes universal time."""
    stamp = "2026-01-02T03:04:05.500"
    data = log(user("u1", None, "hi"), answer("a1", "u1", "m1", text("hello"), timestamp=stamp))

    assert claude_code.read(data, "log")[0].requests[0].at == 1767323045.5


def test_usage_repeats_on_each_line_and_its_output_grows() -> None:
    """Input is counted once; of the outputs of one response the largest counts."""
    first, second, third = (
        answer(uuid, parent, "m1", text(uuid))
        for uuid, parent in (("a1", "u1"), ("a2", "a1"), ("a3", "a2"))
    )
    first["message"]["usage"] = {**USAGE, "output_tokens": 1}
    second["message"]["usage"] = {**USAGE, "output_tokens": 90}
    third["message"]["usage"] = {**USAGE, "output_tokens": None}

    (request,) = claude_code.read(log(user("u1", None, "hi"), first, second, third), "l")[
        0
    ].requests

    assert request.usage == Usage(fresh=3, cache_read=40, cache_write=5, output=90)


def test_a_response_without_usage_is_a_request_all_the_same() -> None:
    """What was billed may be missing; the request was made."""
    entry = answer("a1", "u1", "m1", text("hello"))
    del entry["message"]["usage"]

    (request,) = claude_code.read(log(user("u1", None, "hi"), entry), "log")[0].requests

    assert request.usage is None


def test_each_request_extends_the_one_before_it_byte_for_byte() -> None:
    """Where nothing is rewound, a body begins with the messages of the body before it."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("r1", "a1", [result("c1")]),
        answer("a2", "r1", "m2", text("done")),
        user("u2", "a2", "more"),
        answer("a3", "u2", "m3", text("sure")),
    )

    bodies = [request.build() for request in claude_code.read(data, "log")[0].requests]

    assert all(later.startswith(earlier[:-2] + b",") for earlier, later in pairwise(bodies))


def test_blocks_keep_their_bytes() -> None:
    """Numbers, escapes, key order and whitespace of a block come through as they were logged."""
    said = r'{"input": {"n": 1.0, "big": 12345678901234567890}, "type":"tool_use","id":"c1","name":"ls"}'
    told = r'{"tool_use_id":"c1",  "type":"tool_result","content":"caf\u00e9 \/ \ud83d"}'
    data = log(
        r'{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"\u00e9"}}',
        '{"type":"assistant","uuid":"a1","parentUuid":"u1",'
        '"message":{"id":"m1","role":"assistant","content":[ ' + said + " ]}}",
        '{"type":"user","uuid":"r1","parentUuid":"a1",'
        '"message":{"role":"user","content":[' + told + "]}}",
        answer("a2", "r1", "m2", text("done")),
    )

    body = claude_code.read(data, "log")[0].requests[-1].build().decode()

    assert body.partition('"messages":')[2] == (
        r'[{"role":"user","content":[{"type":"text","text":"\u00e9"}]},'
        '{"role":"assistant","content":[' + said + "]},"
        '{"role":"user","content":[' + told + "]}]}"
    )


# ------------------------------------------------------------- lines and messages


def test_lines_of_one_response_are_one_message_though_results_lie_between() -> None:
    """Parallel calls and their results, logged as they came, are one exchange."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("two at once")),
        answer("a2", "a1", "m1", call("c1")),
        user("r1", "a2", [result("c1")]),
        answer("a3", "a2", "m1", call("c2")),
        user("r2", "a3", [result("c2")]),
        answer("a4", "r2", "m2", text("done")),
    )

    assert history == [
        ("user", [text("hi")]),
        ("assistant", [text("two at once"), call("c1"), call("c2")]),
        ("user", [result("c1"), result("c2")]),
    ]


def test_a_line_may_continue_a_result_of_its_own_response() -> None:
    """The client writes a line under whatever it wrote last, a result of the response too."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("r1", "a1", [result("c1")]),
        user("u2", "r1", "typed meanwhile"),
        answer("a2", "u2", "m1", call("c2")),
        user("r2", "a2", [result("c2")]),
        answer("a3", "r2", "m2", text("done")),
    )

    assert history == [
        ("user", [text("hi")]),
        ("assistant", [call("c1"), call("c2")]),
        ("user", [result("c1"), result("c2"), text("typed meanwhile")]),
    ]


def test_both_branches_of_one_response_belong_to_it() -> None:
    """Lines of one response that continue the same line are parallel, not abandoned."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        answer("a2", "u1", "m1", call("c2")),
        user("r2", "a2", [result("c2")]),
        user("r1", "a1", [result("c1")]),
        answer("a3", "r2", "m2", text("done")),
    )

    assert history[1:] == [
        ("assistant", [call("c1"), call("c2")]),
        ("user", [result("c2"), result("c1")]),
    ]


def test_what_was_typed_between_parallel_results_is_sent() -> None:
    """The response continues one result and the words another; both were in its request."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1"), call("c2")),
        user("r1", "a1", [result("c1")]),
        user("u2", "r1", "typed meanwhile"),
        user("r2", "a1", [result("c2")]),
        answer("a2", "r2", "m2", text("done")),
    )

    assert history[-1] == ("user", [result("c1"), result("c2"), text("typed meanwhile")])


def test_a_user_message_holds_results_then_attachments_then_words() -> None:
    """Lines between two responses are one message, in the order in which the client sends them."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("s1", "a1", "skill text", isMeta=True),
        user("r1", "a1", [result("c1"), text("beside the result")]),
        attachment("t1", "r1", type="skill_listing", content="- a skill"),
        user("u2", "t1", [text("go on")]),
        answer("a2", "u2", "m2", text("done")),
    )

    assert history[-1] == (
        "user",
        [
            result("c1"),
            reminder("- a skill"),
            text("skill text"),
            text("beside the result"),
            text("go on"),
        ],
    )


def test_blank_texts_are_not_sent() -> None:
    """The provider refuses them; a response of nothing else leaves no message."""
    history = last_history(
        user("u1", None, [text(" \n"), text("hi")]),
        answer("a1", "u1", "m1", text("\n\n")),
        user("u2", "a1", "still there?"),
        answer("a2", "u2", "m2", text("\n"), call("c1")),
        user("u3", "a2", ""),
        user("r1", "a2", [result("c1")]),
        answer("a3", "r1", "m3", text("yes")),
    )

    assert history == [
        ("user", [text("hi"), text("still there?")]),
        ("assistant", [call("c1")]),
        ("user", [result("c1")]),
    ]


def test_a_response_of_mere_thinking_is_not_sent_again() -> None:
    """It was asked for, so it is a request; the client leaves it out of later ones."""
    thought = {"type": "thinking", "thinking": "", "signature": "s"}
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", thought),
        user("u2", "a1", "again"),
        answer("a2", "u2", "m2", thought, text("hello")),
        user("u3", "a2", "more"),
        answer("a3", "u3", "m3", text("sure")),
    )

    assert histories(data) == [
        [("user", [text("hi")])],
        [("user", [text("hi"), text("again")])],
        [
            ("user", [text("hi"), text("again")]),
            ("assistant", [thought, text("hello")]),
            ("user", [text("more")]),
        ],
    ]


def test_hidden_words_are_sent() -> None:
    """What the client hides from the user, and the output of local commands, goes to the model."""
    history = last_history(
        user("u1", None, "a caveat", isMeta=True),
        line("system", "s1", "u1", subtype="local_command", content="<stdout>ok</stdout>"),
        user("u2", "s1", "hi"),
        answer("a1", "u2", "m1", text("hello")),
    )

    assert history == [("user", [text("a caveat"), text("<stdout>ok</stdout>"), text("hi")])]


def test_lines_that_are_no_part_of_the_conversation_are_not_sent() -> None:
    """Comments, progress, snapshots, summaries and what the client made up only pass on parents."""
    history = last_history(
        "// exported yesterday",
        {"type": "summary", "summary": "a title", "leafUuid": "x"},
        user("u1", None, "hi"),
        line("progress", "p1", "u1", data={"message": {"role": "user", "content": "a copy"}}),
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
        answer("e1", "p1", "x1", text("API Error: 529"), isApiErrorMessage=True),
        line("assistant", "e2", "e1", message={"model": "<synthetic>", "content": [text("No")]}),
        line("assistant", "e3", "e2", message="not even an object"),
        user("v1", "e3", "for the screen", isVirtual=True),
        line("system", "s1", "v1", subtype="turn_duration", content="took 3 s"),
        answer("a1", "s1", "m1", text("hello")),
    )

    assert history == [("user", [text("hi")])]


ATTACHED: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    ({"type": "nested_memory", "content": "use tabs"}, [reminder("use tabs")]),
    ({"type": "hook_additional_context", "content": ["a", "b"]}, [reminder("a\nb")]),
    ({"type": "todo", "items": [1]}, [reminder('{"type": "todo", "items": [1]}')]),
    ({"type": "queued_command", "prompt": "also this"}, [text("also this")]),
    ({"type": "queued_command", "prompt": [text("x"), text(" ")]}, [text("x")]),
    (
        {"type": "hook_success", "hookEvent": "SessionStart", "content": "rules"},
        [reminder("rules")],
    ),
    ({"type": "hook_success", "hookEvent": "SessionStart", "content": ""}, []),
    ({"type": "hook_success", "hookEvent": "PostToolUse", "content": "ran"}, []),
    ({"type": "hook_system_message", "content": "for the user"}, []),
    (
        {
            "type": "file",
            "content": {"type": "image", "file": {"base64": "QUJD", "type": "image/png"}},
        },
        [
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"},
            }
        ],
    ),
    (
        {"type": "file", "content": {"type": "image"}},
        [reminder('{"type": "file", "content": {"type": "image"}}')],
    ),
]


@pytest.mark.parametrize(("content", "sent"), ATTACHED)
def test_attachments_are_sent_as_the_model_sees_them(
    content: dict[str, Any], sent: list[dict[str, Any]]
) -> None:
    """Words become a reminder; what is for the user alone is left out."""
    history = last_history(
        user("u1", None, "hi"),
        attachment("t1", "u1", **content),
        answer("a1", "t1", "m1", text("hello")),
    )

    assert history == [("user", [*sent, text("hi")])]


def test_an_attachment_that_was_logged_as_it_was_sent_is_sent_so() -> None:
    """Newer clients log the wording beside it."""
    rendered = [{"content": "<system-reminder>x</system-reminder>"}, {"content": [text("y")]}, 3]
    history = last_history(
        user("u1", None, "hi"),
        {**attachment("t1", "u1", type="date_change"), "rendered": rendered},
        line("attachment", "t2", "t1"),
        answer("a1", "t2", "m1", text("hello")),
    )

    assert history == [
        ("user", [text("<system-reminder>x</system-reminder>"), text("y"), text("hi")])
    ]


# ---------------------------------------------------------------------- the tree


def test_what_was_rewound_is_not_in_later_requests() -> None:
    """A prompt that continues an earlier line leaves everything after that line behind."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("u2", "a1", "wrong way"),
        answer("a2", "u2", "m2", call("c1")),
        user("r1", "a2", [result("c1")]),
        answer("a3", "r1", "m3", text("lost")),
        user("u3", "a1", "right way"),
        answer("a4", "u3", "m4", text("good")),
    )

    assert [len(history) for history in histories(data)] == [1, 3, 5, 3]
    assert histories(data)[-1] == [
        ("user", [text("hi")]),
        ("assistant", [text("hello")]),
        ("user", [text("right way")]),
    ]


def test_a_prompt_without_a_parent_begins_anew() -> None:
    """Rewinding to the start leaves everything behind; what opens a log belongs to its prompt."""
    data = log(
        attachment("t1", None, type="nested_memory", content="use tabs"),
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("u2", None, "from the start"),
        answer("a2", "u2", "m2", text("good")),
    )

    assert histories(data) == [
        [("user", [reminder("use tabs"), text("hi")])],
        [("user", [text("from the start")])],
    ]


def test_branches_that_grow_in_turns_do_not_mix() -> None:
    """Two processes on one log each have their own history."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("l1", "a1", "left"),
        user("q1", "a1", "right"),
        answer("l2", "l1", "m2", text("left answer")),
        answer("q2", "q1", "m3", text("right answer")),
        user("l3", "l2", "left again"),
        answer("l4", "l3", "m4", text("x")),
        user("q3", "q2", "right again"),
        answer("q4", "q3", "m5", text("y")),
    )

    last_words = [history[-1][1] for history in histories(data)]
    first_words = [history[2][1] for history in histories(data)[1:]]

    assert last_words == [
        [text("hi")],
        [text("left")],
        [text("right")],
        [text("left again")],
        [text("right again")],
    ]
    assert first_words == [[text("left")], [text("right")], [text("left")], [text("right")]]


def test_a_copied_history_is_neither_asked_nor_sent_twice() -> None:
    """A resumed session copies lines under new names; ids of responses and calls tell."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("r1", "a1", [result("c1")]),
        answer("a2", "r1", "m2", text("done")),
        user("v1", None, "hi, copied"),
        answer("b1", "v1", "m1", call("c1")),
        user("s1", "b1", [result("c1")]),
        answer("b2", "s1", "m2", text("done")),
        user("v2", "b2", "more"),
        answer("b3", "v2", "m3", text("sure")),
    )

    assert [len(history) for history in histories(data)] == [1, 3, 5]
    assert histories(data)[0] == [("user", [text("hi")])]
    assert histories(data)[-1] == [
        ("user", [text("hi, copied")]),
        ("assistant", [call("c1")]),
        ("user", [result("c1")]),
        ("assistant", [text("done")]),
        ("user", [text("more")]),
    ]


def test_copies_are_found_without_names_of_lines() -> None:
    """In a log that names no lines, repeated blocks and results are still dropped."""
    entries = [
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("see"), call("c1")),
        user("r1", "a1", [result("c1")]),
        user("s1", "r1", "skill", isMeta=True),
        answer("a1", "u1", "m1", text("see"), call("c1")),
        answer("a2", "r1", "m2", text("done")),
        answer("a1", "u1", "m1", text("see"), call("c1")),
        user("s1", "r1", "skill", isMeta=True),
        answer("a2", "r1", "m2", text("done")),
        user("u2", "a2", "more"),
        answer("a2", "r1", "m2", text("done")),
        answer("a3", "u2", "m3", call("c1"), text("sure")),
        user("u3", "a3", "last"),
        answer("a4", "u3", "m4", text("end")),
    ]
    bare = [
        {k: v for k, v in entry.items() if k not in {"uuid", "parentUuid"}} for entry in entries
    ]

    assert last_history(*bare) == [
        ("user", [text("hi")]),
        ("assistant", [text("see"), call("c1")]),
        ("user", [result("c1"), text("skill")]),
        ("assistant", [text("done")]),
        ("user", [text("more")]),
        ("assistant", [text("sure")]),
        ("user", [text("last")]),
    ]


def test_a_line_that_stands_there_twice_is_read_once() -> None:
    """The same line under the same name says nothing new."""
    history = last_history(
        user("u1", None, "hi"),
        attachment("t1", "u1", type="nested_memory", content="use tabs"),
        attachment("t1", "u1", type="nested_memory", content="use tabs"),
        answer("a1", "u1", "m1", text("hello")),
    )

    assert history == [("user", [reminder("use tabs"), text("hi")])]


def test_the_first_result_of_a_call_counts() -> None:
    """A call has one result; another one is a copy."""
    history = last_history(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("r1", "a1", [result("c1")]),
        user("r2", "r1", [{**result("c1"), "content": "other"}]),
        answer("a2", "r2", "m2", text("done")),
    )

    assert history[-1] == ("user", [result("c1")])


@pytest.mark.parametrize("parent", ["absent", "null"])
def test_a_log_without_parents_is_read_from_top_to_bottom(parent: str) -> None:
    """Exports leave the names of lines out; then the order of lines is all there is."""
    entries = [
        user("u1", None, "hi"),
        answer("a1", None, "m1", call("c1")),
        user("r1", None, [result("c1")]),
        answer("a2", None, "m2", text("done")),
    ]
    if parent == "absent":
        entries = [{k: v for k, v in entry.items() if k != "parentUuid"} for entry in entries]

    assert last_history(*entries) == [
        ("user", [text("hi")]),
        ("assistant", [call("c1")]),
        ("user", [result("c1")]),
    ]


def test_a_line_whose_parent_is_missing_follows_the_line_above() -> None:
    """What was cut out of a log does not cut it in two; the recording says so."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("u2", "gone", "more"),
        answer("a2", "u2", "m2", text("sure")),
        answer("a3", None, "m3", text("and")),
    )

    assert histories(data)[-1] == [
        ("user", [text("hi")]),
        ("assistant", [text("hello")]),
        ("user", [text("more")]),
        ("assistant", [text("sure")]),
        ("user", [STAND_IN]),
    ]
    assert claude_code.read(data, "log")[0].notes == (
        "lines that continue one that is not in the log, taken to follow the line above: 1",
        "messages that are not in the log, for which a text stands in: 1",
    )


def test_after_a_compaction_the_history_begins_with_the_summary() -> None:
    """The boundary cuts; the summary is the first message, in the same recording."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        line("system", "b1", None, subtype="compact_boundary", logicalParentUuid="a1"),
        user("u2", "b1", "This session is being continued", isCompactSummary=True),
        answer("a2", "u2", "m2", text("going on")),
    )

    assert histories(data) == [
        [("user", [text("hi")])],
        [("user", [text("This session is being continued")])],
    ]


@pytest.mark.parametrize("named", [True, False])
def test_a_summary_cuts_where_the_boundary_is_missing(named: bool) -> None:  # noqa: FBT001 - a case
    """Early versions log the summary alone."""
    entries = [
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("u2", "a1", "This session is being continued", isCompactSummary=True),
        answer("a2", "u2", "m2", text("going on")),
    ]
    if not named:
        entries = [{k: v for k, v in entry.items() if k != "parentUuid"} for entry in entries]

    assert last_history(*entries) == [("user", [text("This session is being continued")])]


def test_what_the_client_did_out_of_sight_is_told() -> None:
    """Compactions that the log only hints at leave a note, not a guess."""
    kept = {"preservedSegment": {"headUuid": "u1", "tailUuid": "a1"}}
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        line("system", "b1", "a1", subtype="microcompact_boundary"),
        line("system", "b2", None, subtype="compact_boundary", compactMetadata=kept),
        user("u2", "b2", "a summary", isCompactSummary=True),
        answer("a2", "u2", "m2", text("going on")),
    )

    assert claude_code.read(data, "log")[0].notes == (
        "times that the client shortened old results, which are shown whole: 1",
        "compactions that kept messages, which are not shown after them: 1",
    )


# ------------------------------------------------------------------ what is missing


def test_a_call_without_a_result_is_answered_as_interrupted() -> None:
    """The client answers such a call itself; the recording says so."""
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1"), call("c2")),
        user("r2", "a1", [result("c2")]),
        user("u2", "r2", "stop"),
        answer("a2", "u2", "m2", call("c3")),
    )

    assert histories(data)[-1][-1] == ("user", [result("c2"), interrupted("c1"), text("stop")])
    assert claude_code.read(data, "log")[0].notes == (
        "tool calls without a result, answered as interrupted, as the client does: 1",
    )


def test_a_result_without_a_call_is_left_out() -> None:
    """The provider refuses it; the recording says so."""
    data = log(
        user("r0", None, [result("c0")]),
        user("u1", "r0", "hi"),
        answer("a1", "u1", "m1", text("hello")),
    )

    assert histories(data) == [[("user", [text("hi")])]]
    assert claude_code.read(data, "log")[0].notes == (
        "tool results left out, whose calls are not in the log: 1",
    )


def test_a_log_that_begins_with_a_response_gets_a_stand_in() -> None:
    """What was asked is not in the log; a request begins with a user message all the same."""
    data = log(
        answer("a1", "gone", "m1", call("c1")),
        user("r1", "a1", [result("c1")]),
        answer("a2", "r1", "m2", text("done")),
    )

    assert histories(data) == [
        [("user", [STAND_IN])],
        [("user", [STAND_IN]), ("assistant", [call("c1")]), ("user", [result("c1")])],
    ]


def test_half_written_lines_are_named_and_skipped() -> None:
    """A line that is cut off, or no object, costs nothing but itself."""
    data = log(
        user("u1", None, "hi"),
        '{"type":"user","uuid":"u9","mess',
        "",
        answer("a1", "u1", "m1", text("hello")),
        *["[1]"] * 6,
        '{"type":"assistant","uuid":"a2"',
    )

    (recording,) = claude_code.read(data, "log")

    assert len(recording.requests) == 1
    assert recording.notes == (
        "skipped lines that are cut off or no JSON objects: 2, 5, 6, 7, 8 and 3 more",
    )


def test_bytes_that_are_no_text_are_replaced() -> None:
    """A body must be UTF-8; the recording says which line was not."""
    data = log(user("u1", None, "h~i"), answer("a1", "u1", "m1", text("x"))).replace(b"~", b"\xff")

    assert histories(data) == [[("user", [text("h\ufffdi")])]]
    assert claude_code.read(data, "log")[0].notes == (
        "replaced bytes that are not UTF-8 in lines 1",
    )


def test_members_of_an_unexpected_type_count_as_absent() -> None:
    """A member that is not what it should be does not cost its line."""
    odd = answer("a1", "u1", "m1", {"type": "text"}, "bare", text("hello"), agentId=7)
    odd["message"]["usage"] = "none"
    data = log(
        user("u1", None, {"not": "a list"}),
        user("u2", "u1", "hi"),
        {**odd, "parentUuid": "u2"},
        user("u3", "a1", "more"),
        line("assistant", "a2", "u3", message={"role": "assistant", "content": "sure"}),
        line("assistant", "a3", "a2", message={"role": "assistant", "content": None}),
    )

    assert histories(data)[:2] == [
        [("user", [text("hi")])],
        [("user", [text("hi")]), ("assistant", [text("hello")]), ("user", [text("more")])],
    ]


def test_a_response_without_any_name_is_one_a_line() -> None:
    """Nothing tells which lines belong together, so none do."""
    bare = {"type": "assistant", "message": {"role": "assistant", "content": [text("hello")]}}
    data = log(user("u1", None, "hi"), bare, user("u2", None, "more"), bare)

    assert len(histories(data)) == 2


# -------------------------------------------------------------------- sub-agents


def test_a_sub_agent_is_a_recording_of_its_own() -> None:
    """Its lines lie between those of the session and are no part of it."""
    side = {"isSidechain": True, "agentId": "f00"}
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", call("c1")),
        user("s1", None, "look around", **side),
        answer("s2", "s1", "m2", text("seen"), **side),
        user("r1", "a1", [result("c1")]),
        answer("a2", "r1", "m3", text("done")),
    )

    recordings = claude_code.read(data, "log.jsonl")

    assert [(each.name, len(each.requests)) for each in recordings] == [
        ("log.jsonl", 2),
        ("log.jsonl#f00", 1),
    ]
    assert json.loads(recordings[1].requests[0].build()) == {
        "model": "claude-x",
        "max_tokens": 32000,
        "messages": [{"role": "user", "content": [text("look around")]}],
    }


def test_sub_agents_without_a_name_are_told_apart_by_their_roots() -> None:
    """Early versions do not say whose a line is; its parents do."""
    side = {"isSidechain": True}
    data = log(
        user("u1", None, "hi"),
        answer("a1", "u1", "m1", text("hello")),
        user("one-0001", None, "first", **side),
        user("two-0002", None, "second", **side),
        answer("s1", "one-0001", "m2", text("x"), **side),
        answer("s2", "two-0002", "m3", text("y"), **side),
        {"type": "progress", **side},
    )

    recordings = claude_code.read(data, "log")

    assert [(each.name, len(each.requests)) for each in recordings] == [
        ("log", 1),
        ("log#agent-one-0001", 1),
        ("log#agent-two-0002", 1),
    ]


def test_a_log_without_a_response_shows_no_request() -> None:
    """There is nothing to read, and the error says why."""
    with pytest.raises(RequestError, match="`log` is a log of Claude Code without a response"):
        claude_code.read(log(user("u1", None, "hi")), "log")


# ------------------------------------------------------------------- recognition

RECOGNISED: list[tuple[bytes, bool]] = [
    (log(user("u1", None, "hi")), True),
    (log("// a comment", {"type": "summary"}, "{broken", answer("a1", None, "m")), True),
    (b"", False),
    (log({"type": "message", "message": {"role": "user", "content": "hi"}}), False),
    (log({"type": "user", "message": {"content": "hi"}}), False),
    (log({"type": "user", "message": "hi"}), False),
    (log({"role": "user", "content": "hi"}), False),
    (b'{"messages":[{"role":"user","content":"hi"}]}', False),
    (log({"type": "session_meta", "payload": {}}), False),
]


@pytest.mark.parametrize(("data", "is_one"), RECOGNISED)
def test_a_log_is_known_by_its_first_line_of_conversation(
    data: bytes,
    is_one: bool,  # noqa: FBT001 - a case
) -> None:
    """A line of a user or assistant that wraps a message of the same role decides."""
    assert claude_code.recognises(data) == is_one


# ------------------------------------------------------------------ any tree at all


def broken_rules(body: dict[str, Any]) -> list[str]:
    """What the provider would refuse of a body."""
    broken = []
    messages = body["messages"]
    if [message["role"] for message in messages] != [
        ("user", "assistant")[place % 2] for place in range(len(messages))
    ] or messages[-1]["role"] != "user":
        broken.append("roles alternate, and the user has the first and the last word")
    if not all(message["content"] for message in messages):
        broken.append("no message is empty")
    blocks = [block for message in messages for block in message["content"]]
    if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
        broken.append("no text is blank")
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if len(set(calls)) < len(calls):
        broken.append("no call is there twice")
    if {block["name"] for block in blocks if block["type"] == "tool_use"} > {
        tool["name"] for tool in body.get("tools", [])
    }:
        broken.append("tools that are called are defined")
    for before, message in pairwise([{"content": []}, *messages]):
        kinds = [block["type"] == "tool_result" for block in message["content"]]
        answered = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        called = [b["id"] for b in before["content"] if b["type"] == "tool_use"]
        if kinds != sorted(kinds, reverse=True) or sorted(answered) != sorted(called):
            broken.append("each call is answered once, next and first")
    return broken


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Lines in any tree: each continues any earlier one, or none, or one that is not there."""
    entries: list[dict[str, Any]] = []
    for place in range(draw(st.integers(1, 14))):
        parents = [None, "gone", *(entry["uuid"] for entry in entries)]
        # The line above is the usual parent, so it is drawn most often.
        parent = draw(st.sampled_from(parents + parents[-1:] * 6))
        uuid = draw(st.sampled_from([f"l{place}"] * 9 + ["l0"]))
        ids = st.sampled_from(["1", "2", "3", "4"])
        blocks = st.one_of(
            st.sampled_from([text(" "), text("a"), text("b"), {"type": "thinking"}]),
            ids.map(call),
        )
        results = st.lists(st.one_of(ids.map(result), st.just(text("w"))), max_size=3)
        entries.append(
            draw(
                st.one_of(
                    st.builds(
                        user, st.just(uuid), st.just(parent), st.sampled_from(["p", "q", ""])
                    ),
                    st.builds(user, st.just(uuid), st.just(parent), results),
                    st.builds(
                        lambda response, said, uuid=uuid, parent=parent: answer(
                            uuid, parent, response, *said
                        ),
                        ids,
                        st.lists(blocks, max_size=3),
                    ),
                    st.just(user(uuid, parent, "meta", isMeta=True)),
                    st.just(user(uuid, parent, "summary", isCompactSummary=True)),
                    st.just(attachment(uuid, parent, type="x", content="y")),
                    st.just(line("progress", uuid, parent)),
                    st.just(line("system", uuid, None, subtype="compact_boundary")),
                )
            )
        )
    if draw(st.booleans()):
        entries = [{k: v for k, v in entry.items() if k != "parentUuid"} for entry in entries]
    return log(*entries, answer("z", entries[-1]["uuid"], "last", text("end")))


@given(logs())
def test_any_tree_of_lines_gives_valid_requests(data: bytes) -> None:
    """Whatever a log lacks, repeats or rewinds, the provider would accept its bodies."""
    requests = claude_code.read(data, "log")[0].requests
    bodies = [request.build() for request in requests]
    decoded = [json.loads(body) for body in bodies]

    assert [broken_rules(body) for body in decoded] == [[] for _ in bodies]
    assert [request.size_bytes for request in requests] == [len(body) for body in bodies]
    assert [request.message_count for request in requests] == [
        len(body["messages"]) for body in decoded
    ]
