"""Values and failing checks that stand in outputs that nobody will see again.

A value is something exact that cannot be guessed: a URL, a hash, an id, a
version, ``KEY=value``. It is listed with the line that it stands in, so that
it means something. Failing checks go first, unless a later run was clean;
then values that somebody names again; then those that stand alone rather than
in a long list. What a call can show again, such as a file, is not searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trimtab.ledger.files import is_reading
from trimtab.ledger.secrets import holds_secret
from trimtab.ledger.texts import GAP, one_line
from trimtab.ledger.tool_use import Use, command_of
from trimtab.messages import Message, Text
from trimtab.policy import Policy

__all__ = ["merged_values", "tells_of_failure", "values_in"]

_EDGE = 24_000
"""Characters that are searched at each end of an output."""

_MOST_VALUES = 40
_MOST_TOKENS_EACH = 60
_MOST_LINES_EACH = 8
_MOST_TOKENS = 600
_MOST_FAILURES_EACH = 12
_LONGEST_LINE = 160
_NEAR = 70
"""Characters on either side of a value that tell what it is."""

_MOST_LATER = 2_000_000

_EXACT = re.compile(
    r"https?://[^\s<>\"'`)\]}\\]+"
    r"|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|\b(?:sha\d*[:-])?(?=[0-9a-f]*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}\b"
    r"|\b[A-Z][A-Z0-9_]{2,40}=[^\s\"'`;,&|{}()\[\]<>=$]{1,120}"
    r"|\b[A-Z][A-Z0-9]{1,9}-\d{1,8}\b"
    r"|\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0|(?:\d{1,3}\.){3}\d{1,3}|[a-z][\w.-]*\.(?:internal|local|com|net|org|io|dev)):\d{2,5}\b"
    r"|\b[a-z][\w.-]{1,40}(?:==|@)v?\d+\.\d+[\w.+-]*"
    r"|\bv\d+\.\d+\.\d+[\w.+-]*"
    r"|\b[a-z]{2,12}(?:_[a-z0-9]{2,16}){0,4}_(?=[a-z]*\d)[a-z0-9]{3,32}\b"
    r"|\b(?=[A-Z0-9]*[A-Z])(?=[A-Z]*\d)[A-Z0-9]{6,12}\b"
)
_WORD = re.compile(r"[^\s\"'`<>{}\[\](),;|\\]{5,400}")
_TELLING = re.compile(r"[\d=]|://")
_COUNTED = re.compile(
    r"\b(?:PR|MR|[Ii]ssue|[Pp]ull request|[Tt]icket|[Bb]uild|[Jj]ob|pid|PID|[Pp]ort|[Oo]rder|[Ii]nvoice)[ :#]{1,3}\d{2,12}\b"
)
_FAILURE = re.compile(
    r"^(?:FAILED|ERROR) \S+(?:::|\.\w)\S*.*"
    r"|^E {2,6}\S.*"
    r"|^[ \t]*\S+?:\d+(?::\d+)?:? (?:fatal )?error\b.*"
    r"|^[ \t]*error(?:\[\w+\])?: .*"
    r"|^\S+\(\d+,\d+\): error \w+: .*"
    r"|^[ \t]*--- FAIL: .*"
    r"|^[ \t]*[✗✕✖×✘] .*"
    r"|^ *FAIL[ \t]+\S.*"
    r"|^(?:\w+\.)*\w*(?:Error|Exception)\b: .*"
    r"|^npm (?:ERR!|error) .*"
    r"|^fatal: .*"
    r"|^.*panicked at .*"
    r"|^not ok \d+.*"
    r"|^.*\b[1-9]\d* (?:failed|failing|failures?)\b.*"
    r"|^.{0,40}\b(?:[Ee]xit(?:ed)?(?: with)? (?:code|status)|returncode)[\"']?:? ?[>=]? ?[1-9]\d{0,2}\b.*",
    re.MULTILINE,
)
_BARE = re.compile(r".{0,40}\b(?:code|status|returncode)\W{1,4}\d{1,3}\W*")
_LONGEST_COMMAND = 60
_CHECK_RANK, _FAILURE_RANK, _NAMED_RANK, _SAID_RANK = 4.0, 2.5, 2.0, 1.5
_NUMBERED = re.compile(r"^\d+[→|:]\s*")
_SET = re.compile(r"([A-Z][A-Z0-9_]{2,40})=")
_CHECKS = re.compile(
    r"\b(?:pytest|tox|nox|unittest|jest|vitest|mocha|tsc|eslint|ruff|mypy|pyright|flake8|pylint|rspec|phpunit|ctest"
    r"|(?:npm|pnpm|yarn|bun|cargo|go|make|mix|dotnet|mvn|gradle|gradlew|bundle|uv|poetry|just|deno|swift|zig|rake)\s+(?:run\s+)?[\w:.-]+)"
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A line that is worth its place."""

    line: str
    token: str
    rank: float
    time: int


_DEFAULTS = Policy()


def values_in(
    span: Sequence[Message], uses: Sequence[Use], kept: str = "", policy: Policy = _DEFAULTS
) -> tuple[str, ...]:
    """List values and failing checks that would be gone, oldest first.

    Args:
        span: What goes.
        uses: Its calls, and those that stay.
        kept: All words that stay.
        policy: Says which tools show what can be seen again.
    """
    later = _Later(span)
    found: list[_Found] = [*_failing(uses)]
    left = _MOST_TOKENS
    for text, time, weight in _sources(span, uses, policy):
        tokens = list(_tokens(text))
        dense = 1 / (1 + len(tokens) / 6)
        for line, token in tokens[:_MOST_LINES_EACH]:
            if left <= 0:
                break
            left -= 1
            if token in kept or holds_secret(line):
                continue
            named = later.names(token, time)
            found.append(_Found(line, token, weight * dense + _NAMED_RANK * named, time))
    return _best(found)


def merged_values(older: Iterable[str], newer: Iterable[str], kept: str = "") -> tuple[str, ...]:
    """Put two lists of values together; the newer value of a key counts.

    Args:
        older: What was listed first.
        newer: What was listed since.
        kept: All words that stay; what stands in them is not listed.
    """
    lines: dict[str, str] = {}
    for line in (*older, *newer):
        if kept and line in kept:
            continue
        key = _SET.match(line)
        name = key.group(1) if key else line
        lines.pop(name, None)
        lines[name] = line
    return tuple(lines.values())[-2 * _MOST_VALUES :]


def tells_of_failure(line: str) -> bool:
    """Whether a line of the list is about a failing check."""
    return _FAILURE.search(line) is not None


class _Later:
    """What was said in words, to know what was named again."""

    def __init__(self, span: Sequence[Message]) -> None:
        self._places: list[int] = []
        self._starts: list[int] = []
        texts: list[str] = []
        length = 0
        for place, message in enumerate(span):
            if message.role not in ("user", "assistant") or not message.has_own_words:
                continue
            text = message.text[:_EDGE]
            self._places.append(place)
            self._starts.append(length)
            texts.append(text)
            length += len(text) + 1
            if length > _MOST_LATER:
                break
        self._text = "\n".join(texts)

    def names(self, token: str, time: int) -> bool:
        """Whether a token stands in something that was said after a message."""
        last = self._text.rfind(token)
        if last < 0:
            return False
        low, high = 0, len(self._starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._starts[middle] <= last else (low, middle)
        return self._places[low] > time


def _sources(
    span: Sequence[Message], uses: Sequence[Use], policy: Policy
) -> Iterator[tuple[str, int, float]]:
    """Texts that are searched, newest first, each with its message and what it counts."""
    by_place: dict[int, list[tuple[str, float]]] = {}
    for use in uses:
        if (
            use.is_gone
            and use.result is not None
            and use.place < len(span)
            and not is_reading(use, policy)
        ):
            by_place.setdefault(use.place, []).append((use.result.text, 1.0))
    for place, message in enumerate(span):
        if message.role == "assistant" and message.has_own_words and message.origin is None:
            by_place.setdefault(place, []).extend(
                (part.text, _SAID_RANK) for part in message.parts if isinstance(part, Text)
            )
    for place in sorted(by_place, reverse=True):
        for text, weight in by_place[place]:
            yield text, place, weight


def _regions(text: str) -> tuple[str, ...]:
    """Both ends of a text, or all of it."""
    return (text,) if len(text) <= 2 * _EDGE else (text[:_EDGE], text[-_EDGE:])


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Exact values in a text, each once, with the line that it stands in."""
    seen: set[str] = set()
    lines: list[str] = []
    for region in _regions(text):
        for start, token in _exact(region):
            if token in seen or len(seen) > 2 * _MOST_TOKENS_EACH:
                continue
            seen.add(token)
            if any(token in line for line in lines[-_MOST_TOKENS_EACH:]):
                continue
            lines.append(_line(region, start, start + len(token)))
            yield lines[-1], token


def _exact(text: str) -> Iterator[tuple[int, str]]:
    """Exact values in a text, and where they begin."""
    for counted in _COUNTED.finditer(text):
        yield counted.start(), counted.group()
    for word in _WORD.finditer(text):
        said = word.group()
        if len(said) > _LONGEST_LINE and "://" not in said:
            continue
        # Most words are none: one look tells, before all the patterns are tried.
        if _TELLING.search(said) and (exact := _EXACT.search(said)):
            yield word.start() + exact.start(), exact.group().rstrip(".:")


def _line(text: str, start: int, stop: int) -> str:
    """The line around a place; of a long one what is near, cut at blanks."""
    low = text.rfind("\n", 0, start) + 1
    high = text.find("\n", stop)
    high = len(text) if high < 0 else high
    if high - low <= _LONGEST_LINE:
        return _NUMBERED.sub("", one_line(text[low:high]))
    before, after = text[max(low, start - _NEAR) : start], text[stop : min(high, stop + _NEAR)]
    if start - _NEAR > low:
        before = f"{GAP} {before.partition(' ')[2]}" if " " in before else f"{GAP} "
    if stop + _NEAR < high:
        after = f"{after.rpartition(' ')[0]} {GAP}" if " " in after else f" {GAP}"
    return one_line(before + text[start:stop] + after)


def _failing(uses: Sequence[Use]) -> Iterator[_Found]:
    """Error lines of checks that nobody saw passing afterwards."""
    newest: dict[str, int] = {}  # call: where it was made last
    clean: dict[str, int] = {}  # check: where it last found nothing
    worked: dict[str, int] = {}  # call: where it last did not fail
    for number, use in enumerate(uses):
        if use.result is None:
            continue
        newest[_same(use)] = number
        if not use.failed:
            worked[_same(use)] = number
            if (check := _check(use)) and _first_failure(use.result.text) is None:
                clean[check] = number
    for number, use in enumerate(uses):
        check = _check(use)
        is_told = use.is_gone and use.result is not None and (check or use.failed)
        settled = (
            max(newest.get(_same(use), -1), clean.get(check, -1))
            if check
            else worked.get(_same(use), -1)
        )
        if is_told and settled <= number:
            yield from (
                _Found(line, line, _CHECK_RANK if check else _FAILURE_RANK, use.place)
                for line in _error_lines(use)
                if not holds_secret(line)
            )


def _check(use: Use) -> str:
    """The program that a call checks with; empty where it checks nothing."""
    command = command_of(use)
    found = _CHECKS.search(command[:2_000]) if command else None
    return one_line(found.group()) if found else ""


def _same(use: Use) -> str:
    return f"{use.call.name} {command_of(use) or use.call.arguments[:2_000]}"


def _first_failure(text: str) -> re.Match[str] | None:
    return next((match for region in _regions(text) if (match := _FAILURE.search(region))), None)


def _error_lines(use: Use) -> list[str]:
    text = use.result.text if use.result is not None else ""
    lines: dict[str, None] = {}
    for region in reversed(_regions(text)):
        for match in _FAILURE.finditer(region):
            line = one_line(match.group())
            if len(line) > _LONGEST_LINE:
                line = line[:_LONGEST_LINE].rpartition(" ")[0] + f" {GAP}"
            if len(line) > 8:
                lines.setdefault(line)
            if len(lines) >= _MOST_FAILURES_EACH:
                break
    command = one_line(command_of(use))[:_LONGEST_COMMAND]
    return [f"{line} ({command})" if command and _BARE.fullmatch(line) else line for line in lines]


def _best(found: Sequence[_Found]) -> tuple[str, ...]:
    """The lines of most worth, each once, oldest first; of a key only the newest value."""
    lines: dict[str, _Found] = {}
    for one in sorted(found, key=lambda one: (one.time, one.rank)):
        key = _SET.match(one.token)
        name, line = (key.group(1), one.token) if key else (one.line, one.line)
        former = lines.pop(name, None)
        rank = max(one.rank, former.rank) if former is not None and not key else one.rank
        lines[name] = _Found(line, one.token, rank, one.time)
    best = sorted(lines.values(), key=lambda one: (-one.rank, -one.time))[:_MOST_VALUES]
    return tuple(one.line for one in sorted(best, key=lambda one: one.time))
