"""How the providers' caches behave, as far as a diagnosis needs it: least length and life time."""

from __future__ import annotations

import re

from trimtab.wire.claude_models import claude_model

__all__ = ["LOOK_BACK_BLOCKS", "least_tokens", "life_seconds"]

LOOK_BACK_BLOCKS = 20
"""Blocks, itself included, in which a marker looks for what an earlier one wrote."""

_LEAST = 1_024
"""What most providers cache at least, and what is taken for a model that is not known."""

_CLAUDE_LEAST = (
    (("opus",), (5, 0), 512),
    (("opus",), (4, 8), 1_024),
    (("opus",), (4, 7), 2_048),
    (("opus",), (4, 5), 4_096),
    (("fable", "mythos"), (5, 0), 512),
    (("sonnet",), (5, 5), 512),
    (("haiku",), (4, 5), 4_096),
)
"""Families, the version from which it holds, and the tokens."""

_GEMINI = re.compile(r"gemini-(\d)(?:\.(\d))?")
_EXPLICIT_GPT = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")

_MINUTE = 60


def least_tokens(model: str) -> int:
    """How long a prefix must be so that the provider caches it, in tokens."""
    claude = claude_model(model)
    if claude is not None:
        rows = (
            row for row in _CLAUDE_LEAST if claude.family in row[0] and claude.version >= row[1]
        )
        return next((row[2] for row in rows), _LEAST)
    gemini = _GEMINI.search(model.lower())
    if gemini:
        return 4_096 if int(gemini[1]) >= 3 else 2_048
    return _LEAST


def life_seconds(model: str, *, has_long_marker: bool = False) -> float:
    """How long the provider keeps a prefix that nobody reads, in seconds.

    Args:
        model: The model's id.
        has_long_marker: Whether a marker asks for the longer life time.
    """
    if claude_model(model) is not None:
        return 60 * _MINUTE if has_long_marker else 5 * _MINUTE
    if _EXPLICIT_GPT.search(model.lower()):
        return 30 * _MINUTE
    return 60 * _MINUTE  # at most that long; nothing is promised
