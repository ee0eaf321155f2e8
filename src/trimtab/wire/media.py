"""What a media payload says about itself: pixels, pages and seconds."""

from __future__ import annotations

import base64
import io
import re
import struct

__all__ = ["data_url", "document_pages", "image_size", "openai_detail", "recording_seconds"]

_HEADER_CHARS = 128 * 1024
"""Base64 characters of an image that are looked at. A JPEG's size may stand
behind an embedded preview, which is at most 64 KB (one Exif segment)."""

_PAGE = re.compile(rb"/Type\s*/Page\b")
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,")


def image_size(data: str) -> tuple[int, int]:
    """Read width and height from the front of a base64 payload; (0, 0) where they are not found."""
    import imagesize  # noqa: PLC0415 - it brings an HTTP client along, which only images need

    try:
        head = base64.b64decode(data[:_HEADER_CHARS], validate=False)
        width, height = map(int, imagesize.get(io.BytesIO(head)))  # an SVG has fractions
    except (ValueError, OverflowError, struct.error):
        return (0, 0)
    return (width, height) if width > 0 and height > 0 else (0, 0)


def document_pages(data: str) -> int:
    """Count the pages of a base64 PDF as far as its text shows them; 0 where it does not."""
    try:
        return len(_PAGE.findall(base64.b64decode(data, validate=False)))
    except ValueError:
        return 0


def recording_seconds(data: str) -> float:
    """Read how long a base64 recording plays, where it is WAV, MP4 or QuickTime; 0 for all others."""
    head = _decoded(data[:64])
    if head[:4] == b"RIFF" and head[8:16] == b"WAVEfmt ":
        bytes_per_second = int.from_bytes(head[28:32], "little")
        return len(data) * 3 / 4 / bytes_per_second if bytes_per_second else 0.0
    if head[4:8] != b"ftyp":
        return 0.0
    movie = _decoded(data)
    start = movie.find(b"mvhd") + 4
    fields = movie[start : start + 32]
    if start < 4 or len(fields) < 32:
        return 0.0
    # Behind version, flags, and the times of making and changing, which a new version widened.
    layout = ">II" if fields[0] == 0 else ">IQ"
    units_per_second, units = struct.unpack_from(layout, fields, 12 if fields[0] == 0 else 20)
    is_unknown = units >= 2 ** (8 * struct.calcsize(layout[0] + layout[2])) - 1
    return units / units_per_second if units_per_second and not is_unknown else 0.0


def openai_detail(detail: str) -> dict[str, str]:
    """The member that tells OpenAI how closely to look; none for another provider's word."""
    return {"detail": detail} if detail in ("auto", "low", "high", "original") else {}


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except ValueError:
        return b""


def data_url(url: str) -> tuple[str, str] | None:
    """Split a ``data:`` URL into media type and base64 payload; None where it is none."""
    match = _DATA_URL.match(url)
    return (match[1], url[match.end() :]) if match else None
