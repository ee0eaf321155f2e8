"""Where what is known of conversations is kept between two turns.

::

    in_memory         of this process: gone with it
    sqlite            in a file: several processes of one machine
    redis             on a server: several machines (Redis, Valkey)

To add a store, write a file with a class that has the methods of
:class:`Store`; the engine asks for nothing else. ``lines.py`` says what is kept
in it, ``keys.py`` under which keys, ``archive.py`` keeps what compactions
removed, ``lease.py`` lets one of several processes do something.
"""

from trimtab.stores.in_memory import InMemoryStore, in_memory
from trimtab.stores.lease import lease, release
from trimtab.stores.redis import redis
from trimtab.stores.sqlite import default_path, sqlite
from trimtab.stores.store import Entry, Managed, Store, Telling

__all__ = [
    "Entry",
    "InMemoryStore",
    "Managed",
    "Store",
    "Telling",
    "default_path",
    "in_memory",
    "lease",
    "redis",
    "release",
    "sqlite",
]
