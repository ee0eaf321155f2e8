"""Where a request parts from the one that it goes on from, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from trimtab.economy import LOOK_BACK_BLOCKS
from trimtab.errors import MalformedBodyError
from trimtab.lineage import Places, align
from trimtab.messages import Message, Thinking, ToolResult
from trimtab.replay.prefixes.findings import Cause, Found, Harmless
from trimtab.replay.prefixes.sent import ORDERED_VALUES, STAGES, Field, Sent
from trimtab.replay.prefixes.texts import (
    MISSING,
    Difference,
    difference,
    first_unequal,
    key_order,
    text_cause,
)
from trimtab.wire.json_spans import Path, dump, load, locate, object_spans

__all__ = ["Parting", "part"]

_SHOWN = 60
"""Characters that are shown of what stood somewhere."""

_SHRUNK = 0.6
"""A request that is smaller than this share of the one before may have been summed up."""

_SUMMED_UP = re.compile(
    rb"summar[iy]|compact|continued from|ran out of context|hand-?off|checkpoint|previous conversation",
    re.IGNORECASE,
)
_LOOKED_AT_BYTES = 4_000

_ALIKE = 0.5
"""Share of two texts that is the same at their ends, from which on one is the other, changed."""


class Parting(NamedTuple):
    """How a request follows another.

    Attributes:
        shared: Messages at the front that are the same in both.
        found: Where they part, in the order of the prefix; empty where it extends the other.
        harmless: What differs and costs nothing.
    """

    shared: int
    found: tuple[Found, ...]
    harmless: tuple[Harmless, ...]


_Told: TypeAlias = Found | Harmless


def part(before: Sent, after: Sent) -> Parting:
    """Hold a request against the one that it goes on from."""
    shared = _shared(before.names, after.names)
    # A side call or a new task has a surface of its own: that it is another one tells nothing.
    message = None if shared == len(before.names) else _in_messages(before, after, shared)
    if isinstance(message, Found) and message.cause == "new_conversation":
        return Parting(shared, (message,), ())
    told: list[_Told] = [*_in_surface(before, after)]
    told += [] if message is None else [message]
    if not isinstance(message, Found):
        told += _in_written(before, after, shared)
        told += _in_markers(before, after)
    found = tuple(each for each in told if isinstance(each, Found))
    harmless = tuple(dict.fromkeys(each for each in told if not isinstance(each, Found)))
    if isinstance(message, str):
        shared = len(before.names)
    return Parting(shared, found, harmless)


def _shared(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    pairs = zip(before, after, strict=False)
    return next(
        (place for place, (old, new) in enumerate(pairs) if old != new),
        min(len(before), len(after)),
    )


# -------------------------------------------------------------------- surface


def _in_surface(before: Sent, after: Sent) -> Iterator[_Told]:
    if before.model and after.model and before.model != after.model:
        at = _member_start(after, "model")
        yield Found("model_changed", "model", at, before.model, after.model, 0)
    keys = dict.fromkeys((*after.fields, *before.fields))
    unrecorded = before.recorded.unrecorded | after.recorded.unrecorded
    for key in sorted(keys, key=lambda key: STAGES[_part(before, after, key)]):
        old, new = before.fields.get(key), after.fields.get(key)
        if key not in unrecorded and (old is None or new is None or old.raw != new.raw):
            yield from _in_field(before, after, key)


def _part(before: Sent, after: Sent, key: str) -> str:
    return (after.fields.get(key) or before.fields[key]).part


def _in_field(before: Sent, after: Sent, key: str) -> Iterator[_Told]:
    """What differs in a field whose bytes are others, markers aside."""
    old, new = before.fields.get(key), after.fields.get(key)
    told = _part(before, after, key)
    stage = STAGES[told]
    if old is not None and new is not None and _is_same_form(old, new):
        yield "billing_block" if old.form != old.raw or new.form != new.raw else "written_otherwise"
        return
    was, now = _plain(old), _plain(new)
    if was == now:
        order = key_order(was, now) if told == "tools" else None
        if order is None:
            yield "text_as_block" if dump_of(old)[:1] != dump_of(new)[:1] else "written_otherwise"
        else:
            yield _found("key_order_changed", after, (key,), Difference(order, was, now), stage)
        return
    found = difference(was, now) or Difference((), was, now)
    if isinstance(was, list) and isinstance(now, list) and told == "tools":
        yield _in_tools(before, after, key, found)
    elif told in ("parameters", "settings") or (told == "tools" and not isinstance(now, list)):
        yield _found("parameters_changed", after, (key,), found, stage)
    else:
        cause = text_cause(_one_block(found)) or "system_changed"
        yield _found(cause, after, (key,), found, stage)


def _is_same_form(old: Field, new: Field) -> bool:
    return old.form == new.form


def dump_of(field: Field | None) -> bytes:
    """The JSON text of a field; empty where it is absent."""
    return b"" if field is None else field.raw


def _plain(field: Field | None) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """The value of a field; a text that is its only block as a bare string."""
    if field is None:
        return MISSING
    try:
        value = load(field.raw)
    except MalformedBodyError:
        return field.raw.decode("utf-8", "replace")
    match value:
        case [{"type": "text", "text": str(text), **others}] if not others:
            return text
    return value


def _one_block(found: Difference) -> Difference:
    """A text that stands against one block as two texts."""
    match found.before, found.after:
        case [{"text": str(text)}, *_], str(other):
            return Difference(found.path, text, other)
        case str(other), [{"text": str(text)}, *_]:
            return Difference(found.path, other, text)
    return found


def _in_tools(before: Sent, after: Sent, key: str, found: Difference) -> Found:
    was = [tool.name for tool in before.request.surface.tools]
    now = [tool.name for tool in after.request.surface.tools]
    cause: Cause
    if sorted(was) == sorted(now) and was != now:
        cause = "tools_reordered"
    elif set(was) - set(now):
        cause = "tool_removed"
    elif set(now) - set(was):
        cause = "tool_added"
    else:
        cause = text_cause(found) or "tool_changed"
    if was == now:
        return _found(cause, after, (key,), found, 0)
    only_old, only_new = sorted(set(was) - set(now)), sorted(set(now) - set(was))
    is_listed = bool(only_old or only_new)
    listed = (only_old, only_new) if is_listed else (was, now)
    came, comes = (_shown(", ".join(names)) for names in listed)
    steps = found.path
    # Some formats hold lists of tools in the list of tools.
    at: Path = (key, *(steps[:3] if len(steps) > 2 and isinstance(steps[2], int) else steps[:1]))
    return Found(cause, _path(at), _offset(after, (key, *found.path), ""), came, comes, 0)


# ------------------------------------------------------------------- messages


def _in_messages(before: Sent, after: Sent, shared: int) -> _Told:
    """Why the messages part although the older request goes on there."""
    field = before.request.format.history_field
    if shared == len(after.names):
        return Found("rewind", f"{field}[{shared}]", None, "", "")
    if shared == len(before.names) - 1 and _is_extended(before, after, shared):
        return "message_extended"
    places = align(before.names, after.names)
    found = _difference(before, after, shared)
    if places.is_edited:
        return _in_edited(before, after, places, found)
    if _is_same_message(before, after, shared):
        return _in_message(before, after, shared, found)
    if _is_compacted(before, after, shared):
        return _found_message("client_compaction", after, shared, found)
    if not after.own_messages(shared):
        return _found_message("new_conversation", after, shared, found)
    return _found_message("rewind", after, shared, found)


def _is_extended(before: Sent, after: Sent, place: int) -> bool:
    """Whether a message has what it had, and more behind it."""
    old, new = (sent.request.message(place) for sent in (before, after))
    return old.role == new.role and old.parts == new.parts[: len(old.parts)] != ()


def _difference(before: Sent, after: Sent, place: int) -> Difference:
    was, now = (load(sent.request.form(place)) for sent in (before, after))
    return difference(was, now) or Difference((), was, now)


def _in_edited(before: Sent, after: Sent, places: Places, found: Difference) -> _Told:
    """Why they part where old messages still follow."""
    shared = places.shared
    if sorted(before.names) == sorted(after.names[: len(before.names)]):
        return _found_message("messages_reordered", after, shared, found)
    removed = len(before.names) - len(places.now) - len(places.shortened)
    put_in = max(places.now.values()) + 1 - len(places.now) - len(places.shortened)
    if removed > put_in:
        gone = range(shared, len(before.names))
        lost = [before.request.message(at) for at in gone if at not in places.now]
        cause: Cause = "client_compaction"
        if all(_is_thinking(message) for message in lost):
            cause = "thinking_dropped"
        return _found_message(cause, after, shared, found)
    if before.names[shared] in after.names[shared:]:
        return _found_message("history_edited", after, shared, found)
    return _in_message(before, after, shared, found)


def _is_thinking(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(each, Thinking) for each in message.parts)


def _in_message(before: Sent, after: Sent, place: int, found: Difference) -> _Told:
    """Why a message reads otherwise than it did."""
    at: Path = (before.request.format.history_field, place)
    was, now = (load(sent.request.form(place)) for sent in (before, after))
    if was == now:
        order = key_order(was, now)
        if order is None or not ORDERED_VALUES.intersection(map(str, order)):
            return "written_otherwise"
        return _found("key_order_changed", after, at, Difference(order, was, now))
    old, new = before.request.message(place), after.request.message(place)
    if _spoken(old) == _spoken(new) and old.parts != new.parts:
        return _found("thinking_dropped", after, at, found)
    cause = text_cause(found)
    if cause == "varying_number":
        cause = None  # in a message, that is another content
    if cause is None and before.is_system(place):
        cause = text_cause(found) or "system_changed"
    if cause is None:
        cause = "history_edited" if _results(old) == _results(new) else "result_changed"
    return _found(cause, after, at, found)


def _results(message: Message) -> list[object]:
    return [each for each in message.parts if isinstance(each, ToolResult)]


def _spoken(message: Message) -> list[object]:
    return [each for each in message.parts if not isinstance(each, Thinking)]


def _is_same_message(before: Sent, after: Sent, place: int) -> bool:
    """Whether a message that has other bytes is the same one, changed."""
    old, new = (sent.request.outlines[place] for sent in (before, after))
    if old.role != new.role:
        return False
    ids = {*old.call_ids, *old.result_ids} & {*new.call_ids, *new.result_ids}
    if ids:
        return True
    goes_on = len(after.names) > len(before.names) > place
    was, now = (sent.request.form(place) for sent in (before, after))
    return (goes_on and place > 0 and place == len(before.names) - 1) or _is_alike(was, now)


def _is_alike(was: bytes, now: bytes) -> bool:
    """Whether two texts are mostly the same."""
    longest = max(len(was), len(now))
    front = first_unequal(was, now)
    back = first_unequal(was[front:][::-1], now[front:][::-1])
    frame = 40  # what every message has: keys and the role
    return front + back - frame > _ALIKE * (longest - frame)


def _is_compacted(before: Sent, after: Sent, shared: int) -> bool:
    """Whether the client put a summary in place of its history."""
    if after.total_tokens > _SHRUNK * before.total_tokens:
        return False
    new = b"".join(after.request.message_bytes(at)[:_LOOKED_AT_BYTES] for at in _few(after, shared))
    return bool(_SUMMED_UP.search(new))


def _few(after: Sent, shared: int) -> range:
    return range(shared, min(shared + 3, len(after.names)))


def _in_written(before: Sent, after: Sent, shared: int) -> Iterator[Harmless]:
    """What differs in the bytes of messages that are the same."""
    for place in range(shared):
        old, new = (sent.request.message_bytes(place) for sent in (before, after))
        if old != new:
            wire_format = before.request.format
            if before.request.form(place) != after.request.form(place):
                yield "written_otherwise"
            elif wire_format.unmarked(old) != old or wire_format.unmarked(new) != new:
                yield "marker_moved"
            else:
                yield "text_as_block"


# -------------------------------------------------------------------- markers


def _in_markers(before: Sent, after: Sent) -> Iterator[_Told]:
    """Whether a marker leads to what the last ones wrote."""
    same = _shared([b.digest for b in before.blocks], [b.digest for b in after.blocks])
    written = [place for place in range(same) if before.blocks[place].is_marked]
    if not written:
        return
    marks = [place for place, block in enumerate(after.blocks) if block.is_marked]
    read = [
        place for place in written if any(0 <= mark - place < LOOK_BACK_BLOCKS for mark in marks)
    ]
    last = written[-1]
    if last in read:
        return
    message = after.blocks[last].message
    field = before.request.format.history_field
    path = (
        f"{field}[{message}]" if message >= 0 else "system" if "system" in after.fields else "tools"
    )
    mark = max((mark for mark in marks if mark > last), default=None)
    now = "no marker behind it" if mark is None else f"the next is {mark - last} blocks behind it"
    kept = max((before.blocks[place].message for place in read), default=-1)
    stage = (3 if kept >= 0 else 2) if read else 0
    yield Found("marker_moved", path, None, "a marker", now, stage, max(0, kept))


# --------------------------------------------------------------------- places


def _found(cause: Cause, after: Sent, at: Path, found: Difference, stage: int = 3) -> Found:
    """Say where a difference lies in the newer body."""
    before, now = _values(found)
    path = _in_block(after, (*at, *found.path), found.after)
    return Found(cause, _path(path), _offset(after, path, before), *_around(before, now), stage)


def _found_message(cause: Cause, after: Sent, place: int, found: Difference) -> Found:
    """The same of a message that is another one altogether."""
    field = after.request.format.history_field
    return replace(_found(cause, after, (field, place), found), path=_path((field, place)))


def _in_block(after: Sent, path: Path, value: Any) -> Path:  # noqa: ANN401 - JSON is whatever it is
    """Lead to a text that stands in the body as the only block of a list."""
    if not isinstance(value, str):
        return path
    try:
        start, _ = _locate(after, path)
    except (MalformedBodyError, TypeError):
        return path
    is_list = after.request.body[start : start + 1] == b"["
    return (*path, 0, "text") if is_list else path


def _values(found: Difference) -> tuple[str, str]:
    return _as_text(found.before), _as_text(found.after)


def _as_text(value: Any) -> str:  # noqa: ANN401 - JSON is whatever it is
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else dump(value).decode("utf-8", "replace")


def _around(before: str, after: str) -> tuple[str, str]:
    """A few characters of both, from a little before where they part."""
    start = max(0, first_unequal(before, after) - _SHOWN // 3)
    return _shown(before[start:]), _shown(after[start:])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _offset(after: Sent, path: Path, before: str) -> int | None:
    """The first byte of the newer body that differs."""
    body = after.request.body
    while path:
        try:
            start, stop = _locate(after, path)
        except (MalformedBodyError, TypeError):
            path = path[:-1]
            continue
        value = body[start:stop]
        old = dump(before) if value[:1] == b'"' else before.encode("utf-8", "replace")
        return start + min(first_unequal(old, value), max(0, len(value) - 1))
    return None


def _locate(after: Sent, path: Path) -> tuple[int, int]:
    """Find a value in a body, from its message where it is in one."""
    request = after.request
    if len(path) > 1 and path[0] == request.format.history_field and isinstance(path[1], int):
        if path[1] >= len(request.spans):
            raise MalformedBodyError("there is no such message", offset=0)
        start, stop = request.spans[path[1]]
        low, high = locate(request.body[start:stop], path[2:])
        return start + low, start + high
    return locate(request.body, path)


def _member_start(after: Sent, key: str) -> int | None:
    spans: Mapping[str, tuple[int, int]] = object_spans(after.request.body)
    return spans[key][0] if key in spans else None


def _path(path: Path) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")
