"""What a model costs, how much it takes, what its cache reads, and whether a cut pays."""

from trimtab.economy.account import NOTHING, Bill, Payback, payback, priced
from trimtab.economy.break_even import (
    MOST_LOSS_SHARE,
    Cut,
    Rates,
    Verdict,
    best_step_tokens,
    least_ratio,
    rates_of,
    spent_so_far,
    turns_to_come,
    weigh,
    weigh_cut,
)
from trimtab.economy.cache import (
    LONG_LIFE_SECONDS,
    LOOK_BACK_BLOCKS,
    SHORT_LIFE_SECONDS,
    Block,
    CacheRules,
    Prompt,
    ProviderCache,
    Split,
    life_seconds,
    rules_of,
)
from trimtab.economy.prices import Prices, prices_of
from trimtab.economy.windows import Window, knows_models, window_of

__all__ = [
    "LONG_LIFE_SECONDS",
    "LOOK_BACK_BLOCKS",
    "MOST_LOSS_SHARE",
    "NOTHING",
    "SHORT_LIFE_SECONDS",
    "Bill",
    "Block",
    "CacheRules",
    "Cut",
    "Payback",
    "Prices",
    "Prompt",
    "ProviderCache",
    "Rates",
    "Split",
    "Verdict",
    "Window",
    "best_step_tokens",
    "knows_models",
    "least_ratio",
    "life_seconds",
    "payback",
    "priced",
    "prices_of",
    "rates_of",
    "rules_of",
    "spent_so_far",
    "turns_to_come",
    "weigh",
    "weigh_cut",
    "window_of",
]
