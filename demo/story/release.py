"""The release: changelog, docs, versions. The session ends in the middle of the last checks."""

from demo.script import Turn, edit, read, run, say, search

__all__ = ["RELEASE"]

NOTES = """\
# Changelog

## 1.9.0 - 2026-03-23

### Added
- German and Japanese error messages; `Accept-Language` is read as browsers send it.

### Changed
- The export for finance holds whole dates (`2026-03-17` instead of `17`).

### Fixed
- A discount code no longer costs free shipping: the goods value before the discount counts, and exactly the limit is enough.
- A discount is rounded once, not line by line.
- A mistyped or expired discount code is answered with 422 instead of 500.
- Order search reads one page instead of every match.
- The export for finance holds an order in several parcels once.

"""

REFUND_NOTE = """\
- Customers can send single pieces of an order back within 30 days (`POST /v1/orders/{id}/refunds`).
"""

API_REFUNDS = """\
Only while it is `placed` or `paid`. Gives the stock back. `409` with `not_cancellable` otherwise.

## POST /v1/orders/{id}/refunds

    {"lines": [{"sku": "INK-004", "quantity": 1}]}

Within 30 days after the order was placed, the last one in full; only for `shipped` and `delivered` orders. Answers `201`
with the `amount`: what was paid for these pieces, discount taken off, without shipping. The stock goes back. `409` with
`not_refundable`, `refund_too_late` or `too_many_returned` otherwise.
"""

EVERYTHING = "python -m pytest -q && python -m ruff check . && python -m mypy src"

RELEASE = Turn(
    """\
Good page, thank you. Let's prepare the release: version 1.9.0, dated Monday, 2026-03-23.

- CHANGELOG from what we did today, in the style of the older entries
- docs/api.md: languages and refunds
- the version wherever it stands
- British spelling in docs and changelog ("catalogue")

Two things: leave the refunds out of the *changelog* for now, legal hasn't signed the terms. And no tag, I do that on Monday.""",
    (
        say(
            "",
            read("CHANGELOG.md"),
            read("docs/api.md"),
            run("git log --oneline", shows="Release 1.8.0"),
            search(r"1\.8\.0|1\.7\.2"),
        ),
        say(
            "The version stands in two files. Is there American spelling in the docs, and does anything else describe what "
            "changed today?",
            search(r"\b(catalog|color|behavior|canceled|center|gray|license)\b", "docs"),
            search(r"\b(catalog|color|behavior|canceled|center|gray|license)\b", glob="*.md"),
            read("docs/architecture.md"),
        ),
        say(
            "One place: architecture.md says `catalog` for the module, which is its name and stays. Changelog without the "
            "refunds, the API page with them.",
            edit("CHANGELOG.md", "# Changelog\n\n", NOTES),
            edit(
                "docs/api.md",
                "customer's language (`Accept-Language`; today `en` and `fr`):",
                "customer's language (`Accept-Language`; today `de`, `en`, `fr` and `ja`, English where none fits):",
            ),
            edit(
                "docs/api.md",
                "Only while it is `placed` or `paid`. Gives the stock back. `409` with `not_cancellable` otherwise.\n",
                API_REFUNDS,
            ),
            edit(
                "docs/architecture.md",
                "    cli, api  >  orders, reports  >  pricing,",
                "    cli, api  >  orders, reports  >  refunds  >  pricing,",
            ),
        ),
        say(
            "",
            edit("pyproject.toml", 'version = "1.8.0"', 'version = "1.9.0"'),
            edit("src/shop/__init__.py", '__version__ = "1.8.0"', '__version__ = "1.9.0"'),
            run("PYTHONPATH=src python -c 'import shop; print(shop.__version__)'", shows="1.9.0"),
            interjection="Legal has just signed, so forget what I said: the refunds do go into the changelog, as the first "
            "entry under Added. Still no tag.",
        ),
        say(
            "Refunds in, first under Added. And a correction of my own: the arrow in architecture.md is wrong, `store` imports "
            "`refunds` and `refunds` imports `orders`. Let me look at the imports instead of drawing from memory.",
            edit(
                "CHANGELOG.md",
                "### Added\n- German and Japanese",
                "### Added\n" + REFUND_NOTE + "- German and Japanese",
            ),
            search(r"^from shop\.(orders|refunds|store|inventory|pricing) import", "src/shop"),
        ),
        say(
            "`orders` imports `inventory`; `refunds` imports `orders`; `store` imports both. So the page was not right before "
            "either: `store` stands left of them.",
            edit(
                "docs/architecture.md",
                "cli, api  >  orders, reports  >  refunds  >  pricing, inventory, store  >  shipping",
                "cli, api  >  reports  >  store  >  refunds  >  orders  >  pricing, inventory  >  shipping",
            ),
            read("CHANGELOG.md", limit=24),
        ),
        say(
            "",
            run(EVERYTHING, shows="Success"),
            run("git diff --stat", shows="CHANGELOG.md"),
        ),
        say(
            "All green. Commit, and the last look that you will want before Monday: what went in since 1.8.0, nothing pushed, "
            "no tag, `secrets` and `orders.py` untouched.",
            run("git commit -q -a -m 'Prepare 1.9.0' && git status --short --branch"),
            run("git log --oneline --stat --format='%h %s' HEAD~8..HEAD", shows="Prepare 1.9.0"),
            run("git diff --stat HEAD~8 -- src/shop/orders.py && git tag --list | wc -l"),
        ),
    ),
)
