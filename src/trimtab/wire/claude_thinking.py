"""What an edit does to Claude's signed thinking, and to system messages inside a conversation.

A thinking block is sent back as it came or not at all, and a chain of them
has no hole. On models that bind thinking, a signature commits to everything
before it: behind an edit no thinking stays, or the provider is asked to drop
what no longer fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from trimtab.messages import Message, Thinking
from trimtab.plan import Drop, Edit, EnvelopeEdit, Fold, Forbidden, Plan, Ref, Slot, apply
from trimtab.wire.json_spans import load
from trimtab.wire.request import Request

__all__ = ["BINDING_BETA", "ask_to_drop", "complete_thinking", "follow_system_messages"]

BINDING_BETA = "thinking-binding-controls-2026-08-01"
"""Beta that permits ``thinking.block_binding``."""

_ANSWER = "Understood."
"""What a made assistant message says where a system message must be followed by one."""

_WORDS = "[trimtab: a message was removed here]"
"""What a made user message says where a system message must follow one."""

_NO_WORDS = "[trimtab: this answer was thinking alone, which was removed]"
"""What stands for an assistant message that held nothing else, so that roles keep alternating."""


def complete_thinking(request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:
    """Add to a plan what its cuts entail for the thinking that stays, or refuse it."""
    kept = _kept_thinking(request, plan)
    if request.constraints.binds_thinking:
        return _unbind(request, plan, kept, headers_settable=headers_settable)
    return plan + Plan(_close_hole(request, kept))


def follow_system_messages(plan: Plan, request: Request) -> Plan:
    """Put an answer behind a system message that has lost its own, and words before it (A15).

    One that the client left without an answer stays as it came.
    """
    fillers = []
    for slot, behind in pairwise(apply(plan, request.messages)):
        if slot.source is None or slot.message.role != "system" or slot.source == 0:
            continue
        if behind.message.role == "assistant" or behind.source == slot.source + 1:
            continue
        place = slot.source + 1
        fillers.append(_filler(place, Message.assistant(_ANSWER, origin="filler")))
        if behind.message.role == "system":
            fillers.append(_filler(place, Message.user(_WORDS, origin="filler")))
    return Plan(tuple(fillers)) + plan  # in front of what else was made for the same place


def _filler(before: int, message: Message) -> Fold:
    return Fold((), before, message, "a system message stands between words and an answer")


_Thought: TypeAlias = tuple[int, tuple[int, ...]]
"""A message, and which of its parts are thinking."""


def _kept_thinking(request: Request, plan: Plan) -> list[_Thought]:
    """Which thinking blocks stay under a plan, oldest first."""
    kept = []
    for slot in apply(plan, request.messages):
        if slot.source is None or slot.message.role != "assistant":
            continue
        parts = _thinking_parts(request, slot.source)
        if parts := tuple(part for part in parts if part not in slot.dropped):
            kept.append((slot.source, parts))
    return kept


def _thinking_parts(request: Request, place: int) -> tuple[int, ...]:
    if b'thinking"' not in request.message_bytes(place):
        return ()
    return tuple(
        number
        for number, part in enumerate(request.messages[place].parts)
        if isinstance(part, Thinking)
    )


def _close_hole(request: Request, kept: list[_Thought]) -> tuple[Edit, ...]:
    """Strip thinking that stands before thinking that goes: the chain has no hole in it.

    What goes from its front or from its end leaves no hole.
    """
    staying = {place for place, _ in kept}
    gone = [
        place
        for place, outline in enumerate(request.outlines)
        if outline.role == "assistant" and place not in staying and _thinking_parts(request, place)
    ]
    holes = [place for place in gone if kept and place < kept[-1][0]]
    reason = "thinking before thinking that was removed"
    return tuple(
        _strip(request, thought, reason) for thought in kept if holes and thought[0] < holes[-1]
    )


def _strip(request: Request, thought: _Thought, reason: str) -> Edit:
    place, parts = thought
    if len(parts) < len(request.messages[place].parts):
        return Drop(Ref(place, parts), reason)
    return Fold((Ref(place),), place, Message.assistant(_NO_WORDS, origin="filler"), reason)


def _unbind(
    request: Request, plan: Plan, kept: list[_Thought], *, headers_settable: bool
) -> Plan | Forbidden:
    """Leave no thinking behind an edit that its signature commits to, or have it dropped."""
    first = _first_change(plan, request)
    broken = [thought for thought in kept if thought[0] >= first]
    if not broken:
        return plan
    open_loop = _open_loop_under(plan, request)
    if broken[-1][0] < open_loop:
        reason = "its signature commits to what was edited before it"
        return plan + Plan(tuple(_strip(request, thought, reason) for thought in broken))
    return ask_to_drop(request, plan, headers_settable=headers_settable)


def ask_to_drop(request: Request, plan: Plan, *, headers_settable: bool) -> Plan | Forbidden:
    """Have the provider drop thinking that no longer fits what stands before it."""
    thinking = load(request.members.get("thinking", b"null"))
    if not isinstance(thinking, dict):
        return Forbidden("thinking in the open tool loop is bound to what would be edited")
    binding = thinking.get("block_binding")
    if isinstance(binding, dict) and binding.get("prefix_mismatch_behavior") == "drop_block":
        return plan  # the client has said so, and sends the header
    if not headers_settable:
        return Forbidden(
            "thinking in the open tool loop is bound to what would be edited, "
            f"and the header that lets the provider drop it ({BINDING_BETA}) cannot be set"
        )
    edit = EnvelopeEdit(
        ("thinking", "block_binding", "prefix_mismatch_behavior"),
        '"drop_block"',
        "the provider drops thinking that is bound to what was edited",
        header="anthropic-beta",
        header_value=BINDING_BETA,
    )
    return replace(plan, envelope=(*plan.envelope, edit))


def _first_change(plan: Plan, request: Request) -> int:
    """The first original message that an edit reaches, or that stands behind one we made."""
    expected = 0
    for slot in apply(plan, request.messages):
        if not slot.is_untouched or slot.source != expected:
            return expected
        expected += 1
    return expected


def _open_loop_under(plan: Plan, request: Request) -> int:
    """Where the open tool loop begins in what is sent, as a place of the original request.

    Words that we put in front of kept messages begin a new loop.
    """
    slots: Sequence[Slot] = apply(plan, request.messages)
    start = len(request.messages)
    for slot in reversed(slots):
        if slot.message.role == "user" and slot.message.has_own_words:
            break
        start = start if slot.source is None else slot.source
    return start
