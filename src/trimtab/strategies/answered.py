"""Tool results together with the calls that they answer, and one way to replace some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from trimtab.boundaries import MADE_PREFIX
from trimtab.messages import Media, Opaque, Text, ToolCall, ToolResult
from trimtab.plan import Replace
from trimtab.strategies.history import History
from trimtab.strategies.wording import looks_failed

__all__ = ["Answered", "answered", "marked", "replacements"]


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool result and the call that it answers.

    Attributes:
        message: The message that carries it, by its place.
        part: The part that it is, by its place in the message.
        result: The result.
        call: What it answers; None where nothing in the history asked for it.
        number: Which call that was, counted from the oldest; -1 for none.
        is_free: Whether a free pass may replace it.
        tells_error: What the policy has to tell a failure by.
    """

    message: int
    part: int
    result: ToolResult
    call: ToolCall | None
    number: int
    is_free: bool
    tells_error: Callable[[ToolResult], bool] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The tool; empty where it is not known."""
        return self.call.name if self.call else ""

    @property
    def has_failed(self) -> bool:
        """Whether the format, the policy or its words say that the tool failed."""
        if self.result.is_error or (self.tells_error is not None and self.tells_error(self.result)):
            return True
        return looks_failed(self.result.text)

    @property
    def is_made(self) -> bool:
        """Whether nothing but a marker of ours is left of it."""
        return self.result.text.startswith(MADE_PREFIX)

    @property
    def is_full(self) -> bool:
        """Whether nothing was taken out of it, and all of it is understood."""
        is_cut = f"\n{MADE_PREFIX}" in f"\n{self.result.text}"
        return not is_cut and not _has_opaque(self.result)


def answered(history: History) -> Iterator[Answered]:
    """Go through the results of a history, oldest first.

    Left out are those of tools that the policy exempts from shortening, so
    they neither change nor make others stale.
    """
    free = _free_messages(history)
    waiting: dict[str, tuple[int, ToolCall]] = {}  # ids may come again: the newest call counts
    calls = 0
    for place, message in enumerate(history.messages):
        if not message.call_ids and not message.result_ids:
            continue
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                waiting[part.id] = (calls, part)
                calls += 1
            elif isinstance(part, ToolResult):
                order, call = waiting.pop(part.call_id, (-1, None))
                if call is not None and history.policy.tool_lines.get(call.name) == 0:
                    continue
                is_free = place in free and not _has_opaque(part)
                tells_error = history.policy.is_error
                yield Answered(place, number, part, call, order, is_free, tells_error)


def _free_messages(history: History) -> set[int]:
    """Messages whose results are not protected, and that are understood."""
    free = {
        piece.ref.message
        for place, piece in enumerate(history.boundaries.pieces)
        if piece.is_result and place not in history.protected
    }
    return free - history.constraints.frozen


def _has_opaque(result: ToolResult) -> bool:
    return any(isinstance(block, Opaque) for block in result.content)


def marked(result: ToolResult, words: str) -> ToolResult:
    """The result with a marker in place of all that was in it.

    Args:
        result: The result.
        words: What the marker says, behind what was removed.
    """
    marker = f"{MADE_PREFIX}{_removed(result)} {words}]"
    return ToolResult(result.call_id, (Text(marker),), result.is_error)


def _removed(result: ToolResult) -> str:
    """Says what goes with a result."""
    kinds = [block.kind for block in result.content if isinstance(block, Media)]
    counted = [
        f"{kinds.count(kind)} {_MEDIA[kind]}{'s' if kinds.count(kind) > 1 else ''}"
        for kind in dict.fromkeys(kinds)
    ]
    return f"result with {' and '.join(counted)} removed;" if counted else "result removed;"


_MEDIA = {
    "image": "image",
    "document": "document",
    "audio": "recording",
    "video": "video",
    "file": "file",
}


def replacements(
    history: History,
    target_tokens: int,
    offers: Iterable[tuple[Answered, ToolResult]],
    reason: str,
) -> tuple[Replace, ...]:
    """Take offers in their order until the target is met.

    Args:
        history: What there is.
        target_tokens: Size of the whole request at which it stops.
        offers: Results and what could stand in their places. None is asked
            for where the target is met already.
        reason: Why, in words for the user.

    Returns:
        One edit an offer that saves something.
    """
    edits: list[Replace] = []
    remaining = history.total_tokens
    if remaining <= target_tokens:
        return ()
    for old, new in offers:
        saved = history.measure.part(old.result) - history.measure.part(new)
        if saved > 0:
            edits.append(Replace(old.message, old.part, new, reason))
            remaining -= saved
        if remaining <= target_tokens:
            break
    return tuple(edits)
