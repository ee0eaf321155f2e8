"""Briefings: when one is wanted, whether an answer will do, and putting it in place.

::

    spans       which messages a briefing shall stand for; whether they are still the same
    answers     whether what a model answered may stand for messages
    progress    idle, in flight, ready: what follows from what
    texts       the message that a briefing is: first line, ledger, summary
    wishes      the same for requests of a conversation whose client resends its history
    splicing    the plan that puts it in place, and what an earlier one becomes

No I/O, clock or task: whoever asks the model, and when, is told what came of it.

The law of this package: whatever a model answers, a call keeps its result, what
is protected stays, and only the user's own words make a rule.
"""

from trimtab.boundaries import BRIEFING, is_briefing
from trimtab.briefing.answers import Accepted, Refused, judge
from trimtab.briefing.progress import BackOff, Phase, Progress
from trimtab.briefing.spans import NoSpan, Span, choose_span, fingerprint, moved
from trimtab.briefing.splicing import Spliced, splice, with_marker_absorbed
from trimtab.briefing.texts import named
from trimtab.briefing.wishes import briefing_of, has_briefing, tail_tokens, wanted_summary

__all__ = [
    "BRIEFING",
    "Accepted",
    "BackOff",
    "NoSpan",
    "Phase",
    "Progress",
    "Refused",
    "Span",
    "Spliced",
    "briefing_of",
    "choose_span",
    "fingerprint",
    "has_briefing",
    "is_briefing",
    "judge",
    "moved",
    "named",
    "splice",
    "tail_tokens",
    "wanted_summary",
    "with_marker_absorbed",
]
