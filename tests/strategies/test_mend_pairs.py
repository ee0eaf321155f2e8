"""A history that arrived broken is mended, the same way each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.builders import words_of
from trimtab import Constraints, Message, Opaque, Plan, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import apply
from trimtab.strategies.mend_pairs import EMPTY, NO_RESULT, mend_pairs

LOOSE = Constraints(results_must_follow=False)
MERGES = Constraints(neighbours_are_one_turn=True)
NO_BLANKS = Constraints(refuses_blank_text=True)


def calls(*ids: str) -> Message:
    """An assistant message with some calls."""
    return Message.assistant(*(ToolCall(call_id, "look", "{}") for call_id in ids))


def mended(messages: list[Message], constraints: Constraints = Constraints()) -> list[Message]:  # noqa: B008 - a frozen value
    """The messages under their mending."""
    plan = Plan(mend_pairs(messages, constraints))
    return [slot.message for slot in apply(plan, messages)]


def test_a_sound_history_is_left_alone() -> None:
    """Results in any order behind their calls need nothing."""
    messages = [Message.user("go"), calls("a", "b"), Message.tool("b", "2"), Message.tool("a", "1")]

    assert mend_pairs(messages, Constraints()) == ()


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    """The result stands behind the call, is an error, and holds no date or id of its own."""
    messages = [Message.user("go"), calls("a", "b"), Message.tool("a", "1"), Message.user("hello?")]

    result = mended(messages)

    assert words_of(result) == ["go", "call a + call b", "result b", "result a", "hello?"]
    assert result[2].parts == (ToolResult("b", (Text(NO_RESULT),), is_error=True),)
    assert result[2].origin == "repair"


def test_a_call_at_the_end_gets_its_result_too() -> None:
    """A request that ends with an unanswered call would be refused."""
    assert words_of(mended([Message.user("go"), calls("a")])) == ["go", "call a", "result a"]


def test_a_result_that_nothing_asked_for_goes() -> None:
    """Orphans and second answers are dropped, part by part."""
    messages = [
        Message.tool("lost", "0"),
        Message.user("go"),
        calls("a"),
        Message("user", [ToolResult("a", ()), ToolResult("a", ()), Text("words")]),
    ]

    assert words_of(mended(messages)) == ["go", "call a", "result a + words"]


def test_a_late_result_moves_behind_its_call() -> None:
    """Where results must follow, one that stands elsewhere is put where it belongs."""
    messages = [Message.user("go"), calls("a"), Message.user("wait"), Message.tool("a", "1")]

    assert words_of(mended(messages)) == ["go", "call a", "result a", "wait"]
    assert mended(messages)[2].parts == (ToolResult("a", (Text("1"),)),)
    assert mended(messages, LOOSE) == messages


def test_a_result_behind_words_stays_where_the_provider_takes_it_there() -> None:
    """What is accepted is no fault."""
    messages = [calls("a"), Message("user", [Text("words"), ToolResult("a", (Text("1"),))])]

    assert mend_pairs(messages, Constraints(results_come_first=False)) == ()


def test_reasoning_that_must_not_stand_alone_goes_where_it_does() -> None:
    """Before words of the user, before a result and at the end; not before an answer or a call."""
    alone, free = Message.assistant(Thinking("hm", "{}", needs_answer=True)), Thinking("hm")
    messages = [
        Message.user("go"),
        alone,
        alone,
        Message.user("again"),
        alone,
        calls("a"),
        alone,
        Message.tool("a", "1"),
        Message.assistant(free),
        Message.user("once more"),
        alone,
        Message.assistant(free),
        Message.assistant("ok"),
        alone,
    ]

    kept = [messages[place] for place in (0, 3, 4, 5, 7, 8, 9, 10, 11, 12)]
    assert mended(messages, LOOSE) == kept
    assert mended(kept, LOOSE) == kept


def test_a_result_behind_words_moves_to_the_front() -> None:
    """Results come first in the message behind their calls."""
    messages = [calls("a"), Message("user", [Text("words"), ToolResult("a", (Text("1"),))])]

    assert words_of(mended(messages)) == ["call a", "result a", "words"]


def test_neighbours_are_one_turn_only_where_the_format_says_so() -> None:
    """A result behind two assistant messages answers both, or the call gets its own."""
    messages = [Message.user("go"), calls("a"), Message.assistant("so"), Message.tool("a", "1")]

    assert mend_pairs(messages, MERGES) == ()
    assert words_of(mended(messages)) == ["go", "call a", "result a", "so"]


def test_a_result_behind_a_second_call_of_the_same_id_answers_that_one() -> None:
    """Where ids are used again, the first call without a result does not take the second's."""
    messages = [calls("a"), Message.user("hm"), calls("a"), Message.tool("a", "second")]

    result = mended(messages)

    assert words_of(result) == ["call a", "result a", "hm", "call a", "result a"]
    assert [part.is_error for m in result for part in m.parts if isinstance(part, ToolResult)] == [
        True,
        False,
    ]


def test_blank_texts_go_where_they_are_refused() -> None:
    """Blank parts leave, and a message that held nothing else says that it was empty."""
    messages = [
        Message.user("go", " \n"),
        Message.assistant(""),
        Message("user", []),
        Message.assistant("ok"),
    ]

    result = mended(messages, NO_BLANKS)

    assert words_of(result) == ["go", EMPTY, EMPTY, "ok"]
    assert [message.role for message in result] == ["user", "assistant", "user", "assistant"]
    assert mend_pairs(messages, Constraints()) == ()


def test_a_final_answer_may_be_blank() -> None:
    """The last assistant message is the one that a provider takes empty."""
    assert mend_pairs([Message.user("go"), Message.assistant("")], NO_BLANKS) == ()


def test_blank_texts_inside_a_result_go() -> None:
    """A result keeps its other blocks."""
    result = ToolResult("a", (Text(""), Text("1"), Opaque("x", "{}")))
    messages = [Message.user("go"), calls("a"), Message("tool", [result]), Message.user("next")]

    assert mended(messages, NO_BLANKS)[2].parts == (
        ToolResult("a", (Text("1"), Opaque("x", "{}"))),
    )


@given(
    st.lists(
        st.one_of(
            st.sampled_from([Message.user("u"), Message.assistant("a"), Message.assistant("")]),
            st.lists(st.sampled_from("abc"), min_size=1, max_size=2, unique=True).map(
                lambda i: calls(*i)
            ),
            st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(
                lambda ids: Message("user", [ToolResult(i, ()) for i in ids])
            ),
        ),
        max_size=12,
    ),
    st.sampled_from([Constraints(), MERGES, NO_BLANKS]),
)
def test_mending_twice_is_mending_once(messages: list[Message], constraints: Constraints) -> None:
    """Whatever is broken: afterwards every call has one result behind it, and nothing is left to do."""
    once = mended(messages, constraints)

    assert mend_pairs(once, constraints) == ()
    words = [word for word in words_of(messages) if word in ("u", "a")]
    assert [word for word in words_of(once) if word in ("u", "a")] == words
