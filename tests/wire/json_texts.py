"""Random JSON texts, written in every way that the standard allows, and some that it does not.

A text knows where its parts lie, because it is put together from them; no
parser is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from hypothesis import strategies as st

__all__ = [
    "DIGITS_5000",
    "Composed",
    "arrays",
    "objects",
    "random_arrays",
    "random_objects",
    "strings",
    "values",
]

DIGITS_5000 = "7" * 5000

_NUMBERS = (
    "0",
    "-0",
    "-0.0",
    "1",
    "12",
    "123",
    "1E400",
    "-1e-400",
    "2.50",
    "1e5",
    "0.1000000000000000055511151231257827",
    "9223372036854775807",
    "18446744073709551616",
    DIGITS_5000,
)

_LENIENT = ("NaN", "Infinity", "-Infinity", '"\\ud800"', '"\\udfff \\ud800\\u0041"')
"""What the standard library reads and msgspec does not: no numbers, lone surrogates."""

Layout: TypeAlias = tuple[str, str, str, str]
"""Whitespace around a value, before and behind what is in it, and behind a colon."""

_whitespace = st.sampled_from(["", "", " ", "\n  ", "\t", "\r\n"])
_layouts = st.tuples(_whitespace, _whitespace, _whitespace, _whitespace)


@dataclass(frozen=True)
class Composed:
    """A text, and where the values in it lie.

    Attributes:
        text: The bytes.
        spans: The span of each value, in order.
        keys: The key of each, decoded; empty for an array.
    """

    text: bytes
    spans: tuple[tuple[int, int], ...]
    keys: tuple[str, ...] = ()

    @property
    def members(self) -> list[tuple[str, tuple[int, int]]]:
        """Keys and spans as a parser has them: of equal keys the last one counts."""
        members: dict[str, tuple[int, int]] = {}
        for key, span in zip(self.keys, self.spans, strict=True):
            members.pop(key, None)
            members[key] = span
        return list(members.items())


# -------------------------------------------------------------------- strings

_WORDS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["messages", '"messages":[', "a", "b", "", "é\U0001f600", "\\", "},{"]),
)
_MIXES = st.sampled_from([(0,), (1,), (2,), (0, 2), (2, 1, 0)])


def strings() -> st.SearchStrategy[str]:
    """A JSON string, each character bare or escaped."""
    return st.builds(_string, _WORDS, _MIXES)


def _string(words: str, mix: Sequence[int]) -> str:
    written = [_writings(character)[mix[place % len(mix)]] for place, character in enumerate(words)]
    return '"' + "".join(written) + '"'


def _writings(character: str) -> tuple[str, str, str]:
    """A character as it is, escaped if it is not ASCII, and escaped by number."""
    units = character.encode("utf-16-be")
    numbered = "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
    bare = json.dumps(character, ensure_ascii=False)[1:-1]
    return bare, json.dumps(character)[1:-1], numbered


# --------------------------------------------------------------------- values


def _compose(front: str, back: str, items: Sequence[tuple[str, str]], layout: Layout) -> Composed:
    outside, before, behind, colon = layout
    text = outside + front
    spans = []
    for place, (key, value) in enumerate(items):
        text += ("," if place else "") + before
        if key:
            text += key + behind + ":" + colon
        start = len(text.encode())
        text += value
        spans.append((start, len(text.encode())))
        text += behind
    text += ("" if items else before) + back + outside
    keys = tuple(json.loads(key) for key, _ in items if key)
    return Composed(text.encode(), tuple(spans), keys)


_object = partial(_compose, "{", "}")


def _array(elements: Sequence[str], layout: Layout) -> Composed:
    return _compose("[", "]", [("", element) for element in elements], layout)


def _bare(composed: Composed) -> str:
    return composed.text.decode().strip(" \t\r\n")


def values(*, is_lenient: bool = False) -> st.SearchStrategy[str]:
    """JSON text of any value; with what only a lenient parser takes, if wanted."""
    leaves = st.one_of(
        st.sampled_from(["true", "false", "null", "[]", "{}", "[ ]", "{\n}"]),
        st.sampled_from(_NUMBERS + (_LENIENT if is_lenient else ())),
        strings(),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(_array, st.lists(inner, max_size=4), _layouts).map(_bare),
            st.builds(_object, st.lists(st.tuples(strings(), inner), max_size=4), _layouts).map(
                _bare
            ),
        ),
        max_leaves=8,
    )


def arrays(elements: Sequence[str]) -> st.SearchStrategy[Composed]:
    """An array of elements, with whitespace wherever it may stand."""
    return _layouts.map(partial(_array, elements))


def objects(members: Sequence[tuple[str, str]]) -> st.SearchStrategy[Composed]:
    """An object of members, given as the texts of key and value."""
    return _layouts.map(partial(_object, members))


def random_arrays(*, is_lenient: bool = False) -> st.SearchStrategy[Composed]:
    """Arrays of anything."""
    return st.builds(_array, st.lists(values(is_lenient=is_lenient), max_size=5), _layouts)


def random_objects(*, is_lenient: bool = False) -> st.SearchStrategy[Composed]:
    """Objects of anything, some of whose keys stand there twice."""
    keys = st.one_of(strings(), st.sampled_from(['"a"', '"\\u0061"', '"b"', '"messages"']))
    if is_lenient:
        keys = st.one_of(keys, st.sampled_from(['"\\ud800"', '"\\udc00a"']))
    pairs = st.tuples(keys, values(is_lenient=is_lenient))
    return st.builds(_object, st.lists(pairs, max_size=6), _layouts)
