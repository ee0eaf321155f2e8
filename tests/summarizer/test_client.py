"""The one real client, against a real server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.summarizer.serving import Served, completion, serving
from tests.test_compaction import config, pair
from trimtab import (
    LlmCompaction,
    Media,
    Message,
    MissingExtraError,
    Opaque,
    PolicyError,
    Summary,
    SummaryError,
    SummaryRequest,
    Surface,
    Text,
    Thinking,
    Tool,
    ToolCall,
    Usage,
)
from trimtab.briefing import is_briefing
from trimtab.summarizer import ModelSummarizer, model_summarizer
from trimtab.summarizer.routes import CacheRecord

REQUEST = SummaryRequest("You brief.", "The record, and what is wanted.", 512)


def model(served: Served, name: str = "gpt-5-mini") -> OpenAIChatModel:
    """A model of the server's; the client itself tries once."""
    provider = OpenAIProvider(base_url=served.url, api_key="sk-secret-1")
    provider.client.max_retries = 0
    return OpenAIChatModel(name, provider=provider)


def ask(summarizer: ModelSummarizer, request: SummaryRequest = REQUEST) -> Summary:
    """Ask once, on a loop of its own."""
    return asyncio.run(summarizer.summarize(request))


def test_a_request_of_its_own_holds_the_record_and_nothing_else() -> None:
    """No tools, no temperature, no marker for a cache; a cap on the output."""
    with serving() as served:
        summary = ask(model_summarizer(model(served)))

    [body] = served.bodies
    cap = body.pop("max_completion_tokens")
    assert body == {
        "model": "gpt-5-mini",
        "messages": [
            {"role": "system", "content": "You brief."},
            {"role": "user", "content": "The record, and what is wanted."},
        ],
        "stream": False,
    }
    assert cap == 512
    assert summary == Summary(
        "## Goal\nShip it.",
        "stop",
        Usage(fresh=400, cache_read=600, output=50),
        summary.cost,
        "gpt-5-mini",
    )


def test_the_cost_is_usage_times_prices() -> None:
    """By genai-prices; an unknown model has none."""
    with serving() as served:
        priced = ask(model_summarizer(model(served)))
        unknown = completion()
        unknown["model"] = "nobody-knows-me"
        served.answers = [(200, {}, unknown)]
        free = ask(model_summarizer(model(served, "nobody-knows-me")))

    # Per million: fresh 0.25, read 0.025, output 2.
    assert priced.cost == pytest.approx((400 * 0.25 + 600 * 0.025 + 50 * 2) / 1e6)
    assert free.cost is None


def test_one_summarizer_serves_several_loops() -> None:
    """Connections end with the request that opened them."""
    with serving() as served:
        summarizer = model_summarizer(model(served))
        assert ask(summarizer) == ask(summarizer)

    assert len(served.bodies) == 2


def test_what_the_user_wants_sent_along_is_sent() -> None:
    """Such as headers; none of it is printed."""
    with serving() as served:
        settings = {"extra_headers": {"x-k": "abc"}}
        summarizer = model_summarizer(model(served), settings=settings)
        ask(summarizer)

    assert served.headers[0]["x-k"] == "abc"
    assert repr(summarizer) == "ModelSummarizer('gpt-5-mini', route='standalone')"


CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("answer", "stop_reason", "tool_calls"),
    [
        (completion(stop="length"), "length", 0),
        (completion(stop="content_filter"), "content_filter", 0),
        (completion(None, "tool_calls", tool_calls=[CALL]), "tool_call", 1),
    ],
)
def test_why_a_model_stopped_is_told(
    answer: dict[str, Any], stop_reason: str, tool_calls: int
) -> None:
    """Whoever judges the answer needs it."""
    with serving((200, {}, answer)) as served:
        summary = ask(model_summarizer(model(served)))

    assert (summary.stop_reason, summary.tool_calls) == (stop_reason, tool_calls)


@pytest.mark.parametrize(
    ("status", "code", "is_retryable"),
    [
        (429, "rate_limit_exceeded", True),
        (429, "insufficient_quota", False),
        (500, "server_error", True),
        (503, "overloaded", True),
        (408, "timeout", True),
        (400, "context_length_exceeded", False),
        (401, "invalid_api_key", False),
    ],
)
def test_an_error_says_whether_asking_again_helps_and_quotes_nothing(
    status: int,
    code: str,
    is_retryable: bool,  # noqa: FBT001 - what must come out
) -> None:
    """A body can hold words of the request."""
    body = {"error": {"message": "you said: secret words", "type": code, "code": code}}
    with (
        serving((status, {"retry-after": "7"}, body)) as served,
        pytest.raises(SummaryError) as raised,
    ):
        ask(model_summarizer(model(served)))

    assert raised.value.is_retryable is is_retryable
    assert raised.value.wait_seconds == 7
    assert "secret" not in str(raised.value)
    assert code in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_server_that_is_not_there_may_come_back() -> None:
    """Nobody listens."""
    with serving() as served:
        pass
    with pytest.raises(SummaryError) as raised:
        ask(model_summarizer(model(served)))

    assert raised.value.is_retryable


def test_an_answer_that_cannot_be_read_is_final() -> None:
    """Whatever the libraries raise, its words are left out."""
    with serving((200, {}, {"secret": "words"})) as served, pytest.raises(SummaryError) as raised:
        ask(model_summarizer(model(served)))

    assert not raised.value.is_retryable
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError()])
def test_a_broken_connection_stays_what_it_is(error: Exception) -> None:
    """Whoever retries knows it."""

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        raise error

    with pytest.raises(type(error)):
        ask(model_summarizer(FunctionModel(answer)))


@pytest.mark.parametrize(
    ("details", "stop_reason"),
    [(None, ""), ({"finish_reason": "eos"}, "eos"), ({"finish_reason": 7}, "")],
)
def test_a_word_that_nobody_translates_is_passed_on(details: Any, stop_reason: str) -> None:
    """And where there is none, there is none; no usage is no usage of 0."""

    def answer(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart("a"), TextPart("b")], provider_details=details)

    summary = ask(model_summarizer(FunctionModel(answer)))

    assert (summary.text, summary.stop_reason) == ("a\nb", stop_reason)


# ------------------------------------------------------------------------- warm

TOOL = Tool("read", "{}", "Reads a file.", '{"type":"object","properties":{}}')
SURFACE = Surface(system=(Text("Be brief."),), tools=(TOOL, Tool("hosted")))
HISTORY = (
    Message.system("Be kind."),
    Message.user("Look.", Media("image", "image/png", data="AAAA")),
    Message.user(Media("image", location="https://a.example/b.png"), Media("audio"), Text("So?")),
    Message.assistant(Thinking("hm", opaque="sig"), Text("Looking."), ToolCall("c1", "read", "{}")),
    Message.tool("c1", "found"),
    Message.user(Opaque("odd", "{}"), Thinking("not the user's")),
    Message.assistant(Opaque("odd", "{}"), Text("Done.")),
)
WARM = SummaryRequest("You brief.", "x" * 400, 512, "Sum up.", HISTORY)


def test_a_warm_request_is_the_conversation_with_the_instruction_behind_it() -> None:
    """System prompt, tools and messages as they were, so that the cache is hit."""
    with serving() as served:
        summarizer = model_summarizer(
            "test", route="warm", loop_model=model(served, "gpt-5"), surface=SURFACE
        )
        ask(summarizer, WARM)

    [body] = served.bodies
    assert body["model"] == "gpt-5"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read"]
    told = [(message["role"], message.get("content")) for message in body["messages"]]
    assert told[:2] == [("system", "Be brief."), ("system", "Be kind.")]
    assert told[2] == ("user", "Look.")
    assert body["messages"][3]["content"][0]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert told[-1] == ("user", "Sum up.")
    assert {"role": "tool", "tool_call_id": "c1", "content": "found"} in body["messages"]
    text = str(body["messages"])
    assert "https://a.example/b.png" in text
    assert "[audio omitted]" in text
    assert "[odd omitted]" in text
    assert summarizer.record == CacheRecord(hits=1)


def test_a_request_without_messages_is_one_of_its_own_whatever_the_route() -> None:
    """Somebody who renders alone has nothing to send warm."""
    with serving() as served:
        other = model_summarizer("test", route="warm", loop_model="test")
        warm = model_summarizer(model(served), route="warm", loop_model=model(served, "gpt-5"))
        ask(warm)

    assert served.bodies[0]["model"] == "gpt-5-mini"
    assert repr(other) == "ModelSummarizer('test', route='warm')"


@pytest.mark.parametrize(("own", "chosen"), [("gpt-5-mini", "gpt-5-mini"), ("gpt-5-pro", "gpt-5")])
def test_auto_asks_whoever_is_expected_to_cost_less(own: str, chosen: str) -> None:
    """A model cheaper than the conversation's, or a dearer one."""
    long = SummaryRequest("You brief.", "x" * 40_000, 512, "Sum up.", HISTORY)
    with serving() as served:
        summarizer = model_summarizer(
            model(served, own), route="auto", loop_model=model(served, "gpt-5")
        )
        ask(summarizer, long if own == "gpt-5-pro" else WARM)

    assert served.bodies[0]["model"] == chosen


def test_what_was_not_measured_teaches_nothing() -> None:
    """A warm answer without usage is neither a hit nor a miss."""
    silent = completion()
    del silent["usage"]
    with serving((200, {}, silent)) as served:
        summarizer = model_summarizer("test", route="warm", loop_model=model(served))
        summary = ask(summarizer, WARM)

    assert (summary.usage, summary.cost, summarizer.record) == (None, None, CacheRecord())


# ----------------------------------------------------------------------- making


def test_a_route_that_cannot_be_taken_is_refused() -> None:
    """Said where it is asked for."""
    with pytest.raises(PolicyError, match="route is 'hot'"):
        model_summarizer("test", route="hot")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(PolicyError, match="loop_model"):
        model_summarizer("test", route="auto")


@pytest.mark.parametrize(
    ("name", "max_tokens", "record_bytes"),
    [
        ("anthropic:claude-haiku-4-5", 2_000, 480_000),
        ("openai:gpt-4", 2_000, 3 * (8_192 - 2_000 - 1_000)),
        ("gpt-4", 8_000, 3 * (4_096 - 1_000)),
        ("nobody-knows-me", 2_000, 480_000),
    ],
)
def test_a_record_is_as_long_as_the_model_can_read(
    name: str, max_tokens: int, record_bytes: int
) -> None:
    """Beside its answer, by its window where that is known."""
    assert model_summarizer(name).record_bytes(max_tokens) == record_bytes


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not first when a summary is due."""
    monkeypatch.setattr("trimtab.summarizer.client.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match="summaries"):
        model_summarizer("test")


def test_naming_a_model_loads_no_client() -> None:
    """It takes a second, and nobody is asked yet."""
    code = (
        "import sys; from trimtab.summarizer import model_summarizer; "
        "model_summarizer('openai:gpt-5-mini'); print('pydantic_ai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_the_whole_way_through_a_real_client() -> None:
    """A loop without an event loop, a server, a briefing in the list, and its cost."""
    with serving() as served, LlmCompaction(model_summarizer(model(served))) as compaction:
        messages: list[Message] = []
        for number in range(14):
            messages = compaction.compact([*messages, *pair(number)], config(2_000))
            compaction.wait()

    assert any(map(is_briefing, messages))
    assert compaction.last is not None
    totals = compaction.totals
    assert (totals.requests, totals.answers, totals.spliced) == (2, 2, 1)
    assert totals.usage == Usage(fresh=800, cache_read=1_200, output=100)
    assert totals.cost == pytest.approx(2 * (400 * 0.25 + 600 * 0.025 + 50 * 2) / 1e6)
