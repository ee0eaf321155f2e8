"""Requests made of a program's own objects: dicts, or the typed objects of a provider's SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from trimtab.errors import RequestError
from trimtab.wire.claude_models import claude_model

__all__ = ["encode_object", "tell_format"]

_CHAT_ROLES = frozenset(("tool", "developer", "function"))
_ITEM_TYPES = frozenset(("message", "reasoning", "function_call", "function_call_output"))


def encode_object(value: object, what: str) -> bytes:
    """Encode an object as JSON, its keys in the order that they have.

    Args:
        value: Dicts, lists, strings, numbers, dataclasses, and objects of SDKs
            that have a ``model_dump``.
        what: What it is, for the error.

    Raises:
        RequestError: If something in it is no JSON.
    """
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:
        raise RequestError(f"{what} holds half of a character (a lone surrogate)") from None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise RequestError(f"{what} cannot be written as JSON: {error}") from None


def _plain(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"an object of type {type(value).__name__} is no JSON")
    # What was never set was never sent: so SDKs write their own objects.
    return dump(mode="json", exclude_unset=True, by_alias=True)


def tell_format(model: str, fields: Mapping[str, Any], messages: Sequence[Any]) -> str:
    """Say in which format a program writes its requests.

    Args:
        model: The model's id.
        fields: What it sends besides messages.
        messages: The messages.

    Returns:
        The name of the format.
    """
    if "system" in fields:
        return "anthropic"
    if "instructions" in fields:
        return "openai-responses"
    for message in messages:
        get = message.get if isinstance(message, Mapping) else _getter(message)
        if get("call_id") is not None or get("type") in _ITEM_TYPES:
            return "openai-responses"
        if get("role") in _CHAT_ROLES or get("tool_calls") is not None:
            return "openai-chat"
    return "openai-chat" if claude_model(model) is None else "anthropic"


def _getter(message: object) -> Any:  # noqa: ANN401 - a function like that of a mapping
    return lambda key: getattr(message, key, None)
