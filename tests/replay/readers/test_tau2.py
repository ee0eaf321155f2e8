"""tau2-bench: what the agent saw of conversations in which the user has tools too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.replay.readers.samples import asked, only_requests
from trimtab.errors import RequestError
from trimtab.replay.readers import tau2
from trimtab.usage import Usage

GREETING = {"role": "assistant", "content": "Hi!"}
USER = {"role": "user", "content": "help", "tool_calls": None}
CALL = {"id": "c1", "name": "look", "arguments": {"n": 1}, "requestor": "assistant"}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "id": "c1", "requestor": "assistant", "content": "found"}
ANSWER = {"role": "assistant", "content": "done", "timestamp": "2026-01-01T00:00:00"}


def results(*messages: Any, llm: str | None = "gpt-x") -> bytes:
    """A file with one simulation."""
    info = {"agent_info": {"llm": llm}, "environment_info": {"policy": "be kind"}}
    simulation = {"task_id": "3", "trial": 0, "messages": list(messages)}
    return json.dumps({"info": info, "simulations": [simulation]}).encode()


def test_a_greeting_is_said_and_not_asked_for() -> None:
    """It opens the conversation behind the policy."""
    first, second = only_requests(tau2, results(GREETING, USER, CALLING, RESULT, ANSWER))

    assert [message["role"] for message in first["messages"]] == ["system", "assistant", "user"]
    assert first["messages"][0]["content"] == "be kind"
    assert first["model"] == "gpt-x"
    assert second["messages"][3:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "look", "arguments": '{"n": 1}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]


def test_the_agent_does_not_see_what_the_user_does() -> None:
    """Calls of the simulated user and their results stay between it and the environment."""
    doing = {"role": "user", "content": None, "tool_calls": [{**CALL, "id": "u1"}]}
    done = {"role": "tool", "id": "u1", "requestor": "user", "content": "secret"}

    (body,) = only_requests(tau2, results(GREETING, 7, doing, done, USER, ANSWER))

    assert [message["content"] for message in body["messages"]] == ["be kind", "Hi!", "help"]


def test_usage_is_read_where_it_is() -> None:
    """Most results have none."""
    told = {**ANSWER, "usage": {"prompt_tokens": 9, "completion_tokens": 2}}

    first, second = asked(tau2, results(USER, told, USER, ANSWER, llm=None))

    assert (first.usage, second.usage) == (Usage(fresh=9, output=2), None)
    assert first.at == 1767225600
    assert first.unrecorded == {"tools", "model"}


def test_calls_that_nobody_answered_are_answered_as_interrupted() -> None:
    """The note says how many."""
    (recording,) = tau2.read(results(USER, CALLING, USER, ANSWER), "r")

    assert recording.name == "r[3.0]"
    assert recording.notes == ("tool calls without a result, answered as interrupted: 1",)


def test_simulations_without_an_answer_show_nothing() -> None:
    """If all are so, the file is refused."""
    with pytest.raises(RequestError, match="in which the agent answers"):
        tau2.read(results(GREETING, USER), "r")
