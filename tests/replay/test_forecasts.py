"""What is known of the requests of a recorded session before they are sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from trimtab import Limits, Usage
from trimtab.replay.forecasts import Forecasted, forecasts
from trimtab.replay.recording import RecordedRequest, Recording

Json = dict[str, Any]

USER: Json = {"role": "user", "content": "Read it all."}
LIMITS = Limits(50_000, 20_000, 8_000)


def turn(number: int, words: int) -> list[Json]:
    """A call and its result."""
    function = {"name": "read", "arguments": json.dumps({"part": number})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "Reading.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "word " * words},
    ]


def request(
    messages: Sequence[Json], billed: int | None, *, model: str = "gpt-5.2", output: int = 20
) -> RecordedRequest:
    """One request of a recording."""
    body = json.dumps({"model": model, "messages": messages}).encode()
    usage = None if billed is None else Usage(fresh=billed, output=output)
    return RecordedRequest("openai-chat", lambda: body, len(body), len(messages), model, usage)


def told(*requests: RecordedRequest) -> list[Forecasted]:
    """What was known of each."""
    return list(forecasts(Recording("kind", "name", requests), LIMITS))


def test_what_is_new_is_predicted_from_the_bill_before() -> None:
    """The first request has nothing before it; the answer counts as it was billed."""
    first, second = told(
        request([USER], 9_000), request([USER, *turn(1, 2_000)], 11_030, output=25)
    )

    assert (first.reported, first.predicted, first.error) == (9_000, None, None)
    assert second.predicted is not None
    assert abs(second.predicted - 11_030) <= 10
    assert second.error is not None
    assert second.error < 0.001
    assert second.forecast is not None
    assert (second.forecast.used, second.forecast.limit) == (11_030, 20_000)
    assert second.affordable_bytes == (50_000 - 11_030) * 3


def test_another_model_has_no_bill_to_start_from() -> None:
    """What the first one was billed says nothing of it."""
    _, second = told(request([USER], 9_000), request([USER, *turn(1, 9)], 9_040, model="gpt-5.6"))

    assert (second.predicted, second.model) == (None, "gpt-5.6")


def test_what_was_cut_from_the_list_is_not_in_the_prediction() -> None:
    """A client that compacts has a smaller request next."""
    long = [USER, *turn(1, 5_000)]
    *_, cut = told(request([USER], 4_000), request(long, 9_030), request([USER, USER], 4_012))

    assert cut.predicted is not None
    assert abs(cut.predicted - 4_012) < 50


def test_a_request_without_a_bill_is_predicted_and_teaches_nothing() -> None:
    """The next one is predicted from the last that was billed."""
    longer = [USER, *turn(1, 2_000)]
    longest = [*longer, *turn(2, 1_000)]
    first, second, third = told(
        request([USER], 9_000), request(longer, None), request(longest, 12_060)
    )

    assert first.predicted is None
    assert (second.reported, second.error) == (None, None)
    assert second.predicted is not None
    assert third.predicted is not None
    assert second.predicted < third.predicted
    assert abs(third.predicted - 12_060) < 50


def test_a_request_that_cannot_be_read_is_passed_over() -> None:
    """It is told with what it was billed, and nothing else."""
    broken = RecordedRequest("openai-chat", lambda: b"{", 1, 0, "gpt-5.2", Usage(fresh=7))

    assert told(broken) == [Forecasted("gpt-5.2", 7, None, None, None)]
