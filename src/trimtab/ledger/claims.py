"""How much a sentence binds: cues, labels, shape, and whether it holds something exact.

A claim orders what was said. It is a pure function of the text, so that what
was listed once is ordered the same when it is read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.ledger.cues import MANNERS, PARTS, PHRASES, SMALL_TALK, STARTS, TASKS, Cue

__all__ = ["BINDING", "Claim", "claim_of", "is_material", "label_end"]

BINDING = 3
"""From this claim on a sentence is a rule."""

_WEIGHTS = {
    Cue.FORBIDS: 3,
    Cue.LASTS: 3,
    Cue.BINDS: 2,
    Cue.PREFERS: 2,
    Cue.DECIDES: 2,
    Cue.RETRACTS: 2,
    Cue.PERMITS: 2,
    Cue.ANSWERS: 2,
    Cue.DENIES: 1,
    Cue.NOW: 0,
}

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*", re.UNICODE)
_MARKED = re.compile(r"[\u0600-\u06ff\u0900-\u0dff\u0e00-\u0e7f]")
"""Scripts with signs that are no letters: words are what stands between blanks."""

_MANY_WORDS = 120  # a sentence that is longer shows what it is by its first words
_LONGEST_PHRASE = max(map(len, PHRASES))
_WHO_DOES_NOT = frozenset(
    ("i", "we", "you", "they", "it", "he", "she", "that", "this", "who", "which", "why")
)
_FORBIDDING_STARTS = frozenset(("don't", "dont", "do", "may", "should", "must"))

_LABEL = re.compile(
    r"\s*(?:[-*#>•]+\s*)?(?:\*\*)?"
    r"((?-i:[A-Z][A-Z]+(?:[ _/-][A-Z]+){0,3})"
    r"|(?:(?:hard|soft|safety|user|house|project|ground|new|my|our|the|one|key|style|global|general)\s+)?"
    r"(?:rules?|constraints?|facts?|goals?(?: state)?|preferences?|important|requirements?|decisions?|corrections?"
    r"|deadline|budget|note|reminder|policy|convention|instructions?|guidelines?|objective|limits?|update|n\.?b"
    r"|regel|wichtig|ziel|korrektur|hinweis|entscheidung|règle|objectif|décision|regla|importante|objetivo|corrección"
    r"|regra|correção|regola|obiettivo|zasada|ważne|cel|правило|важно|цель|поправка|kural|önemli|hedef|قاعدة|مهم|नियम"
    r"|规则|規則|重要|目标|目標|注意|要求|更正|ルール|目的|訂正|규칙|중요|목표|정정))"
    r"(?:\s*#?\d+)?(?:\*\*)?\s*[:：](?!//)(?:\*\*)?\s*",
    re.IGNORECASE,
)
_LOG_LABELS = frozenset(
    (
        "ERROR",
        "WARNING",
        "WARN",
        "INFO",
        "DEBUG",
        "TRACE",
        "FATAL",
        "HTTP",
        "HTTPS",
        "URL",
        "USER",
        "ASSISTANT",
    )
)
_CONDITION = re.compile(
    r"(?:when(?:ever)?|before|after|if|once|unless|until|while|as soon as|each time|wenn|bevor|nachdem|sobald|falls"
    r"|quand|avant|après|lorsque|cuando|antes|después|si|quando|prima|dopo|als|voordat|nadat|zodra|gdy|kiedy|zanim"
    r"|jeśli|когда|прежде|перед|после|если|عندما|قبل|إذا|जब|अगर)\b(\s+(?:you|du|ihr|tu|vous|je)\b)?"
)
_CONDITION_PART = re.compile(
    r"的时候|的時候|之前先|前に|したら|するとき|する際|할 때|하기 전|때는|면\s|ken\b|ınca|ince\b|dığında|diğinde|madan önce|meden önce"
)
_ASKED = ("?", "？", "؟")
_EXACT = re.compile(
    r"https?://|[$€£¥₹]\s?\d|\d+|`[^`\n]+`|\"[^\"\n]{2,60}\"|“[^”\n]{2,60}”|「[^」\n]+」|\b\w+[_/]\w+|\b[A-Z]{3,}\b|\./\w"
)
_STATES = re.compile(
    r"\b(?:is|are|was|will be|uses?|belongs?|lives?|runs?|owns?|means?|called|named|ist|sind|heißt|est|sont|es|son"
    r"|está|é|são|è|sono|jest|są|это|là)\b|=|是|叫|です|は|입니다|이다|ہے|है|هو|هي",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\s*(?:[-*•>]\s*|\d{1,2}[.)]\s*)?(?:(?:please|pls|ok(?:ay)?|so|and|also|then|now|but|well|great|thanks|hi|hello|hey|alright"
    r"|bitte|und|auch|por favor|s'il (?:te|vous) plaît|per favore|proszę|пожалуйста|lütfen)[,.!]?\s+)*",
    re.IGNORECASE,
)
_MATERIAL = re.compile(
    r"^\s*(?:[{}\[\]()<>|+@;]|//|/\*|\$ |>>> |at \S+\(|File \"|def |class |import |from \S+ import|return\b|const |let |var |func "
    r"|public |private |#include|\d+[:|→]|\d{4}-\d\d-\d\d[T ]\d\d|</?[a-zA-Z]|[\w.]+\s*[({=]\s*$)"
    r"|[;{}]\s*$|^\s{8,}\S|^(?:[-=~#*_]{3,})\s*$"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """How much a text binds, and by which signs.

    Attributes:
        weight: Higher claims come first; from :data:`BINDING` on it is a rule.
        cues: What its words say.
        has_label: Whether it begins with a label such as ``RULE:``.
        verb: The verb that it begins with, where it is an order.
        is_task: Whether it begins with a verb that asks for a piece of work.
        is_asked: Whether it is a question.
        is_small_talk: Whether nothing in it is needed later.
    """

    weight: int
    cues: frozenset[Cue] = frozenset()
    has_label: bool = False
    verb: str = ""
    is_task: bool = False
    is_asked: bool = False
    is_small_talk: bool = False


def claim_of(text: str) -> Claim:
    """Say how much a text binds.

    Args:
        text: A sentence, or a short message.
    """
    plain = _FENCED.sub(" ", text[:_MOST_CHARACTERS]).replace("’", "'")
    words = list(_first_words(plain))
    if _is_small_talk(plain, words):
        return Claim(-1, is_small_talk=True)
    cues = frozenset(_cues(plain, words))
    labelled = label_end(plain) > 0
    body = _without_lead(plain)
    first = _WORD.match(body)
    verb = first.group().lower() if first is not None else ""
    is_task = verb in TASKS
    is_order = is_task or verb in MANNERS
    is_asked = plain.rstrip().endswith(_ASKED)
    stands = _stands(plain, cues)
    said = sum(_WEIGHTS[cue] for cue in cues) + _conditional(body)
    weight = said + _STANDS if stands else min(said, _TOLD)
    weight += 4 * labelled + is_order + min(2, len(_EXACT.findall(plain)))
    weight += 1 if _STATES.search(plain) else 0
    if is_asked:
        weight -= 4
    if plain.rstrip().endswith((":", "：")):
        weight -= 2  # what it announces follows
    if is_material(text):
        weight -= 4
    return Claim(max(0, weight), cues, labelled, verb if is_order else "", is_task, is_asked)


_STANDS = 3
"""What an order claims that holds from then on, beside what its words say."""

_TOLD = 4
"""What cues claim at most where nobody is told anything, as in a story that was pasted."""


def _without_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :] if lead is not None else text


def _stands(text: str, cues: frozenset[Cue]) -> bool:
    """Whether a sentence tells the model how to do things from then on."""
    if len(text) <= _SHORT_DENSE and not text.isascii() and cues & _STANDING:
        return True
    return any(
        _sentence_stands(_without_lead(part), cues) for part in _PART_END.split(text) if part
    )


def _sentence_stands(sentence: str, cues: frozenset[Cue]) -> bool:
    words = list(_first_words(sentence[:_LEAD_CHARACTERS]))
    if not words:
        return False
    if words[0] in MANNERS or words[0] in STARTS or _conditional(sentence) > 2:
        return True
    for stop in range(1, min(len(words), _LONGEST_PHRASE) + 1):
        found = PHRASES.get(tuple(words[:stop]), ())
        if Cue.FORBIDS in found or (Cue.LASTS in found and stop > 1):
            return True
    is_lasting = Cue.LASTS in cues or Cue.ANSWERS in cues
    return words[0] in TASKS and is_lasting


_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_STANDING = frozenset((Cue.FORBIDS, Cue.LASTS, Cue.BINDS))
_PART_END = re.compile(r"(?<=[.!:;])\s+|\n")
_LEAD_CHARACTERS = 80
_SHORT_DENSE = 90


_MOST_CHARACTERS = 1_000
_PUNCTUATION = " .,:;!?()\"'।؟،"


def _first_words(text: str) -> Iterator[str]:
    """The words of a text, lower case, as far as it is looked at."""
    if _MARKED.search(text):
        yield from (word.strip(_PUNCTUATION).lower() for word in text.split()[:_MANY_WORDS])
        return
    for number, word in enumerate(_WORD.finditer(text)):
        if number == _MANY_WORDS:
            return
        yield word.group().lower()


def label_end(text: str) -> int:
    """Where the label ends that a text begins with, such as ``RULE:``; 0 for none."""
    label = _LABEL.match(text)
    if label is None or label.group(1).upper() in _LOG_LABELS:
        return 0
    return label.end()


def _cues(text: str, words: list[str]) -> Iterator[Cue]:
    for start in range(len(words)):
        for stop in range(start + 1, min(len(words), start + _LONGEST_PHRASE) + 1):
            for cue in PHRASES.get(tuple(words[start:stop]), ()):
                if cue is Cue.FORBIDS and _tells_of_habit(words, start):
                    continue
                yield cue
    if not text.isascii():
        yield from (cue for part, cue in PARTS if part in text)


def _tells_of_habit(words: list[str], place: int) -> bool:
    """Whether "don't" and the like say what somebody does, such as "I don't know"."""
    return place > 0 and words[place] in _FORBIDDING_STARTS and words[place - 1] in _WHO_DOES_NOT


def _is_small_talk(text: str, words: list[str]) -> bool:
    if len(text) > _SMALL_CHARACTERS:
        return False
    if not words:
        return not any(character.isalnum() for character in text)
    if all(word in SMALL_TALK for word in words):
        return not any(character.isdigit() for character in text) or words[0] in _GOING_ON
    return text.strip(" .!。！~") in SMALL_TALK


_SMALL_CHARACTERS = 60
_GOING_ON = frozenset(("go", "continue", "next", "proceed", "step"))


def _conditional(text: str) -> int:
    """What a sentence claims that says when something is to be done: most where it is "you" who does."""
    condition = _CONDITION.match(text.lower())
    if condition is not None:
        return 3 if condition.group(1) else 2
    return 2 if not text.isascii() and _CONDITION_PART.search(text) is not None else 0


def is_material(text: str) -> bool:
    """Whether a line looks like code, a log or markup and not like something that was said."""
    return _MATERIAL.search(text) is not None
