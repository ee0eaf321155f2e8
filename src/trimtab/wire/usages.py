"""What a provider's answer says that it billed.

Providers agree on words and not on meanings: Anthropic counts cached tokens
beside the input, all others inside it; Gemini counts thoughts beside the
output, all others inside it. Here they become one :class:`~trimtab.usage.Usage`.

The law of this file: numbers of one answer are never added up over its
events. They are cumulative, so the last that is not null counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from trimtab.errors import MalformedBodyError, UnknownFormatError
from trimtab.usage import Usage
from trimtab.wire.json_spans import load

__all__ = ["AnswerReport", "report_named", "usage_from", "usage_of"]

Json: TypeAlias = dict[str, Any]


def usage_of(body: bytes, format: str) -> Usage | None:  # noqa: A002 - the word for it
    """Read what a whole answer says that it billed.

    Args:
        body: The answer as JSON: one object, or the array that Gemini sends as a stream.
            Of a stream of events :class:`~trimtab.wire.streams.StreamReader` reads it.
        format: Name of the format.

    Returns:
        The usage; None where the body does not say it, or is no JSON.

    Raises:
        UnknownFormatError: If there is no format of that name.
    """
    report = report_named(format)
    try:
        value = load(body)
    except MalformedBodyError:
        return None
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            report.take(part)
    return report.usage


# ----------------------------------------------------------------- one usage


def usage_from(told: object) -> Usage:
    """Read the usage of an answer.

    Args:
        told: ``usage`` or ``usageMetadata`` as the SDK gives it: a mapping or an object, of
            any format.

    Returns:
        The usage; what is missing or null counts as 0. Where Anthropic lists the passes of
        an answer (``iterations``), the last one over the conversation itself counts, as
        its prompt is what the conversation has become: the sum over all would count the
        conversation several times, and a pass that compacts it, or asks an advisor, has
        another prompt.
    """
    if isinstance(told, Usage):
        return told
    if _has(told, *_GEMINI_FIELDS):
        return _gemini_usage(told)
    if _has(told, "prompt_tokens", "completion_tokens"):
        return _openai_usage(told, "prompt", "completion")
    if _field(told, "input_tokens_details") is not None:
        return _openai_usage(told, "input", "output")
    return _anthropic_usage(told)


def _anthropic_usage(told: object) -> Usage:
    last = _last_pass(told) or told
    output = _number(last, "output_tokens")
    details = _field(last, "output_tokens_details") or _field(told, "output_tokens_details")
    # Responses without details of its input looks the same but for the name of this.
    reasoning = _number(details, "thinking_tokens") or _number(details, "reasoning_tokens")
    return Usage(
        fresh=_number(last, "input_tokens"),
        cache_read=_number(last, "cache_read_input_tokens"),
        cache_write=_number(last, "cache_creation_input_tokens"),
        output=output,
        reasoning=min(reasoning, output),
    )


def _last_pass(told: object) -> object | None:
    passes = _field(told, "iterations")
    if not isinstance(passes, list | tuple):
        return None
    return next((one for one in reversed(passes) if _field(one, "type") == "message"), None)


def _openai_usage(told: object, sent: str, made: str) -> Usage:
    details = _field(told, f"{sent}_tokens_details")
    # DeepSeek tells hits beside its sum and not in details.
    read = _number(details, "cached_tokens") or _number(told, "prompt_cache_hit_tokens")
    written = _number(details, "cache_write_tokens")
    total = _number(told, f"{sent}_tokens")
    if max(read, written) > total:
        total += read + written  # as gateways have it that pass on Anthropic's numbers
    written = min(written, total - read)  # one counts what it has written as read at once
    fresh = total - read - written
    return Usage(
        fresh=fresh,
        cache_read=read,
        cache_write=written,
        output=_number(told, f"{made}_tokens"),
        reasoning=_number(_field(told, f"{made}_tokens_details"), "reasoning_tokens"),
    )


_GEMINI_FIELDS = (
    "promptTokenCount",
    "prompt_token_count",
    "candidatesTokenCount",
    "candidates_token_count",
    "totalTokenCount",
    "total_token_count",
)


def _gemini_usage(told: object) -> Usage:
    read = _either(told, "cachedContentTokenCount", "cached_content_token_count")
    total = _either(told, "promptTokenCount", "prompt_token_count")
    # What its own tools read is beside the prompt; it was sent to the model all the same.
    by_tools = _either(told, "toolUsePromptTokenCount", "tool_use_prompt_token_count")
    thoughts = _either(told, "thoughtsTokenCount", "thoughts_token_count")
    return Usage(
        fresh=max(0, total - read) + by_tools,
        cache_read=read,
        output=_either(told, "candidatesTokenCount", "candidates_token_count") + thoughts,
        reasoning=thoughts,
    )


def _either(told: object, camel: str, snake: str) -> int:
    return _number(told, camel) or _number(told, snake)


def _has(told: object, *names: str) -> bool:
    return any(_field(told, name) is not None for name in names)


def _field(told: object, name: str) -> Any:  # noqa: ANN401 - whatever an SDK has there
    return told.get(name) if isinstance(told, Mapping) else getattr(told, name, None)


def _number(told: object, name: str) -> int:
    """Read a count; what is no count is 0."""
    value = _field(told, name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


# ----------------------------------------------------- what an answer is made of


class _Said(NamedTuple):
    """What one event of an answer, or a whole answer, says about it."""

    usage: object = None
    model: object = None
    stop_reason: object = None


class AnswerReport:
    """What is known of an answer so far; :func:`report_named` makes one.

    Attributes:
        model: The model that answers, as it calls itself; None where it did not say.
        stop_reason: Why it ended, in the provider's word; None where it did not say.
    """

    def __init__(self, says: Callable[[Json], _Said]) -> None:
        self.model: str | None = None
        self.stop_reason: str | None = None
        self._says = says
        self._counts: Json = {}

    @property
    def usage(self) -> Usage | None:
        """What it billed so far; None where no number was told."""
        return usage_from(self._counts) if _holds_count(self._counts) else None

    def take(self, event: Json) -> None:
        """Take in one event, or the whole answer."""
        said = self._says(event)
        if isinstance(said.usage, dict):
            _lay_over(self._counts, said.usage)
        if isinstance(said.model, str) and said.model:
            self.model = said.model
        if isinstance(said.stop_reason, str) and said.stop_reason:
            self.stop_reason = said.stop_reason


def _holds_count(counts: Json) -> bool:
    return any(isinstance(count, int) and not isinstance(count, bool) for count in counts.values())


def _lay_over(counts: Json, newer: Json) -> None:
    """Let newer values count, where they are not null."""
    for name, value in newer.items():
        known = counts.get(name)
        if isinstance(value, dict) and isinstance(known, dict):
            counts[name] = known | {key: count for key, count in value.items() if count is not None}
        elif value is not None:
            counts[name] = value


def _inside(event: Json, name: str) -> Json:
    """A member that is an object; an empty one where it is not."""
    value = event.get(name)
    return value if isinstance(value, dict) else {}


def _objects(event: Json, name: str) -> list[Json]:
    value = event.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _anthropic(event: Json) -> _Said:
    message = _inside(event, "message") or event
    stop = _inside(event, "delta").get("stop_reason") or message.get("stop_reason")
    return _Said(message.get("usage"), message.get("model"), stop)


def _openai_chat(event: Json) -> _Said:
    usage = event.get("usage") or _inside(event, "x_groq").get("usage")
    stop = None
    for choice in _objects(event, "choices"):
        usage = usage or choice.get("usage")  # Kimi tells it there
        stop = stop or choice.get("finish_reason")
    return _Said(usage, event.get("model"), stop)


def _openai_responses(event: Json) -> _Said:
    response = _inside(event, "response") or event
    stop = _inside(response, "incomplete_details").get("reason") or response.get("status")
    # An answer that has just begun has a status too, which says nothing about its end.
    ended = stop if stop not in ("queued", "in_progress") else None
    return _Said(response.get("usage"), response.get("model"), ended)


def _gemini(event: Json) -> _Said:
    chunk = _inside(event, "response") or event  # Code Assist wraps each chunk
    stop = _inside(chunk, "promptFeedback").get("blockReason")
    for candidate in _objects(chunk, "candidates"):
        stop = stop or candidate.get("finishReason")
    return _Said(chunk.get("usageMetadata"), chunk.get("modelVersion"), stop)


_FORMATS: dict[str, Callable[[Json], _Said]] = {
    "anthropic": _anthropic,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "gemini": _gemini,
}


def report_named(format: str) -> AnswerReport:  # noqa: A002 - the word for it
    """Begin to read an answer.

    Raises:
        UnknownFormatError: If there is no format of that name; the message lists them.
    """
    if format not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise UnknownFormatError(f"there is no format {format!r}; known are {known}")
    return AnswerReport(_FORMATS[format])
