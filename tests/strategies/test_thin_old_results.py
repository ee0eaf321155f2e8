"""Results that are long past keep their ends and the lines that tell of failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.builders import lines, weigh
from tests.strategies.sessions import Step, bodies, changed, histories_of, session
from trimtab import Constraints, Media, Message, Opaque, Text, ToolResult
from trimtab.strategies.history import History
from trimtab.strategies.thin_old_results import thin_old_results

LS = {"command": "ls"}
LONG = lines(200)
LOG = "\n".join(
    [*["fine"] * 99, "test_a.py:3: KeyError: 'x'", *["fine"] * 99, "FAILED test_a", *["fine"] * 99]
)


def thinned(text: str) -> str:
    """What becomes of the words of an old result."""
    history = weigh(session([Step("Bash", LS, text)]), keep_recent=0)
    return bodies(history, thin_old_results(history, 0))[0].text


def test_both_ends_stay() -> None:
    """About 240 characters, and between them how many went."""
    text = f"{'a' * 300}{'b' * 300}"

    assert thinned(text) == f"{'a' * 120}\n[trimtab: 360 characters removed]\n{'b' * 120}"


def test_lines_that_tell_of_failures_stay() -> None:
    """They stand between shorter ends, the first of them if there are many."""
    assert thinned(LOG) == (
        "fine\n" * 12 + "[trimtab: 1366 characters removed, but for lines that tell of failures]\n"
        "test_a.py:3: KeyError: 'x'\n"
        "FAILED test_a\n"
        "[trimtab: it ended with]\n" + "fine\n" * 11 + "fine"
    )


def test_a_failure_that_an_end_shows_is_not_told_twice() -> None:
    """Where all of them stand at the ends, the ends are as long as without."""
    text = f"KeyError: 'x'\n{'a' * 300}{'b' * 300}"

    assert thinned(text) == (
        f"KeyError: 'x'\n{'a' * 106}\n[trimtab: 374 characters removed]\n{'b' * 120}"
    )


def test_a_line_that_is_too_long_is_cut_and_many_are_left_out() -> None:
    """The lines that tell of failures have 120 characters."""
    long_line = f"KeyError: {'k' * 500}"
    many = "\n".join(f"KeyError: number {number}" for number in range(100))

    assert f"\nKeyError: {'k' * 110}\n" in thinned(f"{'a' * 300}\n{long_line}\n{'b' * 300}")
    assert thinned(f"{'a' * 300}\n{many}\n{'b' * 300}").count("KeyError") == 6


@pytest.mark.parametrize("text", ["", "x", "x" * 480, lines(40)])
def test_a_short_result_stays(text: str) -> None:
    """Up to 480 characters."""
    assert len(text) <= 480
    assert thinned(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 200,
        "e\u0301" * 400,
        "\\u00e9" * 200,
        "\x1b[31m" * 200,
    ],
)
def test_nothing_is_cut_in_its_middle(text: str) -> None:
    """Characters and escapes stay whole."""
    unit = text[: len(text) // text.count(text[0])] if text[0] != "\U0001f468" else text[:5]
    head, _, tail = thinned(text).partition("\n[trimtab: ")
    tail = tail.partition("]\n")[2]

    assert head.replace(unit, "") == ""
    assert tail.replace(unit, "") == ""


def test_the_newest_messages_stay() -> None:
    """Twice as many as the policy keeps."""
    steps = [Step("Bash", {"command": str(number)}, LONG) for number in range(6)]
    history = weigh(session(steps), keep_recent=3)  # of 15 messages, 6 stay

    assert [edit.message for edit in thin_old_results(history, 0)] == [2, 4, 6, 8]


def test_a_failure_is_thinned_and_a_refusal_is_not() -> None:
    """What a human said of a call stays, word for word."""
    refusal = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. The user "
        f"provided the following reason for the rejection: {'never touch this. ' * 40}"
    )
    maybe = f"Please use the other script instead. {'never touch this. ' * 40}"
    steps = [
        Step("Bash", LS, LOG, is_error=True),
        Step("Bash", LS, refusal, is_error=True),
        Step("Bash", LS, refusal),
        Step("Bash", LS, maybe, is_error=True),
        Step("Bash", LS, maybe),
    ]
    history = weigh(session(steps), keep_recent=0)

    edits = thin_old_results(history, 0)

    assert list(changed(edits)) == ["c0", "c4"]
    assert [result.is_error for result in bodies(history, edits)][:5] == [
        *(True, True, False, True, False),
    ]


def test_what_may_not_be_touched_is_not() -> None:
    """What is protected or not understood, an exempt tool's, and what was made."""
    steps = [Step("Bash", LS, LONG)]
    odd = ToolResult("", (Text(LONG), Opaque("odd", "{}")))
    for history in (
        weigh(session(steps), keep_recent=0, protect=lambda message: "c0" in message.result_ids),
        weigh(session(steps), keep_recent=0, constraints=Constraints(frozen=frozenset([2]))),
        weigh(session(steps), keep_recent=0, tool_lines={"Bash": 0}),
        weigh(session([Step("Bash", LS, odd)]), keep_recent=0),
        weigh(session([Step("Bash", LS, f"[trimtab: {LONG}]")]), keep_recent=0),
    ):
        assert thin_old_results(history, 0) == ()


def test_media_and_signed_words_stay() -> None:
    """Each text is thinned alone, in its place."""
    picture = Media("image", "image/png", data="AAAA", width=8, height=8)
    signed = Text(LONG, opaque="signature")
    shown = ToolResult("", (Text("a" * 600), picture, signed, Text("short")))
    history = weigh(session([Step("Bash", LS, shown)]), keep_recent=0)

    (edit,) = thin_old_results(history, 0)

    thin = Text(f"{'a' * 120}\n[trimtab: 360 characters removed]\n{'a' * 120}")
    assert edit.new == ToolResult("c0", (thin, picture, signed, Text("short")))


def test_a_result_that_nobody_asked_for_is_thinned_too() -> None:
    """It is as long as any other."""
    messages = [Message.user("go"), Message.tool("z", LONG), *session([])[1:]]
    history = weigh(messages, keep_recent=0)

    assert [edit.message for edit in thin_old_results(history, 0)] == [1]


def test_it_stops_when_the_target_is_met_oldest_first() -> None:
    """No more results are thinned than the target needs."""
    history = weigh(session([Step("Bash", LS, LONG)] * 3), keep_recent=0)

    assert [e.message for e in thin_old_results(history, history.total_tokens - 1)] == [2]
    assert thin_old_results(history, history.total_tokens) == ()


@settings(max_examples=60)
@given(histories_of, st.floats(0, 1), st.integers(0, 3))
def test_it_only_ever_shortens_old_results_and_only_once(
    steps: list[Any], share: float, keep_recent: int
) -> None:
    """Never what is protected or recent, in order, to a smaller total; again it finds nothing."""
    history = weigh(session(steps), keep_recent=keep_recent)
    target = int(history.total_tokens * share)

    edits = thin_old_results(history, target)

    after = history.after(edits)
    assert thin_old_results(after, target) == ()
    assert thin_old_results(history, target) == edits
    assert after.total_tokens <= history.total_tokens - len(edits)
    places = [(edit.message, edit.part) for edit in edits]
    assert places == sorted(set(places))
    assert not {edit.message for edit in edits} & untouchable(history)


def untouchable(history: History) -> set[int]:
    """Messages that are protected, or among the newest."""
    protected = {history.boundaries.pieces[place].ref.message for place in history.protected}
    count = len(history.messages)
    return protected | set(range(max(0, count - 2 * history.policy.keep_recent), count))


@given(st.text(max_size=30), st.text(st.sampled_from("ab\n :\\\u0301"), max_size=3000))
def test_a_thinned_text_is_short_and_is_not_thinned_again(start: str, rest: str) -> None:
    """At most 480 characters, for any text."""
    once = thinned(f"{start}{rest}")

    assert len(once) <= 480
    assert thinned(once) == once
