"""Old results make way for a line, the oldest first."""

from __future__ import annotations

from tests.strategies.builders import answer, call, lines, replay, weigh
from trimtab import Message, Opaque, Text, ToolResult
from trimtab.strategies.history import History
from trimtab.strategies.mask_old_results import MASK, REASON, mask_old_results


def results(history: History, target: int) -> list[str]:
    """What each result says when old ones are masked."""
    view = replay(history, mask_old_results(history, target))
    return [part.text for m in view for part in m.parts if isinstance(part, ToolResult)]


def session(name: str = "look") -> list[Message]:
    """Four exchanges."""
    asked = [m for n in range(4) for m in (call(f"c{n}", name), answer(f"c{n}", lines(100)))]
    return [Message.user("go"), *asked]


def test_the_oldest_results_are_masked_until_the_target_is_met() -> None:
    """The newest messages keep theirs."""
    whole = lines(100)
    history = weigh(session(), keep_recent=4)
    one = history.message_tokens[2]

    assert results(history, 1) == [MASK, MASK, whole, whole]
    assert results(history, history.total_tokens - one // 2) == [MASK, whole, whole, whole]
    assert mask_old_results(history, history.total_tokens) == ()
    assert {edit.reason for edit in mask_old_results(history, 1)} == {REASON}


def test_masking_twice_is_masking_once() -> None:
    """A mask is not masked."""
    history = weigh(session(), keep_recent=4)

    assert mask_old_results(history.after(mask_old_results(history, 1)), 1) == ()


def test_exempt_protected_short_and_unknown_results_stay() -> None:
    """Whatever the policy names, and what is not understood."""
    whole = lines(100)
    strange = ToolResult("x", (Text(whole), Opaque("odd", "{}")))
    odd = [Message.user("go"), call("x"), Message("tool", [strange]), call("z"), answer("z", "ok")]

    assert results(weigh(session("keep"), keep_recent=0, tool_lines={"keep": 0}), 1) == [whole] * 4
    assert (
        results(weigh(session(), keep_recent=0, protect=lambda m: m.role == "tool"), 1)
        == [whole] * 4
    )
    assert results(weigh([*odd, call("b"), answer("b", "ok")], keep_recent=0), 1)[:2] == [
        whole,
        "ok",
    ]
