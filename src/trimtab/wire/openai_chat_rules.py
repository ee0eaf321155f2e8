"""What Chat Completions demands (C1 to C7), and the walk that finds what breaks it.

What depends on the server behind the address (C8 to C11: strict role
alternation, ids of nine characters, window arithmetic) is not shown by a
request and is not here.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from trimtab.errors import MalformedBodyError
from trimtab.wire.json_spans import load
from trimtab.wire.rules import Findings, Rule

__all__ = ["RULES", "check_chat"]

Json: TypeAlias = dict[str, Any]

RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "C-shape",
            "The body has a model and a list of messages, each an object with a known role.",
            "Missing required parameter: 'messages'.",
            "Build the body as the API reference shows.",
            needs=("model",),
        ),
        Rule(
            "C1",
            "An assistant message with tool_calls is followed at once by one tool message per id.",
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages",
            "Answer each call directly behind it, with an error text if it never ran.",
        ),
        Rule(
            "C2",
            "A tool message answers a call of the assistant message before it.",
            "messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            "Remove the tool message, or put its call back in front of it.",
        ),
        Rule(
            "C3",
            "tool_calls is not an empty list.",
            "[] is too short - 'messages.N.tool_calls'",
            "Leave the key out.",
        ),
        Rule(
            "C4",
            "The content of an assistant message is null only beside tool_calls.",
            "Invalid value for 'content': expected a string, got null.",
            "Send an empty string.",
        ),
        Rule(
            "C5",
            "Names of tools are 1 to 64 letters, digits, _ and -.",
            "Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.",
            "Rename the tool.",
        ),
        Rule(
            "C6",
            "arguments is a string that holds JSON; an empty one stands for none.",
            "Invalid type for 'messages[N].tool_calls[0].function.arguments'",
            "Shorten values inside the JSON, never the text.",
        ),
        Rule(
            "C7",
            "stream_options is sent only with stream: true.",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "Remove stream_options.",
        ),
        Rule(
            "C-content",
            "Content is a string or a list of parts; system and tool messages hold text alone.",
            "Invalid content type. image_url is only supported by certain roles.",
            "Move media into a user message.",
        ),
    )
}
"""What Chat Completions demands and a request can show."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check_chat(body: Json, findings: Findings) -> None:
    """Note every rule that a decoded body breaks."""
    _Walk(body, findings).run()


class _Walk:
    """One walk through a decoded body."""

    def __init__(self, body: Json, findings: Findings) -> None:
        self.body = body
        self.add = findings.add
        self.awaited: dict[str, str] = {}  # call id: where it was called
        self.called: set[str] = set()  # by the assistant message before

    def run(self) -> None:
        body = self.body
        if not isinstance(body.get("model"), str):
            self.add("C-shape", "model", "the model is missing")
        if body.get("stream_options") is not None and body.get("stream") is not True:
            self.add("C7", "stream_options", "the answer is not streamed")
        self._check_tools(body.get("tools"))
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            self.add("C-shape", "messages", "there is no list of messages, or it is empty")
            return
        for place, message in enumerate(messages):
            self._check_message(f"messages[{place}]", message)
        self._end_exchange()

    def _check_tools(self, tools: object) -> None:
        for place, tool in enumerate(tools if isinstance(tools, list) else ()):
            function = tool.get("function") if isinstance(tool, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if isinstance(function, dict) and not (isinstance(name, str) and _NAME.fullmatch(name)):
                self.add("C5", f"tools[{place}].function.name", f"{name!r} is no tool name")

    def _check_message(self, path: str, message: Any) -> None:  # noqa: ANN401 - JSON
        if not isinstance(message, dict):
            self.add("C-shape", path, "a message is an object")
            return
        role = message.get("role")
        if role == "tool":
            self._check_result(path, message)
            return
        self._end_exchange()
        if role == "assistant":
            self._check_assistant(path, message)
        elif role in ("system", "developer", "user"):
            self._check_content(path, message.get("content"), text_alone=role != "user")
        elif role != "function":
            self.add("C-shape", f"{path}.role", f"there is no role {role!r}")

    def _check_result(self, path: str, message: Json) -> None:
        call_id = message.get("tool_call_id")
        if not isinstance(call_id, str) or call_id not in self.called:
            self.add("C2", path, f"no call {call_id!r} in the assistant message before it")
        self.awaited.pop(str(call_id), None)
        self._check_content(path, message.get("content"), text_alone=True)

    def _end_exchange(self) -> None:
        for call_id, path in self.awaited.items():
            self.add("C1", path, f"{call_id} is not answered directly behind it")
        self.awaited, self.called = {}, set()

    def _check_assistant(self, path: str, message: Json) -> None:
        calls, content = message.get("tool_calls"), message.get("content")
        if isinstance(calls, list):
            if not calls:
                self.add("C3", f"{path}.tool_calls", "the list is empty")
            for place, call in enumerate(calls):
                self._check_call(f"{path}.tool_calls[{place}]", call)
        speaks = calls or message.get("function_call") or message.get("refusal")
        if content is None and not speaks and not message.get("audio"):
            self.add("C4", f"{path}.content", "the content is null and there are no calls")
        elif content is not None:
            self._check_content(path, content, text_alone=True)

    def _check_call(self, path: str, call: Any) -> None:  # noqa: ANN401 - JSON
        if not isinstance(call, dict):
            self.add("C-shape", path, "a call is an object")
            return
        if isinstance(call_id := call.get("id"), str):
            self.awaited[call_id] = path
            self.called.add(call_id)
        function = call.get("function")
        if not isinstance(function, dict):
            return  # a custom tool: free text
        name, arguments = function.get("name"), function.get("arguments")
        if not (isinstance(name, str) and _NAME.fullmatch(name)):
            self.add("C5", f"{path}.function.name", f"{name!r} is no tool name")
        if not isinstance(arguments, str):
            self.add("C6", f"{path}.function.arguments", "arguments is not a string")
        elif arguments and not _is_json(arguments):
            self.add("C6", f"{path}.function.arguments", "arguments does not hold JSON")

    def _check_content(self, path: str, content: Any, *, text_alone: bool) -> None:  # noqa: ANN401 - JSON
        if isinstance(content, str):
            return
        if not isinstance(content, list):
            self.add("C-content", f"{path}.content", "content is a string or a list of parts")
            return
        for place, part in enumerate(content):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(kind, str):
                self.add("C-content", f"{path}.content[{place}]", "a part has a type")
            elif text_alone and kind in ("image_url", "input_audio", "file"):
                self.add("C-content", f"{path}.content[{place}]", f"{kind} cannot stand here")


def _is_json(text: str) -> bool:
    try:
        load(text.encode("utf-8", "surrogatepass"))
    except MalformedBodyError:
        return False
    return True
