"""What recorded sessions would have cost under each policy, as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from trimtab.cli.tables import Cell, Column, number, show_table
from trimtab.cli.talk import readable, say
from trimtab.replay.advice import EXTRA_EXCHANGES, Advice
from trimtab.replay.bench import Replayed
from trimtab.replay.gate import Verdict, base_of
from trimtab.replay.misfits import CACHE_CAUSES, SIZE_CAUSES
from trimtab.replay.policies import DEFAULT, DIRECT, POLICIES, is_watched
from trimtab.replay.report.accounts import account_words
from trimtab.replay.results import (
    EXCHANGES,
    Costs,
    PolicyResult,
    SessionResult,
    percentile,
    share_saved,
)

__all__ = [
    "advice_json",
    "bills_json",
    "session_json",
    "show_advice",
    "show_bills",
    "show_explained",
    "show_verdict",
    "verdict_json",
]

_PARTS = 10_000
"""Shares are told in hundredths of a percent, because every number in the JSON is whole."""

_MICRO = 1_000_000
"""Money is told in millionths of a dollar, for the same reason."""


_UNKNOWN = "\N{EN DASH}"
"""Stands where nobody knows a number: 0 would say that there is none."""

_PAPER = (
    "a policy on paper decides by sizes alone, so there are no words in which to look for misses"
)

# ----------------------------------------------------------------------- JSON


def session_json(result: SessionResult) -> dict[str, object]:
    """What a session came to."""
    return {
        "largest": result.largest_tokens,
        "trigger": result.trigger_tokens,
        "client_compactions": result.client_compactions,
        "cost_recorded": _micro(result.recorded)
        if result.recorded is not None and result.is_billed_whole
        else None,
        "policies": {
            name: _policy_json(each, base_of(result).costs)
            for name, each in result.policies.items()
            if name in POLICIES
        },
        "explained": list(result.explained),
    }


def bills_json(results: Sequence[SessionResult]) -> dict[str, object]:
    """What all sessions came to."""
    totals = _totals(results)
    mine, direct = totals[DEFAULT], totals[DIRECT]
    errors = [error for result in results for error in result.prediction_errors]
    caches = [
        error for result in results if result.is_cache_explicit for error in result.cache_errors
    ]
    base = Costs.sum(base_of(result).costs for result in results)
    return {
        "invalid": mine.made_invalid,
        "cost": _micro(mine.costs),
        "cost_direct": _micro(direct.costs),
        "cached_share": round(mine.costs.bill.cached_share * _PARTS),
        "peak_tokens": mine.peak_tokens,
        "prediction": _errors_json(errors, SIZE_CAUSES, [each.size_causes for each in results]),
        "cache_error": _errors_json(
            caches, CACHE_CAUSES, [each.cache_causes for each in results if each.is_cache_explicit]
        ),
        "regret": mine.misses,
        "survived": mine.survived,
        "policies": {name: _policy_json(each, base) for name, each in totals.items()},
    }


def _totals(results: Sequence[SessionResult]) -> dict[str, PolicyResult]:
    names = results[0].policies if results else ()
    return {
        name: PolicyResult.sum([result.policies[name] for result in results])
        for name in names
        if name in POLICIES
    }


def _policy_json(each: PolicyResult, base: Costs) -> dict[str, object]:
    bill, is_seen = each.costs.bill, is_watched(each.policy)
    return {
        "requests": each.requests,
        "fresh": bill.fresh,
        "cache_read": bill.read,
        "cache_write": bill.written,
        "cache_write_long": bill.written_long,
        "output": bill.output,
        "cost": _micro(each.costs),
        "cost_regret": _micro(each.regret) if is_seen else None,
        "units": round(each.costs.units),
        "units_regret": round(each.regret.units) if is_seen else None,
        "saved": round(share_saved(each.costs, base) * _PARTS),
        "saved_net": round(share_saved(each.net, base) * _PARTS) if is_seen else None,
        "saved_at": {
            str(count): round(share_saved(each.with_exchanges(count), base) * _PARTS)
            for count in EXCHANGES
        },
        "compactions": each.compactions,
        "breaks": each.breaks,
        "over_window": each.over_limit,
        "peak_tokens": each.peak_tokens,
        "regret": each.misses if is_seen else None,
        "survived": each.survived if is_seen else None,
        "changed": each.changed if is_seen else None,
        "invalid": each.made_invalid if is_seen else None,
        "payback_turns": list(each.payback_turns),
    }


def _micro(costs: Costs) -> int | None:
    return None if costs.bill.cost is None else round(costs.bill.cost * _MICRO)


def _errors_json(
    errors: Sequence[float], causes: Sequence[str], found: Sequence[Mapping[str, int]]
) -> dict[str, object]:
    shares = {"median": percentile(errors, 0.5), "p95": percentile(errors, 0.95)}
    told = {
        name: None if share is None else round(share * _PARTS) for name, share in shares.items()
    }
    large = {cause: sum(each.get(cause, 0) for each in found) for cause in causes}
    return {"requests": len(errors), **told, "large": large}


def verdict_json(verdict: Verdict) -> dict[str, object]:
    """What law 7 says."""
    past = verdict.saved_past_trigger
    return {
        "sessions": verdict.sessions,
        "past_trigger": verdict.past_trigger,
        "saved": round(verdict.saved * _PARTS),
        "saved_past_trigger": None if past is None else round(past * _PARTS),
        "worst": round(verdict.worst * _PARTS),
        "worst_session": verdict.worst_session,
        "broken": list(verdict.broken),
    }


def advice_json(advice: Advice) -> dict[str, object]:
    """The best setting of a client."""
    return {
        "kind": advice.kind,
        "trigger": advice.trigger_tokens,
        "saved": round(advice.saved * _PARTS),
        "tried": {str(tokens): round(saved * _PARTS) for tokens, saved in advice.tried.items()},
        "set": advice.words,
        "traps": list(advice.traps),
    }


# --------------------------------------------------------------------- tables


def show_bills(console: Console, results: Sequence[SessionResult]) -> None:
    """Print a line for each policy: what all sessions would have cost under it."""
    totals = _totals(results)
    base = Costs.sum(base_of(result).costs for result in results)
    columns = (
        Column("policy", "name"),
        Column("cost", "figure"),
        Column("saved", "figure"),
        Column("net", "figure"),
        *(Column(f"at {count}", "figure") for count in EXCHANGES if count),
        Column("cuts", "figure"),
        Column("missed", "figure"),
    )
    rows: list[Sequence[Cell]] = [
        (
            name,
            _money(each.costs),
            _share(each.costs, base),
            _share(each.net, base) if is_watched(name) else _UNKNOWN,
            *(_share(each.with_exchanges(count), base) for count in EXCHANGES if count),
            each.compactions,
            each.misses if is_watched(name) else _UNKNOWN,
        )
        for name, each in totals.items()
    ]
    show_table(console, columns, rows)
    say(
        console,
        "saved: in money, beside the cheaper of doing nothing and the client's own compaction; net: with "
        "what was missed fetched again; at 3, 8, 18: with so many extra exchanges after each compaction (cut)",
    )
    if not all(map(is_watched, totals)):
        say(console, f"{_UNKNOWN}: not known; {_PAPER}")
    for name, each in totals.items():
        if each.over_limit:
            told = f"{number(each.over_limit)} requests are larger than the model's window"
            say(console, (name, "bold"), f": {told}, so the provider would have refused them")
    console.print()


def _money(costs: Costs) -> str:
    if costs.bill.cost is None:
        return f"{costs.units / 1_000:,.0f}k tok"
    return f"${costs.bill.cost:,.2f}"


def _share(costs: Costs, base: Costs) -> str:
    share = share_saved(costs, base)
    return f"{share:.0%}" if round(share, 2) else "0%"


def show_explained(console: Console, sessions: Sequence[Replayed]) -> None:
    """Print the arithmetic of each compaction, and what it brought."""
    for each in sessions:
        result = each.result
        say(console, (readable(result.name), "bold"))
        say(
            console,
            f"a compaction is planned from {number(result.trigger_tokens)} tokens on; the largest "
            f"request, had nothing ever been removed, was {number(result.largest_tokens)}",
            indent=2,
        )
        if not result.explained:
            say(console, "nothing was compacted", indent=2)
        for line, cut in zip(result.explained, each.story.cuts, strict=True):
            first, *more = line.split("; ")
            say(console, first, indent=2)
            for part in more:
                say(console, part, indent=4)
            if cut.account is not None:
                say(console, f"by the bills: {account_words(cut.account)}", indent=4)
    console.print()


def show_advice(console: Console, advice: Sequence[Advice]) -> None:
    """Print the best setting of each client."""
    for each in advice:
        if each.trigger_tokens is None:
            say(console, (each.kind, "bold"), ": no other size for its own compaction is cheaper")
            continue
        say(
            console,
            (each.kind, "bold"),
            f": its own compaction at {number(each.trigger_tokens)} tokens saves {each.saved:.1%} "
            f"of the bill, at {EXTRA_EXCHANGES} extra exchanges after each",
        )
        for line in filter(None, (each.words, *each.traps)):
            say(console, line, indent=2)
    console.print()


def show_verdict(console: Console, verdict: Verdict) -> None:
    """Print what law 7 says."""
    past = verdict.saved_past_trigger
    told = (
        f"{number(verdict.sessions)} session{'' if verdict.sessions == 1 else 's'}, "
        f"{number(verdict.past_trigger)} past the trigger: "
        f"{verdict.saved:.1%} saved in all, net of misses"
    )
    if past is not None:
        told += f"; {past:.1%} of those past the trigger, at 3 extra exchanges a compaction"
    say(console, f"{told}; {_worst(verdict)}")
    for line in verdict.broken:
        say(console, ("never dearer, broken", "bold red"), f": {readable(line)}")
    if not verdict.broken:
        say(console, ("never dearer", "bold green"), ": law 7 holds on these sessions")


def _worst(verdict: Verdict) -> str:
    """How the session that saves least came out; where none is dearer, that."""
    if round(verdict.worst, 3) >= 0:
        return "no session was dearer"
    return f"worst session {readable(verdict.worst_session)}, {-verdict.worst:.1%} dearer"
