"""Small values that have no file of their own."""

from __future__ import annotations

from trimtab import Constraints, Summary, SummaryRequest, SummaryStats, Usage
from trimtab.constraints import UNCONSTRAINED


def test_total_input_counts_cached_tokens_once() -> None:
    """Fresh, read and written tokens are the whole prompt."""
    assert Usage(fresh=8, cache_read=17_000, cache_write=1_000, output=5).total_input == 18_008


def test_lists_without_a_format_have_no_constraints() -> None:
    """Everything may be edited, and results follow their calls."""
    assert Constraints() == UNCONSTRAINED
    assert not UNCONSTRAINED.hands_off


def test_briefings_show_no_words() -> None:
    """Neither a request for a briefing nor a briefing tells its text in a log."""
    told = repr([SummaryRequest("sesame", "sesame", 10), Summary("sesame"), SummaryStats(3)])

    assert "sesame" not in told
