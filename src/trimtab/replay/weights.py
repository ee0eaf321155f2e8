"""What each message of a recorded session weighs on the bill.

A bill tells what a whole request weighs. Held against the one before it, it
tells what the messages weigh that came in between; their counts say how that
is shared out. What is billed beyond all messages of the first request is its
head: tools and system prompt, which most logs lack. So sums of the weights
are what was billed, and any other selection of the same messages can be priced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise

from trimtab.replay.recording import RecordedRequest
from trimtab.tokens import Measure
from trimtab.turn import Turn

__all__ = ["Said", "Weights"]

_RATES = (0.5, 2.0)
"""Billed tokens for one that is counted: Claude takes up to 1.6 for code. Beyond lies what no text
shows, such as reasoning that a log leaves out, and says nothing of texts that we make."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a request, as a bill sees it.

    Attributes:
        name: A digest of what it says; equal for the same words on a later turn.
        tokens: What it weighs on the bill.
        counted: What it was counted at.
        parts: How many blocks the provider makes of it.
        role: Who speaks.
        is_result: Whether it brings results of tools.
    """

    name: bytes
    tokens: int
    counted: int
    parts: int
    role: str
    is_result: bool


@dataclass(slots=True)
class Weights:
    """Learns from bill to bill what the messages of a session weigh.

    Attributes:
        rate: Billed tokens for one that is counted, over all messages so far; above 0.
    """

    rate: float = 1.0
    _said: dict[bytes, Said] = field(default_factory=dict, repr=False)
    _names: dict[bytes, bytes] = field(default_factory=dict, repr=False)
    _heads: dict[bytes, int] = field(default_factory=dict, repr=False)
    _guessed: dict[bytes, int] = field(default_factory=dict, repr=False)
    _billed: int = 0
    _counted: int = 0

    def weigh(self, turn: Turn, recorded: RecordedRequest, measure: Measure) -> list[Said]:
        """Weigh the messages of the next request of the session.

        Args:
            turn: The request, read.
            recorded: As it was recorded; its bill is learned from.
            measure: Counts what was not seen before.

        Returns:
            Its messages, in order. Together with :meth:`head_tokens` they
            weigh what was billed, unless the context had shrunk in a way that the log does not show.

        Raises:
            TokenCountError: If the counter fails.
        """
        names = [self._name(turn, place) for place in range(len(turn.links))]
        new = dict.fromkeys(place for place, name in enumerate(names) if name not in self._said)
        first = {names[place]: place for place in reversed(new)}
        counted = {
            name: measure.message(turn.request.message(place).decoded())
            for name, place in first.items()
        }
        billed = recorded.usage.total_input if recorded.usage else 0
        tokens = self._share(turn, recorded, measure, names, counted, billed)
        for name, place in first.items():
            self._said[name] = _said(turn, place, name, tokens[name], counted[name])
        return [self._said[name] for name in names]

    def head_tokens(self, turn: Turn, measure: Measure) -> int:
        """What tools and system prompt of a request weigh on the bill."""
        surface = _surface(turn)
        if surface in self._heads:
            return self._heads[surface]
        if surface not in self._guessed:  # no bill has told yet
            self._guessed[surface] = round(measure.surface(turn.request.surface) * self.rate)
        return self._guessed[surface]

    def surface(self, turn: Turn) -> bytes:
        """A digest of what comes before all messages."""
        return _surface(turn)

    def _name(self, turn: Turn, place: int) -> bytes:
        link = turn.links[place]
        name = self._names.get(link)
        if name is None:
            name = blake2b(turn.request.form(place), digest_size=16).digest()
            self._names[link] = name
        return name

    def _share(
        self,
        turn: Turn,
        recorded: RecordedRequest,
        measure: Measure,
        names: Sequence[bytes],
        counted: dict[bytes, int],
        billed: int,
    ) -> dict[bytes, int]:
        """Share what was billed among the messages that are new."""
        many = sum(counted.values())
        plain = {name: round(count * self.rate) for name, count in counted.items()}
        surface = _surface(turn)
        if not billed or not many:
            return plain
        if surface not in self._heads:
            known = sum(self._said[name].tokens for name in names if name in self._said)
            if recorded.unrecorded or known:
                self._heads[surface] = max(0, billed - known - sum(plain.values()))
                return plain
            own = measure.surface(turn.request.surface)
            self._heads[surface] = round(own * billed / max(1, own + many))
        known = sum(self._said[name].tokens for name in names if name in self._said)
        left = billed - self._heads[surface] - known
        if left <= 0:
            return plain  # the context has shrunk somewhere; what came is taken at its count
        self._billed += left
        self._counted += many
        least, most = _RATES
        self.rate = min(most, max(least, self._billed / self._counted))
        return _in_proportion(counted, left)


def _in_proportion(counted: dict[bytes, int], billed: int) -> dict[bytes, int]:
    """Sums are rounded, not the pieces, so that they add up to what was billed."""
    many = sum(counted.values())
    sums = [0]
    for count in counted.values():
        sums.append(sums[-1] + count)
    rounded = [round(total * billed / many) for total in sums]
    return dict(zip(counted, (high - low for low, high in pairwise(rounded)), strict=True))


def _said(turn: Turn, place: int, name: bytes, tokens: int, counted: int) -> Said:
    outline = turn.request.outlines[place]
    parts = len(turn.request.message(place).parts)
    return Said(name, tokens, counted, max(1, parts), outline.role, bool(outline.result_ids))


def _surface(turn: Turn) -> bytes:
    request = turn.request
    forms = request.format.surface_forms(request.members)
    model = forms.model or turn.call.model.encode("utf-8", "surrogatepass")
    return blake2b(b"\0".join((model, forms.system, forms.tools)), digest_size=16).digest()
