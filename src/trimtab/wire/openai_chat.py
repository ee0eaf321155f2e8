"""OpenAI Chat Completions: ``POST /v1/chat/completions``, and the many servers that speak it.

Results are messages of role ``tool`` behind the assistant message that called;
the system prompt is a message; arguments are JSON inside a string. Its rules are
in ``openai_chat_rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from trimtab.constraints import UNCONSTRAINED, Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import (
    Media,
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
from trimtab.plan import Forbidden, Plan
from trimtab.wire.claude_models import claude_model
from trimtab.wire.format import (
    CacheLife,
    Format,
    MarkerRules,
    Outline,
    Setup,
    SurfaceForms,
    append_element,
    element_keys,
    element_spans,
    first_byte,
    opaque,
    put_member,
)
from trimtab.wire.json_spans import (
    Path,
    Span,
    Splice,
    array_spans,
    drop_members,
    dump,
    encode_json_text,
    has_key,
    load,
    load_text,
    locate,
    object_spans,
    splice,
    whole_number,
)
from trimtab.wire.media import data_url, image_size, openai_detail, recording_seconds
from trimtab.wire.openai_caching import openai_marker_rules
from trimtab.wire.openai_chat_rules import RULES, check_chat
from trimtab.wire.request import Request
from trimtab.wire.rules import Findings, Rule

__all__ = ["OpenAIChat"]

Json: TypeAlias = dict[str, Any]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}

_KNOWN_PARTS = frozenset(("text", "refusal", "image_url", "input_audio", "file"))
"""Content parts that are understood. Each holds what it is about under its own type as key."""


_MARKED = frozenset((b'"text"', b'"image_url"', b'"file"'))
"""Content parts that a cache marker is set on."""


# ------------------------------------------------------------------ decoding


class _Named(msgspec.Struct):
    name: str


class _OutlinedCall(msgspec.Struct):
    """A call, as far as an outline needs it."""

    id: str
    function: _Named | None = None
    custom: _Named | None = None


class _OutlinedPart(msgspec.Struct):
    """A part of a content list: only whether it is of a known type and shape."""

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | dict[str, Raw] | None = None
    input_audio: dict[str, Raw] | None = None
    file: dict[str, Raw] | None = None


class _OutlinedMessage(msgspec.Struct):
    """A message, as far as an outline needs it; words, which are most of it, are skipped."""

    role: str
    content: Raw = Raw(b"null")
    tool_calls: list[_OutlinedCall] | None = None
    tool_call_id: str | None = None
    function_call: Raw = Raw(b"null")  # deprecated: what holds one is kept, and its answer too


_LIST = ord("[")
_STRING_OR_NULL = b'"n'
"""First bytes of JSON text."""

_history = msgspec.json.Decoder(list[_OutlinedMessage])
_message = msgspec.json.Decoder(_OutlinedMessage)
_content_parts = msgspec.json.Decoder(list[_OutlinedPart])


class OpenAIChat(Format):
    """Chat Completions and everything that speaks it."""

    name = "openai-chat"
    history_field = "messages"
    envelope_fields = (
        "model",
        "tools",
        "functions",
        "response_format",
        "max_completion_tokens",
        "max_tokens",
    )
    # The first is not of OpenAI's making: routers take it for Claude models.
    marker_keys = ("cache_control", "prompt_cache_breakpoint")

    @property
    def rules(self) -> dict[str, Rule]:
        return RULES

    # -------------------------------------------------------------- reading

    def recognises(self, body: bytes, members: Mapping[str, bytes]) -> int:
        if "messages" not in members:
            return 0
        if "max_completion_tokens" in members or "function" in element_keys(
            members.get("tools", b"")
        ):
            return 95
        if any(has_key(body, key) for key in ("tool_call_id", "tool_calls", "image_url")):
            return 85
        if re.search(rb'"role"\s*:\s*"(?:developer|tool)"', body):
            return 85
        if re.search(rb'"messages"\s*:\s*\[\s*\{\s*"role"\s*:\s*"system"', body):
            return 70
        model = load_text(members.get("model", b'""'))
        return 50 if model and claude_model(model) is None else 15

    def outlines(self, body: bytes, history: Span, spans: Sequence[Span]) -> list[Outline]:
        try:
            decoded = _history.decode(memoryview(body)[slice(*history)])
            return [_outline(message) for message in decoded]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [_outline_alone(body[low:high]) for low, high in spans]

    def parts(self, message: bytes) -> tuple[Part, ...]:
        try:
            return _parts(message)
        except MalformedBodyError:
            return (opaque("?", message),)

    def surface(self, members: Mapping[str, bytes]) -> Surface:
        schema = members.get("response_format", b"null")
        return Surface(
            model=load_text(members.get("model", b'""')),
            tools=tuple(_tool(raw) for raw in _array(members.get("tools")))
            + tuple(_tool(raw) for raw in _array(members.get("functions"))),
            output_schema="" if schema == b"null" else schema.decode("utf-8", "replace"),
        )

    def constraints(self, request: Request) -> Constraints:
        outlines = request.outlines
        start = len(outlines)
        while start and outlines[start - 1].role in ("assistant", "tool"):
            start -= 1
        is_open = start < len(outlines) and outlines[-1].role == "tool"
        return Constraints(
            frozen=frozenset(i for i, outline in enumerate(outlines) if not outline.is_understood),
            open_loop_start=start if is_open else None,
        )

    def manners(self, members: Mapping[str, bytes]) -> Constraints:  # noqa: ARG002 - the same for all
        return UNCONSTRAINED

    def answer_tokens(self, members: Mapping[str, bytes]) -> int | None:
        asked = whole_number(members.get("max_completion_tokens"))
        return whole_number(members.get("max_tokens")) if asked is None else asked

    def surface_forms(self, members: Mapping[str, bytes]) -> SurfaceForms:
        tools = self.without_markers(members.get("tools", b""))
        others = (members.get(key, b"") for key in ("functions", "response_format"))
        return SurfaceForms(members.get("model", b""), b"", b"\0".join((tools, *others)))

    # -------------------------------------------------------------- writing

    def part_paths(self, message: bytes) -> list[Path]:
        return _part_paths(message)

    def text_path(self, message: bytes, part: int) -> Path:
        path = self.part_path(message, part)
        if len(path) == 1:
            return path
        start, stop = locate(message, path)
        kind = load(message[start:stop]).get("type")
        return (*path, "refusal" if kind == "refusal" else "text")

    def arguments_splice(self, message: bytes, part: int, arguments: str) -> Splice:
        call = self.part_path(message, part)
        if first_byte(message, (*call, "function")) != b"{":
            return put_member(message, (*call, "custom", "input"), _as_string(arguments))
        path = (*call, "function", "arguments")
        is_text = first_byte(message, path) != b"{"  # some clients send the object itself
        return put_member(
            message, path, dump(arguments) if is_text else encode_json_text(arguments)
        )

    def result_path(self, message: bytes, part: int) -> Path:  # noqa: ARG002 - a tool message has one result
        return ("content",)

    def encode_block(self, block: ResultContent) -> Json:
        return {"type": "text", "text": _as_text(block)}

    def edit_message(
        self,
        message: bytes,
        parts: Sequence[Part],
        dropped: frozenset[int],
        replaced: Mapping[int, Part],
    ) -> list[Splice]:
        members = [path[0] if path else "" for path in _part_paths(message)]
        staying = {key for place, key in enumerate(members) if place not in dropped}
        emptied = {str(members[place]) for place in dropped} - staying
        whole = frozenset(place for place in dropped if members[place] in emptied)
        splices = super().edit_message(message, parts, dropped - whole, replaced)
        if "content" in emptied:
            blank = b"null" if staying & {"tool_calls", "refusal"} else b'""'  # as C4 has it
            splices.append((*locate(message, ("content",)), blank))
        return splices + drop_members(message, emptied - {"content"})

    def encode(self, message: Message, cache_marker: bytes | None = None) -> list[bytes]:
        encoded = _encode_history([message])
        if cache_marker and encoded and encoded[-1].get("content"):
            content = encoded[-1]["content"]
            blocks: list[Json] = (
                [{"type": "text", "text": content}] if isinstance(content, str) else content
            )
            blocks[-1]["cache_control"] = Raw(cache_marker)
            encoded[-1]["content"] = blocks
        return [dump(item) for item in encoded]

    def append_text(self, message: bytes, text: str, cache_marker: bytes | None = None) -> bytes:
        if not first_byte(message, ("content",)):
            start, stop, put = put_member(message, ("content",), dump(text))
            return splice(message, [(start, stop, put)])
        start, stop = locate(message, ("content",))
        block: Json = {"type": "text", "text": text}
        if cache_marker:
            block["cache_control"] = Raw(cache_marker)
        if message[start : start + 1] == b"[":
            return append_element(message, ("content",), dump(block))
        own = load(message[start:stop])
        if cache_marker and own:  # whoever takes the marker takes parts
            before = b'{"type":"text","text":' + message[start:stop] + b"}"
            return splice(message, [(start, stop, b"[" + before + b"," + dump(block) + b"]")])
        # Many servers take strings alone, so a string stays one.
        return splice(message, [(start, stop, dump(f"{own}\n\n{text}" if own else text))])

    def cache_markers(self, message: bytes) -> list[bytes]:
        # Not of OpenAI's making: routers take them for Claude models.
        if b'"cache_control"' not in message:
            return []
        content = object_spans(message).get("content")
        if content is None or message[content[0] : content[0] + 1] != b"[":
            return []
        blocks = [message[low:high] for low, high in element_spans(message, ("content",))[1]]
        spans = [(block, object_spans(block).get("cache_control")) for block in blocks]
        markers = [block[slice(*span)] for block, span in spans if span]
        return [marker for marker in markers if marker != b"null"]

    def marker_rules(self, request: Request, model: str, life: CacheLife) -> MarkerRules | None:  # noqa: ARG002 - the model alone decides
        return openai_marker_rules(model, _MARKED, unmarked_roles=(b'"assistant"', b'"function"'))

    def body(self, messages: Sequence[Message], setup: Setup) -> Json:
        surface = setup.surface
        history = [Message("system", surface.system)] if surface.system else []
        body: Json = {
            "model": surface.model,
            "max_completion_tokens": setup.max_tokens,
            "messages": _encode_history([*history, *messages]),
        }
        if surface.tools:
            body["tools"] = [_encode_tool(tool) for tool in surface.tools]
        return body

    # -------------------------------------------------------- the last word

    def complete(
        self,
        request: Request,  # noqa: ARG002 - nothing here depends on it
        plan: Plan,
        *,
        headers_settable: bool,  # noqa: ARG002 - no edit needs a header
    ) -> Plan | Forbidden:
        return plan

    def check(self, body: Json, findings: Findings) -> None:
        check_chat(body, findings)


# --------------------------------------------------------- outlines and parts


def _outline(message: _OutlinedMessage) -> Outline:
    role, calls = _ROLES.get(message.role), message.tool_calls
    if role is None:
        return Outline("user", is_understood=False)
    is_deprecated = bytes(message.function_call) != b"null"
    is_understood = _is_known_content(message.content) and not is_deprecated
    ids: tuple[str, ...] = ()
    if calls:
        is_understood = is_understood and all(call.function or call.custom for call in calls)
        ids = tuple([call.id for call in calls])
    if role == "tool":
        return Outline(role, (), (message.tool_call_id or "",), False, is_understood)
    return Outline(role, ids, (), True, is_understood)


def _is_known_content(raw: Raw) -> bool:
    """Whether content is words, nothing, or a list of known parts."""
    first = memoryview(raw)[0]
    if first == _LIST:
        return all(map(_is_known, _content_parts.decode(raw)))
    return first in _STRING_OR_NULL


def _is_known(part: _OutlinedPart) -> bool:
    return part.type in _KNOWN_PARTS and getattr(part, part.type) is not None


def _outline_alone(message: bytes) -> Outline:
    """Outline a message that the typed decoder refuses, or that stands beside one."""
    try:
        return _outline(_message.decode(message))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _outline_loose(message)


def _outline_loose(message: bytes) -> Outline:
    try:
        value, parts = load(message), _parts(message)
    except MalformedBodyError:
        return Outline("user", is_understood=False)
    role = _ROLES.get(str(value.get("role")))
    if role is None:
        return Outline("user", is_understood=False)
    is_understood = not any(
        isinstance(block, Opaque)
        for part in parts
        for block in (part.content if isinstance(part, ToolResult) else (part,))
    )
    results = tuple(part.call_id for part in parts if isinstance(part, ToolResult))
    calls = value.get("tool_calls")
    ids = tuple(
        call["id"]
        for call in (calls if isinstance(calls, list) and role != "tool" else ())
        if isinstance(call, dict) and isinstance(call.get("id"), str)
    )
    return Outline(role, ids, results, role != "tool", is_understood)


def _parts(message: bytes) -> tuple[Part, ...]:
    spans = object_spans(message)
    raw = {key: message[low:high] for key, (low, high) in spans.items()}
    role = _string(raw.get("role"))
    if role == "tool":
        return (ToolResult(_string(raw.get("tool_call_id")), _content(raw.get("content"))),)
    if role not in _ROLES:
        return (opaque(role or "?", message),)
    return (
        *_reasoning(raw.get("reasoning_content")),
        *_content(raw.get("content")),
        *_refusal(raw.get("refusal")),
        *(_call(call) for call in _array(raw.get("tool_calls"))),
    )


def _array(raw: bytes | None) -> list[bytes]:
    if raw is None or raw[:1] != b"[":
        return []
    return [raw[low:high] for low, high in array_spans(raw)]


def _string(raw: bytes | None) -> str:
    return load_text(raw) if raw and raw[:1] == b'"' else ""


def _content(raw: bytes | None) -> tuple[ResultContent, ...]:
    if raw is None or raw == b"null":
        return ()
    if raw[:1] == b'"':
        return (Text(load_text(raw)),)
    if raw[:1] != b"[":
        return (opaque("?", raw),)
    return tuple(_content_part(block) for block in _array(raw))


def _content_part(raw: bytes) -> ResultContent:
    block = load(raw)
    kind = block.get("type") if isinstance(block, dict) else None
    words = block.get(kind) if kind in ("text", "refusal") else None
    if isinstance(words, str):
        return Text(words)
    media = block.get(kind) if kind in ("image_url", "input_audio", "file") else None
    if kind == "image_url" and isinstance(media, str):
        media = {"url": media}
    if isinstance(media, dict):
        return _media(str(kind), media)
    return opaque(str(kind), raw)


def _media(kind: str, media: Mapping[str, Any]) -> Media:
    if kind == "image_url":
        url, detail = str(media.get("url") or ""), str(media.get("detail") or "")
        inline = data_url(url)
        if inline is None:
            return Media("image", location=url, detail=detail)
        width, height = image_size(inline[1])
        return Media("image", inline[0], data=inline[1], detail=detail, width=width, height=height)
    if kind == "input_audio":
        form = f"audio/{media.get('format') or 'wav'}"
        data = str(media.get("data") or "")
        return Media("audio", form, data=data, seconds=recording_seconds(data))
    inline = data_url(str(media.get("file_data") or ""))
    if inline is None:
        return Media("file", location=str(media.get("file_id") or ""))
    return Media("document" if "pdf" in inline[0] else "file", inline[0], data=inline[1])


def _reasoning(raw: bytes | None) -> tuple[Part, ...]:
    """Reasoning that compatible servers take back in a field of its own."""
    text = _string(raw)
    return (Thinking(text),) if text else ()


def _refusal(raw: bytes | None) -> tuple[Part, ...]:
    text = _string(raw)
    return (Text(text),) if text else ()


def _call(raw: bytes) -> Part:
    value = load(raw)
    call_id = value.get("id") if isinstance(value, dict) else None
    if not isinstance(call_id, str):
        return opaque("tool_call", raw)
    match value:
        case {"function": {"name": str(name), "arguments": str(arguments)}}:
            return ToolCall(call_id, name, arguments)
        case {"function": {"name": str(name)}}:
            return ToolCall(call_id, name, _raw_arguments(raw))
        case {"custom": {"name": str(name), **custom}}:
            return ToolCall(call_id, name, dump(custom.get("input")).decode())
        case _:
            return opaque("tool_call", raw)


def _raw_arguments(raw: bytes) -> str:
    """Arguments that a client sends as an object: their digits stay as they are."""
    try:
        start, stop = locate(raw, ("function", "arguments"))
    except MalformedBodyError:
        return ""
    return raw[start:stop].decode("utf-8", "replace")


def _as_string(arguments: str) -> bytes:
    """What a custom tool is called with: a JSON string, and what is none becomes one."""
    return encode_json_text(arguments) if arguments.startswith('"') else dump(arguments)


def _part_paths(message: bytes) -> list[Path]:
    """Where each part of :meth:`OpenAIChat.parts` lies, in the same order."""
    spans = object_spans(message)
    raw = {key: message[low:high] for key, (low, high) in spans.items()}
    if _string(raw.get("role")) == "tool":
        return [()]
    paths: list[Path] = []
    if _reasoning(raw.get("reasoning_content")):
        paths.append(("reasoning_content",))
    content = raw.get("content", b"null")
    if content[:1] == b"[":
        paths += [("content", place) for place in range(len(_array(content)))]
    elif content != b"null":
        paths.append(("content",))
    if _refusal(raw.get("refusal")):
        paths.append(("refusal",))
    paths += [("tool_calls", place) for place in range(len(_array(raw.get("tool_calls"))))]
    return paths


def _tool(raw: bytes) -> Tool:
    text = raw.decode("utf-8", "surrogateescape")
    value = load(raw)
    if not isinstance(value, dict):
        return Tool("", text)
    inner = value.get("function")
    function = inner if isinstance(inner, dict) else value
    path = ("function", "parameters") if function is inner else ("parameters",)
    schema = raw[slice(*locate(raw, path))] if function.get("parameters") else b""
    return Tool(
        str(function.get("name") or value.get("type") or ""),
        text,
        str(function.get("description") or ""),
        schema.decode("utf-8", "replace"),
    )


# ------------------------------------------------------------------- encoding


def _encode_history(messages: Sequence[Message]) -> list[Json]:
    """Encode messages; results take one each, and the media in them one behind them all."""
    history: list[Json] = []
    moved: list[Json] = []  # media of the results under way
    for message in messages:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        rest = [part for part in message.parts if not isinstance(part, ToolResult)]
        if moved and not results:
            history.append({"role": "user", "content": moved})
            moved = []
        for result in results:
            text = _result_text(result)
            history.append({"role": "tool", "tool_call_id": result.call_id, "content": text})
            moved += _moved_media(result)
        if message.role == "assistant":
            history += [_encode_assistant(rest)] if rest else []
        elif content := [block for part in rest if (block := _encode_content(part))]:
            role = "user" if message.role == "tool" else message.role
            history.append({"role": role, "content": _plain(moved + content)})
            moved = []
    return [*history, {"role": "user", "content": moved}] if moved else history


def _plain(content: list[Json]) -> str | list[Json]:
    """One text alone is a string, as every server takes it."""
    if len(content) == 1 and content[0]["type"] == "text":
        return str(content[0]["text"])
    return content


def _result_text(result: ToolResult) -> str:
    """The words of a result; this format has no place for media in it."""
    words = [_as_text(block) for block in result.content]
    text = "\n".join(word for word in words if word)
    return f"Error: {text}" if result.is_error else text


def _as_text(block: ResultContent) -> str:
    match block:
        case Text():
            return block.text
        case Media():
            return f"[{block.kind}: see the message behind the tool results]"
        case Opaque():
            return block.json


def _moved_media(result: ToolResult) -> list[Json]:
    """Media of a result, each behind a text that says which call it belongs to."""
    moved: list[Json] = []
    for block in result.content:
        if isinstance(block, Media) and (encoded := _encode_content(block)):
            label = f"[{block.kind} from the result of tool call {result.call_id}]"
            moved += [{"type": "text", "text": label}, encoded]
    return moved


def _encode_content(part: Part) -> Json | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text else None
        case Media(kind="image") if part.data or "://" in part.location:
            url = f"data:{part.media_type};base64,{part.data}" if part.data else part.location
            return {"type": "image_url", "image_url": {"url": url, **openai_detail(part.detail)}}
        case Media(kind="audio") if part.data:
            form = part.media_type.removeprefix("audio/") or "wav"
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
        case Media() if part.data:
            url = f"data:{part.media_type};base64,{part.data}"
            return {"type": "file", "file": {"file_data": url, "filename": part.kind}}
        case Media():
            return {"type": "text", "text": f"[{part.kind} at {part.location}]"}
        case Opaque():
            return {"type": "text", "text": part.json}
        case _:
            return None  # reasoning has no place here, calls have one of their own


def _encode_assistant(parts: Sequence[Part]) -> Json:
    texts = [words for part in parts if (words := _assistant_words(part))]
    calls = [
        {
            "id": part.id,
            "type": "function",
            "function": {"name": part.name, "arguments": part.arguments.strip() or "{}"},
        }
        for part in parts
        if isinstance(part, ToolCall)
    ]
    encoded: Json = {"role": "assistant", "content": "\n\n".join(texts) or (None if calls else "")}
    if calls:
        encoded["tool_calls"] = calls
    return encoded


def _assistant_words(part: Part) -> str:
    """What an assistant message says; it has no place for anything but words and calls."""
    match part:
        case Text():
            return part.text
        case Opaque():
            return part.json
        case Media():
            return f"[{part.kind} that cannot be sent here]"
        case _:
            return ""


def _encode_tool(tool: Tool) -> Any:  # noqa: ANN401 - JSON, raw or not
    if element_keys(b"[" + encode_json_text(tool.json) + b"]") & {"function", "custom"}:
        return Raw(encode_json_text(tool.json))
    function: Json = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = Raw(encode_json_text(tool.schema) or b'{"type":"object"}')
    return {"type": "function", "function": function}
