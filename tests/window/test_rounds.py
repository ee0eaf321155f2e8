"""Rounds and exchanges that are found message by message are those of the whole history."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.window.conversations import calling, rounds, texts
from trimtab import Budget, Message, Text, ToolResult
from trimtab.boundaries import Boundaries
from trimtab.window.pieces import Piece, pieces_of
from trimtab.window.rounds import SUMMARY_HEAD, Rounds, is_summary
from trimtab.window.start import Window

IDS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message of any kind; its ids may have been used, or answered, or neither."""
    kind = draw(st.sampled_from(["user", "assistant", "calls", "results", "both", "system"]))
    match kind:
        case "calls":
            return calling("a", *((call_id, "f", "{}") for call_id in draw(IDS)))
        case "results" | "both":
            results = [ToolResult(call_id, (Text("r"),)) for call_id in draw(IDS)]
            return Message("user", [*results, *([Text("w")] if kind == "both" else [])])
        case "user":
            return Message.user("u")
        case "system":
            return Message.system("s")
        case _:
            return Message.assistant("a")


@given(st.lists(messages(), max_size=20))
@settings(max_examples=100)
def test_exchanges_found_one_by_one_are_those_of_the_whole(history: list[Message]) -> None:
    """The same messages belong together as in a history that is there as a whole."""
    found = Rounds()
    pieces = [piece for message in history for piece in pieces_of(message)]
    for piece in pieces:
        found.add(piece.message, 1)

    whole = Boundaries([piece.message for piece in pieces])
    exchanges = [atom.pieces for atom in whole.atoms if atom.is_exchange]
    for members in exchanges:
        assert len({id(found.round_of(place)) for place in members}) == 1
    assert sum(each.tokens for each in found.rounds) == found.tokens == len(pieces)
    assert found.count == len(found.rounds)


@given(
    st.lists(st.tuples(messages(), st.integers(0, 9), st.integers(0, 9)), max_size=24),
    st.builds(
        Budget,
        st.one_of(st.none(), st.integers(1, 60)),
        st.one_of(st.none(), st.integers(0, 5)),
    ),
    st.sampled_from([0.3, 0.7, 1.0]),
)
@settings(max_examples=150)
def test_what_is_told_is_what_is_shown(
    history: list[tuple[Message, int, int]], budget: Budget, low_water: float
) -> None:
    """However often one looks: the same messages, whole exchanges, their weight and their rounds."""
    often, once = Window(budget, low_water), Window(budget, low_water)
    pieces: list[Piece] = []
    for message, tokens, chance in history:
        for piece in pieces_of(message, is_protected=chance == 0):
            piece.tokens = tokens
            pieces.append(piece)
            often.add(piece)
            once.add(piece)
        often.messages()

    found = often.rounds
    visible = [place for place in range(len(pieces)) if found.is_visible(place)]
    assert list(map(id, often.messages())) == list(map(id, once.messages()))
    assert sum(pieces[place].tokens or 0 for place in visible) == (
        found.kept_tokens + found.protected_tokens
    )
    assert all(place in visible for place, piece in enumerate(pieces) if piece.is_protected)
    for atom in Boundaries([piece.message for piece in pieces]).atoms:
        if atom.is_exchange:
            assert len({place in visible for place in atom.pieces}) == 1
    kept = {id(found.round_of(place)) for place in visible}
    assert found.kept_count + found.protected_count >= len(kept)


def test_a_summary_is_no_part_of_a_round() -> None:
    """It stands for itself, also where it is known by its first line alone."""
    made = Message.user("anything", origin="summary")
    read_back = Message.user(f"{SUMMARY_HEAD}\nanything")
    found = Rounds()
    for place, message in enumerate([made, *rounds(1, 1), read_back, Message.assistant("more")]):
        found.add(message, 1, is_protected=place == 4)

    assert [is_summary(message) for message in (made, read_back, *rounds(1, 1))] == [
        True,
        True,
        False,
        False,
    ]
    assert [(each.is_summary, each.is_protected, each.tokens) for each in found.rounds] == [
        (True, False, 1),
        (False, True, 3),
        (True, False, 1),
    ]
    assert (found.count, found.protected_tokens, found.kept_tokens) == (1, 3, 2)


def test_a_summary_behind_the_newest_round_does_not_push_it_out() -> None:
    """Whoever records one there still has the newest round."""
    window = Window(Budget(3), 1.0)
    summary = Message.user("s", origin="summary")
    for message in [*rounds(1, 1), summary, Message.assistant("b"), *rounds(2, 3)]:
        for piece in pieces_of(message):
            piece.tokens = 1
            window.add(piece)

    assert texts(window.messages()) == "u3 a3"


def test_exchanges_that_share_a_message_are_one() -> None:
    """One of them was dropped before the message came that answers both: both stay."""
    window = Window(Budget(5), 1.0)
    both = Message("user", [ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),))])
    history = [
        Message.user("go"),
        calling("first", ("a", "f", "{}")),
        Message.system("note"),
        calling("second", ("b", "f", "{}")),
        Message.system("note"),
        calling("third", ("c", "f", "{}")),
        both,
    ]
    shown = []
    for message in history:
        piece = Piece(message, tokens=1)
        window.add(piece)
        shown.append(texts(window.messages()))

    assert shown[-2:] == ["go note second note third", "go note note third"]
    ids = list(itertools.chain.from_iterable(m.result_ids for m in window.messages()))
    assert ids == []


def test_an_exchange_that_reaches_back_goes_with_the_older_round() -> None:
    """One message answers calls of two rounds: both are of the first, and dropped with it."""
    both = Message("user", [ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),))])
    history = [
        Message.user("one"),
        calling("first", ("a", "f", "{}")),
        Message.user("two"),
        calling("second", ("b", "f", "{}")),
        both,
        calling("third", ("c", "f", "{}")),
        Message.tool("c", "3"),
        calling("fourth", ("d", "f", "{}")),
        Message.tool("d", "4"),
    ]

    def shown(max_tokens: int) -> str:
        window = Window(Budget(max_tokens), 1.0)
        for message in history:
            window.add(Piece(message, tokens=1))
        return texts(window.messages())

    assert shown(9) == "one first two second - third - fourth -"
    assert shown(5) == "two third - fourth -"
    assert shown(4) == "two fourth -"


def test_what_joins_a_protected_round_is_protected() -> None:
    """The round of the other half, too: no result is left without its call."""
    both = Message("user", [ToolResult("a", (Text("1"),)), ToolResult("b", (Text("2"),))])
    history = [
        Message.user("one"),
        calling("first", ("a", "f", "{}")),
        Message.user("two"),
        calling("second", ("b", "f", "{}")),
        both,
        Message.user("three"),
    ]
    window = Window(Budget(1), 1.0)
    for message in history:
        window.add(Piece(message, is_protected=message.text == "second", tokens=1))

    assert window.rounds.protected_tokens == 5
    assert [message.text for message in window.messages()] == [m.text for m in history]
