"""tau2-bench results: conversations of an agent with a simulated user who has tools of its own.

What the user's tools answered (``requestor`` is ``user``), and what the user
called, is between the user and the environment: the agent never saw it. The
greeting with which the agent opens answered no request. The policy is the
agent's system prompt, but for the benchmark's own words around it.
"""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.messages import ToolResult
from trimtab.replay.answers import Answer, Notes, chat_usage, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Shape,
    begins,
    elements_or_none,
    mentions,
    string,
    value,
)
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.replay.talks import Call, Talk, result_of, said

__all__ = ["KIND", "read", "recognises"]

KIND = "tau2-bench"

_UNRECORDED = frozenset({"tools"})


class _Agent(msgspec.Struct):
    llm: str | None = None


class _Environment(msgspec.Struct):
    policy: str | None = None


class _Info(msgspec.Struct):
    agent_info: _Agent | None = None
    environment_info: _Environment | None = None


class _Results(msgspec.Struct):
    info: Raw = ABSENT
    simulations: Raw = ABSENT


class _Simulation(msgspec.Struct):
    task_id: int | str | None = None
    trial: int | None = None
    messages: Raw = ABSENT


class _Message(msgspec.Struct):
    role: str | None = None
    id: str | None = None
    requestor: str | None = None
    timestamp: str | None = None
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    usage: Raw = ABSENT
    error: bool | None = None


class _Call(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


_INFO = Shape(_Info)
_RESULTS = Shape(_Results)
_SIMULATION = Shape(_Simulation)
_MESSAGE = Shape(_Message)
_CALL = Shape(_Call)


def recognises(data: bytes) -> bool:
    """Say whether it has simulations with messages."""
    if not mentions(data, b"simulations"):
        return False
    results = _RESULTS.read_or_none(data)
    simulations = None if results is None else elements_or_none(results.simulations)
    first = _SIMULATION.read_or_none(simulations[0]) if simulations else None
    return first is not None and begins(first.messages, b"[")


def read(data: bytes, name: str) -> list[Recording]:
    """Read each simulation.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        RequestError: If the agent answers in none of them.
    """
    results = _RESULTS.read_or_none(data) or _Results()
    info = _INFO.read_or_none(results.info) or _Info()
    recordings = []
    for _, simulation in _SIMULATION.read_each(results.simulations):
        notes = Notes()
        requests = _requests(simulation, info, notes)
        if requests:
            label = f"{name}[{simulation.task_id}.{simulation.trial}]"
            recordings.append(Recording(KIND, label, requests, notes.told()))
    if not recordings:
        raise RequestError(f"`{name}` holds no simulation of tau2-bench in which the agent answers")
    return recordings


def _requests(simulation: _Simulation, info: _Info, notes: Notes) -> list[RecordedRequest]:
    talk = Talk(notes, {})
    talk.system = (info.environment_info and info.environment_info.policy) or ""
    model = (info.agent_info and info.agent_info.llm) or ""
    requests = []
    for text, message in _MESSAGE.read_each(simulation.messages):
        if message.role == "assistant":
            if talk.count:  # nobody asked for a greeting
                answer = Answer(model, chat_usage(value(message.usage)), seconds(message.timestamp))
                requests.append(talk.request("openai-chat", answer, _UNRECORDED))
            found = _CALL.read_each(message.tool_calls)
            calls = [Call(call.id, call.name, call.arguments) for _, call in found]
            talk.reply(message.content, calls, len(text), "openai-chat")
        elif message.role == "tool" and message.requestor != "user":
            talk.result(message.id or "", partial(_result, message), len(text))
        elif message.role == "user" and not elements_or_none(message.tool_calls):
            talk.say("user", partial(said, message.content), len(text))
    return requests


def _result(message: _Message) -> ToolResult:
    return result_of(message.id, string(message.content))
