"""The way in, as it is installed: a process of its own, with real streams."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.bodies import LONG, ORPHAN, PLAIN
from tests.cli.running import SCRIPT, Ran

MODULE = [sys.executable, "-m", "trimtab"]


def process(
    command: Sequence[str | Path], data: bytes = b"", **environment: str
) -> tuple[int, bytes, bytes]:
    """Run a process, and say its exit code and what it wrote."""
    ran = subprocess.run(
        command, input=data, env={**os.environ, **environment}, capture_output=True, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def shell(script: str, *arguments: str | Path) -> Ran:
    """Run a shell script; ``$0`` is the command, ``$1`` and so on its arguments."""
    ran = subprocess.run(
        ["/bin/sh", "-c", script, SCRIPT, *arguments], capture_output=True, text=True, check=False
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.parametrize("command", [[SCRIPT], MODULE], ids=["script", "module"])
def test_script_and_module_are_the_same(command: Sequence[str]) -> None:
    """Both print the version, help without arguments, and exit with the code of the command."""
    wrong = process([*command, "check", "/no/such/file"])

    assert process([*command, "--version"]) == (0, f"{version('trimtab')}\n".encode(), b"")
    assert process([*command])[1].startswith(b"Usage: trimtab COMMAND\n")
    assert wrong == (
        2,
        b"",
        b"error: there is no file `/no/such/file`\nhint: name a file, or - for standard input\n",
    )


@pytest.mark.parametrize(
    "command", [["check"], ["inspect"], ["compact", "--budget", "9999"]], ids=lambda c: c[0]
)
def test_each_command_reads_standard_input(command: list[str]) -> None:
    """``-`` is what is piped in, and an empty pipe is told."""
    code, out, err = process([SCRIPT, *command, "-"], PLAIN)

    empty = process([SCRIPT, *command, "-"])

    assert (code, out.splitlines()[0], err) == (0, b"standard input", b"")
    assert empty[:2] == (1, b"")
    assert empty[2].startswith(b"error: `standard input` is empty")


def test_commands_can_be_piped_into_each_other(tmp_path: Path) -> None:
    """What compact writes, check and inspect read, and compact has nothing more to do."""
    (tmp_path / "long.json").write_bytes(LONG)
    cut = '"$0" compact "$1" --budget 330 -o - 2>/dev/null'

    checked = shell(f'{cut} | "$0" check -', tmp_path / "long.json")
    again = shell(f'{cut} | "$0" compact - --budget 330', tmp_path / "long.json")

    assert (checked.code, checked.lines[-1]) == (
        0,
        "valid: it breaks none of the rules that a request can show",
    )
    assert (again.code, again.lines[-1]) == (
        0,
        "untouched: it fits as it is, and goes out byte for byte",
    )


def test_the_exit_code_is_the_verdict(tmp_path: Path) -> None:
    """A script can go by it."""
    (tmp_path / "good.json").write_bytes(PLAIN)
    (tmp_path / "bad.json").write_bytes(ORPHAN)
    script = 'if "$0" check "$1" >/dev/null; then echo good; else echo bad; fi'

    assert shell(script, tmp_path / "good.json").out == "good\n"
    assert shell(script, tmp_path / "bad.json").out == "bad\n"


def test_closed_streams_are_no_accident(tmp_path: Path) -> None:
    """Output that nobody wants goes nowhere; input that is not there is told."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    quiet = shell('"$0" check "$1" >&-', tmp_path / "plain.json")
    silent = shell('"$0" check "$1" >&- 2>&-', tmp_path / "missing.json")
    no_input = shell('"$0" check - <&-')

    assert quiet == Ran(0, "")
    assert silent == Ran(2, "")
    assert no_input == Ran(
        2,
        "",
        "error: standard input is closed\nhint: name a file, or pipe a request into it\n",
    )


def test_a_reader_that_has_seen_enough_is_no_accident(tmp_path: Path) -> None:
    """``| head -1`` shows a line and no complaint, for reports, JSON and bodies."""
    (tmp_path / "long.json").write_bytes(LONG)
    commands = ['inspect "$1"', 'inspect "$1" --json', 'compact "$1" --budget 9999 -o -']

    told = [shell(f'"$0" {command} | head -c 1', tmp_path / "long.json") for command in commands]

    assert [ran.out for ran in told] == ["l", "{", "{"]
    assert [ran.err for ran in told[:2]] == ["", ""]


def test_a_narrow_encoding_loses_no_line(tmp_path: Path) -> None:
    """Where the terminal has no such sign, another stands for it."""
    (tmp_path / "lång.json").write_bytes(LONG)

    code, out, _ = process(
        [SCRIPT, "inspect", tmp_path / "lång.json"], PYTHONIOENCODING="ascii", COLUMNS="80"
    )

    assert (code, out.splitlines()[0]) == (0, b"l?ng.json")
    assert len(out.splitlines()) > 30
    assert out.isascii()


def test_a_file_that_memory_cannot_hold_is_told(tmp_path: Path) -> None:
    """A file larger than what the process may have is an error like any other."""
    (tmp_path / "huge.json").touch()
    os.truncate(tmp_path / "huge.json", 8 * 1024**3)

    ran = shell('ulimit -v 2000000; exec "$0" check "$1"', tmp_path / "huge.json")

    assert ran == Ran(1, "", "error: the file is too large for the memory of this machine\n")


def test_the_module_does_nothing_when_it_is_imported() -> None:
    """Only ``python -m trimtab`` runs a command."""
    assert vars(import_module("trimtab.__main__"))["__name__"] == "trimtab.__main__"


@pytest.mark.parametrize("missing", ["cyclopts", "rich"])
def test_without_its_parts_the_extra_is_named(missing: str) -> None:
    """The library can be installed without the command line, which then says how to get it."""
    code = f"import sys; sys.modules[{missing!r}] = None; from trimtab.cli.main import main; main()"

    ran = process([sys.executable, "-c", code])

    assert (ran[0], ran[1]) == (2, b"")
    assert ran[2].startswith(f"error: the command line needs {missing}".encode())
    assert ran[2].endswith(b"\nhint: pip install 'trimtab[cli]'\n")
