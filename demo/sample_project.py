"""Builds the small shop that the scripted agent works on.

Its sources stand in ``shop.txtar`` (a plain-text archive: ``-- path --``, then
the file). The catalogue, the orders and the server's logs are generated here,
from a fixed seed, so that each recording starts from the same bytes. Nobody in
it is real.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

__all__ = ["build"]

ARCHIVE = Path(__file__).with_name("shop.txtar")

SEED = 20260318
"""Any number would do; this one is the day on which the story plays."""

FIRST_DAY = datetime(2026, 2, 12, tzinfo=UTC)
FIRST_ORDER = 6001
ORDERS_A_DAY = 130
DAYS = 35
"""Chosen so that March alone is an export of a few thousand lines."""

RELEASE = datetime(2026, 3, 17, 9, 0, tzinfo=UTC)
"""When version 1.8.0, which holds all the faults of the story, went live."""

COMPLAINT = 10417
"""The order that the story begins with; placed in the evening of that day."""

BEFORE_RELEASE: tuple[tuple[str, str, str], ...] = (
    (
        "src/shop/pricing.py",
        "    shipping = rules.cost(discounted, weight, country)\n",
        "    shipping = rules.cost(goods, weight, country)\n",
    ),
    (
        "src/shop/store.py",
        (
            '            "SELECT id FROM orders"\n'
            '            " WHERE lower(customer_name) LIKE ? OR lower(email) LIKE ?'
            ' OR CAST(id AS TEXT) LIKE ?"\n'
            '            " ORDER BY placed_at DESC",\n'
            "            (pattern, pattern, pattern),\n"
            "        ).fetchall()\n"
            "        found = [self.get(row[0]) for row in rows]\n"
            "        return found[:limit]\n"
        ),
        (
            '            "SELECT id FROM orders WHERE lower(email) LIKE ?"\n'
            '            " ORDER BY placed_at DESC LIMIT ?",\n'
            "            (pattern, limit),\n"
            "        ).fetchall()\n"
            "        return [self.get(row[0]) for row in rows]\n"
        ),
    ),
    (
        "src/shop/reports.py",
        '" FROM orders LEFT JOIN shipments ON shipments.order_id = orders.id"',
        '" FROM orders"',
    ),
    (
        "src/shop/messages.py",
        "def message(code: str, locale: str = FALLBACK, **values: object) -> str:",
        "def message(name: str, locale: str = FALLBACK, **values: object) -> str:",
    ),
    ("src/shop/messages.py", "sentences[code]", "sentences[name]"),
    (
        "src/shop/api.py",
        "def _error(status: int, code: str, locale: str, **values: object) -> Response:",
        "def _error(status: int, name: str, locale: str, **values: object) -> Response:",
    ),
    (
        "src/shop/api.py",
        '{"code": code, "message": message(code, locale, **values)}',
        '{"code": name, "message": message(name, locale, **values)}',
    ),
    ("src/shop/__init__.py", '"1.8.0"', '"1.7.2"'),
    ("pyproject.toml", 'version = "1.8.0"', 'version = "1.7.2"'),
)
"""What 1.8.0 changed: path, text now, text before. Makes the first of two commits."""

CUSTOMERS = (
    ("José Álvarez", "jose.alvarez@example.com"),
    ("Zoë Müller", "zoe.mueller@example.de"),
    ("Łukasz Nowak", "lukasz@example.pl"),
    ("Renée Dubois", "renee.dubois@example.fr"),
    ("山田 花子", "hanako@example.jp"),
    ("Anke Müller-Lüdenscheidt", "anke.ml@example.de"),
    ("Søren Kjær", "soren@example.com"),
    ("Ayşe Yılmaz", "ayse@example.de"),  # noqa: RUF001 - a Turkish letter
    ("Tomáš Dvořák", "tomas@example.com"),
    ("Maria Rossi", "maria.rossi@example.com"),
    ("Jens Petersen", "jens.p@example.de"),
    ("Claire Martin", "claire.martin@example.fr"),
    ("高橋 健", "ken.takahashi@example.jp"),
    ("Piotr Wiśniewski", "piotr.w@example.pl"),
    ("Eva Schwarz", "eva.schwarz@example.at"),
    ("Noah O'Neill", "noah.oneill@example.com"),
)

ADJECTIVES = {
    "ink": ("Königsblau", "Smaragd", "Bordeaux", "夜空 (yozora)", "Sepia", "Ébène"),
    "pens": ("fine", "medium", "broad", "Füller für Linkshänder", "left-handed", "oblique"),
    "paper": ("dotted", "ruled", "blank", "grid", "和紙 (washi)", "graph"),
    "cards": ("birthday 🎂", "thank you", "wedding", "blank", "new home", "get well"),
    "desk": ("brass", "walnut", "glass", "steel", "cork", "leather"),
}
NOUNS = {
    "ink": ("INK", "Tinte 50 ml", 180),
    "pens": ("PEN", "Fountain pen", 60),
    "paper": ("PAP", "Notebook A5", 320),
    "cards": ("CRD", "Card", 15),
    "desk": ("DSK", "Desk tray", 900),
}
A_CATEGORY = 22

KNOWN_PRICES = {"INK-004": "12.45", "PEN-011": "19.15", "PAP-020": "7.95"}
"""What the customer of the complaint bought."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A product of the generated catalogue, as far as orders need it."""

    sku: str
    price: Decimal


def build(folder: Path, git_environment: Mapping[str, str]) -> None:
    """Write the whole project and its two commits.

    Args:
        folder: Where; must not exist yet.
        git_environment: Environment for git, with fixed names and dates, so
            that commits have the same hashes each time.
    """
    sources = _unpack(ARCHIVE.read_text(encoding="utf-8"))
    dice = random.Random(SEED)
    catalog = _catalog(dice)
    written = {
        **sources,
        "data/catalog.json": json.dumps(catalog, ensure_ascii=False, indent=1) + "\n",
        "data/orders.jsonl": _lines(_orders(dice, catalog)),
        "var/log/shop.log": "".join(f"{line}\n" for line in _log(dice)),
    }
    before = dict(written)
    for path, now, then in BEFORE_RELEASE:
        if now not in before[path]:
            raise ValueError(f"{path} no longer holds what BEFORE_RELEASE replaces: {now!r}")
        before[path] = before[path].replace(now, then)
    _write(folder, before)
    _git(folder, git_environment, "init", "--quiet", "--initial-branch=main")
    _commit(folder, git_environment, "Release 1.7.2", "2026-02-20T15:12:00+01:00")
    _write(folder, written)
    subject = "Release 1.8.0: search by name, several parcels an order"
    _commit(folder, git_environment, subject, "2026-03-17T09:41:00+01:00")


def _unpack(archive: str) -> dict[str, str]:
    pieces = re.split(r"^-- (\S+) --\n", archive, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _git(folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, env=dict(environment), check=True)


def _commit(folder: Path, environment: Mapping[str, str], subject: str, date: str) -> None:
    dated = {**environment, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    _git(folder, dated, "add", "--all")
    _git(folder, dated, "commit", "--quiet", "--message", subject)


def _lines(rows: Iterator[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _catalog(dice: random.Random) -> list[dict[str, object]]:
    """All products, category by category."""
    rows: list[dict[str, object]] = []
    for category, (prefix, noun, weight_grams) in NOUNS.items():
        for number in range(1, A_CATEGORY + 1):
            sku = f"{prefix}-{number:03}"
            adjective = ADJECTIVES[category][number % len(ADJECTIVES[category])]
            price = Decimal(dice.randrange(190, 3900, 5)) / 100
            rows.append(
                {
                    "sku": sku,
                    "name": f"{noun}, {adjective}, No. {number}",
                    "price": KNOWN_PRICES.get(sku, f"{price:.2f}"),
                    "category": category,
                    "weight_grams": weight_grams + dice.randrange(0, 90, 10),
                    "stock": dice.randrange(0, 160),
                }
            )
    return rows


def _orders(dice: random.Random, catalog: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Five weeks of orders, priced as the shop would have."""
    products = [Parcel(str(row["sku"]), Decimal(str(row["price"]))) for row in catalog]
    for number in range(ORDERS_A_DAY * DAYS):
        order_id = FIRST_ORDER + number
        placed = FIRST_DAY + timedelta(minutes=number * 1440 // ORDERS_A_DAY, seconds=number % 60)
        bought = [
            (dice.choice(products), dice.randrange(1, 4)) for _ in range(dice.randrange(1, 4))
        ]
        percent = Decimal(10) if dice.random() < 0.12 and placed.month == 3 else Decimal(0)
        name, email = dice.choice(CUSTOMERS)
        if order_id == COMPLAINT:
            prices = {product.sku: product for product in products}
            bought = [(prices["INK-004"], 2), (prices["PEN-011"], 1), (prices["PAP-020"], 1)]
            percent = Decimal(10)
            name, email = CUSTOMERS[0]
        yield _order(dice, order_id, placed, bought, percent) | {
            "customer": {"name": name, "email": email}
        }


def _order(
    dice: random.Random,
    order_id: int,
    placed: datetime,
    bought: list[tuple[Parcel, int]],
    percent: Decimal,
) -> dict[str, object]:
    lines = [
        {
            "sku": product.sku,
            "quantity": quantity,
            "unit_price": str(product.price),
            "discount": str(_cents(product.price * quantity * percent / 100)),
        }
        for product, quantity in bought
    ]
    goods = sum((product.price * quantity for product, quantity in bought), Decimal(0))
    discount = sum((Decimal(str(line["discount"])) for line in lines), Decimal(0))
    counts = goods - discount if placed >= RELEASE else goods
    shipping = Decimal("0.00") if counts > 50 else Decimal("4.90")
    status = _status(dice, placed)
    parcels = 0
    if status in {"shipped", "delivered"}:
        parcels = 2 if dice.random() < 0.11 else 1
    return {
        "id": order_id,
        "placed_at": placed.isoformat(),
        "status": status,
        "code": "SPRING10" if percent else None,
        "lines": lines,
        "shipping": str(shipping),
        "total": str(goods - discount + shipping),
        "shipments": [
            {
                "sent_on": f"{placed + timedelta(days=1 + parcel):%Y-%m-%d}",
                "tracking": f"PX{order_id}{parcel}{dice.randrange(1000, 10_000)}",
            }
            for parcel in range(parcels)
        ],
    }


def _status(dice: random.Random, placed: datetime) -> str:
    draw = dice.random()
    if draw < 0.04:
        return "cancelled"
    age = FIRST_DAY + timedelta(days=DAYS) - placed
    if age > timedelta(days=5):
        return "delivered"
    if age > timedelta(days=1):
        return "shipped"
    return "paid" if draw < 0.8 else "placed"


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)


PATHS = (
    ("GET", "/v1/products", 5, 14, 1),
    ("POST", "/v1/quotes", 3, 9, 0),
    ("POST", "/v1/orders", 12, 35, 6),
    ("GET", "/v1/orders/{id}", 3, 8, 2),
    ("GET", "/v1/orders/search", 18, 60, 101),
    ("POST", "/v1/orders/{id}/cancel", 9, 22, 5),
)
"""Method, path, least and most milliseconds, statements: how each route behaved before 1.8.0."""

CRASH = (
    "Traceback (most recent call last):",
    '  File "/srv/shop/src/shop/api.py", line 57, in handle',
    "    return self._route(method, parts.path, query, body or {}, now)",
    '  File "/srv/shop/src/shop/api.py", line 80, in _route',
    "    return Response(200, self._quote(body, now)[1].to_json())",
    '  File "/srv/shop/src/shop/api.py", line 105, in _quote',
    "    discount = self.discounts.find(code, now.date()) if code else None",
    '  File "/srv/shop/src/shop/discounts.py", line 76, in find',
    "    raise InvalidCode(code)",
    "shop.discounts.InvalidCode: SPRNIG10",
    "",
    "During handling of the above exception, another exception occurred:",
    "",
    "Traceback (most recent call last):",
    '  File "/srv/shop/src/shop/api.py", line 63, in handle',
    '    return _error(422, "invalid_code", locale, code=error.code)',
    "TypeError: _error() got multiple values for argument 'code'",
)
"""What a mistyped discount code does to 1.8.0."""


def _log(dice: random.Random) -> Iterator[str]:
    """Three and a half days of the server's log, a line every minute and a half."""
    moment = datetime(2026, 3, 15, 6, 0, tzinfo=UTC)
    end = datetime(2026, 3, 18, 18, 0, tzinfo=UTC)
    released = False
    while moment < end:
        moment += timedelta(milliseconds=dice.randrange(20_000, 160_000))
        if not released and moment > RELEASE:
            released = True
            yield f"{_stamp(RELEASE)} INFO deploy version=1.8.0 from=1.7.2 migrations=1"
        if dice.random() < 0.006:
            yield f"{_stamp(moment)} WARN payment timeout provider=paylane attempt=1 ms=5000"
            continue
        yield from _request(dice, moment, released=released)


def _request(dice: random.Random, moment: datetime, *, released: bool) -> Iterator[str]:
    method, path, least, most, statements = dice.choice(PATHS)
    ms = dice.randrange(least, most)
    request_id = f"{dice.getrandbits(32):08x}"
    path = path.replace("{id}", str(dice.randrange(9000, 10_500)))
    if released and path == "/v1/quotes" and dice.random() < 0.09:
        yield f"{_stamp(moment)} ERROR api unhandled id={request_id} method=POST path={path} status=500"
        yield from CRASH
        return
    rows = ""
    if path.endswith("search"):
        found = dice.randrange(40, 700)
        rows = f" rows={min(found, 50)}"
        if released:
            statements = 2 * found + 1
            ms = found * 4 + dice.randrange(20, 90)
    yield (
        f"{_stamp(moment)} INFO api request id={request_id} method={method} path={path} status=200"
        f" ms={ms} db_ms={ms * 9 // 10} queries={statements}{rows}"
    )
    if ms > 500:
        yield (
            f"{_stamp(moment)} WARN store slow statement=order_lines_of_order id={request_id}"
            f" times={statements // 2} ms={ms * 8 // 10}"
        )


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
