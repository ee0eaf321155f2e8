"""A provider's prompt cache as a model: what of a request it reads, writes and bills fresh.

Three kinds are known, each from its provider's documentation (November 2026):

``markers``
    Anthropic. Written at cache markers alone, the last four of a request; each
    marker looks back at most 20 blocks, itself included, for an earlier write.
    Life: 5 minutes, or an hour where the marker asks for it, from its last use.
``breakpoints``
    OpenAI from gpt-5.6 on. Written at the end of the last message; read at
    whatever was written before, however far back. Life: 30 minutes.
``prefix``
    OpenAI before, Gemini and most others. The longest beginning that an
    earlier request had too, in whole steps; nothing is charged for writing,
    and nothing is promised.

What a cache keys on besides messages (model, tools, system prompt, parameters)
is told as blocks that come first: a block that weighs nothing still parts two
prefixes. Not modelled: an entry can be read only once the first answer has
begun (requests are taken to follow each other), and a cache that is full.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from typing import Literal, NamedTuple, TypeAlias

from trimtab.usage import Usage
from trimtab.wire.claude_models import claude_model

__all__ = [
    "LONG_LIFE_SECONDS",
    "LOOK_BACK_BLOCKS",
    "MOST_MARKERS",
    "SHORT_LIFE_SECONDS",
    "Block",
    "CacheKind",
    "CacheRules",
    "Prompt",
    "ProviderCache",
    "Split",
    "life_seconds",
    "rules_of",
]

CacheKind: TypeAlias = Literal["markers", "breakpoints", "prefix"]
"""Where a cache is written and read."""

LOOK_BACK_BLOCKS = 20
"""Blocks, itself included, in which a marker looks for what an earlier one wrote."""

MOST_MARKERS = 4
"""Markers of one request at which something is written."""

_MINUTE = 60.0
SHORT_LIFE_SECONDS, LONG_LIFE_SECONDS = 5 * _MINUTE, 60 * _MINUTE
"""Lives that a marker can ask for."""

_LEAST = 1_024
"""What most providers cache at least, and what is taken for a model that is not known."""

_CLAUDE_LEAST = (
    (("opus",), (5, 0), 512),
    (("opus",), (4, 8), 1_024),
    (("opus",), (4, 7), 2_048),
    (("opus",), (4, 5), 4_096),
    (("fable", "mythos"), (5, 0), 512),
    (("sonnet",), (5, 5), 512),
    (("haiku",), (4, 5), 4_096),
)
"""Families, the version from which it holds, and the tokens."""

_GEMINI = re.compile(r"gemini-(\d)(?:\.(\d))?")
_EXPLICIT_GPT = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")
_GPT = re.compile(r"gpt-|(?:^|/)o\d")
_GPT_STEP = 128


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How one model's cache behaves.

    Attributes:
        kind: Where it is written and read.
        least_tokens: A prefix that is shorter is not cached.
        step_tokens: What is read is rounded down to whole steps of so many tokens.
        life_seconds: How long it keeps what nobody reads, where no marker asks for more.
    """

    kind: CacheKind
    least_tokens: int
    step_tokens: int
    life_seconds: float

    @property
    def is_explicit(self) -> bool:
        """Whether it says where it writes, so that what it reads can be foretold."""
        return self.kind != "prefix"


def rules_of(model: str) -> CacheRules:
    """Say how a model's cache behaves.

    Args:
        model: Its id, as requests name it; one that is not known is taken for
            a cache of the kind ``prefix`` with the usual least length.
    """
    name = model.lower()
    claude = claude_model(name)
    if claude is not None:
        rows = (
            row for row in _CLAUDE_LEAST if claude.family in row[0] and claude.version >= row[1]
        )
        least = next((row[2] for row in rows), _LEAST)
        return CacheRules("markers", least, 1, SHORT_LIFE_SECONDS)
    if _EXPLICIT_GPT.search(name):
        return CacheRules("breakpoints", _LEAST, 1, 30 * _MINUTE)
    gemini = _GEMINI.search(name)
    if gemini:
        return CacheRules("prefix", 4_096 if int(gemini[1]) >= 3 else 2_048, 1, 60 * _MINUTE)
    # At most an hour; nothing is promised.
    step = _GPT_STEP if _GPT.search(name) else 1
    return CacheRules("prefix", _LEAST, step, 60 * _MINUTE)


def life_seconds(model: str, *, has_long_marker: bool = False) -> float:
    """How long the provider keeps a prefix that nobody reads, in seconds.

    Args:
        model: The model's id.
        has_long_marker: Whether a marker asks for the longer life.
    """
    rules = rules_of(model)
    return LONG_LIFE_SECONDS if has_long_marker and rules.kind == "markers" else rules.life_seconds


class Block(NamedTuple):
    """A stretch of a prompt: a message, the tools, the system prompt.

    Attributes:
        digest: Of what it says; equal digests are equal stretches.
        tokens: What it weighs, 0 or more.
        parts: How many of the provider's blocks it has, as look-backs count them.
        life_seconds: What a marker at its end asks for; 0 where none stands there.
    """

    digest: bytes
    tokens: int
    parts: int = 1
    life_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as a cache sees it.

    Attributes:
        model: The model's id; nothing is shared between two.
        blocks: What it says, tools first, then the system prompt, then messages.
        at: When it was sent, in seconds; None where nobody knows, which keeps everything alive.
    """

    model: str
    blocks: Sequence[Block]
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """How the input of one request is billed, in tokens.

    Attributes:
        fresh: Neither read nor written.
        read: Read from the cache.
        written: Written to it, for as long as is usual.
        written_long: Written to it for an hour, at a higher price.
    """

    fresh: int = 0
    read: int = 0
    written: int = 0
    written_long: int = 0

    @property
    def total(self) -> int:
        """The whole input."""
        return self.fresh + self.read + self.written + self.written_long

    @classmethod
    def of(cls, usage: Usage, *, is_long: bool = False) -> Split:
        """What was billed.

        Args:
            usage: What the provider said.
            is_long: Whether what was written was written for an hour.
        """
        written, long = (0, usage.cache_write) if is_long else (usage.cache_write, 0)
        return cls(usage.fresh, usage.cache_read, written, long)


@dataclass(slots=True)
class _Entry:
    """What is cached.

    Attributes:
        life_seconds: How long it is kept from its last use.
        dies_at: When it goes; None where time is not known.
    """

    life_seconds: float
    dies_at: float | None


@dataclass(slots=True)
class ProviderCache:
    """The caches of one workspace; serve it requests in the order in which they were sent."""

    _entries: dict[bytes, _Entry] = field(default_factory=dict, repr=False)

    def copy(self) -> ProviderCache:
        """The same, to be served something else from here on."""
        entries = {
            link: _Entry(entry.life_seconds, entry.dies_at) for link, entry in self._entries.items()
        }
        return ProviderCache(entries)

    def serve(self, prompt: Prompt) -> Split:
        """Say how a request is billed, and keep what it leaves behind."""
        rules = rules_of(prompt.model)
        seen = _Seen.of(prompt)
        if rules.kind == "markers":
            return self._serve_marked(rules, prompt, seen, _marked(prompt.blocks))
        if rules.kind == "breakpoints":
            ends = [(len(prompt.blocks) - 1, rules.life_seconds)] if prompt.blocks else []
            return self._serve_marked(rules, prompt, seen, ends, reach=None)
        return self._serve_prefix(rules, prompt, seen)

    def _serve_marked(
        self,
        rules: CacheRules,
        prompt: Prompt,
        seen: _Seen,
        ends: Sequence[tuple[int, float]],
        reach: int | None = LOOK_BACK_BLOCKS,
    ) -> Split:
        """Read at the furthest place that a marker finds, write at each marker behind it."""
        ends = [end for end in ends if seen.sums[end[0] + 1] >= rules.least_tokens]
        hits = (self._hit(prompt, seen, place, reach) for place, _ in reversed(ends))
        hit = next((found for found in hits if found >= 0), -1)
        read = seen.sums[hit + 1]
        self._touch(prompt, seen, hit)
        written = {False: 0, True: 0}
        start = hit
        for place, life in ends:
            if place <= hit:
                continue
            is_long = life > rules.life_seconds
            written[is_long] += seen.sums[place + 1] - seen.sums[start + 1]
            self._entries[seen.links[place]] = _Entry(life, _dies(prompt.at, life))
            start = place
        return Split(seen.sums[-1] - seen.sums[start + 1], read, written[False], written[True])

    def _hit(self, prompt: Prompt, seen: _Seen, marker: int, reach: int | None) -> int:
        """The furthest place at or before a marker at which something was written; -1 for none."""
        passed = 0
        for place in range(marker, -1, -1):
            if reach is not None and passed >= reach:
                break
            if self._is_alive(seen.links[place], prompt.at):
                return place
            passed += prompt.blocks[place].parts
        return -1

    def _serve_prefix(self, rules: CacheRules, prompt: Prompt, seen: _Seen) -> Split:
        """Read the longest beginning that is known."""
        last = -1
        for place, link in enumerate(seen.links):
            if not self._is_alive(link, prompt.at):
                break
            last = place
        read = seen.sums[last + 1]
        read = 0 if read < rules.least_tokens else read - read % rules.step_tokens
        life = rules.life_seconds
        dies_at = _dies(prompt.at, life)
        for link in seen.links:
            self._entries[link] = _Entry(life, dies_at)
        return Split(fresh=seen.sums[-1] - read, read=read)

    def _touch(self, prompt: Prompt, seen: _Seen, stop: int) -> None:
        """Whatever is read lives on."""
        for link in seen.links[: stop + 1]:
            entry = self._entries.get(link)
            if entry is not None and self._is_alive(link, prompt.at):
                entry.dies_at = _dies(prompt.at, entry.life_seconds)

    def _is_alive(self, link: bytes, at: float | None) -> bool:
        entry = self._entries.get(link)
        if entry is None:
            return False
        return at is None or entry.dies_at is None or at <= entry.dies_at


class _Seen(NamedTuple):
    """A prompt, hashed and added up.

    Attributes:
        links: A digest of each beginning; shape ``(blocks,)``.
        sums: Tokens before each block, and of all; shape ``(blocks + 1,)``.
    """

    links: list[bytes]
    sums: list[int]

    @classmethod
    def of(cls, prompt: Prompt) -> _Seen:
        links: list[bytes] = []
        link = blake2b(prompt.model.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        for block in prompt.blocks:
            link = _link(link, block.digest)
            links.append(link)
        return cls(links, list(accumulate((block.tokens for block in prompt.blocks), initial=0)))


@lru_cache(maxsize=1 << 16)
def _link(before: bytes, digest: bytes) -> bytes:
    """The digest of a beginning that is one block longer; every turn asks for those before it too."""
    return blake2b(before + digest, digest_size=16).digest()


def _marked(blocks: Sequence[Block]) -> list[tuple[int, float]]:
    """Places of the markers that count, with the life that each asks for."""
    ends = [(place, block.life_seconds) for place, block in enumerate(blocks) if block.life_seconds]
    return ends[-MOST_MARKERS:]


def _dies(at: float | None, life: float) -> float | None:
    return None if at is None else at + life
