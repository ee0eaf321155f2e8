"""Each rule of generateContent, by a body that breaks it alone and the nearest one that does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.conversations import bodies
from trimtab.wire import check
from trimtab.wire.gemini_rules import RULES

Json = dict[str, Any]

# --------------------------------------------------------------------- pieces


def text(words: Any = "words", **more: Any) -> Json:
    """A text part."""
    return {"text": words, **more}


def call(name: Any = "ls", *, signature: str | None = "c2ln", **more: Any) -> Json:
    """A call; more goes into its function."""
    signed = {} if signature is None else {"thoughtSignature": signature}
    return {"functionCall": {"name": name, "args": {}, **more}, **signed}


def result(name: Any = "ls", response: Any = None, **more: Any) -> Json:
    """What a function answered."""
    given_ = {"output": "ok"} if response is None else response
    return {"functionResponse": {"name": name, "response": given_, **more}}


def user(*parts: Any) -> Json:
    """A content of the user's."""
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Json:
    """A content of the model's."""
    return {"role": "model", "parts": list(parts)}


def body(*contents: Any, **more: Any) -> Json:
    """A request with some contents."""
    return {"contents": list(contents), **more}


ASK = user(text("list"))
SAY = model(text("done"))
CALL = model(call())
RESULT = user(result())
UNSIGNED = call(signature=None)
PICTURE = {"inlineData": {"mimeType": "image/png", "data": ""}}

# ---------------------------------------------------------------------- table

Row = tuple[str, str, Json, Json]
"""A rule, the place that breaks it, a body that does, and the nearest one that does not."""

ROWS: list[Row] = [
    ("G-shape", "contents", {}, body(ASK)),
    ("G-shape", "contents", body(), body(ASK)),
    ("G-shape", "contents", {"contents": {}}, body(ASK)),
    ("G-shape", "contents[1]", body(ASK, "list"), body(ASK, SAY)),
    ("G-shape", "contents[1]", body(ASK, {"role": "model"}), body(ASK, SAY)),
    ("G-shape", "contents[0]", body({"parts": "x"}), body({"parts": text()})),
    ("G-shape", "contents[0].parts[0]", body(user("x")), body(user(text("x")))),
    (
        "G-role",
        "contents[0].role",
        body({"role": "assistant", "parts": [text()]}),
        body({"parts": [text()]}),
    ),
    ("G-role", "contents[0].role", body({"role": 5, "parts": [text()]}), body(ASK)),
    ("G-role", "contents[0].parts[0]", body(user(call())), body(ASK, CALL, RESULT)),
    (
        "G-role",
        "contents[1].parts[1]",
        body(ASK, model(text(), result()), ASK),
        body(ASK, model(text()), ASK),
    ),
    ("G1", "contents[4]", body(ASK, CALL, RESULT, SAY, CALL, RESULT), body(ASK, CALL, RESULT)),
    ("G2", "contents[0]", body(RESULT, SAY, ASK), body(ASK, SAY, ASK)),
    ("G2", "contents[2]", body(ASK, SAY, RESULT), body(ASK, CALL, RESULT)),
    ("G2", "contents[3]", body(ASK, CALL, RESULT, RESULT), body(ASK, CALL, RESULT, ASK)),
    (
        "G2",
        "contents[3]",
        body(ASK, CALL, user(text(), result()), user(result(), text())),
        body(ASK, CALL, user(text(), result()), SAY),
    ),
    ("G3", "contents[1]", body(ASK, CALL), body(ASK, CALL, RESULT)),
    ("G3", "contents[1]", body(ASK, CALL, ASK), body(ASK, CALL, RESULT, ASK)),
    (
        "G3",
        "contents[1]",
        body(ASK, model(call(), UNSIGNED), RESULT),
        body(ASK, model(call(), UNSIGNED), user(result(), result())),
    ),
    (
        "G3",
        "contents[1]",
        body(ASK, CALL, user(result(), result())),
        body(ASK, CALL, {"role": "function", "parts": [result()]}),
    ),
    (
        "G4",
        "contents[2].parts[0]",
        body(ASK, model(call("a"), call("b")), user(result("b"), result("c"))),
        body(ASK, model(call("a"), call("b")), user(result("b"), result("a"))),
    ),
    ("G5", "contents[1].parts", body(ASK, model(), ASK), body(ASK, SAY, ASK)),
    ("G5", "contents[0].parts[0]", body(user(text(""))), body(user(text(" ")))),
    (
        "G5",
        "contents[1].parts[1]",
        body(ASK, model(text(), text("", thought=True)), ASK),
        body(ASK, model(text(), text("", thoughtSignature="c2ln")), ASK),
    ),
    (
        "G5",
        "contents[0].parts[0]",
        body(user({"text": "x", **PICTURE})),
        body(user({"hologram": {}, "partMetadata": {}})),
    ),
    ("G5", "contents[0].parts[0]", body(user({})), body(user(PICTURE))),
    ("G5", "contents[0].parts[0]", body(user({"text": None})), body(user(text()))),
    (
        "G5",
        "contents[1].parts[0]",
        body(ASK, model({"thoughtSignature": "c2ln"}), ASK),
        body(ASK, model({"thought_signature": "c2ln", "text": ""}), ASK),
    ),
    ("G6", "contents[0]", body(SAY, ASK), body(ASK)),
    ("G6", "contents[1]", body(ASK, ASK), body(ASK, SAY, ASK)),
    ("G6", "contents[1]", body(ASK, {"parts": [text()]}), body(ASK, SAY)),
    ("G6", "contents[2]", body(ASK, SAY, SAY, ASK), body(ASK, SAY, ASK)),
    ("G7", "contents[1].parts[0]", body(ASK, model(UNSIGNED), RESULT), body(ASK, CALL, RESULT)),
    (
        "G7",
        "contents[3].parts[1]",
        body(ASK, CALL, RESULT, model(text(), UNSIGNED, call()), user(result(), result())),
        body(ASK, CALL, RESULT, model(text(), call(), UNSIGNED), user(result(), result())),
    ),
    (
        "G7",
        "contents[3].parts[0]",
        body(ASK, CALL, RESULT, model(UNSIGNED), RESULT),
        body(ASK, model(UNSIGNED), RESULT, model(UNSIGNED), user(result(), text())),
    ),
    (
        "G7",
        "contents[1].parts[0]",
        body(ASK, model(UNSIGNED), RESULT),
        body(ASK, model(UNSIGNED), RESULT, SAY),
    ),
    (
        "G8",
        "systemInstruction",
        body(ASK, cachedContent="c/1", systemInstruction={"parts": [text()]}),
        body(ASK, cachedContent="c/1", generationConfig={}),
    ),
    (
        "G8",
        "tools",
        body(ASK, cached_content="c/1", tools=[{"googleSearch": {}}]),
        body(ASK, cachedContent="", tools=[{"googleSearch": {}}]),
    ),
    (
        "G8",
        "toolConfig",
        body(ASK, cachedContent="c/1", tool_config={"functionCallingConfig": {}}),
        body(ASK, cachedContent=None, tool_config={"functionCallingConfig": {}}),
    ),
    (
        "G9",
        "tools[0].functionDeclarations[0].name",
        body(ASK, tools=[{"functionDeclarations": [{"name": "a b"}]}]),
        body(ASK, tools=[{"functionDeclarations": [{"name": "a.b:c-d"}]}]),
    ),
    (
        "G9",
        "contents[1].parts[0].functionCall.name",
        body(ASK, model(call("1a")), user(result("1a"))),
        body(ASK, model(call("_1a")), user(result("_1a"))),
    ),
    (
        "G-response-object",
        "contents[2].parts[0].functionResponse.response",
        body(ASK, CALL, user(result(response="ok"))),
        body(ASK, CALL, user({"functionResponse": {"name": "ls"}})),
    ),
    (
        "G-response-object",
        "contents[1].parts[0].functionCall.args",
        body(ASK, model(call(args=[])), RESULT),
        body(ASK, model(call(args=None)), RESULT),
    ),
]


def found(whole: Json) -> list[tuple[str, str]]:
    """The rules that a body breaks, each with its place."""
    return [(problem.rule, problem.path) for problem in check(json.dumps(whole).encode(), "gemini")]


@pytest.mark.parametrize(("rule", "path", "broken", "sound"), ROWS)
def test_a_rule_is_found_where_it_is_broken(
    rule: str, path: str, broken: Json, sound: Json
) -> None:
    """The rule is named with its place, and the nearest body that keeps it breaks nothing."""
    assert (rule, path) in found(broken)
    assert found(sound) == []


@pytest.mark.parametrize(("rule", "path", "broken", "sound"), ROWS)
def test_the_other_spelling_is_judged_alike(
    rule: str, path: str, broken: Json, sound: Json
) -> None:
    """Snake case breaks the same rules as camel case."""
    assert {rule for rule, _ in found(_snake(broken))} == {rule for rule, _ in found(broken)}
    assert rule in {rule for rule, _ in found(_snake(broken))}
    assert path
    assert found(_snake(sound)) == []


def _snake(value: Any) -> Any:
    if isinstance(value, list):
        return [_snake(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{c.lower()}" if c.isupper() else c for c in key): _snake(inner)
        for key, inner in value.items()
    }


def test_every_rule_is_broken_once() -> None:
    """No rule of the table is without a row."""
    assert {rule for rule, *_ in ROWS} == set(RULES)


# ------------------------------------------------------------ the rule book's

BOOK: list[tuple[list[str], Json]] = [
    ([], body(ASK, model(call(), UNSIGNED), user(result(), result()))),
    (["G7"], body(ASK, CALL, RESULT, model(call("v", signature=None)), user(result("v")))),
    ([], body(ASK, model(UNSIGNED), RESULT, SAY, ASK)),
    (["G3"], body(ASK, model(call(), UNSIGNED), RESULT)),
    (["G1", "G3", "G6"], body(ASK, CALL, model(UNSIGNED), user(result(), result()))),
    (["G1", "G6"], body(CALL, RESULT)),
    (["G3", "G7"], body(ASK, model(UNSIGNED, UNSIGNED), RESULT)),
    (["G7"], body(ASK, CALL, RESULT, model(UNSIGNED), RESULT)),  # one parallel step, split
]


@pytest.mark.parametrize(("rules", "whole"), BOOK)
def test_an_example_of_the_rule_book_breaks_what_it_says(rules: list[str], whole: Json) -> None:
    """Neither more nor less."""
    assert sorted({rule for rule, _ in found(whole)}) == rules


# -------------------------------------------------------------------- at random


def _steps(whole: Json) -> list[int]:
    contents = whole["contents"]
    return [p for p, content in enumerate(contents) if "unctionCall" in json.dumps(content)]


def _lose_result(whole: Json, place: int) -> str:
    del whole["contents"][place + 1]["parts"][0]
    return "G3"


def _lose_call(whole: Json, place: int) -> str:
    parts = whole["contents"][place]["parts"]
    parts[:] = [part for part in parts if "functionCall" not in part] or [text()]
    return "G2"


def _lose_words(whole: Json, place: int) -> str:
    del whole["contents"][:place]
    return "G1"


def _double(whole: Json, place: int) -> str:
    whole["contents"].insert(place, model(text()))
    return "G6"


def _empty(whole: Json, place: int) -> str:
    whole["contents"][place]["parts"] = []
    return "G5"


def _unwrap(whole: Json, place: int) -> str:
    whole["contents"][place + 1]["parts"][0]["functionResponse"]["response"] = "ok"
    return "G-response-object"


def _rename(whole: Json, place: int) -> str:
    whole["contents"][place + 1]["parts"][0]["functionResponse"]["name"] = "other"
    return "G4"


@given(
    drawn=bodies("gemini"),
    number=st.integers(0, 99),
    breaking=st.sampled_from(
        [_lose_result, _lose_call, _lose_words, _double, _empty, _unwrap, _rename]
    ),
)
def test_one_broken_rule_is_found_in_any_conversation(
    drawn: bytes, number: int, breaking: Any
) -> None:
    """A valid conversation is clean, and one that lost something says what."""
    whole = json.loads(drawn)
    steps = _steps(whole)
    assert found(whole) == []
    if not steps or "function_call" in drawn.decode():
        return

    rule = breaking(whole, steps[number % len(steps)])

    assert rule in {rule for rule, _ in found(whole)}
