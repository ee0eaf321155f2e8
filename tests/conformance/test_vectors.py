"""Every vector of the formats gets its verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.shared import vectors
from trimtab import CharTokenCounter, Policy, Session
from trimtab.wire import Call, check, classify_error, read

FORMATS = {
    "anthropic": "anthropic",
    "chat": "openai-chat",
    "responses": "openai-responses",
    "gemini": "gemini",
}

Json = dict[str, Any]

REQUESTS = [vector for vector in vectors()["requests"] if vector["format"] in FORMATS]


def test_there_are_vectors_of_each_format() -> None:
    """The list of vectors is the one that is meant."""
    counts = [sum(v["format"] == name for v in REQUESTS) for name in FORMATS]

    assert min(counts) >= 8


@pytest.mark.parametrize("vector", REQUESTS, ids=lambda vector: vector["id"])
def test_a_vector_breaks_the_rules_that_it_says(vector: Json) -> None:
    """A request breaks exactly the rules of its verdict."""
    body = json.dumps(vector["body"]).encode()

    problems = check(body, FORMATS[vector["format"]])

    assert {problem.rule for problem in problems} == set(vector["breaks"])
    assert (not problems) is vector["valid"]


@pytest.mark.parametrize("vector", REQUESTS, ids=lambda vector: vector["id"])
def test_a_vector_tells_its_format(vector: Json) -> None:
    """The format is told from the content."""
    body = json.dumps(vector["body"]).encode()

    assert read(body).format.name == FORMATS[vector["format"]]


@pytest.mark.parametrize("vector", REQUESTS, ids=lambda vector: vector["id"])
@pytest.mark.parametrize("limit", [1, 30, 60, 10_000])
def test_a_vector_never_gets_worse(vector: Json, limit: int) -> None:
    """Cut to any limit, it breaks no rule that it did not break before."""
    body = json.dumps(vector["body"]).encode()
    name = FORMATS[vector["format"]]
    session = Session(Policy(limit_tokens=limit), CharTokenCounter())

    rewrite = session.rewrite(session.read(Call(body), name))

    after = {problem.rule for problem in check(rewrite.body, name)}
    assert after <= set(vector["breaks"])


@pytest.mark.parametrize("vector", vectors()["edits"], ids=lambda vector: vector["id"])
def test_an_edit_breaks_the_rules_that_it_says(vector: Json) -> None:
    """What was valid before is as valid after it as its verdict says."""
    before, after = (
        json.dumps({"model": "gpt-5.6", "store": False, "input": vector[side]}).encode()
        for side in ("before", "after")
    )

    assert check(before, "openai-responses") == ()
    assert {p.rule for p in check(after, "openai-responses")} == set(vector["breaks"])


@pytest.mark.parametrize("vector", vectors()["errors"], ids=lambda vector: vector["id"])
def test_an_error_gets_its_class(vector: Json) -> None:
    """Status and body tell what is refused; a 200 says that the answer had begun."""
    body = vector["body"]
    text = body if isinstance(body, str) else json.dumps(body)

    refusal = classify_error(vector["status"], {}, text.encode())

    assert refusal.kind == vector["class"].lower().replace("_", " ")
    assert refusal.is_after_start is (vector["status"] == 200)
