"""Values and failing checks that only removed outputs held."""

from __future__ import annotations

from tests.ledger.talk import ran, used
from trimtab import Message
from trimtab.ledger import gather
from trimtab.ledger.values import merged_values

FAILED = "FAILED tests/test_a.py::test_b - AssertionError: 1 != 2"


def test_exact_values_are_listed_with_their_line() -> None:
    """A value without its line means nothing."""
    span = [
        *ran("make deploy", "Deployed to https://app.example.com/x\nAPI_PORT=8123\nall fine"),
        *used("create_order", {}, "order placed\n  id: ORD-20931 for Ada"),
        Message.assistant("I pushed commit a1b2c3d4e5 to the branch."),
    ]

    assert gather(span).values == (
        "Deployed to https://app.example.com/x",
        "API_PORT=8123",
        "id: ORD-20931 for Ada",
        "I pushed commit a1b2c3d4e5 to the branch.",
    )


def test_what_can_be_seen_again_is_not_listed() -> None:
    """A file, a listing, or what stays is not gone."""
    span = [
        *used("Read", {"path": "a.env"}, "HOST_NAME=db1"),
        *ran("cat a.env", "HOST_NAME=db2"),
        *ran("make show", "HOST_NAME=db3"),
    ]

    assert gather(span, [Message.assistant("It is HOST_NAME=db3 now")]).values == ()


def test_the_newest_value_of_a_key_wins() -> None:
    """An older value of the same key is not listed beside it."""
    span = [*ran("make a", "JOB_ID=11"), *ran("make b", "JOB_ID=12")]

    assert gather(span).values == ("JOB_ID=12",)
    assert merged_values(("JOB_ID=12", "x 1"), ("JOB_ID=13",)) == ("x 1", "JOB_ID=13")


def test_a_failing_check_is_listed_until_a_later_run_passes() -> None:
    """What was mended is no news."""
    failing = ran("pytest -q", f"...\n{FAILED}\n1 failed, 3 passed", is_error=True)
    passing = ran("pytest -q", "4 passed")

    assert gather(failing).values == (FAILED, "1 failed, 3 passed")
    assert gather([*failing, *passing]).values == ()
    assert gather(failing, passing).values == ()


def test_an_exit_code_is_listed_with_its_command() -> None:
    """A bare code tells nothing."""
    assert gather(ran("make all", "Exit code: 2", is_error=True)).values == (
        "Exit code: 2 (make all)",
    )


def test_secrets_are_never_listed() -> None:
    """Whatever looks like a credential stays out."""
    output = (
        "OPENAI_API_KEY=sk-abcdefgh12345678\n"
        "AWS_ACCESS_KEY_ID=AKIAABCDEFGHIJKLMNOP\n"
        "AUTH=ghp_abcdefghijklmnopqrst\n"
        "password: hunter2 for id ab_12345\n"
        "Authorization: Bearer abcdefghijkl0123456789\n"
        "postgres://joe:pw@db1.internal:5432\n"
        "-----BEGIN RSA PRIVATE KEY----- a1b2c3d4e5\n"
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0\n"
    )

    assert gather(ran("make env", output)).values == ()


def test_long_lines_are_cut_at_blanks_around_the_value() -> None:
    """The value stands whole between whole words."""
    line = f"{'before ' * 60}build_9a7x3 {'after ' * 60}"

    (value,) = gather(ran("make it", line)).values

    assert set(value.split()) == {"…", "before", "build_9a7x3", "after"}
    assert len(value) <= 160


def test_a_huge_output_is_searched_at_both_ends() -> None:
    """Megabytes cost no more than what is looked at."""
    filler = "nothing here\n" * 200_000

    assert gather(ran("make it", f"A_FIRST=1\n{filler}B_MIDDLE=1\n{filler}C_LAST=1")).values == (
        "A_FIRST=1",
        "C_LAST=1",
    )


def test_what_was_named_again_goes_first() -> None:
    """Of more values than are listed, those that somebody used later stay."""
    outputs = [message for n in range(60) for message in ran(f"make {n}", f"made item_x{n}y")]
    used_later = Message.assistant("item_x3y is the one that we need.")

    values = gather([*outputs, used_later]).values

    assert "made item_x3y" in values
    assert len(values) == 40


def test_of_one_output_a_few_lines_are_listed() -> None:
    """A long list is not worth more than others, and a long error line is cut at a blank."""
    listing = "\n".join(f"made item_x{number}y" for number in range(200))
    errors = "\n".join(
        f"FAILED tests/test_{number}.py::test - {'word ' * 60}" for number in range(30)
    )

    listed = gather(ran("make list", listing)).values
    failing = gather(ran("pytest", errors)).values

    assert len(listed) == 8
    assert len(failing) == 12
    assert all(line.endswith(" word …") and len(line) <= 162 for line in failing)


def test_a_url_is_listed_whole_and_a_blob_is_not() -> None:
    """A word without end is no value, unless it says where it leads."""
    url = "https://example.com/" + "a1" * 90

    assert gather(ran("make it", f"{url}\n{'b2' * 150}")).values == (url,)


def test_what_an_earlier_marker_lists_goes_where_it_stays() -> None:
    """A value that the kept part holds is not listed again."""
    assert merged_values(("JOB_ID=12", "b"), (), kept="the JOB_ID=12 is here") == ("b",)
