"""``trimtab inspect``: where the tokens of a request are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from trimtab.cli.source import Source, open_source
from trimtab.cli.tables import bar, number, plain_table, preview
from trimtab.cli.talk import FINE, note, out, print_json, working
from trimtab.messages import Media, Message, Opaque, Part, Thinking, ToolCall, ToolResult
from trimtab.messages import Text as TextPart
from trimtab.policy import Policy
from trimtab.session import Session
from trimtab.strategies.history import History
from trimtab.wire import Call

__all__ = ["run"]

_LARGEST = 10
_NO_LIMIT = 10**12
"""Inspecting needs no limit; a policy does."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A part of a message, weighed."""

    message: int
    part: int
    kind: str
    tool: str
    tokens: int
    words: str


def run(file: str, *, request: int | None, format: str | None, as_json: bool) -> int:  # noqa: A002 - the option's name
    """Inspect a request.

    Returns:
        0.
    """
    source = open_source(file, request, format)
    session = Session(Policy(limit_tokens=_NO_LIMIT))
    with working("counting"):
        turn = session.read(Call(source.body), source.format)
        history = session.weigh(turn)
        items = list(_items(history))
    sections = {
        "roles": _by_role(history),
        "parts": _sum((item.kind, item.tokens) for item in items),
        "tools": _sum((item.tool, item.tokens) for item in items if item.tool),
    }
    largest = sorted(items, key=lambda item: -item.tokens)[:_LARGEST]
    if as_json:
        print_json(_as_json(source, history, sections, largest))
    else:
        _show(source, history, sections, largest)
    return FINE


def _by_role(history: History) -> dict[str, int]:
    tokens = Counter({"system prompt and tools": history.fixed_tokens})
    for message, weight in zip(history.messages, history.message_tokens, strict=True):
        is_result = bool(message.result_ids) and not message.has_own_words
        tokens["tool results" if is_result else message.role] += weight
    return dict(tokens.most_common())


def _sum(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    tokens: Counter[str] = Counter()
    for name, weight in pairs:
        tokens[name] += weight
    return dict(tokens.most_common())


def _items(history: History) -> Iterable[_Item]:
    tools = history.tool_names()
    for place, message in enumerate(history.messages):
        for number_, part in enumerate(message.parts):
            kind, tool, words = _describe(part, tools, message)
            yield _Item(place, number_, kind, tool, history.measure.part(part), words)


def _describe(part: Part, tools: Mapping[str, str], message: Message) -> tuple[str, str, str]:
    match part:
        case TextPart():
            return f"{message.role} text", "", part.text
        case Thinking():
            return "thinking", "", part.text
        case ToolCall():
            return "tool calls", part.name, part.arguments
        case ToolResult():
            return "tool results", tools.get(part.call_id, "?"), part.text
        case Media():
            return part.kind, "", part.media_type or part.location
        case Opaque():
            return part.kind, "", part.json


def _protected(history: History) -> dict[str, dict[str, int]]:
    """Pieces and tokens by the reason why they are protected."""
    by_reason: dict[str, dict[str, int]] = {}
    for place, reason in history.protected.items():
        entry = by_reason.setdefault(reason, {"messages": 0, "tokens": 0})
        entry["messages"] += 1
        entry["tokens"] += history.piece_tokens(place)
    return by_reason


def _as_json(
    source: Source,
    history: History,
    sections: Mapping[str, Mapping[str, int]],
    largest: Sequence[_Item],
) -> dict[str, object]:
    return {
        "format": source.format,
        "session": source.session,
        "request": source.request,
        "requests": source.requests,
        "counter": history.measure.name,
        "quality": history.measure.quality,
        "tokens": history.total_tokens,
        "messages": len(history.messages),
        "tokens_by_role": sections["roles"],
        "tokens_by_part": sections["parts"],
        "tokens_by_tool": sections["tools"],
        "largest": [
            {
                "path": f"messages[{item.message}] part {item.part}",
                "kind": item.kind,
                "tool": item.tool,
                "tokens": item.tokens,
            }
            for item in largest
        ],
        "protected": [
            {"reason": reason, **weights} for reason, weights in _protected(history).items()
        ],
        "notes": list(source.notes),
    }


def _show(
    source: Source,
    history: History,
    sections: Mapping[str, Mapping[str, int]],
    largest: Sequence[_Item],
) -> None:
    for told in source.notes:
        note(told)
    total = history.total_tokens
    out.print(Text(source.title, style="bold"), Text(f"as {source.format}", style="dim"))
    out.print(
        f"{number(total)} tokens in {number(len(history.messages))} messages, "
        f"counted by {history.measure.name} ({history.measure.quality})\n"
    )
    for title, weights in sections.items():
        if weights:
            out.print(_weights(f"by {title.removesuffix('s')}", weights, total))
    out.print(_largest_table(largest))
    out.print(_protected_table(history))


def _weights(title: str, weights: Mapping[str, int], total: int) -> Table:
    table = plain_table(title, "tokens", "share", "")
    for name, tokens in weights.items():
        share = tokens / max(1, total)
        table.add_row(name, number(tokens), f"{share:.0%}", bar(share))
    return table


def _largest_table(items: Sequence[_Item]) -> Table:
    table = plain_table("largest", "tokens", "where", "what")
    for item in items:
        name = f"{item.kind}: {item.tool}" if item.tool else item.kind
        where = f"messages[{item.message}]"
        table.add_row(name, number(item.tokens), where, Text(preview(item.words), style="dim"))
    return table


def _protected_table(history: History) -> Table:
    table = plain_table("protected (no compaction drops it)", "tokens", "messages")
    for reason, weights in _protected(history).items():
        table.add_row(reason, number(weights["tokens"]), number(weights["messages"]))
    least = history.fixed_tokens + sum(history.piece_tokens(place) for place in history.protected)
    table.add_row(
        Text("with system prompt and tools", style="bold"), Text(number(least), "bold"), ""
    )
    return table
