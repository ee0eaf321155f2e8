"""Codex rollouts: JSON lines become the requests to the Responses API that the client made.

The client keeps the items of a conversation and sends all of them each time
(``store`` is off), so ``response_item`` lines are the input in their own
bytes. What else there is:

* A response is several items. It ends with the first line that counts new
  tokens, where a turn begins, or where something is said after one of its
  calls was answered. Counts with the totals of the one before are
  repetitions; the first has none.
* A count stands behind the items of its response; early versions wrote it
  before them. One that follows no item is taken for that of the response that
  comes next, unless that has its own: then it belongs to a request that is
  not in the log, such as a compaction's.
* ``event_msg`` lines repeat what items say, for the screen.
* ``compacted`` starts anew with its ``replacement_history``.
* When the user speaks, reasoning of earlier turns is dropped.
* As in the client: a call that was aborted is answered so, and a result
  without its call is left out.
* Early versions wrote items without an envelope.

Instructions are in newer logs; of tools there are only the names of those
that were called.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import NO_CALL, NO_RESULT, Answer, Notes, billed, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    elements_or_none,
    first_lines,
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

KIND = "codex"

_LINES_LOOKED_AT = 100

_OUTPUTS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "local_shell_call": "function_call_output",
    "tool_search_call": "tool_search_output",
}
"""Items that call the client, and what answers each."""

_ANSWERS = frozenset(_OUTPUTS.values())

# What the client keeps for itself.
_NOT_SENT = frozenset({"ghost_snapshot", "other"})

# An id ties an item to reasoning, which goes when the next turn begins, and to what is
# stored, which is nothing: early clients never sent one. Without it an item stands alone.
_WITHOUT_ID = frozenset({*_OUTPUTS, "message", "reasoning", "web_search_call"})

_ABORTED = "aborted"  # the client's word
_BARE = frozenset({"message", "reasoning", "function_call", "function_call_output"})
_TOO_MANY_TURNS = "times that more turns were taken back than there were"


class _Line(msgspec.Struct):
    type: str | None = None
    timestamp: str | None = None
    payload: Raw = ABSENT
    record_type: str | None = None
    id: str | None = None
    instructions: Raw = ABSENT


class _Item(msgspec.Struct):
    type: str | None = None
    role: str | None = None
    call_id: str | None = None
    id: str | None = None
    name: str | None = None


class _Meta(msgspec.Struct):
    instructions: Raw = ABSENT
    base_instructions: Raw = ABSENT


class _BaseInstructions(msgspec.Struct):
    text: Raw = ABSENT


class _Context(msgspec.Struct):
    model: str | None = None


class _Compacted(msgspec.Struct):
    message: Raw = ABSENT
    replacement_history: Raw = ABSENT


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_output_tokens: int | None = None
    total_tokens: int | None = None


class _Info(msgspec.Struct):
    total_token_usage: _Tokens | None = None
    last_token_usage: _Tokens | None = None


class _Event(msgspec.Struct):
    type: str | None = None
    info: _Info | None = None
    num_turns: int | None = None


_LINE = Shape(_Line)
_ITEM = Shape(_Item)
_META = Shape(_Meta)
_BASE = Shape(_BaseInstructions)
_CONTEXT = Shape(_Context)
_COMPACTED = Shape(_Compacted)
_EVENT = Shape(_Event)


def recognises(data: bytes) -> bool:
    """Say whether its lines are those of a rollout: items in an envelope, or a bare beginning."""
    head = first_lines(data, _LINES_LOOKED_AT)
    if not any(mentions(head, key) for key in (b"payload", b"record_type", b"instructions")):
        return False
    found = (_LINE.read_or_none(text) for _, text in lines(head))
    return any(line is not None and _is_rollout(line) for line in found)


def read(data: bytes, name: str) -> list[Recording]:
    """Read a session.

    Args:
        data: The whole log. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If it holds no response.
    """
    session = _Session()
    broken: list[int] = []
    for text, line in _LINE.read_lines(data, broken):
        session.take(line, text)
    if not session.requests:
        raise RequestError(
            f"`{name}` is a rollout of Codex without a response in it, so it shows no request"
        )
    notes = (*skipped(broken), *session.notes.told())
    return [Recording(KIND, name, session.finished(), notes)]


def _is_rollout(line: _Line) -> bool:
    if begins(line.payload, b"{"):
        return line.type in {
            "session_meta",
            "turn_context",
            "response_item",
            "event_msg",
            "compacted",
        }
    if line.record_type == "state":
        return True
    return line.type is None and line.id is not None and line.instructions != ABSENT


class _Session:
    """A rollout as it is read.

    Attributes:
        requests: What was asked, so far.
        notes: What had to be guessed.
    """

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.notes = Notes()
        self._history = Pieces()
        self._tools: dict[bytes, None] = {}
        self._instructions: Bytes = b""
        self._model = ""
        self._usages: list[Usage | None] = []
        self._next_usage: Usage | None = None
        self._open: dict[str, str] = {}
        self._is_answering = False
        self._has_output = False
        self._totals: tuple[object, ...] | None = None

    def take(self, line: _Line, text: Bytes) -> None:
        """Read one more line."""
        if not begins(line.payload, b"{"):
            self._take_bare(line, text)
        elif line.type == "response_item":
            self._take_item(line.payload, line.timestamp)
        elif line.type == "event_msg":
            self._take_event(line.payload)
        elif line.type == "turn_context":
            context = _CONTEXT.read_or_none(line.payload)
            self._model = (context and context.model) or self._model
            self._end_response()
        elif line.type == "compacted":
            self._compact(line.payload)
        elif line.type == "session_meta":
            self._take_meta(line.payload)

    def _take_bare(self, line: _Line, text: Bytes) -> None:
        if line.type in _BARE:
            self._take_item(text, line.timestamp)
        elif begins(line.instructions, b'"'):
            self._instructions = memoryview(line.instructions)

    def _take_meta(self, payload: Raw) -> None:
        meta = _META.read_or_none(payload) or _Meta()
        base = _BASE.read_or_none(meta.base_instructions) or _BaseInstructions()
        for text in (meta.instructions, base.text):
            if begins(text, b'"'):
                self._instructions = memoryview(text)

    def _take_event(self, payload: Raw) -> None:
        # Most events repeat items, and are long: only two kinds are worth reading.
        event = _EVENT.read_or_none(payload) or _Event()
        if event.type == "token_count" and event.info is not None:
            self._count(event.info)
        elif event.type == "thread_rolled_back" and event.num_turns:
            if event.num_turns > len(self._history.turns):
                self.notes[_TOO_MANY_TURNS] += 1
            self._end_response()
            self._open = {}
            self._history = self._history.cut(event.num_turns)

    def _count(self, info: _Info) -> None:
        total, last = info.total_token_usage or _Tokens(), info.last_token_usage or _Tokens()
        totals = (total.input_tokens, total.output_tokens, total.total_tokens)
        if totals == self._totals:
            return
        self._totals = totals
        usage = billed(
            last.input_tokens,
            read=last.cached_input_tokens,
            write=last.cache_write_input_tokens,
            output=last.output_tokens,
            reasoning=last.reasoning_output_tokens,
        )
        if self._is_answering:
            self._usages[-1] = usage
        else:
            self._next_usage = usage
        self._end_response()

    def _end_response(self) -> None:
        self._is_answering = self._has_output = False

    def _take_item(self, text: Bytes, timestamp: str | None) -> None:
        item = _ITEM.read_or_none(text)
        if item is None or item.type is None or item.type in _NOT_SENT:
            return
        if item.type in _ANSWERS:
            self._add_output(item, text)
            return
        if item.type == "message" and item.role != "assistant":
            self._end_response()
            self._close()
            if item.role == "user":
                self._history.begin_turn()
        else:
            self._answer(seconds(timestamp))
        self._add(item, text)

    def _answer(self, at: float | None) -> None:
        """Go on with a response, or begin one."""
        if self._is_answering and not self._has_output:
            return
        self._close()
        unrecorded = {"tools"} if self._instructions else {"tools", "instructions"}
        self.requests.append(
            self._history.request(
                _Head(self._model, self._instructions, self._tools),
                wire_format="openai-responses",
                answer=Answer(self._model, None, at),
                unrecorded=frozenset(unrecorded if self._model else {*unrecorded, "model"}),
            )
        )
        self._usages.append(self._next_usage)
        self._next_usage = None
        self._is_answering, self._has_output = True, False

    def _add(self, item: _Item, text: Bytes) -> None:
        kind = item.type or ""
        unsent = ("id",) if item.id is not None and kind in _WITHOUT_ID else ()
        self._history.add(Piece(memoryview(text), b"", kind == "reasoning", unsent))
        if kind in _OUTPUTS and item.call_id:
            self._open[item.call_id] = kind
        if stub := _stub(kind, item.name):
            self._tools[stub] = None

    def _add_output(self, item: _Item, text: Bytes) -> None:
        self._has_output = True
        if item.call_id is None or self._open.pop(item.call_id, None) is None:
            self.notes[NO_CALL] += 1
            return
        self._history.add(Piece(memoryview(text)))

    def _close(self) -> None:
        """Answer the calls that nobody answered."""
        for call_id, kind in self._open.items():
            self.notes[NO_RESULT] += 1
            result = {"type": _OUTPUTS[kind], "call_id": call_id, "output": _ABORTED}
            self._history.add(Piece(dump(result)))
        self._open = {}

    def _compact(self, payload: Raw) -> None:
        self._end_response()
        self._history, self._open, self._next_usage = Pieces(), {}, None
        compacted = _COMPACTED.read_or_none(payload) or _Compacted()
        kept = elements_or_none(compacted.replacement_history)
        for text in kept or ():
            item = _ITEM.read_or_none(text)
            if item is not None and item.type in _ANSWERS:
                self._add_output(item, text)
            elif item is not None and item.type not in _NOT_SENT:
                self._add(item, text)
        self._end_response()
        if kept is None and string(compacted.message):
            self._history.add(Piece(_user_message(compacted.message)))

    def finished(self) -> list[RecordedRequest]:
        """All requests, with what was billed for each."""
        return [
            replace(request, usage=usage) if usage else request
            for request, usage in zip(self.requests, self._usages, strict=True)
        ]


class _Head:
    """Writes a body up to its first item; the tools are known when the log was read."""

    __slots__ = ("_instructions", "_model", "_tools")

    def __init__(self, model: str, instructions: Bytes, tools: dict[bytes, None]) -> None:
        self._model, self._instructions, self._tools = model, instructions, tools

    def __call__(self) -> bytes:
        members = [b'"model":' + dump(self._model or "unknown")]
        if self._instructions:
            members.append(b'"instructions":' + self._instructions)
        if self._tools:
            members.append(b'"tools":[' + b",".join(self._tools) + b"]")
        members.append(b'"store":false,"include":["reasoning.encrypted_content"],"input":[')
        return b"{" + b",".join(members)


def _stub(kind: str, name: str | None) -> bytes:
    """Define a tool by what a call shows of it; empty where it needs no definition."""
    match kind:
        case "function_call":
            return dump({"type": "function", "name": name, "parameters": {"type": "object"}})
        case "custom_tool_call":
            return dump({"type": "custom", "name": name})
        case "local_shell_call":
            return dump({"type": "local_shell"})
        case "web_search_call":
            return dump({"type": "web_search"})
        case "image_generation_call":
            return dump({"type": "image_generation"})
        case _:
            return b""


def _user_message(text: Raw) -> bytes:
    return b"".join((
        b'{"type":"message","role":"user","content":[{"type":"input_text","text":', text, b"}]}",
    ))  # fmt: skip
