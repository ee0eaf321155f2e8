"""A real HTTP server that speaks OpenAI Chat and answers by rote."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Served", "completion", "serving"]

Json = dict[str, Any]


def completion(
    text: str | None = "## Goal\nShip it.", stop: str | None = "stop", **message: Any
) -> Json:
    """An answer of the chat API."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-5-mini",
        "choices": [
            {
                "index": 0,
                "finish_reason": stop,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {
            "prompt_tokens": 1_000,
            "completion_tokens": 50,
            "total_tokens": 1_050,
            "prompt_tokens_details": {"cached_tokens": 600},
        },
    }


@dataclass
class Served:
    """What a server was asked.

    Attributes:
        url: Where it listens.
        answers: Status, headers and body of the answers to come; the last one stays.
        bodies: The requests that it got.
        headers: Their headers.
    """

    url: str
    answers: list[tuple[int, dict[str, str], Json]]
    bodies: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


@contextmanager
def serving(*answers: tuple[int, dict[str, str], Json]) -> Iterator[Served]:
    """Listen on loopback."""
    served = Served("", list(answers) or [(200, {}, completion())])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            served.bodies.append(json.loads(body))
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            answers = served.answers
            status, headers, answer = answers.pop(0) if len(answers) > 1 else answers[0]
            sent = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
