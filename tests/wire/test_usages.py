"""What an answer says that it billed, in one meaning for all providers."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from trimtab import Usage
from trimtab.wire.usages import usage_from

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
        ({"service_tier": "standard"}, Usage()),
    ],
)
def test_usage_is_read_in_every_shape_that_sdks_give_it(
    shape: Any, told: Any, usage: Usage
) -> None:
    """A dict, another mapping, or an object with attributes, of either format."""
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


@pytest.mark.parametrize("told", [ANTHROPIC, CHAT])
def test_cached_tokens_count_once(told: dict[str, Any]) -> None:
    """The whole prompt, whichever way the provider tells its parts."""
    assert usage_from(told).total_input == 123
