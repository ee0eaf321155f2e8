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

RICH: dict[str, dict[str, Any]] = {"anthropic": ANTHROPIC, "openai-chat": CHAT}


def dumped(body: dict[str, Any]) -> bytes:
    """The body as a client would send it."""
    return json.dumps(body).encode()


_HOLE = "@@hole@@"


def mutated(body: dict[str, Any], *, only_messages: bool = False) -> st.SearchStrategy[bytes]:
    """The body with any JSON value in place of one of its nodes, or with one key left out."""
    paths = [
        path
        for path in _paths(body, ())
        if path and (not only_messages or (path[0] == "messages" and len(path) > 1))
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
