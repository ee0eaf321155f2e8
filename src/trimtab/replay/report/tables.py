"""Tables of the report: figures to the right, a caption always, wide ones scroll by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.replay.report.markup import Child, Html, join, tag

__all__ = ["Column", "table"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        title: What stands above it.
        is_figure: Whether it holds numbers.
        key: What the script that draws charts knows it by; empty for none.
        is_head: Whether its cells name their row.
    """

    title: str
    is_figure: bool = True
    key: str = ""
    is_head: bool = False


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Child]],
    *,
    name: str = "",
    classes: Sequence[str] = (),
) -> Html:
    """Make a table.

    Args:
        caption: What it shows; read out before it.
        columns: Its columns.
        rows: Its cells; shape ``(rows, columns)``.
        name: Its id; empty for none.
        classes: A class for each row, in order; empty for none at all.
    """
    head = tag("tr", *(_title(column) for column in columns))
    body = [
        tag("tr", *map(_cell, columns, row), class_=(classes[place] or None) if classes else None)
        for place, row in enumerate(rows)
    ]
    inner = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", head),
        tag("tbody", *body),
        id=name or None,
    )
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _title(column: Column) -> Html:
    return tag(
        "th",
        column.title,
        scope="col",
        class_="n" if column.is_figure else None,
        data_key=column.key or None,
    )


def _cell(column: Column, child: Child) -> Html:
    kind = "n" if column.is_figure else None
    if column.is_head:
        return tag("th", join(child), scope="row", class_=kind)
    return tag("td", join(child), class_=kind)
