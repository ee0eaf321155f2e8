"""What is public, and that importing it is light."""

from __future__ import annotations

import os
import subprocess
import sys

import trimtab
import trimtab.tokens
import trimtab.wire


def test_public_names_are_there_once() -> None:
    """Each list of public names holds nothing twice and nothing that is missing."""
    for module in (trimtab, trimtab.wire, trimtab.tokens):
        assert len(set(module.__all__)) == len(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)


def test_the_public_module_holds_its_public_names_and_nothing_else() -> None:
    """Whatever is not private and not a module is listed."""
    found = {
        name
        for name, value in vars(trimtab).items()
        if not name.startswith("_") and type(value).__name__ != "module"
    }

    assert found == set(trimtab.__all__)


def test_importing_is_light() -> None:
    """No tokenizer, no command line and no network come with the import."""
    code = "import sys, trimtab; print(*sys.modules)"
    # What measures coverage imports much itself.
    plain = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=plain
    ).stdout.split()

    heavy = {"tiktoken", "bpe_openai", "rich", "cyclopts", "asyncio", "socket", "ssl", "logging"}
    assert heavy & set(loaded) == set()
