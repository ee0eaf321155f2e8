"""LiteLLM completion logs: a whole request with its answer, one in a file or one on a line.

Messages and tools are those that were sent, in their own bytes; further
arguments of the call (``kwargs``) become members of the body, as LiteLLM
writes them. Files of one run are recordings of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.replay.answers import Answer, chat_usage, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Line,
    Shape,
    begins,
    elements_or_none,
    lines,
    mentions,
    skipped,
    trimmed,
    value,
)
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire.json_spans import dump, object_spans

__all__ = ["KIND", "read", "recognises"]

KIND = "litellm-log"

# What tells LiteLLM how to send, and is not sent.
_NOT_SENT = frozenset({
    "api_base", "api_key", "api_version", "base_url", "client", "custom_llm_provider",
    "drop_params", "extra_body", "extra_headers", "fallbacks", "headers", "messages", "metadata",
    "model", "num_retries", "timeout", "tools",
})  # fmt: skip


class _Log(msgspec.Struct):
    messages: Raw = ABSENT
    tools: Raw = ABSENT
    kwargs: Raw = ABSENT
    response: Raw = ABSENT
    timestamp: float | None = None


class _Arguments(msgspec.Struct):
    tools: Raw = ABSENT
    extra_body: Raw = ABSENT


class _Response(msgspec.Struct):
    model: str | None = None
    created: float | None = None
    choices: Raw = ABSENT
    usage: Raw = ABSENT


_LOG = Shape(_Log)
_ARGUMENTS = Shape(_Arguments)
_RESPONSE = Shape(_Response)


def recognises(data: bytes) -> bool:
    """Say whether a request stands beside its answer."""
    if not mentions(data, b"messages", b"response", b"choices"):
        return False
    return any(_log(text) is not None for _, text in _texts(data))


def read(data: bytes, name: str) -> list[Recording]:
    """Read one request, or one from each line.

    Args:
        data: The whole file. The recording keeps it, and holds views of it.
        name: What the file is called.

    Raises:
        RequestError: If there is none in it.
    """
    requests: list[RecordedRequest] = []
    broken: list[int] = []
    for number, text in _texts(data):
        log = _log(text)
        if log is None:
            broken.append(number)
        else:
            requests.append(_request(*log))
    if not requests:
        raise RequestError(f"`{name}` is no log of LiteLLM")
    return [Recording(KIND, name, requests, skipped(broken, "no logs"))]


def _texts(data: bytes) -> Iterator[Line]:
    """Find the texts that may be logs: all lines, or the whole where the first is none."""
    first = next(lines(data), None)
    if first is not None and _log(first.text) is None:
        whole = trimmed(data)
        if _log(whole) is not None:
            yield Line(first.number, whole)
            return
    yield from lines(data)


def _log(text: Bytes) -> tuple[_Log, _Response, int] | None:
    """Read a log, its answer, and how many messages there are; None where the text is none."""
    log = _LOG.read_or_none(text)
    response = None if log is None else _RESPONSE.read_or_none(log.response)
    if log is None or response is None or not begins(response.choices, b"["):
        return None
    messages = elements_or_none(log.messages)
    return (log, response, len(messages)) if messages else None


def _request(log: _Log, response: _Response, message_count: int) -> RecordedRequest:
    # The proxy's name stands before the model's: it is the client's business.
    model = (response.model or "").removeprefix("litellm_proxy/")
    answer = Answer(model, chat_usage(value(response.usage)), seconds(log.timestamp))
    members = _members(log, model)
    return RecordedRequest(
        format="openai-chat",
        build=partial(_body, members),
        size_bytes=sum(len(key) + len(text) + 4 for key, text in members) + 1,
        message_count=message_count,
        model=model,
        usage=answer.usage,
        at=answer.at if answer.at is not None else response.created,
        unrecorded=frozenset() if model else frozenset({"model"}),
    )


def _members(log: _Log, model: str) -> list[tuple[bytes, Bytes]]:
    """Lay out the body: its members in order, each with its JSON text."""
    arguments = _ARGUMENTS.read_or_none(log.kwargs) or _Arguments()
    tools = next((each for each in (log.tools, arguments.tools) if elements_or_none(each)), None)
    members: list[tuple[bytes, Bytes]] = [(b"model", dump(model or "unknown"))]
    members += _spread(log.kwargs, _NOT_SENT)
    members += _spread(arguments.extra_body, frozenset())
    if tools is not None:
        members.append((b"tools", tools))
    members.append((b"messages", log.messages))
    return list(dict(members).items())


def _spread(text: Raw, left_out: frozenset[str]) -> list[tuple[bytes, Bytes]]:
    if not begins(text, b"{"):
        return []
    whole = bytes(text)
    return [
        (dump(key)[1:-1], whole[start:stop])
        for key, (start, stop) in object_spans(whole).items()
        if key not in left_out
    ]


def _body(members: list[tuple[bytes, Bytes]]) -> bytes:
    pieces = (b"".join((b'"', key, b'":', text)) for key, text in members)
    return b"{%b}" % b",".join(pieces)
