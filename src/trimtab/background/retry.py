"""When and how often a model is asked again."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trimtab.errors import PolicyError, SummaryError
from trimtab.policy import require_whole

__all__ = ["Retry", "is_retryable", "roomier", "wait_asked"]


@dataclass(frozen=True, slots=True)
class Retry:
    """How a request that failed is made again.

    Only what may go better is: a time limit that ran out, a connection that
    broke, and what the summarizer says is worth another try.

    Attributes:
        retries: Attempts after the first, 0 or more.
        first_seconds: Wait before the first of them, above 0.
        factor: By what each further wait is longer, 1 or more.
        most_seconds: The longest wait, also where the provider asks for a longer one.
        jitter: Share by which a wait may be shorter or longer, from 0 to below 1, so
            that many agents do not come back at once.

    Raises:
        PolicyError: If a setting is out of its range.
    """

    retries: int = 3
    first_seconds: float = 1.0
    factor: float = 2.0
    most_seconds: float = 30.0
    jitter: float = 0.2

    def __post_init__(self) -> None:
        require_whole("retries", self.retries, 0)
        for setting in ("first_seconds", "most_seconds"):
            value = getattr(self, setting)
            if not (value > 0 and math.isfinite(value)):
                raise PolicyError(setting, value, "it must be a number of seconds above 0")
        if not (self.factor >= 1 and math.isfinite(self.factor)):
            raise PolicyError("factor", self.factor, "it must be 1 or more")
        if not 0 <= self.jitter < 1:
            raise PolicyError("jitter", self.jitter, "it must be from 0 to below 1")

    def wait_seconds(self, attempt: int, asked: float | None, chance: float) -> float:
        """How long to wait before the next attempt.

        Args:
            attempt: How many were made, 1 or more.
            asked: Seconds that the provider asked for; None where it did not.
            chance: A random number from 0 to 1.

        Returns:
            Above 0 and at most ``most_seconds``.
        """
        wait = self.first_seconds
        for _ in range(min(attempt - 1, _MOST_STEPS)):
            wait = min(wait * self.factor, self.most_seconds)
        wait *= 1 + self.jitter * (2 * chance - 1)
        if asked is not None and asked > wait:
            wait = asked
        return min(wait, self.most_seconds)


_MOST_STEPS = 64
"""A wait that has not reached its longest by then hardly grows at all."""


_MOST_DOUBLINGS = 2
"""Times that a model gets more room because its answers were cut; what is four times as long
as was wanted will not be a summary at eight times either."""


def roomier(max_tokens: int, cuts: int) -> int:
    """Most output tokens of the next request.

    Args:
        max_tokens: Those of the first.
        cuts: Answers since the last good one that were cut at their length.
    """
    return max_tokens << min(cuts, _MOST_DOUBLINGS)


def is_retryable(error: BaseException) -> bool:
    """Whether asking again may help."""
    if isinstance(error, SummaryError):
        return error.is_retryable
    return isinstance(error, (TimeoutError, ConnectionError))


def wait_asked(error: BaseException) -> float | None:
    """How long the provider asked to wait; None where it did not say."""
    asked = error.wait_seconds if isinstance(error, SummaryError) else None
    return asked if asked is not None and asked >= 0 else None
