"""What does trimtab cost in a harness that others wrote: beside the Agent Framework's strategies?

``maf-cachebench`` replays a scripted conversation and says how much of each
request the provider's cache could still serve; its dry run asks no provider.
Here trimtab is one strategy more, on equal terms: the harness makes the
messages, counts the tokens and finds the breaks. The package needs Python 3.12
or newer, so this file is no part of ``run.py``; in an environment of its own::

    pip install . rich orjson maf-cachebench==0.4.1
    python benchmarks/cachebench.py
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

# A script sees its own folder; the others are imported by the names that type checkers know.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks.figures import Answer, Row, Target
from benchmarks.tables import show
from trimtab import CharTokenCounter, Context, Policy, Usage
from trimtab.boundaries import MARKER
from trimtab.context import View
from trimtab.ledger import read_ledger

__all__ = ["answer", "facts"]

Json: TypeAlias = dict[str, Any]
FrameworkMessage: TypeAlias = Any
"""A message of the framework: a role, and contents of several types."""

Made: TypeAlias = Callable[[], Any]
"""Makes a transcript. Strategies leave notes on its messages, so that each run needs its own."""

_SALT = "trimtab"
"""The same for all, so that what they send can be compared byte for byte."""

_WINDOW_TOKENS, _ROOMY_TOKENS = 24_000, 100_000
"""A window that the conversation outgrows, and one that holds all of it."""

_MOST_SHARE, _MOST_BREAKS = 0.5, 2

_THEIR_PRICE, _CACHE_PRICE = (0.25, 1.0), (0.1, 1.25)
"""What a token costs that the provider's cache serves, and one that it does not: the harness's
default, and that of ``loops.py``."""

_THEIRS = ("truncation", "context_window", "anchored", "token_budget_fallback")
"""Strategies of the harness that need no model, shown beside ours."""


@dataclass(frozen=True, slots=True)
class Run:
    """A conversation that was replayed under one strategy.

    Attributes:
        requests: Each request as the harness writes it, one string a message.
        texts: The words of each request.
        sent: Tokens of each request, as the harness counts.
        reusable: Of these, what the request before began with.
        breaks: Requests that do not extend the one before.
    """

    requests: tuple[tuple[str, ...], ...] = field(repr=False)
    texts: tuple[str, ...] = field(repr=False)
    sent: tuple[int, ...] = field(repr=False)
    reusable: tuple[int, ...] = field(repr=False)
    breaks: int

    def cost(self, read: float, write: float) -> float:
        """What all requests are billed, in units of a fresh token.

        Args:
            read: Price of a token that the cache serves.
            write: Price of a token that it does not serve.
        """
        served = sum(self.reusable)
        return read * served + write * (sum(self.sent) - served)


def answer() -> Answer:
    """Replay the workload ``large`` in a window that it outgrows, and in one that holds it."""
    bench = import_module("maf_cachebench")

    def transcript() -> Any:
        return bench.build_preset("large", salt=_SALT)

    nothing = _theirs(bench, transcript, "none", _WINDOW_TOKENS)
    rows = [_row("none", nothing, nothing, _WINDOW_TOKENS)]
    rows += [
        _row(name, _theirs(bench, transcript, name, _WINDOW_TOKENS), nothing, _WINDOW_TOKENS)
        for name in _THEIRS
    ]
    for name, policy, fed_back in _SETTINGS:
        run = _ours(bench, transcript, replace(policy, limit_tokens=_WINDOW_TOKENS), fed_back)
        rows.append(_row(name, run, nothing, _WINDOW_TOKENS, _MOST_SHARE))
    for name, policy, fed_back in _SETTINGS:
        if policy.trigger_tokens is not None:
            continue
        run = _ours(bench, transcript, replace(policy, limit_tokens=_ROOMY_TOKENS), fed_back)
        rows.append(_row(name, run, nothing, _ROOMY_TOKENS, 1.0))
    return Answer(
        "cachebench",
        f"maf-cachebench 0.4.1, dry run, workload `large`: {len(nothing.requests)} requests",
        (
            "strategy, window",
            "sent, M",
            "sent, %",
            "cost, %",
            "at 0.1 / 1.25",
            "breaks",
            "over",
            "ledger",
            "questions",
            "same bytes",
        ),
        tuple(rows),
        "Tokens are the harness's: characters / 4 of each message as JSON. Shares: of doing nothing "
        "(`none`). Cost: 0.25 for what the cache serves and 1 for the rest, the harness's own "
        "price; the same at 0.1 and 1.25. Over: requests over the window. Ledger: entries in the "
        "marker of the last request. Questions: of the user's 100, those whose beginning stands in "
        f"the last request. Target: the cost; with more than {_MOST_BREAKS} breaks or no ledger it "
        "counts as missed, and, where the window holds all, with any other bytes than those of "
        "doing nothing. `18k to 4k`: trigger and target.",
    )


def facts() -> Answer:
    """Replay a conversation with planted facts, and look for them in its last request."""
    bench = import_module("maf_cachebench")

    def scenario() -> Any:
        return bench.build_recall_scenario(
            salt=_SALT, filler_turns=16, filler_tokens=2_000, chars_per_token=4.0, tool_turns=6
        )

    def transcript() -> Any:
        return scenario().transcript

    planted = scenario().facts
    nothing = _theirs(bench, transcript, "none", _WINDOW_TOKENS)
    runs = {"none": nothing}
    runs |= {name: _theirs(bench, transcript, name, _WINDOW_TOKENS) for name in _THEIRS}
    runs |= {
        name: _ours(bench, transcript, replace(policy, limit_tokens=_WINDOW_TOKENS), fed_back)
        for name, policy, fed_back in _SETTINGS
    }
    kinds = sorted({fact.kind for fact in planted})
    rows = tuple(
        Row(
            (
                name,
                f"{100 * run.cost(*_THEIR_PRICE) / nothing.cost(*_THEIR_PRICE):.1f}",
                str(run.breaks),
                *(_kept([fact for fact in planted if fact.kind == kind], run) for kind in kinds),
            )
        )
        for name, run in runs.items()
    )
    return Answer(
        "facts",
        f"The same harness's planted facts, in a window of {_WINDOW_TOKENS}",
        ("strategy", "cost, %", "breaks", *kinds),
        rows,
        "Facts that the user or a tool stated once, and that the last request still holds "
        "word for word; cost as above. No model is asked.",
    )


def _kept(planted: Sequence[Any], run: Run) -> str:
    return f"{sum(fact.appears_in(run.texts[-1]) for fact in planted)} of {len(planted)}"


def _row(
    name: str, run: Run, nothing: Run, window_tokens: int, most_share: float | None = None
) -> Row:
    shares = [run.cost(*price) / nothing.cost(*price) for price in (_THEIR_PRICE, _CACHE_PRICE)]
    listed = _listed(run.texts[-1])
    is_same = run.requests == nothing.requests
    cells = (
        f"{name}, {window_tokens // 1000}k",
        f"{sum(run.sent) / 1e6:.2f}",
        f"{100 * sum(run.sent) / sum(nothing.sent):.1f}",
        *(f"{100 * share:.1f}" for share in shares),
        str(run.breaks),
        str(sum(tokens > window_tokens for tokens in run.sent)),
        str(listed),
        str(sum(f"[turn {turn}] Question" in run.texts[-1] for turn in range(1, 101))),
        "yes" if is_same else "no",
    )
    if most_share is None:
        return Row(cells)
    is_sound = is_same or (most_share < 1 and run.breaks <= _MOST_BREAKS and listed > 0)
    return Row(cells, Target(most_share, shares[0] if is_sound else float("inf")))


def _listed(text: str) -> int:
    """How many entries the ledger of a request's marker has; 0 where there is none."""
    _, marker, rest = text.partition(MARKER)
    ledger = read_ledger(marker + rest)
    lists = (ledger.rules, ledger.words, ledger.files, ledger.values, ledger.carried)
    return sum(map(len, lists)) if marker else 0


# -------------------------------------------------------------------- strategies


_SETTINGS = (
    ("trimtab", Policy(), False),
    ("trimtab, fed back", Policy(), True),
    ("trimtab, 18k to 4k", Policy(trigger_tokens=18_000, target_tokens=4_000), False),
)
"""Name, settings but for the limit, and whether a context is given what it sent last in place of
the history. A preset would change nothing: the harness's results are words without a pattern."""


class Trimtab:
    """A :class:`~trimtab.Context` as a strategy of the framework.

    A strategy changes the list that it is given, and is given that list again
    with what came since. So the whole history is kept here, unless it shall be
    fed back.

    Args:
        policy: Its settings.
        is_fed_back: Whether the context is given what it sent last in place of the history.
    """

    def __init__(self, policy: Policy, *, is_fed_back: bool) -> None:
        self._context = Context("gpt-5.2", policy, counter=CharTokenCounter())
        self._is_fed_back = is_fed_back
        self._history: list[Json] = []
        self._sent: list[Json] = []
        self._messages: list[FrameworkMessage] = []
        self._view: View | None = None

    async def __call__(self, messages: list[FrameworkMessage]) -> bool:
        """Put in place of the messages what shall be sent of them."""
        new = list(map(_to_json, messages[len(self._messages) :]))
        own = {id(mine): theirs for mine, theirs in zip(self._sent, self._messages, strict=True)}
        own |= {
            id(mine): theirs
            for mine, theirs in zip(new, messages[len(self._messages) :], strict=True)
        }
        self._history = [*(self._sent if self._is_fed_back else self._history), *new]
        self._view = self._context.fit(self._history)
        self._sent = list(self._view.messages)
        before = list(messages)
        messages[:] = [own.get(id(mine)) or _from_json(mine) for mine in self._sent]
        self._messages = list(messages)
        return before != messages

    def billed(self, tokens: int) -> None:
        """Say what the provider counted for the request that was sent last."""
        assert self._view is not None
        self._context.observe(self._view, Usage(fresh=tokens))


def _ours(bench: Any, transcript: Made, policy: Policy, is_fed_back: bool) -> Run:  # noqa: FBT001 - a column of the settings
    strategy = Trimtab(policy, is_fed_back=is_fed_back)
    return _replay(bench, transcript, strategy, strategy.billed)


def _theirs(bench: Any, transcript: Made, name: str, window_tokens: int) -> Run:
    options = bench.StrategyOptions(
        tokenizer=bench.build_tokenizer("estimator"),
        max_context_window_tokens=window_tokens,
        max_output_tokens=512,
    )
    return _replay(bench, transcript, bench.build_strategy(name, options), lambda _: None)


def _replay(bench: Any, make: Made, strategy: Any, billed: Callable[[int], None]) -> Run:
    """Run one cell of the harness, with a provider that only counts."""
    transcript = make()
    tokenizer = bench.build_tokenizer("estimator")
    requests: list[tuple[str, ...]] = []
    texts: list[str] = []

    async def caller(messages: Sequence[FrameworkMessage]) -> Any:
        requests.append(tuple(map(bench.serialize_message, messages)))
        texts.append("\n\n".join(map(_text, messages)))
        billed(sum(map(tokenizer.count_tokens, requests[-1])))
        return bench.CallOutcome(latency_ms=0.0)

    cell = bench.CellKey("none", "dry-run", transcript.name, type(strategy).__name__, 1)
    records = asyncio.run(
        bench.run_cell(
            cell=cell, transcript=transcript, strategy=strategy, tokenizer=tokenizer, caller=caller
        )
    )
    summary = bench.summarize_cell(records, cell=cell, reports_cache_tokens=False)
    return Run(
        tuple(requests),
        tuple(texts),
        tuple(record.sent_tokens_local for record in records),
        tuple(record.reusable_prefix_tokens_local for record in records),
        summary.prefix_breaks,
    )


# --------------------------------------------------------------- two kinds of messages


def _text(message: FrameworkMessage) -> str:
    parts = [content.text or content.result or content.arguments for content in message.contents]
    return "\n".join(str(part) for part in parts if part)


def _to_json(message: FrameworkMessage) -> Json:
    """A message of the framework as OpenAI Chat writes it."""
    texts = [content.text for content in message.contents if content.type == "text"]
    calls = [
        {
            "id": content.call_id,
            "type": "function",
            "function": {"name": content.name, "arguments": content.arguments},
        }
        for content in message.contents
        if content.type == "function_call"
    ]
    for content in message.contents:
        if content.type == "function_result":
            return {"role": "tool", "tool_call_id": content.call_id, "content": content.result}
    spoken: Json = {"role": message.role, "content": "\n".join(texts) if texts else None}
    return {**spoken, "tool_calls": calls} if calls else spoken


def _from_json(message: Json) -> FrameworkMessage:
    """A message that an edit made, as the framework has it."""
    framework = import_module("agent_framework")
    content = message.get("content") or []
    texts = [content] if isinstance(content, str) else [part["text"] for part in content]
    if message["role"] == "tool":
        said = "\n".join(texts)
        results = [framework.Content.from_function_result(message["tool_call_id"], result=said)]
        return framework.Message(role="tool", contents=results)
    calls = [
        framework.Content.from_function_call(
            call["id"], call["function"]["name"], arguments=call["function"]["arguments"]
        )
        for call in message.get("tool_calls") or ()
    ]
    return framework.Message(role=message["role"], contents=[*texts, *calls])


def main() -> None:
    """Print both tables."""
    out = Console(highlight=False)
    if not out.is_terminal:
        out.width = 150
    for found in (answer(), facts()):
        show(found, out)


if __name__ == "__main__":
    main()
