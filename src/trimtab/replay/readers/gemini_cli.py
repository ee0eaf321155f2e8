"""Gemini CLI chats: a conversation as one JSON document, or as JSON lines that grow.

A line replaces an earlier one with the same ``id``: the message as it has
grown. ``$rewindTo`` takes back a message and all that follows it. A message
of the model holds its calls with their results, which are sent in the user
message behind it, in their own bytes.

Thoughts are not sent back. The signatures of calls, which are, are not in the
log: the one that Google documents for calls from elsewhere stands in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import (
    INTERRUPTED,
    NO_MESSAGE,
    NO_RESULT,
    STAND_IN,
    Answer,
    Notes,
    billed,
    seconds,
)
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    elements_or_none,
    lines,
    mentions,
    skipped,
    string,
)
from trimtab.replay.pieces import Piece, Pieces
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.usage import Usage
from trimtab.wire.json_spans import dump

__all__ = ["KIND", "read", "recognises"]

KIND = "gemini-cli"

_UNRECORDED = frozenset({"tools", "systemInstruction"})

_SIGNATURE = "skip_thought_signature_validator"


class _Tokens(msgspec.Struct):
    input: int | None = None
    output: int | None = None
    cached: int | None = None
    thoughts: int | None = None


class _Line(msgspec.Struct, rename="camel"):
    """The head of a chat, a message, or a step back: one of the three."""

    session_id: str | None = None
    project_hash: str | None = None
    messages: Raw = ABSENT
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")
    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    model: str | None = None
    content: Raw = ABSENT
    tokens: _Tokens | None = None
    tool_calls: Raw = ABSENT


class _Call(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: Raw = ABSENT
    result: Raw = ABSENT


class _Response(msgspec.Struct, rename="camel"):
    function_response: Raw = ABSENT


_LINE = Shape(_Line)
_CALL = Shape(_Call)
_RESPONSE = Shape(_Response)


def recognises(data: bytes) -> bool:
    """Say whether it begins with the head of a chat."""
    if not mentions(data, b"sessionId", b"projectHash"):
        return False
    first = next(lines(data), None)
    for text in (first.text, data) if first else ():
        line = _LINE.read_or_none(text)
        if line is not None:
            return line.session_id is not None and line.project_hash is not None
    return False


def read(data: bytes, name: str) -> list[Recording]:
    """Read a chat.

    Args:
        data: The whole file. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If the model answers nothing in it.
    """
    chat = _read_chat(data)
    notes, tools = Notes(), dict[str, None]()
    requests: list[RecordedRequest] = []
    asked: set[str] = set()
    for branch in (*chat.left, chat.messages):
        requests += _requests(branch, asked, notes, tools)
    if not requests:
        raise RequestError(f"`{name}` is a chat of Gemini CLI in which the model answers nothing")
    return [Recording(KIND, name, requests, (*skipped(chat.broken), *notes.told()))]


@dataclass(slots=True)
class _Log:
    """A chat as it stands at the end.

    Attributes:
        messages: Messages by id, in the order in which they were begun.
        left: What was there when the user went back, each time.
        broken: Numbers of lines that could not be read.
    """

    messages: dict[str, _Line] = field(default_factory=dict)
    left: list[dict[str, _Line]] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)

    def put(self, line: _Line) -> None:
        """Add a message, or replace it as it has grown."""
        if line.type is not None:
            self.messages[line.id or f"message {len(self.messages)}"] = line
        if line.rewind_to in self.messages:
            self.left.append(self.messages)
            kept = list(self.messages)[: list(self.messages).index(line.rewind_to)]
            self.messages = {key: self.messages[key] for key in kept}

    def put_all(self, messages: Raw) -> None:
        """Add the messages of a document."""
        for _, line in _LINE.read_each(messages):
            self.put(line)


def _read_chat(data: bytes) -> _Log:
    chat = _Log()
    first = next(lines(data), None)
    whole = None if first and _LINE.read_or_none(first.text) else _LINE.read_or_none(data)
    if whole is not None:
        chat.put_all(whole.messages)
        return chat
    for _, line in _LINE.read_lines(data, chat.broken):
        chat.put(line)
        chat.put_all(line.messages)
    return chat


def _requests(
    branch: dict[str, _Line], asked: set[str], notes: Notes, tools: dict[str, None]
) -> Iterator[RecordedRequest]:
    """Make a request of what precedes each message of the model.

    Args:
        branch: The messages by id.
        asked: Ids of the messages that have a request already; gets those of these.
        notes: Gets what had to be guessed.
        tools: Gets the names of the tools that are called.
    """
    history = Pieces()
    for message_id, message in branch.items():
        if message.type == "user":
            for part in _parts(message.content):
                history.add(Piece(part, b"user"))
        elif message.type == "gemini":
            if not history.pieces or history.pieces[-1].role == b"model":
                notes[NO_MESSAGE] += 1
                history.add(Piece(dump({"text": STAND_IN}), b"user"))
            if message_id not in asked:
                asked.add(message_id)
                answer = Answer(
                    message.model or "", _usage(message.tokens), seconds(message.timestamp)
                )
                yield history.request(
                    _Head(tools), wire_format="gemini", answer=answer, unrecorded=_UNRECORDED
                )
            _add_answer(history, message, notes, tools)


def _usage(tokens: _Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    thoughts = tokens.thoughts or 0
    return billed(
        tokens.input,
        read=tokens.cached,
        output=(tokens.output or 0) + thoughts,
        reasoning=thoughts,
    )


def _parts(content: Raw) -> list[Bytes]:
    """Split what somebody says into parts; blank texts are refused and left out."""
    if begins(content, b'"'):
        return [b'{"text":%b}' % bytes(content)] if string(content).strip() else []
    if begins(content, b"{"):
        return [memoryview(content)]
    return [part for each in elements_or_none(content) or () for part in _part(each)]


def _part(text: Raw) -> list[Bytes]:
    if begins(text, b'"'):
        return _parts(text)
    return [memoryview(text)] if begins(text, b"{") and not _is_blank(text) else []


class _Text(msgspec.Struct):
    text: str | None = None
    thought: bool | None = None


_TEXT = Shape(_Text)


def _is_blank(part: Raw) -> bool:
    head = _TEXT.read_or_none(part)
    if head is None or head.text is None:
        return False
    return bool(head.thought) or not head.text.strip()


def _add_answer(history: Pieces, message: _Line, notes: Notes, tools: dict[str, None]) -> None:
    for part in _parts(message.content):
        history.add(Piece(part, b"model"))
    calls = [call for _, call in _CALL.read_each(message.tool_calls)]
    for place, call in enumerate(calls):
        tools[call.name or ""] = None
        history.add(Piece(_call_part(call, is_first=not place), b"model"))
    extras: list[Bytes] = []
    for call in calls:
        responses, others = _results(call)
        if not responses:
            notes[NO_RESULT] += 1
            responses = [_interrupted(call)]
        history.add(Piece(responses[0], b"user"))
        extras += others
    for part in extras:
        history.add(Piece(part, b"user"))


def _call_part(call: _Call, *, is_first: bool) -> bytes:
    arguments = call.args if begins(call.args, b"{") else Raw(b"{}")
    members: dict[str, object] = {"name": call.name or "", "args": arguments}
    if call.id:
        members = {"id": call.id, **members}
    part: dict[str, object] = {"functionCall": members}
    if is_first:
        part["thoughtSignature"] = _SIGNATURE
    return dump(part)


def _results(call: _Call) -> tuple[list[Bytes], list[Bytes]]:
    """Split what a call was answered into responses and what came beside them, such as images."""
    responses: list[Bytes] = []
    others: list[Bytes] = []
    for text in elements_or_none(call.result) or ():
        if _is_response(text):
            responses.append(memoryview(text))
        elif begins(text, b"{") and not _is_blank(text):
            others.append(memoryview(text))
    return responses, others


def _is_response(text: Raw) -> bool:
    if begins(text, b'{"functionResponse":{'):
        return True  # as the client writes it: no need to read it all
    part = _RESPONSE.read_or_none(text)
    return part is not None and begins(part.function_response, b"{")


def _interrupted(call: _Call) -> bytes:
    named = {"id": call.id, "name": call.name or ""} if call.id else {"name": call.name or ""}
    return dump({"functionResponse": {**named, "response": {"error": INTERRUPTED}}})


class _Head:
    """Writes a body up to its first message; the tools are known when the chat was read."""

    __slots__ = ("_tools",)

    def __init__(self, tools: dict[str, None]) -> None:
        self._tools = tools

    def __call__(self) -> bytes:
        if not self._tools:
            return b'{"contents":['
        stubs = [{"name": name} for name in self._tools]
        tools = dump([{"functionDeclarations": stubs}])
        return b'{"tools":' + tools + b',"contents":['
