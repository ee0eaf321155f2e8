"""What Responses demands (R1 to R11), and the walk that finds what breaks it.

What only the provider can know is not shown by a request and is not here:
whether encrypted content is its own (R6) and whether a stored response is
still there (R7). Of R4 a request shows as much as this: an item with an id
before which the turn has no reasoning at all, of a model that reasons before
each answer. Models that reason only when they are asked to (gpt-5.1 to 5.5,
whose answers often came without) are held to it where the request asks them;
models that are not OpenAI's are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from trimtab.wire.rules import Findings, Rule

__all__ = [
    "CALLS",
    "INPUT_KINDS",
    "RESULTS",
    "RULES",
    "call_id_of",
    "check_responses",
    "does_reason",
    "has_reasoned",
    "kind_of",
    "lacks_reasoning",
    "pending_calls",
]

Json: TypeAlias = dict[str, Any]

CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "computer_call": "action",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}
"""Items that call a tool of the client's, and where each says with what."""

RESULTS = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "computer_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "tool_search_output": "tools",
}
"""Items that answer a call, and where each says what came of it."""

INPUT_KINDS = frozenset(
    (*RESULTS, "mcp_approval_response", "additional_tools", "configuration_update")
)
"""Items that the client makes, so that none of them is what reasoning has led to."""

RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "R-shape",
            "The body has a model, and an input: a string, or a list of items that each have a "
            "type or a role.",
            "Missing required parameter: 'input'.",
            "Build the body as the API reference shows.",
            needs=("model", "prompt"),
        ),
        Rule(
            "R1",
            "Every call has its output later in the input, unless it is the very last thing.",
            "No tool output found for function call call_…",
            "Answer each call, with an error text if it never ran.",
        ),
        Rule(
            "R2",
            "Every output answers a call earlier in the input, or in the previous response.",
            "No tool call found for function call output with call_id call_…",
            "Remove the output, or put its call back in front of it.",
            needs=("previous_response_id", "conversation"),
        ),
        Rule(
            "R3",
            "A reasoning item with an id is followed by the item that it led to.",
            "Item 'rs_…' of type 'reasoning' was provided without its required following item.",
            "Put the item back behind it, or remove the reasoning as well.",
        ),
        Rule(
            "R4",
            "A call or an answer with an id that followed reasoning stands behind that reasoning.",
            "Item 'fc_…' of type 'function_call' was provided without its required 'reasoning' "
            "item: 'rs_…'.",
            "Put the reasoning back, or remove the id.",
            needs=("model", "reasoning"),
        ),
        Rule(
            "R5",
            "With store: false, a reasoning item with an id brings its encrypted_content.",
            "Item with id 'rs_…' not found. Items are not persisted when `store` is set to false. "
            "Try again with `store` set to true, or remove this item from your input.",
            "Ask for reasoning.encrypted_content in `include`, and send it back.",
        ),
        Rule(
            "R8",
            "previous_response_id and conversation are not sent together.",
            "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.",
            "Send one of them.",
        ),
        Rule(
            "R9",
            "A call has a call_id, a name and arguments in a string; an output has a call_id and "
            "an output, which may be an empty string.",
            "Invalid type for 'input[N].arguments': expected a string, but got an object instead.",
            "Send arguments as the string that the model wrote.",
        ),
        Rule(
            "R10",
            "A compaction item is sent back as it came, and a compaction_trigger is the last item.",
            "Missing required parameter: 'input[N].encrypted_content'.",
            "Keep the item whole; put the trigger at the end.",
        ),
        Rule(
            "R11",
            "prompt_cache_breakpoint stands only on input_text, input_image and input_file.",
            "Unknown parameter: 'input[N].content[0].prompt_cache_breakpoint'.",
            "Move it onto a part of the input.",
        ),
        Rule(
            "R-content",
            "Content is a string or a list of parts that the role can say: input_* for what goes "
            "in, output_text and refusal for the assistant.",
            "Invalid value: 'text'. Supported values are: 'input_text', 'input_image', and "
            "'input_file'.",
            "Name the parts as Responses does.",
        ),
        Rule(
            "R-name",
            "Names of functions are letters, digits, _ and -.",
            "Invalid 'tools[0].name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            "Rename the tool.",
        ),
    )
}
"""What Responses demands and a request can show."""

_NAME = re.compile(r"[a-zA-Z0-9_-]+")

_THINKS_NOT = re.compile(r"(?:.*/)?(?:ft:)?(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)")
"""Models of OpenAI's that never reason, so that an id says nothing about reasoning."""

_OPENAI = re.compile(r"(?:.*/)?(?:ft:)?(?:o\d|gpt-\d|codex-)")
"""Ids of models of OpenAI's."""

_THINKS_WHEN_ASKED = re.compile(r"(?:.*/)?(?:ft:)?gpt-5\.[1-5](?!\d)(?!-(?:codex|pro))")
"""Models that do not reason, or not always, where the request names no effort."""

_INPUT_PARTS = frozenset(("input_text", "input_image", "input_file"))
_OUTPUT_PARTS = frozenset(("output_text", "refusal"))
_CHAT_PARTS = frozenset(("text", "image_url", "file"))
_ROLES = frozenset(("user", "system", "developer", "assistant"))

_MUST_TELL = frozenset(("computer_call_output", "local_shell_call_output", "shell_call_output"))
"""Outputs of other shapes that cannot be left out. A patch may be applied without a word."""

_OTHER_ANSWERS = {
    "local_shell_call": ("function_call_output",),  # as Codex answers it
    "tool_search_call": ("tool_search_output",),
}
"""Where an output is not named after its call."""


def kind_of(item: Json) -> str:
    """The type of an item; what has none but a role is a message."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    return "message" if kind is None and "role" in item else ""


def call_id_of(item: Json) -> str:
    """The id by which a call and its output belong together; empty where there is none."""
    call_id = item.get("call_id")
    if call_id is None and kind_of(item).startswith("local_shell_call"):
        call_id = item.get("id")
    return call_id if isinstance(call_id, str) else ""


def pending_calls(items: Sequence[Any]) -> int:
    """The place from which on there is nothing but calls: they are still being run."""
    place = len(items)
    while place and isinstance(items[place - 1], dict) and kind_of(items[place - 1]) in CALLS:
        place -= 1
    return place


def does_reason(body: Json) -> bool:
    """Whether answers of this request's model may have reasoning before them."""
    reasoning, model = body.get("reasoning"), body.get("model")
    if isinstance(reasoning, dict) and reasoning.get("effort") in ("none", "minimal"):
        return False
    return not (isinstance(model, str) and _THINKS_NOT.match(model))


def has_reasoned(body: Json) -> bool:
    """Whether every answer of this request's model had reasoning before it, as far as can be known."""
    reasoning, model = body.get("reasoning"), body.get("model")
    if not does_reason(body) or not (isinstance(model, str) and _OPENAI.match(model)):
        return False
    asked = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return asked is not None or not _THINKS_WHEN_ASKED.match(model)


def lacks_reasoning(items: Sequence[Any]) -> list[int]:
    """Places of calls and answers with an id before which their turn has no reasoning.

    What the user, the system or the developer says begins a turn.
    """
    lacking: list[int] = []
    has_reasoning = False
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = kind_of(item)
        if kind == "message" and item.get("role") != "assistant":
            has_reasoning = False
        elif kind == "reasoning":
            has_reasoning = True
        elif (kind == "message" or kind in CALLS) and _has_own_id(item) and not has_reasoning:
            lacking.append(place)
    return lacking


def _has_own_id(item: Json) -> bool:
    """Whether an item has an id that is not the one by which its output finds it."""
    return bool(item.get("id")) and not ("call_id" not in item and call_id_of(item))


def check_responses(body: Json, findings: Findings) -> None:
    """Note every rule that a decoded body breaks."""
    _Walk(body, findings).run()


class _Walk:
    """One walk through a decoded body."""

    def __init__(self, body: Json, findings: Findings) -> None:
        self.body = body
        self.add = findings.add
        self.awaited: dict[str, int] = {}  # call id: where it was called
        self.called: dict[str, str] = {}  # call id: kind of the call
        self.has_all = not self._lies_on_server()

    def _lies_on_server(self) -> bool:
        """Whether part of the history is not in the request."""
        body, items = self.body, self.body.get("input")
        refers = any(
            isinstance(item, dict) and kind_of(item) == "item_reference"
            for item in (items if isinstance(items, list) else ())
        )
        return refers or _is_sent(body, "previous_response_id") or _is_sent(body, "conversation")

    def run(self) -> None:
        body = self.body
        if not isinstance(body.get("model"), str) and body.get("prompt") is None:
            self.add("R-shape", "model", "the model is missing")
        if _is_sent(body, "previous_response_id") and _is_sent(body, "conversation"):
            self.add("R8", "conversation", "previous_response_id is there as well")
        self._check_tools(body.get("tools"))
        items = body.get("input")
        if isinstance(items, list) and items:
            self._check_items(items)
        elif not isinstance(items, str) and self.has_all and body.get("prompt") is None:
            self.add("R-shape", "input", "there is no input, or it is empty")

    def _check_tools(self, tools: object) -> None:
        for place, tool in enumerate(tools if isinstance(tools, list) else ()):
            if isinstance(tool, dict) and tool.get("type") == "function":
                self._check_name(f"tools[{place}]", tool)

    def _check_name(self, path: str, named: Json) -> None:
        name = named.get("name")
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            self.add("R-name", f"{path}.name", f"{name!r} is no function name")

    def _check_items(self, items: Sequence[Any]) -> None:
        for place, item in enumerate(items):
            if not isinstance(item, dict) or not kind_of(item):
                self.add("R-shape", f"input[{place}]", "an item has a type or a role")
                continue
            self._check_item(place, item, items)
        if not self.has_all:
            return
        pending = pending_calls(items)
        for call_id, place in self.awaited.items():
            if place < pending:
                self.add("R1", f"input[{place}]", f"{call_id} is not answered behind it")
        for place in lacks_reasoning(items) if has_reasoned(self.body) else ():
            told = f"{items[place]['id']!r} has an id, and no reasoning before it"
            self.add("R4", f"input[{place}]", told)

    def _check_item(self, place: int, item: Json, items: Sequence[Any]) -> None:
        path, kind = f"input[{place}]", kind_of(item)
        if "prompt_cache_breakpoint" in item:
            self.add("R11", path, "it stands on an item, not on a part of the input")
        if kind == "message":
            self._check_message(path, item)
        elif kind == "reasoning":
            self._check_reasoning(place, item, items)
        elif kind in CALLS:
            self._check_call(place, item)
        elif kind in RESULTS:
            self._check_result(path, item)
        elif kind == "compaction" and not isinstance(item.get("encrypted_content"), str):
            self.add("R10", path, "encrypted_content is missing")
        elif kind == "compaction_trigger" and place < len(items) - 1:
            self.add("R10", path, "items stand behind the trigger")

    def _check_message(self, path: str, item: Json) -> None:
        role, content = item.get("role"), item.get("content")
        if role not in _ROLES:
            self.add("R-shape", f"{path}.role", f"there is no role {role!r}")
            return
        if isinstance(content, str):
            return
        if not isinstance(content, list):
            self.add("R-content", f"{path}.content", "content is a string or a list of parts")
            return
        refused = _INPUT_PARTS if role == "assistant" else _OUTPUT_PARTS
        self._check_parts(f"{path}.content", content, refused)

    def _check_parts(self, path: str, parts: Sequence[Any], refused: frozenset[str]) -> None:
        for place, part in enumerate(parts):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(kind, str):
                self.add("R-content", f"{path}[{place}]", "a part has a type")
                continue
            if kind in refused or kind in _CHAT_PARTS:
                self.add("R-content", f"{path}[{place}]", f"{kind} cannot stand here")
            if "prompt_cache_breakpoint" in part and kind in _OUTPUT_PARTS:
                self.add("R11", f"{path}[{place}]", f"it stands on {kind}")

    def _check_reasoning(self, place: int, item: Json, items: Sequence[Any]) -> None:
        if not item.get("id"):
            return
        path = f"input[{place}]"
        if not _leads_on(items, place):
            self.add("R3", path, "what it led to does not follow it")
        has_content = item.get("encrypted_content") or item.get("content")
        if self.body.get("store") is False and not has_content:
            self.add("R5", path, "it has an id and no encrypted_content, and nothing is stored")

    def _check_call(self, place: int, item: Json) -> None:
        path, kind, call_id = f"input[{place}]", kind_of(item), call_id_of(item)
        if call_id:
            self.awaited[call_id] = place
            self.called[call_id] = kind
        elif kind != "tool_search_call":  # one that the server runs has none
            self.add("R9", f"{path}.call_id", "the call_id is missing")
        key = CALLS[kind]
        if kind in ("function_call", "custom_tool_call") and not isinstance(item.get(key), str):
            self.add("R9", f"{path}.{key}", f"{key} is not a string")
        if kind == "function_call":
            self._check_name(path, item)

    def _check_result(self, path: str, item: Json) -> None:
        kind, call_id = kind_of(item), call_id_of(item)
        self._check_output(path, kind, item)
        if not call_id:
            if kind != "tool_search_output":
                self.add("R9", f"{path}.call_id", "the call_id is missing")
            return
        if call_id in self.called and not answers(kind, self.called[call_id]):
            told = f"{call_id} is the id of a {self.called[call_id]}"
            self.add("R2", path, told)
            return
        if call_id not in self.called and self.has_all:
            self.add("R2", path, f"no call {call_id!r} before it")
        self.awaited.pop(call_id, None)

    def _check_output(self, path: str, kind: str, item: Json) -> None:
        if kind not in ("function_call_output", "custom_tool_call_output"):
            if kind in _MUST_TELL and item.get("output") is None:
                self.add("R9", f"{path}.output", "the output is missing")
            return
        output = item.get("output")
        if isinstance(output, list):
            self._check_parts(f"{path}.output", output, _OUTPUT_PARTS)
        elif not isinstance(output, str):
            self.add("R9", f"{path}.output", "output is a string or a list of parts")


def answers(result: str, call: str) -> bool:
    """Whether an output of one kind can answer a call of another."""
    return result == f"{call}_output" or result in _OTHER_ANSWERS.get(call, ())


def _leads_on(items: Sequence[Any], place: int) -> bool:
    """Whether something that a model can have made follows reasoning."""
    for item in items[place + 1 :]:
        kind = kind_of(item) if isinstance(item, dict) else ""
        if kind == "message":
            return bool(item.get("role") == "assistant")
        if kind != "reasoning":
            return kind not in INPUT_KINDS
    return False


def _is_sent(body: Json, key: str) -> bool:
    return body.get(key) is not None
