"""Run a recorded session under several policies and add up what each would have cost.

::

    RecordedRequest ── read once ──> Whole ── history without the client's compactions
                                       │
                    each policy <──────┘   an engine of ours, or one on paper
                        │ what is sent: rows with the weights of the bill
                        │ what the provider's cache makes of it      economy.ProviderCache
                        │ what it costs                              economy.prices_of
                        └ what later answers miss                    regret.Watch

Every policy is priced by the same model of the cache, the recorded session
too, so that what the model gets wrong it gets wrong for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from statistics import median
from time import perf_counter

from trimtab.budget import Limits
from trimtab.economy import (
    LONG_LIFE_SECONDS,
    MOST_LOSS_SHARE,
    SHORT_LIFE_SECONDS,
    Block,
    Payback,
    Prices,
    Prompt,
    ProviderCache,
    Split,
    best_step_tokens,
    life_seconds,
    payback,
    priced,
    prices_of,
    rates_of,
    rules_of,
    spent_so_far,
    turns_to_come,
    weigh,
    window_of,
)
from trimtab.engine import Engine
from trimtab.errors import PolicyError, RequestError
from trimtab.events import ContextCompacted, HistoryRepaired
from trimtab.messages import Message
from trimtab.policy import Policy
from trimtab.position import is_of
from trimtab.replay.cuts import BillRates, Came, Made, Without, cut_of, made_words, unread_of
from trimtab.replay.driver import LeftOut, ReplayedRequest, SessionReport, breaks_no_rule, looked_at
from trimtab.replay.misfits import LARGE, cache_cause, size_cause
from trimtab.replay.paper import SUMMARY_TOKENS, Paper, SideCall
from trimtab.replay.policies import CLIENT, DEFAULT, DIRECT, Choice, chosen
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.replay.regret import Handles, Watch
from trimtab.replay.report.story import Cost, CutAccount, Story, cost_of
from trimtab.replay.report.teller import Asking, Teller
from trimtab.replay.results import Costs, PolicyResult, SessionResult
from trimtab.replay.views import Row, Views, blocks_of
from trimtab.replay.weights import Said, Weights
from trimtab.replay.whole import Joined, Whole
from trimtab.session import Rewrite, Session, Turn
from trimtab.tokens import CachedCounter, Measure, counter_for
from trimtab.usage import Usage
from trimtab.wire import Call

__all__ = ["Replayed", "bench"]

_PLACEHOLDER_TOKENS = 8
"""A log that says that an answer was no longer than this often holds a placeholder."""

_MARKER_KEY = b'"cache_control"'
_LONG_MARKER = _MARKER_KEY + b':{"type":"ephemeral","ttl":"1h"},'
"""A marker for the whole request, as Anthropic Messages has it."""

_TELLING_REQUESTS = 3
"""Requests with bills after which one that never reads a cache is taken to have none."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a session.

    Attributes:
        result: Under every policy, in money.
        report: Under the default policy, request by request.
        story: The same, as the bill sees it; empty where no policy of law 7 was replayed.
    """

    result: SessionResult
    report: SessionReport
    story: Story = field(default_factory=Story)


def bench(
    recording: Recording,
    policy: Policy | None = None,
    choices: Sequence[Choice] | None = None,
    *,
    file: str = "",
    overrides: Mapping[str, Prices] | None = None,
    tell: Callable[[int], None] | None = None,
) -> Replayed:
    """Run a session under several policies.

    Args:
        recording: The session. Nothing of it is written anywhere.
        policy: What the user set; None for the defaults.
        choices: The policies; None for those of law 7, none to look at the cache alone.
        file: Where it was, for the result.
        overrides: Prices that the user knows better, by model.
        tell: Is told after each request how many are done.

    Raises:
        TokenCountError: If a counter fails.
    """
    choices = chosen(()) if choices is None else choices
    run = _Bench(recording, policy or Policy(), choices, overrides or {})
    for done, recorded in enumerate(recording.requests, 1):
        run.next(recorded)
        if tell is not None:
            tell(done)
    return Replayed(run.result(file), run.report(), run.story())


@dataclass(slots=True)
class _Paid:
    """One request of one policy.

    Attributes:
        turn: Its place in the session.
        split: How its input is billed.
        tokens: What it weighs.
        is_compacted: Whether something was removed that was sent before.
        call: A call that the policy made besides.
    """

    turn: int
    split: Split
    tokens: int
    is_compacted: bool
    call: SideCall | None = None


@dataclass(slots=True)
class _Asked:
    """One request of the session, whatever is sent for it.

    Attributes:
        model: Who answers.
        at: When.
        output: Tokens of the answer.
        growth: What it weighs more than the one before, without any compaction.
        usage: What was billed for it as it was recorded; None where the log does not say.
    """

    model: str
    at: float | None
    output: int
    growth: int
    usage: Usage | None = None


@dataclass(slots=True)
class _Runner:
    """A policy on its way through a session."""

    choice: Choice
    cache: ProviderCache = field(default_factory=ProviderCache)
    paid: list[_Paid] = field(default_factory=list)
    engine: Engine | None = None
    paper: Paper | None = None
    views: Views | None = None
    watch: Watch | None = None
    names: list[bytes] = field(default_factory=list)
    breaks: int = 0
    over_limit: int = 0
    changed: int = 0
    made_invalid: int = 0
    repairs: int = 0
    rows: Sequence[Row] = ()
    made: list[Made] = field(default_factory=list)


class _Bench:
    """One session under all policies."""

    def __init__(
        self,
        recording: Recording,
        policy: Policy,
        choices: Sequence[Choice],
        overrides: Mapping[str, Prices],
    ) -> None:
        self._recording = recording
        self._policy = policy
        self._session = Session(policy)
        self._weights = Weights()
        self._whole = Whole()
        self._handles = Handles()
        self._counters: dict[str, CachedCounter] = {}
        self._measures: dict[str, Measure] = {}
        self._overrides = overrides
        self._runners = [_Runner(choice) for choice in choices]
        self._life = _life_seconds(recording)
        self._is_cached = _is_cached(recording)
        self._asked: list[_Asked] = []
        self._limits: dict[str, Limits | None] = {}
        self._unknown: dict[str, str] = {}
        self._is_billed = any(recorded.usage for recorded in recording.requests)
        self._left_out: list[LeftOut] = []
        self._requests: list[ReplayedRequest] = []
        self._teller = Teller()
        self._cache_errors: list[float] = []
        self._prediction_errors: list[float] = []
        self._cache_causes: Counter[str] = Counter()
        self._size_causes: Counter[str] = Counter()
        self._learned: list[str] = []  # models of bills that the engine learned from
        self._billed = 0  # for the request before
        self._compactions = 0
        self._largest = 0
        self._trigger = 0
        self._last: list[Said] = []
        self._turn: Turn | None = None  # the one before
        self._joined: Turn | None = None  # the one before, where a history was put together
        self._names: Sequence[bytes] = ()  # of the whole history, as it was last
        self._plain_cache = ProviderCache()  # of the session as it was recorded
        self._prices = lru_cache(maxsize=4096)(self._look_up)

    # ------------------------------------------------------------- requests

    def next(self, recorded: RecordedRequest) -> None:
        """Run a request under every policy; where that cannot be, say why."""
        body = recorded.build()
        if (
            self._life == LONG_LIFE_SECONDS
            and recorded.format == "anthropic"
            and _MARKER_KEY not in body
        ):
            body = _kept_long(body)
        call = Call(body, model=recorded.model, now=recorded.at or 0.0)
        try:
            turn = self._session.read(call, recorded.format or None, before=self._turn)
        except RequestError as error:
            self._left_out.append(LeftOut(str(error)))
            return
        self._turn = turn
        model = turn.request.model or call.model
        limits = self._limits_of(model)
        if limits is None:
            self._left_out.append(LeftOut(self._why_not(turn, model), is_limit_unknown=True))
            return
        self._trigger = max(self._trigger, limits.trigger_tokens)
        measure = self._measure(model)
        said = self._weights.weigh(turn, recorded, measure)
        head = Block(self._weights.surface(turn), self._weights.head_tokens(turn, measure))
        self._answered(said)
        joined = self._whole.join(turn, said)
        self._note(recorded, model, head, joined)
        self._check_cache(recorded, model, head, said)
        came = Came.of(self._names, joined.said)
        self._names = [each.name for each in joined.said]
        place = _Place(recorded, turn, said, joined, came, head, model, limits, measure)
        if joined.is_joined:
            name = turn.request.format.name
            self._joined = self._session.read(joined.call, name, before=self._joined)
            place = replace(place, turn=self._joined)
        for runner in self._runners:
            self._run(runner, place)

    def _why_not(self, turn: Turn, model: str) -> str:
        """What the engine says of a request whose limit nobody knows."""
        if model not in self._unknown:
            try:
                self._session.rewrite(turn)
            except PolicyError as error:
                _, _, self._unknown[model] = str(error).partition("; ")  # behind the setting
        return self._unknown[model]

    def _note(self, recorded: RecordedRequest, model: str, head: Block, joined: Joined) -> None:
        total = head.tokens + sum(each.tokens for each in joined.said)
        self._compactions += joined.compacted is not None
        growth = max(0, total - self._largest)
        self._largest = max(self._largest, total)
        output = recorded.usage.output if recorded.usage else 0
        self._asked.append(_Asked(model, recorded.at, output, growth, recorded.usage or None))

    def _answered(self, said: Sequence[Said]) -> None:
        """Tell the size of the last answer by its message, where the log has none or a placeholder."""
        before, self._last = self._last, list(said)
        if not self._asked or self._asked[-1].output > _PLACEHOLDER_TOKENS:
            return
        if [each.name for each in said[: len(before)]] == [each.name for each in before]:
            new = [each for each in said[len(before) :] if each.role == "assistant"]
            counted = round(sum(each.counted for each in new) * self._weights.rate)
            self._asked[-1].output = max(self._asked[-1].output, counted)

    def _check_cache(
        self, recorded: RecordedRequest, model: str, head: Block, said: Sequence[Said]
    ) -> None:
        """Hold the model of the cache against what was billed."""
        prompt = Prompt(model, blocks_of(head, said, self._life), recorded.at)
        split = self._plain_cache.serve(prompt)
        usage = recorded.usage
        if usage is None or not usage.total_input or not self._is_cached:
            return
        if len(self._asked) > 1:  # what a first one reads was written by another session
            error = abs(split.read - usage.cache_read) / usage.total_input
            self._cache_errors.append(error)
            if error > LARGE:
                excess = split.total - usage.total_input
                self._cache_causes[cache_cause(split.read, usage.cache_read, excess)] += 1

    def _run(self, runner: _Runner, place: _Place) -> None:
        if runner.choice.engine is not None:
            self._run_engine(runner, place)
        elif runner.choice.paper is not None:
            if runner.paper is None:
                runner.paper = runner.choice.paper(place.limits)
            sent = runner.paper.send(place.joined.said, place.head.tokens)
            self._pay(runner, place, sent.rows, sent.call, is_compacted=sent.is_compacted)
        else:
            self._run_client(runner, place)

    def _run_client(self, runner: _Runner, place: _Place) -> None:
        """The session as it was recorded; the call for a summary is not in the log, but was paid."""
        rows = [Row.of(each, at) for at, each in enumerate(place.said)]
        compacted = place.joined.compacted
        call = None
        if compacted is not None:
            read = place.head.tokens + compacted.before_tokens
            tokens = min(compacted.summary_tokens, 2 * SUMMARY_TOKENS)
            call = SideCall(Split(read=read), tokens)
        self._pay(runner, place, rows, call, is_compacted=compacted is not None)

    def _run_engine(self, runner: _Runner, place: _Place) -> None:
        if runner.engine is None:
            settings = runner.choice.engine
            assert settings is not None
            policy = settings(self._policy, place.limits)
            runner.engine = Engine(policy, counter=self._shared_counter())
            runner.views = Views(self._weights)
            runner.watch = Watch(self._handles)
        assert runner.views is not None
        assert runner.watch is not None
        started = perf_counter()
        rewrite = runner.engine.sync.rewrite(place.turn)
        seconds = perf_counter() - started
        view = runner.views.of(rewrite, place.joined.said, place.measure)
        compacted = any(isinstance(event, ContextCompacted) for event in rewrite.events)
        is_recorded = not rewrite.plan and not place.joined.is_joined
        usage = place.recorded.usage if is_recorded else None
        if usage is None and self._is_billed:
            usage = Usage(fresh=place.head.tokens + view.tokens)
        if runner.choice.name == DEFAULT:
            # A history that was put together is as long as all of the session: its rules are
            # looked at where something is decided, as the engine itself does.
            is_checked = compacted or not place.joined.is_joined
            self._look(runner, place, rewrite, seconds, is_checked=is_checked)
        elif compacted and rewrite.body != place.turn.call.body:
            runner.made_invalid += _is_made_invalid(place, rewrite)
        if usage is None:
            runner.engine.sync.forwarded(rewrite.ticket)
        else:
            runner.engine.sync.observed(rewrite.ticket, usage)
        runner.changed += rewrite.body != place.turn.call.body
        runner.repairs += any(isinstance(event, HistoryRepaired) for event in rewrite.events)
        self._pay(runner, place, view.rows, None, is_compacted=compacted)
        if runner.choice.name == DEFAULT:
            self._tell(place, rewrite, runner.made[-1] if compacted else None)
        runner.watch.saw(
            len(self._asked) - 1,
            place.joined.said,
            _loader(place.turn),
            view,
            is_compacted=compacted,
        )

    def _tell(self, place: _Place, rewrite: Rewrite, made: Made | None) -> None:
        """Keep what the story of the session tells of this request."""
        usage = place.recorded.usage
        self._teller.saw(
            rewrite,
            place.joined.said,
            place.measure,
            billed=usage if usage and usage.total_input else None,
            trigger_tokens=place.limits.trigger_tokens,
            made=made,
        )

    def _look(
        self,
        runner: _Runner,
        place: _Place,
        rewrite: Rewrite,
        seconds: float,
        *,
        is_checked: bool,
    ) -> None:
        """Keep what the reports of the default policy tell."""
        looked = looked_at(
            rewrite,
            place.recorded,
            seconds,
            has_begun=bool(self._requests),
            is_checked=is_checked,
        )
        self._requests.append(looked)
        runner.made_invalid += looked.is_made_invalid
        usage = place.recorded.usage
        if usage and usage.total_input and not rewrite.plan and not place.joined.is_joined:
            foretold = rewrite.outcome.tokens_after
            error = abs(foretold - usage.total_input) / usage.total_input
            if len(self._asked) > 1:
                self._prediction_errors.append(error)
            if len(self._asked) > 1 and error > LARGE:
                learned = sum(model == place.model for model in self._learned)
                cause = size_cause(learned, foretold, usage.total_input, self._billed)
                self._size_causes[cause] += 1
            if self._learned[-1:] != [place.model]:
                self._learned.clear()  # each model is learned anew
            if is_of(usage.total_input, foretold):
                self._learned.append(place.model)
        self._billed = usage.total_input if usage else 0

    def _pay(
        self,
        runner: _Runner,
        place: _Place,
        rows: Sequence[Row],
        call: SideCall | None,
        *,
        is_compacted: bool,
    ) -> None:
        without = runner.made[-1].without if runner.made else None
        if is_compacted:
            without = Without(runner.rows, runner.cache.copy())
        if without is not None:
            without.rows = place.came.after(without.rows)
            without.splits.append(self._serve(without.cache, place, without.rows))
        split = self._serve(runner.cache, place, rows)
        if is_compacted and without is not None:
            runner.made.append(self._made(place, rows, split, without))
        runner.rows = rows
        names = [row.name for row in rows]
        if runner.paid and names[: len(runner.names)] != runner.names:
            runner.breaks += 1
        runner.names = names
        window = window_of(place.model)
        runner.over_limit += window is not None and split.total > window.tokens
        runner.paid.append(_Paid(len(self._asked) - 1, split, split.total, is_compacted, call))

    def _serve(self, cache: ProviderCache, place: _Place, rows: Sequence[Row]) -> Split:
        """How a request is billed."""
        blocks = blocks_of(place.head, rows, self._life)
        if not self._is_cached:
            return Split(fresh=sum(block.tokens for block in blocks))
        return cache.serve(Prompt(place.model, blocks, place.recorded.at))

    def _made(self, place: _Place, rows: Sequence[Row], split: Split, without: Without) -> Made:
        """What a compaction changed, as its turn is billed, beside going on as before."""
        cut = cut_of(place.head, without.rows, rows, without.splits[0].read)
        asked = [(each.model, each.at) for each in self._asked[-2:]]
        life = life_seconds(place.model, has_long_marker=self._life == LONG_LIFE_SECONDS)
        unread = unread_of(cut.kept, split.read, asked, life, is_cached=self._is_cached)
        times = [at for _, at in asked if at is not None]
        idle = times[1] - times[0] if len(times) == 2 else None
        return Made(len(self._asked) - 1, cut, split, unread, idle, without)

    def _explained(self, runner: _Runner) -> Iterator[str]:
        """The arithmetic of each compaction, as it stood on its turn, and what came of it."""
        for made, account in zip(runner.made, self._paybacks(runner), strict=True):
            turn, cut = made.turn, made.cut
            asked = self._asked[turn]
            prices = self._prices_for(asked, made.split)
            rates = rates_of(asked.model, prices, is_long=self._life == LONG_LIFE_SECONDS)
            output = sum(each.output for each in self._asked[:turn])
            spent = spent_so_far(turn, cut.before, output, rates)
            saved = (cut.before - cut.after) * (rates.read if self._is_cached else 1.0)
            expected = turns_to_come(turn)
            verdict = weigh(account.spent, saved, expected, MOST_LOSS_SHARE * spent)
            came = len(self._asked) - turn - 1
            growth = _median([each.growth for each in self._asked[:turn]])
            step = best_step_tokens(growth, verdict.cost_now, rates)
            told = f"request {turn + 1}: {made_words(made, self._rates(asked, made.split))}; "
            told += f"it {verdict.line}, {came:,} came"
            if step:
                told += f"; by price alone, the next cut would pay best {step:,} tokens later"
            yield told

    def _paybacks(self, runner: _Runner) -> Iterator[Payback]:
        """The realised account of each compaction, beside going on without it."""
        for made in runner.made:
            saved = [each.units for each in self._saved(runner, made)]
            yield payback(-saved[0], saved[1:])

    def _saved(self, runner: _Runner, made: Made) -> list[Cost]:
        """What each turn from a compaction to the next saves, its own turn first."""
        splits = made.without.splits
        paid = runner.paid[made.turn : made.turn + len(splits)]
        return [
            cost_of(self._cost(self._asked[each.turn], split, self._asked[each.turn].output))
            - cost_of(self._paid_for(each))
            for each, split in zip(paid, splits, strict=True)
        ]

    def _accounts(self, runner: _Runner) -> Iterator[CutAccount]:
        """What came of each compaction, with what was missed behind it."""
        stops = _stops(runner.paid)
        missed = [] if runner.watch is None else runner.watch.missed
        charges = [
            (
                miss.turn,
                cost_of(self._exchange(runner.paid[miss.turn], miss.tokens, stops[miss.turn])),
            )
            for miss in missed
        ]
        for made in runner.made:
            saved = self._saved(runner, made)
            turns = range(made.turn, made.turn + len(saved))
            mine = [(turn, charge) for turn, charge in charges if turn in turns]
            net = [each.units for each in saved]
            for turn, charge in mine:
                net[turn - made.turn] -= charge.units
            none = Cost(0.0, 0.0)
            yield CutAccount(
                -saved[0],
                sum(saved[1:], none),
                len(saved) - 1,
                len(mine),
                sum((charge for _, charge in mine), none),
                _even_from(net),
            )

    # -------------------------------------------------------------- counting

    def _measure(self, model: str) -> Measure:
        if model not in self._measures:
            counter = self._counters.setdefault(model, CachedCounter(counter_for(model)))
            self._measures[model] = Measure(counter, model)
        return self._measures[model]

    def _shared_counter(self) -> CachedCounter | None:
        """One counter for all engines, so that a text is counted once; None for several kinds."""
        models = {recorded.model for recorded in self._recording.requests}
        counters = {model: counter_for(model) for model in models}
        if len({getattr(counter, "name", "") for counter in counters.values()}) > 1:
            return None
        (model, *_) = models
        return self._counters.setdefault(model, CachedCounter(counters[model]))

    def _limits_of(self, model: str) -> Limits | None:
        if model not in self._limits:
            window = window_of(model) if model else None
            room = None if window is None else window.limit_tokens(None)
            try:
                self._limits[model] = self._policy.limits(room)
            except PolicyError:
                self._limits[model] = None
        return self._limits[model]

    # --------------------------------------------------------------- results

    def _look_up(self, model: str, day: float | None, tokens: int) -> Prices | None:
        return prices_of(model, day, tokens, self._overrides)

    def _prices_for(self, asked: _Asked, split: Split) -> Prices | None:
        # Prices change by the day, and with sizes in steps of whole thousands, above which they are
        # others: what is one token above a step is above it.
        day = None if asked.at is None else asked.at // 86_400 * 86_400
        return self._prices(asked.model, day, -(-split.total // 1_000) * 1_000)

    def _cost(self, asked: _Asked, split: Split, output: int) -> Costs:
        """What one request costs."""
        prices = self._prices_for(asked, split)
        rates = rates_of(asked.model, prices)
        long = rates_of(asked.model, prices, is_long=True)
        units = split.fresh + split.read * rates.read + split.written * rates.write
        units += split.written_long * long.write + output * rates.output
        return Costs(priced(split, output, prices), units)

    def _rates(self, asked: _Asked, split: Split) -> BillRates:
        """What a token costs beside a fresh one, as the bill of a request has it."""
        prices = self._prices_for(asked, split)
        rates = rates_of(asked.model, prices)
        return BillRates(rates.read, rates.write, rates_of(asked.model, prices, is_long=True).write)

    def _paid_for(self, paid: _Paid) -> Costs:
        asked = self._asked[paid.turn]
        costs = self._cost(asked, paid.split, asked.output)
        if paid.call is not None:
            costs += self._cost(asked, paid.call.split, paid.call.output)
        return costs

    def report(self) -> SessionReport:
        """What came of it under the default policy."""
        return SessionReport.of(self._recording, [*self._requests, *self._left_out])

    def story(self) -> Story:
        """What the default policy did turn by turn, beside doing nothing and the client."""
        runners = {runner.choice.name: runner for runner in self._runners}
        if not {DEFAULT, DIRECT, CLIENT} <= runners.keys():
            return Story()
        mine, nothing, client = runners[DEFAULT], runners[DIRECT], runners[CLIENT]
        asked = [
            Asking(
                one.model,
                one.at,
                one.output,
                self._prices_for(one, ours.split),
                ours.split,
                whole.tokens,
                (self._paid_for(ours), self._paid_for(whole), self._paid_for(was)),
            )
            for one, ours, whole, was in zip(
                self._asked, mine.paid, nothing.paid, client.paid, strict=True
            )
        ]
        return self._teller.story(
            asked,
            [] if mine.watch is None else mine.watch.missed,
            list(self._accounts(mine)),
            self._overrides,
            is_cached=self._is_cached,
            life_seconds=self._life,
        )

    def result(self, file: str) -> SessionResult:
        """What came of it under every policy."""
        each = {
            runner.choice.name: [self._paid_for(paid) for paid in runner.paid]
            for runner in self._runners
        }
        results = {
            runner.choice.name: self._result(runner, each[runner.choice.name])
            for runner in self._runners
        }
        models = {asked.model for asked in self._asked}
        return SessionResult(
            file,
            self._recording.kind,
            self._recording.name,
            results,
            self._trigger,
            self._largest,
            self._compactions,
            *self._recorded(),
            tuple(self._cache_errors),
            tuple(self._prediction_errors),
            all(rules_of(model).is_explicit for model in models),
            len(self._left_out),
            tuple(
                line
                for runner in self._runners
                if runner.choice.name == DEFAULT
                for line in self._explained(runner)
            ),
            dict(self._cache_causes),
            dict(self._size_causes),
        )

    def _recorded(self) -> tuple[Costs | None, Costs | None, int]:
        """What was billed, what the client's same requests come to by the model, and how many."""
        is_long = self._life == LONG_LIFE_SECONDS
        billed = {turn: asked for turn, asked in enumerate(self._asked) if _has_bill(asked)}
        if not billed:
            return None, None, 0
        was = Costs.sum(
            self._cost(asked, Split.of(asked.usage, is_long=is_long), asked.output)
            for asked in billed.values()
            if asked.usage is not None
        )
        client = next((each for each in self._runners if each.choice.name == CLIENT), None)
        if client is None:
            return was, None, len(billed)
        modelled = Costs.sum(self._paid_for(client.paid[turn]) for turn in billed)
        return was, modelled, len(billed)

    def _result(self, runner: _Runner, costs: Sequence[Costs]) -> PolicyResult:
        watch, stops = runner.watch, _stops(runner.paid)
        missed = [] if watch is None else watch.missed
        regret = Costs.sum(
            self._exchange(runner.paid[miss.turn], miss.tokens, stops[miss.turn]) for miss in missed
        )
        usual = _median([asked.growth for asked in self._asked])
        compacted = [place for place, paid in enumerate(runner.paid) if paid.is_compacted]
        exchange = Costs.sum(
            self._exchange(runner.paid[place], usual, stops[place]) for place in compacted
        )
        return PolicyResult(
            runner.choice.name,
            len(costs),
            Costs.sum(costs),
            regret,
            len(missed),
            0 if watch is None else watch.survived,
            exchange,
            len(compacted),
            runner.breaks,
            runner.over_limit,
            max((paid.tokens for paid in runner.paid), default=0),
            runner.changed,
            runner.made_invalid,
            runner.repairs,
            tuple(account.paid_after for account in self._paybacks(runner)),
        )

    def _exchange(self, paid: _Paid, tokens: int, stop: int) -> Costs:
        """What one exchange more costs: one request, its answer, and a result that stays.

        Args:
            paid: The request after which it happens.
            tokens: What the result weighs.
            stop: The turn from which on the result is gone again.
        """
        asked = self._asked[paid.turn]
        output = _median([each.output for each in self._asked])
        new = tokens + output
        written = Split(read=paid.tokens, written=new)
        if self._life == LONG_LIFE_SECONDS:
            written = Split(read=paid.tokens, written_long=new)
        if not rules_of(asked.model).is_explicit or not self._is_cached:
            written = Split(read=paid.tokens, fresh=new)
        if not self._is_cached:
            written = Split(fresh=paid.tokens + new)
        once = self._cost(asked, written, output)
        kept = Split(read=new) if self._is_cached else Split(fresh=new)
        turns = max(0, stop - paid.turn - 1)
        return once + self._cost(asked, kept, 0).times(turns)


def _has_bill(asked: _Asked) -> bool:
    """Whether the log says what a request's input was billed; an empty bill says nothing."""
    return asked.usage is not None and asked.usage.total_input > 0


@dataclass(frozen=True, slots=True)
class _Place:
    """A request, ready for every policy."""

    recorded: RecordedRequest
    turn: Turn
    said: Sequence[Said]
    joined: Joined
    came: Came
    head: Block
    model: str
    limits: Limits
    measure: Measure


def _even_from(saved: Sequence[float]) -> int | None:
    """The turn from which on the sum of what each saved is never below 0 again; None for no turn."""
    sums = list(accumulate(saved))
    short = [turn for turn, total in enumerate(sums) if total < 0]
    since = short[-1] + 1 if short else 0
    return since if since < len(sums) else None


def _loader(turn: Turn) -> Callable[[int], Message]:
    return lambda place: turn.request.message(place).decoded()


def _is_made_invalid(place: _Place, rewrite: Rewrite) -> bool:
    wire_format = place.turn.request.format.name
    return breaks_no_rule(place.turn.call.body, wire_format, place.recorded) and not breaks_no_rule(
        rewrite.body, wire_format, place.recorded
    )


def _kept_long(body: bytes) -> bytes:
    """A body that says what its bill says: that it is kept in the cache for an hour.

    Logs do not hold markers. Without one, the engine would take the cache for lost after minutes.
    """
    start = body.index(b"{") + 1
    return body[:start] + _LONG_MARKER + body[start:]


def _life_seconds(recording: Recording) -> float:
    is_long = any(recorded.is_kept_long for recorded in recording.requests)
    return LONG_LIFE_SECONDS if is_long else SHORT_LIFE_SECONDS


def _is_cached(recording: Recording) -> bool:
    """Whether the client and its provider cache at all, as far as the bills tell."""
    bills = [each.usage for each in recording.requests if each.usage and each.usage.total_input]
    if len(bills) < _TELLING_REQUESTS:
        return True
    return any(usage.cache_read or usage.cache_write for usage in bills)


def _stops(paid: Sequence[_Paid]) -> list[int]:
    """For each request, the turn of the next compaction, or the end."""
    stops: list[int] = []
    stop = paid[-1].turn + 1 if paid else 0
    for each in reversed(paid):
        stops.append(stop)
        if each.is_compacted:
            stop = each.turn
    return stops[::-1]


def _median(values: Sequence[int]) -> int:
    return int(median(values)) if values else 0
