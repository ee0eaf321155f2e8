"""What do birth edits save of recorded tool results, and how long do they take?

Over the largest request of each recorded session, each result as if it was new::

    python benchmarks/squeeze.py PATH    the tables for your own sessions
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import get_args

# A script sees its own folder; the others are imported by the names that type checkers know.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks.figures import Answer, Row, Target, interleaved
from benchmarks.series import SINGLE
from benchmarks.tables import machine, show
from trimtab import Message, RequestError, TokenCounter, ToolCall, ToolResult
from trimtab.policy import Preset
from trimtab.replay import files
from trimtab.replay.paths import files_in
from trimtab.replay.recording import Recording
from trimtab.squeeze import in_full, squeeze, will_be_quoted
from trimtab.strategies.targets import KNOWN_TOOLS
from trimtab.tokens import BpeTokenCounter, CachedCounter
from trimtab.wire import read

__all__ = ["answer", "reasons", "speed"]

_PRESETS: tuple[Preset, ...] = tuple(name for name in get_args(Preset) if name != "off")
_MOST_MILLISECONDS = 100.0
"""For a result of 2 MB."""


def data() -> Path:
    """Where the recorded sessions lie."""
    return Path(os.environ.get("TRIMTAB_SHARED", "../shared")) / "data"


@dataclass
class Saved:
    """What was saved of the results of a kind of session.

    Attributes:
        results: How many there were.
        tokens: What they have as they came.
        quoted: What of that may have to be quoted to the letter.
        characters: How long they are.
        by_preset: Tokens saved.
        by_reason: Tokens saved, by preset and reason.
        edits: Results that were changed, by preset and reason.
        seconds: What the edits took, counting left out.
    """

    results: int = 0
    tokens: int = 0
    quoted: int = 0
    characters: int = 0
    by_preset: Counter[str] = field(default_factory=Counter)
    by_reason: Counter[tuple[str, str]] = field(default_factory=Counter)
    edits: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0


def measured(path: Path, counter: TokenCounter) -> dict[str, Saved]:
    """What is saved of the sessions below a path, by their kind.

    Raises:
        FileNotFoundError: If there is no such path.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no {path}")
    found: dict[str, Saved] = {}
    count = CachedCounter(counter).count
    for file in files_in([path]):
        for recording in _load(file):
            saved = found.setdefault(recording.kind, Saved())
            for preset in _PRESETS:
                _squeeze_all(recording, preset, count, saved)
    return {kind: saved for kind, saved in found.items() if saved.tokens}


def _load(path: Path) -> list[Recording]:
    try:
        found = files.load(path.read_bytes(), path.name)
    except RequestError:
        return []
    return [recording for recording in found if recording.kind not in SINGLE]


def _squeeze_all(
    recording: Recording, preset: Preset, count: Callable[[str], int], saved: Saved
) -> None:
    request = recording.requests[recording.largest]
    quoted: set[str] = set()
    seen: dict[str, str] = {}
    for each in read(request.build(), request.format or None).messages:
        message = each.decoded()
        parts = message.parts
        quoted.update(
            part.id
            for part in parts
            if isinstance(part, ToolCall) and will_be_quoted(part, KNOWN_TOOLS.get(part.name))
        )
        if not message.result_ids:
            continue
        if preset == _PRESETS[0]:
            _weigh(message, quoted, count, saved)
        edits = squeeze(message, preset, count, quoted=quoted, seen=seen, can_recall=True)
        start = perf_counter()
        squeeze(message, preset, _quick, quoted=quoted, seen=seen, can_recall=True)
        saved.seconds += perf_counter() - start
        seen = in_full(message, edits) | seen
        for edit in edits:
            saved.by_preset[preset] += edit.saved_tokens
            saved.by_reason[preset, edit.reason] += edit.saved_tokens
            saved.edits[preset, edit.reason] += 1


def _quick(text: str) -> int:
    return len(text) // 4


def _weigh(message: Message, quoted: set[str], count: Callable[[str], int], saved: Saved) -> None:
    for part in message.parts:
        if isinstance(part, ToolResult):
            tokens = count(part.text)
            saved.results += 1
            saved.tokens += tokens
            saved.characters += len(part.text)
            saved.quoted += tokens if part.call_id in quoted else 0


def answer(*, path: Path | None = None, counter: TokenCounter | None = None) -> Answer:
    """Measure what is saved, by kind of session.

    Args:
        path: Where the sessions lie; None for :func:`data`.
        counter: Counts tokens; None for the vocabulary o200k.
    """
    found = measured(path or data(), counter or BpeTokenCounter("o200k_base"))
    return Answer(
        "squeezing",
        "Birth edits of recorded tool results",
        ("sessions of", "results", "tokens", "quoted", *_PRESETS, "MB/s, all presets"),
        tuple(_kind_row(kind, saved) for kind, saved in sorted(found.items())),
        "The results of the largest request of each session. `quoted`: may have to be quoted to "
        "the letter and keep their bytes. A preset's column is the share of all result tokens "
        "that it saves, what is quoted included; `agent` with a way back for what is clipped. "
        "The time is that of the edits, counting left out.",
    )


def _kind_row(kind: str, saved: Saved) -> Row:
    shares = (f"{100 * saved.by_preset[preset] / saved.tokens:.1f} %" for preset in _PRESETS)
    speed = len(_PRESETS) * saved.characters / 1e6 / max(saved.seconds, 1e-9)
    quoted = f"{100 * saved.quoted / saved.tokens:.0f} %"
    return Row((kind, f"{saved.results:,}", f"{saved.tokens:,}", quoted, *shares, f"{speed:.0f}"))


def reasons(*, path: Path | None = None, counter: TokenCounter | None = None) -> Answer:
    """Measure what each edit saves.

    Args:
        path: Where the sessions lie; None for :func:`data`.
        counter: Counts tokens; None for the vocabulary o200k.
    """
    found = measured(path or data(), counter or BpeTokenCounter("o200k_base"))
    tokens: Counter[tuple[str, str]] = Counter()
    edits: Counter[tuple[str, str]] = Counter()
    for saved in found.values():
        tokens.update(saved.by_reason)
        edits.update(saved.edits)
    return Answer(
        "squeezing-reasons",
        "Birth edits, by what was done",
        ("edit", "preset", "results", "tokens saved"),
        tuple(
            Row((reason, preset, f"{edits[preset, reason]:,}", f"{saved:,}"))
            for (preset, reason), saved in tokens.most_common()
        ),
        "All kinds of sessions together.",
    )


# -------------------------------------------------------------------- speed


def _log_line(number: int) -> str:
    if number % 3:
        return f"2026-02-11T10:00:{number % 60:02d}Z INFO worker {number % 9} finished job {number}"
    return (
        f"2026-02-11 10:00:{number % 60:02d} DEBUG cache hit key={number * 2654435761 % 2**32:08x}"
    )


def _record(number: int) -> str:
    record = {"id": number, "name": f'say "{number}"', "tags": ["a", "b"], "score": number / 7}
    return json.dumps(record, indent=2)


def _filled(line: Callable[[int], str], size: int, between: str = "\n") -> str:
    first = len(line(1)) + len(between)
    return between.join(map(line, range(size // first)))


_TEXTS: dict[str, Callable[[int], str]] = {
    "a log": partial(_filled, _log_line),
    "pretty JSON": lambda size: f"[{_filled(_record, size, ',')}]",
    "colours": partial(_filled, lambda number: f"\x1b[3{number % 8}mword {number}\x1b[0m and more"),
    "a progress bar": partial(_filled, lambda number: f"{number % 100} % done", between="\r"),
    "one line, repeated": partial(_filled, lambda _: "waiting for the server"),
    "code": partial(_filled, lambda number: f"    value_{number} = compute(value, {number})"),
    "one letter": lambda size: "x" * size,
    "backspaces": lambda size: "a\b" * (size // 2),
    "broken escapes": lambda size: "\x1b]" * (size // 2),
}


def speed(*, size_bytes: int = 2_000_000, runs: int = 5) -> Answer:
    """Measure how long a large result takes.

    Args:
        size_bytes: How large it is.
        runs: How often each is timed.
    """
    texts = {name: Message.tool("a", make(size_bytes)) for name, make in _TEXTS.items()}
    times = interleaved(
        runs,
        {
            name: partial(squeeze, message, "agent", _quick, can_recall=True)
            for name, message in texts.items()
        },
    )
    scale = 2_000_000 / size_bytes
    return Answer(
        "squeezing-speed",
        f"Birth edits of a result of {size_bytes / 1e6:g} MB",
        ("what it holds", "time, ms", "ms for 2 MB"),
        tuple(
            Row(
                (name, time.in_ms, f"{time.fastest * 1e3 * scale:.0f}"),
                Target(_MOST_MILLISECONDS, time.fastest * 1e3 * scale),
            )
            for name, time in times.items()
        ),
        f"Preset `agent`, counting left out; fastest / median of {runs} runs. The target is for "
        "the fastest.",
    )


def main(arguments: Sequence[str]) -> None:
    """Print the tables for the sessions below a path."""
    path = Path(arguments[0]) if arguments else data()
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 160
    out.print(machine(), end="\n\n", style="dim")
    for found in (answer(path=path), reasons(path=path), speed()):
        show(found, out)


if __name__ == "__main__":
    main(sys.argv[1:])
