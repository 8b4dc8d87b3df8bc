"""A replica that stops closes the connections that it keeps, also under a call: a server that does so."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from omicron_browser import AsyncBrowserSessions, BrowserSessions, OmicronError

SECRET = "a service secret of 32 bytes, for tests"
SESSION = "0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10"
POLICY = {"policy": {"version": 1}}
FILE = {"name": "notes.txt", "source": "upload", "bytes": 5, "mime_type": "text/plain"}
LEASE = {
    "session_id": SESSION,
    "status": "ready",
    "epoch": 4,
    "mcp_url": "http://127.0.0.1:1/mcp",
    "mcp_headers": {"Authorization": "Bearer lease-token"},
    "expires_at": "2026-01-01T00:10:00.000Z",
    "ends_at": "2026-01-01T08:00:00.000Z",
}


class Controller(ThreadingHTTPServer):
    """Answers the first call of each connection, which it then keeps, and closes it under the second one."""

    daemon_threads = True

    def __init__(self, *, resets: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.resets = resets
        #: method, last word of the path, and the port that it came from
        self.calls: list[tuple[str, str, int]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Controller
    protocol_version = "HTTP/1.1"
    kept = False

    def answer(self) -> None:
        word = self.path.split("?")[0].rsplit("/", 1)[-1]
        self.server.calls.append((self.command, word, self.client_address[1]))
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.kept:
            self.close_connection = True
            if self.server.resets:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.connection.close()
            return
        self.kept = True
        text = json.dumps({"get-or-create": LEASE, "notes.txt": FILE}.get(word, POLICY)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = answer  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(params=[False, True], ids=["closes", "resets"])
def controller(request: pytest.FixtureRequest) -> Iterator[Controller]:
    server = Controller(resets=request.param)
    thread = Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


Act = Callable[[Any], Any]


def sync(url: str, act: Act) -> None:
    with BrowserSessions(url, SECRET) as sessions:
        sessions.get_policy()
        act(sessions)


def asynchronous(url: str, act: Act) -> None:
    async def main() -> None:
        async with AsyncBrowserSessions(url, SECRET) as sessions:
            await sessions.get_policy()
            await act(sessions)

    asyncio.run(main())


each_client = pytest.mark.parametrize("client", [sync, asynchronous])


@each_client
@pytest.mark.parametrize(
    "method, word, act",
    [
        ("GET", "policy", lambda sessions: sessions.get_policy()),
        ("PUT", "policy", lambda sessions: sessions.put_policy({"version": 1})),
        ("PUT", "notes.txt", lambda sessions: sessions.put_file(SESSION, "notes.txt", b"notes")),
        ("POST", "get-or-create", lambda sessions: sessions.acquire("ada", "chat", wait_seconds=0)),
    ],
)
def test_repeats_a_call_on_another_connection(
    controller: Controller, client: Callable[[str, Act], None], method: str, word: str, act: Act
) -> None:
    client(controller.url, act)
    (_, _, first), cut, repeated = controller.calls
    assert cut == (method, word, first)
    assert repeated[:2] == (method, word)
    assert repeated[2] != first


@each_client
def test_does_not_repeat_a_call_that_makes_something(
    controller: Controller, client: Callable[[str, Act], None]
) -> None:
    with pytest.raises(OmicronError) as raised:
        client(controller.url, lambda sessions: sessions.create_live_token(SESSION, role="view"))
    assert raised.value.code == "controller_unreachable"
    (_, _, first), *others = controller.calls
    assert others == [("POST", "live-token", first)]
