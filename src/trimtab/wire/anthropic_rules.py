"""What the Messages API demands (A1 to A22), and the walk that finds what breaks it.

A rule that no request can show is not here: thinking of the latest turn that
was altered (A12), a signature that is bound to another prefix (A14, in part),
a paused turn that was edited (A18).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

from trimtab.wire.claude_models import ClaudeModel, claude_model
from trimtab.wire.media import document_pages, image_size
from trimtab.wire.rules import Findings, Rule

__all__ = ["RULES", "check_messages"]

Json: TypeAlias = dict[str, Any]

RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "A-shape",
            "The body has a model, max_tokens and a list of messages, each with a role and content.",
            "messages: Field required",
            "Build the body as the API reference shows.",
            needs=("model", "max_tokens"),
        ),
        Rule(
            "A1",
            "The first message is the user's; a compaction block may come first instead.",
            'messages: first message must use the "user" role',
            "Start the history with a user message.",
        ),
        Rule(
            "A2",
            "Every tool_use is answered in the next message.",
            "`tool_use` ids were found without `tool_result` blocks immediately after. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
            "Answer the call in the next user message, with is_error if it never ran.",
        ),
        Rule(
            "A3",
            "Every tool_result answers a tool_use of the message before it, once.",
            "unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block "
            "must have a corresponding `tool_use` block in the previous message.",
            "Remove the result, or put its call back in front of it.",
        ),
        Rule(
            "A4",
            "The results of a turn stand in one user message, before anything else in it.",
            "Did not find tool_result blocks at the beginning of this message",
            "Put tool_result blocks first.",
        ),
        Rule(
            "A5",
            "The ids of tool_use blocks are unique in a request.",
            "`tool_use` ids must be unique",
            "Give each call an id of its own.",
        ),
        Rule(
            "A6",
            "A history with tool blocks needs `tools`.",
            "Requests which include tool_use or tool_result blocks must define tools",
            "Send the tools along; switch them off with tool_choice none.",
            needs=("tools",),
        ),
        Rule(
            "A7",
            "No message and no text block is empty or blank; a final assistant message may be empty.",
            "text content blocks must be non-empty",
            "Remove the block, or the message.",
        ),
        Rule(
            "A8",
            "cache_control stands on no thinking block and on no empty text.",
            "cache_control cannot be set for empty text blocks",
            "Move the marker to the block before.",
        ),
        Rule(
            "A9",
            "There are at most 4 cache markers; an automatic one counts.",
            "A maximum of 4 blocks with cache_control may be provided.",
            "Keep the last markers and remove the others.",
        ),
        Rule(
            "A10",
            "A cache marker with a longer life stands before one with a shorter.",
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
            "Put the 1h markers first, in the order tools, system, messages.",
        ),
        Rule(
            "A11",
            "A final assistant message does not end in white space; from 4.6 on there is none.",
            "final assistant content cannot end with trailing whitespace / This model does not "
            "support assistant message prefill. The conversation must end with a user message.",
            "Remove the prefill, or what trails it.",
        ),
        Rule(
            "A13",
            "With manual thinking, the assistant turn of an open tool loop starts with thinking.",
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block",
            "Keep the thinking block that came with the call.",
        ),
        Rule(
            "A14",
            "A thinking block has its signature.",
            "Invalid `signature` in `thinking` block",
            "Send the block as it came, or remove the whole block.",
        ),
        Rule(
            "A15",
            "A system message inside the conversation stands behind a user turn, holds text, and "
            "is last or followed by an assistant message; the model must know it.",
            "role 'system' is not supported on this model",
            "Move it behind the user's turn; never between a call and its result.",
        ),
        Rule(
            "A16",
            "A server tool's call and its result stand in the same assistant turn.",
            "`web_search` tool use was found without a corresponding `web_search_tool_result` block",
            "Keep both or remove both.",
        ),
        Rule(
            "A17",
            "While a server tool's call is unanswered, the next user message carries only results.",
            "`web_search` tool use was found without a corresponding `web_search_tool_result` block",
            "Send the client tools' results alone; add words in the next turn.",
        ),
        Rule(
            "A19",
            "The result of a toolset's member repeats its toolset_name.",
            "",
            "Copy toolset_name from the call.",
        ),
        Rule(
            "A20",
            "There are at most 100,000 messages, and the body is at most 32 MB.",
            "request_too_large",
            "Remove images and documents, or use file ids.",
        ),
        Rule(
            "A21",
            "There are at most 600 images and pages (100 where the window is 200k); with more than "
            "20 images none is larger than 2,000 pixels a side.",
            "image_dimensions_too_large",
            "Remove old images, or send them smaller.",
        ),
        Rule(
            "A22",
            "There is no key that the API does not know.",
            "Extra inputs are not permitted",
            "Remove the key; a response's own fields do not go back.",
        ),
        Rule(
            "A-role",
            "A block stands in a message whose role may carry it, and the role is one of three.",
            'messages: Unexpected role. The allowed roles are "user" or "assistant"',
            "Calls and thinking go into assistant messages, results and media into user messages.",
        ),
        Rule(
            "A-input",
            "The input of a tool_use is an object.",
            "tool_use.input: Input should be a valid dictionary",
            "Parse the arguments before you send them.",
        ),
        Rule(
            "A-name",
            "Tool names and ids are made of letters, digits, _ and -.",
            "String should match pattern '^[a-zA-Z0-9_-]+$'",
            "Rename the tool or the id.",
        ),
        Rule(
            "A-compaction-empty",
            "A compaction block is not empty.",
            "compaction: content must be non-empty",
            "Remove the block; it summarises nothing.",
        ),
        Rule(
            "A-thinking",
            "The thinking parameter is one that the model takes, with a budget of 1,024 or more "
            "and below max_tokens.",
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
            "Use adaptive from 4.7 on, enabled up to 4.5.",
        ),
        Rule(
            "A-tool-choice",
            "The newest models take no tool_choice of type any or tool.",
            'tool_choice: type "tool" and "any" are not supported for this model.',
            "Use auto and say in words which tool is wanted.",
        ),
    )
}
"""What the Messages API demands and a request can show."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MAX_MESSAGES = 100_000
_MAX_BODY_BYTES = 32 * 1024 * 1024
_MAX_MARKERS = 4
_MAX_PICTURES = 600
_MAX_PICTURES_SMALL = 100
_MANY_IMAGES = 20
_MANY_IMAGES_MAX_PIXELS = 2000

_ALWAYS_THINKS_HARD = ("opus", (5, 0))
"""The model that takes `thinking: disabled`, but not at its two highest efforts."""

_CARRIER = {
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "mcp_tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
    "search_result": "user",
    "container_upload": "user",
}
"""Which role alone may carry a block."""

_NOT_IN_SYSTEM = frozenset(("document", "compaction"))
"""Blocks that both others may carry, but not a system message inside the conversation."""

_MESSAGE_KEYS = frozenset(("role", "content", "output_config", "clear_at"))
_MARK = "cache_control"
_COMMON = frozenset(("type", _MARK))
_BLOCK_KEYS = {
    "text": _COMMON | {"text", "citations"},
    "thinking": _COMMON | {"thinking", "signature"},
    "redacted_thinking": _COMMON | {"data"},
    "tool_use": _COMMON | {"id", "name", "input", "caller", "toolset_name"},
    "tool_result": _COMMON | {"tool_use_id", "content", "is_error", "toolset_name"},
    "image": _COMMON | {"source", "transformations"},
    "compaction": _COMMON | {"content", "encrypted_content", "signature", "tool_changes"},
}
"""Keys of the blocks that are as old as the API; newer ones may grow some (A22)."""


_ROLES = ("user", "assistant", "system")


def check_messages(body: Json, findings: Findings) -> None:
    """Note every rule that a decoded body breaks."""
    _check_parameters(body, findings)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        findings.add("A-shape", "messages", "there is no list of messages, or it is empty")
        return
    markers = _Markers(findings)
    markers.collect_envelope(body)
    walk = _Walk(body, findings, markers)
    walk.run(messages)
    markers.judge(body)
    if findings.size_bytes > _MAX_BODY_BYTES:
        findings.add("A20", "", f"the body has {findings.size_bytes} bytes")


# ----------------------------------------------------------------- parameters


def _check_parameters(body: Json, findings: Findings) -> None:
    for key, kind in (("model", str), ("max_tokens", int)):
        if not isinstance(body.get(key), kind):
            findings.add("A-shape", key, f"{key} is missing or of the wrong type")
    system = body.get("system")
    for place, block in enumerate(system if isinstance(system, list) else ()):
        if isinstance(block, dict) and block.get("type") == "text" and _is_blank(block.get("text")):
            findings.add("A7", f"system[{place}]", "the text is empty or blank")
    model = claude_model(str(body.get("model", "")))
    _check_thinking(body, model, findings)
    tools = body.get("tools")
    for place, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and tool.get("type") in (None, "custom"):
            _check_tool_name(f"tools[{place}].name", tool.get("name"), findings)
    choice = body.get("tool_choice")
    is_forced = isinstance(choice, dict) and choice.get("type") in ("any", "tool")
    if is_forced and model is not None and model.refuses_forced_tool:
        findings.add("A-tool-choice", "tool_choice", "this model chooses for itself")


def _check_tool_name(path: str, name: object, findings: Findings) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        findings.add("A-name", path, f"{name!r} is no tool name")


def _check_thinking(body: Json, model: ClaudeModel | None, findings: Findings) -> None:
    thinking = body.get("thinking")
    if not isinstance(thinking, dict):
        return
    mode, budget, room = thinking.get("type"), thinking.get("budget_tokens"), body.get("max_tokens")
    if model is not None:
        refused = {
            "enabled": model.refuses_manual_thinking,
            "adaptive": model.refuses_adaptive_thinking,
            "disabled": model.refuses_disabled_thinking or _is_effort_too_high(body, model),
        }
        if refused.get(str(mode)):
            findings.add("A-thinking", "thinking.type", f"this model does not take {mode!r}")
    if not isinstance(budget, int) or not isinstance(room, int):
        return
    if mode == "enabled" and not 1024 <= budget < room:
        told = f"{budget} does not lie between 1,024 and max_tokens ({room})"
        findings.add("A-thinking", "thinking.budget_tokens", told)


def _is_effort_too_high(body: Json, model: ClaudeModel) -> bool:
    """Whether the effort is one at which this model cannot be told not to think."""
    config = body.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    return (model.family, model.version) == _ALWAYS_THINKS_HARD and effort in ("xhigh", "max")


# --------------------------------------------------------------- cache markers


class _Markers:
    """The cache markers of a request, in the order in which they count."""

    def __init__(self, findings: Findings) -> None:
        self._add = findings.add
        self._found: list[tuple[str, str]] = []  # where, and how long it lives

    def collect_envelope(self, body: Json) -> None:
        for key in ("tools", "system"):
            blocks = body.get(key)
            for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
                if isinstance(block, dict):
                    self.collect(f"{key}[{place}]", block)

    def collect(self, path: str, block: Json) -> None:
        marker = block.get(_MARK)
        if not isinstance(marker, dict):
            return
        self._found.append((path, str(marker.get("ttl") or "5m")))
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            self._add("A8", path, f"a marker cannot stand on {kind}")
        elif kind == "text" and _is_blank(block.get("text")):
            self._add("A8", path, "a marker cannot stand on empty text")

    def judge(self, body: Json) -> None:
        count = len(self._found) + isinstance(body.get(_MARK), dict)
        if count > _MAX_MARKERS:
            self._add("A9", _MARK, f"there are {count} cache markers")
        for (_, before), (path, behind) in pairwise(self._found):
            if before == "5m" and behind == "1h":
                self._add("A10", path, "a marker of 1h stands behind one of 5m")


# -------------------------------------------------------------------- messages


class _Turn:
    """Messages of one role in a row: the API takes them for one.

    Attributes:
        role: Who speaks; empty before the first.
        calls: Calls made in it, by id: where, and the block.
        answered: Calls of the turn before that it answers.
        server_calls: Calls to server tools without a result so far: where.
        has_words: Whether anything but results was in it so far.
    """

    __slots__ = ("answered", "calls", "has_words", "role", "server_calls")

    def __init__(self, role: str = "") -> None:
        self.role = role
        self.calls: dict[str, tuple[str, Json]] = {}
        self.answered: set[str] = set()
        self.server_calls: dict[str, str] = {}
        self.has_words = False


class _Walk:
    """One walk through the messages, turn by turn."""

    def __init__(self, body: Json, findings: Findings, markers: _Markers) -> None:
        self._body = body
        self._findings = findings
        self._add = findings.add
        self._markers = markers
        self._model = claude_model(str(body.get("model", "")))
        self._before = _Turn()
        self._turn = _Turn()
        self._late_calls: dict[str, str] = {}  # to server tools, answered in the next answer
        self._seen_calls: set[str] = set()
        self._has_tool_blocks = False
        self._pictures = 0
        self._large_pictures: list[str] = []
        self._blocks: dict[str, Callable[[str, Json], None]] = {
            "text": self._text,
            "tool_use": self._call,
            "thinking": self._thinking,
            "image": self._media,
            "document": self._media,
            "compaction": self._compaction,
            "server_tool_use": self._server_call,
            "mcp_tool_use": self._server_call,
        }

    def run(self, messages: list[Any]) -> None:
        self._check_first(messages[0])
        for place, message in enumerate(messages):
            self._message(f"messages[{place}]", message, place, messages)
        self._end_turn(is_last=True)
        self._check_end(messages)
        self._check_totals(messages)

    def _check_first(self, message: Any) -> None:  # noqa: ANN401 - JSON
        match message:
            case {"role": "user"} | {"content": [{"type": "compaction"}, *_]}:
                return
            case {"role": role}:
                self._add("A1", "messages[0]", f"the first message is of role {role!r}")

    def _message(self, path: str, message: Any, place: int, messages: list[Any]) -> None:  # noqa: ANN401 - JSON
        role = message.get("role") if isinstance(message, dict) else None
        if not isinstance(message, dict):
            self._add("A-shape", path, "a message is an object")
        elif role not in _ROLES:
            self._add("A-role", f"{path}.role", f"there is no role {role!r}")
        else:
            self._unknown_keys(path, message, _MESSAGE_KEYS, "message")
            if role != self._turn.role:
                self._end_turn()
                self._turn.role = role
            if role == "system":
                self._mid_system(path, place, messages)
            may_be_empty = role == "assistant" and place == len(messages) - 1
            self._content(path, message.get("content"), role, may_be_empty=may_be_empty)

    def _content(self, path: str, content: Any, role: str, *, may_be_empty: bool) -> None:  # noqa: ANN401 - JSON
        if isinstance(content, str):
            self._turn.has_words = True
            if not may_be_empty and _is_blank(content):
                self._add("A7", f"{path}.content", "the content is empty or blank")
        elif isinstance(content, list):
            if not may_be_empty and not content:
                self._add("A7", f"{path}.content", "the content is empty")
            for number, block in enumerate(content):
                self._block(f"{path}.content[{number}]", block, role)
        else:
            self._add("A-shape", f"{path}.content", "content is a string or a list of blocks")

    def _mid_system(self, path: str, place: int, messages: list[Any]) -> None:
        if place == 0:
            return  # A1 has said it
        if self._model is not None and self._model.refuses_mid_system:
            self._add("A15", path, "this model takes no system message inside the conversation")
        if self._before.calls:
            self._add("A15", path, "it stands between a call and its result")
            return
        before, behind = messages[place - 1], messages[place + 1 : place + 2]
        if _role(before) == "assistant" and not _ends_with_server_result(before):
            self._add("A15", path, "it stands behind an assistant message")
        if behind and _role(behind[0]) != "assistant":
            self._add("A15", path, "no assistant message follows it")

    # ------------------------------------------------------------- blocks

    def _block(self, path: str, block: Any, role: str) -> None:  # noqa: ANN401 - JSON
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            self._add("A-shape", path, "a block is an object with a type")
            return
        if _CARRIER.get(kind, role) != role or (role == "system" and kind in _NOT_IN_SYSTEM):
            self._add("A-role", path, f"a message of role {role!r} cannot carry {kind}")
        known = _BLOCK_KEYS.get(kind)
        if known is not None:
            self._unknown_keys(path, block, known, f"{kind} block")
        if _MARK in block:
            self._markers.collect(path, block)
        if kind == "tool_result":
            self._result(path, block)
            return
        self._turn.has_words = True
        if kind.endswith("_tool_result"):
            self._server_result(path, block)
        elif kind in self._blocks:
            self._blocks[kind](path, block)

    def _unknown_keys(self, path: str, value: Json, known: frozenset[str], what: str) -> None:
        if not value.keys() <= known:
            for key in sorted(value.keys() - known):
                self._add("A22", f"{path}.{key}", f"a {what} has no {key!r}")

    def _text(self, path: str, block: Json) -> None:
        if _is_blank(block.get("text")):
            self._add("A7", path, "the text is empty or blank")

    def _thinking(self, path: str, block: Json) -> None:
        if not block.get("signature"):
            self._add("A14", path, "the thinking block has no signature")

    def _compaction(self, path: str, block: Json) -> None:
        if block.get("content") == "":
            self._add("A-compaction-empty", path, "the compaction block is empty")

    def _call(self, path: str, block: Json) -> None:
        self._has_tool_blocks = True
        call_id = block.get("id")
        _check_tool_name(f"{path}.name", block.get("name"), self._findings)
        if not isinstance(block.get("input"), dict):
            self._add("A-input", f"{path}.input", "the input is not an object")
        if not isinstance(call_id, str) or not _ID.fullmatch(call_id):
            self._add("A-name", f"{path}.id", f"{call_id!r} is no id")
            return
        if call_id in self._seen_calls:
            self._add("A5", f"{path}.id", f"the id {call_id} stands there twice")
        self._seen_calls.add(call_id)
        self._turn.calls[call_id] = (path, block)

    def _result(self, path: str, block: Json) -> None:
        self._has_tool_blocks = True
        call_id, turn = block.get("tool_use_id"), self._turn
        call = self._before.calls.get(call_id) if isinstance(call_id, str) else None
        if call is None:
            self._add("A3", path, f"no call {call_id!r} in the assistant turn before it")
        elif call_id in turn.answered:
            self._add("A3", path, f"{call_id} is answered a second time")
        else:
            turn.answered.add(str(call_id))
            if turn.has_words:
                self._add("A4", path, "something else stands before it in its turn")
            if call[1].get("toolset_name") != block.get("toolset_name"):
                self._add("A19", path, "toolset_name is not that of the call")
        content = block.get("content")
        for number, inner in enumerate(content if isinstance(content, list) else ()):
            self._inside_result(f"{path}.content[{number}]", inner)

    def _inside_result(self, path: str, block: Any) -> None:  # noqa: ANN401 - JSON
        if not isinstance(block, dict):
            self._add("A-shape", path, "a block is an object")
            return
        if _MARK in block:
            self._markers.collect(path, block)
        if block.get("type") in ("text", "image", "document"):
            self._blocks[block["type"]](path, block)

    def _server_call(self, path: str, block: Json) -> None:
        self._turn.server_calls[str(block.get("id"))] = path

    def _server_result(self, path: str, block: Json) -> None:
        call_id, turn = str(block.get("tool_use_id")), self._turn
        if call_id in turn.server_calls:
            del turn.server_calls[call_id]
        elif turn.role != "assistant" or self._late_calls.pop(call_id, None) is None:
            self._add("A16", path, "there is no call for it in this assistant turn")

    def _media(self, path: str, block: Json) -> None:
        source = block.get("source")
        data = source.get("data") if isinstance(source, dict) else None
        if block.get("type") == "document":
            self._pictures += document_pages(data) if isinstance(data, str) else 0
            return
        self._pictures += 1
        if isinstance(data, str) and max(image_size(data)) > _MANY_IMAGES_MAX_PIXELS:
            self._large_pictures.append(path)

    # -------------------------------------------------------------- turns

    def _end_turn(self, *, is_last: bool = False) -> None:
        """Close the turn under way: what it had to answer, and what must be answered next."""
        turn, before = self._turn, self._before
        if turn.role in ("user", "system"):
            for call_id, (path, _) in before.calls.items():
                if call_id not in turn.answered:
                    self._add("A2", path, f"{call_id} is not answered in the next message")
        if turn.role == "user" and turn.has_words and before.calls:  # else A16 has said it
            for path in before.server_calls.values():
                self._add("A17", path, "words follow although its result has not come")
        if turn.role == "assistant":
            self._end_answer(turn, is_last=is_last)
        self._before, self._turn = turn, _Turn()

    def _end_answer(self, turn: _Turn, *, is_last: bool) -> None:
        # Beside calls of the client's the provider waits for their results, then runs its own.
        self._late_calls = turn.server_calls if turn.calls else {}
        if is_last:
            for call_id, (path, _) in turn.calls.items():
                self._add("A2", path, f"{call_id} is not answered: the history ends here")
        elif not turn.calls:
            for path in turn.server_calls.values():
                self._add("A16", path, "its result does not stand in the same turn")

    # ---------------------------------------------------------------- end

    def _check_end(self, messages: list[Any]) -> None:
        last = messages[-1]
        if _role(last) == "assistant":
            self._prefill(last.get("content"), f"messages[{len(messages) - 1}]")
            return
        thinking = self._body.get("thinking")
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            self._loop_start(messages)

    def _prefill(self, content: Any, path: str) -> None:  # noqa: ANN401 - JSON
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        kinds = [block.get("type") if isinstance(block, dict) else None for block in blocks]
        if not kinds or kinds[-1] != "text" or "server_tool_use" in kinds:
            return  # a call that A2 has named, or a paused turn, sent back as it came (A18)
        text = blocks[-1].get("text")
        if self._model is not None and self._model.refuses_prefill:
            self._add("A11", path, "this model takes no prefill")
        elif isinstance(text, str) and text != text.rstrip():
            self._add("A11", path, "the prefill ends in white space")

    def _loop_start(self, messages: list[Any]) -> None:
        """With manual thinking, the open loop's first assistant message starts with it (A13)."""
        start: tuple[int, object] | None = None
        for place in range(len(messages) - 1, -1, -1):
            content = messages[place].get("content") if isinstance(messages[place], dict) else None
            if not isinstance(content, list):
                break
            kinds = [block.get("type") for block in content if isinstance(block, dict)]
            if _role(messages[place]) == "user" and any(kind != "tool_result" for kind in kinds):
                break
            if _role(messages[place]) == "assistant":
                start = (place, kinds[0] if kinds else None)
        if start is not None and start[1] not in ("thinking", "redacted_thinking"):
            self._add("A13", f"messages[{start[0]}].content[0]", f"it starts with {start[1]}")

    def _check_totals(self, messages: list[Any]) -> None:
        if self._has_tool_blocks and not self._body.get("tools"):
            self._add("A6", "tools", "the history has tool blocks, and no tools are defined")
        if len(messages) > _MAX_MESSAGES:
            self._add("A20", "messages", f"there are {len(messages)} messages")
        has_small_window = self._model is not None and self._model.has_small_window
        most = _MAX_PICTURES_SMALL if has_small_window else _MAX_PICTURES
        if self._pictures > most:
            self._add("A21", "messages", f"{self._pictures} images and pages, {most} fit")
        if self._pictures > _MANY_IMAGES:
            for path in self._large_pictures:
                self._add("A21", path, f"over 2,000 pixels a side, among {self._pictures} images")


def _role(message: Any) -> object:  # noqa: ANN401 - JSON
    return message.get("role") if isinstance(message, dict) else None


def _is_blank(text: object) -> bool:
    return not isinstance(text, str) or not text or text.isspace()


def _ends_with_server_result(message: Json) -> bool:
    content = message.get("content")
    last = content[-1] if isinstance(content, list) and content else None
    kind = last.get("type") if isinstance(last, dict) else None
    return isinstance(kind, str) and kind.endswith("_tool_result")
