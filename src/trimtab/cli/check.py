"""``trimtab check``: which rules a request breaks."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from trimtab.cli.source import Source, open_source
from trimtab.cli.talk import FINE, NOT_FINE, note, out, print_json, working
from trimtab.wire import Problem, check, format_named

__all__ = ["run"]

_SHOWN = 20
"""Problems shown one by one; the rest are counted."""


def run(file: str, *, request: int | None, format: str | None, as_json: bool) -> int:  # noqa: A002 - the option's name
    """Check a request.

    Returns:
        0 if it breaks no rule, else 1.
    """
    source = open_source(file, request, format)
    with working("checking"):
        problems = check(source.body, source.format, unrecorded=source.unrecorded)
    broken = [problem for problem in problems if not problem.is_unrecorded]
    if as_json:
        print_json(_as_json(source, problems, valid=not broken))
    else:
        _show(source, problems, broken)
    return NOT_FINE if broken else FINE


def _as_json(source: Source, problems: Sequence[Problem], *, valid: bool) -> dict[str, object]:
    return {
        "format": source.format,
        "valid": valid,
        "session": source.session,
        "request": source.request,
        "requests": source.requests,
        "problems": [
            {
                "rule": problem.rule,
                "path": problem.path,
                "message": problem.message,
                "refusal": problem.refusal,
                "unrecorded": problem.is_unrecorded,
            }
            for problem in problems
        ],
        "notes": list(source.notes),
    }


def _show(source: Source, problems: Sequence[Problem], broken: Sequence[Problem]) -> None:
    for told in source.notes:
        note(told)
    out.print(Text(source.title, style="bold"), Text(f"as {source.format}", style="dim"))
    rules = format_named(source.format).rules
    for problem in problems[:_SHOWN]:
        style = "yellow" if problem.is_unrecorded else "bold red"
        where = problem.path or "body"
        out.print(Text.assemble((f"  {problem.rule:<8}", style), f"{where}: {problem.message}"))
        if problem.is_unrecorded:
            out.print(Text("          the recording does not hold what would show it", style="dim"))
            continue
        if problem.refusal:
            out.print(Text(f"          the provider says: {problem.refusal}", style="dim"))
        out.print(Text(f"          {rules[problem.rule].mend}", style="dim"))
    if len(problems) > _SHOWN:
        out.print(f"  and {len(problems) - _SHOWN} more (--json lists all)")
    if broken:
        count = len(broken)
        out.print(f"[bold red]not valid[/]: {count} {'problem' if count == 1 else 'problems'}")
    else:
        out.print("[bold green]valid[/]: it breaks none of the rules that a request can show")
