"""Draw valid request bodies of each format, with everything that its rules speak of.

Each strategy follows the provider's own description of its format, and uses
nothing of the package. ``has`` names what a body must have at least once; all
else is drawn. ``tests/laws/conversations.py`` draws what agents send from day
to day; this draws what is allowed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.wire.rich_bodies import PDF, PIXEL

__all__ = [
    "BODIES",
    "MANUAL",
    "NEW",
    "anthropic_bodies",
    "chat_bodies",
    "gemini_bodies",
    "responses_bodies",
    "snake_case",
]

Json = dict[str, Any]
T = TypeVar("T")
Has = frozenset[str]

NOTHING: Has = frozenset()

WORDS = (
    "please look at the parser",
    "naïve café, 日本語, 🙂 and \u2028 too",
    'a "quoted" word, a back\\slash and a tab\tin it',
    " leading and trailing ",
    "<|endoftext|> is only text",
    "one line\nand another\n",
)
NAMES = ("ls", "read_file", "run-tests", "X" * 64)
ARGUMENTS: tuple[Json, ...] = ({}, {"path": "a.txt"}, {"n": [1, 2.5, None], "deep": {"é": True}})
ARGUMENT_TEXTS = ("{}", '{"path": "a.txt"}', '{"n": 4611686018427387905, "é": "\\u00e9"}')
PICTURE_URL = "https://x.test/a.png"


class _Author:
    """Draws the pieces of one body.

    Attributes:
        draw: Draws from a strategy.
    """

    def __init__(self, draw: st.DrawFn, has: Has) -> None:
        self.draw = draw
        self._owed = set(has)
        self._has = has
        self._number = itertools.count()

    def pick(self, choices: Sequence[T]) -> T:
        """One of some values."""
        return self.draw(st.sampled_from(choices))

    def maybe(self, *, one_in: int = 2) -> bool:
        """True once in so many times."""
        return self.draw(st.integers(1, one_in)) == one_in

    def has(self, feature: str, *, one_in: int = 3) -> bool:
        """Whether a body has a feature here: where it must, at the first chance."""
        if feature in self._owed:
            self._owed.discard(feature)
            return True
        return self.maybe(one_in=one_in)

    def must_have(self, *features: str) -> bool:
        """Whether a body must have one of some features."""
        return not self._has.isdisjoint(features)

    def some(self, piece: Callable[[], T], most: int = 3, *, least: int = 1) -> list[T]:
        """Some pieces, each drawn anew."""
        return [piece() for _ in range(self.draw(st.integers(least, most)))]

    def words(self) -> str:
        """Words that are not blank."""
        return self.pick(WORDS)

    def next_id(self, prefix: str) -> str:
        """An id that no other has."""
        return f"{prefix}_{next(self._number)}"


# -------------------------------------------------------------------- anthropic

NEW = ("claude-opus-4-8", "claude-opus-5-20261001", "claude-sonnet-5-5", "claude-fable-5-1")
"""Models with adaptive thinking that take a system message inside the conversation."""

MANUAL = ("claude-sonnet-4-5", "us.anthropic.claude-haiku-4-5-v1:0", "claude-3-7-sonnet-latest")
"""Models with manual thinking, which take a prefill."""

BETWEEN = ("claude-opus-4-6", "anthropic/claude-sonnet-4.6")
"""Models with both kinds of thinking, and no prefill."""

_IN_EXCHANGES = ("calls", "thinking", "server tool", "mixed calls", "toolset")
"""What a body has where it has exchanges."""

_SERVER_TOOLS = {
    "web_search": "web_search_tool_result",
    "web_fetch": "web_fetch_tool_result",
    "code_execution": "code_execution_tool_result",
    "bash_code_execution": "bash_code_execution_tool_result",
    "text_editor_code_execution": "text_editor_code_execution_tool_result",
    "tool_search_tool_regex": "tool_search_tool_result",
    "advisor": "advisor_tool_result",
}
_PICTURE: Json = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
}
_DOCUMENT_SOURCES: tuple[Json, ...] = (
    {"type": "base64", "media_type": "application/pdf", "data": PDF},
    {"type": "text", "media_type": "text/plain", "data": "words"},
    {"type": "url", "url": "https://x.test/a.pdf"},
    {"type": "file", "file_id": "file_1"},
    {"type": "content", "content": [{"type": "text", "text": "words"}]},
)


@st.composite
def anthropic_bodies(
    draw: st.DrawFn, *, has: Has = NOTHING, models: Sequence[str] = (*NEW, *MANUAL, *BETWEEN)
) -> Json:
    """Draw a body of the Messages API.

    ``has`` may name ``calls``, ``thinking``, ``server tool``, ``mixed calls``,
    ``toolset``, ``blocks`` and ``compaction``.
    """
    return _Messages(draw, has, models).body()


class _Messages(_Author):
    """Writes one body of the Messages API."""

    def __init__(self, draw: st.DrawFn, has: Has, models: Sequence[str]) -> None:
        super().__init__(draw, has)
        self.model = self.pick(models)
        self.max_tokens = self.pick((2048, 64_000))
        self.thinking = self._thinking_parameter()
        self.messages: list[Json] = []

    def body(self) -> Json:
        self._history()
        whole: Json = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "tools": self._tools(),
            "messages": self.messages,
        }
        if self.maybe():
            whole["system"] = self.pick(
                [
                    "be brief",
                    [{"type": "text", "text": self.words()}, {"type": "text", "text": "x"}],
                ]
            )
        if self.thinking is not None:
            whole["thinking"] = self.thinking
        if self.maybe(one_in=3):
            whole["tool_choice"] = self._tool_choice()
        if self.maybe(one_in=3):
            whole |= {"stream": True, "metadata": {"user_id": "u"}, "stop_sequences": ["\n"]}
        self._mark(whole)
        return whole

    # ------------------------------------------------------------ parameters

    def _thinking_parameter(self) -> Json | None:
        budget = self.draw(st.integers(1024, self.max_tokens - 1))
        modes: list[Json | None] = [None]
        if self.model not in MANUAL:
            modes += [{"type": "adaptive"}, {"type": "adaptive", "display": "omitted"}]
        if self.model not in NEW:
            modes.append({"type": "enabled", "budget_tokens": budget})
        if "fable" not in self.model:
            modes.append({"type": "disabled"})
        if self.model == "claude-sonnet-5-5":
            modes.append({"type": "between_tools"})
        return self.pick(modes)

    @property
    def _thinks_by_hand(self) -> bool:
        return self.thinking is not None and self.thinking["type"] == "enabled"

    def _tools(self) -> list[Json]:
        tools: list[Json] = [
            {"name": name, "description": "d", "input_schema": {"type": "object"}} for name in NAMES
        ]
        tools += [{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]
        return tools

    def _tool_choice(self) -> Json:
        choices: list[Json] = [
            {"type": "auto", "disable_parallel_tool_use": True},
            {"type": "none"},
        ]
        if self.model not in ("claude-sonnet-5-5", "claude-fable-5-1"):
            choices += [{"type": "any"}, {"type": "tool", "name": "ls"}]
        return self.pick(choices)

    def _mark(self, whole: Json) -> None:
        """Set up to four cache markers, those with the longer life first."""
        places: list[Json] = [*whole["tools"]]
        places += whole["system"] if isinstance(whole.get("system"), list) else []
        for message in self.messages:
            if isinstance(message["content"], list):
                places += [b for b in message["content"] if b["type"] in ("text", "tool_result")]
        count = self.draw(st.integers(0, 4))
        chosen = sorted(self.draw(st.sets(st.integers(0, len(places) - 1), max_size=count)))
        hours = self.draw(st.integers(0, len(chosen)))
        for number, place in enumerate(chosen):
            life = {"ttl": "1h"} if number < hours else self.pick(({}, {"ttl": "5m"}))
            places[place]["cache_control"] = {"type": "ephemeral", **life}
        if len(chosen) < 4 and hours == 0 and self.maybe(one_in=4):
            whole["cache_control"] = {"type": "ephemeral"}

    # --------------------------------------------------------------- history

    def _history(self) -> None:
        if self.has("compaction", one_in=4):
            summary: Json = {"type": "compaction", "content": "what happened so far"}
            self.messages.append({"role": "assistant", "content": [summary]})
        for number in range(self.draw(st.integers(1, 3))):
            if number:
                self._claude(self._answer())
            self._ask()
            least = self.must_have(*_IN_EXCHANGES) and not number
            for _ in range(self.draw(st.integers(int(least), 2))):
                self._exchange()
        self._end()

    def _claude(self, blocks: list[Json] | str) -> None:
        self.messages.append({"role": "assistant", "content": blocks})

    def _ask(self) -> None:
        if not self.has("blocks", one_in=2):
            self.messages.append({"role": "user", "content": self.words()})
        else:
            blocks = [self._text(), *self.some(self._user_block, 2, least=0)]
            self.messages.append({"role": "user", "content": blocks})
        if self.maybe(one_in=6):
            self.messages.append({"role": "user", "content": "and another thing"})
        if self.model in NEW and self.maybe(one_in=4):
            self._interject()
            self._claude("understood")
            self.messages.append({"role": "user", "content": "go on"})

    def _interject(self) -> None:
        """A system message behind a user turn."""
        content = self.pick(["the user is in a hurry", [{"type": "text", "text": "be quick"}]])
        more = self.pick(({}, {"clear_at": "next_user_message"}))
        self.messages.append({"role": "system", "content": content, **more})

    def _text(self) -> Json:
        return {"type": "text", "text": self.words()}

    def _user_block(self) -> Json:
        found: list[Json] = [{"type": "text", "text": "found"}]
        return dict(
            self.pick(
                [
                    self._text(),
                    *self._media(),
                    {"type": "search_result", "source": "s", "title": "t", "content": found},
                    {"type": "container_upload", "file_id": "file_1"},
                ]
            )
        )

    def _media(self) -> list[Json]:
        source = self.pick(_DOCUMENT_SOURCES)
        return [
            _PICTURE,
            {"type": "image", "source": {"type": "url", "url": PICTURE_URL}},
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            {"type": "document", "source": source, "title": "t", "citations": {"enabled": True}},
        ]

    def _thought(self) -> list[Json]:
        signed = {"type": "thinking", "thinking": self.pick(("", "hm")), "signature": "c2ln"}
        redacted: Json = {"type": "redacted_thinking", "data": "b3BhcXVl"}
        if self.has("thinking", one_in=2) or self._thinks_by_hand:
            return self.pick(([signed], [signed, dict(signed)], [signed, redacted]))
        return []

    def _answer(self) -> list[Json]:
        blocks = [*self._thought(), {**self._text(), "citations": []}]
        if self.has("server tool"):
            blocks += self._server_pair()
            blocks.append(self._text())
        if self.maybe(one_in=8):
            blocks.append({"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}})
        return blocks

    def _server_pair(self) -> list[Json]:
        if self.maybe(one_in=4):
            call_id = self.next_id("mcptoolu")
            named = {"name": "n", "server_name": "s", "input": {}}
            return [
                {"type": "mcp_tool_use", "id": call_id, **named},
                {"type": "mcp_tool_result", "tool_use_id": call_id, "content": []},
            ]
        call, result = self._server_call()
        return [call, result]

    def _server_call(self) -> tuple[Json, Json]:
        name = self.pick(sorted(_SERVER_TOOLS))
        call_id = self.next_id("srvtoolu")
        call: Json = {"type": "server_tool_use", "id": call_id, "name": name, "input": {}}
        return call, {"type": _SERVER_TOOLS[name], "tool_use_id": call_id, "content": []}

    def _exchange(self) -> None:
        """An answer with calls, and all their results."""
        said = [*self._thought(), *self.some(self._text, 1, least=0)]
        calls = self.some(self._call)
        late: list[Json] = []
        if self.has("server tool"):
            said += self._server_pair()
        is_mixed = self.has("mixed calls", one_in=6)
        if is_mixed:
            call, found = self._server_call()
            said.append(call)
            late = self.pick(([found], []))
        self._claude([*said, *calls])
        results = [self._result(call) for call in calls]
        behind = [] if is_mixed else self.some(self._user_block, 1, least=0)
        self.messages.append({"role": "user", "content": results + behind})
        if is_mixed:
            self._claude([*late, *self._thought(), self._text()])
            self.messages.append({"role": "user", "content": "go on"})
        elif self.model in NEW and self.maybe(one_in=4):
            self._interject()
            self._claude([*self._thought(), self._text()])
            self.messages.append({"role": "user", "content": "go on"})

    def _call(self) -> Json:
        call_id = self.next_id(self.pick(("toolu", "call-x")))
        call: Json = {"type": "tool_use", "id": call_id, "name": self.pick(NAMES)}
        if self.has("toolset", one_in=6):
            call["toolset_name"] = "files"
        if self.maybe(one_in=6):
            call["caller"] = {"type": "direct"}
        return {**call, "input": self.pick(ARGUMENTS)}

    def _result(self, call: Json) -> Json:
        result: Json = {"type": "tool_result", "tool_use_id": call["id"]}
        if "toolset_name" in call:
            result["toolset_name"] = call["toolset_name"]
        content: Any = self.pick((None, "", "a\nb", "list"))
        if content == "list":
            content = self.some(self._result_block, 2, least=0)
        if content is not None:
            result["content"] = content
        return {**result, "is_error": True} if self.maybe(one_in=4) else result

    def _result_block(self) -> Json:
        return dict(
            self.pick(
                [
                    self._text(),
                    *self._media(),
                    {"type": "search_result", "source": "s", "title": "t", "content": []},
                    {"type": "tool_reference", "tool_name": "ls"},
                    {"type": "browser_state", "url": "https://x.test"},
                ]
            )
        )

    def _end(self) -> None:
        """The history ends with the user, or in one of the ways that are allowed beside that."""
        ways: list[Callable[[], None]] = [lambda: None, self._pause]
        if self.model in NEW:
            ways.append(self._interject)
        if self.model in MANUAL and not self._thinks_by_hand:
            ways += [lambda: self._claude("So"), lambda: self._claude("")]
            ways.append(lambda: self._claude([{"type": "text", "text": "So far:"}]))
        self.pick(ways)()

    def _pause(self) -> None:
        """An answer that the provider paused goes back as it came."""
        call, _ = self._server_call()
        self._claude([*self._thought(), self._text(), *self._server_pair(), call])


# ------------------------------------------------------------------ openai-chat


@st.composite
def chat_bodies(draw: st.DrawFn, *, has: Has = NOTHING) -> Json:
    """Draw a body of Chat Completions; ``has`` may name ``calls``, ``parts`` and ``answer``."""
    return _Chat(draw, has).body()


class _Chat(_Author):
    """Writes one body of Chat Completions."""

    def __init__(self, draw: st.DrawFn, has: Has) -> None:
        super().__init__(draw, has)
        self.messages: list[Json] = []

    def body(self) -> Json:
        for role in self.pick(((), ("system",), ("developer",), ("system", "developer"))):
            self.messages.append({"role": role, "content": self._text_content()})
        for number in range(self.draw(st.integers(1, 3))):
            self._ask()
            least = self.must_have("calls") and not number
            for _ in range(self.draw(st.integers(int(least), 2))):
                self._exchange()
            if self.has("answer", one_in=2):
                self.messages.append(self._answer())
        whole: Json = {"model": self.pick(("gpt-5.6", "gpt-4o", "mistral-large")), "tools": []}
        whole["tools"] = [{"type": "function", "function": {"name": name}} for name in NAMES]
        whole["tools"].append({"type": "custom", "custom": {"name": "patch"}})
        whole["messages"] = self.messages
        streams: tuple[Json, ...] = (
            {},
            {"stream": False},
            {"stream": True},
            {"stream": True, "stream_options": {"include_usage": True}},
        )
        return whole | self.pick(streams)

    def _text_part(self) -> Json:
        more = self.pick(({}, {}, {"prompt_cache_breakpoint": {"mode": "explicit"}}))
        return {"type": "text", "text": self.words(), **more}

    def _text_content(self) -> Any:
        return self.pick((self.words(), "", self.some(self._text_part, 2)))

    def _user_part(self) -> Json:
        data = f"data:image/png;base64,{PIXEL}"
        choices: list[Json] = [
            self._text_part(),
            {"type": "image_url", "image_url": {"url": data, "detail": "original"}},
            {"type": "image_url", "image_url": {"url": PICTURE_URL}},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {
                "type": "file",
                "file": {"file_data": "data:application/pdf;base64,", "filename": "a"},
            },
        ]
        return dict(self.pick(choices))

    def _ask(self) -> None:
        content: Any = self.words()
        if self.has("parts", one_in=2):
            content = self.some(self._user_part)
        more = self.pick(({}, {"name": "ann"}))
        self.messages.append({"role": "user", "content": content, **more})
        if self.maybe(one_in=6):
            self.messages.append({"role": "system", "content": "the user is in a hurry"})

    def _exchange(self) -> None:
        if self.maybe(one_in=8) and not self.must_have("calls"):
            called = {"name": "ls", "arguments": "{}"}
            self.messages.append({"role": "assistant", "content": None, "function_call": called})
            self.messages.append({"role": "function", "name": "ls", "content": "a"})
            return
        calls = self.some(self._call)
        asked: Json = {"role": "assistant", "tool_calls": calls}
        content = self.pick(("absent", None, "", self.words(), [self._text_part()]))
        if content != "absent":
            asked["content"] = content
        if self.maybe(one_in=4):
            asked |= {"reasoning_content": "hm", "reasoning_details": [{"type": "x", "data": "y"}]}
        self.messages.append(asked)
        for call in self.draw(st.permutations(calls)):
            content = self._text_content()
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    def _call(self) -> Json:
        call: Json = {"id": self.next_id("call"), "type": "function"}
        if self.maybe(one_in=5) and not self.must_have("calls"):
            return {**call, "type": "custom", "custom": {"name": "patch", "input": "+a"}}
        arguments = self.pick((*ARGUMENT_TEXTS, ""))
        return {**call, "function": {"name": self.pick(NAMES), "arguments": arguments}}

    def _answer(self) -> Json:
        refusal: Json = {"type": "refusal", "refusal": "no"}
        choices: list[Json] = [
            {"content": self.words()},
            {"content": ""},
            {"content": [self._text_part()]},
            {"content": [refusal]},
            {"content": None, "refusal": "no"},
            {"audio": {"id": "audio_1"}},
        ]
        return {"role": "assistant", **self.pick(choices)}


# -------------------------------------------------------------- openai-responses


@st.composite
def responses_bodies(draw: st.DrawFn, *, has: Has = NOTHING) -> Json:
    """Draw a body of Responses with its whole history.

    ``has`` may name ``calls``, ``reasoning``, ``parts``, ``answer`` and ``compaction``.
    """
    return _Responses(draw, has).body()


class _Responses(_Author):
    """Writes one body of Responses."""

    def __init__(self, draw: st.DrawFn, has: Has) -> None:
        super().__init__(draw, has)
        self.items: list[Json] = []
        models = ("gpt-5.6",) if has else ("gpt-5.6", "o4-mini", "gpt-4.1")
        self.model = self.pick(models)
        self.store = self.pick((False, True, None))
        self.has_ids = self.maybe()

    def body(self) -> Json:
        if self.has("compaction", one_in=4):
            self.items.append({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"})
        if self.maybe(one_in=3):
            self.items.append({"role": "developer", "content": self._content()})
        for number in range(self.draw(st.integers(1, 3))):
            self._ask()
            least = self.must_have("calls", "reasoning") and not number
            for _ in range(self.draw(st.integers(int(least), 2))):
                self._exchange()
            if self.has("answer", one_in=2):
                self._answer()
        self._end()
        whole: Json = {"model": self.model, "input": self.items}
        if not self._has and self.maybe(one_in=8):
            whole["input"] = self.words()
        if self.store is not None:
            whole["store"] = self.store
        if self.maybe():
            whole["instructions"] = "be brief"
        whole["tools"] = [
            *({"type": "function", "name": name, "parameters": {}} for name in NAMES),
            {"type": "custom", "name": "patch"},
            {"type": "web_search"},
        ]
        states: list[Json] = [{}, {"previous_response_id": None}, {"conversation": None}]
        if not self._has:
            states += [{"previous_response_id": "resp_1"}, {"conversation": {"id": "conv_1"}}]
        return whole | self.pick(states)

    def _part(self) -> Json:
        marker = self.pick(({}, {}, {"prompt_cache_breakpoint": {"mode": "explicit"}}))
        choices: list[Json] = [
            {"type": "input_text", "text": self.words()},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
            {"type": "input_file", "file_id": "file-1"},
        ]
        return {**self.pick(choices), **marker}

    def _content(self) -> Any:
        return self.some(self._part) if self.has("parts", one_in=2) else self.words()

    def _ask(self) -> None:
        typed = self.pick(({}, {"type": "message"}))
        self.items.append({**typed, "role": "user", "content": self._content()})

    def _own_id(self, prefix: str, *, thought: bool) -> Json:
        """An id, where the item may have one: reasoning came before, or the model never reasons."""
        can = thought or self.model == "gpt-4.1"
        return {"id": self.next_id(prefix)} if self.has_ids and can else {}

    def _reasoning(self) -> bool:
        """Reasoning before what it leads to."""
        if self.model == "gpt-4.1" or not self.has("reasoning", one_in=2):
            return False
        for _ in range(self.pick((1, 1, 2))):
            summary = [{"type": "summary_text", "text": "hm"}]
            item: Json = {"type": "reasoning", "summary": self.pick(([], summary))}
            item["id"] = self.next_id("rs")
            if self.store is not True or self.maybe():
                item["encrypted_content"] = "gAAA"
            self.items.append(item)
        return True

    def _said(self, phase: str, *, thought: bool) -> Json:
        own = self._own_id("msg", thought=thought)
        parts = [{"type": "output_text", "text": self.words(), "annotations": []}]
        parts += self.pick(([], [{"type": "refusal", "refusal": "not all"}]))
        content: Any = parts if own else self.pick((self.words(), parts))
        return {
            "type": "message",
            **own,
            "role": "assistant",
            "status": "completed",
            "phase": phase,
            "content": content,
        }

    def _answer(self) -> None:
        thought = self._reasoning()
        self.items.append(self._said("final_answer", thought=thought))

    def _provider_items(self) -> list[Json]:
        """What the provider ran itself."""
        choices: list[Json] = [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
            {"type": "file_search_call", "id": "fs_1", "queries": ["q"], "status": "completed"},
            {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "container_id": "c"},
            {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PIXEL},
            {"type": "mcp_list_tools", "id": "ml_1", "server_label": "s", "tools": []},
            {"type": "mcp_call", "id": "mc_1", "server_label": "s", "name": "n", "arguments": "{}"},
            {"type": "tool_search_call", "arguments": {}, "execution": "server"},
        ]
        return [dict(self.pick(choices))] if self.maybe(one_in=4) else []

    def _exchange(self) -> None:
        thought = self._reasoning()
        self.items += self._provider_items()
        if self.maybe(one_in=3):
            self.items.append(self._said("commentary", thought=thought))
        pairs = [self._pair(thought=thought) for _ in range(self.draw(st.integers(1, 3)))]
        self.items += [call for call, _ in pairs]
        self.items += [result for _, result in self.draw(st.permutations(pairs))]

    def _pair(self, *, thought: bool) -> tuple[Json, Json]:
        call_id = self.next_id("call")
        linked = {"call_id": call_id}
        own = self._own_id("fc", thought=thought)
        function = (
            {"name": self.pick(NAMES), "arguments": self.pick((*ARGUMENT_TEXTS, ""))},
            {"output": self.pick(("", "a\nb", self.some(self._part, 2, least=0)))},
        )
        custom = ({"name": "patch", "input": self.pick(("", "+a"))}, {"output": "ok"})
        shown = {"type": "computer_screenshot", "image_url": PICTURE_URL}
        run = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        kinds: list[tuple[str, tuple[Json, Json]]] = [
            ("function_call", function),
            ("custom_tool_call", custom),
            ("computer_call", ({"action": {"type": "wait"}}, {"output": shown})),
            ("shell_call", ({"action": {"commands": ["ls"]}}, {"output": [run]})),
            ("local_shell_call", ({"action": {"command": ["ls"]}}, {"output": "a"})),
            ("apply_patch_call", ({"operation": {"path": "a"}}, {"status": "completed"})),
        ]
        kind, (asked, told) = kinds[0] if self._owed_call() else self.pick(kinds)
        call = {"type": kind, **own, **linked, **asked}
        return call, {"type": f"{kind}_output", **linked, **told}

    def _owed_call(self) -> bool:
        owed = "calls" in self._owed
        self._owed.discard("calls")
        return owed

    def _end(self) -> None:
        call, _ = self._pair(thought=False)
        ends: list[list[Json]] = [[], [{"type": "compaction_trigger"}], [call]]
        self.items += self.pick(ends)


# ------------------------------------------------------------------------ gemini


@st.composite
def gemini_bodies(draw: st.DrawFn, *, has: Has = NOTHING) -> Json:
    """Draw a body of generateContent.

    ``has`` may name ``calls``, ``open loop`` (calls in the turn under way),
    ``answer`` and ``camel`` (no snake_case keys).
    """
    author = _Contents(draw, has)
    whole = author.body()
    return whole if author.has("camel", one_in=2) else snake_case(whole)


def snake_case(value: Any) -> Any:
    """The same with the other spelling of the format's keys, but for what the tools own."""
    if isinstance(value, list):
        return [snake_case(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", key): (
            inner if key in ("args", "response") else snake_case(inner)
        )
        for key, inner in value.items()
    }


class _Contents(_Author):
    """Writes one body of generateContent."""

    def __init__(self, draw: st.DrawFn, has: Has) -> None:
        super().__init__(draw, has)
        self.contents: list[Json] = []

    def body(self) -> Json:
        count = self.draw(st.integers(1 + self.must_have("answer"), 3))
        for number in range(count):
            if number:
                self.contents.append({"role": "model", "parts": self._answer()})
            self._ask()
            is_last = number == count - 1
            needs = (self.must_have("calls") and not number) or (
                self.must_have("open loop") and is_last
            )
            for _ in range(self.draw(st.integers(int(needs), 2))):
                self._step(is_open=is_last)
        if self.maybe(one_in=6) and not self.must_have("open loop"):
            self.contents.append({"role": "model", "parts": [{"text": "So"}]})
        return {"contents": self.contents, **self._envelope()}

    def _envelope(self) -> Json:
        generation = {"generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}}}
        if self.maybe(one_in=4):
            return {"cachedContent": "cachedContents/1", **generation}
        declared = [{"name": name, "parameters": {"type": "OBJECT"}} for name in self._names()]
        envelope: Json = {"tools": [{"functionDeclarations": declared}, {"googleSearch": {}}]}
        if self.maybe():
            envelope["systemInstruction"] = {"parts": [{"text": "be brief"}]}
        if self.maybe(one_in=3):
            envelope["toolConfig"] = {"functionCallingConfig": {"mode": "AUTO"}}
        return envelope | self.pick(({}, generation, {"cachedContent": None}))

    def _names(self) -> tuple[str, ...]:
        return ("ls", "_read.file:v1", "run-tests", "X" * 64)

    def _user_part(self) -> Json:
        choices: list[Json] = [
            {"text": self.words()},
            {"text": " ", "partMetadata": {"n": 1}},
            {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
            {
                "fileData": {"mimeType": "video/mp4", "fileUri": "https://x.test/a.mp4"},
                "videoMetadata": {"fps": 1},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
            },
        ]
        return dict(self.pick(choices))

    def _ask(self) -> None:
        role = self.pick(({"role": "user"}, {"role": "user"}, {}))
        before = self.contents[-1:]
        if before and before[0].get("role") != "model":
            self.contents.append({"role": "model", "parts": [{"text": "next?"}]})
        self.contents.append({**role, "parts": self.some(self._user_part)})

    def _signature(self) -> Json:
        return {"thoughtSignature": self.pick(("c2ln", "skip_thought_signature_validator"))}

    def _model_part(self) -> Json:
        choices: list[Json] = [
            {"text": self.words()},
            {"text": "hm", "thought": True},
            {"text": "", **self._signature()},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}},
            {"toolResponse": {"id": "t1", "toolType": "GOOGLE_SEARCH_WEB", "response": {}}},
            {"inlineData": {"mimeType": "image/png", "data": PIXEL}, **self._signature()},
        ]
        return dict(self.pick(choices))

    def _answer(self) -> list[Json]:
        return [{"text": self.words()}, *self.some(self._model_part, 2, least=0)]

    def _step(self, *, is_open: bool) -> None:
        """One content with calls, and one with all their results.

        A step of an earlier turn may have lost its signature.
        """
        names = [self.pick(self._names()) for _ in range(self.draw(st.integers(1, 3)))]
        calls: list[Json] = []
        results: list[Json] = []
        for name in names:
            own = {"id": self.next_id("c")} if self.maybe() else {}
            arguments: list[Json] = [{}, {"args": {}}, {"args": self.pick(ARGUMENTS)}]
            calls.append({"functionCall": {**own, "name": name, **self.pick(arguments)}})
            response = self.pick(({"output": "12"}, {"error": "no"}, {}))
            result: Json = {**own, "name": name, "response": response}
            if self.maybe(one_in=6):
                result["parts"] = [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]
            results.append({"functionResponse": result})
        if is_open or self.maybe():
            calls[0] |= self._signature()
        words = self.some(self._model_part, 2, least=0)
        self.contents.append({"role": "model", "parts": [*words, *calls]})
        role = self.pick(("user", "user", "function"))
        self.contents.append({"role": role, "parts": results})


# --------------------------------------------------------------------------- all

BODIES: dict[str, Callable[..., st.SearchStrategy[Json]]] = {
    "anthropic": anthropic_bodies,
    "openai-chat": chat_bodies,
    "openai-responses": responses_bodies,
    "gemini": gemini_bodies,
}
"""How to draw a body of each format."""
