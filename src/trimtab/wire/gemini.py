"""Gemini: ``generateContent`` and ``streamGenerateContent``, on the Gemini API and on Vertex.

The model stands in the address, not in the body. Results travel in the content
behind their calls; a signature of the model's reasoning stands on parts of any
kind. Keys come in camelCase or in snake_case and are left as they came. Its
rules are in ``gemini_rules.py``.

Calls mostly have no id, so they get one that never reaches the wire:

* A call's id is made of its name and a digest of the call itself (name,
  arguments, signature). A call that is the same to the last byte as earlier
  ones of the conversation gets a number as well: how many there were. Where
  the provider gave an id, that takes the place of both. The name is in it, so
  that an answer can be made for it.
* A result takes the id of the call that it answers in the model turn before
  it: by the provider's id where both have one, else by name, else by order.
  One that finds no call gets an id that no call has.
* A part of a conversation is read without what stands before it, unless a
  call in it may have to be numbered: then all of it is read
  (:meth:`Gemini.context_start`).

What no token is counted for: ``toolConfig``, which steers how an answer is
decoded and adds nothing to the prompt, and a signature on media.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import (
    Media,
    MediaKind,
    Message,
    Opaque,
    Part,
    ResultContent,
    Role,
    Surface,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from trimtab.plan import Edit, Fold, Forbidden, Plan, Replace, apply
from trimtab.wire.format import (
    Format,
    Outline,
    Setup,
    SurfaceForms,
    append_element,
    element_spans,
    opaque,
    put_member,
)
from trimtab.wire.gemini_rules import RULES, check_contents
from trimtab.wire.json_spans import (
    Path,
    Span,
    Splice,
    array_spans,
    drop_elements,
    drop_members,
    dump,
    encode_json_text,
    is_json,
    load,
    load_text,
    locate,
    object_spans,
    whole_number,
)
from trimtab.wire.media import document_pages, image_size, recording_seconds
from trimtab.wire.request import Request
from trimtab.wire.rules import Findings, Rule

__all__ = ["Gemini"]

Json: TypeAlias = dict[str, Any]

_ROLES: dict[str, Role] = {"user": "user", "model": "assistant", "function": "tool"}

_CALL = ("functionCall", "function_call")
_RESPONSE = ("functionResponse", "function_response")
_INLINE = ("inlineData", "inline_data")
_FILE = ("fileData", "file_data")
_SIGNATURE = ("thoughtSignature", "thought_signature")

_WHOLE = (
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
    "toolCall",
    "tool_call",
    "toolResponse",
    "tool_response",
)
"""What the provider ran itself: it stays as it came, and leaves with its message like any other."""

_DATA = ("text", _CALL[0], _RESPONSE[0], _CALL[1], _RESPONSE[1], *_INLINE, *_FILE, *_WHOLE)
"""Keys of a part that say what it is; exactly one of them is there."""

_NULL = b"null"


# ------------------------------------------------------------------ decoding


_NO_RAW = Raw(_NULL)


class _Call(msgspec.Struct):
    name: str
    id: str | None = None
    args: Raw = Raw(b"{}")


class _Response(msgspec.Struct):
    name: str = ""
    id: str | None = None
    response: Raw = Raw(b"{}")
    parts: list[Raw] | None = None


class _Part(msgspec.Struct):
    """A part: what says what it is decoded, all else as it came. First come the keys of :data:`_DATA`."""

    text: Raw | UnsetType = UNSET
    functionCall: _Call | None = None  # noqa: N815 - the provider's word
    functionResponse: _Response | None = None  # noqa: N815 - the same
    function_call: _Call | None = None
    function_response: _Response | None = None
    inlineData: Raw | UnsetType = UNSET  # noqa: N815 - the same
    inline_data: Raw | UnsetType = UNSET
    fileData: Raw | UnsetType = UNSET  # noqa: N815 - the same
    file_data: Raw | UnsetType = UNSET
    executableCode: Raw | UnsetType = UNSET  # noqa: N815 - the same
    executable_code: Raw | UnsetType = UNSET
    codeExecutionResult: Raw | UnsetType = UNSET  # noqa: N815 - the same
    code_execution_result: Raw | UnsetType = UNSET
    toolCall: Raw | UnsetType = UNSET  # noqa: N815 - the same
    tool_call: Raw | UnsetType = UNSET
    toolResponse: Raw | UnsetType = UNSET  # noqa: N815 - the same
    tool_response: Raw | UnsetType = UNSET
    thought: bool | None = None
    thoughtSignature: str | None = None  # noqa: N815 - the same
    thought_signature: str | None = None
    mediaResolution: Raw = _NO_RAW  # noqa: N815 - the same
    media_resolution: Raw = _NO_RAW
    videoMetadata: Raw = _NO_RAW  # noqa: N815 - the same
    video_metadata: Raw = _NO_RAW

    @property
    def kind(self) -> str:
        """The key that says what it is; empty where none does, or more than one."""
        values = _values_of(self)
        rest = values[1:_DATA_COUNT]
        if rest == _NO_DATA:  # the usual, told without a look at each
            return "text" if _is_set(values[0]) else ""
        if values[0] is UNSET and rest[2:] == _NO_DATA[2:]:
            if rest[1] is None:
                return _CALL[0]
            if rest[0] is None:
                return _RESPONSE[0]
        found = [key for key, value in zip(_DATA, values, strict=False) if _is_set(value)]
        return found[0] if len(found) == 1 else ""

    @property
    def call(self) -> _Call | None:
        return self.functionCall or self.function_call

    @property
    def response(self) -> _Response | None:
        return self.functionResponse or self.function_response

    @property
    def signature(self) -> str:
        return self.thoughtSignature or self.thought_signature or ""

    def raw(self, key: str) -> bytes:
        """The JSON text of what it holds."""
        return bytes(getattr(self, key))


_values_of = msgspec.structs.astuple
_DATA_COUNT = len(_DATA)
_NO_DATA = _values_of(_Part())[1:_DATA_COUNT]
"""What a part of words has under the other keys of :data:`_DATA`."""


def _is_set(value: object) -> bool:
    if value is None or value is UNSET:
        return False
    if isinstance(value, Raw):  # not copied, for it can be megabytes
        return memoryview(value).nbytes != len(_NULL) or bytes(value) != _NULL
    return True


class _Content(msgspec.Struct):
    parts: list[_Part]
    role: str | None = None


class _PlainPart(msgspec.Struct, forbid_unknown_fields=True):
    """A part as nearly all are, words, a call or a result: the same as :class:`_Part`, in less time."""

    text: Raw | UnsetType = UNSET
    functionCall: _Call | None = None  # noqa: N815 - the provider's word
    functionResponse: _Response | None = None  # noqa: N815 - the same
    thought: bool | None = None
    thoughtSignature: str | None = None  # noqa: N815 - the same

    @property
    def kind(self) -> str:
        """The key that says what it is; empty where none does, or more than one."""
        is_call, is_result = self.functionCall is not None, self.functionResponse is not None
        if not is_call and not is_result:
            return "text" if _is_set(self.text) else ""
        if (is_call and is_result) or (self.text is not UNSET and _is_set(self.text)):
            return ""
        return _CALL[0] if is_call else _RESPONSE[0]

    @property
    def call(self) -> _Call | None:
        return self.functionCall

    @property
    def response(self) -> _Response | None:
        return self.functionResponse

    @property
    def signature(self) -> str:
        return self.thoughtSignature or ""


class _PlainContent(msgspec.Struct):
    parts: list[_PlainPart]
    role: str | None = None


_AnyPart: TypeAlias = _Part | _PlainPart


class _Speaker(msgspec.Struct):
    role: str | None = None


_plain_history = msgspec.json.Decoder(list[_PlainContent])
_history = msgspec.json.Decoder(list[_Content])
_part_of = msgspec.json.Decoder(_Part)
_speaker = msgspec.json.Decoder(_Speaker)


class Gemini(Format):
    """The Gemini API and Vertex."""

    name = "gemini"
    history_field = "contents"
    marker_keys = ()
    envelope_fields = (
        "systemInstruction",
        "system_instruction",
        "tools",
        "toolConfig",
        "tool_config",
        "generationConfig",
        "generation_config",
        "cachedContent",
        "cached_content",
    )

    @property
    def rules(self) -> dict[str, Rule]:
        return RULES

    # -------------------------------------------------------------- reading

    def recognises(self, body: bytes, members: Mapping[str, bytes]) -> int:  # noqa: ARG002 - one key says it
        return 90 if "contents" in members else 0

    def outlines(self, body: bytes, history: Span, spans: Sequence[Span]) -> list[Outline]:
        text = memoryview(body)[slice(*history)]
        linker = _Linker()
        decoder: msgspec.json.Decoder[Any]
        for decoder in (_plain_history, _history):
            try:
                decoded = decoder.decode(text)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            return [linker.outline(content.role, content.parts) for content in decoded]
        return [_outline_loosely(linker, body[low:high]) for low, high in spans]

    def context_start(self, body: bytes, spans: Sequence[Span], start: int) -> int:
        """What a result answers stands in the model turn before it; a number counts all before."""
        place = start
        while place and _role_of(body, spans[place - 1]) != "assistant":
            place -= 1
        while place and _role_of(body, spans[place - 1]) == "assistant":
            place -= 1
        return 0 if place and _may_be_repeated(body, spans, place) else place

    def linked(self, parts: tuple[Part, ...], outline: Outline) -> tuple[Part, ...]:
        if not (outline.call_ids or outline.result_ids):
            return parts
        calls, results = iter(outline.call_ids), iter(outline.result_ids)
        return tuple(
            replace(part, id=next(calls, part.id))
            if isinstance(part, ToolCall)
            else replace(part, call_id=next(results, part.call_id))
            if isinstance(part, ToolResult)
            else part
            for part in parts
        )

    def parts(self, message: bytes) -> tuple[Part, ...]:
        content = _split(message)
        if content is None:
            return (opaque("?", message),)
        decoded = [_decode_part(raw) for raw in content[1]]
        calls = [part.call for part in decoded if part and part.call and part.kind in _CALL]
        ids = (_call_id(call, "") for call in calls)  # as far as the content itself tells them
        return tuple(_part(raw, part, ids) for raw, part in zip(content[1], decoded, strict=True))

    def surface(self, members: Mapping[str, bytes]) -> Surface:
        return Surface(
            system=_system(_either(members, "systemInstruction", "system_instruction")),
            tools=tuple(tool for raw in _array(members.get("tools")) for tool in _tools(raw)),
            output_schema=_answer_schema(members).decode("utf-8", "replace"),
        )

    def constraints(self, request: Request) -> Constraints:
        outlines = request.outlines
        turn = _turn_start(outlines)
        is_open = turn is not None and turn + 1 < len(outlines) and outlines[-1].result_ids
        return replace(
            request.manners,
            frozen=frozenset(i for i, outline in enumerate(outlines) if not outline.is_understood),
            open_loop_start=turn + 1 if is_open and turn is not None else None,
        )

    def manners(self, members: Mapping[str, bytes]) -> Constraints:
        cached = _either(members, "cachedContent", "cached_content")
        hands_off = "part of the conversation lies on the provider's server (cachedContent)"
        return Constraints(
            hands_off="" if cached in (_NULL, b'""') else hands_off,
            results_come_first=False,
            results_share_message=True,
            roles_must_alternate=True,
            refuses_blank_text=True,
        )

    def answer_tokens(self, members: Mapping[str, bytes]) -> int | None:
        config = _config(members)
        return whole_number(config.get("maxOutputTokens", config.get("max_output_tokens")))

    def surface_forms(self, members: Mapping[str, bytes]) -> SurfaceForms:
        tools = (members.get(key, b"") for key in ("tools", "toolConfig", "tool_config"))
        system = _either(members, "systemInstruction", "system_instruction")
        return SurfaceForms(b"", system, b"\0".join((*tools, _answer_schema(members))))

    # -------------------------------------------------------------- writing

    def part_paths(self, message: bytes) -> list[Path]:
        content = _split(message)
        if content is None:
            return [()]
        return [("parts", place) for place in range(len(content[1]))]

    def text_path(self, message: bytes, part: int) -> Path:  # noqa: ARG002 - the same for all messages
        return ("parts", part, "text")

    def arguments_splice(self, message: bytes, part: int, arguments: str) -> Splice:
        path = ("parts", part, _own_key(message, part, _CALL), "args")
        return put_member(message, path, encode_json_text(arguments))

    def result_path(self, message: bytes, part: int) -> Path:
        path: Path = ("parts", part, _own_key(message, part, _RESPONSE), "response")
        start, stop = locate(message, path)
        key = _worded_key(message[start:stop])
        return path if key is None else (*path, key)

    def encode_block(self, block: ResultContent) -> Json:
        return _encode_part(block) or {"text": ""}

    def encode(self, message: Message, cache_marker: bytes | None = None) -> list[bytes]:  # noqa: ARG002 - there are none
        parts = [encoded for part in message.parts if (encoded := _encode_part(part))]
        return [dump({"role": _wire_role(message), "parts": parts})] if parts else []

    def append_text(self, message: bytes, text: str, cache_marker: bytes | None = None) -> bytes:  # noqa: ARG002 - the same
        return append_element(message, ("parts",), dump({"text": text}))

    def cache_markers(self, message: bytes) -> list[bytes]:  # noqa: ARG002 - there are none
        return []

    def body(self, messages: Sequence[Message], setup: Setup) -> Json:
        surface = setup.surface
        count = _leading(messages)
        system = [
            *surface.system,
            *(part for message in messages[:count] for part in message.parts),
        ]
        body: Json = {"contents": _encode_history(messages[count:])}
        if parts := [encoded for part in system if (encoded := _encode_part(part))]:
            body["systemInstruction"] = {"parts": parts}
        if surface.tools:
            body["tools"] = _encode_tools(surface.tools)
        body["generationConfig"] = {"maxOutputTokens": setup.max_tokens}
        return body

    def _replace(self, message: bytes, place: int, old: Part, new: Part) -> list[Splice]:
        if not isinstance(old, ToolResult) or not isinstance(new, ToolResult):
            return super()._replace(message, place, old, new)
        return [
            *_replace_words(message, self.result_path(message, place), old, new),
            *_drop_media(message, ("parts", place, _own_key(message, place, _RESPONSE)), old, new),
        ]

    # -------------------------------------------------------- the last word

    def complete(
        self,
        request: Request,
        plan: Plan,
        *,
        headers_settable: bool,  # noqa: ARG002 - no edit needs a header
    ) -> Plan | Forbidden:
        turn = _turn_start(request.outlines)
        if any(_is_signed(request, edit, turn) for edit in plan):
            return Forbidden("the model signed what would be edited, in the turn under way")
        return _settle_markers(request, plan, turn)

    def check(self, body: Json, findings: Findings) -> None:
        check_contents(body, findings)


# ------------------------------------------------------------ links of calls


def _call_id(call: _Call, signature: str) -> str:
    """The id of a call, without the number that tells it from earlier ones that are the same."""
    if call.id:
        return f"{call.name}#{call.id}"
    name = call.name.encode("utf-8", "surrogatepass")
    return f"{call.name}##{_digest(name, call.args, signature.encode())}"


def _may_be_repeated(body: bytes, spans: Sequence[Span], start: int) -> bool:
    """Whether a call from a content on may be the same as one in front of it.

    A call that has an id or a signature is not the same as any other.
    """
    low = spans[start][0]
    if not any(body.find(b'"%b"' % key.encode(), low) >= 0 for key in _CALL):
        return False
    try:
        decoded = _history.decode(b"[%b]" % body[low : spans[-1][1]])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    calls = [
        part.call
        for content in decoded
        for part in content.parts
        if part.call and not part.call.id and not part.signature
    ]
    return any(
        body.find(dump(call.name), 0, low) >= 0 and body.find(call.args, 0, low) >= 0
        for call in calls
    )


def _orphan_id(response: _Response, seen: dict[str, int]) -> str:
    """The id of a result that no call in front of it asked for."""
    if response.id:
        return f"{response.name}#{response.id}"
    return _numbered(f"{response.name}##?{_digest(b'', response.response, b'')}", seen)


def _numbered(stem: str, seen: dict[str, int]) -> str:
    seen[stem] = seen.get(stem, 0) + 1
    return stem if seen[stem] == 1 else f"{stem}.{seen[stem]}"


def _digest(name: bytes, said: Raw, signature: bytes) -> str:
    size = memoryview(said).nbytes
    hashed = sha256(b"%d,%d,%b%b%b" % (len(name), size, name, said, signature))
    return hashed.hexdigest()[:16]


def _named(call_id: str) -> tuple[str, str]:
    """The name and the provider's id that are in an id of ours; an id of others is its own name."""
    name, mark, rest = call_id.partition("#")
    return (name, "" if rest.startswith("#") else rest) if mark else (call_id, "")


class _Waiting(NamedTuple):
    """A call: its id, its name, and the provider's id, empty where there is none."""

    id: str
    name: str
    own_id: str


class _Linker:
    """Walks through contents and gives each result the id of the call that it answers."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []  # of the model turn before, without a result yet
        self._is_model = False
        self._seen: dict[str, int] = {}  # how often each call was made

    def outline(self, role: str | None, parts: Sequence[_AnyPart | None]) -> Outline:
        """Outline the next content; None among its parts is what nothing is known of."""
        calls: list[_Waiting] = []
        responses: list[_Response] = []
        # What has the shape of nothing known is kept whole; so is what nobody can have said.
        is_understood = role in _ROLES or role is None
        for part in parts:
            kind = "" if part is None else part.kind
            if part is None or not kind:
                is_understood = False
            elif kind in _RESPONSE and part.response:
                responses.append(part.response)
            elif kind in _CALL and part.call:
                calls.append(self._call(part.call, part.signature))
        results = self._results(responses) if responses else ()
        has_own_words = len(results) < len(parts) or not parts
        neutral = _role(role, has_own_words=has_own_words)
        self._go_on(neutral, calls)
        is_understood = is_understood and (neutral == "assistant" or not calls)
        ids = tuple([call.id for call in calls])
        return Outline(neutral, ids, results, has_own_words, is_understood)

    def unknown(self, role: str | None = None) -> Outline:
        """Outline a content that cannot be read."""
        neutral = _role(role, has_own_words=True)
        self._go_on(neutral, ())
        return Outline(neutral, is_understood=False)

    def _call(self, call: _Call, signature: str) -> _Waiting:
        call_id = _call_id(call, signature)
        numbered = call_id if call.id else _numbered(call_id, self._seen)
        return _Waiting(numbered, call.name, call.id or "")

    def _go_on(self, role: Role, calls: Sequence[_Waiting]) -> None:
        if role == "assistant":
            self._waiting = [*(self._waiting if self._is_model else ()), *calls]
        self._is_model = role == "assistant"

    def _results(self, responses: Sequence[_Response]) -> tuple[str, ...]:
        """The calls that some results of one content answer, taken off the list of those that wait."""
        first = self._waiting[: len(responses)]
        if [call[1:] for call in first] == [(told.name, told.id or "") for told in responses]:
            del self._waiting[: len(responses)]  # the usual: all in order
            return tuple([call.id for call in first])
        found: dict[int, str] = {}
        for fits in (_is_same, _has_same_name, _has_no_id):
            for place, response in enumerate(responses):
                if place in found:
                    continue
                number = fits(self._waiting, response)
                if number is not None:
                    found[place] = self._waiting.pop(number).id
            if len(found) == len(responses):
                return tuple([found[place] for place in range(len(responses))])
        seen: dict[str, int] = {}
        return tuple(
            found.get(place) or _orphan_id(response, seen)
            for place, response in enumerate(responses)
        )


def _is_same(waiting: Sequence[_Waiting], response: _Response) -> int | None:
    """The place of the call with the id that a result names."""
    if response.id:
        for number, call in enumerate(waiting):
            if call.own_id == response.id:
                return number
    return None


def _has_same_name(waiting: Sequence[_Waiting], response: _Response) -> int | None:
    """The place of the first call of the name that a result has, where ids do not part them."""
    for number, call in enumerate(waiting):
        if call.name == response.name and not (call.own_id and response.id):
            return number
    return None


def _has_no_id(waiting: Sequence[_Waiting], response: _Response) -> int | None:
    """The place of the first call that ids do not part from a result."""
    for number, call in enumerate(waiting):
        if not (call.own_id and response.id):
            return number
    return None


# --------------------------------------------------------- outlines and parts


def _role(role: str | None, *, has_own_words: bool) -> Role:
    """Who speaks; a content that holds nothing but results is the tools'."""
    neutral = _ROLES.get(role or "user", "user")
    if neutral == "assistant":
        return neutral
    return "user" if has_own_words else "tool"


def _role_of(body: bytes, span: Span) -> str:
    try:
        speaker = _speaker.decode(memoryview(body)[slice(*span)])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = _split(body[slice(*span)])
        return "" if content is None else _ROLES.get(content[0] or "", "")
    return _ROLES.get(speaker.role or "", "")


def _outline_loosely(linker: _Linker, message: bytes) -> Outline:
    """Outline a content beside one that the typed decoder refuses."""
    content = _split(message)
    if content is None:
        return linker.unknown()
    role, raws = content
    return linker.outline(role, [_decode_part(raw) for raw in raws])


def _split(message: bytes) -> tuple[str | None, list[bytes]] | None:
    """The role of a content and the bytes of its parts; None where it has no list of them."""
    try:
        members = object_spans(message)
        start, stop = members["parts"]
        raw = message[start:stop]
        role = load(message[slice(*members["role"])]) if "role" in members else None
        if raw[:1] != b"[" or not isinstance(role, str | None):
            return None
        return role, [raw[low:high] for low, high in array_spans(raw)]
    except (MalformedBodyError, KeyError):
        return None


def _decode_part(raw: bytes) -> _Part | None:
    try:
        return _part_of.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_loosely(raw)


def _decode_loosely(raw: bytes) -> _Part | None:
    """Decode a part that msgspec refuses: a lone surrogate, a number out of range."""
    try:
        spans = object_spans(raw)
        members: dict[str, Any] = {key: raw[slice(*span)] for key, span in spans.items()}
        part = _Part()
        for key in part.__struct_fields__:
            if members.get(key, _NULL) != _NULL:
                setattr(part, key, _decode_member(key, members[key]))
    except (MalformedBodyError, TypeError):
        return None
    return part


def _decode_member(key: str, raw: bytes) -> Any:  # noqa: ANN401 - what its key says
    """Decode one member of a part; TypeError where it is not what its key says."""
    if key in _CALL or key in _RESPONSE:
        members = {name: raw[slice(*span)] for name, span in object_spans(raw).items()}
        name, own = (load(members.get(word, _NULL)) for word in ("name", "id"))
        if not isinstance(name, str) or not isinstance(own, str | None):
            raise TypeError(key)
        if key in _CALL:
            return _Call(name, own, Raw(members.get("args", b"{}")))
        inner = [Raw(part) for part in _array(members.get("parts"))]
        return _Response(name, own, Raw(members.get("response", b"{}")), inner)
    if key == "thought" or key in _SIGNATURE:
        value = load(raw)
        if not isinstance(value, bool if key == "thought" else str):
            raise TypeError(key)
        return value
    return Raw(raw)


def _part(raw: bytes, part: _Part | None, ids: Iterator[str]) -> Part:
    if part is None:
        return opaque("?", raw)
    kind = part.kind
    if kind == "text":
        return _words(raw, part)
    if kind in _CALL and part.call is not None:
        arguments = bytes(part.call.args).decode("utf-8", "replace")
        return ToolCall(next(ids), part.call.name, arguments, part.signature)
    if kind in _RESPONSE and part.response is not None:
        return _result(part.response)
    if kind in _INLINE or kind in _FILE:
        media = _media(part.raw(kind))
        return opaque(kind, raw) if media is None else _as_looked_at(media, part)
    return opaque(kind or "?", raw)


def _as_looked_at(media: Media, part: _Part) -> Media:
    """Media with what the part around them says: how closely to look, and at how much of it."""
    setting = load(_either_of(part.mediaResolution, part.media_resolution))
    level = setting.get("level") if isinstance(setting, dict) else setting
    if isinstance(level, str):
        media = replace(media, detail=level)
    shown = load(_either_of(part.videoMetadata, part.video_metadata))
    if media.kind == "video" and isinstance(shown, dict):
        start = _seconds(shown.get("startOffset", shown.get("start_offset")))
        stop = _seconds(shown.get("endOffset", shown.get("end_offset"))) or media.seconds
        media = replace(media, seconds=max(0.0, stop - start))
    return media


def _either_of(camel: Raw, snake: Raw) -> bytes:
    return bytes(snake) if bytes(camel) == _NULL else bytes(camel)


def _seconds(offset: object) -> float:
    """A length of time as the provider writes it, such as ``12.5s``; 0 for all else."""
    match = _OFFSET.fullmatch(offset) if isinstance(offset, str) else None
    return float(match[1]) if match else 0.0


_OFFSET = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


def _words(raw: bytes, part: _Part) -> Part:
    """Words, or the model's thought; an empty text with a signature is nothing but that."""
    words = part.raw("text")
    if words[:1] != b'"':
        return opaque("text", raw)
    text = load_text(words)
    if part.signature and (part.thought or not text):
        return Thinking(text, part.signature, signed_by="gemini")
    if part.thought and text:
        return Thinking(text)
    # Blank words are taken by the provider, so they are no fault that wants mending.
    return opaque("text", raw) if text and not text.strip() else Text(text, part.signature)


def _result(response: _Response) -> ToolResult:
    raw = bytes(response.response)
    key = _worded_key(raw)
    spans = _members(raw)
    text = raw.decode("utf-8", "surrogateescape") if key is None else load_text(spans[key])
    words = (Text(text),) if text.strip() and raw not in (b"{}", _NULL) else ()
    media = tuple(_result_block(bytes(inner)) for inner in response.parts or ())
    is_error = spans.get("error", _NULL) not in (_NULL, b"false", b'""')
    return ToolResult("", (*words, *media), is_error)  # its id is in the outline


def _worded_key(response: bytes) -> str | None:
    """The key of a response that holds one text and nothing else; None for all others."""
    members = _members(response)
    if len(members) != 1:
        return None
    ((key, raw),) = members.items()
    return key if raw[:1] == b'"' else None


def _members(raw: bytes) -> dict[str, bytes]:
    """The JSON text of each value of an object, by key; none where it is no object."""
    try:
        return {key: raw[slice(*span)] for key, span in object_spans(raw).items()}
    except MalformedBodyError:
        return {}


def _result_block(raw: bytes) -> ResultContent:
    part = _decode_part(raw)
    kind = "" if part is None else part.kind
    found = _part(raw, part, iter(())) if kind in (*_INLINE, *_FILE) else None
    return found if isinstance(found, Media) else opaque(kind or "?", raw)


def _media(raw: bytes) -> Media | None:
    """Decode media of either kind; None where it is nothing known."""
    try:
        value = load(raw)
    except MalformedBodyError:
        return None
    if not isinstance(value, dict):
        return None
    media_type = value.get("mimeType") or value.get("mime_type") or ""
    where = value.get("fileUri") or value.get("file_uri") or ""
    data = value.get("data") or ""
    if not all(isinstance(word, str) for word in (media_type, where, data)):
        return None
    kind = _media_kind(media_type)
    width, height = image_size(data) if kind == "image" and data else (0, 0)
    pages = document_pages(data) if kind == "document" and data else 0
    seconds = recording_seconds(data) if kind in ("audio", "video") and data else 0.0
    return Media(
        kind,
        media_type,
        data=data,
        location=where,
        width=width,
        height=height,
        pages=pages,
        seconds=seconds,
    )


def _media_kind(media_type: str) -> MediaKind:
    match media_type.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
    return "document" if media_type == "application/pdf" else "file"


# ------------------------------------------------------- envelope and limits


def _array(raw: bytes | None) -> list[bytes]:
    if raw is None or raw[:1] != b"[":
        return []
    return [raw[low:high] for low, high in array_spans(raw)]


def _either(members: Mapping[str, bytes], camel: str, snake: str) -> bytes:
    found = members.get(camel, _NULL)
    return members.get(snake, _NULL) if found == _NULL else found


def _config(members: Mapping[str, bytes]) -> dict[str, bytes]:
    return _members(_either(members, "generationConfig", "generation_config"))


_SCHEMAS = (
    "responseSchema",
    "response_schema",
    "responseJsonSchema",
    "response_json_schema",
)


def _answer_schema(members: Mapping[str, bytes]) -> bytes:
    config = _config(members)
    return next((config[key] for key in _SCHEMAS if config.get(key, _NULL) != _NULL), b"")


def _system(raw: bytes) -> tuple[Part, ...]:
    parts = _members(raw).get("parts", _NULL)
    raws = [parts] if parts[:1] == b"{" else _array(parts)  # the guides show one part alone
    return tuple(_part(part, _decode_part(part), iter(())) for part in raws)


def _tools(raw: bytes) -> Iterator[Tool]:
    """The tools of one entry: each function that it declares, each tool of the provider's own."""
    for key, value in _members(raw).items():
        if key in ("functionDeclarations", "function_declarations"):
            yield from map(_tool, _array(value))
        elif value != _NULL:
            yield Tool(key, raw.decode("utf-8", "surrogateescape"))


_PARAMETERS = (
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
)


def _tool(raw: bytes) -> Tool:
    members = _members(raw)
    words = [load(members.get(key, _NULL)) for key in ("name", "description")]
    schema = next((members[key] for key in _PARAMETERS if key in members), b"")
    name, description = (word if isinstance(word, str) else "" for word in words)
    text = raw.decode("utf-8", "surrogateescape")
    return Tool(name, text, description, schema.decode("utf-8", "replace"))


def _turn_start(outlines: Sequence[Outline]) -> int | None:
    """The last content with words of the user: the turn under way begins there."""
    for place in range(len(outlines) - 1, -1, -1):
        if outlines[place].role == "user" and outlines[place].has_own_words:
            return place
    return None


def _is_signed(request: Request, edit: Edit, turn: int | None) -> bool:
    """Whether an edit changes what the model signed in the turn under way."""
    if not isinstance(edit, Replace) or (turn is not None and edit.message < turn):
        return False
    old = request.message(edit.message).parts[edit.part]
    return isinstance(old, ToolCall | Thinking | Text) and bool(old.opaque)


def _settle_markers(request: Request, plan: Plan, turn: int | None) -> Plan:
    """Give words of ours that would begin a turn of their own a place where they do not.

    Words inside the turn under way would end it, and with it the model's train
    of thought: they become the last words of the user's. Behind results of an
    older turn they join the results, so that roles alternate.
    """
    homes: dict[int, int] = {}
    for slot, behind in pairwise(apply(plan, request.messages)):
        if behind.source is not None or behind.message.role != "user" or slot.source is None:
            continue
        outline = request.outlines[slot.source]
        if outline.role == "tool" and outline.is_understood:
            homes[id(behind.message)] = slot.source
    edits = [
        replace(edit, joins=_home(request, edit, homes, turn)) if isinstance(edit, Fold) else edit
        for edit in plan
    ]
    return plan if edits == list(plan.edits) else replace(plan, edits=tuple(edits))


def _home(request: Request, edit: Fold, homes: Mapping[int, int], turn: int | None) -> int | None:
    if edit.message.role != "user":
        return edit.joins
    home = homes.get(id(edit.message), edit.joins)
    is_inside = turn is not None and home is not None and home > turn
    return turn if turn is not None and is_inside and request.outlines[turn].is_understood else home


# --------------------------------------------------------------------- edits


def _own_key(message: bytes, part: int, spellings: Iterable[str]) -> str:
    """Which spelling of a key a part has."""
    start, stop = locate(message, ("parts", part))
    members = _members(message[start:stop])
    return next(key for key in spellings if members.get(key, _NULL) != _NULL)


def _result_words(result: ToolResult) -> str:
    return "\n".join(
        block.text if isinstance(block, Text) else block.json
        for block in result.content
        if not isinstance(block, Media)
    )


def _replace_words(message: bytes, path: Path, old: ToolResult, new: ToolResult) -> list[Splice]:
    """Say what to splice so that a response, which is an object, says something else."""
    own = [block for block in new.content if isinstance(block, Text) or block not in old.content]
    words = _result_words(replace(new, content=tuple(own)))
    if words == old.text:
        return []
    if path[-1] == "response":
        data = encode_json_text(words)
        is_object = words[:1] == "{" and is_json(data)
        if is_object and (not old.is_error or "error" in _members(data)):
            return [(*locate(message, path), data)]  # made smaller, it is an object still
        return [(*locate(message, path), dump({"error" if old.is_error else "output": words}))]
    return [(*locate(message, path), dump(words))]


def _drop_media(message: bytes, path: Path, old: ToolResult, new: ToolResult) -> list[Splice]:
    """Say what to cut so that the media that a result no longer has are gone."""
    media = [block for block in old.content if not isinstance(block, Text)]
    gone = [place for place, block in enumerate(media) if block not in new.content]
    if not gone:
        return []
    if len(gone) < len(media):
        return drop_elements(*element_spans(message, (*path, "parts")), gone)
    start, stop = locate(message, path)
    return [
        (start + low, start + high, put)
        for low, high, put in drop_members(message[start:stop], ("parts",))
    ]


# ------------------------------------------------------------------- encoding


def _wire_role(message: Message) -> str:
    return "model" if message.role == "assistant" else "user"


def _leading(messages: Sequence[Message]) -> int:
    """How many system messages stand in front of all others."""
    for place, message in enumerate(messages):
        if message.role not in ("system", "developer"):
            return place
    return len(messages)


def _encode_part(part: Part, names: Mapping[str, str] | None = None) -> Json | None:
    """Encode a part that has no bytes; None for what this format has no place for."""
    match part:
        case Text():
            signature = {"thoughtSignature": part.opaque} if part.opaque else {}
            return {"text": part.text, **signature} if part.text else None
        case Thinking():
            return _encode_thinking(part)
        case ToolCall():
            return _encode_call(part)
        case ToolResult():
            return _encode_result(part, names or {})
        case Media():
            return _encode_media(part)
        case Opaque():
            return _encode_opaque(part)


def _encode_thinking(part: Thinking) -> Json | None:
    if part.is_redacted or not part.opaque or part.signed_by not in ("", "gemini"):
        return None  # nobody else's reasoning is taken, and ours need not be sent
    thought = {"thought": True} if part.text else {}
    return {"text": part.text, **thought, "thoughtSignature": part.opaque}


def _encode_call(call: ToolCall) -> Json:
    name, own = _named(call.id)
    inner: Json = {"id": own} if own and name == call.name else {}
    inner |= {"name": call.name, "args": Raw(_arguments_object(call.arguments))}
    signature = {"thoughtSignature": call.opaque} if call.opaque else {}
    return {"functionCall": inner, **signature}


def _encode_result(result: ToolResult, names: Mapping[str, str]) -> Json:
    name, own = _named(result.call_id)
    known = names.get(result.call_id, name)
    inner: Json = {"id": own} if own and name == known else {}
    key = "error" if result.is_error else "output"
    inner |= {"name": known, "response": {key: _result_words(result)}}
    media = [block for block in result.content if isinstance(block, Media)]
    if encoded := [part for block in media if (part := _encode_media(block))]:
        inner["parts"] = encoded
    return {"functionResponse": inner}


def _encode_media(media: Media) -> Json:
    # Another provider's word for how closely to look means nothing here.
    is_own = media.detail.lower().startswith("media_resolution_")
    setting = {"mediaResolution": {"level": media.detail}} if is_own else {}
    if media.data:
        inline = {"mimeType": _media_type(media), "data": media.data}
        return {"inlineData": inline, **setting}
    return {"fileData": {"mimeType": _media_type(media), "fileUri": media.location}, **setting}


_USUAL_TYPES: dict[MediaKind, str] = {
    "image": "image/png",
    "document": "application/pdf",
    "audio": "audio/wav",
    "video": "video/mp4",
    "file": "text/plain",
}
"""What media are taken for where nobody said."""


def _media_type(media: Media) -> str:
    return media.media_type or _USUAL_TYPES[media.kind]


def _encode_opaque(part: Opaque) -> Json:
    """Send a part of this format as it came; what another format calls something is text here."""
    raw = part.json.encode("utf-8", "surrogateescape")
    if part.kind not in ("text", *_WHOLE) or not is_json(raw) or raw[:1] != b"{":
        return {"text": part.json}
    return {key: Raw(value) for key, value in _members(raw).items()}


def _arguments_object(arguments: str) -> bytes:
    """Make a JSON object of arguments that may be none: ``args`` must be an object."""
    raw = encode_json_text(arguments.strip())
    if raw in (b"", _NULL):
        return b"{}"
    if not is_json(raw):
        return dump({"text": arguments})
    return raw if raw.startswith(b"{") else b'{"value":' + raw + b"}"


def _encode_tools(tools: Sequence[Tool]) -> list[Any]:
    """Declare the functions in one entry, and each tool of the provider's own in one of its own."""
    own = [tool for tool in tools if _is_own_tool(tool)]
    declared = [_encode_tool(tool) for tool in tools if tool not in own]
    entries: list[Any] = [Raw(encode_json_text(tool.json)) for tool in own]
    return [{"functionDeclarations": declared}, *entries] if declared else entries


def _is_own_tool(tool: Tool) -> bool:
    return _members(encode_json_text(tool.json)).keys() == {tool.name}


def _encode_tool(tool: Tool) -> Any:  # noqa: ANN401 - JSON, raw or not
    keys = _members(encode_json_text(tool.json)).keys()
    if "name" in keys and not keys & {"type", "input_schema", "function"}:
        return Raw(encode_json_text(tool.json))
    encoded: Json = {"name": tool.name}
    if tool.description:
        encoded["description"] = tool.description
    if tool.schema:
        encoded["parametersJsonSchema"] = Raw(encode_json_text(tool.schema))
    return encoded


_FOREIGN = "skip_thought_signature_validator"
"""What the provider takes in place of a signature on a call that no Gemini model made.

Google's guide to thought signatures names it for calls that were made by another model or
put in by a client; the Gemini API and Vertex take it. No other signature is ever made up.
"""


def _encode_history(messages: Sequence[Message]) -> list[Json]:
    """Encode messages so that roles alternate and results stand in one content, in order."""
    names = {
        part.id: part.name
        for message in messages
        if message.call_ids
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    history: list[Json] = []
    for message in messages:
        parts = [encoded for part in message.parts if (encoded := _encode_part(part, names))]
        role = _wire_role(message)
        if parts and history and history[-1]["role"] == role:
            history[-1]["parts"] += parts
        elif parts:
            history.append({"role": role, "parts": parts})
    for content in history:
        if content["role"] == "user":
            content["parts"].sort(key=lambda part: "functionResponse" not in part)
    _sign(history)
    return history


def _sign(history: Sequence[Json]) -> None:
    """Say of the calls of the turn under way that another model made them, where none is signed."""
    for content in reversed(history):
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls:
            calls[0].setdefault("thoughtSignature", _FOREIGN)
        if content["role"] == "user" and any("functionResponse" not in p for p in content["parts"]):
            break
