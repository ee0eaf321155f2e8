"""What the report tells of a session beyond its bills: turn by turn, in numbers alone.

No word of the conversation is in it: kinds, counts and places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from trimtab.economy import Prices
from trimtab.replay.results import Costs

__all__ = [
    "Cost",
    "CutAccount",
    "CutStory",
    "Loss",
    "MissStory",
    "PricedModel",
    "Story",
    "TurnStory",
    "cost_of",
]

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request costs.

    Attributes:
        units: In fresh input tokens, at the rates of its model.
        dollars: In US dollars; None where a price is not known.
    """

    units: float
    dollars: float | None

    def __add__(self, other: Cost) -> Cost:
        known = self.dollars is not None and other.dollars is not None
        dollars = (self.dollars or 0.0) + (other.dollars or 0.0) if known else None
        return Cost(self.units + other.units, dollars)

    def __neg__(self) -> Cost:
        return Cost(-self.units, None if self.dollars is None else -self.dollars)

    def __sub__(self, other: Cost) -> Cost:
        return self + -other


def cost_of(costs: Costs) -> Cost:
    """What a bill comes to."""
    return Cost(costs.units, costs.bill.cost)


@dataclass(frozen=True, slots=True)
class TurnStory:
    """One request under the default policy, beside what else could have been sent.

    Attributes:
        sent_tokens: What is sent.
        whole_tokens: What it would weigh had nothing ever been removed.
        billed_tokens: What was billed for it as it was recorded; None where the log does not say.
        trigger_tokens: From which size on a compaction is planned.
        read: Of what is sent, read from the provider's cache.
        written: Written to it.
        fresh: Neither.
        output: Tokens of the answer.
        cost: What it costs.
        cost_nothing: What it would cost had nothing ever been removed.
        cost_client: What it cost as the client sent it, by the same model of the cache.
        window_tokens: What its model takes, input and answer together; None where nobody knows.
        billed_read: What the provider read from its cache of the request as it was recorded; None
            where the log does not say.
    """

    sent_tokens: int
    whole_tokens: int
    billed_tokens: int | None
    trigger_tokens: int
    read: int
    written: int
    fresh: int
    output: int
    cost: Cost
    cost_nothing: Cost
    cost_client: Cost
    window_tokens: int | None = None
    billed_read: int | None = None

    @classmethod
    def from_json(cls, value: Json) -> TurnStory:
        """Read it back."""
        costs = ("cost", "cost_nothing", "cost_client")
        return cls(**{**value, **{name: Cost(**value[name]) for name in costs}})


@dataclass(frozen=True, slots=True)
class Loss:
    """Things of one kind that went.

    Attributes:
        kind: What they are, or why they went.
        pieces: How many.
        tokens: What that made smaller.
    """

    kind: str
    pieces: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CutAccount:
    """What came of one compaction, beside going on without it, by the bills of both.

    Attributes:
        now: What its own turn costs more than without it; below 0 where it saves at once.
        later: What the turns since then save, until the next compaction or the end.
        turns: How many those are.
        misses: Answers to them, and to its own, that missed something.
        missed: What those are charged.
        paid_after: Turns after which all of it had paid for good, what was missed counted in; None
            where it never had.
    """

    now: Cost
    later: Cost
    turns: int
    misses: int
    missed: Cost
    paid_after: int | None

    @property
    def saved(self) -> Cost:
        """What it comes to."""
        return self.later - self.now - self.missed

    @classmethod
    def from_json(cls, value: Json) -> CutAccount:
        """Read it back."""
        return cls(
            **{**value, **{name: Cost(**value[name]) for name in ("now", "later", "missed")}}
        )


@dataclass(frozen=True, slots=True)
class CutStory:
    """One compaction: what went and what survived.

    Attributes:
        turn: Its request, from 0.
        before_tokens: What the request would have weighed.
        after_tokens: What it weighs.
        front_tokens: In front of the first change.
        read_tokens: What the cache reads of it, as its bill has it.
        cached_tokens: What the cache would have read of the request without the compaction.
        unread: Why less is read than stands in front of the first change; empty where all is.
        removed: What went on this request, by kind of content.
        reasons: The same by the rule that took it, with the same sum.
        made_tokens: What stands for it, markers, ledger and shortened turns, less what stood for
            earlier ones.
        untouched_messages: Messages of the client of which every word is sent.
        untouched_tokens: What those weigh.
        shortened_messages: Messages of which something is sent.
        gone_messages: Messages of which nothing is sent, by this or an earlier compaction.
        gone_before: Those of them that were gone already.
        user_messages: Messages in which the user speaks.
        user_messages_untouched: Those of them of which every word is sent.
        noted: Entries of the ledger, by section.
        cause: Why it came, as the engine says: ``limit``, ``cold`` or ``trigger``; empty for unknown.
        foretold_tokens: What the engine took the request to weigh without it.
        idle_seconds: How long after the request before it was sent; None where nobody knows.
        account: What came of it; None where nobody knows.
        stood_tokens: What stood for earlier cuts until then.
        user_messages_gone: Messages in which the user speaks and of which nothing is sent.
    """

    turn: int
    before_tokens: int
    after_tokens: int
    front_tokens: int
    read_tokens: int
    cached_tokens: int
    unread: str
    removed: tuple[Loss, ...]
    reasons: tuple[Loss, ...]
    made_tokens: int
    untouched_messages: int
    untouched_tokens: int
    shortened_messages: int
    gone_messages: int
    gone_before: int
    user_messages: int
    user_messages_untouched: int
    noted: Mapping[str, int]
    cause: str = ""
    foretold_tokens: int = 0
    idle_seconds: float | None = None
    account: CutAccount | None = None
    stood_tokens: int = 0
    user_messages_gone: int = 0

    @classmethod
    def from_json(cls, value: Json) -> CutStory:
        """Read it back."""
        lists = ("removed", "reasons")
        account = value["account"]
        told = {**value, **{name: _losses(value[name]) for name in lists}}
        told["account"] = None if account is None else CutAccount.from_json(account)
        return cls(**told)


@dataclass(frozen=True, slots=True)
class MissStory:
    """An answer that uses what only removed messages held.

    Attributes:
        turn: The request whose answer it is, from 0.
        tokens: What would have to come back.
        kinds: What was used, by its kind: how many paths, names, and so on.
    """

    turn: int
    tokens: int
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PricedModel:
    """What a model's tokens were taken to cost in a session.

    Attributes:
        model: Its id.
        requests: How many were priced so.
        prices: In US dollars for a million tokens; None where nobody knows.
        first_at: When the first of them was answered, in seconds since the epoch; None for unknown.
        last_at: The last.
        is_override: Whether the user named the price.
    """

    model: str
    requests: int
    prices: Prices | None
    first_at: float | None
    last_at: float | None
    is_override: bool

    @classmethod
    def from_json(cls, value: Json) -> PricedModel:
        """Read it back."""
        prices = None if value["prices"] is None else Prices(**value["prices"])
        return cls(**{**value, "prices": prices})


@dataclass(frozen=True, slots=True)
class Story:
    """What the report tells of a session, beyond its bills.

    Attributes:
        turns: Its requests, in order.
        cuts: Its compactions, in order.
        misses: Answers that use what was gone, in order.
        priced: Its models and what they were taken to cost.
        is_cached: Whether its provider is taken to cache at all.
        life_seconds: How long its cache lives.
    """

    turns: tuple[TurnStory, ...] = ()
    cuts: tuple[CutStory, ...] = ()
    misses: tuple[MissStory, ...] = ()
    priced: tuple[PricedModel, ...] = ()
    is_cached: bool = True
    life_seconds: float = 0.0

    def to_json(self) -> Json:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Json) -> Story:
        """Read it back.

        Raises:
            KeyError, TypeError, ValueError: If it is something else.
        """
        return cls(
            tuple(map(TurnStory.from_json, value["turns"])),
            tuple(map(CutStory.from_json, value["cuts"])),
            tuple(MissStory(**each) for each in value["misses"]),
            tuple(map(PricedModel.from_json, value["priced"])),
            value["is_cached"],
            value["life_seconds"],
        )


def _losses(values: list[Json]) -> tuple[Loss, ...]:
    return tuple(Loss(**each) for each in values)
