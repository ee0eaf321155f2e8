"""Law 2: what goes out is within the limit, or the outcome says why not, in numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS, bodies
from tests.laws.rewriters import Rewriter, policy_for, trimtab, untouched
from trimtab import CharTokenCounter, Message, Session, Text, ToolResult
from trimtab.boundaries import MADE_PREFIX, Boundaries, is_made, protected_pieces, round_starts
from trimtab.tokens import Measure
from trimtab.wire import Call, read

MARKER_AND_FILLERS_TOKENS = 80
"""A marker and the answers around it: what a removal costs."""

LIMITS = st.sampled_from([40, 120, 300, 800, 2_000, 6_000, 100_000])


def weigh(body: bytes, format: str) -> int:  # noqa: A002 - the word for it
    """Count a body afresh."""
    session = Session(policy_for(10**9), CharTokenCounter())
    return session.weigh(session.read(Call(body), format)).total_tokens


def assert_fits(body: bytes, format: str, limit: int, rewriter: Rewriter) -> None:  # noqa: A002 - the word for it
    """The outcome tells the truth about the size, and protected words are all there."""
    rewritten = rewriter(body, format, limit)
    outcome, after = rewritten.outcome, weigh(rewritten.body, format)

    assert outcome.tokens_after == after
    assert outcome.tokens_before == weigh(body, format)
    if outcome.status in ("untouched", "fits"):
        assert after <= limit
    else:
        assert after > limit
        assert outcome.needed_tokens > limit
        assert outcome.reason
    assert_protected(read(body, format).messages, read(rewritten.body, format).messages)
    if outcome.status == "unsatisfiable":
        assert_nothing_left_to_drop(rewritten.body, format)


def assert_protected(before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
    """System messages and the first and newest user's words are there, verbatim."""
    starts = round_starts(before)
    wanted = [m for m in before if m.role == "system"] + [
        before[p] for p in starts[:1] + starts[-1:]
    ]
    texts = [part.text for m in after for part in m.parts if isinstance(part, Text)]
    for message in wanted:
        for part in message.parts:
            if isinstance(part, Text):
                assert any(text.startswith(part.text) for text in texts)
    boundaries = Boundaries(before)
    newest = boundaries.newest_exchange()
    if newest is None or (
        starts and boundaries.atoms[newest].pieces[-1] < _piece_of(boundaries, starts[-1])
    ):
        return  # the user has spoken since
    results = {_unnumbered(p.call_id) for m in after for p in m.parts if isinstance(p, ToolResult)}
    for piece in boundaries.atoms[newest].pieces:
        asked = before[boundaries.pieces[piece].ref.message].result_ids
        assert results >= set(map(_unnumbered, asked))


def _unnumbered(call_id: str) -> str:
    """An id; calls that have none and are alike are numbered anew in each request."""
    return re.sub(r"(##[0-9a-f]+)\.\d+$", r"\1", call_id)


def _piece_of(boundaries: Boundaries, message: int) -> int:
    return max(p for p, piece in enumerate(boundaries.pieces) if piece.ref.message == message)


def assert_nothing_left_to_drop(body: bytes, format: str) -> None:  # noqa: A002 - the word for it
    """What cannot be made to fit holds nothing whose removal would save more than it costs."""
    request = read(body, format)
    boundaries = Boundaries(request.messages)
    kept = protected_pieces(request.messages, boundaries, request.constraints)
    measure = Measure(CharTokenCounter(), request.surface.model)
    left = [
        request.messages[piece.ref.message]
        for place, piece in enumerate(boundaries.pieces)
        if place not in kept
    ]
    said = [message for message in left if not is_made(message) and MADE_PREFIX not in message.text]
    assert sum(measure.message(message) for message in said) <= MARKER_AND_FILLERS_TOKENS


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data(), limit=LIMITS)
def test_what_goes_out_fits_or_says_why(data: st.DataObject, limit: int, format: str) -> None:  # noqa: A002 - the word for it
    """At every limit the size is told truly, and what is protected stays."""
    assert_fits(data.draw(bodies(format)), format, limit, trimtab)


@pytest.mark.parametrize("format", FORMATS)
def test_the_law_fails_on_a_rewriter_that_does_nothing(format: str) -> None:  # noqa: A002 - the word for it
    """The law finds a rewriter that claims a fit and changes nothing."""

    @settings(report_multiple_bugs=False)
    @given(body=bodies(format))
    def law(body: bytes) -> None:
        assert_fits(body, format, 50, untouched)

    with pytest.raises(AssertionError):
        law()
