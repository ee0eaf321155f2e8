"""Count each text once: results are kept by content."""

from __future__ import annotations

import hashlib
import inspect

from trimtab.errors import PolicyError, TokenCountError
from trimtab.tokens.counter import Quality, TokenCounter, most_tokens

__all__ = ["CachedCounter"]

_SHORT_CHARACTERS = 64
"""Up to here the text itself is the key: shorter than a digest is worth."""

DEFAULT_MAX_ENTRIES = 65_536
"""About 10 MB of keys and counts: more texts than a window of a million tokens holds."""


class CachedCounter:
    """A counter that remembers, and that vouches for what it answers.

    Args:
        inner: Does the counting.
        max_entries: Texts that are remembered; the oldest are forgotten first.
    """

    def __init__(self, inner: TokenCounter, max_entries: int = DEFAULT_MAX_ENTRIES) -> None:
        if isinstance(inner, (str, bytes, list, tuple)) or not callable(
            getattr(inner, "count", None)
        ):
            told = "it must have a method count(text); counter_for(model) gives one"
            raise PolicyError("counter", inner if isinstance(inner, str) else type(inner), told)
        self._inner = inner
        self._max_entries = max_entries
        self._counts: dict[str | bytes, int] = {}

    @property
    def name(self) -> str:
        """What counts, for people."""
        return getattr(self._inner, "name", type(self._inner).__name__)

    @property
    def quality(self) -> Quality:
        """How far the counts can be trusted."""
        return getattr(self._inner, "quality", "estimate")

    def count(self, text: str) -> int:
        """Count the tokens of a text.

        Raises:
            TokenCountError: If the counter raises, answers something that is
                no count, or would have to be awaited. An answer that is no
                number is not repeated: it may be the text.
        """
        if not isinstance(text, str):
            kind = type(text).__name__
            raise TokenCountError(
                f"a text is a {kind}, not a string; the arguments of a ToolCall are JSON text"
            )
        key = text if len(text) <= _SHORT_CHARACTERS else _digest(text)
        known = self._counts.get(key)
        if known is not None:
            return known
        count = self._ask(text)
        while len(self._counts) >= self._max_entries > 0:
            del self._counts[next(iter(self._counts))]
        if self._max_entries > 0:
            self._counts[key] = count
        return count

    def most(self, text: str) -> int | None:
        """As many tokens as a text can have; None where the inner counter cannot tell."""
        return most_tokens(self._inner, text)

    def _ask(self, text: str) -> int:
        try:
            count: object = self._inner.count(text)
        except TokenCountError:
            raise
        except Exception as error:
            raise TokenCountError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        if inspect.isawaitable(count):
            if inspect.iscoroutine(count):
                count.close()
            raise TokenCountError(
                f"{self.name} must be awaited, which only WindowMemory does; "
                "give a counter whose count() returns a number"
            )
        if not isinstance(count, int) or isinstance(count, bool):
            kind = type(count).__name__
            raise TokenCountError(
                f"{self.name} answered a value of type {kind}, not a whole number"
            )
        if count < 0:
            raise TokenCountError(f"{self.name} answered {count}, which is below 0")
        return count

    def __repr__(self) -> str:
        return f"CachedCounter({self.name}, {len(self._counts)} texts)"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
