"""How large the next request will be, from what the last ones were billed.

::

    message_bytes        how large a list of messages is, media aside
    surface_fingerprint  what a measurement was made under: model, system prompt, tools
    ContextTracker       measurements in, sizes out: predict, upper, over, forecast
    Forecast             one line of facts about the room that is left

Arithmetic on measurements: no model is asked, nothing is guessed before the
first answer came back, and all numbers are whole.
"""

from trimtab.tracker.forecast import Forecast
from trimtab.tracker.sizes import message_bytes
from trimtab.tracker.surface import surface_fingerprint
from trimtab.tracker.tracker import ContextTracker

__all__ = ["ContextTracker", "Forecast", "message_bytes", "surface_fingerprint"]
