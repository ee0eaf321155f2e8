"""Reported faults that concern summaries by a model: of lists that are written back, and of requests."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.conformance import test_cases, test_prefix_cases
from tests.conformance.shared import case_input, cases, marking
from tests.conformance.test_cases import FORMATS, Json, in_format, total
from tests.conformance.test_prefix_cases import Worker, body_of
from tests.summarizer.serving import completion, serving
from trimtab import (
    CharTokenCounter,
    CompactionConfig,
    ContextCompacted,
    Engine,
    LlmCompaction,
    Message,
    Policy,
    Summary,
    SummaryRequest,
    TokenCounter,
    ToolCall,
    TriggerUnreachable,
    in_memory,
)
from trimtab.background import BackgroundSummaries, Retry
from trimtab.boundaries import MADE_PREFIX, MARKER, SUMMARY_LINE
from trimtab.briefing import BRIEFING, is_briefing
from trimtab.events import Event, SummaryGivenUp
from trimtab.messages import Text
from trimtab.stores import InMemoryStore, Store, sqlite
from trimtab.summarizer import model_summarizer
from trimtab.tokens import Quality
from trimtab.wire import Call, check, read

KINDS = {3, 4, 5, 6, 14}
AREAS = {"summary", "compaction", "store", "tracker"}

WITHOUT_A_SUMMARY = {
    "20-output-reserve-eats-window.json": "the room for the answer, whatever is sent",
    "35-tool-args-cut-inside-json.json": "what rules make shorter, word by word",
    "91-lost-updates-and-torn-files.json": "states and files",
    "94-unbounded-caches.json": "states and memos",
}
"""Cases that no summary has a part in: their tests are in the other files."""


def in_scope() -> set[str]:
    """The cases of these kinds and areas, whichever file has their tests."""
    return {
        name
        for name, case in cases().items()
        if int(case["kind"].split()[0]) in KINDS and case["area"] in AREAS
    }


TESTED: set[str] = set()

case = marking(TESTED)

each_format = pytest.mark.parametrize("format", FORMATS)

# -------------------------------------------------------------------- harness

GOOD = Summary("## Goal\nShip the parser.", "stop")
ONCE = Retry(retries=0)
_PATIENCE = 60.0
"""Seconds after which something on a slow machine is taken for hung."""


class Rote:
    """Answers what a script says, once it may.

    Args:
        replies: One after another; the last one stays. An exception is raised, and what
            can be called is asked for its answer.
    """

    def __init__(self, *replies: object) -> None:
        self.replies: list[Any] = list(replies)
        self.requests: list[SummaryRequest] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    async def summarize(self, request: SummaryRequest) -> Any:
        """Answer; some replies are nonsense on purpose."""
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        while not self.may_answer.is_set():  # noqa: ASYNC110 - set by other threads
            await asyncio.sleep(0.002)
        if isinstance(reply, BaseException):
            raise reply
        return await reply() if callable(reply) else reply


def settle(maker: BackgroundSummaries) -> None:
    """Wait until nothing is under way."""
    until = time.monotonic() + _PATIENCE
    while not all(flight.job is None or flight.job.is_over for flight in maker._wanted):
        assert time.monotonic() < until
        time.sleep(0.002)


class Process(Worker):
    """A process that rewrites requests, whose summaries are made beside them."""

    def __init__(
        self,
        format: str,  # noqa: A002 - the word for it
        policy: Policy,
        summarizer: Any,
        store: Store | None = None,
        retry: Retry = ONCE,
        **settings: Any,
    ) -> None:
        self.maker = BackgroundSummaries(summarizer, retry=retry, **settings)
        given = in_memory() if store is None else store
        super().__init__(format, policy, given, summaries=self.maker)
        self.told: list[Event] = []

    def turn(self, messages: Sequence[Message]) -> bytes:
        """Send a request, and let what it began come to its end."""
        body = self.send(messages)
        self.told += self.events
        settle(self.maker)
        return body

    def of(self, kind: type) -> list[Any]:
        """What it told, of a kind."""
        return [event for event in self.told if isinstance(event, kind)]


@dataclass
class Listening:
    """Strategies for lists, with all that they tell."""

    summarizer: Any
    settings: Json = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = {"retry": ONCE, "on_event": self.events.append, **self.settings}
        self.compaction = LlmCompaction(self.summarizer, **given)

    def turn(self, messages: list[Message], config: CompactionConfig) -> list[Message]:
        """One call, and let what it began come to its end."""
        kept = self.compaction.compact(messages, config)
        assert self.compaction.wait(_PATIENCE)
        return kept

    def of(self, kind: type) -> list[Any]:
        """What it told, of a kind."""
        return [event for event in self.events if isinstance(event, kind)]


def config(tokens: int, **settings: Any) -> CompactionConfig:
    """Room for so many tokens of messages alone."""
    given = {"keep_recent": 2, "keep_first": 1, "counter": CharTokenCounter(), **settings}
    return CompactionConfig(max_context_tokens=tokens, system_prompt_tokens=0, **given)


def weight(messages: Sequence[Message], settings: CompactionConfig) -> int:
    """What a list weighs."""
    return sum(map(settings.measure.message, messages))


def texts(body: bytes, format: str) -> list[str]:  # noqa: A002 - the word for it
    """What each message says."""
    return [message.text for message in read(body, format).messages]


def neutral(messages: Sequence[Json]) -> list[Message]:
    """The messages of a case as ours, by way of the format that they are written in."""
    body = in_format(messages, "openai-chat")
    return [Message(m.role, list(m.parts)) for m in read(body, "openai-chat").messages]


def briefed(said: Sequence[str]) -> int:
    """How many briefings there are."""
    return sum(text.startswith(BRIEFING) for text in said)


def turn_of(number: int, letters: int = 120) -> list[Message]:
    """What the model answers, and what the user asks then."""
    return [
        Message.assistant(f"answer {number} " + "a" * letters),
        Message.user(f"question {number} " + "q" * letters),
    ]


# ------------------------------------------------------ 3 compaction loop / thrash


@case("18-threshold-below-fixed-overhead.json")
@each_format
def test_below_the_fixed_part_no_summary_is_asked_for_in_vain(format: str) -> None:  # noqa: A002 - the word for it
    """The trigger can never be met: the requests go out as they are, and it is told once."""
    given = case_input("18-threshold-below-fixed-overhead.json")
    setup, messages = given["setup"], list(given["messages"])
    system = "x" * 4 * setup["fixed_overhead_tokens"]
    trigger = int(setup["window"] * setup["trigger"])
    policy = Policy(limit_tokens=setup["window"], trigger_tokens=trigger, summaries=True)
    rote = Rote(GOOD)
    process = Process(format, policy, rote)
    for number in range(20):
        body = in_format([{"role": "system", "content": system}, *messages], format)
        assert process.exchange(Call(body)).body is body
        process.told += process.events
        settle(process.maker)
        messages += [
            {"role": "assistant", "content": f"answer {number}"},
            {"role": "user", "content": f"and now {number}"},
        ]

    assert rote.calls <= 2
    assert len(process.of(TriggerUnreachable)) == 1


@case("19-summary-larger-than-span.json")
def test_a_summary_larger_than_its_span_leaves_a_list_alone() -> None:
    """Refused with both numbers; nobody is asked again until the span has grown as it must."""
    given = case_input("19-summary-larger-than-span.json")
    rote = Rote(Summary(given["stub"]["summariser"], "stop"))
    messages = neutral(given["messages"])
    settings = config(weight(messages, config(1)) * 3 // 2)
    listening = Listening(rote, {"retain_tail_tokens": 10})

    assert listening.turn(messages, settings) is messages
    assert listening.compaction.state == "idle"
    [told] = listening.of(SummaryGivenUp)
    assert told.cause == "too large"
    size = CharTokenCounter().count(given["stub"]["summariser"].strip())
    assert f"weighs {size} tokens" in told.reason

    for number in range(30):
        messages = listening.turn([*messages, *turn_of(number, 10)], settings)
        assert briefed([m.text for m in messages]) == 0
        assert weight(messages, settings) <= settings.budget_tokens
    assert rote.calls == 1


@case("19-summary-larger-than-span.json")
@each_format
def test_a_summary_larger_than_its_span_leaves_requests_alone(format: str) -> None:  # noqa: A002 - the word for it
    """What is sent is what would be sent without it, and one try is paid for."""
    given = case_input("19-summary-larger-than-span.json")
    rote = Rote(Summary(given["stub"]["summariser"], "stop"))
    messages = [*neutral(given["messages"]), Message.user("next")]
    limit = total(body_of(messages, format), format) * 3 // 2
    policy = Policy(limit_tokens=limit, keep_recent=4, summaries=True)
    process = Process(format, policy, rote)
    silent = Worker(format, Policy(limit_tokens=limit, keep_recent=4))
    for number in range(20):
        assert process.turn(messages) == silent.send(messages)
        messages += turn_of(number, 10)

    assert rote.calls == 1
    assert [told.cause for told in process.of(SummaryGivenUp)] == ["too large"]


class Doubling:
    """Counts twice as much as the usual one."""

    name = "doubling"
    quality: Quality = "estimate"

    def count(self, text: str) -> int:
        """Two for each four characters."""
        return 2 * CharTokenCounter().count(text)


@case("19-summary-larger-than-span.json")
@pytest.mark.parametrize("counter", [CharTokenCounter(), Doubling()])
@pytest.mark.parametrize(("min_gain", "is_taken"), [(0.2, False), (0.02, True)])
def test_the_least_gain_is_a_setting_of_lists(
    counter: TokenCounter,
    min_gain: float,
    is_taken: bool,  # noqa: FBT001 - what must come out
) -> None:
    """A tenth less will do or not, by the counter that weighed the span; the result is smaller."""
    messages = neutral(case_input("19-summary-larger-than-span.json")["messages"])
    messages = [Message(m.role, [Text(m.text + " w" * 100)]) for m in messages]

    async def nearly() -> Summary:
        # Counted as the span is: rendered it has its role tags on top, the messages theirs.
        return Summary("w " * (2 * int(0.9 * span // unit)), "stop")

    rote = Rote(nearly)
    unit = counter.count("word")
    settings = config(weight(messages, config(1, counter=counter)) * 3 // 2, counter=counter)
    span = weight(messages[1:-2], settings)
    listening = Listening(rote, {"retain_tail_tokens": 10, "min_gain": min_gain})
    listening.turn(messages, settings)

    assert listening.compaction.state == ("ready" if is_taken else "idle")
    grown = [*messages, *(m for n in range(12) for m in turn_of(n, 100))]
    listening.turn(grown, settings)
    told = listening.of(ContextCompacted)
    assert all(event.tokens_after < event.tokens_before for event in told)
    assert [event.method for event in told] == ["summarized" if is_taken else "deterministic"]


@case("19-summary-larger-than-span.json")
@pytest.mark.parametrize(("min_gain", "is_taken"), [(0.2, False), (0.02, True)])
@each_format
def test_the_least_gain_is_a_setting_of_requests(
    format: str,  # noqa: A002 - the word for it
    min_gain: float,
    is_taken: bool,  # noqa: FBT001 - what must come out
) -> None:
    """The same on the wire."""
    messages = neutral(case_input("19-summary-larger-than-span.json")["messages"])
    messages = [Message(m.role, [Text(m.text + " w" * 100)]) for m in messages]
    messages.append(Message.user("next"))
    limit = total(body_of(messages, format), format) * 3 // 2
    policy = Policy(
        limit_tokens=limit,
        target_tokens=limit,
        keep_recent=4,
        summaries=True,
        summary_min_gain=min_gain,
    )
    tokens: list[int] = []

    async def nearly() -> Summary:
        return Summary("w " * (2 * int(0.9 * tokens[0])), "stop")

    process = Process(format, policy, Rote(nearly))
    rewrite = process.engine.rewrite(Call(body_of(messages, format)), format)
    assert rewrite.wanted is not None
    tokens.append(rewrite.wanted.tokens)
    process.turn(messages)
    sent = [process.turn(messages := [*messages, *turn_of(n, 200)]) for n in range(12)]

    assert (briefed(texts(sent[-1], format)) == 1) or not is_taken
    causes = [told.cause for told in process.of(SummaryGivenUp)]
    assert causes[:1] == ([] if is_taken else ["too large"])
    assert all(e.tokens_after < e.tokens_before for e in process.of(ContextCompacted))


# --------------------------------------------------------------- 4 bad summaries


async def _after_a_part() -> Summary:
    """An answer that breaks off."""

    async def parts() -> Any:
        yield case_input("23-empty-or-failed-summary-wipes-history.json")["stub"][
            "summariser_replies"
        ][4]["raise_after_partial"]
        raise ConnectionError("net error")

    return Summary("".join([part async for part in parts()]), "stop")


def bad_replies() -> dict[str, object]:
    """The replies of case 23 as a summarizer gives them; an error that passes, and one that stays."""
    given = case_input("23-empty-or-failed-summary-wipes-history.json")["stub"][
        "summariser_replies"
    ]
    empty, blank, null, raising, _, parts = given
    return {
        "empty": Summary(empty, "stop"),
        "blank": Summary(blank, "stop"),
        "null": null,
        "no text": Summary(null, "stop"),
        "raises": RuntimeError(raising["raise"]),
        "broken": ConnectionError(raising["raise"]),
        "partial": _after_a_part,
        "no parts": Summary(parts["content"], "stop"),
    }


BAD = ("empty", "blank", "null", "no text", "raises", "broken", "partial", "no parts")


@case("23-empty-or-failed-summary-wipes-history.json")
@pytest.mark.parametrize("reply", BAD)
def test_a_bad_reply_leaves_a_list_as_it_would_be_without_it(reply: str) -> None:
    """Within the budget the same list; over it what rules make of it, told; later a good one counts."""
    rote = Rote(bad_replies()[reply])
    messages = neutral(case_input("23-empty-or-failed-summary-wipes-history.json")["messages"])
    settings = config(weight(messages, config(1)) * 4 // 3)
    listening = Listening(rote, {"retain_tail_tokens": 10})

    assert listening.turn(messages, settings) is messages
    assert [told.attempts for told in listening.of(SummaryGivenUp)] == [1] * rote.calls == [1]
    kept = messages
    for number in range(60):
        kept = listening.turn([*kept, *turn_of(number, 10)], settings)
        assert weight(kept, settings) <= settings.budget_tokens
        assert "net error" not in "".join(message.text for message in kept)
        assert "Sum" not in "".join(message.text for message in kept)
    assert rote.calls <= 6
    assert {told.method for told in listening.of(ContextCompacted)} == {"deterministic"}
    assert any(MARKER in message.text for message in kept)

    rote.replies = [GOOD]
    for number in range(60, 140):
        kept = listening.turn([*kept, *turn_of(number, 10)], settings)
    assert briefed([message.text for message in kept]) == 1


@case("23-empty-or-failed-summary-wipes-history.json")
@pytest.mark.parametrize("reply", BAD)
@each_format
def test_a_bad_reply_leaves_requests_as_they_would_be_without_it(format: str, reply: str) -> None:  # noqa: A002 - the word for it
    """To the byte, until a good one comes."""
    rote = Rote(bad_replies()[reply])
    given = case_input("23-empty-or-failed-summary-wipes-history.json")["messages"]
    messages = [*neutral(given), Message.user("next")]
    limit = total(body_of(messages, format), format) * 4 // 3
    process = Process(format, Policy(limit_tokens=limit, keep_recent=4, summaries=True), rote)
    silent = Worker(format, Policy(limit_tokens=limit, keep_recent=4))
    body = b""
    for number in range(24):
        body = process.turn(messages)
        assert body == silent.send(messages)
        assert b"net error" not in body
        messages += turn_of(number, 10)
    methods = {told.method for told in process.of(ContextCompacted)}
    assert rote.calls <= 6
    assert 0 < len(process.of(SummaryGivenUp)) <= rote.calls
    assert methods == {"deterministic"}

    rote.replies = [GOOD]
    for number in range(24, 64):
        body = process.turn(messages)
        messages += turn_of(number, 10)
    assert briefed(texts(body, format)) == 1


@case("23-empty-or-failed-summary-wipes-history.json")
def test_what_may_go_better_is_tried_again_a_few_times_with_longer_waits() -> None:
    """A broken connection, under one request; then the request is given up."""
    retry = Retry(retries=3, first_seconds=0.01, factor=2.0, jitter=0.0)
    rote = Rote(bad_replies()["broken"])
    messages = neutral(case_input("23-empty-or-failed-summary-wipes-history.json")["messages"])
    settings = config(weight(messages, config(1)) * 4 // 3)
    listening = Listening(rote, {"retain_tail_tokens": 10, "retry": retry})
    began = time.monotonic()

    assert listening.turn(messages, settings) is messages
    assert [told.attempts for told in listening.of(SummaryGivenUp)] == [4]
    assert rote.calls == 4
    assert time.monotonic() - began >= 0.01 + 0.02 + 0.04
    waits = [Retry().wait_seconds(attempt, None, 0.5) for attempt in range(1, 12)]
    assert waits == sorted(waits)
    assert max(waits) == 30


def served_replies() -> dict[str, tuple[int, dict[str, str], Json]]:
    """The same replies as a server gives them."""
    texts_ = {"empty": "", "blank": "   \n", "null": None}
    error = {"error": {"message": "net error", "type": "server_error"}}
    parts = completion("")
    parts["choices"][0]["message"]["content"] = []
    nothing = completion("")
    nothing["choices"] = []
    return {
        **{name: (200, {}, completion(text)) for name, text in texts_.items()},
        "raises": (500, {}, error),
        "no parts": (200, {}, parts),
        "no choices": (200, {}, nothing),
    }


@case("23-empty-or-failed-summary-wipes-history.json")
@pytest.mark.parametrize("reply", ["empty", "blank", "null", "raises", "no parts", "no choices"])
def test_a_bad_reply_of_a_server_leaves_list_and_requests_alone(reply: str) -> None:
    """Through the real client."""
    given = case_input("23-empty-or-failed-summary-wipes-history.json")["messages"]
    messages = neutral(given)
    settings = config(weight(messages, config(1)) * 4 // 3)
    with serving(served_replies()[reply]) as served:
        summarizer = model_summarizer(chat_model(served.url))
        listening = Listening(summarizer, {"retain_tail_tokens": 10})
        assert listening.turn(messages, settings) is messages
        assert listening.compaction.state == "idle"
        [told] = listening.of(SummaryGivenUp)
        assert "net error" not in told.reason
        asked = [*messages, Message.user("next")]
        limit = total(body_of(asked, "anthropic"), "anthropic") * 4 // 3
        policy = Policy(limit_tokens=limit, keep_recent=4, summaries=True)
        process = Process("anthropic", policy, summarizer)
        process.turn(asked)
        again = [*asked, *turn_of(1, 10)]
        assert process.turn(again) == body_of(again, "anthropic")
        assert len(process.of(SummaryGivenUp)) == 1


def chat_model(url: str) -> Model:
    """OpenAI's, of a server of ours."""
    provider = OpenAIProvider(base_url=url, api_key="k")
    provider.client.max_retries = 0
    return OpenAIChatModel("gpt-5-mini", provider=provider)


def model_of(wire: str, url: str) -> Model:
    """The client of each provider, of a server of ours."""
    host = url.removesuffix("/v1")
    match wire:
        case "anthropic":
            return AnthropicModel(
                "claude-haiku-4-5", provider=AnthropicProvider(base_url=host, api_key="k")
            )
        case "gemini":
            return GoogleModel(
                "gemini-3-flash-preview", provider=GoogleProvider(base_url=host, api_key="k")
            )
        case "openai-responses":
            provider = OpenAIProvider(base_url=url, api_key="k")
            return OpenAIResponsesModel("gpt-5-mini", provider=provider)
    return chat_model(url)


def answer_of(stop: Json, text: str) -> Json:
    """The answer of a provider that stopped so."""
    wire = stop["wire"]
    if wire == "anthropic":
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": text}],
            "stop_reason": stop["stop_reason"],
            "stop_sequence": None,
            "usage": {"input_tokens": 900, "output_tokens": 40},
        }
    if wire == "gemini":
        content = {"role": "model", "parts": [{"text": text}]}
        return {
            "candidates": [{"content": content, "finishReason": stop["finishReason"], "index": 0}],
            "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 40},
            "modelVersion": "gemini-3-flash-preview",
        }
    if wire == "openai-responses":
        said = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "m1", "role": "assistant", "content": [said]}
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": "gpt-5-mini",
            "status": stop["status"],
            "incomplete_details": stop.get("incomplete_details"),
            "output": [{**item, "status": stop["status"]}],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
    return completion(text, stop["finish_reason"])


STOPS = range(7)
DONE: dict[str, Json] = {
    "openai-chat": {"finish_reason": "stop"},
    "anthropic": {"stop_reason": "end_turn"},
    "gemini": {"finishReason": "STOP"},
    "openai-responses": {"status": "completed"},
}
"""How each provider says that the model was done."""


def stop_of(number: int) -> tuple[Json, str]:
    """One of the ways to stop, and the text that was cut."""
    stub = case_input("24-truncated-summary-accepted.json")["stub"]
    return stub["summariser_stop"][number], stub["text"]


def words_of(stop: Json) -> list[str]:
    """What a summarizer of somebody's own may pass on of it."""
    details = stop.get("incomplete_details", {})
    return [v for k, v in {**stop, **details}.items() if k != "wire" and isinstance(v, str)]


@contextmanager
def asked_of(stop: Json, text: str) -> Iterator[Any]:
    """A real client of the provider, whose answers stop so."""
    with serving((200, {}, answer_of(stop, text))) as served:
        yield model_summarizer(model_of(stop["wire"], served.url))


@case("24-truncated-summary-accepted.json")
@pytest.mark.parametrize("number", STOPS)
def test_a_cut_or_refused_answer_of_a_provider_is_never_spliced(number: int) -> None:
    """Through the client of that provider: neither in a list nor in a request of any format."""
    stop, text = stop_of(number)
    with asked_of(stop, text) as summarizer:
        listening = Listening(summarizer, {"retain_tail_tokens": 10})
        kept = _list_over_its_budget(listening)
        assert [told.cause for told in listening.of(SummaryGivenUp)][:1] == ["refused"]
        assert text not in "".join(message.text for message in kept)
        assert {told.method for told in listening.of(ContextCompacted)} == {"deterministic"}
        for format_ in FORMATS:
            process, body = _requests_over_their_limit(format_, summarizer)
            assert text.encode() not in body
            assert {told.cause for told in process.of(SummaryGivenUp)} == {"refused"}


@case("24-truncated-summary-accepted.json")
@pytest.mark.parametrize("wire", FORMATS)
def test_an_answer_of_a_provider_that_is_done_is_spliced(wire: str) -> None:
    """So that the seven are refused for how they stopped, and for nothing else."""
    with asked_of({"wire": wire, **DONE[wire]}, GOOD.text) as summarizer:
        listening = Listening(summarizer, {"retain_tail_tokens": 10})
        kept = _list_over_its_budget(listening)
        assert briefed([message.text for message in kept]) == 1
        _, body = _requests_over_their_limit(wire, summarizer)
        assert briefed(texts(body, wire)) == 1


@case("24-truncated-summary-accepted.json")
@pytest.mark.parametrize("number", STOPS)
def test_a_cut_or_refused_answer_of_any_summarizer_is_never_spliced(number: int) -> None:
    """In the provider's own word."""
    stop, text = stop_of(number)
    for word in words_of(stop):
        listening = Listening(Rote(Summary(text, word)), {"retain_tail_tokens": 10})
        kept = _list_over_its_budget(listening)
        assert text not in "".join(message.text for message in kept)
        for format_ in FORMATS:
            process, body = _requests_over_their_limit(format_, Rote(Summary(text, word)))
            assert text.encode() not in body
            assert {told.cause for told in process.of(SummaryGivenUp)} == {"refused"}


def _list_over_its_budget(listening: Listening) -> list[Message]:
    """A list that grows past its budget twice."""
    kept, settings = [Message.user("go")], config(1_200)
    for number in range(20):
        kept = listening.turn([*kept, *turn_of(number, 200)], settings)
    return kept


def _requests_over_their_limit(format: str, summarizer: Any) -> tuple[Process, bytes]:  # noqa: A002 - the word for it
    """The same as requests."""
    process = Process(format, Policy(limit_tokens=1_200, keep_recent=2, summaries=True), summarizer)
    messages, body = [Message.user("go")], b""
    for number in range(14):
        messages += turn_of(number, 200)
        body = process.turn(messages)
    return process, body


@case("24-truncated-summary-accepted.json")
@pytest.mark.parametrize("number", STOPS)
def test_after_a_cut_answer_more_room_is_given_at_most_twice(number: int) -> None:
    """What was cut is asked for with more room; what was refused is not; the waits grow for both."""
    stop, text = stop_of(number)
    is_cut = "filter" not in str(stop) and "refusal" not in str(stop) and "SAFETY" not in str(stop)
    wanted = [2_000, 4_000, 8_000, 8_000] if is_cut else [2_000] * 4
    for word in words_of(stop):
        rote = Rote(Summary(text, word))
        listening = Listening(rote, {"retain_tail_tokens": 10})
        kept, settings = [Message.user("go")], config(1_200)
        for turn in range(40):
            kept = listening.turn([*kept, *turn_of(turn, 200)], settings)
        assert [request.max_tokens for request in rote.requests][:4] == wanted
        assert len(rote.requests) <= 6

        rote = Rote(Summary(text, word))
        policy = Policy(limit_tokens=1_200, keep_recent=2, summaries=True)
        process, messages = Process("openai-chat", policy, rote), [Message.user("go")]
        for turn in range(40):
            messages += turn_of(turn, 200)
            process.turn(messages)
        asked = [request.max_tokens for request in rote.requests]
        assert asked == [*wanted, *wanted[-1:] * 9][: len(asked)]
        assert 3 <= len(asked) <= 6


@case("24-truncated-summary-accepted.json")
@pytest.mark.parametrize(("text", "is_taken"), [(GOOD.text, True), ("", False), (" \n", False)])
def test_without_a_stop_field_an_answer_must_only_say_something(
    text: str,
    is_taken: bool,  # noqa: FBT001 - what must come out
) -> None:
    """Blank is not good enough."""
    listening = Listening(Rote(Summary(text)), {"retain_tail_tokens": 10})
    kept = _list_over_its_budget(listening)
    assert (briefed([message.text for message in kept]) == 1) is is_taken
    for format_ in FORMATS:
        _, body = _requests_over_their_limit(format_, Rote(Summary(text)))
        assert (briefed(texts(body, format_)) == 1) is is_taken


# The conversation of cases 25 and 89: forty items, the last ten of them long, and what comes then.

SUMMED, KEPT, LATER = 30, 10, 50
ROOM = 5_600
"""Forty items are over 0.6 of it, with fifty more they are within it, and the last question is not."""


def item(number: int) -> Message:
    """One of the forty."""
    letters = (700 if number % 2 else 40) if number < SUMMED else 1300 if number % 2 else 60
    said = Message.assistant if number % 2 else Message.user
    return said(f"item {number}: " + "i" * letters)


def late(number: int) -> Message:
    """One of the fifty that come meanwhile."""
    said = Message.assistant if number % 2 else Message.user
    return said(f"late {number}: " + "l" * (60 if number % 2 else 20))


ITEMS = [item(number) for number in range(SUMMED + KEPT)]
LATE = [late(number) for number in range(LATER)]
QUESTION = Message.user("And now? " + "w" * 1_600)
"""It does not fit beside all of them."""

SPAN = Policy(
    limit_tokens=ROOM, target_tokens=ROOM, keep_first=1, keep_recent=KEPT + 1, summaries=True
)
SPAN_OF_LISTS = config(ROOM, target_ratio=1.0, least_ratio=1.0, keep_recent=KEPT)


def assert_spliced(said: Sequence[str]) -> None:
    """One summary, then items 30 to 39 and the fifty, in order, each once."""
    own = [text for text in said if not text.startswith(MADE_PREFIX)]
    known = {m.text for m in (*ITEMS, *LATE, QUESTION)}
    wanted = [ITEMS[0].text, *(m.text for m in ITEMS[SUMMED:]), *(m.text for m in LATE)]
    assert [text for text in own if text in known] == [*wanted, QUESTION.text]
    assert briefed(said) == 1
    assert said.index(ITEMS[SUMMED].text) > next(
        place for place, text in enumerate(said) if text.startswith(BRIEFING)
    )


@case("25-boundary-saved-before-summary.json")
@each_format
def test_after_a_failed_summary_and_a_restart_all_items_are_sent(
    format: str,  # noqa: A002 - the word for it
    tmp_path: Path,
) -> None:
    """Byte for byte, and on all later turns."""
    asked = [*ITEMS, LATE[0]]
    rote = Rote(RuntimeError("no"))
    Process(format, SPAN, rote, sqlite(tmp_path / "store.db")).turn(asked)
    assert rote.calls == 1

    again = Process(format, SPAN, rote, sqlite(tmp_path / "store.db"))
    for number in range(1, LATER - 1, 2):
        asked += LATE[number : number + 2]
        body = body_of(asked, format)
        assert again.exchange(Call(body)).body is body
        settle(again.maker)


@case("25-boundary-saved-before-summary.json")
def test_after_a_failed_summary_and_a_restart_a_list_has_all_items() -> None:
    """A process that ends while a model is asked, or after it has failed, leaves the list whole."""
    for reply in (RuntimeError("no"), GOOD):
        rote = Rote(reply)
        if reply is GOOD:
            rote.may_answer.clear()
        with LlmCompaction(rote, retry=ONCE) as compaction:
            kept = compaction.compact(list(ITEMS), SPAN_OF_LISTS)
            if reply is not GOOD:
                compaction.wait(_PATIENCE)
        stored = json.dumps([[message.role, message.text] for message in kept])
        loaded = [Message(role, [Text(text)]) for role, text in json.loads(stored)]
        listening = Listening(Rote(RuntimeError("no")))
        assert listening.turn([*loaded, LATE[0]], SPAN_OF_LISTS) == [*ITEMS, LATE[0]]
        rote.may_answer.set()


class Recording(InMemoryStore):
    """A store that remembers how it looked after each write: a crash may come behind any of them."""

    def __init__(self) -> None:
        super().__init__()
        self.looks: list[dict[bytes, bytes]] = [{}]

    async def put(self, entries: Mapping[bytes, bytes]) -> None:
        """Write."""
        for key, value in entries.items():
            await super().put({key: value})
            self._remember()

    async def add(self, entries: Mapping[bytes, bytes]) -> None:
        """Write what is not there."""
        for key, value in entries.items():
            await super().add({key: value})
            self._remember()

    async def swap(self, key: bytes, expected: bytes | None, value: bytes) -> bool:
        """Write, where nobody else has."""
        is_swapped = await super().swap(key, expected, value)
        self._remember()
        return is_swapped

    def _remember(self) -> None:
        self.looks.append({key: bytes(value) for key, value in self._entries.items()})


@case("25-boundary-saved-before-summary.json")
@each_format
def test_summary_and_boundary_become_visible_in_one_step(format: str) -> None:  # noqa: A002 - the word for it
    """From however the store looked after a kill: the summary is there whole, or not at all."""
    store = Recording()
    process = Process(format, SPAN, Rote(GOOD), store)
    small, large = [*ITEMS, LATE[0]], [*ITEMS, *LATE, QUESTION]
    process.turn(small)
    process.turn([*small, *LATE[1:3]])
    process.turn(large)
    by_rule = Worker(format, SPAN).send(large)
    with_it = process.send(large)
    assert_spliced(texts(with_it, format))
    assert briefed(texts(by_rule, format)) == 0

    seen = set()
    for look in store.looks:
        loaded = in_memory()
        asyncio.run(loaded.put(look))
        restarted = Process(format, SPAN, Rote(RuntimeError("no")), loaded)
        body = body_of([*small, *LATE[1:3]], format)
        assert restarted.exchange(Call(body)).body is body
        sent = restarted.exchange(Call(body_of(large, format))).body
        assert sent in (by_rule, with_it)
        seen.add(sent)
    assert seen == {by_rule, with_it}


@case("25-boundary-saved-before-summary.json")
@pytest.mark.parametrize(
    "torn", [b"", b"null", b"{}", b'{"cut": 30, "head": 1, "span": 29}', b'{"text": "## Go']
)
@each_format
def test_a_boundary_without_its_summary_is_not_there(format: str, torn: bytes) -> None:  # noqa: A002 - the word for it
    """Everything about it is in the store but the words."""
    store = in_memory()
    process = Process(format, SPAN, Rote(GOOD), store)
    small, large = [*ITEMS, LATE[0]], [*ITEMS, *LATE, QUESTION]
    process.turn(small)
    process.turn([*small, *LATE[1:3]])
    [key] = [key for key, value in store._entries.items() if b"Ship the parser" in bytes(value)]
    asyncio.run(store.put({key: torn}))

    restarted = Process(format, SPAN, Rote(RuntimeError("no")), store)
    body = body_of([*small, *LATE[1:5]], format)
    assert restarted.exchange(Call(body)).body is body
    sent = restarted.send(large)
    assert briefed(texts(sent, format)) == 0
    assert check(sent, format) == ()


# ---------------------------------------------------------- 5 lost instructions


@case("28-system-message-removed.json")
def test_leading_instructions_outlive_a_summary() -> None:
    """They stay first and as they came, in a list and in requests."""
    given = case_input("28-system-message-removed.json")["messages"]
    messages = neutral(given)
    leading = [m for m in messages if m.role in ("system", "developer")]
    settings = config(weight(messages, config(1)) + 400)
    listening, kept = Listening(Rote(GOOD), {"retain_tail_tokens": 10}), list(messages)
    for number in range(30):
        kept = listening.turn([*kept, *_answered(number)], settings)
    assert briefed([message.text for message in kept]) == 1
    assert kept[: len(leading)] == leading

    limit = total(in_format(given, "openai-chat"), "openai-chat") + 400
    policy = Policy(limit_tokens=limit, keep_recent=2, summaries=True)
    process, chat = Process("openai-chat", policy, Rote(GOOD)), list(given)
    body = b""
    for number in range(30):
        chat += [{"role": m.role, "content": m.text} for m in _answered(number)]
        body = process.exchange(Call(in_format(chat, "openai-chat"))).body
        settle(process.maker)
    sent = json.loads(body)["messages"]
    assert briefed([str(message["content"]) for message in sent]) == 1
    assert sent[: len(leading)] == given[: len(leading)]


def _answered(number: int) -> list[Message]:
    return turn_of(number, 60)


def _rounds(numbers: Sequence[int]) -> list[Message]:
    """Calls and their results, as case 29 has them; long enough to have to go."""
    made: list[Message] = []
    for number in numbers:
        call = ToolCall(f"x{number}", "look", json.dumps({"at": number}), opaque="c2ln")
        made += [
            Message.assistant(call),
            Message.tool(f"x{number}", f"result {number} " + "r" * 80),
        ]
    return made


WISH = "Rename X to Y in file Z only"


@case("29-current-question-swallowed.json")
def test_the_question_stands_behind_the_summary_of_a_list() -> None:
    """Verbatim, the user's; the summary is a message of its own that says what it is."""
    given = case_input("29-current-question-swallowed.json")
    messages = neutral(given["messages"])
    keep_recent = given["setup"]["keep_last_messages"]
    settings = config(weight(messages, config(1)) + 300, keep_recent=keep_recent)
    listening, kept = Listening(Rote(GOOD), {"retain_tail_tokens": 10}), messages
    for number in range(25):
        kept = listening.turn([*kept, *_rounds([number])], settings)
        _assert_asked(kept)
    assert any(map(is_briefing, kept))


@case("29-current-question-swallowed.json")
@each_format
def test_the_question_stands_behind_the_summary_of_a_request(format: str) -> None:  # noqa: A002 - the word for it
    """The same on the wire, in each format."""
    given = case_input("29-current-question-swallowed.json")
    messages = list(read(in_format(given["messages"], format), format).messages)
    keep_recent = given["setup"]["keep_last_messages"]
    limit = total(in_format(given["messages"], format), format) + 300
    policy = Policy(limit_tokens=limit, keep_recent=keep_recent, summaries=True)
    process, body = Process(format, policy, Rote(GOOD)), b""
    for number in range(25):
        messages += _rounds([number])
        body = process.turn(messages)
        assert check(body, format) == ()
        _assert_asked(list(read(body, format).messages))
    assert briefed(texts(body, format)) == 1


def _assert_asked(messages: Sequence[Message]) -> None:
    asked = [n for n, m in enumerate(messages) if Text(WISH) in m.parts]
    made = [place for place, message in enumerate(messages) if is_briefing(message)]
    assert len(asked) == 1
    assert messages[asked[0]].role == "user"
    assert len(made) <= 1
    for place in made:
        assert place < asked[0]
        assert messages[place].text.startswith(MADE_PREFIX)
        assert WISH not in messages[place].text.partition(SUMMARY_LINE)[2]


CORRECTION = "port 8081, and never touch ./secrets."


@case("30-changed-requirement-lost.json")
def test_a_correction_outlives_a_summary_of_a_list_that_knows_nothing_of_it() -> None:
    """In the user's own words, above what the model wrote; and from briefing to briefing."""
    given = case_input("30-changed-requirement-lost.json")
    messages = neutral(given["messages"])
    oldest = given["setup"]["summarise_oldest"]
    rote = Rote(Summary(given["stub"]["summariser"], "stop"))
    settings = config(weight(messages, config(1)) * 5 // 4, keep_recent=len(messages) - oldest)
    listening = Listening(rote, {"retain_tail_tokens": 10})
    kept = listening.turn(messages, settings)
    settled = config(settings.budget_tokens)
    for number in range(100):
        is_first = not any(map(is_briefing, kept))
        kept = listening.turn([*kept, *turn_of(number, 20)], settings if is_first else settled)
    told = [message.text for message in kept if is_briefing(message)]

    assert len([e for e in listening.of(ContextCompacted) if e.method == "summarized"]) >= 2
    assert len(told) == 1
    assert CORRECTION in told[0].partition(SUMMARY_LINE)[0]
    assert "done" not in rote.requests[0].prompt.partition(f"go on {oldest}")[2]


@case("30-changed-requirement-lost.json")
@each_format
def test_a_correction_outlives_a_summary_of_a_request(format: str) -> None:  # noqa: A002 - the word for it
    """The same on the wire, in each format."""
    given = case_input("30-changed-requirement-lost.json")
    messages = [*neutral(given["messages"]), Message.user("next")]
    oldest = given["setup"]["summarise_oldest"]
    rote = Rote(Summary(given["stub"]["summariser"], "stop"))
    limit = total(body_of(messages, format), format) * 5 // 4
    policy = Policy(limit_tokens=limit, keep_recent=len(messages) - oldest, summaries=True)
    process, body = Process(format, policy, rote), b""
    for number in range(60):
        body = process.turn(messages)
        messages += turn_of(number, 20)
    [told] = [text for text in texts(body, format) if text.startswith(BRIEFING)]

    assert CORRECTION in told.partition(SUMMARY_LINE)[0]


@case("30-changed-requirement-lost.json")
def test_where_the_users_words_must_be_cut_the_newest_stay_and_the_place_is_marked() -> None:
    """More than the briefing has room for."""
    rote = Rote(
        Summary(case_input("30-changed-requirement-lost.json")["stub"]["summariser"], "stop")
    )
    settings = config(1_600)
    listening, kept = Listening(rote), [Message.user("go")]
    for number in range(60):
        said = f"Always check the list of part{number:02d} before you change module{number:02d}. "
        asked = [Message.assistant("done " + "d" * 260), Message.user(said)]
        kept = listening.turn([*kept, *asked], settings)
    [told] = [message.text for message in kept if is_briefing(message)]
    listed = [n for n in range(60) if f"part{n:02d} " in told.partition(SUMMARY_LINE)[0]]
    shown = [
        n for n in range(60) if any(f"part{n:02d} " in m.text for m in kept if not is_briefing(m))
    ]

    assert listed
    assert listed == list(range(listed[0], listed[-1] + 1))
    assert listed[-1] == min(shown) - 1
    assert told.startswith(BRIEFING)


# --------------------------------------------------------- 6 oversized content


@case("33-one-message-over-budget.json")
def test_one_result_larger_than_all_room_is_shortened_whatever_a_summary_does() -> None:
    """It is newer than what can be summed up, and never waits for it."""
    messages = neutral(case_input("33-one-message-over-budget.json")["messages"])
    for reply in (GOOD, RuntimeError("no")):
        settings = config(weight(messages, config(1)) // 4)
        listening = Listening(Rote(reply))
        kept = listening.turn(messages, settings)
        assert weight(kept, settings) <= settings.budget_tokens
        assert kept[-1].role == messages[-1].role


def large_span() -> tuple[list[Message], Json]:
    """The conversation of case 34, and its windows."""
    given = case_input("34-summariser-input-unbounded.json")
    return neutral(given["messages"]), given["setup"]


@case("34-summariser-input-unbounded.json")
@pytest.mark.parametrize("window", [200_000, 128_000, 64_000, 32_000])
def test_a_record_fits_the_window_of_the_model_that_sums_up(window: int) -> None:
    """Less its answer; older texts are shorter, all messages are in it as long as there is room."""
    messages, setup = large_span()
    messages = messages[:400]  # over 0.6 of the main window, and within it
    assert setup["summariser_window"] == 200_000

    class Reader(Rote):
        def record_bytes(self, max_tokens: int) -> int:
            """As a client tells it that knows its model."""
            return (window - max_tokens - 1_000) * 3

    rote = Reader(GOOD)
    settings = config(setup["main_window"])
    listening = Listening(rote)
    assert listening.turn(messages, settings) is messages
    limit = setup["main_window"]
    policy = Policy(limit_tokens=limit, trigger_tokens=limit, summaries=True)
    Process("openai-chat", policy, rote).turn([*messages, Message.user("next")])

    assert rote.calls == 2
    for request in rote.requests:
        size = CharTokenCounter().count(request.system + request.prompt)
        assert size <= window - request.max_tokens
        is_whole = "are left out here" not in request.prompt
        assert is_whole or window < 64_000
        covered = [n for n in range(200) if f"[user]\nq{n}\n" in request.prompt]
        assert covered[-1] > 180
        assert covered == list(range(covered[0], covered[-1] + 1))
        assert not is_whole or covered[0] <= 1


@case("34-summariser-input-unbounded.json")
def test_a_summary_of_a_span_larger_than_a_window_covers_all_of_it() -> None:
    """The list is within its budget after it, and nothing stands twice."""
    messages, setup = large_span()
    listening, settings = Listening(Rote(GOOD)), config(setup["main_window"])
    kept = messages[:400]
    for place in range(400, len(messages), 50):
        kept = listening.turn([*kept, *messages[place : place + 50]], settings)
    asked = [m.text for m in kept if m.role == "user" and not is_briefing(m)]

    assert any(e.method == "summarized" for e in listening.of(ContextCompacted))
    assert weight(kept, settings) <= settings.budget_tokens
    assert len(asked) == len(set(asked))
    assert asked[-1] == "q499"


@case("34-summariser-input-unbounded.json")
@each_format
def test_where_even_that_is_too_large_rules_go_on_and_it_is_told(format: str) -> None:  # noqa: A002 - the word for it
    """A provider that refuses each request: no dead session."""
    from trimtab import SummaryError  # noqa: PLC0415 - only here

    rote = Rote(SummaryError("status 400, context_length_exceeded"))
    listening, settings = Listening(rote), config(20_000)
    process = Process(format, Policy(limit_tokens=20_000, summaries=True), rote)
    messages = large_span()[0]
    kept: list[Message] = []
    for place in range(0, 40, 2):
        kept = listening.turn([*kept, *messages[place : place + 2]], settings)
        assert weight(kept, settings) <= settings.budget_tokens
        body = process.turn([*messages[: place + 2], Message.user("next")])
        assert total(body, format) <= 20_000
        assert check(body, format) == ()
    reasons = {told.reason for told in (*listening.of(SummaryGivenUp), *process.of(SummaryGivenUp))}
    assert reasons == {"status 400, context_length_exceeded"}
    assert {e.method for e in listening.of(ContextCompacted)} == {"deterministic"}


# ---------------------------------------------------- 14 store, concurrency, resume


@case("89-append-during-compaction-lost.json")
def test_what_is_appended_to_a_list_during_a_summary_stays() -> None:
    """By fifty tasks, none of which waits for the summarizer."""

    async def go() -> list[Message]:
        rote = Rote(GOOD)
        rote.may_answer.clear()
        compaction = LlmCompaction(rote, retry=ONCE)
        messages = compaction.compact(list(ITEMS), SPAN_OF_LISTS)
        assert compaction.state == "in flight"

        while not rote.calls:  # noqa: ASYNC110 - the request is rendered in a thread
            await asyncio.sleep(0.002)

        async def append(message: Message) -> None:
            nonlocal messages
            messages = compaction.compact([*messages, message], SPAN_OF_LISTS)

        async with asyncio.timeout(_PATIENCE):
            await asyncio.gather(*map(append, LATE))
            assert (rote.calls, compaction.state) == (1, "in flight")
            rote.may_answer.set()
            await compaction.settled()
            return compaction.compact([*messages, QUESTION], SPAN_OF_LISTS)

    assert_spliced([message.text for message in asyncio.run(go())])


@case("89-append-during-compaction-lost.json")
@each_format
def test_what_is_appended_during_a_summary_is_sent_when_it_lands(
    format: str,  # noqa: A002 - the word for it
    tmp_path: Path,
) -> None:
    """By two processes on one store, whichever of them asked: both send the same bytes."""
    rotes = [Rote(GOOD), Rote(GOOD)]
    workers = [Process(format, SPAN, rote, sqlite(tmp_path / "store.db")) for rote in rotes]
    for rote in rotes:
        rote.may_answer.clear()
    for count in range(1, LATER, 2):
        body = body_of([*ITEMS, *LATE[:count]], format)
        assert workers[count // 2 % 2].exchange(Call(body)).body is body
    assert sum(rote.calls for rote in rotes) <= 1

    for rote, worker in zip(rotes, workers, strict=True):
        rote.may_answer.set()
        settle(worker.maker)
    for worker in workers:  # a request of either brings in what it has made
        worker.send([*ITEMS, *LATE[:-1]])
    sent = {worker.send([*ITEMS, *LATE, QUESTION]) for worker in workers}

    assert sum(rote.calls for rote in rotes) == 1
    assert len(sent) == 1
    assert_spliced(texts(sent.pop(), format))


class Async:
    """A process with an event loop, on one file."""

    def __init__(self, path: Path, summarizer: Any) -> None:
        self.maker = BackgroundSummaries(summarizer, retry=ONCE)
        self.engine = Engine(
            SPAN,
            sqlite(path),
            CharTokenCounter(),
            store_seconds=_PATIENCE,
            summaries=self.maker,
        )

    async def send(self, messages: Sequence[Message], format: str) -> bytes:  # noqa: A002 - the word for it
        """One request, which takes its time on its way."""
        rewrite = await self.engine.rewrite(Call(body_of(messages, format)), format)
        await asyncio.sleep(0.01)
        await self.engine.forwarded(rewrite.ticket)
        return rewrite.body

    async def settled(self) -> None:
        """Until nothing is under way."""
        async with asyncio.timeout(_PATIENCE):
            while any(  # noqa: ASYNC110 - what it looks at are plain values
                flight.job is not None and not flight.job.is_over for flight in self.maker._wanted
            ):
                await asyncio.sleep(0.005)


@case("90-concurrent-compactions.json")
@pytest.mark.parametrize("grows", [False, True])
@each_format
def test_ten_requests_at_once_make_one_summary(
    format: str,  # noqa: A002 - the word for it
    grows: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """Of two processes, alike or each a turn longer; one gives up waiting; ten more have it once."""

    async def go() -> None:
        rote = Rote(GOOD)
        rote.may_answer.clear()
        processes = [Async(tmp_path / "store.db", rote) for _ in range(2)]

        def asked(number: int) -> list[Message]:
            return [*ITEMS, *LATE[: 1 + 2 * number * grows]]

        tasks = [asyncio.create_task(processes[n % 2].send(asked(n), format)) for n in range(10)]
        while not rote.calls:  # noqa: ASYNC110 - it is asked in a thread, too
            await asyncio.sleep(0.002)
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for number in range(10):
            await processes[number % 2].send(asked(number), format)
        assert rote.calls == 1

        rote.may_answer.set()
        for process in processes:
            await process.settled()
        for process in processes:
            await process.send([*ITEMS, *LATE[:21]], format)
        sent = await asyncio.gather(
            *(processes[n % 2].send([*ITEMS, *LATE, QUESTION], format) for n in range(10))
        )
        assert rote.calls == 1
        assert len(set(sent)) == 1
        if not grows:
            assert_spliced(texts(sent[0], format))
        # Whichever of the longer ones was first: all that it does not cover is there, in order.
        known = [message.text for message in (*ITEMS, *LATE, QUESTION)]
        own = [text for text in texts(sent[0], format)[1:] if text in known]
        assert own == known[-len(own) :]
        assert len(own) > LATER
        assert briefed(texts(sent[0], format)) == 1
        for process in processes:
            await process.engine.store.close()  # type: ignore[attr-defined]  # a file has one

    asyncio.run(go())


@case("90-concurrent-compactions.json")
def test_ten_calls_during_a_job_make_one_summary_of_a_list() -> None:
    """One who waits for it goes; the others have it; ten more calls find one in the list."""

    async def go() -> None:
        rote = Rote(GOOD)
        rote.may_answer.clear()
        compaction = LlmCompaction(rote, retry=ONCE)
        messages = compaction.compact(list(ITEMS), SPAN_OF_LISTS)
        for number in range(10):
            messages = compaction.compact([*messages, LATE[number]], SPAN_OF_LISTS)
            await asyncio.sleep(0.002)
        waiters = [asyncio.create_task(compaction.settled()) for _ in range(10)]
        await asyncio.sleep(0.01)
        waiters[4].cancel()
        await asyncio.sleep(0.01)
        assert compaction.state == "in flight"
        rote.may_answer.set()
        done = await asyncio.gather(*waiters, return_exceptions=True)
        assert [answer for answer in done if not isinstance(answer, BaseException)] == [True] * 9
        messages = compaction.compact([*messages, *LATE[10:], QUESTION], SPAN_OF_LISTS)
        assert_spliced([message.text for message in messages])
        for number in range(10):
            messages = compaction.compact([*messages, *turn_of(number, 5)], SPAN_OF_LISTS)
            assert sum(map(is_briefing, messages)) == 1
        assert rote.calls == 1

    asyncio.run(go())


@case("90-concurrent-compactions.json")
@each_format
def test_a_failed_job_frees_the_slot_for_any_process(format: str, tmp_path: Path) -> None:  # noqa: A002 - the word for it
    """The other one asks on a later turn, and its summary is used by both."""
    rotes = [Rote(RuntimeError("no")), Rote(GOOD)]
    workers = [Process(format, SPAN, rote, sqlite(tmp_path / "store.db")) for rote in rotes]
    workers[0].turn([*ITEMS, LATE[0]])
    workers[0].turn([Message.user("Something else.")])  # it learns that it has failed
    for count in range(3, 25, 2):
        workers[1].turn([*ITEMS, *LATE[:count]])
    assert [rote.calls for rote in rotes] == [1, 1]

    sent = {worker.send([*ITEMS, *LATE, QUESTION]) for worker in workers}
    assert len(sent) == 1
    assert briefed(texts(sent.pop(), format)) == 1


@case("92-resume-replays-summarised.json")
@each_format
def test_after_a_restart_what_was_summed_up_does_not_come_back(
    format: str,  # noqa: A002 - the word for it
    tmp_path: Path,
) -> None:
    """A process for each turn, summaries between them: what one process sends, they send."""
    policy = Policy(limit_tokens=1_500, keep_recent=4, summaries=True)
    alone = Process(format, policy, Rote(GOOD))
    messages, path = [Message.user("go")], tmp_path / "store.db"
    body, before = b"", b""
    for number in range(40):
        messages += turn_of(number)
        one = alone.turn(messages)
        process = Process(format, policy, Rote(GOOD), sqlite(path))
        body = process.turn(messages)
        process.engine.rewrite(Call(body_of(messages, format)), format)  # it takes what came back
        assert body == one
        assert process.send(messages) == body
        said = [text for text in texts(body, format) if not text.startswith(MADE_PREFIX)]
        own = [text for text in said if text.startswith(("answer", "question"))]
        assert len(own) == len(set(own))
        before = body
    assert briefed(texts(before, format)) == 1
    assert len([e for e in alone.of(ContextCompacted) if e.method == "summarized"]) >= 2


@case("93-multi-worker-state.json")
@each_format
def test_two_workers_with_summaries_send_what_one_would(format: str, tmp_path: Path) -> None:  # noqa: A002 - the word for it
    """Alternately, one restarted on the way; each brings in what it has made before the other goes on."""
    policy = Policy(limit_tokens=1_500, keep_recent=4, summaries=True)
    path = tmp_path / "store.db"
    alone = Process(format, policy, Rote(GOOD))
    workers = [Process(format, policy, Rote(GOOD), sqlite(path)) for _ in range(2)]
    messages, briefings = [Message.user("go")], 0
    for number in range(40):
        messages += turn_of(number)
        if number == 15:
            workers[1] = Process(format, policy, Rote(GOOD), sqlite(path))
        one = alone.turn(messages)
        body = workers[number % 2].turn(messages)
        workers[number % 2].engine.rewrite(Call(body_of(messages, format)), format)
        assert body == one
        briefings += briefed(texts(body, format))
    assert briefings >= 20


# --------------------------------------------------------------- completeness


def test_every_case_in_scope_has_a_test() -> None:
    """Each of these kinds and areas has one here, or has no part in summaries and one elsewhere."""
    assert in_scope() == TESTED | set(WITHOUT_A_SUMMARY)
    elsewhere = set(test_cases.TESTED) | test_prefix_cases.TESTED
    assert set(WITHOUT_A_SUMMARY) <= elsewhere
    assert not TESTED & set(WITHOUT_A_SUMMARY)
