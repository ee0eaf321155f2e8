"""``trimtab inspect``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.bodies import CHAT_LIST, LONG, PLAIN, SESSION, THINKING, call, chat, result, said
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
