"""Keep a long agent conversation inside its model's context window.

At the lowest cost, without losing what matters, and without ever sending a
request that the provider refuses. ``docs/how-it-works.md`` draws the way of a
request; ``trimtab.session`` is that way.
"""

from trimtab.budget import Budget, Limits
from trimtab.constraints import Constraints
from trimtab.errors import (
    MalformedBodyError,
    MissingExtraError,
    PolicyError,
    RequestError,
    StoreError,
    TokenCountError,
    TrimtabError,
    UnknownFormatError,
)
from trimtab.events import CompactionMethod, ContextCompacted, HistoryRepaired, PassedOn
from trimtab.messages import (
    Media,
    Message,
    Opaque,
    Surface,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from trimtab.plan import Drop, Fold, Keep, Outcome, Plan, Replace
from trimtab.policy import Policy
from trimtab.session import Rewrite, Session, Turn
from trimtab.summary import Summarizer, Summary, SummaryRequest, SummaryStats
from trimtab.tokens import BpeTokenCounter, CharTokenCounter, TokenCounter, counter_for
from trimtab.usage import Usage
from trimtab.wire import Call

__all__ = [
    "BpeTokenCounter",
    "Budget",
    "Call",
    "CharTokenCounter",
    "CompactionMethod",
    "Constraints",
    "ContextCompacted",
    "Drop",
    "Fold",
    "HistoryRepaired",
    "Keep",
    "Limits",
    "MalformedBodyError",
    "Media",
    "Message",
    "MissingExtraError",
    "Opaque",
    "Outcome",
    "PassedOn",
    "Plan",
    "Policy",
    "PolicyError",
    "Replace",
    "RequestError",
    "Rewrite",
    "Session",
    "StoreError",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "SummaryStats",
    "Surface",
    "Text",
    "Thinking",
    "TokenCountError",
    "TokenCounter",
    "Tool",
    "ToolCall",
    "ToolResult",
    "TrimtabError",
    "Turn",
    "UnknownFormatError",
    "Usage",
    "counter_for",
]
