"""Undo the content encodings of a body, never unpacking more than is allowed.

A few kilobytes can unpack to gigabytes. So every decoder is asked for at most
what is still allowed, and one byte more tells that there was more.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from trimtab.errors import (
    BodyTooLargeError,
    MalformedBodyError,
    MissingExtraError,
    UnknownEncodingError,
)

__all__ = ["undo_encoding"]

_LIMIT_BYTES = 256 * 1024 * 1024
"""No provider takes a body of more than 64 MB; with room for what a gateway adds."""

_MOST_ENCODINGS = 5
"""Each is unpacked up to the limit, so their number multiplies the work. curl takes five too."""

_PIECE_BYTES = 64 * 1024
"""A decoder hands back what it did not need of a piece. Small pieces keep that cheap
where a body is made of very many very small ones packed one by one."""

_ZSTD_WINDOW_LOG = 23
"""RFC 9659: over HTTP a window has at most 8 MB, so that is what a decoder may be made to take."""


def undo_encoding(body: bytes, content_encoding: str, *, limit_bytes: int = _LIMIT_BYTES) -> bytes:
    """Unpack a body.

    Args:
        body: As it came.
        content_encoding: The value of its header: ``gzip``, ``deflate``, ``br``, ``zstd``,
            ``identity``, nothing, or several with commas between them, the last applied last.
        limit_bytes: The most that it may be unpacked to, at each step.

    Returns:
        The body without its encodings; the very same where it has none.

    Raises:
        UnknownEncodingError: If an encoding is not known, or there are more than five.
        MalformedBodyError: If the body is not encoded like that, or is cut off.
        BodyTooLargeError: If it is larger than allowed. A body without encodings is never.
        MissingExtraError: If br or zstd is not installed; names the extra.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    packed = [name for name in names if name not in ("", "identity")]
    unknown = [name for name in packed if name not in _DECODERS]
    if unknown:
        known = ", ".join(_DECODERS)
        raise UnknownEncodingError(f"there is no encoding {unknown[0][:40]!r}; known are {known}")
    if len(packed) > _MOST_ENCODINGS:
        raise UnknownEncodingError(f"{len(packed)} encodings, at most {_MOST_ENCODINGS} are undone")
    for name in reversed(packed):
        body = _DECODERS[name](body, limit_bytes)
    return body


# ----------------------------------------------------------- by the standard library


class _Decoder(Protocol):
    """What zlib and zstd have in common."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /, max_length: int) -> bytes: ...


def _gzip(body: bytes, limit_bytes: int) -> bytes:
    try:
        return _unpacked(body, "gzip", lambda: zlib.decompressobj(wbits=31), limit_bytes)
    except zlib.error as error:
        raise _damaged("gzip", error) from None


def _deflate(body: bytes, limit_bytes: int) -> bytes:
    """By the standard with the wrapper of zlib; some senders leave it out."""
    try:
        return _unpacked(body, "deflate", zlib.decompressobj, limit_bytes)
    except zlib.error:
        pass
    try:
        return _unpacked(body, "deflate", lambda: zlib.decompressobj(wbits=-15), limit_bytes)
    except zlib.error as error:
        raise _damaged("deflate", error) from None


def _unpacked(
    body: bytes, name: str, make_decoder: Callable[[], _Decoder], limit_bytes: int
) -> bytes:
    """Unpack what may be several packed bodies one behind the other."""
    unpacked = bytearray()
    position = 0
    while position < len(body) or not position:
        decoder = make_decoder()
        while not decoder.eof:
            piece = body[position : position + _PIECE_BYTES]
            if not piece:
                raise MalformedBodyError(f"the body is cut off: its {name} does not end")
            unpacked += decoder.decompress(piece, limit_bytes + 1 - len(unpacked))
            if len(unpacked) > limit_bytes:
                raise BodyTooLargeError(limit_bytes)
            position += len(piece) - len(decoder.unused_data)
    return bytes(unpacked)


def _damaged(name: str, error: Exception) -> MalformedBodyError:
    return MalformedBodyError(f"the body is not {name}: {error}")


# ---------------------------------------------------------------- by an extra

_Module: TypeAlias = Any


def _zstd(body: bytes, limit_bytes: int) -> bytes:
    zstd = _imported("zstd", "compression.zstd", "backports.zstd")
    options = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    try:
        return _unpacked(body, "zstd", lambda: zstd.ZstdDecompressor(options=options), limit_bytes)
    except zstd.ZstdError as error:
        raise _damaged("zstd", error) from None


def _brotli(body: bytes, limit_bytes: int) -> bytes:
    brotli = _imported("br", "brotli")
    decoder = brotli.Decompressor()
    try:
        unpacked: bytes = decoder.process(body, output_buffer_limit=limit_bytes + 1)
    except brotli.error as error:
        raise _damaged("br", error) from None
    if len(unpacked) > limit_bytes:
        raise BodyTooLargeError(limit_bytes)
    if not decoder.is_finished():
        raise MalformedBodyError("the body is cut off: its br does not end")
    return unpacked


def _imported(name: str, *modules: str) -> _Module:
    for module in modules:
        try:
            return import_module(module)
        except ImportError:
            continue
    raise MissingExtraError(f"undoing the content encoding {name}", "encodings")


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
