"""tau-bench results: the conversations of a customer-service agent, one a task and trial.

Each row has the messages of OpenAI chat as ``traj``, and their bytes are what
was sent. Each assistant message answered all messages before it. What the
simulated user said last ended the run, so no request followed it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import Answer
from trimtab.replay.chats import CHAT_MESSAGE, chat_requests
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    elements_or_none,
    lines,
    mentions,
    skipped,
    trimmed,
)
from trimtab.replay.recording import Recording, with_notes

__all__ = ["KIND", "read", "recognises"]

KIND = "tau-bench"


class _Row(msgspec.Struct):
    task_id: int | str | None = None
    trial: int | None = None
    traj: Raw = ABSENT


_ROW = Shape(_Row)


def recognises(data: bytes) -> bool:
    """Say whether its rows have a task and a trajectory."""
    if not mentions(data, b"traj", b"task_id"):
        return False
    return any(row is not None for _, row in _rows(data))


def read(data: bytes, name: str) -> list[Recording]:
    """Read the conversation of each row.

    Args:
        data: The whole file. The recordings keep it, and hold views of it.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in any of them.
    """
    rows = list(_rows(data))
    broken = [number for number, row in rows if number and row is None]
    found = [_recording(row, name) for _, row in rows if row is not None]
    recordings = [recording for recording in found if recording is not None]
    if not recordings:
        raise RequestError(f"`{name}` holds no conversation of tau-bench that was answered")
    return with_notes(recordings, skipped(broken, "no rows"))


def _rows(data: bytes) -> Iterator[tuple[int, _Row | None]]:
    """Find the rows in an array or on lines, each with its line, or 0; None where a line is none."""
    whole = trimmed(data)
    if begins(whole, b"["):
        for _, row in _ROW.read_each(whole):
            if begins(row.traj, b"["):
                yield 0, row
        return
    for number, text in lines(data):
        found = _ROW.read_or_none(text)
        yield number, found if found is not None and begins(found.traj, b"[") else None


def _recording(row: _Row, name: str) -> Recording | None:
    texts: list[Bytes] = [memoryview(text) for text in elements_or_none(row.traj) or ()]
    known = [message for text in texts if (message := CHAT_MESSAGE.read_or_none(text))]
    if len(known) < len(texts):
        return None
    answers = [
        (place, Answer())
        for place, message in enumerate(known)
        if place and message.role == "assistant"
    ]
    if not answers:
        return None
    tools = dict.fromkeys(name for message in known for name in message.called)
    trial = "" if row.trial is None else f".{row.trial}"
    return Recording(
        KIND, f"{name}[{row.task_id}{trial}]", chat_requests(texts, answers, tools=tools)
    )
