"""A request as it came: values that show no words, and messages that are decoded when looked at."""

from __future__ import annotations

import pytest

from trimtab import Message, Text
from trimtab.wire import Call, read

BODY = b'{"model":"gpt-x","messages":[{"role":"user","content":"secret words"}]}'


def test_a_call_shows_no_words_and_no_keys() -> None:
    """Representations end up in logs."""
    call = Call(BODY, {"authorization": "Bearer sk-1"}, "gpt-x", 12.0)

    assert repr(call) == "Call(model='gpt-x', now=12.0, is_built=False)"


def test_a_call_needs_its_body_alone() -> None:
    """Where nobody said more, there are no headers, no model and no time."""
    assert Call(BODY) == Call(BODY, {}, "", 0.0)


def test_messages_are_the_same_at_each_look() -> None:
    """They are made once; their parts are decoded at each look, and are equal."""
    request = read(BODY)

    first, second = request.messages, request.messages

    assert first is second
    assert first[0].parts == second[0].parts == (Text("secret words"),)
    assert first == (Message.user("secret words"),)


@pytest.mark.parametrize("part", ["surface", "outlines", "constraints"])
def test_what_is_told_is_told_once(part: str) -> None:
    """What a request says of itself is worked out at the first question."""
    request = read(BODY)

    assert getattr(request, part) is getattr(request, part)
