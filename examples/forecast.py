"""A loop that asks before each request how large it will be, and says how long its context lasts.

Run it: ``.venv/bin/python examples/forecast.py``

It needs no key: :func:`ask` stands where the provider's answer would come
from, with what it billed.
"""

from __future__ import annotations

from trimtab import (
    ContextTracker,
    Message,
    ToolCall,
    Usage,
    counter_for,
    message_bytes,
    surface_fingerprint,
)
from trimtab.tokens import Measure

MODEL = "gpt-5.2"
SYSTEM = "You are a careful agent."
SURFACE_TOKENS = 3_000  # what system prompt and tools weigh: nobody has to know it


def ask(messages: list[Message], step: int) -> tuple[Message, Usage]:
    """What the model answers, and what that was billed."""
    call = ToolCall(f"call_{step}", "read", f'{{"path":"src/part_{step}.py"}}')
    answer = Message.assistant(f"Reading part {step}.", call)
    billed = SURFACE_TOKENS + sum(map(MEASURE.message, messages))
    return answer, Usage(fresh=billed, output=MEASURE.message(answer))


MEASURE = Measure(counter_for(MODEL), MODEL)


def main(limit_tokens: int = 12_000) -> None:
    """Run until the next request would reach the limit."""
    tracker = ContextTracker()
    messages = [Message.user("Read the whole project, part by part.")]
    for step in range(1_000):
        tracker.carry_into(surface_fingerprint(MODEL, SYSTEM, ["read"]))
        size, counted = message_bytes(messages), sum(map(MEASURE.message, messages))
        if tracker.over(limit_tokens, size, counted=counted):
            print(f"step {step}: the next request would come to ", end="")
            print(f"{tracker.predict(size, counted=counted):,} tokens: compact it first")
            return
        answer, usage = ask(messages, step)
        tracker.observe(usage.total_input, size, output_tokens=usage.output, counted=counted)
        tracker.answered(message_bytes([answer]), counted=MEASURE.message(answer))
        result = "\n".join(f"line {line} of part {step}" for line in range(60))
        messages += [answer, Message.tool(f"call_{step}", result)]
        print(f"step {step}: {tracker.forecast(limit_tokens, size, counted=counted)}")


if __name__ == "__main__":
    main()
