"""``trimtab``: the way in. Says which extra to install where the command line is missing its parts."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 is fine, 1 is not, 2 is wrong usage."""
    try:
        from trimtab.cli import app  # noqa: PLC0415 - its parts are an extra
    except ModuleNotFoundError as error:
        needed = f"the command line needs {error.name}: pip install 'trimtab[cli]'"
        sys.stderr.write(f"error: {needed}\n")
        sys.exit(2)
    sys.exit(app.run(sys.argv[1:]))
