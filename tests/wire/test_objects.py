"""Requests made of a program's own objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import RequestError
from trimtab.wire.objects import encode_object, tell_format


@dataclass
class Plain:
    """A dataclass, as programs use for messages."""

    role: str
    content: Any


class Dumped:
    """An object of an SDK: it says itself what it is on the wire."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def model_dump(self, *, mode: str, exclude_unset: bool, by_alias: bool) -> Any:
        """What was never set was never sent."""
        assert (mode, exclude_unset, by_alias) == ("json", True, True)
        return self.value


# ------------------------------------------------------------------- encode


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        ({"b": 1, "a": [True, None, "x"]}, b'{"b":1,"a":[true,null,"x"]}'),
        ("日本語\u2028", '"日本語\u2028"'.encode()),
        (4611686018427387905, b"4611686018427387905"),
        (0.1, b"0.1"),
        (("a", "b"), b'["a","b"]'),
        (Plain("user", "a"), b'{"role":"user","content":"a"}'),
        (Plain("user", [Dumped({"type": "text"})]), b'{"role":"user","content":[{"type":"text"}]}'),
        (Dumped({"z": 1, "a": Dumped([2])}), b'{"z":1,"a":[2]}'),
        (Dumped("words"), b'"words"'),
    ],
)
def test_objects_are_written_with_their_keys_in_order(value: Any, raw: bytes) -> None:
    """Compact, in UTF-8, whatever they are made of."""
    assert encode_object(value, "it") == raw


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=JSON)
def test_what_is_json_is_written_as_what_it_is(value: Any) -> None:
    """Keys in their order included."""
    raw = encode_object(value, "it")

    assert json.loads(raw, object_pairs_hook=list) == json.loads(
        json.dumps(value), object_pairs_hook=list
    )


def endless() -> Any:
    """A list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), "message 3 cannot be written as JSON: an object of type object is no JSON"),
        ({"a": [1j]}, "message 3 cannot be written as JSON: an object of type complex is no JSON"),
        (Dumped(object()), "message 3 cannot be written as JSON: an object of type object"),
        ({(1, 2): 3}, "message 3 cannot be written as JSON"),
        (endless(), "message 3 cannot be written as JSON"),
        ("half \ud800", r"message 3 holds half of a character \(a lone surrogate\)"),
        ({"\udfff": 1}, r"message 3 holds half of a character \(a lone surrogate\)"),
    ],
)
def test_what_is_no_json_is_an_error_that_names_it(value: Any, told: str) -> None:
    """By what it is, not by what it holds."""
    with pytest.raises(RequestError, match=told):
        encode_object(value, "message 3")


class Failing:
    """An object of an SDK that holds what it cannot write itself."""

    def model_dump(self, **_: object) -> Any:
        """What pydantic raises is a ValueError."""
        raise ValueError("Unable to serialize unknown type")


@pytest.mark.parametrize("value", [Failing(), 10**5_000], ids=["failing", "huge"])
def test_what_cannot_be_written_is_an_error_that_names_it(value: Any) -> None:
    """Whoever found it out: the SDK, or Python."""
    with pytest.raises(RequestError, match="message 3"):
        encode_object({"a": value}, "message 3")


# ------------------------------------------------------------------- format


@pytest.mark.parametrize(
    ("model", "fields", "messages", "name"),
    [
        # a system prompt of its own
        ("gpt-5.2", {"system": ""}, [], "anthropic"),
        ("gpt-5.2", {"system": "x"}, [{"role": "tool"}], "anthropic"),
        # roles and fields of the chat format, wherever they are
        ("claude-opus-4-6", {}, [{"role": "user"}, {"role": "tool"}], "openai-chat"),
        ("claude-opus-4-6", {}, [{"role": "developer"}], "openai-chat"),
        ("claude-opus-4-6", {}, [{"role": "function"}], "openai-chat"),
        ("claude-opus-4-6", {}, [{"role": "assistant", "tool_calls": []}], "openai-chat"),
        ("claude-opus-4-6", {}, [{"role": "assistant", "tool_calls": None}], "anthropic"),
        # else the model says it
        ("claude-opus-4-6", {}, [], "anthropic"),
        ("anthropic/claude-next", {}, [{"role": "system"}], "anthropic"),
        ("claude-opus-4-6", {"max_tokens": 9}, [{"role": "user"}, {}], "anthropic"),
        ("gpt-5.2", {}, [{"role": "user"}], "openai-chat"),
        ("", {}, [], "openai-chat"),
        ("nobody-knows", {"tools": []}, [{"role": "assistant"}], "openai-chat"),
    ],
)
@pytest.mark.parametrize(
    "shape", [dict, MappingProxyType, lambda fields: SimpleNamespace(**fields)]
)
def test_the_format_is_told_from_fields_roles_and_model(
    model: str, fields: dict[str, Any], messages: list[Any], name: str, shape: Any
) -> None:
    """In this order, of dicts and of objects alike."""
    assert tell_format(model, fields, [shape(message) for message in messages]) == name
