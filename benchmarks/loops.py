"""What does a whole agent loop come to: requests over the window, orphans, prefix breaks, cost?

Beside it: sending everything, a window that slides, and a plain sticky cut,
which is what a careful user writes in twenty lines.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from os.path import commonprefix
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.conversation import chat_messages, exchanges
from benchmarks.figures import Answer, Row, Target
from trimtab import CharTokenCounter, Context, Policy

__all__ = ["Json", "Workload", "answer", "cost", "has_orphan", "workloads"]

Json: TypeAlias = dict[str, Any]
Loop: TypeAlias = Callable[[list[Json]], list[Json]]
"""What is sent for a history."""

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRIMTAB_SHARED") or ROOT.parent / "shared")

_READ, _WRITE = 0.1, 1.25
"""What a token costs that the provider reads from its cache, and one that it does not."""

_STICKY_SHARE = 0.3
"""Of the window, what the plain sticky cut leaves."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A conversation, and where in it requests are sent.

    Attributes:
        name: For the table.
        messages: All of it.
        cuts: How many messages each request holds.
        budget_tokens: What no request must pass.
    """

    name: str
    messages: list[Json]
    cuts: list[int]
    budget_tokens: int


def answer(*, steps: int = 160, messages: int = 1000) -> Answer:
    """Run the loops.

    Args:
        steps: Tool steps of the first workload.
        messages: Messages of the others.
    """
    rows = [
        _row(workload, name, make(workload.budget_tokens))
        for workload in workloads(steps, messages)
        for name, make in _LOOPS.items()
    ]
    return Answer(
        "loops",
        "Whole agent loops in OpenAI Chat, request by request",
        ("workload, budget", "what is sent", "over budget", "orphans", "breaks", "cost, M units"),
        tuple(rows),
        "Tokens are counted by `CharTokenCounter`. Over budget and orphaned results: requests that "
        "have one. Breaks: requests that do not extend the one before them byte for byte. Cost: "
        "characters / 4 of the messages, 0.1 for what the request before began with, 1.25 for the rest.",
    )


def workloads(steps: int, messages: int) -> Iterator[Workload]:
    """Conversations of so many tool steps and messages, each with the budgets it is held to."""
    generator = SHARED / "bench" / "steps160.py"
    if generator.exists():
        history, cuts = _load(generator).session(steps)
        yield Workload(f"steps160, {steps} steps", history, cuts, 40_000)
    generator = SHARED / "bench" / "gen.py"
    if generator.exists():
        history, cuts = _joined(_load(generator).gen(messages))
        name = f"W1, {messages} messages"
    else:
        turns = islice(exchanges(), messages // 3)
        history, cuts = _joined(
            [
                [{"role": "system", "content": "You are a careful agent."}],
                *map(chat_messages, turns),
            ]
        )
        cuts = [cut for cut in cuts if history[cut - 1]["role"] in ("user", "tool")]
        name = f"generated, {messages} messages"
    for budget in (20_000, 100_000):
        yield Workload(name, history, cuts, budget)


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _joined(steps: Sequence[Sequence[Json]]) -> tuple[list[Json], list[int]]:
    history: list[Json] = []
    cuts = []
    for step in steps:
        history += step
        cuts.append(len(history))
    return history, cuts


# ----------------------------------------------------------------------- loops


def _everything(budget_tokens: int) -> Loop:
    del budget_tokens
    return list


def _sliding(budget_tokens: int) -> Loop:
    """The newest whole exchanges that fit, behind the first two messages; cut anew each time."""

    def fit(history: list[Json]) -> list[Json]:
        head, room = history[:2], budget_tokens - _tokens(history[:2])
        start = len(history)
        for place in _starts(history):
            if _tokens(history[place:]) <= room:
                start = place
                break
        return [*head, *history[start:]]

    return fit


def _sticky(budget_tokens: int) -> Loop:
    """The same, cut down to 0.3 of the budget when it is full, and left there until it is full again."""
    start = 2

    def fit(history: list[Json]) -> list[Json]:
        nonlocal start
        sent = [*history[:2], *history[start:]]
        if _tokens(sent) > budget_tokens:
            room = budget_tokens * _STICKY_SHARE - _tokens(history[:2])
            later = [place for place in _starts(history) if place > start]
            start = next((p for p in later if _tokens(history[p:]) <= room), later[-1])
            sent = [*history[:2], *history[start:]]
        return sent

    return fit


def _ours(budget_tokens: int) -> Loop:
    context = Context("gpt-5.2", Policy(limit_tokens=budget_tokens), counter=CharTokenCounter())
    return lambda history: context.fit(history).messages


_LOOPS: dict[str, Callable[[int], Loop]] = {
    "everything": _everything,
    "sliding window": _sliding,
    "plain sticky cut": _sticky,
    "trimtab": _ours,
}


def _starts(history: Sequence[Json]) -> list[int]:
    """Where a tail may begin: at an answer or a question, never at a result."""
    return [place for place in range(2, len(history)) if history[place]["role"] != "tool"]


# --------------------------------------------------------------------- figures

_counter = CharTokenCounter()
_known: dict[int, tuple[Json, int]] = {}
"""What a message weighs, by its identity; it is held, so that no other gets the same."""


def _tokens(messages: Sequence[Json]) -> int:
    return sum(map(_weight, messages))


def _weight(message: Json) -> int:
    key = id(message)
    if key not in _known:
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        words = [message.get("content") or "", *(call["name"] for call in calls)]
        words += [call["arguments"] for call in calls]
        _known[key] = (message, 4 + sum(map(_counter.count, words)))
    return _known[key][1]


def _row(workload: Workload, name: str, loop: Loop) -> Row:
    sent = [loop(workload.messages[:cut]) for cut in workload.cuts]
    texts = [_text(messages) for messages in sent]
    over = sum(_tokens(messages) > workload.budget_tokens for messages in sent)
    orphans = sum(map(has_orphan, sent))
    breaks = sum(not after.startswith(before) for before, after in pairwise(texts))
    units = sum(map(cost, ["", *texts], texts))
    cells = (
        f"{workload.name}, {workload.budget_tokens // 1000}k",
        name,
        f"{over} of {len(sent)}",
        str(orphans),
        str(breaks),
        f"{units / 1e6:.2f}",
    )
    return Row(cells, Target(0, over + orphans) if name == "trimtab" else None)


def _text(messages: Sequence[Json]) -> str:
    """What the provider's cache sees, open at its end."""
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)


def cost(before: str, after: str) -> float:
    """What a request is billed that comes after another, in units of a fresh token."""
    shared = len(commonprefix([before, after]))  # noqa: RUF071 - these are no paths
    return (_READ * shared + _WRITE * (len(after) - shared)) / 4


def has_orphan(messages: Sequence[Json]) -> bool:
    """Whether a result stands there that no call before it asked for."""
    open_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool" and message["tool_call_id"] not in open_ids:
            return True
        open_ids.update(call["id"] for call in message.get("tool_calls") or ())
    return False
