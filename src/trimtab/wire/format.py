"""What a wire format has to offer: one subclass of :class:`Format`, in one file.

To add a format, write ``wire/<name>.py`` with a subclass and put an instance
of it into ``wire/formats.py``. Everything else (splitting, writing, counting,
deciding) is neutral and works through these methods.

Words used here: a *message* is the JSON text of one element of the history;
a *path* leads from it to a value inside.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from trimtab.errors import MalformedBodyError
from trimtab.messages import Opaque, Part, ResultContent, Role, Text, ToolCall, ToolResult
from trimtab.plan import Forbidden
from trimtab.wire.json_spans import (
    Path,
    Span,
    Splice,
    array_spans,
    drop_elements,
    drop_members,
    dump,
    insert_element,
    locate,
    object_spans,
    splice,
)

if TYPE_CHECKING:
    from trimtab.constraints import Constraints
    from trimtab.messages import Message, Part, Surface
    from trimtab.plan import Plan
    from trimtab.wire.request import Request
    from trimtab.wire.rules import Findings, Rule

__all__ = ["CacheLife", "Format", "MarkerRules", "Outline", "Setup", "SurfaceForms", "may_be_bare"]


class Outline(NamedTuple):
    """What is known of a message without decoding it.

    Attributes:
        role: Who speaks, in neutral terms.
        call_ids: Calls that it opens, in order.
        result_ids: Calls that it answers, in order.
        has_own_words: Whether it holds anything but results.
        is_understood: False where it holds something unknown, so that no edit may name it.
    """

    role: Role
    call_ids: tuple[str, ...] = ()
    result_ids: tuple[str, ...] = ()
    has_own_words: bool = True
    is_understood: bool = True


class SurfaceForms(NamedTuple):
    """The surface in canonical form: equal bytes mean that the provider's cache still fits.

    Attributes:
        model: The model.
        system: The system prompt, where it is no message.
        tools: The tools and the schema of the answer.
    """

    model: bytes
    system: bytes
    tools: bytes


CacheLife: TypeAlias = Literal["5m", "1h"]
"""How long a provider that lets one choose keeps a prefix that nobody reads."""


class MarkerRules(NamedTuple):
    """How a request tells its provider where a prefix ends that is worth caching.

    JSON values stand here as their JSON text.

    Attributes:
        decided_by: Top-level keys by which a client decides on caching itself.
        least_tokens: Tokens that a prefix must have to be cached.
        marker: Key and value of a cache marker.
        most: Cache markers that may be set.
        blocks: Types of blocks that one may be set on.
        unmarked_roles: Roles in whose messages none is set.
        surface_fields: Top-level keys of lists that one may be set in, the last of the prefix first.
        marks_end: Whether the end needs one; False where the provider marks it itself.
        key_field: Top-level key of what routes equal prefixes to the same cache; empty for none.
    """

    decided_by: tuple[str, ...]
    least_tokens: int
    marker: tuple[str, bytes]
    most: int
    blocks: frozenset[bytes]
    unmarked_roles: tuple[bytes, ...]
    surface_fields: tuple[str, ...] = ()
    marks_end: bool = False
    key_field: str = ""


Encoded: TypeAlias = dict[int, tuple[Part, dict[str, Any] | None]]
"""Parts, by identity, each with what it became."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a built body needs besides messages.

    Attributes:
        surface: Model, system prompt and tools.
        max_tokens: Most tokens that the answer may have.
        encoded: Parts that were encoded before, by identity, each with what it became;
            whoever builds a body of each request of a session has each part encoded once.
    """

    surface: Surface
    max_tokens: int
    encoded: Encoded = field(default_factory=dict, repr=False)

    def once(
        self, part: Part, encode: Callable[[Part], dict[str, Any] | None]
    ) -> dict[str, Any] | None:
        """Encode a part, unless that was done before."""
        known = self.encoded.get(id(part))
        if known is None:  # the part is kept too, so that its identity is not given away
            known = self.encoded[id(part)] = (part, encode(part))
        return known[1]


class Format(ABC):
    """One provider's way to write a request.

    Attributes:
        name: As users write it, such as ``openai-chat``.
        history_field: Top-level key of the list of messages.
        envelope_fields: Other top-level keys that :meth:`surface`,
            :meth:`constraints` or :meth:`recognises` look at.
        marker_keys: Keys of cache markers in blocks and tools.
        block_fields: Keys of a message under which its blocks lie.
        history_may_be_text: Whether a bare string may stand in place of the list of messages.
        caches_at_markers: Whether the provider caches a prefix only where a marker says so.
    """

    name: ClassVar[str]
    history_field: ClassVar[str]
    envelope_fields: ClassVar[tuple[str, ...]]
    marker_keys: ClassVar[tuple[str, ...]]
    block_fields: ClassVar[tuple[str, ...]] = ("content",)
    history_may_be_text: ClassVar[bool] = False
    caches_at_markers: ClassVar[bool] = False
    _quoted_marker_keys: ClassVar[tuple[bytes, ...]]

    def __init_subclass__(cls) -> None:
        cls._quoted_marker_keys = tuple(b'"%b"' % key.encode() for key in cls.marker_keys)

    @property
    @abstractmethod
    def rules(self) -> dict[str, Rule]:
        """What the provider demands and a request can show, by id."""

    # ------------------------------------------------------------ reading

    @abstractmethod
    def recognises(self, body: bytes, members: Mapping[str, bytes]) -> int:
        """Say how sure it is that a body is of this format: 0 not at all, 100 certain."""

    @abstractmethod
    def outlines(self, body: bytes, history: Span, spans: Sequence[Span]) -> list[Outline]:
        """Say of each message who speaks and which calls it opens and answers.

        Args:
            body: The whole body.
            history: Where the list of messages lies in it, with its brackets.
            spans: Where each message lies in it.
        """

    @abstractmethod
    def parts(self, message: bytes) -> tuple[Part, ...]:
        """Decode a message. What is not understood becomes :class:`Opaque`; nothing raises."""

    def context_start(self, body: bytes, spans: Sequence[Span], start: int) -> int:  # noqa: ARG002 - for formats with an id in each message
        """Say where :meth:`outlines` must begin so that a message's outline comes out right.

        Args:
            body: The whole body.
            spans: Where each message lies in it.
            start: Place of the message.
        """
        return start

    def linked(self, parts: tuple[Part, ...], outline: Outline) -> tuple[Part, ...]:  # noqa: ARG002 - the same
        """Give the parts of a message the ids that only its neighbours tell."""
        return parts

    @abstractmethod
    def surface(self, members: Mapping[str, bytes]) -> Surface:
        """Decode the request apart from its messages."""

    @abstractmethod
    def constraints(self, request: Request) -> Constraints:
        """Tell the neutral code what this request forbids."""

    @abstractmethod
    def manners(self, members: Mapping[str, bytes]) -> Constraints:
        """Tell what of :meth:`constraints` depends on no message."""

    @abstractmethod
    def answer_tokens(self, members: Mapping[str, bytes]) -> int | None:
        """Say how many tokens the answer may have at most; None where the request does not say."""

    @abstractmethod
    def surface_forms(self, members: Mapping[str, bytes]) -> SurfaceForms:
        """Say what the surface is, without what a client moves or varies from turn to turn."""

    # ------------------------------------------------------------ writing

    @abstractmethod
    def part_paths(self, message: bytes) -> list[Path]:
        """Lead to each part, in the order of :meth:`parts`."""

    @abstractmethod
    def text_path(self, message: bytes, part: int) -> Path:
        """Lead to the words of a text part."""

    @abstractmethod
    def arguments_splice(self, message: bytes, part: int, arguments: str) -> Splice:
        """Put other arguments, which are JSON text, into a tool call."""

    @abstractmethod
    def result_path(self, message: bytes, part: int) -> Path:
        """Lead to the content of a tool result: a string or a list of blocks."""

    @abstractmethod
    def encode_block(self, block: ResultContent) -> Mapping[str, object]:
        """Encode a block of a tool result that we made."""

    @abstractmethod
    def encode(self, message: Message, cache_marker: bytes | None = None) -> list[bytes]:
        """Encode a message that we made; it may take several on the wire.

        Args:
            message: What we made.
            cache_marker: A cache marker of the client, as JSON text, whose
                message it stands for; it goes onto its last block.
        """

    @abstractmethod
    def append_text(self, message: bytes, text: str, cache_marker: bytes | None = None) -> bytes:
        """Make a text the last part of a user message, whose own content stays."""

    @abstractmethod
    def cache_markers(self, message: bytes) -> list[bytes]:
        """Find the client's cache markers in a message, as JSON text, in order."""

    def marker_rules(self, request: Request, model: str, life: CacheLife) -> MarkerRules | None:  # noqa: ARG002 - for formats with nothing to set
        """Say how cache markers can be set in a request.

        Args:
            request: The request.
            model: The model that it is for.
            life: How long a marked prefix is to be kept, where that can be said.

        Returns:
            None where nothing can be set.
        """
        return None

    @abstractmethod
    def body(self, messages: Sequence[Message], setup: Setup) -> dict[str, Any]:
        """Make a body for messages that have no bytes yet, ready to be encoded."""

    # ------------------------------------------------------ the last word

    @abstractmethod
    def complete(self, request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:
        """Add to a plan what its cuts entail here, or refuse it.

        Args:
            request: What the plan changes.
            plan: The neutral plan.
            headers_settable: Whether a header can be sent along.
        """

    def needed_headers(
        self,
        members: Mapping[str, bytes],  # noqa: ARG002 - for formats that need none
    ) -> Sequence[tuple[str, str, str]]:
        """Say which headers the parameters of a request need.

        Returns:
            For each: its name in lower case, what must be in it, and what the
            provider says where it is not.
        """
        return ()

    def drops_unfit(self, members: Mapping[str, bytes]) -> bool:  # noqa: ARG002 - the same
        """Whether the provider is asked to drop signed reasoning that does not fit."""
        return False

    def soften(self, request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:  # noqa: ARG002 - for formats that sign nothing
        """Say what may still be sent where the provider refused signed reasoning behind edits.

        Args:
            request: What the plan changes.
            plan: What was refused; its edits were taken before.
            headers_settable: Whether a header can be sent along.
        """
        return Forbidden("nothing else can be sent in its place")

    @abstractmethod
    def check(self, body: dict[str, Any], findings: Findings) -> None:
        """Note every rule that a decoded body breaks."""

    # ------------------------------------------------- the same for all

    def canonical(self, message: bytes) -> bytes:
        """The bytes that make a message the same message on a later turn.

        Cache markers are taken out, for clients move them; and one text block
        alone is the bare string that it stands for.

        Args:
            message: JSON text of one message.

        Returns:
            JSON text; the message itself where there is nothing to take out,
            or where it is not understood.
        """
        try:
            if self.may_hold_markers(message):
                message = splice(message, self._marker_splices(message))
            if may_be_bare(message, 0, len(message)):
                plain = _LONE.fullmatch(message)
                if plain:
                    return b"".join(plain.groups())
                message = splice(message, _bare(message))
        except MalformedBodyError:
            pass
        return message

    def may_hold_markers(self, text: bytes) -> bool:
        """Whether there can be a cache marker in a JSON text; a word that looks like one counts too."""
        return any(key in text for key in self._quoted_marker_keys)

    def without_markers(self, array: bytes) -> bytes:
        """A JSON array of blocks or tools without their cache markers."""
        if not self.may_hold_markers(array):
            return array
        try:
            return splice(array, self._block_splices(array, (0, len(array))))
        except MalformedBodyError:
            return array

    def unmarked(self, message: bytes) -> bytes:
        """A message without its cache markers; all else keeps its bytes."""
        if not self.may_hold_markers(message):
            return message
        try:
            return splice(message, self._marker_splices(message))
        except MalformedBodyError:
            return message

    def bare_type(self, message: Mapping[str, bytes]) -> bytes:  # noqa: ARG002 - for formats with a type for each side
        """Say of which type the text block is that a bare string stands for, as JSON text.

        Args:
            message: The JSON text of each member of its message, by key.
        """
        return b'"text"'

    def can_hold_marker(self, block: Mapping[str, bytes]) -> bool:
        """Whether a cache marker may stand on a block.

        Args:
            block: The JSON text of each of its members, by key.
        """
        kind = block.get("type", b"")
        return kind not in _NEVER_MARKED and (kind != b'"text"' or block.get("text") != b'""')

    def _marker_splices(self, message: bytes) -> list[Splice]:
        spans = object_spans(message)
        inner = [spans[key] for key in self.block_fields if key in spans]
        return [cut for span in inner for cut in self._block_splices(message, span)]

    def _block_splices(self, text: bytes, array: Span) -> list[Splice]:
        """What to cut out of an array of blocks, and out of the arrays that they hold as content."""
        if text[array[0] : array[0] + 1] != b"[":
            return []
        splices: list[Splice] = []
        for low, high in array_spans(text[slice(*array)]):
            block = text[array[0] + low : array[0] + high]
            if block[:1] != b"{":
                continue
            inner = object_spans(block).get("content")
            found = drop_members(block, self.marker_keys)
            found += [] if inner is None else self._block_splices(block, inner)
            splices += shifted(found, array[0] + low)
        return splices

    def edit_message(
        self,
        message: bytes,
        parts: Sequence[Part],
        dropped: frozenset[int],
        replaced: Mapping[int, Part],
    ) -> list[Splice]:
        """Say what to splice into a message so that some of its parts change or go."""
        paths = self.part_paths(message)
        arrays: dict[Path, tuple[Span, list[Span]]] = {}
        splices: list[Splice] = []
        for place, new in replaced.items():
            path = paths[place]
            if len(path) == 2 and isinstance(path[1], int):
                span = _array(message, path[:1], arrays)[1][path[1]]
                splices += self._replace_alone(message, str(path[0]), span, parts[place], new)
            else:
                splices += self._replace(message, place, parts[place], new)
        gone: dict[Path, list[int]] = {}
        for place in dropped:
            *array, element = paths[place]
            if isinstance(element, str):  # the whole content; something else is about to join it
                splices.append((*locate(message, (element,)), b"[]"))
            else:
                gone.setdefault(tuple(array), []).append(element)
        for path, elements in gone.items():
            splices += drop_elements(*_array(message, path, arrays), elements)
        return splices

    def part_path(self, message: bytes, part: int) -> Path:
        """Lead to one part, by its place in :meth:`parts`."""
        return self.part_paths(message)[part]

    def _replace_alone(
        self, message: bytes, key: str, span: Span, old: Part, new: Part
    ) -> list[Splice]:
        """Replace one of many parts, without looking at the others each time."""
        before = b'{"%b":[' % key.encode()
        alone = before + message[slice(*span)] + b"]}"
        return shifted(self._replace(alone, 0, old, new), span[0] - len(before))

    def _replace(self, message: bytes, place: int, old: Part, new: Part) -> list[Splice]:
        match old, new:
            case Text(), Text():
                return [(*locate(message, self.text_path(message, place)), dump(new.text))]
            case ToolCall(), ToolCall():
                return [self.arguments_splice(message, place, new.arguments)]
            case ToolResult(), ToolResult():
                path = self.result_path(message, place)
                return replace_result(message, path, old, new, self.encode_block)
            case _:
                kinds = f"{type(old).__name__} by {type(new).__name__}"
                raise TypeError(f"an edit cannot replace {kinds}")


_NEVER_MARKED = (b'"thinking"', b'"redacted_thinking"')


_NOT_BARE = re.compile(
    rb'\s*\{\s*(?:"\w+"\s*:\s*"[^"\\]*"\s*,\s*)*?"content"\s*:\s*'
    rb'(?:"|\[\s*\{\s*"type"\s*:\s*"(?!text"))'
)
"""How a message begins whose content is a string, or a list that begins with no text."""


_LONE = re.compile(
    rb'(\s*\{\s*(?:"\w+"\s*:\s*"[^"\\]*"\s*,\s*)*?"content"\s*:\s*)'
    rb'\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*'
    rb'("[^"\\]*+(?:\\.[^"\\]*+)*+")\s*\}\s*\](\s*\}\s*)',
    re.DOTALL,
)
"""A message whose content is one text block, in the spelling that nearly all clients use."""


_TYPE = re.compile(rb'"type"\s*:')


def may_be_bare(body: bytes, start: int, stop: int) -> bool:
    """Whether a message may hold one text block alone, told without reading it."""
    if _NOT_BARE.match(body, start):
        return False
    first = _TYPE.search(body, start, stop)
    return first is not None and _TYPE.search(body, first.end(), stop) is None


def _bare(message: bytes) -> list[Splice]:
    """What makes a bare string of a text block that is the whole content."""
    content = object_spans(message).get("content")
    if content is None or message[content[0] : content[0] + 1] != b"[":
        return []
    elements = array_spans(message[slice(*content)])
    if len(elements) != 1:
        return []
    block = message[content[0] + elements[0][0] : content[0] + elements[0][1]]
    members = {key: block[low:high] for key, (low, high) in object_spans(block).items()}
    if members.keys() != {"type", "text"} or members["type"] != b'"text"':
        return []
    return [(*content, members["text"])]


def _array(
    message: bytes, path: Path, known: dict[Path, tuple[Span, list[Span]]]
) -> tuple[Span, list[Span]]:
    """An array inside a message and its elements, looked for once."""
    if path not in known:
        known[path] = element_spans(message, path)
    return known[path]


def shifted(splices: Sequence[Splice], by: int) -> list[Splice]:
    """The same splices in a text in which theirs begins at a place."""
    return [(start + by, stop + by, new) for start, stop, new in splices]


def element_spans(text: bytes, path: Path) -> tuple[Span, list[Span]]:
    """Find an array inside a JSON value, and its elements, in the value's own offsets."""
    start, stop = locate(text, path)
    return (start, stop), [
        (start + low, start + high) for low, high in array_spans(text[start:stop])
    ]


def replace_result(
    message: bytes,
    path: Path,
    old: ToolResult,
    new: ToolResult,
    encode: Callable[[ResultContent], Mapping[str, object]],
) -> list[Splice]:
    """Say what to splice so that a tool result has other content; equal blocks keep their bytes."""
    if not new.content or first_byte(message, path) != b"[":
        return [put_member(message, path, _encode_content(new.content, encode))]
    span, elements = element_spans(message, path)
    if len(elements) == len(new.content) == len(old.content):
        return [
            _text_splice(message, element, block.text)
            if isinstance(block, Text) and isinstance(before, Text)
            else (*element, dump(encode(block)))
            for element, block, before in zip(elements, new.content, old.content, strict=True)
            if block != before
        ]
    unused = list(zip(old.content, elements, strict=True))
    blocks: list[bytes] = []
    for block in new.content:
        kept = next((pair for pair in unused if pair[0] == block), None)
        if kept is None:
            blocks.append(dump(encode(block)))
        else:
            unused.remove(kept)
            blocks.append(message[slice(*kept[1])])
    return [(*span, b"[" + b",".join(blocks) + b"]")]


def _text_splice(message: bytes, block: Span, text: str) -> Splice:
    """Say what to splice so that a block has other words, looking at that block alone."""
    start, stop = locate(message[slice(*block)], ("text",))
    return (block[0] + start, block[0] + stop, dump(text))


def _encode_content(
    content: Sequence[ResultContent], encode: Callable[[ResultContent], Mapping[str, object]]
) -> bytes:
    """Encode the content of a tool result: a string, where words are all it holds."""
    words = [block.text for block in content if isinstance(block, Text)]
    if len(words) == len(content):
        return dump("\n".join(words))
    return dump([encode(block) for block in content])


def first_byte(message: bytes, path: Path) -> bytes:
    """The byte that tells what kind of value a path leads to; none where it leads nowhere."""
    try:
        start, _ = locate(message, path)
    except MalformedBodyError:
        return b""
    return message[start : start + 1]


def put_member(message: bytes, path: Path, new: bytes) -> Splice:
    """Say what to splice so that an object inside a message has a member, a path's last key."""
    start, stop = locate(message, path[:-1])
    members = object_spans(message[start:stop])
    if path[-1] in members:
        return (*locate(message, path), new)
    spans = [(start + low, start + high) for low, high in members.values()]
    return insert_element((start, stop), spans, dump(path[-1]) + b":" + new)


def append_element(message: bytes, path: Path, new: bytes) -> bytes:
    """Put one more element at the end of an array inside a message."""
    array, elements = element_spans(message, path)
    start, stop, put = insert_element(array, elements, new)
    return message[:start] + put + message[stop:]


def element_keys(array: bytes) -> frozenset[str]:
    """The keys of all objects in a JSON array; none where it is no array of objects."""
    try:
        elements = [array[low:high] for low, high in array_spans(array)]
        return frozenset(key for element in elements for key in object_spans(element))
    except MalformedBodyError:
        return frozenset()


def opaque(kind: str, raw: bytes) -> Opaque:
    """Hold something that is not understood, whole."""
    return Opaque(kind, raw.decode("utf-8", "surrogateescape"))
