"""A compressor that looks at the whole conversation, and a cache that still hits.

Run it: ``.venv/bin/python examples/prefix_memo.py``

The made-up compressor keeps as many characters of each old result as there are
left for it, so it makes something else of all of them on every turn.
"""

from __future__ import annotations

import json
from typing import Any

from trimtab import PrefixMemo

SALT = "me/openai-chat/share-1"  # tenant, wire format, the compressor and its version


def compress(body: dict[str, Any], room: int = 4_000) -> dict[str, Any]:
    """Share some room among all results."""
    each = room // max(1, sum(message["role"] == "tool" for message in body["messages"]))
    messages = [
        {**message, "content": message["content"][:each]} if message["role"] == "tool" else message
        for message in body["messages"]
    ]
    return {**body, "messages": messages}


def shared(before: str, now: str) -> int:
    """How many characters a cache would know of a request."""
    pairs = zip(before, now, strict=False)
    return next((at for at, (old, new) in enumerate(pairs) if old != new), len(before))


def main(turns: int = 6) -> None:
    """Talk for some turns, with the memo and without."""
    memo = PrefixMemo()
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find every caller of fit()."}]
    with_memo = without = ""
    for number in range(turns):
        call: dict[str, Any] = {"id": f"c{number}", "type": "function"}
        call["function"] = {"name": "grep", "arguments": "{}"}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        output = f"{number}: something that grep has found\n" * 100
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
        body = {"model": "gpt-4o", "messages": messages}

        compressed = compress(body)
        sent, replayed = memo.replay(SALT, body, compressed)
        # Here it is sent; what the provider refuses is not recorded.
        memo.record(SALT, body, sent)

        plain, text = json.dumps(compressed["messages"]), json.dumps(sent["messages"])
        known = f"{shared(without, plain):,} characters known without, {shared(with_memo, text):,}"
        print(f"turn {number}: {replayed} messages replayed; {known} with")
        with_memo, without = text, plain


if __name__ == "__main__":
    main()
