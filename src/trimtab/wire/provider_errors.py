"""Sort what a provider refuses: does a smaller request help, or waiting, or neither?

Status and codes come before words. Waiting comes before size, because texts
about rates speak of too many tokens as well; on a 400 it is the other way round.
Only the error's own words are searched, and only their beginning: some providers
echo what the user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from trimtab.errors import MalformedBodyError
from trimtab.refusal import Refusal, RefusalKind
from trimtab.wire.json_spans import load

__all__ = ["classify_error", "is_error_event"]

Json: TypeAlias = dict[str, Any]

_MOST_LETTERS = 2_048
"""How much of an error's words is searched."""


def classify_error(status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """Say what kind of no an answer is.

    Args:
        status: HTTP status. With one of 2xx the error came inside an answer that had begun.
        headers: Of the answer; their names in any case.
        body: Of the answer, content encodings undone: JSON in any provider's shape, an event
            of a stream or a stream, HTML, other text, or nothing.

    Returns:
        The kind, with the numbers that the provider named. Any bytes get one.
    """
    told = _told(body)
    lowered = {name.lower(): value for name, value in headers.items()}
    has_begun = 200 <= status < 300
    wait = _wait_seconds(lowered, told)
    verdict = _verdict(told.status if has_begun else status, told, is_told_to_wait=wait is not None)
    return Refusal(
        kind=verdict.kind,
        limit_tokens=verdict.limit,
        sent_tokens=verdict.sent,
        is_after_start=has_begun,
        wait_seconds=wait,
    )


def is_error_event(value: object) -> bool:
    """Whether an event of a stream says that something failed."""
    if not isinstance(value, dict):
        return False
    response = value.get("response")
    failed = isinstance(response, dict) and bool(response.get("error"))
    return failed or bool(value.get("error")) or value.get("type") in ("error", "response.failed")


# ------------------------------------------------------------- what was told


@dataclass(frozen=True, slots=True)
class _Told:
    """What an error says, whatever its shape.

    Attributes:
        words: Its message.
        names: Its types, codes and reasons, in small letters.
        status: The HTTP status that it names itself; 0 where it names none.
        param: The field of the request that it is about.
        day_is_over: Whether a quota of the day is used up.
        delay: How long to wait, as the provider writes it.
        sent: Tokens of the request, where it has a field for them.
        limit: Tokens of the window, where it has a field for them.
    """

    words: str = ""
    names: frozenset[str] = frozenset()
    status: int = 0
    param: str = ""
    day_is_over: bool = False
    delay: str = ""
    sent: int | None = None
    limit: int | None = None


def _told(body: bytes) -> _Told:
    text = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    value = _decoded(text)
    if isinstance(value, list):
        value = next((item for item in value if isinstance(item, dict)), None)
    elif isinstance(value, str):
        return _Told(value[:_MOST_LETTERS])
    elif not isinstance(value, dict):
        value, text = _in_events(text)
    return _told_by(value) if isinstance(value, dict) else _told_in_text(text)


def _decoded(text: bytes) -> object:
    try:
        return load(text)
    except MalformedBodyError:
        return None


def _in_events(text: bytes) -> tuple[object, bytes]:
    """Find the error in a stream; and where it is cut off, or none, what is there of it."""
    found = [(_decoded(data), data) for data in _event_data(text)]
    whole = next((pair for pair in found if is_error_event(pair[0])), None)
    if whole is not None or not text.startswith((b"data:", b"event:", b":")):
        return whole or (None, text)
    return None, next((data for value, data in found if value is None), b"")


def _event_data(text: bytes) -> Iterator[bytes]:
    """The data of each server-sent event that can be an error, and of JSON lines."""
    plain = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    for event in plain.split(b"\n\n"):
        if b"error" in event or b"failed" in event:
            lines = event.split(b"\n")
            data = [line[5:] for line in lines if line.startswith(b"data:")]
            yield from [b"\n".join(data)] if data else lines


_NAMED = re.compile(r'"(?:type|code|status)"\s*:\s*"([\w.]+)"')


def _told_in_text(text: bytes) -> _Told:
    """Text that is no JSON, or the beginning of some. The words of a web page say nothing."""
    if text.startswith(b"<"):
        return _Told()
    words = text[:_MOST_LETTERS].decode("utf-8", "replace")
    return _Told(words, frozenset(name.lower() for name in _NAMED.findall(words)))


def _told_by(value: Json) -> _Told:
    error = _error_in(value)
    details = _details(error)
    places = (value, error, *details)
    keys = ("type", "code", "status", "error_code", "reason", "__type")
    names = {place[key].lower() for place in places for key in keys if _is_text(place.get(key))}
    quota_ids = [_text(violation, "quotaId") for violation in _violations(details)]
    return _Told(
        words=_words(error) or _words(value),
        # AWS: "ThrottlingException", with a namespace before it or an address behind it.
        names=frozenset(re.split(r"[#:]", name)[-1 if "#" in name else 0] for name in names),
        status=_own_status(error),
        param=_text(error, "param"),
        day_is_over=any("PerDay" in name for name in quota_ids),
        delay=next(filter(None, (_text(detail, "retryDelay") for detail in details)), ""),
        sent=_whole(error.get("n_prompt_tokens")),
        limit=_whole(error.get("n_ctx")),
    )


def _error_in(value: Json) -> Json:
    """The object that has the message: the error, that of a failed response, or the whole."""
    response = value.get("response")
    inner = response.get("error") if isinstance(response, dict) else None
    for error in (inner, value.get("error")):
        if isinstance(error, dict) and error:
            return error
        if isinstance(error, str):
            return {**value, "message": value.get("message") or error}
    return value


def _details(error: Json) -> list[Json]:
    """Anthropic has an object there, Google a list of them."""
    details = error.get("details")
    several = details if isinstance(details, list) else [details]
    return [detail for detail in several if isinstance(detail, dict)]


def _violations(details: list[Json]) -> Iterator[Json]:
    for detail in details:
        violations = detail.get("violations")
        if isinstance(violations, list):
            yield from (item for item in violations if isinstance(item, dict))


def _words(error: Json) -> str:
    found = [_text(error, name)[:_MOST_LETTERS] for name in ("message", "Message", "detail")]
    details = error.get("detail")
    if isinstance(details, list):  # as FastAPI tells what it finds
        found += [_text(item, "msg") for item in details if isinstance(item, dict)]
    metadata = error.get("metadata")
    if isinstance(metadata, dict):  # OpenRouter: what the provider behind it said
        found.append(_text(metadata, "raw")[:_MOST_LETTERS])
    return "\n".join(filter(None, found))[: 2 * _MOST_LETTERS]


def _own_status(error: Json) -> int:
    for name in ("code", "status", "status_code"):
        number = _whole(error.get(name))
        if number is not None and 400 <= number < 600:
            return number
    return 0


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _text(place: Json, name: str) -> str:
    value = place.get(name)
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ------------------------------------------------------------------ the kinds


@dataclass(frozen=True, slots=True)
class _Verdict:
    kind: RefusalKind
    limit: int | None = None
    sent: int | None = None


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE | re.DOTALL)


_OVERFLOW_NAMES = frozenset(
    ("context_length_exceeded", "exceed_context_size_error", "context_window_exceeded")
)
_OVERFLOW = _any_of(
    r"context[_ ]length[_ ]exceeded",
    r"exceed_context_size",
    r"context_?window_?exceeded",
    r"prompt is too long",
    r"input is too long for (?:the )?requested model",
    r"exceeds? (?:the |this )?(?:model'?s? )?(?:maximum )?context (?:window|length|size)",
    r"input token count\D.{0,200}?(?:exceeds the maximum|only supports up to)",
    r"maximum prompt length is \d+",
    r"maximum context length (?:is|of) \d+",
    r"with \d+ maximum context length",
    r"reduce the length of the messages",
    r"exceeds the available context size",
    r"greater than the context length",
    r"context length is only \d+",
    r"context window exceeds limit",
    r"exceeded model token limit",
    r"token limit exceeded",
    r"token[^.]{0,80} exceeds the limit of \d+",
    r"input length and `?max_tokens`? exceed context limit",
)
_OUTPUT_PARAMS = frozenset(("max_tokens", "max_completion_tokens", "max_output_tokens"))
_OUTPUT = _any_of(
    r"max_tokens`?: \d+ > \d+",
    r"max_(?:completion_|output_)?tokens['`\"]? is too large",
    r"supports at most \d+ (?:completion|output) tokens",
    r"maximum allowed number of output tokens",
    r"maximum tokens you requested exceeds",
    r"maxOutputTokens value of \d+ but",
    r"max_(?:completion_|output_)?tokens['`\"]? must be less than or equal",
)
_BYTES_NAMES = frozenset(("request_too_large", "payload_too_large"))
_BYTES = _any_of(
    r"payload (?:size exceeds|is )?too large|payload size exceeds",
    r"request (?:entity|body)(?: is)? too large",
    r"maximum (?:allowed )?(?:request|body|payload) size",
)
_RATE_NAMES = frozenset(
    (
        "rate_limit_error",
        "rate_limit_exceeded",
        "slow_down",
        "too_many_requests",
        "resource_exhausted",
        "throttlingexception",
        "modelnotreadyexception",
    )
)
_RATE = _any_of(
    r"too many (?:tokens|requests)",
    r"tokens per (?:min|day)",
    r"rate.?limit",
    r"throttl",
    r"per.?minute",
)
_SPEND_LIMIT = "enforced_spend_limit_reached"
_QUOTA_NAMES = frozenset(
    (
        "insufficient_quota",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
        "usage_limit_reached",
        "billing_error",
        "billing_not_active",
        "billing_hard_limit_reached",
        "servicequotaexceededexception",
    )
)
_QUOTA = _any_of(
    r"exceeded your current quota",
    r"credit balance is too low",
    r"insufficient (?:credits?|balance|quota|funds)",
    r"specified API usage limits",
    r"spend(?:ing)? limit",
    r"billing",
)
_OVERLOADED_NAMES = frozenset(
    (
        "overloaded_error",
        "overloaded",
        "server_is_overloaded",
        "engine_overloaded_error",
        "unavailable",
        "service_unavailable",
        "service_unavailable_error",
        "serviceunavailableexception",
    )
)
_OVERLOADED = _any_of(r"\boverloaded\b")
_SIGNATURE_NAMES = frozenset(("invalid_encrypted_content", "compaction_block_signature_invalid"))
_SIGNATURE = _any_of(
    r"invalid `?signature`?",
    r"bound to a different conversation",
    r"thinking.{0,80}cannot be modified",
    r"thought[_ ]?signature",
    r"encrypted content.{0,120}could not be (?:verified|decrypted)",
)
_STATE_NAMES = frozenset(
    ("previous_response_not_found", "conversation_not_found", "thread_not_found")
)
_STATE = _any_of(
    r"item with id \S{1,200} not found",
    r"previous response with id \S{1,200} not found",
    r"items are not persisted",
    r"\b(?:conversation|container|thread|cached ?content)\b.{0,200}?not found",
)
_AUTH_NAMES = frozenset(
    (
        "authentication_error",
        "permission_error",
        "invalid_api_key",
        "api_key_invalid",
        "unauthenticated",
        "permission_denied",
        "accessdeniedexception",
    )
)
_AUTH = _any_of(r"api key not valid", r"(?:incorrect|invalid) api key")
_ELSEWHERE_NAMES = frozenset(
    (
        "model_not_found",
        "content_filter",
        "content_policy_violation",
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "failed_precondition",
    )
)
"""A 400 that no other form of the history would mend."""

_LONG_CONTEXT = _any_of(r"extra usage is required", r"long context beta")
"""The subscription has no long window: neither time nor a smaller quota of it is named."""

_STRUCTURE_NAMES = frozenset(("invalid_request_error", "invalid_argument", "validationexception"))
_STRUCTURE = _any_of(r"roles must alternate", r"no user query found in messages")
"""What chat templates raise, often with a status of 500."""


def _verdict(status: int, told: _Told, *, is_told_to_wait: bool) -> _Verdict:
    """Ask one after the other; a status of 0 is one that nobody named."""
    if _LONG_CONTEXT.search(told.words):
        return _Verdict("other")
    return (
        _about_rate(status, told, is_told_to_wait=is_told_to_wait)
        or _about_size(status, told)
        or (_about_rate_by_words(told.words) if status == 0 else None)
        or _Verdict(_about_the_rest(status, told))
    )


def _about_rate(status: int, told: _Told, *, is_told_to_wait: bool) -> _Verdict | None:
    """Too much in too little time, or for the money."""
    names, words = told.names, told.words
    if names & _OVERLOADED_NAMES:
        return _Verdict("overloaded")
    if names & _QUOTA_NAMES or told.day_is_over or status == 402:
        return _Verdict("quota")
    if _SPEND_LIMIT in names and not is_told_to_wait:
        return _Verdict("quota")
    if status == 429 or names & _RATE_NAMES:
        # Google speaks of quota and billing in each of its rate limits.
        if "resource_exhausted" not in names and _QUOTA.search(words):
            return _Verdict("quota")
        return _too_large_for_rate(words) or _Verdict("rate limit")
    if status == 403:
        return _Verdict("quota") if _QUOTA.search(words) else _about_rate_by_words(words)
    return None


def _about_rate_by_words(words: str) -> _Verdict | None:
    """What no status and no name said."""
    if not _RATE.search(words):
        return None
    return _too_large_for_rate(words) or _Verdict("rate limit")


_RATE_NUMBERS = _any_of(r"limit:?\s*([\d,]{1,15})\b.{0,200}?requested:?\s*([\d,]{1,15})")


def _too_large_for_rate(words: str) -> _Verdict | None:
    """A request above the whole limit never gets through, however long one waits."""
    numbers = _RATE_NUMBERS.search(words)
    limit, sent = (_count(numbers[1]), _count(numbers[2])) if numbers else (None, None)
    if limit and sent and limit < sent:
        return _Verdict("shrink for rate", limit, sent)
    return _Verdict("shrink for rate") if "request too large" in words.lower() else None


def _about_size(status: int, told: _Told) -> _Verdict | None:
    if status == 401:
        return None
    if told.param in _OUTPUT_PARAMS and "integer_above_max_value" in told.names:
        return _Verdict("output limit")
    is_overflow = bool(told.names & _OVERFLOW_NAMES or _OVERFLOW.search(told.words))
    if is_overflow and (parts := _parts(told.words)):
        kind: RefusalKind = "overflow" if parts.sent > parts.limit else "output limit"
        return _Verdict(kind, parts.limit, parts.sent)
    if _OUTPUT.search(told.words):
        return _Verdict("output limit")
    if is_overflow:
        return _overflow(told)
    if status == 413 or told.names & _BYTES_NAMES or _BYTES.search(told.words):
        return _Verdict("bytes too large")
    return None


def _about_the_rest(status: int, told: _Told) -> RefusalKind:
    names, words = told.names, told.words
    is_silent = not names and not words
    if status == 401:
        return "auth"
    if _QUOTA.search(words) and status < 500:
        return "quota"
    if names & _SIGNATURE_NAMES or _SIGNATURE.search(words):
        return "signature"
    if names & _STATE_NAMES or _STATE.search(words):
        return "state"
    if status == 403 or names & _AUTH_NAMES or _AUTH.search(words):
        return "auth"
    if status in (503, 529) or (_OVERLOADED.search(words) and (status >= 500 or status == 0)):
        return "overloaded"
    if _STRUCTURE.search(words):
        return "structure"
    is_about_request = status in (400, 422) or (status == 0 and names & _STRUCTURE_NAMES)
    if is_about_request and not is_silent and not names & _ELSEWHERE_NAMES:
        return "structure"
    return "other"


# ----------------------------------------------------------------- the numbers

_NUMBER = r"(\d[\d,]{0,14})"

_LIMITS = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"maximum (?:context|prompt) length (?:is|of) N",
        r"with N maximum context length",
        r"tokens > N",
        r"maximum number of tokens allowed \(?N",
        r"only supports up to N",
        r"context (?:size|window|length)(?: is only| of)? \(?N",
        r"model token limit:? N",
        r"exceeds the limit of N",
    )
)
_SENT = tuple(
    re.compile(pattern.replace("N", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"too long: N tokens",
        r"token count (?:is |of )?\(?N",
        r"resulted in N",
        r"(?:requested|asked for) (?:about )?N(?! output)",
        r"request contains N",
        r"prompt contains N",
        r"request \(N tokens",
        r"(?:has|passed) N input tokens",
    )
)
_SUM = re.compile(rf"context limit: {_NUMBER} \+ {_NUMBER} > {_NUMBER}", re.IGNORECASE)
_SHARES = re.compile(r"\(([^()]{1,300}\b(?:output|completion)\b[^()]{0,100})\)", re.IGNORECASE)
_SHARE = re.compile(rf"{_NUMBER} (?:of|in|from|for) (?:the )?([a-z_ ]{{1,40}})", re.IGNORECASE)
# "At least" is where counting stopped; the input may be much larger.
_INPUT = re.compile(rf"(?<!at least )(?<![\d,]){_NUMBER} input tokens", re.IGNORECASE)
_WISH = re.compile(r"output tokens|max_tokens|max_completion_tokens", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Input and window of an error that counts the wish for output apart."""

    sent: int
    limit: int


def _parts(words: str) -> _Parts | None:
    """Read the input alone, where an error adds input and output."""
    if sums := _SUM.search(words):
        sent, limit = _count(sums[1]), _count(sums[3])
    else:
        sent, limit = _input_alone(words), _first(_LIMITS, words)
    return _Parts(sent, limit) if sent is not None and limit else None


def _input_alone(words: str) -> int | None:
    if shares := _SHARES.search(words):
        found = _SHARE.findall(shares[1])
        inputs = [n for n, what in found if not re.search("output|completion", what, re.IGNORECASE)]
        return sum(_count(number) or 0 for number in inputs) if inputs else None
    told = _INPUT.search(words)
    return _count(told[1]) if told and _WISH.search(words) else None


def _overflow(told: _Told) -> _Verdict:
    limit = told.limit or _first(_LIMITS, told.words)
    sent = told.sent or _first(_SENT, told.words)
    if limit and sent and sent <= limit:
        sent = None  # whatever was counted there, it is not what was too long
    return _Verdict("overflow", limit, sent)


def _first(patterns: tuple[re.Pattern[str], ...], words: str) -> int | None:
    for pattern in patterns:
        if match := pattern.search(words):
            return _count(match[1])
    return None


def _count(digits: str) -> int | None:
    return int(digits.replace(",", "") or 0) or None


# ------------------------------------------------------------------- the wait

_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_DURATION = re.compile(
    r"(?=\d)(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?",
    re.ASCII,
)
_AGAIN = re.compile(r"(?:try again|retry) in (\d[\dhms.]{0,30})", re.IGNORECASE)
_DATE = re.compile(r"\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _wait_seconds(headers: Mapping[str, str], told: _Told) -> float | None:
    """How long the provider asks to wait, the most exact word first."""
    if _SECONDS.fullmatch(exact := headers.get("retry-after-ms", "").strip()):
        return float(exact) / 1000
    after = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(after):
        return float(after)
    if (until := _moment(after)) and (now := _moment(headers.get("date", "").strip())):
        return max(0.0, (until - now).total_seconds())
    if (delay := _duration(told.delay)) is not None:
        return delay
    again = _AGAIN.search(told.words)
    return _duration(again[1].rstrip(".")) if again else None


def _duration(text: str) -> float | None:
    """Read ``1m12.5s``, ``37s`` or ``350ms``."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, thousandths = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000


def _moment(text: str) -> datetime | None:
    """Read an HTTP date. There is no clock here: what counts is the way from one to the other."""
    match = _DATE.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[place]) for place in (1, 3, 4, 5, 6))
    month = _MONTHS.index(match[2]) + 1
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
