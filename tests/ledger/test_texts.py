"""Lines, sentences and clauses."""

from __future__ import annotations

from trimtab.ledger.texts import clauses, joined, one_line, pieces, shortened, tidy, word_cut


def test_texts_are_cut_at_sentences_and_clauses_and_join_to_the_same() -> None:
    """Numbers, abbreviations and items of a list end no sentence."""
    text = "Use v3.11, e.g. Python. 1. Do it! Then stop; and never start it again.\n别碰它。好。"

    assert pieces(text) == [
        "Use v3.11, e.g. Python. ",
        "1. Do it! ",
        "Then stop; and never start it again.\n",
        "别碰它。",
        "好。",
    ]
    assert "".join(pieces(text)) == "".join(clauses(text)) == text
    assert clauses("The port is 80; never use another one.") == [
        "The port is 80; ",
        "never use another one.",
    ]


def test_line_breaks_of_all_kinds_become_plain_and_empty_lines_go() -> None:
    """No break is left that somebody could take for a new line."""
    assert tidy("a \r\n\r\n b\rc\u2028d\x0be\x85f") == "a\n b\nc\nd\ne\nf"
    assert one_line(" a\n b\u2028c ") == "a b c"


def test_gaps_are_marked_once() -> None:
    """A sign stands where something is left out, at the ends too."""
    parts = ["a. ", "b. ", "c. ", "d."]

    assert joined(parts, [0, 1, 2, 3]) == "a. b. c. d."
    assert joined(parts, [1, 3]) == "… b. … d."
    assert joined(parts, [0]) == "a. …"
    assert joined(parts, []) == ""


def test_a_text_is_shortened_by_whole_sentences_the_worthiest_first() -> None:
    """What fits is quoted, in its order."""
    text = "One is it. Two two two. Three."

    assert shortened(text, len, lambda quoted: len(quoted) <= 20) == "… Two two two. …"
    assert shortened(text, len, lambda quoted: len(quoted) <= 99) == text
    assert shortened("… Long one. …", len, lambda quoted: len(quoted) <= 6) == ""
    assert shortened("… … … …", len, lambda quoted: len(quoted) <= 3) == ""
    assert shortened("a bb ccc dddd eeeee", len, lambda quoted: len(quoted) <= 12) == "a bb ccc …"


def test_a_sentence_is_cut_between_words_only() -> None:
    """No word, escape or grapheme is parted; fewer than three words say nothing."""
    assert word_cut("one two three four", lambda cut: len(cut) <= 16) == "one two three …"
    assert word_cut("one two three four", lambda cut: len(cut) <= 10) == ""
    assert word_cut("a b c\\ d e", lambda cut: len(cut) <= 8) == ""
    assert word_cut("a b c d\\ e f", lambda cut: len(cut) <= 9) == "a b c …"
