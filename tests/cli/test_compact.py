"""``trimtab compact``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bodies import CHAT_LIST, LONG, ORPHAN, PLAIN, SESSION, THINKING, chat, said
from tests.cli.running import Ran, Trimtab
from trimtab import Call, Policy, Session

REPORT = """\
long.json
request-bodies, openai-chat

limit 330 tokens, target 300, counted by o200k_base (exact)

what                        where      why                                 saved
────────────────────────────────────────────────────────────────────────────────
a marker put in             before 2   old turns told in a line each         -31
a filler put in             before 4   keeps user and assistant              -13
                                       alternating
2 messages told in 1 line   2-3        old turn told in a line               252

the marker keeps, of what went:
  files (1)
    report.py: read

            tokens   messages   bytes
────────────────────────────────────────────────────────────────
before         406          8   1,807   ████████████████████████
after          197          8     947   ███████████▋
limit          330                      ███████████████████▌

fits: 209 tokens saved (51%)
"""


def rewritten(body: bytes, budget: int, target: int | None = None) -> bytes:
    """What a Session makes of a body."""
    session = Session(Policy(limit_tokens=budget, target_tokens=target))
    return session.rewrite(session.read(Call(body))).body


def test_it_shows_what_went_and_why(trimtab: Trimtab, tmp_path: Path) -> None:
    """Edits with places, reasons and savings, the sizes before and after, and a verdict."""
    (tmp_path / "long.json").write_bytes(LONG)

    ran = trimtab("compact", tmp_path / "long.json", "--budget", 330, "--target", 300)

    assert ran == Ran(0, REPORT)
    assert (tmp_path / "long.json").read_bytes() == LONG
    assert list(tmp_path.iterdir()) == [tmp_path / "long.json"]


def test_what_it_writes_is_what_a_session_makes(trimtab: Trimtab, tmp_path: Path) -> None:
    """Byte for byte, and the input stays as it is."""
    (tmp_path / "long.json").write_bytes(LONG)
    output = tmp_path / "cut.json"

    ran = trimtab("compact", tmp_path / "long.json", "--budget", 330, "--target", 300, "-o", output)

    assert output.read_bytes() == rewritten(LONG, 330, 300)
    assert ran == Ran(0, f"{REPORT}written to {output} (947 bytes)\n")
    assert (tmp_path / "long.json").read_bytes() == LONG


def test_a_request_that_fits_is_written_as_it_came(trimtab: Trimtab, tmp_path: Path) -> None:
    """Within the budget nothing changes, to the last byte."""
    (tmp_path / "plain.json").write_bytes(PLAIN)

    ran = trimtab("compact", tmp_path / "plain.json", "--budget", 100, "-o", tmp_path / "out.json")

    assert ran.code == 0
    assert "untouched: it fits as it is, and goes out byte for byte" in ran.lines
    assert (tmp_path / "out.json").read_bytes() == PLAIN


def test_one_request_of_a_session_is_written(trimtab: Trimtab, tmp_path: Path) -> None:
    """What is written is a request body, whatever the input is."""
    (tmp_path / "log.jsonl").write_bytes(SESSION)
    output = tmp_path / "out.json"

    ran = trimtab(
        "compact", tmp_path / "log.jsonl", "--request", 2, "--budget", 5_000, "-o", output
    )

    assert (ran.code, ran.lines[1]) == (0, "claude-code, request 2 of 3, anthropic")
    assert len(json.loads(output.read_bytes())["messages"]) == 3


def test_a_target_is_how_far_it_cuts(trimtab: Trimtab, tmp_path: Path) -> None:
    """The budget decides whether to cut, the target how far; by default it is 0.4 of the budget."""
    (tmp_path / "log.json").write_bytes(THINKING)

    near = trimtab(
        "compact", tmp_path / "log.json", "--budget", 3_500, "--target", 3_500, "--json"
    ).json
    far = trimtab("compact", tmp_path / "log.json", "--budget", 3_500, "--json").json

    assert (near["limit"], near["target"]) == (3_500, 3_500)
    assert (far["limit"], far["target"]) == (3_500, 1_400)
    assert far["tokens_after"] <= 1_400 < near["tokens_after"] <= 3_500 < near["tokens_before"]


def test_what_cannot_fit_is_refused_with_numbers(trimtab: Trimtab, tmp_path: Path) -> None:
    """Nothing is written, an old output stays, and the hint names a budget that works."""
    (tmp_path / "long.json").write_bytes(LONG)
    output = tmp_path / "out.json"
    output.write_bytes(b"old")

    ran = trimtab("compact", tmp_path / "long.json", "--budget", 100, "-o", output)

    assert ran.code == 1
    assert ran.lines[-3].startswith(
        "cannot fit: what is protected alone is larger than the limit; it takes "
    )
    assert ran.lines[-1] == f"nothing was written to {output}"
    assert output.read_bytes() == b"old"
    hint = ran.lines[-2].removeprefix("hint: try --budget ")
    assert trimtab("compact", tmp_path / "long.json", "--budget", hint, "-o", output).code == 0
    assert output.read_bytes() != b"old"


def test_what_a_rule_forbids_is_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """Where the client leaves compaction to the provider, nothing is cut, and it says so."""
    body = json.loads(THINKING)
    body["model"] = "claude-opus-4-6"
    body["context_management"] = {
        "edits": [{"type": "compact_20260112"}, {"type": "clear_tool_uses_20250919"}]
    }
    (tmp_path / "left.json").write_text(json.dumps(body), encoding="utf-8")

    ran = trimtab("compact", tmp_path / "left.json", "--budget", 600)
    told = trimtab("compact", tmp_path / "left.json", "--budget", 600, "--json")

    assert (ran.code, told.code) == (1, 1)
    assert (told.json["outcome"], told.json["fits"]) == ("unmet", False)
    assert ran.lines[-1] == (
        f"does not fit: {told.json['reason']}; it would take {told.json['needed']:,} tokens"
    )


def test_a_header_that_an_edit_needs_is_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """A body that is only accepted with a header comes with it."""
    (tmp_path / "loop.json").write_bytes(THINKING)

    ran = trimtab("compact", tmp_path / "loop.json", "--budget", 2_000)
    told = trimtab("compact", tmp_path / "loop.json", "--budget", 2_000, "--json").json

    header = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
    assert (
        "send it with the header anthropic-beta: thinking-binding-controls-2026-08-01" in ran.lines
    )
    assert told["headers"] == header
    assert [edit["headers"] for edit in told["edits"] if edit["kind"] == "parameter"] == [header]


@pytest.mark.parametrize(
    ("body", "row", "verdict"),
    [
        (
            ORPHAN,
            "1 message removed   1       a result that no call waits for here       9",
            "fits: 9 tokens saved (53%)",
        ),
        (
            chat(
                said("user", "go"),
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c",
                            "type": "function",
                            "function": {"name": "f", "arguments": "{}"},
                        }
                    ],
                },
                said("user", "well?"),
            ),
            "a repair put in   before 2   a call without its result behind it",
            "fits: it was mended, which takes 28 tokens more",
        ),
    ],
    ids=["without a call", "without a result"],
)
def test_a_broken_history_is_mended(
    trimtab: Trimtab, tmp_path: Path, body: bytes, row: str, verdict: str
) -> None:
    """What was broken is told and mended, also where it costs tokens."""
    (tmp_path / "broken.json").write_bytes(body)

    ran = trimtab("compact", tmp_path / "broken.json", "--budget", 1_000)

    assert (ran.code, ran.lines[-1]) == (0, verdict)
    assert ran.lines[7].startswith(row)


def test_edits_are_told_by_kind_and_reason(trimtab: Trimtab, tmp_path: Path) -> None:
    """Edits of one reason are a line, with their places as ranges; most are counted."""
    answers = [
        message
        for n in range(9)
        for message in (
            {"role": "tool", "tool_call_id": f"x{n}", "content": "late"},
            said("user", f"and {n}?"),
        )
    ]
    (tmp_path / "many.json").write_bytes(chat(said("user", "hi"), *answers))

    ran = trimtab("compact", tmp_path / "many.json", "--budget", 1_000)

    assert ran.lines[7].split("  ")[0] == "9 messages removed"
    assert "1, 3, 5 and 6 more" in ran.lines[7]


def test_parts_of_a_message_are_told_apart(trimtab: Trimtab, tmp_path: Path) -> None:
    """Where only a half of a message goes or stays, the table says parts."""
    body = json.loads(THINKING)
    body["model"] = "claude-opus-4-6"
    body["messages"][6]["content"].append({"type": "text", "text": "Only the first half, please."})
    (tmp_path / "half.json").write_text(json.dumps(body), encoding="utf-8")

    ran = trimtab("compact", tmp_path / "half.json", "--budget", 1_800, "--target", 700)
    table = " ".join(" ".join(ran.out.split()).split("saved ", 1)[1].split("before")[0].split())

    assert ran.code == 0
    assert "and parts of 1" in table
    assert "parts of 1 message kept" in " ".join(ran.out.split())


def test_shortened_results_are_told(trimtab: Trimtab, tmp_path: Path) -> None:
    """A result of which both ends stay is shortened, not removed."""
    (tmp_path / "loop.json").write_bytes(THINKING)

    ran = trimtab("compact", tmp_path / "loop.json", "--budget", 900)

    assert ran.code == 0
    assert "1 tool result shortened" in ran.out


def test_standard_output_takes_the_body_alone(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    """With ``-o -`` the report goes to standard error, so that the body can be piped on."""
    from trimtab.cli.app import run  # noqa: PLC0415 - beside the only use

    (tmp_path / "long.json").write_bytes(LONG)

    code = run(
        ["compact", str(tmp_path / "long.json"), "--budget", "330", "--target", "300", "-o", "-"]
    )

    out, err = capfdbinary.readouterr()
    assert (code, out) == (0, rewritten(LONG, 330, 300))
    assert err.decode() == f"{REPORT}written to standard output (947 bytes)\n"


def test_standard_output_stays_empty_where_it_does_not_fit(
    trimtab: Trimtab, tmp_path: Path
) -> None:
    """Nothing goes down a pipe that would not fit."""
    (tmp_path / "long.json").write_bytes(LONG)

    ran = trimtab("compact", tmp_path / "long.json", "--budget", 100, "-o", "-")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines()[-1] == "nothing was written to standard output"


@pytest.mark.parametrize("body", [PLAIN, LONG, THINKING, SESSION, CHAT_LIST])
@pytest.mark.parametrize("budget", [1, 300, 600, 100_000])
def test_json_tells_what_was_done(
    trimtab: Trimtab, tmp_path: Path, body: bytes, budget: int
) -> None:
    """Sizes, verdict and exit code agree with each other and with what was written."""
    (tmp_path / "body.json").write_bytes(body)
    output = tmp_path / "out.json"

    ran = trimtab("compact", tmp_path / "body.json", "--budget", budget, "-o", output, "--json")

    told = ran.json
    assert told["fits"] == (ran.code == 0) == output.exists() == (told["tokens_after"] <= budget)
    assert told["fits"] == (told["outcome"] in ("untouched", "fits"))
    assert told["limit"] == budget
    assert (told["edits"] == []) == (told["tokens_before"] == told["tokens_after"])
    if told["fits"]:
        written = output.read_bytes()
        assert told["bytes_after"] == len(written)
        assert told["messages_after"] == len(json.loads(written)["messages"])
    else:
        assert told["needed"] > budget


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "0"), 'Invalid value "0" for --budget. Must be >= 1.'),
        (("--budget", "-5"), 'Invalid value "-5" for --budget. Must be >= 1.'),
        (("--budget", "9", "--target", "0"), 'Invalid value "0" for --target. Must be >= 1.'),
        (("--budget", "9", "--target", "10"), "--target 10 is above --budget 9"),
        (("--budget", "9", "-o", "-", "--json"), "--json and -o - both write to standard output"),
        (("--target", "9"), 'Command "compact" parameter --budget requires an argument.'),
        (("--budget", "20k"), 'Invalid value for --budget: unable to convert "20k" into int.'),
    ],
)
def test_wrong_sizes_are_wrong_usage(
    trimtab: Trimtab, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    """The message names the option and what it takes; the input is not even read."""
    ran = trimtab("compact", tmp_path / "missing.json", *options)

    told, hint = ran.err.splitlines()
    assert (ran.code, ran.out, told) == (2, "", f"error: {message}")
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("is_link", [False, True])
def test_the_input_is_never_written_over(trimtab: Trimtab, tmp_path: Path, is_link: bool) -> None:  # noqa: FBT001 - a table's column
    """Also where the output leads to it by another name."""
    file = tmp_path / "long.json"
    file.write_bytes(LONG)
    if is_link:
        (tmp_path / "other.json").symlink_to(file)
    else:
        (tmp_path / "other.json").hardlink_to(file)

    for output in (file, tmp_path / "other.json", tmp_path / "." / "long.json"):
        ran = trimtab("compact", file, "--budget", 330, "--target", 300, "-o", output)

        assert (ran.code, ran.out) == (2, "")
        assert "is the input, which is never changed" in ran.err
    assert file.read_bytes() == LONG
