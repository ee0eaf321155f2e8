"""What a terminal shows is what stays of what was written to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.terminal_noise import terminal_noise

ESC = "\x1b"

SHOWN = [
    (f"{ESC}[31;1mred{ESC}[0m and {ESC}[38;5;12mblue{ESC}[K", "red and blue"),
    (f"{ESC}]0;a title\x07$ ls{ESC}(B", "$ ls"),
    (f"{ESC}]0;a title{ESC}\\$ ls", "$ ls"),
    ("ding\x07", "ding"),
    ("10 %\r50 %\r100 %\n", "100 %\n"),
    (
        "get a [=>  ] 10%\rget a [==>] 99%\rget b [=>  ] 5%\r\n",
        "get a [==>] 99%\nget b [=>  ] 5%\n",
    ),
    ("working 1%\rERROR: disk full\rworking 2%", "working 1%\nERROR: disk full\nworking 2%"),
    ("gone\r    \rleft", "gone\nleft"),
    ("\r", ""),
    ("10%\b\b\b20%", "20%"),
    ("- \b\b\\ \b\b| \b\bdone", "done"),
    ("left as it is\b\b\b", "left as it is"),
    ("b\bbo\bol\bld\bd", "bold"),
    ("\b\bx", "x"),
    (f"{ESC}[0mcell   \t\n\n\n\nnext  \r\nlast", "cell\n\nnext\nlast"),
    (f"{ESC}{ESC}[0m[0m", ""),
    (f"{ESC}{ESC}[K[K", "[K"),
    (f"{ESC}]0;never ended\nnext", "]0;never ended\nnext"),
]


@pytest.mark.parametrize(("written", "shown"), SHOWN)
def test_what_is_shown_stays(written: str, shown: str) -> None:
    """Colours, titles, redrawn states and backspaces go; words do not."""
    assert terminal_noise(written) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def f():\n\n\n\n    return 1   \n\t\n",
        "windows\r\nlines  \r\n\r\n\r\n",
        "name   | size  \n-------+-------\n",
    ],
)
def test_a_text_without_a_trace_of_a_terminal_is_left_alone(text: str) -> None:
    """It may show a file, which must be quoted blanks and all."""
    assert terminal_noise(text) is text


@pytest.mark.parametrize("end", ["\x07", f"{ESC}\\"])
def test_the_address_of_a_link_stays(end: str) -> None:
    """Where a link leads is told nowhere else."""
    link = f"{ESC}]8;;https://a.example/1{end}here{ESC}]8;;{end}"

    assert terminal_noise(f"{ESC}[1msee {link}{ESC}[0m") == f"see {link}"


@pytest.mark.parametrize("mark", [ESC, "\b", "\r", f"{ESC}]", f"{ESC}[", "a\r", "a\b", f"{ESC}]8;"])
def test_more_controls_than_a_terminal_is_ever_sent_are_left_alone(mark: str) -> None:
    """A text of nothing else takes no time to speak of."""
    text = mark * 200_001

    assert terminal_noise(text) is text


@given(st.text(st.sampled_from(f"a1 \n\r\b\t{ESC}[]0;8m\\\x07="), max_size=60))
def test_doing_it_twice_is_doing_it_once(text: str) -> None:
    """Nothing that is left can be taken for noise, and nothing grows."""
    once = terminal_noise(text)

    assert terminal_noise(once) == once
    assert len(once) <= len(text)


@given(st.lists(st.sampled_from(["ok", "ERROR: no", "a b"]), min_size=1), st.sampled_from("\r\n"))
def test_every_wording_of_a_redrawn_line_stays(states: list[str], mark: str) -> None:
    """No message is lost because another was written over it."""
    shown = terminal_noise(mark.join(states) + ESC)

    assert set(states) == set(shown.split("\n"))
