"""Conversations of calls and results for the passes that shorten results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.strategies.builders import replay
from trimtab import Message, Text, ToolCall, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.history import History

__all__ = ["LONG", "Step", "bodies", "changed", "histories_of", "session", "texts"]

LONG = "x = compute(1, 2)\n" * 20
"""A result that weighs more than any marker."""


@dataclass(frozen=True)
class Step:
    """One call and its answer.

    Attributes:
        name: The tool.
        arguments: What it is called with.
        result: What it answers; None while it has not.
        is_error: Whether it failed.
    """

    name: str
    arguments: dict[str, Any]
    result: str | ToolResult | None = LONG
    is_error: bool = False


def session(steps: Iterable[Step | list[Step]]) -> list[Message]:
    """A user's wish, exchanges of one call or several in parallel, and a newest exchange."""
    messages = [Message.user("go")]
    number = 0
    for entry in [*steps, Step("think", {}, "ok")]:
        group = entry if isinstance(entry, list) else [entry]
        named = [(f"c{number + place}", step) for place, step in enumerate(group)]
        number += len(group)
        calls = [ToolCall(name, step.name, json.dumps(step.arguments)) for name, step in named]
        messages.append(Message.assistant(*calls))
        results = [_result(name, step) for name, step in named if step.result is not None]
        if results:
            messages.append(Message("tool", results))
    return messages


def _result(call_id: str, step: Step) -> ToolResult:
    if isinstance(step.result, ToolResult):
        return ToolResult(call_id, step.result.content, step.is_error)
    return ToolResult(call_id, (Text(step.result or ""),), step.is_error)


def changed(edits: tuple[Replace, ...]) -> dict[str, str]:
    """The new words of each result that the edits touch, by call id."""
    told = {}
    for edit in edits:
        assert isinstance(edit.new, ToolResult)
        told[edit.new.call_id] = edit.new.text
    return told


def bodies(history: History, edits: tuple[Replace, ...]) -> list[ToolResult]:
    """All results under some edits, oldest first."""
    return [
        part
        for message in replay(history, edits)
        for part in message.parts
        if isinstance(part, ToolResult)
    ]


texts = st.sampled_from(
    [
        LONG,
        LONG + "more",
        "",
        "short",
        "Error: no such file or directory: " + "a/b" * 60,
        "File unchanged since last read.",
        "x\n" * 300 + "[3 more lines in file]",
        "The user doesn't want to proceed with this tool use. " + "Please " * 90,
        "fine\n" * 90 + "KeyError: 'x'\n" + "fine\n" * 90,
    ]
)
"""Words of results, of all sorts."""

_steps = st.builds(
    Step,
    st.sampled_from(["Read", "Write", "Edit", "Bash", "unknown"]),
    st.sampled_from(
        [{"path": "/a"}, {"path": "/b"}, {"path": "/a", "offset": 3}, {"command": "ls"}, {}]
    ),
    st.none() | texts,
    st.booleans(),
)

histories_of = st.lists(_steps | st.lists(_steps, min_size=1, max_size=3), max_size=10)
"""Steps of a session, some in parallel."""
