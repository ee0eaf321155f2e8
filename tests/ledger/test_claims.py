"""How much a sentence binds."""

from __future__ import annotations

import pytest

from trimtab.ledger.claims import BINDING, claim_of, is_material, label_end


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("Never touch the red folder.", "The keeper never touched the red folder."),
        ("Always answer in French.", "It always rains in France."),
        ("RULE: two approvals.", "Two approvals came in."),
        ("When you cite, use the primary source.", "When I ran it, it used the primary source."),
        ("Use port 8080.", "Is it port 8080?"),
        ("Don't push.", "I don't know what to push."),
        ("Write every reply in verse.", "Write a poem about a reply in verse."),
        ("The API must return JSON.", "The API returned something."),
        ("Never touch these:\nx", "Never touch these:"),
    ],
)
def test_an_order_that_lasts_claims_more_than_a_story_a_task_or_a_question(
    more: str, less: str
) -> None:
    """The same words claim more where they tell somebody what to do from then on."""
    assert claim_of(more).weight > claim_of(less).weight


def test_what_somebody_does_not_do_forbids_nothing() -> None:
    """A habit is no rule."""
    assert claim_of("We don't know that yet, they said.").weight < BINDING


def test_small_talk_claims_less_than_nothing() -> None:
    """What is not needed later is told apart."""
    assert [claim_of(text).weight for text in ("ok thanks!", "👍", "go on 3", "谢谢", "2")] == [
        -1,
        -1,
        -1,
        -1,
        1,
    ]


def test_a_label_is_found_and_the_level_of_a_log_is_none() -> None:
    """Labels in capitals, and known words in any case."""
    labels = (
        "RULE: x",
        "**Important:** x",
        "- Hard constraint 3: x",
        "重要:x",
        "ERROR: x",
        "so: x",
    )

    assert [text[label_end(text) :] for text in labels] == ["x", "x", "x", "x", "ERROR: x", "so: x"]


def test_code_in_a_fence_claims_nothing() -> None:
    """What stands between fences was not said."""
    assert claim_of("Look:\n```\nnever always must\n```").cues == frozenset()
    assert is_material("def f(x):")
    assert is_material("  return never;")
    assert not is_material("Never return.")
