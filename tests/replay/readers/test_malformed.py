"""What is broken in a recording costs nothing but itself, whichever kind it is."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.replay.readers.full_samples import DOCUMENTS, LINES, USAGES, written
from trimtab.errors import RequestError
from trimtab.replay.files import READERS, load
from trimtab.replay.recording import RecordedRequest

FULL: dict[str, Any] = {**LINES, **DOCUMENTS}
READERS_BY_KIND = {reader.KIND: reader for reader in READERS}

WHAT_LINES_ARE_NOT = {
    "litellm-log": "no logs",
    "request-bodies": "no request bodies",
    "tau-bench": "no rows",
}
"""How a reader calls lines that it skips; all others: no JSON objects."""

BROKEN_LINES = {
    "half a line": b'{"type":"us',
    "no JSON": b"Traceback (most recent call last):",
    "binary": b"\x00\xff\xfe\x80\x1f\x8b",
    "a list": b"[1]",
    "a value": b"null",
    "two objects": b'{"a":1}{"b":2}',
    "a control character": b'{"type":"a\x01","messages":"a\x01","traj":"a\x01","role":"a\x01"}',
    "deep": b"[" * 100_000,
}

WRONG: tuple[object, ...] = (None, True, 7, -1.5, "x", [], [7], {}, {"a": 1})
"""Stands where something else should."""

Step = str | int


def requests(kind: str, data: bytes) -> list[RecordedRequest]:
    """All requests, read by the reader of a kind."""
    recordings = READERS_BY_KIND[kind].read(data, "log")
    return [request for recording in recordings for request in recording.requests]


def bodies(kind: str, data: bytes) -> list[bytes]:
    """What each of them sent."""
    return [request.build() for request in requests(kind, data)]


def places(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """Every place in a JSON value, the whole not among them."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in steps:
        yield (*path, step)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, step))


def changed(value: Any, path: tuple[Step, ...], new: object) -> Any:
    """The same value with something else in one place."""
    whole = copy.deepcopy(value)
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return whole


def test_there_is_a_full_sample_of_every_kind() -> None:
    """A reader that is added gets one too."""
    assert set(FULL) == set(READERS_BY_KIND)


@pytest.mark.parametrize("kind", FULL)
def test_a_full_sample_is_known_and_asks_more_than_once(kind: str) -> None:
    """What is broken below is broken in something that is read."""
    recordings = load(written(kind, FULL[kind]), "log")

    assert {recording.kind for recording in recordings} == {kind}
    assert sum(len(recording.requests) for recording in recordings) > 1


@pytest.mark.parametrize("what", BROKEN_LINES)
@pytest.mark.parametrize("kind", LINES)
def test_a_broken_line_is_named_and_skipped(kind: str, what: str) -> None:
    """In the middle or at the end, all others are read as if it were not there."""
    lines = written(kind, LINES[kind]).splitlines()
    whole = bodies(kind, b"\n".join(lines))

    for place in (1, len(lines)):
        data = b"\n".join([*lines[:place], BROKEN_LINES[what], *lines[place:]])
        recordings = load(data, "log")
        assert bodies(kind, data) == whole
        not_these = WHAT_LINES_ARE_NOT.get(kind, "no JSON objects")
        note = f"skipped lines that are cut off or {not_these}: {place + 1}"
        assert recordings[0].kind == kind
        assert recordings[0].notes[:1] == (note,)


@pytest.mark.parametrize("kind", LINES)
def test_a_last_line_without_its_end_is_read(kind: str) -> None:
    """A whole object is whole, whether a line break follows it or not."""
    data = written(kind, LINES[kind])

    assert bodies(kind, data.rstrip(b"\n")) == bodies(kind, data)
    assert bodies(kind, data.replace(b"\n", b"\r\n\r\n")) == bodies(kind, data)


@pytest.mark.parametrize("data", [b"", b" \r\n\n", b"\x00\xff\xfe\x80", b"\xff" * 9, b"{", b"[[["])
@pytest.mark.parametrize("kind", FULL)
def test_what_holds_nothing_is_refused(kind: str, data: bytes) -> None:
    """By the reader itself, and by all of them together."""
    assert not READERS_BY_KIND[kind].recognises(data)
    with pytest.raises(RequestError):
        READERS_BY_KIND[kind].read(data, "log")
    with pytest.raises(RequestError):
        load(data, "log")


@pytest.mark.parametrize("kind", FULL)
def test_members_of_any_type_are_read_or_refused(kind: str) -> None:
    """Each in turn, with something else in its place: never another exception."""
    reader = READERS_BY_KIND[kind]
    for path in places(FULL[kind]):
        for new in WRONG:
            data = written(kind, changed(FULL[kind], path, new))
            reader.recognises(data)
            with suppress(RequestError):
                for body in bodies(kind, data):
                    assert isinstance(json.loads(body), dict)


@pytest.mark.parametrize("new", ["many", 7, [], {"input_tokens": "many", "input": "many"}])
@pytest.mark.parametrize("kind", USAGES)
def test_usage_of_an_unexpected_type_counts_as_absent(kind: str, new: object) -> None:
    """The request is there all the same."""
    data = written(kind, FULL[kind])
    wrong = written(kind, changed(FULL[kind], USAGES[kind], new))

    told = requests(kind, data)[0].usage
    assert told is not None
    assert told.total_input == 70
    assert requests(kind, wrong)[0].usage is None
    assert bodies(kind, wrong) == bodies(kind, data)
