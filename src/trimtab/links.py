"""Hashes over what came before: two rows of texts share links exactly as far as they are the same.

The law of this file: pure functions of bytes, equal in every process.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

__all__ = ["DIGEST_BYTES", "LINK_BYTES", "digest", "link", "links", "root"]

LINK_BYTES = 16
"""Bytes of a link: SHA-256 cut to 128 bits, in which nobody can make two histories collide."""

_SMALL_BYTES = 4096
"""Forms up to here are copied, which is quicker than telling the hash of them apart."""

DIGEST_BYTES = 8
"""Bytes of what tells two messages of one conversation apart."""


def root(tenant: str, format: str) -> bytes:  # noqa: A002 - the word for it
    """The link before the first message.

    Args:
        tenant: Whose conversation it is; two tenants never share a link.
        format: Name of the wire format.
    """
    return link(link(b"trimtab/1", tenant.encode("utf-8", "surrogatepass")), format.encode())


def links(start: bytes, forms: Iterable[bytes | memoryview]) -> tuple[bytes, ...]:
    """The links of some messages, in order; shape ``(messages,)``.

    Args:
        start: The link before the first of them.
        forms: Their canonical forms.
    """
    found = []
    for form in forms:
        start = link(start, form)
        found.append(start)
    return tuple(found)


def link(before: bytes, form: bytes | memoryview) -> bytes:
    """The link behind one form: over the link before it, its length and itself.

    Args:
        before: The link before it.
        form: What is hashed; its length is part of it, so that no two rows of forms
            that read the same when put together share a link.
    """
    length = len(form).to_bytes(8, "big")
    if len(form) < _SMALL_BYTES:
        return sha256(b"".join((before, length, form))).digest()[:LINK_BYTES]
    hashed = sha256(before + length)
    hashed.update(form)
    return hashed.digest()[:LINK_BYTES]


def digest(form: bytes) -> bytes:
    """What tells a message from the others of its conversation; :data:`DIGEST_BYTES` long."""
    return sha256(form).digest()[:DIGEST_BYTES]
