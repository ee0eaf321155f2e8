"""Where a window starts: it stays where it is until a message comes that no longer fits.

The start follows from the messages, in the order in which they came, and from
the budget. It does not matter who looked when: each message is settled as it
comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.boundaries import round_starts
from trimtab.budget import Budget
from trimtab.messages import Message
from trimtab.plan import Outcome
from trimtab.window.pieces import Piece, rejoined
from trimtab.window.rounds import Rounds

__all__ = ["Window"]


class Window:
    """The messages that are shown of a history that grows.

    Args:
        budget: What may be shown.
        low_water: Share of the tokens that it comes down to when they no longer fit, in (0, 1].
        rounds: An empty history, to be filled.

    Attributes:
        rounds: The history.
    """

    def __init__(self, budget: Budget, low_water: float, rounds: Rounds | None = None) -> None:
        self.rounds = Rounds() if rounds is None else rounds
        self._budget = budget
        self._low_water = low_water
        self._oldest = 0  # all before it is dropped or protected
        self._oldest_round = 0  # the same, summaries aside
        self._pieces: list[Piece] = []
        self._places: list[int] = []  # what was shown when it was last looked at
        self._seen = 0  # up to where it was looked at
        self._messages: list[Message] = []  # the same as messages
        self._shape = 0

    def add(self, piece: Piece) -> None:
        """Append a piece that is counted, and drop what no longer fits."""
        assert piece.tokens is not None
        place = len(self._pieces)
        self._pieces.append(piece)
        self.rounds.add(
            piece.message,
            piece.tokens,
            is_protected=piece.is_protected,
            stands_alone=piece.stands_alone,
        )
        self._settle()
        if self._shape == self.rounds.shape:
            self._show(place)

    def messages(self) -> list[Message]:
        """What is shown, oldest first, in a list of the caller's own."""
        if self._shape != self.rounds.shape:
            self._look_again()
        return list(self._messages)

    def stored(self) -> list[Message]:
        """All messages, dropped ones too; results of calls that a summary replaced are not."""
        places = range(len(self._pieces))
        return rejoined(self._pieces[p] for p in places if not self.rounds.is_hidden(p))

    def places(self, *, protected: bool) -> list[int]:
        """Places of the pieces in rounds that are protected, or of those in the others."""
        return [
            place
            for place in range(len(self._pieces))
            if self.rounds.round_of(place).is_protected is protected
            and not self.rounds.is_hidden(place)
        ]

    # --------------------------------------------------------------- budgets

    @property
    def is_over(self) -> bool:
        """Whether the whole history is more than the budget."""
        return self.rounds.tokens > self._most_tokens or self.rounds.count > self._most_rounds

    @property
    def left(self) -> Budget:
        """The budget that protected rounds leave."""
        tokens, rounds = self._budget.max_tokens, self._budget.max_rounds
        return Budget(
            None if tokens is None else max(0, tokens - self.rounds.protected_tokens),
            None if rounds is None else max(0, max(1, rounds) - self.rounds.protected_count),
        )

    def outcome(self, messages: Sequence[Message], tokens: int | None = None) -> Outcome:
        """Say what it means to show some messages.

        Args:
            messages: What is shown: what :meth:`messages` has just answered, or what a
                strategy made.
            tokens: What a strategy's messages weigh; None for this window's.
        """
        rounds = self.rounds
        if tokens is None:
            tokens = rounds.kept_tokens + rounds.protected_tokens
            shown_rounds = rounds.kept_count + rounds.protected_count
            is_whole = len(self._places) == len(self._pieces) - rounds.hidden_count
        else:
            shown_rounds = len(round_starts(messages))
            is_whole = tokens == rounds.tokens and len(messages) == len(self.stored())
        before = rounds.tokens
        limit = before if self._budget.max_tokens is None else self._budget.max_tokens
        if tokens > limit:
            newest = rounds.newest.tokens if rounds.newest else 0
            reason = (
                f"protected rounds weigh {rounds.protected_tokens} tokens, "
                f"the newest round {newest}"
            )
            return Outcome("unmet", limit, before, tokens, tokens, reason)
        if shown_rounds > self._most_rounds:
            reason = f"{shown_rounds} rounds must stay, {rounds.protected_count} of them protected"
            return Outcome("unmet", limit, before, tokens, 0, reason)
        return Outcome("untouched" if is_whole else "fits", limit, before, tokens)

    @property
    def _most_tokens(self) -> float:
        return float("inf") if self._budget.max_tokens is None else self._budget.max_tokens

    @property
    def _most_rounds(self) -> float:
        return float("inf") if self._budget.max_rounds is None else max(1, self._budget.max_rounds)

    # -------------------------------------------------------------- dropping

    def _settle(self) -> None:
        rounds = self.rounds
        if rounds.kept_count + rounds.protected_count > self._most_rounds:
            self._drop_rounds_beyond_limit()
        if rounds.kept_tokens + rounds.protected_tokens <= self._most_tokens:
            return
        left = max(0, int(self._most_tokens) - rounds.protected_tokens)
        low = int(self._low_water * left)
        self._drop_old_rounds(low)
        newest = rounds.newest
        if newest is None or newest.is_protected or rounds.kept_tokens <= left:
            return
        while rounds.kept_tokens > low and rounds.drop_oldest_exchange(newest):
            pass

    def _drop_rounds_beyond_limit(self) -> None:
        rounds = self.rounds
        newest = rounds.newest
        least = 0 if newest is None or newest.is_protected else 1
        most = max(least, self._most_rounds - rounds.protected_count)
        while rounds.kept_count > most:
            oldest = rounds.rounds[self._oldest_round]
            self._oldest_round += 1
            if not (oldest.is_dropped or oldest.is_protected or oldest.is_summary):
                rounds.drop(oldest)

    def _drop_old_rounds(self, low: int) -> None:
        """Keep rounds whole, newest first, while they fit under the low mark; the newest stays."""
        rounds = self.rounds.rounds
        newest = self.rounds.newest
        if newest is not None and not newest.is_protected:
            low -= newest.tokens - newest.dropped_tokens
        first = len(rounds)
        while first > self._oldest:
            candidate = rounds[first - 1]
            if candidate is not newest and not (candidate.is_protected or candidate.is_dropped):
                if candidate.tokens > low:
                    break
                low -= candidate.tokens
            first -= 1
        for place in range(self._oldest, first):
            old = rounds[place]
            if old is newest:
                return  # a summary stands behind it: the next time begins here
            self._oldest = place + 1
            if not (old.is_protected or old.is_dropped):
                self.rounds.drop(old)

    # --------------------------------------------------------------- showing

    def _show(self, place: int) -> None:
        """Show one piece more, where nothing else has changed."""
        self._seen = place + 1
        if not self.rounds.is_visible(place):
            return
        piece = self._pieces[place]
        if piece.whole is not None and self._shown_last() is piece.follows:
            self._messages[-1] = piece.whole
        else:
            self._messages.append(piece.message)
        self._places.append(place)

    def _shown_last(self) -> Piece | None:
        return self._pieces[self._places[-1]] if self._places else None

    def _look_again(self) -> None:
        if self.rounds.has_regrown:
            self._places, self._seen = [], 0
        places = (*self._places, *range(self._seen, len(self._pieces)))
        self._places = [place for place in places if self.rounds.is_visible(place)]
        self._seen = len(self._pieces)
        self._messages = rejoined(self._pieces[place] for place in self._places)
        self._shape = self.rounds.shape
        self.rounds.has_regrown = False
