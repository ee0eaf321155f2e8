"""mini-swe-agent trajectories: one list of OpenAI-chat messages, with the whole answers beside them.

Of a message only what the provider takes is sent; ``extra`` and
``timestamp`` stay with the agent. ``extra.response`` is the answer as it
came, with the model and what it billed. Thoughts in it are never sent back.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import Answer, chat_usage
from trimtab.replay.chats import CHAT_MESSAGE, chat_requests, reduced
from trimtab.replay.json_lines import ABSENT, Shape, elements_or_none, mentions, value
from trimtab.replay.recording import Recording

__all__ = ["KIND", "read", "recognises"]

KIND = "mini-swe-agent"

_SENT = ("role", "content", "tool_calls", "tool_call_id", "name")


class _Run(msgspec.Struct):
    trajectory_format: str | None = None
    info: Raw = ABSENT
    messages: Raw = ABSENT


class _Info(msgspec.Struct):
    mini_version: str | None = None
    config: Raw = ABSENT


class _Message(msgspec.Struct):
    role: Raw = ABSENT
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    tool_call_id: Raw = ABSENT
    name: Raw = ABSENT
    extra: Raw = ABSENT


class _Extra(msgspec.Struct):
    response: Raw = ABSENT


class _Response(msgspec.Struct):
    model: str | None = None
    created: float | None = None
    usage: Raw = ABSENT


_RUN = Shape(_Run)
_INFO = Shape(_Info)
_MESSAGE = Shape(_Message)
_EXTRA = Shape(_Extra)
_RESPONSE = Shape(_Response)


def recognises(data: bytes) -> bool:
    """Say whether it is a run that names the agent's format, or its version."""
    if not (mentions(data, b"trajectory_format") or mentions(data, b"mini_version")):
        return False
    run = _RUN.read_or_none(data)
    return run is not None and _is_run(run)


def read(data: bytes, name: str) -> list[Recording]:
    """Read a run.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in it.
    """
    run = _RUN.read_or_none(data)
    found = [] if run is None else elements_or_none(run.messages) or []
    messages = [message for text in found if (message := _MESSAGE.read_or_none(text))]
    answers = [
        (place, _answer(message))
        for place, message in enumerate(messages)
        if place and value(message.role) == "assistant"
    ]
    if not answers:
        raise RequestError(f"`{name}` is a run of mini-swe-agent in which nobody answers")
    texts = [reduced((key.encode(), getattr(each, key)) for key in _SENT) for each in messages]
    tools = dict.fromkeys(name for text in texts for name in CHAT_MESSAGE.read(text).called)
    unrecorded = frozenset({"model", "tools"} if tools else {"model"})
    requests = chat_requests(texts, answers, tools=tools, unrecorded=unrecorded)
    return [Recording(KIND, name, requests)]


def _is_run(run: _Run) -> bool:
    if (run.trajectory_format or "").startswith("mini-swe-agent"):
        return True
    info = _INFO.read_or_none(run.info)
    return info is not None and info.mini_version is not None


def _answer(message: _Message) -> Answer:
    extra = _EXTRA.read_or_none(message.extra)
    response = None if extra is None else _RESPONSE.read_or_none(extra.response)
    if response is None:
        return Answer()
    told = value(response.usage)
    return Answer(response.model or "", chat_usage(told), response.created)
