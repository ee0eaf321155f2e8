"""Arrays of equal objects are found where they stand, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from trimtab.wire.json_rows import Rows, is_sound, uniform_arrays


def found(text: bytes) -> list[tuple[bytes, Rows]]:
    """The text of each array, and what is in it."""
    return [(text[slice(*span)], rows) for span, rows in uniform_arrays(text, 2)]


def test_arrays_in_objects_are_found_in_order() -> None:
    """Keys and values are as they stand there, whatever is in them."""
    first = b'[{"\\u00e9":1.50,"b":[1,2]},{"\\u00e9":"x,\\"}","b":{}}]'
    second = '[{"é":1},{"é":2}]'.encode()
    text = b'{"z":{"in":' + first + b'},"n":12,"a":' + second + b"}"

    assert found(text) == [
        (first, ([b'"\\u00e9"', b'"b"'], [[b"1.50", b"[1,2]"], [b'"x,\\"}"', b"{}"]])),
        (second, (['"é"'.encode()], [[b"1"], [b"2"]])),
    ]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"12",
        b"{",
        b"[",
        b"[{},{}]",
        b'[{"a":1}]',
        b'[{"a":1},2]',
        b'[[{"a":1},{"a":2}]]',
        b'[{"a":1},{"b":2}]',
        b'[ {"a":1},{"a":2}]',
        b'[{"a" :1},{"a" :2}]',
        b'[{"a":1,"a":2},{"a":1,"a":2}]',
        b'[{"a":1},{"\\u0061":2}]',
        b'{"x":[{"a":1},{"a":2}]',
        b'{"1":{"2":{"3":{"4":{"5":{"6":{"7":[{"a":1},{"a":2}]}}}}}}}',
    ],
)
def test_what_could_not_be_put_together_again_is_not_found(text: bytes) -> None:
    """Blanks, other keys, keys that stand twice or in two spellings, what is no JSON or too deep."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        (b'{"a": [1, 2.50, "x\\n"]}', True),
        (b'["\\ud83d"]', True),
        (b"[NaN]", True),
        (b"12", True),
        (b"", False),
        (b"[1 2]", False),
        (b"[1,]", False),
        (b'["a\nb"]', False),
        (b"[1}", False),
        (b"[" * 100_000, False),
    ],
)
def test_json_is_what_some_parser_reads(text: bytes, is_json: bool) -> None:  # noqa: FBT001 - a table
    """Half a character and NaN are read by the standard library."""
    assert is_sound(text) is is_json
