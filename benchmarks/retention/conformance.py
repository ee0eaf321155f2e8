"""Survival by compaction-conformance-kit, at fixed budgets of characters over five rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from compaction_kit.canaries import seeded_canaries
from compaction_kit.compacted import CompactedContext
from compaction_kit.corpus import build_random_session
from compaction_kit.generated import build_generated_session
from compaction_kit.runner import run_conformance
from compaction_kit.semantic_corpus import build_semantic_heldout_session, build_semantic_session
from compaction_kit.session import build_seeded_session

from benchmarks.retention.compactors import COMPACTORS, Compactor, texts
from trimtab import Message

BUDGETS = (0.1, 0.2, 0.3)
ROUNDS = 5
SEEDS = range(1, 21)


class Adapter:
    """A compactor as the kit calls it: turns and a number of characters in, text out.

    The kit hands the text of one round to the next as a single turn. So the
    messages of the round before are kept here, as a loop would keep them.
    """

    def __init__(self, name: str, compactor: Compactor) -> None:
        self.name = name
        self._compactor = compactor
        self._messages: list[Message] = []

    def compact(
        self, turns: Sequence[Any], round_num: int = 1, budget_chars: int | None = None
    ) -> CompactedContext:
        """Compact once more."""
        if round_num == 1:
            self._messages = [
                Message.user(turn.text) if turn.role == "user" else Message.assistant(turn.text)
                for turn in turns
                if turn.role in ("user", "assistant")
            ]
        room = budget_chars or sum(len(message.text) for message in self._messages)
        self._messages = self._compactor(self._messages, room, len)
        return CompactedContext(texts(self._messages), self.name, round_num)


def survival(
    name: str, budget: float, build: Callable[[int], Any], seeds: Sequence[int]
) -> dict[str, float]:
    """Shares of what survived, of what was replaced and still stands, and of pairs that are whole."""
    held = canaries_in_all = stale = replaced = pairs = whole = 0
    fits = True
    for seed in seeds:
        session, canaries, *more = build(seed)
        run = run_conformance(
            session,
            Adapter(name, COMPACTORS[name]),
            rounds=ROUNDS,
            canaries=canaries,
            budget_fraction=budget,
        )
        last = run.rounds[-1]
        text = last.context.text.lower()
        fits = fits and all(result.within_budget for result in run.rounds)
        held += sum(last.survived.values())
        canaries_in_all += len(canaries)
        for canary in canaries:
            replaced += bool(canary.superseded_tokens)
            stale += any(token.lower() in text for token in canary.superseded_tokens)
        for one, other in more[0]["distinct_pairs"] if more else ():
            pairs += 1
            whole += last.survived[one] and last.survived[other]
    return {
        "kept": held / canaries_in_all,
        "stale": stale / replaced if replaced else 0.0,
        "pairs": whole / pairs if pairs else 1.0,
        "fits": float(fits),
    }


SESSIONS: dict[str, tuple[Callable[[int], Any], Sequence[int]]] = {
    "seeded": (lambda _: (build_seeded_session(), seeded_canaries()), (1,)),
    "random": (build_random_session, SEEDS),
    "generated": (build_generated_session, SEEDS),
    "paraphrased": (build_semantic_session, SEEDS),
    "held out": (build_semantic_heldout_session, SEEDS),
}


def main() -> None:
    """Print a table for each budget."""
    for budget in BUDGETS:
        print(
            f"\n{budget:.0%} of the characters, {ROUNDS} rounds: kept / replaced but still there / pairs whole"
        )
        print(f"{'':12}" + "".join(f"{name:>24}" for name in SESSIONS))
        for name in COMPACTORS:
            cells = []
            for build, seeds in SESSIONS.values():
                share = survival(name, budget, build, seeds)
                mark = "" if share["fits"] else " (over)"
                cells.append(
                    f"{share['kept']:.0%} / {share['stale']:.0%} / {share['pairs']:.0%}{mark}"
                )
            print(f"{name:12}" + "".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
