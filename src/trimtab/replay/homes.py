"""Where known agents keep their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

__all__ = ["HOMES", "Home", "homes_in"]


class Home(NamedTuple):
    """A folder in which an agent keeps its sessions.

    Attributes:
        agent: Which agent.
        variable: A variable of the environment that moves its folder; empty for none.
        folder: Its folder, below the user's home or below where the variable says.
        default: What the variable is without being set, below the user's home.
    """

    agent: str
    variable: str
    folder: str
    default: str = ""


HOMES = (
    Home("Claude Code", "CLAUDE_CONFIG_DIR", "projects", ".claude"),
    Home("Codex", "CODEX_HOME", "sessions", ".codex"),
    Home("Codex, archived", "CODEX_HOME", "archived_sessions", ".codex"),
    Home("pi", "PI_CODING_AGENT_DIR", "sessions", ".pi/agent"),
    Home("Gemini CLI", "", "tmp", ".gemini"),
    Home("Copilot CLI", "", "session-state", ".copilot"),
)
"""Those whose files can be read as they lie there. OpenCode keeps a session in many files or a
database: ``opencode export`` makes one that can be read."""


def homes_in(home: Path, environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Find the session stores that are there.

    Args:
        home: The user's home folder.
        environ: The environment; it may move a folder elsewhere.

    Returns:
        Agents with the folders of their sessions; only those that exist.
    """
    found = []
    for agent, variable, folder, default in HOMES:
        moved = environ.get(variable, "") if variable else ""
        place = (Path(moved) if moved else home / default) / folder
        if place.is_dir():
            found.append((agent, place))
    return found
