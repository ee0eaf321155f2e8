"""The newest plan or todo list."""

from __future__ import annotations

import pytest

from tests.ledger.talk import marker, used
from trimtab.ledger import Ledger, gather

STEPS = ("[x] look", "[ ] build (in progress)", "[ ] test", "[-] paint")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "look", "status": "completed"}, {"content": "build", "status": "in_progress"}, {"content": "test", "status": "pending"}, {"content": "paint", "status": "cancelled"}]}),
        ("update_plan", {"explanation": "so", "plan": [{"step": "look", "status": "completed"}, {"step": "build", "status": "in_progress"}, {"step": "test", "status": "pending"}, {"step": "paint", "status": "cancelled"}]}),
        ("mcp__x__write_todos", {"todos": [{"description": "look", "status": "done"}, {"description": "build", "status": "active"}, {"description": "test"}, {"description": "paint", "status": "skipped"}]}),
    ],
)  # fmt: skip
def test_a_list_is_carried_with_the_state_of_each_step(tool: str, arguments: dict) -> None:
    """Done, under way, open and dropped can be told apart."""
    assert gather(used(tool, arguments)).carried == STEPS


def test_a_list_in_markdown_is_carried() -> None:
    """Some tools take the list as text."""
    todos = {"todos": "- [x] look\n- [ ] build"}

    assert gather(used("update_todo_list", todos)).carried == ("[x] look", "[ ] build")


def test_steps_that_are_made_one_by_one_are_one_list() -> None:
    """Tools that name one step a call add up."""
    span = [
        *used("TaskCreate", {"subject": "look"}, "Task #1 created"),
        *used("TaskCreate", {"subject": "build"}, "Task #2 created"),
        *used("TaskUpdate", {"taskId": "1", "status": "completed"}),
    ]

    assert gather(span).carried == ("[x] look", "[ ] build")


def test_the_newest_list_replaces_older_ones_and_none_is_carried_where_a_newer_stays() -> None:
    """State is replaced, never stacked."""
    older = used("TodoWrite", {"todos": [{"content": "look", "status": "pending"}]})
    newer = used("TodoWrite", {"todos": [{"content": "look", "status": "completed"}]})
    failed = used("TodoWrite", {"todos": [{"content": "no"}]}, is_error=True)

    assert gather([*older, *newer, *failed]).carried == ("[x] look",)
    assert gather(older, newer).carried == ()
    assert gather([marker(Ledger(carried=("[ ] a",))), *newer]).carried == ("[x] look",)
    assert gather([marker(Ledger(carried=("[ ] a",)))]).carried == ("[ ] a",)
    assert gather([marker(Ledger(carried=("[ ] a",)))], newer).carried == ()


def test_secrets_and_what_is_no_list_are_not_carried() -> None:
    """A step with a credential in it stays out."""
    assert gather(used("TodoWrite", {"todos": [{"content": "set password=hunter2"}]})).carried == ()
    assert gather(used("TodoWrite", {"todos": 3})).carried == ()


def test_a_step_without_end_is_cut_between_words() -> None:
    """A step is a line, not a page."""
    (step,) = gather(used("TodoWrite", {"todos": [{"content": "word " * 90}]})).carried

    assert set(step.split()) == {"[", "]", "word", "…"}
    assert len(step) <= 244
