"""Dropping the middle, and keeping within a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.builders import answer, call, replay, weigh, words_of
from trimtab import Message
from trimtab.boundaries import MARKER
from trimtab.plan import Plan
from trimtab.strategies.drop_middle import drop_middle
from trimtab.strategies.fold import FILLER
from trimtab.strategies.keep_within_budget import keep_within_budget, without_answered_exchange


def rounds(count: int, *, size: int = 400) -> list[Message]:
    """Rounds of a question, an exchange and an answer."""
    messages = []
    for n in range(count):
        messages += [
            Message.user(f"u{n}"),
            call(f"c{n}"),
            answer(f"c{n}", "x" * size),
            Message.assistant(f"a{n}"),
        ]
    return [*messages, Message.user("now")]


def test_head_marker_and_the_longest_tail_that_fits() -> None:
    """The first messages stay, then the marker, then as much of the end as there is room for."""
    history = weigh(rounds(8), keep_first=1, keep_recent=2)

    dropped = replay(history, drop_middle(history, 600))

    told = words_of(dropped)
    assert told[0] == f"u0 + {MARKER}"
    # The newest exchange and all from some cut on; no tail that is a round longer would fit.
    assert told[-5:] == ["u7", "call c7", "result c7", "a7", "now"]
    assert history.tokens_under(Plan(drop_middle(history, 600))) <= 600


def test_the_newest_messages_stay_if_they_can() -> None:
    """keep_recent messages are in the tail, even above the target."""
    history = weigh(rounds(8), keep_first=1, keep_recent=9)

    told = words_of(replay(history, drop_middle(history, 10)))

    assert told[-9:] == [
        "u6",
        "call c6",
        "result c6",
        "a6",
        "u7",
        "call c7",
        "result c7",
        "a7",
        "now",
    ]


def test_a_history_with_nothing_between_head_and_tail_is_left_alone() -> None:
    """Too short to have a middle."""
    assert drop_middle(weigh(rounds(1), keep_recent=10), 1) == ()
    assert drop_middle(weigh([Message.user("a")]), 1) == ()
    assert drop_middle(weigh([]), 1) == ()


def test_an_earlier_marker_is_not_part_of_the_head() -> None:
    """A second compaction replaces the first one's marker."""
    messages = [Message.user("u0"), Message.assistant("a0"), Message.user(MARKER), *rounds(6)[3:]]
    history = weigh(messages, keep_first=4, keep_recent=2)

    told = words_of(replay(history, drop_middle(history, 500)))

    assert told[:3] == ["u0", "a0", MARKER]
    assert told.count(MARKER) == 1


def test_within_a_budget_the_newest_stays_and_what_is_protected() -> None:
    """The head goes, the first user message does not, and the tail is one run."""
    history = weigh([Message.system("rules"), *rounds(8)], keep_first=9)

    told = words_of(replay(history, keep_within_budget(history, 450)))

    tail = [word for word in told[2:] if word != FILLER]
    assert told[:2] == ["rules", f"u0 + {MARKER}"]
    assert len(tail) > 5
    assert tail == words_of(rounds(8))[-len(tail) :]


def test_without_room_only_what_is_protected_stays() -> None:
    """At a budget of nothing: first words, newest words, newest exchange."""
    history = weigh(rounds(4))

    told = words_of(replay(history, keep_within_budget(history, 1)))

    assert told == [f"u0 + {MARKER}", "call c3", "result c3", "now"]


def test_everything_protected_is_no_edit() -> None:
    """Where all is protected there is nothing to drop."""
    history = weigh(rounds(2), protect=lambda _: True)

    assert keep_within_budget(history, 1) == ()


def test_an_answered_exchange_can_be_given_up_and_one_under_way_cannot() -> None:
    """Only where the user has spoken since is the newest exchange released."""
    answered = weigh(rounds(2))
    under_way = weigh(rounds(2)[:-2])
    named = weigh(rounds(2), protect=lambda m: bool(m.result_ids))

    released = without_answered_exchange(answered)

    assert released is not None
    assert "newest exchange" not in released.protected.values()
    assert without_answered_exchange(under_way) is None
    assert without_answered_exchange(named) is None
    assert without_answered_exchange(weigh([Message.user("a")])) is None


@given(
    st.integers(1, 6),
    st.integers(0, 8),
    st.integers(0, 12),
    st.integers(1, 2_000),
    st.sampled_from([0, 40, 2_000]),
)
def test_pairs_are_whole_and_words_stay_at_every_setting(
    count: int, first: int, recent: int, target: int, size: int
) -> None:
    """Whatever head, tail, size and target: no orphan, no lost protected message, order kept."""
    messages = rounds(count, size=size)
    history = weigh(messages, keep_first=first, keep_recent=recent)
    for strategy in (drop_middle, keep_within_budget):
        kept = replay(history, strategy(history, target))

        called = [i for message in kept for i in message.call_ids]
        answered = [i for message in kept for i in message.result_ids]
        assert called == answered
        told = words_of(kept)
        assert told[0].startswith("u0")
        assert told[-1] == "now"
        left = [word for word in words_of(messages) if word in told]
        assert [word for word in told if word in left] == left
