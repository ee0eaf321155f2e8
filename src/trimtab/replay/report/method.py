"""How the numbers of the report were reached, written for somebody who does not believe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.economy import Prices
from trimtab.replay.driver import Totals
from trimtab.replay.gate import MOST_DEARER
from trimtab.replay.misfits import LARGE
from trimtab.replay.report.effects import EXCHANGES, Effect, Told
from trimtab.replay.report.figures import counted, day, number, price, share
from trimtab.replay.report.markup import Child, Html, join, tag
from trimtab.replay.report.story import PricedModel
from trimtab.replay.report.tables import Column, table
from trimtab.replay.results import Costs, SessionResult, percentile, share_saved

__all__ = ["Origin", "command_of", "method_section"]

_MOST_NAMES = 10
"""Sessions that are named in a sentence."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What made the report.

    Attributes:
        version: Of trimtab.
        command: What was run, without the folders that files lie in.
        prices: Where prices come from, such as ``genai-prices 0.2.1``; empty where nobody knows any.
        options: The options that change its numbers, as they are typed.
        skipped: Files that hold no recording.
    """

    version: str
    command: str
    prices: str = ""
    options: str = ""
    skipped: int = 0


def command_of(origin: Origin, *options: str) -> str:
    """The command that tells the numbers of all sessions again, with more options."""
    return " ".join(filter(None, ("trimtab replay PATH...", origin.options, *options)))


def method_section(sessions: Sequence[Told], effects: Sequence[Effect], origin: Origin) -> Html:
    """Say how each number was reached, what is assumed, and how to reach it again."""
    return tag(
        "section",
        tag("h2", "How these numbers were reached"),
        *_compared(),
        *_bills(effects),
        *_prices(effects, origin),
        *_cache(effects),
        *_sizes(effects),
        *_missed(),
        *_log(sessions),
        *_valid(sessions),
        *_again(origin),
        id="method",
    )


def _compared() -> Iterator[Html]:
    yield tag("h3", "What is compared")
    yield tag(
        "p",
        "Each request of a session was rebuilt from its log and given to trimtab's engine, in order, as if it "
        "stood between the client and the provider. Nothing was sent anywhere. The bill of what the engine "
        "would have sent is held against the cheaper of two others: sending everything, and the client as it "
        "was recorded, its own compactions with it. Sending everything does not count where a request is larger "
        "than the model's window, since the provider would have refused it.",
    )
    yield tag(
        "p",
        "Where the client compacted by itself, its history from before is put back, so that every policy "
        "begins with the same whole conversation.",
    )


def _bills(effects: Sequence[Effect]) -> Iterator[Html]:
    yield tag("h3", "Where the sizes and bills come from")
    billed = [each.result for each in effects if each.result.modelled is not None]
    if not billed:
        yield tag(
            "p",
            "These logs do not say what was billed, so every size is a count, and no bill here was checked "
            "against a real one.",
        )
        return
    was = Costs.sum(each.recorded for each in billed if each.recorded is not None)
    modelled = Costs.sum(each.modelled for each in billed if each.modelled is not None)
    whole = Costs.sum(each.result.policies["client"].costs for each in effects)
    requests = sum(each.result.policies["client"].requests for each in effects)
    told = sum(each.billed_requests for each in billed)
    yield tag(
        "p",
        f"Of {number(told)} of {counted(requests, 'request')} the log says what they were billed. From bill to bill it "
        "is known what the messages in between weigh, so sizes are billed tokens, not guesses; what trimtab makes "
        "itself is counted and stretched by the same rate. Where a bill is lacking, a size is a count, stretched by "
        "the rate of the bills that there are.",
    )
    yield tag(
        "p",
        "Every bill in this report, the recorded one too, is made by the same model of the cache, so what the model "
        f"gets wrong it gets wrong for all. Held against what was really billed for those {counted(told, 'request')}, "
        f"{share(1 - share_saved(modelled, whole))} of the bill of the client as recorded, it comes to "
        f"{_beside(modelled, was)}, its calls for summaries included, which logs do not hold.{_furthest(billed)}",
    )
    without = [effect for effect in effects if not effect.result.is_billed_whole]
    if without:
        named = ", ".join(map(_lacking, without[:_MOST_NAMES]))
        rest = len(without) - _MOST_NAMES
        more = f" and {number(rest)} more" if rest > 0 else ""
        yield tag(
            "p",
            f"{counted(len(without), 'session')} could not be held against what was billed as a whole: {named}{more}.",
        )


def _beside(modelled: Costs, was: Costs) -> str:
    """How what the model makes of requests compares with what they were billed."""
    off = share_saved(modelled, was)
    return f"{share(abs(off))} {'less' if off > 0 else 'more'} than that"


def _furthest(billed: Sequence[SessionResult]) -> str:
    """The session whose bill the model misses most, where it is one of several."""
    if len(billed) < 2:
        return ""
    both = [
        (abs(share_saved(each.modelled, each.recorded)), each.name, each.modelled, each.recorded)
        for each in billed
        if each.modelled is not None and each.recorded is not None
    ]
    _, name, modelled, was = max(both, key=lambda one: one[0])
    return f" Furthest off is {name}: {_beside(modelled, was)}."


def _lacking(effect: Effect) -> str:
    """A session with what its log does not tell of its bill."""
    turns, left = effect.told.story.turns, len(effect.told.report.left_out)
    unbilled = sum(turn.billed_tokens is None for turn in turns)
    told = (
        [f"{number(unbilled)} of {counted(len(turns), 'request')} lack a bill"] if unbilled else []
    )
    told += [f"{counted(left, 'request')} left out"] if left else []
    why = ", ".join(told) or "not every price or bill is known"
    return f"{effect.result.name} ({why})"


# --------------------------------------------------------------------- prices


def _prices(effects: Sequence[Effect], origin: Origin) -> Iterator[Html]:
    yield tag("h3", "Prices")
    priced = _merged([one for effect in effects for one in effect.told.story.priced])
    known = [one for one in priced if one.prices is not None]
    source = origin.prices or "no list of prices"
    yield tag(
        "p",
        f"Prices come from {source}, as they were on the day of each request, by its size where a model has "
        "steps. Those marked as yours were named by --prices. A model without a price is told in fresh input "
        "tokens: what the tokens cost beside one that no cache holds.",
    )
    if known:
        yield table(
            "What a million tokens were taken to cost", _PRICE_COLUMNS, map(_price_row, known)
        )
    if any(one.first_at is None for one in known):
        yield tag(
            "p",
            "Where the days are “unknown”, the log does not say when a request was made, and the list's newest price is taken.",
        )
    if len(known) < len(priced):
        names = ", ".join(dict.fromkeys(one.model or "unnamed" for one in priced if not one.prices))
        yield tag("p", f"Nobody knows the prices of {names}.")


_PRICE_COLUMNS = (
    Column("model", is_figure=False, is_head=True),
    Column("fresh"),
    Column("read from the cache"),
    Column("written"),
    Column("written for an hour"),
    Column("answer"),
    Column("requests"),
    Column("from"),
    Column("to"),
    Column("source", is_figure=False),
)


def _price_row(one: PricedModel) -> Sequence[Child]:
    prices = one.prices or Prices(None, None)
    return (
        one.model,
        price(prices.fresh),
        price(prices.read),
        price(prices.write),
        price(prices.write_long),
        price(prices.output),
        number(one.requests),
        day(one.first_at),
        day(one.last_at),
        "yours" if one.is_override else "list",
    )


def _merged(priced: Sequence[PricedModel]) -> list[PricedModel]:
    """The same price of the same model once, whatever session it was asked for."""
    groups: dict[tuple[str, Prices | None, bool], list[PricedModel]] = {}
    for one in priced:
        groups.setdefault((one.model, one.prices, one.is_override), []).append(one)
    return [
        PricedModel(
            model,
            sum(one.requests for one in group),
            prices,
            min((one.first_at for one in group if one.first_at is not None), default=None),
            max((one.last_at for one in group if one.last_at is not None), default=None),
            is_override,
        )
        for (model, prices, is_override), group in sorted(
            groups.items(), key=lambda item: item[0][0]
        )
    ]


# ---------------------------------------------------------------------- cache


def _cache(effects: Sequence[Effect]) -> Iterator[Html]:
    yield tag("h3", "The provider's cache, and how far its model is off")
    yield tag(
        "p",
        "A request is read from the cache as far as it begins with exactly what an earlier one began with, "
        "if that lies within the cache's life and is long enough, and where markers are needed, if one leads "
        "there. Logs do not hold markers; they are taken to stand where the common clients put them. Everything "
        "else is written, or paid fresh. A compaction of trimtab breaks this on purpose, and pays for it here.",
    )
    for is_explicit, where in (
        (True, "where the provider says where it caches"),
        (
            False,
            "where the provider promises nothing (such caches are known by what they did, not by rules)",
        ),
    ):
        told = [each.result for each in effects if each.result.is_cache_explicit == is_explicit]
        errors = [error for each in told for error in each.cache_errors]
        if is_explicit or errors:
            causes = {each.name: each.cache_causes for each in told}
            yield from _error(errors, "tokens read from the cache", where, causes)
    yield from _unchecked(effects)
    yield tag(
        "p",
        "What such an error does to the saving: a model that reads too much makes every policy too cheap, and the one "
        "that sends most gains most by it. Both bills of a session are made by the same model, so most of it falls out "
        "of the share that is saved; it does not fall out of the dollars.",
    )
    uncached = sum(not each.told.story.is_cached for each in effects)
    if uncached:
        yield tag(
            "p",
            f"In {counted(uncached, 'session')} no bill shows any use of a cache, so all input is paid fresh.",
        )


def _unchecked(effects: Sequence[Effect]) -> Iterator[Html]:
    """Which bills were not held against the model of the cache, so that the counts meet."""
    stories = [effect.told.story for effect in effects if effect.told.story.turns]
    bills = sum(turn.billed_tokens is not None for story in stories for turn in story.turns)
    checked = sum(len(each.result.cache_errors) for each in effects if each.told.story.turns)
    first = sum(story.turns[0].billed_tokens is not None for story in stories if story.is_cached)
    if bills and first:
        rest = bills - checked - first
        more = f", and {number(rest)} of sessions that use no cache" if rest > 0 else ""
        yield tag(
            "p",
            f"These logs hold {counted(bills, 'bill')}. Not checked: {number(first)} of the first request of a session, "
            f"because another one may have written what it reads{more}.",
        )


def _sizes(effects: Sequence[Effect]) -> Iterator[Html]:
    yield tag("h3", "Sizes foretold")
    errors = [error for effect in effects for error in effect.result.prediction_errors]
    yield from _error(
        errors,
        "the size foretold before a request was sent",
        "of requests that went out as they came",
        {effect.result.name: effect.result.size_causes for effect in effects},
    )
    yield tag(
        "p",
        "Sizes that were foretold decide when a compaction comes. No bill in this report is made of them: bills are "
        "made of what the provider said that the messages weigh.",
    )


_CAUSES = {
    "nothing_read": (
        "the provider read nothing although nothing in the log had changed: its entry was gone, a request was broken "
        "off, or what the log does not hold (tools, system prompt) was another one"
    ),
    "less_read": (
        "the provider read less than lay there, mostly the system prompt alone: an entry was gone, the client had "
        "shortened old messages without a word in the log, or nothing is promised and it did not"
    ),
    "more_read": "the provider read more than this session is known to have written: another session had",
    "first_requests": (
        "one of the first requests of a model: until some of its bills are known, nobody knows what the log leaves out "
        "(system prompt, tools) or how many tokens its words make"
    ),
    "shrunk": (
        "the client had made the request smaller in a way that the log does not show (such as clearing old results), "
        "so less was sent, billed and read than the log holds"
    ),
    "new_messages": (
        "what was new weighs other than what was there before: a long result, an image, or reasoning that is not sent again"
    ),
}
"""What lies behind a large error, as far as it can be told from the bills."""


def _error(
    errors: Sequence[float], what: str, where: str, causes: Mapping[str, Mapping[str, int]]
) -> Iterator[Html]:
    middle, most = percentile(errors, 0.5), percentile(errors, 0.95)
    if middle is None or most is None:
        yield tag("p", f"No log here tells enough to check this, {where}: {what}.")
        return
    large = sum(error > LARGE for error in errors)
    yield tag(
        "p",
        f"Checked against {counted(len(errors), 'recorded bill')} {where}: {what}, off by "
        f"{middle:.2%} of the whole request at the median, and by no more than {most:.2%} in 95 of 100. "
        f"{number(large)} {'was' if large == 1 else 'were'} off by more than {LARGE:.0%}{_most_in(causes)}.",
    )
    found: Counter[str] = Counter()
    for each in causes.values():
        found.update(each)
    if found:
        yield tag(
            "ul",
            *(
                tag("li", f"{number(many)}: {_CAUSES[cause]}")
                for cause, many in found.most_common()
            ),
        )


def _most_in(causes: Mapping[str, Mapping[str, int]]) -> str:
    """The session with most of the large errors, where it is one of several."""
    many = {name: sum(each.values()) for name, each in causes.items()}
    if sum(count > 0 for count in many.values()) < 2:
        return ""
    worst = max(many, key=lambda name: many[name])
    return f", {number(many[worst])} of them in {worst}"


def _missed() -> Iterator[Html]:
    yield tag("h3", "What is assumed about later turns")
    yield tag(
        "p",
        "The recorded agent saw everything, so its later answers are taken as they are. A live agent that had "
        "less before it might have answered otherwise: nobody can read that from a log. Two things stand for it. "
        "First, each later answer was searched for exact things (paths, web addresses, hashes and ids, settings, "
        "names in code, five words in a row of the user's) that only removed messages held; each such answer is "
        "charged as one exchange more: the request again, an answer, and the result that comes back and stays. "
        "That is “net of what was missed”. What stands in the words that are sent all the same (whole, inside a "
        "longer path, or as a folder and a file in it) is not missed, nor are file names and names of standard "
        "libraries from a short list. It still counts other names that a model knows anyway, and cannot see what was "
        "understood but not quoted.",
    )
    yield tag(
        "p",
        f"Second, the same saving is told with {EXCHANGES} extra exchanges after each compaction, whether anything "
        "was missed or not. It does not depend on the search above, and it is mostly the milder of the two: such an "
        "exchange brings back as much as a turn of that session mostly adds (the median), a miss the whole message that "
        "held what was missed.",
    )
    yield tag(
        "p",
        "Whether a compaction pays is decided on its turn, from what is known then; as many turns are taken to "
        "come as there have been. “Whether it paid” is told afterwards, from the turns that really came.",
    )


def _log(sessions: Sequence[Told]) -> Iterator[Html]:
    yield tag("h3", "What these logs cannot show")
    missing = sorted(frozenset[str]().union(*(told.report.unrecorded for told in sessions)))
    told = (
        f"They do not hold {', '.join(missing)}; where bills are recorded, those tokens are in the bills all the same. "
        if missing
        else ""
    )
    yield tag(
        "p",
        f"{told}They do not hold cache markers, nor the client's calls for its own summaries, which are charged by an "
        "estimate to the client as recorded. Side calls that were not logged are in no bill here.",
    )
    lefts = [(each, len(each.report.left_out)) for each in sessions]
    left = sum(many for _, many in lefts)
    unpriced = sum(not each.is_priced for each in sessions)
    if left:
        yield tag(
            "p",
            f"{counted(left, 'request')} could not be replayed and count nowhere ({_placed(lefts)}); "
            f"{counted(unpriced, 'session')} had none that could. “Session by session” says why.",
        )


def _placed(found: Sequence[tuple[Told, int]]) -> str:
    """In which sessions so many of something are: ``19 in codex.jsonl``, the most first."""
    some = [(told.result.name, many) for told, many in found if many]
    some.sort(key=lambda each: (-each[1], each[0]))
    named = [f"{number(many)} in {name}" for name, many in some[:_MOST_NAMES]]
    rest = sum(many for _, many in some[_MOST_NAMES:])
    return ", ".join([*named, f"{number(rest)} in others"] if rest else named)


def _valid(sessions: Sequence[Told]) -> Iterator[Html]:
    totals = Totals.of([request for told in sessions for request in told.report.requests])
    broken = _placed([(each, each.report.totals.invalid_before) for each in sessions])
    yield tag("h3", "Whether the provider would have taken the requests")
    yield tag(
        "p",
        f"Of {counted(totals.requests, 'request')}, {number(totals.changed)} would have gone out "
        "changed; the others are byte for byte what came in. Requests were checked against the "
        "provider's rules as they came and as they would have gone out; where a history was put "
        "back, those on which something was removed, as the engine itself does. "
        f"{number(totals.made_invalid)} that came in valid would have become invalid, and "
        f"{number(totals.over_limit)} would have gone out over the limit. "
        f"{number(totals.invalid_before)} were already broken as recorded{f' ({broken})' if broken else ''}.",
    )
    if totals.counters:
        yield tag("p", f"Counted by {', '.join(totals.counters)}, until a bill tells more.")


def _again(origin: Origin) -> Iterator[Html]:
    yield tag("h3", "How to reach them again")
    yield tag(
        "p",
        "The same files, the same version and the same prices give the same bytes of this report. Run it in the folder "
        "in which these lie (their own folders are not told here), or put their paths before their names:",
    )
    yield tag("pre", tag("code", origin.command))
    yield tag(
        "p",
        f"trimtab {origin.version}. The options --json (every number of the bills), --explain (the arithmetic of each "
        f"compaction) and --gate (whether any session is more than {MOST_DEARER:.0%} dearer; the exit code says so) "
        "tell the same in other forms.",
    )
    yield join(
        tag("h3", "What is not in this file"),
        tag(
            "p",
            "No word of a conversation: no prompt, answer, argument, tool output, path or name out of one. It holds "
            "names of sessions and log files, models, counts and places. It loads nothing and sends nothing.",
        ),
    )
