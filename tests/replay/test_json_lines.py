"""Taking recordings apart: what fits is read, and nothing raises that should not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trimtab.replay.json_lines import Shape, documents, elements_or_none, mentions, string, value


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
