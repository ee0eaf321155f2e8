"""Bytes of a file become recordings: each reader is asked whether it knows them.

To read one more kind, write a file in ``replay/readers`` with the three names
of :class:`~trimtab.replay.recording.Reader`, and put it into :data:`READERS`.
What a file is called decides nothing.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from trimtab.errors import MalformedBodyError, RequestError, UnknownFormatError
from trimtab.replay.json_lines import lines
from trimtab.replay.readers import (
    cassettes,
    chat_messages,
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    litellm_log,
    mini_swe,
    opencode,
    pi,
    request_bodies,
    swe_agent,
    tau2,
    tau_bench,
    trae,
)
from trimtab.wire.json_spans import load as load_json

if TYPE_CHECKING:
    from trimtab.replay.recording import Reader, Recording

__all__ = ["READERS", "load"]

READERS: tuple[Reader, ...] = (
    claude_code,
    codex,
    pi,
    copilot_cli,
    gemini_cli,
    opencode,
    trae,
    tau2,
    tau_bench,
    swe_agent,
    mini_swe,
    litellm_log,
    cassettes,
    chat_messages,
    request_bodies,
)
"""Those with the most particular marks first; the first that knows a file reads it."""

# Larger than any session store known, small enough to be held in memory.
_UNPACKED_LIMIT_BYTES = 2 * 1024**3

_GZIP = b"\x1f\x8b"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

# First bytes of what people hand over by mistake.
_BINARIES = (
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"PK\x03\x04", "a zip archive"),
    (b"(\xb5/\xfd", "packed with zstd"),
    (b"BZh", "packed with bzip2"),
    (b"\xfd7zXZ\x00", "packed with xz"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
)


def load(
    data: bytes, name: str, *, unpacked_limit_bytes: int = _UNPACKED_LIMIT_BYTES
) -> list[Recording]:
    """Read all sessions in a file.

    Args:
        data: The whole file; gzip is unpacked.
        name: What it is called, for people.
        unpacked_limit_bytes: How large it may be when it is unpacked.

    Returns:
        At least one recording.

    Raises:
        MalformedBodyError: If it is JSON that is broken or cut off; carries the offset.
        UnknownFormatError: If it is JSON of no kind that is known.
        RequestError: If it is something else, or holds nothing that can be used.
    """
    text = _unpacked(data, name, unpacked_limit_bytes).removeprefix(_UTF8_MARK)
    for reader in READERS:
        if reader.recognises(text):
            return reader.read(text, name)
    raise _refusal(text, name)


def _unpacked(data: bytes, name: str, limit_bytes: int) -> bytes:
    """Undo gzip, of several members too, as ``cat a.gz b.gz`` makes them."""
    members: list[bytes] = []
    room = limit_bytes
    while data.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            members.append(unpacker.decompress(data, room + 1))
        except zlib.error:
            raise RequestError(f"`{name}` begins like gzip but cannot be unpacked") from None
        room -= len(members[-1])
        if room < 0:
            raise RequestError(
                f"`{name}` is larger than {limit_bytes} bytes when it is unpacked; split it"
            )
        if not unpacker.eof:
            raise RequestError(f"`{name}` is gzip that is cut off; copy it again")
        data = unpacker.unused_data
    return b"".join(members) if members else data


def _refusal(text: bytes, name: str) -> RequestError:
    """Say what some bytes look like, what is known, and what to do."""
    kinds = ", ".join(reader.KIND for reader in READERS)
    known = f"known kinds are {kinds}"
    if not text.strip():
        return RequestError(f"`{name}` is empty: there is nothing to read")
    binary = _binary(text)
    if binary:
        return RequestError(f"`{name}` is {binary}, not JSON; {known}")
    if text.strip() in {b"null", b"true", b"false"}:
        return UnknownFormatError(f"`{name}` is the JSON value {text.strip().decode()}; {known}")
    if text.lstrip()[:1] not in {b"{", b"["}:
        return RequestError(f"`{name}` is text, but neither JSON nor JSON lines; {known}")
    try:
        shape = _shape(text)
    except MalformedBodyError as error:
        reason = str(error).rpartition(" (at byte")[0] or str(error)
        return MalformedBodyError(f"`{name}`: {reason}", offset=error.offset)
    return UnknownFormatError(
        f"`{name}` is {shape}, which is no recording that is known; {known}; "
        "hint: a request body as it was sent can always be read"
    )


def _binary(text: bytes) -> str:
    """Say which binary a file is; empty for text."""
    if text.startswith(_UTF16_MARKS):
        return "text in UTF-16 (save it as UTF-8)"
    for mark, what in _BINARIES:
        if text.startswith(mark):
            return what
    return "binary" if b"\x00" in text[:8192] else ""


def _shape(text: bytes) -> str:
    """Say what JSON looks like, by its keys alone: values may be private.

    Raises:
        MalformedBodyError: If it is no JSON.
    """
    first = next(lines(text))
    try:
        value, what = load_json(bytes(first.text)), "JSON lines"
    except MalformedBodyError:
        value, what = load_json(text), "JSON"
    if text.strip() == bytes(first.text).strip():
        what = "JSON"
    if isinstance(value, list):
        return f"a JSON array of {len(value)} elements"
    keys = ", ".join(f"`{key}`" for key in list(value)[:8])
    return f"{what} with the keys {keys}" if keys else f"{what} without any keys"
