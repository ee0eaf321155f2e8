"""Copilot CLI's events: JSON lines become the requests that the agent made.

Each ``assistant.message`` answered one request. The system prompt is an event
of its own, written again when it changes; the user's message is sent as the
agent worded it (``transformedContent``). What a sub-agent did bears the call
that started it, and is a recording of its own. A compaction's summary stands
for all before it.

Usage is recorded as totals of the session, so requests have none; where
``assistant.usage`` events were kept, each belongs to the answer before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.messages import ToolResult
from trimtab.replay.answers import Answer, Notes, billed, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    first_lines,
    lines,
    mentions,
    skipped,
    string,
)
from trimtab.replay.recording import RecordedRequest, Recording, with_notes
from trimtab.replay.talks import Call, Talk, result_of, said, words
from trimtab.wire.json_spans import encode_json_text

__all__ = ["KIND", "read", "recognises"]

KIND = "copilot-cli"

_LINES_LOOKED_AT = 100
_UNRECORDED = frozenset({"tools"})
_TOTALS = "usage is recorded as totals of the session alone"


class _Line(msgspec.Struct):
    type: str | None = None
    timestamp: str | None = None
    data: Raw = ABSENT


class _Data(msgspec.Struct, rename="camel"):
    parent_tool_call_id: str | None = None
    content: Raw = ABSENT
    transformed_content: Raw = ABSENT
    tool_requests: Raw = ABSENT
    request_id: str | None = None
    tool_call_id: str | None = None
    success: bool | None = None
    result: Raw = ABSENT
    error: Raw = ABSENT
    new_model: str | None = None
    selected_model: str | None = None
    summary_content: Raw = ABSENT
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Request(msgspec.Struct, rename="camel"):
    tool_call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class _Result(msgspec.Struct):
    content: Raw = ABSENT
    message: Raw = ABSENT


_LINE = Shape(_Line)
_DATA = Shape(_Data)
_REQUEST = Shape(_Request)
_RESULT = Shape(_Result)

_SPOKEN = frozenset({
    "assistant.message", "assistant.usage", "session.compaction_complete", "session.model_change",
    "session.shutdown", "session.start", "system.message", "tool.execution_complete",
    "user.message",
})  # fmt: skip


def recognises(data: bytes) -> bool:
    """Say whether its lines are the agent's events."""
    head = first_lines(data, _LINES_LOOKED_AT)
    if not mentions(head, b"type", b"data"):
        return False
    found = (_LINE.read_or_none(text) for _, text in lines(head))
    return any(
        line is not None and line.type in _SPOKEN and begins(line.data, b"{") for line in found
    )


def read(data: bytes, name: str) -> list[Recording]:
    """Read a session and each sub-agent in it.

    Args:
        data: The whole file. The recordings keep it, and hold views of it.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in it.
    """
    session = _Session()
    broken: list[int] = []
    for _, line in _LINE.read_lines(data, broken):
        if line.type in _SPOKEN:
            session.take(line)
    recordings = [
        Recording(KIND, f"{name}#{agent}" if agent else name, thread.requests, thread.notes.told())
        for agent, thread in session.threads.items()
        if thread.requests
    ]
    if not recordings:
        raise RequestError(f"`{name}` is a session of Copilot CLI in which nobody answers")
    return with_notes(recordings, skipped(broken))


@dataclass(slots=True)
class _Thread:
    """The conversation of the agent, or of a sub-agent."""

    notes: Notes = field(default_factory=Notes)
    tools: dict[str, None] = field(default_factory=dict)
    requests: list[RecordedRequest] = field(default_factory=list)
    request_id: str | None = None
    talk: Talk = field(init=False)

    def __post_init__(self) -> None:
        self.talk = Talk(self.notes, self.tools)

    def take(self, kind: str | None, data: _Data) -> None:
        """Read an event that is no answer."""
        match kind:
            case "system.message":
                self.talk.system = string(data.content)
            case "user.message":
                text = (
                    data.transformed_content if string(data.transformed_content) else data.content
                )
                self.talk.say("user", partial(said, text), len(text))
            case "tool.execution_complete":
                result = _RESULT.read_or_none(data.result) or _Result()
                self.talk.result(
                    data.tool_call_id or "", partial(_result, data), len(result.content)
                )
            case "assistant.usage":
                self._bill(data)
            case "session.compaction_complete":
                self._renew(string(data.summary_content))
            case _:
                if not any(request.usage for request in self.requests):
                    self.notes[_TOTALS] = 1

    def _bill(self, data: _Data) -> None:
        usage = billed(
            data.input_tokens,
            read=data.cache_read_tokens,
            write=data.cache_write_tokens,
            output=data.output_tokens,
        )
        if self.requests:
            self.requests[-1] = replace(self.requests[-1], usage=usage)

    def _renew(self, summary: str) -> None:
        """Begin anew with a summary of all before; one that failed has none."""
        if not summary:
            return
        system, self.talk = self.talk.system, Talk(self.notes, self.tools)
        self.talk.system = system
        self.talk.say("user", partial(words, summary), len(summary))


class _Session:
    """A session as it is read.

    Attributes:
        threads: Conversations by the call that started them; "" is the agent's own.
    """

    def __init__(self) -> None:
        self.threads: dict[str, _Thread] = {"": _Thread()}
        self._model = ""

    def take(self, line: _Line) -> None:
        """Read one more event."""
        data = _DATA.read_or_none(line.data)
        if data is None:
            return
        thread = self.threads.setdefault(data.parent_tool_call_id or "", _Thread())
        if line.type == "assistant.message":
            self._answer(thread, data, line)
        elif line.type in {"session.start", "session.model_change"}:
            self._model = data.new_model or data.selected_model or self._model
        else:
            thread.take(line.type, data)

    def _answer(self, thread: _Thread, data: _Data, line: _Line) -> None:
        if data.request_id is None or data.request_id != thread.request_id:
            answer = Answer(self._model, None, seconds(line.timestamp))
            thread.requests.append(thread.talk.request("openai-chat", answer, _UNRECORDED))
        thread.request_id = data.request_id
        calls = [
            Call(call.tool_call_id, call.name, _arguments(call.arguments))
            for _, call in _REQUEST.read_each(data.tool_requests)
        ]
        if calls or string(data.content):
            size = len(data.content) + len(data.tool_requests)
            thread.talk.reply(data.content, calls, size, "openai-chat")


def _arguments(text: Raw) -> Bytes:
    """Read arguments: an object, or a string that holds its JSON text."""
    return encode_json_text(string(text)) if begins(text, b'"') else text


def _result(data: _Data) -> ToolResult:
    result = _RESULT.read_or_none(data.result) or _Result()
    error = _RESULT.read_or_none(data.error) or _Result()
    text = string(result.content) or string(error.message)
    return result_of(data.tool_call_id, text, is_error=data.success is False)
