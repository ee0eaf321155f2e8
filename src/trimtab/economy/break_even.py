"""Whether a cut pays: what it costs at once against what every later turn saves.

All costs here are in fresh input tokens, so that they hold without a price
list; :class:`Rates` says how many of them a cached or written token is worth.

::

    stay:  cached · c + (before - cached) · w        this turn
    cut:   kept · c + (after - kept) · w             this turn, kept: what stays in front of the cut
    gain:  stay - cut + T · c · (before - after)     over this turn and T more

With R tokens removed that no cache holds yet, and S cached ones behind the
cut, ``gain > 0`` is ``R/S > (w - c) / (w + T·c)``, the form in which it is often told.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf, isqrt

from trimtab.economy.cache import rules_of
from trimtab.economy.prices import Prices

__all__ = [
    "MOST_LOSS_SHARE",
    "Cut",
    "Rates",
    "Verdict",
    "best_step_tokens",
    "least_ratio",
    "rates_of",
    "spent_so_far",
    "turns_to_come",
    "weigh",
    "weigh_cut",
]

MOST_LOSS_SHARE = 0.02
"""A cut whose turns never come may cost this share of what was paid before (law 7)."""

_CLAUDE = (0.1, 1.25, 2.0, 5.0)
_GPT = (0.1, 1.25, 1.25, 8.0)
_OTHERS = (0.1, 1.0, 1.0, 6.0)
"""Where nobody knows prices: what reading, writing, writing for an hour and an answer cost, as
multiples of fresh input. The usual ratios of the providers' price lists, November 2026."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What a token costs, as a multiple of a fresh input token.

    Attributes:
        read: Read from the cache; above 0.
        write: Sent for the first time and cached.
        output: Answered.
    """

    read: float
    write: float
    output: float


def rates_of(model: str, prices: Prices | None = None, *, is_long: bool = False) -> Rates:
    """Say what tokens of a model cost beside each other.

    Args:
        model: Its id.
        prices: What is known; what is missing is taken from the usual ratios of its provider.
        is_long: Whether its cache is written for an hour.
    """
    kind = rules_of(model).kind
    usual = {"markers": _CLAUDE, "breakpoints": _GPT}.get(kind, _OTHERS)
    read, write, write_long, output = usual
    write = write_long if is_long else write
    if prices is None or not prices.fresh:
        return Rates(read, write, output)
    told = prices.write_long if is_long and prices.write_long is not None else prices.written
    return Rates(
        read if not prices.read else prices.read / prices.fresh,
        write if told is None else told / prices.fresh,
        output if prices.output is None else prices.output / prices.fresh,
    )


@dataclass(frozen=True, slots=True)
class Cut:
    """A compaction that could be made, in tokens of whole requests.

    Attributes:
        before: What the request weighs without it.
        after: What it would weigh; at most ``before``.
        kept: What stays as it is in front of the first place that changes.
        cached: What the provider's cache would read of the request without it; 0 on a cold moment.
    """

    before: int
    after: int
    kept: int
    cached: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a cut pays, with the arithmetic.

    Attributes:
        cost_now: What it costs on this turn, in fresh tokens; negative where it saves at once.
        saved_a_turn: What each later turn saves, in fresh tokens.
        turns: Turns that are taken to come.
        break_even_turns: Turns after which it has paid for itself; infinite where it never does.
        most_loss: What it may cost if no turn comes, in fresh tokens.
    """

    cost_now: float
    saved_a_turn: float
    turns: float
    break_even_turns: float
    most_loss: float

    @property
    def gain(self) -> float:
        """What it saves over the turns that are taken to come, in fresh tokens."""
        return self.turns * self.saved_a_turn - self.cost_now

    @property
    def pays(self) -> bool:
        """Whether the turns that are taken to come pay for it."""
        return self.gain > 0

    @property
    def is_bearable(self) -> bool:
        """Whether it costs no more than may be lost if the conversation ends here."""
        return self.cost_now <= self.most_loss

    @property
    def line(self) -> str:
        """The arithmetic in one line, which multiplies out."""
        now, later = round(self.cost_now), round(self.saved_a_turn)
        if now > 0:
            told = f"costs {now:,} more on its own turn and saves {later:,} on each later one, so "
            told += (
                "it never pays"
                if isinf(self.break_even_turns)
                else f"it is even after {self.break_even_turns:,.1f} more turns"
            )
        else:
            told = f"saves {-now:,} on its own turn and {later:,} on each later one, so it pays at once"
        more = "turn was" if round(self.turns) == 1 else "turns were"
        return f"{told} (in fresh input tokens); {self.turns:,.0f} more {more} expected"


def weigh_cut(cut: Cut, rates: Rates, turns: float, most_loss: float = inf) -> Verdict:
    """Hold what a cut costs against what it saves.

    Args:
        cut: What could be cut.
        rates: What tokens cost.
        turns: Turns that are taken to come; see :func:`turns_to_come`.
        most_loss: What it may cost if none comes, in fresh tokens.
    """
    kept = min(cut.kept, cut.cached, cut.after)
    stay = cut.cached * rates.read + (cut.before - cut.cached) * rates.write
    made = kept * rates.read + (cut.after - kept) * rates.write
    return weigh(made - stay, (cut.before - cut.after) * rates.read, turns, most_loss)


def weigh(cost_now: float, saved_a_turn: float, turns: float, most_loss: float = inf) -> Verdict:
    """Hold what a cut is known to cost against what it saves.

    Args:
        cost_now: What it costs on its own turn, in fresh tokens; negative where it saves at once.
        saved_a_turn: What each later turn saves, in fresh tokens.
        turns: Turns that are taken to come.
        most_loss: What it may cost if none comes, in fresh tokens.
    """
    even = 0.0 if cost_now <= 0 else (cost_now / saved_a_turn if saved_a_turn > 0 else inf)
    return Verdict(cost_now, saved_a_turn, turns, even, most_loss)


def least_ratio(rates: Rates, turns: float) -> float:
    """Removed tokens for each that stays behind the cut, from which on a cut pays.

    For tokens that are removed before any cache holds them; ``(w - c) / (w + T·c)``.
    """
    return (rates.write - rates.read) / (rates.write + turns * rates.read)


def turns_to_come(turns_so_far: int) -> float:
    """How many turns a conversation is taken to go on for: as many as it has had.

    Lengths of sessions have a long tail, and for such the expected rest grows
    with what has passed. On recorded sessions it is near the median
    (docs/economy.md, "How many turns are to come").

    Args:
        turns_so_far: Answers in the conversation, 0 or more.
    """
    return float(turns_so_far)


def spent_so_far(turns: int, tokens: int, output_tokens: int, rates: Rates) -> float:
    """About what a conversation has cost, where nobody added it up, in fresh tokens.

    A history that grew evenly to its size was read half of it a turn, and
    written once.

    Args:
        turns: Answers in it.
        tokens: What the request weighs now.
        output_tokens: What all answers weigh.
        rates: What tokens cost.
    """
    read = turns * tokens / 2 * rates.read
    return read + tokens * rates.write + output_tokens * rates.output


def best_step_tokens(growth_tokens: int, cost: float, rates: Rates) -> int:
    """How far above its target a trigger lies best, as economic order quantities are found.

    A cycle of ``x`` tokens costs one compaction and holds ``x / 2`` tokens on
    average, read at each turn: ``cost·g/x + c·x/2`` is least at ``√(2·cost·g/c)``.

    Args:
        growth_tokens: By how much a turn grows.
        cost: What one compaction costs, with what is asked again after it, in fresh tokens.
        rates: What tokens cost.
    """
    return isqrt(max(0, int(2 * max(0.0, cost) * growth_tokens / rates.read)))
