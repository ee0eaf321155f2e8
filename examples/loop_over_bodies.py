"""Many requests of one conversation as raw bodies: a session, and the state that it hands on.

Run it: ``.venv/bin/python examples/loop_over_bodies.py demo/session.json 20000``

The session remembers nothing; the state does. It is small, it has a version,
and ``to_bytes`` and ``from_bytes`` let it outlive the process. ``Engine`` does
all this, and finds the state by the history itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from trimtab import Call, Policy, PrefixBroken, Session, State
from trimtab.wire import read


def requests(body: bytes) -> Iterator[bytes]:
    """The requests that led to this one: each up to the next answer of the model."""
    whole = read(body)
    end = whole.spans[-1][1]
    for place, message in enumerate(whole.messages):
        if place and message.role == "assistant":
            yield body[: whole.spans[place - 1][1]] + body[end:]
    yield body


def main(path: str, limit_tokens: int) -> None:
    """Send them all, and say when what was sent before was not sent again."""
    session = Session(Policy(limit_tokens=limit_tokens))
    state: State | None = None
    came = sent = 0
    for number, body in enumerate(requests(Path(path).read_bytes()), start=1):
        rewrite = session.rewrite(session.read(Call(body)), state)
        # Send rewrite.body with rewrite.headers here. A refusal: session.refused(rewrite.ticket, ...)
        state = session.forwarded(rewrite.ticket)
        state = State.from_bytes(state.to_bytes(), state.forms())  # as if it had been stored

        came += rewrite.outcome.tokens_before
        sent += rewrite.outcome.tokens_after
        for event in rewrite.events:
            if isinstance(event, PrefixBroken):
                outcome = rewrite.outcome
                print(
                    f"request {number}: {event.cause}, "
                    f"{outcome.tokens_before:,} tokens came, {outcome.tokens_after:,} go out"
                )
    print(f"{number} requests: {came:,} tokens came, {sent:,} were sent")


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else "demo/session.json",
        int(sys.argv[2]) if len(sys.argv) > 2 else 20_000,
    )
