"""Arrays of equal objects are written as their keys, once, and a row of values for each object.

Buys: in a long list of records, half the tokens are keys.
Costs: nothing; the rows hold each value as it came.

The law of this file: the legend is the same for every text, so that what is
sent needs nothing that was sent elsewhere to be read.
"""

from __future__ import annotations

from trimtab.boundaries import MADE_PREFIX
from trimtab.wire.json_rows import Rows, uniform_arrays
from trimtab.wire.json_spans import Splice, splice

__all__ = ["KEY", "LEGEND", "columns"]

LEGEND = (
    f"{MADE_PREFIX}JSON in which each list of objects with the same keys is written as "
    '{"[trimtab: keys]": [...], "rows": [...]}, a row of values for each object]'
)
"""Says how to read it."""

KEY = '"[trimtab: keys]"'
"""What tells such a list from one that came so."""

_BETWEEN = "},{"
_LEAST_OBJECTS = 3


def columns(text: str) -> str:
    """Write the arrays of equal objects in a JSON text as columns, below a legend.

    Args:
        text: Any text; JSON as :func:`~trimtab.squeeze.minify_json.minify_json` leaves it.

    Returns:
        The text itself where it is no compact JSON, or has no such array.
    """
    if text[:1] not in ("{", "[") or _BETWEEN not in text or MADE_PREFIX in text:
        return text
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return text
    splices: list[Splice] = [
        (*span, _table(rows)) for span, rows in uniform_arrays(data, _LEAST_OBJECTS)
    ]
    return f"{LEGEND}\n{splice(data, splices).decode()}" if splices else text


def _table(rows: Rows) -> bytes:
    keys, values = rows
    table = b"],[".join(map(b",".join, values))
    return b'{%b:[%b],"rows":[[%b]]}' % (KEY.encode(), b",".join(keys), table)
