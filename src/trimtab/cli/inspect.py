"""``trimtab inspect``: where the tokens of a request are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from trimtab.cli.source import Source, open_source
from trimtab.cli.tables import Bar, Cell, Column, cell, number, percent, preview, show_table
from trimtab.cli.talk import FINE, print_json, say, screen, working
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
        history = session.weigh(session.read(Call(source.body), source.format))
        items = list(_items(history))
    sections = {
        "role": _by_role(history),
        "part": _sum((item.kind, item.tokens) for item in items),
        "tool": _sum((item.tool, item.tokens) for item in items if item.tool),
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
            return "thinking", "", part.text or "(encrypted)"
        case ToolCall():
            return "tool calls", part.name, part.arguments
        case ToolResult():
            return "tool results", tools.get(part.call_id, "(no call)"), part.text
        case Media():
            return part.kind, "", part.media_type or part.location
        case Opaque():
            return part.kind, "", part.json


def _protected(history: History) -> list[tuple[str, int, int]]:
    """Reason, tokens and pieces of what is protected."""
    places: dict[str, list[int]] = {}
    for place, reason in history.protected.items():
        places.setdefault(reason, []).append(history.piece_tokens(place))
    return [(reason, sum(tokens), len(tokens)) for reason, tokens in places.items()]


def _least_tokens(history: History) -> int:
    """What no compaction that drops whole messages goes below."""
    return history.fixed_tokens + sum(tokens for _, tokens, _ in _protected(history))


# ----------------------------------------------------------------------- JSON


def _as_json(
    source: Source,
    history: History,
    sections: Mapping[str, Mapping[str, int]],
    largest: Sequence[_Item],
) -> dict[str, object]:
    return {
        **source.as_json(),
        "counter": history.measure.name,
        "quality": history.measure.quality,
        "tokens": history.total_tokens,
        "messages": len(history.messages),
        "tokens_by_role": sections["role"],
        "tokens_by_part": sections["part"],
        "tokens_by_tool": sections["tool"],
        "largest": [
            {
                "message": item.message,
                "part": item.part,
                "kind": item.kind,
                "tool": item.tool,
                "tokens": item.tokens,
            }
            for item in largest
        ],
        "protected": [
            {"reason": reason, "tokens": tokens, "messages": messages}
            for reason, tokens, messages in _protected(history)
        ],
        "protected_tokens": _least_tokens(history),
    }


# --------------------------------------------------------------------- tables


def _show(
    source: Source,
    history: History,
    sections: Mapping[str, Mapping[str, int]],
    largest: Sequence[_Item],
) -> None:
    console = screen()
    source.show(console)
    total, messages = history.total_tokens, len(history.messages)
    say(
        console,
        (f"{number(total)} tokens", "bold"),
        f" in {number(messages)} {'message' if messages == 1 else 'messages'}, "
        f"counted by {history.measure.name} ({history.measure.quality})",
    )
    console.print()
    width = min(44, max(len(name) for weights in sections.values() for name in weights))
    for title, weights in sections.items():
        if weights:
            _show_weights(console, Column(f"by {title}", "name", width), weights, total)
    if largest:
        _show_largest(console, largest)
    _show_protected(console, history)


def _show_weights(console: Console, first: Column, weights: Mapping[str, int], total: int) -> None:
    columns = (first, Column("tokens", "figure", 9), Column("share", "figure"), Column("", "rest"))
    rows = [
        (name, tokens, percent(tokens, total), Bar(tokens / total))
        for name, tokens in weights.items()
    ]
    show_table(console, columns, rows)


def _show_largest(console: Console, items: Sequence[_Item]) -> None:
    columns = (
        Column("largest", "name", most=32),
        Column("tokens", "figure"),
        Column("where", "name"),
        Column("begins with", "rest"),
    )
    rows = [
        (
            f"{item.kind}: {item.tool}" if item.tool else item.kind,
            item.tokens,
            f"messages[{item.message}]",
            preview(item.words),
        )
        for item in items
    ]
    show_table(console, columns, rows)


def _show_protected(console: Console, history: History) -> None:
    columns = (
        Column("protected: no compaction drops it", "name"),
        Column("tokens", "figure"),
        Column("messages", "figure"),
    )
    least = cell("in all, with system prompt and tools", "bold")
    total = cell(number(_least_tokens(history)), "bold")
    rows: list[Sequence[Cell]] = [*_protected(history), (least, total, "")]
    show_table(console, columns, rows)
