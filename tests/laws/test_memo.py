"""The memo's laws: a known prefix goes out as it first went out, and nothing surprises a caller.

Scripts of 200 turns grow, rewind, edit and repeat conversations of every
shape, move their markers, change the salt, lose requests on the way. A model
in plain Python says what must come out.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import WRITERS, Json, Story, history_of, stories
from trimtab import PrefixMemo

MARKERS: Mapping[str, str] = {"messages": "cache_control", "input": "prompt_cache_breakpoint"}

# -------------------------------------------------------------------- shapes


def anthropic_message(number: int, words: str) -> Json:
    """Text, calls and results, each with blocks."""
    match number % 3:
        case 0:
            return {"role": "user", "content": [{"type": "text", "text": words}]}
        case 1:
            use = {"type": "tool_use", "id": f"t{number}", "name": "f", "input": {"a": words}}
            return {
                "role": "assistant",
                "content": [{"type": "text", "text": words}, {**use, "input": {"text": 1.50}}],
            }
        case _:
            inner = [{"type": "text", "text": words}]
            result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": inner}
            return {"role": "user", "content": [result, {"type": "text", "text": words}]}


def chat_message(number: int, words: str) -> Json:
    """Strings, and parts where there may be a marker."""
    if number % 2:
        return {"role": "assistant", "content": words}
    parts = [{"type": "text", "text": words}, {"type": "text", "text": f"{words} too"}]
    return {"role": "user", "content": parts}


def item(number: int, words: str) -> Json:
    """Messages, calls and results."""
    match number % 3:
        case 0:
            part = {"type": "input_text", "text": words}
            return {"role": "user", "content": [part, {**part, "text": f"{words} too"}]}
        case 1:
            call = {"type": "function_call", "call_id": f"c{number}", "name": "f"}
            return {**call, "arguments": json.dumps({"cache_control": words})}
        case _:
            output = [{"type": "input_text", "text": words}]
            return {"type": "function_call_output", "call_id": f"c{number - 1}", "output": output}


def content(number: int, words: str) -> Json:
    """Parts, of which none takes a marker."""
    return {"role": ("user", "model")[number % 2], "parts": [{"text": words}]}


SHAPES: Mapping[str, tuple[str, Callable[[int, str], Json]]] = {
    "anthropic": ("messages", anthropic_message),
    "openai-chat": ("messages", chat_message),
    "openai-responses": ("input", item),
    "gemini": ("contents", content),
}


def blocks_of(message: Any) -> Iterator[Json]:
    """The blocks of a message that a marker may stand on."""
    rows = (message.get("content"), message.get("output")) if isinstance(message, dict) else ()
    for row in rows:
        for block in row if isinstance(row, list) else ():
            if isinstance(block, dict):
                yield from blocks_of(block)
                yield block


MARKER = re.compile(r',\s*"(?:cache_control|prompt_cache_breakpoint)"\s*:\s*\{[^}]*\}')


def plain(message: str) -> str:
    """The JSON text of a message without its markers; all else is as it was."""
    return MARKER.sub("", message)


def texts_of(body: Any, key: str) -> list[str]:
    """The JSON text of each message of a body, byte for byte where it came as JSON."""
    if isinstance(body, dict):
        return list(map(_dumped, body[key]))
    rest = (body if isinstance(body, str) else body.decode()).partition(f'"{key}": [')[2]
    found = []
    while not rest.startswith("]"):
        rest = rest.lstrip(", ")
        _, stop = json.JSONDecoder().raw_decode(rest)
        found.append(rest[:stop])
        rest = rest[stop:]
    return found


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def markers_of(message: Any) -> list[Any]:
    """The markers of a message, in order."""
    return [block.get(key) for block in blocks_of(message) for key in MARKERS.values()]


def compressed(messages: Sequence[Any], stamp: str) -> list[Any]:
    """Other words in each text, which are others again on every turn."""

    def cut(value: Any) -> Any:
        match value:
            case dict():
                return {
                    key: f"{inner[:9]} {stamp}"
                    if key in ("text", "content") and isinstance(inner, str)
                    else cut(inner)
                    for key, inner in value.items()
                }
            case list():
                return [cut(each) for each in value]
            case _:
                return value

    return [cut(message) for message in messages]


# ------------------------------------------------------------------- scripts


@dataclass
class Script:
    """A client, a compressor and a memo, and what must come of them.

    Attributes:
        shape: Of which shape the conversation is.
        memo: What is put to the test.
        rng: What the client and the compressor do.
        is_dict: Whether bodies are objects.
        messages: The client's history.
        sent: What was first sent, by salt and prefix, as JSON text without markers.
    """

    shape: str
    memo: Any
    rng: random.Random
    is_dict: bool = False
    messages: list[Json] = field(default_factory=list)
    sent: dict[str, str] = field(default_factory=dict)

    def run(self, turns: int) -> int:
        """Take some turns; returns how many messages were replayed in all."""
        return sum(self._turn() for _ in range(turns))

    def _turn(self) -> int:
        salt = self.rng.choice("aaaaaaaab")
        self._change_history()
        key = SHAPES[self.shape][0]
        body: Json = {"model": "m", key: self._marked(), "stream": True}
        made = {**body, key: compressed(body[key], str(self.rng.random()))}
        prefixes = self._prefixes(salt, body[key])
        known = [self.sent[each] for each in takewhile(self.sent.__contains__, prefixes)]

        replayed: int
        out, replayed = self.memo.replay(salt, self._written(body), self._written(made))
        got = texts_of(out, key)

        assert replayed == len(known)
        assert list(map(plain, got[:replayed])) == known
        assert got[replayed:] == list(map(_dumped, made[key][replayed:]))
        assert [markers_of(json.loads(each)) for each in got] == list(map(markers_of, body[key]))
        if self.rng.random() < 0.9:  # else it was refused
            forwarded = out if self.rng.random() < 0.9 else self._written(made)
            self.memo.record(salt, self._written(body), forwarded)
            for prefix, message in zip(prefixes, texts_of(forwarded, key), strict=True):
                self.sent.setdefault(prefix, plain(message))
        return replayed

    def _change_history(self) -> None:
        make, rng = SHAPES[self.shape][1], self.rng
        chance = rng.random()
        if chance < 0.05 and self.messages:  # a rewind
            del self.messages[rng.randrange(len(self.messages)) :]
        elif chance < 0.1 and self.messages:
            place = rng.randrange(len(self.messages))
            self.messages[place] = make(place, f"edited {rng.random()}")
        for _ in range(rng.choice((0, 1, 1, 2))):
            count = len(self.messages)
            self.messages.append(make(count, f"words {count} " + rng.choice("é🙂x")))

    def _marked(self) -> list[Json]:
        """The history with up to four markers, wherever the client has them by now."""
        messages: list[Json] = json.loads(_dumped(self.messages))
        key = MARKERS.get(SHAPES[self.shape][0])
        blocks = [block for message in messages for block in blocks_of(message)]
        if key is not None:
            for block in self.rng.sample(blocks, min(len(blocks), self.rng.randrange(5))):
                block[key] = {"type": "ephemeral", "ttl": self.rng.choice(("5m", "1h"))}
        return messages

    def _written(self, body: Json) -> Any:
        text = _dumped(body)
        if self.is_dict:
            return json.loads(text)
        return text if self.rng.random() < 0.5 else text.encode()

    def _prefixes(self, salt: str, messages: Sequence[Json]) -> list[str]:
        """What the client has said up to each message."""
        forms = [plain(_dumped(message)) for message in messages]
        return list(accumulate(forms, lambda before, form: f"{hash(before)} {form}", initial=salt))[
            1:
        ]


@pytest.mark.parametrize(("turns", "is_dict"), [(200, False), (80, True)], ids=["json", "objects"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_first_sent_is_sent_again(shape: str, turns: int, is_dict: bool) -> None:  # noqa: FBT001 - one of two
    """At every turn: exactly the known run, as it was first sent, with the markers of today."""
    script = Script(shape, PrefixMemo(), random.Random(shape), is_dict)

    assert script.run(turns) > 5 * turns


class Overwriting(PrefixMemo):
    """A fault: the last form counts, not the first."""

    def _keep(self, additions_key: Any, added: Any, chain: Any, forms: Any) -> None:
        for key in chain:
            self._forget(key)
        super()._keep(additions_key, added, chain, forms)

    def _new_forms(self, chain: Any, form: Any) -> Any:
        return {key: form(place) for place, key in enumerate(chain)}


class Leaping(PrefixMemo):
    """A fault: the run goes on behind an unknown message."""

    def _known(self, chain: Any, additions_key: Any) -> Any:  # noqa: ARG002 - the memo's own signature
        last = max((at for at, key in enumerate(chain) if key in self._entries), default=-1)
        return [self._entries.get(key, b'{"role":"user"}') for key in chain[: last + 2]], b"{}"


class Sticky(PrefixMemo):
    """A fault: markers are replayed with the message that they stood on."""

    def _new_forms(self, chain: Any, form: Any) -> Any:
        marked = b'{"content":[{"type":"text","text":"","cache_control":{}}]}'
        return dict.fromkeys(super()._new_forms(chain, form), marked)


@pytest.mark.parametrize("fault", [Overwriting, Leaping, Sticky])
def test_planted_faults_are_found(fault: type[PrefixMemo]) -> None:
    """Each breaks a prefix that the provider knows."""
    script = Script("anthropic", fault(), random.Random(3))

    with pytest.raises(AssertionError):
        script.run(200)


# -------------------------------------------------------------- real requests


@pytest.mark.parametrize("name", WRITERS)
@given(story=stories(max_rounds=3), data=st.data())
@settings(max_examples=8)
def test_a_request_that_was_sent_as_it_came_is_sent_again(
    name: str, story: Story, data: st.DataObject
) -> None:
    """Valid requests of every format: all is known, and the markers are the client's of today."""
    moves_markers = name in ("anthropic", "openai-chat")
    before = WRITERS[name](replace(story, has_markers=not moves_markers))
    now = WRITERS[name](replace(story, has_markers=True))
    memo = PrefixMemo()
    kind: Any = data.draw(st.sampled_from([bytes, bytes.decode, json.loads]))
    memo.record("s", kind(before), kind(before))
    out, replayed = memo.replay("s", kind(now), kind(now))

    expected = json.loads(now)
    assert replayed == len(history_of(expected))
    assert (out if isinstance(out, dict) else json.loads(out)) == expected


# ------------------------------------------------------------- any input at all

KEYS = st.sampled_from(
    [
        *("messages", "input", "contents", "system", "tools", "instructions"),
        *("role", "content", "type", "text", "parts", "output"),
        *("cache_control", "prompt_cache_breakpoint"),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["user", "system", "text", "", "\ud800", "é\u2028", "assistant", "thinking"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
MESSAGES = st.lists(st.dictionaries(KEYS, VALUES, max_size=4) | VALUES, max_size=3)
OBJECTS = st.builds(
    lambda others, field, messages: {**others, field: messages},
    st.dictionaries(KEYS, VALUES, max_size=3),
    st.sampled_from(["messages", "input", "contents"]),
    MESSAGES,
)


def as_text(value: Any, data: st.DataObject) -> Any:
    """A value as JSON text or bytes, sometimes with a byte too few or too many."""
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    match data.draw(st.integers(0, 4)):
        case 0:
            text = text[: data.draw(st.integers(0, len(text)))]
        case 1:
            at = data.draw(st.integers(0, len(text)))
            text = (
                text[:at] + data.draw(st.sampled_from(["{", "]", '"', "1", "\\", " "])) + text[at:]
            )
        case _:
            pass
    return text if data.draw(st.booleans()) else text.encode("utf-8", "surrogatepass")


@given(first=OBJECTS, second=OBJECTS, data=st.data())
@settings(max_examples=60)
def test_nothing_raises_and_no_argument_is_changed(
    first: Any, second: Any, data: st.DataObject
) -> None:
    """Whatever the bodies are: the type that went in comes out, and a number that can be."""
    if data.draw(st.booleans()):
        first, second = as_text(first, data), as_text(second, data)
    memo = PrefixMemo(max_entries=6, max_bytes=400)
    for original, compressed_ in ((first, first), (first, second), (second, first)):
        before = repr((original, compressed_))
        out, replayed = memo.replay("s", original, compressed_)
        memo.record("s", original, out)

        assert repr((original, compressed_)) == before
        assert type(out) is type(compressed_)
        assert replayed or out is compressed_
        assert 0 <= replayed <= 6
        assert len(memo) <= 6
        assert memo.bytes <= 400


@given(value=VALUES | OBJECTS, compressed_=VALUES | OBJECTS)
@settings(max_examples=30)
def test_what_is_no_request_passes(value: Any, compressed_: Any) -> None:
    """Also where the two are of different kinds."""
    memo = PrefixMemo()
    memo.record("s", value, json.dumps(compressed_))
    memo.record("s", json.dumps(value), compressed_)
    for body in (compressed_, json.dumps(compressed_)):
        out, _ = memo.replay("s", value, body)
        assert type(out) is type(body)


# ------------------------------------------------------------------------ caps


@given(
    turns=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 8)), min_size=1, max_size=30),
    entries=st.integers(0, 9),
    size=st.integers(0, 400),
)
@settings(max_examples=40)
def test_caps_hold_and_what_is_left_of_a_conversation_is_its_front(
    turns: list[tuple[int, int]], entries: int, size: int
) -> None:
    """Whatever conversations come in whatever order; and right after a turn its front is known."""
    memo = PrefixMemo(entries, size)
    for conversation, count in turns:
        row = [{"content": f"{conversation}/{place}" * place} for place in range(count)]
        lengths = [len(json.dumps(each, separators=(",", ":"))) for each in row]
        fitting = [total for total in accumulate(lengths) if total <= size][:entries]
        body = {"messages": row}
        out, _ = memo.replay("s", body, body)
        memo.record("s", body, out)

        assert len(memo) <= entries
        assert memo.bytes <= size
        assert memo.replay("s", body, body)[1] == len(fitting)
