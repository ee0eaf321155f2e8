"""What was asked of background summaries, check by check.

A loop always feeds back what it was given: a summary belongs to the list that
is returned, and most faults do not show with fresh lists.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.background.summarizers import (
    PARSER,
    Events,
    Scripted,
    briefings,
    drive,
    hanging,
    markers,
    saying,
    strategy,
)
from tests.test_compaction import (
    TURNS,
    config,
    orphans,
    pair,
    parallel_turn,
    talk,
    tool_turn,
    weight,
)
from trimtab import (
    DefaultCompaction,
    LlmCompaction,
    Media,
    Message,
    Summary,
    SummaryError,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from trimtab.background import Retry
from trimtab.events import (
    ContextCompacted,
    SettingClamped,
    SpanUnreachable,
    SummariesMissing,
    SummaryGivenUp,
)
from trimtab.strategies.excerpt import clip_lines

VERBOSE = "## Goal\n" + "verbose " * 500
"""About a thousand tokens."""

ROOMY: dict[str, Any] = {"target_ratio": 0.7, "headroom_turns": None}
"""A target that leaves enough of sixty messages in 2,000 tokens to sum up."""


def pairs(count: int, letters: int = 400) -> list[list[Message]]:
    """Turns of talk."""
    return [pair(number, letters) for number in range(count)]


# ------------------------------------------------------------ splicing


def test_a_loop_over_its_budget_goes_on_with_a_briefing() -> None:
    """0.1."""
    compaction, _ = strategy(saying(), trigger_ratio=0.1, retain_tail_tokens=200)

    run = drive(compaction, config(2_000), pairs(30))

    [briefing] = briefings(run.messages)
    assert briefing.origin == "summary"
    assert "Ship the parser" in briefing.text
    assert run.with_briefing >= 1
    assert run.peak <= 2_000


@pytest.mark.parametrize("make", [DefaultCompaction, lambda: LlmCompaction(saying())])
def test_within_the_budget_the_very_same_list_comes_back(make: Callable[[], Any]) -> None:
    """0.2, and exactly the budget is within it."""
    compaction = make()
    messages = [message for number in range(3) for message in pair(number, 50)]
    assert compaction.compact(messages, config(1_000_000)) is messages
    total = weight(messages, config(1))
    assert compaction.compact(messages, config(total)) is messages
    assert compaction.compact(messages, config(total - 1)) != messages


def test_under_the_trigger_nobody_is_asked() -> None:
    """0.2."""
    summarizer = saying()
    compaction, _ = strategy(summarizer)

    drive(compaction, config(1_000_000), [pair(number, 50) for number in range(3)])

    assert (summarizer.calls, compaction.state) == (0, "idle")


@pytest.mark.parametrize(
    ("given", "budget", "tail"),
    [(None, 2_000, 500), (None, 80_000, 20_000), (None, 400_000, 20_000), (7, 400_000, 7)],
)
def test_the_tail_is_a_fourth_of_the_budget_and_never_more_than_is_useful(
    given: int | None, budget: int, tail: int
) -> None:
    """0.6."""
    assert LlmCompaction(saying(), retain_tail_tokens=given).tail_tokens(budget) == tail


def test_the_defaults_splice() -> None:
    """0.6."""
    compaction, events = strategy(saying())

    run = drive(compaction, config(2_000), pairs(40))

    assert [event.method for event in events.compacted].count("summarized") >= 1
    assert run.peak <= 2_000


# ------------------------------------------------------------------ stale


def thinking_turn(number: int, signature: str = "s1") -> list[Message]:
    """A turn with reasoning, a call with arguments, and talk."""
    call = ToolCall(f"t{number}", "look", json.dumps({"at": f"place {number} " + "p" * 200}))
    return [
        Message.user(f"question {number} " + "q" * 200),
        Message.assistant(Thinking(f"hm {number}", opaque=signature), call),
        Message.tool(f"t{number}", f"found {number} " + "f" * 200),
        Message.assistant(f"answer {number} " + "a" * 200),
    ]


def thinking_talk() -> list[Message]:
    """Ten such turns."""
    return [message for number in range(10) for message in thinking_turn(number)]


def with_text(message: Message, text: str) -> Message:
    """The same message with another text."""
    return message.with_parts([Text(text)])


def first_replaced(messages: list[Message]) -> list[Message]:
    """Another first message."""
    return [Message.user("something else"), *messages[1:]]


def first_of_same_length(messages: list[Message]) -> list[Message]:
    """Another first message of the same length."""
    return [with_text(messages[0], "x" * len(messages[0].text)), *messages[1:]]


def last_of_span_changed(messages: list[Message], cut: int = 0) -> list[Message]:
    """One byte of the last message in front of the cut."""
    changed = with_text(messages[cut - 1], messages[cut - 1].text[:-1] + "!")
    return [*messages[: cut - 1], changed, *messages[cut:]]


def _with_parts_changed(messages: list[Message], change: Callable[[Any], Any]) -> list[Message]:
    changed = list(messages)
    changed[1] = changed[1].with_parts([change(part) for part in changed[1].parts])
    assert changed[1] != messages[1]
    return changed


def arguments_changed(messages: list[Message]) -> list[Message]:
    """Another argument of a call."""
    return _with_parts_changed(
        messages,
        lambda part: (
            ToolCall(part.id, part.name, part.arguments.replace("place", "plaza"))
            if isinstance(part, ToolCall)
            else part
        ),
    )


def signature_changed(messages: list[Message]) -> list[Message]:
    """Another signature of the same reasoning."""
    return _with_parts_changed(
        messages,
        lambda part: Thinking(part.text, opaque="s2") if isinstance(part, Thinking) else part,
    )


def cut_short(messages: list[Message]) -> list[Message]:
    """0.5: fewer messages than the summary stands for, and none of the rest."""
    return [*messages[:3], *talk("pairs", 12)[3:]]


CHANGES: dict[str, Callable[[list[Message]], list[Message]]] = {
    "another first message": first_replaced,
    "one of the same length": first_of_same_length,
    "an argument": arguments_changed,
    "a signature": signature_changed,
    "fewer messages": cut_short,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_summary_of_messages_that_have_changed_is_dropped_and_told(name: str) -> None:
    """0.3, 0.4, 0.5: the head counts, too."""
    compaction, events = strategy(saying(), retain_tail_tokens=200)
    settings = config(3_500, keep_first=2)

    async def loop() -> list[Message]:
        given = thinking_talk()
        assert compaction.compact(given, settings) is given
        assert await compaction.settled()
        return compaction.compact([*CHANGES[name](given), *thinking_talk()], settings)

    returned = asyncio.run(loop())

    assert briefings(returned) == []
    assert weight(returned, settings) <= 3_500
    [told] = events.given_up
    assert told.summary is not None
    assert (told.cause, told.summary.usage) == ("stale", Usage(fresh=900, output=60))


def test_one_byte_of_the_last_message_of_the_span_is_enough() -> None:
    """0.4."""
    compaction, events = strategy(saying(), trigger_ratio=0.1, retain_tail_tokens=200)

    async def loop() -> None:
        returned = compaction.compact(talk("pairs", 30), config(2_000, **ROOMY))
        assert await compaction.settled()
        span = compaction._progress.span
        assert span is not None
        compaction.compact(last_of_span_changed(returned, span.cut), config(2_000, **ROOMY))

    asyncio.run(loop())
    assert [told.cause for told in events.given_up] == ["stale"]


def test_the_pristine_list_is_not_the_one_that_was_returned() -> None:
    """0.3, as it is written: over the budget at once, then the first list again, changed."""
    compaction, events = strategy(saying(), trigger_ratio=0.1, retain_tail_tokens=200)
    settings = config(2_000, **ROOMY)

    async def loop() -> list[Message]:
        compaction.compact(talk("pairs", 30), settings)
        assert await compaction.settled()
        return compaction.compact(first_replaced(talk("pairs", 30)), settings)

    returned = asyncio.run(loop())

    assert briefings(returned) == []
    assert weight(returned, settings) <= 2_000
    assert [(told.cause, told.summary is not None) for told in events.given_up] == [("stale", True)]


# ------------------------------------------------------------- settings


def test_settings_that_leave_nothing_to_sum_up_are_told_once() -> None:
    """0.7: with the numbers, and what to change."""
    summarizer = saying()
    compaction, events = strategy(summarizer, trigger_ratio=0.1, retain_tail_tokens=10_000_000)

    messages, settings = talk("pairs", 30), config(2_000)
    for _ in range(103):
        returned = compaction.compact(messages, settings)
        assert briefings(returned) == []

    [told] = events.of(SpanUnreachable)
    assert (told.tail_tokens, told.budget_tokens) == (10_000_000, 2_000)
    assert "lower retain_tail_tokens" in told.reason
    assert (summarizer.calls, compaction.state) == (0, "idle")


def test_too_many_messages_to_keep_are_told_too() -> None:
    """The number of newest messages can leave nothing as well as their tokens."""
    compaction, events = strategy(saying(), trigger_ratio=0.1, retain_tail_tokens=0)

    compaction.compact(talk("pairs", 12), config(2_000, keep_recent=100))

    [told] = events.of(SpanUnreachable)
    assert told.keep_recent == 100
    assert "lower keep_recent" in told.reason


def test_a_short_conversation_spends_no_warning() -> None:
    """0.8: the warning can still come later."""
    summarizer = saying()
    compaction, events = strategy(summarizer, trigger_ratio=0.1, retain_tail_tokens=10_000_000)

    compaction.compact(pair(0), config(300))
    compaction.compact(pair(0), config(200))
    assert (events.of(SpanUnreachable), summarizer.calls) == ([], 0)

    compaction.compact(talk("pairs", 30), config(2_000))
    assert len(events.of(SpanUnreachable)) == 1


@pytest.mark.parametrize(
    ("setting", "given", "used"),
    [
        ("trigger_ratio", 0.01, 0.1),
        ("trigger_ratio", 2.0, 0.95),
        ("trigger_ratio", math.inf, 0.95),
        ("max_summary_tokens", 10, 256),
    ],
)
def test_what_is_out_of_range_is_clamped_and_told(setting: str, given: float, used: float) -> None:
    """0.22."""
    _, events = strategy(saying(), **{setting: given})

    assert list(events) == [SettingClamped(setting, given, used)]


def test_a_trigger_that_is_no_number_is_the_default() -> None:
    """0.22."""
    _, [told] = strategy(saying(), trigger_ratio=math.nan)

    assert isinstance(told, SettingClamped)
    assert (told.setting, told.used) == ("trigger_ratio", 0.6)


def test_the_room_for_a_summary_reaches_the_request() -> None:
    """0.22."""
    summarizer = saying()
    drive(strategy(summarizer)[0], config(2_000), pairs(10))

    assert {request.max_tokens for request in summarizer.requests} == {2_000}


# --------------------------------------------------------------------- events


def test_each_compaction_is_told_once_with_the_lengths_that_were_seen() -> None:
    """0.9: by rule at first, then with a summary, its span, usage and cost."""
    compaction, events = strategy(saying())
    start = talk("pairs", 30)

    run = drive(compaction, config(2_000), [[], *pairs(40)], start=start)

    told = events.compacted
    assert (told[0].method, told[0].summary) == ("deterministic", None)
    summed_up = [event for event in told if event.method == "summarized"]
    assert summed_up
    for event in summed_up:
        assert event.summary is not None
        assert event.summary.span_messages >= 4
        assert event.summary.usage == Usage(fresh=900, output=60)
        assert event.summary.cost is None
    assert all(event.tokens_after <= event.tokens_before for event in told)
    lengths = [len(messages) for messages in run.lists]
    given = [len(start), *(length + 2 for length in lengths[:-1])]
    seen = [(before, after) for before, after in zip(given, lengths, strict=True) if after < before]
    assert seen == [(event.messages_before, event.messages_after) for event in told]


def test_the_cost_is_that_of_the_answer() -> None:
    """0.9: with a priced model."""
    compaction, events = strategy(saying(cost=0.002))

    drive(compaction, config(2_000), pairs(12))

    [told] = events.compacted
    assert told.summary is not None
    assert told.summary.cost == 0.002
    assert compaction.totals.cost == 0.002


def test_a_listener_that_raises_changes_nothing() -> None:
    """0.9."""

    def raising(_: object) -> None:
        raise ValueError

    quiet, _ = strategy(saying())
    loud = LlmCompaction(saying(), on_event=raising)

    assert (
        drive(loud, config(2_000), pairs(30)).lists == drive(quiet, config(2_000), pairs(30)).lists
    )


# --------------------------------------------------------------- head


def test_the_head_stands_once_and_is_not_summed_up() -> None:
    """0.10."""
    summarizer = saying()
    compaction, events = strategy(summarizer, retain_tail_tokens=200)
    first = pair(0)[0]

    run = drive(compaction, config(2_000), pairs(30))

    assert events.compacted[0].method == "summarized"
    assert "user message 0:" not in summarizer.requests[0].prompt
    assert "user message 1:" in summarizer.requests[0].prompt
    assert run.messages[0] == first
    assert sum("user message 0:" in message.text for message in run.messages) == 1


def test_a_wish_that_changes_meanwhile_changes_nothing_under_way() -> None:
    """0.11: keep_first goes from 1 to 3 between request and splice."""
    compaction, events = strategy(saying(), retain_tail_tokens=200)

    async def loop() -> list[Message]:
        messages: list[Message] = []
        keep_first = 1
        for turn in itertools.count():
            messages = compaction.compact([*messages, *pair(turn)], config(2_000, keep_first))
            if events.compacted:
                return messages
            if await compaction.settled():
                keep_first = 3
        raise AssertionError

    messages = asyncio.run(loop())

    assert events.compacted[0].method == "summarized"
    texts = [message.text for message in messages if message.origin is None]
    assert texts[0] == pair(0)[0].text
    assert pair(0)[1].text not in texts
    assert len(set(texts)) == len(texts)


# ------------------------------------------------------------- tools


@pytest.mark.parametrize("summary", [PARSER, VERBOSE], ids=["short", "a thousand tokens"])
def test_clipped_results_stay_as_they_were_clipped(summary: str) -> None:
    """0.12: a result of 400 lines is clipped once, and no call loses its result."""
    compaction, events = strategy(
        saying(summary), trigger_ratio=0.1, retain_tail_tokens=200, min_gain=None
    )
    settings = config(2_000, target_ratio=1.0, headroom_turns=None)

    run = drive(compaction, settings, [tool_turn(number) for number in range(30)])

    assert run.peak <= 2_000
    assert [event.method for event in events.compacted].count("summarized") >= 1
    for messages in run.lists:
        assert orphans(messages) == []
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolResult):
                    once = clip_lines(part.text, 200)
                    assert clip_lines(once, 200) == once


@pytest.mark.parametrize("calls", [2, 3, 5])
@pytest.mark.parametrize("keep_first", range(1, 7))
def test_parallel_calls_keep_their_results(keep_first: int, calls: int) -> None:
    """0.17."""
    compaction, events = strategy(saying(), trigger_ratio=0.1, retain_tail_tokens=300)
    turns = [parallel_turn(number, calls) for number in range(30)]

    run = drive(compaction, config(2_000, keep_first), turns)

    assert [orphans(messages) for messages in run.lists] == [[]] * 30
    assert [event.method for event in events.compacted].count("summarized") >= 1


# -------------------------------------------------------- feeding back


@pytest.mark.parametrize("letters", [200, 800, 2_000])
def test_whoever_is_asked_is_used(letters: int) -> None:
    """0.13: a briefing in some round, or not a single request."""
    summarizer = saying()
    compaction, _ = strategy(summarizer, retain_tail_tokens=200)

    run = drive(compaction, config(2_000), pairs(25, letters))

    assert run.with_briefing or not summarizer.calls


def test_a_loop_that_starts_over_its_budget_recovers() -> None:
    """0.14: by rule at first, then with a briefing, the ledger on."""
    compaction, events = strategy(saying())

    run = drive(compaction, config(2_000), [[], *pairs(30)], start=talk("pairs", 30))

    assert events.compacted[0].method == "deterministic"
    assert run.with_briefing


@pytest.mark.parametrize("min_gain", [None, 0.2])
def test_a_tail_gives_way_to_a_briefing_that_was_paid_for(min_gain: float | None) -> None:
    """0.15: a thousand tokens of briefing in two thousand of budget."""
    summarizer = saying(VERBOSE)
    compaction, events = strategy(
        summarizer, trigger_ratio=0.1, retain_tail_tokens=200, min_gain=min_gain
    )

    run = drive(compaction, config(2_000), pairs(30))

    summed_up = [event for event in events.compacted if event.method == "summarized"]
    assert run.with_briefing
    assert summed_up
    assert all(event.tokens_after <= 2_000 for event in summed_up)
    assert run.peak <= 2_000
    unused = [told for told in events.given_up if told.cause == "too large"]
    # One for each success before it: a success forgets which size was too small.
    assert len(unused) <= (0 if min_gain is None else 2)


def test_a_briefing_that_cannot_fit_leaves_no_trace() -> None:
    """0.16: but what it cost is told."""
    compaction, events = strategy(saying("## Goal\n" + "endless " * 1_500), min_gain=None)

    run = drive(compaction, config(2_000), pairs(30))

    assert run.with_briefing == 0
    assert all("endless" not in message.text for message in run.messages)
    assert run.peak <= 2_000
    told = events.compacted[0]
    assert (told.method, told.summary) == (
        "deterministic",
        events.given_up[0].summary,
    )
    assert told.summary is not None
    assert (told.summary.span_messages, told.summary.usage) == (0, Usage(fresh=900, output=60))


# ------------------------------------------------------------- bad answers

BAD = {
    "cut at its length": {"stop_reason": "length"},
    "a refusal": {"stop_reason": "refusal"},
    "filtered": {"stop_reason": "content_filter"},
    "an error": {"stop_reason": "error"},
    "aborted": {"stop_reason": "aborted"},
    "stopped for a tool": {"stop_reason": "tool_use"},
    "a tool call": {"tool_calls": 1},
    "blank": {"text": ""},
    "white space": {"text": " \n\t "},
    "no reason, and blank": {"text": "", "stop_reason": ""},
    "refused in words": {"text": "I'm sorry, but I can't help with that."},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_refused_billed_and_not_asked_for_again_at_once(name: str) -> None:
    """0.18."""
    summarizer = saying(**BAD[name])  # type: ignore[arg-type]  # a table of settings
    compaction, events = strategy(summarizer, trigger_ratio=0.1, retain_tail_tokens=200)

    run = drive(compaction, config(2_000), pairs(15), start=talk("pairs", 7))

    assert run.with_briefing == 0
    assert compaction.state == "idle"
    assert 1 <= summarizer.calls <= 5
    assert compaction.totals.answers == summarizer.calls
    assert compaction.totals.usage.fresh == 900 * summarizer.calls
    assert {told.cause for told in events.given_up} == {"refused"}
    assert all(told.summary is not None and told.reason for told in events.given_up)


@pytest.mark.parametrize("stop_reason", ["stop", "STOP", "end_turn", "completed", ""])
def test_a_complete_answer_is_taken_in_every_providers_word(stop_reason: str) -> None:
    """No stop field counts as one."""
    compaction, events = strategy(saying(stop_reason=stop_reason))

    assert drive(compaction, config(2_000), pairs(12)).with_briefing
    assert events.given_up == []


# --------------------------------------------------- hanging and failing


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (3, 4)])
def test_a_summarizer_that_hangs_is_given_up(retries: int, attempts: int) -> None:
    """0.19: idle again, after so many attempts."""
    summarizer = hanging()
    retry = Retry(retries=retries, first_seconds=0.001, most_seconds=0.002)
    compaction, events = strategy(summarizer, timeout=0.02, retry=retry)

    drive(compaction, config(2_000), pairs(7))

    assert (compaction.state, summarizer.calls) == ("idle", attempts)
    [told] = events.given_up
    assert (told.cause, told.attempts, told.summary) == ("timed out", attempts, None)


def failing(*errors: Exception) -> Scripted:
    """One that raises, error after error, and then answers."""
    left = list(errors)

    def answer(_: object) -> Summary:
        if left:
            raise left.pop(0)
        return Summary(PARSER, "stop")

    return Scripted(answer)


def test_a_summarizer_that_raises_costs_one_try_and_no_call() -> None:
    """0.20: the call returns at once, by rule where it must be."""
    summarizer = failing(*[ValueError("secret words")] * 50)
    compaction, events = strategy(summarizer, retry=Retry(retries=3, first_seconds=0.001))

    run = drive(compaction, config(2_000), pairs(30))

    assert run.peak <= 2_000
    assert compaction.state == "idle"
    assert {(told.cause, told.reason, told.attempts) for told in events.given_up} == {
        ("failed", "ValueError", 1)
    }
    assert summarizer.calls == compaction.totals.requests


@pytest.mark.parametrize(
    "error", [SummaryError("busy", is_retryable=True), TimeoutError(), ConnectionResetError()]
)
def test_what_may_go_better_is_tried_again(error: Exception) -> None:
    """0.20."""
    summarizer = failing(error)
    compaction, events = strategy(summarizer, retry=Retry(first_seconds=0.001))

    run = drive(compaction, config(2_000), pairs(12))

    assert run.with_briefing
    assert events.given_up == []
    assert summarizer.calls == compaction.totals.requests + 1


def test_a_long_wait_that_a_provider_asks_for_is_cut() -> None:
    """0.20: three hours become what the retry allows."""
    error = SummaryError("busy", is_retryable=True, wait_seconds=10_000)
    retry = Retry(retries=1, first_seconds=0.001, most_seconds=0.01)
    compaction, _ = strategy(failing(error), retry=retry)

    assert drive(compaction, config(2_000), pairs(12)).with_briefing


# ------------------------------------------------------------------ requests


def test_a_request_is_text_alone_and_says_again_what_is_wanted() -> None:
    """0.21: fenced data, the sections behind it, no tools and no settings but a cap."""
    summarizer = saying()
    picture = Message.user(
        "look", Media("image", "image/png", data="A" * 4_000, width=32, height=32)
    )
    thought = Message.assistant(Thinking("secret thought"), Text("seen"))
    compaction, _ = strategy(summarizer, retain_tail_tokens=200)

    drive(compaction, config(2_000), pairs(12), start=[*pair(99), picture, thought])

    prompt = summarizer.requests[0].prompt
    record, _, wanted = prompt.partition("</record>")
    assert "[image omitted]" in record
    assert "[thinking omitted]" in record
    assert "secret thought" not in prompt
    assert "A" * 100 not in prompt
    for section in ("## Goal", "## State and progress", "## Decisions and constraints", "## Open"):
        assert section in wanted


# ------------------------------------------------------------------- secrets


def test_no_key_stands_in_a_printed_form() -> None:
    """0.23."""

    class Keyed(Scripted):
        key = "sk-secret-1"
        headers = "x-k: abc"

        def __repr__(self) -> str:
            return f"{self.key} {self.headers}"

    compaction = LlmCompaction(Keyed(lambda _: None), system_prompt="sk-secret-1")

    printed = f"{compaction!r} {config(2_000)!r} {Summary('sk-secret-1')!r}"

    assert "sk-secret-1" not in printed
    assert "x-k: abc" not in printed


# ------------------------------------------------------------------ warnings


def test_five_compactions_without_a_summary_are_told_once_until_one_is_used() -> None:
    """0.24: only where somebody was asked at all."""
    answers = iter([False] * 6 + [True] * 3 + [False] * 99)

    def answer(_: object) -> Summary:
        return Summary(PARSER, "stop" if next(answers) else "length")

    compaction, events = strategy(Scripted(answer), retain_tail_tokens=200)
    drive(compaction, config(2_000), pairs(400))

    methods = [
        "m" if isinstance(event, SummariesMissing) else event.method[0]
        for event in events
        if isinstance(event, (ContextCompacted, SummariesMissing))
    ]
    told = "".join(methods)
    assert told.startswith("d" * 5 + "m")
    assert told.count("m") == 2
    first, _, rest = told.partition("s")
    assert first.count("m") == 1
    assert rest.replace("s", "").startswith("d" * 5 + "m")


def test_nothing_is_told_where_nobody_was_asked() -> None:
    """0.24."""
    summarizer = saying()
    compaction, events = strategy(summarizer)

    drive(compaction, config(2_000), pairs(25, 2_000))

    assert summarizer.calls == 0
    assert len(events.compacted) > 5
    assert events.of(SummariesMissing) == []


# ------------------------------------------------------------------- through JSON (0.26)


def through_json(messages: list[Message]) -> list[Message]:
    """What a store keeps of plain talk: roles and texts."""
    stored = json.dumps([[message.role, message.text] for message in messages])
    return [Message(role, (Text(text),)) for role, text in json.loads(stored)]


def test_a_list_that_went_through_json_has_one_briefing() -> None:
    """0.26: neither a briefing nor a summary under way is lost with the origins."""
    compaction, events = strategy(saying(), retain_tail_tokens=200)

    run = drive(compaction, config(2_000), pairs(60), change=through_json)

    assert [len(briefings(messages)) for messages in run.lists[-30:]] == [1] * 30
    assert all(len(markers(messages)) == 0 for messages in run.lists[-30:])
    assert [event.method for event in events.compacted].count("summarized") > 3
    assert events.given_up == []


# ------------------------------------------------------------------- boundaries


@pytest.mark.parametrize("kind", TURNS)
@pytest.mark.parametrize("budget", [500, 1_000, 4_000, 20_000])
def test_every_list_is_whole_and_fits_or_says_so(kind: str, budget: int) -> None:
    """0.27."""
    for keep_first, keep_recent in [(0, 0), (1, 2), (2, 10), (6, 1), (3, 5)]:
        compaction, _ = strategy(saying(), trigger_ratio=0.1)
        settings = config(budget, keep_first, keep_recent=keep_recent)
        turns = [TURNS[kind](number) for number in range(20)]

        run = drive(compaction, settings, turns)

        for messages in run.lists:
            assert orphans(messages) == []
            assert len(briefings(messages)) <= 1
        assert compaction.last is not None
        is_told = compaction.last.outcome.status in ("unmet", "unsatisfiable")
        assert run.peak <= budget or is_told
        assert compaction.compact(run.messages, settings) is run.messages


def test_the_same_loop_gives_the_same_lists() -> None:
    """0.27: nothing in a list depends on when it was made."""
    lists = [drive(strategy(saying())[0], config(2_000), pairs(40)).lists for _ in range(2)]

    assert lists[0] == lists[1]


def test_events_are_values() -> None:
    """They can be compared, and hold no text."""
    assert SummaryGivenUp("failed", "why") == SummaryGivenUp("failed", "why")
    assert Events() == []
