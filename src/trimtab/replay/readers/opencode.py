"""OpenCode sessions: an export, or a dump of its storage with several sessions in it.

An export is one document, ``{info, messages: [{info, parts}]}``; a dump is any
number of JSON values behind each other, of messages and parts that name each
other. Of an answer, each step (``step-finish``) is a request. A call holds its
own result.

* A compaction is a question of the user's and an answer that is marked as a
  ``summary``; both stay, all before them goes.
* Output of old calls that was cleared (``time.compacted``) was sent whole until then.
* Diffs and snapshots are for the screen. Files that are text stand in texts of their own.
* Claude's reasoning is sent back; what others thought is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from trimtab.errors import RequestError
from trimtab.messages import Media, Part, ResultContent, Text, Thinking, ToolCall, ToolResult
from trimtab.replay.answers import INTERRUPTED, Answer, Notes, billed, seconds
from trimtab.replay.json_lines import documents, mentions
from trimtab.replay.recording import RecordedRequest, Recording, with_notes
from trimtab.replay.talks import Talk, words
from trimtab.usage import Usage
from trimtab.wire.json_spans import dump

__all__ = ["KIND", "read", "recognises"]

KIND = "opencode"

Json: TypeAlias = Mapping[str, Any]

_UNRECORDED = frozenset({"tools", "system", "instructions", "systemInstruction", "max_tokens"})

# The agent's words.
_CLEARED = "[Old tool result content cleared]"
_ASKED_FOR_SUMMARY = "What did we do so far?"

_PROVIDERS = {
    "amazon-bedrock": "",
    "anthropic": "anthropic",
    "azure": "openai-responses",
    "google": "gemini",
    "google-vertex": "gemini",
    "google-vertex-anthropic": "anthropic",
    "openai": "openai-responses",
    "opencode": "",
}
"""How each provider is spoken to; "" where it depends on the model. All others take OpenAI chat."""

# Parts that make an answer of what never finished.
_SPOKEN = frozenset({"text", "tool", "reasoning"})

_DATA_URL = re.compile(r"data:([^;,]*)[^,]*;base64,", re.ASCII)


def recognises(data: bytes) -> bool:
    """Say whether it has messages of a session, with parts, or parts that name their message."""
    if not (
        mentions(data, b"sessionID") and (mentions(data, b"parts") or mentions(data, b"messageID"))
    ):
        return False
    values, _ = documents(data)
    return any(_is_known(value) for value in values)


def read(data: bytes, name: str) -> list[Recording]:
    """Read all sessions in a file.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        RequestError: If nobody answers in any of them.
    """
    values, is_cut = documents(data)
    dump_of = _Dump()
    dump_of.add(values)
    sessions = dump_of.sessions()
    recordings = []
    for session, messages in sessions.items():
        walk = _Walk()
        for info, parts in messages:
            walk.take(info, parts)
        if walk.requests:
            label = f"{name}#{session[-8:]}" if len(sessions) > 1 else name
            recordings.append(Recording(KIND, label, walk.requests, walk.notes.told()))
    if not recordings:
        raise RequestError(f"`{name}` is a session of OpenCode in which nobody answers")
    return with_notes(recordings, ("skipped what is cut off or no JSON",) if is_cut else ())


def _is_known(value: object) -> bool:
    found = _Dump()
    found.add([value])
    return bool(found.infos or found.parts)


# -------------------------------------------------------------------- storage


class _Dump:
    """What a file holds of messages and parts, in whatever order.

    Attributes:
        infos: Messages by id.
        parts: Parts by the id of their message.
    """

    def __init__(self) -> None:
        self.infos: dict[str, Json] = {}
        self.parts: dict[str, list[Json]] = {}

    def add(self, values: Iterable[object]) -> None:
        """Sort values into messages and parts; what is neither is left out."""
        for value in values:
            if isinstance(value, list):
                self.add(value)
            elif isinstance(value, Mapping):
                self._add(value)

    def _add(self, value: Json) -> None:
        info, parts, messages = value.get("info"), value.get("parts"), value.get("messages")
        if isinstance(info, Mapping) and isinstance(parts, list):
            if self._add_info(info):
                held = self.parts.setdefault(info["id"], [])
                held += [part for part in parts if isinstance(part, Mapping)]
        elif isinstance(messages, list):
            self.add(messages)
        elif isinstance(value.get("messageID"), str):
            self.parts.setdefault(value["messageID"], []).append(value)
        else:
            self._add_info(value)

    def _add_info(self, info: Json) -> bool:
        is_message = info.get("role") in ("user", "assistant") and "sessionID" in info
        if is_message and isinstance(info.get("id"), str):
            self.infos[info["id"]] = info
            return True
        return False

    def sessions(self) -> dict[str, list[tuple[Json, list[Json]]]]:
        """Messages with their parts, by session, in the order in which they were begun."""
        order = sorted(self.infos, key=lambda key: (_created(self.infos[key]), key))
        found: dict[str, list[tuple[Json, list[Json]]]] = {}
        for key in order:
            info = self.infos[key]
            parts = sorted(self.parts.get(key, ()), key=lambda part: _text(part, "id"))
            found.setdefault(_text(info, "sessionID"), []).append((info, parts))
        return found


def _created(info: Json) -> float:
    return _number(_inner(info, "time").get("created"))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _inner(value: Json, key: str) -> Json:
    inner = value.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _text(value: Json, key: str) -> str:
    text = value.get(key)
    return text if isinstance(text, str) else ""


# ----------------------------------------------------------------------- walk


class _Walk:
    """A session, message by message.

    Attributes:
        requests: What was asked.
        notes: What had to be guessed.
    """

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.notes = Notes()
        self._tools: dict[str, None] = {}
        self._talk = Talk(self.notes, self._tools)
        self._cleared: list[tuple[float, Talk, int, Json]] = []

    def take(self, info: Json, parts: Sequence[Json]) -> None:
        """Read one more message."""
        if info.get("role") == "user":
            said = [part for each in parts if (part := _user_part(each)) is not None]
            if said:
                self._talk.say("user", partial(tuple, said), _size(parts))
            return
        is_summary = info.get("summary") is True
        for step in _steps(parts):
            self._take_step(info, step, is_alone=_step_count(parts) < 2)
        if is_summary:
            self._talk = Talk(self.notes, self._tools)
            question = partial(words, _ASKED_FOR_SUMMARY)
            self._talk.say("user", question, len(_ASKED_FOR_SUMMARY))
            self._talk.answer(partial(tuple, _said(parts)), (), _size(parts), _format(info))

    def _take_step(self, info: Json, step: Sequence[Json], *, is_alone: bool) -> None:
        created = _created(info)
        self._clear(created)
        wire_format, model = _format(info), _text(info, "modelID")
        tokens = _inner(info, "tokens") if is_alone else {}
        tokens = tokens or next(
            (_inner(part, "tokens") for part in step if part.get("type") == "step-finish"), {}
        )
        answer = Answer(model, _usage(tokens), seconds(created) if created else None)
        self.requests.append(self._talk.request(wire_format, answer, _UNRECORDED))
        said, calls = _said(step), [part for part in step if part.get("type") == "tool"]
        if not said:
            return
        named = [(_text(call, "callID"), _text(call, "tool")) for call in calls]
        self._talk.answer(partial(tuple, said), named, _size(step), wire_format)
        for call in calls:
            self._add_result(call)

    def _add_result(self, call: Json) -> None:
        state = _inner(call, "state")
        call_id = _text(call, "callID")
        size = len(_text(state, "output")) + len(_text(state, "error"))
        place = self._talk.result(call_id, partial(_result, call_id, state), size)
        cleared = _number(_inner(state, "time").get("compacted"))
        if place is not None and cleared:
            self._cleared.append((cleared, self._talk, place, call))

    def _clear(self, now: float) -> None:
        """Clear the output that was cleared by now."""
        due = [each for each in self._cleared if each[0] <= now and each[1] is self._talk]
        for each in due:
            _, talk, place, call = each
            call_id = _text(call, "callID")
            talk.replace_result(place, call_id, partial(_cleared, call_id))
            self._cleared.remove(each)


def _step_count(parts: Sequence[Json]) -> int:
    return sum(part.get("type") == "step-finish" for part in parts)


def _steps(parts: Sequence[Json]) -> Iterator[list[Json]]:
    """Split an answer into its steps; one that never finished is one too."""
    step: list[Json] = []
    is_empty = True
    for part in parts:
        step.append(part)
        if part.get("type") == "step-finish":
            yield step
            step, is_empty = [], False
    if is_empty or any(_text(part, "type") in _SPOKEN for part in step):
        yield step


def _format(info: Json) -> str:
    """Say how a provider is spoken to."""
    provider, model = _text(info, "providerID"), _text(info, "modelID")
    if provider == "github-copilot" and model.startswith("gpt-5"):
        return "openai-responses"
    wire_format = _PROVIDERS.get(provider, "openai-chat")
    if wire_format:
        return wire_format
    makers = {"claude": "anthropic", "gpt": "openai-responses", "gemini": "gemini"}
    return next((name for maker, name in makers.items() if maker in model), "openai-chat")


def _usage(tokens: Json) -> Usage | None:
    """Read what was billed: the input excludes the cache, the output what was thought."""
    cache = _inner(tokens, "cache")
    read, written = int(_number(cache.get("read"))), int(_number(cache.get("write")))
    reasoning = int(_number(tokens.get("reasoning")))
    return billed(
        int(_number(tokens.get("input"))) + read + written,
        read=read,
        write=written,
        output=int(_number(tokens.get("output"))) + reasoning,
        reasoning=reasoning,
    )


# ---------------------------------------------------------------------- parts


def _size(parts: Sequence[Json]) -> int:
    return sum(
        len(_text(part, "text"))
        + len(_text(part, "url"))
        + len(str(_inner(part, "state").get("input", "")))
        for part in parts
    )


def _user_part(part: Json) -> Part | None:
    """Decode what the user says; None for what is not sent."""
    match part.get("type"):
        case "text" if not part.get("ignored") and _text(part, "text"):
            return Text(_text(part, "text"))
        case "file":
            return _file(part)
        case "compaction":
            return Text(_ASKED_FOR_SUMMARY)
        case _:
            return None


def _file(part: Json) -> Media | None:
    """Decode a file; None where its text stands elsewhere, or where it is not in the log."""
    url = _text(part, "url")
    match = _DATA_URL.match(url)
    mime = _text(part, "mime") or (match[1] if match else "")
    if match is None or mime.startswith("text/"):
        return None
    kind = "image" if mime.startswith("image/") else "document"
    return Media("image" if kind == "image" else "document", mime, url[match.end() :])


def _said(step: Sequence[Json]) -> list[Part]:
    return [part for each in step if (part := _assistant_part(each)) is not None]


def _assistant_part(part: Json) -> Part | None:
    match part.get("type"):
        case "text" if _text(part, "text"):
            return Text(_text(part, "text"))
        case "reasoning":
            return _thinking(part)
        case "tool":
            arguments = _inner(part, "state").get("input")
            given = dump(arguments if isinstance(arguments, Mapping) else {}).decode()
            return ToolCall(_text(part, "callID"), _text(part, "tool"), given)
        case _:
            return None


def _thinking(part: Json) -> Thinking | None:
    signed = _inner(_inner(part, "metadata"), "anthropic")
    if data := _text(signed, "redactedData"):
        return Thinking("", data, is_redacted=True)
    signature = _text(signed, "signature")
    return Thinking(_text(part, "text"), signature) if signature else None


def _result(call_id: str, state: Json) -> ToolResult:
    """Decode what a call was answered."""
    output, error = state.get("output"), _text(state, "error")
    if state.get("status") == "error" or error:
        return ToolResult(call_id, (Text(error or INTERRUPTED),), is_error=True)
    if output is None:
        return ToolResult(call_id, (Text(INTERRUPTED),), is_error=True)
    text = output if isinstance(output, str) else dump(output).decode()
    content: list[ResultContent] = [Text(text)] if text else []
    attached = state.get("attachments")
    for each in attached if isinstance(attached, list) else ():
        media = _file(each) if isinstance(each, Mapping) else None
        if media is not None:
            content.append(media)
    return ToolResult(call_id, tuple(content))


def _cleared(call_id: str) -> ToolResult:
    return ToolResult(call_id, (Text(_CLEARED),))
