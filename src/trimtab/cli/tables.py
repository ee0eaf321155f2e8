"""Tables that look the same in every command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from trimtab.cli.talk import readable

__all__ = ["Bar", "Cell", "Column", "cell", "number", "percent", "preview", "show_table"]

_PREVIEW_CHARACTERS = 200
"""More than a line of the widest terminal shows."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: What stands above it.
        kind: ``name`` keeps its words on one line, ``figure`` is set right,
            ``words`` wraps where room is short, ``rest`` takes what room is
            left and is cut there.
        least: Columns of the screen that it takes at least.
        most: Columns of the screen after which a name is cut.
    """

    title: str
    kind: Literal["name", "figure", "words", "rest"] = "words"
    least: int = 0
    most: int = 44


@dataclass(frozen=True, slots=True)
class Bar:
    """A share between 0 and 1 as a bar, at most 24 columns long."""

    share: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        eighths = round(min(1.0, self.share) * options.max_width * 8)
        if options.ascii_only:
            yield Text("#" * round(eighths / 8), style="cyan")
            return
        full, rest = divmod(eighths, 8)
        yield Text("█" * full + " ▏▎▍▌▋▊▉"[rest].strip(), style="cyan")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(4, min(24, options.max_width))


Cell: TypeAlias = str | int | Text | Bar
"""A plain text may come out of a file; a whole number is set with its thousands apart."""


def show_table(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table and an empty line.

    Args:
        console: Where.
        columns: From left to right.
        rows: A cell for each column.
    """
    table = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style="bold"
    )
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.kind == "figure" else "left",
            no_wrap=column.kind in ("name", "figure"),
            overflow="fold" if column.kind == "words" else "ellipsis",
            max_width=column.most if column.kind == "name" else None,
            min_width=column.least or None,
        )
    for row in rows:
        table.add_row(*(_rendered(cell_) for cell_ in row))
    with console.capture() as captured:
        console.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    console.file.write("\n")


def _rendered(value: Cell) -> Text | Bar:
    match value:
        case int():
            return Text(number(value))
        case str():
            return Text(readable(value))
        case _:
            return value


def cell(words: str, style: str) -> Text:
    """A text with a style."""
    return Text(readable(words), style=style)


def number(value: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,}"


def percent(part: int, whole: int) -> str:
    """A share in whole percent; neither nothing nor all where it is only nearly so."""
    if 0 < part <= whole / 200:
        return "<1%"
    return ">99%" if whole > part >= whole * 199 / 200 else f"{part / whole:.0%}"


def preview(words: str) -> Text:
    """The beginning of a text, on one line however little room there is."""
    line = readable(words[: _PREVIEW_CHARACTERS * 4])[:_PREVIEW_CHARACTERS]
    return Text(line, style="dim", no_wrap=True, overflow="ellipsis")
