"""How the commands talk: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

__all__ = [
    "FINE",
    "INTERRUPTED",
    "NOT_FINE",
    "USAGE",
    "UsageError",
    "complain",
    "note",
    "print_json",
    "readable",
    "say",
    "screen",
    "working",
]

FINE = 0
NOT_FINE = 1
"""The input breaks rules, cannot be read, or cannot be made to fit."""
USAGE = 2
"""The command was not given what it needs."""
INTERRUPTED = 130
"""What shells say of a program that was stopped from the keyboard."""

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves the cursor, recolours the screen, turns the writing around or is no character."""


class UsageError(Exception):
    """The command was not given what it needs.

    Attributes:
        hint: What to do about it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class _Screen(Console):
    """A console that leaves it to the command what to do when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - it is called where the error is handled


def screen(*, stderr: bool = False) -> Console:
    """Where to print for people: standard output, or standard error.

    Nothing in a text is markup: what is printed comes out of files.
    """
    return _Screen(stderr=stderr, markup=False, emoji=False, highlight=False)


def readable(words: str) -> str:
    """A text on one line, in which nothing steers the terminal."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", " ".join(words.split()))


def say(console: Console, *words: str | tuple[str, str], indent: int = 0) -> None:
    """Print a sentence: wrapped at words on a terminal, on one line where a program reads it.

    Args:
        console: Where.
        words: Texts, each alone or with its style, set side by side.
        indent: Columns that stay free on the left.
    """
    line = Text()
    for part in words:
        text, style = part if isinstance(part, tuple) else (part, "")
        line.append(_UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text), style)
    if console.is_terminal:
        console.print(Padding(line, (0, 0, 0, indent), expand=False))
    else:
        console.print(Text(" " * indent) + line, soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal what is going on, until it is done."""
    console = screen(stderr=True)
    if not (console.is_interactive and sys.stderr.isatty()):
        yield
        return
    with console.status(Text(readable(what)), spinner="dots"):
        yield


def complain(message: str, hint: str = "") -> None:
    """Say what went wrong, and what to do."""
    console = screen(stderr=True)
    say(console, ("error: ", "bold red"), readable(message))
    if hint:
        say(console, ("hint: ", "bold"), readable(hint))


def note(message: str) -> None:
    """Say something that the reader may want to know."""
    say(screen(stderr=True), ("note: ", "bold yellow"), readable(message))


def print_json(value: Mapping[str, object]) -> None:
    """Print one JSON object, as docs/json-output.md has it: ASCII alone, so that no locale harms it."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
