"""A plan as JSON: what is written down is what is read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import (
    Drop,
    Fold,
    Keep,
    Media,
    Message,
    Opaque,
    Plan,
    Replace,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from trimtab.messages import Part
from trimtab.plan import EMPTY_PLAN, Edit, EnvelopeEdit, Ref
from trimtab.stored_plan import form_names, load_plan, plan_digest, store_plan
from trimtab.wire.json_spans import dump, load

Json = dict[str, Any]

MADE = Message.user("made", origin="marker")
OTHER = Message.user("other", origin="marker")
RESULT = Message("tool", [ToolResult("c1", (Text("x"),), is_error=True)], origin="repair")


def stored(plan: Plan) -> tuple[Json, dict[str, Json]]:
    """The JSON of a plan and its forms, once through bytes; a form is named by its own text."""
    forms: dict[str, bytes] = {}

    def keep(form: Json) -> str:
        raw = dump(form)
        forms[raw.decode()] = raw
        return raw.decode()

    value = load(dump(store_plan(plan, keep)))
    return value, {name: load(raw) for name, raw in forms.items()}


# --------------------------------------------------------------- round trip

WORDS = st.one_of(st.text(max_size=8), st.sampled_from(["\ud800", 'a "quote" \\', "日本語\u2028"]))
NUMBERS = st.integers(0, 2**40)
TEXTS = st.builds(Text, WORDS)
MEDIA = st.builds(
    Media,
    st.sampled_from(["image", "document", "audio", "video", "file"]),
    media_type=WORDS,
    data=WORDS,
    location=WORDS,
    detail=WORDS,
    width=NUMBERS,
    height=NUMBERS,
    pages=NUMBERS,
)
OPAQUE = st.builds(Opaque, WORDS, WORDS)
CONTENT = st.lists(st.one_of(TEXTS, MEDIA, OPAQUE), max_size=3).map(tuple)
PARTS: st.SearchStrategy[Part] = st.one_of(
    TEXTS,
    MEDIA,
    OPAQUE,
    st.builds(Thinking, WORDS, WORDS, is_redacted=st.booleans()),
    st.builds(ToolCall, WORDS, WORDS, WORDS),
    st.builds(ToolResult, WORDS, CONTENT, is_error=st.booleans()),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
    st.lists(PARTS, max_size=3),
    origin=st.sampled_from([None, "marker", "summary", "repair", "filler"]),
)
REFS = st.builds(
    Ref, st.integers(0, 9), st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=2).map(tuple))
)
SAVED = st.integers(-(2**40), 2**40)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(Keep, REFS, WORDS),
    st.builds(Drop, REFS, WORDS, SAVED),
    st.builds(Replace, NUMBERS, NUMBERS, PARTS, WORDS, SAVED),
    st.builds(
        Fold,
        st.lists(REFS, max_size=6).map(tuple),
        NUMBERS,
        MESSAGES,
        WORDS,
        st.one_of(st.none(), NUMBERS),
        SAVED,
    ),
)
ENVELOPES = st.builds(
    EnvelopeEdit, st.lists(WORDS, min_size=1, max_size=3).map(tuple), WORDS, WORDS, WORDS, WORDS
)
PLANS = st.builds(
    Plan, st.lists(EDITS, max_size=4).map(tuple), st.lists(ENVELOPES, max_size=2).map(tuple)
)


@given(plan=PLANS)
def test_a_plan_comes_back_as_it_was(plan: Plan) -> None:
    """Every kind of edit and part, whatever words it holds."""
    value, forms = stored(plan)

    assert load_plan(value, forms) == plan
    assert set(form_names(value)) == forms.keys()


@pytest.mark.parametrize(
    "part",
    [
        Text("words"),
        Thinking("hm", "signature"),
        Thinking("", "encrypted", is_redacted=True),
        ToolCall("c1", "look", '{"id":4611686018427387905}'),
        Media("image", "image/png", "aGk=", "", "high", 3, 4, 0),
        Media("document", location="file-1", pages=2),
        Opaque("search_result", '{"type":"search_result"}'),
        ToolResult("c1", ()),
        ToolResult(
            "c1", (Text("a"), Media("image", data="aGk="), Opaque("x", "{}")), is_error=True
        ),
    ],
)
def test_every_part_comes_back_as_it_was(part: Part) -> None:
    """As what stands in place of another, and inside a message that we made."""
    message = Message("user", [part, part], origin="summary")
    plan = Plan((Replace(1, 2, part, "r", 3), Fold((), 4, message, "f", 3, -5)))
    value, forms = stored(plan)

    assert load_plan(value, forms) == plan


def test_an_empty_plan_comes_back_empty() -> None:
    """It has no forms."""
    assert stored(EMPTY_PLAN) == ({"edits": [], "envelope": []}, {})
    assert load_plan({"edits": [], "envelope": []}, {}) == EMPTY_PLAN


# ---------------------------------------------------------------- as written


@pytest.mark.parametrize(
    ("edit", "value"),
    [
        (Keep(Ref(3), "k"), {"edit": "keep", "refs": [[3, 3]], "why": "k"}),
        (Drop(Ref(3), "d", 7), {"edit": "drop", "refs": [[3, 3]], "why": "d", "saved": 7}),
        (
            Drop(Ref(3, (0, 2)), "d"),
            {"edit": "drop", "refs": [[3, [0, 2]]], "why": "d", "saved": 0},
        ),
        (
            Replace(3, 1, Text("x"), "r", 7),
            {"edit": "replace", "at": [3, 1], "form": "form", "why": "r", "saved": 7},
        ),
        (
            Fold((Ref(1),), 2, MADE, "f", 0, -7),
            {
                "edit": "fold",
                "refs": [[1, 1]],
                "before": 2,
                "joins": 0,
                "form": "form",
                "why": "f",
                "saved": -7,
            },
        ),
    ],
)
def test_what_is_written_is_what_earlier_versions_can_read(edit: Edit, value: Json) -> None:
    """Another spelling would make every stored plan unreadable."""
    assert store_plan(Plan((edit,)), lambda _: "form") == {"edits": [value], "envelope": []}


@pytest.mark.parametrize(
    ("form", "plan"),
    [
        ({"part": "Text", "text": "x"}, Plan((Replace(0, 0, Text("x"), ""),))),
        (
            {
                "part": "ToolResult",
                "id": "c",
                "content": [{"part": "Text", "text": "x"}],
                "error": True,
            },
            Plan((Replace(0, 0, ToolResult("c", (Text("x"),), is_error=True), ""),)),
        ),
        (
            {"role": "user", "origin": "marker", "parts": [{"part": "Text", "text": "made"}]},
            Plan((Fold((), 0, MADE, ""),)),
        ),
    ],
)
def test_forms_are_what_earlier_versions_can_read(form: Json, plan: Plan) -> None:
    """The same for what is kept apart from the plan."""
    kept: list[Json] = []

    def keep(form: Json) -> str:
        kept.append(form)
        return "form"

    store_plan(plan, keep)

    assert kept == [form]


def test_an_edit_of_the_envelope_is_a_row() -> None:
    """In the order of its fields."""
    plan = Plan((), (EnvelopeEdit(("a", "b"), "1", "why", "x-beta", "on"),))

    assert stored(plan)[0] == {
        "edits": [],
        "envelope": [[["a", "b"], "1", "why", "x-beta", "on"]],
    }


@pytest.mark.parametrize(
    ("refs", "written"),
    [
        ((), []),
        ((1,), [[1, 1]]),
        ((1, 2, 3), [[1, 3]]),
        ((1, 2, 4, 5), [[1, 2], [4, 5]]),
        ((3, 2, 1), [[3, 3], [2, 2], [1, 1]]),
        ((1, 1), [[1, 1], [1, 1]]),
        (((1, (0,)), 2, 3), [[1, [0]], [2, 3]]),
        ((1, (2, (0, 1)), 3), [[1, 1], [2, [0, 1]], [3, 3]]),
        (((1, ()), 2), [[1, []], [2, 2]]),
    ],
)
def test_whole_messages_in_a_row_are_one_range(refs: tuple[Any, ...], written: list[Any]) -> None:
    """A fold of a thousand messages takes no more room than one of two."""
    removed = tuple(Ref(*ref) if isinstance(ref, tuple) else Ref(ref) for ref in refs)
    plan = Plan((Fold(removed, 9, MADE, "f"),))
    value, forms = stored(plan)

    assert value["edits"][0]["refs"] == written
    assert load_plan(value, forms) == plan


def test_a_form_is_named_once() -> None:
    """In the order in which forms are needed; edits without one name none."""
    plan = Plan(
        (
            Fold((), 1, MADE, "f"),
            Keep(Ref(0), "k"),
            Fold((), 2, OTHER, "f"),
            Drop(Ref(1), "d"),
            Fold((), 3, MADE, "f"),
        )
    )

    value = store_plan(plan, lambda form: str(form["parts"][0]["text"]))

    assert form_names(value) == ["made", "other"]


# ------------------------------------------------------------------- foreign


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({}, KeyError),
        ({"edits": []}, KeyError),
        ({"edits": None, "envelope": []}, TypeError),
        ({"edits": [{}], "envelope": []}, KeyError),
        ({"edits": [{"edit": "melt"}], "envelope": []}, ValueError),
        ({"edits": [{"edit": "keep", "refs": [[1, 1]]}], "envelope": []}, KeyError),
        ({"edits": [{"edit": "keep", "refs": [[1]], "why": ""}], "envelope": []}, ValueError),
        ({"edits": [], "envelope": [[["a"]]]}, TypeError),
        ({"edits": [], "envelope": [[]]}, ValueError),
        (
            {
                "edits": [{"edit": "replace", "at": [0, 0], "form": "gone", "why": "", "saved": 0}],
                "envelope": [],
            },
            KeyError,
        ),
        (
            {
                "edits": [{"edit": "replace", "at": [0, 0], "form": "odd", "why": "", "saved": 0}],
                "envelope": [],
            },
            KeyError,
        ),
        (
            {
                "edits": [{"edit": "replace", "at": [0, 0], "form": "more", "why": "", "saved": 0}],
                "envelope": [],
            },
            TypeError,
        ),
    ],
)
def test_what_is_no_plan_is_refused(value: Json, error: type[Exception]) -> None:
    """With an error that says what was wrong, and nothing in between."""
    forms = {"odd": {"part": "Hologram"}, "more": {"part": "Text", "text": "x", "font": "y"}}

    with pytest.raises(error):
        load_plan(value, forms)


# -------------------------------------------------------------------- digest

BASE: tuple[Edit, ...] = (
    Keep(Ref(0), "k"),
    Replace(1, 0, Text("x"), "r"),
    Drop(Ref(2, (0,)), "d"),
    Fold((Ref(3), Ref(4)), 5, MADE, "f"),
)
ENVELOPE = (EnvelopeEdit(("a",), "1", "why"),)


def test_the_digest_is_the_same_in_every_process_and_version() -> None:
    """What was refused once stays refused."""
    assert plan_digest(EMPTY_PLAN).hex() == "643d5437104296e2"
    assert plan_digest(Plan(BASE, ENVELOPE)).hex() == "ded6d5a945abc48b"


@given(plan=PLANS, saved=SAVED)
def test_the_digest_ignores_what_edits_save(plan: Plan, saved: int) -> None:
    """A figure is no difference in what is sent."""
    others = [
        edit if isinstance(edit, Keep) else replace(edit, saved_tokens=saved) for edit in plan
    ]

    assert plan_digest(Plan(tuple(others), plan.envelope)) == plan_digest(plan)


def test_the_digest_ignores_order_and_what_is_kept() -> None:
    """Neither changes what is sent."""
    plan = Plan(BASE, ENVELOPE)

    assert plan_digest(Plan(BASE[::-1], ENVELOPE)) == plan_digest(plan)
    assert plan_digest(Plan(BASE[1:], ENVELOPE)) == plan_digest(plan)


def changed(place: int, change: Callable[[Any], Edit]) -> Plan:
    """The plan with one edit changed."""
    edits = list(BASE)
    edits[place] = change(edits[place])
    return Plan(tuple(edits), ENVELOPE)


OTHERS = [
    EMPTY_PLAN,
    Plan(BASE),
    Plan((), ENVELOPE),
    Plan(BASE, (*ENVELOPE, *ENVELOPE)),
    Plan(BASE, (EnvelopeEdit(("a",), "2", "why"),)),
    Plan(BASE, (EnvelopeEdit(("a",), "1", "why", "x-beta", "on"),)),
    changed(1, lambda edit: replace(edit, message=9)),
    changed(1, lambda edit: replace(edit, part=9)),
    changed(1, lambda edit: replace(edit, new=Text("y"))),
    changed(1, lambda edit: replace(edit, new=Thinking("x"))),
    changed(2, lambda edit: replace(edit, ref=Ref(2, (1,)))),
    changed(2, lambda edit: replace(edit, ref=Ref(2))),
    changed(2, lambda edit: Keep(edit.ref, edit.reason)),
    changed(3, lambda edit: replace(edit, removed=(Ref(3),))),
    changed(3, lambda edit: replace(edit, before=6)),
    changed(3, lambda edit: replace(edit, joins=2)),
    changed(3, lambda edit: replace(edit, message=OTHER)),
    changed(3, lambda edit: replace(edit, message=RESULT)),
]


def test_the_digest_tells_plans_apart() -> None:
    """Each that does something else has another one."""
    plans = [Plan(BASE, ENVELOPE), *OTHERS]

    assert len({plan_digest(plan) for plan in plans}) == len(plans)
