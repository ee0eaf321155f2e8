"""A loop that gives its tools only as much room as the context has left.

Run it: ``.venv/bin/python examples/tool_output_budget.py``

The sizes are in bytes alone, so no tokenizer is needed: what the provider
billed says how many bytes a token has.
"""

from __future__ import annotations

from trimtab import ContextTracker, Message, ToolCall, message_bytes

BYTES_PER_TOKEN = 3  # of the made-up provider below
LEAST_BYTES = 1_000  # a result is never cut below this


def bill(messages: list[Message]) -> int:
    """What the provider says that a request came to; with an SDK, the usage of its answer."""
    return 2_500 + message_bytes(messages) // BYTES_PER_TOKEN


def run_tool(step: int, budget: int) -> str:
    """What a tool answers, cut to its budget with a word about it."""
    output = "\n".join(f"{step}:{line}: something that grep has found" for line in range(2_000))
    if len(output) <= budget:
        return output
    note = f"\n[cut at {budget:,} of {len(output):,} bytes; ask for a narrower search]"
    return output[: budget - len(note)] + note


def main(limit_tokens: int = 30_000, calls: int = 3) -> None:
    """Run some calls a turn, and share the room that is left among them."""
    tracker = ContextTracker()
    messages = [Message.user("Find every caller of fit().")]
    for step in range(20):
        tracker.observe(bill(messages), message_bytes(messages))
        ids = [f"call_{step}_{number}" for number in range(calls)]
        messages.append(Message.assistant(*(ToolCall(each, "grep", "{}") for each in ids)))
        room = tracker.affordable_output_bytes(limit_tokens, message_bytes(messages)) or 0
        budget = room // (2 * calls)  # half of it, so that there is a next turn
        if budget < LEAST_BYTES:
            print(f"turn {step}: room for {room:,} bytes is too little for {calls} calls")
            return
        messages += [Message.tool(each, run_tool(step, budget)) for each in ids]
        print(f"turn {step}: {calls} calls of at most {budget:,} bytes each")


if __name__ == "__main__":
    main()
