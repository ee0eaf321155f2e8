"""Long histories without a constraint that lasts: made, or from recorded sessions.

What is made is meant to be hard: its users paste whole texts, ask for one
thing after another, and most of their requests hold words such as "must",
"only", "make sure" or "don't" that bind for this one request.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.retention.compactors import CHARACTERS
from trimtab.replay.files import load
from trimtab.replay.paths import files_in
from trimtab.wire import read

__all__ = ["made", "recorded"]

Json: TypeAlias = dict[str, Any]

_THINGS = (
    "a landing page", "the invoice parser", "a cover letter", "a poem about rain", "the login form", "a bash script",
    "a lesson plan", "the product text", "an SQL query", "a workout plan", "the unit tests", "a birthday speech",
    "a chess engine", "the migration", "a menu for six people", "a story about a lighthouse",
)  # fmt: skip
_ASKS = (
    "Write {thing}.",
    "Can you improve {thing}? It should be shorter.",
    "Make sure {thing} works with the data below.",
    "I need {thing} by tomorrow, so only do the first part.",
    "Rewrite {thing} and don't change the title.",
    "What must {thing} have at least?",
    "Explain {thing} to me as if I were {number} years old.",
    "Please check {thing} for mistakes. The second paragraph seems odd.",
    "Give me {number} ideas for {thing}, please.",
    "Now do the same for {thing}.",
    "Translate {thing} into French.",
    "Why does {thing} fail when the input is empty?",
    "ok thanks, that looks great",
    "continue",
    "Compare {thing} with {other}. Which one is better and why?",
    "Is it true that {thing} has to be longer than {other}?",
)
_SUBJECTS = (
    "The keeper",
    "A pilot",
    "Her uncle",
    "The old map",
    "Every boat that was late",
    "Nobody in the harbour",
    "He",
    "This light",
)
_VERBS = (
    "never slept",
    "must not have known",
    "always turned",
    "had to wait",
    "should have been trusted",
    "kept only one lamp",
    "didn't answer",
)
_ENDS = (
    "before dawn",
    "until the wind was gone",
    "when the bell rang",
    "because of the storm",
    "if there was no other way",
    "for the rest of the year",
    "without asking anybody",
)
_CODE = (
    "def f{n}(x):\n    # never returns None\n    return x * {n}",
    "if (a > {n}) {{ throw new Error('must not') }}",
    "SELECT * FROM t{n} WHERE id = {n};",
)


def made(seed: int, tokens: int) -> Json:
    """Make one history.

    Args:
        seed: Which one.
        tokens: About how long it is.
    """
    chance = random.Random(seed)
    messages: list[Json] = []
    total = 0
    while total < tokens:
        for role, text in (
            ("user", _request(chance)),
            ("assistant", _prose(chance, chance.randrange(2, 24))),
        ):
            messages.append({"role": role, "content": text})
            total += CHARACTERS(text)
    return _haystack(f"made-{seed}", messages)


def _request(chance: random.Random) -> str:
    thing, other = chance.sample(_THINGS, 2)
    ask = chance.choice(_ASKS).format(thing=thing, other=other, number=chance.randrange(3, 40))
    if chance.random() < 0.3:
        ask += "\n\n" + _prose(chance, chance.randrange(4, 30))
    if chance.random() < 0.15:
        ask += (
            "\n\n```\n"
            + "\n".join(chance.choice(_CODE).format(n=n) for n in range(chance.randrange(2, 30)))
            + "\n```"
        )
    return ask


def _prose(chance: random.Random, sentences: int) -> str:
    """A story full of words that bind in other sentences, so that words alone do not tell."""
    told = (
        f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_ENDS)}"
        f"{chance.choice((',', ' and'))} {chance.choice(_ENDS)}."
        for _ in range(sentences)
    )
    return " ".join(told)


def recorded(paths: Sequence[Path], tokens: int) -> Iterator[Json]:
    """Read histories from recorded sessions: what user and model said, results as the model's words.

    A message is at most an eighth of a history: else one alone could be all of it.

    Args:
        paths: Files and folders.
        tokens: Shorter sessions are left out.
    """
    for path in files_in(paths):
        for recording in load(path.read_bytes(), path.name):
            request = recording.requests[recording.largest]
            messages = [
                {
                    "role": "user"
                    if message.role == "user" and message.has_own_words
                    else "assistant",
                    "content": text,
                }
                for message in read(request.build(), request.format).messages
                if (text := _words(message)[: tokens // 2])
            ]
            haystack = _haystack(recording.name, messages)
            if (
                haystack["token_length"] >= tokens
                and sum(m["role"] == "user" for m in messages) > 2
            ):
                yield haystack


def _words(message: Any) -> str:
    return "\n".join(
        part.text for part in message.parts if isinstance(getattr(part, "text", None), str)
    )


def _haystack(name: str, messages: list[Json]) -> Json:
    sizes = [CHARACTERS(message["content"]) for message in messages]
    return {
        "haystack_id": name, "source": "trimtab", "messages": messages, "message_tokens": sizes,
        "token_length": sum(sizes), "system_prompt": "", "source_conversation_count": 1,
    }  # fmt: skip
