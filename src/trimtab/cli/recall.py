"""``trimtab recall``: give back what a compaction removed, or find it in a whole session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trimtab.cli.recordings import read_file
from trimtab.cli.tables import number
from trimtab.cli.talk import FINE, NOT_FINE, UsageError, complain, print_json, say, screen
from trimtab.errors import RequestError
from trimtab.stores.archive import Archive, Archived, lines_with, message_id, words_of
from trimtab.stores.listing import opened
from trimtab.wire import read

__all__ = ["by_id", "search"]

_LINES = 5
"""Lines of a message that are shown; --json has all."""

_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class _Hit:
    """A message that holds what was looked for."""

    id: str
    role: str
    place: int
    lines: Sequence[str]


def by_id(item: str, *, where: str, tenant: str, as_json: bool) -> int:
    """Print what is kept by an id.

    Returns:
        0; 1 where nothing is.

    Raises:
        StoreError: If the store cannot be read.
    """
    found = asyncio.run(_recall(item, where, tenant))
    if found is None:
        complain(
            f"nothing is kept as {item}",
            "it has expired, is of another tenant, or no archive was kept (docs/stores.md)",
        )
        return NOT_FINE
    if as_json:
        print_json(
            {
                "id": found.id,
                "conversation": found.conversation,
                "format": found.format,
                "role": found.role,
                "message": found.place + 1,
                "text": found.text,
            }
        )
    else:
        print(found.text)  # noqa: T201 - to the letter, for whoever pipes it on
    return FINE


async def _recall(item: str, where: str, tenant: str) -> Archived | None:
    async with opened(where) as store:
        return await Archive(store).recall(item, tenant)


def search(session: str, text: str, *, where: str, tenant: str, as_json: bool) -> int:
    """Print the messages of a session that hold a text.

    Args:
        session: A recorded session, or the id of a stored conversation.
        text: What is looked for, in whatever case.
        where: The store, for a stored conversation.
        tenant: Whose it is.
        as_json: Whether JSON is printed.

    Returns:
        0; 1 where nothing is found.
    """
    if not text:
        raise UsageError("--grep has no text", "name what to look for")
    path = Path(session)
    if path.is_file():
        found = list(_in_recording(path, text))
    else:
        found = asyncio.run(_in_store(session, text, where, tenant))
    if as_json:
        print_json(
            {
                "found": [
                    {"id": hit.id, "role": hit.role, "message": hit.place + 1, "lines": hit.lines}
                    for hit in found
                ]
            }
        )
    else:
        _show(found)
    return FINE if found else NOT_FINE


async def _in_store(conversation: str, text: str, where: str, tenant: str) -> list[_Hit]:
    async with opened(where) as store:
        found = Archive(store).search(text, tenant, conversation=conversation.lower())
        hits = [
            _Hit(each.id, each.role, each.place, list(lines_with(each.words, text)))
            async for each in found
        ]
    return sorted(hits, key=lambda hit: hit.place)


def _in_recording(path: Path, text: str) -> Iterator[_Hit]:
    """The messages of a recording that hold a text, each once, whatever requests it stands in."""
    recordings = read_file(path)
    if isinstance(recordings, str):
        raise RequestError(recordings)
    seen: set[str] = set()
    for recording in recordings:
        for recorded in recording.requests:
            request = read(recorded.build(), recorded.format or None)
            for place, message in enumerate(request.messages):
                name = message_id(request.message_bytes(place))
                if name in seen:
                    continue
                seen.add(name)
                lines = list(lines_with(words_of(message.parts), text))
                if lines:
                    yield _Hit(name, message.role, place, lines)


def _show(found: Sequence[_Hit]) -> None:
    console = screen()
    for hit in found:
        say(console, (f"message {number(hit.place + 1)}", "bold"), f", {hit.role}, {hit.id}")
        for line in islice(hit.lines, _LINES):
            say(console, line.strip()[:_CHARACTERS], indent=2)
        if len(hit.lines) > _LINES:
            say(console, (f"{number(len(hit.lines) - _LINES)} more lines", "dim"), indent=2)
    many = "1 message" if len(found) == 1 else f"{number(len(found))} messages"
    say(console, (f"{many} found", "bold"))
