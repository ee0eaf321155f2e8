"""Bytes to messages and back, one file a format.

::

    read      bytes -> Request         find where each message lies
    write     Request, Plan -> bytes   what no edit names keeps its bytes
    build     messages -> bytes        for messages that have no bytes yet
    check     bytes -> problems        every rule that a request breaks

``if format ==`` stands nowhere outside this folder: what a format forbids
reaches the neutral code as :class:`~trimtab.constraints.Constraints`, and
:meth:`~trimtab.wire.format.Format.complete` has the last word on a plan.
"""

from trimtab.wire.building import build
from trimtab.wire.checking import check
from trimtab.wire.format import Format
from trimtab.wire.formats import FORMATS, format_named
from trimtab.wire.reading import read
from trimtab.wire.request import Call, Request
from trimtab.wire.rules import Problem, Rule
from trimtab.wire.usages import usage_from
from trimtab.wire.writing import view_pieces, write

__all__ = [
    "FORMATS",
    "Call",
    "Format",
    "Problem",
    "Request",
    "Rule",
    "build",
    "check",
    "format_named",
    "read",
    "usage_from",
    "view_pieces",
    "write",
]
