"""What the user said: sentences that bind, and every other message; what is replaced is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.ledger.claims import BINDING, claim_of, is_material
from trimtab.ledger.subjects import Statement, replaced, statement_of, tells_of_change
from trimtab.ledger.texts import clauses, joined, pieces, shortened, without

__all__ = ["Said", "said_in", "standing"]

_SHORT_CHARACTERS = 320
"""A line up to here is taken whole: its sentences lean on one another."""

_LONG_CHARACTERS = 1_500
"""From here on a message is likely to hold something pasted."""

_MOST_CHARACTERS = 1_000
"""What is listed of one message beside its rules."""

_LONGEST_RULE = 600
_LARGEST_MESSAGE = 40_000
"""Of a longer message both ends are looked at."""

_EDGE_PIECES = 4
"""Pieces at each end of a long message that are likely the user's own."""

_DOUBT = 2
"""What a sentence inside something pasted must claim beyond others."""

_MOST_RULES_EACH = 24
_MOST_ENTRIES = 300
_MOST_CLAUSES = 8

_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)]|\[[ x]\])\s+\S")
_WHOLE = -1
_WORDLESS = re.compile(r"[\W_]*")


@dataclass(frozen=True, slots=True)
class Said:
    """Something the user said.

    Attributes:
        text: The words, tidy.
        time: Which message it is from; later ones count higher.
        is_rule: Whether it binds.
    """

    text: str
    time: int
    is_rule: bool


_BULLET = re.compile(r"^(?:[-*+•–]|\d{1,2}[.)])\s+")
"""A mark of a list, of which an entry is one already."""


def said_in(text: str, time: int) -> list[Said]:
    """Take a message apart into its rules and the rest.

    Args:
        text: The user's own words, tidy.
        time: Which message it is.
    """
    if len(text) <= _SHORT_CHARACTERS and "\n" not in text:
        claim = claim_of(text)
        return [] if claim.is_small_talk else [Said(text, time, claim.weight >= BINDING)]
    text = _ends(text)
    parts = list(_parts(text))
    rules = _rules(parts, is_long=len(text) > _LONG_CHARACTERS)
    said = [
        Said(_fitting(_BULLET.sub("", parts[place].strip()), _LONGEST_RULE), time, is_rule=True)
        for place in sorted(rules)
    ]
    rest = without(parts, lambda place: place in rules)
    rest = _fitting(rest, _MOST_CHARACTERS)
    if not _WORDLESS.fullmatch(rest) and not claim_of(rest).is_small_talk:
        said.append(Said(rest, time, is_rule=False))
    return said


def _ends(text: str) -> str:
    if len(text) <= _LARGEST_MESSAGE:
        return text
    half = _LARGEST_MESSAGE // 2
    head, tail = text[:half].rpartition("\n")[0], text[-half:].partition("\n")[2]
    return f"{head}\n{tail}" if head or tail else ""


def _parts(text: str) -> Iterator[str]:
    """Short lines whole, longer ones by sentences."""
    for line in _announced(text.splitlines(keepends=True)):
        if len(line) <= _SHORT_CHARACTERS:
            yield line
        else:
            yield from pieces(line)


def _announced(lines: Sequence[str]) -> Iterator[str]:
    """Lines, each that ends with a colon together with what it announces, where that is no list."""
    head = ""
    for line in lines:
        if head and (_ITEM.match(line) or len(head) + len(line) > _SHORT_CHARACTERS):
            yield head
            head = ""
        line = head + line  # noqa: PLW2901 - it grew
        if line.rstrip().endswith((":", "：")):
            head = line
        else:
            head = ""
            yield line
    if head:
        yield head


def _rules(parts: Sequence[str], *, is_long: bool) -> set[int]:
    """Places of the parts that bind."""
    claims: dict[int, int] = {}
    is_quoted = is_listed = False
    for place, part in enumerate(parts):
        if _FENCE.match(part):
            is_quoted = not is_quoted
            continue
        if is_quoted or is_material(part):
            continue
        is_item = _ITEM.match(part) is not None
        claim = claim_of(part)
        weight = claim.weight + (_DOUBT if is_item and is_listed else 0)
        is_edge = place < _EDGE_PIECES or place >= len(parts) - _EDGE_PIECES
        if weight >= BINDING + (0 if is_edge or not is_long else _DOUBT):
            claims[place] = weight
        if not is_item:
            is_listed = part.rstrip().endswith((":", "：")) and claim.weight >= 2
    order = sorted(claims, key=lambda place: (-claims[place], place))
    return set(order[:_MOST_RULES_EACH])


def _fitting(text: str, most: int) -> str:
    return shortened(text, _worth, lambda quotation: len(quotation) <= most)


def _worth(sentence: str) -> float:
    return claim_of(sentence).weight


def standing(said: Sequence[Said], newer: Sequence[Said] = (), seen: str = "") -> list[Said]:
    """Say what of it still holds.

    Args:
        said: All that the user said, oldest first.
        newer: What was said since, which is not listed but may replace what is.
        seen: What the user said that stays; nothing in it is listed again.

    Returns:
        Those that hold, oldest first, without what a newer one replaces.
    """
    entries = _most(_once([entry for entry in said if entry.text not in seen]))
    parts = [_clauses(entry) for entry in entries]
    statements: list[Statement] = []
    times: list[int] = []
    owners: list[tuple[int, int]] = []
    for number, entry in enumerate(entries):
        for place, statement in _statements(entry, parts[number]):
            statements.append(statement)
            times.append(entry.time)
            owners.append((number, place))
    latest = max(times, default=0)
    for entry in newer:
        for place, statement in _statements(entry, _clauses(entry)):
            statements.append(statement)
            times.append(latest + 1 + entry.time)
            owners.append((len(entries), place))
    gone = {owners[place] for place in replaced(statements, times)}
    held = (_left(entry, number, parts[number], gone) for number, entry in enumerate(entries))
    return [entry for entry in held if entry is not None]


def _statements(entry: Said, parts: Sequence[str]) -> Iterator[tuple[int, Statement]]:
    """Each clause as a statement, and all of them together, which replaces what no clause does alone."""
    is_change = _tells_of_change(entry)
    for place, clause in enumerate(parts):
        yield place, statement_of(clause, is_change=is_change)
    if len(parts) > 1 and len(entry.text) <= _SHORT_CHARACTERS:
        yield _WHOLE, statement_of(entry.text, is_change=is_change)


def _left(
    entry: Said, number: int, parts: Sequence[str], gone: set[tuple[int, int]]
) -> Said | None:
    kept = [place for place in range(len(parts)) if (number, place) not in gone]
    if not parts or len(kept) == len(parts):
        return entry
    text = joined(parts, kept)
    return None if _WORDLESS.fullmatch(text) else Said(text, entry.time, entry.is_rule)


def _tells_of_change(entry: Said) -> bool:
    """Whether something short tells of a change; then each of its clauses may be what changed."""
    return len(entry.text) <= _SHORT_CHARACTERS and tells_of_change(entry.text)


def _clauses(entry: Said) -> list[str]:
    """The clauses of something short; nothing of a longer text, which is about many things."""
    if len(entry.text) > _LONGEST_RULE:
        return []
    found = clauses(entry.text)
    return found if len(found) <= _MOST_CLAUSES else []


def _once(entries: Sequence[Said]) -> list[Said]:
    """Each text once, where it was said last; a rule stays one."""
    last: dict[str, Said] = {}
    for entry in entries:
        key = " ".join(entry.text.lower().split())
        former = last.pop(key, None)
        is_rule = entry.is_rule or (former is not None and former.is_rule)
        last[key] = Said(entry.text, entry.time, is_rule)
    return list(last.values())


def _most(entries: Sequence[Said]) -> list[Said]:
    """As many as are looked at: all rules that claim most, then the newest words."""
    rules = [place for place, entry in enumerate(entries) if entry.is_rule]
    words = [place for place, entry in enumerate(entries) if not entry.is_rule]
    if len(rules) > _MOST_ENTRIES:
        rules.sort(key=lambda place: (-claim_of(entries[place].text).weight, -place))
    kept = {*rules[:_MOST_ENTRIES], *words[-_MOST_ENTRIES:]}
    return [entry for place, entry in enumerate(entries) if place in kept]
