"""What an answer says about itself while it passes by, in whatever pieces it comes."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trimtab import Refusal, Usage
from trimtab.errors import UnknownFormatError
from trimtab.wire import streams
from trimtab.wire.streams import StreamReader

FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")

USAGE = Usage(fresh=20, cache_read=100, output=22, reasoning=5)
TRICKY = 'hé 你好 😀 \\ "usage":{"prompt_tokens":9} "message_delta" event: error\n\n\ud83d } ]'
"""Text that looks like what matters, with characters and escapes to cut in two."""


def sse(*events: Any, end: str = "\n") -> bytes:
    """Events as a stream; an event that is a string stands there as it is."""
    texts = (
        event if isinstance(event, str) else f"data: {json.dumps(event, ensure_ascii=False)}"
        for event in events
    )
    whole = "".join(text.replace("\n", end) + end + end for text in texts)
    return whole.encode("utf-8", "backslashreplace").replace(b"\\\\ud83d", b"\\ud83d")


ANTHROPIC: list[Any] = [
    {
        "type": "message_start",
        "message": {
            "model": "claude-x",
            "stop_reason": None,
            "usage": {"input_tokens": 20, "cache_read_input_tokens": 100, "output_tokens": 2},
        },
    },
    "event: ping\ndata: {}",
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": TRICKY}},
    {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9, "input_tokens": None}},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 22, "output_tokens_details": {"thinking_tokens": 5}},
    },
    {"type": "message_stop"},
]
CHAT: list[Any] = [
    ": OPENROUTER PROCESSING",
    {"model": "gpt-x", "choices": [{"delta": {"content": TRICKY}, "finish_reason": None}]},
    {"model": "gpt-x", "choices": [{"finish_reason": "stop"}, {}], "usage": None},
    {
        "model": "gpt-x",
        "choices": [],
        "usage": {
            "prompt_tokens": 120,
            "completion_tokens": 22,
            "prompt_tokens_details": {"cached_tokens": 100},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    },
    "data: [DONE]",
]
RESPONSES: list[Any] = [
    {"type": "response.created", "response": {"model": "r-x", "status": "in_progress"}},
    {"type": "response.output_text.delta", "delta": TRICKY},
    {
        "type": "response.completed",
        "response": {
            "model": "r-x",
            "status": "completed",
            "error": None,
            "output": [{"text": TRICKY}],
            "usage": {
                "input_tokens": 120,
                "input_tokens_details": {"cached_tokens": 100},
                "output_tokens": 22,
                "output_tokens_details": {"reasoning_tokens": 5},
            },
        },
    },
]
GEMINI: list[Any] = [
    {
        "candidates": [{"content": {"parts": [{"text": TRICKY}]}}],
        "usageMetadata": {"promptTokenCount": 120, "cachedContentTokenCount": 100},
        "modelVersion": "gemini-x",
    },
    {
        "candidates": [{"content": {"parts": [{"functionCall": {"args": {"a": [[{}]]}}}]}}],
        "usageMetadata": {"promptTokenCount": 120, "thoughtsTokenCount": 5},
        "modelVersion": "gemini-x",
    },
    {
        "candidates": [{"finishReason": "STOP"}],
        "usageMetadata": {"candidatesTokenCount": 17, "cachedContentTokenCount": None},
        "modelVersion": "gemini-x",
    },
]


def array(chunks: Sequence[Any], **layout: Any) -> bytes:
    """Chunks as Gemini sends them without ``alt=sse``."""
    return b"[" + b"\n,\r\n".join(json.dumps(chunk, **layout).encode() for chunk in chunks) + b"]"


STREAMS: dict[str, tuple[str, bytes, str, str]] = {
    "anthropic": ("anthropic", sse(*ANTHROPIC), "claude-x", "end_turn"),
    "chat": ("openai-chat", sse(*CHAT), "gpt-x", "stop"),
    "responses": ("openai-responses", sse(*RESPONSES), "r-x", "completed"),
    "gemini": ("gemini", sse(*GEMINI), "gemini-x", "STOP"),
    "gemini array": ("gemini", array(GEMINI), "gemini-x", "STOP"),
    "gemini array, indented": ("gemini", array(GEMINI, indent=2), "gemini-x", "STOP"),
    "gemini lines": ("gemini", array(GEMINI)[1:-1].replace(b"\n,\r\n", b"\n"), "gemini-x", "STOP"),
    "returns": ("anthropic", sse(*ANTHROPIC, end="\r"), "claude-x", "end_turn"),
    "both ends": ("openai-chat", sse(*CHAT, end="\r\n"), "gpt-x", "stop"),
    "no blank line last": ("gemini", sse(*GEMINI).rstrip(), "gemini-x", "STOP"),
    "byte order mark": ("gemini", b"\xef\xbb\xbf\r\n" + sse(*GEMINI), "gemini-x", "STOP"),
    "whole": ("openai-responses", json.dumps(RESPONSES[2]).encode(), "r-x", "completed"),
}


def read(format_name: str, pieces: Iterable[bytes]) -> StreamReader:
    """A reader that has seen all of it."""
    reader = StreamReader(format_name)
    for piece in pieces:
        reader.feed(piece)
    reader.close()
    return reader


def told(reader: StreamReader) -> tuple[Any, ...]:
    """All that it knows."""
    return (reader.usage, reader.model, reader.stop_reason, reader.refusal)


def bytes_of(stream: bytes) -> list[bytes]:
    """One by one."""
    return [stream[place : place + 1] for place in range(len(stream))]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_tells_what_it_bills_who_answers_and_how_it_ends(name: str) -> None:
    """Of each format, whole and byte by byte."""
    format_name, stream, model, stop = STREAMS[name]
    known = (USAGE, model, stop, None)

    assert told(read(format_name, [stream])) == known
    assert told(read(format_name, bytes_of(stream))) == known


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_may_be_cut_in_two_anywhere(name: str) -> None:
    """Inside a character, an escape, a line end too."""
    format_name, stream, model, stop = STREAMS[name]
    for place in range(len(stream)):
        reader = read(format_name, [stream[:place], b"", stream[place:]])

        assert told(reader) == (USAGE, model, stop, None)


@given(name=some.sampled_from(sorted(STREAMS)), data=some.data())
def test_however_a_stream_is_cut_what_it_tells_is_the_same(
    name: str, data: some.DataObject
) -> None:
    """Also a stream that is cut off or damaged."""
    format_name, stream, _, _ = STREAMS[name]
    stream = stream[: data.draw(some.integers(0, len(stream)))]
    if data.draw(some.booleans()):
        place = data.draw(some.integers(0, len(stream)))
        stream = stream[:place] + data.draw(some.binary(max_size=3)) + stream[place:]
    places = sorted(data.draw(some.lists(some.integers(0, len(stream)), max_size=9)))
    pieces = [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]

    assert told(read(format_name, pieces)) == told(read(format_name, [stream]))


@given(
    stream=some.lists(
        some.binary(max_size=9)
        | some.sampled_from([b"data:", b"\n\n", b"\r", b'{"error"', b":{", b'"', b"}", b"[", b"\\"])
    )
)
def test_no_bytes_make_a_reader_raise(stream: list[bytes]) -> None:
    """Nor does what a wrong format sends."""
    for format_name in FORMATS:
        assert told(read(format_name, stream)) == told(read(format_name, [b"".join(stream)]))
    for other, whole, _, _ in STREAMS.values():
        for format_name in FORMATS:
            if format_name != other:
                read(format_name, [whole])


@pytest.mark.parametrize(
    "variant",
    [
        sse(
            {"choices": [{"finish_reason": "stop"}]}, {"choices": [], "usage": {"prompt_tokens": 9}}
        ),
        sse({"choices": [{"finish_reason": "stop"}]}, {"usage": {"prompt_tokens": 9}}),
        sse(
            {"choices": None, "usage": {"prompt_tokens": 9}},
            {"choices": [{"finish_reason": "stop"}]},
        ),
        sse({"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}),
        sse({"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 9}}]}),
        # a line that the sender broke in two, and one that nothing ends
        b"\n\n".join(
            (
                b'data: {"usage":\ndata: {"prompt_tokens":9}}',
                b'id: 5\nretry: 10\ndata:{"choices":[{"finish_reason":',
                b'data\n\ndata: {"choices":[{"finish_reason":"stop"}]}',
            )
        ),
    ],
)
def test_chat_tells_usage_in_many_ways(variant: bytes) -> None:
    """With and without choices, in the chunk of the last choice, inside it."""
    for pieces in ([variant], bytes_of(variant)):
        reader = read("openai-chat", pieces)

        assert (reader.usage, reader.stop_reason) == (Usage(fresh=9), "stop")


def test_a_stream_without_usage_says_none() -> None:
    """So that somebody estimates it."""
    reader = read("openai-chat", [sse(*CHAT[:3])])

    assert (reader.usage, reader.stop_reason) == (None, "stop")


def test_what_is_known_can_be_asked_on_the_way() -> None:
    """As where a client hangs up."""
    reader = StreamReader("anthropic")
    assert told(reader) == (None, None, None, None)

    reader.feed(sse(*ANTHROPIC[:4]))

    assert told(reader) == (Usage(fresh=20, cache_read=100, output=9), "claude-x", None, None)


def test_a_response_that_is_incomplete_says_why() -> None:
    """The reason, not only that it is."""
    ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    reader = read("openai-responses", [sse({"type": "response.incomplete", "response": ended})])

    assert reader.stop_reason == "max_output_tokens"


def test_a_blocked_prompt_says_why() -> None:
    """Gemini answers it with no candidate."""
    reader = read("gemini", [sse({"promptFeedback": {"blockReason": "SAFETY"}})])

    assert reader.stop_reason == "SAFETY"


OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
FAILED = {
    "type": "response.failed",
    "response": {"error": {"code": "context_length_exceeded", "message": "x"}},
}
QUEUED = {"error": {"code": 503, "message": "later", "status": "UNAVAILABLE"}}


@pytest.mark.parametrize(
    ("format_name", "stream", "kind"),
    [
        ("anthropic", sse(*ANTHROPIC[:3], OVERLOADED), "overloaded"),
        ("anthropic", sse("event: error\ndata: " + json.dumps(OVERLOADED)), "overloaded"),
        ("anthropic", sse(*ANTHROPIC[:3], "event: error\ndata: Overloaded"), "overloaded"),
        ("anthropic", sse(*ANTHROPIC[:3], "event:error\ndata:"), "other"),
        ("openai-responses", sse(*RESPONSES[:2], FAILED), "overflow"),
        ("openai-responses", sse({"type": "error", "code": "rate_limit_exceeded"}), "rate limit"),
        ("openai-chat", sse(*CHAT[:2], {"error": {"message": "no", "code": 429}}), "rate limit"),
        ("openai-chat", sse(*CHAT[:2], {"error": "server is overloaded"}), "overloaded"),
        ("gemini", sse(*GEMINI[:2], QUEUED), "overloaded"),
        ("gemini", array([*GEMINI[:2], QUEUED]), "overloaded"),
        ("openai-chat", json.dumps(QUEUED).encode(), "overloaded"),
    ],
)
def test_an_error_inside_a_stream_is_sorted(format_name: str, stream: bytes, kind: Any) -> None:
    """It came behind the start of the answer; the first one counts."""
    for pieces in ([stream], bytes_of(stream), [stream, sse({"error": {"code": 401}})]):
        reader = read(format_name, pieces)

        assert reader.refusal == Refusal(kind=kind, is_after_start=True)


def test_numbers_before_an_error_are_kept() -> None:
    """What was billed was billed."""
    reader = read("anthropic", [sse(*ANTHROPIC[:4], OVERLOADED)])

    assert reader.usage == Usage(fresh=20, cache_read=100, output=9)


@pytest.mark.parametrize("piece_bytes", [1_000, 65_536])
def test_an_event_that_is_too_long_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    """Those before and behind it are read."""
    monkeypatch.setattr(streams, "_MOST_BYTES", 5_000)
    long = {"candidates": [], "usageMetadata": {"toolUsePromptTokenCount": 7}, "x": "y" * 100_000}
    chunks = [*GEMINI[:2], long, GEMINI[2]]
    for stream in (sse(*chunks), array(chunks), sse(*chunks, end="\r\n")):
        pieces = [stream[a : a + piece_bytes] for a in range(0, len(stream), piece_bytes)]
        reader = read("gemini", pieces)

        assert told(reader) == (USAGE, "gemini-x", "STOP", None)


@pytest.mark.parametrize("stream_of", [sse, lambda *chunks: array(chunks)])
def test_a_long_stream_takes_no_memory(stream_of: Any) -> None:
    """What has passed is forgotten."""
    stream = stream_of(*GEMINI[:2] * 3_000, GEMINI[2])
    reader = StreamReader("gemini")
    tracemalloc.start()
    for start in range(0, len(stream), 4_096):
        reader.feed(stream[start : start + 4_096])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(stream) > 1_000_000
    assert peak < 100_000
    assert reader.usage == USAGE


def test_a_large_event_in_small_pieces_takes_linear_time() -> None:
    """Two megabytes in pieces of 100 bytes: nothing is searched twice."""
    event = json.dumps(RESPONSES[2] | {"x": "y" * 2_000_000}).encode()
    for stream in (b"data: " + event + b"\n\n", event):
        pieces = (stream[a : a + 100] for a in range(0, len(stream), 100))

        assert read("openai-responses", pieces).usage == USAGE


@pytest.mark.parametrize("stream", [b"[" * 200_000, b'{"a":' * 100_000, b"[{" + b"[" * 200_000])
def test_deep_nesting_is_passed_over(stream: bytes) -> None:
    """It raises nothing and takes no long time."""
    assert told(read("gemini", [stream, stream[:1_000]])) == (None, None, None, None)


def test_an_unknown_format_is_named() -> None:
    """With those that are known."""
    with pytest.raises(UnknownFormatError, match="known are anthropic, openai-chat"):
        StreamReader("morse")
