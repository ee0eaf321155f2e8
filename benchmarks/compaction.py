"""What does compacting a list cost a turn, and what does it come to over a whole agent loop?

The list is fed back: each turn goes on with what the last one returned.
Beside it: sending everything, a plain sticky cut, which is what a careful
user writes in twenty lines, and LangChain's trimming where it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import process_time
from typing import Any, Protocol

from benchmarks.figures import Answer, Row, Target
from benchmarks.loops import Json, Workload, workloads
from trimtab import BpeTokenCounter, Message, Text, ToolCall
from trimtab.compaction import CompactionConfig, DefaultCompaction, compact_messages

__all__ = ["answer"]


class Loop(Protocol):
    """An agent loop's history."""

    def add(self, new: list[Json]) -> None:
        """Take note of what came; not timed, for each has messages of its own kind."""
        ...

    def compact(self) -> None:
        """Bring the history within the budget, counting what is new; this is timed."""
        ...

    def sent(self) -> list[Json]:
        """The history as it is sent; not timed."""
        ...


_READ = 0.1
"""What a token costs that the request before began with; the others cost 1."""

_MOST_MS = 0.2
_MOST_BREAKS = {20_000: 45, 100_000: 8}
_MOST_COST = {20_000: 1.15, 100_000: 3.2}
"""In millions of units, for a thousand messages of W1."""

_STICKY_SHARE = 0.4
_LAST_TURNS = 50

_count = BpeTokenCounter().count


def answer(*, messages: int = 1_000) -> Answer:
    """Run whole loops.

    Args:
        messages: Messages of the workload.
    """
    rows: list[Row] = []
    for workload in workloads(1, messages):
        if workload.budget_tokens not in _MOST_BREAKS:
            continue
        for name, make in _LOOPS.items():
            run = _run(workload, make(workload.budget_tokens))
            rows += _rows(workload, name, run, is_held=name == "compact_messages")
    return Answer(
        "compaction",
        "Whole agent loops whose list is compacted and fed back",
        (
            "workload, budget",
            "what compacts",
            "CPU, ms a turn (last 50)",
            "over budget",
            "orphans",
            "breaks",
            "cost, M units",
        ),
        tuple(rows),
        "Processor time of a turn, counting its new messages included, the median of all turns and "
        "of the last 50. Tokens are o200k, 4 a message. Over budget: requests that are. Orphans: "
        "requests in which a call or a result stands alone, or whose first message behind the "
        "system prompt is not a user's. Breaks: requests that do not extend the one before. Cost: "
        "0.1 for what the request before began with, 1 for the rest.",
    )


@dataclass(slots=True)
class _Run:
    """What a loop came to."""

    seconds: list[float] = field(default_factory=list)
    over: int = 0
    broken: int = 0
    breaks: int = 0
    units: float = 0.0


def _rows(workload: Workload, name: str, run: _Run, *, is_held: bool) -> list[Row]:
    budget = workload.budget_tokens
    where = f"{workload.name}, {budget // 1000}k"
    milliseconds = median(run.seconds) * 1e3
    cells = (
        where,
        name,
        f"{milliseconds:.3f} ({median(run.seconds[-_LAST_TURNS:]) * 1e3:.3f})",
        f"{run.over} of {len(run.seconds)}",
        str(run.broken),
        str(run.breaks),
        f"{run.units / 1e6:.2f}",
    )
    if not is_held:
        return [Row(cells)]
    held = {
        "time a turn": Target(_MOST_MS, milliseconds),
        "over budget and orphans": Target(0, run.over + run.broken),
    }
    if workload.name.startswith("W1, 1000"):
        held["breaks"] = Target(_MOST_BREAKS[budget], run.breaks)
        held["cost"] = Target(_MOST_COST[budget], run.units / 1e6)
    blanks = ("",) * (len(cells) - 2)
    return [Row(cells), *(Row((where, f"  {what}", *blanks), held[what]) for what in held)]


def _run(workload: Workload, loop: Loop) -> _Run:
    run = _Run()
    before: list[str] = []
    start = 0
    for cut in workload.cuts:
        loop.add(workload.messages[start:cut])
        start = cut
        begun = process_time()
        loop.compact()
        run.seconds.append(process_time() - begun)
        sent = loop.sent()
        weights = [_weight(message) for message in sent]
        texts = [json.dumps(message, sort_keys=True) for message in sent]
        same = _same(before, texts)
        run.over += sum(weights) > workload.budget_tokens
        run.broken += _is_broken(sent)
        run.breaks += same < len(before)
        run.units += _READ * sum(weights[:same]) + sum(weights[same:])
        before = texts
    return run


def _same(before: Sequence[str], after: Sequence[str]) -> int:
    """How many messages both begin with."""
    pairs = zip(before, after, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _is_broken(messages: Sequence[Json]) -> bool:
    speakers = [message for message in messages if message["role"] != "system"]
    calls = [c["id"] for m in messages for c in m.get("tool_calls") or ()]
    results = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    return sorted(calls) != sorted(results) or not speakers or speakers[0]["role"] != "user"


_known: dict[int, tuple[Json, int]] = {}
"""What a message weighs, by its identity; it is held, so that no other gets the same."""


def _weight(message: Json) -> int:
    key = id(message)
    if key not in _known:
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        words = [message.get("content") or "", *(call["name"] for call in calls)]
        words += [call["arguments"] for call in calls]
        _known[key] = (message, 4 + _count("".join(words)))
    return _known[key][1]


# ----------------------------------------------------------------------- loops


class _Everything:
    """Nothing goes."""

    def __init__(self) -> None:
        self._kept: list[Json] = []

    def add(self, new: list[Json]) -> None:
        self._kept += new

    def compact(self) -> None:
        pass

    def sent(self) -> list[Json]:
        return list(self._kept)


class _Sticky:
    """The first two messages, and of the rest what fits in 0.4 of the budget when it is full."""

    def __init__(self, budget_tokens: int) -> None:
        self._budget = budget_tokens
        self._kept: list[Json] = []
        self._weights: list[int] = []

    def add(self, new: list[Json]) -> None:
        self._kept += new

    def compact(self) -> None:
        self._weights += map(_fresh_weight, self._kept[len(self._weights) :])
        if sum(self._weights) <= self._budget:
            return
        room = self._budget * _STICKY_SHARE - sum(self._weights[:2])
        start = len(self._kept)
        for place in range(len(self._kept) - 1, 1, -1):
            room -= self._weights[place]
            if room < 0:
                break
            if self._kept[place]["role"] != "tool":
                start = place
        del self._kept[2:start], self._weights[2:start]

    def sent(self) -> list[Json]:
        return list(self._kept)


def _fresh_weight(message: Json) -> int:
    """What a message weighs, counted."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    words = [message.get("content") or "", *(call["name"] + call["arguments"] for call in calls)]
    return 4 + _count("".join(words))


class _Ours:
    """A list of our messages, and the dicts that they are sent as."""

    def __init__(self, compact: Callable[[list[Message]], list[Message]]) -> None:
        self._compact = compact
        self._kept: list[Message] = []
        self._sent: dict[int, tuple[Message, Json]] = {}

    def add(self, new: list[Json]) -> None:
        self._kept = [*self._kept, *map(_message, new)]

    def compact(self) -> None:
        self._kept = self._compact(self._kept)

    def sent(self) -> list[Json]:
        return [self._written(message) for message in self._kept]

    def _written(self, message: Message) -> Json:
        known = self._sent.get(id(message))
        if known is None:
            known = self._sent[id(message)] = (message, _dict(message))
        return known[1]


def _compact_messages(budget_tokens: int) -> Loop:
    config = CompactionConfig(max_context_tokens=budget_tokens, counter=BpeTokenCounter())
    return _Ours(lambda messages: compact_messages(messages, config))


def _default_compaction(budget_tokens: int) -> Loop:
    config = CompactionConfig(max_context_tokens=budget_tokens, counter=BpeTokenCounter())
    strategy = DefaultCompaction()
    return _Ours(lambda messages: strategy.compact(messages, config))


def _message(message: Json) -> Message:
    """A message of OpenAI Chat as one of ours."""
    if message["role"] == "tool":
        return Message.tool(message["tool_call_id"], message["content"])
    words = [Text(message["content"])] if message.get("content") else []
    calls = [
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return Message(message["role"], [*words, *calls])


def _dict(message: Message) -> Json:
    """One of our messages as OpenAI Chat has it."""
    if message.role == "tool":
        [result] = message.parts
        return {"role": "tool", "tool_call_id": message.result_ids[0], "content": result.text}  # type: ignore[union-attr]  # a tool message holds results
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    calls = [
        {"id": p.id, "type": "function", "function": {"name": p.name, "arguments": p.arguments}}
        for p in message.parts
        if isinstance(p, ToolCall)
    ]
    told: Json = {"role": message.role, "content": "\n\n".join(texts)}
    return {**told, "tool_calls": calls} if calls else told


class _LangChain:
    """``trim_messages`` of LangChain, beginning at a user's message, fed back."""

    def __init__(self, budget_tokens: int, *, is_exact: bool) -> None:
        self._core: Any = import_module("langchain_core.messages")
        self._utils: Any = import_module("langchain_core.messages.utils")
        self._budget = budget_tokens
        self._count = self._exact if is_exact else self._utils.count_tokens_approximately
        self._kept: list[Any] = []

    def _exact(self, messages: Sequence[Any]) -> int:
        return sum(map(_fresh_weight, self._dicts(messages)))

    def add(self, new: list[Json]) -> None:
        self._kept += self._utils.convert_to_messages(new)

    def compact(self) -> None:
        self._kept = self._core.trim_messages(
            self._kept,
            max_tokens=self._budget,
            token_counter=self._count,
            strategy="last",
            start_on="human",
            end_on=("human", "tool"),
            include_system=True,
        )

    def sent(self) -> list[Json]:
        return self._dicts(self._kept)

    def _dicts(self, messages: Sequence[Any]) -> list[Json]:
        dicts: list[Json] = self._utils.convert_to_openai_messages(messages)
        return dicts


_LOOPS: dict[str, Callable[[int], Loop]] = {
    "nothing": lambda _: _Everything(),
    "a plain sticky cut to 0.4": _Sticky,
    "DefaultCompaction": _default_compaction,
    "compact_messages": _compact_messages,
}
if find_spec("langchain_core") is not None:
    _LOOPS["LangChain trim_messages, approximate"] = lambda b: _LangChain(b, is_exact=False)
    _LOOPS["LangChain trim_messages, exact"] = lambda b: _LangChain(b, is_exact=True)
