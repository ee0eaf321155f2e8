"""What a model costs and how much it takes."""

from trimtab.economy.prices import Prices, prices_of
from trimtab.economy.windows import Window, window_of

__all__ = ["Prices", "Window", "prices_of", "window_of"]
