"""Customers read German and Japanese too; the user asks for it in German."""

from demo.script import Turn, edit, fails, read, run, say, search

__all__ = ["LANGUAGES"]

GERMAN_AND_JAPANESE = """\
        "too_many_returned": "Vous pouvez encore en renvoyer {left} ({sku}).",
    },
    "de": {
        "unknown_product": "{sku} führen wir nicht.",
        "out_of_stock": "Von {sku} sind nur noch {available} auf Lager.",
        "invalid_code": "Der Gutscheincode {code} gilt heute nicht.",
        "unknown_country": "Nach {country} liefern wir leider noch nicht.",
        "unknown_order": "Wir finden keine Bestellung {order_id}.",
        "not_cancellable": "Ihre Bestellung {order_id} hat unser Lager schon verlassen.",
        "bad_request": "In Ihrer Anfrage fehlt etwas: {detail}.",
        "not_found": "Hier ist nichts.",
        "not_refundable": "Ihre Bestellung {order_id} ist noch bei uns. Bitte stornieren Sie sie.",
        "refund_too_late": "Ihre Bestellung {order} ist älter als {days} Tage.",
        "too_many_returned": "Von {sku} können Sie noch {left} zurücksenden.",
    },
    "ja": {
        "unknown_product": "{sku}は取り扱っておりません。",
        "out_of_stock": "{sku}の在庫は残り{available}点です。",
        "invalid_code": "コード{code}は本日ご利用いただけません。",
        "unknown_country": "申し訳ございませんが、{country}への発送は行っておりません。",
        "unknown_order": "ご注文{order_id}が見つかりません。",
        "not_cancellable": "ご注文{order_id}はすでに発送済みです。",
        "bad_request": "リクエストに不足があります: {detail}",
        "not_found": "ここには何もありません。",
        "not_refundable": "ご注文{order_id}はまだ発送前です。キャンセルをご利用ください。",
        "refund_too_late": "ご注文{order_id}から{days}日が過ぎています。",
        "too_many_returned": "{sku}の返品可能数は残り{left}点です。",
    },
"""

PLACEHOLDER_TEST = '''

@pytest.mark.parametrize("code", sorted(MESSAGES["en"]))
def test_all_languages_use_the_same_values(code):
    """A misspelt placeholder would fail in front of a customer."""
    used = {
        locale: sorted(re.findall(r"{(\\w+)}", sentences[code]))
        for locale, sentences in MESSAGES.items()
    }

    assert used == dict.fromkeys(MESSAGES, used["en"])
'''

BROWSER_TEST = '''

@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("de", "Hier ist nichts."),
        ("de-AT,de;q=0.9,en;q=0.8", "Hier ist nichts."),
        ("de,en-US;q=0.7,en;q=0.3", "Hier ist nichts."),
        ("de;q=0.9", "Hier ist nichts."),
        ("tlh, ja;q=0.5", "ここには何もありません。"),
        ("*", "There is nothing here."),
        ("", "There is nothing here."),
    ],
)
def test_what_a_browser_sends_is_understood(header, said):
    """A header may name several languages; the first that is spoken here counts."""
    assert message("not_found", header) == said
'''

MESSAGE_BEFORE = '''\
    """Say something to a customer in their language."""
    sentences = MESSAGES.get(locale.split("-")[0].lower(), MESSAGES[FALLBACK])
    return sentences[code].format(**values)
'''

MESSAGE_AFTER = '''\
    """Say something to a customer in their language.

    Args:
        code: Which sentence.
        locale: A language, or a whole ``Accept-Language`` header. Clients name
            the languages that they like best first, so weights are not read.
        values: What its placeholders stand for.
    """
    wanted = [re.split("[-;]", language.strip())[0].lower() for language in locale.split(",")]
    spoken = next((language for language in wanted if language in MESSAGES), FALLBACK)
    return MESSAGES[spoken][code].format(**values)
'''

THROUGH_THE_API = """\
PYTHONPATH=src python - <<'PY'
from datetime import UTC, datetime
from shop.api import Api
from shop.catalog import Catalog
from shop.cli import ROOT
from shop.discounts import DiscountBook
from shop.shipping import ShippingRules
from shop.store import Store

api = Api(
    Store(),
    Catalog.from_file(ROOT / "data/catalog.json"),
    DiscountBook.from_file(ROOT / "config/discounts.json"),
    ShippingRules.from_file(ROOT / "config/shipping.json"),
)
for locale in ("de-AT,de;q=0.9,en;q=0.8", "ja", "fr-CH, fr;q=0.9, en;q=0.8", "tlh"):
    for method, url, body in (
        ("GET", "/v1/orders/7", None),
        ("POST", "/v1/quotes", {"lines": [{"sku": "INK-999", "quantity": 1}]}),
        ("POST", "/v1/quotes", {"lines": [{"sku": "INK-004", "quantity": 1}], "code": "SPRNIG10"}),
        ("POST", "/v1/quotes", {"lines": [{"sku": "INK-004", "quantity": 1}], "country": "BR"}),
    ):
        answer = api.handle(method, url, body, now=datetime(2026, 3, 19, tzinfo=UTC), locale=locale)
        print(locale[:5].ljust(6), answer.status, answer.body["error"]["message"])
PY"""

LANGUAGES = Turn(
    """\
Super, danke. Lass die Suche so, das mit álvarez ist ein eigenes Ticket. var/old darf liegen bleiben.

Nächster Punkt: Bitte die Kundentexte auch auf Deutsch und Japanisch. Wir siezen, und es heißt bei uns immer „Lager“, nie „Inventar“ oder „Bestand“. Die Codes bleiben englisch. Und schau bitte, ob Accept-Language aus einem echten Browser (z. B. „de-AT,de;q=0.9,en;q=0.8“) überhaupt funktioniert, ich habe da einen Verdacht.

You can keep answering in English, the others read along.""",
    (
        say(
            'Noted: formal address, always "Lager", codes stay English, and the search stays as it is. '
            "I look at where texts and locales come in.",
            read("src/shop/messages.py"),
            read("tests/test_messages.py"),
            search("locale|Accept-Language", glob="*.py"),
            search("Accept-Language", "docs", shows="docs/api.md"),
        ),
        say(
            "Your suspicion first, as tests. The German and Japanese sentences go in together with one more test: all "
            "languages must use the same placeholders.",
            edit(
                "tests/test_messages.py",
                '    assert message("unknown_order", "fr-CA", order_id=7) == "Commande 7 introuvable."\n',
                '    assert message("unknown_order", "fr-CA", order_id=7) == "Commande 7 introuvable."\n'
                + BROWSER_TEST
                + PLACEHOLDER_TEST,
            ),
            edit("tests/test_messages.py", "import pytest\n", "import re\n\nimport pytest\n"),
            edit(
                "src/shop/messages.py",
                '        "too_many_returned": "Vous pouvez encore en renvoyer {left} ({sku}).",\n    },\n',
                GERMAN_AND_JAPANESE,
            ),
        ),
        say("", fails(run("python -m pytest -q tests/test_messages.py"), "refund_too_late")),
        say(
            "Two things. The placeholder test caught a slip of mine: `{order}` instead of `{order_id}` in German. And your "
            "suspicion is right, though not for your example: `de-AT,de;...` works by luck, because the cut at the first `-` "
            "leaves `de`. What Firefox sends, `de,en-US;q=0.7,...`, leaves `de,en` and gets English.",
            edit(
                "src/shop/messages.py",
                "Ihre Bestellung {order} ist älter als {days} Tage.",
                "Ihre Bestellung {order_id} ist älter als {days} Tage.",
            ),
            fails(run("python -m pytest -q tests/test_messages.py"), "3 failed"),
        ),
        say(
            "",
            edit("src/shop/messages.py", MESSAGE_BEFORE, MESSAGE_AFTER),
            fails(run("python -m pytest -q tests/test_messages.py"), "name 're' is not defined"),
        ),
        say(
            "The import again. I keep forgetting it when I edit from the bottom up.",
            edit(
                "src/shop/messages.py",
                "from __future__ import annotations\n",
                "from __future__ import annotations\n\nimport re\n",
            ),
            run("python -m pytest -q tests/test_messages.py", shows="passed"),
        ),
        say(
            "Your wording rule, checked on the finished file:",
            search("Inventar|Bestand", "src/shop/messages.py"),
            search("Lager", "src/shop/messages.py", shows="auf Lager"),
            read("src/shop/messages.py", offset=38, limit=36),
        ),
        say(
            "",
            run("python -m pytest -q", shows="passed"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            run("python -m mypy src", shows="Success"),
        ),
        say(
            "And once through the API, as a browser would ask:",
            run(THROUGH_THE_API, shows="コードSPRNIG10"),
            run(
                "git commit -q -a -m 'Customers read German and Japanese too' && git log --oneline | head -1"
            ),
        ),
    ),
    """\
German and Japanese are in, all eleven sentences each. Formal address, "Lager" throughout, no "Inventar" or "Bestand", codes in English.

Your suspicion about Accept-Language was right: the code only cut at the first `-`. Your Chrome example worked by luck, Firefox's `de,en-US;q=0.7,en;q=0.3` got English, and so did French in the same form. `message()` now takes the whole header and uses the first language that we speak. It ignores the `q` weights; browsers list the best one first, and the docstring says so.

A new test makes sure that all languages use the same placeholders. It paid off at once, I had misspelt one. Tests, ruff and mypy pass; committed.

Please have somebody who speaks Japanese look over the `ja` block before you announce it.""",
)
