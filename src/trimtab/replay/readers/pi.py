"""pi's session files: JSON lines become the requests that the agent made.

Early versions are a list; later ones are a tree, in which each entry names
the one that it continues (``parentId``). A compaction keeps the entries from
one that it names (``firstKeptEntryId``, early ``firstKeptEntryIndex``), behind
its summary. Each answer names the provider and how it is spoken to (``api``).

Answers that failed or were stopped were asked for, so they are requests, but
are not sent back. Reasoning goes back to the provider that signed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.messages import Media, Part, ResultContent, Text, Thinking, ToolResult
from trimtab.replay.answers import Answer, Notes, billed, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Shape,
    begins,
    first_lines,
    lines,
    mentions,
    skipped,
    string,
)
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.replay.talks import Call, Talk, said, words
from trimtab.usage import Usage

__all__ = ["KIND", "read", "recognises"]

KIND = "pi"

_LINES_LOOKED_AT = 100

_FORMATS = {
    "anthropic-messages": "anthropic",
    "azure-openai-responses": "openai-responses",
    "bedrock-converse-stream": "anthropic",
    "google-gemini-cli": "gemini",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "openai-codex-responses": "openai-responses",
    "openai-responses": "openai-responses",
}
"""How each ``api`` is spoken to; all others take OpenAI chat."""

_UNRECORDED = frozenset({"tools", "system", "instructions", "systemInstruction", "max_tokens"})
_FAILED = frozenset({"aborted", "error"})

# The agent's words around what is no message of its own.
_SUMMARY = (
    "The conversation history before this point was compacted into the following summary:"
    "\n\n<summary>\n{}\n</summary>"
)
_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n{}"


class _Entry(msgspec.Struct, rename="camel"):
    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    message: Raw = ABSENT
    summary: Raw = ABSENT
    content: Raw = ABSENT
    first_kept_entry_id: str | None = None
    first_kept_entry_index: int | None = None


class _Tokens(msgspec.Struct, rename="camel"):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class _Message(msgspec.Struct, rename="camel"):
    role: str | None = None
    api: str | None = None
    model: str | None = None
    content: Raw = ABSENT
    usage: _Tokens | None = None
    stop_reason: str | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    command: Raw = ABSENT
    output: Raw = ABSENT
    summary: Raw = ABSENT
    exclude_from_context: bool | None = None


class _BlockHead(msgspec.Struct):
    type: str | None = None
    id: str | None = None
    name: str | None = None


class _Block(msgspec.Struct, rename="camel"):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    thinking_signature: str | None = None
    redacted: bool | None = None
    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT
    data: str | None = None
    mime_type: str | None = None


_ENTRY = Shape(_Entry)
_MESSAGE = Shape(_Message)
_HEAD = Shape(_BlockHead)
_BLOCK = Shape(_Block)


def recognises(data: bytes) -> bool:
    """Say whether it begins with a session and holds messages in entries of their own."""
    head = first_lines(data, _LINES_LOOKED_AT)
    if not mentions(head, b"session"):
        return False
    found = (_ENTRY.read_or_none(text) for _, text in lines(head))
    first = next(found, None)
    if first is None or first.type != "session" or not mentions(head, b"cwd"):
        return False
    return any(entry is not None and entry.type is not None for entry in found)


def read(data: bytes, name: str) -> list[Recording]:
    """Read a session.

    Args:
        data: The whole file. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in it.
    """
    broken: list[int] = []
    session = _Session([entry for _, entry in _ENTRY.read_lines(data, broken)])
    requests = session.requests()
    if not requests:
        raise RequestError(f"`{name}` is a session of pi in which nobody answers")
    return [Recording(KIND, name, requests, (*skipped(broken), *session.notes.told()))]


class _Session:
    """A session as it is walked through.

    Attributes:
        notes: What had to be guessed.
    """

    def __init__(self, entries: Sequence[_Entry]) -> None:
        self.notes = Notes()
        self._entries = entries
        self._places = {entry.id: place for place, entry in enumerate(entries) if entry.id}
        self._tools: dict[str, None] = {}
        self._requests: list[RecordedRequest] = []
        self._talk = Talk(self.notes, self._tools)
        self._path: list[int] = []

    def requests(self) -> list[RecordedRequest]:
        """Find what was asked, in the order of the file."""
        for place, entry in enumerate(self._entries):
            self._turn_to(entry)
            self._take(place, is_new=True)
        return self._requests

    def _turn_to(self, entry: _Entry) -> None:
        """Go back to the entry that one continues, where that is not the last."""
        parent = self._places.get(entry.parent_id or "")
        if parent is None or (self._path and self._path[-1] == parent):
            return
        way: list[int] = []
        at: int | None = parent
        while at is not None and at not in way:
            way.append(at)
            at = self._places.get(self._entries[at].parent_id or "")
        self._talk, self._path = Talk(Notes(), self._tools), []
        for place in reversed(way):
            self._take(place, is_new=False)
        self._talk.notes = self.notes

    def _take(self, place: int, *, is_new: bool) -> None:
        entry = self._entries[place]
        if entry.type == "compaction":
            self._compact(entry)
        elif entry.type == "branch_summary":
            self._say(_BRANCH.format(string(entry.summary)))
        elif entry.type == "custom_message":
            self._talk.say("user", partial(_parts, entry.content), len(entry.content))
        elif entry.type == "message":
            message = _MESSAGE.read_or_none(entry.message)
            if message is not None:
                self._take_message(message, entry, is_new=is_new)
        self._path.append(place)

    def _say(self, text: str) -> None:
        self._talk.say("user", partial(words, text), len(text))

    def _compact(self, entry: _Entry) -> None:
        """Start anew: the summary, then what was kept."""
        kept = self._kept(entry)
        self._talk = Talk(self.notes, self._tools)
        self._say(_SUMMARY.format(string(entry.summary)))
        path = self._path
        for place in kept:
            self._take(place, is_new=False)
        self._path = path

    def _kept(self, entry: _Entry) -> list[int]:
        first = self._places.get(entry.first_kept_entry_id or "")
        if first is None:
            first = entry.first_kept_entry_index
        if first is None:
            return []
        return [
            place
            for place in self._path
            if place >= first and self._entries[place].type != "compaction"
        ]

    def _take_message(self, message: _Message, entry: _Entry, *, is_new: bool) -> None:
        size = len(entry.message)
        if message.role == "assistant":
            self._answer(message, entry, is_new=is_new)
        elif message.role == "toolResult":
            self._talk.result(message.tool_call_id or "", partial(_result, message), size)
        elif message.role == "bashExecution":
            if not message.exclude_from_context:
                self._talk.say("user", partial(_execution, message), size)
        elif message.role in {"compactionSummary", "branchSummary"}:
            self._say(_SUMMARY.format(string(message.summary)))
        elif message.role is not None:
            self._talk.say("user", partial(_parts, message.content), size)

    def _answer(self, message: _Message, entry: _Entry, *, is_new: bool) -> None:
        wire_format = _FORMATS.get(message.api or "", "openai-chat")
        if is_new:
            answer = Answer(message.model or "", _usage(message.usage), seconds(entry.timestamp))
            self._requests.append(self._talk.request(wire_format, answer, _UNRECORDED))
        if message.stop_reason in _FAILED:
            return
        calls = [
            (head.id or "", head.name or "")
            for _, head in _HEAD.read_each(message.content)
            if head.type == "toolCall"
        ]
        self._talk.answer(partial(_parts, message.content), calls, len(entry.message), wire_format)


def _usage(tokens: _Tokens | None) -> Usage | None:
    """Read what was billed: the input excludes what was read from the cache or written to it."""
    if tokens is None:
        return None
    read, written = tokens.cache_read or 0, tokens.cache_write or 0
    total = (tokens.input or 0) + read + written
    return billed(total, read=read, write=written, output=tokens.output)


def _parts(content: Raw) -> list[Part]:
    """Decode what a message says."""
    if begins(content, b'"'):
        return said(content)
    return [part for _, block in _BLOCK.read_each(content) if (part := _part(block))]


def _part(block: _Block) -> Part | None:
    match block.type:
        case "text":
            return Text(block.text or "")
        case "image":
            return Media("image", block.mime_type or "", block.data or "")
        case "toolCall":
            return Call(block.id, block.name, block.arguments).part
        case "thinking":
            signature = block.thinking_signature or ""
            return Thinking(block.thinking or "", signature, is_redacted=bool(block.redacted))
        case _:
            return None


def _result(message: _Message) -> ToolResult:
    content: list[ResultContent] = [
        part for part in _parts(message.content) if isinstance(part, Text | Media)
    ]
    call_id = message.tool_call_id or ""
    return ToolResult(call_id, tuple(content), is_error=message.is_error is True)


def _execution(message: _Message) -> list[Part]:
    """Tell of a command that the user ran, in the agent's words."""
    output = string(message.output) or "(no output)"
    return words(f"Ran `{string(message.command)}`\n```\n{output}\n```")
