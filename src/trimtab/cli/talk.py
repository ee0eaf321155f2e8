"""How the commands talk: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

__all__ = ["FINE", "NOT_FINE", "USAGE", "UsageError", "complain", "out", "print_json", "working"]

FINE = 0
NOT_FINE = 1
"""The input breaks rules, cannot be read, or cannot be made to fit."""
USAGE = 2
"""The command was not given what it needs."""

out = Console(highlight=False, soft_wrap=False)
_err = Console(stderr=True, highlight=False, soft_wrap=True)


class UsageError(Exception):
    """The command was not given what it needs; the message says what."""


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is going on, once it takes a moment."""
    if not _err.is_terminal:
        yield
        return
    with _err.status(what, spinner="dots"):
        yield


def complain(message: str) -> None:
    """Say what went wrong."""
    _err.print(Text.assemble(("error: ", "bold red"), message))


def note(message: str) -> None:
    """Say something that the reader may want to know."""
    _err.print(Text.assemble(("note: ", "bold yellow"), message))


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object, as it is documented in docs/json-output.md."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
