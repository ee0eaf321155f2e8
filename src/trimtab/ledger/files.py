"""Files that calls touched, with their last known state.

What a tool does is told by its name, by what the user says of it, and, in
shells, by a few plain commands. A call that failed touched nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trimtab.ledger.texts import one_line
from trimtab.ledger.tool_use import Use, command_of
from trimtab.policy import Policy

__all__ = ["files_touched", "is_reading", "merged_files"]

_VERBS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (state, re.compile(pattern, re.IGNORECASE))
    for state, pattern in (
        (
            "deleted",
            r"^(?:\w+[_.-])*(?:delete|remove|unlink|rm|trash)(?:[_.-]?(?:files?|path|directory))?$",
        ),
        ("moved", r"^(?:\w+[_.-])*(?:move|rename|mv)(?:[_.-]?(?:files?|path))?$"),
        (
            "edited",
            r"edit|replace|patch|insert|append|apply[_-]?diff|modify|undo|update[_-]?file|str_?replace",
        ),
        ("written", r"write|create|save|new[_-]?file|touch[_-]?file"),
        ("read", r"read|view|cat\b|open|show|get[_-]?file|fetch[_-]?file|goto|scroll"),
        ("", r"^(?:ls|glob|grep|list|find|search|tree|rg)|search|list_|_list|glob|grep"),
    )
)
_KINDS = {"read": "read", "write": "written", "edit": "edited"}
_COMMAND_STATES = {
    "view": "read",
    "create": "created",
    "str_replace": "edited",
    "insert": "edited",
    "write": "written",
}
_PATHS = (
    "file_path filePath filepath path filename fileName file_name file absolute_path AbsolutePath notebook_path target_file TargetFile"
    " target_notebook relative_path relative_workspace_path paths files file_paths source source_path old_path oldPath"
).split()
_TARGETS = (
    "destination",
    "destination_path",
    "target_path",
    "new_path",
    "newPath",
    "target",
    "dest",
    "to",
)
_PATCH = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: ([^\n\\\"]+?)(?:\r?\n|\\n|$)(?:\*\*\* Move to: ([^\n\\\"]+))?",
    re.MULTILINE,
)
_ESCAPED_PATCH = re.compile(
    r"\*\*\* (Add|Update|Delete) File: ([^\n\\\"']+)(?:\\n\*\*\* Move to: ([^\n\\\"']+))?"
)
_PATCH_STATES = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_DIFF = re.compile(r"^--- (?:a/)?(\S+)[^\n]*\n\+\+\+ (?:b/)?(\S+)", re.MULTILINE)
_NOWHERE = "/dev/null"
_PATHLIKE = re.compile(r"(?=.*[\w])[^\s\"'`|;&<>*?$(){}]{1,300}")
_PLAIN_NAME = re.compile(r"(?:[\w@~.+-]+/)*[\w@.+~-]+\.?\w*")
_QUOTED = r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s;|&<>\"']+))"
_SHELL: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (state, re.compile(pattern, re.MULTILINE))
    for state, pattern in (
        ("written", r"(?<![\d&<>=-])>{1,2}\s*" + _QUOTED),
        ("written", r"(?:^|[|;&]\s*)tee\s+(?:-a\s+)?" + _QUOTED),
        (
            "edited",
            r"(?:^|[|;&]\s*)(?:sed|perl)\s+(?:-\w+\s+)*-\w*i\S*\s.*?\s"
            + _QUOTED
            + r"\s*(?:$|[;&|])",
        ),
        ("created", r"(?:^|[;&]\s*)touch\s+" + _QUOTED),
        ("deleted", r"(?:^|[;&]\s*)(?:git\s+)?rm\s+(?:-\w+\s+)*" + _QUOTED),
        (
            "read",
            r"(?:^|[;&]\s*)(?:cat|head|tail|nl|less|bat)\s+(?:-\w+\s+(?:\d+\s+)?)*(?!<<)" + _QUOTED,
        ),
        ("read", r"(?:^|[;&]\s*)sed\s+-n\s+\S+\s+" + _QUOTED),
    )
)
_MOVES = re.compile(
    r"(?:^|[;&]\s*)(?:git\s+)?mv\s+(?:-\w+\s+)*" + _QUOTED + r"\s+" + _QUOTED, re.MULTILINE
)
_HERE_DOCUMENT = re.compile(
    r"<<-?\s*[\"']?(\w+)[\"']?([^\n]*)\n.*?(?:^\1\s*$|\Z)", re.MULTILINE | re.DOTALL
)
_READING = re.compile(
    r"^\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:cat|ls|sed\s+-n|head|tail|nl|less|grep|rg|find|fd|tree|wc|pwd|which|file|stat|awk"
    r"|git\s+(?:show|diff|log|status|blame|grep|ls-files|branch))\b"
)
_CREATED = re.compile(r"\b(?:created|new file)\b", re.IGNORECASE)
_MOST_COMMAND = 40_000
_MOST_FILES = 300
_LONGEST_PATH = 300


def files_touched(uses: Sequence[Use], policy: Policy) -> tuple[str, ...]:
    """List the files that calls touched, oldest first, with their last known state.

    Args:
        uses: The calls. What one that stays touches is not listed.
        policy: What the user says of tools; it goes before what names tell.
    """
    states: dict[str, str] = {}
    stays: set[str] = set()
    for use in uses:
        if use.failed:
            continue
        for path, state in _touched(use, policy):
            if use.is_gone:
                _note(states, path, state)
            else:
                stays.add(path)
    return _listed(
        {
            path: state
            for path, state in states.items()
            if path not in stays and not _other_form(dict.fromkeys(stays, ""), path)
        }
    )


def merged_files(older: Iterable[str], newer: Iterable[str]) -> tuple[str, ...]:
    """Put two lists of files together; the newer state of a file counts."""
    states: dict[str, str] = {}
    for line in (*older, *newer):
        path, _, state = line.rpartition(": ")
        _note(states, path, state)
    return _listed(states)


def _listed(states: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{path}: {state}" for path, state in states.items() if path)[-_MOST_FILES:]


def _note(states: dict[str, str], path: str, state: str) -> None:
    """Write down what became of a file; having been read tells less than having been made."""
    known = path if path in states else _other_form(states, path)
    former = states.pop(known, "")
    path = max(path, known, key=len)
    if (state in ("read", "touched") and former not in ("", "deleted", "touched")) or (
        state in ("edited", "written") and former == "created"
    ):
        state = former
    states[path] = state


def _other_form(states: Mapping[str, str], path: str) -> str:
    """The same path from the root where it is told from a folder, or the other way; empty for none."""
    name = path.rpartition("/")[2]
    for known in states:
        if known.endswith(name) and known.startswith("/") != path.startswith("/"):
            short, long = sorted((known, path), key=len)
            if long.endswith(f"/{short}"):
                return known
    return ""


def is_reading(use: Use, policy: Policy) -> bool:
    """Whether what a call showed can be had again by the same call."""
    if policy.tools.get(use.call.name) == "read":
        return True
    command = _shell_command(use)
    if command:
        return _READING.match(command) is not None
    return _state(use, policy) in ("read", "")


def _shell_command(use: Use) -> str:
    """The shell command that a call runs; empty for an editor, whose command is one of its own."""
    command = command_of(use)
    return "" if command in _COMMAND_STATES else command


def _state(use: Use, policy: Policy) -> str | None:
    """What a call does to files by its tool's name; None where the name tells nothing."""
    kind = policy.tools.get(use.call.name)
    if kind is not None:
        return _KINDS.get(kind)
    command = use.arguments.get("command")
    if isinstance(command, str) and command in _COMMAND_STATES:
        return _COMMAND_STATES[command]
    name = use.call.name.rpartition("__")[2]
    return next((state for state, pattern in _VERBS if pattern.search(name)), None)


def _touched(use: Use, policy: Policy) -> Iterator[tuple[str, str]]:
    patched = list(_patched(use))
    if patched:
        yield from patched
        return
    command = _shell_command(use)
    if command:
        yield from _run(command[:_MOST_COMMAND])
        return
    state = _state(use, policy)
    if state == "":
        return
    if state == "moved":
        yield from _moved(_paths(use.arguments), _named(use.arguments, _TARGETS))
        return
    if state == "written" and use.result is not None and _CREATED.search(use.result.text[:_EDGE]):
        state = "created"
    for path in _paths(use.arguments):
        yield path, state or "touched"


_EDGE = 200


def _patched(use: Use) -> Iterator[tuple[str, str]]:
    """What a patch touches, where a call holds one."""
    text = next(
        (
            value
            for value in use.arguments.values()
            if isinstance(value, str) and "*** " in value[:_MOST_COMMAND]
        ),
        use.call.arguments if not use.arguments else "",
    )
    found = False
    if "*** " in text:
        pattern = _PATCH if "\n" in text else _ESCAPED_PATCH
        for verb, path, target in pattern.findall(text):
            found = True
            if target:
                yield from _moved([_plain(path)], [_plain(target)])
            else:
                yield _plain(path), _PATCH_STATES[verb]
    if found or ("patch" not in use.call.name.lower() and "diff" not in use.call.name.lower()):
        return
    for value in use.arguments.values():
        if isinstance(value, str):
            for before, after in _DIFF.findall(value):
                if after == _NOWHERE:
                    yield _plain(before), "deleted"
                else:
                    yield _plain(after), "created" if before == _NOWHERE else "edited"


def _moved(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, str]]:
    for source, target in zip(sources, targets, strict=False):
        yield source, f"moved to {target}"
        yield target, "written"


def _run(command: str) -> Iterator[tuple[str, str]]:
    """What a shell command touches, as far as it is plain."""
    command = _HERE_DOCUMENT.sub(r"\2", command)
    found: list[tuple[int, str, str]] = []
    for state, pattern in _SHELL:
        found.extend(
            (match.start(), next(filter(None, match.groups()), ""), state)
            for match in pattern.finditer(command)
        )
    found.sort()
    for _, path, state in found:
        if _is_file(path):
            yield _plain(path), state
    for match in _MOVES.finditer(command):
        source, target = [name for name in match.groups() if name][:2]
        if _is_file(source):
            yield from _moved([_plain(source)], [_plain(target)])


def _is_file(path: str) -> bool:
    """Whether a word of a command is a file: no device, number, pattern or variable."""
    if path.startswith(("/dev/", "-", "&")) or "$" in path or "*" in path:
        return False
    return (
        _PLAIN_NAME.fullmatch(path) is not None
        and ("." in path or "/" in path)
        and not path.isdigit()
    )


def _paths(arguments: Mapping[str, Any]) -> list[str]:
    found = _named(arguments, _PATHS)
    if found:
        return found
    for value in arguments.values():  # one step down: {"edits": [{"path": …}]}
        members = value if isinstance(value, list) else [value]
        found.extend(
            path
            for member in members
            if isinstance(member, dict)
            for path in _named(member, _PATHS)
        )
    return list(dict.fromkeys(found))


def _named(arguments: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    for key in keys:
        value = arguments.get(key)
        values = value if isinstance(value, list) else [value]
        paths = [
            _plain(path)
            for path in values
            if isinstance(path, str) and 0 < len(path) <= _LONGEST_PATH
        ]
        if paths:
            return paths
    return []


def _plain(path: str) -> str:
    """A path on one line, without the step that leads nowhere."""
    path = one_line(path)
    return path[2:] if path.startswith("./") and len(path) > 2 else path
