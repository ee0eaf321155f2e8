"""One recording of each kind in which a tool is called, with whatever else its reader looks at."""

from __future__ import annotations

import json
from typing import Any

from tests.replay.readers.samples import json_lines

__all__ = ["DOCUMENTS", "LINES", "USAGES", "written"]

Json = dict[str, Any]
Key = str | int

USER = {"role": "user", "content": "hi"}
CALLING = {
    "role": "assistant",
    "content": "look:",
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "a.py"}
DONE = {"role": "assistant", "content": "done"}
AT = "2026-02-11T00:00:00.000Z"
OPENAI_USAGE = {"prompt_tokens": 70, "completion_tokens": 2}

LINES: dict[str, list[Json]] = {
    "claude-code": [
        {"type": "user", "uuid": "1", "parentUuid": None, "timestamp": AT, "message": USER},
        {
            "type": "assistant",
            "uuid": "2",
            "parentUuid": "1",
            "isSidechain": False,
            "message": {
                "id": "m1",
                "role": "assistant",
                "model": "claude-x",
                "content": [
                    {"type": "text", "text": "look:"},
                    {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
                ],
                "usage": {"input_tokens": 70, "output_tokens": 2},
            },
        },
        {
            "type": "user",
            "uuid": "3",
            "parentUuid": "2",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}],
            },
        },
        {
            "type": "attachment",
            "uuid": "4",
            "parentUuid": "3",
            "attachment": {"type": "hook_success", "hookEvent": "SessionStart", "content": "x"},
        },
        {
            "type": "assistant",
            "uuid": "5",
            "parentUuid": "4",
            "message": {
                "id": "m2",
                "role": "assistant",
                "content": [{"type": "text", "text": "done"}],
            },
        },
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "s", "base_instructions": {"text": "be brief"}}},
        {"type": "turn_context", "payload": {"model": "gpt-x"}},
        {
            "type": "response_item",
            "timestamp": AT,
            "payload": {"type": "message", "role": "user", "content": []},
        },
        {
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "id": "f1",
                "call_id": "c1",
                "name": "ls",
                "arguments": "{}",
            },
        },
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {
                    "total_token_usage": {"total_tokens": 72},
                    "last_token_usage": {"input_tokens": 70, "output_tokens": 2},
                },
            },
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
        },
        {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
        {"type": "compacted", "payload": {"message": "so far", "replacement_history": []}},
        {
            "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": []},
        },
    ],
    "pi": [
        {"type": "session", "id": "s", "cwd": "/"},
        {"type": "message", "id": "1", "parentId": None, "message": USER},
        {
            "type": "message",
            "id": "2",
            "parentId": "1",
            "timestamp": AT,
            "message": {
                "role": "assistant",
                "api": "anthropic-messages",
                "model": "claude-x",
                "content": [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                    {"type": "toolCall", "id": "c1", "name": "ls", "arguments": {"path": "."}},
                ],
                "usage": {"input": 70, "output": 2},
                "stopReason": "toolUse",
            },
        },
        {
            "type": "message",
            "id": "3",
            "parentId": "2",
            "message": {
                "role": "toolResult",
                "toolCallId": "c1",
                "isError": False,
                "content": [{"type": "text", "text": "a.py"}],
            },
        },
        {
            "type": "compaction",
            "id": "4",
            "parentId": "3",
            "summary": "so far",
            "firstKeptEntryId": "3",
        },
        {
            "type": "message",
            "id": "5",
            "parentId": "4",
            "message": {"role": "bashExecution", "command": "ls", "output": "a.py"},
        },
        {
            "type": "message",
            "id": "6",
            "parentId": "5",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        },
    ],
    "copilot-cli": [
        {"type": "session.start", "data": {"selectedModel": "gpt-x"}},
        {"type": "system.message", "data": {"content": "be brief"}},
        {"type": "user.message", "data": {"content": "hi", "transformedContent": "hi!"}},
        {
            "type": "assistant.message",
            "timestamp": AT,
            "data": {
                "content": "look:",
                "requestId": "r1",
                "toolRequests": [{"toolCallId": "c1", "name": "ls", "arguments": {"path": "."}}],
            },
        },
        {"type": "assistant.usage", "data": {"inputTokens": 70, "outputTokens": 2}},
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c1", "success": True, "result": {"content": "a.py"}},
        },
        {"type": "session.compaction_complete", "data": {"summaryContent": "so far"}},
        {"type": "assistant.message", "data": {"content": "done", "parentToolCallId": "c0"}},
    ],
    "gemini-cli": [
        {"sessionId": "s", "projectHash": "p"},
        {"id": "1", "type": "user", "content": [{"text": "hi"}]},
        {
            "id": "2",
            "type": "gemini",
            "timestamp": AT,
            "model": "gemini-x",
            "content": "look:",
            "tokens": {"input": 70, "output": 2, "cached": 0, "thoughts": 0},
            "toolCalls": [
                {
                    "id": "c1",
                    "name": "ls",
                    "args": {"path": "."},
                    "result": [{"functionResponse": {"name": "ls", "response": {"output": "a"}}}],
                }
            ],
        },
        {"id": "3", "type": "gemini", "content": "done"},
        {"$rewindTo": "3"},
    ],
    "tau-bench": [
        {"task_id": 0, "trial": 0, "traj": [USER, CALLING, RESULT, DONE]},
        {"task_id": 1, "trial": 0, "traj": [USER, DONE]},
    ],
    "litellm-log": [
        {
            "messages": [USER],
            "kwargs": {"temperature": 0.0, "tools": [], "extra_body": {"seed": 1}},
            "timestamp": 1.5,
            "response": {
                "model": "gpt-x",
                "created": 1,
                "choices": [{"message": DONE}],
                "usage": OPENAI_USAGE,
            },
        },
        {"messages": [USER, DONE, USER], "response": {"choices": [{"message": DONE}]}},
    ],
    "openai-chat-messages": [USER, CALLING, RESULT, DONE],
    "request-bodies": [
        {"model": "m", "messages": [USER]},
        {"model": "m", "messages": [USER, DONE, USER]},
    ],
}
"""Kinds that are written line by line."""

DOCUMENTS: dict[str, Any] = {
    "opencode": {
        "info": {"id": "s"},
        "messages": [
            {
                "info": {"id": "m1", "sessionID": "s", "role": "user", "time": {"created": 1}},
                "parts": [
                    {"id": "p1", "type": "text", "text": "hi"},
                    {"id": "p2", "type": "file", "mime": "image/png", "url": "data:x;base64,aGk="},
                ],
            },
            {
                "info": {
                    "id": "m2",
                    "sessionID": "s",
                    "role": "assistant",
                    "time": {"created": 2},
                    "providerID": "anthropic",
                    "modelID": "claude-x",
                },
                "parts": [
                    {
                        "id": "p3",
                        "type": "reasoning",
                        "text": "hm",
                        "metadata": {"anthropic": {"signature": "sig"}},
                    },
                    {
                        "id": "p4",
                        "type": "tool",
                        "callID": "c1",
                        "tool": "ls",
                        "state": {
                            "status": "completed",
                            "input": {"path": "."},
                            "output": "a.py",
                            "time": {"compacted": 3},
                            "attachments": [],
                        },
                    },
                    {
                        "id": "p5",
                        "type": "step-finish",
                        "tokens": {"input": 70, "output": 2, "cache": {"read": 0, "write": 0}},
                    },
                    {"id": "p6", "type": "text", "text": "done"},
                ],
            },
        ],
    },
    "trae": {
        "llm_interactions": [
            {
                "timestamp": AT,
                "provider": "anthropic",
                "model": "claude-x",
                "input_messages": [{"role": "system", "content": "be brief"}, USER],
                "response": {
                    "model": "claude-x",
                    "content": "look:",
                    "usage": {"input_tokens": 70, "output_tokens": 2},
                    "tool_calls": [{"call_id": "c1", "name": "ls", "arguments": {"path": "."}}],
                },
                "tools_available": ["ls"],
            },
            {
                "input_messages": [
                    {
                        "role": "user",
                        "content": None,
                        "tool_result": {"call_id": "c1", "success": True, "result": "a.py"},
                    }
                ],
                "response": {"content": "done"},
            },
        ]
    },
    "tau2-bench": {
        "info": {
            "agent_info": {"llm": "gpt-x"},
            "environment_info": {"policy": "be brief"},
        },
        "simulations": [
            {
                "task_id": "0",
                "trial": 0,
                "messages": [
                    USER,
                    {
                        "role": "assistant",
                        "content": None,
                        "timestamp": AT,
                        "tool_calls": [{"id": "c1", "name": "ls", "arguments": {"path": "."}}],
                        "usage": OPENAI_USAGE,
                    },
                    {"role": "tool", "id": "c1", "requestor": "assistant", "content": "a.py"},
                    DONE,
                ],
            }
        ],
    },
    "swe-agent": {
        "trajectory": [{"query": [USER]}, {"messages": [USER, DONE]}],
        "history": [
            {**USER, "agent": "main"},
            {**CALLING, "agent": "main"},
            {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
            {**DONE, "agent": "main"},
        ],
    },
    "mini-swe-agent": {
        "trajectory_format": "mini-swe-agent-1",
        "info": {"mini_version": "1.0"},
        "messages": [
            USER,
            {
                **CALLING,
                "extra": {"response": {"model": "gpt-x", "created": 1, "usage": OPENAI_USAGE}},
            },
            RESULT,
            DONE,
        ],
    },
    "http-exchanges": {
        "interactions": [
            {
                "request": {
                    "uri": "https://api.anthropic.com/v1/messages",
                    "body": json.dumps({"model": "claude-x", "max_tokens": 9, "messages": [USER]}),
                },
                "response": {
                    "body": {
                        "string": json.dumps(
                            {"model": "claude-x", "usage": {"input_tokens": 70, "output_tokens": 2}}
                        )
                    }
                },
            },
            {
                "request": {
                    "uri": "https://api.openai.com/v1/chat/completions",
                    "parsed_body": {"model": "gpt-x", "messages": [USER]},
                },
                "response": {"parsed_body": {"model": "gpt-x", "usage": OPENAI_USAGE}},
            },
        ]
    },
}
"""Kinds that are one document."""

USAGES: dict[str, tuple[Key, ...]] = {
    "claude-code": (1, "message", "usage"),
    "codex": (4, "payload", "info"),
    "gemini-cli": (2, "tokens"),
    "litellm-log": (0, "response", "usage"),
    "mini-swe-agent": ("messages", 1, "extra", "response", "usage"),
    "opencode": ("messages", 1, "parts", 2, "tokens"),
    "pi": (2, "message", "usage"),
    "tau2-bench": ("simulations", 0, "messages", 1, "usage"),
    "trae": ("llm_interactions", 0, "response", "usage"),
}
"""Where it is told what was billed for the first request, of kinds that tell it with the answer."""


def written(kind: str, value: Any) -> bytes:
    """Write a recording as its agent does."""
    return json_lines(*value) if kind in LINES else json.dumps(value).encode()
