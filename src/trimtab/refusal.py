"""What a provider said no to, as far as it decides what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Refusal", "RefusalKind"]

RefusalKind: TypeAlias = Literal[
    "overflow",
    "shrink for rate",
    "bytes too large",
    "output limit",
    "rate limit",
    "quota",
    "overloaded",
    "state",
    "signature",
    "structure",
    "auth",
    "other",
]
"""Why a request was refused.

``overflow``: the input is larger than the window. ``shrink for rate``: larger
than the rate limit ever lets through. ``bytes too large``: the body is. ``output
limit``: the wish for output is too large, not the input. ``rate limit`` and
``overloaded``: waiting helps. ``quota``, ``auth``: a person must act.
``state``: what the request refers to is not on the server. ``signature``:
signed reasoning does not fit. ``structure``: a rule of the format is broken.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One refusal.

    Attributes:
        kind: Why.
        limit_tokens: The limit that the provider named, of the window or of the rate, never
            of the output; None where it named none.
        sent_tokens: What it counted in the request; None where it did not say.
        is_after_start: Whether the answer had begun, so that nothing can be sent again.
        wait_seconds: How long it asked to wait, whatever the kind and however long; None
            where it did not say.
    """

    kind: RefusalKind
    limit_tokens: int | None = None
    sent_tokens: int | None = None
    is_after_start: bool = False
    wait_seconds: float | None = None
