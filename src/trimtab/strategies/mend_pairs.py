"""Mend a history that arrived broken: calls without results, results without calls, and the like.

A provider refuses such a request, on this turn and on every later one. The
mending is a pure function of the history, so each later turn mends the same
places with the same bytes.

* A call without a result gets one that says so, marked as an error.
* A result that stands somewhere else moves behind its call.
* A result that nothing asked for, or that answers a second time, goes.
* Reasoning behind which nothing stands that it led to goes where the provider
  refuses it alone.
* A blank text goes where the provider refuses it; a message that held
  nothing else says that it was empty, so that roles keep alternating.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab.boundaries import MADE_PREFIX
from trimtab.constraints import Constraints
from trimtab.messages import Message, Text, Thinking, ToolResult
from trimtab.plan import Drop, Edit, Fold, Ref, Replace

__all__ = ["mend_pairs"]

NO_RESULT = f"{MADE_PREFIX}no result of this call was recorded; it may not have run]"
EMPTY = f"{MADE_PREFIX}this message was empty]"


@dataclass(frozen=True, slots=True)
class _Answer:
    """A result, and where it stands."""

    message: int
    part: int
    result: ToolResult


def mend_pairs(messages: Sequence[Message], constraints: Constraints) -> tuple[Edit, ...]:
    """Say what to change so that every call has its result and every result its call.

    Args:
        messages: All messages, oldest first.
        constraints: Whether results must follow their calls, whether blank text is refused.

    Returns:
        The edits, in the order of the messages; empty for a history that is sound.
    """
    edits = [] if _are_sound(messages, constraints) else list(_mend(messages, constraints))
    edits += _drop_loose_thinking(messages)
    if constraints.refuses_blank_text:
        edits += _mend_blanks(messages, edits)
    return tuple(edits)


def _are_sound(messages: Sequence[Message], constraints: Constraints) -> bool:
    """Whether all results follow their calls at once: the usual case, told without decoding."""
    awaited: set[str] = set()
    for message in messages:
        if message.result_ids:
            answered = set(message.result_ids)
            if len(answered) != len(message.result_ids) or not answered <= awaited:
                return False
            awaited -= answered
            if awaited and constraints.results_share_message:
                return False
            if message.has_own_words and (awaited or _has_late_result(message, constraints)):
                return False
            continue
        if awaited and not (message.role == "assistant" and constraints.neighbours_are_one_turn):
            return False
        if len(set(message.call_ids)) != len(message.call_ids) or awaited & set(message.call_ids):
            return False
        awaited |= set(message.call_ids)
    return not awaited


def _has_late_result(message: Message, constraints: Constraints) -> bool:
    """Whether something else stands before a result in it, where that is refused."""
    if not constraints.results_come_first:
        return False
    kinds = [isinstance(part, ToolResult) for part in message.parts]
    return kinds != sorted(kinds, reverse=True)


def _mend(messages: Sequence[Message], constraints: Constraints) -> Iterator[Edit]:
    answers, openers = _answers(messages), _openers(messages)
    used: set[tuple[int, int]] = set()
    for calls, end in _runs(messages, constraints):
        zone = _zone_end(messages, end)
        put_in: list[ToolResult] = []
        in_place: list[_Answer] = []
        for call_id in calls:
            # Behind the next call of the same id, a result answers that one.
            until = next((place for place in openers[call_id] if place >= end), len(messages))
            answer = _first_unused(answers.get(call_id, ()), end, until, used)
            if answer is None:
                put_in.append(ToolResult(call_id, (Text(NO_RESULT),), is_error=True))
            elif _is_in_place(messages, answer, zone, constraints):
                in_place.append(answer)
            else:
                put_in.append(answer.result)
        if constraints.results_share_message and (put_in or len({a.message for a in in_place}) > 1):
            put_in = _in_order(calls, [*put_in, *(answer.result for answer in in_place)])
        else:
            used.update((answer.message, answer.part) for answer in in_place)
        if put_in:
            made = Message("tool", put_in, origin="repair")
            yield Fold((), end, made, "a call without its result behind it")
    yield from _drop_strays(messages, used)


def _in_order(calls: Sequence[str], results: Sequence[ToolResult]) -> list[ToolResult]:
    """Results in the order of their calls."""
    return sorted(results, key=lambda result: calls.index(result.call_id))


def _first_unused(
    answers: Sequence[_Answer], start: int, stop: int, used: set[tuple[int, int]]
) -> _Answer | None:
    for answer in answers:
        if start <= answer.message < stop and (answer.message, answer.part) not in used:
            return answer
    return None


def _openers(messages: Sequence[Message]) -> dict[str, list[int]]:
    """The messages that make a call, by its id; some servers use one again."""
    openers: dict[str, list[int]] = {}
    for place, message in enumerate(messages):
        for call_id in message.call_ids:
            openers.setdefault(call_id, []).append(place)
    return openers


def _answers(messages: Sequence[Message]) -> dict[str, list[_Answer]]:
    answers: dict[str, list[_Answer]] = {}
    for place, message in enumerate(messages):
        for number, part in enumerate(message.parts if message.result_ids else ()):
            if isinstance(part, ToolResult):
                answers.setdefault(part.call_id, []).append(_Answer(place, number, part))
    return answers


def _runs(messages: Sequence[Message], constraints: Constraints) -> Iterator[tuple[list[str], int]]:
    """The calls of each assistant turn, and the place behind it, where their results belong."""
    calls: dict[str, None] = {}
    for place, message in enumerate(messages):
        if message.role == "assistant":
            calls.update(dict.fromkeys(message.call_ids))
        behind = messages[place + 1].role if place + 1 < len(messages) else ""
        if behind == "assistant" == message.role and constraints.neighbours_are_one_turn:
            continue
        if calls:
            yield list(calls), place + 1
        calls = {}


def _zone_end(messages: Sequence[Message], start: int) -> int:
    """The place behind the messages that may answer a run ending before ``start``."""
    place = start
    while place < len(messages) and messages[place].result_ids:
        place += 1
        if messages[place - 1].has_own_words:
            break
    return place


def _is_in_place(
    messages: Sequence[Message], answer: _Answer, zone_end: int, constraints: Constraints
) -> bool:
    if not constraints.results_must_follow:
        return True
    if answer.message >= zone_end:
        return False
    before = messages[answer.message].parts[: answer.part]
    return not constraints.results_come_first or all(isinstance(p, ToolResult) for p in before)


def _drop_strays(messages: Sequence[Message], used: set[tuple[int, int]]) -> Iterator[Edit]:
    """Drop the results that answer nothing any more, or stand elsewhere now."""
    for place, message in enumerate(messages):
        if not message.result_ids:
            continue
        parts = message.parts
        strays = [
            number
            for number, part in enumerate(parts)
            if isinstance(part, ToolResult) and (place, number) not in used
        ]
        if strays:
            ref = Ref(place, None if len(strays) == len(parts) else tuple(strays))
            yield Drop(ref, "a result that no call waits for here")


def _drop_loose_thinking(messages: Sequence[Message]) -> list[Edit]:
    """Drop reasoning that must not stand alone and does; the oldest first."""
    loose: list[int] = []
    leads_on = False
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role != "assistant":
            leads_on = False
        elif not leads_on:
            parts = () if message.call_ids else message.parts
            if parts and all(isinstance(part, Thinking) for part in parts):
                if any(isinstance(part, Thinking) and part.needs_answer for part in parts):
                    loose.append(place)
            else:
                leads_on = True
    return [Drop(Ref(place), "reasoning that led to nothing") for place in reversed(loose)]


def _mend_blanks(messages: Sequence[Message], edits: Sequence[Edit]) -> list[Edit]:
    gone = {edit.ref.message: edit.ref.parts for edit in edits if isinstance(edit, Drop)}
    mended: list[Edit] = []
    for place, message in enumerate(messages):
        is_final = place == len(messages) - 1 and message.role == "assistant"
        if is_final or (place in gone and gone[place] is None):
            continue
        mended += _mend_blank(place, message, gone.get(place) or ())
    return mended


def _mend_blank(place: int, message: Message, gone: Sequence[int]) -> Iterator[Edit]:
    parts = message.parts
    blank = [number for number, part in enumerate(parts) if _is_blank(part)]
    staying = [n for n in range(len(parts)) if n not in blank and n not in gone]
    if not staying:
        made = Message(message.role, (Text(EMPTY),), origin="filler")
        yield Fold((Ref(place),), place, made, "a message without any words")
        return
    if blank:
        yield Drop(Ref(place, tuple(blank)), "a blank text")
    for number in staying:
        part = parts[number]
        if isinstance(part, ToolResult) and any(_is_blank(block) for block in part.content):
            content = tuple(block for block in part.content if not _is_blank(block))
            new = ToolResult(part.call_id, content, part.is_error)
            yield Replace(place, number, new, "a blank text in a result")


def _is_blank(block: object) -> bool:
    return isinstance(block, Text) and not block.text.strip()
