"""What was sent for the part of a request that is known, and what follows it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import (
    Call,
    CharTokenCounter,
    Drop,
    Fold,
    Keep,
    Message,
    Plan,
    Policy,
    Replace,
    Session,
    State,
    Text,
    ToolResult,
)
from trimtab.chain import NO_ROUNDS, Rounds, rounds_after
from trimtab.lineage import within
from trimtab.plan import EMPTY_PLAN, Edit, Ref, Slot, apply
from trimtab.recall import Known, Size, View, go_on, recall, settle
from trimtab.strategies.history import slot_tokens
from trimtab.strategies.mend_pairs import NO_RESULT
from trimtab.tokens import Measure
from trimtab.tracker import message_bytes
from trimtab.turn import Turn

Json = dict[str, Any]

MEASURE = Measure(CharTokenCounter(), "gpt-5.2")
SESSION = Session(Policy(limit_tokens=100_000), CharTokenCounter())
MADE = Message.user("made", origin="marker")
UNANSWERED = "a call without its result behind it"


def user(words: str) -> Json:
    """What the user says."""
    return {"role": "user", "content": words}


def says(words: str) -> Json:
    """What the model answers."""
    return {"role": "assistant", "content": words}


def calls(*call_ids: str) -> Json:
    """An answer with calls."""
    made = [
        {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for call_id in call_ids
    ]
    return {"role": "assistant", "content": "let me look", "tool_calls": made}


def result(call_id: str, text: str = "ok") -> Json:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


HISTORY = (
    user("go"),
    calls("c1"),
    result("c1", "some words of a file"),
    says("done"),
    user("and now"),
    calls("c2"),
    result("c2"),
)
"""Two rounds; the last one is under way."""


def turn_of(*messages: Json, **more: Any) -> Turn:
    """A turn over some messages."""
    body = json.dumps({"model": "gpt-5.2", **more, "messages": messages})
    return SESSION.read(Call(body.encode()), "openai-chat")


def view_of(turn: Turn, known: Known | None = None, *, repair: bool = True) -> View:
    """Go on from what is known; from nothing."""
    return go_on(turn, known or Known(), MEASURE, repair=repair)


def taken(turn: Turn, plan: Plan | None = None) -> State:
    """The state after a turn was sent, with a plan of its own or what mends it."""
    view = view_of(turn)
    plan = view.plan if plan is None else plan
    settled, tokens = settle(weighed(turn, plan), 0, 0, plan)
    return State(
        key=turn.key,
        messages=len(turn.links),
        plan=plan,
        seen=view.seen,
        rounds=view.rounds,
        settled=settled,
        settled_tokens=tokens,
        whole_tokens=view.whole_tokens,
    )


def weighed(turn: Turn, plan: Plan = EMPTY_PLAN) -> list[tuple[Slot, int]]:
    """The messages of a turn under a plan, each with what it weighs."""
    slots = apply(plan, turn.request.messages)
    return [(slot, slot_tokens(MEASURE, slot)) for slot in slots]


def weight(turn: Turn, plan: Plan = EMPTY_PLAN) -> int:
    """What the messages of a turn weigh under a plan."""
    return sum(tokens for _, tokens in weighed(turn, plan))


def clip(message: int, call_id: str) -> Replace:
    """Shorten a result."""
    return Replace(message, 0, ToolResult(call_id, (Text("k"),)), "shorter")


# ------------------------------------------------------------------- recall


def test_of_a_new_conversation_nothing_is_known() -> None:
    """Neither without a state nor with one of no messages, which may still know limits."""
    turn, empty = turn_of(*HISTORY), State(key=b"", messages=0)

    assert recall(turn, None) == Known()
    assert recall(turn, empty) == Known(empty)


@pytest.mark.parametrize("more", [(), (says("x"),), (says("x"), user("y"), calls("c3"))])
def test_what_a_request_extends_is_known_whole(more: tuple[Json, ...]) -> None:
    """Or what it is: nothing of it need be looked at again."""
    state = taken(turn_of(*HISTORY), Plan((clip(2, "c1"),)))
    assert (state.settled, state.settled_tokens > 0) == (5, True)

    assert recall(turn_of(*HISTORY, *more), state) == Known(
        state,
        messages=7,
        plan=state.plan,
        is_edited=False,
        counted=7,
        settled=5,
        settled_tokens=state.settled_tokens,
        whole_tokens=state.whole_tokens,
        rounds=state.rounds,
        seen=state.seen,
    )


PLAN = Plan(
    (
        clip(2, "c1"),
        Keep(Ref(4), "newest"),
        Drop(Ref(5, (0,)), "words"),
        Fold((Ref(3),), 3, MADE, "folded"),
    )
)


@pytest.mark.parametrize(
    ("messages", "count"),
    [
        (HISTORY[:4], 4),
        (HISTORY[:2], 2),
        ((*HISTORY[:5], says("another way")), 5),
        ((*HISTORY[:6], result("c2", "another result"), says("x"), user("y")), 6),
        ((user("something else"),), 0),
        ((), 0),
    ],
)
def test_of_a_rewind_or_a_fork_the_shared_front_is_known(
    messages: tuple[Json, ...], count: int
) -> None:
    """With what was sent for it; all is weighed anew."""
    state = taken(turn_of(*HISTORY), PLAN)
    edits = [edit for edit in PLAN if place_of(edit) < count]

    assert recall(turn_of(*messages), state) == Known(state, count, Plan(tuple(edits)))


def place_of(edit: Edit) -> int:
    """The message that an edit is about."""
    match edit:
        case Replace():
            return edit.message
        case Drop() | Keep():
            return edit.ref.message
        case Fold():
            return edit.before


@pytest.mark.parametrize(
    ("messages", "known", "edits"),
    [
        # an old result was cleared
        (
            (*HISTORY[:2], result("c1", "[cleared]"), *HISTORY[3:], says("x")),
            7,
            PLAN.edits[1:],
        ),
        # the first messages were removed
        (
            (*HISTORY[2:], says("x")),
            5,
            (
                clip(0, "c1"),
                Keep(Ref(2), "newest"),
                Drop(Ref(3, (0,)), "words"),
                Fold((Ref(1),), 1, MADE, "folded"),
            ),
        ),
        # an exchange in the middle was, and the end is another one
        (
            (HISTORY[0], *HISTORY[3:6], result("c2", "another")),
            4,
            (
                Keep(Ref(2), "newest"),
                Drop(Ref(3, (0,)), "words"),
                Fold((Ref(1),), 1, MADE, "folded"),
            ),
        ),
    ],
)
def test_what_was_sent_is_carried_over_what_the_client_changed(
    messages: tuple[Json, ...], known: int, edits: tuple[Edit, ...]
) -> None:
    """As far as the newest message that both have; it is said that there was a change."""
    state = taken(turn_of(*HISTORY), PLAN)

    assert recall(turn_of(*messages), state) == Known(state, known, Plan(edits), is_edited=True)


# -------------------------------------------------------------------- go on


def test_a_sound_request_goes_out_as_it_came() -> None:
    """What it weighs, where it is closed, and what tells it again."""
    turn = turn_of(*HISTORY)

    assert view_of(turn) == View(
        kept=EMPTY_PLAN,
        added=EMPTY_PLAN,
        born=EMPTY_PLAN,
        tokens=weight(turn),
        whole_tokens=weight(turn),
        settled=5,
        settled_tokens=weight(turn_of(*HISTORY[:5])),
        rounds=rounds_after(NO_ROUNDS, turn.request.messages),
        seen=b"".join(turn.digests()),
        full_results=b"",
        size_bytes=message_bytes(turn.request.messages),
    )


def test_the_answer_to_what_was_sent_last_is_known_by_its_place() -> None:
    """The assistant's messages that new ones begin with, as they were counted and in bytes."""
    before, now = turn_of(*HISTORY[:5]), turn_of(*HISTORY)
    answer = now.request.messages[5:6]

    view = view_of(now, recall(now, taken(before)))

    assert answer[0].role == "assistant"
    assert view.answer == Size(sum(map(MEASURE.message, answer)), message_bytes(answer))
    assert view_of(now).answer is None


def test_a_fork_before_a_late_result_is_mended_anew() -> None:
    """What made the known part sound came behind the fork: without it, the part is broken again."""
    late = turn_of(user("go"), calls("c1"), user("well?"), result("c1"), says("so"), user("on"))
    fork = turn_of(user("go"), calls("c1"), user("well?"), says("then not"), user("another way"))
    known = recall(fork, taken(late))

    view = view_of(fork, known)

    assert (known.messages, known.counted) == (3, 0)
    sent = [slot.message for slot in apply(view.plan, fork.request.messages)]
    roles = ["user", "assistant", "tool", "user", "assistant", "user"]
    assert [message.role for message in sent] == roles
    assert sent[2].text == ""
    assert [part.text for part in sent[2].parts if isinstance(part, ToolResult)] == [NO_RESULT]


def test_a_request_without_messages_weighs_nothing() -> None:
    """And nothing is in it."""
    assert view_of(turn_of()) == View(
        EMPTY_PLAN, EMPTY_PLAN, EMPTY_PLAN, 0, 0, 0, 0, Rounds(), b"", b""
    )


def test_what_was_sent_stays_and_counts_as_it_was_sent() -> None:
    """The very same plan, before and behind the place up to which all is closed."""
    plan = Plan((clip(2, "c1"), clip(6, "c2")))
    state = taken(turn_of(*HISTORY), plan)
    turn = turn_of(*HISTORY, says("x"), user("y"))
    view = view_of(turn, recall(turn, state))

    assert view.kept is plan
    assert view.plan is plan
    assert (view.tokens, view.whole_tokens) == (weight(turn, plan), weight(turn))
    assert (view.settled, view.settled_tokens) == (7, weight(turn_of(*HISTORY), plan))


def test_of_a_fork_all_is_weighed_anew_as_it_was_sent() -> None:
    """What was sent for the shared front stays, and nothing of it is closed beforehand."""
    state = taken(turn_of(*HISTORY), PLAN)
    turn = turn_of(*HISTORY[:5], says("another way"), user("on"))
    view = view_of(turn, recall(turn, state))

    assert view.plan == within(PLAN, 5)
    assert (view.tokens, view.whole_tokens) == (weight(turn, view.plan), weight(turn))
    assert (view.settled, view.seen) == (5, b"".join(turn.digests()))


def mended(before: int, *call_ids: str) -> Fold:
    """What stands for results that never came."""
    parts = [ToolResult(call_id, (Text(NO_RESULT),), is_error=True) for call_id in call_ids]
    return Fold((), before, Message("tool", parts, origin="repair"), UNANSWERED)


BROKEN = (user("go"), calls("c1", "c2"), result("c1"), says("well"), user("on"))
"""A call without a result."""


def test_what_is_new_and_broken_is_mended() -> None:
    """All of a new conversation is new."""
    turn = turn_of(*BROKEN)
    view = view_of(turn)

    assert (view.kept, view.added) == (EMPTY_PLAN, Plan((mended(2, "c2"),)))
    assert view.plan == view.added
    assert view.tokens == weight(turn, view.added) > view.whole_tokens


@pytest.mark.parametrize(("repair", "more"), [(False, {}), (True, {"thread": {"type": "create"}})])
def test_nothing_is_mended_where_nobody_wants_it(
    repair: bool,  # noqa: FBT001 - a table
    more: Json,
) -> None:
    """Neither where the policy says no nor where the history lies with the provider."""
    content = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    messages = [user("go"), {"role": "assistant", "content": [content]}, user("on")]
    body = {"model": "claude-opus-4-6", "max_tokens": 9, **more, "messages": messages}
    turn = SESSION.read(Call(json.dumps(body).encode()), "anthropic")

    assert view_of(turn, repair=repair).plan is EMPTY_PLAN


def test_only_what_is_new_is_mended() -> None:
    """What was sent broken was taken so, and stays as it was sent."""
    first = turn_of(*BROKEN)
    state = taken(first, EMPTY_PLAN)
    turn = turn_of(*BROKEN, calls("c3"), user("never mind"))
    view = view_of(turn, recall(turn, state))

    assert (view.kept, view.added) == (EMPTY_PLAN, Plan((mended(6, "c3"),)))


@pytest.mark.parametrize(
    ("edit", "added"),
    [
        # a stray result behind what is known goes; one in it was taken
        ((result("c9"),), (Drop(Ref(7), "a result that no call waits for here"),)),
    ],
)
def test_a_new_stray_goes(edit: tuple[Json, ...], added: tuple[Edit, ...]) -> None:
    """Nothing asked for it."""
    state = taken(turn_of(*HISTORY))
    turn = turn_of(*HISTORY, *edit, says("x"))

    assert view_of(turn, recall(turn, state)).added == Plan(added)


def test_blank_results_are_mended_where_they_are_new() -> None:
    """Anthropic refuses blank text; what was sent so was taken."""
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    blocks = [{"type": "text", "text": "words"}, {"type": "text", "text": " "}]
    answer = {"type": "tool_result", "tool_use_id": "c1", "content": blocks}
    messages = [
        user("go"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [answer]},
    ]

    def anthropic(count: int) -> Turn:
        body = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": messages[:count]}
        return SESSION.read(Call(json.dumps(body).encode()), "anthropic")

    mend = Replace(2, 0, ToolResult("c1", (Text("words"),)), "a blank text in a result")
    turn = anthropic(3)

    assert view_of(turn, recall(turn, taken(anthropic(1)))).added == Plan((mend,))
    assert view_of(turn, recall(turn, taken(turn, EMPTY_PLAN))).plan == EMPTY_PLAN


WAITING = (user("go"), calls("c1"), user("never mind"))
"""A call whose result has not come when the user goes on."""


def test_what_was_mended_stays_mended() -> None:
    """Word for word, and it is told apart from what is new."""
    first = turn_of(*WAITING)
    state = taken(first)
    turn = turn_of(*WAITING, calls("c2"), user("nor this"))
    view = view_of(turn, recall(turn, state))

    assert state.plan == Plan((mended(2, "c1"),))
    assert (view.kept, view.added) == (state.plan, Plan((mended(4, "c2"),)))


def test_a_late_result_takes_the_made_one_back() -> None:
    """And stands behind its call from then on."""
    state = taken(turn_of(*WAITING))
    late = result("c1", "here it is")
    turn = turn_of(*WAITING, late, says("x"))
    view = view_of(turn, recall(turn, state))
    words = [slot.message for slot in apply(view.plan, turn.request.messages)]

    assert view.kept == EMPTY_PLAN
    assert [message.role for message in words] == ["user", "assistant", "tool", "user", "assistant"]
    assert words[2].parts == turn.request.message(3).parts
    assert view.tokens == weight(turn, view.plan)


def test_a_late_result_behind_its_call_takes_the_made_one_back() -> None:
    """It need not be moved, so the history goes out as it came."""
    state = taken(turn_of(*WAITING[:2]))
    turn = turn_of(*WAITING[:2], result("c1"), says("x"))
    view = view_of(turn, recall(turn, state))

    assert state.plan == Plan((mended(2, "c1"),))
    assert view.plan == EMPTY_PLAN
    assert view.tokens == weight(turn)


def test_a_late_result_of_another_call_takes_nothing_back() -> None:
    """Nor does one that was there before."""
    state = taken(turn_of(*WAITING))
    turn = turn_of(*WAITING, calls("c2"), result("c2"))
    view = view_of(turn, recall(turn, state))

    assert view.plan == state.plan


def test_edits_before_the_closed_place_are_not_looked_at_again() -> None:
    """Nor are the messages there; what comes behind them is mended in its own places."""
    fold = Fold((Ref(1), Ref(2)), 1, MADE, "folded")
    state = taken(turn_of(*HISTORY), Plan((fold,)))
    turn = turn_of(*HISTORY, calls("c3"), user("never mind"))
    view = view_of(turn, recall(turn, state))

    assert state.settled == 5
    assert (view.kept, view.added) == (state.plan, Plan((mended(8, "c3"),)))
    assert view.tokens == weight(turn, view.plan)


def test_a_late_result_leaves_the_edits_before_the_closed_place() -> None:
    """Only what stood for it goes."""
    messages = (*HISTORY[:5], *WAITING[1:])
    turn = turn_of(*messages)
    state = taken(turn, Plan((clip(2, "c1"), mended(6, "c1"))))
    assert state.settled == 5
    later = turn_of(*messages, result("c1"), says("x"))
    view = view_of(later, recall(later, state))

    assert view.kept == Plan((clip(2, "c1"),))
    assert view.tokens == weight(later, view.plan)


STEPS = st.sampled_from(["talk", "work", "twice", "leave", "late", "stray"])


def grown(steps: list[str]) -> list[list[Json]]:
    """What each step adds to a history."""
    added: list[list[Json]] = [[user("go")]]
    left: list[str] = []
    for number, step in enumerate(steps):
        match step:
            case "talk":
                added.append([says(f"a{number}"), user(f"u{number}")])
            case "work":
                added.append([calls(f"c{number}"), result(f"c{number}", "x" * 30 * number)])
            case "twice":
                names = (f"c{number}a", f"c{number}b")
                added.append([calls(*names), *map(result, names)])
            case "leave":
                left.append(f"c{number}")
                added.append([calls(f"c{number}"), user("never mind")])
            case "late":
                added.append([*map(result, left), says(f"a{number}"), user(f"u{number}")])
                left = []
            case _:
                added.append([result(f"s{number}"), says(f"a{number}"), user(f"u{number}")])
    return added


@given(steps=st.lists(STEPS, max_size=8))
def test_step_by_step_is_weighed_as_all_at_once(steps: list[str]) -> None:
    """What is known already is right, and the edits of a step are kept by the next."""
    messages: list[Json] = []
    state: State | None = None
    for new in grown(steps):
        messages += new
        turn = turn_of(*messages)
        view = view_of(turn, recall(turn, state))
        again = view_of(turn)
        settled, tokens = settle(weighed(turn, view.plan), 0, 0, view.plan)
        assert view.tokens == weight(turn, view.plan)
        assert (view.settled, view.settled_tokens) == (settled, tokens)
        assert (view.whole_tokens, view.rounds, view.seen) == (
            again.whole_tokens,
            again.rounds,
            again.seen,
        )
        state = replace(
            taken(turn, view.plan), settled=view.settled, settled_tokens=view.settled_tokens
        )


# ------------------------------------------------------------------- settle


def placed(*messages: Json, plan: Plan = EMPTY_PLAN, start: int = 0) -> int:
    """The place up to which some messages are closed."""
    turn = turn_of(*messages)
    place, tokens = settle(weighed(turn, plan), start, 100, plan)
    if plan is EMPTY_PLAN:
        assert tokens == 100 + weight(turn_of(*messages[: place - start]))
    return place


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ((), 0),
        ((user("a"),), 0),
        ((user("a"), says("b")), 1),
        ((user("a"), says("b"), user("c")), 1),
        ((user("a"), says("b"), user("c"), says("d")), 3),
        # a run of answers is one
        ((user("a"), says("b"), says("c")), 1),
        ((user("a"), calls("c1"), calls("c2"), result("c1"), result("c2")), 1),
        # no result is awaited there
        ((user("a"), calls("c1"), result("c1"), says("b")), 3),
        ((user("a"), calls("c1"), user("b"), says("c")), 1),
        ((user("a"), calls("c1", "c2"), result("c1"), says("c")), 1),
        ((user("a"), calls("c1"), user("b"), result("c1"), says("c")), 4),
        (HISTORY, 5),
        # it is an answer that begins there
        ((says("hello"), user("a")), 0),
    ],
)
def test_all_is_closed_before_the_last_answer(messages: tuple[Json, ...], place: int) -> None:
    """For the answer may still be changed by what comes: its result may be late."""
    assert placed(*messages) == place


def test_places_count_from_where_it_begins() -> None:
    """And the weight on what lies before."""
    assert placed(user("a"), says("b"), start=7) == 8
    assert placed(user("a"), start=7) == 7


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (clip(2, "c1"), 5),
        (clip(6, "c2"), 5),
        (Drop(Ref(0), "d"), 5),
        (Drop(Ref(5, (0,)), "d"), 5),
        # what it parted is one run of answers
        (Drop(Ref(4), "d"), 3),
        (Keep(Ref(0), "k"), 5),
        # an answer that is gone or that is ours begins nothing
        (Drop(Ref(5), "d"), 3),
        (Fold((Ref(5),), 5, Message.assistant("made", origin="filler"), "f"), 3),
        # no edit lies on both sides
        (Fold((Ref(1), Ref(2)), 3, MADE, "f"), 5),
        (Fold((Ref(1), Ref(2)), 5, MADE, "f"), 5),
        (Fold((Ref(1), Ref(2)), 1, MADE, "f", 0), 5),
        (Fold((Ref(1), Ref(2)), 6, MADE, "f"), 0),
        (Fold((Ref(1), Ref(2)), 7, MADE, "f", 6), 0),
        (Fold((), 5, MADE, "f"), 5),
        (Fold((), 6, MADE, "f"), 5),
        (Fold((), 6, MADE, "f", 5), 5),
        (Fold((Ref(6),), 6, MADE, "f", 4), 3),
    ],
)
def test_no_edit_lies_on_both_sides_of_the_place(edit: Edit, place: int) -> None:
    """What is closed can be sent again without a look at the rest."""
    assert placed(*HISTORY, plan=Plan((edit,))) == place
