"""A recorded session as it would have gone on without its client's own compactions.

Where a client compacted, its next request begins anew: a summary, perhaps
some kept messages, and what is new. To see what another policy would have
made of it, the history from before is put back in place of the summary. What
the recording cannot show stays out: the answer to the last request before.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import takewhile

from trimtab.replay.weights import Said
from trimtab.turn import Turn
from trimtab.wire import Call

__all__ = ["Compacted", "Joined", "Whole"]

_LEAST_REMOVED_TOKENS = 30_000
"""A client that compacts removes more: the smallest recorded one removed 64,000."""

_LEAST_SUMMARY_TOKENS = 200
"""What stands for it weighs more; a user who goes back types less. Recorded ones: 1,300 and up."""

_MOST_SHARED = 0.5
"""Of its messages at the front, less than this share stays."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that the client made itself.

    Attributes:
        before_tokens: Messages of the request before it.
        summary_tokens: What stands for what went.
    """

    before_tokens: int
    summary_tokens: int


@dataclass(frozen=True, slots=True)
class Joined:
    """A request with the history of the whole session.

    Attributes:
        call: Its body; the recorded one where the client has not compacted.
        said: Its messages.
        compacted: What the client did just before this request; None for nothing.
        is_joined: Whether the body is another one than was recorded.
    """

    call: Call = field(repr=False)
    said: Sequence[Said]
    compacted: Compacted | None
    is_joined: bool


@dataclass(slots=True)
class Whole:
    """Goes through a session and puts back what its client removed."""

    _base: list[bytes] = field(default_factory=list, repr=False)
    _base_said: list[Said] = field(default_factory=list, repr=False)
    _skipped: list[bytes] = field(default_factory=list, repr=False)
    _last: list[Said] = field(default_factory=list, repr=False)
    _last_bytes: list[bytes] = field(default_factory=list, repr=False)

    def join(self, turn: Turn, said: Sequence[Said]) -> Joined:
        """Put the history from before in front of the next request, where the client removed it.

        Args:
            turn: The request as it was recorded.
            said: Its messages, weighed.
        """
        request = turn.request
        raw = [request.message_bytes(place) for place in range(len(request.spans))]
        compacted = _compacted(self._last, said)
        if compacted is not None:
            base_said = self._base_said + self._last[len(self._skipped) :]
            self._base = self._base + self._last_bytes[len(self._skipped) :]
            self._base_said = base_said
            self._skipped = [each.name for each in said[: _begins(base_said, said)]]
        elif self._skipped and [each.name for each in said[: len(self._skipped)]] != self._skipped:
            self._base, self._base_said, self._skipped = [], [], []  # it went back further
        self._last, self._last_bytes = list(said), raw
        if not self._base:
            return Joined(turn.call, said, compacted, is_joined=False)
        skip = len(self._skipped)
        body = _with_history(turn, [*self._base, *raw[skip:]])
        call = replace(turn.call, body=body)
        return Joined(call, [*self._base_said, *said[skip:]], compacted, is_joined=True)


def _compacted(before: Sequence[Said], after: Sequence[Said]) -> Compacted | None:
    """Whether a client that sent one request and then another has compacted in between."""
    pairs = zip(before, after, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0].name == pair[1].name, pairs))
    old, kept = {each.name for each in before}, {each.name for each in after}
    removed = sum(each.tokens for each in before if each.name not in kept)
    if shared >= _MOST_SHARED * len(before) or removed < _LEAST_REMOVED_TOKENS:
        return None
    summary = _summary(old, after)
    if summary is None or after[summary].tokens > removed:
        return None
    return Compacted(sum(each.tokens for each in before), after[summary].tokens)


def _summary(known: AbstractSet[bytes], after: Sequence[Said]) -> int | None:
    """The first message that is new and says more than a user types; None for none."""
    found = (
        place
        for place, each in enumerate(after)
        if each.name not in known and each.tokens >= _LEAST_SUMMARY_TOKENS
    )
    return next(found, None)


def _begins(before: Sequence[Said], after: Sequence[Said]) -> int:
    """Where what is new begins: behind the summary and behind all that was kept."""
    known = {each.name for each in before}
    kept = [place for place, each in enumerate(after) if each.name in known]
    return max(_summary(known, after) or 0, max(kept, default=-1)) + 1


def _with_history(turn: Turn, messages: Sequence[bytes]) -> bytes:
    start, stop = turn.request.history_span
    body = turn.request.body
    return b"".join((body[:start], b"[", b",".join(messages), b"]", body[stop:]))
