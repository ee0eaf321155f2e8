"""The commands together: options, exit codes, and that nothing ever ends in a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.bodies import BROKEN, CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, THINKING
from tests.cli.running import SCRIPT, Ran, Trimtab
from trimtab.cli import app
from trimtab.wire import FORMATS

COMMANDS: list[tuple[str, ...]] = [("check",), ("inspect",), ("compact", "--budget", "300")]


def test_alone_it_explains_itself(trimtab: Trimtab) -> None:
    """Without arguments it prints its help, which names every command and what exit codes mean."""
    ran = trimtab()

    assert ran == trimtab("--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[0] == "Usage: trimtab COMMAND"
    for word in ("check", "compact", "inspect", "--version", "Exit codes: 0 fine; 1 the input"):
        assert word in ran.out


@pytest.mark.parametrize("command", ["check", "inspect", "compact"])
def test_each_command_explains_itself(trimtab: Trimtab, command: str) -> None:
    """Its help names its options, and fits the screen."""
    ran = trimtab(command, "--help")

    assert (ran.code, ran.err) == (0, "")
    assert max(len(line) for line in ran.lines) <= 80
    for word in ("FILE", "--request", "--format", "--json", "anthropic", "openai-chat"):
        assert word in ran.out


def test_every_format_can_be_named() -> None:
    """The choices of --format are the formats that are known."""
    annotated, _ = get_args(get_args(app.WireFormat)[0])

    assert get_args(annotated) == tuple(known.name for known in FORMATS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("inspect",), 'Command "inspect" parameter FILE requires an argument.'),
        (("chek", "x"), 'Unknown command "chek". Did you mean "check"?'),
        (("check", "a", "b"), "Unused Tokens: ['b']."),
        (("check", "a", "--nope"), "Unknown option: --nope."),
        (("check", "--nope"), 'Invalid value "--nope" for FILE. There is no such option.'),
        (("check", "a", "--request", "x"), 'unable to convert "x" into int'),
        (("check", "a", "--format", "bedrock"), 'Invalid value "bedrock" for --format.'),
        (("check", "a", "--format", "bedrock"), 'Choose from: "anthropic", "openai-chat"'),
        (("compact", "a"), 'Command "compact" parameter --budget requires an argument.'),
    ],
)
def test_wrong_usage_is_told(trimtab: Trimtab, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2, the option by its name, and where to look; nothing on standard output."""
    ran = trimtab(*arguments)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert ran.err.endswith(
        "hint: trimtab --help, or trimtab COMMAND --help, shows what there is\n"
    )


INPUTS = {
    "plain": PLAIN,
    "long": LONG,
    "orphan": ORPHAN,
    "broken": BROKEN,
    "thinking": THINKING,
    "list": CHAT_LIST,
    "session": SESSION,
    "lines": PLAIN + b"\n" + LONG,
}


def assert_settled(trimtab: Trimtab, file: Path, data: bytes) -> None:
    """Every command ends with a report, or with an error that says what is wrong."""
    file.write_bytes(data)
    for command in COMMANDS:
        ran = trimtab(command[0], file, *command[1:])

        if ran.out:
            assert ran.code in (0, 1)
            assert "error: " not in ran.err
        else:
            assert ran.code == 1
            assert ran.err.startswith("error: `input`")
            assert "\nhint: " in ran.err


@pytest.mark.parametrize("name", INPUTS)
def test_a_file_that_is_cut_off_anywhere_is_told(
    trimtab: Trimtab, tmp_path: Path, name: str
) -> None:
    """Wherever a file ends too early, it is a report or an error, never a traceback."""
    data = INPUTS[name]

    for length in range(0, len(data), max(1, len(data) // 40)):
        assert_settled(trimtab, tmp_path / "input", data[:length])


@pytest.mark.parametrize("name", INPUTS)
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.data())
def test_a_file_that_is_damaged_anywhere_is_told(
    trimtab: Trimtab, tmp_path: Path, name: str, data: st.DataObject
) -> None:
    """Bytes that were replaced, by whatever, make a report or an error."""
    whole = INPUTS[name]
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 40)))
    new = data.draw(
        st.binary(max_size=12)
        | st.sampled_from(
            [b"null", b"[]", b"{}", b"1e999", b'"\\ud800"', b"NaN", b"\n", b'"', b"-1"]
        )
    )

    assert_settled(trimtab, tmp_path / "input", whole[:start] + new + whole[stop:])


@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.binary(max_size=300))
def test_any_bytes_are_told(trimtab: Trimtab, tmp_path: Path, data: bytes) -> None:
    """Whatever a file holds, it is a report or an error."""
    assert_settled(trimtab, tmp_path / "input", data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "messages",
                    "type",
                    "text",
                    "tools",
                    "model",
                    "id",
                    "tool_calls",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(
    max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.dictionaries(st.sampled_from(["model", "system", "tools", "max_tokens"]), JSON),
    st.lists(JSON),
)
def test_any_json_in_place_of_messages_is_told(
    trimtab: Trimtab, tmp_path: Path, envelope: dict[str, object], messages: list[object]
) -> None:
    """A body whose members are of any shape is a report or an error."""
    body = json.dumps({**envelope, "messages": messages})

    assert_settled(trimtab, tmp_path / "input", body.encode("utf-8", "surrogatepass"))


# ------------------------------------------------------------- where output goes


@pytest.fixture
def long(tmp_path: Path) -> str:
    """A request that takes more than one write to show."""
    (tmp_path / "long.json").write_bytes(LONG)
    return str(tmp_path / "long.json")


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["report", "json"])
def test_a_reader_that_has_seen_enough_stops_it_quietly(
    capfd: pytest.CaptureFixture[str], long: str, more: tuple[str, ...]
) -> None:
    """``trimtab inspect FILE | head -1`` ends without a word."""
    reader, writer = os.pipe()
    os.close(reader)

    with open(writer, "w", encoding="utf-8") as pipe, redirect_stdout(pipe):  # noqa: PTH123 - a number, no path
        code = app.run(["inspect", long, *more])

    assert (code, capfd.readouterr()) == (1, ("", ""))


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["report", "json"])
def test_a_full_disk_is_told(
    capfd: pytest.CaptureFixture[str], long: str, more: tuple[str, ...]
) -> None:
    """What cannot be written to standard output is an error with the system's reason."""
    with open("/dev/full", "w", encoding="utf-8", buffering=1) as full, redirect_stdout(full):  # noqa: PTH123
        code = app.run(["inspect", long, *more])
        settle(full.close)

    told = "error: the output cannot be written: No space left on device\n"
    assert (code, capfd.readouterr()) == (2, ("", told))


def settle(close: Callable[[], None]) -> None:
    """Close a stream whose buffer can be written nowhere."""
    with suppress(OSError):
        close()


def test_an_interrupt_stops_it_quietly(tmp_path: Path) -> None:
    """Ctrl-C ends it without a word, with the code that shells use."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [SCRIPT, "check", pipe],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background may ignore interrupts; what he starts inherits that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    with pipe.open("wb"):  # it has opened the other end, and waits
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (130, b"", b"")


def test_a_run_leaves_nothing_behind_for_the_next(trimtab: Trimtab, tmp_path: Path) -> None:
    """Commands can be run one after the other in a process."""
    for name, data in INPUTS.items():
        (tmp_path / name).write_bytes(data)

    def all_of_them() -> list[Ran]:
        return [
            trimtab(command[0], tmp_path / name, *command[1:])
            for command in COMMANDS
            for name in INPUTS
        ]

    assert all_of_them() == all_of_them()
