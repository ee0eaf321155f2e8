"""``trimtab inspect``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bodies import (
    BILLED,
    CHAT_LIST,
    LONG,
    PLAIN,
    SESSION,
    THINKING,
    call,
    chat,
    result,
    said,
)
from tests.cli.running import Ran, Trimtab
from trimtab import Call, Policy, Session

REPORT = """\
long.json
request-bodies, openai-chat

406 tokens in 8 messages, counted by o200k_base (exact)

by role                      tokens   share
──────────────────────────────────────────────────────────────────────
tool results                    262     65%   ███████████████▌
system prompt and tools          69     17%   ████▏
assistant                        50     12%   ███
user                             17      4%   █
system                            8      2%   ▌

by part                      tokens   share
──────────────────────────────────────────────────────────────────────
tool results                    254     63%   ███████████████
tool calls                       26      6%   █▌
assistant text                   12      3%   ▊
user text                         9      2%   ▌
system text                       4      1%   ▎

by tool                      tokens   share
──────────────────────────────────────────────────────────────────────
read                            264     65%   ███████████████▋
test                             16      4%   █

largest              tokens   where         begins with
────────────────────────────────────────────────────────────────────────────────
tool results: read      248   messages[3]   def report(rows): total = row.price…
tool calls: read         16   messages[2]   {"path": "report.py"}
assistant text           12   messages[4]   It assigns where it should add. Sha…
tool calls: test         10   messages[6]   {}
tool results: test        6   messages[7]   12 passed
user text                 5   messages[1]   The sum is wrong.
system text               4   messages[0]   You fix bugs.
user text                 4   messages[5]   Yes, please.

protected: no compaction drops it      tokens   messages
────────────────────────────────────────────────────────
first user message                          9          1
newest user message                         8          1
system message                              8          1
newest exchange                            24          2
in all, with system prompt and tools      118

"""


def test_it_shows_where_the_tokens_are(trimtab: Trimtab, tmp_path: Path) -> None:
    """By role, part and tool, the largest parts, and what is protected: on 80 columns."""
    (tmp_path / "long.json").write_bytes(LONG)

    ran = trimtab("inspect", tmp_path / "long.json")

    assert ran == Ran(0, REPORT)
    assert max(map(len, ran.lines)) == 80


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_a_row_is_a_line_on_any_screen(
    trimtab: Trimtab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Wider screens show more of each text; narrower ones cut, and wrap nothing."""
    monkeypatch.setenv("COLUMNS", str(columns))
    (tmp_path / "long.json").write_bytes(LONG)

    ran = trimtab("inspect", tmp_path / "long.json")

    tables = ran.lines[5:]
    assert len(ran.lines) == len(REPORT.splitlines())
    assert max(map(len, tables)) <= columns
    assert ("…" in ran.out) == (columns < 300)


@pytest.mark.parametrize("body", [PLAIN, LONG, THINKING, SESSION, CHAT_LIST])
def test_the_numbers_add_up_and_are_those_of_a_session(
    trimtab: Trimtab, tmp_path: Path, body: bytes
) -> None:
    """Roles make up the whole, which is what a Session weighs."""
    (tmp_path / "body.json").write_bytes(body)

    told = trimtab("inspect", tmp_path / "body.json", "--json").json

    assert sum(told["tokens_by_role"].values()) == told["tokens"]
    assert sum(told["tokens_by_part"].values()) <= told["tokens"]
    assert sum(told["tokens_by_tool"].values()) <= told["tokens"]
    assert told["protected_tokens"] == (
        told["tokens_by_role"]["system prompt and tools"]
        + sum(group["tokens"] for group in told["protected"])
    )
    sizes = [part["tokens"] for part in told["largest"]]
    assert sizes == sorted(sizes, reverse=True)
    if body in (PLAIN, LONG, THINKING):
        session = Session(Policy(limit_tokens=1))
        weighed = session.weigh(session.read(Call(body)))
        assert (told["tokens"], told["messages"]) == (weighed.total_tokens, len(weighed.messages))


def test_every_kind_of_part_has_its_name(trimtab: Trimtab, tmp_path: Path) -> None:
    """Words go by role, media by kind, what is not known by the provider's name for it."""
    blocks = [
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "hologram", "of": "a cat"},
        {"type": "text", "text": "what is this?"},
    ]
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln" * 100}
    orphan = {"type": "tool_result", "tool_use_id": "gone", "content": "42"}
    body = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [
            said("user", "hi"),
            {"role": "assistant", "content": [thought, {"type": "text", "text": "hm"}]},
            {"role": "user", "content": [orphan, *blocks]},
        ],
    }
    (tmp_path / "kinds.json").write_text(json.dumps(body), encoding="utf-8")

    shown = trimtab("inspect", tmp_path / "kinds.json")
    told = trimtab("inspect", tmp_path / "kinds.json", "--json").json

    assert set(told["tokens_by_part"]) == {
        "assistant text", "hologram", "image", "thinking", "tool results", "user text",
    }  # fmt: skip
    assert set(told["tokens_by_tool"]) == {"(no call)"}
    assert "https://example.org/a.png" in shown.out
    assert "(encrypted)" in shown.out


def test_texts_out_of_a_request_do_not_steer_the_terminal(trimtab: Trimtab, tmp_path: Path) -> None:
    """Escapes, markup and lone surrogates in texts and names of tools are shown as what they are."""
    odd = "\x1b]0;title\x07[/bold][red]\ud800\u202e:smile:\ttab\r\nline"
    body = chat(said("user", odd), call("c1", tool=odd), result("c1", odd))
    (tmp_path / "odd.json").write_bytes(body)

    ran = trimtab("inspect", tmp_path / "odd.json")

    assert ran.code == 0
    assert "�]0;title�[/bold][red]��:smile: tab" in ran.out
    assert not set(ran.out) & set("\x1b\x07\ud800\u202e\t\r")


def test_a_long_name_leaves_room_for_the_figures(trimtab: Trimtab, tmp_path: Path) -> None:
    """Names of tools are cut; --json has them whole."""
    name = "mcp__claude_ai_Google_Calendar__gcal_find_meeting_times_of_everybody"
    (tmp_path / "long.json").write_bytes(
        chat(said("user", "when?"), call("c1", tool=name), result("c1", "never"))
    )

    ran = trimtab("inspect", tmp_path / "long.json")
    told = trimtab("inspect", tmp_path / "long.json", "--json").json

    row = next(line for line in ran.lines if line.startswith("mcp__"))
    assert row.split()[0] == "mcp__claude_ai_Google_Calendar__gcal_find_m…"
    assert max(map(len, ran.lines)) <= 80
    assert list(told["tokens_by_tool"]) == [name]


def test_an_empty_conversation_has_nothing_that_is_largest(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """Tables without a row are left out."""
    (tmp_path / "empty.json").write_text('{"model":"m","messages":[]}', encoding="utf-8")

    ran = trimtab("inspect", tmp_path / "empty.json")

    assert ran.code == 0
    assert "3 tokens in 0 messages, counted by o200k_base x 1 (estimate)" in ran.lines
    assert [line for line in ran.lines if line.startswith(("by ", "largest", "protected"))] == [
        "by role                      tokens   share",
        "protected: no compaction drops it      tokens   messages",
    ]


def test_one_message_is_one(trimtab: Trimtab, tmp_path: Path) -> None:
    """Words agree with numbers."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    ran = trimtab("inspect", tmp_path / "plain.json")

    assert "8 tokens in 1 message, counted by o200k_base (exact)" in ran.lines


FORECAST = """\
billed.jsonl
claude-code, 4 requests

╌╌╌╌╌╌╌╌╌╌╌╌████ limit 9k
        ▁▁▁▁████
        ████████
    ▂▂▂▂████████
    ████████████
▄▄▄▄████████████
████████████████
████████████████
████████████████
████████████████

          tokens     said            left to   a turn   turns   tool output
request   billed   before      off   trigger    costs    left     that fits
───────────────────────────────────────────────────────────────────────────
      1    4,000        -        -     5,000        -       -         15 kB
      2    5,650    6,557   +16.1%     3,350    1,650       2          5 kB
      3    7,300    7,357    +0.8%     1,700    1,650       1          2 kB
      4    8,950    8,981    +0.3%        50    1,650       0          73 B

limit 9,000 tokens, a compaction is planned from 9,000
3 predictions: half off by at most 0.78% of the request, 19 of 20 by at most 16.05%
context: 8950 of 9000 tokens before compaction (99%); recent turns cost ~1.6k each, so about 0 more at this pace
"""


def test_it_forecasts_a_session(trimtab: Trimtab, tmp_path: Path) -> None:
    """Sizes against the limit, what was said of each before, and what still fits."""
    (tmp_path / "billed.jsonl").write_bytes(BILLED)

    ran = trimtab("inspect", tmp_path / "billed.jsonl", "--forecast", "--budget", 9_000)

    assert (ran.code, ran.out) == (0, FORECAST)


def test_a_forecast_in_json_holds_the_same(trimtab: Trimtab, tmp_path: Path) -> None:
    """Every request with what was billed and predicted, and how far off half of them were."""
    (tmp_path / "billed.jsonl").write_bytes(BILLED)

    told = trimtab(
        "inspect", tmp_path / "billed.jsonl", "--forecast", "--budget", 9_000, "--json"
    ).json

    assert [(each["reported"], each["predicted"]) for each in told["requests"]] == [
        (4_000, None),
        (5_650, 6_557),
        (7_300, 7_357),
        (8_950, 8_981),
    ]
    assert [each["error"] for each in told["requests"]] == [None, 1_605, 78, 35]
    assert (told["median_error"], told["p95_error"]) == (78, 1_605)
    assert (told["limit"], told["trigger"]) == (9_000, 9_000)


def test_a_long_session_fits_the_screen(trimtab: Trimtab, tmp_path: Path) -> None:
    """Many requests share a column of the chart, and nothing is wider than 80 columns."""
    lines = [json.loads(line) for line in BILLED.splitlines()]
    (first, *_), last = lines, lines[-1]
    many = [first]
    for number in range(200):
        call_ = {**last, "uuid": f"b{number}", "parentUuid": many[-1]["uuid"]}
        usage = {"input_tokens": 1_000 * (number + 1), "output_tokens": 30}
        call_["message"] = {**last["message"], "id": f"m{number}", "usage": usage}
        call_["message"]["content"] = [{"type": "text", "text": f"Step {number}."}]
        said_ = {**first, "uuid": f"v{number}", "parentUuid": f"b{number}"}
        many += [call_, said_]
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, many)), encoding="utf-8")

    ran = trimtab("inspect", tmp_path / "many.jsonl", "--forecast")

    chart, rest = ran.lines[3:13], ran.lines[13:]
    assert max(map(len, chart)) <= 80
    assert [line.rpartition(" ")[0].rpartition(" ")[2] for line in chart if "k" in line] == [
        "limit",
        "trigger",
    ]
    assert sum(line.split()[:1] == ["200"] for line in rest) == 1
    assert "context: 200k of 120k before compaction (167%)" in ran.lines[-1]


def test_a_session_that_bills_nothing_has_no_forecast(trimtab: Trimtab, tmp_path: Path) -> None:
    """It says so, and says what to do where not even the window is known."""
    (tmp_path / "plain.jsonl").write_bytes(SESSION)
    (tmp_path / "list.json").write_bytes(CHAT_LIST)

    ran = trimtab("inspect", tmp_path / "plain.jsonl", "--forecast", "--request", 1)
    unknown = trimtab("inspect", tmp_path / "list.json", "--forecast")
    named = trimtab("inspect", tmp_path / "list.json", "--forecast", "--budget", 500)

    assert ran.lines[-1] == "the file does not say what was billed, so nothing can be predicted"
    assert unknown.code == 2
    assert unknown.err.endswith("--budget N names what no request may pass\n")
    assert "limit 500 tokens, a compaction is planned from 500" in named.lines


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--budget", 9), "--budget is for --forecast"),
        (("--forecast", "--format", "gemini"), "--forecast reads sessions"),
        (("--forecast", "--request", 9), "there is no request 9"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    trimtab: Trimtab, tmp_path: Path, options: tuple[str | int, ...], reason: str
) -> None:
    """Rather than ignored."""
    (tmp_path / "billed.jsonl").write_bytes(BILLED)

    ran = trimtab("inspect", tmp_path / "billed.jsonl", *options)

    assert ran.code == 2
    assert reason in ran.err
