"""What a compaction took and what it left, told from its plan: kinds and counts, no words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from trimtab.boundaries import split_marker
from trimtab.economy import Cut
from trimtab.ledger import read_ledger
from trimtab.messages import Media, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import Changes, Drop, Fold, Plan, Ref, Replace
from trimtab.replay.report.story import CutStory, Loss
from trimtab.replay.weights import Said
from trimtab.tokens import Measure

__all__ = ["FRAMES", "MADE", "STOOD", "UNTOLD", "cut_story", "kind_of_handle"]

FRAMES = "frames of messages, rounding, and what the client changed"
"""What no part holds: so that the kinds, and the rules, add up to what the request lost."""

MADE = "put in its place: markers, ledger, turns told in a line"
"""What stands for all that is gone, from then on."""

STOOD = "what stood there for earlier cuts, and is told anew"
"""What stood for all that was gone, until then."""

UNTOLD = "what the wire format asks for along with it"
"""A part that went without a rule of its own."""

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
    stood = round(rate * _made_tokens(before, measure))
    made = round(rate * _made_tokens(after, measure)) - stood
    lost = list(_lost(was, now, _Rules(after), said, message_at, measure))
    rest = cut.before - cut.after + made - round(sum(each.tokens for each in lost))
    return CutStory(
        turn,
        cut.before,
        cut.after,
        cut.kept,
        min(cut.kept, cut.cached),
        cut.cached,
        "",
        _added_up([(each.kind, each.tokens) for each in lost], rest),
        _added_up([(each.rule, each.tokens) for each in lost], rest),
        made,
        len(untouched),
        sum(said[place].tokens for place in untouched),
        len(said) - len(untouched) - gone,
        gone,
        sum(place in was.gone for place in range(len(said))),
        len(user),
        len(set(user) & set(untouched)),
        _noted(after),
        stood_tokens=stood,
        user_messages_gone=sum(place in now.gone for place in user),
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


class _Rules:
    """Which rule took a part, as a plan tells it."""

    def __init__(self, plan: Plan) -> None:
        self._of: dict[tuple[int, int | None], str] = {}
        for edit in plan:
            match edit:
                case Replace():
                    self._of[edit.message, edit.part] = edit.reason
                case Drop():
                    self._take(edit.ref, edit.reason)
                case Fold():
                    for ref in edit.removed:
                        self._take(ref, edit.reason)
                case _:
                    pass

    def _take(self, ref: Ref, reason: str) -> None:
        for part in (None,) if ref.parts is None else ref.parts:
            self._of[ref.message, part] = reason

    def at(self, place: int, part: int) -> str:
        """The rule that took a part; a message that went whole went by one rule."""
        whole = self._of.get((place, None))
        return (self._of.get((place, part), "") if whole is None else whole) or UNTOLD


@dataclass(frozen=True, slots=True)
class _Lost:
    """A part that a compaction made smaller.

    Attributes:
        kind: What it is.
        rule: Why it went.
        tokens: What that made smaller.
    """

    kind: str
    rule: str
    tokens: float


def _lost(
    was: Changes,
    now: Changes,
    rules: _Rules,
    said: Sequence[Said],
    message_at: Callable[[int], Message],
    measure: Measure,
) -> Iterator[_Lost]:
    """What went, part by part."""
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
                yield _Lost(_kind(part, message), rules.at(place, number), lost * rate)


def _added_up(lost: Sequence[tuple[str, float]], rest: int) -> tuple[Loss, ...]:
    """Parts by kind or by rule, the most first, with what no part holds: always the same sum."""
    pieces = Counter(kind for kind, _ in lost)
    tokens: defaultdict[str, float] = defaultdict(float)
    for kind, weight in lost:
        tokens[kind] += weight
    losses = [Loss(kind, pieces[kind], round(tokens[kind])) for kind in pieces]
    losses.sort(key=lambda loss: (-loss.tokens, loss.kind))
    whole = round(sum(weight for _, weight in lost))
    rounded = whole - sum(loss.tokens for loss in losses)
    return (*losses, Loss(FRAMES, 0, rest + rounded))


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
