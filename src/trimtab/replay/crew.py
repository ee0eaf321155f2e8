"""Replay many files on all cores, and go on where a run was broken off.

Each file is read, replayed and forgotten by one process, session by session;
what comes back is numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

from trimtab.economy import Prices
from trimtab.errors import RequestError
from trimtab.plan import Outcome
from trimtab.policy import Policy
from trimtab.replay.advice import tried
from trimtab.replay.bench import Replayed, bench
from trimtab.replay.driver import LeftOut, ReplayedRequest, SessionReport
from trimtab.replay.files import load
from trimtab.replay.policies import chosen
from trimtab.replay.report.story import Story
from trimtab.replay.results import SessionResult
from trimtab.replay.unrolled import unrolled

__all__ = ["Found", "Settings", "Tell", "replay_files"]

Json: TypeAlias = dict[str, Any]
Tell: TypeAlias = Callable[[Path, int, int, int, int], None]
"""Is told of a file at hand: its path, the session (from 0) of so many, the requests done of so many."""

_INLINE_BYTES = 1_000_000
"""Fewer bytes in all are replayed in this process: another one takes most of a second to begin."""

_VERSION = 2


@dataclass(frozen=True, slots=True)
class Settings:
    """How files are replayed.

    Attributes:
        budget: Tokens that no request may pass; None for what each model's window takes.
        policies: Names of the policies beside those that are always replayed.
        is_advised: Whether sizes of the client's own compaction are tried too.
        is_unrolled: Whether a body stands for the requests that led to it.
        prices: What the user knows better, by model.
    """

    budget: int | None = None
    policies: tuple[str, ...] = ()
    is_advised: bool = False
    is_unrolled: bool = False
    prices: Mapping[str, Prices] = field(default_factory=dict)

    def key(self, file: Path) -> str:
        """What a result is kept under: the file as it is now, and how it is replayed."""
        stat = file.stat()
        told = (_VERSION, str(file.resolve()), stat.st_size, stat.st_mtime_ns, asdict(self))
        return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a file.

    Attributes:
        file: Which.
        sessions: What is in it; none where it holds no recording.
        skipped: Why it holds none; empty where it does.
    """

    file: Path
    sessions: tuple[Replayed, ...] = ()
    skipped: str = ""


def replay_files(
    files: Sequence[Path],
    settings: Settings,
    *,
    workers: int = 1,
    journal: Path | None = None,
    tell: Tell | None = None,
) -> Iterator[Found]:
    """Replay the sessions in some files.

    Args:
        files: Which; nothing is written to them.
        settings: How.
        workers: Processes at most; 1 stays in this one.
        journal: A file to note results in, and to take those from that it holds; None for none.
        tell: Is told how far it is, while this process does the work.

    Returns:
        What came of each file, in the order in which they are done.

    Raises:
        OSError: If the journal cannot be written.
    """
    known = {} if journal is None else _read(journal)
    left: list[Path] = []
    for file in files:
        found = _known(file, settings, known)
        if found is None:
            left.append(file)
        else:
            yield found
    for found in _each(left, settings, workers, tell):
        if journal is not None:
            _note(journal, settings, found)
        yield found


def _each(
    files: Sequence[Path], settings: Settings, workers: int, tell: Tell | None
) -> Iterator[Found]:
    sizes = {file: _size(file) for file in files}
    if min(workers, len(files)) < 2 or sum(sizes.values()) < _INLINE_BYTES:
        yield from (_replay(file, settings, tell) for file in files)
        return
    # Another process must not begin with the threads and locks of this one.
    with ProcessPoolExecutor(min(workers, len(files)), get_context("spawn")) as pool:
        largest_first = sorted(files, key=lambda file: -sizes[file])
        futures: list[Future[Found]] = [
            pool.submit(_replay, file, settings) for file in largest_first
        ]
        try:
            yield from (future.result() for future in as_completed(futures))
        finally:
            for future in futures:
                future.cancel()


def _size(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0


def _replay(file: Path, settings: Settings, tell: Tell | None = None) -> Found:
    """Replay all sessions in a file."""
    try:
        recordings = load(file.read_bytes(), file.name)
    except OSError as error:
        return Found(file, skipped=f"`{file.name}` cannot be read: {error.strerror}")
    except RequestError as error:
        return Found(file, skipped=str(error))
    policy = Policy(limit_tokens=settings.budget)
    choices = (*chosen(settings.policies), *(tried() if settings.is_advised else ()))
    sessions = []
    for place, recording in enumerate(recordings):
        session = unrolled(recording) if settings.is_unrolled else recording
        many, total = len(recordings), len(session.requests)

        def told(done: int, place: int = place, many: int = many, total: int = total) -> None:
            if tell is not None:
                tell(file, place, many, done, total)

        told(0)
        sessions.append(
            bench(session, policy, choices, file=str(file), overrides=settings.prices, tell=told)
        )
    return Found(file, tuple(sessions))


# -------------------------------------------------------------------- journal


def _read(journal: Path) -> dict[str, Json]:
    """What a journal holds, by key; a line that is torn or of another version is no line."""
    known: dict[str, Json] = {}
    with suppress(FileNotFoundError):
        for line in journal.read_bytes().splitlines():
            try:
                value = json.loads(line)
                known[value["key"]] = value
            except (ValueError, TypeError, KeyError):
                continue
    return known


def _known(file: Path, settings: Settings, known: Mapping[str, Json]) -> Found | None:
    if not known:
        return None
    try:
        value = known[settings.key(file)]
        sessions = tuple(
            Replayed(
                SessionResult.from_json(each["result"]),
                _report(each["report"]),
                Story.from_json(each["story"]),
            )
            for each in value["sessions"]
        )
        return Found(file, sessions, value["skipped"])
    except (OSError, KeyError, TypeError, ValueError):
        return None


def _note(journal: Path, settings: Settings, found: Found) -> None:
    """Write a line down; one that is torn by the end of this process is skipped later."""
    try:
        key = settings.key(found.file)
    except OSError:
        return  # it is gone, or not to be looked at: nothing to know it by
    value = {
        "key": key,
        "skipped": found.skipped,
        "sessions": [
            {
                "result": each.result.to_json(),
                "report": asdict(each.report),
                "story": each.story.to_json(),
            }
            for each in found.sessions
        ],
    }
    line = json.dumps(value, default=_listed).encode()
    with journal.open("ab") as lines:
        lines.write(b"\n" + line + b"\n")


def _listed(value: object) -> list[object]:
    if isinstance(value, Iterable):
        return sorted(value, key=str)
    raise TypeError(f"{type(value).__name__} cannot be written down")


def _report(value: Json) -> SessionReport:
    requests = (
        ReplayedRequest(
            **{
                **each,
                "outcome": Outcome(**each["outcome"]),
                "breaks": tuple(each["breaks"]),
            }
        )
        for each in value["requests"]
    )
    return SessionReport(
        value["kind"],
        value["name"],
        tuple(requests),
        tuple(LeftOut(**each) for each in value["left_out"]),
        frozenset(value["unrecorded"]),
        tuple(value["notes"]),
    )
