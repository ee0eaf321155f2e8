"""Requests and answers as pydantic-ai has them. Here alone it is imported."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelServerError,
    ModelUnavailableError,
)
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from trimtab.errors import SummaryError
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
from trimtab.summary import Summary, SummaryRequest
from trimtab.usage import Usage

__all__ = ["alone", "ask", "conversation"]

_RETRYABLE_STATUS = frozenset({408, 409, 425, 429})

_PASSING = (
    ModelRateLimitError,
    ModelUnavailableError,
    ModelServerError,
    ModelConnectionError,
)
"""What goes by."""


async def ask(
    model: str | Model,
    messages: Sequence[ModelMessage],
    tools: Sequence[Tool],
    settings: Mapping[str, Any],
) -> Summary:
    """Ask a model once.

    Its connections are opened and closed here, so that it may be asked from
    several event loops.

    Raises:
        SummaryError: If it could not be asked, or did not answer.
    """
    definitions = [_tool(tool) for tool in tools if tool.schema]
    asked = _model(model)
    try:
        async with asked:
            response = await model_request(
                asked,
                messages,
                model_settings=cast("ModelSettings", dict(settings)),
                model_request_parameters=ModelRequestParameters(function_tools=definitions),
            )
    except ModelAPIError as error:
        raise _told(error) from None
    except (TimeoutError, ConnectionError):
        raise
    except Exception as error:  # noqa: BLE001 - what else libraries raise may quote the request
        raise SummaryError(f"{asked.model_name}: {type(error).__name__}") from None
    return _summary(response)


def _model(model: str | Model) -> Model:
    """The model that is meant; what is wrong with its name or key is told as it is."""
    try:
        return infer_model(model)
    except Exception as error:  # noqa: BLE001 - an unknown name, a missing key, a missing client
        raise SummaryError(f"{model}: {error}") from None


# -------------------------------------------------------------------- requests


def alone(request: SummaryRequest) -> list[ModelMessage]:
    """A request of its own: no tools, no temperature, no marker for a cache."""
    return [ModelRequest([SystemPromptPart(request.system), UserPromptPart(request.prompt)])]


def conversation(request: SummaryRequest, surface: Surface) -> list[ModelMessage]:
    """The conversation, with the instruction behind it."""
    names = {
        part.id: part.name
        for message in request.messages
        if message.call_ids
        for part in message.parts
        if isinstance(part, ToolCall)
    }
    system = "\n\n".join(part.text for part in surface.system if isinstance(part, Text))
    messages: list[ModelMessage] = [ModelRequest([SystemPromptPart(system)])] if system else []
    messages += [_message(message, names) for message in request.messages]
    messages.append(ModelRequest([UserPromptPart(request.instruction)]))
    return messages


def _message(message: Message, names: Mapping[str, str]) -> ModelMessage:
    if message.role == "assistant":
        return ModelResponse(parts=list(_answer_parts(message)))
    return _request(message, names)


def _answer_parts(message: Message) -> Iterator[TextPart | ThinkingPart | ToolCallPart]:
    for part in message.parts:
        match part:
            case Text(text):
                yield TextPart(text)
            case Thinking(text, opaque):
                yield ThinkingPart(text, signature=opaque or None)
            case ToolCall(id=call_id, name=name, arguments=arguments):
                yield ToolCallPart(name, arguments, tool_call_id=call_id)
            case _:
                continue


def _request(message: Message, names: Mapping[str, str]) -> ModelRequest:
    if message.role in ("system", "developer"):
        return ModelRequest([SystemPromptPart(message.text)])
    parts: list[SystemPromptPart | UserPromptPart | ToolReturnPart] = []
    for part in message.parts:
        match part:
            case ToolResult(call_id):
                parts.append(ToolReturnPart(names.get(call_id, ""), part.text, call_id))
            case Text(text):
                parts.append(UserPromptPart(text))
            case Media():
                parts.append(UserPromptPart([_media(part)]))
            case Opaque(kind=kind):
                parts.append(UserPromptPart(f"[{kind} omitted]"))
            case _:
                continue
    return ModelRequest(parts)


def _media(part: Media) -> UserContent:
    if part.data and part.media_type:
        return BinaryContent(base64.b64decode(part.data), media_type=part.media_type)
    if part.kind == "image" and part.location.startswith(("http://", "https://")):
        return ImageUrl(part.location)
    return f"[{part.kind} omitted]"


def _tool(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name,
        parameters_json_schema=json.loads(tool.schema),
        description=tool.description or None,
    )


# --------------------------------------------------------------------- answers


def _summary(response: ModelResponse) -> Summary:
    texts = [part.content for part in response.parts if isinstance(part, TextPart)]
    return Summary(
        "\n".join(texts),
        stop_reason=_stop_reason(response),
        usage=_usage(response),
        cost=_cost(response),
        model=response.model_name or "",
        tool_calls=sum(isinstance(part, ToolCallPart) for part in response.parts),
    )


def _stop_reason(response: ModelResponse) -> str:
    """Why it stopped; the provider's own word where pydantic-ai has none for it."""
    if response.finish_reason is not None:
        return response.finish_reason
    raw = (response.provider_details or {}).get("finish_reason")
    return raw if isinstance(raw, str) else ""


def _usage(response: ModelResponse) -> Usage | None:
    billed = response.usage
    if not billed.has_values():
        return None
    read, written = billed.cache_read_tokens, billed.cache_write_tokens
    fresh = max(0, billed.input_tokens - read - written)
    return Usage(fresh, read, written, billed.output_tokens)


def _cost(response: ModelResponse) -> float | None:
    """What genai-prices says that it costs; None for a model that it does not know."""
    if not response.usage.has_values():
        return None
    try:
        return float(response.cost().total_price)
    except (AssertionError, LookupError, ValueError):
        return None


def _told(error: ModelAPIError) -> SummaryError:
    """What a provider's refusal comes to; its body may quote the request and is left out."""
    status = getattr(error, "status_code", None)
    is_passing = isinstance(error, _PASSING) or (
        isinstance(status, int) and (status >= 500 or status in _RETRYABLE_STATUS)
    )
    code = error.provider_error_code or error.provider_error_type or type(error).__name__
    said = f"status {status}, {code}" if status is not None else code
    return SummaryError(
        f"{error.model_name}: {said}",
        is_retryable=is_passing and not isinstance(error, ModelQuotaExceededError),
        wait_seconds=error.retry_after,
    )
