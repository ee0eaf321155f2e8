"""The model of the provider's cache against what was billed, where caches are explicit."""

from __future__ import annotations

from functools import cache

from tests.conformance.test_recordings import files, recordings
from trimtab.replay.bench import bench
from trimtab.replay.results import percentile

_KINDS = ("claude-code", "pi")
"""Clients that set markers and whose logs hold what was read and written."""

_LEAST_REQUESTS = 500
_MEDIAN, _P95 = 0.02, 0.10


@cache
def errors() -> tuple[float, ...]:
    """How far off the tokens read were, as a share of each request, over all sessions."""
    return tuple(
        error
        for name in files()
        for recording in recordings(name)
        if recording.kind in _KINDS
        for error in bench(recording, choices=()).result.cache_errors
    )


def test_cached_tokens_are_foretold_where_caches_are_explicit() -> None:
    """Half are off by at most 2 % of the request, 19 of 20 by at most 10 %."""
    assert len(errors()) >= _LEAST_REQUESTS
    median, p95 = percentile(errors(), 0.5), percentile(errors(), 0.95)
    assert median is not None
    assert p95 is not None
    assert median <= _MEDIAN
    assert p95 <= _P95
