"""A server for all tests of this folder, and stores of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.servers import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that nobody stops; tests share it by prefixes of their own."""
    shared = Server(tmp_path_factory.mktemp("redis")).start()
    yield shared
    shared.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server of this test alone, to be stopped and filled."""
    own = Server(tmp_path).start()
    yield own
    own.stop()
