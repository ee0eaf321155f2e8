"""Which statement says another value of the same thing, and so takes the place of an older one.

A statement is words and values: what it is about, and what it says of it. Two
statements with the same words and another value of the same kind are about the
same thing. Where the words differ, only a sign of change ("moved to", "from
now on", "correction") tells an update from a second, similar rule; then the
nearest of the older statements goes. When in doubt both stay: a rule too many
costs tokens, a rule too few costs trust.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.ledger.claims import Claim, claim_of, label_end
from trimtab.ledger.cues import MANNERS, TASKS, Cue

__all__ = ["Statement", "replaced", "statement_of", "tells_of_change"]

_MONTH = r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|may|mai|june?|juni|july?|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)"
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo"
    r"|tomorrow|tonight|today|next week|next month|end of (?:week|month|quarter|year)"
)
_COUNT = (
    r"(?:(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy"
    r"|eighty|ninety|hundred|thousand|million|half|dozen)(?:[ -](?:and )?)?)+"
)

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, flags))
    for kind, pattern, flags in (
        # Plain boundaries: no blank stands between an ideograph and a number.
        ("url", r"https?://[^\s<>\"'`)\]]+", re.IGNORECASE),
        ("email", r"[\w.+-]+@[\w-]+\.[\w.]+", 0),
        (
            "quote",
            r"`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|“[^”\n]{1,80}”|«[^»\n]{1,80}»|「[^」\n]{1,80}」",
            0,
        ),
        (
            "money",
            r"[$€£¥₹]\s?\d[\d,.]*\d?\s?[kKmM]?\b|\b\d[\d,.]*\s?(?:k\s)?(?:dollars?|euros?|usd|eur|gbp|jpy|cny|bucks|yuan|pounds)\b"
            r"|\d[\d,.]*\s?(?:美元|元|円|원|欧元|万)|"
            + _COUNT
            + r"\s?(?:dollars?|euros?|bucks|pounds)\b",
            re.IGNORECASE,
        ),
        (
            "date",
            rf"\b\d{{4}}-\d\d?-\d\d?\b|\b\d\d?\.\d\d?\.(?:\d{{2,4}}\b|(?=\s*\w))|\b\d\d?/\d\d?(?:/\d{{2,4}})?\b(?!\w)|\b\d\d-\d\d\b"
            rf"|\b{_MONTH}\.? \d\d?(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|\b\d\d?(?:st|nd|rd|th|\.)? {_MONTH}\b|\b(?:{_DAY})\b"
            r"|\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]?|(?:周|星期|礼拜)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일",
            re.IGNORECASE,
        ),
        ("time", r"\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]m)?\b|\b\d{1,2}\s?[ap]m\b", re.IGNORECASE),
        (
            "zone",
            r"\b(?:utc|gmt)(?:[+-]\d+)?\b|\b(?:pst|pdt|est|edt|cst|cdt|cet|cest|jst|ist|bst)\b|\b(?:pacific|eastern|central european|central"
            r"|mountain|local)(?= time)|\b(?-i:[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+)\b|\b(?-i:Pacific|Eastern)\b",
            re.IGNORECASE,
        ),
        (
            "path",
            r"(?<![\w.])(?:\.{0,2}/)?[\w.@-]+(?:/[\w.@*-]+)+/?|(?<!\w)\.{1,2}/[\w.-]*|\b[\w-]+\.(?:[a-z]{1,4}\d?)\b(?=\W|$)|(?<!\w)\*\.\w+|(?<!\w)\.[a-z]{2,}\b",
            0,
        ),
        ("version", r"\bv?\d+(?:\.\d+)+(?:-\w+)?\b", re.ASCII),
        ("percent", r"\b\d[\d.,]*\s?(?:%|percent\b|prozent\b)", re.IGNORECASE),
        ("hash", r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b", re.ASCII),
        (
            "id",
            r"(?<=[a-z] )[A-HJ-Z]\b(?!['.])|\b(?=\w*[A-Za-z])(?=[\w-]*\d)\w+(?:-\w+)*\b|\b[A-Z]{3,}(?:[-_][A-Z0-9]+)*\b|\b[a-z]+_\w+\b|\b[a-z]+[A-Z]\w+\b|#\d+",
            re.ASCII,
        ),
        ("number", r"\b\d[\d,.]*\b|\b" + _COUNT + r"\b", re.IGNORECASE | re.ASCII),
        (
            "units",
            r"\b(?:metric|imperial|celsius|fahrenheit|kelvin|kilomet(?:er|re)s?|miles?|kilograms?|pounds?|litres?|gallons?)\b",
            re.IGNORECASE,
        ),
        (
            "style",
            r"\b(?:terse|brief|briefly|concise|concisely|short|verbose|detailed|elaborate|lengthy|playful|warm|formal|informal|casual|friendly|light"
            r"|dry|professional|humorous|serious|neutral|polite|blunt|technical|simple|plain)\b",
            re.IGNORECASE,
        ),
        (
            "language",
            r"\b(?:english|german|deutsch|french|français|spanish|español|italian|portuguese|dutch|polish|russian|turkish|chinese|mandarin|japanese"
            r"|korean|arabic|hindi)\b|中文|英文|英语|日语|日本語|英語|한국어|영어|繁體|简体",
            re.IGNORECASE,
        ),
        (
            "name",
            r"(?<=[\w,;:)] )[A-Z][a-z]+(?: [A-Z][a-z]+)*\b|^[A-Z][a-z]+(?: [A-Z][a-z]+)+\b",
            0,
        ),
    )
)
_SCALARS = frozenset(
    ("money", "date", "time", "zone", "version", "percent", "number", "units", "style", "language")
)
"""Kinds of which a thing has one at a time; a second path or name may come on top."""

_KIND_WORDS = {
    "money": "money",
    "date": "date",
    "time": "clock",
    "zone": "clock",
    "url": "url",
    "percent": "percent",
}


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: meaning for meaning, words in table.items() for word in words.split()}


_MEANINGS = _by_word(
    {
        "money": "budget spend spending cost costs expense expenses price money funds",
        "limit": "cap capped ceiling limit limited maximum max threshold bound quota",
        "date": "deadline due date",
        "name": "codename name named called calling label designated refer known title",
        "clock": "time times timezone clock clocks timestamp timestamps zone",
        "answer": "answer answers reply replies response responses respond output",
        "secret": "reveal disclose share shared expose leak",
        "exceed": "exceed exceeding exceeds pass surpass",
        "url": "url endpoint link",
        "units": "units unit measurement measurements measures",
        "style": "style tone voice",
    }
)
"""Words that stand for one another."""

_HINTS = _by_word(
    {
        "~date": "deadline due date day launch ship ships shipping release released target schedule scheduled timing moves",
        "~duty": "pager oncall on-call duty escalation rotation shift rota call owner owns",
        "~key": "code codes passcode password token key pin secret",
        "~place": "region zone host server cluster location hosted runs lives",
        "~branch": "branch rebased onto checkout trunk",
    }
)
"""Words that are about the same kind of thing; they count where something tells of a change."""

_IDLE = frozenset(
    (
        "a about all also am an and any anybody are as at be been being both but by can could did do does done each"
        " either else ever every everything exactly for from get gets getting give go goes going got had has have he"
        " her here him his how i if in instead into is it its just keep kept let like make may me mine more most must my need needed needs"
        " never no nobody none not now of on one only onto or other our out own please put rather right same set she"
        " should so some still stay stays such sure than thank thanks that the their them then there these they thing"
        " this those through to too under until up us use used user users uses using very want wants was way we were"
        " what when where which while who will with within without would yes yet you your always from again back don't"
        " dont actually correction update updated changed change moved switched new old previous current currently"
        " decided decision note remember important rule constraint fact goal state preference hard safety quick done"
        " own owner owns belong belongs live lives run runs running host hosted hosts sit sits located remain remains"
        " become becomes fixed scheduled planned set lands land work working handles does let passes means said says"
        " longer ok okay well really first stick under below was i'd we're it's that's"
        " der die das den dem ein eine einen und oder ist sind für mit auf im in zu von nicht bitte jetzt immer nie nur"
        " le la les un une des du de et est sont pour avec sur dans ne pas que qui maintenant toujours jamais"
        " el los las una y es son para con en por que no se ahora siempre nunca o os as um uma e é do da com em não agora"
        " il lo gli i uno di che per con non è het een van en niet nu altijd"
        " и в на не с по что это от для теперь всегда никогда"
    ).split()
)

_SCOPES: tuple[frozenset[str], ...] = tuple(
    frozenset(words.split())
    for words in (
        "production prod staging development dev test testing qa local preview sandbox live",
        "primary secondary backup fallback main replica",
        "unit integration e2e end-to-end smoke load regression",
        "frontend backend client server mobile desktop web ios android api database db cache",
        "read write input output source target upload download request response",
        "first second third fourth last next",
        "min minimum max maximum lower upper",
        "internal external public private",
        "weekly daily monthly yearly hourly annual quarterly",
        "morning evening afternoon night lunch breakfast dinner",
        "travel conference project hotel flight food team marketing hiring trip",
        "left right top bottom header footer",
        "title body subject summary",
    )
)
"""Words of which each names another thing."""

_FOR = re.compile(
    r"\b(?:for|für|pour|para|per|voor|dla|для)\s+(?:(?:the|our|my|your|all|a|an|den|die|das|le|la|les|el|los|las|il|o|os|as|het|de)\s+)?"
    r"([^\W\d_]+)",
    re.IGNORECASE,
)
_CHANGES = frozenset((Cue.DECIDES, Cue.RETRACTS, Cue.NOW))
_CHANGE = re.compile(
    r"^(?:the )?new\b|\b(?:would rather|'d rather|'d prefer|from now on|from here on|going forward|ab jetzt|ab sofort|désormais|a partir de ahora|d'ora in poi|od teraz)\b|今后|从现在|これから|앞으로|이제부터",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:correction|scratch that|never ?mind|on second thought|change of plan|changed my mind|instead|actually|i meant|not \S+ but"
    r"|korrektur|stattdessen|doch|en fait|finalement|en realidad|mejor|na verdade|invece|поправка|aslında)\b|更正|改为|改為|改成|訂正|정정",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:more|less|fewer|longer|later|earlier|exceed\w*|over|above|under|below|beyond|past|pass|within|at most|at least|max\w*|min\w*"
    r"|cap\w*|limit\w*|up to|mehr|weniger|höchstens|mindestens|über|unter|plus|moins|más|menos|mais|più|meno|больше|меньше|более|менее)\b"
    r"|超过|超過|以上|以下|以内|이상|이하|이내",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_MOST_CHARACTERS = 600
_SAME = 0.6
_NEAR = 0.5
_ENOUGH = 2
_ALL_BUT_ONE = 2 / 3
_MOST_COMPARED = 64


@dataclass(frozen=True, slots=True)
class Statement:
    """What a clause is about, and what it says of it.

    Attributes:
        words: What it is about, as stems; words of one meaning are one.
        hints: Kinds of things that it is about.
        scope: What it says that it is for.
        values: What it says, by kind.
        claim: How much it binds.
        is_bound: Whether it says how much there may be of something.
        is_change: Whether it says that something is no longer what it was.
        is_correction: Whether it takes back what was said just before.
    """

    words: frozenset[str]
    hints: frozenset[str]
    scope: frozenset[str]
    values: frozenset[tuple[str, str]]
    claim: Claim
    is_bound: bool
    is_change: bool
    is_correction: bool

    @property
    def forbids(self) -> bool:
        """Whether it says that something must not be."""
        return Cue.FORBIDS in self.claim.cues or Cue.DENIES in self.claim.cues

    @property
    def is_task(self) -> bool:
        """Whether it asks for one piece of work and says nothing that lasts."""
        lasting = self.claim.has_label or self.claim.cues & _LASTING
        is_manner = any(kind in _MANNERS for kind, _ in self.values)
        return self.claim.is_task and not (lasting or is_manner or self.is_correction)


_MANNERS = frozenset(("style", "units", "language", "zone"))
_LASTING = frozenset((Cue.FORBIDS, Cue.LASTS, Cue.PREFERS))


def statement_of(clause: str, *, is_change: bool = False) -> Statement:
    """Take a clause apart into words and values.

    Args:
        clause: Part of a sentence, or all of it.
        is_change: Whether the rest of the sentence tells of a change.
    """
    text = clause[label_end(clause) :][:_MOST_CHARACTERS].replace("’", "'")
    claim = claim_of(clause)
    values: set[tuple[str, str]] = set()
    masked = text
    for kind, pattern in _KINDS:
        found = pattern.findall(masked)
        if found:
            values.update((kind, plain) for value in found if (plain := _plain(value, kind)))
            masked = pattern.sub(" ", masked)
    # A single capital may be a noun, as in German: then it is what the sentence is about.
    said = [word.lower().removesuffix("'s") for word in _WORD.findall(masked)]
    said += [value for kind, value in values if kind == "name" and " " not in value]
    words = {
        _stem(word)
        for word in said
        if word not in _IDLE and len(word) > 1 and not _DENSE.match(word)
    }
    words.update(_KIND_WORDS[kind] for kind, _ in values if kind in _KIND_WORDS)
    hints = {_HINTS[word] for word in said if word in _HINTS}
    scope = frozenset(
        _stem(word.lower()) for word in _FOR.findall(masked) if word.lower() not in _IDLE
    )
    hints.update(
        f"~{family}" for kind, value in values if kind == "path" and (family := _family(value))
    )
    if not masked.isascii():
        words.update(run[i : i + 2] for run in _DENSE.findall(masked) for i in range(len(run) - 1))
    is_correction = _CORRECTS.search(text) is not None
    is_change = is_change or tells_of_change(clause, claim)
    return Statement(
        frozenset(words),
        frozenset(hints),
        scope,
        frozenset(values),
        claim,
        _BOUND.search(text) is not None,
        is_change,
        is_correction,
    )


def tells_of_change(text: str, claim: Claim | None = None) -> bool:
    """Whether a sentence says that something is no longer what it was."""
    cues = (claim or claim_of(text)).cues
    plain = text.replace("’", "'")
    return (
        bool(cues & _CHANGES)
        or _CORRECTS.search(plain) is not None
        or _CHANGE.search(plain) is not None
    )


def _family(path: str) -> str:
    """The first part of a branch's name, which its successor is likely to share."""
    first, _, rest = path.partition("/")
    return f"{first}/" if rest and "/" not in rest and "." not in path and first.isalpha() else ""


def _plain(value: str, kind: str) -> str:
    plain = value.strip(' `"“”«»「」.,').lower()
    if kind != "name":
        return plain
    words = plain.split()  # a sentence begins with a capital that is no name
    return " ".join(
        words[1:] if words[0] in _IDLE or words[0] in TASKS or words[0] in MANNERS else words
    )


def _stem(word: str) -> str:
    """A word without its ending, or what it means where several words mean the same."""
    meaning = _MEANINGS.get(word)
    if meaning:
        return meaning
    for ending in (
        "ations",
        "ation",
        "ings",
        "ing",
        "ions",
        "ion",
        "ers",
        "er",
        "als",
        "al",
        "ed",
        "es",
        "s",
        "e",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return _MEANINGS.get(word[: -len(ending)], word[: -len(ending)])
    return word


def replaced(statements: Sequence[Statement], times: Sequence[int]) -> set[int]:
    """Find statements whose place a newer one takes.

    Args:
        statements: In the order in which they were made.
        times: Which message each is from, ascending; statements of one
            message never replace one another.

    Returns:
        Places of those that no longer hold.
    """
    gone: set[int] = set()
    about: dict[str, list[int]] = {}  # word: places of older statements about it, newest last
    for place, newer in enumerate(statements):
        near = Counter(
            other
            for word in newer.words | newer.hints
            for other in about.get(word, ())[-_MOST_COMPARED:]
            if times[other] < times[place] and other not in gone
        )
        gone.update(_taken_by(newer, statements, sorted(near)))
        if newer.is_correction:
            gone.update(_taken_back(place, statements, times))
        for word in newer.words | newer.hints:
            about.setdefault(word, []).append(place)
    return gone


def _taken_by(newer: Statement, statements: Sequence[Statement], near: Sequence[int]) -> list[int]:
    if newer.claim.is_asked:
        return []
    sure = [
        place
        for place in near
        if _says_again(newer, statements[place])
        or _differs(newer, statements[place])
        or _allows(newer, statements[place])
    ]
    if sure or not newer.is_change or newer.is_task:
        return sure
    scores = {
        place: _likeness(newer, statements[place])
        for place in near
        if _may_change(newer, statements[place])
    }
    best = max(scores.values(), default=0.0)
    return [place for place, score in scores.items() if score == best and best > 0]


def _says_again(newer: Statement, older: Statement) -> bool:
    """Whether a statement holds all that an older one says."""
    return (
        bool(older.words)
        and older.words <= newer.words
        and older.values <= newer.values
        and newer.forbids == older.forbids
        and newer.claim.weight >= older.claim.weight
    )


def _allows(newer: Statement, older: Statement) -> bool:
    """Whether a statement permits what an older one forbids."""
    if Cue.PERMITS not in newer.claim.cues or Cue.FORBIDS in newer.claim.cues:
        return False
    same = len(newer.words & older.words)
    is_same = same >= max(1, len(older.words) * _ALL_BUT_ONE) and older.values <= newer.values
    return is_same and Cue.FORBIDS in older.claim.cues


def _differs(newer: Statement, older: Statement) -> bool:
    """Whether a statement says another value of just the same thing."""
    kinds = _changed_kinds(newer, older)
    if not kinds or newer.is_task or _scopes_differ(newer, older):
        return False
    if older.is_task and not newer.is_change:
        return False
    same = newer.words & older.words
    if not same or (newer.words - same and older.words - same):
        return False
    if newer.is_change:
        return True
    is_forbidden = Cue.FORBIDS in newer.claim.cues and Cue.FORBIDS in older.claim.cues
    if is_forbidden and not (kinds & _SCALARS and newer.is_bound and older.is_bound):
        return False
    if _is_about_another(newer, older, kinds):
        return False
    return len(same) / len(newer.words | older.words) >= _SAME


def _is_about_another(newer: Statement, older: Statement, kinds: set[str]) -> bool:
    """Whether one of several values that differ is likely what the statement is about."""
    if kinds & _SCALARS and kinds - _SCALARS:
        return True
    only_newer, only_older = newer.values - older.values, older.values - newer.values
    return any(
        min(_number_of(kind, only_newer), _number_of(kind, only_older)) > 1 for kind in kinds
    )


def _number_of(kind: str, values: frozenset[tuple[str, str]]) -> int:
    return sum(1 for other, _ in values if other == kind)


def _may_change(newer: Statement, older: Statement) -> bool:
    """Whether a statement that tells of a change may be about an older one."""
    if not _changed_kinds(newer, older) or _scopes_differ(newer, older):
        return False
    return not older.is_task and _likeness(newer, older) > 0


def _likeness(newer: Statement, older: Statement) -> float:
    """How near two statements are, 0 to 1; 0 where they share too little."""
    here, there = newer.words | newer.hints, older.words | older.hints
    same = len(here & there)
    if {"date", "~date"} <= here & there:
        same -= 1  # one word that counts twice
    if same < _ENOUGH and same < min(len(here), len(there)) * _NEAR:
        return 0.0
    return same / max(1, len(here | there))


def _changed_kinds(newer: Statement, older: Statement) -> set[str]:
    """Kinds of which each has a value that the other lacks."""
    only_newer = {kind for kind, _ in newer.values - older.values}
    only_older = {kind for kind, _ in older.values - newer.values}
    return only_newer & only_older


def _scopes_differ(newer: Statement, older: Statement) -> bool:
    """Whether two statements name two different things that they are about."""
    if newer.scope and older.scope and not newer.scope & older.scope:
        return True
    for scope in _STEMMED_SCOPES:
        here, there = newer.words & scope, older.words & scope
        if here and there and not here & there:
            return True
    return False


_STEMMED_SCOPES = tuple(
    frozenset(map(_stem, scope)) - frozenset(_MEANINGS.values()) for scope in _SCOPES
)


def _taken_back(place: int, statements: Sequence[Statement], times: Sequence[int]) -> list[int]:
    """What a correction that names nothing else takes back: the last thing said before, if it is like it."""
    newer = statements[place]
    before = [other for other in range(max(0, place - 8), place) if times[other] < times[place]]
    newest = times[before[-1]] if before else -1
    is_taken_back = Cue.RETRACTS in newer.claim.cues
    return [
        other
        for other in before
        if times[other] == newest
        and (
            (not newer.words - statements[other].words and _changed_kinds(newer, statements[other]))
            or (
                is_taken_back
                and statements[other].claim.verb
                and not newer.words & statements[other].words
            )
        )
    ]
