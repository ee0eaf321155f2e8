"""One request, read: its key, its digests and its weak keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab import Call, CharTokenCounter, Policy, Session
from trimtab.chain import NO_ROUNDS, digest, links, root, rounds_after
from trimtab.turn import Turn

Json = dict[str, Any]

SESSION = Session(Policy(limit_tokens=1_000), CharTokenCounter())


def user(words: str) -> Json:
    """What the user says."""
    return {"role": "user", "content": words}


def step(call_id: str) -> list[Json]:
    """A call and its result."""
    call = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def turn_of(*messages: Json, tenant: str = "", is_built: bool = False) -> Turn:
    """A turn over some messages."""
    body = json.dumps({"model": "claude-opus-4-6", "max_tokens": 9, "messages": messages})
    call = Call(body.encode(), is_built=is_built)
    return SESSION.read(call, "anthropic", tenant=tenant)


def test_the_links_are_a_chain_over_the_canonical_forms() -> None:
    """From the root of the tenant and the format on."""
    messages = (user("a"), *step("c1"))
    turn = turn_of(*messages, tenant="t")
    forms = [json.dumps(message).encode() for message in messages]

    assert turn.root == root("t", "anthropic")
    assert turn.links == links(turn.root, forms)
    assert turn.digests() == list(map(digest, forms))


def test_the_key_is_the_link_of_the_last_message() -> None:
    """Of the root alone where there is no message."""
    turn = turn_of(user("a"), *step("c1"))

    assert turn.key == turn.links[-1]
    assert turn_of(tenant="t").key == root("t", "anthropic")
    assert turn_of().links == ()


@pytest.mark.parametrize("start", [0, 1, 3, 4])
def test_digests_can_begin_anywhere(start: int) -> None:
    """Those of the messages from there on."""
    turn = turn_of(user("a"), *step("c1"))

    assert turn.digests(start) == turn.digests()[start:]


def test_a_turn_and_its_continuation_share_links_and_digests() -> None:
    """However the client moved its cache marker."""
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    first = turn_of({"role": "user", "content": [marked]})
    second = turn_of(user("a"), *step("c1"))

    assert second.links[0] == first.key
    assert second.digests()[:1] == first.digests()


def test_of_a_built_body_the_order_of_keys_makes_no_link() -> None:
    """Where bytes came in, it does."""
    turned = {"content": "a", "role": "user"}

    assert turn_of(turned, is_built=True).key == turn_of(user("a"), is_built=True).key
    assert turn_of(turned).key != turn_of(user("a")).key


def test_weak_keys_come_newest_first_and_each_once() -> None:
    """One for each message that changes the last two rounds, from the first call on."""
    messages = (user("a"), *step("c1"), {"role": "assistant", "content": "x"}, user("b"))
    turn = turn_of(*messages, *step("c2"), *step("c3"))
    rounds = [rounds_after(NO_ROUNDS, turn.request.messages[:stop]) for stop in (9, 7, 5, 4)]
    keys = [known.key(turn.root) for known in rounds]

    assert list(turn.weak_keys()) == keys
    assert len(set(keys)) == 4
    assert None not in keys


def test_a_weak_key_that_comes_again_counts_where_it_is_newest() -> None:
    """As where the user says the same twice and the same ids are used again."""
    again = (user("a"), *step("c1"))
    turn = turn_of(*again, *again, *again)
    rounds = [rounds_after(NO_ROUNDS, turn.request.messages[:stop]) for stop in (9, 7, 2)]

    assert list(turn.weak_keys()) == [known.key(turn.root) for known in rounds]


@pytest.mark.parametrize("messages", [(), (user("a"),), (user("a"), user("b"))])
def test_words_alone_have_no_weak_key(messages: tuple[Json, ...]) -> None:
    """Nothing is looked up for them."""
    assert list(turn_of(*messages).weak_keys()) == []
