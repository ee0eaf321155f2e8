"""The largest request of every recorded session, cut to 8k, 20k and 60k tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.shared import SHARED
from trimtab import Policy, Session
from trimtab.replay import files
from trimtab.replay.recording import Recording
from trimtab.wire import Call, check, read

DATA = SHARED / "data"
LIMITS = (8_000, 20_000, 60_000)

Json = dict[str, Any]


@cache
def claude_code() -> dict[str, Recording]:
    """Every Claude Code session, by a name of its own."""
    found: dict[str, Recording] = {}
    for path in sorted((DATA / "claude_code").rglob("*.jsonl")):
        for recording in files.load(path.read_bytes(), path.name):
            found[f"{path.parent.name}/{recording.name}"] = recording
    return found


def chat_lists(path: Path) -> Iterator[tuple[str, list[Json]]]:
    """The chat message lists in a file of another kind."""
    value = json.loads(path.read_bytes())
    if isinstance(value, list):
        for place, row in enumerate(value):
            yield f"{path.stem}[{place}]", row["traj"]
    else:
        yield path.stem, value["messages"]


@cache
def chat() -> dict[str, Recording]:
    """Every session that holds OpenAI-chat messages."""
    found: dict[str, Recording] = {}
    for kind in ("tau_bench", "mini_swe", "litellm_log"):
        for path in sorted((DATA / kind).rglob("*.json")):
            for name, messages in chat_lists(path):
                for recording in files.load(json.dumps(messages).encode(), name):
                    found[f"{kind}/{name}"] = recording
    return found


def test_all_sessions_are_found() -> None:
    """The recorded sessions are those that are meant."""
    assert len(claude_code()) >= 13
    assert len(chat()) >= 200


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", sorted(claude_code()))
def test_a_claude_code_session_fits_or_says_why(name: str, limit: int) -> None:
    """Valid and within the limit, or unmet or unsatisfiable with numbers."""
    assert_cut(claude_code()[name], limit)


@pytest.mark.parametrize("limit", LIMITS)
def test_every_chat_session_fits_or_says_why(limit: int) -> None:
    """Valid and within the limit, or unmet or unsatisfiable with numbers."""
    for recording in chat().values():
        assert_cut(recording, limit)


def assert_cut(recording: Recording, limit: int) -> None:
    """Cut the largest request of a session and look at what came of it."""
    recorded = recording.requests[recording.largest]
    body = recorded.build()
    wire_format = recorded.format or read(body).format.name
    assert check(body, wire_format, unrecorded=recorded.unrecorded) == ()
    session = Session(Policy(limit_tokens=limit))

    rewrite = session.rewrite(session.read(Call(body), wire_format))

    outcome = rewrite.outcome
    assert check(rewrite.body, wire_format) == ()
    recount = session.weigh(session.read(Call(rewrite.body), wire_format)).total_tokens
    assert outcome.tokens_after == recount
    if outcome.status in ("untouched", "fits"):
        assert recount <= limit
    else:
        assert outcome.needed_tokens > limit
        assert outcome.reason
    if outcome.tokens_before <= limit:
        assert rewrite.body is body
