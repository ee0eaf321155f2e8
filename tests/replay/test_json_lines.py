"""Taking recordings apart: what fits is read, and nothing raises that should not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trimtab.replay.json_lines import (
    Shape,
    documents,
    elements_or_none,
    first_lines,
    lines,
    mentions,
    skipped,
    string,
    value,
)


class Inner(msgspec.Struct):
    """An object in an object."""

    a: int = 0


class Outer(msgspec.Struct):
    """An object of which some members are looked at."""

    name: str | None = None
    inner: Inner | None = None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"name":"x","inner":{"a":1},"more":[]}', Outer("x", Inner(1))),
        (b'{"name":7,"inner":{"a":1}}', Outer(None, Inner(1))),
        (rb'{"name":"x\ud800","inner":{"a":1}}', Outer("x\ud800", Inner(1))),
        (rb'{"name":"x","inner":{"\ud800":1}}', Outer("x")),
        (b'{"name":"x"', None),
        (b"[]", None),
    ],
)
def test_a_member_that_does_not_fit_counts_as_absent(text: bytes, expected: Outer | None) -> None:
    """Whatever it is, the others are read."""
    assert Shape(Outer).read_or_none(text) == expected


@pytest.mark.parametrize(
    ("data", "values", "is_cut"),
    [
        (b'{"a":1}', [{"a": 1}], False),
        (b' {"a":1}\n\n[2] 3 ', [{"a": 1}, [2], 3], False),
        (b'{"a":1}\n{"b"', [{"a": 1}], True),
        (b'junk\n{"a":1}\n', [{"a": 1}], True),
        (b"", [], False),
    ],
)
def test_values_behind_each_other_are_found(data: bytes, values: list[Any], is_cut: bool) -> None:  # noqa: FBT001 - a case
    """Lines of nothing are skipped, and it is said that some were."""
    assert documents(data) == (values, is_cut)


def test_members_are_decoded_where_they_can_be() -> None:
    """Anything else is nothing."""
    assert (value(b"[1]"), value(b""), value(b"[")) == ([1], None, None)
    assert (string(b'"a"'), string(b"1"), string(b"")) == ("a", "", "")
    assert elements_or_none(b"{}") is None
    assert elements_or_none(b"[1") is None


def test_a_file_mentions_keys() -> None:
    """All of them, in quotes."""
    assert mentions(b'{"a":1,"b":2}', b"a", b"b")
    assert not mentions(b'{"a":1}', b"a", b"b")


class Holder(msgspec.Struct):
    """An object in which another has members of its own."""

    outer: Outer | None = None
    name: str | None = None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"outer":{"name":"x","inner":{"a":1}}}', Holder(Outer("x", Inner(1)))),
        (b'{"outer":{"name":7,"inner":{"a":1}},"name":"y"}', Holder(Outer(None, Inner(1)), "y")),
        (b'{"outer":{"name":"x","inner":{"a":"1"}}}', Holder(Outer("x"))),
        (b'{"outer":[],"name":"y"}', Holder(None, "y")),
    ],
)
def test_an_inner_shape_is_read_member_by_member(text: bytes, expected: Holder) -> None:
    """What does not fit in it costs nothing else in it."""
    assert Shape(Holder, {"outer": Shape(Outer)}).read_or_none(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"[]", []),
        (b'[ {"name":"x"} ]', [(b'{"name":"x"}', Outer("x"))]),
        (b'[{"name":"x"}, {}]', [(b'{"name":"x"}', Outer("x")), (b"{}", Outer())]),
        (b'[7, {"name":7} ,"x"]', [(b'{"name":7}', Outer())]),
        (rb'[{"name":"\ud800"}]', [(rb'{"name":"\ud800"}', Outer("\ud800"))]),
        (b'[{"name":"x"}', []),
        (b'{"name":"x"}', []),
        (b"", []),
    ],
)
def test_objects_in_a_list_are_read_with_their_texts(
    text: bytes, expected: list[tuple[bytes, Outer]]
) -> None:
    """What is no object is left out, and what is no list holds none."""
    assert [(bytes(each), found) for each, found in Shape(Outer).read_each(text)] == expected


def test_objects_on_lines_are_read_and_the_numbers_of_others_told() -> None:
    """Blank lines count, and are not told."""
    broken: list[int] = []

    found = list(Shape(Outer).read_lines(b'{"name":"x"}\n\n[]\n {} \r\n{"na', broken))

    assert [(bytes(text), each) for text, each in found] == [
        (b'{"name":"x"}', Outer("x")),
        (b"{}", Outer()),
    ]
    assert broken == [3, 5]


def test_lines_are_without_the_space_around_them() -> None:
    """Whatever ends them."""
    found = [(number, bytes(text)) for number, text in lines(b" a \r\n\t\n\nb b\r\n\rc")]

    assert found == [(1, b"a"), (4, b"b b"), (5, b"c")]


def test_a_file_is_cut_behind_its_first_lines() -> None:
    """One that has fewer is whole."""
    assert first_lines(b"a\nb\nc", 2) == b"a\nb\n"
    assert first_lines(b"a\nb", 2) == b"a\nb"
    assert first_lines(b"", 2) == b""


def test_skipped_lines_are_named() -> None:
    """The first five of them; where there are none, nothing is said."""
    assert skipped([]) == ()
    assert skipped([1, 2, 3, 4, 5, 6, 7], "no rows") == (
        "skipped lines that are cut off or no rows: 1, 2, 3, 4, 5 and 2 more",
    )
