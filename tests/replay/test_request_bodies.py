"""Raw request bodies, alone in a file or one on a line."""

from __future__ import annotations

import json

import pytest

from trimtab.errors import RequestError
from trimtab.replay.readers import request_bodies
from trimtab.replay.recording import RecordedRequest

CHAT = (
    b'{"model":"gpt-x","messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}'
)
GEMINI = b'{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"seed":1.0}}'
RESPONSES = b'{"model":"gpt-x","input":"hi"}'


def requests(data: bytes) -> list[RecordedRequest]:
    """All requests in a file."""
    return list(request_bodies.read(data, "file")[0].requests)


def test_a_body_in_a_file_comes_through_byte_for_byte() -> None:
    """Layout, numbers, escapes and order stay; only whitespace around the body goes."""
    body = b'{\n  "model": "m",\n\n  "messages": [ {"content": "caf\\u00e9 \\ud83d", "role": "user"} ],\r\n "t":1.0}'

    (request,) = requests(b"\n" + body + b"\n\n")

    assert request.build() == body


def test_bodies_on_lines_are_requests_in_their_order() -> None:
    """Each line is a request of its own, and one file is one recording."""
    data = b"\n".join((CHAT, b"", b"  " + GEMINI + b"\r", RESPONSES)) + b"\n"

    (recording,) = request_bodies.read(data, "bodies.jsonl")

    assert (recording.kind, recording.name, recording.notes) == (
        "request-bodies",
        "bodies.jsonl",
        (),
    )
    assert [request.build() for request in recording.requests] == [CHAT, GEMINI, RESPONSES]


def test_a_body_tells_its_model_and_size_and_leaves_the_format_open() -> None:
    """Nothing is guessed: whoever reads the body finds out whose format it is."""
    told = [
        (each.format, each.model, each.size_bytes, each.message_count, each.unrecorded, each.usage)
        for each in requests(b"\n".join((CHAT, GEMINI, RESPONSES)))
    ]

    assert told == [
        ("", "gpt-x", len(CHAT), 2, frozenset(), None),
        ("", "", len(GEMINI), 1, frozenset(), None),
        ("", "gpt-x", len(RESPONSES), 1, frozenset(), None),
    ]


def test_the_largest_request_is_found_without_building_it() -> None:
    """Sizes are known beforehand; of equals the last counts."""
    (recording,) = request_bodies.read(b"\n".join((CHAT, RESPONSES, CHAT, GEMINI)), "file")

    assert recording.largest == 2


def test_lines_that_are_no_bodies_are_named_and_skipped() -> None:
    """A broken or foreign line costs nothing but itself, first in the file or later."""
    data = b"\n".join((b'{"cut', CHAT, b'{"response":{}}', CHAT))

    (recording,) = request_bodies.read(data, "file")

    assert [request.build() for request in recording.requests] == [CHAT, CHAT]
    assert recording.notes == ("skipped lines that are cut off or no request bodies: 1, 3",)


def test_what_holds_no_body_is_refused() -> None:
    """The error names the file."""
    with pytest.raises(RequestError, match="`file` holds no request body"):
        request_bodies.read(b'{"a":1}', "file")


RECOGNISED: list[tuple[bytes, bool]] = [
    (CHAT, True),
    (json.dumps(json.loads(CHAT), indent=2).encode(), True),
    (GEMINI, True),
    (RESPONSES, True),
    (b'{"model":"m","messages":[]}', True),
    (b'{"model":7,"messages":[{"role":"user"}]}', True),
    (b'{"prompt":{"id":"p"},"input":[{"role":"user","content":"hi"}]}', True),
    (b'{"id":1}\n' + CHAT, True),
    (b"", False),
    (b"[]", False),
    (b'{"a":1}', False),
    (b'{"messages":"none"}', False),
    (b'{"messages":[{"info":{},"parts":[]}]}', False),
    (b'{"messages":["hi"]}', False),
    (b'{"contents":[{"text":"hi"}]}', False),
    (b'{"input":"question","output":"answer"}', False),
    (b'{"model":"m","input":{"a":1}}', False),
    (CHAT[:-1], False),
]


@pytest.mark.parametrize(("data", "is_one"), RECOGNISED)
def test_a_body_is_known_by_its_history(
    data: bytes,
    is_one: bool,  # noqa: FBT001 - a case
) -> None:
    """Messages with roles, contents with parts, or input beside a model make a body."""
    assert request_bodies.recognises(data) == is_one
