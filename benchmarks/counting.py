"""How fast are tokens counted?

Beside it: tiktoken, with the vocabulary that ``bpe-openai`` carries.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import tiktoken

from benchmarks.conversation import chat_messages, exchanges
from benchmarks.figures import Answer, Row, Timing, interleaved, ratio
from trimtab import BpeTokenCounter, CharTokenCounter, TokenCounter
from trimtab.tokens import CachedCounter
from trimtab.tokens.bpe import Encoding

__all__ = ["answer"]

Count: TypeAlias = Callable[[str], int]

_ENCODING: Encoding = "o200k_base"
_VOCABULARY_ADDRESS = f"https://openaipublic.blob.core.windows.net/encodings/{_ENCODING}.tiktoken"
_VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""As tiktoken demands it."""

_CHINESE = "窗口之外的记录会被丢弃但每一条摘要都说明了原因读取器只看到完整的段落。" * 20


def answer(*, size_bytes: int = 2_000_000, runs: int = 11, with_bpe: bool = True) -> Answer:
    """Measure it.

    Args:
        size_bytes: About how much text is counted.
        runs: How often each is timed.
        with_bpe: Whether counters with a vocabulary, which take a second to load, take part.
    """
    counters = _counters(with_bpe=with_bpe)
    rows = []
    for name, texts in (("agent", _agent(size_bytes)), ("Chinese", _chinese(size_bytes))):
        size = sum(len(text.encode()) for text in texts)
        times = interleaved(
            runs, {name: partial(_counted, count, texts) for name, count in counters.items()}
        )
        rows += [_row(f"{counter}, {name} text", size, counter, times) for counter in times]
    return Answer(
        "counting",
        "Counting tokens",
        ("what", "MB/s (fastest)", "MB/s (median)", "time beside tiktoken"),
        tuple(rows),
        f"{size_bytes / 1e6:g} MB of UTF-8 in texts of a message each; {runs} interleaved runs. "
        "`seen before` counts texts that the cache knows: it hashes them.",
    )


def _row(title: str, size: int, counter: str, times: Mapping[str, Timing]) -> Row:
    time = times[counter]
    beside = f"{ratio(time, times['tiktoken']):.2f}" if "tiktoken" in times else ""
    speeds = (f"{size / 1e6 / seconds:.1f}" for seconds in (time.fastest, time.median))
    return Row((title, *speeds, beside))


def _counters(*, with_bpe: bool) -> dict[str, Count]:
    seen: TokenCounter = CachedCounter(CharTokenCounter())
    counters: dict[str, Count] = {
        "characters": CharTokenCounter().count,
        "seen before": seen.count,
    }
    if not with_bpe:
        return counters
    counters[_ENCODING] = BpeTokenCounter(_ENCODING).count
    return counters | _tiktoken()


def _tiktoken() -> dict[str, Count]:
    """Count with tiktoken; nothing where it would have to download its vocabulary."""
    package = find_spec("bpe_openai")  # found, not imported: that takes a second
    if package is None or not package.submodule_search_locations:
        return {}
    packed = Path(package.submodule_search_locations[0], "data", f"{_ENCODING}.tiktoken.gz")
    vocabulary = gzip.decompress(packed.read_bytes())
    if hashlib.sha256(vocabulary).hexdigest() != _VOCABULARY_SHA256:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        # tiktoken looks there, under a hash of the address, before it downloads.
        name = hashlib.sha1(_VOCABULARY_ADDRESS.encode()).hexdigest()
        (Path(folder) / name).write_bytes(vocabulary)
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            encode = tiktoken.get_encoding(_ENCODING).encode_ordinary
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]
    return {"tiktoken": lambda text: len(encode(text))}


def _counted(count: Count, texts: Sequence[str]) -> int:
    return sum(map(count, texts))


def _agent(size_bytes: int) -> list[str]:
    texts: list[str] = []
    size = 0
    for exchange in exchanges():
        for message in chat_messages(exchange):
            texts.append(message["content"])
            size += len(message["content"])
        if size >= size_bytes:
            break
    return texts


def _chinese(size_bytes: int) -> list[str]:
    once = len(_CHINESE.encode())
    return [f"{place}{_CHINESE}" for place in range(max(1, size_bytes // once))]
