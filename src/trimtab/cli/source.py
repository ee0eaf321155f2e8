"""Read what a command is given: a file or standard input, and which of its requests is meant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.cli.talk import UsageError, working
from trimtab.replay import files
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire import read

__all__ = ["Source", "open_source"]

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Source:
    """One request of a file.

    Attributes:
        name: The file, for people.
        kind: What the file is, such as ``claude-code``.
        session: Which of its sessions the request belongs to, for people.
        request: Its place in the session, from 1.
        requests: How many the session has.
        body: The bytes of the request.
        format: Its wire format.
        unrecorded: Top-level fields that the recording does not hold.
        notes: What the reader skipped or guessed.
    """

    name: str
    kind: str
    session: str
    request: int
    requests: int
    body: bytes = field(repr=False)
    format: str = ""
    unrecorded: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The request, in a few words."""
        if self.requests == 1:
            return f"{self.session} ({self.kind})"
        return f"{self.session} ({self.kind}), request {self.request} of {self.requests}"


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
    data = _read(file)
    name = "standard input" if file == STDIN else Path(file).name
    with working(f"reading {name}"):
        recordings = files.load(data, name)
        del data
        recording, place = _pick(recordings, request)
        recorded = recording.requests[place]
        body = recorded.build()
    chosen = format or recorded.format or read(body).format.name
    return Source(
        name,
        recording.kind,
        recording.name,
        place + 1,
        len(recording.requests),
        body,
        chosen,
        recorded.unrecorded,
        recording.notes,
    )


def _read(file: str) -> bytes:
    if file == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}") from None
    except IsADirectoryError:
        raise UsageError(f"{file} is a folder; name a file in it") from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


def _pick(recordings: Sequence[Recording], number: int | None) -> tuple[Recording, int]:
    """The largest request of all, or the one of a number counted over all sessions."""
    if number is None:
        recording = max(recordings, key=_largest_size)
        return recording, recording.largest
    place = number - 1
    for recording in recordings:
        if 0 <= place < len(recording.requests):
            return recording, place
        place -= len(recording.requests)
    total = sum(len(recording.requests) for recording in recordings)
    raise UsageError(f"there is no request {number}: the file has {total}, counted from 1")


def _largest_size(recording: Recording) -> int:
    largest: RecordedRequest = recording.requests[recording.largest]
    return largest.size_bytes
