"""An agent loop whose history is compacted and written back.

Run it: ``.venv/bin/python examples/compacted_loop.py``
"""

from __future__ import annotations

import json

from trimtab import CompactionConfig, DefaultCompaction, Message, ToolCall

RULE = "Never edit generated files. Fix the slow queries."


def step(number: int) -> list[Message]:
    """What one turn of an agent adds: a call, its result, and now and then a word of the user's."""
    call = ToolCall(f"call_{number}", "bash", json.dumps({"command": f"explain query {number}"}))
    rows = "\n".join(f"query {number}: scan of table {row}" for row in range(120))
    said = [Message.user(f"Now part {number}.")] if number % 8 == 0 else []
    return [*said, Message.assistant("I look at the plan.", call), Message.tool(call.id, rows)]


def main() -> None:
    """Run 60 turns in 8,000 tokens, and tell of each compaction."""
    config = CompactionConfig(max_context_tokens=8_000, system_prompt_tokens=0)
    strategy = DefaultCompaction()
    messages = [Message.user(RULE)]
    for number in range(60):
        messages = strategy.compact([*messages, *step(number)], config)
        if strategy.last is not None and strategy.last.plan:
            outcome = strategy.last.outcome
            reasons = sorted({edit.reason for edit in strategy.last.plan})
            print(
                f"turn {number}: {outcome.tokens_before} to {outcome.tokens_after} tokens, "
                f"{len(messages)} messages left ({'; '.join(reasons)})"
            )
    assert messages[0].text.startswith(RULE)
    print("The first words are still there:", messages[0].text.splitlines()[0])


if __name__ == "__main__":
    main()
