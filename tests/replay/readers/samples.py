"""One small recording of each kind, written by hand as the agents write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from trimtab.replay.recording import Reader, RecordedRequest
from trimtab.wire import check

__all__ = ["SAMPLES", "asked", "bodies", "json_lines", "only_requests", "texts_of", "valid"]

Json = dict[str, Any]


def json_lines(*entries: Json | str) -> bytes:
    """Write lines; a string stands as it is."""
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    return "\n".join(texts).encode() + b"\n"


def asked(reader: Reader, data: bytes) -> list[RecordedRequest]:
    """The requests of the only recording."""
    (recording,) = reader.read(data, "log")
    return list(recording.requests)


def bodies(requests: Iterable[RecordedRequest]) -> list[Json]:
    """The decoded bodies."""
    return [json.loads(request.build()) for request in requests]


def valid(requests: Iterable[RecordedRequest]) -> bool:
    """Whether no body breaks a rule of its format."""
    return not any(
        check(request.build(), request.format, unrecorded=request.unrecorded)
        for request in requests
    )


def only_requests(reader: Reader, data: bytes) -> list[Json]:
    """The decoded bodies of the only recording, all of them valid."""
    requests = asked(reader, data)
    assert valid(requests)
    return bodies(requests)


def texts_of(body: Json) -> list[str]:
    """Whatever a body says, in order: any value of ``text``, ``content`` or ``output`` that is words."""
    found: list[str] = []

    def walk(value: Any) -> None:
        for inner in value.values() if isinstance(value, dict) else value:
            if isinstance(inner, dict | list):
                walk(inner)
        if isinstance(value, dict):
            found.extend(
                value[key]
                for key in ("text", "content", "output")
                if isinstance(value.get(key), str)
            )

    walk(body.get("messages") or body.get("input") or body.get("contents") or [])
    return found


USER = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "hello"}

SAMPLES: dict[str, bytes] = {
    "claude-code": json_lines(
        {"type": "user", "uuid": "u", "parentUuid": None, "message": USER},
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "text", "text": "hello"}],
            },
        },
    ),
    "codex": json_lines(
        {"type": "session_meta", "payload": {"id": "s", "instructions": "be brief"}},
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "hi"}],
            },
        },
        {
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "hello"}],
            },
        },
    ),
    "pi": json_lines(
        {"type": "session", "id": "s", "cwd": "/", "provider": "anthropic"},
        {"type": "message", "message": USER},
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "api": "anthropic-messages",
                "model": "claude-x",
                "content": [{"type": "text", "text": "hello"}],
            },
        },
    ),
    "copilot-cli": json_lines(
        {"type": "session.start", "data": {"sessionId": "s", "version": 1}},
        {"type": "user.message", "data": {"content": "hi"}},
        {"type": "assistant.message", "data": {"content": "hello", "toolRequests": []}},
    ),
    "gemini-cli": json_lines(
        {"sessionId": "s", "projectHash": "p", "kind": "main"},
        {"id": "1", "type": "user", "content": "hi"},
        {"id": "2", "type": "gemini", "content": "hello", "model": "gemini-x"},
    ),
    "opencode": json.dumps(
        {
            "info": {"id": "s"},
            "messages": [
                {
                    "info": {"id": "m1", "sessionID": "s", "role": "user", "time": {"created": 1}},
                    "parts": [{"id": "p1", "type": "text", "text": "hi"}],
                },
                {
                    "info": {
                        "id": "m2",
                        "sessionID": "s",
                        "role": "assistant",
                        "time": {"created": 2},
                        "modelID": "gpt-x",
                    },
                    "parts": [{"id": "p2", "type": "text", "text": "hello"}],
                },
            ],
        },
        indent=1,
    ).encode(),
    "trae": json.dumps(
        {
            "task": "t",
            "llm_interactions": [
                {
                    "provider": "anthropic",
                    "model": "claude-x",
                    "input_messages": [USER],
                    "response": {"content": "hello"},
                }
            ],
        },
        indent=1,
    ).encode(),
    "tau2-bench": json.dumps(
        {
            "info": {"agent_info": {"llm": "gpt-x"}},
            "simulations": [{"task_id": "0", "trial": 0, "messages": [USER, ANSWER]}],
        },
        indent=1,
    ).encode(),
    "tau-bench": json.dumps([{"task_id": 0, "trial": 0, "traj": [USER, ANSWER]}]).encode(),
    "swe-agent": json.dumps(
        {"trajectory": [{"action": "ls"}], "history": [USER, ANSWER], "info": {}}, indent=1
    ).encode(),
    "mini-swe-agent": json.dumps(
        {
            "info": {"mini_version": "1.0", "config": {}},
            "messages": [USER, {**ANSWER, "extra": {}}],
            "trajectory_format": "mini-swe-agent-1",
        },
        indent=1,
    ).encode(),
    "litellm-log": json.dumps(
        {
            "messages": [USER],
            "kwargs": {"temperature": 0.0},
            "response": {"model": "gpt-x", "choices": [{"message": ANSWER}]},
        }
    ).encode(),
    "http-exchanges": b"""\
interactions:
- request:
    body: '{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
    method: POST
    uri: https://api.anthropic.com/v1/messages
  response:
    body:
      string: '{"model":"claude-x","usage":{"input_tokens":7,"output_tokens":2}}'
version: 1
""",
    "openai-chat-messages": json.dumps([USER, ANSWER]).encode(),
    "request-bodies": json.dumps({"model": "m", "messages": [USER]}).encode(),
}
"""By kind. Each says ``hi`` and is answered ``hello``."""
