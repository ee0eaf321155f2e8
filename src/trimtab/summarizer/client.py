"""One real client, for all providers that pydantic-ai speaks to."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, get_args

from trimtab.economy.prices import prices_of
from trimtab.economy.windows import window_of
from trimtab.errors import MissingExtraError, PolicyError
from trimtab.messages import Surface
from trimtab.summarizer.rendering import MOST_BYTES
from trimtab.summarizer.routes import CacheRecord, Route, cheaper_route
from trimtab.summary import Summary, SummaryRequest
from trimtab.tracker import message_bytes

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["ModelSummarizer", "model_summarizer"]

_BYTES_PER_TOKEN = 4
"""Good enough to compare two routes: both are told in the same unit."""

_FEWEST_BYTES_PER_TOKEN = 3
"""Of a record: code and logs, and scripts whose every character is a token."""

_AROUND_TOKENS = 1_000
"""What a request weighs without its record."""


def model_summarizer(
    model: str | Model,
    *,
    route: Route = "standalone",
    loop_model: str | Model | None = None,
    surface: Surface | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ModelSummarizer:
    """Make a summarizer of a model.

    ::

        LlmCompaction(model_summarizer("openai:gpt-5-mini"))

    Keys and addresses come from where pydantic-ai takes them: the environment
    (``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, …), or the model that is given.

    Args:
        model: Sums up: a cheap and fast one. Its id with the provider before it,
            such as ``anthropic:claude-haiku-4-5``, or one of pydantic-ai's models.
        route: How it is asked; see :mod:`trimtab.summarizer.routes`. ``warm`` and
            ``auto`` need ``loop_model``.
        loop_model: The model that the conversation is held with.
        surface: System prompt and tools of the conversation, for a warm request:
            without them it finds no cache.
        settings: What pydantic-ai shall send along, such as ``extra_headers``.

    Raises:
        MissingExtraError: If ``pip install 'trimtab[summaries]'`` is due.
        PolicyError: If the route is not known, or lacks ``loop_model``.
    """
    if route not in get_args(Route):
        raise PolicyError("route", route, f"it must be one of {', '.join(get_args(Route))}")
    if route != "standalone" and loop_model is None:
        raise PolicyError("loop_model", None, f"the route {route} asks the conversation's model")
    if find_spec("pydantic_ai") is None:
        raise MissingExtraError("a summarizing model", "summaries")
    return ModelSummarizer(model, route, loop_model, surface or Surface(), dict(settings or {}))


class ModelSummarizer:
    """Asks a model for briefings; made by :func:`model_summarizer`.

    Each request opens and closes its own connections, so that it may be asked
    from several event loops.

    Attributes:
        record: How often warm requests found the provider's cache.
    """

    def __init__(
        self,
        model: str | Model,
        route: Route,
        loop_model: str | Model | None,
        surface: Surface,
        settings: dict[str, Any],
    ) -> None:
        self.record = CacheRecord()
        self._model = model
        self._route = route
        self._loop_model = loop_model
        self._surface = surface
        self._settings = settings

    async def summarize(self, request: SummaryRequest) -> Summary:
        """Answer a request.

        Raises:
            SummaryError: If the model could not be asked, or did not answer. No word of the
                conversation is in it.
        """
        from trimtab.summarizer import asking  # noqa: PLC0415 - it imports an extra

        settings = {**self._settings, "max_tokens": request.max_tokens}
        if self._loop_model is None or self._route_of(request) != "warm":
            return await asking.ask(self._model, asking.alone(request), (), settings)
        messages = asking.conversation(request, self._surface)
        summary = await asking.ask(self._loop_model, messages, self._surface.tools, settings)
        if summary.usage is not None:
            billed = summary.usage
            self.record = self.record.after(billed.total_input, billed.cache_read)
        return summary

    def record_bytes(self, max_tokens: int) -> int:
        """How long a record the model that sums up can read beside an answer of so many tokens."""
        name = _id_of(self._model)
        window = window_of(name) or window_of(name.partition(":")[2])
        if window is None:
            return MOST_BYTES
        room = window.limit_tokens(max_tokens) - _AROUND_TOKENS
        return max(1, min(MOST_BYTES, room * _FEWEST_BYTES_PER_TOKEN))

    def _route_of(self, request: SummaryRequest) -> Route:
        if not (request.messages and request.instruction):
            return "standalone"
        if self._route != "auto":
            return self._route
        return cheaper_route(
            len(request.prompt) // _BYTES_PER_TOKEN,
            message_bytes(request.messages) // _BYTES_PER_TOKEN,
            request.max_tokens,
            prices_of(_id_of(self._model)),
            prices_of(_id_of(self._loop_model)),
            self.record,
        )

    def __repr__(self) -> str:
        return f"ModelSummarizer({_id_of(self._model)!r}, route={self._route!r})"


def _id_of(model: str | Model | None) -> str:
    return model if isinstance(model, str) else getattr(model, "model_name", "")
