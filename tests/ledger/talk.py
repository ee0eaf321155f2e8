"""Short ways to write conversations down."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from trimtab import Message, ToolCall
from trimtab.boundaries import MARKER
from trimtab.ledger import Ledger, gather, render

__all__ = ["characters", "held", "marker", "ran", "said", "used"]


def characters(text: str) -> int:
    """One token a character: sizes can be read off the page."""
    return len(text)


def said(*texts: str) -> list[Message]:
    """A message of the user's for each text, each answered."""
    return [message for text in texts for message in (Message.user(text), Message.assistant("ok"))]


def held(*texts: str) -> list[str]:
    """What is listed of what the user said, rules first."""
    ledger = gather(said(*texts))
    return [*ledger.rules, *ledger.words]


_NUMBERS = count()


def used(
    tool: str, arguments: dict[str, Any] | str, result: str = "ok", *, is_error: bool = False
) -> list[Message]:
    """A call and its result."""
    call_id = f"call-{next(_NUMBERS)}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return [
        Message.assistant(ToolCall(call_id, tool, text)),
        Message.tool(call_id, result, is_error=is_error),
    ]


def ran(command: str, result: str, *, is_error: bool = False) -> list[Message]:
    """A shell command and what it wrote."""
    return used("Bash", {"command": command}, result, is_error=is_error)


def marker(ledger: Ledger) -> Message:
    """The marker of a compaction that removed what a ledger lists, as it comes back from JSON."""
    return Message.user(f"{MARKER}\n\n{render(ledger, 100_000, characters)}")
