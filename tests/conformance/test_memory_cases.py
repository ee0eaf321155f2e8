"""Reported faults that concern lists that are written back, and the window memory."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.conformance.shared import case_input
from tests.conformance.test_cases import FORMATS, Json, in_format, rewrite
from trimtab import (
    Budget,
    CharTokenCounter,
    CompactionConfig,
    Message,
    SummarizeRounds,
    Summary,
    SummaryRequest,
    WindowDrop,
    WindowMemory,
    compact_messages,
)
from trimtab.messages import Text, ToolCall, ToolResult
from trimtab.wire import read


def neutral(message: Json) -> Message:
    """A message of a case as one of ours."""
    return Message(message["role"], [Text(message["content"])])


def words(messages: list[Message]) -> str:
    """All that is said."""
    return "\n".join(message.text for message in messages)


# --------------------------------------------------------- 5 lost instructions


def test_a_correction_by_the_user_outlives_its_message_in_a_list() -> None:
    """The newest statement stands verbatim where a fourth of the target has room for it."""
    given = case_input("30-changed-requirement-lost.json")["messages"]
    messages = [neutral(message) for message in given]
    total = sum(len(m.text) for m in messages) // 4 + 4 * len(messages)
    for budget in (total * 9 // 10, total * 3 // 4, total * 2 // 3):
        config = CompactionConfig(
            max_context_tokens=budget,
            system_prompt_tokens=0,
            keep_recent=2,
            counter=CharTokenCounter(),
        )

        kept = compact_messages(messages, config)

        assert len(kept) < len(messages)
        assert "port 8081, and never touch ./secrets." in words(kept)


@pytest.mark.parametrize("format", FORMATS)
def test_a_correction_by_the_user_outlives_its_message_in_a_request(format: str) -> None:  # noqa: A002 - the word for it
    """The same on the wire, in each format."""
    body = in_format(case_input("30-changed-requirement-lost.json")["messages"], format)

    sent = rewrite(body, format, 300, keep_recent=2)

    assert sent.outcome.fits
    assert sent.plan
    parts = [part for m in read(sent.body, format).messages for part in m.parts]
    told = "\n".join(part.text for part in parts if isinstance(part, Text))
    assert "port 8081, and never touch ./secrets." in told


# ------------------------------------------------------------------ the memory


class Slow:
    """A summarizer that takes its time, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Wait until it may answer."""
        del request
        self.asked += 1
        self.is_asked.set()
        await self.may_answer.wait()
        return Summary("what went before", "stop")


def talk(count: int) -> list[Message]:
    """User and assistant in turn, each of about 30 tokens."""
    said = [Message.user, Message.assistant]
    return [said[n % 2](f"message {n} " + "x" * 100) for n in range(count)]


def test_what_is_recorded_during_a_summary_is_there_when_it_lands() -> None:
    """89: the summary, the tail and all that came meanwhile, in order; nobody waits to record."""

    async def run() -> None:
        slow = Slow()
        memory = WindowMemory(800, strategy=SummarizeRounds(slow, max_summary_tokens=64))
        for message in talk(40):
            await memory.record(message)
        asking = asyncio.create_task(memory.context())
        await slow.is_asked.wait()
        late = [Message.user(f"late {n}") for n in range(50)]
        await asyncio.wait_for(
            asyncio.gather(*(memory.record(message) for message in late)), timeout=5
        )
        slow.may_answer.set()
        await asking
        memory.set_max_tokens(100_000)
        kept = await memory.context()
        summaries = [m for m in kept if m.origin == "summary"]
        assert len(summaries) == 1
        assert [m.text for m in kept if m.text.startswith("late")] == [m.text for m in late]
        old = [m.text.split()[1] for m in kept if m.text.startswith("message")]
        assert old == [str(n) for n in range(40)][-len(old) :]
        assert kept.index(summaries[0]) == 0

    asyncio.run(run())


def test_ten_askers_make_one_summary() -> None:
    """90: one call while the job runs, one summary in each later list; a cancelled asker stops none."""

    async def run() -> None:
        slow = Slow()
        memory = WindowMemory(800, strategy=SummarizeRounds(slow, max_summary_tokens=64))
        for message in talk(40):
            await memory.record(message)
        askers = [asyncio.create_task(memory.context()) for _ in range(10)]
        for _ in range(20):
            await asyncio.sleep(0)
        assert slow.asked == 1
        askers[5].cancel()
        slow.may_answer.set()
        await asyncio.gather(*askers, return_exceptions=True)
        later = [await memory.context() for _ in range(10)]
        assert slow.asked == 1
        assert [sum(m.origin == "summary" for m in kept) for kept in later] == [1] * 10

    asyncio.run(run())


def test_the_window_moves_as_rarely_as_its_depth_allows() -> None:
    """60: never over, and the same windows however often somebody asks."""

    async def moves(low_water: float) -> int:
        memory = WindowMemory(
            Budget.tokens(2_000), counter=Hundred(), strategy=WindowDrop(low_water)
        )
        count, start = 0, None
        for pair in range(60):
            for message in (Message.user(f"u{pair}"), Message.assistant(f"a{pair}")):
                await memory.record(message)
            kept = await memory.context()
            assert len(kept) * 100 <= 2_000
            count += start not in (None, kept[0].text)
            start = kept[0].text
        return count

    assert [asyncio.run(moves(low)) for low in (1.0, 0.7, 0.5)] == [50, 13, 9]


class Hundred:
    """Says a hundred of any text."""

    name = "a hundred"
    quality = "estimate"

    def count(self, text: str) -> int:
        """A hundred, or nothing for nothing."""
        return 100 if text else 0


@pytest.mark.parametrize("low_water", [0.7, 1.0])
def test_a_long_memory_costs_what_is_new(low_water: float) -> None:
    """98: the counter is asked once for each message, however many were recorded before."""

    class Asked(Hundred):
        asked = 0

        def count(self, text: str) -> int:
            """Count the questions."""
            Asked.asked += 1
            return super().count(text)

    async def run() -> None:
        memory = WindowMemory(2_000, counter=Asked(), strategy=WindowDrop(low_water))
        for number in range(3_000):
            await memory.record(Message.user(f"u{number}"))
            await memory.context()

    Asked.asked = 0
    asyncio.run(run())
    assert Asked.asked == 3_000


def test_no_size_of_window_parts_a_call_from_its_result() -> None:
    """1: whatever the budget, pairs are whole, and a tail begins with no result."""

    async def run(budget: int) -> None:
        memory = WindowMemory(budget, counter=CharTokenCounter())
        for number in range(12):
            call = ToolCall(f"c{number}", "look", "{}")
            for message in (
                Message.user(f"u{number} " + "x" * 40),
                Message.assistant(call, ToolCall(f"d{number}", "look", "{}")),
                Message.tool(f"c{number}", "r" * 80),
                Message.tool(f"d{number}", "s" * 80),
            ):
                await memory.record(message)
            kept = await memory.context()
            calls = list(itertools.chain.from_iterable(m.call_ids for m in kept))
            results = [p.call_id for m in kept for p in m.parts if isinstance(p, ToolResult)]
            assert calls == results
            assert kept[0].role == "user"

    for budget in (1, 20, 60, 100, 150, 300):
        asyncio.run(run(budget))
