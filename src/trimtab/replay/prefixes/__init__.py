"""What of each prefix survived in a recorded session, and why the rest did not.

::

    RecordedRequest ── sent ──> Sent: digests and tokens of what was sent
    Sent, Sent ── causes ──> Found: where they part, and why
    Found ── costs ──> Break: what that cost, and whether it matters
    Recording ── examine ──> Turn, one for each request

One body is held at a time, and the one before it while the two are compared.
"""

from trimtab.replay.prefixes.examine import Turn, examine
from trimtab.replay.prefixes.findings import ADVICE, MEANING, Break, Cause, Harmless

__all__ = ["ADVICE", "MEANING", "Break", "Cause", "Harmless", "Turn", "examine"]
