"""What came of a session under several policies: numbers alone, and how they are written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, TypeAlias

from trimtab.economy import NOTHING, Bill

__all__ = ["EXCHANGES", "Costs", "PolicyResult", "SessionResult", "percentile", "share_saved"]

Json: TypeAlias = dict[str, Any]

EXCHANGES = (0, 3, 8, 18)
"""Extra exchanges a compaction at which savings are told: what an agent fetches again is not known
beforehand, and claims that assume none are claims about the best case."""


@dataclass(frozen=True, slots=True)
class Costs:
    """A bill in three currencies.

    Attributes:
        bill: Tokens by how they are billed, and US dollars where prices are known.
        units: The same in fresh input tokens, at the rates of each model: known always.
    """

    bill: Bill = NOTHING
    units: float = 0.0

    def __add__(self, other: Costs) -> Costs:
        return Costs(self.bill + other.bill, self.units + other.units)

    def times(self, count: int) -> Costs:
        """So many times the same."""
        return Costs(self.bill.times(count), self.units * count)

    @staticmethod
    def sum(costs: Iterable[Costs]) -> Costs:
        """Add costs up."""
        return sum(costs, Costs())


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What a session would have cost under a policy.

    Attributes:
        policy: Its name.
        requests: How many it sent.
        costs: Of all of them, with the policy's own calls; regret is not in it.
        regret: What fetching again would have cost, at one exchange for each miss.
        misses: How often an answer used what only a removed message held.
        survived: How often it used what was removed and still stood in what was sent.
        exchange: What one extra exchange after each compaction would have cost, over all of them.
        compactions: Turns on which it removed something that was sent before.
        breaks: Requests that do not extend what was sent before.
        over_limit: Requests above what the model takes: a provider would have refused them.
        peak_tokens: The largest request.
        changed: Requests that went out in another form than they came.
        made_invalid: Requests that came in valid and would have been sent invalid.
        repairs: Turns on which a history that was broken on arrival was mended.
        payback_turns: For each compaction, turns until it had paid; None where it never did.
    """

    policy: str
    requests: int = 0
    costs: Costs = Costs()
    regret: Costs = Costs()
    misses: int = 0
    survived: int = 0
    exchange: Costs = Costs()
    compactions: int = 0
    breaks: int = 0
    over_limit: int = 0
    peak_tokens: int = 0
    changed: int = 0
    made_invalid: int = 0
    repairs: int = 0
    payback_turns: tuple[int | None, ...] = ()

    def with_exchanges(self, count: int) -> Costs:
        """What it would have cost with so many extra exchanges after each compaction.

        Args:
            count: How many; each costs what an average exchange of the session did.
        """
        return self.costs + self.exchange.times(count)

    @property
    def net(self) -> Costs:
        """What it would have cost, with what had to be fetched again."""
        return self.costs + self.regret

    @classmethod
    def sum(cls, results: Sequence[PolicyResult]) -> PolicyResult:
        """Take sessions under one policy together."""
        return cls(
            results[0].policy if results else "",
            costs=Costs.sum(each.costs for each in results),
            regret=Costs.sum(each.regret for each in results),
            exchange=Costs.sum(each.exchange for each in results),
            peak_tokens=max((each.peak_tokens for each in results), default=0),
            payback_turns=tuple(turns for each in results for turns in each.payback_turns),
            **{name: sum(getattr(each, name) for each in results) for name in _COUNTS},
        )


_COUNTS = (
    "requests",
    "misses",
    "survived",
    "compactions",
    "breaks",
    "over_limit",
    "changed",
    "made_invalid",
    "repairs",
)


@dataclass(frozen=True, slots=True)
class SessionResult:
    """What came of a session under several policies.

    Attributes:
        file: Where it was.
        kind: What wrote it.
        name: Which it is.
        policies: What each came to, by name.
        trigger_tokens: Where the default policy plans a compaction; 0 where no request was replayed.
        largest_tokens: Its largest request, whole, as it would have been without any compaction.
        client_compactions: How often the client compacted itself.
        recorded: What was billed for the requests whose bills the log holds; None where it holds none.
        modelled: What the client comes to for those by the model of the cache; None with ``recorded``.
        billed_requests: How many those are.
        cache_errors: How far the cache's model was off, for each request that tells: the
            difference in tokens read, as a share of the request.
        prediction_errors: How far the size that was foretold of a request was off its bill, as a share.
        is_cache_explicit: Whether its provider says where it caches.
        left_out: Requests that could not be priced.
        explained: Of each compaction of the default policy: on which turn, the arithmetic of its
            break-even then, and how many turns really came.
        cache_causes: Of the cache's errors above a tenth of the request, how many by cause.
        size_causes: The same of the sizes that were foretold.
    """

    file: str
    kind: str
    name: str
    policies: Mapping[str, PolicyResult]
    trigger_tokens: int = 0
    largest_tokens: int = 0
    client_compactions: int = 0
    recorded: Costs | None = None
    modelled: Costs | None = None
    billed_requests: int = 0
    cache_errors: tuple[float, ...] = ()
    prediction_errors: tuple[float, ...] = ()
    is_cache_explicit: bool = False
    left_out: int = 0
    explained: tuple[str, ...] = ()
    cache_causes: Mapping[str, int] = field(default_factory=dict)
    size_causes: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_billed_whole(self) -> bool:
        """Whether the log holds the bill of every request."""
        replayed = max((policy.requests for policy in self.policies.values()), default=0)
        return not self.left_out and self.billed_requests == replayed > 0

    @property
    def passes_trigger(self) -> bool:
        """Whether it ever was so large that a compaction was planned."""
        return self.largest_tokens > self.trigger_tokens > 0

    def saved_share(self, policy: str, base: str, exchanges: int | None = None) -> float:
        """What a policy saves of another's bill; below 0 where it is dearer.

        Args:
            policy: Whose savings.
            base: Beside which other.
            exchanges: Extra exchanges after each compaction; None for the misses that were found.
        """
        one = self.policies[policy]
        costs = one.net if exchanges is None else one.with_exchanges(exchanges)
        return share_saved(costs, self.policies[base].costs)

    def to_json(self) -> Json:
        """As JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Json) -> SessionResult:
        """Read it back.

        Raises:
            KeyError, TypeError, ValueError: If it is something else.
        """
        told = dict(value)
        told["policies"] = {name: _policy(each) for name, each in told["policies"].items()}
        for key in ("recorded", "modelled"):
            told[key] = None if told[key] is None else _costs(told[key])
        for key in ("cache_errors", "prediction_errors", "explained"):
            told[key] = tuple(told[key])
        return cls(**told)


def share_saved(costs: Costs, base: Costs) -> float:
    """What something saves beside something else, as a share of it; by money where it is known."""
    mine, other = costs.bill.cost, base.bill.cost
    if mine is None or other is None:
        mine, other = costs.units, base.units
    return 1 - mine / other if other else 0.0


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that so many of some values do not pass; None for no values."""
    if not values:
        return None
    if share == 0.5:
        return median(values)
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _policy(value: Json) -> PolicyResult:
    told = dict(value)
    for name in ("costs", "regret", "exchange"):
        told[name] = _costs(told[name])
    told["payback_turns"] = tuple(told["payback_turns"])
    return PolicyResult(**told)


def _costs(value: Json) -> Costs:
    return Costs(Bill(**value["bill"]), value["units"])
