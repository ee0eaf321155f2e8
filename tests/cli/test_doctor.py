"""``trimtab doctor``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bodies import BILLED, CHAT_LIST, SESSION, chat, said
from tests.cli.running import Ran, Trimtab, on_terminal, visible
from trimtab.replay.prefixes import ADVICE, MEANING

RULES = "Answer in the language of the question. " * 400


def talk(prompts: list[str]) -> bytes:
    """A session of OpenAI chat requests: each has one exchange more, and a system prompt of its own."""
    lines = []
    for rounds, prompt in enumerate(prompts):
        said_so_far = [
            message
            for number in range(rounds)
            for message in (
                said("user", f"Question {number}?"),
                said("assistant", f"Answer {number}."),
            )
        ]
        last = said("user", f"Question {rounds}?")
        lines.append(chat(said("system", prompt), *said_so_far, last, model="nobody-knows-1"))
    return b"\n".join(lines)


DATED = talk([f"It is 12:0{minute}. {RULES}" for minute in range(3)])
CLEAN = talk([RULES] * 3)

REPORT = """\
1 session, 3 requests

dated.jsonl  request-bodies, 3 requests
       tokens                                              paid
turn     kept   share   where                 cause       again      cost
─────────────────────────────────────────────────────────────────────────
   2        3     <1%   messages[0].content   timestamp   3,220   unknown
   3        3     <1%   messages[0].content   timestamp   3,236   unknown

timestamp, 2 times: a time or a date in it moves on
  first  turn 2
  at     messages[0].content, byte 82 of the body
  was    It is 12:00. Answer in the language of the question. Answer…
  is     It is 12:01. Answer in the language of the question. Answer…
  do     tell the time in the newest user message, or let the model ask a tool for it

2 breaks that matter: 6,456 tokens paid again, at unknown prices
"""


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write a file."""
    (folder / name).write_bytes(data)
    return folder / name


def test_it_shows_where_the_cache_was_lost_and_why(trimtab: Trimtab, tmp_path: Path) -> None:
    """Turn, what is kept, where, cause and cost; then what the cause means and what to do."""
    ran = trimtab("doctor", write(tmp_path, "dated.jsonl", DATED))

    assert ran == Ran(1, REPORT)


def test_a_session_without_breaks_is_healthy(trimtab: Trimtab, tmp_path: Path) -> None:
    """The exit code says so too."""
    ran = trimtab("doctor", write(tmp_path, "clean.jsonl", CLEAN))

    assert ran == Ran(0, "1 session, 3 requests\n\nhealthy: no break that matters\n")


def test_breaks_that_cost_nothing_are_no_failure(trimtab: Trimtab, tmp_path: Path) -> None:
    """They are shown, with the reason why they do not matter."""
    short = DATED.replace(RULES.encode(), b"Be brief.")

    ran = trimtab("doctor", write(tmp_path, "short.jsonl", short))

    assert ran.code == 0
    assert ran.out.count("too short") == 2
    assert ran.lines[-1] == "healthy: no break that matters (2 breaks that cost nothing)"


def test_a_folder_is_looked_through(trimtab: Trimtab, tmp_path: Path) -> None:
    """Each session is examined on its own; one break that matters decides."""
    write(tmp_path, "a.jsonl", CLEAN)
    write(tmp_path, "b.jsonl", DATED)
    write(tmp_path, "c.txt", b"no recording")
    write(tmp_path, "d.jsonl", BILLED)

    ran = trimtab("doctor", tmp_path)

    assert ran.code == 1
    assert ran.lines[0] == "3 sessions, 10 requests"
    assert "  first  turn 2, b.jsonl" in ran.lines
    assert "note: skipped 1 file without a recording that is known; --json says why" in ran.err
    assert "note: recordings do not hold these" in ran.err


def test_a_request_without_markers_is_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """Where the provider caches only at markers, nothing is cached without one."""
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": RULES}
    lines = [
        json.dumps(
            body
            | {
                "messages": [said("user", "Hm?"), said("assistant", "Yes."), said("user", "So?")][
                    :many
                ]
            }
        )
        for many in (1, 3)
    ]

    ran = trimtab("doctor", write(tmp_path, "plain.jsonl", "\n".join(lines).encode()))

    assert ran.code == 0
    assert ran.err.startswith("note: in 1 session no marker asks the provider to cache")
    told = trimtab("doctor", tmp_path / "plain.jsonl", "--json").json
    assert [session["asks_for_cache"] for session in told["sessions"]] == [False]


def test_the_json_has_every_turn(trimtab: Trimtab, tmp_path: Path) -> None:
    """Those without a break too."""
    file = write(tmp_path, "dated.jsonl", DATED)

    ran = trimtab("doctor", file, "--json")

    assert ran.code == 1
    (session,) = ran.json["sessions"]
    assert [turn["turn"] for turn in session["turns"]] == [1, 2, 3]
    assert [turn["follows"] for turn in session["turns"]] == [None, 1, 2]
    (broken,) = session["turns"][1]["breaks"]
    assert (broken["cause"], broken["path"]) == ("timestamp", "messages[0].content")
    assert broken["cost_microusd"] is None
    assert ran.json["total"]["unpriced_tokens"] == ran.json["total"]["lost_tokens"] > 2_000


@pytest.mark.parametrize("data", [SESSION, CHAT_LIST, BILLED])
def test_every_kind_of_recording_is_read(trimtab: Trimtab, tmp_path: Path, data: bytes) -> None:
    """A session that only grows is healthy."""
    ran = trimtab("doctor", write(tmp_path, "session", data))

    assert ran.code == 0
    assert "healthy" in ran.out


def test_nothing_is_written(trimtab: Trimtab, tmp_path: Path) -> None:
    """The folder is the same afterwards."""
    file = write(tmp_path, "dated.jsonl", DATED)

    trimtab("doctor", file)

    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {file.name: DATED}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "error: no session is named"),
        (("missing.jsonl",), 2, "error: there is no file or folder `missing.jsonl`"),
        (("empty",), 1, "error: there is no file to read, hidden ones aside"),
        (("note.txt",), 1, "error: `note.txt` is text, but neither JSON nor JSON lines"),
        ((".",), 1, "error: none of the 2 files holds a recording that is known"),
    ],
)
def test_what_cannot_be_examined_is_told(
    trimtab: Trimtab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    """With what to do about it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write(tmp_path, "note.txt", b"hello")
    write(tmp_path, "other.txt", b"hello")

    ran = trimtab("doctor", *arguments)

    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(message)
    assert "\nhint: " in ran.err


def test_a_request_that_cannot_be_read_is_counted(trimtab: Trimtab, tmp_path: Path) -> None:
    """It is left out; where all of them are, that is a failure."""
    broken = b'{"model": "gpt-5", "messages": [{"role": "user", "content": "a"}'

    ran = trimtab("doctor", write(tmp_path, "cut.jsonl", CLEAN + b"\n" + broken))

    assert ran.code == 0
    assert ran.lines[-1] == "healthy: no break that matters"


def test_many_breaks_are_cut_short(trimtab: Trimtab, tmp_path: Path) -> None:
    """The screen has the first 40, the JSON all."""
    data = talk([f"It is 12:{minute:02}. {RULES}" for minute in range(44)])

    ran = trimtab("doctor", write(tmp_path, "long.jsonl", data))

    assert "and 3 more breaks; --json has all" in ran.lines
    assert "timestamp, 43 times: a time or a date in it moves on" in ran.lines


def test_on_a_terminal_it_fits_the_screen(tmp_path: Path) -> None:
    """However wide that is; progress comes and goes."""
    file = write(tmp_path, "dated.jsonl", DATED)

    for columns in (80, 100):
        ran = on_terminal("doctor", file, columns=columns)

        assert ran.code == 1
        assert max(len(line) for line in visible(ran.out)) <= columns


def test_its_help_fits_the_screen(trimtab: Trimtab) -> None:
    """It says what exit code 1 means."""
    ran = trimtab("doctor", "--help")

    assert max(len(line) for line in ran.lines) <= 80
    for word in ("SESSION", "--json", "Exit code 1: breaks that matter"):
        assert word in ran.out


def test_the_page_tells_every_cause_and_shows_what_is_printed() -> None:
    """docs/doctor.md has the causes in their words, and the report of the session above."""
    page = (Path(__file__).parent.parent.parent / "docs" / "doctor.md").read_text(encoding="utf-8")

    for cause, meaning in MEANING.items():
        assert f"| `{cause}` | {meaning} | {ADVICE[cause]} |\n" in page
    assert f"$ trimtab doctor dated.jsonl\n{REPORT}```" in page
