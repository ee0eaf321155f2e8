"""A chat with a memory of its own: it keeps everything and gives back what fits.

Run it: ``.venv/bin/python examples/window_memory.py``

It needs no key: :class:`~trimtab.testing.ScriptedModel` stands where a model
would be, for the answers and for the summary.
"""

from __future__ import annotations

import asyncio

from trimtab import Message, SummarizeRounds, WindowMemory
from trimtab.testing import ScriptedModel
from trimtab.wire import build

BUDGET_TOKENS = 600


async def chat(memory: WindowMemory, turns: int) -> None:
    """Talk for some turns; record what is said, send what fits."""
    await memory.record_protected(Message.user("Rules: never touch production. Answer in French."))
    await memory.record(Message.assistant("Entendu."))
    start = ""
    for turn in range(turns):
        await memory.record(Message.user(f"Question {turn}: " + "why is the build red? " * 4))
        shown = await memory.context()
        body = build(shown, "openai-chat")  # what would be sent
        await memory.record(Message.assistant(f"Answer {turn}: " + "a test fails on Windows. " * 4))
        if start not in ("", shown[2].text):
            outcome = memory.outcome
            print(
                f"turn {turn}: {len(shown)} messages, {len(body)} bytes, "
                f"{outcome.tokens_after} of {outcome.tokens_before} tokens"
            )
        start = shown[2].text


async def main() -> None:
    """Drop the oldest rounds; then, in another memory, sum them up."""
    print("Dropping; every line is a turn on which the window moved:")
    dropping = WindowMemory(BUDGET_TOKENS)
    await chat(dropping, 40)
    dropping.set_max_tokens(None)
    print(f"With a larger budget all {len(await dropping.context())} messages are back.")

    print("Summing up:")
    model = ScriptedModel(["The build is red because a test fails on Windows."])
    summing = WindowMemory(BUDGET_TOKENS, strategy=SummarizeRounds(model, max_summary_tokens=100))
    await chat(summing, 40)
    print(f"The model was asked {model.asked} times; one summary stands behind the rules.")


if __name__ == "__main__":
    asyncio.run(main())
