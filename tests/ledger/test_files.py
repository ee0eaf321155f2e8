"""Files that calls touched."""

from __future__ import annotations

import pytest

from tests.ledger.talk import used
from trimtab import Policy
from trimtab.ledger import gather
from trimtab.ledger.files import merged_files

PATCH = (
    "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: old.py\n@@\n-a\n+b\n"
    "*** Delete File: gone.py\n*** Update File: from.py\n*** Move to: to.py\n*** End Patch"
)


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "files"),
    [
        ("Read", {"file_path": "/a.py"}, "", ("/a.py: read",)),
        ("mcp__fs__read_text_file", {"path": "a.py"}, "", ("a.py: read",)),
        ("Write", {"file_path": "./a.py", "content": "x"}, "", ("a.py: written",)),
        ("Write", {"file_path": "a.py"}, "File created successfully at: a.py", ("a.py: created",)),
        ("replace", {"filePath": "a.py"}, "", ("a.py: edited",)),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "", ("a.py: read",)),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "", ("a.py: created",)),
        ("delete_file", {"target_file": "a.py"}, "", ("a.py: deleted",)),
        ("move_file", {"source": "a", "destination": "b"}, "", ("a: moved to b", "b: written")),
        ("lint", {"path": "a.py"}, "", ("a.py: touched",)),
        ("MultiTool", {"edits": [{"path": "a.py"}, {"path": "b.py"}]}, "", ("a.py: touched", "b.py: touched")),
        ("Grep", {"pattern": "x", "path": "src"}, "", ()),
        ("Bash", {"command": "cat <<'E' > a.py\nrm b.py\nE\nrm -f old.py && mv x.py y.py"}, "", ("a.py: written", "old.py: deleted", "x.py: moved to y.py", "y.py: written")),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,9p' src/a.py"]}, "", ("src/a.py: read",)),
        ("Bash", {"command": "make 2>/dev/null; ls $HOME"}, "", ()),
        ("apply_patch", PATCH, "", ("new.py: created", "old.py: edited", "gone.py: deleted", "from.py: moved to to.py", "to.py: written")),
        ("patch", {"diff": "--- a/x.py\n+++ /dev/null\n@@\n--- /dev/null\n+++ b/y.py\n"}, "", ("x.py: deleted", "y.py: created")),
        ("Bash", {"command": "cat a*.py; cat /dev/null; head -3 b.py"}, "", ("b.py: read",)),
        ("patch", {"diff": "--- a/x.py\n+++ b/x.py\n@@\n"}, "", ("x.py: edited",)),
    ],
)  # fmt: skip
def test_what_a_call_does_to_files_is_told_by_its_name_and_arguments(
    tool: str, arguments: dict | str, result: str, files: tuple[str, ...]
) -> None:
    """Each known way of touching a file is seen."""
    assert gather(used(tool, arguments, result)).files == files


def test_a_call_that_failed_touched_nothing() -> None:
    """Failures are told by the flag, by words, or by the policy."""
    failed = used("Write", {"path": "a.py"}, "no", is_error=True)
    told = used("Write", {"path": "b.py"}, "<tool_use_error>no</tool_use_error>")
    asked = used("Write", {"path": "c.py"}, "nope")
    policy = Policy(is_error=lambda result: result.text == "nope")

    assert gather([*failed, *told, *asked], policy=policy).files == ()


def test_the_last_known_state_counts_and_reading_tells_less_than_making() -> None:
    """Later states replace earlier ones, oldest touch first."""
    span = [
        *used("Read", {"path": "a.py"}),
        *used("Write", {"path": "b.py"}),
        *used("Edit", {"path": "a.py"}),
        *used("Read", {"path": "a.py"}),
        *used("delete_file", {"path": "b.py"}),
    ]

    assert gather(span).files == ("a.py: edited", "b.py: deleted")


def test_a_file_that_the_kept_part_touches_again_is_left_out() -> None:
    """What can be seen there needs no second place."""
    span = [*used("Edit", {"path": "/p/a.py"}), *used("Edit", {"path": "/p/b.py"})]

    assert gather(span, used("Read", {"path": "a.py"})).files == ("/p/b.py: edited",)


def test_what_the_user_says_of_a_tool_goes_before_its_name() -> None:
    """A declared tool is what it is declared to be."""
    policy = Policy(tools={"look": "write"})

    assert gather(used("look", {"path": "a.py"}), policy=policy).files == ("a.py: written",)


def test_two_lists_become_one() -> None:
    """A path from the root and one from a folder are one file; the newer state counts."""
    assert merged_files(("/p/a.py: read", "b.py: created"), ("a.py: edited", "b.py: edited")) == (
        "/p/a.py: edited",
        "b.py: created",
    )


def test_arguments_that_are_no_json_object_touch_nothing() -> None:
    """Broken arguments are passed over."""
    assert (
        gather([*used("Read", "{"), *used("Read", "[1]"), *used("Read", '{"path": 3}')]).files == ()
    )
