"""Read the sessions in files and folders, one file in memory at a time, and show how far it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from rich.progress import BarColumn, Progress, TextColumn

from trimtab.cli.talk import UsageError, screen
from trimtab.errors import RequestError
from trimtab.replay import files
from trimtab.replay.paths import files_in
from trimtab.replay.recording import Recording

__all__ = ["Found", "named", "nothing_found", "read_file", "sessions_in"]

Tell: TypeAlias = Callable[[int], None]
"""Is told after each request of a session how many are done."""


@dataclass(slots=True)
class Found:
    """What was in the files.

    Attributes:
        skipped: Files that hold no recording, with the reason why; grows while they are read.
    """

    skipped: dict[Path, str] = field(default_factory=dict)


def named(paths: Sequence[str], thing: str, hint: str) -> list[Path]:
    """Refuse what is not there before anything is read.

    Args:
        paths: What was named.
        thing: What should have been, in a word.
        hint: What to do where nothing was.

    Raises:
        UsageError: If nothing is named, or something is not there.
    """
    if not paths:
        raise UsageError(f"no {thing} is named", hint)
    for path in paths:
        if not Path(path).exists():
            raise UsageError(f"there is no file or folder `{path}`", "name one that is there")
    return [Path(path) for path in paths]


def sessions_in(paths: Iterable[Path], found: Found) -> Iterator[tuple[Path, Recording, Tell]]:
    """Read all sessions.

    Args:
        paths: Files and folders.
        found: Is told what holds no recording.

    Returns:
        Each session with its file, and whom to tell how far it is.

    Raises:
        RequestError: If none of the files holds a recording.
    """
    listed = files_in(paths)
    read_any = False
    with _progress(len(listed)) as show:
        for place, file in enumerate(listed):
            show("reading", place)
            recordings = read_file(file)
            if isinstance(recordings, str):
                found.skipped[file] = recordings
                continue
            read_any = True
            for recording in recordings:
                yield file, recording, _teller(show, place, len(listed), recording)
    if not read_any:
        raise nothing_found(found.skipped)


def _teller(show: _Show, place: int, many: int, recording: Recording) -> Tell:
    """Say how many requests of a session are done."""
    of_many = f"file {place + 1} of {many}, " if many > 1 else ""
    total = max(1, len(recording.requests))

    def tell(done: int) -> None:
        show(f"{of_many}request {done} of {total}", place + done / total)

    return tell


def read_file(file: Path) -> list[Recording] | str:
    """The sessions in a file, or why there are none."""
    try:
        return files.load(file.read_bytes(), file.name)
    except OSError as error:
        return f"`{file.name}` cannot be read: {error.strerror}"
    except RequestError as error:
        return str(error)


def nothing_found(skipped: Mapping[Path, str]) -> RequestError:
    """What to say where none of the files holds a recording.

    Args:
        skipped: Why, by file.
    """
    match list(skipped.values()):
        case []:
            return RequestError("there is no file to read, hidden ones aside")
        case [reason]:
            return RequestError(reason)
        case reasons:
            return RequestError(
                f"none of the {len(reasons)} files holds a recording that is known; "
                "hint: trimtab inspect FILE says what each is"
            )


_Show: TypeAlias = Callable[[str, float], None]


@contextmanager
def _progress(many: int) -> Iterator[_Show]:
    """Show on a terminal how far it has come, until it is done."""
    console = screen(stderr=True)
    if not (console.is_interactive and sys.stderr.isatty()):
        yield lambda _, __: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("reading", total=many)
        yield lambda words, done: progress.update(task, description=words, completed=done)
