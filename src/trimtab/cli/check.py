"""``trimtab check``: which rules a request breaks."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from rich.console import Console

from trimtab.cli.source import Source, open_source
from trimtab.cli.talk import FINE, NOT_FINE, UsageError, print_json, readable, say, screen, working
from trimtab.wire import FORMATS, Problem, Rule, check, format_named

__all__ = ["explain", "run"]

_SHOWN = 5
"""Places shown of each rule; the rest are counted."""


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


def explain(rule_id: str) -> int:
    """Say what a rule demands, what the provider says where it is broken, and how to mend it.

    Returns:
        0.

    Raises:
        UsageError: If no format has a rule of that id.
    """
    named = {
        (wire_format.name, rule.id): rule
        for wire_format in FORMATS
        for rule in wire_format.rules.values()
        if rule.id.lower() == rule_id.lower()
    }
    if not named:
        ids = [rule.id for wire_format in FORMATS for rule in wire_format.rules.values()]
        near = get_close_matches(rule_id.upper(), ids, n=5, cutoff=0.4)
        raise UsageError(
            f"there is no rule {rule_id!r}",
            f"near it: {', '.join(near)}" if near else "docs/rules.md lists them all",
        )
    console = screen()
    for (format_name, _), rule in named.items():
        _explain(console, format_name, rule)
    return FINE


def _explain(console: Console, format_name: str, rule: Rule) -> None:
    say(console, (rule.id, "bold yellow"), f"  {rule.demands}")
    say(console, ("format: ", "dim"), format_name, indent=4)
    if rule.refusal:
        say(console, ("refused with: ", "dim"), readable(rule.refusal), indent=4)
    say(console, ("to mend: ", "dim"), readable(rule.mend), indent=4)
    if rule.needs:
        needed = " and ".join(rule.needs)
        say(console, ("not shown by: ", "dim"), f"a recording without {needed}", indent=4)


def _as_json(source: Source, problems: Sequence[Problem], *, valid: bool) -> dict[str, object]:
    rules = format_named(source.format).rules
    return {
        **source.as_json(),
        "valid": valid,
        "problems": [
            {
                "rule": problem.rule,
                "path": problem.path,
                "message": problem.message,
                "demands": rules[problem.rule].demands,
                "refusal": problem.refusal,
                "mend": rules[problem.rule].mend,
                "unrecorded": problem.is_unrecorded,
            }
            for problem in problems
        ],
    }


def _show(source: Source, problems: Sequence[Problem], broken: Sequence[Problem]) -> None:
    console = screen()
    source.show(console)
    rules = format_named(source.format).rules
    for rule_id in dict.fromkeys(problem.rule for problem in problems):
        _show_rule(
            console, rules[rule_id], [problem for problem in problems if problem.rule == rule_id]
        )
    unknown = "" if len(broken) == len(problems) else ", as far as the recording shows"
    if broken:
        count = f"{len(broken)} {'problem' if len(broken) == 1 else 'problems'}"
        say(console, ("not valid", "bold red"), f": {count}{unknown}")
    else:
        rules_kept = "it breaks none of the rules that a request can show"
        say(console, ("valid", "bold green"), f": {rules_kept}{unknown}")


def _show_rule(console: Console, rule: Rule, problems: Sequence[Problem]) -> None:
    """Print a rule, where it is broken, what the provider says to it, and how to mend it."""
    is_unrecorded = problems[0].is_unrecorded
    say(console, (rule.id, "bold yellow" if is_unrecorded else "bold red"), f"  {rule.demands}")
    for problem in problems[:_SHOWN]:
        where = f"{problem.path}: " if problem.path else ""
        say(console, readable(f"{where}{problem.message}"), indent=4)
    if len(problems) > _SHOWN:
        say(console, f"and {len(problems) - _SHOWN} more; --json lists all", indent=4)
    if is_unrecorded:
        needed = " and ".join(rule.needs)
        say(console, ("not known: ", "dim"), f"the recording does not hold {needed}", indent=4)
    else:
        if rule.refusal:
            say(console, ("refused with: ", "dim"), readable(rule.refusal), indent=4)
        say(console, ("to mend: ", "dim"), readable(rule.mend), indent=4)
    console.print()
