"""An agent loop over the dicts of OpenAI's SDK: the history grows, a view of it is sent.

Run it: ``.venv/bin/python examples/loop_over_dicts.py``

It needs no key: :func:`ask` stands where the SDK's call would be, and answers
by rote.
"""

from __future__ import annotations

from typing import Any

from trimtab import Context, Policy, PrefixBroken, View

MODEL = "gpt-5.2"
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]


def ask(view: View, step: int) -> dict[str, Any]:
    """What the model answers.

    With the SDK::

        answer = client.chat.completions.create(
            model=MODEL, messages=view.messages, tools=view.tools
        )
        return answer.choices[0].message.model_dump(exclude_unset=True)
    """
    if not view.messages:
        raise ValueError("nothing to answer")
    function = {"name": "read", "arguments": f'{{"path": "src/part_{step}.py"}}'}
    call = {"id": f"call_{step}", "type": "function", "function": function}
    return {"role": "assistant", "content": f"Reading part {step}.", "tool_calls": [call]}


def run_tool(call: dict[str, Any]) -> dict[str, Any]:
    """What the tool answers."""
    text = "\n".join(f"line {number} of what {call['id']} read" for number in range(80))
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


def main(steps: int = 60, limit_tokens: int = 8_000) -> None:
    """Run the loop, and say when what was sent before was not sent again."""
    context = Context(MODEL, Policy(limit_tokens=limit_tokens))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a careful agent."},
        {"role": "user", "content": "Read the whole project, part by part."},
    ]
    for step in range(steps):
        view = context.fit(messages, tools=TOOLS)
        answer = ask(view, step)
        context.observe(view)  # with the SDK: context.observe(view, answer.usage)
        messages += [answer, *(run_tool(call) for call in answer["tool_calls"])]

        breaks = [event.cause for event in view.events if isinstance(event, PrefixBroken)]
        if breaks or step == steps - 1:
            print(
                f"step {step}: {len(messages)} messages, {len(view.messages)} sent, "
                f"{view.outcome.tokens_after:,} of {view.outcome.tokens_before:,} tokens "
                f"({', '.join(breaks) or 'extends the request before'})"
            )


if __name__ == "__main__":
    main()
