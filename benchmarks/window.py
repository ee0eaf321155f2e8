"""What does a window memory cost a turn, and what does it come to over a whole agent loop?

The time of a turn must not depend on how much was recorded before it.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterator, Sequence
from itertools import islice, pairwise
from statistics import median
from time import process_time
from typing import Any, TypeVar

from benchmarks.conversation import chat_messages, exchanges
from benchmarks.figures import Answer, Row, Target
from benchmarks.loops import Json, Workload, cost, has_orphan, workloads
from trimtab import Message, ToolCall, WindowDrop, WindowMemory

__all__ = ["answer", "recording"]

Result = TypeVar("Result")

_MOST_MS = 0.1
_MOST_BESIDE_FEW = 3.0
_NEVER_REACHED_TOKENS = 100_000_000


def recording(*, sizes: Sequence[int] = (100, 1_000, 10_000), runs: int = 500) -> Answer:
    """Measure one turn: record a message, and ask for the context.

    Args:
        sizes: Messages that were recorded before.
        runs: Turns that are timed.
    """
    history = list(islice(_messages(), max(sizes) + runs))
    rows = []
    for name, budget_tokens in (("20k", 20_000), ("never reached", _NEVER_REACHED_TOKENS)):
        times = [_turn_ms(history, size, runs, budget_tokens) for size in sizes]
        for size, took in zip(sizes, times, strict=True):
            cells = (f"{size:,} messages, {name}", f"{took:.4f}", f"{took / times[0]:.2f}")
            rows.append(Row(cells, Target(_MOST_MS, took)))
        if budget_tokens < _NEVER_REACHED_TOKENS:
            ratio = times[-1] / times[0]
            cells = (f"{sizes[-1]:,} beside {sizes[0]:,} messages, {name}", "", f"{ratio:.2f}")
            rows.append(Row(cells, Target(_MOST_BESIDE_FEW, ratio)))
    return Answer(
        "recording",
        "A turn of `WindowMemory`: `record` of a message and `context`",
        ("recorded before, budget", "CPU, ms", "beside the fewest"),
        tuple(rows),
        f"Processor time, the median of {runs} turns; tokens by `CharTokenCounter`, so counting the "
        "new message is in it. Where the budget is never reached, what grows is the copy of the "
        "list that the caller gets.",
    )


def answer(*, steps: int = 160, messages: int = 1000) -> Answer:
    """Run whole agent loops through a window.

    Args:
        steps: Tool steps of the first workload.
        messages: Messages of the others.
    """
    rows = [
        _row(workload, low_water)
        for workload in workloads(steps, messages)
        for low_water in (0.7, 1.0)
    ]
    return Answer(
        "window",
        "Whole agent loops through `WindowMemory`, request by request",
        ("workload, budget", "strategy", "over budget", "orphans", "breaks", "cost, M units"),
        tuple(rows),
        "Tokens are counted by `CharTokenCounter`, words only. Over budget: requests that are; "
        "only those count against the target that hold more than one exchange of the newest round. "
        "Orphans, breaks and cost as in `loops`.",
    )


def _turn_ms(history: Sequence[Message], size: int, runs: int, budget_tokens: int) -> float:
    memory = WindowMemory(budget_tokens)
    for message in history[:size]:
        _run(memory.record(message))
    _run(memory.context())
    taken = []
    for message in history[size : size + runs]:
        start = process_time()
        _run(memory.record(message))
        _run(memory.context())
        taken.append(process_time() - start)
    return median(taken) * 1e3


def _run(steps: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never waits, without an event loop whose time would be counted."""
    try:
        steps.send(None)
    except StopIteration as done:
        result: Result = done.value
        return result
    raise RuntimeError("it waits")


def _messages() -> Iterator[Message]:
    for exchange in exchanges():
        yield from map(_message, chat_messages(exchange))


def _message(message: Json) -> Message:
    """A message of OpenAI Chat as one of ours."""
    words = message.get("content") or ""
    match message["role"]:
        case "system":
            return Message.system(words)
        case "user":
            return Message.user(words)
        case "tool":
            return Message.tool(message["tool_call_id"], words)
        case _:
            functions = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
            calls = [ToolCall(key, each["name"], each["arguments"]) for key, each in functions]
            return Message.assistant(words, *calls)


def _row(workload: Workload, low_water: float) -> Row:
    memory = WindowMemory(workload.budget_tokens, strategy=WindowDrop(low_water))
    ours = [_message(message) for message in workload.messages]
    texts_of = {
        id(mine): (message, json.dumps(message, ensure_ascii=False))
        for mine, message in zip(ours, workload.messages, strict=True)
    }
    sent: list[list[tuple[Json, str]]] = []
    over = avoidable = recorded = 0
    for cut in workload.cuts:
        for message in ours[recorded:cut]:
            _run(memory.record(message))
        recorded = cut
        shown = _run(memory.context())
        sent.append([texts_of[id(message)] for message in shown])
        if not memory.outcome.fits:
            over += 1
            avoidable += sum(bool(message.call_ids) for message in shown) > 1
    texts = ["\n".join(text for _, text in request) for request in sent]
    orphans = sum(has_orphan([message for message, _ in request]) for request in sent)
    breaks = sum(not after.startswith(before) for before, after in pairwise(texts))
    units = sum(map(cost, ["", *texts], texts))
    cells = (
        f"{workload.name}, {workload.budget_tokens // 1000}k",
        f"WindowDrop({low_water})",
        f"{over} of {len(sent)}",
        str(orphans),
        str(breaks),
        f"{units / 1e6:.2f}",
    )
    return Row(cells, Target(0, avoidable + orphans))
