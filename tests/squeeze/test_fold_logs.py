"""Log lines of a kind are folded; counts, failures and both ends stay."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.fold_logs import fold_logs

GAP = re.compile(r"\[trimtab: (\d+) lines left out\]")


def event(number: int) -> str:
    """A line of a log."""
    return (
        f"2026-02-11T10:{number // 60:02d}:{number % 60:02d}Z INFO worker finished job {number * 7}"
    )


def test_the_middle_is_counted_by_kind() -> None:
    """Five lines of the head, ten of the tail, the first and last of the kind, and the failure."""
    lines = [event(number) for number in range(60)]
    lines[30] = "2026-02-11T10:00:30Z ERROR worker lost job 210"

    folded = fold_logs("\n".join(lines)).split("\n")

    assert folded == [
        *lines[:6],
        "[trimtab: 24 lines left out]",
        lines[30],
        "[trimtab: 18 lines left out]",
        f'[trimtab: of the lines left out above, 42 like "{lines[6]}"]',
        *lines[49:],
    ]


def test_many_kinds_are_told_by_number() -> None:
    """The five that come most often by an example, the others together."""
    words = ["one", "two", "three", "four", "five", "six", "seven"]
    lines = [f"INFO {word} finished {number}" for number in range(30) for word in words]

    folded = fold_logs("\n".join(lines))

    told = re.findall(r'(\d+) like "INFO (\w+) finished \d+"', folded)
    assert len(told) == 5
    assert re.search(r"; (\d+) of 2 other kinds\]", folded)
    _assert_counts_hold(lines, folded)


@pytest.mark.parametrize(
    "line",
    [
        "tests/test_a.py::test_number_{} PASSED [ 12%]",
        "test parser::case_{} ... ok",
        "  \u2713 adds {} numbers (3 ms)",
        "--- PASS: TestSum{} (0.00s)",
        "ok {} - adds numbers",
        "[{}] GET /health 200 2026-02-11 10:00:00",
        "level=info msg=finished id={}f3a-11ab",
        "Feb 11 10:00:00 host cron: run {}",
    ],
)
def test_marks_of_a_log_are_known(line: str) -> None:
    """Times, levels, and tests that passed, whatever their names."""
    letters = "abcdefgh"
    lines = [
        line.format(letters[number % 8] if "PASSED" in line else number) for number in range(60)
    ]

    folded = fold_logs("\n".join(lines))

    assert folded.count("\n") < 25
    _assert_counts_hold(lines, folded)


@pytest.mark.parametrize(
    "line",
    [
        "    array[{0}] = array[{0}] + 1;",
        "src/a.py:{0}: return value",
        "{0},12.5,2026-02-11",
        '  "created at": "2026-02-11T10:00:{0}",',
        "created: 2026-02-11 day {0}",
        "| 2026-02-11 | alice smith | {0} |",
        "2026-02-11 ERROR worker lost job {0}",
        "  \u2717 adds {0} numbers",
        "collected numpy 1.2.{0} from cache",
    ],
)
def test_code_tables_searches_and_failures_are_left_alone(line: str) -> None:
    """Their numbers are what they are read for."""
    text = "\n".join(line.format(number) for number in range(60))

    assert fold_logs(text) is text


@pytest.mark.parametrize("count", [0, 1, 20, 250_000])
def test_short_and_endless_outputs_are_left_alone(count: int) -> None:
    """There is nothing to win, or it would take too long."""
    text = "\n".join([event(1)] * count)

    assert fold_logs(text) is text


def test_a_line_that_a_marker_counts_stays_above_it() -> None:
    """Runs that were counted before are not torn from their counts."""
    marker = "[trimtab: the line above comes 9 times in a row]"
    lines = [event(number) for number in range(60)]
    lines[30:30] = [event(99), marker]

    folded = fold_logs("\n".join(lines))

    assert f"{event(99)}\n{marker}" in folded


LINES = st.one_of(
    st.integers(0, 3599).map(event),
    st.sampled_from(
        ["", "plain words", "ERROR: job 3 failed", "test a ... ok", "DEBUG cache hit 0a1b2c3d"]
    ),
)


@given(st.lists(LINES, min_size=20, max_size=90))
def test_every_line_is_kept_or_counted(lines: list[str]) -> None:
    """Kept lines are in their order, counts add up, failures are all there; twice is once."""
    folded = fold_logs("\n".join(lines))

    _assert_counts_hold(lines, folded)
    assert folded.count("ERROR: job 3 failed") == lines.count("ERROR: job 3 failed")
    assert folded.split("\n")[:5] == lines[:5]
    assert folded.split("\n")[-10:] == lines[-10:]
    assert fold_logs(folded) == folded


def _assert_counts_hold(lines: list[str], folded: str) -> None:
    """Walk through both: a marker stands for as many lines as it says."""
    place = 0
    for line in folded.split("\n"):
        gap = GAP.fullmatch(line)
        if gap:
            place += int(gap[1])
        elif not line.startswith("[trimtab: of the lines left out above, "):
            assert line == lines[place]
            place += 1
    assert place == len(lines)
