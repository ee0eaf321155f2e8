"""Ask a format which of its rules a body breaks."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.errors import MalformedBodyError
from trimtab.wire.formats import format_named
from trimtab.wire.json_spans import load
from trimtab.wire.rules import Findings, Problem

__all__ = ["check"]


def check(body: bytes, format: str, *, unrecorded: Iterable[str] = ()) -> tuple[Problem, ...]:  # noqa: A002 - the word for it
    """Find every rule that a request breaks.

    Args:
        body: The bytes of the request.
        format: Name of its format.
        unrecorded: Top-level fields that a recording left out; a rule that
            needs one of them is reported as unrecorded, not as broken.

    Returns:
        The problems in the order in which they were found; empty if there are none.

    Raises:
        MalformedBodyError: If the body is not JSON, or no object.
        UnknownFormatError: If there is no format of that name.
    """
    wire_format = format_named(format)
    decoded = load(body)
    if not isinstance(decoded, dict):
        raise MalformedBodyError("JSON, but not an object", offset=0)
    findings = Findings(wire_format.rules, frozenset(unrecorded), size_bytes=len(body))
    wire_format.check(decoded, findings)
    return tuple(findings.problems)
