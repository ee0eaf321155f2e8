"""Anthropic Messages: ``POST /v1/messages``.

Results travel in the user message behind their calls, the system prompt has a
field of its own, thinking carries signatures. Consecutive messages of one role
count as one turn. Its rules are in ``anthropic_rules.py``.
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
from trimtab.plan import Forbidden, Plan
from trimtab.wire.anthropic_rules import RULES, check_messages
from trimtab.wire.claude_models import claude_model, least_cacheable_tokens
from trimtab.wire.claude_thinking import (
    BINDING_BETA,
    ask_to_drop,
    complete_thinking,
    follow_system_messages,
)
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
    dump,
    encode_json_text,
    has_key,
    is_json,
    load,
    load_text,
    locate,
    object_spans,
    splice,
    whole_number,
)
from trimtab.wire.media import document_pages, image_size
from trimtab.wire.request import Request
from trimtab.wire.rules import Findings, Rule

__all__ = ["Anthropic"]

Json: TypeAlias = dict[str, Any]

_DECODED = frozenset(
    ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")
)
"""Blocks that become parts of their own kind."""

_WHOLE = frozenset(("search_result", "server_tool_use", "mcp_tool_use", "container_upload"))
"""Blocks that stay opaque but leave with their message like any other. So do ``*_tool_result``."""

# ------------------------------------------------------------------ decoding


_MARKED = frozenset((b'"text"', b'"image"', b'"document"', b'"search_result"', b'"tool_result"'))
"""Blocks of a user message, and of the system prompt, that a cache marker is set on."""

_MOST_MARKERS = 4  # A9


_OWN_OPAQUE = frozenset(("document", "tool_reference", "browser_state", "compaction"))
"""More blocks of this format that stay as they came."""


class _Outlined(msgspec.Struct):
    """A block, as far as an outline needs it: ids, and that all else is of the right type."""

    type: str
    id: str = ""
    tool_use_id: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    name: str = ""


class _OutlinedMessage(msgspec.Struct):
    role: str
    content: str | list[_Outlined]


class _Block(msgspec.Struct):
    """A block, as far as parts need it."""

    type: str
    text: str = ""
    thinking: str = ""
    signature: str = ""
    data: str = ""
    id: str = ""
    name: str = ""
    input: Raw = Raw(b"{}")
    tool_use_id: str = ""
    content: str | list[Raw] | None = None
    is_error: bool | None = None
    source: dict[str, Any] = {}


_WORDS = ("text", "thinking", "signature", "data", "id", "name", "tool_use_id")
"""Keys of a block that hold strings, whatever its type."""

_history = msgspec.json.Decoder(list[_OutlinedMessage])
_message = msgspec.json.Decoder(_OutlinedMessage)
_block = msgspec.json.Decoder(_Block)


class Anthropic(Format):
    """The Messages API and everything that speaks it."""

    name = "anthropic"
    history_field = "messages"
    marker_keys = ("cache_control",)
    caches_at_markers = True
    envelope_fields = (
        "model",
        "system",
        "tools",
        "thinking",
        "tool_choice",
        "context_management",
        "compaction",
        "thread",
        "container",
        "output_config",
        "anthropic_version",
        "max_tokens",
    )

    # -------------------------------------------------------------- reading

    def recognises(self, body: bytes, members: Mapping[str, bytes]) -> int:
        if "messages" not in members:
            return 0
        if "system" in members or "anthropic_version" in members:
            return 90
        if "input_schema" in element_keys(members.get("tools", b"")):
            return 90
        if has_key(body, "tool_use_id") or b'"redacted_thinking"' in body:
            return 80
        if claude_model(load_text(members.get("model", b'""'))) is not None:
            return 60
        return 20 if b'"type":"text"' in body and "max_tokens" in members else 10

    def outlines(self, body: bytes, history: Span, spans: Sequence[Span]) -> list[Outline]:
        try:
            decoded = _history.decode(memoryview(body)[slice(*history)])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [_outline_alone(body[low:high]) for low, high in spans]
        return [_outline(message.role, message.content) for message in decoded]

    def parts(self, message: bytes) -> tuple[Part, ...]:
        content = _content(message)
        if content is None:
            return (opaque("?", message),)
        if isinstance(content, str):
            return (Text(content),)
        return tuple(_part(raw) for raw in content)

    def surface(self, members: Mapping[str, bytes]) -> Surface:
        return Surface(
            model=load_text(members.get("model", b'""')),
            system=_system(members.get("system")),
            tools=tuple(_tool(raw) for raw in _array(members.get("tools"))),
            output_schema=_output_schema(members.get("output_config")),
        )

    def constraints(self, request: Request) -> Constraints:
        outlines = request.outlines
        open_loop = _open_loop_start(outlines)
        turn_start, illegal_starts = _manual_turn(request, open_loop)
        return replace(
            request.manners,
            frozen=_frozen(request),
            illegal_starts=illegal_starts,
            turn_start=turn_start,
            open_loop_start=open_loop,
        )

    def manners(self, members: Mapping[str, bytes]) -> Constraints:
        return Constraints(
            hands_off=_server_state(members),
            left_to_client=_left_to_client(members),
            binds_thinking=_may_bind_thinking(members),
            neighbours_are_one_turn=True,
            refuses_blank_text=True,
        )

    def answer_tokens(self, members: Mapping[str, bytes]) -> int | None:
        return whole_number(members.get("max_tokens"))

    def surface_forms(self, members: Mapping[str, bytes]) -> SurfaceForms:
        system = self.without_markers(members.get("system", b""))
        return SurfaceForms(
            members.get("model", b""),
            _without_billing(system),
            self.without_markers(members.get("tools", b"")) + members.get("output_config", b""),
        )

    # -------------------------------------------------------------- writing

    def part_paths(self, message: bytes) -> list[Path]:
        if first_byte(message, ("content",)) != b"[":
            return [("content",)]
        return [("content", place) for place in range(len(element_spans(message, ("content",))[1]))]

    def text_path(self, message: bytes, part: int) -> Path:
        return ("content",) if _has_string_content(message) else ("content", part, "text")

    def arguments_splice(self, message: bytes, part: int, arguments: str) -> Splice:
        return put_member(message, ("content", part, "input"), encode_json_text(arguments))

    def result_path(self, message: bytes, part: int) -> Path:  # noqa: ARG002 - the same for all messages
        return ("content", part, "content")

    def encode_block(self, block: ResultContent) -> Json:
        return _encode_result_block(block)

    def encode(self, message: Message, cache_marker: bytes | None = None) -> list[bytes]:
        blocks = [dump(block) for part in message.parts if (block := _encode_part(part))]
        if not blocks:
            return []
        if cache_marker:
            blocks[-1] = blocks[-1][:-1] + b',"cache_control":' + cache_marker + b"}"
        role = "user" if message.role in ("user", "tool") else message.role
        content = b"[" + b",".join(blocks) + b"]"
        return [b'{"role":' + dump(role) + b',"content":' + content + b"}"]

    def append_text(self, message: bytes, text: str, cache_marker: bytes | None = None) -> bytes:
        block = dump({"type": "text", "text": text})
        if cache_marker:
            block = block[:-1] + b',"cache_control":' + cache_marker + b"}"
        if not _has_string_content(message):
            return append_element(message, ("content",), block)
        start, stop = locate(message, ("content",))
        own = b'{"type":"text","text":' + message[start:stop] + b"}"
        return splice(message, [(start, stop, b"[" + own + b"," + block + b"]")])

    def cache_markers(self, message: bytes) -> list[bytes]:
        if b'"cache_control"' not in message or _has_string_content(message):
            return []
        markers = []
        for start, stop in element_spans(message, ("content",))[1]:
            raw = message[start:stop]
            members = object_spans(raw)
            if "cache_control" in members:
                low, high = members["cache_control"]
                markers.append(raw[low:high])
        return [marker for marker in markers if marker != b"null"]

    def marker_rules(self, request: Request, model: str, life: CacheLife) -> MarkerRules | None:
        if request.members.get("anthropic_version", b"").startswith(b'"bedrock'):
            return None
        marker = {"type": "ephemeral"} if life == "5m" else {"type": "ephemeral", "ttl": life}
        return MarkerRules(
            decided_by=("cache_control",),
            least_tokens=least_cacheable_tokens(model),
            marker=("cache_control", dump(marker)),
            most=_MOST_MARKERS,
            blocks=_MARKED,
            # A system message inside the conversation may be gone on the next turn (`clear_at`).
            unmarked_roles=(b'"assistant"', b'"system"'),
            surface_fields=("system", "tools"),
            marks_end=True,
        )

    def body(self, messages: Sequence[Message], setup: Setup) -> Json:
        surface = setup.surface
        leading = _leading_system(messages)
        system = [*surface.system, *(part for message in leading for part in message.parts)]
        body: Json = {"model": surface.model, "max_tokens": setup.max_tokens}
        if system:
            body["system"] = [block for part in system if (block := _encode_part(part))]
        if surface.tools:
            body["tools"] = [_encode_tool(tool) for tool in surface.tools]
        body["messages"] = _encode_history(messages[len(leading) :], setup)
        return body

    # -------------------------------------------------------- the last word

    def complete(self, request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:
        if not plan:
            return plan
        plan = follow_system_messages(plan, request)
        return complete_thinking(request, plan, headers_settable=headers_settable)

    def needed_headers(self, members: Mapping[str, bytes]) -> Sequence[tuple[str, str, str]]:
        if "block_binding" not in _thinking(members):
            return ()
        return [("anthropic-beta", BINDING_BETA, "block_binding: Extra inputs are not permitted")]

    def drops_unfit(self, members: Mapping[str, bytes]) -> bool:
        binding = _thinking(members).get("block_binding")
        behaviour = binding.get("prefix_mismatch_behavior") if isinstance(binding, dict) else None
        return bool(behaviour == "drop_block")

    def soften(self, request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:
        if plan.envelope:
            return Forbidden("the provider was asked to drop what does not fit, and refused it")
        return ask_to_drop(request, plan, headers_settable=headers_settable)

    def check(self, body: Json, findings: Findings) -> None:
        check_messages(body, findings)

    @property
    def rules(self) -> dict[str, Rule]:
        return RULES


# --------------------------------------------------------- outlines and parts


def _outline(role: str, content: str | list[_Outlined]) -> Outline:
    if isinstance(content, str):
        return Outline(_role(role), is_understood=role in _ROLES)
    calls = tuple([block.id for block in content if block.type == "tool_use"])
    results = tuple([block.tool_use_id for block in content if block.type == "tool_result"])
    understood = role in _ROLES and all(
        block.type in _DECODED or _leaves_whole(block.type) for block in content
    )
    return Outline(
        _role(role), calls, results, len(results) < len(content) or not content, understood
    )


def _outline_alone(message: bytes) -> Outline:
    """Outline a message that the typed decoder refuses, or that stands beside one."""
    try:
        decoded = _message.decode(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _outline_loose(message)
    return _outline(decoded.role, decoded.content)


def _outline_loose(message: bytes) -> Outline:
    try:
        value = load(message)
    except MalformedBodyError:
        return Outline("user", is_understood=False)
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return Outline("user", is_understood=False)
    content = value.get("content")
    if isinstance(content, str):
        return _outline(value["role"], content)
    if not isinstance(content, list):
        return Outline(_role(value["role"]), is_understood=False)
    outline = _outline(value["role"], [_outlined(block) for block in content])
    return outline if all(map(_has_words, content)) else outline._replace(is_understood=False)


def _has_words(block: object) -> bool:
    """Whether what must be a string in a block is one."""
    return isinstance(block, dict) and all(isinstance(block.get(key, ""), str) for key in _WORDS)


def _outlined(block: object) -> _Outlined:
    if not isinstance(block, dict):
        return _Outlined("?")
    kind, call_id, result_id = (block.get(key) for key in ("type", "id", "tool_use_id"))
    return _Outlined(
        kind if isinstance(kind, str) else "?",
        call_id if isinstance(call_id, str) else "",
        result_id if isinstance(result_id, str) else "",
    )


_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def _role(role: str) -> Role:
    return _ROLES.get(role, "user")


def _leaves_whole(kind: str) -> bool:
    return kind in _WHOLE or kind.endswith("_tool_result")


def _content(message: bytes) -> str | list[bytes] | None:
    """The content of a message: its words, or the bytes of its blocks; None where it has neither."""
    try:
        members = object_spans(message)
        start, stop = members["content"]
    except (MalformedBodyError, KeyError):
        return None
    raw = message[start:stop]
    if raw[:1] == b'"':
        return load_text(raw)
    if raw[:1] == b"[":
        return [raw[low:high] for low, high in array_spans(raw)]
    return None


def _has_string_content(message: bytes) -> bool:
    start, _ = locate(message, ("content",))
    return message[start : start + 1] == b'"'


def _part(raw: bytes) -> Part:
    block = _decode_block(raw)
    if block is None:
        return opaque("?", raw)
    match block.type:
        case "text":
            return Text(block.text)
        case "thinking":
            return Thinking(block.thinking, block.signature, signed_by="anthropic")
        case "redacted_thinking":
            return Thinking("", block.data, is_redacted=True, signed_by="anthropic")
        case "tool_use":
            return ToolCall(block.id, block.name, bytes(block.input).decode("utf-8", "replace"))
        case "tool_result":
            return ToolResult(
                block.tool_use_id, _result_content(block.content), is_error=bool(block.is_error)
            )
        case "image" | "document":
            kind: MediaKind = "image" if block.type == "image" else "document"
            return _media(kind, block.source) or opaque(kind, raw)
        case "compaction" if block.content == "":
            return Text("")  # refused like any empty text (A-compaction-empty)
        case unknown:
            return opaque(unknown, raw)


def _decode_block(raw: bytes) -> _Block | None:
    try:
        return _block.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_loosely(raw)


def _decode_loosely(raw: bytes) -> _Block | None:
    """Decode a block that msgspec refuses: a lone surrogate, a number out of range."""
    try:
        value, spans = load(raw), object_spans(raw)
    except MalformedBodyError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    if not _has_words(value):
        return None
    block = _Block(value["type"], **{key: value[key] for key in _WORDS if key in value})
    if "input" in spans:
        block.input = Raw(raw[slice(*spans["input"])])
    content = value.get("content")
    if isinstance(content, str):
        block.content = content
    elif isinstance(content, list):
        inner = raw[slice(*spans["content"])]
        block.content = [Raw(inner[low:high]) for low, high in array_spans(inner)]
    block.is_error = value.get("is_error") is True
    block.source = source if isinstance(source := value.get("source"), dict) else {}
    return block


def _result_content(content: str | list[Raw] | None) -> tuple[ResultContent, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        # An empty string is a valid result; an empty text block is not (A7).
        return (Text(content),) if content.strip() else ()
    return tuple(_result_block(bytes(raw)) for raw in content)


def _result_block(raw: bytes) -> ResultContent:
    part = _part(raw)
    if isinstance(part, Text | Media | Opaque):
        return part
    return opaque(type(part).__name__, raw)


def _media(kind: MediaKind, source: Mapping[str, Any]) -> Media | None:
    """Decode the source of an image or a document; None where it is nothing known."""
    where = source.get("url") or source.get("file_id") or ""
    data = source.get("data") or ""
    media_type = source.get("media_type") or ""
    if not all(isinstance(word, str) for word in (where, data, media_type)):
        return None
    if source.get("type") in ("text", "content"):  # a document in words
        return None
    width, height = image_size(data) if kind == "image" and data else (0, 0)
    pages = document_pages(data) if kind == "document" and data else 0
    return Media(
        kind, media_type, data=data, location=where, width=width, height=height, pages=pages
    )


# -------------------------------------------------------- envelope and limits


def _array(raw: bytes | None) -> list[bytes]:
    if raw is None or raw[:1] != b"[":
        return []
    return [raw[low:high] for low, high in array_spans(raw)]


def _system(raw: bytes | None) -> tuple[Part, ...]:
    if raw is None:
        return ()
    if raw[:1] == b'"':
        return (Text(load_text(raw)),)
    return tuple(_part(block) for block in _array(raw))


def _tool(raw: bytes) -> Tool:
    text = raw.decode("utf-8", "surrogateescape")
    try:
        value, spans = load(raw), object_spans(raw)
    except MalformedBodyError:
        return Tool("", text)
    name = value.get("name") or value.get("type") or ""
    description = value.get("description") or ""
    schema = raw[slice(*spans["input_schema"])] if "input_schema" in spans else b""
    return Tool(str(name), text, str(description), schema.decode("utf-8", "replace"))


def _output_schema(raw: bytes | None) -> str:
    if raw is None:
        return ""
    value = load(raw)
    wanted = value.get("format") if isinstance(value, dict) else None
    return dump(wanted).decode() if wanted else ""


def _server_state(members: Mapping[str, bytes]) -> str:
    for field in ("thread", "container"):
        if members.get(field, b"null") != b"null":
            return f"part of the conversation lies on the provider's server ({field})"
    return ""


def _left_to_client(members: Mapping[str, bytes]) -> frozenset[Concern]:
    concerns: set[Concern] = set()
    if members.get("compaction", b"null") != b"null":
        concerns.add("compaction")
    management = load(members.get("context_management", b"{}"))
    edits = management.get("edits") if isinstance(management, dict) else None
    for edit in edits if isinstance(edits, list) else ():
        kind = edit.get("type") if isinstance(edit, dict) else None
        if isinstance(kind, str) and kind.startswith("clear_tool_uses"):
            concerns.add("clearing")
        if isinstance(kind, str) and kind.startswith("compact_"):
            concerns.add("compaction")
    return frozenset(concerns)


def _thinking(members: Mapping[str, bytes]) -> Json:
    value = load(members.get("thinking", b"null"))
    return value if isinstance(value, dict) else {}


_BILLING = b"x-anthropic-billing-header:"
"""What a client's block begins with that is another one in each request, and that is not cached."""


def _without_billing(system: bytes) -> bytes:
    if _BILLING not in system or system[:1] != b"[":
        return system
    blocks = [system[low:high] for low, high in array_spans(system)]
    return b"[" + b",".join(block for block in blocks if _BILLING not in block[:200]) + b"]"


def _may_bind_thinking(members: Mapping[str, bytes]) -> bool:
    """Whether signatures may commit to the prefix; so they may where the body names no model.

    On other clouds the address names it, and ``anthropic_version`` says that it is Claude.
    """
    name = load_text(members.get("model", b'""'))
    model = claude_model(name)
    if model is None:
        return not name and "anthropic_version" in members
    return model.may_bind_thinking


def _frozen(request: Request) -> frozenset[int]:
    """Messages with something unknown, and a last one that a server tool has paused (A18)."""
    outlines = request.outlines
    frozen = {place for place, outline in enumerate(outlines) if not outline.is_understood}
    last = len(outlines) - 1
    is_answer = last >= 0 and outlines[last].role == "assistant"
    if is_answer and b'"server_tool_use"' in request.message_bytes(last):
        frozen.add(last)
    return frozenset(frozen)


def _open_loop_start(outlines: Sequence[Outline]) -> int | None:
    """First assistant message behind the last user words, if the last word is not the model's."""
    start = len(outlines)
    for place in range(len(outlines) - 1, -1, -1):
        outline = outlines[place]
        if outline.role == "user" and outline.has_own_words:
            break
        start = place
    return start if start < len(outlines) else None


def _manual_turn(request: Request, open_loop: int | None) -> tuple[int | None, frozenset[int]]:
    """With manual thinking, the turn of an open loop starts with thinking (A13).

    Words of ours begin a new turn, so they may stand only in front of a
    message that starts with thinking.

    Returns:
        The last such message, behind which no words of ours may stand, and
        the messages before it that a kept tail may not begin with.
    """
    if open_loop is None or _thinking_mode(request.members) != "enabled":
        return None, frozenset()
    answers = [
        place
        for place in range(open_loop, len(request.outlines))
        if request.outlines[place].role == "assistant"
    ]
    starts = {place for place in answers if _starts_with_thinking(request.messages[place])}
    if not starts:
        return None, frozenset()
    last = max(starts)
    return last, frozenset(place for place in answers if place < last and place not in starts)


def _thinking_mode(members: Mapping[str, bytes]) -> str:
    value = load(members.get("thinking", b"{}"))
    mode = value.get("type") if isinstance(value, dict) else None
    return mode if isinstance(mode, str) else ""


def _starts_with_thinking(message: Message) -> bool:
    parts = message.parts
    return bool(parts) and isinstance(parts[0], Thinking)


# ------------------------------------------------------------------- encoding


def _encode_part(part: Part) -> Json | None:
    """Encode a part that has no bytes; None for what this format has no place for."""
    match part:
        case Text():
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case Thinking():
            return _encode_thinking(part)
        case ToolCall():
            arguments = Raw(_arguments_object(part.arguments))
            call_id = _wire_id(part.id)
            return {"type": "tool_use", "id": call_id, "name": part.name, "input": arguments}
        case ToolResult():
            return _encode_result(part)
        case Media():
            return _encode_media(part)
        case Opaque():
            return _encode_opaque(part)


def _wire_id(call_id: str) -> str:
    """An id as the provider takes it; one of another format may hold other characters."""
    return _NO_ID_CHARACTER.sub("_", call_id)


_NO_ID_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")


def _encode_thinking(part: Thinking) -> Json | None:
    if not part.opaque or part.signed_by not in ("", "anthropic"):
        return None  # without its own signature a thinking block is refused (A14)
    if part.is_redacted:
        return {"type": "redacted_thinking", "data": part.opaque}
    return {"type": "thinking", "thinking": part.text, "signature": part.opaque}


def _encode_result(part: ToolResult) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": _wire_id(part.call_id)}
    content = [_encode_result_block(inner) for inner in part.content if not _blank(inner)]
    if content:
        block["content"] = content
    if part.is_error:
        block["is_error"] = True
    return block


def _blank(block: ResultContent) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _encode_result_block(block: ResultContent) -> Json:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Media():
            return _encode_media(block)
        case Opaque():
            return _encode_opaque(block)


def _encode_opaque(part: Opaque) -> Json:
    """Send a block of this format as it came; what another format calls something is text here."""
    raw = part.json.encode("utf-8", "surrogateescape")
    is_own = part.kind in _OWN_OPAQUE or _leaves_whole(part.kind)
    if not is_own or not is_json(raw) or raw[:1] != b"{":
        return {"type": "text", "text": part.json}
    return {key: Raw(raw[slice(*span)]) for key, span in object_spans(raw).items()}


def _encode_media(media: Media) -> Json:
    if media.kind not in ("image", "document"):
        kind = media.media_type or media.kind
        return {"type": "text", "text": f"[{kind} that cannot be sent here]"}
    if media.data:
        source = {"type": "base64", "media_type": media.media_type, "data": media.data}
    elif media.location.startswith("file"):
        source = {"type": "file", "file_id": media.location}
    else:
        source = {"type": "url", "url": media.location}
    return {"type": media.kind, "source": source}


def _arguments_object(arguments: str) -> bytes:
    """Make a JSON object of arguments that may be none: ``input`` must be an object."""
    raw = encode_json_text(arguments.strip())
    if raw in (b"", b"null"):
        return b"{}"
    if not is_json(raw):
        return dump({"text": arguments})
    return raw if raw.startswith(b"{") else b'{"value":' + raw + b"}"


def _encode_tool(tool: Tool) -> Any:  # noqa: ANN401 - JSON, raw or not
    keys = element_keys(b"[" + encode_json_text(tool.json) + b"]")
    if "input_schema" in keys or {"type", "name"} <= keys:  # the latter: Anthropic's own tools
        return Raw(encode_json_text(tool.json))
    encoded: Json = {"name": tool.name}
    if tool.description:
        encoded["description"] = tool.description
    encoded["input_schema"] = Raw(encode_json_text(tool.schema) or b'{"type":"object"}')
    return encoded


def _leading_system(messages: Sequence[Message]) -> list[Message]:
    leading = []
    for message in messages:
        if message.role not in ("system", "developer"):
            break
        leading.append(message)
    return leading


def _encode_history(messages: Sequence[Message], setup: Setup) -> list[Json]:
    """Encode messages so that roles alternate and results come first, as A1 to A4 demand."""
    history: list[Json] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts if (block := setup.once(part, _encode_part))]
        if not blocks:
            continue
        if history and history[-1]["role"] == role:
            history[-1]["content"] += blocks
        else:
            history.append({"role": role, "content": blocks})
    for turn in history:
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    return history
