"""Climb the strategies until a request is small enough.

::

    evict_superseded, collapse_failures, thin_old_results    free: nothing is lost that counts
    clip_tool_output                                         long results keep both ends
    one_line_turns                                           old answers become a line each
    drop_middle                                              head and the longest tail that fits
    keep_within_budget                                       what is protected and the newest

Each tier is tried on what the tiers before it left; the first whose result
meets the target is taken. What is protected is never dropped: where it alone
is too large, the plan says so in numbers. A plan that removes messages leaves
a marker, and with it the ledger of what went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from trimtab.budget import Limits
from trimtab.marker import ledger_tokens, with_ledger
from trimtab.plan import EMPTY_PLAN, Drop, Edit, Fold, Plan, Ref, Replace
from trimtab.policy import StrategyName
from trimtab.squeeze import has_references, restores
from trimtab.strategies.clip_newest import clip_newest
from trimtab.strategies.clip_tool_output import clip_tool_output
from trimtab.strategies.collapse_failures import collapse_failures
from trimtab.strategies.drop_middle import drop_middle
from trimtab.strategies.evict_superseded import evict_superseded
from trimtab.strategies.fold import fold
from trimtab.strategies.history import History
from trimtab.strategies.keep_within_budget import keep_within_budget, without_answered_exchange
from trimtab.strategies.mask_old_results import mask_old_results
from trimtab.strategies.one_line_turns import one_line_turns
from trimtab.strategies.tail import made_tokens
from trimtab.strategies.thin_old_results import thin_old_results

__all__ = ["Climb", "climb", "clip_alone"]

_PASSES: tuple[Callable[[History, int], tuple[Replace, ...]], ...] = (
    evict_superseded,
    collapse_failures,
    thin_old_results,
    clip_tool_output,
)
"""What shortens results and removes no message, in the order in which it is tried."""

_TOLD = "old turns told in a line each"


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
    if history.policy.strategy == "none":
        return Climb(EMPTY_PLAN, total, total, "the policy changes nothing")
    best, done = _by_tiers(history, limits)
    if done:
        return best
    if best.tokens > limits.limit_tokens:
        best, done = _by_last_resorts(history, limits, best)
        if done:
            return best
    return _noted(replace(best, forbidden=_left_undone(history)), history, limits)[0]


def _by_tiers(history: History, limits: Limits) -> tuple[Climb, bool]:
    """The first plan that meets the target with all of its ledger, else with a part of it.

    Returns:
        It and True; the smallest and False where none meets the target.
    """
    best = Climb(EMPTY_PLAN, history.total_tokens, history.total_tokens)
    cut_short: Climb | None = None
    for plan in _restored(_tiers(history, limits), history):
        best = _better(best, plan, history)
        if best.tokens <= limits.target_tokens:
            noted, is_cut = _noted(best, history, limits)
            if not is_cut:
                return noted, True
            cut_short = cut_short or noted
    return (best, False) if cut_short is None else (cut_short, True)


def _by_last_resorts(history: History, limits: Limits, best: Climb) -> tuple[Climb, bool]:
    """The first plan that keeps within the limit; fillers go where nothing else helps.

    Returns:
        It and True; the smallest with fillers and False where none does.
    """
    for plan in _restored(_last_resorts(history, limits), history):
        best = _better(best, plan, history)
        if best.tokens <= limits.limit_tokens:
            return _noted(best, history, limits)[0], True
    bare = best
    for plan in _restored(_without_fillers(history, limits), history):
        bare = _better(bare, plan, history)
        if bare.tokens <= limits.limit_tokens:
            return bare, True
    return replace(best, smallest_tokens=bare.tokens), False


def _restored(plans: Iterable[Plan], history: History) -> Iterator[Plan]:
    """The same plans, with the words of results that would point to what goes."""
    if not has_references(history.messages):
        yield from plans
        return
    for plan in plans:
        yield Plan((*plan.edits, *restores(plan, history.messages)), plan.envelope)


def _better(best: Climb, plan: Plan, history: History) -> Climb:
    tokens = history.tokens_under(plan)
    return Climb(plan, tokens, tokens) if tokens < best.tokens else best


def _noted(best: Climb, history: History, limits: Limits) -> tuple[Climb, bool]:
    """The same with a ledger in its marker, and whether that had to be cut for want of room."""
    if history.policy.strategy != "deterministic":
        return best, False
    noted = with_ledger(history, best.plan, best.tokens, limits)
    return replace(best, plan=noted.plan, tokens=noted.tokens), noted.is_cut


def _tiers(history: History, limits: Limits) -> Iterator[Plan]:
    """Plans in the order in which they are preferred, each made when it is asked for."""
    return _LADDERS[history.policy.strategy](history, limits)


def _oldest_first(history: History, limits: Limits) -> Iterator[Plan]:
    """The oldest go, until the rest fits."""
    if "compaction" not in history.constraints.left_to_client:
        yield Plan(keep_within_budget(history, limits.target_tokens))


def _masked(history: History, limits: Limits) -> Iterator[Plan]:
    """Old results go; then the oldest."""
    target, is_left = limits.target_tokens, history.constraints.left_to_client
    masks = () if "clearing" in is_left else mask_old_results(history, target)
    yield Plan(masks)
    if "compaction" not in is_left:
        yield _joined(masks, keep_within_budget(history.after(masks), target))


def _all_tiers(history: History, limits: Limits) -> Iterator[Plan]:
    target = limits.target_tokens
    passed: tuple[tuple[Replace, ...], History] = ((), history)
    for passed in _passes(history, target):
        yield Plan(passed[0])
    if "compaction" in history.constraints.left_to_client:
        return
    shorter, seen = passed
    room = target - ledger_tokens(history.policy, target)
    told = one_line_turns(seen, room - made_tokens(seen))
    yield _joined(shorter, fold(seen, set(), _TOLD, stand_ins=told))
    yield _joined(shorter, drop_middle(seen, room, told))
    yield _joined(shorter, drop_middle(seen, target, told))
    told = one_line_turns(seen, room - made_tokens(seen), keep_recent=0)
    yield _joined(shorter, fold(seen, set(), _TOLD, stand_ins=told))
    yield _joined(shorter, keep_within_budget(seen, room, told))
    yield _joined(shorter, keep_within_budget(seen, target, told))


_LADDERS: dict[StrategyName, Callable[[History, Limits], Iterator[Plan]]] = {
    "sliding": _oldest_first,
    "sticky": _oldest_first,
    "mask": _masked,
    "deterministic": _all_tiers,
}


def _passes(history: History, target_tokens: int) -> Iterator[tuple[tuple[Replace, ...], History]]:
    """What each pass adds to those before it, and the history that they make."""
    if "clearing" in history.constraints.left_to_client:
        return
    edits: dict[tuple[int, int], Replace] = {}
    for shorten in _PASSES:
        new = shorten(history, target_tokens)
        if not new:
            continue
        edits.update({(edit.message, edit.part): edit for edit in new})
        history = history.after(new)
        yield tuple(edits[place] for place in sorted(edits)), history


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


def _clip_newest(history: History, excess_tokens: int) -> tuple[Replace, ...]:
    if excess_tokens <= 0 or "clearing" in history.constraints.left_to_client:
        return ()
    return clip_newest(history, excess_tokens)


def _joined(shorter: tuple[Replace, ...], edits: tuple[Edit, ...]) -> Plan:
    """One plan of both; what is shortened of what goes anyway is left out."""
    gone = [ref for edit in edits for ref in _removed(edit)]
    whole = {ref.message for ref in gone if ref.parts is None}
    halves = {(ref.message, part) for ref in gone for part in ref.parts or ()}
    kept = (
        edit
        for edit in shorter
        if edit.message not in whole and (edit.message, edit.part) not in halves
    )
    return Plan((*kept, *edits))


def _removed(edit: Edit) -> tuple[Ref, ...]:
    match edit:
        case Fold():
            return edit.removed
        case Drop():
            return (edit.ref,)
        case _:
            return ()


def _left_undone(history: History) -> str:
    concerns = sorted(history.constraints.left_to_client)
    if not concerns:
        return ""
    return f"the client leaves {' and '.join(concerns)} to the provider"
