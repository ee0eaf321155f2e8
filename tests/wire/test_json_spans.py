"""Spans of JSON text: found, never guessed, and the same by both splitters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Raw

from tests.wire.json_texts import (
    DIGITS_5000,
    Composed,
    arrays,
    random_arrays,
    random_objects,
    strings,
    values,
)
from trimtab.errors import MalformedBodyError
from trimtab.wire.json_spans import (
    Path,
    Span,
    _elements,
    _members,
    _scan_array,
    _scan_object,
    _walk_array,
    _walk_object,
    array_spans,
    drop_elements,
    drop_members,
    dump,
    encode_json_text,
    find_history,
    has_key,
    insert_element,
    is_json,
    load,
    load_text,
    locate,
    object_spans,
    splice,
)

DEEP = 100_000
"""Levels of nesting that no parser follows."""


# ------------------------------------------------------------- both splitters


@given(made=random_arrays(is_lenient=True))
def test_both_splitters_find_each_element_of_an_array(made: Composed) -> None:
    """Each span is exactly an element, whatever whitespace, escapes and numbers there are."""
    fast, slow = array_spans(made.text), _scan_array(made.text)

    assert (tuple(fast), tuple(slow)) == (made.spans, made.spans)


@given(made=random_objects(is_lenient=True))
@example(made=Composed(b'{"a":12,"a":1}', ((5, 7), (12, 13)), ("a", "a")))
@example(made=Composed(b'{"a":1,"b":2,"a":1}', ((5, 6), (11, 12), (17, 18)), ("a", "b", "a")))
@example(made=Composed(b'{"a":1,"a":12}', ((5, 6), (11, 13)), ("a", "a")))
def test_both_splitters_find_each_member_of_an_object(made: Composed) -> None:
    """Each span is exactly a value; of a key that stands there twice, the last one counts."""
    fast, slow = object_spans(made.text), _scan_object(made.text)

    assert (list(fast.items()), list(slow.items())) == (made.members, made.members)


@given(made=random_arrays())
def test_the_fast_splitter_needs_no_help_with_standard_arrays(made: Composed) -> None:
    """What the standard allows is split by msgspec alone."""
    text = made.text

    spans = _walk_array(text, _elements.decode(text), text.index(b"[") + 1)

    assert tuple(spans) == made.spans


@given(made=random_objects())
def test_the_fast_splitter_says_where_it_is_unsure(made: Composed) -> None:
    """It finds every member, or says that a key which stands twice leaves a place in doubt."""
    spans = _walk_object(made.text, _members.decode(made.text))

    has_twins = len(set(made.keys)) < len(made.keys)
    assert (spans is None and has_twins) or list((spans or {}).items()) == made.members


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (b"{}", {}),
        (b" { } ", {}),
        (b'{"a":-0.0}', {"a": (5, 9)}),
        (b'{"a":1E400}', {"a": (5, 10)}),
        (b'{"a":' + DIGITS_5000.encode() + b"}", {"a": (5, 5005)}),
        (b'{"a" : "\\ud800" , "b":NaN}', {"a": (7, 15), "b": (22, 25)}),
        (b'{"\\ud800":1}', {"\ud800": (10, 11)}),
        ('{"é":"ü"}'.encode(), {"é": (6, 10)}),
        (b'{"\xff":"\xfe"}', {"\udcff": (5, 8)}),
        (b'{"a":"}","b":"{\\"a\\":3"}', {"a": (5, 8), "b": (13, 23)}),
    ],
)
def test_members_are_found_whatever_they_hold(text: bytes, spans: dict[str, Span]) -> None:
    """Exotic numbers, lone surrogates, and bytes that are no UTF-8 keep their places."""
    assert object_spans(text) == spans


# ------------------------------------------------------------------ malformed

_CUT_OFF = "the JSON is cut off"


@pytest.mark.parametrize(
    ("text", "offset", "told"),
    [
        (b"", 0, "empty"),
        (b" \n ", 0, "empty"),
        (b"\xef\xbb\xbf{}", 0, "byte order mark"),
        ('{"a":1}'.encode("utf-16"), 0, "UTF-16"),
        ('{"a":1}'.encode("utf-16-be"), 0, "not JSON"),
        (b"\xfe\xff\x00{\x00}", 0, "UTF-16"),
        (b"\x1f\x8b\x08\x00", 0, "gzip"),
        (b"\x28\xb5\x2f\xfd\x04", 0, "zstd"),
        (b"\x00\x01\x02", 0, "not JSON: expecting value"),
        (b"<html>", 0, "not JSON: expecting value"),
        (b"[1]", 0, "JSON, but not an object"),
        (b"  5", 2, "JSON, but not an object"),
        (b'"{}"', 0, "JSON, but not an object"),
        (b'["a" "b"]', 5, "not JSON"),
        (b"5 5", 2, "something follows"),
        (b"{", 1, _CUT_OFF),
        (b'{"a"', 4, _CUT_OFF),
        (b'{"a":', 5, _CUT_OFF),
        (b'{"a":1', 6, _CUT_OFF),
        (b'{"a":1,', 7, _CUT_OFF),
        (b'{"a":"x', 7, _CUT_OFF),
        (b'{"a":"\\', 7, _CUT_OFF),
        (b'{"a":"\\u12', 10, _CUT_OFF),
        (b'{"a":"\\u12"}', 7, "not JSON: invalid \\uXXXX escape"),
        (b'{"a":[1,{"b":2}', 15, _CUT_OFF),
        (b'{"a":tru}', 5, "not JSON: expecting value"),
        (b'{"a":01}', 6, "not JSON: expected ','"),
        (b'{"a":+1}', 5, "not JSON: expecting value"),
        (b'{"a":1 "b":2}', 7, "not JSON: expected ','"),
        (b'{"a";1}', 4, "not JSON: expected ':'"),
        (b"{1:2}", 1, "a key is not a string"),
        (b'{"a":1}x', 7, "something follows after the end of the JSON"),
        (b'{"a":1}{"a":1}', 7, "something follows after the end of the JSON"),
        (b'{"a":1}\x00', 7, "something follows after the end of the JSON"),
        (b'{"a":"\x01"}', 6, "not JSON: invalid control character"),
        (b'{"a":"\\q"}', 6, "not JSON: invalid \\escape"),
        (b'{"a":' * DEEP, 5, "nested too deeply"),
    ],
)
def test_what_is_no_object_says_where_and_why(text: bytes, offset: int, told: str) -> None:
    """A malformed object is one error, with the byte at which reading stopped and what is wrong."""
    with pytest.raises(MalformedBodyError) as caught:
        object_spans(text)

    assert (caught.value.offset, told in str(caught.value)) == (offset, True)


@pytest.mark.parametrize(
    ("text", "offset", "told"),
    [
        (b"", 0, "empty"),
        (b'{"a":1}', 0, "JSON, but not a list"),
        (b"[1 2]", 3, "not JSON: expected ','"),
        (b"[1,]", 3, "not JSON: expecting value"),
        (b"[1", 2, _CUT_OFF),
        (b"[1]]", 3, "something follows after the end of the JSON"),
        (b"[" * DEEP, 1, "nested too deeply"),
        (b'["\xc3\xa9",]', 6, "not JSON: expecting value"),
    ],
)
def test_what_is_no_array_says_where_and_why(text: bytes, offset: int, told: str) -> None:
    """A malformed array is one error, with the byte at which reading stopped and what is wrong."""
    with pytest.raises(MalformedBodyError) as caught:
        array_spans(text)

    assert (caught.value.offset, told in str(caught.value)) == (offset, True)


SPLITTERS: list[Callable[[bytes], Any]] = [object_spans, array_spans, _scan_object, _scan_array]


@pytest.mark.parametrize("split", SPLITTERS)
@given(text=st.one_of(st.binary(max_size=40), values(is_lenient=True).map(str.encode)))
def test_any_bytes_give_spans_or_the_one_error(split: Callable[[bytes], Any], text: bytes) -> None:
    """Nothing but MalformedBodyError is ever raised, and its offset lies in the text."""
    result = _result(split, text)

    assert not isinstance(result, int) or 0 <= result <= len(text)


def _result(split: Callable[[bytes], Any], text: bytes) -> object:
    """The spans, or the offset of the error."""
    try:
        return split(text)
    except MalformedBodyError as error:
        return error.offset


@given(
    made=st.one_of(random_objects(is_lenient=True), random_arrays(is_lenient=True)),
    place=st.integers(0, 10_000),
    length=st.integers(0, 2),
    put_in=st.sampled_from([b"", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"1", b"\x00"]),
)
def test_both_splitters_agree_on_damaged_text(
    made: Composed, place: int, length: int, put_in: bytes
) -> None:
    """A byte more or less never makes one of them find what the other does not."""
    place %= len(made.text)
    text = made.text[:place] + put_in + made.text[place + length :]

    fast = (_result(object_spans, text), _result(array_spans, text))

    assert fast == (_result(_scan_object, text), _result(_scan_array, text))


@given(made=random_objects(is_lenient=True), place=st.integers(0, 10_000))
def test_a_cut_off_object_is_never_taken_for_whole(made: Composed, place: int) -> None:
    """Every beginning of an object is refused, at or before the byte where it ends."""
    text = made.text[: place % len(made.text.rstrip())]

    with pytest.raises(MalformedBodyError) as caught:
        object_spans(text)

    assert caught.value.offset is not None
    assert caught.value.offset <= len(text)


# -------------------------------------------------------------------- history

_HI = b'{"role":"user","content":"hi"}'
_YO = b'{"role":"user","content":"yo"}'


class _Envelope(msgspec.Struct):
    messages: list[Raw]


def _raws(text: bytes) -> list[Raw]:
    return msgspec.json.decode(text, type=_Envelope).messages


@pytest.mark.parametrize(
    ("text", "history"),
    [
        (b'{"messages":[]}', (12, 14)),
        (b'{"messages":[%s]}' % _HI, (12, 44)),
        (b'{ "messages" : [ %s ] , "x":1}' % _HI, (15, 49)),
        (b'{"x":"messages","messages":[%s]}' % _HI, (27, 59)),
        (
            b'{"x":"\\"messages\\":[%s]","messages":[%s]}' % (_HI.replace(b'"', b'\\"'), _HI),
            (72, 104),
        ),
        # of two the last one counts
        (b'{"messages":[%s],"messages":[%s]}' % (_YO, _HI), (56, 88)),
        (b'{"messages":[],"messages":[%s]}' % _HI, (26, 58)),
    ],
)
def test_the_history_is_found_where_it_lies(text: bytes, history: Span) -> None:
    """The shortcut finds the list itself, past words that look like its key."""
    found = find_history(text, "messages", _raws(text))

    assert found is not None
    assert (found[0], [text[low:high] for low, high in found[1]]) == (
        history,
        [bytes(raw) for raw in _raws(text)],
    )


@pytest.mark.parametrize(
    "text",
    [
        b'{"x":{"messages":[%s]},"messages":[%s]}' % (_HI, _HI),
        b'{"x":[{"messages":[%s]}],"messages":[%s]}' % (_HI, _HI),
        b'{"x":{"messages":[]},"messages":[]}',
        b'{"messages":[%s],"messages":[%s]}' % (_HI, _HI),
        b'{"messages":[{"messages":[%s]}],"messages":[%s]}' % (_HI, _HI),
        # the key that counts is written in another way
        b'{"\\u006dessages":[%s]}' % _HI,
        b'{"messages":[%s],"\\u006dessages":[%s]}' % (_HI, _HI),
        b'{"x":{"messages":[%s]},"\\u006dessages":[%s]}' % (_HI, _HI),
        b'{"\\u006dessages":[%s],"x":{"messages":[%s]}}' % (_HI, _HI),
        # a longer key that ends like it
        b'{"\\u006dessages":[%s],"a\\"messages":[%s]}' % (_HI, _HI),
        b'{"a\\"messages":[%s],"messages":[%s]}' % (_HI, _HI),
    ],
)
def test_a_history_in_doubt_is_left_to_the_slow_way(text: bytes) -> None:
    """Where a second place looks the same, the shortcut says nothing rather than the wrong one."""
    assert find_history(text, "messages", _raws(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"messages":[%s],"x":{"messages":[%s]}}' % (_HI, _HI),
        b'{"messages":[%s],"a\\"messages":[%s]}' % (_HI, _HI),
        b'{"messages":[{"role":"user","messages":[%s]}]}' % _HI,
        b'{"messages":[{"messages":[]}]}',
    ],
)
def test_a_nested_history_behind_the_true_one_changes_nothing(text: bytes) -> None:
    """Keys of the same name inside or behind the list are not even asked."""
    found = find_history(text, "messages", _raws(text))

    assert found is not None
    assert (found[0], found[1]) == (
        object_spans(text)["messages"],
        [(13 + low - 1, 13 + high - 1) for low, high in array_spans(text[slice(*found[0])])],
    )


@st.composite
def _decoyed(draw: st.DrawFn) -> bytes:
    """A body whose history has look-alikes in every kind of place."""
    elements = draw(st.lists(st.sampled_from([_HI, _YO, b"{}", b"1", b"12"]), max_size=3))
    history = draw(arrays([element.decode() for element in elements]))
    other = draw(st.sampled_from(["[]", "[1]", "[12]", "{}", "5"]))
    alike = draw(st.sampled_from([history.text.decode(), other]))
    decoys = [
        f'"x":{{"messages":{alike}}}',
        f'"y":[{{"messages":{alike}}}]',
        f'"messages":{alike}',
        f'"\\u006dessages":{alike}',
        f'"a\\"messages":{alike}',
        '"z":"\\"messages\\":["',
        '"w":"messages"',
    ]
    chosen = draw(st.lists(st.sampled_from(decoys), max_size=4))
    key = draw(st.sampled_from(['"messages"', '"m\\u0065ssages"']))
    place = draw(st.integers(0, len(chosen)))
    members = [*chosen[:place], f"{key}:{history.text.decode()}", *chosen[place:]]
    return ("{" + ",".join(members) + "}").encode()


@given(text=_decoyed())
def test_the_shortcut_is_right_or_silent(text: bytes) -> None:
    """Whatever stands around it, what is found is what the slow splitter finds."""
    try:
        raws = _raws(text)
    except msgspec.ValidationError:
        return  # of two, the one that counts is no list
    start, stop = _scan_object(text)["messages"]

    found = find_history(text, "messages", raws)

    elements = [(start + low, start + high) for low, high in _scan_array(text[start:stop])]
    assert found in (None, ((start, stop), elements))


@pytest.mark.parametrize(
    ("text", "has_it"),
    [
        (b'{"a":{"k" :1}}', True),
        (b'[{"k"\n:1}]', True),
        (b'{"a":"k"}', False),
        (b'{"a":"k","k":1}', True),
        (b'{"a":"\\"k\\":1"}', False),
        (b'{"kk":1}', False),
        (b"", False),
    ],
)
def test_a_key_is_told_from_a_word(text: bytes, has_it: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only what a colon follows is a key."""
    assert has_key(text, "k") is has_it


# --------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":[1,2.5,null]}', {"a": [1, 2.5, None]}),
        (b'"\\ud800"', "\ud800"),
        (b'"\xff"', "\udcff"),
        (b"1E400", math.inf),
        (b"-1E400", -math.inf),
        (b"18446744073709551616", 2**64),
        (DIGITS_5000.encode(), math.inf),
        (b"7" * 1000, int("7" * 1000)),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_any_value_is_loaded(text: bytes, value: object) -> None:
    """Decoding takes what the splitters take; numbers out of reach become infinite."""
    assert load(text) == value


def test_what_is_no_number_is_loaded() -> None:
    """NaN, which some servers write, is a value like any other."""
    assert math.isnan(load(b"NaN"))


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ('{"é":"é",}'.encode(), 11),
        (b'["\xff",]', 5),
        (b"", 0),
        (b'{"a":', 5),
        (b'"\\u12', 5),
        (b"[" * DEEP, 0),
    ],
)
def test_what_cannot_be_loaded_says_where(text: bytes, offset: int) -> None:
    """The offset counts bytes, not characters."""
    with pytest.raises(MalformedBodyError) as caught:
        load(text)

    assert caught.value.offset == offset


@given(text=values(is_lenient=True))
def test_what_can_be_split_can_be_loaded(text: str) -> None:
    """A value that has a span has a value."""
    start, stop = array_spans(f"[{text}]".encode())[0]

    load(f"[{text}]".encode()[start:stop])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b'"a\\nb"', "a\nb"),
        (b'"\\ud800"', "\ud800"),
        (b"5", "5"),
        (b"null", "null"),
        (b"[1]", "[1]"),
    ],
)
def test_a_string_is_loaded_and_all_else_stays_text(text: bytes, words: str) -> None:
    """Where a string is wanted and none stands there, its JSON text says what did."""
    assert load_text(text) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'.encode()),
        ("\ud800x", b'"\\ud800x"'),
        ({"\ud800": {"b": ("\udc00", Raw(b"1E400"))}}, b'{"\\ud800":{"b":["\\udc00",1E400]}}'),
        ([2**64, "\ud800"], b'[18446744073709551616,"\\ud800"]'),
        ([True, 2**64, 1.5, None], b"[true,18446744073709551616,1.5,null]"),
        ({"raw": Raw(b"-0.0"), "é": "\ud800"}, '{"raw":-0.0,"é":"\\ud800"}'.encode()),
    ],
)
def test_values_are_dumped_compactly(value: object, text: bytes) -> None:
    """Lone surrogates become their escapes, and raw JSON goes in as it is, beside them too."""
    assert dump(value) == text


@given(
    value=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(st.characters(), max_size=5)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3),
        ),
    )
)
def test_what_is_dumped_comes_back(value: object) -> None:
    """Any value survives, with surrogates anywhere in it."""
    # Two lone surrogates side by side are one character to every parser.
    expected = json.loads(json.dumps(value))

    assert json.loads(dump(value)) == expected


@given(words=st.text(st.characters(), max_size=10))
def test_text_that_is_json_keeps_its_meaning(words: str) -> None:
    """A lone surrogate in JSON text can only stand in a string, where its escape means the same."""
    text = json.dumps(words, ensure_ascii=False)

    encoded = encode_json_text(text)

    assert json.loads(encoded) == json.loads(json.dumps(words))


@pytest.mark.parametrize(
    ("text", "is_it"),
    [
        (b'{"a":"\\ud800\xff"}', True),
        (DIGITS_5000.encode(), True),
        (b"1E400", True),
        (b"NaN", False),
        (b'{"a":[-Infinity]}', False),
        (b'{"a":"NaN"}', True),
        (b"{", False),
        (b"", False),
        (b"[" * DEEP, False),
    ],
)
def test_json_is_what_the_standard_says(text: bytes, is_it: bool) -> None:  # noqa: FBT001 - a column of the table
    """No server has to take NaN or Infinity, so they are no JSON."""
    assert is_json(text) is is_it


# ---------------------------------------------------------------------- paths

_NESTED = b' { "a" : [ 1 , {"b": "x"} ] , "a\\u0062": -0.0 }'


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), _NESTED),
        (("a",), b'[ 1 , {"b": "x"} ]'),
        (("a", 0), b"1"),
        (("a", 1), b'{"b": "x"}'),
        (("a", 1, "b"), b'"x"'),
        (("ab",), b"-0.0"),
    ],
)
def test_a_path_leads_to_its_value(path: Path, value: bytes) -> None:
    """Keys are compared decoded, places counted from the front."""
    start, stop = locate(_NESTED, path)

    assert _NESTED[start:stop] == value


@pytest.mark.parametrize("path", [("b",), ("a", 2), ("a", "b"), ("ab", 0), (0,), ("a", 0, "x")])
def test_a_path_to_nothing_is_an_error(path: Path) -> None:
    """What is not there is not found, whatever else is."""
    with pytest.raises(MalformedBodyError):
        locate(_NESTED, path)


def test_splices_are_put_in_at_their_places() -> None:
    """Order does not matter; two at the same place keep theirs."""
    assert splice(b"0123456789", [(8, 9, b"H"), (2, 4, b""), (4, 4, b"a"), (4, 4, b"b")]) == (
        b"01ab4567H9"
    )


def test_no_splice_changes_nothing() -> None:
    """Without splices the text comes back."""
    assert splice(b"text", []) == b"text"


# ------------------------------------------------------------ arrays, members

_LIST = b"[ 1 ,\n 22 , 333 ]"


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ([], b"[ 1 ,\n 22 , 333 ]"),
        ([0], b"[ 22 , 333 ]"),
        ([1], b"[ 1 ,\n 333 ]"),
        ([2], b"[ 1 ,\n 22 ]"),
        ([0, 1], b"[ 333 ]"),
        ([1, 2], b"[ 1 ]"),
        ([0, 2], b"[ 22 ]"),
        ([0, 1, 2], b"[]"),
    ],
)
def test_elements_leave_with_their_commas(gone: list[int], left: bytes) -> None:
    """What stays keeps its bytes and the whitespace in front of it or behind it."""
    splices = drop_elements((0, len(_LIST)), array_spans(_LIST), gone)

    assert splice(_LIST, splices) == left


@given(made=random_arrays(is_lenient=True), data=st.data())
def test_dropping_elements_leaves_the_others_as_they_are(
    made: Composed, data: st.DataObject
) -> None:
    """The remaining spans hold the very bytes that stayed, in their order."""
    count = len(made.spans)
    gone = data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set[int]()))
    texts = [made.text[low:high] for low, high in made.spans]
    start, stop = made.text.index(b"["), made.text.rindex(b"]") + 1

    left = splice(made.text, drop_elements((start, stop), made.spans, gone))

    assert [left[low:high] for low, high in array_spans(left)] == [
        text for place, text in enumerate(texts) if place not in gone
    ]


_OBJECT = b'{ "a" : 1 ,\n "b" : 22 , "c" : 333 }'


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ((), _OBJECT),
        (("a",), b'{ "b" : 22 , "c" : 333 }'),
        (("b",), b'{ "a" : 1 ,\n "c" : 333 }'),
        (("c",), b'{ "a" : 1 ,\n "b" : 22 }'),
        (("a", "c"), b'{ "b" : 22 }'),
        (("a", "b", "c"), b"{}"),
        (("x",), _OBJECT),
    ],
)
def test_members_leave_with_their_commas(gone: tuple[str, ...], left: bytes) -> None:
    """Members go with key and comma; a key that is not there takes nothing along."""
    assert splice(_OBJECT, drop_members(_OBJECT, gone)) == left


@given(made=random_objects(is_lenient=True), gone=st.sets(st.sampled_from(["a", "b", "messages"])))
def test_dropping_members_leaves_the_others_as_they_are(made: Composed, gone: set[str]) -> None:
    """What stays is what a parser saw there before, byte for byte, and no hidden twin comes up."""
    left = splice(made.text, drop_members(made.text, gone))

    assert [(key, left[low:high]) for key, (low, high) in object_spans(left).items()] == [
        (key, made.text[low:high]) for key, (low, high) in made.members if key not in gone
    ]


@pytest.mark.parametrize(
    ("array", "longer"), [(b"[ ]", b"[9]"), (b"[1 ]", b"[1,9 ]"), (b"[ 1,\n2 ]", b"[ 1,\n2,9 ]")]
)
def test_an_element_is_put_at_the_end(array: bytes, longer: bytes) -> None:
    """A new last element changes nothing that stood there."""
    put_in = insert_element((0, len(array)), array_spans(array), b"9")

    assert splice(array, [put_in]) == longer


@given(text=strings())
def test_a_string_in_every_writing_is_read(text: str) -> None:
    """Bare or escaped, a string is the same word to us as to the standard library."""
    assert load(text.encode()) == json.loads(text)
