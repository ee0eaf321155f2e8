"""Where states are kept between two turns.

To add a store, write a file with a class that has the methods of
:class:`Store`; the engine asks for nothing else.
"""

from trimtab.stores.in_memory import InMemoryStore, in_memory
from trimtab.stores.store import Store

__all__ = ["InMemoryStore", "Store", "in_memory"]
