"""Reads a page strictly: what a browser would forgive is an error here."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

__all__ = ["Page", "page_of"]

_VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")

Attributes = dict[str, str | None]


@dataclass
class Page(HTMLParser):
    """A page, read.

    Attributes:
        elements: Every element with its attributes, in order.
        texts: The words of each kind of element, in order.
        headings: Levels of the headings, in order.
        errors: What is wrong with it.
    """

    elements: list[tuple[str, Attributes]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    headings: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self._words: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.errors.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, dict(attrs)))
        if tag in _HEADINGS:
            self.headings.append(_HEADINGS.index(tag) + 1)
        if tag not in _VOID:
            self._open.append(tag)
            self._words.append([])

    def handle_endtag(self, tag: str) -> None:
        """It ends: it must be the one that is open."""
        if not self._open or self._open[-1] != tag:
            self.errors.append(f"</{tag}> closes {self._open[-1:]}")
            return
        self._open.pop()
        words = "".join(self._words.pop())
        self.texts.setdefault(tag, []).append(words)
        if self._words:
            self._words[-1].append(words)

    def handle_data(self, data: str) -> None:
        """Words in it."""
        if self._words:
            self._words[-1].append(data)

    def close(self) -> None:
        """The page ends: nothing may be open."""
        super().close()
        self.errors += [f"<{tag}> is never closed" for tag in self._open]

    def all(self, name: str) -> list[Attributes]:
        """The attributes of every element of a name."""
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def ids(self) -> list[str]:
        """Every id."""
        return [value for _, each in self.elements if (value := each.get("id")) is not None]

    @property
    def charts(self) -> list[Attributes]:
        """Every place for a chart."""
        return [each for each in self.all("div") if each.get("data-chart")]


def page_of(text: str) -> Page:
    """Read a page."""
    page = Page()
    page.feed(text)
    page.close()
    return page
