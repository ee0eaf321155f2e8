"""Run the command line: here, in this process, or as people have it installed."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.app import run

__all__ = ["SCRIPT", "Ran", "Trimtab", "on_terminal", "standard_input", "visible"]

SCRIPT = Path(sys.executable).parent / "trimtab"
"""What pip installed."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str = ""

    @property
    def lines(self) -> list[str]:
        """What it printed, line by line."""
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


class Trimtab:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | int | Path) -> Ran:
        """Run one command."""
        self._capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ran(code, *self._capsys.readouterr())


@contextmanager
def standard_input(file: Path) -> Iterator[None]:
    """Let a file be the standard input, as ``<`` does."""
    usual = sys.stdin
    with file.open(encoding="utf-8") as stream:
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = usual


def on_terminal(
    *arguments: str | Path, columns: int, environment: dict[str, str] | None = None
) -> Ran:
    """Run the installed script on a terminal of some width; both streams go there."""
    here, there = pty.openpty()
    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", **(environment or {})}
    del variables["COLUMNS"]
    process = subprocess.Popen(
        [SCRIPT, *arguments], stdin=there, stdout=there, stderr=there, env=variables
    )
    os.close(there)
    shown = b""
    while chunk := _read(here):
        shown += chunk
    os.close(here)
    return Ran(process.wait(), shown.decode())


def _read(terminal: int) -> bytes:
    select.select([terminal], [], [])
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux says that the other side is closed
        return b""


def visible(shown: str) -> list[str]:
    """What stays on a terminal, line by line: the status that came and went is left out."""
    _, _, report = shown.rpartition("\x1b[1A\x1b[2K")
    return _ESCAPES.sub("", report).splitlines()
