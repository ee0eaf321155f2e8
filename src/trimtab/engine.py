"""The one driver around a session: load what is known, rewrite, let the caller send, record.

Everything that sends uses it: library, hooks, proxy, replay. It keeps nothing
but the store (:mod:`trimtab.stores.lines` says what lies in it), and no request
fails or waits for long because of that: where the store cannot be used, an
event says so, and this process remembers for itself until it is back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from trimtab.briefing import Refused
from trimtab.errors import PolicyError, StoreError, TrimtabError
from trimtab.events import Event, StoreUnavailable, SummaryGivenUp, SummaryGivenUpCause
from trimtab.policy import Policy
from trimtab.recent import RecentTurns
from trimtab.refusal import Refusal
from trimtab.session import Rewrite, Session, Ticket, Turn
from trimtab.state import State
from trimtab.stores import Store, Telling, in_memory
from trimtab.stores.archive import Archive
from trimtab.stores.briefs import Briefed, Briefs
from trimtab.stores.keys import conversation_of
from trimtab.stores.lines import Lines
from trimtab.stores.pause import Pause
from trimtab.summary import (
    KeptSummary,
    MadeSummary,
    Summary,
    SummaryMaker,
    SummaryStats,
    WantedSummary,
)
from trimtab.tokens import TokenCounter
from trimtab.usage import Usage
from trimtab.wire import Call

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

__all__ = ["Answer", "Engine", "SyncEngine"]

Response = TypeVar("Response")
Result = TypeVar("Result")

_STORE_SECONDS = 0.25
"""A store on the same machine answers in a thousandth of that, one in the same region in a
twentieth; a person hardly notices a quarter of a second before the first word of an answer."""

_SPARE_BYTES = 8 * 1024 * 1024
"""What this process remembers for itself while the store is away."""


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
        archive: Whether what a compaction removes is kept in the store too, to be
            asked for by its id (``trimtab recall``).
        store_seconds: How long a rewrite, and each record, waits for a store that
            waits; above 0.
        summaries: Makes the summaries that ``Policy(summaries=True)`` wants, in the
            background (:class:`~trimtab.background.BackgroundSummaries`); None for none.

    Raises:
        PolicyError: If ``store_seconds`` is not above 0.
    """

    def __init__(  # noqa: PLR0913 - settings, by name
        self,
        policy: Policy | None = None,
        store: Store | None = None,
        counter: TokenCounter | None = None,
        *,
        headers_settable: bool = True,
        on_event: Callable[[Event], None] | None = None,
        archive: bool = False,
        store_seconds: float = _STORE_SECONDS,
        summaries: SummaryMaker | None = None,
    ) -> None:
        if not store_seconds > 0:
            raise PolicyError("store_seconds", store_seconds, "it must be above 0")
        self.store = in_memory() if store is None else store
        self.session = Session(
            policy,
            counter,
            headers_settable=headers_settable,
            outlives_process=getattr(self.store, "outlives_process", False),
            can_recall=archive,
        )
        self.store_seconds = store_seconds
        self._on_event = on_event
        self._lines = Lines(self.store, self._tell_one)
        self._archive = Archive(self.store) if archive else None
        self._summaries = summaries
        self._briefs = Briefs(self.store, uuid4().bytes)
        self._asking: dict[bytes, bytes] = {}  # conversations, by what is wanted of them
        self._made: deque[MadeSummary] = deque()  # what came back and is not kept yet
        self._unclaimed: list[WantedSummary] = []  # of which it is not known whose it is to make
        self._pause = Pause()
        self._recent = RecentTurns()
        self._spare = Lines(in_memory(_SPARE_BYTES), self._tell_one)
        self._has_spare = False
        if isinstance(self.store, Telling):
            self.store.listen(self._tell_one)

    @property
    def sync(self) -> SyncEngine:
        """The same engine for code that does not await."""
        return SyncEngine(self)

    def read(
        self,
        call: Call,
        format: str | None = None,  # noqa: A002 - the word for it
        *,
        tenant: str = "",
    ) -> Turn:
        """Read a request; what it has in common with a recent one is not read again.

        Args:
            call: What came in.
            format: Name of its format; None to tell it from the content.
            tenant: Whose conversation it is; two tenants share nothing.

        Raises:
            RequestError: If it is no request of a known format.
        """
        before = self._recent.best_for(call.body, tenant)
        turn = self.session.read(call, format, tenant=tenant, before=before)
        self._recent.keep(turn, tenant, before)
        return turn

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
            TokenCountError: If the counter fails.
        """
        turn = call
        if isinstance(turn, Call):
            turn = self.read(turn, format, tenant=tenant)
        if self._summaries is None:
            rewrite = self.session.rewrite(turn, await self._find(turn), may_ask=False)
        else:
            await self._collect(self._summaries)
            briefed = await self._asked(lambda: self._briefs.find(turn)) or _NOT_KNOWN
            rewrite = self.session.rewrite(
                turn, await self._find(turn), briefed.summary, may_ask=briefed.may_ask
            )
            rewrite = _asking_as(rewrite, briefed)
        self._tell(rewrite.events)
        return rewrite

    async def forwarded(self, ticket: Ticket) -> None:
        """Record that the provider has taken a request: at the first byte of a 2xx, never before."""
        await self._record(ticket, self.session.forwarded(ticket))

    async def observed(self, ticket: Ticket, usage: Usage) -> None:
        """Record what a request was billed."""
        await self._record(ticket, self.session.observed(ticket, usage))

    async def refused(self, ticket: Ticket, refusal: Refusal) -> Rewrite | None:
        """Say what to send instead of a request that the provider has refused.

        Returns:
            Another rewrite, once; None where the refusal is to be passed on.
        """
        answer = self.session.refused(ticket, refusal)
        if isinstance(answer, State):
            await self._record(ticket, answer)
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

    # ------------------------------------------------------------- summaries

    async def _ask(self, ticket: Ticket) -> None:
        """Have a summary made, unless somebody else who shares the store is at it."""
        maker, wanted = self._summaries, ticket.wanted
        if maker is None or wanted is None or wanted.key in self._asking:
            return
        self._asking[wanted.key] = conversation_of(ticket.turn)
        is_ours: bool | None = None
        try:
            seconds = maker.longest_seconds
            is_ours = await self._asked(lambda: self._briefs.claim(ticket.turn, wanted, seconds))
        finally:
            if is_ours is None:  # too slow, or the request was cancelled: it may be ours after all
                self._unclaimed.append(wanted)
        if is_ours is False:
            self._asking.pop(wanted.key, None)
        elif is_ours and not maker.start(wanted):
            await self._drop(wanted)

    async def _collect(self, maker: SummaryMaker) -> None:
        """Judge and keep what came back.

        Requests that are cancelled meanwhile lose none of it: the next one goes on.
        """
        self._made.extend(maker.collect())
        while self._made:
            made = self._made.popleft()
            try:
                is_kept = await self._take(made)
            except BaseException as error:
                if not isinstance(error, Exception):  # the request was cancelled
                    self._made.appendleft(made)
                raise
            if not is_kept:
                self._made.appendleft(made)
                break
        while self._unclaimed:
            await self._drop(self._unclaimed.pop())

    async def _take(self, made: MadeSummary) -> bool:
        """Judge and keep one; False where it could not be kept yet."""
        wanted = made.wanted
        if made.cause:
            if made.is_over:
                await self._drop(wanted)
            self._tell_one(_given_up(made, made.cause, made.reason))
            return True
        judged = self.session.accepted(wanted, made.answer)
        if isinstance(judged, Refused):
            await self._drop(wanted, judged.needed_tokens, is_cut=judged.is_cut)
            self._tell_one(_given_up(made, judged.cause, judged.reason))
            return True
        conversation = self._asking.get(wanted.key, b"")
        return await self._asked(partial(self._keep, conversation, wanted, judged)) is not None

    async def _keep(self, conversation: bytes, wanted: WantedSummary, summary: KeptSummary) -> bool:
        await self._briefs.keep(conversation, wanted, summary)
        self._asking.pop(wanted.key, None)
        return True

    async def _drop(
        self, wanted: WantedSummary, needed_tokens: int = 0, *, is_cut: bool = False
    ) -> None:
        """Let another be asked for."""
        conversation = self._asking.get(wanted.key)
        if conversation is not None:
            give_up = partial(self._briefs.give_up, is_cut=is_cut)
            await self._asked(partial(give_up, conversation, wanted, needed_tokens))
            self._asking.pop(wanted.key, None)

    # ---------------------------------------------------------------- stores

    async def _find(self, turn: Turn) -> State | None:
        """The state that knows most of a request."""
        found = await self._asked(lambda: self._lines.find(turn))
        if not self._has_spare:
            return found
        spared = await self._spare.find(turn)
        if spared is None or (found is not None and found.messages >= spared.messages):
            return found
        return spared

    async def _record(self, ticket: Ticket, state: State) -> None:
        """Keep a state: in the store, and where that fails in this process for the time being."""

        async def record() -> bool:
            await self._lines.record(ticket.turn, ticket.began, state)
            return True

        if self._archive is not None:
            archive = self._archive
            await self._asked(lambda: archive.keep(ticket))
        if await self._asked(record) is None and not self.store.never_waits:
            self._has_spare = True
            await self._spare.record(ticket.turn, ticket.began, state)
        await self._ask(ticket)

    async def _asked(self, work: Callable[[], Awaitable[Result]]) -> Result | None:
        """What the store answers; None where it fails, is too slow, or is left alone for a while.

        No request waits longer than :attr:`store_seconds` for it, and none fails for it.
        """
        if not self._pause.is_over():
            return None
        try:
            if self.store.never_waits:
                answer = await work()
            else:
                answer = await _within(self.store_seconds, work())
        except StoreError as error:
            reason = str(error)
        except TrimtabError:
            raise  # it is about the request
        except Exception as error:  # noqa: BLE001 - a store of somebody else may raise anything
            reason = f"the store has raised {type(error).__name__}"
        else:
            self._pause.after_success()
            return answer
        self._tell_one(StoreUnavailable(reason, self._pause.after_failure()))
        return None

    def _tell(self, events: Iterable[Event]) -> None:
        for event in events:
            self._tell_one(event)

    def _tell_one(self, event: Event) -> None:
        if self._on_event is not None:
            with suppress(Exception):
                self._on_event(event)


_NOT_KNOWN = Briefed(may_ask=False)
"""Of a store that cannot be reached: somebody else may be at it."""


def _asking_as(rewrite: Rewrite, briefed: Briefed) -> Rewrite:
    """The same, which wants what is worth asking for after earlier answers."""
    wanted = rewrite.wanted
    if wanted is None or not (briefed.needed_tokens or briefed.cuts):
        return rewrite
    is_worth_it = wanted.tokens >= briefed.needed_tokens
    wanted = replace(wanted, cuts=briefed.cuts) if is_worth_it else None
    return replace(rewrite, wanted=wanted, ticket=replace(rewrite.ticket, wanted=wanted))


def _given_up(made: MadeSummary, cause: str, reason: str) -> SummaryGivenUp:
    """What is told of a summary that is not used; what was billed is in it."""
    known: SummaryGivenUpCause = cause  # type: ignore[assignment]  # each is one
    answer = made.answer
    stats = SummaryStats(0, answer.usage, answer.cost) if isinstance(answer, Summary) else None
    return SummaryGivenUp(known, reason, made.attempts, stats)


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


async def _within(seconds: float, work: Awaitable[Result]) -> Result:
    """Wait for a store, but not for long.

    Raises:
        StoreError: If that was not enough.
    """
    import asyncio  # noqa: PLC0415 - a store that waits has imported it

    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise StoreError(f"the store has not answered within {seconds:g} seconds") from None
