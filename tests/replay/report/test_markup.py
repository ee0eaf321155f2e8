"""HTML in which every word is escaped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.replay.report.pages import page_of
from trimtab.replay.report.markup import join, tag

WORDS = st.text().filter(lambda words: words.isprintable())


@given(WORDS, WORDS)
def test_words_come_back_as_they_were(words: str, value: str) -> None:
    """In an element and in an attribute."""
    page = page_of(tag("p", words, title=value))

    assert page.errors == []
    assert page.texts["p"] == [words]
    assert page.all("p") == [{"title": value}]


def test_html_is_put_in_as_it_is() -> None:
    """And nothing is put in for nothing."""
    made = tag(
        "p", tag("b", "a & b"), None, " < c", class_="x", data_key=None, hidden=True, open=False
    )

    assert made == '<p class="x" hidden><b>a &amp; b</b> &lt; c</p>'
    assert join("<", None, tag("i")) == "&lt;<i></i>"
