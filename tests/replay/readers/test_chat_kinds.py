"""tau-bench, mini-swe-agent, SWE-agent and LiteLLM logs: messages of OpenAI chat with things around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, json_lines, only_requests
from trimtab.errors import RequestError
from trimtab.replay.readers import litellm_log, mini_swe, swe_agent, tau_bench
from trimtab.usage import Usage

SYSTEM = {"role": "system", "content": "be brief"}
USER = {"role": "user", "content": "what is here?"}
CALLING = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
ANSWER = {"role": "assistant", "content": "a.py"}


def encoded(value: Any) -> bytes:
    """Write a document."""
    return json.dumps(value, indent=1).encode()


# ---------------------------------------------------------------- tau-bench


def row(*messages: Any, task: int = 0) -> dict[str, Any]:
    """A conversation of the benchmark."""
    return {"task_id": task, "reward": 0.0, "trial": 1, "traj": list(messages)}


def test_each_row_of_tau_bench_is_a_session() -> None:
    """They are named by task and trial."""
    data = encoded([row(SYSTEM, USER, ANSWER), row(SYSTEM, USER, ANSWER, task=7)])

    names = [recording.name for recording in tau_bench.read(data, "r.json")]

    assert names == ["r.json[0.1]", "r.json[7.1]"]


def test_what_the_simulated_user_says_last_is_not_asked() -> None:
    """The run ended there; each answer before it was asked for."""
    data = encoded([row(SYSTEM, USER, CALLING, RESULT, ANSWER, {**USER, "content": "###STOP###"})])

    found = only_requests(tau_bench, data)

    assert [body["messages"] for body in found] == [[SYSTEM, USER], [SYSTEM, USER, CALLING, RESULT]]
    assert [tool["function"]["name"] for tool in found[0]["tools"]] == ["ls"]


def test_rows_on_lines_are_read_and_broken_ones_named() -> None:
    """Checkpoints of a run are JSON lines."""
    data = json_lines(row(USER, ANSWER), '{"task_id": 1, "tra', row(USER, ANSWER))

    first, second = tau_bench.read(data, "r")

    assert first.notes == ("skipped lines that are cut off or no rows: 2",)
    assert second.notes == ()


def test_rows_without_an_answer_are_left_out() -> None:
    """A run that broke down before it began shows no request."""
    unread = row(USER, "text", ANSWER)

    (recording,) = tau_bench.read(encoded([row(USER), unread, row(ANSWER, USER, ANSWER)]), "r")

    assert [request.message_count for request in recording.requests] == [2]
    with pytest.raises(RequestError, match="no conversation of tau-bench"):
        tau_bench.read(encoded([row(USER)]), "r")


# ----------------------------------------------------------- mini-swe-agent


def response(**usage: Any) -> dict[str, Any]:
    """What the agent keeps of an answer."""
    return {"response": {"model": "gemini-x", "created": 5, "usage": usage}}


def run(*messages: Any) -> bytes:
    """A trajectory."""
    return encoded(
        {"info": {}, "messages": list(messages), "trajectory_format": "mini-swe-agent-1"}
    )


def test_only_what_the_provider_takes_is_sent() -> None:
    """What the agent keeps beside a message stays with it."""
    answer = {**ANSWER, "extra": response(prompt_tokens=9), "timestamp": 1.0}
    data = run({**SYSTEM, "timestamp": 1.0}, {**USER, "extra": {}}, answer, USER, answer)

    found = only_requests(mini_swe, data)

    assert [body["messages"] for body in found] == [[SYSTEM, USER], [SYSTEM, USER, ANSWER, USER]]
    assert [body["model"] for body in found] == ["gemini-x", "gemini-x"]
    assert "tools" not in found[0]


def test_the_answer_beside_a_message_says_what_was_billed() -> None:
    """Cached tokens are a part of the prompt, reasoning a part of the output."""
    told = response(
        prompt_tokens=100,
        completion_tokens=30,
        prompt_tokens_details={"cached_tokens": 60},
        completion_tokens_details={"reasoning_tokens": 20},
    )

    (request,) = asked(mini_swe, run(USER, {**ANSWER, "extra": told}))

    assert request.usage == Usage(fresh=40, cache_read=60, output=30, reasoning=20)
    assert (request.model, request.at, request.unrecorded) == ("gemini-x", 5, frozenset())


def test_calls_get_stubs_of_their_tools() -> None:
    """Newer versions call tools; their definitions are not in the log."""
    (first, _) = asked(mini_swe, run(USER, CALLING, RESULT, ANSWER))

    assert first.unrecorded == {"model", "tools"}
    assert bodies([first])[0]["tools"][0]["function"]["name"] == "ls"


def test_a_run_is_known_by_its_version_too() -> None:
    """Early versions do not name their format."""
    assert mini_swe.recognises(encoded({"info": {"mini_version": "1"}, "messages": []}))
    assert not mini_swe.recognises(encoded({"info": {"x": "mini_version"}, "messages": []}))
    with pytest.raises(RequestError, match="in which nobody answers"):
        mini_swe.read(run(USER), "r")


# ---------------------------------------------------------------- SWE-agent


def marked(message: dict[str, Any], agent: str = "main") -> dict[str, Any]:
    """A message of the history, with what the agent notes beside it."""
    return {**message, "agent": agent, "message_type": "x", "thought": "t"}


ACTION = marked(CALLING)
OBSERVED = {**marked({"role": "tool", "content": "a.py"}), "tool_call_ids": ["c1"]}


def trajectory(history: list[Any], *steps: dict[str, Any]) -> bytes:
    """A run."""
    return encoded({"trajectory": list(steps), "history": history, "info": {}})


def test_a_history_becomes_messages_of_the_provider() -> None:
    """Ids of calls move to where the provider wants them, notes go."""
    found = only_requests(swe_agent, trajectory([marked(USER), ACTION, OBSERVED, marked(ANSWER)]))

    assert [body["messages"] for body in found] == [[USER], [USER, CALLING, RESULT]]


def test_what_a_step_says_was_sent_is_what_was_sent() -> None:
    """Old observations are shortened on the way; the history does not show it."""
    short = {**OBSERVED, "content": "(1 line omitted)"}
    history = [marked(USER), ACTION, OBSERVED, marked(ANSWER)]
    after = [{"messages": [marked(USER), ACTION, short]}, {"messages": []}]
    query = [{"query": [marked(USER)]}, {"query": [marked(USER), ACTION, short]}]

    for steps in (after, query):
        found = only_requests(swe_agent, trajectory(history, *steps))
        assert found[0]["messages"] == [USER]
        assert found[1]["messages"][2]["content"] == "(1 line omitted)"


def test_agents_of_a_run_do_not_hear_each_other() -> None:
    """Each has a history of its own."""
    history = [marked(USER), marked(USER, "sub"), marked(ANSWER), marked(ANSWER, "sub")]

    recordings = swe_agent.read(trajectory(history, {}, {}), "r")

    assert [recording.name for recording in recordings] == ["r", "r#sub"]
    assert [len(each.requests) for each in recordings] == [1, 1]
    with pytest.raises(RequestError, match="in which nobody answers"):
        swe_agent.read(trajectory([marked(USER)]), "r")


# ------------------------------------------------------------------ LiteLLM


def logged(**changed: Any) -> dict[str, Any]:
    """A call of LiteLLM with its answer."""
    answer = {"model": "litellm_proxy/claude-x", "choices": [], "created": 3}
    return {"messages": [USER], "kwargs": {}, "response": answer, **changed}


TOOLS = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]


def test_a_call_is_the_whole_request() -> None:
    """Arguments become members of the body; what tells LiteLLM how to send does not."""
    arguments = {
        "temperature": 0.0,
        "timeout": 3,
        "tools": TOOLS,
        "extra_body": {"metadata": {"a": "b"}},
    }

    (body,) = only_requests(litellm_log, encoded(logged(kwargs=arguments)))

    assert body == {
        "model": "claude-x",
        "temperature": 0.0,
        "metadata": {"a": "b"},
        "tools": TOOLS,
        "messages": [USER],
    }


def test_a_call_without_tools_or_arguments_is_a_request_too() -> None:
    """What was not given is not sent."""
    (body,) = only_requests(litellm_log, encoded(logged(tools=[], kwargs=None)))

    assert body == {"model": "claude-x", "messages": [USER]}


def test_what_claude_read_and_wrote_is_told_in_two_dialects() -> None:
    """LiteLLM adds Anthropic's figures to those of OpenAI; all are inside the prompt."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "prompt_tokens_details": None,
        "cache_read_input_tokens": 70,
        "cache_creation_input_tokens": 20,
    }
    log = logged(response={"choices": [], "created": 3, "usage": usage})

    (request,) = asked(litellm_log, encoded(log))

    assert request.usage == Usage(fresh=10, cache_read=70, cache_write=20, output=5)
    assert (request.model, request.at, request.unrecorded) == ("", 3, frozenset({"model"}))


def test_calls_on_lines_are_one_session() -> None:
    """Lines that are none are named and skipped."""
    data = json_lines(logged(timestamp=1.5), '{"messages":', logged())

    (recording,) = litellm_log.read(data, "r")

    assert [request.at for request in recording.requests] == [1.5, 3]
    assert recording.notes == ("skipped lines that are cut off or no logs: 2",)
