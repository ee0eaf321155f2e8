"""What a Claude model id says about the model.

Ids differ by place (``claude-opus-4-6``, ``anthropic/claude-opus-4.6``,
``us.anthropic.claude-opus-4-6-v1:0``), so they are parsed, not looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ClaudeModel", "claude_model", "least_cacheable_tokens"]

_NAMES = "opus|sonnet|haiku|fable|mythos|instant"
_NEW = re.compile(rf"({_NAMES})-(\d)(?:[-.](\d{{1,2}}))?(?!\d)")
_OLD = re.compile(rf"claude-(\d)(?:[-.](\d))?-({_NAMES})")

# The newest of each family whose signatures do not commit to the prefix; every
# other Claude id may (an unknown id is treated as binding).
_LAST_UNBOUND = {
    "opus": (5, 0),
    "sonnet": (5, 0),
    "haiku": (4, 5),
    "fable": (5, 0),
    "mythos": (5, 0),
    "instant": (9, 9),
}

# Families and versions that refuse `tool_choice` of type any or tool.
_FREE_CHOICE_FROM = {"fable": (5, 1), "mythos": (5, 1), "opus": (5, 5), "sonnet": (5, 5)}

# The first of each family that takes a system message inside the conversation (A15).
_MID_SYSTEM_FROM = {"opus": (4, 8), "fable": (5, 0), "mythos": (5, 0), "sonnet": (5, 5)}

# The shortest prefix that is cached, in tokens, as Anthropic's documentation lists it;
# a model that is not listed is taken to need the longest.
_LEAST_CACHEABLE = {
    ("opus", (5, 0)): 512,
    ("fable", (5, 0)): 512,
    ("fable", (5, 1)): 512,
    ("mythos", (5, 0)): 512,
    ("mythos", (5, 1)): 512,
    ("sonnet", (5, 5)): 512,
    ("opus", (4, 8)): 1024,
    ("sonnet", (5, 0)): 1024,
    ("sonnet", (4, 6)): 1024,
    ("sonnet", (4, 5)): 1024,
    ("opus", (4, 7)): 2048,
}
_MOST_NEEDED = 4096


@dataclass(frozen=True, slots=True)
class ClaudeModel:
    """A Claude model, as far as rules depend on it.

    Attributes:
        family: ``opus``, ``sonnet``, ...; empty where the id does not say.
        version: Major and minor; (0, 0) where the id does not say.
    """

    family: str
    version: tuple[int, int]

    @property
    def is_known(self) -> bool:
        """Whether family and version could be read from the id."""
        return bool(self.family)

    @property
    def may_bind_thinking(self) -> bool:
        """Whether its signatures may commit to the exact prefix."""
        return not self.is_known or self.version > _LAST_UNBOUND[self.family]

    @property
    def refuses_prefill(self) -> bool:
        """Whether the conversation must end with a user message (4.6 and newer)."""
        return self.is_known and self.version >= (4, 6)

    @property
    def refuses_manual_thinking(self) -> bool:
        """Whether ``thinking: enabled`` is refused (4.7 and newer)."""
        return self.is_known and self.version >= (4, 7)

    @property
    def refuses_adaptive_thinking(self) -> bool:
        """Whether ``thinking: adaptive`` is refused (4.5 and older)."""
        return self.is_known and self.version <= (4, 5)

    @property
    def refuses_disabled_thinking(self) -> bool:
        """Whether ``thinking: disabled`` is refused."""
        first = {"fable": (5, 0), "mythos": (5, 0), "opus": (5, 5)}.get(self.family)
        return first is not None and self.version >= first

    @property
    def refuses_forced_tool(self) -> bool:
        """Whether ``tool_choice`` any and tool are refused."""
        first = _FREE_CHOICE_FROM.get(self.family)
        return first is not None and self.version >= first

    @property
    def refuses_mid_system(self) -> bool:
        """Whether a system message inside the conversation is refused."""
        if not self.is_known:
            return False
        first = _MID_SYSTEM_FROM.get(self.family)
        return first is None or self.version < first

    @property
    def has_small_window(self) -> bool:
        """Whether its window is 200,000 tokens by default."""
        if not self.is_known or self.family in ("fable", "mythos"):
            return False
        return self.family == "haiku" or self.version < (4, 6)


def claude_model(model: str) -> ClaudeModel | None:
    """Read a model id.

    Returns:
        What it says, or None if it is no Claude model.
    """
    name = model.lower()
    if "claude" not in name:
        return None
    if match := _NEW.search(name):
        return ClaudeModel(match[1], (int(match[2]), int(match[3] or 0)))
    if match := _OLD.search(name):
        return ClaudeModel(match[3], (int(match[1]), int(match[2] or 0)))
    return ClaudeModel("", (0, 0))


def least_cacheable_tokens(model: str) -> int:
    """Tokens that a prefix must have to be cached; a shorter one is silently not.

    Args:
        model: The model's id; one that is not known is taken to need the most.
    """
    known = claude_model(model)
    if known is None:
        return _MOST_NEEDED
    return _LEAST_CACHEABLE.get((known.family, known.version), _MOST_NEEDED)
