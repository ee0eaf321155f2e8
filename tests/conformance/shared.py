"""Where the shared material lies, and how it is read."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["SHARED", "case_input", "cases", "expand", "marking", "vectors"]

SHARED = Path(os.environ.get("TRIMTAB_SHARED", "../shared")).resolve()

Json = dict[str, Any]

Test: TypeAlias = Callable[..., None]


@cache
def vectors() -> Json:
    """Requests, errors and edits with verdicts."""
    value: Json = json.loads((SHARED / "wire" / "vectors.json").read_bytes())
    return value


@cache
def cases() -> dict[str, Json]:
    """Every case by its file name."""
    return {
        path.name: json.loads(path.read_bytes())
        for path in sorted((SHARED / "cases").glob("*.json"))
    }


def expand(value: Any) -> Any:
    """Unfold the macros of a case."""
    spec = importlib.util.spec_from_file_location("expand", SHARED / "cases" / "expand.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ex(value)


def case_input(name: str) -> Json:
    """The unfolded input of a case."""
    value: Json = expand(cases()[name]["input"])
    return value


def marking(tested: set[str]) -> Callable[[str], Callable[[Test], Test]]:
    """A decorator with which tests say which case they are about.

    Args:
        tested: Grows by the case of each test.
    """

    def case(name: str) -> Callable[[Test], Test]:
        def mark(test: Test) -> Test:
            tested.add(name)
            return test

        return mark

    return case
