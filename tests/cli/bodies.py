"""Small inputs of each kind, made for these tests."""

from __future__ import annotations

import json
from typing import Any

__all__ = [
    "BILLED",
    "BROKEN",
    "CHAT_LIST",
    "LONG",
    "ORPHAN",
    "PLAIN",
    "SESSION",
    "THINKING",
    "call",
    "chat",
    "result",
    "said",
]

Json = dict[str, Any]


def said(role: str, words: str) -> Json:
    """A message of words."""
    return {"role": role, "content": words}


def call(call_id: str, tool: str = "read", **arguments: str) -> Json:
    """An assistant message with one call, as OpenAI has it."""
    function = {"name": tool, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, words: str) -> Json:
    """The message that answers a call, as OpenAI has it."""
    return {"role": "tool", "tool_call_id": call_id, "content": words}


def chat(*messages: Json, model: str = "gpt-5.6", **more: Any) -> bytes:
    """A request to OpenAI Chat."""
    tools = {
        message["tool_calls"][0]["function"]["name"]
        for message in messages
        if "tool_calls" in message
    }
    definitions = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        for name in sorted(tools)
    ]
    body: Json = {"model": model, "messages": list(messages), **more}
    if definitions:
        body["tools"] = definitions
    return json.dumps(body).encode()


PLAIN = chat(said("user", "hi"))
"""Fits anywhere, breaks nothing."""

ORPHAN = chat(said("user", "hi"), result("c9", "42"))
"""A result that nothing asked for."""

LONG = chat(
    said("system", "You fix bugs."),
    said("user", "The sum is wrong."),
    call("c1", path="report.py"),
    result("c1", "def report(rows):\n" + "    total = row.price\n" * 40),
    said("assistant", "It assigns where it should add. Shall I change it?"),
    said("user", "Yes, please."),
    call("c2", tool="test"),
    result("c2", "12 passed"),
)
"""Can be cut to about half."""

CHAT_LIST = json.dumps(json.loads(LONG)["messages"]).encode()
"""Messages alone."""

THINKING = json.dumps(
    {
        "model": "claude-opus-5-5",
        "max_tokens": 2_000,
        "thinking": {"type": "adaptive"},
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "messages": [
            said("user", "Look at everything."),
            *(
                message
                for number in range(6)
                for message in (
                    {
                        "role": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"},
                            {
                                "type": "tool_use",
                                "id": f"t{number}",
                                "name": "read",
                                "input": {"path": f"{number}.py"},
                            },
                        ],
                    },
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": f"t{number}",
                                "content": "a line\n" * 120,
                            }
                        ],
                    },
                )
            ),
        ],
    }
).encode()
"""A long tool loop on a model whose thinking is bound to what stands before it."""

BROKEN = json.dumps(
    {
        "model": "claude-sonnet-4-5",
        "max_tokens": 100,
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
        "messages": [
            said("user", "hi"),
            *(
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": f"t{n}", "name": "read", "input": {}}],
                }
                for n in range(7)
            ),
            said("user", " "),
        ],
    }
).encode()
"""Seven calls without results, and a blank text."""


def _logged(uuid: str, parent: str | None, role: str, content: object, **more: object) -> str:
    message: Json = {"role": role, "content": content, **more}
    if role == "assistant":
        message |= {"id": f"m-{uuid}", "model": "claude-sonnet-4-5"}
    return json.dumps({"type": role, "uuid": uuid, "parentUuid": parent, "message": message})


SESSION = "\n".join(
    [
        _logged("u1", None, "user", "Read both files."),
        _logged(
            "a1",
            "u1",
            "assistant",
            [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a.py"}}],
        ),
        _logged(
            "u2",
            "a1",
            "user",
            [{"type": "tool_result", "tool_use_id": "t1", "content": "x = 1\n" * 50}],
        ),
        _logged("a2", "u2", "assistant", [{"type": "text", "text": "Done."}]),
        "this line is cut o",
        _logged("u3", "a2", "user", "Thanks."),
        _logged("a3", "u3", "assistant", [{"type": "text", "text": "You are welcome."}]),
    ]
).encode()
"""A log of Claude Code: three requests, and a line that cannot be read."""


def _turn(number: int, parent: str | None, tokens: int, output: int) -> list[str]:
    """A turn of a log of Claude Code that says what was billed: what the user wants, and a call."""
    call_ = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {"path": "a.py"}}
    found = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "x = 1\n" * 400}
    usage = {"input_tokens": 12, "cache_read_input_tokens": tokens - 12, "output_tokens": output}
    content: object = "Read it." if parent is None else [found]
    return [
        _logged(f"u{number}", parent, "user", content),
        _logged(f"a{number}", f"u{number}", "assistant", [call_], usage=usage),
    ]


BILLED = "\n".join(
    line
    for number, tokens in enumerate((4_000, 5_650, 7_300, 8_950))
    for line in _turn(number, f"a{number - 1}" if number else None, tokens, 45)
).encode()
"""A log of Claude Code that says what was billed: four requests, each 1,650 tokens larger."""
