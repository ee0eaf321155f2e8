"""Compaction without a model, for loops that write the result back into their history.

::

    messages = compact_messages(messages, config)

Under its budget a list comes back as the very same object; over it, it comes
down to the target in one step, so that the next compaction is many turns
away. The ladder is the session's.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from trimtab.budget import Limits
from trimtab.economy import window_of
from trimtab.errors import PolicyError, RequestError
from trimtab.ladder import Climb, climb
from trimtab.messages import Message, ToolResult
from trimtab.plan import EMPTY_PLAN, Outcome, Plan, apply, compose
from trimtab.policy import Policy, ToolKind, require_whole
from trimtab.strategies.history import History
from trimtab.summary import SummaryStats
from trimtab.tokens import Measure, TokenCounter, counter_for
from trimtab.tokens.cache import CachedCounter

__all__ = [
    "Compacted",
    "CompactionConfig",
    "CompactionStrategy",
    "DefaultCompaction",
    "Growth",
    "Room",
    "checked_config",
    "checked_used",
    "compact_messages",
    "compacted",
    "room_for",
]

MAX_CONTEXT_TOKENS = 100_000
"""Where neither the caller nor the model says how much fits. Source: the default
of the agents whose compaction this follows."""

WINDOW_SHARE = 0.8
"""Of a model's window: the rest is for the answer and for what counts get wrong."""

_LOWEST_RATIO, _HIGHEST_RATIO = 0.05, 1.0

_UNWEIGHED = (None, 0)

_STEPS = 8
"""Turns whose growth is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig:
    """How much room there is, and what is kept.

    Attributes:
        max_context_tokens: What messages, system prompt and tools may weigh
            together, above the reserve; None is 0.8 of the model's window, where
            the model is named and known, else 100,000.
        model: The model's id: which counter, window and media prices hold; empty for none.
        system_prompt_tokens: Kept free for a system prompt and tools that are not
            among the messages, 0 or more. A system or developer message that is
            among them is counted, and then nothing is kept free for it.
        keep_first: Messages at the front that stay if they can, 0 or more.
        keep_recent: Newest messages that stay if they can, 0 or more. Fewer than
            10 lose the work at hand; 16 and more leave small budgets no room.
        tool_output_max_lines: Lines that an old tool result keeps, 1 or more.
        tool_lines: The same for single tools, by name; 0 exempts a tool
            (whatever reads stored originals must be exempt).
        target_ratio: Share of the budget to come down to. Below 0.05 it is 0.05,
            above 1.0 it is 1.0, and what is no finite number is 1.0. Near 1.0
            the next turn compacts again and pays for the whole prefix anew.
        headroom_turns: Turns of growth that should fit after a compaction, 1 or
            more: a conversation that grows fast comes down further than
            ``target_ratio``. None comes down to the ratio whatever the growth.
        least_ratio: As far as growth brings the ratio down, above 0 and at most 1.
        protect: Says of a message whether it must stay, words and all.
        tools: What tools do, by name, beside those that are known.
        is_error: Says of a result whether its tool failed, where the flag does not.
        ledger: Whether the marker lists what the user said, which files were
            touched and which values are gone.
        counter: Counts words; None for the best that is installed for the model.

    Raises:
        PolicyError: If a setting cannot hold; it names the setting and what is allowed.
    """

    max_context_tokens: int | None = None
    model: str = ""
    system_prompt_tokens: int = 4_000
    keep_first: int = 2
    keep_recent: int = 10
    tool_output_max_lines: int = 200
    tool_lines: Mapping[str, int] = field(default_factory=dict)
    target_ratio: float = 0.4
    headroom_turns: int | None = 30
    least_ratio: float = 0.3
    protect: Callable[[Message], bool] | None = None
    tools: Mapping[str, ToolKind] = field(default_factory=dict)
    is_error: Callable[[ToolResult], bool] | None = None
    ledger: bool = True
    counter: TokenCounter | None = field(default=None, repr=False)
    policy: Policy = field(init=False, repr=False, compare=False)
    measure: Measure = field(init=False, repr=False, compare=False)
    upper: Measure | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.max_context_tokens is not None:
            require_whole("max_context_tokens", self.max_context_tokens, 1)
        require_whole("system_prompt_tokens", self.system_prompt_tokens, 0)
        if self.headroom_turns is not None:
            require_whole("headroom_turns", self.headroom_turns, 1)
        for setting in ("target_ratio", "least_ratio"):
            if not isinstance(getattr(self, setting), (int, float)):
                raise PolicyError(setting, getattr(self, setting), "it must be a number")
        if not 0 < self.least_ratio <= 1:
            raise PolicyError("least_ratio", self.least_ratio, "it must lie above 0 and at most 1")
        if self.budget_tokens < 1:
            raise PolicyError(
                "system_prompt_tokens",
                self.system_prompt_tokens,
                f"it must leave room in the {self.context_tokens} tokens of max_context_tokens",
            )
        object.__setattr__(self, "policy", self._policy())
        measure = Measure(_counter(self.counter, self.model), self.model)
        object.__setattr__(self, "measure", measure)
        object.__setattr__(self, "upper", measure.upper())

    def _policy(self) -> Policy:
        return Policy(
            keep_first=self.keep_first,
            keep_recent=self.keep_recent,
            tool_output_max_lines=self.tool_output_max_lines,
            tool_lines=self.tool_lines,
            tools=self.tools,
            is_error=self.is_error,
            ledger=self.ledger,
            protect=self.protect,
        )

    @property
    def context_tokens(self) -> int:
        """What fits, with the defaults filled in."""
        if self.max_context_tokens is not None:
            return self.max_context_tokens
        window = window_of(self.model) if self.model else None
        return MAX_CONTEXT_TOKENS if window is None else int(window.tokens * WINDOW_SHARE)

    @property
    def budget_tokens(self) -> int:
        """What the messages may weigh where no system message is among them."""
        return self.context_tokens - self.system_prompt_tokens

    def limits(self, budget_tokens: int, growth_tokens: float | None = None) -> Limits:
        """The sizes that decide when to compact and how far.

        Args:
            budget_tokens: What the messages may weigh, 1 or more.
            growth_tokens: By how much a turn grows; None where it is not known.
        """
        target = max(1, int(budget_tokens * self._ratio(budget_tokens, growth_tokens)))
        return Limits(budget_tokens, budget_tokens, target)

    def _ratio(self, budget_tokens: int, growth_tokens: float | None) -> float:
        wanted = self.target_ratio
        ratio = (
            1.0 if not math.isfinite(wanted) else min(max(wanted, _LOWEST_RATIO), _HIGHEST_RATIO)
        )
        if self.headroom_turns is None or growth_tokens is None or not growth_tokens > 0:
            return ratio
        room = (budget_tokens - self.headroom_turns * growth_tokens) / budget_tokens
        return max(min(self.least_ratio, ratio), min(ratio, room))


@cache
def _known_counter(model: str) -> CachedCounter:
    return CachedCounter(counter_for(model))


def _counter(given: TokenCounter | None, model: str) -> TokenCounter:
    """One counter a model, so that configs that are made anew do not count anew."""
    return _known_counter(model) if given is None else given


@dataclass(frozen=True, slots=True)
class Compacted:
    """What came of a compaction.

    Attributes:
        messages: The list to go on with; the one that was given where nothing was done.
        outcome: Whether it fits, in numbers.
        plan: What was changed, by places in the list that was given.
        summary: What was billed for the briefing that came up in it, spliced in or
            not; None where there was none.
    """

    messages: list[Message] = field(repr=False)
    outcome: Outcome
    plan: Plan = EMPTY_PLAN
    summary: SummaryStats | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """What a list weighs, and what it may weigh.

    Attributes:
        tokens: Of all its messages.
        budget_tokens: What they must not pass, 1 or more.
    """

    tokens: int
    budget_tokens: int

    @property
    def is_enough(self) -> bool:
        """Whether the list is within its budget."""
        return self.tokens <= self.budget_tokens


class Growth:
    """By how much a list grows a turn, learned from lists that are fed back."""

    def __init__(self) -> None:
        self._steps: deque[int] = deque(maxlen=_STEPS)
        self._count = 0
        self._newest: Message | None = None

    @property
    def tokens(self) -> float | None:
        """The mean of the last turns; None before the first."""
        return sum(self._steps) / len(self._steps) if self._steps else None

    def learn(self, messages: Sequence[Message], measure: Measure) -> None:
        """Note by how much a list grew, where it goes on from what was returned."""
        if not 0 < self._count < len(messages):
            return
        if messages[self._count - 1] is self._newest:
            self._steps.append(sum(map(measure.message, messages[self._count :])))

    def returned(self, messages: Sequence[Message]) -> None:
        """Note what was returned."""
        self._count = len(messages)
        self._newest = messages[-1] if messages else None


class CompactionStrategy(Protocol):
    """Whatever keeps a list of messages within its budget, turn after turn."""

    def compact(
        self, messages: list[Message], config: CompactionConfig, used: int | None = None
    ) -> list[Message]:
        """Give the list to go on with.

        Args:
            messages: What was returned the last time, with what came since.
            config: How much room there is.
            used: What the provider charged for the last request's input, with all
                that was in it; None where that is not known.
        """
        ...


def compact_messages(
    messages: list[Message], config: CompactionConfig | None = None
) -> list[Message]:
    """Bring a list down to its target where it is over its budget.

    Idempotent: its own result comes back as the same object. Calls and their
    results stay or go together, and what is protected stays: system messages,
    the first and the newest user message, the newest exchange, calls that wait
    for a result, and what ``config.protect`` names.

    Args:
        messages: The conversation, oldest first. It is not changed.
        config: How much room there is; None for the defaults.

    Returns:
        The list to go on with: the one that was given where it is within its
        budget, or where nothing could be done; else a new one in which
        messages that nothing was done to are the same objects.

    Raises:
        RequestError: If something in the list is no message.
        TokenCountError: If the counter fails.
    """
    config = checked_config(config)
    if _surely_fits(messages, config):
        return messages
    return compacted(messages, config).messages


class DefaultCompaction:
    """:func:`compact_messages`, that learns how fast the conversation grows.

    Attributes:
        last: What came of the last call; None before the first.
    """

    def __init__(self) -> None:
        self.last: Compacted | None = None
        self._growth = Growth()

    def compact(
        self,
        messages: list[Message],
        config: CompactionConfig | None = None,
        used: int | None = None,
    ) -> list[Message]:
        """Give the list to go on with; see :func:`compact_messages`.

        Args:
            messages: What was returned the last time, with what came since.
            config: How much room there is; None for the defaults.
            used: What the provider charged for the input of a request with these
                messages, system prompt and tools included, 0 or more; None where
                that is not known. Then it decides: the list is compacted where the
                charge passes ``config.context_tokens``, and nothing is kept free for a
                system prompt, which is in it.

        Raises:
            PolicyError: If ``used`` is below 0.
            RequestError: If something in the list is no message.
            TokenCountError: If the counter fails.
        """
        checked_used(used)
        config = checked_config(config)
        self._growth.learn(_checked(messages), config.measure)
        self.last = compacted(messages, config, self._growth.tokens, used)
        self._growth.returned(self.last.messages)
        return self.last.messages

    def __repr__(self) -> str:
        return "DefaultCompaction()"


def compacted(
    messages: list[Message],
    config: CompactionConfig,
    growth_tokens: float | None = None,
    used: int | None = None,
    *,
    policy: Policy | None = None,
    room: Room | None = None,
) -> Compacted:
    """Bring a list down to its target where it is over its budget, and say what was done.

    Args:
        messages: The conversation, oldest first.
        config: How much room there is.
        growth_tokens: By how much a turn grows; None where it is not known.
        used: What the provider charged for it; None where that is not known.
        policy: What is kept, where it is not what the config says.
        room: What it weighs and may weigh, where somebody knows better; None for what
            config and charge say.

    Raises:
        RequestError: If something in the list is no message.
        TokenCountError: If the counter fails.
    """
    room = room_for(messages, config, used) if room is None else room
    total, budget = room.tokens, room.budget_tokens
    if room.is_enough:
        return Compacted(messages, Outcome("untouched", budget, total, total))
    limits = config.limits(budget, growth_tokens)
    policy = config.policy if policy is None else policy
    view, plan, tokens = messages, EMPTY_PLAN, total
    while tokens > budget:
        climbed = climb(History.weigh(view, 0, config.measure, policy), limits)
        if not climbed.plan or climbed.tokens >= tokens:
            return Compacted(view, _too_large(limits, total, tokens, climbed), plan)
        plan = compose(plan, climbed.plan, messages)
        view = [slot.message for slot in apply(climbed.plan, view)]
        tokens = _weigh(view, config.measure)  # a part weighs less than a joined text
    return Compacted(view, Outcome("fits", budget, total, tokens), plan)


def room_for(messages: list[Message], config: CompactionConfig, used: int | None = None) -> Room:
    """Say what a list weighs, and what it may; see :func:`compacted`.

    Raises:
        RequestError: If something in the list is no message.
        TokenCountError: If the counter fails.
    """
    total = _weigh(messages, config.measure)
    budget = _budget(messages, config)
    if used is not None:  # what the charge has on top of the count is not for messages
        budget = max(1, config.context_tokens - (used - total))
    return Room(total, budget)


def _too_large(limits: Limits, total: int, tokens: int, climbed: Climb) -> Outcome:
    """As small as it gets, and still over the budget."""
    return Outcome(
        "unsatisfiable",
        limits.limit_tokens,
        total,
        tokens,
        min(tokens, climbed.smallest_tokens),
        "what is protected alone is larger than the budget",
    )


def _budget(messages: list[Message], config: CompactionConfig) -> int:
    is_counted = any(message.role in ("system", "developer") for message in messages)
    return config.context_tokens if is_counted else config.budget_tokens


def _surely_fits(messages: list[Message], config: CompactionConfig) -> bool:
    """Whether a list is within its budget however many tokens its new messages have.

    A token covers a byte or more, so far from the budget nothing need be
    counted yet; most turns are.
    """
    upper, measure = config.upper, config.measure
    if upper is None or not isinstance(messages, list):
        return False
    most = 0
    for message in messages:
        if not isinstance(message, Message):
            return False  # weighing them tells which
        scale, weight = message.weight or _UNWEIGHED
        known = scale is measure or scale is upper
        most += weight if known else upper.message(message)
    return most <= _budget(messages, config)


def _weigh(messages: list[Message], measure: Measure) -> int:
    return sum(map(measure.message, _checked(messages)))


def checked_used(used: int | None) -> None:
    """Refuse a charge that is none.

    Raises:
        PolicyError: If so.
    """
    if used is not None and (type(used) is not int or used < 0):
        raise PolicyError("used", used, "it must be a whole number of 0 or more")


def checked_config(config: CompactionConfig | None) -> CompactionConfig:
    """The config that is meant; the defaults for None.

    Raises:
        PolicyError: If it is none.
    """
    if config is None:
        return CompactionConfig()
    if not isinstance(config, CompactionConfig):
        raise PolicyError("config", type(config), "it must be a CompactionConfig")
    return config


def _checked(messages: list[Message]) -> list[Message]:
    if not isinstance(messages, list):
        kind = type(messages).__name__
        raise RequestError(f"the messages are a {kind}, not a list of trimtab.Message")
    for place, message in enumerate(messages):
        if not isinstance(message, Message):
            kind = type(message).__name__
            raise RequestError(
                f"message {place} is a {kind}, not a trimtab.Message; make it with "
                "Message.user(…), Message.assistant(…), Message.tool(…), or read a whole "
                "body with trimtab.wire.read"
            )
    return messages
