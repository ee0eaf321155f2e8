"""The newest requests, so that one that goes on from them is read from where they ended.

A convenience of one process: a turn that is not found here is read whole, and
comes out the same.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from trimtab.turn import Turn

__all__ = ["RecentTurns"]

_MOST_BYTES = 16 * 1024 * 1024
_MOST_TURNS = 32
"""Each one that is kept is held against each request: a fraction of a microsecond."""


class RecentTurns:
    """Keeps some turns; of a conversation that goes on the newest. Safe for threads.

    Args:
        max_bytes: How large their bodies may be together; the oldest go first.
    """

    def __init__(self, max_bytes: int = _MOST_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._turns: OrderedDict[tuple[str, bytes], Turn] = OrderedDict()
        self._lock = Lock()

    def best_for(self, body: bytes, tenant: str) -> Turn | None:
        """The turn with which a body shares the most messages; None for none.

        Args:
            body: The body of a request that is not read yet.
            tenant: Whose it is; turns of other tenants are not looked at.
        """
        with self._lock:
            turns = [turn for (owner, _), turn in self._turns.items() if owner == tenant]
        alike = [turn for turn in turns if turn.request.shares_first_message(body)]
        return max(alike, key=lambda turn: turn.request.shared_messages(body), default=None)

    def keep(self, turn: Turn, tenant: str, before: Turn | None) -> None:
        """Keep a turn, in place of the one that it goes on from.

        Args:
            turn: The turn that was read.
            tenant: Whose it is.
            before: What :meth:`best_for` had found for it.
        """
        if not turn.links or len(turn.call.body) > self._max_bytes:
            return
        with self._lock:
            if before is not None and _goes_on(turn, before):
                self._drop((tenant, before.key))
            self._drop((tenant, turn.key))
            self._turns[tenant, turn.key] = turn.lean()
            self._bytes += len(turn.call.body)
            while self._bytes > self._max_bytes or len(self._turns) > _MOST_TURNS:
                self._drop(next(iter(self._turns)))

    def _drop(self, key: tuple[str, bytes]) -> None:
        turn = self._turns.pop(key, None)
        if turn is not None:
            self._bytes -= len(turn.call.body)


def _goes_on(turn: Turn, before: Turn) -> bool:
    count = len(before.links)
    return count <= len(turn.links) and turn.links[count - 1] == before.key
