"""JSON loses its blanks and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.squeeze.minify_json import minify_json

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
CONTAINERS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4)

MINIFIED = [
    ('{ "a" : 1 }', '{"a":1}'),
    (" [1,\n\t2,\r\n 3 ]\n", "[1,2,3]"),
    (
        '{"n": 1234567890123456789, "x": 1.50, "e": 1E+05}',
        '{"n":1234567890123456789,"x":1.50,"e":1E+05}',
    ),
    ('{"b": 1, "a": 2, "b": 3}', '{"b":1,"a":2,"b":3}'),
    ('["\\u00e9 \\/ \\n", "a  b"]', '["\\u00e9 \\/ \\n","a  b"]'),
    ('["say \\"a  b\\" \\\\", " "]', '["say \\"a  b\\" \\\\"," "]'),
    ('["\\ud83d", 1]', '["\\ud83d",1]'),
    ('["\ud83d", 1]', '["\ud83d",1]'),
    ('[ "\u2028 \xa0" ]', '["\u2028 \xa0"]'),
    ("[ ]", "[]"),
]


@pytest.mark.parametrize(("text", "minified"), MINIFIED)
def test_only_blanks_between_values_go(text: str, minified: str) -> None:
    """Numbers, escapes, order and keys that stand twice stay to the letter."""
    assert minify_json(text) == minified


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain words",
        '"a text"',
        "12 ",
        '{"a": 1} and more',
        '{"a": 1}\n{"a": 2}',
        "{'a': 1}",
        "[1 2]",
        '{"a": "line\nbreak"}',
        "[1, 2}",
        "[" * 5_000 + " " + "]" * 5_000 + "x]",
    ],
)
def test_what_is_no_json_is_left_alone(text: str) -> None:
    """Blanks mean something in everything else."""
    assert minify_json(text) is text


@given(CONTAINERS, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_the_values_are_the_same(
    value: Any,
    indent: int | str | None,
    is_ascii: bool,  # noqa: FBT001 - drawn
) -> None:
    """What is read from it is what was read before, and it is as short as it can be."""
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    minified = minify_json(text)

    assert minified == json.dumps(value, separators=(",", ":"), ensure_ascii=is_ascii)
    assert minify_json(minified) == minified
