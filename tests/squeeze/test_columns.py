"""Lists of equal objects become columns, and can be read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.columns import LEGEND, columns

KEYS = "[trimtab: keys]"


def compact(value: Any) -> str:
    """The JSON text of a value, as short as it can be."""
    return json.dumps(value, separators=(",", ":"))


def read_back(text: str) -> Any:
    """The value that a text with columns stands for."""
    legend, _, body = text.partition("\n")
    assert legend == LEGEND
    return _objects(json.loads(body))


def _objects(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if KEYS in value:
        return [dict(zip(value[KEYS], row, strict=True)) for row in value["rows"]]
    return {key: _objects(inner) for key, inner in value.items()}


def test_keys_stand_once() -> None:
    """Values keep their letters: a long number, an escape, a value inside a value."""
    text = (
        '{"total":3,"items":[{"id":1234567890123456789,"n":"\\u00e9"},'
        '{"id":1.50,"n":null},{"id":-0,"n":[{"x":1}]}]}'
    )

    assert columns(text) == (
        f'{LEGEND}\n{{"total":3,"items":{{"[trimtab: keys]":["id","n"],"rows":'
        '[[1234567890123456789,"\\u00e9"],[1.50,null],[-0,[{"x":1}]]]}}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "words",
        "",
        "{broken",
        "[1,2,3]",
        '[{"a":1},{"a":2}]',
        '[{"a":1},{"a":2},{"b":3}]',
        '[{"a":1,"b":2},{"b":2,"a":1},{"a":1,"b":2}]',
        '[{"a":1},{"a":2,"a":3},{"a":4}]',
        '[{"a":1},{"\\u0061":2},{"a":3}]',
        '[{"a":1},{"a": 2},{"a":3}]',
        "[{},{},{}]",
        '[{"a":1},{"a":2},{"a":"[trimtab: keys]"}]',
        '[{"a":"\ud83d"},{"a":2},{"a":3}]',
        '[{"a":"\\ud83d"},{"a":2},{"a":3}]',
        "[" + '{"a":1},' * 50_000 + '{"a":1}]',
    ],
)
def test_what_could_not_be_put_together_again_is_left_alone(text: str) -> None:
    """Too few, unequal, written in two ways, marked already, half a character, or too many."""
    assert columns(text) is text


@given(
    st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True),
    st.lists(st.lists(st.none() | st.integers() | st.text(), min_size=4, max_size=4), min_size=3),
    st.booleans(),
)
def test_columns_read_back_are_the_objects(
    keys: list[str],
    rows: list[list[Any]],
    is_inside: bool,  # noqa: FBT001 - drawn
) -> None:
    """The rows hold all that the objects held, in their order."""
    objects = [dict(zip(keys, row, strict=False)) for row in rows]
    value = {"a": {"b": objects}, "c": [objects]} if is_inside else objects

    written = columns(compact(value))

    assert read_back(written) == value
    assert columns(written) == written
