"""Rounds and exchanges of a history that grows, what they weigh, and which of them are dropped.

:class:`~trimtab.boundaries.Boundaries` finds the same exchanges in a history
that is there as a whole; here a message more costs what is new.

An exchange belongs to the round in which its first message lies, and so do
results that come after the user has spoken again. A summary is no part of any
round: it stands for itself, so that protecting a round never protects it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from trimtab.boundaries import MADE_PREFIX, round_starts
from trimtab.messages import Message

__all__ = ["SUMMARY_HEAD", "Atom", "Round", "Rounds", "is_summary"]

SUMMARY_HEAD = f"{MADE_PREFIX}summary of the earlier conversation]"
"""First line of each summary: a message that begins with it is one, also where it went
through JSON and lost its origin."""


def is_summary(message: Message) -> bool:
    """Whether a message stands for earlier ones."""
    if message.origin is not None or message.role != "user" or not message.has_own_words:
        return message.origin == "summary"
    return message.text.startswith(SUMMARY_HEAD)


@dataclass(slots=True, eq=False)
class Round:
    """A user message and all that belongs to it, or a summary.

    Attributes:
        is_summary: Whether it is a summary.
        has_words: Whether its user message is there yet.
        is_protected: Whether it may not be dropped.
        is_dropped: Whether it is.
        tokens: What all of it weighs.
        dropped_tokens: What those of its exchanges weigh that are dropped one by one.
        exchanges: Those that are not, oldest first; some may have joined another.
        dropped: Those that are.
    """

    is_summary: bool = False
    has_words: bool = False
    is_protected: bool = False
    is_dropped: bool = False
    tokens: int = 0
    dropped_tokens: int = 0
    exchanges: deque[Atom] = field(default_factory=deque)
    dropped: list[Atom] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Atom:
    """What is kept or dropped whole: an exchange with its results, or a message.

    Attributes:
        round: What it belongs to.
        place: Where its first message stands.
        is_exchange: Whether it holds calls.
        is_dropped: Whether it is dropped, its round aside.
        tokens: What it weighs.
        joined: The exchange that it became a part of; None for most.
    """

    round: Round
    place: int
    is_exchange: bool = False
    is_dropped: bool = False
    tokens: int = 0
    joined: Atom | None = None


class Rounds:
    """The rounds of a history, oldest first.

    Args:
        replaced_calls: Ids of calls that a summary has replaced before their
            results came. Such a result is never shown: nothing shown asked for it.

    Attributes:
        rounds: Rounds and summaries, in the order in which they began.
        newest: The newest round; None before the first message.
        count: Rounds, summaries not among them.
        tokens: What all of it weighs.
        kept_tokens: What is neither dropped nor protected.
        kept_count: Rounds that are neither dropped nor protected.
        protected_tokens: What is protected.
        protected_count: Rounds that are protected.
        hidden_count: Messages that are never shown, see ``replaced_calls``.
        shape: Changes whenever something becomes visible or invisible that was there before.
        has_regrown: Whether something became visible again; whoever has looked resets it.
    """

    def __init__(self, replaced_calls: AbstractSet[str] = frozenset()) -> None:
        self.rounds: list[Round] = []
        self.newest: Round | None = None
        self.count = 0
        self.tokens = 0
        self.kept_tokens = 0
        self.kept_count = 0
        self.protected_tokens = 0
        self.protected_count = 0
        self.hidden_count = 0
        self.shape = 0
        self.has_regrown = False
        self._atoms: list[Atom] = []
        self._openers: dict[str, Atom] = {}
        self._run: Atom | None = None  # the assistant messages in a row that a next one continues
        self._replaced_calls = replaced_calls
        self._hidden = Round(is_dropped=True)

    def add(
        self,
        message: Message,
        tokens: int,
        *,
        is_protected: bool = False,
        stands_alone: bool = False,
    ) -> None:
        """Append a message that is whole, or one half of one.

        Args:
            message: It carries results or words, not both.
            tokens: What it weighs.
            is_protected: Whether it, and so its round, may never be dropped.
            stands_alone: Whether it stands for other messages, as a summary does.
        """
        if stands_alone or is_summary(message):
            self._run = None
            atom = self._atom(self._opened(Round(is_summary=True)))
        else:
            atom = self._atom_of(message, is_protected=is_protected)
        self._atoms.append(atom)
        self._charge(atom, tokens)
        if is_protected:
            self._protect(atom.round)

    def round_of(self, place: int) -> Round:
        """What a message belongs to."""
        return _found(self._atoms[place]).round

    def is_visible(self, place: int) -> bool:
        """Whether a message is not dropped."""
        atom = _found(self._atoms[place])
        return not (atom.is_dropped or atom.round.is_dropped)

    def is_hidden(self, place: int) -> bool:
        """Whether a message is the result of a call that a summary has replaced."""
        return self._atoms[place].round is self._hidden

    def drop(self, dropped: Round) -> None:
        """Drop a round or summary that is neither dropped nor protected."""
        self.kept_tokens -= dropped.tokens - dropped.dropped_tokens
        self.kept_count -= not dropped.is_summary
        dropped.is_dropped = True
        self.shape += 1

    def drop_oldest_exchange(self, shortened: Round) -> bool:
        """Drop the oldest exchange of a round that is neither dropped nor protected.

        Returns:
            False where only its newest is left, which stays.
        """
        exchanges = shortened.exchanges
        while exchanges and exchanges[0].joined:
            exchanges.popleft()
        while exchanges and exchanges[-1].joined:
            exchanges.pop()
        if len(exchanges) < 2:
            return False
        atom = exchanges.popleft()
        atom.is_dropped = True
        shortened.dropped.append(atom)
        shortened.dropped_tokens += atom.tokens
        self.kept_tokens -= atom.tokens
        self.shape += 1
        return True

    # ------------------------------------------------------------------ adding

    def _atom_of(self, message: Message, *, is_protected: bool) -> Atom:
        if message.role == "assistant":
            return self._continued(message)
        self._run = None
        if message.result_ids:
            return self._answered(message.result_ids, is_protected=is_protected)
        if round_starts([message]):
            return self._atom(self._begun())
        return self._atom(self._current())

    def _continued(self, message: Message) -> Atom:
        run = self._run = self._run or self._atom(self._current())
        if message.call_ids and not run.is_exchange:
            run.is_exchange = True
            run.round.exchanges.append(run)
        for call_id in message.call_ids:
            self._openers[call_id] = run
        return run

    def _answered(self, result_ids: Sequence[str], *, is_protected: bool) -> Atom:
        """The exchange that these results belong to; those that share a message become one."""
        openers = [self._openers.pop(call_id, None) for call_id in result_ids]
        atoms = [_found(atom) for atom in openers if atom is not None]
        if not atoms:
            is_hidden = not is_protected and not self._replaced_calls.isdisjoint(result_ids)
            self.hidden_count += is_hidden
            return self._atom(self._hidden if is_hidden else self._current())
        first = min(atoms, key=lambda atom: atom.place)
        for atom in atoms:
            if atom is not first and atom.joined is None:
                self._join(first, atom)
        return first

    def _atom(self, home: Round) -> Atom:
        return Atom(home, len(self._atoms))

    def _current(self) -> Round:
        return self._opened(Round()) if self.newest is None else self.newest

    def _begun(self) -> Round:
        begun = self.newest
        if begun is None or begun.has_words:
            begun = self._opened(Round())
        begun.has_words = True
        return begun

    def _opened(self, opened: Round) -> Round:
        self.rounds.append(opened)
        if not opened.is_summary:
            self.newest = opened
            self.count += 1
            self.kept_count += 1
        return opened

    # ---------------------------------------------------------------- weighing

    def _charge(self, atom: Atom, tokens: int) -> None:
        home = atom.round
        if home is self._hidden:
            return
        atom.tokens += tokens
        home.tokens += tokens
        self.tokens += tokens
        if atom.is_dropped:
            home.dropped_tokens += tokens
        if home.is_protected:
            self.protected_tokens += tokens
        elif not (home.is_dropped or atom.is_dropped):
            self.kept_tokens += tokens

    def _protect(self, home: Round) -> None:
        """Make a round protected; what was dropped of it comes back."""
        if home.is_protected:
            return
        if not home.is_dropped:
            self.kept_tokens -= home.tokens - home.dropped_tokens
            self.kept_count -= not home.is_summary
        self.protected_tokens += home.tokens
        self.protected_count += not home.is_summary
        if home.is_dropped or home.dropped:
            self.has_regrown = True
            self.shape += 1
        for atom in home.dropped:
            atom.is_dropped = False
        home.is_protected, home.is_dropped, home.dropped_tokens = True, False, 0
        home.dropped.clear()

    def _join(self, first: Atom, other: Atom) -> None:
        """Make two exchanges one, because one message answers both."""
        tokens, is_dropped = other.tokens, first.is_dropped and other.is_dropped
        self._charge(other, -tokens)
        other.joined = first
        if first.is_dropped and not is_dropped:
            self._restore(first)
        self._charge(first, tokens)
        if other.round.is_protected:
            self._protect(first.round)
        self.has_regrown = True  # or shrunk: either may have been dropped
        self.shape += 1

    def _restore(self, atom: Atom) -> None:
        """Bring an exchange back that was dropped by itself."""
        home, tokens = atom.round, atom.tokens
        self._charge(atom, -tokens)
        atom.is_dropped = False
        home.dropped.remove(atom)
        home.exchanges.appendleft(atom)
        self._charge(atom, tokens)


def _found(atom: Atom) -> Atom:
    while atom.joined is not None:
        atom = atom.joined
    return atom
