"""``trimtab replay --html FILE``: write the report, and never over anything else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from trimtab.cli.output import refuse_unfit, write
from trimtab.cli.source import STDIN
from trimtab.cli.talk import UsageError
from trimtab.replay.bench import Replayed
from trimtab.replay.report.page import Origin, Told, is_report, report

__all__ = ["origin_of", "refuse_foreign", "write_report"]

_LOOKED_AT_BYTES = 4_096


def refuse_foreign(output: str, inputs: Sequence[Path]) -> None:
    """Refuse, before any work is done, a file that could not be written, or is something else.

    Args:
        output: A path, or ``-`` for standard output.
        inputs: What is read.

    Raises:
        UsageError: If it is an input by any name, a folder, in a folder that is not there, or a
            file that holds anything but an earlier report.
    """
    for each in inputs:
        refuse_unfit(output, str(each))
    path = Path(os.path.realpath(output))
    if output == STDIN or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            held = file.read(_LOOKED_AT_BYTES)
    except OSError as error:
        raise UsageError(f"the output `{output}` cannot be read: {error.strerror}") from None
    if held and not is_report(held):
        raise UsageError(
            f"the output `{output}` is there already and is no report of trimtab",
            "name another file, or remove that one first",
        )


def origin_of(paths: Sequence[str], options: Sequence[str], skipped: int = 0) -> Origin:
    """Say what makes the report, so that it can be made again.

    Args:
        paths: What the user named; the folders that they lie in are not told.
        options: The options that change its numbers.
        skipped: Files that hold no recording.
    """
    named = [Path(path).name or path for path in paths]
    shown = " ".join(["trimtab", "replay", *named, *options, "--html", "FILE"])
    prices = _version("genai-prices")
    return Origin(
        _version("trimtab"),
        shown,
        f"genai-prices {prices}" if prices else "",
        " ".join(options),
        skipped,
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def write_report(output: str, sessions: Sequence[Replayed], origin: Origin) -> None:
    """Write the report, whole or not at all.

    Args:
        output: A path, or ``-`` for standard output.
        sessions: What was replayed.
        origin: What makes it.

    Raises:
        UsageError: If it cannot be written; a file is then as it was.
    """
    told = [Told(each.result, each.report, each.story) for each in sessions]
    write(output, report(told, origin).encode())
