"""``trimtab check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bodies import BROKEN, CHAT_LIST, ORPHAN, PLAIN, SESSION, chat, said
from tests.cli.running import Ran, Trimtab

MISSING = "note: the recording does not hold these, so they are stubs or left out: model, tools\n"


def test_a_request_without_a_problem_is_valid(trimtab: Trimtab, tmp_path: Path) -> None:
    """It exits with 0 and says so in a sentence."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    ran = trimtab("check", tmp_path / "plain.json")

    assert ran == Ran(
        0,
        "plain.json\n"
        "request-bodies, openai-chat\n"
        "\n"
        "valid: it breaks none of the rules that a request can show\n",
    )


def test_each_rule_is_told_once_with_its_places(trimtab: Trimtab, tmp_path: Path) -> None:
    """What it demands, five places, what the provider says and what to do; the rest is counted."""
    (tmp_path / "broken.json").write_bytes(BROKEN)

    ran = trimtab("check", tmp_path / "broken.json")

    assert ran == Ran(
        1,
        """\
broken.json
request-bodies, anthropic

A7  No message and no text block is empty or blank; a final assistant message may be empty.
    messages[8].content: the content is empty or blank
    refused with: text content blocks must be non-empty
    to mend: Remove the block, or the message.

A2  Every tool_use is answered in the next message.
    messages[1].content[0]: t0 is not answered in the next message
    messages[2].content[0]: t1 is not answered in the next message
    messages[3].content[0]: t2 is not answered in the next message
    messages[4].content[0]: t3 is not answered in the next message
    messages[5].content[0]: t4 is not answered in the next message
    and 2 more; --json lists all
    refused with: `tool_use` ids were found without `tool_result` blocks immediately after. \
Each `tool_use` block must have a corresponding `tool_result` block in the next message.
    to mend: Answer the call in the next user message, with is_error if it never ran.

not valid: 8 problems
""",
    )


def test_one_problem_is_one(trimtab: Trimtab, tmp_path: Path) -> None:
    """Words agree with numbers."""
    (tmp_path / "orphan.json").write_bytes(ORPHAN)

    ran = trimtab("check", tmp_path / "orphan.json")

    assert (ran.code, ran.lines[-1]) == (1, "not valid: 1 problem")


def test_what_a_recording_leaves_out_is_not_blamed(trimtab: Trimtab, tmp_path: Path) -> None:
    """A rule that needs what is not recorded is told as not known, and the request is valid."""
    listed = b'[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]}]'
    (tmp_path / "list.json").write_bytes(listed)
    (tmp_path / "chat.json").write_bytes(CHAT_LIST)

    without = trimtab("check", tmp_path / "list.json", "--request", 1)
    asked = trimtab("check", tmp_path / "chat.json", "--format", "anthropic")

    assert (without.code, without.err) == (0, MISSING)
    assert "valid: it breaks none of the rules that a request can show\n" in without.out
    assert asked.code == 1
    assert "A-shape  The body has a model, max_tokens and a list of messages" in asked.out


def test_a_rule_that_a_recording_cannot_show_is_not_known(trimtab: Trimtab, tmp_path: Path) -> None:
    """It says what is missing in the recording, and that the verdict rests on the rest."""
    (tmp_path / "log.jsonl").write_bytes(SESSION)

    ran = trimtab("check", tmp_path / "log.jsonl", "--format", "openai-chat")
    told = trimtab("check", tmp_path / "log.jsonl", "--format", "openai-chat", "--json").json

    unknown = [problem["rule"] for problem in told["problems"] if problem["unrecorded"]]
    assert (ran.code, told["valid"]) == (0, True)
    assert [f"{rule}  " in ran.out for rule in unknown] == [True] * len(unknown)
    assert ("not known: the recording does not hold" in ran.out) == bool(unknown)


def test_where_the_words_of_the_provider_are_not_known_none_are_told(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """Nothing is made up for a rule whose refusal nobody has seen."""
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}, "toolset_name": "files"}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            said("user", "hi"),
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [answer]},
        ],
    }
    (tmp_path / "toolset.json").write_text(json.dumps(body), encoding="utf-8")

    ran = trimtab("check", tmp_path / "toolset.json")

    assert ran.lines[3:] == [
        "A19  The result of a toolset's member repeats its toolset_name.",
        "    messages[2].content[0]: toolset_name is not that of the call",
        "    to mend: Copy toolset_name from the call.",
        "",
        "not valid: 1 problem",
    ]


@pytest.mark.parametrize("body", [PLAIN, ORPHAN, BROKEN])
def test_the_verdict_is_the_same_as_json(trimtab: Trimtab, tmp_path: Path, body: bytes) -> None:
    """Exit code, verdict and rules do not depend on how they are told."""
    (tmp_path / "body.json").write_bytes(body)

    shown = trimtab("check", tmp_path / "body.json")
    told = trimtab("check", tmp_path / "body.json", "--json")

    rules = {problem["rule"] for problem in told.json["problems"]}
    assert (told.code, told.err) == (shown.code, "")
    assert told.json["valid"] == (shown.code == 0)
    assert {line.split()[0] for line in shown.lines if line[:1] in "AC" and line} == rules


def test_names_out_of_a_request_do_not_steer_the_terminal(trimtab: Trimtab, tmp_path: Path) -> None:
    """Escapes, brackets that look like markup and lone surrogates are shown as what they are."""
    calls = [
        {
            "id": "\x1b[31m[/red]\ud800\n:smile:",
            "type": "function",
            "function": {"name": "f", "arguments": "{}"},
        }
    ]
    asked = {"role": "assistant", "content": None, "tool_calls": calls}
    (tmp_path / "odd.json").write_bytes(chat(said("user", "hi"), asked))

    ran = trimtab("check", tmp_path / "odd.json")

    assert ran.code == 1
    assert "messages[1].tool_calls[0]: �[31m[/red]� :smile: is not answered" in ran.out


def test_a_rule_explains_itself(trimtab: Trimtab) -> None:
    """What it demands, for whom, the provider's words and what to do, however its id is written."""
    ran = trimtab("check", "--rule", "a5")

    assert ran == Ran(
        0,
        """\
A5  The ids of tool_use blocks are unique in a request.
    format: anthropic
    refused with: `tool_use` ids must be unique
    to mend: Give each call an id of its own.
""",
    )


def test_a_rule_that_a_recording_may_not_show_says_so(trimtab: Trimtab) -> None:
    """It names what would be needed."""
    ran = trimtab("check", "--rule", "A6")

    assert ran.lines[-1] == "    not shown by: a recording without tools"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--rule", "A99"), "error: there is no rule 'A99'\nhint: near it: "),
        (("--rule", "?"), "error: there is no rule '?'\nhint: docs/rules.md lists them all\n"),
        ((), "error: check takes either a file or --rule\n"),
        (("x.json", "--rule", "A2"), "error: check takes either a file or --rule\n"),
    ],
)
def test_what_cannot_be_explained_is_told(
    trimtab: Trimtab, arguments: tuple[str, ...], error: str
) -> None:
    """With what to do instead."""
    ran = trimtab("check", *arguments)

    assert ran.code == 2
    assert ran.err.startswith(error)
