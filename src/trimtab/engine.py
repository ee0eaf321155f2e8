"""The one driver around a session: load what is known, rewrite, let the caller send, record.

Everything that sends uses it: library, hooks, proxy, replay. It keeps nothing
but the store. Each key leads to a state, or to the key of one:

::

    link of the last message    ──> the state
    links of the ones before    ──> its key     whoever comes back to one of them
    weak key                    ──> its key     whose old messages the client has changed
    form:<name>                 ──> what its plan puts in place of something
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from trimtab.errors import StoreError
from trimtab.events import Event, StateUnreadable
from trimtab.policy import Policy
from trimtab.refusal import Refusal
from trimtab.session import Rewrite, Session, Ticket, Turn
from trimtab.state import State, forms_named
from trimtab.stores import Store, in_memory
from trimtab.tokens import TokenCounter
from trimtab.usage import Usage
from trimtab.wire import Call

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Answer", "Engine", "SyncEngine"]

Response = TypeVar("Response")
Result = TypeVar("Result")

_POINTER = b"trimtab-key\x01"
"""What an entry begins with that leads to the key of a state."""

_AT_ONCE = 64
"""Keys that are looked up together; a conversation that goes on is found in the first lot."""

_WEAK_KEYS = 16
"""Weak keys that are looked up, newest first: what a few turns add."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[Response]):
    """What came of sending a request.

    Attributes:
        response: Whatever the caller wants to have back.
        usage: What was billed; None where nobody said.
        refusal: Why the provider refused it; None where it took it.
    """

    response: Response
    usage: Usage | None = None
    refusal: Refusal | None = None


class Engine:
    """Runs requests of many conversations through one session.

    Args:
        policy: What the user wants kept, and how far to go; None for the defaults.
        store: Where states are kept; None for this process's memory.
        counter: Counts words; None for the best that is installed for each model.
        headers_settable: Whether headers of a rewrite will be sent.
        on_event: Is told each event; what it raises changes nothing.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        store: Store | None = None,
        counter: TokenCounter | None = None,
        *,
        headers_settable: bool = True,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.session = Session(policy, counter, headers_settable=headers_settable)
        self.store = in_memory() if store is None else store
        self._on_event = on_event

    @property
    def sync(self) -> SyncEngine:
        """The same engine for code that does not await."""
        return SyncEngine(self)

    async def rewrite(
        self,
        call: Call | Turn,
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
    ) -> Rewrite:
        """Say what to send for a request.

        Args:
            call: What came in, read or not.
            format: Name of its format; None to tell it from the content.
            tenant: Whose conversation it is; two tenants share nothing.

        Raises:
            RequestError: If it is no request of a known format.
            PolicyError: If nobody named a limit and the model's window is not known.
            StoreError: If the store cannot be reached.
            TokenCountError: If the counter fails.
        """
        turn = call
        if isinstance(turn, Call):
            turn = self.session.read(turn, format, tenant=tenant)
        rewrite = self.session.rewrite(turn, await self._find(turn))
        self._tell(rewrite.events)
        return rewrite

    async def forwarded(self, ticket: Ticket) -> None:
        """Record that the provider has taken a request: at the first byte of a 2xx, never before.

        Raises:
            StoreError: If the store cannot be reached.
        """
        await self._record(ticket.turn, self.session.forwarded(ticket))

    async def observed(self, ticket: Ticket, usage: Usage) -> None:
        """Record what a request was billed.

        Raises:
            StoreError: If the store cannot be reached.
        """
        await self._record(ticket.turn, self.session.observed(ticket, usage))

    async def refused(self, ticket: Ticket, refusal: Refusal) -> Rewrite | None:
        """Say what to send instead of a request that the provider has refused.

        Returns:
            Another rewrite, once; None where the refusal is to be passed on.

        Raises:
            StoreError: If the store cannot be reached.
        """
        answer = self.session.refused(ticket, refusal)
        if isinstance(answer, State):
            await self._record(ticket.turn, answer)
            return None
        if answer is not None:
            self._tell(answer.events)
        return answer

    async def exchange(
        self,
        call: Call,
        send: Callable[[Rewrite], Awaitable[Answer[Response]]],
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
    ) -> Response:
        """Rewrite a request, have it sent, and record what came of it.

        Args:
            call: What came in.
            send: Sends a rewrite. Called once more where the provider refuses
                the first for a reason that another form mends.
            format: Name of its format; None to tell it from the content.
            tenant: Whose conversation it is.

        Returns:
            The last response.
        """
        rewrite = await self.rewrite(call, format, tenant=tenant)
        answer = await send(rewrite)
        if answer.refusal is not None:
            second = await self.refused(rewrite.ticket, answer.refusal)
            if second is None:
                return answer.response
            rewrite, answer = second, await send(second)
        if answer.refusal is None and answer.usage is not None:
            await self.observed(rewrite.ticket, answer.usage)
        elif answer.refusal is None:
            await self.forwarded(rewrite.ticket)
        return answer.response

    # --------------------------------------------------------------- finding

    async def _find(self, turn: Turn) -> State | None:
        """The state that knows most of a request."""
        tried: set[bytes] = set()
        strong = await self._first(reversed(turn.links), tried)
        if strong is not None and not _is_far(turn, strong):
            return strong
        weak = await self._first(islice(turn.weak_keys(), _WEAK_KEYS), tried)
        if weak is None or (strong is not None and strong.messages >= weak.messages):
            return strong
        return weak

    async def _first(self, keys: Iterable[bytes], tried: set[bytes]) -> State | None:
        """The state under the first of some keys that leads to one.

        Args:
            keys: Where to look, the best first.
            tried: What could not be read; it is not read again.
        """
        for lot in _lots(keys):
            for value in await self.store.get(lot):
                found = value if value is None else await self._followed(value)
                if found is None or found in tried:
                    continue
                tried.add(found)
                state = await self._load(found)
                if state is not None:
                    return state
        return None

    async def _followed(self, value: bytes) -> bytes | None:
        """What an entry leads to, where it leads to another."""
        if not value.startswith(_POINTER):
            return value
        (found,) = await self.store.get([value.removeprefix(_POINTER)])
        return None if found is None or found.startswith(_POINTER) else found

    async def _load(self, value: bytes) -> State | None:
        """Read a state; one that cannot be read is a miss, and somebody is told."""
        try:
            names = forms_named(value)
            forms = await self.store.get([_form_key(name) for name in names])
            kept = {name: form for name, form in zip(names, forms, strict=True) if form is not None}
            return State.from_bytes(value, kept)
        except StoreError as error:
            self._tell((StateUnreadable(str(error)),))
            return None

    # ------------------------------------------------------------- recording

    async def _record(self, turn: Turn, state: State) -> None:
        """Keep a state, after all that it needs and before all that leads to it."""
        forms = {_form_key(name): form for name, form in state.forms().items()}
        if forms:
            await self.store.add(forms)
        (before,) = await self.store.get([state.key])
        if not await self.store.swap(state.key, before, state.to_bytes()):
            return  # somebody has recorded the same turn in the meantime
        pointer = _POINTER + state.key
        await self.store.add(dict.fromkeys(state.links[:-1], pointer))
        weak = state.rounds.key(turn.root)
        if weak is not None:
            await self.store.put({weak: pointer})

    def _tell(self, events: Iterable[Event]) -> None:
        if self._on_event is None:
            return
        for event in events:
            with suppress(Exception):
                self._on_event(event)


class SyncEngine:
    """An engine for code that does not await. Safe for threads as far as its store is.

    Args:
        engine: What does the work.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def rewrite(
        self,
        call: Call | Turn,
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
    ) -> Rewrite:
        """Say what to send; see :meth:`Engine.rewrite`."""
        return self._run(self.engine.rewrite(call, format, tenant=tenant))

    def forwarded(self, ticket: Ticket) -> None:
        """Record that the provider has taken a request."""
        self._run(self.engine.forwarded(ticket))

    def observed(self, ticket: Ticket, usage: Usage) -> None:
        """Record what a request was billed."""
        self._run(self.engine.observed(ticket, usage))

    def refused(self, ticket: Ticket, refusal: Refusal) -> Rewrite | None:
        """Say what to send instead; see :meth:`Engine.refused`."""
        return self._run(self.engine.refused(ticket, refusal))

    def exchange(
        self,
        call: Call,
        send: Callable[[Rewrite], Answer[Response]],
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
    ) -> Response:
        """Rewrite a request, have it sent, and record what came of it; see :meth:`Engine.exchange`.

        ``send`` runs in the thread of the caller.
        """
        rewrite = self.rewrite(call, format, tenant=tenant)
        answer = send(rewrite)
        if answer.refusal is not None:
            second = self.refused(rewrite.ticket, answer.refusal)
            if second is None:
                return answer.response
            rewrite, answer = second, send(second)
        if answer.refusal is None and answer.usage is not None:
            self.observed(rewrite.ticket, answer.usage)
        elif answer.refusal is None:
            self.forwarded(rewrite.ticket)
        return answer.response

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        if not self.engine.store.never_waits:
            return _run_in_background(coroutine)
        try:
            coroutine.send(None)
        except StopIteration as end:
            result: Result = end.value
            return result
        coroutine.close()
        raise StoreError("a store that says that it never waits has waited")


_loop_lock = threading.Lock()
_loop: AbstractEventLoop | None = None


def _run_in_background(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop of our own: the caller's thread may be running one already."""
    import asyncio  # noqa: PLC0415 - most programs that are synchronous never need it

    global _loop  # noqa: PLW0603 - one for the process
    with _loop_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="trimtab", daemon=True).start()
    return asyncio.run_coroutine_threadsafe(coroutine, _loop).result()


def _is_far(turn: Turn, state: State) -> bool:
    """Whether a state is more than a turn away, so that the client may have changed old messages."""
    new = turn.request.messages_from(state.messages)
    return sum(message.role == "assistant" for message in new) > 1


def _lots(keys: Iterable[bytes]) -> Iterator[Sequence[bytes]]:
    iterator = iter(keys)
    while lot := list(islice(iterator, _AT_ONCE)):
        yield lot


def _form_key(name: str) -> bytes:
    return b"form:" + bytes.fromhex(name)
