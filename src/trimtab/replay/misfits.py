"""Where a prediction was far off the bill, and what that is mostly caused by."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = [
    "CACHE_CAUSES",
    "LARGE",
    "SIZE_CAUSES",
    "CacheCause",
    "SizeCause",
    "cache_cause",
    "size_cause",
]

LARGE = 0.1
"""An error of more than this share of a request is told with its cause."""

_MOST_OF_IT = 0.5
"""A share of the error from which on its cause is told as the one."""

_LEARNING_BILLS = 3
"""Until so many bills of a model are known that are like what the log holds, nobody knows what it
leaves out, or how long a token is."""

CacheCause: TypeAlias = Literal["shrunk", "nothing_read", "less_read", "more_read"]
"""What the provider did where the model of its cache is far off; ``shrunk``: the request that it
billed was smaller than what the log holds, so there was less to read."""

SizeCause: TypeAlias = Literal["first_requests", "shrunk", "new_messages"]
"""Why a size was foretold wrongly: too few bills were known; the context had become smaller in a
way that the log does not show; what was new weighs other than what was there."""

CACHE_CAUSES: tuple[str, ...] = get_args(CacheCause)
SIZE_CAUSES: tuple[str, ...] = get_args(SizeCause)
"""All of each, in the order in which they are told."""


def cache_cause(modelled: int, read: int, excess: int) -> CacheCause:
    """Say how a bill differs from what the model of the cache says.

    Args:
        modelled: Tokens that the model takes to be read.
        read: Tokens that were.
        excess: How much more the log holds than was billed for the whole request, in tokens.
    """
    if read > modelled:
        return "more_read"
    if excess >= _MOST_OF_IT * (modelled - read):
        return "shrunk"
    return "less_read" if read else "nothing_read"


def size_cause(bills: int, foretold: int, billed: int, billed_before: int) -> SizeCause:
    """Say why a size was foretold wrongly.

    Args:
        bills: How many bills of the model were known that are like what the log holds.
        foretold: The size, in tokens.
        billed: What was billed.
        billed_before: What was billed for the request before.
    """
    if bills < _LEARNING_BILLS:
        return "first_requests"
    return "shrunk" if billed < foretold and billed < billed_before else "new_messages"
