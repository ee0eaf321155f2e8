"""What answered a recorded request, and how readers tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from trimtab.usage import Usage

__all__ = [
    "INTERRUPTED",
    "NO_CALL",
    "NO_MESSAGE",
    "NO_RESULT",
    "STAND_IN",
    "Answer",
    "Notes",
    "billed",
    "chat_usage",
    "seconds",
]

INTERRUPTED = "[The recording does not hold a result of this call.]"
"""Stands where a result is missing: every provider demands one."""

# No prompt is larger; what claims to be is no count.
_MOST_TOKENS = 10**12

# Larger ones are milliseconds: in seconds they would lie 3,000 years ahead.
_LARGEST_SECONDS = 10**11

NO_RESULT = "tool calls without a result, answered as interrupted"
NO_CALL = "tool results left out, whose calls are not in the log"


STAND_IN = "[The recording does not hold this message.]"
NO_MESSAGE = "messages that are not in the log, for which a text stands in"


class Answer(NamedTuple):
    """What answered a request.

    Attributes:
        model: The model; empty where the log does not say.
        usage: What was billed; None where the log does not say.
        at: When it came, in seconds since the epoch; None where the log does not say.
    """

    model: str = ""
    usage: Usage | None = None
    at: float | None = None


class Notes(Counter[str]):
    """How often something had to be guessed, by what it was."""

    def told(self) -> tuple[str, ...]:
        """Say it in words."""
        return tuple(f"{what}: {count}" for what, count in self.items() if count)


def billed(
    total: object, *, read: object = 0, write: object = 0, output: object = 0, reasoning: object = 0
) -> Usage | None:
    """Make a usage of a figure that includes what was read from the cache and written to it.

    Args:
        total: The whole prompt.
        read: The part of it that was read from the cache.
        write: The part of it that was written to the cache.
        output: What was answered, reasoning included.
        reasoning: The part of the output that was reasoning.

    Returns:
        None where nothing was billed for the prompt: the log has no figures, or zeros for them.
    """
    whole, cached, written = _number(total), _number(read), _number(write)
    if not whole:
        return None
    return Usage(
        fresh=max(0, whole - cached - written),
        cache_read=cached,
        cache_write=written,
        output=_number(output),
        reasoning=_number(reasoning),
    )


def _number(value: object) -> int:
    """Read a count of tokens; whatever is none is 0."""
    if not isinstance(value, int | float) or not 0 <= value < _MOST_TOKENS:
        return 0
    return int(value)


def chat_usage(told: object) -> Usage | None:
    """Read the usage of an answer in OpenAI's words, or in those of who translates into them.

    Args:
        told: The decoded usage; cached tokens may also stand beside it in Anthropic's words.
    """
    figures = _members(told)
    inside = _members(figures.get("prompt_tokens_details") or figures.get("input_tokens_details"))
    outside = figures.get("completion_tokens_details") or figures.get("output_tokens_details")
    return billed(
        figures.get("prompt_tokens") or figures.get("input_tokens"),
        read=inside.get("cached_tokens") or figures.get("cache_read_input_tokens"),
        write=figures.get("cache_creation_input_tokens"),
        output=figures.get("completion_tokens") or figures.get("output_tokens"),
        reasoning=_members(outside).get("reasoning_tokens"),
    )


def _members(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def seconds(stamp: object) -> float | None:
    """Read a moment: ISO text, seconds, or milliseconds since the epoch; None for anything else."""
    if isinstance(stamp, int | float):
        return stamp / 1000 if stamp > _LARGEST_SECONDS else float(stamp)
    try:
        moment = datetime.fromisoformat(stamp if isinstance(stamp, str) else "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
