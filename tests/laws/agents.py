"""An agent and its provider, both strict: what sends requests of a conversation for the laws.

The agent resends its history on every turn, as agents do, and does to it what
agents do: it goes on, retries, forks, rewinds, moves its cache markers,
shortens old results, changes model and tools. The provider checks every rule,
and that signed thinking stands behind what it was signed for. Nothing of the
package is used for either, but its checker of rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, TypeAlias

from tests.laws.conversations import history_of, role_of
from trimtab.wire import check

__all__ = [
    "Agent",
    "Branch",
    "GeminiAgent",
    "ResponsesAgent",
    "Sent",
    "forms_of",
    "signatures_that_fit",
]

Json: TypeAlias = dict[str, Any]

BETA = "thinking-binding-controls-2026-08-01"


@dataclass
class Branch:
    """One line of a conversation, as its client holds it.

    Attributes:
        history: The messages.
        sent: The canonical messages of the last request that was taken; None before the first.
        count: How many messages of the client those are of.
        model: The model that it asks for.
        tools: Names of its tools.
        system: Its system prompt.
        is_mended: Whether what arrives broken is mended.
        is_bound: Whether nothing was done that breaks signatures by the client's own doing.
    """

    history: list[Json]
    sent: list[str] | None = None
    count: int = 0
    model: str = ""
    tools: tuple[str, ...] = ("read", "run")
    system: str = "Be careful."
    is_mended: bool = True
    is_bound: bool = True

    def copy(self, count: int) -> Branch:
        """Another line with the same first messages."""
        return replace(self, history=[*self.history[:count]])


@dataclass
class Sent:
    """A request that was taken: how many messages of the client it held, and what was sent."""

    count: int
    forms: list[str]


@dataclass
class Agent:
    """Writes requests in one format.

    Attributes:
        format: Its name.
        model: The model to begin with.
        thinks: Whether its answers hold signed thinking.
    """

    format: str
    model: str
    thinks: bool = False
    calls: int = field(default=0)
    answers: int = field(default=0)

    @property
    def is_anthropic(self) -> bool:
        """Whether it writes Anthropic Messages."""
        return self.format == "anthropic"

    @property
    def system_is_message(self) -> bool:
        """Whether its system prompt is the first of its messages."""
        return not self.is_anthropic

    def is_words(self, message: Json) -> bool:
        """Whether a message is what the user said."""
        return message["role"] == "user" and isinstance(message["content"], str)

    def is_answer(self, message: Json) -> bool:
        """Whether a message is the model's."""
        return bool(message["role"] == "assistant")

    def start(self, words: str) -> Branch:
        """A conversation that begins."""
        return Branch([self.user(words)], model=self.model)

    def user(self, words: str) -> Json:
        """What the user says."""
        return {"role": "user", "content": words}

    def answer(self, branch: Branch, words: str) -> None:
        """The model answers in words."""
        branch.history.append(self._assistant(branch, words, []))

    def step(
        self, branch: Branch, words: str, results: list[str], *, answered: bool = True
    ) -> None:
        """The model calls tools, and they answer."""
        names = []
        for _ in results:
            self.calls += 1
            names.append(f"call_{self.calls}")
        branch.history.append(self._assistant(branch, words, names))
        if not answered:
            return
        if self.is_anthropic:
            blocks = [
                {"type": "tool_result", "tool_use_id": name, "content": result}
                for name, result in zip(names, results, strict=True)
            ]
            branch.history.append({"role": "user", "content": blocks})
        else:
            branch.history += [
                {"role": "tool", "tool_call_id": name, "content": result}
                for name, result in zip(names, results, strict=True)
            ]

    def late_result(self) -> Json:
        """What the newest call is answered with, whenever that comes."""
        name = f"call_{self.calls}"
        if self.is_anthropic:
            block = {"type": "tool_result", "tool_use_id": name, "content": "late"}
            return {"role": "user", "content": [block]}
        return {"role": "tool", "tool_call_id": name, "content": "late"}

    def _assistant(self, branch: Branch, words: str, calls: list[str]) -> Json:
        # No two answers are the same: two lines that get the same one are one line.
        self.answers += 1
        words = f"{words} {self.answers}"
        if not self.is_anthropic:
            message: Json = {"role": "assistant", "content": words}
            if calls:
                message["tool_calls"] = [
                    {
                        "id": name,
                        "type": "function",
                        "function": {"name": "read", "arguments": "{}"},
                    }
                    for name in calls
                ]
            return message
        blocks: list[Json] = []
        if self.thinks:
            signature = signed(branch.sent or [])
            blocks.append({"type": "thinking", "thinking": "hm", "signature": signature})
        blocks.append({"type": "text", "text": words})
        blocks += [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in calls]
        return {"role": "assistant", "content": blocks}

    def shorten(self, branch: Branch, place: int) -> bool:
        """The client clears an old result itself; False where the message holds none."""
        message = branch.history[place]
        if message["role"] == "tool":
            changed = {**message, "content": "[cleared]"}
        elif isinstance(message["content"], list) and message["role"] == "user":
            blocks = [
                {**block, "content": "[cleared]"} if block["type"] == "tool_result" else block
                for block in message["content"]
            ]
            changed = {**message, "content": blocks}
        else:
            return False
        if changed == message:
            return False
        branch.history[place] = changed
        branch.is_bound = False
        return True

    def body(self, branch: Branch, marked: int | None = None) -> bytes:
        """Write a request.

        Args:
            branch: The line to send.
            marked: Which of the newest messages carries the client's cache marker; None for none.
        """
        messages = list(branch.history)
        if self.is_anthropic and marked is not None and marked < len(messages):
            messages[-1 - marked] = _marked(messages[-1 - marked])
        if self.is_anthropic:
            body: Json = {
                "model": branch.model,
                "max_tokens": 64,
                "system": branch.system,
                "tools": [
                    {"name": name, "input_schema": {"type": "object"}} for name in branch.tools
                ],
                "thinking": {"type": "adaptive"} if self.thinks else {"type": "disabled"},
                "messages": messages,
            }
            if not self.thinks:
                del body["thinking"]
        else:
            body = {
                "model": branch.model,
                "messages": [{"role": "system", "content": branch.system}, *messages],
                "tools": [
                    {"type": "function", "function": {"name": name}} for name in branch.tools
                ],
            }
        return json.dumps(body, ensure_ascii=False).encode()

    def broken_rules(self, body: bytes) -> list[str]:
        """The rules that a body breaks."""
        return [problem.rule for problem in check(body, self.format)]


@dataclass
class GeminiAgent(Agent):
    """The same in Gemini's format: the model stands in the address, most calls have no id.

    Attributes:
        has_ids: Whether its provider gives calls an id.
    """

    has_ids: bool = False

    @property
    def system_is_message(self) -> bool:
        """It has a field of its own."""
        return False

    def user(self, words: str) -> Json:
        """What the user says."""
        return {"role": "user", "parts": [{"text": words}]}

    def is_words(self, message: Json) -> bool:
        """Whether a content is what the user said."""
        return role_of(message) == "user"

    def is_answer(self, message: Json) -> bool:
        """Whether a content is the model's."""
        return role_of(message) == "model"

    def step(
        self, branch: Branch, words: str, results: list[str], *, answered: bool = True
    ) -> None:
        """The model calls functions, and they answer in one content."""
        names = []
        for _ in results:
            self.calls += 1
            names.append(f"call_{self.calls}")
        branch.history.append(self._assistant(branch, words, names))
        if answered:
            parts = [self._result(name, text) for name, text in zip(names, results, strict=True)]
            branch.history.append({"role": "user", "parts": parts})

    def late_result(self) -> Json:
        """What the newest call is answered with, whenever that comes."""
        return {"role": "user", "parts": [self._result(f"call_{self.calls}", "late")]}

    def _result(self, name: str, text: str) -> Json:
        return {
            "functionResponse": {**self._id(name), "name": "read", "response": {"output": text}}
        }

    def _id(self, name: str) -> Json:
        return {"id": name} if self.has_ids else {}

    def _assistant(self, branch: Branch, words: str, calls: list[str]) -> Json:  # noqa: ARG002 - as the others
        self.answers += 1
        parts: list[Json] = [{"text": f"{words} {self.answers}"}]
        parts += [
            {"functionCall": {**self._id(name), "name": "read", "args": {}}} for name in calls
        ]
        if calls:
            parts[1]["thoughtSignature"] = f"c2ln{self.answers}"
        return {"role": "model", "parts": parts}

    def shorten(self, branch: Branch, place: int) -> bool:
        """The client clears old results itself; False where the content holds none."""
        message = branch.history[place]
        if role_of(message) != "tool":
            return False
        parts = [
            {"functionResponse": {**part["functionResponse"], "response": {"output": "[cleared]"}}}
            for part in message["parts"]
        ]
        if parts == message["parts"]:
            return False
        branch.history[place] = {**message, "parts": parts}
        branch.is_bound = False
        return True

    def body(self, branch: Branch, marked: int | None = None) -> bytes:  # noqa: ARG002 - there are no markers
        """Write a request; the model is not in it."""
        body = {
            "systemInstruction": {"parts": [{"text": branch.system}]},
            "tools": [{"functionDeclarations": [{"name": name} for name in branch.tools]}],
            "contents": branch.history,
        }
        return json.dumps(body, ensure_ascii=False).encode()


@dataclass
class ResponsesAgent(Agent):
    """The same in the format of Responses: each call and each result is an item of its own.

    Every third call is one of a custom tool. One that thinks sends its
    reasoning and all ids back.
    """

    @property
    def system_is_message(self) -> bool:
        """It has a field of its own."""
        return False

    def is_words(self, message: Json) -> bool:
        """Whether an item is what the user said."""
        return message.get("role") == "user"

    def is_answer(self, message: Json) -> bool:
        """Whether an item is the model's."""
        return role_of(message) == "assistant"

    def answer(self, branch: Branch, words: str) -> None:
        """The model answers in words."""
        branch.history += self._said(words)

    def step(
        self, branch: Branch, words: str, results: list[str], *, answered: bool = True
    ) -> None:
        """The model calls tools, and they answer."""
        branch.history += self._said(words)
        outputs = []
        for text in results:
            self.calls += 1
            branch.history.append(self._call(self.calls))
            outputs.append(self._output(self.calls, text))
        if answered:
            branch.history += outputs

    def late_result(self) -> Json:
        """What the newest call is answered with, whenever that comes."""
        return self._output(self.calls, "late")

    def _said(self, words: str) -> list[Json]:
        """What the model says, behind its reasoning."""
        self.answers += 1
        said: Json = {"role": "assistant", "content": f"{words} {self.answers}"}
        if not self.thinks:
            return [said]
        reasoning: Json = {"type": "reasoning", "id": f"rs_{self.answers}", "summary": []}
        reasoning["encrypted_content"] = "gAAA" * 20
        return [reasoning, {"type": "message", "id": f"msg_{self.answers}", **said}]

    def _call(self, number: int) -> Json:
        own: Json = {"id": f"fc_{number}"} if self.thinks else {}
        call = {**own, "call_id": f"call_{number}", "name": "read"}
        if number % 3:
            return {"type": "function_call", **call, "arguments": "{}"}
        return {"type": "custom_tool_call", **call, "input": "x"}

    def _output(self, number: int, text: str) -> Json:
        kind = "function_call_output" if number % 3 else "custom_tool_call_output"
        return {"type": kind, "call_id": f"call_{number}", "output": text}

    def shorten(self, branch: Branch, place: int) -> bool:
        """The client clears an old output itself; False where the item is none."""
        message = branch.history[place]
        if message.get("output", "[cleared]") == "[cleared]":
            return False
        branch.history[place] = {**message, "output": "[cleared]"}
        return True

    def body(self, branch: Branch, marked: int | None = None) -> bytes:  # noqa: ARG002 - its cache needs no markers
        """Write a request."""
        body = {
            "model": branch.model,
            "store": False,
            "instructions": branch.system,
            "tools": [{"type": "function", "name": name} for name in branch.tools],
            "input": branch.history,
        }
        return json.dumps(body, ensure_ascii=False).encode()


def _marked(message: Json) -> Json:
    marker = {"type": "ephemeral"}
    content = message["content"]
    if isinstance(content, str):
        return {
            **message,
            "content": [{"type": "text", "text": content, "cache_control": marker}],
        }
    if content[-1]["type"] == "thinking":
        return message
    return {**message, "content": [*content[:-1], {**content[-1], "cache_control": marker}]}


def forms_of(body: bytes) -> list[str]:
    """The messages of a body as the provider's cache sees them: without markers, a lone text bare."""
    return [_form(message) for message in history_of(json.loads(body))]


def _form(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = [
            {key: value for key, value in block.items() if key != "cache_control"}
            for block in content
        ]
        if len(content) == 1 and content[0].keys() == {"type", "text"}:
            content = content[0]["text"]
    return json.dumps({**message, "content": content}, ensure_ascii=False)


def signed(prefix: list[str]) -> str:
    """A signature over what stands before the answer that carries it."""
    return sha256("\n".join(prefix).encode()).hexdigest()[:24]


def signatures_that_fit(body: bytes) -> tuple[int, int]:
    """How many thinking blocks of a body stand behind what they were signed for, and how many do not."""
    value = json.loads(body)
    forms = forms_of(body)
    fitting = others = 0
    for place, message in enumerate(value["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        for block in content:
            if block["type"] == "thinking":
                fits = block["signature"] == signed(forms[:place])
                fitting, others = fitting + fits, others + (not fits)
    return fitting, others
