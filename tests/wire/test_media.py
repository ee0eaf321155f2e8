"""What a payload says of itself: pixels, pages, and a data URL's two halves."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.wire.media import data_url, document_pages, image_size, recording_seconds


def encoded(payload: bytes) -> str:
    """The payload as base64."""
    return base64.b64encode(payload).decode()


def png(width: int, height: int, tail: bytes = b"") -> bytes:
    """A PNG as far as its size goes, and whatever follows."""
    header = struct.pack(">I4sII5B", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + header + tail


def jpeg(width: int, height: int, preview: bytes = b"") -> bytes:
    """A JPEG whose size stands behind an embedded preview."""
    exif = b"\xff\xe1" + struct.pack(">H", len(preview) + 2) + preview
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + b"\0" * 9
    return b"\xff\xd8" + exif + frame + b"\xff\xd9"


def svg(width: str, height: str) -> bytes:
    """An SVG of a size in words."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"></svg>'.encode()
    )


@pytest.mark.parametrize(
    ("payload", "size"),
    [
        (png(640, 480), (640, 480)),
        (png(640, 480, b"\0" * 500_000), (640, 480)),
        (jpeg(1200, 900), (1200, 900)),
        (jpeg(1200, 900, b"\0" * 60_000), (1200, 900)),
        (b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0" * 10, (3, 4)),
        (svg("100.5", "50mm"), (100, 188)),
        (svg("auto", "100%"), (0, 0)),
        (svg("9" * 400, "1"), (0, 0)),
        (png(0, 480), (0, 0)),
        (png(640, 480)[:18], (0, 0)),
        (b"plain words", (0, 0)),
        (b"", (0, 0)),
    ],
)
def test_an_image_says_its_size(payload: bytes, size: tuple[int, int]) -> None:
    """Whole pixels from the front of the payload; nothing where it does not say."""
    assert image_size(encoded(payload)) == size


@pytest.mark.parametrize("data", ["a", "é", "\ud800", "data:image/png;base64,"])
def test_what_is_no_base64_has_no_size(data: str) -> None:
    """A payload that cannot be decoded is no image."""
    assert (image_size(data), document_pages(data)) == ((0, 0), 0)


@given(
    front=st.sampled_from([b"", png(1, 1)[:20], jpeg(1, 1)[:9], b"II*\0", b"RIFF", b"<svg "]),
    tail=st.binary(),
)
def test_no_payload_raises(front: bytes, tail: bytes) -> None:
    """A size is two whole numbers, whatever the payload is."""
    width, height = image_size(encoded(front + tail))

    assert (type(width), type(height), width >= 0, height >= 0) == (int, int, True, True)


@pytest.mark.parametrize(
    ("payload", "pages"),
    [
        (b"%PDF-1.4 /Type /Page /Type/Page\n/Type  /Page>>", 3),
        (b"/Type /Pages /Type /PageLabel", 0),
        (b"%PDF-1.4 compressed", 0),
        (b"", 0),
    ],
)
def test_a_document_says_its_pages(payload: bytes, pages: int) -> None:
    """Page objects count, the tree of pages and labels do not."""
    assert document_pages(encoded(payload)) == pages


@pytest.mark.parametrize(
    ("url", "split"),
    [
        ("data:image/png;base64,AAAA", ("image/png", "AAAA")),
        ("data:image/png;name=a.png;base64,AAAA", ("image/png", "AAAA")),
        ("data:;base64,AAAA", ("", "AAAA")),
        ("data:application/pdf;base64,", ("application/pdf", "")),
        ("data:text/plain,words", None),
        ("https://x.test/data:image/png;base64,AAAA", None),
        ("", None),
    ],
)
def test_a_data_url_is_split(url: str, split: tuple[str, str] | None) -> None:
    """Media type and payload; anything else is no payload."""
    assert data_url(url) == split


def wav(bytes_per_second: int, size: int) -> bytes:
    """A recording of some bytes."""
    fields = struct.pack("<IHHIIHH", 16, 1, 1, bytes_per_second // 2, bytes_per_second, 2, 16)
    head = b"RIFF\0\0\0\0WAVEfmt " + fields + b"data\0\0\0\0"
    return head + bytes(size - len(head))


def mp4(version: int, units_per_second: int, units: int) -> bytes:
    """As much of a film as says how long it is."""
    layout = ">B3xIIII" if version == 0 else ">B3xQQIQ"
    fields = struct.pack(layout, version, 1, 2, units_per_second, units)
    return b"\0\0\0\x14ftypisom" + bytes(8) + b"\0\0\0\x6cmvhd" + fields + bytes(80)


@pytest.mark.parametrize(
    ("payload", "seconds"),
    [
        (wav(32_000, 80_000), 2.5),
        (wav(0, 80_000), 0.0),
        (mp4(0, 600, 1_500), 2.5),
        (mp4(1, 1_000, 2_500), 2.5),
        (mp4(0, 600, 2**32 - 1), 0.0),  # not known
        (mp4(1, 600, 2**64 - 1), 0.0),
        (mp4(0, 0, 1_500), 0.0),
        (mp4(0, 600, 1_500)[:40], 0.0),
        (b"\0\0\0\x14ftypisom", 0.0),
        (b"ID3\4\0", 0.0),
        (b"", 0.0),
    ],
)
def test_a_recording_says_how_long_it_plays(payload: bytes, seconds: float) -> None:
    """WAV by its bytes a second, MP4 by its head; anything else does not say."""
    assert recording_seconds(encoded(payload)) == pytest.approx(seconds, rel=1e-4)


@given(front=st.sampled_from([b"", wav(8_000, 60), mp4(0, 1, 1)[:44]]), tail=st.binary())
def test_no_recording_raises(front: bytes, tail: bytes) -> None:
    """A length is a number and not below 0, whatever the payload is."""
    assert recording_seconds(encoded(front + tail)) >= 0
