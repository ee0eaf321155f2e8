"""What a provider's answer says that it billed."""

from __future__ import annotations

from collections.abc import Mapping

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
    if _field(told, "prompt_tokens") is not None:
        cached = _number(_field(told, "prompt_tokens_details"), "cached_tokens")
        return Usage(
            fresh=max(0, _number(told, "prompt_tokens") - cached),
            cache_read=cached,
            output=_number(told, "completion_tokens"),
            reasoning=_number(_field(told, "completion_tokens_details"), "reasoning_tokens"),
        )
    return Usage(
        fresh=_number(told, "input_tokens"),
        cache_read=_number(told, "cache_read_input_tokens"),
        cache_write=_number(told, "cache_creation_input_tokens"),
        output=_number(told, "output_tokens"),
        reasoning=_number(_field(told, "output_tokens_details"), "thinking_tokens"),
    )


def _field(told: object, name: str) -> object:
    return told.get(name) if isinstance(told, Mapping) else getattr(told, name, None)


def _number(told: object, name: str) -> int:
    value = _field(told, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
