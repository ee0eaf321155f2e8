"""``trimtab replay``."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.cli.bodies import BILLED, CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, THINKING, chat, said
from tests.cli.running import Ran, Trimtab, on_terminal, visible
from trimtab import Outcome
from trimtab.cli import bills, replay
from trimtab.replay import crew
from trimtab.replay.advice import Advice
from trimtab.replay.driver import ReplayedRequest, Totals
from trimtab.replay.gate import Verdict
from trimtab.replay.policies import POLICIES

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

                                        tokens   tokens    fewer   peak of
session            requests   changed     came     sent   tokens     limit
──────────────────────────────────────────────────────────────────────────
growing.jsonl             8         3    2,084    1,157      44%       99%
other.jsonl               2         0       93       93       0%       28%
in all                   10         3    2,177    1,250      43%       99%

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

policy           cost   saved   net   at 3   at 8   at 18   cuts   missed
─────────────────────────────────────────────────────────────────────────
nothing         $0.02      0%    0%     0%     0%      0%      0        0
client          $0.02      0%    0%     0%     0%      0%      0        0
deterministic   $0.01     21%   21%   -14%   -73%   -191%      1        0

saved: in money, beside the cheaper of doing nothing and the client's own compaction; net: with what was missed fetched again; at 3, 8, 18: with so many extra exchanges after each compaction (cut)

valid: no request that came in valid would be sent invalid
"""
"""Without the times, which stand at the right of the second table."""


LAW_7 = ("nothing", "client", "deterministic")

EXPLAINED = (
    "request 6: 367 to 59 tokens, 3 in front of the first change; billed: 59 fresh at 1 (too "
    "little to be cached); without the cut: 367 fresh at 1; it saves 308 on its own turn and 31 "
    "on each later one, so it pays at once (in fresh input tokens); 5 more turns were expected, 2 came"
)

NOTHING = {
    "requests": 10, "fresh": 2_177, "cache_read": 0, "cache_write": 0, "cache_write_long": 0,
    "output": 441, "cost": 17_513, "cost_regret": 0, "units": 4_382, "units_regret": 0,
    "saved": 0, "saved_net": 0, "saved_at": {"0": 0, "3": 0, "8": 0, "18": 0}, "compactions": 0,
    "breaks": 1, "over_window": 0, "peak_tokens": 509, "regret": 0, "survived": 0, "changed": 0,
    "invalid": 0, "payback_turns": [],
}  # fmt: skip

TOTAL_MONEY = {
    "invalid": 0,
    "cost": 13_817,
    "cost_direct": 17_513,
    "cached_share": 0,
    "peak_tokens": 296,
    "prediction": {
        "requests": 0,
        "median": None,
        "p95": None,
        "large": {"first_requests": 0, "shrunk": 0, "new_messages": 0},
    },
    "cache_error": {
        "requests": 0,
        "median": None,
        "p95": None,
        "large": {"shrunk": 0, "nothing_read": 0, "less_read": 0, "more_read": 0},
    },
    "regret": 0,
    "survived": 0,
    "policies": {
        "nothing": NOTHING,
        "client": NOTHING,
        "deterministic": NOTHING
        | {
            "fresh": 1_253,
            "cost": 13_817,
            "units": 3_458,
            "saved": 2_110,
            "saved_net": 2_110,
            "saved_at": {"0": 2_110, "3": -1_420, "8": -7_303, "18": -19_071},
            "compactions": 1,
            "breaks": 2,
            "peak_tokens": 296,
            "changed": 3,
            "payback_turns": [0],
        },
    },
}
MONEY = tuple(TOTAL_MONEY)


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
    money = {key: total.pop(key) for key in MONEY}
    assert money == TOTAL_MONEY
    assert [set(each.pop("policies")) for each in (growing, other)] == [set(LAW_7)] * 2
    assert [each.pop("explained") for each in (growing, other)] == [[EXPLAINED], []]
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
        "largest": 509,
        "trigger": 300,
        "client_compactions": 0,
        "cost_recorded": None,
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
    assert ran.lines[0] == "1 session, 1 request; left out: 1 session, 4 requests"
    left_out = ran.out[ran.out.index("left out   why") :]
    assert " ".join(left_out.split()).endswith(
        "list.json 4 the window of 'unknown' is not known: name the tokens that a request must "
        "not pass "
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

    assert ran.code == 0
    assert ran.lines[0] == "1 session, 1 request; left out: 1 session, 1 request"
    assert "hint" not in ran.out


def test_where_all_is_left_out_nothing_was_replayed(trimtab: Trimtab, tmp_path: Path) -> None:
    """Exit code 1, in the report and in JSON, and no empty tables."""
    write(tmp_path, list_json=CHAT_LIST)

    ran, told = trimtab("replay", tmp_path), trimtab("replay", tmp_path, "--json")

    assert (ran.code, told.code) == (1, 1)
    assert ran.lines[:2] == [
        "0 sessions, 0 requests; left out: 1 session, 4 requests",
        "limit: that of each model's window",
    ]
    assert ran.lines[-1] == "nothing was replayed"
    assert "compactions" not in ran.out
    assert told.json["total"]["requests"] == 0


PRICES_HINT = 'such as {"my-model": {"fresh": 3.0, "read": 0.3, "write": 3.75, "output": 15.0}}'


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            (),
            (
                "no session store of a known agent is there (Claude Code, Codex, pi, Gemini CLI, "
                "Copilot CLI)"
            ),
            "name files or folders",
        ),
        (
            ("plain.json", "--policies", "mask,nope"),
            (
                "policies is 'nope'; it must be one of nothing, client, client-early, sliding, "
                "sticky, mask, deterministic, births, cold, summaries, summaries-late, provider, or all"
            ),
            "docs/replay.md says what each does",
        ),
        (
            ("plain.json", "--prices", "gone.json"),
            "`gone.json` cannot be read: No such file or directory",
            PRICES_HINT,
        ),
        (
            ("plain.json", "--prices", "plain.json"),
            "`plain.json` holds no prices in dollars a million tokens",
            PRICES_HINT,
        ),
        (
            ("plain.json", "--resume", "gone/journal"),
            "`gone/journal` cannot be written: No such file or directory",
            "name another file",
        ),
        (("plain.json", "--workers", "0"), 'Invalid value "0" for --workers. Must be >= 1.', ""),
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
    monkeypatch.setenv("HOME", str(tmp_path))

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


# ------------------------------------------------------------------------ money


def test_without_paths_the_session_stores_of_agents_are_read(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each keeps them, or where its variable says; and it is told which."""
    store = tmp_path / ".claude" / "projects" / "it"
    store.mkdir(parents=True)
    (tmp_path / "moved" / "sessions").mkdir(parents=True)
    write(store, log_jsonl=SESSION)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "moved"))

    ran = trimtab("replay", "--budget", 9_000)

    assert ran.code == 0
    assert ran.lines[0].startswith("1 session, ")
    assert ran.err.splitlines()[:2] == [
        f"note: reading the sessions of Claude Code in {tmp_path / '.claude' / 'projects'}",
        f"note: reading the sessions of Codex in {tmp_path / 'moved' / 'sessions'}",
    ]
    assert (store / "log.jsonl").read_bytes() == SESSION


def test_policies_are_shown_side_by_side(trimtab: Trimtab, tmp_path: Path) -> None:
    """Those of law 7, and what was asked for, in the order of the table."""
    write(tmp_path, growing_jsonl=GROWING)

    ran = trimtab("replay", tmp_path, "--budget", 300, "--policies", "sliding, client-early")

    start = ran.lines.index(next(line for line in ran.lines if line.startswith("policy ")))
    rows = ran.lines[start + 2 : ran.lines.index("", start)]
    assert [row.split()[0] for row in rows] == [
        "nothing",
        "client",
        "client-early",
        "sliding",
        "deterministic",
    ]
    every = trimtab("replay", tmp_path, "--budget", 300, "--policies", "all", "--json").json
    assert list(every["total"]["policies"]) == list(POLICIES)


def test_what_the_window_does_not_hold_is_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """Doing nothing is no choice where the provider would refuse it."""
    write(tmp_path, long_json=chat(said("user", "go"), *huge(), model="gpt-4"))

    ran = trimtab("replay", tmp_path, "--unroll")

    assert (
        "nothing: 2 requests are larger than the model's window, so the provider would have "
        "refused them"
    ) in ran.lines


def huge() -> list[dict[str, Any]]:
    """Four rounds of which two do not fit a window of 8,192 tokens."""
    return [
        message
        for number in range(4)
        for message in (said("assistant", f"{number} word" * 2_000), said("user", f"{number}?"))
    ]


def test_the_arithmetic_and_the_best_setting_are_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """For each compaction, and for each client; in JSON too."""
    write(tmp_path, growing_jsonl=GROWING)

    ran = trimtab("replay", tmp_path, "--budget", 300, "--explain", "--advise")

    first, *more = EXPLAINED.split("; ")
    explained = [f"  {first}", *(f"    {part}" for part in more)]
    start = ran.lines.index("growing.jsonl")
    assert ran.lines[start : start + 10] == [
        "growing.jsonl",
        (
            "  a compaction is planned from 300 tokens on; the largest request, had nothing ever "
            "been removed, was 509"
        ),
        *explained,
        (
            "    by the bills: +$0.001232 at once, +$0.002464 over the 2 turns since, until the next "
            "compaction or the end; +$0.003696 in all. No answer of these turns missed anything."
        ),
        "",
        "request-bodies: no other size for its own compaction is cheaper",
    ]
    (advice,) = trimtab("replay", tmp_path, "--budget", 300, "--advise", "--json").json["advice"]
    assert (advice["kind"], advice["trigger"]) == ("request-bodies", None)


def test_sizes_that_were_foretold_are_told_apart_from_bills(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """Where a log has bills, its tables of sizes are not made of them; what was not read is counted."""
    lines = [json.loads(line) for line in BILLED.splitlines()]
    timed = [
        {**line, "timestamp": f"2026-03-01T{'10' if place < 6 else '12'}:00:0{place}Z"}
        for place, line in enumerate(lines)
    ]
    write(tmp_path, billed_jsonl="\n".join(map(json.dumps, timed)).encode())

    ran = trimtab("replay", tmp_path)

    assert ran.lines[2].startswith("sizes: as foretold before each request was sent")
    assert (
        "besides, 1 request read little from the cache although nothing broke: mostly it had expired"
    ) in ran.lines


def test_a_session_in_which_nothing_is_cut_is_explained(trimtab: Trimtab, tmp_path: Path) -> None:
    """Nothing is made up."""
    write(tmp_path, growing_jsonl=GROWING)

    assert "  nothing was compacted" in trimtab("replay", tmp_path, "--explain").lines


def test_advice_names_a_size_what_to_set_and_the_traps(capsys: pytest.CaptureFixture[str]) -> None:
    """What saves, how much, and what is known to go wrong."""
    advice = Advice("codex", 80_000, 0.125, {80_000: 0.125}, "set = 80,000", ("mind the gap",))

    bills.show_advice(Console(width=200), [advice])

    assert capsys.readouterr().out.splitlines() == [
        (
            "codex: its own compaction at 80,000 tokens saves 12.5% of the bill, at 3 extra "
            "exchanges after each"
        ),
        "  set = 80,000",
        "  mind the gap",
        "",
    ]


@pytest.mark.parametrize(
    ("verdict", "lines"),
    [
        (
            Verdict(3, 1, 0.25, 0.2, 0.01, "it", ()),
            [
                (
                    "3 sessions, 1 past the trigger: 25.0% saved in all, net of misses; 20.0% of "
                    "those past the trigger, at 3 extra exchanges a compaction; no session was dearer"
                ),
                "never dearer: law 7 holds on these sessions",
            ],
        ),
        (
            Verdict(3, 0, -0.05, None, -0.05, "it", ("it: 5.0% dearer, more than 2%",)),
            [
                (
                    "3 sessions, 0 past the trigger: -5.0% saved in all, net of misses; worst "
                    "session it, 5.0% dearer"
                ),
                "never dearer, broken: it: 5.0% dearer, more than 2%",
            ],
        ),
    ],
)
def test_the_verdict_on_law_7_is_told(
    capsys: pytest.CaptureFixture[str], verdict: Verdict, lines: list[str]
) -> None:
    """In numbers, and where it does not hold."""
    bills.show_verdict(Console(width=300), verdict)

    assert capsys.readouterr().out.splitlines() == lines


def test_the_gate_decides_the_exit_code(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the report and in JSON."""
    write(tmp_path, growing_jsonl=GROWING)
    fine = trimtab("replay", tmp_path, "--budget", 300, "--gate", "--json")
    assert (fine.code, fine.json["gate"]) == (
        0,
        {
            "sessions": 1,
            "past_trigger": 1,
            "saved": 2_154,
            "saved_past_trigger": -1_449,
            "worst": 2_154,
            "worst_session": "growing.jsonl",
            "broken": [],
        },
    )

    monkeypatch.setattr(replay, "judge", lambda _: Verdict(1, 0, 0.0, None, 0.0, "it", ("it: no",)))

    ran = trimtab("replay", tmp_path, "--budget", 300, "--gate")
    assert (ran.code, ran.lines[-1]) == (1, "never dearer, broken: it: no")


def test_a_body_stands_for_its_session(trimtab: Trimtab, tmp_path: Path) -> None:
    """The requests that led to it are replayed as well, if asked."""
    write(tmp_path, last_json=GROWING.splitlines()[-1])

    told = trimtab("replay", tmp_path, "--budget", 300, "--unroll", "--json").json

    assert told["total"]["requests"] == 8
    assert told["total"]["cost_direct"] == TOTAL_8_REQUESTS


TOTAL_8_REQUESTS = 17_156
"""What :data:`GROWING` costs, sent as it is."""


def test_prices_of_the_users_own_count(trimtab: Trimtab, tmp_path: Path) -> None:
    """And a model that nobody knows has none: the tokens are told."""
    log = tmp_path / "log"
    log.mkdir()
    write(log, own_jsonl=GROWING.replace(b"gpt-5.6", b"own-model"))
    mine = tmp_path / "prices.json"
    mine.write_text(json.dumps({"own-model": {"fresh": 1_000.0, "output": 0}}))

    unknown = trimtab("replay", log, "--budget", 300)
    known = trimtab("replay", log, "--budget", 300, "--prices", mine, "--json").json

    assert known["total"]["cost_direct"] == 2_084_000
    (row,) = (line for line in unknown.lines if line.startswith("nothing "))
    assert row.split()[1:3] == ["5k", "tok"]


def test_a_run_goes_on_where_it_was_broken_off(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was noted is not replayed again; the report is the same."""
    log, journal = tmp_path / "log", tmp_path / "journal"
    log.mkdir()
    write(log, growing_jsonl=GROWING, other_jsonl=OTHER, not_md=b"# no")
    first = trimtab("replay", log, "--budget", 300, "--resume", journal, "--json")

    monkeypatch.setattr(crew, "bench", None)  # whoever replays again fails
    again = trimtab("replay", log, "--budget", 300, "--resume", journal, "--json")

    assert again == first


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
    unit = ["tokens"] if is_exact else ["k", "tokens"]
    assert units.split() == [*unit, *unit, "fewer", "peak", "of"]
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


def test_a_body_alone_that_is_cut_is_told_how_to_see_its_session(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """Extra exchanges behind one request are no bill that anybody would have."""
    hint = "hint: a body alone is one request; --unroll replays those before it"
    file = tmp_path / "body.json"
    file.write_bytes(GROWING.splitlines()[-1])

    assert hint in trimtab("replay", file, "--budget", 300).out
    assert hint not in trimtab("replay", file, "--budget", 300, "--unroll").out
    assert hint not in trimtab("replay", file, "--budget", 100_000).out
