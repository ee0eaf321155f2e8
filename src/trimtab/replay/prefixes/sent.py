"""What is kept of a request that was sent, so that later ones can be held against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import accumulate, pairwise
from typing import Any

from trimtab.errors import MalformedBodyError
from trimtab.replay.recording import RecordedRequest
from trimtab.tokens import Measure, counter_for
from trimtab.usage import Usage
from trimtab.wire import Format, Request, read
from trimtab.wire.json_spans import array_spans, dump, dump_sorted, load, object_spans

__all__ = ["ORDERED_VALUES", "STAGES", "Block", "Field", "Reader", "Sent"]

STAGES: Mapping[str, int] = {"settings": 0, "tools": 0, "system": 1, "parameters": 2}
"""In which order the fields that are no messages count for a prefix."""

ORDERED_VALUES = frozenset(("input", "args", "arguments", "response"))
"""Keys of a message whose objects reach the model with the order of their keys."""

_SYSTEM_ROLES = ("system", "developer")

_PARAMETERS = ("tool_choice", "thinking", "output_config", "speed")
_SETTINGS = (
    "reasoning",
    "reasoning_effort",
    "text",
    "verbosity",
    "response_format",
    "service_tier",
    "prompt_cache_key",
)
"""On the first depends the cache of the messages, where a provider caches at markers; on the
second, elsewhere, all of it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A top-level field of a request that counts for its prefix.

    Attributes:
        part: ``settings``, ``tools``, ``system`` or ``parameters``.
        raw: Its JSON text without cache markers.
        form: The same without what a client varies and the provider takes out.
    """

    part: str
    raw: bytes = field(repr=False)
    form: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the prefix that a marker may stand on.

    Attributes:
        digest: Of its text without markers.
        message: Place of its message; -1 for one before all messages.
        is_marked: Whether a marker stands on it.
        is_long: Whether that asks for the longer life time.
    """

    digest: bytes
    message: int
    is_marked: bool
    is_long: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that was sent.

    Attributes:
        place: Its place in the recording, from 0.
        recorded: As it was recorded.
        request: As it was read.
        model: The model; empty where nothing says.
        fields: What counts for the prefix before all messages, in the order of the prefix.
        names: A digest of each message, markers taken out.
        tokens: Of each message, as billed where that is known.
        head_tokens: Of tools and of the system prompt; what a log lacks counts as system prompt.
        blocks: What markers stand on; empty where the provider needs none.
    """

    place: int
    recorded: RecordedRequest
    request: Request
    model: str
    fields: Mapping[str, Field]
    names: tuple[bytes, ...]
    tokens: tuple[int, ...]
    head_tokens: tuple[int, int]
    blocks: tuple[Block, ...] = ()

    @property
    def bill(self) -> Usage | None:
        """What was billed; None where nobody says, or where it was broken off."""
        usage = self.recorded.usage
        return usage if usage is not None and usage.total_input else None

    @property
    def total_tokens(self) -> int:
        """The whole request."""
        return sum(self.head_tokens) + sum(self.tokens)

    def tokens_before(self, stage: int, messages: int) -> int:
        """What lies before a place of the prefix.

        Args:
            stage: 0 at the front, 1 behind the tools, 2 behind the system prompt, 3 in the messages.
            messages: Messages before it.
        """
        head = sum(self.head_tokens[: min(stage, 2)])
        return head + (sum(self.tokens[:messages]) if stage >= 3 else 0)

    def own_messages(self, stop: int) -> int:
        """How many of the first messages are no system prompt."""
        roles = [outline.role for outline in self.request.outlines[:stop]]
        return sum(role not in _SYSTEM_ROLES for role in roles)

    def is_system(self, place: int) -> bool:
        """Whether a message is a system prompt."""
        return self.request.outlines[place].role in _SYSTEM_ROLES


class Reader:
    """Reads the requests of a session; a message that it has seen is not counted again."""

    def __init__(self) -> None:
        self._measures: dict[str, Measure] = {}
        self._tokens: dict[tuple[str, bytes], int] = {}
        self._names: dict[bytes, bytes] = {}
        self._has_markers = False

    def read(self, place: int, recorded: RecordedRequest) -> Sent:
        """Read one request.

        Raises:
            RequestError: If it cannot be read.
            TokenCountError: If the counter fails.
        """
        request = read(recorded.build(), recorded.format or None)
        model = recorded.model or request.model
        measure = self._measures.setdefault(model, Measure(counter_for(model), model))
        names = tuple(self._name(form) for form in request.forms())
        counted = [self._count(measure, model, request, at, name) for at, name in enumerate(names)]
        tools = sum(measure.text(tool.json) for tool in request.surface.tools)
        head = (tools, measure.surface(request.surface) - tools)
        head, tokens = _as_billed(recorded, head, counted)
        members = _members(request)
        needs_markers = request.format.caches_at_markers
        if needs_markers and request.format.may_hold_markers(request.body):
            self._has_markers = True
        return Sent(
            place,
            recorded,
            request,
            model,
            dict(_fields(request.format, members, recorded.unrecorded)),
            names,
            tokens,
            head,
            tuple(_blocks(request, members)) if needs_markers and self._has_markers else (),
        )

    def _name(self, form: bytes | memoryview) -> bytes:
        """A digest of a message, however its JSON is written."""
        written = sha256(form).digest()[:16]
        if written not in self._names:
            self._names[written] = sha256(_meaning(bytes(form))).digest()[:16]
        return self._names[written]

    def _count(
        self, measure: Measure, model: str, request: Request, place: int, name: bytes
    ) -> int:
        known = self._tokens.get((model, name))
        if known is None:
            known = self._tokens[model, name] = measure.message(request.message(place).decoded())
        return known


def _as_billed(
    recorded: RecordedRequest, head: tuple[int, int], counted: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Stretch counts to what was billed; what a log lacks is what is billed beyond them."""
    billed = recorded.usage.total_input if recorded.usage else 0
    messages = sum(counted)
    if not billed:
        return head, tuple(counted)
    if recorded.unrecorded and billed > messages:
        tools = min(head[0], billed - messages)
        return (tools, billed - messages - tools), tuple(counted)
    ratio = billed / max(1, sum(head) + messages)
    # Sums are rounded, not the pieces, so that they add up to what was billed.
    sums = [round(total * ratio) for total in accumulate((*head, *counted), initial=0)]
    pieces = [high - low for low, high in pairwise(sums)]
    return (pieces[0], pieces[1]), tuple(pieces[2:])


def _meaning(form: bytes) -> bytes:
    """A message as the provider reads it: in any order of keys, but for those that the model sees."""
    try:
        return dump_sorted(_with_ordered_values(load(form)))
    except MalformedBodyError:
        return form


def _with_ordered_values(value: Any) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """A value in which objects whose keys have an order that counts are their JSON text."""
    match value:
        case dict():
            return {
                key: dump(inner).decode("utf-8", "surrogatepass")
                if key in ORDERED_VALUES
                else _with_ordered_values(inner)
                for key, inner in value.items()
            }
        case list():
            return [_with_ordered_values(inner) for inner in value]
    return value


def _members(request: Request) -> dict[str, bytes]:
    """The top-level fields but the list of messages, as JSON text."""
    spans = object_spans(request.body)
    spans.pop(request.format.history_field, None)
    return {key: request.body[slice(*span)] for key, span in spans.items()}


def _fields(
    wire_format: Format, members: Mapping[str, bytes], unrecorded: frozenset[str]
) -> Iterator[tuple[str, Field]]:
    """The fields that count, those that come first in a prefix first."""
    part_of_others, others = (
        ("parameters", _PARAMETERS) if wire_format.caches_at_markers else ("settings", _SETTINGS)
    )
    found: dict[str, Field] = {}
    nothing = wire_format.surface_forms({})
    for key, raw in members.items():
        if key in unrecorded:
            continue
        if key in others:
            found[key] = Field(part_of_others, raw, raw)
        elif key in wire_format.envelope_fields:
            forms = wire_format.surface_forms({key: raw})
            # Several fields are joined with a zero byte, which no JSON text holds.
            for part in ("system", "tools"):
                form: bytes = getattr(forms, part)
                if form != getattr(nothing, part):
                    found[key] = Field(part, wire_format.without_markers(raw), form.strip(b"\0"))
    yield from sorted(found.items(), key=lambda item: STAGES[item[1].part])


def _blocks(request: Request, members: Mapping[str, bytes]) -> Iterator[Block]:
    """Everything that a marker may stand on, in the order of the prefix; none without a marker."""
    keys = request.format.marker_keys
    blocks = [
        *(
            _block(request.format, raw, -1)
            for key in ("tools", "system")
            for raw in _elements(members.get(key, b""))
        ),
        *(
            _block(request.format, raw, place)
            for place in range(len(request.spans))
            for raw in _content(request, place)
        ),
    ]
    automatic = next((members[key] for key in keys if key in members), b"null")
    if blocks and automatic != b"null":
        last = blocks[-1]
        is_long = _asks_for_long(automatic)
        blocks[-1] = Block(last.digest, last.message, is_marked=True, is_long=is_long)
    yield from blocks


def _content(request: Request, place: int) -> list[bytes]:
    """The blocks of a message; the bare string, or all of it, as the only one."""
    message = request.message_bytes(place)
    try:
        spans = object_spans(message)
        found = [message[slice(*spans[key])] for key in request.format.block_fields if key in spans]
    except MalformedBodyError:
        return [message]
    blocks = [block for text in found for block in _elements(text)]
    return blocks or [message]


def _elements(text: bytes) -> list[bytes]:
    """The elements of an array; a string alone as a block; nothing else has any."""
    if text[:1] == b'"':
        return [b'{"type":"text","text":%b}' % text]
    if text[:1] != b"[":
        return []
    return [text[low:high] for low, high in array_spans(text)]


def _block(wire_format: Format, raw: bytes, message: int) -> Block:
    plain = wire_format.without_markers(b"[" + raw + b"]")
    marker = b""
    if len(plain) < len(raw) + 2:
        spans = object_spans(raw)
        marker = next(
            (raw[slice(*spans[key])] for key in wire_format.marker_keys if key in spans), b""
        )
    is_marked = bool(marker) and marker != b"null"
    # However it is written, as the provider reads it.
    digest = sha256(dump_sorted(load(plain))).digest()[:16]
    return Block(digest, message, is_marked=is_marked, is_long=_asks_for_long(marker))


def _asks_for_long(marker: bytes) -> bool:
    told = load(marker) if marker[:1] == b"{" else None
    return isinstance(told, dict) and str(told.get("ttl", "")).endswith("h")
