"""What the user wants kept, and how far a compaction goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab.budget import Limits
from trimtab.errors import PolicyError
from trimtab.messages import Message

__all__ = ["Policy"]

TARGET_RATIO = 0.4
"""A compaction plans down to this share of the trigger while growth is not known.

Why so low: each compaction rewrites the prefix, which the provider then bills
at the write price; 0.4 leaves room for many turns before the next one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Settings of a session. All sizes are tokens of the whole request.

    Attributes:
        limit_tokens: What a request must not pass, system prompt and tools included.
        trigger_tokens: Size at which a compaction is planned; None is the limit.
            Lower leaves room for a turn that grows fast, and compacts more often.
        target_tokens: Size that a compaction plans down to; None is 0.4 of the
            trigger. Near the trigger, the next turn compacts again; near 0, little stays.
        keep_first: Messages at the front that a compaction keeps if it can, 0 or more.
        keep_recent: Newest messages that it keeps if it can, 0 or more.
        tool_output_max_lines: Lines that an old tool result keeps, 1 or more.
        tool_lines: The same for single tools, by name; 0 exempts a tool
            (whatever reads stored originals must be exempt).
        protect: Says of a message whether it must stay, words and all.
        repair: Whether a history that is broken on arrival is mended: calls
            without results, results without calls, results out of place,
            blank text.
    """

    limit_tokens: int
    trigger_tokens: int | None = None
    target_tokens: int | None = None
    keep_first: int = 2
    keep_recent: int = 10
    tool_output_max_lines: int = 200
    tool_lines: Mapping[str, int] = field(default_factory=dict)
    protect: Callable[[Message], bool] | None = None
    repair: bool = True

    def __post_init__(self) -> None:
        for setting in ("keep_first", "keep_recent"):
            if getattr(self, setting) < 0:
                raise PolicyError(setting, getattr(self, setting), "it must be 0 or more")
        if self.tool_output_max_lines < 1:
            raise PolicyError(
                "tool_output_max_lines", self.tool_output_max_lines, "it must be 1 or more"
            )
        for tool, lines in self.tool_lines.items():
            if lines < 0:
                raise PolicyError(f"tool_lines[{tool!r}]", lines, "it must be 0 (exempt) or more")
        self.limits()

    def limits(self) -> Limits:
        """The three sizes with their defaults filled in.

        Raises:
            PolicyError: If one is below 1, or they are not in order.
        """
        trigger = self.limit_tokens if self.trigger_tokens is None else self.trigger_tokens
        target = (
            max(1, int(trigger * TARGET_RATIO))
            if self.target_tokens is None
            else self.target_tokens
        )
        return Limits(self.limit_tokens, trigger, target)
