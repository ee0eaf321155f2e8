"""What all compactions of all sessions took away, and what they brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from trimtab.replay.report.effects import Effect
from trimtab.replay.report.figures import counted, difference, number
from trimtab.replay.report.glossary import term
from trimtab.replay.report.losses import FRAMES, MADE, STOOD
from trimtab.replay.report.markup import Child, Html, tag
from trimtab.replay.report.story import Cost, CutAccount, CutStory, Loss
from trimtab.replay.report.tables import Column, table

__all__ = ["removals_section"]


def removals_section(effects: Sequence[Effect]) -> Html | None:
    """Add up what each compaction took; None where there was none.

    Args:
        effects: All sessions that were priced.
    """
    cuts = [cut for effect in effects for cut in effect.told.story.cuts]
    if not cuts:
        return None
    return tag(
        "section",
        tag("h2", "What all ", term("compaction", "compactions"), " took away"),
        *_brought(cuts),
        tag(
            "div",
            _went("What went in all, by kind", "what went", cuts, _kinds),
            _went("What went in all, by the rule that took it", "why it went", cuts, _reasons),
            class_="pair",
        ),
        id="removals",
    )


def _kinds(cut: CutStory) -> Sequence[Loss]:
    return cut.removed


def _reasons(cut: CutStory) -> Sequence[Loss]:
    return cut.reasons


def _brought(cuts: Sequence[CutStory]) -> Iterator[Html]:
    accounts = [cut.account for cut in cuts if cut.account is not None]
    if not accounts:
        return
    none = Cost(0.0, 0.0)
    now = sum((each.now for each in accounts), none)
    later = sum((each.later for each in accounts), none)
    missed = sum((each.missed for each in accounts), none)
    saved = sum(map(_saved, accounts), none)
    misses = sum(each.misses for each in accounts)
    yield tag(
        "p",
        f"{counted(len(cuts), 'compaction')}: {difference(-now)} on their own turns, {difference(later)} on the turns "
        f"since, {difference(-missed)} for {counted(misses, 'answer')} that missed something; {difference(saved)} in "
        "all. Each is held against going on without it until the next one or the end of its session. That is not the "
        "headline: what the first of several saves later on is not in these sums, and where a client compacted itself "
        "and was cheaper for it, the headline is held against that.",
    )


def _saved(account: CutAccount) -> Cost:
    return account.saved


def _went(
    caption: str, head: str, cuts: Sequence[CutStory], of: Callable[[CutStory], Sequence[Loss]]
) -> Html | None:
    pieces: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for loss in (loss for cut in cuts for loss in of(cut)):
        pieces[loss.kind] += loss.pieces
        tokens[loss.kind] += loss.tokens
    if not tokens:
        return None
    kinds = sorted(tokens, key=lambda kind: (kind == FRAMES, -tokens[kind], kind))
    rows: list[Sequence[Child]] = [
        (kind, number(pieces[kind]) if pieces[kind] else "", f"{-tokens[kind]:+,}")
        for kind in kinds
    ]
    stood = sum(cut.stood_tokens for cut in cuts)
    rows.append((MADE, "", f"{sum(cut.made_tokens for cut in cuts) + stood:+,}"))
    if stood:
        rows.append((STOOD, "", f"{-stood:+,}"))
    total = sum(cut.after_tokens - cut.before_tokens for cut in cuts)
    parts = number(pieces.total())
    rows.append((tag("strong", "in all"), tag("strong", parts), tag("strong", f"{total:+,}")))
    columns = (
        Column(head, is_figure=False, is_head=True),
        Column("parts of messages"),
        Column("tokens"),
    )
    return table(caption, columns, rows)
