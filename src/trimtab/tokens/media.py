"""Media to tokens, by the formulas that providers publish. Base64 is never counted as text.

Sources, as of November 2026: Anthropic's vision guide and PDF guide; OpenAI's
images and vision guide, and its guide to file inputs (a PDF goes in as its
words and a picture of each page, any other file as its words alone); Google's
guides to tokens, to image understanding and to media resolution.

Not known here is what a request sets for all its media at once (Gemini's
``generationConfig.mediaResolution``): a part counts as its own setting says,
else as the model does when nothing is said.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.messages import Media

__all__ = [
    "FlatFormula",
    "Formula",
    "GeminiTileFormula",
    "PatchFormula",
    "SquareFormula",
    "TileFormula",
    "image_formula",
    "media_tokens",
]


@dataclass(frozen=True, slots=True)
class SquareFormula:
    """Anthropic's: an image is shrunk until both bounds hold; each square of 28 pixels is a token.

    Attributes:
        max_pixels: Longest side after shrinking.
        max_tokens: Most squares after shrinking.
    """

    max_pixels: int
    max_tokens: int

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        long, short = max(width, height), min(width, height)

        def squares(length: int) -> int:
            """Squares when the long side is shrunk to a length; whole numbers, so exact."""
            return -(-length // 28) * -(-length * short // (long * 28))

        lengths = range(1, min(long, self.max_pixels) + 1)
        return squares(max(1, bisect_right(lengths, self.max_tokens, key=squares)))


@dataclass(frozen=True, slots=True)
class PatchFormula:
    """OpenAI's newer one: an image is fitted, then cut into patches of 32 pixels.

    Attributes:
        max_pixels: Longest side after fitting.
        max_patches: Most patches after fitting.
        tokens_per_patch: What one costs.
    """

    max_pixels: int
    max_patches: int
    tokens_per_patch: float

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        fitted = min(1.0, self.max_pixels / max(width, height)) / 32
        across, down = width * fitted, height * fitted
        if _whole(across) * _whole(down) > self.max_patches:
            shrink = math.sqrt(self.max_patches / (across * down))
            across, down = across * shrink, down * shrink
            # A little more, so that one of the sides is cut into whole patches.
            shrink = min(max(1, math.floor(side)) / side for side in (across, down))
            across, down = across * shrink, down * shrink
        return math.ceil(_whole(across) * _whole(down) * self.tokens_per_patch)


@dataclass(frozen=True, slots=True)
class TileFormula:
    """OpenAI's older one: tiles of 512 pixels, after fitting into 2,048 and a short side of 768.

    Attributes:
        base_tokens: What any image costs, and all that it costs at detail ``low``.
        tile_tokens: What a tile costs.
    """

    base_tokens: int
    tile_tokens: int

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        fitted = min(1.0, 2048 / max(width, height))
        fitted = min(fitted, 768 / min(width, height)) / 512
        return self.base_tokens + self.tile_tokens * _whole(width * fitted) * _whole(
            height * fitted
        )


@dataclass(frozen=True, slots=True)
class GeminiTileFormula:
    """Google's up to Gemini 2.5: a small image is one tile, a larger one is cut into tiles.

    A tile's side is two thirds of the image's short side, but 256 pixels at
    least and 768 at most (Vertex's guide to image understanding).

    Attributes:
        tile_tokens: What a tile costs.
    """

    tile_tokens: int

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        if max(width, height) <= 384:
            return self.tile_tokens
        side = min(768.0, max(256.0, min(width, height) / 1.5))
        return self.tile_tokens * _whole(width / side) * _whole(height / side)


@dataclass(frozen=True, slots=True)
class FlatFormula:
    """Google's from Gemini 3 on: an image costs what its resolution setting says, whatever its size.

    Attributes:
        image_tokens: What an image costs.
    """

    image_tokens: int

    def tokens(self, width: int, height: int) -> int:  # noqa: ARG002 - size says nothing here
        """Tokens of an image of a size in pixels."""
        return self.image_tokens


def _whole(pieces: float) -> int:
    """Round up to whole pieces, but not for what only the last bit of a float says."""
    return max(1, math.ceil(round(pieces, 6)))


Formula: TypeAlias = SquareFormula | PatchFormula | TileFormula | GeminiTileFormula | FlatFormula
"""Pixels to tokens."""


@dataclass(frozen=True, slots=True)
class _Images:
    """How a model counts images, by the detail that the client asks for."""

    usual: Formula
    low: Formula
    original: Formula
    medium: Formula | None = None
    high: Formula | None = None

    def at(self, detail: str) -> Formula:
        """The formula for a detail, in OpenAI's words or in Google's (``MEDIA_RESOLUTION_LOW``)."""
        match detail.lower().removeprefix("media_resolution_"):
            case "low":
                return self.low
            case "medium":
                return self.medium or self.usual
            case "high":
                return self.high or self.usual
            case "original" | "ultra_high":
                return self.original
            case _:
                return self.usual


def _squares(max_pixels: int, max_tokens: int) -> _Images:
    formula = SquareFormula(max_pixels, max_tokens)
    return _Images(formula, formula, formula)


def _patches(
    tokens_per_patch: float,
    usual: tuple[int, int] = (2048, 2500),
    low: tuple[int, int] = (512, 256),
    original: tuple[int, int] | None = None,
) -> _Images:
    """Bounds are the longest side in pixels and the most patches."""
    return _Images(
        PatchFormula(*usual, tokens_per_patch),
        PatchFormula(*low, tokens_per_patch),
        PatchFormula(*(original or usual), tokens_per_patch),
    )


def _tiles(base_tokens: int, tile_tokens: int) -> _Images:
    formula = TileFormula(base_tokens, tile_tokens)
    return _Images(formula, TileFormula(base_tokens, 0), formula)


_GEMINI_TILES = _Images(*[GeminiTileFormula(258)] * 3)

_GEMINI_FLAT = _Images(
    usual=FlatFormula(1120),
    low=FlatFormula(280),
    original=FlatFormula(2240),
    medium=FlatFormula(560),
    high=FlatFormula(1120),
)
"""Google's guide to media resolution; where nothing is said an image is looked at closely."""

_UNBOUNDED = (65_535, 30_000)
"""gpt-5.6 shrinks nothing; what is larger than this it refuses."""

_BY_MODEL: tuple[tuple[re.Pattern[str], _Images], ...] = (
    (
        re.compile(
            r"claude.*(?:fable|mythos|(?:opus|sonnet|haiku)-(?:4[-.](?:[7-9]|1\d)|[5-9])(?!\d))"
            r"|claude-(?:4[-.](?:[7-9]|1\d)|[5-9])(?!\d)"
        ),
        _squares(2576, 4784),
    ),
    (re.compile(r"claude"), _squares(1568, 1568)),
    (re.compile(r"gpt-4\.1-mini"), _patches(1.62, (2048, 6144))),
    (re.compile(r"gpt-4\.1-nano"), _patches(2.46, (2048, 6144))),
    (re.compile(r"o4-mini"), _patches(1.72, (2048, 6144))),
    (re.compile(r"gpt-5-mini"), _patches(1.2)),
    (re.compile(r"gpt-5-nano"), _patches(1.5)),
    (re.compile(r"gpt-5\.[23](?!\d)"), _patches(1.2, (2048, 6144))),
    (
        re.compile(r"gpt-5\.4(?!\d)"),
        _patches(1.2, low=(2048, 6144), original=(6000, 10_000)),
    ),
    (re.compile(r"gpt-5\.5(?!\d)"), _patches(1.2, original=(6000, 10_000))),
    (
        re.compile(r"gpt-5\.(?:[6-9]|\d\d)|gpt-[6-9]"),
        _patches(1.2, _UNBOUNDED, original=_UNBOUNDED),
    ),
    (re.compile(r"gpt-4o-mini"), _tiles(2833, 5667)),
    (re.compile(r"gpt-5"), _tiles(70, 140)),
    (re.compile(r"gpt-4|chatgpt-4o"), _tiles(85, 170)),
    (re.compile(r"gemini-(?:pro|[12](?!\d))"), _GEMINI_TILES),
    (re.compile(r"gemini"), _GEMINI_FLAT),
    (re.compile(r"(?:^|[/:.])o[13](?![a-z0-9])"), _tiles(75, 150)),
)
"""The first that fits a model's id. Source: the providers' vision guides, as wire rules 10.4 have
them. ``high`` is what gpt-5.4 and 5.5 do when nothing is said, ``original`` what 5.6 does."""

_DEFAULT = _patches(1.2)

_UNKNOWN_SIZE = (1568, 1568)
"""Pixels of an image behind an address: nobody measured it, so it is taken as large."""

_TOKENS_PER_PAGE = 3_000
"""Words of a dense page, beside its picture. Anthropic's PDF guide gives 1,500 to 3,000."""

_BYTES_PER_PAGE = 100_000
"""Of a PDF whose pages cannot be counted. A paper with figures has about 80,000."""

_GEMINI_PAGES = {"low": 280, "high": 1120, "ultra_high": 2240}
"""A page for Gemini 3 where a resolution is set; its words are not billed beside it."""

_GEMINI_PAGE = 560
"""The same where nothing is said, or ``medium``."""

_TOKENS_PER_OLD_GEMINI_PAGE = 258
"""Up to Gemini 2.5, by Google's guide to documents."""

_TOKENS_PER_AUDIO_SECOND = 32
"""Google's guide to tokens; OpenAI's models take 10."""

_TOKENS_PER_VIDEO_SECOND = 263 + _TOKENS_PER_AUDIO_SECOND
"""A picture a second, and its sound (Google's guide to tokens). Gemini 3 takes fewer for a picture."""

_AUDIO_BYTES_PER_SECOND = 16_000
"""Of compressed sound, where its length is not known."""

_VIDEO_BYTES_PER_SECOND = 125_000
"""Of compressed video, where its length is not known: 1 Mbit."""

_TOKENS_PER_FILE_BYTE = 0.25
"""A file that is neither: text at 4 characters a token."""


def image_formula(model: str, detail: str = "") -> Formula:
    """Find how a model counts an image; for unknown models as OpenAI's gpt-5.4 does.

    Args:
        model: The model's id.
        detail: How closely it shall look, in the provider's words; empty where nobody said.
    """
    name = model.lower()
    images = next((images for pattern, images in _BY_MODEL if pattern.search(name)), _DEFAULT)
    return images.at(detail)


def media_tokens(media: Media, model: str) -> int:
    """Say what a media part costs on a model.

    Args:
        media: The part; its payload's length is looked at, never its text.
        model: The model's id.

    Returns:
        Tokens, 1 or more. An image whose size is not known counts as a large one.
    """
    payload_bytes = len(media.data) * 3 // 4
    match media.kind:
        case "image":
            is_measured = media.width > 0 and media.height > 0
            size = (media.width, media.height) if is_measured else _UNKNOWN_SIZE
            return image_formula(model, media.detail).tokens(*size)
        case "document":
            pages = media.pages or max(1, payload_bytes // _BYTES_PER_PAGE)
            return pages * _page_tokens(model, media.detail)
        case "audio":
            seconds = media.seconds or payload_bytes / _AUDIO_BYTES_PER_SECOND
            return max(1, math.ceil(seconds * _TOKENS_PER_AUDIO_SECOND))
        case "video":
            seconds = media.seconds or payload_bytes / _VIDEO_BYTES_PER_SECOND
            return max(1, math.ceil(seconds * _TOKENS_PER_VIDEO_SECOND))
        case "file":
            return max(1, math.ceil(payload_bytes * _TOKENS_PER_FILE_BYTE))


def _page_tokens(model: str, detail: str) -> int:
    """Tokens of a page of a document: its picture, and its words where they are billed too."""
    match image_formula(model):
        case GeminiTileFormula():
            return _TOKENS_PER_OLD_GEMINI_PAGE
        case FlatFormula():
            setting = detail.lower().removeprefix("media_resolution_")
            return _GEMINI_PAGES.get(setting, _GEMINI_PAGE)
        case formula:
            return formula.tokens(1240, 1754) + _TOKENS_PER_PAGE  # A4 at 150 dots an inch
