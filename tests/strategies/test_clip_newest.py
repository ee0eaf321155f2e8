"""The newest exchange's results give way when nothing else makes a request fit."""

from __future__ import annotations

from tests.strategies.builders import answer, call, replay, weigh
from trimtab import Message, Text, ToolCall, ToolResult
from trimtab.plan import Plan
from trimtab.strategies.clip_newest import clip_newest


def newest(*texts: str) -> list[Message]:
    """One exchange whose results have some texts."""
    ids = [f"c{number}" for number in range(len(texts))]
    asked = Message.assistant(*(ToolCall(call_id, "look", "{}") for call_id in ids))
    return [
        Message.user("go"),
        asked,
        *(Message.tool(i, t) for i, t in zip(ids, texts, strict=True)),
    ]


def sizes(messages: list[Message]) -> list[int]:
    """Characters of each result."""
    return [len(p.text) for m in messages for p in m.parts if isinstance(p, ToolResult)]


def test_the_largest_gives_first() -> None:
    """A small result beside a large one keeps its words."""
    history = weigh(newest("x" * 8_000, "small"))

    clipped = replay(history, clip_newest(history, 1_000))

    large, small = sizes(clipped)
    assert 3_000 < large < 4_100
    assert small == 5


def test_equal_results_are_capped_together() -> None:
    """Two large results come down to the same size."""
    history = weigh(newest("x" * 8_000, "y" * 8_000, "z" * 400))

    first, second, third = sizes(replay(history, clip_newest(history, 2_000)))

    assert abs(first - second) < 8
    assert first < 4_100
    assert third == 400


def test_it_saves_what_was_wanted() -> None:
    """The request is smaller by at least the excess."""
    history = weigh(newest("x" * 8_000, "y" * 3_000))
    for excess in (1, 500, 1_500, 2_600):
        saved = history.total_tokens - history.tokens_under(Plan(clip_newest(history, excess)))

        assert saved >= excess


def test_more_than_there_is_leaves_the_markers_alone() -> None:
    """Where everything goes, each result says how much it was."""
    history = weigh(newest("x" * 8_000))

    clipped = replay(history, clip_newest(history, 10_000))

    assert clipped[2].parts[0] == ToolResult("c0", (Text("[trimtab: 8000 characters removed]"),))


def test_older_exchanges_and_protected_results_are_left_alone() -> None:
    """Only the newest exchange is clipped, and not what the user names."""
    messages = [*newest("old " * 2_000), call("n"), answer("n", "keep " * 2_000)]
    history = weigh(messages, protect=lambda m: "n" in m.result_ids)

    assert clip_newest(history, 100) == ()


def test_an_exchange_without_texts_has_nothing_to_give() -> None:
    """No results, no edits."""
    assert clip_newest(weigh([Message.user("go")]), 100) == ()
    assert clip_newest(weigh([Message.user("go"), call("a")]), 100) == ()
