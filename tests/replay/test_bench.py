"""A session under several policies, in money."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.replay.sessions import (
    MODEL,
    Json,
    agent,
    answer,
    billed,
    call,
    recorded,
    recording,
    result,
    user,
)
from trimtab import Policy, Usage
from trimtab.economy import Bill, Prices, Split, priced, prices_of
from trimtab.errors import PolicyError
from trimtab.replay.advice import advise, tried
from trimtab.replay.bench import Replayed, bench
from trimtab.replay.driver import SessionReport, replay
from trimtab.replay.gate import judge
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT, POLICIES, SHOWN, chosen
from trimtab.replay.recording import RecordedRequest
from trimtab.replay.report.story import CutStory

SMALL = Policy(limit_tokens=20_000, trigger_tokens=12_000)
LONG = "some words of a file " * 15
DOLLAR = Prices(1.0, 0.1, 1.25, 2.0, 5.0)


def run(
    requests: Sequence[RecordedRequest], policy: Policy = SMALL, names: Sequence[str] = ()
) -> Replayed:
    """A session under some policies, at easy prices."""
    return bench(recording(requests), policy, chosen(names), file="it", overrides={MODEL: DOLLAR})


def long_session(turns: int = 60) -> list[RecordedRequest]:
    """A session that passes a trigger of 12,000 tokens, with bills."""
    return billed(agent(turns), 3_000)


# ---------------------------------------------------------------- the account


def test_doing_nothing_costs_what_was_billed() -> None:
    """The model of the cache tells the recorded bill to the token, but for the first read."""
    told = run(long_session()).result
    bill, was = told.policies[DIRECT].costs.bill, told.recorded

    assert was is not None
    assert bill == was.bill
    assert (told.modelled, told.billed_requests, told.is_billed_whole) == (was, 61, True)
    assert told.policies[CLIENT].costs == told.policies[DIRECT].costs
    assert told.cache_errors == (0.0,) * 60
    assert told.prediction_errors[-1] < 0.02


def test_a_bill_over_nothing_is_none() -> None:
    """A placeholder of the log: such a session cannot be held against what was billed as a whole."""
    requests = billed(agent(5), 3_000)
    told = run([*requests[:-1], replace(requests[-1], usage=Usage())])

    assert (told.result.billed_requests, told.result.is_billed_whole) == (5, False)
    assert [turn.billed_tokens is None for turn in told.story.turns] == [False] * 5 + [True]


def test_without_policies_the_cache_alone_is_looked_at() -> None:
    """How far its model is off, and what was billed."""
    told = bench(recording(billed(agent(5), 3_000)), SMALL, ()).result

    assert (told.policies, told.cache_errors) == ({}, (0.0,) * 5)
    assert told.recorded is not None


def test_the_bill_is_what_is_sent_at_its_price() -> None:
    """Each token once, answers with it."""
    requests = billed(agent(3), 3_000)
    total = sum(request.usage.total_input for request in requests if request.usage)

    bill = run(requests).result.policies[DIRECT].costs.bill

    assert bill.total_input == total
    assert bill.output == 4 * 50
    assert bill.cost == pytest.approx((bill.read * 0.1 + bill.written * 1.25 + 200 * 5) / 1e6)


def test_a_session_below_the_trigger_goes_out_unchanged() -> None:
    """And costs what it costs."""
    told = run(billed(agent(8), 3_000)).result
    mine = told.policies[DEFAULT]

    assert not told.passes_trigger
    assert (mine.changed, mine.compactions, mine.breaks) == (0, 0, 0)
    assert mine.costs == told.policies[DIRECT].costs


def test_a_long_session_is_cheaper_compacted() -> None:
    """Even with what was missed; each compaction is held to account and explained."""
    told = run(long_session()).result
    mine = told.policies[DEFAULT]

    assert told.passes_trigger
    assert mine.compactions >= 1
    assert mine.peak_tokens < 1.05 * 12_000 < told.policies[DIRECT].peak_tokens
    assert len(mine.payback_turns) == len(told.explained) == mine.compactions
    assert mine.payback_turns[0] is not None
    assert told.saved_share(DEFAULT, DIRECT, 0) > 0
    assert mine.exchange.bill.cost > 0  # type: ignore[operator]
    assert told.explained[0].startswith("request ")
    assert judge([told]).past_trigger == 1


def test_the_report_is_that_of_the_driver() -> None:
    """What was sent, request by request, is told in one way."""
    requests = agent(30)
    policy = Policy(limit_tokens=3_000)

    report = run(requests, policy).report
    plain = SessionReport.of(recording(requests), replay(recording(requests), policy))

    assert _timeless(report) == _timeless(plain)


def _timeless(report: SessionReport) -> SessionReport:
    requests = (replace(each, rewrite_seconds=0.0) for each in report.requests)
    return replace(report, requests=tuple(requests))


# ---------------------------------------------------------------- all policies


def test_every_policy_can_be_replayed() -> None:
    """Each is named, sends as many requests, and none makes one invalid."""
    told = run(long_session(), names=["all"]).result

    assert list(told.policies) == list(POLICIES)
    assert {each.requests for each in told.policies.values()} == {61}
    assert {each.made_invalid for each in told.policies.values()} == {0}
    assert all(POLICIES[name].words for name in told.policies)


def test_the_sliding_window_is_dear() -> None:
    """It rewrites the prefix on every turn past its limit."""
    told = run(long_session(), names=["sliding", "sticky"]).result

    assert told.policies["sliding"].breaks > 3 * told.policies["sticky"].breaks
    assert told.policies["sliding"].costs.units > told.policies[DEFAULT].costs.units


def test_a_policy_that_nobody_knows_is_refused() -> None:
    """With those that there are; those of law 7 are always there."""
    with pytest.raises(PolicyError, match="nothing, client, client-early"):
        chosen(["nope"])
    assert [choice.name for choice in chosen(["mask"])] == [DIRECT, CLIENT, "mask", DEFAULT]
    assert [choice.name for choice in chosen([])] == list(SHOWN)


def test_on_cold_moments_alone_a_steady_session_is_left_alone() -> None:
    """Until it is at the limit; a break lets it compact at half of that."""
    steady = long_session(40)
    late = [*steady[:30], *(replace(each, at=(each.at or 0.0) + 4_000) for each in steady[30:])]

    assert run(steady, names=["cold"]).result.policies["cold"].compactions == 0
    assert run(late, names=["cold"]).result.policies["cold"].compactions == 1
    open_limit = run(billed(agent(3), 3_000), Policy(), ["cold"]).result
    assert open_limit.policies["cold"].compactions == 0


# ------------------------------------------------------------------ baselines


def compacted_session() -> list[RecordedRequest]:
    """A session in which the client summarised 40,000 tokens, and went on."""
    before = [*long_messages(44)]
    summary = user("This is what happened so far. " + "Something was done. " * 100)
    after = [summary, answer("I go on."), user("Do.")]
    histories = [before[:count] for count in range(1, len(before) + 1, 2)]
    requests = [recorded(history, at=1_000.0 + 10 * at) for at, history in enumerate(histories)]
    later = [recorded(after[:count], at=4_000.0 + count) for count in (1, 3)]
    return billed([*requests, *later], 3_000)


def long_messages(turns: int) -> list[dict[str, object]]:
    """The messages of a session of 40,000 tokens."""
    messages: list[dict[str, object]] = [user("Mend it.")]
    for number in range(turns):
        words = f"file_of_number_{number}\n" + "some words of a file " * 200
        messages += [call(f"c{number}", path=f"p{number}"), result(f"c{number}", words)]
    return messages


def test_the_clients_own_compaction_is_what_ours_competes_with() -> None:
    """Its call is paid; without it, and for ours, the history is the whole of it."""
    told = run(compacted_session(), Policy(limit_tokens=150_000)).result
    nothing, client = told.policies[DIRECT], told.policies[CLIENT]

    assert told.client_compactions == 1
    assert (client.compactions, nothing.compactions) == (1, 0)
    assert client.breaks == 1
    assert nothing.breaks == 0
    last = told.policies[DEFAULT]
    assert last.peak_tokens == nothing.peak_tokens > client.peak_tokens * 0.99
    assert nothing.costs.bill.read > client.costs.bill.read - client.peak_tokens
    assert client.costs.bill.output > nothing.costs.bill.output


def test_a_request_above_the_window_is_told() -> None:
    """The provider would have refused it."""
    huge = recorded([user("word " * 300_000)])

    told = bench(recording([huge]), Policy(limit_tokens=400_000)).result

    assert told.policies[DIRECT].over_limit == 1


# ---------------------------------------------------------------- what is told


def test_an_answer_that_the_log_does_not_size_is_sized_by_its_message() -> None:
    """Logs often hold a placeholder in place of the output."""
    requests = [
        replace(request, usage=replace(request.usage, output=1) if request.usage else None)
        for request in billed(agent(3), 3_000)
    ]

    bill = run(requests).result.policies[DIRECT].costs.bill

    assert bill.output > 3 * 20


def test_what_cannot_be_read_or_has_no_window_is_left_out() -> None:
    """With the reason, and all else goes on."""
    requests = [
        *agent(1),
        replace(agent(1)[0], build=lambda: b"{}"),
        recorded([user("hi")], "nobody-knows-it"),
        recorded([user("hi again")], "nobody-knows-it"),
    ]

    told = bench(recording(requests))

    assert (told.result.left_out, len(told.report.left_out)) == (3, 3)
    assert [left.is_limit_unknown for left in told.report.left_out] == [False, True, True]
    assert told.result.policies[DIRECT].requests == 2
    assert told.result.recorded is None


def test_prices_that_nobody_knows_stay_unknown() -> None:
    """The tokens are told all the same, and what they come to beside each other."""
    requests = [
        replace(request, model="nobody-knows-it", build=_named(request, "nobody-knows-it"))
        for request in agent(40)
    ]

    told = bench(recording(requests), Policy(limit_tokens=5_000)).result

    assert told.policies[DIRECT].costs.bill.cost is None
    assert told.policies[DIRECT].costs.units > 0
    assert told.saved_share(DEFAULT, DIRECT, 0) > 0


def _named(request: RecordedRequest, model: str):  # type: ignore[no-untyped-def]  # noqa: ANN202
    return lambda: request.build().replace(MODEL.encode(), model.encode())


def test_a_provider_that_never_reads_a_cache_has_none() -> None:
    """Then everything is fresh on every turn, whatever is sent."""
    requests = [
        replace(request, usage=Usage(fresh=request.usage.total_input, output=50))
        for request in long_session()
        if request.usage
    ]

    told = run(requests).result

    assert told.policies[DIRECT].costs.bill.read == 0
    assert told.policies[DEFAULT].costs.bill.read == 0
    assert told.policies[DEFAULT].exchange.bill.read == 0
    assert told.cache_errors == ()


def test_what_was_kept_for_an_hour_is_priced_so() -> None:
    """And lives that long."""
    requests = [replace(request, is_kept_long=True) for request in long_session(40)]
    late = [replace(each, at=1_000.0 + 600.0 * place) for place, each in enumerate(requests)]

    told = run(late).result
    bill = told.policies[DIRECT].costs.bill

    assert (bill.written, bill.written_long > 0) == (0, True)
    assert bill.cached_share > 0.9
    assert told.policies[DEFAULT].exchange.bill.written == 0


def test_the_engine_takes_a_session_for_cold_when_its_bill_does() -> None:
    """A pause of ten minutes loses a cache of five, and not one of an hour."""
    requests = billed(agent(24), 3_000)
    late = [
        replace(each, at=each.at + 600.0 * (place >= 20))
        for place, each in enumerate(requests)
        if each.at is not None
    ]
    short = run(late)
    long = run([replace(each, is_kept_long=True) for each in late])

    assert [cut.turn for cut in short.story.cuts] == [20]
    assert "idle for 10 minutes" in short.story.cuts[0].unread
    assert (long.story.cuts, long.story.turns[20].read > 0) == ((), True)
    assert long.result.policies[DEFAULT].changed == 0


def missing_session(names: Sequence[str] = ()) -> Replayed:
    """A session whose last answer uses what was read early on."""
    requests = agent(60)
    last = [
        user("Mend the parser. Never touch the public names of the library."),
        *(
            message
            for number in range(60)
            for message in (
                call(f"c{number}", path=f"src/module_{number}/parser.py"),
                result(
                    f"c{number}",
                    f"value_number_{number} = {number}\n" + "some words of a file " * 40,
                ),
            )
        ),
    ]
    used = answer("As value_number_20 and value_number_21 say, it is done.")
    requests.append(recorded([*last, used, user("Good.")], at=2_000.0))

    return run(billed(requests, 3_000), names=names)


def test_who_misses_what_was_removed_pays_for_an_exchange() -> None:
    """The regret of a policy stands beside its costs, and its savings are net of it."""
    told = missing_session(["sticky"]).result

    for name in ("sticky", DEFAULT):
        each = told.policies[name]
        assert each.misses + each.survived >= 1
        assert each.net.units == pytest.approx(each.costs.units + each.regret.units)
        assert (each.regret.units > 0) == (each.misses > 0)
    assert told.policies[DIRECT].misses == 0


def test_progress_is_told_after_each_request() -> None:
    """So that a bar can move."""
    done: list[int] = []

    bench(recording(agent(3)), SMALL, tell=done.append)

    assert done == [1, 2, 3, 4]


def test_another_model_finds_no_cache() -> None:
    """A cut on such a turn costs nothing: it is a cold moment."""
    requests = agent(60)
    switched = [
        replace(each, model="claude-opus-4-5", build=_named(each, "claude-opus-4-5"))
        for each in requests[25:]
    ]

    told = run([*requests[:25], *switched], Policy(limit_tokens=9_000)).result

    first = told.explained[0]
    assert first.startswith("request 26: ")
    assert " fresh at 1 (another model had answered before" in first
    assert "; without the cut: " in first
    assert "; it saves " in first
    assert " read at " not in first
    assert "so it pays at once" in first
    assert told.policies[DEFAULT].payback_turns[0] == 0


def test_the_arithmetic_of_a_cut_is_the_bill_of_its_turn() -> None:
    """What it costs more than going on as before, and what both read; idle sessions read nothing."""
    late = [
        replace(each, at=each.at + 1_000.0 * (place >= 30))
        for place, each in enumerate(long_session())
        if each.at is not None
    ]
    replayed = run(late)
    (line, *_), (cut, *_) = replayed.result.explained, replayed.story.cuts
    turns = replayed.story.turns
    mine = turns[cut.turn]
    costs = mine.cost.units - mine.cost_nothing.units

    assert cut.turn == 30
    assert (cut.read_tokens, cut.cached_tokens, mine.read) == (0, 0, 0)
    assert cut.unread.startswith("the session had been idle for 17 minutes")
    assert f"saves {-round(costs):,} on its own turn" in line
    assert cut.before_tokens == mine.whole_tokens
    assert cut.after_tokens == mine.sent_tokens
    warm = run(long_session())
    (line, *_), (cut, *_) = warm.result.explained, warm.story.cuts
    mine, nothing = warm.story.turns[cut.turn], warm.result.policies[DIRECT]
    assert cut.read_tokens == mine.read
    assert 0 < cut.cached_tokens < cut.before_tokens < nothing.peak_tokens
    costs = mine.cost.units - mine.cost_nothing.units
    assert f"saves {-round(costs):,} on its own turn" in line


def test_a_cut_has_paid_once_its_turns_cost_less_than_without_it() -> None:
    """Beside the same session gone on without it: for the first cut, that is doing nothing."""
    replayed = run(long_session())
    mine, turns = replayed.result.policies[DEFAULT], replayed.story.turns
    cut, *more = replayed.story.cuts
    stop = more[0].turn if more else len(turns)
    saved = [turn.cost_nothing.units - turn.cost.units for turn in turns[cut.turn : stop]]
    sums = [sum(saved[: count + 1]) for count in range(len(saved))]

    assert mine.payback_turns[0] == next(turn for turn, total in enumerate(sums) if total >= 0)


def units_told(bill: str) -> float:
    """A bill in words, multiplied out: ``59 read at 0.1 + 300 written at 1.25``."""
    terms = (term.split() for term in bill.partition(" (")[0].split(" + "))
    return sum(int(many.replace(",", "")) * float(rate) for many, *_, rate in terms)


def test_the_account_of_a_cut_is_its_tokens_at_their_price() -> None:
    """At once: the two bills of its turn. Later: the turns until the next cut, beside going on without it."""
    replayed = run(long_session(100))
    turns, cuts = replayed.story.turns, replayed.story.cuts
    stops = [*(cut.turn for cut in cuts[1:]), len(turns)]

    assert len(cuts) > 1
    for cut, line, stop in zip(cuts, replayed.result.explained, stops, strict=True):
        account = cut.account
        assert account is not None
        mine, without = (
            line.partition("; it ")[0].partition("billed: ")[2].split("; without the cut: ")
        )
        now = units_told(mine) - units_told(without)
        assert account.now.units == pytest.approx(now)
        assert account.now.dollars == pytest.approx(now / 1e6)  # a dollar for a million fresh ones
        assert account.turns == stop - cut.turn - 1
        saved = account.later.units - account.now.units - account.missed.units
        assert account.saved.units == pytest.approx(saved)
        assert account.saved.dollars == pytest.approx(saved / 1e6)
    first, stop = cuts[0], stops[0]
    later = [turn.cost_nothing.units - turn.cost.units for turn in turns[first.turn + 1 : stop]]
    assert first.account is not None
    assert first.account.later.units == pytest.approx(sum(later))


def test_what_was_missed_is_charged_to_the_cut_before_it() -> None:
    """All of it, once; and a cut has paid only where it stays even with that."""
    told = missing_session()
    mine, accounts = told.result.policies[DEFAULT], [cut.account for cut in told.story.cuts]
    known = [account for account in accounts if account is not None]

    assert mine.misses >= 1
    assert sum(account.misses for account in known) == mine.misses
    assert sum(account.missed.units for account in known) == pytest.approx(mine.regret.units)
    for account in known:
        assert (account.paid_after is None) == (account.saved.units < 0)


def test_a_cut_says_why_it_came() -> None:
    """As the engine decided it: the cache was lost, or the size was passed."""
    late = [
        replace(each, at=each.at + 1_000.0 * (place >= 20))
        for place, each in enumerate(long_session())
        if each.at is not None
    ]
    cold, warm = run(late).story.cuts[0], run(long_session()).story.cuts[0]

    assert (cold.cause, cold.turn) == ("cold", 20)
    assert cold.idle_seconds == pytest.approx(1_000.0, abs=100.0)
    assert 6_000 < cold.foretold_tokens <= 12_000
    assert (warm.cause, warm.foretold_tokens > 12_000) == ("trigger", True)


def test_every_policy_follows_a_client_that_goes_back_again_and_again() -> None:
    """Wherever what it changed now stands."""
    requests = billed(agent(40), 3_000)
    messages = json.loads(requests[-1].build())["messages"]
    more = []
    for place, kept in enumerate((60, 30, 9)):
        said = [answer("Done."), user(f"Something else, {place}. " * 900)]
        more.append(recorded([*messages[:kept], *said], at=9_000.0 + place))

    told = run([*requests, *more], names=["sliding", "provider"]).result.policies

    assert {each.requests for each in told.values()} == {44}
    assert told["provider"].payback_turns == ()
    assert len(told[DEFAULT].payback_turns) == told[DEFAULT].compactions > 0
    assert len(told["sliding"].payback_turns) == told["sliding"].compactions > 1


def test_what_a_client_takes_back_is_no_part_of_what_it_sends_next() -> None:
    """Messages are known by what they say: six that were gone anyway make no difference to a cut."""
    requests = billed(agent(40), 3_000)[:35]
    messages = json.loads(requests[-1].build())["messages"]
    more = [answer("Done."), user("Something else. " * 4_000)]

    def last_cut(history: Sequence[Json]) -> CutStory:
        told = run([*requests, recorded([*history, *more], at=5_000.0)])
        assert [cut.turn for cut in told.story.cuts] == [30, 35]
        return told.story.cuts[-1]

    whole, shorter = last_cut(messages), last_cut([*messages[:3], *messages[9:]])

    assert shorter.before_tokens == whole.before_tokens
    assert shorter.after_tokens < shorter.before_tokens


# --------------------------------------------------------------------- advice


def test_advice_names_the_size_that_saves_most() -> None:
    """At three extra exchanges a compaction, with what to set; every size is told."""
    requests = billed(agent(60, LONG), 3_000)
    told = bench(recording(requests), Policy(limit_tokens=190_000), (*chosen(()), *tried()))

    (advice,) = advise([told.result])

    assert advice.kind == "claude-code"
    assert advice.trigger_tokens in advice.tried
    assert advice.saved == max(advice.tried.values()) > 0
    assert advice.trigger_tokens is not None
    assert f"={advice.trigger_tokens + 33_000} " in advice.words
    assert len(advice.traps) == 2


def test_where_no_size_is_cheaper_none_is_named() -> None:
    """A client that nobody knows how to set is told the size alone."""
    short = bench(recording(agent(3), "codex"), None, (*chosen(()), *tried())).result
    unknown = bench(
        recording(billed(agent(60, LONG), 3_000), "other"),
        Policy(limit_tokens=190_000),
        (*chosen(()), *tried()),
    ).result

    none, size = advise([short, unknown])

    assert (none.kind, none.trigger_tokens, none.saved, none.words) == ("codex", None, 0.0, "")
    assert (size.kind, size.words, size.traps) == ("other", "", ())
    assert size.trigger_tokens is not None


def test_a_bill_of_nothing_is_nothing() -> None:
    """A session of which no request could be replayed costs nothing."""
    told = bench(recording([recorded([user("hi")], "nobody-knows-it")])).result

    assert told.policies[DIRECT].costs.bill == Bill()
    assert (told.trigger_tokens, told.passes_trigger) == (0, False)


# ----------------------------------------------------------------- the story


def test_the_story_tells_what_the_bills_tell() -> None:
    """Turn by turn: its costs add up to the result's, its cuts are those that were explained."""
    told = run(long_session())
    story, mine = told.story, told.result.policies[DEFAULT]

    assert len(story.turns) == len(told.report.requests) == mine.requests
    assert sum(turn.cost.units for turn in story.turns) == pytest.approx(mine.costs.units)
    nothing = told.result.policies[DIRECT].costs
    assert sum(turn.cost_nothing.units for turn in story.turns) == pytest.approx(nothing.units)
    assert max(turn.sent_tokens for turn in story.turns) == mine.peak_tokens
    assert len(story.cuts) == mine.compactions > 0
    assert [f"request {cut.turn + 1}: {cut.before_tokens:,} to" for cut in story.cuts] == [
        line.partition(" to ")[0] + " to" for line in told.result.explained
    ]
    assert len(story.misses) == mine.misses
    assert [(one.model, one.prices, one.is_override) for one in story.priced] == [
        (MODEL, DOLLAR, True)
    ]
    assert all(turn.billed_tokens for turn in story.turns)


def test_without_the_policies_of_law_7_there_is_no_story() -> None:
    """Where only the cache is looked at."""
    assert bench(recording(agent(2)), SMALL, ()).story.turns == ()


def test_a_session_of_which_some_bills_are_known_is_checked_by_those() -> None:
    """What the others were billed is not guessed."""
    requests = long_session(12)
    requests[3] = replace(requests[3], usage=None)

    told = run(requests).result

    assert (told.billed_requests, told.is_billed_whole) == (12, False)
    assert told.recorded is not None
    assert told.modelled is not None
    assert told.modelled.units < told.policies[CLIENT].costs.units


@pytest.mark.parametrize("tokens", [199_999, 200_000, 200_001, 200_999])
def test_one_token_above_a_step_of_a_price_is_above_it(tokens: int) -> None:
    """Nothing is billed at the price of something smaller."""
    request = replace(agent(0)[0], usage=Usage(fresh=tokens))
    prices = prices_of(request.model, request.at, tokens)
    assert prices is not None

    told = bench(recording([request])).result

    assert told.recorded is not None
    assert told.recorded.bill.cost == priced(Split(fresh=tokens), 0, prices).cost
