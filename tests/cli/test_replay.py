"""``trimtab replay``."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from tests.cli.bodies import CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, THINKING, chat, said
from tests.cli.running import Ran, Trimtab, on_terminal, visible
from trimtab import Outcome
from trimtab.cli import replay
from trimtab.replay.driver import ReplayedRequest, Totals

GROWING = b"\n".join(
    chat(
        said("user", "Why does it fail?"),
        *(
            message
            for number in range(rounds)
            for message in (
                said("assistant", f"{number}: " + "Because of what I said before. " * 8),
                said("user", f"And {number}?"),
            )
        ),
    )
    for rounds in range(8)
)
"""Eight requests of a session, one a line."""

OTHER = GROWING.splitlines()[1] + b"\n" + chat(said("user", "Name this."), model="gpt-4o")
"""A session that grows no further; then the client asks something else."""

REPORT = """\
2 sessions, 10 requests
limit: 300 tokens, counted by o200k_base (exact)

                                        tokens   tokens           peak of
session            requests   changed     came     sent   saved     limit
─────────────────────────────────────────────────────────────────────────
growing.jsonl             8         3    2,084    1,157     44%       99%
other.jsonl               2         0       93       93      0%       28%
in all                   10         3    2,177    1,250     43%       99%

                                  over   invalid   invalid
session            compactions   limit      came      sent
─────────────────────────────────────────────────────────────
growing.jsonl                1       0         0         0
other.jsonl                  0       0         0         0
in all                       1       0         0         0

session            breaks   causes
────────────────────────────────────────────────────────────
growing.jsonl           1   compaction 1
other.jsonl             1   new conversation 1
in all                  2   compaction 1, new conversation 1

valid: no request that came in valid would be sent invalid
"""
"""Without the times, which stand at the right of the second table."""


def write(folder: Path, **contents: bytes) -> Path:
    """Write files; an underscore in a name stands for the dot."""
    for name, data in contents.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


def timeless(told: str) -> str:
    """A report without the columns of times, which differ from run to run."""
    lines = told.splitlines()
    start = next(place for place, line in enumerate(lines) if line.endswith("ms"))
    stop = lines.index("", start)
    width = lines[start].index("ms") - len("medi")
    cut = [line[:width].rstrip() for line in lines[start:stop]]
    return "".join(f"{line}\n" for line in (*lines[:start], *cut, *lines[stop:]))


def test_it_shows_what_would_have_been_sent(trimtab: Trimtab, tmp_path: Path) -> None:
    """Sizes, what was done, breaks with their causes, and a verdict; of each session and in all."""
    write(tmp_path, growing_jsonl=GROWING, other_jsonl=OTHER)

    ran = trimtab("replay", tmp_path, "--budget", 300)

    assert Ran(ran.code, timeless(ran.out), ran.err) == Ran(0, REPORT)
    (header,) = (line for line in ran.lines if "compactions" in line)
    median, most = ran.lines[ran.lines.index(header) + 2].split()[-2:]
    assert header.endswith("   median   most")
    assert int(median.replace(",", "")) <= int(most.replace(",", ""))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "growing.jsonl": GROWING,
        "other.jsonl": OTHER,
    }


def test_one_session_needs_no_sum(trimtab: Trimtab, tmp_path: Path) -> None:
    """What stands in one line is not said again below it."""
    write(tmp_path, growing_jsonl=GROWING)

    ran = trimtab("replay", tmp_path / "growing.jsonl", "--budget", 300)

    assert ran.lines[0] == "1 session, 8 requests"
    assert "in all" not in ran.out


def test_without_breaks_no_table_of_them_is_shown(trimtab: Trimtab, tmp_path: Path) -> None:
    """A session that fits is told in two tables; without a budget, the model's window counts."""
    write(tmp_path, growing_jsonl=GROWING)

    ran = trimtab("replay", tmp_path)

    assert ran.lines[1] == ("limit: that of each model's window, counted by o200k_base (exact)")
    assert "causes" not in ran.out
    assert ran.lines[-1] == "valid: no request that came in valid would be sent invalid"


def test_json_tells_the_same(trimtab: Trimtab, tmp_path: Path) -> None:
    """Every figure of the report, for each session and in all."""
    write(tmp_path, growing_jsonl=GROWING, other_jsonl=OTHER)

    told = trimtab("replay", tmp_path, "--budget", 300, "--json").json

    for figures in (*told["sessions"], told["total"]):
        assert figures.pop("rewrite_median_ms") <= figures.pop("rewrite_most_ms")
    growing, other = told.pop("sessions")
    total = told.pop("total")
    assert told == {"budget": 300, "skipped": []}
    assert growing == {
        "file": str(tmp_path / "growing.jsonl"),
        "kind": "request-bodies",
        "session": "growing.jsonl",
        "unrecorded": [],
        "notes": [],
        "requests": 8,
        "tokens_before": 2_084,
        "tokens_after": 1_157,
        "peak": 296,
        "peak_limit": 300,
        "changed": 3,
        "compactions": 1,
        "breaks": 1,
        "breaks_by_cause": {"compaction": 1},
        "unmet": 0,
        "unsatisfiable": 0,
        "invalid_before": 0,
        "invalid_after": 0,
        "made_invalid": 0,
        "counters": ["o200k_base (exact)"],
        "left_out": [],
    }
    assert (other["requests"], other["breaks_by_cause"]) == (2, {"new_conversation": 1})
    assert total == {
        key: growing[key] + other[key]
        if isinstance(growing[key], int) and not key.startswith("peak")
        else growing[key]
        for key in total
    } | {"breaks_by_cause": {"compaction": 1, "new_conversation": 1}}


def test_requests_over_their_limit_and_invalid_ones_are_counted(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """What cannot fit, and what came in broken and is mended."""
    write(tmp_path, long_json=LONG, orphan_json=ORPHAN)

    told = trimtab("replay", tmp_path, "--budget", 100, "--json")

    long, orphan = told.json["sessions"]
    assert told.code == 0
    assert (long["unsatisfiable"], long["unmet"], long["invalid_before"]) == (1, 0, 0)
    assert (orphan["unsatisfiable"], orphan["invalid_before"], orphan["invalid_after"]) == (0, 1, 0)


# ------------------------------------------------------------------ what is read


def test_notes_say_what_was_skipped_and_guessed(trimtab: Trimtab, tmp_path: Path) -> None:
    """Counts alone of what lies in a folder, the reason of what was named."""
    (tmp_path / "logs").mkdir()
    write(tmp_path / "logs", a_md=b"# no", b_md=b"# no", log_jsonl=SESSION, list_json=CHAT_LIST)
    write(tmp_path, named_txt=b"")

    ran = trimtab("replay", tmp_path / "logs", tmp_path / "named.txt", "--budget", 9_000)

    assert ran.code == 0
    assert ran.err.splitlines() == [
        "note: `named.txt` is empty: there is nothing to read",
        "note: skipped 2 files without a recording that is known; --json says why",
        (
            "note: recordings do not hold these, so their tokens are not counted: "
            "max_tokens, model, system, tools"
        ),
        "note: in 1 session something was skipped or had to be guessed; --json says what",
    ]
    told = trimtab("replay", tmp_path / "logs", "--json").json
    assert [
        (Path(skipped["file"]).name, skipped["reason"][:18]) for skipped in told["skipped"]
    ] == [
        ("a.md", "`a.md` is text, bu"),
        ("b.md", "`b.md` is text, bu"),
    ]


def test_what_has_no_known_window_is_left_out_with_a_hint(trimtab: Trimtab, tmp_path: Path) -> None:
    """The others still run; with a budget it runs too."""
    write(tmp_path, list_json=CHAT_LIST, plain_json=PLAIN)

    ran = trimtab("replay", tmp_path)

    assert ran.code == 0
    assert ran.lines[0] == "2 sessions, 1 request, 4 left out"
    left_out = ran.out[ran.out.index("left out   why") :]
    assert " ".join(left_out.split()).endswith(
        "list.json 4 the window of 'unknown' is not known: name the tokens that a request must "
        "not pass, or install trimtab[prices], which knows many models "
        "hint: --budget N names what no request may pass "
        "valid: no request that came in valid would be sent invalid"
    )
    assert "left out" not in trimtab("replay", tmp_path, "--budget", 9_000).out


BEDROCK = b"""interactions:
- request:
    body: '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}'
    headers: {}
    method: POST
    uri: https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse
  response:
    body:
      string: '{}'
    headers: {}
    status:
      code: 200
      message: OK
version: 1
"""
"""A recorded exchange in a format that is not known."""


def test_a_body_that_cannot_be_replayed_is_left_out(trimtab: Trimtab, tmp_path: Path) -> None:
    """Where no budget would help, none is hinted at."""
    write(tmp_path, other_yaml=BEDROCK, plain_json=PLAIN)

    ran = trimtab("replay", tmp_path)

    assert (ran.code, ran.lines[0]) == (0, "2 sessions, 1 request, 1 left out")
    assert "hint" not in ran.out


def test_where_all_is_left_out_nothing_was_replayed(trimtab: Trimtab, tmp_path: Path) -> None:
    """Exit code 1, in the report and in JSON, and no empty tables."""
    write(tmp_path, list_json=CHAT_LIST)

    ran, told = trimtab("replay", tmp_path), trimtab("replay", tmp_path, "--json")

    assert (ran.code, told.code) == (1, 1)
    assert ran.lines[:2] == [
        "1 session, 0 requests, 4 left out",
        "limit: that of each model's window",
    ]
    assert ran.lines[-1] == "nothing was replayed"
    assert "compactions" not in ran.out
    assert told.json["total"]["requests"] == 0


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            (),
            "no recording is named",
            "name files or folders; session stores of agents are not looked for yet",
        ),
        (("plain.json", "gone"), "there is no file or folder `gone`", "name one that is there"),
        (("plain.json", "--budget", "0"), 'Invalid value "0" for --budget. Must be >= 1.', ""),
        (("--nope",), "Unknown option: --nope.", ""),
    ],
)
def test_wrong_usage_is_told_before_anything_is_read(
    trimtab: Trimtab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
    hint: str,
) -> None:
    """Exit code 2, nothing on standard output, and what to do."""
    monkeypatch.chdir(write(tmp_path, plain_json=PLAIN))

    ran = trimtab("replay", *arguments)

    told = hint or "trimtab --help, or trimtab COMMAND --help, shows what there is"
    assert ran == Ran(2, "", f"error: {message}\nhint: {told}\n")


@pytest.mark.parametrize(
    ("contents", "message", "hint"),
    [
        (
            {"a_md": b""},
            "`a.md` is empty: there is nothing to read",
            "trimtab --help says what can be read",
        ),
        (
            {"a_md": b"", "b_md": b""},
            "none of the 2 files holds a recording that is known",
            "trimtab inspect FILE says what each is",
        ),
        (
            {"_git": b""},
            "there is no file to read, hidden ones aside",
            "trimtab --help says what can be read",
        ),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["report", "json"])
def test_where_nothing_can_be_read_that_is_an_error(
    trimtab: Trimtab,
    tmp_path: Path,
    more: tuple[str, ...],
    contents: dict[str, bytes],
    message: str,
    hint: str,
) -> None:
    """Exit code 1, and nothing on standard output."""
    write(tmp_path, **contents)

    assert trimtab("replay", tmp_path, *more) == Ran(1, "", f"error: {message}\nhint: {hint}\n")


def test_a_file_that_the_system_refuses_is_told(trimtab: Trimtab) -> None:
    """With the system's reason."""
    ran = trimtab("replay", "/proc/self/mem")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: `mem` cannot be read: Input/output error\n")


@pytest.mark.parametrize("data", [PLAIN, LONG, THINKING, SESSION, CHAT_LIST, GROWING])
def test_a_file_that_is_cut_off_anywhere_is_told(
    trimtab: Trimtab, tmp_path: Path, data: bytes
) -> None:
    """Wherever a file ends too early, it is a report or an error, never a traceback."""
    for length in range(0, len(data), max(1, len(data) // 20)):
        write(tmp_path, input=data[:length])

        ran = trimtab("replay", tmp_path, "--budget", 300)

        assert ran.code in (0, 1)
        assert (ran.out == "") == ran.err.startswith("error: `input`")


# ------------------------------------------------------------------- how it looks


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_how_far_it_has_come_and_a_report_that_fits(
    tmp_path: Path, columns: int
) -> None:
    """The bar is gone in the end, and no line is wider than the screen."""
    name = "a-session-with-a-very-long-name-" + "0123456789" * 5 + ".jsonl"
    (tmp_path / name).write_bytes(GROWING)
    write(tmp_path, log_jsonl=sidechains(), other_jsonl=OTHER)

    ran = on_terminal("replay", tmp_path, "--budget", "300", columns=columns)

    lines = visible(ran.out)
    assert ran.code == 0
    assert max(map(len, lines)) <= columns
    assert "reading" in ran.out
    assert not any("reading" in line or "file 1" in line for line in lines)
    assert lines[-1].startswith("valid: ")


def sidechains() -> bytes:
    """A log with a sub-agent, which is a session of its own."""
    side = [
        json.dumps({
            **json.loads(line),
            "uuid": f"side-{number}",
            "parentUuid": None if number == 0 else f"side-{number - 1}",
            "isSidechain": True,
            "agentId": "helper",
            "message": {**json.loads(line)["message"], "id": f"side-{number}"},
        })
        for number, line in enumerate(SESSION.splitlines()[:2])
    ]  # fmt: skip
    return SESSION + b"\n" + "\n".join(side).encode()


@pytest.mark.parametrize(
    ("step", "words", "files_done"),
    [
        (replay._Step(0, 1), "reading", 0.0),
        (replay._Step(2, 13), "file 3 of 13, reading", 2.0),
        (replay._Step(0, 1, 0, 1, 3, 4), "request 3 of 4", 0.75),
        (replay._Step(0, 1, 1, 2, 1, 2), "session 2 of 2, request 1 of 2", 0.75),
        (replay._Step(2, 13, 1, 2, 2, 2), "file 3 of 13, session 2 of 2, request 2 of 2", 3.0),
    ],
)
def test_progress_counts_only_what_there_is_more_than_one_of(
    step: replay._Step, words: str, files_done: float
) -> None:
    """One bar goes over all files, in steps of a request."""
    assert (step.words, step.files_done) == (words, files_done)


def sent(outcome: Outcome, *, is_valid: bool = True) -> ReplayedRequest:
    """A request that was valid and made smaller."""
    return ReplayedRequest(
        outcome=outcome,
        counter="o200k_base (exact)",
        is_changed=True,
        is_compacted=True,
        breaks=(),
        is_valid_before=True,
        is_valid_after=is_valid,
        rewrite_seconds=0.001,
    )


@pytest.mark.parametrize(
    ("tokens", "figures"),
    [
        (9_999_999, ["9,999,999", "40"]),
        (10_000_000, ["10,000", "0"]),
        (98_765_432_100, ["98,765,432", "0"]),
    ],
)
def test_many_tokens_are_told_in_thousands(tokens: int, figures: list[str]) -> None:
    """So that the table fits a narrow screen however much was replayed."""
    totals = Totals.of([sent(Outcome("fits", 100_000, tokens, 40))])
    stream = io.StringIO()

    replay._show_tokens(Console(file=stream, width=80), [("it", totals)] * 2, totals)

    units, titles, rule, *rows = stream.getvalue().splitlines()
    is_exact = tokens < 10_000_000
    assert units.split() == (["tokens"] * 2 if is_exact else ["k", "tokens"] * 2) + ["peak", "of"]
    assert titles.split()[:5] == ["session", "requests", "changed", "came", "sent"]
    assert [row.split()[-4:-2] for row in rows[:3]] == [figures] * 3
    assert len(rule) <= 80


def test_a_request_that_trimtab_breaks_is_an_alarm() -> None:
    """No input is known that does it; if one is found, the exit code and the last line say so."""
    broken = sent(Outcome("fits", 100, 120, 40), is_valid=False)
    totals = Totals.of([broken])
    stream = io.StringIO()

    replay._show_verdict(Console(file=stream), totals)

    assert replay._code(totals) == 1
    assert stream.getvalue() == ("not valid: 1 request came in valid and would be sent invalid\n")
