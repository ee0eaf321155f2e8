"""Find the files that may hold recordings, in folders and the folders in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["files_in"]


def files_in(paths: Iterable[Path]) -> list[Path]:
    """List files, and the files in folders.

    Args:
        paths: Files and folders. What is named here is taken whatever it is called.

    Returns:
        Files in the order of the paths, those of a folder in the order of their
        names; each once. Hidden files and folders in a folder are ignored, and
        so are links to folders, which may lead in circles.
    """
    return list(dict.fromkeys(file for path in paths for file in _files(path)))


def _files(path: Path) -> Iterator[Path]:
    try:
        entries = sorted(path.iterdir())
    except OSError:
        # No folder, or one that may not be looked into: whoever reads it hears why.
        yield path
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from () if entry.is_symlink() else _files(entry)
        elif entry.is_file():
            yield entry
