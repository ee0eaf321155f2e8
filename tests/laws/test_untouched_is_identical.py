"""Law 4: what no edit names goes out with the bytes that it came in with."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS, bodies, history_of
from tests.laws.rewriters import Rewriter, reserialise, trimtab
from trimtab import Drop, Fold, Plan, Replace
from trimtab.plan import Keep
from trimtab.wire import check, read

LIMITS = st.sampled_from([40, 120, 300, 800, 2_000, 6_000, 100_000])


def named(plan: Plan) -> set[int]:
    """Every original message that an edit names."""
    places: set[int] = set()
    for edit in plan:
        match edit:
            case Replace():
                places.add(edit.message)
            case Drop():
                places.add(edit.ref.message)
            case Fold():
                places |= {ref.message for ref in edit.removed}
                places |= set() if edit.joins is None else {edit.joins}
            case Keep():
                pass
    return places


def assert_identical(body: bytes, format: str, limit: int, rewriter: Rewriter) -> None:  # noqa: A002 - the word for it
    """Messages and envelope that no edit names keep their bytes and their order."""
    rewritten = rewriter(body, format, limit)
    if not rewritten.plan:
        assert rewritten.body is body
        return
    before, after = read(body, format), read(rewritten.body, format)

    start, stop = before.history_span
    new_start, new_stop = after.history_span
    assert rewritten.body[:new_start] == body[:start]
    assert rewritten.body[new_stop:] == body[stop:]
    untouched = [p for p in range(len(before.spans)) if p not in named(rewritten.plan)]
    assert is_subsequence(
        (before.message_bytes(place) for place in untouched),
        [after.message_bytes(place) for place in range(len(after.spans))],
    )


def is_subsequence(wanted: Iterable[bytes], found: list[bytes]) -> bool:
    """Whether all of one row stand in another, in order."""
    rest = iter(found)
    return all(item in rest for item in wanted)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data(), limit=LIMITS)
def test_what_no_edit_names_keeps_its_bytes(data: st.DataObject, limit: int, format: str) -> None:  # noqa: A002 - the word for it
    """Key order, escapes, whitespace and numbers of untouched messages stay."""
    assert_identical(data.draw(bodies(format)), format, limit, trimtab)


@pytest.mark.parametrize("format", FORMATS)
@given(data=st.data(), place=st.integers(0, 99))
def test_what_is_accepted_is_not_mended(data: st.DataObject, place: int, format: str) -> None:  # noqa: A002 - the word for it
    """Whatever order the parts of a message are in: where no rule is broken, the body is the same."""
    drawn = json.loads(data.draw(bodies(format)))
    messages = history_of(drawn)
    message = messages[place % len(messages)]
    for key in ("content", "parts", "output"):
        if isinstance(message.get(key), list):
            message[key] = data.draw(st.permutations(message[key]))
    body = json.dumps(drawn).encode()

    rewritten = trimtab(body, format, 1_000_000)

    assert rewritten.body is body or check(body, format) != ()


@pytest.mark.parametrize("format", FORMATS)
def test_the_law_fails_on_a_writer_that_reserialises(format: str) -> None:  # noqa: A002 - the word for it
    """The law finds a writer that parses the body and dumps it again."""

    @settings(report_multiple_bugs=False)
    @given(body=bodies(format))
    def law(body: bytes) -> None:
        assert_identical(body, format, 300, reserialise)

    with pytest.raises(AssertionError):
        law()
