"""Each rule of Responses, by a body that breaks it alone and the nearest one that does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import bodies
from trimtab.wire import check
from trimtab.wire.openai_responses_rules import RULES

Json = dict[str, Any]

# --------------------------------------------------------------------- pieces

ASK: Json = {"role": "user", "content": "list"}
THOUGHT: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SHELL: Json = {"type": "shell_call", "call_id": "a", "action": {}}
TRIGGER: Json = {"type": "compaction_trigger"}
REFERENCE: Json = {"type": "item_reference", "id": "fc_1"}


def call(call_id: Any = "a", **more: Any) -> Json:
    """A call of ``ls``; None leaves a field out."""
    whole = {"type": "function_call", "call_id": call_id, "name": "ls", "arguments": "{}", **more}
    return {key: value for key, value in whole.items() if value is not None}


def output(call_id: Any = "a", **more: Any) -> Json:
    """What ``ls`` answered; None leaves a field out."""
    whole = {"type": "function_call_output", "call_id": call_id, "output": "ok", **more}
    return {key: value for key, value in whole.items() if value is not None}


def says(content: Any = "done", **more: Any) -> Json:
    """What the assistant says."""
    return {"type": "message", "role": "assistant", "content": content, **more}


def asks(*parts: Any) -> Json:
    """What the user says in parts."""
    return {"role": "user", "content": list(parts)}


def part(kind: str, **more: Any) -> Json:
    """A part of content that is words."""
    return {"type": kind, "text": "words", **more}


def body(*items: Any, **more: Any) -> Json:
    """A request with some items; None leaves a field out."""
    whole = {"model": "gpt-5.6", "store": False, "input": list(items), **more}
    return {key: value for key, value in whole.items() if value is not None}


# ---------------------------------------------------------------------- table

Row = tuple[str, str, Json, Json]
"""A rule, the place that breaks it, a body that does, and the nearest one that does not."""

ROWS: list[Row] = [
    ("R-shape", "model", body(ASK, model=None), body(ASK)),
    ("R-shape", "model", body(ASK, model=5), body(ASK, model=None, prompt={"id": "pmpt_1"})),
    ("R-shape", "input", body(input=None), body(input="list")),
    ("R-shape", "input", body(), body(previous_response_id="resp_1")),
    ("R-shape", "input", body(input={}), body(input=None, prompt={"id": "pmpt_1"})),
    ("R-shape", "input[1]", body(ASK, "list"), body(ASK, ASK)),
    ("R-shape", "input[0]", body({"content": "x"}), body({"role": "user", "content": "x"})),
    ("R-shape", "input[0].role", body({"role": "poet", "content": "x"}), body(ASK)),
    ("R-shape", "input[0].role", body({"type": "message", "content": "x"}), body(ASK)),
    ("R1", "input[1]", body(ASK, call(), ASK), body(ASK, call(), output(), ASK)),
    ("R1", "input[2]", body(ASK, call(), call("b"), output()), body(ASK, call(), call("b"))),
    ("R1", "input[1]", body(ASK, call(), says()), body(ASK, call(), says(), output())),
    (
        "R1",
        "input[1]",
        body(ASK, {"type": "custom_tool_call", "call_id": "a", "name": "p", "input": ""}, ASK),
        body(ASK, {"type": "custom_tool_call", "call_id": "a", "name": "p", "input": ""}),
    ),
    (
        "R1",
        "input[1]",
        body(ASK, {"type": "shell_call", "call_id": "a", "action": {}}, ASK),
        body(
            ASK,
            {"type": "shell_call", "call_id": "a", "action": {}},
            {"type": "shell_call_output", "call_id": "a", "output": []},
        ),
    ),
    ("R2", "input[1]", body(ASK, output()), body(ASK, output(), previous_response_id="resp_1")),
    ("R2", "input[1]", body(ASK, output(), call()), body(ASK, call(), output())),
    ("R2", "input[3]", body(ASK, call(), output(), output("b")), body(ASK, REFERENCE, output("b"))),
    (
        "R2",
        "input[2]",
        body(ASK, call(), output(type="custom_tool_call_output"), output()),
        body(ASK, call(), output()),
    ),
    ("R3", "input[1]", body(ASK, THOUGHT), body(ASK, THOUGHT, says())),
    ("R3", "input[1]", body(ASK, THOUGHT, ASK), body(ASK, THOUGHT, THOUGHT, call())),
    ("R3", "input[2]", body(ASK, call(), THOUGHT, output()), body(ASK, call(), output())),
    (
        "R3",
        "input[1]",
        body(ASK, THOUGHT, {"type": "additional_tools", "role": "developer", "tools": []}),
        body(ASK, THOUGHT, {"type": "web_search_call", "id": "ws_1"}),
    ),
    ("R4", "input[1]", body(ASK, call(id="fc_1"), output()), body(ASK, call(), output())),
    (
        "R4",
        "input[2]",
        body(ASK, call(), call("b", id="fc_2"), output(), output("b")),
        body(ASK, THOUGHT, call(), call("b", id="fc_2"), output(), output("b")),
    ),
    ("R4", "input[1]", body(ASK, says(id="msg_1"), ASK), body(ASK, THOUGHT, says(id="msg_1"), ASK)),
    (
        "R4",
        "input[4]",
        body(ASK, THOUGHT, says(id="msg_1"), ASK, says(id="msg_2")),
        body(ASK, THOUGHT, says(id="msg_1"), says(id="msg_2")),
    ),
    (
        "R4",
        "input[1]",
        body(ASK, says(id="msg_1"), reasoning={"effort": "low"}),
        body(ASK, says(id="msg_1"), reasoning={"effort": "none"}),
    ),
    ("R4", "input[1]", body(ASK, says(id="m")), body(ASK, says(id="m"), model="gpt-4.1-mini")),
    # Models that answer without reasoning unless they are asked for it, and models of others.
    (
        "R4",
        "input[1]",
        body(ASK, says(id="m"), model="gpt-5.4", reasoning={"effort": "high"}),
        body(ASK, says(id="m"), model="gpt-5.4", reasoning={"context": "all_turns"}),
    ),
    (
        "R4",
        "input[1]",
        body(ASK, says(id="m"), model="gpt-5.3-codex"),
        body(ASK, says(id="m"), model="openai/gpt-5.5-mini"),
    ),
    (
        "R4",
        "input[1]",
        body(ASK, says(id="m"), model="ft:o4-mini:acme"),
        body(ASK, says(id="m"), model="deepseek-v4-flash"),
    ),
    (
        "R5",
        "input[1]",
        body(ASK, {**THOUGHT, "encrypted_content": None}, says()),
        body(ASK, THOUGHT, says()),
    ),
    (
        "R5",
        "input[1]",
        body(ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, says()),
        body(ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, says(), store=True),
    ),
    (
        "R8",
        "conversation",
        body(ASK, previous_response_id="resp_1", conversation="conv_1"),
        body(ASK, previous_response_id=None, conversation="conv_1"),
    ),
    (
        "R9",
        "input[1].arguments",
        body(ASK, call(arguments={}), output()),
        body(ASK, call(arguments=""), output()),
    ),
    ("R9", "input[1].call_id", body(ASK, call(""), ASK), body(ASK, call("x"), output("x"), ASK)),
    ("R9", "input[1].call_id", body(ASK, call(None), ASK), body(ASK, ASK)),
    (
        "R9",
        "input[1].input",
        body(ASK, call(type="custom_tool_call", input=5)),
        body(ASK, call(type="custom_tool_call", input="")),
    ),
    (
        "R9",
        "input[2].output",
        body(ASK, call(), output(output=None)),
        body(ASK, call(), output(output="")),
    ),
    (
        "R9",
        "input[2].output",
        body(ASK, call(), output(output={})),
        body(ASK, call(), output(output=[])),
    ),
    ("R9", "input[1].call_id", body(ASK, output("")), body(ASK)),
    (
        "R9",
        "input[2].output",
        body(ASK, SHELL, {"type": "shell_call_output", "call_id": "a"}),
        body(ASK, SHELL, {"type": "shell_call_output", "call_id": "a", "output": []}),
    ),
    ("R10", "input[0]", body(TRIGGER, ASK), body(ASK, TRIGGER)),
    (
        "R10",
        "input[0]",
        body({"type": "compaction"}, ASK),
        body({"type": "compaction", "encrypted_content": "gA"}, ASK),
    ),
    (
        "R11",
        "input[1].content[0]",
        body(ASK, says([part("output_text", prompt_cache_breakpoint={})])),
        body(asks(part("input_text", prompt_cache_breakpoint={}))),
    ),
    (
        "R11",
        "input[0]",
        body({**ASK, "prompt_cache_breakpoint": {}}),
        body(ASK, call(), output(output=[part("input_text", prompt_cache_breakpoint={})])),
    ),
    ("R-content", "input[0].content", body({"role": "user"}), body(ASK)),
    ("R-content", "input[0].content", body({"role": "user", "content": 5}), body(asks())),
    ("R-content", "input[0].content[0]", body(asks("words")), body(asks(part("input_text")))),
    ("R-content", "input[0].content[0]", body(asks(part("text"))), body(asks(part("hologram")))),
    (
        "R-content",
        "input[0].content[1]",
        body(asks(part("input_text"), part("output_text"))),
        body(asks(part("input_text"), part("input_image"))),
    ),
    (
        "R-content",
        "input[1].content[0]",
        body(ASK, says([part("input_text")])),
        body(ASK, says([part("output_text"), {"type": "refusal", "refusal": "no"}])),
    ),
    (
        "R-content",
        "input[2].output[0]",
        body(ASK, call(), output(output=[part("output_text")])),
        body(ASK, call(), output(output=[part("input_text")])),
    ),
    (
        "R-name",
        "input[1].name",
        body(ASK, call(name="list files"), output()),
        body(ASK, call(name="list_files-2"), output()),
    ),
    ("R-name", "input[1].name", body(ASK, call(name=None)), body(ASK, call(name="n" * 70))),
    (
        "R-name",
        "tools[1].name",
        body(ASK, tools=[{"type": "web_search"}, {"type": "function", "name": "a b"}]),
        body(ASK, tools=[{"type": "web_search"}, {"type": "function", "name": "a_b"}, 5]),
    ),
]


def _found(broken: Json) -> list[tuple[str, str]]:
    problems = check(json.dumps(broken).encode(), "openai-responses")
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
    "valid",
    [
        body(input="list"),
        body(ASK, ASK, says("x"), says("y")),
        body({"role": "developer", "content": "d"}, {"role": "system", "content": "s"}, ASK),
        # results far behind their calls, in another order, and ids that are used again
        body(ASK, call(), call("b"), output("b"), says(), output()),
        body(ASK, call(), output(), call(), output()),
        # reasoning of a server that has no ids, or keeps it
        body(ASK, {"type": "reasoning", "summary": []}, ASK),
        body(
            ASK, {"type": "reasoning", "id": "r", "summary": [], "content": [{"text": "x"}]}, says()
        ),
        # items, parts and fields that are not known
        body({"type": "hologram", "role": "critic"}, asks({"type": "hologram"}), new=1, tools={}),
        # a patch that was applied without a word
        body(
            ASK,
            {"type": "apply_patch_call", "call_id": "a", "operation": {}},
            {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"},
        ),
        # what the provider runs itself, and what Codex answers a shell with
        body(ASK, {"type": "tool_search_call", "arguments": {}}, {"type": "tool_search_output"}),
        body(ASK, {"type": "local_shell_call", "call_id": "a", "action": {}}, output()),
        body(
            ASK,
            {"type": "local_shell_call", "id": "a", "action": {}},
            {"type": "local_shell_call_output", "id": "a", "output": "x"},
        ),
        # part of the history lies on the server
        body(output(), conversation={"id": "conv_1"}),
        body(REFERENCE, says(id="msg_1"), output()),
    ],
)
def test_what_is_unusual_is_accepted(valid: Json) -> None:
    """What the API takes is not refused here."""
    assert _found(valid) == []


@pytest.mark.parametrize(
    ("broken", "left_out"),
    [
        (body(ASK, output()), "previous_response_id"),
        (body(ASK, says(id="msg_1")), "reasoning"),
        (body(ASK, model=None), "model"),
    ],
)
def test_what_a_recording_does_not_show_is_unrecorded(broken: Json, left_out: str) -> None:
    """A field that was left out may have been what makes it right."""
    problems = check(json.dumps(broken).encode(), "openai-responses", unrecorded=[left_out])

    assert [problem.is_unrecorded for problem in problems] == [True]


def test_each_rule_says_what_it_demands_and_what_helps() -> None:
    """Sentences for people, and the provider's words for each."""
    assert [rule.id for rule in RULES.values() if not (rule.demands and rule.mend)] == []
    assert [rule.id for rule in RULES.values() if not rule.refusal] == []
    assert [key for key, rule in RULES.items() if key != rule.id] == []


# ---------------------------------------------------------- broken at random


def _lose(items: list[Json], place: int, kinds: tuple[str, ...]) -> bool:
    """Lose one of the items of some kinds, unless nothing is there or nothing depends on it."""
    found = [at for at, item in enumerate(items) if item.get("type") in kinds]
    if not found:
        return False
    del items[found[place % len(found)]]
    return True


@pytest.mark.parametrize(
    ("kinds", "rules"),
    [
        (("function_call", "custom_tool_call"), {"R2"}),
        (("function_call_output", "custom_tool_call_output"), {"R1"}),
    ],
)
@given(sent=bodies("openai-responses"), place=st.integers(0, 99))
def test_a_lost_half_is_found(
    sent: bytes, place: int, kinds: tuple[str, ...], rules: set[str]
) -> None:
    """Of a valid history that loses a call or an output, the rule of the other half is broken."""
    value = json.loads(sent)
    if not _lose(value["input"], place, kinds):
        return
    value["input"].append(ASK)  # so that no call is the last thing

    found = {problem.rule for problem in check(json.dumps(value).encode(), "openai-responses")}

    assert rules <= found <= rules | {"R3"}  # reasoning may have led to nothing else


@given(sent=bodies("openai-responses"), place=st.integers(0, 99))
def test_reasoning_that_leads_to_nothing_is_found(sent: bytes, place: int) -> None:
    """Reasoning that is moved to the end breaks its rule."""
    value = json.loads(sent)
    items = value["input"]
    found = [at for at, item in enumerate(items) if item.get("type") == "reasoning"]
    if not found:
        return
    items.append(items.pop(found[place % len(found)]))

    rules = {problem.rule for problem in check(json.dumps(value).encode(), "openai-responses")}

    assert "R3" in rules <= {"R3", "R4"}
