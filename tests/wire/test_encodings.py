"""Content encodings are undone, and never further than is allowed."""

from __future__ import annotations

import contextlib
import gzip
import sys
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as some

from trimtab.errors import (
    BodyTooLargeError,
    MalformedBodyError,
    MissingExtraError,
    RequestError,
    UnknownEncodingError,
)
from trimtab.wire.encodings import undo_encoding

BODY = '{"model":"m","input":"hello 你好"}'.encode()


def raw_deflate(body: bytes) -> bytes:
    """Without the wrapper of zlib."""
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


def as_zstd(body: bytes) -> bytes:
    """As Codex sends requests."""
    return zstd.compress(body, 3)


def as_brotli(body: bytes) -> bytes:
    """As browsers' servers do."""
    packed: bytes = brotli.compress(body)
    return packed


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", as_brotli),
    ("zstd", as_zstd),
]
each_packer = pytest.mark.parametrize(("name", "pack"), PACKERS)


@each_packer
@pytest.mark.parametrize("body", [b"", BODY, BODY * 100_000], ids=["empty", "small", "large"])
def test_a_body_comes_back_as_it_was(
    name: str, pack: Callable[[bytes], bytes], body: bytes
) -> None:
    """Of every encoding, in any case, with blanks around its name."""
    assert undo_encoding(pack(body), name) == body
    assert undo_encoding(pack(body), f" {name.upper()} , identity") == body


@pytest.mark.parametrize("name", ["", "identity", " Identity ", ",", "identity, identity"])
def test_a_body_without_an_encoding_is_given_back(name: str) -> None:
    """The very same, however large."""
    assert undo_encoding(BODY, name, limit_bytes=1) is BODY


def test_several_encodings_are_undone_from_the_last_to_the_first() -> None:
    """The header names them in the order in which they were applied."""
    assert undo_encoding(as_zstd(gzip.compress(BODY)), "gzip, zstd") == BODY
    assert undo_encoding(gzip.compress(as_brotli(zlib.compress(BODY))), "deflate,br,gzip") == BODY
    with pytest.raises(MalformedBodyError):
        undo_encoding(as_zstd(gzip.compress(BODY)), "zstd, gzip")


@pytest.mark.parametrize(("name", "pack"), [PACKERS[0], PACKERS[-1]])
def test_bodies_packed_one_behind_the_other_are_one(
    name: str, pack: Callable[[bytes], bytes]
) -> None:
    """As some packers write large ones; very many small ones take no long time."""
    assert undo_encoding(pack(b"a") + pack(b"") + pack(b"b"), name) == b"ab"
    assert undo_encoding(pack(b"") * 30_000, name) == b""


@each_packer
def test_a_body_of_exactly_the_limit_is_allowed(name: str, pack: Callable[[bytes], bytes]) -> None:
    """One byte more is not."""
    assert undo_encoding(pack(BODY), name, limit_bytes=len(BODY)) == BODY
    with pytest.raises(BodyTooLargeError, match="more than 35 bytes") as caught:
        undo_encoding(pack(BODY), name, limit_bytes=len(BODY) - 1)
    assert caught.value.limit_bytes == len(BODY) - 1


@each_packer
def test_a_bomb_is_not_unpacked(name: str, pack: Callable[[bytes], bytes]) -> None:
    """Unpacking ends where the limit is, also inside a second encoding."""
    bomb = pack(bytes(20_000_000))
    with pytest.raises(BodyTooLargeError):
        undo_encoding(bomb, name, limit_bytes=100_000)
    with pytest.raises(BodyTooLargeError):
        undo_encoding(gzip.compress(bomb), f"{name}, gzip", limit_bytes=100_000)


@each_packer
def test_a_damaged_body_is_told_from_one_that_is_cut_off(
    name: str, pack: Callable[[bytes], bytes]
) -> None:
    """Both can only be mended by whoever sent it."""
    packed = pack(BODY * 50)
    with pytest.raises(MalformedBodyError, match="cut off"):
        undo_encoding(packed[:-6], name)
    with pytest.raises(MalformedBodyError, match="cut off"):
        undo_encoding(b"", name)
    with pytest.raises(MalformedBodyError, match="is not"):
        undo_encoding(b"\xff" * 60, name)
    with pytest.raises(MalformedBodyError, match="is not"):
        undo_encoding(packed + b"\xff tail", name)


def test_an_unknown_encoding_is_named() -> None:
    """With those that are known."""
    with pytest.raises(UnknownEncodingError, match="'lz77'; known are gzip, x-gzip, deflate"):
        undo_encoding(BODY, "gzip, LZ77")


def test_more_encodings_than_anybody_needs_are_refused() -> None:
    """Each could be a bomb."""
    with pytest.raises(UnknownEncodingError, match="6 encodings"):
        undo_encoding(BODY, "gzip," * 6)


def test_a_window_that_is_larger_than_http_allows_is_refused() -> None:
    """A few bytes could make a decoder take 128 MB."""
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27}
    packer = zstd.ZstdCompressor(options=options)
    packed = packer.compress(BODY) + packer.flush()

    with pytest.raises(MalformedBodyError, match="is not zstd"):
        undo_encoding(packed, "zstd")


@pytest.mark.parametrize(
    ("name", "modules"), [("br", ["brotli"]), ("zstd", ["compression.zstd", "backports.zstd"])]
)
def test_what_is_not_installed_is_said(
    name: str, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With how to install it."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(MissingExtraError, match=rf"{name} needs .* 'trimtab\[encodings\]'"):
        undo_encoding(BODY, name)


@given(body=some.binary(), name=some.sampled_from(["gzip", "deflate", "br", "zstd", "br, gzip"]))
def test_bytes_that_are_no_packed_body_raise_only_what_is_promised(body: bytes, name: str) -> None:
    """No error of a library comes through."""
    for packed in (body, gzip.compress(body), as_zstd(body)[:-1], as_brotli(body) + body):
        with contextlib.suppress(RequestError):
            undo_encoding(packed, name, limit_bytes=1_000)
