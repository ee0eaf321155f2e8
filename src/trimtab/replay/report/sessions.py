"""The part of the report about one session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from trimtab.economy import SHORT_LIFE_SECONDS
from trimtab.replay.policies import DEFAULT, POLICIES, is_watched
from trimtab.replay.report.accounts import account_words
from trimtab.replay.report.charts import bill_chart, cache_chart, size_chart, turn_table
from trimtab.replay.report.effects import EXCHANGES, Effect
from trimtab.replay.report.figures import counted, money, number, share, signed_share
from trimtab.replay.report.glossary import term
from trimtab.replay.report.losses import MADE, STOOD
from trimtab.replay.report.markup import Child, Html, join, tag
from trimtab.replay.report.story import CutStory, Loss, MissStory
from trimtab.replay.report.tables import Column, table
from trimtab.replay.report.turns import Row, cause_words, rows_of, thinned
from trimtab.replay.results import PolicyResult, share_saved

__all__ = ["policy_table", "session_section"]

_MOST_ROWS = 40
"""Rows of a table of single events; what is more is counted."""

_UNKNOWN = "\N{EN DASH}"
"""Stands where nobody knows a number: 0 would say that there is none."""

_PAPER = (
    "These policies decide by sizes alone. No request of theirs was written, so nobody can look for what their "
    "answers miss, and their saving net of it is not known. The column with extra exchanges charges them like all others."
)

_COLD = "nothing broke, yet by the model of the cache little was read: it had expired, or went otherwise"

_BILLED_READ = (
    "“By its model” is what the cache would have read of the request that trimtab sends, as bills in this report have "
    "it. “As billed” is what the provider read of the request that the client sent, where the log says so: where the two "
    "are far apart on a request that trimtab did not change, the log is right and the model is wrong."
)


def session_section(
    effect: Effect, most_rows: int, options: str, *, is_open: bool, has_policies: bool
) -> Html:
    """Tell one session.

    Args:
        effect: Which.
        most_rows: Turns that its charts may show.
        options: Those that change its numbers, as they are typed.
        is_open: Whether it is shown without a click.
        has_policies: Whether policies are set side by side: of one session alone, they are anyway.
    """
    rows = rows_of(effect.told.report.requests, effect.told.story)
    head = tag(
        "summary", tag("h3", effect.result.name), tag("span", _in_short(effect), class_="short")
    )
    return tag(
        "details",
        head,
        *_turns(effect, rows, most_rows),
        _removed(effect),
        _breaks(effect, rows),
        _missed(effect),
        _policies(effect) if has_policies else None,
        _origin(effect, options),
        class_=f"session {effect.kind}",
        id=effect.name,
        open=is_open,
    )


def _in_short(effect: Effect) -> str:
    mine = effect.mine
    told = f"{counted(mine.requests, 'request')}, {counted(mine.compactions, 'compaction')}: "
    if effect.kind == "same" and not mine.compactions:
        return f"{told}sent as it came, at the same bill ({money(mine.costs)})"
    return (
        f"{told}{money(mine.net)} instead of {money(effect.base.costs)} ({effect.base_words}), "
        f"{signed_share(effect.net)}"
    )


def _origin(effect: Effect, options: str) -> Html:
    """What the numbers were reached from, and how to reach them again."""
    result, report, story = effect.result, effect.told.report, effect.told.story
    file = result.file.replace("\\", "/").rpartition("/")[2]
    told = [f"Recorded by {result.kind}, read from {file}."]
    if story.turns:
        billed = sum(turn.billed_tokens is not None for turn in story.turns)
        told.append(
            f"The log holds the bill of {number(billed)} of {counted(len(story.turns), 'request')}"
            f"{', so sizes are counts' if not billed else ''}; {_life(effect)}."
        )
    if report.unrecorded:
        told.append(f"The log does not hold: {', '.join(sorted(report.unrecorded))}.")
    told += [f"{note[:1].upper()}{note[1:]}." for note in report.notes]
    told += [
        f"Left out: {counted(many, 'request')}, {why}." for why, many in report.reasons.items()
    ]
    command = " ".join(filter(None, ("trimtab replay", file, options, "--explain --json")))
    return join(
        tag("p", " ".join(told), class_="note"),
        tag(
            "p",
            "To reach these numbers again, from the folder in which the file lies: ",
            tag("code", command),
            ". Bills and misses are under sessions[].policies, breaks under sessions[].breaks_by_cause, the arithmetic of "
            "each compaction under sessions[].explained; single turns are told by --html alone.",
            class_="note",
        ),
    )


def _life(effect: Effect) -> str:
    story = effect.told.story
    if not story.is_cached:
        return "no bill shows that anything was read from a cache, so nothing is taken to be"
    if not effect.result.is_cache_explicit:
        if any(turn.written for turn in story.turns):
            return "some of its models are cached where a marker says, others without saying where, which promises nothing"
        return "its provider caches without saying where, and promises nothing"
    return f"a marker keeps the cache for {story.life_seconds / 60:,.0f} minutes from its last use"


# ---------------------------------------------------------------------- turns


def _turns(effect: Effect, rows: Sequence[Row], most_rows: int) -> Iterator[Html]:
    if not rows:
        yield tag("p", "This session was replayed without its turns being kept.", class_="note")
        return
    name = f"{effect.name}-turns"
    forecast = rows[-1].forecast
    yield tag("h4", term("turn", "Turn"), " by turn")
    yield size_chart(name, rows)
    if forecast is not None:
        yield tag("p", f"Forecast after the last request: {forecast.line}.")
    yield cache_chart(name, rows)
    yield bill_chart(name, rows)
    yield turn_table(name, thinned(rows, most_rows), len(rows))


# -------------------------------------------------------------------- removed


def _removed(effect: Effect) -> Html:
    cuts, turns = effect.told.story.cuts, effect.told.story.turns
    title = tag("h4", "What was removed, and what survived")
    if not effect.mine.compactions:
        trigger, largest = effect.result.trigger_tokens, effect.result.largest_tokens
        why = (
            f"Nothing was removed. A compaction is planned from {number(trigger)} tokens on; the "
            f"largest request has {number(largest)}"
        )
        end = "." if largest <= trigger else ", and none that was due would have paid for itself."
        return join(title, tag("p", why + end))
    lines, paid = effect.result.explained, effect.mine.payback_turns
    told = [
        _cut(
            cut,
            cuts[place - 1].gone_messages if place else 0,
            turns[cut.turn].trigger_tokens if cut.turn < len(turns) else 0,
            lines[place] if place < len(lines) else "",
            paid[place] if place < len(paid) else None,
        )
        for place, cut in enumerate(cuts[:_MOST_ROWS])
    ]
    rest = len(cuts) - len(told)
    more = tag("p", f"And {counted(rest, 'compaction')} more.", class_="note") if rest else None
    intro = tag(
        "p",
        "What each ",
        term("compaction"),
        " took on its own request. Parts are the blocks that a message is made of: a text, a call, a result. Both "
        "tables count the same parts and have the same sum, which is what the request lost.",
        class_="note",
    )
    return join(title, intro, *told, more)


def _cut(
    cut: CutStory, gone_then: int, trigger: int, arithmetic: str, paid_after: int | None
) -> Html:
    """Tell one compaction.

    Args:
        cut: Which.
        gone_then: Messages that were gone after the one before it.
        trigger: From which size on it was planned.
        arithmetic: That of its moment; empty where it was not kept.
        paid_after: Turns until it had paid.
    """
    when = _when(cut, trigger)
    title = f"Request {number(cut.turn + 1)}: {number(cut.before_tokens)} to {number(cut.after_tokens)} tokens"
    return join(
        tag("h5", title),
        tag(
            "div",
            _went(cut, "by kind", "what went", cut.removed),
            _went(cut, "by the rule that took it", "why it went", cut.reasons),
            class_="pair",
        ),
        tag("p", tag("strong", "Why then. "), when) if when else None,
        tag("p", tag("strong", "What the model still sees. "), _survived(cut, gone_then)),
        tag("p", tag("strong", "What the cache made of it. "), _cached(cut)),
        tag("p", tag("strong", "Whether it paid. "), _paid(paid_after), _brought(cut)),
        tag("p", f"The arithmetic at that moment: {arithmetic}.", class_="note")
        if arithmetic
        else None,
    )


def _went(cut: CutStory, how: str, head: str, losses: Sequence[Loss]) -> Html | None:
    """What went on this request, one way or the other: both have the same sum."""
    if not losses:
        return None
    rows: list[Sequence[Child]] = [
        (loss.kind, number(loss.pieces) if loss.pieces else "", f"{-loss.tokens:+,}")
        for loss in losses
    ]
    rows.append((MADE, "", f"{cut.made_tokens + cut.stood_tokens:+,}"))
    if cut.stood_tokens:
        rows.append((STOOD, "", f"{-cut.stood_tokens:+,}"))
    parts = number(sum(loss.pieces for loss in losses))
    total = f"{cut.after_tokens - cut.before_tokens:+,}"
    rows.append((tag("strong", "in all"), tag("strong", parts), tag("strong", total)))
    columns = (
        Column(head, is_figure=False, is_head=True),
        Column("parts of messages"),
        Column("tokens"),
    )
    return table(f"Request {cut.turn + 1}: what went on it, {how}", columns, rows)


def _survived(cut: CutStory, gone_then: int) -> str:
    messages = cut.untouched_messages + cut.shortened_messages + cut.gone_messages
    told = (
        f"The system prompt and the tools, unchanged. Of {counted(messages, 'message')} that the client sent, "
        f"{number(cut.untouched_messages)} word for word ({number(cut.untouched_tokens)} tokens) "
        f"and {number(cut.shortened_messages)} shortened; {_gone(cut, gone_then)}. "
        f"Of {counted(cut.user_messages, 'message')} in which the user speaks, "
        f"{number(cut.user_messages_untouched)} word for word{_user_rest(cut)}."
    )
    if cut.noted:
        listed = ", ".join(_noted(kind, many) for kind, many in cut.noted.items())
        told += f" The ledger keeps of what went: {listed}."
    return told


def _user_rest(cut: CutStory) -> str:
    """What became of the others in which the user speaks."""
    gone = cut.user_messages_gone
    shortened = cut.user_messages - cut.user_messages_untouched - gone
    told = f", {number(shortened)} shortened" if shortened else ""
    if gone:
        told += f", {number(gone)} gone but for what the ledger keeps of them"
    return told


_ONE = {
    "rules of the user, verbatim": "rule of the user, verbatim",
    "files": "file",
    "values that stood nowhere else": "value that stood nowhere else",
    "steps of the plan": "step of the plan",
}
"""Entries of the ledger where there is one."""


def _noted(kind: str, many: int) -> str:
    return f"{number(many)} {_ONE.get(kind, kind) if many == 1 else kind}"


def _gone(cut: CutStory, gone_then: int) -> str:
    """How many are gone; where the client took some of them back itself, that too."""
    if not cut.gone_before:
        return f"{number(cut.gone_messages)} went whole"
    told = (
        f"{number(cut.gone_messages)} are gone whole, {number(cut.gone_before)} of them since earlier compactions "
        f"(which the tables do not count again) and {number(cut.gone_messages - cut.gone_before)} on this request"
    )
    fewer = gone_then - cut.gone_before
    if fewer > 0:
        told += (
            f" ({number(gone_then)} were gone after the compaction before; the client itself no longer sends "
            f"{number(fewer)} of those, such as thinking of earlier turns)"
        )
    return told


def _cached(cut: CutStory) -> str:
    """As its bill has it: the same model of the cache served both."""
    front, read = cut.front_tokens, cut.read_tokens
    told = f"{number(front)} tokens stand in front of the first change"
    if read >= front:
        told += ", and by its model the cache reads all of them"
    else:
        told += f"; by its model the cache reads {number(read) if read else 'none'} of them: {cut.unread}"
    return f"{told}. Without the cut, {number(cut.cached_tokens)} tokens would be read."


def _when(cut: CutStory, trigger_tokens: int) -> str | None:
    """Why a compaction came, as the engine decided it; None where that was not kept."""
    foretold, trigger = number(cut.foretold_tokens), number(trigger_tokens)
    if cut.cause == "limit":
        return (
            f"Without it, the request was foretold at {foretold} tokens, which is over the limit."
        )
    if cut.cause == "trigger":
        told = f"Without it, the request was foretold at {foretold} tokens, above the trigger of {trigger}"
        if cut.before_tokens <= trigger_tokens:
            told += f"; as such requests are billed, it would have had {number(cut.before_tokens)}"
        return f"{told}."
    if cut.cause == "cold":
        return (
            f"A cold moment: the cache was taken to be lost before this request ({_why_cold(cut)}), and a cut costs "
            f"least then. So it came below the trigger of {trigger} tokens: the request was foretold at {foretold}."
        )
    return None


def _why_cold(cut: CutStory) -> str:
    idle = cut.idle_seconds
    if idle is not None and idle > SHORT_LIFE_SECONDS:
        return f"idle for {idle / 60:,.0f} minutes"
    return "another model, or other tools"


def _brought(cut: CutStory) -> str | None:
    """The same in money."""
    return None if cut.account is None else f" By the bills: {account_words(cut.account)}"


def _paid(paid_after: int | None) -> str:
    if paid_after is None:
        return (
            "It had not paid for itself when the next compaction came, or the session ended: its own turn cost more "
            "than without it, and the turns since have not made up for that."
        )
    if paid_after == 0:
        return "At once: its own turn already cost less than it would have without the cut."
    return (
        f"After {counted(paid_after, 'turn')}: its own turn cost more than it would have without the cut, and the turns "
        "since have made up for that."
    )


# ------------------------------------------------------------- broken prefixes


def _breaks(effect: Effect, rows: Sequence[Row]) -> Html:
    title = tag("h4", "Where the prefix ", term("break", "broke"))
    causes = Counter(cause for row in rows for cause in row.breaks)
    colds = [row for row in rows if row.is_cold]
    if not causes and not colds:
        return join(
            title,
            tag(
                "p",
                "Nowhere: each request extends the one before it, so the cache could always be read.",
            ),
        )
    listed = [
        tag("li", f"{cause.replace('_', ' ')} ({number(many)}): {cause_words(cause)}")
        for cause, many in causes.most_common()
    ]
    if colds:
        listed.append(tag("li", f"cache not read ({number(len(colds))}): {_COLD}"))
    broken = [row for row in rows if row.breaks or row.is_cold]
    columns = (
        Column("request", is_head=True),
        Column("cause", is_figure=False),
        Column("sent"),
        Column("read from the cache, by its model"),
        Column("read, as billed to the client"),
    )
    shown = [
        (
            number(row.place),
            ", ".join(cause.replace("_", " ") for cause in row.breaks) or "cache not read",
            number(row.turn.sent_tokens),
            number(row.turn.read),
            "" if row.turn.billed_read is None else number(row.turn.billed_read),
        )
        for row in broken[:_MOST_ROWS]
    ]
    rest = len(broken) - len(shown)
    more = tag("p", f"And {counted(rest, 'request')} more.", class_="note") if rest else None
    caption = f"Requests of {effect.result.name} that the cache could not read to the end of the one before, by its model"
    note = tag("p", _BILLED_READ, class_="note")
    return join(title, tag("ul", *listed), table(caption, columns, shown), note, more)


# --------------------------------------------------------------------- missed


def _missed(effect: Effect) -> Html | None:
    mine = effect.mine
    if not mine.compactions:
        return None
    title = tag("h4", "What later answers ", term("missed"))
    survived = (
        f" {counted(mine.survived, 'time')}, an answer used something that was removed and still "
        "stood in the ledger or a shortened form."
    )
    if not mine.misses:
        return join(
            title,
            tag(
                "p",
                "Nothing: no later answer used a path, name, id, web address, setting or run of the user's "
                f"words that only removed messages held.{survived}",
            ),
        )
    words = (
        f"{counted(mine.misses, 'answer')} used something that only removed messages held. Each is "
        f"charged as one exchange more ({money(mine.regret)} in all), and that is in the saving above."
    )
    columns = (
        Column("answer to request", is_head=True),
        Column("what it used", is_figure=False),
        Column("tokens that come back"),
    )
    misses = effect.told.story.misses
    rows = [
        (number(miss.turn + 1), _kinds(miss), number(miss.tokens)) for miss in misses[:_MOST_ROWS]
    ]
    rest = len(misses) - len(rows)
    more = tag("p", f"And {counted(rest, 'answer')} more.", class_="note") if rest else None
    caption = f"Answers of {effect.result.name} that used what was gone"
    shown = table(caption, columns, rows) if rows else None
    return join(title, tag("p", words + survived), shown, more)


def _kinds(miss: MissStory) -> str:
    return ", ".join(f"{kind} ({number(many)})" for kind, many in miss.kinds.items())


# ------------------------------------------------------------------- policies


def _policies(effect: Effect) -> Html:
    policies = list(effect.result.policies.values())
    caption = f"What {effect.result.name} would have cost under each policy"
    return join(
        tag("h4", "Its policies side by side"), policy_table(caption, policies, effect.base)
    )


def policy_table(caption: str, policies: Sequence[PolicyResult], base: PolicyResult) -> Html:
    """Set policies side by side.

    Args:
        caption: What the table shows.
        policies: What each came to; those that only advice tries are left out.
        base: What they are held against.
    """
    columns = (
        Column("policy", is_figure=False, is_head=True),
        Column("bill"),
        Column("saved"),
        Column("net of what was missed"),
        Column(f"at {EXCHANGES} extra exchanges"),
        Column("from the cache"),
        Column("largest request"),
        Column("compactions"),
        Column("missed"),
        Column("refused for size (above the window)"),
    )
    shown = [each for each in policies if each.policy in POLICIES]
    rows = [
        (
            join(
                tag("strong", each.policy),
                " ",
                tag("span", POLICIES[each.policy].words, class_="note"),
            ),
            money(each.costs),
            share(share_saved(each.costs, base.costs)),
            share(share_saved(each.net, base.costs)) if is_watched(each.policy) else _UNKNOWN,
            share(share_saved(each.with_exchanges(EXCHANGES), base.costs)),
            share(each.costs.bill.cached_share),
            number(each.peak_tokens),
            number(each.compactions),
            number(each.misses) if is_watched(each.policy) else _UNKNOWN,
            number(each.over_limit),
        )
        for each in shown
    ]
    is_ours = ["ours" if each.policy == DEFAULT else "" for each in shown]
    made = table(caption, columns, rows, classes=is_ours)
    if all(is_watched(each.policy) for each in shown):
        return made
    return join(made, tag("p", f"{_UNKNOWN}: ", term("on paper"), f". {_PAPER}", class_="note"))
