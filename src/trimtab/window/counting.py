"""What a message weighs in a window: its words, and nothing for being a message.

Texts, thinking, names and arguments of calls, and the texts of results are
counted, each for itself. Media and what is not understood weigh nothing here:
what they cost depends on the model, which a memory does not know.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Protocol

from trimtab.errors import TokenCountError
from trimtab.messages import Message, Text, Thinking, ToolCall, ToolResult

__all__ = ["TextCounter", "count_message"]


class TextCounter(Protocol):
    """Whatever can say how many tokens a text has, at once or when awaited.

    Every :class:`~trimtab.tokens.TokenCounter` is one; so is a class whose
    ``count`` is a coroutine that asks a provider.
    """

    def count(self, text: str) -> int | Awaitable[int]:
        """Count the tokens of a text: 0 or more, the same for the same text."""
        ...


async def count_message(counter: TextCounter, message: Message) -> int:
    """Count a message.

    Raises:
        TokenCountError: If the counter raises, or answers something that is no count.
    """
    tokens = 0
    for text in _texts(message):
        tokens += await _count(counter, text)
    return tokens


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text(text) | Thinking(text):
                yield text
            case ToolCall(name=name, arguments=arguments):
                yield name
                yield arguments
            case ToolResult(content=content):
                yield from (block.text for block in content if isinstance(block, Text))
            case _:
                pass


async def _count(counter: TextCounter, text: str) -> int:
    name = getattr(counter, "name", type(counter).__name__)
    try:
        answer = counter.count(text)
        count: object = await answer if isinstance(answer, Awaitable) else answer
    except TokenCountError:
        raise
    except Exception as error:
        raise TokenCountError(f"{name} failed: {type(error).__name__}: {error}") from error
    if not isinstance(count, int) or isinstance(count, bool):
        # The answer itself is not repeated: it may be the text.
        raise TokenCountError(f"{name} answered a {type(count).__name__}, not a whole number")
    if count < 0:
        raise TokenCountError(f"{name} answered {count}, which is below 0")
    return count
