"""What does a whole agent loop come to: requests over the window, orphans, prefix breaks, cost?

Beside it: sending everything, a window that slides, and a plain sticky cut,
which is what a careful user writes in twenty lines; and CliffCompaction, where
it is installed. A loop could be cheap because it forgets, so a column says how
much of the history it still sends.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import islice, pairwise
from os.path import commonprefix
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from benchmarks.conversation import chat_messages, exchanges
from benchmarks.figures import Answer, Row, Target
from trimtab import CharTokenCounter, Context, Policy
from trimtab.policy import Preset

__all__ = ["Json", "Workload", "answer", "cost", "has_orphan", "present", "workloads"]

Json: TypeAlias = dict[str, Any]
Loop: TypeAlias = Callable[[list[Json]], list[Json]]
"""What is sent for a history."""

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("TRIMTAB_SHARED") or ROOT.parent / "shared")

_READ, _WRITE = 0.1, 1.25
"""What a token costs that the provider reads from its cache, and one that it does not."""

_STICKY_SHARE = 0.3
"""Of the window, what the plain sticky cut leaves."""

_LOW_SHARE = 0.1
"""Of the window, the target of a setting that compacts further than the defaults do."""

_RUN_WORDS = 5
"""Words in a row by which text is told again: long enough that chance repeats few."""


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
        for name, make in _loops().items()
    ]
    return Answer(
        "loops",
        "Whole agent loops in OpenAI Chat, request by request",
        (
            "workload, budget",
            "what is sent",
            "over budget",
            "orphans",
            "breaks",
            "cost, M units",
            "history present, %",
        ),
        tuple(rows),
        "Tokens are counted by `CharTokenCounter`. Over budget and orphaned results: requests that "
        "have one. Breaks: requests that do not extend the one before them byte for byte. Cost: "
        "characters / 4 of the messages, 0.1 for what the request before began with, 1.25 for the rest. "
        "History present: of the different runs of five words that the history holds, those that "
        "the request holds too; the mean over all requests. `trimtab` has the defaults, `safe` and "
        f"`agent` are presets, `low` has a target of {_LOW_SHARE:g} of the budget. CliffCompaction 0.1.0 (`Engine.prepare`, its own defaults and the "
        "budget as its threshold), where it is installed.",
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


def _ours(
    budget_tokens: int, preset: Preset | None = None, target_share: float | None = None
) -> Loop:
    target_tokens = None if target_share is None else int(budget_tokens * target_share)
    policy = Policy(limit_tokens=budget_tokens, target_tokens=target_tokens, preset=preset)
    context = Context("gpt-5.2", policy, counter=CharTokenCounter())
    return lambda history: context.fit(history).messages


def _cliff(budget_tokens: int) -> Loop:
    """CliffCompaction, which counts a request as its characters / 4.

    Raises:
        ImportError: If it is not installed.
    """
    engine = import_module("cliffcompaction.engine")
    config = import_module("cliffcompaction.config")
    dialect = import_module("cliffcompaction.dialects.openai_chat").DIALECT
    worker = engine.Engine(config.Config(threshold_tokens=budget_tokens))

    def fit(history: list[Json]) -> list[Json]:
        sent: list[Json] = worker.prepare({"messages": history}, dialect).outgoing_body()[
            "messages"
        ]
        return sent

    return fit


_LOOPS: dict[str, Callable[[int], Loop]] = {
    "everything": _everything,
    "sliding window": _sliding,
    "plain sticky cut": _sticky,
    "trimtab": _ours,
    "trimtab, safe": partial(_ours, preset="safe"),
    "trimtab, agent": partial(_ours, preset="agent"),
    "trimtab, safe, low": partial(_ours, preset="safe", target_share=_LOW_SHARE),
}


def _loops() -> dict[str, Callable[[int], Loop]]:
    """All that is compared: ours, the plain ones, and others as far as they are installed."""
    if importlib.util.find_spec("cliffcompaction") is None:
        return _LOOPS
    return {**_LOOPS, "CliffCompaction": _cliff}


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
        _known[key] = (message, 4 + sum(map(_counter.count, _words(message))))
    return _known[key][1]


def _row(workload: Workload, name: str, loop: Loop) -> Row:
    histories = [workload.messages[:cut] for cut in workload.cuts]
    sent = list(map(loop, histories))
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
        f"{100 * present(histories, sent):.1f}",
    )
    return Row(cells, Target(0, over + orphans) if name.startswith("trimtab") else None)


def _text(messages: Sequence[Json]) -> str:
    """What the provider's cache sees, open at its end."""
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)


def cost(before: str, after: str) -> float:
    """What a request is billed that comes after another, in units of a fresh token."""
    shared = len(commonprefix([before, after]))  # noqa: RUF071 - these are no paths
    return (_READ * shared + _WRITE * (len(after) - shared)) / 4


def present(histories: Sequence[Sequence[Json]], sent: Sequence[Sequence[Json]]) -> float:
    """How much of its history a loop still sends, 0 to 1: the mean over its requests.

    Of one request it is the share of the different runs of five words in the
    history, with what calls and results say, that the request holds somewhere.
    A clipped result counts with what is left of it, a word-for-word quote in a
    marker as the words that it quotes, and a paraphrase not at all.

    Args:
        histories: What each request was made from; each begins with the one before.
        sent: What was sent for each.
    """
    told, said = _Runs(), _Runs()
    shares = []
    for history, request in zip(histories, sent, strict=True):
        if request == history:
            shares.append(1.0)
            continue
        all_runs = told.of(history)
        shares.append(len(all_runs & said.of(request)) / len(all_runs) if all_runs else 1.0)
    return fmean(shares)


class _Runs:
    """Runs of words of a list that mostly grows: only what is new is taken up."""

    def __init__(self) -> None:
        self._messages: list[Json] = []
        self._runs: set[int] = set()

    def of(self, messages: Sequence[Json]) -> set[int]:
        """All that stand in it; the set is valid until the next call."""
        known = len(self._messages)
        if list(messages[:known]) != self._messages:
            known, self._runs = 0, set()
        for message in messages[known:]:
            for text in _words(message):
                self._runs |= _runs_of(text)
        self._messages = list(messages)
        return self._runs


@cache
def _runs_of(text: str) -> frozenset[int]:
    words = re.findall(r"\w+", text)
    starts = range(max(1, len(words) - _RUN_WORDS + 1)) if words else ()
    return frozenset(hash(tuple(words[start : start + _RUN_WORDS])) for start in starts)


def _words(message: Json) -> list[str]:
    """All that a message says: its text, and the names and arguments of its calls."""
    content = message.get("content") or ""
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return [*texts, *(call["name"] for call in calls), *(call["arguments"] for call in calls)]


def has_orphan(messages: Sequence[Json]) -> bool:
    """Whether a result stands there that no call before it asked for."""
    open_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool" and message["tool_call_id"] not in open_ids:
            return True
        open_ids.update(call["id"] for call in message.get("tool_calls") or ())
    return False
