"""Whatever rewrites a request to fit a limit: the package, and faults planted in its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.laws.conversations import history_of
from trimtab import CharTokenCounter, Outcome, Plan, Policy, Session
from trimtab.session import Rewrite
from trimtab.wire import Call

__all__ = [
    "Rewriter",
    "Rewritten",
    "policy_for",
    "reserialise",
    "tail_only",
    "trimtab",
    "untouched",
]


@dataclass(frozen=True)
class Rewritten:
    """What came of a body."""

    body: bytes
    outcome: Outcome
    plan: Plan


Rewriter: TypeAlias = Callable[[bytes, str, int], Rewritten]
"""Body, format and limit to what goes out."""


def policy_for(limit: int, **settings: Any) -> Policy:
    """A policy whose target is near enough to its limit that all tiers are climbed."""
    return Policy(limit_tokens=limit, **settings)


def trimtab(body: bytes, format: str, limit: int) -> Rewritten:  # noqa: A002 - the word for it
    """The package itself."""
    session = Session(policy_for(limit), CharTokenCounter())
    rewrite: Rewrite = session.rewrite(session.read(Call(body), format))
    return Rewritten(rewrite.body, rewrite.outcome, rewrite.plan)


def tail_only(body: bytes, format: str, limit: int) -> Rewritten:  # noqa: A002, ARG001 - a rewriter's shape
    """A fault: keep the newest messages and ask nobody."""
    value = json.loads(body)
    del history_of(value)[:-4]
    return Rewritten(json.dumps(value).encode(), Outcome("fits", limit, limit + 1, 0), Plan())


def untouched(body: bytes, format: str, limit: int) -> Rewritten:  # noqa: A002, ARG001 - a rewriter's shape
    """A fault: change nothing and say that it fits."""
    return Rewritten(body, Outcome("fits", limit, limit, limit), Plan())


def reserialise(body: bytes, format: str, limit: int) -> Rewritten:  # noqa: A002 - the word for it
    """A fault: the right plan, written by parsing and dumping the whole body."""
    right = trimtab(body, format, limit)
    return Rewritten(json.dumps(json.loads(right.body)).encode(), right.outcome, right.plan)
