"""The formats that are known. A new one is a file beside this and a line in :data:`FORMATS`."""

from __future__ import annotations

from trimtab.errors import UnknownFormatError
from trimtab.wire.anthropic import Anthropic
from trimtab.wire.format import Format
from trimtab.wire.gemini import Gemini
from trimtab.wire.openai_chat import OpenAIChat
from trimtab.wire.openai_responses import OpenAIResponses

__all__ = ["FORMATS", "format_named"]

FORMATS: tuple[Format, ...] = (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())
"""In the order in which they are asked whether a body is theirs."""


def format_named(name: str) -> Format:
    """Find a format by its name.

    Raises:
        UnknownFormatError: If there is none of that name; the message lists them.
    """
    for candidate in FORMATS:
        if candidate.name == name:
            return candidate
    names = ", ".join(candidate.name for candidate in FORMATS)
    raise UnknownFormatError(f"there is no format {name!r}; known are {names}")
