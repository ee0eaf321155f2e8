"""What the words of a tool result tell."""

from __future__ import annotations

import pytest

from trimtab.strategies.wording import (
    is_partial,
    is_refusal,
    is_stub,
    looks_failed,
    may_be_refusal,
    tells_of_failure,
)

REFUSALS = [
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file).",
    "The user doesn't want to take this action right now. STOP what you are doing.",
    "Permission to use Bash with command rm -rf /tmp/x has been denied.",
    "Claude requested permissions to write to /a.py, but you haven't granted it yet.",
    "This command requires approval",
    "[Request interrupted by user for tool use]",
    "PreToolUse:Bash hook error: [check.sh]: no force pushes",
    "Bash operation blocked by hook: use the release script",
    "exec command rejected by user",
    "patch rejected by user",
    'CreateProcess { message: "Rejected(\\"This action was rejected due to unacceptable risk.',
    "[Operation Cancelled] Reason: User did not allow tool call",
    "Tool execution denied by policy.",
    "The user rejected permission to use this specific tool call.",
    "The user has specified a rule which prevents you from using this specific tool call.",
    "Error: The user denied this operation.",
    "User denied execution.",
    "Tool call cancelled by user",
    "Command was refused by the operator",
    "Error: blocked by a security policy",
    "The sandbox has blocked this write",
    "You are not allowed to run this",
]

FAILURES = [
    "Error: ENOENT: no such file or directory, open '/home/user/a.py'",
    "<tool_use_error>File does not exist.</tool_use_error>",
    'Traceback (most recent call last):\n  File "a.py"\nValueError: x',
    "Exit code: 2\nWall time: 0.1 seconds\nOutput:\n",
    "fatal: The current branch has no upstream branch.",
    "apply_patch failed: expected lines are not there",
    '{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.1}}',
    "<returncode>1</returncode>\n<output>x</output>",
    "some output\n\nCommand exited with code 1",
    "ModuleNotFoundError: No module named 'x'",
]

ANSWERS = [
    "",
    "     1\u2192import os\n     2\u2192",
    "# Error handling\n\nErrors are raised where they occur.",
    "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nfine",
    '{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.1}}',
    "The file /home/user/hooks/a.py has been updated.",
    "Process exited with code 0",
    "errors.py\nerror_codes.py",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_known_by_its_words(text: str) -> None:
    """It counts as a failure too, so that it makes nothing stale."""
    assert is_refusal(text)
    assert may_be_refusal(text)
    assert looks_failed(text)


@pytest.mark.parametrize(
    "text",
    [
        "Please use the release script instead.",
        "Your hook says: run the formatter first",
        "Der Benutzer hat das abgelehnt",
        "\u7528\u6237\u62d2\u7edd\u4e86\u8fd9\u6b21\u8c03\u7528",
        "Error: don't push to main",
        "Error: EACCES: permission denied",
    ],
)
def test_what_could_be_a_refusal_is_taken_for_one_in_doubt(text: str) -> None:
    """Other wordings and other languages, and failures that read like it."""
    assert may_be_refusal(text)
    assert not is_refusal(text)


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_known_by_its_words_and_is_no_refusal(text: str) -> None:
    """Where there is no flag, its beginning or its exit code says it."""
    assert looks_failed(text)
    assert not may_be_refusal(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer_is_no_failure(text: str) -> None:
    """Neither because it is about errors, nor because a path holds a word."""
    assert not looks_failed(text)
    assert not is_refusal(text)


@pytest.mark.parametrize(
    ("text", "tells", "tells_loosely"),
    [
        ("src/a.ts(8,22): error TS2307: no module", True, True),
        ("E       assert 1 == 2", True, True),
        ("FAILED tests/test_a.py::test_b", True, True),
        ("3 failed, 9 passed", True, True),
        ("thread 'main' panicked at src/main.rs:1", True, True),
        ("fine\nfine\nKeyError: 'x'", True, True),
        ("String to replace not found in file.", False, True),
        ("0 failed, 9 passed", False, True),
        ("const isError: boolean = false;", False, True),
        ("all is well", False, False),
    ],
)
def test_lines_of_programs_that_failed_are_found(
    text: str, *, tells: bool, tells_loosely: bool
) -> None:
    """In their usual forms; loosely, by words alone."""
    assert tells_of_failure(text) == tells
    assert tells_of_failure(text, is_loose=True) == tells_loosely


@pytest.mark.parametrize(
    "text",
    [
        "File unchanged since last read. The content from the earlier Read tool_result is still current",
        "<persisted-output>\nOutput too large (54KB). Full output saved to: /x\n" + "x\n" * 1000,
        "Command running in background with ID: b1. Output is being written to: /tmp/x",
        "Chunk ID: 7d1306\nWall time: 5 seconds\nProcess running with session ID 3\nOutput:\n"
        + "x" * 999,
        "Old environment output: (98 lines omitted)",
        "[Old tool result content cleared]",
    ],
)
def test_a_result_without_content_of_its_own_is_a_stub(text: str) -> None:
    """It points elsewhere, or is not all there yet."""
    assert is_stub(text)


def test_a_long_result_is_no_stub_for_a_word_in_it() -> None:
    """Only what is short, or begins like one."""
    assert not is_stub("x = 1  # unchanged since the previous one\n" * 20)
    assert not is_stub("x = 1\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n" * 500 + "(File has more lines. Use 'offset' to read on)", True),
        ("[Showing lines 1-200 of 900]\n" + "a\n" * 500, True),
        ("a\n" * 500 + "truncated = 1\n" + "a\n" * 500, False),
        ("a\n" * 500, False),
    ],
)
def test_a_read_that_shows_a_part_says_so_at_an_end(text: str, *, expected: bool) -> None:
    """What stands in the middle is the file's."""
    assert is_partial(text) is expected
