"""A page about a library next door: much reading, one wide answer, no code."""

from demo.script import Turn, edit, fails, listing, read, run, say, search, write
from demo.workspace import LIBRARY

__all__ = ["SUPPORT_CHAT"]

SOURCE = f"{LIBRARY}/src/trimtab"

SETTINGS = f"""\
PYTHONPATH={LIBRARY}/src python - <<'PY'
from trimtab.policy import Policy

window, answer = 200_000, 8_192
for trigger in (None, 150_000, 100_000):
    print(trigger, Policy(limit_tokens=window - answer, trigger_tokens=trigger).limits())
PY"""

BAD_SETTINGS = f"""\
PYTHONPATH={LIBRARY}/src python - <<'PY'
from trimtab.policy import Policy

print(Policy(limit_tokens=100_000, trigger_tokens=150_000).limits())
PY"""

SIZES = """\
PYTHONPATH=src python - <<'PY'
import json
from datetime import UTC, datetime
from shop.api import Api
from shop.catalog import Catalog
from shop.cli import ROOT
from shop.discounts import DiscountBook
from shop.shipping import ShippingRules
from shop.store import Store

api = Api(
    Store(ROOT / "var/shop.db"),
    Catalog.from_file(ROOT / "data/catalog.json"),
    DiscountBook.from_file(ROOT / "config/discounts.json"),
    ShippingRules.from_file(ROOT / "config/shipping.json"),
)
now = datetime(2026, 3, 19, 9, tzinfo=UTC)
print("bytes  about tokens (bytes / 3)  request")
for method, url, body in (
    ("GET", "/v1/products?page=1", None),
    ("GET", "/v1/orders/10417", None),
    ("GET", "/v1/orders/search?q=m%C3%BCller", None),
    ("GET", "/v1/orders/search?q=10417", None),
    ("POST", "/v1/quotes", {"lines": [{"sku": "INK-004", "quantity": 2}]}),
):
    size = len(json.dumps(api.handle(method, url, body, now=now).body, ensure_ascii=False).encode())
    print(f"{size:>6}  {size // 3:>6}  {method} {url}")
PY"""

PAGE = """\
# Support chat: keeping the conversation inside the window

What this shop needs of trimtab, read from its source on 2026-03-19. It is still in development; names may change.

## Words

| word | meaning |
|---|---|
| limit | tokens that a request must not pass; ours is the window less the answer |
| trigger | size at which old things are removed or shortened; at most the limit |
| target | size that this goes down to; at most the trigger, 0.4 of it unless set |
| round | a user message and everything up to the next one |
| exchange | tool calls and all their results; they stay or go together |

## Settings

    Policy(limit_tokens=191_808, trigger_tokens=150_000, tool_lines={"get_order": 0})

* 200,000 tokens of window less 8,192 of answer are 191,808. The trigger at 150,000 leaves room for one large turn.
* The target is then 60,000. A compaction is rare, and after it the provider's cache fills again from a small prefix.
* `keep_first` 2 and `keep_recent` 10 as they come. `get_order` is never shortened: the chat quotes amounts from it.
* What a customer has agreed to (a refund, an address) is named by `protect`.

## Errors

| error | when | what the chat does |
|---|---|---|
| `PolicyError` | settings that contradict each other | never in production: checked at the start |
| `TokenCountError` | the counter fails | the request is not sent; a person takes over |
| `RequestError` and its children | a body that is not a request | our fault; log it |

A conversation that cannot be made small enough is *not* an error but an `Outcome` with `unmet` or `unsatisfiable`; the chat
then offers a person.

## Our own results

| call | bytes | tokens, about |
|---|---|---|
| a page of products | 4,903 | 1,600 |
| a search, full page | 16,322 | 5,400 |
| one order | 377 | 130 |

A search is the largest. The chat should ask for ten hits, not for fifty.
"""

SUPPORT_CHAT = Turn(
    """\
Great, finance is happy. Something different now.

We want a support chat on top of this API: an LLM that calls our routes as tools. Such conversations get long. The team next door writes trimtab (/home/dev/trimtab, please only read), which keeps long conversations inside the window. There is not much documentation yet, so please read the source and write docs/support-chat.md, one page at most:

- the words: limit, trigger, target, round, exchange
- which settings you suggest for a window of 200k tokens and answers of 8k
- which errors we have to handle
- how large our own tool results are; measure, don't guess

No code yet. And don't install it anywhere.""",
    (
        say(
            "I start with what there is.",
            listing(SOURCE),
            read(f"{LIBRARY}/pyproject.toml"),
            fails(read(f"{LIBRARY}/docs/settings.md"), "No such file"),
        ),
        say(
            "Settings, sizes and errors first; these three files are what we would touch.",
            read(f"{SOURCE}/policy.py"),
            read(f"{SOURCE}/budget.py"),
            read(f"{SOURCE}/errors.py"),
        ),
        say(
            "Clear so far. How a conversation looks inside, and what can happen to it:",
            read(f"{SOURCE}/messages.py"),
            read(f"{SOURCE}/plan.py"),
        ),
        say(
            "And the small values around them.",
            read(f"{SOURCE}/constraints.py"),
            read(f"{SOURCE}/events.py"),
            read(f"{SOURCE}/summary.py"),
            read(f"{SOURCE}/usage.py"),
        ),
        say(
            "Where do they say what a round and an exchange are?",
            search(r"\b[Rr]ounds?\b.*user message|[Ee]xchange", SOURCE, glob="*.py"),
            search("raise (Policy|Request|Token|Store|Malformed)", SOURCE, glob="*.py"),
            search("200_000|200000", SOURCE, glob="*.py"),
        ),
        say(
            "`boundaries.py` is where that is decided.",
            read(f"{SOURCE}/boundaries.py", limit=120),
        ),
        say(
            "No window size is built in, so it is ours to set. I try the settings instead of computing in my head; nothing is "
            "installed for that, only the path is set.",
            run(SETTINGS, shows="target_tokens=60000"),
            fails(run(BAD_SETTINGS), "PolicyError"),
        ),
        say(
            "That is a clear message: setting, value, what is allowed. Now our side. The catalogue as the chat would get it if "
            "somebody gave it the whole:",
            run("PYTHONPATH=src python -m shop catalog --json", shows='"sku": "INK-004"'),
            run(SIZES, shows=" 16322    5440  GET /v1/orders/search"),
        ),
        say(
            "The catalogue in one line is the thing to avoid; but over the API the largest answer is not the product list, as "
            "I had expected, but a full page of the order search. I check the wording of two settings before I quote them.",
            read(f"{SOURCE}/policy.py", offset=25, limit=30),
            search("protect|tool_lines", f"{SOURCE}/policy.py", shows="tool_lines"),
        ),
        say(
            "",
            write("docs/support-chat.md", PAGE),
            run("wc -l docs/support-chat.md && git status --short", shows="docs/support-chat.md"),
            interjection="While you are at it: the chat must never quote a total that came out of a shortened result. "
            "Please say that on the page too.",
        ),
        say(
            "It is half there, with `get_order` exempt; I make it a rule of its own.",
            edit(
                "docs/support-chat.md",
                "* What a customer has agreed to",
                "* **The chat never quotes a total from a shortened result.** It fetches the order again first.\n"
                "* What a customer has agreed to",
            ),
            run(
                "git add docs/support-chat.md && git commit -q -m 'A page on long support chats' && git log --oneline | head -1"
            ),
        ),
    ),
    """\
docs/support-chat.md is written and committed, 44 lines. In short:

- **Settings**: limit 191,808 (200,000 less 8,192 for the answer), trigger 150,000, which makes the target 60,000. I ran these through their `Policy`; contradicting ones are refused with a clear message.
- **Errors**: `PolicyError` at the start, `TokenCountError` and `RequestError` while running. A conversation that does not fit is no error but an `Outcome`; the chat needs an answer for that case.
- **Our results**: a full page of the order search is the largest with 16 KB, about 5,400 tokens; a page of products has 5 KB, an order less than half a KB. So the chat should search with a limit of ten, which our route does not offer yet.
- Your rule about totals stands on the page: the chat fetches the order again before it quotes one.

Only read in /home/dev/trimtab, nothing installed. Their version is 0.1.0.dev0, so I would pin it once you build on it.""",
)
