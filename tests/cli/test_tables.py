"""Tables on screens of every width."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console
from rich.text import Text

from trimtab.cli.tables import Bar, Cell, Column, cell, number, percent, preview, show_table


def shown(
    columns: Sequence[Column], *rows: Sequence[Cell], width: int = 80, encoding: str = "utf-8"
) -> list[str]:
    """What a table looks like."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    show_table(Console(file=stream, width=width, markup=False, emoji=False), columns, rows)
    stream.flush()
    return raw.getvalue().decode(encoding).splitlines()


def test_figures_stand_right_and_lines_end_where_words_end() -> None:
    """Thousands are set apart, no line ends in blanks, and an empty line follows."""
    columns = (Column("what"), Column("tokens", "figure"), Column("why"))

    assert shown(columns, ("all", 1_234_567, "so"), ("a part", 12, "")) == [
        "what        tokens   why",
        "────────────────────────",
        "all      1,234,567   so",
        "a part          12",
        "",
    ]


def test_what_is_cut_says_so() -> None:
    """Names are cut at their most, the rest where the screen ends; words wrap."""
    columns = (Column("name", "name", most=8), Column("words"), Column("rest", "rest"))

    lines = shown(
        columns,
        ("a name that is long", "some words that wrap", preview("a text " * 99)),
        width=34,
    )

    assert lines == [
        "name       words        rest",
        "──────────────────────────────────",
        "a name …   some words   a text a …",
        "           that wrap",
        "",
    ]


@pytest.mark.parametrize(
    ("share", "bar"),
    [
        (0.0, ""),
        (0.001, ""),
        (1 / 192, "▏"),
        (0.5, "████████████"),
        (0.99, "███████████████████████▊"),
        (1.0, "████████████████████████"),
        (7.0, "████████████████████████"),
    ],
)
def test_a_bar_is_as_long_as_its_share(share: float, bar: str) -> None:
    """It is 24 columns at most, in eighths of a column."""
    assert shown((Column("", "rest"),), (Bar(share),))[2] == bar


def test_a_bar_shrinks_first() -> None:
    """Where room is short, figures stay and bars get shorter."""
    columns = (Column("name", "name"), Column("tokens", "figure"), Column("", "rest"))

    assert shown(columns, ("a name", 1_000_000, Bar(1.0)), width=30)[2] == (
        "a name   1,000,000   █████████"
    )


def test_a_narrow_encoding_gets_narrow_signs() -> None:
    """Where the terminal has no block elements, a bar is made of number signs."""
    columns = (Column("a"), Column("", "rest"))

    lines = shown(columns, ("é", Bar(0.5)), encoding="ascii")

    assert lines == ["a |", "--+-------------------------", "? | ############", ""]


def test_cells_show_text_as_it_is() -> None:
    """No text is markup, and none steers the terminal."""
    odd = "[red]\x1b[31m\x9b:smile:\n\u202e[/]"

    told = shown((Column("a"), Column("b")), (odd, cell(odd, "bold")))

    assert told[2] == "[red]�[31m�:smile: �[/]   [red]�[31m�:smile: �[/]"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", ""),
        ("one\n\ttwo   three\r\n", "one two three"),
        ("x" * 1_000_000, "x" * 200),
        ("a " * 1_000, ("a " * 100)[:200]),
    ],
)
def test_a_preview_is_the_beginning_on_one_line(words: str, line: str) -> None:
    """Blanks are taken together, and a long text is not looked at whole."""
    text = preview(words)

    assert (text.plain, text.no_wrap, text.overflow) == (line, True, "ellipsis")


def test_numbers_are_set_apart() -> None:
    """Thousands by commas, below zero too."""
    assert [number(0), number(999), number(-1_234_567)] == ["0", "999", "-1,234,567"]
    assert cell("a\nb", "dim") == Text("a b", style="dim")


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (0, "0%"),
        (1, "<1%"),
        (4, "<1%"),
        (5, "<1%"),
        (6, "1%"),
        (500, "50%"),
        (994, "99%"),
        (999, ">99%"),
        (1_000, "100%"),
    ],
)
def test_nearly_nothing_is_not_nothing(part: int, told: str) -> None:
    """Neither 0 % nor 100 % is said of what only comes near."""
    assert percent(part, 1_000) == told
