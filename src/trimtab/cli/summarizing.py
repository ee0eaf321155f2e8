"""``trimtab compact --summarizer``: what a model makes of the older part, and whether it is taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from rich.console import Console

from trimtab.background import LlmCompaction
from trimtab.briefing import is_briefing
from trimtab.cli.tables import number
from trimtab.cli.talk import say
from trimtab.compaction import Compacted, CompactionConfig
from trimtab.events import Event, SummaryGivenUp
from trimtab.plan import EMPTY_PLAN, Forbidden, Plan
from trimtab.policy import TARGET_RATIO
from trimtab.summarizer import PROMPT_VERSION, model_summarizer
from trimtab.summary import SummaryStats
from trimtab.tokens import Measure, counter_for
from trimtab.wire import Request, check, write

__all__ = ["Summarized", "summarized"]


@dataclass(frozen=True, slots=True)
class Summarized:
    """What came of asking a model.

    Attributes:
        model: Which one was asked.
        body: The request with the briefing; None where it was not taken.
        plan: How it came to be, as far as it was taken.
        tokens: What it weighs.
        briefing: The whole message, its ledger among it; empty where it was not taken.
        why_not: Why it was not taken; empty where it was.
        attempts: How often the model was asked; 0 where it never was.
        stats: What was billed; None where no answer came.
    """

    model: str
    body: bytes | None = field(repr=False)
    plan: Plan
    tokens: int
    briefing: str = field(repr=False)
    why_not: str
    attempts: int
    stats: SummaryStats | None

    def as_json(self) -> dict[str, object]:
        """What ``--json`` says of it (docs/background-summaries.md)."""
        usage = None if self.stats is None or self.stats.usage is None else asdict(self.stats.usage)
        return {
            "model": self.model,
            "prompt_version": PROMPT_VERSION,
            "accepted": not self.why_not,
            "reason": self.why_not,
            "attempts": self.attempts,
            "span_messages": 0 if self.stats is None else self.stats.span_messages,
            "usage": usage,
            "cost": None if self.stats is None else self.stats.cost,
            "briefing": self.briefing,
        }

    def show(self, console: Console) -> None:
        """Print what came of it."""
        if self.why_not:
            say(
                console,
                (f"the summary of {self.model} is not used", "bold red"),
                f": {self.why_not}",
            )
        else:
            say(console, (f"the briefing, summed up by {self.model}", "bold green"), ":")
            for line in self.briefing.splitlines():
                say(console, line, indent=2)
        say(console, _billed(self.attempts, self.stats))
        console.print()


def _billed(attempts: int, stats: SummaryStats | None) -> str:
    if not attempts:
        return "nobody was asked, so nothing was billed"
    if stats is None:
        return f"no answer came back ({attempts} attempts)"
    if stats.usage is None:
        return "the answer does not say what was billed"
    cost = "its price is not known" if stats.cost is None else f"${stats.cost:.4f}"
    used = f"{number(stats.usage.total_input)} in, {number(stats.usage.output)} out"
    return f"billed: {used}, {cost}"


def summarized(request: Request, budget: int, target: int | None, model: str) -> Summarized:
    """Ask a model for a briefing of the older part of a request, and wait for it.

    Args:
        request: The request.
        budget: Tokens that it must not pass, all of it.
        target: Tokens to come down to; None for 0.4 of the budget.
        model: The model's id with its provider before it.

    Raises:
        MissingExtraError: If ``pip install 'trimtab[summaries]'`` is due.
        TokenCountError: If the counter fails.
    """
    given_up: list[SummaryGivenUp] = []

    def note(event: Event) -> None:
        if isinstance(event, SummaryGivenUp):
            given_up.append(event)

    measure = Measure(counter_for(request.surface.model), request.surface.model)
    surface = measure.surface(request.surface)
    if surface >= budget:
        return _not_taken(model, "system prompt and tools alone take the budget")
    config = CompactionConfig(
        max_context_tokens=budget - surface,
        model=request.surface.model,
        system_prompt_tokens=0,
        target_ratio=(target or TARGET_RATIO * budget) / budget,
        headroom_turns=None,
    )
    with LlmCompaction(model_summarizer(model), on_event=note) as compaction:
        compaction.compact_now(list(request.messages), config)
        last = compaction.last
    if given_up:
        told = given_up[0]
        return _not_taken(model, told.reason, told.attempts, told.summary)
    if last is None or last.summary is None:
        return _not_taken(model, "there is too little in it to sum up")
    return _taken(request, model, last, last.outcome.tokens_after + surface)


def _not_taken(
    model: str, why: str, attempts: int = 0, stats: SummaryStats | None = None
) -> Summarized:
    return Summarized(model, None, EMPTY_PLAN, 0, "", why, attempts, stats)


def _taken(request: Request, model: str, last: Compacted, tokens: int) -> Summarized:
    """The request with the briefing, where its format allows that."""
    plan = request.format.complete(request, last.plan, headers_settable=True)
    if isinstance(plan, Forbidden):
        return _not_taken(model, plan.reason, 1, last.summary)
    body = write(request, plan)
    name = request.format.name
    broken = {problem.rule for problem in check(body, name)}
    broken -= {problem.rule for problem in check(request.body, name)}
    if broken:
        why = f"the request would break {', '.join(sorted(broken))} with it"
        return _not_taken(model, why, 1, last.summary)
    briefing = next(message.text for message in last.messages if is_briefing(message))
    return Summarized(model, body, plan, tokens, briefing, "", 1, last.summary)
