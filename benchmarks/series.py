"""The sizes of recorded sessions: what each request weighed, and what was billed for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from trimtab import Message, RequestError, Text, ToolResult, Usage, counter_for, message_bytes
from trimtab.replay import files
from trimtab.replay.paths import files_in
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.tokens import BpeTokenCounter, CharTokenCounter, Measure
from trimtab.wire import read

__all__ = ["Series", "Size", "Step", "recorded"]

SINGLE = ("http-exchanges", "litellm-log")
"""Kinds that hold requests of many conversations: none of them goes on."""


@dataclass(frozen=True, slots=True)
class Size:
    """What some messages weigh.

    Attributes:
        bytes: As :func:`trimtab.message_bytes` has it.
        characters: Characters of their texts, arguments and results.
        counted: Tokens by the best counter for the model, what frames messages included.
        by_characters: Tokens by :class:`trimtab.CharTokenCounter`, the same way.
        o200k: Tokens by that vocabulary, whatever the model is.
        messages: How many there are.
    """

    bytes: int = 0
    characters: int = 0
    counted: int = 0
    by_characters: int = 0
    o200k: int = 0
    messages: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            self.bytes + other.bytes,
            self.characters + other.characters,
            self.counted + other.counted,
            self.by_characters + other.by_characters,
            self.o200k + other.o200k,
            self.messages + other.messages,
        )


@dataclass(frozen=True, slots=True)
class Step:
    """One request that was billed.

    Attributes:
        model: What answered.
        usage: What was billed.
        surface: Tokens of what the recording holds of system prompt and tools, by o200k.
        whole: All its messages.
        answer: The answer to the request before it, as it is sent back; nothing for the first.
        rest: All else that was not in the request before it.
        is_cut: Whether something of the request before it is gone.
    """

    model: str
    usage: Usage
    surface: int
    whole: Size
    answer: Size
    rest: Size
    is_cut: bool

    @property
    def tokens(self) -> int:
        """Its total input."""
        return self.usage.total_input


@dataclass(frozen=True, slots=True)
class Series:
    """A session.

    Attributes:
        kind: What wrote it.
        name: Which it is.
        steps: Its requests that were billed, in order.
    """

    kind: str
    name: str
    steps: tuple[Step, ...]


@cache
def recorded(folder: Path) -> tuple[Series, ...]:
    """Read all sessions below a folder that tell what was billed for more than one request.

    Raises:
        FileNotFoundError: If there is no such folder.
    """
    if not folder.exists():
        raise FileNotFoundError(f"there is no folder {folder}")
    found = [
        Series(recording.kind, recording.name, tuple(_steps(recording)))
        for path in files_in([folder])
        for recording in _load(path)
        if recording.kind not in SINGLE
    ]
    return tuple(series for series in found if len(series.steps) > 1)


def _load(path: Path) -> list[Recording]:
    try:
        return files.load(path.read_bytes(), path.name)
    except RequestError:
        return []


def _steps(recording: Recording) -> Iterator[Step]:
    scales: dict[str, _Scale] = {}
    before: list[bytes] = []
    for request in recording.requests:
        if request.usage is None or not request.usage.total_input:
            continue
        scale = scales.setdefault(request.model, _Scale(request.model))
        names, sizes, surface = scale.weigh(request)
        common = _common(before, names)
        new = [sizes[name] for name in names[common:]]
        yield Step(
            request.model,
            request.usage,
            surface,
            _sum(sizes[name].size for name in names),
            _sum(each.size for each in new if each.is_answer),
            _sum(each.size for each in new if not each.is_answer),
            common < len(before),
        )
        before = names


def _common(before: Sequence[bytes], names: Sequence[bytes]) -> int:
    pairs = zip(before, names, strict=False)
    return next(
        (place for place, (old, new) in enumerate(pairs) if old != new),
        min(len(before), len(names)),
    )


def _sum(sizes: Iterable[Size]) -> Size:
    return sum(sizes, Size())


@dataclass(frozen=True, slots=True)
class _Weighed:
    size: Size
    is_answer: bool


class _Scale:
    """Weighs the messages of a session, each once."""

    def __init__(self, model: str) -> None:
        self._best = Measure(counter_for(model), model)
        self._characters = Measure(CharTokenCounter(), model)
        self._o200k = Measure(BpeTokenCounter("o200k_base"), model)
        self._weighed: dict[bytes, _Weighed] = {}

    def weigh(
        self, recorded_request: RecordedRequest
    ) -> tuple[list[bytes], Mapping[bytes, _Weighed], int]:
        """Names of its messages in order, what is behind the names, and tokens of the surface."""
        request = read(recorded_request.build(), recorded_request.format or None)
        names = [
            sha256(request.message_bytes(place)).digest() for place in range(len(request.spans))
        ]
        for place, name in enumerate(names):
            if name not in self._weighed:
                self._weighed[name] = self._message(request.message(place).decoded())
        return names, self._weighed, self._o200k.surface(request.surface)

    def _message(self, message: Message) -> _Weighed:
        size = Size(
            message_bytes([message]),
            sum(map(len, _words(message))),
            self._best.message(message),
            self._characters.message(message),
            self._o200k.message(message),
            1,
        )
        return _Weighed(size, message.role == "assistant")


def _words(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text() | ToolResult():
                yield part.text
            case _:
                yield getattr(part, "text", "")
                yield getattr(part, "arguments", "")
