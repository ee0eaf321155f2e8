"""Idle, in flight, ready: what follows from what."""

from __future__ import annotations

from trimtab.briefing import BackOff, Progress, Span

SPAN = Span(head=1, cut=9, messages=8, tokens=800)
SMALL = Span(head=1, cut=5, messages=4, tokens=400)


def test_a_briefing_goes_from_asked_to_ready_to_used() -> None:
    """And then the next may be asked for."""
    idle = Progress()
    assert idle.may_ask(SPAN)

    in_flight = idle.asked(SPAN)
    assert (in_flight.phase, in_flight.span) == ("in flight", SPAN)
    assert not in_flight.may_ask(SPAN)

    ready = in_flight.accepted("text")
    assert (ready.phase, ready.span, ready.text) == ("ready", SPAN, "text")
    assert not ready.may_ask(SPAN)

    assert ready.moved(SMALL).span == SMALL
    assert ready.used() == Progress()
    assert ready.dropped() == Progress()


def test_waits_grow_and_a_success_ends_them() -> None:
    """1, 3, 7, 15, 31, 31 calls."""
    progress = Progress()
    waits = []
    for _ in range(7):
        progress = progress.asked(SPAN).failed()
        waits.append(progress.back_off.waits)
        assert not progress.may_ask(SPAN)
        for _ in range(waits[-1]):
            assert not progress.may_ask(SPAN)
            progress = progress.passed()
        assert progress.may_ask(SPAN)

    assert waits == [1, 3, 7, 15, 31, 31, 31]
    assert progress.asked(SPAN).accepted("text").used().back_off == BackOff()


def test_after_an_answer_that_was_too_large_only_a_larger_span_is_worth_asking() -> None:
    """Each size is tried once."""
    progress = Progress().asked(SMALL).too_large(500)
    assert (progress.phase, progress.may_ask(SMALL), progress.may_ask(SPAN)) == (
        "idle",
        False,
        True,
    )

    again = progress.asked(SPAN).too_large(500)
    assert again.back_off.needed_tokens == 501
    assert again.dropped().back_off.needed_tokens == 501


def test_answers_that_were_cut_are_counted_until_a_good_one() -> None:
    """Whoever asks next gives more room for each."""
    progress = Progress().asked(SPAN).failed(is_cut=True).asked(SPAN).failed()
    assert progress.asked(SPAN).failed(is_cut=True).back_off == BackOff(3, 7, cuts=2)
    assert progress.asked(SPAN).accepted("text").used().back_off == BackOff()
