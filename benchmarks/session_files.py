"""Make large files of each kind that ``trimtab compact`` reads, one message after the other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.conversation import TOOLS, Exchange, anthropic_messages, chat_messages, exchanges

__all__ = ["KINDS", "write_file"]

Json: TypeAlias = dict[str, Any]

_MODEL = "claude-sonnet-4-5"

KINDS: tuple[str, ...] = ("anthropic request", "chat message list", "claude code log")
"""What :func:`write_file` can make."""


def write_file(path: Path, kind: str, size_bytes: int) -> int:
    """Write a file.

    Args:
        path: Where.
        kind: One of :data:`KINDS`.
        size_bytes: How large it should be; it becomes up to 100 KB larger.

    Returns:
        How large it is.
    """
    pieces = {
        "anthropic request": _request,
        "chat message list": _list,
        "claude code log": _log,
    }[kind]
    with path.open("wb") as file:
        for piece in pieces(size_bytes):
            file.write(piece)
    return path.stat().st_size


def _dumped(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _until(size_bytes: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        yield piece
        size += len(piece)
        if size >= size_bytes:
            return


def _request(size_bytes: int) -> Iterator[bytes]:
    """One Anthropic request body."""
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]
    head: Json = {"model": _MODEL, "max_tokens": 8192, "tools": tools}
    yield _dumped(head)[:-1] + b',"messages":['
    whole = (b",".join(map(_dumped, anthropic_messages(each))) for each in exchanges())
    yield from _with_commas(_until(size_bytes, whole))
    yield b"]}"


def _list(size_bytes: int) -> Iterator[bytes]:
    """A list of chat messages, as agents keep of a run."""
    yield b"["
    whole = (b",".join(map(_dumped, chat_messages(each))) for each in exchanges())
    yield from _with_commas(_until(size_bytes, whole))
    yield b"]"


def _with_commas(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for place, piece in enumerate(pieces):
        yield b"," + piece if place else piece


# ------------------------------------------------------------- Claude Code's log


def _log(size_bytes: int) -> Iterator[bytes]:
    """A session log of Claude Code: a line a block, without compactions.

    Real logs hold each result twice (``toolUseResult``); here all of it goes
    into the largest request, which is the harder case.
    """
    yield from _until(size_bytes, _log_lines())


def _log_lines() -> Iterator[bytes]:
    parent: str | None = None
    numbers = count()
    for response, exchange in enumerate(exchanges()):
        for kind, message in _spoken(exchange, response):
            number = next(numbers)
            uuid = f"{number:08x}-0000-4000-8000-{number:012x}"
            line: Json = {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/dev/project",
                "sessionId": "5e551014-0000-4000-8000-000000000001",
                "version": "2.0.0",
                "gitBranch": "main",
                "type": kind,
                "message": message,
                "uuid": uuid,
                "timestamp": f"2026-02-11T{response // 3600 % 24:02d}:{response // 60 % 60:02d}:{response % 60:02d}.000Z",
            }
            yield _dumped(line) + b"\n"
            parent = uuid


def _spoken(exchange: Exchange, response: int) -> Iterator[tuple[str, Json]]:
    """What an exchange says, one message a line: each block and each result has its own."""
    for message in anthropic_messages(exchange):
        if isinstance(message["content"], str):
            yield "user", message
            continue
        for block in message["content"]:
            if message["role"] == "user":
                yield "user", {"role": "user", "content": [block]}
                continue
            yield (
                "assistant",
                {
                    "id": f"msg_{response:08d}",
                    "type": "message",
                    "role": "assistant",
                    "model": _MODEL,
                    "content": [block],
                    "usage": {"input_tokens": 4, "output_tokens": 200},
                },
            )
