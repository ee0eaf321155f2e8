"""Strategies are climbed one after the other until the target is met."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.strategies.builders import answer, call, lines, weigh
from trimtab import Constraints, Fold, Limits, Message, Replace
from trimtab.boundaries import MARKER
from trimtab.constraints import Concern
from trimtab.ladder import Climb, climb
from trimtab.plan import EMPTY_PLAN, apply
from trimtab.policy import StrategyName
from trimtab.strategies.history import History
from trimtab.strategies.one_line_turns import ONE_LINE


def session(*, constraints: Constraints | None = None, name: str = "look") -> History:
    """Three exchanges of 400 lines each, and a word from the user at the end."""
    messages = [Message.user("go")]
    for call_id in "abc":
        messages += [call(call_id, name), answer(call_id, lines(400))]
    messages += [Message.assistant("done"), Message.user("now")]
    return weigh(messages, constraints=constraints or Constraints(), keep_recent=2, keep_first=1)


def long_talk(rule: str = "") -> History:
    """A user who says more than the assistant, and results of some lines."""
    messages = [Message.user("go")]
    for number in range(20):
        words = f"{rule if number == 3 else ''}Look at {number}. " + "It matters to me. " * 20
        results = [call(f"c{number}"), answer(f"c{number}", lines(30))]
        messages += [*results, Message.assistant(f"done {number}"), Message.user(words)]
    return weigh([*messages, call("now"), answer("now", "ok")], keep_recent=2, keep_first=1)


def marker_of(climbed: Climb) -> str:
    """The text of the one marker of a plan."""
    [marker] = [
        edit.message.text
        for edit in climbed.plan
        if isinstance(edit, Fold)
        and edit.message.origin == "marker"
        and edit.message.role == "user"
    ]
    return marker


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


def test_what_the_passes_cannot_do_is_told_in_lines() -> None:
    """Old turns become a line each, under a marker; no word of the user's goes."""
    history = session(name="bash")

    climbed = climb(history, Limits(980, 980, 980))

    view = [slot.message for slot in apply(climbed.plan, history.messages)]
    roles = ["user", "assistant", "user", "assistant", "tool", "assistant", "user"]
    assert [message.role for message in view] == roles
    assert view[0].text.startswith(f"go\n{MARKER}")
    assert view[1].text.startswith(ONE_LINE)
    assert climbed.tokens == history.tokens_under(climbed.plan) <= 980


def test_what_lines_cannot_do_is_dropped_from_the_middle() -> None:
    """The middle goes, and what was shortened of what goes is left out of the plan."""
    history = long_talk()

    climbed = climb(history, Limits(1_600, 1_600, 1_600))

    gone = {ref.message for edit in climbed.plan if isinstance(edit, Fold) for ref in edit.removed}
    shorter = {edit.message for edit in climbed.plan if isinstance(edit, Replace)}
    assert gone
    assert not gone & shorter
    assert climbed.tokens == history.tokens_under(climbed.plan) <= 1_600


def test_the_marker_tells_what_went_as_far_as_there_is_room() -> None:
    """A ledger takes at most a fourth of the target, and the target holds."""
    history = long_talk(rule="Never touch ./secrets. ")

    with_ledger = climb(history, Limits(2_000, 2_000, 2_000))
    bare = climb(
        replace(history, policy=replace(history.policy, ledger=False)), Limits(2_000, 2_000, 2_000)
    )

    told, untold = (marker_of(climbed) for climbed in (with_ledger, bare))
    assert untold == MARKER
    assert told.startswith(f"{MARKER}\n\n")
    assert "Never touch ./secrets." in told
    assert history.measure.text(told) <= history.measure.text(MARKER) + 500 + 2
    assert with_ledger.tokens <= 2_000
    assert bare.tokens <= 2_000


@pytest.mark.parametrize("strategy", ["sliding", "sticky", "mask"])
def test_simple_policies_come_down_and_leave_no_ledger(strategy: StrategyName) -> None:
    """They are what others do, to be compared with."""
    history = long_talk()
    history = replace(history, policy=replace(history.policy, strategy=strategy))

    climbed = climb(history, Limits(2_000, 2_000, 1_000))

    assert climbed.tokens <= 1_000
    assert marker_of(climbed) == MARKER
    assert any(isinstance(edit, Replace) for edit in climbed.plan) is (strategy == "mask")


def test_masks_alone_are_enough_where_they_are() -> None:
    """No message goes where old results are all that must."""
    history = session()
    history = replace(history, policy=replace(history.policy, strategy="mask"))

    assert kinds(climb(history, Limits(2_000, 2_000, 2_000))) == {"Replace"}


def test_the_policy_none_changes_nothing() -> None:
    """And says so."""
    history = session()
    total = history.total_tokens
    history = replace(history, policy=replace(history.policy, strategy="none"))

    assert climb(history, Limits(5, 5, 5)) == Climb(
        EMPTY_PLAN, total, total, "the policy changes nothing"
    )


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
