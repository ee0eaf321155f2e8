"""Every vector of the two formats gets its verdict."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.shared import vectors
from trimtab import CharTokenCounter, Policy, Session
from trimtab.wire import Call, check, read

FORMATS = {"anthropic": "anthropic", "chat": "openai-chat"}

Json = dict[str, Any]

REQUESTS = [vector for vector in vectors()["requests"] if vector["format"] in FORMATS]


def test_there_are_vectors_of_both_formats() -> None:
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
