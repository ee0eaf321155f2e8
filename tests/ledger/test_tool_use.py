"""Calls with their results."""

from __future__ import annotations

from tests.ledger.talk import ran, used
from trimtab import Message, Policy, ToolCall
from trimtab.ledger.tool_use import command_of, uses_in


def test_calls_are_paired_with_their_results_across_what_goes_and_stays() -> None:
    """Oldest first; a call without a result and one with broken arguments are listed too."""
    span = [*used("a", {"x": 1}, "one"), Message.assistant(ToolCall("lone", "b", "{"))]
    newer = used("c", {}, "Exit code: 1")

    uses = uses_in(span, newer, Policy())

    assert [(use.call.name, use.place, use.is_gone, use.failed) for use in uses] == [
        ("a", 1, True, False),
        ("b", 2, True, False),
        ("c", 4, False, True),
    ]
    assert [dict(use.arguments) for use in uses] == [{"x": 1}, {}, {}]


def test_arguments_too_large_to_read_count_as_none() -> None:
    """Nobody waits for megabytes of JSON."""
    (use,) = uses_in(
        [Message.assistant(ToolCall("c", "w", '{"x": "' + "y" * 4_000_000 + '"}'))], [], Policy()
    )

    assert use.arguments == {}


def test_the_command_of_a_shell_is_found_in_each_form() -> None:
    """As text, as words, and behind a shell that is named."""
    uses = uses_in(
        [
            *ran("ls -l", ""),
            *used("shell", {"command": ["bash", "-lc", "ls -a"]}),
            *used("shell", {"cmd": ["ls", "src"]}),
            *used("read", {"path": "x"}),
        ],
        [],
        Policy(),
    )

    assert [command_of(use) for use in uses] == ["ls -l", "ls -a", "ls src", ""]
