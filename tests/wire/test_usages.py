"""What an answer says that it billed, in one meaning for all providers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trimtab import Usage
from trimtab.errors import UnknownFormatError
from trimtab.wire.usages import usage_from, usage_of

ANTHROPIC = {
    "input_tokens": 3,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 20,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 30},
}
CHAT = {
    "prompt_tokens": 123,
    "completion_tokens": 50,
    "total_tokens": 173,
    "prompt_tokens_details": {"cached_tokens": 100, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 30},
}
RESPONSES = {
    "input_tokens": 123,
    "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 20},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 30},
    "total_tokens": 173,
}
GEMINI = {
    "promptTokenCount": 120,
    "cachedContentTokenCount": 100,
    "candidatesTokenCount": 20,
    "thoughtsTokenCount": 30,
    "toolUsePromptTokenCount": 3,
    "totalTokenCount": 173,
    "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 120}],
}
GEMINI_SDK = {
    "prompt_token_count": 120,
    "cached_content_token_count": 100,
    "candidates_token_count": 20,
    "thoughts_token_count": 30,
    "tool_use_prompt_token_count": 3,
    "total_token_count": 173,
}
SEVERAL_PASSES = {
    "input_tokens": 400,
    "cache_read_input_tokens": 9_000,
    "output_tokens": 300,
    "output_tokens_details": {"thinking_tokens": 70},
    "iterations": [
        {"type": "message", "input_tokens": 200, "output_tokens": 100},
        {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3_500},
        {
            "type": "message",
            "input_tokens": 23,
            "cache_read_input_tokens": 100,
            "output_tokens": 50,
        },
        {"type": "advisor_message", "input_tokens": 77, "output_tokens": 88},
    ],
}


def as_object(value: Any) -> Any:
    """The same as an SDK gives it."""
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(**{key: as_object(inner) for key, inner in value.items()})


@pytest.mark.parametrize("shape", [dict, MappingProxyType, as_object])
@pytest.mark.parametrize(
    ("told", "usage"),
    [
        (ANTHROPIC, Usage(fresh=3, cache_read=100, cache_write=20, output=50, reasoning=30)),
        (CHAT, Usage(fresh=23, cache_read=100, output=50, reasoning=30)),
        (RESPONSES, Usage(fresh=3, cache_read=100, cache_write=20, output=50, reasoning=30)),
        (GEMINI, Usage(fresh=23, cache_read=100, output=50, reasoning=30)),
        (GEMINI_SDK, Usage(fresh=23, cache_read=100, output=50, reasoning=30)),
        # the last pass over the conversation, not the sum over all
        (SEVERAL_PASSES, Usage(fresh=23, cache_read=100, output=50, reasoning=50)),
        (
            {"input_tokens": 0, "output_tokens": 0, "iterations": [{"type": "compaction"}]},
            Usage(),
        ),
        ({"input_tokens": 5, "iterations": None}, Usage(fresh=5)),
        # DeepSeek's words, and a gateway that counts the cache beside the prompt
        ({"prompt_tokens": 12, "prompt_cache_hit_tokens": 8}, Usage(fresh=4, cache_read=8)),
        (
            {"prompt_tokens": 4, "prompt_tokens_details": {"cached_tokens": 100}},
            Usage(fresh=4, cache_read=100),
        ),
        # a gateway that counts what it has written as read at once
        (
            {
                "prompt_tokens": 110,
                "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 100},
            },
            Usage(cache_read=100, cache_write=10),
        ),
        # without details, or only with some
        ({"input_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}, Usage(fresh=3)),
        ({"candidatesTokenCount": 3}, Usage(output=3)),
        ({"totalTokenCount": 3, "thoughtsTokenCount": 2}, Usage(output=2, reasoning=2)),
        ({"promptTokenCount": 3, "cachedContentTokenCount": 5}, Usage(cache_read=5)),
        ({}, Usage()),
        # what is missing or null counts as 0
        ({"input_tokens": 3}, Usage(fresh=3)),
        ({"output_tokens": 3, "output_tokens_details": None}, Usage(output=3)),
        (
            {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens_details": {}},
            Usage(fresh=3),
        ),
        ({"prompt_tokens": 3}, Usage(fresh=3)),
        ({"prompt_tokens": None, "completion_tokens": None}, Usage()),
        (
            {"prompt_tokens": 3, "prompt_tokens_details": None, "completion_tokens_details": None},
            Usage(fresh=3),
        ),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}}, Usage(fresh=3)),
        # and so does what is no number
        ({"input_tokens": "3", "output_tokens": [4]}, Usage()),
        ({"input_tokens": True, "output_tokens": -4}, Usage()),
        ({"service_tier": "standard"}, Usage()),
    ],
)
def test_usage_is_read_in_every_shape_that_sdks_give_it(
    shape: Any, told: Any, usage: Usage
) -> None:
    """A dict, another mapping, or an object with attributes, of any format."""
    assert usage_from(shape(told)) == usage


@dataclass(slots=True)
class Slotted:
    """An object without a dict of its own."""

    input_tokens: int = 3
    output_tokens: int = 4


def test_objects_without_a_dict_are_read_too() -> None:
    """As dataclasses with slots and structs are."""
    assert usage_from(Slotted()) == Usage(fresh=3, output=4)


def test_a_usage_is_taken_as_it_is() -> None:
    """The very same object."""
    usage = Usage(fresh=1)

    assert usage_from(usage) is usage


def test_no_usage_is_a_usage_of_nothing() -> None:
    """As where an answer was cut off."""
    assert usage_from(None) == Usage()


@pytest.mark.parametrize("told", [ANTHROPIC, CHAT, RESPONSES, GEMINI, GEMINI_SDK, SEVERAL_PASSES])
def test_cached_tokens_count_once(told: dict[str, Any]) -> None:
    """The whole prompt, whichever way the provider tells its parts."""
    assert usage_from(told).total_input == 123


WHOLE: list[tuple[str, Any]] = [
    ("anthropic", {"type": "message", "content": [], "usage": ANTHROPIC}),
    ("openai-chat", {"choices": [{"finish_reason": "stop"}], "usage": CHAT}),
    ("openai-chat", {"choices": None, "x_groq": {"usage": CHAT}}),
    ("openai-chat", {"choices": [{"index": 0, "usage": CHAT}]}),
    ("openai-responses", {"object": "response", "error": None, "usage": RESPONSES}),
    ("gemini", {"candidates": [], "usageMetadata": GEMINI}),
    ("gemini", {"response": {"candidates": [], "usageMetadata": GEMINI}, "traceId": "1"}),
    (
        "openai-chat",
        [
            {"usage": {**CHAT, "prompt_tokens_details": {"cached_tokens": 99, "audio_tokens": 1}}},
            {"usage": {"prompt_tokens": None, "prompt_tokens_details": {"cached_tokens": 100}}},
            {"usage": {"prompt_tokens_details": {"cached_tokens": None}}},
        ],
    ),
    # chunk by chunk; the last number of each field counts
    (
        "gemini",
        [
            {"usageMetadata": {**GEMINI, "candidatesTokenCount": 1}},
            {"usageMetadata": {"promptTokenCount": 120, "candidatesTokenCount": 20}},
        ],
    ),
]


@pytest.mark.parametrize(("format_name", "answer"), WHOLE)
def test_usage_is_read_from_a_whole_answer(format_name: str, answer: Any) -> None:
    """Of every format, its variants too."""
    usage = usage_of(json.dumps(answer).encode(), format_name)

    assert usage is not None
    assert usage.total_input == 123
    assert (usage.output, usage.reasoning) == (50, 30)


@pytest.mark.parametrize("format_name", ["anthropic", "openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"17",
        b"[]",
        b"[null, 3]",
        b"{}",
        b"<html></html>",
        b'{"usage": null, "usageMetadata": null}',
        b'{"usage": {}, "usageMetadata": {}}',
        b'{"usage": {"input_tokens": null, "prompt_tokens": "9"}}',
        b'{"usage": [1], "usageMetadata": 3, "choices": [4], "candidates": {"a": 1}}',
        b'{"usage": {"input_tokens": 3',
        b"[" * 100_000,
        b"\xff\xfe{",
    ],
)
def test_what_tells_no_usage_has_none(format_name: str, body: bytes) -> None:
    """None, so that nobody takes it for a request that cost nothing."""
    assert usage_of(body, format_name) is None


def test_an_answer_with_a_lone_surrogate_is_read() -> None:
    """What msgspec refuses is JSON all the same."""
    body = b'{"content": "\\ud83d", "usage": {"input_tokens": 3}}'

    assert usage_of(body, "anthropic") == Usage(fresh=3)


@given(body=some.binary() | some.text(alphabet='{}[]",:\\ausge0 ').map(str.encode))
def test_no_bytes_make_reading_an_answer_raise(body: bytes) -> None:
    """Whatever an upstream sends."""
    for format_name in ("anthropic", "openai-chat", "openai-responses", "gemini"):
        usage_of(body, format_name)


def test_an_unknown_format_is_named() -> None:
    """With those that are known."""
    with pytest.raises(UnknownFormatError, match="'morse'; known are anthropic"):
        usage_of(b"{}", "morse")
