"""Where a request stands before anything is decided: what is known of it, how large it is and may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.budget import Limits, Scale
from trimtab.chain import digest
from trimtab.economy import SHORT_LIFE_SECONDS, life_seconds
from trimtab.events import CompactionCause, ReserveCut
from trimtab.plan import EMPTY_PLAN, Plan
from trimtab.policy import Policy
from trimtab.recall import Known, View
from trimtab.state import State, SurfaceDigest
from trimtab.strategies.history import History
from trimtab.strategies.mend_pairs import mend_pairs
from trimtab.summary import KeptSummary
from trimtab.tokens import Measure
from trimtab.tracker import ContextTracker
from trimtab.turn import Turn
from trimtab.wire import Request, read
from trimtab.wire.json_spans import object_spans

__all__ = [
    "Position",
    "after",
    "is_of",
    "mending",
    "scale_for",
    "surface_of",
    "tracker_for",
    "weigh_all",
]

_LONG_LIFE = b'"1h"'
"""How a cache marker asks for an hour."""

_COLD_SHARE = 0.5
"""Of the trigger, on a turn on which the provider's cache is lost anyway."""

_MOST_OFF = 4
"""A count that is further off than this is not of what was billed: reported sizes were
30 to 90 % off, and no tokenizer in use takes more than 4 bytes of a token for one."""

_STEP = 10_000
"""Tokens over which the rate of the bill is read off the tracker's predictions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a request stands before anything is decided.

    Attributes:
        turn: The request.
        known: What was sent for the part of it that is known.
        view: What would be sent if nothing had to be made smaller.
        policy: What the user wants.
        measure: Weighs.
        surface: Its model, system prompt and tools.
        tracker: What was billed for the requests before it.
        scale: How counts compare with what is billed.
        billed_limits: How large it may be on the bill.
        limits: How large it may be as it is counted.
        learned_tokens: A limit that the provider taught; None for none.
        refused: Digests of plans that the provider refused.
        cut: Told where the room for the answer had to be cut.
        summary: The newest summary that was accepted for these messages; None for none.
        may_ask: Whether another summary may be wanted now.
    """

    turn: Turn
    known: Known
    view: View
    policy: Policy
    measure: Measure
    surface: SurfaceDigest
    tracker: ContextTracker
    scale: Scale
    billed_limits: Limits
    limits: Limits
    learned_tokens: int | None
    refused: tuple[bytes, ...]
    cut: ReserveCut | None
    summary: KeptSummary | None = None
    may_ask: bool = False

    @property
    def tokens(self) -> int:
        """What the whole request would weigh if nothing was made smaller."""
        return self.surface.tokens + self.view.tokens

    @property
    def tokens_before(self) -> int:
        """What the whole request weighs as it came."""
        return self.surface.tokens + self.view.whole_tokens

    @property
    def is_due(self) -> bool:
        """Whether it is to be made smaller."""
        state, limits = self.known.state, self.limits
        if self.is_over:
            return True
        if self.is_retry:
            return False
        trigger = limits.trigger_tokens
        if self.is_cold:
            trigger = max(limits.target_tokens, int(trigger * _COLD_SHARE))
        return self.tokens > trigger and (state is None or self.tokens >= state.floor_tokens)

    @property
    def due_cause(self) -> CompactionCause:
        """Why it is to be made smaller, where it is."""
        if self.is_over:
            return "limit"
        return "trigger" if self.tokens > self.limits.trigger_tokens else "cold"

    @property
    def is_over(self) -> bool:
        """Whether it is larger than it may be."""
        return self.tokens > self.limits.limit_tokens

    @property
    def is_retry(self) -> bool:
        """Whether the very same messages were sent before."""
        return bool(self.known.messages) and self.known.messages == len(self.turn.links)

    @property
    def is_cold(self) -> bool:
        """Whether the provider's cache is lost anyway."""
        state, now = self.known.state, self.turn.call.now
        if state is None or not self.known.messages:
            return False
        if state.surface.model != self.surface.model or state.surface.tools != self.surface.tools:
            return True
        idle = now - state.at if now and state.at else 0.0
        if idle <= SHORT_LIFE_SECONDS:  # markers are looked for only where they matter
            return False
        return idle > life_seconds(self.model, has_long_marker=self.is_kept_long)

    @property
    def model(self) -> str:
        """Who answers, as the request or its address names it."""
        return self.turn.request.model or self.turn.call.model

    @property
    def is_kept_long(self) -> bool:
        """Whether the messages are marked to be kept in the provider's cache for an hour."""
        request = self.turn.request
        if not request.format.may_hold_markers(request.body):  # then ours are set, if any
            return bool(request.format.marker_keys) and self.policy.cache_markers == "1h"
        return any(_LONG_LIFE in marker for marker in _markers(request))

    @property
    def comes_back(self) -> bool:
        """Whether a raised budget may have room for all that a smaller one had removed."""
        state, limit = self.known.state, self.policy.limit_tokens
        if state is None or limit is None or not self.known.plan:
            return False
        is_raised = limit > state.policy_limit_tokens > 0
        is_free = not self.turn.request.manners.binds_thinking
        return is_raised and is_free and self.tokens_before <= self.limits.trigger_tokens

    def weighed(self) -> History:
        """The request as it came, each message weighed."""
        return weigh_all(self.turn.request, self.surface.tokens, self.measure, self.policy)

    def tokens_of(self, plan: Plan, body: bytes) -> int:
        """What really goes out. Texts that were counted before are not counted again."""
        if body is self.turn.call.body:
            return self.tokens_before
        if plan is self.view.kept and not self.view.added and self.known.counted:
            return self.tokens
        sent = read(body, self.turn.request.format.name)
        return self.surface.tokens + sum(map(self.measure.message, sent.messages))


def _markers(request: Request) -> Iterator[bytes]:
    """Cache markers that keep messages: those on them, and one for the whole request."""
    envelope = object_spans(request.body)
    for key in request.format.marker_keys:
        if key in envelope:
            yield request.body[slice(*envelope[key])]
    for place in range(len(request.spans)):
        yield from request.format.cache_markers(request.message_bytes(place))


def weigh_all(request: Request, fixed_tokens: int, measure: Measure, policy: Policy) -> History:
    """A request as it came, each message weighed."""
    return History.weigh(request.messages, fixed_tokens, measure, policy, request.constraints)


def mending(request: Request, policy: Policy) -> Plan:
    """What to change in a history that arrived broken."""
    if not policy.repair or request.manners.hands_off:
        return EMPTY_PLAN
    return Plan(mend_pairs(request.messages, request.constraints))


def after(plan: Plan, arrived: History, policy: Policy) -> History:
    """The history that a plan makes, weighed."""
    return arrived.under(plan, policy) if plan else arrived


def tracker_for(
    state: State | None, surface: SurfaceDigest, known: Known, view: View
) -> ContextTracker:
    """What was billed for this conversation, where it was billed for this surface."""
    tracker = ContextTracker() if state is None else state.tracker.copy()
    tracker.carry_into((surface.model + surface.system + surface.tools).hex())
    if view.answer is not None and known.state is not None and known.state.billed_tokens:
        tracker.answered(view.answer.size_bytes, counted=view.answer.tokens)
    return tracker


def scale_for(tracker: ContextTracker, surface: SurfaceDigest, view: View) -> Scale:
    """How this request's count compares with what it will hardly be billed more than."""
    counted = surface.tokens + view.tokens
    billed = tracker.upper(view.size_bytes, counted=view.tokens)
    near = tracker.predict(view.size_bytes, counted=view.tokens)
    far = tracker.predict(view.size_bytes, counted=view.tokens + _STEP)
    if billed is None or near is None or far is None or not is_of(billed, counted):
        return Scale()
    return Scale(counted, billed, _STEP, max(1, far - near))


def is_of(billed_tokens: int, counted_tokens: int) -> bool:
    """Whether what was billed can be of what was counted."""
    least, most = sorted((billed_tokens, counted_tokens))
    return least > 0 and most <= least * _MOST_OFF


def surface_of(turn: Turn, measure: Measure, state: State | None) -> SurfaceDigest:
    """Hash the surface; weigh it only where it is another one than before."""
    request = turn.request
    forms = request.format.surface_forms(request.members)
    if not forms.model:  # the address names it
        forms = forms._replace(model=turn.call.model.encode("utf-8", "surrogatepass"))
    model, system, tools = map(digest, forms)
    if state is not None:
        before = state.surface
        if (before.model, before.system, before.tools) == (model, system, tools):
            return before
    return SurfaceDigest(model, system, tools, measure.surface(request.surface))
