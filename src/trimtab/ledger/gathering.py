"""Gather a ledger from the messages that go, and merge it with what was listed before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.boundaries import MARKER, is_briefing, is_made, split_marker
from trimtab.ledger.carried import carried_state
from trimtab.ledger.files import files_touched, merged_files
from trimtab.ledger.injections import own_words
from trimtab.ledger.ledger import Ledger
from trimtab.ledger.rendering import read_ledger
from trimtab.ledger.texts import tidy
from trimtab.ledger.tool_use import uses_in
from trimtab.ledger.user_words import Said, said_in, standing
from trimtab.ledger.values import merged_values, values_in
from trimtab.messages import Message, Text, ToolCall, ToolResult
from trimtab.policy import Policy

__all__ = ["gather", "merge"]

_DEFAULTS = Policy()
_MOST_KEPT_CHARACTERS = 4_000_000
_MOST_KEPT_EACH = 400_000


def gather(
    span: Sequence[Message],
    kept: Sequence[Message] = (),
    policy: Policy = _DEFAULTS,
    *,
    older: int | None = None,
) -> Ledger:
    """List what would be lost with some messages.

    Args:
        span: What goes, oldest first. A marker in it, with the ledger of an
            earlier compaction, is merged and not stacked.
        kept: What stays, oldest first. What still stands there is not listed.
            What the user says in the newer part of it goes before what was
            said in the span.
        policy: Says what tools do and how failures are told.
        older: How many of ``kept`` stand before the span. None takes those up
            to the first user message and ``policy.keep_first`` for them, and
            none where no more than that is kept.
    """
    earlier = _earlier(span)
    told = [said for place, text in _spoken(span) for said in said_in(text, place + 1)]
    newer_messages = kept[_head(kept, policy) if older is None else older :]
    newer = [said for place, text in _spoken(newer_messages) for said in said_in(text, place)]
    before = [*_entries(earlier, 0), *told]
    seen = _user_text(kept)
    held = standing(before, newer, seen)
    uses = uses_in(span, newer_messages, policy)
    files = merged_files(earlier.files, files_touched(uses, policy))
    still = _all_text(kept)
    return Ledger(
        rules=tuple(said.text for said in held if said.is_rule),
        words=tuple(said.text for said in held if not said.is_rule),
        files=files,
        values=merged_values(earlier.values, values_in(span, uses, still, policy), still),
        carried=carried_state(uses, earlier.carried),
    )


def merge(older: Ledger, newer: Ledger) -> Ledger:
    """Put two ledgers together: what the newer one says goes first.

    Args:
        older: What was listed first.
        newer: What was listed since.
    """
    held = standing([*_entries(older, 0), *_entries(newer, 1)])
    return Ledger(
        rules=tuple(said.text for said in held if said.is_rule),
        words=tuple(said.text for said in held if not said.is_rule),
        files=merged_files(older.files, newer.files),
        values=merged_values(older.values, newer.values),
        carried=newer.carried or older.carried,
    )


def _earlier(span: Sequence[Message]) -> Ledger:
    """What earlier compactions listed."""
    earlier = Ledger()
    for message in span:
        for marker in _markers(message):
            listed = read_ledger(marker)
            if listed:
                earlier = merge(earlier, listed) if earlier else listed
    return earlier


def _markers(message: Message) -> Iterator[str]:
    if message.role not in ("user", "assistant") or not message.has_own_words:
        return
    if message.origin == "marker" or is_briefing(message):
        yield message.text
        return
    if message.role == "assistant" or message.origin is not None:
        return
    for part in message.parts:
        if isinstance(part, Text) and MARKER in part.text and (split := split_marker(part.text)):
            yield split[1]


def _entries(ledger: Ledger, time: int) -> list[Said]:
    rules = [Said(text, time, is_rule=True) for text in ledger.rules]
    return [*rules, *(Said(text, time, is_rule=False) for text in ledger.words)]


def _spoken(messages: Sequence[Message]) -> Iterator[tuple[int, str]]:
    """The user's own words, each with the place of the message."""
    for place, message in enumerate(messages):
        if message.role != "user" or not message.has_own_words or message.origin is not None:
            continue
        if is_made(message) and not any(isinstance(part, ToolResult) for part in message.parts):
            continue
        words = own_words(_texts(message))
        if words:
            yield place, words


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, Text):
            split = split_marker(part.text) if MARKER in part.text else None
            yield part.text if split is None else split[0]


def _head(kept: Sequence[Message], policy: Policy) -> int:
    """How many messages at the front are taken for older than the span."""
    first = next(
        (
            place
            for place, message in enumerate(kept)
            if message.role == "user" and not is_made(message)
        ),
        len(kept),
    )
    leading = sum(1 for message in kept[: first + 1] if message.role in ("system", "developer"))
    head = max(first + 1, leading + policy.keep_first)
    return head if len(kept) > head else 0


def _user_text(kept: Sequence[Message]) -> str:
    said = [message.text for message in kept if message.role == "user" and message.has_own_words]
    return tidy("\n".join(text[:_MOST_KEPT_EACH] for text in said))


def _all_text(kept: Sequence[Message]) -> str:
    """All words that stay."""
    texts: list[str] = []
    room = _MOST_KEPT_CHARACTERS
    for message in kept:
        for part in message.parts:
            match part:
                case Text(text):
                    texts.append(text[:_MOST_KEPT_EACH])
                case ToolResult():
                    texts.append(part.text[:_MOST_KEPT_EACH])
                case ToolCall():
                    texts.append(part.arguments[:_MOST_KEPT_EACH])
                case _:
                    continue
            room -= len(texts[-1])
        if room <= 0:
            break
    return "\n".join(texts)
