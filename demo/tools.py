"""The tools of the scripted agent: real ones, on real files and processes.

Each is a function of a workspace and its arguments; ``TOOLS`` holds them with
the schemas that a model would be given.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from demo.workspace import LIBRARY, OFF_LIMITS, SHOP, ToolError, Workspace

__all__ = ["TOOLS", "Arguments", "Output", "Tool", "run_tool"]

Json: TypeAlias = str | int | bool | list["Json"] | dict[str, "Json"]
Arguments: TypeAlias = Mapping[str, Json]

READ_LINES = 500
"""Lines that a read shows unless it asks for more; most files of both projects are shorter."""

SEARCH_HITS = 60
"""Hits that a search shows; more say too little to be worth their room."""

SNIPPET_LINES = 3
"""Lines shown around an edit."""

NEEDS_APPROVAL = ("git push", "git reset --hard", "rm -rf")
"""Commands that a user has to allow first."""

UNSEARCHED = frozenset({OFF_LIMITS, "var", "__pycache__", "node_modules"})
"""Folders that a search or listing does not enter by itself, hidden ones apart."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool answers.

    Attributes:
        blocks: One text for a plain answer; several become a list of text blocks.
        is_error: Whether it failed.
    """

    blocks: tuple[str, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a model knows it, and what it does."""

    name: str
    description: str
    properties: dict[str, Json]
    required: tuple[str, ...]
    run: Callable[[Workspace, Arguments], Output]

    def schema(self) -> dict[str, Json]:
        """Its definition in the form of Anthropic's Messages API."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": {
                "type": "object",
                "properties": self.properties,
                "required": list(self.required),
                "additionalProperties": False,
            },
        }


def run_tool(workspace: Workspace, name: str, arguments: Arguments) -> Output:
    """Run a tool; what it cannot do is an answer too."""
    try:
        output = TOOLS[name].run(workspace, arguments)
    except ToolError as error:
        output = Output((str(error),), is_error=True)
    return Output(tuple(workspace.cleaned(block) for block in output.blocks), output.is_error)


# ------------------------------------------------------------------ listing, reading, searching


def _list_dir(workspace: Workspace, arguments: Arguments) -> Output:
    folder = workspace.real(_text(arguments, "path"))
    if not folder.is_dir():
        raise ToolError(f"Not a directory: {arguments['path']}")
    rows = list(_tree(folder, folder, depth=_number(arguments, "depth", 1)))
    return Output(("\n".join(rows) or "(empty)",))


def _tree(folder: Path, top: Path, *, depth: int) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        name = path.relative_to(top)
        if not path.is_dir():
            yield f"{path.stat().st_size:>8}  {name}"
        elif path.name == OFF_LIMITS:
            yield f"       -  {name}/ (off limits)"
        else:
            yield f"       -  {name}/"
            if depth > 1:
                yield from _tree(path, top, depth=depth - 1)


def _read_file(workspace: Workspace, arguments: Arguments) -> Output:
    lines = _lines_of(workspace, _text(arguments, "path"))
    first = _number(arguments, "offset", 1)
    shown = lines[first - 1 : first - 1 + _number(arguments, "limit", READ_LINES)]
    if not shown:
        raise ToolError(f"{arguments['path']} has {len(lines)} lines; nothing at line {first}.")
    text = _numbered(shown, first)
    last = first + len(shown) - 1
    if first > 1 or last < len(lines):
        text += f"\n(lines {first}-{last} of {len(lines)})"
    return Output((text,))


def _search(workspace: Workspace, arguments: Arguments) -> Output:
    shown_path = _text(arguments, "path", ".")
    flags = re.IGNORECASE if arguments.get("ignore_case") else re.NOFLAG
    try:
        pattern = re.compile(_text(arguments, "pattern"), flags)
    except re.error as error:
        raise ToolError(f"Not a regular expression: {error}") from error
    files = list(_searched(workspace.real(shown_path), _text(arguments, "glob", "*")))
    hits = [
        f"{workspace.name(file)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(_text_of(file).splitlines(), start=1)
        if pattern.search(line)
    ]
    if not hits:
        return Output((f"No match for {pattern.pattern!r} in {shown_path}.",))
    most = _number(arguments, "max_results", SEARCH_HITS)
    if len(hits) > most:
        hits = [*hits[:most], f"({len(hits) - most} more; narrow the pattern or raise max_results)"]
    return Output(("\n".join(hits),))


def _searched(path: Path, glob: str) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise ToolError(f"No such file or directory: {path}")
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.name in UNSEARCHED:
            continue
        if entry.is_dir():
            yield from _searched(entry, glob)
        elif entry.match(glob):
            yield entry


# ------------------------------------------------------------------ changing files


def _edit_file(workspace: Workspace, arguments: Arguments) -> Output:
    shown_path = _text(arguments, "path")
    path = _writable(workspace, shown_path)
    text = "\n".join(_lines_of(workspace, shown_path)) + "\n"
    old, new = _text(arguments, "old_text"), _text(arguments, "new_text")
    times = text.count(old)
    if times == 0:
        raise ToolError(f"old_text was not found in {shown_path}. Nothing was changed.")
    if times > 1 and not arguments.get("replace_all"):
        raise ToolError(
            f"old_text stands {times} times in {shown_path}; it must be unique. Nothing was changed."
        )
    path.write_text(text.replace(old, new), encoding="utf-8")
    before = text[: text.index(old)].count("\n")
    first = max(0, before - SNIPPET_LINES)
    last = before + new.count("\n") + 1 + SNIPPET_LINES
    snippet = _numbered(_lines_of(workspace, shown_path)[first:last], first + 1)
    return Output((f"Edited {shown_path} ({times}x). It now reads:\n{snippet}",))


def _write_file(workspace: Workspace, arguments: Arguments) -> Output:
    shown_path, content = _text(arguments, "path"), _text(arguments, "content")
    path = _writable(workspace, shown_path)
    verb = "Replaced" if path.exists() else "Created"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return Output((f"{verb} {shown_path}: {len(content.splitlines())} lines.",))


def _writable(workspace: Workspace, shown_path: str) -> Path:
    path = workspace.real(shown_path)
    if path.is_relative_to(workspace.library):
        raise ToolError(f"Refused: {LIBRARY} may only be read.")
    return path


# ------------------------------------------------------------------ commands and logs


def _run_command(workspace: Workspace, arguments: Arguments) -> Output:
    command = _text(arguments, "command")
    for pattern in NEEDS_APPROVAL:
        if pattern in command:
            raise ToolError(f"Refused: `{pattern}` needs the user's approval first.")
    if OFF_LIMITS in command:
        raise ToolError(f"Refused: the command names {OFF_LIMITS}/, which is off limits.")
    seconds = _number(arguments, "timeout_seconds", 120)
    try:
        done = subprocess.run(
            ["bash", "-c", workspace.command(command)],
            cwd=workspace.real(_text(arguments, "cwd", ".")),
            env=dict(workspace.environment()),
            capture_output=True,
            encoding="utf-8",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"Stopped after {seconds} seconds.") from error
    outputs = tuple(text.rstrip() for text in (done.stdout, done.stderr) if text.strip())
    if done.returncode == 0:
        return Output(("\n".join(outputs) or "(no output)",))
    return Output((f"exit status {done.returncode}", *outputs), is_error=True)


FIELD = re.compile(r"(\w+)=(\S+)")
LOG_LINE = re.compile(r"(?P<time>\S+Z) (?P<level>[A-Z]+) (?P<event>.*)")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A line of a log and its fields; ``hour``, ``day`` and ``level`` are fields too."""

    line: str
    fields: Mapping[str, str]


def _query_log(workspace: Workspace, arguments: Arguments) -> Output:
    shown_path = _text(arguments, "path")
    where = arguments.get("where", {})
    if not isinstance(where, dict):
        raise ToolError("where must be an object.")
    entries = [
        entry
        for entry in _log_entries(_lines_of(workspace, shown_path))
        if _text(arguments, "since", "") <= entry.fields["time"]
        and entry.fields["time"] < _text(arguments, "until", "9")
        and _text(arguments, "contains", "") in entry.line
        and all(entry.fields.get(key) == value for key, value in where.items())
    ]
    if not entries:
        raise ToolError(f"No entry of {shown_path} matches.")
    if arguments.get("group_by"):
        text = _grouped(entries, _text(arguments, "group_by").split(","))
    else:
        text = "\n".join(entry.line for entry in entries[: _number(arguments, "limit", 40)])
    return Output((f"{len(entries)} entries match.", text))


def _log_entries(lines: list[str]) -> Iterator[LogEntry]:
    for line in lines:
        match = LOG_LINE.fullmatch(line)
        if match:
            time = match["time"]
            fields = dict(FIELD.findall(match["event"]))
            names = {"time": time, "day": time[:10], "hour": time[:13], "level": match["level"]}
            yield LogEntry(line, fields | names)


def _grouped(entries: list[LogEntry], keys: list[str]) -> str:
    """Count entries by the values of fields, with the middle and the slow end of ``ms``."""
    groups: dict[tuple[str, ...], list[LogEntry]] = {}
    for entry in entries:
        values = tuple(entry.fields.get(key, "-") for key in keys)
        groups.setdefault(values, []).append(entry)
    rows = [" | ".join([*keys, "count", "p50 ms", "p95 ms", "max ms"])]
    for values, group in sorted(groups.items()):
        times = sorted(int(entry.fields["ms"]) for entry in group if "ms" in entry.fields)
        places = (len(times) // 2, len(times) * 95 // 100, len(times) - 1)
        figures = [str(times[place]) if times else "-" for place in places]
        rows.append(" | ".join([*values, str(len(group)), *figures]))
    return "\n".join(rows)


# ------------------------------------------------------------------ shared


def _text(arguments: Arguments, name: str, default: str | None = None) -> str:
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string.")
    return value


def _number(arguments: Arguments, name: str, default: int) -> int:
    value = arguments.get(name, default)
    if not isinstance(value, int):
        raise ToolError(f"{name} must be a whole number.")
    return value


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _lines_of(workspace: Workspace, shown_path: str) -> list[str]:
    path = workspace.real(shown_path)
    if path.is_dir():
        raise ToolError(f"{shown_path} is a directory; use list_dir.")
    if not path.exists():
        raise ToolError(f"No such file: {shown_path}")
    return _text_of(path).splitlines()


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(lines, start=first))


# ------------------------------------------------------------------ as a model knows them


def _string(description: str) -> Json:
    return {"type": "string", "description": description}


def _integer(description: str) -> Json:
    return {"type": "integer", "minimum": 1, "description": description}


def _boolean(description: str) -> Json:
    return {"type": "boolean", "default": False, "description": description}


PATH = f"Absolute, or relative to {SHOP}."

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "list_dir",
            "List a directory with the size of each file in bytes. Hidden files are left out.",
            {
                "path": _string(f"Directory to list. {PATH}"),
                "depth": _integer("How many levels to descend; 1 lists the directory alone."),
            },
            ("path",),
            _list_dir,
        ),
        Tool(
            "read_file",
            "Read a text file with line numbers. The number and the tab after it are not part of"
            f" the file. Shows {READ_LINES} lines unless a limit is given; use offset and limit for"
            " a range of a long file.",
            {
                "path": _string(f"File to read. {PATH}"),
                "offset": _integer("First line to show, counted from 1."),
                "limit": _integer("Most lines to show."),
            },
            ("path",),
            _read_file,
        ),
        Tool(
            "search",
            "Search files for a regular expression (Python syntax, line by line). Hidden and ignored"
            " folders are skipped unless path points into them.",
            {
                "pattern": _string("Regular expression."),
                "path": _string(f"File or directory to search; default '.'. {PATH}"),
                "glob": _string("Only files whose name matches, for example '*.py'."),
                "ignore_case": _boolean("Whether upper and lower case are the same."),
                "max_results": _integer(f"Most hits to show; default {SEARCH_HITS}."),
            },
            ("pattern",),
            _search,
        ),
        Tool(
            "edit_file",
            "Replace a text in a file. old_text must stand in the file exactly once, with its"
            " indentation, unless replace_all is true. Read the file before you edit it.",
            {
                "path": _string(f"File to edit. {PATH}"),
                "old_text": _string("What to replace, exactly as it stands in the file."),
                "new_text": _string("What to put in its place."),
                "replace_all": _boolean("Replace every occurrence."),
            },
            ("path", "old_text", "new_text"),
            _edit_file,
        ),
        Tool(
            "write_file",
            "Create a file, or replace the whole of an existing one. Directories are made as needed.",
            {
                "path": _string(f"File to write. {PATH}"),
                "content": _string("The whole new content."),
            },
            ("path", "content"),
            _write_file,
        ),
        Tool(
            "run_command",
            "Run a command with bash and wait for it. Answers what it printed; where it fails, the"
            " exit status, standard output and standard error in blocks of their own.",
            {
                "command": _string("The command line."),
                "cwd": _string(f"Directory to run in; default {SHOP}."),
                "timeout_seconds": _integer("Seconds after which it is stopped; default 120."),
            },
            ("command",),
            _run_command,
        ),
        Tool(
            "query_log",
            "Filter a log of lines 'TIME LEVEL text key=value ...' and show the lines, or count them"
            " in groups with the median, 95th percentile and maximum of their ms field.",
            {
                "path": _string(f"Log file. {PATH}"),
                "since": _string(
                    "Earliest time, ISO 8601 in UTC; a prefix such as 2026-03-17T09 will do."
                ),
                "until": _string("First time that is too late."),
                "contains": _string("Text that a line must hold."),
                "where": {
                    "type": "object",
                    "description": "Fields and the value that each must have, for example"
                    ' {"path": "/v1/quotes"}. level, day and hour are fields too.',
                    "additionalProperties": {"type": "string"},
                },
                "group_by": _string("Comma-separated fields to count by, for example 'day,path'."),
                "limit": _integer("Most lines to show where nothing is grouped; default 40."),
            },
            ("path",),
            _query_log,
        ),
    )
}
