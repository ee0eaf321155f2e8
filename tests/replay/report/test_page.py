"""The report: one file, for a reader in a hurry and for one who does not believe it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.replay.report.pages import page_of
from tests.replay.report.told import ORIGIN, costs, cut, long_session, request, session, turn
from trimtab.economy import Bill
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT
from trimtab.replay.report.page import Origin, Told, is_report, report
from trimtab.replay.report.story import Cost, CutStory, MissStory, Story
from trimtab.replay.results import Costs, PolicyResult

CASES = {
    "nothing": [],
    "one that was compacted": [long_session()],
    "one that was not": [session(mine=100.0, requests=[request(5_000)])],
    "one of which nothing could be priced": [session(count=0, left_out=["no limit is known"])],
    "several": [
        long_session("b.jsonl", mine=50.0),
        long_session("c.jsonl", mine=130.0),
        session("d.jsonl", mine=101.0),
        session("e.jsonl", is_money=False),
    ],
}


@pytest.mark.parametrize("sessions", CASES.values(), ids=CASES)
def test_a_report_is_well_formed(sessions: list[Told]) -> None:
    """Balanced, ids once, headings without a gap, links that lead somewhere, a chart never without its table."""
    page = page_of(report(sessions, ORIGIN))

    assert page.errors == []
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(page.headings))
    assert {link["href"] for link in page.all("a")} <= {f"#{name}" for name in page.ids}
    tables = {table.get("id") for table in page.all("table")}
    for chart in page.charts:
        assert chart["data-table"] in tables
        assert chart["role"] == "img"
        assert chart["aria-label"]
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(header["scope"] for header in page.all("th"))
    assert page.all("html") == [{"lang": "en"}]


@pytest.mark.parametrize("sessions", CASES.values(), ids=CASES)
def test_a_report_needs_no_network(sessions: list[Told]) -> None:
    """Nothing in it leads out of it, and a browser is told to load nothing."""
    text = report(sessions, ORIGIN)
    page = page_of(text)

    led = [each[name] for _, each in page.elements for name in ("src", "href") if name in each]
    assert all(where is not None and where.startswith(("#", "data:,")) for where in led)
    assert not re.search(
        r"""(?:src|href)\s*=\s*["']?\s*(?:https?:|//)|url\(|@import|fetch\(|XMLHttp""", text
    )
    (policy,) = (each for each in page.all("meta") if "http-equiv" in each)
    assert str(policy["content"]).startswith("default-src 'none'")


def test_the_same_values_give_the_same_bytes() -> None:
    """In whatever order the sessions come."""
    sessions = CASES["several"]

    assert report(sessions, ORIGIN) == report(sessions[::-1], ORIGIN)


@settings(max_examples=20, deadline=None)  # each is a whole report
@given(
    st.text(
        st.characters(exclude_categories=["Cc", "Cs", "Co", "Cn", "Zl", "Zp", "Zs", "Cf"]),
        min_size=1,
    )
)
def test_no_name_is_ever_read_as_html(name: str) -> None:
    """Names come out of files that anybody may have written."""
    page = page_of(report([session(f'<script>"{name}&amp;', requests=[request(5)])], ORIGIN))

    assert page.errors == []
    assert f'<script>"{name}&amp;' in page.texts["h3"]
    assert len(page.all("script")) == 2


def test_what_no_file_may_hold_is_marked() -> None:
    """Half a character and control characters would make the file unreadable."""
    text = report([session("a\ud800\x00\x1bb")], ORIGIN)

    assert "a���b" in text
    text.encode()


def test_a_command_is_words_too() -> None:
    """A file may be called anything."""
    page = page_of(report([], Origin("1", "trimtab replay </pre><b>.jsonl")))

    assert page.texts["code"] == ["trimtab replay </pre><b>.jsonl"]


def test_a_reader_in_a_hurry_knows_in_one_sentence() -> None:
    """What is saved of the whole bill, with what was missed, and the worst session."""
    page = page_of(report([long_session("b.jsonl"), session("c.jsonl", mine=101.0)], ORIGIN))

    assert page.texts["h1"] == ["trimtab would have saved 9.0% of the whole bill."]
    lead, worst = page.texts["p"][1:3]
    assert lead.startswith(
        "$18.20 instead of $20.00 over 2 sessions and 61 requests, with everything"
    )
    assert lead.endswith(
        "With 3 extra exchanges charged after each compaction instead, whether anything was missed or not: 8.0% less."
    )
    assert worst.startswith(
        "Worst session: c.jsonl, 1.0% more. No session came out more than 2% dearer"
    )


@pytest.mark.parametrize(
    ("sessions", "headline"),
    [
        ([], "No request could be priced, so there is nothing to compare."),
        (
            [session(mine=100.0, requests=[request(5)])],
            "trimtab would have changed nothing here, and cost nothing.",
        ),
        ([session(mine=110.0)], "trimtab would have cost you 10.0% more than the whole bill."),
    ],
)
def test_the_headline_is_as_honest_where_nothing_is_saved(
    sessions: list[Told], headline: str
) -> None:
    """A loss is told as one."""
    assert page_of(report(sessions, ORIGIN)).texts["h1"] == [headline]


def test_sessions_are_sorted_by_effect_and_the_harmed_ones_marked() -> None:
    """By what is saved in money, not in percent; in words and signs, not in colours alone."""
    sessions = [
        session("dearer.jsonl", mine=101.0),
        session("harmed.jsonl", mine=103.0),
        session("small.jsonl", mine=1.0, nothing=10.0, client=10.0),
        session("same.jsonl", mine=100.0),
        session("large.jsonl", mine=60.0),
        session("invalid.jsonl", mine=99.0, invalid=1),
    ]
    text = report(sessions, ORIGIN)
    row = r'<tr class="(\w+)"><th scope="row"><a href="#s\d">([^<]*)</a></th><td><span class="mark">([^<]*)<'
    rows = re.findall(row, text)

    assert rows == [
        ("saves", "large.jsonl", "saves"),
        ("saves", "small.jsonl", "saves"),
        ("harmed", "invalid.jsonl", "▲▲ harmed"),
        ("same", "same.jsonl", "same"),
        ("dearer", "dearer.jsonl", "▲ dearer"),
        ("harmed", "harmed.jsonl", "▲▲ harmed"),
    ]
    assert "2 sessions came out more than 2% dearer" in text
    saved = re.findall(r'class="mark">[^<]*</span></td><td class="n">([^<]*)<', text)
    assert saved == ["+$4.00", "+$0.9000", "+$0.1000", "$0.00", "-$0.1000", "-$0.3000"]
    assert "those that save most first, in dollars" in text


def test_sessions_without_prices_are_sorted_by_tokens_and_say_so() -> None:
    """A dollar and a token cannot be held against each other: where one price lacks, tokens count."""
    dear = session("dear.jsonl", mine=90.0)
    costly = replace(
        dear.result,
        policies={
            name: replace(each, costs=replace(each.costs, bill=replace(each.costs.bill, cost=cost)))
            for (name, each), cost in zip(
                dear.result.policies.items(), (99.0, 99.0, 9.0), strict=True
            )
        },
    )
    dear = replace(dear, result=costly)
    by_tokens = [
        session("many.jsonl", mine=60.0),
        dear,
        session("bare.jsonl", mine=80.0, is_money=False),
    ]
    order = r'<th scope="row"><a href="#s\d">([^<]*)</a>'

    text = report(by_tokens, ORIGIN)
    assert re.findall(order, text) == ["many.jsonl", "bare.jsonl", "dear.jsonl"]
    assert "save most first, in fresh input tokens (not every price is known)" in text
    assert re.findall(order, report(by_tokens[:2], ORIGIN)) == ["dear.jsonl", "many.jsonl"]


def test_what_was_removed_adds_up() -> None:
    """Kinds, less what was put in their place, are what the request lost."""
    page = page_of(report([long_session()], ORIGIN))
    cells = page.texts["td"]
    start = page.texts["caption"].index("Request 41: what went on it, by kind")

    assert start >= 0
    assert cells[cells.index("-70,000") - 1 : cells.index("-73,000") + 1] == [
        "40",
        "-70,000",
        "",
        "-4,000",
        "",
        "+1,000",
        "40",
        "-73,000",
    ]
    assert "Request 41: 121,000 to 48,000 tokens" in page.texts["h5"]


def test_what_all_compactions_took_adds_up() -> None:
    """Over all sessions, by kind and by rule, and in money."""
    sessions = [long_session("b.jsonl"), long_session("c.jsonl")]
    page = page_of(report(sessions, ORIGIN))
    text = report(sessions, ORIGIN)
    section = text[text.index('<section id="removals"') : text.index('<section id="each"')]

    cells = re.findall(r"<td[^>]*>(?:<strong>)?([^<]*)", section)
    assert cells == ["80", "-140,000", "", "-8,000", "", "+2,000", "80", "-146,000"] * 2
    assert (
        "2 compactions: -$0.1000 on their own turns, +$0.3000 on the turns since, -$0.0400 for 2 answers that missed "
        "something; +$0.1600 in all."
    ) in section
    assert "What all compactions took away" in page.texts["h2"]
    bare = with_cuts(long_session(), replace(cut(40), account=None), paid=(1,))
    assert " on their own turns" not in report([bare], ORIGIN)
    assert "What all compactions took away" not in report([session()], ORIGIN)


def test_a_session_tells_what_happened_to_it() -> None:
    """Breaks with their causes, a lost cache, misses, payback and the arithmetic."""
    text = report([long_session()], ORIGIN)
    page = page_of(text)

    assert page.texts["li"][6:] == [
        "client edited (1): the client changed or removed messages that it had sent before",
        "model changed (1): another model answers, and each has a cache of its own",
        "compaction (1): trimtab compacted: the one break that it makes on purpose",
        "cache not read (1): nothing broke, yet by the model of the cache little was read: it had expired, or went otherwise",
    ]
    paragraphs = " ".join(page.texts["p"])
    assert "After 2 turns: its own turn cost more" in paragraphs
    assert "The arithmetic at that moment: line 0." in paragraphs
    assert "The ledger keeps of what went: 7 files." in paragraphs
    assert "paths (2), settings (1)" in page.texts["td"]
    assert (
        "Forecast after the last request: context: 103k of 120k before compaction (86%)"
        in paragraphs
    )


def with_cuts(told: Told, *cuts: CutStory, paid: tuple[int | None, ...]) -> Told:
    """The same session with other compactions."""
    mine = replace(
        told.result.policies[DEFAULT], compactions=len(cuts), payback_turns=paid, misses=0
    )
    result = replace(told.result, policies={**told.result.policies, DEFAULT: mine}, explained=())
    return replace(told, result=result, story=replace(told.story, cuts=cuts, misses=()))


@pytest.mark.parametrize(
    ("paid", "words"),
    [
        ((0,), "At once: its own turn already cost less than it would have without the cut."),
        ((1,), "After 1 turn: its own turn cost more than it would have without the cut"),
        (
            (None,),
            "It had not paid for itself when the next compaction came, or the session ended: its own",
        ),
        (
            (),
            "It had not paid for itself when the next compaction came, or the session ended: its own",
        ),
    ],
)
def test_whether_a_compaction_paid_is_said(paid: tuple[int | None, ...], words: str) -> None:
    """Also where it never did; and what is not known of it is left out."""
    bare = replace(cut(40), reasons=(), noted={})
    text = report([with_cuts(long_session(), bare, paid=paid)], ORIGIN)

    assert words in text
    for unknown in (
        "The arithmetic at that moment",
        "by the rule that took it",
        "The ledger keeps",
    ):
        assert unknown not in text
    assert "Nothing: no later answer used a path" in text


def test_long_lists_are_cut_and_counted() -> None:
    """A session that breaks on every turn is told by its causes."""
    requests = [request(5_000, breaks=["tools_changed"])] * 50
    misses = tuple(MissStory(place, 1, {"paths": 1}) for place in range(50))
    story = Story((turn(5_000),) * 50, tuple(cut(place) for place in range(45)), misses)
    bare = session(requests=requests, story=story, misses=50)
    told = with_cuts(bare, *story.cuts, paid=(1,) * 45)
    mine = replace(told.result.policies[DEFAULT], misses=50)
    result = replace(told.result, policies={**told.result.policies, DEFAULT: mine})
    page = page_of(report([replace(told, result=result, story=story)], ORIGIN))

    assert [words for words in page.texts["p"] if words.startswith("And ")] == [
        "And 5 compactions more.",
        "And 10 requests more.",
        "And 10 answers more.",
    ]


def test_a_session_whose_turns_were_not_kept_is_told_by_its_bills() -> None:
    """And misses are counted where nobody knows which."""
    bare = session(requests=[request(5, is_compacted=True)], misses=2)
    text = report([replace(bare, report=replace(bare.report, unrecorded=frozenset()))], ORIGIN)

    assert "This session was replayed without its turns being kept." in text
    assert "2 answers used something that only removed messages held." in text
    assert "The log does not hold" not in text
    assert "Answers of a.jsonl" not in text


def test_a_large_session_that_was_left_alone_says_why() -> None:
    """It was past the trigger, and a compaction would not have paid."""
    bare = session(mine=100.0, requests=[request(130_000)])

    assert "none that was due would have paid for itself" in report([bare], ORIGIN)


def test_caches_that_promise_nothing_are_told_apart() -> None:
    """Their errors say little of the model, and some providers cache nothing."""
    told = long_session()
    result = replace(told.result, is_cache_explicit=False, recorded=costs(120.0, 12.0))
    story = replace(told.story, is_cached=False)
    text = report([replace(told, result=result, story=story)], ORIGIN)

    assert "No log here tells enough to check this, where the provider says where it caches" in text
    assert "Checked against 2 recorded bills where the provider promises nothing" in text
    assert "In 1 session no bill shows any use of a cache" in text
    assert "it comes to 16.7% less than that" in text


def test_no_folder_of_the_user_is_told() -> None:
    """Reports are passed on."""
    assert "somebody/" not in report([long_session()], ORIGIN)


def test_the_charts_are_drawn_from_every_turn_of_a_short_session() -> None:
    """And their table holds the very numbers."""
    page = page_of(report([long_session(turns=12, cut_at=99)], ORIGIN))

    assert [chart["data-chart"] for chart in page.charts] == ["size", "cache", "bill"]
    assert "The numbers of the charts, in tokens and money: every request" in page.texts["caption"]
    keys = [each["data-key"] for each in page.all("th") if "data-key" in each]
    assert keys == [
        "turn",
        "sent",
        "foretold",
        "billed",
        "whole",
        "trigger",
        "limit",
        "window",
        "left",
        "read",
        "written",
        "fresh",
        "output",
        "ours",
        "nothing",
        "client",
        "events",
    ]


def test_a_report_of_many_sessions_stays_small() -> None:
    """Three hundred long sessions: fewer turns of each, and what is left out is said."""
    told = long_session(turns=100)
    sessions = [
        replace(told, result=replace(told.result, name=f"{number}.jsonl")) for number in range(300)
    ]
    text = report(sessions, ORIGIN)

    assert len(text) < 7_500_000
    assert "30 of 100 requests" in text
    assert "70 requests on which little happened are left out" in text
    page = page_of(text)
    assert page.errors == []
    assert sum("open" in each for each in page.all("details")) == 2


def test_harmed_sessions_are_open_among_many() -> None:
    """They are what a reader must see."""
    sessions = [session(f"{number}.jsonl") for number in range(8)] + [
        session("bad.jsonl", mine=150.0)
    ]
    page = page_of(report(sessions, ORIGIN))
    opened = [each["id"] for each in page.all("details") if "open" in each]

    assert opened == ["s1", "s2", "s9"]


def test_a_sceptic_finds_how_each_number_was_reached() -> None:
    """Prices with their source and days, the measured errors, what is assumed, how to do it again."""
    page = page_of(report([long_session()], ORIGIN))
    told = " ".join(page.texts["p"])

    assert "Prices come from genai-prices 9.9" in told
    assert "claude-sonnet-4-5" in page.texts["th"]
    assert "2023-11-14" in page.texts["td"]
    assert "Nobody knows the prices of somebody's model." in told
    assert (
        "tokens read from the cache, off by 0.50% of the whole request at the median, and by no more than 1.00%"
        in told
    )
    assert "Checked against 2 recorded bills of requests that went out as they came" in told
    assert "They do not hold tools" in told
    assert "trimtab 1.2.3." in told
    assert page.texts["code"] == [
        "trimtab replay PATH... --json",
        "trimtab replay a.jsonl --explain --json",
        "trimtab replay PATH... --json",
        ORIGIN.command,
    ]


def test_what_could_not_be_replayed_is_said() -> None:
    """With the reason, and it counts nowhere."""
    text = report(
        [session("x.jsonl", count=0, left_out=["no limit is known"] * 2)], Origin("1", "")
    )

    assert (
        "2 requests could not be replayed and count nowhere (2 in x.jsonl); 1 session had none that could."
        in text
    )
    assert "x.jsonl has no section: no limit is known." in text
    assert "Prices come from no list of prices" in text


def test_policies_that_only_advice_tries_are_not_shown() -> None:
    """They have no words of their own."""
    told = session()
    policies = {**told.result.policies, "client-at-60000": told.result.policies[DEFAULT]}
    text = report([replace(told, result=replace(told.result, policies=policies))], ORIGIN)

    assert "client-at-60000" not in text


def test_a_report_is_known_again() -> None:
    """So that nothing else is ever written over."""
    assert is_report(report([], ORIGIN).encode()[:4_096])
    assert not is_report(b"<!DOCTYPE html><html></html>")
    assert not is_report(b"")


def test_where_none_was_dearer_that_is_said() -> None:
    """Of sessions that came out the same, none is the worst."""
    page = page_of(report([long_session("b.jsonl"), session("c.jsonl", mine=100.0)], ORIGIN))

    assert page.texts["p"][2].startswith(
        "No session was dearer: 1 saved, 1 came out the same. No request was made invalid."
    )


def test_what_nobody_can_know_of_a_policy_on_paper_is_no_number() -> None:
    """Neither what its answers miss nor what it saves net of that; and why stands below."""
    told = session()
    policies = {**told.result.policies, "provider": PolicyResult("provider", 1, costs(90.0, 9.0))}
    text = report([replace(told, result=replace(told.result, policies=policies))], ORIGIN)
    row = text[text.index("<strong>provider</strong>") :]

    cells = re.findall(r'<td class="n">([^<]*)</td>', row[: row.index("</tr>")])
    assert cells == [
        "$9.00",
        "10.0%",
        "\N{EN DASH}",
        "10.0%",
        "90.0%",
        "0",
        "0",
        "\N{EN DASH}",
        "0",
    ]
    assert "No request of theirs was written" in row
    assert 'id="word-on-paper"' in row
    assert "word-on-paper" not in report([told], ORIGIN)


def test_why_less_is_read_than_stands_in_front_of_a_cut_is_said() -> None:
    """In the words of the bill."""
    idle = replace(
        cut(40, before=80_000), read_tokens=0, cached_tokens=0, unread="the session had been idle"
    )
    text = report([with_cuts(long_session(), idle, paid=(0,))], ORIGIN)

    assert (
        "3,000 tokens stand in front of the first change; by its model the cache reads none of them: "
        "the session had been idle. Without the cut, 0 tokens would be read."
    ) in text


@pytest.mark.parametrize(
    ("cause", "before", "words"),
    [
        (
            "limit",
            121_000,
            "Without it, the request was foretold at 121,400 tokens, which is over the limit.",
        ),
        (
            "trigger",
            121_000,
            "Without it, the request was foretold at 121,400 tokens, above the trigger of 120,000.",
        ),
        (
            "trigger",
            119_000,
            "above the trigger of 120,000; as such requests are billed, it would have had 119,000.",
        ),
        (
            "cold",
            80_000,
            "before this request (idle for 113 minutes), and a cut costs least then. So it came below the trigger of",
        ),
    ],
)
def test_why_a_cut_came_is_said_of_every_one(cause: str, before: int, words: str) -> None:
    """By what the engine decided, not by its size."""
    told = replace(cut(40, before=before), cause=cause, idle_seconds=113 * 60.0)
    text = report([with_cuts(long_session(), told, paid=(0,))], ORIGIN)

    assert words in text
    other = replace(told, idle_seconds=None)
    text = report([with_cuts(long_session(), other, paid=(0,))], ORIGIN)
    assert ("(another model, or other tools)" in text) == (cause == "cold")
    unknown = replace(told, cause="")
    assert "Why then." not in report([with_cuts(long_session(), unknown, paid=(0,))], ORIGIN)


def test_a_cut_is_told_in_money_with_what_was_missed_behind_it() -> None:
    """At once, later, missed, and the sum of the three."""
    bare = cut(40)
    assert bare.account is not None
    text = report([with_cuts(long_session(), bare, paid=(2,))], ORIGIN)

    assert (
        "By the bills: -$0.0500 at once, +$0.1500 over the 19 turns since, until the next compaction or the end; "
        "-$0.0200 for 1 answer that missed something; +$0.0800 in all. With what was missed, it had paid after 9 turns."
    ) in text
    never = replace(bare, account=replace(bare.account, missed=Cost(2e5, 0.2), paid_after=None))
    text = report([with_cuts(long_session(), never, paid=(2,))], ORIGIN)
    assert "-$0.1000 in all. With what was missed, it never paid for itself." in text
    none = Cost(0.0, 0.0)
    clean = replace(bare, account=replace(bare.account, misses=0, missed=none))
    text = report([with_cuts(long_session(), clean, paid=(2,))], ORIGIN)
    assert "+$0.1000 in all. No answer of these turns missed anything." in text
    unpriced = replace(bare.account, now=Cost(50_000.0, None), later=Cost(150_000.0, None))
    text = report([with_cuts(long_session(), replace(bare, account=unpriced), paid=(2,))], ORIGIN)
    assert "By the bills: -50,000 tok at once, +150,000 tok over" in text
    assert "+80,000 tok in all." in text


def test_the_window_stands_beside_the_limit() -> None:
    """Only what is above the window is refused; what is above the limit may be taken."""
    told = long_session(turns=3, cut_at=99)
    turns = tuple(replace(each, window_tokens=250_000) for each in told.story.turns)
    text = report([replace(told, story=replace(told.story, turns=turns))], ORIGIN)

    assert (
        "the limit is 200,000, the model's window 250,000." in page_of(text).texts["figcaption"][0]
    )
    assert text.count('<td class="n">200,000</td><td class="n">250,000</td>') == 3
    bare = report([told], ORIGIN)
    assert "the limit is 200,000." in bare
    assert bare.count('<td class="n">200,000</td><td class="n"></td>') == 3


def test_the_title_counts_what_was_replayed() -> None:
    """And what was left out, as the first sentence does."""
    sessions = [session("a.jsonl"), session("x.jsonl", count=0, left_out=["no limit is known"])]
    page = page_of(report(sessions, ORIGIN))

    assert page.texts["title"] == ["trimtab: 1 recorded session replayed, 1 left out"]
    assert "over 1 session and" in page.texts["p"][1]
    whole = page_of(report(sessions[:1], ORIGIN))
    assert whole.texts["title"] == ["trimtab: 1 recorded session replayed"]


def test_what_is_read_from_the_cache_stands_beside_that_of_others() -> None:
    """It is no merit: who removes nothing reads most."""
    told = session()
    policies = dict(told.result.policies)
    policies[CLIENT] = replace(policies[CLIENT], costs=Costs(Bill(fresh=24, read=976)))
    policies[DIRECT] = replace(policies[DIRECT], costs=Costs(Bill(fresh=15, read=985)))
    page = page_of(report([replace(told, result=replace(told.result, policies=policies))], ORIGIN))

    card = "input from the cache (the client: 97.6%, nothing removed: 98.5%)"
    assert page.texts["dd"][page.texts["dt"].index(card)] == "90.0%"


def test_requests_that_came_broken_are_placed() -> None:
    """Which session they are in, the most first."""
    broken = replace(request(5), is_valid_before=False, is_valid_after=False)
    sessions = [session("b.jsonl", requests=[broken]), session("c.jsonl", requests=[broken] * 2)]

    assert "3 were already broken as recorded (2 in c.jsonl, 1 in b.jsonl)." in report(
        sessions, ORIGIN
    )
    assert "0 were already broken as recorded." in report([session()], ORIGIN)
    many = [session(f"{place:02}.jsonl", requests=[broken]) for place in range(13)]
    assert "1 in 09.jsonl, 3 in others)." in report(many, ORIGIN)


def test_a_price_of_an_unknown_day_is_said_to_be_the_newest() -> None:
    """Else “unknown” would leave the reader to guess."""
    told = long_session()
    (priced, other) = told.story.priced
    undated = replace(priced, first_at=None, last_at=None)
    story = replace(told.story, priced=(undated, other))
    words = "Where the days are “unknown”"

    assert words in report([replace(told, story=story)], ORIGIN)
    assert words not in report([told], ORIGIN)


@pytest.mark.parametrize(
    ("written", "words"), [(0, "its provider caches"), (5, "some of its models")]
)
def test_how_a_mixed_session_is_cached_is_said(written: int, words: str) -> None:
    """Of some models tokens are written, of others nobody says where they are cached."""
    told = long_session()
    turns = tuple(replace(each, written=written) for each in told.story.turns)
    result = replace(told.result, is_cache_explicit=False)
    text = report([replace(told, result=result, story=replace(told.story, turns=turns))], ORIGIN)

    assert f"requests; {words}" in text


def test_what_the_log_says_was_read_stands_beside_the_model() -> None:
    """So that an opinion of the model is never taken for a fact."""
    told = long_session(turns=12, cut_at=99)
    turns = list(told.story.turns)
    turns[9] = replace(turns[9], billed_read=40_088)
    story = replace(told.story, turns=tuple(turns))
    text = report([replace(told, story=story)], ORIGIN)

    rows = re.findall(r'<th scope="row" class="n">(6|10)</th><td>([^<]*)</td>(.*?)</tr>', text)
    assert [
        (place, why, re.findall(r">([^<]*)</td>", cells)[1:]) for place, why, cells in rows
    ] == [
        ("6", "client edited, model changed", ["0", ""]),
        ("10", "cache not read", ["0", "40,088"]),
    ]
    assert "the log is right and the model is wrong" in text


def test_what_stood_for_earlier_cuts_is_told_apart() -> None:
    """What is put in its place is never below nothing."""
    second = replace(cut(40), made_tokens=-580, stood_tokens=2_000, reasons=())
    text = report([with_cuts(long_session(), second, paid=(0,))], ORIGIN)
    cells = re.findall(r"put in its place: [^<]*</th>.*?\+([\d,]+)</td>", text)
    stood = re.findall(r"for earlier cuts, and is told anew</th>.*?(-[\d,]+)</td>", text)

    assert cells == ["1,420"] * 2  # of all compactions, and of this one
    assert stood == ["-2,000"] * 2


def test_what_became_of_the_words_of_the_user_is_said_of_each_message() -> None:
    """Whole, shortened or gone; and one is not told as several."""
    noted = {"rules of the user, verbatim": 1, "other words of the user": 2, "files": 1}
    told = replace(
        cut(40), user_messages=9, user_messages_untouched=2, user_messages_gone=6, noted=noted
    )
    text = report([with_cuts(long_session(), told, paid=(0,))], ORIGIN)

    assert (
        "Of 9 messages in which the user speaks, 2 word for word, 1 shortened, 6 gone but for what the ledger keeps of "
        "them. The ledger keeps of what went: 1 rule of the user, verbatim, 2 other words of the user, 1 file."
    ) in text


def test_messages_that_the_client_took_back_are_told() -> None:
    """Else fewer would be gone at a later compaction than were at the one before, for no reason."""
    first, second = cut(20), replace(cut(40), gone_messages=80, gone_before=50)
    text = report([with_cuts(long_session(), first, second, paid=(0, 0))], ORIGIN)

    assert (
        "80 are gone whole, 50 of them since earlier compactions (which the tables do not count again) and 30 on this "
        "request (60 were gone after the compaction before; the client itself no longer sends 10 of those"
    ) in text
    assert "no longer sends" not in report([with_cuts(long_session(), first, paid=(0,))], ORIGIN)


def test_blanks_among_bills_are_explained_beside_the_table() -> None:
    """And where there is none, nothing is."""
    told = long_session(turns=3, cut_at=99)
    turns = (*told.story.turns[:2], replace(told.story.turns[2], billed_tokens=None))
    words = "“Billed as recorded” is empty where the log holds no bill of a request."

    assert words in report([replace(told, story=replace(told.story, turns=turns))], ORIGIN)
    assert words not in report([told], ORIGIN)


def test_each_word_that_is_linked_is_told() -> None:
    """Once, and nowhere else."""
    page = page_of(report([long_session()], ORIGIN))
    text = report([long_session()], ORIGIN)
    linked = set(re.findall(r'href="#(word-[^"]*)"', text))
    told = re.findall(r'<dt id="(word-[^"]*)"', text)

    assert linked <= set(told)
    assert len(told) == len(set(told)) == len(page.texts["dd"]) - 7  # seven cards stand above
