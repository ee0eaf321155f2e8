"""``trimtab compact``: cut a request to a budget and show what went."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from trimtab.cli.source import STDIN, Source, open_source
from trimtab.cli.tables import bar, number, plain_table
from trimtab.cli.talk import FINE, NOT_FINE, UsageError, note, out, print_json, working
from trimtab.messages import Message, ToolCall
from trimtab.plan import Drop, Edit, EnvelopeEdit, Fold, Keep, Plan, Ref, Replace, apply
from trimtab.policy import Policy
from trimtab.session import Rewrite, Session, Turn
from trimtab.wire import Call

__all__ = ["run"]


def run(
    file: str,
    *,
    budget: int,
    target: int | None,
    output: str | None,
    request: int | None,
    format: str | None,  # noqa: A002 - the option's name
    as_json: bool,
) -> int:
    """Compact a request.

    Returns:
        0 if it fits, else 1; then nothing is written.
    """
    policy = Policy(limit_tokens=budget, target_tokens=target)
    _refuse_overwriting(file, output)
    if output == STDIN and as_json:
        raise UsageError("--json and -o - both write to standard output; give -o a file")
    source = open_source(file, request, format)
    session = Session(policy)
    with working("counting and cutting"):
        turn = session.read(Call(source.body), source.format)
        rewrite = session.rewrite(turn)
    if rewrite.outcome.fits and output is not None:
        _write(output, rewrite.body)
    if as_json:
        print_json(_as_json(source, policy, turn, rewrite))
    elif output != STDIN:
        _show(source, policy, turn, rewrite, output)
    elif not rewrite.outcome.fits:
        note(_verdict(rewrite))
    return FINE if rewrite.outcome.fits else NOT_FINE


def _refuse_overwriting(file: str, output: str | None) -> None:
    if output in (None, STDIN) or file == STDIN:
        return
    if Path(str(output)).exists() and Path(str(output)).samefile(file):
        raise UsageError(f"{output} is the input, which is never changed; name another file")


def _write(output: str, body: bytes) -> None:
    if output == STDIN:
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    try:
        Path(output).write_bytes(body)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None


# ----------------------------------------------------------------------- JSON


def _as_json(source: Source, policy: Policy, turn: Turn, rewrite: Rewrite) -> dict[str, object]:
    outcome, limits = rewrite.outcome, policy.limits()
    messages = turn.request.messages
    return {
        "format": source.format,
        "session": source.session,
        "request": source.request,
        "requests": source.requests,
        "outcome": outcome.status,
        "reason": outcome.reason,
        "limit": outcome.limit_tokens,
        "target": limits.target_tokens,
        "needed": outcome.needed_tokens,
        "counter": rewrite.counter,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "messages_before": len(messages),
        "messages_after": len(apply(rewrite.plan, messages)),
        "bytes_before": len(source.body),
        "bytes_after": len(rewrite.body),
        "headers": rewrite.headers,
        "edits": [_edit_json(edit) for edit in (*rewrite.plan.edits, *rewrite.plan.envelope)],
        "notes": list(source.notes),
    }


def _edit_json(edit: Edit | EnvelopeEdit) -> dict[str, object]:
    match edit:
        case Keep():
            return {"kind": "keep", **_ref_json([edit.ref]), "reason": edit.reason}
        case Drop():
            told = _ref_json([edit.ref])
            return {"kind": "drop", **told, "reason": edit.reason, "saved": edit.saved_tokens}
        case Replace():
            told = {"messages": [edit.message], "parts": [edit.part]}
            return {"kind": "replace", **told, "reason": edit.reason, "saved": edit.saved_tokens}
        case Fold():
            return {
                "kind": "fold",
                **_ref_json(edit.removed),
                "reason": edit.reason,
                "saved": edit.saved_tokens,
                "made": edit.message.origin,
                "before": edit.before,
                "joins": edit.joins,
                "text": edit.message.text,
            }
        case EnvelopeEdit():
            header = {edit.header: edit.header_value} if edit.header else {}
            told = {"path": ".".join(edit.path), "headers": header}
            return {"kind": "parameter", **told, "reason": edit.reason, "saved": 0}


def _ref_json(refs: Sequence[Ref]) -> dict[str, object]:
    parts = [list(ref.parts) for ref in refs if ref.parts is not None]
    told: dict[str, object] = {"messages": [ref.message for ref in refs]}
    return {**told, "parts": parts[0]} if len(refs) == 1 and parts else told


# ---------------------------------------------------------------------- table


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the table: edits of one kind and reason, taken together."""

    what: str
    where: str
    reason: str
    saved: int


def _show(source: Source, policy: Policy, turn: Turn, rewrite: Rewrite, output: str | None) -> None:
    for told in source.notes:
        note(told)
    outcome, limits = rewrite.outcome, policy.limits()
    out.print(Text(source.title, style="bold"), Text(f"as {source.format}", style="dim"))
    out.print(
        f"limit {number(outcome.limit_tokens)}, target {number(limits.target_tokens)}, "
        f"counted by {rewrite.counter}\n"
    )
    if rewrite.plan:
        out.print(_table(_rows(rewrite.plan, turn.request.messages)))
    out.print(_sizes(turn, rewrite))
    for edit in rewrite.plan.envelope:
        if edit.header:
            out.print(f"send it with the header [bold]{edit.header}: {edit.header_value}[/]")
    style = "bold green" if outcome.fits else "bold red"
    out.print(Text(_verdict(rewrite), style=style))
    if outcome.fits and output is not None:
        out.print(f"written to {output} ({number(len(rewrite.body))} bytes)")
    elif output is not None:
        out.print(f"nothing was written to {output}")


def _verdict(rewrite: Rewrite) -> str:
    outcome = rewrite.outcome
    match outcome.status:
        case "untouched":
            return "untouched: it fits as it is, and goes out byte for byte"
        case "fits":
            saved = outcome.tokens_before - outcome.tokens_after
            return f"fits: {number(saved)} tokens saved ({saved / outcome.tokens_before:.0%})"
        case "unmet":
            return f"unmet: {outcome.reason}; it would take {number(outcome.needed_tokens)} tokens"
        case "unsatisfiable":
            return (
                f"cannot fit: {outcome.reason}; at least {number(outcome.needed_tokens)} tokens are "
                f"needed, {number(outcome.available_tokens)} are available. "
                f"Try --budget {outcome.needed_tokens}"
            )


def _table(rows: Iterable[_Row]) -> Table:
    table = plain_table("what", "where", "why", "saved")
    for row in rows:
        saved = number(row.saved) if row.saved else ""
        table.add_row(row.what, row.where, row.reason, saved)
    return table


def _sizes(turn: Turn, rewrite: Rewrite) -> Table:
    outcome, messages = rewrite.outcome, turn.request.messages
    table = plain_table("", "tokens", "messages", "bytes", "")
    largest = max(outcome.tokens_before, outcome.limit_tokens)
    for name, tokens, count, size in (
        ("before", outcome.tokens_before, len(messages), len(turn.request.body)),
        ("after", outcome.tokens_after, len(apply(rewrite.plan, messages)), len(rewrite.body)),
    ):
        table.add_row(name, number(tokens), number(count), number(size), bar(tokens / largest))
    limit = Text(number(outcome.limit_tokens), style="dim")
    table.add_row(Text("limit", "dim"), limit, "", "", bar(outcome.limit_tokens / largest))
    return table


def _rows(plan: Plan, messages: Sequence[Message]) -> Iterable[_Row]:
    """Edits in the order of the conversation; equal ones in a row are one line."""
    keeps = [edit for edit in plan if isinstance(edit, Keep)]
    replaced = [edit for edit in plan if isinstance(edit, Replace)]
    for reason in dict.fromkeys(edit.reason for edit in replaced):
        same = [edit for edit in replaced if edit.reason == reason]
        places = [edit.message for edit in same]
        saved = sum(edit.saved_tokens for edit in same)
        yield _Row(f"{len(same)} tool results shortened", _places(places), reason, saved)
    dropped = [edit for edit in plan if isinstance(edit, Drop)]
    for reason in dict.fromkeys(edit.reason for edit in dropped):
        same_drops = [edit for edit in dropped if edit.reason == reason]
        places = [edit.ref.message for edit in same_drops]
        what = "messages" if all(edit.ref.parts is None for edit in same_drops) else "parts"
        saved = sum(edit.saved_tokens for edit in same_drops)
        yield _Row(f"{len(same_drops)} {what} removed", _places(places), reason, saved)
    for edit in plan:
        if isinstance(edit, Fold):
            yield _fold_row(edit, messages)
    for reason in dict.fromkeys(keep.reason for keep in keeps):
        places = [keep.ref.message for keep in keeps if keep.reason == reason]
        yield _Row(f"{len(places)} kept in the middle", _places(places), reason, 0)
    for envelope in plan.envelope:
        yield _Row("a parameter set", ".".join(envelope.path), envelope.reason, 0)


def _fold_row(edit: Fold, messages: Sequence[Message]) -> _Row:
    if not edit.removed:
        return _Row("a message put in", f"before {edit.before}", edit.reason, edit.saved_tokens)
    places = [ref.message for ref in edit.removed]
    calls = sum(
        isinstance(part, ToolCall)
        for place in places
        if messages[place].call_ids
        for part in messages[place].parts
    )
    what = f"{len(places)} messages removed"
    if calls:
        what += f" ({calls} tool calls with their results)"
    return _Row(f"{what}, one marker instead", _places(places), edit.reason, edit.saved_tokens)


def _places(places: Sequence[int]) -> str:
    """Places as ranges, such as ``3-145, 150``."""
    runs: list[list[int]] = []
    for place in sorted(set(places)):
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    shown = [f"{low}-{high}" if low < high else f"{low}" for low, high in runs]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
