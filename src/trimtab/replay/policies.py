"""The policies that sessions are replayed under, side by side.

One row a policy. Those of ours are settings of the engine; others are on paper
(:mod:`trimtab.replay.paper`). To add one of ours, add a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from trimtab.budget import Limits
from trimtab.errors import PolicyError
from trimtab.policy import Policy
from trimtab.replay.paper import BackgroundSummaries, ClientCompaction, Nothing, Paper, ToolClearing

__all__ = [
    "CLIENT",
    "DEFAULT",
    "DIRECT",
    "POLICIES",
    "SHOWN",
    "Choice",
    "chosen",
    "is_watched",
]

DEFAULT, DIRECT, CLIENT = "deterministic", "nothing", "client"
"""What law 7 means: the default policy, nothing at all, and the client as it was recorded."""

_NEVER_TOKENS = 10**12
"""A trigger that lies at the limit, whatever that is."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy to replay sessions under.

    Attributes:
        name: As ``--policies`` takes it.
        words: What it does, for people.
        engine: Makes its settings out of the user's, for one of ours; the second argument is
            the size at which the default plans a compaction.
        paper: Makes one for a session, for one of others.
        is_recorded: Whether it is the session as it was recorded.
    """

    name: str
    words: str
    engine: Callable[[Policy, Limits], Policy] | None = None
    paper: Callable[[Limits], Paper] | None = None
    is_recorded: bool = False


def _sliding(policy: Policy, limits: Limits) -> Policy:
    # It has no trigger of its own: its limit is where the others begin.
    return replace(
        policy, strategy="sliding", limit_tokens=limits.trigger_tokens, trigger_tokens=None
    )


_TABLE = (
    Choice(DIRECT, "everything is sent, whatever it weighs", paper=lambda _: Nothing()),
    Choice(CLIENT, "the client as it was recorded, its own compactions with it", is_recorded=True),
    Choice(
        "client-early",
        "the client's own compaction, at the size at which ours begins",
        paper=lambda limits: ClientCompaction(limits.trigger_tokens),
    ),
    Choice("sliding", "the oldest go at each turn, so that it just fits", engine=_sliding),
    Choice(
        "sticky",
        "the oldest go, down to the target",
        engine=lambda policy, _: replace(policy, strategy="sticky"),
    ),
    Choice(
        "mask",
        "old tool results go, then the oldest",
        engine=lambda policy, _: replace(policy, strategy="mask"),
    ),
    Choice(
        DEFAULT, "the default: the whole ladder, with a ledger", engine=lambda policy, _: policy
    ),
    Choice(
        "births",
        "the default, with tool results made smaller before they are first sent",
        engine=lambda policy, _: replace(policy, preset="agent"),
    ),
    Choice(
        "cold",
        "the default, on cold moments and at the limit alone",
        engine=lambda policy, _: (
            replace(policy, trigger_tokens=_NEVER_TOKENS)
            if policy.limit_tokens is None
            else replace(policy, trigger_tokens=policy.limit_tokens)
        ),
    ),
    Choice(
        "summaries",
        "a summary of the model's, asked for in the background, two turns late",
        paper=lambda limits: BackgroundSummaries(limits.trigger_tokens),
    ),
    Choice(
        "summaries-late",
        "the same, eight turns late",
        paper=lambda limits: BackgroundSummaries(limits.trigger_tokens, latency_turns=8),
    ),
    Choice(
        "provider",
        "the provider clears old tool results at 100,000 tokens and keeps three",
        paper=lambda _: ToolClearing(100_000),
    ),
)

POLICIES: Mapping[str, Choice] = {choice.name: choice for choice in _TABLE}
"""All of them, by name, in the order in which they are shown."""

SHOWN = (DIRECT, CLIENT, DEFAULT)
"""Those that are always replayed: what law 7 holds against each other."""


def is_watched(name: str) -> bool:
    """Whether what is missed under a policy is known: one on paper writes no words to look into."""
    choice = POLICIES[name]
    return choice.engine is not None or choice.is_recorded or name == DIRECT


def chosen(names: Sequence[str]) -> tuple[Choice, ...]:
    """The policies of some names, in the order of the table; those of :data:`SHOWN` always.

    Args:
        names: As ``--policies`` takes them; ``all`` is all of them.

    Raises:
        PolicyError: If there is none of a name.
    """
    wanted = set(SHOWN)
    for name in names:
        if name == "all":
            wanted.update(POLICIES)
        elif name in POLICIES:
            wanted.add(name)
        else:
            raise PolicyError("policies", name, f"it must be one of {', '.join(POLICIES)}, or all")
    return tuple(choice for choice in _TABLE if choice.name in wanted)
