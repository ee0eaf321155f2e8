"""What is known of a conversation, written down and read back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import Drop, Fold, Keep, Message, Plan, Replace, State, StoreError, Text, ToolResult
from trimtab.births import NOTE_BYTES
from trimtab.chain import DIGEST_BYTES, LINK_BYTES, NO_ROUNDS, Rounds, digest, links, root
from trimtab.plan import EMPTY_PLAN, EnvelopeEdit, Ref
from trimtab.state import STEPS, SurfaceDigest, forms_named
from trimtab.tracker import ContextTracker

Json = dict[str, Any]

MADE = Message.user("made", origin="marker")
PLAN = Plan(
    (
        Keep(Ref(0), "first"),
        Replace(1, 0, ToolResult("c1", (Text("short"),)), "clipped", 90),
        Drop(Ref(2, (0,)), "blank", 1),
        Fold(tuple(Ref(place) for place in range(3, 9)), 9, MADE, "folded", 0, 700),
    ),
    (EnvelopeEdit(("thinking",), "{}", "bound", "x-beta", "on"),),
)


def told_tracker(tokens: int) -> ContextTracker:
    """A tracker that has seen a turn."""
    tracker = ContextTracker()
    tracker.carry_into("a surface")
    tracker.observe(tokens, 1_500, output_tokens=20, reasoning_tokens=5, counted=400)
    return tracker


STATE = State(
    key=b"k" * LINK_BYTES,
    parent=b"p" * LINK_BYTES,
    origin=b"o" * LINK_BYTES,
    links=(b"l" * LINK_BYTES, b"k" * LINK_BYTES),
    messages=12,
    plan=PLAN,
    seen=bytes(range(12 * DIGEST_BYTES)),
    full_results=bytes(range(2 * NOTE_BYTES)),
    rounds=Rounds(b"r" * LINK_BYTES, b"s" * LINK_BYTES, True, False),
    settled=10,
    settled_tokens=300,
    view_tokens=400,
    whole_tokens=1_200,
    surface=SurfaceDigest(b"m" * 8, b"y" * 8, b"t" * 8, 60),
    at=1_700_000_000.25,
    policy_limit_tokens=5_000,
    limit_tokens=4_000,
    floor_tokens=3_000,
    turns=7,
    compactions=2,
    briefed=5,
    summary_floor_tokens=900,
    steps=(10, -20, 30),
    refused=(b"a" * 8, b"b" * 8),
    billed_tokens=440,
    view_bytes=1_500,
    tracker=told_tracker(440),
)
"""A state none of whose fields has its default."""


def read_back(state: State) -> State:
    """A state after it was stored."""
    return State.from_bytes(state.to_bytes(), state.forms())


# --------------------------------------------------------------- round trip


def test_a_state_comes_back_as_it_was() -> None:
    """Every field of it."""
    plain = State(key=b"", messages=0)
    defaults = {field.name for field in fields(State) if is_same(plain, STATE, field.name)}

    assert defaults == set()
    assert read_back(STATE) == STATE


def is_same(one: State, other: State, name: str) -> bool:
    """Whether two states have a field in common."""
    return bool(getattr(one, name) == getattr(other, name))


def test_a_new_state_comes_back_as_it_was() -> None:
    """Empty fields stay empty, and what is not known stays so."""
    state = State(key=b"k" * LINK_BYTES, messages=0)

    assert read_back(state) == state
    assert (state.forms(), state.limit_tokens, state.digests()) == ({}, None, [])


COUNTS = st.integers(0, 2**53)
HASHES = st.binary(max_size=LINK_BYTES)
STATES = st.builds(
    State,
    key=HASHES,
    parent=HASHES,
    origin=HASHES,
    links=st.lists(HASHES, max_size=4).map(tuple),
    messages=COUNTS,
    plan=st.sampled_from([PLAN, EMPTY_PLAN, Plan(PLAN.edits[:2]), Plan((), PLAN.envelope)]),
    seen=st.binary(max_size=80),
    full_results=st.binary(max_size=80),
    rounds=st.builds(Rounds, HASHES, HASHES, st.booleans(), st.booleans()),
    settled=COUNTS,
    settled_tokens=COUNTS,
    view_tokens=COUNTS,
    whole_tokens=COUNTS,
    surface=st.builds(SurfaceDigest, HASHES, HASHES, HASHES, COUNTS),
    at=st.floats(0, 1e12),
    policy_limit_tokens=COUNTS,
    limit_tokens=st.one_of(st.none(), COUNTS),
    floor_tokens=COUNTS,
    turns=COUNTS,
    compactions=COUNTS,
    briefed=COUNTS,
    summary_floor_tokens=COUNTS,
    steps=st.lists(st.integers(-(2**53), 2**53), max_size=STEPS).map(tuple),
    refused=st.lists(HASHES, max_size=3).map(tuple),
    billed_tokens=COUNTS,
    view_bytes=COUNTS,
    tracker=st.one_of(st.builds(ContextTracker), COUNTS.map(told_tracker)),
)


@given(state=STATES)
def test_every_state_comes_back_as_it_was(state: State) -> None:
    """And what it names is what it needs."""
    assert read_back(state) == state
    assert set(forms_named(state.to_bytes())) == state.forms().keys()


@given(state=STATES)
def test_the_same_state_is_the_same_bytes(state: State) -> None:
    """So that a store can compare what it has with what somebody has seen."""
    assert read_back(state).to_bytes() == state.to_bytes()


# --------------------------------------------------------------------- size


def test_a_state_of_a_thousand_messages_is_small() -> None:
    """A digest for each message, ranges for what is folded, and forms lie elsewhere."""
    forms = [b"message %d" % number for number in range(1_000)]
    chain = links(root("", "anthropic"), forms)
    folded = tuple(Ref(place) for place in range(2, 950))
    made = Message.user("a briefing " * 500, origin="summary")
    state = State(
        key=chain[-1],
        parent=chain[-3],
        origin=chain[0],
        links=chain[-2:],
        messages=1_000,
        plan=Plan((Fold(folded, 950, made, "folded", saved_tokens=100_000),)),
        seen=b"".join(map(digest, forms)),
        surface=STATE.surface,
        steps=(500,) * STEPS,
    )

    assert len(state.to_bytes()) < 10_000
    assert read_back(state) == state


def test_equal_forms_are_kept_once() -> None:
    """Of one conversation; another one has its own, so that tenants share none."""
    made = [Fold((), place, Message.user("the same", origin="marker"), "f") for place in (1, 2, 3)]
    other = Fold((), 4, MADE, "f")
    state = State(key=b"k", origin=b"o", messages=9, plan=Plan((*made, other)))
    strange = State(key=b"k", origin=b"x", messages=9, plan=state.plan)

    assert len(state.forms()) == 2
    assert forms_named(state.to_bytes()) == list(state.forms())
    assert sorted(state.forms().values()) == sorted(strange.forms().values())
    assert not state.forms().keys() & strange.forms().keys()


def test_a_form_has_the_same_name_in_every_process_and_version() -> None:
    """Else it is not found again."""
    state = State(key=b"k", origin=b"o", messages=1, plan=Plan((Fold((), 1, MADE, "f"),)))

    assert list(state.forms()) == ["375a38e58cd37c13ea72e3c4b7ea45bf"]


# --------------------------------------------------------------------- torn

STORED, FORMS = STATE.to_bytes(), STATE.forms()


def is_refused(stored: bytes, forms: Mapping[str, bytes] = FORMS) -> bool:
    """Whether reading raises as it should; any other exception is a failure."""
    try:
        State.from_bytes(stored, forms)
    except StoreError:
        return True
    return False


def test_a_state_that_was_torn_is_refused_wherever_it_was() -> None:
    """A write that ended early, or only its end."""
    assert all(is_refused(STORED[:stop]) for stop in range(len(STORED)))
    assert all(is_refused(STORED[start:]) for start in range(1, len(STORED)))
    assert is_refused(STORED + b"\0")


def test_a_changed_byte_is_refused_wherever_it_is() -> None:
    """Whatever it became."""
    for place, byte in enumerate(STORED):
        for other in (byte ^ 1, byte ^ 0x80, 0x20, 0x30):
            if other != byte:
                assert is_refused(STORED[:place] + bytes([other]) + STORED[place + 1 :]), place


def test_two_states_in_one_are_refused() -> None:
    """The end of one written over the other."""
    other = State(key=b"k" * LINK_BYTES, messages=12, plan=PLAN, origin=STATE.origin).to_bytes()

    assert is_refused(STORED[:100] + other[100:])
    assert is_refused(other[:100] + STORED[100:])


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (b"", "no stored state"),
        (b"something else", "no stored state"),
        (STORED[1:], "no stored state"),
        (b"trimtab-state", "another version"),
        (b"trimtab-state\x04" + STORED[14:], "another version"),
        (b"trimtab-state\x02" + STORED[14:], "another version"),
        (STORED[:-1], "torn"),
        (STORED[:14], "torn"),
    ],
)
def test_what_is_wrong_is_said(stored: bytes, told: str) -> None:
    """By both who read it."""
    with pytest.raises(StoreError, match=told):
        State.from_bytes(stored, FORMS)
    with pytest.raises(StoreError, match=told):
        forms_named(stored)


@given(stored=st.binary(max_size=200), magic=st.booleans())
def test_random_bytes_are_refused(stored: bytes, magic: bool) -> None:  # noqa: FBT001 - drawn
    """With and without the right beginning."""
    assert is_refused(b"trimtab-state\x03" * magic + stored)


@pytest.mark.parametrize("name", list(FORMS))
@pytest.mark.parametrize(
    "form", [None, b"", b"{", b"null", b"[]", b"{}", b'{"part":"Text"}', b'"x"']
)
def test_a_form_that_is_missing_or_none_is_refused(name: str, form: bytes | None) -> None:
    """No plan is read without what stands in it."""
    others = {key: value for key, value in FORMS.items() if key != name}

    assert is_refused(STORED, others if form is None else {**others, name: form})


def checked(content: bytes) -> bytes:
    """Some content as a state that is whole."""
    check = len(content).to_bytes(4, "big") + zlib.crc32(content).to_bytes(4, "big")
    return b"trimtab-state\x03" + check + content


def told(value: Any) -> bytes:
    """Some JSON as a state that is whole."""
    raw = json.dumps(value).encode().replace(b"Infinity", b"1e999")
    seen = len(STATE.seen).to_bytes(4, "big") + STATE.seen
    return checked(len(raw).to_bytes(4, "big") + raw + seen + STATE.full_results)


def value_of(stored: bytes) -> Json:
    """The JSON in a stored state."""
    stop = 26 + int.from_bytes(stored[22:26], "big")
    value: Json = json.loads(stored[26:stop])
    return value


def test_a_whole_state_made_by_hand_can_be_read() -> None:
    """So what follows is refused for what it says."""
    assert State.from_bytes(told(value_of(STORED)), FORMS) == STATE


@pytest.mark.parametrize("field", [*value_of(STORED)])
def test_a_state_without_one_of_its_fields_is_refused(field: str) -> None:
    """Each is needed."""
    value = value_of(STORED)
    del value[field]

    assert is_refused(told(value))


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [1], {"plan": None}, {"plan": {}}])
def test_whole_bytes_that_are_no_state_are_refused(value: Any) -> None:
    """They are JSON, and that is all."""
    assert is_refused(told(value))
    with pytest.raises(StoreError):
        forms_named(told(value))


@pytest.mark.parametrize("content", [b"", b"\0\0\0\1{", b"\xff\xff\xff\xff{}", b"\0\0\0\2[]"])
def test_whole_bytes_that_are_no_json_are_refused(content: bytes) -> None:
    """Their length is right, and that is all."""
    assert is_refused(checked(content))


ODD: st.SearchStrategy[Any] = st.sampled_from([None, "zz", [], {}, [[]], -1.5, "0a", [None], True])


@given(field=st.sampled_from([*value_of(STORED)]), odd=ODD)
def test_a_field_of_another_type_raises_nothing_else(field: str, odd: Any) -> None:
    """It is refused, or it happens to be one that can be read."""
    is_refused(told({**value_of(STORED), field: odd}))


@pytest.mark.parametrize(
    ("field", "odd"),
    [
        ("messages", float("inf")),
        ("plan", {"edits": [{"edit": "keep", "refs": [], "why": ""}], "envelope": []}),
    ],
)
def test_a_whole_state_that_says_what_cannot_be_is_refused(field: str, odd: Any) -> None:
    """As any other that cannot be read."""
    assert is_refused(told({**value_of(STORED), field: odd}))


def test_a_form_that_is_another_one_is_refused() -> None:
    """Its name is made of its content, so one changed byte can be told."""
    (name,) = (name for name, form in FORMS.items() if b"made" in form)

    assert is_refused(STORED, {**FORMS, name: FORMS[name].replace(b"made", b"mode")})


# ---------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("steps", "growth"),
    [
        ((), None),
        ((0,), None),
        ((-5, 0), None),
        ((10,), 10),
        ((10, 20), 15),
        ((10, 11), 10),
        ((10, -1_000, 0, 20), 15),
        ((1, 2, 3, 4, 5), 3),
    ],
)
def test_growth_is_the_average_of_the_turns_that_grew(
    steps: tuple[int, ...], growth: int | None
) -> None:
    """A compaction makes a turn smaller and says nothing of how fast it grows."""
    assert State(key=b"", messages=0, steps=steps).growth_tokens == growth


@given(forms=st.lists(st.binary(max_size=9), max_size=9))
def test_what_was_seen_comes_back_message_by_message(forms: list[bytes]) -> None:
    """In order."""
    seen = [digest(form) for form in forms]

    assert State(key=b"", messages=len(forms), seen=b"".join(seen)).digests() == seen


def test_a_representation_shows_no_digests() -> None:
    """It ends up in logs, and would fill them."""
    state = State(key=b"", messages=1_000, seen=b"\x01" * 8_000, rounds=NO_ROUNDS)

    assert len(repr(state)) < 1_000
