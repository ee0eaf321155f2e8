"""Summaries of requests: which part of a history is to be summed up, and what stands of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.briefing.spans import NoSpan, Span, choose_span
from trimtab.briefing.splicing import REASON, alternating
from trimtab.messages import Message
from trimtab.plan import Fold, Plan, Slot, apply
from trimtab.strategies.history import History
from trimtab.summary import WantedSummary

__all__ = ["briefing_of", "has_briefing", "tail_tokens", "wanted_summary"]

_TAIL_TOKENS = 20_000
_TAIL_SHARE = 4


def tail_tokens(limit_tokens: int) -> int:
    """What the newest messages weigh that are never summed up: at most a fourth of the limit."""
    return min(_TAIL_TOKENS, limit_tokens // _TAIL_SHARE)


def wanted_summary(
    view: History, plan: Plan, messages: Sequence[Message], links: Sequence[bytes], tail: int
) -> WantedSummary | None:
    """Say what is to be summed up of a request.

    Args:
        view: The messages as they are sent, weighed.
        plan: What makes them of the history.
        messages: The history.
        links: Its chain values.
        tail: What the newest messages weigh that are left alone.

    Returns:
        None where there is nothing yet.
    """
    span: Span | NoSpan = choose_span(view, tail)
    if not isinstance(span, Span):
        return None
    slots = apply(plan, messages)
    cut = slots[span.cut].source if span.cut < len(slots) else None
    if cut is None:
        return None  # something that we made stands there
    head = _behind(slots, span.head)
    if cut <= head:
        return None
    sent = tuple(view.messages[: span.cut])
    return WantedSummary(links[cut - 1], head, cut, span.tokens, sent, span.head)


def _behind(slots: Sequence[Slot], place: int) -> int:
    """The message of the history that follows those before a place of the view."""
    sources = [slot.source for slot in slots[:place] if slot.source is not None]
    return max(sources, default=-1) + 1


def has_briefing(plan: Plan) -> bool:
    """Whether a plan puts a briefing somewhere."""
    return any(isinstance(edit, Fold) and edit.message.origin == "summary" for edit in plan)


def briefing_of(plan: Plan, messages: Sequence[Message]) -> Plan:
    """The edits by which a briefing stands in a plan, with what parts it from its neighbours.

    Those are others than in the whole plan, which may have removed what follows.
    """
    if not has_briefing(plan):
        return Plan()
    return alternating(Plan(tuple(edit for edit in plan if edit.reason == REASON)), messages)
