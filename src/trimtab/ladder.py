"""Climb the strategies until a request is small enough.

Each tier is tried on what the tiers before it left; the first whose result
meets the target is taken. What is protected is never dropped: where it alone
is too large, the plan says so in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trimtab.budget import Limits
from trimtab.plan import EMPTY_PLAN, Edit, Plan, Replace
from trimtab.strategies.clip_newest import clip_newest
from trimtab.strategies.clip_tool_output import clip_tool_output
from trimtab.strategies.drop_middle import drop_middle
from trimtab.strategies.history import History
from trimtab.strategies.keep_within_budget import keep_within_budget, without_answered_exchange

__all__ = ["Climb", "climb", "clip_alone"]


@dataclass(frozen=True, slots=True)
class Climb:
    """What the ladder came to.

    Attributes:
        plan: The edits; empty if there was nothing to do, or nothing could be done.
        tokens: What the whole request weighs under it.
        smallest_tokens: The least that any plan could make of it.
        forbidden: What was left undone because the client leaves it to the
            provider; empty if nothing was.
    """

    plan: Plan
    tokens: int
    smallest_tokens: int
    forbidden: str = ""


def climb(history: History, limits: Limits) -> Climb:
    """Make a request small enough.

    Args:
        history: What there is.
        limits: The target to come down to, and the limit that must be kept.

    Returns:
        The first plan that meets the target; else the first that keeps within
        the limit; else the smallest that keeps roles alternating.
    """
    total = history.total_tokens
    if history.constraints.hands_off:
        return Climb(EMPTY_PLAN, total, total, history.constraints.hands_off)
    best = Climb(EMPTY_PLAN, total, total)
    for plan in _tiers(history, limits):
        best = _better(best, plan, history)
        if best.tokens <= limits.target_tokens:
            return best
    if best.tokens > limits.limit_tokens:
        for plan in _last_resorts(history, limits):
            best = _better(best, plan, history)
            if best.tokens <= limits.limit_tokens:
                return best
        bare = best
        for plan in _without_fillers(history, limits):
            bare = _better(bare, plan, history)
            if bare.tokens <= limits.limit_tokens:
                return bare
        best = replace(best, smallest_tokens=bare.tokens)
    return replace(best, forbidden=_left_undone(history))


def _better(best: Climb, plan: Plan, history: History) -> Climb:
    tokens = history.tokens_under(plan)
    return Climb(plan, tokens, tokens) if tokens < best.tokens else best


def _tiers(history: History, limits: Limits) -> Iterator[Plan]:
    """Plans in the order in which they are preferred, each made when it is asked for."""
    clips = _clips(history, limits.target_tokens)
    yield Plan(clips)
    if "compaction" in history.constraints.left_to_client:
        return
    clipped = history.after(clips)
    yield _joined(clips, drop_middle(clipped, limits.target_tokens))
    yield _joined(clips, keep_within_budget(clipped, limits.target_tokens))


def _last_resorts(history: History, limits: Limits, *, with_fillers: bool = True) -> Iterator[Plan]:
    """Plans for when even what is protected is larger than the limit."""
    limit = limits.limit_tokens
    if "compaction" in history.constraints.left_to_client:
        yield clip_alone(history, limits)
        return
    yield from _kept(history, limit, with_fillers=with_fillers)
    yield clip_alone(history, limits)  # a short history: folding costs more than it saves
    released = without_answered_exchange(history)
    if released is not None:
        yield from _kept(released, limit, with_fillers=with_fillers)


def _kept(history: History, limit_tokens: int, *, with_fillers: bool) -> Iterator[Plan]:
    """What is protected and the newest, as it is and with the newest results clipped."""
    edits = keep_within_budget(history, limit_tokens, with_fillers=with_fillers)
    yield Plan(edits)
    excess = history.tokens_under(Plan(edits)) - limit_tokens
    yield _joined(_clip_newest(history, excess), edits)


def clip_alone(history: History, limits: Limits) -> Plan:
    """Clip the newest exchange's results and change nothing else.

    It reaches nothing that was sent before, so it is allowed where older
    edits are not.
    """
    return Plan(_clip_newest(history, history.total_tokens - limits.limit_tokens))


def _without_fillers(history: History, limits: Limits) -> Iterator[Plan]:
    """The same without the answers that keep roles alternating, which few servers demand."""
    constraints = history.constraints
    if "compaction" not in constraints.left_to_client and not constraints.roles_must_alternate:
        yield from _last_resorts(history, limits, with_fillers=False)


def _clips(history: History, target_tokens: int) -> tuple[Replace, ...]:
    if "clearing" in history.constraints.left_to_client:
        return ()
    return clip_tool_output(history, target_tokens)


def _clip_newest(history: History, excess_tokens: int) -> tuple[Replace, ...]:
    if excess_tokens <= 0 or "clearing" in history.constraints.left_to_client:
        return ()
    return clip_newest(history, excess_tokens)


def _joined(clips: tuple[Replace, ...], edits: tuple[Edit, ...]) -> Plan:
    """One plan of both; a clip of what goes anyway is left out."""
    gone = {
        ref.message for edit in edits for ref in getattr(edit, "removed", ()) if ref.parts is None
    }
    return Plan((*(clip for clip in clips if clip.message not in gone), *edits))


def _left_undone(history: History) -> str:
    concerns = sorted(history.constraints.left_to_client)
    if not concerns:
        return ""
    return f"the client leaves {' and '.join(concerns)} to the provider"
