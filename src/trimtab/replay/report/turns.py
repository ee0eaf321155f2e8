"""The rows of a session: each turn with all that is told of it, and which of them are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from trimtab.replay.driver import ReplayedRequest
from trimtab.replay.report.story import Cost, MissStory, Story, TurnStory
from trimtab.tracker import ContextTracker, Forecast

__all__ = ["CAUSES", "Row", "cause_words", "events_of", "rows_of", "thinned"]

CAUSES = {
    "compaction": "trimtab compacted: the one break that it makes on purpose",
    "client_edited": "the client changed or removed messages that it had sent before",
    "budget_raised": "the limit was raised, and what a smaller one had removed is back",
    "model_changed": "another model answers, and each has a cache of its own",
    "system_changed": "the client changed its system prompt",
    "tools_changed": "the client changed its tools",
    "repaired": "a result that was missing came later",
    "refused": "the provider refused an edit, so it was taken back",
    "new_conversation": "it shares no message with what was sent before",
}
"""What each cause of a break means, in words."""

_LEAST_READ_SHARE = 0.5
"""A turn that reads less than this of what was sent before has lost the cache."""

_LEAST_CACHED_TOKENS = 4_096
"""The most that any model asks for before it caches at all; below, nothing can be lost."""


@dataclass(frozen=True, slots=True)
class Row:
    """One turn.

    Attributes:
        place: Its request, from 1.
        turn: What is told of it.
        foretold_tokens: What trimtab took it to weigh before it was sent.
        limit_tokens: What must not be passed.
        bills: What all requests up to it cost: trimtab, nothing, client.
        forecast: How long the room lasts after it; None where nothing was sent before.
        is_compacted: Whether it was compacted.
        breaks: Why its prefix is another one.
        is_cold: Whether little was read from the cache although nothing broke.
        misses: What its answer missed.
    """

    place: int
    turn: TurnStory
    foretold_tokens: int
    limit_tokens: int
    bills: tuple[Cost, Cost, Cost]
    forecast: Forecast | None
    is_compacted: bool
    breaks: tuple[str, ...]
    is_cold: bool
    misses: tuple[MissStory, ...]

    @property
    def is_telling(self) -> bool:
        """Whether anything happened on it that must not be left out."""
        return bool(self.is_compacted or self.breaks or self.is_cold or self.misses)


def rows_of(requests: Sequence[ReplayedRequest], story: Story) -> list[Row]:
    """Bring together what is told of each turn.

    Args:
        requests: The requests of a session under the default policy.
        story: The same, as the bill sees them; shape ``(requests,)``, or empty where it was not told.
    """
    if not story.turns:
        return []
    turns = story.turns
    bills = [
        accumulate(map(pick, turns), _plus)
        for pick in (_cost_of_ours, _cost_of_nothing, _cost_of_client)
    ]
    forecasts = _forecasts(requests, turns)
    rows = []
    before = 0
    for place, (request, turn, forecast, *spent) in enumerate(
        zip(requests, turns, forecasts, *bills, strict=True)
    ):
        ours, nothing, client = spent
        is_lost = before >= _LEAST_CACHED_TOKENS and turn.read < _LEAST_READ_SHARE * before
        rows.append(
            Row(
                place + 1,
                turn,
                request.outcome.tokens_after,
                request.outcome.limit_tokens,
                (ours, nothing, client),
                forecast,
                request.is_compacted,
                request.breaks,
                is_lost and story.is_cached and not request.breaks,
                tuple(miss for miss in story.misses if miss.turn == place),
            )
        )
        before = turn.sent_tokens
    return rows


def _cost_of_ours(turn: TurnStory) -> Cost:
    return turn.cost


def _cost_of_nothing(turn: TurnStory) -> Cost:
    return turn.cost_nothing


def _cost_of_client(turn: TurnStory) -> Cost:
    return turn.cost_client


def _plus(one: Cost, other: Cost) -> Cost:
    known = one.dollars is not None and other.dollars is not None
    dollars = (one.dollars or 0.0) + (other.dollars or 0.0) if known else None
    return Cost(one.units + other.units, dollars)


def _forecasts(
    requests: Sequence[ReplayedRequest], turns: Sequence[TurnStory]
) -> Iterator[Forecast | None]:
    """What the tracker would have told after each turn.

    As for ``trimtab inspect --forecast``, it learns from requests of which the log says a bill;
    where it says none at all, from every one.
    """
    tracker = ContextTracker()
    is_billed = any(turn.billed_tokens is not None for turn in turns)
    for request, turn in zip(requests, turns, strict=True):
        if request.is_compacted:
            tracker.invalidate()
        if turn.billed_tokens is not None or not is_billed:
            tracker.observe(turn.sent_tokens, turn.sent_tokens)
        yield tracker.forecast(turn.trigger_tokens, turn.sent_tokens)


def cause_words(cause: str) -> str:
    """What a cause of a break means; of one that nobody knows, its name."""
    return CAUSES.get(cause, cause.replace("_", " "))


def events_of(row: Row) -> str:
    """What happened on a turn, in a few words; empty for nothing."""
    told = ["compacted"] if row.is_compacted else []
    told += [cause.replace("_", " ") for cause in row.breaks if cause != "compaction"]
    if row.is_cold:
        told.append("cache not read")
    if row.misses:
        told.append("answer missed something")
    return ", ".join(told)


def thinned(rows: Sequence[Row], most: int) -> list[Row]:
    """Leave out turns so that at most so many stay: those on which something happened stay first.

    Args:
        rows: All turns of a session.
        most: How many may stay, 2 or more.
    """
    if len(rows) <= most:
        return list(rows)
    ends = {0, len(rows) - 1}
    telling = [place for place, row in enumerate(rows) if row.is_telling and place not in ends]
    kept = ends | set(_spread(telling, min(len(telling), most // 2, most - 2)))
    others = [place for place in range(len(rows)) if place not in kept]
    kept |= set(_spread(others, most - len(kept)))
    return [rows[place] for place in sorted(kept)]


def _spread(places: Sequence[int], count: int) -> list[int]:
    """So many of some places, evenly spread."""
    return [places[number * len(places) // count] for number in range(count)]
