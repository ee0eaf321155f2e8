"""What shows files may have to be quoted to the letter."""

from __future__ import annotations

import json

import pytest

from trimtab import ToolCall
from trimtab.policy import ToolKind
from trimtab.squeeze.quoting import will_be_quoted

COMMANDS = [
    ("cat src/app.py", True),
    ("cd /repo && sed -n '1,80p' app.py", True),
    ("cd /repo; git diff HEAD~1", True),
    ("git -C /repo show HEAD:app.py", True),
    ("ls\ncat package.json", True),
    ("for f in *.py; do head -5 $f; done", True),
    ("cat app.py | head -20", True),
    ("npm test 2>&1 | tail -50", False),
    ("make && echo done", False),
    ("cat build.log", False),
    ("tail -n 500 /var/log/app.out", False),
    ("git status", False),
    ("catkin build", False),
    ("curl -s https://a.example/api", False),
]


@pytest.mark.parametrize(("command", "is_shown"), COMMANDS)
@pytest.mark.parametrize("is_list", [False, True])
def test_a_command_that_prints_a_file_shows_it(
    command: str,
    is_shown: bool,  # noqa: FBT001 - a table
    is_list: bool,  # noqa: FBT001 - drawn
) -> None:
    """Whether the shell takes one string or a list; behind a pipe, and of a log, it does not."""
    said = ["bash", "-lc", command] if is_list else command
    call = ToolCall("a", "shell", json.dumps({"command": said}))

    assert will_be_quoted(call, "other") is is_shown


@pytest.mark.parametrize(
    ("name", "kind", "is_shown"),
    [
        ("Read", "read", True),
        ("Write", "write", True),
        ("Edit", "edit", True),
        ("Grep", "other", False),
        ("filesystem__read_text_file", None, True),
        ("getFileContents", None, True),
        ("show_diff", None, True),
        ("get_user_details", None, False),
        ("list_issues", None, False),
        ("thread_reader", None, False),
    ],
)
def test_a_tool_is_known_by_its_kind_or_its_name(
    name: str,
    kind: ToolKind | None,
    is_shown: bool,  # noqa: FBT001 - a table
) -> None:
    """What nobody knows is judged by the words of its name."""
    assert will_be_quoted(ToolCall("a", name, "{}"), kind) is is_shown
