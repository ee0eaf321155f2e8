"""The message that a briefing is: a constant first line, the ledger, the summary.

The ledger comes first, so that it is read back where every ledger is. Behind
it nothing is: whatever a model wrote under :data:`SUMMARY_LINE` can pass
neither for an entry of the ledger nor for a marker.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.boundaries import BRIEFING, MADE_PREFIX, SUMMARY_LINE, is_briefing
from trimtab.ledger import Ledger, read_ledger
from trimtab.messages import Message

__all__ = ["briefing_text", "named", "parted"]

_DEFUSED = "[trimtab - "
"""What a summary has where it speaks as we do: it may have read an earlier marker aloud."""


def briefing_text(ledger: str, summary: str) -> str:
    """Put the text of a briefing together.

    Args:
        ledger: The rendered ledger; empty for none.
        summary: What the model wrote.
    """
    words = summary.strip().replace(MADE_PREFIX, _DEFUSED)
    blocks = (BRIEFING, ledger, f"{SUMMARY_LINE}\n{words}")
    return "\n\n".join(filter(None, blocks))


def parted(text: str) -> tuple[Ledger, str]:
    """Part the text of a briefing into its ledger and its summary."""
    listed, _, summary = text.partition(f"\n\n{SUMMARY_LINE}\n")
    return read_ledger(listed), summary


def named(messages: Sequence[Message]) -> list[Message]:
    """The same messages, in which briefings that went through JSON say again what they are."""
    return [
        Message(message.role, message.parts, origin="summary")
        if message.origin is None and is_briefing(message)
        else message
        for message in messages
    ]
