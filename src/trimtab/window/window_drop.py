"""Drop the oldest rounds, rarely and deep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from trimtab.budget import Budget
from trimtab.errors import PolicyError
from trimtab.messages import Message
from trimtab.window.counting import TextCounter, count_message
from trimtab.window.pieces import pieces_of
from trimtab.window.start import Window
from trimtab.window.strategy import TrimResult

__all__ = ["LOW_WATER", "WindowDrop"]

LOW_WATER = 0.7
"""With rounds of equal size the window then moves once for a third of what it holds: on a
conversation of 60 rounds, of which 10 fit, 13 times and not 50."""


@final
@dataclass(frozen=True, slots=True)
class WindowDrop:
    """Keeps rounds whole, newest first, while they fit; the newest always stays.

    When the messages no longer fit the *tokens* of the budget, it drops to
    ``low_water`` of them. The window then starts where it starts until they
    do not fit again, so that the requests between two drops extend each other
    and the provider reads them from its cache. Rounds beyond ``max_rounds``
    go one by one.

    Where the newest round alone does not fit, its oldest exchanges go; the
    user's message and the newest exchange stay.

    Nothing that is stored changes: a larger budget brings all of it back.

    Attributes:
        low_water: Above 0, at most 1. 1.0 is the plain sliding window: where rounds are short it
            moves with nearly every one, the provider's cache hits nothing, and the bill is
            higher than without any window. A window that slid so over an agent's session of
            160 steps cost 2.8 times as much as sending everything, where what is read from the
            cache costs a tenth.

    Raises:
        PolicyError: If ``low_water`` lies outside that range.
    """

    low_water: float = LOW_WATER

    def __post_init__(self) -> None:
        if not 0 < self.low_water <= 1:
            raise PolicyError("low_water", self.low_water, "it must be above 0 and at most 1")

    async def trim(
        self, messages: Sequence[Message], budget: Budget, counter: TextCounter
    ) -> TrimResult:
        """Drop the oldest rounds of some messages, as if they had come one by one.

        Raises:
            TokenCountError: If the counter fails.
        """
        counts = [await count_message(counter, message) for message in messages]
        return await self.trim_with_counts(messages, counts, budget, counter)

    async def trim_with_counts(
        self,
        messages: Sequence[Message],
        counts: Sequence[int],
        budget: Budget,
        counter: TextCounter,
    ) -> TrimResult:
        """The same for messages that are counted.

        Raises:
            TokenCountError: If the counter fails on the halves of a message.
        """
        window = Window(budget, self.low_water)
        for message, tokens in zip(messages, counts, strict=True):
            pieces = pieces_of(message)
            for piece in pieces:
                piece.tokens = tokens
                if len(pieces) > 1:
                    piece.tokens = await count_message(counter, piece.message)
                window.add(piece)
        return TrimResult(window.messages(), replace=False)
