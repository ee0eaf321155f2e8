"""How much room there is."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab.errors import PolicyError

__all__ = ["Budget", "Limits", "Scale"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The three sizes that decide when to act and how far, in tokens of the whole request.

    Attributes:
        limit_tokens: Must not be passed.
        trigger_tokens: At which a compaction is planned; at most the limit.
        target_tokens: That it plans down to; at most the trigger.

    Raises:
        PolicyError: If one is below 1, or they are not in that order.
    """

    limit_tokens: int
    trigger_tokens: int
    target_tokens: int

    def __post_init__(self) -> None:
        if self.limit_tokens < 1:
            raise PolicyError("limit_tokens", self.limit_tokens, "it must be at least 1")
        if not 1 <= self.trigger_tokens <= self.limit_tokens:
            raise PolicyError(
                "trigger_tokens",
                self.trigger_tokens,
                f"it must lie between 1 and the limit of {self.limit_tokens}",
            )
        if not 1 <= self.target_tokens <= self.trigger_tokens:
            raise PolicyError(
                "target_tokens",
                self.target_tokens,
                f"it must lie between 1 and the trigger of {self.trigger_tokens}",
            )


@dataclass(frozen=True, slots=True)
class Scale:
    """How counts compare with what the provider bills.

    A straight line: what a bill has on top of a count (a system prompt that a
    log lacks, what every request costs) stays what it is; the rest grows at a rate.

    Attributes:
        counted_tokens: What one request was counted at.
        billed_tokens: What the provider bills for it.
        counted_step: So much more that is counted, 1 or more,
        billed_step: is so much more on the bill, 1 or more.
    """

    counted_tokens: int = 0
    billed_tokens: int = 0
    counted_step: int = 1
    billed_step: int = 1

    def billed(self, counted_tokens: int) -> int:
        """What the provider bills for something that was counted; rounded up, 0 or more."""
        more = (counted_tokens - self.counted_tokens) * self.billed_step
        return max(0, self.billed_tokens - -more // self.counted_step)

    def counted(self, billed_tokens: int) -> int:
        """What may be counted for so much on the bill; rounded down, so that it is not passed."""
        more = (billed_tokens - self.billed_tokens) * self.counted_step
        return self.counted_tokens + more // self.billed_step

    def grown(self, counted_tokens: int) -> int:
        """What something that is added is billed at; rounded up."""
        return -(-counted_tokens * self.billed_step // self.counted_step)

    def limits(self, billed: Limits) -> Limits:
        """Limits on the bill, as limits on what is counted; at least 1 token each."""
        sizes = (billed.limit_tokens, billed.trigger_tokens, billed.target_tokens)
        return Limits(*(max(1, self.counted(size)) for size in sizes))


@dataclass(frozen=True, slots=True)
class Budget:
    """What a window memory may keep: tokens, rounds, or both; ``None`` is no bound.

    Attributes:
        max_tokens: Tokens of all kept messages together.
        max_rounds: Rounds: a user message and everything up to the next; 0 means 1.

    Raises:
        PolicyError: If one is no whole number or below 0.
    """

    max_tokens: int | None = None
    max_rounds: int | None = None

    def __post_init__(self) -> None:
        for setting in ("max_tokens", "max_rounds"):
            value: object = getattr(self, setting)
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise PolicyError(setting, value, "it must be a whole number of 0 or more")

    @classmethod
    def tokens(cls, max_tokens: int) -> Budget:
        """Bound by size alone."""
        return cls(max_tokens=max_tokens)

    @classmethod
    def rounds(cls, max_rounds: int) -> Budget:
        """Bound by rounds alone."""
        return cls(max_rounds=max_rounds)

    @classmethod
    def both(cls, max_tokens: int, max_rounds: int) -> Budget:
        """Bound by both; the smaller window holds."""
        return cls(max_tokens=max_tokens, max_rounds=max_rounds)
