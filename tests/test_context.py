"""The library's front door: a program's own objects in, the same objects out."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from trimtab import (
    AsyncContext,
    CharTokenCounter,
    Context,
    ContextCompacted,
    Policy,
    Refusal,
    RequestError,
    Usage,
    View,
    in_memory,
)
from trimtab import context as context_module
from trimtab.plan import apply
from trimtab.stores import InMemoryStore

Json = dict[str, Any]

CLAUDE, GPT = "claude-opus-4-5", "gpt-5.2"
BOUND = "claude-opus-5-5"
BETA = "thinking-binding-controls-2026-08-01"
BIG = "x" * 1_600
"""A result of 400 tokens."""


def chat_step(number: int, text: str = BIG) -> list[Json]:
    """A call and its result, in the chat format."""
    call = {
        "id": f"c{number}",
        "type": "function",
        "function": {"name": "look", "arguments": "{}"},
    }
    return [
        {"role": "assistant", "content": f"step {number}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": text},
    ]


def claude_step(number: int, text: str = BIG, *, thinks: bool = False) -> list[Json]:
    """A call and its result, in Anthropic's format."""
    thought = {"type": "thinking", "thinking": "hm", "signature": f"sig{number}"}
    call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
    return [
        {"role": "assistant", "content": [*([thought] if thinks else []), call]},
        {"role": "user", "content": [result]},
    ]


STEPS = {CLAUDE: claude_step, GPT: chat_step}


def loop(model: str, count: int, start: int = 0, text: str = BIG) -> list[Json]:
    """A tool loop from its first message on, or a part of one."""
    messages: list[Json] = [] if start else [{"role": "user", "content": "go"}]
    for number in range(start, count):
        messages += STEPS[model](number, text)
    return messages


def make_context(
    model: str, limit: int = 1_500, store: InMemoryStore | None = None, **more: Any
) -> Context:
    """A context that counts characters."""
    policy = Policy(limit_tokens=limit)
    return Context(model, policy, store=store, counter=CharTokenCounter(), **more)


def ids(objects: Sequence[object]) -> list[int]:
    """Which objects they are."""
    return list(map(id, objects))


def billed(view: View) -> int:
    """What the state of the next request says of the one before."""
    began = view.ticket.began
    assert began is not None
    return began.billed_tokens


both = pytest.mark.parametrize("model", [CLAUDE, GPT])


# -------------------------------------------------------------- same objects


@both
def test_what_fits_comes_back_as_it_was_given(model: str) -> None:
    """The same objects, in a list of their own, and no header."""
    history, tools = loop(model, 2), [{"name": "look", "input_schema": {}}]

    view = make_context(model, 100_000).fit(history, tools=tools, temperature=0.5)

    assert ids(view.messages) == ids(history)
    assert view.messages is not history
    assert (ids(view.tools or []), view.parameters) == (ids(tools), {"temperature": 0.5})
    assert (view.headers, view.plan.edits, view.events) == ({}, (), ())
    assert view.outcome.status == "untouched"


@both
def test_what_no_edit_names_is_the_very_same_object(model: str) -> None:
    """And the history that was given is not changed."""
    history = loop(model, 8)
    before = copy.deepcopy(history)

    view = make_context(model).fit(history)

    kept = [history[place] for place in untouched(view)]
    given = set(ids(history))
    assert history == before
    assert view.outcome.fits
    assert [type(event) for event in view.events] == [ContextCompacted]
    assert 0 < len(kept) < len(view.messages) < len(history)
    assert [id(message) for message in view.messages if id(message) in given] == ids(kept)


def untouched(view: View) -> list[int]:
    """The places of the messages that no edit names, by the plan."""
    slots = apply(view.plan, view.ticket.turn.request.messages)
    return [slot.source for slot in slots if slot.source is not None and slot.is_untouched]


def test_without_tools_there_are_none() -> None:
    """An empty list of them is one."""
    context = make_context(GPT)

    assert context.fit(loop(GPT, 0)).tools is None
    assert context.fit(loop(GPT, 0), tools=[]).tools == []


# ---------------------------------------------------------- as it was first


@both
def test_another_order_of_keys_is_sent_as_first_sent(model: str) -> None:
    """Messages that are equal but written otherwise change no byte of the prefix."""
    context = make_context(model, 100_000)
    first = context.fit(loop(model, 2))
    turned = [dict(reversed(message.items())) for message in loop(model, 3)]
    second = context.fit(turned)

    count = len(first.messages)
    assert [list(message) for message in second.messages[:count]] == [
        list(message) for message in first.messages
    ]
    assert second.messages[:count] == turned[:count]
    assert ids(second.messages[count:]) == ids(turned[count:])
    assert second.events == ()


def test_tools_stand_in_the_order_in_which_each_was_first_sent() -> None:
    """New ones come last, one that is not given is not sent, and a second copy is one too many."""
    context = make_context(GPT)
    read, run, grep = ({"type": "function", "function": {"name": n}} for n in ("a", "b", "c"))
    turned = {"function": {"name": "a"}, "type": "function"}
    history = loop(GPT, 0)

    views = [
        context.fit(history, tools=tools).tools
        for tools in ([read, run], [run, grep, read], [grep, run, turned], [grep], [read, read])
    ]

    assert views == [[read, run], [read, run, grep], [read, run, grep], [grep], [read]]
    assert views[1] is not None
    assert ids(views[1]) == ids([read, run, grep])
    assert list((views[2] or [{}])[0]) == ["type", "function"]


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for few spellings."""
    monkeypatch.setattr(context_module, "_MOST_BYTES", 60)
    monkeypatch.setattr(context_module, "_MOST_SPELLINGS", 2)


@pytest.mark.usefixtures("small_memory")
def test_what_was_not_sent_for_long_is_forgotten() -> None:
    """Then it goes out as it is given, and nothing worse happens."""
    context = make_context(GPT)
    words = [{"role": "user", "content": word} for word in ("one", "two", "three", "four")]
    for message in words:
        context.fit([message])
    turned = dict(reversed(words[0].items()))
    huge = {"content": "x" * 100, "role": "user"}

    assert context.fit([turned]).messages[0] is turned
    assert context.fit([huge]).messages[0] is huge
    assert context._desk._spelling._bytes <= 60


@pytest.mark.usefixtures("small_memory")
def test_many_spellings_of_one_object_are_one_object() -> None:
    """Also when more have been seen than are remembered."""
    context = make_context(GPT)
    first = {"role": "user", "content": "", "a": 1}
    keys = (("content", "role", "a"), ("a", "role", "content"), ("a", "content", "role"))

    views = [context.fit([{key: first[key] for key in order}]) for order in (first, *keys, *keys)]

    assert [list(view.messages[0]) for view in views] == [list(first)] * 7
    assert len(context._desk._spelling._known) == 2


# --------------------------------------------------------------- reporting


@both
def test_a_view_that_nobody_reported_on_counts_as_taken_if_the_history_went_on(model: str) -> None:
    """Then the next view extends it."""
    context = make_context(model)
    first = context.fit(loop(model, 6))
    second = context.fit([*loop(model, 6), *loop(model, 7, 6, "ok")])

    assert first.plan
    assert second.ticket.began == first.ticket.becomes
    assert second.messages[: len(first.messages)] == first.messages


@both
def test_a_view_that_the_history_left_counts_as_never_sent(model: str) -> None:
    """The same history again, or another one."""
    store = in_memory()
    context = make_context(model, store=store)
    context.fit(loop(model, 2))
    again = context.fit(loop(model, 2))
    other = context.fit([{"role": "user", "content": "something else"}, *loop(model, 3, 1)])
    context.fit([])
    last = context.fit(loop(model, 1))

    assert (again.ticket.began, other.ticket.began, last.ticket.began) == (None, None, None)
    assert len(store) == 0


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, 0),
        (Usage(fresh=1, cache_read=2, cache_write=3), 6),
        ({"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 9}, 3),
        (SimpleNamespace(input_tokens=1, cache_creation_input_tokens=4, output_tokens=9), 5),
        ({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}}, 7),
        (
            SimpleNamespace(
                prompt_tokens=7, prompt_tokens_details=SimpleNamespace(cached_tokens=5)
            ),
            7,
        ),
    ],
)
def test_what_was_billed_is_taken_as_the_sdk_gives_it(usage: Any, tokens: int) -> None:
    """A dict or an object of either format, or nothing at all."""
    context = make_context(GPT)
    context.observe(context.fit(loop(GPT, 1)), usage)

    assert billed(context.fit(loop(GPT, 2))) == tokens


@both
def test_a_refused_view_gives_another_one_once(model: str) -> None:
    """Smaller where it was too large, and what comes of it is known next time."""
    context = make_context(model, 4_000)
    first = context.fit(loop(model, 6), temperature=1)
    refusal = Refusal(kind="overflow", limit_tokens=1_000, sent_tokens=2_000)
    second = context.refused(first, refusal)
    assert second is not None
    context.observe(second)
    third = context.fit([*loop(model, 6), *loop(model, 7, 6, "ok")])

    assert second.outcome.tokens_after <= first.outcome.tokens_after // 2
    assert second.parameters == {"temperature": 1}
    assert third.messages[: len(second.messages)] == second.messages
    assert third.ticket.began == second.ticket.becomes


def test_what_cannot_be_mended_gives_no_other_view() -> None:
    """A second refusal, one that waiting helps, and one of a view that is no longer open."""
    context = make_context(GPT, 4_000)
    history = loop(GPT, 6)
    waiting = context.refused(context.fit(history), Refusal(kind="rate limit"))
    second = context.refused(context.fit(history), Refusal(kind="overflow"))
    assert second is not None
    third = context.refused(second, Refusal(kind="overflow"))
    old = context.fit(history)
    context.fit(history)

    assert (waiting, third) == (None, None)
    assert context.refused(old, Refusal(kind="overflow")) is None


def test_a_view_can_be_reported_on_late() -> None:
    """It was taken, whatever was asked meanwhile."""
    context = make_context(GPT)
    old = context.fit(loop(GPT, 1))
    context.fit([{"role": "user", "content": "a question aside"}])
    context.observe(old, Usage(fresh=9))

    assert billed(context.fit(loop(GPT, 2))) == 9


def test_contexts_that_share_a_store_know_each_others_conversations() -> None:
    """Of one tenant; another one knows nothing."""
    store = in_memory()
    first = make_context(GPT, store=store)
    view = first.fit(loop(GPT, 6))
    first.observe(view)
    turned = [dict(reversed(message.items())) for message in loop(GPT, 6)]

    same = make_context(GPT, store=store).fit(turned)
    other = make_context(GPT, store=store, tenant="b").fit(loop(GPT, 6))

    assert same.ticket.began == view.ticket.becomes
    assert same.messages == view.messages
    assert other.ticket.began is None


def test_a_fork_is_known_whatever_the_order_of_its_keys() -> None:
    """As where another process reads the history back from a database."""
    store = in_memory()
    first = make_context(GPT, store=store)
    first.observe(first.fit(loop(GPT, 6)))
    fork = [*loop(GPT, 6)[:-1], {"role": "tool", "tool_call_id": "c5", "content": "other"}]
    turned = [dict(reversed(message.items())) for message in fork]

    same = make_context(GPT, store=store).fit(fork)
    other = make_context(GPT, store=store).fit(turned)

    assert other.plan == same.plan
    assert other.messages == same.messages


# ------------------------------------------------------------ SDK's objects


class Answered:
    """An object as SDKs have them, with fields that nobody set."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self, *, mode: str, exclude_unset: bool, by_alias: bool) -> Json:
        """Write it, without what was never set."""
        assert (mode, exclude_unset, by_alias) == ("json", True, True)
        return {key: value for key, value in self.__dict__.items() if value is not None}


@both
def test_objects_of_an_sdk_are_messages_like_dicts(model: str) -> None:
    """What was never set is not sent; what is kept is the object itself."""
    plain = loop(model, 6)
    objects = [Answered(**message, refusal=None, audio=None) for message in plain]

    view = make_context(model).fit(objects)
    same = make_context(model).fit(plain)

    assert view.outcome == same.outcome
    kept = [message for message in view.messages if isinstance(message, Answered)]
    assert ids(kept) == ids([objects[place] for place in untouched(view)])
    assert len(kept) == sum(message in plain for message in same.messages) > 0


def test_objects_inside_dicts_are_written_too() -> None:
    """As agents append the blocks of an answer to their history."""
    plain = loop(CLAUDE, 2)
    mixed = [
        {**message, "content": [Answered(**block) for block in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in plain
    ]

    view = make_context(CLAUDE, 100_000).fit(mixed)

    assert ids(view.messages) == ids(mixed)
    assert view.outcome == make_context(CLAUDE, 100_000).fit(plain).outcome


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": 1j}]},
            "message 1",
        ),
        ({"messages": [{"role": "user", "content": object()}]}, "message 0"),
        ({"messages": [{"role": "user", "content": "half \ud800"}]}, "message 0"),
        ({"messages": [], "tools": [{}, {"name": object()}]}, "tool 1"),
        ({"messages": [], "system": object()}, "`system`"),
    ],
)
def test_what_is_no_json_is_named_by_its_place(given: Json, place: str) -> None:
    """So that it can be found in a long history."""
    with pytest.raises(RequestError, match=place):
        make_context(GPT).fit(**given)


def test_what_is_nested_without_end_is_named_by_its_place() -> None:
    """A message that holds itself."""
    message: Json = {"role": "user"}
    message["content"] = [message]

    with pytest.raises(RequestError, match="message 0"):
        make_context(GPT).fit([message])


# ------------------------------------------------------------------- format


@pytest.mark.parametrize(
    ("model", "history", "more", "name"),
    [
        (CLAUDE, [{"role": "user", "content": "a"}], {}, "anthropic"),
        (GPT, [{"role": "user", "content": "a"}], {}, "openai-chat"),
        (CLAUDE, chat_step(0), {}, "openai-chat"),
        (GPT, [], {"system": "be careful"}, "anthropic"),
        (GPT, [{"role": "user", "content": "a"}], {"format": "anthropic"}, "anthropic"),
        (CLAUDE, [{"role": "user", "content": "a"}], {"format": "openai-chat"}, "openai-chat"),
    ],
)
def test_the_format_is_told_from_what_is_given(
    model: str, history: list[Json], more: Json, name: str
) -> None:
    """Or named by the user, who knows better."""
    wire_format = more.pop("format", None)
    view = make_context(model, format=wire_format).fit(history, **more)

    assert view.ticket.turn.request.format.name == name


def test_on_a_bound_model_an_edit_comes_with_its_parameter_and_header() -> None:
    """Both are to be sent; what else was given stays as it was."""
    history = [{"role": "user", "content": "go"}]
    for number in range(8):
        history += claude_step(number, thinks=True)
    thinking = {"type": "adaptive"}
    context = make_context(BOUND, headers_settable=True)

    view = context.fit(history, thinking=thinking, max_tokens=64)

    assert view.plan.envelope
    assert view.headers == {"anthropic-beta": BETA}
    assert view.parameters == {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "max_tokens": 64,
    }
    assert thinking == {"type": "adaptive"}


def test_where_headers_are_not_sent_no_edit_needs_one() -> None:
    """The default: then what would need one is left, and the outcome says so."""
    history = [{"role": "user", "content": "go"}]
    for number in range(8):
        history += claude_step(number, thinks=True)

    view = make_context(BOUND).fit(history, thinking={"type": "adaptive"})

    assert (view.headers, view.plan.envelope) == ({}, ())
    assert view.outcome.status == "unmet"
    assert ids(view.messages) == ids(history)


# -------------------------------------------------------------------- async


@pytest.fixture(params=[CLAUDE, GPT])
def pair(request: pytest.FixtureRequest) -> tuple[str, Context, AsyncContext]:
    """A context of each kind, with the same settings."""
    model: str = request.param
    policy = Policy(limit_tokens=1_500)
    return (
        model,
        make_context(model),
        AsyncContext(model, policy, store=in_memory(), counter=CharTokenCounter()),
    )


def test_code_that_awaits_gets_the_same(pair: tuple[str, Context, AsyncContext]) -> None:
    """Views, reports with and without usage, silence, and refusals."""
    model, context, other = pair
    histories = [[*loop(model, 6), *loop(model, count, 6, "ok")] for count in (6, 7, 8, 9, 10)]

    async def run() -> list[View | None]:
        views: list[View | None] = []
        first = await other.fit(histories[0])
        await other.observe(first)
        second = await other.fit(histories[1])
        await other.observe(second, {"prompt_tokens": 9})
        third = await other.fit(histories[2])
        fourth = await other.fit(histories[3])
        fifth = await other.refused(fourth, Refusal(kind="overflow"))
        assert fifth is not None
        sixth = await other.refused(fifth, Refusal(kind="overflow"))
        views += [first, second, third, fourth, fifth, sixth]
        return views

    first = context.fit(histories[0])
    context.observe(first)
    second = context.fit(histories[1])
    context.observe(second, {"prompt_tokens": 9})
    third = context.fit(histories[2])
    fourth = context.fit(histories[3])
    fifth = context.refused(fourth, Refusal(kind="overflow"))
    assert fifth is not None
    sixth = context.refused(fifth, Refusal(kind="overflow"))

    assert list(map(told, asyncio.run(run()))) == list(
        map(told, (first, second, third, fourth, fifth, sixth))
    )


def told(view: View | None) -> Any:
    """All of a view that can be compared."""
    if view is None:
        return None
    return (view.messages, view.outcome, view.plan, view.events, view.ticket.becomes)


@pytest.mark.parametrize("messages", ["hi", b"hi", {}, None, iter(())])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    """A string is a sequence too, of letters."""
    with pytest.raises(RequestError, match="not a list of the SDK's messages"):
        Context("gpt-5.2", Policy(limit_tokens=100)).fit(messages)
