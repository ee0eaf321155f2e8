"""``trimtab replay --html``: the report is written whole, and never over anything else."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.cli.running import Trimtab
from tests.replay.report.pages import page_of
from tests.replay.sessions import agent
from trimtab.cli import html
from trimtab.replay.report.page import Origin, is_report


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that is compacted at 5,000 tokens."""
    file = tmp_path / "session.jsonl"
    file.write_bytes(b"\n".join(request.build() for request in agent(40)))
    return file


def test_a_report_tells_what_the_tables_tell(trimtab: Trimtab, session: Path) -> None:
    """One file, the same bytes each time, without a word of the conversation."""
    output = session.with_name("report.html")
    ran = trimtab("replay", session, "--budget", 5_000, "--policies", "mask", "--html", output)
    first = output.read_text("utf-8")
    page = page_of(first)

    assert ran.code == 0
    assert f"report written to {output}" in ran.out
    assert page.errors == []
    assert [chart["data-chart"] for chart in page.charts] == ["size", "cache", "bill"]
    assert any(words.endswith(" tokens") for words in page.texts["h5"])
    assert page.texts["code"] == [
        "trimtab replay PATH... --budget 5000 --policies mask --json",
        "trimtab replay session.jsonl --budget 5000 --policies mask --explain --json",
        "trimtab replay PATH... --budget 5000 --policies mask --json",
        "trimtab replay session.jsonl --budget 5000 --policies mask --html FILE",
    ]
    for word in ("module_1", "parser", "public names", str(session.parent)):
        assert word not in first
    trimtab("replay", session, "--budget", 5_000, "--policies", "mask", "--html", output)
    assert output.read_text("utf-8") == first


def test_a_broken_off_replay_goes_on_with_the_same_report(
    trimtab: Trimtab, session: Path, tmp_path: Path
) -> None:
    """What the journal holds is all that the report tells."""
    told = []
    for name in ("one.html", "two.html"):
        journal, output = tmp_path / "journal", tmp_path / name
        trimtab("replay", session, "--budget", 5_000, "--resume", journal, "--html", output)
        told.append(output.read_bytes())

    assert told[0] == told[1]


def test_a_report_can_go_to_standard_output(trimtab: Trimtab, session: Path) -> None:
    """Then the tables go to standard error."""
    ran = trimtab("replay", session, "--budget", 5_000, "--unroll", "--html", "-")

    assert is_report(ran.out.encode())
    assert "1 session" in ran.err
    assert "--unroll --html FILE" in ran.out


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (b"notes of mine", "is there already and is no report of trimtab"),
        (None, "is a folder"),
    ],
)
def test_nothing_else_is_ever_written_over(
    trimtab: Trimtab, session: Path, tmp_path: Path, held: bytes | None, words: str
) -> None:
    """Before any work is done."""
    output = tmp_path / "other"
    if held is None:
        output.mkdir()
    else:
        output.write_bytes(held)
    ran = trimtab("replay", session, "--html", output)

    assert ran.code == 2
    assert words in ran.err
    assert held is None or output.read_bytes() == held


def test_the_input_is_never_written_over(trimtab: Trimtab, session: Path) -> None:
    """By whatever name."""
    link = session.with_name("link.html")
    link.symlink_to(session)
    before = session.read_bytes()
    ran = trimtab("replay", session, "--html", link)

    assert ran.code == 2
    assert "is the input, which is never changed" in ran.err
    assert session.read_bytes() == before


def test_a_file_that_cannot_be_looked_at_is_not_written_over(
    trimtab: Trimtab, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows what it holds."""
    output = tmp_path / "other.html"
    output.write_bytes(b"x")
    opened = Path.open

    def refused(path: Path, mode: str = "r", *others: object) -> object:
        if path.name == output.name:
            raise PermissionError(13, "Permission denied")
        return opened(path, mode, *others)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refused)
    ran = trimtab("replay", session, "--html", output)

    assert ran.code == 2
    assert "cannot be read: Permission denied" in ran.err


def test_an_empty_file_may_be_written_to(trimtab: Trimtab, session: Path, tmp_path: Path) -> None:
    """Somebody made it for this."""
    output = tmp_path / "report.html"
    output.touch()

    assert trimtab("replay", session, "--budget", 5_000, "--html", output).code == 0
    assert is_report(output.read_bytes())


def test_two_things_cannot_go_to_standard_output(trimtab: Trimtab, session: Path) -> None:
    """One of them needs a file."""
    ran = trimtab("replay", session, "--json", "--html", "-")

    assert ran.code == 2
    assert "both write to standard output" in ran.err


def test_prices_of_the_user_are_told_as_theirs(
    trimtab: Trimtab, session: Path, tmp_path: Path
) -> None:
    """With the option that names them, without its folder."""
    prices, output = tmp_path / "mine.json", tmp_path / "report.html"
    prices.write_text('{"claude-sonnet-4-5": {"fresh": 1.0, "read": 0.1, "output": 5.0}}')
    trimtab("replay", session, "--prices", prices, "--html", output)
    page = page_of(output.read_text("utf-8"))

    assert "yours" in page.texts["td"]
    assert page.texts["code"][-1] == "trimtab replay session.jsonl --prices mine.json --html FILE"


def test_what_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may be used without being installed, and prices are an extra."""
    monkeypatch.setattr(html, "version", _missing)

    assert html.origin_of([], []) == Origin("", "trimtab replay --html FILE", "")


def _missing(name: str) -> str:
    raise PackageNotFoundError(name)
