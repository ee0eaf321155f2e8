"""How many of conpact's 15 constraints survive a compaction to a tenth, in one round and in five."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from conpact.generate import build_instances

from benchmarks.retention.compactors import CHARACTERS, COMPACTORS, Compactor, texts
from benchmarks.retention.haystacks import made, recorded
from trimtab import Message

LENGTH = 20_000
REDUCTION = 10
HAYSTACKS = 2
ROUNDS = (1, 5)
POSITIONS = ("top", "middle", "bottom")
LEDGER_TOKENS, LEDGER_SHARE = 1_500, 4


def kept(instance: Any, name: str, rounds: int) -> bool:
    """Whether the constraint stands word for word in what is left."""
    compactor = COMPACTORS[name]
    messages = [
        Message.user(m["content"]) if m["role"] == "user" else Message.assistant(m["content"])
        for m in instance.messages
    ]
    # Talk goes on behind the constraint: else a constraint at the bottom is simply the newest message.
    messages += [Message.assistant("Done."), Message.user("What is left to do?")]
    room = instance.token_length // REDUCTION
    if name == "ledger":
        room = min(LEDGER_TOKENS, room // LEDGER_SHARE)
    left: list[Message] = []
    for part in _parts(messages, rounds):
        left = _compacted(compactor, [*left, *part], room)
    return _plain(instance.sc_text) in _plain(texts(left))


def _parts(messages: Sequence[Message], rounds: int) -> Iterator[Sequence[Message]]:
    size = -(-len(messages) // rounds)
    for start in range(0, len(messages), size):
        yield messages[start : start + size]


def _compacted(compactor: Compactor, messages: list[Message], room: int) -> list[Message]:
    return compactor(messages, room, CHARACTERS)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def main() -> None:
    """Print a table for each number of rounds."""
    paths = [Path(path) for path in sys.argv[1:]]
    haystacks = (
        list(recorded(paths, LENGTH))
        if paths
        else [made(seed, LENGTH + 2_000) for seed in range(HAYSTACKS)]
    )
    print(
        f"{len(haystacks)} histories of {LENGTH} tokens, 15 constraints each, down to 1/{REDUCTION}"
    )
    cases = list(product(POSITIONS, (False, True), (False, True)))
    for rounds in ROUNDS:
        print(f"\nKept in {rounds} round(s), by position and framing (- none, s strict, d direct)")
        print(f"{'':12}" + "".join(f"{_title(*case):>12}" for case in cases))
        for name in COMPACTORS:
            shares = []
            for position, strict, direct in cases:
                instances = build_instances(
                    haystacks, length=LENGTH, position=position, strict=strict, direct=direct
                )
                found = [kept(instance, name, rounds) for instance in instances]
                shares.append(sum(found) / len(found))
            print(f"{name:12}" + "".join(f"{share:>12.0%}" for share in shares))


def _title(position: str, strict: bool, direct: bool) -> str:  # noqa: FBT001 - a framing is two yes or no
    return f"{position} {'s' if strict else ''}{'d' if direct else ''}{'' if strict or direct else '-'}"


if __name__ == "__main__":
    main()
