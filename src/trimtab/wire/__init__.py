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

from trimtab.errors import BodyTooLargeError, UnknownEncodingError
from trimtab.wire.answers import Answer, stream_answer, write_answer, write_error
from trimtab.wire.building import build
from trimtab.wire.cache_points import CacheHints, conversation_key, view_counts, with_cache_markers
from trimtab.wire.checking import check
from trimtab.wire.encodings import undo_encoding
from trimtab.wire.format import CacheLife, Format
from trimtab.wire.formats import FORMATS, format_named
from trimtab.wire.provider_errors import classify_error
from trimtab.wire.reading import read
from trimtab.wire.request import Call, Request
from trimtab.wire.rules import Problem, Rule
from trimtab.wire.streams import StreamReader
from trimtab.wire.usages import usage_from, usage_of
from trimtab.wire.writing import view_pieces, write

__all__ = [
    "FORMATS",
    "Answer",
    "BodyTooLargeError",
    "CacheHints",
    "CacheLife",
    "Call",
    "Format",
    "Problem",
    "Request",
    "Rule",
    "StreamReader",
    "UnknownEncodingError",
    "build",
    "check",
    "classify_error",
    "conversation_key",
    "format_named",
    "read",
    "stream_answer",
    "undo_encoding",
    "usage_from",
    "usage_of",
    "view_counts",
    "view_pieces",
    "with_cache_markers",
    "write",
    "write_answer",
    "write_error",
]
