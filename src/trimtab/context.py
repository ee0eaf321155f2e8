"""The library's front door: for programs that hold their messages as dicts or SDK objects.

::

    context = Context("gpt-5.2")
    view = context.fit(messages, tools=tools)
    answer = client.chat.completions.create(model="gpt-5.2", messages=view.messages, tools=view.tools)
    context.observe(view, answer.usage)

The history stays the program's own and only grows; a view of it is what is
sent. What no edit names is the very same object that was given.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from trimtab.chain import digest
from trimtab.engine import Engine
from trimtab.errors import RequestError
from trimtab.events import Event
from trimtab.plan import Outcome, Plan
from trimtab.policy import Policy
from trimtab.refusal import Refusal
from trimtab.stores import Store
from trimtab.summary import Summarizer
from trimtab.tokens import TokenCounter
from trimtab.turn import Rewrite, Ticket, Turn
from trimtab.usage import Usage
from trimtab.wire import Call, format_named, view_pieces
from trimtab.wire.json_spans import dump, dump_sorted, load, object_spans
from trimtab.wire.objects import encode_object, tell_format
from trimtab.wire.usages import usage_from

__all__ = ["AsyncContext", "Context", "View"]

Object: TypeAlias = Any
"""A dict, or an object of a provider's SDK."""

_MOST_BYTES = 64 * 1024 * 1024
"""Bytes of objects as they were first sent that are kept, so that they can be sent so again."""

_MOST_SPELLINGS = 100_000
"""Objects whose spelling is known without sorting their keys."""


@dataclass(frozen=True, slots=True)
class View:
    """What to send.

    Attributes:
        messages: The messages; those that no edit names are the objects that were given.
        tools: The tools, in the order in which each was first sent; None where none were given.
        parameters: All else that was given to ``fit``, with what an edit needs.
        headers: Headers that an edit needs; empty for most.
        outcome: Whether it fits, in numbers.
        plan: Every edit, with its reason and what it saves.
        events: What happened, in the past tense.
        ticket: What the context knows it by.
    """

    messages: list[Object] = field(repr=False)
    tools: list[Object] | None = field(repr=False)
    parameters: dict[str, Any] = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    outcome: Outcome
    plan: Plan
    events: tuple[Event, ...]
    ticket: Ticket = field(repr=False)


class Context:
    """Fits the requests of one agent loop.

    Not for two conversations at a time: take a context for each. They may
    share a store.

    Args:
        model: The model's id.
        policy: What to keep and how far to go; None for the defaults.
        store: Where to remember; None for this process's memory.
        counter: Counts words; None for the best that is installed for the model.
        format: ``anthropic`` or ``openai-chat``; None to tell it from the model and the messages.
        tenant: Whose conversations these are, where a store is shared.
        headers_settable: Whether :attr:`View.headers` will be sent. A few models
            take some edits only with a header; without it those are not made.
        summarizer: Sums up the older part in the background before it has to go
            (:func:`~trimtab.summarizer.model_summarizer`); None for none.
    """

    def __init__(  # noqa: PLR0913 - settings, by name
        self,
        model: str,
        policy: Policy | None = None,
        *,
        store: Store | None = None,
        counter: TokenCounter | None = None,
        format: str | None = None,  # noqa: A002 - the word for it
        tenant: str = "",
        headers_settable: bool = False,
        summarizer: Summarizer | None = None,
    ) -> None:
        self._engine = _engine(policy, store, counter, headers_settable, summarizer)
        self._desk = _Desk(self._engine, model, format, tenant)

    def fit(
        self,
        messages: Sequence[Object],
        *,
        tools: Sequence[Object] | None = None,
        **parameters: Any,  # noqa: ANN401 - whatever the SDK takes
    ) -> View:
        """Make a view of a history that fits.

        Args:
            messages: The whole history, oldest first. It is not changed.
            tools: What the request offers.
            **parameters: All else that the request sends and that has a part in it:
                ``system``, ``thinking``, ``max_tokens`` and others.

        Returns:
            The view. Where it does not fit, its outcome says why, in numbers.

        Raises:
            RequestError: If something in it is no JSON, or no message.
            PolicyError: If nobody named a limit and the model's window is not known.
            TokenCountError: If the counter fails.
        """
        given = self._desk.take(messages, tools, parameters)
        sync = self._engine.sync
        if (taken := self._desk.taken_before(given.turn)) is not None:
            sync.forwarded(taken)
        return self._desk.view(given, sync.rewrite(given.turn))

    def observe(self, view: View, usage: Usage | Object | None = None) -> None:
        """Say that the provider has taken a view.

        Where nobody does, the next ``fit`` takes it to be so if the history went on behind it.

        Args:
            view: What was sent.
            usage: What was billed: the ``usage`` of the answer, as the SDK gives it.
        """
        self._desk.heard_of(view)
        if usage is None:
            self._engine.sync.forwarded(view.ticket)
        else:
            self._engine.sync.observed(view.ticket, usage_from(usage))

    def refused(self, view: View, refusal: Refusal) -> View | None:
        """Say that the provider has refused a view.

        Returns:
            What to send instead, once; None where there is nothing better.
        """
        given = self._desk.heard_of(view)
        rewrite = self._engine.sync.refused(view.ticket, refusal)
        return None if rewrite is None or given is None else self._desk.view(given, rewrite)


class AsyncContext:
    """A :class:`Context` for code that awaits; the same arguments."""

    def __init__(  # noqa: PLR0913 - settings, by name
        self,
        model: str,
        policy: Policy | None = None,
        *,
        store: Store | None = None,
        counter: TokenCounter | None = None,
        format: str | None = None,  # noqa: A002 - the word for it
        tenant: str = "",
        headers_settable: bool = False,
        summarizer: Summarizer | None = None,
    ) -> None:
        self._engine = _engine(policy, store, counter, headers_settable, summarizer)
        self._desk = _Desk(self._engine, model, format, tenant)

    async def fit(
        self,
        messages: Sequence[Object],
        *,
        tools: Sequence[Object] | None = None,
        **parameters: Any,  # noqa: ANN401 - whatever the SDK takes
    ) -> View:
        """Make a view of a history that fits; see :meth:`Context.fit`."""
        given = self._desk.take(messages, tools, parameters)
        if (taken := self._desk.taken_before(given.turn)) is not None:
            await self._engine.forwarded(taken)
        return self._desk.view(given, await self._engine.rewrite(given.turn))

    async def observe(self, view: View, usage: Usage | Object | None = None) -> None:
        """Say that the provider has taken a view; see :meth:`Context.observe`."""
        self._desk.heard_of(view)
        if usage is None:
            await self._engine.forwarded(view.ticket)
        else:
            await self._engine.observed(view.ticket, usage_from(usage))

    async def refused(self, view: View, refusal: Refusal) -> View | None:
        """Say that the provider has refused a view; see :meth:`Context.refused`."""
        given = self._desk.heard_of(view)
        rewrite = await self._engine.refused(view.ticket, refusal)
        return None if rewrite is None or given is None else self._desk.view(given, rewrite)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a program gave, read."""

    messages: Sequence[Object]
    tools: list[Object] | None
    parameters: dict[str, Any]
    turn: Turn


def _engine(
    policy: Policy | None,
    store: Store | None,
    counter: TokenCounter | None,
    headers_settable: bool,  # noqa: FBT001 - as it was given
    summarizer: Summarizer | None,
) -> Engine:
    """The engine of a context; with somebody who sums up it wants summaries."""
    if summarizer is None:
        return Engine(policy, store, counter, headers_settable=headers_settable)
    from trimtab.background import BackgroundSummaries  # noqa: PLC0415 - most programs need none

    return Engine(
        replace(policy or Policy(), summaries=True),
        store,
        counter,
        headers_settable=headers_settable,
        summaries=BackgroundSummaries(summarizer),
    )


class _Desk:
    """Makes requests of objects, and objects of rewrites."""

    def __init__(self, engine: Engine, model: str, format: str | None, tenant: str) -> None:  # noqa: A002 - the word for it
        self._engine = engine
        self._model = model
        self._format = format
        self._tenant = tenant
        self._spelling = _Spelling()
        self._tools: dict[bytes, None] = {}  # by their sorted form, in the order first sent
        self._open: tuple[Ticket, _Given] | None = None  # a view that nobody has reported on

    def take(
        self,
        messages: Sequence[Object],
        tools: Sequence[Object] | None,
        parameters: dict[str, Any],
    ) -> _Given:
        """Write objects as a body, each as it was first sent, and read it."""
        if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
            kind = type(messages).__name__
            raise RequestError(f"the messages are a {kind}, not a list of the SDK's messages")
        fields = {"model": dump(self._model)}
        for name, value in parameters.items():
            fields[name] = encode_object(value, f"`{name}`")
        kept = None if tools is None else self._in_order(tools)
        if kept is not None:
            fields["tools"] = _array(raw for raw, _ in kept)
        spelled = [
            self._spelling.first(encode_object(message, f"message {place}"))
            for place, message in enumerate(messages)
        ]
        wire_format = self._format or tell_format(self._model, parameters, messages)
        fields[format_named(wire_format).history_field] = _array(raw for raw, _ in spelled)
        members = (dump(name) + b":" + raw for name, raw in fields.items())
        call = Call(b"{" + b",".join(members) + b"}", model=self._model, is_built=True)
        turn = self._engine.read(call, wire_format, tenant=self._tenant)
        return _Given(
            [
                message if is_as_first else load(raw)
                for message, (raw, is_as_first) in zip(messages, spelled, strict=True)
            ],
            None if kept is None else [tool for _, tool in kept],
            parameters,
            turn,
        )

    def _in_order(self, tools: Sequence[Object]) -> list[tuple[bytes, Object]]:
        """Put tools in the order in which each was first sent; new ones come last."""
        named: dict[bytes, tuple[bytes, Object]] = {}
        for place, tool in enumerate(tools):
            raw, is_as_first = self._spelling.first(encode_object(tool, f"tool {place}"))
            named.setdefault(raw, (raw, tool if is_as_first else load(raw)))
        self._tools.update(dict.fromkeys(named))
        return [named[raw] for raw in self._tools if raw in named]

    def view(self, given: _Given, rewrite: Rewrite) -> View:
        """Make objects of a rewrite."""
        self._open = (rewrite.ticket, given)
        messages: list[Object] = []
        for piece in view_pieces(given.turn.request, rewrite.plan):
            messages += (
                (given.messages[place] for place in piece)
                if isinstance(piece, range)
                else (load(piece),)
            )
        return View(
            messages,
            given.tools,
            {**given.parameters, **_edited_fields(rewrite)},
            rewrite.headers,
            rewrite.outcome,
            rewrite.plan,
            rewrite.events,
            rewrite.ticket,
        )

    def heard_of(self, view: View) -> _Given | None:
        """Note that somebody has reported on a view."""
        if self._open is None or self._open[0] is not view.ticket:
            return None
        given = self._open[1]
        self._open = None
        return given

    def taken_before(self, turn: Turn) -> Ticket | None:
        """The ticket of a view that nobody reported on, where the history went on behind it."""
        if self._open is None:
            return None
        ticket = self._open[0]
        self._open = None
        count = len(ticket.turn.links)
        goes_on = 0 < count < len(turn.links) and turn.links[count - 1] == ticket.turn.key
        return ticket if goes_on else None


class _Spelling:
    """Knows how each object was first written, so that another order of keys changes no byte."""

    def __init__(self) -> None:
        self._first: OrderedDict[bytes, bytes] = OrderedDict()  # by the sorted form
        self._known: OrderedDict[bytes, bytes] = OrderedDict()  # as written: its sorted form
        self._bytes = 0

    def first(self, raw: bytes) -> tuple[bytes, bool]:
        """How an object was first written, and whether it still is.

        Args:
            raw: As it is written now.
        """
        written = digest(raw)
        form = self._known.get(written)
        if form is None:
            form = digest(dump_sorted(load(raw)))
            self._known[written] = form
            if len(self._known) > _MOST_SPELLINGS:
                self._known.popitem(last=False)
        first = self._first.setdefault(form, raw)
        self._first.move_to_end(form)
        if first is raw:
            self._bytes += len(raw)
            self._forget()
        return first, first == raw

    def _forget(self) -> None:
        while self._bytes > _MOST_BYTES:
            _, gone = self._first.popitem(last=False)
            self._bytes -= len(gone)
            self._known.pop(digest(gone), None)


def _array(elements: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(elements) + b"]"


def _edited_fields(rewrite: Rewrite) -> Mapping[str, Any]:
    """The parameters that an edit has changed."""
    if not rewrite.plan.envelope:
        return {}
    spans = object_spans(rewrite.body)
    names = {edit.path[0] for edit in rewrite.plan.envelope}
    return {name: load(rewrite.body[slice(*spans[name])]) for name in names if name in spans}
