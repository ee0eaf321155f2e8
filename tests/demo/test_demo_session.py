"""What ``demo/session.json`` promises to whoever replays it.

Each test is one promise; the file is checked as it is stored, not recorded anew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from trimtab.tokens import BpeTokenCounter

SESSION = Path(__file__).resolve().parents[2] / "demo" / "session.json"
TEXT = SESSION.read_text(encoding="utf-8")
BODY: dict[str, Any] = json.loads(TEXT)
MESSAGES: list[dict[str, Any]] = BODY["messages"]

MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(?:work|root|tmp|private|var/folders|Users|home/(?!dev\b))\b"
)
"""Where a checkout or a scratch folder may lie; ``/home/dev`` is what the session calls them."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool call with its result."""

    name: str
    arguments: dict[str, Any]
    content: str | list[dict[str, Any]]
    is_error: bool

    @property
    def text(self) -> str:
        """All words of the result."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(block["text"] for block in self.content)


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of a message, a bare string as one text block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def of_type(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The blocks of one type, in order."""
    return [block for block in blocks(message) if block["type"] == kind]


def answered() -> Iterator[Answered]:
    """All calls with their results, oldest first."""
    results = {
        result["tool_use_id"]: result
        for message in MESSAGES
        for result in of_type(message, "tool_result")
    }
    for message in MESSAGES:
        for call in of_type(message, "tool_use"):
            result = results[call["id"]]
            yield Answered(
                call["name"], call["input"], result["content"], result.get("is_error", False)
            )


CALLS = list(answered())


def words(value: object) -> Iterator[str]:
    """Every string in a JSON value, keys left out."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from words(item)
        case dict():
            for item in value.values():
                yield from words(item)


def test_it_is_small_enough_to_be_tracked() -> None:
    """The file stays below 900 KB."""
    assert SESSION.stat().st_size < 900_000


@pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
def test_it_is_long_enough_to_be_worth_compacting() -> None:
    """All its words together are at least 120,000 tokens of o200k."""
    counter = BpeTokenCounter("o200k_base")

    tokens = sum(counter.count(text) for text in words(BODY))

    assert tokens >= 120_000


def test_it_holds_many_calls() -> None:
    """At least 150 tools were called, each kind more than once."""
    times = Counter(call.name for call in CALLS)

    assert len(CALLS) >= 150
    assert times.keys() == {tool["name"] for tool in BODY["tools"]}
    assert min(times.values()) > 1


def test_the_envelope_is_a_messages_request() -> None:
    """It names a model, a bound, a system prompt, tools and messages, and nothing else."""
    assert BODY.keys() == {"model", "max_tokens", "system", "tools", "messages"}
    assert (BODY["model"], BODY["max_tokens"]) == ("claude-sonnet-4-5", 8192)


def test_roles_alternate_and_a_user_begins_and_ends() -> None:
    """It is a request that is about to be sent."""
    roles = [message["role"] for message in MESSAGES]

    assert roles[::2] == ["user"] * (len(roles) // 2 + 1)
    assert roles[1::2] == ["assistant"] * (len(roles) // 2)


def test_all_results_follow_their_calls() -> None:
    """The next message begins with the results of all calls, in their order."""
    for asking, answering in pairwise(MESSAGES):
        calls = [call["id"] for call in of_type(asking, "tool_use")]
        results = [result["tool_use_id"] for result in of_type(answering, "tool_result")]

        assert results == calls
        assert all(block["type"] == "tool_result" for block in blocks(answering)[: len(calls)])


def test_call_ids_are_unique() -> None:
    """No two calls share an id, and each id has the characters that are allowed."""
    ids = [call["id"] for message in MESSAGES for call in of_type(message, "tool_use")]

    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"toolu_[0-9a-f]{24}", call_id) for call_id in ids)


def test_no_text_is_blank() -> None:
    """Whatever is said or answered has words."""
    texts = [block["text"] for message in MESSAGES for block in of_type(message, "text")]

    assert all(text.strip() for text in texts)
    assert all(call.text.strip() for call in CALLS)


def test_only_plain_blocks_are_used() -> None:
    """There is text, calls and results; no thinking, no media."""
    kinds = {block["type"] for message in MESSAGES for block in blocks(message)}

    assert kinds == {"text", "tool_use", "tool_result"}


@pytest.mark.parametrize("tool", BODY["tools"], ids=lambda tool: tool["name"])
def test_calls_keep_to_their_schema(tool: dict[str, Any]) -> None:
    """Required arguments are there, and no others than the schema names."""
    schema = tool["input_schema"]
    used = [call.arguments.keys() for call in CALLS if call.name == tool["name"]]

    assert all(set(schema["required"]) <= names <= schema["properties"].keys() for names in used)


def test_users_speak_up_in_several_turns() -> None:
    """There are 6 to 10 requests, and remarks that come while tools are running."""
    requests = [message for message in MESSAGES[::2] if not of_type(message, "tool_result")]
    remarks = [
        message
        for message in MESSAGES[::2]
        if of_type(message, "tool_result") and of_type(message, "text")
    ]

    assert 6 <= len(requests) <= 10
    assert len(remarks) >= 3


def test_rules_and_corrections_are_in_the_users_words() -> None:
    """A rule, a correction and a line in another language can be looked for after a compaction."""
    said = "\n".join(
        block["text"] for message in MESSAGES[::2] for block in of_type(message, "text")
    )

    assert "never touch ./secrets" in said
    assert "legal says 30 days, not 14" in said
    assert "es heißt bei uns immer „Lager“" in said


def test_calls_run_in_parallel() -> None:
    """Many answers hold 2 to 4 calls; none holds more."""
    sizes = Counter(len(of_type(message, "tool_use")) for message in MESSAGES[1::2])

    assert sizes[2] + sizes[3] + sizes[4] >= 30
    assert max(sizes) == 4


@pytest.mark.parametrize(
    ("tool", "words_of_failure"),
    [
        ("read_file", "No such file"),
        ("edit_file", "old_text was not found"),
        ("run_command", "AssertionError"),
        ("run_command", "Traceback (most recent call last)"),
        ("run_command", "SyntaxError"),
        ("run_command", "Refused"),
    ],
)
def test_failures_are_marked(tool: str, words_of_failure: str) -> None:
    """Each kind of failure is there, and says that it is one."""
    assert any(
        call.is_error for call in CALLS if call.name == tool and words_of_failure in call.text
    )


def test_a_search_may_find_nothing() -> None:
    """A search without a hit is an answer, not a failure."""
    empty = [
        call for call in CALLS if call.name == "search" and call.text.startswith("No match for")
    ]

    assert empty
    assert not any(call.is_error for call in empty)


def test_a_failure_repeats_itself() -> None:
    """The same command fails twice with the very same words."""
    failures = Counter(
        (json.dumps(call.arguments, sort_keys=True), call.text) for call in CALLS if call.is_error
    )

    assert max(failures.values()) >= 2


def test_a_failed_result_may_be_a_list_of_blocks() -> None:
    """A failing command answers exit status and output in text blocks of their own."""
    lists = [call.content for call in CALLS if call.is_error and isinstance(call.content, list)]

    assert lists
    assert all(len(content) > 1 for content in lists)
    assert {block["type"] for content in lists for block in content} == {"text"}


def test_files_are_read_again() -> None:
    """Some files are read several times, whole and in parts."""
    reads = [call.arguments for call in CALLS if call.name == "read_file"]
    times = Counter(arguments["path"] for arguments in reads)

    assert sum(count > 1 for count in times.values()) >= 5
    assert any("offset" in arguments for arguments in reads)


def test_a_file_is_read_after_its_edit() -> None:
    """An older read of it is out of date then."""
    read: set[str] = set()
    edited: set[str] = set()
    read_again: set[str] = set()
    for call in CALLS:
        path = call.arguments.get("path", "")
        if call.name == "edit_file" and not call.is_error and path in read:
            edited.add(path)
        if call.name == "read_file" and not call.is_error:
            read_again |= {path} & edited
            read.add(path)

    assert read_again >= {"src/shop/store.py", "src/shop/messages.py", "src/shop/reports.py"}


def test_one_output_is_very_long_and_one_very_wide() -> None:
    """A result of more than 2,000 lines, and one of a single line of JSON."""
    assert max(call.text.count("\n") for call in CALLS) > 2_000
    assert any(
        len(call.text) > 10_000
        and "\n" not in call.text
        and isinstance(json.loads(call.text), list)
        for call in CALLS
        if call.text.startswith("[{")
    )


@pytest.mark.parametrize("sample", ["José", "führen", "ご注文", "🎂", "🙈"])
def test_it_speaks_more_than_ascii(sample: str) -> None:
    """Accents, Japanese and emoji stand in it as themselves."""
    assert sample in TEXT


def test_both_projects_are_read() -> None:
    """The agent reads its shop and this repository."""
    read = {call.arguments["path"] for call in CALLS if call.name == "read_file"}

    assert {"src/shop/pricing.py", "/home/dev/trimtab/src/trimtab/policy.py"} <= read


def test_nothing_is_said_of_the_machine() -> None:
    """No path of it, no object address, no duration."""
    assert MACHINE_PATHS.findall(TEXT) == []
    assert set(re.findall(r"\b0x[0-9a-f]{6,}", TEXT)) == {"0x7f0000000000"}
    assert re.findall(r"\bin \d+\.\d+s\b", TEXT) == []


def test_the_users_forbidden_folder_stays_shut() -> None:
    """No call names the folder that must not be touched."""
    assert not any("secrets" in text for call in CALLS for text in words(call.arguments))
