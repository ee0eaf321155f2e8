"""Media to tokens, by the formulas that providers publish. Base64 is never counted as text.

Sources: Anthropic's vision guide and PDF guide, OpenAI's images and vision
guide, as of November 2026.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from trimtab.messages import Media

__all__ = ["PatchFormula", "TileFormula", "image_formula", "media_tokens"]


@dataclass(frozen=True, slots=True)
class PatchFormula:
    """Tokens by patches: an image is fitted, then cut into squares.

    Attributes:
        patch_pixels: Side of a square.
        max_pixels: Longest side after fitting.
        max_patches: Most squares after fitting.
        tokens_per_patch: What one costs.
    """

    patch_pixels: int
    max_pixels: int
    max_patches: int
    tokens_per_patch: float = 1.0

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        scale = min(1.0, self.max_pixels / max(width, height))
        across, down = self._patches(width * scale, height * scale)
        if across * down > self.max_patches:
            area = width * height * scale * scale
            shrink = math.sqrt(self.patch_pixels**2 * self.max_patches / area)
            across, down = self._whole_patches(width * scale * shrink, height * scale * shrink)
        return math.ceil(across * down * self.tokens_per_patch)

    def _patches(self, width: float, height: float) -> tuple[int, int]:
        return (
            max(1, math.ceil(width / self.patch_pixels)),
            max(1, math.ceil(height / self.patch_pixels)),
        )

    def _whole_patches(self, width: float, height: float) -> tuple[int, int]:
        """Round so that whole squares fit into the budget."""
        across = max(1, math.floor(width / self.patch_pixels))
        down = max(1, min(self.max_patches // across, math.ceil(height / self.patch_pixels)))
        return across, down


@dataclass(frozen=True, slots=True)
class TileFormula:
    """Tokens by tiles of 512 pixels, after fitting into 2,048 and a short side of 768."""

    base_tokens: int
    tile_tokens: int

    def tokens(self, width: int, height: int) -> int:
        """Tokens of an image of a size in pixels."""
        scale = min(1.0, 2048 / max(width, height))
        scale = min(scale, 768 / min(width, height))
        tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
        return self.base_tokens + self.tile_tokens * tiles


Formula: TypeAlias = PatchFormula | TileFormula

_CLAUDE = PatchFormula(28, 1568, 1568)
_CLAUDE_4_7 = PatchFormula(28, 2576, 4784)
_DEFAULT = PatchFormula(32, 2048, 2500, 1.2)

_BY_MODEL: tuple[tuple[re.Pattern[str], Formula], ...] = (
    (
        re.compile(
            r"claude.*(?:fable|mythos|(?:opus|sonnet|haiku)-(?:4[-.](?:[7-9]|1\d)|[5-9])(?!\d))"
        ),
        _CLAUDE_4_7,
    ),
    (re.compile(r"claude"), _CLAUDE),
    (re.compile(r"gpt-4\.1-mini"), PatchFormula(32, 2048, 6144, 1.62)),
    (re.compile(r"gpt-4\.1-nano"), PatchFormula(32, 2048, 6144, 2.46)),
    (re.compile(r"o4-mini"), PatchFormula(32, 2048, 6144, 1.72)),
    (re.compile(r"gpt-5-nano"), PatchFormula(32, 2048, 2500, 1.5)),
    (re.compile(r"gpt-5-mini|gpt-5\.[4-9]|gpt-[6-9]"), PatchFormula(32, 2048, 2500, 1.2)),
    (re.compile(r"gpt-5\.2"), PatchFormula(32, 2048, 6144, 1.2)),
    (re.compile(r"gpt-4o-mini"), TileFormula(2833, 5667)),
    (re.compile(r"gpt-5"), TileFormula(70, 140)),
    (re.compile(r"gpt-4|chatgpt-4o"), TileFormula(85, 170)),
    (re.compile(r"(?:^|[/:])o[13]"), TileFormula(75, 150)),
)
"""The first that fits a model's id."""

_LOW_DETAIL = (512, 512)
"""What an image is fitted into at detail ``low``."""

_UNKNOWN_SIZE = (1568, 1568)
"""Pixels of an image behind an address: nobody measured it, so it is taken as large."""

_TOKENS_PER_PAGE = 3_000
"""Words of a dense page, beside its picture. Anthropic's PDF guide gives 1,500 to 3,000."""

_BYTES_PER_PAGE = 50_000
"""Of a PDF whose pages cannot be counted."""

_TOKENS_PER_AUDIO_KILOBYTE = 2
"""32 tokens a second (Google) at 16 kB a second of compressed sound."""

_TOKENS_PER_FILE_BYTE = 0.25
"""A file that is neither: text at 4 characters a token."""


def image_formula(model: str) -> Formula:
    """Find the formula of a model; for unknown ones that of OpenAI's newest."""
    name = model.lower()
    return next((formula for pattern, formula in _BY_MODEL if pattern.search(name)), _DEFAULT)


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
            return _image_tokens(media, model)
        case "document":
            pages = media.pages or max(1, payload_bytes // _BYTES_PER_PAGE)
            page = image_formula(model).tokens(1240, 1754)  # A4 at 150 dots an inch
            return pages * (page + _TOKENS_PER_PAGE)
        case "audio" | "video":
            return max(1, payload_bytes * _TOKENS_PER_AUDIO_KILOBYTE // 1000)
        case "file":
            return max(1, math.ceil(payload_bytes * _TOKENS_PER_FILE_BYTE))


def _image_tokens(media: Media, model: str) -> int:
    formula = image_formula(model)
    width, height = (media.width, media.height) if media.width else _UNKNOWN_SIZE
    if media.detail == "low":
        if isinstance(formula, TileFormula):
            return formula.base_tokens
        scale = min(1.0, _LOW_DETAIL[0] / max(width, height))
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
    return formula.tokens(width, height)
