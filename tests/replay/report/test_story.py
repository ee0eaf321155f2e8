"""What the report tells of a session is numbers, and goes into a journal and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from tests.replay.report.told import LIMIT, long_session
from tests.replay.sessions import agent, answer, recorded, turn_of, user, weighed
from trimtab import Policy, Usage
from trimtab.economy import Bill, Cut, Prices, ProviderCache, Split
from trimtab.engine import Engine
from trimtab.messages import Media, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from trimtab.plan import EMPTY_PLAN, Drop, Fold, Keep, Plan, Ref, Replace
from trimtab.replay.cuts import Made, Without
from trimtab.replay.recording import RecordedRequest
from trimtab.replay.regret import Missed
from trimtab.replay.report.losses import FRAMES, cut_story, kind_of_handle
from trimtab.replay.report.story import Cost, CutAccount, Loss, MissStory, PricedModel, Story
from trimtab.replay.report.teller import Asking, Teller
from trimtab.replay.results import Costs
from trimtab.replay.weights import Said
from trimtab.tokens import Measure, counter_for

MEASURE = Measure(counter_for("claude-sonnet-4-5"), "claude-sonnet-4-5")
SMALL = Policy(limit_tokens=20_000, trigger_tokens=9_000)
PRICES = Prices(1.0, 0.1, 1.25, 2.0, 5.0)
BILL = Usage(fresh=100, cache_read=900)
ACCOUNT = CutAccount(Cost(3.0, 0.3), Cost(9.0, 0.9), 4, 1, Cost(2.0, 0.2), 3)


def made(turn: int, cut: Cut) -> Made:
    """A compaction on a cold moment."""
    return Made(turn, cut, Split(written=cut.after), "idle", 3_600.0, Without([], ProviderCache()))


def told_by(requests: list[RecordedRequest], policy: Policy = SMALL) -> tuple[Teller, list[int]]:
    """Run a session through an engine, as the replay does; with the turns on which it compacted."""
    engine, teller, cuts = Engine(policy), Teller(), []
    last, messages = 0, 0
    for place, each in enumerate(requests):
        rewrite = engine.sync.rewrite(turn_of(each))
        new = weighed(each)[messages:]
        before, after = last + sum(said.counted for said in new), rewrite.outcome.tokens_after
        last, messages = after, each.message_count
        is_cut = any(type(event).__name__ == "ContextCompacted" for event in rewrite.events)
        if is_cut:
            cuts.append(place)
        teller.saw(
            rewrite,
            weighed(each),
            MEASURE,
            billed=BILL if place else None,
            trigger_tokens=9_000,
            made=made(place, Cut(before, after, 100, 0)) if is_cut else None,
        )
        engine.sync.forwarded(rewrite.ticket)
    return teller, cuts


@cache
def long_story() -> tuple[Story, Sequence[int], Sequence[RecordedRequest]]:
    """A session that is compacted several times, with the turns on which it was."""
    requests = agent(90)
    teller, cuts = told_by(requests)
    accounts = [ACCOUNT] * len(cuts)
    story = teller.story(
        asking(len(requests)), [], accounts, {}, is_cached=True, life_seconds=300.0
    )
    return story, cuts, requests


def asking(count: int, prices: Prices | None = PRICES) -> list[Asking]:
    """What the replay knows at its end."""
    cost = Costs(Bill(cost=1.0), 2.0)
    split = Split(fresh=1, read=20, written=300, written_long=4_000)
    return [
        Asking("m", float(at), 7, prices, split, 9_000, (cost, cost, cost)) for at in range(count)
    ]


def test_a_story_comes_back_from_json_as_it_was() -> None:
    """To the number, so that a broken-off replay goes on with the same report."""
    story = long_session().story

    assert Story.from_json(json.loads(json.dumps(story.to_json()))) == story
    assert Story.from_json(json.loads(json.dumps(Story().to_json()))) == Story()


def test_anything_else_is_no_story() -> None:
    """A journal of another version is replayed again."""
    with pytest.raises((KeyError, TypeError)):
        Story.from_json({"turns": [{}]})


def test_every_compaction_is_told_and_adds_up() -> None:
    """Kinds and frames, less what was put in, are what the request lost; messages are all accounted for."""
    story, cuts, requests = long_story()

    assert len(cuts) >= 2
    assert [cut.turn for cut in story.cuts] == list(cuts)
    for cut in story.cuts:
        lost = sum(loss.tokens for loss in cut.removed)
        assert lost - cut.made_tokens == cut.before_tokens - cut.after_tokens
        messages = cut.untouched_messages + cut.shortened_messages + cut.gone_messages
        assert messages == requests[cut.turn].message_count
        kinds = {loss.kind: loss for loss in cut.removed}
        assert kinds["results of tools"].tokens > 0
        assert kinds["results of tools"].pieces > 0
        assert abs(kinds[FRAMES].tokens) < 0.2 * lost
        assert (cut.user_messages, cut.user_messages_untouched) == (1, 1)
        assert sum(loss.tokens for loss in cut.reasons) == lost
        assert sum(loss.pieces for loss in cut.reasons) == sum(loss.pieces for loss in cut.removed)
        assert (cut.read_tokens, cut.cached_tokens) == (0, 0)
        assert (cut.cause, cut.idle_seconds, cut.account) == ("trigger", 3_600.0, ACCOUNT)
        assert cut.foretold_tokens > 9_000
        assert cut.unread == "the session had been idle for 60 minutes, longer than the cache lives"
    assert story.cuts[-1].noted["files"] > 0


def test_a_second_compaction_tells_only_what_it_took_itself() -> None:
    """What was gone before is not removed again."""
    story, _, requests = long_story()
    results = [
        sum(loss.pieces for loss in cut.removed if loss.kind == "results of tools")
        for cut in story.cuts
    ]

    assert sum(results) < len(requests)
    assert min(results) > 0


def test_turns_tell_how_each_request_is_billed() -> None:
    """Whatever is written counts as written, for however long."""
    teller, _ = told_by(agent(1))
    (first, second) = teller.story(asking(2), [], [], {}, is_cached=True, life_seconds=0.0).turns
    assert (first.billed_tokens, first.billed_read) == (None, None)
    assert (second.billed_tokens, second.billed_read) == (1_000, 900)

    assert (first.read, first.written, first.fresh, first.output) == (20, 4_300, 1, 7)
    assert (first.sent_tokens, first.whole_tokens, first.trigger_tokens) == (4_321, 9_000, 9_000)
    assert (first.cost.dollars, first.window_tokens) == (1.0, None)
    known = [replace(each, model="claude-sonnet-4-5") for each in asking(2)]
    (first, _) = teller.story(known, [], [], {}, is_cached=True, life_seconds=0.0).turns
    assert first.window_tokens == 200_000


def test_as_many_requests_must_be_told_as_were_seen() -> None:
    """Else turns would be told of the wrong requests."""
    teller, _ = told_by(agent(1))

    with pytest.raises(ValueError, match="zip"):
        teller.story(asking(1), [], [], {}, is_cached=True, life_seconds=0.0)


def test_misses_tell_kinds_and_no_words() -> None:
    """What was used stays in the conversation."""
    teller, _ = told_by(agent(1))
    missed = [Missed(1, 30, ("src/secret.py", "API_KEY=hunter2", "src/other.py"))]
    story = teller.story(asking(2), missed, [], {}, is_cached=True, life_seconds=0.0)

    assert story.misses == (MissStory(1, 30, {"paths": 2, "settings": 1}),)
    assert "secret" not in json.dumps(story.to_json())


def test_each_price_of_a_model_is_told_once() -> None:
    """With the days for which it was asked, and whether the user named it."""
    teller, _ = told_by(agent(2))
    asked = [*asking(2), *asking(1, None)]
    story = teller.story(asked, [], [], {"m": PRICES}, is_cached=True, life_seconds=0.0)

    assert story.priced == (
        PricedModel("m", 2, PRICES, 0.0, 1.0, is_override=True),
        PricedModel("m", 1, None, 0.0, 0.0, is_override=False),
    )


# --------------------------------------------------------------------- losses

PARTS = {
    "words of the user": Message("user", [Text("What do you see in this picture?")]),
    "words of the model": Message("assistant", [Text("A house, and a tree beside it.")]),
    "thinking": Message("assistant", [Thinking("Houses have roofs, trees have none.")]),
    "calls of tools": Message("assistant", [ToolCall("c1", "look", '{"at": "a/b.png"}')]),
    "results of tools": Message("tool", [ToolResult("c1", (Text("a house and a tree, at noon"),))]),
    "images and files": Message("user", [Media("image", width=400, height=400)]),
    "content of unknown kind": Message(
        "user", [Opaque("x", '{"type": "x", "words": "many words"}')]
    ),
}


def said_of(message: Message) -> Said:
    """A message that was billed at twice its count."""
    counted = MEASURE.message(message)
    is_result = any(isinstance(part, ToolResult) for part in message.parts)
    return Said(b"x", 2 * counted, counted, 1, message.role, is_result)


@pytest.mark.parametrize(("kind", "message"), PARTS.items(), ids=PARTS)
def test_what_goes_is_told_by_its_kind(kind: str, message: Message) -> None:
    """In tokens as they are billed."""
    plan = Plan((Keep(Ref(0), "not told"), Drop(Ref(0), "why", 11)))
    said = said_of(message)
    tokens = 2 * MEASURE.part(message.parts[0])
    told = cut_story(3, Cut(500, 400, 0, 0), EMPTY_PLAN, plan, [said], lambda _: message, MEASURE)

    assert told.removed == (Loss(kind, 1, tokens), Loss(FRAMES, 0, 100 - tokens))
    assert told.reasons == (Loss("why", 1, tokens), Loss(FRAMES, 0, 100 - tokens))
    assert (told.gone_messages, told.untouched_messages, told.made_tokens) == (1, 0, 0)


def test_a_part_that_is_shortened_tells_what_it_lost() -> None:
    """And what had been shortened before is told from where it stood."""
    message = Message("user", [Text("one two three four five six"), Text("stays")])
    first = Plan((Replace(0, 0, Text("one two three"), "clipped", 5),))
    second = Plan((*first.edits, Drop(Ref(0, (0,)), "gone", 4)))
    said = [said_of(message)]

    def lost(before: Plan, after: Plan) -> Loss:
        told = cut_story(0, Cut(0, 0, 0, 0), before, after, said, lambda _: message, MEASURE)
        assert (told.shortened_messages, told.gone_messages) == (1, 0)
        return told.removed[0]

    whole, half = (
        2 * MEASURE.text(words) for words in ("one two three four five six", "one two three")
    )
    assert lost(EMPTY_PLAN, first) == Loss("words of the user", 1, whole - half)
    assert lost(first, second) == Loss("words of the user", 1, half)


def test_what_stands_for_it_is_told_apart() -> None:
    """A marker costs what it costs; one that was there before is not told again."""
    messages = [Message("user", [Text("words " * 50)]), Message("assistant", [Text("yes")])]
    marker = Message.user("[trimtab: 1 message left out]", origin="marker")
    plan = Plan((Fold((Ref(0),), 0, marker, "middle", saved_tokens=40),))
    said = [said_of(message) for message in messages]
    weight = 2 * MEASURE.parts(marker.parts)

    def told(before: Plan) -> int:
        return cut_story(
            0, Cut(0, 0, 0, 0), before, plan, said, messages.__getitem__, MEASURE
        ).made_tokens

    assert (told(EMPTY_PLAN), told(plan)) == (weight, 0)


def test_no_message_at_all_is_no_loss() -> None:
    """A rate over nothing is one to one."""
    told = cut_story(
        0, Cut(9, 9, 0, 0), EMPTY_PLAN, EMPTY_PLAN, [], lambda _: Message.user(""), MEASURE
    )

    assert told.removed == (Loss(FRAMES, 0, 0),)


@pytest.mark.parametrize(
    ("handle", "kind"),
    [
        ("never touch the public names", "words of the user"),
        ("https://example.org/a=b", "web addresses"),
        ("KEY=some/value", "settings"),
        ("src/trimtab/plan.py", "paths"),
        ("3c8337b5a4", "ids and hashes"),
        ("123e4567-e89b-12d3-a456-426614174000", "ids and hashes"),
        ("saved_tokens", "names in code"),
    ],
)
def test_a_handle_has_one_kind(handle: str, kind: str) -> None:
    """The first that fits."""
    assert kind_of_handle(handle) == kind


def test_a_history_that_begins_anew_is_told_from_the_start() -> None:
    """Another conversation in the same recording owes nothing to the one before."""
    other = [recorded([user("Another task."), answer("Yes. " * 4_000), user("Go on. " * 2_500)])]
    teller, cuts = told_by([*agent(40), *other, *agent(40)[-1:]])

    assert LIMIT > 0
    assert cuts
    accounts = [ACCOUNT] * len(cuts)
    told = teller.story(asking(43), [], accounts, {}, is_cached=True, life_seconds=0.0)
    assert told.cuts[0].turn == cuts[0]
