"""Birth edits: make a new tool result smaller before it is first sent. One file an edit.

::

    terminal_noise    escapes, progress bars and backspaces, as a reader would see them
    minify_json       JSON without its blanks
    repeated_lines    a line that comes many times in a row, once and counted
    columns           arrays of equal objects as their keys and rows of values
    fold_logs         log lines that differ in numbers only: the first, the last, a count
    references        a result that was sent in full before, as a reference to it
    clip_output       the middle of a very long output goes, where it can be asked for

``newborn.py`` applies them: ``safe`` the first three, ``agent`` all. An edit is
a pure function of the text; what it puts in begins with
:data:`~trimtab.boundaries.MADE_PREFIX`. To add one, write a file beside these
and give it its place there.
"""

from trimtab.squeeze.newborn import in_full, squeeze
from trimtab.squeeze.quoting import will_be_quoted
from trimtab.squeeze.references import RESTORED, digest, has_references, pointed, restores

__all__ = [
    "RESTORED",
    "digest",
    "has_references",
    "in_full",
    "pointed",
    "restores",
    "squeeze",
    "will_be_quoted",
]
