"""A memory that keeps everything and gives back what fits."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

from trimtab.budget import Budget
from trimtab.errors import PolicyError
from trimtab.messages import Message
from trimtab.plan import Outcome
from trimtab.tokens import CharTokenCounter
from trimtab.window.counting import TextCounter, count_message
from trimtab.window.memory import Memory, checked_message
from trimtab.window.pieces import Piece, pieces_of, rejoined
from trimtab.window.rounds import Rounds
from trimtab.window.start import Window
from trimtab.window.strategy import TrimResult, TrimStrategy
from trimtab.window.window_drop import LOW_WATER, WindowDrop

__all__ = ["WindowMemory"]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a strategy is asked, and about what.

    Attributes:
        strategy: The strategy.
        counter: For what it makes.
        version: Of what is stored.
        pieces: All that was stored, oldest first.
        candidates: Places of those that are not in protected rounds.
        protected: Places of those that are.
        budget: What protected rounds leave of it.
    """

    strategy: TrimStrategy
    counter: TextCounter
    version: int
    pieces: list[Piece]
    candidates: list[int]
    protected: list[int]
    budget: Budget


class WindowMemory(Memory):
    """Keeps all messages of one conversation, and gives back those that fit a budget.

    Where they fit, all of them; where not, what a strategy makes of them.
    System messages are ordinary messages here. Rounds that hold something
    recorded as protected, and the newest round, always stay.

    Safe for concurrent tasks, threads and event loops. Messages are in the
    order in which their recording ended; await each where order matters and
    the counter has to be awaited.

    Args:
        max_tokens: Tokens of what is given back, 1 or more, or a whole budget.
        max_rounds: Rounds of it; 0 means 1, None is no bound.
        counter: Counts words, at once or when awaited; None for characters.
        strategy: Makes messages fit; None for :class:`~trimtab.window.WindowDrop`.

    Raises:
        PolicyError: If a bound is no whole number or too small, or ``max_rounds`` is given
            beside a whole budget.
    """

    def __init__(
        self,
        max_tokens: int | Budget,
        max_rounds: int | None = None,
        counter: TextCounter | None = None,
        strategy: TrimStrategy | None = None,
    ) -> None:
        if not isinstance(max_tokens, Budget):
            max_tokens = Budget(max_tokens, max_rounds)
        elif max_rounds is not None:
            raise PolicyError("max_rounds", max_rounds, "name it in the budget")
        self._budget = _checked(max_tokens)
        self._counter: TextCounter = CharTokenCounter() if counter is None else counter
        self._strategy: TrimStrategy = WindowDrop() if strategy is None else strategy
        self._lock = Lock()  # held for changes of state alone, never while somebody is awaited
        self._pieces: list[Piece] = []
        self._uncounted: list[Piece] = []
        self._replaced_calls: set[str] = set()
        self._window: Window | None = None
        self._outcome: Outcome | None = None
        self._version = 0  # of what is stored, appending aside
        self._counter_version = 0

    # ------------------------------------------------------------------- memory

    async def record(self, message: Message) -> None:
        """Append a message.

        Raises:
            TokenCountError: If the counter fails; nothing is recorded then.
            RequestError: If it is no :class:`~trimtab.messages.Message`.
        """
        await self._record(pieces_of(checked_message(message)))

    async def record_protected(self, message: Message) -> None:
        """Append a message that always stays, and its round with it.

        Raises:
            TokenCountError: If the counter fails; nothing is recorded then.
            RequestError: If it is no :class:`~trimtab.messages.Message`.
        """
        await self._record(pieces_of(checked_message(message), is_protected=True))

    async def context(self) -> list[Message]:
        """The messages to send, oldest first, in a list of the caller's own.

        Raises:
            TokenCountError: If the counter fails.
            PolicyError: If the strategy answers no :class:`~trimtab.window.TrimResult`.
        """
        replaced: tuple[int, int] | None = None  # the state that this call has made
        while True:
            await self._count_rest()
            with self._lock:
                if self._uncounted:
                    continue
                asked = self._question()
                if asked is None or (replaced and replaced[0] == self._version):
                    return self._shown(is_asked=replaced == (self._version, len(self._pieces)))
            result = await _answer(asked)
            if result.is_fallback:
                with self._lock:
                    if not self._uncounted:
                        return self._shown()
                continue
            pieces = _merged(asked, result.messages)
            if not result.replace:
                return await self._projected(asked, pieces)
            replaced = self._replace(asked, pieces)

    @property
    def outcome(self) -> Outcome:
        """What came of the last ``context()``.

        ``fits`` where something was left out, ``untouched`` where nothing was, ``unmet`` where
        what must stay is more than the budget. Without a bound for tokens the limit is what
        there was.
        """
        with self._lock:
            return self._outcome or Outcome("untouched", self._budget.max_tokens or 0, 0, 0)

    # ----------------------------------------------------------------- settings

    def set_max_tokens(self, max_tokens: int | None) -> None:
        """Set the bound for tokens, 1 or more; None is no bound.

        Raises:
            PolicyError: If it is no whole number or below 1.
        """
        with self._lock:
            self._budget = _checked(Budget(max_tokens, self._budget.max_rounds))
            self._window = None

    def set_max_rounds(self, max_rounds: int | None) -> None:
        """Set the bound for rounds; 0 means 1, None is no bound.

        Raises:
            PolicyError: If it is no whole number or below 0.
        """
        with self._lock:
            self._budget = _checked(Budget(self._budget.max_tokens, max_rounds))
            self._window = None

    def set_counter(self, counter: TextCounter) -> None:
        """Count with another counter; all messages are counted anew when it is next needed."""
        with self._lock:
            self._counter = counter
            self._counter_version += 1
            for piece in self._pieces:
                piece.tokens = None
            self._uncounted = list(self._pieces)
            self._window = None

    def set_strategy(self, strategy: TrimStrategy) -> None:
        """Trim with another strategy from now on."""
        with self._lock:
            self._strategy = strategy
            self._window = None

    def __repr__(self) -> str:
        with self._lock:
            messages = len(rejoined(self._pieces))
            return f"<WindowMemory, {self._budget}, {messages} messages>"

    # ----------------------------------------------------------------- counting

    async def _record(self, pieces: Sequence[Piece]) -> None:
        while True:
            await self._count_rest()
            counter, version = self._counting()
            counts = [await count_message(counter, piece.message) for piece in pieces]
            with self._lock:
                if version != self._counter_version:
                    continue
                for piece, tokens in zip(pieces, counts, strict=True):
                    piece.tokens = tokens
                    self._pieces.append(piece)
                    if self._window is not None:
                        self._window.add(piece)
                return

    async def _count_rest(self) -> None:
        """Count what is not counted, after a change of counter or something put in place."""
        while self._uncounted:
            counter, version = self._counting()
            with self._lock:
                waiting = [piece for piece in self._uncounted if piece.tokens is None]
            for piece in waiting:
                tokens = await count_message(counter, piece.message)
                with self._lock:
                    if version != self._counter_version:
                        break
                    piece.tokens = tokens
            with self._lock:
                self._uncounted = [piece for piece in self._uncounted if piece.tokens is None]

    def _counting(self) -> tuple[TextCounter, int]:
        with self._lock:
            return self._counter, self._counter_version

    # ------------------------------------------------- what the lock is held for

    def _settled(self) -> Window:
        """The window over all that is stored; all of it is counted."""
        if self._window is None:
            strategy = self._strategy
            low_water = strategy.low_water if isinstance(strategy, WindowDrop) else LOW_WATER
            self._window = Window(self._budget, low_water, Rounds(self._replaced_calls))
            for piece in self._pieces:
                self._window.add(piece)
        return self._window

    def _question(self) -> _Asked | None:
        """What the strategy is to be asked; None where it need not be."""
        window = self._settled()
        if isinstance(self._strategy, WindowDrop) or not window.is_over:
            return None
        candidates = window.places(protected=False)
        if not candidates:
            return None
        return _Asked(
            self._strategy,
            self._counter,
            self._version,
            list(self._pieces),
            candidates,
            window.places(protected=True),
            window.left,
        )

    def _shown(self, *, is_asked: bool = False) -> list[Message]:
        """What the window shows, or all of it where a strategy has just made it what it is."""
        window = self._settled()
        if is_asked:
            messages = window.stored()
            self._outcome = window.outcome(messages, window.rounds.tokens)
        else:
            messages = window.messages()
            self._outcome = window.outcome(messages)
        return messages

    def _replace(self, asked: _Asked, pieces: list[Piece]) -> tuple[int, int] | None:
        """Put what a strategy made in place of what it was asked about, if that still stands.

        Returns:
            The version and how many pieces were put in place; None where nothing was done.
        """
        with self._lock:
            is_needed = self._uncounted or self._settled().is_over
            if asked.version != self._version or not is_needed:
                return None
            since = self._pieces[len(asked.pieces) :]
            self._replaced_calls |= _calls_waiting(asked.pieces, pieces)
            self._pieces = [*pieces, *since]
            self._uncounted = [piece for piece in self._pieces if piece.tokens is None]
            self._version += 1
            self._window = None
            return self._version, len(pieces)

    async def _projected(self, asked: _Asked, pieces: list[Piece]) -> list[Message]:
        """Show what a strategy made, and store nothing."""
        messages = rejoined(pieces)
        tokens = 0
        for piece in pieces:
            known = piece.tokens
            if known is None:
                known = await count_message(asked.counter, piece.message)
            tokens += known
        with self._lock:
            if not self._uncounted:
                self._outcome = self._settled().outcome(messages, tokens)
        return messages


def _checked(budget: Budget) -> Budget:
    if budget.max_tokens == 0:
        raise PolicyError("max_tokens", 0, "it must be at least 1")
    return budget


async def _answer(asked: _Asked) -> TrimResult:
    """Ask a strategy, in the way that it can be asked."""
    pieces = [asked.pieces[place] for place in asked.candidates]
    messages = [piece.message for piece in pieces]
    counts = [piece.tokens for piece in pieces]
    with_counts = getattr(asked.strategy, "trim_with_counts", None)
    if with_counts is None:
        answer = asked.strategy.trim(messages, asked.budget, asked.counter)
    else:
        answer = with_counts(messages, counts, asked.budget, asked.counter)
    result = await answer if isinstance(answer, Awaitable) else answer
    if not isinstance(result, TrimResult):
        name = type(asked.strategy).__name__
        raise PolicyError("strategy", name, f"it answered a {type(result).__name__}, no TrimResult")
    return result


def _merged(asked: _Asked, messages: Sequence[Message]) -> list[Piece]:
    """Put what a strategy made among the protected rounds.

    What it kept stands where it stood; anything else where the first message
    stood that is missing in its place.
    """
    kept = _kept_places(asked, messages)
    missing = deque(sorted(set(asked.candidates).difference(kept)))
    rows: list[tuple[int, int, tuple[Piece, ...]]]
    rows = [(place, 0, (asked.pieces[place],)) for place in asked.protected]
    last = -1
    for number, message in enumerate(messages):
        place, following = kept[number], kept[number + 1]
        if place != following:
            rows.append((place, number, (asked.pieces[place],)))
            last = place
            continue
        while missing and missing[0] < last:
            missing.popleft()
        if missing and missing[0] < following:
            last = missing.popleft()
        rows.append((last, number, _made(message)))
    return [piece for _, _, pieces in sorted(rows, key=lambda row: row[:2]) for piece in pieces]


def _made(message: Message) -> tuple[Piece, ...]:
    """The pieces of what a strategy made; a summary is no part of the round that it stands before."""
    pieces = pieces_of(message)
    is_said = message.origin is None and message.role not in ("system", "developer")
    for piece in pieces:
        piece.stands_alone = not is_said
    return pieces


def _kept_places(asked: _Asked, messages: Sequence[Message]) -> list[int]:
    """Where each message stood that a strategy kept, with the end of all behind them.

    A copy of a message counts as that message.

    Returns:
        One more place than messages; for one that was made, or moved, the place of the next.
    """
    same = _by_key(asked, id)
    alike: dict[Hashable, deque[int]] | None = None
    found: list[int | None] = []
    last = -1
    for message in messages:
        place = _next_after(last, same.get(id(message)))
        if place is None:
            alike = _by_key(asked, _form) if alike is None else alike
            place = _next_after(last, alike.get(_form(message)))
        found.append(place)
        last = last if place is None else place
    kept = [len(asked.pieces)]
    for stood in reversed(found):
        kept.append(kept[-1] if stood is None else stood)
    return kept[::-1]


def _by_key(asked: _Asked, key: Callable[[Message], Hashable]) -> dict[Hashable, deque[int]]:
    places: dict[Hashable, deque[int]] = {}
    for place in asked.candidates:
        places.setdefault(key(asked.pieces[place].message), deque()).append(place)
    return places


def _form(message: Message) -> Hashable:
    return message.role, message.origin, message.parts


def _next_after(last: int, places: deque[int] | None) -> int | None:
    """The first of some places that lies behind another; those before it are used up."""
    while places and places[0] <= last:
        places.popleft()
    return places[0] if places else None


def _calls_waiting(before: Iterable[Piece], after: Iterable[Piece]) -> set[str]:
    """Ids of calls whose results have not come, and that are no longer there to wait for them."""
    waiting: set[str] = set()
    for piece in before:
        waiting.update(piece.message.call_ids)
        waiting.difference_update(piece.message.result_ids)
    return waiting.difference(*(piece.message.call_ids for piece in after))
