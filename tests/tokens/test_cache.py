"""The counter that remembers, and vouches for what it answers."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Callable
from typing import Any

import pytest

from trimtab.errors import TokenCountError
from trimtab.tokens import BpeTokenCounter, CachedCounter, CharTokenCounter, Quality

SECRET = "the launch code is 0000"


class Scripted:
    """A counter that answers whatever a function does, and keeps what it was asked."""

    name = "scripted"
    quality: Quality = "exact"

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.asked: list[str] = []
        self._answer = answer

    def count(self, text: str) -> Any:
        """Count, or misbehave."""
        self.asked.append(text)
        return self._answer(text)


def cached(answer: Callable[[str], Any], **settings: int) -> tuple[CachedCounter, Scripted]:
    """A cached counter, and the one inside."""
    inner = Scripted(answer)
    return CachedCounter(inner, **settings), inner


def test_no_text_is_counted_twice() -> None:
    """Short and long texts alike are counted when they are first seen, also where they count 0."""
    counter, inner = cached(len)
    texts = ["", "a", "x" * 64, "x" * 65, "y" * 65, "x" * 100_000, "\ud800" * 70]

    first = [counter.count(text) for text in texts]
    second = [counter.count(text) for text in texts]

    assert first == second == [len(text) for text in texts]
    assert inner.asked == texts


def test_the_oldest_texts_are_forgotten_first() -> None:
    """It never holds more texts than it may."""
    counter, inner = cached(len, max_entries=2)

    for text in ("a", "bb", "ccc", "bb", "ccc", "a"):
        counter.count(text)

    assert inner.asked == ["a", "bb", "ccc", "a"]
    assert repr(counter) == "CachedCounter(scripted, 2 texts)"


def test_it_can_be_told_to_remember_nothing() -> None:
    """With room for no text, each is counted when it is asked for."""
    counter, inner = cached(len, max_entries=0)

    assert [counter.count("a"), counter.count("a")] == [1, 1]
    assert inner.asked == ["a", "a"]
    assert repr(counter) == "CachedCounter(scripted, 0 texts)"


def test_its_answers_are_those_of_the_counter_inside() -> None:
    """Remembering changes no count."""
    for inner in (CharTokenCounter(), BpeTokenCounter()):
        counter = CachedCounter(inner)
        for text in ("hello", "你好世界", SECRET * 9):
            assert counter.count(text) == inner.count(text)
        assert (counter.name, counter.quality) == (inner.name, inner.quality)


def _raise(error: BaseException) -> Callable[[str], int]:
    def answer(_: str) -> int:
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (_raise(OSError("no vocabulary")), "scripted failed: OSError: no vocabulary"),
        (_raise(MemoryError()), "scripted failed: MemoryError: "),
        (lambda _: None, "scripted answered a value of type NoneType, not a whole number"),
        (lambda _: True, "scripted answered a value of type bool, not a whole number"),
        (lambda _: 2.0, "scripted answered a value of type float, not a whole number"),
        (lambda text: text, "scripted answered a value of type str, not a whole number"),
        (lambda text: [text], "scripted answered a value of type list, not a whole number"),
        (lambda _: -1, "scripted answered -1, which is below 0"),
    ],
)
def test_misbehaviour_is_an_error_that_says_so(answer: Callable[[str], Any], message: str) -> None:
    """Nothing falls back in silence, and no answer that may be the text is repeated."""
    counter, _ = cached(answer)

    with pytest.raises(TokenCountError, match=f"^{re.escape(message)}$"):
        counter.count(SECRET)


def test_the_error_of_a_counter_is_the_cause() -> None:
    """What a counter said is at hand for whoever looks for it."""
    told = ValueError("no number")
    counter, _ = cached(_raise(told))

    with pytest.raises(TokenCountError) as caught:
        counter.count(SECRET)

    assert caught.value.__cause__ is told


def test_a_counter_that_explains_itself_is_not_explained_again() -> None:
    """A TokenCountError passes as it is."""
    told = TokenCountError("the vocabulary is gone")
    counter, _ = cached(_raise(told))

    with pytest.raises(TokenCountError) as caught:
        counter.count("a")

    assert caught.value is told


def test_what_stops_the_program_is_not_held_up() -> None:
    """An interrupt is no misbehaviour of the counter."""
    counter, _ = cached(_raise(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        counter.count("a")


async def _later(text: str) -> int:
    return len(text)


class Promise:
    """Something that can be awaited and is no coroutine."""

    def __await__(self) -> Any:
        """Never get there."""
        yield


AWAITABLES: list[Callable[[str], Any]] = [
    _later,
    lambda _: Promise(),
    lambda _: asyncio.Future(loop=asyncio.new_event_loop()),
]


@pytest.mark.filterwarnings("ignore:unclosed event loop:ResourceWarning")
@pytest.mark.parametrize("answer", AWAITABLES, ids=["coroutine", "awaitable", "future"])
def test_a_counter_that_must_be_awaited_is_sent_to_window_memory(
    answer: Callable[[str], Any],
) -> None:
    """Only WindowMemory awaits; nothing is left behind that was never awaited."""
    counter, _ = cached(answer)

    with pytest.raises(TokenCountError, match="must be awaited, which only WindowMemory does"):
        counter.count("a")
    gc.collect()


def test_a_failure_is_not_remembered() -> None:
    """A counter that failed and works again counts."""
    answers: list[Any] = [None, 3]
    counter, _ = cached(lambda _: answers.pop(0))

    with pytest.raises(TokenCountError):
        counter.count("a")

    assert counter.count("a") == 3


def test_a_counter_needs_nothing_but_count() -> None:
    """One without a name is called by its type, and its counts are taken as estimates."""

    class Words:
        def count(self, text: str) -> int:
            return len(text.split())

    counter = CachedCounter(Words())  # type: ignore[arg-type]

    assert counter.count("two words") == 2
    assert (counter.name, counter.quality) == ("Words", "estimate")


def test_its_repr_shows_no_text() -> None:
    """A representation ends up in logs."""
    counter = CachedCounter(CharTokenCounter())
    counter.count(SECRET)
    counter.count(SECRET * 99)

    assert repr(counter) == "CachedCounter(characters, 2 texts)"
