"""What a model costs and how much it takes."""

from trimtab.economy.windows import Window, window_of

__all__ = ["Window", "window_of"]
