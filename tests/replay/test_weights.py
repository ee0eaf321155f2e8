"""What the messages of a session weigh on the bill."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.replay.sessions import MODEL, agent, answer, billed, recorded, turn_of, user, weighed
from trimtab import Usage
from trimtab.replay.weights import Weights
from trimtab.tokens import Measure, counter_for

MEASURE = Measure(counter_for(MODEL), MODEL)


@pytest.mark.parametrize("rate", [0.8, 1.0, 1.7])
def test_head_and_messages_weigh_what_was_billed(rate: float) -> None:
    """On every turn, to the token; what a log lacks is the head."""
    requests, weights = billed(agent(12), 15_000, rate), Weights()

    for request in requests:
        said = weighed(request, weights)
        head = weights.head_tokens(turn_of(request), MEASURE)
        assert request.usage is not None
        assert head + sum(each.tokens for each in said) == request.usage.total_input


def test_a_message_keeps_its_weight() -> None:
    """So that a prefix weighs on every turn what it was first billed at."""
    weights = Weights()
    each = [weighed(request, weights) for request in billed(agent(6), 9_000, 1.3)]

    for before, after in pairwise(each):
        assert after[: len(before)] == before
    assert weights.rate == pytest.approx(1.3, rel=0.05)


def test_a_body_that_is_recorded_whole_is_stretched_whole() -> None:
    """Nothing is missing, so head and messages share what was billed in proportion."""
    request = replace(recorded([user("word " * 4_000)]), usage=Usage(fresh=10_000))
    weights = Weights()

    (said,) = weighed(request, weights)
    head = weights.head_tokens(turn_of(request), MEASURE)

    assert head + said.tokens == pytest.approx(10_000, abs=1)
    assert head == pytest.approx(10_000 * 528 / (528 + said.counted), rel=0.1)


def test_without_bills_the_counts_stand() -> None:
    """Nothing is made up."""
    weights = Weights()
    said = weighed(recorded([user("a few words"), answer("and more"), user("?")]), weights)

    assert [each.tokens for each in said] == [each.counted for each in said]
    assert weights.rate == 1.0


def test_a_bill_after_requests_without_one_tells_the_head() -> None:
    """What was guessed before is not taken for measured."""
    plain, weights = agent(3), Weights()
    for request in plain[:2]:
        weighed(request, weights)
    guessed = weights.head_tokens(turn_of(plain[1]), MEASURE)
    last = billed(plain, 9_000)[2]

    said = weighed(last, weights)

    assert last.usage is not None
    head = weights.head_tokens(turn_of(last), MEASURE)
    assert guessed < 1_000 < head
    assert head + sum(each.tokens for each in said) == last.usage.total_input


def test_a_context_that_shrank_unseen_gives_no_message_a_weight_below_its_count() -> None:
    """A bill below what was known before says nothing of what came."""
    first, second = billed(agent(1), 9_000)
    weights = Weights()
    weighed(first, weights)

    said = weighed(replace(second, usage=Usage(fresh=2_000)), weights)

    assert [each.tokens for each in said[1:]] == [each.counted for each in said[1:]]


def test_what_no_text_shows_says_nothing_of_texts() -> None:
    """Hidden reasoning makes a message heavy, and no marker of ours."""
    first, second = billed(agent(1), 9_000)
    weights = Weights()
    weighed(first, weights)
    assert second.usage is not None

    weighed(replace(second, usage=Usage(fresh=second.usage.total_input + 50_000)), weights)

    assert weights.rate == 2.0


def test_a_message_says_who_speaks_and_whether_it_brings_results() -> None:
    """As the provider sees it."""
    said = weighed(agent(1)[1])

    assert [(each.role, each.is_result, each.parts) for each in said] == [
        ("user", False, 1),
        ("assistant", False, 1),
        ("user", True, 1),
    ]
