"""What a media payload says about itself: pixels and pages."""

from __future__ import annotations

import base64
import io
import re
import struct

__all__ = ["data_url", "document_pages", "image_size"]

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


def data_url(url: str) -> tuple[str, str] | None:
    """Split a ``data:`` URL into media type and base64 payload; None where it is none."""
    match = _DATA_URL.match(url)
    return (match[1], url[match.end() :]) if match else None
