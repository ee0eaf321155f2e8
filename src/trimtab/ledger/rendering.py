"""A ledger as text, in so many tokens, and back.

Each entry begins with a dash, its further lines with two blanks: no word of
an entry stands at the beginning of a line, so none can pass for a heading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.boundaries import MADE_PREFIX
from trimtab.ledger.claims import claim_of
from trimtab.ledger.ledger import Ledger
from trimtab.ledger.texts import shortened, tidy
from trimtab.ledger.values import tells_of_failure

__all__ = ["read_ledger", "render"]

_HEADINGS = {
    "rules": "Rules in the user's words:",
    "words": "The user also said:",
    "files": "Files:",
    "values": "From removed outputs:",
    "carried": "Plan:",
}
_SECTIONS = {heading: name for name, heading in _HEADINGS.items()}
_ITEM, _MORE = "- ", "  "
_LINE_BREAK = "\n"

_FILES_SHARE, _OTHERS_SHARE = (1, 5), (3, 10)
"""What is kept free for files, and for values and what is carried, as far as they need it; half is
the user's."""

_MESSAGE_SHARE = 4
"""A long message is quoted in at most a fourth of the room, so that others have some."""

_MOST_CHARACTERS_A_TOKEN = 16
"""A text of more is surely too long, and is not counted to find out."""

_LEAST_QUOTED = 12
"""Tokens below which a part of a message is not worth its line."""


def render(ledger: Ledger, max_tokens: int, count: Callable[[str], int]) -> str:
    """Write a ledger down, as much of it as there is room for.

    Half of the room is for the user's words, rules first; a fifth for files;
    the rest for values, then for what is carried. What files and values do not
    need goes to the user's words; what those do not need stays empty, because
    the list is paid for at every turn and values are seldom asked for.

    Args:
        ledger: What is to be listed.
        max_tokens: What the text may weigh.
        count: Counts the tokens of a text.

    Returns:
        The text; empty where there is nothing to say or no room for it.
    """
    if not ledger or max_tokens <= 0:
        return ""
    page = _Page(ledger, count)
    whole = page.whole()
    if len(whole) <= max_tokens * _MOST_CHARACTERS_A_TOKEN and count(whole) <= max_tokens:
        return whole
    files = min(max_tokens * _FILES_SHARE[0] // _FILES_SHARE[1], page.weight("files"))
    others = min(
        max_tokens * _OTHERS_SHARE[0] // _OTHERS_SHARE[1],
        page.weight("values") + page.weight("carried"),
    )
    page.fill("rules", max_tokens - files - others)
    page.fill("words", max_tokens - files - others)
    page.fill("files", page.tokens + files)
    room = page.tokens + others
    for section in ("values", "carried"):
        page.fill(section, room)
    for section in ("rules", "words"):
        page.fill(section, max_tokens)
    return page.within(max_tokens)


@dataclass(slots=True)
class _Page:
    """What is chosen so far."""

    ledger: Ledger
    count: Callable[[str], int]
    chosen: dict[str, dict[int, str]] = field(default_factory=dict)
    tokens: int = 0
    order: list[tuple[str, int]] = field(default_factory=list)
    """In which order they were chosen: the last goes first."""

    def weight(self, section: str) -> int:
        """What a whole section weighs."""
        entries = getattr(self.ledger, section)
        return (
            self.count(_HEADINGS[section] + _LINE_BREAK + "".join(map(_lines, entries)))
            if entries
            else 0
        )

    def fill(self, section: str, room: int) -> None:
        """Choose entries of a section, those of most claim first, until the page weighs as much."""
        entries = getattr(self.ledger, section)
        chosen = self.chosen.setdefault(section, {})
        head = 0 if chosen else self.count(_HEADINGS[section] + _LINE_BREAK)
        for place in _ranked(section, entries):
            if place in chosen:
                continue
            left = room - self.tokens - head
            text, tokens = self._quoted(section, entries[place], left)
            if not text or tokens > left:
                continue
            chosen[place] = text
            self.order.append((section, place))
            self.tokens += head + tokens
            head = 0

    def _quoted(self, section: str, entry: str, room: int) -> tuple[str, int]:
        """As much of an entry as there is room for, as lines, and what it weighs."""
        line = _lines(entry)
        tokens = self.count(line)
        most = room // _MESSAGE_SHARE if section == "words" else room
        if tokens <= max(most, min(room, _SHORT_ENTRY)) or section not in ("rules", "words"):
            return line, tokens
        if most < _LEAST_QUOTED:
            return "", 0
        quoted = shortened(
            tidy(entry),
            lambda sentence: claim_of(sentence).weight,
            lambda text: self.count(_lines(text)) <= most,
        )
        line = _lines(quoted) if quoted else ""
        return line, self.count(line) if line else 0

    def within(self, max_tokens: int) -> str:
        """The page; where joined lines weigh more than alone, without what was chosen last."""
        text = self.text()
        while self.order and self.count(text) > max_tokens:
            section, place = self.order.pop()
            del self.chosen[section][place]
            text = self.text()
        return text if self.order else ""

    def whole(self) -> str:
        """The page with all that there is."""
        everything = {
            section: {
                place: _lines(entry) for place, entry in enumerate(getattr(self.ledger, section))
            }
            for section in _HEADINGS
        }
        return _LINE_BREAK.join(_told(everything))

    def text(self) -> str:
        """The page with what was chosen."""
        return _LINE_BREAK.join(_told(self.chosen))


def _told(chosen: Mapping[str, Mapping[int, str]]) -> Iterator[str]:
    for section, heading in _HEADINGS.items():
        lines = chosen.get(section)
        if lines:
            yield heading
            yield from (lines[place].removesuffix(_LINE_BREAK) for place in sorted(lines))


_SHORT_ENTRY = 60


def _lines(entry: str) -> str:
    """An entry as lines of which none can pass for a heading."""
    return _ITEM + tidy(entry).replace(_LINE_BREAK, _LINE_BREAK + _MORE) + _LINE_BREAK


def _ranked(section: str, entries: Sequence[str]) -> list[int]:
    """Places of entries, those of most claim first."""
    newest = range(len(entries) - 1, -1, -1)
    match section:
        case "rules":
            return sorted(newest, key=lambda place: -_rule_rank(entries[place]))
        case "words":
            return sorted(newest, key=lambda place: -_word_rank(entries[place]))
        case "values":
            return sorted(newest, key=lambda place: not tells_of_failure(entries[place]))
        case "carried":
            return list(range(len(entries)))
        case _:
            return list(newest)


_LONG_CHARACTERS = 600
_FULL_CLAIM = 8
_FREE_CHARACTERS = 40


def _rule_rank(entry: str) -> float:
    """What a rule claims for the room that it takes: of two that bind as much, the shorter first."""
    claim: float = min(_FULL_CLAIM, claim_of(entry).weight)
    return claim / math.sqrt(_FREE_CHARACTERS + len(entry))


def _word_rank(entry: str) -> int:
    """2 for a statement or an order that says something exact, 1 for others, 0 for something pasted."""
    if len(entry) > _LONG_CHARACTERS:
        return 0
    return 2 if claim_of(entry).weight >= 2 else 1


def read_ledger(text: str) -> Ledger:
    """Read a ledger back from a marker's text.

    Args:
        text: The text, with or without the line that every marker begins with.

    Returns:
        What it lists; empty where it lists nothing.
    """
    lines = text.split(_LINE_BREAK)
    if lines[0].startswith(MADE_PREFIX):
        del lines[0]
    found: dict[str, list[str]] = {}
    section: list[str] | None = None
    for line in lines:
        if line in _SECTIONS and _SECTIONS[line] not in found:
            section = found.setdefault(_SECTIONS[line], [])
        elif section is not None and line.startswith(_ITEM):
            section.append(line.removeprefix(_ITEM))
        elif section and line.startswith(_MORE):
            section[-1] += _LINE_BREAK + line.removeprefix(_MORE)
        elif line.strip() or section is not None:
            break
    return Ledger(**{name: tuple(entries) for name, entries in found.items()})
