"""Which request of which input a command works on, and what is said where there is none."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.bodies import CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, chat, said
from tests.cli.running import Ran, Trimtab, standard_input

COMMANDS: list[tuple[str, ...]] = [("check",), ("inspect",), ("compact", "--budget", "9999")]
commands = pytest.mark.parametrize("command", COMMANDS, ids=["check", "inspect", "compact"])


def run_on(trimtab: Trimtab, command: Sequence[str], file: str | Path, *options: str | int) -> Ran:
    """Run a command on a file."""
    return trimtab(command[0], file, *command[1:], *options)


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (PLAIN, "request-bodies, openai-chat"),
        (PLAIN + b"\n" + LONG, "request-bodies, request 2 of 2, openai-chat"),
        (LONG + b"\n" + PLAIN, "request-bodies, request 1 of 2, openai-chat"),
        (PLAIN + b"\n" + PLAIN, "request-bodies, request 2 of 2, openai-chat"),
        (CHAT_LIST, "openai-chat-messages, request 4 of 4, openai-chat"),
        (SESSION, "claude-code, request 3 of 3, anthropic"),
        (gzip.compress(PLAIN, mtime=0), "request-bodies, openai-chat"),
        (b"\xef\xbb\xbf" + PLAIN, "request-bodies, openai-chat"),
    ],
)
@commands
def test_the_largest_request_is_taken(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str], data: bytes, title: str
) -> None:
    """What the file is decides how it is read; of several requests the largest speaks, or the last."""
    (tmp_path / "any.name").write_bytes(data)

    ran = run_on(trimtab, command, tmp_path / "any.name")

    assert (ran.code, ran.lines[:3]) == (0, ["any.name", title, ""])


@commands
def test_a_number_picks_a_request(trimtab: Trimtab, tmp_path: Path, command: Sequence[str]) -> None:
    """Requests are counted from 1 over all sessions of the file, and told by that number."""
    sidechain = SESSION.replace(
        b'"type": "user", "uuid"', b'"isSidechain": true, "type": "user", "uuid"'
    )
    sidechain = sidechain.replace(
        b'"type": "assistant", "uuid"', b'"isSidechain": true, "type": "assistant", "uuid"'
    )
    (tmp_path / "log.jsonl").write_bytes(SESSION + b"\n" + sidechain.replace(b"m-a", b"m-b"))

    asked = [
        run_on(trimtab, command, tmp_path / "log.jsonl", "--request", number, "--json").json
        for number in range(1, 7)
    ]

    assert [(told["request"], told["requests"]) for told in asked] == [
        (number, 6) for number in range(1, 7)
    ]
    assert [told["session"].partition("#")[0] for told in asked] == ["log.jsonl"] * 6
    assert len({told["session"] for told in asked}) == 2


@commands
def test_a_request_that_is_not_there_is_wrong_usage(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str]
) -> None:
    """It says how many there are, and what to do."""
    (tmp_path / "log.jsonl").write_bytes(SESSION)

    beyond = run_on(trimtab, command, tmp_path / "log.jsonl", "--request", 4)
    nothing = run_on(trimtab, command, tmp_path / "log.jsonl", "--request", 0)

    assert beyond == Ran(
        2,
        "",
        "error: there is no request 4: `log.jsonl` has 3\n"
        "hint: count from 1, or leave --request out to take the largest\n",
    )
    assert (nothing.code, nothing.out) == (2, "")
    assert 'Invalid value "0" for --request. Must be >= 1.' in nothing.err


@commands
def test_notes_of_the_reader_are_told(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str]
) -> None:
    """What was skipped and what is not recorded goes to standard error, or into the JSON."""
    (tmp_path / "log.jsonl").write_bytes(SESSION)

    shown = run_on(trimtab, command, tmp_path / "log.jsonl")
    told = run_on(trimtab, command, tmp_path / "log.jsonl", "--json")

    skipped = "skipped lines that are cut off or no JSON objects: 5"
    assert shown.err == (
        "note: the recording does not hold these, so they are stubs or left out: "
        "max_tokens, system, tools\n"
        f"note: {skipped}\n"
    )
    assert (told.err, told.json["notes"]) == ("", [skipped])
    assert told.json["unrecorded"] == ["max_tokens", "system", "tools"]


@commands
def test_standard_input_is_a_file(trimtab: Trimtab, tmp_path: Path, command: Sequence[str]) -> None:
    """``-`` reads what comes in there."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    with standard_input(tmp_path / "plain.json"):
        ran = run_on(trimtab, command, "-")

    assert (ran.code, ran.lines[0]) == (0, "standard input")


def test_a_pipe_is_a_file(trimtab: Trimtab, tmp_path: Path) -> None:
    """What a shell puts in place of a file, such as ``<(curl ...)``, can be read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(PLAIN,))
    writer.start()

    ran = trimtab("check", pipe)

    writer.join()
    assert ran.code == 0


@pytest.mark.parametrize("name", ["anthropic", "openai-chat"])
def test_a_format_can_be_named(trimtab: Trimtab, tmp_path: Path, name: str) -> None:
    """What is named is taken, whatever the content looks like."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    told = trimtab("check", tmp_path / "plain.json", "--format", name, "--json").json

    assert told["format"] == name


KNOWN = (
    "known kinds are claude-code, codex, pi, copilot-cli, gemini-cli, opencode, trae, tau2-bench, "
    "tau-bench, swe-agent, mini-swe-agent, litellm-log, http-exchanges, openai-chat-messages, "
    "request-bodies"
)
WHOLE = "hint: it must be whole JSON in UTF-8; copy or export it again"
HELP = "hint: trimtab --help says what can be read"
BODIES = "hint: a request body as it was sent can always be read"
NO_LIST = "JSON, but no request that is known: there is no list of messages (messages)"


@commands
@pytest.mark.parametrize(
    ("data", "error", "hint"),
    [
        (b"", "`x` is empty: there is nothing to read", HELP),
        (b"%PDF-1.7", f"`x` is a PDF, not JSON; {KNOWN}", HELP),
        (b"\x01\x00\x02", f"`x` is binary, not JSON; {KNOWN}", HELP),
        (b"hello", f"`x` is text, but neither JSON nor JSON lines; {KNOWN}", HELP),
        (
            PLAIN[:-9],
            "`x`: the JSON is cut off: it ends before it is complete (at byte 60)",
            WHOLE,
        ),
        (
            b'{"a":1}',
            f"`x` is JSON with the keys `a`, which is no recording that is known; {KNOWN}",
            BODIES,
        ),
        (b"[" * 100_000, "`x`: nested too deeply to be read (at byte 0)", WHOLE),
        (gzip.compress(PLAIN, mtime=0)[:-9], "`x` is gzip that is cut off; copy it again", HELP),
    ],
    ids=["empty", "PDF", "binary", "text", "cut", "unknown", "deep", "gzip"],
)
def test_what_cannot_be_understood_is_told(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str], data: bytes, error: str, hint: str
) -> None:
    """It says what the file is, where reading stopped, and what to do; exit code 1."""
    (tmp_path / "x").write_bytes(data)

    ran = run_on(trimtab, command, tmp_path / "x")

    assert ran == Ran(1, "", f"error: {error}\n{hint}\n")


@commands
def test_what_is_not_there_is_told(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str]
) -> None:
    """A missing file, a folder, and what the system does not hand out are wrong usage."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    told = {
        file: run_on(trimtab, command, file)
        for file in (str(tmp_path / "no"), str(tmp_path), str(loop), "a\0b")
    }

    assert told == {
        f"{tmp_path}/no": Ran(
            2,
            "",
            f"error: there is no file `{tmp_path}/no`\nhint: name a file, or - for standard input\n",
        ),
        f"{tmp_path}": Ran(2, "", f"error: `{tmp_path}` is a folder\nhint: name a file in it\n"),
        f"{loop}": Ran(
            2, "", f"error: `{loop}` cannot be read: Too many levels of symbolic links\n"
        ),
        "a\0b": Ran(2, "", "error: `a�b` cannot be read: embedded null byte\n"),
    }


@commands
@pytest.mark.parametrize("data", [PLAIN, ORPHAN, SESSION, CHAT_LIST, b"", b"hello"])
def test_the_input_is_never_changed(
    trimtab: Trimtab, tmp_path: Path, command: Sequence[str], data: bytes
) -> None:
    """No command writes to what it reads, or leaves anything beside it."""
    file = tmp_path / "input"
    file.write_bytes(data)
    before = file.stat()

    run_on(trimtab, command, file)

    after = file.stat()
    assert file.read_bytes() == data
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert list(tmp_path.iterdir()) == [file]


def test_a_name_does_not_steer_the_terminal(trimtab: Trimtab, tmp_path: Path) -> None:
    """A file may be called anything."""
    file = tmp_path / "[bold]\x1b[31m:smile:\n.json"
    file.write_bytes(chat(said("user", "hi")))

    fine, wrong = trimtab("check", file), trimtab("check", f"{file}.no")

    assert fine.lines[0] == "[bold]�[31m:smile: .json"
    assert f"error: there is no file `{tmp_path}/[bold]�[31m:smile: .json.no`\n" in wrong.err
    assert json.loads(trimtab("check", file, "--json").out)["session"] == file.name
