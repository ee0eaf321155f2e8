"""What a later turn uses that a policy had removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.replay.sessions import answer, call, recorded, result, turn_of, user, weighed
from trimtab.messages import Media, Message, Text
from trimtab.replay import regret
from trimtab.replay.regret import Handles, Missed, Watch, handles_in
from trimtab.replay.views import Row, View
from trimtab.replay.weights import Said, Weights

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("text", "handles"),
    [
        ("see src/parser/lexer.py.", {"src/parser/lexer.py"}),
        ("./tools/run.sh and ~/notes/todo.md", {"tools/run.sh", "~/notes/todo.md"}),
        ("at https://example.org/a?b=1,", {"https://example.org/a?b=1"}),
        ("commit 3f2a91bc fixes it", {"3f2a91bc"}),
        ("id 0b0f3e6a-8f0e-4a4e-9d55-3a1d0c9d8f10", {"0b0f3e6a-8f0e-4a4e-9d55-3a1d0c9d8f10"}),
        ("DB_POOL_SIZE=17", {"DB_POOL_SIZE=17"}),
        ("call max_base_version or getSessionContent", {"max_base_version", "getSessionContent"}),
        ("plain words, Names and 12345678 say nothing", set()),
        ("a_b is too short", set()),
        ("./package.json, README.md, useEffect and in_progress are known to all", set()),
        ("x" * 300_000 + " late_handle_name", {"late_handle_name"}),
    ],
)
def test_a_handle_is_exact_and_cannot_be_guessed(text: str, handles: set[str]) -> None:
    """Paths, addresses, hashes, ids, settings, names of several words; no plain words or numbers."""
    assert handles_in(text) == handles


class _Session:
    """A session that is watched turn by turn."""

    def __init__(self) -> None:
        self.watch = Watch(Handles())
        self._weights = Weights()
        self._turn = 0

    def see(
        self,
        history: Sequence[Json],
        gone: Sequence[int] = (),
        made: str = "",
        *,
        cuts: bool = False,
    ) -> None:
        """A request whose view lacks some messages and has some words in their place."""
        request = recorded(history)
        said, turn = weighed(request, self._weights), turn_of(request)
        rows = [Row.of(each, at) for at, each in enumerate(said) if at not in gone]

        def load(place: int) -> Message:
            return turn.request.message(place).decoded()

        view = View(rows, made)
        self.watch.saw(self._turn, said, load, view, is_compacted=cuts)
        self._turn += 1

    def tokens(self, history: Sequence[Json], *places: int) -> int:
        """What some messages weigh."""
        said: list[Said] = weighed(recorded(history))
        return sum(said[place].tokens for place in places)


BEGIN = [user("go"), call("a", path="x"), result("a", "DB_POOL_SIZE=17 in src/pool/size.py")]


def test_using_what_only_a_removed_message_held_is_one_exchange() -> None:
    """Told with the turn whose answer uses it, and what would come back."""
    session = _Session()
    session.see(BEGIN)
    session.see([*BEGIN, answer("ok"), user("now?")], gone=(2,), cuts=True)
    history = [*BEGIN, answer("ok"), user("now?"), answer("src/pool/size.py says DB_POOL_SIZE=17")]
    session.see([*history, user("good")], gone=(2,))

    (missed,) = session.watch.missed
    assert (missed.turn, missed.tokens) == (1, session.tokens(history, 2))
    assert missed.handles == ("DB_POOL_SIZE=17",)


def test_what_was_fetched_again_is_at_hand_until_the_next_cut() -> None:
    """All of the message that held it; a cut takes it again."""
    session = _Session()
    history = [*BEGIN, answer("ok"), user("now?")]
    session.see(history, gone=(2,), cuts=True)
    for words, cuts in (
        ("DB_POOL_SIZE=17", False),
        ("src/pool/size.py", True),
        ("src/pool/size.py", False),
    ):
        history = [*history, answer(f"see {words} there"), user("go on")]
        session.see(history, gone=(2,), cuts=cuts)

    # The second answer finds the file at hand, in its own history too; so nothing is missed again.
    assert [missed.turn for missed in session.watch.missed] == [0]


def test_one_answer_misses_once_however_much_it_uses() -> None:
    """Calls can be made side by side: what comes back is all of it."""
    history = [*BEGIN, call("b", path="y"), result("b", "max_base_version"), user("now?")]
    session = _Session()
    session.see(history, gone=(2, 4), cuts=True)
    both = answer("DB_POOL_SIZE=17 and max_base_version")
    session.see([*history, both, user("good")], gone=(2, 4))

    assert session.watch.missed == [
        Missed(0, session.tokens(history, 2, 4), ("DB_POOL_SIZE=17", "max_base_version"))
    ]


@pytest.mark.parametrize(
    "used",
    [
        "a brand_new_name of its own",
        "go on with it",
        "it is in the later_result now",
    ],
)
def test_what_is_new_or_in_view_is_not_missed(used: str) -> None:
    """An agent may invent names, and use what it sees."""
    history = [*BEGIN, call("b", path="y"), result("b", "later_result"), user("now?")]
    session = _Session()
    session.see(history, gone=(2,), cuts=True)
    session.see([*history, answer(used), user("good")], gone=(2,))

    assert (session.watch.missed, session.watch.survived) == ([], 0)


@pytest.mark.parametrize(
    ("said", "made", "used"),
    [
        ("DB_POOL_SIZE=17", "Values: DB_POOL_SIZE=17", "DB_POOL_SIZE=17"),
        (
            "Never touch the public names, whatever happens",
            "Rules: never touch the PUBLIC names, whatever happens",
            "I never touch the public names",
        ),
    ],
)
def test_what_a_ledger_still_says_has_survived(said: str, made: str, used: str) -> None:
    """Of a rule, five words in a row, however they are written."""
    history = [user("go"), answer("ok"), user(said), answer("yes"), user("now?")]
    for words, expected in ((made, (0, True)), ("nothing", (1, False))):
        session = _Session()
        session.see(history, gone=(2,), made=words, cuts=True)
        session.see([*history, answer(used), user("good")], gone=(2,), made=words)

        assert (len(session.watch.missed), session.watch.survived > 0) == expected


@pytest.mark.parametrize(
    ("kept", "used", "is_missed"),
    [
        ("look at src/pool", "src/pool/size.py", True),
        ("size.py and resize.py", "src/pool/size.py", True),
        ("src/pool: size.py, wait.py", "src/pool/size.py", False),
        ("in /home/me/src/pool/size.py:12", "src/pool/size.py", False),
        ("in src/pool/size.pyc", "src/pool/size.py", True),
        ("it calls pool_size_limit()", "pool_size_limit", False),
        ("it calls my_pool_size_limit()", "pool_size_limit", True),
        ("it calls pool_size_limits()", "pool_size_limit", True),
        ("the folder src/pool", "src/pool/README.md", False),
        ("nothing at all", "src/pool/README.md", True),
        ("DB_POOL_SIZE is 17", "DB_POOL_SIZE=17", True),
        ("so DB_POOL_SIZE=17.", "DB_POOL_SIZE=17", False),
    ],
)
def test_only_what_a_removed_message_alone_held_is_missed(
    kept: str,
    used: str,
    is_missed: bool,  # noqa: FBT001 - a case
) -> None:
    """What stands in the words that are sent is at hand, also as a folder and what lies in it."""
    gone = result("a", "DB_POOL_SIZE=17 src/pool/size.py src/pool/README.md pool_size_limit")
    history = [user("go"), call("a", path="x"), gone, answer("ok"), user(kept)]
    session = _Session()
    session.see(history, gone=(2,), cuts=True)
    session.see([*history, answer(f"now {used} it is"), user("good")], gone=(2,))

    assert bool(session.watch.missed) == is_missed


def test_words_of_the_user_that_somebody_else_repeats_are_at_hand() -> None:
    """Whatever stands between them."""
    history = [user("Never touch the public names."), answer("ok"), user("go on")]
    plan = answer("Plan: never touch\nthe public names!")
    session = _Session()
    session.see([*history, plan, user("now")], gone=(0,), cuts=True)
    more = [*history, plan, user("now"), answer("I never touch the public names")]
    session.see([*more, user("good")], gone=(0,))

    assert session.watch.missed == []


def test_before_anything_is_removed_nothing_is_looked_at() -> None:
    """A session that is never cut costs nothing to watch."""
    session = _Session()
    for count in (1, 3):
        session.see(BEGIN[:count])

    assert session.watch._where == {}


def test_a_client_that_goes_back_is_not_accused() -> None:
    """What it says then belongs to another history."""
    session = _Session()
    session.see([*BEGIN, answer("ok"), user("now?")], gone=(2,), cuts=True)
    session.see([user("other"), answer("DB_POOL_SIZE=17 it was"), user("?")], gone=(0,))

    assert session.watch.missed == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a": ["max_base_version", {"b": 3}], "c": null}', "max_base_version"),
        ("{broken max_base_version", "{broken max_base_version"),
    ],
)
def test_arguments_are_all_their_strings(arguments: str, words: str) -> None:
    """However deep they lie; what is no JSON is taken as it is."""
    assert regret._argument_text(arguments) == words


def test_only_words_calls_and_results_hold_anything() -> None:
    """Nobody looks for a name in an image."""
    message = Message("assistant", [Media("image", "image/png"), Text("see max_base_version")])
    (said,) = weighed(recorded([user("go")]))

    assert Handles().held(said, lambda: message) == {"max_base_version"}
    assert "max_base_version" in Handles().used(said, lambda: message)


def test_arguments_are_read_as_the_tool_reads_them() -> None:
    """Tabs and ends of lines are no letters."""
    history = [*BEGIN, call("b", text="\tDB_POOL_SIZE=17\n"), result("b", "ok")]
    session = _Session()
    session.see([*BEGIN[:2], BEGIN[2]], gone=(2,), cuts=True)
    session.see(history, gone=(2,))

    assert [missed.handles for missed in session.watch.missed] == [("DB_POOL_SIZE=17",)]
