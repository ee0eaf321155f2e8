"""The laws, for each strategy alone, for the ladder, and for lists that are fed back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import WRITERS, stories
from trimtab import CharTokenCounter, Limits, Message, Policy, Text, ToolCall
from trimtab.boundaries import Boundaries, is_made, protected_pieces
from trimtab.compaction import CompactionConfig, DefaultCompaction, compact_messages
from trimtab.constraints import UNCONSTRAINED
from trimtab.ladder import climb
from trimtab.plan import Edit, Plan, Replace, apply
from trimtab.policy import StrategyName
from trimtab.strategies.clip_newest import clip_newest
from trimtab.strategies.clip_tool_output import clip_tool_output
from trimtab.strategies.collapse_failures import collapse_failures
from trimtab.strategies.drop_middle import drop_middle
from trimtab.strategies.evict_superseded import evict_superseded
from trimtab.strategies.fold import fold
from trimtab.strategies.history import History
from trimtab.strategies.keep_within_budget import keep_within_budget
from trimtab.strategies.mask_old_results import mask_old_results
from trimtab.strategies.one_line_turns import one_line_turns
from trimtab.strategies.thin_old_results import thin_old_results
from trimtab.tokens import Measure
from trimtab.wire import read

Strategy = Callable[[History, int], Sequence[Edit]]


def told_in_lines(history: History, target: int) -> Sequence[Edit]:
    """Old turns in a line each, as edits."""
    return fold(history, set(), "why", stand_ins=one_line_turns(history, target))


def dropped_behind_lines(history: History, target: int) -> Sequence[Edit]:
    """The middle goes, behind what became lines."""
    return drop_middle(history, target, one_line_turns(history, target))


def kept_beside_lines(history: History, target: int) -> Sequence[Edit]:
    """What is protected stays, and what became lines as far as there is room."""
    return keep_within_budget(history, target, one_line_turns(history, target, keep_recent=0))


PASSES: dict[str, Strategy] = {
    "evict": evict_superseded,
    "collapse": collapse_failures,
    "thin": thin_old_results,
    "clip": clip_tool_output,
    "mask": mask_old_results,
}
"""What shortens results and removes no message."""

TIERS: dict[str, Strategy] = {
    "lines": told_in_lines,
    "middle": drop_middle,
    "middle behind lines": dropped_behind_lines,
    "budget": keep_within_budget,
    "budget beside lines": kept_beside_lines,
}
"""What removes messages."""

STRATEGIES = {**PASSES, **TIERS}

LEFT_BEHIND = 80
"""A marker and the made messages around it: what a removal may cost."""


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """A conversation in neutral messages."""
    story = draw(stories(max_rounds=6))
    return read(WRITERS["openai-chat"](story), "openai-chat").messages


def weigh(messages: Sequence[Message], policy: Policy) -> History:
    """Weigh a history by characters."""
    return History.weigh(messages, 0, Measure(CharTokenCounter()), policy)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Wishes for a head and a tail."""
    return Policy(
        limit_tokens=10**6,
        keep_first=draw(st.integers(0, 6)),
        keep_recent=draw(st.integers(0, 10)),
        tool_output_max_lines=draw(st.sampled_from([1, 5, 200])),
    )


def orphans(messages: Sequence[Message]) -> list[str]:
    """Calls without results behind them, and results without calls before them."""
    waiting: list[str] = []
    bad: list[str] = []
    for message in messages:
        for call_id in message.result_ids:
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                bad.append(call_id)
        waiting += message.call_ids
    return sorted(bad + waiting)


def protected_words(messages: Sequence[Message]) -> list[str]:
    """The words of the user and of the system that must stay."""
    boundaries = Boundaries(messages)
    places = {
        boundaries.pieces[place].ref.message
        for place in protected_pieces(messages, boundaries, UNCONSTRAINED)
    }
    return [messages[p].text for p in sorted(places) if messages[p].role in ("system", "user")]


def assert_valid(
    before: Sequence[Message], after: Sequence[Message], *, is_tight: bool = False
) -> None:
    """Pairs are whole, protected words are there in order, roles alternate where they did.

    In a tight place the messages that keep roles alternating are left out.
    """
    assert orphans(after) == orphans(before)
    texts = [message.text for message in after]
    place = 0
    for words in protected_words(before):
        place = next(n for n in range(place, len(texts)) if texts[n].startswith(words)) + 1
    if alternates(before) and not is_tight:
        assert alternates(after)


def alternates(messages: Sequence[Message]) -> bool:
    """Whether no user follows a user and no assistant an assistant."""
    roles = [message.role for message in messages if message.role not in ("system", "developer")]
    return not any(a == b != "tool" for a, b in pairwise(roles))


@pytest.mark.parametrize("name", STRATEGIES)
@settings(max_examples=25)
@given(messages=histories(), policy=policies(), share=st.floats(0, 1))
def test_each_strategy_leaves_a_valid_conversation(
    name: str, messages: tuple[Message, ...], policy: Policy, share: float
) -> None:
    """Whatever the target, and it never adds more than a marker and what keeps roles apart."""
    history = weigh(messages, policy)
    edits = tuple(STRATEGIES[name](history, int(history.total_tokens * share)))

    after = [slot.message for slot in apply(Plan(edits), messages)]

    assert_valid(messages, after)
    assert history.tokens_under(Plan(edits)) <= history.total_tokens + LEFT_BEHIND


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=25)
@given(messages=histories(), policy=policies(), share=st.floats(0, 1))
def test_a_pass_only_shortens_results_and_is_done_after_once(
    name: str, messages: tuple[Message, ...], policy: Policy, share: float
) -> None:
    """Each edit saves, ids and flags stay, and the second time there is nothing to do."""
    history = weigh(messages, policy)
    target = int(history.total_tokens * share)
    edits = PASSES[name](history, target)

    for edit in edits:
        assert isinstance(edit, Replace)
        old = messages[edit.message].parts[edit.part]
        assert type(old) is type(edit.new)
        assert getattr(old, "call_id", "") == getattr(edit.new, "call_id", "")
        assert getattr(old, "is_error", False) == getattr(edit.new, "is_error", False)
        assert history.measure.part(edit.new) < history.measure.part(old)
    assert tuple(PASSES[name](history.after(edits), target)) == ()


@settings(max_examples=25)
@given(messages=histories(), excess=st.integers(1, 5_000))
def test_clipping_the_newest_results_leaves_a_valid_conversation(
    messages: tuple[Message, ...], excess: int
) -> None:
    """It changes nothing but the texts of results."""
    history = weigh(messages, Policy(limit_tokens=10**6))
    edits = clip_newest(history, excess)

    after = [slot.message for slot in apply(Plan(edits), messages)]

    assert_valid(messages, after)
    assert [message.role for message in after] == [message.role for message in messages]


@pytest.mark.parametrize("strategy", get_args(StrategyName))
@settings(max_examples=25)
@given(messages=histories(), policy=policies(), limit=st.sampled_from([60, 200, 600, 2_000, 8_000]))
def test_the_ladder_fits_or_tells_the_smallest(
    strategy: StrategyName, messages: tuple[Message, ...], policy: Policy, limit: int
) -> None:
    """In composition: valid, within the limit where anything is, and told truly."""
    policy = Policy(
        limit_tokens=10**6,
        keep_first=policy.keep_first,
        keep_recent=policy.keep_recent,
        strategy=strategy,
    )
    history = weigh(messages, policy)

    climbed = climb(history, Limits(limit, limit, max(1, limit * 2 // 5)))

    after = [slot.message for slot in apply(climbed.plan, messages)]
    assert_valid(messages, after, is_tight=limit <= 200)
    assert climbed.tokens == history.tokens_under(climbed.plan) <= history.total_tokens
    assert climbed.smallest_tokens <= climbed.tokens
    if climbed.tokens > limit and strategy != "none":
        assert climbed.smallest_tokens > limit


@settings(max_examples=60)
@given(
    messages=histories(),
    budget=st.sampled_from([60, 200, 600, 2_000]),
    first=st.integers(0, 6),
    recent=st.integers(0, 10),
)
def test_compacting_twice_is_compacting_once(
    messages: tuple[Message, ...], budget: int, first: int, recent: int
) -> None:
    """Its own result comes back as the same object, fitting or not."""
    config = CompactionConfig(
        max_context_tokens=budget,
        system_prompt_tokens=0,
        keep_first=first,
        keep_recent=recent,
        counter=CharTokenCounter(),
    )
    given_list = list(messages)
    strategy = DefaultCompaction()

    once = strategy.compact(given_list, config)

    assert compact_messages(once, config) is once
    assert given_list == list(messages)
    assert_valid(messages, once, is_tight=budget <= 200)
    assert strategy.last is not None
    outcome = strategy.last.outcome
    assert outcome.fits or outcome.needed_tokens > outcome.limit_tokens
    if outcome.status == "untouched":
        assert once is given_list


@settings(max_examples=15)
@given(messages=histories(), budget=st.sampled_from([300, 900, 2_500]))
def test_fed_back_message_by_message_it_stays_valid_and_has_one_marker(
    messages: tuple[Message, ...], budget: int
) -> None:
    """Also where the list goes through JSON on the way and forgets what we made."""
    config = CompactionConfig(
        max_context_tokens=budget,
        system_prompt_tokens=0,
        keep_recent=3,
        counter=CharTokenCounter(),
    )
    kept: list[Message] = []
    for place, message in enumerate(messages):
        kept.append(message)
        if message.role == "assistant" and message.call_ids:
            continue  # an agent asks when the results are there
        if place + 1 < len(messages) and messages[place + 1].role == "tool":
            continue
        kept = [forgotten(m) for m in compact_messages(kept, config)]
        assert orphans(kept) == []
        assert sum(is_made(m) and m.role == "user" for m in kept) <= 1 + len(
            [m for m in kept if m.text.endswith("goes on]")]
        )


def forgotten(message: Message) -> Message:
    """A message as it comes back from a store that keeps roles and parts alone."""
    return message if message.origin is None else Message(message.role, message.parts)


# --------------------------------------------------------------- planted faults


def forgets_results(history: History, target: int) -> Sequence[Edit]:
    """A fault: results go, their calls stay."""
    del target
    return fold(
        history, {p for p, piece in enumerate(history.boundaries.pieces) if piece.is_result}, ""
    )


def forgets_the_user(history: History, target: int) -> Sequence[Edit]:
    """A fault: the newest words go."""
    del target
    pieces = history.boundaries.pieces
    words = [
        p for p, piece in enumerate(pieces) if history.messages[piece.ref.message].role == "user"
    ]
    return fold(history, {words[-1]}, "")


@pytest.mark.parametrize("fault", [forgets_results, forgets_the_user])
def test_a_planted_fault_is_found(fault: Strategy) -> None:
    """The laws can fail."""
    messages = [
        Message.system("rules"),
        Message.user("first"),
        Message.assistant(ToolCall("a", "look", "{}")),
        Message.tool("a", "r" * 400),
        Message.assistant("so"),
        Message.user("then this"),
        Message.assistant(Text("done")),
    ]
    history = weigh(messages, Policy(limit_tokens=10**6))
    after = [slot.message for slot in apply(Plan(tuple(fault(history, 1))), messages)]

    with pytest.raises((AssertionError, StopIteration)):
        assert_valid(messages, after)
