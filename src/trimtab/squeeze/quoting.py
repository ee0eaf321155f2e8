"""Say whether a result may have to be quoted to the letter.

An agent that changes a file quotes the lines that it replaces; one blank less
in what it was shown, and the change fails. So results that show files keep
their bytes.
"""

from __future__ import annotations

import re

from trimtab.messages import ToolCall
from trimtab.policy import ToolKind

__all__ = ["will_be_quoted"]

_SHOWS_FILE = re.compile(
    r"""
    (?:^|[;&({"'`\n]|\\n|\\"|\b(?:then|do|else|sudo|time)\ )\s{0,20}
    (?:cat|bat|batcat|head|tail|sed|nl|less|more|type|tac|diff|colordiff|xxd|hexdump|od|awk
      |Get-Content|gc|git\s(?:-\S+\s(?:[^-\s]\S*\s)?)*(?:show|diff|blame|cat-file|stash\sshow|log\s-p))
    (?=\s|\\n|$)
    """,
    re.VERBOSE,
)
"""A command that prints what stands in a file. One behind a pipe prints what another wrote."""

_LOG_FILE = re.compile(r"\.(?:log|out|err)\b", re.IGNORECASE)

_FILE_WORDS = frozenset(
    (
        *("read", "view", "open", "cat", "file", "files", "edit", "write", "patch", "diff", "code"),
        *("source", "snippet", "notebook"),
    )
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def will_be_quoted(call: ToolCall, kind: ToolKind | None) -> bool:
    """Whether the result of a call shows what stands in a file.

    Args:
        call: What was called.
        kind: What the tool does, where somebody said it; None for a tool that nobody knows.

    Returns:
        True for what reads, writes and edits, for a command that prints a file
        which is no log, and for an unknown tool whose name speaks of files.
    """
    if kind is not None and kind != "other":
        return True
    if kind is None:
        words = {word.lower() for word in _WORDS.findall(call.name)}
        if words & _FILE_WORDS:
            return True
    is_shown = _SHOWS_FILE.search(call.arguments) is not None
    return is_shown and _LOG_FILE.search(call.arguments) is None
