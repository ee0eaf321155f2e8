"""Tables that look the same in every command."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

__all__ = ["bar", "number", "plain_table", "preview"]

_BAR_WIDTH = 24
_PREVIEW_CHARACTERS = 60


def plain_table(title: str, *columns: str) -> Table:
    """A table whose first column is named by its title; ``tokens`` and such are set right."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column(title, overflow="fold", max_width=44)
    for column in columns:
        is_figure = column in ("tokens", "share", "messages", "saved")
        table.add_column(column, justify="right" if is_figure else "left", no_wrap=is_figure)
    return table


def number(value: int) -> str:
    """A whole number with its thousands set apart."""
    return f"{value:,}"


def bar(share: float) -> Text:
    """A share between 0 and 1 as a bar."""
    filled = round(max(0.0, min(1.0, share)) * _BAR_WIDTH)
    return Text("█" * filled + "░" * (_BAR_WIDTH - filled), style="cyan")


def preview(words: str) -> str:
    """The beginning of a text on one line."""
    line = " ".join(words[: _PREVIEW_CHARACTERS * 4].split())
    return line if len(line) <= _PREVIEW_CHARACTERS else line[: _PREVIEW_CHARACTERS - 1] + "…"
