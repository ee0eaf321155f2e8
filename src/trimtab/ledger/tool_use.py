"""Calls with their results: what was done, whether it failed, and what came out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trimtab.messages import Message, ToolCall, ToolResult
from trimtab.policy import Policy

__all__ = ["Use", "command_of", "uses_in"]

_MOST_ARGUMENTS = 4_000_000
_FAILED_ENDS = re.compile(
    r"\bexit(?:ed)?[ _]?(?:with )?(?:code|status)[\"']?\s*[:=]?\s*[1-9]\d*\b|<returncode>[1-9]|<tool_use_error>|^Error: ",
    re.IGNORECASE,
)
_EDGE = 300


@dataclass(frozen=True, slots=True)
class Use:
    """A call and its result.

    Attributes:
        call: The call.
        place: Which message the result is in, or the call where none came; counts
            on through those that stay.
        result: What came out; None where nothing did.
        is_gone: Whether it is among what goes.
        arguments: The arguments, where they are a JSON object.
        failed: Whether the tool failed, as far as the format or its words tell.
    """

    call: ToolCall
    place: int
    result: ToolResult | None
    is_gone: bool
    arguments: Mapping[str, Any] = field(repr=False)
    failed: bool = False


def uses_in(span: Sequence[Message], newer: Sequence[Message], policy: Policy) -> list[Use]:
    """List the calls in some messages, oldest first.

    Args:
        span: What goes. A result in it whose call stays is not listed.
        newer: What stays and is newer.
        policy: Says how failures are told.
    """
    results: dict[str, tuple[ToolResult, int]] = {}
    calls: list[tuple[ToolCall, int]] = []
    for place, message in enumerate((*span, *newer)):
        if not message.call_ids and not message.result_ids:
            continue
        for part in message.parts:
            match part:
                case ToolCall():
                    calls.append((part, place))
                case ToolResult():
                    results[part.call_id] = (part, place)
                case _:
                    pass
    uses = []
    for call, called in calls:
        result, place = results.get(call.id, (None, called))
        failed = result is not None and _failed(result, policy)
        uses.append(Use(call, place, result, called < len(span), _arguments(call), failed))
    return uses


def _failed(result: ToolResult, policy: Policy) -> bool:
    if result.is_error or (policy.is_error is not None and policy.is_error(result)):
        return True
    text = result.text
    return (
        _FAILED_ENDS.search(text[:_EDGE]) is not None
        or _FAILED_ENDS.search(text[-_EDGE:]) is not None
    )


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    if len(call.arguments) > _MOST_ARGUMENTS:
        return {}
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def command_of(use: Use) -> str:
    """The shell command that a call runs; empty where it runs none."""
    for key in ("command", "cmd", "script", "commandLine", "CommandLine"):
        command = use.arguments.get(key)
        if isinstance(command, str):
            return command
        if isinstance(command, list) and all(isinstance(word, str) for word in command):
            # Codex runs a shell by name: what counts is the last word.
            return (
                command[-1]
                if len(command) > 2 and command[1].startswith("-")
                else " ".join(command)
            )
    return ""
