"""Small recorded sessions, made for these tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from trimtab import Usage
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.replay.weights import Said, Weights
from trimtab.session import Session
from trimtab.tokens import Measure, counter_for
from trimtab.turn import Turn
from trimtab.wire import Call

__all__ = [
    "MODEL",
    "Json",
    "agent",
    "answer",
    "billed",
    "call",
    "recorded",
    "recording",
    "result",
    "said",
    "turn_of",
    "user",
    "weighed",
]

Json = dict[str, Any]
MODEL = "claude-sonnet-4-5"
_SESSION = Session()


def user(words: str) -> Json:
    """The user says something."""
    return {"role": "user", "content": words}


def answer(words: str) -> Json:
    """The model answers."""
    return {"role": "assistant", "content": words}


def call(call_id: str, **arguments: str) -> Json:
    """The model calls a tool."""
    block = {"type": "tool_use", "id": call_id, "name": "read", "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(call_id: str, words: str) -> Json:
    """The tool answers."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": words}
    return {"role": "user", "content": [block]}


def recorded(messages: Sequence[Json], model: str = MODEL, **known: Any) -> RecordedRequest:
    """A recorded request to Anthropic."""
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    fields = {"model": model, "max_tokens": 100, "tools": tools, "messages": messages}
    body = json.dumps(fields).encode()
    return RecordedRequest(
        "anthropic", lambda: body, len(body), len(messages), model=model, **known
    )


def recording(requests: Iterable[RecordedRequest], kind: str = "claude-code") -> Recording:
    """A recorded session."""
    return Recording(kind, "it", tuple(requests))


def agent(
    turns: int, words: str = "some words of a file ", at: float = 1_000.0
) -> list[RecordedRequest]:
    """A session of an agent that reads a file on each turn."""
    messages = [user("Mend the parser. Never touch the public names of the library.")]
    requests = [recorded(messages, at=at)]
    for number in range(turns):
        messages = [
            *messages,
            call(f"c{number}", path=f"src/module_{number}/parser.py"),
            result(f"c{number}", f"value_number_{number} = {number}\n" + words * 40),
        ]
        requests.append(recorded(messages, at=at + 10.0 * (number + 1)))
    return requests


def turn_of(request: RecordedRequest) -> Turn:
    """A request, read."""
    return _SESSION.read(Call(request.build(), model=request.model), request.format)


def weighed(request: RecordedRequest, weights: Weights | None = None) -> list[Said]:
    """The messages of a request, weighed."""
    measure = Measure(counter_for(request.model), request.model)
    return (weights or Weights()).weigh(turn_of(request), request, measure)


def billed(
    requests: Sequence[RecordedRequest], head: int, rate: float = 1.0
) -> list[RecordedRequest]:
    """The same requests, each billed at its head and its messages, as a cache reads them."""
    found: list[RecordedRequest] = []
    weights, before = Weights(), 0
    for request in requests:
        total = head + round(rate * sum(said.counted for said in weighed(request, weights)))
        usage = Usage(fresh=0, cache_read=before, cache_write=max(0, total - before), output=50)
        found.append(replace(request, usage=usage, unrecorded=frozenset({"system"})))
        before = total
    return found


def said(name: str, tokens: int, role: str = "assistant", *, is_result: bool = False) -> Said:
    """A message, as a bill sees it."""
    return Said(name.encode(), tokens, tokens, 1, role, is_result)
