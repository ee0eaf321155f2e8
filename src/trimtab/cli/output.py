"""Write a body where the user wants it: whole or not at all, and never over the input."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from pathlib import Path

from trimtab.cli.source import STDIN
from trimtab.cli.talk import UsageError

__all__ = ["refuse_unfit", "write"]


def refuse_unfit(output: str, file: str) -> None:
    """Refuse, before any work is done, an output that could not or must not be written.

    Args:
        output: A path, or ``-`` for standard output.
        file: The input: a path, or ``-`` for standard input.

    Raises:
        UsageError: If it is the input by any name, a folder, or in a folder that is not there.
    """
    if output == STDIN:
        return
    path = Path(os.path.realpath(output))
    if os.path.isdir(path):  # noqa: PTH112 - a name that is too long is none, and no error yet
        raise UsageError(f"the output `{output}` is a folder", "name a file in it")
    if not path.parent.is_dir():
        raise UsageError(
            f"the output `{output}` is in a folder that is not there",
            f"make it first: mkdir -p {path.parent}",
        )
    if _is_input(path, file):
        raise UsageError(
            f"the output `{output}` is the input, which is never changed", "name another file"
        )


def _is_input(path: Path, file: str) -> bool:
    """Whether a path leads to the input, under whatever name."""
    try:
        status = os.fstat(sys.stdin.fileno()) if file == STDIN else Path(file).stat()
        return os.path.samestat(status, path.stat())
    except (OSError, ValueError, AttributeError):
        return False  # one of them is not there, or no file


def write(output: str, body: bytes) -> None:
    """Write a body.

    A file takes its new content in one step, so that nobody ever reads half of
    it, and keeps its permissions. What is no file, such as a pipe, is written to.

    Args:
        output: A path, or ``-`` for standard output.
        body: What to write.

    Raises:
        UsageError: If it cannot be written; a file is then as it was.
    """
    if output == STDIN:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    path = Path(os.path.realpath(output))
    try:
        if path.exists() and not path.is_file():  # a pipe, a device
            path.write_bytes(body)
        else:
            _replace(path, body)
    except OSError as error:
        raise UsageError(f"the output `{output}` cannot be written: {error.strerror}") from None


def _replace(path: Path, body: bytes) -> None:
    part = path.with_name(f".trimtab-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        if os.path.lexists(path):
            path.open("r+b").close()  # one that must not be written must not be replaced either
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
