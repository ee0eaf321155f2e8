"""Every recorded session is read, and its requests and usage are those that ``stats.py`` finds."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from tests.conformance.shared import SHARED
from trimtab.replay.files import READERS, load
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire import FORMATS, check

DATA = SHARED / "data"

KINDS = {
    "cassette": "http-exchanges",
    "claude_code": "claude-code",
    "codex": "codex",
    "copilot_cli": "copilot-cli",
    "gemini_cli": "gemini-cli",
    "litellm_log": "litellm-log",
    "mini_swe": "mini-swe-agent",
    "opencode": "opencode",
    "pi": "pi",
    "swe_agent": "swe-agent",
    "tau2": "tau2-bench",
    "tau_bench": "tau-bench",
    "trae": "trae",
}
"""What each folder holds."""

Figures = tuple[int, int, int, int]


@cache
def stats() -> ModuleType:
    """The reference."""
    spec = importlib.util.spec_from_file_location("stats", DATA / "stats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["stats"] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module


def files() -> list[str]:
    """Every file, by its path in the folder of the data."""
    if not DATA.is_dir():
        return []
    folders = [DATA / kind for kind in KINDS]
    paths = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(DATA)) for path in paths)


@cache
def recordings(name: str) -> list[Recording]:
    """What is read of a file."""
    path = DATA / name
    return load(path.read_bytes(), path.name)


def requests(name: str) -> list[RecordedRequest]:
    """All requests in a file."""
    return [request for recording in recordings(name) for request in recording.requests]


def billed(name: str) -> list[Figures]:
    """What was billed for each request that says it, as we read it."""
    usages = [request.usage for request in requests(name)]
    return [
        (usage.total_input, usage.cache_read, usage.cache_write, usage.output)
        for usage in usages
        if usage is not None and usage.total_input
    ]


def expected(name: str) -> list[Figures]:
    """The same as ``stats.py`` reads it."""
    text = (DATA / name).read_text("utf-8", "replace")
    sessions = stats().KINDS[Path(name).parts[0]](text, name)
    return [
        (request.total, request.read, request.write, request.out)
        for session in sessions
        for request in session.reqs
    ]


COUNTED_FIRST = (
    "codex/VibeCodingTracker/codex.jsonl",
    "codex/ai-sessions/codex-pomodor-timer.jsonl",
)
"""Rollouts that count before the items: ``stats.py`` leaves out the first count, which has no
items in front of it, and gives each request the figures of the next."""

OTHER_FIGURES = {
    # The passes of the advisor are listed; ours is what the conversation itself took.
    "test_anthropic__test_anthropic_advisor_tool.yaml": (0, 3),
    "test_anthropic__test_anthropic_advisor_tool_stream.yaml": (0, 3),
    # OpenRouter tells what was written to the cache; ``stats.py`` does not look there.
    "test_cache__test_openrouter_cache_all_settings_real_api.yaml": (2,),
    "test_cache__test_openrouter_cache_instructions_gemini_real_api.yaml": (2,),
}
"""Cassettes of which some figures are read in another way, by their place."""

MORE_ANSWERS = ("test_bedrock__test_bedrock_model_thinking_part_from_other_model.yaml",)
"""Cassettes in which we find usage that ``stats.py`` does not."""


@pytest.mark.parametrize("name", files())
def test_a_file_is_known_by_one_reader_alone(name: str) -> None:
    """It is the reader of its folder's kind."""
    data = (DATA / name).read_bytes()

    known = [reader.KIND for reader in READERS if reader.recognises(data)]

    assert known == [KINDS[Path(name).parts[0]]]


@pytest.mark.parametrize("name", files())
def test_requests_and_usage_are_those_of_the_reference(name: str) -> None:
    """Every request that has usage has it in the same order."""
    ours, theirs = billed(name), expected(name)
    file = Path(name).name
    if name in COUNTED_FIRST:
        ours = ours[1:]
    if file in MORE_ANSWERS:
        ours = [figures for figures in ours if figures in theirs]
    left_out = OTHER_FIGURES.get(file, ())

    assert requests(name)
    assert [without(figures, left_out) for figures in ours] == [
        without(figures, left_out) for figures in theirs
    ]


def without(figures: Figures, places: tuple[int, ...]) -> tuple[int, ...]:
    """Leave out some figures."""
    return tuple(figure for place, figure in enumerate(figures) if place not in places)


def test_runs_without_usage_have_the_requests_that_were_answered() -> None:
    """Each answer of the agent was asked for; greetings were not."""
    counts = Counter({Path(name).parts[0]: 0 for name in files()})
    for name in files():
        counts[Path(name).parts[0]] += len(requests(name))

    assert counts["tau_bench"] == 2454
    assert counts["tau2"] == 505 - 50
    assert counts["swe_agent"] == 25
    assert counts["copilot_cli"] == 6


BROKEN = {
    # Its texts were cut for a fixture, names of tools and outputs among them.
    "codex/agent-sessions/small.jsonl": {"R9", "R-name"},
}
"""Rules that a file breaks because of what was done to it."""

SENT_SO = frozenset({"A5", "A6", "A7", "C3", "G1", "G3", "G5", "G6", "G7"})
"""Rules that requests in cassettes break. They are tests of what providers take, and were sent so."""

UNKNOWN_FORMATS = frozenset({"bedrock-converse"})

_MOST_BODIES = 12
"""Bodies of a session that are built: they grow, so the last ones hold the others."""


@pytest.mark.parametrize("name", files())
def test_a_body_breaks_no_rule_or_the_log_does_not_show_it(name: str) -> None:
    """Some of each session are built, the first and the last among them."""
    known = {wire_format.name for wire_format in FORMATS}
    allowed = SENT_SO if name.startswith("cassette") else BROKEN.get(name, set())
    for recording in recordings(name):
        step = max(1, len(recording.requests) // _MOST_BODIES)
        for request in (*recording.requests[::step], recording.requests[-1]):
            wire_format = request.format
            if wire_format not in known:
                assert wire_format in UNKNOWN_FORMATS
                continue
            problems = check(request.build(), wire_format, unrecorded=request.unrecorded)
            assert {each.rule for each in problems if not each.is_unrecorded} <= allowed


@pytest.mark.parametrize("name", [name for name in files() if not name.startswith("cassette")])
def test_the_size_is_about_that_of_the_body(name: str) -> None:
    """It is known without building anything."""
    for recording in recordings(name):
        request = recording.requests[-1]
        size = len(request.build())
        assert abs(request.size_bytes - size) <= 0.3 * size + 3000
