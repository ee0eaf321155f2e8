"""Records the demo session: a scripted agent, real tool calls, no model.

    python demo/record.py

runs the script in ``story/`` against a fresh copy of the sample shop (and, to
read only, against this repository) and writes ``session.json``: the body of the
Anthropic Messages request that would be sent next.

The law: what the agent says is written down beforehand; what the tools answer
never is. A call whose result is not what the script relies on stops the
recording.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

# A script sees its own folder only; its siblings are imported by the names that mypy knows.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demo import sample_project
from demo.script import Call, Step, Turn
from demo.story import STORY, SYSTEM_PROMPT
from demo.tools import TOOLS, Json, Output, run_tool
from demo.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]

SESSION = ROOT / "demo" / "session.json"

MORNING = datetime(2026, 3, 19, 8, 0, tzinfo=UTC)
"""When the story begins. The two commits of the sample project are dated with it too."""

PACE = timedelta(seconds=75)
"""Story time that a call takes; dates the agent's commits."""

MODEL = "claude-sonnet-4-5"
MAX_TOKENS = 8192


class ScriptError(Exception):
    """A tool answered something else than the script relies on."""


def main() -> None:
    """Record the session and say how large it became."""
    with tempfile.TemporaryDirectory() as scratch:
        shop = Path(scratch).resolve() / "shop"
        shop.mkdir()
        workspace = Workspace(shop, ROOT, MORNING)
        sample_project.build(shop, workspace.environment())
        messages = list(_record(workspace, STORY))
    body: dict[str, Json] = {
        "model": MODEL,
        "max_tokens": MAX_TOKENS,
        "system": SYSTEM_PROMPT,
        "tools": [tool.schema() for tool in TOOLS.values()],
        "messages": messages,
    }
    text = json.dumps(body, ensure_ascii=False, indent=1) + "\n"
    SESSION.write_text(text, encoding="utf-8")
    print(f"{SESSION.name}: {len(messages)} messages, {len(text.encode()):,} bytes")


def _record(workspace: Workspace, story: Sequence[Turn]) -> Iterator[Json]:
    """Run the story and tell it as messages."""
    calls_made = 0
    for turn in story:
        yield {"role": "user", "content": turn.request}
        for step in turn.steps:
            ids = [_call_id(calls_made + place, call) for place, call in enumerate(step.calls)]
            now = workspace.now + PACE * calls_made
            calls_made += len(step.calls)
            yield {"role": "assistant", "content": _said(step, ids)}
            yield {"role": "user", "content": _answered(replace(workspace, now=now), step, ids)}
        if turn.answer:
            yield {"role": "assistant", "content": [{"type": "text", "text": turn.answer}]}


def _said(step: Step, ids: Sequence[str]) -> list[Json]:
    words: list[Json] = [{"type": "text", "text": step.words}] if step.words else []
    calls: list[Json] = [
        {"type": "tool_use", "id": call_id, "name": call.tool, "input": dict(call.arguments)}
        for call_id, call in zip(ids, step.calls, strict=True)
    ]
    return words + calls


def _answered(workspace: Workspace, step: Step, ids: Sequence[str]) -> list[Json]:
    results: list[Json] = [
        _result(call_id, _checked(call, run_tool(workspace, call.tool, call.arguments)))
        for call_id, call in zip(ids, step.calls, strict=True)
    ]
    if step.interjection:
        results.append({"type": "text", "text": step.interjection})
    return results


def _checked(call: Call, output: Output) -> Output:
    """Insist on what the script relies on.

    Raises:
        ScriptError: If the call failed and should not have, or the other way
            round, or its result lacks what the agent goes on to speak about.
    """
    text = "\n".join(output.blocks)
    if output.is_error != call.fails or call.shows not in text:
        wanted = f"{'failure' if call.fails else 'success'} that shows {call.shows!r}"
        asked = json.dumps(dict(call.arguments), ensure_ascii=False)
        raise ScriptError(f"{call.tool} {asked}\nwanted: {wanted}\nanswered:\n{text}")
    return output


def _result(call_id: str, output: Output) -> Json:
    content: Json = output.blocks[0]
    if len(output.blocks) > 1:
        content = [{"type": "text", "text": block} for block in output.blocks]
    result: dict[str, Json] = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
    }
    if output.is_error:
        result["is_error"] = True
    return result


def _call_id(number: int, call: Call) -> str:
    """Make an id that is the same in each recording."""
    asked = json.dumps([number, call.tool, dict(call.arguments)], sort_keys=True)
    return f"toolu_{hashlib.sha256(asked.encode()).hexdigest()[:24]}"


if __name__ == "__main__":
    main()
