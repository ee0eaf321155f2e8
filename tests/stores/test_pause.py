"""When a store that does not answer is asked again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trimtab.stores.pause import Pause


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """What it shows."""
        return self.now


def test_a_store_is_left_alone_after_three_failures_and_longer_each_time() -> None:
    """One second, two, four, up to thirty."""
    clock = Clock()
    pause = Pause(clock)
    told = []
    for _ in range(12):
        assert pause.is_over()
        told.append(pause.after_failure())
        assert pause.is_over() is (told[-1] == 0.0)
        clock.now += told[-1]

    assert told == [0, 0, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]


def test_when_a_pause_is_over_one_caller_asks_for_all() -> None:
    """The others go on without the store until he knows."""
    clock = Clock()
    pause = Pause(clock)
    for _ in range(3):
        pause.after_failure()
    clock.now += 1.0

    assert [pause.is_over() for _ in range(3)] == [True, False, False]
    pause.after_success()
    assert [pause.is_over() for _ in range(3)] == [True, True, True]


@given(answers=st.lists(st.booleans(), max_size=40))
def test_an_answer_ends_all_pauses(answers: list[bool]) -> None:
    """Whatever was before: it takes three failures again."""
    pause = Pause(Clock())
    in_a_row = 0
    for is_answered in answers:
        if is_answered:
            pause.after_success()
            in_a_row = 0
        else:
            in_a_row += 1
            assert (pause.after_failure() > 0) is (in_a_row >= 3)
        assert pause.is_over() is (in_a_row < 3)
