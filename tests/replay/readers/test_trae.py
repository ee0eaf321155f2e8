"""Trae: interactions that hold what was new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, only_requests, texts_of, valid
from trimtab.errors import RequestError
from trimtab.replay.readers import trae
from trimtab.usage import Usage

SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "fix it"}
CALL = {"call_id": "c1", "name": "bash", "arguments": {"command": "ls"}, "id": None}
TOLD = {"call_id": "c1", "success": True, "result": "a.py", "error": None}


def step(inputs: list[Any], answer: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """An interaction."""
    return {
        "timestamp": "2026-01-01T00:00:00",
        "provider": "anthropic",
        "model": "claude-x",
        "input_messages": inputs,
        "response": {"content": "", "tool_calls": None, **answer},
        "tools_available": ["bash", "edit"],
        **changed,
    }


def run(*steps: Any) -> bytes:
    """A trajectory."""
    return json.dumps({"task": "t", "llm_interactions": list(steps)}).encode()


def result(**changed: Any) -> dict[str, Any]:
    """A message that carries what a tool answered."""
    return {"role": "user", "content": None, "tool_result": {**TOLD, **changed}}


def test_new_messages_follow_what_was_said_before() -> None:
    """System prompts gather above; every tool that is at hand gets a stub."""
    data = run(
        step([SYSTEM, SYSTEM, USER], {"tool_calls": [CALL]}), step([result()], {"content": "done"})
    )

    first, second = only_requests(trae, data)

    assert first["system"] == [{"type": "text", "text": "be brief\n\nbe brief"}]
    assert [tool["name"] for tool in first["tools"]] == ["bash", "edit"]
    assert texts_of(first) == ["fix it"]
    assert texts_of(second) == ["fix it", "a.py"]
    assert second["messages"][:1] == first["messages"]


def test_a_tool_that_failed_says_so() -> None:
    """What it said before it failed comes first."""
    data = run(
        step([USER], {"tool_calls": [CALL]}),
        step([result(success=False, error="boom")], {"content": "oh"}),
    )

    (block,) = only_requests(trae, data)[1]["messages"][-1]["content"]

    assert block["is_error"] is True
    assert block["content"] == [{"type": "text", "text": "a.py\nboom"}]


def test_calls_that_nobody_answered_are_answered_as_interrupted() -> None:
    """The client stopped them; an empty answer is not sent back."""
    data = run(
        step([USER], {"tool_calls": [CALL]}), step([USER], {}), step([USER], {"content": "done"})
    )

    (recording,) = trae.read(data, "r")

    assert recording.notes == ("tool calls without a result, answered as interrupted: 1",)
    assert valid(recording.requests)


def test_a_system_prompt_begins_a_new_conversation() -> None:
    """Nothing of the one before is sent."""
    data = run(step([SYSTEM, USER], {"content": "done"}), step([SYSTEM, USER], {"content": "done"}))

    first, second = only_requests(trae, data)

    assert first == second


@pytest.mark.parametrize(
    ("provider", "wire_format"),
    [
        ("anthropic", "anthropic"),
        ("bedrock", "anthropic"),
        ("openai", "openai-responses"),
        ("google", "gemini"),
        ("openrouter", "openai-chat"),
        (None, "openai-chat"),
    ],
)
def test_the_provider_says_how_it_is_spoken_to(provider: str | None, wire_format: str) -> None:
    """A body is valid in each format."""
    (request,) = asked(trae, run(step([SYSTEM, USER], {"content": "done"}, provider=provider)))

    assert request.format == wire_format
    assert valid([request])


def test_claude_counts_the_cache_apart_and_gpt_does_not() -> None:
    """The same figures mean two things."""
    figures = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_read_input_tokens": 60,
        "reasoning_tokens": 5,
    }
    claude, gpt, none = asked(
        trae,
        run(
            step([USER], {"content": "a", "model": "claude-x", "usage": figures}),
            step([USER], {"content": "b", "model": "gpt-x", "usage": figures}),
            step([USER], {"content": "c", "usage": None}, model=None),
        ),
    )

    assert claude.usage == Usage(fresh=100, cache_read=60, output=20, reasoning=5)
    assert gpt.usage == Usage(fresh=40, cache_read=60, output=20, reasoning=5)
    assert (none.usage, none.model, none.unrecorded) == (None, "", frozenset({"tools", "model"}))
    assert claude.at == 1767225600


def test_interactions_that_cannot_be_read_are_left_out() -> None:
    """A run without any is refused."""
    assert len(bodies(asked(trae, run(7, {"response": 7}, step([USER], {"content": "a"}))))) == 1
    with pytest.raises(RequestError, match="in which nobody answers"):
        trae.read(run(7), "r")
