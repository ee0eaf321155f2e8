"""A window memory gives back what fits, keeps the rest, and says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from tests.window.conversations import (
    AwaitedCounter,
    Counting,
    Failing,
    LastRound,
    PriorSummary,
    calling,
    numbered,
    record_all,
    rounds,
    texts,
)
from trimtab import (
    Budget,
    CharTokenCounter,
    InMemoryMemory,
    Media,
    Memory,
    Message,
    Opaque,
    Outcome,
    PolicyError,
    RequestError,
    Text,
    Thinking,
    TokenCountError,
    ToolCall,
    ToolResult,
    TrimResult,
    WindowDrop,
    WindowMemory,
)

Low = float
LOW_WATERS = pytest.mark.parametrize("low_water", [0.7, 1.0])


async def shown(memory: Memory) -> str:
    """The words of a memory's context."""
    return texts(await memory.context())


def sliding(max_tokens: int | Budget, low_water: float, **settings: Any) -> WindowMemory:
    """A memory that drops rounds."""
    return WindowMemory(max_tokens, strategy=WindowDrop(low_water), **settings)


def window(
    messages: Sequence[Message], max_tokens: int | Budget, low_water: float, **settings: Any
) -> str:
    """What is shown of some messages."""

    async def run() -> str:
        memory = sliding(max_tokens, low_water, **settings)
        await record_all(memory, messages)
        return await shown(memory)

    return asyncio.run(run())


# ------------------------------------------------------------- budget and counting


def test_a_budget_bounds_tokens_rounds_or_both() -> None:
    """What is not named is no bound."""
    assert (Budget.tokens(4096), Budget.rounds(8)) == (Budget(4096, None), Budget(None, 8))
    assert (Budget.both(4096, 8), Budget()) == (Budget(4096, 8), Budget(None, None))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hello", 2),
        ("abcd", 1),
        ("morning", 2),
        ("", 0),
        ("你好世界", 4),
        ("こんにちは", 5),
        ("안녕하세요", 5),
        ("ab你", 2),
        ("🙂", 2),
    ],
)
def test_characters_are_counted_by_their_script(text: str, tokens: int) -> None:
    """Four Latin letters are one token, an ideograph, kana or hangul syllable too, an emoji two."""
    assert CharTokenCounter().count(text) == tokens


# -------------------------------------------------------------------------- window


@LOW_WATERS
@pytest.mark.parametrize("messages", [[Message.user("hello"), Message.assistant("hello!")]])
def test_what_fits_comes_back_as_it_was_recorded(low_water: Low, messages: list[Message]) -> None:
    """The very same messages, however few."""

    async def run(budget: int, count: int) -> tuple[list[Message], Outcome]:
        memory = sliding(budget, low_water)
        await record_all(memory, messages[:count])
        return await memory.context(), memory.outcome

    whole, outcome = asyncio.run(run(1000, 2))
    assert all(given is came for given, came in zip(whole, messages, strict=True))
    assert outcome == Outcome("untouched", 1000, 4, 4)
    assert asyncio.run(run(100, 1))[0] == messages[:1]


@LOW_WATERS
@pytest.mark.parametrize("last", [2, 3])
def test_the_oldest_rounds_go(low_water: Low, last: int) -> None:
    """Of two and of three rounds, the newest is what fits."""
    assert window(rounds(1, last), 3, low_water) == f"u{last} a{last}"


@LOW_WATERS
def test_a_round_goes_with_its_calls_and_results(low_water: Low) -> None:
    """No call is left without its result, and no result without its call."""
    messages = [
        Message.user("calculate"),
        calling("", ("t1", "calc", "1+1"), ("t2", "calc", "2+2")),
        Message.tool("t1", "2"),
        Message.tool("t2", "4"),
        Message.user("continue"),
        Message.assistant("okay"),
    ]

    assert window(messages, 8, low_water) == "continue okay"


@LOW_WATERS
def test_a_system_message_is_an_ordinary_message(low_water: Low) -> None:
    """It goes with the first round, and so does the first user message."""
    assert window([Message.system("setup"), *rounds(1, 2)], 3, low_water) == "u2 a2"


@LOW_WATERS
def test_the_newest_round_stays_however_long_it_is(low_water: Low) -> None:
    """A long round goes when it is old; alone it stays whole, and is told as over."""
    long = [Message.user("a" * 61), Message.assistant("Reply")]
    assert window([*long, *numbered(2)], 3, low_water) == "u2 a2"

    async def run() -> tuple[list[Message], Outcome]:
        memory = sliding(3, low_water)
        await record_all(memory, long)
        return await memory.context(), memory.outcome

    alone, outcome = asyncio.run(run())
    assert alone == long
    assert (outcome.status, outcome.fits) == ("unmet", False)
    assert (outcome.needed_tokens, outcome.available_tokens) == (18, 3)
    assert outcome.reason == "protected rounds weigh 0 tokens, the newest round 18"


@LOW_WATERS
def test_rounds_are_bounded_by_their_number(low_water: Low) -> None:
    """The low mark is for tokens alone; 0 rounds mean 1."""
    assert window(rounds(1, 4), 1000, low_water, max_rounds=2) == "u3 a3 u4 a4"
    assert window(rounds(1, 4), 1000, low_water, max_rounds=0) == "u4 a4"
    assert window(rounds(1, 4), Budget.rounds(3), low_water) == "u2 a2 u3 a3 u4 a4"


@LOW_WATERS
def test_of_two_bounds_the_smaller_window_holds(low_water: Low) -> None:
    """Three rounds may stay, and one fits."""
    assert window(rounds(1, 4), 3, low_water, max_rounds=3) == "u4 a4"


@pytest.mark.parametrize(("low_water", "kept"), [(1.0, [3, 6, 10]), (0.7, [2, 4, 10])])
def test_a_larger_budget_brings_everything_back(low_water: Low, kept: list[int]) -> None:
    """A projection loses nothing."""

    async def run() -> list[int]:
        memory = sliding(6, low_water)
        await record_all(memory, rounds(1, 2))
        memory.set_max_tokens(3)
        assert len(await memory.context()) == 2
        memory.set_max_tokens(1000)
        assert len(await memory.context()) == 4
        await record_all(memory, rounds(3, 10))
        found = []
        for budget in (6, 12, 1000):
            memory.set_max_tokens(budget)
            found.append(len(await memory.context()) // 2)
        return found

    assert asyncio.run(run()) == kept


@LOW_WATERS
def test_reasoning_counts(low_water: Low) -> None:
    """And a message has no weight beside its words."""
    thought = Message.assistant("hi", Thinking("a" * 40))
    plain = Message.assistant("hi")
    u1, u2 = Message.user("u1"), Message.user("u2")

    assert window([u1, thought, u2, plain], 11, low_water) == "u2 hi"
    assert window([u1, plain, u2, plain], 11, low_water) == "u1 hi u2 hi"


@LOW_WATERS
def test_any_counter_will_do(low_water: Low) -> None:
    """One that says 1 of each text bounds the number of messages; it may have to be awaited."""
    for counter in (Counting(), AwaitedCounter()):
        assert window(rounds(1, 2), 2, low_water, counter=counter) == "u2 a2"
        five = [*rounds(1, 2), Message.user("u3")]
        assert window(five, 2, low_water, counter=counter) == "u3"


def test_a_materialising_strategy_is_asked_once_until_the_next_breach() -> None:
    """What it made is what it gets the next time, with what came since."""

    async def run() -> None:
        strategy = PriorSummary()
        memory = WindowMemory(7, strategy=strategy)
        await record_all(memory, rounds(1, 4))
        first = await memory.context()
        assert texts(first) == "prior summary u4 a4"
        assert memory.outcome == Outcome("untouched", 7, 6, 6)
        assert (await memory.context(), len(strategy.inputs)) == (first, 1)

        await record_all(memory, rounds(5, 6))
        assert await shown(memory) == "prior summary u6 a6"
        assert [texts(asked) for asked in strategy.inputs] == [
            "u1 a1 u2 a2 u3 a3 u4 a4",
            "prior summary u4 a4 u5 a5 u6 a6",
        ]

    asyncio.run(run())


def test_a_projecting_strategy_changes_nothing_stored() -> None:
    """A larger budget brings all of it back; it is told what the messages weigh."""

    async def run() -> None:
        strategy = LastRound()
        memory = WindowMemory(1, strategy=strategy)
        await record_all(memory, rounds(1, 2))
        assert await shown(memory) == "u2 a2"
        assert memory.outcome.status == "unmet"
        assert (strategy.budgets, strategy.counts) == ([Budget(1)], [[1, 1, 1, 1]])
        memory.set_max_tokens(1000)
        assert len(await memory.context()) == 4
        assert memory.outcome == Outcome("untouched", 1000, 4, 4)

    asyncio.run(run())


@LOW_WATERS
def test_changing_what_was_given_back_changes_nothing_inside(low_water: Low) -> None:
    """Within the budget and over it, the list is the caller's own."""

    async def run() -> None:
        for budget, expected in ((1000, "u1 a1 u2 a2"), (3, "u2 a2")):
            memory = sliding(budget, low_water)
            await record_all(memory, rounds(1, 2))
            (await memory.context()).clear()
            assert await shown(memory) == expected

    asyncio.run(run())


@LOW_WATERS
def test_messages_before_the_first_user_message_are_a_round(low_water: Low) -> None:
    """An answer alone is given back, whatever it weighs."""
    words = "an answer that nobody asked for"
    assert window([Message.assistant(words)], 1, low_water) == words


@LOW_WATERS
def test_each_text_of_a_message_counts(low_water: Low) -> None:
    """1 + 1 + 1 is more than 2, and the newest round stays."""

    async def run() -> Outcome:
        memory = sliding(2, low_water)
        await record_all(memory, [Message.user("aaaa", "bbbb"), Message.assistant("hi")])
        assert len(await memory.context()) == 2
        return memory.outcome

    assert asyncio.run(run()).tokens_after == 3


def test_nothing_is_counted_twice() -> None:
    """Another counter counts everything once, and only when it is needed."""

    async def run() -> None:
        first, second = Counting(), Counting()
        memory = WindowMemory(100, counter=first)
        await record_all(memory, rounds(1, 1))
        await memory.context()
        assert first.calls == 2
        memory.set_counter(second)
        assert second.calls == 0
        await memory.record(Message.user("u2"))
        assert second.calls == 3
        await memory.context()
        await memory.context()
        assert (first.calls, second.calls) == (2, 3)

    asyncio.run(run())


@LOW_WATERS
def test_media_and_what_is_not_understood_weigh_nothing(low_water: Low) -> None:
    """What they cost depends on the model; words of a result beside them count."""
    picture = Media("image", "image/png", data="x" * 1000)
    messages = [
        Message.user("abcd", picture, Opaque("widget", "{}")),
        Message("user", [ToolResult("c", (picture, Text("ab")))]),
    ]

    async def run() -> Outcome:
        memory = sliding(10, low_water)
        await record_all(memory, messages)
        assert await memory.context() == messages
        return memory.outcome

    assert asyncio.run(run()) == Outcome("untouched", 10, 2, 2)


def test_a_long_history_costs_one_count_a_message() -> None:
    """Also where the window is small, moves, and is asked for after each message."""

    async def run() -> None:
        counter = Counting()
        memory = WindowMemory(100, counter=counter)
        for number in range(1, 2_001):
            for message in (
                Message.user("question"),
                Message.assistant("look", ToolCall(f"q{number}", "look", "{}")),
                Message.tool(f"q{number}", "result"),
                Message.assistant("answer"),
            ):
                await memory.record(message)
                await memory.context()
                assert memory.outcome.fits
        assert counter.calls == 2_000 * 6

    asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [ValueError("no"), TokenCountError("no"), -1, True, 1.0, float("nan"), "1", None],
    ids=repr,
)
def test_a_counter_that_fails_records_nothing(answer: object) -> None:
    """It raises or answers nonsense: a TokenCountError, and an empty memory that still works."""

    async def run() -> None:
        memory = WindowMemory(100, counter=Failing(answer))
        with pytest.raises(TokenCountError) as told:
            await memory.record(Message.user("secret"))
        assert "secret" not in str(told.value)
        assert await memory.context() == []
        memory.set_counter(CharTokenCounter())
        await memory.record(Message.user("hi"))
        assert await shown(memory) == "hi"

    asyncio.run(run())


def test_a_counter_that_fails_later_loses_nothing() -> None:
    """Neither record nor context work until it is replaced; then all that was recorded is there."""

    async def run() -> None:
        memory = WindowMemory(100)
        await record_all(memory, rounds(1, 1))
        memory.set_counter(Failing(ValueError("no")))
        with pytest.raises(TokenCountError):
            await memory.record(Message.user("u2"))
        with pytest.raises(TokenCountError):
            await memory.context()
        memory.set_counter(Counting())
        assert await shown(memory) == "u1 a1"

    asyncio.run(run())


# ----------------------------------------------------------------------- protected


@LOW_WATERS
def test_a_protected_message_keeps_its_round(low_water: Low) -> None:
    """The call with its result, and the user's words; what it weighs is told, and nothing raised."""
    skill = Message.tool("c1", "<skill_content>body</skill_content>")
    u2, a2 = Message.user("u2"), calling("a2", ("c1", "load_skill", '{"name":"x"}'))

    async def run() -> None:
        memory = sliding(3, low_water)
        await record_all(memory, [*numbered(1), u2, a2])
        await memory.record_protected(skill)
        await record_all(memory, numbered(3))
        assert await memory.context() == [u2, a2, skill, *numbered(3)]
        # Their own: 1 + 1 + 3 + 4 + 9 = 18 tokens; the ones of the newest round: 2.
        protected = sum(map(CharTokenCounter().count, ("u2", "a2", "load_skill", '{"name":"x"}')))
        protected += CharTokenCounter().count("<skill_content>body</skill_content>")
        assert memory.outcome == Outcome(
            "unmet",
            3,
            protected + 4,
            protected + 2,
            protected + 2,
            f"protected rounds weigh {protected} tokens, the newest round 2",
        )

    asyncio.run(run())


@LOW_WATERS
def test_a_protected_result_without_a_call_stays(low_water: Low) -> None:
    """An orphan that came in is not mended; beside a protected newest round no other need stay."""
    skill = Message.tool("c1", "skill body")

    async def run() -> None:
        memory = sliding(3, low_water)
        await record_all(memory, rounds(1, 2))
        await memory.record_protected(skill)
        for _ in range(5):
            assert await memory.context() == [*numbered(2), skill]

    asyncio.run(run())


@pytest.mark.parametrize(("low_water", "last"), [(1.0, [4, 5]), (0.7, [4, 5])])
def test_protected_rounds_are_charged(low_water: Low, last: list[int]) -> None:
    """Never over the budget, which all five rounds would be, and in the order in which they came."""
    first = [Message.user("x" * 20), Message.assistant("y" * 4)]

    async def run() -> str:
        memory = sliding(10, low_water)
        await memory.record_protected(first[0])
        await memory.record(first[1])
        for number in range(2, 6):
            await record_all(memory, numbered(number))
            await memory.context()
            assert memory.outcome.fits
        return await shown(memory)

    expected = " ".join(f"u{number} a{number}" for number in last)
    assert asyncio.run(run()) == f"{texts(first)} {expected}"


@pytest.mark.parametrize(
    ("low_water", "protected", "kept"),
    [(1.0, 2, [2, 3, 4]), (1.0, 1, [1, 3, 4]), (0.7, 2, [2, 4]), (0.7, 1, [1, 4])],
)
@pytest.mark.parametrize("which", [0, 1])
def test_protected_rounds_stay_in_their_place(
    low_water: Low, protected: int, kept: list[int], which: int
) -> None:
    """Whichever of its messages is the protected one."""

    async def run() -> str:
        memory = sliding(6, low_water)
        for number in range(1, 5):
            for place, message in enumerate(numbered(number)):
                if (number, place) == (protected, which):
                    await memory.record_protected(message)
                else:
                    await memory.record(message)
        return await shown(memory)

    assert asyncio.run(run()) == " ".join(f"u{number} a{number}" for number in kept)


def test_a_strategy_is_not_asked_where_everything_is_protected() -> None:
    """There is nothing that it could do."""

    async def run() -> None:
        strategy = PriorSummary()
        memory = WindowMemory(1, strategy=strategy)
        for message in rounds(1, 2):
            await memory.record_protected(message)
        assert await shown(memory) == "u1 a1 u2 a2"
        assert memory.outcome.status == "unmet"
        assert strategy.inputs == []

    asyncio.run(run())


def test_a_strategy_sees_no_protected_round_and_gets_what_is_left() -> None:
    """What it makes stands where the first message stood that it replaced."""

    async def run() -> None:
        strategy = PriorSummary()
        memory = WindowMemory(Budget.both(12, 5), strategy=strategy)
        await record_all(memory, numbered(1))
        await memory.record_protected(Message.user("u2"))
        await record_all(memory, [numbered(2)[1], *rounds(3, 6)])
        assert await shown(memory) == "prior summary u2 a2 u6 a6"
        assert [texts(asked) for asked in strategy.inputs] == ["u1 a1 u3 a3 u4 a4 u5 a5 u6 a6"]

        await record_all(memory, rounds(7, 9))  # and the flag has stayed where it was
        assert await shown(memory) == "prior summary u2 a2 u9 a9"

        left = LastRound()
        memory.set_strategy(left)
        await record_all(memory, rounds(10, 13))
        assert await shown(memory) == "u2 a2 u13 a13"
        assert left.budgets == [Budget(10, 4)]

    asyncio.run(run())


# --------------------------------------------------------------------- concurrency


def test_what_is_recorded_while_a_strategy_is_awaited_survives() -> None:
    """Behind the summary, in order, and nobody waits for it."""

    async def run() -> None:
        release = asyncio.Event()
        memory = WindowMemory(7, strategy=PriorSummary(wait=release.wait))
        await record_all(memory, rounds(1, 4))
        asked = asyncio.create_task(memory.context())
        await asyncio.sleep(0)
        await asyncio.gather(*(memory.record(Message.user(f"n{n}")) for n in range(50)))
        assert not asked.done()
        release.set()
        await asked
        memory.set_max_tokens(1000)
        new = " ".join(f"n{number}" for number in range(50))
        assert await shown(memory) == f"prior summary u4 a4 {new}"

    asyncio.run(run())


def test_two_results_do_not_both_land() -> None:
    """The second strategy call to come back finds that the first has won, and what it left."""

    async def run() -> None:
        release = asyncio.Event()
        strategy = PriorSummary(wait=release.wait)
        memory = WindowMemory(7, strategy=strategy)
        await record_all(memory, rounds(1, 4))
        asked = [asyncio.create_task(memory.context()) for _ in range(3)]
        await asyncio.sleep(0)
        release.set()
        assert {texts(found) for found in await asyncio.gather(*asked)} == {"prior summary u4 a4"}
        assert len(strategy.inputs) == 3
        assert await shown(memory) == "prior summary u4 a4"

    asyncio.run(run())


def test_a_result_is_not_put_in_place_where_the_budget_was_raised_meanwhile() -> None:
    """What fits now is kept as it was."""

    async def run() -> None:
        release = asyncio.Event()
        memory = WindowMemory(7, strategy=PriorSummary(wait=release.wait))
        await record_all(memory, rounds(1, 4))
        asked = asyncio.create_task(memory.context())
        await asyncio.sleep(0)
        memory.set_max_tokens(8)
        release.set()
        assert texts(await asked) == texts(rounds(1, 4))

    asyncio.run(run())


def test_a_counter_that_is_replaced_while_it_is_awaited_counts_for_nothing() -> None:
    """All messages are counted by the new one."""

    @dataclass
    class Slow:
        release: asyncio.Event

        async def count(self, text: str) -> int:
            del text
            await self.release.wait()
            return 1000

    async def run() -> None:
        slow = Slow(asyncio.Event())
        memory = WindowMemory(10)
        await record_all(memory, rounds(1, 1))
        memory.set_counter(slow)
        asked = asyncio.create_task(memory.context())
        recorded = asyncio.create_task(memory.record(Message.user("u2")))
        await asyncio.sleep(0)
        memory.set_counter(Counting())
        slow.release.set()
        await asyncio.gather(asked, recorded)
        assert await shown(memory) == "u1 a1 u2"
        assert memory.outcome == Outcome("untouched", 10, 3, 3)

    asyncio.run(run())


def test_a_counter_that_is_replaced_while_a_message_is_counted_does_not_count_it() -> None:
    """The message is counted by the new one, and recorded once."""

    @dataclass
    class Slow:
        release: asyncio.Event

        async def count(self, text: str) -> int:
            del text
            await self.release.wait()
            return 1000

    async def run() -> None:
        slow = Slow(asyncio.Event())
        memory = WindowMemory(10, counter=slow)
        recorded = asyncio.create_task(memory.record(Message.user("u1")))
        await asyncio.sleep(0)
        memory.set_counter(Counting())
        slow.release.set()
        await recorded
        assert await shown(memory) == "u1"
        assert memory.outcome == Outcome("untouched", 10, 1, 1)

    asyncio.run(run())


@pytest.mark.parametrize("is_fallback", [False, True])
def test_a_counter_may_be_replaced_while_a_strategy_is_awaited(*, is_fallback: bool) -> None:
    """What is shown is what was asked for, and the next look is by the new counts."""

    @dataclass
    class Slow:
        release: asyncio.Event

        async def trim(
            self, messages: Sequence[Message], budget: Budget, counter: object
        ) -> TrimResult:
            del budget, counter
            await self.release.wait()
            return TrimResult(list(messages[-2:]), replace=False, is_fallback=is_fallback)

    async def run() -> None:
        slow = Slow(asyncio.Event())
        memory = WindowMemory(4, strategy=slow)
        await record_all(memory, rounds(1, 3))
        asked = asyncio.create_task(memory.context())
        await asyncio.sleep(0)
        memory.set_counter(Counting(2))
        slow.release.set()
        assert texts(await asked) == "u3 a3"
        assert await shown(memory) == "u3 a3"
        assert memory.outcome == Outcome("fits", 4, 12, 4)

    asyncio.run(run())


def test_several_threads_with_loops_of_their_own_share_a_memory() -> None:
    """Nothing is lost, each thread's messages stay in order, and no view is over the budget."""
    memory = WindowMemory(40)
    faults: list[str] = []

    async def work(name: str) -> None:
        for number in range(100):
            await memory.record(Message.user(f"{name}{number:02}"))
            await memory.context()
            if not memory.outcome.fits:
                faults.append(f"{name}{number}: {memory.outcome}")

    threads = [threading.Thread(target=lambda n=n: asyncio.run(work(n))) for n in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    memory.set_max_tokens(1_000_000)
    kept = asyncio.run(memory.context())
    assert faults == []
    for name in "abcd":
        own = [message.text for message in kept if message.text.startswith(name)]
        assert own == [f"{name}{number:02}" for number in range(100)]
    assert len(kept) == 400


# --------------------------------------------------------------------------- start


@pytest.mark.parametrize(("low_water", "breaks"), [(1.0, 50), (0.7, 13), (0.5, 9)])
def test_the_start_moves_rarely_and_whoever_asks(low_water: Low, breaks: int) -> None:
    """60 pairs of 200 tokens in 2,000: it depends on what came, not on when somebody asked."""

    async def run(every: int) -> dict[int, str]:
        memory = sliding(2000, low_water, counter=Counting(100))
        seen = {}
        for number in range(1, 61):
            await record_all(memory, numbered(number))
            if number % every == 0:
                seen[number] = await shown(memory)
                assert memory.outcome.fits
        return seen

    each = asyncio.run(run(1))
    starts = [each[number].split()[0] for number in sorted(each)]
    assert sum(a != b for a, b in pairwise(starts)) == breaks
    third = asyncio.run(run(3))
    assert third == {number: each[number] for number in third}


@LOW_WATERS
def test_of_a_newest_round_that_is_too_long_the_oldest_exchanges_go(low_water: Low) -> None:
    """The user's words, what is no exchange, and the newest exchange stay, and a later question too."""
    steps = [
        message
        for number in range(8)
        for message in (
            calling(f"s{number}", (f"c{number}", "f", "{}")),
            Message.tool(f"c{number}", "done"),
        )
    ]

    async def run() -> list[str]:
        memory = sliding(12, low_water)
        await record_all(memory, [*numbered(1), Message.user("go"), Message.system("note")])
        seen = []
        for place in range(0, len(steps), 2):
            await record_all(memory, steps[place : place + 2])
            seen.append(await shown(memory))
            assert memory.outcome.fits
        await memory.record(Message.user("and"))
        return [*seen, await shown(memory)]

    seen = asyncio.run(run())
    assert seen[:2] == ["u1 a1 go note s0 -", "u1 a1 go note s0 - s1 -"]
    if low_water == 1.0:
        assert seen[2:-1] == [f"go note s{n} - s{n + 1} -" for n in range(1, 7)]
    else:
        assert seen[2:-1] == [
            "go note s2 -",
            "go note s2 - s3 -",
            "go note s4 -",
            "go note s4 - s5 -",
            "go note s6 -",
            "go note s6 - s7 -",
        ]
    assert seen[-1] == "go note s6 - s7 - and"


# ------------------------------------------------------- results and words in one


def test_a_message_with_results_and_words_is_two_and_comes_back_as_one() -> None:
    """Its results go with their exchange, its words begin a round."""
    both = Message("user", [ToolResult("c1", (Text("done"),)), Text("next")])
    messages = [Message.user("go"), calling("a1", ("c1", "f", "{}")), both, Message.assistant("b")]

    async def run(budget: int, *, is_protected: bool = False) -> list[Message]:
        memory = WindowMemory(budget)
        await record_all(memory, messages[:2])
        await (memory.record_protected if is_protected else memory.record)(both)
        await memory.record(messages[3])
        return await memory.context()

    whole = asyncio.run(run(7))
    assert whole == messages
    assert whole[2] is both
    assert asyncio.run(run(6)) == [Message.user("next"), messages[3]]
    assert asyncio.run(run(6, is_protected=True)) == messages


def test_a_result_that_comes_late_goes_with_its_call() -> None:
    """The user has spoken since; where the call is gone, its result is not shown."""
    late = Message.tool("c1", "done")
    messages = [Message.user("go"), calling("a1", ("c1", "f", "{}")), Message.user("hurry"), late]

    async def run(budget: int) -> str:
        memory = WindowMemory(budget)
        await record_all(memory, messages)
        return await shown(memory)

    assert asyncio.run(run(7)) == "go a1 hurry -"
    assert asyncio.run(run(6)) == "hurry"


def test_a_result_whose_call_a_strategy_has_replaced_is_not_shown() -> None:
    """Nothing that is shown has asked for it; one that is protected is shown all the same."""

    async def run() -> None:
        memory = WindowMemory(7, strategy=PriorSummary())
        await record_all(
            memory, [Message.user("go"), calling("a1", ("c1", "f", "{}"), ("c2", "f", "{}"))]
        )
        await record_all(memory, rounds(2, 3))
        assert await shown(memory) == "prior summary u3 a3"
        await memory.record(Message.tool("c1", "done"))
        assert await shown(memory) == "prior summary u3 a3"
        assert memory.outcome == Outcome("untouched", 7, 6, 6)
        await memory.record_protected(Message.tool("c2", "done"))
        assert await shown(memory) == "prior summary u3 a3 -"

    asyncio.run(run())


# ---------------------------------------------------------------------- strategies


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("u2 a2 u4", "p1 u2 a2 p3 u4"),  # kept things hold their places
        ("S u4", "p1 S p3 u4"),  # where the first stood that it replaced
        ("u2 S u4", "p1 u2 S p3 u4"),
        ("u2 S T u4", "p1 u2 S T p3 u4"),  # the second replaced nothing
        ("S T U a4", "p1 S T p3 U a4"),  # three in the places of three
        ("u2 a2 u4 a4 S", "p1 u2 a2 p3 u4 a4 S"),  # it replaced nothing
        ("S u2 a2 u4 a4", "S p1 u2 a2 p3 u4 a4"),
        ("u4 u2", "p1 p3 u4 u2"),  # what is moved back counts as made
        ("", "p1 p3"),
    ],
)
def test_what_a_strategy_makes_stands_among_protected_rounds(made: str, expected: str) -> None:
    """In the place of what it replaced; what it kept stays where it stood."""

    class Scripted:
        def trim(self, messages: Sequence[Message], budget: Budget, counter: object) -> TrimResult:
            del budget, counter
            known = {message.text: message for message in messages}
            words = made.split()
            return TrimResult(
                [known.get(word, Message.system(word)) for word in words], replace=False
            )

    async def run() -> str:
        memory = WindowMemory(5, strategy=Scripted())
        await memory.record_protected(Message.user("p1"))
        await record_all(memory, numbered(2))
        await memory.record_protected(Message.user("p3"))
        await record_all(memory, numbered(4))
        return await shown(memory)

    assert asyncio.run(run()) == expected


@pytest.mark.parametrize("result", [None, [Message.user("x")]])
def test_a_strategy_that_answers_nonsense_is_told_so(result: object) -> None:
    """Nothing is stored, and the error names the strategy."""

    class Wrong:
        def trim(self, *given: object) -> Any:
            del given
            return result

    async def run() -> None:
        memory = WindowMemory(1, strategy=Wrong())
        await record_all(memory, rounds(1, 2))
        with pytest.raises(PolicyError, match="Wrong"):
            await memory.context()
        memory.set_strategy(WindowDrop())
        assert await shown(memory) == "u2 a2"

    asyncio.run(run())


def test_a_strategy_that_replaces_with_too_much_is_not_asked_again_at_once() -> None:
    """Its result is shown as it is, and told as over; the next retrieval asks again."""

    @dataclass
    class TooMuch:
        calls: int = 0

        def trim(self, messages: Sequence[Message], budget: Budget, counter: object) -> TrimResult:
            del budget, counter
            self.calls += 1
            return TrimResult([Message.system("x" * 100), *messages[-2:]], replace=True)

    async def run() -> None:
        strategy = TooMuch()
        memory = WindowMemory(5, strategy=strategy)
        await record_all(memory, rounds(1, 4))
        assert await shown(memory) == f"{'x' * 100} u4 a4"
        assert (strategy.calls, memory.outcome.status) == (1, "unmet")
        assert memory.outcome.tokens_after == 27
        await memory.context()
        assert strategy.calls == 2

    asyncio.run(run())


# ---------------------------------------------------------------------- the others


def test_a_representation_holds_no_words() -> None:
    """It names the budget and the number of messages."""

    async def run() -> str:
        memory = WindowMemory(Budget.both(100, 4))
        await memory.record(Message.user("secret"))
        return repr(memory)

    assert asyncio.run(run()) == "<WindowMemory, Budget(max_tokens=100, max_rounds=4), 1 messages>"


def test_a_memory_without_a_window_keeps_everything() -> None:
    """Protected or not, and the list is the caller's own."""

    async def run() -> None:
        memory = InMemoryMemory()
        await memory.record(Message.user("one"))
        await memory.record_protected(Message.assistant("two"))
        (await memory.context()).clear()
        assert await shown(memory) == "one two"
        assert repr(memory) == "<InMemoryMemory, 2 messages>"

    asyncio.run(run())


@pytest.mark.parametrize("memory", [InMemoryMemory(), WindowMemory(10)], ids=["all", "window"])
def test_only_messages_are_recorded(memory: Memory) -> None:
    """Anything else is refused, without its words."""
    wrong: Any = {"role": "user", "content": "secret"}
    for record in (memory.record, memory.record_protected):
        with pytest.raises(RequestError, match="not a dict") as told:
            asyncio.run(record(wrong))
        assert "secret" not in str(told.value)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "9", float("nan")])
def test_a_bound_that_cannot_hold_is_refused(wrong: Any) -> None:
    """By the constructor and by the setter, and the old one stays."""
    memory = WindowMemory(3, 7)
    with pytest.raises(PolicyError, match="max_tokens"):
        WindowMemory(wrong)
    with pytest.raises(PolicyError, match="max_tokens"):
        memory.set_max_tokens(wrong)
    if wrong != 0:
        with pytest.raises(PolicyError, match="max_rounds"):
            WindowMemory(3, wrong)
        with pytest.raises(PolicyError, match="max_rounds"):
            memory.set_max_rounds(wrong)
    assert repr(memory) == "<WindowMemory, Budget(max_tokens=3, max_rounds=7), 0 messages>"


def test_bounds_are_named_once() -> None:
    """A whole budget and rounds beside it are one too many."""
    with pytest.raises(PolicyError, match="name it in the budget"):
        WindowMemory(Budget.tokens(5), 3)


def test_no_bound_is_no_bound() -> None:
    """Everything is given back, and the outcome says so."""

    async def run() -> None:
        memory = WindowMemory(1, 1)
        assert memory.outcome == Outcome("untouched", 1, 0, 0)
        memory.set_max_tokens(None)
        memory.set_max_rounds(None)
        await record_all(memory, rounds(1, 3))
        assert len(await memory.context()) == 6
        assert memory.outcome == Outcome("untouched", 6, 6, 6)
        memory.set_max_rounds(2)
        assert await shown(memory) == "u2 a2 u3 a3"
        assert memory.outcome == Outcome("fits", 6, 6, 4)

    asyncio.run(run())


@pytest.mark.parametrize("low_water", [0, -0.1, 1.1, float("nan")])
def test_a_low_mark_lies_above_nothing_and_within_the_budget(low_water: float) -> None:
    """Another is refused."""
    with pytest.raises(PolicyError, match="low_water"):
        WindowDrop(low_water)


def test_more_protected_rounds_than_may_stay_are_told() -> None:
    """They stay, and the outcome says that the bound is passed."""

    async def run() -> Outcome:
        memory = WindowMemory(Budget.rounds(1))
        for number in (1, 2):
            await memory.record_protected(Message.user(f"u{number}"))
        await memory.record(Message.user("u3"))
        assert await shown(memory) == "u1 u2 u3"
        return memory.outcome

    assert asyncio.run(run()) == Outcome(
        "unmet", 3, 3, 3, 0, "3 rounds must stay, 2 of them protected"
    )


def test_dropping_alone_gives_what_the_memory_gives() -> None:
    """As a strategy of somebody else's, counting for itself."""
    both = Message("user", [ToolResult("c1", (Text("done"),)), Text("next")])
    messages = [*rounds(1, 3), calling("a", ("c1", "f", "{}")), both, Message.assistant("b")]

    async def run() -> list[Message]:
        result = await WindowDrop().trim(messages, Budget(4), CharTokenCounter())
        assert (result.replace, result.is_fallback) == (False, False)
        return result.messages

    assert texts(asyncio.run(run())) == window(messages, 4, 0.7) == "next b"
