"""What a tool call is about: the path and the range that it names, or all that it says.

The law of this file: two calls have the same target only if the newer answer
can stand for the older one. Where that is not known, they have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from trimtab.messages import ToolCall
from trimtab.policy import Policy, ToolKind

__all__ = ["KNOWN_TOOLS", "Target", "target_of"]

_Arguments: TypeAlias = Mapping[str, Any]

_READS = (
    "Read NotebookRead read read_file read_text_file view view_file view_image read_media_file "
    "ReadFile readFile open_file"
)
_WRITES = (
    "Write write write_file write_to_file create create_file new_file save_file create_new_file "
    "WriteFile writeFile CreateFile"
)
_EDITS = (
    "Edit MultiEdit NotebookEdit edit multiedit multi_edit patch apply_patch applypatch apply_diff "
    "replace replace_in_file str_replace str_replace_editor str_replace_based_edit_tool "
    "text_editor developer__text_editor file_editor edit_file edit_notebook edit_notebook_file "
    "search_replace search_and_replace replace_string_in_file multi_replace_string_in_file "
    "insert_edit_into_file replace_file_content multi_replace_file_content insert insert_content "
    "append append_file undo_edit str_replace_file StrReplaceFile"
)
_OTHERS = (
    # Shells. Those that go on with a running process are not among them: each answer is new.
    "Bash bash shell local_shell shell_command exec_command container.exec exec run_shell_command "
    "execute_command execute_bash run_terminal_cmd run_in_terminal run_command terminal "
    "developer__shell "
    # Searches and lists.
    "Grep grep grep_search search_file_content search_files search_for_pattern codebase_search "
    "file_search find find_file Glob glob glob_file_search LS ls list list_dir list_directory "
    "list_files directory_tree list_code_definition_names search_dir search_file "
    "read_many_files read_multiple_files "
    # The web.
    "WebFetch WebSearch webfetch websearch web_fetch web_search google_web_search fetch_webpage"
)

KNOWN_TOOLS: Mapping[str, ToolKind] = {
    **dict.fromkeys(_READS.split(), "read"),
    **dict.fromkeys(_WRITES.split(), "write"),
    **dict.fromkeys(_EDITS.split(), "edit"),
    **dict.fromkeys(_OTHERS.split(), "other"),
}
"""What the tools of well-known agents do, by name.

A tool whose answer depends on when it is asked (the next page, new output of
a running process, another agent's report) is not in it, nor is one that shows
less than all of a file without saying so.
"""

_COMMANDS: Mapping[str, ToolKind] = {"view": "read", "create": "write", "write": "write"}
"""What editors with a ``command`` argument do; each other command is an edit."""

_EDITORS = (
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "text_editor",
    "developer__text_editor",
    "file_editor",
)

_PATHS = (
    "path",
    "file_path",
    "filePath",
    "filepath",
    "absolute_path",
    "AbsolutePath",
    "notebook_path",
    "filename",
    "file_name",
    "file",
    "target_file",
    "TargetFile",
    "target_notebook",
    "relative_path",
    "relative_workspace_path",
)
"""Names of the argument that says which file."""

_FOLDERS = ("workdir", "cwd", "working_directory")
"""Names of the argument that says what a path is relative to."""

_NOTES = (
    "description",
    "explanation",
    "justification",
    "security_risk",
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "toolAction",
    "toolSummary",
)
"""Arguments of known tools that change nothing in the answer; models word them anew each time."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a call is about.

    Attributes:
        kind: What its tool does; None where that is not known.
        call: The tool and its arguments in one form, whatever the order of their keys.
        path: What it reads, writes or edits; empty where it names none.
        span: Which part of the path a read shows, in one form; empty for all of it.
    """

    kind: ToolKind | None
    call: str = field(repr=False)
    path: str = field(default="", repr=False)
    span: str = field(default="", repr=False)

    @property
    def identity(self) -> tuple[str, str]:
        """Equal for calls that ask for the same: path and range of a read, else the whole call."""
        return (self.path, self.span) if self.kind == "read" and self.path else ("", self.call)


def target_of(call: ToolCall, policy: Policy) -> Target:
    """Say what a call is about.

    Args:
        call: The call. Arguments that are no JSON object count as they stand.
        policy: What the user says of tools; it goes before what is known.

    Returns:
        The target; its kind is None where nobody knows the tool, or where a
        tool that works on a file names none.
    """
    arguments = _arguments(call.arguments)
    is_known = call.name not in policy.tools and call.name in KNOWN_TOOLS
    if arguments is None:
        kind = policy.tools.get(call.name, KNOWN_TOOLS.get(call.name))
        said = f"{call.name} {call.arguments}"
        return Target("other" if kind == "other" else None, said)
    if is_known:
        arguments = {key: value for key, value in arguments.items() if key not in _NOTES}
    kind = _kind(call.name, arguments, policy)
    said = f"{call.name} {_canonical(arguments)}"
    if kind is None or kind == "other":
        return Target(kind, said)
    path = _path(arguments)
    if not path:
        # A declared read may name its subject in other words; the same words then name the same.
        return Target("other" if kind == "read" and not is_known else None, said)
    return Target(kind, said, path, _span(call.name, arguments) if kind == "read" else "")


def _kind(name: str, arguments: _Arguments, policy: Policy) -> ToolKind | None:
    if name in policy.tools:
        return policy.tools[name]
    if name in _EDITORS and isinstance(command := arguments.get("command"), str):
        return _COMMANDS.get(command, "edit")
    return KNOWN_TOOLS.get(name)


def _arguments(text: str) -> dict[str, Any] | None:
    """The arguments by name; None where they are no JSON object that can be read."""
    try:
        # Fractions keep their digits: two that Python takes for one are not the same.
        arguments = json.loads(text or "{}", parse_float=str)
    except (ValueError, RecursionError):
        return None
    return arguments if isinstance(arguments, dict) else None


def _canonical(arguments: _Arguments) -> str:
    """The same text for the same arguments, whatever their order; a member without a value is none."""
    held = {key: value for key, value in arguments.items() if value is not None}
    return json.dumps(held, sort_keys=True)


def _path(arguments: _Arguments) -> str:
    """The one path that is named, in one form; empty for none, or for several."""
    named = [arguments[key] for key in _PATHS if arguments.get(key)]
    if len(named) != 1 or not isinstance(named[0], str):
        return ""
    path = named[0]
    folder = next((arguments[key] for key in _FOLDERS if arguments.get(key)), "")
    if isinstance(folder, str) and folder and not path.startswith("/"):
        path = f"{folder}/{path}"
    return _plain(path)


def _plain(path: str) -> str:
    """A path without the steps that lead nowhere."""
    steps = path.split("/")
    plain = [step for place, step in enumerate(steps) if place == 0 or step not in ("", ".")]
    if plain[0] == "." and len(plain) > 1:
        del plain[0]
    return "/".join(plain) or "/"


def _span(name: str, arguments: _Arguments) -> str:
    """All that a read says beside its path: what it does not say cannot narrow it."""
    keys = ("view_range",) if name in _EDITORS else arguments.keys()
    said = {
        key: arguments.get(key)
        for key in keys
        if key not in _PATHS and key not in _FOLDERS and arguments.get(key) not in (None, "", [])
    }
    return _canonical(said) if said else ""
