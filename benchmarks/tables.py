"""Show answers: as tables on a terminal, or as Markdown."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.bodies import cores
from benchmarks.figures import Answer, Row

__all__ = ["machine", "markdown", "missed", "replaced", "show"]

_NAME_WIDTH = 26
_STYLES = {"yes": "green", "NO": "bold red"}

_BESIDE = ("msgspec", "orjson", "bpe-openai")
"""Packages whose speed is part of the figures."""


def machine() -> str:
    """What it was measured on; no host name, no path."""
    packages = ", ".join(f"{name} {version(name)}" for name in _BESIDE)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.machine()}, {cores()} cores; {packages}"


def show(answer: Answer, console: Console) -> None:
    """Print an answer on a terminal."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold")
    first, *others = (column.replace("`", "") for column in _columns(answer))
    table.add_column(first, min_width=_NAME_WIDTH)
    for column in others:
        table.add_column(column, justify="right")
    for row in answer.rows:
        cells = [cell.replace("`", "") for cell in _cells(answer, row)]
        table.add_row(*cells[:-1], Text(cells[-1], _STYLES.get(cells[-1], "")))
    console.print(Text(answer.question.replace("`", ""), "bold"))
    console.print(table, end="")
    console.print(Text(answer.note.replace("`", ""), "dim"), end="\n\n")


def markdown(answer: Answer) -> str:
    """Write an answer as a Markdown table, with the command that makes it."""
    columns = _columns(answer)
    lines = [
        f"`python benchmarks/run.py {answer.name}`",
        "",
        _line(columns),
        _line(["---", *("---:" for _ in columns[1:])]),
        *(_line(_cells(answer, row)) for row in answer.rows),
    ]
    return "\n".join([*lines, "", answer.note, ""])


def replaced(page: str, name: str, text: str) -> str:
    """Put a text between the two marks that a page has for it.

    Args:
        page: Markdown with ``<!-- name -->`` and ``<!-- end of name -->`` on lines of their own.
        name: Which marks.
        text: What stands between them from now on.

    Raises:
        ValueError: If the page has no such marks.
    """
    before, begin, rest = page.partition(f"<!-- {name} -->\n")
    _, end, behind = rest.partition(f"<!-- end of {name} -->\n")
    if not end:
        raise ValueError(f"the page has no marks for {name}")
    return f"{before}{begin}\n{text.strip()}\n\n{end}{behind}"


def missed(answers: Iterable[Answer]) -> int:
    """How many figures lie above their targets."""
    targets = [row.target for answer in answers for row in answer.rows]
    return sum(target is not None and not target.is_met for target in targets)


def _has_targets(answer: Answer) -> bool:
    return any(row.target is not None for row in answer.rows)


def _columns(answer: Answer) -> Sequence[str]:
    return (*answer.columns, "target", "met") if _has_targets(answer) else (*answer.columns,)


def _cells(answer: Answer, row: Row) -> list[str]:
    if not _has_targets(answer):
        return list(row.cells)
    if row.target is None:
        return [*row.cells, "", ""]
    return [*row.cells, f"≤ {row.target.most:.2f}", "yes" if row.target.is_met else "NO"]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
