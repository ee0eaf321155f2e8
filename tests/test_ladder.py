"""Strategies are climbed one after the other until the target is met."""

from __future__ import annotations

import pytest

from tests.strategies.builders import answer, call, lines, weigh
from trimtab import Constraints, Fold, Limits, Message, Replace
from trimtab.constraints import Concern
from trimtab.ladder import Climb, climb
from trimtab.plan import EMPTY_PLAN
from trimtab.strategies.history import History


def session(*, constraints: Constraints | None = None) -> History:
    """Three exchanges of 400 lines each, and a word from the user at the end."""
    messages = [Message.user("go")]
    for name in "abc":
        messages += [call(name), answer(name, lines(400))]
    messages += [Message.assistant("done"), Message.user("now")]
    return weigh(messages, constraints=constraints or Constraints(), keep_recent=2, keep_first=1)


def kinds(climbed: Climb) -> set[str]:
    """Which kinds of edits a plan has."""
    return {type(edit).__name__ for edit in climbed.plan}


def test_what_clipping_can_do_is_not_dropped() -> None:
    """Where clipped outputs meet the target, no message goes."""
    history = session()
    target = history.total_tokens - 300

    climbed = climb(history, Limits(target, target, target))

    assert kinds(climbed) == {"Replace"}
    assert climbed.tokens <= target


def test_what_clipping_cannot_do_is_dropped_from_the_middle() -> None:
    """The middle goes, and a clip of what goes is left out of the plan."""
    history = session()

    climbed = climb(history, Limits(1_600, 1_600, 1_600))

    gone = {ref.message for edit in climbed.plan if isinstance(edit, Fold) for ref in edit.removed}
    clipped = {edit.message for edit in climbed.plan if isinstance(edit, Replace)}
    assert gone
    assert not gone & clipped
    assert climbed.tokens == history.tokens_under(climbed.plan) <= 1_600


def test_the_newest_results_give_way_last() -> None:
    """Only a limit that nothing else can keep makes the newest results shorter."""
    messages = [Message.user("go"), call("a"), answer("a", lines(4_000))]
    history = weigh(messages)

    fits = climb(history, Limits(history.total_tokens, 10, 10))
    clipped = climb(history, Limits(500, 500, 200))

    assert fits == Climb(EMPTY_PLAN, history.total_tokens, history.total_tokens)
    assert kinds(clipped) == {"Replace"}
    assert clipped.tokens <= 500


def test_an_answered_exchange_goes_when_its_results_cannot_be_small_enough() -> None:
    """Where the user has spoken since, the newest exchange is the last to go."""
    messages = [Message.user("go"), call("a" * 400), answer("a" * 400, "x"), Message.user("now")]
    history = weigh([*messages[:2], messages[2], Message.assistant("y" * 4_000), messages[3]])

    climbed = climb(history, Limits(60, 60, 60))

    assert climbed.tokens <= 60


def test_what_cannot_fit_comes_out_as_small_as_it_can_be() -> None:
    """The plan is the smallest, and the figure tells it."""
    history = session()

    climbed = climb(history, Limits(5, 5, 5))

    assert 5 < climbed.tokens < 120
    assert climbed.tokens == history.tokens_under(climbed.plan)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        (["clearing"], {"Fold", "Keep"}),
        (["compaction"], {"Replace"}),
        (["clearing", "compaction"], set()),
    ],
)
def test_what_the_client_leaves_to_the_provider_is_left_alone(
    left: list[Concern], expected: set[str]
) -> None:
    """Clearing switches clipping off, compaction the dropping of messages."""
    history = session(constraints=Constraints(left_to_client=frozenset(left)))

    climbed = climb(history, Limits(300, 300, 300))

    assert kinds(climbed) <= expected | {"Keep"}
    assert kinds(climbed) >= expected - {"Keep"}
    if climbed.tokens > 300:
        told = " and ".join(sorted(left))
        assert climbed.forbidden == f"the client leaves {told} to the provider"


def test_a_history_on_the_server_is_not_touched() -> None:
    """Where part of it lies elsewhere, there is no plan, and the reason is told."""
    history = session(constraints=Constraints(hands_off="it lies on the server"))

    assert climb(history, Limits(5, 5, 5)) == Climb(
        EMPTY_PLAN, history.total_tokens, history.total_tokens, "it lies on the server"
    )
