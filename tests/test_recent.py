"""What was read is not read again, and nobody can tell from what comes out."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab import Call, CharTokenCounter, Engine, Policy, Session
from trimtab.recent import RecentTurns
from trimtab.turn import Turn

Json = dict[str, Any]

SESSION = Session(Policy(limit_tokens=1_000), CharTokenCounter())


def body_of(*words: str) -> bytes:
    """A conversation in which user and model take turns."""
    messages = [
        {"role": "assistant" if place % 2 else "user", "content": said}
        for place, said in enumerate(words)
    ]
    return json.dumps({"model": "claude-opus-4-6", "max_tokens": 9, "messages": messages}).encode()


def turn_of(*words: str, tenant: str = "") -> Turn:
    """A turn of that conversation."""
    return SESSION.read(Call(body_of(*words)), tenant=tenant)


def told(turn: Turn) -> tuple[object, ...]:
    """All that a session looks at."""
    request = turn.request
    return turn.root, turn.links, list(request.spans), request.members, request.messages


WORDS = st.lists(st.sampled_from(["a", "b", "c" * 40]), min_size=1, max_size=6)


@given(st.lists(st.tuples(WORDS, st.sampled_from(["", "ann", "bob"])), max_size=8))
def test_what_an_engine_has_read_before_changes_nothing_of_what_it_reads(
    requests: list[tuple[list[str], str]],
) -> None:
    """Extended, cut, forked and strange ones, of several tenants."""
    engine = Engine(Policy(limit_tokens=1_000), counter=CharTokenCounter())
    for words, tenant in requests:
        call = Call(body_of(*words))

        assert told(engine.read(call, tenant=tenant)) == told(SESSION.read(call, tenant=tenant))


def test_the_turn_that_shares_most_is_the_best() -> None:
    """Also where another that shares less is newer."""
    recent = RecentTurns()
    near, far = turn_of("a", "b", "c"), turn_of("a", "x")
    recent.keep(near, "", None)
    recent.keep(far, "", None)

    best = recent.best_for(body_of("a", "b", "c", "d"), "")

    assert best is not None
    assert best.key == near.key
    assert recent.best_for(body_of("z"), "") is None


def test_a_turn_of_another_tenant_is_never_looked_at() -> None:
    """Not even to save time."""
    recent = RecentTurns()
    recent.keep(turn_of("a", tenant="ann"), "ann", None)

    assert recent.best_for(body_of("a", "b"), "bob") is None
    assert recent.best_for(body_of("a", "b"), "ann") is not None


def test_a_conversation_that_goes_on_is_kept_once() -> None:
    """Its newest turn takes the place of the one before; a fork stands beside it."""
    recent = RecentTurns()
    first, second, fork = turn_of("a"), turn_of("a", "b"), turn_of("a", "x")
    recent.keep(first, "", None)
    recent.keep(second, "", first)
    recent.keep(fork, "", second)

    assert [turn.key for turn in recent._turns.values()] == [second.key, fork.key]


def test_bodies_that_are_kept_stay_under_their_cap() -> None:
    """The oldest go first; one that is larger than all there may be is not kept."""
    size = len(body_of("a" * 100))
    recent = RecentTurns(max_bytes=3 * size)
    for letter in "abcde":
        recent.keep(turn_of(letter * 100), "", None)
    recent.keep(turn_of("f" * 1_000), "", None)

    kept = [turn.call.body for turn in recent._turns.values()]

    assert kept == [body_of(letter * 100) for letter in "cde"]
    assert recent._bytes == 3 * size


def test_nothing_that_was_decoded_is_kept_and_no_key() -> None:
    """A history that was looked at takes several times the room of its bytes."""
    recent = RecentTurns()
    turn = SESSION.read(Call(body_of("a", "b"), {"x-api-key": "secret"}))
    assert len(turn.request.messages) == 2
    recent.keep(turn, "", None)

    best = recent.best_for(turn.call.body, "")

    assert best is not None
    assert "messages" not in vars(best.request)
    assert best.call.headers == {}
    assert told(best) == told(turn)
