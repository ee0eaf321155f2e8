"""What a compaction costs on its own turn and saves on later ones, out of the bills themselves.

::

    turn before ── rows that were sent ─┐
    this turn   ── messages that came ──┴─> the request had nothing been cut ──> ProviderCache (a copy)
                                        the request as it is cut           ──> ProviderCache
                                                                                    │
    what it costs now: the bill of the one less the bill of the other   <───────────┘

The request that was not sent is served, from then on, by a cache of its own:
so what each later turn saves is told by bills too, until the next compaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

from trimtab.economy import Block, Cut, ProviderCache, Split, rules_of
from trimtab.replay.views import Row
from trimtab.replay.weights import Said

__all__ = [
    "BillRates",
    "Came",
    "Made",
    "Unread",
    "Without",
    "cut_of",
    "made_words",
    "unread_of",
    "unread_words",
]

Unread: TypeAlias = Literal["", "first", "uncached", "model", "idle", "short", "steps", "marker"]
"""Why the cache reads less of a request than stands in front of its first change; empty where it
reads all of it. ``first``: nothing was sent before. ``uncached``: no bill of the session shows a
cache. ``model``: another model answers. ``idle``: longer than the cache lives. ``short``: it is
too short to be cached. ``steps``: it reads whole steps of tokens alone. ``marker``: nothing was
written at that place."""


@dataclass(frozen=True, slots=True)
class Came:
    """How the client's history differs from the one before, by what its messages say.

    Attributes:
        new: Messages that are new.
        left: Names of those that are no longer there, and how often.
    """

    new: Sequence[Row] = ()
    left: Counter[bytes] = field(default_factory=Counter)

    @classmethod
    def of(cls, before: Sequence[bytes], said: Sequence[Said]) -> Came:
        """Hold two histories against each other.

        Args:
            before: Names of the messages of the request before, in order.
            said: The messages of this one.
        """
        count = len(before)
        if [each.name for each in said[:count]] == list(before):
            return cls([Row.of(said[at], at) for at in range(count, len(said))])
        known = Counter(before)
        left = known - Counter(each.name for each in said)
        new = []
        for at, each in enumerate(said):
            if known[each.name] > 0:
                known[each.name] -= 1
            else:
                new.append(Row.of(each, at))
        return cls(new, left)

    def after(self, rows: Sequence[Row]) -> list[Row]:
        """What would be sent had a policy gone on as before.

        Args:
            rows: What it sent for the request before.
        """
        if not self.left:
            return [*rows, *self.new]
        left = Counter(self.left)
        kept = []
        for row in reversed(rows):  # of the same words said twice, the later ones were taken back
            name = row.said_name
            if name is not None and left[name] > 0:
                left[name] -= 1
            else:
                kept.append(row)
        return [*reversed(kept), *self.new]


@dataclass(slots=True)
class Without:
    """A session as it would have gone on without its last compaction.

    Attributes:
        rows: What would have been sent last.
        cache: What the provider's cache would hold.
        splits: How each request would have been billed, that of the compaction first.
    """

    rows: Sequence[Row]
    cache: ProviderCache
    splits: list[Split] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Made:
    """A compaction that was made, as its turn was billed.

    Attributes:
        turn: Its request, from 0.
        cut: Its sizes, with what the cache reads of the request with and without it.
        split: How it is billed.
        unread: Why less is read than stands in front of the first change.
        idle_seconds: How long after the request before it was sent; None where nobody knows.
        without: The session as it would have gone on.
    """

    turn: int
    cut: Cut
    split: Split
    unread: Unread
    idle_seconds: float | None
    without: Without


def cut_of(head: Block, stay: Sequence[Row], rows: Sequence[Row], cached: int) -> Cut:
    """The sizes of a compaction.

    Args:
        head: Tools and system prompt.
        stay: What would have been sent without it.
        rows: What is sent.
        cached: What the cache would have read without it.
    """
    before = head.tokens + sum(row.tokens for row in stay)
    after = head.tokens + sum(row.tokens for row in rows)
    same = takewhile(lambda pair: pair[0].name == pair[1].name, zip(stay, rows, strict=False))
    front = head.tokens + sum(row.tokens for row, _ in same)
    return Cut(before, after, front, cached)


def unread_of(
    front: int,
    read: int,
    asked: Sequence[tuple[str, float | None]],
    life: float,
    *,
    is_cached: bool,
) -> Unread:
    """Say why the cache reads less than stands in front of the first change.

    Args:
        front: What stands in front of it, in tokens.
        read: What the cache reads.
        asked: Who answers and when, in seconds or None for unknown: the request before, where
            there is one, and this one.
        life: How long the cache lives, in seconds.
        is_cached: Whether there is any.
    """
    if read >= front:
        return ""
    if not is_cached:
        return "uncached"
    *before, (model, now) = asked
    if not before:
        return "first"
    last_model, last = before[-1]
    if last_model != model:
        return "model"
    if not read and last is not None and now is not None and now - last > life:
        return "idle"
    rules = rules_of(model)
    if front < rules.least_tokens:
        return "short"
    return "steps" if rules.kind == "prefix" and front - read < rules.step_tokens else "marker"


class BillRates(NamedTuple):
    """What a token of a bill costs beside a fresh one.

    Attributes:
        read: Read from the cache.
        written: Written to it.
        written_long: Written to it for an hour.
    """

    read: float
    written: float
    written_long: float


def made_words(made: Made, rates: BillRates) -> str:
    """The sizes of a compaction and the two bills of its turn; no word of the conversation."""
    cut = made.cut
    told = f"{cut.before:,} to {cut.after:,} tokens, {cut.kept:,} in front of the first change; "
    told += f"billed: {_bill_words(made.split, rates)}"
    if made.unread:
        told += f" ({unread_words(made.unread, made.idle_seconds)})"
    return f"{told}; without the cut: {_bill_words(made.without.splits[0], rates)}"


def _bill_words(split: Split, rates: BillRates) -> str:
    """Such as ``2,804 read at 0.1 + 43,772 written at 1.25``: it multiplies out."""
    terms = (
        (split.read, "read", rates.read),
        (split.written, "written", rates.written),
        (split.written_long, "written for an hour", rates.written_long),
        (split.fresh, "fresh", 1.0),
    )
    return " + ".join(f"{many:,} {how} at {rate:g}" for many, how, rate in terms if many)


def unread_words(unread: Unread, idle_seconds: float | None) -> str:
    """Why less is read than stands in front of the first change."""
    if unread == "idle" and idle_seconds is not None:
        return f"the session had been idle for {idle_seconds / 60:,.0f} minutes, longer than the cache lives"
    return _UNREAD[unread]


_UNREAD = {
    "": "all that stands in front of the first change",
    "first": "nothing had been sent before",
    "uncached": "no bill of this session shows that anything is cached",
    "model": "another model had answered before, and each has a cache of its own",
    "idle": "the session had been idle for longer than the cache lives",
    "short": "too little to be cached",
    "steps": "the cache is read in whole steps of tokens",
    "marker": "it is read up to a place where an entry was written, and the last such place lies before that",
}
