"""Many files on all cores, and a run that goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.replay.sessions import agent
from trimtab.economy import Prices
from trimtab.replay import crew
from trimtab.replay.crew import Found, Settings, replay_files
from trimtab.replay.files import load
from trimtab.replay.homes import homes_in
from trimtab.replay.unrolled import unrolled

SETTINGS = Settings(budget=5_000)


def write(folder: Path, *names: str, turns: int = 20) -> list[Path]:
    """Sessions as JSON lines of bodies."""
    lines = b"\n".join(request.build() for request in agent(turns))
    files = [folder / name for name in names]
    for place, file in enumerate(files):
        file.write_bytes(lines.replace(b"Mend", b"Mend %d" % place))
    return files


def timeless(found: list[Found]) -> list[tuple[str, str, list[object]]]:
    """What came of files, without times, in order."""
    return sorted(
        (each.file.name, each.skipped, [session.result for session in each.sessions])
        for each in found
    )


def test_several_processes_find_what_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File by file, whoever does it; what is no recording is told."""
    files = write(tmp_path, "a.jsonl", "b.jsonl", "c.jsonl")
    (tmp_path / "d.md").write_bytes(b"# no")
    files += [tmp_path / "d.md", tmp_path / "gone"]

    one = list(replay_files(files, SETTINGS))
    monkeypatch.setattr(crew, "_INLINE_BYTES", 0)
    two = list(replay_files(files, SETTINGS, workers=2))

    assert timeless(one) == timeless(two)
    assert [bool(each.skipped) for each in one] == [False] * 3 + [True] * 2
    assert one[4].skipped == "`gone` cannot be read: No such file or directory"


def test_progress_is_told_request_by_request(tmp_path: Path) -> None:
    """Of the file at hand."""
    (file,) = write(tmp_path, "a.jsonl", turns=2)
    told: list[tuple[Path, int, int, int, int]] = []

    list(replay_files([file], SETTINGS, tell=lambda *step: told.append(step)))

    assert told == [(file, 0, 1, done, 3) for done in range(4)]


def test_a_journal_holds_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that has not changed is not replayed again; what came of it is the same, to the number."""
    files = write(tmp_path, "a.jsonl", "b.jsonl")
    (tmp_path / "c.md").write_bytes(b"# no")
    files.append(tmp_path / "c.md")
    journal = tmp_path / "journal"
    first = list(replay_files(files, SETTINGS, journal=journal))

    monkeypatch.setattr(crew, "bench", None)
    assert list(replay_files(files, SETTINGS, journal=journal)) == first


def test_a_journal_that_is_torn_costs_what_is_torn(tmp_path: Path) -> None:
    """Every whole line counts."""
    files = write(tmp_path, "a.jsonl", "b.jsonl")
    journal = tmp_path / "journal"
    first = timeless(list(replay_files(files, SETTINGS, journal=journal)))
    whole = journal.read_bytes()
    lines = whole.splitlines()

    for torn in (whole[: len(whole) - 40], b"\n".join([b"[]", b'{"key": 1}', *lines, b"{"])):
        journal.write_bytes(torn)
        assert timeless(list(replay_files(files, SETTINGS, journal=journal))) == first


@pytest.mark.parametrize(
    "settings",
    [
        Settings(budget=6_000),
        Settings(5_000, ("mask",)),
        Settings(5_000, is_unrolled=True),
        Settings(5_000, is_advised=True),
        Settings(5_000, prices={"m": Prices(1.0, 1.0)}),
    ],
)
def test_other_settings_are_another_question(tmp_path: Path, settings: Settings) -> None:
    """And so is a file that has changed."""
    (file,) = write(tmp_path, "a.jsonl")

    assert settings.key(file) != SETTINGS.key(file) == Settings(budget=5_000).key(file)
    before = SETTINGS.key(file)
    write(tmp_path, "a.jsonl", turns=3)
    assert SETTINGS.key(file) != before


def test_what_is_no_result_is_replayed_again(tmp_path: Path) -> None:
    """A journal of another version of the program has other fields."""
    (file,) = write(tmp_path, "a.jsonl", turns=2)
    journal = tmp_path / "journal"
    entry = {"key": SETTINGS.key(file), "skipped": "", "sessions": [{"result": {}, "report": {}}]}
    journal.write_text(json.dumps(entry))

    (found,) = replay_files([file], SETTINGS, journal=journal)

    assert len(found.sessions) == 1


def test_what_is_not_there_is_not_noted(tmp_path: Path) -> None:
    """There is nothing to know it by the next time."""
    journal = tmp_path / "journal"

    (found,) = replay_files([tmp_path / "gone"], SETTINGS, journal=journal)

    assert found.skipped
    assert not journal.exists()


def test_only_what_can_be_listed_is_written_down() -> None:
    """Anything else would be read back as something else."""
    with pytest.raises(TypeError, match="object cannot be written down"):
        crew._listed(object())


# ------------------------------------------------------------- session stores


def test_session_stores_are_found_where_agents_keep_them(tmp_path: Path) -> None:
    """Those that are there, and where a variable says."""
    for folder in (".claude/projects", ".gemini/tmp", "moved/sessions", ".codex/sessions"):
        (tmp_path / folder).mkdir(parents=True)

    assert homes_in(tmp_path, {"CODEX_HOME": str(tmp_path / "moved")}) == [
        ("Claude Code", tmp_path / ".claude" / "projects"),
        ("Codex", tmp_path / "moved" / "sessions"),
        ("Gemini CLI", tmp_path / ".gemini" / "tmp"),
    ]
    assert homes_in(tmp_path / "nobody", {}) == []


# ------------------------------------------------------------------ unrolling


def test_a_body_is_the_last_request_of_its_session() -> None:
    """Those before it are what was sent then."""
    requests = agent(4)
    (recording,) = load(requests[-1].build(), "it")

    session = unrolled(recording)

    assert [json.loads(request.build())["messages"] for request in session.requests] == [
        json.loads(request.build())["messages"] for request in requests
    ]
    assert [request.message_count for request in session.requests] == [1, 3, 5, 7, 9]
    assert unrolled(session) is session


def test_what_cannot_be_read_stays_as_it_is() -> None:
    """The replay says why."""
    (recording,) = load(agent(0)[0].build(), "it")
    (only,) = unrolled(recording).requests
    assert only.build() == recording.requests[0].build()

    broken = replace(recording, requests=(replace(only, build=lambda: b"{}"),))
    assert unrolled(broken) is broken
