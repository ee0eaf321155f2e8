"""Ledgers across compactions."""

from __future__ import annotations

from tests.ledger.talk import characters, marker, ran, said, used
from trimtab import Message
from trimtab.boundaries import MARKER
from trimtab.ledger import Ledger, gather, merge, read_ledger, render

RULES = tuple(f"Never touch the {word} folder." for word in ("red", "blue", "green", "grey"))


def test_five_compactions_lose_no_rule() -> None:
    """What an earlier marker lists is merged and not stacked."""
    ledger = gather(said(*RULES))
    for number in range(5):
        talk = said(f"What is in the file number {number}?")
        ledger = gather([marker(ledger), *talk])

    assert ledger.rules == RULES
    assert len(ledger.words) == 5


def test_a_later_span_replaces_what_an_earlier_marker_lists() -> None:
    """The newest value wins across compactions too."""
    earlier = gather([*said("Budget cap is $300 total."), *used("Read", {"path": "a.py"})])

    ledger = gather(
        [marker(earlier), *said("Budget cap is $700 total."), *used("Edit", {"path": "a.py"})]
    )

    assert ledger == Ledger(rules=("Budget cap is $700 total.",), files=("a.py: edited",))


def test_a_marker_that_is_joined_to_the_users_own_words_is_read() -> None:
    """Both the words and what the marker lists are kept."""
    text = f"Never pull.\n\n{MARKER}\n\n{render(Ledger(rules=('Never push.',)), 500, characters)}"

    assert gather([Message.user(text)]).rules == ("Never push.", "Never pull.")


def test_a_briefing_keeps_its_ledger() -> None:
    """A summary's own words add nothing; the ledger in front of them is read."""
    page = render(Ledger(rules=("Never push.",)), 500, characters)
    briefing = Message.user(f"{MARKER}\n\n{page}\n\nAlways pull.", origin="summary")

    assert gather([briefing]) == Ledger(rules=("Never push.",))


def test_merging_is_idempotent_and_the_newer_goes_first() -> None:
    """A ledger merged with itself is itself."""
    older = Ledger(("Max 5 retries.",), ("What?",), ("a: read",), ("JOB_ID=1",), ("[ ] a",))
    newer = Ledger(("Max 3 retries.",), (), ("a: edited",), ("JOB_ID=2",), ())

    assert merge(older, older) == older
    assert merge(older, newer) == Ledger(
        ("Max 3 retries.",), ("What?",), ("a: edited",), ("JOB_ID=2",), ("[ ] a",)
    )
    assert merge(Ledger(), older) == older
    assert merge(older, Ledger()) == older


def test_nothing_gathered_is_false() -> None:
    """An empty ledger is told apart at a glance."""
    assert not gather([])
    assert gather(said("Never push."))


def test_a_whole_session_makes_one_page() -> None:
    """Words, files, values and plan of a span stand on one page and are read back."""
    span = [
        *said("Fix the parser in src/p.py.", "Never push."),
        *used("Edit", {"path": "src/p.py"}),
        *ran("make deploy", "JOB_ID=12"),
        *used("update_plan", {"plan": [{"step": "look", "status": "completed"}]}),
    ]
    ledger = gather(span)

    assert ledger == Ledger(
        ("Never push.",),
        ("Fix the parser in src/p.py.",),
        ("src/p.py: edited",),
        ("JOB_ID=12",),
        ("[x] look",),
    )
    assert read_ledger(render(ledger, 1_000, characters)) == ledger
