"""The parts that users test with: they are as strict as the real ones, and say the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from trimtab import (
    Context,
    Policy,
    Refusal,
    Summary,
    SummaryRequest,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from trimtab.testing import Conversation, FakeAnswer, FakeProvider, ScriptedModel
from trimtab.wire import FORMATS, read

NAMES = [wire_format.name for wire_format in FORMATS]
MODELS = {
    "anthropic": "claude-opus-4-5",
    "openai-chat": "gpt-5.2",
    "openai-responses": "gpt-5.2",
    "gemini": "gemini-3-pro",
}
FORMAT = pytest.mark.parametrize("name", NAMES)


def talk(name: str, steps: int = 2) -> Conversation:
    """A conversation in which tools were used."""
    built = Conversation(name, MODELS[name], system="Be careful.", tools=["read"]).user("go")
    for step in range(steps):
        built.tool("read", f"part {step}\n" * 20, '{"path": "x"}')
    return built


@FORMAT
def test_what_a_conversation_builds_is_taken(name: str) -> None:
    """System prompt, tools, calls and results: no rule is broken."""
    answer = FakeProvider(name).send(talk(name).body(), model=MODELS[name])

    assert answer.status == 200
    assert isinstance(answer.usage, Usage)
    assert answer.usage.total_input > 0


@FORMAT
def test_a_broken_request_is_refused_in_the_providers_words(name: str) -> None:
    """A result without its call: 400, and no answer is billed."""
    value = json.loads(talk(name, 1).body())
    history = read(talk(name, 1).body(), name).format.history_field
    del value[history][1 if name != "openai-chat" else 2]

    answer = FakeProvider(name).send(json.dumps(value).encode(), model=MODELS[name])

    assert answer.status == 400
    assert answer.usage is None
    assert answer.json["error"]["message"]


def test_what_is_no_json_is_refused() -> None:
    """With 400, as a provider does."""
    assert FakeProvider("openai-chat").send(b"{").status == 400


@FORMAT
def test_what_is_larger_than_the_window_is_refused_with_numbers(name: str) -> None:
    """In the words that clients look for."""
    provider = FakeProvider(name, window_tokens=50)

    answer = provider.send(talk(name, 9).body(), model=MODELS[name])

    assert answer.status == 400
    assert "50" in answer.json["error"]["message"]


def test_a_script_is_followed_and_its_last_answer_repeated() -> None:
    """Ids of repeated calls stay unique."""
    model = ScriptedModel(["one", ["two", ToolCall("c", "read", "{}")]])

    assert model.answer() == (Text("one"),)
    assert model.answer() == (Text("two"), ToolCall("c", "read", "{}"))
    assert model.answer() == (Text("two"), ToolCall("c_3", "read", "{}"))


def test_an_empty_script_is_refused() -> None:
    """There is nothing to answer with."""
    with pytest.raises(ValueError, match="at least one answer"):
        ScriptedModel([])


@FORMAT
def test_a_stream_holds_what_the_whole_answer_holds(name: str) -> None:
    """Pieces of text, calls and usage, as server-sent events."""
    script = ScriptedModel([["a text that is longer than one piece", ToolCall("c", "read", "{}")]])
    body = json.dumps({**json.loads(talk(name).body()), "stream": True}).encode()

    streamed = FakeProvider(name, script).send(body, model=MODELS[name])

    assert len(streamed.pieces) > 2
    assert all(b"data: " in piece for piece in streamed.pieces)
    joined = streamed.body.decode()
    assert "longer" in joined
    assert "read" in joined


def marked(name: str, steps: int) -> bytes:
    """The same with a cache marker at its end, where the provider wants one."""
    body = talk(name, steps).body()
    if not read(body, name).format.caches_at_markers:
        return body
    value = json.loads(body)
    value["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return json.dumps(value).encode()


@FORMAT
def test_a_prefix_that_was_sent_is_read_from_the_cache(name: str) -> None:
    """On the next turn; not after five minutes, and not when it changed."""
    provider = FakeProvider(name)
    provider.send(marked(name, 60), model=MODELS[name])

    again = provider.send(marked(name, 61), model=MODELS[name])
    provider.now += 1000
    late = provider.send(marked(name, 62), model=MODELS[name])

    assert again.usage is not None
    assert late.usage is not None
    assert again.usage.cache_read > 1000
    assert again.usage.fresh + again.usage.cache_write < 200
    assert late.usage.cache_read == 0


def test_without_markers_anthropic_caches_nothing() -> None:
    """A breakpoint must say where."""
    provider = FakeProvider("anthropic")
    provider.send(talk("anthropic", 60).body())

    again = provider.send(talk("anthropic", 61).body())

    assert again.usage is not None
    assert (again.usage.cache_read, again.usage.cache_write) == (0, 0)


def bound(messages: list[Any], **more: Any) -> bytes:
    """A request to a model that binds thinking."""
    body = {"model": "claude-opus-5-5", "max_tokens": 99, "thinking": {"type": "adaptive"}, **more}
    return json.dumps({**body, "messages": messages}).encode()


def test_thinking_that_stands_behind_another_prefix_is_refused() -> None:
    """Unless the provider is asked to drop it, with the header that this needs."""
    provider = FakeProvider("anthropic", ScriptedModel([[Thinking("hm"), "ok"]]))
    first: FakeAnswer = provider.send(bound([{"role": "user", "content": "a"}]))
    answered = {"role": "assistant", "content": first.json["content"]}
    more = {"role": "user", "content": "go on"}
    same = bound([{"role": "user", "content": "a"}, answered, more])
    other = [{"role": "user", "content": "b"}, answered, more]
    binding = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = {"Anthropic-Beta": "x, thinking-binding-controls-2026-08-01"}

    assert provider.send(same).status == 200
    refused = provider.send(bound(other))
    assert refused.status == 400
    assert "Invalid `signature` in `thinking` block" in refused.json["error"]["message"]
    assert provider.send(bound(other, thinking=binding)).status == 400
    assert provider.send(bound(other, thinking=binding), beta).status == 200


def test_an_agent_loop_runs_against_it() -> None:
    """A context keeps a long loop inside a small window, and the cache hits."""
    script = ScriptedModel([["reading", ToolCall("c", "read", "{}")]])
    provider = FakeProvider("openai-chat", script, window_tokens=4_000)
    context = Context("gpt-5.2", Policy(limit_tokens=3_500))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "read it all"}]
    cached = 0
    for _ in range(40):
        view = context.fit(messages)
        body = json.dumps({"model": "gpt-5.2", "messages": view.messages}).encode()
        answer = provider.send(body)
        assert answer.status == 200
        context.observe(view, answer.json["usage"])
        said = answer.json["choices"][0]["message"]
        call_id = said["tool_calls"][0]["id"]
        messages += [said, {"role": "tool", "tool_call_id": call_id, "content": "line\n" * 90}]
        cached += (answer.usage or Usage()).cache_read

    assert len(provider.requests) == 40
    assert cached > 30_000


def test_a_window_that_nobody_knew_is_learned() -> None:
    """The refusal is told to the context, and the second view fits."""
    provider = FakeProvider("openai-chat", window_tokens=1_000)
    context = Context("gpt-5.2", Policy(limit_tokens=100_000))
    messages = [
        {"role": role, "content": f"{place} " + "words " * 60}
        for place, role in enumerate(["user", "assistant"] * 12 + ["user"])
    ]

    view = context.fit(messages)
    body = json.dumps({"model": "gpt-5.2", "messages": view.messages}).encode()
    assert provider.send(body).status == 400
    second = context.refused(view, Refusal(kind="overflow", limit_tokens=1_000, sent_tokens=2_300))

    assert second is not None
    again = json.dumps({"model": "gpt-5.2", "messages": second.messages}).encode()
    assert provider.send(again).status == 200


def test_a_scripted_model_sums_up_with_its_next_answer() -> None:
    """As a summarizer it says the words of its script, counts its calls, and remembers what it was asked."""
    model = ScriptedModel(["first", ["second", ToolCall("c", "read", "{}"), "third"]])
    request = SummaryRequest("system", "prompt", 100)

    said = [asyncio.run(model.summarize(request)) for _ in range(2)]

    assert said == [
        Summary("first", "stop", model="scripted"),
        Summary("second\nthird", "stop", model="scripted", tool_calls=1),
    ]
    assert model.summary_requests == [request, request]
