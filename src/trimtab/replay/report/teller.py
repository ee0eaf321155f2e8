"""Listens to a replay and keeps what the report tells of its default policy.

The replay tells it of each compaction as it happens, and of all bills at its end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.economy import Prices, Split, window_of
from trimtab.events import ContextCompacted
from trimtab.recall import recall
from trimtab.replay.cuts import Made, unread_words
from trimtab.replay.regret import Missed
from trimtab.replay.report.losses import cut_story, kind_of_handle
from trimtab.replay.report.story import (
    CutAccount,
    CutStory,
    MissStory,
    PricedModel,
    Story,
    TurnStory,
    cost_of,
)
from trimtab.replay.results import Costs
from trimtab.replay.weights import Said
from trimtab.session import Rewrite
from trimtab.tokens import Measure
from trimtab.usage import Usage

__all__ = ["Asking", "Teller"]


@dataclass(frozen=True, slots=True)
class Asking:
    """One request of a session at the end of its replay.

    Attributes:
        model: Who answers.
        at: When, in seconds since the epoch; None for unknown.
        output: Tokens of the answer.
        prices: What its tokens were taken to cost; None for unknown.
        split: How its input is billed under the default policy.
        whole_tokens: What it would weigh had nothing ever been removed.
        costs: Under the default policy, under none, and as the client sent it.
    """

    model: str
    at: float | None
    output: int
    prices: Prices | None
    split: Split
    whole_tokens: int
    costs: tuple[Costs, Costs, Costs]


@dataclass(slots=True)
class Teller:
    """Keeps what the report tells of one session."""

    _cuts: list[CutStory] = field(default_factory=list)
    _seen: list[tuple[Usage | None, int]] = field(default_factory=list)

    def saw(
        self,
        rewrite: Rewrite,
        said: Sequence[Said],
        measure: Measure,
        *,
        billed: Usage | None,
        trigger_tokens: int,
        made: Made | None,
    ) -> None:
        """Note one request under the default policy.

        Args:
            rewrite: What the engine decided.
            said: The client's messages, weighed.
            measure: Weighs their parts.
            billed: What was billed for it as it was recorded; None where nobody says.
            trigger_tokens: From which size on a compaction is planned.
            made: What a compaction on this turn changed; None for none.

        Raises:
            TokenCountError: If the counter fails.
        """
        if made is not None:
            turn, began = rewrite.ticket.turn, rewrite.ticket.began
            told = cut_story(
                len(self._seen),
                made.cut,
                recall(turn, began, is_weighed=False).plan,
                rewrite.plan,
                said,
                lambda place: turn.request.message(place).decoded(),
                measure,
            )
            unread = unread_words(made.unread, made.idle_seconds) if made.unread else ""
            (event,) = (each for each in rewrite.events if isinstance(each, ContextCompacted))
            self._cuts.append(
                replace(
                    told,
                    read_tokens=made.split.read,
                    unread=unread,
                    cause=event.cause or "",
                    foretold_tokens=event.foretold_tokens,
                    idle_seconds=made.idle_seconds,
                )
            )
        self._seen.append((billed, trigger_tokens))

    def story(
        self,
        asked: Sequence[Asking],
        missed: Iterable[Missed],
        accounts: Sequence[CutAccount],
        overrides: Mapping[str, Prices],
        *,
        is_cached: bool,
        life_seconds: float,
    ) -> Story:
        """Tell the session.

        Args:
            asked: Its requests, in order; as many as were noted.
            missed: What later answers missed.
            accounts: What came of each compaction, in order; as many as were noted.
            overrides: Prices that the user named, by model.
            is_cached: Whether its provider is taken to cache at all.
            life_seconds: How long its cache lives.
        """
        turns = (
            _turn(one, billed, trigger)
            for one, (billed, trigger) in zip(asked, self._seen, strict=True)
        )
        return Story(
            tuple(turns),
            tuple(
                replace(cut, account=account)
                for cut, account in zip(self._cuts, accounts, strict=True)
            ),
            tuple(map(_miss, missed)),
            _priced(asked, overrides),
            is_cached,
            life_seconds,
        )


def _turn(asked: Asking, billed: Usage | None, trigger_tokens: int) -> TurnStory:
    split, window = asked.split, window_of(asked.model)
    ours, nothing, client = map(cost_of, asked.costs)
    return TurnStory(
        split.total,
        asked.whole_tokens,
        None if billed is None else billed.total_input,
        trigger_tokens,
        split.read,
        split.written + split.written_long,
        split.fresh,
        asked.output,
        ours,
        nothing,
        client,
        None if window is None else window.tokens,
        None if billed is None else billed.cache_read,
    )


def _miss(missed: Missed) -> MissStory:
    kinds = Counter(map(kind_of_handle, missed.handles))
    return MissStory(missed.turn, missed.tokens, dict(sorted(kinds.items())))


def _priced(asked: Sequence[Asking], overrides: Mapping[str, Prices]) -> tuple[PricedModel, ...]:
    """What tokens were taken to cost, one line for each price of each model."""
    groups: dict[tuple[str, Prices | None], list[float | None]] = {}
    for one in asked:
        groups.setdefault((one.model, one.prices), []).append(one.at)
    return tuple(
        PricedModel(
            model,
            len(times),
            prices,
            min(known, default=None),
            max(known, default=None),
            prices is not None and prices in overrides.values(),
        )
        for (model, prices), times in groups.items()
        for known in [[at for at in times if at is not None]]
    )
