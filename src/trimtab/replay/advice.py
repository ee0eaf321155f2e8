"""Which setting of a client's own compaction its recorded sessions speak for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.replay.paper import ClientCompaction
from trimtab.replay.policies import CLIENT, Choice
from trimtab.replay.results import Costs, SessionResult, share_saved

__all__ = ["EXTRA_EXCHANGES", "Advice", "advise", "tried"]

EXTRA_EXCHANGES = 3
"""What an agent is taken to ask again after each compaction; advice that assumes none is for sale."""

_TRIGGERS = (60_000, 80_000, 100_000, 120_000, 160_000)

_CLAUDE_CODE_ROOM = 33_000
"""What Claude Code keeps free: 20,000 for an answer and 13,000; recorded sessions of a window of
200,000 were compacted at 155,000 to 170,000."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """How a client is told when to compact, and what is known to go wrong.

    Attributes:
        words: What to set; ``{tokens}`` stands for the size, ``{window}`` for the window at
            whose usual share it lies.
        traps: What to know beforehand.
    """

    words: str
    traps: tuple[str, ...]


_SETTINGS: Mapping[str, _Setting] = {
    "claude-code": _Setting(
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW={window} (or autoCompactWindow in settings.json): it "
        "compacts 33,000 below that",
        (
            (
                "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE can only lower the share, and several versions of "
                "2.1 ignored it (anthropics/claude-code issues 31806, 57567, 82761)"
            ),
            "watch the next session with trimtab replay: the log tells where it really compacted",
        ),
    ),
    "codex": _Setting(
        "model_auto_compact_token_limit = {tokens} in config.toml",
        ("it is a number of tokens for every model that you use, not a share of the window",),
    ),
    "opencode": _Setting(
        "compaction.reserved in opencode.json: the window of your model less {tokens}",
        ("it is what stays free, so it must be set anew for a model with another window",),
    ),
    "gemini-cli": _Setting(
        "the compression threshold of the chat, as a share of the window: {tokens} tokens of it",
        ("with a window of a million tokens, the default is passed by few sessions at all",),
    ),
    "pi": _Setting(
        "compaction.reserveTokens: the window of your model less {tokens}",
        ("it is what stays free, so it must be set anew for a model with another window",),
    ),
}


@dataclass(frozen=True, slots=True)
class Advice:
    """The best setting for one client.

    Attributes:
        kind: Which client.
        trigger_tokens: From which size on it should compact; None where its own setting is best.
        saved: What that saves beside the sessions as they were recorded, as a share.
        tried: What each size saves, by size.
        words: What to set; empty where nothing is better, or nobody knows how.
        traps: What to know beforehand.
    """

    kind: str
    trigger_tokens: int | None
    saved: float
    tried: Mapping[int, float]
    words: str
    traps: tuple[str, ...]


def tried() -> tuple[Choice, ...]:
    """The sizes that are tried, as policies to replay sessions under."""

    def at(tokens: int) -> Choice:
        words = f"the client's own compaction at {tokens:,} tokens"
        return Choice(_name(tokens), words, paper=lambda _: ClientCompaction(tokens))

    return tuple(map(at, _TRIGGERS))


def _name(tokens: int) -> str:
    return f"client-at-{tokens}"


def advise(results: Sequence[SessionResult]) -> list[Advice]:
    """Say for each client which size its sessions speak for.

    Args:
        results: Sessions that were replayed under :func:`tried` too.
    """
    kinds = dict.fromkeys(result.kind for result in results)
    return [_advice(kind, [each for each in results if each.kind == kind]) for kind in kinds]


def _advice(kind: str, results: Sequence[SessionResult]) -> Advice:
    base = Costs.sum(each.policies[CLIENT].with_exchanges(EXTRA_EXCHANGES) for each in results)
    saved = {
        tokens: share_saved(
            Costs.sum(
                each.policies[_name(tokens)].with_exchanges(EXTRA_EXCHANGES) for each in results
            ),
            base,
        )
        for tokens in _TRIGGERS
    }
    best = max(saved, key=lambda tokens: saved[tokens])
    if saved[best] <= 0:
        return Advice(kind, None, 0.0, saved, "", ())
    setting = _SETTINGS.get(kind)
    words = (
        ""
        if setting is None
        else setting.words.format(tokens=f"{best:,}", window=best + _CLAUDE_CODE_ROOM)
    )
    return Advice(kind, best, saved[best], saved, words, () if setting is None else setting.traps)
