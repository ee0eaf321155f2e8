"""What do many conversations take in memory? The cap must hold at all times."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any, TypeAlias

from benchmarks.figures import Answer, Row, Target
from trimtab import Call, CharTokenCounter, Engine, Policy, in_memory

__all__ = ["answer"]

Json: TypeAlias = dict[str, Any]

_MEBIBYTE = 1024 * 1024
_LIMIT_TOKENS = 600
"""Small, so that each conversation is cut several times."""


def answer(
    *, conversations: int = 10_000, turns: int = 100, max_bytes: int = 64 * _MEBIBYTE
) -> Answer:
    """Run them in turn, each one request at a time.

    Args:
        conversations: How many are live.
        turns: Requests of each.
        max_bytes: Cap of the store.
    """
    store = in_memory(max_bytes)
    policy = Policy(limit_tokens=_LIMIT_TOKENS)
    engine = Engine(policy, store, CharTokenCounter()).sync
    most = found = 0
    started = perf_counter()
    for turn in range(turns):
        for number in range(conversations):
            rewrite = engine.rewrite(Call(_body(number, turn)), "openai-chat")
            engine.forwarded(rewrite.ticket)
            found += rewrite.ticket.began is not None
            most = max(most, store.size_bytes)
    seconds = perf_counter() - started
    requests = conversations * turns
    cells = (
        f"{conversations:,} conversations of {turns} turns",
        f"{most / _MEBIBYTE:.1f}",
        f"{max_bytes / _MEBIBYTE:.0f}",
        f"{100 * found / max(1, requests - conversations):.1f} %",
        f"{seconds / requests * 1e3:.2f}",
    )
    return Answer(
        "conversations",
        "Live conversations in the memory of one process",
        ("what", "most held, MiB", "cap, MiB", "known again", "ms a request"),
        (Row(cells, Target(max_bytes, most)),),
        "Each conversation sends one request after the other has; small messages, a limit of "
        f"{_LIMIT_TOKENS} tokens, so that each is cut again and again. Known again: requests "
        "behind the first whose state was still there.",
    )


def _body(number: int, turn: int) -> bytes:
    messages: list[Json] = [{"role": "user", "content": f"task {number}"}]
    for step in range(turn):
        messages.append({"role": "assistant", "content": f"step {step} of {number}"})
        messages.append({"role": "user", "content": f"go on with {step}"})
    return json.dumps({"model": "gpt-5.2", "messages": messages}).encode()
