"""Writing a body: whole or not at all, and never over the input."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.bodies import LONG, PLAIN
from tests.cli.running import Ran, Trimtab, standard_input


def compact(trimtab: Trimtab, file: str | Path, output: str | Path) -> Ran:
    """Write a request that fits as it is."""
    return trimtab("compact", file, "--budget", 9_999, "-o", output)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An input, in a folder of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "plain.json").write_bytes(PLAIN)
    return tmp_path / "in" / "plain.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where outputs go."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_an_old_output_is_replaced_in_one_step(trimtab: Trimtab, file: Path, folder: Path) -> None:
    """Whoever has the old one open goes on reading it whole, and its permissions stay."""
    output = folder / "out.json"
    output.write_bytes(b"old and longer than what is new" * 9)
    output.chmod(0o640)

    with output.open("rb") as old:
        ran = compact(trimtab, file, output)

        assert old.read() == b"old and longer than what is new" * 9
    assert (ran.code, output.read_bytes()) == (0, PLAIN)
    assert output.stat().st_mode & 0o777 == 0o640
    assert list(folder.iterdir()) == [output]


def test_a_new_output_gets_the_usual_permissions(
    trimtab: Trimtab, file: Path, folder: Path
) -> None:
    """Those that the user's mask leaves, as for any new file."""
    (folder / "usual").touch()

    compact(trimtab, file, folder / "out.json")

    assert (folder / "out.json").stat().st_mode == (folder / "usual").stat().st_mode


def test_a_link_stays_a_link(trimtab: Trimtab, file: Path, folder: Path) -> None:
    """What it leads to is written, also where that is not there yet."""
    (folder / "link").symlink_to(folder / "there.json")

    codes = [compact(trimtab, file, folder / "link").code for _ in range(2)]

    assert codes == [0, 0]
    assert (folder / "link").is_symlink()
    assert (folder / "there.json").read_bytes() == PLAIN
    assert {path.name for path in folder.iterdir()} == {"link", "there.json"}


def test_what_is_no_file_is_written_to(trimtab: Trimtab, file: Path, folder: Path) -> None:
    """A pipe or a device is not replaced by a file."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR)

    ran = compact(trimtab, file, pipe)

    assert (ran.code, os.read(reader, 9_999)) == (0, PLAIN)
    assert pipe.is_fifo()
    os.close(reader)


def test_an_output_that_cannot_be_is_refused_before_any_work(
    trimtab: Trimtab, file: Path, folder: Path
) -> None:
    """A folder, a folder that is not there, a file in place of a folder: the input need not exist."""
    missing = file.with_name("missing.json")

    assert {
        output: compact(trimtab, missing, output).err
        for output in (folder, folder / "no" / "x", file / "x")
    } == {
        folder: f"error: the output `{folder}` is a folder\nhint: name a file in it\n",
        folder / "no" / "x": (
            f"error: the output `{folder}/no/x` is in a folder that is not there\n"
            f"hint: make it first: mkdir -p {folder}/no\n"
        ),
        file / "x": (
            f"error: the output `{file}/x` is in a folder that is not there\n"
            f"hint: make it first: mkdir -p {file}\n"
        ),
    }
    assert compact(trimtab, missing, folder).code == 2


def test_an_output_that_the_system_refuses_is_told(
    trimtab: Trimtab, file: Path, folder: Path
) -> None:
    """The reason is the system's, and nothing is left behind."""
    loop = folder / "loop"
    loop.symlink_to(loop)
    name = folder / ("x" * 300)

    assert compact(trimtab, file, name) == Ran(
        2, "", f"error: the output `{name}` cannot be written: File name too long\n"
    )
    assert (compact(trimtab, file, loop).code, loop.is_symlink()) == (2, True)
    assert list(folder.iterdir()) == [loop]


def test_standard_input_is_never_written_over_either(
    trimtab: Trimtab, file: Path, folder: Path
) -> None:
    """``trimtab compact - -o x < x`` is refused; another output is not."""
    with standard_input(file):
        same = compact(trimtab, "-", file)
    with standard_input(file):
        other = compact(trimtab, "-", folder / "out.json")

    assert same == Ran(
        2,
        "",
        f"error: the output `{file}` is the input, which is never changed\nhint: name another file\n",
    )
    assert (other.code, (folder / "out.json").read_bytes()) == (0, PLAIN)
    assert file.read_bytes() == PLAIN


def test_a_file_may_stand_under_a_name_like_an_option(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its folder in front, any name is a file's."""
    monkeypatch.chdir(tmp_path)
    Path("--json").write_bytes(LONG)

    named = compact(trimtab, "./--json", "./-")
    option = compact(trimtab, "./--json", "--target")

    assert (named.code, Path("./-").read_bytes()) == (0, LONG)
    assert option.code == 2
    assert "There is no such option. A file of that name is ./--target" in option.err
