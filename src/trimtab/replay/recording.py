"""A recorded session: the requests that were really made, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from trimtab.usage import Usage

__all__ = ["Reader", "RecordedRequest", "Recording", "with_notes"]


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request of a recorded session.

    Attributes:
        format: Name of its wire format, such as ``anthropic``.
        build: Makes its body. Called when somebody looks, so that a session of
            hundreds of requests does not hold hundreds of bodies.
        size_bytes: About how large the body is, without building it.
        message_count: Messages in it.
        model: The model that answered; empty where the log does not say.
        usage: What the provider billed; None where the log does not say.
        at: Seconds since the epoch when it was answered; None where the log does not say.
        unrecorded: Top-level fields of the body that the log does not hold
            and that are stubs or absent, such as ``tools`` or ``system``.
        is_kept_long: Whether the log says that something was written to the
            provider's cache for an hour, in place of the usual time.
    """

    format: str
    build: Callable[[], bytes] = field(repr=False)
    size_bytes: int
    message_count: int
    model: str = ""
    usage: Usage | None = None
    at: float | None = None
    unrecorded: frozenset[str] = frozenset()
    is_kept_long: bool = False


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded session.

    Attributes:
        kind: What wrote it, such as ``claude-code``.
        name: Which session it is, for people: file name, and what tells it
            apart from others in the same file.
        requests: The requests in the order in which they were made; never empty.
        notes: What was skipped or had to be guessed, in words for the user.
    """

    kind: str
    name: str
    requests: Sequence[RecordedRequest]
    notes: tuple[str, ...] = ()

    @property
    def largest(self) -> int:
        """Place of the largest request; the last of equals, counted from 0."""
        sizes = [(request.size_bytes, place) for place, request in enumerate(self.requests)]
        return max(sizes)[1]


def with_notes(recordings: Sequence[Recording], notes: tuple[str, ...]) -> list[Recording]:
    """Tell of a whole file with the first of its recordings."""
    first, *others = recordings
    return [replace(first, notes=(*notes, *first.notes)), *others]


class Reader(Protocol):
    """What a file in ``replay/readers`` offers: one kind of recording."""

    KIND: str
    """Name of the kind, as users read it."""

    def recognises(self, data: bytes) -> bool:
        """Say whether some bytes are of this kind, from what is in them and never from a name."""
        ...

    def read(self, data: bytes, name: str) -> list[Recording]:
        """Read all sessions in it.

        Args:
            data: The whole file.
            name: What the file is called, for :attr:`Recording.name`.

        Raises:
            RequestError: If nothing in it can be used.
        """
        ...
