"""What generateContent demands (G1 to G9), and the walk that finds what breaks it.

Some words that the rules use: a *step* is a row of model contents; the *turn
under way* is everything behind the last content with words of the user.

The Gemini API is milder than Vertex where contents of one role follow each
other; the stricter of the two is checked. Words of the user behind a content
of results are taken by both, and so are model words at the end (a prefill).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, TypeAlias

from trimtab.wire.rules import Findings, Rule

__all__ = ["RULES", "check_contents"]

Json: TypeAlias = dict[str, Any]

RULES: dict[str, Rule] = {
    rule.id: rule
    for rule in (
        Rule(
            "G-shape",
            "The body has a list of contents, each an object with a list of parts.",
            "* GenerateContentRequest.contents: contents is not specified",
            "Build the body as the API reference shows.",
            needs=("contents",),
        ),
        Rule(
            "G-role",
            "The role is user or model; calls stand in model contents, results in the user's.",
            "Please use a valid role: user, model.",
            "Calls go into model contents, results into user contents.",
        ),
        Rule(
            "G1",
            "A content with calls comes right behind words of the user or results.",
            "Please ensure that function call turn comes immediately after a user turn or after a "
            "function response turn.",
            "Keep the user's words in front of the first call.",
        ),
        Rule(
            "G2",
            "Results come right behind the content that called.",
            "Please ensure that function response turn comes immediately after a function call turn.",
            "Remove the results, or put their calls back in front of them.",
        ),
        Rule(
            "G3",
            "All calls of a content are answered in the next one, which has as many results.",
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn.",
            "Answer each call in one content, with an error if it never ran.",
        ),
        Rule(
            "G4",
            "The results of a content carry the names of the calls that they answer.",
            "Please ensure that the number of function response parts is equal to the number of "
            "function call parts of the function call turn.",
            "Copy the name from the call; keep parallel calls in one content.",
        ),
        Rule(
            "G5",
            "No content is without parts; a part holds exactly one thing; a text is not empty, "
            "unless it carries a signature.",
            "contents.parts must not be empty / required oneof field 'data' must have one "
            "initialized field",
            "Remove the part, or the content.",
        ),
        Rule(
            "G6",
            "The history begins with the user, and the roles alternate.",
            "Please ensure that multiturn requests alternate between user and model",
            "Start with the user's words; join contents of one role.",
        ),
        Rule(
            "G7",
            "In the turn under way, the first call of each step carries its signature.",
            "Function call is missing a thought_signature in functionCall parts. This is required "
            "for tools to work correctly, and missing thought_signature may lead to degraded model "
            "performance.",
            "Send each part back with the thoughtSignature that it came with.",
        ),
        Rule(
            "G8",
            "With cachedContent there is no systemInstruction, and there are no tools.",
            "CachedContent can not be used with GenerateContent request setting "
            "system_instruction, tools or tool_config.",
            "Put them into the cached content.",
        ),
        Rule(
            "G9",
            "Names of functions begin with a letter or _, and are made of up to 64 letters, "
            "digits, _ . : and -.",
            "Invalid function name. Must start with a letter or an underscore.",
            "Rename the function.",
        ),
        Rule(
            "G-response-object",
            "The response of a result is an object, and so are the args of a call.",
            "Invalid value at 'contents[0].parts[0].function_response.response' "
            "(type.googleapis.com/google.protobuf.Struct)",
            'Wrap it: {"output": …}.',
        ),
    )
}
"""What generateContent demands and a request can show."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")

_DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""What a part may hold."""

_SIBLINGS = (
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "mediaResolution",
    "partMetadata",
)
"""What stands beside it and is no data."""

_SNAKE = re.compile(r"_([a-z])")


def check_contents(body: Json, findings: Findings) -> None:
    """Note every rule that a decoded body breaks."""
    _check_envelope(_camel(body), findings)
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        findings.add("G-shape", "contents", "there is no list of contents, or it is empty")
        return
    _Walk(findings, [_Content(place, content) for place, content in enumerate(contents)]).run()


def _camel(value: Any) -> Json:  # noqa: ANN401 - JSON
    """The members of an object under their camelCase names; null is as good as nothing."""
    if not isinstance(value, dict):
        return {}
    return {
        _SNAKE.sub(lambda match: match[1].upper(), key): inner
        for key, inner in value.items()
        if inner is not None
    }


def _check_envelope(body: Json, findings: Findings) -> None:
    if body.get("cachedContent"):
        for key in ("systemInstruction", "tools", "toolConfig"):
            if body.get(key):
                findings.add("G8", key, "it belongs into the cached content")
    tools = body.get("tools")
    for place, tool in enumerate(tools if isinstance(tools, list) else ()):
        declared = _camel(tool).get("functionDeclarations")
        for number, function in enumerate(declared if isinstance(declared, list) else ()):
            _check_name(
                f"tools[{place}].functionDeclarations[{number}]", _camel(function), findings
            )


def _check_name(path: str, function: Json, findings: Findings) -> None:
    name = function.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        findings.add("G9", f"{path}.name", f"{name!r} is no name of a function")


class _Content:
    """A content, looked at once.

    Attributes:
        path: Where it stands.
        role: Who speaks; empty where that cannot be told.
        parts: Its parts under camelCase names, None where there is no list of them.
        calls: Its calls: where, and the part.
        results: Its results: where, and the part.
        has_words: Whether it holds anything but results.
    """

    def __init__(self, place: int, content: Any) -> None:  # noqa: ANN401 - JSON
        self.path = f"contents[{place}]"
        self.is_object = isinstance(content, dict)
        members = content if isinstance(content, dict) else {}
        self.role: object = "user" if members.get("role") in (None, "") else members["role"]
        parts = members.get("parts")
        if isinstance(parts, dict):
            parts = [parts]  # as the guides show it
        self.has_parts = isinstance(parts, list)
        self.raw: list[Any] = parts if isinstance(parts, list) else []
        self.parts = [_camel(part) for part in self.raw]
        self.calls = list(self._holding("functionCall"))
        self.results = list(self._holding("functionResponse"))
        self.has_words = len(self.results) < len(self.parts) or not self.parts

    def _holding(self, key: str) -> list[tuple[str, Json]]:
        return [
            (f"{self.path}.parts[{number}]", part)
            for number, part in enumerate(self.parts)
            if key in part
        ]

    @property
    def is_model(self) -> bool:
        return self.role == "model"

    @property
    def has_user_words(self) -> bool:
        return not self.is_model and self.has_words


class _Walk:
    """One walk through the contents."""

    def __init__(self, findings: Findings, contents: list[_Content]) -> None:
        self._findings = findings
        self._add = findings.add
        self._contents = contents

    def run(self) -> None:
        contents = self._contents
        if contents[0].is_object and contents[0].is_model:
            self._add("G6", contents[0].path, "the first content is the model's")
        for place, content in enumerate(contents):
            before = contents[place - 1] if place else None
            behind = contents[place + 1] if place + 1 < len(contents) else None
            self._check_shape(content)
            self._check_neighbours(content, before)
            self._check_pairs(content, before, behind)
        self._check_signatures()

    # ------------------------------------------------------------- contents

    def _check_shape(self, content: _Content) -> None:
        if not content.is_object or not content.has_parts:
            self._add("G-shape", content.path, "a content is an object with a list of parts")
            return
        if content.role not in ("user", "model", "function"):
            self._add("G-role", f"{content.path}.role", f"there is no role {content.role!r}")
        if not content.parts:
            self._add("G5", f"{content.path}.parts", "there are no parts")
        for number, (raw, part) in enumerate(zip(content.raw, content.parts, strict=True)):
            self._check_part(f"{content.path}.parts[{number}]", raw, part)
        wrong = content.results if content.is_model else content.calls
        for path, _ in wrong:
            self._add("G-role", path, f"a content of role {content.role!r} cannot carry it")

    def _check_part(self, path: str, raw: Any, part: Json) -> None:  # noqa: ANN401 - JSON
        if not isinstance(raw, dict):
            self._add("G-shape", path, "a part is an object")
            return
        data = [key for key in part if key in _DATA]
        others = [key for key in part if key not in _DATA and key not in _SIBLINGS]
        if len(data) > 1 or not (data or others):
            self._add("G5", path, f"it holds {' and '.join(data) or 'nothing'}")
        if part.get("text") == "" and not part.get("thoughtSignature"):
            self._add("G5", path, "the text is empty")
        for key, inner in (("functionCall", "args"), ("functionResponse", "response")):
            if key in part:
                function = _camel(part[key])
                _check_name(f"{path}.{key}", function, self._findings)
                if not isinstance(function.get(inner, {}), dict):
                    self._add("G-response-object", f"{path}.{key}.{inner}", "it is no object")

    # ----------------------------------------------------------- neighbours

    def _check_neighbours(self, content: _Content, before: _Content | None) -> None:
        if before is None or not (before.is_object and content.is_object):
            return
        if before.is_model != content.is_model or content.results:
            return  # where results may stand is G2
        if content.is_model or before.has_words:
            self._add("G6", content.path, f"two contents of role {content.role!r} in a row")

    def _check_pairs(
        self, content: _Content, before: _Content | None, behind: _Content | None
    ) -> None:
        if content.calls and content.is_model:
            if before is None or before.is_model:
                self._add("G1", content.path, "no user and no result stands in front of it")
            self._check_answers(content, behind)
        if content.results and (before is None or not before.is_model or not before.calls):
            self._add("G2", content.path, "no calls stand in front of the results")

    def _check_answers(self, content: _Content, behind: _Content | None) -> None:
        results = [] if behind is None else behind.results
        if len(results) != len(content.calls):
            told = f"{len(content.calls)} calls, and {len(results)} results behind them"
            self._add("G3", content.path, told)
            return
        called = Counter(_name(part["functionCall"]) for _, part in content.calls)
        answered = Counter(_name(part["functionResponse"]) for _, part in results)
        for name in answered - called:
            self._add("G4", results[0][0], f"a result of {name!r}, which was not called")

    # ----------------------------------------------------------- signatures

    def _check_signatures(self) -> None:
        """Look at the turn under way; model words at its end have closed it."""
        contents = self._contents
        if contents[-1].is_model and not contents[-1].calls:
            return
        first: list[tuple[str, Json]] = []
        for content in reversed(contents):
            if content.calls and content.is_model:
                first = content.calls
            elif not content.is_model:
                self._check_step(first)
                first = []
                if content.has_words:
                    return
        self._check_step(first)

    def _check_step(self, calls: list[tuple[str, Json]]) -> None:
        if calls and not calls[0][1].get("thoughtSignature"):
            self._add("G7", calls[0][0], "it has no thoughtSignature")


def _name(function: Any) -> str:  # noqa: ANN401 - JSON
    return str(_camel(function).get("name"))
