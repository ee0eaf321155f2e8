"""Go through a recorded session and tell of each request what it kept of the one before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from typing import NamedTuple

from trimtab.economy import life_seconds, prices_of, rules_of
from trimtab.errors import RequestError
from trimtab.replay.prefixes.causes import Parting, part
from trimtab.replay.prefixes.findings import DELIBERATE, Break, Found, Harmless, Why
from trimtab.replay.prefixes.sent import Reader, Sent
from trimtab.replay.recording import RecordedRequest, Recording

__all__ = ["Turn", "examine"]

_NOTABLE_TOKENS = 1_024
_NOTABLE_SHARE = 0.25
"""Only a bill that is short by more than both accuses anybody where nothing else does."""

_TOLD_BY_BILL = ("idle", "not_read", "marker_moved")

_KEPT_REQUESTS = 8
"""Requests held at a time; an older one is built again when somebody goes on from it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request, and what it kept of the one that it goes on from.

    Attributes:
        place: Its place in the session, from 0.
        follows: The place of the one that it goes on from; None for a first one, or where it
            could not be read.
        shared_messages: Messages at the front that are the same in both.
        messages: Messages of the older one.
        survived_tokens: What of the older one stands before the first place that differs.
        before_tokens: The whole older one.
        breaks: Where the two part, in the order of the prefix; empty where it extends the older one.
        harmless: What differs and costs nothing.
        unread: Why it could not be read; empty where it could.
        is_cached: Whether the provider was asked to cache; False where it caches only at
            markers and the body has none.
    """

    place: int
    follows: int | None = None
    shared_messages: int = 0
    messages: int = 0
    survived_tokens: int = 0
    before_tokens: int = 0
    breaks: tuple[Break, ...] = ()
    harmless: tuple[Harmless, ...] = ()
    unread: str = ""
    is_cached: bool = True


def examine(recording: Recording) -> Iterator[Turn]:
    """Go through a recorded session.

    Args:
        recording: The session. Nothing of it is written anywhere.

    Returns:
        A turn for each request, in order; a request is looked at when its turn is asked for.

    Raises:
        TokenCountError: If a counter fails.
    """
    run = _Run(recording.requests)
    return map(run.next, range(len(recording.requests)))


class _Run:
    """One session, request by request."""

    def __init__(self, requests: Sequence[RecordedRequest]) -> None:
        self._requests = requests
        self._reader = Reader()
        self._held: OrderedDict[int, Sent] = OrderedDict()
        self._newest: dict[bytes, int] = {}
        self._last: int | None = None
        self._caches_shown: set[str] = set()

    def next(self, place: int) -> Turn:
        """Hold a request against the one that it goes on from."""
        try:
            sent = self._reader.read(place, self._requests[place])
        except RequestError as error:
            return Turn(place, unread=str(error))
        chain = _chain(sent.names)
        follows = self._followed(chain)
        turn = Turn(place) if follows is None else self._turn(self._sent(follows), sent)
        self._newest.update(dict.fromkeys(chain, place))
        self._held[place] = sent
        self._last = place
        if len(self._held) > _KEPT_REQUESTS:
            self._held.popitem(last=False)
        usage = sent.recorded.usage
        if usage is not None and (usage.cache_read or usage.cache_write):
            self._caches_shown.add(sent.model)
        return turn

    def _followed(self, chain: Sequence[bytes]) -> int | None:
        """The newest request that shares most messages, else the last one."""
        known = (self._newest[link] for link in reversed(chain) if link in self._newest)
        return next(known, self._last)

    def _sent(self, place: int) -> Sent:
        held = self._held.get(place)
        return self._reader.read(place, self._requests[place]) if held is None else held

    def _turn(self, before: Sent, after: Sent) -> Turn:
        parting = part(before, after)
        found = parting.found or tuple(self._unseen(before, after))
        loss = self._loss(before, after, parting, found)
        return Turn(
            after.place,
            before.place,
            parting.shared,
            len(before.names),
            loss.survived,
            before.total_tokens,
            tuple(_priced(found, before, after, loss)),
            parting.harmless,
            is_cached=_asks_for_cache(after) or after.model in self._caches_shown,
        )

    def _unseen(self, before: Sent, after: Sent) -> Iterator[Found]:
        """What only the clock and the bill tell: the cache had expired, or was not read."""
        is_late = _is_late(before, after)
        usage = after.bill
        if usage is None:
            if is_late:
                yield Found("idle", stage=0)
            return
        # What was never answered may never have been cached.
        if before.bill is None or not self._shows_cache(after):
            return
        total = before.total_tokens
        lost = _sent_again(before, after, ()) - usage.cache_read
        if total >= rules_of(after.model).least_tokens and lost > max(
            _NOTABLE_TOKENS, _NOTABLE_SHARE * total
        ):
            yield Found("idle" if is_late else "not_read", stage=0)

    def _shows_cache(self, sent: Sent) -> bool:
        """Whether the provider ever said of this model what it read from its cache."""
        usage = sent.bill
        if usage is None:
            return False
        return bool(usage.cache_read or usage.cache_write) or sent.model in self._caches_shown

    def _loss(self, before: Sent, after: Sent, parting: Parting, found: Sequence[Found]) -> _Loss:
        """What the first break of a request cost."""
        if not found:
            return _Loss(before.total_tokens, 0, 0, is_billed=False)
        first = found[0]
        kept = parting.shared if first.kept_messages is None else first.kept_messages
        survived = before.tokens_before(first.stage, kept)
        again = _sent_again(before, after, found)
        counted = max(0, again - survived)
        usage = after.bill
        if usage is None or not self._shows_cache(after):
            return _Loss(survived, counted, counted, is_billed=False)
        billed = max(0, again - usage.cache_read)
        if first.cause in _TOLD_BY_BILL:
            survived = min(survived or usage.cache_read, before.total_tokens)
        return _Loss(survived, billed, counted, is_billed=True)


class _Loss(NamedTuple):
    """What a break cost.

    Attributes:
        survived: Tokens before it.
        tokens: Tokens that the cache could have held and that were paid again.
        counted: The same as the bodies alone tell.
        is_billed: Whether the bill says so.
    """

    survived: int
    tokens: int
    counted: int
    is_billed: bool


def _sent_again(before: Sent, after: Sent, found: Sequence[Found]) -> int:
    """Tokens of a request that the one before had too, or had with other words."""
    old = set(before.names)
    pairs = zip(after.names, after.tokens, strict=True)
    same = sum(tokens for name, tokens in pairs if name in old)
    head = sum(map(min, before.head_tokens, after.head_tokens))
    changed = 0
    place = _shared(before.names, after.names)
    if place < min(len(before.names), len(after.names)) and any(
        each.stage == 3 and each.cause not in DELIBERATE for each in found
    ):
        is_known = after.names[place] in old
        changed = 0 if is_known else min(before.tokens[place], after.tokens[place])
    return head + same + changed


def _shared(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    pairs = zip(before, after, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _priced(found: Sequence[Found], before: Sent, after: Sent, loss: _Loss) -> Iterator[Break]:
    """What each place cost: all of it the first, for behind it nothing is read anyway."""
    verdict = _why(found[0], before, after, loss) if found else ""
    for each in found:
        harmless: Why = "deliberate" if each.cause in DELIBERATE else verdict
        tokens = loss.tokens if each is found[0] and verdict != "too_short" else 0
        yield Break(each, tokens, _cost(after, tokens), loss.is_billed, harmless)


def _cost(after: Sent, tokens: int) -> float | None:
    """What some tokens cost more than reading them from the cache; None where no price is known."""
    if not tokens:
        return 0.0
    prices = prices_of(after.model, after.recorded.at, after.total_tokens)
    return None if prices is None else prices.missed(tokens)


def _why(first: Found, before: Sent, after: Sent, loss: _Loss) -> Why:
    """Why a break does not matter; empty where it does."""
    if first.cause in DELIBERATE:
        return "deliberate"
    if before.total_tokens < rules_of(after.model).least_tokens:
        return "too_short"
    if first.cause == "not_read" and not after.request.format.caches_at_markers:
        return "no_promise"
    if first.cause not in _TOLD_BY_BILL and loss.is_billed and loss.tokens * 2 < loss.counted:
        return "bill"
    return "" if loss.tokens else "nothing_lost"


def _is_late(before: Sent, after: Sent) -> bool:
    """Whether the cache of a request had expired when the other came."""
    begun, ended = before.recorded.at, after.recorded.at
    if begun is None or ended is None:
        return False
    has_long_marker = any(block.is_long for block in before.blocks)
    return ended - begun >= life_seconds(after.model, has_long_marker=has_long_marker)


def _asks_for_cache(sent: Sent) -> bool:
    """Whether the provider is asked to cache, as far as the recording shows."""
    if not sent.request.format.caches_at_markers or sent.recorded.unrecorded:
        return True
    return any(block.is_marked for block in sent.blocks)


def _chain(names: Sequence[bytes]) -> list[bytes]:
    """A digest of each run of messages from the front."""
    links: list[bytes] = []
    link = b""
    for name in names:
        link = sha256(link + name).digest()[:16]
        links.append(link)
    return links
