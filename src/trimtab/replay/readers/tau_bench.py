"""tau-bench results: the conversations of a customer-service agent, one a task and trial.

Each row has the messages of OpenAI chat as ``traj``, and their bytes are what
was sent. Each assistant message answered all messages before it. What the
simulated user said last ended the run, so no request followed it.
"""

from __future__ import annotations

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
    numbered,
    trimmed,
)
from trimtab.replay.recording import Recording

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
    rows, _ = _rows(data)
    return bool(rows)


def read(data: bytes, name: str) -> list[Recording]:
    """Read the conversation of each row.

    Args:
        data: The whole file. The recordings keep it, and hold views of it.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in any of them.
    """
    rows, broken = _rows(data)
    found = [_recording(row, name) for row in rows]
    recordings = [recording for recording in found if recording is not None]
    if not recordings:
        raise RequestError(f"`{name}` holds no conversation of tau-bench that was answered")
    if broken:
        first = recordings[0]
        note = f"skipped lines that are cut off or no rows: {numbered(broken)}"
        recordings[0] = Recording(first.kind, first.name, first.requests, (note,))
    return recordings


def _rows(data: bytes) -> tuple[list[_Row], list[int]]:
    """Find the rows in an array or on lines, and the numbers of lines that are none."""
    whole = trimmed(data)
    if begins(whole, b"["):
        found = [_ROW.read_or_none(row) for row in elements_or_none(whole) or ()]
        return [row for row in found if row is not None and begins(row.traj, b"[")], []
    rows, broken = [], []
    for number, text in lines(data):
        row = _ROW.read_or_none(text)
        if row is not None and begins(row.traj, b"["):
            rows.append(row)
        else:
            broken.append(number)
    return rows, broken


def _recording(row: _Row, name: str) -> Recording | None:
    texts: list[Bytes] = [memoryview(text) for text in elements_or_none(row.traj) or ()]
    messages = [CHAT_MESSAGE.read_or_none(text) for text in texts]
    known = [message for message in messages if message is not None]
    if len(known) < len(messages):
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
