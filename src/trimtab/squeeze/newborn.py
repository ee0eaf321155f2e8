"""Squeeze what a tool just answered, before it is sent for the first time.

What is chosen here is what is sent from then on, at every turn. So it depends
on the result, the settings and what was sent before it, and on nothing else.

The law of this file: an edit that does not save tokens is undone.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Message, ResultContent, Text, ToolResult
from trimtab.plan import Replace
from trimtab.policy import Preset
from trimtab.squeeze.clip_output import clip_output
from trimtab.squeeze.columns import columns
from trimtab.squeeze.fold_logs import fold_logs
from trimtab.squeeze.minify_json import minify_json
from trimtab.squeeze.references import digest, refer
from trimtab.squeeze.repeated_lines import repeated_lines
from trimtab.squeeze.terminal_noise import terminal_noise

__all__ = ["in_full", "squeeze"]


@dataclass(frozen=True, slots=True)
class _Step:
    """One edit of a text.

    Attributes:
        edit: What is done; a text that it has nothing to do with comes back as it is.
        reason: What was done, in words for the user.
        is_safe: Whether the preset ``safe`` has it. What failed has only these.
        loses: Whether something can no longer be read from what it makes.
    """

    edit: Callable[[str], str]
    reason: str
    is_safe: bool = False
    loses: bool = False


_STEPS = (
    _Step(minify_json, "JSON minified", is_safe=True),
    _Step(columns, "lists of equal objects as columns"),
    _Step(terminal_noise, "terminal noise removed", is_safe=True),
    _Step(repeated_lines, "repeated lines counted", is_safe=True),
    _Step(fold_logs, "log lines of a kind folded", loses=True),
)
_REFERRED = "the same as an earlier result"
_CLIPPED = "the middle of a long output left out, to be recalled"
_LOSING = (*(step.reason for step in _STEPS if step.loses), _REFERRED, _CLIPPED)


def squeeze(
    message: Message,
    preset: Preset,
    count: Callable[[str], int],
    *,
    place: int = 0,
    quoted: Collection[str] = (),
    seen: Mapping[str, str] | None = None,
    can_recall: bool = False,
) -> tuple[Replace, ...]:
    """Make the tool results of a new message smaller.

    Nothing but words in tool results is touched, and what holds a marker of
    ours already is left alone, so that doing it twice is doing it once.

    Args:
        message: A message that no assistant message follows yet.
        preset: How far it goes.
        count: Counts the tokens of a text for the model that it is sent to.
        place: Where the message stands, for the edits.
        quoted: Ids of calls whose results may have to be quoted to the letter
            (:func:`~trimtab.squeeze.quoting.will_be_quoted`): they keep their
            bytes, or become a reference to the same bytes.
        seen: Ids of calls whose results were sent in full and are still
            there, by :func:`~trimtab.squeeze.references.digest`.
        can_recall: Whether something can answer in the next request when the
            model asks for what was left out. Without it nothing is clipped.

    Returns:
        One edit a result that became smaller, in order.
    """
    if preset == "off" or not message.result_ids:
        return ()
    met: dict[str, str] = {}
    known: Mapping[str, str] = ChainMap(met, seen or {})  # type: ignore[arg-type]  # it is read alone
    edits: list[Replace] = []
    for number, part in enumerate(message.parts):
        if not isinstance(part, ToolResult):
            continue
        squeezed = _Squeezed(part, digest(part) if preset == "agent" else "", count)
        if preset == "agent":
            squeezed.refer(known)
        if not squeezed.reasons and part.call_id not in quoted:
            squeezed.edit_texts(is_agent=preset == "agent")
            if preset == "agent" and can_recall:
                squeezed.clip()
        if squeezed.reasons:
            edits.append(squeezed.as_edit(place, number))
        if squeezed.name and squeezed.is_full:
            met.setdefault(squeezed.name, part.call_id)
    return tuple(edits)


def in_full(message: Message, edits: Sequence[Replace]) -> dict[str, str]:
    """Say which results of a message can be pointed to from now on.

    Args:
        message: The message as it came.
        edits: What :func:`squeeze` did to it, all of them.

    Returns:
        Ids of the calls whose results lost nothing, by
        :func:`~trimtab.squeeze.references.digest`; to be put into ``seen``.
    """
    lost = {edit.part for edit in edits if any(reason in edit.reason for reason in _LOSING)}
    found: dict[str, str] = {}
    for number, part in enumerate(message.parts):
        if isinstance(part, ToolResult) and number not in lost and (name := digest(part)):
            found.setdefault(name, part.call_id)
    return found


class _Squeezed:
    """A result on its way to what is sent for it."""

    def __init__(self, result: ToolResult, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.reasons: list[str] = []
        self.saved = 0
        self._result = result
        self._count = count
        self._content: list[ResultContent] = list(result.content)
        self._free = [
            number
            for number, block in enumerate(result.content)
            if isinstance(block, Text) and not block.opaque and not _is_marked(block.text)
        ]

    @property
    def is_full(self) -> bool:
        """Whether all that it says can still be read from it."""
        return not any(reason in _LOSING for reason in self.reasons)

    def as_edit(self, message: int, part: int) -> Replace:
        """The edit that puts it in its place."""
        result = self._result
        new = ToolResult(result.call_id, tuple(self._content), result.is_error)
        why = "; ".join(self.reasons)
        return Replace(message, part, new, why, self.saved, is_birth=True)

    def refer(self, seen: Mapping[str, str]) -> None:
        """Let it point to the same result, sent before."""
        reference = refer(self._result, self.name, seen)
        if reference is None or len(self._free) < len(self._content):
            return
        whole = sum(self._count(self._text(number)) for number in self._free)
        saved = whole - self._count(reference.text)
        if saved > 0:
            self._content = list(reference.content)
            self._note(_REFERRED, saved)

    def edit_texts(self, *, is_agent: bool) -> None:
        """Apply each step of a preset to each text."""
        is_bold = is_agent and not self._result.is_error
        for number in self._free:
            for step in _STEPS:
                if is_bold or step.is_safe:
                    self._offer(number, step.edit, step.reason)

    def clip(self) -> None:
        """Leave out the middle of each long text, unless the tool failed."""
        if self._result.is_error or not self.name:
            return
        for number in self._free:
            self._offer(number, lambda text: clip_output(text, self.name, self._count), _CLIPPED)

    def _text(self, number: int) -> str:
        block = self._content[number]
        assert isinstance(block, Text)
        return block.text

    def _offer(self, number: int, edit: Callable[[str], str], reason: str) -> None:
        """Take what an edit makes of a text, if it has fewer tokens and is not empty."""
        old = self._text(number)
        new = edit(old)
        if new == old or not new.strip():
            return
        saved = self._count(old) - self._count(new)
        if saved > 0:
            self._content[number] = Text(new)
            self._note(reason, saved)

    def _note(self, reason: str, saved: int) -> None:
        self.saved += saved
        if reason not in self.reasons:
            self.reasons.append(reason)


def _is_marked(text: str) -> bool:
    return f"\n{MADE_PREFIX}" in f"\n{text}"
