"""Old turns are told in a line each, as many as are needed, and what the user said stays."""

from __future__ import annotations

import pytest

from tests.strategies.builders import answer, call, lines, replay, weigh, words_of
from trimtab import Constraints, Message, Thinking, ToolCall
from trimtab.boundaries import MARKER
from trimtab.strategies.fold import FILLER, GO_ON, fold
from trimtab.strategies.history import History
from trimtab.strategies.one_line_turns import ONE_LINE, one_line_turns


def work(count: int) -> list[Message]:
    """Rounds of one call with a long result and an answer, and a word from the user at the end."""
    messages = []
    for number in range(count):
        command = ToolCall(f"c{number}", "bash", f'{{"command": "make {number}"}}')
        messages += [
            Message.user(f"u{number}"),
            Message.assistant("Let me look.", command),
            answer(f"c{number}", lines(100)),
            Message.assistant(f"done {number}"),
        ]
    return [*messages, Message.user("now")]


LATER = [call("later"), answer("later", "ok")]
"""The newest exchange, which is protected."""


def told(history: History, target: int) -> list[str]:
    """The view when old turns are told in lines."""
    stand_ins = one_line_turns(history, target)
    return words_of(replay(history, fold(history, set(), "why", stand_ins=stand_ins)))


def test_each_old_answer_becomes_a_line_and_its_results_go() -> None:
    """The words, and what was run; the user's words stay."""
    history = weigh(work(3), keep_first=0, keep_recent=5)

    assert told(history, 1) == [
        f"u0 + {MARKER}",
        f"{ONE_LINE} Let me look. (ran bash make 0)\n{ONE_LINE} done 0",
        "u1",
        f"{ONE_LINE} Let me look. (ran bash make 1)\n{ONE_LINE} done 1",
        "u2",
        "Let me look. + call c2",
        "result c2",
        "done 2",
        "now",
    ]


def test_no_more_turns_are_told_than_are_needed() -> None:
    """The oldest first, until the rest meets the target."""
    history = weigh(work(5), keep_first=0, keep_recent=2)
    whole = history.total_tokens

    assert one_line_turns(history, whole) == ()
    for wanted in (1, 2, 3):
        one_turn = history.piece_tokens(2)
        stand_ins = one_line_turns(history, whole - one_turn * wanted + 100)
        assert [stand_in.pieces[0] for stand_in in stand_ins] == [1, 5, 9][:wanted]


def test_a_long_run_is_told_only_as_far_as_is_needed() -> None:
    """What a tool loop did last stays as it was, apart from the lines before it."""
    asked = [m for n in range(20) for m in (call(f"c{n}"), answer(f"c{n}", lines(50)))]
    history = weigh([Message.user("go"), *asked], keep_first=0, keep_recent=4)
    target = history.total_tokens // 2

    view = told(history, target)

    assert view[0] == f"go + {MARKER}"
    assert view[1].startswith(f"{ONE_LINE} (ran look)")
    assert view[2] == GO_ON
    assert view[3].startswith("call c")
    count = view[1].count(ONE_LINE)
    assert view[3] == f"call c{count}"
    assert 8 <= count <= 12


def test_a_loop_that_the_model_may_be_in_is_left_alone() -> None:
    """Where the format knows of one, no word of ours interrupts it; the turns before it are told."""
    asked = [m for n in range(9) for m in (call(f"c{n}"), answer(f"c{n}", lines(50)))]
    messages = [Message.user("u0"), *asked[:6], Message.user("go"), *asked[6:]]
    history = weigh(
        messages, keep_first=0, keep_recent=0, constraints=Constraints(open_loop_start=8)
    )

    view = told(history, 1)

    assert view[:3] == [f"u0 + {MARKER}", "\n".join([f"{ONE_LINE} (ran look)"] * 3), "go"]
    assert view[3:] == words_of(asked[6:])


def test_what_is_told_in_lines_already_stays_as_it_is() -> None:
    """Lines are told again word for word, beside new ones; fillers leave none."""
    line = f"{ONE_LINE} looked (ran bash)"
    messages = [
        Message.user("u0"),
        Message.assistant(f"{line}\n{line}"),
        Message.user(GO_ON),
        call("a"),
        answer("a", lines(100)),
        Message.user("u1"),
        Message.assistant(FILLER),
        Message.user("u2"),
        *LATER,
        Message.user("now"),
    ]
    history = weigh(messages, keep_first=0, keep_recent=1)

    assert told(history, 1) == [
        f"u0 + {MARKER}",
        f"{line}\n{line}\n{ONE_LINE} (ran look)",
        "u1",
        FILLER,
        "u2",
        "call later",
        "result later",
        "now",
    ]


def test_what_is_short_protected_first_or_newest_stays() -> None:
    """The head, the newest messages, and an answer that is no longer than its line."""
    history = weigh(work(4), keep_first=4, keep_recent=5, protect=lambda m: m.text == "done 1")

    view = told(history, 1)

    assert view[:4] == ["u0", "Let me look. + call c0", "result c0", "done 0"]
    assert view[5:7] == [f"{ONE_LINE} Let me look. (ran bash make 1)", GO_ON]
    assert view[7] == "done 1"
    assert view[-5:] == ["u3", "Let me look. + call c3", "result c3", "done 3", "now"]
    assert one_line_turns(weigh([Message.user("a"), Message.assistant("b")]), 1) == ()


def test_reasoning_goes_with_its_answer() -> None:
    """A line holds no thought, signed or not."""
    thought = Message.assistant(Thinking("hm" * 400, "signed"), "So it is. " * 40)
    messages = [Message.user("u0"), thought, Message.user("now"), Message.assistant("b")]

    view = told(weigh(messages, keep_first=0, keep_recent=2), 1)

    assert view[1].startswith(f"{ONE_LINE} So it is. So it is.")
    assert view[1].endswith(" …")


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ('{"limit": 3, "path": "src/a.py"}', "read src/a.py"),
        ('{"limit": 3, "text": "b"}', "read b"),
        ('{"limit": 3}', "read"),
        ("[1, 2]", "read"),
        ("{}", "read"),
        ('{"path": "un', 'read {"path": "un'),
        ("[" * 100_000, "read " + "[" * 60 + " …"),
        ('{"path": "' + "p" * 70 + '"}', "read " + "p" * 60 + " …"),
    ],
)
def test_a_call_is_named_with_what_it_was_about(arguments: str, about: str) -> None:
    """Its path, command or first text; what is no JSON as it is."""
    messages = [
        Message.user("u0"),
        Message.assistant(ToolCall("a", "read", arguments)),
        answer("a", lines(400)),
        Message.user("now"),
        *LATER,
    ]

    view = told(weigh(messages, keep_first=0, keep_recent=1), 1)

    assert view[1] == f"{ONE_LINE} (ran {about})"


def test_many_calls_are_counted() -> None:
    """Four are named."""
    calls = [ToolCall(f"c{n}", "look", f'{{"path": "{n}"}}') for n in range(6)]
    results = [answer(f"c{n}", lines(100)) for n in range(6)]
    asked = [Message.assistant(*calls), *results]
    messages = [Message.user("u0"), *asked, Message.user("now"), *LATER]

    view = told(weigh(messages, keep_first=0, keep_recent=1), 1)

    assert view[1] == f"{ONE_LINE} (ran look 0; look 1; look 2; look 3; 2 more)"
