"""Compaction with summaries that are made in the background.

::

    llm_compaction   LlmCompaction: decides at each call, never waits
    summaries        BackgroundSummaries: makes what an engine wants for its conversations
    retry            when and how often a model is asked again
    wording          what a request holds
    attempts         asks, with a time limit for each attempt
    jobs             a task on the loop that runs, or a thread with a loop of its own

What decides lies in :mod:`trimtab.briefing`, and knows no task and no clock.
Nothing is shared with the caller's thread but a queue of what came back, so
there is no lock to hold at a fork or at the interpreter's exit.
"""

from trimtab.background.llm_compaction import LlmCompaction
from trimtab.background.retry import Retry
from trimtab.background.summaries import BackgroundSummaries

__all__ = ["BackgroundSummaries", "LlmCompaction", "Retry"]
