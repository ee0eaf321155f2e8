"""Claude Code's session logs: JSON lines become the requests that the client really made.

A log is a tree, not a list: each line names the line that it continues
(``parentUuid``). A pure walk up from a response loses the results of parallel
calls, which all hang on their own call; a pure reading from top to bottom
keeps what the user rewound. So lines become *nodes*, a prompt or a whole
response, and everything else hangs on the node that it follows: the way from
a response up to its root holds what was sent, and a call finds its result by
its id, wherever the line lies.

What the log does not say outright, and what is done about it:

* One response is a line for each content block, with the same ``message.id``;
  results may lie between them. Lines of one id are one message. Usage repeats
  on each; its output grows, so the largest counts.
* A resumed session copies lines under new ``uuid``. A response is one request
  however often it stands there, and a block is sent once.
* ``compact_boundary`` starts a new root, which begins with the summary.
* Sub-agents (``isSidechain``) are recordings of their own.
* As in the client: results come first in a user message, then attachments, then
  words; blank texts and messages of mere thinking go; a call without a result
  is answered as interrupted.
* Lines with ``isMeta`` are hidden from the user, not from the model: they are
  sent. Attachments are sent as reminders in the shape of
  :func:`_attachment_blocks`; the client's own wording is not in the log.
* A message that the log lacks becomes a stand-in text, so that the body stays valid.

Of blocks the bytes are those of the log. System prompt and tool definitions
are not in it: tools are stubs that have the names of the calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from trimtab.errors import MalformedBodyError, RequestError
from trimtab.replay.answers import NO_CALL, NO_MESSAGE, STAND_IN, seconds
from trimtab.replay.json_lines import (
    ABSENT,
    Bytes,
    Shape,
    begins,
    first_lines,
    lines,
    mentions,
    numbered,
    skipped,
)
from trimtab.replay.recording import RecordedRequest, Recording, with_notes
from trimtab.usage import Usage
from trimtab.wire.json_spans import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["KIND", "read", "recognises"]

KIND = "claude-code"

# What the client asks for unless CLAUDE_CODE_MAX_OUTPUT_TOKENS is set; the log does not say.
_MAX_TOKENS = 32_000

# Hooks and snapshots come before the first word: at most 8 lines in the logs at hand.
_LINES_LOOKED_AT = 1000

# The client's words for a tool that was stopped.
_INTERRUPTED = "[Request interrupted by user for tool use]"

# What a recording tells of itself, each with how often it happened.
_NO_RESULT = "tool calls without a result, answered as interrupted, as the client does"
_NO_PARENT = "lines that continue one that is not in the log, taken to follow the line above"
_KEPT = "compactions that kept messages, which are not shown after them"
_SHORTENED = "times that the client shortened old results, which are shown whole"

_UNRECORDED = frozenset({"tools", "system", "max_tokens"})

# Attachments that the client shows to the user and does not send.
_FOR_THE_USER = frozenset({
    "already_read_file", "command_permissions", "dynamic_skill", "hook_cancelled",
    "hook_error_during_execution", "hook_non_blocking_error", "hook_permission_decision",
    "hook_system_message", "structured_output",
})  # fmt: skip

# Of a hook that went well, the output is sent for these events alone.
_EVENTS_WITH_OUTPUT = frozenset({"SessionStart", "UserPromptSubmit"})


# Lines of which something is sent.
_SAID = frozenset({"user", "assistant", "attachment"})


# --------------------------------------------------------------- what a line says


class _Written(msgspec.Struct):
    ephemeral_1h_input_tokens: int | None = None


class _Tokens(msgspec.Struct):
    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Written | None = None
    output_tokens: int | None = None

    @property
    def is_kept_long(self) -> bool:
        """Whether anything was written to the cache for an hour."""
        return self.cache_creation is not None and bool(
            self.cache_creation.ephemeral_1h_input_tokens
        )


class _Message(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: Raw = ABSENT
    usage: _Tokens | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | UnsetType | None = UNSET
    agent_id: str | None = None
    timestamp: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_virtual: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: _Message | None = None
    attachment: Raw = ABSENT
    rendered: Raw = ABSENT
    content: Raw = ABSENT
    compact_metadata: Raw = ABSENT


class _BlockHead(msgspec.Struct):
    type: str = ""
    id: str | None = None
    tool_use_id: str | None = None
    name: str | None = None
    text: Raw = ABSENT


class _Attachment(msgspec.Struct, rename="camel"):
    type: str = ""
    hook_event: str | None = None
    content: Raw = ABSENT
    prompt: Raw = ABSENT


class _Attached(msgspec.Struct):
    type: str = ""
    file: Raw = ABSENT


class _Image(msgspec.Struct):
    type: Raw = ABSENT
    base64: Raw = ABSENT


class _Rendered(msgspec.Struct):
    content: Raw = ABSENT


_MESSAGE = Shape(_Message)
_LINE = Shape(_Line, {"message": _MESSAGE})
_BLOCK = Shape(_BlockHead)
_ATTACHMENT = Shape(_Attachment)
_ATTACHED = Shape(_Attached)
_IMAGE = Shape(_Image)
_RENDERED = Shape(_Rendered)


class _Block(NamedTuple):
    """A content block: its JSON text, and of a call or result the id of the call."""

    json: Bytes
    type: str
    call_id: str = ""
    name: str = ""


def recognises(data: bytes) -> bool:
    """Say whether it is a log of Claude Code: the first line of a conversation decides."""
    head = first_lines(data, _LINES_LOOKED_AT)
    if not mentions(head, b"message"):
        return False
    for _, text in lines(head):
        line = _LINE.read_or_none(text)
        if line is not None and line.type in {"user", "assistant"}:
            return line.message is not None and line.message.role == line.type
    return False


def read(data: bytes, name: str) -> list[Recording]:
    """Read the main session and each sub-agent in a log.

    Args:
        data: The whole log. The recordings keep it, and hold views of it.
        name: What the file is called.

    Raises:
        RequestError: If it holds no response.
    """
    threads, notes = _threads(data)
    recordings = [
        recording
        for agent, thread in threads.items()
        if (recording := _recording(f"{name}#{agent}" if agent else name, thread)) is not None
    ]
    if not recordings:
        raise RequestError(
            f"`{name}` is a log of Claude Code without a response in it, so it shows no request"
        )
    return with_notes(recordings, notes)


def _threads(data: bytes) -> tuple[dict[str, list[_Line]], tuple[str, ...]]:
    """Split a log into the main session (named "") and its sub-agents; say what was skipped."""
    threads: dict[str, list[_Line]] = {}
    agents: dict[str, str] = {}
    broken: list[int] = []
    foreign: list[int] = []
    is_ascii = data.isascii()
    for number, text in lines(data):
        if begins(text, b"//"):
            continue
        try:
            line = _LINE.read(text)
            if not is_ascii and line.type in _SAID and not _is_utf8(text):
                foreign.append(number)
                line = _LINE.read(bytes(text).decode("utf-8", "replace").encode())
        except MalformedBodyError:
            broken.append(number)
            continue
        threads.setdefault(_agent(line, agents), []).append(line)
    replaced = f"replaced bytes that are not UTF-8 in lines {numbered(foreign)}"
    return threads, (*skipped(broken), *((replaced,) if foreign else ()))


def _is_utf8(text: memoryview) -> bool:
    try:
        str(text, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _agent(line: _Line, agents: dict[str, str]) -> str:
    """Name the sub-agent that a line belongs to; "" is the main session.

    Early versions name none: there, each root starts one.

    Args:
        line: The line.
        agents: Sub-agents that have no name, by the ``uuid`` of their lines; gets this line's.
    """
    if not line.is_sidechain:
        return ""
    if line.agent_id:
        return line.agent_id
    parent = line.parent_uuid
    known = agents.get(parent) if isinstance(parent, str) else None
    agent = known or f"agent-{(line.uuid or '')[:8]}"
    if line.uuid:
        agents[line.uuid] = agent
    return agent


# ------------------------------------------------------------------------- blocks


def _blocks(content: Raw) -> list[_Block]:
    """Split what a message says into blocks; blank texts and what is no block are left out."""
    if begins(content, b'"'):
        return [] if _is_blank(content) else [_text_block(memoryview(content))]
    return [
        _Block(text, head.type, head.tool_use_id or head.id or "", head.name or "")
        for text, head in _BLOCK.read_each(content)
        if not (head.type == "text" and _is_blank(head.text))
    ]


def _text_block(text: Bytes) -> _Block:
    """Make a block of a JSON string."""
    return _Block(b"".join((b'{"type":"text","text":', text, b"}")), "text")


def _is_blank(text: Raw) -> bool:
    """Whether a JSON string holds nothing but whitespace."""
    view = memoryview(text)
    if view.nbytes > 2 and (view[1] > 32 and view[1] != ord("\\") and view[1] < 128):
        return False
    value = load(bytes(view)) if view.nbytes else ""
    return not (isinstance(value, str) and value.strip())


def _reminder(text: str) -> _Block:
    return _text_block(dump(f"<system-reminder>\n{text}\n</system-reminder>"))


def _attachment_blocks(line: _Line) -> list[_Block]:
    """Turn an attachment into what the model sees of it.

    Newer clients log the wording (``rendered``). Otherwise a message that the
    user queued comes as it is and an image as an image; all else as a
    reminder that holds its ``content`` where that is words, and its JSON text
    where it is not.
    """
    if begins(line.rendered, b"["):
        parts = _RENDERED.read_each(line.rendered)
        return [block for _, part in parts for block in _blocks(part.content)]
    attachment = _ATTACHMENT.read_or_none(line.attachment)
    if attachment is None or attachment.type in _FOR_THE_USER:
        return []
    if attachment.type == "queued_command":
        return _blocks(attachment.prompt)
    words = _words(attachment.content)
    if attachment.type == "hook_success" and (
        attachment.hook_event not in _EVENTS_WITH_OUTPUT or not words
    ):
        return []
    image = _image_block(attachment.content)
    return [image or _reminder(words or bytes(line.attachment).decode())]


def _image_block(content: Raw) -> _Block | None:
    """Make a block of an attached file that is an image; None where it is something else."""
    attached = _ATTACHED.read_or_none(content)
    if attached is None or attached.type != "image":
        return None
    image = _IMAGE.read_or_none(attached.file)
    if image is None or not (begins(image.type, b'"') and begins(image.base64, b'"')):
        return None
    source = (b'{"type":"base64","media_type":', image.type, b',"data":', image.base64, b"}")
    return _Block(b'{"type":"image","source":%b}' % b"".join(source), "image")


def _words(content: Raw) -> str:
    """Read a string, or a list of them; empty for anything else."""
    value = load(bytes(content)) if content != ABSENT else ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = "\n".join(value)
    return value.strip() if isinstance(value, str) else ""


# --------------------------------------------------------------------------- tree


@dataclass(slots=True, eq=False)
class _Node:
    """A point of a conversation: its root, a prompt or a whole response, and what hangs on it.

    Attributes:
        parent: What it continues; None for a root.
        answer_id: Which response it is; empty for a root or a prompt.
        said: What the response says.
        attachments: What the client attached after it.
        words: What the prompt says, and what else was said to the model after it.
        is_continued: Whether anything does.
    """

    parent: _Node | None
    answer_id: str = ""
    said: tuple[_Block, ...] = ()
    attachments: tuple[_Block, ...] = ()
    words: tuple[_Block, ...] = ()
    is_continued: bool = False

    @property
    def is_prompt(self) -> bool:
        return self.parent is not None and not self.answer_id

    @property
    def has_calls(self) -> bool:
        return any(block.type == "tool_use" for block in self.said)


@dataclass(slots=True)
class _Response:
    """What is known of a response; its request is everything up to ``asked``."""

    asked: _Node
    model: str
    at: float | None
    usage: Usage | None = None
    is_kept_long: bool = False


class _Tree:
    """A conversation as it branched.

    Attributes:
        responses: Responses by id, in the order of the log.
        tools: Names of the tools that were called, in the order of the log.
        notes: How often something had to be guessed, by what it was.
    """

    def __init__(self, thread: Sequence[_Line]) -> None:
        self.responses: dict[str, _Response] = {}
        self.tools: dict[str, None] = {}
        self.notes: Counter[str] = Counter()
        # A log whose lines name no parents at all is read from top to bottom.
        self._is_list = not any(isinstance(line.parent_uuid, str) for line in thread)
        self._nodes: dict[str, _Node] = {}
        # A node does not know what continues it: two that hold each other are freed late.
        self._answers: dict[tuple[_Node, str], _Node] = {}
        self._results: dict[str, tuple[int, _Block]] = {}
        self._calls: set[str] = set()
        self._interrupted: set[str] = set()
        self._root = self._last = self._newest = _Node(None)
        for line in thread:
            self._add(line)

    def _add(self, line: _Line) -> None:
        if line.uuid is not None and line.uuid in self._nodes:
            return
        node = self._place(line, self._continued(line))
        self._last = node
        if line.uuid is not None:
            self._nodes[line.uuid] = node

    def _place(self, line: _Line, before: _Node) -> _Node:
        """Put what a line says where it belongs; answer the node that the next line continues."""
        match line.type:
            case "user" if not line.is_virtual:
                content = ABSENT if line.message is None else line.message.content
                return self._add_words(line, content, before)
            case "assistant" if not line.is_api_error_message:
                return self._add_answer(line, before)
            case "attachment":
                before.attachments += tuple(_attachment_blocks(line))
            case "system":
                return self._place_event(line, before)
        return before

    def _place_event(self, line: _Line, before: _Node) -> _Node:
        match line.subtype:
            case "local_command":
                return self._add_words(line, line.content, before)
            case "compact_boundary":
                if b'"preservedSegment"' in bytes(line.compact_metadata):
                    self.notes[_KEPT] += 1
                return self._start()
            case "microcompact_boundary":
                self.notes[_SHORTENED] += 1
        return before

    def _continued(self, line: _Line) -> _Node:
        """Find the node that a line continues."""
        parent = line.parent_uuid
        if self._is_list or parent is UNSET:
            return self._last
        if parent is None:
            # Only what can begin a conversation does; a response without a parent has lost it.
            is_first = line.type != "assistant" and self._root.is_continued
            return self._start() if is_first else self._last
        if parent not in self._nodes:
            self.notes[_NO_PARENT] += 1
            return self._last
        return self._nodes[parent]

    def _start(self) -> _Node:
        self._root = _Node(None)
        return self._root

    def _continue(self, before: _Node, answer_id: str = "") -> _Node:
        before.is_continued = True
        self._newest = _Node(before, answer_id)
        return self._newest

    def _add_words(self, line: _Line, content: Raw, before: _Node) -> _Node:
        blocks = _blocks(content)
        words = [block for block in blocks if block.type != "tool_result"]
        for block in blocks:
            if block.type == "tool_result":
                self._results.setdefault(block.call_id, (len(self._results), block))
        # What comes with results, or from the client between them, hangs on
        # the calls: the next response may continue another of the results.
        if len(words) < len(blocks) or (line.is_meta and before.has_calls):
            before.words += tuple(words)
            return before
        if not words:
            return before
        if line.is_compact_summary and before.parent is not None:
            before = self._start()
        node = self._continue(before)
        node.words = tuple(words)
        return node

    def _add_answer(self, line: _Line, before: _Node) -> _Node:
        message = line.message
        if message is None or message.model == "<synthetic>":
            return before
        answer_id = message.id or line.uuid or f"response {len(self.responses) + 1}"
        node = _enclosing(before, answer_id) or self._answers.get((before, answer_id))
        if node is None:
            asked = self._asked(before)
            node = self._answers[before, answer_id] = self._continue(asked, answer_id)
            if answer_id not in self.responses:
                at = seconds(line.timestamp)
                self.responses[answer_id] = _Response(asked, message.model or "", at)
        response = self.responses[answer_id]
        response.usage = _larger(response.usage, message.usage)
        response.is_kept_long |= message.usage is not None and message.usage.is_kept_long
        for block in _blocks(message.content):
            if block not in node.said:
                node.said += (block,)
                if block.type == "tool_use":
                    self.tools[block.name] = None
                    self._calls.add(block.call_id)
        return node

    def told(self) -> list[str]:
        """Say in words what had to be guessed."""
        self.notes[_NO_RESULT] = len(self._interrupted)
        self.notes[NO_CALL] = len(self._results.keys() - self._calls)
        return [f"{what}: {count}" for what, count in self.notes.items() if count]

    def results_for(self, calls: Iterable[str]) -> list[_Block]:
        """Find what answers some calls, in the order of the log; make what is not there."""
        found: list[tuple[int, _Block]] = []
        missing: list[_Block] = []
        for call in calls:
            if call in self._results:
                found.append(self._results[call])
            else:
                self._interrupted.add(call)
                missing.append(_interrupted(call))
        return [block for _, block in sorted(found, key=itemgetter(0))] + missing

    def _asked(self, before: _Node) -> _Node:
        """Find what a response answers.

        It answers the prompt that was logged last, if only prompts lie between
        that and the line that it names: one typed between the results of
        parallel calls continues one result, the response another.
        """
        node = self._newest
        while node.is_prompt and node is not before and node.parent is not None:
            node = node.parent
        return self._newest if node is before else before


def _enclosing(before: _Node, answer_id: str) -> _Node | None:
    """Find the response of which a line is a part, prompts that came between not counted."""
    node: _Node | None = before
    while node is not None and node.is_prompt:
        node = node.parent
    return node if node is not None and node.answer_id == answer_id else None


def _larger(known: Usage | None, tokens: _Tokens | None) -> Usage | None:
    """Take the usage of one more line into account: the output grows, all else repeats."""
    if tokens is None:
        return known
    output = tokens.output_tokens or 0
    if known is None:
        return Usage(
            fresh=tokens.input_tokens or 0,
            cache_read=tokens.cache_read_input_tokens or 0,
            cache_write=tokens.cache_creation_input_tokens or 0,
            output=output,
        )
    return known if output <= known.output else replace(known, output=output)


# ----------------------------------------------------------------------- requests

_USER = b'{"role":"user","content":['
_ASSISTANT = b'{"role":"assistant","content":['


class _Sent(NamedTuple):
    """A message as it is sent: what is before its blocks, these, and how long it is."""

    head: bytes
    blocks: Sequence[_Block]
    size_bytes: int

    def pieces(self) -> Iterator[Bytes]:
        """Its JSON text, without copies of any block."""
        before = self.head
        for block in self.blocks:
            yield before
            yield block.json
            before = b","
        yield b"]}"


class _Branch:
    """The messages along one way through a tree; each request is a beginning of one.

    Attributes:
        tip: The last node on the way.
        messages: What was sent and answered up to there.
        size_bytes: Their length, with a comma behind each.
    """

    def __init__(self, tree: _Tree) -> None:
        self.tip: _Node | None = None
        self.messages: list[_Sent] = []
        self.size_bytes = 0
        self._tree = tree
        self._said: dict[str, list[_Block]] = {}
        self._calls: set[str] = set()
        self._begin_turn([])

    def _begin_turn(self, calls: list[str]) -> None:
        self._open_calls = calls
        self._attachments: list[_Block] = []
        self._words: list[_Block] = []
        self._question: _Sent | None = None

    def question(self) -> _Sent:
        """The user message that is sent next."""
        if self._question is None:
            results = self._tree.results_for(self._open_calls)
            blocks = [*results, *self._attachments, *self._words]
            if not blocks:
                self._tree.notes[NO_MESSAGE] += 1
                blocks = [_text_block(dump(STAND_IN))]
            self._question = _sent(_USER, blocks)
        return self._question

    def extend(self, nodes: Iterable[_Node]) -> None:
        """Go on along the way."""
        for node in nodes:
            self.tip = node
            is_copy = node.answer_id in self._said
            if node.answer_id:
                self._answer(self._unsaid(node))
            if not is_copy and (node.attachments or node.words):
                self._attachments += node.attachments
                self._words += node.words
                self._question = None

    def _unsaid(self, node: _Node) -> list[_Block]:
        """Take from a response what this way does not hold yet."""
        said = self._said.setdefault(node.answer_id, [])
        new: list[_Block] = []
        for block in node.said:
            if block in said or (block.type == "tool_use" and block.call_id in self._calls):
                continue
            if block.type == "tool_use":
                self._calls.add(block.call_id)
            new.append(block)
        said += new
        return new

    def _answer(self, blocks: list[_Block]) -> None:
        # The client drops a response that is nothing but thinking.
        if all(block.type in {"thinking", "redacted_thinking"} for block in blocks):
            return
        for message in (self.question(), _sent(_ASSISTANT, blocks)):
            self.messages.append(message)
            self.size_bytes += message.size_bytes + 1
        self._begin_turn([block.call_id for block in blocks if block.type == "tool_use"])


def _interrupted(call_id: str) -> _Block:
    result = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": _INTERRUPTED,
        "is_error": True,
    }
    return _Block(dump(result), "tool_result", call_id)


def _sent(head: bytes, blocks: Sequence[_Block]) -> _Sent:
    between = len(blocks) - 1 + len(b"]}")
    return _Sent(head, blocks, len(head) + sum(len(block.json) for block in blocks) + between)


def _recording(name: str, thread: Sequence[_Line]) -> Recording | None:
    """Turn the lines of one conversation into its requests; None where nobody answered."""
    tree = _Tree(thread)
    if not tree.responses:
        return None
    heads = {
        model: _head(model, tree.tools) for model in {r.model for r in tree.responses.values()}
    }
    branches: dict[_Node, _Branch] = {}
    requests = [
        _request(response, heads[response.model], _branch_to(response.asked, branches, tree))
        for response in tree.responses.values()
    ]
    return Recording(KIND, name, requests, tuple(tree.told()))


def _branch_to(node: _Node, branches: dict[_Node, _Branch], tree: _Tree) -> _Branch:
    """Make the branch that ends at a node, out of one that it extends where there is one.

    Args:
        node: The prompt or response that is asked about.
        branches: All branches by their tips; gets the new tip.
        tree: Where all this lies.
    """
    steps: list[_Node] = []
    at: _Node | None = node
    while at is not None and at not in branches:
        steps.append(at)
        at = at.parent
    branch = _Branch(tree) if at is None else branches.pop(at)
    branch.extend(reversed(steps))
    branches[node] = branch
    return branch


def _request(response: _Response, head: bytes, branch: _Branch) -> RecordedRequest:
    question = branch.question()
    count = len(branch.messages)
    return RecordedRequest(
        format="anthropic",
        build=partial(_body, head, branch.messages, count, question),
        size_bytes=len(head) + branch.size_bytes + question.size_bytes + len(b"]}"),
        message_count=count + 1,
        model=response.model,
        usage=response.usage,
        at=response.at,
        unrecorded=_UNRECORDED,
        is_kept_long=response.is_kept_long,
    )


def _head(model: str, tools: Iterable[str]) -> bytes:
    """Write a body up to its first message."""
    stubs = [{"name": name, "input_schema": {"type": "object"}} for name in tools]
    members = {"model": model or "unknown", "max_tokens": _MAX_TOKENS}
    envelope = dump({**members, "tools": stubs} if stubs else members)
    return envelope.removesuffix(b"}") + b',"messages":['


def _body(head: bytes, messages: Sequence[_Sent], count: int, question: _Sent) -> bytes:
    pieces: list[Bytes] = [head]
    for message in islice(messages, count):
        pieces += message.pieces()
        pieces.append(b",")
    return b"".join((*pieces, *question.pieces(), b"]}"))
