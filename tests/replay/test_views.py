"""What a policy sends, as a cache and a bill see it."""

from __future__ import annotations

from tests.replay.sessions import MODEL, agent, billed, said, turn_of, weighed
from trimtab import Engine, Policy
from trimtab.economy import Block
from trimtab.replay.views import Row, View, Views, blocks_of
from trimtab.replay.weights import Weights
from trimtab.tokens import Measure, counter_for
from trimtab.wire import check

MEASURE = Measure(counter_for(MODEL), MODEL)
HEAD = Block(b"head", 9_000)


def views(turns: int, policy: Policy) -> list[View]:
    """What an engine sends of a session, turn by turn."""
    engine, weights = Engine(policy).sync, Weights()
    made, found = Views(weights), []
    for request in billed(agent(turns), 9_000, 1.2):
        each = weighed(request, weights)
        rewrite = engine.rewrite(turn_of(request))
        engine.forwarded(rewrite.ticket)
        assert not check(rewrite.body, "anthropic")
        found.append(made.of(rewrite, each, MEASURE))
    return found


def test_a_view_without_edits_is_what_came() -> None:
    """Row by row, with the weights of the bill."""
    (*_, last) = views(5, Policy(limit_tokens=100_000))
    requests, weights = billed(agent(5), 9_000, 1.2), Weights()
    *_, each = [weighed(request, weights) for request in requests]

    assert last == View([Row.of(message, place) for place, message in enumerate(each)])
    assert last.untouched == frozenset(range(11))
    assert last.tokens == sum(message.tokens for message in each)


def test_a_view_goes_on_byte_for_byte_between_compactions() -> None:
    """Names of rows tell a cache what it has seen; a compaction makes others, once."""
    each = views(40, Policy(limit_tokens=3_000))

    names = [[row.name for row in view.rows] for view in each]
    broken = [
        place
        for place in range(1, len(names))
        if names[place][: len(names[place - 1])] != names[place - 1]
    ]
    assert 1 <= len(broken) <= 6
    assert all(each[place].tokens < each[place - 1].tokens for place in broken)
    assert all(view.changed_text for view in each[broken[0] :])


def test_what_was_made_is_told_apart_and_weighed() -> None:
    """Its words are kept, for whoever looks for them; what is untouched has none."""
    last = views(40, Policy(limit_tokens=3_000))[-1]

    made = [row for row in last.rows if row.source is None]
    touched = [row for row in last.rows if row.source is not None and not row.is_untouched]
    assert made or touched
    assert all(row.tokens > 0 for row in made)
    assert not last.untouched & {row.source for row in touched}


def test_markers_stand_where_clients_put_them() -> None:
    """Behind the system prompt and on the two newest messages of the user."""
    rows = [
        said("a", 1, "user"),
        said("b", 2),
        said("c", 3, "user"),
        said("d", 4),
        said("e", 5, "tool"),
    ]

    assert blocks_of(HEAD, rows, 300.0) == [
        Block(b"head", 9_000, 1, 300.0),
        Block(b"a", 1),
        Block(b"b", 2),
        Block(b"c", 3, 1, 300.0),
        Block(b"d", 4),
        Block(b"e", 5, 1, 300.0),
    ]
    assert not any(block.life_seconds for block in blocks_of(HEAD, rows, 0.0))
