"""Which reader gets a file, and what is said of a file that none can read."""

from __future__ import annotations

import gzip

import pytest

from trimtab.errors import MalformedBodyError, RequestError, UnknownFormatError
from trimtab.replay.files import READERS, load

BODY = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
LIST = b'[{"role":"user","content":"hi"}]'
CLAUDE = (
    b'{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"hi"}}\n'
    b'{"type":"assistant","uuid":"a","parentUuid":"u","message":{"id":"m","role":"assistant",'
    b'"content":[{"type":"text","text":"hello"}]}}\n'
)


@pytest.mark.parametrize(
    ("data", "kind"),
    [(CLAUDE, "claude-code"), (LIST, "openai-chat-messages"), (BODY, "request-bodies")],
)
def test_the_reader_that_knows_the_bytes_reads_them(data: bytes, kind: str) -> None:
    """What is in a file decides, plain, packed or with a byte-order mark; its name does not."""
    plain = load(data, "x.png")
    packed = load(gzip.compress(data[:9]) + gzip.compress(data[9:]), "x.png")
    marked = load(b"\xef\xbb\xbf" + data, "x.png")

    assert [recording.kind for recording in plain] == [kind]
    assert [
        [request.build() for recording in recordings for request in recording.requests]
        for recordings in (packed, marked)
    ] == [[request.build() for recording in plain for request in recording.requests]] * 2


@pytest.mark.parametrize("data", [CLAUDE, LIST, BODY])
def test_no_two_readers_know_the_same_bytes(data: bytes) -> None:
    """The order of the readers decides nothing for plain cases."""
    assert sum(reader.recognises(data) for reader in READERS) == 1


def test_packed_files_are_unpacked_up_to_a_limit() -> None:
    """A small file that unpacks to a large one is refused before it fills the memory."""
    packed = gzip.compress(BODY)

    assert load(packed, "x", unpacked_limit_bytes=len(BODY))[0].requests[0].build() == BODY
    with pytest.raises(RequestError, match="larger than 56 bytes when it is unpacked"):
        load(packed, "x", unpacked_limit_bytes=len(BODY) - 1)


KNOWN = (
    "known kinds are claude-code, codex, pi, copilot-cli, gemini-cli, opencode, trae, tau2-bench, "
    "tau-bench, swe-agent, mini-swe-agent, litellm-log, http-exchanges, openai-chat-messages, "
    "request-bodies"
)
HINT = "hint: a request body as it was sent can always be read"

REFUSED: list[tuple[bytes, type[RequestError], str]] = [
    (b"", RequestError, "`x` is empty: there is nothing to read"),
    (b" \r\n", RequestError, "`x` is empty: there is nothing to read"),
    (b"SQLite format 3\x00...", RequestError, f"`x` is a SQLite database, not JSON; {KNOWN}"),
    (b"PK\x03\x04", RequestError, f"`x` is a zip archive, not JSON; {KNOWN}"),
    (b"ab\x00cd", RequestError, f"`x` is binary, not JSON; {KNOWN}"),
    (
        '{"a":1}'.encode("utf-16"),
        RequestError,
        f"`x` is text in UTF-16 (save it as UTF-8), not JSON; {KNOWN}",
    ),
    (b"\x1f\x8bgarbage", RequestError, "`x` begins like gzip but cannot be unpacked"),
    (gzip.compress(BODY, mtime=0)[:-9], RequestError, "`x` is gzip that is cut off; copy it again"),
    (b"hello", RequestError, f"`x` is text, but neither JSON nor JSON lines; {KNOWN}"),
    (
        BODY[:-1],
        MalformedBodyError,
        "`x`: the JSON is cut off: it ends before it is complete (at byte 56)",
    ),
    (b'{"a" 1}', MalformedBodyError, "`x`: not JSON: expecting ':' delimiter (at byte 5)"),
    (
        b'{\n "secret": "hidden",\n "b": 1}',
        UnknownFormatError,
        f"`x` is JSON with the keys `secret`, `b`, which is no recording that is known; {KNOWN}; {HINT}",
    ),
    (
        b'{"a":1}\n{"a":2}\n',
        UnknownFormatError,
        f"`x` is JSON lines with the keys `a`, which is no recording that is known; {KNOWN}; {HINT}",
    ),
    (
        b"{}",
        UnknownFormatError,
        f"`x` is JSON without any keys, which is no recording that is known; {KNOWN}; {HINT}",
    ),
    (
        b"[1, 2]",
        UnknownFormatError,
        f"`x` is a JSON array of 2 elements, which is no recording that is known; {KNOWN}; {HINT}",
    ),
]


@pytest.mark.parametrize(("data", "error", "message"), REFUSED)
def test_what_nobody_knows_is_refused_with_what_it_looks_like(
    data: bytes, error: type[RequestError], message: str
) -> None:
    """The error says what the bytes are, by keys and marks alone, and what is known."""
    with pytest.raises(error) as caught:
        load(data, "x")

    assert (type(caught.value), str(caught.value)) == (error, message)


def test_an_error_in_json_carries_its_place() -> None:
    """Where reading stopped is there for programs too."""
    with pytest.raises(MalformedBodyError) as caught:
        load(BODY[:-1], "x")

    assert caught.value.offset == len(BODY) - 1
