"""Cut one request to a window before sending it.

Run it: ``.venv/bin/python examples/fit_one_request.py demo/session.json 20000``
"""

from __future__ import annotations

import sys
from pathlib import Path

from trimtab import Call, Policy, Session


def main(path: str, limit_tokens: int) -> None:
    """Read a request body, make it fit, and say what was done."""
    session = Session(Policy(limit_tokens=limit_tokens))
    turn = session.read(Call(Path(path).read_bytes()))

    rewrite = session.rewrite(turn)

    print(f"{rewrite.outcome.status}: {rewrite.outcome.tokens_before:,} tokens came in,")
    print(f"{rewrite.outcome.tokens_after:,} go out, {len(rewrite.body):,} bytes")
    for edit in rewrite.plan:
        print(f"- {type(edit).__name__.lower()}: {edit.reason}")
    # Send rewrite.body with rewrite.headers; what no edit names has its original bytes.


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else "demo/session.json",
        int(sys.argv[2]) if len(sys.argv) > 2 else 20_000,
    )
