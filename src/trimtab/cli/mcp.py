"""``trimtab mcp``: let an agent ask for what a compaction removed (Model Context Protocol, stdio)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trimtab.errors import MissingExtraError, StoreError
from trimtab.stores.archive import Archive, lines_with
from trimtab.stores.listing import opened
from trimtab.stores.store import Managed

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["run", "server"]

_MOST_FOUND = 20
_MOST_LINES = 5
_MOST_CHARACTERS = 300
_MOST_TEXT = 50_000
"""Characters of one answer: more would fill the window that was just emptied."""


def run(where: str, tenant: str) -> int:
    """Serve standard input until it ends.

    Args:
        where: The store; empty for the default file.
        tenant: Whose archive the agent may see.

    Returns:
        0.

    Raises:
        MissingExtraError: If the SDK is not installed.
        StoreError: If there is no such store.
    """

    async def serve() -> None:
        async with opened(where) as store:
            await server(store, tenant).run_stdio_async()

    asyncio.run(serve())
    return 0


def server(store: Managed, tenant: str = "") -> MCPServer:
    """Make a server with two tools, ``recall`` and ``search``.

    Args:
        store: Where the archive is.
        tenant: Whose archive the agent may see.

    Raises:
        MissingExtraError: If the SDK is not installed: ``pip install 'trimtab[mcp]'``.
    """
    try:
        from mcp.server import MCPServer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise MissingExtraError("the MCP server", "mcp") from None
    archive = Archive(store)
    served: MCPServer = MCPServer(
        "trimtab",
        instructions=(
            "Parts of this conversation were removed to save room. Where a marker names an id, "
            "recall gives back what stood there, word for word; search finds what has no id."
        ),
        log_level="WARNING",
    )

    @served.tool()
    async def recall(id: str, start: int = 0) -> str:  # noqa: A002 - the word that markers use
        """Give back, word for word, what was removed from this conversation.

        Args:
            id: The 16 hexadecimal digits that the marker names.
            start: Character to begin at, where a long text was given in part.
        """
        try:
            found = await archive.recall(id, tenant)
        except StoreError as error:
            return f"It cannot be read: {error}"
        if found is None:
            return f"Nothing is kept as {id}. It may have expired."
        return _part(found.text, max(0, start))

    @served.tool()
    async def search(text: str) -> str:
        """Find what was removed from conversations by words that stood in it, in whatever case.

        Args:
            text: Words that stood there, to the letter.
        """
        told: list[str] = []
        try:
            async for found in archive.search(text, tenant):
                if len(told) == _MOST_FOUND:
                    told.append("There is more; search for something longer.")
                    break
                lines = [line.strip()[:_MOST_CHARACTERS] for line in lines_with(found.words, text)]
                told.append("\n".join((f"{found.id} ({found.role}):", *lines[:_MOST_LINES])))
        except StoreError as error:
            return f"It cannot be searched: {error}"
        return "\n\n".join(told) or "Nothing that was removed holds these words."

    return served


def _part(text: str, start: int) -> str:
    """A text, or as much of it as fits, with where to go on."""
    stop = start + _MOST_TEXT
    if len(text) <= stop:
        return text[start:]
    rest = f"[{len(text) - stop} characters more; recall with start={stop} goes on]"
    return f"{text[start:stop]}\n{rest}"
