"""Write answers as the providers do: whole, as a stream of events, and as an error.

For whoever stands in for a provider, such as the fake one in
:mod:`trimtab.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Raw

from trimtab.errors import UnknownFormatError
from trimtab.messages import Part, Text, Thinking, ToolCall
from trimtab.usage import Usage
from trimtab.wire.json_spans import dump, encode_json_text

__all__ = ["Answer", "Stop", "overflow_words", "stream_answer", "write_answer", "write_error"]

Json: TypeAlias = dict[str, Any]

Stop: TypeAlias = Literal["end", "calls", "length"]
"""Why an answer ends: it is complete, it calls tools, or it is as long as it may be."""

_PIECE_CHARACTERS = 24
"""Characters of a text that come in one event of a stream."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered.

    Attributes:
        id: The provider's id of it.
        model: The model that answered.
        parts: Text, thinking and tool calls, in order.
        stop: Why it ends.
        usage: What is billed.
    """

    id: str
    model: str
    parts: tuple[Part, ...]
    stop: Stop
    usage: Usage


def write_answer(answer: Answer, format: str) -> bytes:  # noqa: A002 - the word for it
    """Write an answer as one JSON body.

    Raises:
        UnknownFormatError: If no answers of that format can be written.
    """
    return dump(_writer(format).whole(answer))


def stream_answer(answer: Answer, format: str) -> list[bytes]:  # noqa: A002 - the word for it
    """Write an answer as the server-sent events of a stream, one piece an event.

    Raises:
        UnknownFormatError: If no answers of that format can be written.
    """
    return list(_writer(format).events(answer))


def write_error(format: str, status: int, message: str) -> bytes:  # noqa: A002 - the word for it
    """Write the body of a refusal.

    Args:
        format: Name of the format.
        status: HTTP status.
        message: The provider's words.

    Raises:
        UnknownFormatError: If no answers of that format can be written.
    """
    return dump(_writer(format).error(status, message))


def overflow_words(format: str, sent_tokens: int, window_tokens: int) -> str:  # noqa: A002 - the word for it
    """Say what a provider says to a request that is larger than its window.

    Raises:
        UnknownFormatError: If no answers of that format can be written.
    """
    return _writer(format).overflow.format(sent=sent_tokens, window=window_tokens)


class _Writer(NamedTuple):
    whole: Callable[[Answer], Json]
    events: Callable[[Answer], Iterator[bytes]]
    error: Callable[[int, str], Json]
    overflow: str


def _writer(name: str) -> _Writer:
    if name not in _WRITERS:
        raise UnknownFormatError(f"answers of the format {name!r} cannot be written")
    return _WRITERS[name]


def _event(value: Json, name: str = "") -> bytes:
    named = b"event: " + name.encode() + b"\n" if name else b""
    return named + b"data: " + dump(value) + b"\n\n"


def _pieces(text: str) -> list[str]:
    return [
        text[start : start + _PIECE_CHARACTERS] for start in range(0, len(text), _PIECE_CHARACTERS)
    ]


def _texts(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


def _calls(parts: Sequence[Part]) -> list[ToolCall]:
    return [part for part in parts if isinstance(part, ToolCall)]


# ------------------------------------------------------------------ Anthropic


def _anthropic(answer: Answer) -> Json:
    return {
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [_anthropic_block(part) for part in answer.parts],
        "stop_reason": {"end": "end_turn", "calls": "tool_use", "length": "max_tokens"}[
            answer.stop
        ],
        "stop_sequence": None,
        "usage": _anthropic_usage(answer.usage),
    }


def _anthropic_usage(usage: Usage) -> Json:
    return {
        "input_tokens": usage.fresh,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    }


def _anthropic_block(part: Part) -> Json:
    match part:
        case Thinking(is_redacted=True):
            return {"type": "redacted_thinking", "data": part.opaque}
        case Thinking():
            return {"type": "thinking", "thinking": part.text, "signature": part.opaque}
        case ToolCall():
            arguments = Raw(encode_json_text(part.arguments or "{}"))
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}
        case Text():
            return {"type": "text", "text": part.text}
        case _:
            raise TypeError(f"a model does not answer with {type(part).__name__}")


def _anthropic_events(answer: Answer) -> Iterator[bytes]:
    whole = _anthropic(answer)
    start = {**whole, "content": [], "stop_reason": None}
    start["usage"] = {**whole["usage"], "output_tokens": 1}
    yield _event({"type": "message_start", "message": start}, "message_start")
    for place, part in enumerate(answer.parts):
        block, deltas = _anthropic_deltas(part)
        yield _event(
            {"type": "content_block_start", "index": place, "content_block": block},
            "content_block_start",
        )
        for delta in deltas:
            yield _event(
                {"type": "content_block_delta", "index": place, "delta": delta},
                "content_block_delta",
            )
        yield _event({"type": "content_block_stop", "index": place}, "content_block_stop")
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": answer.usage.output}
    yield _event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
    yield _event({"type": "message_stop"}, "message_stop")


def _anthropic_deltas(part: Part) -> tuple[Json, list[Json]]:
    block = _anthropic_block(part)
    match part:
        case Text():
            deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(part.text)]
            return {**block, "text": ""}, deltas
        case Thinking(is_redacted=False):
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(part.text)]
            deltas.append({"type": "signature_delta", "signature": part.opaque})
            return {**block, "thinking": "", "signature": ""}, deltas
        case ToolCall():
            pieces = _pieces(part.arguments or "{}")
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            return {**block, "input": {}}, deltas
        case _:
            return block, []


def _anthropic_error(status: int, message: str) -> Json:
    kinds = {401: "authentication_error", 413: "request_too_large", 429: "rate_limit_error"}
    kinds |= {500: "api_error", 529: "overloaded_error"}
    error = {"type": kinds.get(status, "invalid_request_error"), "message": message}
    return {"type": "error", "error": error, "request_id": "req_fake"}


# ---------------------------------------------------------------- OpenAI Chat


def _chat(answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": _texts(answer.parts) or None}
    if calls := _calls(answer.parts):
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _CHAT_STOPS[answer.stop]}
    return {
        "id": answer.id,
        "object": "chat.completion",
        "created": 0,
        "model": answer.model,
        "choices": [choice],
        "usage": _chat_usage(answer.usage),
    }


_CHAT_STOPS = {"end": "stop", "calls": "tool_calls", "length": "length"}


def _chat_usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.total_input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total_input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chat_events(answer: Answer) -> Iterator[bytes]:
    def chunk(delta: Json, stop: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        return _event({**head, "choices": [choice]})

    head = {"id": answer.id, "object": "chat.completion.chunk", "created": 0, "model": answer.model}
    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(_texts(answer.parts)):
        yield chunk({"content": piece})
    for place, call in enumerate(_calls(answer.parts)):
        named = {"name": call.name, "arguments": ""}
        begun = {"index": place, "id": call.id, "type": "function", "function": named}
        yield chunk({"tool_calls": [begun]})
        for piece in _pieces(call.arguments or "{}"):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield chunk({}, _CHAT_STOPS[answer.stop])
    yield _event({**head, "choices": [], "usage": _chat_usage(answer.usage)})
    yield b"data: [DONE]\n\n"


def _openai_error(status: int, message: str) -> Json:
    is_overflow = "maximum context length" in message or "context window" in message
    code = "context_length_exceeded" if is_overflow else None
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


# ----------------------------------------------------------- OpenAI Responses


def _responses(answer: Answer) -> Json:
    is_cut = answer.stop == "length"
    return {
        "id": answer.id,
        "object": "response",
        "created_at": 0,
        "status": "incomplete" if is_cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
        "model": answer.model,
        "output": [_responses_item(answer, place) for place in range(len(answer.parts))],
        "usage": {
            "input_tokens": answer.usage.total_input,
            "input_tokens_details": {"cached_tokens": answer.usage.cache_read},
            "output_tokens": answer.usage.output,
            "output_tokens_details": {"reasoning_tokens": answer.usage.reasoning},
            "total_tokens": answer.usage.total_input + answer.usage.output,
        },
    }


def _responses_item(answer: Answer, place: int) -> Json:
    part = answer.parts[place]
    item_id = f"{answer.id}_{place}"
    match part:
        case Thinking():
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            return {
                "type": "reasoning",
                "id": f"rs_{item_id}",
                "summary": summary,
                "encrypted_content": part.opaque,
            }
        case ToolCall():
            return {
                "type": "function_call",
                "id": f"fc_{item_id}",
                "call_id": part.id,
                "name": part.name,
                "arguments": part.arguments or "{}",
                "status": "completed",
            }
        case Text():
            content = {"type": "output_text", "text": part.text, "annotations": []}
            return {
                "type": "message",
                "id": f"msg_{item_id}",
                "role": "assistant",
                "status": "completed",
                "content": [content],
            }
        case _:
            raise TypeError(f"a model does not answer with {type(part).__name__}")


def _responses_events(answer: Answer) -> Iterator[bytes]:
    whole = _responses(answer)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield _event({"type": "response.created", "response": begun}, "response.created")
    for place, part in enumerate(answer.parts):
        item = whole["output"][place]
        kind = "response.output_item.added"
        yield _event({"type": kind, "output_index": place, "item": item}, kind)
        if isinstance(part, Text):
            kind = "response.output_text.delta"
            for piece in _pieces(part.text):
                yield _event({"type": kind, "output_index": place, "delta": piece}, kind)
        kind = "response.output_item.done"
        yield _event({"type": kind, "output_index": place, "item": item}, kind)
    kind = "response.incomplete" if answer.stop == "length" else "response.completed"
    yield _event({"type": kind, "response": whole}, kind)


# --------------------------------------------------------------------- Gemini


def _gemini(answer: Answer) -> Json:
    return _gemini_chunk(answer, [_gemini_part(part) for part in answer.parts], is_last=True)


def _gemini_chunk(answer: Answer, parts: list[Json], *, is_last: bool) -> Json:
    usage = answer.usage
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "MAX_TOKENS" if answer.stop == "length" else "STOP"
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.total_input,
            "cachedContentTokenCount": usage.cache_read,
            "candidatesTokenCount": usage.output - usage.reasoning,
            "thoughtsTokenCount": usage.reasoning,
            "totalTokenCount": usage.total_input + usage.output,
        },
        "modelVersion": answer.model,
        "responseId": answer.id,
    }


def _gemini_part(part: Part) -> Json:
    match part:
        case Thinking():
            signature = {"thoughtSignature": part.opaque} if part.opaque else {}
            return {"text": part.text, "thought": True, **signature}
        case ToolCall():
            arguments = Raw(encode_json_text(part.arguments or "{}"))
            return {"functionCall": {"name": part.name, "args": arguments}}
        case Text():
            return {"text": part.text}
        case _:
            raise TypeError(f"a model does not answer with {type(part).__name__}")


def _gemini_events(answer: Answer) -> Iterator[bytes]:
    sent: list[Json] = []
    for part in answer.parts:
        if isinstance(part, Text):
            sent += [{"text": piece} for piece in _pieces(part.text)]
        else:
            sent.append(_gemini_part(part))
    for place, piece in enumerate(sent or [{"text": ""}]):
        is_last = place >= len(sent) - 1
        yield _event(_gemini_chunk(answer, [piece], is_last=is_last))


def _gemini_error(status: int, message: str) -> Json:
    kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
    told = kinds.get(status, "INTERNAL")
    return {"error": {"code": status, "message": message, "status": told}}


_OPENAI_OVERFLOW = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in "
    "{sent} tokens. Please reduce the length of the messages."
)

_WRITERS = {
    "anthropic": _Writer(
        _anthropic,
        _anthropic_events,
        _anthropic_error,
        "prompt is too long: {sent} tokens > {window} maximum",
    ),
    "openai-chat": _Writer(_chat, _chat_events, _openai_error, _OPENAI_OVERFLOW),
    "openai-responses": _Writer(_responses, _responses_events, _openai_error, _OPENAI_OVERFLOW),
    "gemini": _Writer(
        _gemini,
        _gemini_events,
        _gemini_error,
        "The input token count ({sent}) exceeds the maximum number of tokens allowed ({window}).",
    ),
}
