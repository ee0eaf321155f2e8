"""A request as it came: its bytes, and where its messages lie in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from trimtab.constraints import Constraints
from trimtab.messages import Message, Part, Surface
from trimtab.wire.format import Format, Outline
from trimtab.wire.json_spans import Span

__all__ = ["Call", "Request"]


@dataclass(frozen=True, slots=True)
class Call:
    """One request on its way to a provider.

    Attributes:
        body: The bytes of the request.
        headers: Its headers; values are never logged or stored.
        model: The model, where the address names it and the body does not.
        now: Seconds since the epoch when it is sent; 0.0 where nobody said.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    model: str = ""
    now: float = 0.0


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
        return tuple(
            Message.deferred(
                outline.role,
                partial(self._parts, place),
                call_ids=outline.call_ids,
                result_ids=outline.result_ids,
                has_own_words=outline.has_own_words,
            )
            for place, outline in enumerate(self.outlines)
        )

    def _parts(self, place: int) -> tuple[Part, ...]:
        return self.format.parts(self.message_bytes(place))

    @cached_property
    def surface(self) -> Surface:
        """Everything but the messages: model, system prompt, tools."""
        return self.format.surface(self.members)

    @cached_property
    def constraints(self) -> Constraints:
        """What the format says may not be done to this request."""
        return self.format.constraints(self)

    def __repr__(self) -> str:
        size = len(self.body)
        return f"<Request {self.format.name}, {len(self.spans)} messages, {size} bytes>"
