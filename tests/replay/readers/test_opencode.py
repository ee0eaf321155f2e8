"""OpenCode's sessions: exports, dumps, steps, compactions and pruned output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.replay.readers.samples import asked, bodies, only_requests, texts_of, valid
from trimtab.errors import RequestError
from trimtab.replay.readers import opencode
from trimtab.usage import Usage

Json = dict[str, Any]


class Session:
    """Writes a session, message by message."""

    def __init__(self, name: str = "ses_1") -> None:
        self.name = name
        self.messages: list[Json] = []

    def user(self, *parts: Any) -> Session:
        """What the user says; a string is a text."""
        return self._add({"role": "user"}, parts)

    def answer(self, *parts: Any, **info: Any) -> Session:
        """What the model says."""
        told = {"providerID": "anthropic", "modelID": "claude-x", **info}
        return self._add({"role": "assistant", **told}, parts)

    def _add(self, info: Json, parts: Any) -> Session:
        place = len(self.messages)
        key = f"{self.name}_{place:03}"
        known = {"id": key, "sessionID": self.name, "time": {"created": place}, **info}
        said = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
        named = [
            {**part, "id": f"prt_{number:03}", "messageID": key, "sessionID": self.name}
            for number, part in enumerate(said)
        ]
        self.messages.append({"info": known, "parts": named})
        return self

    @property
    def export(self) -> bytes:
        """The session as one document."""
        return json.dumps({"info": {"id": self.name}, "messages": self.messages}, indent=1).encode()

    @property
    def dump(self) -> bytes:
        """The session as it lies in storage: parts first, and one value behind the other."""
        parts = [part for message in self.messages for part in message["parts"]]
        values = [*parts, *(message["info"] for message in self.messages)]
        return "\n".join(json.dumps(value, indent=1) for value in values).encode()


def tool(call_id: str = "c1", **state: Any) -> Json:
    """A call with its result."""
    told = {"status": "completed", "input": {"path": "."}, "output": "a.py", **state}
    return {"type": "tool", "tool": "ls", "callID": call_id, "state": told}


def finish(**tokens: Any) -> Json:
    """The end of a step."""
    return {"type": "step-finish", "tokens": tokens}


@pytest.mark.parametrize("form", ["export", "dump"])
def test_a_call_and_its_result_are_two_messages(form: str) -> None:
    """An export and a dump of the storage say the same."""
    session = Session().user("hi").answer("look:", tool(), finish()).answer("done")

    first, second = only_requests(opencode, getattr(session, form))

    assert texts_of(first) == ["hi"]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "a.py"}]
    assert second["messages"][1]["content"][1]["input"] == {"path": "."}


def test_a_request_tells_what_the_session_says_of_it() -> None:
    """The input excludes the cache, and the output what was thought."""
    tokens = {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}
    session = Session().user("hi").answer("a", tokens=tokens, time={"created": 1767225600000})

    (request,) = asked(opencode, session.export)

    assert request.usage == Usage(fresh=1, cache_read=4, cache_write=5, output=5, reasoning=3)
    assert (request.model, request.at) == ("claude-x", 1767225600)


def test_each_step_of_an_answer_is_a_request() -> None:
    """Each has its own usage; what follows the last step is one under way."""
    steps = (tool(), finish(input=5), "b", finish(input=7), "c")
    session = Session().user("hi").answer(*steps, tokens={"input": 99})

    first, second, third = asked(opencode, session.export)

    assert [each.usage and each.usage.fresh for each in (first, second, third)] == [5, 7, None]
    assert texts_of(bodies([third])[0])[:3] == ["hi", "a.py", "b"]


def test_an_answer_that_never_came_is_a_request() -> None:
    """Zeros are no usage."""
    session = Session().user("hi").answer(tokens={"input": 0, "cache": {}}, modelID=None)

    (request,) = asked(opencode, session.export)

    assert request.usage is None
    assert "model" in request.unrecorded


def test_a_compaction_is_a_question_and_its_answer() -> None:
    """All before it goes, and the summary stays."""
    question: Json = {"type": "compaction", "auto": True}
    session = Session().user("a").answer("b").user(question).answer("so far", summary=True)

    *_, asked_for, after = only_requests(opencode, session.user("c").answer("d").export)

    assert texts_of(asked_for) == ["a", "b", "What did we do so far?"]
    assert texts_of(after) == ["What did we do so far?", "so far", "c"]


def test_old_output_was_whole_until_it_was_cleared() -> None:
    """Requests that were made before keep it."""
    session = (
        Session().user("a").answer(tool(time={"compacted": 3})).answer("b").user("c").answer("d")
    )

    _, before, after = only_requests(opencode, session.export)

    assert "a.py" in texts_of(before)
    assert "a.py" not in texts_of(after)
    assert "[Old tool result content cleared]" in texts_of(after)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"status": "error", "output": None, "error": "boom"}, "boom"),
        (
            {"status": "error", "output": None},
            "[The recording does not hold a result of this call.]",
        ),
        (
            {"status": "running", "output": None},
            "[The recording does not hold a result of this call.]",
        ),
        ({"output": {"a": 1}}, '{"a":1}'),
    ],
)
def test_a_call_is_answered_whatever_came_of_it(state: Json, text: str) -> None:
    """Errors, calls under way and output that is no words."""
    session = Session().user("a").answer(tool(**state)).answer("b")

    assert texts_of(only_requests(opencode, session.export)[1])[1:] == [text]


IMAGE = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGk="}


def test_images_are_sent_and_files_of_text_are_not() -> None:
    """The text of a file stands in a text of its own."""
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    text_file = {"type": "file", "mime": "text/plain", "url": "file:///x"}
    ignored = {"type": "text", "text": "x", "ignored": True}
    session = Session().user("a", IMAGE, text_file, ignored, {"type": "agent"})
    session.answer(tool(attachments=[IMAGE, text_file, 7])).answer("b")

    _, second = only_requests(opencode, session.export)

    image = {"type": "image", "source": source}
    assert second["messages"][0]["content"] == [{"type": "text", "text": "a"}, image]
    assert second["messages"][2]["content"][0]["content"][1] == image


def test_signed_reasoning_is_sent_back() -> None:
    """That of other providers is not."""
    signed = {"type": "reasoning", "text": "hm", "metadata": {"anthropic": {"signature": "s"}}}
    hidden = {"type": "reasoning", "text": "", "metadata": {"anthropic": {"redactedData": "d"}}}
    other = {"type": "reasoning", "text": "hm", "metadata": {"openai": {"itemId": "x"}}}
    session = Session().user("a").answer(signed, hidden, other, "b").user("c").answer("d")

    _, second = only_requests(opencode, session.export)

    assert [block["type"] for block in second["messages"][1]["content"]] == [
        "thinking", "redacted_thinking", "text"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "model", "wire_format"),
    [
        ("anthropic", "claude-x", "anthropic"),
        ("openai", "gpt-x", "openai-responses"),
        ("google", "gemini-x", "gemini"),
        ("github-copilot", "claude-x", "openai-chat"),
        ("github-copilot", "gpt-5.4", "openai-responses"),
        ("amazon-bedrock", "us.anthropic.claude-x", "anthropic"),
        ("opencode", "gemini-x", "gemini"),
        ("opencode", "kimi", "openai-chat"),
        ("openrouter", "claude-x", "openai-chat"),
    ],
)
def test_the_provider_says_how_it_was_spoken_to(
    provider: str, model: str, wire_format: str
) -> None:
    """A history with calls is valid in each format."""
    told = {"providerID": provider, "modelID": model}
    session = Session().user("a").answer("b", tool(), **told).answer("c", **told)

    requests = asked(opencode, session.export)

    assert {request.format for request in requests} == {wire_format}
    assert valid(requests)


def test_a_dump_holds_several_sessions() -> None:
    """Each is a recording, named by the end of its id; half a value at the end is named too."""
    data = Session("ses_1").user("a").answer("b").dump + Session("ses_2").user("c").answer("d").dump

    first, second = opencode.read(b"junk\n" + data + b'{"id": "prt', "d")

    assert (first.name, second.name) == ("d#ses_1", "d#ses_2")
    assert first.notes == ("skipped what is cut off or no JSON",)
    assert [texts_of(body) for body in bodies(second.requests)] == [["c"]]


def test_what_is_no_message_is_left_out() -> None:
    """Sessions, and values of other kinds; a file without an answer is refused."""
    values = [
        7,
        {"id": "x"},
        {"id": 7, "role": "user", "sessionID": "s"},
        {"info": {}, "parts": []},
    ]
    data = json.dumps([*values, *Session().user("a").answer("b").messages]).encode()

    assert len(asked(opencode, data)) == 1
    with pytest.raises(RequestError, match="in which nobody answers"):
        opencode.read(Session().user("a").export, "d")
    assert not opencode.recognises(b'{"sessionID": 1, "parts": 2}')
