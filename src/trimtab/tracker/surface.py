"""What a measurement was made under: model, system prompt and tools, as one short name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias

from trimtab.errors import PolicyError
from trimtab.messages import Text, Tool
from trimtab.wire.json_spans import dump, dump_sorted

__all__ = ["surface_fingerprint"]

_DIGITS = 32
"""Of the name: 128 bits."""

_BILLING = re.compile(r"x-anthropic-billing-header:[^\n]*")
"""A line that a client puts anew into each system prompt, for its bill alone."""

SystemBlock: TypeAlias = Text | Mapping[str, Any]
"""A block of a system prompt, as this package has it, or as a provider has it."""

ToolLike: TypeAlias = str | Tool | Mapping[str, Any]
"""A tool by its name or definition in text, as this package has it, or as a provider has it."""


def surface_fingerprint(
    model: str,
    system: str | Iterable[SystemBlock] | None,
    tools: Iterable[ToolLike] | None,
) -> str:
    """Name a request apart from its messages; another name means that no measurement carries over.

    All of it counts, in order: another description of a tool is another
    surface, and so is the same tool in another place. Only what a client puts
    anew into each request for its bill is masked. Keys of objects count in
    sorted order.

    Args:
        model: The model's id.
        system: The system prompt, as words or as a provider's blocks; None where there is none.
        tools: The tools in order, each as words or as its definition; None where there are none.

    Returns:
        32 hexadecimal digits, the same in every process.

    Raises:
        PolicyError: If something is neither words nor an object.
    """
    told = sha256()
    for piece in _pieces(model, system, tools):
        told.update(len(piece).to_bytes(8, "big") + piece)
    return told.hexdigest()[:_DIGITS]


def _pieces(
    model: str,
    system: str | Iterable[SystemBlock] | None,
    tools: Iterable[ToolLike] | None,
) -> Iterable[bytes]:
    yield _piece("model", model)
    yield b"system" if system is not None else b"no system"
    if isinstance(system, str):
        yield _piece("system", _BILLING.sub("", system))
    elif system is not None:
        yield from (_piece("system", block) for block in system if not _is_billing(block))
    yield b"tools" if tools is not None else b"no tools"
    for tool in tools or ():
        yield _piece("tools", tool)


def _is_billing(block: SystemBlock) -> bool:
    words = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", None)
    return isinstance(words, str) and _BILLING.match(words) is not None


def _piece(setting: str, value: object) -> bytes:
    """Something as bytes, its kind in front: words are never an object."""
    match value:
        case str():
            return b"words:" + value.encode("utf-8", "surrogatepass")
        case Text():
            return b"text:" + value.text.encode("utf-8", "surrogatepass")
        case Tool():
            words = [value.name, value.json, value.description, value.schema]
            return b"tool:" + dump(words)
        case Mapping():
            return b"object:" + _object(setting, value)
        case _:
            raise PolicyError(setting, value, "it must be words or an object")


def _object(setting: str, value: Mapping[str, Any]) -> bytes:
    try:
        return dump_sorted(dict(value))
    except TypeError:
        raise PolicyError(setting, value, "it must be an object that JSON can hold") from None
