"""The words that the story is written in: what the user asks, what the agent says and calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

from demo.tools import Arguments, Json

__all__ = [
    "Call",
    "Step",
    "Turn",
    "edit",
    "fails",
    "listing",
    "log",
    "read",
    "run",
    "say",
    "search",
    "write",
]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call, and what the rest of the script relies on.

    Attributes:
        tool: Name of the tool.
        arguments: What it is called with.
        fails: Whether its result must be an error.
        shows: What its result must hold; empty for anything.
    """

    tool: str
    arguments: Arguments
    fails: bool = False
    shows: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the agent: words, then calls that run together.

    Attributes:
        words: What it says first; empty for nothing.
        calls: At least one.
        interjection: What the user adds while the calls run; empty for nothing.
    """

    words: str
    calls: tuple[Call, ...]
    interjection: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user asks, and all that the agent does about it.

    Attributes:
        request: The user's words.
        steps: What is done, in order.
        answer: The agent's last words; empty where the session ends in the middle of the work.
    """

    request: str
    steps: tuple[Step, ...]
    answer: str = ""


def say(words: str, *calls: Call, interjection: str = "") -> Step:
    """Say something and make calls."""
    return Step(words, calls, interjection)


def fails(call: Call, shows: str = "") -> Call:
    """Expect a call to fail, with words that its result holds."""
    return replace(call, fails=True, shows=shows)


def listing(path: str, depth: int = 1) -> Call:
    """List a directory."""
    return Call("list_dir", {"path": path} | ({"depth": depth} if depth > 1 else {}))


def read(path: str, offset: int = 0, limit: int = 0) -> Call:
    """Read a file, or some lines of it."""
    places: dict[str, Json] = {"offset": offset, "limit": limit}
    return Call("read_file", {"path": path} | {key: at for key, at in places.items() if at})


def search(pattern: str, path: str = "", *, glob: str = "", shows: str = "") -> Call:
    """Search files for a regular expression."""
    places = {"path": path, "glob": glob}
    found = {key: value for key, value in places.items() if value}
    return Call("search", {"pattern": pattern} | found, shows=shows)


def edit(path: str, old_text: str, new_text: str) -> Call:
    """Replace a text in a file."""
    return Call("edit_file", {"path": path, "old_text": old_text, "new_text": new_text})


def write(path: str, content: str) -> Call:
    """Write a whole file."""
    return Call("write_file", {"path": path, "content": content})


def run(command: str, *, cwd: str = "", shows: str = "") -> Call:
    """Run a command."""
    return Call("run_command", {"command": command} | ({"cwd": cwd} if cwd else {}), shows=shows)


def log(shows: str = "", **arguments: Json) -> Call:
    """Query the shop's log."""
    return Call("query_log", {"path": "var/log/shop.log"} | arguments, shows=shows)
