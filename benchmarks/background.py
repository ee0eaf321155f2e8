"""What do summaries in the background cost a call, and how many of them come in time?

A loop is fed back. The summarizer answers by rote, after so many turns.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import quantiles
from time import perf_counter, thread_time

from benchmarks.figures import Answer, Row, Target
from trimtab import (
    BpeTokenCounter,
    CompactionConfig,
    DefaultCompaction,
    LlmCompaction,
    Message,
    Summary,
    SummaryRequest,
    ToolCall,
    Usage,
)
from trimtab.events import ContextCompacted, Event, SummaryGivenUp

__all__ = ["answer", "in_time"]

_BRIEFING = "## Goal\nMend the parser.\n## State and progress\n" + "\n".join(
    f"- step {number}: looked at module {number}, found nothing" for number in range(60)
)
"""Some 1,000 tokens."""

_LATENCIES = range(6)
_TURNS = 120
_SECONDS = 30

_PUBLISHED = {
    96_000: {1: 100, 2: 100, 3: 100},
    26_000: {1: 83, 2: 44, 3: 29},
}
"""Summaries that came in time, in %, by budget and latency in turns, as the strategy that this one
follows publishes them for its coding sessions."""

_SHARE, _MILLISECOND = 1.1, 1.0


# ------------------------------------------------------------------ what a call costs


def answer(*, turns: int = 600) -> Answer:
    """Time calls with a summary under way, and without a summarizer.

    Args:
        turns: How many.
    """
    config = CompactionConfig(max_context_tokens=60_000, counter=BpeTokenCounter())
    plain, slow = _Timed(DefaultCompaction()), _Timed(LlmCompaction(_Slow()))
    for number, turn in zip(range(turns), _coding(30), strict=False):
        for message in turn:  # counted once, for both
            config.measure.message(message)
        for timed in (plain, slow) if number % 2 else (slow, plain):
            timed.turn(turn, config)
    rows: list[Row] = []
    for what, floor, ours in (
        ("processor, ms", plain.processor, slow.processor),
        ("clock, ms", plain.clock, slow.clock),
    ):
        before, after = _p99(floor), _p99(ours)
        most = max(before * _SHARE, before + _MILLISECOND)
        rows.append(
            Row(
                (
                    what,
                    f"{_median(floor):.3f}",
                    f"{_median(ours):.3f}",
                    f"{before:.2f}",
                    f"{after:.2f}",
                ),
                Target(most, after) if what.startswith("processor") else None,
            )
        )
    return Answer(
        "background",
        f"A call with a summary of {_SECONDS} s under way, beside the same without a summarizer",
        ("", "without, median", "with, median", "without, p99", "with, p99"),
        tuple(rows),
        f"{turns} turns of about 2,000 tokens in a budget of 60,000, fed back, in turns. Processor "
        "time is that of the thread that calls. Target: the 99th percentile within 10 % or 1 ms.",
    )


class _Slow:
    """Answers after half a minute."""

    async def summarize(self, request: SummaryRequest) -> Summary:
        del request
        await asyncio.sleep(_SECONDS)
        return Summary(_BRIEFING, "stop")


@dataclass
class _Timed:
    """A loop whose calls are timed, in milliseconds."""

    strategy: DefaultCompaction | LlmCompaction
    messages: list[Message] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)

    def turn(self, new: list[Message], config: CompactionConfig) -> None:
        self.messages = [*self.messages, *new]
        clock, processor = perf_counter(), thread_time()
        self.messages = self.strategy.compact(self.messages, config)
        self.processor.append((thread_time() - processor) * 1e3)
        self.clock.append((perf_counter() - clock) * 1e3)


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def _median(values: list[float]) -> float:
    return quantiles(values, n=2)[0]


# ---------------------------------------------------------------- what comes in time


def in_time(*, turns: int = _TURNS) -> Answer:
    """Count compactions that had a summary, by how long one takes.

    Args:
        turns: Of each loop.
    """
    rows: list[Row] = []
    for budget, published in _PUBLISHED.items():
        for latency in _LATENCIES:
            run = asyncio.run(_run(budget, latency, turns))
            theirs = published.get(latency)
            share = 100 * run.spliced / max(1, run.compactions)
            cells = (
                f"{budget // 1000}k",
                str(latency),
                f"{share:.0f} %",
                "" if theirs is None else f"{theirs} %",
                str(run.compactions),
                str(run.requests),
                str(run.unused),
            )
            rows.append(Row(cells, Target(0, run.unused)))
    return Answer(
        "summaries",
        "Compactions that had a summary in time, by how many turns one takes",
        (
            "budget",
            "latency, turns",
            "with a summary",
            "published",
            "compactions",
            "requests",
            "paid, not used",
        ),
        tuple(rows),
        f"{turns} turns of about 5,000 tokens, fed back, all defaults. Published: the strategy that "
        "this one follows, on its own coding sessions. Where rules had to step in, a summary under "
        "way goes on to stand for what they left, so that none is paid for and thrown away.",
    )


@dataclass
class _Run:
    """What a loop came to."""

    compactions: int = 0
    spliced: int = 0
    requests: int = 0
    unused: int = 0

    def __call__(self, event: Event) -> None:
        """Count."""
        if isinstance(event, ContextCompacted):
            self.compactions += 1
            self.spliced += event.method == "summarized"
        elif isinstance(event, SummaryGivenUp):
            self.unused += event.cause != "cancelled"


class _After:
    """Answers after so many turns."""

    def __init__(self, latency: int) -> None:
        self.now = 0
        self._latency = latency
        self._waiting: list[tuple[int, asyncio.Event]] = []

    async def summarize(self, request: SummaryRequest) -> Summary:
        del request
        answered = asyncio.Event()
        self._waiting.append((self.now, answered))
        await answered.wait()
        return Summary(_BRIEFING, "stop", Usage(fresh=9_000, output=1_000))

    def release(self) -> bool:
        """Answer what has waited long enough; say whether anything is left."""
        for asked, answered in self._waiting:
            if self.now - asked >= self._latency:
                answered.set()
        self._waiting = [(a, e) for a, e in self._waiting if not e.is_set()]
        return bool(self._waiting)


async def _run(budget: int, latency: int, turns: int) -> _Run:
    run, summarizer = _Run(), _After(latency)
    config = CompactionConfig(
        max_context_tokens=budget, system_prompt_tokens=0, counter=BpeTokenCounter()
    )
    compaction = LlmCompaction(summarizer, on_event=run)
    messages: list[Message] = []
    for number, turn in zip(range(turns), _coding(86), strict=False):
        summarizer.now = number
        messages = compaction.compact([*messages, *turn], config)
        while compaction.state == "in flight":
            waiting = summarizer.release()
            await asyncio.sleep(0.001)  # it renders its request in a thread
            if waiting:
                break
    run.requests = compaction.totals.requests
    compaction.close()
    return run


# -------------------------------------------------------------------------- workload


def _coding(lines: int) -> Iterator[list[Message]]:
    """Turns of an agent that reads, edits and tests: a user message and four calls."""
    number = 0
    while True:
        turn = [Message.user(f"Part {number}: look at module_{number}.py and mend what is wrong.")]
        for step in range(4):
            call_id = f"c{number}.{step}"
            path = json.dumps({"path": f"src/module_{number}_{step}.py"})
            text = "\n".join(
                f"    def {_WORDS[(number + n) % len(_WORDS)]}_{step}(self, name, value): return self"
                for n in range(lines)
            )
            turn += [
                Message.assistant(
                    f"Step {step} of {number}.", ToolCall(call_id, "read_file", path)
                ),
                Message.tool(call_id, text),
            ]
        yield [*turn, Message.assistant(f"Part {number} is mended.")]
        number += 1


_WORDS = ("load", "store", "render", "parse", "merge", "split", "count", "check", "write", "read")
