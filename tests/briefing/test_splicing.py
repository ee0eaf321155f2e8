"""A briefing in its place: one of them, with one ledger, roles kept, the tail giving way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.test_compaction import config, orphans, pair, talk
from trimtab import (
    CompactionConfig,
    Constraints,
    Limits,
    Message,
    Policy,
    Text,
    ToolCall,
    ToolResult,
    compact_messages,
)
from trimtab.background.lists import history_of
from trimtab.boundaries import MARKER
from trimtab.briefing import BRIEFING, Span, is_briefing, splice, with_marker_absorbed
from trimtab.briefing.splicing import Spliced
from trimtab.briefing.texts import briefing_text
from trimtab.ledger import read_ledger
from trimtab.plan import Keep, apply
from trimtab.strategies.fold import FILLER
from trimtab.strategies.history import History
from trimtab.tokens import Measure

ROOMY = config(20_000)
RULE = "Never touch ./secrets."


def span(head: int, cut: int) -> Span:
    """Some messages; what they weigh plays no part here."""
    return Span(head, cut, cut - head, 1)


def spliced(
    messages: Sequence[Message], part: Span, settings: CompactionConfig = ROOMY, tail: int = 0
) -> Spliced:
    """A briefing in place of a span, within a config's limits."""
    history = history_of(messages, settings)
    limits = settings.limits(settings.budget_tokens)
    done = splice(history, part, "said", limits, tail)
    assert [slot.message for slot in apply(done.plan, messages)] == done.messages
    assert done.tokens == sum(map(settings.measure.message, done.messages))
    return done


def shape(messages: Sequence[Message]) -> str:
    """Roles, with what we made in capitals."""
    return "".join(m.role[0].upper() if m.origin else m.role[0] for m in messages)


def the_briefing(done: Spliced) -> Message:
    """The one that there is."""
    [found] = [message for message in done.messages if is_briefing(message)]
    return found


def test_the_span_is_replaced_and_the_rest_is_the_very_same() -> None:
    """Head and tail are the objects that they were; roles go on alternating."""
    messages = talk("pairs", 6)

    done = spliced(messages, span(1, 7))

    assert shape(done.messages) == "uAUauaua"
    assert done.messages[0] is messages[0]
    assert all(a is b for a, b in zip(done.messages[3:], messages[7:], strict=True))
    assert done.messages[1].text == FILLER
    assert the_briefing(done).text.endswith("\n\nSummary by a model:\nsaid")


def test_the_question_under_way_follows_the_briefing() -> None:
    """Also where nothing before it goes; instructions and the first user message stay in front."""
    call = ToolCall("c", "look", "{}")
    rounds = [m for _ in range(6) for m in (Message.assistant(call), Message.tool("c", "r"))]
    asked = [Message.user("The question."), *rounds]
    for begun in (
        [*pair(0)],
        [Message.system("s"), *pair(0)],
        [Message.system("s"), Message.user("the first")],
    ):
        head = len(begun)
        done = spliced([*begun, *asked], span(head, head + 9))
        texts = [message.text for message in done.messages]
        assert texts.index("The question.") > done.messages.index(the_briefing(done))
        assert [m for m in done.messages if m in begun] == begun
        assert done.messages[: len(begun)] == begun

    first = [Message.system("s"), Message.user("the first"), Message.assistant("a"), *asked]
    done = spliced(first, span(0, 11))
    assert shape(done.messages)[:5] == "suAUA"


def test_without_a_head_a_briefing_follows_the_first_user_message() -> None:
    """That is what the conversation is about."""
    assert shape(spliced(talk("pairs", 6), span(0, 8)).messages) == "uAUAuaua"
    assert shape(spliced([Message.assistant("hi"), *talk("pairs", 5)], span(0, 7)).messages) == (
        "UAuAuaua"
    )


def test_roles_that_did_not_alternate_need_not() -> None:
    """Nothing is put in where nothing is broken."""
    messages = [Message.user("one"), *talk("pairs", 5), Message.user("two"), Message.user("three")]

    assert shape(spliced(messages, span(1, 9)).messages) == "uUuauu"


def test_what_is_protected_in_the_span_stays_in_order() -> None:
    """With the reason in the plan; a system message keeps its place."""
    settings = config(20_000, protect=lambda message: message.text == RULE)
    messages = [*pair(0), Message.system("rules"), *pair(1), Message.user(RULE), *pair(2)[1:]]
    messages += talk("pairs", 4)

    done = spliced(messages, span(1, 9), settings)

    kept = [message.text for message in done.messages if message.origin is None]
    assert kept[:3] == [messages[0].text, "rules", RULE]
    reasons = [edit.reason for edit in done.plan if isinstance(edit, Keep)]
    assert reasons == ["system message", "named by protect"]


def test_calls_that_reach_out_of_the_span_stay_whole() -> None:
    """A result that came late belongs to the call before it."""
    call = ToolCall("c1", "run", "{}")
    messages = [*talk("pairs", 2), Message.assistant(call), *pair(3), *pair(4)]
    messages += [Message.tool("c1", "late"), *talk("pairs", 2)]

    done = spliced(messages, span(1, 8))

    assert orphans(done.messages) == []
    assert "c1" in [call_id for message in done.messages for call_id in message.call_ids]


def test_half_a_message_goes_where_only_its_half_is_in_an_exchange_that_stays() -> None:
    """Its words are summed up; its results stay with their call."""
    call = ToolCall("c1", "run", "{}")
    mixed = Message("user", [ToolResult("c1", (Text("ran"),)), Text("and go on " + "x" * 400)])
    messages = [*pair(0), Message.assistant(call), mixed, *talk("pairs", 6)]
    history = history_of(messages, ROOMY)
    [number] = [n for n, p in enumerate(history.boundaries.pieces) if p.ref.parts == (0,)]
    protected = dict.fromkeys(
        history.boundaries.atoms[history.boundaries.pieces[number].atom].pieces, "kept"
    )
    history = History(
        history.messages,
        history.message_tokens,
        0,
        history.boundaries,
        {**history.protected, **protected},
        history.constraints,
        history.policy,
        history.measure,
    )

    done = splice(history, span(3, 10), "said", Limits(20_000, 20_000, 20_000))

    assert orphans(done.messages) == []
    assert done.messages[3].text == ""
    assert is_briefing(done.messages[4])


def test_two_halves_that_both_go_are_the_message() -> None:
    """Nothing empty is left."""
    call = ToolCall("c1", "run", "{}")
    mixed = Message("user", [ToolResult("c1", (Text("ran"),)), Text("and go on")])
    messages = [*pair(0), Message.assistant(call), mixed, *talk("pairs", 6)]

    assert mixed not in spliced(messages, span(1, 10)).messages


def test_a_briefing_never_interrupts_a_turn_under_way() -> None:
    """It stands before the message that a format says must not be interrupted."""
    messages = talk("pairs", 8)
    policy = Policy(limit_tokens=1, keep_first=1)
    history = History.weigh(
        messages, 0, Measure(ROOMY.measure._counter), policy, Constraints(turn_start=2)
    )

    done = splice(history, span(4, 10), "said", Limits(20_000, 20_000, 20_000))

    assert is_briefing(done.messages[2]) or is_briefing(done.messages[3])
    assert done.messages[-1] is messages[-1]


# ---------------------------------------------------------------------- one ledger


def test_the_ledger_of_an_earlier_briefing_goes_on_and_its_summary_does_not() -> None:
    """The new one stands alone."""
    first = spliced([Message.user("Go."), Message.user(RULE), *talk("pairs", 5)], span(1, 8))
    assert RULE in read_ledger(the_briefing(first).text).rules

    again = spliced([*first.messages, *talk("pairs", 6)], span(1, 8))

    assert RULE in read_ledger(the_briefing(again).text).rules
    assert the_briefing(again).text.count("said") == 1


@pytest.mark.parametrize("joins", [True, False])
def test_the_ledger_of_an_earlier_marker_goes_on_wherever_it_stands(joins: bool) -> None:  # noqa: FBT001
    """Joined to the user's first message, or a message of its own; none is left beside."""
    messages = [*pair(0), Message.user(RULE), Message.assistant("Yes."), *talk("pairs", 30)]
    if not joins:
        messages.insert(1, Message.user("and this"))
    compacted = compact_messages(messages, config(4_000))
    assert sum(MARKER in message.text for message in compacted) == 1
    assert (MARKER in compacted[0].text) is joins

    done = spliced([*compacted, *talk("pairs", 6)], span(1, len(compacted)))

    assert not any(MARKER in message.text for message in done.messages)
    assert done.messages[0] == messages[0]
    assert RULE in read_ledger(the_briefing(done).text).rules


def test_a_marker_outside_of_the_span_goes_on_too() -> None:
    """Alone in its message, as one part of it, or behind words in the same text."""
    listed = f"{MARKER}\n\nRules in the user's words:\n- {RULE}"
    for last in (
        Message.user(listed, origin="marker"),
        Message.user(Text("words"), Text(listed)),
        Message.user(f"words\n\n{listed}"),
    ):
        messages = [*talk("pairs", 6), last, Message.user("newest")]

        done = spliced(messages, span(1, 9))

        assert not any(MARKER in message.text for message in done.messages)
        assert RULE in read_ledger(the_briefing(done).text).rules
        if last.origin is None:
            assert "words" in [message.text for message in done.messages]


def test_without_a_ledger_there_is_none() -> None:
    """As the user wants."""
    messages = [Message.user("Go."), Message.user(RULE), *talk("pairs", 5)]

    done = spliced(messages, span(1, 8), config(20_000, ledger=False))

    assert the_briefing(done).text == briefing_text("", "said")


def test_a_ledger_is_never_longer_than_its_share() -> None:
    """A fourth of the target, whatever there is to say."""
    verbs = ("delete", "paint", "rename", "move", "open", "close", "fold", "print", "send", "copy")
    things = ("apples", "chairs", "tables", "letters", "doors", "maps", "coins", "keys", "lamps")
    words = [Message.user(f"Never {verb} the {thing}.") for verb in verbs for thing in things]
    settings = config(4_000)

    done = spliced([Message.user("Go."), *words, *talk("pairs", 3)], span(1, 93), settings)

    listed = the_briefing(done).text.removeprefix(BRIEFING).partition("\n\nSummary by")[0]
    assert 100 < settings.measure.text(listed.strip()) <= 400


# ---------------------------------------------------------------------------- tail


def test_a_tail_gives_way_and_its_ledger_joins_that_of_the_briefing() -> None:
    """No marker beside it, nothing of the briefing lost, within the target."""
    settings = config(4_000, keep_first=1)
    words = [Message.user(RULE), Message.assistant("Yes.")]
    messages = [*talk("pairs", 6), *words, *talk("pairs", 20)]

    done = spliced(messages, span(1, 12), settings)

    assert done.tokens <= 1_600
    assert not any(MARKER in message.text for message in done.messages)
    assert RULE in read_ledger(the_briefing(done).text).rules
    assert the_briefing(done).text.endswith("said")
    assert done.messages[-1] is messages[-1]


def test_for_the_targets_sake_a_tail_is_not_given_up() -> None:
    """So many tokens of it stay; for the limit's sake it goes."""
    settings = config(4_000, target_ratio=0.05, headroom_turns=None)
    messages = talk("pairs", 16)

    all_of_it = spliced(messages, span(1, 20), settings, tail=10_000)
    assert all(m in all_of_it.messages for m in messages[20:])
    none_of_it = spliced(messages, span(1, 20), settings)
    assert none_of_it.tokens < 600

    tight = spliced(messages, span(1, 10), config(1_500), tail=10_000)
    assert tight.tokens <= 1_500


def test_a_summary_without_room_says_what_it_would_weigh() -> None:
    """Whoever asked decides what to do then."""
    history = history_of(talk("pairs", 12), config(2_000))

    done = splice(history, span(1, 16), "word " * 4_000, config(2_000).limits(2_000))

    assert done.tokens > 2_000


def test_where_there_is_no_room_for_them_roles_need_not_alternate() -> None:
    """A filler goes before anything that somebody said."""
    messages = talk("pairs", 6)
    history = history_of(messages, ROOMY)
    bare = splice(history, span(1, 8), "said", Limits(20_000, 20_000, 20_000))
    fillers = [m for m in bare.messages if m.origin == "filler"]
    most = bare.tokens - sum(map(ROOMY.measure.message, fillers))

    tight = splice(history, span(1, 8), "said", Limits(most, most, most))

    assert len(fillers) == 2
    assert (tight.tokens, [m for m in tight.messages if m.origin == "filler"]) == (most, [])


# ------------------------------------------------------------- beside an old briefing


def protected_briefing(settings: CompactionConfig) -> Any:
    """The policy that keeps it."""
    return CompactionConfig(
        max_context_tokens=settings.max_context_tokens,
        system_prompt_tokens=0,
        keep_first=1,
        keep_recent=2,
        counter=settings.counter,
        protect=is_briefing,
    )


def test_a_marker_beside_an_old_briefing_becomes_part_of_it() -> None:
    """By rule, while no summary is there: the summary stays, the ledger grows."""
    settings = protected_briefing(config(3_000))
    old = Message.user(
        briefing_text("Rules in the user's words:\n- Be brief.", "old"), origin="summary"
    )
    messages = [
        *pair(0)[:1], Message.assistant("ok"), old, Message.assistant("go on"),
        Message.user(RULE), Message.assistant("Yes."), *talk("pairs", 16),
    ]  # fmt: skip
    limits = settings.limits(3_000)
    from trimtab.compaction import compacted  # noqa: PLC0415 - only here

    by_rule = compacted(messages, settings)
    assert sum(MARKER in message.text for message in by_rule.messages) == 1

    done = with_marker_absorbed(history_of(messages, settings), by_rule.plan, limits)

    assert not any(MARKER in message.text for message in done.messages)
    assert read_ledger(the_briefing(done).text).rules == ("Be brief.", RULE)
    assert the_briefing(done).text.endswith("\nold")
    assert done.tokens <= by_rule.outcome.tokens_after


def test_without_a_briefing_or_a_marker_a_plan_stays_what_it_is() -> None:
    """There is nothing to absorb, or nothing to absorb it."""
    settings = config(3_000)
    from trimtab.compaction import compacted  # noqa: PLC0415 - only here

    for messages in (talk("pairs", 20), talk("pairs", 2)):
        by_rule = compacted(messages, settings)
        history = history_of(messages, settings)
        done = with_marker_absorbed(history, by_rule.plan, settings.limits(3_000))
        assert done.messages == by_rule.messages


@pytest.mark.parametrize("tokens", [700, 900, 1_200])
def test_what_the_format_forbids_holds_in_the_tail(tokens: int) -> None:
    """A message that is not understood stays there, whole; the turn under way is not cut."""
    messages = talk("pairs", 16)
    frozen = frozenset({22, 25})
    settings = config(tokens)
    history = History.weigh(
        messages, 0, settings.measure, settings.policy, Constraints(frozen=frozen, turn_start=26)
    )
    done = splice(history, span(1, 19), "said", settings.limits(tokens))

    assert len(done.messages) < len(messages) - 18
    for place in (*frozen, 26):
        assert any(message is messages[place] for message in done.messages)
