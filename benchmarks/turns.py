"""What does a turn of a conversation that goes on cost?

Beside it: splitting and hashing that body, which nobody comes around who wants
to know a conversation again; and, where they are installed, what others do on
the same turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib import import_module
from typing import Any

import orjson

from benchmarks.bodies import Body, bodies, main_bodies
from benchmarks.figures import Answer, Row, Target, interleaved, ratio
from trimtab import Call, CharTokenCounter, Policy, Session, State, TokenCounter
from trimtab.chain import links
from trimtab.plan import EMPTY_PLAN
from trimtab.session import Turn
from trimtab.wire import read, write

__all__ = ["answer", "hashed"]

_NEVER_REACHED_TOKENS = 100_000_000
_MOST_BESIDE_HASHING = 3.0
_MOST_BESIDE_ORJSON = 2.5


def answer(
    *,
    sizes_bytes: Sequence[int] = (100_000, 1_000_000, 4_000_000),
    runs: int = 21,
    counter: TokenCounter | None = None,
) -> Answer:
    """Measure it.

    Args:
        sizes_bytes: About how large the bodies are.
        runs: How often each is timed.
        counter: Counts; None for characters, for a warm turn counts next to nothing.
    """
    rows = [
        row
        for size_bytes in sizes_bytes
        for body in main_bodies(size_bytes)
        for row in _rows(body, counter or CharTokenCounter(), runs)
    ]
    return Answer(
        "turns",
        "A turn that goes on: `Session.read` and `Session.rewrite` with the state of the last one",
        ("what", "ours, ms", "split + hash, ms", "ratio", "others, ms"),
        tuple(rows),
        "`goes on`: nothing was cut yet. `behind a cut`: a compaction has removed half. "
        "`agent`: nothing was cut yet, and with the preset `agent` each result was squeezed "
        "when it came. "
        "The turn before is at hand, as an engine has it; `read whole`: it is not. "
        "`split + hash`: finding the messages of the body and hashing it once. "
        "Others, with `json.loads` and `json.dumps` around them: CliffCompaction 0.1.0 "
        "(`Engine.prepare`), and headroom-ai 0.42.0 (`compress` with all but the new messages "
        f"frozen), where they are installed. Times are fastest / median of {runs} interleaved runs.",
    )


def _rows(body: Body, counter: TokenCounter, runs: int) -> Iterator[Row]:
    free = Session(_free_policy(), counter)
    whole = free.rewrite(free.read(Call(body.json), body.format)).outcome.tokens_before
    cut = Session(_free_policy(whole // 2), counter)
    agent = Session(replace(_free_policy(), preset="agent"), counter)
    before = _without_last_turn(body)
    known = free.read(Call(before), body.format)
    states = {
        "goes on": (free, _state(free, before, body.format)),
        "behind a cut": (cut, _state(cut, before, body.format)),
        "agent": (agent, _grown(agent, body)),
    }
    things: dict[str, Callable[[], object]] = {
        "hash": partial(_split_and_hash, body),
        **_others(body),
    }
    for name, (session, state) in states.items():
        things[name] = partial(_turn, session, body, state, known)
        things[f"{name}, read whole"] = partial(_turn, session, body, state)
    times = interleaved(runs, things)
    for name in (name for name in things if name.partition(",")[0] in states):
        reached = ratio(times[name], times["hash"])
        others = [f"{times[other].in_ms} ({other})" for other in times if other in _OTHERS]
        cells = (
            f"{name}: {body.title}",
            times[name].in_ms,
            times["hash"].in_ms,
            f"{reached:.2f}",
            ", ".join(others) if name == "goes on" else "",
        )
        yield Row(cells, Target(_MOST_BESIDE_HASHING, reached))


def _free_policy(limit_tokens: int = _NEVER_REACHED_TOKENS) -> Policy:
    """A policy that acts at its limit alone."""
    return Policy(limit_tokens=limit_tokens, trigger_tokens=limit_tokens)


def _turn(session: Session, body: Body, state: State | None, before: Turn | None = None) -> bytes:
    return session.rewrite(session.read(Call(body.json), body.format, before=before), state).body


def _state(session: Session, before: bytes, format_name: str) -> State:
    return session.forwarded(session.rewrite(session.read(Call(before), format_name)).ticket)


def _grown(session: Session, body: Body) -> State | None:
    """The state before the last turn of a conversation that came turn by turn."""
    request = read(body.json, body.format)
    stop = request.spans[-1][1]
    ends = [place for place, m in enumerate(request.messages) if place and m.role == "assistant"]
    state = None
    for end in ends:
        grown = body.json[: request.spans[end - 1][1]] + body.json[stop:]
        turn = session.read(Call(grown), body.format)
        state = session.forwarded(session.rewrite(turn, state).ticket)
    return state


def _without_last_turn(body: Body) -> bytes:
    """The request of the turn before: up to the last answer of the model."""
    request = read(body.json, body.format)
    last = max(
        place for place, message in enumerate(request.messages) if message.role == "assistant"
    )
    start, stop = request.spans[last - 1][1], request.spans[-1][1]
    return body.json[:start] + body.json[stop:]


def _split_and_hash(body: Body) -> int:
    request = read(body.json, body.format)
    return len(request.spans) + len(sha256(body.json).digest())


def _others(body: Body) -> dict[str, Callable[[], object]]:
    """What others do on the same turn, as far as they are installed."""
    found: dict[str, Callable[[], object]] = {}
    for name, load in _OTHERS.items():
        try:
            found[name] = load(body)
        except ImportError:
            continue
    return found


def _cliff(body: Body) -> Callable[[], object]:
    engine = import_module("cliffcompaction.engine")
    config = import_module("cliffcompaction.config")
    dialect = import_module(f"cliffcompaction.dialects.{body.format.replace('-', '_')}").DIALECT
    worker = engine.Engine(config.Config(threshold_tokens=_NEVER_REACHED_TOKENS))
    return lambda: json.dumps(worker.prepare(json.loads(body.json), dialect).outgoing_body())


def _headroom(body: Body) -> Callable[[], object]:
    compress: Any = import_module("headroom").compress
    frozen = len(orjson.loads(body.json)["messages"]) - 2
    settings = {"kompress_model": "disabled", "frozen_message_count": frozen}

    def turn() -> str:
        messages = json.loads(body.json)["messages"]
        limit = _NEVER_REACHED_TOKENS
        return json.dumps(
            compress(messages, model="gpt-4o", model_limit=limit, **settings).messages
        )

    return turn


_OTHERS: dict[str, Callable[[Body], Callable[[], object]]] = {
    "CliffCompaction": _cliff,
    "headroom": _headroom,
}


def hashed(*, size_bytes: int = 2_000_000, runs: int = 41) -> Answer:
    """Measure what it costs to know a conversation again, and to change nothing in it."""
    rows = []
    for body in bodies(size_bytes):
        times = interleaved(
            runs,
            {
                "ours": partial(_chained, body.json, body.format),
                "orjson": partial(_reserialised, body.json),
            },
        )
        reached = ratio(times["ours"], times["orjson"])
        cells = (body.title, times["ours"].in_ms, times["orjson"].in_ms, f"{reached:.2f}")
        rows.append(Row(cells, Target(_MOST_BESIDE_ORJSON, reached)))
    return Answer(
        "hashing",
        f"Splitting a {size_bytes / 1e6:g} MB request, hashing its messages and writing it back",
        ("what", "ours, ms", "orjson, ms", "ratio"),
        tuple(rows),
        "Ours: `read`, the chain of all messages in canonical form, `write` with an empty plan. "
        "Beside it: `orjson.loads` + `orjson.dumps`. "
        f"Times are fastest / median of {runs} interleaved runs.",
    )


def _reserialised(text: bytes) -> bytes:
    return orjson.dumps(orjson.loads(text))


def _chained(text: bytes, format_name: str) -> bytes:
    request = read(text, format_name)
    links(b"", request.forms())
    return write(request, EMPTY_PLAN)
