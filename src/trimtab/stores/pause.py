"""Leave a store that does not answer alone for a while, so that not every request waits for it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

__all__ = ["Pause"]

_PATIENCE = 3
"""Failures in a row after which it is left alone."""

_LONGEST_SECONDS = 30.0


class Pause:
    """Counts failures, and says when to ask again. Safe for threads.

    After three failures in a row a second goes by, then two, four, up to
    thirty; when it is over, one caller asks and the others wait for what he finds.

    Args:
        clock: Seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._lock = Lock()

    def is_over(self) -> bool:
        """Whether the caller may ask; if a pause has just ended, he alone."""
        with self._lock:
            if self._failures < _PATIENCE:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._seconds()
            return True

    def after_failure(self) -> float:
        """Note a failure.

        Returns:
            For how many seconds the store is left alone now; 0.0 for not at all.
        """
        with self._lock:
            self._failures += 1
            seconds = self._seconds()
            self._until = self._clock() + seconds
            return seconds

    def after_success(self) -> None:
        """Note that it has answered."""
        with self._lock:
            self._failures = 0

    def _seconds(self) -> float:
        if self._failures < _PATIENCE:
            return 0.0
        return float(min(_LONGEST_SECONDS, 2.0 ** min(10, self._failures - _PATIENCE)))
