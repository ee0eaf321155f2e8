"""Keep a long agent conversation inside its model's context window.

At the lowest cost, without losing what matters, and without ever sending a
request that the provider refuses. ``docs/how-it-works.md`` draws the way of a
request; ``trimtab.session`` is that way.
"""

from trimtab.background import LlmCompaction
from trimtab.budget import Budget, Limits
from trimtab.compaction import (
    Compacted,
    CompactionConfig,
    CompactionStrategy,
    DefaultCompaction,
    compact_messages,
)
from trimtab.constraints import Constraints
from trimtab.context import AsyncContext, Context, View
from trimtab.engine import Answer, Engine, SyncEngine
from trimtab.errors import (
    BodyTooLargeError,
    MalformedBodyError,
    MissingExtraError,
    PolicyError,
    RequestError,
    StoreError,
    SummaryError,
    TokenCountError,
    TrimtabError,
    UnknownEncodingError,
    UnknownFormatError,
)
from trimtab.events import (
    BreakCause,
    CompactionCause,
    CompactionMethod,
    ContextCompacted,
    EditsQuarantined,
    HistoryRepaired,
    LimitLearned,
    PassedOn,
    PrefixBroken,
    ReserveCut,
    SettingClamped,
    SpanUnreachable,
    StateUnreadable,
    StoreSetAside,
    StoreUnavailable,
    SummariesMissing,
    SummaryGivenUp,
    TriggerUnreachable,
)
from trimtab.memo import PrefixMemo
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
from trimtab.summary import Summarizer, Summary, SummaryRequest, SummaryStats, SummaryTotals
from trimtab.tokens import BpeTokenCounter, CharTokenCounter, TokenCounter, counter_for
from trimtab.tracker import ContextTracker, Forecast, message_bytes, surface_fingerprint
from trimtab.usage import Usage
from trimtab.window import (
    InMemoryMemory,
    Memory,
    SummarizeRounds,
    TrimResult,
    TrimStrategy,
    WindowDrop,
    WindowMemory,
)
from trimtab.wire import Call

__all__ = [
    "Answer",
    "AsyncContext",
    "BodyTooLargeError",
    "BpeTokenCounter",
    "BreakCause",
    "Budget",
    "Call",
    "CharTokenCounter",
    "Compacted",
    "CompactionCause",
    "CompactionConfig",
    "CompactionMethod",
    "CompactionStrategy",
    "Constraints",
    "Context",
    "ContextCompacted",
    "ContextTracker",
    "DefaultCompaction",
    "Drop",
    "EditsQuarantined",
    "Engine",
    "Fold",
    "Forecast",
    "HistoryRepaired",
    "InMemoryMemory",
    "InMemoryStore",
    "Keep",
    "LimitLearned",
    "Limits",
    "LlmCompaction",
    "MalformedBodyError",
    "Media",
    "Memory",
    "Message",
    "MissingExtraError",
    "Opaque",
    "Outcome",
    "PassedOn",
    "Plan",
    "Policy",
    "PolicyError",
    "PrefixBroken",
    "PrefixMemo",
    "Refusal",
    "RefusalKind",
    "Replace",
    "RequestError",
    "ReserveCut",
    "Rewrite",
    "Session",
    "SettingClamped",
    "SpanUnreachable",
    "State",
    "StateUnreadable",
    "Store",
    "StoreError",
    "StoreSetAside",
    "StoreUnavailable",
    "SummariesMissing",
    "SummarizeRounds",
    "Summarizer",
    "Summary",
    "SummaryError",
    "SummaryGivenUp",
    "SummaryRequest",
    "SummaryStats",
    "SummaryTotals",
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
    "TrimResult",
    "TrimStrategy",
    "TrimtabError",
    "Turn",
    "UnknownEncodingError",
    "UnknownFormatError",
    "Usage",
    "View",
    "WindowDrop",
    "WindowMemory",
    "compact_messages",
    "counter_for",
    "in_memory",
    "message_bytes",
    "surface_fingerprint",
]
