"""The words of a diagnosis: causes, what they mean and what to do, and a break with its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["ADVICE", "DELIBERATE", "MEANING", "Break", "Cause", "Found", "Harmless", "Why"]

Cause: TypeAlias = Literal[
    "model_changed",
    "tools_reordered",
    "tool_added",
    "tool_removed",
    "tool_changed",
    "system_changed",
    "timestamp",
    "varying_id",
    "varying_number",
    "key_order_changed",
    "whitespace_changed",
    "escapes_changed",
    "parameters_changed",
    "result_changed",
    "thinking_dropped",
    "history_edited",
    "messages_reordered",
    "client_compaction",
    "rewind",
    "new_conversation",
    "marker_moved",
    "idle",
    "not_read",
]
"""Why the provider cannot read what was sent before from its cache."""

MEANING: Mapping[Cause, str] = {
    "model_changed": "another model answers, and each model has a cache of its own",
    "tools_reordered": "the same tools stand in another order, and they come before all else",
    "tool_added": "a tool was added, and tools come before all else",
    "tool_removed": "a tool is gone, and tools come before all else",
    "tool_changed": "the definition of a tool reads otherwise",
    "system_changed": "the system prompt reads otherwise",
    "timestamp": "a time or a date in it moves on",
    "varying_id": "an id in it is made anew",
    "varying_number": "a number in it varies",
    "key_order_changed": "the keys of an object stand in another order",
    "whitespace_changed": "only spaces and line breaks differ",
    "escapes_changed": "the same text is escaped in another way",
    "parameters_changed": "a parameter changed on which the provider's cache depends",
    "result_changed": "an old tool result reads otherwise",
    "thinking_dropped": "old thinking is not sent again",
    "history_edited": "the client changed a message that was sent before",
    "messages_reordered": "the same messages stand in another order",
    "client_compaction": "the client cut or summed up its history",
    "rewind": "the client goes on from an earlier point",
    "new_conversation": "it shares no message with what was sent before",
    "marker_moved": "no cache marker leads to what an earlier one wrote",
    "idle": "the cache had expired when the request came",
    "not_read": "nothing that is recorded changed, yet the bill shows that the cache was not read",
}
"""Each cause in words."""

ADVICE: Mapping[Cause, str] = {
    "model_changed": "change the model between tasks, or where a compaction is due anyway",
    "tools_reordered": "sort the tools by name before each request",
    "tool_added": "offer all tools from the first request on, and limit the choice by a parameter; "
    "or load tools through the provider's tool search",
    "tool_removed": "keep offering it, and limit the choice by a parameter",
    "tool_changed": "fix the wording of tools when the session begins",
    "system_changed": "fix the system prompt when the session begins; what changes belongs into "
    "the newest user message",
    "timestamp": "tell the time in the newest user message, or let the model ask a tool for it",
    "varying_id": "make ids once and keep them, or leave them out",
    "varying_number": "tell counters in the newest user message",
    "key_order_changed": "send old messages and tools with the bytes that they had, "
    "or write JSON with sorted keys",
    "whitespace_changed": "send old messages with the bytes that they had",
    "escapes_changed": "send old messages with the bytes that they had; "
    "do not decode and encode arguments again",
    "parameters_changed": "keep it as it is within a session",
    "result_changed": "shorten a result before it is first sent, or many at once and seldom",
    "thinking_dropped": "send thinking again as it came; drop it, if at all, with a compaction",
    "history_edited": "put what is new behind the old messages, never into them",
    "messages_reordered": "append messages, and keep their order",
    "client_compaction": "nothing, if it was seldom and deep; else raise the size at which it is done",
    "rewind": "nothing: what lies before that point is read from the cache",
    "new_conversation": "nothing: a new task or a side call begins",
    "marker_moved": "put a marker at most 20 blocks behind the last one of the request before, "
    "and keep that on tools and system",
    "idle": "ask for the long TTL where one exists, or compact on the first request after a pause",
    "not_read": "where the log holds neither system prompt nor tools, record the bodies: they may "
    "have changed; else the provider lost its cache, and there is nothing to do",
}
"""What to do about each cause."""

DELIBERATE: frozenset[Cause] = frozenset(("client_compaction", "rewind", "new_conversation"))
"""What a client does on purpose; told, but never held against it."""

Harmless: TypeAlias = Literal[
    "billing_block", "marker_moved", "text_as_block", "written_otherwise", "message_extended"
]
"""What differs from request to request and costs nothing.

``billing_block``: a client's block with the hash of its request, which the
provider takes out. ``marker_moved``: a cache marker went on to newer messages,
in reach of what was written. ``text_as_block``: a text as a string, or as one
block. ``written_otherwise``: JSON with other whitespace, escapes or order of
the keys of a message, which the provider reads as the same. ``message_extended``:
the last message got more behind what it had.
"""

Why: TypeAlias = Literal["", "deliberate", "too_short", "bill", "no_promise", "nothing_lost"]
"""Why a break does not matter.

Empty: it matters. ``deliberate``: the client does it on purpose. ``too_short``:
the prefix is below the least that the provider caches. ``bill``: the bill
shows that most of it was read from the cache all the same. ``no_promise``: the
provider caches as it likes, and nothing that the client did explains the miss.
``nothing_lost``: nothing of what was sent before is sent again.
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A place where a request parts from the one before.

    Attributes:
        cause: Why.
        path: Where it is in the body, such as ``messages[3].content[0].text``; the name of a
            field alone for all of it; empty where no byte changed.
        offset: The first byte of the body that differs; None where no byte changed.
        before: What stood there, a few characters.
        after: What stands there now.
        stage: How much of the prefix lies before it: 0 nothing, 1 tools, 2 tools and system
            prompt, 3 those and some messages.
        kept_messages: Messages up to which the cache is still read, where these are not all that
            are the same.
    """

    cause: Cause
    path: str = ""
    offset: int | None = None
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)
    stage: int = 3
    kept_messages: int | None = None


@dataclass(frozen=True, slots=True)
class Break:
    """A place where the provider's cache ends, with what that cost.

    Attributes:
        found: Where and why.
        lost_tokens: Tokens that the cache could have held and that were paid again.
        cost_usd: What that cost more than reading them; None where a price is not known.
        is_billed: Whether the bill says so; else it is counted.
        harmless: Why it does not matter; empty where it does.
    """

    found: Found
    lost_tokens: int
    cost_usd: float | None
    is_billed: bool
    harmless: Why

    @property
    def matters(self) -> bool:
        """Whether money was lost that need not be."""
        return not self.harmless
