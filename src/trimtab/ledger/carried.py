"""The newest plan or todo list: replaced by a newer one and never stacked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trimtab.ledger.secrets import holds_secret
from trimtab.ledger.texts import one_line, word_cut
from trimtab.ledger.tool_use import Use

__all__ = ["carried_state"]

_WHOLE = re.compile(
    r"^(?:\w+__)*(?:todo_?write|write_?todos?|update_?plan|update_?todo_?list|manage_?todo_?list|set_?plan|plan_?update|todos?|todo_?list|update_?todos?|task_?list)$",
    re.IGNORECASE,
)
_ADDS = re.compile(r"^(?:\w+__)*(?:task_?create|create_?task|add_?todo|todo_?add)$", re.IGNORECASE)
_CHANGES = re.compile(r"^(?:\w+__)*(?:task_?update|update_?task|complete_?task)$", re.IGNORECASE)
_NAMES = (
    "content",
    "step",
    "title",
    "subject",
    "description",
    "task",
    "text",
    "name",
    "label",
    "activeForm",
)
_STATUSES = ("status", "state", "completed", "done")
_DONE = ("completed", "complete", "done", "finished", "true", "x")
_DROPPED = ("cancelled", "canceled", "skipped", "deleted", "abandoned")
_ACTIVE = ("in_progress", "in-progress", "inprogress", "active", "doing", "started")
_CHECK = re.compile(r"^\s*(?:[-*]\s*)?\[([ xX~>-])\]\s*(.+)$", re.MULTILINE)
_NUMBER = re.compile(r"#?(\d+)")
_MOST_STEPS = 60
_LONGEST_STEP = 240


def carried_state(uses: Sequence[Use], earlier: Sequence[str] = ()) -> tuple[str, ...]:
    """The newest list of steps, one line each; empty where a newer one stays.

    Args:
        uses: Calls, those that stay among them.
        earlier: What an earlier compaction carried.
    """
    carried: tuple[str, ...] = tuple(earlier)
    steps: dict[str, tuple[str, str]] = {}  # of tools that name one step a call
    for use in uses:
        if use.failed:
            continue
        name = use.call.name
        listed: tuple[str, ...] = ()
        if _WHOLE.match(name):
            listed = _steps(use.arguments)
        elif _ADDS.match(name):
            number = _NUMBER.search(use.result.text[:200]) if use.result is not None else None
            key = number.group(1) if number else str(len(steps) + 1)
            steps[key] = (_told(use.arguments), _status(use.arguments))
            listed = _lines(steps.values())
        elif _CHANGES.match(name):
            key = str(
                next(
                    (use.arguments[k] for k in ("taskId", "task_id", "id") if k in use.arguments),
                    "",
                )
            )
            if key in steps:
                former = steps[key]
                steps[key] = (
                    _told(use.arguments) or former[0],
                    _status(use.arguments) or former[1],
                )
                listed = _lines(steps.values())
        if listed:
            carried = listed if use.is_gone else ()
    return carried


def _steps(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    for value in arguments.values():
        if isinstance(value, list) and value and all(isinstance(step, dict) for step in value):
            return _lines([(_told(step), _status(step)) for step in value])
        if isinstance(value, str) and (checks := _CHECK.findall(value)):
            return _lines([(text, "done" if mark in "xX" else "") for mark, text in checks])
    return ()


def _told(step: Mapping[str, Any]) -> str:
    for key in _NAMES:
        told = step.get(key)
        if isinstance(told, str) and told.strip():
            return told
    return ""


def _status(step: Mapping[str, Any]) -> str:
    return next((str(step[key]).lower() for key in _STATUSES if key in step), "")


def _lines(steps: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    lines = []
    for told, status in list(steps)[:_MOST_STEPS]:
        text = one_line(told)
        if len(text) > _LONGEST_STEP:
            text = word_cut(text, lambda cut: len(cut) <= _LONGEST_STEP)
        if not text or holds_secret(text):
            continue
        if status in _DONE:
            lines.append(f"[x] {text}")
        elif status in _DROPPED:
            lines.append(f"[-] {text}")
        else:
            lines.append(f"[ ] {text}{' (in progress)' if status in _ACTIVE else ''}")
    return tuple(lines)
