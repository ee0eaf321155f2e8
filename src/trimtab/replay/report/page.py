"""Make the report: values in, one HTML file out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template

from trimtab.replay.driver import Totals
from trimtab.replay.gate import MOST_DEARER, base_of
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT, POLICIES, is_watched
from trimtab.replay.report.effects import EXCHANGES, Effect, Told, ranked, saved_in_all
from trimtab.replay.report.figures import counted, difference, money, number, share, signed_share
from trimtab.replay.report.glossary import glossary_section, listed, term
from trimtab.replay.report.markup import Child, Html, join, tag
from trimtab.replay.report.method import Origin, command_of, method_section
from trimtab.replay.report.removals import removals_section
from trimtab.replay.report.sessions import policy_table, session_section
from trimtab.replay.report.tables import Column, table
from trimtab.replay.results import Costs, PolicyResult

__all__ = ["Origin", "Told", "is_report", "report"]

_MARK = '<meta name="generator" content="trimtab replay">'
"""What tells a report from any other file."""

_MARK_BYTES = 2_000
"""It stands within so many bytes of its beginning."""

_MOST_ROWS, _LEAST_ROWS, _MOST_ROWS_IN_ALL = 300, 30, 9_000
"""Turns in the charts of one session, at most and at least, and of all together."""

_OPEN = 5
"""Where there are no more sessions than this, all are shown without a click."""

_OPEN_OF_MANY = 2
"""Of more, so many of those that save most; and those that were harmed, up to as many."""

_WORDS = (
    "turns until the trigger",
    "break",
    "trigger",
    "limit",
    "window",
    "cold moment",
    "ledger",
    "cache",
    "even after",
    "turns expected",
    "fresh input tokens",
    "by price alone",
    "foretold",
    "protected",
    "rule",
    "frames of messages",
)
"""Words that are used of a session and its compactions."""

_MARKS = {
    "saves": "saves",
    "same": "same",
    "dearer": "▲ dearer",
    "harmed": "▲▲ harmed",
}


def report(sessions: Sequence[Told], origin: Origin) -> str:
    """Tell what a replay found, as one HTML file that needs no network and no script.

    Args:
        sessions: All that was replayed, in any order.
        origin: What made it.

    Returns:
        The file. The same values give the same text. No word of a conversation is in it.
    """
    effects = ranked(sessions)
    title = f"trimtab: {counted(len(effects), 'recorded session')} replayed"
    if len(effects) < len(sessions):
        title += f", {number(len(sessions) - len(effects))} left out"
    body = join(
        _head(effects, sessions),
        _contents(effects),
        _table_of(effects, origin),
        removals_section(effects),
        _each(effects, sessions, origin),
        _policies(effects, origin),
        method_section(sessions, effects, origin),
        glossary_section(is_paper=_has_paper(effects)),
    )
    return Template(_part("page.html")).substitute(
        mark=_MARK,
        title=tag("title", title),
        styles=_part("uplot/uPlot.min.css") + _part("page.css"),
        body=body,
        library=_part("uplot/uPlot.iife.min.js"),
        licence=_part("uplot/LICENSE"),
        script=_part("page.js"),
    )


def _has_paper(effects: Sequence[Effect]) -> bool:
    shown = {name for effect in effects for name in effect.result.policies if name in POLICIES}
    return not all(map(is_watched, shown))


def is_report(content: bytes) -> bool:
    """Say whether some bytes are the beginning of such a report."""
    return _MARK.encode() in content[:_MARK_BYTES]


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


# ----------------------------------------------------------------------- head


def _head(effects: Sequence[Effect], sessions: Sequence[Told]) -> Html:
    return tag(
        "header",
        tag("p", "trimtab replay", class_="brand"),
        tag("h1", _headline(effects)),
        *_sentences(effects),
        _cards(effects, sessions) if effects else None,
    )


def _headline(effects: Sequence[Effect]) -> str:
    if not effects:
        return "No request could be priced, so there is nothing to compare."
    saved = saved_in_all(effects)
    if not any(effect.mine.compactions for effect in effects) and not round(saved, 3):
        return "trimtab would have changed nothing here, and cost nothing."
    word = "saved" if saved >= 0 else "cost you"
    more = "of the whole bill" if saved >= 0 else "more than the whole bill"
    return f"trimtab would have {word} {share(abs(saved))} {more}."


def _sentences(effects: Sequence[Effect]) -> Iterator[Html]:
    if not effects:
        return
    requests = sum(effect.mine.requests for effect in effects)
    mine = Costs.sum(effect.mine.net for effect in effects)
    base = Costs.sum(effect.base.costs for effect in effects)
    yield tag(
        "p",
        f"{money(mine)} instead of {money(base)} over {counted(len(effects), 'session')} and "
        f"{counted(requests, 'request')}, with everything that was ",
        term("missed"),
        " later fetched again; beside the cheaper of removing nothing and the client's own ",
        term("compaction"),
        f". With {EXCHANGES} ",
        term("extra exchanges"),
        " charged after each compaction instead, whether anything was missed or not: "
        f"{signed_share(saved_in_all(effects, EXCHANGES))}.",
        class_="lead",
    )
    yield tag("p", *_worst(effects))


def _worst(effects: Sequence[Effect]) -> Iterator[Child]:
    """Which session came out worst; where none is dearer, that."""
    worst = min(effects, key=lambda effect: effect.net)
    if worst.kind in ("dearer", "harmed") and round(worst.net, 3) < 0:
        yield "Worst session: "
        yield tag("a", worst.result.name, href=f"#{worst.name}")
        yield f", {signed_share(worst.net)}. {_harm(effects)}"
        return
    same = sum(effect.kind == "same" for effect in effects)
    cheaper = sum(effect.kind == "saves" for effect in effects)
    yield f"No session was dearer: {number(cheaper)} saved, {number(same)} came out the same. "
    invalid = sum(effect.mine.made_invalid > 0 for effect in effects)
    yield _harm(effects) if invalid else "No request was made invalid."


def _harm(effects: Sequence[Effect]) -> str:
    harmed = sum(effect.kind == "harmed" for effect in effects)
    if harmed:
        return (
            f"{counted(harmed, 'session')} came out more than {MOST_DEARER:.0%} dearer, or with a request made "
            "invalid: they are marked ▲▲."
        )
    return (
        f"No session came out more than {MOST_DEARER:.0%} dearer, and no request was made invalid."
    )


def _cards(effects: Sequence[Effect], sessions: Sequence[Told]) -> Html:
    mine = PolicyResult.sum([effect.mine for effect in effects])
    totals = Totals.of([request for told in sessions for request in told.report.requests])
    cards = (
        ("bill with trimtab, net", money(mine.net)),
        ("bill without", money(Costs.sum(effect.base.costs for effect in effects))),
        ("compactions", number(mine.compactions)),
        ("answers that missed", number(mine.misses)),
        _cached_card(effects, mine),
        ("requests made invalid", number(totals.made_invalid)),
        ("sent over the limit", number(totals.over_limit)),
    )
    return tag(
        "dl",
        *(tag("div", tag("dt", name), tag("dd", value)) for name, value in cards),
        class_="cards",
    )


def _cached_card(effects: Sequence[Effect], mine: PolicyResult) -> tuple[str, str]:
    """A share that is no merit by itself: who sends the same again and again reads most of it."""
    others = []
    for policy, words in ((CLIENT, "the client"), (DIRECT, "nothing removed")):
        results = [effect.result.policies[policy] for effect in effects]
        cached = PolicyResult.sum(results).costs.bill.cached_share
        others.append(f"{words}: {share(cached)}")
    return f"input from the cache ({', '.join(others)})", share(mine.costs.bill.cached_share)


def _contents(effects: Sequence[Effect]) -> Html:
    places = [("sessions", "Sessions, by effect")]
    if any(effect.told.story.cuts for effect in effects):
        places += [("removals", "What all compactions took away")]
    places += [("each", "Session by session"), ("policies", "Policies side by side")]
    links = places if effects else []
    links = [*links, ("method", "How these numbers were reached"), ("words", "What the words mean")]
    return tag(
        "nav",
        tag("ul", *(tag("li", tag("a", words, href=f"#{name}")) for name, words in links)),
        aria_label="Contents",
    )


# ------------------------------------------------------------------- sessions


def _table_of(effects: Sequence[Effect], origin: Origin) -> Html | None:
    if not effects:
        return None
    columns = (
        Column("session", is_figure=False, is_head=True),
        Column("effect", is_figure=False),
        Column("saved, net"),
        Column("net of what was missed"),
        Column(f"at {EXCHANGES} extra exchanges"),
        Column("bill with trimtab, net"),
        Column("bill without"),
        Column("held against", is_figure=False),
        Column("requests"),
        Column("largest"),
        Column("compactions"),
        Column("missed"),
    )
    shown = table(
        f"All sessions: those that save most first, in {_unit(effects)}; those that are dearer last",
        columns,
        map(_session_row, effects),
        classes=[effect.kind for effect in effects],
    )
    told = (
        "Saved is the bill without trimtab less the bill with it, both as they stand in the row: + is less to pay. "
        "Largest is the largest request had nothing ever been removed; bills are net of what was missed. "
    )
    words = told + (
        "A session is marked ▲ where it is dearer with trimtab, and ▲▲ where it is more than "
        f"{MOST_DEARER:.0%} dearer or a request was made invalid. Shares are of the bill without trimtab; a "
        "negative one is dearer."
    )
    again = join(
        "To reach them again: ",
        tag("code", command_of(origin, "--json")),
        f", under sessions[].policies.{DEFAULT}: saved_net, saved_at.{EXCHANGES}, and cost with cost_regret.",
    )
    return tag(
        "section",
        tag("h2", "Sessions, by effect"),
        tag("p", words),
        shown,
        tag("p", again, class_="note"),
        id="sessions",
    )


def _unit(effects: Sequence[Effect]) -> str:
    is_money = all(effect.saved.dollars is not None for effect in effects)
    return "dollars" if is_money else "fresh input tokens (not every price is known)"


def _session_row(effect: Effect) -> Sequence[Child]:
    return (
        tag("a", effect.result.name, href=f"#{effect.name}"),
        tag("span", _MARKS[effect.kind], class_="mark"),
        difference(effect.saved),
        share(effect.net),
        share(effect.at_exchanges),
        money(effect.mine.net),
        money(effect.base.costs),
        effect.base_words,
        number(effect.mine.requests),
        number(effect.result.largest_tokens),
        number(effect.mine.compactions),
        number(effect.mine.misses),
    )


def _each(effects: Sequence[Effect], sessions: Sequence[Told], origin: Origin) -> Html | None:
    bare = list(_without_section(sessions, origin))
    if not effects and not bare:
        return None
    most = max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_ROWS_IN_ALL // max(1, len(effects))))
    shown = [effect for effect in effects if effect.kind != "harmed"][:_OPEN_OF_MANY]
    shown += [effect for effect in reversed(effects) if effect.kind == "harmed"][:_OPEN_OF_MANY]
    is_few = len(effects) <= _OPEN
    return tag(
        "section",
        tag("h2", "Session by session"),
        None if is_few else tag("p", _folded(effects), class_="note"),
        tag("p", "Words used below: ", *listed(*_WORDS), ".", class_="note"),
        *(
            session_section(
                effect,
                most,
                origin.options,
                is_open=is_few or effect in shown,
                has_policies=len(effects) > 1,
            )
            for effect in effects
        ),
        *bare,
        id="each",
    )


def _folded(effects: Sequence[Effect]) -> str:
    return (
        f"Each of the {number(len(effects))} sessions that were priced has a section, in the order of the table "
        "above; most are folded, and open with a click on their name."
    )


def _without_section(sessions: Sequence[Told], origin: Origin) -> Iterator[Html]:
    """A line for each session that has no section, and one for all files that hold none."""
    for each in sessions:
        if not each.is_priced:
            why = ", ".join(each.report.reasons) or "it holds no request"
            yield tag("p", f"{each.result.name} has no section: {why}.", class_="note")
    if origin.skipped:
        yield tag(
            "p",
            f"{counted(origin.skipped, 'file')} held no recording that trimtab knows, and "
            f"{'has' if origin.skipped == 1 else 'have'} no section; --json says why.",
            class_="note",
        )


def _policies(effects: Sequence[Effect], origin: Origin) -> Html | None:
    if not effects:
        return None
    names = [
        name
        for name in effects[0].result.policies
        if all(name in effect.result.policies for effect in effects)
    ]
    policies = [
        PolicyResult.sum([effect.result.policies[name] for effect in effects]) for name in names
    ]
    base = PolicyResult.sum([base_of(effect.result) for effect in effects])
    words = (
        f"“{DEFAULT}” is trimtab as it is without any setting; all else in this report is about it. "
        f"“{DIRECT}” is what it is told to beat where the provider takes every request. Savings are "
        "beside the cheaper of nothing and the client, session by session. Nothing is charged to the client as "
        "recorded for what it missed: the recorded agent lived with that, and fetched again what it needed. "
        "The option --policies adds others."
    )
    return tag(
        "section",
        tag("h2", term("policy", "Policies"), " side by side"),
        tag("p", words),
        tag(
            "p",
            "To reach them again: ",
            tag("code", command_of(origin, "--json")),
            ", under total.policies.",
            class_="note",
        ),
        tag(
            "p",
            "Words used below: ",
            *listed("ladder", "ledger", "net of what was missed", "extra exchanges"),
            ".",
            class_="note",
        ),
        policy_table("What all sessions would have cost under each policy", policies, base),
        id="policies",
    )
