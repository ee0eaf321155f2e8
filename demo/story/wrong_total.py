"""A customer paid more than the website promised: two faults in one total, and a third one nearby."""

from demo.script import Turn, edit, fails, listing, log, read, run, say, search

__all__ = ["WRONG_TOTAL"]

PRICE_THE_CART = "PYTHONPATH=src python -m shop quote INK-004:2 PEN-011:1 PAP-020:1 --code SPRING10"

NEW_TESTS = '''

def test_the_limit_counts_the_goods_before_the_discount(catalog, rules, spring):
    """A code never makes shipping more expensive (docs/pricing.md, rule 3)."""
    quote = price_cart(complaint(catalog), rules=rules, discount=spring)

    assert quote.shipping == Money.zero()


def test_a_discount_is_rounded_once(catalog, rules, spring):
    """Order 10417: 52.00 less ten percent is 46.80, whatever the lines are (rule 2)."""
    quote = price_cart(complaint(catalog), rules=rules, discount=spring)

    assert (quote.discount, quote.total) == (Money.of("5.20"), Money.of("46.80"))


def test_exactly_the_limit_ships_for_free(rules):
    """From 50.00 on includes 50.00 (rule 3)."""
    assert rules.cost(Money.of("50.00"), 300, "DE") == Money.zero()
'''

COMPLAINT_CART = '''from shop.pricing import CartLine, price_cart


def complaint(catalog):
    """Order 10417 as it was placed."""
    return [
        CartLine(catalog.get("INK-004"), 2),
        CartLine(catalog.get("PEN-011"), 1),
        CartLine(catalog.get("PAP-020"), 1),
    ]
'''

SPREAD_BY_LINE = """    return [
        discount.on(line.value) if discount.covers(line.product.category) else Money.zero()
        for line in lines
    ]
"""

SPREAD_FROM_THE_WHOLE = """    weights = [
        line.value.amount if discount.covers(line.product.category) else Decimal(0)
        for line in lines
    ]
    return discount.on(Money(sum(weights, Decimal(0)))).allocate(weights)
"""

NOTHING_COVERED_TEST = '''

def test_a_code_for_what_is_not_in_the_cart_takes_nothing(catalog, rules, spring):
    """A code for ink does nothing to a pen."""
    ink = Discount("INKLOVE", spring.starts, spring.ends, Decimal(15), category="ink")

    quote = price_cart([CartLine(catalog.get("PEN-011"), 1)], rules=rules, discount=ink)

    assert quote.total == Money.of("24.05")
'''

FIND_AND_FIX = Turn(
    """\
Morning! Finance forwarded me a complaint: order 10417 (José Álvarez, code SPRING10) was charged 51.69 EUR, and he says that the website promised 46.80. docs/pricing.md agrees with him. Please find out why and fix it.

A few rules that hold for the whole session:
- never touch ./secrets, not even to look
- keep Python 3.11 and don't add dependencies
- money is Money or Decimal, never float
- a bug gets a failing test first, then the fix
- run the whole test suite before you tell me that something is done
- commit locally after each task, but don't push, I do that myself""",
    (
        say(
            "I'll get an overview first: the tree, the README and the last commits.",
            listing(".", depth=3),
            read("README.md"),
            run("git log --stat --format='%h %ad %s' --date=short | head -30"),
        ),
        say(
            "Release 1.8.0 of Tuesday changed one line in `pricing.py`. Before I look at the code, the rules that it "
            "should follow, the house rules, and that line.",
            read("docs/pricing.md"),
            read("CONTRIBUTING.md"),
            run("git show HEAD -- src/shop/pricing.py"),
        ),
        say(
            "That is a strong suspect: 1.8.0 decides shipping on `discounted`, rule 3 says goods value. "
            "I want to see the whole path before I touch it, though.",
            read("src/shop/pricing.py"),
            read("src/shop/shipping.py"),
            read("src/shop/discounts.py"),
        ),
        say(
            "`price_cart` takes its zones as `rules`. Let me see where those come from in production.",
            fails(read("src/shop/rules.py"), "No such file"),
            search(r"ShippingRules|free_from", glob="*.py"),
        ),
        say(
            "No such module; it is `config/shipping.json`, read by the CLI and the tests. Now I reproduce the complaint.",
            fails(run("python -m shop seed"), "No module named shop"),
        ),
        say(
            "The README says it: `PYTHONPATH=src`.",
            run("PYTHONPATH=src python -m shop seed", shows="4550 orders"),
            run(PRICE_THE_CART, shows="51.69 EUR"),
            run("grep -n '\"id\": 10417,' data/orders.jsonl", shows='"total": "51.69"'),
        ),
        say(
            "Reproduced to the cent. The order is from Tuesday evening, after the release, and it shows two things: shipping 4.90 although the goods are worth "
            "52.00, and line discounts 2.49 + 1.92 + 0.80 = 5.21 where ten percent of 52.00 is 5.20. Two faults, then. "
            "A baseline before I change anything:",
            run("python -m pytest -q", shows="42 passed"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            fails(run("python -m mypy src"), "multiple values"),
        ),
        say(
            "Tests and ruff are clean. mypy has a finding in `api.py:63` that was there before me; I come back to it. "
            "First the failing tests.",
            fails(
                edit(
                    "tests/test_pricing.py",
                    "from shop.pricing import CartLine, Quote, price_cart\n",
                    COMPLAINT_CART,
                ),
                "not found",
            ),
        ),
        say(
            "I assumed an import that is not there. Reading the file instead of guessing.",
            read("tests/test_pricing.py"),
        ),
        say(
            "",
            edit(
                "tests/test_pricing.py",
                "from shop.pricing import CartLine, price_cart\n",
                COMPLAINT_CART,
            ),
            edit(
                "tests/test_pricing.py",
                '    assert quote.line_discounts == (Money.of("1.87"), Money.zero())\n',
                '    assert quote.line_discounts == (Money.of("1.87"), Money.zero())\n' + NEW_TESTS,
            ),
        ),
        say("", fails(run("python -m pytest -q tests/test_pricing.py"), "3 failed")),
        say(
            "Three failures, each for a rule of the page. `shipping.py` compares with `<`, which leaves out exactly 50.00. "
            "I start there.",
            edit(
                "src/shop/shipping.py",
                "        if zone.free_from < value:\n",
                "        if zone.free_from <= value:\n",
            ),
            fails(run("python -m pytest -q tests/test_pricing.py"), "2 failed"),
        ),
        say(
            "The limit test passes, the other two fail as before, which fits: 46.79 is below 50 either way. "
            "Let me make sure that I am not looking at a stale module.",
            run(
                "python -c 'import sys; sys.path.insert(0, \"src\"); import shop.shipping; print(shop.shipping.__file__)'"
            ),
            fails(run("python -m pytest -q tests/test_pricing.py"), "2 failed"),
        ),
        say(
            "Right file, same two failures. Now the cause proper, in `price_cart`.",
            read("src/shop/pricing.py", offset=58, limit=45),
        ),
        say(
            "",
            edit(
                "src/shop/pricing.py",
                "    shipping = rules.cost(discounted, weight, country)\n",
                "    # Rule 3 of docs/pricing.md: a code must never make shipping more expensive.\n"
                "    shipping = rules.cost(goods, weight, country)\n",
            ),
            fails(run("python -m pytest -q tests/test_pricing.py"), "1 failed"),
        ),
        say(
            "One left: the cent. `Money.allocate` already splits a whole so that the parts add up; the fixed discount uses it. "
            "I read it before I rely on it.",
            read("src/shop/money.py", offset=48, limit=24),
        ),
        say(
            "Weights of zero get nothing, so lines that a category code does not cover can stay in with weight 0.",
            edit("src/shop/pricing.py", SPREAD_BY_LINE, SPREAD_FROM_THE_WHOLE),
            run("python -m pytest -q tests/test_pricing.py", shows="11 passed"),
        ),
        say(
            "Green, but `allocate` refuses a sum of zero, and a category code may cover nothing in a cart. No test has that case. "
            "I add it before somebody's cart does.",
            edit(
                "tests/test_pricing.py",
                "\n\ndef test_the_limit_counts_the_goods_before_the_discount(",
                NOTHING_COVERED_TEST
                + "\n\ndef test_the_limit_counts_the_goods_before_the_discount(",
            ),
            fails(run("python -m pytest -q tests/test_pricing.py"), "positive sum of weights"),
        ),
        say(
            "As feared: my own change would have crashed there. Fixed by saying it outright.",
            edit(
                "src/shop/pricing.py",
                "    return discount.on(Money(sum(weights, Decimal(0)))).allocate(weights)\n",
                "    covered = Money(sum(weights, Decimal(0)))\n"
                "    if covered <= Money.zero():\n"
                "        return [Money.zero() for _ in lines]\n"
                "    return discount.on(covered).allocate(weights)\n",
            ),
            run("python -m pytest -q", shows="46 passed"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            run(PRICE_THE_CART, shows="46.80 EUR"),
        ),
        say(
            "46.80. The whole diff once, then the commit.",
            run("git diff", shows="rules.cost(goods, weight, country)"),
        ),
        say(
            "",
            run(
                "git add -A && git commit -q -m 'Totals follow docs/pricing.md: free shipping by goods value,"
                " one rounding a discount' && git log --oneline | head -3"
            ),
        ),
    ),
    """\
Order 10417 was charged 4.89 EUR too much: 4.90 for shipping that should have been free, less one cent that wrong rounding gave him.

1. **Shipping** (`pricing.py`): since 1.8.0 the free-shipping limit was compared with the value *after* the discount (46.79), so the code cost him 4.90. It is the goods value again. Also, the limit itself did not count: 50.00 exactly paid shipping (`shipping.py`, `<` instead of `<=`).
2. **Rounding** (`pricing.py`): each line's discount was rounded by itself, 5.21 in all instead of 5.20. It is now taken once and spread with `Money.allocate`.

Four new tests, the whole suite passes (46), ruff is clean, `shop quote` says 46.80 for his cart. Committed, not pushed.

Left: mypy reports `api.py:63`, `_error()` gets `code` twice. I believe that this is a crash for every mistyped discount code (a 500 instead of our 422). Shall I look into it?""",
)

MISTYPED_CODE = Turn(
    "Thanks, that was quick. Yes, please fix the mistyped code thing as well, and check in var/log/shop.log "
    "whether customers have really run into it. The log is big, so don't cat it.",
    (
        say(
            "",
            log(shows="16 entries", where={"level": "ERROR"}, group_by="day,path"),
            search("multiple values for", "var/log/shop.log", shows="TypeError"),
            read("src/shop/messages.py"),
        ),
        say(
            "They have: every 500 since the release is this one. `message()` takes `code` by name too, so it would be next. "
            "The tests come first; `test_api.py` has the pattern.",
            run("grep -n -B16 'multiple values' var/log/shop.log | head -17"),
            run(
                "git show HEAD~1 -- src/shop/api.py src/shop/messages.py", shows="-def message(name"
            ),
            read("tests/test_api.py", offset=60),
        ),
        say(
            "",
            edit(
                "tests/test_api.py",
                "def test_a_missing_field_is_named(api):",
                "def test_a_mistyped_code_is_explained(api):\n"
                '    """A customer who mistypes a code learns that, and no more."""\n'
                '    answer = api.handle("POST", "/v1/quotes", CART | {"code": "SPRNIG10"}, now=NOW)\n'
                "\n"
                "    assert (answer.status, answer.body) == (\n"
                "        422,\n"
                '        {"error": {"code": "invalid_code", "message": "The code SPRNIG10 is not valid today."}},\n'
                "    )\n"
                "\n"
                "\n"
                "def test_a_missing_field_is_named(api):",
            ),
            fails(run("python -m pytest -q tests/test_api.py"), "multiple values"),
        ),
        say(
            "The same traceback as in the log. Positional-only parameters solve it in both places: then `code` in "
            "`**values` cannot collide.",
            edit(
                "src/shop/api.py",
                "def _error(status: int, code: str, locale: str, **values: object) -> Response:",
                "def _error(status: int, code: str, locale: str, /, **values: object) -> Response:",
            ),
            fails(run("python -m pytest -q tests/test_api.py"), "message() got multiple values"),
        ),
        say(
            "One further, as expected.",
            edit(
                "src/shop/messages.py",
                "def message(code: str, locale: str = FALLBACK, **values: object) -> str:",
                "def message(code: str, locale: str = FALLBACK, /, **values: object) -> str:",
            ),
            run("python -m pytest -q", shows="47 passed"),
            run("python -m mypy src", shows="Success"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
        ),
        say(
            "",
            run(
                "git commit -q -a -m 'A mistyped discount code is answered with 422, not 500' && git status --short && git log --oneline | head -2"
            ),
        ),
    ),
    """\
Fixed and committed. It was a crash for every customer who mistyped a code or used an expired one: `_error()` and `message()` both have a parameter called `code`, and the value for the sentence's `{code}` collided with it. Both take their own parameters by position only now.

In the log it is the *only* kind of 500 since the release on Tuesday; before that there is none, because 1.8.0 is what renamed the parameter from `name` to `code`. The suite passes (47), and mypy is clean for the first time, so it could go into CI.""",
)

WRONG_TOTAL = (FIND_AND_FIX, MISTYPED_CODE)
