"""For your own tests: conversations, a model that answers by rote, and a provider that is strict.

::

    provider = FakeProvider("openai-chat", ScriptedModel(["hello", ToolCall("c1", "read", "{}")]))
    talk = Conversation("openai-chat", "gpt-5.2").user("hi")
    answer = provider.send(talk.body())
    answer.status, answer.json["usage"]

The provider refuses what the rules refuse, in the real one's words; it counts
tokens, keeps a prompt cache by its rules, and streams where it is asked to.
It never waits, and its clock is yours: :attr:`FakeProvider.now`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from trimtab.errors import RequestError
from trimtab.messages import Message, Part, Surface, Text, Thinking, Tool, ToolCall
from trimtab.summary import Summary, SummaryRequest
from trimtab.tokens import CharTokenCounter, Measure, TokenCounter
from trimtab.usage import Usage
from trimtab.wire import (
    Answer,
    Request,
    build,
    check,
    read,
    stream_answer,
    write_answer,
    write_error,
)
from trimtab.wire.answers import overflow_words

__all__ = ["Conversation", "FakeAnswer", "FakeProvider", "ScriptedModel"]

Json: TypeAlias = dict[str, Any]

_CACHE_SECONDS = 300.0
"""How long a prefix is kept that nobody reads: five minutes, by the providers' documentation."""

_LEAST_CACHED_TOKENS = 1024
"""Shorter prefixes are not cached; what most models have."""

_LOOK_BACK_BLOCKS = 20
"""How far Anthropic looks back from a breakpoint for something that it has."""


class Conversation:
    """Builds a conversation, and the request that it makes.

    Args:
        format: Name of the wire format.
        model: The model's id.
        system: The system prompt; empty for none.
        tools: Names of the tools that are offered; those that are called are offered anyway.
    """

    def __init__(
        self,
        format: str,  # noqa: A002 - the word for it
        model: str = "",
        *,
        system: str = "",
        tools: Sequence[str] = (),
    ) -> None:
        self.format = format
        self.messages: list[Message] = []
        offered = tuple(Tool(name) for name in tools)
        prompt = (Text(system),) if system else ()
        self._surface = Surface(model, prompt, offered)
        self._calls = 0

    def user(self, text: str) -> Conversation:
        """The user says something."""
        self.messages.append(Message.user(text))
        return self

    def assistant(self, *parts: str | Part) -> Conversation:
        """The model answers."""
        self.messages.append(Message.assistant(*parts))
        return self

    def tool(
        self, name: str, result: str, arguments: str = "{}", *, is_error: bool = False
    ) -> Conversation:
        """The model calls a tool, and the tool answers."""
        self._calls += 1
        call_id = f"call_{self._calls}"
        self.messages.append(Message.assistant(ToolCall(call_id, name, arguments)))
        self.messages.append(Message.tool(call_id, result, is_error=is_error))
        return self

    def body(self) -> bytes:
        """The request that sends all of it."""
        return build(self.messages, self.format, surface=self._surface)


class ScriptedModel:
    """A model that answers by rote; it also sums up, the same way.

    Args:
        script: Its answers in order: a text, a part such as a tool call, or several. When they
            are used up, the last is repeated.

    Attributes:
        asked: How often it was asked.
        summary_requests: What it was asked to sum up, in order.
    """

    def __init__(self, script: Sequence[str | Part | Sequence[str | Part]] = ("ok",)) -> None:
        if not script:
            raise ValueError("a script needs at least one answer")
        self._script = [_parts(entry) for entry in script]
        self.asked = 0
        self.summary_requests: list[SummaryRequest] = []

    def answer(self) -> tuple[Part, ...]:
        """The next answer; the ids of calls are made unique."""
        parts = self._script[min(self.asked, len(self._script) - 1)]
        self.asked += 1
        if self.asked <= len(self._script):
            return parts
        return tuple(
            ToolCall(f"{part.id}_{self.asked}", part.name, part.arguments)
            if isinstance(part, ToolCall)
            else part
            for part in parts
        )

    async def summarize(self, request: SummaryRequest) -> Summary:
        """The words of the next answer, as a summary that is complete."""
        self.summary_requests.append(request)
        parts = self.answer()
        return Summary(
            "\n".join(part.text for part in parts if isinstance(part, Text)),
            stop_reason="stop",
            model="scripted",
            tool_calls=sum(isinstance(part, ToolCall) for part in parts),
        )


def _parts(entry: str | Part | Sequence[str | Part]) -> tuple[Part, ...]:
    if isinstance(entry, str):
        return (Text(entry),)
    if isinstance(entry, Sequence):
        return tuple(part for inner in entry for part in _parts(inner))
    return (entry,)


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    """What came back.

    Attributes:
        status: HTTP status; 200 for an answer.
        pieces: The body: one piece, or one for each event of a stream.
        usage: What was billed; None for a refusal.
    """

    status: int
    pieces: tuple[bytes, ...] = field(repr=False)
    usage: Usage | None = None

    @property
    def body(self) -> bytes:
        """All pieces together."""
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON is whatever it is
        """The body as JSON, where it is no stream."""
        return json.loads(self.body)


class FakeProvider:
    """Takes requests as a provider does, and refuses what it refuses.

    Args:
        format: Name of the wire format.
        model: Answers.
        window_tokens: Tokens of input and answer that fit.
        counter: Counts; None for characters.

    Attributes:
        now: Its clock, in seconds. Yours to move.
        requests: Every body that came, in order.
    """

    def __init__(
        self,
        format: str,  # noqa: A002 - the word for it
        model: ScriptedModel | None = None,
        *,
        window_tokens: int = 200_000,
        counter: TokenCounter | None = None,
    ) -> None:
        self.format = format
        self.window_tokens = window_tokens
        self.now = 0.0
        self.requests: list[bytes] = []
        self._model = model or ScriptedModel()
        self._counter = counter or CharTokenCounter()
        self._cached: dict[bytes, float] = {}  # a prefix, and when it was last used
        self._signed: dict[str, bytes] = {}  # a signature, and the prefix that it stands for

    def send(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, model: str = ""
    ) -> FakeAnswer:
        """Take a request.

        Args:
            body: The request.
            headers: Its headers; a parameter that needs one is refused without.
            model: The model, where the address names it.
        """
        self.requests.append(body)
        try:
            request = read(body, self.format)
        except RequestError as error:
            return self._refused(400, str(error))
        problems = check(body, self.format)
        if problems:
            first = problems[0]
            told = first.refusal or first.message
            return self._refused(400, f"{first.path}: {told}" if first.path else told)
        if refusal := self._header_refusal(request, headers or {}):
            return self._refused(400, refusal)
        prefix = _Prefix.of(request, Measure(self._counter, request.model or model))
        if refusal := self._signature_refusal(request, prefix):
            return self._refused(400, refusal)
        if prefix.tokens > self.window_tokens:
            told = overflow_words(self.format, prefix.tokens, self.window_tokens)
            return self._refused(400, told)
        return self._answer(request, prefix, request.model or model)

    def _refused(self, status: int, message: str) -> FakeAnswer:
        return FakeAnswer(status, (write_error(self.format, status, message),))

    def _header_refusal(self, request: Request, headers: Mapping[str, str]) -> str:
        given = {name.lower(): value for name, value in headers.items()}
        for name, value, refusal in request.format.needed_headers(request.members):
            if value not in given.get(name, ""):
                return refusal
        return ""

    def _signature_refusal(self, request: Request, prefix: _Prefix) -> str:
        """Where signed thinking stands behind another prefix than it was made for."""
        if not request.manners.binds_thinking or request.format.drops_unfit(request.members):
            return ""
        for place, message in enumerate(request.messages):
            for number, part in enumerate(message.parts if message.role == "assistant" else ()):
                if isinstance(part, Thinking) and self._is_unfit(part, prefix.links[place]):
                    return (
                        f"messages.{place}.content.{number}: Invalid `signature` in `thinking` "
                        "block. The block is bound to a different conversation."
                    )
        return ""

    def _is_unfit(self, part: Thinking, before: bytes) -> bool:
        return self._signed.get(part.opaque, before) != before

    def _answer(self, request: Request, prefix: _Prefix, model: str) -> FakeAnswer:
        read_tokens, written_tokens = self._cache(request, prefix)
        parts = tuple(self._sign(part, prefix.links[-1]) for part in self._model.answer())
        measure = Measure(self._counter, model)
        usage = Usage(
            fresh=prefix.tokens - read_tokens - written_tokens,
            cache_read=read_tokens,
            cache_write=written_tokens,
            output=max(1, measure.parts(parts)),
        )
        is_calling = any(isinstance(part, ToolCall) for part in parts)
        answer_id = f"fake_{self._model.asked}"
        answer = Answer(answer_id, model, parts, "calls" if is_calling else "end", usage)
        if json.loads(request.body).get("stream") is True:
            return FakeAnswer(200, tuple(stream_answer(answer, self.format)), usage)
        return FakeAnswer(200, (write_answer(answer, self.format),), usage)

    def _sign(self, part: Part, before: bytes) -> Part:
        """Sign thinking that the script left unsigned."""
        if not isinstance(part, Thinking) or part.opaque:
            return part
        signature = sha256(before + part.text.encode()).hexdigest()
        self._signed[signature] = before
        return Thinking(part.text, signature, part.is_redacted)

    def _cache(self, request: Request, prefix: _Prefix) -> tuple[int, int]:
        """What is read from the cache and what is written to it, in tokens."""
        held = {link for link, used in self._cached.items() if self.now - used <= _CACHE_SECONDS}
        points = list(self._write_points(request, prefix))
        hits = [place for place in self._read_points(prefix, points) if prefix.links[place] in held]
        found = max(hits, default=0)
        read_tokens = prefix.sizes[found] if found else 0
        for place in [*points, found]:
            if prefix.sizes[place] >= _LEAST_CACHED_TOKENS:
                self._cached[prefix.links[place]] = self.now
        written = max((prefix.sizes[place] for place in points), default=0)
        if not request.format.marker_keys or written < _LEAST_CACHED_TOKENS:
            return read_tokens, 0
        return read_tokens, max(0, written - read_tokens) if self._has_markers(request) else 0

    def _has_markers(self, request: Request) -> bool:
        return request.format.may_hold_markers(request.body)

    def _write_points(self, request: Request, prefix: _Prefix) -> Iterator[int]:
        """Places behind which the prefix is kept: breakpoints, or everywhere where none are needed."""
        if not request.format.caches_at_markers:
            yield from range(1, len(prefix.links))
            return
        for place in range(len(request.spans)):
            if request.format.cache_markers(request.message_bytes(place)):
                yield place + 1

    def _read_points(self, prefix: _Prefix, points: Sequence[int]) -> Iterator[int]:
        """Places where something kept can be found: at a breakpoint, or a few blocks before it."""
        for point in points:
            blocks = 0
            for place in range(point, 0, -1):
                yield place
                blocks += prefix.blocks[place - 1]
                if blocks >= _LOOK_BACK_BLOCKS:
                    break


@dataclass(frozen=True, slots=True)
class _Prefix:
    """A request as the cache sees it; element k stands for the surface and k messages."""

    links: tuple[bytes, ...]
    sizes: tuple[int, ...]
    blocks: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return self.sizes[-1]

    @classmethod
    def of(cls, request: Request, measure: Measure) -> _Prefix:
        link = sha256(b"\0".join(request.format.surface_forms(request.members))).digest()
        size = measure.surface(request.surface)
        links, sizes, blocks = [link], [size], []
        for form, message in zip(request.forms(), request.messages, strict=True):
            link = sha256(link + bytes(form)).digest()
            size += measure.message(message)
            links.append(link)
            sizes.append(size)
            blocks.append(max(1, len(message.parts)))
        return cls(tuple(links), tuple(sizes), tuple(blocks))
