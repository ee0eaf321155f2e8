"""What a later turn uses that a policy had removed: each such use is one exchange more.

A *handle* is something exact that cannot be guessed: a path, a URL, a hash, an
id, ``KEY=value``, an identifier with several words in it, or five words in a
row that the user said. When an answer uses a handle that stood only in what
the policy had removed, a live agent would have had to fetch it again: one
exchange for the answer. All else that the same messages held is then at hand again.

Only what a removed message alone held is counted: not what still stands in the
words that are sent, be it inside a longer path, nor a path whose
halves both stand there (a folder, and a file in it), nor a short list of names
that are the same in every project (:mod:`trimtab.replay.well_known`).

The recorded agent had everything before it, so this counts at least what a
live one would have missed, and more: other names that a model knows count too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from trimtab.errors import MalformedBodyError
from trimtab.messages import Message, Text, ToolCall, ToolResult
from trimtab.replay.views import View
from trimtab.replay.weights import Said
from trimtab.replay.well_known import FILES, NAMES
from trimtab.wire.json_spans import load

__all__ = ["Handles", "Missed", "Watch", "Words", "handles_in"]

_WHOLE = re.compile(
    r"https?://[^\s<>\"'`)\]}\\]+"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b[A-Z][A-Z0-9_]{2,40}=[^\s\"'`;,&|{}()\[\]<>=$]{1,120}"
)
_TOKEN = re.compile(r"[\w.@~+/-]+")
_NAME = re.compile(
    r"(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}"
    r"|[A-Za-z]\w*_[A-Za-z0-9]+"
    r"|[A-Za-z]+[a-z0-9](?:[A-Z][a-z0-9]+)+"
)
_MOST_NAME_CHARACTERS = 100
"""Nothing that is longer is a name; so no text takes longer to search than it is long."""

_LEAST_CHARACTERS = 8
_SPAN_WORDS = 5
_WORD = re.compile(r"\w+")
_MOST_CHARACTERS = 200_000
"""Of a message; what is longer is searched at both ends."""


def handles_in(text: str) -> set[str]:
    """Everything exact in a text that is long enough to mean one thing."""
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    rest = _WHOLE.sub(" ", text)
    found = [
        *_WHOLE.findall(text),
        *(name for token in _TOKEN.findall(rest) for name in _names(token)),
    ]
    tidy = (handle.rstrip(".,:;/").removeprefix("./") for handle in found)
    long = {handle for handle in tidy if len(handle) >= _LEAST_CHARACTERS}
    return long - FILES - NAMES


def _names(token: str) -> Iterator[str]:
    """A path, or names that a run of characters is made of."""
    if "/" in token:
        yield token
        return
    for word in _WORD.findall(token):
        if len(word) <= _MOST_NAME_CHARACTERS and _NAME.fullmatch(word):
            yield word


def _spans(text: str) -> set[str]:
    """Runs of five words, in lower case."""
    words = _WORD.findall(text.lower())
    return {
        " ".join(words[start : start + _SPAN_WORDS])
        for start in range(len(words) - _SPAN_WORDS + 1)
    }


class Handles:
    """The handles of the messages of a session, each looked for once."""

    def __init__(self) -> None:
        self._held: dict[bytes, frozenset[str]] = {}
        self._used: dict[bytes, frozenset[str]] = {}
        self._words: dict[bytes, Words] = {}

    def held(self, said: Said, load: Callable[[], Message]) -> frozenset[str]:
        """What can be learned from a message."""
        known = self._held.get(said.name)
        if known is None:
            known = self._held[said.name] = _held(load())
        return known

    def used(self, said: Said, load: Callable[[], Message]) -> frozenset[str]:
        """What an answer uses."""
        known = self._used.get(said.name)
        if known is None:
            text = "\n".join(_own_words(load().parts))
            known = self._used[said.name] = frozenset(handles_in(text) | _spans(text))
        return known

    def words(self, said: Said, load: Callable[[], Message]) -> Words:
        """All that a message says."""
        known = self._words.get(said.name)
        if known is None:
            known = self._words[said.name] = Words("\n".join(_all_words(load().parts)))
        return known


@dataclass(slots=True)
class Words:
    """A text in which handles are looked for.

    Attributes:
        text: The text.
    """

    text: str = field(repr=False)
    _plain: str | None = field(default=None, repr=False)

    def hold(self, handle: str) -> bool:
        """Whether a handle stands in it, and is no piece of a longer word."""
        if " " in handle:
            if self._plain is None:
                self._plain = " ".join(_WORD.findall(self.text.lower()))
            return f" {handle} " in f" {self._plain} "
        start = self.text.find(handle)
        while start >= 0:
            stop = start + len(handle)
            if not (_is_word(self.text[start - 1 : start]) or _is_word(self.text[stop : stop + 1])):
                return True
            start = self.text.find(handle, start + 1)
        return False


def _is_word(letter: str) -> bool:
    return letter == "_" or letter.isalnum()


def _stands(handle: str, texts: Sequence[Words]) -> bool:
    """Whether some texts say a handle: whole, or as a folder and what lies in it."""
    if any(each.hold(handle) for each in texts):
        return True
    if "/" not in handle or "://" in handle or " " in handle or "=" in handle:
        return False
    cuts = [place for place, letter in enumerate(handle) if letter == "/" and place]
    return any(
        (handle[cut + 1 :] in FILES or any(each.hold(handle[cut + 1 :]) for each in texts))
        and any(each.hold(handle[:cut]) for each in texts)
        for cut in cuts
        if handle[cut + 1 :]
    )


def _held(message: Message) -> frozenset[str]:
    found: set[str] = set()
    for part in message.parts:
        match part:
            case Text() if message.role == "user":
                found |= handles_in(part.text) | _spans(part.text)
            case Text():
                found |= handles_in(part.text)
            case ToolCall():
                found |= handles_in(_argument_text(part.arguments))
            case ToolResult():
                found |= handles_in(part.text)
            case _:
                pass
    return frozenset(found)


def _own_words(parts: Iterable[object]) -> Iterable[str]:
    for part in parts:
        match part:
            case Text():
                yield part.text
            case ToolCall():
                yield _argument_text(part.arguments)
            case _:
                pass


def _all_words(parts: Iterable[object]) -> Iterator[str]:
    yield from _own_words(parts)
    for part in parts:
        if isinstance(part, ToolResult):
            yield part.text


def _argument_text(arguments: str) -> str:
    """The words of some arguments, without what JSON puts in place of ends of lines and tabs."""
    try:
        return "\n".join(_strings(load(arguments.encode("utf-8", "surrogatepass"))))
    except MalformedBodyError:
        return arguments


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for inner in value:
                yield from _strings(inner)
        case dict():
            for inner in value.values():
                yield from _strings(inner)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Missed:
    """An answer that uses something that only removed messages held.

    However much it uses, one exchange brings it back: calls can be made side by side.

    Attributes:
        turn: The turn whose answer it is, from 0.
        tokens: What the removed messages weighed: they would come back.
        handles: What it was, one for each message.
    """

    turn: int
    tokens: int
    handles: tuple[str, ...] = field(repr=False)


@dataclass(slots=True)
class Watch:
    """Watches what later answers miss under one policy.

    Attributes:
        missed: Every miss, in order.
        survived: Uses of what was removed and still stood in a ledger or a shortened form.
    """

    handles: Handles
    missed: list[Missed] = field(default_factory=list)
    survived: int = 0
    _names: list[bytes] = field(default_factory=list)
    _where: dict[str, list[int]] = field(default_factory=dict)
    _view: View | None = None
    _again: set[int] = field(default_factory=set)
    _shown: tuple[str, str] = ("", "")

    def saw(
        self,
        turn: int,
        said: Sequence[Said],
        load: Callable[[int], Message],
        view: View,
        *,
        is_compacted: bool,
    ) -> None:
        """Look at the next request: what its new answers used, and what is in view now.

        Args:
            turn: Its place among the session's requests.
            said: All messages of the client.
            load: Gives one by its place.
            view: What the policy sends of them.
            is_compacted: Whether it removed something on this turn.
        """
        is_whole = len(view.rows) == len(said) and not view.changed_text
        if is_whole and self._view is None:
            return  # nothing was ever removed
        self._take(said, load)
        if self._view is not None:
            self._look(turn, said, load, self._view)
        if is_compacted:
            self._again.clear()
        self._view = None if is_whole else view
        self._names = [each.name for each in said]

    def _take(self, said: Sequence[Said], load: Callable[[int], Message]) -> None:
        """Note where each handle stands."""
        known = len(self._names)
        if [each.name for each in said[:known]] != self._names:
            self._where.clear()
            self._again.clear()
            self._view, known = None, 0  # the client went back: what is in view is another history
        for place in range(known, len(said)):
            for handle in self.handles.held(said[place], lambda place=place: load(place)):  # type: ignore[misc]
                self._where.setdefault(handle, []).append(place)

    def _is_shown(self, handle: str, view: View) -> bool:
        """Whether what was made or shortened still says it."""
        if handle in view.changed_text:
            return True
        if " " not in handle or not view.changed_text:
            return False
        if self._shown[0] is not view.changed_text:
            self._shown = (view.changed_text, " ".join(_WORD.findall(view.changed_text.lower())))
        return handle in self._shown[1]

    def _at_hand(
        self,
        said: Sequence[Said],
        load: Callable[[int], Message],
        in_view: AbstractSet[int],
        stop: int,
    ) -> list[Words]:
        """All that stood before an answer: what is in view, and what is new."""
        places = sorted({*in_view, *range(len(self._names), stop)})
        return [self.handles.words(said[at], lambda at=at: load(at)) for at in places if at < stop]  # type: ignore[misc]

    def _look(
        self, turn: int, said: Sequence[Said], load: Callable[[int], Message], view: View
    ) -> None:
        seen = len(self._names)
        in_view = set(view.untouched) | self._again
        again: dict[int, str] = {}
        for place in range(seen, len(said)):
            if said[place].role != "assistant":
                continue
            for handle in sorted(self.handles.used(said[place], lambda place=place: load(place))):  # type: ignore[misc]
                where = [at for at in self._where.get(handle, ()) if at < place]
                if not where or any(at in in_view or at >= seen for at in where):
                    continue
                if self._is_shown(handle, view):
                    self.survived += 1
                    continue
                if _stands(handle, self._at_hand(said, load, in_view, place)):
                    continue
                again[where[-1]] = handle
                in_view.add(where[-1])
        if again:
            self._again.update(again)
            tokens = sum(said[at].tokens for at in again)
            self.missed.append(Missed(turn - 1, tokens, tuple(again.values())))
