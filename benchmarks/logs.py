"""Make session logs of agents that write JSON lines, each as its agent writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeAlias

from benchmarks.conversation import Exchange, exchanges

__all__ = ["LOGS", "made"]

Json: TypeAlias = dict[str, Any]

_AT = "2026-02-11T00:00:00.000Z"


def made(kind: str, size_bytes: int) -> bytes:
    """Write a log.

    Args:
        kind: One of :data:`LOGS`.
        size_bytes: How large it should be; it becomes up to 200 KB larger.
    """
    lines: list[bytes] = []
    size = 0
    for line in LOGS[kind]():
        lines.append(json.dumps(line, ensure_ascii=False).encode())
        size += len(lines[-1]) + 1
        if size >= size_bytes:
            break
    return b"\n".join(lines) + b"\n"


def _codex() -> Iterator[Json]:
    """Results stand there twice: as items, and as events for the screen."""
    yield _codex_line("session_meta", {"id": "s", "instructions": "be brief"})
    yield _codex_line("turn_context", {"model": "gpt-5.4"})
    for number, exchange in enumerate(exchanges()):
        if exchange.request:
            content = [{"type": "input_text", "text": exchange.request}]
            yield _codex_item("message", role="user", content=content)
        content = [{"type": "output_text", "text": exchange.words}]
        yield _codex_item("message", role="assistant", content=content)
        for call in exchange.calls:
            arguments = json.dumps(call.arguments)
            yield _codex_item("function_call", call_id=call.id, name=call.tool, arguments=arguments)
        yield _codex_line("event_msg", {"type": "token_count", "info": _codex_count(number)})
        for call in exchange.calls:
            yield _codex_item("function_call_output", call_id=call.id, output=call.result)
            told = {"type": "exec_command_end", "call_id": call.id, "stdout": call.result}
            yield _codex_line("event_msg", told)


def _codex_line(kind: str, payload: Json) -> Json:
    return {"timestamp": _AT, "type": kind, "payload": payload}


def _codex_item(kind: str, **members: Any) -> Json:
    return _codex_line("response_item", {"type": kind, **members})


def _codex_count(number: int) -> Json:
    last = {"input_tokens": 1000 + number, "cached_input_tokens": 900, "output_tokens": 50}
    total = {"input_tokens": 1000 * (number + 1), "total_tokens": 1050 * (number + 1)}
    return {"total_token_usage": total, "last_token_usage": last}


def _pi() -> Iterator[Json]:
    yield {"type": "session", "id": "s", "cwd": "/", "timestamp": _AT}
    numbers = count()
    usage = {"input": 3, "output": 50, "cacheRead": 900, "cacheWrite": 40}
    for exchange in exchanges():
        for message in _pi_messages(exchange, usage):
            number = next(numbers)
            tree = {"id": str(number), "parentId": str(number - 1) if number else None}
            yield {"type": "message", "timestamp": _AT, **tree, "message": message}


def _pi_messages(exchange: Exchange, usage: Json) -> Iterator[Json]:
    if exchange.request:
        yield {"role": "user", "content": [{"type": "text", "text": exchange.request}]}
    said: list[Json] = [{"type": "text", "text": exchange.words}]
    said += [
        {"type": "toolCall", "id": call.id, "name": call.tool, "arguments": call.arguments}
        for call in exchange.calls
    ]
    api = {"api": "anthropic-messages", "model": "claude-sonnet-4-5"}
    yield {"role": "assistant", "content": said, "usage": usage, **api}
    for call in exchange.calls:
        content = [{"type": "text", "text": call.result}]
        yield {"role": "toolResult", "toolCallId": call.id, "content": content, "isError": False}


def _gemini() -> Iterator[Json]:
    yield {"sessionId": "s", "projectHash": "p", "kind": "main"}
    numbers = count()
    tokens = {"input": 1000, "output": 50, "cached": 900, "thoughts": 10}
    for exchange in exchanges():
        if exchange.request:
            content = [{"text": exchange.request}]
            yield {"id": f"u{next(numbers)}", "type": "user", "content": content}
        calls = [
            {
                "id": call.id,
                "name": call.tool,
                "args": call.arguments,
                "result": [
                    {
                        "functionResponse": {
                            "id": call.id,
                            "name": call.tool,
                            "response": {"output": call.result},
                        }
                    }
                ],
            }
            for call in exchange.calls
        ]
        said = {"type": "gemini", "content": exchange.words, "model": "gemini-3-pro"}
        key = {"id": f"m{next(numbers)}", "timestamp": _AT}
        yield {**key, **said, "tokens": tokens}
        yield {**key, **said, "tokens": tokens, "toolCalls": calls}


def _copilot() -> Iterator[Json]:
    """Results stand there twice: as they are sent, and as they are shown."""
    yield _event("session.start", selectedModel="claude-sonnet-4.6")
    yield _event("system.message", role="system", content="be brief")
    for exchange in exchanges():
        if exchange.request:
            yield _event("user.message", content=exchange.request)
        calls = [
            {"toolCallId": call.id, "name": call.tool, "arguments": call.arguments}
            for call in exchange.calls
        ]
        yield _event("assistant.message", content=exchange.words, toolRequests=calls)
        for call in exchange.calls:
            result = {"content": call.result, "detailedContent": call.result}
            yield _event("tool.execution_complete", toolCallId=call.id, success=True, result=result)


def _event(kind: str, **data: Any) -> Json:
    return {"type": kind, "timestamp": _AT, "data": data}


LOGS: dict[str, Callable[[], Iterator[Json]]] = {
    "codex": _codex,
    "pi": _pi,
    "gemini-cli": _gemini,
    "copilot-cli": _copilot,
}
"""Kinds that :func:`made` can write; each yields the lines of a session without end."""
