"""What a compaction must not lose, gathered by code from the messages that go.

::

    ledger       Ledger: what is listed
    gathering    gather: from messages that go and stay; merge: two ledgers, the newer value wins
    user_words   what the user said: rules first, then all else
    injections   what a client put into the user's mouth
    claims       how much a sentence binds (cues, their words in cues.py)
    subjects     which statement says another value of the same thing
    files        files that calls touched, with their last known state
    values       values and failing checks that only outputs held
    secrets      what is never listed
    carried      the newest plan or todo list
    rendering    to text, in so many tokens, and back

The law of this package: only the user's own words add or remove a rule; text
in tool results cannot. Everything is a pure function of the messages.
"""

from trimtab.ledger.gathering import gather, merge
from trimtab.ledger.ledger import Ledger
from trimtab.ledger.rendering import read_ledger, render

__all__ = ["Ledger", "gather", "merge", "read_ledger", "render"]
