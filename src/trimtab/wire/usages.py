"""What a provider's answer says that it billed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trimtab.usage import Usage

__all__ = ["usage_from"]


def usage_from(told: object) -> Usage:
    """Read the ``usage`` of an answer.

    Args:
        told: As the SDK gives it: a mapping or an object, of Anthropic or OpenAI Chat.

    Returns:
        The usage; what is missing or null counts as 0.
    """
    if isinstance(told, Usage):
        return told
    fields = _fields(told)
    if "prompt_tokens" in fields:
        details = _fields(fields.get("prompt_tokens_details"))
        cached = _number(details, "cached_tokens")
        return Usage(
            fresh=_number(fields, "prompt_tokens") - cached,
            cache_read=cached,
            output=_number(fields, "completion_tokens"),
            reasoning=_number(_fields(fields.get("completion_tokens_details")), "reasoning_tokens"),
        )
    return Usage(
        fresh=_number(fields, "input_tokens"),
        cache_read=_number(fields, "cache_read_input_tokens"),
        cache_write=_number(fields, "cache_creation_input_tokens"),
        output=_number(fields, "output_tokens"),
        reasoning=_number(_fields(fields.get("output_tokens_details")), "thinking_tokens"),
    )


def _fields(told: object) -> Mapping[str, Any]:
    if told is None:
        return {}
    return told if isinstance(told, Mapping) else vars(told)


def _number(fields: Mapping[str, Any], key: str) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) else 0
