"""What survives with a summary in it, by the same kits: from a good summarizer and from a sloppy one.

The question is whether a summary ever makes things worse than the rules alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.retention import conformance, side_constraints
from benchmarks.retention.compactors import COMPACTORS, Compactor, Count, _Counter
from trimtab import (
    CompactionConfig,
    LlmCompaction,
    Message,
    Summary,
    SummaryRequest,
    compact_messages,
)

_MATTERS = re.compile(r"must|never|always|only|\d|[A-Z]{2}|/|decid|goal|prefer", re.IGNORECASE)
_TAG = re.compile(r"^\[[a-z ]+\]$")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n")


class Good:
    """Copies what looks as if it mattered, the newest last, into a fourth of the record."""

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer by rote."""
        record = request.prompt.partition("<record>\n")[2].partition("\n</record>")[0]
        told = [s for s in _SENTENCES.split(record) if _MATTERS.search(s) and not _TAG.match(s)]
        room = len(record) // 4
        kept: list[str] = []
        for sentence in reversed(told):
            room -= len(sentence) + 3
            if room < 0:
                break
            kept.insert(0, f"- {sentence.strip()}")
        return Summary("## State and progress\n" + "\n".join(kept), "stop")


class Sloppy:
    """Says next to nothing."""

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer by rote."""
        del request
        return Summary("## Goal\nSome work was done.", "stop")


def with_summary(summarizer: Good | Sloppy) -> Compactor:
    """The compactor that asks it."""

    def compactor(messages: list[Message], room: int, count: Count) -> list[Message]:
        config = CompactionConfig(
            max_context_tokens=room, system_prompt_tokens=0, target_ratio=1.0, headroom_turns=None,
            counter=_Counter(count),
        )  # fmt: skip
        if compact_messages(messages, config) is messages:
            return messages  # within its room, as for the others
        with LlmCompaction(summarizer) as compaction:
            return compaction.compact_now(messages, config)

    return compactor


def main() -> None:
    """Print the tables of both kits."""
    for name in ("nothing", "ledger", "everything"):
        del COMPACTORS[name]
    COMPACTORS["good"] = with_summary(Good())
    COMPACTORS["sloppy"] = with_summary(Sloppy())
    conformance.main()
    side_constraints.main()


if __name__ == "__main__":
    main()
