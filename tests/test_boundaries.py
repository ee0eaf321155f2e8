"""Rounds, exchanges, cuts and what is protected."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab import Constraints, Message, Text, ToolCall, ToolResult
from trimtab.boundaries import (
    MARKER,
    Atom,
    Boundaries,
    Piece,
    is_made,
    protected_pieces,
    round_starts,
)
from trimtab.plan import Ref


def calls(*ids: str, text: str = "") -> Message:
    """An assistant message that calls a tool for each id."""
    words = (Text(text),) if text else ()
    return Message.assistant(*words, *(ToolCall(call_id, "look", "{}") for call_id in ids))


def results(*ids: str, words: str = "") -> Message:
    """A user message with a result for each id, as Anthropic has it."""
    said = (Text(words),) if words else ()
    return Message("user", [*(ToolResult(i, (Text("r"),)) for i in ids), *said])


def test_each_message_without_calls_is_an_atom_of_its_own() -> None:
    """Talk is kept or dropped message by message."""
    boundaries = Boundaries([Message.user("a"), Message.assistant("b"), Message.assistant("c")])

    assert boundaries.atoms == (Atom((0,)), Atom((1,)), Atom((2,)))
    assert boundaries.cuts == (1, 2, 3)


def test_a_call_and_all_its_results_are_one_atom() -> None:
    """Parallel calls are kept or dropped whole, and no cut lies inside."""
    messages = [Message.user("go"), calls("a", "b"), Message.tool("b", "2"), Message.tool("a", "1")]

    boundaries = Boundaries(messages)

    assert boundaries.atoms == (Atom((0,)), Atom((1, 2, 3), is_exchange=True))
    assert boundaries.cuts == (1, 4)


def test_a_run_of_assistant_messages_with_calls_is_one_exchange() -> None:
    """Consecutive assistant messages belong together, wherever in the run the calls are."""
    messages = [Message.user("go"), Message.assistant("hm"), calls("a"), Message.tool("a", "1")]

    assert Boundaries(messages).atoms == (Atom((0,)), Atom((1, 2, 3), is_exchange=True))


def test_results_that_lie_elsewhere_still_belong_to_their_exchange() -> None:
    """An exchange reaches as far as its last result, and no cut parts it."""
    messages = [calls("a"), Message.user("wait"), Message.tool("a", "1"), Message.user("next")]

    boundaries = Boundaries(messages)

    assert boundaries.atoms == (Atom((0, 2), is_exchange=True), Atom((1,)), Atom((3,)))
    assert boundaries.cuts == (3, 4)


def test_a_message_with_results_and_words_is_two_pieces() -> None:
    """The results belong to their exchange, the words begin a round of their own."""
    messages = [Message.user("go"), calls("a"), results("a", words="and now?")]

    boundaries = Boundaries(messages)

    assert boundaries.pieces == (
        Piece(Ref(0), 0),
        Piece(Ref(1), 1),
        Piece(Ref(2, (0,)), 1, is_result=True),
        Piece(Ref(2, (1,)), 2),
    )
    assert boundaries.cuts == (1, 3, 4)


def test_exchanges_whose_results_share_a_message_are_one_atom() -> None:
    """What cannot be dropped apart is kept together."""
    messages = [calls("a"), Message.user("hm"), calls("b"), results("a", "b")]

    assert Boundaries(messages).atoms == (Atom((0, 2, 3), is_exchange=True), Atom((1,)))


def test_a_result_that_nothing_asked_for_is_an_atom_of_its_own() -> None:
    """An orphan is carried along alone, and no tail begins with it."""
    boundaries = Boundaries([Message.user("go"), Message.tool("lost", "1"), Message.user("next")])

    assert boundaries.atoms == (Atom((0,)), Atom((1,)), Atom((2,)))
    assert boundaries.cuts == (2, 3)


def test_a_call_without_a_result_is_pending() -> None:
    """An exchange that waits for an answer says so."""
    messages = [Message.user("go"), calls("a", "b"), Message.tool("a", "1")]

    assert Boundaries(messages).atoms[1] == Atom((1, 2), is_exchange=True, is_pending=True)


def test_an_id_that_is_used_again_belongs_to_its_newest_call() -> None:
    """Servers that count their ids from 0 each turn do not mix exchanges up."""
    messages = [calls("0"), Message.tool("0", "1"), calls("0"), Message.tool("0", "2")]

    assert Boundaries(messages).atoms == (
        Atom((0, 1), is_exchange=True),
        Atom((2, 3), is_exchange=True),
    )


def test_a_format_can_forbid_a_tail_to_begin_somewhere() -> None:
    """Constraints take cuts away."""
    messages = [Message.user("a"), Message.assistant("b"), Message.user("c")]

    assert Boundaries(messages, Constraints(illegal_starts=frozenset([1]))).cuts == (2, 3)


def test_a_head_never_ends_inside_an_exchange() -> None:
    """A head that would end between a call and its results ends before the call."""
    messages = [Message.user("go"), calls("a", "b"), Message.tool("a", "1"), Message.tool("b", "2")]
    boundaries = Boundaries(messages)

    assert [boundaries.head_end(first) for first in range(6)] == [0, 1, 1, 1, 4, 4]


def test_rounds_begin_with_words_that_the_user_said() -> None:
    """Results alone, markers and summaries begin no round."""
    messages = [
        Message.user("a"),
        calls("1"),
        results("1"),
        results("1", words="b"),
        Message.user(MARKER),
        Message.user("c", origin="summary"),
        Message.user("d"),
    ]

    assert round_starts(messages) == [0, 3, 6]


def test_what_we_made_is_known_by_origin_or_by_its_words() -> None:
    """A marker that went through JSON has lost its origin and is still known."""
    assert is_made(Message.user("x", origin="marker"))
    assert is_made(Message.user(f"{MARKER}\nwith more below"))
    assert not is_made(Message.user("[trimtab: 3 lines removed] what does this mean?"))
    assert not is_made(Message.user(f"what does {MARKER} mean?"))
    assert not is_made(Message.assistant(MARKER))


def test_what_is_protected_and_why() -> None:
    """System, first and newest words, newest exchange, pending calls and named messages stay."""
    messages = [
        Message.system("rules"),
        Message.user("task"),
        calls("old"),
        Message.tool("old", "1"),
        Message.assistant("keep me"),
        Message.user("unknown"),
        Message.user("now"),
        calls("new"),
        Message.tool("new", "2"),
        calls("open"),
    ]
    constraints = Constraints(frozen=frozenset([5]))

    reasons = protected_pieces(
        messages, Boundaries(messages), constraints, lambda m: m.text == "keep me"
    )

    assert reasons == {
        0: "system message",
        1: "first user message",
        4: "named by protect",
        5: "holds something that is not understood",
        6: "newest user message",
        9: "newest exchange",
    }


def test_one_user_message_is_first_and_newest() -> None:
    """The only thing the user said is protected once."""
    messages = [Message.user("task"), Message.assistant("done")]

    assert protected_pieces(messages, Boundaries(messages)) == {0: "first user message"}


def test_a_protected_piece_protects_its_whole_atom() -> None:
    """A result that the user names keeps its call and the results beside it."""
    messages = [
        Message.user("go"),
        calls("a", "b"),
        Message.tool("a", "secret"),
        Message.tool("b", "2"),
        calls("c"),
        Message.tool("c", "3"),
    ]

    reasons = protected_pieces(
        messages,
        Boundaries(messages),
        protect=lambda m: any("secret" in p.text for p in m.parts if isinstance(p, ToolResult)),
    )

    assert {place for place, why in reasons.items() if why == "named by protect"} == {1, 2, 3}


def test_a_call_that_waits_is_protected() -> None:
    """A pending call in the middle of a history stays."""
    messages = [Message.user("go"), calls("a"), Message.user("hm"), calls("b"), results("b")]

    reasons = protected_pieces(messages, Boundaries(messages))

    assert reasons[1] == "a call waits for its result"


KINDS = st.lists(st.sampled_from(["user", "talk", "call", "two", "answer", "both"]), max_size=25)


def history(kinds: list[str]) -> list[Message]:
    """Messages of some kinds, with results for whatever waits, sound or not."""
    messages: list[Message] = []
    waiting: list[str] = []
    for number, kind in enumerate(kinds):
        match kind:
            case "user":
                messages.append(Message.user("u"))
            case "talk":
                messages.append(Message.assistant("a"))
            case "call" | "two":
                ids = [f"{number}.{n}" for n in range(2 if kind == "two" else 1)]
                waiting += ids
                messages.append(calls(*ids))
            case "answer":
                messages.append(results(*waiting[:1]) if waiting else results("orphan"))
                del waiting[:1]
            case _:
                messages.append(results(*waiting, words="w") if waiting else Message.user("w"))
                waiting.clear()
    return messages


@given(KINDS)
def test_no_cut_parts_a_call_from_its_result(kinds: list[str]) -> None:
    """Whatever the history, a call and its result lie on one side of every cut."""
    messages = history(kinds)
    boundaries = Boundaries(messages)
    for cut in boundaries.cuts:
        before, behind = boundaries.pieces[:cut], boundaries.pieces[cut:]

        called = {i for piece in before for i in messages[piece.ref.message].call_ids}
        answered = {
            part.call_id
            for piece in behind
            if piece.is_result
            for number, part in enumerate(messages[piece.ref.message].parts)
            if isinstance(part, ToolResult) and (not piece.ref.parts or number in piece.ref.parts)
        }
        assert not called & answered
        assert not (behind and behind[0].is_result)


@given(KINDS)
def test_pieces_are_all_parts_of_all_messages_once(kinds: list[str]) -> None:
    """Pieces in a row are the history: nothing twice, nothing lost, each in one atom."""
    messages = history(kinds)
    boundaries = Boundaries(messages)

    parts = [
        (piece.ref.message, part)
        for piece in boundaries.pieces
        for part in piece.ref.parts or range(len(messages[piece.ref.message].parts))
    ]
    assert parts == [(p, n) for p, m in enumerate(messages) for n in range(len(m.parts))]
    assert sorted(p for atom in boundaries.atoms for p in atom.pieces) == list(
        range(len(boundaries.pieces))
    )
