"""Counting with a model's own vocabulary."""

from __future__ import annotations

import gzip
import hashlib
import json
from importlib.util import find_spec
from pathlib import Path
from typing import cast

import pytest

from tests.tokens.bare_python import run_without_bpe
from trimtab.tokens import BpeTokenCounter
from trimtab.tokens.bpe import Encoding, is_bpe_installed

ENCODINGS: tuple[Encoding, ...] = ("o200k_base", "cl100k_base")

# Text, tokens of o200k_base, tokens of cl100k_base. The first four are printed
# in OpenAI's cookbook, "How to count tokens with tiktoken"; tiktoken itself
# agrees with all of them, see below.
COUNTS = [
    ("antidisestablishmentarianism", 6, 6),
    ("2 + 2 = 4", 7, 7),
    ("お誕生日おめでとう", 8, 9),
    ("tiktoken is great!", 6, 6),
    ("", 0, 0),
    ("hello world", 2, 2),
    ("The quick brown fox jumps over the lazy dog.", 10, 10),
    ("你好世界", 2, 5),
    ("👩‍👩‍👧‍👦", 11, 18),
    ("def f(x):\n    return x ** 2\n", 11, 11),
    ('{"path": "/src/app.py", "line": 12}', 14, 14),
    ("<|endoftext|>", 7, 7),
    ("a <|im_start|>user<|im_end|> b", 15, 14),
    ("\ud800", 1, 1),
    ("a" * 1000, 125, 125),
]


@pytest.fixture(scope="module")
def tiktoken_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vocabularies under the names that tiktoken looks for; bpe_openai carries them packed."""
    folder = tmp_path_factory.mktemp("tiktoken")
    package = find_spec("bpe_openai")
    assert package is not None
    assert package.submodule_search_locations is not None
    data = Path(package.submodule_search_locations[0], "data")
    for encoding in ENCODINGS:
        packed = (data / f"{encoding}.tiktoken.gz").read_bytes()
        (folder / _name(encoding)).write_bytes(gzip.decompress(packed))
    return folder


def _name(encoding: str) -> str:
    address = f"https://openaipublic.blob.core.windows.net/encodings/{encoding}.tiktoken"
    return hashlib.sha1(address.encode()).hexdigest()


def counts_of_tiktoken(texts: list[str], folder: Path) -> list[list[int]]:
    """Count texts in a process that has tiktoken alone; o200k_base, then cl100k_base."""
    code = f"""
import json
from trimtab.tokens import BpeTokenCounter
texts = json.loads({json.dumps(texts)!r})
counters = [BpeTokenCounter("o200k_base"), BpeTokenCounter("cl100k_base")]
assert "tiktoken" in sys.modules
print(json.dumps([[counter.count(text) for text in texts] for counter in counters]))
"""
    printed = run_without_bpe(code, TIKTOKEN_CACHE_DIR=str(folder))
    return cast("list[list[int]]", json.loads(printed))


@pytest.mark.parametrize(("text", "newer", "older"), COUNTS)
def test_counts_are_those_of_openai(text: str, newer: int, older: int) -> None:
    """Every token counts once; special tokens are words, a lone surrogate is one character."""
    assert [BpeTokenCounter(encoding).count(text) for encoding in ENCODINGS] == [newer, older]


def test_tiktoken_counts_the_same(tiktoken_folder: Path) -> None:
    """Where only tiktoken and its files are at hand, it counts, and the counts are equal."""
    texts = [text for text, _, _ in COUNTS]

    newer, older = counts_of_tiktoken(texts, tiktoken_folder)

    assert list(zip(texts, newer, older, strict=True)) == COUNTS


def test_tiktoken_takes_texts_without_a_break(tiktoken_folder: Path) -> None:
    """A million letters or blanks neither hang it nor make it panic; cuts cost a token each."""
    texts = ["a" * 1_000_000, " " * 1_000_000, "\t" * 1_000_000, "漢" * 100_000]

    newer, _ = counts_of_tiktoken(texts, tiktoken_folder)

    whole = [BpeTokenCounter().count(text) for text in texts]
    cuts = [len(text) // 20_000 for text in texts]
    assert [abs(a - b) <= cut for a, b, cut in zip(newer, whole, cuts, strict=True)] == [True] * 4


FIND = """
from trimtab.errors import MissingExtraError
from trimtab.tokens import BpeTokenCounter
from trimtab.tokens.bpe import is_bpe_installed
told = is_bpe_installed({encoding!r})
try:
    BpeTokenCounter({encoding!r})
except MissingExtraError as error:
    print(told, error.extra, error)
else:
    print(told, "found")
"""
MISSING = "False bpe counting with o200k_base needs an optional part: pip install 'trimtab[bpe]'"


def find(encoding: str = "o200k_base", /, **environment: str | None) -> str:
    """Say whether a vocabulary is found without bpe_openai."""
    return run_without_bpe(FIND.format(encoding=encoding), **environment)


def test_without_a_vocabulary_the_extra_is_named(tmp_path: Path) -> None:
    """What is missing and how to install it is said; nothing is downloaded instead."""
    assert find(TIKTOKEN_CACHE_DIR=str(tmp_path)) == MISSING
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_tiktoken_that_was_altered_is_none(tmp_path: Path, tiktoken_folder: Path) -> None:
    """A file that tiktoken would delete and fetch again is left where it is and not used."""
    whole = (tiktoken_folder / _name("o200k_base")).read_bytes()
    cut_off = tmp_path / _name("o200k_base")
    cut_off.write_bytes(whole[:-20])

    assert find(TIKTOKEN_CACHE_DIR=str(tmp_path)) == MISSING
    assert cut_off.read_bytes() == whole[:-20]


def test_vocabularies_are_looked_for_where_tiktoken_does(
    tmp_path: Path, tiktoken_folder: Path
) -> None:
    """Its own variable, then the older one, then the temporary folder; an empty one says nowhere."""
    here, empty = str(tiktoken_folder), str(tmp_path)
    (tmp_path / "data-gym-cache").symlink_to(tiktoken_folder)
    unset: dict[str, str | None] = {"TIKTOKEN_CACHE_DIR": None, "DATA_GYM_CACHE_DIR": None}

    assert find(TIKTOKEN_CACHE_DIR=here, DATA_GYM_CACHE_DIR=empty) == "True found"
    assert find(TIKTOKEN_CACHE_DIR=None, DATA_GYM_CACHE_DIR=here) == "True found"
    assert find(TIKTOKEN_CACHE_DIR=empty, DATA_GYM_CACHE_DIR=here) == MISSING
    assert find(TIKTOKEN_CACHE_DIR="", DATA_GYM_CACHE_DIR=here) == MISSING
    assert find(**unset, TMPDIR=empty) == "True found"


def test_one_vocabulary_says_nothing_of_the_other(tmp_path: Path, tiktoken_folder: Path) -> None:
    """Each vocabulary is a file of its own."""
    older = _name("cl100k_base")
    (tmp_path / older).symlink_to(tiktoken_folder / older)

    assert find("cl100k_base", TIKTOKEN_CACHE_DIR=str(tmp_path)) == "True found"
    assert find("o200k_base", TIKTOKEN_CACHE_DIR=str(tmp_path)) == MISSING


def test_without_tiktoken_its_files_are_of_no_use(tiktoken_folder: Path) -> None:
    """Only tiktoken reads its files."""
    code = "sys.modules['tiktoken'] = None\n" + FIND.format(encoding="o200k_base")

    assert run_without_bpe(code, TIKTOKEN_CACHE_DIR=str(tiktoken_folder)) == MISSING


def test_it_says_what_it_is() -> None:
    """It names its vocabulary, and says that its counts are exact."""
    counter = BpeTokenCounter("cl100k_base")

    assert (counter.name, counter.quality) == ("cl100k_base", "exact")
    assert repr(counter) == "BpeTokenCounter('cl100k_base')"
    assert is_bpe_installed()
