"""A request as it came: its bytes, and where its messages lie in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import Message, Part, Surface
from trimtab.wire.format import Format, Outline, may_be_bare
from trimtab.wire.json_spans import Span, dump_sorted, load, load_text

__all__ = ["Call", "Request"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way to a provider.

    Attributes:
        body: The bytes of the request.
        headers: Its headers; values are never logged or stored.
        model: The model, where the address names it and the body does not.
        now: Seconds since the epoch when it is sent; 0.0 where nobody said.
        is_built: Whether the body was made from objects of the program, whose keys
            have no order that means anything.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    model: str = ""
    now: float = 0.0
    is_built: bool = False


class Request:
    """One request, read but not rebuilt.

    Attributes:
        format: How it is written.
        body: Its bytes, unchanged.
        history_span: Where the list of messages lies, with its brackets.
        spans: Where each message lies; shape ``(messages,)``.
        members: JSON text of the top-level fields that the format looks at, by key.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002 - the word for it
        body: bytes,
        history_span: Span,
        spans: Sequence[Span],
        members: Mapping[str, bytes],
    ) -> None:
        self.format = format
        self.body = body
        self.history_span = history_span
        self.spans = spans
        self.members = members

    def message_bytes(self, place: int) -> bytes:
        """The JSON text of one message, as it came."""
        start, stop = self.spans[place]
        return self.body[start:stop]

    @cached_property
    def outlines(self) -> Sequence[Outline]:
        """Who speaks in each message, and which calls it opens and answers."""
        return self.format.outlines(self.body, self.history_span, self.spans)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages, oldest first; their parts are decoded when somebody looks."""
        return tuple(self._message(place, outline) for place, outline in enumerate(self.outlines))

    def message(self, place: int) -> Message:
        """One message; only its own bytes are looked at."""
        return self.messages_from(place, place + 1)[0]

    def messages_from(self, start: int, stop: int | None = None) -> tuple[Message, ...]:
        """The messages from a place on; only what they and their format need is looked at.

        Args:
            start: Place of the first.
            stop: Place behind the last; None for all.
        """
        if "messages" in self.__dict__:
            return self.messages[start:stop]
        if not self.spans[start:stop]:
            return ()
        first = self.format.context_start(self.body, self.spans, start)
        if first == 0 < start:
            return self.messages[start:stop]  # all is read anyway, so that it is read once
        spans = self.spans[first:stop]
        low, high = spans[0][0], spans[-1][1]
        part = b"[" + self.body[low:high] + b"]"
        moved = [(begin - low + 1, end - low + 1) for begin, end in spans]
        outlines = self.format.outlines(part, (0, len(part)), moved)[start - first :]
        return tuple(self._message(start + at, outline) for at, outline in enumerate(outlines))

    def _message(self, place: int, outline: Outline) -> Message:
        return Message.deferred(
            outline.role,
            partial(self._parts, place, outline),
            call_ids=outline.call_ids,
            result_ids=outline.result_ids,
            has_own_words=outline.has_own_words,
        )

    def _parts(self, place: int, outline: Outline) -> tuple[Part, ...]:
        return self.format.linked(self.format.parts(self.message_bytes(place)), outline)

    @cached_property
    def surface(self) -> Surface:
        """Everything but the messages: model, system prompt, tools."""
        return self.format.surface(self.members)

    @cached_property
    def model(self) -> str:
        """The model's id; empty where the body does not name it."""
        return load_text(self.members.get("model", b'""'))

    @cached_property
    def constraints(self) -> Constraints:
        """What the format says may not be done to this request."""
        return self.format.constraints(self)

    @cached_property
    def manners(self) -> Constraints:
        """What of the constraints the envelope alone tells, without a look at the messages."""
        return self.format.manners(self.members)

    @cached_property
    def answer_tokens(self) -> int | None:
        """Most tokens that the answer may have; None where the request does not say."""
        return self.format.answer_tokens(self.members)

    def form(self, place: int) -> bytes:
        """The canonical form of one message: what makes it the same message on a later turn."""
        return self.format.canonical(self.message_bytes(place))

    def forms(self) -> Iterator[bytes | memoryview]:
        """The canonical forms of all messages, in order; what is canonical already is not copied."""
        view = memoryview(self.body)
        may_hold_markers = self.format.may_hold_markers(self.body)
        for place, (start, stop) in enumerate(self.spans):
            if may_hold_markers or may_be_bare(self.body, start, stop):
                yield self.form(place)
            else:
                yield view[start:stop]

    def sorted_form(self, place: int) -> bytes:
        """The canonical form of one message, whatever order the keys of its objects are in."""
        form = self.form(place)
        try:
            return dump_sorted(load(form))
        except MalformedBodyError:
            return form

    def sorted_forms(self) -> Iterator[bytes]:
        """The same of all messages, in order."""
        return map(self.sorted_form, range(len(self.spans)))

    def __repr__(self) -> str:
        size = len(self.body)
        return f"<Request {self.format.name}, {len(self.spans)} messages, {size} bytes>"
