"""Birth edits in a session: chosen when a result first comes, kept until a compaction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, TypeAlias

import pytest

from trimtab import CharTokenCounter, Policy, PrefixBroken, Refusal, Session
from trimtab.births import born, grounded, note_results, pruned
from trimtab.messages import Message, Text, ToolResult
from trimtab.plan import Drop, Edit, Plan, Ref, Replace
from trimtab.policy import Preset
from trimtab.squeeze import RESTORED, squeeze
from trimtab.state import State
from trimtab.wire import Call, check

Json: TypeAlias = dict[str, Any]

ROWS = json.dumps([{"id": n, "name": f"f{n}.py", "open": n % 2 == 0} for n in range(30)], indent=2)
NOISE = "\x1b[32mpassed\x1b[0m\n" * 20


def call(number: int, name: str = "run") -> Json:
    """The model calls a tool."""
    function = {"name": name, "arguments": json.dumps({"command": f"list {number}"})}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }


def result(number: int, text: str) -> Json:
    """And is answered."""
    return {"role": "tool", "tool_call_id": f"call_{number}", "content": text}


def body(*messages: Json, model: str = "gpt-5.2") -> bytes:
    """A request."""
    return json.dumps(
        {"model": model, "messages": [{"role": "user", "content": "go"}, *messages]}
    ).encode()


def session(preset: Preset | None = None, limit: int = 100_000, **settings: Any) -> Session:
    """A session that counts characters."""
    return Session(Policy(limit_tokens=limit, preset=preset), CharTokenCounter(), **settings)


def sent(rewrite: Any) -> list[str]:
    """What its tools have said."""
    messages = json.loads(rewrite.body)["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def go(worker: Session, *messages: Json, state: State | None = None) -> tuple[Any, State]:
    """One turn, taken."""
    rewrite = worker.rewrite(worker.read(Call(body(*messages))), state)
    return rewrite, worker.forwarded(rewrite.ticket)


def turns(worker: Session, texts: list[str], state: State | None = None) -> tuple[list[Any], State]:
    """A turn for each result."""
    history: list[Json] = []
    rewrites = []
    for number, text in enumerate(texts):
        history += [call(number), result(number, text)]
        rewrite, state = go(worker, *history, state=state)
        rewrites.append(rewrite)
    assert state is not None
    return rewrites, state


# ------------------------------------------------------------- when there are any


def test_a_session_that_stays_small_goes_out_unchanged_by_default() -> None:
    """Law 7: nobody asked for anything."""
    rewrites, _ = turns(session(), [ROWS, NOISE, ROWS])

    assert all(not rewrite.plan for rewrite in rewrites)
    assert all(rewrite.body is rewrite.ticket.turn.call.body for rewrite in rewrites)


def test_who_asks_for_a_preset_gets_it_from_the_first_result_on() -> None:
    """And what was squeezed stays so, byte for byte."""
    rewrites, _ = turns(session("safe"), [ROWS, NOISE, "ok"])

    small = json.dumps(json.loads(ROWS), separators=(",", ":"))
    assert sent(rewrites[0]) == [small]
    assert sent(rewrites[1])[:1] == [small]
    assert "\x1b" not in sent(rewrites[1])[1]
    assert sent(rewrites[2]) == [*sent(rewrites[1]), "ok"]
    assert not any(isinstance(event, PrefixBroken) for r in rewrites for event in r.events)


def test_the_default_begins_with_the_first_compaction() -> None:
    """From there on the prefix is ours anyway."""
    worker = session(limit=2_000)
    rewrites, state = turns(worker, ["word " * 300] * 8)
    assert state.compactions >= 1
    history = [m for n in range(8) for m in (call(n), result(n, "word " * 300))]

    rewrite, _ = go(worker, *history, call(8), result(8, ROWS), state=state)

    assert sent(rewrite)[-1] == json.dumps(json.loads(ROWS), separators=(",", ":"))
    assert len(rewrites) == 8


def test_a_history_that_nobody_knows_keeps_its_old_results() -> None:
    """They may have been sent as they are."""
    old = [call(0), result(0, ROWS), {"role": "assistant", "content": "hm"}]
    rewrite, _ = go(session("agent"), *old, call(1), result(1, ROWS))

    assert sent(rewrite)[0] == ROWS
    assert sent(rewrite)[1] != ROWS


@pytest.mark.parametrize(("outlives", "is_squeezed"), [(False, False), (True, True)])
def test_models_that_bind_thinking_are_squeezed_where_states_survive(
    outlives: bool,  # noqa: FBT001 - a table
    is_squeezed: bool,  # noqa: FBT001 - a table
) -> None:
    """A state that is lost cannot be told what was sent."""
    worker = session(limit=2_000, outlives_process=outlives)
    state: State | None = None
    sent_body = b""
    history: list[Json] = [{"role": "user", "content": "go"}]
    for number in range(9):
        use = {"type": "tool_use", "id": f"t{number}", "name": "run", "input": {}}
        text = ROWS if number == 8 else "word " * 300
        answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
        history += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]
        request = {"model": "claude-opus-5-5", "max_tokens": 99, "messages": history}
        turn = worker.read(Call(json.dumps(request).encode()))
        rewrite = worker.rewrite(turn, state)
        state, sent_body = worker.forwarded(rewrite.ticket), rewrite.body
    assert state is not None

    assert state.compactions
    assert (
        ROWS not in json.loads(sent_body)["messages"][-1]["content"][0]["content"]
    ) is is_squeezed


def test_another_preset_loses_nothing_that_was_sent() -> None:
    """Settings decide about what is new alone."""
    first, state = turns(session("agent"), [ROWS, NOISE])
    history = [call(0), result(0, ROWS), call(1), result(1, NOISE)]

    rewrite, _ = go(session("off"), *history, call(2), result(2, ROWS), state=state)

    assert sent(rewrite) == [*sent(first[-1]), ROWS]


def test_a_retry_sends_the_same_again() -> None:
    """Nothing of it is new."""
    rewrites, state = turns(session("agent"), [ROWS])

    again, _ = go(session("off"), call(0), result(0, ROWS), state=state)

    assert again.body == rewrites[0].body


# ------------------------------------------------------------------- references


def test_the_same_answer_again_points_to_the_first() -> None:
    """It was sent in full, and is still there."""
    rewrites, _ = turns(session("agent"), [NOISE, "ok then", NOISE])

    assert "word for word the result of the earlier call call_0" in sent(rewrites[-1])[2]
    assert sent(rewrites[-1])[:2] == sent(rewrites[1])


def test_what_a_compaction_takes_away_is_put_back_where_it_was_pointed_to() -> None:
    """The words move to the reference that stays."""
    text = "a line that counts\n" + "".join(f"value {n}: {n * 7919}\n" for n in range(60))
    policy = Policy(limit_tokens=4_000, target_tokens=2_000, preset="agent")
    worker = Session(policy, CharTokenCounter())
    history = [call(0), result(0, text)]
    state: State | None = None
    before, state = go(worker, *history)
    after = before
    for number in range(1, 40):
        words = text if number == 20 else f"filler {number} " * 60
        history += [call(number), result(number, words)]
        after, state = go(worker, *history, state=state)
        if state.compactions:
            break
        before = after

    assert [text in said for said in sent(before)].count(True) == 1
    assert any("word for word" in said for said in sent(before))
    assert [said for said in sent(after) if said == text] == [text]
    assert not any("word for word" in said for said in sent(after))
    assert check(after.body, "openai-chat") == ()


def test_an_answer_that_has_gone_is_not_pointed_to() -> None:
    """The new one is sent in full."""
    text = "".join(f"value {n}: {n * 7919}\n" for n in range(60))
    worker = session("agent", limit=3_000)
    texts = [text, *(f"filler {number} " * 60 for number in range(25))]
    _, state = turns(worker, texts)
    history = [m for n, words in enumerate(texts) for m in (call(n), result(n, words))]
    assert text not in sent(go(worker, *history, state=state)[0])

    rewrite, _ = go(worker, *history, call(26), result(26, text), state=state)

    assert sent(rewrite)[-1] == text


def test_a_reference_does_not_outlive_what_the_client_takes_away() -> None:
    """After its own clearing nothing points to nothing."""
    _, state = turns(session("agent"), [NOISE, "ok then", NOISE])
    history = [call(0), result(0, "[cleared]"), call(1), result(1, "ok then"), call(2)]

    rewrite, _ = go(
        session("agent"), *history, result(2, NOISE), call(3), result(3, "on"), state=state
    )

    assert "word for word" not in rewrite.body.decode()


# --------------------------------------------------------------------- refusals


def test_who_is_refused_a_birth_edit_sees_no_more_of_them() -> None:
    """The very words go out, and so do those that come later."""
    worker = session("safe")
    rewrite = worker.rewrite(worker.read(Call(body(call(0), result(0, ROWS)))))
    again = worker.refused(rewrite.ticket, Refusal(kind="structure"))
    assert again is not None
    assert not isinstance(again, State)
    assert sent(again) == [ROWS]
    state = worker.forwarded(again.ticket)

    later, _ = go(worker, call(0), result(0, ROWS), call(1), result(1, ROWS), state=state)

    assert sent(later) == [ROWS, ROWS]


# ------------------------------------------------------------------ cache markers


def test_cache_markers_are_set_where_the_policy_says_so_and_the_client_sets_none() -> None:
    """And the client's own stay alone."""
    value: Json = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 99,
        "system": "Be careful. " * 900,
        "messages": [{"role": "user", "content": "go"}],
    }
    policy = Policy(limit_tokens=100_000, cache_markers="1h")
    worker = Session(policy, CharTokenCounter())
    plain = json.dumps(value).encode()
    value["messages"][0]["content"] = [
        {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}
    ]
    marked = json.dumps(value).encode()

    assert worker.rewrite(worker.read(Call(plain))).body.count(b'"ttl":"1h"') == 1
    assert worker.rewrite(worker.read(Call(marked))).body is marked
    assert session().rewrite(session().read(Call(plain))).body == plain


# ------------------------------------------------------------------- the pieces


def reference_plan() -> tuple[Plan, list[Message]]:
    """Two equal results, of which the second points to the first."""
    messages = [Message.tool("a", NOISE), Message.tool("b", NOISE)]
    edits = squeeze(messages[1], "agent", len, place=1, seen={_name(messages[0]): "a"})
    return Plan(edits), messages


def _name(message: Message) -> str:
    notes = note_results([message], 0, (), 0)
    return notes[:8].hex()


@pytest.mark.parametrize(
    "target",
    [
        Message.tool("a", "something else"),
        Message.tool("c", NOISE),
        Message.user("nothing"),
    ],
)
def test_references_without_their_words_are_taken_back(target: Message) -> None:
    """What they point to is another one, or gone."""
    plan, messages = reference_plan()

    assert grounded(plan, messages) == plan
    assert grounded(plan, [target, messages[1]]) == Plan()


def test_edits_that_say_nothing_any_more_are_dropped() -> None:
    """Birth edits of what goes or is made anew, and words put back as they came."""
    messages = [Message.tool("a", "old"), Message.tool("b", "old")]
    birth = Replace(0, 0, ToolResult("a", (Text("x"),)), "b", is_birth=True)
    other = Replace(1, 0, ToolResult("b", (Text("x"),)), "b", is_birth=True)
    newer = Replace(0, 0, ToolResult("a", (Text("y"),)), "c")
    back = Replace(0, 0, ToolResult("a", (Text("old"),)), RESTORED)
    dropped = Drop(Ref(1), "d")

    def left(*edits: Edit) -> tuple[Edit, ...]:
        return pruned(Plan(edits), messages).edits

    assert left(birth, other) == (birth, other)
    assert left(birth, other, newer, dropped) == (newer, dropped)
    assert left(birth, other, Drop(Ref(1, (0,)), "d"))[0] is birth
    assert left(birth, other, back) == (other,)
    assert born(Plan((birth, newer))) == Plan((birth,))


# ------------------------------------------------------------------ determinism

SCRIPT = """
import hashlib
from tests.test_births import NOISE, ROWS, session, turns
texts = [ROWS, NOISE, "word " * 200, ROWS, "x" * 900, NOISE] * 6
rewrites, state = turns(session("agent", limit=2_000), texts)
whole = b"".join(rewrite.body for rewrite in rewrites) + state.to_bytes()
print(hashlib.sha256(whole).hexdigest(), state.compactions > 0)
"""


def test_every_process_sends_and_stores_the_same() -> None:
    """Whatever its hash seed: requests with birth edits, references and compactions."""
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }

    assert len(found) == 1
    assert found.pop().endswith(" True\n")
