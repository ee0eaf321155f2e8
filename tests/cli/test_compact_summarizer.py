"""``trimtab compact --summarizer``, against a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Trimtab
from tests.summarizer.serving import Served, completion, serving
from trimtab.briefing import BRIEFING
from trimtab.wire import check, read

MODEL = "openai-chat:gpt-5-mini"
RULE = "Never touch the secrets folder."


def body(**more: Any) -> bytes:
    """A long conversation about a report."""
    messages: list[Any] = [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "The sum in report.py is wrong."},
        {"role": "assistant", "content": "Let me look."},
        {"role": "user", "content": RULE},
    ]
    for number in range(12):
        call = {"name": "read", "arguments": json.dumps({"path": f"part{number}.py"})}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number}\n" * 60},
            {"role": "assistant", "content": f"Part {number} is fine."},
            {"role": "user", "content": f"Go on with part {number + 1}."},
        ]
    return json.dumps({"model": "gpt-5.6", "messages": messages, **more}).encode()


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A file with it."""
    file = tmp_path / "long.json"
    file.write_bytes(body())
    return file


def at(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the provider be a server of ours."""
    monkeypatch.setenv("OPENAI_BASE_URL", served.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")


def test_it_shows_the_briefing_the_ledger_and_what_it_cost(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And writes a request that is valid."""
    out = session.with_name("small.json")
    with serving() as served:
        at(served, monkeypatch)
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL, "-o", out)

    assert (ran.code, ran.err) == (0, "")
    assert BRIEFING.split(",", maxsplit=1)[0] in " ".join(ran.out.split())
    assert "Ship it." in ran.out
    assert RULE in ran.out
    assert "billed: 1,000 in, 50 out, $0.0002" in ran.out
    written = read(out.read_bytes())
    assert check(written.body, "openai-chat") == ()
    assert any(BRIEFING in message.text for message in written.messages)
    assert len(served.bodies) == 1


def test_json_tells_the_same(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For programs."""
    with serving() as served:
        at(served, monkeypatch)
        told = trimtab(
            "compact", session, "--budget", 1_500, "--target", 900, "--summarizer", MODEL, "--json"
        ).json

    summary = told["summary"]
    assert summary.pop("briefing").startswith(BRIEFING)
    assert summary.pop("span_messages") > 4
    assert summary == {
        "model": MODEL,
        "prompt_version": 1,
        "accepted": True,
        "reason": "",
        "attempts": 1,
        "usage": {"fresh": 400, "cache_read": 600, "cache_write": 0, "output": 50, "reasoning": 0},
        "cost": pytest.approx(0.000215),
    }
    assert RULE in told["ledger"]["rules"]
    assert told["tokens_after"] <= 900
    assert any(edit["kind"] == "fold" and edit["origin"] == "summary" for edit in told["edits"])


@pytest.mark.parametrize("as_json", [True, False])
def test_a_refused_answer_is_told_and_the_rules_take_over(
    trimtab: Trimtab,
    session: Path,
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,  # noqa: FBT001 - both ways
) -> None:
    """It was billed all the same."""
    with serving((200, {}, completion("## Goal", "length"))) as served:
        at(served, monkeypatch)
        more = ["--json"] if as_json else []
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL, *more)

    assert ran.code == 0
    if as_json:
        summary = ran.json["summary"]
        assert (summary["accepted"], summary["reason"]) == (
            False,
            "the model stopped because of 'length'",
        )
        assert summary["usage"]["output"] == 50
        assert ran.json["fits"]
    else:
        assert f"the summary of {MODEL} is not used: the model stopped because of" in ran.err
        assert "billed: 1,000 in, 50 out" in ran.err
        assert "fits: " in ran.out


def test_a_model_that_cannot_be_asked_says_why(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing key, or an unknown provider."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL)
    assert (ran.code, "OPENAI_API_KEY" in ran.err) == (0, True)
    assert "no answer came back" in ran.err

    ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", "nobody:knows")
    assert "nobody" in ran.err


def test_an_answer_that_says_nothing_of_its_bill_says_so(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No usage, or a model without a price."""
    silent = completion()
    del silent["usage"]
    with serving((200, {}, silent)) as served:
        at(served, monkeypatch)
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL)
    assert "the answer does not say what was billed" in ran.out

    unpriced = {**completion(), "model": "nobody-knows-me"}
    with serving((200, {}, unpriced)) as served:
        at(served, monkeypatch)
        model = "openai-chat:nobody-knows-me"
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", model)
    assert "1,000 in, 50 out, its price is not known" in ran.out


def test_what_fits_asks_nobody(trimtab: Trimtab, session: Path) -> None:
    """No key is needed, and nothing is billed."""
    ran = trimtab("compact", session, "--budget", 100_000, "--summarizer", MODEL)

    assert (ran.code, "untouched" in ran.out) == (0, True)


def test_what_is_too_short_or_too_full_asks_nobody(trimtab: Trimtab, tmp_path: Path) -> None:
    """It says why."""
    short = tmp_path / "short.json"
    messages = [{"role": "user", "content": "word " * 2_000}]
    short.write_text(json.dumps({"model": "gpt-5.6", "messages": messages}))
    ran = trimtab("compact", short, "--budget", 1_000, "--summarizer", MODEL)
    assert "there is too little in it to sum up" in ran.err
    assert "nobody was asked, so nothing was billed" in ran.err

    tools = [{"type": "function", "function": {"name": f"tool{n}"}} for n in range(300)]
    full = tmp_path / "full.json"
    full.write_bytes(body(tools=tools))
    ran = trimtab("compact", full, "--budget", 1_000, "--summarizer", MODEL)
    assert "system prompt and tools alone take the budget" in ran.err


def test_a_format_has_the_last_word(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it forbids, or what would break a rule, is not taken."""
    from trimtab.cli import summarizing  # noqa: PLC0415 - it is changed here
    from trimtab.plan import Forbidden  # noqa: PLC0415 - only here
    from trimtab.wire.openai_chat import OpenAIChat  # noqa: PLC0415 - only here
    from trimtab.wire.rules import Problem  # noqa: PLC0415 - only here

    with serving() as served:
        at(served, monkeypatch)
        with monkeypatch.context() as changed:
            changed.setattr(OpenAIChat, "complete", lambda *_, **__: Forbidden("not here"))
            ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL, "--json")
        assert ran.json["summary"]["reason"] == "not here"

        found = iter([[Problem("C9", "", "")], []])
        monkeypatch.setattr(summarizing, "check", lambda *_: next(found))
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL, "--json")
    assert ran.json["summary"]["reason"] == "the request would break C9 with it"


def test_options_that_do_not_go_together_are_refused(trimtab: Trimtab, session: Path) -> None:
    """A summary is part of the whole ladder."""
    ran = trimtab("compact", session, "--budget", 9, "--policy", "mask", "--summarizer", MODEL)

    assert (ran.code, "--policy mask do not go together" in ran.err) == (2, True)


def test_the_request_can_go_to_standard_output(
    trimtab: Trimtab, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report goes to standard error then."""
    with serving() as served:
        at(served, monkeypatch)
        ran = trimtab("compact", session, "--budget", 1_500, "--summarizer", MODEL, "-o", "-")

    assert json.loads(ran.out)["model"] == "gpt-5.6"
    assert "written to standard output" in ran.err
