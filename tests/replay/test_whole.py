"""The history of a session without its client's own compactions."""

from __future__ import annotations

import json
from typing import Any

from tests.replay.sessions import answer, recorded, turn_of, user, weighed
from trimtab.replay.weights import Weights
from trimtab.replay.whole import Compacted, Joined, Whole

LONG = "and so on and on with one word and another " * 4_000
SUMMARY = "This is what happened before: " + "something was done. " * 100


def joined(*histories: list[dict[str, Any]]) -> list[Joined]:
    """A session put together, request by request."""
    weights, whole = Weights(), Whole()
    requests = [recorded(messages) for messages in histories]
    return [whole.join(turn_of(request), weighed(request, weights)) for request in requests]


def messages_of(each: Joined) -> list[dict[str, Any]]:
    """The messages of a request that was put together."""
    value: list[dict[str, Any]] = json.loads(each.call.body)["messages"]
    return value


def test_what_the_client_removed_is_put_back() -> None:
    """In place of the summary; what came since follows, and each message keeps its weight."""
    before = [user("go"), answer(LONG), user("more"), answer(LONG), user("and now?")]
    after = [user(SUMMARY)]
    later = [*after, answer("Done."), user("Fine.")]

    first, second, third = joined(before, after, later)

    assert (first.is_joined, first.compacted) == (False, None)
    assert messages_of(second) == before
    assert messages_of(third) == [*before, answer("Done."), user("Fine.")]
    assert (third.is_joined, third.compacted) == (True, None)
    assert [each.tokens for each in third.said[:5]] == [each.tokens for each in first.said]
    assert second.compacted == Compacted(
        sum(each.tokens for each in first.said), weighed(recorded(after))[0].tokens
    )


def test_messages_that_the_client_kept_stand_once() -> None:
    """Behind its summary they are the same as before it, and what is new behind them stays."""
    before = [user("go"), answer(LONG), user("more"), answer("kept"), user("also kept")]
    after = [user(SUMMARY), answer("kept"), user("also kept"), answer("new"), user("newer")]

    each = joined(before, after)[1]

    assert messages_of(each) == [*before, answer("new"), user("newer")]


def test_compactions_add_up() -> None:
    """All of the history comes back, however often it was removed."""
    first = [user("go"), answer(LONG), user("one")]
    second = [user(SUMMARY), answer(LONG + "!"), user("two")]
    third = [user(SUMMARY + "Again."), answer("ok"), user("three")]

    each = joined(first, second, third)[2]

    assert messages_of(each) == [
        *first,
        answer(LONG + "!"),
        user("two"),
        answer("ok"),
        user("three"),
    ]


def test_a_user_who_goes_back_has_not_compacted() -> None:
    """A rewind and a fork are histories of their own."""
    before = [user("go"), answer(LONG), user("more"), answer(LONG), user("and now?")]
    back = [user("go"), answer(LONG), user("something else")]

    first, second = joined(before, back)

    assert [each.is_joined for each in (first, second)] == [False, False]
    assert second.compacted is None


def test_another_short_question_is_no_summary() -> None:
    """What a client asks beside its session replaces nothing."""
    before = [user("go"), answer(LONG), user("more")]

    assert joined(before, [user("Name this session.")])[1].compacted is None


def test_small_sessions_are_left_alone() -> None:
    """Nobody compacts them."""
    assert (
        joined([user("go"), answer("ok " * 500), user("more")], [user(SUMMARY)])[1].compacted
        is None
    )


def test_a_client_that_goes_back_behind_its_summary_is_followed() -> None:
    """Then it is what it sends."""
    before = [user("go"), answer(LONG), user("more"), answer(LONG), user("and now?")]
    back = [user("go"), answer(LONG), user("other")]

    each = joined(before, [user(SUMMARY)], back)[2]

    assert messages_of(each) == back
    assert not each.is_joined
