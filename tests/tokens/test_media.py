"""Media to tokens, against the figures that providers publish."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.messages import Media, MediaKind
from trimtab.tokens.media import image_formula, media_tokens

OLDER_CLAUDE, CLAUDE = "claude-sonnet-4-6", "claude-opus-4-8"


def image(width: int, height: int, detail: str = "") -> Media:
    """An image of a size."""
    return Media("image", width=width, height=height, detail=detail)


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        # Printed in Anthropic's vision guide, for both generations.
        (OLDER_CLAUDE, 1000, 1000, 1296),
        (CLAUDE, 1000, 1000, 1296),
        (OLDER_CLAUDE, 1920, 1080, 1560),
        (CLAUDE, 1920, 1080, 2691),
        # The largest sizes that the older models do not shrink, by the same guide, ...
        (OLDER_CLAUDE, 1092, 1092, 39 * 39),
        (OLDER_CLAUDE, 951, 1268, 34 * 46),
        (OLDER_CLAUDE, 896, 1344, 32 * 48),
        (OLDER_CLAUDE, 819, 1456, 30 * 52),
        (OLDER_CLAUDE, 784, 1568, 28 * 56),
        # ... and what a pixel more comes to.
        (OLDER_CLAUDE, 1093, 1093, 39 * 39),
        (OLDER_CLAUDE, 785, 1569, 28 * 56),
        (OLDER_CLAUDE, 1080, 1920, 1560),
        # A square of 28 pixels is a token; one pixel more begins the next.
        (CLAUDE, 28, 28, 1),
        (CLAUDE, 29, 28, 2),
        (CLAUDE, 1, 1, 1),
        # The longest side, from both sides.
        (CLAUDE, 2576, 28, 92),
        (CLAUDE, 2577, 28, 92),
        (OLDER_CLAUDE, 1568, 28, 56),
        (OLDER_CLAUDE, 5000, 28, 56),
        # The most tokens, from both sides: 4,784 is 92 x 52.
        (CLAUDE, 2576, 1456, 4784),
        (CLAUDE, 2576, 1457, 92 * 52),
        (CLAUDE, 10_000, 10_000, 69 * 69),
    ],
)
def test_claude_counts_squares(model: str, width: int, height: int, tokens: int) -> None:
    """28 pixels square are a token, after shrinking until both bounds hold."""
    assert media_tokens(image(width, height), model) == tokens


@pytest.mark.parametrize(
    ("model", "is_newer"),
    [
        ("claude-opus-4-6", False),
        ("claude-opus-4-7", True),
        ("claude-4.6-opus", False),
        ("claude-4.7-opus", True),
        ("claude-opus-4-1-20250805", False),
        ("claude-opus-4-10", True),
        ("claude-haiku-4-5-20251001", False),
        ("claude-sonnet-5", True),
        ("claude-fable-5-2", True),
        ("us.anthropic.claude-mythos-5", True),
        ("claude-3-5-sonnet-20241022", False),
    ],
)
def test_claude_looks_closer_from_4_7_on(model: str, is_newer: bool) -> None:  # noqa: FBT001 - a table's column
    """Models from 4.7 on shrink images less."""
    assert media_tokens(image(1920, 1080), model) == (2691 if is_newer else 1560)


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        # The bound of patches, from both sides, and the multiplier of each model.
        ("gpt-5.4", 1600, 1600, "", 50 * 50 * 1.2),
        ("gpt-5.4", 1601, 1600, "", 50 * 49 * 1.2),
        ("gpt-5.4", 1024, 1024, "high", 32 * 32 * 1.2),
        ("gpt-5.4", 1025, 1024, "auto", 33 * 32 * 1.2),
        ("gpt-5.5-mini", 1600, 1600, "", 50 * 50 * 1.2),
        ("gpt-5-mini", 1600, 1600, "", 50 * 50 * 1.2),
        ("gpt-5-nano", 1600, 1600, "", 50 * 50 * 1.5),
        ("gpt-5.2", 2048, 2048, "", 64 * 64 * 1.2),
        ("gpt-4.1-mini", 2048, 2048, "", 64 * 64 * 1.62),
        ("gpt-4.1-nano", 2048, 2048, "", 64 * 64 * 2.46),
        ("o4-mini", 2048, 2048, "", 64 * 64 * 1.72),
        # The longest side, from both sides.
        ("gpt-5.4", 2048, 32, "", 64 * 1.2),
        ("gpt-5.4", 4096, 64, "", 64 * 1.2),
        ("gpt-4.1-mini", 4096, 4096, "", 64 * 64 * 1.62),
        # Details.
        ("gpt-5.4", 3200, 3200, "original", 100 * 100 * 1.2),
        ("gpt-5.5", 6400, 3200, "original", 140 * 70 * 1.2),
        ("gpt-5.5", 4000, 4000, "low", 16 * 16 * 1.2),
        ("gpt-5.4", 2048, 2048, "low", 64 * 64 * 1.2),
        ("gpt-5.6", 4000, 3000, "", 125 * 94 * 1.2),
        ("gpt-5.6", 4000, 3000, "high", 125 * 94 * 1.2),
        ("gpt-5.6", 4000, 3000, "low", 16 * 12 * 1.2),
        ("gpt-6", 4000, 3000, "original", 125 * 94 * 1.2),
        ("gpt-5.6", 65_535, 65_535, "", 173 * 173 * 1.2),
    ],
)
def test_newer_openai_models_count_patches(
    model: str, width: int, height: int, detail: str, tokens: float
) -> None:
    """32 pixels square are a patch, after fitting into what the detail allows; a model multiplies."""
    assert media_tokens(image(width, height, detail), model) == math.ceil(tokens)


@pytest.mark.parametrize(
    ("model", "width", "height", "detail", "tokens"),
    [
        # The three examples of OpenAI's images and vision guide.
        ("gpt-4o", 1024, 1024, "high", 765),
        ("gpt-4o", 2048, 4096, "high", 1105),
        ("gpt-4o", 4096, 8192, "low", 85),
        # A tile, and one pixel more.
        ("gpt-4o", 512, 512, "", 85 + 170),
        ("gpt-4o", 513, 512, "", 85 + 170 * 2),
        ("gpt-4o", 1, 1, "", 85 + 170),
        # The short side of 768, and a long one that comes to a whole number of tiles.
        ("gpt-4o", 768, 768, "", 85 + 170 * 4),
        ("gpt-4o", 1500, 1125, "", 85 + 170 * 4),
        ("gpt-4o", 4000, 4000, "", 85 + 170 * 4),
        # The models.
        ("gpt-4.1", 512, 512, "", 85 + 170),
        ("chatgpt-4o-latest", 512, 512, "", 85 + 170),
        ("gpt-4o-mini", 512, 512, "", 2833 + 5667),
        ("gpt-4o-mini", 512, 512, "low", 2833),
        ("gpt-5", 512, 512, "", 70 + 140),
        ("gpt-5.1", 512, 512, "", 70 + 140),
        ("openai/gpt-5-chat-latest", 512, 512, "", 70 + 140),
        ("o1", 512, 512, "", 75 + 150),
        ("openai/o3", 512, 512, "low", 75),
    ],
)
def test_older_openai_models_count_tiles(
    model: str, width: int, height: int, detail: str, tokens: int
) -> None:
    """Tiles of 512 pixels after fitting into 2,048 and a short side of 768; ``low`` is the base."""
    assert media_tokens(image(width, height, detail), model) == tokens


@pytest.mark.parametrize(
    ("model", "media", "tokens"),
    [
        # Up to 384 pixels one tile of 258; one pixel more, and tiles of two thirds of the short side.
        ("gemini-2.5-pro", image(384, 384), 258),
        ("gemini-2.5-pro", image(385, 384), 258 * 2 * 2),
        ("gemini-2.0-flash", image(960, 540), 258 * 3 * 2),
        # A tile has 256 pixels at least and 768 at most.
        ("gemini-1.5-pro", image(768, 100), 258 * 3),
        ("gemini-2.5-flash", image(3072, 1536), 258 * 4 * 2),
        ("gemini-pro-vision", image(2304, 2305), 258 * 3 * 4),
        # From Gemini 3 on only the setting counts.
        ("gemini-3-flash-preview", image(10, 10), 1120),
        ("google/gemini-3.1-pro-preview", image(4000, 3000), 1120),
        ("gemini-4-argon", image(10, 10, "MEDIA_RESOLUTION_LOW"), 280),
        ("gemini-3-pro", image(10, 10, "media_resolution_medium"), 560),
        ("gemini-3-pro", image(10, 10, "MEDIA_RESOLUTION_HIGH"), 1120),
        ("gemini-3-pro", image(10, 10, "MEDIA_RESOLUTION_ULTRA_HIGH"), 2240),
        ("gemini-3-pro", image(10, 10, "MEDIA_RESOLUTION_UNSPECIFIED"), 1120),
        # Pages of documents.
        ("gemini-2.5-flash", Media("document", pages=3), 3 * 258),
        ("gemini-3-pro", Media("document", pages=3), 3 * 560),
        ("gemini-3-pro", Media("document", pages=2, detail="MEDIA_RESOLUTION_LOW"), 2 * 280),
        ("gemini-3-pro", Media("document", pages=2, detail="MEDIA_RESOLUTION_HIGH"), 2 * 1120),
    ],
)
def test_gemini_counts_tiles_or_settings(model: str, media: Media, tokens: int) -> None:
    """Up to Gemini 2.5 tiles of an image, later what its resolution setting says; pages alike."""
    assert media_tokens(media, model) == tokens


def test_shrinking_to_patches_is_as_in_the_guide_of_openai() -> None:
    """1,800 x 2,400 within 1,536 patches becomes 1,056 x 1,408, which is 1,452."""
    formula = type(image_formula("gpt-5.4"))(2400, 1536, 1.0)  # type: ignore[call-arg]

    assert (formula.tokens(1800, 2400), formula.tokens(1024, 1024)) == (1452, 1024)


MODELS = st.sampled_from(
    ["", OLDER_CLAUDE, CLAUDE, "gpt-5.2", "gpt-5.4", "gpt-5.6", "gpt-5-nano", "gpt-4o", "o4-mini"]
)
SIDES = st.integers(min_value=1, max_value=70_000)
# Multiplied bounds of the formulas: no image costs more.
MOST = {OLDER_CLAUDE: 1568, CLAUDE: 4784, "gpt-5.4": 3000, "": 3000, "gpt-5-nano": 3750}


@given(MODELS, SIDES, SIDES)
def test_no_image_costs_nothing_or_more_than_its_bound(model: str, width: int, height: int) -> None:
    """Whatever its shape, an image costs at least a token and at most what its model allows."""
    tokens = media_tokens(image(width, height), model)

    assert 1 <= tokens <= MOST.get(model, 36_000)
    assert media_tokens(image(width, height, "low"), model) <= max(tokens, 64 * 64 * 1.72 + 1)


@given(MODELS, SIDES, SIDES)
def test_an_image_that_is_turned_costs_the_same(model: str, width: int, height: int) -> None:
    """Portrait and landscape are one picture."""
    assert media_tokens(image(width, height), model) == media_tokens(image(height, width), model)


@pytest.mark.parametrize("size", [(0, 0), (100, 0), (0, 100), (-1, -1)])
def test_an_image_of_no_known_size_is_taken_as_large(size: tuple[int, int]) -> None:
    """Behind an address it may be anything."""
    assert media_tokens(image(*size), CLAUDE) == media_tokens(image(1568, 1568), CLAUDE)


@pytest.mark.parametrize(
    ("media", "tokens"),
    [
        (Media("document", pages=3), 3 * (33 * 47 + 3_000)),
        (Media("document", location="file-1"), 33 * 47 + 3_000),
        (Media("document", data="A" * 400_000), 3 * (33 * 47 + 3_000)),  # 300,000 bytes
        (Media("audio", data="A" * 32_000), 48),  # 24,000 bytes
        (Media("video", data="A" * 32_000), 57),
        (Media("audio", data="A" * 32_000, seconds=2.5), 80),
        (Media("video", location="file-1", seconds=10), 10 * (263 + 32)),
        (Media("audio", location="file-1"), 1),
        (Media("file", data="A" * 4_000), 750),  # 3,000 bytes
        (Media("file", location="file-1"), 1),
    ],
)
def test_other_media_count_by_pages_or_bytes(media: Media, tokens: int) -> None:
    """A page is its picture and its words; sound goes by length, other files as text."""
    assert media_tokens(media, "claude-3-5-sonnet") == tokens


@given(st.sampled_from(["image", "document", "audio", "video", "file"]), st.binary(max_size=200))
def test_a_payload_is_never_read_as_text(kind: MediaKind, payload: bytes) -> None:
    """Only its length counts, so that what is in it changes nothing."""
    data = payload.hex()
    media, other = Media(kind, data=data), Media(kind, data="A" * len(data))

    assert media_tokens(media, "gpt-5") == media_tokens(other, "gpt-5")
