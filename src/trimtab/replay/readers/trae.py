"""Trae Agent trajectories: each interaction holds what was new in its request, and the answer.

``input_messages`` are the messages that were added; the client kept the rest
of the conversation. Interactions that begin with a system prompt begin a new
one. Thoughts are not in the log, and GPT's are never sent back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Raw

from trimtab.errors import RequestError
from trimtab.messages import ToolResult
from trimtab.replay.answers import Answer, Notes, billed, seconds
from trimtab.replay.json_lines import ABSENT, Bytes, Shape, begins, mentions, string, value
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.replay.talks import Call, Talk, result_of, words
from trimtab.usage import Usage

__all__ = ["KIND", "read", "recognises"]

KIND = "trae"

_FORMATS = {
    "anthropic": "anthropic",
    "bedrock": "anthropic",
    "google": "gemini",
    "openai": "openai-responses",
}
"""How the client speaks to each provider; all others take OpenAI chat."""

_UNRECORDED = frozenset({"tools"})


class _Run(msgspec.Struct):
    llm_interactions: Raw = ABSENT


class _Interaction(msgspec.Struct):
    timestamp: str | None = None
    provider: str | None = None
    model: str | None = None
    input_messages: Raw = ABSENT
    response: Raw = ABSENT
    tools_available: Raw = ABSENT


class _ToolResult(msgspec.Struct):
    call_id: str | None = None
    success: bool | None = None
    result: Raw = ABSENT
    error: Raw = ABSENT


class _Message(msgspec.Struct):
    role: str | None = None
    content: Raw = ABSENT
    tool_result: _ToolResult | None = None


class _Call(msgspec.Struct):
    call_id: str | None = None
    name: str | None = None
    arguments: Raw = ABSENT


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Response(msgspec.Struct):
    model: str | None = None
    content: Raw = ABSENT
    usage: _Tokens | None = None
    tool_calls: Raw = ABSENT


_RUN = Shape(_Run)
_INTERACTION = Shape(_Interaction)
_MESSAGE = Shape(_Message)
_CALL = Shape(_Call)
_RESPONSE = Shape(_Response)


def recognises(data: bytes) -> bool:
    """Say whether it has interactions with a model."""
    if not mentions(data, b"llm_interactions"):
        return False
    run = _RUN.read_or_none(data)
    return run is not None and begins(run.llm_interactions, b"[")


def read(data: bytes, name: str) -> list[Recording]:
    """Read a run.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in it.
    """
    run = _RUN.read_or_none(data) or _Run()
    notes, tools = Notes(), dict[str, None]()
    talk = Talk(notes, tools)
    requests: list[RecordedRequest] = []
    for _, interaction in _INTERACTION.read_each(run.llm_interactions):
        response = _RESPONSE.read_or_none(interaction.response)
        if response is None:
            continue
        named = value(interaction.tools_available)
        names = named if isinstance(named, list) else []
        tools.update((tool, None) for tool in names if isinstance(tool, str))
        messages = _MESSAGE.read_each(interaction.input_messages)
        if talk.count and messages and messages[0][1].role == "system":
            talk = Talk(notes, tools)
        _ask(talk, messages)
        requests.append(_answered(talk, interaction, response))
    if not requests:
        raise RequestError(f"`{name}` is a run of Trae in which nobody answers")
    return [Recording(KIND, name, requests, notes.told())]


def _ask(talk: Talk, messages: Sequence[tuple[Bytes, _Message]]) -> None:
    for text, message in messages:
        told = message.tool_result
        if told is not None:
            talk.result(told.call_id or "", partial(_result, told), len(text))
        said = string(message.content)
        if said and message.role == "system":
            talk.system = f"{talk.system}\n\n{said}" if talk.system else said
        elif said:
            talk.say("user", partial(words, said), len(text))


def _answered(talk: Talk, interaction: _Interaction, response: _Response) -> RecordedRequest:
    wire_format = _FORMATS.get((interaction.provider or "").lower(), "openai-chat")
    model = response.model or interaction.model or ""
    answer = Answer(model, _usage(response.usage, model), seconds(interaction.timestamp))
    request = talk.request(wire_format, answer, _UNRECORDED)
    found = _CALL.read_each(response.tool_calls)
    calls = [Call(call.call_id, call.name, call.arguments) for _, call in found]
    if calls or string(response.content):
        size = len(response.content) + len(response.tool_calls)
        talk.reply(response.content, calls, size, wire_format)
    return request


def _usage(tokens: _Tokens | None, model: str) -> Usage | None:
    """Read what was billed. Claude's figures exclude the cache, all others include what was read."""
    if tokens is None:
        return None
    read, written = tokens.cache_read_input_tokens or 0, tokens.cache_creation_input_tokens or 0
    total = (tokens.input_tokens or 0) + written + (read if "claude" in model else 0)
    return billed(
        total,
        read=read,
        write=written,
        output=tokens.output_tokens,
        reasoning=tokens.reasoning_tokens,
    )


def _result(told: _ToolResult) -> ToolResult:
    texts = [text for text in (string(told.result), string(told.error)) if text]
    return result_of(told.call_id, "\n".join(texts), is_error=told.success is False)
