"""A conversation in an agent's own words, as neutral messages.

For logs that do not hold the bytes that were sent. The format writes a body
(:func:`trimtab.wire.build`) when somebody asks for it; until then a request
holds no more than the list of messages and how many of them were sent.

A call is answered before anything else is said, as every provider demands;
what a log does not show gets a stand-in that says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from trimtab.messages import (
    Message,
    Part,
    Role,
    Surface,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from trimtab.replay.answers import (
    INTERRUPTED,
    NO_CALL,
    NO_MESSAGE,
    NO_RESULT,
    STAND_IN,
    Answer,
    Notes,
)
from trimtab.replay.json_lines import Bytes, string
from trimtab.replay.recording import RecordedRequest
from trimtab.wire import build
from trimtab.wire.format import Encoded

__all__ = ["Call", "Talk", "result_of", "said", "words"]

_MAX_TOKENS = 32_000


class Call(NamedTuple):
    """A call of a tool as a log holds it.

    Attributes:
        call_id: Which it is.
        name: Which tool is called.
        arguments: With what, as JSON text.
    """

    call_id: str | None
    name: str | None
    arguments: Bytes

    @property
    def part(self) -> ToolCall:
        """The call as it is sent."""
        arguments = bytes(self.arguments).decode("utf-8", "replace")
        return ToolCall(self.call_id or "", self.name or "", arguments)


class _Said(NamedTuple):
    """A message, and the format of the provider whose reasoning is in it."""

    message: Message
    wire_format: str


class Talk:
    """A conversation in an agent's own words.

    Attributes:
        notes: What had to be guessed.
        tools: Names of the tools, in the order in which they were met.
        system: What the model is told beforehand, from now on.
    """

    def __init__(self, notes: Notes, tools: dict[str, None]) -> None:
        self.notes = notes
        self.tools = tools
        self.system = ""
        self._said: list[_Said] = []
        self._encoded: dict[str, Encoded] = defaultdict(dict)
        self._size = 0
        self._open: dict[str, None] = {}
        self._is_answered = True

    @property
    def count(self) -> int:
        """How many messages were said."""
        return len(self._said)

    def say(self, role: Role, load: Callable[[], Sequence[Part]], size: int) -> None:
        """The user says something, or instructions are given.

        Args:
            role: Who.
            load: Makes the parts when somebody looks.
            size: About how large they are.
        """
        self._close()
        self._append(Message.deferred(role, _once(load)), size)
        self._is_answered = False

    def answer(
        self,
        load: Callable[[], Sequence[Part]],
        calls: Iterable[tuple[str, str]],
        size: int,
        wire_format: str,
    ) -> None:
        """The model answers.

        Args:
            load: Makes the parts when somebody looks.
            calls: Id and name of each call in it.
            size: About how large they are.
            wire_format: The format of the provider, whose reasoning is in it.
        """
        self._close()
        named = dict(calls)
        self.tools.update(dict.fromkeys(named.values()))
        message = Message.deferred("assistant", _once(load), call_ids=tuple(named))
        self._append(message, size, wire_format)
        self._open = dict.fromkeys(named)
        self._is_answered = True

    def reply(self, text: Bytes, calls: Sequence[Call], size: int, wire_format: str) -> None:
        """The model answers with a text and calls.

        Args:
            text: What it says, as a JSON string; anything else says nothing.
            calls: What it calls, in order.
            size: About how large both are.
            wire_format: The format of the provider.
        """
        named = [(call.call_id or "", call.name or "") for call in calls]
        self.answer(partial(_reply, text, calls), named, size, wire_format)

    def result(self, call_id: str, load: Callable[[], ToolResult], size: int) -> int | None:
        """A tool answers. Returns the place of the message; None where nothing was called."""
        if call_id not in self._open:
            self.notes[NO_CALL] += 1
            return None
        del self._open[call_id]
        self._append(_result_message(call_id, load), size)
        self._is_answered = False
        return len(self._said) - 1

    def replace_result(self, place: int, call_id: str, load: Callable[[], ToolResult]) -> None:
        """From now on another result is sent; requests made so far keep theirs."""
        self._said = list(self._said)
        self._said[place] = _Said(_result_message(call_id, load), "")

    def request(
        self, wire_format: str, answer: Answer, unrecorded: frozenset[str]
    ) -> RecordedRequest:
        """Make a request of all that was said so far.

        Args:
            wire_format: Name of the format.
            answer: What answered.
            unrecorded: What the log does not hold; the model, where the answer names none, too.
        """
        self._close()
        if self._is_answered:
            self.notes[NO_MESSAGE] += 1
            self.say("user", partial(words, STAND_IN), len(STAND_IN))
        count = len(self._said)
        return RecordedRequest(
            format=wire_format,
            build=partial(
                _talk_body,
                self._said,
                count,
                wire_format,
                answer.model,
                self.system,
                self.tools,
                self._encoded[wire_format],
            ),
            size_bytes=self._size + len(self.system),
            message_count=count,
            model=answer.model,
            usage=answer.usage,
            at=answer.at,
            unrecorded=unrecorded if answer.model else unrecorded | {"model"},
        )

    def _append(self, message: Message, size: int, wire_format: str = "") -> None:
        self._said.append(_Said(message, wire_format))
        self._size += size

    def _close(self) -> None:
        """Answer the calls that nobody answered."""
        for call_id in self._open:
            self.notes[NO_RESULT] += 1
            result = ToolResult(call_id, (Text(INTERRUPTED),), is_error=True)
            self._append(_result_message(call_id, lambda result=result: result), len(INTERRUPTED))  # type: ignore[misc]
            self._is_answered = False
        self._open = {}


def _result_message(call_id: str, load: Callable[[], ToolResult]) -> Message:
    parts = _once(lambda: (load(),))
    return Message.deferred("tool", parts, result_ids=(call_id,), has_own_words=False)


def _once(load: Callable[[], Sequence[Part]]) -> Callable[[], tuple[Part, ...]]:
    """Decode parts when somebody looks first: a body of each request looks at all of them."""
    return cache(lambda: tuple(load()))


def words(*texts: str) -> list[Part]:
    """Make parts of texts."""
    return [Text(text) for text in texts]


def said(text: Bytes) -> list[Part]:
    """Make parts of a JSON string; anything else is an empty text."""
    return words(string(text))


def result_of(call_id: str | None, text: str, *, is_error: bool = False) -> ToolResult:
    """Make a result of a text; an empty one has no content."""
    return ToolResult(call_id or "", (Text(text),) if text else (), is_error=is_error)


def _reply(text: Bytes, calls: Iterable[Call]) -> list[Part]:
    spoken = string(text)
    return [*(words(spoken) if spoken else ()), *(call.part for call in calls)]


def _talk_body(
    said: Sequence[_Said],
    count: int,
    wire_format: str,
    model: str,
    system: str,
    tools: Mapping[str, None],
    encoded: Encoded,
) -> bytes:
    messages = [
        each.message if each.wire_format in ("", wire_format) else _without_thinking(each.message)
        for each in said[:count]
    ]
    surface = Surface(
        model=model or "unknown",
        system=(Text(system),) if system else (),
        tools=tuple(Tool(name) for name in tools),
    )
    return build(messages, wire_format, surface=surface, max_tokens=_MAX_TOKENS, encoded=encoded)


def _without_thinking(message: Message) -> Message:
    """Leave out reasoning that another provider signed."""
    return Message(message.role, [part for part in message.parts if not isinstance(part, Thinking)])
