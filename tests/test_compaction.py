"""Lists that are written back: within the budget untouched, over it down to the target."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from trimtab import (
    CharTokenCounter,
    Message,
    Policy,
    PolicyError,
    RequestError,
    Text,
    TokenCountError,
    ToolCall,
    ToolResult,
)
from trimtab.boundaries import MARKER
from trimtab.compaction import CompactionConfig, DefaultCompaction, compact_messages
from trimtab.messages import Role
from trimtab.plan import apply
from trimtab.strategies.excerpt import clip_lines


def config(max_context_tokens: int, keep_first: int = 1, **settings: Any) -> CompactionConfig:
    """Room for some tokens of messages alone, counted by characters."""
    given = {"keep_recent": 2, "counter": CharTokenCounter(), **settings}
    return CompactionConfig(
        max_context_tokens=max_context_tokens,
        system_prompt_tokens=0,
        keep_first=keep_first,
        **given,
    )


def pair(number: int, letters: int = 400) -> list[Message]:
    """A user's words and an answer."""
    return [
        Message.user(f"user message {number}: " + "u" * letters),
        Message.assistant(f"assistant reply {number}: " + "a" * letters),
    ]


def tool_turn(number: int, lines: int = 400) -> list[Message]:
    """A command, its call, and a result of some lines."""
    text = "\n".join(f"line {line} of {number}" for line in range(lines))
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": f"run {number}"}))
    return [
        Message.user(f"run command {number}"),
        Message.assistant(call),
        Message.tool(f"c{number}", text),
    ]


def parallel_turn(number: int, calls: int = 2) -> list[Message]:
    """Some calls at once, and their results."""
    ids = [f"p{number}.{call}" for call in range(calls)]
    asked = [ToolCall(call_id, "look", json.dumps({"at": call_id})) for call_id in ids]
    results = [Message.tool(call_id, f"{call_id} " + "r" * 300) for call_id in ids]
    return [Message.user(f"do {number}"), Message.assistant(*asked), *results]


TURNS: dict[str, Callable[[int], list[Message]]] = {
    "pairs": pair,
    "tools": tool_turn,
    "parallel": parallel_turn,
}


def talk(kind: str, count: int) -> list[Message]:
    """Some turns of one kind."""
    return [message for number in range(count) for message in TURNS[kind](number)]


def weight(messages: Sequence[Message], settings: CompactionConfig) -> int:
    """What a list weighs."""
    return sum(map(settings.measure.message, messages))


def orphans(messages: Sequence[Message]) -> list[str]:
    """Calls without results and results without calls, in the order in which they must stand."""
    waiting: list[str] = []
    bad: list[str] = []
    for message in messages:
        if message.role == "assistant":
            waiting += message.call_ids
        for call_id in message.result_ids:
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                bad.append(call_id)
    return bad + waiting


# ------------------------------------------------------------------ untouched


@pytest.mark.parametrize("compact", [compact_messages, DefaultCompaction().compact])
def test_within_the_budget_the_very_same_list_comes_back(compact: Callable[..., Any]) -> None:
    """Identity is what a loop and a cache can rely on."""
    messages = [message for number in range(3) for message in pair(number, 50)]

    assert compact(messages, config(1_000_000)) is messages


@pytest.mark.parametrize("compact", [compact_messages, DefaultCompaction().compact])
def test_exactly_the_budget_is_within_it_and_one_more_is_not(compact: Callable[..., Any]) -> None:
    """The budget may be used up."""
    messages = talk("pairs", 30)
    total = weight(messages, config(10))

    assert compact(messages, config(total)) is messages
    assert weight(compact(messages, config(total - 1)), config(10)) <= total * 0.4


@pytest.mark.parametrize("messages", [[], [Message.user("a")], [Message.system("s" * 400)]])
def test_what_cannot_be_made_smaller_comes_back_as_it_is(messages: list[Message]) -> None:
    """Nothing, one message, or nothing but what is protected."""
    strategy = DefaultCompaction()

    assert strategy.compact(messages, config(1)) is messages
    assert strategy.last is not None
    expected = "unsatisfiable" if messages else "untouched"
    assert strategy.last.outcome.status == expected


def test_what_is_too_large_says_by_how_much() -> None:
    """The newest words alone are larger than the budget."""
    messages = [*pair(0), Message.user("x" * 4_000)]
    strategy = DefaultCompaction()

    kept = strategy.compact(messages, config(200))

    assert strategy.last is not None
    outcome = strategy.last.outcome
    assert (outcome.status, outcome.limit_tokens) == ("unsatisfiable", 200)
    assert 1_000 < outcome.needed_tokens <= outcome.tokens_after == weight(kept, config(1))
    assert outcome.reason == "what is protected alone is larger than the budget"


# ----------------------------------------------------------------- boundaries


GRID = [
    (budget, first, recent, kind)
    for budget, first, recent in itertools.product(
        (500, 2_000, 20_000), (0, 1, 3, 6), (0, 2, 5, 10)
    )
    for kind in TURNS
]


@pytest.mark.parametrize("kind", TURNS)
@pytest.mark.parametrize("budget", [500, 2_000, 20_000])
def test_it_fits_or_says_why_and_parts_no_call_from_its_result(budget: int, kind: str) -> None:
    """Whatever the head and the tail that are wished for; and its own result comes back."""
    messages = talk(kind, 30)
    for first, recent in itertools.product((0, 1, 3, 6), (0, 2, 5, 10)):
        settings = config(budget, first, keep_recent=recent)
        strategy = DefaultCompaction()

        kept = strategy.compact(messages, settings)

        assert strategy.last is not None
        outcome = strategy.last.outcome
        assert outcome.tokens_after == weight(kept, settings)
        assert outcome.fits or outcome.status == "unsatisfiable"
        assert orphans(kept) == []
        assert compact_messages(kept, settings) is kept


@pytest.mark.parametrize("kind", TURNS)
def test_fed_back_for_sixty_turns_it_never_passes_the_budget(kind: str) -> None:
    """What is returned is what goes on."""
    settings = config(2_000)
    messages: list[Message] = []
    for number in range(60):
        messages = compact_messages([*messages, *TURNS[kind](number)], settings)

        assert weight(messages, settings) <= 2_000
        assert orphans(messages) == []
        assert sum(message.text.count(MARKER) for message in messages) <= 1
        assert messages[0].text.startswith(TURNS[kind](0)[0].text)


def test_a_cut_inside_the_results_of_one_exchange_moves_out_of_it() -> None:
    """Three and five results: all or none."""
    for calls in (3, 5):
        turns = [parallel_turn(number, calls) for number in range(20)]
        messages = [message for turn in turns for message in turn]
        for recent in range(len(turns[0]) + 1):
            assert orphans(compact_messages(messages, config(1_500, keep_recent=recent))) == []


def test_the_result_is_the_same_in_another_process() -> None:
    """It hangs on nothing but its input: not on the order of sets, not on the clock."""
    program = (
        "from dataclasses import astuple\n"
        "from tests.test_compaction import *\n"
        "kept = compact_messages(talk('tools', 30), config(1500))\n"
        "print([(m.role, [astuple(p) for p in m.parts]) for m in kept])\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("0", "1", "77")
    }

    assert len(answers) == 1
    assert "run command" in answers.pop()


# ---------------------------------------------------------------------- clips


def test_four_hundred_lines_become_exactly_two_hundred() -> None:
    """Twice is once."""
    text = "\n".join(f"line {number}" for number in range(400))

    clipped = clip_lines(text, 200)

    assert len(clipped.split("\n")) == 200
    assert clip_lines(clipped, 200) == clipped


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_up_to_four_lines_only_the_first_stay(limit: int) -> None:
    """There is no room for a marker."""
    text = "\n".join(f"line {number}" for number in range(400))

    assert clip_lines(text, limit) == "\n".join(f"line {number}" for number in range(limit))


def test_what_was_clipped_is_not_clipped_again() -> None:
    """Each result of a compacted list is as short as it will be."""
    kept = compact_messages(talk("tools", 30), config(3_000))

    results = [part for m in kept for part in m.parts if isinstance(part, ToolResult)]
    assert results
    assert all(clip_lines(result.text, 200) == result.text for result in results[:-1])


# ------------------------------------------------------------------- the plan


def test_the_plan_makes_the_list_that_is_returned() -> None:
    """Whoever keeps the whole history can make the view again, and explain it."""
    messages = talk("tools", 30)
    strategy = DefaultCompaction()

    kept = strategy.compact(messages, config(2_000))

    assert strategy.last is not None
    assert [slot.message for slot in apply(strategy.last.plan, messages)] == kept
    assert all(edit.reason for edit in strategy.last.plan)


def test_untouched_messages_are_the_same_objects_and_the_input_stays() -> None:
    """Nothing is copied, nothing is changed in place."""
    messages = talk("pairs", 30)
    before = list(messages)

    kept = compact_messages(messages, config(2_000))

    assert messages == before
    assert kept[-1] is messages[-1]
    assert kept[-2] is messages[-2]


# -------------------------------------------------------------------- growth


def test_a_conversation_that_grows_fast_comes_down_further() -> None:
    """Thirty turns of growth should fit, as far as the least ratio goes."""
    settings = config(10_000)

    assert settings.limits(10_000).target_tokens == 4_000
    assert settings.limits(10_000, growth_tokens=100).target_tokens == 4_000
    assert settings.limits(10_000, growth_tokens=220).target_tokens == 3_400
    assert settings.limits(10_000, growth_tokens=1_000).target_tokens == 3_000
    assert settings.limits(10_000, growth_tokens=math.nan).target_tokens == 4_000
    assert settings.limits(10_000, growth_tokens=-5).target_tokens == 4_000


def test_growth_is_learned_from_what_is_fed_back() -> None:
    """A list that goes on from what was returned tells by how much a turn grows."""
    settings = config(3_000, keep_recent=0, ledger=False)
    strategy = DefaultCompaction()
    messages = strategy.compact(talk("pairs", 2), settings)
    while strategy.last is not None and not strategy.last.plan:
        messages = strategy.compact([*messages, *pair(len(messages))], settings)

    assert strategy.last is not None
    assert 700 < strategy.last.outcome.tokens_after <= 900  # 0.3 of the budget, not 0.4


def test_no_headroom_is_no_growth() -> None:
    """Without it the ratio is the ratio."""
    settings = config(10_000, headroom_turns=None)

    assert settings.limits(10_000, growth_tokens=1_000).target_tokens == 4_000


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("ratio", "target"),
    [(0.0, 50), (-1.0, 50), (0.5, 500), (2.0, 1_000), (math.nan, 1_000), (math.inf, 1_000)],
)
def test_a_ratio_out_of_range_takes_the_documented_value(ratio: float, target: int) -> None:
    """0.05 to 1.0, and 1.0 for what is no number."""
    assert config(1_000, target_ratio=ratio).limits(1_000).target_tokens == target


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_context_tokens": 0}, "max_context_tokens"),
        ({"max_context_tokens": -5}, "max_context_tokens"),
        ({"max_context_tokens": 4_000}, "system_prompt_tokens"),
        ({"system_prompt_tokens": -1}, "system_prompt_tokens"),
        ({"headroom_turns": 0}, "headroom_turns"),
        ({"least_ratio": 0.0}, "least_ratio"),
        ({"least_ratio": 1.5}, "least_ratio"),
        ({"least_ratio": math.nan}, "least_ratio"),
        ({"keep_first": -1}, "keep_first"),
        ({"keep_recent": -1}, "keep_recent"),
        ({"tool_output_max_lines": 0}, "tool_output_max_lines"),
        ({"tool_lines": {"read": -1}}, "tool_lines"),
        ({"tools": {"read": "eat"}}, "tools"),
        ({"max_context_tokens": math.nan}, "max_context_tokens"),
        ({"max_context_tokens": "10"}, "max_context_tokens"),
        ({"system_prompt_tokens": None}, "system_prompt_tokens"),
        ({"keep_first": 1.5}, "keep_first"),
        ({"target_ratio": "0.4"}, "target_ratio"),
        ({"tool_lines": None}, "tool_lines"),
        ({"tools": None}, "tools"),
        ({"protect": 3}, "protect"),
        ({"is_error": 1}, "is_error"),
        ({"counter": "gpt-5.2"}, "counter is 'gpt-5.2'"),
        ({"counter": [1]}, "counter"),
    ],
)
def test_a_setting_that_cannot_hold_is_named(settings: dict[str, Any], named: str) -> None:
    """Before anything is compacted."""
    with pytest.raises(PolicyError, match=named):
        CompactionConfig(**settings)


@pytest.mark.parametrize("used", [-1, 1.5, math.nan, True, "7"])
def test_charges_that_are_no_counts_are_refused(used: Any) -> None:
    """What was charged is a whole number."""
    with pytest.raises(PolicyError, match="used"):
        DefaultCompaction().compact([], config(10), used=used)


@pytest.mark.parametrize("messages", [None, (), iter(()), "hi", {}])
def test_what_is_no_list_is_refused(messages: Any) -> None:
    """An iterator would be used up, and the conversation with it."""
    with pytest.raises(RequestError, match="not a list"):
        compact_messages(messages, config(10))


@pytest.mark.parametrize("settings", [{}, Policy()])
def test_a_config_of_another_kind_is_refused(settings: Any) -> None:
    """A policy is for sessions."""
    with pytest.raises(PolicyError, match="it must be a CompactionConfig"):
        compact_messages([], settings)


def test_arguments_that_are_an_object_are_told() -> None:
    """A call's arguments are JSON text, so that they keep their digits."""
    call: Any = ToolCall("a", "read", {"path": "x"})  # type: ignore[arg-type]  # the mistake

    with pytest.raises(TokenCountError, match="JSON text"):
        compact_messages([Message.user("a"), Message.assistant(call)], config(1))


def test_what_is_no_message_is_named_by_its_place() -> None:
    """A dict of an SDK is the usual one."""
    messages: list[Any] = [Message.user("a"), {"role": "user", "content": "b"}]

    with pytest.raises(RequestError, match=r"message 1 is a dict, not a trimtab\.Message"):
        compact_messages(messages, config(10))


class Failing:
    """A counter that fails in some way."""

    name = "failing"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def count(self, text: str) -> int:
        """Fail."""
        if isinstance(self._answer, Exception):
            raise self._answer
        value: int = self._answer
        return value if text else 0


@pytest.mark.parametrize("answer", [ValueError("no"), -1, None, "7", 1.5, math.nan, True])
def test_a_counter_that_fails_or_talks_nonsense_is_told(answer: Any) -> None:
    """Nothing falls back in silence, and the list is as it was."""
    messages = talk("pairs", 3)
    before = list(messages)

    with pytest.raises(TokenCountError):
        compact_messages(messages, config(10, counter=Failing(answer)))
    assert messages == before


def test_arguments_that_are_no_json_do_not_matter() -> None:
    """They are told in a line as they are."""
    broken = [
        message
        for number in range(20)
        for message in (
            Message.user(f"go {number}"),
            Message.assistant(ToolCall(f"b{number}", "bash", '{"command": "un' + "x" * 200)),
            Message.tool(f"b{number}", "r" * 400),
        )
    ]

    kept = compact_messages(broken, config(1_000))

    assert orphans(kept) == []
    assert weight(kept, config(1)) <= 1_000


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_in_the_list_needs_no_reserve(role: Role) -> None:
    """It is counted, so nothing is kept free for it."""
    settings = CompactionConfig(max_context_tokens=5_000, counter=CharTokenCounter())
    system = Message(role, [Text("be brief")])
    messages = [*talk("pairs", 12)]  # about 2,600 tokens

    assert compact_messages([system, *messages], settings)[0] is system
    assert len(compact_messages([system, *messages], settings)) == len(messages) + 1
    assert len(compact_messages(messages, settings)) < len(messages)


def test_what_the_provider_charged_decides() -> None:
    """What it charges on top of the count is not for messages; the reserve is in it."""
    messages = talk("pairs", 10)
    total = weight(messages, config(1))
    strategy = DefaultCompaction()
    settings = CompactionConfig(
        max_context_tokens=total + 500, system_prompt_tokens=500, counter=CharTokenCounter()
    )

    assert strategy.compact(messages, settings, used=total + 500) is messages
    assert strategy.compact(messages, settings, used=total // 2) is messages
    kept = strategy.compact(messages, settings, used=total + 501)

    assert strategy.last is not None
    assert strategy.last.outcome.limit_tokens == total - 1
    assert weight(kept, settings) <= (total - 1) * 0.4


def test_rules_are_not_lost_to_a_later_compaction() -> None:
    """The marker stands for all that went before, so the ledger may be as large as that allows."""
    rules = [
        f"Never touch the folder {name}."
        for name in ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen"]
    ]
    settings = config(6_000, keep_recent=10)
    messages: list[Message] = [Message.user("Let us begin.")]
    for number in range(300):
        said = rules[number // 3] if number % 3 == 0 and number < 24 else f"go on with {number}"
        step = tool_turn(number, lines=20)[1:]
        messages = compact_messages([*messages, Message.user(said), *step], settings)

    told = " ".join(message.text for message in messages)
    assert [rule for rule in rules if rule not in told] == []


def test_the_window_of_a_known_model_is_the_default() -> None:
    """0.8 of it; what was said comes first, and 100,000 is the last resort."""
    assert CompactionConfig(model="claude-sonnet-4-5").context_tokens == 160_000
    assert CompactionConfig(model="nobody-knows").context_tokens == 100_000
    assert CompactionConfig().context_tokens == 100_000
    assert CompactionConfig(model="claude-sonnet-4-5", max_context_tokens=9_000).budget_tokens == (
        5_000
    )


def test_representations_show_no_words() -> None:
    """They end up in logs."""
    strategy = DefaultCompaction()
    strategy.compact(talk("pairs", 30), config(2_000))

    for thing in (strategy, config(10), strategy.last):
        assert "user message" not in repr(thing)
