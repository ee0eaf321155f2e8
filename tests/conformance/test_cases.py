"""Faults that users of similar systems reported: each case has the behaviour that is right.

Cases are fragments; :func:`body_of` adds what a body needs. A case of the
wire ``any`` is run in all formats.
"""

from __future__ import annotations

import cProfile
import json
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import pytest

from tests.conformance.shared import case_input, cases
from trimtab import (
    CharTokenCounter,
    Context,
    ContextTracker,
    Engine,
    Limits,
    Message,
    Policy,
    PolicyError,
    PrefixBroken,
    ReserveCut,
    Session,
    SyncEngine,
    ToolCall,
    TriggerUnreachable,
    counter_for,
    message_bytes,
    surface_fingerprint,
)
from trimtab.economy import Window
from trimtab.events import Event
from trimtab.ladder import climb
from trimtab.messages import Media, Part, Surface, Text, ToolResult
from trimtab.plan import apply
from trimtab.session import Rewrite
from trimtab.strategies.history import History
from trimtab.tokens import Measure
from trimtab.wire import Call, StreamReader, build, check, classify_error, read, usage_from, write

Json = dict[str, Any]
FORMATS = ("anthropic", "openai-chat", "openai-responses", "gemini")
MODELS = {
    "anthropic": "claude-opus-4-5",
    "openai-chat": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "gemini": "gemini-3-flash-preview",
}
HISTORIES = {"openai-responses": "input", "gemini": "contents"}

KINDS = {1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15}
AREAS = {"window", "compaction", "adapter", "counter", "tracker"}
WIRES = {"openai-chat", "anthropic", "openai-responses", "gemini", "any"}
LATER = {
    "30-changed-requirement-lost.json": "in test_memory_cases.py, for lists and for each format",
}


HALVES = {
    "13-noop-reserialise-breaks-signature.json",
    "57-noop-reserialise-cache.json",
    "61-cache-ttl-downgraded.json",
    "71-unknown-block-type-crash.json",
    "72-usage-chunk-empty-choices.json",
    "79-lone-surrogate.json",
}
"""Cases of areas that are not built yet, of which one half is tested."""


def in_scope() -> set[str]:
    """The cases that these tests must cover."""
    return {
        name
        for name, case in cases().items()
        if int(case["kind"].split()[0]) in KINDS
        and case["area"] in AREAS
        and case["wire"] in WIRES
        and name not in LATER
    }


TESTED: dict[str, list[str]] = {}


def case(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which case a test is about."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        TESTED.setdefault(name, []).append(test.__name__)
        return test

    return mark


# -------------------------------------------------------------------- harness


def body_of(messages: Sequence[Json], format: str, **more: Any) -> bytes:  # noqa: A002 - the word for it
    """Add to the messages of a case what a body needs."""
    names = {
        call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()
    } | {
        block["name"]
        for message in messages
        if isinstance(message.get("content"), list)
        for block in message["content"]
        if block.get("type") == "tool_use"
    }
    if format == "anthropic":
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]
        body: Json = {"model": "claude-opus-4-5", "max_tokens": 64, "tools": tools, **more}
    else:
        tools = [{"type": "function", "function": {"name": name}} for name in sorted(names)]
        body = {"model": "gpt-5.6", "tools": tools, **more}
    return json.dumps({**body, "messages": messages}).encode()


def in_format(messages: Sequence[Json], format: str) -> bytes:  # noqa: A002 - the word for it
    """The messages of a case on the wire ``any``, which are written as Chat."""
    chat = body_of(messages, "openai-chat")
    if format == "openai-chat":
        return chat
    return converted(chat, "openai-chat", format)


def converted(body: bytes, source: str, to: str) -> bytes:
    """A body of one format, built in another."""
    return build(read(body, source).messages, to, surface=Surface(MODELS[to]))


def rewrite(body: bytes, format: str, limit: int, **settings: Any) -> Rewrite:  # noqa: A002 - the word for it
    """Cut a body to a limit, counting by characters."""
    session = Session(Policy(limit_tokens=limit, **settings), CharTokenCounter())
    return session.rewrite(session.read(Call(body), format))


def messages_of(body: bytes) -> list[Json]:
    """The messages of a body."""
    value: Json = json.loads(body)
    field = next(key for key in ("messages", *HISTORIES.values()) if key in value)
    messages: list[Json] = value[field]
    return messages


def parts_of(body: bytes, format: str) -> list[Part]:  # noqa: A002 - the word for it
    """All parts of a body, in neutral terms."""
    return [part for message in read(body, format).messages for part in message.parts]


def total(body: bytes, format: str) -> int:  # noqa: A002 - the word for it
    """What a whole body weighs."""
    session = Session(Policy(limit_tokens=10**9), CharTokenCounter())
    return session.weigh(session.read(Call(body), format)).total_tokens


class TenAMessage:
    """Weighs every message alike, as the first case's figures do."""

    name = "ten a message"

    def message(self, message: Message) -> int:  # noqa: ARG002 - all weigh the same
        """Ten."""
        return 10

    def part(self, part: Part) -> int:  # noqa: ARG002 - all weigh the same
        """Nothing: the message weighs."""
        return 0

    def parts(self, parts: Sequence[Part]) -> int:  # noqa: ARG002 - all weigh the same
        """Nothing: the message weighs."""
        return 0

    def text(self, text: str) -> int:  # noqa: ARG002 - all weigh the same
        """Nothing: the message weighs."""
        return 0


# ------------------------------------------------------- 1 tool-call pairing


@case("01-trim-last-leading-tool.json")
@pytest.mark.parametrize("budget", range(30, 71))
def test_a_trim_leaves_no_tool_message_first(budget: int) -> None:
    """A pair is kept or dropped whole, system and newest user stay, the total is kept."""
    given = case_input("01-trim-last-leading-tool.json")["messages"]
    request = read(body_of(given, "openai-chat"), "openai-chat")
    measure = cast("Measure", TenAMessage())
    policy = Policy(limit_tokens=budget)
    weighed = History.weigh(request.messages, 0, measure, policy, request.constraints)

    climbed = climb(weighed, Limits(budget, budget, budget))

    body = write(request, climbed.plan)
    sent = messages_of(body)
    assert check(body, "openai-chat") == ()
    assert len(apply(climbed.plan, request.messages)) * 10 == climbed.tokens <= budget
    assert sent[0] == given[0]
    assert given[5] in sent


@case("01-trim-last-leading-tool.json")
def test_every_budget_gives_a_valid_request_or_numbers() -> None:
    """Whatever the budget, the request is valid and fits, or the outcome says what it needs."""
    body = body_of(case_input("01-trim-last-leading-tool.json")["messages"], "openai-chat")
    for budget in range(1, total(body, "openai-chat") + 10):
        result = rewrite(body, "openai-chat", budget)

        assert check(result.body, "openai-chat") == ()
        if not result.outcome.fits:
            assert result.outcome.status == "unsatisfiable"
            assert result.outcome.needed_tokens > budget


@case("03-parallel-group-split-by-summary.json")
@pytest.mark.parametrize("limit", [1000, 400, 150])
def test_a_parallel_group_is_on_one_side(limit: int) -> None:
    """Both results of a parallel call stay or go together, and the newest words stay verbatim."""
    given = case_input("03-parallel-group-split-by-summary.json")["messages"]

    result = rewrite(body_of(given, "openai-chat"), "openai-chat", limit)

    ids = {
        part.call_id
        for part in parts_of(result.body, "openai-chat")
        if isinstance(part, ToolResult)
    }
    assert check(result.body, "openai-chat") == ()
    assert ids in ({"p1", "p2"}, set())
    assert messages_of(result.body)[-1] == given[-1]


@case("04-dangling-call-poisons-session.json")
def test_a_dangling_call_is_answered_the_same_way_each_turn() -> None:
    """The call gets an error result, the user's words stay, and later turns send the same bytes."""
    given = case_input("04-dangling-call-poisons-session.json")["messages"]
    body = body_of(given, "anthropic")
    later = body_of(
        [*given, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "good"}],
        "anthropic",
    )

    first, second = rewrite(body, "anthropic", 10_000), rewrite(later, "anthropic", 10_000)

    sent = messages_of(first.body)
    assert check(first.body, "anthropic") == check(second.body, "anthropic") == ()
    assert messages_of(second.body)[: len(sent)] == sent
    assert given[2] in sent
    assert [
        part.is_error for part in parts_of(first.body, "anthropic") if isinstance(part, ToolResult)
    ] == [True]


@case("04-dangling-call-poisons-session.json")
def test_without_repair_a_dangling_call_is_passed_on() -> None:
    """With repair off, what came broken goes out byte for byte."""
    body = body_of(case_input("04-dangling-call-poisons-session.json")["messages"], "anthropic")

    assert rewrite(body, "anthropic", 10_000, repair=False).body is body


@case("05-one-user-message-many-tools.json")
@pytest.mark.parametrize("limit", [600, 1000, 1400])
def test_one_user_message_with_many_tool_rounds_is_cut(limit: int) -> None:
    """The first user message and the newest whole rounds stay; a second time changes nothing."""
    given = case_input("05-one-user-message-many-tools.json")["messages"]

    result = rewrite(body_of(given, "anthropic"), "anthropic", limit)
    again = rewrite(result.body, "anthropic", limit)

    sent = messages_of(result.body)
    assert result.outcome.fits
    assert check(result.body, "anthropic") == ()
    assert sent[0]["role"] == "user"
    assert sent[0]["content"][0] == given[0]["content"][0]
    kept = sent[1:]
    assert kept == given[len(given) - len(kept) :]
    assert again.body is result.body


@case("07-current-run-tool-traffic-evicted.json")
@pytest.mark.parametrize("limit", [3000, 600])
def test_the_run_in_progress_is_kept_before_anything_older(limit: int) -> None:
    """The newest words, call and result stay, and what else stays is one run at the end."""
    given = case_input("07-current-run-tool-traffic-evicted.json")["messages"]

    result = rewrite(body_of(given, "openai-chat"), "openai-chat", limit)

    sent = messages_of(result.body)
    assert result.outcome.fits
    assert check(result.body, "openai-chat") == ()
    assert sent[-3:-1] == given[-3:-1]
    assert sent[-1]["tool_call_id"] == "r1"
    places = [given.index(message) for message in sent[2:-1] if message in given]
    assert places == list(range(places[0], places[0] + len(places)))


# ------------------------------------------- 2 thinking / reasoning integrity


@case("12-thinking-text-shortened.json")
@pytest.mark.parametrize("limit", [12_000, 6_000, 4_000])
def test_only_the_result_shrinks_and_thinking_stays(limit: int) -> None:
    """Thinking of the open loop goes out byte for byte, and the tool result alone is shorter."""
    given = case_input("12-thinking-text-shortened.json")["messages"]

    result = rewrite(body_of(given, "anthropic"), "anthropic", limit)

    sent = messages_of(result.body)
    assert result.outcome.fits
    assert check(result.body, "anthropic") == ()
    assert sent[:2] == given[:2]
    assert len(sent[2]["content"][0]["content"]) < 40_000


# ------------------------------------------------------- 5 lost instructions


@case("28-system-message-removed.json")
def test_leading_instructions_stay_first_and_identical() -> None:
    """System and developer messages are the first two, as they came."""
    given = case_input("28-system-message-removed.json")["messages"]

    result = rewrite(body_of(given, "openai-chat"), "openai-chat", 200)

    assert result.outcome.fits
    assert messages_of(result.body)[:2] == given[:2]


@case("28-system-message-removed.json")
@pytest.mark.parametrize("as_blocks", [True, False])
def test_the_system_field_stays_identical(as_blocks: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The system field, words or blocks, keeps its bytes."""
    given = case_input("28-system-message-removed.json")["messages"]
    words = " ".join(message["content"] for message in given[:2])
    system: Any = [{"type": "text", "text": words}] if as_blocks else words

    result = rewrite(body_of(given[2:], "anthropic", system=system), "anthropic", 200)

    assert result.outcome.fits
    assert json.loads(result.body)["system"] == system


@case("29-current-question-swallowed.json")
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("limit", [200, 300, 500])
def test_the_current_question_stays_behind_the_marker(limit: int, format: str) -> None:  # noqa: A002 - the word for it
    """What is being worked on stays verbatim, the user's, behind the marker, which says what it is."""
    given = case_input("29-current-question-swallowed.json")["messages"]

    result = rewrite(in_format(given, format), format, limit)

    texts = [
        (message.role, part.text)
        for message in read(result.body, format).messages
        for part in message.parts
        if isinstance(part, Text)
    ]
    marker = next(place for place, (_, text) in enumerate(texts) if "[trimtab: earlier" in text)
    assert check(result.body, format) == ()
    assert ("user", "Rename X to Y in file Z only") in texts[marker:]


# ------------------------------------------------------- 6 oversized content


@case("33-one-message-over-budget.json")
def test_one_result_larger_than_the_window_is_shortened() -> None:
    """The result keeps head and tail with a mark between, the pair is whole, the bytes repeat."""
    given = case_input("33-one-message-over-budget.json")["messages"]
    body = body_of(given, "openai-chat")

    result, again = (rewrite(body, "openai-chat", 24_000) for _ in range(2))

    sent = messages_of(result.body)
    assert result.outcome.fits
    assert check(result.body, "openai-chat") == ()
    assert sent[:2] == given[:2]
    assert sent[2]["content"].startswith("<div>row</div>")
    assert sent[2]["content"].endswith("<div>row</div>")
    assert "characters removed]" in sent[2]["content"]
    assert result.body == again.body


@case("33-one-message-over-budget.json")
def test_a_user_message_larger_than_the_window_is_told() -> None:
    """A user message is never cut or removed; the outcome says what it needs."""
    (given,) = case_input("33-one-message-over-budget.json")["also"]

    result = rewrite(body_of(given, "openai-chat"), "openai-chat", 24_000)

    assert result.outcome.status == "unsatisfiable"
    assert result.outcome.needed_tokens > 24_000
    assert messages_of(result.body) == given


@case("35-tool-args-cut-inside-json.json")
@pytest.mark.parametrize("limit", [100, 4_000, 20_000])
def test_arguments_stay_json(limit: int) -> None:
    """Arguments are untouched or gone with their exchange, in both formats."""
    given = case_input("35-tool-args-cut-inside-json.json")["messages"]
    for format_ in FORMATS:
        body = in_format(given, format_)

        result = rewrite(body, format_, limit)

        assert check(result.body, format_) == ()
        before = [part for part in parts_of(body, format_) if isinstance(part, ToolCall)]
        after = [part for part in parts_of(result.body, format_) if isinstance(part, ToolCall)]
        assert after in (before, [])
        assert all(isinstance(json.loads(call.arguments), dict) for call in after)


# -------------------------------------------------- 12 unicode and JSON values


@case("80-big-int-rounding.json")
@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("to", FORMATS)
def test_digits_survive_reading_cutting_and_building(source: str, to: str) -> None:
    """Numbers in arguments keep every digit through read, rewrite and build."""
    huge = '{"n": ' + "9" * 5_000 + "}"
    for arguments in (case_input("80-big-int-rounding.json")["args"], huge):
        call = ToolCall("c1", "look", arguments)
        messages = [
            Message.user("go"),
            Message.assistant(call),
            Message.tool("c1", "row\n" * 2_000),
            Message.user("next"),
        ]
        body = build(messages, source, surface=Surface(MODELS[source]))

        limit = total(body, source) - 100
        cut = rewrite(body, source, limit, target_tokens=limit)
        calls = [
            p for p in parts_of(converted(cut.body, source, to), to) if isinstance(p, ToolCall)
        ]

        assert cut.outcome.status == "fits"
        assert [(call.name, call.arguments) for call in calls] == [("look", arguments)]


@case("81-empty-arguments-string.json")
def test_calls_without_arguments_carry_an_object_when_converted() -> None:
    """Empty and null arguments become an object; as they came they stay."""
    given = case_input("81-empty-arguments-string.json")["messages"]
    body = body_of(given, "openai-chat")

    for format_ in case_input("81-empty-arguments-string.json")["to"]:
        made = converted(body, "openai-chat", format_)
        calls = [part for part in parts_of(made, format_) if isinstance(part, ToolCall)]
        assert [(call.name, call.arguments) for call in calls] == [("now", "{}")] * 2
        assert check(made, format_) == ()
    assert rewrite(body, "openai-chat", 10_000).body is body


@case("81-empty-arguments-string.json")
def test_arguments_that_are_text_already_stay_and_objects_stay_objects() -> None:
    """Nothing is encoded twice; a tool search keeps its object."""
    items: list[Json] = [
        {"role": "user", "content": "q"},
        {"type": "tool_search_call", "call_id": "s1", "arguments": {"query": "x"}},
        {"type": "tool_search_output", "call_id": "s1", "tools": []},
        {"type": "function_call", "call_id": "f1", "name": "look", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "f1", "output": "row\n" * 2_000},
        {"role": "user", "content": "next"},
    ]
    body = responses_body(items)

    cut = rewrite(body, "openai-responses", total(body, "openai-responses") - 100)

    assert cut.body != body
    assert [item["arguments"] for item in json.loads(cut.body)["input"] if "arguments" in item] in (
        [{"query": "x"}, '{"a": 1}'],
        ['{"a": 1}'],
        [],
    )
    again = converted(body, "openai-responses", "openai-responses")
    texts = [item["arguments"] for item in messages_of(again) if "arguments" in item]
    assert texts[-1] == '{"a": 1}'


# ----------------------------------------------- 13 content lost or changed


@case("84-tool-result-image-lost.json")
def test_images_in_results_arrive_in_chat_with_a_label() -> None:
    """Both images come behind the tool messages, each named by its call, and survive the way back."""
    given = case_input("84-tool-result-image-lost.json")["messages"]
    body = body_of(given, "anthropic")

    chat = build(read(body, "anthropic").messages, "openai-chat", surface=Surface("gpt-5.6"))

    roles = [message["role"] for message in messages_of(chat)]
    content = messages_of(chat)[-1]["content"]
    assert check(chat, "openai-chat") == ()
    assert roles == ["user", "assistant", "tool", "tool", "user"]
    assert [block["type"] for block in content] == [
        "text",
        "image_url",
        "text",
        "image_url",
        "text",
    ]
    assert "s1" in content[0]["text"]
    assert "s2" in content[2]["text"]
    back = build(
        read(chat, "openai-chat").messages, "anthropic", surface=Surface("claude-opus-4-5")
    )
    assert sum(isinstance(part, Media) for part in parts_of(back, "anthropic")) == 2


@case("84-tool-result-image-lost.json")
@pytest.mark.parametrize("to", ["openai-responses", "gemini"])
def test_images_in_results_stay_in_them_where_there_is_a_place(to: str) -> None:
    """Each stays in the result of its own call, and survives the way back."""
    given = case_input("84-tool-result-image-lost.json")["messages"]
    body = body_of(given, "anthropic")

    made = converted(body, "anthropic", to)
    back = converted(made, to, "anthropic")

    def media(body: bytes, format: str) -> list[int]:  # noqa: A002 - the word for it
        results = [part for part in parts_of(body, format) if isinstance(part, ToolResult)]
        return [sum(isinstance(block, Media) for block in part.content) for part in results]

    assert check(made, to) == check(back, "anthropic") == ()
    assert media(body, "anthropic") == media(made, to) == media(back, "anthropic") == [1, 1]


@case("85-empty-text-blocks.json")
def test_empty_blocks_are_mended_or_passed_on() -> None:
    """With repair the history is valid and alternates; without, it goes out as it came."""
    body = body_of(case_input("85-empty-text-blocks.json")["messages"], "anthropic")

    mended = rewrite(body, "anthropic", 10_000)

    roles = [message["role"] for message in messages_of(mended.body)]
    assert check(mended.body, "anthropic") == ()
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert rewrite(body, "anthropic", 10_000, repair=False).body is body


@case("85-empty-text-blocks.json")
def test_what_is_built_has_no_empty_text() -> None:
    """A body that we build from a history with empty texts has none."""
    body = body_of(case_input("85-empty-text-blocks.json")["messages"], "anthropic")

    for format_ in FORMATS:
        assert check(converted(body, "anthropic", format_), format_) == ()


@case("85-empty-text-blocks.json")
def test_empty_parts_of_gemini_are_mended_or_passed_on() -> None:
    """As blocks of Anthropic are."""
    contents: list[Json] = [
        {"role": "user", "parts": [{"text": "q"}]},
        {
            "role": "model",
            "parts": [{"text": ""}, {"functionCall": {"name": "look", "args": {}}}],
        },
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "look", "response": {}}}, {"text": ""}],
        },
        {"role": "model", "parts": [{"text": ""}]},
        {"role": "user", "parts": [{"text": "go"}]},
    ]
    body = json.dumps({"contents": contents}).encode()

    mended = rewrite(body, "gemini", 10_000)

    assert check(body, "gemini") != check(mended.body, "gemini") == ()
    assert [content["role"] for content in messages_of(mended.body)] == [
        content["role"] for content in contents
    ]
    assert rewrite(body, "gemini", 10_000, repair=False).body is body


@case("14-reasoning-left-after-call-dropped.json")
def test_reasoning_goes_with_the_call_that_it_belongs_to() -> None:
    """A call that never got an answer is answered; no reasoning stands before a user message."""
    given = case_input("14-reasoning-left-after-call-dropped.json")["input"]

    result = rewrite(responses_body(given), "openai-responses", 10_000)

    kinds = [item.get("type") for item in json.loads(result.body)["input"]]
    assert check(result.body, "openai-responses") == ()
    assert all(
        following not in ("message", "") or kind != "reasoning"
        for kind, following in pairwise([*kinds, ""])
    )


@case("14-reasoning-left-after-call-dropped.json")
@pytest.mark.parametrize("limit", [30, 10_000])
def test_reasoning_that_led_to_nothing_never_reaches_the_wire(limit: int) -> None:
    """Before words of the user and at the end it goes; without repair it is passed on."""
    user, first, second, call, again = case_input("14-reasoning-left-after-call-dropped.json")[
        "input"
    ]
    for items, kept in (
        ([user, first, second, again], [user, again]),
        ([user, first, second], [user]),
        ([user, first, again, second, call, again, first], None),
    ):
        body = responses_body(items)
        result = rewrite(body, "openai-responses", limit)

        sent = messages_of(result.body)
        assert check(result.body, "openai-responses") == ()
        if kept is not None and limit == 10_000:
            assert sent == kept
        assert rewrite(body, "openai-responses", 10_000, repair=False).body is body


@case("14-reasoning-left-after-call-dropped.json")
@pytest.mark.parametrize("limit", range(60, 400, 20))
def test_reasoning_before_a_kept_call_stays(limit: int) -> None:
    """However much goes, a call that stays has its reasoning before it."""
    given = case_input("14-reasoning-left-after-call-dropped.json")["input"]
    answered = [
        *given[:4],
        {"type": "function_call_output", "call_id": "c9", "output": "word " * 200},
        *given[4:],
    ]

    result = rewrite(responses_body([*answered, *answered_again()]), "openai-responses", limit)

    items = json.loads(result.body)["input"]
    assert check(result.body, "openai-responses") == ()
    calls = {item["call_id"] for item in items if item.get("type") == "function_call"}
    reasoning = {item["id"] for item in items if item.get("type") == "reasoning"}
    assert ("c9" in calls) == ({"rs_1", "rs_2"} <= reasoning)


def answered_again() -> list[Json]:
    """One more round, so that the one before it can go."""
    return [
        {"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "ENC"},
        {"type": "function_call", "call_id": "c10", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c10", "output": "ok"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "ok"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]},
    ]


def responses_body(items: Sequence[Json], **more: Any) -> bytes:
    """A request of the Responses API."""
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
    return json.dumps({"model": "gpt-5.6", "tools": tools, "input": items, **more}).encode()


@case("02-session-limit-orphan-output.json")
@pytest.mark.parametrize("limit", range(20, 200, 10))
def test_every_output_has_its_call_at_any_limit(limit: int) -> None:
    """In the view; the history is the client's and stays."""
    given = case_input("02-session-limit-orphan-output.json")["input"]
    longer = [*given, *given[:1], *answered_again()]

    items = json.loads(rewrite(responses_body(longer), "openai-responses", limit).body)["input"]

    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    outputs = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    assert calls == outputs


@case("02-session-limit-orphan-output.json")
def test_with_state_on_the_server_nothing_is_pruned() -> None:
    """Outputs may stand alone there."""
    given = case_input("02-session-limit-orphan-output.json")["input"][2:3]
    body = responses_body(given, previous_response_id="resp_1")

    assert rewrite(body, "openai-responses", 10).body is body


@case("06-gemini-starts-with-function-call.json")
@pytest.mark.parametrize("limit", range(20, 200, 10))
def test_gemini_begins_with_words_and_every_call_is_answered_at_once(limit: int) -> None:
    """At any limit: a user's text first, and as many responses as calls behind each turn."""
    given = case_input("06-gemini-starts-with-function-call.json")["contents"]
    longer = [*given, {"role": "user", "parts": [{"text": "and now?"}]}]

    result = rewrite(json.dumps({"contents": longer}).encode(), "gemini", limit)

    sent = json.loads(result.body)["contents"]
    assert check(result.body, "gemini") == ()
    assert sent[0]["role"] == "user"
    assert "text" in sent[0]["parts"][0]
    for turn, following in pairwise(sent):
        calls = sum("functionCall" in part for part in turn["parts"])
        if calls:
            assert sum("functionResponse" in part for part in following["parts"]) == calls


@case("15-gemini-signature-parallel.json")
def test_signatures_stay_on_the_parts_where_they_were() -> None:
    """Through parts and back: the same parts, nothing invented, unknown keys kept."""
    given = case_input("15-gemini-signature-parallel.json")["contents"]
    given[1]["parts"][2]["unknownKey"] = {"x": 1}
    longer = [
        {"role": "user", "parts": [{"text": "old " * 400}]},
        {"role": "model", "parts": [{"text": "old " * 400}]},
        *given,
    ]

    result = rewrite(json.dumps({"contents": longer}).encode(), "gemini", 600)

    assert result.plan
    assert json.loads(result.body)["contents"][-3:][1:] == given[1:]


# ----------------------------------------------------------- 7 token counting


@case("38-input-image-counted-as-text.json")
def test_media_is_counted_by_what_it_shows() -> None:
    """Not as base64; about the same in all formats; unknown blocks do not count their payloads."""
    given = case_input("38-input-image-counted-as-text.json")["input"]
    image = given[0]["content"][1]["image_url"]
    data = image.partition(",")[2]
    whole = total(responses_body(given), "openai-responses")
    given[0]["content"].append({"type": "input_hologram", "payload": data})
    with_unknown = total(responses_body(given), "openai-responses")
    alone = {
        "openai-responses": responses_body(
            [{"role": "user", "content": [{"type": "input_image", "image_url": image}]}]
        ),
        "openai-chat": body_of(
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}}]}],
            "openai-chat",
        ),
        "anthropic": body_of(
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": data},
                        }
                    ],
                }
            ],
            "anthropic",
        ),
        "gemini": json.dumps(
            {
                "contents": [
                    {
                        "role": "user",
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": data}}],
                    }
                ]
            }
        ).encode(),
    }
    sizes = [total(body, name) for name, body in alone.items()]

    assert whole < 20_000
    assert with_unknown < 200_000
    assert max(sizes) < 4_000


@case("39-cjk-undercount.json")
def test_no_script_is_undercounted() -> None:
    """Without a tokenizer: near what tokenizers say, and mixed text is the sum of its parts."""
    given = case_input("39-cjk-undercount.json")
    count = CharTokenCounter().count
    sizes = {name: count(text) / given["chars"][name] for name, text in given["texts"].items()}

    assert all(0.6 <= sizes[name] <= 2 for name in ("zh", "ja", "ko"))
    assert sizes["emoji"] >= 1
    assert 0.15 <= sizes["en"] <= 0.35
    mixed = count("".join(given["texts"].values()))
    assert abs(mixed - sum(map(count, given["texts"].values()))) <= len(given["texts"])


@case("40-tool-schemas-not-counted.json")
def test_tools_and_answer_schemas_are_counted() -> None:
    """In every format, wherever they stand."""
    given = case_input("40-tool-schemas-not-counted.json")["body"]
    tools = given["tools"]
    schema = given["response_format"]["json_schema"]["schema"]
    functions = [tool["function"] for tool in tools]
    bodies = {
        "openai-chat": ({**given, "model": "m"}, ("tools", "response_format")),
        "anthropic": (
            {
                "model": "claude-opus-4-5",
                "max_tokens": 9,
                "messages": given["messages"],
                "system": "Be careful.",
                "tools": [
                    {
                        "name": f["name"],
                        "description": f["description"],
                        "input_schema": f["parameters"],
                    }
                    for f in functions
                ],
            },
            ("tools", "system"),
        ),
        "openai-responses": (
            {
                "model": "m",
                "input": given["messages"],
                "instructions": "Be careful.",
                "tools": [{"type": "function", **function} for function in functions],
                "text": {"format": {"type": "json_schema", "name": "r", "schema": schema}},
            },
            ("tools", "instructions", "text"),
        ),
        "gemini": (
            {
                "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "systemInstruction": {"parts": [{"text": "Be careful."}]},
                "tools": [{"functionDeclarations": functions}],
            },
            ("tools", "systemInstruction"),
        ),
    }
    for name, (body, fields) in bodies.items():
        bare = {key: value for key, value in body.items() if key not in fields}
        whole = total(json.dumps(body).encode(), name)
        assert whole - total(json.dumps(bare).encode(), name) >= 40 * 20
        for field in fields:
            without = {key: value for key, value in body.items() if key != field}
            assert total(json.dumps(without).encode(), name) < whole


@case("41-anthropic-cached-input-ignored.json")
def test_cached_input_is_part_of_the_prompt() -> None:
    """Fresh, read and written together; what is missing or null counts as 0."""
    given = case_input("41-anthropic-cached-input-ignored.json")["usage"]
    usage = usage_from(given)

    assert (usage.total_input, usage.total_input + usage.output) == (21_304, 21_384)
    assert usage_from({"input_tokens": 4, "cache_read_input_tokens": None}).total_input == 4


@case("42-gemini-thoughts-missing.json")
def test_thoughts_are_output_and_cached_input_is_counted_once() -> None:
    """The prompt is the prompt count and what tools of the provider read; thoughts are output."""
    given = case_input("42-gemini-thoughts-missing.json")["usageMetadata"]
    usage = usage_from(given)

    prompt = usage.total_input - given["toolUsePromptTokenCount"]
    assert (prompt, usage.output, usage.reasoning) == (7_000, 4_000, 1_900)


@case("43-special-token-text-crash.json")
@pytest.mark.parametrize(
    "counter", [CharTokenCounter(), counter_for("gpt-4o")], ids=["char", "best"]
)
def test_words_that_look_like_special_tokens_are_words(counter: Any) -> None:
    """In messages, arguments, schemas and the system prompt."""
    session = Session(Policy(limit_tokens=10**9), counter)
    for text in case_input("43-special-token-text-crash.json")["texts"]:
        messages = [
            {"role": "system", "content": text},
            {"role": "user", "content": text},
            {
                "role": "assistant",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": json.dumps({"x": text})},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": text},
        ]
        tools = [{"type": "function", "function": {"name": "f", "description": text}}]
        body = json.dumps({"model": "m", "tools": tools, "messages": messages}).encode()
        assert counter.count(text) >= 1
        assert session.weigh(session.read(Call(body), "openai-chat")).total_tokens > 4


@case("44-null-content-crash.json")
def test_null_and_missing_content_pass_and_are_counted() -> None:
    """Arguments and refusals count; nothing turns from null into an empty string."""
    given = case_input("44-null-content-crash.json")["messages"]
    body = body_of(given, "openai-chat")
    request = read(body, "openai-chat")
    weigh = Measure(CharTokenCounter(), "gpt-5.6").message

    assert rewrite(body, "openai-chat", 10_000, repair=False).body is body
    assert weigh(request.messages[1]) > weigh(request.messages[3])
    assert weigh(request.messages[6]) > weigh(request.messages[5])
    for limit in (40, 60, 80, 120):
        sent = messages_of(rewrite(body, "openai-chat", limit, repair=False).body)
        assert all(message in given for message in sent if "trimtab" not in json.dumps(message))


# ----------------------------------------------------- 8 next-size prediction


def observed(messages: Sequence[Message], tokens: int, output: int) -> ContextTracker:
    """A tracker whose one bill was for some messages, counted by characters."""
    tracker = ContextTracker()
    tracker.carry_into(surface_fingerprint("m", None, None))
    tracker.observe(
        tokens, message_bytes(messages), output_tokens=output, counted=weighed(messages)
    )
    return tracker


def weighed(messages: Sequence[Message]) -> int:
    """What a counter makes of some messages."""
    measure = Measure(CharTokenCounter())
    return sum(map(measure.message, messages))


@case("48-stale-usage-after-compaction.json")
def test_a_size_from_before_a_compaction_is_not_the_size_after_it() -> None:
    """Not after a window's trim, a reload or a change of the model either."""
    reported = case_input("48-stale-usage-after-compaction.json")["steps"][0]
    prompt, output = (
        int(word.strip(",")) for word in reported.split() if word.strip(",").isdigit()
    )
    answer = Message.assistant("a" * 4 * output)
    history = [
        message
        for _ in range(150)
        for message in (Message.user("u" * 2_250), Message.assistant("a" * 2_250))
    ]
    tracker = observed(history, prompt, output)
    tracker.answered(message_bytes([answer]), counted=weighed([answer]))
    compacted = [Message.user("s" * 800), answer]
    small = weighed(compacted)

    tracker.invalidate()
    reloaded = ContextTracker.from_fields(json.loads(json.dumps(tracker.to_fields())))
    for each in (tracker, tracker.copy(), reloaded):
        size, counted = message_bytes(compacted), weighed(compacted)
        assert each.reported is None
        assert (each.predict(size, counted=counted) or 0) < 2 * small
        assert not each.over(120_000, size, counted=counted)
        more = [*compacted, Message.tool("c", "r" * 4_000)]
        predicted = each.predict(message_bytes(more), counted=weighed(more)) or 0
        assert 1_000 <= predicted < 2 * small + 1_100
        assert (each.predict(size) or 0) < prompt // 2  # by bytes alone, too

    reloaded.carry_into(surface_fingerprint("another", None, None))
    assert reloaded.predict(message_bytes(compacted)) is None
    assert not reloaded.over(1, message_bytes(compacted))
    tracker.observe(900, message_bytes(compacted), counted=small)
    assert (tracker.reported, tracker.over(120_000, message_bytes(compacted))) == (900, False)


@case("49-usage-summed-over-calls.json")
def test_only_the_last_call_of_a_conversation_is_its_size() -> None:
    """Calls are not added up, and what a sub-agent sends is not in it."""
    trackers: dict[str, ContextTracker] = {}
    answers = {"main": Message.assistant("a" * 2_000), "sub-1": Message.assistant("b" * 3_200)}
    for report in case_input("49-usage-summed-over-calls.json")["reports"]:
        name = report["conversation"]
        tracker = trackers.setdefault(name, ContextTracker())
        tracker.observe(report["prompt"], 200_000, output_tokens=report["output"], counted=50_000)
        tracker.answered(message_bytes([answers[name]]), counted=weighed([answers[name]]))

    main = trackers["main"]
    answer = weighed([answers["main"]])
    assert main.predict(202_000, counted=50_000 + answer) == 60_500
    assert main.predict(206_000, counted=50_000 + answer + 1_000) == 61_500
    assert (
        trackers["sub-1"].predict(203_200, counted=50_000 + weighed([answers["sub-1"]])) == 90_800
    )


@case("50-anthropic-delta-usage-added.json")
def test_what_a_stream_bills_is_not_added_up() -> None:
    """Each delta tells all that there was; the last one counts."""
    given = case_input("50-anthropic-delta-usage-added.json")["sse"]
    reader = StreamReader("anthropic")
    for told in given:
        kind, _, usage = told.partition(" usage ")
        counts = json.loads(re.sub(r"(\w+):", r'"\1":', usage)) if usage else {}
        event = {"type": kind, "usage": counts, "message": {"usage": counts}}
        reader.feed(f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode())
    reader.close()

    assert reader.usage is not None
    assert (reader.usage.output, reader.usage.total_input) == (22, 40)


@case("20-output-reserve-eats-window.json")
def test_a_wish_for_output_as_large_as_the_window_leaves_room_for_input() -> None:
    """At most half of it; the provider's refusal asks for less output and compacts nothing."""
    given = case_input("20-output-reserve-eats-window.json")
    window, output = given["setup"]["window"], given["setup"]["max_output"]
    assert Window(window).limit_tokens(output) == window // 2
    wish = body_of(given["messages"], "openai-chat", max_tokens=10**6)
    by_window = Session(Policy(), CharTokenCounter())
    told = by_window.rewrite(by_window.read(Call(wish)))
    assert told.outcome.limit_tokens > 0
    assert told.body is wish
    [cut] = told.events
    assert isinstance(cut, ReserveCut)
    assert told.outcome.limit_tokens <= cut.kept_tokens < cut.asked_tokens == 10**6

    body = body_of(given["messages"], "openai-chat", max_tokens=output)
    session = Session(Policy(limit_tokens=window // 2), CharTokenCounter())
    sent = session.rewrite(session.read(Call(body)))
    error = {"error": {"message": given["provider_error"], "code": "context_length_exceeded"}}
    refusal = classify_error(400, {}, json.dumps(error).encode())
    assert sent.body is body
    assert refusal.kind == "output limit"
    assert session.refused(sent.ticket, refusal) is None
    for wrong in (0, -1):
        with pytest.raises(PolicyError):
            Policy(limit_tokens=wrong)
    with pytest.raises(PolicyError):
        Policy().limits(None)


# -------------------------------------------------------- 9 overflow detection


@case("54-overflow-or-rate-limit.json")
def test_each_refusal_has_its_class() -> None:
    """Whole or inside a stream; and the number in it is learned if it is smaller."""
    for error in case_input("54-overflow-or-rate-limit.json")["errors"]:
        body = error["body"]
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        refusal = classify_error(error["status"], error.get("headers") or {}, raw)
        assert refusal.kind.replace(" ", "_") == error["class"].replace("-", "_"), error


# ------------------------------------------------- 3 compaction loop / thrash


@case("18-threshold-below-fixed-overhead.json")
@pytest.mark.parametrize("format", FORMATS)
def test_a_trigger_below_the_fixed_part_is_tried_once(format: str) -> None:  # noqa: A002 - the word for it
    """One attempt, one event; the requests go out as they are, as long as they fit the window."""
    given = case_input("18-threshold-below-fixed-overhead.json")
    setup, messages = given["setup"], list(given["messages"])
    system = "x" * 4 * setup["fixed_overhead_tokens"]
    limit = setup["window"]
    policy = Policy(limit_tokens=limit, trigger_tokens=int(limit * setup["trigger"]))
    engine = Engine(policy, counter=CharTokenCounter()).sync
    events: list[Event] = []
    for turn in range(20):
        body = in_format([{"role": "system", "content": system}, *messages], format)
        sent = engine.rewrite(Call(body), format)
        assert sent.body is body
        engine.forwarded(sent.ticket)
        events += sent.events
        messages += [
            {"role": "assistant", "content": f"answer {turn}"},
            {"role": "user", "content": f"and now {turn}"},
        ]

    assert [type(event) for event in events] == [TriggerUnreachable]


# ----------------------------------------------------- 10 prompt-cache stability


@case("58-dict-order-changes-args.json")
def test_another_order_of_keys_changes_no_byte() -> None:
    """Old messages go out as first sent, tools in one order, and a new one comes last."""
    used = {
        "type": "tool_use",
        "id": "t1",
        "name": "look",
        "input": {"b": 1, "a": {"d": 2, "c": 3}},
    }
    again = {
        "name": "look",
        "input": {"a": {"c": 3, "d": 2}, "b": 1},
        "id": "t1",
        "type": "tool_use",
    }
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    look, find, new = (
        {"name": name, "input_schema": {"type": "object", "required": ["z", "a"]}}
        for name in ("look", "find", "new")
    )

    def history(call: Json) -> list[Json]:
        return [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]

    context = Context("claude-opus-4-5", Policy(limit_tokens=10_000))
    first = context.fit(history(used), tools=[look, find])
    second = context.fit(
        [
            *history(again),
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "?"},
        ],
        tools=[find, look],
    )
    third = context.fit(history(again), tools=[new, look, find])

    assert json.dumps(second.messages[:3]) == json.dumps(first.messages)
    assert json.dumps(second.tools) == json.dumps(first.tools)
    assert third.tools == [look, find, new]


class AlikeCounter:
    """Weighs every text so that a message of one weighs 100 in Chat."""

    name = "100 a message"
    quality = "estimate"

    def count(self, text: str) -> int:  # noqa: ARG002 - all weigh the same
        """A message adds the rest."""
        return 97


@case("60-sliding-trim-each-turn.json")
def test_the_cut_stays_until_the_window_is_full_again() -> None:
    """Cuts are as rare as their depth allows; between them each request extends the one before."""
    given = case_input("60-sliding-trim-each-turn.json")
    budget = given["setup"]["budget"]
    engine = Engine(Policy(limit_tokens=budget), counter=cast("Any", AlikeCounter())).sync
    before: list[bytes] = []
    cuts, freed = 0, []
    for stop in range(1, len(given["messages"]), 2):
        body = body_of(given["messages"][:stop], "openai-chat")
        sent = engine.rewrite(Call(body), "openai-chat")
        engine.forwarded(sent.ticket)
        written = read(sent.body, "openai-chat")
        forms = [written.message_bytes(place) for place in range(len(written.spans))]
        assert sent.outcome.fits
        if any(isinstance(event, PrefixBroken) for event in sent.events):
            cuts += 1
            freed.append(len(before) + 2 - len(forms))
        else:
            assert forms[: len(before)] == before
        before = forms

    assert cuts <= 60 / (min(freed) / 2)


# -------------------------------------------------- 15 speed on large histories


class CallCounter:
    """Counts by characters, and how often it is asked."""

    name = "characters"
    quality = "estimate"

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        """As the counter of characters does."""
        self.asked += 1
        return CharTokenCounter().count(text)


def work(rounds: int) -> tuple[int, int, int]:
    """Calls of functions on a cold turn and on a warm one, and texts counted on the warm one."""
    given = case_input("98-quadratic-trim.json")["messages"][: 1 + 4 * rounds]
    counter = CallCounter()
    total = Session(Policy(limit_tokens=10**9), cast("Any", counter))
    whole = total.weigh(total.read(Call(body_of(given, "openai-chat")))).total_tokens
    engine = Engine(Policy(limit_tokens=whole // 10), counter=cast("Any", counter)).sync
    cold, sent = profiled(engine, body_of(given, "openai-chat"))
    engine.forwarded(sent.ticket)
    asked = counter.asked
    more = [*given, {"role": "user", "content": "one more question"}]
    warm, _ = profiled(engine, body_of(more, "openai-chat"))
    return cold, warm, counter.asked - asked


def profiled(engine: SyncEngine, body: bytes) -> tuple[int, Rewrite]:
    """How many functions a rewrite calls."""
    profile = cProfile.Profile()
    sent = profile.runcall(engine.rewrite, Call(body), "openai-chat")
    return sum(row.callcount for row in profile.getstats()), sent


@case("98-quadratic-trim.json")
def test_work_grows_with_the_history_and_not_faster() -> None:
    """Twice the history is at most 2.6 times the work, and a warm turn counts what is new."""
    small, large = work(1_000), work(2_000)

    assert large[0] <= 2.6 * small[0]
    assert large[1] < large[0] / 5
    assert (small[2], large[2]) == (1, 1)


# ------------------------------------ halves of cases of areas that come later


def in_each_format(raw: bytes) -> dict[str, bytes]:
    """A body of Chat, in all formats."""
    others = {name: converted(raw, "openai-chat", name) for name in FORMATS}
    return {**others, "openai-chat": raw}


@case("57-noop-reserialise-cache.json")
@case("79-lone-surrogate.json")
@pytest.mark.parametrize("name", ["57-noop-reserialise-cache.json", "79-lone-surrogate.json"])
@pytest.mark.parametrize("format", FORMATS)
def test_spelling_stays_where_nothing_is_changed(name: str, format: str) -> None:  # noqa: A002 - the word for it
    """The very body goes out; and where one message is cut, all others keep their bytes."""
    body = in_each_format(case_input(name)["raw_body"].encode())[format]
    field = HISTORIES.get(format, "messages")
    added: list[Json] = [
        {"role": "assistant", "content": "word " * 900},
        {"role": "user", "content": "go"},
    ]
    if format == "gemini":
        added = [
            {"role": "model", "parts": [{"text": "word " * 900}]},
            {"role": "user", "parts": [{"text": "go"}]},
        ]
    start, stop = read(body, format).history_span
    more = b"".join(b"," + json.dumps(item).encode() for item in added)
    longer = body[: stop - 1] + more + body[stop - 1 :]

    cut = rewrite(longer, format, 700)

    assert rewrite(body, format, 100_000).body is body
    assert json.loads(longer)[field]
    assert cut.outcome.fits
    assert cut.body[:start] == longer[:start]
    before, after = read(longer, format), read(cut.body, format)
    kept = {before.message_bytes(place) for place in range(len(before.spans))}
    made = [place for place in range(len(after.spans)) if after.message_bytes(place) not in kept]
    assert len(made) <= 2


@case("13-noop-reserialise-breaks-signature.json")
def test_signed_words_keep_their_spelling() -> None:
    """Escapes, spaces and numbers of a signed message, whether another is cut or not."""
    raw = case_input("13-noop-reserialise-breaks-signature.json")["raw_body"].encode()

    assert rewrite(raw, "anthropic", 10_000).body is raw


@case("71-unknown-block-type-crash.json")
def test_unknown_items_and_blocks_pass_and_are_never_cut() -> None:
    """In every format they are counted, stay whole, and go out as they came."""
    given = case_input("71-unknown-block-type-crash.json")
    blocks, items = given["response_blocks"], given["request_items"]
    words = {"role": "user", "content": "go"}
    gone = "old " * 900
    bodies = {
        "openai-responses": responses_body(
            [words, {"role": "assistant", "content": gone}, words, items[1], items[2], words]
        ),
        "anthropic": body_of(
            [
                {"role": "user", "content": gone},
                {"role": "assistant", "content": "ok"},
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": blocks},
                {"role": "user", "content": "next"},
            ],
            "anthropic",
        ),
        "openai-chat": body_of(
            [
                {"role": "user", "content": gone},
                {"role": "assistant", "content": "ok"},
                {"role": "user", "content": [{"type": "brand_new_2027", "payload": {"k": [1]}}]},
                {"role": "assistant", "content": "ok"},
                {"role": "user", "content": "next"},
            ],
            "openai-chat",
        ),
        "gemini": json.dumps(
            {
                "contents": [
                    {"role": "user", "parts": [{"text": gone}]},
                    {"role": "model", "parts": [{"text": "ok"}]},
                    {"role": "user", "parts": [{"brandNew2027": {"k": [1]}}]},
                    {"role": "model", "parts": [{"text": "ok"}]},
                    {"role": "user", "parts": [{"text": "next"}]},
                ]
            }
        ).encode(),
    }
    for name, body in bodies.items():
        result = rewrite(body, name, 600)
        assert rewrite(body, name, 100_000).body is body
        strange = b"future_item" if name == "openai-responses" else b"rand"
        kept = [m for m in messages_of(body) if strange in json.dumps(m).encode()]
        assert kept
        assert all(message in messages_of(result.body) for message in kept)


@case("72-usage-chunk-empty-choices.json")
def test_usage_is_read_from_a_chunk_without_choices() -> None:
    """Where it is given it is found, where it is not it is not known."""
    hello, counted, _ = case_input("72-usage-chunk-empty-choices.json")["sse"]
    alone = {"usage": {"prompt_tokens": 9, "completion_tokens": 1}}
    for last in (
        json.loads(counted),
        alone,
        {"choices": None, **alone},
        {**json.loads(hello), **alone},
        None,
    ):
        reader = StreamReader("openai-chat")
        chunks = [json.loads(hello), *([] if last is None else [last])]
        for chunk in chunks:
            reader.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        usage = reader.usage
        told = None if usage is None else (usage.total_input, usage.output)
        assert told == (None if last is None else (9, 1))


@case("61-cache-ttl-downgraded.json")
def test_cache_markers_stay_as_they_are() -> None:
    """Place, type and time to live."""
    given = case_input("61-cache-ttl-downgraded.json")["body"]
    body = json.dumps({"model": "claude-opus-4-5", "max_tokens": 9, **given}).encode()

    assert rewrite(body, "anthropic", 100_000).body is body


# --------------------------------------------------------------- completeness


def test_every_case_in_scope_has_a_test() -> None:
    """No case is forgotten, and none is listed that is not there."""
    assert set(TESTED) == in_scope() | HALVES


@pytest.mark.parametrize("name", sorted(in_scope()))
def test_every_case_that_was_valid_stays_valid(name: str) -> None:
    """A case that is valid on arrival is valid at every limit, in its formats."""
    wire = cases()[name]["wire"]
    given = case_input(name).get(HISTORIES.get(wire, "messages"))
    if given is None or not cases()[name].get("pre_valid"):
        return
    given = given[:2_001]  # of the one with 40,000 messages these are enough
    for format_ in FORMATS if wire in ("any", "openai-chat", "anthropic") else (wire,):
        if wire in HISTORIES:
            body = json.dumps({"model": MODELS[wire], HISTORIES[wire]: given}).encode()
        elif wire == "any":
            body = in_format(given, format_)
        else:
            body = body_of(given, wire)
            body = body if format_ == wire else converted(body, wire, format_)
        assert check(body, format_) == ()
        for limit in (50, 200, 1_000, 5_000, 30_000):
            assert check(rewrite(body, format_, limit).body, format_) == ()
