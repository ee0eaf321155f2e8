"""A new feature, with a correction in the middle: customers send goods back."""

# ruff: noqa: RUF001 - the French sentences have the French apostrophe

from demo.script import Turn, edit, fails, read, run, say, write

__all__ = ["REFUNDS"]

TESTS = '''\
"""Goods that come back."""

from datetime import datetime, timedelta

import pytest
from test_store import MORNING, order

from shop.money import Money, total_of
from shop.orders import OrderLine, Status
from shop.refunds import NotRefundable, RefundTooLate, TooManyReturned, refund

NEXT_DAY = MORNING + timedelta(days=1)


def bought(**changes: object):
    """Three bottles of ink for 33.61 and a pen for 17.23, delivered."""
    lines = (
        OrderLine("INK-004", 3, Money.of("12.45"), Money.of("3.74")),
        OrderLine("PEN-011", 1, Money.of("19.15"), Money.of("1.92")),
    )
    return order(1, **({"lines": lines, "status": Status.DELIVERED} | changes))


def test_a_piece_is_worth_what_was_paid_for_it():
    """The list price does not matter; the discount's share does."""
    made = refund(bought(), {"INK-004": 1}, [], NEXT_DAY)

    assert made.amount == Money.of("11.21")


def test_all_pieces_together_are_the_line():
    """One by one or at once: the sum is what was paid, to the cent."""
    made = []
    for _ in range(3):
        made.append(refund(bought(), {"INK-004": 1}, made, NEXT_DAY))

    assert total_of(one.amount for one in made) == Money.of("33.61")


def test_more_than_was_bought_cannot_come_back():
    """Two pens of one are one too many."""
    with pytest.raises(TooManyReturned):
        refund(bought(), {"PEN-011": 2}, [], NEXT_DAY)


def test_earlier_refunds_count():
    """What came back once cannot come back again."""
    first = refund(bought(), {"PEN-011": 1}, [], NEXT_DAY)

    with pytest.raises(TooManyReturned):
        refund(bought(), {"PEN-011": 1}, [first], NEXT_DAY)


def test_what_was_not_bought_cannot_come_back():
    """A notebook that is not in the order."""
    with pytest.raises(TooManyReturned):
        refund(bought(), {"PAP-020": 1}, [], NEXT_DAY)


@pytest.mark.parametrize("status", [Status.PLACED, Status.PAID, Status.CANCELLED])
def test_only_what_left_the_house_can_come_back(status):
    """Before that, an order is cancelled instead."""
    with pytest.raises(NotRefundable):
        refund(bought(status=status), {"PEN-011": 1}, [], NEXT_DAY)


def test_the_last_day_counts_in_full():
    """Placed on the 11th: the 25th until midnight is day 14."""
    placed = bought().placed_at
    last_moment = datetime(placed.year, 3, 25, 23, 59, tzinfo=placed.tzinfo)

    assert refund(bought(), {"PEN-011": 1}, [], last_moment).amount == Money.of("17.23")


def test_after_the_last_day_it_is_too_late():
    """The 26th is day 15."""
    with pytest.raises(RefundTooLate):
        refund(bought(), {"PEN-011": 1}, [], MORNING + timedelta(days=15))


def test_nothing_is_no_refund():
    """A quantity below one is a mistake."""
    with pytest.raises(ValueError, match="quantity"):
        refund(bought(), {"PEN-011": 0}, [], NEXT_DAY)
'''

MODULE = '''\
"""Goods that come back, and the money for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from shop.money import Money, total_of
from shop.orders import Order, Status

REFUND_DAYS = 14
"""Days after placing an order in which goods may come back; the last one counts in full."""

type Quantities = Mapping[str, int]


class NotRefundable(ValueError):
    """The order has not left the house, or was cancelled."""

    def __init__(self, order: Order) -> None:
        super().__init__(f"order {order.id} is {order.status}")
        self.order_id = order.id


class RefundTooLate(ValueError):
    """The last day is over."""

    def __init__(self, order: Order) -> None:
        super().__init__(f"order {order.id} is older than {REFUND_DAYS} days")
        self.order_id = order.id


class TooManyReturned(ValueError):
    """More of a product than was bought and has not come back yet."""

    def __init__(self, sku: str, left: int) -> None:
        super().__init__(f"{sku}: {left} can come back")
        self.sku = sku
        self.left = left


@dataclass(frozen=True, slots=True)
class Refund:
    """Pieces that came back together."""

    order_id: int
    refunded_at: datetime
    quantities: Quantities
    amount: Money


def refund(order: Order, wanted: Quantities, earlier: Iterable[Refund], now: datetime) -> Refund:
    """Take pieces of an order back.

    Each piece is worth its part of what was paid for the line, so that all
    pieces of a line are worth the line, in whatever order they come back.

    Args:
        order: As it is stored.
        wanted: How many of each product come back; at least one each.
        earlier: Refunds of this order so far.
        now: When.

    Raises:
        NotRefundable: If it has not left the house, or was cancelled.
        RefundTooLate: If the last day is over.
        TooManyReturned: If more comes back than was bought.
        ValueError: If a quantity is below one.
    """
    if order.status not in {Status.SHIPPED, Status.DELIVERED}:
        raise NotRefundable(order)
    last_day = order.placed_at.date() + timedelta(days=REFUND_DAYS)
    if now > datetime.combine(last_day, time.max):
        raise RefundTooLate(order)
    returned: Counter = Counter()
    for one in earlier:
        returned.update(one.quantities)
    lines = {line.sku: line for line in order.lines}
    amounts: list[Money] = []
    for sku, quantity in wanted.items():
        if quantity < 1:
            raise ValueError("quantity")
        bought = lines[sku].quantity if sku in lines else 0
        left = bought - returned[sku]
        if quantity > left:
            raise TooManyReturned(sku, left)
        pieces = lines[sku].paid.allocate([1] * bought)
        amounts.extend(pieces[returned[sku] : returned[sku] + quantity])
    return Refund(order.id, now, dict(wanted), total_of(amounts))
'''

MIGRATION = '''        tracking TEXT NOT NULL
    );
    """,
    """
    CREATE TABLE refunds (
        id INTEGER PRIMARY KEY,
        order_id INTEGER NOT NULL REFERENCES orders (id),
        refunded_at TEXT NOT NULL,
        quantities TEXT NOT NULL,
        amount_cents INTEGER NOT NULL
    );
    """,
)
'''

STORE_METHODS = '''    def add_refund(self, refund: Refund) -> None:
        """Note that goods came back."""
        self.db.execute(
            "INSERT INTO refunds (order_id, refunded_at, quantities, amount_cents)"
            " VALUES (?, ?, ?, ?)",
            (
                refund.order_id,
                refund.refunded_at.isoformat(),
                json.dumps(dict(refund.quantities)),
                refund.amount.cents,
            ),
        )
        self.db.commit()

    def refunds_of(self, order_id: int) -> list[Refund]:
        """All refunds of an order, oldest first."""
        rows = self.db.execute(
            "SELECT refunded_at, quantities, amount_cents FROM refunds"
            " WHERE order_id = ? ORDER BY id",
            (order_id,),
        )
        return [
            Refund(order_id, datetime.fromisoformat(at), json.loads(quantities), Money.from_cents(cents))
            for at, quantities, cents in rows
        ]

    def get(self, order_id: int) -> Order:
'''

STORE_TEST = '''

def test_refunds_come_back_as_they_were():
    """Oldest first, each with its quantities."""
    store = Store()
    store.add([order(1)])
    made = [Refund(1, MORNING, {"INK-004": count}, Money.of("11.20")) for count in (1, 2)]

    for one in made:
        store.add_refund(one)

    assert store.refunds_of(1) == made
'''

API_TESTS = '''

@pytest.fixture
def delivered(api) -> int:
    """The number of an order that has arrived."""
    placed = api.handle("POST", "/v1/orders", CART | {"customer": CUSTOMER}, now=NOW)
    order = api.store.get(placed.body["id"])
    api.store.add([replace(order, status=Status.DELIVERED)])
    return order.id


def test_a_refund_gives_money_and_stock_back(api, delivered):
    """The pen can be sold again."""
    answer = api.handle("POST", f"/v1/orders/{delivered}/refunds", CART, now=NOW)

    assert (answer.status, answer.body) == (201, {"order": delivered, "amount": "19.15 EUR"})
    assert api.inventory.available("PEN-011") == 12


def test_a_second_refund_of_the_same_is_refused(api, delivered):
    """And the customer is told how many are left to send back."""
    url = f"/v1/orders/{delivered}/refunds"
    api.handle("POST", url, CART, now=NOW)

    answer = api.handle("POST", url, CART, now=NOW)

    assert answer.status == 409
    assert answer.body["error"]["message"] == "Of PEN-011, 0 can still be sent back."


def test_there_is_no_second_version_of_the_api(api, delivered):
    """The app speaks v1 only."""
    assert api.handle("POST", f"/v2/orders/{delivered}/refunds", CART, now=NOW).status == 404
'''

API_ROUTE = """            case "POST", ["v1", "orders", number, "refunds"]:
                return self._refund(int(number), body, now)
            case _:
"""

API_METHOD = """    def _refund(self, order_id: int, body: dict[str, Any], now: datetime) -> Response:
        wanted = {line["sku"]: int(line["quantity"]) for line in body["lines"]}
        order = self.store.get(order_id)
        made = refund(order, wanted, self.store.refunds_of(order_id), now)
        self.store.add_refund(made)
        self.inventory.release(made.quantities)
        return Response(201, {"order": order_id, "amount": str(made.amount)})


def _error("""

API_ERRORS = """        except NotRefundable as error:
            return _error(409, "not_refundable", locale, order_id=error.order_id)
        except RefundTooLate as error:
            return _error(409, "refund_too_late", locale, order_id=error.order_id, days=REFUND_DAYS)
        except TooManyReturned as error:
            return _error(409, "too_many_returned", locale, sku=error.sku, left=error.left)
        except (KeyError, ValueError) as error:
"""

ENGLISH = """        "not_found": "There is nothing here.",
        "not_refundable": "Order {order_id} has not left our house yet; please cancel it instead.",
        "refund_too_late": "Order {order_id} is older than {days} days.",
        "too_many_returned": "Of {sku}, {left} can still be sent back.",
"""

FRENCH = """        "not_found": "Il n’y a rien ici.",
        "not_refundable": "La commande {order_id} n’est pas encore partie ; annulez-la plutôt.",
        "refund_too_late": "La commande {order_id} a plus de {days} jours.",
        "too_many_returned": "Vous pouvez encore en renvoyer {left} ({sku}).",
"""

EVERY_ORDER = """\
PYTHONPATH=src python - <<'PY'
from datetime import timedelta
from shop.cli import ROOT
from shop.money import total_of
from shop.orders import Status
from shop.refunds import refund
from shop.store import Store

store = Store(ROOT / "var/shop.db")
checked, wrong = 0, []
for (number,) in store.db.execute("SELECT id FROM orders ORDER BY id").fetchall():
    order = store.get(number)
    if order.status not in {Status.SHIPPED, Status.DELIVERED}:
        continue
    checked += 1
    bought = {}
    for line in order.lines:
        bought[line.sku] = bought.get(line.sku, 0) + line.quantity
    paid = total_of(line.paid for line in order.lines)
    try:
        back = refund(order, bought, [], order.placed_at + timedelta(days=1)).amount
    except ValueError as error:
        back = error
    if back != paid:
        wrong.append((number, str(paid), str(back)))
print(f"{checked} orders checked, {len(wrong)} wrong")
for row in wrong[:8]:
    print(*row, sep="  ")
PY"""

BY_PIECE = '''    pieces = _pieces(order)
    amounts: list[Money] = []
    for sku, quantity in wanted.items():
        if quantity < 1:
            raise ValueError("quantity")
        left = len(pieces[sku]) - returned[sku]
        if quantity > left:
            raise TooManyReturned(sku, left)
        amounts.extend(pieces[sku][returned[sku] : returned[sku] + quantity])
    return Refund(order.id, now, dict(wanted), total_of(amounts))


def _pieces(order: Order) -> defaultdict[str, list[Money]]:
    """What each piece of a product cost; a product may stand in several lines."""
    pieces: defaultdict[str, list[Money]] = defaultdict(list)
    for line in order.lines:
        pieces[line.sku].extend(line.paid.allocate([Decimal(1)] * line.quantity))
    return pieces
'''

BY_LINE = MODULE[MODULE.index("    lines = {line.sku") :]

TWO_LINES_TEST = '''

def test_a_product_may_stand_in_two_lines():
    """The pieces of both can come back."""
    pen = OrderLine("PEN-011", 1, Money.of("19.15"), Money.zero())

    made = refund(bought(lines=(pen, pen)), {"PEN-011": 2}, [], NEXT_DAY)

    assert made.amount == Money.of("38.30")
'''

LAST_DAY_TESTS = '''def test_the_last_day_counts_in_full():
    """Placed on March 11th: April 10th until midnight is day 30."""
    placed = bought().placed_at
    last_moment = datetime(placed.year, 4, 10, 23, 59, tzinfo=placed.tzinfo)

    assert refund(bought(), {"PEN-011": 1}, [], last_moment).amount == Money.of("17.23")


def test_after_the_last_day_it_is_too_late():
    """April 11th is day 31."""
    with pytest.raises(RefundTooLate):
        refund(bought(), {"PEN-011": 1}, [], MORNING + timedelta(days=31))
'''

OLD_LAST_DAY_TESTS = TESTS[
    TESTS.index("def test_the_last_day_counts") : TESTS.index("\n\ndef test_nothing_is_no_refund")
]

LONG_LINE = """\
            Refund(order_id, datetime.fromisoformat(at), json.loads(quantities), Money.from_cents(cents))
"""

SHORT_LINES = """\
            Refund(
                order_id,
                datetime.fromisoformat(at),
                json.loads(quantities),
                Money.from_cents(cents),
            )
"""

REFUNDS = Turn(
    """\
Very good. Next thing, a new feature: partial refunds. Customers want to send some of the pieces of an order back.

- `POST /v2/orders/{id}/refunds` with `{"lines": [{"sku": ..., "quantity": ...}]}`
- within 14 days after the order was placed, the last day counts in full
- only for shipped or delivered orders; before that they can cancel
- the amount follows what was really paid for the line, i.e. with its share of the discount. Shipping is not refunded.
- never more pieces than were bought, also not over several refunds
- the stock goes back, and refunds are stored in a table of their own

Customer texts in messages.py as always. Please don't touch orders.py, somebody else is working on that file.""",
    (
        say(
            "I read what it will stand on first. `orders.py` I only read.",
            read("src/shop/orders.py"),
            read("src/shop/store.py"),
            read("src/shop/inventory.py"),
        ),
        say(
            "",
            read("src/shop/api.py"),
            read("tests/test_store.py"),
            read("docs/architecture.md"),
        ),
        say(
            "The place is clear: a module `refunds.py` beside `orders.py` with the rules, a migration and two methods in "
            "`store.py`, a route in `api.py`. `refunds` imports `orders` and `money` only, so the arrows of architecture.md "
            "hold. Each piece gets its part of the line by `allocate`, so that pieces that come back one by one add up to the "
            "line. Tests first.",
            write("tests/test_refunds.py", TESTS),
            fails(
                run("python -m pytest -q tests/test_refunds.py"), "No module named 'shop.refunds'"
            ),
        ),
        say(
            "They fail for the right reason. The module:",
            write("src/shop/refunds.py", MODULE),
            fails(run("python -m pytest -q tests/test_refunds.py"), "SyntaxError"),
        ),
        say(
            "`type Quantities = ...` is Python 3.12; your rule and the tills say 3.11. An alias in the old spelling:",
            edit(
                "src/shop/refunds.py",
                "type Quantities = Mapping[str, int]\n",
                "Quantities: TypeAlias = Mapping[str, int]\n",
            ),
            edit(
                "src/shop/refunds.py",
                "from datetime import datetime, time, timedelta\n",
                "from datetime import datetime, time, timedelta\nfrom typing import TypeAlias\n",
            ),
            fails(
                run("python -m pytest -q tests/test_refunds.py"), "offset-naive and offset-aware"
            ),
        ),
        say(
            "Eight of them cannot compare: `datetime.combine` makes a time without a zone, orders are in UTC.",
            edit(
                "src/shop/refunds.py",
                "    if now > datetime.combine(last_day, time.max):\n",
                "    if now > datetime.combine(last_day, time.max, tzinfo=order.placed_at.tzinfo):\n",
            ),
            run("python -m pytest -q tests/test_refunds.py", shows="11 passed"),
            interjection="Sorry, two corrections before you go on: the app isn't on v2 after all, so please make it "
            "`POST /v1/orders/{id}/refunds`. And legal says 30 days, not 14. Everything else stays.",
        ),
        say(
            "Noted: v1 instead of v2, 30 days instead of 14. The two tests of the last day change first.",
            edit("tests/test_refunds.py", OLD_LAST_DAY_TESTS, LAST_DAY_TESTS),
            fails(run("python -m pytest -q tests/test_refunds.py"), "1 failed"),
        ),
        say(
            "",
            edit("src/shop/refunds.py", "REFUND_DAYS = 14\n", "REFUND_DAYS = 30\n"),
            run("python -m pytest -q tests/test_refunds.py", shows="11 passed"),
        ),
        say(
            "The rules hold on invented orders. There are 4,550 in the store: sending everything back must give exactly what "
            "was paid for the goods, for each of them.",
            run(EVERY_ORDER, shows="orders checked"),
        ),
        say(
            "Worth it: an order may hold the same product in two lines, and `{line.sku: line}` keeps only the last. "
            "A test, then pieces by product over all lines.",
            edit(
                "tests/test_refunds.py",
                "\n\ndef test_nothing_is_no_refund",
                TWO_LINES_TEST + "\n\ndef test_nothing_is_no_refund",
            ),
            fails(run("python -m pytest -q tests/test_refunds.py"), "1 failed"),
        ),
        say(
            "",
            edit("src/shop/refunds.py", BY_LINE, BY_PIECE),
            edit(
                "src/shop/refunds.py",
                "from collections import Counter\n",
                "from collections import Counter, defaultdict\n",
            ),
            edit(
                "src/shop/refunds.py",
                "from datetime import datetime, time, timedelta\n",
                "from datetime import datetime, time, timedelta\nfrom decimal import Decimal\n",
            ),
            run("python -m pytest -q tests/test_refunds.py", shows="12 passed"),
        ),
        say(
            "And over all orders again, with mypy beside it.",
            run(EVERY_ORDER, shows=" 0 wrong"),
            fails(run("python -m mypy src"), "Missing type"),
        ),
        say(
            "All orders come out even. `Counter` needs its parameter. Now storing: a new migration at the end, the released "
            "two stay as they are.",
            edit(
                "src/shop/refunds.py",
                "    returned: Counter = Counter()\n",
                "    returned: Counter[str] = Counter()\n",
            ),
            edit(
                "src/shop/store.py",
                '        tracking TEXT NOT NULL\n    );\n    """,\n)\n',
                MIGRATION,
            ),
            edit(
                "tests/test_store.py",
                "    assert store.get(1).status is Status.SHIPPED\n",
                "    assert store.get(1).status is Status.SHIPPED\n" + STORE_TEST,
            ),
            edit(
                "tests/test_store.py",
                "from shop.store import Store, UnknownOrder\n",
                "from shop.refunds import Refund\nfrom shop.store import Store, UnknownOrder\n",
            ),
        ),
        say(
            "",
            edit(
                "src/shop/store.py", "    def get(self, order_id: int) -> Order:\n", STORE_METHODS
            ),
            edit(
                "src/shop/store.py",
                "from shop.orders import Order, OrderLine, Status\n",
                "from shop.orders import Order, OrderLine, Status\nfrom shop.refunds import Refund\n",
            ),
            fails(run("python -m pytest -q tests/test_store.py"), "name 'json' is not defined"),
        ),
        say(
            "I forgot the import.",
            edit("src/shop/store.py", "import sqlite3\n", "import json\nimport sqlite3\n"),
            run("python -m pytest -q tests/test_store.py", shows="6 passed"),
        ),
        say(
            "Now the route. The tests use `/v1` and say that `/v2` does not exist.",
            edit(
                "tests/test_api.py",
                '    assert answer.body["error"]["message"] == "Something is missing in your request: lines."\n',
                '    assert answer.body["error"]["message"] == "Something is missing in your request: lines."\n'
                + API_TESTS,
            ),
            edit(
                "tests/test_api.py",
                "from datetime import UTC, datetime\n",
                "from dataclasses import replace\nfrom datetime import UTC, datetime\n",
            ),
            edit(
                "tests/test_api.py",
                "from shop.discounts import DiscountBook\n",
                "from shop.discounts import DiscountBook\nfrom shop.orders import Status\n",
            ),
            fails(run("python -m pytest -q tests/test_api.py"), "2 failed"),
        ),
        say(
            "",
            edit("src/shop/api.py", "            case _:\n", API_ROUTE),
            edit("src/shop/api.py", "\ndef _error(", API_METHOD),
            edit(
                "src/shop/api.py", "        except (KeyError, ValueError) as error:\n", API_ERRORS
            ),
            edit(
                "src/shop/api.py",
                "from shop.shipping import ShippingRules, UnknownCountry\n",
                "from shop.refunds import REFUND_DAYS, NotRefundable, RefundTooLate, TooManyReturned, refund\n"
                "from shop.shipping import ShippingRules, UnknownCountry\n",
            ),
        ),
        say(
            "",
            edit(
                "src/shop/messages.py", '        "not_found": "There is nothing here.",\n', ENGLISH
            ),
            fails(run("python -m pytest -q"), "test_every_language_says_everything[fr]"),
        ),
        say(
            "`test_messages.py` does its job: French lacks the new sentences. The rest passes.",
            edit("src/shop/messages.py", '        "not_found": "Il n’y a rien ici.",\n', FRENCH),
            run("python -m pytest -q", shows="63 passed"),
            fails(run("python -m ruff check src tests scripts"), "E501"),
            run("python -m mypy src", shows="Success"),
        ),
        say(
            "One line is too long, in `store.py`.",
            edit("src/shop/store.py", LONG_LINE, SHORT_LINES),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            run("python -m pytest -q", shows="63 passed"),
            run("git status --short && git diff --stat -- src/shop/orders.py | wc -l"),
        ),
        say(
            "`orders.py` is untouched. Commit.",
            run(
                "git add -A && git commit -q -m 'Customers can send single pieces back within 30 days' && git log --oneline | head -1"
            ),
        ),
    ),
    """\
Partial refunds work: `POST /v1/orders/{id}/refunds`, 30 days (the last one in full), shipped or delivered orders only.

- `refunds.py` holds the rules. Each piece is worth its part of what was paid for the line, so pieces that come back one by one add up to the line to the cent. I checked that on every shipped or delivered order in the store; that found a mistake of mine with products that stand in two lines, which now has a test.
- `store.py`: migration 3 (table `refunds`), `add_refund`, `refunds_of`. The released migrations are as they were.
- `api.py`: the route, and `409` for `not_refundable`, `refund_too_late`, `too_many_returned`; the sentences are in `messages.py`, English and French.

63 tests pass, ruff and mypy are clean, `orders.py` was not touched. docs/api.md does not mention it yet; I would do that with the release notes.""",
)
