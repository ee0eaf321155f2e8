"""What does it cost to look at a stream while it passes by?

Beside it: decoding every event of the stream with ``orjson``, which is what a
tool does that does not know which events matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson

from benchmarks.figures import Answer, Row, Target, interleaved
from trimtab import Usage
from trimtab.wire import StreamReader

__all__ = ["KINDS", "answer", "made", "seen"]

_PIECE_BYTES = 16 * 1024
_MOST_MS = 10.0
"""For a megabyte: 100 MB/s."""

_WORDS = ("def ", "read", "(self", ", path", "):\n", "    return", ' "text"', " für", " 你好", ".")

Json = dict[str, Any]
Events = Iterator[tuple[str, Json]]


def answer(*, size_bytes: int = 4_000_000, runs: int = 15) -> Answer:
    """Measure it.

    Args:
        size_bytes: About how long each stream is.
        runs: How often each is timed.
    """
    return Answer(
        "streams",
        f"Looking at a stream of {size_bytes / 1e6:g} MB",
        ("what", "ms a MB", "MB/s (fastest)", "MB/s (median)", "`orjson`, ms a MB"),
        tuple(_row(kind, size_bytes, runs) for kind in KINDS),
        f"`StreamReader.feed` in pieces of {_PIECE_BYTES // 1024} KB. Events as the APIs send "
        "them, a few letters of text each. Beside it: `orjson.loads` of each event's data, with "
        "the events cut apart already. The target is for the median; times are fastest / median "
        f"of {runs} interleaved runs.",
    )


def _row(kind: str, size_bytes: int, runs: int) -> Row:
    format_name, stream = made(kind, size_bytes)
    things: dict[str, Callable[[], object]] = {
        "ours": partial(seen, format_name, stream),
        "orjson": partial(_decode_all, _data(stream)),
    }
    times = interleaved(runs, things)
    megabytes = len(stream) / 1e6
    ours, theirs = (
        (time.fastest * 1e3 / megabytes, time.median * 1e3 / megabytes)
        for time in (times["ours"], times["orjson"])
    )
    cells = (
        kind,
        f"{ours[0]:.2f} / {ours[1]:.2f}",
        *(f"{1e3 / taken:.0f}" for taken in ours),
        f"{theirs[0]:.2f} / {theirs[1]:.2f}",
    )
    is_sse = stream.startswith((b"data:", b"event:"))
    return Row(cells, Target(_MOST_MS, ours[1]) if is_sse else None)


def seen(format_name: str, stream: bytes) -> Usage | None:
    """Let a reader look at a stream, piece by piece."""
    reader = StreamReader(format_name)
    for start in range(0, len(stream), _PIECE_BYTES):
        reader.feed(stream[start : start + _PIECE_BYTES])
    reader.close()
    return reader.usage


def _data(stream: bytes) -> list[bytes]:
    if stream.startswith(b"["):
        return [stream]
    lines = stream.split(b"\n")
    data = [line[6:] for line in lines if line.startswith(b"data: ")]
    return [line for line in data if line != b"[DONE]"]


def _decode_all(data: list[bytes]) -> None:
    for event in data:
        orjson.loads(event)


# -------------------------------------------------------------------- streams


def made(kind: str, size_bytes: int) -> tuple[str, bytes]:
    """Make a stream.

    Args:
        kind: One of :data:`KINDS`.
        size_bytes: About how long it is.

    Returns:
        The name of its format, and its bytes.
    """
    format_name, events = KINDS[kind]
    return format_name, events(size_bytes)


def _texts(size_bytes: int, event_bytes: int) -> Iterator[str]:
    for place in range(max(1, size_bytes // event_bytes)):
        yield _WORDS[place % len(_WORDS)] + _WORDS[place * 7 % len(_WORDS)]


def _sse(events: Events) -> bytes:
    """Name each event, where it has a name."""
    lines = []
    for name, data in events:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        lines.append(f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n")
    return "".join(lines).encode()


def _anthropic(size_bytes: int) -> bytes:
    return _sse(_anthropic_events(size_bytes))


def _anthropic_events(size_bytes: int) -> Events:
    usage = {"input_tokens": 1_200, "cache_read_input_tokens": 40_000, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6"}
    yield "message_start", {"type": "message_start", "message": message | {"usage": usage}}
    for text in _texts(size_bytes, 135):
        delta = {"type": "text_delta", "text": text}
        yield (
            "content_block_delta",
            {"type": "content_block_delta", "index": 0, "delta": delta},
        )
    last = {"output_tokens": 900, "output_tokens_details": {"thinking_tokens": 300}}
    delta = {"stop_reason": "end_turn", "stop_sequence": ""}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": last}
    yield "message_stop", {"type": "message_stop"}


def _chat(size_bytes: int) -> bytes:
    return _sse(_chat_events(size_bytes)) + b"data: [DONE]\n\n"


def _chat_events(size_bytes: int) -> Events:
    chunk = {
        "id": "chatcmpl-BmZyZKQ3b1i5eYkGz8N2tV6w7xR4",
        "object": "chat.completion.chunk",
        "created": 1_764_000_000,
        "model": "gpt-5.2",
        "service_tier": "default",
        "system_fingerprint": None,
    }
    for text in _texts(size_bytes, 270):
        choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": None}
        yield "", chunk | {"choices": [choice], "usage": None, "obfuscation": "kQ3b1i5e"}
    yield "", chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = {
        "prompt_tokens": 41_200,
        "completion_tokens": 900,
        "prompt_tokens_details": {"cached_tokens": 40_000},
        "completion_tokens_details": {"reasoning_tokens": 300},
    }
    yield "", chunk | {"choices": [], "usage": usage}


def _responses(size_bytes: int) -> bytes:
    return _sse(_responses_events(size_bytes))


def _responses_events(size_bytes: int) -> Events:
    response: Json = {"id": "resp_1", "object": "response", "model": "gpt-5.2", "error": None}
    began = response | {"status": "in_progress", "usage": None}
    yield "response.created", {"type": "response.created", "response": began}
    number = 0
    for number, text in enumerate(_texts(size_bytes, 260)):
        yield (
            "response.output_text.delta",
            {
                "type": "response.output_text.delta",
                "item_id": "msg_68a1b2c3d4e5f60718293a4b5c6d7e8f",
                "output_index": 0,
                "content_index": 0,
                "delta": text,
                "logprobs": [],
                "obfuscation": "kQ3b1i5eYk",
                "sequence_number": number,
            },
        )
    usage = {
        "input_tokens": 41_200,
        "input_tokens_details": {"cached_tokens": 40_000},
        "output_tokens": 900,
        "output_tokens_details": {"reasoning_tokens": 300},
    }
    ended = response | {"status": "completed", "usage": usage}
    yield (
        "response.completed",
        {"type": "response.completed", "sequence_number": number + 1, "response": ended},
    )


def _gemini(size_bytes: int) -> bytes:
    return _sse(("", chunk) for chunk in _gemini_chunks(size_bytes, 430))


def _gemini_array(size_bytes: int) -> bytes:
    chunks = (json.dumps(chunk, indent=2) for chunk in _gemini_chunks(size_bytes, 720))
    return ("[" + "\n,\r\n".join(chunks) + "\n]").encode()


def _gemini_chunks(size_bytes: int, chunk_bytes: int) -> Iterator[Json]:
    usage: Json = {
        "promptTokenCount": 41_200,
        "cachedContentTokenCount": 40_000,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 41_200}],
        "thoughtsTokenCount": 300,
    }
    tail = {"modelVersion": "gemini-3-flash-preview", "responseId": "kQ3baZyZKQ3b1i5eYkGz8N"}
    for number, text in enumerate(_texts(size_bytes, chunk_bytes)):
        content = {"parts": [{"text": text * 4}], "role": "model"}
        told = usage | {"candidatesTokenCount": number, "totalTokenCount": 41_500 + number}
        yield {"candidates": [{"content": content, "index": 0}], "usageMetadata": told, **tail}
    content = {"parts": [{"text": ""}], "role": "model"}
    last = {"content": content, "finishReason": "STOP", "index": 0}
    told = usage | {"candidatesTokenCount": 600, "totalTokenCount": 42_100}
    yield {"candidates": [last], "usageMetadata": told, **tail}


KINDS: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "anthropic": ("anthropic", _anthropic),
    "openai-chat": ("openai-chat", _chat),
    "openai-responses": ("openai-responses", _responses),
    "gemini": ("gemini", _gemini),
    "gemini, as an array": ("gemini", _gemini_array),
}
"""What is measured, by name: the name of the format, and what makes a stream."""
