"""One body of each format that holds everything, and ways to break it at random."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.wire.json_texts import values

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one pixel, as base64 of a PNG."""

PDF = "JVBERi0xLjQKL1R5cGUgL1BhZ2UgL1R5cGUvUGFnZQovVHlwZSAvUGFnZXMK"
"""What a PDF of two pages says of itself, as base64."""

ANTHROPIC: dict[str, Any] = {
    "model": "claude-opus-4-8",
    "max_tokens": 2048,
    "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
    "tools": [
        {"name": "ls", "description": "list", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ],
    "tool_choice": {"type": "auto"},
    "thinking": {"type": "adaptive"},
    "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "messages": [
        {"role": "user", "content": "hello"},
        {"role": "system", "content": "the user is in a hurry"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "b3BhcXVl"},
                {"type": "text", "text": "let me look", "citations": []},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"dir": "/", "n": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}},
                {"type": "tool_use", "id": "toolu_3", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a\nb"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "is_error": True,
                    "content": [
                        {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        },
                    ],
                },
                {"type": "tool_result", "tool_use_id": "toolu_3"},
                {"type": "text", "text": "and these", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                },
                {
                    "type": "document",
                    "title": "t",
                    "source": {"type": "text", "media_type": "text/plain", "data": "words"},
                },
                {"type": "search_result", "source": "s", "title": "t", "content": []},
                {"type": "container_upload", "file_id": "file_1"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
    ],
}

CHAT: dict[str, Any] = {
    "model": "gpt-5.6",
    "max_completion_tokens": 100,
    "response_format": {"type": "json_object"},
    "tools": [
        {
            "type": "function",
            "function": {"name": "ls", "description": "list", "parameters": {"type": "object"}},
        },
        {"type": "custom", "custom": {"name": "patch"}},
    ],
    "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "developer", "content": [{"type": "text", "text": "and kind"}]},
        {"role": "user", "content": "hello"},
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
                {
                    "type": "image_url",
                    "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
                },
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
                {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                {
                    "type": "file",
                    "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a"},
                },
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        {
            "role": "assistant",
            "reasoning_content": "hm",
            "content": "let me look",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "ls", "arguments": '{"dir":"/"}'},
                },
                {"id": "call_2", "type": "custom", "custom": {"name": "patch", "input": "+a"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a\nb"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "ok"}]},
        {"role": "assistant", "content": None, "refusal": "I cannot", "audio": {"id": "audio_1"}},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "or"}, {"type": "refusal", "refusal": "not"}],
        },
        {"role": "user", "content": "thanks"},
    ],
}

GEMINI: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "be brief"}]},
    "tools": [
        {
            "functionDeclarations": [
                {"name": "ls", "description": "list", "parameters": {"type": "OBJECT"}},
                {"name": "look"},
            ]
        },
        {"googleSearch": {}},
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {"maxOutputTokens": 100, "responseSchema": {"type": "OBJECT"}},
    "contents": [
        {
            "parts": [
                {"text": "look", "partMetadata": {"n": 1}},
                {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
                {"inline_data": {"mime_type": "application/pdf", "data": PDF}},
                {
                    "fileData": {"mimeType": "video/mp4", "fileUri": "https://x.test/a.mp4"},
                    "videoMetadata": {"fps": 1},
                },
            ]
        },
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                {"text": "let me look", "thoughtSignature": "c2lh"},
                {
                    "functionCall": {"name": "ls", "args": {"dir": "/", "n": 1.50}},
                    "thoughtSignature": "c2li",
                },
                {"function_call": {"name": "ls"}},
                {"functionCall": {"id": "c3", "name": "look", "args": {}}},
                {"text": "", "thoughtSignature": "c2lj"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "ls", "response": {"output": "a\nb"}}},
                {"function_response": {"name": "ls", "response": {"error": "no", "code": 2}}},
                {
                    "functionResponse": {
                        "id": "c3",
                        "name": "look",
                        "response": {},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}],
                    }
                },
                {"text": "and now?"},
            ],
        },
        {"role": "model", "parts": [{"text": "done"}]},
        {"role": "user", "parts": [{"text": "thanks"}]},
    ],
}

RESPONSES: dict[str, Any] = {
    "model": "gpt-5.6",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "max_output_tokens": 100,
    "instructions": "be brief",
    "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}}},
    "tools": [
        {"type": "function", "name": "ls", "description": "list", "parameters": {"type": "object"}},
        {"type": "custom", "name": "patch"},
        {"type": "web_search"},
    ],
    "input": [
        {"role": "developer", "content": [{"type": "input_text", "text": "and kind"}]},
        {"role": "user", "content": "hello"},
        {
            "type": "message",
            "role": "user",
            "content": [
                {
                    "type": "input_text",
                    "text": "look",
                    "prompt_cache_breakpoint": {"mode": "explicit"},
                },
                {
                    "type": "input_image",
                    "image_url": f"data:image/png;base64,{PIXEL}",
                    "detail": "low",
                },
                {"type": "input_image", "image_url": "https://x.test/a.png"},
                {
                    "type": "input_file",
                    "filename": "a.pdf",
                    "file_data": f"data:application/pdf;base64,{PDF}",
                },
                {"type": "input_file", "file_id": "file-1"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "b3BhcXVl",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [
                {"type": "output_text", "text": "let me look", "annotations": []},
                {"type": "refusal", "refusal": "not all"},
            ],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "ls",
            "arguments": '{"dir":"/"}',
        },
        {
            "type": "custom_tool_call",
            "id": "ctc_1",
            "call_id": "call_2",
            "name": "patch",
            "input": "+a",
        },
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "call_3",
            "action": {"commands": ["ls"], "n": 1.50},
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "a\nb"},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_2",
            "output": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
            ],
        },
        {
            "type": "shell_call_output",
            "call_id": "call_3",
            "output": [
                {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
            ],
        },
        {"type": "compaction", "encrypted_content": "b3BhcXVl"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "thanks"},
    ],
}

RICH: dict[str, dict[str, Any]] = {
    "anthropic": ANTHROPIC,
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "gemini": GEMINI,
}


def dumped(body: dict[str, Any]) -> bytes:
    """The body as a client would send it."""
    return json.dumps(body).encode()


_HOLE = "@@hole@@"

_HISTORIES = ("messages", "contents", "input")


def mutated(body: dict[str, Any], *, only_messages: bool = False) -> st.SearchStrategy[bytes]:
    """The body with any JSON value in place of one of its nodes, or with one key left out."""
    paths = [
        path
        for path in _paths(body, ())
        if path and (not only_messages or (path[0] in _HISTORIES and len(path) > 1))
    ]
    return st.tuples(st.sampled_from(paths), st.one_of(st.none(), values(is_lenient=True))).map(
        lambda drawn: _with_hole(body, *drawn)
    )


def _with_hole(body: dict[str, Any], path: tuple[Any, ...], value: str | None) -> bytes:
    broken = copy.deepcopy(body)
    inner: Any = broken
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = _HOLE
    return json.dumps(broken).replace(f'"{_HOLE}"', value or "").encode()


def _paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from _paths(value[step], (*path, step))
