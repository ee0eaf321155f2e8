"""Under which keys things stand in a store, and what belongs together.

::

    c <conversation> k <link>     where the state is of which this was the last message
    c <conversation> s <line>     a state: the last of its line
    c <conversation> f <name>     what a plan puts in place of something
    c <conversation> b            which summaries there are
    c <conversation> t <link>     a summary of all up to a message
    i <conversation>              whose conversation it is, in which format, of which model
    w <weak key>                  where the state is whose old messages the client has changed
    a <id> <owner>                what a compaction removed
    l <name>                      who makes something that is to be made once

Everything is a hash, salted with tenant and format: two tenants share no key.
"""

from __future__ import annotations

from hashlib import sha256

from trimtab.links import root
from trimtab.turn import Turn
from trimtab.wire.formats import FORMATS

__all__ = [
    "ABOUT",
    "ARCHIVED",
    "CONVERSATION",
    "CONVERSATION_BYTES",
    "ID_BYTES",
    "LEASE",
    "OWNER_BYTES",
    "TOGETHER_BYTES",
    "WEAK",
    "about_key",
    "archived_key",
    "briefs_key",
    "conversation_of",
    "form_key",
    "lease_key",
    "line_key",
    "link_key",
    "owner_of",
    "owners_of",
    "summary_key",
    "weak_key",
]

CONVERSATION = b"c"
ABOUT = b"i"
WEAK = b"w"
ARCHIVED = b"a"
LEASE = b"l"

CONVERSATION_BYTES = 8
LINE_BYTES = 8
ID_BYTES = 8
OWNER_BYTES = 8

TOGETHER_BYTES = 1 + CONVERSATION_BYTES
"""Keys that begin with the same so many bytes belong together: a store that is spread over
several machines keeps them on one."""

_FIRST_ANSWER_WITHIN = 64
"""Messages among which the first answer is looked for; so many never come before it."""


def conversation_of(turn: Turn) -> bytes:
    """What names a conversation: all that was said before the first answer, tenant and format.

    Two sessions that begin with the same words are one conversation until then; what
    is known of them still hangs on each one's own messages.

    Args:
        turn: Any request of the conversation.
    """
    before = 0
    for place in range(min(len(turn.links), _FIRST_ANSWER_WITHIN)):
        if turn.request.message(place).role == "assistant":
            break
        before = place
    return (turn.links[before] if turn.links else turn.root)[:CONVERSATION_BYTES]


def link_key(conversation: bytes, link: bytes) -> bytes:
    """Where it stands which state a request that ends with a message has."""
    return CONVERSATION + conversation + b"k" + link


def line_key(conversation: bytes, line: bytes) -> bytes:
    """Where the last state of a line stands."""
    return CONVERSATION + conversation + b"s" + line


def form_key(conversation: bytes, name: str) -> bytes:
    """Where it stands what a plan puts in place of something.

    Args:
        conversation: Which conversation.
        name: The name of the form, in hexadecimal digits.
    """
    return CONVERSATION + conversation + b"f" + bytes.fromhex(name)


def briefs_key(conversation: bytes) -> bytes:
    """Where it stands which summaries a conversation has."""
    return CONVERSATION + conversation + b"b"


def summary_key(conversation: bytes, link: bytes) -> bytes:
    """Where a summary stands of all messages up to the one with a link."""
    return CONVERSATION + conversation + b"t" + link


def weak_key(key: bytes) -> bytes:
    """Where it stands which state has a weak key."""
    return WEAK + key


def about_key(conversation: bytes) -> bytes:
    """Where it stands whose conversation it is."""
    return ABOUT + conversation


def archived_key(item: bytes, owner: bytes) -> bytes:
    """Where something stands that a compaction removed.

    Args:
        item: Its id; shape ``(ID_BYTES,)``.
        owner: Whose it is.
    """
    return ARCHIVED + item + owner


def lease_key(name: bytes) -> bytes:
    """Where it stands who makes something that is to be made once."""
    return LEASE + sha256(name).digest()[:16]


def owner_of(turn: Turn) -> bytes:
    """Whose a request is: tenant and format, hashed."""
    return turn.root[:OWNER_BYTES]


def owners_of(tenant: str) -> dict[bytes, str]:
    """All that :func:`owner_of` may say of a tenant, with the format that each stands for."""
    return {root(tenant, each.name)[:OWNER_BYTES]: each.name for each in FORMATS}
