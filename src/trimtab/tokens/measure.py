"""Say what a message, a part and a surface weigh: the one place that does.

The law of this file: weights add up. A message is its overhead and its parts,
a request is its surface and its messages; so an edit is measured by what it
changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from trimtab.messages import (
    Media,
    Message,
    Opaque,
    Part,
    Surface,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from trimtab.tokens.cache import CachedCounter
from trimtab.tokens.media import media_tokens
from trimtab.tokens.overhead import overhead_for

if TYPE_CHECKING:
    from trimtab.tokens.counter import Quality, TokenCounter

__all__ = ["Measure"]

_FAILED = "Error: "
"""What says that a tool failed, where a format has no flag for it; one with a flag says as much."""

_BLOB = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{1000,}")
"""A payload or an encrypted text inside something that is not understood. It is
looked for where a run begins, so that a million short runs take no longer."""

_BLOB_CHARACTERS_PER_TOKEN = 16 / 3
"""Base64 characters of what is 4 characters a token when decoded."""


class Measure:
    """Weighs whatever a request is made of, for one model.

    Args:
        counter: Counts words. It is asked once for each text.
        model: The model's id; overheads and media depend on it.
    """

    def __init__(self, counter: TokenCounter, model: str = "") -> None:
        self._counter = counter if isinstance(counter, CachedCounter) else CachedCounter(counter)
        self._overhead = overhead_for(model)
        self._model = model

    @property
    def name(self) -> str:
        """What counts, for people."""
        return self._counter.name

    @property
    def quality(self) -> Quality:
        """How far the counts can be trusted."""
        return self._counter.quality

    def upper(self) -> Measure | None:
        """A scale that tells the most that something can weigh, without counting; None for none."""
        if self._counter.most("") is None:
            return None
        return Measure(CachedCounter(_Most(self._counter), max_entries=0), self._model)

    def text(self, text: str) -> int:
        """Tokens of a text.

        Raises:
            TokenCountError: If the counter fails.
        """
        return self._counter.count(text) if text else 0

    def part(self, part: Part) -> int:
        """Tokens of a part, with what its kind adds.

        Raises:
            TokenCountError: If the counter fails.
        """
        match part:
            case Text():
                return self.text(part.text) + _blob_tokens(len(part.opaque))
            case Thinking():
                return max(self.text(part.text), _blob_tokens(len(part.opaque)))
            case ToolCall():
                words = self.text(part.name) + self.text(part.arguments)
                return self._overhead.call + words + _blob_tokens(len(part.opaque))
            case ToolResult():
                failed = self.text(_FAILED) if part.is_error else 0
                words = sum(self.part(block) for block in part.content)
                return self._overhead.result + failed + words
            case Media():
                return media_tokens(part, self._model)
            case Opaque():
                return self._opaque(part)

    def message(self, message: Message) -> int:
        """Tokens of a message; one that this scale has weighed before is not weighed again.

        Raises:
            TokenCountError: If the counter fails.
        """
        held = message.weight
        if held is not None and held[0] is self:
            return held[1]
        tokens = self._overhead.message + self.parts(message.parts)
        message.weight = (self, tokens)
        return tokens

    def parts(self, parts: Iterable[Part]) -> int:
        """Tokens of some parts, without what a message adds."""
        return sum(self.part(part) for part in parts)

    def surface(self, surface: Surface) -> int:
        """Tokens of all that is not messages: system prompt, tools, answer schema, priming.

        Raises:
            TokenCountError: If the counter fails.
        """
        tools = sum(self.text(tool.json) + self._overhead.tool for tool in surface.tools)
        once = self._overhead.tools if surface.tools else 0
        schema = self.text(surface.output_schema)
        return self._overhead.request + self.parts(surface.system) + tools + once + schema

    def _opaque(self, part: Opaque) -> int:
        blobs = _BLOB.findall(part.json)
        words = _BLOB.sub("", part.json) if blobs else part.json
        return self.text(words) + sum(_blob_tokens(len(blob)) for blob in blobs)


class _Most:
    """Counts as many as there can be."""

    name = "most"
    quality: Quality = "estimate"

    def __init__(self, counter: CachedCounter) -> None:
        self._counter = counter

    def count(self, text: str) -> int:
        most = self._counter.most(text)
        return self._counter.count(text) if most is None else most


def _blob_tokens(characters: int) -> int:
    return int(characters / _BLOB_CHARACTERS_PER_TOKEN)
