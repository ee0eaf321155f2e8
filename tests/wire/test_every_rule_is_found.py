"""No rule is broken by any valid body, and each is found when it is broken in one at random."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.conversations import FORMATS
from tests.wire.valid_bodies import BODIES, MANUAL, NEW, NOTHING, Has
from trimtab.wire import check, format_named

Json = dict[str, Any]

Pick = Callable[[Sequence[Any]], Any]
"""One of some values at random."""

Breaking = Callable[[Json, Pick], None]
"""Breaks a rule in a valid body, which it changes."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """A way to break one rule.

    Attributes:
        format: Name of the format.
        rule: Id of the rule.
        breaks: Breaks it.
        has: What the body must have.
        drawn: More for the strategy of the body.
        examples: How many bodies it is tried on.
    """

    format: str
    rule: str
    breaks: Breaking
    has: Has = NOTHING
    drawn: Json = field(default_factory=dict)
    examples: int = 4

    def __str__(self) -> str:
        return f"{self.rule}-{self.breaks.__name__.strip('_')}"


BREAKERS: list[Breaker] = []


def breaks(
    format: str,  # noqa: A002 - the word for it
    rule: str,
    *has: str,
    examples: int = 4,
    **drawn: Any,
) -> Callable[[Breaking], Breaking]:
    """Enter a function into the table of breakers."""

    def enter(breaking: Breaking) -> Breaking:
        BREAKERS.append(Breaker(format, rule, breaking, frozenset(has), drawn, examples))
        return breaking

    return enter


NOT_SHOWN = {
    "A12": "only who has the answer knows that its thinking was altered",
    "A18": "only the stop reason of the answer says that it was paused",
    "C8": "whether roles must alternate depends on the server's chat template",
    "C9": "whether a user message is needed depends on the server's chat template",
    "C10": "the window depends on the server",
    "C11": "which role a model takes depends on the server",
    "R6": "only the provider can tell whether encrypted content is its own",
    "R7": "only the provider knows whether a stored response is still there",
}
"""Numbered rules that no request shows to be broken, and why."""

NUMBERED = {"anthropic": ("A", 22), "openai-chat": ("C", 11), "openai-responses": ("R", 11)} | {
    "gemini": ("G", 9)
}
"""How each provider's rules are numbered, and how many there are."""


# -------------------------------------------------------------------- anthropic


def blocks(body: Json, *kinds: str) -> list[tuple[list[Json], int]]:
    """Where blocks of some kinds stand: the list, and the place in it."""
    return [
        (message["content"], place)
        for message in body["messages"]
        if isinstance(message["content"], list)
        for place, block in enumerate(message["content"])
        if block["type"] in kinds
    ]


def block(body: Json, pick: Pick, *kinds: str) -> Json:
    """A block of some kinds."""
    content, place = pick(blocks(body, *kinds))
    found: Json = content[place]
    return found


def words(text: Any = "words", **more: Any) -> Json:
    """A text block."""
    return {"type": "text", "text": text, **more}


def say(body: Json, *content: Any) -> None:
    """Let Claude say something at the end, instead of what it says there."""
    if body["messages"][-1]["role"] == "assistant":
        body["messages"].pop()
    body["messages"].append({"role": "assistant", "content": list(content)})


def ask(body: Json, *content: Any) -> None:
    """Let the user say something at the end, behind an answer."""
    say(body, words())
    body["messages"].append({"role": "user", "content": list(content)})


def tool_use(call_id: str = "new", **more: Any) -> Json:
    """A call."""
    return {"type": "tool_use", "id": call_id, "name": "ls", "input": {}, **more}


def tool_result(call_id: str = "new", **more: Any) -> Json:
    """Its result."""
    return {"type": "tool_result", "tool_use_id": call_id, **more}


def use_tool(body: Json, call: Json, *results: Json) -> None:
    """An exchange at the end."""
    ask(body, words())
    body["messages"].append({"role": "assistant", "content": [call]})
    body["messages"].append({"role": "user", "content": list(results)})


def forget_thinking(body: Json) -> None:
    """Let the body say nothing about thinking, so that a rule of it is not broken as well."""
    body.pop("thinking", None)


@breaks("anthropic", "A-shape")
def _lose_a_parameter(body: Json, pick: Pick) -> None:
    del body[pick(("model", "max_tokens", "messages"))]


@breaks("anthropic", "A-shape")
def _lose_content(body: Json, pick: Pick) -> None:
    del pick(body["messages"])["content"]


@breaks("anthropic", "A-shape", "calls")
def _lose_a_type(body: Json, pick: Pick) -> None:
    del block(body, pick, "text", "tool_use", "tool_result", "image")["type"]


@breaks("anthropic", "A1")
def _begin_with_claude(body: Json, _: Pick) -> None:
    body["messages"].insert(0, {"role": "assistant", "content": "hello"})


@breaks("anthropic", "A1", models=NEW)
def _begin_with_system(body: Json, _: Pick) -> None:
    body["messages"].insert(0, {"role": "system", "content": "be brief"})


@breaks("anthropic", "A2", "calls")
def _lose_a_result(body: Json, pick: Pick) -> None:
    content, place = pick(blocks(body, "tool_result"))
    del content[place]


@breaks("anthropic", "A2", "calls")
def _lose_all_results(body: Json, pick: Pick) -> None:
    content, _ = pick(blocks(body, "tool_result"))
    content[:] = [words()]


@breaks("anthropic", "A2")
def _end_with_a_call(body: Json, _: Pick) -> None:
    say(body, tool_use())


@breaks("anthropic", "A3", "calls")
def _lose_a_call(body: Json, pick: Pick) -> None:
    content, place = pick(blocks(body, "tool_use"))
    content[place] = words()


@breaks("anthropic", "A3", "calls")
def _answer_twice(body: Json, pick: Pick) -> None:
    content, place = pick(blocks(body, "tool_result"))
    content.insert(place, dict(content[place]))


@breaks("anthropic", "A3", "blocks")
def _answer_what_was_not_asked(body: Json, pick: Pick) -> None:
    message = pick([message for message in body["messages"] if message["role"] == "user"])
    own = [words()] if isinstance(message["content"], str) else message["content"]
    message["content"] = [tool_result(), *own]


@breaks("anthropic", "A4", "calls")
def _speak_before_the_result(body: Json, pick: Pick) -> None:
    content, place = pick(blocks(body, "tool_result"))
    content.insert(place, words())


@breaks("anthropic", "A5", "calls")
def _call_twice_by_one_id(body: Json, pick: Pick) -> None:
    first = block(body, pick, "tool_use")["id"]
    use_tool(body, tool_use(first), tool_result(first))


@breaks("anthropic", "A6", "calls")
def _lose_the_tools(body: Json, pick: Pick) -> None:
    if pick((True, False)):
        del body["tools"]
    else:
        body["tools"] = []


@breaks("anthropic", "A7")
def _say_nothing(body: Json, pick: Pick) -> None:
    pick(body["messages"][:-1] or [{}])["content"] = pick(("", " \n", []))
    ask(body, words(pick(("", "\t"))))


@breaks("anthropic", "A7")
def _blank_system(body: Json, pick: Pick) -> None:
    body["system"] = [words(), words(pick(("", " ")))]


@breaks("anthropic", "A7", "calls")
def _blank_text_in_a_result(body: Json, pick: Pick) -> None:
    block(body, pick, "tool_result")["content"] = [words("")]


@breaks("anthropic", "A8", "thinking")
def _mark_thinking(body: Json, pick: Pick) -> None:
    thought = block(body, pick, "thinking", "redacted_thinking")
    thought["cache_control"] = {"type": "ephemeral"}


@breaks("anthropic", "A8")
def _mark_empty_text(body: Json, _: Pick) -> None:
    ask(body, words(), words("", cache_control={"type": "ephemeral"}))


@breaks("anthropic", "A9")
def _mark_too_much(body: Json, pick: Pick) -> None:
    marked = words(cache_control={"type": "ephemeral"})
    ask(body, *[marked] * pick((5, 9)))


@breaks("anthropic", "A9")
def _mark_too_much_with_the_automatic_one(body: Json, _: Pick) -> None:
    body["cache_control"] = {"type": "ephemeral"}
    ask(body, *[words(cache_control={"type": "ephemeral"})] * 4)


@breaks("anthropic", "A10")
def _mark_for_long_behind_short(body: Json, pick: Pick) -> None:
    short = pick(({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "5m"}))
    ask(body, words(cache_control=short), words(cache_control={"type": "ephemeral", "ttl": "1h"}))


@breaks("anthropic", "A11", models=NEW)
def _prefill(body: Json, _: Pick) -> None:
    say(body, words("So"))


@breaks("anthropic", "A11", models=MANUAL)
def _prefill_with_a_blank_end(body: Json, pick: Pick) -> None:
    say(body, words(pick(("So ", "So\n"))))


@breaks("anthropic", "A13", models=MANUAL)
def _call_without_thinking(body: Json, pick: Pick) -> None:
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    use_tool(body, tool_use(), tool_result())
    body["messages"][-2]["content"].insert(0, pick((words(), tool_use("b"))))
    if body["messages"][-2]["content"][0]["type"] == "tool_use":
        body["messages"][-1]["content"].append(tool_result("b"))


@breaks("anthropic", "A14", "thinking")
def _lose_a_signature(body: Json, pick: Pick) -> None:
    thought = block(body, pick, "thinking")
    if pick((True, False)):
        del thought["signature"]
    else:
        thought["signature"] = ""


@breaks("anthropic", "A15", models=MANUAL)
def _interject_where_the_model_takes_none(body: Json, _: Pick) -> None:
    ask(body, words())
    body["messages"].append({"role": "system", "content": "hurry"})


@breaks("anthropic", "A15", models=NEW)
def _interject_behind_the_answer(body: Json, _: Pick) -> None:
    say(body, words())
    body["messages"].append({"role": "system", "content": "hurry"})


@breaks("anthropic", "A15", models=NEW)
def _interject_before_the_user(body: Json, _: Pick) -> None:
    ask(body, words())
    body["messages"].append({"role": "system", "content": "hurry"})
    body["messages"].append({"role": "user", "content": "more"})


@breaks("anthropic", "A15", "calls", models=NEW)
def _interject_before_a_result(body: Json, pick: Pick) -> None:
    content, _ = pick(blocks(body, "tool_result"))
    place = next(n for n, m in enumerate(body["messages"]) if m["content"] is content)
    body["messages"].insert(place, {"role": "system", "content": "hurry"})


SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_new", "name": "web_search", "input": {}}


@breaks("anthropic", "A16")
def _lose_what_the_server_found(body: Json, pick: Pick) -> None:
    say(body, *pick(([SEARCH], [words(), SEARCH], [SEARCH, words()])))
    body["messages"].append({"role": "user", "content": "go on"})


@breaks("anthropic", "A16", "server tool")
def _lose_what_the_server_was_asked(body: Json, pick: Pick) -> None:
    results = [(c, p) for c, p in all_blocks(body) if c[p]["type"].endswith("_tool_result")]
    content, place = pick(results)
    lost = content[place]["tool_use_id"]
    for inner, number in all_blocks(body):
        if inner[number].get("id") == lost:
            inner[number] = words()


def at(where: tuple[list[Json], int]) -> Json:
    """The block at a place."""
    return where[0][where[1]]


def all_blocks(body: Json) -> Iterator[tuple[list[Json], int]]:
    """Where each block stands."""
    for message in body["messages"]:
        if isinstance(message["content"], list):
            yield from ((message["content"], place) for place in range(len(message["content"])))


@breaks("anthropic", "A17")
def _speak_while_the_server_runs(body: Json, _: Pick) -> None:
    use_tool(body, tool_use(), tool_result(), words())
    body["messages"][-2]["content"].insert(0, SEARCH)


@breaks("anthropic", "A17", "mixed calls")
def _speak_in_a_mixed_turn(body: Json, pick: Pick) -> None:
    kinds = [[b["type"] for b in m["content"] if isinstance(b, dict)] for m in body["messages"]]
    mixed = [n for n, row in enumerate(kinds) if "tool_use" in row and row.count("server_tool_use")]
    behind = [body["messages"][n + 1]["content"] for n in mixed if is_waiting(body["messages"][n])]
    pick(behind).append(words())


def is_waiting(message: Json) -> bool:
    """Whether a server tool that is called in a message is not answered in it."""
    answered = {block.get("tool_use_id") for block in message["content"]}
    called = [block["id"] for block in message["content"] if block["type"] == "server_tool_use"]
    return not answered.issuperset(called)


@breaks("anthropic", "A19", "toolset")
def _lose_a_toolset(body: Json, pick: Pick) -> None:
    named = [b for b in map(at, blocks(body, "tool_result")) if "toolset_name" in b]
    result = pick(named)
    if pick((True, False)):
        del result["toolset_name"]
    else:
        result["toolset_name"] = "other"


@breaks("anthropic", "A20", examples=1)
def _speak_too_often(body: Json, _: Pick) -> None:
    ask(body, words())
    body["messages"] += [{"role": "user", "content": "."}] * 100_000


@breaks("anthropic", "A20", examples=1)
def _speak_too_much(body: Json, _: Pick) -> None:
    ask(body, words("x" * (32 * 2**20)))


URL: Json = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}


@breaks("anthropic", "A21", examples=2)
def _show_too_much(body: Json, _: Pick) -> None:
    ask(body, *[URL] * 601)


@breaks("anthropic", "A21", examples=2, models=MANUAL)
def _show_too_much_for_a_small_window(body: Json, _: Pick) -> None:
    ask(body, *[URL] * 101)


@breaks("anthropic", "A22")
def _say_more_of_a_message(body: Json, pick: Pick) -> None:
    pick(body["messages"])[pick(("id", "stop_reason"))] = "x"


@breaks("anthropic", "A22", "calls", "thinking")
def _say_more_of_a_block(body: Json, pick: Pick) -> None:
    block(body, pick, "text", "tool_use", "tool_result", "thinking", "image")["index"] = 0


@breaks("anthropic", "A-role")
def _speak_as_a_tool(body: Json, pick: Pick) -> None:
    pick(body["messages"])["role"] = pick(("tool", "developer", None))


@breaks("anthropic", "A-role")
def _put_a_block_into_the_wrong_message(body: Json, pick: Pick) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    redacted = {"type": "redacted_thinking", "data": "x"}
    if pick((True, False)):
        ask(body, words(), pick((thought, redacted, tool_use())))
    else:
        say(body, pick((URL, tool_result(), {"type": "container_upload", "file_id": "f"})))


@breaks("anthropic", "A-role", models=NEW)
def _interject_more_than_words(body: Json, pick: Pick) -> None:
    ask(body, words())
    document = {"type": "document", "source": {"type": "file", "file_id": "f"}}
    body["messages"].append({"role": "system", "content": [pick((URL, document))]})


@breaks("anthropic", "A-input", "calls")
def _call_with_text(body: Json, pick: Pick) -> None:
    block(body, pick, "tool_use")["input"] = pick(("{}", [], None))


@breaks("anthropic", "A-name", "calls")
def _call_by_a_bad_name(body: Json, pick: Pick) -> None:
    key, name = pick((("name", "list files"), ("name", "é"), ("name", "n" * 129), ("id", "a:1")))
    block(body, pick, "tool_use")[key] = name


@breaks("anthropic", "A-name")
def _define_a_bad_name(body: Json, pick: Pick) -> None:
    pick(body["tools"][:-1])["name"] = pick(("list files", "", None))


@breaks("anthropic", "A-compaction-empty", "compaction")
def _empty_a_compaction(body: Json, pick: Pick) -> None:
    block(body, pick, "compaction")["content"] = ""


@breaks("anthropic", "A-thinking", models=MANUAL)
def _think_too_little_or_too_much(body: Json, pick: Pick) -> None:
    budget = pick((0, 1023, body["max_tokens"], body["max_tokens"] + 1))
    body["thinking"] = {"type": "enabled", "budget_tokens": budget}


@breaks("anthropic", "A-thinking")
def _think_in_a_way_that_the_model_refuses(body: Json, pick: Pick) -> None:
    ways: list[tuple[str, Json]] = [
        *((model, {"type": "enabled", "budget_tokens": 1024}) for model in NEW),
        *((model, {"type": "adaptive"}) for model in MANUAL),
        ("claude-fable-5", {"type": "disabled"}),
        ("claude-opus-5-5", {"type": "disabled"}),
    ]
    body["model"], body["thinking"] = pick(ways)


@breaks("anthropic", "A-thinking")
def _think_not_at_the_highest_effort(body: Json, pick: Pick) -> None:
    body |= {"model": "claude-opus-5", "thinking": {"type": "disabled"}}
    body["output_config"] = {"effort": pick(("xhigh", "max"))}


@breaks("anthropic", "A-tool-choice")
def _force_a_tool(body: Json, pick: Pick) -> None:
    body["model"] = pick(("claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5"))
    body["tool_choice"] = pick(({"type": "any"}, {"type": "tool", "name": "ls"}))


# ------------------------------------------------------------------ openai-chat


def spoken(body: Json, *roles: str) -> list[Json]:
    """Messages of some roles."""
    return [message for message in body["messages"] if message["role"] in roles]


def functions(body: Json) -> list[Json]:
    """What is called."""
    calls = [call for message in body["messages"] for call in message.get("tool_calls", [])]
    return [call["function"] for call in calls if "function" in call]


@breaks("openai-chat", "C-shape")
def _lose_a_chat_parameter(body: Json, pick: Pick) -> None:
    del body[pick(("model", "messages"))]


@breaks("openai-chat", "C-shape")
def _lose_a_role(body: Json, pick: Pick) -> None:
    pick(body["messages"])["role"] = pick(("poet", None, "model"))


@breaks("openai-chat", "C-shape")
def _put_in_no_message(body: Json, pick: Pick) -> None:
    body["messages"].insert(pick(range(len(body["messages"]))), "hello")


@breaks("openai-chat", "C1", "calls")
def _lose_a_tool_message(body: Json, pick: Pick) -> None:
    lost = pick(spoken(body, "tool"))
    body["messages"] = [message for message in body["messages"] if message is not lost]


@breaks("openai-chat", "C1", "calls")
def _speak_before_the_tool(body: Json, pick: Pick) -> None:
    first = pick(spoken(body, "tool"))
    place = next(n for n, message in enumerate(body["messages"]) if message is first)
    body["messages"].insert(place, {"role": "user", "content": "wait"})


@breaks("openai-chat", "C2", "calls")
def _lose_what_called(body: Json, pick: Pick) -> None:
    asked = pick([message for message in body["messages"] if message.get("tool_calls")])
    del asked["tool_calls"]
    asked["content"] = "words"


@breaks("openai-chat", "C2", "calls")
def _answer_another(body: Json, pick: Pick) -> None:
    pick(spoken(body, "tool"))["tool_call_id"] = pick(("call_other", None))


@breaks("openai-chat", "C2")
def _answer_out_of_the_blue(body: Json, pick: Pick) -> None:
    body["messages"].append({"role": "user", "content": "x"})
    body["messages"].append({"role": "tool", "tool_call_id": pick(("a", "call_0")), "content": ""})


@breaks("openai-chat", "C3", "answer")
def _call_nothing(body: Json, pick: Pick) -> None:
    answers = [m for m in spoken(body, "assistant") if "tool_calls" not in m]
    pick(answers)["tool_calls"] = []


@breaks("openai-chat", "C4", "answer")
def _answer_nothing(body: Json, pick: Pick) -> None:
    answers = [m for m in spoken(body, "assistant") if "tool_calls" not in m]
    answer = pick(answers)
    answer.clear()
    answer |= {"role": "assistant", **pick(({"content": None}, {}))}


@breaks("openai-chat", "C5", "calls")
def _call_by_a_bad_chat_name(body: Json, pick: Pick) -> None:
    pick(functions(body))["name"] = pick(("list files", "", "n" * 65, None))


@breaks("openai-chat", "C5")
def _define_a_bad_chat_name(body: Json, pick: Pick) -> None:
    pick(body["tools"][:-1])["function"]["name"] = pick(("list files", "", "n" * 65, None))


@breaks("openai-chat", "C6", "calls")
def _call_with_bad_json(body: Json, pick: Pick) -> None:
    pick(functions(body))["arguments"] = pick(('{"a":', "{'a': 1}", {"a": 1}, None, "words"))


@breaks("openai-chat", "C7")
def _ask_of_no_stream(body: Json, pick: Pick) -> None:
    body |= {"stream": pick((False, None)), "stream_options": {"include_usage": True}}


@breaks("openai-chat", "C-content")
def _lose_chat_content(body: Json, pick: Pick) -> None:
    said = pick(spoken(body, "user", "system", "developer", "tool"))
    if pick((True, False)):
        del said["content"]
    else:
        said["content"] = pick((None, {}, 5, [{"text": "no type"}]))


@breaks("openai-chat", "C-content", "calls")
def _show_where_only_words_may_be(body: Json, pick: Pick) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    sound = {"type": "input_audio", "input_audio": {}}
    said = pick(spoken(body, "tool", "system", "developer", "assistant"))
    said["content"] = [{"type": "text", "text": "see"}, pick((picture, sound))]


# -------------------------------------------------------------- openai-responses


def items(body: Json, *kinds: str) -> list[Json]:
    """Items of some kinds."""
    return [item for item in body["input"] if item.get("type") in kinds]


def remove(body: Json, lost: Json) -> int:
    """Take one item out; say where it was."""
    place = next(n for n, item in enumerate(body["input"]) if item is lost)
    del body["input"][place]
    return place


CALLED = ("function_call", "custom_tool_call", "shell_call", "apply_patch_call", "computer_call")


@breaks("openai-responses", "R-shape", "parts")
def _lose_a_responses_parameter(body: Json, pick: Pick) -> None:
    del body[pick(("model", "input"))]


@breaks("openai-responses", "R-shape", "parts")
def _put_in_no_item(body: Json, pick: Pick) -> None:
    body["input"].insert(pick(range(len(body["input"]))), pick(("hello", {}, {"content": "x"})))


@breaks("openai-responses", "R-shape", "parts")
def _speak_as_a_poet(body: Json, pick: Pick) -> None:
    said = [item for item in body["input"] if "role" in item]
    pick(said)["role"] = pick(("poet", "tool", "model"))


@breaks("openai-responses", "R1", "calls")
def _lose_an_output(body: Json, pick: Pick) -> None:
    remove(body, pick(items(body, *(f"{kind}_output" for kind in CALLED))))
    body["input"].append({"role": "user", "content": "go on"})


@breaks("openai-responses", "R2", "calls")
def _lose_a_responses_call(body: Json, pick: Pick) -> None:
    answered = {item["call_id"] for item in body["input"] if "output" in item}
    calls = [item for item in items(body, *CALLED) if item["call_id"] in answered]
    remove(body, pick(calls))


@breaks("openai-responses", "R2", "calls")
def _answer_before_the_call(body: Json, pick: Pick) -> None:
    output = pick(items(body, "function_call_output"))
    remove(body, output)
    body["input"].insert(0, output)


@breaks("openai-responses", "R3", "reasoning")
def _reason_at_the_end(body: Json, pick: Pick) -> None:
    thought = pick(items(body, "reasoning"))
    if pick((True, False)):
        body["input"].append(dict(thought))
    else:
        body["input"] += [dict(thought), {"role": "user", "content": "go on"}]


@breaks("openai-responses", "R4", "parts")
def _lose_reasoning(body: Json, pick: Pick) -> None:
    own = {"type": "function_call", "id": "fc_new", "call_id": "new", "name": "ls"}
    said = {"type": "message", "id": "msg_new", "role": "assistant", "content": "done"}
    body["input"].append({"role": "user", "content": "go on"})
    body["input"].append(pick(({**own, "arguments": "{}"}, said)))


@breaks("openai-responses", "R5", "reasoning")
def _keep_reasoning_nowhere(body: Json, pick: Pick) -> None:
    body["store"] = False
    thought = pick(items(body, "reasoning"))
    if pick((True, False)):
        thought.pop("encrypted_content", None)
    else:
        thought["encrypted_content"] = None


@breaks("openai-responses", "R8", "parts")
def _continue_in_two_ways(body: Json, pick: Pick) -> None:
    body |= {"previous_response_id": "resp_1", "conversation": pick(("conv_1", {"id": "conv_1"}))}


@breaks("openai-responses", "R9", "calls")
def _call_with_no_text(body: Json, pick: Pick) -> None:
    pick(items(body, "function_call"))["arguments"] = pick(({}, None, 5))


@breaks("openai-responses", "R9", "calls")
def _lose_a_call_id(body: Json, pick: Pick) -> None:
    chosen = pick(items(body, "function_call", "function_call_output", "shell_call"))
    if pick((True, False)):
        del chosen["call_id"]
    else:
        chosen["call_id"] = ""


@breaks("openai-responses", "R9", "calls")
def _lose_what_came_of_it(body: Json, pick: Pick) -> None:
    outputs = [item for item in body["input"] if "output" in item]
    output = pick(outputs)
    if pick((True, False)):
        del output["output"]
    else:
        output["output"] = None


@breaks("openai-responses", "R10", "compaction")
def _empty_a_responses_compaction(body: Json, pick: Pick) -> None:
    del pick(items(body, "compaction"))["encrypted_content"]


@breaks("openai-responses", "R10", "parts")
def _trigger_too_early(body: Json, _: Pick) -> None:
    body["input"] += [{"type": "compaction_trigger"}, {"role": "user", "content": "x"}]


MARK: Json = {"prompt_cache_breakpoint": {"mode": "explicit"}}


@breaks("openai-responses", "R11", "parts")
def _mark_an_answer(body: Json, _: Pick) -> None:
    part = {"type": "output_text", "text": "done", **MARK}
    body["input"].append({"role": "user", "content": "x"})
    body["input"].append({"role": "assistant", "content": [part]})


@breaks("openai-responses", "R11", "parts")
def _mark_an_item(body: Json, pick: Pick) -> None:
    chosen = pick(body["input"])
    chosen |= MARK


@breaks("openai-responses", "R-content", "parts")
def _say_with_the_wrong_part(body: Json, pick: Pick) -> None:
    said = pick([item for item in body["input"] if item.get("role") == "user"])
    said["content"] = [{"type": pick(("text", "image_url", "output_text", None)), "text": "x"}]


@breaks("openai-responses", "R-content", "answer")
def _answer_with_the_wrong_part(body: Json, pick: Pick) -> None:
    said = pick([item for item in body["input"] if item.get("role") == "assistant"])
    said["content"] = pick(([{"type": "input_text", "text": "x"}], None, {}))


@breaks("openai-responses", "R-name", "calls")
def _call_by_a_bad_responses_name(body: Json, pick: Pick) -> None:
    named = items(body, "function_call") + body["tools"][:-2]
    pick(named)["name"] = pick(("list files", "", None, "é"))


# ------------------------------------------------------------------------ gemini


def parts(body: Json, key: str) -> list[tuple[list[Json], int]]:
    """Where parts stand that hold something: the list, and the place in it."""
    return [
        (content["parts"], place)
        for content in body["contents"]
        for place, part in enumerate(content["parts"])
        if key in part
    ]


def part_of(body: Json, pick: Pick, key: str) -> Json:
    """A part that holds something."""
    return at(pick(parts(body, key)))


def model_content(*held: Json) -> Json:
    """What the model says."""
    return {"role": "model", "parts": list(held)}


def begin_turn(body: Json) -> None:
    """Let the user say something at the end, behind an answer."""
    if body["contents"][-1].get("role") != "model":
        body["contents"].append(model_content({"text": "done"}))
    body["contents"].append({"role": "user", "parts": [{"text": "and now?"}]})


SIGNED: Json = {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "c2ln"}
RESULT: Json = {"functionResponse": {"name": "ls", "response": {}}}


@breaks("gemini", "G-shape")
def _lose_the_contents(body: Json, pick: Pick) -> None:
    if pick((True, False)):
        del body["contents"]
    else:
        body["contents"] = pick(([], {}, None))


@breaks("gemini", "G-shape")
def _lose_the_parts(body: Json, pick: Pick) -> None:
    content = pick(body["contents"])
    if pick((True, False)):
        del content["parts"]
    else:
        content["parts"] = ["hello"]


@breaks("gemini", "G-role")
def _speak_in_another_role(body: Json, pick: Pick) -> None:
    pick(body["contents"])["role"] = pick(("assistant", "system", "tool"))


@breaks("gemini", "G-role")
def _let_the_user_call(body: Json, _: Pick) -> None:
    begin_turn(body)
    body["contents"][-1]["parts"].append(SIGNED)


@breaks("gemini", "G1", "calls", "camel")
def _lose_what_was_asked(body: Json, _: Pick) -> None:
    place = next(n for n, c in enumerate(body["contents"]) if "functionCall" in str(c))
    del body["contents"][:place]


@breaks("gemini", "G1")
def _call_behind_an_answer(body: Json, _: Pick) -> None:
    begin_turn(body)
    answer = model_content({"text": "wait"})
    body["contents"] += [answer, model_content(SIGNED), {"role": "user", "parts": [RESULT]}]


@breaks("gemini", "G2", "calls", "camel")
def _lose_all_calls(body: Json, pick: Pick) -> None:
    held, _ = pick(parts(body, "functionCall"))
    held[:] = [{"text": "words"}]


@breaks("gemini", "G2")
def _answer_without_a_call(body: Json, _: Pick) -> None:
    begin_turn(body)
    body["contents"] += [model_content({"text": "x"}), {"role": "user", "parts": [RESULT]}]


@breaks("gemini", "G3", "calls", "camel")
def _lose_one_response(body: Json, pick: Pick) -> None:
    held, place = pick(parts(body, "functionResponse"))
    del held[place]
    if not held:
        held.append({"text": "words"})


@breaks("gemini", "G3", "calls", "camel")
def _respond_twice(body: Json, pick: Pick) -> None:
    held, place = pick(parts(body, "functionResponse"))
    held.insert(place, dict(held[place]))


@breaks("gemini", "G3")
def _split_a_parallel_step(body: Json, _: Pick) -> None:
    begin_turn(body)
    unsigned: Json = {"functionCall": {"name": "ls", "args": {}}}
    results = {"role": "user", "parts": [RESULT]}
    body["contents"] += [model_content(SIGNED, unsigned), results]
    body["contents"] += [model_content({"text": "x"}), {"role": "user", "parts": [RESULT]}]


@breaks("gemini", "G4", "calls", "camel")
def _respond_for_another(body: Json, pick: Pick) -> None:
    part_of(body, pick, "functionResponse")["functionResponse"]["name"] = "other"


@breaks("gemini", "G5")
def _hold_nothing(body: Json, pick: Pick) -> None:
    content = pick(body["contents"])
    nothing: tuple[Json, ...] = ({}, {"text": ""}, {"text": None}, {"thought": True})
    content["parts"] = pick(([], [pick(nothing)]))


@breaks("gemini", "G5", "camel")
def _hold_two_things(body: Json, pick: Pick) -> None:
    chosen = part_of(body, pick, "text")
    chosen["inlineData"] = {"mimeType": "image/png", "data": ""}
    chosen["text"] = "words"


@breaks("gemini", "G6")
def _begin_with_the_model(body: Json, _: Pick) -> None:
    body["contents"].insert(0, model_content({"text": "hello"}))


@breaks("gemini", "G6")
def _ask_twice(body: Json, _: Pick) -> None:
    begin_turn(body)
    body["contents"].append({"role": "user", "parts": [{"text": "well?"}]})


@breaks("gemini", "G6", "answer")
def _answer_twice_in_a_row(body: Json, pick: Pick) -> None:
    answers = [n for n, c in enumerate(body["contents"]) if c.get("role") == "model"]
    body["contents"].insert(pick(answers), model_content({"text": "hm"}))


@breaks("gemini", "G7", "open loop", "camel")
def _lose_a_thought_signature(body: Json, pick: Pick) -> None:
    last_words = max(
        number
        for number, content in enumerate(body["contents"])
        if content.get("role") != "model" and "functionResponse" not in content["parts"][0]
    )
    steps = [
        next(part for part in content["parts"] if "functionCall" in part)
        for content in body["contents"][last_words:]
        if any("functionCall" in part for part in content["parts"])
    ]
    del pick(steps)["thoughtSignature"]


@breaks("gemini", "G8")
def _cache_and_repeat(body: Json, pick: Pick) -> None:
    body[pick(("cachedContent", "cached_content"))] = "cachedContents/1"
    repeated: Json = {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "tools": [{"googleSearch": {}}],
        "tool_config": {"functionCallingConfig": {}},
    }
    key = pick(sorted(repeated))
    body[key] = repeated[key]


@breaks("gemini", "G9", "calls", "camel")
def _call_by_a_bad_gemini_name(body: Json, pick: Pick) -> None:
    key = pick(("functionCall", "functionResponse"))
    part_of(body, pick, key)[key]["name"] = pick(("1a", "list files", "", "n" * 65, None))


@breaks("gemini", "G9")
def _declare_a_bad_name(body: Json, pick: Pick) -> None:
    body["tools"] = [{pick(("functionDeclarations", "function_declarations")): [{"name": "a b"}]}]


@breaks("gemini", "G-response-object", "calls", "camel")
def _respond_with_no_object(body: Json, pick: Pick) -> None:
    key, inner = pick((("functionCall", "args"), ("functionResponse", "response")))
    part_of(body, pick, key)[key][inner] = pick(("12", ["12"], 12))


# ------------------------------------------------------------------------- laws


def found(body: Json, format: str) -> set[str]:  # noqa: A002 - the word for it
    """The rules that a body breaks."""
    return {problem.rule for problem in check(json.dumps(body).encode(), format)}


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=50)
@given(data=st.data())
def test_a_valid_body_breaks_no_rule(data: st.DataObject, format: str) -> None:  # noqa: A002 - the word for it
    """Whatever a provider takes, no rule is said to be broken."""
    body = data.draw(BODIES[format]())

    assert check(json.dumps(body).encode(), format) == ()


@pytest.mark.parametrize("breaker", BREAKERS, ids=str)
def test_a_broken_rule_is_found_in_any_body(breaker: Breaker) -> None:
    """A rule that is broken at random in a body that breaks none is named."""

    @settings(max_examples=breaker.examples)
    @given(data=st.data())
    def law(data: st.DataObject) -> None:
        body = data.draw(BODIES[breaker.format](has=breaker.has, **breaker.drawn))
        breaker.breaks(body, lambda choices: data.draw(st.sampled_from(choices)))
        assert breaker.rule in found(body, breaker.format)

    law()


@pytest.mark.parametrize("format", FORMATS)
def test_every_rule_has_a_breaker(format: str) -> None:  # noqa: A002 - the word for it
    """No rule of a table is without a way to break it."""
    broken = {breaker.rule for breaker in BREAKERS if breaker.format == format}

    assert broken == format_named(format).rules.keys()


@pytest.mark.parametrize("format", FORMATS)
def test_every_numbered_rule_is_checked_or_cannot_be_shown(format: str) -> None:  # noqa: A002 - the word for it
    """What no request can show is named with the reason; all other rules are in the table."""
    letter, count = NUMBERED[format]
    numbered = {f"{letter}{number}" for number in range(1, count + 1)}
    not_shown = numbered & NOT_SHOWN.keys()

    assert numbered - not_shown == {rule for rule in format_named(format).rules if rule in numbered}
