"""Links that make a conversation known again, and the weak key that finds it when they are gone."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Message, Text, ToolCall, ToolResult
from trimtab.boundaries import MARKER
from trimtab.chain import (
    DIGEST_BYTES,
    LINK_BYTES,
    NO_ROUNDS,
    Rounds,
    digest,
    links,
    root,
    rounds_after,
)

START = root("", "anthropic")
FORMS = st.lists(st.binary(max_size=12), max_size=8)
SOME_FORMS = st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=8)


def call(call_id: str) -> Message:
    """An answer with one call."""
    return Message.assistant(ToolCall(call_id, "look", "{}"))


def weak_key(messages: Sequence[Message]) -> bytes | None:
    """The weak key of a conversation."""
    return rounds_after(NO_ROUNDS, messages).key(START)


# -------------------------------------------------------------------- links


def test_links_are_the_same_in_every_process_and_version() -> None:
    """Another value would make every stored conversation a stranger."""
    assert START.hex() == "4ed0f258576a45bc8f5460ff2153a1d8"
    assert root("t", "openai-chat").hex() == "c0bead8839601d6024b64f6f4e0d60b1"
    assert [link.hex() for link in links(START, [b"a", b"b"])] == [
        "720242e657a37f26906939362e96f998",
        "66cafc1a4bfe634409fc7f047f340643",
    ]
    assert digest(b"a").hex() == "ca978112ca1bbdca"


def test_links_and_digests_have_one_length() -> None:
    """Whatever they are made of, so that they can be kept in a row."""
    assert {len(link) for link in (START, *links(START, [b"", b"x" * 10_000]))} == {LINK_BYTES}
    assert {len(digest(form)) for form in (b"", b"x" * 10_000)} == {DIGEST_BYTES}


@pytest.mark.parametrize("size", [0, 1, 4_095, 4_096, 4_097, 100_000])
def test_a_link_hashes_the_one_before_the_length_and_the_form(size: int) -> None:
    """Whatever its size, and whether the form is a copy or a view of a body."""
    form = bytes(size)
    hashed = sha256(START + size.to_bytes(8, "big") + form).digest()

    assert links(START, [form]) == (hashed[:LINK_BYTES],)
    assert links(START, [memoryview(form)]) == (hashed[:LINK_BYTES],)


@given(first=FORMS, second=FORMS)
def test_appending_changes_no_earlier_link(first: list[bytes], second: list[bytes]) -> None:
    """A conversation goes on from its last link, and nothing before it is needed for that."""
    before = links(START, first)

    assert links(START, first + second) == before + links((START, *before)[-1], second)


@given(forms=SOME_FORMS, data=st.data())
def test_a_changed_byte_changes_its_own_link_and_all_later_ones(
    forms: list[bytes], data: st.DataObject
) -> None:
    """Those before it stay."""
    place = data.draw(st.integers(0, len(forms) - 1))
    at = data.draw(st.integers(0, len(forms[place]) - 1))
    changed = bytearray(forms[place])
    changed[at] ^= data.draw(st.integers(1, 255))
    others = [*forms[:place], bytes(changed), *forms[place + 1 :]]

    before, after = links(START, forms), links(START, others)

    assert before[:place] == after[:place]
    assert not set(before[place:]) & set(after[place:])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([b"ab", b"c"], [b"a", b"bc"]),
        ([b"ab"], [b"a", b"b"]),
        ([b"a"], [b"", b"a"]),
        ([b""], [b"", b""]),
        ([b"", b"a"], [b"a", b""]),
    ],
)
def test_where_a_message_ends_is_part_of_its_link(one: list[bytes], other: list[bytes]) -> None:
    """The same bytes in other messages are another conversation."""
    assert links(START, one)[-1] != links(START, other)[-1]


def test_tenants_and_formats_share_no_link() -> None:
    """Not even where the names of both, joined, are the same."""
    owners = [("", "ab"), ("a", "b"), ("ab", ""), ("b", "a"), ("\ud800", "b"), ("", "b"), ("a", "")]
    starts = [root(tenant, wire_format) for tenant, wire_format in owners]
    found = [links(start, [b"x", b"y"]) for start in starts]

    assert len({link for row in (starts, *found) for link in row}) == 3 * len(owners)


# ----------------------------------------------------------------- weak key


CALLED = (Message.user("one"), call("c1"), Message.tool("c1", "result"), Message.assistant("done"))
"""A round with a call."""

ASKED = (Message.user("two"), call("c2"), Message.tool("c2", "more"))
"""Another one, under way."""


def test_the_weak_key_is_the_same_in_every_process_and_version() -> None:
    """It outlives both."""
    key = weak_key([Message.user("go"), call("c1")])

    assert key is not None
    assert key.hex() == "3f976bcfa114c7d4a1522a6dddfe1f73"


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (Message.user("hello"),),
        (Message.user("hello"), Message.assistant("hi"), Message.user("well")),
        (*CALLED, Message.user("two"), Message.assistant("a"), Message.user("three")),
    ],
)
def test_words_alone_make_no_weak_key(messages: tuple[Message, ...]) -> None:
    """Without a call in the last two rounds they are too easily the same."""
    assert weak_key(messages) is None


@pytest.mark.parametrize(
    "messages",
    [
        (call("c1"),),
        CALLED,
        (*CALLED, Message.user("two")),
        (*CALLED, Message.user("two"), Message.assistant("a")),
    ],
)
def test_a_call_in_either_round_makes_a_weak_key(messages: tuple[Message, ...]) -> None:
    """In the last round or in the one before it."""
    key = weak_key(messages)

    assert key is not None
    assert len(key) == LINK_BYTES


OLD = (Message.user("zero"), call("c0"), Message.tool("c0", "old"), Message.assistant("yes"))


@pytest.mark.parametrize(
    "other",
    [
        (*OLD, *CALLED, *ASKED),
        (*OLD, Message.user("half"), Message.assistant("well"), *CALLED, *ASKED),
        (*CALLED[:2], Message.tool("c1", "[cleared]"), CALLED[3], *ASKED),
        (*CALLED[:3], Message.assistant("another word"), *ASKED),
        (*CALLED[:2], *ASKED),
        (Message.system("be careful"), *CALLED, *ASKED),
    ],
)
def test_what_clients_do_to_old_messages_leaves_the_weak_key(other: tuple[Message, ...]) -> None:
    """Results shortened, answers changed, rounds older than two there or not."""
    assert weak_key(other) == weak_key((*CALLED, *ASKED)) is not None


@pytest.mark.parametrize(
    "other",
    [
        (*CALLED, ASKED[0], call("c3"), ASKED[2]),
        (*CALLED, *ASKED, call("c3")),
        (*CALLED, Message.user("two!"), *ASKED[1:]),
        (CALLED[0], call("c3"), *CALLED[2:], *ASKED),
        (Message.user("one!"), *CALLED[1:], *ASKED),
        (*CALLED, *ASKED, Message.user("three")),
        ASKED,
        (*CALLED, *ASKED[1:]),
    ],
)
def test_another_call_or_other_words_make_another_weak_key(other: tuple[Message, ...]) -> None:
    """In the last two rounds."""
    assert weak_key(other) != weak_key((*CALLED, *ASKED))


def test_tenants_and_formats_share_no_weak_key() -> None:
    """It hangs on the same root as links do."""
    rounds = rounds_after(NO_ROUNDS, CALLED)

    keys = {rounds.key(root(*owner)) for owner in (("", "a"), ("a", ""), ("", "b"), ("b", "a"))}

    assert len(keys) == 4


@pytest.mark.parametrize(
    "message",
    [
        Message.user("words of ours", origin="filler"),
        Message.user(MARKER),
        Message.user(f"{MARKER}\nand more"),
        Message.tool("c1", "result"),
        Message("user", (ToolResult("c1", (Text("result"),)),)),
        Message.assistant("an answer"),
        Message.system("be careful"),
        Message("developer", (Text("be careful"),)),
    ],
)
def test_only_a_users_own_words_begin_a_round(message: Message) -> None:
    """Neither what we made, nor results, nor what others say."""
    before = rounds_after(NO_ROUNDS, CALLED[:2])

    assert rounds_after(before, [message]) == before


def test_words_beside_results_begin_a_round() -> None:
    """The calls of the last round become those of the one before."""
    before = rounds_after(NO_ROUNDS, CALLED[:2])
    mixed = Message.user(ToolResult("c1", (Text("result"),)), "go on")

    after = rounds_after(before, [mixed])

    assert after == Rounds(before.current, after.current, True, False)
    assert after.current not in (b"", before.current)


def test_half_a_character_is_words_like_any_other() -> None:
    """A lone surrogate in words or in an id raises nothing."""
    assert weak_key([Message.user("\ud800"), call("\udfff")]) is not None


MESSAGES = st.sampled_from([*CALLED, *ASKED, Message.user(MARKER), Message.user("three")])


@given(first=st.lists(MESSAGES, max_size=8), second=st.lists(MESSAGES, max_size=8))
def test_rounds_go_on_from_where_they_were(first: list[Message], second: list[Message]) -> None:
    """Step by step or all at once."""
    at_once = rounds_after(NO_ROUNDS, first + second)

    assert rounds_after(rounds_after(NO_ROUNDS, first), second) == at_once
