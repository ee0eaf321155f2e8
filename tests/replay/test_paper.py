"""Policies of others, on paper."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tests.replay.sessions import said
from trimtab.economy import Split
from trimtab.replay.paper import (
    BackgroundSummaries,
    ClientCompaction,
    Nothing,
    Paper,
    Sent,
    SideCall,
    ToolClearing,
)
from trimtab.replay.weights import Said

HEAD = 1_000


def history(turns: int, tokens: int = 1_000) -> list[Said]:
    """A session of calls and results; each turn weighs so much."""
    messages = [said("task", 100, "user")]
    for number in range(turns):
        messages += [
            said(f"call {number}", 100),
            said(f"result {number}", tokens - 100, "tool", is_result=True),
        ]
    return messages


def sent(paper: Paper, turns: int, tokens: int = 1_000) -> list[Sent]:
    """What a policy sends on each turn of a session."""
    return [paper.send(history(turn, tokens), HEAD) for turn in range(turns + 1)]


def weights(each: Sent) -> int:
    """What is sent, the head left out."""
    return sum(row.tokens for row in each.rows)


def names(each: Sent) -> Sequence[bytes]:
    """What is sent."""
    return [row.name for row in each.rows]


def test_nothing_sends_everything() -> None:
    """Whatever it weighs."""
    for turn, each in enumerate(sent(Nothing(), 5)):
        assert names(each) == [message.name for message in history(turn)]
        assert (each.call, each.is_compacted) == (None, False)


def test_a_client_compacts_all_but_the_newest_message() -> None:
    """From its trigger on; the call reads the conversation and answers with the summary."""
    each = sent(ClientCompaction(10_000, 500), 20)

    cut = [turn for turn, one in enumerate(each) if one.is_compacted]
    assert cut == [9, 17]
    first = each[9]
    assert [row.tokens for row in first.rows] == [500, 900]
    assert first.call == SideCall(Split(fresh=900 + 1_500, read=HEAD + 100 + 9_000 - 900), 500)
    assert [weights(one) for one in each[10:12]] == [2_400, 3_400]
    assert names(each[11])[:2] == names(each[10])[:2]


def test_a_client_that_goes_back_sees_the_whole_again() -> None:
    """Its summary is of another history."""
    paper = ClientCompaction(10_000)
    sent(paper, 9)

    back = [said("other", 50, "user"), *history(3)]

    assert names(paper.send(back, HEAD)) == [message.name for message in back]


def test_a_provider_clears_so_much_at_a_time() -> None:
    """Old results but the newest three; between two steps nothing changes."""
    each = sent(ToolClearing(10_000, keep=3, at_least_tokens=5_000), 20)

    cut = [turn for turn, one in enumerate(each) if one.is_compacted]
    assert cut == [9, 15]
    assert weights(each[8]) == 8_100
    assert weights(each[9]) == 9_100 - 6 * 880
    assert [row.tokens for row in each[9].rows if row.role == "tool"] == [20] * 6 + [900] * 3
    for before, after in pairwise(each[9:15]):
        assert names(after)[: len(names(before))] == names(before)
    assert all(one.call is None for one in each)


def test_a_summary_is_asked_for_early_and_put_in_place_when_it_is_needed() -> None:
    """The call stands alone, so its span is fresh; the splice waits for the trigger."""
    paper = BackgroundSummaries(10_000, latency_turns=2, tail_tokens=2_000, summary_tokens=500)
    each = sent(paper, 12)

    asked = [turn for turn, one in enumerate(each) if one.call is not None]
    cut = [turn for turn, one in enumerate(each) if one.is_compacted]
    assert (asked[0], cut[0]) == (5, 9)
    assert each[5].call == SideCall(Split(fresh=100 + 3_000 + 1_500), 500)
    assert weights(each[9]) == 500 + 6_000
    assert weights(each[8]) == 8_100


def test_a_late_summary_is_waited_for_and_never_holds_anything_up() -> None:
    """Until it has come everything is sent."""
    paper = BackgroundSummaries(10_000, latency_turns=8, tail_tokens=2_000, summary_tokens=500)
    each = sent(paper, 14)

    assert [turn for turn, one in enumerate(each) if one.is_compacted] == [13]
    assert weights(each[12]) == 12_100


def test_a_summary_of_another_history_is_dropped() -> None:
    """Whoever goes back is sent what is there."""
    paper = BackgroundSummaries(10_000, latency_turns=1, tail_tokens=2_000, summary_tokens=500)
    sent(paper, 10)

    back = [said("other", 50, "user"), *history(3)]

    assert names(paper.send(back, HEAD)) == [message.name for message in back]


def test_a_span_that_is_hardly_longer_than_its_summary_is_not_summarised() -> None:
    """It would be paid for and save nothing."""
    paper = BackgroundSummaries(10_000, tail_tokens=6_000, summary_tokens=1_000)

    assert all(one.call is None for one in sent(paper, 7))
