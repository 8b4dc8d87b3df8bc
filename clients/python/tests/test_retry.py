"""Behaviour on answers that a healthy stack does not give: a server with scripted ones."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import jwt
import pytest

from omicron_browser import AsyncBrowserSessions, BrowserSessions, OmicronError, PlaceInLine

SECRET = "a service secret of 32 bytes, for tests"
USER = "ada"
Answer = tuple[int, dict[str, str], str]


class Controller(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.bodies: list[dict[str, object]] = []
        self.tokens: list[dict[str, object]] = []
        self.checks_tokens = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Controller

    def do_POST(self) -> None:
        if self.path.endswith("/release"):  # no answer of a release matters, so none is scripted
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        token = self.headers["authorization"].removeprefix("Bearer ")
        if self.server.checks_tokens:
            claims = jwt.decode(token, SECRET, ["HS256"], audience="browser-session-controller")
            self.server.tokens.append(claims)
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        status, headers, text = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def controller() -> Iterator[Controller]:
    server = Controller()
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def problem(code: str, status: int, retry_after: int | None = None) -> Answer:
    document = {"type": "x", "title": "x", "status": status, "code": code, "detail": "Do this instead.", "limit": 3}
    return status, {} if retry_after is None else {"retry-after": str(retry_after)}, json.dumps(document)


def lease(status: str = "ready") -> Answer:
    ready = status == "ready"
    document = {
        "session_id": "0b8f2f3e-8a1c-4a39-9c9a-3f1a3c8d2b10",
        "status": status,
        "epoch": 4,
        "mcp_url": "http://127.0.0.1:1/mcp" if ready else None,
        "mcp_headers": {"Authorization": "Bearer lease-token"} if ready else None,
        "expires_at": "2026-01-01T00:10:00.000Z",
        "ends_at": "2026-01-01T08:00:00.000Z",
    }
    return 200 if ready else 202, {} if ready else {"retry-after": "1"}, json.dumps(document)


def acquire(controller: Controller, wait_seconds: float = 60) -> None:
    with (
        BrowserSessions(controller.url, SECRET) as sessions,
        sessions.acquire(USER, "chat", tags={"team": "search"}, wait_seconds=wait_seconds) as held,
    ):
        assert held.headers == {"Authorization": "Bearer lease-token"}
        assert held.epoch == 4  # noqa: PLR2004


def refused(controller: Controller, wait_seconds: float = 60) -> OmicronError:
    with pytest.raises(OmicronError) as raised:
        acquire(controller, wait_seconds)
    return raised.value


def test_waits_as_long_as_retry_after_says(controller: Controller) -> None:
    controller.answers = [problem("user_quota_exceeded", 429, 1), lease("starting"), lease()]
    began = time.monotonic()
    acquire(controller)
    assert 2 <= time.monotonic() - began < 4  # noqa: PLR2004 - two seconds, and a tenth of spread
    assert [token["user_id"] for token in controller.tokens] == [USER] * 3
    first, *_ = controller.bodies
    assert first == first | {"user_id": USER, "conversation_id": "chat", "ttl_seconds": 600, "tags": {"team": "search"}}
    waits = [body["wait_seconds"] for body in controller.bodies]
    assert waits == sorted(waits, key=lambda wait: -float(str(wait)))


def test_shows_a_waiting_caller_its_place(controller: Controller) -> None:
    status, headers, text = problem("capacity_exceeded", 429, 1)
    turn = {"position": 4, "expected_wait_seconds": 40}
    controller.answers = [(status, headers, json.dumps({**json.loads(text), **turn})), lease()]
    turns: list[PlaceInLine] = []
    with (
        BrowserSessions(controller.url, SECRET) as sessions,
        sessions.acquire(USER, "chat", wait_seconds=30, on_waiting=turns.append),
    ):
        assert turns == [PlaceInLine(position=4, expected_wait_seconds=40)]
    assert [body["wait_seconds"] for body in controller.bodies] == [2, 10]


def test_raises_at_once_when_retry_after_is_past_the_deadline(controller: Controller) -> None:
    controller.answers = [problem("capacity_exceeded", 429, 61)]
    error = refused(controller)
    assert (error.code, error.retry_after_seconds, error.extra["limit"]) == ("capacity_exceeded", 61, 3)


@pytest.mark.parametrize(
    "code, status", [("sandbox_runtime_required", 503), ("unauthorized", 401), ("lease_superseded", 409)]
)
def test_does_not_retry_what_would_be_refused_again(controller: Controller, code: str, status: int) -> None:
    controller.answers = [problem(code, status, 1)]
    error = refused(controller)
    assert (error.code, error.message) == (code, "Do this instead.")


def test_takes_a_gateways_answer_for_an_outage(controller: Controller) -> None:
    controller.answers = [(502, {"retry-after": "1"}, "<h1>"), lease()]
    acquire(controller)


def test_keeps_an_unknown_code_in_the_message(controller: Controller) -> None:
    controller.answers = [problem("of_the_future", 409)]
    error = refused(controller)
    assert (error.code, error.message) == ("internal_error", "of_the_future: Do this instead.")


@pytest.mark.parametrize("text", ["<html>", "{}"])
def test_says_that_the_url_is_not_a_controllers(controller: Controller, text: str) -> None:
    controller.answers = [(200, {}, text)]
    error = refused(controller)
    assert error.code == "internal_error"
    assert "check the URL" in error.message


def test_follows_no_redirect(controller: Controller) -> None:
    controller.answers = [(302, {"location": f"{controller.url}/elsewhere"}, "")]
    assert refused(controller).code == "internal_error"
    assert len(controller.bodies) == 1


def test_says_that_no_controller_answers(controller: Controller) -> None:
    with BrowserSessions("http://127.0.0.1:9", SECRET) as sessions, pytest.raises(OmicronError) as raised:
        sessions.acquire(USER, "chat", wait_seconds=0.5)
    assert raised.value.code == "controller_unreachable"
    assert "http://127.0.0.1:9" in raised.value.message


def test_says_after_three_seconds_that_nothing_listens() -> None:
    began = time.monotonic()
    with BrowserSessions("http://127.0.0.1:9", SECRET) as sessions, pytest.raises(OmicronError) as raised:
        sessions.acquire(USER, "chat")
    assert raised.value.code == "controller_unreachable"
    assert time.monotonic() - began < 5  # noqa: PLR2004 - three seconds, and the last call


@pytest.mark.parametrize("secret", ["short", "", None])
def test_names_the_variable_of_a_wrong_secret(secret: str | None) -> None:
    with pytest.raises(OmicronError, match="OMICRON_SERVICE_JWT_SECRET") as raised:
        BrowserSessions("http://127.0.0.1:9", secret)  # type: ignore[arg-type]
    assert raised.value.code == "not_configured"


@pytest.mark.parametrize(
    "url, said",
    [
        ("", "OMICRON_CONTROLLER_URL"),
        (None, "OMICRON_CONTROLLER_URL"),
        ("localhost:8080", "write http://localhost:8080"),
        ("127.0.0.1:8080", "write http://127.0.0.1:8080"),
        ("ftp://127.0.0.1", "no http or https URL"),
    ],
)
def test_says_how_to_write_a_wrong_address(url: str | None, said: str) -> None:
    with pytest.raises(OmicronError, match=said) as raised:
        BrowserSessions(url, SECRET)  # type: ignore[arg-type]
    assert raised.value.code == "not_configured"


def test_says_at_once_that_no_tls_is_spoken_there(controller: Controller) -> None:
    url = controller.url.replace("http:", "https:")
    with BrowserSessions(url, SECRET) as sessions, pytest.raises(OmicronError, match=controller.url) as raised:
        sessions.acquire(USER, "chat")
    assert raised.value.code == "not_configured"


def test_reads_a_heartbeat_of_a_controller_that_is_older(controller: Controller) -> None:
    heartbeat = {name: value for name, value in json.loads(lease()[2]).items() if not name.startswith("mcp_")}
    controller.answers = [lease(), (200, {}, json.dumps({**heartbeat, "last_used_at": "2026-01-01T00:00:00.000Z"}))]
    with BrowserSessions(controller.url, SECRET) as sessions, sessions.acquire(USER, "chat") as held:
        held.heartbeat()
        assert held.lost is None
        assert held.headers == {"Authorization": "Bearer lease-token"}


def test_stops_renewing_when_its_client_is_closed(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    controller.answers = [lease()]
    before = set(threading.enumerate())
    with BrowserSessions(controller.url, SECRET) as sessions:
        sessions.acquire(USER, "chat", ttl_seconds=1)
        renewals = [each for each in set(threading.enumerate()) - before if each.name == "omicron-browser renewal"]
    for renewal in renewals:
        renewal.join(10)
    assert ([each.is_alive() for each in renewals], raised) == ([False], [])


def test_has_a_connection_for_each_call() -> None:
    """A platform's calls wait for browsers and for people; heartbeats and other chats go on meanwhile."""
    waiting = 150

    async def main() -> None:
        listed = asyncio.Event()
        held = 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal held
            line = await reader.readline()
            await reader.readuntil(b"\r\n\r\n")
            if line.startswith(b"GET"):
                listed.set()
            held += 1
            await listed.wait()
            text = json.dumps({"sessions": [], "next_cursor": None})
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(text)}\r\nconnection: close\r\n\r\n{text}".encode())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with AsyncBrowserSessions(f"http://127.0.0.1:{port}", SECRET) as sessions:
            calls = [asyncio.create_task(sessions.archive("id")) for _ in range(waiting)]
            while held < waiting:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert (await sessions.list())["sessions"] == []
            await asyncio.gather(*calls, return_exceptions=True)
        server.close()

    asyncio.run(asyncio.wait_for(main(), 30))


def test_an_error_reaches_another_process_whole(controller: Controller) -> None:
    controller.answers = [problem("capacity_exceeded", 429, 61)]
    error = refused(controller)
    other = pickle.loads(pickle.dumps(error))
    assert str(other) == str(error) == "capacity_exceeded: Do this instead."
    assert (other.status, other.retry_after_seconds, other.extra) == (429, 61, {"limit": 3})


@pytest.mark.parametrize("text", [".", "..", "", "\ud800"])
def test_takes_no_text_for_an_id_that_is_no_part_of_a_path(text: str) -> None:
    """Every HTTP client makes `policy` of `users/../policy`: that of the deployment."""
    with BrowserSessions("http://127.0.0.1:9", SECRET) as sessions:
        for call in (
            lambda: sessions.put_policy({"version": 1}, user_id=text),
            lambda: sessions.delete_policy(session_id=text),
            lambda: sessions.read_file("id", text),
        ):
            with pytest.raises(OmicronError) as raised:
                call()
            assert raised.value.code == "invalid_request"


def test_hands_on_what_a_result_has_for_programs(controller: Controller) -> None:
    def answer(number: int, result: dict[str, object]) -> Answer:
        return 200, {"content-type": "application/json"}, json.dumps({"jsonrpc": "2.0", "id": number, "result": result})

    status, headers, text = lease()
    controller.answers = [
        (status, headers, json.dumps({**json.loads(text), "mcp_url": f"{controller.url}/mcp"})),
        answer(1, {"protocolVersion": "2025-11-25"}),
        (202, {}, ""),
        answer(2, {"tools": []}),
        answer(3, {"content": [], "structuredContent": {"title": "Shop"}, "_meta": {"omicron.dev/code": "x"}}),
    ]
    controller.checks_tokens = False
    with BrowserSessions(controller.url, SECRET) as sessions, sessions.acquire(USER, "chat") as held:
        result = held.connect().call_tool("browser_run")
    assert (result.structured_content, result.meta) == ({"title": "Shop"}, {"omicron.dev/code": "x"})
