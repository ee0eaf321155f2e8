"""Ask a model for a briefing.

::

    prompt      what it is told; versioned
    rendering   a span of messages as text
    routes      a request of its own, or the conversation with one more message: which costs less
    client      one real client, for all providers that pydantic-ai speaks to
"""

from trimtab.summarizer.client import ModelSummarizer, model_summarizer
from trimtab.summarizer.prompt import INSTRUCTION, PROMPT_VERSION, SYSTEM, prompt_for
from trimtab.summarizer.rendering import render_span
from trimtab.summarizer.routes import Route

__all__ = [
    "INSTRUCTION",
    "PROMPT_VERSION",
    "SYSTEM",
    "ModelSummarizer",
    "Route",
    "model_summarizer",
    "prompt_for",
    "render_span",
]
