"""What was emitted for each message of a known prefix, so that it is emitted again.

::

    PrefixMemo    replay before a request goes out, record after it was forwarded
    bodies        a request taken apart: bytes, text or dict
    additions     what a compressor adds to system and tools, and where it stays

Provider caches pay only for prefixes that are the same byte for byte, while
whatever shrinks a message may look at the whole conversation.
"""

from trimtab.memo.memo import PrefixMemo

__all__ = ["PrefixMemo"]
