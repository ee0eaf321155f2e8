"""Which statement takes the place of which."""

from __future__ import annotations

from trimtab.ledger.subjects import replaced, statement_of, tells_of_change


def gone(*texts: str) -> list[int]:
    """Places of the statements that no longer hold, each from a message of its own."""
    return sorted(replaced([statement_of(text) for text in texts], range(len(texts))))


def test_a_statement_is_taken_apart_into_words_and_values() -> None:
    """What it is about, and what it says of it, by kind."""
    statement = statement_of(
        "FACT: The budget of team_7 for Rome is $1,200 until 2027-03-04, 5 pm."
    )

    assert statement.words == {"money", "rom", "date", "clock"}
    assert statement.scope == frozenset()
    assert statement.values == {
        ("money", "$1,200"),
        ("id", "team_7"),
        ("name", "rome"),
        ("date", "2027-03-04"),
        ("time", "5 pm"),
    }


def test_statements_of_one_message_never_replace_one_another() -> None:
    """Somebody who names two values at once means both."""
    statements = [statement_of("Max 5 retries."), statement_of("Max 3 retries.")]

    assert replaced(statements, [0, 0]) == set()
    assert replaced(statements, [0, 1]) == {0}


def test_what_is_forbidden_adds_up_and_how_much_is_allowed_does_not() -> None:
    """A second thing that must not be leaves the first; a second bound replaces it."""
    assert gone("Never touch shelf 5.", "Never touch shelf 6.") == []
    assert gone("Never deploy on Friday.", "Never deploy on Monday.") == []
    assert gone("Never take more than 5 tries.", "Never take more than 3 tries.") == [0]


def test_a_question_or_a_task_replaces_nothing() -> None:
    """Asking for another value is not setting it."""
    assert gone("The port is 8080.", "Is the port 9090?") == []
    assert gone("Fix bug 12.", "The bug is 13.") == []
    assert gone("The limit is 5 MB.", "Now test the limit with 9 MB.") == []


def test_of_several_that_are_alike_the_nearest_goes() -> None:
    """An update is about one thing."""
    assert gone(
        "Ceiling for trip costs is $650.",
        "Ceiling for project costs is $500.",
        "New ceiling for trip costs: keep them below four hundred dollars.",
    ) == [0]


def test_a_restatement_takes_the_place_of_what_it_holds() -> None:
    """The same once more, with more, is listed once."""
    assert gone("Never push to main.", "Never push to main or release.") == [0]
    assert gone("Never push to main or release.", "Did I say push to main?") == []


def test_a_change_of_something_else_is_none() -> None:
    """A date that moved does not move all dates."""
    assert (
        gone("The release date is 2027-01-02.", "We changed it: the invoice is due May 3 now.")
        == []
    )
    assert tells_of_change("We're going with plan b.")
    assert not tells_of_change("Plan b is good.")
