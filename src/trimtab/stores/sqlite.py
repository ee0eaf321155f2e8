"""Where the file of a store lies if nobody says, and how to open one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.stores.sqlite_file import SqliteStore

__all__ = ["default_path", "sqlite"]

_DAY_SECONDS = 86_400.0
_MEBIBYTE = 1024 * 1024


def default_path() -> Path:
    """The file of this user: ``trimtab/store.db`` in the folder for what programs remember."""
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME", "")
    folder = Path(named) if os.path.isabs(named) else Path.home() / ".local" / "state"  # noqa: PTH117 - it may be empty
    return folder / "trimtab" / "store.db"


def sqlite(
    path: str | os.PathLike[str] | None = None,
    *,
    ttl_seconds: float = 30 * _DAY_SECONDS,
    max_bytes: int = 256 * _MEBIBYTE,
) -> SqliteStore:
    """Make a store in a file; several processes of one machine may share it.

    Args:
        path: The file, on a disk of this machine; None for :func:`default_path`. It is made
            when it is first used, readable by its user alone.
        ttl_seconds: What was not used for so long is forgotten.
        max_bytes: How large the entries may become; what was not used for longest goes first.

    Raises:
        PolicyError: If a setting cannot hold.
    """
    from trimtab.stores.sqlite_file import SqliteStore  # noqa: PLC0415 - most never need a database

    return SqliteStore(default_path() if path is None else Path(path), ttl_seconds, max_bytes)
