"""``trimtab``: the way in. Says which extra to install where the command line is missing its parts."""

from __future__ import annotations

import io
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit: 0 is fine, 1 is not, 2 is wrong usage."""
    _mend_streams()
    try:
        from trimtab.cli import app  # noqa: PLC0415 - its parts are an extra
    except ModuleNotFoundError as error:
        sys.stderr.write(f"error: the command line needs {error.name}\n")
        sys.stderr.write("hint: pip install 'trimtab[cli]'\n")
        sys.exit(2)
    sys.exit(app.run(sys.argv[1:]))


def _mend_streams() -> None:
    """Let output go nowhere where its stream is closed, and lose no line to a narrow encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until exit
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
