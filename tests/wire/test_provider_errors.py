"""What a provider refuses is sorted by what would help."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from trimtab import Refusal
from trimtab.wire.provider_errors import classify_error


def anthropic(kind: str, message: str, **more: Any) -> Any:
    """Anthropic's envelope."""
    return {"type": "error", "error": {"type": kind, "message": message, **more}, "request_id": "r"}


def openai(message: str, code: str | None = None, param: str | None = None, **more: Any) -> Any:
    """OpenAI's envelope."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return {"error": error | more}


def gemini(code: int, status: str, message: str, *details: Any) -> Any:
    """Google's envelope."""
    error = {"code": code, "message": message, "status": status, "details": list(details)}
    return {"error": error}


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}
PER_MINUTE = {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}
PER_DAY = {"violations": ["?", {"quotaId": "GenerateRequestsPerDayPerProject"}]}
QUOTA_WORDS = "You exceeded your current quota, please check your plan and billing details."
WINDOW = "This model's maximum context length is 4,097 tokens. However, "
THINKING = "messages.1.content.0: Invalid `signature` in `thinking` block."

SORTED: list[tuple[int, Any, Refusal]] = [
    # ---------------------------------------------------------------- overflow
    (
        400,
        anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
        Refusal(kind="overflow", limit_tokens=200_000, sent_tokens=213_462),
    ),
    (400, anthropic("invalid_request_error", "prompt is too long"), Refusal(kind="overflow")),
    (
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 203000 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again",
        ),
        Refusal(kind="overflow", limit_tokens=200_000, sent_tokens=203_000),
    ),
    (400, openai("x", "context_length_exceeded"), Refusal(kind="overflow")),
    (
        400,
        openai("Your input exceeds the context window of this model.", param="input"),
        Refusal(kind="overflow"),
    ),
    (
        400,
        openai(
            WINDOW + "your messages resulted in 5,010 tokens (4,000 in the messages, 1,010 in the "
            "functions). Please reduce the length of the messages.",
            "context_length_exceeded",
        ),
        Refusal(kind="overflow", limit_tokens=4_097, sent_tokens=5_010),
    ),
    (
        400,
        openai(
            WINDOW + "you requested 6000 tokens (5000 in the messages, 1000 in the completion)."
        ),
        Refusal(kind="overflow", limit_tokens=4_097, sent_tokens=5_000),
    ),
    (
        400,
        openai(
            WINDOW + "you requested 1000 output tokens and your prompt contains at least 3098 "
            "input tokens, for a total of at least 4098 tokens."
        ),
        Refusal(kind="overflow", limit_tokens=4_097),
    ),
    (
        400,
        gemini(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        ),
        Refusal(kind="overflow", limit_tokens=1_048_576, sent_tokens=1_200_293),
    ),
    (
        400,
        [
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Unable to submit request because the input token count is 50000 but model only "
                "supports up to 32768.",
            )
        ],
        Refusal(kind="overflow", limit_tokens=32_768, sent_tokens=50_000),
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9_000,
                "n_ctx": 8_192,
            }
        },
        Refusal(kind="overflow", limit_tokens=8_192, sent_tokens=9_000),
    ),
    (400, {"message": "Input is too long for requested model."}, Refusal(kind="overflow")),
    (
        400,
        openai("prompt token count of 142087 exceeds the limit of 128000"),
        Refusal(kind="overflow", limit_tokens=128_000, sent_tokens=142_087),
    ),
    (
        400,
        {"error": {"message": "Provider error", "metadata": {"raw": '{"m":"prompt is too long"}'}}},
        Refusal(kind="overflow"),
    ),
    (400, {"error": "the request exceeds the available context size"}, Refusal(kind="overflow")),
    (400, "the request exceeds the available context size", Refusal(kind="overflow")),
    (400, '"prompt is too long"', Refusal(kind="overflow")),
    (400, {"detail": [{"msg": "token limit exceeded"}, 3]}, Refusal(kind="overflow")),
    # A number that is not above the limit is not what was too long.
    (
        400,
        openai(WINDOW + "you requested 3000 tokens."),
        Refusal(kind="overflow", limit_tokens=4_097),
    ),
    # On a 400 words about rates do not count.
    (400, openai("prompt is too long: too many tokens"), Refusal(kind="overflow")),
    (413, openai("Please reduce the length of the messages."), Refusal(kind="overflow")),
    # ------------------------------------------------------------ output limit
    (
        400,
        openai(
            "maximum context length is 131072 tokens; you asked for 137972 "
            "(6900 in the input, 131072 in the output)"
        ),
        Refusal(kind="output limit", limit_tokens=131_072, sent_tokens=6_900),
    ),
    (
        400,
        anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        ),
        Refusal(kind="output limit", limit_tokens=200_000, sent_tokens=188_240),
    ),
    (
        400,
        openai(
            "This endpoint's maximum context length is 131072 tokens. However, you requested "
            "about 150000 tokens (80000 of text input, 20000 of tool input, 50000 in the output)."
        ),
        Refusal(kind="output limit", limit_tokens=131_072, sent_tokens=100_000),
    ),
    (
        400,
        openai(
            "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum "
            "context length is 32768 tokens and your request has 1000 input tokens."
        ),
        Refusal(kind="output limit", limit_tokens=32_768, sent_tokens=1_000),
    ),
    (
        400,
        openai("max_tokens: 999999 > 8192, the maximum for this model"),
        Refusal(kind="output limit"),
    ),
    (
        400,
        openai("max_tokens is too large: 9. This model supports at most 8 completion tokens."),
        Refusal(kind="output limit"),
    ),
    (
        400,
        openai("Invalid.", "integer_above_max_value", "max_output_tokens"),
        Refusal(kind="output limit"),
    ),
    # ------------------------------------------------------- shrink for rate
    (
        429,
        openai(
            "Request too large for gpt-5.6 on tokens per min (TPM): Limit 30,000, Requested 45,000.",
            "rate_limit_exceeded",
            type="tokens",
        ),
        Refusal(kind="shrink for rate", limit_tokens=30_000, sent_tokens=45_000),
    ),
    (
        413,
        openai("Request too large: Limit 6000, Requested 7000", "rate_limit_exceeded"),
        Refusal(kind="shrink for rate", limit_tokens=6_000, sent_tokens=7_000),
    ),
    (429, openai("Request too large for gpt-5.6"), Refusal(kind="shrink for rate")),
    # --------------------------------------------------------- bytes too large
    (413, None, Refusal(kind="bytes too large")),
    (413, "<html>rate limit</html>", Refusal(kind="bytes too large")),
    (413, anthropic("request_too_large", "Too large"), Refusal(kind="bytes too large")),
    (
        400,
        gemini(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."),
        Refusal(kind="bytes too large"),
    ),
    # -------------------------------------------------------------- rate limit
    (
        429,
        anthropic("rate_limit_error", "30,000 input tokens per minute"),
        Refusal(kind="rate limit"),
    ),
    (429, None, Refusal(kind="rate limit")),
    (429, "<html>", Refusal(kind="rate limit")),
    (429, openai("prompt is too long"), Refusal(kind="rate limit")),
    (
        429,
        openai("Limit 30000 tokens per minute, used 29000, requested 4000"),
        Refusal(kind="rate limit"),
    ),
    (
        429,
        {"message": "Too many tokens, please wait before trying again."},
        Refusal(kind="rate limit"),
    ),
    (400, {"__type": "x#ThrottlingException"}, Refusal(kind="rate limit")),
    (503, openai("slow", "slow_down"), Refusal(kind="rate limit")),
    (403, openai("You exceeded the rate limit"), Refusal(kind="rate limit")),
    (
        429,
        gemini(429, "RESOURCE_EXHAUSTED", QUOTA_WORDS, PER_MINUTE, RETRY_INFO),
        Refusal(kind="rate limit", wait_seconds=37.5),
    ),
    (
        429,
        openai("Rate limit reached. Please try again in 1m12.5s.", "rate_limit_exceeded"),
        Refusal(kind="rate limit", wait_seconds=72.5),
    ),
    # ------------------------------------------------------------------- quota
    (429, openai(QUOTA_WORDS, "insufficient_quota"), Refusal(kind="quota")),
    (429, openai(QUOTA_WORDS), Refusal(kind="quota")),
    (
        429,
        gemini(429, "RESOURCE_EXHAUSTED", QUOTA_WORDS, PER_DAY, RETRY_INFO),
        Refusal(kind="quota", wait_seconds=37.5),
    ),
    (402, openai("Insufficient credits"), Refusal(kind="quota")),
    (402, None, Refusal(kind="quota")),
    (403, openai("Billing is off"), Refusal(kind="quota")),
    (
        400,
        anthropic("invalid_request_error", "You have reached your specified API usage limits."),
        Refusal(kind="quota"),
    ),
    (
        429,
        anthropic(
            "rate_limit_error", "No.", details={"error_code": "enforced_spend_limit_reached"}
        ),
        Refusal(kind="quota"),
    ),
    # -------------------------------------------------------------- overloaded
    (529, anthropic("overloaded_error", "Overloaded"), Refusal(kind="overloaded")),
    (503, gemini(503, "UNAVAILABLE", "The model is overloaded."), Refusal(kind="overloaded")),
    (503, None, Refusal(kind="overloaded")),
    (500, openai("The server is overloaded"), Refusal(kind="overloaded")),
    (429, openai("later", "engine_overloaded_error"), Refusal(kind="overloaded")),
    # ------------------------------------------------------------------- state
    (404, openai("Item with id 'rs_1' not found. Items are not persisted"), Refusal(kind="state")),
    (400, openai("no", "previous_response_not_found"), Refusal(kind="state")),
    (403, gemini(403, "PERMISSION_DENIED", "CachedContent not found"), Refusal(kind="state")),
    # --------------------------------------------------------------- signature
    (400, anthropic("invalid_request_error", THINKING), Refusal(kind="signature")),
    (400, openai("The encrypted content", "invalid_encrypted_content"), Refusal(kind="signature")),
    (
        400,
        gemini(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature"),
        Refusal(kind="signature"),
    ),
    (
        400,
        anthropic("invalid_request_error", "`thinking` blocks in the latest cannot be modified"),
        Refusal(kind="signature"),
    ),
    # --------------------------------------------------------------- structure
    (
        400,
        anthropic("invalid_request_error", "messages.2: `tool_use` ids were found without"),
        Refusal(kind="structure"),
    ),
    (400, openai("Item 'fc_1' was provided without its required"), Refusal(kind="structure")),
    (422, {"detail": "role"}, Refusal(kind="structure")),
    (500, openai("Conversation roles must alternate user/assistant"), Refusal(kind="structure")),
    (400, openai("integer below minimum", param="max_output_tokens"), Refusal(kind="structure")),
    # -------------------------------------------------------------------- auth
    (401, anthropic("authentication_error", "invalid x-api-key"), Refusal(kind="auth")),
    (401, openai("billing: prompt is too long"), Refusal(kind="auth")),
    (403, "<html>forbidden</html>", Refusal(kind="auth")),
    (
        400,
        gemini(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
        Refusal(kind="auth"),
    ),
    # ------------------------------------------------------------------- other
    (500, anthropic("api_error", "Internal server error"), Refusal(kind="other")),
    (504, anthropic("timeout_error", "x"), Refusal(kind="other")),
    (404, openai("The model does not exist", "model_not_found"), Refusal(kind="other")),
    (400, openai("filtered", "content_filter"), Refusal(kind="other")),
    (400, None, Refusal(kind="other")),
    (400, "<html>context_length_exceeded</html>", Refusal(kind="other")),
    (400, {}, Refusal(kind="other")),
    (400, [], Refusal(kind="structure")),
    (
        429,
        anthropic("rate_limit_error", "Extra usage is required for long context requests."),
        Refusal(kind="other"),
    ),
]


def bytes_of(body: Any) -> bytes:
    """A body as it comes; text as it stands."""
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


@pytest.mark.parametrize(("status", "body", "refusal"), SORTED)
def test_a_refusal_is_sorted_and_its_numbers_are_read(
    status: int, body: Any, refusal: Refusal
) -> None:
    """Status, codes and words of all providers, in all their envelopes."""
    assert classify_error(status, {}, bytes_of(body)) == refusal


INSIDE: list[tuple[Any, Any]] = [
    (anthropic("overloaded_error", "Overloaded"), "overloaded"),
    (anthropic("rate_limit_error", "slow"), "rate limit"),
    (anthropic("invalid_request_error", "prompt is too long"), "overflow"),
    (anthropic("invalid_request_error", "messages.2: no"), "structure"),
    (anthropic("authentication_error", "no"), "auth"),
    (anthropic("request_too_large", "no"), "bytes too large"),
    ({"type": "error", "code": "context_length_exceeded", "message": "x"}, "overflow"),
    ({"type": "error", "code": "server_error", "message": "x"}, "other"),
    (
        {"type": "response.failed", "response": {"error": {"code": "insufficient_quota"}}},
        "quota",
    ),
    ({"error": {"code": 429, "message": "x"}}, "rate limit"),
    ({"error": {"code": 502, "message": "x"}}, "other"),
    ({"error": {"message": "Too many tokens per day, please wait"}}, "rate limit"),
    ({"error": {"message": "tokens per min: Limit 10, Requested 20"}}, "shrink for rate"),
    ({"error": "the model is overloaded"}, "overloaded"),
]


@pytest.mark.parametrize(("event", "kind"), INSIDE)
@pytest.mark.parametrize(
    "stream",
    [
        "{event}",
        "\ufeffdata: {event}",
        "event: error\r\ndata: {event}\r\n\r\n",
        ': hello\n\ndata: {{"a": "error"}}\n\ndata:{event}\n\ndata: [DONE]\n\n',
        '{{"a": "error"}}\n{event}\n',
    ],
)
def test_an_error_inside_a_stream_is_sorted_the_same(event: Any, kind: Any, stream: str) -> None:
    """Behind a 200, alone or among other events; nothing can be sent again then."""
    body = stream.format(event=json.dumps(event)).encode()

    refusal = classify_error(200, {}, body)

    assert refusal.kind == kind
    assert refusal.is_after_start


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b'{"error":{"message":"prompt is too long: 9 tokens > 8 max', "overflow"),
        (400, b'{"type":"error","error":{"type":"rate_limit_error","mess', "rate limit"),
        (200, b'data: {"a":1}\n\ndata: {"type":"error","error":{"type":"overloaded_err', "other"),
        (200, b'data: {"type":"error","error":{"type":"overloaded_error"', "overloaded"),
        (200, b'data: {"choices":[],"text":"rate limit"}\n\n', "other"),
        (200, b'{"type":"message","content":[]}', "other"),
        (400, b'{"error":{"message":"\\ud83d prompt is too long"}}', "overflow"),
        (400, '{"error":{"message":"日本 prompt is too long"}}'.encode("utf-16"), "structure"),
    ],
)
def test_a_body_that_is_cut_off_is_sorted_by_what_is_there(
    status: int, body: bytes, kind: Any
) -> None:
    """Or damaged, or no error at all."""
    assert classify_error(status, {}, body).kind == kind


def test_only_the_beginning_of_a_message_is_searched() -> None:
    """Behind it may stand what the user wrote."""
    echo = openai("messages.0 is wrong: " + "x" * 3_000 + " context_length_exceeded")

    assert classify_error(400, {}, bytes_of(echo)).kind == "structure"
    assert classify_error(400, {}, b"x" * 3_000 + b" prompt is too long").kind == "structure"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": " 1.5 "}, 1.5),
        ({"retry-after": "7", "retry-after-ms": "350"}, 0.35),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 10:01:00 GMT",
                "date": "Mon, 30 Nov 2026 09:59:30 GMT",
            },
            90.0,
        ),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 10:00:00 GMT",
                "date": "Mon, 30 Nov 2026 10:00:30 GMT",
            },
            0.0,
        ),
        # without a date to count from, and what is no time
        ({"retry-after": "Mon, 30 Nov 2026 10:00:00 GMT"}, None),
        ({"retry-after": "Mon, 99 Nov 2026 10:00:00 GMT", "date": "soon"}, None),
        ({"retry-after": "Mon, 01 Foo 2026 10:00:00 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "٣"}, None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read(headers: dict[str, str], seconds: float | None) -> None:
    """In seconds, thousandths or as a date; there is no clock here."""
    assert classify_error(429, headers, b"").wait_seconds == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("try again in 20s", 20.0),
        ("Please try again in 350ms.", 0.35),
        ("retry in 1h2m3.5s", 3_723.5),
        ("try again in 5 days", None),
        ("try again in 1s2h", None),
    ],
)
def test_a_time_in_words_is_read_too(words: str, seconds: float | None) -> None:
    """Where no header has it."""
    assert classify_error(429, {}, bytes_of(openai(words))).wait_seconds == seconds


def test_a_spend_limit_that_says_when_to_come_again_is_a_rate_limit() -> None:
    """Without that, only a person can raise it."""
    details = {"error_code": "enforced_spend_limit_reached"}
    body = bytes_of(anthropic("rate_limit_error", "No.", details=details))

    assert classify_error(429, {"retry-after": "3"}, body).kind == "rate limit"
    assert classify_error(429, {}, body).kind == "quota"


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=9),
    lambda inner: (
        some.lists(inner, max_size=4)
        | some.dictionaries(
            some.sampled_from(
                ["error", "message", "type", "code", "status", "details", "detail", "response",
                 "metadata", "violations", "param", "n_ctx", "retryDelay", "reason"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    status=some.integers(0, 600),
    body=some.binary() | json_values.map(lambda value: json.dumps(value).encode()),
    prefix=some.sampled_from([b"", b"data: ", b"event: error\ndata: ", b"<html>", b"\xef\xbb\xbf"]),
)
def test_no_body_makes_sorting_raise(status: int, body: bytes, prefix: bytes) -> None:
    """Whatever an upstream sends, in whatever types."""
    refusal = classify_error(status, {"retry-after": "soon"}, prefix + body)

    assert refusal.is_after_start is (200 <= status < 300)


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"error":' * 100_000, b"9" * 100_000])
def test_bodies_that_parsers_dislike_are_sorted(body: bytes) -> None:
    """Too deep, or a number too long."""
    assert classify_error(500, {}, body).kind == "other"


@pytest.mark.parametrize(
    "words",
    [
        "thinking " * 4_000,
        "input token count " * 4_000,
        "(" * 9_000,
        "limit: 1 " * 3_000,
        "1," * 9_000,
    ],
)
def test_no_message_takes_long_to_search(words: str) -> None:
    """Only its beginning is searched, and no pattern looks twice."""
    assert classify_error(429, {}, bytes_of(openai(words))).kind == "rate limit"
