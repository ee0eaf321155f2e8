"""The order search became slow with a release: found in the log, measured in steps, mended."""

from demo.script import Turn, edit, fails, log, read, run, say

__all__ = ["SLOW_SEARCH"]

SINCE_RELEASE = "2026-03-17T09:00"

COUNT_STEPS = "PYTHONPATH=src python scripts/count_steps.py müller"

QUERY_PLAN = """\
PYTHONPATH=src python - <<'PY'
from shop.cli import ROOT
from shop.store import Store

store = Store(ROOT / "var/shop.db")
for title, statement in (
    ("search", "SELECT id FROM orders WHERE lower(customer_name) LIKE '%m%' ORDER BY placed_at DESC LIMIT 50"),
    ("lines of an order", "SELECT sku FROM order_lines WHERE order_id = 1 ORDER BY place"),
    ("refunds of an order", "SELECT amount_cents FROM refunds WHERE order_id = 1 ORDER BY id"),
):
    print(title)
    for row in store.db.execute("EXPLAIN QUERY PLAN " + statement):
        print("   ", row[3])
for table in ("orders", "order_lines", "shipments", "refunds"):
    print(table, store.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0], "rows")
PY"""

STATEMENTS_TEST = '''

def test_a_search_takes_two_statements_however_much_it_finds():
    """One for the orders, one for all their lines: never one an order."""
    store = Store()
    store.add(order(number) for number in range(1, 9))
    statements: list[str] = []
    store.db.set_trace_callback(statements.append)

    found = store.search("example")

    assert (len(found), len(statements)) == (8, 2)


def test_a_search_finds_whole_orders():
    """Lines come in their order, each with its own order."""
    store = Store()
    pen = OrderLine("PEN-011", 1, Money.of("19.15"), Money.zero())
    store.add([order(1), order(2, lines=(pen, *order(2).lines))])

    assert store.search("example") == [store.get(2), store.get(1)]
'''

SEARCH_BEFORE = """\
        pattern = f"%{text.lower()}%"
        rows = self.db.execute(
            "SELECT id FROM orders"
            " WHERE lower(customer_name) LIKE ? OR lower(email) LIKE ? OR CAST(id AS TEXT) LIKE ?"
            " ORDER BY placed_at DESC",
            (pattern, pattern, pattern),
        ).fetchall()
        found = [self.get(row[0]) for row in rows]
        return found[:limit]
"""

SEARCH_JOINED = """\
        pattern = f"%{text.lower()}%"
        rows = self.db.execute(
            f"SELECT {ORDER_COLUMNS}, sku, quantity, unit_cents, discount_cents FROM orders"
            " JOIN order_lines ON order_lines.order_id = orders.id"
            " WHERE lower(customer_name) LIKE ? OR lower(email) LIKE ? OR CAST(id AS TEXT) LIKE ?"
            " ORDER BY placed_at DESC, place LIMIT ?",
            (pattern, pattern, pattern, limit),
        ).fetchall()
        grouped: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            grouped.setdefault(row[0], []).append(row)
        return [_order(group[0][:7], [row[7:] for row in group]) for group in grouped.values()]
"""

SEARCH_IN_TWO = """\
        pattern = f"%{text.lower()}%"
        rows = self.db.execute(
            f"SELECT {ORDER_COLUMNS} FROM orders"
            " WHERE lower(customer_name) LIKE ? OR lower(email) LIKE ? OR CAST(id AS TEXT) LIKE ?"
            " ORDER BY placed_at DESC LIMIT ?",
            (pattern, pattern, pattern, limit),
        ).fetchall()
        marks = ", ".join("?" * len(rows))
        lines: dict[int, list[tuple[Any, ...]]] = {row[0]: [] for row in rows}
        for order_id, *line in self.db.execute(
            "SELECT order_id, sku, quantity, unit_cents, discount_cents FROM order_lines"
            f" WHERE order_id IN ({marks}) ORDER BY order_id, place",
            list(lines),
        ):
            lines[order_id].append(tuple(line))
        return [_order(row, lines[row[0]]) for row in rows]
"""

GET_BEFORE = """\
        row = self.db.execute(
            "SELECT id, placed_at, customer_name, email, status, shipping_cents, total_cents"
            " FROM orders WHERE id = ?",
            (order_id,),
        ).fetchone()
        if row is None:
            raise UnknownOrder(order_id)
        lines = self.db.execute(
            "SELECT sku, quantity, unit_cents, discount_cents FROM order_lines"
            " WHERE order_id = ? ORDER BY place",
            (order_id,),
        )
        return Order(
            id=row[0],
            placed_at=datetime.fromisoformat(row[1]),
            customer_name=row[2],
            email=row[3],
            status=Status(row[4]),
            lines=tuple(
                OrderLine(sku, quantity, Money.from_cents(unit), Money.from_cents(discount))
                for sku, quantity, unit, discount in lines
            ),
            shipping=Money.from_cents(row[5]),
            total=Money.from_cents(row[6]),
        )
"""

GET_AFTER = """\
        row = self.db.execute(
            f"SELECT {ORDER_COLUMNS} FROM orders WHERE id = ?", (order_id,)
        ).fetchone()
        if row is None:
            raise UnknownOrder(order_id)
        lines = self.db.execute(
            "SELECT sku, quantity, unit_cents, discount_cents FROM order_lines"
            " WHERE order_id = ? ORDER BY place",
            (order_id,),
        )
        return _order(row, lines)
"""

ORDER_FROM_ROWS = '''\
def _order(row: tuple[Any, ...], lines: Iterable[tuple[Any, ...]]) -> Order:
    """Make an order of its row (``ORDER_COLUMNS``) and the rows of its lines."""
    return Order(
        id=row[0],
        placed_at=datetime.fromisoformat(row[1]),
        customer_name=row[2],
        email=row[3],
        status=Status(row[4]),
        lines=tuple(
            OrderLine(sku, quantity, Money.from_cents(unit), Money.from_cents(discount))
            for sku, quantity, unit, discount in lines
        ),
        shipping=Money.from_cents(row[5]),
        total=Money.from_cents(row[6]),
    )


def utc(text: str) -> datetime:
'''

COLUMNS = '''"""Steps of the schema, oldest first. Never edited once released; a change is a new step."""

ORDER_COLUMNS = "id, placed_at, customer_name, email, status, shipping_cents, total_cents"
"""What ``_order`` needs of a row of ``orders``, in its order."""
'''

INDEX_MIGRATION = '''        amount_cents INTEGER NOT NULL
    );
    """,
    """
    CREATE INDEX order_lines_by_order ON order_lines (order_id, place);
    CREATE INDEX refunds_by_order ON refunds (order_id);
    """,
)
'''

SLOW_SEARCH = Turn(
    """\
Support complains that the order search has been slow since Tuesday. Please find out from the log what is going on, and fix it. The runbook has a section on it.

Goal: p95 below 100 ms on the server. Clocks on our laptops mean nothing, so go by SQLite steps: a search should stay below 300,000. It must find exactly what it finds today, and released migrations are never edited.""",
    (
        say(
            "By the runbook: which path, since when, and was there a deploy?",
            read("docs/runbook.md"),
            log(since=SINCE_RELEASE, where={"level": "INFO"}, group_by="method,path", shows="GET"),
            log(contains="deploy", shows="version=1.8.0"),
        ),
        say(
            "Grouping by path splits up every order number, that was too fine. The search is one path, so by day and then by "
            "hour around the deploy:",
            log(where={"path": "/v1/orders/search"}, group_by="day", shows="2026-03-18"),
            log(
                where={"path": "/v1/orders/search"},
                since="2026-03-17T06",
                until="2026-03-17T14",
                group_by="hour",
                shows="2026-03-17T09",
            ),
        ),
        say(
            "A step at the minute of the deploy: p95 from about 60 ms to more than two seconds. Quotes and orders for "
            "comparison, and what the slow-statement warnings name.",
            log(where={"path": "/v1/quotes"}, group_by="day", shows="2026-03-18"),
            log(where={"path": "/v1/orders", "method": "POST"}, group_by="day", shows="2026-03-18"),
            log(
                where={"level": "WARN"},
                group_by="day,statement,provider",
                shows="order_lines_of_order",
            ),
        ),
        say(
            "Only the search is slower. All slow statements are `order_lines_of_order`, and they run hundreds of times a "
            "request. The payment timeouts are there before the deploy as well and have nothing to do with it. "
            "Some requests with their figures:",
            log(contains="/v1/orders/search", since="2026-03-17T10", limit=25, shows="queries="),
            log(contains="store slow", since="2026-03-17T10", limit=25, shows="times="),
        ),
        say(
            "`queries` is far above `rows`: a page of 50 costs up to 1,400 statements. What did 1.8.0 change?",
            run(
                "git show HEAD~3 -- src/shop/store.py",
                shows='-            "SELECT id FROM orders WHERE lower(email)',
            ),
            run(COUNT_STEPS, shows="1135"),
            run(QUERY_PLAN, shows="SCAN order_lines"),
        ),
        say(
            "Two faults that multiply:\n\n"
            "1. 1.8.0 dropped `LIMIT` from the SQL and cuts the page in Python, so it loads *every* match, one `get` each.\n"
            "2. `order_lines` has no index on `order_id`: each `get` scans all lines. That was always so, but with 50 orders "
            "nobody noticed.\n\n"
            "Tests first. Steps depend on the SQLite version, statements do not, so the test counts statements.",
            edit(
                "tests/test_store.py",
                '    assert len(store.search("example", limit=3)) == 3\n',
                '    assert len(store.search("example", limit=3)) == 3\n' + STATEMENTS_TEST,
            ),
            fails(run("python -m pytest -q tests/test_store.py"), "(8, 17) == (8, 2)"),
        ),
        say(
            "Now `store.py`, which I last saw before the refunds went in.",
            read("src/shop/store.py", offset=45, limit=165),
        ),
        say(
            "",
            edit("src/shop/store.py", GET_BEFORE, GET_AFTER),
            edit("src/shop/store.py", "def utc(text: str) -> datetime:\n", ORDER_FROM_ROWS),
            edit("src/shop/store.py", COLUMNS.splitlines(keepends=True)[0], COLUMNS),
            edit("src/shop/store.py", SEARCH_BEFORE, SEARCH_JOINED),
        ),
        say(
            "",
            edit(
                "src/shop/store.py",
                "from pathlib import Path\n",
                "from pathlib import Path\nfrom typing import Any\n",
            ),
            fails(run("python -m pytest -q tests/test_store.py"), "failed"),
        ),
        say(
            "The join is one statement, not two, and worse: `LIMIT` now counts lines instead of orders. "
            "`test_a_search_finds_whole_orders` passes by luck, with 50 there would be pages with half an order. "
            "Two statements, then: the page first, then the lines of the page.",
            edit("src/shop/store.py", SEARCH_JOINED, SEARCH_IN_TWO),
            run("python -m pytest -q tests/test_store.py", shows="8 passed"),
            run(COUNT_STEPS, shows="statements     2"),
        ),
        say(
            "From 1,135 statements to 2. Still a scan of all lines, so the index, as a migration of its own; the one for "
            "refunds is not released yet, but it is committed, so I leave it alone too.",
            edit(
                "src/shop/store.py",
                '        amount_cents INTEGER NOT NULL\n    );\n    """,\n)\n',
                INDEX_MIGRATION,
            ),
            run(COUNT_STEPS, shows="sqlite steps"),
            run(QUERY_PLAN, shows="order_lines_by_order"),
        ),
        say(
            "What it finds must not change. I compare with the released version on the real data: the old `store.py` from git "
            "beside the new one, for a dozen searches.",
            run(
                """\
mkdir -p var/old && git archive HEAD~3 src/shop | tar -x -C var/old && cat > var/old/find.py <<'PY'
import sys
from shop.store import Store
store = Store(sys.argv[1])
for text in ("müller", "MARTIN", "josé", "example.jp", "花子", "1041", "10417", "o'ne", "%", "_", "zzz", "schwarz"):
    print(text, [order.id for order in store.search(text)], sum(len(order.lines) for order in store.search(text)))
PY
PYTHONPATH=var/old/src python var/old/find.py var/shop.db > var/old/before.txt
PYTHONPATH=src python var/old/find.py var/shop.db > var/old/after.txt
wc -l var/old/before.txt && cmp var/old/before.txt var/old/after.txt && echo same""",
                shows="same",
            ),
        ),
        say(
            "The same orders in the same order for all twelve. Everything together:",
            run("python -m pytest -q", shows="65 passed"),
            run("python -m ruff check src tests scripts", shows="All checks passed"),
            run("python -m mypy src", shows="Success"),
            fails(run("rm -rf var/old"), "Refused"),
        ),
        say(
            "Deleting a folder needs your approval. `var/` is ignored by git, so my comparison can lie there until you say so.",
            run("git status --short"),
            run(
                "git commit -q -a -m 'A search reads one page, not every order it matches' && git log --oneline | head -1"
            ),
        ),
    ),
    """\
The search is fast again; the cause was release 1.8.0.

**What happened.** Since Tuesday 09:00 UTC each search loaded every order that matches, two statements each, and threw all but 50 away; p95 went from about 60 ms to over two seconds at the minute of the deploy. It hurt so much because `order_lines` never had an index on `order_id`.

**What I changed** (`store.py`): `LIMIT` is back in the SQL, the lines of a page come in one second statement, and migration 4 adds the index (and one for refunds). Released migrations are untouched.

**Measured** with `scripts/count_steps.py müller`: 1,135 statements before, 2 now; the steps are far below your 300,000. Twelve searches, odd ones included, find the same orders in the same order as the released version. 65 tests pass, ruff and mypy are clean.

Two things that I noticed and left alone: searching for `álvarez` in lower case finds nothing, because SQLite's `lower()` only knows ASCII (it was so before), and `%` or `_` in a search act as wildcards. Tell me if you want either changed. And var/old, my copy of the released version, is still there: `rm -rf` was refused.""",
)
