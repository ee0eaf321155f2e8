"""A request as it came: its bytes, and where its messages lie in them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from trimtab.constraints import Constraints
from trimtab.errors import MalformedBodyError
from trimtab.messages import Message, Part, Surface
from trimtab.wire.format import Format, Outline, may_be_bare
from trimtab.wire.json_spans import Span, dump_sorted, load, load_text

__all__ = ["Call", "Request"]

_LIST = ord("[")


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
        known_outlines: Outlines of its first messages, as far as they are known already.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002 - the word for it
        body: bytes,
        history_span: Span,
        spans: Sequence[Span],
        members: Mapping[str, bytes],
        known_outlines: Sequence[Outline] = (),
    ) -> None:
        self.format = format
        self.body = body
        self.history_span = history_span
        self.spans = spans
        self.members = members
        self.known_outlines = known_outlines

    def undecoded(self) -> Request:
        """The same request without anything that was decoded of it."""
        return Request(
            self.format, self.body, self.history_span, self.spans, self.members, self.known_outlines
        )

    def shares_first_message(self, body: bytes) -> bool:
        """Whether another body begins with the same bytes up to the end of the first message."""
        return bool(self.spans) and body.startswith(memoryview(self.body)[: self.spans[0][1]])

    def shared_messages(self, body: bytes) -> int:
        """How many of its messages another body has too, with the same bytes up to their end."""
        if self.body[self.history_span[0]] != _LIST:
            return 0
        mine = memoryview(self.body)

        def is_shared(count: int) -> bool:
            # Not a comparison of views: in CPython that goes byte by byte.
            return not count or body.startswith(mine[: self.spans[count - 1][1]])

        most = least = len(self.spans)
        step = 1
        while not is_shared(least):  # from the end on: mostly it is the newest that differ
            most, least, step = least - 1, max(0, least - step), step * 2
        between = range(least + 1, most + 1)
        return least + bisect_left(between, True, key=lambda count: not is_shared(count))

    def message_bytes(self, place: int) -> bytes:
        """The JSON text of one message, as it came."""
        start, stop = self.spans[place]
        return self.body[start:stop]

    @cached_property
    def outlines(self) -> Sequence[Outline]:
        """Who speaks in each message, and which calls it opens and answers."""
        known = self.known_outlines
        if known:
            self.known_outlines = (*known, *self._outlines_from(len(known)))
        else:
            self.known_outlines = self.format.outlines(self.body, self.history_span, self.spans)
        return self.known_outlines

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
        if self._begins_at(start) == 0 < start:
            return self.messages[start:stop]  # all is read anyway, so that it is read once
        outlines = self._outlines_from(start, stop)
        return tuple(self._message(start + at, outline) for at, outline in enumerate(outlines))

    def _begins_at(self, start: int) -> int:
        """Where reading begins so that the outlines from a place on come out right."""
        return self.format.context_start(self.body, self.spans, start)

    def _outlines_from(self, start: int, stop: int | None = None) -> Sequence[Outline]:
        """The outlines from a place on; only what they and their format need is looked at."""
        if not self.spans[start:stop]:
            return ()
        first = self._begins_at(start)
        spans = self.spans[first:stop]
        low, high = spans[0][0], spans[-1][1]
        part = b"[" + self.body[low:high] + b"]"
        moved = [(begin - low + 1, end - low + 1) for begin, end in spans]
        return self.format.outlines(part, (0, len(part)), moved)[start - first :]

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

    def forms(self, first: int = 0) -> Iterator[bytes | memoryview]:
        """The canonical forms of the messages from a place on; what is canonical is not copied."""
        if first >= len(self.spans):
            return
        view = memoryview(self.body)
        start, stop = self.spans[first][0], self.spans[-1][1]
        may_hold_markers = self.format.may_hold_markers(self.body[start:stop])
        for place in range(first, len(self.spans)):
            start, stop = self.spans[place]
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

    def sorted_forms(self, first: int = 0) -> Iterator[bytes]:
        """The same of the messages from a place on."""
        return map(self.sorted_form, range(first, len(self.spans)))

    def __repr__(self) -> str:
        size = len(self.body)
        return f"<Request {self.format.name}, {len(self.spans)} messages, {size} bytes>"
