"""Make HTML in which every word is escaped, unless it is HTML already."""

from __future__ import annotations

import html
from typing import TypeAlias

__all__ = ["Child", "Html", "join", "tag"]


class Html(str):
    """A text that is HTML: it is put into other HTML as it is."""

    __slots__ = ()


Child: TypeAlias = "str | Html | None"
"""What stands in an element: words, HTML, or nothing."""


def join(*children: Child) -> Html:
    """Put words and HTML side by side."""
    return Html("".join(_safe(child) for child in children if child is not None))


def tag(name: str, *children: Child, **attributes: str | bool | None) -> Html:
    """Make an element.

    Args:
        name: Its name.
        children: What stands in it.
        attributes: By name, ``-`` written as ``_``, one at the end left out (``class_``); True
            for one without a value, None or False for one that is not there.
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    return Html(f"<{name}{shown}>{join(*children)}</{name}>")


def _attribute(key: str, value: str | bool | None) -> str:  # noqa: FBT001 - as HTML has it
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{_clean(value)}"'


def _safe(child: str) -> str:
    return child if isinstance(child, Html) else _clean(child)


def _clean(words: str) -> str:
    """Escape words, and leave out what no HTML file may hold: control characters, half characters."""
    if not words.isprintable():
        words = "".join(each if each.isprintable() or each in "\n\t" else "�" for each in words)
    return html.escape(words)
