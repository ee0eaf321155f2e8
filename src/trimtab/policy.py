"""What the user wants kept, and how far a compaction goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from trimtab.budget import Limits
from trimtab.errors import PolicyError
from trimtab.messages import Message, ToolResult

__all__ = ["CacheMarkers", "Policy", "Preset", "StrategyName", "ToolKind", "require_whole"]

StrategyName: TypeAlias = Literal["none", "sliding", "sticky", "mask", "deterministic"]
"""How a request is made smaller.

``none``: not at all. ``sliding``: the oldest go, a few at each turn, so that
it just fits, which rewrites the prefix each time; it is here to be compared
with. ``sticky``: the oldest go, down to the target. ``mask``: old tool results
are removed, then the oldest go. ``deterministic``: the whole ladder.
"""

Preset: TypeAlias = Literal["off", "safe", "agent"]
"""How far birth edits go.

``off``: nothing is changed. ``safe``: what is lossless in meaning. ``agent``:
all of them; numbers of log lines go, and the middle of a very long output
where it can be asked for.
"""

CacheMarkers: TypeAlias = Literal["off", "5m", "1h"]
"""How long providers shall keep what markers of ours stand on; ``off`` sets none."""

ToolKind: TypeAlias = Literal["read", "write", "edit", "other"]
"""What a tool does to what its ``path`` names.

``read``: shows it. ``write``: puts it anew, so that what was read before is
stale. ``edit``: changes a part of it, which makes nothing stale. ``other``:
none of these; the same call made again makes the older answer stale.
"""

TRIGGER_TOKENS = 120_000
"""A compaction is planned from here on, however large the window is: beyond it
models find less of what they are given, and every turn pays for all of it."""

TARGET_RATIO = 0.4
"""A compaction plans down to at most this share of the trigger.

Why so low: each compaction rewrites the prefix, which the provider then bills
at the write price; 0.4 leaves room for many turns before the next one.
"""

LEAST_RATIO = 0.2
"""A compaction plans down to at least this share, however fast the conversation grows."""

HEADROOM_TURNS = 30
"""Turns of growth that a compaction makes room for, where the two ratios allow it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Settings of a session. All sizes are tokens of the whole request.

    Attributes:
        limit_tokens: What a request must not pass, system prompt and tools
            included; None is the model's window without room for the answer,
            and never above a size from which on the provider charges more.
        trigger_tokens: Size at which a compaction is planned; None is the
            limit, at most 120,000. Lower leaves room for a turn that grows
            fast, and compacts more often.
        target_tokens: Size that a compaction plans down to; None is 0.4 of the
            trigger, and less, down to 0.2, where turns grow fast: 30 of them
            should fit. Near the trigger, the next turn compacts again; near 0, little stays.
        answer_tokens: What of a model's window is kept free for the answer; None is
            what the request asks for, else an eighth of the window, at most
            32,000. At most half of the window is.
        keep_first: Messages at the front that a compaction keeps if it can, 0 or more.
        keep_recent: Newest messages that it keeps if it can, 0 or more.
        tool_output_max_lines: Lines that an old tool result keeps, 1 or more.
        tool_lines: The same for single tools, by name; 0 exempts a tool
            (whatever reads stored originals must be exempt).
        strategy: How a request is made smaller.
        preset: How far the results of tools are made smaller before they are
            first sent. None is ``safe`` from a conversation's first compaction
            on, so that one that stays small goes out unchanged; and ``off`` on
            models that may bind their thinking to the prefix, unless what was
            sent is remembered beyond this process.
        cache_markers: Whether cache markers, and OpenAI's cache key, are set where a
            client sets none of its own. Those of a client always stay as they are.
        summaries: Whether summaries of the older part are wanted before a compaction is due, and
            put in its place where one is there by then. They need somebody who makes them.
        summary_min_gain: By what share a summary must be smaller than what it stands for, from 0
            to below 1.
        tools: What single tools do, by name, beside those that are known
            (:data:`~trimtab.strategies.targets.KNOWN_TOOLS`). A tool that
            nobody knows makes no result stale.
        is_error: Says of a result whether the tool failed, for formats that have no flag for it.
        ledger: Whether a marker lists what the user said, which files were
            touched and which values are gone.
        protect: Says of a message whether it must stay, words and all.
        repair: Whether a history that is broken on arrival is mended: calls
            without results, results without calls, results out of place,
            blank text.
    """

    limit_tokens: int | None = None
    trigger_tokens: int | None = None
    target_tokens: int | None = None
    answer_tokens: int | None = None
    keep_first: int = 2
    keep_recent: int = 10
    tool_output_max_lines: int = 200
    tool_lines: Mapping[str, int] = field(default_factory=dict)
    strategy: StrategyName = "deterministic"
    preset: Preset | None = None
    cache_markers: CacheMarkers = "off"
    summaries: bool = False
    summary_min_gain: float = 0.2
    tools: Mapping[str, ToolKind] = field(default_factory=dict)
    is_error: Callable[[ToolResult], bool] | None = None
    ledger: bool = True
    protect: Callable[[Message], bool] | None = None
    repair: bool = True

    def __post_init__(self) -> None:
        for setting, least in _WHOLE:
            require_whole(setting, getattr(self, setting), least)
        for setting, least in _WHOLE_OR_NONE:
            if getattr(self, setting) is not None:
                require_whole(setting, getattr(self, setting), least)
        if not 0 <= self.summary_min_gain < 1:
            raise PolicyError(
                "summary_min_gain", self.summary_min_gain, "it must be from 0 to below 1"
            )
        for setting in ("protect", "is_error"):
            if not (getattr(self, setting) is None or callable(getattr(self, setting))):
                raise PolicyError(setting, getattr(self, setting), "it must be a function, or None")
        _check_word("strategy", self.strategy, get_args(StrategyName))
        _check_word("cache_markers", self.cache_markers, get_args(CacheMarkers))
        if self.preset is not None:
            _check_word("preset", self.preset, get_args(Preset))
        self._check_tools()
        self._check_order()

    def _check_tools(self) -> None:
        for setting in ("tool_lines", "tools"):
            if not isinstance(getattr(self, setting), Mapping):
                raise PolicyError(setting, getattr(self, setting), "it must map names of tools")
        for tool, lines in self.tool_lines.items():
            require_whole(f"tool_lines[{tool!r}]", lines, 0)
        for tool, kind in self.tools.items():
            _check_word(f"tools[{tool!r}]", kind, get_args(ToolKind))

    def _check_order(self) -> None:
        """Refuse sizes that cannot hold together, those that are left open aside."""
        most = self.limit_tokens or self.trigger_tokens or self.target_tokens or 1
        trigger = most if self.trigger_tokens is None else self.trigger_tokens
        target = 1 if self.target_tokens is None else self.target_tokens
        Limits(most if self.limit_tokens is None else self.limit_tokens, trigger, target)

    def limits(self, limit_tokens: int | None = None, growth_tokens: int | None = None) -> Limits:
        """The three sizes with their defaults filled in.

        Args:
            limit_tokens: A limit that holds besides the policy's own: the
                model's window, or what the provider taught; the smaller one counts.
            growth_tokens: By how much a turn grows; None where it is not known.

        Raises:
            PolicyError: If neither the policy nor the caller names a limit.
        """
        named = [size for size in (self.limit_tokens, limit_tokens) if size is not None]
        if not named:
            raise PolicyError("limit_tokens", None, "name the tokens that a request must not pass")
        limit = min(named)
        if self.strategy == "sliding":
            return Limits(limit, limit, limit)
        trigger = min(limit, self.trigger_tokens or TRIGGER_TOKENS)
        if self.target_tokens is not None:
            return Limits(limit, trigger, min(trigger, self.target_tokens))
        return Limits(limit, trigger, max(1, int(trigger * _ratio(trigger, growth_tokens))))


_WHOLE = (("keep_first", 0), ("keep_recent", 0), ("tool_output_max_lines", 1))
_WHOLE_OR_NONE = (
    ("answer_tokens", 0),
    ("limit_tokens", 1),
    ("trigger_tokens", 1),
    ("target_tokens", 1),
)
"""Settings that are counts, and the least that each may be."""


def require_whole(setting: str, value: object, least: int) -> None:
    """Refuse a setting that is no whole number, or too small.

    Raises:
        PolicyError: If so; it names the setting.
    """
    if type(value) is not int or value < least:
        raise PolicyError(setting, value, f"it must be a whole number of {least} or more")


def _check_word(setting: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise PolicyError(setting, word, f"it must be one of {', '.join(known)}")


def _ratio(trigger_tokens: int, growth_tokens: int | None) -> float:
    """The share of the trigger to come down to, so that many turns fit before the next time."""
    if growth_tokens is None:
        return TARGET_RATIO
    room = (trigger_tokens - HEADROOM_TURNS * growth_tokens) / trigger_tokens
    return max(LEAST_RATIO, min(TARGET_RATIO, room))
