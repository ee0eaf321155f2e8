"""JSON without the blanks between its values.

Buys: pretty JSON is a third blanks.
Costs: nothing; whoever reads it reads the same values.

The law of this file: what stands in quotes, each number and the order of keys
stay as they came, to the letter. The text is cut, never read and written again.
"""

from __future__ import annotations

from trimtab.wire.json_rows import is_sound
from trimtab.wire.json_spans import encode_json_text

__all__ = ["minify_json"]

_BLANKS = " \t\n\r"
_BRACKETS = ("{}", "[]")


def minify_json(text: str) -> str:
    """Take the blanks out of a text that is a JSON object or array, and nothing else.

    Args:
        text: Any text.

    Returns:
        The text itself where it is no such JSON.
    """
    body = text.strip(_BLANKS)
    if body[:1] + body[-1:] not in _BRACKETS or not is_sound(encode_json_text(body)):
        return text
    # Escaped quotes are hidden behind characters that no JSON holds bare.
    hidden = body.replace("\\\\", "\0").replace('\\"', "\1")
    pieces = hidden.split('"')
    pieces[::2] = ["".join(piece.split()) for piece in pieces[::2]]
    return '"'.join(pieces).replace("\1", '\\"').replace("\0", "\\\\")
