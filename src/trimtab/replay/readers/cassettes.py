"""Recorded HTTP exchanges, as vcrpy and what builds on it writes them: YAML, or JSON.

The bodies of requests are the JSON that was sent, some parsed and written
again by the recorder (``parsed_body``). Whose format they are, the address
says, or the body where the address was made unreadable. What was billed is
read from the answer, whole or streamed. Exchanges that ask no model for an
answer (files, lists, counts) are left out.

YAML is read by PyYAML, which is the extra ``cassettes``.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, TypeAlias

from trimtab.errors import MalformedBodyError, MissingExtraError, RequestError
from trimtab.replay.answers import Notes, billed
from trimtab.replay.json_lines import begins, mentions, trimmed
from trimtab.replay.recording import RecordedRequest, Recording
from trimtab.usage import Usage
from trimtab.wire import FORMATS
from trimtab.wire import read as read_request
from trimtab.wire.json_spans import dump, load
from trimtab.wire.streams import StreamReader

__all__ = ["KIND", "read", "recognises"]

KIND = "http-exchanges"

Json: TypeAlias = Mapping[str, Any]

# In YAML: one of the lists, and in it a request, or what requests are made of.
_LINES = re.compile(
    rb"^(?:(?:http_)?interactions:\s+- (?:request|response|recorded_at):|requests:\s+- (?:body|headers|method|uri):)",
    re.MULTILINE,
)
_LISTS = ("interactions", "http_interactions")

_BEDROCK = "bedrock-converse"
_ADDRESSES = (
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/responses$"), "openai-responses"),
    (
        re.compile(r"/messages$|/publishers/anthropic/models/[^/]+:(?:stream)?[rR]awPredict$"),
        "anthropic",
    ),
    (re.compile(r":(?:streamG|g)enerateContent$"), "gemini"),
    (re.compile(r"/converse(?:-stream)?$"), _BEDROCK),
)
"""How the addresses of each format end."""

_MODEL = re.compile(r"/models?/([^/:]+)")
_HISTORIES = ("messages", "contents", "input")

_NO_BODY = "exchanges left out, whose request body is cut off or no JSON object"


def recognises(data: bytes) -> bool:
    """Say whether it is a list of exchanges, each a request with its response."""
    text = trimmed(data)
    if begins(text, b"{"):
        if not mentions(data, b"request", b"response"):
            return False
        try:
            value = load(data)
        except MalformedBodyError:
            return False
        return isinstance(value, dict) and any(_pairs(value))
    if begins(text, b"["):
        return False
    return _LINES.search(data) is not None


def read(data: bytes, name: str) -> list[Recording]:
    """Read all exchanges of a file as one session.

    Args:
        data: The whole file.
        name: What the file is called.

    Raises:
        MissingExtraError: If it is YAML and PyYAML is not installed.
        RequestError: If it is broken, or no model is asked in it.
    """
    value = _decoded(data, name)
    notes = Notes()
    requests = [
        request
        for asked, answered in (_pairs(value) if isinstance(value, dict) else ())
        if (request := _request(asked, answered, notes)) is not None
    ]
    if not requests:
        raise RequestError(f"`{name}` holds recorded exchanges, and no model is asked in any")
    return [Recording(KIND, name, requests, notes.told())]


def _decoded(data: bytes, name: str) -> object:
    """Decode a file.

    Raises:
        MissingExtraError: If it is YAML and PyYAML is not installed.
        RequestError: If it is broken.
    """
    if begins(trimmed(data), b"{"):
        return load(data)
    try:
        import yaml  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise MissingExtraError("reading recorded HTTP exchanges in YAML", "cassettes") from None
    try:
        return yaml.load(data, Loader=_loader())  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise RequestError(f"`{name}` is YAML that is broken or cut off{where}") from None


@cache
def _loader() -> Any:  # noqa: ANN401 - a class of PyYAML's, whichever is there
    """Make a loader that builds plain values alone; texts that Python tagged stay texts."""
    import yaml  # noqa: PLC0415 - an extra, and slow to load

    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = type("_Loader", (base,), {})

    def plain(reader: Any, _: str, node: Any) -> object:  # noqa: ANN401 - PyYAML's
        return reader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None

    for prefix in ("!", "tag:yaml.org,2002:python"):
        loader.add_multi_constructor(prefix, plain)  # type: ignore[attr-defined]
    return loader


def _pairs(value: Json) -> Iterator[tuple[Json, Json]]:
    """Find requests with their responses: together, or in two lists beside each other."""
    for key in _LISTS:
        exchanges = value.get(key)
        for exchange in exchanges if isinstance(exchanges, list) else ():
            request = exchange.get("request") if isinstance(exchange, dict) else None
            if isinstance(request, dict):
                yield request, _object(exchange.get("response"))
    asked, answered = value.get("requests"), value.get("responses")
    if isinstance(asked, list) and isinstance(answered, list):
        for place, request in enumerate(asked):
            if isinstance(request, dict):
                yield request, _object(answered[place] if place < len(answered) else None)


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


# ------------------------------------------------------------------- exchanges


def _request(asked: Json, answered: Json, notes: Notes) -> RecordedRequest | None:
    """Make a request of an exchange; None where no model is asked."""
    address = str(asked.get("uri") or asked.get("url") or "").partition("?")[0]
    body = _body(asked)
    value = _body_value(body)
    if value is None:
        if body and any(pattern.search(address) for pattern, _ in _ADDRESSES):
            notes[_NO_BODY] += 1
        return None
    wire_format = _format(address, body, value)
    if not wire_format:
        return None
    history = next((value[key] for key in _HISTORIES if value.get(key)), ())
    model, usage = _answer(_body(answered), wire_format)
    named = value.get("model")
    in_address = _MODEL.search(address)
    return RecordedRequest(
        format=wire_format,
        build=partial(bytes, body),
        size_bytes=len(body),
        message_count=len(history) if isinstance(history, list) else 1,
        model=model or (named if isinstance(named, str) else in_address[1] if in_address else ""),
        usage=usage,
    )


def _format(address: str, body: bytes, value: Json) -> str:
    """Say whose format a body is; empty where it asks no model for an answer."""
    for pattern, name in _ADDRESSES:
        if pattern.search(address):
            return name
    if "://" in address or not any(value.get(key) for key in _HISTORIES):
        return ""
    try:
        return read_request(body).format.name
    except RequestError:
        return ""


def _body(message: Json) -> bytes:
    """Find the body of a request or a response, unpacked."""
    parsed = message.get("parsed_body")
    if parsed is not None:
        return dump(parsed) if _is_json(parsed) else b""
    body = message.get("body")
    if isinstance(body, dict):
        if isinstance(body.get("base64_string"), str):
            return _unpacked(_from_base64(body["base64_string"]))
        body = body.get("string")
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    return _unpacked(body) if isinstance(body, bytes) else b""


def _is_json(value: object) -> bool:
    """Whether YAML gave what JSON can hold: it has dates and bytes of its own."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int | float)


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def _unpacked(body: bytes) -> bytes:
    if not body.startswith(b"\x1f\x8b"):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return b""


def _body_value(body: bytes) -> Json | None:
    try:
        value = load(body) if body else None
    except MalformedBodyError:
        return None
    return value if isinstance(value, dict) else None


def _answer(body: bytes, wire_format: str) -> tuple[str, Usage | None]:
    """Read which model answered and what it billed."""
    if not any(known.name == wire_format for known in FORMATS):
        return "", _bedrock_usage(_body_value(body) or {})
    reader = StreamReader(wire_format)
    reader.feed(body)
    reader.close()
    return reader.model or "", reader.usage


def _bedrock_usage(answer: Json) -> Usage | None:
    told = _object(answer.get("usage"))
    read, written = told.get("cacheReadInputTokens") or 0, told.get("cacheWriteInputTokens") or 0
    fresh = told.get("inputTokens")
    if not all(isinstance(count, int) for count in (fresh, read, written)):
        return None
    total = int(fresh or 0) + int(read) + int(written)
    return billed(total, read=read, write=written, output=told.get("outputTokens"))
