"""Make a list smaller: with a briefing in its place, or by rule with an earlier one kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trimtab.briefing import Span, is_briefing, splice, with_marker_absorbed
from trimtab.budget import Limits
from trimtab.compaction import Compacted, CompactionConfig, Room, compacted
from trimtab.messages import Message
from trimtab.plan import Outcome
from trimtab.policy import Policy
from trimtab.strategies.history import History

__all__ = ["by_rule", "history_of", "with_briefing"]


def history_of(
    messages: Sequence[Message], config: CompactionConfig, policy: Policy | None = None
) -> History:
    """A list, weighed.

    Raises:
        TokenCountError: If the counter fails.
    """
    return History.weigh(messages, 0, config.measure, policy or config.policy)


def with_briefing(
    history: History, span: Span, summary: str, limits: Limits, tail_tokens: int, *, fills: bool
) -> Compacted | None:
    """The list with a briefing in place of a span.

    Args:
        history: The list.
        span: What the briefing stands for.
        summary: What the model wrote.
        limits: How far to come down, and what must not be passed.
        tail_tokens: What the tail keeps although the target is not met.
        fills: Whether the newest of the span stay as far as the target leaves room.

    Returns:
        None where there is no room for the briefing.
    """
    total = history.total_tokens
    spliced = splice(history, span, summary, limits, tail_tokens, fills=fills)
    if spliced.tokens > min(limits.limit_tokens, total):
        return None
    outcome = Outcome("fits", limits.limit_tokens, total, spliced.tokens)
    return Compacted(spliced.messages, outcome, history.priced(spliced.plan))


def by_rule(
    messages: list[Message],
    config: CompactionConfig,
    policy: Policy,
    growth_tokens: float | None,
    room: Room,
) -> Compacted:
    """The list made smaller without a model; an earlier briefing stays as long as there is room.

    Args:
        messages: The list.
        config: How far to come down.
        policy: What is kept.
        growth_tokens: By how much a turn grows; None where it is not known.
        room: What it weighs, and what it may.
    """

    def climbed(policy: Policy) -> Compacted:
        return compacted(messages, config, growth_tokens, policy=policy, room=room)

    if any(map(is_briefing, messages)):
        done = climbed(_with_briefing_kept(policy))
        if done.outcome.fits:
            limits = config.limits(room.budget_tokens, growth_tokens)
            return _absorbed(done, history_of(messages, config, policy), limits)
    return climbed(policy)


def _with_briefing_kept(policy: Policy) -> Policy:
    protect = policy.protect

    def is_protected(message: Message) -> bool:
        return message.origin == "summary" or (protect is not None and protect(message))

    return replace(policy, protect=is_protected)


def _absorbed(done: Compacted, history: History, limits: Limits) -> Compacted:
    """The same with the marker's ledger in the briefing."""
    whole = with_marker_absorbed(history, done.plan, limits)
    outcome = replace(done.outcome, tokens_after=whole.tokens)
    return replace(done, messages=whole.messages, plan=history.priced(whole.plan), outcome=outcome)
