"""How sentences are printed: on a terminal, in a pipe, with and without colour."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.bodies import BROKEN, LONG, SESSION
from tests.cli.running import Trimtab, on_terminal, visible
from trimtab.cli.talk import readable, say

COLOUR = "\x1b[1;31m"


def told(*words: str | tuple[str, str], indent: int = 0, terminal: bool) -> str:
    """What a sentence looks like."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=20, force_terminal=terminal, color_system=None, markup=False
    )
    say(console, *words, indent=indent)
    return stream.getvalue()


def test_a_sentence_is_wrapped_for_people_only() -> None:
    """A terminal gets lines that fit and keep their indent; a program gets one line."""
    words = ("a sentence of more ", ("than twenty", "bold"), " columns")

    wrapped = told(*words, indent=4, terminal=True)
    whole = told(*words, indent=4, terminal=False)

    assert [line.rstrip() for line in wrapped.splitlines()] == [
        "    a sentence of",
        "    more than twenty",
        "    columns",
    ]
    assert whole == "    a sentence of more than twenty columns\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_sentence_steers_no_terminal(terminal: bool) -> None:  # noqa: FBT001 - a table's column
    """Escapes are shown, and brackets are no markup."""
    assert told("[b]\x1b[2J\ud800", terminal=terminal).rstrip() == "[b]�[2J�"


def test_readable_text_is_one_line() -> None:
    """Line breaks and blanks become one blank; what is no character becomes one that says so."""
    assert readable(" a\r\n\tb \x00\x7f\x9b\u200f\u2066é漢🙂 ") == "a b �����é漢🙂"


def test_errors_go_to_standard_error_with_a_hint(trimtab: Trimtab, tmp_path: Path) -> None:
    """Standard output is data; what is talk goes beside it."""
    ran = trimtab("check", tmp_path / "no")

    assert (ran.out, [line.split(":")[0] for line in ran.err.splitlines()]) == (
        "",
        ["error", "hint"],
    )


@pytest.mark.parametrize("columns", [60, 100])
def test_a_terminal_shows_reports_that_fit(tmp_path: Path, columns: int) -> None:
    """No line is wider than the screen, the status is gone in the end, and nothing is cut in words."""
    (tmp_path / "broken.json").write_bytes(BROKEN)
    (tmp_path / "long.json").write_bytes(LONG)
    name = "a-session-with-a-very-long-name-" + "0123456789" * 5 + ".jsonl"
    (tmp_path / name).write_bytes(SESSION)

    reports = [
        on_terminal("check", tmp_path / "broken.json", columns=columns),
        on_terminal("inspect", tmp_path / "long.json", columns=columns),
        on_terminal("compact", tmp_path / "long.json", "--budget", "330", columns=columns),
        on_terminal("check", tmp_path / name, columns=columns),
    ]

    assert [ran.code for ran in reports] == [1, 0, 0, 0]
    for ran in reports:
        lines = visible(ran.out)
        assert max(map(len, lines)) <= columns
        assert "reading" in ran.out
        assert not any("reading" in line for line in lines)
    told = " ".join(" ".join(visible(reports[0].out)).split())
    assert "Each `tool_use` block must have a corresponding `tool_result` block in" in told


def test_colour_is_never_the_only_sign(tmp_path: Path) -> None:
    """With NO_COLOR the words are the same, and no colour is left."""
    (tmp_path / "broken.json").write_bytes(BROKEN)

    colourful = on_terminal("check", tmp_path / "broken.json", columns=80)
    plain = on_terminal(
        "check", tmp_path / "broken.json", columns=80, environment={"NO_COLOR": "1"}
    )

    assert COLOUR in colourful.out
    assert COLOUR not in plain.out
    assert visible(plain.out) == visible(colourful.out)
    assert "not valid: 8 problems" in visible(plain.out)


def test_a_terminal_that_cannot_move_its_cursor_gets_no_status(tmp_path: Path) -> None:
    """A dumb terminal shows the report alone."""
    (tmp_path / "long.json").write_bytes(LONG)

    ran = on_terminal("inspect", tmp_path / "long.json", columns=80, environment={"TERM": "dumb"})

    assert "reading" not in ran.out
    assert "406 tokens in 8 messages" in ran.out


def test_a_pipe_gets_no_status_and_no_colour(trimtab: Trimtab, tmp_path: Path) -> None:
    """What a program reads holds no escapes, and nothing is said beside it."""
    (tmp_path / "broken.json").write_bytes(BROKEN)

    ran = trimtab("check", tmp_path / "broken.json")

    assert ("\x1b" in ran.out, ran.err) == (False, "")
