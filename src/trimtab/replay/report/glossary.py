"""The words of the report that have a meaning of their own, each told once and linked to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trimtab.replay.report.markup import Child, Html, tag

__all__ = ["glossary_section", "listed", "term"]

_WORDS: Mapping[str, str] = {
    "turn": (
        "one request and the answer to it. “Request 44” is the 44th of its session, from 1; “after 3 turns” is three "
        "requests later."
    ),
    "trigger": (
        "the size, in tokens of the whole request, from which on a compaction is planned. It lies below the limit. "
        "Where the cache is lost anyway (a cold moment), half the trigger is enough."
    ),
    "window": (
        "what a model takes, input and answer together. A provider refuses a larger request: such requests are “refused "
        "for size”. Below the window and above the limit, one is taken all the same."
    ),
    "limit": (
        "what trimtab lets no request of its own pass: the window less the room for the answer, or the size from which on "
        "every token costs more today, where that is smaller; or what --budget names. The client and other policies do not "
        "know it, so their requests may be larger without being refused."
    ),
    "compaction": (
        "a turn on which something is removed that was sent before (a cut). Until the next one, what was cut stays "
        "cut, word for word, so that the provider's cache can read it again."
    ),
    "ledger": (
        "a short list that trimtab puts in place of what it removed: files that were read or changed, values that "
        "stood nowhere else, rules of the user word for word. It is made by rules, without a model."
    ),
    "ladder": (
        "the order in which the default policy makes a request smaller: results that a later call repeats go first, "
        "then long outputs are shortened, then old turns are told in a line, then the middle of the conversation goes. "
        "It stops as soon as the request is small enough."
    ),
    "cache": (
        "the provider keeps what a request began with, and reads it for a fraction of the price if the next request "
        "begins with exactly the same, within the life of the cache. “Read” tokens were found there, “written” ones "
        "were put there, “fresh” ones neither."
    ),
    "break": (
        "a request that does not begin with all of the one before, so that the cache cannot be read to its end. A "
        "compaction is one on purpose."
    ),
    "cold moment": (
        "a turn on which the cache is lost anyway: idle for longer than it lives, another model, other tools. A cut "
        "costs least then."
    ),
    "missed": (
        "an answer used something exact (a path, an id, a name, five words of the user's) that only removed messages "
        "held. A live agent would have had to fetch it again, so it is charged. JSON calls it regret."
    ),
    "net of what was missed": "the saving with those charges taken off. The headline is net.",
    "extra exchanges": (
        "requests charged after each compaction whether anything was missed or not: each is one request more of that "
        "size, its answer, and a result as large as what a turn of the session mostly adds (the median), which stays "
        "until the next compaction. A miss is charged with the whole message that held what was missed, so one miss may "
        "cost more than three of these."
    ),
    "even after": (
        "a cut costs more on its own turn, because what lies behind it must be written to the cache anew, and saves on "
        "each later turn what it need not read: the tokens that went, at the price of reading. It is even after as many "
        "turns as make up for its cost; at once where it costs nothing."
    ),
    "turns expected": (
        "how many more turns the conversation is taken to have when a cut is decided on: as many as it has had."
    ),
    "turns until the trigger": (
        "how many turns like the last few still fit below the trigger. It says nothing of how long the conversation lasts."
    ),
    "by price alone": (
        "how far from one cut to the next the bill would be lowest, if what is missed after a cut cost nothing: the "
        "square root of twice what the cut costs, times the median growth of a turn, over the price of reading, in fresh input "
        "tokens. It is told for comparison; the trigger does not follow it."
    ),
    "fresh input tokens": (
        "a unit of cost that needs no price list: one is what a token costs that no cache holds; one read from the "
        "cache counts as a tenth or so, one of an answer as several."
    ),
    "marker": (
        "a message of trimtab's that says what was removed where it stands, with the ledger. A cache marker is another "
        "thing: a place in a request up to which the provider is asked to keep it in its cache."
    ),
    "protected": (
        "what no compaction may drop: system prompt and tools, the first and the newest message of the user, the newest "
        "exchange, calls that wait for a result, what is not understood, and what a policy names. Where all else fails, it and the newest messages are kept (“all but what is protected and the newest”)."
    ),
    "foretold": (
        "what trimtab takes a request to weigh before it is sent, from its words and the bills so far; it decides when a "
        "compaction comes."
    ),
    "rule": (
        "why something went. “Superseded”: a newer call shows or wrote the same. “Old result: its ends and the lines that "
        "tell of failures kept”: a result long past is thinned, and errors in its middle stay. “Old tool output: first and "
        "last lines kept”: the next step, a plain clip of what is still too long, errors or not."
    ),
    "content of unknown kind": "a block of a message that trimtab does not know, sent on as it came or not at all.",
    "frames of messages": (
        "what a message costs beside its parts. The row also holds rounding, and what the client itself changed on the "
        "same turn, so that both tables add up."
    ),
    "policy": "a way to keep a session small. “deterministic” is trimtab's default; the others are told beside it.",
    "on paper": (
        "a policy that decides by sizes alone: no request of it was written, so there is nothing in which to look for "
        "what its later answers miss. That is told as “\N{EN DASH}”: not none, but unknown."
    ),
}


def _name(word: str) -> str:
    return f"word-{word.replace(' ', '-')}"


def term(word: str, shown: str = "") -> Html:
    """A word, linked to what it means.

    Args:
        word: As the glossary has it.
        shown: What stands in the text; empty for the word itself.

    Raises:
        KeyError: If the glossary does not have it.
    """
    _ = _WORDS[word]
    return tag("a", shown or word, href=f"#{_name(word)}", class_="term")


def listed(*words: str) -> Iterator[Child]:
    """Words of the glossary, linked, with commas between."""
    for place, word in enumerate(words):
        yield ", " if place else None
        yield term(word)


def glossary_section(*, is_paper: bool) -> Html:
    """Say what each word means.

    Args:
        is_paper: Whether a policy on paper is shown; without, nothing is said of them.
    """
    told = (
        part
        for word, meaning in sorted(_WORDS.items())
        if is_paper or word != "on paper"
        for part in (tag("dt", word, id=_name(word)), tag("dd", meaning))
    )
    return tag(
        "section",
        tag("h2", "What the words mean"),
        tag("dl", *told, class_="words"),
        id="words",
    )
