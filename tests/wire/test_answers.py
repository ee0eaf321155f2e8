"""Answers as the providers write them: whole, streamed, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab import Message, Text, Thinking, ToolCall, UnknownFormatError, Usage
from trimtab.messages import Part
from trimtab.wire import Answer, stream_answer, usage_from, write_answer, write_error
from trimtab.wire.answers import Stop, overflow_words

USAGE = Usage(fresh=10, cache_read=30, cache_write=2, output=7, reasoning=3)
WORDS = "naïve 日本語 🙂 and enough words for several pieces"
PARTS: tuple[Part, ...] = (
    Thinking("hm", "SIG"),
    Text(WORDS),
    ToolCall("c1", "read", '{"n": 12345678901234567890}'),
)
NAMES = ("anthropic", "openai-chat", "openai-responses", "gemini")

Json = dict[str, Any]


def answer(stop: Stop = "calls", parts: tuple[Part, ...] = PARTS) -> Answer:
    """An answer of every kind of part."""
    return Answer("a1", "m", parts, stop, USAGE)


def events(name: str, written: Answer) -> list[Json]:
    """What a stream tells, event by event."""
    lines = b"".join(stream_answer(written, name)).decode().splitlines()
    told = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(line) for line in told if line != "[DONE]"]


def test_anthropic_answers_in_blocks() -> None:
    """Thinking with its signature, words, a call with every digit of its input."""
    raw = write_answer(answer(), "anthropic")

    assert b"12345678901234567890" in raw
    value = json.loads(raw)
    assert [block["type"] for block in value["content"]] == ["thinking", "text", "tool_use"]
    assert value["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "SIG"}
    assert value["stop_reason"] == "tool_use"
    assert value["usage"] == {
        "input_tokens": 10,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 30,
        "output_tokens": 7,
    }


def test_chat_answers_with_a_choice() -> None:
    """Reasoning has no place there; a call's arguments are a string."""
    value = json.loads(write_answer(answer(), "openai-chat"))

    (choice,) = value["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == WORDS
    assert choice["message"]["tool_calls"][0]["function"] == {
        "name": "read",
        "arguments": '{"n": 12345678901234567890}',
    }
    assert value["usage"]["prompt_tokens"] == 42
    assert value["usage"]["prompt_tokens_details"] == {"cached_tokens": 30}


def test_chat_without_words_has_null_content() -> None:
    """As the provider writes it."""
    value = json.loads(write_answer(answer(parts=PARTS[2:]), "openai-chat"))

    assert value["choices"][0]["message"]["content"] is None


def test_responses_answers_with_items() -> None:
    """Reasoning, a message, a call."""
    value = json.loads(write_answer(answer(), "openai-responses"))

    assert [item["type"] for item in value["output"]] == ["reasoning", "message", "function_call"]
    assert value["output"][0]["encrypted_content"] == "SIG"
    assert value["status"] == "completed"
    assert value["usage"]["input_tokens"] == 42
    assert value["usage"]["output_tokens_details"] == {"reasoning_tokens": 3}


def test_gemini_answers_with_parts() -> None:
    """A thought with its signature, a text, a call whose args keep their digits."""
    raw = write_answer(answer(), "gemini")

    assert b"12345678901234567890" in raw
    value = json.loads(raw)
    parts = value["candidates"][0]["content"]["parts"]
    assert parts[0] == {"text": "hm", "thought": True, "thoughtSignature": "SIG"}
    assert parts[1] == {"text": WORDS}
    assert parts[2]["functionCall"]["name"] == "read"
    assert value["usageMetadata"]["promptTokenCount"] == 42
    assert value["usageMetadata"]["candidatesTokenCount"] == 4


STOPS: list[tuple[str, Stop, Any]] = [
    ("anthropic", "end", "end_turn"),
    ("anthropic", "length", "max_tokens"),
    ("openai-chat", "end", "stop"),
    ("openai-chat", "length", "length"),
    ("openai-responses", "length", {"reason": "max_output_tokens"}),
    ("gemini", "end", "STOP"),
    ("gemini", "length", "MAX_TOKENS"),
]


@pytest.mark.parametrize(("name", "stop", "told"), STOPS)
def test_an_answer_says_why_it_ends(name: str, stop: Stop, told: Any) -> None:
    """In the provider's words, whole and streamed."""
    raw = write_answer(answer(stop), name).decode()
    streamed = b"".join(stream_answer(answer(stop), name)).decode()

    compact = json.dumps(told, separators=(",", ":"))
    assert compact in raw
    assert compact in streamed


@pytest.mark.parametrize("name", NAMES)
def test_the_usage_of_an_answer_is_read_back(name: str) -> None:
    """What is written is what is read, as far as the format tells it apart."""
    value = json.loads(write_answer(answer(), name))

    told = usage_from(value.get("usage") or value.get("usageMetadata"))
    assert told.total_input == USAGE.total_input
    assert told.cache_read == USAGE.cache_read
    assert told.output == USAGE.output


def test_anthropic_streams_blocks_in_deltas() -> None:
    """The pieces of each block add up to it."""
    told = events("anthropic", answer())

    deltas = [event["delta"] for event in told if event["type"] == "content_block_delta"]
    assert "".join(d.get("text", "") for d in deltas) == WORDS
    assert "".join(d.get("thinking", "") for d in deltas) == "hm"
    assert "".join(d.get("partial_json", "") for d in deltas) == PARTS[2].arguments  # type: ignore[union-attr]
    assert next(d for d in deltas if d["type"] == "signature_delta")["signature"] == "SIG"
    assert told[0]["message"]["usage"]["output_tokens"] == 1
    assert told[-2]["usage"] == {"output_tokens": 7}


def test_redacted_thinking_comes_in_its_start_alone() -> None:
    """There are no words to stream."""
    told = events("anthropic", answer(parts=(Thinking("", "DATA", is_redacted=True),)))

    assert told[1]["content_block"] == {"type": "redacted_thinking", "data": "DATA"}
    assert not [event for event in told if event["type"] == "content_block_delta"]


def test_chat_streams_chunks_and_the_usage_last() -> None:
    """The usage has no choice; the end is said in words of its own."""
    told = events("openai-chat", answer())

    deltas = [event["choices"][0]["delta"] for event in told if event["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == WORDS
    calls = [delta["tool_calls"][0]["function"] for delta in deltas if "tool_calls" in delta]
    assert "".join(call.get("arguments", "") for call in calls) == PARTS[2].arguments  # type: ignore[union-attr]
    assert told[-1]["choices"] == []
    assert stream_answer(answer(), "openai-chat")[-1] == b"data: [DONE]\n\n"


def test_responses_streams_deltas_and_the_whole_last() -> None:
    """The last event holds all of it."""
    told = events("openai-responses", answer())

    pieces = [e["delta"] for e in told if e["type"] == "response.output_text.delta"]
    assert "".join(pieces) == WORDS
    assert told[-1]["response"] == json.loads(write_answer(answer(), "openai-responses"))


@pytest.mark.parametrize("parts", [PARTS, ()])
def test_gemini_streams_chunks_of_its_own_shape(parts: tuple[Part, ...]) -> None:
    """Each is a whole answer with some of the parts; the last says why it ends."""
    told = events("gemini", answer(parts=parts))

    assert [("finishReason" in event["candidates"][0]) for event in told][-1]
    assert sum("finishReason" in event["candidates"][0] for event in told) == 1


@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        ("anthropic", 400, "invalid_request_error"),
        ("anthropic", 529, "overloaded_error"),
        ("openai-chat", 400, "invalid_request_error"),
        ("openai-responses", 500, "server_error"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("gemini", 503, "INTERNAL"),
    ],
)
def test_a_refusal_has_the_providers_shape(name: str, status: int, told: str) -> None:
    """Its kind stands beside its words."""
    value = json.loads(write_error(name, status, "no"))

    assert value["error"]["message"] == "no"
    assert told in json.dumps(value)


@pytest.mark.parametrize("name", NAMES)
def test_an_overflow_names_both_numbers(name: str) -> None:
    """What was sent and what fits."""
    words = overflow_words(name, 300, 200)

    assert "300" in words
    assert "200" in words


@pytest.mark.parametrize("name", ["anthropic", "openai-responses", "gemini"])
def test_what_no_model_answers_with_is_refused(name: str) -> None:
    """A result is the client's to write."""
    result = Message.tool("c", "x").parts

    with pytest.raises(TypeError, match="does not answer with ToolResult"):
        write_answer(answer(parts=result), name)


def test_a_format_that_is_not_known_is_refused() -> None:
    """By its name."""
    with pytest.raises(UnknownFormatError, match="answers of the format 'x' cannot be written"):
        write_answer(answer(), "x")
