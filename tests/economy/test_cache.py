"""The provider's cache as a model: what is read, what is written, what is fresh."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.economy import (
    LONG_LIFE_SECONDS,
    LOOK_BACK_BLOCKS,
    SHORT_LIFE_SECONDS,
    Block,
    CacheRules,
    Prompt,
    ProviderCache,
    Split,
    life_seconds,
    rules_of,
)
from trimtab.usage import Usage

CLAUDE, GPT, NEW_GPT, GEMINI = "claude-sonnet-4-5", "gpt-5", "gpt-5.6-sol", "gemini-2.5-pro"
SHORT, LONG = SHORT_LIFE_SECONDS, LONG_LIFE_SECONDS


def block(name: str, tokens: int = 1_000, life: float = 0.0, parts: int = 1) -> Block:
    """A stretch of a prompt."""
    return Block(name.encode(), tokens, parts, life)


def served(model: str, *prompts: list[Block], gap: float | None = 10.0) -> list[Split]:
    """What a cache makes of some requests that follow each other."""
    cache = ProviderCache()
    return [
        cache.serve(Prompt(model, blocks, None if gap is None else 1_000.0 + gap * place))
        for place, blocks in enumerate(prompts)
    ]


@pytest.mark.parametrize(
    ("model", "rules"),
    [
        ("claude-opus-5", CacheRules("markers", 512, 1, SHORT)),
        ("claude-opus-4-8", CacheRules("markers", 1_024, 1, SHORT)),
        ("claude-opus-4-7", CacheRules("markers", 2_048, 1, SHORT)),
        ("claude-opus-4-5-20251101", CacheRules("markers", 4_096, 1, SHORT)),
        ("claude-haiku-4-5", CacheRules("markers", 4_096, 1, SHORT)),
        ("claude-sonnet-4-5", CacheRules("markers", 1_024, 1, SHORT)),
        ("claude-fable-5", CacheRules("markers", 512, 1, SHORT)),
        ("claude-next", CacheRules("markers", 1_024, 1, SHORT)),
        ("gpt-5.6-sol", CacheRules("breakpoints", 1_024, 1, 1_800.0)),
        ("gpt-5.4", CacheRules("prefix", 1_024, 128, 3_600.0)),
        ("openai/o3", CacheRules("prefix", 1_024, 128, 3_600.0)),
        ("gemini-3-flash-preview", CacheRules("prefix", 4_096, 1, 3_600.0)),
        ("gemini-2.5-pro", CacheRules("prefix", 2_048, 1, 3_600.0)),
        ("deepseek-chat", CacheRules("prefix", 1_024, 1, 3_600.0)),
    ],
)
def test_each_model_has_the_rules_of_its_provider(model: str, rules: CacheRules) -> None:
    """As documented in November 2026; whoever says where it writes is explicit."""
    assert rules_of(model) == rules
    assert rules_of(model).is_explicit == (rules.kind != "prefix")


def test_only_a_marker_can_ask_for_a_longer_life() -> None:
    """Where there are none, asking changes nothing."""
    assert [life_seconds(CLAUDE), life_seconds(CLAUDE, has_long_marker=True)] == [SHORT, LONG]
    assert life_seconds(NEW_GPT, has_long_marker=True) == 1_800.0


# ------------------------------------------------------------------- markers


def test_a_marked_prefix_is_written_once_and_read_from_then_on() -> None:
    """Each turn reads what the last one wrote, and writes what is new."""
    first = [block("system", 2_000, SHORT), block("a", 500, SHORT)]
    second = [block("system", 2_000, SHORT), block("a", 500), block("b", 300, SHORT)]

    assert served(CLAUDE, first, second, second) == [
        Split(written=2_500),
        Split(read=2_500, written=300),
        Split(read=2_800),
    ]


def test_what_stands_behind_the_last_marker_is_fresh() -> None:
    """Nothing is written where no marker stands."""
    prompt = [block("system", 2_000, SHORT), block("a", 500)]

    assert served(CLAUDE, prompt, prompt) == [
        Split(fresh=500, written=2_000),
        Split(fresh=500, read=2_000),
    ]
    assert served(CLAUDE, [block("a", 9_000)], [block("a", 9_000)]) == [Split(fresh=9_000)] * 2


def test_a_prefix_that_is_too_short_is_not_cached() -> None:
    """Silently, as the provider does it."""
    short = [block("a", 1_023, SHORT)]

    assert served(CLAUDE, short, short) == [Split(fresh=1_023)] * 2


def test_a_changed_prefix_is_read_up_to_the_marker_before_the_change() -> None:
    """The system prompt survives what changes behind it."""
    first = [block("system", 2_000, SHORT), block("a", 500), block("b", 500, SHORT)]
    second = [block("system", 2_000, SHORT), block("A", 500), block("b", 500, SHORT)]

    assert served(CLAUDE, first, second)[1] == Split(read=2_000, written=1_000)


def test_a_block_without_weight_parts_two_prefixes() -> None:
    """So a parameter that the cache keys on can be told."""
    first = [block("high effort", 0), block("a", 2_000, SHORT)]
    second = [block("low effort", 0), block("a", 2_000, SHORT)]

    assert served(CLAUDE, first, second)[1] == Split(written=2_000)


@pytest.mark.parametrize(
    ("parts", "split"),
    [
        (LOOK_BACK_BLOCKS - 1, Split(read=2_000, written=100)),
        (LOOK_BACK_BLOCKS, Split(written=2_100)),
    ],
)
def test_a_marker_looks_back_over_twenty_blocks(parts: int, split: Split) -> None:
    """Itself included: a turn that adds more misses what was written before it."""
    first = [block("a", 2_000, SHORT)]
    second = [block("a", 2_000), block("b", 100, SHORT, parts)]

    assert served(CLAUDE, first, second)[1] == split


def test_of_more_than_four_markers_the_last_count() -> None:
    """The first one writes nothing."""
    prompt = [block(str(number), 2_000, SHORT) for number in range(5)]
    cut = [prompt[0], block("other", 2_000)]

    assert served(CLAUDE, prompt, cut) == [Split(written=10_000), Split(fresh=2_000, written=2_000)]


@pytest.mark.parametrize(("life", "gap", "is_read"), [
    (SHORT, 300.0, True), (SHORT, 301.0, False), (LONG, 3_600.0, True), (LONG, 3_601.0, False),
    (SHORT, None, True),
])  # fmt: skip
def test_what_nobody_reads_dies(life: float, gap: float | None, is_read: bool) -> None:  # noqa: FBT001
    """After the life that its marker asked for; where time is not known it lives on."""
    prompt = [block("a", 2_000, life)]

    split = served(CLAUDE, prompt, prompt, gap=gap)[1]

    assert bool(split.read) == is_read


def test_reading_keeps_alive() -> None:
    """Each use begins the life anew, also of what stands before it."""
    first = [block("system", 2_000, SHORT), block("a", 500, SHORT)]
    cache = ProviderCache()

    reads = [cache.serve(Prompt(CLAUDE, first, at)).read for at in (0.0, 250.0, 500.0, 750.0)]
    only_system = cache.serve(Prompt(CLAUDE, [first[0]], 1_000.0))

    assert reads == [0, 2_500, 2_500, 2_500]
    assert only_system.read == 2_000


def test_what_is_written_for_an_hour_is_told_apart() -> None:
    """It has its own price."""
    prompt = [block("system", 2_000, LONG), block("a", 500, SHORT)]

    assert served(CLAUDE, prompt) == [Split(written_long=2_000, written=500)]


def test_two_models_share_nothing() -> None:
    """A switch costs the whole prefix, and the way back none."""
    prompt = [block("a", 9_000, SHORT)]
    cache = ProviderCache()

    splits = [
        cache.serve(Prompt(model, prompt, 0.0)) for model in (CLAUDE, "claude-haiku-4-5", CLAUDE)
    ]

    assert [split.read for split in splits] == [0, 0, 9_000]


# ------------------------------------------------------------ the other kinds


def test_a_prefix_is_read_in_whole_steps_and_written_for_nothing() -> None:
    """Automatic caches: the longest beginning that is known."""
    first, second = [block("a", 2_000)], [block("a", 2_000), block("b", 500)]

    assert served(GPT, first, second) == [Split(fresh=2_000), Split(fresh=580, read=1_920)]
    assert served(GEMINI, [block("a", 3_000)], second)[1] == Split(fresh=2_500)
    assert served(GEMINI, [block("a", 3_000)], [block("a", 3_000)])[1] == Split(read=3_000)


def test_a_prefix_can_be_read_at_any_block() -> None:
    """Also where no request ended."""
    first = [block("a", 2_048), block("b", 1_000)]

    assert served(GPT, first, [block("a", 2_048), block("c")])[1] == Split(fresh=1_000, read=2_048)
    assert served(GPT, first, first, gap=3_601.0)[1] == Split(fresh=3_048)
    assert served(GPT, [block("a", 1_000)], [block("a", 1_000)])[1] == Split(fresh=1_000)


def test_newer_openai_models_read_only_where_a_request_ended() -> None:
    """However far back, to the token, and writing has a price."""
    first = [block("a", 1_500), block("b", 1_001)]
    much = [*first, block("c", 3_000, parts=50)]

    assert served(NEW_GPT, first, much, [first[0], block("d", 100)]) == [
        Split(written=2_501),
        Split(read=2_501, written=3_000),
        Split(written=1_600),
    ]
    assert served(NEW_GPT, []) == [Split()]


# ----------------------------------------------------------------------- laws

blocks = st.lists(
    st.builds(
        Block,
        st.sampled_from([b"a", b"b", b"c"]),
        st.integers(0, 5_000),
        st.integers(1, 12),
        st.sampled_from([0.0, SHORT, LONG]),
    ),
    max_size=12,
)


@given(st.sampled_from([CLAUDE, GPT, NEW_GPT, GEMINI, "other"]), st.lists(blocks, max_size=6))
def test_every_token_is_billed_once(model: str, prompts: list[list[Block]]) -> None:
    """Read, written and fresh add up to the prompt, and no part is below 0."""
    weights = {b"a": 700, b"b": 1_300, b"c": 2_900}
    sane = [[each._replace(tokens=weights[each.digest]) for each in prompt] for prompt in prompts]

    for prompt, split in zip(sane, served(model, *sane), strict=True):
        assert split.total == sum(each.tokens for each in prompt)
        assert min(split.fresh, split.read, split.written, split.written_long) >= 0


@given(blocks)
def test_nothing_is_read_that_was_never_sent(prompt: list[Block]) -> None:
    """A cache that has seen nothing reads nothing."""
    for model in (CLAUDE, GPT, NEW_GPT):
        assert served(model, prompt)[0].read == 0


@pytest.mark.parametrize(
    ("is_long", "split"), [(False, Split(1, 2, 3, 0)), (True, Split(1, 2, 0, 3))]
)
def test_a_bill_is_split_as_it_was_told(is_long: bool, split: Split) -> None:  # noqa: FBT001
    """What was written, for as long as it was."""
    assert Split.of(Usage(1, 2, 3, 9), is_long=is_long) == split
