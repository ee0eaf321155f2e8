"""What a compaction took and what it left, told from its plan: kinds and counts, no words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from trimtab.boundaries import split_marker
from trimtab.economy import Cut
from trimtab.ledger import read_ledger
from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import Changes, Drop, Edit, Fold, Plan, Ref, Replace
from trimtab.replay.report.story import CutStory, Loss
from trimtab.replay.weights import Said
from trimtab.tokens import Measure

__all__ = ["FRAMES", "cut_story", "kind_of_handle"]

FRAMES = "frames of messages, rounding, and what the client changed"
"""What no part holds: so that the kinds add up to what the request lost."""

_KINDS: Mapping[type[Part], str] = {
    ToolResult: "results of tools",
    ToolCall: "calls of tools",
    Thinking: "thinking",
    Media: "images and files",
    Opaque: "content of unknown kind",
}

_SECTIONS = {
    "rules": "rules of the user, verbatim",
    "words": "other words of the user",
    "files": "files",
    "values": "values that stood nowhere else",
    "carried": "steps of the plan",
}


def cut_story(
    turn: int,
    cut: Cut,
    before: Plan,
    after: Plan,
    said: Sequence[Said],
    message_at: Callable[[int], Message],
    measure: Measure,
) -> CutStory:
    """Say what a compaction took and what it left.

    Args:
        turn: Its request, from 0.
        cut: Its sizes, as they are billed.
        before: What had been changed until then.
        after: What is changed from then on.
        said: The client's messages, weighed.
        message_at: Gives one of them by its place.
        measure: Weighs their parts.

    Raises:
        TokenCountError: If the counter fails.
    """
    rate = _rate(said)
    was, now = before.changes, after.changes
    untouched = [place for place in range(len(said)) if not _is_touched(now, place)]
    gone = sum(place in now.gone for place in range(len(said)))
    user = [place for place in range(len(said)) if _is_of_user(said[place])]
    made = round(rate * (_made_tokens(after, measure) - _made_tokens(before, measure)))
    removed = _removed(was, now, said, message_at, measure)
    rest = cut.before - cut.after + made - sum(loss.tokens for loss in removed)
    return CutStory(
        turn,
        cut.before,
        cut.after,
        cut.kept,
        (*removed, Loss(FRAMES, 0, rest)),
        _reasons(before, after, rate),
        made,
        len(untouched),
        sum(said[place].tokens for place in untouched),
        len(said) - len(untouched) - gone,
        gone,
        len(user),
        len(set(user) & set(untouched)),
        _noted(after),
    )


def _rate(said: Sequence[Said]) -> float:
    """Billed tokens for one that is counted."""
    counted = sum(each.counted for each in said)
    return sum(each.tokens for each in said) / counted if counted else 1.0


def _is_touched(changes: Changes, place: int) -> bool:
    """Whether any of its words is gone; a marker that was joined to it takes none."""
    return place in changes.gone or place in changes.dropped or place in changes.replaced


def _is_of_user(said: Said) -> bool:
    return said.role == "user" and not said.is_result


def _removed(
    was: Changes,
    now: Changes,
    said: Sequence[Said],
    message_at: Callable[[int], Message],
    measure: Measure,
) -> tuple[Loss, ...]:
    """What went, by kind of content, the most first."""
    pieces: Counter[str] = Counter()
    tokens: defaultdict[str, float] = defaultdict(float)
    for place in sorted(now.gone | now.touched):
        if place >= len(said) or place in was.gone:
            continue
        rate = said[place].tokens / said[place].counted if said[place].counted else 1.0
        message = message_at(place)
        for number, part in enumerate(message.parts):
            old = _part_under(was, place, number, part)
            new = _part_under(now, place, number, part)
            lost = _weight(old, measure) - _weight(new, measure)
            if lost > 0:
                kind = _kind(part, message)
                pieces[kind] += 1
                tokens[kind] += lost * rate
    losses = (Loss(kind, pieces[kind], round(tokens[kind])) for kind in pieces)
    return tuple(sorted(losses, key=lambda loss: (-loss.tokens, loss.kind)))


def _part_under(changes: Changes, place: int, number: int, part: Part) -> Part | None:
    if place in changes.gone or number in changes.dropped.get(place, ()):
        return None
    return changes.replaced.get(place, {}).get(number, part)


def _weight(part: Part | None, measure: Measure) -> int:
    return 0 if part is None else measure.part(part)


def _kind(part: Part, message: Message) -> str:
    if isinstance(part, Text):
        return "words of the user" if message.role == "user" else "words of the model"
    return _KINDS[type(part)]


def _made_tokens(plan: Plan, measure: Measure) -> int:
    """What stands for what went."""
    return sum(measure.parts(edit.message.parts) for edit in plan if isinstance(edit, Fold))


def _reasons(before: Plan, after: Plan, rate: float) -> tuple[Loss, ...]:
    """What went, by the rule that took it; what earlier plans had taken is not told again."""
    old, new = _by_reason(before), _by_reason(after)
    losses = []
    for reason, (pieces, tokens) in new.items():
        had_pieces, had_tokens = old.get(reason, (0, 0))
        if pieces > had_pieces and reason:
            losses.append(Loss(reason, pieces - had_pieces, round(rate * (tokens - had_tokens))))
    return tuple(sorted(losses, key=lambda loss: (-loss.tokens, loss.kind)))


def _by_reason(plan: Plan) -> dict[str, tuple[int, int]]:
    """Pieces and tokens that went, by reason."""
    found: dict[str, tuple[int, int]] = {}
    for edit in plan:
        if not isinstance(edit, Replace | Drop | Fold):
            continue
        pieces, tokens = found.get(edit.reason, (0, 0))
        found[edit.reason] = (pieces + _pieces(edit), tokens + edit.saved_tokens)
    return found


def _pieces(edit: Edit) -> int:
    match edit:
        case Fold():
            return sum(map(_parts_of, edit.removed))
        case Drop():
            return _parts_of(edit.ref)
        case _:
            return 1


def _parts_of(ref: Ref) -> int:
    return 1 if ref.parts is None else len(ref.parts)


def _noted(plan: Plan) -> Mapping[str, int]:
    """Entries of the ledger, by section."""
    for edit in plan:
        text = edit.message.text if isinstance(edit, Fold) else ""
        split = split_marker(text)
        if split is not None:
            sections = asdict(read_ledger(split[1]))
            return {_SECTIONS[name]: len(entries) for name, entries in sections.items() if entries}
    return {}


# -------------------------------------------------------------------- handles

_HASH = re.compile(r"[0-9a-f-]{7,64}")


def kind_of_handle(handle: str) -> str:
    """Say what kind of thing an answer used, without saying what.

    Args:
        handle: As :func:`trimtab.replay.regret.handles_in` finds them.
    """
    if " " in handle:
        return "words of the user"
    if "://" in handle:
        return "web addresses"
    if "=" in handle:
        return "settings"
    if "/" in handle:
        return "paths"
    return "ids and hashes" if _HASH.fullmatch(handle) else "names in code"
