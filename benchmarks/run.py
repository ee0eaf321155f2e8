"""Ask all benchmarks, or some, and show what they found.

A missed target is shown and does not make the command fail: time depends on
the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

# A script sees its own folder; the others are imported by the names that type checkers know.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks import (
    background,
    checking,
    compaction,
    conversations,
    counting,
    importing,
    loops,
    memo,
    memory,
    prediction,
    reading,
    replaying,
    rewriting,
    splitting,
    squeeze,
    storing,
    streams,
    tracking,
    turns,
    window,
)
from benchmarks.figures import Answer
from benchmarks.tables import machine, markdown, missed, replaced, show

BENCHMARKS: dict[str, Callable[[], Answer]] = {
    "splitting": splitting.answer,
    "checking": checking.answer,
    "memory": memory.answer,
    "rewriting": rewriting.answer,
    "hashing": turns.hashed,
    "turns": turns.answer,
    "loops": loops.answer,
    "compaction": compaction.answer,
    "background": background.answer,
    "summaries": background.in_time,
    "memo": memo.answer,
    "storing": storing.answer,
    "storing_room": storing.room,
    "squeezing": squeeze.answer,
    "window": window.answer,
    "recording": window.recording,
    "conversations": conversations.answer,
    "streams": streams.answer,
    "counting": counting.answer,
    "reading": reading.answer,
    "replaying": replaying.answer,
    "importing": importing.answer,
    "tracking": tracking.answer,
    "prediction": prediction.answer,
    "deciding": prediction.deciding,
    "surprises": prediction.surprises,
    "remembering": prediction.remembering,
    "announcing": prediction.announcing,
}
"""What can be asked, in the order in which it is shown."""

SLOW = (
    "conversations",
    "squeezing",
    "prediction",
    "deciding",
    "surprises",
    "remembering",
    "announcing",
)
"""What is asked only where it is named: the first takes half an hour, the others need
recorded sessions (``benchmarks/prediction.py PATH`` takes yours)."""

_NARROWEST = 110
"""Columns that the tables need where no terminal says how many there are."""


def main(arguments: Sequence[str]) -> None:
    """Run what is named, or all."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--markdown", action="store_true", help="print Markdown tables")
    parser.add_argument("--into", metavar="PAGE", help="put the tables between a page's marks")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    answers = _ask(options.names or [name for name in BENCHMARKS if name not in SLOW])
    if options.into:
        _update(Path(options.into), answers)
    elif options.markdown:
        print(f"{machine()}\n", *map(markdown, answers), sep="\n")
    else:
        _show(answers)


def _ask(names: Sequence[str]) -> list[Answer]:
    progress = Console(stderr=True)
    answers = []
    for name in names:
        with progress.status(f"measuring {name}"):
            answers.append(BENCHMARKS[name]())
    return answers


def _show(answers: Sequence[Answer]) -> None:
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = _NARROWEST
    out.print(machine(), end="\n\n", style="dim")
    for answer in answers:
        show(answer, out)
    if late := missed(answers):
        out.print(f"{late} targets missed", style="bold red")


def _update(page: Path, answers: Sequence[Answer]) -> None:
    text = replaced(page.read_text(encoding="utf-8"), "machine", machine())
    for answer in answers:
        text = replaced(text, answer.name, markdown(answer))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
