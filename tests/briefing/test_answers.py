"""Whether an answer may stand for messages."""

from __future__ import annotations

import pytest

from trimtab import Summary, TokenCountError
from trimtab.briefing import Accepted, Refused, judge


def count(text: str) -> int:
    """A token for a word."""
    return len(text.split())


@pytest.mark.parametrize(
    ("words", "span", "min_gain", "needed"),
    [
        (80, 100, 0.2, 0),
        (81, 100, 0.2, 102),
        (100, 100, 0.0, 0),
        (101, 100, 0.0, 102),
        (500, 100, None, 0),
    ],
)
def test_an_answer_must_be_smaller_by_so_much(
    words: int, span: int, min_gain: float | None, needed: int
) -> None:
    """The size that would do is told, and does."""
    verdict = judge(Summary("w " * words), span, min_gain, count)

    if not needed:
        assert verdict == Accepted(("w " * words).strip(), words)
        return
    assert isinstance(verdict, Refused)
    assert (verdict.cause, verdict.needed_tokens) == ("too large", needed)
    assert isinstance(judge(Summary("w " * words), needed, min_gain, count), Accepted)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m unable to do this.",
        "Sorry, no.",
        "I cannot summarise this conversation.",
        "I won't.",
        "**I apologize**, but no.",
        "As an AI model I have no view.",
    ],
)
def test_a_refusal_in_words_is_one(text: str) -> None:
    """Some models refuse and say that they stopped as usual."""
    verdict = judge(Summary(text, "stop"), 1_000, 0.2, count)

    assert isinstance(verdict, Refused)
    assert verdict.cause == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "## Goal\nI'm sorry was what the user said.",
        "The user cannot log in.",
        "I cannot reach the host; " + "next steps follow. " * 60,
        "Icon set: done.",
    ],
)
def test_what_only_sounds_like_a_refusal_is_none(text: str) -> None:
    """It stands at the beginning, and says no more."""
    assert isinstance(judge(Summary(text, "stop"), 1_000, None, count), Accepted)


def test_no_word_of_an_answer_stands_in_a_verdict() -> None:
    """Verdicts end up in logs."""
    told = f"{judge(Summary('secret', 'stop'), 100, 0.2, count)!r}"
    assert "secret" not in told


@pytest.mark.parametrize(
    ("stop", "is_cut"),
    [
        ("length", True),
        ("MAX_TOKENS", True),
        ("max_output_tokens", True),
        ("incomplete", True),
        ("content_filter", False),
        ("refusal", False),
        ("stop", False),
    ],
)
def test_an_answer_that_was_cut_at_its_length_says_so(
    stop: str,
    is_cut: bool,  # noqa: FBT001 - what must come out
) -> None:
    """More room may help then, and only then."""
    verdict = judge(Summary("half a sen", stop), 1_000, 0.2, count)

    assert isinstance(verdict, Accepted) is (stop == "stop")
    assert getattr(verdict, "is_cut", False) is is_cut


def test_an_answer_that_cannot_be_counted_is_refused() -> None:
    """Whoever looks at it is busy with something else, and must not fail for it."""

    def fail(_: str) -> int:
        raise TokenCountError("the counter has raised ValueError")

    verdict = judge(Summary("good", "stop"), 1_000, 0.2, fail)

    assert verdict == Refused("failed", "the counter has raised ValueError")
