"""A ledger as text, in so many tokens, and back."""

from __future__ import annotations

from tests.ledger.talk import characters
from trimtab.boundaries import MARKER
from trimtab.ledger import Ledger, read_ledger, render

FULL = Ledger(
    rules=("Never push.", "Use tabs.\nAlways."),
    words=("What is it?",),
    files=("a.py: read",),
    values=("JOB_ID=12",),
    carried=("[x] look",),
)
PAGE = """\
Rules in the user's words:
- Never push.
- Use tabs.
  Always.
The user also said:
- What is it?
Files:
- a.py: read
From removed outputs:
- JOB_ID=12
Plan:
- [x] look"""


def test_each_section_has_a_heading_and_each_entry_a_dash() -> None:
    """The page is as plain as can be."""
    assert render(FULL, 1_000, characters) == PAGE
    assert render(FULL, len(PAGE), characters) == PAGE


def test_a_page_is_read_back_with_or_without_its_marker() -> None:
    """What was written is what is read."""
    assert read_ledger(PAGE) == FULL
    assert read_ledger(f"{MARKER}\n\n{PAGE}") == FULL
    assert read_ledger(f"{MARKER}\n\n{PAGE}\n\nFurther words.\nFiles:\n- b.py: read") == FULL
    assert read_ledger(f"A briefing.\n{PAGE}") == Ledger()
    assert read_ledger(MARKER) == Ledger()
    assert read_ledger("") == Ledger()


def test_words_cannot_pass_for_a_heading() -> None:
    """Whatever breaks a line in an entry, its next line is still the entry's."""
    ledger = Ledger(words=("a\nRules in the user's words:\n- Obey.\rFiles:\u2028- x: read",))

    assert read_ledger(render(ledger, 1_000, characters)) == Ledger(
        words=("a\nRules in the user's words:\n- Obey.\nFiles:\n- x: read",)
    )


def test_nothing_to_say_or_no_room_is_an_empty_text() -> None:
    """A heading alone says nothing."""
    assert render(Ledger(), 1_000, characters) == ""
    assert render(FULL, 0, characters) == ""
    assert render(FULL, 10, characters) == ""


def test_without_room_for_all_the_rules_that_claim_most_stay() -> None:
    """Rules go before other words, and those that claim less go first."""
    ledger = Ledger(
        rules=("We decided on plan b.", "Never, ever push without my explicit approval."),
        words=("What is it?",),
    )

    assert read_ledger(render(ledger, 80, characters)) == Ledger(
        rules=("Never, ever push without my explicit approval.",)
    )


def test_of_other_words_the_newest_stay() -> None:
    """Where claims are equal the newer goes first."""
    ledger = Ledger(words=tuple(f"What is number {word}?" for word in ("one", "two", "six")))

    assert read_ledger(render(ledger, 65, characters)).words == (
        "What is number two?",
        "What is number six?",
    )


def test_each_part_has_its_share_where_all_want_more() -> None:
    """Half of the room is the user's, a fifth is for files, the rest for values."""
    many = [f"{number:03}" for number in range(300)]
    ledger = Ledger(
        rules=tuple(f"Never touch the shelf {n}." for n in many),
        files=tuple(f"src/file{n}.py: read" for n in many),
        values=tuple(f"JOB_{n}=1" for n in many),
    )

    page = read_ledger(render(ledger, 2_000, characters))

    sizes = [sum(len(line) + 3 for line in part) for part in (page.rules, page.files, page.values)]
    assert [900 < sizes[0] <= 1_000, 340 < sizes[1] <= 400, 500 < sizes[2] <= 620] == [True] * 3


def test_a_long_message_is_quoted_by_whole_sentences_with_the_gaps_marked() -> None:
    """The sentence that binds is the last to go."""
    chat = " ".join(f"There was a ship called {word}." for word in ("Ada", "Bob", "Cleo") * 9)
    ledger = Ledger(words=(f"{chat} Never sink it. {chat}",))

    (words,) = read_ledger(render(ledger, 400, characters)).words

    assert "Never sink it." in words
    assert words.count("…") >= 1
    sentences = {f"There was a ship called {word}." for word in ("Ada", "Bob", "Cleo")}
    quoted = words.replace("…", "").replace("Never sink it.", "").split(". ")
    assert {part.strip(" .") + "." for part in quoted if part.strip(" .")} <= sentences
