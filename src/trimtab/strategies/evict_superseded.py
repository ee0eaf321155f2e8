"""Results that a newer call made stale become one line.

Buys: agents read the same files again and again; one copy, the newest, is
enough, and old ones mislead.
Costs: what a file looked like before is gone, where it has been read or
written anew since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.messages import Media, ToolResult
from trimtab.plan import Replace
from trimtab.policy import Policy
from trimtab.strategies.answered import Answered, answered, marked, replacements
from trimtab.strategies.drop_middle import head_end
from trimtab.strategies.history import History
from trimtab.strategies.targets import Target, target_of
from trimtab.strategies.wording import is_partial, is_stub

__all__ = ["evict_superseded"]

REASON = "superseded: a newer call shows or wrote the same"

_SHOWED = "showed it again later"
_WROTE = "wrote the file anew later"
_CALLED = "was called in the same way again later"


def evict_superseded(history: History, target_tokens: int) -> tuple[Replace, ...]:
    """Replace stale results by a marker, oldest first.

    The newest successful call of a target counts. A write makes older reads
    and writes of its path stale; a read of a whole file makes older reads of
    it stale, a read of a range those of the same range; an edit makes nothing
    stale. Failed calls make nothing stale and never are. What points back to
    an older result, or is not all there, does not stand for it. The head is
    left alone: it may stay when the newer call goes with the middle.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.

    Returns:
        One edit a result that became shorter, oldest first.
    """
    return replacements(history, target_tokens, _offers(history), REASON)


def _offers(history: History) -> Iterator[tuple[Answered, ToolResult]]:
    results = list(answered(history))
    newer = _newer_calls(results, history.policy)
    head = {piece.ref.message for piece in history.boundaries.pieces[: head_end(history)]}
    for place, old in enumerate(results):
        if place in newer and old.is_free and not old.is_made and old.message not in head:
            yield old, marked(old.result, newer[place])


def _newer_calls(results: Sequence[Answered], policy: Policy) -> dict[int, str]:
    """What is said of the call that made a result stale, by the place of the result."""
    seen = _Seen()
    newer: dict[int, str] = {}
    by_call = sorted(range(len(results)), key=lambda place: results[place].number, reverse=True)
    for place in by_call:
        found = results[place]
        if found.call is None or found.has_failed:
            continue
        target = target_of(found.call, policy)
        words = seen.newer(target, found)
        if words:
            newer[place] = words
        else:
            seen.add(target, found)
    return newer


class _Seen:
    """The calls that are newer than the one that is looked at."""

    def __init__(self) -> None:
        self._written: dict[str, str] = {}  # path: the tool
        self._whole: dict[str, str] = {}
        self._same: dict[tuple[str, str], Answered] = {}  # target: the newest call of it

    def newer(self, target: Target, found: Answered) -> str:
        """What is said of the newer call that stands for this one; empty for none."""
        if target.kind in ("read", "write") and target.path in self._written:
            return f"{self._written[target.path]} {_WROTE}"
        if target.kind == "read" and target.path in self._whole:
            return f"{self._whole[target.path]} {_SHOWED}"
        same = self._same.get(target.identity)
        if target.kind not in ("read", "other") or same is None:
            return ""
        if is_partial(same.result.text) and not is_partial(found.result.text):
            return ""
        return f"{same.name} {_SHOWED if target.kind == 'read' else _CALLED}"

    def add(self, target: Target, found: Answered) -> None:
        """Take note of a call that nothing newer stands for."""
        if target.kind == "write":
            self._written[target.path] = found.name  # the call holds what was written
        elif target.kind in ("read", "other") and _stands_for_older(target, found):
            self._same[target.identity] = found
            if target.kind == "read" and not target.span and not is_partial(found.result.text):
                self._whole[target.path] = found.name


def _stands_for_older(target: Target, found: Answered) -> bool:
    """Whether a result shows what it was asked for."""
    text = found.result.text
    if not found.is_full or is_stub(text):
        return False
    has_media = any(isinstance(block, Media) for block in found.result.content)
    return target.kind == "other" or has_media or bool(text.strip())
