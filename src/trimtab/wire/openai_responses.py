"""OpenAI Responses: ``POST /v1/responses``.

The history is a list of items: what is said, reasoning, each call and each
output is one of its own, and so a message of its own here. What an edit does to
reasoning is in ``openai_responses_units.py``, the rules in
``openai_responses_rules.py``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from trimtab.constraints import Concern, Constraints
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
    is_json,
    load,
    load_text,
    locate,
    object_spans,
    splice,
    whole_number,
)
from trimtab.wire.media import (
    data_url,
    document_pages,
    image_size,
    openai_detail,
    recording_seconds,
)
from trimtab.wire.openai_caching import openai_marker_rules
from trimtab.wire.openai_responses_rules import (
    CALLS,
    INPUT_KINDS,
    RESULTS,
    RULES,
    call_id_of,
    check_responses,
)
from trimtab.wire.openai_responses_units import complete_units, held_by_others, inside_units
from trimtab.wire.request import Request
from trimtab.wire.rules import Findings, Rule

__all__ = ["OpenAIResponses"]

Json: TypeAlias = dict[str, Any]

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
}

_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Parts of content that are words, and the key that holds them."""

_MARKED = (b'"input_text"', b'"input_image"', b'"input_file"')

_MEDIA = frozenset(("input_image", "input_file", "input_audio"))

_WHOLE = frozenset(
    (
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
    )
)
"""Calls that the provider answered itself, in the same item: opaque, but they leave like any other."""

_SETTINGS = frozenset(("additional_tools", "configuration_update", "compaction_trigger"))
"""Items that say nothing to the model's user: they stay, as a developer's words do."""

_OWN_FIELDS = frozenset(
    (
        "instructions",
        "previous_response_id",
        "conversation",
        "max_output_tokens",
        "context_management",
        "text",
        "store",
        "reasoning",
    )
)
"""Top-level fields that tell this format from others that have an ``input``."""


# ------------------------------------------------------------------ decoding


class _OutlinedPart(msgspec.Struct):
    """A part of a content list: only whether it is of a known type and shape."""

    type: str
    text: str | None = None
    refusal: str | None = None
    input_audio: dict[str, Raw] | None = None


class _OutlinedItem(msgspec.Struct):
    """An item, as far as an outline needs it; words, which are most of it, are skipped."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    content: Raw = Raw(b"null")
    output: Raw = Raw(b"null")


_LIST = ord("[")
_STRING_OR_NULL = b'"n'
"""First bytes of JSON text."""

_history = msgspec.json.Decoder(list[_OutlinedItem])
_item = msgspec.json.Decoder(_OutlinedItem)
_content_parts = msgspec.json.Decoder(list[_OutlinedPart])


class OpenAIResponses(Format):
    """The Responses API and everything that speaks it."""

    name = "openai-responses"
    history_field = "input"
    history_may_be_text = True
    envelope_fields = (
        "model",
        "instructions",
        "tools",
        "text",
        "reasoning",
        "store",
        "previous_response_id",
        "conversation",
        "background",
        "context_management",
        "max_output_tokens",
    )
    marker_keys = ("prompt_cache_breakpoint",)
    block_fields = ("content", "output")

    @property
    def rules(self) -> dict[str, Rule]:
        return RULES

    # -------------------------------------------------------------- reading

    def recognises(self, body: bytes, members: Mapping[str, bytes]) -> int:
        if "input" not in members or "messages" in members:
            return 0
        if re.search(rb'"input"\s*:\s*\[\s*[^{\]\s]', body):
            return 0  # texts to be embedded
        if members.keys() & _OWN_FIELDS:
            return 95
        return 85 if re.search(rb'"input"\s*:\s*\[\s*\{', body) else 40

    def outlines(self, body: bytes, history: Span, spans: Sequence[Span]) -> list[Outline]:
        try:
            decoded = _history.decode(memoryview(body)[slice(*history)])
            return [_outline(item) for item in decoded]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [_outline_alone(body[low:high]) for low, high in spans]

    def parts(self, message: bytes) -> tuple[Part, ...]:
        try:
            return _parts(message)
        except MalformedBodyError:
            return (opaque("?", message),)

    def surface(self, members: Mapping[str, bytes]) -> Surface:
        return Surface(
            model=load_text(members.get("model", b'""')),
            system=_instructions(members.get("instructions")),
            tools=tuple(_tool(raw) for raw in _array(members.get("tools"))),
            output_schema=_output_schema(members.get("text")),
        )

    def constraints(self, request: Request) -> Constraints:
        outlines = request.outlines
        start = len(outlines)
        while start and outlines[start - 1].role in ("assistant", "tool"):
            start -= 1
        is_open = start < len(outlines) and outlines[-1].role == "tool"
        frozen = frozenset(i for i, outline in enumerate(outlines) if not outline.is_understood)
        return replace(
            request.manners,
            hands_off=request.manners.hands_off or _references(request),
            frozen=frozen | held_by_others(request, frozen),
            illegal_starts=inside_units(request),
            open_loop_start=start if is_open else None,
        )

    def manners(self, members: Mapping[str, bytes]) -> Constraints:
        return Constraints(
            hands_off=_server_state(members),
            left_to_client=_left_to_client(members),
            results_must_follow=False,
            neighbours_are_one_turn=True,
        )

    def answer_tokens(self, members: Mapping[str, bytes]) -> int | None:
        return whole_number(members.get("max_output_tokens"))

    def surface_forms(self, members: Mapping[str, bytes]) -> SurfaceForms:
        tools = self.without_markers(members.get("tools", b""))
        return SurfaceForms(
            members.get("model", b""),
            members.get("instructions", b""),
            b"\0".join((tools, members.get("text", b""))),
        )

    # -------------------------------------------------------------- writing

    def part_paths(self, message: bytes) -> list[Path]:
        content = _words(message)
        if content is None:
            return [()]
        if content[:1] == b"[":
            return [("content", place) for place in range(len(_array(content)))]
        return [] if content == b"null" else [("content",)]

    def text_path(self, message: bytes, part: int) -> Path:
        path = self.part_path(message, part)
        if len(path) < 2:
            return path
        start, stop = locate(message, path)
        return (*path, _TEXTS.get(str(load(message[start:stop]).get("type")), "text"))

    def arguments_splice(self, message: bytes, part: int, arguments: str) -> Splice:  # noqa: ARG002 - an item is one call
        kind = _kind(message)
        key = CALLS[kind]
        if kind == "custom_tool_call":
            is_text = arguments.startswith('"')
            return put_member(
                message, (key,), encode_json_text(arguments) if is_text else dump(arguments)
            )
        is_text = kind == "function_call" and first_byte(message, (key,)) != b"{"
        new = dump(arguments) if is_text else encode_json_text(arguments)
        return put_member(message, (key,), new)

    def result_path(self, message: bytes, part: int) -> Path:  # noqa: ARG002 - an item is one result
        return (RESULTS[_kind(message)],)

    def encode_block(self, block: ResultContent) -> Json:
        return _encode_content(block) or {"type": "input_text", "text": ""}

    def edit_message(
        self,
        message: bytes,
        parts: Sequence[Part],
        dropped: frozenset[int],
        replaced: Mapping[int, Part],
    ) -> list[Splice]:
        changed = {place: new for place, new in replaced.items() if new != parts[place]}
        splices = super().edit_message(message, parts, dropped, changed)
        # A part that is replaced by itself is how an item is asked to go on without its id.
        return splices if len(changed) == len(replaced) else splices + drop_members(message, {"id"})

    def encode(self, message: Message, cache_marker: bytes | None = None) -> list[bytes]:
        items = _encode_history([message])
        if cache_marker and items and items[-1].get("role") != "assistant":
            _mark(items[-1], cache_marker)
        return [dump(item) for item in items]

    def append_text(self, message: bytes, text: str, cache_marker: bytes | None = None) -> bytes:
        if not first_byte(message, ("content",)):
            return splice(message, [put_member(message, ("content",), dump(text))])
        start, stop = locate(message, ("content",))
        block: Json = {"type": "input_text", "text": text}
        if cache_marker:
            block["prompt_cache_breakpoint"] = Raw(cache_marker)
        if message[start : start + 1] == b"[":
            return append_element(message, ("content",), dump(block))
        own = load(message[start:stop])
        if cache_marker and own:
            before = b'{"type":"input_text","text":' + message[start:stop] + b"}"
            return splice(message, [(start, stop, b"[" + before + b"," + dump(block) + b"]")])
        return splice(message, [(start, stop, dump(f"{own}\n\n{text}" if own else text))])

    def cache_markers(self, message: bytes) -> list[bytes]:
        if not self.may_hold_markers(message) or message[:1] != b"{":
            return []
        spans = object_spans(message)
        blocks = [
            message[start:stop]
            for key in ("content", "output")
            if key in spans and message[spans[key][0] : spans[key][0] + 1] == b"["
            for start, stop in element_spans(message, (key,))[1]
        ]
        held = [(block, object_spans(block)) for block in blocks if block[:1] == b"{"]
        markers = [
            block[slice(*members["prompt_cache_breakpoint"])]
            for block, members in held
            if "prompt_cache_breakpoint" in members
        ]
        return [marker for marker in markers if marker != b"null"]

    def bare_type(self, message: Mapping[str, bytes]) -> bytes:
        return b'"output_text"' if message.get("role") == b'"assistant"' else b'"input_text"'

    def can_hold_marker(self, block: Mapping[str, bytes]) -> bool:
        return block.get("type") in _MARKED and block.get("text") != b'""'

    def marker_rules(self, request: Request, model: str, life: CacheLife) -> MarkerRules | None:  # noqa: ARG002 - the model alone decides
        if _references(request):
            return None
        return openai_marker_rules(model, frozenset(_MARKED), unmarked_roles=(b'"assistant"',))

    def body(self, messages: Sequence[Message], setup: Setup) -> Json:
        surface = setup.surface
        body: Json = {"model": surface.model, "max_output_tokens": setup.max_tokens}
        items = _without_loose_reasoning(_encode_history(messages))
        if any("encrypted_content" in item and "summary" in item for item in items):
            # Whoever sends encrypted reasoning keeps the history: nothing is to be looked up on
            # the server, and the next answer's reasoning is wanted in the same form. All others
            # get what the provider does when nothing is said (it stores the answer).
            body |= {"store": False, "include": ["reasoning.encrypted_content"]}
        if surface.system:
            words = (_words_of(part) for part in surface.system)
            body["instructions"] = "\n\n".join(word for word in words if word)
        if surface.tools:
            body["tools"] = [_encode_tool(tool) for tool in surface.tools]
        body["input"] = items
        return body

    # -------------------------------------------------------- the last word

    def complete(
        self,
        request: Request,
        plan: Plan,
        *,
        headers_settable: bool,  # noqa: ARG002 - no edit needs a header
    ) -> Plan | Forbidden:
        if not plan:
            return plan
        if request.constraints.hands_off:
            return Forbidden(request.constraints.hands_off)
        if request.body[request.history_span[0]] != _LIST:
            return Forbidden("the input is a bare string, which has no place for anything else")
        return complete_units(request, plan)

    def check(self, body: Json, findings: Findings) -> None:
        check_responses(body, findings)


# --------------------------------------------------------- outlines and parts


def _outline(item: _OutlinedItem) -> Outline:
    kind = item.type or ("message" if item.role else "?")
    if kind == "message":
        role = _ROLES.get(item.role or "")
        if role is None:
            return Outline("user", is_understood=False)
        return Outline(role, is_understood=_is_known_content(item.content))
    if kind == "reasoning":
        return Outline("assistant")
    if kind in CALLS or kind in RESULTS:
        return _outline_exchange(kind, item)
    role = _ROLES.get(item.role or "", _role_of(kind))
    return Outline(role, is_understood=kind in _WHOLE)


def _outline_exchange(kind: str, item: _OutlinedItem) -> Outline:
    """Outline a call, or what answers one."""
    call_id = item.call_id
    if call_id is None and kind.startswith("local_shell_call"):
        call_id = item.id
    if not call_id:
        return Outline(_role_of(kind), is_understood=False)
    if kind in CALLS:
        is_named = bool(item.name) or kind not in ("function_call", "custom_tool_call")
        return Outline("assistant", (call_id,), is_understood=is_named)
    is_known = _has_own_shape(kind) or _is_known_content(item.output)
    return Outline("tool", (), (call_id,), has_own_words=False, is_understood=is_known)


def _has_own_shape(kind: str) -> bool:
    """Whether an output is something other than words and media: such a one leaves whole."""
    return kind not in ("function_call_output", "custom_tool_call_output")


def _role_of(kind: str) -> Role:
    """Who speaks in an item that does not say so."""
    if kind in _SETTINGS:
        return "developer"
    is_input = kind in INPUT_KINDS or kind.endswith(("_output", "_response"))
    return "tool" if is_input else "assistant"


def _is_known_content(raw: Raw) -> bool:
    """Whether content is words, nothing, or a list of known parts."""
    first = memoryview(raw)[0]
    if first == _LIST:
        return all(map(_is_known, _content_parts.decode(raw)))
    return first in _STRING_OR_NULL


def _is_known(part: _OutlinedPart) -> bool:
    if part.type in _TEXTS:
        return getattr(part, _TEXTS[part.type]) is not None
    return part.type in _MEDIA and (part.type != "input_audio" or part.input_audio is not None)


def _outline_alone(message: bytes) -> Outline:
    """Outline an item that the typed decoder refuses, or that stands beside one."""
    try:
        return _outline(_item.decode(message))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _outline_loose(message)


def _outline_loose(message: bytes) -> Outline:
    try:
        value, parts = load(message), _parts(message)
    except MalformedBodyError:
        return Outline("user", is_understood=False)
    if not isinstance(value, dict):
        return Outline("user", is_understood=False)
    kind, role = _kind_in(value), value.get("role")
    known = _ROLES.get(role) if isinstance(role, str) else None
    is_understood = kind in _WHOLE or not any(
        isinstance(block, Opaque)
        for part in parts
        for block in (
            part.content if isinstance(part, ToolResult) and not _has_own_shape(kind) else (part,)
        )
    )
    calls = tuple(part.id for part in parts if isinstance(part, ToolCall))
    results = tuple(part.call_id for part in parts if isinstance(part, ToolResult))
    if kind == "message" or known is not None:
        return Outline(known or "user", calls, results, not results, is_understood)
    return Outline(_role_of(kind), calls, results, not results, is_understood)


def _kind_in(value: Json) -> str:
    kind = value.get("type")
    if isinstance(kind, str):
        return kind or ("message" if value.get("role") else "?")
    return "message" if kind is None and value.get("role") else "?"


def _kind(message: bytes) -> str:
    """The type of an item; what has none but a role is a message."""
    members = _members(message)
    return _kind_in({key: _string(members.get(key)) or None for key in ("type", "role")})


def _members(message: bytes) -> dict[str, bytes]:
    return {key: message[low:high] for key, (low, high) in object_spans(message).items()}


def _words(message: bytes) -> bytes | None:
    """The content of a message item; None where an item is something else."""
    if message[:1] != b"{":
        return None
    members = _members(message)
    if members.get("type", b"null") not in (b"null", b'"message"'):
        return None
    return members.get("content", b"null")


def _parts(message: bytes) -> tuple[Part, ...]:
    if message[:1] == b'"':
        return (Text(load_text(message)),)
    raw, value = _members(message), load(message)
    kind, role = _kind_in(value), value.get("role")
    if kind == "message" and isinstance(role, str) and role in _ROLES:
        return _content(raw.get("content"))
    if kind == "reasoning":
        return (_reasoning(message, value),)
    if kind in CALLS:
        return (_call(kind, raw, value) or opaque(kind, message),)
    if kind in RESULTS:
        return (_result(kind, raw, value) or opaque(kind, message),)
    if kind == "image_generation_call" and isinstance(picture := value.get("result"), str):
        width, height = image_size(picture)
        return (Media("image", "image/png", data=picture, width=width, height=height),)
    return (opaque(str(value.get("role")) if kind == "message" else kind, message),)


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
    words = block.get(_TEXTS[kind]) if isinstance(kind, str) and kind in _TEXTS else None
    if isinstance(words, str):
        return Text(words)
    media = _media(kind, block) if isinstance(kind, str) and kind in _MEDIA else None
    return opaque(str(kind), raw) if media is None else media


def _media(kind: str, block: Mapping[str, Any]) -> Media | None:
    if kind == "input_image":
        return _image(block)
    if kind == "input_audio":
        audio = block.get("input_audio")
        if not isinstance(audio, dict):
            return None
        form = f"audio/{audio.get('format') or 'wav'}"
        data = str(audio.get("data") or "")
        return Media("audio", form, data=data, seconds=recording_seconds(data))
    return _file(block)


def _file(block: Mapping[str, Any]) -> Media:
    given = str(block.get("file_data") or "")
    media_type, data = data_url(given) or ("", given)
    where = str(block.get("file_id") or block.get("file_url") or "")
    name = str(block.get("filename") or block.get("file_url") or "").lower()
    if "pdf" in media_type or name.endswith(".pdf"):
        pages = document_pages(data) if data else 0
        return Media("document", media_type, data=data, location=where, pages=pages)
    return Media("file", media_type, data=data, location=where)


def _image(block: Mapping[str, Any]) -> Media:
    url, detail = str(block.get("image_url") or ""), str(block.get("detail") or "")
    inline = data_url(url)
    if inline is None:
        return Media("image", location=url or str(block.get("file_id") or ""), detail=detail)
    width, height = image_size(inline[1])
    return Media("image", inline[0], data=inline[1], detail=detail, width=width, height=height)


def _reasoning(message: bytes, value: Json) -> Thinking:
    """Hold a reasoning item: its words, and as what must stay verbatim the whole of it."""
    lists = [found for key in ("summary", "content") if isinstance(found := value.get(key), list)]
    texts = [
        text
        for found in lists
        for block in found
        if isinstance(block, dict) and isinstance(text := block.get("text"), str)
    ]
    raw = message.decode("utf-8", "surrogateescape")
    return Thinking(
        "\n".join(texts), raw, needs_answer=bool(value.get("id")), signed_by="openai-responses"
    )


def _call(kind: str, raw: Mapping[str, bytes], value: Json) -> ToolCall | None:
    call_id, name, key = call_id_of(value), value.get("name"), CALLS[kind]
    if not call_id:
        return None
    given = raw.get(key) or (raw.get("actions", b"") if key == "action" else b"")
    text = given.decode("utf-8", "replace")
    if kind not in ("function_call", "custom_tool_call"):
        return ToolCall(call_id, kind.removesuffix("_call"), text)
    if not isinstance(name, str) or not name:
        return None
    if kind == "function_call" and given[:1] == b'"':
        text = load_text(given)
    return ToolCall(call_id, name, text)


def _result(kind: str, raw: Mapping[str, bytes], value: Json) -> ToolResult | None:
    call_id, output = call_id_of(value), raw.get(RESULTS[kind])
    if not call_id:
        return None
    if kind == "computer_call_output" and isinstance(screen := value.get("output"), dict):
        return ToolResult(call_id, (_image(screen),))
    if kind == "tool_search_output":
        return ToolResult(call_id, () if output is None else (opaque("tools", output),))
    return ToolResult(call_id, _content(output), is_error=value.get("status") == "failed")


def _tool(raw: bytes) -> Tool:
    text = raw.decode("utf-8", "surrogateescape")
    value = load(raw)
    if not isinstance(value, dict):
        return Tool("", text)
    name = value.get("name") or value.get("server_label") or value.get("type") or ""
    schema = raw[slice(*locate(raw, ("parameters",)))] if value.get("parameters") else b""
    return Tool(
        str(name), text, str(value.get("description") or ""), schema.decode("utf-8", "replace")
    )


# ------------------------------------------------------- envelope and limits


def _instructions(raw: bytes | None) -> tuple[Part, ...]:
    if raw is None or raw == b"null":
        return ()
    return (Text(load_text(raw)),) if raw[:1] == b'"' else (opaque("instructions", raw),)


def _output_schema(raw: bytes | None) -> str:
    value = load(raw or b"null")
    wanted = value.get("format") if isinstance(value, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") == "text":
        return ""
    return dump(wanted).decode()


def _server_state(members: Mapping[str, bytes]) -> str:
    for field in ("previous_response_id", "conversation"):
        if members.get(field, b"null") != b"null":
            return f"part of the conversation lies on the provider's server ({field})"
    if members.get("background") == b"true":
        return "the answer is made on the provider's server, out of sight (background)"
    return ""


def _references(request: Request) -> str:
    if b'"item_reference"' not in request.body:
        return ""
    for place, outline in enumerate(request.outlines):
        if not outline.is_understood and _is_reference(request.message_bytes(place)):
            return "part of the conversation lies on the provider's server (item_reference)"
    return ""


def _is_reference(message: bytes) -> bool:
    return message[:1] == b"{" and _kind(message) == "item_reference"


def _left_to_client(members: Mapping[str, bytes]) -> frozenset[Concern]:
    """What the provider's own management takes over; ``truncation`` is no management but a loss."""
    management = load(members.get("context_management", b"null"))
    for entry in management if isinstance(management, list) else ():
        if isinstance(entry, dict) and entry.get("type") == "compaction":
            return frozenset(("compaction",))
    return frozenset()


# ------------------------------------------------------------------- encoding


def _encode_history(messages: Sequence[Message]) -> list[Json]:
    """Encode messages: each run of words is an item, and so is each call and each result."""
    items: list[Json] = []
    for message in messages:
        said: list[Part] = []
        for part in message.parts:
            item = _encode_item(part)
            if item is None:
                said.append(part)
                continue
            items += _encode_said(message.role, said)
            items += [item] if item else []
            said = []
        items += _encode_said(message.role, said)
    return items


def _encode_item(part: Part) -> Json | None:
    """Encode a part that is an item of its own; empty for one that is not accepted here."""
    match part:
        case Thinking():
            return _encode_reasoning(part)
        case ToolCall():
            given = part.arguments.strip()
            arguments = "{}" if given in ("", "null") else given
            return {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": arguments,
            }
        case ToolResult(content=(Opaque(kind=kind, json=text),)) if kind in RESULTS:
            return _raw_members(text)
        case ToolResult():
            output = _encode_output(part)
            return {"type": "function_call_output", "call_id": part.call_id, "output": output}
        case Opaque() if part.kind in _WHOLE or part.kind == "compaction":
            return _own_item(part)
        case _:
            return None


def _encode_reasoning(part: Thinking) -> Json:
    """A reasoning item as it came; what another format signed, or a server holds, is left out."""
    if not part.opaque.startswith("{"):
        return {}
    item = _raw_members(part.opaque)
    is_whole = item.keys() & {"encrypted_content", "content"} and "summary" in item
    return item if is_whole else {}


def _own_item(part: Opaque) -> Json | None:
    """An item of this format as it came; what only has the same name elsewhere is none."""
    raw = encode_json_text(part.json)
    if not raw.startswith(b"{") or not is_json(raw):
        return None
    item = _raw_members(part.json)
    wanted = "encrypted_content" if part.kind == "compaction" else "id"
    return item if wanted in item else None


def _raw_members(text: str) -> Json:
    raw = text.encode("utf-8", "surrogateescape")
    return {key: Raw(raw[slice(*span)]) for key, span in object_spans(raw).items()}


def _encode_said(role: Role, parts: Sequence[Part]) -> list[Json]:
    """The item for words and media that stand in a row; none where nothing is said."""
    if role == "assistant":
        words = "\n\n".join(word for part in parts if (word := _words_of(part)))
        return [{"role": role, "content": words}] if parts else []
    blocks = [block for part in parts if (block := _encode_content(part))]
    if not blocks:
        return []
    is_plain = len(blocks) == 1 and blocks[0]["type"] == "input_text"
    content = blocks[0]["text"] if is_plain else blocks
    return [{"role": "user" if role == "tool" else role, "content": content}]


def _words_of(part: Part) -> str:
    """What says a part where there is no place for anything but words."""
    match part:
        case Text():
            return part.text
        case Opaque():
            return part.json
        case Media():
            return f"[{part.media_type or part.kind} that cannot be sent here]"
        case _:
            return ""


def _encode_output(result: ToolResult) -> str | list[Json]:
    """The content of a result: a string, where words are all it holds."""
    failed: tuple[ResultContent, ...] = (Text("Error:"),) if result.is_error else ()
    if not any(isinstance(block, Media) for block in result.content):
        words = "\n".join(word for block in result.content if (word := _words_of(block)))
        return f"Error: {words}" if result.is_error else words
    content = (*failed, *result.content)
    return [block for part in content if (block := _encode_content(part))]


def _encode_content(part: Part) -> Json | None:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text} if part.text else None
        case Media(kind="image"):
            return _encode_image(part)
        case Media(kind="document" | "file"):
            return _encode_file(part)
        case Media() | Opaque():
            return {"type": "input_text", "text": _words_of(part)}
        case _:
            return None  # calls, results and reasoning are items of their own


def _encode_image(media: Media) -> Json:
    detail = openai_detail(media.detail)
    if media.data:
        url = f"data:{media.media_type};base64,{media.data}"
        return {"type": "input_image", "image_url": url, **detail}
    if "://" in media.location:
        return {"type": "input_image", "image_url": media.location, **detail}
    if media.location.startswith("file"):
        return {"type": "input_image", "file_id": media.location, **detail}
    return {"type": "input_text", "text": _words_of(media)}


def _encode_file(media: Media) -> Json:
    if media.data:
        url = f"data:{media.media_type};base64,{media.data}" if media.media_type else media.data
        name = f"{media.kind}.pdf" if media.kind == "document" else media.kind
        return {"type": "input_file", "filename": name, "file_data": url}
    if "://" in media.location:
        return {"type": "input_file", "file_url": media.location}
    if media.location.startswith("file"):
        return {"type": "input_file", "file_id": media.location}
    return {"type": "input_text", "text": _words_of(media)}


def _mark(item: Json, marker: bytes) -> None:
    """Put a cache marker onto the last part of the input that an item holds."""
    key = "content" if "content" in item else "output"
    content = item.get(key)
    if isinstance(content, str) and content:
        content = [{"type": "input_text", "text": content}]
    if isinstance(content, list) and content:
        content[-1]["prompt_cache_breakpoint"] = Raw(marker)
        item[key] = content


def _without_loose_reasoning(items: list[Json]) -> list[Json]:
    """Leave out reasoning behind which nothing stands that it led to (R3)."""
    kept: list[Json] = []
    leads_on = False
    for item in reversed(items):
        is_reasoning = "summary" in item
        if is_reasoning and not leads_on:
            continue
        is_input = item.get("type") == "function_call_output" or "output" in item
        is_said_to_model = item.get("role") in ("user", "system", "developer")
        leads_on = not (is_input or is_said_to_model)
        kept.append(item)
    return kept[::-1]


def _encode_tool(tool: Tool) -> Any:  # noqa: ANN401 - JSON, raw or not
    raw = encode_json_text(tool.json)
    keys = element_keys(b"[" + raw + b"]")
    if "type" in keys and not keys & {"function", "input_schema", "custom"}:
        return Raw(raw)
    encoded: Json = {"type": "function", "name": tool.name}
    if tool.description:
        encoded["description"] = tool.description
    encoded["parameters"] = Raw(encode_json_text(tool.schema) or b'{"type":"object"}')
    return encoded
