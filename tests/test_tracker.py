"""The size of the next request: measurements in, whole numbers out."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from trimtab import (
    ContextTracker,
    Forecast,
    Media,
    Message,
    Opaque,
    PolicyError,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    message_bytes,
    surface_fingerprint,
)
from trimtab.wire import StreamReader, usage_from, usage_of

Pair = tuple[int, int]
TOOLS = ["fs_read", "shell"]
OPUS = surface_fingerprint("opus", "be helpful", TOOLS)


def seen(*observations: Pair, stale: bool = False) -> ContextTracker:
    """A tracker that observed some tokens for some bytes."""
    tracker = ContextTracker()
    for tokens, size in observations:
        tracker.observe(tokens, size)
    if stale:
        tracker.invalidate()
    return tracker


def line(limit: int, *observations: Pair) -> str:
    """The forecast after some observations."""
    return str(seen(*observations).forecast(limit, observations[-1][1]))


# --------------------------------------------------------------- by bytes alone


def test_before_the_first_observation_nothing_is_said() -> None:
    """No measurement, no number: and nothing is over a limit."""
    tracker = ContextTracker()

    assert tracker.predict(10_000) is None
    assert tracker.upper(10_000) is None
    assert not tracker.over(1, 10_000)
    assert tracker.forecast(1, 10_000) is None
    assert tracker.affordable_output_bytes(30_000, 30_000) is None
    assert tracker.reported is None


def test_a_prediction_starts_from_the_last_measurement() -> None:
    """What is not in the messages is in the measurement; only what is new has a rate."""
    assert seen((2_000, 1_000)).predict(1_300) == 2_100


def test_a_rate_that_can_be_one_is_used_and_one_below_prose_is_not() -> None:
    """Half a token a byte carries on; repeated characters do not."""
    assert seen((1_000, 1_000), (1_450, 1_900)).predict(2_900) == 1_950
    assert seen((1_000, 1_000), (1_010, 9_000)).predict(12_000) == 2_010


def test_a_change_too_small_to_be_a_sample_sets_no_rate() -> None:
    """From 512 bytes on it does."""
    assert seen((49_000, 149_960), (50_000, 150_000)).predict(162_000) == 54_000
    assert seen((1_000, 1_000), (1_256, 1_511)).predict(1_811) == 1_356
    assert seen((1_000, 1_000), (1_256, 1_512)).predict(1_812) == 1_406


def test_a_rewrite_is_credited_with_no_more_than_a_token_a_byte() -> None:
    """An impossible rate must not make a small cut look like a large saving."""
    tracker = seen((20_000, 100_000), (50_000, 101_000))

    assert tracker.over(40_000, 101_000)
    tracker.invalidate()
    assert tracker.predict(99_000) == 48_000
    assert tracker.over(40_000, 99_000)


@pytest.mark.parametrize(
    "case",
    [(100, 100, 100), (5_000, 10_000, 10_000), (5_000, 10_000, 1_000), (5_000, 10_000, 90_000)],
)
def test_a_prediction_only_adds_a_reason_to_compact(case: tuple[int, int, int]) -> None:
    """Where the reported size reaches a limit, the tracker says so too."""
    tokens, size, now = case
    for limit in (1, 100, 4_999, 5_000, 5_001, 1_000_000):
        assert tokens < limit or seen((tokens, size)).over(limit, now)


@pytest.mark.parametrize(
    "pair",
    [
        ((1_000, 1_000), (2_000, 2_000)),
        ((20_000, 100_000), (50_000, 101_000)),
        ((49_000, 149_960), (50_000, 150_000)),
        ((5_000, 50_000), (5_010, 90_000)),
        ((5_000, 50_000), (4_000, 40_000)),
    ],
)
def test_the_predicted_change_is_bounded_by_the_change_in_bytes(pair: tuple[Pair, Pair]) -> None:
    """A token a byte at most, up and down, and never below 0."""
    tokens, size = pair[1]
    for now in (0, 1, 500, size // 2, size, size + 10_000, 500_000):
        for stale in (False, True):
            predicted = seen(*pair, stale=stale).predict(now)
            assert predicted is not None
            assert predicted >= 0
            assert abs(predicted - tokens) <= abs(now - size) + 1


def test_a_rewrite_retires_what_was_reported_and_keeps_the_measurement() -> None:
    """A size of a list that is no more decides nothing; where to start from is still known."""
    tracker = seen((21_000, 60_000))
    assert tracker.over(20_000, 60_000)

    tracker.invalidate()

    assert tracker.reported is None
    assert not tracker.over(20_000, 30_000)
    assert tracker.predict(30_000) == 11_000
    assert tracker.predict(58_000) == 20_333
    assert tracker.over(20_000, 58_000)
    tracker.observe(9_000, 30_000)
    assert tracker.reported == 9_000


# ------------------------------------------------------------------ the surface


def test_the_series_goes_on_under_the_same_surface() -> None:
    """The next run of a conversation predicts from the last one's measurements."""
    tracker = ContextTracker()
    tracker.carry_into(OPUS)
    tracker.observe(50_000, 150_000)
    tracker.carry_into(surface_fingerprint("opus", "be helpful", TOOLS))

    assert (tracker.reported, tracker.predict(153_000)) == (50_000, 51_000)


@pytest.mark.parametrize(
    "other",
    [
        surface_fingerprint("haiku", "be helpful", TOOLS),
        surface_fingerprint("opus", "be terse", TOOLS),
        surface_fingerprint("opus", "be helpful", TOOLS[:1]),
    ],
)
def test_another_surface_drops_the_series(other: str) -> None:
    """A measurement under another model, system prompt or tools is converted into nothing."""
    tracker = ContextTracker()
    tracker.carry_into(OPUS)
    tracker.observe(50_000, 150_000, output_tokens=9, counted=40_000)
    tracker.carry_into(other)
    fresh = ContextTracker()
    fresh.carry_into(other)

    assert (tracker.reported, tracker.predict(153_000), tracker.peak_tokens) == (None, None, 0)
    assert tracker == fresh


def test_every_part_of_a_surface_tells() -> None:
    """Order, schemas, descriptions, borders and absence are all part of its name."""
    read = {"name": "read", "description": "Read a file.", "input_schema": {"type": "object"}}
    kind = {"text": "Be helpful.", "type": "text"}
    surfaces = [
        surface_fingerprint(*surface)
        for surface in (
            ("m", "s", ["a", "b"]),
            ("m", "s", ["b", "a"]),
            ("m", "s", [read]),
            ("m", "s", [{**read, "description": "Read it."}]),
            ("m", "s", [{**read, "input_schema": {"type": "array"}}]),
            ("m", "s", [Tool("read", description="Read a file.")]),
            ("m", "s", ["ab", "c"]),
            ("m", "s", ["a", "bc"]),
            ("m", "s", []),
            ("m", "s", None),
            ("m", "", ["a"]),
            ("m", None, ["a"]),
            ("m", [kind], ["a"]),
            ("m", [Text("Be helpful.")], ["a"]),
            ("m", [kind, kind], ["a"]),
        )
    ]

    assert len(set(surfaces)) == len(surfaces)
    assert surface_fingerprint("m", None, [read]) == surface_fingerprint(
        "m", None, [dict(reversed(read.items()))]
    )


def test_equal_surfaces_have_equal_names_in_every_process() -> None:
    """Whatever the hash seed is."""
    code = (
        "from trimtab import surface_fingerprint as f;"
        "print(f('opus', 'be helpful', ['fs_read', 'shell']))"
    )
    names = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert names == {OPUS}


def test_what_a_client_writes_for_its_bill_is_no_other_surface() -> None:
    """Claude Code puts such a line into the system prompt, anew for each request."""
    told = "x-anthropic-billing-header: cc_version=2.1; cch={};"

    def named(number: str) -> set[str]:
        words = told.format(number)
        blocks = [{"type": "text", "text": words}, {"type": "text", "text": "Help."}]
        return {
            surface_fingerprint("m", f"{words}\nHelp.", []),
            surface_fingerprint("m", blocks, []),
            surface_fingerprint("m", [Text(words), Text("Help.")], []),
        }

    assert named("a1b2c") == named("f00ba")
    assert surface_fingerprint("m", [Text(told)], []) == surface_fingerprint("m", [], [])


def test_the_first_surface_drops_what_was_measured_before_it() -> None:
    """Nobody knows under what it was measured."""
    tracker = seen((50_000, 150_000))
    tracker.carry_into(OPUS)

    assert tracker.predict(150_000) is None


def test_the_peak_is_the_largest_request_that_was_observed() -> None:
    """Not the last one, and never a prediction; a rewrite does not take it back."""
    tracker = seen((1_000, 1_000), (9_000, 9_000), (4_000, 4_000))

    assert tracker.peak_tokens == 9_000
    assert tracker.peak_pressure(36_000) == 0.25
    assert tracker.peak_pressure(None) is None
    assert tracker.peak_pressure(0) is None
    tracker.invalidate()
    assert tracker.peak_tokens == 9_000
    assert ContextTracker().peak_pressure(100) is None
    assert ContextTracker().peak_tokens == 0


# ------------------------------------------------------------- what can be used


def test_what_a_turn_can_afford_shrinks_as_the_context_grows() -> None:
    """Three bytes a token until a rate is known; nothing at the limit and beyond it."""
    tracker = seen((10_000, 30_000))

    afforded = [
        tracker.affordable_output_bytes(limit, 30_000) for limit in (30_000, 12_000, 9_000, 10_000)
    ]
    assert afforded == [60_000, 6_000, 0, 0]


def test_denser_content_affords_fewer_bytes() -> None:
    """The measured rate converts, not the one of prose."""
    dense = seen((10_000, 30_000), (20_000, 40_000))
    prose = seen((10_000, 30_000), (20_000, 60_000))

    assert dense.affordable_output_bytes(30_000, 40_000) == 10_000
    assert prose.affordable_output_bytes(30_000, 60_000) == 30_000


def test_a_forecast_is_arithmetic_on_measurements() -> None:
    """The pace is the mean of the steps."""
    series = ((10_000, 30_000), (20_000, 60_000), (24_000, 72_000), (30_000, 90_000))

    assert seen(*series, (38_000, 114_000)).forecast(100_000, 114_000) == Forecast(
        used=38_000, limit=100_000, headroom=62_000, per_turn=7_000, turns_left=8
    )


def test_the_pace_is_that_of_the_last_five_observations() -> None:
    """An old step leaves."""
    sizes = (1_000, 11_000, 12_000, 13_000, 14_000, 15_000)
    forecast = seen(*((tokens, 3 * tokens) for tokens in sizes)).forecast(100_000, 45_000)

    assert forecast is not None
    assert forecast.per_turn == 1_000


def test_no_growth_is_no_pace() -> None:
    """Rather that than a number of turns that comforts."""
    pair = (10_000, 30_000)

    forecast = seen(pair, pair).forecast(100_000, 30_000)
    assert forecast == Forecast(10_000, 100_000, 90_000, None, None)
    assert line(100_000, pair, pair) == "context: 10k of 100k before compaction (10%)"


def test_a_compaction_is_no_turn_that_cost_nothing() -> None:
    """A fall does not flatten the pace."""
    series = [(tokens, 3 * tokens) for tokens in (10_000, 20_000, 6_000, 16_000)]
    forecast = seen(*series).forecast(100_000, 48_000)

    assert forecast is not None
    assert forecast.per_turn == 10_000


def test_a_slow_pace_is_told_in_tokens() -> None:
    """Never as nothing; and cost times turns is never more than the room."""
    forecast = seen((10_000, 30_000), (10_400, 31_000)).forecast(100_000, 31_000)

    assert forecast is not None
    assert (forecast.per_turn, forecast.turns_left) == (400, 224)
    assert "~400 tokens each" in str(forecast)
    assert "~0k" not in str(forecast)
    assert forecast.headroom >= 400 * 224


@pytest.mark.parametrize("seed", range(200))
def test_the_line_multiplies_out(seed: int) -> None:
    """Whatever cost and turns the line tells, they fit into the room that it tells."""
    chance = random.Random(seed)
    limit = chance.choice((300, 9_999, 10_999, 100_000, 199_999, 1_000_000))
    series = [(chance.randrange(limit), chance.randrange(4 * limit)) for _ in range(6)]
    told = line(limit, *series)

    numbers = re.match(
        r"context: (\d+|\d\.\d)(k?) of (\d+)(k| tokens) before compaction \(\d+%\)"
        r"(?:; recent turns cost ~(\d+|\d\.\d)(k| tokens) each, so about (\d+) more at this pace)?$",
        told,
    )
    assert numbers is not None, told
    used, used_unit, most, unit, cost, cost_unit, turns = numbers.groups()
    assert (used_unit or " tokens") == unit
    if cost is not None:
        scale = {"k": 1_000, " tokens": 1}
        room = max(0, round((int(most) - float(used)) * scale[unit]))
        assert round(float(cost) * scale[cost_unit]) * int(turns) <= room, told


def test_below_ten_thousand_a_tenth_is_told() -> None:
    """So that a reader who divides the room by the cost finds the turns that are told."""
    told = line(120_000, (96_100, 96_100), (98_000, 98_000))

    assert told == (
        "context: 98k of 120k before compaction (82%); "
        "recent turns cost ~1.9k each, so about 11 more at this pace"
    )
    assert line(120_000, (350, 1_000)).startswith("context: 0.3k of 120k before compaction (0%)")


def test_the_line_states_facts_and_asks_for_nothing() -> None:
    """It is a reading, not a nudge."""
    told = line(100_000, (10_000, 30_000), (40_000, 120_000))

    assert told == (
        "context: 40k of 100k before compaction (40%); "
        "recent turns cost ~30k each, so about 2 more at this pace"
    )
    words = ("should", "must", "consider", "prefer", "avoid")
    assert [word for word in words if word in told] == []


def test_a_context_over_its_limit_has_no_room() -> None:
    """And a limit of 0 is no share of anything."""
    tracker = seen((10_000, 30_000), (20_000, 60_000))

    assert tracker.forecast(15_000, 60_000) == Forecast(20_000, 15_000, 0, 10_000, 0)
    assert tracker.forecast(0, 60_000) == Forecast(20_000, 0, 0, 10_000, 0)
    assert "(0%)" in str(tracker.forecast(0, 60_000))
    assert [Forecast(used, 200, 0, None, None).percent for used in (1, 2, 201)] == [1, 1, 101]


# ------------------------------------------------------------------------ bytes


def test_payloads_are_not_counted_as_growth() -> None:
    """An image costs what its pixels say; its base64 is in no growth."""
    hello = Message.user("hello")
    image = Media("image", "image/png", "A" * 200_000)
    pictured = Message.user("hello", image)
    by_address = Message.user(Media("image", "image/png", location="data:image/png;base64,AAAA"))
    elsewhere = Message.user(Media("image", "image/png", location="shot.png"))
    shown = Message("tool", (ToolResult("k", (Text("ab"), image)),))
    unknown = Message("user", (Opaque("blob", f'{{"data":"{"A" * 5_000}"}}'),))

    sizes = [
        message_bytes([message])
        for message in (hello, pictured, by_address, elsewhere, shown, unknown)
    ]
    assert sizes == [5, 14, 9, 17, 12, 11]


def test_every_other_part_is_counted() -> None:
    """Texts, reasoning and signature, ids, names, arguments and results."""
    parts = (Text("ab"), Thinking("cde", "fg"), ToolCall("h", "ij", "{}"))
    result = ToolResult("k", (Text("lmno"),))

    assert message_bytes([Message("assistant", parts), Message("tool", (result,))]) == 17


@pytest.mark.parametrize(
    ("part", "size"),
    [
        (Text("é"), 2),
        (ToolCall("", "", '{"a":"é"}'), 10),
        (ToolCall("", "", '{ "a" : "\\u00e9" }'), 10),
        (ToolCall("", "", '{"n": 1234567890123456789}'), 25),
        (ToolCall("", "", "no json"), 7),
        (ToolCall("", "", ""), 0),
        (Text("\ud800"), 3),
        (Text("ab", "sig"), 5),
    ],
)
def test_sizes_are_those_of_compact_json_in_utf8(part: Any, size: int) -> None:
    """No character is escaped, no space is kept; what is no JSON counts as it is."""
    assert message_bytes([Message("assistant", (part,))]) == size


# ------------------------------------------------------------------------ usage

ANTHROPIC = {
    "input_tokens": 8,
    "cache_creation_input_tokens": 1_000,
    "cache_read_input_tokens": 17_000,
}
WHOLE: dict[str, dict[str, Any]] = {
    "anthropic": {"usage": {**ANTHROPIC, "output_tokens": 5}},
    "openai-chat": {
        "usage": {
            "prompt_tokens": 18_008,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 17_000},
        }
    },
    "openai-responses": {
        "usage": {
            "input_tokens": 18_008,
            "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 17_000},
        }
    },
    "gemini": {
        "usageMetadata": {
            "promptTokenCount": 18_008,
            "cachedContentTokenCount": 17_000,
            "candidatesTokenCount": 5,
        }
    },
}
STREAMS: dict[str, list[dict[str, Any]]] = {
    "anthropic": [
        {
            "type": "message_start",
            "message": {"usage": {**ANTHROPIC, "output_tokens": 1}},
        },
        {"type": "message_delta", "usage": {"output_tokens": 3}},
        {"type": "message_delta", "usage": {"output_tokens": 5, "input_tokens": None}},
    ],
    "openai-chat": [{"choices": [], **WHOLE["openai-chat"]}],
    "openai-responses": [
        {"type": "response.completed", "response": WHOLE["openai-responses"]},
    ],
    "gemini": [
        {"usageMetadata": {"promptTokenCount": 18_008}},
        WHOLE["gemini"],
    ],
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_observed_size_is_the_whole_prompt(name: str) -> None:
    """Cached tokens are in it once, whole or streamed, and deltas are not added up."""
    whole = usage_of(json.dumps(WHOLE[name]).encode(), name)
    reader = StreamReader(name)
    for event in STREAMS[name]:
        reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    reader.close()

    assert whole is not None
    assert reader.usage is not None
    assert (whole.total_input, whole.output) == (18_008, 5)
    assert (reader.usage.total_input, reader.usage.output) == (18_008, 5)


def test_usage_fields_that_are_null_count_as_nothing() -> None:
    """A provider without a cache says so in this way."""
    told = {"input_tokens": 8, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}

    assert usage_from(ANTHROPIC).total_input == 18_008
    assert usage_from(told).total_input == 8


# ------------------------------------------------------------ size and copies


def full() -> ContextTracker:
    """A tracker in which everything is set."""
    tracker = ContextTracker()
    tracker.carry_into(OPUS)
    for turn in range(9):
        tracker.observe(
            10_000 + 900 * turn,
            2_000 * (turn + 1),
            output_tokens=400,
            reasoning_tokens=150,
            counted=700 * (turn + 1),
        )
        tracker.answered(800, counted=250)
    tracker.invalidate()
    return tracker


def test_a_million_observations_leave_a_tracker_as_small_as_six() -> None:
    """What it holds does not grow."""
    tracker = seen(*((10**6 + turn, 10**6 + 2 * turn) for turn in range(6)))
    before = len(pickle.dumps(tracker.to_fields()))
    for turn in range(6, 1_000_000):
        tracker.observe(10**6 + turn, 10**6 + 2 * turn)

    assert len(pickle.dumps(tracker.to_fields())) <= before + 16
    assert len(json.dumps(full().to_fields())) < 400


@pytest.mark.parametrize("copied", [ContextTracker.copy, copy.copy, copy.deepcopy])
def test_a_copy_is_independent(copied: Any) -> None:
    """What one observes, the other does not."""
    tracker = full()
    other = copied(tracker)
    assert other == tracker

    other.observe(99_000, 99_000)

    assert tracker == full()
    assert other != tracker


def test_what_it_knows_can_be_written_down_and_read_back() -> None:
    """Through JSON, and it goes on as if nothing had been."""
    for tracker in (ContextTracker(), seen((10, 20)), full()):
        read = ContextTracker.from_fields(json.loads(json.dumps(tracker.to_fields())))
        assert read == tracker
        read.observe(50_000, 60_000, counted=70_000)
        tracker.observe(50_000, 60_000, counted=70_000)
        assert read == tracker
        assert read.upper(70_000, counted=80_000) == tracker.upper(70_000, counted=80_000)


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [None] * 8,
        [None, 0, -1, [], None, [None, None, None, 0], [0, 0, 0, 0], [0, 0]],
        [None, 0, 0, [[1, 2]], None, [None, None, None, 0], [0, 0, 0, 0], [0, 0]],
        [None, 0, 0, [], None, [None, None, None, 0], [0, 0, 0], [0, 0]],
        [None, 0, 0, [], None, [None, None, None, 0], [0, 0, 0, 0.5], [0, 0]],
        [7, 0, 0, [], None, [None, None, None, 0], [0, 0, 0, 0], [0, 0]],
        None,
    ],
)
def test_other_fields_are_refused(fields: Any) -> None:
    """Torn or foreign ones make no tracker."""
    with pytest.raises(ValueError, match="no fields of a tracker"):
        ContextTracker.from_fields(fields)


def test_a_tracker_tells_little_of_itself_and_is_no_key() -> None:
    """Its representation ends up in logs; it changes, so nothing can be found under it."""
    assert repr(seen((5, 6))) == "<ContextTracker reported=5 peak=5>"
    assert (ContextTracker() == 1) is False
    with pytest.raises(TypeError):
        hash(ContextTracker())


# ------------------------------------------------------------------- bad input


@pytest.mark.parametrize("value", [-1, True, 1.0, math.nan, "7"])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    """By name, wherever it is given; and nothing is changed by it."""
    tracker = seen((1_000, 2_000))
    calls: list[Callable[[], object]] = [
        lambda: tracker.observe(value, 1),
        lambda: tracker.observe(1, value),
        lambda: tracker.observe(1, 1, output_tokens=value),
        lambda: tracker.observe(1, 1, output_bytes=value),
        lambda: tracker.observe(1, 1, reasoning_tokens=value),
        lambda: tracker.observe(1, 1, counted=value),
        lambda: tracker.answered(value),
        lambda: tracker.answered(1, counted=value),
        lambda: tracker.predict(value),
        lambda: tracker.predict(1, counted=value),
        lambda: tracker.over(value, 1),
        lambda: tracker.over(1, value),
        lambda: tracker.forecast(value, 1),
        lambda: tracker.affordable_output_bytes(value, 1),
        lambda: tracker.peak_pressure(value),
    ]
    for call in calls:
        with pytest.raises(PolicyError, match="whole number of 0 or more"):
            call()
    assert tracker == seen((1_000, 2_000))


@pytest.mark.parametrize("confidence", [0, 0.49, 1, math.nan, -1])
def test_a_confidence_that_nothing_was_measured_for_is_refused(confidence: float) -> None:
    """From 0.5 to 0.99 it was."""
    with pytest.raises(PolicyError, match=r"between 0\.5 and 0\.99"):
        seen((1, 1)).upper(1, confidence=confidence)


def test_a_surface_is_a_name() -> None:
    """And what it is made of is words and objects."""
    bad: Any = 7
    with pytest.raises(PolicyError, match="surface"):
        ContextTracker().carry_into(bad)
    for arguments in ((bad, None, None), ("m", [bad], None), ("m", None, [bad])):
        with pytest.raises(PolicyError, match="words or an object"):
            surface_fingerprint(*arguments)
    with pytest.raises(PolicyError, match="that JSON can hold"):
        surface_fingerprint("m", None, [{"name": object()}])


# --------------------------------------------------- by answer and by counting


def talk(
    turns: Sequence[tuple[int, int]],
    *,
    tokens_per_counted: float = 1.0,
    hidden: int = 0,
    returns: bool = True,
) -> tuple[ContextTracker, int, int, int]:
    """A conversation of (answer, new) sizes as counted; three bytes each.

    Returns:
        The tracker, then bytes, counted and true size of the request that comes next.
    """
    tracker = ContextTracker()
    counted, true = 1_000, 5_000.0
    for answer, new in turns:
        output = int(answer * tokens_per_counted) + hidden
        tracker.observe(
            int(true),
            3 * counted,
            output_tokens=output,
            reasoning_tokens=hidden,
            counted=counted,
        )
        tracker.answered(3 * answer, counted=answer)
        counted += answer + new
        true += (answer + new) * tokens_per_counted + (hidden if returns else 0)
    return tracker, 3 * counted, counted, int(true)


def test_an_answer_weighs_what_it_was_billed() -> None:
    """Of what is new, only the rest is at a rate."""
    tracker = ContextTracker()
    tracker.observe(60_000, 200_000, output_tokens=500, output_bytes=1_200)

    assert tracker.predict(201_200) == 60_500
    assert tracker.predict(204_200) == 61_500


def test_an_answer_that_is_not_sent_back_weighs_nothing() -> None:
    """It is not in the list, so it is not in the next bill."""
    tracker = ContextTracker()
    tracker.observe(60_000, 200_000, output_tokens=500, counted=50_000)
    tracker.answered(0, counted=0)

    assert tracker.predict(200_000, counted=50_000) == 60_000


def test_what_a_counter_gets_wrong_for_a_model_is_learned() -> None:
    """A model that makes 1.5 tokens of each that is counted is soon predicted closely."""
    turns = [(100, 900)] * 8
    tracker, size, counted, true = talk(turns, tokens_per_counted=1.5)
    predicted = tracker.predict(size, counted=counted)

    assert predicted is not None
    assert abs(predicted - true) <= 0.05 * 1_500
    unlearned, size, counted, true = talk(turns[:1], tokens_per_counted=1.5)
    assert unlearned.predict(size, counted=counted) == true - 450


@pytest.mark.parametrize("returns", [True, False])
def test_whether_reasoning_is_sent_back_is_learned(*, returns: bool) -> None:
    """From the bills, because no list tells it for sure."""
    tracker, size, counted, true = talk([(100, 400)] * 6, hidden=900, returns=returns)

    assert tracker.predict(size, counted=counted) == true


def test_before_it_is_learned_the_list_tells_whether_reasoning_is_sent_back() -> None:
    """An answer that weighs there what its words do came without its reasoning."""
    kept, size, counted, _ = talk([(1_000, 0)], hidden=900)
    assert kept.predict(size, counted=counted) == 5_000 + 1_000

    tracker = ContextTracker()
    tracker.observe(5_000, 3_000, output_tokens=1_900, reasoning_tokens=900, counted=1_000)
    tracker.answered(5_400, counted=1_800)
    assert tracker.predict(8_400, counted=2_800) == 5_000 + 1_900


def test_an_output_that_was_only_begun_is_not_believed() -> None:
    """Logs hold what a stream said at its start; the list says how large the answer is."""
    tracker = ContextTracker()
    tracker.observe(20_000, 60_000, output_tokens=2, counted=18_000)
    tracker.answered(900, counted=300)

    assert tracker.predict(60_900, counted=18_300) == 20_300


def test_reasoning_beyond_the_output_was_told_apart() -> None:
    """Some logs have it beside the output, not in it: there is nothing to take away."""
    tracker = ContextTracker()
    tracker.observe(2_000, 6_000, output_tokens=39, reasoning_tokens=244, counted=1_800)
    tracker.answered(120, counted=40)

    assert tracker.predict(6_120, counted=1_840) == 2_039


def test_what_a_compaction_removes_is_subtracted_as_it_was_billed() -> None:
    """Between the smallest request and the newest, the bills say what it weighs."""
    tracker = ContextTracker()
    tracker.observe(10_000, 3_000, counted=1_000)
    tracker.observe(40_000, 63_000, counted=21_000)
    tracker.invalidate()

    assert tracker.predict(33_000, counted=11_000) == 25_000
    assert tracker.predict(3_000, counted=1_000) == 10_000
    assert tracker.predict(0, counted=0) == 8_504
    assert not tracker.over(30_000, 33_000, counted=11_000)


def test_a_fall_that_nothing_in_the_list_explains_teaches_no_rate() -> None:
    """The client cut what it sent in a way that no log shows: the new bill is where to start."""
    turns = [(100, 900)] * 5
    before, size, counted, true = talk(turns)
    before.observe(true, size, counted=counted, output_tokens=100)
    before.answered(300, counted=100)
    before.observe(2_000, size + 3_300, counted=counted + 1_100)

    assert before.predict(size + 6_300, counted=counted + 2_100) == 3_000


def test_an_upper_bound_grows_with_confidence_and_with_what_is_new() -> None:
    """It is the prediction and a share of its change."""
    tracker, size, counted, _ = talk([(100, 900)] * 6)
    predicted = tracker.predict(size, counted=counted)
    assert predicted is not None

    bounds = [
        tracker.upper(size, counted=counted, confidence=confidence)
        for confidence in (0.5, 0.7, 0.9, 0.95, 0.99)
    ]
    assert bounds == sorted(set(bounds), key=bounds.index)
    assert bounds[0] == predicted
    more = tracker.upper(size + 30_000, counted=counted + 10_000)
    further = tracker.predict(size + 30_000, counted=counted + 10_000)
    assert more is not None
    assert further is not None
    assert bounds[3] is not None
    assert more - further > bounds[3] - predicted


def test_with_more_told_over_asks_the_upper_bound() -> None:
    """A request that may pass the limit is over it; by bytes alone the prediction decides."""
    tracker, size, counted, _ = talk([(100, 900)] * 6)
    predicted = tracker.predict(size, counted=counted)
    upper = tracker.upper(size, counted=counted)
    assert predicted is not None
    assert upper is not None

    assert predicted < upper
    assert tracker.over(upper, size, counted=counted)
    assert not tracker.over(upper + 1, size, counted=counted)
    alone = seen((1_000, 3_000))
    assert not alone.over(1_001, 3_000)
