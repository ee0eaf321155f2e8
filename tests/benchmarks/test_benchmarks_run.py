"""That the benchmarks run and measure what they say; never how fast anything is."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks import (
    background,
    checking,
    compaction,
    conversations,
    counting,
    importing,
    loops,
    memo,
    memory,
    prediction,
    reading,
    replaying,
    rewriting,
    run,
    splitting,
    squeeze,
    storing,
    streams,
    tracking,
    turns,
    window,
)
from benchmarks.bodies import bodies
from benchmarks.conversation import exchanges
from benchmarks.figures import Answer, Row, Target, Timing, interleaved, ratio
from benchmarks.logs import LOGS, made
from benchmarks.series import recorded
from benchmarks.session_files import KINDS, write_file
from benchmarks.tables import markdown, missed, replaced, show
from trimtab import CharTokenCounter, Usage
from trimtab.replay import files
from trimtab.wire import check


@cache
def billed_sessions() -> Path:
    """A folder with two sessions that say what was billed, and a file that is none."""
    folder = Path(tempfile.mkdtemp())
    for kind in ("codex", "pi"):
        (folder / f"{kind}.jsonl").write_bytes(made(kind, 60_000))
    (folder / "note.txt").write_text("no recording", encoding="utf-8")
    return folder


TINY: dict[str, Callable[[], Answer]] = {
    "splitting": lambda: splitting.answer(size_bytes=5_000, runs=1),
    "checking": lambda: checking.answer(size_bytes=5_000, runs=1),
    "rewriting": lambda: rewriting.answer(sizes_bytes=(5_000,), runs=1, counter=CharTokenCounter()),
    "hashing": lambda: turns.hashed(size_bytes=5_000, runs=1),
    "turns": lambda: turns.answer(sizes_bytes=(20_000,), runs=1),
    "loops": lambda: loops.answer(steps=4, messages=30),
    "compaction": lambda: compaction.answer(messages=30),
    "background": lambda: background.answer(turns=40),
    "summaries": lambda: background.in_time(turns=12),
    "memo": lambda: memo.answer(sizes_bytes=(5_000,), runs=1),
    "storing": lambda: storing.answer(sizes_bytes=(20_000,), runs=2),
    "storing_room": lambda: storing.room(turns=40, conversations=1),
    "squeezing": lambda: squeeze.answer(path=billed_sessions()),
    "window": lambda: window.answer(steps=4, messages=30),
    "recording": lambda: window.recording(sizes=(10, 20), runs=2),
    "conversations": lambda: conversations.answer(conversations=3, turns=4),
    "streams": lambda: streams.answer(size_bytes=5_000, runs=1),
    "reading": lambda: reading.answer(size_bytes=30_000, runs=1),
    "replaying": lambda: replaying.answer(sizes_bytes=(30_000,), runs=1),
    "counting": lambda: counting.answer(size_bytes=5_000, runs=1, with_bpe=False),
    "importing": lambda: importing.answer(runs=1, modules=("json",), processes={"pass": "pass"}),
    "tracking": lambda: tracking.answer(runs=1),
    "prediction": lambda: prediction.answer(path=billed_sessions()),
    "deciding": lambda: prediction.deciding(path=billed_sessions()),
    "surprises": lambda: prediction.surprises(path=billed_sessions()),
    "remembering": lambda: prediction.remembering(path=billed_sessions()),
    "announcing": lambda: prediction.announcing(path=billed_sessions()),
}
ANSWER = Answer(
    "walking",
    "Walking `far`",
    ("what", "ratio"),
    (
        Row(("up", "2.00"), Target(1.5, 2.0)),
        Row(("down", "1.00"), Target(1.5, 1.0)),
        Row(("flat", ""), None),
    ),
    "On foot.",
)


@pytest.mark.parametrize("name", TINY)
def test_each_question_is_answered_with_a_figure_in_each_column(name: str) -> None:
    """Every benchmark runs on a small input, and each of its rows fills its table."""
    answer = TINY[name]()

    assert answer.name == name
    assert answer.rows
    assert {len(row.cells) for row in answer.rows} == {len(answer.columns)}


def test_every_benchmark_can_be_asked() -> None:
    """``run.py`` knows all of them, and refuses what it does not know."""
    assert set(run.BENCHMARKS) == {*TINY, "memory"}
    with pytest.raises(SystemExit):
        run.main(["walking"])


def test_a_process_is_charged_for_its_own_memory_alone() -> None:
    """What the measuring process holds does not count for the one that is measured."""
    held = b"x" * 150_000_000

    small = memory.measured("pass")
    large = memory.measured("held = b'x' * 100_000_000")

    assert small.peak_bytes < 100_000_000 < large.peak_bytes < len(held)


def test_a_process_that_fails_is_not_measured() -> None:
    """A figure of a program that did not do its work would be worthless."""
    with pytest.raises(RuntimeError, match="ended with 3"):
        memory.measured("raise SystemExit(3)")


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_file_is_a_valid_session_of_its_kind(kind: str, tmp_path: Path) -> None:
    """A large file is what a client could have written: its largest request breaks no rule."""
    path = tmp_path / "session"

    size = write_file(path, kind, 20_000)

    (recording,) = files.load(path.read_bytes(), "session")
    request = recording.requests[recording.largest]
    name = request.format or "anthropic"
    assert 20_000 <= size < 140_000
    assert recording.notes == ()
    assert check(request.build(), name, unrecorded=request.unrecorded) == ()


@pytest.mark.parametrize("kind", LOGS)
def test_a_made_log_is_a_valid_session_of_its_kind(kind: str) -> None:
    """It is what the agent could have written: its last request breaks no rule."""
    log = made(kind, 50_000)

    (recording,) = files.load(log, "session")
    request = recording.requests[-1]
    assert 50_000 <= len(log) < 250_000
    assert (recording.kind, recording.notes) == (kind, ())
    assert all(each.usage for each in recording.requests) == (kind != "copilot-cli")
    assert check(request.build(), request.format, unrecorded=request.unrecorded) == ()


def test_a_body_is_valid_in_both_formats() -> None:
    """What is measured is what a provider takes, repeated parts too."""
    made = bodies(600_000)

    assert {body.format for body in made} == {"anthropic", "openai-chat"}
    assert [check(body.json, body.format) for body in made] == [()] * len(made)


def test_a_conversation_is_the_same_each_time_and_repeats_no_call() -> None:
    """Figures of two days are of the same conversation."""
    first, second = (list(islice(exchanges(), 50)) for _ in range(2))

    ids = [call.id for exchange in first for call in exchange.calls]
    assert first == second
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", streams.KINDS)
def test_a_made_stream_tells_what_it_bills(kind: str) -> None:
    """What is measured is a whole stream, which a reader reads to its end."""
    format_name, stream = streams.made(kind, 20_000)

    told = streams.seen(format_name, stream)

    assert 15_000 < len(stream) < 30_000
    assert told == Usage(fresh=1_200, cache_read=40_000, output=900, reasoning=300)


def test_things_take_turns() -> None:
    """Each thing runs once unmeasured, then all of them in turn."""
    ran: list[str] = []

    times = interleaved(2, {"a": lambda: ran.append("a"), "b": lambda: ran.append("b")})

    assert "".join(ran) == "ab" * 3
    assert {name: len(timing.seconds) for name, timing in times.items()} == {"a": 2, "b": 2}


def test_a_ratio_is_taken_between_neighbours() -> None:
    """A machine that slows down for a while does not change it."""
    assert ratio(Timing((1.0, 10.0, 1.0)), Timing((2.0, 20.0, 2.0))) == 0.5


def test_a_missed_target_is_shown_and_counted() -> None:
    """Whoever reads a table sees what was missed."""
    out = io.StringIO()
    show(ANSWER, Console(file=out, width=80))

    assert missed([ANSWER]) == 1
    assert [line.split()[-1] for line in out.getvalue().splitlines() if "≤" in line] == [
        "NO",
        "yes",
    ]


def test_an_answer_takes_its_place_in_a_page() -> None:
    """Only what stands between the marks changes; without marks nothing is guessed."""
    page = "# Far\n<!-- walking -->\nold\n<!-- end of walking -->\nEnd.\n"

    assert replaced(page, "walking", markdown(ANSWER)) == (
        "# Far\n<!-- walking -->\n\n"
        "`python benchmarks/run.py walking`\n\n"
        "| what | ratio | target | met |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| up | 2.00 | ≤ 1.50 | NO |\n"
        "| down | 1.00 | ≤ 1.50 | yes |\n"
        "| flat |  |  |  |\n\n"
        "On foot.\n\n"
        "<!-- end of walking -->\nEnd.\n"
    )
    with pytest.raises(ValueError, match="no marks for walking"):
        replaced("# Far\n", "walking", "")


def test_sizes_of_sessions_are_those_of_their_requests(tmp_path: Path) -> None:
    """What a request weighs is what it held before, the answer to that, and what else is new."""
    (session,) = [each for each in recorded(billed_sessions()) if each.kind == "pi"]

    assert len(session.steps) > 3
    assert not any(step.is_cut for step in session.steps)
    for last, step in pairwise(session.steps):
        assert step.whole == last.whole + step.answer + step.rest
        assert step.answer.messages == 1
    with pytest.raises(FileNotFoundError):
        recorded(tmp_path / "nowhere")
