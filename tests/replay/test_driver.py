"""What comes of recorded sessions that are run through the engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trimtab import Call, Engine, Outcome, Policy, Usage
from trimtab.errors import PolicyError
from trimtab.replay.driver import LeftOut, ReplayedRequest, SessionReport, Totals, replay
from trimtab.replay.paths import files_in
from trimtab.replay.recording import RecordedRequest, Recording

Json = dict[str, Any]
MODEL = "gpt-5.6"
UNKNOWN_WINDOW = (
    "the window of 'nobody-knows-it' is not known: name the tokens that a request must not pass"
)


def said(role: str, words: str) -> Json:
    """A message of words."""
    return {"role": role, "content": words}


def dialogue(rounds: int, words: str = "a word or two ") -> list[Json]:
    """A history that ends with the user's words."""
    messages = [said("user", "go")]
    for number in range(rounds):
        messages += [said("assistant", f"{number}: {words * 20}"), said("user", f"and {number}?")]
    return messages


def recorded(messages: list[Json], named: str = MODEL, **known: Any) -> RecordedRequest:
    """A recorded request to OpenAI Chat; the body names a model, or none."""
    body = json.dumps({"messages": messages, **({"model": named} if named else {})}).encode()
    return RecordedRequest("openai-chat", lambda: body, len(body), len(messages), **known)


def recording(*requests: RecordedRequest, notes: tuple[str, ...] = ()) -> Recording:
    """A recorded session."""
    return Recording("request-bodies", "it", requests, notes)


def growing(rounds: int, **known: Any) -> list[RecordedRequest]:
    """The requests of a session that grows by a round each time."""
    return [recorded(dialogue(count), **known) for count in range(1, rounds)]


def replayed(
    requests: Sequence[RecordedRequest], policy: Policy | None = None
) -> list[ReplayedRequest]:
    """Requests that are all replayed, without their times."""
    results = []
    for result in replay(recording(*requests), policy):
        assert isinstance(result, ReplayedRequest)
        assert result.rewrite_seconds > 0
        results.append(replace(result, rewrite_seconds=0.0))
    return results


def test_it_is_what_an_engine_makes_of_each_request_in_order() -> None:
    """Outcomes and bodies are those of one engine that is told that each request was taken."""
    policy = Policy(limit_tokens=500)
    requests = growing(25)
    engine = Engine(policy).sync

    expected = []
    for request in requests:
        body = request.build()
        rewrite = engine.rewrite(Call(body), "openai-chat")
        engine.forwarded(rewrite.ticket)
        expected.append((rewrite.outcome, rewrite.body != body))

    results = replayed(requests, policy)
    assert [(result.outcome, result.is_changed) for result in results] == expected
    assert (
        1
        < sum(result.is_compacted for result in results)
        < sum(result.is_changed for result in results)
    )
    assert [result.breaks for result in results] == [
        ("compaction",) if result.is_compacted else () for result in results
    ]


def test_a_request_that_fits_is_told_whole() -> None:
    """Every value of a request that goes out as it came."""
    (result,) = replayed([recorded([said("user", "hi")])], Policy(limit_tokens=100))

    assert result == ReplayedRequest(
        outcome=Outcome("untouched", 100, 8, 8),
        counter="o200k_base (exact)",
        is_changed=False,
        is_compacted=False,
        breaks=(),
        is_valid_before=True,
        is_valid_after=True,
        rewrite_seconds=0.0,
    )


def test_each_session_is_replayed_as_if_it_was_the_first() -> None:
    """Nothing is carried over from one replay to the next."""
    requests, policy = growing(12), Policy(limit_tokens=500)

    assert replayed(requests, policy) == replayed(requests, policy)


def test_what_was_billed_tells_how_large_the_next_request_is() -> None:
    """Billed at twice the count, a session is compacted at half of it, and told in billed tokens."""
    requests, policy = growing(12), Policy(limit_tokens=500)
    plain = replayed(requests, policy)
    twice = [
        replace(request, usage=Usage(fresh=2 * result.outcome.tokens_before))
        for request, result in zip(requests, plain, strict=True)
    ]

    billed = replayed(twice, policy)

    assert billed[0] == plain[0]
    assert billed[1].counter.endswith("(calibrated)")
    assert billed[1].outcome.tokens_before >= 1.9 * plain[1].outcome.tokens_before
    first = [[r.is_compacted for r in results].index(True) for results in (billed, plain)]
    assert first[0] < first[1]
    assert all(result.outcome.fits for result in billed)


def test_a_body_is_built_when_it_is_its_turn() -> None:
    """A session of hundreds of requests does not hold hundreds of bodies."""
    built: list[int] = []

    def request(number: int) -> RecordedRequest:
        told = recorded(dialogue(number))

        def build() -> bytes:
            built.append(number)
            return told.build()

        return replace(told, build=build)

    results = replay(recording(*map(request, range(3))))

    assert built == []
    next(results)
    assert built == [0]
    next(results)
    assert built == [0, 1]


def test_time_passes_as_it_was_recorded() -> None:
    """After a break of an hour the provider's cache is lost, so that is when it compacts."""
    policy = Policy(limit_tokens=500)
    steady = growing(6, at=1_000.0)
    late = [*steady[:-1], replace(steady[-1], at=4_600.0)]

    assert [result.is_compacted for result in replayed(steady, policy)] == [False] * 5
    assert [result.is_compacted for result in replayed(late, policy)] == [False] * 4 + [True]


def test_the_model_of_the_recording_counts_where_the_body_names_none() -> None:
    """A log may know who answered although the body does not say."""
    (result,) = replayed([recorded([said("user", "hi")], "", model="gpt-4o")])

    assert result.outcome.limit_tokens > 100_000
    assert result.counter == "o200k_base (exact)"


def test_a_format_that_is_not_recorded_is_told_from_the_content() -> None:
    """Bodies that were found in a file need nobody who knows their format."""
    request = replace(recorded([said("user", "hi")]), format="")

    assert replayed([request]) == replayed([recorded([said("user", "hi")])])


# ------------------------------------------------------------ causes of breaks


@pytest.mark.parametrize(
    ("second", "breaks"),
    [
        (recorded(dialogue(2)), ()),
        (recorded([said("user", "go"), said("assistant", "!"), said("user", "?")]), ()),
        (recorded(dialogue(2), "gpt-4o"), ("model_changed",)),
        (
            recorded([said("user", "go"), said("assistant", "!"), *dialogue(1)[2:]]),
            ("client_edited",),
        ),
        (recorded([said("user", "Name the session.")]), ("new_conversation",)),
    ],
    ids=["goes on", "forks", "other model", "edited", "other conversation"],
)
def test_a_break_is_told_with_its_cause(second: RecordedRequest, breaks: tuple[str, ...]) -> None:
    """A request that extends what was sent before, or what a fork shares with it, breaks nothing."""
    results = replayed([recorded(dialogue(1)), second])

    assert [result.breaks for result in results] == [(), breaks]


def test_several_causes_are_all_told() -> None:
    """A client may change more than one thing in one turn."""
    first = recorded([said("system", "Be brief."), *dialogue(1)])
    second = recorded([said("system", "Be brief."), *dialogue(2)], "gpt-4o")
    body = json.loads(second.build())
    body["tools"] = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    changed = json.dumps(body).encode()

    results = replayed([first, replace(second, build=lambda: changed)])

    assert results[1].breaks == ("model_changed", "tools_changed")


# ------------------------------------------------------------------- validity


def test_a_request_that_came_in_broken_may_be_sent_whole() -> None:
    """What is mended on the way is invalid before and valid after."""
    orphan = {"role": "tool", "tool_call_id": "c9", "content": "42"}

    (result,) = replayed([recorded([said("user", "hi"), orphan])])

    assert (result.is_valid_before, result.is_valid_after) == (False, True)
    assert result.is_changed
    assert not result.is_made_invalid


def test_what_a_recording_does_not_hold_is_not_blamed() -> None:
    """A rule that needs a field which the log lacks is not broken."""
    messages = [said("user", "hi")]
    body = json.dumps({"model": "claude-sonnet-4-5", "messages": messages}).encode()
    told = RecordedRequest("anthropic", lambda: body, len(body), 1)

    (held,) = replayed([told])
    (lacking,) = replayed([replace(told, unrecorded=frozenset({"max_tokens"}))])

    assert (held.is_valid_before, held.is_valid_after) == (False, False)
    assert (lacking.is_valid_before, lacking.is_valid_after) == (True, True)


@pytest.mark.parametrize(
    ("before", "after", "made"),
    [(True, True, False), (True, False, True), (False, True, False), (False, False, False)],
)
def test_only_what_came_in_valid_can_be_made_invalid(before: bool, after: bool, made: bool) -> None:  # noqa: FBT001 - a table's columns
    """Who sends what is broken already gets no blame from us, and gives none."""
    assert figures(is_valid_before=before, is_valid_after=after).is_made_invalid == made


# ------------------------------------------------------------------- left out


def test_a_request_without_a_known_limit_is_left_out() -> None:
    """The reason names the model; requests to other models are replayed all the same."""
    unknown = recorded(dialogue(1), "nobody-knows-it")

    results = list(replay(recording(unknown, recorded(dialogue(1)), unknown)))

    assert results[0] == LeftOut(UNKNOWN_WINDOW, is_limit_unknown=True)
    assert isinstance(results[1], ReplayedRequest)
    assert results[1].breaks == ()
    assert results[2] is results[0]
    with pytest.raises(PolicyError):
        Engine().sync.rewrite(Call(unknown.build()))


def test_a_budget_stands_in_for_a_window_that_is_not_known() -> None:
    """With a limit that is named, every model can be replayed."""
    unknown = recorded(dialogue(1), "nobody-knows-it")

    assert len(replayed([unknown, unknown], Policy(limit_tokens=500))) == 2


def test_a_body_that_cannot_be_read_is_left_out() -> None:
    """The next one goes on where the one before stood."""
    first, third = recorded(dialogue(1)), recorded(dialogue(2))
    cut_off = replace(first, build=lambda: first.build()[:-1])

    results = list(replay(recording(cut_off, first, cut_off, third)))

    reasons = [result for result in results if isinstance(result, LeftOut)]
    assert [type(result) for result in results] == [
        LeftOut, ReplayedRequest, LeftOut, ReplayedRequest
    ]  # fmt: skip
    assert len(set(reasons)) == 1
    assert "(at byte" in reasons[0].reason
    assert not reasons[0].is_limit_unknown
    assert [result.breaks for result in results if isinstance(result, ReplayedRequest)] == [(), ()]


# -------------------------------------------------------------------- reports


def figures(outcome: Outcome | None = None, **changed: Any) -> ReplayedRequest:
    """A request that was replayed."""
    usual = ReplayedRequest(
        outcome=outcome or Outcome("untouched", 100, 50, 50),
        counter="o200k_base (exact)",
        is_changed=False,
        is_compacted=False,
        breaks=(),
        is_valid_before=True,
        is_valid_after=True,
        rewrite_seconds=0.002,
    )
    return replace(usual, **changed)


REQUESTS = [
    figures(),
    figures(
        Outcome("fits", 100, 120, 40), is_changed=True, is_compacted=True, breaks=("compaction",)
    ),
    figures(
        Outcome("unmet", 100, 150, 130, 90, "no"),
        counter="o200k_base x 1 (estimate)",
        breaks=("model_changed", "compaction"),
        is_changed=True,
        is_valid_after=False,
        rewrite_seconds=0.5,
    ),
    figures(Outcome("unsatisfiable", 1_000, 1_100, 1_100, 1_100, "no"), is_valid_before=False),
]


def test_requests_are_taken_together() -> None:
    """Sums, counts, the request that fills its limit most, and the median of the times."""
    assert Totals.of(REQUESTS) == Totals(
        requests=4,
        tokens_before=1_420,
        tokens_after=1_320,
        peak_tokens=130,
        peak_limit_tokens=100,
        changed=2,
        compactions=1,
        breaks=2,
        breaks_by_cause={"compaction": 2, "model_changed": 1},
        unmet=1,
        unsatisfiable=1,
        invalid_before=1,
        invalid_after=1,
        made_invalid=1,
        rewrite_median_seconds=0.002,
        rewrite_most_seconds=0.5,
        counters=("o200k_base (exact)", "o200k_base x 1 (estimate)"),
    )
    assert Totals.of(REQUESTS).over_limit == 2


def test_no_requests_are_nothing() -> None:
    """A session of which all was left out has sums too."""
    assert Totals.of([]) == Totals(
        requests=0,
        tokens_before=0,
        tokens_after=0,
        peak_tokens=0,
        peak_limit_tokens=0,
        changed=0,
        compactions=0,
        breaks=0,
        breaks_by_cause={},
        unmet=0,
        unsatisfiable=0,
        invalid_before=0,
        invalid_after=0,
        made_invalid=0,
        rewrite_median_seconds=0.0,
        rewrite_most_seconds=0.0,
        counters=(),
    )


def test_a_session_is_reported_with_what_was_left_out() -> None:
    """Replayed and left out apart, each in order; what the recording tells of itself stays."""
    left = [LeftOut("no window", is_limit_unknown=True), LeftOut("cut off")]
    lacking = frozenset({"tools"}), frozenset({"model"})
    told = recording(*(recorded([], unrecorded=fields) for fields in lacking), notes=("guessed",))

    report = SessionReport.of(told, [left[0], REQUESTS[0], left[1], REQUESTS[1], left[0]])

    assert report == SessionReport(
        kind="request-bodies",
        name="it",
        requests=(REQUESTS[0], REQUESTS[1]),
        left_out=(left[0], left[1], left[0]),
        unrecorded=frozenset({"model", "tools"}),
        notes=("guessed",),
    )
    assert report.totals == Totals.of(REQUESTS[:2])
    assert report.reasons == {"no window": 2, "cut off": 1}


# ---------------------------------------------------------------------- files


def test_files_are_found_in_the_order_of_names(tmp_path: Path) -> None:
    """Folders and files among each other; hidden ones, and links that could lead in circles, aside."""
    for name in ("b/2.json", "b/1.json", "a.json", "c.json", ".hidden", "b/.git/x", ".git/y"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "b" / "circle").symlink_to(tmp_path)
    (tmp_path / "d.json").symlink_to(tmp_path / "a.json")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")

    found = files_in([tmp_path])

    assert [str(file.relative_to(tmp_path)) for file in found] == [
        "a.json", "b/1.json", "b/2.json", "c.json", "d.json"
    ]  # fmt: skip


def test_what_is_named_is_taken_once_whatever_it_is_called(tmp_path: Path) -> None:
    """A hidden file is read where somebody names it, and nothing is read twice."""
    (tmp_path / ".log").touch()
    (tmp_path / "a").touch()

    assert files_in([tmp_path / ".log", tmp_path, tmp_path / "a", tmp_path / "nowhere"]) == [
        tmp_path / ".log", tmp_path / "a", tmp_path / "nowhere"
    ]  # fmt: skip
