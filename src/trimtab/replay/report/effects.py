"""What the default policy did to the bill of each session, and how that is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.replay.driver import SessionReport
from trimtab.replay.gate import MOST_DEARER, base_of
from trimtab.replay.policies import CLIENT, DEFAULT
from trimtab.replay.report.story import Cost, Story, cost_of
from trimtab.replay.results import Costs, PolicyResult, SessionResult, share_saved

__all__ = ["EXCHANGES", "Effect", "Told", "ranked", "saved_in_all"]

EXCHANGES = 3
"""Extra exchanges after each compaction at which the report tells a second saving."""

_SAME = 0.0005
"""A bill that moves less than this is told as the same."""


@dataclass(frozen=True, slots=True)
class Told:
    """One replayed session, with all that the report tells of it.

    Attributes:
        result: In money, under every policy; of no request where none could be priced.
        report: Request by request, under the default policy.
        story: What happened turn by turn.
    """

    result: SessionResult
    report: SessionReport
    story: Story

    @property
    def is_priced(self) -> bool:
        """Whether any request of it was replayed and priced."""
        return bool(self.result.policies[DEFAULT].requests)


Kind: TypeAlias = Literal["saves", "same", "dearer", "harmed"]
"""``harmed``: dearer than law 7 allows, or a request was made invalid."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What the default policy does to one session.

    Attributes:
        told: Which.
        place: Its place in the report, from 1.
    """

    told: Told
    place: int

    @property
    def name(self) -> str:
        """What links lead to."""
        return f"s{self.place}"

    @property
    def result(self) -> SessionResult:
        """In money."""
        return self.told.result

    @property
    def mine(self) -> PolicyResult:
        """The default policy."""
        return self.result.policies[DEFAULT]

    @property
    def base(self) -> PolicyResult:
        """What it is held against: the cheaper of nothing and the client's own compaction."""
        return base_of(self.result)

    @property
    def base_words(self) -> str:
        """Which of them that is; a client that never compacted is nothing too."""
        is_client = self.base.policy == CLIENT and self.base.compactions > 0
        return "the client as recorded" if is_client else "nothing removed"

    @property
    def net(self) -> float:
        """What it saves, with what was missed fetched again, as a share."""
        return share_saved(self.mine.net, self.base.costs)

    @property
    def at_exchanges(self) -> float:
        """What it saves with extra exchanges after each compaction, as a share."""
        return share_saved(self.mine.with_exchanges(EXCHANGES), self.base.costs)

    @property
    def kind(self) -> Kind:
        """What it comes to."""
        if self.net < -MOST_DEARER or self.mine.made_invalid:
            return "harmed"
        if abs(self.net) < _SAME:
            return "same"
        return "saves" if self.net > 0 else "dearer"

    @property
    def saved(self) -> Cost:
        """What it saves, with what was missed fetched again; below 0 where it is dearer."""
        return cost_of(self.base.costs) - cost_of(self.mine.net)


def ranked(sessions: Sequence[Told]) -> list[Effect]:
    """Sort sessions by what they save, the most first; those that are dearer are at the end.

    In money, where the prices of all are known; else in fresh input tokens, which every session has.
    """
    priced = [told for told in sessions if told.is_priced]
    is_money = all(Effect(told, 0).saved.dollars is not None for told in priced)

    def saving(told: Told) -> tuple[float, str, str]:
        saved = Effect(told, 0).saved
        size = saved.dollars if is_money else saved.units
        return (-(size or 0.0), told.result.name, told.result.file)

    return [Effect(told, place) for place, told in enumerate(sorted(priced, key=saving), 1)]


def saved_in_all(effects: Sequence[Effect], exchanges: int | None = None) -> float:
    """What is saved of the bill of all sessions, as a share; see :meth:`Effect.net`."""
    mine = (
        each.mine.net if exchanges is None else each.mine.with_exchanges(exchanges)
        for each in effects
    )
    return share_saved(Costs.sum(mine), Costs.sum(each.base.costs for each in effects))
