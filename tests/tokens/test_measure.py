"""What messages, parts and surfaces weigh."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TokenCountError
from trimtab.messages import (
    Media,
    Message,
    Opaque,
    Part,
    Surface,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from trimtab.tokens import CachedCounter, CharTokenCounter, Measure
from trimtab.tokens.media import media_tokens
from trimtab.tokens.overhead import overhead_for

MODELS = ["", "gpt-4o", "claude-opus-4-8"]

words = st.text(max_size=40)
texts = st.builds(Text, words)
media = st.builds(
    Media,
    st.sampled_from(["image", "document", "audio", "video", "file"]),
    data=st.text("ABCD", max_size=400),
    width=st.integers(0, 3_000),
    height=st.integers(0, 3_000),
)
opaque = st.builds(Opaque, st.just("unheard_of"), words)
parts: st.SearchStrategy[Part] = st.one_of(
    texts,
    media,
    opaque,
    st.builds(Thinking, words, st.text("ABCD", max_size=400)),
    st.builds(ToolCall, words, words, words),
    st.builds(ToolResult, words, st.tuples(texts | media | opaque)),
)


def measure(model: str = "gpt-4o") -> Measure:
    """One that counts by characters, so that the expected numbers can be read off."""
    return Measure(CharTokenCounter(), model)


@given(st.sampled_from(MODELS), st.lists(parts, max_size=6), st.lists(parts, max_size=6))
def test_weights_add_up(model: str, first: Sequence[Part], second: Sequence[Part]) -> None:
    """A message is its overhead and its parts, however the parts are divided."""
    scale = measure(model)
    alone = scale.message(Message.user())

    assert scale.message(Message.user(*first)) == alone + sum(scale.part(p) for p in first)
    assert scale.message(Message.user(*first, *second)) == (
        scale.message(Message.user(*first)) + scale.message(Message.user(*second)) - alone
    )
    assert scale.parts([*first, *second]) == scale.parts(first) + scale.parts(second)


@given(st.sampled_from(MODELS), st.lists(parts, max_size=4), words, st.lists(words, max_size=3))
def test_a_surface_is_its_pieces(
    model: str, system: Sequence[Part], schema: str, tools: Sequence[str]
) -> None:
    """System prompt, tools and answer schema count, and what the provider adds to them."""
    scale, overhead = measure(model), overhead_for(model)
    surface = Surface(model, tuple(system), tuple(Tool("t", json=text) for text in tools), schema)

    assert scale.surface(surface) == (
        overhead.request
        + scale.parts(system)
        + sum(scale.text(text) + overhead.tool for text in tools)
        + (overhead.tools if tools else 0)
        + scale.text(schema)
    )


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (Text(""), 0),
        (Text("hello"), 2),
        (Thinking("hello", ""), 2),
        (Thinking("", "A" * 1_600), 300),  # base64 of 1,200 characters
        (Thinking("x" * 4_000, "A" * 1_600), 1_000),  # shown in words: the signature is of them
        (Thinking("", "A" * 1_600, is_redacted=True), 300),
        (ToolCall("a", "read", '{"path":"x"}'), 8 + 1 + 3),
        (ToolCall("a", "", ""), 8),
        (ToolResult("a", ()), 4),
        (ToolResult("a", (Text("hello"), Text("hello"))), 4 + 2 + 2),
        (ToolResult("a", (Media("image", data="A" * 1_000_000, width=512, height=512),)), 4 + 255),
        (Media("image", data="A" * 1_000_000, width=512, height=512), 255),
        (Opaque("x", '{"type":"x"}'), 3),
        (Opaque("x", '{"type":"x","data":"' + "A" * 1_600 + '"}'), 6 + 300),
        (Opaque("x", "A" * 999), 250),  # too short to be a payload
        (Opaque("x", "A" * 1_000), 187),
        (Opaque("x", "A" * 1_600 + " " + "_" * 1_600), 1 + 600),
    ],
)
def test_a_part_weighs_its_words_and_what_its_kind_adds(part: Part, tokens: int) -> None:
    """Words by the counter, media by formula, payloads in what is not understood by length."""
    assert measure().part(part) == tokens


@pytest.mark.parametrize("model", MODELS)
def test_a_screenshot_weighs_what_it_shows(model: str) -> None:
    """A megabyte of base64 is not a quarter of a million tokens."""
    picture = Media("image", "image/png", "A" * 1_400_000, width=1920, height=1080)

    assert measure(model).part(picture) == media_tokens(picture, model) < 3_000


def test_payloads_are_found_in_time() -> None:
    """Runs that are just too short to be a payload are looked at once, not once a character."""
    began = time.perf_counter()
    tokens = measure().part(Opaque("x", ("A" * 999 + " ") * 3_000))
    seconds = time.perf_counter() - began

    assert tokens == 750_000
    assert seconds < 2  # 0.1 here; looked at once a character it takes 3.5


def test_no_text_is_counted_twice() -> None:
    """The same words weigh the same wherever they stand, and are counted once."""

    class Counting(CharTokenCounter):
        asked: list[str]

        def count(self, text: str) -> int:
            self.asked.append(text)
            return super().count(text)

    counter = Counting()
    counter.asked = []
    scale = Measure(counter)
    said = Message.user("hello", Text("hello"), ToolCall("a", "hello", "hello"))

    weights = [scale.message(said), scale.message(said)]

    assert weights == [4 + 8 + 4 * 2] * 2
    assert counter.asked == ["hello"]


def test_it_says_how_far_it_can_be_trusted() -> None:
    """Name and quality are those of its counter, remembered or not."""
    for counter in (CharTokenCounter(), CachedCounter(CharTokenCounter())):
        scale = Measure(counter)

        assert (scale.name, scale.quality) == ("characters", "estimate")


def test_a_failing_counter_fails_the_weighing() -> None:
    """Nothing is guessed where a counter failed; it is asked again the next time."""

    class Failing(CharTokenCounter):
        works = False

        def count(self, text: str) -> int:
            return super().count(text) if self.works else int("no number")

    counter = Failing()
    scale = Measure(counter)

    with pytest.raises(TokenCountError, match="characters failed: ValueError"):
        scale.message(Message.user("hello"))
    counter.works = True

    assert scale.message(Message.user("hello")) == 4 + 2
