"""What the docs say is what the code does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.make_rules import PAGE, page

ROOT = Path(__file__).parent.parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"]
EXAMPLES = {
    "fit_one_request.py": ["demo/session.json", "20000"],
    "build_and_check.py": [],
    "loop_over_dicts.py": [],
    "loop_over_bodies.py": ["demo/session.json", "20000"],
    "forecast.py": [],
    "tool_output_budget.py": [],
    "window_memory.py": [],
    "compacted_loop.py": [],
    "prefix_memo.py": [],
}


def test_the_page_of_rules_is_the_one_that_the_rules_make() -> None:
    """docs/rules.md is generated from the tables that check uses."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_something(path: Path) -> None:
    """A relative link names a file that is there, and a heading in it."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (path.parent / target).exists(), target


def test_every_example_is_listed_and_runs() -> None:
    """An example does what it says, as it stands."""
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)
    for name, arguments in EXAMPLES.items():
        subprocess.run(
            [sys.executable, f"examples/{name}", *arguments],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )


def test_the_readme_shows_what_the_command_prints(tmp_path: Path) -> None:
    """The first screen is the real output, at 80 columns."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme.partition("```console\n")[2].partition("```")[0]
    command, _, shown = block.partition("\n")
    arguments = command.removeprefix("$ trimtab ").split()
    arguments[-1] = str(tmp_path / "small.json")

    printed = subprocess.run(
        [sys.executable, "-m", "trimtab", *arguments],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    ).stdout

    assert printed.splitlines()[:-1] == shown.splitlines()[:-1]


def test_the_readme_tells_what_the_replay_of_the_demo_session_says() -> None:
    """Its figures are those that the command prints."""
    printed = subprocess.run(
        [sys.executable, "-m", "trimtab", "replay", "demo/session.json", "--unroll"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "100"},
    ).stdout
    rows = {line.split()[0]: line.split() for line in printed.splitlines() if "$" in line}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert f"| nothing done | {rows['nothing'][1]} |" in readme
    assert f"| trimtab's default | {' | '.join(rows['deterministic'][1:5])} |" in readme
    assert "109 requests" in printed


def test_every_command_of_the_readme_is_a_command() -> None:
    """Make targets and subcommands that the README names exist."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:[$] |`)make ([a-z]+)", readme):
        assert f"\n{target}:" in makefile
    told = subprocess.run(
        [sys.executable, "-c", "from trimtab.cli.main import main; main()", "--help"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for command in re.findall(r"trimtab (check|inspect|compact|\w+) (?:FILE|demo)", readme):
        assert command in told


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "README.md",
        *(
            ROOT / "docs" / name
            for name in (
                "birth-edits.md",
                "cache-markers.md",
                "compaction.md",
                "context-tracker.md",
                "stores.md",
                "testing.md",
                "window-memory.md",
            )
        ),
    ],
)
def test_every_python_example_of_the_docs_runs(path: Path) -> None:
    """As it stands, one after the other."""
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], cwd=ROOT, check=True, capture_output=True)
