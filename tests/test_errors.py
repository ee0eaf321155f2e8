"""Errors say whose fault it is."""

from __future__ import annotations

import trimtab
from trimtab import errors


def test_all_errors_are_of_one_family() -> None:
    """One base catches them all."""
    kinds = [getattr(errors, name) for name in errors.__all__]

    assert all(issubclass(kind, errors.TrimtabError) for kind in kinds)


def test_the_drawn_tree_is_the_real_one() -> None:
    """The tree in the docstring names every class, under its parent."""
    assert errors.__doc__ is not None
    parent = "TrimtabError"
    drawn = {}
    for line in errors.__doc__.splitlines():
        words = line.replace("│", " ").replace("├──", " ").replace("└──", " ").split()
        if not words or not words[0].endswith("Error"):
            continue
        name, depth = words[0], len(line) - len(line.lstrip(" │├└─"))
        drawn[name] = "Exception" if name == parent else "RequestError" if depth > 8 else parent
    real = {name: getattr(errors, name).__bases__[0].__name__ for name in errors.__all__}

    assert drawn == real


def test_every_error_is_public() -> None:
    """What can be raised can be caught by its public name."""
    assert set(errors.__all__) <= set(trimtab.__all__)


def test_errors_carry_what_can_be_acted_on() -> None:
    """Offset, setting and extra are attributes, not only words."""
    assert errors.MalformedBodyError("cut off", offset=7).offset == 7
    assert str(errors.MalformedBodyError("cut off", offset=7)) == "cut off (at byte 7)"
    assert str(errors.MalformedBodyError("cut off")) == "cut off"
    assert errors.PolicyError("limit", 0, "it must be 1").setting == "limit"
    assert errors.MissingExtraError("counting", "bpe").extra == "bpe"
    assert str(errors.MissingExtraError("counting", "bpe")) == (
        "counting needs an optional part: pip install 'trimtab[bpe]'"
    )
