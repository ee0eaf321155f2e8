"""Recorded HTTP exchanges: what recorders write, and what of it is a request."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.replay.readers.samples import asked
from trimtab.errors import RequestError
from trimtab.replay.readers import cassettes
from trimtab.usage import Usage

Json = dict[str, Any]
CLAUDE = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
GPT = {"model": "gpt-x", "messages": [{"role": "user", "content": "hi"}]}
RESPONSES = {"model": "gpt-x", "input": "hi"}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
BEDROCK = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}

ANTHROPIC = "https://api.anthropic.com/v1/messages"
HIDDEN = "**REDACTED**"


def exchange(uri: str, body: Any, answer: Any = None, **request: Any) -> Json:
    """A request with its response, bodies as text."""
    asked_for = {"method": "POST", "uri": uri, "body": json.dumps(body), **request}
    text = answer if isinstance(answer, str | bytes) else json.dumps(answer or {})
    return {"request": asked_for, "response": {"body": {"string": text}, "status": {"code": 200}}}


def cassette(*exchanges: Json) -> bytes:
    """A file as vcrpy writes it."""
    return yaml.safe_dump({"interactions": list(exchanges), "version": 1}).encode()


@pytest.mark.parametrize(
    ("uri", "body", "wire_format", "model"),
    [
        (ANTHROPIC, CLAUDE, "anthropic", "claude-x"),
        ("https://api.openai.com/v1/chat/completions?x=1", GPT, "openai-chat", "gpt-x"),
        ("https://api.openai.com/v1/responses", RESPONSES, "openai-responses", "gpt-x"),
        ("https://g/v1beta/models/gemini-x:generateContent", GEMINI, "gemini", "gemini-x"),
        ("https://g/v1beta/models/gemini-x:streamGenerateContent", GEMINI, "gemini", "gemini-x"),
        ("https://b/model/nova/converse", BEDROCK, "bedrock-converse", "nova"),
        (HIDDEN, CLAUDE, "anthropic", "claude-x"),
        (HIDDEN, GEMINI, "gemini", ""),
    ],
)
def test_the_address_says_whose_format_a_body_is(
    uri: str, body: Json, wire_format: str, model: str
) -> None:
    """Where it was made unreadable, the body says it."""
    (request,) = asked(cassettes, cassette(exchange(uri, body)))

    assert (request.format, request.model) == (wire_format, model)
    assert json.loads(request.build()) == body
    assert (request.size_bytes, request.message_count) == (len(request.build()), 1)


@pytest.mark.parametrize(
    ("uri", "body"),
    [
        ("https://api.anthropic.com/v1/messages/count_tokens", CLAUDE),
        ("https://api.openai.com/v1/embeddings", {"input": "hi"}),
        (HIDDEN, {"input": 7}),
        (HIDDEN, {"a": 1}),
        (HIDDEN, {"messages": "x"}),
        ("https://example.org/a.pdf", None),
        ("https://api.openai.com/v1/files", [1]),
    ],
)
def test_what_asks_no_model_is_left_out(uri: str, body: Any) -> None:
    """Files, counts and the like; a file of nothing else is refused."""
    (request,) = asked(cassettes, cassette(exchange(uri, body), exchange(ANTHROPIC, CLAUDE)))

    assert json.loads(request.build()) == CLAUDE
    with pytest.raises(RequestError, match="no model is asked in any"):
        cassettes.read(cassette(exchange(uri, body)), "c")


STREAM = """\
event: message_start
data: {"type":"message_start","message":{"model":"claude-y","usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

"""
TOLD = {
    "model": "claude-y",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
}


@pytest.mark.parametrize("answer", [STREAM, TOLD, gzip.compress(STREAM.encode(), mtime=0)])
def test_the_answer_says_what_was_billed(answer: Any) -> None:
    """Whole, streamed, or packed as it came."""
    (request,) = asked(cassettes, cassette(exchange(ANTHROPIC, CLAUDE, answer)))

    assert request.usage == Usage(fresh=3, cache_read=4, output=5)
    assert request.model == "claude-y"


def test_bedrock_counts_the_cache_apart() -> None:
    """Figures of an answer that has none are not known."""
    usage = {"inputTokens": 3, "outputTokens": 5, "cacheReadInputTokens": 4}
    uri = "https://b/model/nova/converse"

    known, unknown = asked(
        cassettes, cassette(exchange(uri, BEDROCK, {"usage": usage}), exchange(uri, BEDROCK, "x"))
    )

    assert known.usage == Usage(fresh=3, cache_read=4, output=5)
    assert unknown.usage is None


def test_bodies_come_as_text_bytes_base64_or_parsed() -> None:
    """Each recorder has its own way."""
    text = json.dumps(CLAUDE)
    ways: list[Json] = [
        {"body": text},
        {"body": text.encode()},
        {"body": gzip.compress(text.encode())},
        {"body": {"string": text}},
        {"body": {"base64_string": base64.b64encode(text.encode()).decode()}},
        {"body": None, "parsed_body": CLAUDE},
    ]
    data = cassette(*({"request": {"uri": ANTHROPIC, **way}, "response": None} for way in ways))

    assert [json.loads(each.build()) for each in asked(cassettes, data)] == [CLAUDE] * len(ways)


def test_bodies_that_cannot_be_read_are_named_and_skipped() -> None:
    """Cut off, no JSON object, or what only YAML can hold."""
    bad: list[Json] = [
        {"body": '{"model":'},
        {"body": "[1]"},
        {"body": b"\x1f\x8bxx"},
        {"body": {"base64_string": "x"}},
        {"parsed_body": {1: b"x"}},
        {"parsed_body": [b"x"]},
    ]
    exchanges = [{"request": {"uri": ANTHROPIC, **each}, "response": 7} for each in bad]

    (recording,) = cassettes.read(cassette(*exchanges, exchange(ANTHROPIC, CLAUDE)), "c")

    assert len(recording.requests) == 1
    assert recording.notes == (
        "exchanges left out, whose request body is cut off or no JSON object: 2",
    )


def test_two_lists_beside_each_other_are_exchanges_too() -> None:
    """An answer that is missing costs nothing but its figures."""
    both = [exchange(ANTHROPIC, CLAUDE, TOLD) for _ in range(2)]
    value = {
        "requests": [{"body": each["request"]["body"], "uri": ANTHROPIC} for each in both],
        "responses": [both[0]["response"]],
    }
    data = yaml.safe_dump(value).encode()

    assert cassettes.recognises(data)
    assert [each.usage is None for each in asked(cassettes, data)] == [False, True]


def test_a_cassette_may_be_json() -> None:
    """Then nothing needs to be installed."""
    data = json.dumps({"interactions": [exchange(ANTHROPIC, CLAUDE), 7], "version": 1}).encode()

    assert cassettes.recognises(data)
    assert len(asked(cassettes, data)) == 1


def test_what_python_tagged_stays_text() -> None:
    """Nothing in a file is run."""
    data = b"""\
interactions:
- request:
    body: !!python/unicode '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    headers: !!python/object:os.system {a: 1}
    uri: https://api.openai.com/v1/chat/completions
  response: !!python/tuple [1]
"""

    assert len(asked(cassettes, data)) == 1


def test_broken_yaml_is_refused_with_its_line() -> None:
    """What stands there is not shown: it may be private."""
    with pytest.raises(RequestError, match=r"`c` is YAML that is broken or cut off in line \d"):
        cassettes.read(b"interactions:\n- request: {a: 'secret\n", "c")


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b"interactions:\n- request:\n", True),
        (b"http_interactions:\n  - request:\n", True),
        (b"requests:\n- body: x\n", True),
        (b"interactions: []\n", False),
        (b"requests:\n- httpx\n", False),
        (b'{"request": 1, "response": 2}', False),
        (b'{"request": 1, "response": ', False),
        (b'["request", "response"]', False),
    ],
)
def test_a_cassette_is_known_by_its_list(data: bytes, is_one: bool) -> None:  # noqa: FBT001 - a case
    """A list of exchanges, or of requests."""
    assert cassettes.recognises(data) == is_one


WITHOUT = """
import sys
sys.modules["yaml"] = None
from trimtab.errors import MissingExtraError
from trimtab.replay.files import load
try:
    load(sys.stdin.buffer.read(), "c")
except MissingExtraError as error:
    print(error.extra)
"""


def test_without_pyyaml_the_extra_is_named() -> None:
    """What is missing and how to install it is said."""
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input=cassette(exchange(ANTHROPIC, CLAUDE)),
        capture_output=True,
        check=True,
    )

    assert told.stdout.strip() == b"cassettes"
