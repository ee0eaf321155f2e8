"""Keep a long agent conversation inside its model's context window.

At the lowest cost, without losing what matters, and without ever sending a
request that the provider refuses. ``docs/how-it-works.md`` draws the way of a
request; ``trimtab.session`` is that way.
"""

from trimtab.budget import Budget, Limits
from trimtab.constraints import Constraints
from trimtab.context import AsyncContext, Context, View
from trimtab.engine import Answer, Engine, SyncEngine
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
from trimtab.events import (
    BreakCause,
    CompactionMethod,
    ContextCompacted,
    EditsQuarantined,
    HistoryRepaired,
    LimitLearned,
    PassedOn,
    PrefixBroken,
    StateUnreadable,
    TriggerUnreachable,
)
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
from trimtab.refusal import Refusal, RefusalKind
from trimtab.session import Rewrite, Session, Ticket, Turn
from trimtab.state import State
from trimtab.stores import InMemoryStore, Store, in_memory
from trimtab.summary import Summarizer, Summary, SummaryRequest, SummaryStats
from trimtab.tokens import BpeTokenCounter, CharTokenCounter, TokenCounter, counter_for
from trimtab.usage import Usage
from trimtab.wire import Call

__all__ = [
    "Answer",
    "AsyncContext",
    "BpeTokenCounter",
    "BreakCause",
    "Budget",
    "Call",
    "CharTokenCounter",
    "CompactionMethod",
    "Constraints",
    "Context",
    "ContextCompacted",
    "Drop",
    "EditsQuarantined",
    "Engine",
    "Fold",
    "HistoryRepaired",
    "InMemoryStore",
    "Keep",
    "LimitLearned",
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
    "PrefixBroken",
    "Refusal",
    "RefusalKind",
    "Replace",
    "RequestError",
    "Rewrite",
    "Session",
    "State",
    "StateUnreadable",
    "Store",
    "StoreError",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "SummaryStats",
    "Surface",
    "SyncEngine",
    "Text",
    "Thinking",
    "Ticket",
    "TokenCountError",
    "TokenCounter",
    "Tool",
    "ToolCall",
    "ToolResult",
    "TriggerUnreachable",
    "TrimtabError",
    "Turn",
    "UnknownFormatError",
    "Usage",
    "View",
    "counter_for",
    "in_memory",
]
