"""The requests that led to a request: a body that holds a whole session is the last of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from trimtab.errors import RequestError
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.wire import Request, read

__all__ = ["unrolled"]


def unrolled(recording: Recording) -> Recording:
    """Make a session of a recording that is one request.

    Each answer in its history was the answer to what stands before it.

    Args:
        recording: A recording; one with several requests is a session already.

    Returns:
        The same session, request by request, the recorded one last.
    """
    if len(recording.requests) != 1:
        return recording
    (last,) = recording.requests
    try:
        request = read(last.build(), last.format or None)
    except RequestError:
        return recording
    starts = [
        place
        for place, outline in enumerate(request.outlines)
        if place and outline.role == "assistant" and request.outlines[place - 1].role != "assistant"
    ]
    earlier = [_request(last, request, count) for count in starts]
    return replace(recording, requests=(*earlier, last))


def _request(last: RecordedRequest, request: Request, count: int) -> RecordedRequest:
    """The request that a history of so many messages was."""
    return replace(
        last,
        format=request.format.name,
        build=partial(_body, request, count),
        size_bytes=request.spans[count - 1][1],
        message_count=count,
        usage=None,
        at=None,
    )


def _body(request: Request, count: int) -> bytes:
    start, stop = request.history_span
    end = request.spans[count - 1][1]
    return b"".join((request.body[:start], request.body[start:end], b"]", request.body[stop:]))
