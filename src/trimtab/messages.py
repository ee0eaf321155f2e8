"""Messages and their parts, the same for every provider.

A message that was read from a request keeps the bytes it came in with and
decodes its parts each time somebody looks at them; a message made here holds
its parts. Both are the same type, so nothing downstream can tell.

The law of this file: values only. Nothing here knows a provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = [
    "Media",
    "MediaKind",
    "Message",
    "Opaque",
    "Origin",
    "Part",
    "ResultContent",
    "Role",
    "Surface",
    "Text",
    "Thinking",
    "Tool",
    "ToolCall",
    "ToolResult",
]

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
"""Who speaks. ``tool`` is a message that carries nothing but tool results."""

Origin: TypeAlias = Literal["marker", "summary", "repair", "filler"]
"""Why a message exists that nobody said.

``marker`` stands for what a compaction removed, ``summary`` is a briefing,
``repair`` answers a call whose result never came, ``filler`` keeps roles
alternating.
"""

MediaKind: TypeAlias = Literal["image", "document", "audio", "video", "file"]
"""What a media part shows, as far as its size in tokens depends on it."""


@dataclass(frozen=True, slots=True)
class Text:
    """Words, of whoever the message's role says.

    Attributes:
        text: The words.
        opaque: Signature that the provider put on them; it stays verbatim or goes with them.
    """

    text: str = field(repr=False)
    opaque: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning that is sent back.

    Attributes:
        text: The reasoning in words; empty where the provider keeps it to itself.
        opaque: Signature or encrypted form. Bound to its text: both stay verbatim or go together.
        is_redacted: Whether the provider shows no words at all, only the encrypted form.
        needs_answer: Whether the provider refuses it where nothing of the assistant's follows.
        signed_by: The wire format whose provider signed it, which no other takes; empty where
            nobody said, and then it is taken for the one that it is sent to.
    """

    text: str = field(repr=False)
    opaque: str = field(default="", repr=False)
    is_redacted: bool = False
    needs_answer: bool = field(default=False, compare=False)
    signed_by: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants run.

    Attributes:
        id: Links the call to its result.
        name: The tool.
        arguments: JSON text, as it came. It is never parsed and written
            again, so that a 19-digit number keeps its digits.
        opaque: Signature that the provider put on the call; it stays verbatim or goes with it.
    """

    id: str
    name: str
    arguments: str = field(repr=False)
    opaque: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Media:
    """An image, document, recording or file.

    Attributes:
        kind: What it is.
        media_type: MIME type; empty where it is not known.
        data: Base64 payload; empty where the media is elsewhere.
        location: URL or file id; empty where the payload is here.
        detail: How closely the model looks, in the provider's words.
        width: Pixels; 0 where it is not known.
        height: Pixels; 0 where it is not known.
        pages: Pages of a document; 0 where it is not known.
        seconds: How long a recording plays; 0 where it is not known.
    """

    kind: MediaKind
    media_type: str = ""
    data: str = field(default="", repr=False)
    location: str = field(default="", repr=False)
    detail: str = ""
    width: int = 0
    height: int = 0
    pages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something this version does not know. It is counted, kept and never cut.

    Attributes:
        kind: Its type in the provider's words.
        json: The whole of it as JSON text.
    """

    kind: str
    json: str = field(repr=False)


ResultContent: TypeAlias = Text | Media | Opaque
"""What a tool result may be made of."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool answered.

    Attributes:
        call_id: The call that it answers.
        content: Its blocks in order; a bare string is one :class:`Text`.
        is_error: True where the format or the tool says that it failed.
    """

    call_id: str
    content: tuple[ResultContent, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The words of all its text blocks, a line break between two."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))


Part: TypeAlias = Text | Thinking | ToolCall | ToolResult | Media | Opaque
"""A piece of a message. Edits name parts by their place in :attr:`Message.parts`."""


class Message:
    """One element of a conversation: a role and parts.

    What can be known without decoding stands in plain attributes: who speaks,
    which calls it opens, which it answers. The parts may be decoded at each
    look (:meth:`deferred`), so look once.

    Attributes:
        role: Who speaks.
        call_ids: Ids of the tool calls in it, in order.
        result_ids: Ids of the calls whose results it carries, in order.
        has_own_words: Whether it holds anything but tool results.
        origin: Why it exists, where nobody said it; None for all others.
        weight: Kept by whoever weighs it, so that it is weighed once: the
            scale and its figure. No part of the message's value.
    """

    __slots__ = ("_load", "call_ids", "has_own_words", "origin", "result_ids", "role", "weight")

    role: Role
    call_ids: tuple[str, ...]
    result_ids: tuple[str, ...]
    has_own_words: bool
    origin: Origin | None
    weight: tuple[object, int] | None

    def __init__(self, role: Role, parts: Iterable[Part], *, origin: Origin | None = None) -> None:
        held = tuple(parts)
        self.role = role
        self.call_ids = tuple(part.id for part in held if isinstance(part, ToolCall))
        self.result_ids = tuple(part.call_id for part in held if isinstance(part, ToolResult))
        self.has_own_words = len(self.result_ids) < len(held) or not held
        self.origin = origin
        self.weight = None
        self._load: Callable[[], tuple[Part, ...]] = lambda: held

    @classmethod
    def deferred(
        cls,
        role: Role,
        load: Callable[[], tuple[Part, ...]],
        *,
        call_ids: tuple[str, ...] = (),
        result_ids: tuple[str, ...] = (),
        has_own_words: bool = True,
    ) -> Message:
        """Make a message whose parts are decoded when somebody looks.

        Args:
            role: Who speaks.
            load: Decodes the parts; called at each look, so it must be pure.
            call_ids: The calls that the decoded parts will hold, in order.
            result_ids: The results that the decoded parts will hold, in order.
            has_own_words: Whether they will hold anything but results.
        """
        message = cls.__new__(cls)
        message.role = role
        message.call_ids = call_ids
        message.result_ids = result_ids
        message.has_own_words = has_own_words
        message.origin = None
        message.weight = None
        message._load = load  # noqa: SLF001 - its own
        return message

    @classmethod
    def system(cls, text: str) -> Message:
        """Instructions that stand above the conversation."""
        return cls("system", (Text(text),))

    @classmethod
    def user(cls, *content: str | Part, origin: Origin | None = None) -> Message:
        """What the user said; strings become text parts."""
        return cls("user", _as_parts(content), origin=origin)

    @classmethod
    def assistant(cls, *content: str | Part, origin: Origin | None = None) -> Message:
        """What the model answered; strings become text parts."""
        return cls("assistant", _as_parts(content), origin=origin)

    @classmethod
    def tool(
        cls, call_id: str, text: str, *, is_error: bool = False, origin: Origin | None = None
    ) -> Message:
        """What one tool answered, in words."""
        return cls("tool", (ToolResult(call_id, (Text(text),), is_error=is_error),), origin=origin)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the message is made of, in order."""
        return self._load()

    @property
    def text(self) -> str:
        """The words of its text parts, a line break between two."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def decoded(self) -> Message:
        """The same message with its parts held, for somebody who looks more than once."""
        held = self._load()
        return Message.deferred(
            self.role,
            lambda: held,
            call_ids=self.call_ids,
            result_ids=self.result_ids,
            has_own_words=self.has_own_words,
        )

    def with_parts(self, parts: Iterable[Part]) -> Message:
        """The same message with other parts."""
        return Message(self.role, parts, origin=self.origin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return (self.role, self.origin, self.parts) == (other.role, other.origin, other.parts)

    __hash__ = None  # type: ignore[assignment]  # parts can be megabytes; nothing needs it

    def __repr__(self) -> str:
        # No words: a representation ends up in logs.
        told = f", origin={self.origin!r}" if self.origin else ""
        calls = f", calls={len(self.call_ids)}" if self.call_ids else ""
        results = f", results={len(self.result_ids)}" if self.result_ids else ""
        return f"<Message {self.role}{calls}{results}{told}>"


def _as_parts(content: Iterable[str | Part]) -> tuple[Part, ...]:
    return tuple(Text(item) if isinstance(item, str) else item for item in content)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the request offers.

    Attributes:
        name: What the model calls it by; for a provider's own tool, its type.
        json: The whole definition as JSON text, in the form that its format has for it.
        description: What it says of itself; empty where it says nothing.
        schema: JSON schema of its arguments as JSON text; empty for a provider's own tool.
    """

    name: str
    json: str = field(default="", repr=False)
    description: str = field(default="", repr=False)
    schema: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Surface:
    """The request apart from its messages.

    Attributes:
        model: The model's id; empty where the request does not say.
        system: The system prompt, where it has a field of its own.
        tools: What the request offers, in order.
        output_schema: A schema that the answer must follow, as JSON text; empty for none.
    """

    model: str = ""
    system: tuple[Part, ...] = field(default=(), repr=False)
    tools: tuple[Tool, ...] = ()
    output_schema: str = field(default="", repr=False)
