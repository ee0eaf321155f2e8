"""Law 3 with two replicas: whoever is asked next sends what the other would have sent.

Each turn of a conversation goes to either of two engines, each with a store of
its own on the same server or file, and to a third that is alone and has all
turns. All three must send the same bytes; so the law of one holds for two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.laws.test_stable import AGENTS, Conversation
from tests.stores.servers import Server
from trimtab import Call, CharTokenCounter, Engine, Policy, Refusal, Rewrite, Usage, in_memory
from trimtab.events import Event, StoreUnavailable
from trimtab.session import Ticket
from trimtab.stores import Managed, redis, sqlite

Result = TypeVar("Result")
Make = Callable[[], Managed]

SECONDS = 30.0
"""How long a store is waited for: a machine that is busy with other tests is no fault."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all of this file."""
    shared = Server(tmp_path_factory.mktemp("redis")).start()
    yield shared
    shared.stop()


@pytest.fixture(params=["sqlite", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Make]:
    """Makes a new place for entries, which each replica opens for itself."""
    numbers = count()
    if request.param == "sqlite":

        def new() -> Make:
            path = tmp_path / f"{next(numbers)}.db"
            return lambda: sqlite(path)

        return new
    server: Server = request.getfixturevalue("server")

    def new_prefix() -> Make:
        server.ask("FLUSHALL")
        prefix = f"{next(numbers)}:"
        return lambda: redis(server.url, prefix=prefix)

    return new_prefix


class Replicas:
    """Two engines on one store and a lone third, each asked as if it were one.

    Args:
        policy: The policy of all.
        make: Opens the store that the two share.
    """

    def __init__(self, policy: Policy, make: Make) -> None:
        self.events: list[Event] = []
        self.stores = (make(), make())
        tell = self.events.append
        self.engines = [
            Engine(policy, store, CharTokenCounter(), on_event=tell, store_seconds=SECONDS)
            for store in self.stores
        ]
        self.engines[1].session = self.engines[0].session  # it is pure, and policies change
        self.lone = Engine(policy, in_memory(), CharTokenCounter())
        self.lone.session = self.engines[0].session
        self.turns = count()
        self.runner = asyncio.Runner()

    @property
    def engine(self) -> Engine:
        """The lone one: its store keeps its caps, its session is that of all."""
        return self.lone

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Wait for something."""
        return self.runner.run(work)

    def pick(self) -> Engine:
        """One of the two, in an order without a pattern that matters: 0 1 1 0 1 0 0 1."""
        return self.engines[next(self.turns).bit_count() % 2]

    def rewrite(self, call: Call, format: str) -> Rewrite:  # noqa: A002 - the word for it
        """Ask one of the two, and the lone one."""
        rewrite = self.run(self.pick().rewrite(call, format))
        alone = self.lone.sync.rewrite(call, format)
        assert rewrite.body == alone.body
        assert rewrite.events == alone.events
        return rewrite

    def forwarded(self, ticket: Ticket) -> None:
        """Tell one of the two, and the lone one."""
        self.run(self.pick().forwarded(ticket))
        self.lone.sync.forwarded(ticket)

    def observed(self, ticket: Ticket, usage: Usage) -> None:
        """Tell one of the two, and the lone one."""
        self.run(self.pick().observed(ticket, usage))
        self.lone.sync.observed(ticket, usage)

    def refused(self, ticket: Ticket, refusal: Refusal) -> Rewrite | None:
        """Tell one of the two."""
        return self.run(self.pick().refused(ticket, refusal))

    def close(self) -> None:
        """Close both stores."""
        for store in self.stores:
            self.run(store.close())
        self.runner.close()


def machine(name: str, make: Callable[[], Make], replicas: Any = Replicas) -> type[Conversation]:
    """The conversation of law 3 through replicas."""

    class Shared(Conversation):
        make_agent = staticmethod(AGENTS[name])
        make_engine = staticmethod(lambda policy, _: replicas(policy, make()))

        def teardown(self) -> None:
            try:
                super().teardown()
                assert not [e for e in self.engine.events if isinstance(e, StoreUnavailable)]
            finally:
                self.engine.close()

    return Shared


SETTINGS = settings(
    max_examples=3,  # the first is the smallest there is
    phases=[Phase.generate],
    stateful_step_count=100,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", AGENTS)
def test_two_replicas_send_the_bytes_of_one(name: str, make: Callable[[], Make]) -> None:
    """They take turns at random, through forks, rewinds, edits, refusals and compactions."""
    run_state_machine_as_test(machine(name, make), settings=SETTINGS)
