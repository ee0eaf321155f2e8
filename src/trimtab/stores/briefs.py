"""Summaries of conversations in a store: who makes which, and what came of it.

A summary lies under the chain value of the last message that it covers, and
the first that is kept there counts: whoever has these messages, on whatever
branch and in whatever process, puts the same words in their place. An index
of the conversation says which there are, so that no record of a state can
lose one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from trimtab.stores.keys import briefs_key, conversation_of, summary_key
from trimtab.stores.lease import lease, release
from trimtab.stores.store import Store
from trimtab.summary import KeptSummary, SummaryStats, WantedSummary
from trimtab.turn import Turn
from trimtab.usage import Usage

__all__ = ["Briefed", "Briefs"]

Json: TypeAlias = dict[str, Any]

_MOST_NOTED = 8
"""Summaries of a conversation that are known of; the newest one is used."""

_MOST_FAILURES = 5
"""Failures in a row that make the wait longer."""

_TRIES = 5
"""Times that somebody else may be faster to note a summary in the index."""


@dataclass(frozen=True, slots=True)
class Briefed:
    """What is known of summaries for the messages of a request.

    Attributes:
        summary: The newest that was accepted; None for none.
        may_ask: Whether another may be asked for: none is under way, and it is long enough
            since one came to nothing.
        needed_tokens: What a span must weigh for another to be worth asking for; 0 for any.
        cuts: Answers since the last good one that were cut at their length.
    """

    summary: KeptSummary | None = None
    may_ask: bool = True
    needed_tokens: int = 0
    cuts: int = 0


@dataclass(frozen=True, slots=True)
class _Noted:
    """One line of the index.

    Attributes:
        link: The chain value of the last message that a summary covers.
        cut: How many messages that are.
        at: How many messages there were when it was asked for.
        until: Until when it may be under way, in seconds since the epoch.
    """

    link: bytes
    cut: int
    at: int
    until: float


class Briefs:
    """Finds, claims and keeps summaries.

    Args:
        store: Where.
        holder: Who asks: one process's own.
    """

    def __init__(self, store: Store, holder: bytes) -> None:
        self._store = store
        self._holder = holder

    async def find(self, turn: Turn) -> Briefed:
        """Look up what there is for the messages of a request.

        Raises:
            StoreError: If the store cannot be reached.
        """
        conversation = conversation_of(turn)
        (index,) = await self._store.get([briefs_key(conversation)])
        noted = [each for each in _index(index) if _is_on(turn, each)]
        if not noted:
            return Briefed()
        keys = [summary_key(conversation, each.link) for each in noted]
        found = list(map(_told, await self._store.get(keys)))
        return _briefed(noted, found, len(turn.links))

    async def claim(self, turn: Turn, wanted: WantedSummary, seconds: float) -> bool:
        """Say that a summary is being made.

        Args:
            turn: The request after which it is wanted.
            wanted: The summary.
            seconds: How long making it may take.

        Returns:
            Whether it is the caller's to make; False where somebody else is at it.

        Raises:
            StoreError: If that is not known.
        """
        if not await lease(self._store, wanted.key, self._holder, seconds):
            return False
        conversation = conversation_of(turn)
        line = _Noted(wanted.key, wanted.cut, len(turn.links), time.time() + seconds)
        for _ in range(_TRIES):
            (there,) = await self._store.get([briefs_key(conversation)])
            kept = [each for each in _index(there) if each.link != line.link]
            if await self._is_under_way(turn, conversation, kept):
                await release(self._store, wanted.key, self._holder)
                return False
            noted = [*kept, line][-_MOST_NOTED:]
            if await self._store.swap(briefs_key(conversation), there, _as_index(noted)):
                return True
        return True  # it is found all the same by whoever asks for the same messages

    async def _is_under_way(self, turn: Turn, conversation: bytes, noted: Sequence[_Noted]) -> bool:
        """Whether somebody is making a summary of this history, though of more or fewer messages.

        Two requests that were rewritten at the same time want both one.
        """
        now = time.time()
        open_ = [each for each in noted if each.until > now and _is_on(turn, each)]
        if not open_:
            return False
        keys = [summary_key(conversation, each.link) for each in open_]
        return None in map(_told, await self._store.get(keys))

    async def keep(self, conversation: bytes, wanted: WantedSummary, kept: KeptSummary) -> None:
        """Keep a summary; where there is one already, that one stays.

        Raises:
            StoreError: If it could not be kept.
        """
        usage = None if kept.stats.usage is None else asdict(kept.stats.usage)
        told = {
            "text": kept.text,
            "head": kept.head,
            "cut": kept.cut,
            "span": kept.stats.span_messages,
            "usage": usage,
            "cost": kept.stats.cost,
        }
        await self._write(conversation, wanted, told)

    async def give_up(
        self,
        conversation: bytes,
        wanted: WantedSummary,
        needed_tokens: int = 0,
        *,
        is_cut: bool = False,
    ) -> None:
        """Note that a summary came to nothing.

        Args:
            conversation: Of which conversation.
            wanted: The summary.
            needed_tokens: What a span must weigh for another to do; 0 where size was not it.
            is_cut: Whether the model was not done when it had used up its tokens.

        Raises:
            StoreError: If it could not be noted.
        """
        await self._write(conversation, wanted, {"needed": needed_tokens, "cut": is_cut})

    async def _write(self, conversation: bytes, wanted: WantedSummary, told: Json) -> None:
        key = summary_key(conversation, wanted.key)
        (there,) = await self._store.get([key])
        if _kept(_told(there)) is None:
            await self._store.swap(key, there, json.dumps(told).encode())
        await release(self._store, wanted.key, self._holder)


def _briefed(noted: Sequence[_Noted], found: Sequence[Json | None], messages: int) -> Briefed:
    kept = [each for told in found if (each := _kept(told)) is not None]
    newest = max(kept, key=lambda each: each.cut, default=None)
    now = time.time()
    if any(told is None and each.until > now for each, told in zip(noted, found, strict=True)):
        return Briefed(newest, may_ask=False)
    failures = 0
    for told in reversed(found):
        if told is None or "text" in told:
            break
        failures += 1
    if not failures:
        return Briefed(newest)
    last = found[-1] or {}
    needed = int(last.get("needed", 0))
    if needed:
        return Briefed(newest, needed_tokens=needed)
    turns = (messages - noted[-1].at) // 2  # an answer and what follows it
    may_ask = turns >= 2 ** min(failures, _MOST_FAILURES) - 1
    return Briefed(newest, may_ask, cuts=_cuts(found[-failures:]))


def _cuts(given_up: Sequence[Json | None]) -> int:
    """How many came to nothing because they were cut at their length."""
    return sum(bool(told and told.get("cut")) for told in given_up)


def _is_on(turn: Turn, noted: _Noted) -> bool:
    """Whether a summary covers messages of this very history."""
    return 0 < noted.cut <= len(turn.links) and turn.links[noted.cut - 1] == noted.link


# ------------------------------------------------------------------------ as bytes


def _as_index(noted: Sequence[_Noted]) -> bytes:
    return json.dumps([[n.link.hex(), n.cut, n.at, int(n.until)] for n in noted]).encode()


def _index(stored: bytes | None) -> list[_Noted]:
    """The lines of an index; torn or strange ones are none."""
    try:
        rows = json.loads(stored or b"[]")
        return [
            _Noted(bytes.fromhex(link), int(cut), int(at), float(until))
            for link, cut, at, until in rows
        ]
    except (TypeError, ValueError):
        return []


def _told(stored: bytes | None) -> Json | None:
    try:
        told = json.loads(stored or b"null")
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _kept(told: Json | None) -> KeptSummary | None:
    """The summary in an entry; None where there is none, or it cannot be read."""
    if told is None:
        return None
    try:
        usage = None if told["usage"] is None else Usage(**told["usage"])
        stats = SummaryStats(int(told["span"]), usage, told["cost"])
        return KeptSummary(str(told["text"]), int(told["head"]), int(told["cut"]), stats)
    except (KeyError, TypeError, ValueError):
        return None
