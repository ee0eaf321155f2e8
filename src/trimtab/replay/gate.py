"""Law 7: never dearer. What a set of sessions says of the default policy.

In all, the whole bill is lower; in no session is it more than 2 % above doing
nothing or above the client's own compaction, whichever is cheaper; a session
that is never compacted goes out unchanged. Doing nothing counts only where the
provider would have taken every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT
from trimtab.replay.results import Costs, PolicyResult, SessionResult, share_saved

__all__ = ["MOST_DEARER", "Verdict", "base_of", "judge"]

MOST_DEARER = 0.02
"""What one session may cost more, as a share of its bill."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a set of sessions says.

    Attributes:
        sessions: How many were looked at.
        past_trigger: How many of them were ever so large that a compaction was planned.
        saved: What the default saves in all, with what was fetched again, as a share.
        saved_past_trigger: The same of the sessions past the trigger, at three extra exchanges
            after each compaction; None for no such session.
        worst: What it saves in the session in which it saves least; below 0 where it is dearer.
        worst_session: Which that is; empty for no session.
        broken: Where the law does not hold, in words.
    """

    sessions: int
    past_trigger: int
    saved: float
    saved_past_trigger: float | None
    worst: float
    worst_session: str
    broken: tuple[str, ...]


def base_of(result: SessionResult) -> PolicyResult:
    """The cheaper of doing nothing and of the client's own compaction, with which ours competes."""
    nothing, client = result.policies[DIRECT], result.policies[CLIENT]
    if nothing.over_limit or client.costs.units <= nothing.costs.units:
        return client
    return nothing


def judge(results: Sequence[SessionResult]) -> Verdict:
    """Hold the default policy against law 7.

    Args:
        results: Sessions; those of which no request could be priced do not count.
    """
    counted = [result for result in results if result.policies[DEFAULT].requests]
    broken: list[str] = []
    worst, worst_session = 1.0, ""
    for result in counted:
        mine = result.policies[DEFAULT]
        saved = share_saved(mine.net, base_of(result).costs)
        if saved < worst:
            worst, worst_session = saved, result.name
        if saved < -MOST_DEARER:
            broken.append(f"{result.name}: {-saved:.1%} dearer, more than {MOST_DEARER:.0%}")
        if mine.made_invalid:
            broken.append(f"{result.name}: {mine.made_invalid} requests were made invalid")
        if mine.changed and not (mine.compactions or mine.repairs):
            broken.append(f"{result.name}: never compacted, and yet not sent as it came")
    past = [result for result in counted if result.passes_trigger]
    saved = _saved(counted)
    if past and saved <= 0:
        broken.append(f"in all: {0.0 - saved:.1%} dearer")
    return Verdict(
        len(counted),
        len(past),
        saved,
        _saved(past, 3) if past else None,
        worst if counted else 0.0,
        worst_session,
        tuple(broken),
    )


def _saved(results: Sequence[SessionResult], exchanges: int | None = None) -> float:
    mine = Costs.sum(_costs(result.policies[DEFAULT], exchanges) for result in results)
    return share_saved(mine, Costs.sum(base_of(result).costs for result in results))


def _costs(result: PolicyResult, exchanges: int | None) -> Costs:
    return result.net if exchanges is None else result.with_exchanges(exchanges)
