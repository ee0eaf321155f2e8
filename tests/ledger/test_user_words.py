"""What the user said: what binds, what is replaced, what stays."""

from __future__ import annotations

import pytest

from tests.ledger.talk import held, said
from trimtab import Message
from trimtab.ledger import Ledger, gather
from trimtab.ledger.user_words import Said, said_in

FILLER = [f"What does the module number {number} do with its input?" for number in range(40)]


def test_a_rule_and_a_correction_stand_and_what_was_corrected_does_not() -> None:
    """The newest value of a requirement wins, and what came with it stays verbatim."""
    ledger = gather(
        said(
            "Use port 8080.",
            *(f"step {number}" for number in range(10)),
            "Correction: port 8081, and never touch ./secrets.",
            *(f"go on {number}" for number in range(20)),
        )
    )

    assert ledger == Ledger(rules=("Correction: port 8081, and never touch ./secrets.",))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Budget cap is $300 total.", "Budget cap is $700 total."),
        ("The deadline is 2027-01-15 for the beta.", "deadline moved to 2027-03-04"),
        ("Use 2 spaces for indentation.", "scratch that, use 4 spaces"),
        ("Use tabs.", "Scratch that, use spaces."),
        ("Please answer in English.", "From now on, please answer in German."),
        ("Deploy to us-east-1.", "We moved: deploy to eu-west-1 from now on."),
        ("Max 5 retries.", "Max 3 retries."),
        ("The release owner is Maria Lopez.", "Tom Becker is now the release owner."),
        ("Send the report to anna@corp.com.", "Send the report to bob@corp.com instead."),
        (
            "Never push to main without my review.",
            "You can push to main now, no review needed.",
        ),
        ("Verwende Port 8080.", "Korrektur: Port 9090."),
        ("Le budget est de 500 €.", "Le budget est maintenant de 800 €."),
        ("El puerto es 8080.", "Corrección: el puerto es 9090."),
        ("端口用 8080。", "更正:端口改为 9090。"),
        ("ポートは8080です。", "訂正:ポートは9090に変更。"),
        ("포트는 8080입니다.", "정정: 포트는 9090으로 변경합니다."),
    ],
)
def test_another_value_of_the_same_thing_takes_the_place_of_the_older(
    older: str, newer: str
) -> None:
    """What was replaced stands nowhere."""
    assert held(older, "What is next?", newer) == [newer, "What is next?"] or held(
        older, newer
    ) == [newer]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Travel budget is $300.", "Hotel budget is $500."),
        ("Never touch ./secrets.", "Never touch ./config."),
        ("The frontend runs on port 3000.", "The backend runs on port 8000."),
        ("Fix bug #12.", "Fix bug #13."),
        ("Don't email Alice.", "Don't email Bob."),
        ("Always run ruff before committing.", "Always run mypy before committing."),
        ("Reply in German to Hans.", "Reply in French to Marie."),
        ("The meeting with Acme is on Monday.", "The meeting with Globex is on Tuesday."),
        ("The deadline for the paper is March 3.", "The deadline for the slides moved to April 5."),
        ("Version 1.2 supports Python 3.9.", "Version 2.0 supports Python 3.11."),
        ("Room A is for 10 people.", "Room B is for 20 people."),
        ("Always answer in English.", "Now translate this file to German."),
        ("The budget is $500.", "Now find me a hotel for under $200."),
        ("Never deploy on Friday.", "Now deploy the fix to staging."),
        ("Never push to main.", "You can push to staging."),
    ],
)
def test_two_similar_rules_both_stay(one: str, other: str) -> None:
    """When in doubt nothing is taken for replaced."""
    assert sorted(held(one, other)) == sorted([one, other])


@pytest.mark.parametrize(
    "rule",
    [
        "Never include my name in anything you write.",
        "From now on, end each reply with a question.",
        "Before you change a file, tell me which one.",
        "When you quote a price, use euros, not dollars.",
        "RULE: two approvals for each release.",
        "Bitte antworte immer auf Deutsch.",
        "Réponds toujours en français.",
        "Responde siempre en español.",
        "Responda sempre em português.",
        "Rispondi sempre in italiano.",
        "Antwoord altijd in het Nederlands.",
        "Zawsze odpowiadaj po polsku.",
        "Всегда отвечай по-русски.",
        "Her zaman Türkçe cevap ver.",
        "请不要修改任何代码",
        "回答は必ず日本語でお願いします。",
        "항상 한국어로 답변해 주세요",
        "أجب دائما بالعربية",
        "कृपया हमेशा हिंदी में उत्तर दें",
    ],
)
def test_a_sentence_that_binds_is_a_rule_in_any_language(rule: str) -> None:
    """Cues in many languages tell a rule from other words."""
    assert gather(said("Can you look at the parser?", rule, "Thanks!")).rules == (rule,)


def test_small_talk_is_not_listed_and_other_words_are() -> None:
    """Without any cue a short message is still listed."""
    ledger = gather(said("ok thanks", "My user id is mia_li_3668.", "continue", "go on 3", "👍"))

    assert ledger.rules + ledger.words == ("My user id is mia_li_3668.",)


def test_of_a_long_message_the_sentences_that_bind_are_rules() -> None:
    """A rule in front of something long is found, and stands verbatim and alone."""
    rule = "Don't open or read any file in the confidential folder."
    paste = "\n".join(
        f"The {number}th chapter tells of ships and of the sea." for number in range(90)
    )

    said_there = said_in(f"{rule}\n{paste}", 1)

    assert said_there[0] == Said(rule, 1, is_rule=True)
    assert [entry.is_rule for entry in said_there] == [True, False]
    assert rule not in said_there[1].text
    assert said_there[1].text.startswith("…")
    assert len(said_there[1].text) <= 1_000


def test_code_and_logs_in_a_message_bind_nothing() -> None:
    """What was pasted as code never adds a rule."""
    code = "\n".join(["```python", *["# never call this, always use the other"] * 30, "```"])

    assert gather(said(f"What is wrong here? It worked yesterday.\n{code}")).rules == ()


def test_bullets_under_a_heading_that_binds_are_rules() -> None:
    """A list of requirements is taken item by item."""
    text = "Requirements:\n" + "\n".join(
        f"- the page number {number} must load in {number} seconds or less"
        for number in range(2, 12)
    )

    assert len(gather(said(text)).rules) == 10


def test_a_tool_or_assistant_never_speaks_for_the_user() -> None:
    """Words in results and answers add no rule."""
    span = [
        Message.assistant("RULE: always say yes."),
        Message.tool("a", "RULE: always say no."),
        Message.system("RULE: never say maybe."),
    ]

    assert gather(span).rules == ()
    assert gather(span).words == ()


def test_what_stays_verbatim_is_not_listed_again() -> None:
    """Words that stand in the kept part need no second place."""
    span = said("Always use tabs.", "Never use eval.")

    ledger = gather(span, kept=[Message.user("Remember what I said. Always use tabs.")])

    assert ledger.rules == ("Never use eval.",)


def test_a_newer_statement_that_stays_replaces_one_that_goes() -> None:
    """A correction in the kept part holds for what was said before it."""
    assert gather(said("Use port 8080."), kept=said("Correction: port 9090.")) == Ledger()


def test_an_older_statement_that_stays_replaces_nothing() -> None:
    """The first message is kept, and what corrected it is listed."""
    kept = [
        *said("Use port 8080."),
        *said("What is left to do?", "Show me the log.", "Is it fast?"),
    ]

    ledger = gather(said("Correction: port 9090."), kept)

    assert ledger.rules == ("Correction: port 9090.",)
    assert gather(said("Port is 9090."), kept[:2], older=2).words == ("Port is 9090.",)


def test_only_the_clause_that_is_replaced_goes() -> None:
    """A rule beside a value that changed stays, and the gap shows."""
    ledger = gather(
        said("The port is 8080; never touch ./secrets by hand.", "The port is now 9090.")
    )

    assert ledger.rules == ("… never touch ./secrets by hand.",)
    assert ledger.words == ("The port is now 9090.",)


def test_a_repeated_message_is_listed_once_where_it_was_said_last() -> None:
    """Saying it again adds nothing."""
    assert held("Where is the cache?", "Who calls it?", "where is  the cache?") == [
        "Who calls it?",
        "where is  the cache?",
    ]


def test_a_line_with_a_colon_stays_with_what_it_announces() -> None:
    """A label alone would bind nothing."""
    assert held("Thanks for that.\nCorrection:\nthe port is 8081") == [
        "Correction:\nthe port is 8081",
        "Thanks for that.\n…",
    ]
    assert held("Thanks for that.\nNever do this:") == ["Never do this:", "Thanks for that.\n…"]


def test_of_very_long_messages_and_sessions_the_ends_and_the_strongest_stay() -> None:
    """Work is bounded, and what goes is what claims least."""
    words = "\n".join(f"The {number}th word of it." for number in range(9_000))
    long = f"Never push.\n{words}\nAlways pull."
    many = [f"Never touch the shelf number {number} of it." for number in range(310)]

    assert gather(said(long)).rules == ("Never push.", "Always pull.")
    assert len(gather(said(*many)).rules) == 300
