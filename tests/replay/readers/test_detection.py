"""Every kind is known by its own reader alone, and nothing that is broken raises anything else."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.replay.readers.samples import SAMPLES
from trimtab.errors import RequestError
from trimtab.replay.files import READERS, load

KINDS = sorted(SAMPLES)


def test_there_is_a_sample_of_every_kind() -> None:
    """A reader that is added gets one too."""
    assert {reader.KIND for reader in READERS} == set(SAMPLES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_known_by_its_own_reader_alone(kind: str) -> None:
    """The order of the readers decides nothing for plain cases."""
    assert [reader.KIND for reader in READERS if reader.recognises(SAMPLES[kind])] == [kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_is_one_request_that_asks_what_was_asked(kind: str) -> None:
    """Whatever it is called, packed or not, the user's word is what was sent."""
    for data in (SAMPLES[kind], gzip.compress(SAMPLES[kind]), b"\xef\xbb\xbf" + SAMPLES[kind]):
        (recording,) = load(data, "x.png")
        request = recording.requests[0]
        assert recording.kind == kind
        assert b'"hi"' in request.build()
        assert b"hello" not in request.build()
        assert isinstance(json.loads(request.build()), dict)
        assert request.size_bytes > 0
        assert request.message_count > 0


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_cut_off_anywhere_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    """Half a file gives its whole parts, or a clear error, and never another exception."""
    whole = SAMPLES[kind]
    cut = whole[: data.draw(st.integers(0, len(whole)))]

    with suppress(RequestError):
        for recording in load(cut, "x"):
            assert recording.requests
            for request in recording.requests:
                request.build()


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_what_is_garbled_is_read_or_refused(kind: str, data: st.DataObject) -> None:
    """Some bytes replaced by others, or left out: the same holds."""
    whole = SAMPLES[kind]
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 20)))
    new = data.draw(
        st.one_of(st.binary(max_size=4), st.sampled_from([b"null", b"[]", b"7", b'""']))
    )

    with suppress(RequestError):
        for recording in load(whole[:start] + new + whole[stop:], "x"):
            for request in recording.requests:
                with suppress(RequestError):
                    request.build()


@pytest.mark.parametrize("kind", ["codex", "pi", "copilot-cli", "gemini-cli", "claude-code"])
def test_half_a_line_is_named_and_skipped(kind: str) -> None:
    """The last line of a session that was killed costs nothing but itself."""
    lines = SAMPLES[kind].count(b"\n")

    (recording,) = load(SAMPLES[kind] + b'{"type":"us', "x")

    assert f"skipped lines that are cut off or no JSON objects: {lines + 1}" in recording.notes
    assert len(recording.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_of_no_kind_are_refused_by_every_reader(kind: str) -> None:
    """A reader that is asked all the same says so, in its own words."""
    reader = next(reader for reader in READERS if kind == reader.KIND)

    for data in (b"", b"{}", b"[]", b'{"a":1}\n', b"- a\n"):
        assert not reader.recognises(data)
        with pytest.raises(RequestError):
            reader.read(data, "x")
