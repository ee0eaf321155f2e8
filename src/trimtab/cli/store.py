"""``trimtab store``: say what is stored, for whom, how old and how large; and delete it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.cli.tables import Column, number, show_table
from trimtab.cli.talk import FINE, UsageError, print_json, say, screen
from trimtab.stores.keys import owners_of
from trimtab.stores.listing import Stored, conversations, opened, purge

__all__ = ["Wanted", "run", "seconds_of"]

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN = re.compile(r"(\d{1,6})([smhdw])")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations are meant.

    Attributes:
        conversation: The beginning of an id; empty for any.
        tenant: Whose; None for anybody's, empty for those of no tenant.
        older_seconds: Not used for so long; None for any.
    """

    conversation: str = ""
    tenant: str | None = None
    older_seconds: int | None = None

    @property
    def is_all(self) -> bool:
        """Whether it means all there are."""
        return self == Wanted()

    def holds(self, stored: Stored) -> bool:
        """Whether a conversation is meant."""
        if not stored.id.startswith(self.conversation.lower()):
            return False
        if self.older_seconds is not None and (stored.age_seconds or 0.0) < self.older_seconds:
            return False
        if self.tenant is None:
            return True
        return stored.about is not None and stored.about.owner in owners_of(self.tenant)


def seconds_of(span: str) -> int:
    """Read a span of time such as ``7d``.

    Raises:
        UsageError: If it is none.
    """
    told = _SPAN.fullmatch(span.strip())
    if told is None:
        raise UsageError(f"`{span}` is no span of time", "write 30m, 12h, 7d or 2w")
    return int(told[1]) * _UNITS[told[2]]


def run(where: str, wanted: Wanted, *, is_purge: bool, everything: bool, as_json: bool) -> int:
    """Show what a store holds, or delete it.

    Args:
        where: A file or an address; empty for the default file.
        wanted: Which conversations are meant.
        is_purge: Whether they are deleted.
        everything: Whether all of them may be.
        as_json: Whether JSON is printed.

    Returns:
        0.

    Raises:
        UsageError: If all would be deleted and nobody said so.
        StoreError: If the store cannot be used.
    """
    if is_purge and wanted.is_all and not everything:
        raise UsageError(
            "--purge deletes what is named, and nothing is",
            "name --conversation, --tenant or --older-than, or --all",
        )
    found, gone = asyncio.run(_look(where, wanted, is_purge=is_purge))
    if as_json:
        print_json({"conversations": [_as_json(each) for each in found], "deleted": gone})
    else:
        _show(found, gone if is_purge else None)
    return FINE


async def _look(where: str, wanted: Wanted, *, is_purge: bool) -> tuple[list[Stored], int]:
    async with opened(where) as store:
        found = [each for each in await conversations(store) if wanted.holds(each)]
        gone = await purge(store, {each.id for each in found}) if is_purge and found else 0
    return found, gone


def _as_json(stored: Stored) -> dict[str, object]:
    about = stored.about
    return {
        "id": stored.id,
        "tenant": None if about is None else _tenant(stored),
        "format": None if about is None else about.format,
        "model": None if about is None else about.model,
        "messages": None if about is None else about.messages,
        "tokens": None if about is None else about.tokens,
        "entries": stored.entries,
        "archived": stored.archived,
        "bytes": stored.size_bytes,
        "age_seconds": None if stored.age_seconds is None else int(stored.age_seconds),
    }


def _tenant(stored: Stored) -> str:
    """Whose it is, as far as it may be shown: its hash, or nothing for nobody's."""
    if stored.about is None:
        return "?"
    return "" if stored.about.owner in owners_of("") else stored.about.owner.hex()[:8]


def _show(found: Sequence[Stored], gone: int | None) -> None:
    console = screen()
    columns = (
        Column("conversation", "name", least=16),
        Column("tenant", "name", least=8),
        Column("model", "name"),
        Column("messages", "figure"),
        Column("tokens", "figure"),
        Column("bytes", "figure"),
        Column("used", "figure"),
    )
    rows = [
        (
            each.id,
            _tenant(each) or "-",
            (each.about.model if each.about else "?") or "-",
            each.about.messages if each.about else "?",
            each.about.tokens if each.about else "?",
            each.size_bytes,
            _ago(each.age_seconds),
        )
        for each in found
    ]
    if rows:
        show_table(console, columns, rows)
    many = "1 conversation" if len(found) == 1 else f"{number(len(found))} conversations"
    size = number(sum(each.size_bytes for each in found))
    if gone is None:
        say(console, (many, "bold"), f", {size} bytes")
    else:
        say(console, (f"{many} deleted", "bold"), f": {number(gone)} entries, {size} bytes")


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit in ("d", "h", "m"):
        if seconds >= _UNITS[unit]:
            return f"{int(seconds // _UNITS[unit])} {unit}"
    return "now"
