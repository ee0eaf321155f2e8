"""Orders stand twice in finance's export, and a wish that the user takes back halfway."""

from demo.script import Turn, edit, fails, listing, read, run, say, search

__all__ = ["FINANCE_EXPORT"]

EXPORT = "PYTHONPATH=src python -m shop export 2026-03"

COUNTS = """\
python - <<'PY'
from collections import Counter
from decimal import Decimal

rows = [line.split(";") for line in open("var/march.csv", encoding="utf-8").read().splitlines()[1:]]
times = Counter(row[0] for row in rows)
once = {row[0]: Decimal(row[2]) for row in rows}
print(len(rows), "rows,", len(once), "orders")
print("in it more than once:", sum(count > 1 for count in times.values()), "most often:", max(times.values()), "times")
print("sum of all rows:", sum(Decimal(row[2]) for row in rows), " each order once:", sum(once.values()))
print("examples:", [number for number, count in times.items() if count > 1][:6])
PY"""

PARCELS = """\
PYTHONPATH=src python - <<'PY'
from shop.cli import ROOT
from shop.store import Store

store = Store(ROOT / "var/shop.db")
print("orders of March by parcels (parcels, orders):")
for row in store.db.execute(
    "SELECT parcels, count(*) FROM (SELECT count(shipments.id) AS parcels FROM orders"
    " LEFT JOIN shipments ON shipments.order_id = orders.id"
    " WHERE placed_at LIKE '2026-03%' AND status <> 'cancelled' GROUP BY orders.id) GROUP BY parcels"
):
    print("  ", *row)
print("parcels of one that stands twice:")
for row in store.db.execute(
    "SELECT order_id, sent_on, tracking FROM shipments WHERE order_id ="
    " (SELECT order_id FROM shipments WHERE sent_on >= '2026-03-05' GROUP BY order_id HAVING count(*) > 1 LIMIT 1)"
):
    print("  ", *row)
PY"""

PARCEL_TEST = '''

def test_an_order_in_two_parcels_is_exported_once():
    """Finance compares with the bank, and the customer paid once."""
    store = Store()
    store.add([order(1)])
    store.add_shipments([(1, "2026-03-12", "PX1"), (1, "2026-03-13", "PX2")])

    assert [row.to_csv() for row in export_month(store, "2026-03")] == ["1;11;27.31"]
    assert month_total(store, "2026-03") == Money.of("27.31")
'''

FINANCE_EXPORT = Turn(
    """\
👍 Passt. (I'll ask Hanako about the Japanese.)

Finance again 🙈: the March export comes to 203,935.05 EUR up to yesterday, their bank list has a lot less, and they say that some orders are in it twice. Please find out why, fix it, and tell me the right sum. They import the file with a macro, so its format must not change: header, semicolons, the day as two digits.""",
    (
        say(
            "",
            read("src/shop/reports.py"),
            read("tests/test_reports.py"),
            run(EXPORT, shows="total 2026-03: 203935.05 EUR"),
        ),
        say(
            "That printed the whole month, 2,478 rows; I should have sent it to a file. The sum on the last line is finance's "
            "203,935.05. From here on I count. Is the bank's list here to compare with?",
            run(EXPORT + " > var/march.csv", shows="total"),
            run(COUNTS, shows="in it more than once"),
            fails(read("data/bank-2026-03.csv"), "No such file"),
            listing("data"),
        ),
        say(
            "No bank list, but the export contradicts itself: it has fewer orders than rows. Twice at most, which smells of a "
            "join. `reports.py` joins `shipments` and uses nothing of it.",
            run(PARCELS, shows="PX"),
            run(
                "git log --oneline -S'LEFT JOIN shipments' -- src/shop/reports.py",
                shows="Release 1.8.0",
            ),
            search("shipments", glob="*.py"),
        ),
        say(
            "Confirmed: the orders with two parcels are exactly those that stand twice, and the join came with 1.8.0. Test first.",
            edit(
                "tests/test_reports.py",
                '    assert month_total(store, "2026-03") == Money.of("54.62")\n',
                '    assert month_total(store, "2026-03") == Money.of("54.62")\n' + PARCEL_TEST,
            ),
            fails(run("python -m pytest -q tests/test_reports.py"), "1 failed"),
        ),
        say(
            "",
            fails(
                edit(
                    "src/shop/reports.py",
                    '        " FROM orders JOIN shipments ON shipments.order_id = orders.id"\n',
                    '        " FROM orders"\n',
                ),
                "not found",
            ),
        ),
        say(
            "It is a `LEFT JOIN`, I typed it from memory.",
            edit(
                "src/shop/reports.py",
                '        " FROM orders LEFT JOIN shipments ON shipments.order_id = orders.id"\n',
                '        " FROM orders"\n',
            ),
            run("python -m pytest -q tests/test_reports.py", shows="3 passed"),
            run(EXPORT + " > var/march.csv", shows="total"),
            run(COUNTS, shows="sum of all rows: 184544.17"),
            interjection="One more thing from finance, and I have to take back what I said about the format: they do want the "
            "whole date now, 2026-03-17 instead of 17, because they put several months into one sheet. Header and "
            "semicolons stay.",
        ),
        say(
            "Each order is in it once now. The date: `day` becomes the whole date, so the query, the class's docstring and the "
            "new test change.",
            read("src/shop/reports.py", offset=12, limit=35),
            search(r"\.day\b|substr\(orders", glob="*.py"),
        ),
        say(
            "",
            edit("tests/test_reports.py", '["1;11;27.31"]', '["1;2026-03-11;27.31"]'),
            fails(run("python -m pytest -q tests/test_reports.py"), "1 failed"),
        ),
        say(
            "",
            edit(
                "src/shop/reports.py",
                "substr(orders.placed_at, 9, 2)",
                "substr(orders.placed_at, 1, 10)",
            ),
            edit(
                "src/shop/reports.py",
                '    """One order as finance wants it; the day is that of the month."""\n',
                '    """One order as finance wants it; the day is a whole date, as the order was placed, in UTC."""\n',
            ),
            run("python -m pytest -q tests/test_reports.py", shows="3 passed"),
        ),
        say(
            "",
            run(
                EXPORT + " > var/march.csv && head -4 var/march.csv && tail -2 var/march.csv",
                shows="2026-03-01",
            ),
            run("python -m pytest -q", shows="86 passed"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            run("python -m mypy src", shows="Success"),
        ),
        say(
            "February too, since the carrier's list reached further back than the release:",
            run(
                "PYTHONPATH=src python -m shop export 2026-02 | tail -n +2 | cut -d';' -f1 | sort | uniq -d | wc -l",
                shows="0",
            ),
            run(
                "git commit -q -a -m 'The export holds each order once, with its whole date' && git log --oneline | head -1"
            ),
        ),
    ),
    """\
The right sum for March up to yesterday is **184,544.17 EUR**; the export had 19,390.88 EUR too much.

Why: release 1.8.0 joined the parcels to the orders and used nothing of them. An order in two parcels became two rows, 223 of 2,255. No test had an order with parcels; now one has. The same join stood in every export made since Tuesday, so if finance has fetched another month since then, they should fetch it again.

The date is whole now (`2026-03-17`), header and semicolons are as they were. It is the day on which the order was placed, in UTC: an order from just after midnight our time stands on the day before. That was so before, I mention it because whole dates make it visible.

86 tests, ruff and mypy pass; committed.""",
)
