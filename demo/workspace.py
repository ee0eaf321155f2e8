"""Where the scripted agent works, and how that is shown.

It works in two real folders: a scratch copy of the sample shop, and this
repository. It sees neither by its real name, so that a recording shows nothing
of the machine that it was made on.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

__all__ = ["LIBRARY", "OFF_LIMITS", "SHOP", "ToolError", "Workspace"]

SHOP = "/home/dev/shop"
"""What the scratch copy of the shop is called."""

LIBRARY = "/home/dev/trimtab"
"""What this repository is called."""

PYTHON = "/home/dev/.venv"
"""What the environment that runs the tools is called."""

OFF_LIMITS = "secrets"
"""The folder that no tool opens."""

DRIFTING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r" in \d+\.\d+s\b(?: \(\d+:\d+:\d+\))?"), ""),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0x7f0000000000"),
)
"""What differs from run to run: how long pytest took, where an object lay."""


class ToolError(Exception):
    """A tool cannot do what it was asked; the text is its answer."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """The two folders, and the time that commits are dated with.

    Attributes:
        shop: The scratch copy of the sample project; ``/home/dev/shop`` for the agent.
        library: This repository; ``/home/dev/trimtab`` for the agent, and only to be read.
        now: The story's time.
    """

    shop: Path
    library: Path
    now: datetime

    def real(self, shown: str) -> Path:
        """Find what the agent means by a path, relative ones from the shop.

        Raises:
            ToolError: If it lies in neither folder, or is off limits.
        """
        path = Path(os.path.normpath(Path(SHOP) / shown))
        for name, folder in ((SHOP, self.shop), (LIBRARY, self.library)):
            if path.is_relative_to(name):
                inside = path.relative_to(name)
                if OFF_LIMITS in inside.parts:
                    raise ToolError(f"Refused: {shown} is off limits. The user said so.")
                return folder / inside
        raise ToolError(f"Refused: {shown} is outside of {SHOP} and {LIBRARY}.")

    def name(self, path: Path) -> str:
        """Call a real path as the agent does: relative in the shop, whole elsewhere."""
        if path.is_relative_to(self.shop):
            return str(path.relative_to(self.shop))
        return str(Path(LIBRARY) / path.relative_to(self.library))

    def command(self, shown: str) -> str:
        """Put real folders into a command line."""
        return shown.replace(LIBRARY, str(self.library)).replace(SHOP, str(self.shop))

    def cleaned(self, text: str) -> str:
        """Take out of an output what belongs to this machine or this moment."""
        for real, shown in (
            (str(self.shop), SHOP),
            # Before the repository: the environment may lie inside it.
            (sys.prefix, PYTHON),
            (str(self.library), LIBRARY),
            (sys.base_prefix, "/usr"),
        ):
            text = text.replace(real, shown)
        for pattern, constant in DRIFTING:
            text = pattern.sub(constant, text)
        return text

    def environment(self) -> Mapping[str, str]:
        """What commands are started with: nothing of the caller's but Python."""
        date = self.now.isoformat()
        return {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.shop.parent),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "RUFF_NO_CACHE": "true",
            "MYPY_CACHE_DIR": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": "Dev",
            "GIT_AUTHOR_EMAIL": "dev@shop.example",
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": "Dev",
            "GIT_COMMITTER_EMAIL": "dev@shop.example",
            "GIT_COMMITTER_DATE": date,
        }
