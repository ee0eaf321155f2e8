"""Run Python as if ``bpe_openai`` were not installed: in a process of its own, with the import blocked."""

from __future__ import annotations

import os
import subprocess
import sys

__all__ = ["run_without_bpe"]

_BLOCK = "import sys; sys.modules['bpe_openai'] = None\n"
"""Python takes None for a module that cannot be found."""


def run_without_bpe(code: str, **environment: str | None) -> str:
    """Run some code and say what it printed.

    Args:
        code: It must not fail.
        environment: Variables to set; None removes one.
    """
    variables = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=_BLOCK + code,
        env={name: value for name, value in variables.items() if value is not None},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
