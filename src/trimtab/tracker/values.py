"""What a tracker holds and reckons with: whole numbers, checked where they come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from trimtab.errors import PolicyError

__all__ = [
    "BYTES",
    "BYTES_PER_TOKEN",
    "COUNTED",
    "MIN_SAMPLE_BYTES",
    "Answer",
    "Rate",
    "Seen",
    "Step",
    "Unit",
    "whole",
    "whole_or_none",
]

BYTES_PER_TOKEN = 3
"""Of plain prose, and the lowest rate that the first rule believes: what is
cheaper, such as a repeated character, says nothing of what comes next."""

MIN_SAMPLE_BYTES = 512
"""Fewer new bytes are no sample: what else moves the bill would be taken for a rate."""


class Unit(NamedTuple):
    """What sizes are told in, and what one of it can cost.

    Attributes:
        name: ``bytes`` or ``counted``.
        place: Where it stands in what was seen, and in an answer.
        sample: Size of the sample that stands for what is not learned yet.
        first: Tokens that one of it costs before anything is learned, as numerator and denominator.
        least: Fewest tokens that it can cost, as numerator and denominator.
        most: Most tokens that one of it can cost.
    """

    name: str
    place: int
    sample: int
    first: tuple[int, int]
    least: tuple[int, int]
    most: int


# No tokenizer makes more than one token of a byte. Bills of recorded sessions come to 2 to 8
# bytes a token, and o200k, which counts, to about 4; so one counted is half a token to two.
BYTES = Unit("bytes", 1, MIN_SAMPLE_BYTES, (1, BYTES_PER_TOKEN), (1, 8), 1)
COUNTED = Unit("counted", 2, MIN_SAMPLE_BYTES // BYTES_PER_TOKEN, (1, 1), (1, 2), 2)

Rate: TypeAlias = tuple[int, int]
"""Tokens for a size: numerator and denominator."""


class Seen(NamedTuple):
    """One observation.

    Attributes:
        tokens: What was billed.
        bytes: How large the messages were.
        counted: What a counter made of them; None where nobody counted.
    """

    tokens: int
    bytes: int
    counted: int | None

    @classmethod
    def of(cls, fields: Sequence[Any]) -> Seen:
        """Read one back; what is none raises PolicyError, TypeError or ValueError."""
        tokens, size, counted = fields
        return cls(whole("tokens", tokens), whole("bytes", size), whole_or_none("counted", counted))


class Answer(NamedTuple):
    """The answer to the newest observed request.

    Attributes:
        tokens: What was billed for it; None where nobody said.
        bytes: How large it is in the list of messages; None where nobody said.
        counted: What a counter makes of it there; None where nobody counted.
        reasoning: The part of it that was reasoning.
    """

    tokens: int | None = None
    bytes: int | None = None
    counted: int | None = None
    reasoning: int = 0

    @classmethod
    def of(cls, fields: Sequence[Any]) -> Answer:
        """Read one back; what is none raises PolicyError, TypeError or ValueError."""
        *sizes, reasoning = fields
        told, size, counted = (whole_or_none("answer", each) for each in sizes)
        return cls(told, size, counted, whole("reasoning", reasoning))


class Step(NamedTuple):
    """From the newest observation to a list of messages.

    Attributes:
        unit: What its sizes are in.
        answer: Size of the answer in the list; 0 where it is not told apart.
        is_told: Whether the answer's bill is known.
        rest: By how much all else grew; below 0 where the list was cut.
    """

    unit: Unit
    answer: int
    is_told: bool
    rest: int


def whole(setting: str, value: int) -> int:
    """Let a whole number of 0 or more pass, and nothing else.

    Raises:
        PolicyError: If it is something else; a bool is.
    """
    if type(value) is not int or value < 0:
        raise PolicyError(setting, value, "it must be a whole number of 0 or more")
    return value


def whole_or_none(setting: str, value: int | None) -> int | None:
    """The same for what may be left out."""
    return None if value is None else whole(setting, value)
