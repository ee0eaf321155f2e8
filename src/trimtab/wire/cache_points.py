"""Set cache markers where a client sets none, so that each turn reads what the last one wrote.

::

    behind tools and system     what other conversations share
    the stable boundary         up to the newest text that a compaction put in
    the end of the last turn    where its request ended: the prefix that is surely cached
    the end                     what the next turn will read

Anthropic looks for what was cached at a marker and in the 20 blocks up to it.
A turn with parallel calls adds more, so the place where the last request ended
gets a marker of its own and nothing depends on that look-back. OpenAI's models
from 5.6 on look only where something is marked, and mark the end themselves.

The laws of this file: what a client marked itself is neither changed nor added
to; a marker changes nothing else, so that its message keeps its canonical form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

from trimtab.messages import Message
from trimtab.plan import Plan
from trimtab.wire.format import CacheLife, Format, MarkerRules
from trimtab.wire.json_spans import (
    Span,
    Splice,
    array_spans,
    dump,
    insert_element,
    load_text,
    object_spans,
    splice,
)
from trimtab.wire.markers import count_markers
from trimtab.wire.request import Request

__all__ = ["CacheHints", "conversation_key", "view_counts", "with_cache_markers"]

_MOST_STEPS = 20
"""Messages that are looked at for one that can be marked; nearly always the first can."""

_KEY_CHARACTERS = 32

_TEXT = b'"text"'

_LEADING = ("system", "developer")
"""Who speaks before the conversation begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHints:
    """What a body does not say of itself.

    Attributes:
        surface_tokens: What its system prompt, tools and answer schema weigh.
        model: The model, where the address names it and the body does not.
        sent_messages: How many of its messages, from the front, the last request of this
            conversation ended with; 0 where nobody knows, and then the newest answer tells.
        stable_messages: How many of its messages go up to the newest text that a
            compaction put in, itself included; 0 for none.
        key: Routes the requests of this conversation to the same cache
            (:func:`conversation_key`); empty to set none.
        life: How long a marked prefix is to be kept, where the provider lets one say so.
            One hour is written at a higher price, and pays where turns lie further
            apart than five minutes.
    """

    surface_tokens: int
    model: str = ""
    sent_messages: int = 0
    stable_messages: int = 0
    key: str = ""
    life: CacheLife = "5m"


def with_cache_markers(
    request: Request, weigh: Callable[[Message], int], hints: CacheHints
) -> bytes:
    """Set cache markers, and the key of the cache, in a request whose client set none.

    At most as many as the format allows, none where the prefix would be too
    short to be cached, none on reasoning, on answers or on blank text.

    Args:
        request: The request as it is about to be sent.
        weigh: Says how many tokens a message weighs. It is asked about the
            first few alone, until they are enough to be cached.
        hints: What the request does not say of itself.

    Returns:
        The body. The very same object where the client marked something, set a
        key or decided on caching in any other way; where part of the history
        lies on the provider's server; and where there is nothing to set.

    Raises:
        TokenCountError: If ``weigh`` raises it.
    """
    wire_format = request.format
    rules = wire_format.marker_rules(request, request.model or hints.model, hints.life)
    if rules is None or request.manners.hands_off:
        return request.body
    envelope = _envelope_spans(request)
    if _is_decided(request, rules, envelope):
        return request.body
    splices = _Points(request, rules, envelope, weigh, hints).splices()
    if rules.key_field and hints.key:
        splices.append(_key_splice(request.body, rules.key_field, envelope, hints.key))
    return splice(request.body, splices) if splices else request.body


def conversation_key(request: Request, links: Sequence[bytes]) -> str:
    """The key of a conversation's cache: the same on each of its turns, and no word of it.

    Many conversations begin with the same system message, and a key serves
    only so many requests a minute, so it hangs on the first message behind it.

    Args:
        request: The request as it came.
        links: The links of its messages; shape ``(messages,)``.

    Returns:
        32 hexadecimal digits; empty where there are no messages.
    """
    if not links:
        return ""
    place = min(_lead(request), len(links) - 1)
    return sha256(b"cache key" + links[place]).hexdigest()[:_KEY_CHARACTERS]


def view_counts(plan: Plan, sent_messages: int, messages: int) -> tuple[int, int]:
    """Say where two of the best places for cache markers are, in the view that a plan makes.

    Args:
        plan: What was changed.
        sent_messages: How many of the original messages were sent before.
        messages: How many there are.

    Returns:
        How many messages of the view stand for those that were sent before,
        and how many go up to the newest text that the plan put in; 0 for none.
    """
    changes = plan.changes
    count = stable = 0
    for row in changes.rows(messages):
        count += len(row) if isinstance(row, range) else 1
        if isinstance(row, Message) or (isinstance(row, int) and row in changes.appended):
            stable = count
    return changes.count(sent_messages), stable


# ------------------------------------------------------------------- the client


def _is_decided(request: Request, rules: MarkerRules, envelope: Mapping[str, Span]) -> bool:
    """Whether the client itself said what is to be cached; null says nothing."""
    wire_format, body = request.format, request.body
    told = (body[slice(*envelope[key])] for key in rules.decided_by if key in envelope)
    if any(value != b"null" for value in told):
        return True
    if not wire_format.may_hold_markers(body):
        return False
    lists = (body[slice(*envelope[key])] for key in ("tools", "system") if key in envelope)
    if any(count_markers(wire_format, b'{"content":%b}' % value) for value in lists):
        return True
    return any(
        _is_marked(wire_format, request.message_bytes(place)) for place in range(len(request.spans))
    )


def _is_marked(wire_format: Format, message: bytes) -> bool:
    """Whether a marker stands on a block of a message, or on the message itself, as routers take it."""
    if not wire_format.may_hold_markers(message):
        return False
    if count_markers(wire_format, message):
        return True
    members = _members(message)
    return any(members.get(key, b"null") != b"null" for key in wire_format.marker_keys)


# ------------------------------------------------------------------- the places


class _Point(NamedTuple):
    """A block that can be marked.

    Attributes:
        messages: How many messages go up to it, its own included.
        splice: What marks it.
    """

    messages: int
    splice: Splice


class _Points:
    """Finds the best places of a request."""

    def __init__(
        self,
        request: Request,
        rules: MarkerRules,
        envelope: Mapping[str, Span],
        weigh: Callable[[Message], int],
        hints: CacheHints,
    ) -> None:
        self._request = request
        self._rules = rules
        self._envelope = envelope
        self._weigh = weigh
        self._hints = hints
        self._marker = dump(rules.marker[0]) + b":" + rules.marker[1]

    def splices(self) -> list[Splice]:
        """What sets the markers; the places that matter most come first where there are too many."""
        if not self._rules.most:
            return []
        found = self._in_surface()
        least = self._least_messages()
        if least is None:
            return found
        for count in self._counts():
            point = self._point(min(count, len(self._request.spans)))
            is_long = point is not None and point.messages >= least
            if point is not None and is_long and point.splice not in found:
                found.append(point.splice)
        return found[: self._rules.most]

    def _counts(self) -> Iterator[int]:
        """How many messages go up to each place, the one that saves most first."""
        if self._rules.marks_end:
            yield len(self._request.spans)
        yield self._hints.sent_messages or _before_answer(self._request)
        yield self._hints.stable_messages
        lead = _lead(self._request)
        yield from (lead, lead + 1)

    def _least_messages(self) -> int | None:
        """How many messages it takes until a prefix is long enough; None where all are too few."""
        tokens = self._hints.surface_tokens
        for count in range(len(self._request.spans) + 1):
            if tokens >= self._rules.least_tokens:
                return count
            if count < len(self._request.spans):
                tokens += self._weigh(self._request.message(count))
        return None

    def _in_surface(self) -> list[Splice]:
        """What marks the end of the system prompt; of the tools where that cannot be marked."""
        tokens = self._hints.surface_tokens
        for field in self._rules.surface_fields:
            if tokens < self._rules.least_tokens:
                break
            span = self._envelope.get(field)
            found = None if span is None else self._in_list(self._request.body, span, field)
            if found:
                return [found]
            if self._request.surface.system:  # the tools stand before it
                tokens -= self._weigh(Message("system", self._request.surface.system))
        return []

    def _point(self, messages: int) -> _Point | None:
        """The last block of some messages that can be marked."""
        for place in range(messages - 1, max(-1, messages - 1 - _MOST_STEPS), -1):
            found = self._in_message(self._request.message_bytes(place))
            if found:
                start, stop, new = found
                first = self._request.spans[place][0]
                return _Point(place + 1, (first + start, first + stop, new))
        return None

    def _in_message(self, message: bytes) -> Splice | None:
        """What marks a message; None where that would make another message of it."""
        if message[:1] != b"{":
            return None  # the bare string that Responses takes for a history
        spans = object_spans(message)
        members = _members(message)
        if members.get("role") in self._rules.unmarked_roles:
            return None
        canonical = self._request.format.canonical
        for field in self._request.format.block_fields:
            if field not in spans:
                continue
            if members[field][:1] == b'"':
                found = self._on_bare(spans[field], members, field)
            else:
                found = self._in_list(message, spans[field])
            if found and canonical(splice(message, [found])) == canonical(message):
                return found
        return None

    def _on_bare(self, span: Span, members: Mapping[str, bytes], field: str) -> Splice | None:
        """What marks a bare string, where one text block is the same thing."""
        is_same = self._request.format.bare_type(members) == _TEXT
        if not is_same or _is_blank(members[field]):
            return None
        block = b'[{"type":"text","text":' + members[field] + b"," + self._marker + b"}]"
        return (*span, block)

    def _in_list(self, text: bytes, array: Span, field: str = "") -> Splice | None:
        """What marks the last element of a list that can be marked."""
        if text[array[0] : array[0] + 1] != b"[":
            return None
        can_hold = self._tool_can_hold if field == "tools" else self._block_can_hold
        for low, high in reversed(array_spans(text[slice(*array)])):
            start, stop = array[0] + low, array[0] + high
            element = text[start:stop]
            if can_hold(_members(element)):
                return self._on_element(element, start)
        return None

    def _on_element(self, element: bytes, start: int) -> Splice:
        key, value = self._rules.marker
        spans = {
            name: (start + low, start + high) for name, (low, high) in object_spans(element).items()
        }
        if key in spans:  # null, which says nothing
            return (*spans[key], value)
        return insert_element((start, start + len(element)), sorted(spans.values()), self._marker)

    def _block_can_hold(self, block: Mapping[str, bytes]) -> bool:
        if block.get("type") not in self._rules.blocks:
            return False
        if "text" in block and _is_blank(block["text"]):
            return False
        return block.get("type") != b'"tool_result"' or not _is_empty(block.get("content", b""))

    def _tool_can_hold(self, tool: Mapping[str, bytes]) -> bool:
        """Whether a tool is one of the client's own, and told to the model from the start."""
        is_own = tool.get("type", b"null") in (b"null", b'"custom"')
        return bool(tool) and is_own and tool.get("defer_loading", b"false") != b"true"


def _lead(request: Request) -> int:
    """How many messages stand in front of the conversation itself."""
    count = 0
    while count < len(request.spans) and request.message(count).role in _LEADING:
        count += 1
    return count


def _before_answer(request: Request) -> int:
    """How many messages stand before the newest answer: what was asked last, where one turn is new."""
    count = len(request.spans)
    while count and request.message(count - 1).role != "assistant":
        count -= 1
    while count and request.message(count - 1).role == "assistant":
        count -= 1
    return count


def _is_blank(text: bytes) -> bool:
    return not load_text(text).strip()


def _is_empty(content: bytes) -> bool:
    """Whether a result says nothing at all."""
    if content[:1] == b"[":
        return not array_spans(content)
    return content in (b"", b"null") or _is_blank(content)


# --------------------------------------------------------------------- the body


def _members(element: bytes) -> dict[str, bytes]:
    """The JSON text of each member of an object; none where it is no object."""
    if element[:1] != b"{":
        return {}
    return {key: element[slice(*span)] for key, span in object_spans(element).items()}


def _envelope_spans(request: Request) -> dict[str, Span]:
    """Where each top-level value lies, found without a second look at the history."""
    start, stop = request.history_span
    body = request.body
    placeholder = b"0"
    grown = stop - start - len(placeholder)
    spans = object_spans(body[:start] + placeholder + body[stop:])
    return {
        key: (low, high) if low < start else (low + grown, high + grown)
        for key, (low, high) in spans.items()
        if key != request.format.history_field
    }


def _key_splice(body: bytes, field: str, envelope: Mapping[str, Span], key: str) -> Splice:
    """What puts in the key of the cache, behind all else."""
    if field in envelope:  # null, which says nothing
        return (*envelope[field], dump(key))
    end = len(body[: body.rindex(b"}")].rstrip())
    return (end, end, b"," + dump(field) + b":" + dump(key))
