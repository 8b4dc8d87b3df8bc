"""Calls of one controller."""

from __future__ import annotations

import time
from typing import TypeVar, cast

import httpx

from ..answers import no_tls, not_understood, refusal, required_keys, retry_after, unreachable, value_of
from ..retry import CLOSED, may_repeat, speaks_no_tls
from ..settings import controller_url, service_key
from ..tokens import sign_service_token

Answer = TypeVar("Answer")
Query = dict[str, str | int | bool | list[str] | None]

TIMEOUT_SECONDS = 15.0
#: The controller pings each 20 s; a stream that is silent for longer is lost.
SILENT_SECONDS = 65.0
#: Of a file, while nothing of it passes.
FILE_SECONDS = 60.0


class AsyncConnection:
    """Calls of one controller, each with a fresh token of 60 s. Follows no redirect: a token is for one address. A call that may
    be repeated is sent once more when the other side closed its connection without an answer, as a replica does that stops.
    """

    def __init__(self, url: str, service_secret: str, http_client: httpx.AsyncClient | None) -> None:
        self.url = controller_url(url)
        self._key = service_key(service_secret)
        self._owned = http_client is None
        # httpx has 100 connections by default: calls that wait for browsers or people would keep heartbeats from theirs
        self.http = http_client if http_client is not None else httpx.AsyncClient(limits=httpx.Limits())

    async def aclose(self) -> None:
        if self._owned:
            await self.http.aclose()

    async def send(
        self,
        method: str,
        path: str,
        *,
        user_id: str | None = None,
        query: Query | None = None,
        body: object = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> tuple[object, float | None]:
        """The answer's document and its Retry-After in seconds. Raises OmicronError."""
        given = {name: text_of(value) for name, value in (query or {}).items() if value is not None}
        request = self.http.build_request(method, self.url + path, params=given, json=body)
        response = await self._answer(request, user_id, timeout_seconds)
        return value_of(response, self.url), retry_after(response)

    async def transfer(
        self,
        method: str,
        path: str,
        *,
        user_id: str | None = None,
        content: bytes | None = None,
        byte_range: str | None = None,
    ) -> httpx.Response:
        """A call whose bodies are bytes. Raises OmicronError."""
        headers = {"range": byte_range} if byte_range is not None else {}
        if content is not None:
            headers["content-type"] = "application/octet-stream"
        url = self.url + path
        request = self.http.build_request(method, url, content=content, headers=headers)
        response = await self._answer(request, user_id, FILE_SECONDS)
        if not response.is_success:
            raise refusal(response, self.url)
        return response

    async def stream(self, path: str, query: Query, last_event_id: str | None, user_id: str | None) -> httpx.Response:
        """Opens a stream of server-sent events; the caller closes it. Raises OmicronError."""
        headers = {"accept": "text/event-stream"} | ({} if last_event_id is None else {"last-event-id": last_event_id})
        given = {name: text_of(value) for name, value in query.items() if value is not None}
        request = self.http.build_request("GET", self.url + path, params=given, headers=headers)
        request.headers["authorization"] = f"Bearer {sign_service_token(self._key, user_id)}"
        request.extensions["timeout"] = httpx.Timeout(TIMEOUT_SECONDS, read=SILENT_SECONDS).as_dict()
        try:
            response = await self.http.send(request, stream=True, follow_redirects=False)
            if response.is_success:
                return response
            await response.aread()
        except httpx.TransportError as error:
            if speaks_no_tls(error):
                raise no_tls(self.url) from error
            raise unreachable(self.url, "could not be reached") from error
        raise refusal(response, self.url)

    async def _answer(self, request: httpx.Request, user_id: str | None, timeout_seconds: float) -> httpx.Response:
        until = time.monotonic() + timeout_seconds
        try:
            try:
                return await self._try(request, user_id, timeout_seconds)
            except CLOSED:
                if not may_repeat(request.method, request.url.path):
                    raise
                return await self._try(request, user_id, max(0.0, until - time.monotonic()))
        except httpx.TimeoutException as error:
            raise unreachable(self.url, f"did not answer within {timeout_seconds:.0f} s") from error
        except httpx.TransportError as error:
            if speaks_no_tls(error):
                raise no_tls(self.url) from error
            raise unreachable(self.url, "could not be reached") from error

    async def _try(self, request: httpx.Request, user_id: str | None, timeout_seconds: float) -> httpx.Response:
        request.headers["authorization"] = f"Bearer {sign_service_token(self._key, user_id)}"
        request.extensions["timeout"] = httpx.Timeout(timeout_seconds).as_dict()
        return await self.http.send(request, follow_redirects=False)

    async def call(
        self,
        answer: type[Answer],
        method: str,
        path: str,
        *,
        user_id: str | None = None,
        query: Query | None = None,
        body: object = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> Answer:
        """A call that is answered with a document of the API."""
        value, _ = await self.send(
            method, path, user_id=user_id, query=query, body=body, timeout_seconds=timeout_seconds
        )
        return self.document(answer, value)

    def document(self, answer: type[Answer], value: object) -> Answer:
        """The value as this document of the API. Raises OmicronError when it is another."""
        if not isinstance(value, dict) or not required_keys(answer) <= value.keys():
            raise not_understood(self.url)
        return cast("Answer", value)


def text_of(value: str | int | bool | list[str]) -> str | list[str]:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value
