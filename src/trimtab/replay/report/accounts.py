"""What came of one compaction, in words."""

from __future__ import annotations

from trimtab.replay.report.figures import counted, difference
from trimtab.replay.report.story import CutAccount

__all__ = ["account_words"]


def account_words(account: CutAccount) -> str:
    """What a compaction cost and saved by the bills of its turns, and what was missed behind it.

    Args:
        account: What came of it.

    Returns:
        Sentences that go on behind a colon; in dollars, or in fresh input tokens without prices.
    """
    now, later, turns = account.now, account.later, account.turns
    told = (
        f"{difference(-now)} at once, {difference(later)} over the {counted(turns, 'turn')} since, "
        "until the next compaction or the end"
    )
    if not account.misses:
        return (
            f"{told}; {difference(account.saved)} in all. No answer of these turns missed anything."
        )
    even = account.paid_after
    when = (
        "it never paid for itself" if even is None else f"it had paid after {counted(even, 'turn')}"
    )
    return (
        f"{told}; {difference(-account.missed)} for {counted(account.misses, 'answer')} that missed something; "
        f"{difference(account.saved)} in all. With what was missed, {when}."
    )
