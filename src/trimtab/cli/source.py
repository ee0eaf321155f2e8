"""Read what a command is given: a file or standard input, and which of its requests is meant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from trimtab.cli.talk import UsageError, note, readable, say, working
from trimtab.errors import UnknownFormatError
from trimtab.replay import files
from trimtab.replay.recording import Recording
from trimtab.wire import read

__all__ = ["STDIN", "Source", "open_session", "open_source"]

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One request of a file.

    Attributes:
        kind: What the file is, such as ``claude-code``.
        session: Which of its sessions the request belongs to, for people.
        request: Its place in the file, from 1, as ``--request`` takes it.
        requests: How many the file has.
        body: The bytes of the request.
        format: Its wire format.
        unrecorded: Top-level fields that the recording does not hold.
        notes: What the reader skipped or guessed.
    """

    kind: str
    session: str
    request: int
    requests: int
    body: bytes = field(repr=False)
    format: str
    unrecorded: frozenset[str]
    notes: tuple[str, ...]

    def show(self, console: Console) -> None:
        """Print what it is, and tell what the reader told."""
        of_many = f"request {self.request} of {self.requests}, " if self.requests > 1 else ""
        say(console, (readable(self.session), "bold"))
        say(console, (f"{self.kind}, {of_many}{self.format}", "dim"))
        if self.unrecorded:
            missing = ", ".join(sorted(self.unrecorded))
            note(f"the recording does not hold these, so they are stubs or left out: {missing}")
        for told in self.notes:
            note(told)
        console.print()

    def as_json(self) -> dict[str, object]:
        """What every command says of its input."""
        return {
            "kind": self.kind,
            "session": self.session,
            "request": self.request,
            "requests": self.requests,
            "format": self.format,
            "unrecorded": sorted(self.unrecorded),
            "notes": list(self.notes),
        }


def open_source(file: str, request: int | None, format: str | None) -> Source:  # noqa: A002 - the option's name
    """Read a file and pick a request.

    Args:
        file: A path, or ``-`` for standard input.
        request: Its place over all sessions of the file, from 1; None for the largest.
        format: Name of the wire format; None to tell it from the content.

    Raises:
        UsageError: If there is no such file or no such request.
        RequestError: If nothing in the file can be used.
    """
    name = "standard input" if file == STDIN else Path(file).name
    with working(f"reading {name}"):
        recordings = files.load(_read(file), name)
        requests = [
            (recording, recorded) for recording in recordings for recorded in recording.requests
        ]
        place = _largest(recordings) if request is None else request - 1
        if place >= len(requests):
            raise UsageError(
                f"there is no request {request}: `{name}` has {len(requests)}",
                "count from 1, or leave --request out to take the largest",
            )
        recording, recorded = requests[place]
        body = recorded.build()
        chosen = format or recorded.format or _format_of(body, name)
    return Source(
        recording.kind,
        recording.name,
        place + 1,
        len(requests),
        body,
        chosen,
        recorded.unrecorded,
        recording.notes,
    )


def open_session(file: str, request: int | None) -> Recording:
    """Read a file and pick a session.

    Args:
        file: A path, or ``-`` for standard input.
        request: A request of it, counted over all sessions of the file from 1; None for
            the largest.

    Raises:
        UsageError: If there is no such file or no such request.
        RequestError: If nothing in the file can be used.
    """
    name = "standard input" if file == STDIN else Path(file).name
    with working(f"reading {name}"):
        recordings = files.load(_read(file), name)
    owners = [recording for recording in recordings for _ in recording.requests]
    place = _largest(recordings) if request is None else request - 1
    if place >= len(owners):
        raise UsageError(
            f"there is no request {request}: `{name}` has {len(owners)}",
            "count from 1, or leave --request out to take the largest",
        )
    return owners[place]


def _read(file: str) -> bytes:
    if file == STDIN:
        if sys.stdin is None:
            raise UsageError("standard input is closed", "name a file, or pipe a request into it")
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"there is no file `{file}`", "name a file, or - for standard input"
        ) from None
    except IsADirectoryError:
        raise UsageError(f"`{file}` is a folder", "name a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"`{file}` cannot be read: {reason}") from None


def _format_of(body: bytes, name: str) -> str:
    try:
        return read(body).format.name
    except UnknownFormatError as error:
        raise UnknownFormatError(f"`{name}`: {error}") from None


def _largest(recordings: Sequence[Recording]) -> int:
    """Place of the largest request, over all sessions; the last of equals."""
    sizes = [recorded.size_bytes for recording in recordings for recorded in recording.requests]
    return max(range(len(sizes)), key=lambda place: (sizes[place], place))
