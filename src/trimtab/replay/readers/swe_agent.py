"""SWE-agent trajectories: the history of an agent, and what was sent at each step where that is told.

What was sent is not the history: old observations are shortened on the way.
A step of newer versions holds the messages that were sent for it (``query``),
of others those that stood there after it (``messages``), which are those that
the next step sent. Where a step holds neither, the history of its agent is
taken. Usage is recorded as totals of the run alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import Answer
from trimtab.replay.chats import CHAT_MESSAGE, chat_requests, reduced
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    elements_or_none,
    mentions,
    value,
)
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire.json_spans import dump

__all__ = ["KIND", "read", "recognises"]

KIND = "swe-agent"


class _Run(msgspec.Struct):
    trajectory: Raw = ABSENT
    history: Raw = ABSENT


class _Step(msgspec.Struct):
    query: Raw = ABSENT
    messages: Raw = ABSENT


class _Message(msgspec.Struct):
    role: str | None = None
    agent: str | None = None
    content: Raw = ABSENT
    tool_calls: Raw = ABSENT
    tool_call_ids: Raw = ABSENT


_RUN = Shape(_Run)
_STEP = Shape(_Step)
_MESSAGE = Shape(_Message)


def recognises(data: bytes) -> bool:
    """Say whether it has a trajectory and a history, both lists."""
    if not mentions(data, b"trajectory", b"history"):
        return False
    run = _RUN.read_or_none(data)
    return run is not None and begins(run.trajectory, b"[") and begins(run.history, b"[")


def read(data: bytes, name: str) -> list[Recording]:
    """Read a run: one recording, or one for each of its agents.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in it.
    """
    run = _RUN.read_or_none(data) or _Run()
    agents: dict[str, list[_Message]] = {}
    for message in _messages(run.history):
        agents.setdefault(message.agent or "", []).append(message)
    recordings = []
    for place, (agent, history) in enumerate(agents.items()):
        sent = _sent(run.trajectory, history) if len(agents) == 1 else _beginnings(history)
        if sent:
            label = f"{name}#{agent}" if place else name
            recordings.append(Recording(KIND, label, _requests(sent)))
    if not recordings:
        raise RequestError(f"`{name}` is a run of SWE-agent in which nobody answers")
    return recordings


def _messages(texts: Raw) -> list[_Message]:
    found = (_MESSAGE.read_or_none(text) for text in elements_or_none(texts) or ())
    return [message for message in found if message is not None]


def _sent(trajectory: Raw, history: Sequence[_Message]) -> list[list[_Message]]:
    """Find what was sent for each answer of the only agent there is."""
    steps = [_STEP.read_or_none(step) or _Step() for step in elements_or_none(trajectory) or ()]
    sent = _beginnings(history)
    if len(steps) != len(sent):
        return sent  # steps that failed are in one of the two alone: nothing tells which
    queries = [_messages(step.query) for step in steps]
    after = [[], *(_messages(step.messages) for step in steps)]
    return [
        query or before or beginning
        for query, before, beginning in zip(queries, after, sent, strict=False)
    ]


def _beginnings(history: Sequence[_Message]) -> list[list[_Message]]:
    """What precedes each answer, example conversations not counted."""
    return [
        list(history[:place])
        for place, message in enumerate(history)
        if place and message.role == "assistant"
    ]


def _requests(sent: Sequence[Sequence[_Message]]) -> list[RecordedRequest]:
    same: dict[Bytes, Bytes] = {}  # what several requests share is held once
    lists = [[same.setdefault(text, text) for text in map(_written, messages)] for messages in sent]
    tools = _called(chain.from_iterable(lists))
    return [
        request
        for texts in lists
        for request in chat_requests(texts, [(len(texts), Answer())], tools=tools)
    ]


def _written(message: _Message) -> Bytes:
    """Write a message as it is sent."""
    answered = value(message.tool_call_ids)
    call_id = answered[0] if isinstance(answered, list) and answered else None
    members = [(b"role", Raw(dump(message.role))), (b"content", message.content)]
    if elements_or_none(message.tool_calls):
        members.append((b"tool_calls", message.tool_calls))
    if call_id is not None:
        members.append((b"tool_call_id", Raw(dump(call_id))))
    return reduced(members)


def _called(texts: Iterable[Bytes]) -> list[str]:
    found = (CHAT_MESSAGE.read_or_none(text) for text in texts)
    return list(dict.fromkeys(name for message in found if message for name in message.called))
