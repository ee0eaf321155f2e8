"""What the words of a tool result tell: failures, refusals, and results that hold no content.

Formats without a flag leave nothing but the words to tell a failure by, and
no format tells a refusal from a failure. So each function here knows the
wordings of many agents and, where it cannot be sure, says what keeps more.

The law of this file: a pure function of the text, quick on any text. Plain
cues are looked for first; a pattern is tried only where one of its cues stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = [
    "is_partial",
    "is_refusal",
    "is_stub",
    "lines_of_failure",
    "looks_failed",
    "may_be_refusal",
    "tells_of_failure",
]

_EDGE_CHARACTERS = 400
"""How far into a text, from either end, agents put words of their own."""

_STUB_CHARACTERS = 500
"""A longer result holds content, whatever else it says."""

_LINE_CHARACTERS = 2_000
"""How far into a line words of a program are looked for."""


def _has(text: str, cues: Iterable[str]) -> bool:
    """Whether a long text holds one of some words."""
    return any(cue in text for cue in cues)


def _edges(text: str) -> tuple[str, str]:
    return text[:_EDGE_CHARACTERS], text[-_EDGE_CHARACTERS:]


# ------------------------------------------------------------------ refusals

_REFUSED = re.compile(
    r"""
      user\ (?:doesn['\u2019]t|does\ not|didn['\u2019]t|did\ not)\ (?:want|allow|approve|permit|grant)
    | user\ (?:has\ |have\ )?(?:explicitly\ )?(?:reject|den(?:y|ied)|declin|refus|cancel|disapprov
        |interrupt|abort|dismiss|block|skipp|stopp)
    | user\ has\ specified\ a\ rule
    | (?:reject|deni|declin|refus|cancel|interrupt|abort|block|skipp|stopp)\w*\ by\ (?:the\ |an?\ )?
        (?:user|human|operator|admin|hook|polic|rule|permission|guard|reviewer|\w+\ (?:hook|polic))
    | permission\ to\ use\ .{0,300}?\ (?:has\ been|was|is)\ denied
    | (?:haven't|have\ not|hasn't|has\ not)\ (?:been\ )?granted
    | requires\ (?:your\ |user\ |explicit\ |the\ user's\ )?(?:approval|permission|confirmation|consent)
    | requested\ permissions?\ to | rejected\ permission | permission\ (?:request\ )?(?:was\ )?rejected
    | rejected\ due\ to\ unacceptable\ risk
    | operation\ cancelled | request\ interrupted
    | hook\ (?:error|denied|blocked|stopped|prevented|feedback)
    | (?:polic(?:y|ies)|hook|sandbox|guard\w*)\ (?:has\ |have\ )?
        (?:den(?:y|ied)|block|reject|forbid|prohibit)
    | not\ (?:allowed|permitted|authori[sz]ed)\ (?:by|to|in|under|for)
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""Wordings in which known agents tell the model that somebody said no."""

_REFUSED_CUES = (
    "user",
    " by ",
    "permission",
    "granted",
    "requires",
    "rejected",
    "cancelled",
    "interrupted",
    "hook",
    "polic",
    "sandbox",
    "guard",
    "not allowed",
    "not permitted",
    "not authori",
)

_MAYBE_CUES = (
    *(
        "reject",
        "denied",
        "deny",
        "denies",
        "denial",
        "refus",
        "declin",
        "allow",
        "forbid",
        "forbad",
    ),
    *(
        "prohibit",
        "permission",
        "permitted",
        "approv",
        "consent",
        "authoris",
        "authoriz",
        "confirm",
    ),
    *("policy", "policies", "block", "interrupt", "cancel", "abort", "dismiss", "skipp", "guard"),
    *("violat", "do not ", "don't", "don\u2019t", "must not", "should not", "instead", "not safe"),
    *("unsafe", "dangerous", "read-only", "readonly", "plan mode", "sandbox"),
    # German, Spanish, French, Italian, Portuguese, Polish
    *("abgelehnt", "verweigert", "untersagt", "rechaz", "denegad", "negad", "interdit", "rifiutat"),
    *("recusad", "odrzucon"),
    # Russian, Chinese, Japanese, Korean
    *("\u043e\u0442\u043a\u0430\u0437", "\u043e\u0442\u043a\u043b\u043e\u043d"),
    *("\u0437\u0430\u043f\u0440\u0435\u0449", "\u62d2\u7edd", "\u62d2\u7d55", "\u62d2\u5426"),
    *("\u7981\u6b62", "\u4e0d\u5141\u8bb8", "\u4e0d\u5141\u8a31", "\u53d6\u6d88", "\u8a31\u53ef"),
    *("\uac70\ubd80", "\ucde8\uc18c", "\uae08\uc9c0"),
)
"""Words one of which a refusal in other wordings is likely to hold. Many failures hold one too."""

_PERSON = re.compile(r"(?<![/\\\w.-])(?:user|human|\w{0,40}hooks?)(?![/\\\w.-])", re.IGNORECASE)
"""Who may refuse, where the word is not part of a path."""

_NO_CUES = (
    *("reject", "denied", "deny ", "declin", "refused", "disallow", "forbid", "prohibit"),
    *("not allowed", "not permitted", "permission", "not approved", "blocked", "cancel"),
    *("interrupted", "aborted"),
)
"""Words that a short result of a tool that did its work seldom holds."""


def is_refusal(text: str) -> bool:
    """Whether a result says, in a wording that is known, that a human or a rule refused the call."""
    start, _ = _edges(text)
    return _has(start.lower(), _REFUSED_CUES) and _REFUSED.search(start) is not None


def may_be_refusal(text: str) -> bool:
    """Whether a result could be a refusal; True for many that are none."""
    lowered = text.lower()
    if is_refusal(text) or _has(lowered, _MAYBE_CUES):
        return True
    return _has(lowered, ("user", "human", "hook")) and _PERSON.search(text) is not None


# ------------------------------------------------------------------ failures

_FAILED_START = re.compile(
    r"""\s*[\[({"'<*\u274c\u2717]*\s*(?:
      tool_use_error | error\b | (?:[a-z]{1,40}\ )?(?:error|exception)\s*:
    | (?-i:[A-Z]\w{0,80}(?:Error|Exception)\b)
    | traceback\ \(most\ recent | fatal\b | failed\b | failure\b | (?:[\w./-]{1,80}\ ){1,4}failed\b
    | (?:un|in)able\ to\b | could\ ?n[o']t\b | command\ not\ found | no\ such\ file
    | exit(?:ed)?\ (?:with\ )?(?:code|status):?\ *-?[1-9]
    )""",
    re.IGNORECASE | re.VERBOSE,
)
"""How a result begins whose tool failed."""

_EXIT_CODE = re.compile(
    r"""
      exit(?:ed)?[\ _](?:with\ )?(?:exit\ )?(?:code|status)[">]?\s*[:=]?\s*-?[1-9]
    | <(?:returncode|exit_code)>\s*-?[1-9] | "(?:returncode|exit_?code)":\s*-?[1-9]
    | "(?:success|ok)":\s*false | "(?:is_?error)":\s*true
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What a result says at one of its ends when the tool failed."""

_EXIT_CUES = ("exit", "returncode", '"success"', '"ok"', 'error"')

_FAILURE_LINE = re.compile(
    r"""
      (?:^|[^\w.])(?:fatal|error|fail(?:ed|ure)?|panic(?:ked)?|exception|critical)\s*(?:\[[^\]]*\])?\s*:
    | (?-i:\b[A-Z]\w{0,80}(?:Error|Exception)\b)\s*: | \berror\ ?(?:TS|E|C|CS)?\d{2,}\b
    | ^\s*(?:E\ {2,}\S | FAIL(?:ED)?\b | not\ ok\b | Traceback\ \(most\ recent
        | [\u2717\u2718\u2716\u274c\xd7]\s*\S)
    | \b[1-9]\d{0,9}\ (?:failed|failures?|failing|errors?)\b | \bpanicked\ at\b
    | \bexit(?:ed)?\ (?:with\ )?(?:code|status):?\ *-?[1-9] | <returncode>-?[1-9]
    | assert(?:ion)?\ failed | segmentation\ fault | core\ dumped | out\ of\ memory | timed\ out
    | command\ not\ found | no\ such\ file\ or\ directory | permission\ denied | undefined\ reference
    | tool_use_error
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What a line looks like in which a program says that something went wrong."""

_LINE_CUES = (
    *(
        "error",
        "fail",
        "fatal",
        "panic",
        "exception",
        "critical",
        "traceback",
        "exit",
        "returncode",
    ),
    *("segmentation fault", "core dumped", "out of memory", "timed out", "not ok", "e  "),
    *("command not found", "no such file", "permission denied", "undefined reference"),
    *("\u2717", "\u2718", "\u2716", "\u274c", "\xd7"),
)

_LOOSE_CUES = (
    *("not found", "doesn't exist", "does not exist", "no such", "unable to", "couldn't"),
    *("could not", "no match", "unexpected", "error", "failed", "invalid", "unknown"),
    "already exists",
)
"""Words of tools that failed, which stand in no particular form."""


def looks_failed(text: str) -> bool:
    """Whether the words of a result without a flag say that the tool failed, or was not let run."""
    if _FAILED_START.match(text) or is_refusal(text):
        return True
    if any(_has(edge.lower(), _EXIT_CUES) and _EXIT_CODE.search(edge) for edge in _edges(text)):
        return True
    return len(text) <= _STUB_CHARACTERS and _has(text.lower(), _NO_CUES)


def tells_of_failure(text: str, *, is_loose: bool = False) -> bool:
    """Whether a program says on a line of a text that something went wrong.

    Args:
        text: A line, or a whole result.
        is_loose: Whether words in no particular form count too.
    """
    if is_loose and (_has(text.lower(), _LOOSE_CUES) or _FAILED_START.match(text)):
        return True
    return next(lines_of_failure(text), None) is not None


def lines_of_failure(text: str) -> Iterator[str]:
    """The lines of a text on which a program says that something went wrong, in order."""
    for start in _lines_with(text, _LINE_CUES):
        line = text[start : _line_end(text, start)]
        if _FAILURE_LINE.search(line, 0, _LINE_CHARACTERS):
            yield line


def _lines_with(text: str, cues: Iterable[str]) -> list[int]:
    """Where the lines begin that hold one of some words; each word is looked for through all."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter that is two in lower case: places would be off
        lowered = text
    starts: set[int] = set()
    for cue in cues:
        place = lowered.find(cue)
        while place >= 0:
            starts.add(text.rfind("\n", 0, place) + 1)
            place = lowered.find(cue, _line_end(text, place))
    return sorted(starts)


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


# ------------------------------------------------------------------ results that hold no content

_STUB_CUES = (
    *("unchanged", "still current", "earlier", "previous", "already read", "already shown"),
    *("already been", "same as", "no change", "not modified", "been modified", "not changed"),
    *("cleared", "omitted", "removed", "compacted", "truncat", "trimmed", "saved to", "written to"),
    *("too large", "running with", "running in", "still running", "background", "session id"),
    *("session_id", "launched", "\u672a\u66f4\u6539", "\u672a\u53d8"),
)
"""What stands in a short result that points elsewhere, or has nothing to show yet."""

_STUB_STARTS = (
    "<persisted-output>",
    "old environment output",
    "[old tool result",
    "command running in background",
)
"""How such a result begins where it may be long."""

_PARTIAL_CUES = (
    *("more lines", "more content", "more bytes", "more characters", "more text", "truncat"),
    *("offset", "showing", "omitted", "lines total", "total lines", "lines not shown"),
    *("lines remaining", "lines hidden", "lines left", "too large", "too long", "too many"),
    *("exceed", "start_line", "view_range", "continue reading", "only the first", "clipped"),
)
"""What a read says at one of its ends that does not show all of a file."""


def is_stub(text: str) -> bool:
    """Whether a result points elsewhere, or is not all there yet.

    Such are "unchanged since the last read", "output saved to", "running in
    the background".
    """
    start = text[:_EDGE_CHARACTERS].lower()
    if start.lstrip().startswith(_STUB_STARTS) or _is_running(start):
        return True
    return len(text) <= _STUB_CHARACTERS and _has(text.lower(), _STUB_CUES)


def _is_running(start: str) -> bool:
    """Whether a shell says that its command goes on in a session that can be asked for more."""
    is_chunk = _has(start, ("chunk id", "chunk_id")) and _has(start, ("session id", "session_id"))
    return is_chunk or _has(start, ("running with session id", "running with cell id"))


def is_partial(text: str) -> bool:
    """Whether a read without a range may have shown a part of its file only."""
    return any(_has(edge.lower(), _PARTIAL_CUES) for edge in _edges(text))
