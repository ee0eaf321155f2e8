"""``trimtab compact``: cut a request to a budget and show what went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from rich.console import Console

from trimtab.boundaries import split_marker
from trimtab.cli.output import refuse_unfit, write
from trimtab.cli.source import STDIN, Source, open_source
from trimtab.cli.summarizing import Summarized, summarized
from trimtab.cli.tables import Bar, Cell, Column, cell, number, percent, show_table
from trimtab.cli.talk import FINE, NOT_FINE, UsageError, print_json, say, screen, working
from trimtab.ledger import read_ledger
from trimtab.messages import Message, Text, ToolCall, ToolResult
from trimtab.plan import Drop, Edit, EnvelopeEdit, Fold, Keep, Outcome, Plan, Ref, Replace, apply
from trimtab.policy import Policy, StrategyName
from trimtab.session import Rewrite, Session, Turn
from trimtab.strategies.excerpt import one_line
from trimtab.wire import Call

__all__ = ["run"]

_ENTRIES = 3
"""Entries shown of each section of the ledger; ``--json`` has all of them."""

_SECTIONS = {
    "rules": "rules, in the user's words",
    "words": "what else the user said",
    "files": "files",
    "values": "values that stand nowhere else now",
    "carried": "plan",
}

_PLACES = 3
"""Ranges of places shown of each edit; the rest are counted."""


def run(  # noqa: PLR0913 - one an option
    file: str,
    *,
    budget: int,
    target: int | None,
    strategy: StrategyName,
    output: str | None,
    request: int | None,
    format: str | None,  # noqa: A002 - the option's name
    as_json: bool,
    summarizer: str | None = None,
) -> int:
    """Compact a request.

    Returns:
        0 if it fits, else 1; then nothing is written.
    """
    _refuse_options(budget, target, strategy, output, summarizer, as_json=as_json)
    if output is not None:
        refuse_unfit(output, file)
    policy = Policy(
        limit_tokens=budget, trigger_tokens=budget, target_tokens=target, strategy=strategy
    )
    source = open_source(file, request, format)
    summary: Summarized | None = None
    session = Session(policy)
    with working("counting and cutting"):
        turn = session.read(Call(source.body), source.format)
        rewrite = session.rewrite(turn)
    if summarizer is not None and rewrite.outcome.tokens_before > budget:
        with working(f"waiting for {summarizer}"):
            summary = summarized(turn.request, budget, target, summarizer)
        if summary.body is not None:
            return _finish_summarized(source, turn, summary, budget, output, as_json=as_json)
        if not as_json:
            summary.show(screen(stderr=True))
    if rewrite.outcome.fits and output is not None:
        write(output, rewrite.body)
    if as_json:
        told = _as_json(source, policy, turn, rewrite)
        print_json(told if summary is None else {**told, "summary": summary.as_json()})
    else:
        _show(screen(stderr=output == STDIN), source, policy, turn, rewrite)
        _show_output(screen(stderr=output == STDIN), rewrite, output)
    return FINE if rewrite.outcome.fits else NOT_FINE


def _refuse_options(
    budget: int,
    target: int | None,
    strategy: StrategyName,
    output: str | None,
    summarizer: str | None,
    *,
    as_json: bool,
) -> None:
    """Refuse options that do not go together."""
    if target is not None and target > budget:
        raise UsageError(
            f"--target {target} is above --budget {budget}",
            "come down to less than the budget, or leave --target out",
        )
    if target is not None and strategy in ("none", "sliding"):
        raise UsageError(
            f"--target and --policy {strategy} do not go together",
            "the policy none changes nothing, and sliding comes down to the budget; leave --target out",
        )
    if summarizer is not None and strategy != "deterministic":
        raise UsageError(
            f"--summarizer and --policy {strategy} do not go together",
            "a summary takes the place of what rules would remove; leave --policy out",
        )
    if output == STDIN and as_json:
        raise UsageError("--json and -o - both write to standard output", "give -o a file")


def _finish_summarized(
    source: Source,
    turn: Turn,
    summary: Summarized,
    budget: int,
    output: str | None,
    *,
    as_json: bool,
) -> int:
    """Write and show a request with a briefing in it."""
    body = summary.body or b""
    if output is not None:
        write(output, body)
    if as_json:
        edits = [_edit_json(edit) for edit in (*summary.plan.edits, *summary.plan.envelope)]
        ledger = asdict(read_ledger(summary.briefing))
        told = {"tokens_after": summary.tokens, "bytes_after": len(body), "limit": budget}
        print_json(
            {**source.as_json(), **told, "edits": edits, "ledger": ledger}
            | {"summary": summary.as_json()}
        )
        return FINE
    console = screen(stderr=output == STDIN)
    source.show(console)
    _show_edits(console, summary.plan, turn.request.messages)
    summary.show(console)
    say(console, ("fits", "bold green"), f": {number(summary.tokens)} of {number(budget)} tokens")
    if output is not None:
        name = "standard output" if output == STDIN else output
        say(console, f"written to {name} ({number(len(body))} bytes)")
    return FINE


# ----------------------------------------------------------------------- JSON


def _as_json(source: Source, policy: Policy, turn: Turn, rewrite: Rewrite) -> dict[str, object]:
    outcome, messages = rewrite.outcome, turn.request.messages
    return {
        **source.as_json(),
        "outcome": outcome.status,
        "fits": outcome.fits,
        "reason": outcome.reason,
        "limit": outcome.limit_tokens,
        "target": policy.limits().target_tokens,
        "policy": policy.strategy,
        "needed": outcome.needed_tokens,
        "counter": rewrite.counter,
        "quality": rewrite.quality,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "messages_before": len(messages),
        "messages_after": len(apply(rewrite.plan, messages)),
        "bytes_before": len(source.body),
        "bytes_after": len(rewrite.body),
        "headers": rewrite.headers,
        "edits": [_edit_json(edit) for edit in (*rewrite.plan.edits, *rewrite.plan.envelope)],
        "ledger": asdict(read_ledger(_marker(rewrite.plan))),
    }


def _marker(plan: Plan) -> str:
    """The marker of a plan with its ledger; empty where there is none."""
    for edit in plan:
        text = edit.message.text if isinstance(edit, Fold) else ""
        if isinstance(edit, Replace) and isinstance(edit.new, Text):
            text = edit.new.text
        if (split := split_marker(text)) is not None:
            return split[1]
    return ""


def _edit_json(edit: Edit | EnvelopeEdit) -> dict[str, object]:
    match edit:
        case Keep():
            told = {"kind": "keep", **_ref_json(edit.ref)}
            return {**told, "reason": edit.reason, "saved_tokens": 0}
        case Drop():
            told = {"kind": "drop", **_ref_json(edit.ref)}
            return {**told, "reason": edit.reason, "saved_tokens": edit.saved_tokens}
        case Replace():
            told = {"kind": "replace", "message": edit.message, "parts": [edit.part]}
            return {**told, "reason": edit.reason, "saved_tokens": edit.saved_tokens}
        case Fold():
            return {
                "kind": "fold",
                "removed": [_ref_json(ref) for ref in edit.removed],
                "before": edit.before,
                "joins": edit.joins,
                "origin": edit.message.origin,
                "text": edit.message.text,
                "reason": edit.reason,
                "saved_tokens": edit.saved_tokens,
            }
        case EnvelopeEdit():
            header = {edit.header: edit.header_value} if edit.header else {}
            told = {"kind": "parameter", "path": list(edit.path), "headers": header}
            return {**told, "reason": edit.reason, "saved_tokens": 0}


def _ref_json(ref: Ref) -> dict[str, object]:
    return {"message": ref.message, "parts": None if ref.parts is None else list(ref.parts)}


# --------------------------------------------------------------------- report


def _show(console: Console, source: Source, policy: Policy, turn: Turn, rewrite: Rewrite) -> None:
    limits = policy.limits()
    source.show(console)
    say(
        console,
        f"limit {number(limits.limit_tokens)} tokens, target {number(limits.target_tokens)}, "
        f"counted by {rewrite.counter} ({rewrite.quality})",
    )
    console.print()
    if rewrite.plan:
        _show_edits(console, rewrite.plan, turn.request.messages)
        _show_ledger(console, rewrite.plan)
    _show_sizes(console, turn, rewrite)
    for edit in rewrite.plan.envelope:
        if edit.header:
            say(
                console, "send it with the header ", (f"{edit.header}: {edit.header_value}", "bold")
            )
    _show_verdict(console, rewrite)


def _show_ledger(console: Console, plan: Plan) -> None:
    """What the marker keeps of what went: the first entries of each section."""
    listed = asdict(read_ledger(_marker(plan)))
    if not any(listed.values()):
        return
    say(console, "the marker keeps, of what went:")
    for section, entries in listed.items():
        if not entries:
            continue
        say(console, (f"  {_SECTIONS[section]} ({number(len(entries))})", "bold"))
        for entry in entries[:_ENTRIES]:
            say(console, "    " + one_line(entry, max(20, console.width - 8)))
        if len(entries) > _ENTRIES:
            say(console, (f"    and {number(len(entries) - _ENTRIES)} more", "dim"))
    console.print()


def _show_verdict(console: Console, rewrite: Rewrite) -> None:
    outcome = rewrite.outcome
    good, bad = "bold green", "bold red"
    match outcome.status:
        case "untouched" if not rewrite.plan:
            say(console, ("untouched", good), ": it fits as it is, and goes out byte for byte")
        case "untouched" | "fits":
            say(console, ("fits", good), f": {_saved(outcome)}")
        case "unmet":
            needed = f"it would take {number(outcome.needed_tokens)} tokens"
            say(console, ("does not fit", bad), f": {outcome.reason}; {needed}")
        case "unsatisfiable":
            needed = f"it takes {number(outcome.needed_tokens)} tokens"
            say(console, ("cannot fit", bad), f": {outcome.reason}; {needed}")
            say(console, ("hint: ", "bold"), f"try --budget {outcome.needed_tokens}")


def _saved(outcome: Outcome) -> str:
    saved = outcome.tokens_before - outcome.tokens_after
    if saved <= 0:
        return f"it was mended, which takes {number(-saved)} tokens more"
    return f"{number(saved)} tokens saved ({percent(saved, outcome.tokens_before)})"


def _show_output(console: Console, rewrite: Rewrite, output: str | None) -> None:
    if output is None:
        return
    name = "standard output" if output == STDIN else output
    if rewrite.outcome.fits:
        say(console, f"written to {name} ({number(len(rewrite.body))} bytes)")
    else:
        say(console, f"nothing was written to {name}")


def _show_sizes(console: Console, turn: Turn, rewrite: Rewrite) -> None:
    outcome, messages = rewrite.outcome, turn.request.messages
    largest = max(outcome.tokens_before, outcome.limit_tokens)
    columns = (
        Column("", "name", 6),
        Column("tokens", "figure", 9),
        Column("messages", "figure"),
        Column("bytes", "figure"),
        Column("", "rest"),
    )

    def row(name: str, tokens: int, count: int, size: int) -> tuple[str, int, int, int, Bar]:
        return (name, tokens, count, size, Bar(tokens / largest))

    after = len(apply(rewrite.plan, messages))
    limit = cell(number(outcome.limit_tokens), "dim")
    rows: list[Sequence[Cell]] = [
        row("before", outcome.tokens_before, len(messages), len(turn.request.body)),
        row("after", outcome.tokens_after, after, len(rewrite.body)),
        (cell("limit", "dim"), limit, "", "", Bar(outcome.limit_tokens / largest)),
    ]
    show_table(console, columns, rows)


# ---------------------------------------------------------------------- edits


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table: edits of one kind and reason, taken together."""

    what: str
    where: str
    reason: str
    saved: int | str = ""


def _show_edits(console: Console, plan: Plan, messages: Sequence[Message]) -> None:
    columns = (Column("what"), Column("where"), Column("why"), Column("saved", "figure"))
    rows = [(row.what, row.where, row.reason, row.saved) for row in _rows(plan, messages)]
    show_table(console, columns, rows)


def _rows(plan: Plan, messages: Sequence[Message]) -> Iterator[_Row]:
    """Edits by kind; those of one reason are one line, each fold is its own."""
    for reason, replaced in _by_reason(plan, Replace):
        refs = [Ref(edit.message, (edit.part,)) for edit in replaced]
        saved = sum(edit.saved_tokens for edit in replaced)
        is_result = all(isinstance(edit.new, ToolResult) for edit in replaced)
        what = _counted(len(refs), "tool result" if is_result else "part")
        yield _Row(f"{what} shortened", _places(refs), reason, saved)
    for reason, dropped in _by_reason(plan, Drop):
        refs = [edit.ref for edit in dropped]
        saved = sum(edit.saved_tokens for edit in dropped)
        yield _Row(f"{_things(refs)} removed", _places(refs), reason, saved)
    for edit in plan:
        if isinstance(edit, Fold) and edit.removed and not _is_told(edit):
            yield _fold_row(edit, messages)
    yield from _put_in_rows(plan)
    if told := [edit for edit in plan if isinstance(edit, Fold) and _is_told(edit)]:
        yield _told_row(told)
    for reason, kept in _by_reason(plan, Keep):
        refs = [edit.ref for edit in kept]
        yield _Row(f"{_things(refs)} kept", _places(refs), reason)
    for envelope in plan.envelope:
        yield _Row("parameter set", ".".join(envelope.path), envelope.reason)


_Kind = TypeVar("_Kind", Keep, Replace, Drop)


def _by_reason(plan: Plan, kind: type[_Kind]) -> Iterable[tuple[str, list[_Kind]]]:
    groups: dict[str, list[_Kind]] = {}
    for edit in plan:
        if isinstance(edit, kind):
            groups.setdefault(edit.reason, []).append(edit)
    return groups.items()


def _put_in_rows(plan: Plan) -> Iterator[_Row]:
    """What stands for nothing that went; of one reason it is one line."""
    groups: dict[tuple[str, str], list[Fold]] = {}
    for edit in plan:
        if isinstance(edit, Fold) and not edit.removed:
            groups.setdefault((edit.message.origin or "message", edit.reason), []).append(edit)
    for (kind, reason), folds in groups.items():
        what = f"a {kind}" if len(folds) == 1 else _counted(len(folds), kind)
        places = _places(Ref(edit.before) for edit in folds)
        saved = sum(edit.saved_tokens for edit in folds)
        yield _Row(f"{what} put in", f"before {places}", reason, saved)


def _is_told(edit: Fold) -> bool:
    """Whether old turns became lines."""
    return edit.message.role == "assistant" and edit.message.origin == "marker"


def _told_row(folds: Sequence[Fold]) -> _Row:
    refs = [ref for edit in folds for ref in edit.removed]
    lines = sum(edit.message.text.count("\n") + 1 for edit in folds)
    what = f"{_things(refs)} told in {_counted(lines, 'line')}"
    saved = sum(edit.saved_tokens for edit in folds)
    return _Row(what, _places(refs), folds[0].reason, saved)


def _fold_row(edit: Fold, messages: Sequence[Message]) -> _Row:
    origin = edit.message.origin or "message"
    calls = sum(
        isinstance(part, ToolCall)
        for ref in edit.removed
        if messages[ref.message].call_ids
        for place, part in enumerate(messages[ref.message].parts)
        if ref.parts is None or place in ref.parts
    )
    with_calls = f" with {_counted(calls, 'call')}" if calls else ""
    what = f"{_things(edit.removed)} removed{with_calls}, a {origin} instead"
    return _Row(what, _places(edit.removed), edit.reason, edit.saved_tokens)


def _things(refs: Sequence[Ref]) -> str:
    """How many messages, and how many of which only parts are meant."""
    whole = sum(ref.parts is None for ref in refs)
    partly = len({ref.message for ref in refs if ref.parts is not None})
    if not partly:
        return _counted(whole, "message")
    return (
        f"{_counted(whole, 'message')} and parts of {number(partly)}"
        if whole
        else (f"parts of {_counted(partly, 'message')}")
    )


def _counted(count: int, thing: str) -> str:
    return f"{number(count)} {thing}{'' if count == 1 else 's'}"


def _places(refs: Iterable[Ref]) -> str:
    """Places of messages as ranges, such as ``3-145, 150``."""
    runs: list[list[int]] = []
    for place in sorted({ref.message for ref in refs}):
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    shown = [f"{low}-{high}" if low < high else f"{low}" for low, high in runs]
    more = f" and {len(shown) - _PLACES} more" if len(shown) > _PLACES else ""
    return ", ".join(shown[:_PLACES]) + more
