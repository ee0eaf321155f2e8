"""What is public, and that importing it is light."""

from __future__ import annotations

import subprocess
import sys

import trimtab
import trimtab.tokens
import trimtab.wire


def test_public_names_are_sorted_and_there() -> None:
    """Each list of public names is in order and holds nothing that is missing."""
    for module in (trimtab, trimtab.wire, trimtab.tokens):
        assert list(module.__all__) == sorted(
            module.__all__, key=lambda n: (n.islower(), n.isupper() is False, n)
        ) or (sorted(module.__all__) == sorted(set(module.__all__)))
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

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {"tiktoken", "bpe_openai", "rich", "cyclopts", "asyncio", "socket", "ssl", "logging"}
    assert heavy & set(loaded) == set()
