"""How OpenAI's models are told what to cache, by their ids: the same in both of its formats.

Models from 5.6 on find a cached prefix only where it was marked. The end of
each request counts as marked, and more marks can be set. Earlier ones look for
the longest prefix themselves. All of them find it more often with a key.
"""

from __future__ import annotations

import re

from trimtab.wire.format import MarkerRules

__all__ = ["openai_marker_rules"]

_OPENAI = re.compile(r"(?:ft:)?(?:gpt-(\d)(?:\.(\d+))?(?!\d)|o\d|chatgpt-|codex-)")
"""Ids as OpenAI writes them. Other servers of its formats may refuse fields that they do not know."""

_FIRST_WITH_MARKERS = (5, 6)

_LEAST_TOKENS = 1024

_MOST_MARKERS = 3
"""A request writes to the cache in four places, and its end is one of them."""


def openai_marker_rules(
    model: str, blocks: frozenset[bytes], *, unmarked_roles: tuple[bytes, ...]
) -> MarkerRules | None:
    """Say how cache markers and a cache key can be set for a model.

    Args:
        model: The model's id.
        blocks: Types of parts that a marker may be set on, as JSON text.
        unmarked_roles: Roles in whose messages none is set, as JSON text.

    Returns:
        None for a model that is not known to be one of OpenAI's.
    """
    found = _OPENAI.match(model.lower())
    if found is None:
        return None
    version = (int(found[1] or 0), int(found[2] or 0))
    return MarkerRules(
        decided_by=("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"),
        least_tokens=_LEAST_TOKENS,
        marker=("prompt_cache_breakpoint", b'{"mode":"explicit"}'),
        most=_MOST_MARKERS if version >= _FIRST_WITH_MARKERS else 0,
        blocks=blocks,
        unmarked_roles=unmarked_roles,
        key_field="prompt_cache_key",
    )
