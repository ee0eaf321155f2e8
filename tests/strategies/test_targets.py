"""What a tool call is about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Policy, ToolCall
from trimtab.strategies.targets import KNOWN_TOOLS, Target, target_of

POLICY = Policy(limit_tokens=1)


def target(name: str, arguments: dict[str, Any] | str, policy: Policy = POLICY) -> Target:
    """The target of a call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return target_of(ToolCall("c", name, text), policy)


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "path"),
    [
        ("Read", {"file_path": "/a.py"}, "read", "/a.py"),
        ("read", {"filePath": "/a.py"}, "read", "/a.py"),
        ("read_file", {"absolute_path": "/a.py"}, "read", "/a.py"),
        ("read_file", {"target_file": "a.py"}, "read", "a.py"),
        ("view", {"path": "/a.py"}, "read", "/a.py"),
        ("NotebookRead", {"notebook_path": "/a.ipynb"}, "read", "/a.ipynb"),
        ("Write", {"file_path": "/a.py", "content": "x"}, "write", "/a.py"),
        ("create", {"filename": "a.py"}, "write", "a.py"),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, "edit", "/a.py"),
        ("replace", {"file_path": "/a.py"}, "edit", "/a.py"),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, "read", "/a.py"),
        ("str_replace_editor", {"command": "create", "path": "/a.py"}, "write", "/a.py"),
        ("str_replace_editor", {"command": "str_replace", "path": "/a.py"}, "edit", "/a.py"),
        ("str_replace_editor", {"command": "something", "path": "/a.py"}, "edit", "/a.py"),
        ("str_replace_editor", {"path": "/a.py"}, "edit", "/a.py"),
        ("Bash", {"command": "ls"}, "other", ""),
        ("Grep", {"pattern": "x", "path": "/a"}, "other", ""),
        ("exec", "const r = 1;", "other", ""),
        ("apply_patch", "*** Begin Patch", None, ""),
        ("Read", "no json", None, ""),
        ("Read", "[1]", None, ""),
        ("Read", "[" * 100_000, None, ""),
        ("Read", {}, None, ""),
        ("Read", {"file_path": 7}, None, ""),
        ("Write", {"path": "/a", "filename": "b"}, None, ""),
        ("write_stdin", {"session_id": 1}, None, ""),
        ("BashOutput", {"bash_id": "1"}, None, ""),
        ("Task", {"prompt": "x"}, None, ""),
        ("get_user", {"user_id": "1"}, None, ""),
        ("get_user", {"path": "/a.py"}, None, ""),
    ],
)
def test_known_tools_are_told_by_name_and_path(
    name: str, arguments: dict[str, Any] | str, kind: str | None, path: str
) -> None:
    """What no table knows, and a file tool that names no file, has no kind."""
    found = target(name, arguments)

    assert (found.kind, found.path) == (kind, path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Read", {"file_path": "/a"}), ("read_file", {"path": "/a"})),
        (("Read", {"file_path": "/a"}), ("Read", {"file_path": "/a", "offset": None})),
        (("Read", {"file_path": "./b/a"}), ("Read", {"file_path": "b//./a"})),
        (("read", {"path": "a", "cwd": "/b"}), ("read", {"path": "/b/a"})),
        (
            ("Read", {"file_path": "/a", "offset": 5, "limit": 9}),
            ("Read", {"limit": 9, "file_path": "/a", "offset": 5}),
        ),
        (
            ("Bash", {"command": "ls", "description": "Look", "timeout": 5}),
            ("Bash", {"description": "Look again", "command": "ls"}),
        ),
        (
            (
                "str_replace_based_edit_tool",
                {"command": "view", "path": "/a", "view_range": [1, 2]},
            ),
            (
                "str_replace_based_edit_tool",
                {"command": "view", "path": "/a", "view_range": [1, 2], "insert_line": 1},
            ),
        ),
        (("get_user", '{"a": 1, "b": 2}'), ("get_user", '{"b":2,"a":1}')),
    ],
)
def test_calls_that_ask_for_the_same_are_one_target(one: Any, other: Any) -> None:
    """Whatever the order of keys, the name of the reading tool, and notes for people."""
    assert target(*one).identity == target(*other).identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Read", {"file_path": "/a"}), ("Read", {"file_path": "/b"})),
        (("Read", {"file_path": "/a"}), ("Read", {"file_path": "/A"})),
        (("Read", {"file_path": "/a"}), ("Read", {"file_path": "/a", "offset": 5})),
        (("Read", {"file_path": "/a", "pages": "1"}), ("Read", {"file_path": "/a", "pages": "2"})),
        (("view", {"path": "/a", "view_range": [1, 2]}), ("view", {"path": "/a"})),
        (
            ("str_replace_editor", {"command": "view", "path": "/a", "view_range": [1, 2]}),
            ("str_replace_editor", {"command": "view", "path": "/a", "view_range": [3, 4]}),
        ),
        (("Bash", {"command": "ls"}), ("Bash", {"command": "ls -l"})),
        (("shell", {"command": "ls", "workdir": "/a"}), ("shell", {"command": "ls"})),
        (("Bash", {"command": "ls"}), ("shell", {"command": "ls"})),
        (("Edit", {"file_path": "/a", "old": "x"}), ("Edit", {"file_path": "/a", "old": "y"})),
        # Numbers that a float cannot tell apart.
        (("get", '{"id": 9223372036854775807000}'), ("get", '{"id": 9223372036854775807001}')),
        (("get", '{"id": 0.10000000000000000001}'), ("get", '{"id": 0.1}')),
        # Arguments that are no JSON count as they stand.
        (("exec", "a  b"), ("exec", "a b")),
        # A note of a tool that nobody knows may be all that it is about.
        (("note", {"description": "x"}), ("note", {"description": "y"})),
    ],
)
def test_calls_that_ask_for_something_else_are_two_targets(one: Any, other: Any) -> None:
    """A path, a range, a folder, a digit more."""
    assert target(*one).identity != target(*other).identity


def test_what_the_policy_says_of_a_tool_goes_before_what_is_known() -> None:
    """Any name can be declared; a known one can be declared otherwise."""
    policy = Policy(
        limit_tokens=1, tools={"get_page": "read", "Read": "other", "note": "write", "Bash": "edit"}
    )

    assert target("get_page", {"path": "/a", "part": 1}, policy).span == '{"part": 1}'
    assert target("get_page", {"url": "x"}, policy).kind == "other"
    assert target("get_page", "no json", policy).kind is None
    assert target("Read", {"file_path": "/a"}, policy).kind == "other"
    assert target("note", {"path": "/a"}, policy).kind == "write"
    assert target("note", {"title": "a"}, policy).kind is None
    assert target("Bash", {"command": "ls"}, policy).kind is None
    # Arguments of a declared tool all count.
    assert (
        target("get_page", {"description": "x"}, policy).identity
        != target("get_page", {"description": "y"}, policy).identity
    )


def test_the_table_names_each_kind() -> None:
    """Tools of several agents stand in it, and nothing that answers anew each time."""
    assert set(KNOWN_TOOLS.values()) == {"read", "write", "edit", "other"}
    assert not {"write_stdin", "BashOutput", "TaskOutput", "Task", "scroll_down", "open"} & set(
        KNOWN_TOOLS
    )


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.text(max_size=4), values, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_counts(arguments: dict[str, Any], random: Any) -> None:
    """The same arguments in another order are the same call."""
    keys = list(arguments)
    random.shuffle(keys)

    assert target("get", arguments) == target("get", {key: arguments[key] for key in keys})
