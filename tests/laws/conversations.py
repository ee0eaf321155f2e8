"""Draw valid conversations, and write them in each format with a client's own spelling.

A *story* is neutral; :data:`WRITERS` turn it into the body that a client of
each format would send. Nothing of the package is used to make them, so that
it is judged by bodies that it did not make.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

__all__ = [
    "BINDING_MODELS",
    "FORMATS",
    "WRITERS",
    "Exchange",
    "Round",
    "Story",
    "bodies",
    "history_of",
    "role_of",
    "stories",
]

Json = dict[str, Any]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one pixel."""

BINDING_MODELS = ("claude-fable-5-2", "claude-opus-5-5", "claude-next")
"""Models whose signatures commit to the exact prefix, or may."""

NAMES = ("read_file", "search", "run_tests", "list_dir")

WORDS = st.sampled_from(
    [
        "please look at the parser",
        "Never touch ./secrets.",
        "naïve café, 日本語, 🙂 and \u2028 too",
        'a "quoted" word, a back\\slash and a tab\tin it',
        "<|endoftext|> is only text",
        "x" * 300,
        "one line\nand another\n\nand a last one",
    ]
)


@dataclass(frozen=True)
class Exchange:
    """An answer with calls, and the results of all of them.

    ``results`` holds words, or None for a picture.
    """

    text: str
    thinking: str | None
    calls: tuple[tuple[str, str], ...]  # name, arguments as JSON text
    results: tuple[str | None, ...]
    failed: tuple[bool, ...]


@dataclass(frozen=True)
class Round:
    """What the user said, the exchanges that followed, and the last answer."""

    words: str
    exchanges: tuple[Exchange, ...]
    answer: str | None
    thinking: str | None = None


@dataclass(frozen=True)
class Story:
    """A conversation, and how its client spells JSON."""

    system: str | None
    rounds: tuple[Round, ...]
    indent: int | None = None
    ascii_only: bool = False
    has_markers: bool = False
    has_unknown: bool = False
    joins_words: bool = False
    model: str = ""
    ids: str = field(default="call")


@st.composite
def _exchange(draw: st.DrawFn, *, with_thinking: bool) -> Exchange:
    count = draw(st.integers(1, 3))
    sizes = st.sampled_from([0, 1, 3, 30, 300])
    results: list[str | None] = []
    for number in range(count):
        if draw(st.integers(0, 19)) == 0:
            results.append(None)
            continue
        line = draw(
            st.sampled_from(["INFO ok", '{"id": 7, "é": "\\u00e9"}', "path/to/file.py:12: x"])
        )
        results.append("\n".join(f"{line} {n}" for n in range(draw(sizes))) or f"result {number}")
    arguments = st.sampled_from(
        [
            "{}",
            '{"path": "a.txt"}',
            '{"id":4611686018427387905,"dec":0.1000000000000000055511151231257827}',
            '{"text": "line \\\\ \\n \\" end", "n": [1, 2.50, -0.0]}',
        ]
    )
    return Exchange(
        draw(st.sampled_from(["", "let me look", "now the tests\nrun"])),
        draw(st.sampled_from(["", "hm, the parser"])) if with_thinking else None,
        tuple((draw(st.sampled_from(NAMES)), draw(arguments)) for _ in range(count)),
        tuple(results),
        tuple(draw(st.booleans()) for _ in range(count)),
    )


@st.composite
def stories(draw: st.DrawFn, *, max_rounds: int = 5, model: str = "") -> Story:
    """Draw a conversation that is about to be sent."""
    with_thinking = draw(st.booleans())
    count = draw(st.integers(1, max_rounds))
    rounds = []
    for number in range(count):
        is_last = number == count - 1
        exchanges = tuple(
            draw(_exchange(with_thinking=with_thinking))
            for _ in range(draw(st.sampled_from([0, 1, 2, 6])))
        )
        answer = None if is_last else draw(st.sampled_from(["done", "it works now\n"]))
        rounds.append(Round(draw(WORDS) + f" ({number})", exchanges, answer, ""))
    return Story(
        system=draw(st.sampled_from([None, "You are careful.", "Rules:\n" + "be brief. " * 40])),
        rounds=tuple(rounds),
        indent=draw(st.sampled_from([None, None, 1])),
        ascii_only=draw(st.booleans()),
        has_markers=draw(st.booleans()),
        has_unknown=draw(st.integers(0, 9)) == 0,
        joins_words=draw(st.booleans()),
        model=model,
    )


# ---------------------------------------------------------------------- writers


class _Raw(str):
    """JSON text that goes into a body as it is."""

    __slots__ = ()


def _dump(body: Any, story: Story) -> bytes:
    raws: dict[str, str] = {}

    def hold(value: Any) -> Any:
        if isinstance(value, _Raw):
            key = f"@@raw{len(raws)}@@"
            raws[f'"{key}"'] = str(value)
            return key
        if isinstance(value, dict):
            return {name: hold(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [hold(inner) for inner in value]
        return value

    separators = None if story.indent is not None else (",", ":")
    text = json.dumps(
        hold(body), indent=story.indent, ensure_ascii=story.ascii_only, separators=separators
    )
    for key, raw in raws.items():
        text = text.replace(key, raw)
    return text.encode()


def write_anthropic(story: Story) -> bytes:
    """Write a story as Claude's SDK would."""
    messages: list[Json] = []
    ids = (f"{story.ids}_{number}" for number in itertools.count())
    for place, round_ in enumerate(story.rounds):
        if messages and messages[-1]["role"] == "user" and not story.joins_words:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "Next?"}]})
        _say(messages, [{"type": "text", "text": round_.words}])
        if place == 0 and story.has_unknown:
            messages[-1]["content"].append({"type": "hologram", "data": {"n": 1.50}})
        for exchange in round_.exchanges:
            _exchange_blocks(messages, exchange, ids)
        if round_.answer is not None:
            answer = [{"type": "text", "text": round_.answer}]
            messages.append({"role": "assistant", "content": answer})
    body: Json = {"model": story.model or "claude-opus-4-6", "max_tokens": 64}
    if story.system is not None:
        body["system"] = [{"type": "text", "text": story.system}]
    if story.model in BINDING_MODELS:
        body["thinking"] = {"type": "adaptive"}
    body["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in NAMES]
    body["messages"] = messages
    if story.has_markers:
        _mark(messages)
    return _dump(body, story)


def _say(messages: list[Json], blocks: list[Json]) -> None:
    """Let the user say something; what stands in a row is one message."""
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"] += blocks
    else:
        messages.append({"role": "user", "content": blocks})


def _exchange_blocks(messages: list[Json], exchange: Exchange, ids: Iterator[str]) -> None:
    results: list[Json] = []
    calls: list[Json] = []
    for (name, arguments), result, failed in zip(
        exchange.calls, exchange.results, exchange.failed, strict=True
    ):
        call_id = next(ids)
        calls.append({"type": "tool_use", "id": call_id, "name": name, "input": _Raw(arguments)})
        content: Any = result
        if result is None:
            source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
            content = [{"type": "image", "source": source}]
        block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        results.append({**block, "is_error": True} if failed else block)
    text = [{"type": "text", "text": exchange.text}] if exchange.text else []
    thinking = _thinking(exchange.thinking, calls[0]["id"])
    messages.append({"role": "assistant", "content": [*thinking, *text, *calls]})
    _say(messages, results)


def _mark(messages: list[Json]) -> None:
    """Set cache markers where a client might."""
    for message in messages[:: max(1, len(messages) // 2)][:3]:
        last = message["content"][-1]
        if last["type"] != "hologram":
            last["cache_control"] = {"type": "ephemeral"}


def _thinking(thinking: str | None, name: str) -> list[Json]:
    if thinking is None:
        return []
    return [{"type": "thinking", "thinking": thinking, "signature": f"sig_{name}=="}]


def write_chat(story: Story) -> bytes:
    """Write a story as OpenAI's SDK would."""
    messages: list[Json] = []
    number = 0
    if story.system is not None:
        messages.append({"role": "system", "content": story.system})
    for place, round_ in enumerate(story.rounds):
        content: Any = round_.words
        if place == 0 and story.has_unknown:
            content = [{"type": "text", "text": round_.words}, {"type": "hologram", "n": 1.50}]
        messages.append({"role": "user", "content": content})
        for exchange in round_.exchanges:
            calls, results = [], []
            for (name, arguments), result in zip(exchange.calls, exchange.results, strict=True):
                call_id = f"{story.ids}_{number}"
                number += 1
                function = {"name": name, "arguments": arguments}
                calls.append({"id": call_id, "type": "function", "function": function})
                words = "(a picture)" if result is None else result
                results.append({"role": "tool", "tool_call_id": call_id, "content": words})
            messages.append(
                {"role": "assistant", "content": exchange.text or None, "tool_calls": calls}
            )
            messages += results
        if round_.answer is not None:
            messages.append({"role": "assistant", "content": round_.answer})
    return _dump({"model": story.model or "gpt-5.6", "messages": messages, "stream": True}, story)


def write_gemini(story: Story) -> bytes:
    """Write a story as Google's SDK would, or a client of the REST API with snake_case keys."""
    contents: list[Json] = []
    number = itertools.count()
    for place, round_ in enumerate(story.rounds):
        parts: list[Json] = [{"text": round_.words}]
        if place == 0 and story.has_unknown:
            parts.append({"hologram": {"n": 1.50}})
        contents.append({"role": "user", "parts": parts})
        for exchange in round_.exchanges:
            contents += _gemini_exchange(exchange, number, has_ids=story.has_markers)
        if round_.answer is not None:
            contents.append({"role": "model", "parts": [{"text": round_.answer}]})
    body: Json = {"contents": contents, "generationConfig": {"maxOutputTokens": 64}}
    if story.system is not None:
        body["systemInstruction"] = {"parts": [{"text": story.system}]}
    body["tools"] = [{"functionDeclarations": [{"name": name} for name in NAMES]}]
    return _dump(_snake(body) if story.joins_words else body, story)


def _gemini_exchange(exchange: Exchange, number: Iterator[int], *, has_ids: bool) -> list[Json]:
    """One step: the first of its calls is signed, each result has its call's name, some have ids."""
    signature = f"c2ln{next(number)}"
    asked: list[Json] = [{"text": exchange.text}] if exchange.text else []
    if exchange.thinking:
        asked.insert(0, {"text": exchange.thinking, "thought": True, "thoughtSignature": signature})
    results: list[Json] = []
    is_first = True
    for (name, arguments), result, failed in zip(
        exchange.calls, exchange.results, exchange.failed, strict=True
    ):
        own = {"id": f"call_{next(number)}"} if has_ids else {}
        call: Json = {"functionCall": {**own, "name": name, "args": _Raw(arguments)}}
        asked.append({**call, "thoughtSignature": signature} if is_first else call)
        is_first = False
        response: Json = {
            **own,
            "name": name,
            "response": {"error" if failed else "output": result},
        }
        if result is None:
            response["response"] = {}
            response["parts"] = [{"inlineData": {"mimeType": "image/png", "data": PIXEL}}]
        results.append({"functionResponse": response})
    return [{"role": "model", "parts": asked}, {"role": "user", "parts": results}]


def _snake(value: Any) -> Any:
    """The same with the other spelling of the format's keys; what is JSON text stays."""
    if isinstance(value, list):
        return [_snake(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", key): _snake(inner)
        for key, inner in value.items()
    }


def write_responses(story: Story) -> bytes:
    """Write a story as OpenAI's SDK would for Responses, with or without the ids of items."""
    items: list[Json] = []
    number = itertools.count()
    for place, round_ in enumerate(story.rounds):
        part: Json = {"type": "input_text", "text": round_.words}
        if story.has_markers and place % 2 == 0:
            part["prompt_cache_breakpoint"] = {"type": "ephemeral"}
        content: Any = [part] if story.has_markers else round_.words
        if place == 0 and story.has_unknown:
            content = [part, {"type": "hologram", "n": 1.50}]
        items.append({"role": "user", "content": content})
        for step, exchange in enumerate(round_.exchanges):
            thinks = exchange.thinking is not None and step % 3 < 2
            has_ids = story.joins_words and exchange.thinking is not None
            if thinks:
                items.append(_reasoning_item(next(number), exchange.thinking))
            if story.has_unknown and step == 1:
                items.append({"type": "hologram_call", "id": "h_1", "data": {"n": 1.50}})
            items += _responses_exchange(exchange, number, has_ids=has_ids)
        if round_.answer is not None:
            items += _responses_answer(round_.answer, next(number), has_ids=story.joins_words)
    body: Json = {"model": story.model or "gpt-5.6", "store": False}
    if story.system is not None:
        body["instructions"] = story.system
    body["tools"] = [{"type": "function", "name": name, "parameters": {}} for name in NAMES]
    return _dump({**body, "input": items}, story)


def _reasoning_item(number: int, words: str | None) -> Json:
    summary = [{"type": "summary_text", "text": words}] if words else []
    blob = f"gAAA{number}" * 9
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": summary,
        "encrypted_content": blob,
    }


def _responses_exchange(exchange: Exchange, number: Iterator[int], *, has_ids: bool) -> list[Json]:
    """Words, then all calls, then all outputs; every third call is one of a custom tool."""
    said: list[Json] = []
    if exchange.text:
        said.append({"type": "message", "role": "assistant", "content": exchange.text})
    results: list[Json] = []
    for (name, arguments), result in zip(exchange.calls, exchange.results, strict=True):
        place = next(number)
        own = {"id": f"fc_{place}"} if has_ids else {}
        call: Json = {"call_id": f"call_{place}", "name": name}
        kind = "custom_tool_call" if place % 3 == 0 else "function_call"
        given = {"input" if place % 3 == 0 else "arguments": arguments}
        said.append({"type": kind, **own, **call, **given})
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
        output: Any = [picture] if result is None else result
        results.append({"type": f"{kind}_output", "call_id": f"call_{place}", "output": output})
    return [*said, *results]


def _responses_answer(words: str, number: int, *, has_ids: bool) -> list[Json]:
    if not has_ids:
        return [{"role": "assistant", "content": words}]
    part = {"type": "output_text", "text": words, "annotations": []}
    answer: Json = {"type": "message", "id": f"msg_{number}", "status": "completed"}
    said: Json = {**answer, "role": "assistant", "content": [part], "phase": "final_answer"}
    return [_reasoning_item(number, "done"), said]


WRITERS: dict[str, Callable[[Story], bytes]] = {
    "anthropic": write_anthropic,
    "openai-chat": write_chat,
    "openai-responses": write_responses,
    "gemini": write_gemini,
}
"""How each format writes a story."""

FORMATS = tuple(WRITERS)


def bodies(format: str, *, model: str = "") -> st.SearchStrategy[bytes]:  # noqa: A002 - the word for it
    """Draw valid bodies of a format."""
    return stories(model=model).map(WRITERS[format])


def history_of(body: Json) -> list[Any]:
    """The messages of a decoded body of any format."""
    field = next(key for key in ("messages", "contents", "input") if key in body)
    found: list[Any] = body[field]
    return found


def role_of(message: Json) -> str:
    """Who speaks in a message; what holds nothing but results is the tools'."""
    if "role" not in message and "type" in message:
        return "tool" if message["type"].endswith("_output") else "assistant"
    parts = message.get("parts")
    is_result = parts and all(
        "functionResponse" in part or "function_response" in part for part in parts
    )
    return "tool" if is_result else str(message.get("role"))
