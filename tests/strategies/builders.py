"""Short ways to say what a history holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trimtab import CharTokenCounter, Message, Policy, Text, ToolCall, ToolResult
from trimtab.constraints import UNCONSTRAINED, Constraints
from trimtab.plan import Edit, Plan, apply
from trimtab.strategies.history import History
from trimtab.tokens import Measure

__all__ = ["answer", "call", "lines", "replay", "weigh", "words_of"]


def call(call_id: str, name: str = "look") -> Message:
    """An assistant message with one call."""
    return Message.assistant(ToolCall(call_id, name, "{}"))


def answer(call_id: str, text: str) -> Message:
    """The result of one call."""
    return Message.tool(call_id, text)


def lines(count: int, word: str = "line") -> str:
    """A text of some lines, none alike."""
    return "\n".join(f"{word} {number}" for number in range(count))


def weigh(
    messages: Sequence[Message],
    *,
    limit: int = 10**6,
    constraints: Constraints = UNCONSTRAINED,
    protect: Callable[[Message], bool] | None = None,
    **settings: Any,
) -> History:
    """A history counted by characters."""
    policy = Policy(limit_tokens=limit, protect=protect, **settings)
    return History.weigh(messages, 0, Measure(CharTokenCounter()), policy, constraints)


def replay(history: History, edits: Sequence[Edit]) -> list[Message]:
    """The messages under some edits."""
    return [slot.message for slot in apply(Plan(tuple(edits)), history.messages)]


def words_of(messages: Sequence[Message]) -> list[str]:
    """Each message in a word: its text, or its calls and results by id."""
    told = []
    for message in messages:
        parts = []
        for part in message.parts:
            match part:
                case Text():
                    parts.append(part.text)
                case ToolCall():
                    parts.append(f"call {part.id}")
                case ToolResult():
                    parts.append(f"result {part.call_id}")
                case _:
                    parts.append("?")
        told.append(" + ".join(parts))
    return told
