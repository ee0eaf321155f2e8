"""The formats that are known, by name."""

from __future__ import annotations

import pytest

from trimtab.errors import UnknownFormatError
from trimtab.wire import FORMATS, format_named


def test_each_format_is_found_by_its_name() -> None:
    """Names are unique, and lead to the one instance."""
    names = [wire_format.name for wire_format in FORMATS]

    assert len(names) == len(set(names))
    assert {"anthropic", "openai-chat", "gemini"} <= set(names)
    assert tuple(map(format_named, names)) == FORMATS


def test_an_unknown_name_lists_the_known_ones() -> None:
    """A typo is mended with one look at the message."""
    with pytest.raises(UnknownFormatError) as caught:
        format_named("openai")

    known = ", ".join(wire_format.name for wire_format in FORMATS)
    assert str(caught.value) == f"there is no format 'openai'; known are {known}"


def test_rules_stand_under_their_ids() -> None:
    """No two formats share an id, so that a problem names its rule alone."""
    ids = [rule_id for wire_format in FORMATS for rule_id in wire_format.rules]

    assert len(ids) == len(set(ids))
    assert [r.id for f in FORMATS for r in f.rules.values()] == ids
