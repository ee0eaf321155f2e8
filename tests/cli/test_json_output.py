"""docs/json-output.md says what ``--json`` prints: every key, its type, and examples that are real."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.bodies import BILLED, BROKEN, CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, THINKING
from tests.cli.running import Trimtab

PAGE = Path(__file__).parent.parent.parent / "docs" / "json-output.md"
ONE_REQUEST = ("check", "inspect", "compact")
"""Commands for one request; they say the same of their input."""
FORECAST = "inspect --forecast"
BUDGETS: dict[str, tuple[str | int, ...]] = {"replay": ("--budget", 60), "doctor": ()}
COMMANDS = (*ONE_REQUEST, "replay", FORECAST, "doctor")
MAPS = (
    "breaks_by_cause",
    "tokens_by_role",
    "tokens_by_part",
    "tokens_by_tool",
    "headers",
    "policies",
    "saved_at",
    "tried",
)
"""Objects whose keys depend on the input."""

TYPES = {
    "string": {"str"},
    "integer": {"int"},
    "boolean": {"bool"},
    "object": {"dict"},
    "list of strings": {"list"},
    "list of objects": {"list"},
    "list of integers or null": {"list", "NoneType"},
    "integer or null": {"int", "NoneType"},
    "string or null": {"str", "NoneType"},
}


def sections() -> dict[str, str]:
    """The page by command; what the commands for one request print is in each of them."""
    _, common, *rest = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        command: common + part if command in ONE_REQUEST else part
        for command, part in zip(COMMANDS, rest, strict=True)
    }


def documented(command: str) -> dict[str, str]:
    """The type of each key of a command, as the tables have it."""
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]+) \|", sections()[command], flags=re.MULTILINE)
    return {key: kind for keys, kind in rows for key in re.findall("`([^`]+)`", keys)}


def printed(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key in a JSON value, as the tables name it, and the type of what it leads to."""
    match value:
        case dict():
            is_map = path.rpartition(".")[2] in MAPS
            for key, inner in value.items():
                name = f"{path}.{'*' if is_map else key}".lstrip(".")
                yield name, type(inner).__name__
                yield from printed(inner, name)
        case list():
            for inner in value:
                yield from printed(inner, f"{path}[]")


HALF = json.loads(THINKING)
HALF["model"] = "claude-opus-4-6"
HALF["messages"][6]["content"].append({"type": "text", "text": "Only the first half, please."})

INPUTS: list[bytes] = [
    PLAIN,
    LONG,
    ORPHAN,
    BROKEN,
    THINKING,
    CHAT_LIST,
    SESSION,
    json.dumps(HALF).encode(),
]


def told_by(trimtab: Trimtab, command: str, folder: Path) -> Iterator[Any]:
    """What a command prints of the inputs above, and of files that are none."""
    if command == FORECAST:
        (folder / "input").write_bytes(BILLED)
        yield trimtab("inspect", folder / "input", "--forecast", "--budget", 9_000, "--json").json
        (folder / "input").write_bytes(SESSION)
        yield trimtab("inspect", folder / "input", "--forecast", "--json").json
        return
    options: list[tuple[str | int, ...]] = [()]
    if command == "compact":
        options = [("--budget", tokens) for tokens in (50, 350, 1_800)]
    for data in INPUTS:
        (folder / "input").write_bytes(data)
        for option in options:
            yield trimtab(command, folder / "input", "--json", *option).json
    if command in ("replay", "doctor"):
        (folder / "note.txt").write_text("no recording", encoding="utf-8")
        (folder / "input").write_bytes(SESSION)
        yield trimtab(command, folder, "--json", *BUDGETS[command]).json
    if command == "replay":
        more = ("--policies", "all", "--gate", "--advise")
        yield trimtab(command, folder, "--json", *BUDGETS[command], *more).json
    if command == "doctor":
        (folder / "input").write_bytes(PLAIN + b"\n" + LONG)
        yield trimtab(command, folder / "input", "--json").json


@pytest.mark.parametrize("command", COMMANDS)
def test_the_documented_keys_are_those_that_are_printed(
    trimtab: Trimtab, tmp_path: Path, command: str
) -> None:
    """No key is printed that is not documented, none documented that is never printed; types agree."""
    seen: dict[str, set[str]] = {}
    for told in told_by(trimtab, command, tmp_path):
        for key, kind in printed(told):
            seen.setdefault(key, set()).add(kind)

    types = documented(command)
    assert sorted(seen) == sorted(types)
    assert {key: kinds for key, kinds in seen.items() if not kinds <= TYPES[types[key]]} == {}


def test_the_kinds_of_edits_are_all_met(trimtab: Trimtab, tmp_path: Path) -> None:
    """The inputs above make every kind of edit, so that every key of one is looked at."""
    kinds = set()
    for data in INPUTS:
        (tmp_path / "input").write_bytes(data)
        for budget in (50, 350, 900, 1_800):
            told = trimtab("compact", tmp_path / "input", "--budget", budget, "--json").json
            kinds |= {edit["kind"] for edit in told["edits"]}

    assert kinds == {"keep", "drop", "replace", "fold", "parameter"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_are_real(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What stands below a command is what it prints, times aside."""
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    for name, content in re.findall(r"^```json (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        Path(name).write_text(content, encoding="utf-8")

    examples = re.findall(
        r"^```console\n\$ trimtab ([^\n]*)\n(.*?)^```$",
        sections()[command],
        re.MULTILINE | re.DOTALL,
    )

    assert [shlex.split(line)[0] for line, _ in examples] == [command.split(maxsplit=1)[0]]
    assert [timeless(trimtab(*shlex.split(line)).out) for line, _ in examples] == [
        timeless(told) for _, told in examples
    ]


def timeless(told: str) -> str:
    """What is printed, with times that differ from run to run left out."""
    return re.sub(r'(_ms": )\d+', r"\1?", told)
